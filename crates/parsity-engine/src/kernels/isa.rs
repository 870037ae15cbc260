//! Instruction sets: which vectors a machine has, and what several of them do together.
//!
//! A kernel is written once, for any `Isa`.

#![allow(unsafe_code)]

use super::slabs::Take;
use super::vector::Vector;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// What a kernel needs to know of an instruction set.
pub(crate) trait Isa {
    /// The widest vector.
    type Wide: Vector;
    /// Eight numbers, for the rest of a row.
    type Eight: Vector;
    /// Sums held in registers by one weight at a time.
    const ALONE: usize;
    /// Sums held in registers per target by four weights at a time.
    const SHARED: usize;
    /// Weights whose gradients are summed up together.
    const WEIGHTS: usize;

    /// The sum of the lanes of each of sixteen sums: lane l and l + 8, then l and l + 4, then
    /// l and l + 2, then the last two.
    fn totals(sums: &[[f32; 16]; 16]) -> [f32; 16];

    /// Neighbours part: of 32 numbers, every other `IMAGES`, and the rest.
    #[inline(always)]
    fn parted<const IMAGES: usize>(numbers: &[f32; 32]) -> [[f32; 16]; 2] {
        [0, IMAGES].map(|side| std::array::from_fn(|lane| numbers[neighbour::<IMAGES>(lane, side)]))
    }

    /// Neighbours get what was handed to both: of each `IMAGES` of 8 numbers, the first neighbour
    /// gets those whose code is `code`, the second those with the next one, and zeros.
    #[inline(always)]
    fn handed_to_both<const IMAGES: usize>(
        numbers: &[f32; 8],
        codes: &[u8; 8],
        code: u8,
    ) -> [f32; 16] {
        std::array::from_fn(|lane| {
            let (from, side) = giver::<IMAGES>(lane);
            if codes[from] == code + side as u8 { numbers[from] } else { 0.0 }
        })
    }

    /// Rows become columns.
    #[inline(always)]
    fn transposed(rows: &[[f32; 16]; 16]) -> [[f32; 16]; 16] {
        std::array::from_fn(|column| std::array::from_fn(|row| rows[row][column]))
    }

    /// What `table` has for each byte.
    #[inline(always)]
    fn looked_up(table: &[f32; 256], bytes: &[u8; 16]) -> [f32; 16] {
        bytes.map(|byte| table[usize::from(byte)])
    }

    /// Whether it has instructions for `spread` and `gathered`.
    const SPREADS: bool = false;

    /// If so: numbers go where a bit is set, one after the other; others stay. There are as many numbers
    /// as bits.
    #[inline(always)]
    fn spread(_numbers: &[f32], _bits: u16, _to: &mut [f32; 16]) {
        unreachable!("numbers go one by one");
    }

    /// If so: the numbers where a bit is set, one after the other. What is behind them has no meaning.
    #[inline(always)]
    fn gathered(_numbers: &[f32; 16], _bits: u16) -> [f32; 16] {
        unreachable!("numbers go one by one");
    }

    /// Whether it has an instruction by which lanes take others.
    const TAKES: bool = false;

    /// If so: adds to the lanes at `to` what they take of `from`; or to zeros, if `set`.
    #[inline(always)]
    fn take(_takes: &[Take], _from: &[[f32; 16]], _to: &mut [f32; 16], _set: bool) {
        unreachable!("lanes are taken one by one");
    }

    /// Of sixteen windows, those whose code is not 255 come first: the place of the window's first
    /// position and the step that its code makes from there, and the window's number. Returns how
    /// many there are; what is behind them has no meaning. Codes are below 16.
    #[inline(always)]
    fn packed(
        codes: &[u8; 16],
        numbers: &[f32; 16],
        firsts: &[u32; 16],
        steps: &[u32; 256],
        places_to: &mut [u32; 16],
        numbers_to: &mut [f32; 16],
    ) -> usize {
        plain_packed(codes, numbers, firsts, steps, places_to, numbers_to)
    }
}

