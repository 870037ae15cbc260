//! From the text of a model file to its layers, with all defaults and names filled in.
//!
//! Apart from the language itself. Each kind of layer has its own keys, so that a key of
//! another kind is as unknown as a misspelt one.

use super::{Kind, Layer, ModelFile, Padding};
use crate::error::{Problem, StudyError};
use crate::source::Source;
use serde::Deserialize;
use toml::Spanned;
use toml::de::DeValue;

/// No sensible network has more filters, units or pixels on a side.
const MOST: usize = 1 << 16;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelKeys {
    name: String,
    input: Vec<usize>,
    layers: Vec<KindKey>,
}

#[derive(Deserialize)]
#[serde(expecting = "a layer like { kind = \"relu\" }")]
struct KindKey {
    kind: Kind,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConvKeys {
    name: Option<String>,
    filters: usize,
    size: usize,
    #[serde(default = "one")]
    stride: usize,
    #[serde(default)]
    padding: Padding,
    #[serde(default = "yes")]
    bias: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DenseKeys {
    name: Option<String>,
    units: usize,
    #[serde(default = "yes")]
    bias: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PoolKeys {
    size: usize,
    stride: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ResidualKeys {
    name: Option<String>,
    filters: usize,
    #[serde(default = "three")]
    size: usize,
    #[serde(default = "one")]
    stride: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoKeys {}

fn one() -> usize {
    1
}

fn three() -> usize {
    3
}

fn yes() -> bool {
    true
}

impl ModelFile {
    /// The network of the model file `text`; `file` is its name in messages.
    pub fn parse(file: &str, text: &str) -> Result<Self, StudyError> {
        let source = Source { file, text };
        let root = source.table()?;
        let ModelKeys { name, input, layers } = source.read(&root)?;
        let within = |problem| source.error_within(&root, problem);
        check_name(&name).map_err(within)?;
        let input = check_input(&input).map_err(within)?;
        if layers.is_empty() {
            return Err(within(Problem::Empty { key: "layers", element: "layer" }));
        }
        let tables = root.get_ref().get("layers").and_then(|layers| layers.get_ref().as_array());
        let kinds: Vec<Kind> = layers.iter().map(|layer| layer.kind).collect();
        let tables = tables.map_or(&[][..], |tables| &tables[..]);
        let layers = read_layers(source, &kinds, tables)?;
        Ok(ModelFile { name, input, layers })
    }
}

/// All layers, with unique names, ending in a classifier.
fn read_layers<'t>(
    source: Source<'t>,
    kinds: &[Kind],
    tables: &[Spanned<DeValue<'t>>],
) -> Result<Vec<Layer>, StudyError> {
    let mut layers: Vec<Layer> = Vec::with_capacity(tables.len());
    for (index, table) in tables.iter().enumerate() {
        let layer = read_layer(source, table, kinds[index], default_name(kinds, index))?;
        if let Some(name) = layer.name()
            && layers.iter().any(|other| other.name() == Some(name))
        {
            let problem = Problem::SameName { name: name.to_owned() };
            return Err(source.error_within(table, problem));
        }
        layers.push(layer);
    }
    match (kinds.last(), tables.last()) {
        (Some(&kind), Some(table)) if kind != Kind::Dense => {
            Err(source.error_within(table, Problem::NoClassifier { found: kind.name() }))
        }
        _ => Ok(layers),
    }
}

/// The name of a layer that is given none: its kind and its number among its kind; a
/// dense layer that is the only one needs no number.
fn default_name(kinds: &[Kind], index: usize) -> String {
    let kind = kinds[index];
    let count = |kinds: &[Kind]| kinds.iter().filter(|&&other| other == kind).count();
    let number = count(&kinds[..=index]);
    match kind {
        Kind::Residual => format!("block{number}"),
        Kind::Dense if count(kinds) == 1 => "dense".to_owned(),
        _ => format!("{kind}{number}"),
    }
}

fn read_layer<'t>(
    source: Source<'t>,
    table: &Spanned<DeValue<'t>>,
    kind: Kind,
    default_name: String,
) -> Result<Layer, StudyError> {
    let mut keys = table.clone();
    if let DeValue::Table(keys) = keys.get_mut() {
        keys.remove("kind");
    }
    let layer = match kind {
        Kind::Conv => {
            let ConvKeys { name, filters, size, stride, padding, bias } = source.read(&keys)?;
            let name = name.unwrap_or(default_name);
            Layer::Conv { name, filters, size, stride, padding, bias }
        }
        Kind::Dense => {
            let DenseKeys { name, units, bias } = source.read(&keys)?;
            Layer::Dense { name: name.unwrap_or(default_name), units, bias }
        }
        Kind::MaxPool => {
            let PoolKeys { size, stride } = source.read(&keys)?;
            Layer::MaxPool { size, stride: stride.unwrap_or(size) }
        }
        Kind::AveragePool => {
            let PoolKeys { size, stride } = source.read(&keys)?;
            Layer::AveragePool { size, stride: stride.unwrap_or(size) }
        }
        Kind::Residual => {
            let ResidualKeys { name, filters, size, stride } = source.read(&keys)?;
            Layer::Residual { name: name.unwrap_or(default_name), filters, size, stride }
        }
        Kind::Relu => source.read(&keys).map(|NoKeys {}| Layer::Relu)?,
        Kind::GlobalAveragePool => source.read(&keys).map(|NoKeys {}| Layer::GlobalAveragePool)?,
        Kind::Flatten => source.read(&keys).map(|NoKeys {}| Layer::Flatten)?,
    };
    check_layer(&layer).map_err(|problem| source.error_within(table, problem))?;
    Ok(layer)
}

fn check_layer(layer: &Layer) -> Result<(), Problem> {
    layer.name().map_or(Ok(()), check_layer_name)?;
    match *layer {
        Layer::Conv { filters, size, stride, .. }
        | Layer::Residual { filters, size, stride, .. } => {
            check_counts(&[("filters", filters), ("size", size), ("stride", stride)])
        }
        Layer::Dense { units, .. } => check_counts(&[("units", units)]),
        Layer::MaxPool { size, stride } | Layer::AveragePool { size, stride } => {
            check_counts(&[("size", size), ("stride", stride)])
        }
        Layer::Relu | Layer::GlobalAveragePool | Layer::Flatten => Ok(()),
    }
}

fn check_counts(counts: &[(&str, usize)]) -> Result<(), Problem> {
    match counts.iter().find(|(_, count)| !(1..=MOST).contains(count)) {
        Some((key, count)) => Err(Problem::OutOfRange {
            key: (*key).to_owned(),
            found: count.to_string(),
            expected: format!("1 to {MOST}"),
        }),
        None => Ok(()),
    }
}

fn check_input(sides: &[usize]) -> Result<[usize; 3], Problem> {
    let input = <[usize; 3]>::try_from(sides).map_err(|_| Problem::OutOfRange {
        key: "input".to_owned(),
        found: format!("{sides:?}"),
        expected: "three numbers: channels, height, width".to_owned(),
    })?;
    check_counts(&input.map(|side| ("input", side)))?;
    Ok(input)
}

/// Names of layers become names of tensors in exported files, so they are plain.
fn check_layer_name(name: &str) -> Result<(), Problem> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    if !name.is_empty() && name.chars().all(plain) {
        return Ok(());
    }
    let expected = "letters, digits and underscores, at least one";
    Err(Problem::BadName { key: "name", found: name.to_owned(), expected })
}

fn check_name(name: &str) -> Result<(), Problem> {
    if !name.trim().is_empty() && !name.chars().any(char::is_control) {
        return Ok(());
    }
    let expected = "a name of at least one letter";
    Err(Problem::BadName { key: "name", found: name.to_owned(), expected })
}
