//! Promotion: what a target before has run, and what it went back from.

use super::*;

fn was(all: &[(&str, i64)]) -> Vec<Ran> {
    all.iter()
        .map(|(version, age)| Ran {
            release: edge(version),
            since: now() - days(*age),
            checks: Ok(Vec::new()),
        })
        .collect()
}

fn before(running: &str, soak: i64, ran: Option<Vec<Ran>>) -> Before {
    let (running, gates) = (Some(edge(running)), Gates::default());
    Before { target: "staging".into(), soak: days(soak), running, untold: None, ran, gates }
}

fn decided(before: Vec<Before>) -> Decision {
    decide(&Policy::default(), &three(), &Needs { before, ..needs("26.7.1", "26.7.1") }, now())
}

#[test]
fn what_was_gone_back_from_counts_from_the_last_time_and_what_came_between_does_not() {
    // Newest first: 3, 2 again, 1, 2, 1.
    let all = ran(was(&[("26.8.3", 1), ("26.8.2", 3), ("26.8.1", 5), ("26.8.2", 7), ("26.8.1", 9)]));
    assert_eq!(all, was(&[("26.8.3", 1), ("26.8.2", 3), ("26.8.1", 9)]));
    assert_eq!(ran(was(&[("26.8.1", 1), ("26.8.3", 2)])), was(&[("26.8.1", 1)]));
    assert_eq!(ran(was(&[("26.8.3", 1), ("26.8.3", 4)])), was(&[("26.8.3", 4)]), "another file of the same");
    assert_eq!(ran(Vec::new()), Vec::new());
}

#[test]
fn the_newest_that_has_run_for_long_enough_goes_on() {
    let ran = was(&[("26.8.3", 1), ("26.8.2", 3), ("26.8.1", 9)]);
    assert_eq!(target(decided(vec![before("26.8.3", 0, Some(ran.clone()))])), "edge-26.8.3");
    assert_eq!(target(decided(vec![before("26.8.3", 3, Some(ran.clone()))])), "edge-26.8.2");
    assert_eq!(target(decided(vec![before("26.8.3", 4, Some(ran.clone()))])), "edge-26.8.1");
    let held = hold(decided(vec![before("26.8.3", 10, Some(ran))]));
    assert_eq!(
        (held.release, held.until),
        (Some(edge("26.8.1")), Some(now() + days(1))),
        "the first to go on"
    );
}

#[test]
fn nothing_goes_on_that_was_not_there() {
    assert_eq!(target(decided(vec![before("26.8.2", 0, None)])), "edge-26.8.2", "nobody has looked yet");
    let left_out = before("26.8.3", 0, Some(was(&[("26.8.3", 1), ("26.8.1", 9)])));
    let to = |version| {
        let policy = Policy { to: Some(edge(version)), ..Policy::default() };
        let before = vec![left_out.clone()];
        decide(&policy, &three(), &Needs { before, ..needs("26.7.1", "26.7.1") }, now())
    };
    assert!(matches!(hold(to("26.8.2")).reason, HoldReason::Promotion { lacks: Lack::NotRun { .. }, .. }));
    assert_eq!(target(to("26.8.1")), "edge-26.8.1");
    let behind = hold(decided(vec![before("26.7.1", 0, None)]));
    assert_eq!(behind.release, Some(edge("26.8.3")));
    let unknown = Before { running: None, ..before("26.8.3", 0, None) };
    assert!(hold(decided(vec![unknown])).to_string().contains("of which no release is known"));
}

#[test]
fn a_date_that_is_still_to_come_is_called_so() {
    let held = hold(decided(vec![before("26.8.3", 2, Some(was(&[("26.8.3", -1)])))]));
    assert_eq!(held.until, Some(now() + days(3)));
    assert!(matches!(held.reason, HoldReason::Promotion { lacks: Lack::Ahead { .. }, .. }), "{held}");
    assert!(held.to_string().contains("is dated 2026-08-22 12:00 UTC, which is still to come"), "{held}");
}

