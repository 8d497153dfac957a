//! Step 3, repo: where a Git remote is.
//!
//! In: the operator's text. Out: an [`Address`], or the reason why it cannot be used. Pure: nothing is opened or
//! contacted here. Credentials have no place in an address, so an error never repeats them.

use std::path::PathBuf;

use url::Url;

use crate::{repo::GitError, sys::http::keeps_secrets};

/// The address of a Git remote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// `https://` or `http://`, without user, password, query or fragment, and without a slash at its end.
    Http(Url),
    /// `ssh://` or `user@host:path`.
    Ssh(String),
    /// A folder of this machine, also given as `file://`.
    Local(PathBuf),
}

// === impl Address ===

impl Address {
    /// Reads an address. `sends_token` tells whether a token will go there, `plain_http` whether it may go
    /// unencrypted to another machine.
    pub fn parse(text: &str, sends_token: bool, plain_http: bool) -> Result<Self, GitError> {
        let Some((scheme, _)) = text.split_once("://") else { return Self::without_scheme(text) };
        let mut url = Url::parse(text).map_err(|e| wrong(shown(text), format!("not a URL: {e}")))?;
        let shown_url = shown(text);
        match scheme {
            "https" | "http" => {
                if !url.username().is_empty() || url.password().is_some() {
                    return Err(wrong(
                        shown_url,
                        "credentials in an address end up in logs; give the token in its environment variable or file",
                    ));
                }
                if scheme == "http" && sends_token && !plain_http && !keeps_secrets(&url) {
                    return Err(wrong(
                        shown_url,
                        "a token would cross the network unencrypted; use https://, or allow plain HTTP",
                    ));
                }
                url.set_query(None);
                url.set_fragment(None);
                let path = url.path().trim_end_matches('/').to_owned();
                url.set_path(&path);
                Ok(Self::Http(url))
            }
            "ssh" if url.password().is_some() => {
                Err(wrong(shown_url, "a password cannot be given here; use a key"))
            }
            "ssh" => Ok(Self::Ssh(text.to_owned())),
            "file" => {
                let path = url
                    .to_file_path()
                    .map_err(|()| wrong(shown_url, "a file:// address needs a whole path: file:///path"))?;
                Ok(Self::Local(path))
            }
            _ => Err(wrong(shown_url, "only https://, ssh://, file:// and a path can be read")),
        }
    }

    /// Returns the address as it may be printed.
    pub fn shown(&self) -> String {
        match self {
            Self::Http(url) => url.as_str().to_owned(),
            Self::Ssh(text) => text.clone(),
            Self::Local(path) => path.display().to_string(),
        }
    }

    /// Tells `user@host:path` from a path, as Git does: the colon comes before any slash.
    fn without_scheme(text: &str) -> Result<Self, GitError> {
        let remote = text.split_once(':').is_some_and(|(host, _)| !host.is_empty() && !host.contains('/'));
        match text {
            "" => Err(wrong(String::new(), "an empty address")),
            _ if text.contains('\0') => Err(wrong(text.replace('\0', "?"), "holds a NUL character")),
            _ if remote => Ok(Self::Ssh(text.to_owned())),
            _ => Ok(Self::Local(PathBuf::from(text))),
        }
    }
}

/// Returns an address without the part that can hold credentials.
pub fn shown(text: &str) -> String {
    match text.split_once("://") {
        Some((scheme, rest)) => {
            let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
            let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
            let path = rest.get(authority.len()..).unwrap_or_default();
            let path = path.split(['?', '#']).next().unwrap_or_default();
            format!("{scheme}://{host}{path}")
        }
        None => text.to_owned(),
    }
}

fn wrong(url: String, reason: impl Into<String>) -> GitError {
    GitError::Address { url, reason: reason.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Address, GitError> {
        Address::parse(text, true, false)
    }

    #[test]
    fn reads_every_form() {
        let http = |text: &str| Address::Http(Url::parse(text).unwrap());
        assert_eq!(parse("https://github.com/o/r/").unwrap(), http("https://github.com/o/r"));
        assert_eq!(parse("https://github.com/o/r?x=1#y").unwrap(), http("https://github.com/o/r"));
        assert_eq!(parse("http://127.0.0.1:8080/r.git").unwrap(), http("http://127.0.0.1:8080/r.git"));
        assert_eq!(parse("http://[::1]:80/r.git").unwrap(), http("http://[::1]/r.git"));
        assert_eq!(parse("git@github.com:o/r.git").unwrap(), Address::Ssh("git@github.com:o/r.git".into()));
        assert_eq!(parse("ssh://git@h:22/r").unwrap(), Address::Ssh("ssh://git@h:22/r".into()));
        assert_eq!(parse("file:///tmp/a%20b").unwrap(), Address::Local("/tmp/a b".into()));
        for path in ["/srv/r.git", "./r", "r", "a/b:c", ":r"] {
            assert_eq!(parse(path).unwrap(), Address::Local(path.into()));
        }
    }

    #[test]
    fn refuses_credentials_and_never_repeats_them() {
        for text in [
            "https://user:s3cret@github.com/o/r",
            "https://s3cret@github.com/o/r",
            "ssh://git:s3cret@host/o/r",
            "ftp://u:s3cret@host/x?token=s3cret",
            "https://u:s3cret@[bad/o",
        ] {
            let message = parse(text).unwrap_err().to_string();
            assert!(!message.contains("s3cret"), "{message}");
        }
    }

    #[test]
    fn a_token_goes_unencrypted_only_where_allowed() {
        assert!(parse("http://git.example.com/o/r").is_err());
        assert!(parse("http://localhost.example.com/o/r").is_err());
        assert!(Address::parse("http://git.example.com/o/r", false, false).is_ok());
        assert!(Address::parse("http://git.example.com/o/r", true, true).is_ok());
        assert!(parse("http://localhost:3000/o/r").is_ok());
    }

    #[test]
    fn other_schemes_and_empty_text_are_named() {
        assert!(parse("git://host/r").unwrap_err().to_string().contains("https://"));
        assert!(parse("").is_err());
        assert!(parse("a\0b").is_err());
        assert!(parse("file://host-only").is_err());
    }
}
