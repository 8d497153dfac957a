//! Step 5, pins: whether a chart is Linkerd's, by its name, where it comes from, and its version scheme together.
//!
//! In: a chart's name, the address of its repository, the version text. Out: [`Ours`], or `None` for a chart of
//! somebody else. An address is only compared, never contacted.

use url::Url;

use super::{
    Reason,
    found::Spec,
    version_text::{Expects, Judged, judge},
};
use crate::{
    deploy::{ChartRelease, Scalar, chart::Repository},
    linkerd::{self, CHARTS, EDGE_CHARTS, retired_chart},
};

/// The host of the repositories of Linkerd's own charts.
const HOST: &str = "helm.linkerd.io";

/// Where a chart is said to come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// A chart repository or registry.
    Address(String),
    /// The repository does not say.
    Unknown,
    /// The same tree, or something that is no chart repository.
    Local,
}

/// A chart of Linkerd's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ours {
    /// Its name.
    pub chart: String,
    /// The mirror that it comes from, if any.
    pub mirror: Option<String>,
    /// Why it stays, whatever its version.
    pub stays: Option<Reason>,
    /// Whether its version is one of the edge channel, and does not say so.
    pub is_unmarked: bool,
}

/// The prefix of Buoyant Enterprise for Linkerd's charts.
pub(super) const ENTERPRISE: &str = "linkerd-enterprise";

// === impl Origin ===

impl Origin {
    /// Reads where a deployer has a chart from.
    pub fn of(repository: &Repository) -> Self {
        match repository {
            // An address with a secret in it is shown nobody.
            Repository::Address(address) if address.withheld_by().is_none() => {
                Self::Address(address.text().into_owned())
            }
            Repository::Address(_) => Self::Unknown,
            Repository::Git(_) => Self::Local,
            Repository::Unknown(_) => Self::Unknown,
        }
    }

    /// Tells whether all charts there are Linkerd's.
    pub fn is_edge(&self, mirrors: &[String]) -> bool {
        let is_mirror = |url: &str| mirrors.iter().any(|mirror| lies_in(url, mirror));
        matches!(self, Self::Address(url) if is_edge(url) || is_mirror(url))
    }
}

// === impl Ours ===

impl Ours {
    /// Judges the chart of a release.
    pub fn of(release: &ChartRelease, mirrors: &[String]) -> Option<Self> {
        let origin = Origin::of(&release.repository);
        let version = release.version.as_ref().map(Scalar::text).unwrap_or_default();
        Self::judge(&release.chart.known()?, &origin, &version, mirrors)
    }

    /// Judges a chart.
    pub fn judge(chart: &str, origin: &Origin, version: &str, mirrors: &[String]) -> Option<Self> {
        let current = CHARTS.contains(&chart);
        let retired = retired_chart(chart).is_some();
        if chart.starts_with(ENTERPRISE) {
            return Some(Self::new(chart, Some(Reason::Channel)));
        }
        // A chart called `jaeger` is Linkerd's nowhere but in Linkerd's repository.
        let generic = !chart.contains("linkerd");
        let own = |origin: &Origin| matches!(origin, Origin::Address(url) if is_edge(url));
        if !(current || retired) || (generic && !own(origin)) {
            return None;
        }
        let retirement = retired.then_some(Reason::RetiredChart);
        let (mirror, stays) = match origin {
            Origin::Local => return None,
            Origin::Address(url) if is_edge(url) => (None, None),
            Origin::Address(url) if is_other_channel(url) || is_disguised(url) => {
                (None, Some(Reason::Channel))
            }
            Origin::Address(url) => {
                let known = mirrors.iter().any(|mirror| lies_in(url, mirror));
                let stays = (!known && !has_our_scheme(version)).then_some(Reason::Channel);
                (Some(url.clone()), stays)
            }
            Origin::Unknown => (None, (!has_our_scheme(version)).then_some(Reason::Channel)),
        };
        let is_unmarked = origin.is_edge(mirrors) && linkerd::is_unmarked(chart, version);
        Some(Self { chart: chart.to_owned(), mirror, stays: retirement.or(stays), is_unmarked })
    }

