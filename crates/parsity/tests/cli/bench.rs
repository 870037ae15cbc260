//! `bench`: rows that programs can read, and a table for people.

use crate::Desk;

const BENCH: &str = "bench --quick --rounds 1 --model tiny.toml --threads 1 --batch-sizes 8";

#[test]
fn every_row_says_what_was_measured_and_how_fast_it_was() {
    let told = Desk::new().json(&format!("{BENCH} --sparsities 0,0.9 --json"));
    let peak = told["peak_gflops"].as_f64().unwrap();
    assert!(peak > 0.0);
    assert!(told["machine"]["threads"].as_u64().unwrap() >= 1);
    assert!(!told["machine"]["instruction_set"].as_str().unwrap().is_empty());
    let rows = told["rows"].as_array().unwrap();
    let kinds: Vec<&str> = rows.iter().map(|row| row["kind"].as_str().unwrap()).collect();
    let (kernels, kinds): (Vec<&str>, Vec<&str>) =
        kinds.into_iter().partition(|kind| kind.contains(", "));
    assert_eq!(kinds, ["train", "train", "evaluate", "evaluate", "memory", "memory"]);
    assert!(kernels.iter().any(|kernel| kernel.ends_with(", weight gradient")), "{kernels:?}");
    assert!(rows.iter().all(|row| row["model"] == "tiny"));
    let is_kernel = |row: &&serde_json::Value| row["kind"].as_str().unwrap().contains(", ");
    let others = rows.iter().filter(|row| !is_kernel(row));
    for (row, sparsity) in others.zip([0.0, 0.9].iter().cycle()) {
        assert_eq!(row["sparsity"].as_f64().unwrap(), *sparsity);
    }
    for row in rows.iter().filter(is_kernel) {
        assert!(row["images_per_second"].as_f64().unwrap() > 0.0, "{row}");
        assert!(row["share_of_peak"].as_f64().unwrap() >= 0.0, "{row}");
    }
    for row in &rows[..4] {
        let number = |key: &str| row[key].as_f64().unwrap();
        assert_eq!(row["batch_size"], if row["kind"] == "train" { 8 } else { 2048 });
        assert_eq!(row["threads"], 1);
        assert!(number("images_per_second") > 0.0);
        assert!((number("share_of_peak") - number("gflops") / peak).abs() < 1e-9);
    }
    for pair in rows[..4].chunks(2) {
        let speed = |row: usize| pair[row]["images_per_second"].as_f64().unwrap();
        let told = |row: usize| pair[row]["speedup_over_dense"].as_f64().unwrap();
        assert_eq!(told(0), 1.0);
        assert!((told(1) - speed(1) / speed(0)).abs() < 1e-9);
    }
    let bytes: Vec<u64> = rows.iter().filter_map(|row| row["bytes"].as_u64()).collect();
    assert!(bytes.len() == 2 && bytes[1] < bytes[0], "{bytes:?}");
}

#[test]
fn a_sparsity_without_its_dense_case_is_not_compared() {
    let desk = Desk::new();
    let told = desk.json(&format!("{BENCH} --sparsities 0.5 --kinds train --json"));
    let rows = told["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 1);
    assert!(rows[0]["speedup_over_dense"].is_null());
}

#[test]
fn people_get_a_table_and_wrong_requests_a_word() {
    let desk = Desk::new();
    let table = desk.ok(&format!("{BENCH} --sparsities 0"));
    for word in ["GFLOP/s", "tiny", "images/s", "of peak", "evaluate", "memory of a trial"] {
        assert!(table.contains(word), "{word}\n{table}");
    }
    let error = desk.fails("bench --model simple-cn", 2);
    assert!(error.contains("did you mean `simple-cnn`?"), "{error}");
    desk.fails("bench --kinds speed", 2);
}
