//! Step 5, pins: what reads the text of a pin, where that is more than one thing.
//!
//! A variable, an anchor or an element of a generator may be the version of several charts, and of proxies too: it moves
//! for all of them or for none. In: pins of one place. Out: one pin that knows them all.

use super::{Form, Pin, PinKind, Reason, Stage};
use crate::repo::RepoPath;

/// A line of a file, from 1.
pub type Line = (RepoPath, usize);

/// What reads a pin's text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reader {
    /// The chart whose version it is, or whose value.
    pub chart: Option<String>,
    /// The mirror that the chart comes from.
    pub mirror: Option<String>,
    /// How it is read.
    pub form: Form,
    /// The stage of what reads it.
    pub stage: Stage,
    /// Where it is named; none where it is read where it stands.
    pub places: Vec<Line>,
}

// === impl Reader ===

impl Reader {
    fn is_like(&self, other: &Self) -> bool {
        let key = |reader: &Self| (reader.form, reader.stage);
        key(self) == key(other) && self.chart == other.chart && self.mirror == other.mirror
    }

    fn add(&mut self, places: Vec<Line>) {
        self.places.extend(places);
        self.places.sort();
        self.places.dedup();
    }
}

// === impl Pin ===

impl Pin {
    /// Returns what reads it, that which it is named after first.
    pub fn readers(&self) -> impl Iterator<Item = Reader> + '_ {
        std::iter::once(self.reader()).chain(self.also.iter().cloned())
    }

    /// Returns the charts that read it.
    pub fn charts(&self) -> impl Iterator<Item = &str> {
        self.chart.as_deref().into_iter().chain(self.also.iter().filter_map(|reader| reader.chart.as_deref()))
    }

    /// Tells whether a chart reads it.
    pub fn is_of(&self, chart: &str) -> bool {
        self.charts().any(|own| own == chart)
    }

    /// Tells whether something reads it that is of no chart.
    pub fn is_of_none(&self) -> bool {
        self.chart.is_none() || self.also.iter().any(|reader| reader.chart.is_none())
    }

    /// Returns the lines of proxies that a pin of the platform is read at, where it is: its own line for one that stands
    /// there.
    pub fn of_proxies(&self) -> Option<Vec<Line>> {
        let proxies = self.also.iter().find(|reader| reader.stage == Stage::DataPlane);
        let proxies = proxies.filter(|_| self.stage == Stage::Platform)?;
        let own = || vec![(self.path.clone(), self.site.line)];
        Some(if proxies.places.is_empty() { own() } else { proxies.places.clone() })
    }

    /// Returns why it stays whatever a comment holds, which makes nothing known that is not.
    pub fn stays_by_itself(&self) -> Option<Reason> {
        match self.stays {
            Some(Reason::Held) => self.unheld,
            stays => stays,
        }
    }

    /// Holds it by a comment, which may stand elsewhere.
    pub(super) fn hold(&mut self, kept_by: Option<Line>) {
        (self.unheld, self.stays, self.kept_by) = (self.stays, Some(Reason::Held), kept_by);
    }

    /// Tells whether it reaches what reads it in a way that is not followed, and names no release itself.
    pub fn is_untold(&self) -> bool {
        self.stays_by_itself() == Some(Reason::NotFollowed)
            && self.form == Form::Opaque
            && self.version.is_none()
    }

    fn reader(&self) -> Reader {
        let (chart, mirror, places) = (self.chart.clone(), self.mirror.clone(), self.read_at.clone());
        Reader { chart, mirror, form: self.read_as.unwrap_or(self.form), stage: self.stage, places }
    }

    /// A mark on a line is a person's word, whatever reads the line.
    fn is_read(&self) -> bool {
        !matches!(self.kind, PinKind::Other | PinKind::Marker)
            && self.ended.is_none()
            && !self.stays.is_some_and(Reason::reads_nothing)
    }

    /// Tells whether another one is a part of its text that names the same release with what is put around it.
    pub(super) fn holds(&self, other: &Self) -> bool {
        let (own, part) = (&self.site.span, &other.site.span);
        let is_inside = self.path == other.path && own.start < part.start && part.end <= own.end;
        is_inside && other.frame.is_some() && self.version.is_some() && self.version == other.version
    }

    /// Takes in what is said of the same place by another one that counts less.
    pub(super) fn join(&mut self, other: &mut Self) {
        if self.site.span != other.site.span && !self.holds(other) {
            return;
        }
        // What one line holds is held for all that read it.
        if other.stays == Some(Reason::Held) && self.stays != Some(Reason::Held) {
            self.hold(other.kept_by.take());
        }
        if !self.is_read() || !other.is_read() {
            return;
        }
        self.is_off &= other.is_off;
        self.chooses_controllers |= other.chooses_controllers;
        let forbids = match (self.stays, other.stays) {
            (None, Some(reason)) if reason.forbids() => Some(&*other),
            (Some(reason), None) if reason.forbids() => Some(&*self),
            _ => None,
        };
        if let Some(forbids) = forbids {
            let own = || Some((forbids.path.clone(), forbids.site.line));
            let kept_by = forbids.kept_by.clone().or_else(|| forbids.read_at.first().cloned()).or_else(own);
            (self.stays, self.kept_by) = (Some(Reason::Shared), kept_by);
        }
        let homes = std::mem::take(&mut other.homes);
        self.homes.extend(homes.into_iter().filter(|home| !self.homes.contains(home)).collect::<Vec<_>>());
        for reader in other.readers() {
            self.read_too(reader);
        }
    }

    fn read_too(&mut self, reader: Reader) {
        if self.reader().is_like(&reader) {
            self.read_at.extend(reader.places);
            self.read_at.sort();
            self.read_at.dedup();
        } else if let Some(known) = self.also.iter_mut().find(|known| known.is_like(&reader)) {
            known.add(reader.places);
        } else {
            self.also.push(reader);
        }
    }
}
