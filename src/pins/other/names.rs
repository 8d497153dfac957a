//! Step 5, pins: names that stand for Linkerd's releases as a whole: keys, packages, commands.
//!
//! In: a name. Out: whether it says no more than Linkerd, parts and channels of its releases, and that it is a version or brings
//! one. Of `linkerd_prometheus_version` nobody knows what it counts.

/// How Linkerd is called within a name.
const LINKERD: [&str; 3] = ["linkerd2", "linkerd", "l5d"];
/// What a name may say beside, each before what it begins with.
const PARTS: [&str; 34] = [
    "versions",
    "version",
    "ver",
    "releases",
    "release",
    "tags",
    "tag",
    "channel",
    "charts",
    "chart",
    "cli",
    "cni",
    "bin",
    "control",
    "plane",
    "crds",
    "viz",
    "multicluster",
    "edge",
    "stable",
    "enterprise",
    "default",
    "current",
    "latest",
    "target",
    "minimum",
    "min",
    "previous",
    "old",
    "new",
    "production",
    "prod",
    "staging",
    "dev",
];

/// Tells whether a key, or the name of a package, does.
pub(super) fn is_of_release(name: &str) -> bool {
    let plain = name.replace(['_', '-', '.'], "").to_ascii_lowercase();
    let (mut rest, mut is_linkerds) = (plain.as_str(), false);
    while !rest.is_empty() {
        let own = LINKERD.iter().find_map(|own| rest.strip_prefix(own));
        is_linkerds |= own.is_some();
        let Some(behind) = own.or_else(|| PARTS.iter().find_map(|part| rest.strip_prefix(part))) else {
            return false;
        };
        rest = behind;
    }
    is_linkerds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_releases_says_no_more() {
        for name in [
            "linkerd",
            "LINKERD2_VERSION",
            "linkerd-edge-bin",
            "linkerdCliVersion",
            "default_linkerd_version",
            "linkerd.stable.release",
            "L5D_TAG",
            "linkerd2_previous_versions",
        ] {
            assert!(is_of_release(name), "{name}");
        }
        for name in [
            "",
            "version",
            "linkerd-await",
            "linkerd_prometheus_version",
            "acme_linkerd_version",
            "linkerd2-proxy",
        ] {
            assert!(!is_of_release(name), "{name}");
        }
    }
}
