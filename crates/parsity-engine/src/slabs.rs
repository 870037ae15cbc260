//! Images cut into slabs: how a block of few images fills all lanes of a vector.
//!
//! A block has sixteen lanes. Where it has fewer images than that, because the batch is small or
//! because more of them would not fit into the caches, each image is cut into *slabs* of
//! neighbouring rows, and each slab has a lane of its own. Where there are not rows enough, it is some
//! of the columns of these rows. To the kernels, a block of four images in four slabs is a block of
//! sixteen images of a quarter of the height. What a slab needs to know of the others it gets in one of
//! two ways:
//!
//! - A convolution that keeps the height reads some rows above and below each slab, its *halo*. They
//!   are copied there before, from the slabs that have them; so are those of its output's gradient.
//! - Other convolutions read slabs that overlap, and each slab has a gradient of its own by what it
//!   shares with others; these are added up. Only this way columns are cut.
//!
//! Before a layer that sees whole images, the slabs become one again; of a pool that averages all of an
//! image, only their means. That, and slabs that overlap, is a *deal* (`Op::Deal`): positions of
//! images go from the slab that has them to those that need them.

use crate::kernels::LANES;
use crate::kernels::slabs::{Place, Takes};
use crate::layout::pooled_at_once;
use crate::network::{ConvShape, Network, Op, Ring, Value, Window};
use crate::shape::Shape;

/// Into how many slabs an image is cut, as powers of two: along its rows, and along its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slabs {
    pub(crate) down: u32,
    pub(crate) across: u32,
}

impl Slabs {
    /// How many there are, as a power of two.
    pub(crate) fn all(self) -> u32 {
        self.down + self.across
    }

    /// Which one slab number `slab` is, down and across.
    pub(crate) fn place(self, slab: usize) -> (usize, usize) {
        (slab >> self.across, slab & ((1 << self.across) - 1))
    }

    /// Rows and columns of each slab, of so many of an image.
    fn share(self, rows: usize, columns: usize) -> Option<(usize, usize)> {
        let even = rows.is_multiple_of(1 << self.down) && columns.is_multiple_of(1 << self.across);
        even.then_some((rows >> self.down, columns >> self.across))
    }
}

/// From slabs that share an image out to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Deal {
    from: Slabs,
    to: Slabs,
    rows: Begin,
    columns: Begin,
}

/// Slab number s begins with row (or column) s · `apart` − `before` of the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Begin {
    apart: usize,
    before: usize,
}

impl Begin {
    /// Who of `count` slabs of `size` each has number `at` of slab `slab`, and where.
    fn giver(self, slab: usize, at: usize, size: usize, count: usize) -> Option<(usize, usize)> {
        let of_image = (slab * self.apart + at).checked_sub(self.before)?;
        (of_image < size * count).then_some((of_image / size, of_image % size))
    }
}

impl Deal {
    /// Whether slabs become one.
    pub(crate) fn joins(&self) -> bool {
        self.to.all() == 0
    }

    /// Who gives what to whom: a place of `x`, and one of `y`. What of y has no place in the image gets
    /// nothing.
    fn gifts(&self, x: &Value, y: &Value) -> Vec<[Place; 2]> {
        let mut gifts = vec![];
        for taker in 0..1 << self.to.all() {
            let (down, across) = self.to.place(taker);
            for row in 0..y.shape.height {
                let above = self.rows.giver(down, row, x.shape.height, 1 << self.from.down);
                let Some((above, from_row)) = above else { continue };
                for column in 0..y.shape.width {
                    let sides = 1 << self.from.across;
                    let beside = self.columns.giver(across, column, x.shape.width, sides);
                    let Some((beside, from_column)) = beside else { continue };
                    let giver = (above << self.from.across) + beside;
                    let from = (x.row(0, from_row) + from_column, giver);
                    gifts.push([from, (y.row(0, row) + column, taker)]);
                }
            }
        }
        gifts
    }

    /// What each position of `y` takes of `x`, in blocks of `1 << images` images.
    pub(crate) fn takes(&self, images: u32, x: &Value, y: &Value) -> Takes {
        Takes::new(images, self.slabs(), self.gifts(x, y))
    }

