//! Which repository.

use std::{fmt, path::PathBuf};

use url::Url;

use crate::{
    cli::Error,
    propose::forge::{kind::Kind, kinds::KINDS},
    sys::{env::Environment, secrets::without_userinfo},
};

/// A repository as it was named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repository {
    /// On a server.
    Remote(RemoteUrl),
    /// On this machine: a clone, or a bare folder, which is a remote itself.
    Path(PathBuf),
}

/// The address of a Git remote; never carries a password.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RemoteUrl(String);

// === impl Repository ===

impl Repository {
    /// Reads `--repo`; without one, the workflow's repository, else this folder.
    pub(in crate::cli) fn of(named: Option<&str>, environment: &Environment) -> Result<Self, Error> {
        if let Some(text) = named {
            return Self::parse(text);
        }
        let job = running_on(environment).and_then(|kind| {
            let name = environment.get(kind.runner.repository)?;
            let (public, _) = kind.hosts.first()?;
            let server = environment.get(kind.runner.server).map(|server| server.trim_end_matches('/'));
            Some(format!("{}/{name}", server.unwrap_or(&format!("https://{public}"))))
        });
        match job {
            Some(url) => Self::parse(&url),
            None => Ok(Self::Path(PathBuf::from("."))),
        }
    }

    /// Reads a URL or a path.
    pub(in crate::cli) fn parse(text: &str) -> Result<Self, Error> {
        if text.is_empty() {
            return Err(Error::usage("the repository's name is empty").hint("write a URL or a path"));
        }
        match text.contains("://") || is_scp(text) {
            true => RemoteUrl::parse(text).map(Self::Remote),
            false => Ok(Self::Path(PathBuf::from(text))),
        }
    }
}

impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Remote(url) => url.fmt(f),
            Self::Path(path) => path.display().fmt(f),
        }
    }
}

/// Tells `git@host:owner/name` from a path with a colon.
fn is_scp(text: &str) -> bool {
    text.split_once(':').is_some_and(|(host, _)| host.contains('@') && !host.contains('/'))
}

// === impl RemoteUrl ===

impl RemoteUrl {
    /// Reads an address: `https`, `http`, `ssh`, `file`, or `user@host:path`.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let wrong = |reason: &str| Error::usage(format!("`{}` {reason}", without_userinfo(text)));
        if text.chars().any(|c| c.is_control() || c == ' ') {
            return Err(wrong("has spaces or control characters"));
        }
        if !text.contains("://") {
            return match is_scp(text) {
                true => Ok(Self(text.to_owned())),
                false => Err(wrong("is not the address of a repository")),
            };
        }
        let url = Url::parse(text).map_err(|_| wrong("is not a URL"))?;
        let has_user = !url.username().is_empty();
        match url.scheme() {
            "http" | "https" if has_user || url.password().is_some() => Err(wrong(
                "carries a user or a password",
            )
            .hint(
                "set UPLINKER_TOKEN, or name a file with --token-file: other users can read a command line",
            )),
            "ssh" if url.password().is_some() => Err(wrong("carries a password").hint("use a key")),
            "http" | "https" | "ssh" if url.host_str().is_none_or(str::is_empty) => Err(wrong("has no host")),
            "http" | "https" | "ssh" | "file" => Ok(Self(text.to_owned())),
            other => Err(wrong(&format!("has the scheme `{other}`, which is not read"))
                .hint("write https://, ssh://, file:// or a path")),
        }
    }

    /// Returns the address.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the host, with a port that is not the scheme's own; `None` for a file. The port of SSH is left out:
    /// nothing but Git is served there.
    pub fn host(&self) -> Option<String> {
        match Url::parse(&self.0).ok().filter(|_| self.0.contains("://")) {
            Some(url) if url.scheme() == "ssh" => url.host_str().map(str::to_lowercase),
            Some(url) => host_of(&url),
            None => self.0.split_once(':')?.0.rsplit('@').next().map(str::to_lowercase),
        }
    }

    /// Returns what stands before owner and name, and these, the last two parts of the path.
    pub(super) fn parts(&self) -> Option<(&str, &str, &str)> {
        let path = match self.0.split_once("://") {
            Some((_, rest)) => rest.split_once('/')?.1,
            None => self.0.split_once(':')?.1,
        };
        let path = path.trim_matches('/');
        let (rest, name) = path.strip_suffix(".git").unwrap_or(path).rsplit_once('/')?;
        let (before, owner) = rest.rsplit_once('/').unwrap_or(("", rest));
        let sound = |part: &str| {
            let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            !matches!(part, "" | "." | "..") && part.chars().all(letters)
        };
        (sound(owner) && sound(name)).then_some((before, owner, name))
    }
}

impl fmt::Display for RemoteUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for RemoteUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RemoteUrl({})", self.0)
    }
}

/// The host of an address, with a port that is not the scheme's own.
pub(super) fn host_of(url: &Url) -> Option<String> {
    let port = url.port().map(|p| format!(":{p}")).unwrap_or_default();
    url.host_str().filter(|host| !host.is_empty()).map(|host| format!("{host}{port}"))
}

/// The first forge that could have started this job.
pub(super) fn running_on(environment: &Environment) -> Option<&'static Kind> {
    KINDS.iter().copied().find(|kind| environment.get(kind.runner.inside.name) == Some("true"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remote(text: &str) -> RemoteUrl {
        RemoteUrl::parse(text).unwrap()
    }

    #[test]
    fn urls_and_paths_are_told_apart() {
        let parse = |text: &str| Repository::parse(text).unwrap();
        for url in ["https://github.com/o/n", "git@github.com:o/n.git", "file:///a/b", "ssh://git@h/o/n"] {
            assert!(matches!(parse(url), Repository::Remote(_)), "{url}");
        }
        for path in [".", "../a", "/a/b.git", "a:b", "./git@x:y"] {
            assert!(matches!(parse(path), Repository::Path(_)), "{path}");
        }
    }

    #[test]
    fn a_password_in_a_url_is_refused_and_not_shown() {
        for url in
            ["https://me:s3cret@github.com/o/n", "https://s3cret@github.com/o/n", "ssh://git:s3cret@h/o/n"]
        {
            let error = Repository::parse(url).unwrap_err();
            assert!(!format!("{error:?}").contains("s3cret"), "{error:?}");
            assert_eq!(error.exit().code(), 2);
        }
        assert!(Repository::parse("ftp://h/o/n").is_err() && Repository::parse("https://").is_err());
        assert!(Repository::parse("").is_err() && Repository::parse("https://h/a b").is_err());
    }

    #[test]
    fn owner_and_name_are_the_last_two_parts() {
        let pair = |text: &str| remote(text).parts().map(|(_, o, n)| (o.to_owned(), n.to_owned()));
        let expected = Some(("o".to_owned(), "n".to_owned()));
        for url in ["https://github.com/o/n", "https://github.com/o/n.git/", "git@github.com:o/n.git"] {
            assert_eq!(pair(url), expected, "{url}");
        }
        assert_eq!(pair("http://127.0.0.1:8080/git/o/n.git"), expected);
        assert_eq!(pair("https://github.com/n"), None);
        assert_eq!(pair("https://github.com/o/.."), None);
    }
}
