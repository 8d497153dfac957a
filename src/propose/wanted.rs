//! Step 10, propose: the pull request that should be there.
//!
//! In: a plan with its content. Out: a [`Wanted`], and hashes over its parts, by which a marker tells later whether
//! there is anything new to say. Pure.

use sha2::{Digest, Sha256};

use super::History;
use crate::{
    explain::{
        Basis, Content, Dialect, Marker,
        body::{self, BodyError, Frame},
        content::Weight,
        markdown,
    },
    linkerd::EdgeVersion,
    pins::Stage,
    plan::Plan,
    propose::forge::{Extras, PullRequest, Status},
};

/// The label of a pull request that no check found anything to settle in.
pub const ROUTINE: &str = "linkerd: routine";
/// The label of a pull request in which something is to be read first, or of which not all is known.
pub const ATTENTION: &str = "linkerd: attention";
/// The label of a pull request that must not be merged as it is.
pub const BLOCKED: &str = "linkerd: blocked";

/// The pull request that should be there.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The target.
    pub target: String,
    /// The stage.
    pub stage: Stage,
    /// The release.
    pub release: EdgeVersion,
    /// The release that it takes back, where it goes to an older one.
    pub undoes: Option<EdgeVersion>,
    /// The plan's fingerprint.
    pub fingerprint: String,
    /// The hash over (path, base blob) of the change set.
    pub inputs: String,
    /// The title.
    pub title: String,
    /// The text, as [`body::text`] writes it.
    pub text: String,
    /// Labels and people; with [`ROUTINE`], [`ATTENTION`] or [`BLOCKED`].
    pub extras: Extras,
    /// The status of the head.
    pub status: Status,
    /// Whether to open it as a draft.
    pub draft: bool,
    /// What it is made from; `None` where something else had a part in it that may be another next time.
    pub basis: Option<Basis>,
    /// The forge that shows it.
    pub dialect: &'static Dialect,
}

// === impl Wanted ===

impl Wanted {
    /// Writes what should be there for a forge, from a content; `extras` are the configured ones.
    pub fn new(
        plan: &Plan,
        title: &str,
        content: &Content,
        extras: &Extras,
        dialect: &'static Dialect,
    ) -> Result<Self, BodyError> {
        let mut extras = extras.clone();
        let label = risk(content);
        if !extras.labels.iter().any(|l| is_same_label(l, label)) {
            extras.labels.push(label.to_owned());
        }
        Ok(Self {
            target: plan.target.clone(),
            stage: plan.stage,
            release: plan.to,
            undoes: plan.undoes.as_ref().map(|undone| undone.release),
            fingerprint: plan.fingerprint.clone(),
            inputs: plan.inputs.clone(),
            title: title_of(title, dialect),
            text: body::text(content, dialect)?,
            extras,
            status: Status { success: content.blocks.is_empty(), description: reason(content, dialect) },
            draft: false,
            basis: None,
            dialect,
        })
    }

    /// Returns what stands around the text.
    pub fn frame(&self, history: History) -> Frame<'_> {
        Frame {
            dialect: self.dialect,
            target: &self.target,
            stage: self.stage,
            release: self.release,
            undoes: self.undoes,
            person: false,
            newer: None,
            keeps_history: history == History::Append,
            retry: self.extras != Extras::default(),
        }
    }

    /// Returns what its marker says at the least.
    pub fn marker(&self) -> Marker {
        let sign = Marker::new(&self.target, self.stage, self.release, &self.fingerprint, &self.inputs);
        Marker { routine: self.has(ROUTINE), undoes: self.undoes, basis: self.basis.clone(), ..sign }
    }

    /// Returns the hash that tells whether the text changed since it was written.
    pub fn text_hash(&self) -> String {
        hash(&[&self.title, &self.text, &self.release.to_string()])
    }

    /// Returns the hash of the status.
    pub fn status_hash(&self) -> String {
        hash(&[if self.status.success { "success" } else { "failure" }, &self.status.description])
    }

    /// Returns the hash of labels and people; `None` where there are none.
    pub fn extras_hash(&self) -> Option<String> {
        let Extras { labels, reviewers, assignees } = &self.extras;
        let lists = [labels, reviewers, assignees];
        lists
            .iter()
            .any(|l| !l.is_empty())
            .then(|| hash(&lists.map(|l| l.join("\n")).each_ref().map(String::as_str)))
    }

    /// Tells whether it must not be merged as it is.
    pub fn blocked(&self) -> bool {
        self.has(BLOCKED)
    }

    fn has(&self, label: &str) -> bool {
        self.extras.labels.iter().any(|l| is_same_label(l, label))
    }
}

/// Returns a wording as a title that a forge takes.
pub fn title_of(wording: &str, dialect: &Dialect) -> String {
    markdown::plain(wording).chars().take(dialect.title).collect()
}

/// Tells whether a label is one of those by which this step tells the risk of a change.
pub(super) fn is_ours(label: &str) -> bool {
    [ROUTINE, ATTENTION, BLOCKED].iter().any(|ours| is_same_label(ours, label))
}

