//! Step 5, pins: dependencies of charts of the tree that nobody who deploys these has switched on.
//!
//! In: what the charts depend on as they are deployed. Out: the pins of which nothing is rendered, with that said.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    deploy::{Scalar, umbrella},
    pins::{Pin, PinKind, under::spans},
    repo::RepoPath,
};

/// The first byte, and the one behind the last, of texts in files.
type Places = BTreeMap<RepoPath, BTreeSet<(usize, usize)>>;

/// Where the versions of dependencies stand.
#[derive(Default)]
pub(super) struct Dependencies {
    /// Of those that somebody has rendered.
    on: Places,
    /// Of those that somebody has switched off.
    off: Places,
}

// === impl Dependencies ===

impl Dependencies {
    /// Takes those of a chart, as one release has it.
    pub fn take(&mut self, all: &umbrella::Dependencies) {
        all.on_at.iter().for_each(|version| note(&mut self.on, version));
        all.off_at.iter().for_each(|version| note(&mut self.off, version));
    }

    /// Adds what another has gathered.
    pub fn append(&mut self, other: Self) {
        for (own, more) in [(&mut self.on, other.on), (&mut self.off, other.off)] {
            more.into_iter().for_each(|(path, places)| own.entry(path).or_default().extend(places));
        }
    }

    /// Says of pins that nothing is rendered of them.
    pub fn leave_off(&self, pins: &mut [Pin]) {
        let is_of_chart = |pin: &Pin| matches!(pin.kind, PinKind::ChartDependency | PinKind::ChartLock);
        let is_off = |pin: &Pin| is_of_chart(pin) && is_at(&self.off, pin) && !is_at(&self.on, pin);
        pins.iter_mut().filter(|pin| is_off(pin)).for_each(|pin| pin.is_off = true);
    }
}

fn note(places: &mut Places, version: &Scalar) {
    for (path, span) in spans(version) {
        places.entry(path).or_default().insert((span.start, span.end));
    }
}

fn is_at(places: &Places, pin: &Pin) -> bool {
    let at = pin.site.span.start;
    places.get(&pin.path).is_some_and(|all| all.iter().any(|(start, end)| (*start..*end).contains(&at)))
}
