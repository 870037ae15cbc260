//! Ctrl-C: the first one stops cleanly, the second one at once.

use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);

/// The flag that a Ctrl-C (or a request to terminate) raises.
pub(crate) fn flag() -> &'static AtomicBool {
    // A second handler is refused: the first one does the same.
    let _ = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
    &STOP
}
