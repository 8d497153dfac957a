//! Proxies: behind the control plane, never ahead of it.

use super::*;

fn plane(release: &str, landed: Option<&str>, after: i64) -> ControlPlane<'static> {
    ControlPlane { release: Some(edge(release)), landed: landed.map(at), after: days(after), itself: None }
}

#[test]
fn proxies_follow_the_control_plane_after_the_wait() {
    let on = |plane, from: &str| data_plane(&Policy::default(), &needs(from, from), plane, now());
    let landed = Some("2026-08-20T12:00:00Z");
    assert_eq!(target(on(plane("26.8.2", landed, 1), "26.8.1")), "edge-26.8.2");
    let held = hold(on(plane("26.8.2", landed, 2), "26.8.1"));
    assert_eq!((held.reason, held.until), (HoldReason::DataPlaneWait, Some(at("2026-08-22T12:00:00Z"))));
    assert_eq!(hold(on(plane("26.8.2", landed, 2), "26.8.2")).reason, HoldReason::UpToDate);
    assert_eq!(hold(on(plane("26.8.2", landed, 0), "26.8.3")).reason, HoldReason::UpToDate, "ahead already");
    assert_eq!(target(on(plane("26.8.2", None, 0), "26.8.1")), "edge-26.8.2", "no wait, no date");
    assert_eq!(hold(on(plane("26.8.2", None, 1), "26.8.1")).until, None);
    let unknown = ControlPlane { release: None, ..plane("26.8.2", None, 0) };
    assert_eq!(hold(on(unknown, "26.8.1")).reason, HoldReason::ControlPlaneUnknown);
}

#[test]
fn proxies_of_several_installations_name_the_one_that_they_wait_for() {
    let (running, installation) = (Some(edge("26.8.1")), Some("dev".to_owned()));
    let waits = Waits { running, installation: installation.clone(), is_suspended: false };
    let on = |from: &str| {
        let needs = Needs { waits: Some(waits.clone()), ..needs(from, from) };
        data_plane(&Policy::default(), &needs, plane("26.8.2", None, 0), now())
    };
    assert_eq!(hold(on("26.8.2")).reason, HoldReason::ControlPlaneBehind { running, installation });
    assert_eq!(target(on("26.8.1")), "edge-26.8.2", "what waits keeps nobody back");
    let suspended = Waits { running: None, is_suspended: true, ..waits.clone() };
    let reason = HoldReason::ControlPlaneSuspended { installation: suspended.installation.clone() };
    assert_eq!(suspended.clone().reason(), reason);
    let to = Policy { to: Some(edge("26.8.3")), ..Policy::default() };
    let level = Needs { suspended: Some(suspended), ..Needs::default() };
    assert_eq!(
        hold(data_plane(&to, &level, plane("26.8.2", None, 0), now())).reason,
        reason,
        "at its release"
    );
    let others = Needs { lowest: Some(edge("26.8.2")), ..level };
    let behind = HoldReason::ControlPlaneBehind { running: Some(edge("26.8.2")), installation: None };
    assert_eq!(hold(data_plane(&to, &others, plane("26.8.2", None, 0), now())).reason, behind);
}

#[test]
fn proxies_obey_pause_schedule_and_to() {
    let on =
        |policy: &Policy, from: &str| data_plane(policy, &needs(from, from), plane("26.8.2", None, 0), now());
    let to = |version: &str| Policy { to: Some(edge(version)), ..Policy::default() };
    assert_eq!(target(on(&to("26.8.3"), "26.8.1")), "edge-26.8.2", "as far as the control plane");
    let behind = HoldReason::ControlPlaneBehind { running: Some(edge("26.8.2")), installation: None };
    assert_eq!(hold(on(&to("26.8.3"), "26.8.2")).reason, behind);
    assert_eq!(target(on(&to("26.8.1"), "26.7.1")), "edge-26.8.1");
    let running = edge("26.8.2");
    assert_eq!(hold(on(&to("26.8.1"), "26.8.2")).reason, HoldReason::Downgrade { running });
    let paused = Policy { paused: Some("audit".into()), ..Policy::default() };
    assert!(matches!(hold(on(&paused, "26.8.1")).reason, HoldReason::Paused { .. }));
    let schedule = Schedule { expression: "* * * * 0".into(), timezone: "UTC".into() };
    let closed = Policy { schedule: Some(schedule), ..Policy::default() };
    assert_eq!(hold(on(&closed, "26.8.1")).until, Some(at("2026-08-23T00:00:00Z")));
}

#[test]
fn pods_that_ask_for_restarts_wait_like_others_and_come_whatever_the_rest_names() {
    let asking = |from: Option<&str>| Needs {
        unnamed: true,
        ..from.map_or_else(Needs::default, |from| needs(from, from))
    };
    let on = |plane, from| data_plane(&Policy::default(), &asking(from), plane, now());
    let landed = Some("2026-08-20T12:00:00Z");
    for from in [None, Some("26.8.1"), Some("26.8.2")] {
        assert_eq!(target(on(plane("26.8.2", landed, 1), from)), "edge-26.8.2", "{from:?}");
        assert_eq!(hold(on(plane("26.8.2", landed, 2), from)).reason, HoldReason::DataPlaneWait, "{from:?}");
    }
}
