//! The time, for adapters whose tests need it to stand still.
//!
//! Out: a [`Timestamp`]. No step that decides reads a clock: it is handed the time that its run began with.

use jiff::Timestamp;

/// Where the time comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// The system's clock.
    #[default]
    System,
    /// An instant that stands still.
    Fixed(Timestamp),
}

// === impl Clock ===

impl Clock {
    /// Returns the instant that this clock shows.
    pub fn now(self) -> Timestamp {
        match self {
            Self::System => Timestamp::now(),
            Self::Fixed(instant) => instant,
        }
    }
}

/// Returns how long this thread has been on a processor: unlike the time of day, it is the same whatever else the machine
/// does.
#[cfg(test)]
pub fn on_processor() -> std::time::Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells");
    let nanoseconds = told.split(' ').next().and_then(|first| first.parse().ok());
    std::time::Duration::from_nanos(nanoseconds.expect("a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_clock_stands_still_and_the_system_clock_does_not_go_back() {
        let fixed = Clock::Fixed(Timestamp::UNIX_EPOCH);
        assert_eq!(fixed.now(), fixed.now());
        let before = Clock::System.now();
        assert!(before > Timestamp::UNIX_EPOCH && Clock::System.now() >= before);
    }
}
