//! Several threads at one block: each computes some channels of every value, and gets those
//! of the others where it needs them.
//!
//! A batch of few images is one block, which a single thread would work on alone.
//! Here every thread has room for all values but computes only the channels of its *seat*.
//! Most operations stay within a channel. A convolution reads all channels of its input, and
//! its input gradient all those of its output's gradient: before it the seats exchange what
//! they have. Every number is computed by one seat, as a lone thread would compute it: so the
//! number of seats never changes a bit.

use crate::grains::share;
use crate::network::Value;
use std::hint::spin_loop;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// Turns of waiting awake before a thread lets others have its core, or goes to sleep.
pub(crate) const SPINS: u32 = 4_000;

/// Waits until it is so.
pub(crate) fn wait_until(is_so: impl Fn() -> bool) {
    let mut spins = 0;
    while !is_so() {
        spins += 1;
        if spins < SPINS { spin_loop() } else { std::thread::yield_now() }
    }
}

/// Which channels a thread computes.
#[derive(Debug, Clone)]
pub(crate) struct Seat {
    index: usize,
    count: usize,
    /// Where seats meet; nowhere if there is but one.
    table: Option<Arc<Table>>,
}

impl Seat {
    /// All channels.
    pub(crate) fn alone() -> Self {
        Seat { index: 0, count: 1, table: None }
    }

    /// Seat `index` at a table.
    pub(crate) fn at(table: &Arc<Table>, index: usize) -> Self {
        Seat { index, count: table.seats(), table: Some(Arc::clone(table)) }
    }

    /// Whether it computes all channels.
    pub(crate) fn is_alone(&self) -> bool {
        self.count == 1
    }

    /// Whether it is the same as `other`.
    pub(crate) fn is(&self, other: &Seat) -> bool {
        (self.index, self.count) == (other.index, other.count)
    }

    /// The channels that it computes, of `channels`.
    pub(crate) fn share(&self, channels: usize) -> Range<usize> {
        share(channels, self.index, self.count)
    }

    /// Gives the others its channels of a value, and gets theirs; also the codes of each channel, if
    /// there are any.
    pub(crate) fn exchange(&self, value: &Value, numbers: &mut [f32], codes: &mut [u8]) {
        let Some(table) = &self.table else { return };
        let channels = value.shape.channels;
        let place = |seat: usize| value.part(&share(channels, seat, self.count)).1;
        let numbers_of = |seat: usize| {
            let place = place(seat);
            place.start << value.lanes..place.end << value.lanes
        };
        let each = codes.len() / channels;
        let codes_of = |seat: usize| {
            let share = share(channels, seat, self.count);
            share.start * each..share.end * each
        };
        let slots = table.slots();
        {
            let mut slot = slots[self.index].write().unwrap_or_else(PoisonError::into_inner);
            slot.numbers.clear();
            slot.numbers.extend_from_slice(&numbers[numbers_of(self.index)]);
            slot.codes.clear();
            slot.codes.extend_from_slice(&codes[codes_of(self.index)]);
        }
        table.meet();
        for seat in (0..self.count).filter(|&seat| seat != self.index) {
            let slot = slots[seat].read().unwrap_or_else(PoisonError::into_inner);
            numbers[numbers_of(seat)].copy_from_slice(&slot.numbers);
            let codes_of = codes_of(seat);
            codes[codes_of].copy_from_slice(&slot.codes);
        }
    }
}

/// What a seat has to give.
#[derive(Debug, Default)]
struct Slot {
    numbers: Vec<f32>,
    codes: Vec<u8>,
}

/// Where the threads at one block meet.
#[derive(Debug)]
pub(crate) struct Table {
    /// What each seat has to give, by turns: who is done with one turn may put down what is
    /// for the next, but not before all are done with the one before it.
    slots: [Vec<RwLock<Slot>>; 2],
    /// How often any of them has come.
    arrivals: AtomicUsize,
    left: AtomicBool,
}

impl Table {
    pub(crate) fn new(seats: usize) -> Arc<Self> {
        let slots = [0, 1].map(|_| (0..seats).map(|_| RwLock::default()).collect());
        Arc::new(Table { slots, arrivals: AtomicUsize::new(0), left: AtomicBool::new(false) })
    }

    pub(crate) fn seats(&self) -> usize {
        self.slots[0].len()
    }

    /// The slots of this turn, for one who has not come yet: it ends only when all have.
    fn slots(&self) -> &[RwLock<Slot>] {
        let turn = self.arrivals.load(Ordering::Acquire) / self.seats();
        &self.slots[turn % 2]
    }

    /// Waits until all are here.
    fn meet(&self) {
        let seats = self.seats();
        let turn = self.arrivals.fetch_add(1, Ordering::AcqRel) / seats;
        wait_until(|| {
            assert!(!self.left.load(Ordering::Relaxed), "another thread at the block has panicked");
            self.arrivals.load(Ordering::Acquire) >= (turn + 1) * seats
        });
    }

    /// Tells the others if the thread panics while it holds this: they would wait forever.
    pub(crate) fn guard(&self) -> Guard<'_> {
        Guard(self)
    }
}

/// See [`Table::guard`].
pub(crate) struct Guard<'a>(&'a Table);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.left.store(true, Ordering::Relaxed);
        }
    }
}
