//! One test a rule of the policy and a trap of it, then properties over generated catalogs.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use proptest::prelude::*;

use super::*;
use crate::release::{Catalog, Chart, Feed, FeedState, Guidance, Release};

const CRDS: &str = "linkerd-crds";

fn edge(text: &str) -> EdgeVersion {
    format!("edge-{text}").parse().unwrap()
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// A Friday.
fn now() -> Timestamp {
    at("2026-08-21T12:00:00Z")
}

fn days(days: i64) -> SignedDuration {
    SignedDuration::from_hours(24 * days)
}

/// A ready release of that age.
fn release(version: &str, age: i64) -> Release {
    let version = edge(version);
    let mut release = Release::new(version);
    release.published = Some(now() - days(age));
    release.charts = BTreeMap::from([(CRDS.to_owned(), chart(version))]);
    release
}

fn chart(version: EdgeVersion) -> Chart {
    Chart {
        version: version.chart(),
        url: "https://example.com/a.tgz".into(),
        digest: None,
        kube_version: None,
    }
}

fn catalog(releases: impl IntoIterator<Item = Release>) -> Catalog {
    let releases = releases.into_iter().map(|release| (release.version, release)).collect();
    let feeds = ["charts", "releases"].map(|name| Feed { name, state: FeedState::Read }).to_vec();
    Catalog { releases, feeds, ..Catalog::default() }
}

fn three() -> Catalog {
    catalog([release("26.8.1", 22), release("26.8.2", 9), release("26.8.3", 1)])
}

fn needs(lowest: &str, highest: &str) -> Needs {
    let charts = vec![ChartNeed { chart: CRDS.into(), unverified_mirror: false }];
    Needs { charts, lowest: Some(edge(lowest)), highest: Some(edge(highest)) }
}

fn against(version: &str) -> Release {
    let guidance = Guidance::NotRecommended {
        instead: vec![edge("26.9.1")],
        note: "leaks".into(),
        source: "notes".into(),
    };
    Release { guidance, ..release(version, 1) }
}

fn target(decision: Decision) -> String {
    match decision {
        Decision::Target { version, .. } => version.to_string(),
        Decision::Hold(hold) => panic!("{hold}"),
    }
}

fn hold(decision: Decision) -> Hold {
    match decision {
        Decision::Target { version, .. } => panic!("{version}"),
        Decision::Hold(hold) => hold,
    }
}

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
    let held = Needs { lowest: None, ..needs("26.8.1", "26.8.1") };
    let decision = super::decide(&Policy::default(), &catalog, &held, now());
    assert_eq!(hold(decision).reason, HoldReason::UpToDate, "only held pins");
}

#[test]
fn advice_skip_and_range_pass_a_release_over() {
    let needs = needs("26.8.1", "26.8.1");
    let mut all = three();
    let bad = against("26.8.3");
    all.releases.insert(bad.version, bad);
    assert_eq!(target(decide(&Policy::default(), &all, &needs, now())), "edge-26.8.2");
    let skip = Policy { skip: vec![edge("26.8.3")], ..Policy::default() };
    assert_eq!(target(decide(&skip, &three(), &needs, now())), "edge-26.8.2");
    let range = Policy { range: Some(Range { from: None, to: Some(edge("26.8.2")) }), ..Policy::default() };
    assert_eq!(target(decide(&range, &three(), &needs, now())), "edge-26.8.2");
    let range = Policy { range: Some(Range { from: Some(edge("26.9.1")), to: None }), ..Policy::default() };
    let held = hold(decide(&range, &three(), &needs, now()));
    assert!(matches!(&held.reason, HoldReason::NoneEligible { reason } if reason.contains("policy.range")));

    let told = passed_over(&skip, &all, &needs, now());
    assert_eq!(told.len(), 1);
    let told = passed_over(&Policy::default(), &all, &needs, now());
    assert_eq!(told, [(edge("26.8.3"), "advised against (notes): leaks; instead: edge-26.9.1".to_owned())]);
}

