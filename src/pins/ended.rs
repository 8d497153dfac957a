//! Step 5, pins: values that charts no longer read since some release, and tags of an image that is no more.
//!
//! In: pins, when all is known of what keeps them. Out: each such value stays, and what becomes of it where its chart goes to an
//! older release is kept beside it: which release that is, only a plan knows.

use super::{Form, Pin, Reason};
use crate::linkerd::EdgeVersion;

/// Since when a chart no longer reads a value, or has an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ended {
    /// The first release whose chart does not.
    pub since: EdgeVersion,
    /// Why the value stays while it is read; `None` where it moves then.
    pub before: Option<Reason>,
}

/// Lets those values stay that are read by no chart of today; a hold on their own line is told as such, and so is what keeps
/// them with a chart that stays and reads them.
pub(super) fn settle(pins: &mut [Pin]) {
    let read: Vec<bool> = pins.iter().map(|pin| is_read(pin, pins)).collect();
    for (pin, is_read) in pins.iter_mut().zip(read) {
        let Some(ended) = &mut pin.ended else { continue };
        ended.before = pin.stays;
        let is_held = pin.stays == Some(Reason::Held) && pin.kept_by.is_none();
        if !is_held && !is_read {
            (pin.stays, pin.kept_by) = (Some(Reason::NoEffect), None);
        }
    }
}

/// Tells whether a value stays with a chart that stays too, at a release that reads it. Of another channel nothing else is known.
fn is_read(value: &Pin, pins: &[Pin]) -> bool {
    let Some(Ended { since, .. }) = value.ended.filter(|_| value.stays.is_some()) else { return false };
    let stays = |pin: &Pin| pin.stays.is_some() && pin.version.is_none_or(|at| at < since);
    let is_version =
        |pin: &&Pin| pin.form != Form::Edge && pin.chart == value.chart && !std::ptr::eq(*pin, value);
    !value.given_to.is_empty() && pins.iter().filter(is_version).any(|pin| value.goes_with(pin) && stays(pin))
}

// === impl Ended ===

impl Ended {
    /// A value that nothing but its chart keeps so far.
    pub(super) fn since(since: EdgeVersion) -> Self {
        Self { since, before: None }
    }
}

// === impl Pin ===

impl Pin {
    /// Returns why it stays where its target goes to a release, as far as the scan knows.
    pub fn stays_at(&self, to: EdgeVersion) -> Option<Reason> {
        let is_read = |ended: &Ended| self.stays == Some(Reason::NoEffect) && to < ended.since;
        self.ended.filter(is_read).map_or(self.stays, |ended| ended.before)
    }

    /// Tells whether it moves with some release, as far as the scan knows.
    pub fn may_move(&self) -> bool {
        let is_read = |ended: Ended| self.stays == Some(Reason::NoEffect) && ended.before.is_none();
        self.stays.is_none() || self.ended.is_some_and(is_read)
    }
}
