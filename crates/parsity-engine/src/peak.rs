//! What one core could do at best: fused multiply-adds that never leave the registers.
//!
//! Apart from the kernels, because it computes nothing: it is the yardstick of their
//! speed. Whoever holds the clock divides the operations done by the time they took.

#![allow(unsafe_code)]

use crate::kernels::instruction_set::InstructionSet;
use std::hint::black_box;

/// Chains of multiply-adds in flight: enough to hide the latency of each, and few enough
/// for every register file.
const CHAINS: usize = 12;
/// Every chain computes `x ← FACTOR · x + SUMMAND`, which neither grows nor vanishes.
const FACTOR: f32 = 0.999_999;
const SUMMAND: f32 = 1e-7;

/// The widest vector instructions of this machine that the kernels can use.
pub fn instruction_set() -> &'static str {
    best().name
}

/// Does `rounds` rounds of multiply-adds with the widest instructions; returns how many
/// floating-point operations these were.
pub fn multiply_and_add(rounds: u64) -> u64 {
    let best = best();
    (best.run)(rounds);
    rounds * (CHAINS * best.lanes * 2) as u64
}

/// One way to do it.
struct Variant {
    name: &'static str,
    lanes: usize,
    run: fn(u64),
}

#[cfg(target_arch = "x86_64")]
fn best() -> Variant {
    if InstructionSet::in_use() == InstructionSet::Avx512 {
        // SAFETY: the machine was just asked whether it has what the kernels need.
        return Variant {
            name: "AVX-512",
            lanes: 16,
            run: |rounds| unsafe { x86::avx512(rounds) },
        };
    }
    if InstructionSet::in_use() == InstructionSet::Avx2 {
        // SAFETY: as above.
        return Variant { name: "AVX2", lanes: 8, run: |rounds| unsafe { x86::avx2(rounds) } };
    }
    Variant { name: "SSE2", lanes: PORTABLE_LANES, run: portable }
}

#[cfg(not(target_arch = "x86_64"))]
fn best() -> Variant {
    let name = if cfg!(target_arch = "aarch64") { "NEON" } else { "portable" };
    Variant { name, lanes: PORTABLE_LANES, run: portable }
}

const PORTABLE_LANES: usize = 4;

/// Arrays of one vector register each; fused only where the machine's baseline is.
fn portable(rounds: u64) {
    let (factor, summand) = black_box((FACTOR, SUMMAND));
    let mut chains: [[f32; PORTABLE_LANES]; CHAINS] =
        std::array::from_fn(|chain| [1.0 + chain as f32; PORTABLE_LANES]);
    for _ in 0..rounds {
        for x in chains.as_flattened_mut() {
            *x = if cfg!(any(target_arch = "aarch64", target_feature = "fma")) {
                x.mul_add(factor, summand)
            } else {
                *x * factor + summand
            };
        }
    }
    black_box(chains);
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{CHAINS, FACTOR, SUMMAND, black_box};
    use core::arch::x86_64::{_mm256_fmadd_ps, _mm256_set1_ps, _mm512_fmadd_ps, _mm512_set1_ps};

    /// Defines `$name` as the chains with vectors that `$splat` makes and `$fma` moves on.
    macro_rules! chains {
        ($name:ident, $features:literal, $splat:ident, $fma:ident) => {
            #[target_feature(enable = $features)]
            pub(super) fn $name(rounds: u64) {
                let (factor, summand) = ($splat(black_box(FACTOR)), $splat(black_box(SUMMAND)));
                // Chains that begin alike would be computed once.
                let mut chains = [factor; CHAINS];
                for (chain, x) in chains.iter_mut().enumerate() {
                    *x = $splat(1.0 + chain as f32);
                }
                for _ in 0..rounds {
                    for x in &mut chains {
                        *x = $fma(*x, factor, summand);
                    }
                }
                black_box(chains);
            }
        };
    }
    chains!(avx512, "avx512f", _mm512_set1_ps, _mm512_fmadd_ps);
    chains!(avx2, "avx2,fma", _mm256_set1_ps, _mm256_fmadd_ps);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_counts_all_lanes_of_all_chains_twice() {
        let lanes = match instruction_set() {
            "AVX-512" => 16,
            "AVX2" => 8,
            _ => 4,
        };
        assert_eq!(multiply_and_add(1_000), 1_000 * 12 * lanes * 2);
    }
}
