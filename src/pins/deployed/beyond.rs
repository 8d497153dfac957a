//! Step 5, pins: what something deployed consists of and what is not looked at.
//!
//! In: what the model notes. Out: a skip for each file of which a part lies over a bound, and the files that something
//! deployed asks for and that cannot be read, whether they speak of Linkerd or not.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    deploy::{About, Bound, Note},
    pins::{SkipReason, Skipped},
    repo::RepoPath,
};

/// What is not looked at.
#[derive(Default)]
pub(in crate::pins) struct Beyond {
    bounds: BTreeMap<RepoPath, BTreeSet<Bound>>,
    /// Files that are asked for and cannot be read.
    pub unread: BTreeSet<RepoPath>,
}

// === impl Beyond ===

impl Beyond {
    /// Takes what is noted of a build.
    pub fn take(&mut self, notes: &[Note]) {
        self.take_bounds(notes);
        self.unread.extend(notes.iter().filter_map(|note| match &note.about {
            About::Unread { what, .. } => RepoPath::new(what.as_str()),
            _ => None,
        }));
    }

    /// Takes the bounds that were met.
    pub fn take_bounds(&mut self, notes: &[Note]) {
        for note in notes {
            if let About::Bound(bound) = note.about {
                self.bounds.entry(note.path.clone()).or_default().insert(bound);
            }
        }
    }

    /// Adds what another has gathered.
    pub fn append(&mut self, other: Self) {
        for (path, bounds) in other.bounds {
            self.bounds.entry(path).or_default().extend(bounds);
        }
        self.unread.extend(other.unread);
    }

    /// Says of each file which bounds it is over.
    pub fn skipped(&self) -> impl Iterator<Item = Skipped> {
        self.bounds.iter().map(|(path, bounds)| {
            let all: Vec<String> = bounds.iter().map(Bound::to_string).collect();
            let (path, reason) = (path.clone(), SkipReason::TooLarge);
            Skipped { path, reason, detail: Some(all.join("; ")), versions: Vec::new() }
        })
    }
}
