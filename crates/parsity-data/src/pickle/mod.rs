//! The pickles that CIFAR-10 comes in: a dictionary of labels and pixels.
//!
//! Apart from the machine that runs them: here is what a batch must hold once it has run.

mod machine;

use crate::DataError;
use machine::{Id, Machine, Value};
use std::path::Path;

/// Labels and pixels of a pickled batch whose images have `size` bytes.
pub(crate) fn parse_batch(
    path: &Path,
    bytes: &[u8],
    size: usize,
) -> Result<(Vec<u8>, Vec<u8>), DataError> {
    let mut machine = Machine::new(path, bytes);
    let root = machine.run()?;
    let labels = machine.labels(root)?;
    let pixels = machine.pixels(root, labels.len(), size)?;
    Ok((labels, pixels))
}

impl Machine<'_> {
    /// The value under `key` in the dictionary `root`.
    fn entry(&self, root: Id, key: &str) -> Result<&Value<'_>, DataError> {
        let Value::Dict(pairs) = &self.values[root] else {
            return Err(self.malformed("content", "a dictionary", "something else"));
        };
        let is_key = |id: Id| match &self.values[id] {
            Value::Text(text) => text.as_ref() == key.as_bytes(),
            _ => false,
        };
        let found = pairs.iter().rev().find(|pair| is_key(pair.0));
        found
            .map(|pair| &self.values[pair.1])
            .ok_or_else(|| self.malformed("content", format!("the key `{key}`"), "none"))
    }

    fn labels(&self, root: Id) -> Result<Vec<u8>, DataError> {
        let Value::List(items) = self.entry(root, "labels")? else {
            return Err(self.malformed("labels", "a list", "something else"));
        };
        let label = |&id: &Id| match self.values[id] {
            Value::Int(value) => u8::try_from(value).ok(),
            _ => None,
        };
        let labels: Option<Vec<u8>> = items.iter().map(label).collect();
        labels.ok_or_else(|| self.malformed("labels", "integers from 0 to 255", "something else"))
    }

    fn pixels(&self, root: Id, count: usize, size: usize) -> Result<Vec<u8>, DataError> {
        let wrong = || self.malformed("data", "an array of unsigned bytes", "something else");
        let Value::Array(Some(state)) = self.entry(root, "data")? else { return Err(wrong()) };
        let Value::Tuple(state) = &self.values[*state] else { return Err(wrong()) };
        let [_version, shape, dtype, fortran, data] = state.as_slice() else { return Err(wrong()) };
        let (Value::Tuple(shape), Value::Dtype(code)) =
            (&self.values[*shape], &self.values[*dtype])
        else {
            return Err(wrong());
        };
        let Value::Text(data) = &self.values[*data] else { return Err(wrong()) };
        if !matches!(&self.values[*code], Value::Text(code) if code.as_ref() == b"u1") {
            return Err(wrong());
        }
        let sides: Vec<i64> = shape
            .iter()
            .map_while(|&id| match self.values[id] {
                Value::Int(side) => Some(side),
                _ => None,
            })
            .collect();
        if sides != [count as i64, size as i64] || Some(data.len()) != count.checked_mul(size) {
            let expected = format!("{count}×{size} bytes, one row per label");
            let found = format!("shape {sides:?} of {} bytes", data.len());
            return Err(self.malformed("data", expected, found));
        }
        Ok(match self.values[*fortran] {
            // Column by column: byte j of image i lies at j·count + i.
            Value::Bool(true) | Value::Int(1) => {
                (0..data.len()).map(|at| data[at % size * count + at / size]).collect()
            }
            _ => data.to_vec(),
        })
    }
}
