//! Numbers as people read them: the one way counts and metaparameters are printed.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped_by_thousands() {
        let texts = [0, 12, 999, 1_000, 16_384, 1_234_567].map(grouped);
        assert_eq!(texts, ["0", "12", "999", "1,000", "16,384", "1,234,567"]);
    }

    #[test]
    fn numbers_keep_five_significant_digits_and_no_empty_ones() {
        let values = [0.1, 0.003_162_277_66, 0.999_437_66, 1.0, 45_231.7, 1e-4, 0.0, 2.5e-12];
        let expected = ["0.1", "0.0031623", "0.99944", "1", "45232", "0.0001", "0", "2.5000e-12"];
        assert_eq!(values.map(significant), expected);
    }
}
