//! Addresses of repositories in registries, such as `oci://registry.example.com/charts/linkerd-crds`.

use std::fmt;

use url::Url;

/// A registry, and a path in it: a repository, or what several have in common.
///
/// ```
/// use uplinker::oci::Address;
/// let charts = Address::parse("oci://Registry.example.com:443/charts/").unwrap();
/// assert_eq!(charts.below("linkerd-crds").to_string(), "oci://registry.example.com/charts/linkerd-crds");
/// assert!(charts.below("linkerd-crds").lies_in(&charts));
/// assert_eq!(Address::parse("oci://registry.example.com/../charts"), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// The host, with its port where that is not the usual one.
    host: String,
    /// The path, without slashes around it; may be empty.
    path: String,
}

/// Docker Hub, as it is written and as it is asked.
const HUB: [&str; 3] = ["docker.io", "index.docker.io", "registry-1.docker.io"];

// === impl Address ===

impl Address {
    /// Reads an address; `None` for what is none, or names more than a host and a path in plain letters.
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("oci://")?;
        let url = Url::parse(&format!("https://{rest}")).ok()?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        // The parser would take what follows more slashes for the host, and leave line breaks out.
        let odd = |c: char| !c.is_ascii_graphic() || matches!(c, '@' | '\\' | '?' | '#');
        let bare = !authority.is_empty() && !authority.contains(odd) && url.has_host();
        let path = path.strip_suffix('/').unwrap_or(path);
        if !bare || !(path.is_empty() || path.split('/').all(is_name)) {
            return None;
        }
        Some(Self { host: registry(&authority_of(&url)), path: path.to_owned() })
    }

    /// Returns the host, with its port where that is not the usual one.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the path.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the repository of that name below this one.
    #[must_use]
    pub fn below(&self, name: &str) -> Self {
        let path = if self.path.is_empty() { name.to_owned() } else { format!("{}/{name}", self.path) };
        Self { host: self.host.clone(), path }
    }

    /// Tells whether this is another address, or lies below it: by whole segments.
    pub fn lies_in(&self, other: &Self) -> bool {
        let below = self.path.strip_prefix(&other.path);
        let below =
            below.is_some_and(|rest| other.path.is_empty() || rest.is_empty() || rest.starts_with('/'));
        self.host == other.host && below
    }

    /// Returns the repository of a chart: deployers name it with the chart's name, or without.
    #[must_use]
    pub fn of_chart(&self, chart: &str) -> Self {
        let last = self.path.rsplit('/').next();
        if last == Some(chart) { self.clone() } else { self.below(chart) }
    }

    /// Returns the address of a request; a registry on this machine is asked by plain HTTP, as other clients do it.
    pub(super) fn request(&self, rest: &str) -> Option<Url> {
        let secure = Url::parse(&format!("https://{}/", self.host)).ok()?;
        let local = match secure.host()? {
            url::Host::Domain(name) => name == "localhost",
            url::Host::Ipv4(address) => address.is_loopback(),
            url::Host::Ipv6(address) => address.is_loopback(),
        };
        let scheme = if local { "http" } else { "https" };
        Url::parse(&format!("{scheme}://{}/v2/{}/{rest}", self.host, self.path)).ok()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slash = if self.path.is_empty() { "" } else { "/" };
        write!(f, "oci://{}{slash}{}", self.host, self.path)
    }
}

/// Returns host and port of an address, without the usual port.
pub(super) fn authority_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// Returns the host that answers for a registry.
pub(super) fn registry(host: &str) -> String {
    if HUB.contains(&host) { "registry-1.docker.io".to_owned() } else { host.to_owned() }
}

/// Tells whether a text is one segment of a repository's name.
fn is_name(segment: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let ends = segment.bytes().next().is_some_and(plain) && segment.bytes().last().is_some_and(plain);
    ends && !segment.contains("..") && segment.bytes().all(|b| plain(b) || matches!(b, b'.' | b'_' | b'-'))
}

/// Returns the tag of a chart's version: a tag has no `+`.
pub fn tag_of(version: &str) -> String {
    version.replace('+', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_host_and_a_plain_path_are_an_address() {
        let shown = |text: &str| Address::parse(text).map(|address| address.to_string());
        assert_eq!(shown("oci://cr.example.com").as_deref(), Some("oci://cr.example.com"));
        assert_eq!(
            shown("oci://CR.example.com:5000/a/b-c_d.e/").as_deref(),
            Some("oci://cr.example.com:5000/a/b-c_d.e")
        );
        assert_eq!(shown("oci://docker.io/acme").as_deref(), Some("oci://registry-1.docker.io/acme"));
        for bad in [
            "https://cr.example.com/a",
            "cr.example.com/a",
            "oci://",
            "oci:///a",
            "oci://me@cr.example.com/a",
            "oci://me:pw@cr.example.com/a",
            "oci://cr.example.com/a/../b",
            "oci://cr.example.com/a//b",
            "oci://cr.example.com/A",
            "oci://cr.example.com/a%2fb",
            "oci://cr.example.com/a?b",
            "oci://cr.example.com/a#b",
            "oci://cr.example.com/a:tag",
            "oci://cr.example.com/a@sha256:0",
            "oci://cr.example.com\\@evil.example/a",
            "oci://cr.example.com?x/a",
            "oci://cr.example.com/.a",
        ] {
            assert_eq!(shown(bad), None, "{bad}");
        }
    }

    #[test]
    fn below_is_by_segments_and_by_host() {
        let address = |text: &str| Address::parse(text).unwrap();
        let mirror = address("oci://cr.example.com/l5d");
        assert!(address("oci://cr.example.com/l5d/x").lies_in(&mirror) && mirror.lies_in(&mirror));
        assert!(mirror.lies_in(&address("oci://cr.example.com")));
        for other in
            ["oci://cr.example.com/l5d-evil", "oci://cr.example.com:5000/l5d", "oci://cr.example.com"]
        {
            assert!(!address(other).lies_in(&mirror), "{other}");
        }
        assert_eq!(mirror.of_chart("l5d"), mirror);
        assert_eq!(mirror.of_chart("linkerd-crds").path(), "l5d/linkerd-crds");
    }

    #[test]
    fn this_machine_alone_is_asked_in_plain_text() {
        let asked = |text: &str| Address::parse(text).unwrap().request("tags/list").unwrap().to_string();
        assert_eq!(asked("oci://cr.example.com/a"), "https://cr.example.com/v2/a/tags/list");
        assert_eq!(asked("oci://127.0.0.1:5000/a"), "http://127.0.0.1:5000/v2/a/tags/list");
        assert_eq!(asked("oci://localhost:5000/a"), "http://localhost:5000/v2/a/tags/list");
        assert_eq!(asked("oci://127.0.0.1.example.com/a"), "https://127.0.0.1.example.com/v2/a/tags/list");
    }
}
