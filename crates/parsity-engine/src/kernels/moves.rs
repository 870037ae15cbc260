//! Survivors' numbers on their way into a layer's own, and back.

#![allow(unsafe_code)]

/// Where neighbouring survivors stand in a layer's own numbers.
#[derive(Debug)]
pub(crate) struct Moves {
    /// The first of them.
    first: usize,
    places: Vec<u32>,
    /// How many numbers the layer has of its own.
    room: usize,
}

impl Moves {
    /// Survivors from number `first` on stand at `places` among `room` numbers.
    pub(crate) fn new(first: usize, places: Vec<u32>, room: usize) -> Self {
        assert!(places.iter().all(|&place| (place as usize) < room), "no such number");
        Moves { first, places, room }
    }

    /// Takes over the survivors' numbers.
    pub(crate) fn take_over(&self, survivors: &[f32], own: &mut [f32]) {
        let own = &mut own[..self.room];
        let survivors = &survivors[self.first..][..self.places.len()];
        for (&place, &number) in self.places.iter().zip(survivors) {
            // SAFETY: `new` has seen every place.
            unsafe { *own.get_unchecked_mut(place as usize) = number };
        }
    }

    /// Adds its own numbers to the survivors'.
    pub(crate) fn hand_over(&self, own: &[f32], survivors: &mut [f32]) {
        let own = &own[..self.room];
        let survivors = &mut survivors[self.first..][..self.places.len()];
        for (&place, number) in self.places.iter().zip(survivors) {
            // SAFETY: as above.
            *number += unsafe { own.get_unchecked(place as usize) };
        }
    }
}
