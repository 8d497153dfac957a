//! Where each feed is read from: an address, a file, or nowhere.
//!
//! In: the operator's text. Out: [`SourceSetting`] and [`Sources`]. Nothing is read here.

use std::{fmt, path::PathBuf, str::FromStr, sync::Arc};

use secrecy::SecretString;
use url::Url;

use super::Mirror;
use crate::{
    oci::{Address, Registries},
    sys::http::shown,
};

/// Where Linkerd says which release is the newest.
pub const VERSIONCHECK: &str = "https://versioncheck.linkerd.io/version.json";
/// Where Linkerd serves the charts of the edge channel.
pub const CHARTS: &str = "https://helm.linkerd.io/edge/index.yaml";
/// Where Linkerd publishes releases.
pub const RELEASES: &str = "https://api.github.com/repos/linkerd/linkerd2/releases";

/// Where one feed is read from.
///
/// ```
/// use uplinker::release::SourceSetting;
/// assert_eq!("off".parse(), Ok(SourceSetting::Off));
/// assert!(matches!("file:///feeds/index.yaml".parse(), Ok(SourceSetting::File(_))));
/// assert!("helm.linkerd.io/edge".parse::<SourceSetting>().is_err());
/// ```
#[derive(Clone, PartialEq, Eq)]
pub enum SourceSetting {
    /// An `https` or `http` address.
    Url(Url),
    /// A path in a registry, for charts alone.
    Oci(Address),
    /// A file, absolute.
    File(PathBuf),
    /// Not read at all.
    Off,
}

/// Text that names no source: the operator's fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a source; give an https address, `file:///path`, or `off`")]
pub struct BadSource(pub String);

/// Where all feeds are read from; the default is Linkerd's own places.
#[derive(Clone, Debug)]
pub struct Sources {
    /// `version.json`.
    pub versioncheck: SourceSetting,
    /// The Helm index.
    pub charts: SourceSetting,
    /// GitHub's list of releases, or the API's root, to which the rest of the path is added.
    pub releases: SourceSetting,
    /// Facts of the operator, added to the built-in ones; `Off` leaves those alone.
    pub milestones: SourceSetting,
    /// Mirrors of the charts, beside the index.
    pub mirrors: Vec<Mirror>,
    /// What registries are told of who asks.
    pub registries: Arc<Registries>,
    /// A token for the host of `releases`, and for no other.
    pub releases_token: Option<SecretString>,
}

// === impl SourceSetting ===

impl SourceSetting {
    /// Returns the address to read, or why a path has none; `None` when the source is off.
    pub fn address(&self) -> Option<Result<Url, BadSource>> {
        match self {
            Self::Url(url) => Some(Ok(url.clone())),
            Self::Oci(address) => {
                Some(Url::parse(&address.to_string()).map_err(|_| BadSource(self.to_string())))
            }
            // A relative path has no address; parsing never makes one.
            Self::File(path) => Some(Url::from_file_path(path).map_err(|()| BadSource(self.to_string()))),
            Self::Off => None,
        }
    }

    /// Says whether the source is off.
    pub fn is_off(&self) -> bool {
        *self == Self::Off
    }

    fn built_in(text: &str) -> Self {
        text.parse().unwrap_or(Self::Off)
    }
}

impl FromStr for SourceSetting {
    type Err = BadSource;

    fn from_str(text: &str) -> Result<Self, BadSource> {
        let bad = || BadSource(Url::parse(text).map_or_else(|_| text.to_owned(), |url| shown(&url)));
        if text == "off" {
            return Ok(Self::Off);
        }
        if let Some(address) = Address::parse(text) {
            return Ok(Self::Oci(address));
        }
        let url = Url::parse(text).map_err(|_| bad())?;
        match url.scheme() {
            "https" | "http" if url.has_host() => Ok(Self::Url(url)),
            "file" => url.to_file_path().map(Self::File).map_err(|()| bad()),
            _ => Err(bad()),
        }
    }
}

impl fmt::Display for SourceSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(url) => f.write_str(&shown(url)),
            Self::Oci(address) => write!(f, "{address}"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Off => f.write_str("off"),
        }
    }
}

// An address may hold a password.
impl fmt::Debug for SourceSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

// === impl Sources ===

impl Default for Sources {
    fn default() -> Self {
        Self {
            versioncheck: SourceSetting::built_in(VERSIONCHECK),
            charts: SourceSetting::built_in(CHARTS),
            releases: SourceSetting::built_in(RELEASES),
            milestones: SourceSetting::Off,
            mirrors: Vec::new(),
            registries: Arc::default(),
            releases_token: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_sources_are_addresses() {
        let sources = Sources::default();
        for source in [&sources.versioncheck, &sources.charts, &sources.releases] {
            assert!(source.to_string().starts_with("https://"), "{source}");
        }
    }

    #[test]
    fn what_is_no_source_is_refused_without_its_password() {
        for text in ["", "index.yaml", "ftp://me:hunter2@example.com/", "https://", "Off"] {
            let error = text.parse::<SourceSetting>().map(|s| s.to_string());
            assert!(error.as_ref().is_err_and(|e| !e.to_string().contains("hunter2")), "{text}: {error:?}");
        }
        let secret: SourceSetting = "https://me:hunter2@example.com/i?sig=hunter2".parse().unwrap();
        assert_eq!(format!("{secret:?}"), "https://example.com/i");
    }

    #[test]
    fn a_file_becomes_its_address() {
        let source: SourceSetting = "file:///a%20b/index.yaml".parse().unwrap();
        assert_eq!(source, SourceSetting::File("/a b/index.yaml".into()));
        assert_eq!(source.address().unwrap().unwrap().as_str(), "file:///a%20b/index.yaml");
        assert!(SourceSetting::File("index.yaml".into()).address().unwrap().is_err());
    }
}