/// Tells whether a pull request needs nobody: we wrote so, its label says so still, and no other one says something else.
pub fn is_routine(pull: &PullRequest, marker: &Marker) -> bool {
    let has = |label: &str| pull.labels.iter().any(|l| is_same_label(l, label));
    marker.routine && !marker.person && has(ROUTINE) && !has(ATTENTION) && !has(BLOCKED)
}

/// Compares labels as forges do: one that differs only in case is the same.
pub(super) fn is_same_label(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

fn risk(content: &Content) -> &'static str {
    if !content.blocks.is_empty() {
        return BLOCKED;
    }
    match content.verdict.weight {
        Weight::Blocked => BLOCKED,
        Weight::Attention | Weight::Unrendered => ATTENTION,
        Weight::Routine => ROUTINE,
    }
}

/// The first reason in one line that fits a status, with the number of the others.
fn reason(content: &Content, dialect: &Dialect) -> String {
    let (list, what) = match (content.blocks.as_slice(), content.warnings.as_slice()) {
        ([], []) => return "no check found anything to settle".to_owned(),
        ([], warnings) => (warnings, "to check"),
        (blocks, _) => (blocks, "to settle"),
    };
    let first = list.first().map_or("", |s| s.reason.trim().lines().next().unwrap_or_default());
    let head = format!("{} {what}: ", list.len());
    // The strictest way to count.
    let length = |text: &str| text.encode_utf16().count();
    let room = dialect.status.saturating_sub(length(&head));
    let first = markdown::plain(first);
    if length(&first) <= room {
        return head + &first;
    }
    let mut left = room.saturating_sub(1);
    let fits = |c: &char| left.checked_sub(c.len_utf16()).inspect(|rest| left = *rest).is_some();
    format!("{head}{}…", first.chars().take_while(fits).collect::<String>())
}

/// Returns the hash of the note on a person's branch.
pub fn note_hash(newer: Option<EdgeVersion>) -> String {
    hash(&["note", &newer.map(|r| r.to_string()).unwrap_or_default()])
}

fn hash(parts: &[&str]) -> String {
    let mut sha = Sha256::new();
    for part in parts {
        sha.update(part.len().to_be_bytes());
        sha.update(part.as_bytes());
    }
    sha.finalize().iter().take(8).map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
pub(super) fn example() -> Wanted {
    Wanted {
        target: "default".into(),
        stage: Stage::Platform,
        release: "edge-26.8.3".parse().expect("a release"),
        undoes: None,
        fingerprint: "f3".into(),
        inputs: "i".into(),
        title: "Linkerd → edge-26.8.3".into(),
        text: "text".into(),
        extras: Extras::default(),
        status: Status { success: true, description: "fine".into() },
        draft: false,
        basis: None,
        dialect: &Dialect::COMMON,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_one_line_that_fits_and_hides_nothing() {
        let say = |reason: &str| crate::explain::content::Statement {
            check: crate::verify::CheckId::Parses,
            place: None,
            reason: reason.into(),
            hint: None,
        };
        let long = format!("{}\nsecond line", "ü@me ".repeat(90));
        let content = Content { warnings: vec![say(&long), say("b")], ..Content::default() };
        let told = reason(&content, &Dialect::COMMON);
        assert!(told.starts_with("2 to check: ü@ me ü@ me") && told.ends_with('…'), "{told}");
        assert_eq!(told.chars().count(), Dialect::COMMON.status);
        let content = Content { warnings: vec![say(&"🚀".repeat(140))], ..Content::default() };
        assert!((139..=140).contains(&reason(&content, &Dialect::COMMON).encode_utf16().count()));
        let content = Content { blocks: vec![say("a\u{202e}b\nc")], ..Content::default() };
        assert_eq!(reason(&content, &Dialect::COMMON), "1 to settle: a‹U+202E›b");
    }

    #[test]
    fn hashes_keep_their_parts_apart() {
        assert_ne!(hash(&["ab", "c"]), hash(&["a", "bc"]));
        let mut other = example();
        other.extras.labels = vec!["x".into()];
        let mut people = example();
        people.extras.assignees = vec!["x".into()];
        assert_ne!(other.extras_hash(), people.extras_hash());
        assert_eq!(example().extras_hash(), None);
    }

    #[test]
    fn a_block_shows_in_label_and_status() {
        let block = crate::explain::content::Statement {
            check: crate::verify::CheckId::Parses,
            place: None,
            reason: "no".into(),
            hint: None,
        };
        let plan = Plan {
            target: "default".into(),
            stage: Stage::Platform,
            from: Vec::new(),
            older: false,
            to: "edge-26.8.3".parse().expect("a release"),
            hop_towards: None,
            published: None,
            undoes: None,
            moves: Vec::new(),
            stays: Vec::new(),
            fingerprint: "f".into(),
            inputs: "i".into(),
        };
        let make = |blocks| {
            let content = Content { blocks, ..Content::default() };
            Wanted::new(&plan, "Linkerd", &content, &Extras::default(), &Dialect::COMMON).expect("renders")
        };
        let (blocked, fine) = (make(vec![block]), make(Vec::new()));
        assert!(blocked.blocked() && !blocked.status.success && blocked.extras.labels == [BLOCKED]);
        assert!(!fine.blocked() && fine.status.success && fine.extras.labels == [ROUTINE]);
        assert_eq!(blocked.status.description, "1 to settle: no");
    }
}
