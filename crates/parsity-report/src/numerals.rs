//! Numbers as people read them: the one way counts, metaparameters and estimates are printed.

use parsity_analysis::{CONFIDENCE, Estimate};

/// A count with its thousands apart: `16,384`.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number to five significant digits, without trailing zeros: `0.0031623`.
pub fn significant(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let magnitude = value.abs().log10().floor() as i32;
    if !(-7..=9).contains(&magnitude) {
        return format!("{value:.4e}");
    }
    let text = format!("{value:.*}", (4 - magnitude).max(0) as usize);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A count with a word for its thousands: `12.3 million`.
pub fn large(count: f64) -> String {
    for (size, unit) in [(1e12, "trillion"), (1e9, "billion"), (1e6, "million")] {
        if count >= size {
            return format!("{:.1} {unit}", count / size);
        }
    }
    grouped(count as u64)
}

/// A number as a person would say it, to two digits: `120`, `0.83`, `16,000`.
pub fn about(value: f64) -> String {
    rounded(value, 2)
}

/// A number to so many digits.
pub fn rounded(value: f64, digits: i32) -> String {
    if !value.is_finite() {
        return "∞".to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let unit = 10f64.powi(value.abs().log10().floor() as i32 + 1 - digits);
    let rounded = (value / unit).round() * unit;
    if rounded.abs() >= 1_000.0 {
        let sign = if rounded < 0.0 { "−" } else { "" };
        format!("{sign}{}", grouped(rounded.abs().round() as u64))
    } else {
        significant(rounded).replace('-', "−")
    }
}

/// An estimate with its interval: `120 (90 % interval 95 to 150)`. A number has two digits, or
/// three where two would not tell the ends of the interval apart.
pub fn estimated(it: &Estimate) -> String {
    estimated_in(it, "")
}

/// The same with a unit after the number: `1.8 times (90 % interval 1.7 to 1.9)`.
pub fn estimated_in(it: &Estimate, unit: &str) -> String {
    let digits = if about(it.low) == about(it.high) { 3 } else { 2 };
    let [value, low, high] = [it.value, it.low, it.high].map(|number| rounded(number, digits));
    if it.low == it.high {
        return value + unit;
    }
    let confidence = CONFIDENCE * 100.0;
    let interval = match (it.low != 0.0, it.high.is_finite()) {
        (true, true) => format!("{confidence} % interval {low} to {high}"),
        (true, false) => format!("{confidence} % interval above {low}"),
        (false, true) => format!("{confidence} % interval below {high}"),
        (false, false) => "not bounded by the data".to_owned(),
    };
    format!("{value}{unit} ({interval})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped_by_thousands() {
        let texts = [0, 12, 999, 1_000, 16_384, 1_234_567].map(grouped);
        assert_eq!(texts, ["0", "12", "999", "1,000", "16,384", "1,234,567"]);
    }

    #[test]
    fn numbers_in_sentences_have_two_digits() {
        let values = [0.0, 0.834, 1.0, 2.449, 9.96, 118.2, 16_384.0, -1.04, f64::INFINITY];
        assert_eq!(values.map(about), ["0", "0.83", "1", "2.4", "10", "120", "16,000", "−1", "∞"]);
        assert_eq!(
            [12_000.0, 1_250_000.0, 3e9].map(large),
            ["12,000", "1.2 million", "3.0 billion"]
        );
    }

    #[test]
    fn an_end_that_the_data_do_not_bound_is_not_told_as_a_number() {
        let told = |low, high| estimated(&Estimate { value: 120.0, low, high });
        assert_eq!(told(95.0, 150.0), "120 (90 % interval 95 to 150)");
        assert_eq!(told(119.6, 120.4), "120 (90 % interval 120 to 120)");
        assert_eq!(told(117.0, 123.4), "120 (90 % interval 117 to 123)");
        assert_eq!(told(95.0, f64::INFINITY), "120 (90 % interval above 95)");
        assert_eq!(told(0.0, 150.0), "120 (90 % interval below 150)");
        assert_eq!(told(0.0, f64::INFINITY), "120 (not bounded by the data)");
        assert_eq!(told(120.0, 120.0), "120");
    }

    #[test]
    fn numbers_keep_five_significant_digits_and_no_empty_ones() {
        let values = [0.1, 0.003_162_277_66, 0.999_437_66, 1.0, 45_231.7, 1e-4, 0.0, 2.5e-12];
        let expected = ["0.1", "0.0031623", "0.99944", "1", "45232", "0.0001", "0", "2.5000e-12"];
        assert_eq!(values.map(significant), expected);
    }
}
