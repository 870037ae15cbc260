//! Vectors of numbers and the instruction sets that have them.
//!
//! Apart, because this is the only place that knows a machine: a kernel is written once
//! for any `Isa`.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

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
}

/// Implements `Vector` for a type of the machine.
#[cfg(target_arch = "x86_64")]
macro_rules! machine_vector {
    ($type:ty, $width:literal, $splat:ident, $load:ident, $store:ident, $fma:ident) => {
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
        }
    };
}

#[cfg(target_arch = "x86_64")]
machine_vector!(__m512, 16, _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_fmadd_ps);
#[cfg(target_arch = "x86_64")]
machine_vector!(__m256, 8, _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_fmadd_ps);

/// What a kernel needs to know of an instruction set.
pub(crate) trait Isa {
    /// The widest vector.
    type Wide: Vector;
    /// Eight numbers, for the rest of a row.
    type Eight: Vector;
    /// Sums held in registers by one weight at a time.
    const ALONE: usize;
    /// Sums held in registers per target by four weights at a time.
    const SHARED: usize;
}

/// 32 registers of 16 numbers.
pub(crate) struct Avx512;
/// 16 registers of 8 numbers.
pub(crate) struct Avx2;
/// Whatever the compiler makes of arrays of four (NEON has 32 such registers).
pub(crate) struct Portable;

#[cfg(target_arch = "x86_64")]
impl Isa for Avx512 {
    type Wide = __m512;
    type Eight = __m256;
    const ALONE: usize = 24;
    const SHARED: usize = 6;
}

#[cfg(target_arch = "x86_64")]
impl Isa for Avx2 {
    type Wide = __m256;
    type Eight = __m256;
    const ALONE: usize = 12;
    const SHARED: usize = 2;
}

impl Isa for Portable {
    type Wide = [f32; 4];
    type Eight = [f32; 8];
    const ALONE: usize = 12;
    const SHARED: usize = 4;
}

/// The instruction sets that kernels are compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InstructionSet {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Portable,
}

impl InstructionSet {
    /// The best one of this machine. (The standard library asks the machine only once.)
    #[inline(always)]
    pub(crate) fn of_this_machine() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            let fused = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            if fused
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
            {
                return InstructionSet::Avx512;
            }
            if fused {
                return InstructionSet::Avx2;
            }
        }
        InstructionSet::Portable
    }
}
