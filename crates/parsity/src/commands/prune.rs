//! `parsity prune`: what survives.

use super::setup::{Ready, set_up};
use super::{print, print_json, table, threads};
use crate::arguments::Prune;
use crate::failure::{End, WrongRequest};
use crate::interrupt;
use crate::words::grouped;
use parsity_engine::{Pattern, Team};
use parsity_lab::{Work, save_weights, useful_flops_per_image};
use parsity_study::Sparsity;
use std::sync::atomic::Ordering;

pub(crate) fn prune(arguments: &Prune) -> anyhow::Result<End> {
    let setup = &arguments.setup;
    if setup.sparsity == Sparsity::DENSE {
        return Err(
            WrongRequest("there is nothing to prune; add `--sparsity 0.9`".to_owned()).into()
        );
    }
    let go_on = || !interrupt::flag().load(Ordering::Relaxed);
    let team = Team::new(threads(setup.threads));
    let Some(ready) = set_up(setup, team, &go_on)? else { return Ok(End::Interrupted) };
    let Ready { bench, parameters, pattern, .. } = ready;
    let network = &bench.network;
    if let Some(path) = &setup.save {
        save_weights(network, &pattern, &pattern.gather(&parameters), path)?;
    }
    // An image's way forward.
    let products = |pattern: &Pattern| useful_flops_per_image(network, pattern, Work::Evaluate) / 2;
    let (dense, left) = (products(&Pattern::dense(pattern.parameters())), products(&pattern));
    let counts = pattern.survivors_per_tensor(network);
    let layers = network.tensors().iter().zip(&counts);
    if setup.json {
        let tensors = layers.map(|(tensor, survivors)| {
            serde_json::json!({
                "name": tensor.name, "shape": tensor.dims,
                "parameters": tensor.range.len(), "survivors": survivors,
            })
        });
        print_json(&serde_json::json!({
            "dataset": setup.dataset, "model": setup.model, "method": setup.method,
            "sparsity": setup.sparsity, "parameters": pattern.parameters(),
            "survivors": pattern.len(), "tensors": tensors.collect::<Vec<_>>(),
            "multiply_adds": { "dense": dense, "left": left },
        }))?;
        return Ok(End::Done);
    }
    let row = |name: &str, shape: String, all: usize, kept: usize| {
        let sparsity = format!("{:.1} %", 100.0 * (1.0 - kept as f64 / all as f64));
        [name.to_owned(), shape, grouped(all as u64), grouped(kept as u64), sparsity]
    };
    let tensors = layers.map(|(tensor, &survivors)| {
        let shape = tensor.dims.iter().map(usize::to_string).collect::<Vec<_>>().join("×");
        row(&tensor.name, shape, tensor.range.len(), survivors)
    });
    let total = row("all", String::new(), pattern.parameters(), pattern.len());
    let headings = ["tensor", "shape", "parameters", "survivors", "sparsity"];
    print(table(headings, 1, tensors.chain([total]).collect()))?;
    let share = 100.0 * left as f64 / dense.max(1) as f64;
    let [left, dense] = [left, dense].map(|products| grouped(products as u64));
    print(format!(
        "\nWork left: {left} of {dense} multiply-adds for the scores of an image, {share:.1} %."
    ))?;
    if let Some(path) = &setup.save {
        print(format!("\nWritten: {}", path.display()))?;
    }
    Ok(End::Done)
}
