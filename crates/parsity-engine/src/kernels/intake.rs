//! From bytes to numbers: images become a block.

use super::isa::Isa;
use super::{LANES, multiversion};

multiversion! {
    /// A row of a whole block: pixel by pixel, the number that `table` has for the byte of each
    /// image. All of them have as many bytes, from `start` on, as there is room for.
    take_in(table: &[f32; 256], images: &[&[u8]; LANES], start: usize, row: &mut [f32])
        = take_in_body<Isa>
}

#[inline(always)]
fn take_in_body<I: Isa>(
    table: &[f32; 256],
    images: &[&[u8]; LANES],
    start: usize,
    row: &mut [f32],
) {
    let pixels = row.as_chunks_mut::<LANES>().0;
    let mut done = 0;
    while done < pixels.len() {
        // The last piece goes back to where it has enough pixels.
        let first = done.min(pixels.len().saturating_sub(LANES));
        let count = LANES.min(pixels.len() - first);
        let mut bytes = [[0; LANES]; LANES];
        for (bytes, image) in bytes.iter_mut().zip(images) {
            let pixels = &image[start + first..][..count];
            match pixels.first_chunk() {
                Some(all) => *bytes = *all,
                None => bytes[..count].copy_from_slice(pixels),
            }
        }
        let bytes = turned(&bytes);
        for (numbers, bytes) in pixels[first..][..count].iter_mut().zip(&bytes) {
            *numbers = I::looked_up(table, bytes);
        }
        done = first + count;
    }
}

/// Rows become columns.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn turned(rows: &[[u8; LANES]; LANES]) -> [[u8; LANES]; LANES] {
    use std::arch::x86_64::{
        _mm_loadu_si128, _mm_storeu_si128, _mm_unpackhi_epi8, _mm_unpacklo_epi8,
    };
    // Each round lays the rows of the second half between those of the first; after four, every
    // byte is at its place.
    let mut from = *rows;
    for _ in 0..4 {
        let mut to = [[0; LANES]; LANES];
        for row in 0..LANES / 2 {
            // SAFETY: every x86-64 has SSE2, and arrays of sixteen bytes are read and written.
            #[allow(unsafe_code)]
            unsafe {
                let upper = _mm_loadu_si128(from[row].as_ptr().cast());
                let lower = _mm_loadu_si128(from[row + LANES / 2].as_ptr().cast());
                let (low, high) =
                    (_mm_unpacklo_epi8(upper, lower), _mm_unpackhi_epi8(upper, lower));
                _mm_storeu_si128(to[2 * row].as_mut_ptr().cast(), low);
                _mm_storeu_si128(to[2 * row + 1].as_mut_ptr().cast(), high);
            }
        }
        from = to;
    }
    from
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn turned(rows: &[[u8; LANES]; LANES]) -> [[u8; LANES]; LANES] {
    std::array::from_fn(|column| std::array::from_fn(|row| rows[row][column]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pixel_of_every_image_finds_its_number() {
        let table: [f32; 256] = std::array::from_fn(|byte| byte as f32 * 0.5 - 3.0);
        for width in [1, 5, 15, 16, 17, 28, 32, 40] {
            let start = 3;
            let byte = |image: usize, pixel: usize| (image * 37 + pixel * 11) as u8;
            let images: Vec<Vec<u8>> = (0..LANES)
                .map(|image| (0..start + width).map(|pixel| byte(image, pixel)).collect())
                .collect();
            let images: [&[u8]; LANES] = std::array::from_fn(|image| &images[image][..]);
            let mut row = vec![0.0; width * LANES];
            take_in(&table, &images, start, &mut row);
            for (place, &number) in row.iter().enumerate() {
                let (pixel, image) = (start + place / LANES, place % LANES);
                assert_eq!(number, table[usize::from(byte(image, pixel))], "{width}: {place}");
            }
        }
    }
}
