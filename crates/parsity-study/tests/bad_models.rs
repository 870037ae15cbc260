//! Bad model files, each with the exact message that a person gets.

use parsity_study::ModelFile;

/// A correct model file, one layer per line; each case spoils it.
const MODEL: &str = r#"name = "mine"
input = [1, 28, 28]
layers = [
    { kind = "conv", filters = 32, size = 5 },
    { kind = "relu" },
    { kind = "max-pool", size = 2 },
    { kind = "flatten" },
    { kind = "dense", units = 10 },
]
"#;

fn model_message(text: &str) -> String {
    ModelFile::parse("model.toml", text).expect_err("a bad model file").to_string()
}

fn assert_models(cases: &[(&str, &str, &str)]) {
    for &(from, to, message) in cases {
        assert!(MODEL.contains(from), "{from} is not in the model file");
        assert_eq!(model_message(&MODEL.replacen(from, to, 1)), message, "{from} -> {to}");
    }
}

#[test]
fn a_correct_file_is_read() {
    assert!(ModelFile::parse("model.toml", MODEL).is_ok());
}

#[test]
fn a_bad_model_is_refused_before_any_shape_is_known() {
    assert_models(&[
        (
            "[1, 28, 28]",
            "[1, 28]",
            "model.toml:2:9: `input` is [1, 28]: expected three numbers: channels, height, width",
        ),
        (
            "[1, 28, 28]",
            "[1, 28, 28, 1]",
            "model.toml:2:9: `input` is [1, 28, 28, 1]: expected three numbers: channels, height, width",
        ),
        ("[1, 28, 28]", "[1, 0, 28]", "model.toml:2:9: `input` is 0: expected 1 to 65536"),
        ("input", "inputs", "model.toml:2:1: unknown key `inputs`: did you mean `input`?"),
        (
            "\"mine\"",
            "\" \"",
            "model.toml:1:8: `name` is \" \": expected a name of at least one letter",
        ),
        ("filters = 32", "filters = 0", "model.toml:4:32: `filters` is 0: expected 1 to 65536"),
        (
            "filters = 32",
            "filters = -1",
            "model.toml:4:32: `filters`: invalid value: integer `-1`, expected a whole number, at least 0",
        ),
        (
            "filters = 32, ",
            "",
            "model.toml:4:5: missing key `filters`: it has no default, so add it",
        ),
        ("size = 5", "size = 0", "model.toml:4:43: `size` is 0: expected 1 to 65536"),
        ("size = 5", "size = 5, stride = 0", "model.toml:4:55: `stride` is 0: expected 1 to 65536"),
        ("size = 2", "size = 0", "model.toml:6:33: `size` is 0: expected 1 to 65536"),
        ("units = 10", "units = 70000", "model.toml:8:31: `units` is 70000: expected 1 to 65536"),
        (
            "size = 5",
            "size = 5, padding = \"full\"",
            "model.toml:4:56: `padding`: unknown word `full`: expected one of `valid`, `same`",
        ),
        ("filters", "filter", "model.toml:4:22: unknown key `filter`: did you mean `filters`?"),
        (
            "\"relu\"",
            "\"relu\", size = 1",
            "model.toml:5:22: unknown key `size`: expected no more keys here",
        ),
        (
            "\"relu\"",
            "\"rellu\"",
            "model.toml:5:14: `layers.kind`: unknown word `rellu`: did you mean `relu`?",
        ),
        (
            "{ kind = \"relu\" }",
            "\"relu\"",
            "model.toml:5:5: `layers`: invalid type: string \"relu\", expected a layer like { kind = \"relu\" }",
        ),
        (
            "kind = \"relu\"",
            "type = \"relu\"",
            "model.toml:5:5: missing key `layers.kind`: it has no default, so add it",
        ),
        (
            "    { kind = \"dense\", units = 10 },\n",
            "",
            "model.toml:7:5: the last layer is `flatten`: expected `dense`, with one unit per class",
        ),
        (
            "size = 5",
            "size = 5, name = \"a.b\"",
            "model.toml:4:53: `name` is \"a.b\": expected letters, digits and underscores, at least one",
        ),
        (
            "size = 5",
            "size = 5, name = \"\"",
            "model.toml:4:53: `name` is \"\": expected letters, digits and underscores, at least one",
        ),
        (
            "size = 5",
            "size = 5, name = \"dense\"",
            "model.toml:8:5: two layers are called `dense`: expected each name once, so rename one",
        ),
    ]);
    assert_eq!(
        model_message("name = \"mine\"\ninput = [1, 1, 1]\nlayers = []\n"),
        "model.toml:3:10: `layers` is empty: expected at least one layer"
    );
    assert_eq!(
        model_message("name = \"mine\"\ninput = [1, 1, 1]\n[[layers]]\nkind = \"dense\"\n"),
        "model.toml:3:1: missing key `units`: it has no default, so add it"
    );
}
