//! `train` and `prune`: weights in and out, logs, and the same bits on any threads.

use crate::Desk;
use safetensors::SafeTensors;

const TRAIN: &str = "train --dataset glyphs-small --model tiny.toml --optimizer momentum \
                     --learning-rate 0.01 --momentum 0.9 --batch-size 48";

#[test]
fn a_run_logs_each_check_and_stops_at_its_goal() {
    let desk = Desk::new();
    let end = desk.json(&format!(
        "{TRAIN} --steps 2000 --check-every 20 --goal-error 0.4 --log log.jsonl --json"
    ));
    assert_eq!(end["outcome"], "complete");
    let log = std::fs::read_to_string(desk.path("log.jsonl")).unwrap();
    let lines: Vec<serde_json::Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.last().unwrap()["step"], end["steps"]);
    assert!(lines.last().unwrap()["error"].as_f64().unwrap() <= 0.4);
    for (line, step) in lines.iter().zip((20..).step_by(20)) {
        assert_eq!(line["step"], step);
        assert!(line["loss"].is_f64() && line["seconds"].is_f64());
    }
    assert!(lines.iter().rev().skip(1).all(|line| line["error"].as_f64().unwrap() > 0.4));
}

#[test]
fn a_run_that_diverges_is_infeasible_not_an_error() {
    let desk = Desk::new();
    let arguments = TRAIN.replace("0.01", "1e30");
    let end = desk.json(&format!("{arguments} --steps 500 --json"));
    assert_eq!(end["outcome"], "infeasible");
    assert!(end["steps"].as_u64().unwrap() < 500);
}

#[test]
fn threads_do_not_change_a_byte_of_the_weights() {
    let desk = Desk::new();
    let weights = |threads: usize| {
        desk.ok(&format!(
            "{TRAIN} --steps 6 --sparsity 0.7 --threads {threads} --save w.safetensors"
        ));
        std::fs::read(desk.path("w.safetensors")).unwrap()
    };
    let alone = weights(1);
    assert!(weights(2) == alone);
    assert!(weights(5) == alone);
}

#[test]
fn a_run_continues_exactly_from_saved_weights() {
    let desk = Desk::new();
    // SGD has no state but its weights; the order is that of the file, one epoch per run.
    let sgd = "train --dataset glyphs-small --model tiny.toml --optimizer sgd --learning-rate 0.05 \
               --batch-size 12000 --order sequential --validation none";
    desk.ok(&format!("{sgd} --steps 2 --save both.safetensors"));
    desk.ok(&format!("{sgd} --steps 1 --save first.safetensors"));
    desk.ok(&format!("{sgd} --steps 1 --init first.safetensors --save second.safetensors"));
    let read = |name| std::fs::read(desk.path(name)).unwrap();
    assert!(read("both.safetensors") == read("second.safetensors"));
    assert!(read("first.safetensors") != read("second.safetensors"));
}

#[test]
fn pruning_writes_exactly_the_survivors_with_their_masks() {
    let desk = Desk::new();
    let prune = "prune --dataset glyphs-small --model simple-cnn --sparsity 0.9";
    for method in ["snip", "magnitude", "random"] {
        let told = desk.json(&format!("{prune} --method {method} --save p.safetensors --json"));
        assert_eq!(told["survivors"], 6235);
        let bytes = std::fs::read(desk.path("p.safetensors")).unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        assert_eq!(file.tensor("conv1.weight").unwrap().shape(), [32, 1, 5, 5]);
        assert_eq!(file.tensor("dense.weight").unwrap().shape(), [10, 1024]);
        let (mut kept, mut products) = (0, 0);
        // A weight is used at all positions of what its layer writes.
        for (name, positions) in [("conv1", 24 * 24), ("conv2", 8 * 8), ("dense", 1)]
            .iter()
            .flat_map(|(name, it)| [(format!("{name}.weight"), *it), (format!("{name}.bias"), 0)])
        {
            let mask = file.tensor(&format!("{name}.mask")).unwrap();
            let values = file.tensor(&name).unwrap();
            assert_eq!(mask.shape(), values.shape());
            for (mask, value) in mask.data().iter().zip(values.data().chunks(4)) {
                kept += u32::from(*mask);
                products += u32::from(*mask) * positions;
                assert!(*mask == 1 || value == [0; 4], "{name}");
            }
        }
        assert_eq!(kept, 6235, "{method}");
        let told = &told["multiply_adds"];
        assert_eq!((&told["dense"], &told["left"]), (&3_747_840.into(), &products.into()));
    }
    let table = desk.ok(&format!("{prune} --keep-biases"));
    assert!(table.contains("conv1.bias"), "{table}");
    assert!(table.contains("of 3,747,840 multiply-adds for the scores of an image"), "{table}");
}
