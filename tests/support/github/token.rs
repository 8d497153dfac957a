//! The tokens that the fake GitHub knows.

use std::collections::{BTreeMap, BTreeSet};

/// What kind of token, since GitHub answers each differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// The `GITHUB_TOKEN` of a workflow: an installation token of `github-actions[bot]`.
    Actions,
    /// An installation token of another App.
    App,
    /// A person's fine-grained token.
    FineGrained,
    /// A person's classic token with the scope `repo`.
    Classic,
}

/// How much a permission allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Read,
    Write,
}

/// A token and what it may do.
#[derive(Clone, Debug)]
pub struct Token {
    pub login: String,
    pub kind: TokenKind,
    /// Permission in the API's spelling, such as `pull_requests`.
    pub permissions: BTreeMap<String, Level>,
    /// The repositories that it sees; `None` is all.
    pub repos: Option<BTreeSet<String>>,
    pub expired: bool,
    /// After so many more requests it is.
    pub lasts: Option<u32>,
    /// Whether its owner has authorised it for the organisation's single sign-on.
    pub authorized: bool,
    /// The address that its owner does not want to be published.
    pub private_address: Option<String>,
}

// === impl Token ===

impl Token {
    fn with(login: &str, kind: TokenKind, permissions: &[(&str, Level)]) -> Self {
        let permissions = permissions.iter().map(|(name, level)| ((*name).to_owned(), *level)).collect();
        Self {
            login: login.to_owned(),
            kind,
            permissions,
            repos: None,
            expired: false,
            lasts: None,
            authorized: true,
            private_address: None,
        }
    }

    /// A workflow's token with the permissions that the project asks for.
    pub fn actions() -> Self {
        let write = ["contents", "pull_requests", "statuses"].map(|name| (name, Level::Write));
        let mut token = Self::with("github-actions[bot]", TokenKind::Actions, &write);
        token.permissions.insert("metadata".to_owned(), Level::Read);
        token
    }

    /// An App's installation token with the same permissions.
    pub fn app(slug: &str) -> Self {
        Self { login: format!("{slug}[bot]"), kind: TokenKind::App, ..Self::actions() }
    }

    /// A person's fine-grained token with the same permissions.
    pub fn fine_grained(login: &str) -> Self {
        Self { login: login.to_owned(), kind: TokenKind::FineGrained, ..Self::actions() }
    }

    /// A person's classic token that may do all this and more.
    pub fn classic(login: &str) -> Self {
        let mut token = Self { login: login.to_owned(), kind: TokenKind::Classic, ..Self::actions() };
        token.permissions.insert("issues".to_owned(), Level::Write);
        token
    }

    /// The same without a permission.
    pub fn without(mut self, permission: &str) -> Self {
        self.permissions.remove(permission);
        self
    }

    /// The same with a permission at a level.
    pub fn having(mut self, permission: &str, level: Level) -> Self {
        self.permissions.insert(permission.to_owned(), level);
        self
    }

    /// The same, for one repository only.
    pub fn only(mut self, repo: &str) -> Self {
        self.repos.get_or_insert_default().insert(repo.to_lowercase());
        self
    }

    /// The same, not authorised for single sign-on.
    pub fn unauthorized(mut self) -> Self {
        self.authorized = false;
        self
    }

    /// The same, past its time.
    pub fn expired(mut self) -> Self {
        self.expired = true;
        self
    }

    /// Tells whether the token sees a repository at all.
    pub fn sees(&self, repo: &str) -> bool {
        self.repos.as_ref().is_none_or(|repos| repos.contains(&repo.to_lowercase()))
    }

    /// Tells whether a permission is held at a level.
    pub fn may(&self, permission: &str, level: Level) -> bool {
        self.permissions.get(permission).is_some_and(|held| *held >= level)
    }
}
