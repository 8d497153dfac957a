//! Step 5, pins: values that charts no longer read since some release, and tags of an image that is no more.
//!
//! In: pins, when all is known of what keeps them. Out: each such value stays, and what becomes of it where its chart goes to an
//! older release is kept beside it: which release that is, only a plan knows.

use std::collections::HashMap;

use super::{Form, Pin, Reason};
use crate::{linkerd::EdgeVersion, repo::RepoPath};

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
    let read: Vec<bool> = {
        let staying = Staying::of(pins);
        pins.iter().map(|pin| staying.reads(pin)).collect()
    };
    for (pin, is_read) in pins.iter_mut().zip(read) {
        let Some(ended) = &mut pin.ended else { continue };
        ended.before = pin.stays;
        let is_held = pin.stays == Some(Reason::Held) && pin.kept_by.is_none();
        if !is_held && !is_read {
            (pin.stays, pin.kept_by) = (Some(Reason::NoEffect), None);
        }
    }
}

/// Charts of one line, each with its release; of another channel that is not known.
type Charts<'p> = HashMap<Option<&'p str>, Option<EdgeVersion>>;

/// The versions of charts that stay, by their lines.
struct Staying<'p>(HashMap<(&'p RepoPath, usize), Charts<'p>>);

// === impl Staying ===

impl<'p> Staying<'p> {
    fn of(pins: &'p [Pin]) -> Self {
        let mut all: HashMap<_, Charts<'p>> = HashMap::new();
        let is_version = |pin: &&Pin| pin.form != Form::Edge && pin.ended.is_none() && pin.stays.is_some();
        for pin in pins.iter().filter(is_version) {
            let of_line = all.entry((&pin.path, pin.site.line)).or_default();
            let oldest = of_line.entry(pin.chart.as_deref()).or_insert(pin.version);
            *oldest = pin.version.min(*oldest);
        }
        Self(all)
    }

    /// Tells whether a value stays with a chart that stays too, at a release that reads it. One of another channel may.
    fn reads(&self, value: &Pin) -> bool {
        let Some(Ended { since, .. }) = value.ended.filter(|_| value.stays.is_some()) else { return false };
        let of_line = value.given_to.iter().filter_map(|(path, line)| self.0.get(&(path, *line)));
        let mut versions = of_line.filter_map(|charts| charts.get(&value.chart.as_deref()));
        versions.any(|version| version.is_none_or(|at| at < since))
    }
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
