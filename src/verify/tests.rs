//! Tests over all checks together.

use super::{testing::*, *};
use crate::pins::SkipReason;

#[test]
fn every_check_is_run_once_and_in_the_order_of_their_names() {
    assert!(CHECKS.is_sorted_by(|(one, _), (next, _)| one < next));
}

#[test]
fn a_routine_change_has_nothing_to_be_read_before_merging() {
    let findings = routine().findings();
    assert!(findings.iter().all(|f| f.severity == Severity::Info), "{findings:?}");
}

#[test]
fn findings_are_ordered_by_weight_then_check_then_place() {
    let case = || {
        Case::default().pins(|b| {
            b.chart("b.yaml", "linkerd-crds", "2026.8.2")
                .chart("c.yaml", "linkerd-viz", "2026.8.2")
                .stays(Reason::Held)
                .chart("a.yaml", "linkerd-viz", "2026.8.2")
                .stays(Reason::DuplicateKey)
                .chart("d.yaml", "linkerd-viz", "2026.8.1")
                .stays(Reason::Uneditable)
                .skip("e.tpl", SkipReason::HelmTemplate, &["edge-26.8.2"])
                .skip("f.tf", SkipReason::UnknownShape, &["edge-26.8.2"])
        })
    };
    let findings = case().findings();
    let short = |f: &Finding| {
        (f.severity, f.check, f.place.as_ref().map_or(String::new(), |place| place.path.to_string()))
    };
    let order: Vec<_> = findings.iter().map(short).collect();
    let expected = [
        (Severity::Block, CheckId::VersionAgreement, "a.yaml"),
        (Severity::Block, CheckId::VersionAgreement, "d.yaml"),
        (Severity::Block, CheckId::Skipped, "e.tpl"),
        (Severity::Warn, CheckId::Skipped, "f.tf"),
        (Severity::Info, CheckId::VersionAgreement, "c.yaml"),
        (Severity::Info, CheckId::Guidance, ""),
    ];
    assert_eq!(order, expected.map(|(severity, check, place)| (severity, check, place.to_owned())));
    assert_eq!(findings, case().findings(), "the same inputs give the same findings");
}

fn routine() -> Case {
    Case::default().pins(|b| {
        b.chart("crds.yaml", "linkerd-crds", "2026.8.2")
            .chart("cp.yaml", "linkerd-control-plane", "2026.8.2")
            .value("cp.yaml", "linkerd-control-plane", "linkerdVersion", "edge-26.8.2")
            .proxy("ns.yaml", "edge-26.8.2")
    })
}

#[test]
fn every_check_is_documented() {
    let text = include_str!("../../docs/checks.md");
    let all = CHECKS.iter().map(|(check, _)| *check).chain([CheckId::HalfDone]);
    let missing: Vec<CheckId> = all.filter(|check| !text.contains(&format!("`{check}`"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
