//! Step 5, pins: names that stand for Linkerd's releases as a whole: keys, packages, commands.
//!
//! In: a name. Out: whether it says no more than Linkerd, parts and channels of its releases, and that it is a version or brings
//! one. Of `linkerd_prometheus_version` nobody knows what it counts.

use super::{
    number::{is_linkerd, is_own, words},
    spelling::spelled,
};

/// How Linkerd is called within a name.
const LINKERD: [&str; 3] = ["linkerd2", "linkerd", "l5d"];
/// Words that say nothing of what a name is of, each before what it begins with.
const GENERAL: [&str; 24] = [
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
    "helm",
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
/// Words of the same kind about anybody's releases.
const OF_ANYTHING: [&str; 5] = ["application", "app", "image", "revision", "build"];
/// Parts and channels of Linkerd's releases.
const PARTS: [&str; 11] =
    ["cli", "cni", "bin", "control", "plane", "crds", "viz", "multicluster", "edge", "stable", "enterprise"];

/// What a command that brings a release says it does.
const VERBS: [&str; 9] =
    ["install", "setup", "upgrade", "update", "deploy", "download", "fetch", "ensure", "get"];
/// Words between others that say nothing of what a text is about.
const FILLS: [&str; 4] = ["a", "the", "of", "for"];
/// How the file of a script ends.
const SCRIPTS: [&str; 5] = [".sh", ".bash", ".zsh", ".ps1", ".py"];
/// The longest name that is looked at.
const LONGEST: usize = 64;

/// Makes one name of all that a text says: `the **Linkerd** version`.
pub(super) fn as_name(text: &str) -> String {
    let said = words(text).filter(|word| !FILLS.iter().any(|fill| word.eq_ignore_ascii_case(fill)));
    said.map(|word| word.trim_matches(['*', ':', '_'])).collect::<Vec<_>>().join("_")
}

/// Tells whether a key, or the name of a package, does.
pub(super) fn is_of_release(name: &str) -> bool {
    says_only(&spelled(name), &[])
}

/// Tells whether a key beside Linkerd's name gives the version of something else: `traefik_version`, and not `chart_version`.
pub(in crate::pins) fn is_version_of_another(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    key.ends_with("version") && !is_of_release(&format!("linkerd_{key}"))
}

/// Tells whether a name says that it is a version, and not of what: `version`, `chart_version`, `release`.
pub(in crate::pins) fn is_of_anything(name: &str) -> bool {
    cut(name, &[&GENERAL[..], &OF_ANYTHING[..]]).is_some_and(|words| !words.is_empty())
}

/// Tells whether a command does, which may be a script in some folder: `install_linkerd`, `./bin/setup-linkerd-cli.sh`.
pub(super) fn brings_release(command: &str) -> bool {
    let file = command.rsplit('/').next().unwrap_or(command);
    let stem = SCRIPTS.iter().find_map(|ending| file.strip_suffix(ending));
    let name = stem.unwrap_or(file);
    let acts = || VERBS.iter().any(|verb| name.to_ascii_lowercase().contains(verb));
    says_only(name, &VERBS) && (stem.is_some() || acts())
}

/// Tells whether the action of a pipeline's step brings Linkerd: `acme/setup-linkerd@v1`.
pub(super) fn is_action(action: &str) -> bool {
    let name = action.split('@').next().unwrap_or(action).rsplit('/').next().unwrap_or_default();
    let name = name.strip_suffix("-action").unwrap_or(name);
    is_of_release(name) || brings_release(name)
}

/// Tells whether a package of that name brings Linkerd: a chart of its own may be called as one of Linkerd's.
pub(super) fn is_package(name: &str) -> bool {
    is_linkerd(name) || is_of_release(name) && !is_own(name)
}

/// Tells whether all words of a name are Linkerd's name, parts of its releases, or some others.
fn says_only(name: &str, others: &[&'static str]) -> bool {
    let words = cut(name, &[&LINKERD[..], &GENERAL[..], &PARTS[..], others]);
    words.is_some_and(|words| words.iter().any(|word| LINKERD.contains(word)))
}

/// Cuts a name into words of these lists; `None` where it has others.
fn cut(name: &str, lists: &[&[&'static str]]) -> Option<Vec<&'static str>> {
    if name.len() > LONGEST {
        return None;
    }
    let plain = name.replace(['_', '-', '.'], "").to_ascii_lowercase();
    let (mut rest, mut found) = (plain.as_str(), Vec::new());
    while !rest.is_empty() {
        let word = lists.iter().copied().flatten().find(|word| rest.starts_with(**word))?;
        rest = rest.get(word.len()..)?;
        found.push(*word);
    }
    Some(found)
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
            "linkerdcrds_helm_version",
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
        assert!(!is_of_release(&"linkerd".repeat(99)));
    }

    #[test]
    fn a_name_of_anything_says_that_it_is_a_version() {
        for name in ["version", "chart_version", "appVersion", "release", "targetRevision", "image.tag"] {
            assert!(is_of_anything(name), "{name}");
        }
        for name in ["mesh_version", "linkerd", "viz-version", "cni", "edge", "", "-"] {
            assert!(!is_of_anything(name), "{name}");
        }
        assert!(!is_of_anything(&"version".repeat(99)));
    }

    #[test]
    fn a_key_says_of_what_it_gives_the_version() {
        for key in ["traefik_version", "linkerd_await_version", "trustManagerVersion"] {
            assert!(is_version_of_another(key), "{key}");
        }
        for key in ["version", "chart_version", "linkerdVersion", "release", "mesh"] {
            assert!(!is_version_of_another(key), "{key}");
        }
    }

    #[test]
    fn a_command_of_releases_says_what_it_does() {
        for command in
            ["install_linkerd", "./bin/setup-linkerd-cli.sh", "linkerd-upgrade", "scripts/linkerd.sh"]
        {
            assert!(brings_release(command), "{command}");
        }
        for command in ["linkerd", "acme/linkerd", "install.sh", "install_istio", "install-linkerd-await.sh"]
        {
            assert!(!brings_release(command), "{command}");
        }
    }
}
