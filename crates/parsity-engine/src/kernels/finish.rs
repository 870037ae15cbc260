//! What is done to the sums of a tile that was just written.
//!
//! Apart from tiles, because it is one function for tiles of all sizes.

use super::correlation::{Call, Finish};
use super::layers::{keep_where_positive, relu_in_place_body};
use super::multiversion;
use super::tile::Tile;
use std::ops::Range;

multiversion! {
    /// Finishes the sums of `targets` that a tile of `size` (rows, and numbers of each) has just
    /// written. A function of its own, for tiles of all sizes: what it reads is still at hand.
    /// What a lone target can do as it is written is not done here.
    finish_tile(tile: &Tile, targets: Range<usize>, size: (usize, usize), numbers: &mut [f32])
        = finish_tile_body
}

#[inline(always)]
fn finish_tile_body(
    tile: &Tile,
    targets: Range<usize>,
    (rows, length): (usize, usize),
    numbers: &mut [f32],
) {
    let Call { correlation, lanes, first, .. } = tile.reads.call;
    let row_of = |target: usize, row: usize| {
        let row = (tile.row + row - first) * correlation.grid.target_row;
        ((correlation.targets[target] as usize + row) << lanes) + tile.from
    };
    match tile.reads.call.finish {
        Finish::Keep => {}
        Finish::Rectify => {
            for target in targets {
                for row in 0..rows {
                    relu_in_place_body(&mut numbers[row_of(target, row)..][..length]);
                }
            }
        }
        Finish::Mask(deciding) => {
            let Some(mask) = &correlation.mask else { return };
            for target in targets {
                for row in 0..rows {
                    let place = mask.place(target, tile.row + row, lanes) + tile.from;
                    let deciding = &deciding[place..][..length];
                    keep_where_positive(deciding, &mut numbers[row_of(target, row)..][..length]);
                }
            }
        }
        Finish::Pool(_) => unreachable!("windows are pooled as their tile ends"),
    }
}
