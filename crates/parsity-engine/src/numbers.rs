//! Numbers that start where a cache line does: no vector of them is spread over two.

/// Numbers that start where a cache line does.
#[derive(Debug, Default)]
pub(crate) struct Numbers(Vec<Line>);

#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Line([f32; 16]);

impl Numbers {
    /// As many zeros, and what is missing to a whole line.
    pub(crate) fn new(length: usize) -> Self {
        Numbers(vec![Line([0.0; 16]); length.div_ceil(16)])
    }
}

impl std::ops::Deref for Numbers {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        // SAFETY: a line is sixteen numbers and nothing else.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts(self.0.as_ptr().cast(), self.0.len() * 16)
        }
    }
}

impl std::ops::DerefMut for Numbers {
    fn deref_mut(&mut self) -> &mut [f32] {
        // SAFETY: as above.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), self.0.len() * 16)
        }
    }
}
