//! Step 5, pins: texts that something reads that is not Linkerd's.
//!
//! In: versions of other charts, images that are not Linkerd's. Out: whether some bytes are read by one of them: what both read
//! cannot move.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use crate::{
    deploy::{Origin, Scalar, value::Reading},
    repo::RepoPath,
};

/// A byte of a file.
pub(super) type At = (RepoPath, usize);

/// Places before one that are looked at for one that reaches into it.
const NEAR: usize = 4;

/// What is not Linkerd's and reads a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// A chart, or a setting of an image.
    Other,
    /// A mirror of Linkerd's sources, so that the text names a release all the same.
    Mirror,
    /// A container, by the image that it runs: this says less than all else.
    Container,
}

/// Where a text is read.
#[derive(Clone, Debug)]
pub(super) enum Named {
    /// Where it was written. Nothing more is kept, since every image of a repository is such a text.
    Here(At),
    /// Where something names it.
    There(Reading),
}

/// What reads a text.
struct Foreign {
    end: usize,
    named: Named,
    by: By,
}

/// Lists the places by which a text is read.
pub(super) fn readings(at: &Origin) -> impl DoubleEndedIterator<Item = &Reading> {
    at.read.as_deref().unwrap_or_default().iter()
}

/// All such texts, by file and first byte.
#[derive(Default)]
pub(super) struct Foreigns {
    places: BTreeMap<At, Foreign>,
    /// Texts that are put to images of Linkerd's, whatever these are called then.
    tags: BTreeSet<At>,
}

// === impl Foreigns ===

impl Foreigns {
    /// Notes what reads a text.
    pub fn take(&mut self, text: &Scalar, by: By) {
        for at in text.origins() {
            let place = (at.source.path.clone(), at.span.start);
            let named = readings(at).last().cloned();
            let named = named.map_or_else(|| Named::Here(place.clone()), Named::There);
            self.insert(place, Foreign { end: at.span.end, named, by });
        }
    }

    /// Notes that a text is put to an image of Linkerd's.
    pub fn take_tag(&mut self, tag: &Scalar) {
        self.tags.extend(tag.origins().map(|at| (at.source.path.clone(), at.span.start)));
    }

    /// Adds what another has gathered.
    pub fn append(&mut self, other: Self) {
        other.places.into_iter().for_each(|(place, foreign)| self.insert(place, foreign));
        self.tags.extend(other.tags);
    }

    fn insert(&mut self, place: At, foreign: Foreign) {
        let known = self.places.get(&place).is_some_and(|known| known.by != By::Container);
        if !known || foreign.by != By::Container {
            self.places.insert(place, foreign);
        }
    }

    /// Says where some of these bytes are read.
    pub fn at(&self, path: &RepoPath, span: &Range<usize>) -> Option<Named> {
        let before = self.places.range(..(path.clone(), span.end)).rev();
        let near = before.take_while(|((other, _), _)| other == path).take(NEAR);
        // What a container runs by the name that an image of Linkerd's is given is that image.
        let is_ours = |place: &At, by: By| by == By::Container && self.tags.contains(place);
        let mut near =
            near.filter(|(place, foreign)| foreign.end > span.start && !is_ours(place, foreign.by));
        near.next().map(|(_, foreign)| foreign.named.clone())
    }

    /// Returns the bytes that name no release of Linkerd's.
    pub fn silent(self) -> Vec<(RepoPath, Range<usize>)> {
        let silent = self.places.into_iter().filter(|(_, foreign)| foreign.by != By::Mirror);
        silent.map(|((path, start), foreign)| (path, start..foreign.end)).collect()
    }
}
