//! Carrying letters: the one thread of a rank that talks to the other ranks about trials.

use super::letter::Letter;
use parsity_engine::Comm;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// The shortest and the longest pause between two looks at the wire. MPI has no bell: to wait
/// for a message is to look again and again, which must not take a core from those who train.
const PAUSES: [Duration; 2] = [Duration::from_micros(20), Duration::from_micros(200)];

/// A letter and the rank that it is for; `None` asks the carrier to look up.
pub(super) type Mail = Option<(usize, Letter)>;

/// Carries the letters of `mail` to other ranks, and those of other ranks to `deliver`, as long
/// as that wants more. It is called with each letter and its sender, and without one in between.
pub(super) fn carry(
    world: &mut dyn Comm,
    mail: &Receiver<Mail>,
    mut deliver: impl FnMut(Option<(usize, Letter)>) -> bool,
) {
    let own = world.rank();
    let mut pause = PAUSES[0];
    loop {
        let mut is_quiet = true;
        let mut next = mail.recv_timeout(pause);
        while let Ok(letter) = next {
            is_quiet = false;
            match letter {
                Some((to, letter)) if to == own => {
                    deliver(Some((own, letter)));
                }
                Some((to, letter)) => world.post(to, letter.pack()),
                None => {}
            }
            next = mail.try_recv().map_err(|_| RecvTimeoutError::Timeout);
        }
        while let Some((from, numbers)) = world.poll() {
            is_quiet = false;
            deliver(Some((from, Letter::unpack(&numbers))));
        }
        if !deliver(None) {
            break;
        }
        pause = if is_quiet { (pause * 2).min(PAUSES[1]) } else { PAUSES[0] };
    }
    // The last words.
    while let Ok(Some((to, letter))) = mail.try_recv() {
        world.post(to, letter.pack());
    }
}
