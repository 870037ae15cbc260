//! `parsity quickstart`: the main job on an embedded study.

use super::{print, report, run, threads};
use crate::arguments::Quickstart;
use crate::failure::End;
use crate::processes::Processes;
use anyhow::Context;
use parsity_lab::{Options, Store, find_study};

pub(crate) fn quickstart(arguments: &Quickstart) -> anyhow::Result<End> {
    let question = find_study("quickstart")?;
    let out = &arguments.out;
    std::fs::create_dir_all(out).with_context(|| format!("making the folder {}", out.display()))?;
    let store = out.join("parsity.sqlite");
    let options = Options::new(&question.study, threads(arguments.threads));
    let bench = run::load(&question, &mut Processes::join(1)?)?;
    let summary = run::carry_out(&question, &bench, &store, &options, None)?;
    let name = question.study.name();
    run::show(name, &store)?;
    if !summary.stopped {
        let store = Store::read(&store)?;
        let written = report::write(&store, &[store.study(name)?], out)?;
        print(format!("\n{}", written.text()))?;
        print(format!(
            "\nNext:  parsity studies                              the studies that are built in\n       \
             parsity studies show quickstart > my.toml    this one as a file, to be changed\n       \
             parsity run my.toml                          carry it out\n\n\
             Open {} in a browser: it says what the curves mean.",
            out.join("index.html").display()
        ))?;
    }
    Ok(run::end(summary))
}