/// `Isa::packed` without special instructions, for all codes.
#[inline(always)]
pub(super) fn plain_packed(
    codes: &[u8; 16],
    numbers: &[f32; 16],
    firsts: &[u32; 16],
    steps: &[u32; 256],
    places_to: &mut [u32; 16],
    numbers_to: &mut [f32; 16],
) -> usize {
    let mut found = 0;
    for lane in 0..16 {
        // At most as many were found as lanes are done.
        places_to[found % 16] = firsts[lane] + steps[usize::from(codes[lane])];
        numbers_to[found % 16] = numbers[lane];
        found += usize::from(codes[lane] != u8::MAX);
    }
    found
}

/// Where lane `lane` of one side stands among neighbours; `side` is 0 or `IMAGES`.
const fn neighbour<const IMAGES: usize>(lane: usize, side: usize) -> usize {
    lane / IMAGES * 2 * IMAGES + side + lane % IMAGES
}

/// From where a neighbour gets lane `lane`, and which of the two it is.
const fn giver<const IMAGES: usize>(lane: usize) -> (usize, usize) {
    (lane / (2 * IMAGES) * IMAGES + lane % IMAGES, lane / IMAGES % 2)
}

/// `Isa::totals` without special instructions.
#[inline(always)]
fn plain_totals(sums: &[[f32; 16]; 16]) -> [f32; 16] {
    sums.map(|lanes| {
        let halves: [f32; 8] = std::array::from_fn(|lane| lanes[lane] + lanes[lane + 8]);
        let quarters: [f32; 4] = std::array::from_fn(|lane| halves[lane] + halves[lane + 4]);
        (quarters[0] + quarters[2]) + (quarters[1] + quarters[3])
    })
}

/// 32 registers of 16 numbers.
pub(crate) struct Avx512;
/// 16 registers of 8 numbers.
pub(crate) struct Avx2;
/// Whatever the compiler makes of arrays of four (NEON has 32 such registers).
pub(crate) struct Portable;

#[cfg(target_arch = "x86_64")]
impl Isa for Avx512 {
    type Wide = __m512;
    type Eight = __m256;
    const ALONE: usize = 24;
    const SHARED: usize = 6;
    const WEIGHTS: usize = 16;
    const TAKES: bool = true;
    const SPREADS: bool = true;

    /// Four rounds, each of which adds the halves of two vectors and packs them into one.
    #[inline(always)]
    fn totals(sums: &[[f32; 16]; 16]) -> [f32; 16] {
        // A macro, because a closure would not know of the instruction set.
        macro_rules! pack {
            ($shuffle:ident, $low:literal, $high:literal, $a:expr, $b:expr) => {{
                let (a, b) = ($a, $b);
                _mm512_add_ps($shuffle::<$low>(a, b), $shuffle::<$high>(a, b))
            }};
        }
        // SAFETY: as in `splat`; arrays of sixteen numbers are read and written.
        unsafe {
            let mut vectors = [_mm512_setzero_ps(); 16];
            for index in 0..16 {
                vectors[index] = _mm512_loadu_ps(sums[index].as_ptr());
            }
            for pair in 0..8 {
                let (a, b) = (vectors[pair], vectors[pair + 8]);
                vectors[pair] = pack!(_mm512_shuffle_f32x4, 0b01_00_01_00, 0b11_10_11_10, a, b);
            }
            for pair in 0..4 {
                let (a, b) = (vectors[pair], vectors[pair + 4]);
                vectors[pair] = pack!(_mm512_shuffle_f32x4, 0b10_00_10_00, 0b11_01_11_01, a, b);
            }
            for pair in 0..2 {
                let (a, b) = (vectors[pair], vectors[pair + 2]);
                vectors[pair] = pack!(_mm512_shuffle_ps, 0b01_00_01_00, 0b11_10_11_10, a, b);
            }
            let [a, b, ..] = vectors;
            let packed = pack!(_mm512_shuffle_ps, 0b10_00_10_00, 0b11_01_11_01, a, b);
            // Where the rounds above have put each sum.
            let order = _mm512_setr_epi32(0, 2, 1, 3, 8, 10, 9, 11, 4, 6, 5, 7, 12, 14, 13, 15);
            let mut totals = [0.0; 16];
            _mm512_storeu_ps(totals.as_mut_ptr(), _mm512_permutexvar_ps(order, packed));
            totals
        }
    }

