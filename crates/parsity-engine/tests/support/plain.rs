//! The plain twin of the engine: layers as nested loops in f64, one image at a time, in
//! the order in which a textbook has them. Slow, obvious, and written without a look at
//! the kernels; its gradient is a finite difference.

use parsity_engine::{Layer, Padding, Shape};

/// An activation: `data[(c·height + y)·width + x]`.
#[derive(Clone)]
pub struct Map {
    pub shape: Shape,
    pub data: Vec<f64>,
}

impl Map {
    fn new(shape: Shape) -> Self {
        Map { shape, data: vec![0.0; shape.len()] }
    }

    fn index(&self, c: usize, y: usize, x: usize) -> usize {
        (c * self.shape.height + y) * self.shape.width + x
    }

    /// Zero outside of the image.
    fn at(&self, c: usize, y: isize, x: isize) -> f64 {
        let inside =
            y >= 0 && x >= 0 && (y as usize) < self.shape.height && (x as usize) < self.shape.width;
        if inside { self.data[self.index(c, y as usize, x as usize)] } else { 0.0 }
    }

    fn fill(mut self, value: impl Fn(usize, usize, usize) -> f64) -> Self {
        for c in 0..self.shape.channels {
            for y in 0..self.shape.height {
                for x in 0..self.shape.width {
                    let index = self.index(c, y, x);
                    self.data[index] = value(c, y, x);
                }
            }
        }
        self
    }

    fn relu(mut self) -> Self {
        self.data.iter_mut().for_each(|x| *x = x.max(0.0));
        self
    }
}

/// Takes parameters in the order of the flat vector.
struct Reader<'a>(&'a [f64]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> &'a [f64] {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }
}

/// Scores of one image.
pub fn scores(layers: &[Layer], parameters: &[f64], image: Map) -> Vec<f64> {
    let mut reader = Reader(parameters);
    let mut map = image;
    for layer in layers {
        map = apply(layer, map, &mut reader);
    }
    assert!(reader.0.is_empty(), "parameters are left over");
    map.data
}

fn apply(layer: &Layer, map: Map, reader: &mut Reader<'_>) -> Map {
    match layer {
        Layer::Conv { filters, size, stride, padding, bias, .. } => {
            conv(&map, reader, *filters, *size, *stride, *padding, *bias)
        }
        Layer::Dense { units, bias, .. } => {
            let weight = reader.take(units * map.data.len());
            let bias = if *bias { reader.take(*units) } else { &[] };
            Map::new(Shape::new(*units, 1, 1)).fill(|unit, _, _| {
                let row = &weight[unit * map.data.len()..][..map.data.len()];
                let sum: f64 = row.iter().zip(&map.data).map(|(w, x)| w * x).sum();
                sum + bias.get(unit).unwrap_or(&0.0)
            })
        }
        Layer::Relu => map.relu(),
        Layer::MaxPool { size, stride } => pool(&map, *size, *size, *stride, |window| {
            window.iter().copied().fold(f64::MIN, f64::max)
        }),
        Layer::AveragePool { size, stride } => pool(&map, *size, *size, *stride, mean),
        Layer::GlobalAveragePool => pool(&map, map.shape.height, map.shape.width, 1, mean),
        Layer::Flatten => Map { shape: Shape::new(map.data.len(), 1, 1), data: map.data },
        Layer::Residual { filters, size, stride, .. } => {
            let rectified = map.clone().relu();
            let shortcut = if *stride == 1 { map } else { pool(&rectified, 2, 2, 2, mean) };
            let inner =
                conv(&rectified, reader, *filters, *size, *stride, Padding::Same, true).relu();
            let mut sum = conv(&inner, reader, *filters, *size, 1, Padding::Same, true);
            for (to, from) in sum.data.iter_mut().zip(&shortcut.data) {
                *to += from;
            }
            sum
        }
    }
}

fn mean(window: &[f64]) -> f64 {
    window.iter().sum::<f64>() / window.len() as f64
}

fn conv(
    map: &Map,
    reader: &mut Reader<'_>,
    filters: usize,
    size: usize,
    stride: usize,
    padding: Padding,
    bias: bool,
) -> Map {
    let channels = map.shape.channels;
    let weight = reader.take(filters * channels * size * size);
    let bias = if bias { reader.take(filters) } else { &[] };
    let along = |side: usize| match padding {
        Padding::Valid => ((side - size) / stride + 1, 0),
        Padding::Same => {
            let out = side.div_ceil(stride);
            (out, ((out - 1) * stride + size).saturating_sub(side) / 2)
        }
    };
    let ((height, top), (width, left)) = (along(map.shape.height), along(map.shape.width));
    Map::new(Shape::new(filters, height, width)).fill(|f, y, x| {
        let mut sum = *bias.get(f).unwrap_or(&0.0);
        for c in 0..channels {
            for i in 0..size {
                for j in 0..size {
                    let (y, x) = (y * stride + i, x * stride + j);
                    let pixel = map.at(c, y as isize - top as isize, x as isize - left as isize);
                    sum += weight[((f * channels + c) * size + i) * size + j] * pixel;
                }
            }
        }
        sum
    })
}

fn pool(map: &Map, height: usize, width: usize, stride: usize, of: impl Fn(&[f64]) -> f64) -> Map {
    let along = |side: usize, window: usize| (side - window) / stride + 1;
    let (rows, columns) = (along(map.shape.height, height), along(map.shape.width, width));
    Map::new(Shape::new(map.shape.channels, rows, columns)).fill(|c, y, x| {
        let position = |k: usize| (y * stride + k / width, x * stride + k % width);
        let window: Vec<f64> = (0..height * width)
            .map(|k| map.data[map.index(c, position(k).0, position(k).1)])
            .collect();
        of(&window)
    })
}

/// Mean softmax cross-entropy over images with labels.
pub fn loss(layers: &[Layer], parameters: &[f64], images: &[(Map, usize)]) -> f64 {
    let losses = images.iter().map(|(image, label)| {
        let scores = scores(layers, parameters, image.clone());
        let highest = scores.iter().copied().fold(f64::MIN, f64::max);
        let sum: f64 = scores.iter().map(|score| (score - highest).exp()).sum();
        sum.ln() + highest - scores[*label]
    });
    losses.sum::<f64>() / images.len() as f64
}

/// The slopes of `loss` to both sides of each parameter, the lower one first. They are the
/// same but where a ReLU or a pooling window is just changing its mind: there the gradient
/// may be either, or anything between.
pub fn slopes(layers: &[Layer], parameters: &[f64], images: &[(Map, usize)]) -> Vec<[f64; 2]> {
    const STEP: f64 = 1e-6;
    let here = loss(layers, parameters, images);
    let mut shifted = parameters.to_vec();
    let mut slopes = Vec::with_capacity(parameters.len());
    for index in 0..parameters.len() {
        let [above, below] = [STEP, -STEP].map(|step| {
            shifted[index] = parameters[index] + step;
            (loss(layers, &shifted, images) - here) / step
        });
        shifted[index] = parameters[index];
        slopes.push([above.min(below), above.max(below)]);
    }
    slopes
}
