//! Which instruction set is used: the best one that the machine has, unless somebody asks for less.

use std::sync::atomic::{AtomicU8, Ordering};

/// The instruction sets that kernels are compiled for, the best one first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum InstructionSet {
    /// 32 registers of 16 numbers.
    Avx512 = 0,
    /// 16 registers of 8 numbers, and fused multiply-adds.
    Avx2 = 1,
    /// What every machine has.
    Portable = 2,
}

/// The best instruction set that may be used.
static LIMIT: AtomicU8 = AtomicU8::new(InstructionSet::Avx512 as u8);

impl InstructionSet {
    /// The best one of this machine within the limit. (The standard library asks the machine
    /// only once.)
    #[inline(always)]
    pub fn in_use() -> Self {
        let limit = LIMIT.load(Ordering::Relaxed);
        #[cfg(target_arch = "x86_64")]
        {
            let fused = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            if fused
                && limit == InstructionSet::Avx512 as u8
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("popcnt")
            {
                return InstructionSet::Avx512;
            }
            if fused && limit <= InstructionSet::Avx2 as u8 {
                return InstructionSet::Avx2;
            }
        }
        let _ = limit;
        InstructionSet::Portable
    }

    /// Uses nothing better than this from now on, in all threads: results are the same, so
    /// only tests and benchmarks ask for it.
    pub fn limit(self) {
        LIMIT.store(self as u8, Ordering::Relaxed);
    }
}
