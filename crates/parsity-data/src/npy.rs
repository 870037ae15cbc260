//! One numpy array: its element type, its shape, and where each element lies.
//!
//! Apart from what a data set makes of it. The header is a Python dictionary of three
//! known entries, read here by hand: the sizes that it claims are checked against the
//! bytes that are there before anything is computed from them.

use crate::DataError;
use std::path::Path;

/// A numpy array.
#[derive(Debug)]
pub(crate) struct Array<'a> {
    pub(crate) kind: Kind,
    /// Bytes of an element.
    pub(crate) width: usize,
    big_endian: bool,
    pub(crate) shape: Vec<usize>,
    /// How many elements to go for the next one along each axis.
    pub(crate) strides: Vec<usize>,
    pub(crate) data: &'a [u8],
}

/// The kinds of elements that pixels or labels can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Signed,
    Unsigned,
    Float,
}

impl<'a> Array<'a> {
    /// Reads the array; `name` is what messages call it.
    pub(crate) fn parse(path: &Path, name: &str, bytes: &'a [u8]) -> Result<Self, DataError> {
        let malformed =
            |expected: String, found: String| DataError::malformed(path, name, expected, found);
        let header = || malformed("the header of a numpy array".into(), "something else".into());
        let (text, data) = split_header(bytes).ok_or_else(header)?;
        let descr = entry(text, "descr").ok_or_else(header)?;
        let (kind, width, big_endian) = element(descr).ok_or_else(|| {
            malformed("integers or floats".into(), format!("elements of type {descr}"))
        })?;
        let order = entry(text, "fortran_order").ok_or_else(header)?;
        let shape = entry(text, "shape").and_then(sides).ok_or_else(header)?;
        let count = shape.iter().try_fold(1usize, |all, &side| all.checked_mul(side));
        if count.and_then(|count| count.checked_mul(width)) != Some(data.len()) {
            let expected = format!("{shape:?} elements of {width} bytes");
            return Err(malformed(expected, format!("{} bytes", data.len())));
        }
        let strides = strides(&shape, order.starts_with("True"));
        Ok(Array { kind, width, big_endian, shape, strides, data })
    }

    /// Element `at`, counted as it lies in memory.
    pub(crate) fn element(&self, at: usize) -> f64 {
        let bytes = &self.data[at * self.width..][..self.width];
        let mut word = [0; 8];
        word[..self.width].copy_from_slice(bytes);
        if self.big_endian {
            word[..self.width].reverse();
        }
        let unsigned = u64::from_le_bytes(word);
        let unused = 64 - 8 * self.width as u32;
        match (self.kind, self.width) {
            (Kind::Unsigned, _) => unsigned as f64,
            (Kind::Signed, _) => ((unsigned << unused) as i64 >> unused) as f64,
            (Kind::Float, 4) => f64::from(f32::from_bits(unsigned as u32)),
            (Kind::Float, _) => f64::from_bits(unsigned),
        }
    }

    /// How many elements there are.
    pub(crate) fn len(&self) -> usize {
        self.data.len() / self.width
    }
}

/// The header's text and what follows it.
fn split_header(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let rest = bytes.strip_prefix(b"\x93NUMPY")?;
    let (version, rest) = rest.split_at_checked(2)?;
    let (length, rest) = match version[0] {
        1 => {
            let (length, rest) = rest.split_first_chunk()?;
            (usize::from(u16::from_le_bytes(*length)), rest)
        }
        2 | 3 => {
            let (length, rest) = rest.split_first_chunk()?;
            (u32::from_le_bytes(*length) as usize, rest)
        }
        _ => return None,
    };
    let (text, data) = rest.split_at_checked(length)?;
    Some((std::str::from_utf8(text).ok()?, data))
}

/// What follows `'key':` in the header.
fn entry<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("'{key}':"))?;
    let rest = rest.trim_start();
    let end = match rest.as_bytes().first()? {
        b'(' => rest.find(')')? + 1,
        b'[' => rest.find(']')? + 1,
        _ => rest.find([',', '}'])?,
    };
    Some(&rest[..end])
}

