//! Tests over all checks together.

use std::collections::BTreeSet;

use super::{testing::*, *};
use crate::pins::SkipReason;

#[test]
fn every_check_has_a_name_of_its_own() {
    let names: BTreeSet<&str> = CHECKS.iter().map(|(name, _)| *name).collect();
    assert_eq!(names.len(), CHECKS.len());
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
        (Severity::Block, "version-agreement", "a.yaml"),
        (Severity::Block, "version-agreement", "d.yaml"),
        (Severity::Block, "skipped", "e.tpl"),
        (Severity::Warn, "skipped", "f.tf"),
        (Severity::Info, "version-agreement", "c.yaml"),
        (Severity::Info, "guidance", ""),
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
    let missing: Vec<&str> =
        CHECKS.iter().map(|(name, _)| *name).filter(|n| !text.contains(&format!("`{n}`"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
