//! Step 8, verify: the pins of a stage name one release after the change.
//!
//! In: the plan's moves and stays. Out: a `block` for a move that does not name the release; what is said of [each that
//! stays](left_behind) and of [what lies in another target](apart); encrypted objects that keep their release, once.

use std::collections::BTreeSet;

use super::{CheckId, Checked, Finding, Verification, apart::apart, count, left_behind::left_behind, listed};
use crate::{
    linkerd::{EdgeVersion, OLD_CONTROL_PLANE},
    pins::{Form, Pin, PinKind, Reason},
    plan::{NewText, edge_of},
};

pub(super) const ID: CheckId = CheckId::VersionAgreement;

/// How many files one line names before it counts the rest.
const NAMED: usize = 5;

pub(super) fn check(input: &Verification<'_>) -> Checked {
    let to = input.plan.to;
    let wrong = input.moving().filter(|(pin, new)| !names(pin, new, to)).map(|(pin, _)| {
        let reason = format!("`{}` would move to a text that does not name {to}", pin.value);
        Finding::block(ID, reason)
            .at_pin(pin)
            .hint("this is a defect of uplinker; do not merge, and report it")
    });
    let sealed = |(pin, reason): &(&Pin, Reason)| {
        pin.form == Form::Rendered && *reason == Reason::Encrypted && edge_of(pin) != Some(to)
    };
    let (sealed, staying): (Vec<_>, Vec<_>) = input.staying().partition(sealed);
    let told = staying.into_iter().filter(|(pin, reason)| !is_told_of_others(pin, *reason));
    let left = told.filter_map(|(pin, reason)| left_behind(input, pin, reason));
    let sealed: Vec<&Pin> = sealed.into_iter().map(|(pin, _)| pin).collect();
    let findings = wrong.chain(left).chain(stay_sealed(&sealed)).chain(apart(input)).collect();
    let (moves, stays) = (input.plan.moves.len(), input.plan.stays.len());
    let looked_at = format!("{} that move and {stays} that stay", count(moves, "pin"));
    Checked { looked_at, findings }
}

fn names(pin: &Pin, new: &NewText, to: EdgeVersion) -> bool {
    match new {
        NewText::Fixed(text) => {
            let whole = pin.frame.as_ref().map_or_else(|| text.clone(), |frame| frame.whole(text));
            whole.parse() == Ok(to) || EdgeVersion::from_chart(&whole) == Some(to)
        }
        NewText::Rendered(text) => {
            let version = text.rsplit_once([' ', '-']).map_or("", |(_, version)| version);
            text.ends_with(&to.to_string()) || EdgeVersion::from_chart(version) == Some(to)
        }
        NewText::LockDigest | NewText::Gone => true,
    }
}

/// Says once of encrypted objects of a committed manifest that they keep the name of the release that made them: it is
/// nothing but a note in them, and an edit would make the file unreadable.
fn stay_sealed(pins: &[&Pin]) -> Option<Finding> {
    let first = pins.iter().min_by_key(|pin| (&pin.path, pin.site.line))?;
    let files: BTreeSet<&str> = pins.iter().map(|pin| pin.path.as_str()).collect();
    let number = count(files.len(), "encrypted file");
    let verb = if files.len() == 1 { "stays" } else { "stay" };
    let files = listed(files, NAMED);
    let reason = format!("{number} {verb} as committed, made by `{}`: {files}", first.value);
    Some(Finding::info(ID, reason).at_pin(first))
}

