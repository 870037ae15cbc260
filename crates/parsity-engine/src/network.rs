//! A network: layers, checked and lowered to operations on values.
//!
//! Networks are data. A list of layers (as a model file has them) becomes a short list
//! of operations, each reading and writing numbered *values*; every shape is known and
//! every mismatch found here, so that nothing can go wrong later.

mod builder;
mod settling;

use crate::kernels::LANES;
use crate::kernels::frame::Frame;
use crate::kernels::patches::COLUMNS;
use crate::layout::pooled_at_once;
use crate::shape::Shape;
use crate::slabs::Deal;
use builder::Builder;
use std::ops::Range;
use thiserror::Error;

/// How the border of an image is treated by a convolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Padding {
    /// Only positions where the whole kernel fits.
    Valid,
    /// Output side = ceil(side / stride); zeros around, the smaller half before.
    Same,
}

/// One layer, as a model file describes it.
#[allow(missing_docs)] // The fields are the model file's keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Layer {
    /// A convolution with square kernels.
    Conv { name: String, filters: usize, size: usize, stride: usize, padding: Padding, bias: bool },
    /// A fully connected layer on a flat value.
    Dense { name: String, units: usize, bias: bool },
    /// max(x, 0).
    Relu,
    /// The highest number of each window.
    MaxPool { size: usize, stride: usize },
    /// The mean of each window.
    AveragePool { size: usize, stride: usize },
    /// The mean of each channel.
    GlobalAveragePool,
    /// Forgets rows and columns: channels × height × width numbers in a line.
    Flatten,
    /// Two pre-activated convolutions and a shortcut around them. The shortcut is the
    /// identity, or, where the block halves the sides and widens, the 2×2 average pool
    /// of the rectified input with zeros for the new channels.
    Residual { name: String, filters: usize, size: usize, stride: usize },
}

/// Why layers do not make a network. `layer` is its place in the list and its name.
#[allow(missing_docs)] // The messages say what the fields are.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NetworkError {
    /// No room for a window.
    #[error("{layer}: a {size}×{size} window does not fit into its input of {input}")]
    WindowTooLarge { layer: String, size: usize, input: Shape },
    /// A number that must be positive is zero.
    #[error("{layer}: `{key}` must be at least 1")]
    Zero { layer: String, key: &'static str },
    /// A dense layer on an image.
    #[error(
        "{layer}: a dense layer needs a flat input, found {input}; put a flatten layer before it"
    )]
    NotFlat { layer: String, input: Shape },
    /// An image layer on a flat value.
    #[error("{layer}: needs an image, but its input was flattened before")]
    Flat { layer: String },
    /// A residual block whose shortcut is neither of the two known.
    #[error(
        "{layer}: no shortcut leads from {channels} channels to {filters} filters at stride \
         {stride}; expected {channels} filters at stride 1, or at least {channels} at stride 2 \
         with even sides"
    )]
    NoShortcut { layer: String, channels: usize, filters: usize, stride: usize },
    /// The last value is not a vector of class scores.
    #[error("the network ends with {output}; expected a dense layer with one unit per class")]
    NotScores { output: Shape },
    /// Two tensors of one name.
    #[error("{layer}: the name `{name}` is taken by an earlier layer")]
    NameTaken { layer: String, name: String },
}

/// What a parameter tensor is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Factors of the inputs.
    Weight {
        /// How many inputs each output sums over.
        fan_in: usize,
    },
    /// One number added to each output.
    Bias,
}

/// A named tensor within the flat vector of all parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tensor {
    /// As PyTorch would name it: `conv1.weight`.
    pub name: String,
    /// As PyTorch would shape it: `[out, in, kh, kw]`, `[out, in]` or `[out]`.
    pub dims: Vec<usize>,
    /// Where it stands in the flat vector (row-major).
    pub range: Range<usize>,
    /// Weight or bias.
    pub role: Role,
}

/// A value: the activations that one operation writes and others read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Value {
    pub(crate) shape: Shape,
    /// Zeros around each channel, as its readers need them.
    pub(crate) ring: Ring,
    /// How many numbers a block has of each position, as a power of two: one of each image, or
    /// of each slab of each image.
    pub(crate) lanes: u32,
}

/// Rows and columns of zeros around an image. The rows around a slab may be those of the slabs
/// beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Ring {
    pub(crate) top: usize,
    pub(crate) left: usize,
    pub(crate) bottom: usize,
    pub(crate) right: usize,
}

/// Positions of a channel that are worth another one, so that their number is odd.
const MANY: usize = 16;

/// A row is followed by as many zeros as the wider side of the ring: the right ring of one
/// row is the left ring of the next.
impl Value {
    pub(crate) fn columns(&self) -> usize {
        self.shape.width + self.ring.left.max(self.ring.right)
    }

    /// Positions from one channel to the next: an odd number, where there are many. With a power of
    /// two, all channels would meet in the same few lines of the caches.
    pub(crate) fn plane(&self) -> usize {
        let positions = (self.ring.top + self.shape.height + self.ring.bottom) * self.columns();
        if positions < MANY { positions } else { positions | 1 }
    }