    /// Fills in a spec.
    pub fn fill(&self, spec: Spec) -> Spec {
        let is_old = self.is_unmarked && spec.expects == Expects::Chart;
        let expects = if is_old { Expects::OldChart } else { spec.expects };
        Spec { expects, chart: Some(self.chart.clone()), mirror: self.mirror.clone(), ..spec }
            .staying(self.stays)
    }

    /// One that comes from no mirror, and stays for a reason or moves.
    pub fn new(chart: &str, stays: Option<Reason>) -> Self {
        Self { chart: chart.to_owned(), mirror: None, stays, is_unmarked: false }
    }
}

/// Tells whether an address is the edge channel's repository itself.
fn is_edge(url: &str) -> bool {
    let plain = canonical(url);
    plain == EDGE_CHARTS || plain.strip_prefix("http://") == EDGE_CHARTS.strip_prefix("https://")
}

/// Tells whether an address is that of a repository of Linkerd's own charts, of whatever channel.
pub(super) fn is_linkerds(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| url.host_str() == Some(HOST))
}

/// Tells whether an address is one of Linkerd's or Buoyant's that is not the edge channel.
fn is_other_channel(url: &str) -> bool {
    let host = Url::parse(url).ok().and_then(|u| u.host_str().map(str::to_owned)).unwrap_or_default();
    host == HOST || host == "buoyant.io" || host.ends_with(".buoyant.io") || host == "helm.buoyant.cloud"
}

/// Tells whether an address hides its host behind `user@` or is link-local.
fn is_disguised(url: &str) -> bool {
    let full = if url.contains("://") { url.to_owned() } else { format!("oci://{url}") };
    let Ok(parsed) = Url::parse(&full) else { return true };
    let host = parsed.host_str().unwrap_or_default().trim_matches(['[', ']']).to_ascii_lowercase();
    let authority = full.split_once("://").map_or("", |(_, rest)| rest);
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    authority.contains('@')
        || authority.contains('\\')
        || host.starts_with("169.254.")
        || host.starts_with("fe80:")
}

/// Tells whether a version, or what a constraint or variable may become, counts as the edge charts do.
fn has_our_scheme(version: &str) -> bool {
    match judge(version, Expects::Chart) {
        Judged::Version(text) => match text.stays {
            None => text.version.is_some() || version.trim_end().ends_with("-edge"),
            Some(reason) => reason != Reason::Channel,
        },
        Judged::Reads(_) | Judged::Nothing => true,
    }
}

