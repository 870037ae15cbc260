//! Numbers as people read them: durations, rates, counts.

pub(crate) use parsity_report::numerals::{grouped, significant};

/// A duration in its two largest units: `3 d 4 h`, `2 min 5 s`, `0.8 s`.
pub(crate) fn duration(seconds: f64) -> String {
    const UNITS: [(&str, f64); 5] =
        [("y", 31_557_600.0), ("d", 86_400.0), ("h", 3_600.0), ("min", 60.0), ("s", 1.0)];
    if seconds < 10.0 {
        return format!("{seconds:.1} s");
    }
    let first = UNITS.iter().position(|(_, size)| seconds >= *size).unwrap_or(UNITS.len() - 1);
    let (name, size) = UNITS[first];
    let whole = (seconds / size).floor();
    match UNITS.get(first + 1) {
        Some((next, next_size)) => {
            let rest = ((seconds - whole * size) / next_size).floor();
            format!("{} {name} {rest} {next}", grouped(whole as u64))
        }
        None => format!("{whole} {name}"),
    }
}

/// A count of things: `1 thread`, `2 threads`.
pub(crate) fn things(count: u64, thing: &str) -> String {
    let ending = match (count, thing.ends_with('y')) {
        (1, _) => return format!("1 {thing}"),
        (_, true) => "ies",
        (_, false) => "s",
    };
    format!("{} {}{ending}", grouped(count), thing.trim_end_matches('y'))
}

/// A count with a unit of a thousand: `12.3 M`.
pub(crate) fn count(number: f64) -> String {
    for (size, unit) in [(1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")] {
        if number >= size {
            let size = if unit == "k" { 1e3 } else { size };
            return format!("{:.1} {unit}", number / size);
        }
    }
    grouped(number as u64)
}

/// Bytes in thousands, rounded up: `100 kB`.
pub(crate) fn kilobytes(bytes: usize) -> String {
    format!("{} kB", grouped((bytes as u64).div_ceil(1000)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_two_units() {
        assert_eq!(duration(0.84), "0.8 s");
        assert_eq!(duration(59.0), "59 s");
        assert_eq!(duration(125.0), "2 min 5 s");
        assert_eq!(duration(90_000.0), "1 d 1 h");
    }

    #[test]
    fn one_thing_is_not_many() {
        assert_eq!(things(1, "thread"), "1 thread");
        assert_eq!(things(2_000, "thread"), "2,000 threads");
        assert_eq!(things(4, "sparsity"), "4 sparsities");
    }

    #[test]
    fn large_counts_are_rounded() {
        assert_eq!(count(9_999.0), "9,999");
        assert_eq!(count(12_345.0), "12.3 k");
        assert_eq!(count(2.5e9), "2.5 G");
    }
}
