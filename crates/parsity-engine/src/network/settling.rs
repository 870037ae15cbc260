//! What follows from the operations of a network: who needs zeros around a value, and who hands
//! the gradient on.

use super::{Flow, Network, Op, Tensor, Value};

impl Network {
    /// The network of `ops`, whose values have no rings yet.
    pub(crate) fn settled(
        ops: Vec<Op>,
        mut values: Vec<Value>,
        tensors: Vec<Tensor>,
        scores: usize,
    ) -> Self {
        let flows = flows(&ops, values.len());
        let mut gradients = values.clone();
        for (op, &flow) in ops.iter().zip(&flows) {
            if let Op::Conv { input, output, shape, .. } = *op {
                let (source, target) = (values[input].shape, values[output].shape);
                values[input].ring.widen(shape.reads_around(source, target));
                if flow != Flow::Stop {
                    gradients[output].ring.widen(shape.gradient_reads_around(source, target));
                }
            }
        }
        Network { ops, flows, values, gradients, tensors, scores }
    }
}

/// Walks the operations backwards and notes who is first to write each gradient.
fn flows(ops: &[Op], values: usize) -> Vec<Flow> {
    let mut depends = vec![false; values];
    let depends = ops.iter().map(|op| {
        let before = depends[op.input()];
        depends[op.output()] |= before || matches!(op, Op::Conv { .. });
        before
    });
    // A value may depend on them only later, when something is added to it.
    let depends: Vec<bool> = depends.collect();
    let mut written = vec![false; values];
    let mut flows: Vec<Flow> = ops
        .iter()
        .zip(depends)
        .rev()
        .map(|(op, depends)| {
            let input = op.input();
            if !depends {
                return Flow::Stop;
            }
            match std::mem::replace(&mut written[input], true) {
                false => Flow::Set,
                true => Flow::Add,
            }
        })
        .collect();
    flows.reverse();
    flows
}
