//! Draws the first two hundred `glyphs` into one picture:
//! `cargo run -p parsity-data --example contact_sheet -- sheet.png`.

use parsity_data::glyphs;
use std::error::Error;
use std::fs::File;
use std::io::BufWriter;

const COLUMNS: usize = 20;
const ROWS: usize = 10;
/// Each pixel becomes a square of this side.
const ZOOM: usize = 2;
/// Pixels between two images.
const GAP: usize = 2;

fn main() -> Result<(), Box<dyn Error>> {
    let target = std::env::args().nth(1).ok_or("expected the name of the picture to write")?;
    let examples = glyphs::generate(0, 0..(COLUMNS * ROWS) as u64);
    let side = glyphs::SHAPE.width;
    let pitch = (side + GAP) * ZOOM;
    let (width, height) = (COLUMNS * pitch, ROWS * pitch);
    let mut picture = vec![96; width * height];
    for index in 0..examples.len() {
        let (left, top) = (index % COLUMNS * pitch, index / COLUMNS * pitch);
        for y in 0..side * ZOOM {
            for x in 0..side * ZOOM {
                let pixel = examples.image(index)[y / ZOOM * side + x / ZOOM];
                picture[(top + y) * width + left + x] = pixel;
            }
        }
    }
    let file = BufWriter::new(File::create(&target)?);
    let mut encoder = png::Encoder::new(file, width as u32, height as u32);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.write_header()?.write_image_data(&picture)?;
    Ok(())
}
