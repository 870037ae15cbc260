//! `parsity serve`: a page that shows a store, live.

use super::print;
use crate::arguments::{Serve, WindowPlace};
use crate::failure::End;
use crate::interrupt;
use anstream::eprintln;
use parsity_lab::Store;
use parsity_serve::{Options, Window};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How soon a Ctrl-C is noticed.
const ATTENTION: Duration = Duration::from_millis(100);

pub(crate) fn serve(arguments: &Serve) -> anyhow::Result<End> {
    let path = &arguments.store.store;
    // A store that is not there is more likely a slip than one that is still to come.
    Store::look_at(path)?;
    let stop = interrupt::flag();
    let window = open(&arguments.window, path)?;
    print(window.url())?;
    eprintln!("open this address in a browser; Ctrl-C ends it");
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(ATTENTION);
    }
    window.close();
    Ok(End::Done)
}

/// Opens a window onto the store at `path`.
pub(crate) fn open(place: &WindowPlace, path: &Path) -> anyhow::Result<Window> {
    let (bind, port, hosts) = (place.bind, place.port, place.hosts.clone());
    Ok(Window::open(&Options { store: path.to_owned(), bind, port, hosts })?)
}
