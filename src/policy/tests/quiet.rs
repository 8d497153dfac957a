//! Pauses, freezes and the schedule.

use super::*;

#[test]
fn pause_and_freeze_hold_what_there_is_to_do() {
    let from = needs("26.8.1", "26.8.1");
    let paused = Policy { paused: Some("audit".into()), ..Policy::default() };
    let held = hold(decide(&paused, &three(), &from, now()));
    assert_eq!(held.release, Some(edge("26.8.3")));
    assert!(held.to_string().contains("audit"), "{held}");
    let done = needs("26.8.3", "26.8.3");
    assert_eq!(hold(decide(&paused, &three(), &done, now())).reason, HoldReason::UpToDate);

    let freeze = |from: &str, to: &str| Freeze { from: at(from), to: at(to), reason: "sale".into() };
    let freezes = vec![
        freeze("2026-08-23T00:00:00Z", "2026-08-25T00:00:00Z"),
        freeze("2026-08-21T12:00:00Z", "2026-08-24T00:00:00Z"),
    ];
    let frozen = Policy { freeze: freezes, ..Policy::default() };
    let held = hold(decide(&frozen, &three(), &from, now()));
    assert_eq!(held.until, Some(at("2026-08-25T00:00:00Z")), "freezes that overlap end together");
    assert_eq!(target(decide(&frozen, &three(), &from, at("2026-08-25T00:00:00Z"))), "edge-26.8.3");
    assert_eq!(target(decide(&frozen, &three(), &from, at("2026-08-21T11:59:59Z"))), "edge-26.8.3");
}

#[test]
fn the_schedule_is_a_window_of_minutes_in_its_time_zone() {
    let schedule = |expression: &str, timezone: &str| Policy {
        schedule: Some(Schedule { expression: expression.into(), timezone: timezone.into() }),
        ..Policy::default()
    };
    let on = |policy: &Policy, time: &str| decide(policy, &three(), &needs("26.8.1", "26.8.1"), at(time));
    let office = schedule("* 9-16 * * 1-5", "Europe/Berlin");
    assert_eq!(target(on(&office, "2026-08-21T07:00:00Z")), "edge-26.8.3");
    assert_eq!(target(on(&office, "2026-08-21T14:59:59.9Z")), "edge-26.8.3");
    let held = hold(on(&office, "2026-08-21T15:00:00Z"));
    assert_eq!((held.reason, held.until), (HoldReason::Schedule, Some(at("2026-08-24T07:00:00Z"))));
    let winter = hold(on(&office, "2026-12-04T07:59:59Z"));
    assert_eq!(winter.until, Some(at("2026-12-04T08:00:00Z")), "one hour off in winter");
    let broken = hold(on(&schedule("not cron", "UTC"), "2026-08-21T12:00:00Z"));
    assert_eq!((broken.reason, broken.until), (HoldReason::Schedule, None));
}
