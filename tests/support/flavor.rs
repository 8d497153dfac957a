//! Which forge a fake host answers as.

use super::{
    gitea,
    github::{self, State},
    http::{Request, Response},
};

/// A forge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavor {
    GitHub,
    Gitea,
}

// === impl Flavor ===

impl Flavor {
    /// As `--forge` names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::GitHub => "github",
            Self::Gitea => "gitea",
        }
    }

    /// The root of a repository in the API.
    pub fn repository(self, name: &str) -> String {
        match self {
            Self::GitHub => format!("/api/v3/repos/{name}"),
            Self::Gitea => format!("/api/v1/repos/{name}"),
        }
    }

    /// Answers a request of the API.
    pub fn answer(self, state: &mut State, request: &Request) -> Response {
        match self {
            Self::GitHub => github::answer(state, request),
            Self::Gitea => gitea::answer(state, request),
        }
    }

    /// Returns what is asked of this forge where GitHub is asked a line.
    pub fn lines(self, line: &str) -> Vec<String> {
        match self {
            Self::GitHub => vec![line.to_owned()],
            Self::Gitea => gitea::lines(line),
        }
    }

    /// Leaves out the numbers of labels, which are the host's own.
    pub fn without_numbers(self, line: &str) -> String {
        match line.rsplit_once("/labels/") {
            Some((start, id)) if self != Self::GitHub && id.bytes().all(|b| b.is_ascii_digit()) => {
                format!("{start}/labels/N")
            }
            _ => line.to_owned(),
        }
    }

    /// Words a text that a run on GitHub prints as one on this forge does: pull requests have other addresses.
    pub fn words(self, text: &str) -> String {
        match self {
            Self::GitHub => text.to_owned(),
            Self::Gitea => text.replace("/pull/", "/pulls/"),
        }
    }
}
