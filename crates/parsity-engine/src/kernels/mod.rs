//! The kernels: what is done to one block of images.
//!
//! A *block* holds eight images, the image being the innermost axis of every value
//! (`[channel][row][column][image]`), so that each vector instruction does the same for
//! eight images and a pruned weight is simply never visited.
//!
//! Every kernel is one generic body. `multiversion!` compiles it once for AVX2 with FMA
//! and once for the target's baseline, and picks at run time. Multiply-adds are fused in
//! both (in software where the machine cannot), so the results have the same bits.

pub(crate) mod conv;
pub(crate) mod layers;
pub(crate) mod loss;

/// Images in a block.
pub const LANES: usize = 8;

/// One number of each image of a block.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C, align(32))]
pub(crate) struct Lanes(pub(crate) [f32; LANES]);

impl Lanes {
    pub(crate) const ZERO: Lanes = Lanes([0.0; LANES]);

    #[inline(always)]
    pub(crate) fn splat(number: f32) -> Self {
        Lanes([number; LANES])
    }

    /// `self + factor · x`, rounded once.
    #[inline(always)]
    pub(crate) fn add_scaled(self, factor: f32, x: Lanes) -> Self {
        Lanes(std::array::from_fn(|lane| factor.mul_add(x.0[lane], self.0[lane])))
    }

    /// `self + x · y`, rounded once.
    #[inline(always)]
    pub(crate) fn add_product(self, x: Lanes, y: Lanes) -> Self {
        Lanes(std::array::from_fn(|lane| x.0[lane].mul_add(y.0[lane], self.0[lane])))
    }

    #[inline(always)]
    pub(crate) fn plus(self, x: Lanes) -> Self {
        Lanes(std::array::from_fn(|lane| self.0[lane] + x.0[lane]))
    }

    /// The sum over the images, always in the same order.
    #[inline(always)]
    pub(crate) fn sum(self) -> f32 {
        let [a, b, c, d, e, f, g, h] = self.0;
        ((a + e) + (c + g)) + ((b + f) + (d + h))
    }
}

/// Defines `$name` as the body, compiled for the best instruction set of the machine.
macro_rules! multiversion {
    ($(#[$doc:meta])* $name:ident($($argument:ident: $kind:ty),* $(,)?) = $body:path) => {
        $(#[$doc])*
        #[allow(unsafe_code, clippy::too_many_arguments)]
        pub(crate) fn $name($($argument: $kind),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma")]
                fn with_avx2($($argument: $kind),*) {
                    $body($($argument),*)
                }
                if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma") {
                    // SAFETY: the machine was just asked whether it has both features.
                    return unsafe { with_avx2($($argument),*) };
                }
            }
            $body($($argument),*)
        }
    };
}
pub(crate) use multiversion;
