//! A mirror of the edge charts, as the operator names it, and what lies in it.
//!
//! In: the operator's text, and an address that a pin has its chart from. Out: where the mirror is asked. Pure.

use std::{fmt, str::FromStr};

use url::Url;

use crate::{
    oci::Address,
    sys::{http::shown, secrets::without_userinfo},
};

/// A mirror that the operator has named: a Helm repository, or a registry.
///
/// ```
/// use uplinker::release::Mirror;
/// let mirror: Mirror = "https://charts.example.com/linkerd/index.yaml".parse().unwrap();
/// assert_eq!(mirror.to_string(), "https://charts.example.com/linkerd");
/// let mirror: Mirror = "oci://registry.example.com/charts/".parse().unwrap();
/// assert_eq!(mirror.to_string(), "oci://registry.example.com/charts");
/// assert!("charts.example.com".parse::<Mirror>().is_err());
/// ```
#[derive(Clone, PartialEq, Eq)]
pub enum Mirror {
    /// A Helm repository, with an index.
    Index(Url),
    /// A path in a registry.
    Registry(Address),
}

/// Where a mirror is asked for a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AskedAt {
    /// At this index.
    Index(Url),
    /// In this repository.
    Repository(Address),
}

/// Text that names no mirror: the operator's fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{address}` {reason}")]
pub struct BadMirror {
    /// What was given, without a password.
    pub address: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

// === impl Mirror ===

impl Mirror {
    /// Returns where a chart from an address is asked for, where that is this mirror or lies below it. What a pin names
    /// chooses the path alone, and that only in plain letters.
    pub(super) fn place(&self, address: &str, chart: &str) -> Option<AskedAt> {
        match self {
            Self::Index(mirror) => index_below(mirror, address).map(AskedAt::Index),
            Self::Registry(mirror) => {
                let address = Address::parse(address).filter(|address| address.lies_in(mirror))?;
                Some(AskedAt::Repository(address.of_chart(chart)))
            }
        }
    }
}

/// Returns the index of a repository that is a mirror or lies below it.
fn index_below(mirror: &Url, address: &str) -> Option<Url> {
    let mut url = Url::parse(address).ok()?;
    let plain = |segment: &str| {
        let odd = |c: char| !c.is_ascii_alphanumeric() && !matches!(c, '.' | '-' | '_' | '~');
        !segment.is_empty() && !segment.contains(odd)
    };
    let bare = url.username().is_empty() && url.password().is_none() && url.query().is_none();
    let below = url.path().trim_end_matches('/').strip_prefix(mirror.path().trim_end_matches('/'))?;
    let inside = below.is_empty() || below.strip_prefix('/')?.split('/').all(plain);
    if url.origin() != mirror.origin() || !bare || !inside || url.fragment().is_some() {
        return None;
    }
    let index = format!("{}/index.yaml", url.path().trim_end_matches('/'));
    url.set_path(&index);
    Some(url)
}

impl FromStr for Mirror {
    type Err = BadMirror;

    fn from_str(text: &str) -> Result<Self, BadMirror> {
        let wrong = |address: String, reason| BadMirror { address, reason };
        if let Some(address) = Address::parse(text) {
            return Ok(Self::Registry(address));
        }
        let mut url = Url::parse(text).map_err(|_| wrong(without_userinfo(text), "is no mirror"))?;
        if !matches!(url.scheme(), "https" | "http") {
            return Err(wrong(shown(&url), "is no mirror"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong(
                shown(&url),
                "carries a password, which other users of this machine could read",
            ));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(wrong(shown(&url), "has more than a path behind its host"));
        }
        let path = url.path().trim_end_matches('/').trim_end_matches("/index.yaml").to_owned();
        url.set_path(&path);
        Ok(Self::Index(url))
    }
}

impl fmt::Display for Mirror {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index(url) => f.write_str(shown(url).trim_end_matches('/')),
            Self::Registry(address) => write!(f, "{address}"),
        }
    }
}

impl fmt::Debug for Mirror {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_in_a_mirror_is_asked() {
        let mirror: Mirror = "https://m.example/l5d/".parse().unwrap();
        let index = |address: &str| match mirror.place(address, "linkerd-crds") {
            Some(AskedAt::Index(url)) => Some(url.to_string()),
            Some(AskedAt::Repository(address)) => panic!("{address}"),
            None => None,
        };
        assert_eq!(index("https://m.example/l5d").as_deref(), Some("https://m.example/l5d/index.yaml"));
        assert_eq!(
            index("https://m.example/l5d/a/b/").as_deref(),
            Some("https://m.example/l5d/a/b/index.yaml")
        );
        for other in [
            "https://m.example/l5d-evil",
            "https://m.example/l5d/../x",
            "https://m.example/l5d/%2e%2e/x",
            "https://m.example/l5d/a%2fb",
            "https://m.example/l5d//x",
            "https://m.example/l5d?x",
            "https://m.example/l5d#x",
            "https://m.example:8443/l5d",
            "http://m.example/l5d",
            "https://me@m.example/l5d",
            "https://m.example.evil/l5d",
            "oci://m.example/l5d",
            "m.example/l5d",
        ] {
            assert_eq!(index(other), None, "{other}");
        }
    }

    #[test]
    fn a_registry_is_asked_below_its_path_alone() {
        let mirror: Mirror = "oci://cr.example/l5d".parse().unwrap();
        let place = |address: &str| match mirror.place(address, "linkerd-crds") {
            Some(AskedAt::Repository(address)) => Some(address.to_string()),
            _ => None,
        };
        let crds = Some("oci://cr.example/l5d/linkerd-crds".to_owned());
        assert_eq!(
            (place("oci://cr.example/l5d"), place("oci://cr.example/l5d/linkerd-crds")),
            (crds.clone(), crds)
        );
        for other in [
            "oci://cr.example/l5d-evil",
            "oci://cr.example/l5d/../x",
            "oci://evil.example/l5d",
            "https://cr.example/l5d",
        ] {
            assert_eq!(place(other), None, "{other}");
        }
    }

    #[test]
    fn what_is_no_mirror_is_refused_without_its_password() {
        for text in [
            "",
            "off",
            "file:///a",
            "m.example",
            "https://me:hunter2@m.example/",
            "https://m.example/?q=hunter2",
        ] {
            let error = text.parse::<Mirror>().map(|m| m.to_string()).unwrap_err();
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
    }
}