    pub(crate) fn len(&self) -> usize {
        self.ring.left + self.shape.channels * self.plane()
    }

    /// Numbers of a block.
    pub(crate) fn numbers(&self) -> usize {
        self.len() << self.lanes
    }

    /// Some of its channels, as a value of their own, and the positions where that stands.
    pub(crate) fn part(&self, channels: &Range<usize>) -> (Value, Range<usize>) {
        let shape = Shape { channels: channels.len(), ..self.shape };
        let part = Value { shape, ..*self };
        let start = channels.start * self.plane();
        (part, start..start + part.len())
    }

    /// Where row `row` of channel `channel` starts.
    pub(crate) fn row(&self, channel: usize, row: usize) -> usize {
        self.ring.left + channel * self.plane() + (self.ring.top + row) * self.columns()
    }
}

impl Ring {
    /// Makes room for what `other` needs.
    pub(crate) fn widen(&mut self, other: Ring) {
        self.top = self.top.max(other.top);
        self.left = self.left.max(other.left);
        self.bottom = self.bottom.max(other.bottom);
        self.right = self.right.max(other.right);
    }
}

/// The shape of a convolution, whose stride is always 1: where a layer has another, its
/// input is split into phases before. A dense layer is a 1×1 convolution of its *flat* input,
/// whose every number is a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConvShape {
    pub(crate) filters: usize,
    pub(crate) height: usize,
    pub(crate) width: usize,
    pub(crate) pad_top: usize,
    pub(crate) pad_left: usize,
    pub(crate) flat: bool,
    /// Its input was split into `split`² phases per channel; 1 if it was not.
    pub(crate) split: usize,
    /// Index of the weight tensor, and of the bias if there is one.
    pub(crate) weight: usize,
    pub(crate) bias: Option<usize>,
}

impl ConvShape {
    /// The zeros around `input` that it reads to make `output`.
    pub(crate) fn reads_around(&self, input: Shape, output: Shape) -> Ring {
        if self.flat {
            return Ring::default();
        }
        let after = |out: usize, kernel: usize, pad: usize, side: usize| {
            (out - 1 + kernel).saturating_sub(pad + side)
        };
        Ring {
            top: self.pad_top,
            left: self.pad_left,
            bottom: after(output.height, self.height, self.pad_top, input.height),
            right: after(output.width, self.width, self.pad_left, input.width),
        }
    }

    /// The images that it reads, unrolled: `channels` of `input`.
    pub(crate) fn frame(&self, channels: usize, input: Shape, output: Shape) -> Frame {
        let shape = Shape { channels, ..self.seen(input, output) };
        // As many rows as make the widest tile; the order of sums depends on it, so it must not
        // depend on how many of the channels these are.
        let band = COLUMNS * LANES / (self.width * input.channels);
        Frame::new(shape, (self.pad_top, self.pad_left), (self.height, self.width), band)
    }

    /// The same, with all rows that a filter sees as channels of one.
    pub(crate) fn stacked_frame(&self, input: Shape, output: Shape) -> Frame {
        let (corner, filter) = ((self.pad_top, self.pad_left), (self.height, self.width));
        Frame::stacked(self.seen(input, output), corner, filter)
    }

    /// `input` with what its filters see around it.
    fn seen(&self, input: Shape, output: Shape) -> Shape {
        let height = (output.height + self.height - 1).max(self.pad_top + input.height);
        let width = (output.width + self.width - 1).max(self.pad_left + input.width);
        Shape { height, width, ..input }
    }

    /// The zeros around the gradient of `output` that the gradient of `input` reads.
    pub(crate) fn gradient_reads_around(&self, input: Shape, output: Shape) -> Ring {
        if self.flat {
            return Ring::default();
        }
        // Input position i meets kernel position k at output position i + pad − k.
        let before = |kernel: usize, pad: usize| (kernel - 1).saturating_sub(pad);
        let after = |side: usize, pad: usize, out: usize| (side + pad).saturating_sub(out);
        Ring {
            top: before(self.height, self.pad_top),
            left: before(self.width, self.pad_left),
            bottom: after(input.height, self.pad_top, output.height),
            right: after(input.width, self.pad_left, output.width),
        }
    }
}

/// The shape of a pooling window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) height: usize,
    pub(crate) width: usize,
    pub(crate) stride: usize,
}

impl Window {
    /// Whether windows cover `shape` without gap or overlap.
    pub(crate) fn tiles(&self, shape: Shape) -> bool {
        let along = |size: usize, side: usize| size == self.stride && side.is_multiple_of(size);
        along(self.height, shape.height) && along(self.width, shape.width)
    }

    /// The one window that sees all of `shape`.
    pub(crate) fn of_all(shape: Shape) -> Self {
        Window { height: shape.height, width: shape.width, stride: 1 }
    }

    /// Whether one window sees all of `shape`.
    pub(crate) fn sees_all(&self, shape: Shape) -> bool {
        (self.height, self.width) == (shape.height, shape.width)
    }
}

