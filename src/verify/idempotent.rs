//! Step 8, verify: a second pass changes nothing.
//!
//! In: the inventory after the change. Out: a `block` for each pin that would move again, and for each that moved and
//! can no longer be found where it was.

use std::collections::HashSet;

use super::{CheckId, Checked, Finding, Verification, count};
use crate::{
    pins::Pin,
    plan::{NewText, edge_of, judge},
    repo::RepoPath,
};

pub(super) const ID: CheckId = CheckId::Idempotent;

pub(super) fn check(input: &Verification<'_>) -> Checked {
    let Some(after) = input.after else {
        return Checked { looked_at: "nothing: the result was not scanned".to_owned(), findings: Vec::new() };
    };
    let plan = input.plan;
    let judged = judge(after, input.target, plan.to, &input.catalog.knowledge, input.options);
    let again = judged.iter().filter(|m| m.becomes().is_some()).map(|m| &m.pin);
    // Why these stay is told already; a second run leaves them for the same reason.
    let stay: HashSet<_> = input.staying().map(|(pin, _)| (pin.key(), pin.value.as_str())).collect();
    let mut findings: Vec<Finding> = again
        .filter(|pin| pin.stage == plan.stage && !stay.contains(&(pin.key(), pin.value.as_str())))
        .map(|pin| {
            let reason = format!("`{}` would move to {} again in a second run", pin.value, plan.to);
            Finding::block(ID, reason).at_pin(pin).hint("edit this pin by hand, and report it")
        })
        .collect();
    let fixed = input.moving().filter(|(_, new)| !matches!(new, NewText::LockDigest));
    let there: HashSet<_> = after.pins().filter(|pin| edge_of(pin) == Some(plan.to)).map(Pin::key).collect();
    // A rendered object that the release no longer has takes its file, and its pin, with it.
    let gone: HashSet<&RepoPath> =
        input.changes.files.iter().filter(|file| file.after.is_none()).map(|file| &file.path).collect();
    for (pin, _) in fixed.filter(|(pin, _)| !there.contains(&pin.key()) && !gone.contains(&pin.path)) {
        let reason =
            format!("`{}` was to move to {} and is not found there after the change", pin.value, plan.to);
        findings.push(Finding::block(ID, reason).at_pin(pin).hint("edit this pin by hand, and report it"));
    }
    Checked { looked_at: format!("a second scan, {}", count(after.pins.len(), "pin")), findings }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        pins::{PinKind, Reason},
        plan::testing::edge,
        verify::testing::*,
    };

    fn case() -> Case {
        Case::default().pins(|b| {
            b.chart("a.yaml", "linkerd-crds", "2026.8.2")
                .chart("b.yaml", "linkerd-viz", "2026.8.2")
                .proxy("ns.yaml", "edge-26.8.2")
        })
    }

    #[test]
    fn pins_that_are_where_they_should_be_pass() {
        assert_eq!(case().rescanned(|_| ()).check(ID), [], "and the other stage is not asked");
    }

    #[test]
    fn a_pin_that_would_move_again_is_found() {
        let found = case()
            .rescanned(|after| {
                let pin = Arc::make_mut(&mut after.pins[1]);
                pin.value = "2026.8.2".into();
                pin.version = Some(edge("edge-26.8.2"));
            })
            .check(ID);
        assert_eq!(found.len(), 2, "it would move, and it is not at the release: {found:?}");
        assert!(found.iter().all(|f| f.place.as_ref().unwrap().path.as_str() == "b.yaml"));
    }

    #[test]
    fn a_committed_manifest_that_stays_is_told_elsewhere() {
        let case = Case::default().pins(|b| {
            b.chart("a.yaml", "linkerd-crds", "2026.8.2")
                .pin("viz.yaml", PinKind::RenderedManifest, "linkerd/helm edge-26.8.2")
                .stays(Reason::Uneditable)
        });
        assert_eq!(case.rescanned(|after| Arc::make_mut(&mut after.pins[1]).stays = None).check(ID), []);
    }

    #[test]
    fn a_pin_that_is_no_longer_seen_is_found() {
        let found = case().rescanned(|after| after.pins.retain(|p| p.path.as_str() != "a.yaml")).check(ID);
        assert!(found.len() == 1 && found[0].reason.contains("not found there"), "{found:?}");
    }
}
