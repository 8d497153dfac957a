//! Step 5, pins: names that are one letter off what was meant: `linkerd-control-pane`, `crds_helm_vesion`.
//!
//! In: a name. Out: the name that was meant.

use std::borrow::Cow;

use strsim::osa_distance;

use crate::linkerd::CHARTS;

/// What nearly all keys of versions end with.
const VERSION: &str = "version";

/// Returns the chart that a name is one letter off: one is missing, one too many, another, or two are swapped.
pub(super) fn chart_meant(name: &str) -> Option<&'static str> {
    let name = name.replace('_', "-");
    CHARTS.into_iter().find(|chart| is_near(&name, chart))
}

/// Returns a key with `version` at its end where that is one letter off.
pub(super) fn spelled(key: &str) -> Cow<'_, str> {
    let lower = key.to_ascii_lowercase();
    if lower.trim_end_matches('s').ends_with(VERSION) {
        return Cow::Borrowed(key);
    }
    let ending = |length: usize| lower.split_at_checked(lower.len().checked_sub(length)?);
    let lengths = [VERSION.len(), VERSION.len() - 1, VERSION.len() + 1];
    let near = lengths.into_iter().filter_map(ending).find(|(_, end)| is_near(end, VERSION));
    let of = near.and_then(|(of, _)| key.get(..of.len()));
    of.map_or(Cow::Borrowed(key), |of| Cow::Owned(format!("{of}{VERSION}")))
}

fn is_near(name: &str, meant: &str) -> bool {
    name.len().abs_diff(meant.len()) <= 1 && osa_distance(name, meant) == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_is_meant_by_a_name_one_letter_off() {
        for name in [
            "linkerd-control-pane",
            "linkerd_control_plan",
            "linkerd-contorl-plane",
            "linkerd-control-planes",
        ] {
            assert_eq!(chart_meant(name), Some("linkerd-control-plane"), "{name}");
        }
        assert_eq!(chart_meant("linkerd-crd"), Some("linkerd-crds"));
        for other in [
            "linkerd-control-plane",
            "linkerd-smi",
            "linkerd",
            "linkerd1",
            "linkerd-control",
            "linkerd-await",
            "jaegr",
            "é",
            "",
        ] {
            assert_eq!(chart_meant(other), None, "{other}");
        }
    }

    #[test]
    fn a_key_ends_with_version_but_for_a_letter() {
        for (key, meant) in [
            ("crds_helm_vesion", "crds_helm_version"),
            ("linkerdVersoin", "linkerdversion"),
            ("LINKERD_VERSSION", "LINKERD_version"),
            ("linkerd-verzion", "linkerd-version"),
        ] {
            assert_eq!(spelled(key), meant, "{key}");
        }
        for other in [
            "linkerd_version",
            "linkerdVersion",
            "LINKERD_VERSIONS",
            "linkerd_vision",
            "linkerd_session",
            "mesh",
            "éversi",
            "",
        ] {
            assert_eq!(spelled(other), other, "{other}");
        }
    }
}
