//! The shape of an image or of an activation: channels × height × width.

use std::fmt;

/// Channels × height × width. A vector of n numbers is n×1×1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Feature maps.
    pub channels: usize,
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
}

impl Shape {
    /// A shape from its three sides.
    pub const fn new(channels: usize, height: usize, width: usize) -> Self {
        Shape { channels, height, width }
    }

    /// How many numbers an image of this shape has.
    pub const fn len(self) -> usize {
        self.channels * self.height * self.width
    }

    /// Whether some side is zero.
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}×{}×{}", self.channels, self.height, self.width)
    }
}
