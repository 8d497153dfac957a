//! Step 10, propose: where a repository is, from its Git address.
//!
//! In: a Git URL in any of its forms. Out: scheme, host and path. Nothing secret goes through. Pure.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC};
use url::Url;

use crate::sys::http::keeps_secrets;

/// What stays as it is in the path of a page.
pub(super) const PATH: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/');

/// A Git URL that names no repository on a forge: the operator's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{url}: {reason}")]
pub struct NoRepository {
    url: String,
    reason: &'static str,
}

/// What a Git URL says of the web server beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Site {
    pub scheme: String,
    pub host: String,
    /// The host, with a port that is not the scheme's own.
    pub authority: String,
    /// At least two parts, without slashes around them.
    pub path: String,
}

/// A repository on a forge whose API is below one root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    /// The API's root, without a slash at its end.
    pub api: String,
    /// The root of the web pages, without a slash at its end.
    pub web: String,
    /// The host, for messages.
    pub host: String,
    /// The repository: an owner, or groups, and a name.
    pub path: String,
}

// === impl Site ===

impl Site {
    /// Reads `https://host/owner/name(.git)`, `ssh://git@host/owner/name` or `git@host:owner/name`.
    pub fn of(git_url: &str) -> Result<Self, NoRepository> {
        let fail = |reason| NoRepository::new(git_url, reason);
        let url = match git_url.split_once("://") {
            Some(_) => Url::parse(git_url).ok(),
            None => git_url
                .split_once(':')
                .and_then(|(host, path)| Url::parse(&format!("ssh://{host}/{path}")).ok()),
        };
        let url = url.ok_or_else(|| fail("not the address of a repository"))?;
        let host = url.host_str().filter(|h| !h.is_empty()).ok_or_else(|| fail("names no host"))?;
        let (scheme, port) = match url.scheme() {
            "https" | "http" => (url.scheme(), url.port()),
            // The API listens where the web pages do, not where SSH does.
            "ssh" => ("https", None),
            _ => return Err(fail("is neither https nor ssh")),
        };
        if url.scheme() == "http" && !keeps_secrets(&url) {
            return Err(fail("would send the token unencrypted; use https"));
        }
        let path = url.path().trim_matches('/');
        let path = path.strip_suffix(".git").unwrap_or(path);
        if !path.contains('/') {
            return Err(fail("has no owner and name"));
        }
        let sound = |s: &str| {
            let known = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
            !s.is_empty() && s != "." && s != ".." && s.bytes().all(known)
        };
        if !path.split('/').all(sound) {
            return Err(fail("is not owner/name"));
        }
        let authority = port.map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let (scheme, host, path) = (scheme.to_owned(), host.to_owned(), path.to_owned());
        Ok(Self { scheme, host, authority, path })
    }
}

// === impl Address ===

impl Address {
    /// Finds a repository below an API's root; what stands before `below` in that root stands before the repository in
    /// its own address too, where the forge is not at the root of its host.
    pub fn of(git_url: &str, api: &Url, below: &str) -> Result<Self, NoRepository> {
        let site = Site::of(git_url)?;
        let api = api.as_str().trim_end_matches('/');
        let folder = Url::parse(api.strip_suffix(below).unwrap_or(api)).ok();
        let folder = folder.map(|url| url.path().trim_matches('/').to_owned()).unwrap_or_default();
        let inside = site.path.strip_prefix(&folder).and_then(|rest| rest.strip_prefix('/'));
        let path = inside.filter(|rest| !folder.is_empty() && rest.contains('/'));
        let web = format!("{}://{}", site.scheme, site.authority);
        let (web, path) = match path {
            Some(path) => (format!("{web}/{folder}"), path.to_owned()),
            None => (web, site.path.clone()),
        };
        Ok(Self { api: api.to_owned(), web, host: site.host, path })
    }
}

// === impl NoRepository ===

impl NoRepository {
    /// What stands before an `@` may be a password, and is not shown.
    pub(super) fn new(git_url: &str, reason: &'static str) -> Self {
        let shown = git_url.rsplit_once('@').map_or(git_url, |(_, rest)| rest);
        Self { url: shown.to_owned(), reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_found_below_the_forges_own_folder() {
        let of = |git: &str, api: &str, below: &str| {
            let address = Address::of(git, &Url::parse(api).expect("a URL"), below).expect("an address");
            (address.web, address.path)
        };
        let pair = |web: &str, path: &str| (web.to_owned(), path.to_owned());
        assert_eq!(
            of("https://codeberg.org/acme/config.git", "https://codeberg.org/api/v1", "/api/v1"),
            pair("https://codeberg.org", "acme/config")
        );
        assert_eq!(
            of("https://h.example/git/acme/config", "https://h.example/git/api/v1/", "/api/v1"),
            pair("https://h.example/git", "acme/config")
        );
        assert_eq!(
            of("git@gitlab.com:acme/mesh/config.git", "https://gitlab.com/api/v4", "/api/v4"),
            pair("https://gitlab.com", "acme/mesh/config")
        );
        assert_eq!(
            of("https://h.example/git/config", "https://h.example/git/api/v4", "/api/v4"),
            pair("https://h.example", "git/config"),
            "a group may have the name of that folder"
        );
    }
}
