//! Step 5, pins: texts that something reads that is not Linkerd's.
//!
//! In: versions of other charts, images that are not Linkerd's. Out: whether some bytes are read by one of them: what both read
//! cannot move.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
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
    /// A mirror of Linkerd's sources, or a chart of Linkerd's own repository, so that the text names a release all the same.
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
    by: By,
    readers: Readers,
}

/// Who reads a text: where it was written, and where something names it.
#[derive(Default)]
struct Readers {
    /// Whether it is read where it was written. No more is kept of that, since every image of a repository is such a text.
    here: bool,
    there: BTreeSet<Reading>,
}

/// Lists the places by which a text is read.
pub(super) fn readings(at: &Origin) -> impl DoubleEndedIterator<Item = &Reading> {
    at.read.as_deref().unwrap_or_default().iter()
}

/// Returns the place at which a text is read: the last that names it, or the one where it was written.
pub(super) fn read_at(text: &Scalar) -> Option<At> {
    let at = text.origins().next()?;
    let last = readings(at).next_back().map(|Reading { source, at }| (source.path.clone(), *at));
    Some(last.unwrap_or_else(|| (at.source.path.clone(), at.span.start)))
}

/// All such texts, by file and first byte.
#[derive(Default)]
pub(super) struct Foreigns {
    places: BTreeMap<At, Foreign>,
    /// Texts that are put to images of Linkerd's, whatever these are called then.
    tags: BTreeMap<At, Readers>,
}

// === impl Foreign ===

impl Foreign {
    /// Takes over what another one knows. A container says less than all else.
    fn join(&mut self, other: Self) {
        match (self.by, other.by) {
            (By::Container, By::Container) => {
                self.end = self.end.max(other.end);
                self.readers.append(other.readers);
            }
            (_, By::Container) => {}
            _ => *self = other,
        }
    }

    /// Says where the text is read that was written at a place, and put to some images of Linkerd's.
    fn named(&self, place: &At, tags: Option<&Readers>) -> Option<Named> {
        // What a container runs by the name that an image of Linkerd's is given is that image.
        let ours = tags.filter(|_| self.by == By::Container);
        self.readers.beside(ours, place)
    }
}

// === impl Readers ===

impl Readers {
    /// The one that has a text from a place.
    fn of(at: &Origin) -> Self {
        let there = BTreeSet::from_iter(readings(at).next_back().cloned());
        Self { here: there.is_empty(), there }
    }

    fn append(&mut self, other: Self) {
        self.here |= other.here;
        self.there.extend(other.there);
    }

    /// Finds the first that is not one of others.
    fn beside(&self, others: Option<&Self>, place: &At) -> Option<Named> {
        let is_here = self.here && others.is_none_or(|others| !others.here);
        let is_other = |reading: &&Reading| others.is_none_or(|others| !others.there.contains(*reading));
        match is_here {
            true => Some(Named::Here(place.clone())),
            false => self.there.iter().find(is_other).cloned().map(Named::There),
        }
    }
}

// === impl Foreigns ===

impl Foreigns {
    /// Notes what reads a text.
    pub fn take(&mut self, text: &Scalar, by: By) {
        for at in text.origins() {
            let place = (at.source.path.clone(), at.span.start);
            self.insert(place, Foreign { end: at.span.end, by, readers: Readers::of(at) });
        }
    }

    /// Notes that a text is put to an image of Linkerd's.
    pub fn take_tag(&mut self, tag: &Scalar) {
        for at in tag.origins() {
            let place = (at.source.path.clone(), at.span.start);
            self.tags.entry(place).or_default().append(Readers::of(at));
        }
    }

    /// Adds what another has gathered.
    pub fn append(&mut self, other: Self) {
        other.places.into_iter().for_each(|(place, foreign)| self.insert(place, foreign));
        for (place, readers) in other.tags {
            self.tags.entry(place).or_default().append(readers);
        }
    }

    fn insert(&mut self, place: At, foreign: Foreign) {
        match self.places.entry(place) {
            Entry::Vacant(entry) => {
                entry.insert(foreign);
            }
            Entry::Occupied(mut entry) => entry.get_mut().join(foreign),
        }
    }

    /// Says where some of these bytes are read.
    pub fn at(&self, path: &RepoPath, span: &Range<usize>) -> Option<Named> {
        let before = self.places.range(..(path.clone(), span.end)).rev();
        let near = before.take_while(|((other, _), _)| other == path).take(NEAR);
        let mut reaching = near.filter(|(_, foreign)| foreign.end > span.start);
        reaching.find_map(|(place, foreign)| foreign.named(place, self.tags.get(place)))
    }

    /// Returns the bytes that name no release of Linkerd's.
    pub fn silent(self) -> Vec<(RepoPath, Range<usize>)> {
        let silent = self.places.into_iter().filter(|(_, foreign)| foreign.by != By::Mirror);
        silent.map(|((path, start), foreign)| (path, start..foreign.end)).collect()
    }
}