#[test]
fn a_caution_stays_eligible() {
    let mut all = three();
    let caution = Guidance::Caution { note: "GKE only".into(), source: "notes".into() };
    all.releases.get_mut(&edge("26.8.3")).unwrap().guidance = caution;
    let needs = needs("26.8.1", "26.8.1");
    assert_eq!(target(decide(&Policy::default(), &all, &needs, now())), "edge-26.8.3");
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
fn soak_counts_from_the_publish_date_and_takes_the_newest_that_is_old_enough() {
    let soak = |n| Policy { soak: days(n), ..Policy::default() };
    let from = needs("26.7.1", "26.7.1");
    assert_eq!(target(decide(&soak(1), &three(), &from, now())), "edge-26.8.3");
    assert_eq!(target(decide(&soak(2), &three(), &from, now())), "edge-26.8.2");
    let held = hold(decide(&soak(30), &three(), &from, now()));
    assert_eq!((held.release, held.until), (Some(edge("26.8.1")), Some(now() + days(8))));
    assert!(held.to_string().ends_with("until 2026-08-29 12:00 UTC"), "{held}");
    let told = passed_over(&soak(2), &three(), &from, now());
    assert!(told.len() == 1 && told[0].1.contains("2026-08-22 12:00 UTC"), "{told:?}");
    let held =
        hold(decide(&Policy { soak: SignedDuration::MAX, ..Policy::default() }, &three(), &from, now()));
    assert_eq!((held.reason, held.until), (HoldReason::Soak, None));
}

#[test]
fn without_a_date_no_release_is_old_enough() {
    let undated = || Release { published: None, ..release("26.8.4", 1) };
    let from = needs("26.8.3", "26.8.3");
    let soak = Policy { soak: days(1), ..Policy::default() };
    let mut all = catalog([undated()]);
    assert_eq!(target(decide(&Policy::default(), &all, &from, now())), "edge-26.8.4", "no soak, no date");
    for (state, words) in [
        (FeedState::Off, "`releases` is off"),
        (FeedState::Failed("timed out".into()), "timed out"),
        (FeedState::Read, "`releases` gives none"),
    ] {
        all.feeds[1].state = state;
        let held = hold(decide(&soak, &all, &from, now()));
        assert!(
            matches!(held.reason, HoldReason::NoDate { .. }) && held.to_string().contains(words),
            "{held}"
        );
    }
}

#[test]
fn readiness_is_that_of_every_chart_in_use() {
    let mut all = three();
    all.releases.get_mut(&edge("26.8.3")).unwrap().charts.clear();
    let decide = |needs: &Needs| decide(&Policy::default(), &all, needs, now());
    assert_eq!(target(decide(&needs("26.8.1", "26.8.1"))), "edge-26.8.2", "the newest that is ready");
    let held = hold(decide(&needs("26.8.2", "26.8.2")));
    assert_eq!(held.reason, HoldReason::NotReady { charts: vec![CRDS.into()] });
    let mut mirrored = needs("26.8.2", "26.8.2");
    mirrored.charts[0].unverified_mirror = true;
    assert_eq!(target(decide(&mirrored)), "edge-26.8.3");
}

#[test]
fn a_chart_of_the_release_at_another_version_is_not_ready() {
    let mut all = three();
    let newest = all.releases.get_mut(&edge("26.8.3")).unwrap();
    newest.charts.insert(CRDS.into(), chart(edge("26.8.2")));
    assert_eq!(missing_charts(&all, edge("26.8.3"), &needs("26.8.2", "26.8.2").charts), [CRDS]);
}

#[test]
fn a_retired_chart_says_what_became_of_it() {
    let jaeger = [ChartNeed { chart: "linkerd-jaeger".into(), unverified_mirror: false }];
    let missing = missing_charts(&three(), edge("26.8.3"), &jaeger);
    assert!(missing[0].contains("the last is edge-25.9.4"), "{missing:?}");
}

#[test]
fn an_index_that_is_off_or_unread_is_told_apart() {
    let mut all = three();
    all.releases.values_mut().for_each(|release| release.charts.clear());
    all.feeds[0].state = FeedState::Failed("no route".into());
    let from = needs("26.8.2", "26.8.2");
    let held = hold(decide(&Policy::default(), &all, &from, now()));
    assert_eq!(held.reason, HoldReason::IndexUnread { reason: "no route".into() });
    all.feeds[0].state = FeedState::Off;
    assert_eq!(target(decide(&Policy::default(), &all, &from, now())), "edge-26.8.3");
}

#[test]
fn a_required_hop_comes_first_and_says_so() {
    let all = catalog([release("25.1.2", 600), release("25.7.6", 300), release("26.8.3", 1)]);
    let Decision::Target { version, hop_towards } =
        decide(&Policy::default(), &all, &needs("25.1.2", "25.1.2"), now())
    else {
        panic!()
    };
    assert_eq!((version, hop_towards.unwrap().0), (edge("25.7.6"), edge("26.8.3")));
    assert_eq!(target(decide(&Policy::default(), &all, &needs("25.7.6", "25.7.6"), now())), "edge-26.8.3");
    let to = Policy { to: Some(edge("26.8.3")), ..Policy::default() };
    assert_eq!(target(decide(&to, &all, &needs("25.1.2", "25.1.2"), now())), "edge-25.7.6");
    let milestones = Policy { channel: Channel::Milestone, to: Some(edge("26.8.3")), ..Policy::default() };
    assert_eq!(target(decide(&milestones, &all, &needs("25.1.2", "25.1.2"), now())), "edge-25.7.6");
}

#[test]
fn a_hop_that_cannot_be_taken_is_replaced_or_held() {
    let mut all =
        catalog([against("25.7.6"), release("25.9.3", 300), release("25.5.1", 1), release("26.8.3", 1)]);
    let from = needs("25.1.2", "25.1.2");
    assert_eq!(target(decide(&Policy::default(), &all, &from, now())), "edge-25.9.3");
    all.releases.remove(&edge("25.9.3"));
    assert_eq!(target(decide(&Policy::default(), &all, &from, now())), "edge-25.5.1", "any of the stretch");
    all.releases.remove(&edge("25.5.1"));
    let held = hold(decide(&Policy::default(), &all, &from, now()));
    assert!(matches!(&held.reason, HoldReason::HopUnavailable { hop, reason }
        if *hop == edge("25.7.6") && reason.contains("advised against")));
    all.releases.remove(&edge("25.7.6"));
    assert!(hold(decide(&Policy::default(), &all, &from, now())).to_string().contains("no feed names it"));
}

#[test]
fn a_hop_never_takes_another_pin_down() {
    let all = catalog([release("25.7.6", 300), release("26.8.3", 1)]);
    let held = hold(decide(&Policy::default(), &all, &needs("25.1.2", "26.8.2"), now()));
    assert!(held.to_string().contains("edge-26.8.2 and would go down"), "{held}");
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

#[test]
fn a_schedule_is_checked_with_its_reason() {
    let check = |expression: &str, timezone: &str| {
        let schedule = Schedule { expression: expression.into(), timezone: timezone.into() };
        schedule.check().map_err(|error| error.to_string())
    };
    assert_eq!(check("*/15 2-5 * * mon-fri", "America/New_York"), Ok(()));
    assert!(check("0 * 9-16 * * 1-5", "UTC").unwrap_err().contains("five fields"));
    assert!(check("61 * * * *", "UTC").is_err() && check("", "UTC").is_err());
    assert!(check("* * * * *", "Mars/Olympus").unwrap_err().contains("Europe/Berlin"));
    assert!(check("* * 30 2 *", "UTC").unwrap_err().contains("matches no minute"));
}

fn plane(release: &str, landed: Option<&str>, after: i64) -> ControlPlane {
    ControlPlane { release: Some(edge(release)), landed: landed.map(at), after: days(after) }
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
fn proxies_obey_pause_schedule_and_to() {
    let on =
        |policy: &Policy, from: &str| data_plane(policy, &needs(from, from), plane("26.8.2", None, 0), now());
    let to = |version: &str| Policy { to: Some(edge(version)), ..Policy::default() };
    assert_eq!(target(on(&to("26.8.3"), "26.8.1")), "edge-26.8.2", "as far as the control plane");
    let behind = HoldReason::ControlPlaneBehind { running: edge("26.8.2") };
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
fn every_hold_says_until_when_or_until_what() {
    let text = || "why".to_owned();
    let reasons = [
        HoldReason::UpToDate,
        HoldReason::Paused { reason: text() },
        HoldReason::Frozen { reason: text() },
        HoldReason::Schedule,
        HoldReason::Soak,
        HoldReason::NoDate { missing: text() },
        HoldReason::NotReady { charts: vec![text()] },
        HoldReason::IndexUnread { reason: text() },
        HoldReason::NoneEligible { reason: text() },
        HoldReason::Downgrade { running: edge("26.8.2") },
        HoldReason::UnknownRelease,
        HoldReason::HopUnavailable { hop: edge("25.7.6"), reason: text() },
        HoldReason::DataPlaneWait,
        HoldReason::ControlPlaneUnknown,
        HoldReason::ControlPlaneBehind { running: edge("26.8.2") },
    ];
    for reason in reasons {
        for (release, until) in [(None, None), (Some(edge("26.8.3")), Some(now()))] {
            let hold = Hold { reason: reason.clone(), release, until };
            let text = describe(&hold);
            assert!(text.contains("until ") && !text.ends_with('.'), "{text}");
        }
    }
}

/// Releases on both sides of the required hop and around the turn of a year.
const VERSIONS: [&str; 9] =
    ["25.1.1", "25.3.1", "25.7.6", "25.9.3", "25.9.4", "25.12.1", "26.1.1", "26.8.2", "26.8.10"];

fn any_version() -> impl Strategy<Value = EdgeVersion> {
    prop::sample::select(VERSIONS.to_vec()).prop_map(edge)
}

fn any_release() -> impl Strategy<Value = Release> {
    (any_version(), prop::option::of(0..40_i64), any::<bool>(), 0..4_u8).prop_map(
        |(version, age, ready, advice)| {
            let mut release = Release::new(version);
            release.published = age.map(|age| now() - days(age));
            if ready {
                release.charts.insert(CRDS.into(), chart(version));
            }
            let (note, source) = ("note".to_owned(), "source".to_owned());
            release.guidance = match advice {
                0 => Guidance::Recommended { source, cautions: None },
                1 => Guidance::NotRecommended { instead: Vec::new(), note, source },
                2 => Guidance::Caution { note, source },
                _ => Guidance::Unknown,
            };
            release
        },
    )
}

fn any_catalog() -> impl Strategy<Value = Catalog> {
    prop::collection::vec(any_release(), 0..9).prop_map(catalog)
}

fn any_needs() -> impl Strategy<Value = Needs> {
    (prop::option::of(any_version()), prop::option::of(any_version()), any::<bool>()).prop_map(
        |(one, other, mirror)| {
            let charts = vec![ChartNeed { chart: CRDS.into(), unverified_mirror: mirror }];
            Needs { charts, lowest: one.min(other).or(one), highest: one.max(other) }
        },
    )
}

fn any_policy() -> impl Strategy<Value = Policy> {
    let range = prop::option::of((prop::option::of(any_version()), prop::option::of(any_version())));
    (
        any::<bool>(),
        0..20_i64,
        range,
        prop::collection::vec(any_version(), 0..3),
        prop::option::of(any_version()),
    )
        .prop_map(|(recommended, soak, range, skip, to)| Policy {
            channel: if recommended { Channel::Recommended } else { Channel::Edge },
            soak: days(soak),
            range: range.map(|(from, to)| Range { from, to }),
            skip,
            to,
            ..Policy::default()
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_target_goes_up_stops_at_hops_and_is_ready(
        policy in any_policy(), all in any_catalog(), needs in any_needs(),
    ) {
        let Decision::Target { version, hop_towards } = decide(&policy, &all, &needs, now()) else { return Ok(()) };
        prop_assert!(needs.highest.is_none_or(|highest| version >= highest));
        prop_assert!(needs.lowest.is_none_or(|lowest| version > lowest));
        if let Some(lowest) = needs.lowest {
            prop_assert!(all.knowledge.hop(lowest, version).is_none(), "{lowest} to {version}");
        }
        let release = all.get(version).unwrap();
        let due = release.published.map(|published| published + policy.soak);
        prop_assert!(policy.soak.is_zero() || due.is_some_and(|due| due <= now()));
        prop_assert!(missing_charts(&all, version, &needs.charts).is_empty());
        prop_assert!(hop_towards.is_none_or(|(goal, _)| goal > version));
        if let Some(to) = policy.to {
            prop_assert_eq!(hop_towards.map_or(version, |(goal, _)| goal), to);
        } else {
            let left_out = policy.skip.contains(&version)
                || matches!(release.guidance, Guidance::NotRecommended { .. });
            prop_assert!(!left_out);
        }
    }

    #[test]
    fn more_releases_never_lower_the_goal(
        policy in any_policy(), mut all in any_catalog(), needs in any_needs(), more in any_release(),
    ) {
        let policy = Policy { to: None, ..policy };
        let goal = |all: &Catalog| match decide(&policy, all, &needs, now()) {
            Decision::Target { version, hop_towards } => Some(hop_towards.map_or(version, |(goal, _)| goal)),
            Decision::Hold(_) => None,
        };
        let before = goal(&all);
        all.releases.entry(more.version).or_insert(more);
        let after = goal(&all);
        // A newer goal behind a hop that cannot be taken holds; it does not turn back to an older one.
        prop_assert!(after.is_none() || after >= before);
    }

    #[test]
    fn time_only_adds_to_what_is_eligible(policy in any_policy(), all in any_catalog(), needs in any_needs()) {
        let at = |now| match decide(&policy, &all, &needs, now) {
            Decision::Target { version, hop_towards } => Some(hop_towards.map_or(version, |(goal, _)| goal)),
            Decision::Hold(_) => None,
        };
        let (today, later) = (at(now()), at(now() + days(30)));
        prop_assert!(later.is_none() || later >= today);
    }

    #[test]
    fn proxies_never_pass_the_control_plane(
        policy in any_policy(), proxies in any_needs(), release in any_version(), after in 0..3_i64,
    ) {
        let landed = Some(now() - days(1));
        let plane = ControlPlane { release: Some(release), landed, after: days(after) };
        if let Decision::Target { version, .. } = data_plane(&policy, &proxies, plane, now()) {
            prop_assert!(version <= release && after <= 1);
            prop_assert!(proxies.lowest.is_some_and(|lowest| version > lowest));
        }
    }
}
