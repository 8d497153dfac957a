//! What was asked for, ready to use: checked, with defaults, inferred where the environment tells.
//!
//! In: arguments and the environment as values. Out: requests for the pipeline. Only the token's file is read.

mod place;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use url::Url;

use super::{
    Error,
    args::{AccessArgs, NetworkArgs, RepositoryArgs},
};
use crate::{
    release::EdgeVersion,
    sys::{env::Environment, secrets::Token},
};

pub use place::{Forge, ForgeSettings, RemoteUrl, Repository};

/// Where Linkerd says which release is the newest.
pub(super) const VERSIONCHECK: &str = "https://versioncheck.linkerd.io/version.json";
/// Where Linkerd serves the charts of the edge channel.
pub(super) const CHARTS: &str = "https://helm.linkerd.io/edge/index.yaml";
/// Where Linkerd publishes releases.
pub(super) const RELEASES: &str = "https://api.github.com/repos/linkerd/linkerd2/releases";

/// One pass: read, decide, edit, verify, push, propose.
#[derive(Clone, Debug)]
pub struct RunRequest {
    /// The repository.
    pub repository: Repository,
    /// Where its pull requests live.
    pub forge: ForgeSettings,
    /// The token for Git and the forge.
    pub token: Option<Token>,
    /// The feeds and the cache.
    pub network: Network,
    /// `--to`.
    pub to: Option<EdgeVersion>,
}

/// The same with no write.
#[derive(Clone, Debug)]
pub struct PlanRequest {
    /// All that a run is given.
    pub run: RunRequest,
}

/// Every pin and every skip.
#[derive(Clone, Debug)]
pub struct PinsRequest {
    /// The repository; of a path the HEAD commit is read, and no network is used.
    pub repository: Repository,
    /// The token for Git.
    pub token: Option<Token>,
    /// Certificate authorities and the cache.
    pub ca_file: Option<PathBuf>,
    /// The cache's folder; `None` keeps nothing on disk.
    pub cache_dir: Option<PathBuf>,
    /// `--to`.
    pub to: Option<EdgeVersion>,
}

/// The catalog.
#[derive(Clone, Debug)]
pub struct ReleasesRequest {
    /// The feeds and the cache.
    pub network: Network,
    /// The token, for a feed on its own host alone.
    pub token: Option<Token>,
}

/// Many repositories, again and again.
#[derive(Clone, Debug)]
pub struct ServeRequest {
    /// One run for each repository.
    pub runs: Vec<RunRequest>,
    /// The time from one pass to the next.
    pub interval: Duration,
}

/// A throw-away repository with a release feed of its own.
#[derive(Clone, Debug)]
pub struct Demo {
    /// Where everything is.
    pub directory: PathBuf,
    /// The run on it.
    pub run: RunRequest,
}

/// The feeds and the cache.
#[derive(Clone, Debug)]
pub struct Network {
    /// Where releases are learnt from.
    pub feeds: Feeds,
    /// The cache's folder; `None` keeps nothing on disk.
    pub cache_dir: Option<PathBuf>,
    /// Certificate authorities beside the system's.
    pub ca_file: Option<PathBuf>,
}

/// Where releases are learnt from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feeds {
    /// Names the newest release.
    pub versioncheck: Source,
    /// The Helm index.
    pub charts: Source,
    /// Dates, notes and advice.
    pub releases: Source,
    /// Milestones and notices beside the built-in ones.
    pub milestones: Source,
}

/// Where one feed is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// At this address.
    Url(Url),
    /// In this file.
    File(PathBuf),
    /// Nowhere: it is not read.
    Off,
}

// === impl RunRequest ===

impl RunRequest {
    /// Makes the request of what was typed.
    pub(super) fn new(
        repository: &RepositoryArgs,
        network: NetworkArgs,
        to: Option<EdgeVersion>,
        environment: &Environment,
    ) -> Result<Self, Error> {
        let place = Repository::of(repository.repo.as_deref(), environment)?;
        Self::of(place, &repository.access, network, to, environment)
    }

