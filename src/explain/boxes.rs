//! Step 9, explain: the check boxes by which a person answers in the body.
//!
//! In: a body. Out: which of our boxes are ticked. A box is known by a hidden id at the end of its line, never by
//! its words, so that words may change between versions of the program. Pure.

use std::{collections::BTreeSet, fmt};

use crate::linkerd::EdgeVersion;

/// One of our boxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CheckBox {
    /// Decline this release: a no to it, and to it alone.
    Skip(EdgeVersion),
    /// Hand the branch back, after a person pushed to it.
    Retake,
    /// Apply the plan to the base branch as it is now.
    Rebase,
    /// Ask again for labels, people and status.
    Retry,
    /// Propose a release again that this takes back.
    Again(EdgeVersion),
}

/// The boxes that are ticked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ticks(pub BTreeSet<CheckBox>);

// === impl CheckBox ===

impl fmt::Display for CheckBox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Skip(release) => write!(f, "skip {release}"),
            Self::Retake => f.write_str("retake"),
            Self::Rebase => f.write_str("rebase"),
            Self::Retry => f.write_str("retry"),
            Self::Again(release) => write!(f, "again {release}"),
        }
    }
}

impl CheckBox {
    fn parse(id: &str) -> Option<Self> {
        match id {
            "retake" => Some(Self::Retake),
            "rebase" => Some(Self::Rebase),
            "retry" => Some(Self::Retry),
            id => match id.split_once(' ')? {
                ("skip", release) => release.parse().ok().map(Self::Skip),
                ("again", release) => release.parse().ok().map(Self::Again),
                _ => None,
            },
        }
    }

    /// Writes the box as a task list item; `words` must be Markdown that is safe already.
    pub(super) fn line(self, words: &str, ticks: &Ticks) -> String {
        let tick = if ticks.has(self) { 'x' } else { ' ' };
        format!("- [{tick}] {words} <!-- uplinker:{self} -->")
    }
}

// === impl Ticks ===

impl Ticks {
    /// Reads the boxes that are ticked in a body.
    pub fn read(body: &str) -> Self {
        Self(body.lines().filter_map(ticked).collect())
    }

    /// Tells whether a box is ticked.
    pub fn has(&self, wanted: CheckBox) -> bool {
        self.0.contains(&wanted)
    }

    /// Returns the newest release that is declined.
    pub fn skipped(&self) -> Option<EdgeVersion> {
        let releases = self.0.iter().filter_map(|b| if let CheckBox::Skip(r) = b { Some(*r) } else { None });
        releases.max()
    }

    /// Tells whether none asks for anything now: that a release may come again is for later.
    pub fn ask_nothing(&self) -> bool {
        self.0.iter().all(|tick| matches!(tick, CheckBox::Again(_)))
    }

    /// Returns the ticks that are new since `seen`: those were answered already.
    pub fn since(&self, seen: &Self) -> Self {
        Self(self.0.difference(&seen.0).copied().collect())
    }
}

fn ticked(line: &str) -> Option<CheckBox> {
    let line = line.trim();
    let item = line.strip_prefix(['-', '*', '+'])?.trim_start();
    let text = item.strip_prefix("[x]").or_else(|| item.strip_prefix("[X]"))?;
    let (_, id) = text.strip_suffix("-->")?.rsplit_once("<!-- uplinker:")?;
    CheckBox::parse(id.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release() -> EdgeVersion {
        "edge-26.8.3".parse().expect("a release")
    }

    #[test]
    fn ticks_are_read_as_people_and_editors_leave_them() {
        let body = "x\r\n- [x] Skip <!-- uplinker:skip edge-26.8.3 -->\r\n* [X] Again <!-- uplinker:rebase -->\r\n\
                    - [ ] Not <!-- uplinker:retry -->\r\n- [x] mine\r\n  - [x] other <!-- uplinker:unknown -->\r\n";
        let ticks = Ticks::read(body);
        assert_eq!(ticks.0, BTreeSet::from([CheckBox::Skip(release()), CheckBox::Rebase]));
        assert_eq!(ticks.skipped(), Some(release()));
    }

    #[test]
    fn a_box_is_written_as_it_is_read() {
        let again = CheckBox::Again(release());
        for known in [CheckBox::Skip(release()), CheckBox::Retake, CheckBox::Rebase, CheckBox::Retry, again] {
            let ticks = Ticks(BTreeSet::from([known]));
            assert_eq!(Ticks::read(&known.line("words", &ticks)), ticks);
            assert_eq!(Ticks::read(&known.line("words", &Ticks::default())), Ticks::default());
        }
    }

    #[test]
    fn a_tick_that_was_answered_does_not_come_back() {
        let seen = Ticks(BTreeSet::from([CheckBox::Rebase]));
        let now = Ticks(BTreeSet::from([CheckBox::Rebase, CheckBox::Skip(release())]));
        assert_eq!(now.since(&seen).0, BTreeSet::from([CheckBox::Skip(release())]));
    }
}
