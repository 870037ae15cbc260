//! Raw records for other programs.

use crate::Desk;

#[test]
fn what_the_store_holds_comes_out_row_by_row() {
    let desk = Desk::new();
    desk.ok("run study.toml --batch-sizes 32");
    let csv = desk.ok("export study.toml");
    assert!(csv.starts_with("study,dataset,model,optimizer,"), "{csv}");
    assert_eq!(csv.lines().count(), 1 + 8);
    let records = desk.json("export small --format json");
    let observations = desk.json("export small --format json --table observations");
    let (records, observations) = (records.as_array().unwrap(), observations.as_array().unwrap());
    let cells = desk.json("status small --json")["cells"].clone();
    for cell in cells.as_array().unwrap() {
        let ours = records.iter().filter(|it| it["sparsity"] == cell["sparsity"]);
        let best = ours.filter_map(|it| it["reached_1"].as_u64()).min();
        assert_eq!(best, cell["steps_to_result"].as_u64());
    }
    for record in records {
        assert_eq!(record["weights"].as_str().unwrap().len(), 64);
        let key = |it: &serde_json::Value| (it["sparsity"].clone(), it["trial"].clone());
        let checks: Vec<_> = observations.iter().filter(|it| key(it) == key(record)).collect();
        // A trial that reached its goal was checked every 8 steps until then.
        if record["outcome"] == "complete" {
            assert_eq!(checks.len() as u64, record["steps"].as_u64().unwrap() / 8);
            assert!(checks.last().unwrap()["error"].as_f64().unwrap() <= 0.6);
        }
    }
}

#[test]
fn a_folder_gets_both_tables_and_a_file_the_one_that_is_asked_for() {
    let desk = Desk::new();
    desk.ok("run study.toml --batch-sizes 32 --sparsities 0 --trials 1");
    let told = desk.ok("export small --out raw");
    assert!(told.contains("raw/records.csv") && told.contains("raw/observations.csv"), "{told}");
    let read = |name: &str| std::fs::read_to_string(desk.path(name)).unwrap();
    assert_eq!(read("raw/records.csv"), desk.ok("export small"));
    desk.ok("export small --table observations --format json --out seen.json");
    assert_eq!(read("seen.json"), desk.ok("export small --table observations --format json"));
    let told = desk.fails("export small --out records.parquet", 2);
    assert!(told.contains("records.parquet would hold csv, not parquet"), "{told}");
    assert!(told.contains("help: add `--format parquet`"), "{told}");
    let told = desk.fails("export small --format parquet", 2);
    assert!(told.contains("--out"), "{told}");
    let told = desk.fails("export smal", 2);
    assert!(told.contains("small"), "{told}");
}

#[cfg(not(feature = "parquet"))]
#[test]
fn without_parquet_the_message_says_how_to_get_it() {
    let desk = Desk::new();
    let told = desk.fails("export small --format parquet --out raw", 2);
    assert!(told.contains("build it with `cargo build --release --features parquet`"), "{told}");
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_files_are_written_whole() {
    let desk = Desk::new();
    desk.ok("run study.toml --batch-sizes 32 --sparsities 0 --trials 1");
    desk.ok("export small --format parquet --out raw");
    for file in ["raw/records.parquet", "raw/observations.parquet"] {
        let bytes = std::fs::read(desk.path(file)).unwrap();
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"), "{file}");
    }
}
