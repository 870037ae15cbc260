//! Vectors of numbers: what one instruction does.
//!
//! With [`isa`](super::isa), the only place that knows a machine.

#![allow(unsafe_code)]

use super::LANES;
use super::pools::{NOBODY, raise, rectified_and_place};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// The same address, in a register of its own. What is read at constant distances from it takes one
/// address less than what the compiler would make of a base and an index, and the machine decodes
/// that faster.
#[inline(always)]
pub(super) fn at_hand(address: *const f32) -> *const f32 {
    #[cfg(target_arch = "x86_64")]
    {
        let mut address = address;
        // SAFETY: no instruction at all; only the compiler does not know that.
        #[allow(clippy::pointers_in_nomem_asm_block)]
        unsafe {
            std::arch::asm!(
                "/* {0} */",
                inout(reg) address,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        address
    }
    #[cfg(not(target_arch = "x86_64"))]
    address
}

/// The same address, worked out before anything else is read: the compiler would put that off until
/// it is needed.
#[inline(always)]
pub(super) fn at_once(address: *const f32) -> *const f32 {
    #[cfg(target_arch = "x86_64")]
    {
        let mut address = address;
        // SAFETY: no instruction at all; only the compiler does not know that.
        unsafe {
            std::arch::asm!("/* {0} */", inout(reg) address, options(nostack, preserves_flags));
        }
        address
    }
    #[cfg(not(target_arch = "x86_64"))]
    address
}

/// Asks for what stands at `address`, if anything does, before it is needed.
#[inline(always)]
pub(super) fn fetch(address: *const f32) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: wherever that is, nothing happens that a program could see.
    unsafe {
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Numbers side by side that one instruction works on.
pub(crate) trait Vector: Copy {
    const WIDTH: usize;

    fn splat(number: f32) -> Self;

    /// # Safety
    /// `WIDTH` numbers can be read at `from`.
    unsafe fn load(from: *const f32) -> Self;

    /// # Safety
    /// `WIDTH` numbers can be written at `to`.
    unsafe fn store(self, to: *mut f32);

    /// `self + x · y`, rounded once.
    fn add_product(self, x: Self, y: Self) -> Self;

    fn plus(self, other: Self) -> Self;

    fn minus(self, other: Self) -> Self;

    /// What is below `floor` becomes that. Keeps a NaN.
    fn at_least(self, floor: Self) -> Self;

    /// What `deciding` is not positive for becomes zero.
    fn where_positive(self, deciding: Self) -> Self;

    /// Which numbers are positive: a bit each, the first one the lowest.
    fn signs(self) -> u16;

    /// What has no bit in `signs` becomes zero.
    fn where_set(self, signs: u16) -> Self;

    /// The first of four numbers that is the highest, or zero if none is positive. Its index goes to
    /// `codes`, or `NOBODY`.
    ///
    /// # Safety
    /// `WIDTH` codes can be written at `codes`.
    #[inline(always)]
    unsafe fn highest(window: [Self; 4], codes: *mut u8) -> Self {
        let mut highest = [0.0; LANES];
        // SAFETY: no vector is wider than that; codes as the caller promises.
        unsafe {
            window[0].store(highest.as_mut_ptr());
            let mut places = [0; LANES];
            for (place, numbers) in (1..).zip(&window[1..]) {
                let mut others = [0.0; LANES];
                numbers.store(others.as_mut_ptr());
                raise(&mut highest, &mut places, &others, place);
            }
            let (highest, places) = rectified_and_place(&highest, &places);
            codes.copy_from_nonoverlapping(places.as_ptr(), Self::WIDTH);
            Self::load(highest.as_ptr())
        }
    }
}

impl<const W: usize> Vector for [f32; W] {
    const WIDTH: usize = W;

    #[inline(always)]
    fn splat(number: f32) -> Self {
        [number; W]
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: as the caller promises; an array may stand at any address of its numbers.
        unsafe { from.cast::<Self>().read() }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: as for `load`.
        unsafe { to.cast::<Self>().write(self) }
    }

    #[inline(always)]
    fn add_product(self, x: Self, y: Self) -> Self {
        std::array::from_fn(|lane| x[lane].mul_add(y[lane], self[lane]))
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        std::array::from_fn(|lane| self[lane] + other[lane])
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        std::array::from_fn(|lane| self[lane] - other[lane])
    }

    #[inline(always)]
    fn at_least(self, floor: Self) -> Self {
        std::array::from_fn(|lane| if self[lane] < floor[lane] { floor[lane] } else { self[lane] })
    }

    #[inline(always)]
    fn where_positive(self, deciding: Self) -> Self {
        std::array::from_fn(|lane| if deciding[lane] > 0.0 { self[lane] } else { 0.0 })
    }

    #[inline(always)]
    fn signs(self) -> u16 {
        let mut signs = 0;
        for (lane, number) in self.into_iter().enumerate() {
            signs |= u16::from(number > 0.0) << lane;
        }
        signs
    }

    #[inline(always)]
    fn where_set(self, signs: u16) -> Self {
        std::array::from_fn(|lane| if signs >> lane & 1 == 1 { self[lane] } else { 0.0 })
    }
}

/// Implements `Vector` for a type of the machine.
#[cfg(target_arch = "x86_64")]
macro_rules! machine_vector {
    ($type:ty, $width:literal, $splat:ident, $load:ident, $store:ident, $fma:ident, $add:ident,
        $subtract:ident, $max:ident,
        |$number:ident, $deciding:ident| $where_positive:expr,
        |$positive:ident| $signs:expr,
        |$kept:ident, $bits:ident| $where_set:expr $(, $more:item)?) => {
        impl Vector for $type {
            const WIDTH: usize = $width;

            #[inline(always)]
            fn splat(number: f32) -> Self {
                // SAFETY: an `Isa` is used only on a machine that has it, here and below.
                unsafe { $splat(number) }
            }

            #[inline(always)]
            unsafe fn load(from: *const f32) -> Self {
                // SAFETY: as the caller promises.
                unsafe { $load(from) }
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut f32) {
                // SAFETY: as the caller promises.
                unsafe { $store(to, self) }
            }

            #[inline(always)]
            fn add_product(self, x: Self, y: Self) -> Self {
                // SAFETY: as in `splat`.
                unsafe { $fma(x, y, self) }
            }

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                // SAFETY: as in `splat`.
                unsafe { $add(self, other) }
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                // SAFETY: as in `splat`.
                unsafe { $subtract(self, other) }
            }

            #[inline(always)]
            fn at_least(self, floor: Self) -> Self {
                // SAFETY: as in `splat`. Of equals, and of a NaN and a number, it is the second.
                unsafe { $max(floor, self) }
            }

            #[inline(always)]
            fn where_positive(self, deciding: Self) -> Self {
                let ($number, $deciding) = (self, deciding);
                // SAFETY: as in `splat`.
                unsafe { $where_positive }
            }

            #[inline(always)]
            fn signs(self) -> u16 {
                let $positive = self;
                // SAFETY: as in `splat`.
                unsafe { $signs }
            }

            #[inline(always)]
            fn where_set(self, signs: u16) -> Self {
                let ($kept, $bits) = (self, signs);
                // SAFETY: as in `splat`.
                unsafe { $where_set }
            }

            $($more)?
        }
    };
}

#[cfg(target_arch = "x86_64")]
machine_vector!(
    __m512,
    16,
    _mm512_set1_ps,
    _mm512_loadu_ps,
    _mm512_storeu_ps,
    _mm512_fmadd_ps,
    _mm512_add_ps,
    _mm512_sub_ps,
    _mm512_max_ps,
    |number, deciding| {
        let positive = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(deciding, _mm512_setzero_ps());
        _mm512_maskz_mov_ps(positive, number)
    },
    |numbers| _mm512_cmp_ps_mask::<_CMP_GT_OQ>(numbers, _mm512_setzero_ps()),
    |numbers, signs| _mm512_maskz_mov_ps(signs, numbers),
    #[inline(always)]
    unsafe fn highest([a, b, c, d]: [Self; 4], codes: *mut u8) -> Self {
        // SAFETY: as in `splat`; codes as the caller promises. Of a NaN and a number, and of equals,
        // the maximum is the second.
        unsafe {
            let mut places = _mm_setzero_si128();
            let mut highest = a;
            for (place, number) in [(1, b), (2, c), (3, d)] {
                let higher = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(number, highest);
                places = _mm_mask_mov_epi8(places, higher, _mm_set1_epi8(place));
                highest = _mm512_max_ps(number, highest);
            }
            let zero = _mm512_setzero_ps();
            let positive = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(highest, zero);
            let places = _mm_mask_mov_epi8(_mm_set1_epi8(NOBODY as i8), positive, places);
            _mm_storeu_si128(codes.cast(), places);
            _mm512_max_ps(zero, highest)
        }
    }
);
#[cfg(target_arch = "x86_64")]
machine_vector!(
    __m256,
    8,
    _mm256_set1_ps,
    _mm256_loadu_ps,
    _mm256_storeu_ps,
    _mm256_fmadd_ps,
    _mm256_add_ps,
    _mm256_sub_ps,
    _mm256_max_ps,
    |number, deciding| {
        let positive = _mm256_cmp_ps::<_CMP_GT_OQ>(deciding, _mm256_setzero_ps());
        _mm256_and_ps(positive, number)
    },
    |numbers| {
        let positive = _mm256_cmp_ps::<_CMP_GT_OQ>(numbers, _mm256_setzero_ps());
        _mm256_movemask_ps(positive) as u16
    },
    |numbers, signs| {
        let bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
        let set = _mm256_and_si256(bits, _mm256_set1_epi32(i32::from(signs)));
        _mm256_and_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(set, bits)), numbers)
    }
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::instruction_set::InstructionSet;

    /// Signs of twice as many numbers as a vector has, and what is kept of them.
    fn check<V: Vector>() {
        let special = [0.0, -0.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MIN_POSITIVE];
        let number = |lane: usize| special.get(lane).copied().unwrap_or(3.5 - lane as f32);
        let numbers: [f32; 2 * LANES] =
            std::array::from_fn(|lane| number(lane % LANES + lane / LANES));
        for from in 0..LANES {
            // SAFETY: there are so many numbers.
            let vector = unsafe { V::load(numbers[from..].as_ptr()) };
            let signs = vector.signs();
            for kept in [signs, !signs, 0x5a3c, 0xffff, 0] {
                let mut found = [1.0; LANES];
                // SAFETY: no vector is longer.
                unsafe { vector.where_set(kept).store(found.as_mut_ptr()) };
                for lane in 0..V::WIDTH {
                    let number = numbers[from + lane];
                    assert_eq!(signs >> lane & 1 == 1, number > 0.0);
                    let expected = if kept >> lane & 1 == 1 { number } else { 0.0 };
                    assert_eq!(found[lane].to_bits(), expected.to_bits(), "{from}, {lane}");
                }
            }
        }
    }

    #[test]
    fn signs_decide_what_is_kept() {
        check::<[f32; 4]>();
        check::<[f32; 1]>();
        #[cfg(target_arch = "x86_64")]
        {
            if InstructionSet::in_use() != InstructionSet::Portable {
                check::<__m256>();
            }
            if InstructionSet::in_use() == InstructionSet::Avx512 {
                check::<__m512>();
            }
        }
    }
}