/// How the columns and rows of an image, with zeros before them, are dealt out to phases:
/// `phase[i] = image[i · stride + phase − pad]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Split {
    pub(crate) stride: usize,
    pub(crate) pad_top: usize,
    pub(crate) pad_left: usize,
}

impl Split {
    /// Whether every position of `whole` is in one of the phases, of shape `part`.
    pub(crate) fn covers(&self, whole: Shape, part: Shape) -> bool {
        part.height * self.stride >= whole.height + self.pad_top
            && part.width * self.stride >= whole.width + self.pad_left
    }
}

/// One operation. Values are written before they are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    Conv {
        input: usize,
        output: usize,
        shape: ConvShape,
        /// Whether it adds to what its output already is: the shortcut around it.
        onto: bool,
    },
    /// In place where `input == output`.
    Relu {
        input: usize,
        output: usize,
    },
    MaxPool {
        input: usize,
        output: usize,
        window: Window,
    },
    /// Both in one; the windows tile the input, which nothing else reads.
    ReluMaxPool {
        input: usize,
        output: usize,
        window: Window,
    },
    AveragePool {
        input: usize,
        output: usize,
        window: Window,
    },
    /// Makes each channel `stride`² channels, one for each phase.
    Split {
        input: usize,
        output: usize,
        split: Split,
    },
    /// Adds `input` to the first channels of `output`, in place.
    Add {
        input: usize,
        output: usize,
    },
    /// Deals the positions of images out to other slabs.
    Deal {
        input: usize,
        output: usize,
        deal: Deal,
    },
}

impl Op {
    pub(crate) fn input(&self) -> usize {
        *{ *self }.ends().0
    }

    pub(crate) fn output(&self) -> usize {
        *{ *self }.ends().1
    }

    /// The same between other values.
    pub(crate) fn between(mut self, from: usize, to: usize) -> Self {
        let (input, output) = self.ends();
        (*input, *output) = (from, to);
        self
    }

    fn ends(&mut self) -> (&mut usize, &mut usize) {
        let (Op::Conv { input, output, .. }
        | Op::Relu { input, output }
        | Op::MaxPool { input, output, .. }
        | Op::ReluMaxPool { input, output, .. }
        | Op::AveragePool { input, output, .. }
        | Op::Split { input, output, .. }
        | Op::Add { input, output }
        | Op::Deal { input, output, .. }) = self;
        (input, output)
    }
}

/// How an operation hands the gradient on to its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// Not at all: nothing before it has parameters.
    Stop,
    /// It is the first to write.
    Set,
    /// Another operation has written before.
    Add,
}

/// A checked network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    pub(crate) ops: Vec<Op>,
    /// Per operation.
    pub(crate) flows: Vec<Flow>,
    pub(crate) values: Vec<Value>,
    /// The gradient of each value: the same shape, with the zeros around that the
    /// gradients of convolutions need.
    pub(crate) gradients: Vec<Value>,
    tensors: Vec<Tensor>,
    /// The value that holds the class scores.
    pub(crate) scores: usize,
}

/// Bytes of a value beyond which blocks are made smaller, so that those of a thread stay in caches.
const LARGE: usize = 512 * 1024;

impl Network {
    /// Checks `layers` on images of shape `input` and lowers them.
    pub fn new(input: Shape, layers: &[Layer]) -> Result<Self, NetworkError> {
        Builder::build(input, layers)
    }

    /// The shape of the images it takes.
    pub fn input(&self) -> Shape {
        self.values[0].shape
    }

    /// The most images of a block: `LANES`, or half of them where values are so large that what a
    /// block leaves behind on its way forward would not wait in a cache for its way back.
    pub(crate) fn most_images(&self) -> usize {
        let whole = (0..self.ops.len()).filter(|&op| pooled_at_once(self, op).is_none());
        let lengths = whole.map(|op| self.values[self.ops[op].output()].len());
        match lengths.max().unwrap_or(0) * size_of::<[f32; LANES]>() > LARGE {
            true => LANES / 2,
            false => LANES,
        }
    }

    /// How many classes it tells apart.
    pub fn classes(&self) -> usize {
        self.values[self.scores].shape.len()
    }

    /// Its parameter tensors, in the order of the flat vector.
    pub fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    /// How many parameters it has.
    pub fn parameters(&self) -> usize {
        self.tensors.last().map_or(0, |tensor| tensor.range.end)
    }

    /// At how many positions of an image each parameter of tensor `index` is used.
    pub fn positions(&self, index: usize) -> usize {
        let convs = self.ops.iter().filter_map(|op| match op {
            Op::Conv { output, shape, .. } => Some((self.values[*output].shape, shape)),
            _ => None,
        });
        let mut users =
            convs.filter(|(_, shape)| shape.weight == index || shape.bias == Some(index));
        users.next().map_or(0, |(output, _)| output.height * output.width)
    }

    /// Multiply-adds of one image's forward pass with all parameters.
    pub fn multiply_adds(&self) -> usize {
        let weights = self.tensors.iter().enumerate();
        let weights = weights.filter(|(_, tensor)| tensor.role != Role::Bias);
        weights.map(|(index, tensor)| tensor.range.len() * self.positions(index)).sum()
    }
}
