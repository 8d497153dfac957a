//! Which forge a fake host answers as.

use serde_json::Value;

use super::{
    gitea,
    github::{self, State},
    gitlab,
    http::{Request, Response},
    record::Recorder,
};

/// A forge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavor {
    /// GitHub with the API beside the repositories, as an Enterprise Server has it.
    GitHub,
    /// GitHub with the API on a host of its own, as github.com has it.
    DotCom,
    /// GitHub, asked to make and sign commits.
    Signing,
    GitLab,
    Gitea,
}

// === impl Flavor ===

impl Flavor {
    /// Whether it is GitHub, however it is used.
    pub const fn is_github(self) -> bool {
        matches!(self, Self::GitHub | Self::DotCom | Self::Signing)
    }

    /// As `--forge` names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::GitHub | Self::DotCom | Self::Signing => "github",
            Self::GitLab => "gitlab",
            Self::Gitea => "gitea",
        }
    }

    /// Writes what its API is asked.
    pub fn recorder(self) -> Recorder {
        let (prefix, below) = match self {
            Self::GitHub | Self::DotCom | Self::Signing => ("/api/v3", ""),
            Self::GitLab => ("", "/api/v4"),
            Self::Gitea => ("/api/v1", ""),
        };
        Recorder { forge: self.name(), prefix, below }
    }

    /// The root of a repository in the API.
    pub fn repository(self, name: &str) -> String {
        match self {
            Self::GitHub | Self::DotCom | Self::Signing => format!("/api/v3/repos/{name}"),
            Self::GitLab => format!("/api/v4/projects/{}", name.replace('/', "%2F")),
            Self::Gitea => format!("/api/v1/repos/{name}"),
        }
    }

    /// Answers a request of the API.
    pub fn answer(self, state: &mut State, request: &Request) -> Response {
        match self {
            Self::GitHub | Self::DotCom | Self::Signing => github::answer(state, request),
            Self::GitLab => gitlab::answer(state, request),
            Self::Gitea => gitea::answer(state, request),
        }
    }

    /// Returns what is asked of this forge where GitHub is asked a line.
    pub fn lines(self, line: &str) -> Vec<String> {
        match self {
            Self::GitHub | Self::DotCom | Self::Signing => vec![line.to_owned()],
            Self::GitLab => gitlab::lines(line),
            Self::Gitea => gitea::lines(line),
        }
    }

    /// Returns a body that was sent with a line, in GitHub's names.
    pub fn sent(self, line: &str, body: Value) -> Value {
        match self {
            Self::GitHub | Self::DotCom | Self::Signing | Self::Gitea => body,
            Self::GitLab => gitlab::sent(line, body),
        }
    }

    /// Leaves out the numbers of labels, which are the host's own.
    pub fn without_numbers(self, line: &str) -> String {
        match line.rsplit_once("/labels/") {
            Some((start, id)) if !self.is_github() && id.bytes().all(|b| b.is_ascii_digit()) => {
                format!("{start}/labels/N")
            }
            _ => line.to_owned(),
        }
    }

    /// Words a text that a run on GitHub prints as one on this forge does: pull requests have other addresses.
    pub fn words(self, text: &str) -> String {
        match self {
            Self::GitHub | Self::DotCom | Self::Signing => text.to_owned(),
            Self::GitLab => gitlab::words(text),
            Self::Gitea => text.replace("/pull/", "/pulls/"),
        }
    }
}