    /// Makes the request for a repository that is known already.
    pub(super) fn of(
        repository: Repository,
        access: &AccessArgs,
        network: NetworkArgs,
        to: Option<EdgeVersion>,
        environment: &Environment,
    ) -> Result<Self, Error> {
        Ok(Self {
            repository,
            forge: ForgeSettings::of(access, environment)?,
            token: Token::find(access.token_file.as_deref(), environment)?,
            network: Network::of(network, environment)?,
            to,
        })
    }
}

// === impl Network, Source ===

impl Network {
    /// Makes the settings of what was typed.
    pub(super) fn of(args: NetworkArgs, environment: &Environment) -> Result<Self, Error> {
        let feeds = Feeds {
            versioncheck: Source::of("--versioncheck-url", &args.versioncheck_url)?,
            charts: Source::of("--charts-url", &args.charts_url)?,
            releases: Source::of("--releases-url", &args.releases_url)?,
            milestones: Source::of("--milestones-url", &args.milestones_url)?,
        };
        let cache_dir = cache_dir(args.cache_dir.as_deref(), args.no_cache, environment);
        Ok(Self { feeds, cache_dir, ca_file: args.ca_file })
    }
}

impl Source {
    fn of(flag: &str, text: &str) -> Result<Self, Error> {
        if text == "off" {
            return Ok(Self::Off);
        }
        let wrong = |reason: &str| {
            let shown = crate::sys::secrets::without_userinfo(text);
            Error::usage(format!("{flag}: `{shown}` {reason}"))
                .hint("write a URL with https://, a file with file:///absolute/path, or `off`")
        };
        let url = Url::parse(text).map_err(|_| wrong("is not a URL"))?;
        match url.scheme() {
            "file" => url.to_file_path().map(Self::File).map_err(|()| wrong("is not a file on this machine")),
            "http" | "https" if url.host_str().is_none() => Err(wrong("has no host")),
            "http" | "https" if !url.username().is_empty() || url.password().is_some() => {
                Err(wrong("carries a password, which other users of this machine could read"))
            }
            "http" | "https" => Ok(Self::Url(url)),
            _ => Err(wrong("has a scheme that is not read")),
        }
    }
}

/// Chooses the cache's folder: as named, else in the user's cache folder, else none.
pub(super) fn cache_dir(named: Option<&Path>, no_cache: bool, environment: &Environment) -> Option<PathBuf> {
    let absolute = |name: &str| environment.path(name).filter(|path| path.is_absolute());
    let own = || {
        let home = || absolute("HOME").map(|home| home.join(".cache"));
        absolute("XDG_CACHE_HOME").or_else(home).map(|dir| dir.join("uplinker"))
    };
    if no_cache { None } else { named.map(Path::to_owned).or_else(own) }
}

/// Returns the token for what is only read.
pub(super) fn token(file: Option<&Path>, environment: &Environment) -> Result<Option<Token>, Error> {
    Ok(Token::find(file, environment)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feeds_are_addresses_files_or_off() {
        let of = |text: &str| Source::of("--charts-url", text);
        assert_eq!(of("off").unwrap(), Source::Off);
        assert_eq!(of("file:///a/b%20c").unwrap(), Source::File("/a/b c".into()));
        assert!(matches!(of("https://h/index.yaml").unwrap(), Source::Url(_)));
        for bad in ["", "index.yaml", "ftp://h/x", "/a/b", "https://"] {
            assert_eq!(of(bad).unwrap_err().exit().code(), 2, "{bad}");
        }
        let error = of("https://me:s3cret@h/x").unwrap_err();
        assert!(!error.message.contains("s3cret") && error.message.contains("carries a password"));
    }

    #[test]
    fn the_cache_is_where_it_is_named() {
        let environment = Environment::of([("HOME", "/home/a"), ("XDG_CACHE_HOME", "relative")]);
        assert_eq!(cache_dir(None, false, &environment), Some("/home/a/.cache/uplinker".into()));
        let xdg = Environment::of([("HOME", "/home/a"), ("XDG_CACHE_HOME", "/c")]);
        assert_eq!(cache_dir(None, false, &xdg), Some("/c/uplinker".into()));
        assert_eq!(cache_dir(Some(Path::new("x")), false, &xdg), Some("x".into()));
        assert_eq!(cache_dir(Some(Path::new("x")), true, &xdg), None);
        assert_eq!(cache_dir(None, false, &Environment::default()), None);
    }
}
