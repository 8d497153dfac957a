//! When nothing is proposed, whatever the release: paused, frozen, outside the schedule.
//!
//! In: the policy and the time. Out: the reason and its end, or none. Pure.

use croner::{
    Cron,
    parser::{CronParser, Seconds, Year},
};
use jiff::{Timestamp, tz::TimeZone};

use super::{HoldReason, Policy, Schedule};

/// A schedule that never opens or cannot be read: the fault of who wrote the configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSchedule {
    /// Not a cron expression of five fields.
    #[error("`{expression}` is not a cron expression of five fields: {reason}")]
    Expression {
        /// As configured.
        expression: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Not an IANA time zone.
    #[error("`{0}` is not a time zone; one looks like `Europe/Berlin` or `UTC`")]
    Timezone(String),
    /// An expression that matches no minute, such as the thirtieth of February.
    #[error("`{0}` matches no minute, so nothing would ever be proposed")]
    Never(String),
}

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
        Ok(opens) if opens == now => None,
        Ok(opens) => Some((HoldReason::Schedule, Some(opens))),
        Err(_) => Some((HoldReason::Schedule, None)),
    }
}

// === impl Schedule ===

impl Schedule {
    /// Checks that the expression and the time zone can be read and that the window opens at some time.
    ///
    /// ```
    /// use uplinker::policy::Schedule;
    /// let schedule = |expression: &str, timezone: &str| Schedule {
    ///     expression: expression.to_owned(),
    ///     timezone: timezone.to_owned(),
    /// };
    /// assert!(schedule("* 9-16 * * 1-5", "Europe/Berlin").check().is_ok());
    /// assert!(schedule("* 9-16 * * 1-5", "Europe/Atlantis").check().is_err());
    /// assert!(schedule("* * 30 2 *", "UTC").check().is_err());
    /// ```
    pub fn check(&self) -> Result<(), BadSchedule> {
        self.opens(Timestamp::UNIX_EPOCH).map(drop)
    }

    /// Returns `now` when the window is open, else the instant at which it opens next. Each minute that the
    /// expression matches is inside.
    pub fn opens(&self, now: Timestamp) -> Result<Timestamp, BadSchedule> {
        let cron = self.cron()?;
        let zone = TimeZone::get(&self.timezone).map_err(|_| BadSchedule::Timezone(self.timezone.clone()))?;
        let never = |_| BadSchedule::Never(self.expression.clone());
        let second = now.as_second();
        let minute = Timestamp::from_second(second - second.rem_euclid(60)).unwrap_or(now).to_zoned(zone);
        if cron.is_time_matching(&minute).map_err(never)? {
            return Ok(now);
        }
        let next = cron.find_next_occurrence(&minute, false).map_err(never)?;
        Ok(next.timestamp())
    }

    fn cron(&self) -> Result<Cron, BadSchedule> {
        let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
        parser.parse(&self.expression).map_err(|error| BadSchedule::Expression {
            expression: self.expression.clone(),
            reason: error.to_string(),
        })
    }
}
