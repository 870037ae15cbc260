//! Survivors' numbers on their way into a layer's own, and back.

#![allow(unsafe_code)]

use super::isa::Isa;
use super::vector::fetch;
use super::{LANES, multiversion};

/// Where neighbouring survivors stand in a layer's own numbers.
#[derive(Debug)]
pub(crate) struct Moves {
    /// The first of them.
    first: usize,
    places: Vec<u32>,
    /// How many numbers the layer has of its own.
    room: usize,
    /// If survivors stand there in their order, and not too few: which of each sixteen numbers are
    /// survivors'.
    bits: Option<Vec<u16>>,
}

impl Moves {
    /// Survivors from number `first` on stand at `places` among `room` numbers.
    pub(crate) fn new(first: usize, places: Vec<u32>, room: usize) -> Self {
        assert!(places.iter().all(|&place| (place as usize) < room), "no such number");
        let in_order = places.is_sorted_by(|a, b| a < b);
        let bits = (in_order && places.len() * LANES >= room).then(|| {
            let mut bits = vec![0; room.div_ceil(LANES)];
            for &place in &places {
                bits[place as usize / LANES] |= 1 << (place as usize % LANES);
            }
            bits
        });
        Moves { first, places, room, bits }
    }

    /// Takes over the survivors' numbers; others stay.
    pub(crate) fn take_over(&self, survivors: &[f32], own: &mut [f32]) {
        take_over(self, &survivors[self.first..][..self.places.len()], &mut own[..self.room]);
    }

    /// Adds its own numbers to the survivors'.
    pub(crate) fn hand_over(&self, own: &[f32], survivors: &mut [f32]) {
        hand_over(self, &own[..self.room], &mut survivors[self.first..][..self.places.len()]);
    }
}

/// Asks for all of `numbers`, which another thread may have written: whoever picks them out one by
/// one would wait for each.
pub(crate) fn ask_for(numbers: &[f32]) {
    numbers.chunks(LANES).for_each(|line| fetch(line.as_ptr()));
}

multiversion! {
    /// `Moves::take_over`, of these survivors.
    take_over(moves: &Moves, survivors: &[f32], own: &mut [f32]) = take_over_body<Isa>
}

#[inline(always)]
fn take_over_body<I: Isa>(moves: &Moves, survivors: &[f32], own: &mut [f32]) {
    let mut done = 0;
    if let (true, Some(bits)) = (I::SPREADS, &moves.bits) {
        for (own, &bits) in own.as_chunks_mut().0.iter_mut().zip(bits) {
            let count = bits.count_ones() as usize;
            I::spread(&survivors[done..][..count], bits, own);
            done += count;
        }
    }
    for (&place, &number) in moves.places[done..].iter().zip(&survivors[done..]) {
        // SAFETY: `new` has seen every place.
        unsafe { *own.get_unchecked_mut(place as usize) = number };
    }
}

multiversion! {
    /// `Moves::hand_over`, to these survivors.
    hand_over(moves: &Moves, own: &[f32], survivors: &mut [f32]) = hand_over_body<Isa>
}

#[inline(always)]
fn hand_over_body<I: Isa>(moves: &Moves, own: &[f32], survivors: &mut [f32]) {
    let mut done = 0;
    if let (true, Some(bits)) = (I::SPREADS, &moves.bits) {
        for (own, &bits) in own.as_chunks().0.iter().zip(bits) {
            let count = bits.count_ones() as usize;
            let found = I::gathered(own, bits);
            for (number, found) in survivors[done..][..count].iter_mut().zip(found) {
                *number += found;
            }
            done += count;
        }
    }
    for (&place, number) in moves.places[done..].iter().zip(&mut survivors[done..]) {
        // SAFETY: as above.
        *number += unsafe { own.get_unchecked(place as usize) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_to_their_places_and_back() {
        let in_order: Vec<u32> = (0..90).filter(|it| it % 7 > 2).collect();
        let mixed = vec![40, 3, 80, 17, 16, 15];
        for places in [in_order, mixed, vec![], vec![85, 88], (0..90).collect()] {
            let survivors: Vec<f32> = (0..100).map(|it| 1.0 + it as f32).collect();
            let moves = Moves::new(5, places.clone(), 90);
            let mut own = [0.5; 90];
            moves.take_over(&survivors, &mut own);
            let mut expected = [0.5; 90];
            for (index, &place) in places.iter().enumerate() {
                expected[place as usize] = survivors[5 + index];
            }
            assert_eq!(own, expected);
            let mut sums = survivors.clone();
            moves.hand_over(&own, &mut sums);
            for (index, (sum, before)) in sums.iter().zip(&survivors).enumerate() {
                let moved = (5..5 + places.len()).contains(&index);
                assert_eq!(*sum, if moved { 2.0 * before } else { *before });
            }
        }
    }
}
