//! The kernels: what is done to one block of images.
//!
//! A *block* holds up to sixteen images, the image being the innermost axis of every value
//! (`[channel][row][column][image]`). So neighbouring columns of all images of a block lie
//! side by side, each vector instruction does the same for all of them, and a pruned
//! weight is simply never visited.
//!
//! Every kernel is one generic body. `multiversion!` compiles it for AVX-512, for AVX2 with
//! FMA and for the target's baseline, and picks at run time. Multiply-adds are fused in
//! all three (in software where the machine cannot), and every sum has a fixed order, so
//! the results have the same bits.

pub(crate) mod correlation;
mod ends;
pub(crate) mod flat;
pub(crate) mod frame;
pub(crate) mod halving;
pub(crate) mod instruction_set;
pub(crate) mod intake;
pub(crate) mod isa;
pub(crate) mod layers;
pub(crate) mod loss;
pub(crate) mod moves;
pub(crate) mod patches;
pub(crate) mod pooling;
pub(crate) mod pools;
pub(crate) mod products;
pub(crate) mod pruned_gradient;
pub(crate) mod slabs;
pub(crate) mod steps;
pub(crate) mod stretches;
pub(crate) mod taps;
mod tile;
pub(crate) mod vector;
pub(crate) mod winners;
pub(crate) mod winograd;
pub(crate) mod winograd_gradient;

/// The most images in a block.
pub const LANES: usize = 16;

/// Defines `$name` as the body, compiled for the best instruction set of the machine.
/// A body `name<Isa>` is told which one that is.
macro_rules! multiversion {
    ($(#[$doc:meta])* $name:ident($($argument:ident: $kind:ty),* $(,)?) = $body:ident<Isa>) => {
        multiversion!(@ $(#[$doc])* $name($($argument: $kind),*) =
            $body::<crate::kernels::isa::Avx512>,
            $body::<crate::kernels::isa::Avx2>,
            $body::<crate::kernels::isa::Portable>);
    };
    ($(#[$doc:meta])* $name:ident($($argument:ident: $kind:ty),* $(,)?) = $body:ident) => {
        multiversion!(@ $(#[$doc])* $name($($argument: $kind),*) = $body, $body, $body);
    };
    (@ $(#[$doc:meta])* $name:ident($($argument:ident: $kind:ty),*) =
        $avx512:expr, $avx2:expr, $portable:expr) => {
        $(#[$doc])*
        #[allow(unsafe_code, clippy::too_many_arguments)]
        pub(crate) fn $name($($argument: $kind),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma,popcnt")]
                fn with_avx512($($argument: $kind),*) {
                    $avx512($($argument),*)
                }
                #[target_feature(enable = "avx2,fma")]
                fn with_avx2($($argument: $kind),*) {
                    $avx2($($argument),*)
                }
                // SAFETY: the machine was asked whether it has what each of them needs.
                match crate::kernels::instruction_set::InstructionSet::in_use() {
                    crate::kernels::instruction_set::InstructionSet::Avx512 => {
                        return unsafe { with_avx512($($argument),*) };
                    }
                    crate::kernels::instruction_set::InstructionSet::Avx2 => {
                        return unsafe { with_avx2($($argument),*) };
                    }
                    crate::kernels::instruction_set::InstructionSet::Portable => {}
                }
            }
            $portable($($argument),*)
        }
    };
}
pub(crate) use multiversion;
