//! The places of a repository, found by where scalars were written.

use std::collections::{BTreeMap, BTreeSet};

use super::{Knows, Mark};
use crate::deploy::value::{Origin, Scalar, Value, Via};

/// Places by file.
pub(super) struct Places<'m> {
    files: BTreeMap<&'m str, usize>,
    /// Of each file the places, ordered by their first byte, and how many bytes the longest has.
    pub of: Vec<(Vec<usize>, usize)>,
    pub marks: &'m [Mark],
    pub knows: Knows<'m>,
}

// === impl Places ===

impl<'m> Places<'m> {
    /// Takes in all.
    pub fn new(marks: &'m [Mark], knows: Knows<'m>) -> Self {
        let (mut files, mut of) = (BTreeMap::new(), Vec::<(Vec<usize>, usize)>::new());
        for (n, mark) in marks.iter().enumerate() {
            let file = *files.entry(mark.path.as_str()).or_insert(of.len());
            if file == of.len() {
                of.push((Vec::new(), 0));
            }
            if let Some((all, longest)) = of.get_mut(file) {
                all.push(n);
                *longest = mark.span.len().max(*longest);
            }
        }
        let start = |n: &usize| marks.get(*n).map(|mark| mark.span.start);
        of.iter_mut().for_each(|(all, _)| all.sort_by_key(start));
        Self { files, of, marks, knows }
    }

    /// Returns the position of a file with places.
    pub fn file(&self, path: &str) -> Option<usize> {
        self.files.get(path).copied()
    }

    /// Takes the places that a scalar was written at, or the code or the range that stands for it.
    pub fn read(&self, scalar: &Scalar, found: &mut BTreeSet<usize>) {
        let stands_for_it = |at: &&Origin| matches!(at.via, Some(Via::Code | Via::FromRange));
        for origin in scalar.origins().chain(scalar.handed().filter(stands_for_it)) {
            let of_file = self.file(origin.source.path.as_str()).and_then(|file| self.of.get(file));
            let Some((all, longest)) = of_file else { continue };
            let span = |n: &usize| self.marks.get(*n).map_or(0..0, |mark| mark.span.clone());
            let before = all.partition_point(|n| span(n).start < origin.span.end);
            let near = all.iter().take(before).rev();
            let near = near.take_while(|n| span(n).start + longest > origin.span.start);
            found.extend(near.filter(|n| origin.span.start < span(n).end));
        }
    }

    /// Returns the places that the scalars of a value were written at.
    pub fn all(&self, value: &Value) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        value.scalars().into_iter().for_each(|scalar| self.read(scalar, &mut found));
        found
    }

    /// Takes the files below a folder: what a chart of the tree consists of.
    pub fn below(&self, folder: &str, found: &mut BTreeSet<usize>) {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let behind = self.files.range(prefix.as_str()..).take_while(|(path, _)| path.starts_with(&prefix));
        found.extend(behind.map(|(_, file)| file));
    }
}
