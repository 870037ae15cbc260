//! Weights in and out as safetensors, with PyTorch's names and shapes.

use crate::error::LabError;
use parsity_engine::{Network, Pattern};
use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};
use std::fs;
use std::path::Path;

/// All parameters of `network` from a file.
pub fn load_weights(network: &Network, path: &Path) -> Result<Vec<f32>, LabError> {
    let bytes = fs::read(path).map_err(LabError::io("reading", path))?;
    let not_safetensors = |source| LabError::NotSafetensors { path: path.to_owned(), source };
    let file = SafeTensors::deserialize(&bytes).map_err(not_safetensors)?;
    let mut parameters = Vec::with_capacity(network.parameters());
    for tensor in network.tensors() {
        let wrong = |found: String| LabError::WrongTensor {
            path: path.to_owned(),
            tensor: tensor.name.clone(),
            expected: format!("F32 of shape {:?}", tensor.dims),
            found,
        };
        let view = file
            .tensor(&tensor.name)
            .map_err(|_| wrong(format!("none of that name among {}", listed(&file))))?;
        if view.dtype() != Dtype::F32 || view.shape() != tensor.dims {
            return Err(wrong(format!("{:?} of shape {:?}", view.dtype(), view.shape())));
        }
        let numbers = view.data().as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
        parameters.extend(numbers);
    }
    Ok(parameters)
}

fn listed(file: &SafeTensors<'_>) -> String {
    let mut names = file.names();
    names.sort_unstable();
    names.join(", ")
}

/// Writes the survivors' `weights` as whole tensors with zeros; for a pruned network also
/// a mask for each, `conv1.weight.mask`. The file appears as a whole or not at all.
pub fn save_weights(
    network: &Network,
    pattern: &Pattern,
    weights: &[f32],
    path: &Path,
) -> Result<(), LabError> {
    let all = pattern.scatter(weights);
    let mut mask = vec![0u8; all.len()];
    for &index in pattern.survivors() {
        mask[index as usize] = 1;
    }
    let bytes: Vec<u8> = all.iter().flat_map(|weight| weight.to_le_bytes()).collect();
    let pruned = pattern.len() < pattern.parameters();
    let mut views = Vec::new();
    for tensor in network.tensors() {
        let (start, end) = (tensor.range.start, tensor.range.end);
        let view = |dtype, data| {
            TensorView::new(dtype, tensor.dims.clone(), data).expect("a tensor has its size")
        };
        views.push((tensor.name.clone(), view(Dtype::F32, &bytes[4 * start..4 * end])));
        if pruned {
            views.push((format!("{}.mask", tensor.name), view(Dtype::U8, &mask[start..end])));
        }
    }
    let file = serialize(views, None)
        .map_err(|source| LabError::NotSafetensors { path: path.to_owned(), source })?;
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    let part = Path::new(&name);
    fs::write(part, file).map_err(LabError::io("writing", part))?;
    fs::rename(part, path).map_err(LabError::io("writing", path))
}