    /// What each position of the gradient `x` takes back from the gradient `y`.
    pub(crate) fn takes_back(&self, images: u32, x: &Value, y: &Value) -> Takes {
        let (gifts, [givers, takers]) = (self.gifts(x, y).into_iter(), self.slabs());
        Takes::new(images, [takers, givers], gifts.map(|[from, to]| [to, from]).collect())
    }

    /// Slabs of a position that gives, and of one that takes.
    fn slabs(&self) -> [usize; 2] {
        [1 << self.from.all(), 1 << self.to.all()]
    }
}

/// A network as blocks of some size run through it.
#[derive(Debug)]
pub(crate) struct Cut {
    pub(crate) network: Network,
    /// Images of a block, as a power of two.
    pub(crate) images: u32,
    pub(crate) slabs: Slabs,
    /// Rows and columns from the beginning of one slab of an image to that of the next.
    pub(crate) apart: (usize, usize),
    /// Where each operation of the network stands that was cut.
    places: Vec<usize>,
}

impl Cut {
    /// `network` for blocks of `1 << images` images, cut into as many slabs as there are lanes for
    /// and its layers allow, and into columns only if there are not rows enough.
    pub(crate) fn new(network: &Network, images: u32) -> Self {
        let most = LANES.ilog2() - images;
        let kinds = (0..=most)
            .rev()
            .flat_map(|all| (0..=all).map(move |across| Slabs { down: all - across, across }));
        let mut cuts = kinds.filter_map(|slabs| Cutter::cut(network, images, slabs));
        cuts.next().expect("every network runs in one piece")
    }

    /// Where operation `op` of the network stands that was cut.
    pub(crate) fn place(&self, op: usize) -> usize {
        self.places[op]
    }

    /// Whether the convolution from value `input` to value `output` has halos: it keeps the height.
    pub(crate) fn has_halo(&self, input: usize, output: usize) -> bool {
        let (input, output) = (&self.network.values[input], &self.network.values[output]);
        input.lanes > self.images && input.shape.height == output.shape.height
    }
}

/// The operations so far.
struct Cutter<'a> {
    whole: &'a Network,
    images: u32,
    slabs: Slabs,
    ops: Vec<Op>,
    values: Vec<Value>,
    /// Where each value of the whole network stands.
    at: Vec<Option<usize>>,
    /// Whether the convolutions that write it have halos.
    halos: Vec<Option<bool>>,
    places: Vec<usize>,
    apart: (usize, usize),
}

impl<'a> Cutter<'a> {
    /// The network in slabs, if all its layers allow that.
    fn cut(whole: &'a Network, images: u32, slabs: Slabs) -> Option<Cut> {
        let count = whole.values.len();
        let (at, halos) = (vec![None; count], vec![None; count]);
        let (ops, values, places) = (vec![], vec![], vec![]);
        let mut cutter =
            Cutter { whole, images, slabs, ops, values, at, halos, places, apart: (0, 0) };
        cutter.begin()?;
        for index in 0..whole.ops.len() {
            cutter.add(index)?;
        }
        let Cutter { ops, values, at, places, apart, .. } = cutter;
        let network = Network::settled(ops, values, whole.tensors().to_vec(), at[whole.scores]?);
        Some(Cut { network, images, slabs, apart, places })
    }

    /// Rows and columns of a slab of value `of`, if it is cut evenly.
    fn share(&self, of: usize) -> Option<(usize, usize)> {
        let Shape { height, width, .. } = self.shape(of);
        self.slabs.share(height, width)
    }

    fn shape(&self, of: usize) -> Shape {
        self.whole.values[of].shape
    }

    fn is_cut(&self, value: usize) -> bool {
        self.values[value].lanes > self.images
    }

    fn push(&mut self, shape: Shape, lanes: u32) -> usize {
        self.values.push(Value { shape, ring: Ring::default(), lanes });
        self.values.len() - 1
    }

