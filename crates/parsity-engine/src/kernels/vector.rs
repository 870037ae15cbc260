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
}

/// Implements `Vector` for a type of the machine.
#[cfg(target_arch = "x86_64")]
macro_rules! machine_vector {
    ($type:ty, $width:literal, $splat:ident, $load:ident, $store:ident, $fma:ident, $add:ident,
        $subtract:ident, $max:ident,
        |$number:ident, $deciding:ident| $where_positive:expr $(, $more:item)?) => {
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
    }
);
