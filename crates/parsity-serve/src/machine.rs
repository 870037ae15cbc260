//! How busy this machine is, as far as the system tells.

use serde::Serialize;
use std::fs;

/// How busy this machine is; what the system does not tell is absent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Machine {
    /// Cores that a program may use.
    pub(crate) cores: usize,
    /// Programs that wanted a core at the same time, on average over the last minute.
    pub(crate) load: Option<f64>,
    /// The share of memory in use.
    pub(crate) memory: Option<f64>,
}

impl Machine {
    /// As it is now.
    pub(crate) fn now() -> Self {
        let text = |path| fs::read_to_string(path).unwrap_or_default();
        Machine {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            load: load(&text("/proc/loadavg")),
            memory: memory(&text("/proc/meminfo")),
        }
    }
}

fn load(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok()
}

fn memory(text: &str) -> Option<f64> {
    let value = |key: &str| -> Option<f64> {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        line.split_whitespace().next()?.parse().ok()
    };
    Some(1.0 - value("MemAvailable:")? / value("MemTotal:")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_tells_is_read_and_anything_else_is_absent() {
        assert_eq!(load("1.25 0.80 0.50 2/300 4711\n"), Some(1.25));
        let told = "MemTotal:       1000 kB\nMemFree:  100 kB\nMemAvailable:   250 kB\n";
        assert_eq!(memory(told), Some(0.75));
        assert_eq!((load(""), load("busy"), memory("MemTotal: 5 kB")), (None, None, None));
    }
}
