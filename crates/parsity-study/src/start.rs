//! Where trials start, by a study's question alone.
//!
//! Records outlive the file that asked for them: whatever a store keeps of how networks were
//! pruned has to be found again from the canonical text of the question, which it keeps, too.

use crate::model::ModelFile;
use sha2::{Digest, Sha256};

/// The network of a study and what its saliencies follow from, besides the data and the seed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    model: ModelFile,
    lines: String,
}

impl Start {
    /// The start of the trials of the study that asks `question`, a canonical text; `None` if
    /// it is none. Names are not part of it, so layers have the names they have by default.
    pub fn recall(question: &str) -> Option<Self> {
        let of_start = |line: &&str| {
            ["model.", "validation_share ", "pruning."].iter().any(|key| line.starts_with(key))
        };
        let lines = question.lines().filter(of_start).map(|line| format!("{line}\n")).collect();
        let value = |key: &str| {
            question.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "))
        };
        let input = value("model.input")?.replace('x', ", ");
        let mut text = format!("name = \"recalled\"\ninput = [{input}]\n");
        let layers = (1..).map_while(|number| value(&format!("model.layer{number}")));
        for layer in layers {
            text += &layer_table(layer)?;
        }
        let model = ModelFile::parse("the question", &text).ok()?;
        Some(Start { model, lines })
    }

    /// The network.
    pub fn model(&self) -> &ModelFile {
        &self.model
    }

    /// The hash under which the saliencies of `seed` are kept, as
    /// [`Trial::start`](crate::Trial::start) has it.
    pub fn id(&self, fingerprint: &str, seed: u64) -> String {
        id(fingerprint, &self.lines, seed)
    }
}

/// The hash of a data set, of the lines of a canonical text about model, validation share and
/// pruning, and of a seed.
pub(crate) fn id(fingerprint: &str, lines: &str, seed: u64) -> String {
    let text = format!("parsity start 1\nfingerprint = {fingerprint}\n{lines}seed = {seed}\n");
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A layer as model files have it, from its line of a canonical text: a kind, then
/// `key=value` for each of its keys.
fn layer_table(line: &str) -> Option<String> {
    let (kind, keys) = line.split_once(' ').unwrap_or((line, ""));
    let mut text = format!("[[layers]]\nkind = \"{kind}\"\n");
    for pair in keys.split_whitespace() {
        let (key, value) = pair.split_once('=')?;
        // Numbers, `true` and `false` stand bare.
        let is_bare = value.parse::<u64>().is_ok() || value.parse::<bool>().is_ok();
        let value = if is_bare { value.to_owned() } else { format!("\"{value}\"") };
        text += &format!("{key} = {value}\n");
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;

    #[test]
    fn a_question_leads_to_the_starts_of_its_trials() {
        for study in builtin::all() {
            let study = builtin::study(study.name).expect("it is built in");
            let start = Start::recall(&study.canonical()).expect("its own question can be read");
            // All that a layer computes is in its line; its name is not.
            let lines = |model: &ModelFile| -> Vec<String> {
                model.layers.iter().map(ToString::to_string).collect()
            };
            assert_eq!(start.model().input, study.workload().model.input);
            assert_eq!(lines(start.model()), lines(&study.workload().model));
            let cell = study.cells().last().expect("it has cells");
            for index in [0, 7] {
                let trial = study.trial(cell, index);
                assert_eq!(start.id("data", trial.seed()), trial.start("data"));
            }
        }
    }

    #[test]
    fn what_is_no_question_has_no_start() {
        for text in ["", "parsity study 1\nmodel.input = 1x28x28\n", "model.input = wide\n"] {
            assert_eq!(Start::recall(text), None, "{text}");
        }
    }
}
