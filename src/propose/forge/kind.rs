//! Step 10, propose: what a forge with an API gives as data, so that it can be chosen.

use secrecy::SecretString;
use url::Url;

use super::{Forge, ForgeError, listing::Listed, webhook::Webhook};
use crate::{
    explain::Dialect,
    repo::Refusals,
    sys::{
        env::{self, Variable},
        http::Http,
    },
};

/// A forge with an API, as the operator chooses it.
#[derive(Debug)]
pub struct Kind {
    /// As `--forge` names it.
    pub name: &'static str,
    /// What it takes of a text, and what it calls things.
    pub dialect: &'static Dialect,
    /// The hosts that are known to be it, with the root of the API there.
    pub hosts: &'static [(&'static str, &'static str)],
    /// Where the API is below the root of any other host.
    pub below: &'static str,
    /// Whether a repository may lie in groups of groups.
    pub groups: bool,
    /// The name that goes with a token over HTTPS, for Git.
    pub git_user: &'static str,
    /// How its own jobs are told where they run.
    pub runner: &'static Runner,
    /// What a token needs, in the forge's words.
    pub needs: &'static str,
    /// Opens one repository; no request is made yet.
    pub open: for<'h> fn(Opening<'h, '_>) -> Result<Box<dyn Forge + 'h>, ForgeError>,
    /// Lists what an owner, or a group with those below, has and the token sees.
    pub list: fn(Listing<'_, '_>) -> Result<Vec<Listed>, ForgeError>,
    /// The sentences by which its refusals are known.
    pub refusals: &'static Refusals,
    /// How it delivers what happens.
    pub webhook: &'static Webhook,
}

/// The variables of a forge's own jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Runner {
    /// `true` in such a job.
    pub inside: Variable,
    /// The root of the forge.
    pub server: &'static str,
    /// The root of its API.
    pub api: &'static str,
    /// The path of the repository.
    pub repository: &'static str,
}

/// Those of GitHub Actions, whose runners other forges have too.
pub const ACTIONS: Runner = Runner {
    inside: env::bare(
        env::GITHUB_ACTIONS,
        "`true` inside GitHub Actions; the three variables below count only then.",
    ),
    server: "GITHUB_SERVER_URL",
    api: "GITHUB_API_URL",
    repository: "GITHUB_REPOSITORY",
};

/// A repository on a forge.
#[derive(Clone, Copy)]
pub struct Opening<'h, 'a> {
    /// What connects.
    pub http: &'h Http,
    /// The repository's Git address.
    pub git_url: &'a str,
    /// The root of the API.
    pub api: &'a Url,
    /// The token; none for a public repository that is only read.
    pub token: Option<&'a SecretString>,
    /// Whether the forge is to make commits itself, where it signs them.
    pub signs: bool,
}

/// The repositories of one owner on a forge.
#[derive(Clone, Copy)]
pub struct Listing<'h, 'a> {
    /// What connects.
    pub http: &'h Http,
    /// The root of the API, without a slash at its end.
    pub api: &'a str,
    /// The token.
    pub token: &'a SecretString,
    /// A person, an organisation or a group.
    pub owner: &'a str,
}

// === impl Listing ===

impl<'a> Listing<'_, 'a> {
    /// Returns the host of the API, for messages.
    pub fn host(&self) -> &'a str {
        host_of(self.api)
    }
}

/// The host of an API, for messages.
pub(super) fn host_of(api: &str) -> &str {
    let rest = api.split_once("://").map_or(api, |(_, rest)| rest);
    rest.split(['/', ':']).next().unwrap_or_default()
}

// === impl Runner ===

impl Runner {
    /// Returns them as the reference page has them.
    pub fn variables(&self) -> [Variable; 4] {
        [
            self.inside,
            env::bare(self.repository, "The repository, where no other is named."),
            env::bare(self.server, "The server of that repository."),
            env::bare(self.api, "The API of that server."),
        ]
    }
}

// === impl Kind ===

impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Kind {}