    /// The table stays in half of the registers. Two of them are looked up at once, by the lower bits, and
    /// then the upper ones choose.
    #[inline(always)]
    fn looked_up(table: &[f32; 256], bytes: &[u8; 16]) -> [f32; 16] {
        // SAFETY: as in `totals`.
        unsafe {
            let bytes = _mm512_cvtepu8_epi32(_mm_loadu_si128(bytes.as_ptr().cast()));
            let mut found = [_mm512_setzero_ps(); 8];
            for (pair, found) in found.iter_mut().enumerate() {
                let table = table.as_ptr().add(32 * pair);
                let (low, high) = (_mm512_loadu_ps(table), _mm512_loadu_ps(table.add(16)));
                *found = _mm512_permutex2var_ps(low, bytes, high);
            }
            for (round, bit) in [(4, 32), (2, 64), (1, 128)] {
                let upper = _mm512_test_epi32_mask(bytes, _mm512_set1_epi32(bit));
                for next in 0..round {
                    let (low, high) = (found[2 * next], found[2 * next + 1]);
                    found[next] = _mm512_mask_mov_ps(low, upper, high);
                }
            }
            let mut numbers = [0.0; 16];
            _mm512_storeu_ps(numbers.as_mut_ptr(), found[0]);
            numbers
        }
    }

    #[inline(always)]
    fn parted<const IMAGES: usize>(numbers: &[f32; 32]) -> [[f32; 16]; 2] {
        let mut parted = [[0.0; 16]; 2];
        for (side, parted) in parted.iter_mut().enumerate() {
            let places: [i32; 16] = const {
                let mut places = [0; 16];
                let mut lane = 0;
                while lane < 16 {
                    places[lane] = neighbour::<IMAGES>(lane, 0) as i32;
                    lane += 1;
                }
                places
            };
            // SAFETY: as in `totals`.
            unsafe {
                let first = _mm512_loadu_ps(numbers.as_ptr());
                let second = _mm512_loadu_ps(numbers.as_ptr().add(16));
                let places = _mm512_loadu_si512(places.as_ptr().cast());
                let places = _mm512_add_epi32(places, _mm512_set1_epi32((side * IMAGES) as i32));
                let found = _mm512_permutex2var_ps(first, places, second);
                _mm512_storeu_ps(parted.as_mut_ptr(), found);
            }
        }
        parted
    }

    #[inline(always)]
    fn handed_to_both<const IMAGES: usize>(
        numbers: &[f32; 8],
        codes: &[u8; 8],
        code: u8,
    ) -> [f32; 16] {
        let (givers, sides): ([i32; 16], [i32; 16]) = const {
            let (mut givers, mut sides) = ([0; 16], [0; 16]);
            let mut lane = 0;
            while lane < 16 {
                let (from, side) = giver::<IMAGES>(lane);
                (givers[lane], sides[lane]) = (from as i32, side as i32);
                lane += 1;
            }
            (givers, sides)
        };
        let mut found = [0.0; 16];
        // SAFETY: as in `totals`.
        unsafe {
            let givers = _mm512_loadu_si512(givers.as_ptr().cast());
            let sides = _mm512_loadu_si512(sides.as_ptr().cast());
            let wanted = _mm512_add_epi32(sides, _mm512_set1_epi32(i32::from(code)));
            let codes = _mm512_cvtepu8_epi32(_mm_loadl_epi64(codes.as_ptr().cast()));
            let named = _mm512_cmpeq_epi32_mask(_mm512_permutexvar_epi32(givers, codes), wanted);
            let numbers = _mm512_castps256_ps512(_mm256_loadu_ps(numbers.as_ptr()));
            let numbers = _mm512_maskz_permutexvar_ps(named, givers, numbers);
            _mm512_storeu_ps(found.as_mut_ptr(), numbers);
        }
        found
    }