/// Tells whether an address is that of a repository, or one below it: by whole segments of the path.
pub fn lies_in(url: &str, repository: &str) -> bool {
    let (url, repository) = (canonical(url), canonical(repository));
    url.strip_prefix(&repository).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Writes the address of a chart repository in one form: scheme and host in lower case, no usual port, no index, and
/// `oci://` where nothing is said, as Argo CD has it.
pub fn canonical(url: &str) -> String {
    let trimmed = url.trim().trim_end_matches('/');
    let trimmed = trimmed.strip_suffix("/index.yaml").unwrap_or(trimmed).trim_end_matches('/');
    match trimmed.split_once("://") {
        Some((scheme, rest)) => {
            let (host, path) = rest.split_once('/').map_or((rest, None), |(h, p)| (h, Some(p)));
            let scheme = scheme.to_ascii_lowercase();
            let usual = match scheme.as_str() {
                "http" => ":80",
                _ => ":443",
            };
            let host = host.strip_suffix(usual).unwrap_or(host).to_ascii_lowercase();
            path.map_or(format!("{scheme}://{host}"), |path| format!("{scheme}://{host}/{path}"))
        }
        None => canonical(&format!("oci://{trimmed}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(chart: &str, url: &str, version: &str) -> Option<Ours> {
        Ours::judge(
            chart,
            &Origin::Address(url.to_owned()),
            version,
            &["https://mirror.example/l5d".to_owned()],
        )
    }

    fn stays(chart: &str, url: &str, version: &str) -> Option<Reason> {
        at(chart, url, version).unwrap().stays
    }

    #[test]
    fn name_address_and_scheme_decide_together() {
        assert_eq!(stays("linkerd-viz", "https://helm.linkerd.io/edge/", "2026.8.2"), None);
        assert_eq!(stays("linkerd-viz", "HTTPS://Helm.Linkerd.io/edge", "1.9.5-edge"), None);
        assert_eq!(stays("linkerd-viz", "https://helm.linkerd.io/stable", "30.12.11"), Some(Reason::Channel));
        assert_eq!(stays("linkerd-viz", "https://charts.example.com/all", "30.12.11"), Some(Reason::Channel));
        assert_eq!(stays("linkerd-viz", "https://mirror.example/l5d/x", "30.12.11"), None);
        assert_eq!(
            stays("linkerd-enterprise-crds", "https://helm.buoyant.cloud", "2.18.0"),
            Some(Reason::Channel)
        );
        assert_eq!(at("billing-calendar", "https://helm.linkerd.io/edge", "2026.8.2"), None);
        let mirror = at("linkerd-crds", "https://charts.example.com/all", "2026.8.2").unwrap();
        assert_eq!((mirror.mirror.as_deref(), mirror.stays), (Some("https://charts.example.com/all"), None));
    }

    #[test]
    fn old_charts_of_the_edge_channel_need_not_say_so() {
        let is_unmarked = |url: &str, version: &str| at("linkerd-crds", url, version).unwrap().is_unmarked;
        assert!(is_unmarked("https://helm.linkerd.io/edge", "1.8.0"));
        assert!(is_unmarked("https://mirror.example/l5d", "1.8.0"), "it is that repository by another name");
        assert!(!is_unmarked("https://helm.linkerd.io/edge", "1.6.1"), "that repository never had it");
        assert!(!is_unmarked("https://helm.linkerd.io/stable", "1.8.0"));
    }

    #[test]
    fn a_repository_is_told_by_whole_segments() {
        let mirror = "https://M.example:443/l5d/";
        assert!(lies_in("https://m.example/l5d", mirror) && lies_in("https://m.example/l5d/edge/", mirror));
        assert!(lies_in("https://m.example/l5d/index.yaml", mirror));
        for other in ["https://m.example/l5d-evil", "https://m.example.evil/l5d", "http://m.example/l5d"] {
            assert!(!lies_in(other, mirror), "{other}");
        }
        assert!(lies_in("https://m.example/l5d", "https://m.example"));
        assert!(!lies_in("https://m.example.evil", "https://m.example"));
        assert!(lies_in("cr.example.com/charts", "oci://CR.example.com/charts"));
        assert_eq!(
            stays("linkerd-viz", "https://mirror.example/l5d-evil", "30.12.11"),
            Some(Reason::Channel)
        );
    }

    #[test]
    fn disguised_hosts_are_not_ours() {
        for url in [
            "https://helm.linkerd.io@evil.example/edge",
            "https://x:y@charts.example.com",
            "http://169.254.169.254/edge",
            "oci://[fe80::1]/charts",
            "https://helm.linkerd.io\\@evil.example/edge",
        ] {
            assert_eq!(stays("linkerd-crds", url, "2026.8.2"), Some(Reason::Channel), "{url}");
        }
    }

    #[test]
    fn retired_charts_stay_and_a_generic_name_needs_the_edge_repository() {
        assert_eq!(
            stays("linkerd-jaeger", "https://helm.linkerd.io/edge", "2025.9.4"),
            Some(Reason::RetiredChart)
        );
        assert_eq!(stays("jaeger", "https://helm.linkerd.io/edge", "2.1.0"), Some(Reason::RetiredChart));
        assert_eq!(at("jaeger", "https://jaegertracing.github.io/helm-charts", "3.1.0"), None);
        assert!(at("linkerd2-cni", "https://helm.linkerd.io/edge", "2026.8.2").unwrap().stays.is_none());
    }

    #[test]
    fn without_an_address_name_and_scheme_decide() {
        let unknown = |version| Ours::judge("linkerd-crds", &Origin::Unknown, version, &[]).unwrap().stays;
        assert_eq!(unknown("2026.8.2"), None);
        assert_eq!(unknown("1.16.11"), Some(Reason::Channel));
        assert_eq!(unknown("${linkerd}"), None);
        assert_eq!(Ours::judge("linkerd-crds", &Origin::Local, "2026.8.2", &[]), None);
    }
}
