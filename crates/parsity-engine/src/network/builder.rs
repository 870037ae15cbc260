//! From layers to operations: shapes are followed, checked and settled.
//!
//! Apart from what a network is, because this is where every mistake of a model file is
//! found and named.

use super::{
    ConvShape, Layer, Network, NetworkError, Op, Padding, Ring, Role, Split, Tensor, Value, Window,
};
use crate::shape::Shape;

/// The network so far: what the next layer reads.
pub(super) struct Builder {
    ops: Vec<Op>,
    values: Vec<Value>,
    tensors: Vec<Tensor>,
    current: usize,
    flat: bool,
    layer: String,
}

impl Builder {
    /// Adds layer after layer.
    pub(super) fn build(input: Shape, layers: &[Layer]) -> Result<Network, NetworkError> {
        let mut builder = Builder::new(input);
        for (index, layer) in layers.iter().enumerate() {
            builder.add(index, layer)?;
        }
        builder.finish(layers)
    }

    fn new(input: Shape) -> Self {
        let values = vec![Value { shape: input, ring: Ring::default(), lanes: 0 }];
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
                let before = self.values[self.current].shape;
                let (input, output) = self.advance(shape);
                let tiled = window.tiles(before) && window.height * window.width < 255;
                if tiled && self.ops.last() == Some(&Op::Relu { input, output: input }) {
                    self.ops.pop();
                    self.ops.push(Op::ReluMaxPool { input, output, window });
                } else {
                    self.ops.push(Op::MaxPool { input, output, window });
                }
                Ok(())
            }
            Layer::AveragePool { size, stride } => self.average_pool(*size, *stride),
            Layer::GlobalAveragePool => {
                let image = self.image()?;
                let window = Window::of_all(image);
                let (input, output) = self.advance(Shape::new(image.channels, 1, 1));
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

    fn finish(self, layers: &[Layer]) -> Result<Network, NetworkError> {
        let output = self.values[self.current].shape;
        if !matches!(layers.last(), Some(Layer::Dense { .. })) {
            return Err(NetworkError::NotScores { output });
        }
        let Builder { ops, values, tensors, current, .. } = self;
        Ok(Network::settled(ops, values, tensors, current))
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
        self.values.push(Value { shape, ring: Ring::default(), lanes: 0 });
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
        let mut shape = ConvShape {
            filters,
            height: size,
            width: size,
            pad_top,
            pad_left,
            flat: false,
            split: stride,
            weight,
            bias,
        };
        if stride > 1 {
            let kernel = size.div_ceil(stride);
            let phases = input.channels * stride * stride;
            let (input, output) =
                self.advance(Shape::new(phases, height + kernel - 1, width + kernel - 1));
            self.ops.push(Op::Split { input, output, split: Split { stride, pad_top, pad_left } });
            shape = ConvShape { height: kernel, width: kernel, pad_top: 0, pad_left: 0, ..shape };
        }
        let (input, output) = self.advance(Shape::new(filters, height, width));
        self.ops.push(Op::Conv { input, output, shape, onto: false });
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
            height: 1,
            width: 1,
            pad_top: 0,
            pad_left: 0,
            flat: true,
            split: 1,
            weight,
            bias,
        };
        let (input, output) = self.advance(Shape::new(units, 1, 1));
        self.ops.push(Op::Conv { input, output, shape, onto: false });
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
        match identity {
            true => self.lay_onto(shortcut),
            false => self.ops.push(Op::Add { input: shortcut, output: self.current }),
        }
        Ok(())
    }

    /// The last convolution adds to `value`, instead of writing one of its own.
    fn lay_onto(&mut self, value: usize) {
        if let Some(Op::Conv { output, onto, .. }) = self.ops.last_mut() {
            (*output, *onto) = (value, true);
            self.values.pop();
            self.current = value;
        }
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