    /// Numbers of pairs of rows, then of quartets, then of all rows come together.
    #[inline(always)]
    fn transposed(rows: &[[f32; 16]; 16]) -> [[f32; 16]; 16] {
        macro_rules! pairs {
            ($unpack:ident, $a:expr, $b:expr) => {
                _mm512_castpd_ps($unpack(_mm512_castps_pd($a), _mm512_castps_pd($b)))
            };
        }
        macro_rules! halves {
            ($which:literal, $a:expr, $b:expr) => {
                _mm512_shuffle_f32x4::<$which>($a, $b)
            };
        }
        // SAFETY: as in `totals`.
        unsafe {
            let mut twos = [_mm512_setzero_ps(); 16];
            for pair in 0..8 {
                let a = _mm512_loadu_ps(rows[2 * pair].as_ptr());
                let b = _mm512_loadu_ps(rows[2 * pair + 1].as_ptr());
                twos[2 * pair] = _mm512_unpacklo_ps(a, b);
                twos[2 * pair + 1] = _mm512_unpackhi_ps(a, b);
            }
            // Quartet q holds, at 4 q + j, the columns j, 4 + j, 8 + j and 12 + j of its rows.
            let mut fours = [_mm512_setzero_ps(); 16];
            for first in [0, 4, 8, 12] {
                let (a, b) = (twos[first], twos[first + 2]);
                fours[first] = pairs!(_mm512_unpacklo_pd, a, b);
                fours[first + 1] = pairs!(_mm512_unpackhi_pd, a, b);
                let (a, b) = (twos[first + 1], twos[first + 3]);
                fours[first + 2] = pairs!(_mm512_unpacklo_pd, a, b);
                fours[first + 3] = pairs!(_mm512_unpackhi_pd, a, b);
            }
            let mut columns = [[0.0; 16]; 16];
            for j in 0..4 {
                let [a, b, c, d] = [fours[j], fours[4 + j], fours[8 + j], fours[12 + j]];
                let low = [halves!(0b01_00_01_00, a, b), halves!(0b01_00_01_00, c, d)];
                let high = [halves!(0b11_10_11_10, a, b), halves!(0b11_10_11_10, c, d)];
                let found = [
                    halves!(0b10_00_10_00, low[0], low[1]),
                    halves!(0b11_01_11_01, low[0], low[1]),
                    halves!(0b10_00_10_00, high[0], high[1]),
                    halves!(0b11_01_11_01, high[0], high[1]),
                ];
                for quarter in 0..4 {
                    _mm512_storeu_ps(columns[4 * quarter + j].as_mut_ptr(), found[quarter]);
                }
            }
            columns
        }
    }

    #[inline(always)]
    fn packed(
        codes: &[u8; 16],
        numbers: &[f32; 16],
        firsts: &[u32; 16],
        steps: &[u32; 256],
        places_to: &mut [u32; 16],
        numbers_to: &mut [f32; 16],
    ) -> usize {
        // SAFETY: as in `totals`.
        unsafe {
            let codes = _mm_loadu_si128(codes.as_ptr().cast());
            let wins = _mm_cmpneq_epi8_mask(codes, _mm_set1_epi8(-1));
            let steps = _mm512_loadu_si512(steps.as_ptr().cast());
            let steps = _mm512_permutexvar_epi32(_mm512_cvtepu8_epi32(codes), steps);
            let places = _mm512_add_epi32(_mm512_loadu_si512(firsts.as_ptr().cast()), steps);
            // In registers: written at once, it would take much longer.
            let places = _mm512_maskz_compress_epi32(wins, places);
            let numbers = _mm512_maskz_compress_ps(wins, _mm512_loadu_ps(numbers.as_ptr()));
            _mm512_storeu_si512(places_to.as_mut_ptr().cast(), places);
            _mm512_storeu_ps(numbers_to.as_mut_ptr(), numbers);
            wins.count_ones() as usize
        }
    }

