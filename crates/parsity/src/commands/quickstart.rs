//! `parsity quickstart`: the main job on an embedded study.

use super::{print, report, run, threads};
use crate::arguments::Quickstart;
use crate::failure::End;
use anyhow::Context;
use parsity_lab::{Options, find_study};

pub(crate) fn quickstart(arguments: &Quickstart) -> anyhow::Result<End> {
    let question = find_study("quickstart")?;
    let out = &arguments.out;
    std::fs::create_dir_all(out).with_context(|| format!("making the folder {}", out.display()))?;
    let store = out.join("parsity.sqlite");
    let options = Options::new(&question.study, threads(arguments.threads));
    let summary = run::carry_out(&question, &store, &options)?;
    let name = question.study.name();
    run::show(name, &store)?;
    if !summary.stopped {
        let files = report::write(name, &store, out)?;
        print(format!("\nWritten: {}", files.join(", ")))?;
        print(
            "\nRead the figure from left to right: as long as a curve falls as fast as the dashed line,\n\
             doubling the batch size (the number of workers) halves the steps; where it flattens, more\n\
             data parallelism no longer pays.\n\n\
             Next:  parsity studies                              the studies that are built in\n       \
             parsity studies show quickstart > my.toml    this one as a file, to be changed\n       \
             parsity run my.toml                          carry it out",
        )?;
    }
    Ok(run::end(summary))
}
