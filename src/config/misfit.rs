//! What is wrong with a target, as shows only once the repository is known.
//!
//! In: the mistake. Out: what is said of it, at its place in the file.

use super::{Config, ConfigErrors, nearest};
use crate::plan::Overlap;

/// Labels that a hint names before it counts the rest.
const NAMED: usize = 10;

/// A target that does not fit the repository.
#[derive(Clone, Copy, Debug)]
pub enum Misfit<'a> {
    /// Its paths name no file.
    NoFile,
    /// Another one would have this name too.
    SameName(&'a str),
    /// It has files that another one has too.
    Overlap(&'a Overlap),
    /// No installation has its labels.
    Unlabelled {
        /// The first of them that none has, where there is one.
        unknown: Option<&'a str>,
        /// The labels that installations have.
        known: &'a [String],
    },
}

// === impl Config ===

impl Config {
    /// Returns an error about one target, at its place in the file.
    pub fn misfit(&self, target: &str, misfit: Misfit<'_>) -> ConfigErrors {
        let (reason, hint) = (misfit.reason(target), misfit.hint());
        match misfit {
            Misfit::Unlabelled { .. } => {
                self.error_at(target, "targets[].labels", |target| &target.labels_at, &reason, &hint)
            }
            Misfit::NoFile | Misfit::SameName(_) | Misfit::Overlap(_) => {
                self.error_at(target, "targets[].paths", |target| &target.span, &reason, &hint)
            }
        }
    }
}

// === impl Misfit ===

impl Misfit<'_> {
    fn reason(&self, target: &str) -> String {
        match self {
            Self::NoFile => format!("`paths` of target `{target}` name no file of this repository"),
            Self::SameName(name) => format!("two targets would be called `{name}`"),
            Self::Overlap(overlap) => overlap.to_string(),
            Self::Unlabelled { unknown: Some(label), .. } => {
                format!("no installation has the label `{label}`")
            }
            Self::Unlabelled { unknown: None, .. } => "no installation has all of these labels".to_owned(),
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::NoFile => {
                "correct them, or take the target out; `uplinker pins` lists the files with pins".to_owned()
            }
            Self::SameName(_) => {
                "rename this one, or the wave; a group names its targets after installations, and a wave after \
                 its target"
                    .to_owned()
            }
            Self::Overlap(_) => "narrow `paths` or `labels`, or name the files in `exclude`".to_owned(),
            Self::Unlabelled { unknown, known } => labels(*unknown, known),
        }
    }
}

/// Says which labels there are: the one that was meant, where that can be told.
fn labels(unknown: Option<&str>, known: &[String]) -> String {
    let near = unknown.and_then(|name| nearest(name, known.iter().map(String::as_str)));
    match (near, known.len().checked_sub(NAMED)) {
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, _) if known.is_empty() => "none has a label here: name `paths`".to_owned(),
        (None, Some(more)) if more > 0 => {
            format!("they have {}, and {more} more", known.get(..NAMED).unwrap_or_default().join(", "))
        }
        (None, _) => format!("they have {}", known.join(", ")),
    }
}