    /// The images. If a convolution without padding is all that reads them, they come as it needs them.
    fn begin(&mut self) -> Option<()> {
        let readers = self.whole.ops.iter().filter(|op| op.input() == 0).count();
        let (shape, lanes) = (self.shape(0), self.images + self.slabs.all());
        let (height, width) = match self.whole.ops[0] {
            Op::Conv { output, shape, .. }
                if readers == 1
                    && self.overlaps(0)
                    && shape.reads_around(self.shape(0), self.shape(output)) == Ring::default() =>
            {
                self.apart = self.share(output)?;
                reads(self.apart, &shape)
            }
            _ => {
                self.apart = self.share(0)?;
                self.apart
            }
        };
        self.at[0] = Some(self.push(Shape { height, width, ..shape }, lanes));
        Some(())
    }

    /// Whether operation `index` is a convolution that reads slabs which overlap.
    fn overlaps(&self, index: usize) -> bool {
        let Op::Conv { input, output, shape, .. } = self.whole.ops[index] else { return false };
        let keeps_height = shape.split > 1 || self.shape(input).height == self.shape(output).height;
        // What is pooled at once hands its gradient on to rows around a slab.
        let has_halo = keeps_height && pooled_at_once(self.whole, index).is_none();
        self.slabs.all() > 0 && !shape.flat && !has_halo
    }

    /// Adds operation `index` of the whole network.
    fn add(&mut self, index: usize) -> Option<()> {
        let mut op = self.whole.ops[index];
        let (from, to) = (op.input(), op.output());
        let mut input = self.at[from]?;
        if let Op::AveragePool { window, .. } = op
            && window.sees_all(self.shape(from))
            && self.is_cut(input)
        {
            return self.add_mean(from, to);
        }
        let sees_all = match op {
            Op::Conv { shape, .. } => shape.flat,
            Op::AveragePool { window, .. } => !window.tiles(self.shape(from)),
            _ => false,
        };
        if sees_all && self.is_cut(input) {
            input = self.join(from)?;
        }
        let Shape { height, width, .. } = self.values[input].shape;
        let (height, width) = match op {
            _ if !self.is_cut(input) => (self.shape(to).height, self.shape(to).width),
            Op::Conv { ref mut shape, .. } => {
                let (height, width) = self.share(to)?;
                let overlaps = self.overlaps(index);
                if self.halos[to].replace(!overlaps) == Some(overlaps) {
                    return None;
                }
                let beyond = shape.pad_top.max(shape.height - 1 - shape.pad_top);
                if overlaps {
                    input = self.overlap(from, (height, width), shape)?;
                    (shape.pad_top, shape.pad_left) = (0, 0);
                } else if beyond > height || self.slabs.across > 0 {
                    return None;
                }
                (height, width)
            }
            Op::MaxPool { window, .. }
            | Op::ReluMaxPool { window, .. }
            | Op::AveragePool { window, .. } => {
                let whole =
                    window.tiles(self.shape(from)) && window.tiles(self.values[input].shape);
                whole.then_some((height / window.stride, width / window.stride))?
            }
            Op::Split { split, .. } => {
                // The rows that a kernel reads beyond are those of the next slab, or zeros.
                let conv = self.shape(self.whole.ops.get(index + 1)?.output());
                let (height, _) = self.slabs.share(conv.height, conv.width)?;
                let whole = split.pad_top == 0
                    && conv.height * split.stride == self.shape(from).height
                    && self.slabs.across == 0;
                whole.then_some((height, self.shape(to).width))?
            }
            _ => (height, width),
        };
        let lanes = self.values[input].lanes;
        let output = match self.at[to] {
            Some(output) => output,
            None => self.push(Shape { height, width, ..self.shape(to) }, lanes),
        };
        self.at[to] = Some(output);
        self.places.push(self.ops.len());
        self.ops.push(op.between(input, output));
        (self.values[output].lanes == lanes).then_some(())
    }

    /// Adds slabs of value `of` that overlap: what a convolution reads to write so many rows and columns
    /// of each.
    fn overlap(&mut self, of: usize, size: (usize, usize), shape: &ConvShape) -> Option<usize> {
        let input = self.at[of]?;
        let (height, width) = reads(size, shape);
        let read = Shape { height, width, ..self.shape(of) };
        if of == 0 && self.values[input].shape == read && self.apart == size {
            return Some(input);
        }
        let deal = Deal {
            from: self.slabs,
            to: self.slabs,
            rows: Begin { apart: size.0, before: shape.pad_top },
            columns: Begin { apart: size.1, before: shape.pad_left },
        };
        let output = self.push(read, self.values[input].lanes);
        self.ops.push(Op::Deal { input, output, deal });
        Some(output)
    }

