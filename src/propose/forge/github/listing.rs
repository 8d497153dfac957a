//! Step 10, propose: which repositories there are, by patterns.
//!
//! In: patterns such as `acme/*`, and what may be asked: a GitHub App, or a token. Out: the addresses of the repositories that
//! match and are not archived.

use std::fmt;

use globset::{GlobBuilder, GlobMatcher};
use secrecy::{ExposeSecret as _, SecretString};

use super::{App, app, wire::Repo};
use crate::{propose::forge::ForgeError, sys::http::Http};

/// A pattern over `owner/name`; letters of either case are the same.
#[derive(Clone, Debug)]
pub struct Pattern {
    owner: String,
    matcher: GlobMatcher,
}

/// Who is asked for a list.
#[derive(Clone, Copy, Debug)]
pub enum Lister<'a> {
    /// The App: what its installations see.
    App(&'a App),
    /// The owners that the patterns name, with this token.
    Token(&'a SecretString),
}

// === impl Pattern ===

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.matcher.glob().glob())
    }
}

impl Pattern {
    /// Reads a pattern; the error says what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("`{text}` is no pattern of repositories; write OWNER/NAME, such as acme/* or acme/mesh-*")
        };
        let (owner, name) = text.split_once('/').ok_or_else(wrong)?;
        if owner.is_empty() || name.is_empty() || name.contains('/') {
            return Err(wrong());
        }
        let glob = GlobBuilder::new(text).literal_separator(true).case_insensitive(true).build();
        let matcher = glob.map_err(|e| format!("{}: {}", wrong(), e.kind()))?.compile_matcher();
        Ok(Self { owner: owner.to_owned(), matcher })
    }

    /// Returns the owner, where the pattern names one alone.
    pub fn owner(&self) -> Option<&str> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
        Some(self.owner.as_str()).filter(|owner| owner.bytes().all(plain))
    }
}

/// Lists the repositories that match any of the patterns, by their addresses, ordered.
pub fn list(
    http: &Http,
    api: &str,
    lister: Lister<'_>,
    patterns: &[Pattern],
) -> Result<Vec<String>, ForgeError> {
    let mut all = match lister {
        Lister::App(app) => app.repositories(http, api)?,
        Lister::Token(token) => {
            let mut owners: Vec<&str> = patterns.iter().filter_map(Pattern::owner).collect();
            owners.sort_unstable();
            owners.dedup();
            let lists = owners.into_iter().map(|owner| of_owner(http, api, token, owner));
            lists.collect::<Result<Vec<_>, _>>()?.concat()
        }
    };
    all.retain(|(name, _)| patterns.iter().any(|pattern| pattern.matcher.is_match(name)));
    let mut addresses: Vec<String> = all.into_iter().map(|(_, address)| address).collect();
    addresses.sort();
    addresses.dedup();
    Ok(addresses)
}

/// Lists what an organisation has, else what a person has.
fn of_owner(
    http: &Http,
    api: &str,
    token: &SecretString,
    owner: &str,
) -> Result<Vec<(String, String)>, ForgeError> {
    let rest = app::rest(http, api, token.expose_secret(), (app::host_of(api), owner))?;
    let asked = rest.asked("cannot list the repositories", "metadata: read");
    let read = |kind: &str| -> Result<Vec<(String, String)>, ForgeError> {
        let mut all = Vec::new();
        let whole = rest.each_page(&format!("/{kind}/{owner}/repos"), &asked, |page: Vec<Repo>| {
            all.extend(
                page.into_iter().filter(|repo| !repo.archived).map(|repo| (repo.full_name, repo.clone_url)),
            );
            true
        });
        match whole? {
            true => Ok(all),
            false => Err(ForgeError::Rejected {
                what: format!("cannot list the repositories of {owner}"),
                reason: "there are more than a thousand; use a GitHub App, or a file".to_owned(),
            }),
        }
    };
    match read("orgs") {
        Err(ForgeError::NotFound(_)) => read("users"),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_name_an_owner_and_a_repository() {
        let matches = |pattern: &str, name: &str| Pattern::parse(pattern).unwrap().matcher.is_match(name);
        assert!(
            matches("acme/*", "Acme/mesh") && matches("*/*", "a/b") && matches("acme/mesh-*", "acme/mesh-eu")
        );
        assert!(!matches("acme/*", "acme-labs/mesh") && !matches("acme/mesh-*", "acme/other"));
        for wrong in ["", "acme", "/x", "acme/", "a/b/c", "acme/[", "*"] {
            assert!(Pattern::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Pattern::parse("acme/*").unwrap().owner(), Some("acme"));
        assert_eq!(Pattern::parse("*/*").unwrap().owner(), None);
    }
}