#[test]
fn what_runs_without_a_commit_is_not_known_to_have_run_anything() {
    let pin = "`26.x` in a.yaml:3".to_owned();
    let floats = Before { untold: Some(pin), running: None, ..before("26.8.3", 0, Some(Vec::new())) };
    let held = hold(decided(vec![floats.clone()]));
    assert!(held.to_string().contains("takes releases without a commit, by `26.x` in a.yaml:3"), "{held}");
    assert!(!held.reason.leaves_nothing(), "what is open is not withdrawn for that");
    let plane =
        ControlPlane { release: Some(edge("26.8.3")), landed: None, after: days(0), itself: Some(&floats) };
    let proxies = data_plane(&Policy::default(), &needs("26.8.2", "26.8.2"), plane, now());
    assert!(matches!(hold(proxies).reason, HoldReason::Promotion { lacks: Lack::Untold { .. }, .. }));
}

#[test]
fn the_slowest_of_several_counts() {
    let fast = before("26.8.3", 0, Some(was(&[("26.8.3", 9)])));
    let slow = before("26.8.3", 2, Some(was(&[("26.8.3", 1)])));
    let held = hold(decided(vec![fast.clone(), Before { target: "canary".into(), ..slow }]));
    assert_eq!(held.until, Some(now() + days(1)));
    assert!(held.to_string().contains("`canary`"), "{held}");
    assert_eq!(target(decided(vec![fast.clone(), fast])), "edge-26.8.3");
}

#[test]
fn a_required_stop_must_have_been_made_there_too() {
    let catalog = catalog([release("25.8.5", 300), release("26.8.3", 1)]);
    let on = |ran: &[(&str, i64)]| {
        let needs = Needs { before: vec![before("26.8.3", 0, Some(was(ran)))], ..needs("25.2.3", "25.2.3") };
        decide(&Policy::default(), &catalog, &needs, now())
    };
    assert_eq!(target(on(&[("26.8.3", 1), ("25.8.5", 30)])), "edge-25.8.5");
    assert!(matches!(hold(on(&[("26.8.3", 1)])).reason, HoldReason::HopUnavailable { .. }));
}

#[test]
fn what_came_furthest_is_told() {
    let shut =
        Before { gates: gates(&["kustomization/*"]), ..before("26.8.2", 0, Some(was(&[("26.8.2", 9)]))) };
    let silent = hold(decided(vec![shut]));
    assert_eq!(silent.release, Some(edge("26.8.2")), "26.8.3 has not come there at all: {silent}");
    assert!(!silent.reason.leaves_nothing(), "what is open for 26.8.2 stays");
}

fn gates(globs: &[&str]) -> Gates {
    let active = globs.iter().map(|glob| globset::Glob::new(glob).unwrap().compile_matcher()).collect();
    Gates { active, ..Gates::default() }
}

/// What is said, so many hours after the release came, two days ago.
fn checks(all: &[(&str, CheckState, i64)]) -> Vec<StatusCheck> {
    let one = |(name, state, hours): &(&str, CheckState, i64)| {
        let at = now() - days(2) + SignedDuration::from_hours(*hours);
        StatusCheck { name: (*name).to_owned(), state: *state, at }
    };
    all.iter().map(one).collect()
}

fn gated(globs: &[&str], all: &[(&str, CheckState, i64)]) -> Decision {
    let ran = vec![Ran { checks: Ok(checks(all)), ..was(&[("26.8.3", 2)]).remove(0) }];
    decided(vec![Before { gates: gates(globs), ..before("26.8.3", 0, Some(ran)) }])
}

