//! When nothing is proposed, whatever the release: paused, frozen, outside the schedule.
//!
//! In: the policy and the time. Out: the reason and its end, or none. Pure.

use croner::parser::{CronParser, Seconds, Year};
use jiff::{Timestamp, tz::TimeZone};

use super::{HoldReason, Policy, Schedule};

/// Says why nothing is proposed now for a reason that a person set: a pause or a freeze.
pub(super) fn by_hand(policy: &Policy, now: Timestamp) -> Option<(HoldReason, Option<Timestamp>)> {
    if let Some(reason) = &policy.paused {
        return Some((HoldReason::Paused { reason: reason.clone() }, None));
    }
    let current = policy.freeze.iter().find(|f| f.from <= now && now < f.to)?;
    // Freezes that touch or overlap end together.
    let mut until = current.to;
    while let Some(next) = policy.freeze.iter().find(|f| f.from <= until && until < f.to) {
        until = next.to;
    }
    Some((HoldReason::Frozen { reason: current.reason.clone() }, Some(until)))
}

/// Says whether the schedule is closed now, and when it opens.
pub(super) fn by_schedule(policy: &Policy, now: Timestamp) -> Option<(HoldReason, Option<Timestamp>)> {
    let schedule = policy.schedule.as_ref()?;
    // The configuration has been checked; a schedule that cannot be read is closed rather than open.
    match schedule.opens(now) {
        Some(opens) if opens == now => None,
        opens => Some((HoldReason::Schedule, opens)),
    }
}

// === impl Schedule ===

impl Schedule {
    /// Returns `now` when the window is open, else the instant at which it opens next: each minute that the
    /// expression matches is inside. `None` for a window that cannot be read or that never opens.
    ///
    /// ```
    /// use uplinker::policy::Schedule;
    /// let office = Schedule { expression: "* 9-16 * * 1-5".into(), timezone: "Europe/Berlin".into() };
    /// let saturday = "2026-08-22T12:00:00Z".parse().unwrap();
    /// assert_eq!(office.opens(saturday), "2026-08-24T07:00:00Z".parse().ok());
    /// ```
    pub fn opens(&self, now: Timestamp) -> Option<Timestamp> {
        let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
        let cron = parser.parse(&self.expression).ok()?;
        let zone = TimeZone::get(&self.timezone).ok()?;
        let second = now.as_second();
        let minute = Timestamp::from_second(second - second.rem_euclid(60)).unwrap_or(now).to_zoned(zone);
        if cron.is_time_matching(&minute).ok()? {
            return Some(now);
        }
        cron.find_next_occurrence(&minute, false).ok().map(|next| next.timestamp())
    }
}