/// Tells whether why a pin stays is told of what it goes with: of a digest the versions of its lock, of values of the chart that is
/// no more its version.
fn is_told_of_others(pin: &Pin, reason: Reason) -> bool {
    let is_old = reason == Reason::RetiredChart && pin.is_of(OLD_CONTROL_PLANE);
    pin.form == Form::LockDigest && pin.stays.is_none() || is_old && pin.kind == PinKind::HelmValues
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        linkerd::retired_chart,
        pins::TagFilter,
        plan::testing::Build,
        verify::{Severity::*, testing::*},
    };

    fn stays(reason: Reason, value: &str) -> Vec<Finding> {
        Case::default()
            .pins(|b| {
                b.chart("a.yaml", "linkerd-crds", "2026.8.2")
                    .chart("b.yaml", "linkerd-viz", value)
                    .stays(reason)
            })
            .check(ID)
    }

    #[test]
    fn pins_that_move_together_agree() {
        let case =
            Case::default().pins(|b| {
                b.chart("a.yaml", "linkerd-crds", "2026.6.3")
                    .chart("b.yaml", "linkerd-viz", "2026.8.2")
                    .chart("c.yaml", "linkerd-viz", "2026.8.3")
            });
        assert_eq!(case.check(ID), []);
    }

    #[test]
    fn a_pin_that_cannot_be_edited_blocks() {
        for reason in [
            Reason::Uneditable,
            Reason::Shared,
            Reason::DuplicateKey,
            Reason::Encrypted,
            Reason::NeedsWorkflowsScope,
        ] {
            let found = stays(reason, "2026.8.2");
            assert_eq!(severities(&found), [Block], "{reason:?}");
            assert_eq!(found[0].place.as_ref().unwrap().path.as_str(), "b.yaml");
            assert_eq!(stays(reason, "2026.8.3"), [], "{reason:?}: there is nothing to edit");
        }
        assert_eq!(severities(&stays(Reason::Encrypted, "ENC[AES256]")), [Warn], "it cannot be told");
        let filtered = Case::default().pins(|b| {
            let b = b.chart("a.yaml", "linkerd-control-plane", "2026.8.2");
            b.chart("b.yaml", "linkerd-crds", "2026.8.2")
                .with(|pin| pin.filter = Some(TagFilter::new("2026[.]8[.]2")))
        });
        let found = filtered.check(ID);
        assert_eq!(severities(&found), [Block]);
        assert!(found[0].reason.ends_with("the `semverFilter` beside it does not take the release"));
    }

    #[test]
    fn a_version_that_is_locked_for_a_range_too_blocks_where_that_does_not_take_the_release() {
        let of = |range: &str| {
            let pin = |b: Build, file: &str, at: &str| b.pin(file, PinKind::Helmfile, at).of("linkerd-viz");
            let case = Case::default().pins(|b| {
                let b = pin(b.chart("a.yaml", "linkerd-crds", "2026.8.2"), "b.yaml", range);
                let b = pin(b.stays(Reason::Range), "c.lock", "2026.8.2").read_at("b.yaml");
                pin(b, "d.yaml", "2026.8.2").read_at("c.lock")
            });
            let found = case.check(ID).into_iter().filter(|found| found.severity == Block);
            found.map(|found| found.reason).collect::<Vec<_>>()
        };
        let why = "c.lock:1 has one version for it and for a range that does not take the release";
        assert_eq!(of("<2026.8.3"), [format!("`2026.8.2` stays behind: {why}")]);
        assert_eq!(of("~2026.8.0"), [""; 0]);
    }

    #[test]
    fn the_version_of_a_chart_that_is_not_followed_blocks() {
        let of = |path: &str, value: &str| {
            let case = Case::default().pins(|b| {
                b.chart("a.yaml", "linkerd-control-plane", "2026.8.2")
                    .chart(path, "linkerd-crds", value)
                    .stays(Reason::NotFollowed)
            });
            case.check(ID)
        };
        for (path, why) in
            [("b.tf", "in a way that is not followed"), ("mesh/Chart.yaml", "a copy of the chart")]
        {
            let found = of(path, "2026.8.2");
            assert_eq!(severities(&found), [Block], "{path}");
            assert!(found[0].reason.starts_with("`2026.8.2`, the version of linkerd-crds, stays behind"));
            assert!(found[0].reason.contains(why), "{:?}", found[0].reason);
            assert_eq!(of(path, "2026.8.3"), []);
            let hint = of(path, "2024.11.8").remove(0).hint.unwrap();
            assert!(hint.contains(" edge-25.7.6 first and edge-26.8.3 after it, or hold"), "{hint}");
        }
        let code = of("c.yaml", "{{ chart }}");
        assert_eq!(severities(&code), [Block]);
        assert!(
            code[0].reason.starts_with("which release `{{ chart }}` is for linkerd-crds is not known here")
        );
    }

    #[test]
    fn pods_of_linkerd_that_no_chart_gives_are_warned_of() {
        let found = Case::default().pins(|b| {
            b.chart("a.yaml", "linkerd-crds", "2026.8.2")
                .pin("web.yaml", PinKind::RenderedManifest, "linkerd/helm edge-26.8.2")
                .of("linkerd-viz")
                .stays(Reason::NotFollowed)
        });
        assert_eq!(severities(&found.check(ID)), [Warn]);
    }

    #[test]
    fn what_is_ahead_and_covered_says_nothing() {
        let of = |is_off| {
            let case = Case::default().pins(|b| {
                let b =
                    b.chart("a.yaml", "linkerd-crds", "2026.8.2").chart("b.yaml", "linkerd-crds", "2026.9.1");
                b.stays(Reason::UpToDate).with(|pin| pin.is_off = is_off)
            });
            severities(&case.check(ID))
        };
        assert_eq!((of(false), of(true)), (vec![Warn], vec![]));
    }

    #[test]
    fn what_keeps_a_pin_from_elsewhere_is_named() {
        let kept = |reason| {
            let case = Case::default().pins(|b| {
                let b = b.chart("a.yaml", "linkerd-crds", "2026.8.2");
                b.chart("b.yaml", "linkerd-viz", "2026.8.2").stays(reason).kept_by("app.yaml")
            });
            case.check(ID).remove(0).reason
        };
        assert_eq!(kept(Reason::Held), "`2026.8.2` is held by the comment at app.yaml:7 and stays");
        let shared =
            "`2026.8.2` stays behind: something that must not move with Linkerd reads it too (app.yaml:7)";
        assert_eq!(kept(Reason::Shared), shared);
    }

    #[test]
    fn held_pins_are_exempt_and_listed() {
        let found = stays(Reason::Held, "2026.8.2");
        assert_eq!(severities(&found), [Info]);
        assert!(found[0].reason.contains("held"));
    }

    #[test]
    fn what_a_reviewer_would_miss_is_named() {
        assert_eq!(severities(&stays(Reason::Digest, "sha256:00")), [Warn]);
        assert_eq!(severities(&stays(Reason::ManualInjection, "edge-26.8.2")), [Warn]);
        assert_eq!(severities(&stays(Reason::Range, ">=2026.1.0")), [Info]);
        assert_eq!(severities(&stays(Reason::Range, "~2026.7.0")), [Warn]);
        let capped = Case::default().pins(|b| {
            let b = b.chart("a.yaml", "linkerd-crds", "2026.8.2").chart(
                "cp.yaml",
                "linkerd-control-plane",
                "2026.7.x",
            );
            b.stays(Reason::Range).value("v.yaml", "linkerd-control-plane", "linkerdVersion", "edge-26.7.1")
        });
        let found = capped.check(ID);
        let with = "`edge-26.7.1` stays with the version of its chart (cp.yaml:1)";
        assert!(found.iter().any(|f| f.reason == with), "{found:?}");
        let ahead = Case::default().pins(|b| {
            b.chart("a.yaml", "linkerd-crds", "2026.8.2").chart("b.yaml", "linkerd-viz", "2026.9.1")
        });
        assert_eq!(severities(&ahead.check(ID)), [Warn]);
        let jaeger = Case::default().pins(|b| {
            b.chart("a.yaml", "linkerd-crds", "2026.8.2")
                .chart("b.yaml", "linkerd-jaeger", "2025.9.4")
                .stays(Reason::RetiredChart)
        });
        let found = jaeger.check(ID);
        assert!(found[0].reason.contains("linkerd-jaeger is no longer published"));
        assert_eq!(severities(&found), [Info], "it was so with the release before");
    }

    #[test]
    fn a_range_from_before_a_required_stop_is_led_by_it() {
        let hint = |chart: &str, range: &str| {
            let case = Case::default().pins(|b| {
                let b = b.chart("a.yaml", "linkerd-control-plane", "2026.8.2");
                b.chart("b.yaml", chart, range).stays(Reason::Range)
            });
            let known = ["edge-24.11.8", "edge-25.8.5", "edge-26.8.2", "edge-26.8.3"];
            let case = case.catalog(|catalog| *catalog = crate::plan::testing::catalog(&known));
            case.check(ID).remove(0).hint.unwrap()
        };
        let stop = "widen the range to take edge-25.7.6 first and edge-26.8.3 after it, or hold";
        let straight = "widen the range to take edge-26.8.3, or hold what runs with it";
        assert!(hint("linkerd-crds", "~2024.11.0").starts_with(stop));
        assert_eq!(hint("linkerd-crds", "2025.x"), straight, "it is past the stop");
        assert_eq!(hint("linkerd-viz", "~2024.11.0"), straight, "the stop is about the CRDs");
    }

    #[test]
    fn a_retired_chart_is_warned_of_with_the_change_that_passes_its_last_release() {
        let found = |from: &str, to: &'static str| {
            let case = Case::default().to(to).pins(|b| {
                b.chart("a.yaml", "linkerd-crds", from)
                    .chart("b.yaml", "linkerd-jaeger", "2025.7.1")
                    .stays(Reason::RetiredChart)
            });
            let mut found = case.check(ID);
            found.retain(|finding| finding.reason.contains("no longer published"));
            severities(&found)
        };
        let last = retired_chart("linkerd-jaeger").unwrap().last.unwrap();
        assert_eq!(last, "edge-25.9.4");
        assert_eq!(found("2025.8.4", "edge-25.9.3"), [Info], "it is published yet");
        assert_eq!(found("2025.8.4", "edge-25.9.4"), [Info], "the last one is published too");
        assert_eq!(found("2025.9.4", "edge-25.10.1"), [Warn]);
        assert_eq!(found("2025.8.4", "edge-26.8.3"), [Warn]);
        assert_eq!(found("2025.10.1", "edge-26.8.3"), [Info], "it was passed before");
    }

    #[test]
    fn what_is_encrypted_of_a_manifest_is_said_once_and_of_others_how_to_edit_it() {
        let secret = |b: Build, file: &str| {
            b.pin(file, PinKind::RenderedManifest, "linkerd/helm edge-26.8.2")
                .of("linkerd-control-plane")
                .stays(Reason::Encrypted)
        };
        let case = Case::default()
            .pins(|b| secret(secret(b.chart("a.yaml", "linkerd-crds", "2026.8.2"), "s/x.yaml"), "s/y.yaml"));
        let found = case.check(ID);
        assert_eq!(severities(&found), [Info]);
        assert_eq!(
            found[0].reason,
            "2 encrypted files stay as committed, made by `linkerd/helm edge-26.8.2`: s/x.yaml, s/y.yaml"
        );
        let hint = stays(Reason::Encrypted, "2026.8.2").remove(0).hint.unwrap();
        assert!(hint.contains("`sops edit`"), "{hint}");
    }

    #[test]
    fn values_of_the_chart_that_is_no_more_stay_with_its_version() {
        let case = Case::default().pins(|b| {
            let b =
                b.chart("a.yaml", "linkerd-crds", "2026.8.2").chart("b.yaml", OLD_CONTROL_PLANE, "2.11.2");
            let b = b.stays(Reason::RetiredChart);
            b.value("b.yaml", OLD_CONTROL_PLANE, "linkerdVersion", "stable-2.11.2")
                .stays(Reason::RetiredChart)
        });
        assert_eq!(severities(&case.check(ID)), [Block]);
    }

    #[test]
    fn pins_that_were_never_to_agree_are_quiet() {
        for reason in [Reason::Channel, Reason::NoEffect, Reason::OptedOut, Reason::OwnVersion, Reason::Alias]
        {
            assert_eq!(stays(reason, "2026.8.2"), [], "{reason:?}");
        }
    }
}