    /// Makes value `of` one piece, for all that comes after.
    fn join(&mut self, of: usize) -> Option<usize> {
        let joined = self.joined(self.at[of]?, self.shape(of));
        self.at[of] = Some(joined);
        Some(joined)
    }

    /// The slabs of value `input` in one piece of shape `whole`.
    fn joined(&mut self, input: usize, whole: Shape) -> usize {
        let output = self.push(whole, self.images);
        let begin = Begin { apart: 0, before: 0 };
        let to = Slabs { down: 0, across: 0 };
        let deal = Deal { from: self.slabs, to, rows: begin, columns: begin };
        self.ops.push(Op::Deal { input, output, deal });
        output
    }

    /// Adds the means of all channels of value `from`: those of slabs, and then of these, which are of the
    /// same size.
    fn add_mean(&mut self, from: usize, to: usize) -> Option<()> {
        let input = self.at[from]?;
        let Value { shape, lanes, .. } = self.values[input];
        let of_slabs = self.push(Shape::new(shape.channels, 1, 1), lanes);
        self.pool(input, of_slabs, Window::of_all(shape));
        let Slabs { down, across } = self.slabs;
        let means = Shape::new(shape.channels, 1 << down, 1 << across);
        let joined = self.joined(of_slabs, means);
        let output = self.push(self.shape(to), self.images);
        self.at[to] = Some(output);
        self.places.push(self.ops.len());
        self.pool(joined, output, Window::of_all(means));
        Some(())
    }

    fn pool(&mut self, input: usize, output: usize, window: Window) {
        self.ops.push(Op::AveragePool { input, output, window });
    }
}

/// Rows and columns that a convolution reads to write so many, zeros around an image included.
fn reads((height, width): (usize, usize), shape: &ConvShape) -> (usize, usize) {
    (height + shape.height - 1, width + shape.width - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Layer, Padding};

    /// Into how many slabs, down and across, blocks of `images` images are cut.
    fn cut(input: Shape, padding: Padding, size: usize, images: usize) -> (u32, u32) {
        let conv = |name: &str| Layer::Conv {
            name: name.into(),
            filters: 2,
            size,
            stride: 1,
            padding,
            bias: true,
        };
        let pool = || Layer::MaxPool { size: 2, stride: 2 };
        let mut layers = vec![conv("a"), Layer::Relu];
        if padding == Padding::Valid {
            layers.extend([pool(), conv("b"), Layer::Relu, pool()]);
        }
        layers
            .extend([Layer::Flatten, Layer::Dense { name: "dense".into(), units: 3, bias: true }]);
        let network = Network::new(input, &layers).expect("it is valid");
        let Slabs { down, across } = Cut::new(&network, images.ilog2()).slabs;
        (1 << down, 1 << across)
    }

    #[test]
    fn images_are_cut_into_as_many_slabs_as_there_are_lanes_for() {
        let digits = Shape::new(1, 28, 28);
        for (images, slabs) in [(16, (1, 1)), (8, (2, 1)), (4, (4, 1)), (2, (4, 2))] {
            assert_eq!(cut(digits, Padding::Valid, 5, images), slabs);
        }
        let photos = Shape::new(3, 32, 32);
        for (images, slabs) in [(8, (2, 1)), (4, (4, 1)), (2, (8, 1)), (1, (16, 1))] {
            assert_eq!(cut(photos, Padding::Same, 3, images), slabs);
        }
    }

    #[test]
    fn what_cannot_be_cut_evenly_stays_whole() {
        assert_eq!(cut(Shape::new(1, 7, 7), Padding::Same, 3, 4), (1, 1));
        assert_eq!(cut(Shape::new(1, 6, 7), Padding::Same, 3, 4), (2, 1));
        // A halo is never higher than the slab that it is taken from.
        assert_eq!(cut(Shape::new(1, 16, 16), Padding::Same, 5, 1), (8, 1));
    }
}