/// Kind, width and byte order of a quoted type such as `'<f4'`.
fn element(descr: &str) -> Option<(Kind, usize, bool)> {
    let code = descr.strip_prefix('\'')?.strip_suffix('\'')?;
    let (order, code) = code.split_at_checked(1)?;
    let (letter, width) = code.split_at_checked(1)?;
    let kind = match (letter, width) {
        ("u", "1" | "2" | "4" | "8") => Kind::Unsigned,
        ("i", "1" | "2" | "4" | "8") => Kind::Signed,
        ("f", "4" | "8") => Kind::Float,
        _ => return None,
    };
    matches!(order, "<" | ">" | "|").then_some((kind, width.parse().ok()?, order == ">"))
}

/// The sides in a tuple such as `(60000, 28, 28)` or `(60000,)`.
fn sides(tuple: &str) -> Option<Vec<usize>> {
    let inner = tuple.strip_prefix('(')?.strip_suffix(')')?.trim().trim_end_matches(',');
    inner.split(',').map(|side| side.trim().parse().ok()).collect()
}

fn strides(shape: &[usize], fortran: bool) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    let mut stride: usize = 1;
    let mut visit = |axis: usize| {
        strides[axis] = stride;
        // Of sides that are not all positive, nothing is ever read.
        stride = stride.saturating_mul(shape[axis]);
    };
    if fortran {
        (0..shape.len()).for_each(&mut visit)
    } else {
        (0..shape.len()).rev().for_each(&mut visit)
    }
    strides
}

#[cfg(test)]
mod tests {
    use super::*;

    fn npy(descr: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let text =
            format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
        let length = (text.len() as u16).to_le_bytes();
        [b"\x93NUMPY\x01\x00", &length[..], text.as_bytes(), data].concat()
    }

    fn elements(bytes: &[u8]) -> Vec<f64> {
        let array = Array::parse(Path::new("a.npz"), "x", bytes).unwrap();
        (0..array.len()).map(|at| array.element(at)).collect()
    }

    #[test]
    fn elements_of_every_type_are_read() {
        assert_eq!(elements(&npy("|u1", "False", "(2,)", &[0, 255])), [0.0, 255.0]);
        assert_eq!(elements(&npy("|i1", "False", "(2,)", &[1, 255])), [1.0, -1.0]);
        assert_eq!(elements(&npy("<i8", "False", "(1,)", &(-7i64).to_le_bytes())), [-7.0]);
        assert_eq!(elements(&npy(">i4", "False", "(1,)", &(-7i32).to_be_bytes())), [-7.0]);
        assert_eq!(elements(&npy(">u2", "False", "(1,)", &[1, 2])), [258.0]);
        assert_eq!(elements(&npy("<f4", "False", "(1,)", &0.25f32.to_le_bytes())), [0.25]);
        assert_eq!(elements(&npy("<f8", "False", "(1,)", &0.1f64.to_le_bytes())), [0.1]);
    }

    #[test]
    fn sizes_that_overflow_are_refused() {
        let huge = npy("<i8", "False", "(4294967296, 4294967296, 4)", &[0; 8]);
        let error = Array::parse(Path::new("a.npz"), "x", &huge).unwrap_err();
        assert!(error.to_string().ends_with("found 8 bytes"), "{error}");
        let empty = npy("<i8", "False", "(0, 9223372036854775807, 4)", &[]);
        assert_eq!(Array::parse(Path::new("a.npz"), "x", &empty).unwrap().len(), 0);
    }

    #[test]
    fn an_array_cut_anywhere_is_refused() {
        let whole = npy("<f4", "True", "(2, 3)", &[0; 24]);
        assert_eq!(Array::parse(Path::new("a.npz"), "x", &whole).unwrap().strides, [1, 2]);
        for length in 0..whole.len() {
            assert!(Array::parse(Path::new("a.npz"), "x", &whole[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn types_that_are_no_numbers_are_named() {
        let error =
            Array::parse(Path::new("a.npz"), "x", &npy("|O", "False", "(1,)", &[0])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a.npz: x: expected integers or floats, found elements of type '|O'"
        );
    }
}
