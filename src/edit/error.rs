//! Why a text was not edited, in words for the person who has to fix it.

use std::fmt;

use crate::{
    repo::RepoPath,
    yaml::{YamlError, position},
};

/// An edit that was refused; nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditError {
    /// The file; `None` while only its text is known.
    pub path: Option<RepoPath>,
    /// From 1; 0 where the whole file is meant.
    pub line: usize,
    /// In characters, from 1; 0 where the whole file is meant.
    pub column: usize,
    /// Why.
    pub refusal: Refusal,
}

/// Why an edit was refused. Where no fault is named, the repository's owner can fix it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The file does not hold what the scan found; it has changed since.
    #[error("expected {expected:?} here, found {found:?}")]
    Changed {
        /// What the scan found.
        expected: String,
        /// What is there.
        found: String,
    },
    /// No node of the file is where the scan found one; the file has changed since.
    #[error("nothing that can be edited stands at {route:?}")]
    NoSuchPlace {
        /// The way that leads nowhere.
        route: String,
    },
    /// The key is written twice, and readers disagree which one counts.
    #[error("the key {key:?} is written twice in one mapping")]
    DuplicateKey {
        /// The key.
        key: String,
    },
    /// The place is an alias: its anchor is the value.
    #[error("this is an alias of the value at line {anchor}")]
    Alias {
        /// The line of the anchored value, from 1.
        anchor: usize,
    },
    /// The text is a template: what it is made of is not known before Helm has run.
    #[error("this is template text, not YAML")]
    Template,
    /// SOPS or git-crypt owns the file.
    #[error("the file is encrypted, or a checksum of SOPS covers it")]
    Encrypted,
    /// The file is not UTF-8.
    #[error("the file is not UTF-8")]
    NotUtf8,
    /// The text cannot be read.
    #[error("the text is not YAML: {0}")]
    Syntax(YamlError),
    /// The text stands across a fold or an escape, or has a tag that the new value would contradict.
    #[error("the value is written in a way that cannot be edited in place: {0}")]
    Written(&'static str),
    /// Two edits want the same bytes: the plan is wrong, which is a fault of the program.
    #[error("two edits overlap here")]
    Overlap,
    /// The edited text does not read as intended. A fault of the program, or text that readers disagree on.
    #[error("the edited text would not read as intended: {0}")]
    NotProven(&'static str),
    /// The key to insert is there already.
    #[error("the key {key:?} is there already")]
    Present {
        /// The key.
        key: String,
    },
    /// Aliases stand for the place, and would change with it.
    #[error("{aliases} aliases share this place")]
    Shared {
        /// How many.
        aliases: usize,
    },
    /// `Chart.yaml` or `Chart.lock` does not have the form that Helm reads.
    #[error("{0}")]
    Lock(String),
    /// The tree has no such file; it has changed since the scan.
    #[error("the file is not in the tree, or is no regular file")]
    NoSuchFile,
    /// What is to be taken back was changed by somebody in the meantime.
    #[error("it cannot be taken back: {0}")]
    Since(&'static str),
    /// The object database could not be read; not the owner's fault.
    #[error("{0}")]
    Unreadable(String),
}

// === impl Refusal ===

impl Refusal {
    /// Says what a person can do.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Changed { .. } | Self::NoSuchPlace { .. } | Self::NoSuchFile => {
                "run again on the present state of the repository"
            }
            Self::DuplicateKey { .. } => "remove one of the two",
            Self::Alias { .. } => "edit the anchored value",
            Self::Template => "edit it by hand, or move the version into a values file",
            Self::Encrypted => "edit it with the tool that encrypts it",
            Self::NotUtf8 => "save the file as UTF-8",
            Self::Syntax(_) => "fix the file",
            Self::Written(_) => "write the value on one line, without escapes or a tag",
            Self::Overlap | Self::NotProven(_) => "edit it by hand, and report this file as a bug",
            Self::Present { .. } => "edit its value instead",
            Self::Shared { .. } => "give it a value of its own",
            Self::Lock(_) => "run `helm dependency update`",
            Self::Since(_) => {
                "take this file back by hand, with `git revert` or an edit, then run again for the rest"
            }
            Self::Unreadable(_) => "try again",
        }
    }
}

// === impl EditError ===

impl EditError {
    /// Makes an error of a whole file.
    pub(super) fn whole(refusal: Refusal) -> Self {
        Self { path: None, line: 0, column: 0, refusal }
    }

    /// Makes an error at a byte of a text.
    pub(super) fn at(text: &str, byte: usize, refusal: Refusal) -> Self {
        let (line, column) = position(text, byte);
        Self { path: None, line, column, refusal }
    }

    /// Makes an error of a text that cannot be parsed.
    pub(super) fn syntax(text: &str, error: YamlError) -> Self {
        // Template actions are by far the likeliest reason, and then the parser's words lead nowhere.
        let template = memchr::memmem::find(text.as_bytes(), b"{{").is_some();
        let (line, column) = match &error {
            YamlError::Syntax { line, column, .. } => (*line, *column),
            YamlError::TooLarge { .. } => (0, 0),
        };
        let refusal = if template { Refusal::Template } else { Refusal::Syntax(error) };
        Self { path: None, line, column, refusal }
    }

    /// Names the file.
    pub(super) fn in_file(mut self, path: &RepoPath) -> Self {
        self.path = Some(path.clone());
        self
    }
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.path, self.line) {
            (Some(path), 0) => write!(f, "{path}: ")?,
            (Some(path), line) => write!(f, "{path}:{line}:{}: ", self.column)?,
            (None, 0) => {}
            (None, line) => write!(f, "line {line}, column {}: ", self.column)?,
        }
        write!(f, "{}; {}", self.refusal, self.refusal.hint())
    }
}

impl std::error::Error for EditError {}