    #[inline(always)]
    fn take(takes: &[Take], from: &[[f32; 16]], to: &mut [f32; 16], set: bool) {
        // SAFETY: as in `totals`.
        unsafe {
            let mut sum = match set {
                true => _mm512_setzero_ps(),
                false => _mm512_loadu_ps(to.as_ptr()),
            };
            for take in takes {
                let from = _mm512_loadu_ps(from[take.from].as_ptr());
                let givers = _mm_loadu_si128(take.lanes.as_ptr().cast());
                let some = _mm_cmpneq_epi8_mask(givers, _mm_set1_epi8(-1));
                let given = _mm512_permutexvar_ps(_mm512_cvtepu8_epi32(givers), from);
                sum = _mm512_mask_add_ps(sum, some, sum, given);
            }
            _mm512_storeu_ps(to.as_mut_ptr(), sum);
        }
    }

    #[inline(always)]
    fn spread(numbers: &[f32], bits: u16, to: &mut [f32; 16]) {
        assert!(numbers.len() >= bits.count_ones() as usize);
        // SAFETY: as in `totals`; as many numbers are read as bits are set.
        unsafe {
            let before = _mm512_loadu_ps(to.as_ptr());
            let numbers = _mm512_mask_expandloadu_ps(before, bits, numbers.as_ptr());
            _mm512_storeu_ps(to.as_mut_ptr(), numbers);
        }
    }

    #[inline(always)]
    fn gathered(numbers: &[f32; 16], bits: u16) -> [f32; 16] {
        let mut gathered = [0.0; 16];
        // SAFETY: as in `totals`.
        unsafe {
            let numbers = _mm512_maskz_compress_ps(bits, _mm512_loadu_ps(numbers.as_ptr()));
            _mm512_storeu_ps(gathered.as_mut_ptr(), numbers);
        }
        gathered
    }
}

#[cfg(target_arch = "x86_64")]
impl Isa for Avx2 {
    type Wide = __m256;
    type Eight = __m256;
    const ALONE: usize = 12;
    const SHARED: usize = 2;
    const WEIGHTS: usize = 8;

    #[inline(always)]
    fn totals(sums: &[[f32; 16]; 16]) -> [f32; 16] {
        plain_totals(sums)
    }
}

impl Isa for Portable {
    type Wide = [f32; 4];
    type Eight = [f32; 8];
    const ALONE: usize = 12;
    const SHARED: usize = 4;
    const WEIGHTS: usize = 8;

