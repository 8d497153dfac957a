//! Merging by itself: what a pull request that needs nobody still waits for.
//!
//! In: what the configuration asks, since when the head is there, the status checks of it. Out: nothing, or what is lacking. Pure.

use jiff::{SignedDuration, Timestamp};

use super::{CheckState, Gates, StatusCheck, describe::time, gates::Shut};

/// What the configuration says of merging.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merge {
    /// How long a head must have been there.
    pub after: SignedDuration,
}

/// Why a pull request is not merged yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeWait {
    /// Its head has not passed our own checks.
    Unverified,
    /// Its head is too young until then; for ever where no such time can be told.
    Young(Option<Timestamp>),
    /// A status check of its head.
    Gate(Shut),
    /// The forge cannot tell what is said of a head.
    NoStatusChecks,
}

// === impl Merge ===

impl Merge {
    /// Tells how long a head that is there since a time is too young.
    pub fn young(&self, since: Timestamp, now: Timestamp) -> Option<MergeWait> {
        match since.checked_add(self.after) {
            Ok(due) if due <= now => None,
            // The forge's clock may be ahead of ours.
            _ if self.after.is_zero() => None,
            due => Some(MergeWait::Young(due.ok())),
        }
    }
}

impl Gates {
    /// Says which status check of its head a pull request waits for.
    pub fn unmerged(&self, since: Timestamp, checks: &[StatusCheck], now: Timestamp) -> Option<MergeWait> {
        self.shut_proposed(since, checks, now).map(MergeWait::Gate)
    }
}

// === impl MergeWait ===

impl std::fmt::Display for MergeWait {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unverified => f.write_str("its head has no success of `uplinker/verify`"),
            Self::NoStatusChecks => f.write_str("this forge has no status checks"),
            Self::Young(Some(until)) => write!(f, "it waits until {}", time(*until)),
            Self::Young(None) => write!(f, "it waits until `merge.after` is shorter"),
            Self::Gate(Shut::Check(StatusCheck { name, state, at })) => {
                let says = if *state == CheckState::Failure { "failed" } else { "pending" };
                write!(f, "it waits until `{name}` succeeds: {says} since {}", time(*at))
            }
            Self::Gate(Shut::Silent { glob, until: Some(until) }) => {
                write!(f, "it waits until `{glob}` says something, expected until {}", time(*until))
            }
            Self::Gate(Shut::Silent { glob, until: None }) => {
                write!(f, "it waits until `{glob}` says something, which is overdue: see `gates.proposed`")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    #[test]
    fn a_head_is_young_until_its_time_is_over() {
        let (since, now) = (at("2026-08-20T12:00:00Z"), at("2026-08-21T12:00:00Z"));
        let young = |hours| Merge { after: SignedDuration::from_hours(hours) }.young(since, now);
        assert_eq!(young(24), None);
        assert_eq!(
            young(25).map(|wait| wait.to_string()).as_deref(),
            Some("it waits until 2026-08-21 13:00 UTC")
        );
        let skewed = Merge { after: SignedDuration::ZERO }.young(at("2026-08-21T12:00:09Z"), now);
        assert_eq!(skewed, None, "without a wait no clock matters");
        assert_eq!(Merge { after: SignedDuration::MAX }.young(since, now), Some(MergeWait::Young(None)));
    }

    #[test]
    fn the_status_checks_of_a_head_are_told_apart() {
        let glob = |text: &str| globset::Glob::new(text).expect("a glob").compile_matcher();
        let gates = Gates { proposed: vec![glob("ci/*")], ..Gates::default() };
        let (since, now) = (at("2026-08-20T12:00:00Z"), at("2026-08-20T13:00:00Z"));
        let said = |state| StatusCheck { name: "ci/e2e".into(), state, at: since };
        let waits =
            |checks: &[StatusCheck], now| gates.unmerged(since, checks, now).map(|wait| wait.to_string());
        assert_eq!(waits(&[said(CheckState::Success)], now), None);
        assert_eq!(
            waits(&[said(CheckState::Failure)], now).as_deref(),
            Some("it waits until `ci/e2e` succeeds: failed since 2026-08-20 12:00 UTC")
        );
        assert!(waits(&[], now).is_some_and(|wait| wait.contains("expected until 2026-08-21 12:00 UTC")));
        assert!(waits(&[], at("2026-08-22T12:00:00Z")).is_some_and(|wait| wait.contains("overdue")));
    }
}