#[test]
fn a_gate_is_open_where_each_name_said_success_last() {
    use CheckState::{Failure, Pending, Success};
    let flux = ["kustomization/*"];
    assert_eq!(target(gated(&flux, &[("kustomization/linkerd/0c9c2e41", Success, 1)])), "edge-26.8.3");
    assert_eq!(target(gated(&[], &[("kustomization/linkerd/0c9c2e41", Failure, 1)])), "edge-26.8.3");
    let back = [("kustomization/a", Failure, 1), ("kustomization/a", Success, 2)];
    assert_eq!(target(gated(&flux, &back)), "edge-26.8.3", "it came back");
    let promoted = match gated(&flux, &back) {
        Decision::Target { promoted, .. } => promoted,
        Decision::Hold(hold) => panic!("{hold}"),
    };
    assert_eq!(
        (promoted[0].target.as_str(), promoted[0].gates.as_slice()),
        ("staging", &["kustomization/*".to_owned()][..])
    );
    // The same name of two clusters ends in two ids.
    let two = [("kustomization/a/1", Success, 3), ("kustomization/a/2", Failure, 1)];
    let held = hold(gated(&flux, &two));
    assert!(
        held.to_string().contains("until `kustomization/a/2` succeeds for target `staging`: failed since"),
        "{held}"
    );
    let broke = [("kustomization/a", Success, 1), ("kustomization/a", Failure, 2), ("other", Success, 9)];
    assert!(matches!(
        hold(gated(&flux, &broke)).reason,
        HoldReason::Promotion { lacks: Lack::Gate { state: Failure, .. }, .. }
    ));
    let both = [("kustomization/a", Pending, 2), ("kustomization/b", Failure, 1)];
    assert!(
        matches!(
            hold(gated(&flux, &both)).reason,
            HoldReason::Promotion { lacks: Lack::Gate { state: Failure, .. }, .. }
        ),
        "the worse is told"
    );
    let at_once = [("kustomization/a", Failure, 1), ("kustomization/a", Success, 1)];
    assert!(matches!(
        hold(gated(&flux, &at_once)).reason,
        HoldReason::Promotion { lacks: Lack::Gate { state: Failure, .. }, .. }
    ));
}

#[test]
fn where_nothing_is_said_that_is_waited_for_and_then_called_overdue() {
    let nothing =
        hold(gated(&["kustomization/*", "smoke-test"], &[("kustomization/a", CheckState::Success, 1)]));
    assert!(nothing.to_string().contains("until `smoke-test` says something of target `staging`"));
    assert!(nothing.until.is_none() && nothing.to_string().contains("overdue"), "{nothing}");
    let ran = was(&[("26.8.3", 0)]);
    let young = hold(decided(vec![Before { gates: gates(&["*"]), ..before("26.8.3", 0, Some(ran)) }]));
    assert_eq!(young.until, Some(now() + days(1)));
    assert!(young.to_string().ends_with("expected until 2026-08-22 12:00 UTC"), "{young}");
    let unread = vec![Ran { checks: Err("no permission".into()), ..was(&[("26.8.3", 2)]).remove(0) }];
    let unread = decided(vec![Before { gates: gates(&["*"]), ..before("26.8.3", 0, Some(unread)) }]);
    assert!(hold(unread).to_string().contains("can be read (no permission)"));
}

#[test]
fn proxies_wait_for_the_gates_of_their_own_control_plane() {
    let itself = |state| {
        let checks = Ok(checks(&[("kustomization/a", state, 1)]));
        let ran = vec![Ran { checks, ..was(&[("26.8.3", 2)]).remove(0) }];
        Before { gates: gates(&["kustomization/*"]), ..before("26.8.3", 0, Some(ran)) }
    };
    let decided = |itself: &Before| {
        let plane = ControlPlane {
            release: Some(edge("26.8.3")),
            landed: Some(now() - days(2)),
            after: days(1),
            itself: Some(itself),
        };
        data_plane(&Policy::default(), &needs("26.8.2", "26.8.2"), plane, now())
    };
    assert_eq!(target(decided(&itself(CheckState::Success))), "edge-26.8.3");
    assert!(matches!(
        hold(decided(&itself(CheckState::Failure))).reason,
        HoldReason::Promotion { lacks: Lack::Gate { .. }, .. }
    ));
}
