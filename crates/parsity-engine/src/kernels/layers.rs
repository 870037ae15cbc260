//! What stands between convolutions: ReLU, pooling, the shortcut's sum.

use super::{LANES, Lanes, multiversion};
use crate::network::{Value, Window};

multiversion! {
    /// y = max(x, 0).
    relu(input: &Value, output: &Value, x: &[Lanes], y: &mut [Lanes]) = relu_body
}

#[inline(always)]
fn relu_body(input: &Value, output: &Value, x: &[Lanes], y: &mut [Lanes]) {
    for_each_row(input, output, |from, to, width| {
        for (y, x) in y[to..to + width].iter_mut().zip(&x[from..from + width]) {
            *y = rectified(*x);
        }
    });
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
    for_each_row(input, output, |from, to, width| {
        let gradients = dy[to..to + width].iter().zip(&y[to..to + width]);
        for (dx, (dy, y)) in dx[from..from + width].iter_mut().zip(gradients) {
            *dx = dx.plus(passed(*y, *dy));
        }
    });
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
    for_each_window(window, input, output, |from, to, columns| {
        let mut highest = x[from];
        for_each_position(window, from, columns, |position| {
            let x = &x[position];
            highest = Lanes(std::array::from_fn(|lane| {
                if x.0[lane] > highest.0[lane] { x.0[lane] } else { highest.0[lane] }
            }));
        });
        y[to] = highest;
    });
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
    for_each_window(window, input, output, |from, to, columns| {
        let highest = y[to];
        // What is left to give away: it goes to the first that matches.
        let mut left = dy[to];
        for_each_position(window, from, columns, |position| {
            let (x, dx) = (&x[position], &mut dx[position]);
            for lane in 0..LANES {
                let given = if x.0[lane] == highest.0[lane] { left.0[lane] } else { 0.0 };
                dx.0[lane] += given;
                left.0[lane] = if x.0[lane] == highest.0[lane] { 0.0 } else { left.0[lane] };
            }
        });
    });
}

multiversion! {
    /// y = the mean x of each window.
    average_pool(window: Window, input: &Value, output: &Value, x: &[Lanes], y: &mut [Lanes])
        = average_pool_body
}

#[inline(always)]
fn average_pool_body(window: Window, input: &Value, output: &Value, x: &[Lanes], y: &mut [Lanes]) {
    let share = 1.0 / (window.height * window.width) as f32;
    for_each_window(window, input, output, |from, to, columns| {
        let mut sum = Lanes::ZERO;
        for_each_position(window, from, columns, |position| sum = sum.plus(x[position]));
        y[to] = Lanes(sum.0.map(|sum| sum * share));
    });
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
    for_each_window(window, input, output, |from, to, columns| {
        for_each_position(window, from, columns, |position| {
            dx[position] = dx[position].add_scaled(share, dy[to]);
        });
    });
}

multiversion! {
    /// to += from, over the channels that both have.
    add_channels(source: &Value, target: &Value, from: &[Lanes], to: &mut [Lanes])
        = add_channels_body
}

#[inline(always)]
fn add_channels_body(source: &Value, target: &Value, from: &[Lanes], to: &mut [Lanes]) {
    for_each_row(source, target, |source, target, width| {
        for (to, from) in to[target..target + width].iter_mut().zip(&from[source..source + width]) {
            *to = to.plus(*from);
        }
    });
}

/// Calls `visit(start in a, start in b, width)` for each row of the channels that the
/// values `a` and `b`, of the same sides, both have.
#[inline(always)]
fn for_each_row(a: &Value, b: &Value, mut visit: impl FnMut(usize, usize, usize)) {
    for channel in 0..a.shape.channels.min(b.shape.channels) {
        for row in 0..a.shape.height {
            visit(a.row(channel, row), b.row(channel, row), a.shape.width);
        }
    }
}

/// Calls `visit(first input position, output position, distance of two input rows)` for
/// each window.
#[inline(always)]
fn for_each_window(
    window: Window,
    input: &Value,
    output: &Value,
    mut visit: impl FnMut(usize, usize, usize),
) {
    let columns = input.columns();
    for channel in 0..output.shape.channels {
        for row in 0..output.shape.height {
            let from = input.row(channel, row * window.stride);
            let to = output.row(channel, row);
            for column in 0..output.shape.width {
                visit(from + column * window.stride, to + column, columns);
            }
        }
    }
}

/// Calls `visit` for each input position of the window at `from`, in reading order.
#[inline(always)]
fn for_each_position(window: Window, from: usize, columns: usize, mut visit: impl FnMut(usize)) {
    for row in 0..window.height {
        for column in 0..window.width {
            visit(from + row * columns + column);
        }
    }
}
