//! A network: layers, checked and lowered to operations on values.
//!
//! Networks are data. A list of layers (as a model file has them) becomes a short list
//! of operations, each reading and writing numbered *values*; every shape is known and
//! every mismatch found here, so that nothing can go wrong later.

use crate::shape::Shape;
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
}

/// Rows and columns of zeros around an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Ring {
    pub(crate) top: usize,
    pub(crate) left: usize,
    pub(crate) bottom: usize,
    pub(crate) right: usize,
}

impl Value {
    pub(crate) fn columns(&self) -> usize {
        self.ring.left + self.shape.width + self.ring.right
    }

    pub(crate) fn plane(&self) -> usize {
        (self.ring.top + self.shape.height + self.ring.bottom) * self.columns()
    }

    pub(crate) fn len(&self) -> usize {
        self.shape.channels * self.plane()
    }

    /// Where row `row` of channel `channel` starts.
    pub(crate) fn row(&self, channel: usize, row: usize) -> usize {
        channel * self.plane() + (self.ring.top + row) * self.columns() + self.ring.left
    }
}

/// The shape of a convolution; a dense layer is one whose kernel covers its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConvShape {
    pub(crate) filters: usize,
    pub(crate) height: usize,
    pub(crate) width: usize,
    pub(crate) stride: usize,
    pub(crate) pad_top: usize,
    pub(crate) pad_left: usize,
    /// Index of the weight tensor, and of the bias if there is one.
    pub(crate) weight: usize,
    pub(crate) bias: Option<usize>,
}

/// The shape of a pooling window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) height: usize,
    pub(crate) width: usize,
    pub(crate) stride: usize,
}

/// One operation. Values are written before they are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    Conv {
        input: usize,
        output: usize,
        shape: ConvShape,
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
    AveragePool {
        input: usize,
        output: usize,
        window: Window,
    },
    /// Adds `input` to the first channels of `output`, in place.
    Add {
        input: usize,
        output: usize,
    },
}

impl Op {
    pub(crate) fn input(&self) -> usize {
        match *self {
            Op::Conv { input, .. }
            | Op::Relu { input, .. }
            | Op::MaxPool { input, .. }
            | Op::AveragePool { input, .. }
            | Op::Add { input, .. } => input,
        }
    }

    pub(crate) fn output(&self) -> usize {
        match *self {
            Op::Conv { output, .. }
            | Op::Relu { output, .. }
            | Op::MaxPool { output, .. }
            | Op::AveragePool { output, .. }
            | Op::Add { output, .. } => output,
        }
    }
}

/// A checked network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    pub(crate) ops: Vec<Op>,
    pub(crate) values: Vec<Value>,
    tensors: Vec<Tensor>,
    /// The value that holds the class scores.
    pub(crate) scores: usize,
}

impl Network {
    /// Checks `layers` on images of shape `input` and lowers them.
    pub fn new(input: Shape, layers: &[Layer]) -> Result<Self, NetworkError> {
        let mut builder = Builder::new(input);
        for (index, layer) in layers.iter().enumerate() {
            builder.add(index, layer)?;
        }
        builder.finish(layers)
    }

    /// The shape of the images it takes.
    pub fn input(&self) -> Shape {
        self.values[0].shape
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

    /// Multiply-adds of one image's forward pass with all parameters.
    pub fn multiply_adds(&self) -> usize {
        let convs = self.ops.iter().filter_map(|op| match op {
            Op::Conv { output, shape, .. } => {
                let positions = self.values[*output].shape;
                let weights = self.tensors[shape.weight].range.len();
                Some(weights * positions.height * positions.width)
            }
            _ => None,
        });
        convs.sum()
    }
}

/// The network so far: what the next layer reads.
struct Builder {
    ops: Vec<Op>,
    values: Vec<Value>,
    tensors: Vec<Tensor>,
    current: usize,
    flat: bool,
    layer: String,
}

impl Builder {
    fn new(input: Shape) -> Self {
        let values = vec![Value { shape: input, ring: Ring::default() }];
        let layer = String::new();
        Builder { ops: vec![], values, tensors: vec![], current: 0, flat: false, layer }
    }

