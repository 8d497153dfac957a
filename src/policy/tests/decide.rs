//! Which release is gone to: the newest that may be taken, or the one that `--to` names.

use super::*;

#[test]
fn the_newest_release_is_taken() {
    let decision = decide(&Policy::default(), &three(), &needs("26.8.1", "26.8.1"), now());
    assert_eq!(target(decision), "edge-26.8.3");
    let decision = decide(&Policy::default(), &three(), &Needs::default(), now());
    assert_eq!(target(decision), "edge-26.8.3");
}

#[test]
fn a_pin_that_is_behind_catches_up_and_none_goes_down() {
    let catalog = three();
    let decide = |lowest, highest| decide(&Policy::default(), &catalog, &needs(lowest, highest), now());
    assert_eq!(target(decide("26.8.2", "26.8.3")), "edge-26.8.3");
    assert_eq!(hold(decide("26.8.3", "26.8.3")).reason, HoldReason::UpToDate);
    assert_eq!(hold(decide("26.8.2", "26.9.1")).reason, HoldReason::UpToDate);
    let unnamed = Needs { unnamed: true, ..needs("26.8.3", "26.8.3") };
    let decision = super::super::decide(&Policy::default(), &catalog, &unnamed, now());
    assert_eq!(target(decision), "edge-26.8.3", "what it is behind is for a rendering to say");
    let held = Needs { lowest: None, ..needs("26.8.1", "26.8.1") };
    let decision = super::super::decide(&Policy::default(), &catalog, &held, now());
    assert_eq!(hold(decision).reason, HoldReason::UpToDate, "only held pins");
}

#[test]
fn channels_narrow_the_choice() {
    let mut all = three();
    let recommended = Guidance::Recommended { source: "notes".into(), cautions: None };
    all.releases.get_mut(&edge("26.8.2")).unwrap().guidance = recommended;
    all.releases.get_mut(&edge("26.8.1")).unwrap().is_milestone = true;
    let on =
        |channel, from| decide(&Policy { channel, ..Policy::default() }, &all, &needs(from, from), now());
    assert_eq!(target(on(Channel::Recommended, "26.7.1")), "edge-26.8.2");
    assert_eq!(target(on(Channel::Milestone, "26.7.1")), "edge-26.8.1");
    let held = hold(on(Channel::Milestone, "26.8.1"));
    assert!(held.to_string().contains("edge-26.8.3: not the first edge of a milestone"), "{held}");
}

#[test]
fn to_fixes_the_release_within_what_holds() {
    let mut all = three();
    let bad = against("26.8.2");
    all.releases.insert(bad.version, bad);
    let to =
        |version: &str| Policy { to: Some(edge(version)), skip: vec![edge(version)], ..Policy::default() };
    let from = needs("26.8.1", "26.8.1");
    assert_eq!(target(decide(&to("26.8.2"), &all, &from, now())), "edge-26.8.2", "chosen by a person");
    assert_eq!(hold(decide(&to("26.8.1"), &all, &from, now())).reason, HoldReason::UpToDate);
    assert_eq!(hold(decide(&to("26.8.9"), &all, &from, now())).reason, HoldReason::UnknownRelease);
    let running = edge("26.8.3");
    let above = needs("26.8.1", "26.8.3");
    assert_eq!(hold(decide(&to("26.8.2"), &all, &above, now())).reason, HoldReason::Downgrade { running });
    let young = Policy { soak: days(5), ..to("26.8.3") };
    assert_eq!(hold(decide(&young, &all, &from, now())).reason, HoldReason::Soak);
    let paused = Policy { paused: Some("audit".into()), ..to("26.8.3") };
    assert!(matches!(hold(decide(&paused, &all, &from, now())).reason, HoldReason::Paused { .. }));
}
