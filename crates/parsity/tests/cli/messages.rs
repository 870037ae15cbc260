//! Bad input: a clear error, what to do, and the right exit code.

use crate::{Desk, STUDY};

#[test]
fn wrong_requests_are_told_in_two_lines_and_end_with_2() {
    let desk = Desk::new();
    desk.write("typo.toml", &STUDY.replace("optimizer =", "optimiser ="));
    desk.write("model.toml", &STUDY.replace("tiny.toml", "wide.toml"));
    desk.write("wide.toml", &crate::MODEL.replace("size = 5", "size = 50"));
    desk.write("colour.toml", &STUDY.replace("\"tiny.toml\"", "\"resnet-8\""));
    desk.write("fetch.toml", &STUDY.replace("glyphs-small", "mnist"));
    desk.write("junk.sqlite", "this is not a database, but long enough to look at");
    let train = "train --dataset glyphs-small --model simple-cnn --batch-size 8 --steps 1 --learning-rate 0.1";
    let table = [
        ("run mnist-momentun".to_owned(), "did you mean `mnist-momentum`?"),
        ("run typo.toml".to_owned(), "typo.toml:5:1: unknown key `optimiser`"),
        (
            "plan model.toml".to_owned(),
            "layer 1 (conv1): a 50×50 window does not fit into its input of 1×28×28",
        ),
        (
            "run colour.toml".to_owned(),
            "resnet-8 takes images of 3×32×32, but those of glyphs-small are 1×28×28",
        ),
        ("run fetch.toml".to_owned(), "help: run `parsity data fetch mnist`"),
        ("status".to_owned(), "there is no store at parsity.sqlite"),
        ("status --store junk.sqlite".to_owned(), "junk.sqlite is not a store of Parsity"),
        ("studies show mnist".to_owned(), "no study is called `mnist`"),
        (format!("{train} --optimizer momentum"), "help: add `--momentum 0.9`"),
        (format!("{train} --optimizer sgd --momentum 0.9"), "sgd has no momentum"),
        (format!("{train} --optimizer adam"), "expected one of sgd, momentum, nesterov"),
        (
            format!("{train} --optimizer sgd --sparsity 1"),
            "expected a share of at least 0 and below 1",
        ),
        (
            format!("{train} --optimizer sgd --init study.toml"),
            "study.toml: not a safetensors file",
        ),
        (
            "prune --dataset glyhps --model simple-cnn --sparsity 0.5".to_owned(),
            "did you mean `glyphs`?",
        ),
        (
            "prune --dataset glyphs-small --model simple-cn --sparsity 0.5".to_owned(),
            "did you mean `simple-cnn`?",
        ),
        (
            "prune --dataset glyphs-small --model simple-cnn".to_owned(),
            "help: add `--sparsity 0.9`",
        ),
        ("data where cifar10".to_owned(), "parsity data fetch cifar10"),
    ];
    for (arguments, expected) in table {
        let told = desk.fails(&arguments, 2);
        assert!(told.contains(expected), "{arguments}\n{told}");
        assert!(told.contains("error:"), "{arguments}\n{told}");
        assert!(!told.contains("panicked"), "{arguments}\n{told}");
    }
}

#[test]
fn a_report_of_a_study_without_records_names_those_that_have_some() {
    let desk = Desk::new();
    desk.ok("run study.toml --trials 1 --batch-sizes 128 --sparsities 0");
    let told = desk.fails("report mnist-sgd", 2);
    assert!(told.contains("has no study `mnist-sgd`") && told.contains("small"), "{told}");
}

#[test]
fn a_store_of_a_newer_version_is_left_alone() {
    let desk = Desk::new();
    desk.ok("run study.toml --trials 1 --batch-sizes 128 --sparsities 0");
    let path = desk.path("parsity.sqlite");
    let store = rusqlite::Connection::open(&path).unwrap();
    store.pragma_update(None, "user_version", 99).unwrap();
    drop(store);
    let before = std::fs::read(&path).unwrap();
    for command in ["status", "run study.toml"] {
        let told = desk.fails(command, 2);
        assert!(told.contains("written by a newer Parsity"), "{told}");
    }
    assert!(std::fs::read(&path).unwrap() == before);
}
