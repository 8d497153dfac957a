//! Step 8, verify: the time, which remembers what it was asked.
//!
//! In: the time. Out: answers, and the [`Stretch`] of time over which all of them stay what they are. A check that asks
//! nothing else of the time says the same all along that stretch. Pure.

use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Seconds of a day.
const DAY: i64 = 24 * 60 * 60;

/// The time of a run.
#[derive(Debug)]
pub struct Clock {
    now: Timestamp,
    stretch: Mutex<Stretch>,
}

/// A stretch of time, open at an end that is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch {
    /// Its first instant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// The first instant that is not of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

// === impl Clock ===

impl Clock {
    /// Stands still at an instant.
    pub fn new(now: Timestamp) -> Self {
        Self { now, stretch: Mutex::default() }
    }

    /// Tells whether an instant has come.
    pub fn has_reached(&self, at: Timestamp) -> bool {
        let reached = at <= self.now;
        let mut stretch = self.stretch.lock().unwrap_or_else(PoisonError::into_inner);
        match reached {
            true => stretch.since = stretch.since.max(Some(at)),
            false => stretch.until = Some(stretch.until.map_or(at, |until| until.min(at))),
        }
        reached
    }

    /// Tells whether so many seconds have passed since an instant, or are left until it where the number is negative.
    pub fn has_passed(&self, at: Timestamp, seconds: i64) -> bool {
        self.has_reached(shifted(at, seconds))
    }

    /// Returns the whole days that are left until an instant.
    pub fn days_until(&self, at: Timestamp) -> i64 {
        let days = (at.as_second() - self.now.as_second()).div_euclid(DAY);
        // The count is one less a second after it is exact.
        self.has_passed(at, 1 - days * DAY);
        self.has_passed(at, 1 - (days + 1) * DAY);
        days
    }

    /// Returns the stretch around the time over which all answers that were given stay true.
    pub fn stretch(&self) -> Stretch {
        *self.stretch.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn shifted(at: Timestamp, seconds: i64) -> Timestamp {
    let end = if seconds < 0 { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_second(at.as_second().saturating_add(seconds)).unwrap_or(end)
}

// === impl Stretch ===

impl Stretch {
    /// Tells whether an instant is of it.
    pub fn holds(&self, at: Timestamp) -> bool {
        self.since.is_none_or(|since| since <= at) && self.until.is_none_or(|until| at < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn what_was_never_asked_stays_for_ever() {
        let stretch = Clock::new(second(7)).stretch();
        assert!(
            stretch == Stretch::default() && stretch.holds(Timestamp::MIN) && stretch.holds(Timestamp::MAX)
        );
    }

    #[test]
    fn ends_that_no_calendar_has_are_no_mistake() {
        let clock = Clock::new(second(7));
        assert!(!clock.has_passed(Timestamp::MAX, i64::MAX) && clock.has_passed(Timestamp::MIN, i64::MIN));
        let _ = clock.days_until(Timestamp::MAX);
    }

    proptest::proptest! {
        #[test]
        fn answers_stay_over_the_stretch_and_change_at_its_ends(
            now in 0..40 * DAY, asked in 0..40 * DAY, shift in -DAY..DAY, days in 0..40 * DAY, elsewhere in 0..40 * DAY,
        ) {
            let answers = |now: i64| {
                let clock = Clock::new(second(now));
                let answers =
                    (clock.has_reached(second(asked)), clock.has_passed(second(asked), shift), clock.days_until(second(days)));
                (answers, clock.stretch())
            };
            let (here, stretch) = answers(now);
            proptest::prop_assert!(stretch.holds(second(now)));
            if stretch.holds(second(elsewhere)) {
                proptest::prop_assert_eq!(answers(elsewhere), (here, stretch));
            } else {
                proptest::prop_assert_ne!(answers(elsewhere).0, here);
            }
            let until = stretch.until.expect("days never end").as_second();
            proptest::prop_assert_eq!(answers(until - 1).0, here);
            proptest::prop_assert_ne!(answers(until).0, here);
        }
    }
}
