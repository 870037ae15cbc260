//! What stands between convolutions: ReLU, pooling, the shortcut's sum.

use super::{LANES, Lanes, multiversion};
use crate::network::{Value, Window};
use crate::shape::Shape;

multiversion! {
    /// y = max(x, 0).
    relu(input: &Value, output: &Value, x: &[Lanes], y: &mut [Lanes]) = relu_body
}

#[inline(always)]
fn relu_body(input: &Value, output: &Value, x: &[Lanes], y: &mut [Lanes]) {
    for (from, to, width) in rows(input, output) {
        for (y, x) in y[to..to + width].iter_mut().zip(&x[from..from + width]) {
            *y = rectified(*x);
        }
    }
}

multiversion! {
    /// y = max(y, 0).
    relu_in_place(y: &mut [Lanes]) = relu_in_place_body
}

#[inline(always)]
fn relu_in_place_body(y: &mut [Lanes]) {
    for y in y {
        *y = rectified(*y);
    }
}

/// Keeps a NaN, so that divergence stays visible in the loss.
#[inline(always)]
fn rectified(x: Lanes) -> Lanes {
    Lanes(x.0.map(|x| if x < 0.0 { 0.0 } else { x }))
}

multiversion! {
    /// dx += dy where y > 0.
    relu_gradient(input: &Value, output: &Value, y: &[Lanes], dy: &[Lanes], dx: &mut [Lanes])
        = relu_gradient_body
}

#[inline(always)]
fn relu_gradient_body(input: &Value, output: &Value, y: &[Lanes], dy: &[Lanes], dx: &mut [Lanes]) {
    for (from, to, width) in rows(input, output) {
        let gradients = dy[to..to + width].iter().zip(&y[to..to + width]);
        for (dx, (dy, y)) in dx[from..from + width].iter_mut().zip(gradients) {
            *dx = dx.plus(passed(*y, *dy));
        }
    }
}

multiversion! {
    /// dy = dy where y > 0, else 0.
    relu_gradient_in_place(y: &[Lanes], dy: &mut [Lanes]) = relu_gradient_in_place_body
}

#[inline(always)]
fn relu_gradient_in_place_body(y: &[Lanes], dy: &mut [Lanes]) {
    for (dy, y) in dy.iter_mut().zip(y) {
        *dy = passed(*y, *dy);
    }
}

#[inline(always)]
fn passed(y: Lanes, dy: Lanes) -> Lanes {
    Lanes(std::array::from_fn(|lane| if y.0[lane] > 0.0 { dy.0[lane] } else { 0.0 }))
}

multiversion! {
    /// y = the highest x of each window.
    max_pool(window: Window, input: &Value, output: &Value, x: &[Lanes], y: &mut [Lanes])
        = max_pool_body
}

#[inline(always)]
fn max_pool_body(window: Window, input: &Value, output: &Value, x: &[Lanes], y: &mut [Lanes]) {
    for (from, to) in windows(window, input, output) {
        let mut highest = x[from];
        for position in positions(window, input, from) {
            let x = &x[position];
            highest = Lanes(std::array::from_fn(|lane| {
                if x.0[lane] > highest.0[lane] { x.0[lane] } else { highest.0[lane] }
            }));
        }
        y[to] = highest;
    }
}

multiversion! {
    /// dx += dy at the first position of each window that holds its highest x.
    max_pool_gradient(
        window: Window, input: &Value, output: &Value,
        x: &[Lanes], y: &[Lanes], dy: &[Lanes], dx: &mut [Lanes],
    ) = max_pool_gradient_body
}

#[inline(always)]
fn max_pool_gradient_body(
    window: Window,
    input: &Value,
    output: &Value,
    x: &[Lanes],
    y: &[Lanes],
    dy: &[Lanes],
    dx: &mut [Lanes],
) {
    for (from, to) in windows(window, input, output) {
        let highest = y[to];
        // What is left to give away: it goes to the first that matches.
        let mut left = dy[to];
        for position in positions(window, input, from) {
            let (x, dx) = (&x[position], &mut dx[position]);
            let given: [f32; LANES] =
                std::array::from_fn(
                    |lane| {
                        if x.0[lane] == highest.0[lane] { left.0[lane] } else { 0.0 }
                    },
                );
            *dx = dx.plus(Lanes(given));
            left = Lanes(std::array::from_fn(|lane| left.0[lane] - given[lane]));
        }
    }
}

multiversion! {
    /// y = the mean x of each window.
    average_pool(window: Window, input: &Value, output: &Value, x: &[Lanes], y: &mut [Lanes])
        = average_pool_body
}

#[inline(always)]
fn average_pool_body(window: Window, input: &Value, output: &Value, x: &[Lanes], y: &mut [Lanes]) {
    let share = 1.0 / (window.height * window.width) as f32;
    for (from, to) in windows(window, input, output) {
        let mut sum = Lanes::ZERO;
        for position in positions(window, input, from) {
            sum = sum.plus(x[position]);
        }
        y[to] = Lanes(sum.0.map(|sum| sum * share));
    }
}

multiversion! {
    /// dx += each window's dy, shared evenly.
    average_pool_gradient(
        window: Window, input: &Value, output: &Value, dy: &[Lanes], dx: &mut [Lanes],
    ) = average_pool_gradient_body
}

#[inline(always)]
fn average_pool_gradient_body(
    window: Window,
    input: &Value,
    output: &Value,
    dy: &[Lanes],
    dx: &mut [Lanes],
) {
    let share = 1.0 / (window.height * window.width) as f32;
    for (from, to) in windows(window, input, output) {
        for position in positions(window, input, from) {
            dx[position] = dx[position].add_scaled(share, dy[to]);
        }
    }
}

multiversion! {
    /// to += from, over the channels that both have.
    add_channels(source: &Value, target: &Value, from: &[Lanes], to: &mut [Lanes])
        = add_channels_body
}

#[inline(always)]
fn add_channels_body(source: &Value, target: &Value, from: &[Lanes], to: &mut [Lanes]) {
    for (source, target, width) in rows(source, target) {
        for (to, from) in to[target..target + width].iter_mut().zip(&from[source..source + width]) {
            *to = to.plus(*from);
        }
    }
}

/// (start in `a`, start in `b`, width) of each row of the channels that the values `a` and
/// `b`, of the same sides, both have.
#[inline(always)]
fn rows(a: &Value, b: &Value) -> impl Iterator<Item = (usize, usize, usize)> {
    let channels = a.shape.channels.min(b.shape.channels);
    (0..channels).flat_map(move |channel| {
        (0..a.shape.height)
            .map(move |row| (a.row(channel, row), b.row(channel, row), a.shape.width))
    })
}

/// (first input position, output position) of each window.
#[inline(always)]
fn windows(window: Window, input: &Value, output: &Value) -> impl Iterator<Item = (usize, usize)> {
    let Shape { channels, height, width } = output.shape;
    (0..channels).flat_map(move |channel| {
        (0..height).flat_map(move |row| {
            let (from, to) = (input.row(channel, row * window.stride), output.row(channel, row));
            (0..width).map(move |column| (from + column * window.stride, to + column))
        })
    })
}

/// The input positions of the window at `from`, in reading order.
#[inline(always)]
fn positions(window: Window, input: &Value, from: usize) -> impl Iterator<Item = usize> + use<> {
    let columns = input.columns();
    (0..window.height)
        .flat_map(move |row| (0..window.width).map(move |column| from + row * columns + column))
}