    fn add(&mut self, index: usize, layer: &Layer) -> Result<(), NetworkError> {
        self.layer = describe(index, layer);
        match layer {
            Layer::Conv { name, filters, size, stride, padding, bias } => {
                self.conv(name, *filters, *size, *stride, *padding, *bias)
            }
            Layer::Dense { name, units, bias } => self.dense(name, *units, *bias),
            Layer::Relu => {
                self.relu_in_place();
                Ok(())
            }
            Layer::MaxPool { size, stride } => {
                let (window, shape) = self.window(*size, *stride)?;
                let (input, output) = self.advance(shape);
                self.ops.push(Op::MaxPool { input, output, window });
                Ok(())
            }
            Layer::AveragePool { size, stride } => self.average_pool(*size, *stride),
            Layer::GlobalAveragePool => {
                let Shape { channels, height, width } = self.image()?;
                let window = Window { height, width, stride: 1 };
                let (input, output) = self.advance(Shape::new(channels, 1, 1));
                self.ops.push(Op::AveragePool { input, output, window });
                Ok(())
            }
            Layer::Flatten => {
                self.flat = true;
                Ok(())
            }
            Layer::Residual { name, filters, size, stride } => {
                self.residual(name, *filters, *size, *stride)
            }
        }
    }

    fn finish(mut self, layers: &[Layer]) -> Result<Network, NetworkError> {
        let output = self.values[self.current].shape;
        if !matches!(layers.last(), Some(Layer::Dense { .. })) {
            return Err(NetworkError::NotScores { output });
        }
        for op in &self.ops {
            if let Op::Conv { input, output, shape } = op {
                let kernel = &self.tensors[shape.weight].dims;
                let (height, width) = match kernel[..] {
                    [_, _, height, width] => (height, width),
                    _ => continue, // A dense layer's kernel covers its input exactly.
                };
                let positions = self.values[*output].shape;
                debug_assert_eq!((height, width), (shape.height, shape.width));
                let value = &mut self.values[*input];
                let reach = |out: usize, kernel: usize, pad: usize, side: usize| {
                    ((out - 1) * shape.stride + kernel).saturating_sub(pad + side)
                };
                let ring = &mut value.ring;
                ring.top = ring.top.max(shape.pad_top);
                ring.left = ring.left.max(shape.pad_left);
                let below = reach(positions.height, height, shape.pad_top, value.shape.height);
                let beside = reach(positions.width, width, shape.pad_left, value.shape.width);
                ring.bottom = ring.bottom.max(below);
                ring.right = ring.right.max(beside);
            }
        }
        let Builder { ops, values, tensors, current: scores, .. } = self;
        Ok(Network { ops, values, tensors, scores })
    }

    /// The current value's shape, which must still be an image.
    fn image(&self) -> Result<Shape, NetworkError> {
        if self.flat {
            return Err(NetworkError::Flat { layer: self.layer.clone() });
        }
        Ok(self.values[self.current].shape)
    }

    fn positive(&self, key: &'static str, number: usize) -> Result<(), NetworkError> {
        if number == 0 {
            return Err(NetworkError::Zero { layer: self.layer.clone(), key });
        }
        Ok(())
    }

    /// Makes the next value; returns (the one before, it).
    fn advance(&mut self, shape: Shape) -> (usize, usize) {
        let input = self.current;
        self.values.push(Value { shape, ring: Ring::default() });
        self.current = self.values.len() - 1;
        (input, self.current)
    }

    fn tensor(
        &mut self,
        name: String,
        dims: Vec<usize>,
        role: Role,
    ) -> Result<usize, NetworkError> {
        if self.tensors.iter().any(|tensor| tensor.name == name) {
            return Err(NetworkError::NameTaken { layer: self.layer.clone(), name });
        }
        let start = self.tensors.last().map_or(0, |tensor| tensor.range.end);
        let range = start..start + dims.iter().product::<usize>();
        self.tensors.push(Tensor { name, dims, range, role });
        Ok(self.tensors.len() - 1)
    }

    fn conv(
        &mut self,
        name: &str,
        filters: usize,
        size: usize,
        stride: usize,
        padding: Padding,
        bias: bool,
    ) -> Result<(), NetworkError> {
        let input = self.image()?;
        self.positive("filters", filters)?;
        self.positive("size", size)?;
        self.positive("stride", stride)?;
        let too_large = || NetworkError::WindowTooLarge { layer: self.layer.clone(), size, input };
        let along = |side: usize| match padding {
            Padding::Valid => {
                let free = side.checked_sub(size).ok_or_else(too_large)?;
                Ok((free / stride + 1, 0))
            }
            Padding::Same => {
                let out = side.div_ceil(stride);
                let total = ((out - 1) * stride + size).saturating_sub(side);
                Ok((out, total / 2))
            }
        };
        let (height, pad_top) = along(input.height)?;
        let (width, pad_left) = along(input.width)?;
        let fan_in = input.channels * size * size;
        let dims = vec![filters, input.channels, size, size];
        let weight = self.tensor(format!("{name}.weight"), dims, Role::Weight { fan_in })?;
        let bias = self.bias(name, filters, bias)?;
        let (input, output) = self.advance(Shape::new(filters, height, width));
        let shape = ConvShape {
            filters,
            height: size,
            width: size,
            stride,
            pad_top,
            pad_left,
            weight,
            bias,
        };
        self.ops.push(Op::Conv { input, output, shape });
        Ok(())
    }

