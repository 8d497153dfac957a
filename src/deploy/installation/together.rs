//! Places that move together, whichever cluster each is of.
//!
//! In: texts that have to agree with versions. Out: the places of both, with those that are held against either.

use std::collections::{BTreeMap, BTreeSet};

use super::places::Places;
use crate::deploy::json_patch::Guard;

/// Places of which those in one set have to agree.
#[derive(Default)]
pub(super) struct Together(BTreeSet<BTreeSet<usize>>);

// === impl Together ===

impl Together {
    /// Takes the places of texts and of the versions that they have to agree with, and do.
    pub fn take(&mut self, guards: &[Guard], places: &Places<'_>) {
        for Guard { guard, value } in guards.iter().filter(|guard| (places.knows.agrees)(guard)) {
            let mut both = BTreeSet::new();
            [guard, value].into_iter().for_each(|scalar| places.read(scalar, &mut both));
            self.0.extend((both.len() > 1).then_some(both));
        }
    }

    /// Takes in those of another.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Puts places together that move together, with one another or with a third.
    pub fn joined(&self) -> Vec<BTreeSet<usize>> {
        let mut of: BTreeMap<usize, Vec<&BTreeSet<usize>>> = BTreeMap::new();
        for both in &self.0 {
            both.iter().for_each(|mark| of.entry(*mark).or_default().push(both));
        }
        let mut found = Vec::new();
        while let Some((first, mut todo)) = of.pop_first() {
            let mut all = BTreeSet::from([first]);
            while let Some(both) = todo.pop() {
                all.extend(both);
                todo.extend(both.iter().filter_map(|mark| of.remove(mark)).flatten());
            }
            found.push(all);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        deploy::{
            files::Files as _,
            installation::{Knows, Mark, Role},
            testing::files,
            value::Scalar,
        },
        repo::RepoPath,
    };

    #[test]
    fn texts_that_do_not_agree_are_not_together() {
        let path = RepoPath::new("a.yaml").unwrap();
        let tree = files(&[("a.yaml", "a: 2026.8.2\nb: 2026.8.2\nc: 2026.8.1\n")]);
        let value = &tree.documents("a.yaml").unwrap()[0];
        let mark = |at: usize| Mark {
            path: path.clone(),
            span: at..at + 8,
            unit: String::new(),
            role: Role::ControlPlane,
        };
        let marks = [3, 15, 27].map(mark);
        let agrees = |guard: &Guard| guard.guard.text() == guard.value.text();
        let places = Places::new(&marks, Knows { is_plane: &|_| true, agrees: &agrees });
        let of = |key: &str| -> Scalar { value.scalar(&[key]).unwrap().clone() };
        let mut together = Together::default();
        let guards = [("a", "b"), ("a", "c")].map(|(a, b)| Guard { guard: of(a), value: of(b) });
        together.take(&guards, &places);
        assert_eq!(together.joined(), [BTreeSet::from([0, 1])]);
    }

    #[test]
    fn places_are_together_by_a_third_one() {
        let pairs = [[0, 5], [5, 9], [1, 2], [7, 9]];
        let joined = Together(pairs.into_iter().map(BTreeSet::from).collect()).joined();
        assert_eq!(joined, [BTreeSet::from([0, 5, 7, 9]), BTreeSet::from([1, 2])]);
    }
}
