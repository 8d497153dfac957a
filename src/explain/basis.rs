//! Step 9, explain: what a text was made from, as its marker keeps it.
//!
//! In: the marker of a body. Out: a [`Basis`], by which whoever knows what the text would be made from now tells whether
//! it would become another. Pure.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{linkerd::EdgeVersion, pins::Reason, verify::Stretch};

/// More of it is not kept: what is no more than a saving of work must not crowd out what a reviewer reads.
const MOST: usize = 12;
/// The most searches.
const SEARCHES: usize = 8;
/// The most bytes of all words that were searched for.
const LONGEST: usize = 300;

/// What a text was made from, and what is to be known of it where it is not made again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Basis {
    /// SHA-256 in hexadecimal over all that it was made from, the program among it.
    pub inputs: String,
    /// The time over which the same comes of it.
    #[serde(flatten)]
    pub stretch: Stretch,
    /// What the whole tree was searched for.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub searches: BTreeSet<Search>,
    /// The fingerprint of the plan that was made.
    pub plan: String,
    /// What was found out of pins while it was made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<FoundOut>,
    /// Whether a check blocks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub blocked: bool,
}

/// What was found out of a pin by more than reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundOut {
    /// Its position among all pins.
    pub pin: usize,
    /// Why it stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stays: Option<Reason>,
    /// The release that it names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<EdgeVersion>,
}

/// A search of the whole tree for files that have one of some words in them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Search {
    /// The words.
    pub words: Vec<String>,
    /// The largest file that was read.
    pub ceiling: u64,
}

// === impl Basis ===

impl Basis {
    /// Returns one that says nothing.
    #[cfg(test)]
    pub fn example() -> Self {
        Self {
            inputs: String::new(),
            stretch: Stretch::default(),
            searches: BTreeSet::new(),
            plan: String::new(),
            pins: Vec::new(),
            blocked: false,
        }
    }

    /// Tells whether it is of a size that is kept; anybody who may write to a pull request may have written another.
    pub fn is_sound(&self) -> bool {
        let words = || self.searches.iter().flat_map(|search| &search.words);
        self.searches.len() <= SEARCHES
            && self.pins.len() <= MOST
            && words().count() <= MOST
            && words().map(String::len).sum::<usize>() <= LONGEST
            && words()
                .flat_map(|word| word.bytes())
                .all(|b| b.is_ascii_alphanumeric() || b"./-_: ".contains(&b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_crowd_a_body_is_not_kept() {
        let search = |n: usize| Search { words: vec!["x".repeat(n)], ceiling: 1 };
        let basis = |searches: Vec<Search>, aside: usize| Basis {
            searches: searches.into_iter().collect(),
            pins: (0..aside).map(|pin| FoundOut { pin, stays: None, version: None }).collect(),
            ..Basis::example()
        };
        assert!(basis(vec![search(LONGEST)], MOST).is_sound());
        assert!(!basis(vec![search(LONGEST + 1)], 0).is_sound());
        assert!(!basis((0..=SEARCHES).map(search).collect(), 0).is_sound());
        assert!(!basis(vec![Search { words: vec![String::new(); MOST + 1], ceiling: 1 }], 0).is_sound());
        assert!(!basis(Vec::new(), MOST + 1).is_sound());
        assert!(
            !basis(vec![Search { words: vec!["ü".to_owned()], ceiling: 1 }], 0).is_sound(),
            "six bytes in a marker"
        );
    }
}