    fn bias(
        &mut self,
        name: &str,
        units: usize,
        bias: bool,
    ) -> Result<Option<usize>, NetworkError> {
        bias.then(|| self.tensor(format!("{name}.bias"), vec![units], Role::Bias)).transpose()
    }

    fn dense(&mut self, name: &str, units: usize, bias: bool) -> Result<(), NetworkError> {
        self.positive("units", units)?;
        let input = self.values[self.current].shape;
        if !self.flat && (input.height, input.width) != (1, 1) {
            return Err(NetworkError::NotFlat { layer: self.layer.clone(), input });
        }
        let fan_in = input.len();
        let weight =
            self.tensor(format!("{name}.weight"), vec![units, fan_in], Role::Weight { fan_in })?;
        let bias = self.bias(name, units, bias)?;
        let shape = ConvShape {
            filters: units,
            height: input.height,
            width: input.width,
            stride: 1,
            pad_top: 0,
            pad_left: 0,
            weight,
            bias,
        };
        let (input, output) = self.advance(Shape::new(units, 1, 1));
        self.ops.push(Op::Conv { input, output, shape });
        self.flat = false;
        Ok(())
    }

    fn relu_in_place(&mut self) {
        self.ops.push(Op::Relu { input: self.current, output: self.current });
    }

    fn window(&self, size: usize, stride: usize) -> Result<(Window, Shape), NetworkError> {
        let input = self.image()?;
        self.positive("size", size)?;
        self.positive("stride", stride)?;
        if size > input.height || size > input.width {
            let layer = self.layer.clone();
            return Err(NetworkError::WindowTooLarge { layer, size, input });
        }
        let along = |side: usize| (side - size) / stride + 1;
        let shape = Shape::new(input.channels, along(input.height), along(input.width));
        Ok((Window { height: size, width: size, stride }, shape))
    }

    fn average_pool(&mut self, size: usize, stride: usize) -> Result<(), NetworkError> {
        let (window, shape) = self.window(size, stride)?;
        let (input, output) = self.advance(shape);
        self.ops.push(Op::AveragePool { input, output, window });
        Ok(())
    }

    fn residual(
        &mut self,
        name: &str,
        filters: usize,
        size: usize,
        stride: usize,
    ) -> Result<(), NetworkError> {
        let Shape { channels, height, width } = self.image()?;
        let even = height % 2 == 0 && width % 2 == 0;
        let identity = stride == 1 && filters == channels;
        if !(identity || stride == 2 && filters >= channels && even) {
            let layer = self.layer.clone();
            return Err(NetworkError::NoShortcut { layer, channels, filters, stride });
        }
        let shortcut = if identity {
            // The input is read again by the shortcut, so it is not rectified in place.
            let (input, output) = self.advance(Shape::new(channels, height, width));
            self.ops.push(Op::Relu { input, output });
            input
        } else {
            self.relu_in_place();
            let rectified = self.current;
            self.average_pool(2, 2)?;
            std::mem::replace(&mut self.current, rectified)
        };
        self.conv(&format!("{name}.conv1"), filters, size, stride, Padding::Same, true)?;
        self.relu_in_place();
        self.conv(&format!("{name}.conv2"), filters, size, 1, Padding::Same, true)?;
        self.ops.push(Op::Add { input: shortcut, output: self.current });
        Ok(())
    }
}

/// A layer's place and name for messages: `layer 4 (conv2)`.
fn describe(index: usize, layer: &Layer) -> String {
    let what = match layer {
        Layer::Conv { name, .. } | Layer::Dense { name, .. } | Layer::Residual { name, .. } => name,
        Layer::Relu => "relu",
        Layer::MaxPool { .. } => "max-pool",
        Layer::AveragePool { .. } => "average-pool",
        Layer::GlobalAveragePool => "global-average-pool",
        Layer::Flatten => "flatten",
    };
    format!("layer {} ({what})", index + 1)
}