    #[inline(always)]
    fn totals(sums: &[[f32; 16]; 16]) -> [f32; 16] {
        plain_totals(sums)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::instruction_set::InstructionSet;

    #[test]
    fn rows_become_columns() {
        let number = |row: usize, column: usize| (row * 16 + column) as f32;
        let rows = std::array::from_fn(|row| std::array::from_fn(|column| number(row, column)));
        let columns: [[f32; 16]; 16] =
            std::array::from_fn(|column| std::array::from_fn(|row| number(row, column)));
        assert_eq!(Portable::transposed(&rows), columns);
        #[cfg(target_arch = "x86_64")]
        if InstructionSet::in_use() == InstructionSet::Avx512 {
            assert_eq!(Avx512::transposed(&rows), columns);
        }
    }

    #[test]
    fn every_byte_is_looked_up() {
        let table: [f32; 256] = std::array::from_fn(|byte| 0.25 * byte as f32 - 7.0);
        for first in 0..=255u8 {
            let bytes: [u8; 16] = std::array::from_fn(|lane| first.wrapping_add(53 * lane as u8));
            let expected = bytes.map(|byte| table[usize::from(byte)]);
            assert_eq!(Portable::looked_up(&table, &bytes), expected);
            #[cfg(target_arch = "x86_64")]
            if InstructionSet::in_use() == InstructionSet::Avx512 {
                assert_eq!(Avx512::looked_up(&table, &bytes), expected);
            }
        }
    }

    #[test]
    fn winners_come_first() {
        let steps = std::array::from_fn(|code| if code < 16 { 7 * code as u32 } else { 0 });
        let firsts: [u32; 16] = std::array::from_fn(|lane| 1000 * lane as u32);
        let numbers: [f32; 16] = std::array::from_fn(|lane| 0.5 + lane as f32);
        for resting in [0u16, 1, 0x8000, 0x5a3c, 0xfffe, 0xffff] {
            let rests = |lane: usize| resting >> lane & 1 == 1;
            let codes: [u8; 16] =
                std::array::from_fn(|lane| if rests(lane) { 255 } else { (lane * 5 % 16) as u8 });
            let winners: Vec<usize> = (0..16).filter(|&lane| !rests(lane)).collect();
            type Packed = fn(
                &[u8; 16],
                &[f32; 16],
                &[u32; 16],
                &[u32; 256],
                &mut [u32; 16],
                &mut [f32; 16],
            ) -> usize;
            let check = |packed: Packed| {
                let (mut places_to, mut numbers_to) = ([0; 16], [0.0; 16]);
                let found =
                    packed(&codes, &numbers, &firsts, &steps, &mut places_to, &mut numbers_to);
                assert_eq!(found, winners.len());
                for (place, &lane) in winners.iter().enumerate() {
                    let step = steps[usize::from(codes[lane])];
                    assert_eq!(places_to[place], firsts[lane] + step);
                    assert_eq!(numbers_to[place], numbers[lane]);
                }
            };
            check(Portable::packed);
            #[cfg(target_arch = "x86_64")]
            if InstructionSet::in_use() == InstructionSet::Avx512 {
                check(Avx512::packed);
            }
        }
    }

    fn check_neighbours<const IMAGES: usize>() {
        let numbers: [f32; 32] = std::array::from_fn(|place| 1.0 + place as f32);
        let [left, right] = Portable::parted::<IMAGES>(&numbers);
        for (place, number) in numbers.iter().enumerate() {
            let (unit, image) = (place / IMAGES, place % IMAGES);
            let side = if unit % 2 == 0 { &left } else { &right };
            assert_eq!(side[unit / 2 * IMAGES + image], *number);
        }
        let (given, codes) = (numbers.first_chunk().unwrap(), [0, 1, 2, 3, 255, 1, 0, 3]);
        for code in [0, 2] {
            let found = Portable::handed_to_both::<IMAGES>(given, &codes, code);
            for (place, number) in found.iter().enumerate() {
                let (unit, image) = (place / IMAGES, place % IMAGES);
                let from = unit / 2 * IMAGES + image;
                let named = codes[from] == code + (unit % 2) as u8;
                assert_eq!(*number, if named { given[from] } else { 0.0 });
            }
            #[cfg(target_arch = "x86_64")]
            if InstructionSet::in_use() == InstructionSet::Avx512 {
                assert_eq!(Avx512::parted::<IMAGES>(&numbers), [left, right]);
                assert_eq!(Avx512::handed_to_both::<IMAGES>(given, &codes, code), found);
            }
        }
    }

    #[test]
    fn neighbours_part_and_get_what_was_handed_to_both() {
        check_neighbours::<1>();
        check_neighbours::<2>();
        check_neighbours::<4>();
        check_neighbours::<8>();
    }

    #[test]
    fn every_instruction_set_adds_lanes_in_the_same_order() {
        // Sizes far apart, so that another order gives other bits.
        let number = |sum: usize, lane: usize| {
            let sign = if (sum + 3 * lane).is_multiple_of(2) { 1.0 } else { -1.0 };
            sign * (1.0 + (sum * 16 + lane) as f32 / 7.0) * 10f32.powi((lane * 5 % 7) as i32)
        };
        let sums: [[f32; 16]; 16] =
            std::array::from_fn(|sum| std::array::from_fn(|lane| number(sum, lane)));
        let expected = Portable::totals(&sums).map(f32::to_bits);
        #[cfg(target_arch = "x86_64")]
        match InstructionSet::in_use() {
            InstructionSet::Avx512 => {
                assert_eq!(Avx512::totals(&sums).map(f32::to_bits), expected);
                assert_eq!(Avx2::totals(&sums).map(f32::to_bits), expected);
            }
            InstructionSet::Avx2 => {
                assert_eq!(Avx2::totals(&sums).map(f32::to_bits), expected);
            }
            InstructionSet::Portable => {}
        }
        let exact: f64 = sums[5].iter().map(|&number| f64::from(number)).sum();
        let found = f64::from(f32::from_bits(expected[5]));
        assert!((found - exact).abs() < 1e-4 * exact.abs(), "{found} for {exact}");
    }
}
