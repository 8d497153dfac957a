//! What keeps a release from being taken: advice, the policy's rules, its age, its charts.

use super::*;

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
    mirrored.charts[0].mirror = Some("https://mirror.example".to_owned());
    assert_eq!(target(decide(&mirrored)), "edge-26.8.3", "the mirror is another place");
}

#[test]
fn a_release_waits_for_the_mirror_of_its_charts() {
    let all = three();
    let mut from = needs("26.8.1", "26.8.1");
    let need = ChartNeed { chart: CRDS.into(), mirror: Some("https://mirror.example".to_owned()) };
    from.charts = vec![need.clone()];
    let decide = |needs: &Needs| decide(&Policy::default(), &all, needs, now());
    assert_eq!(target(decide(&from)), "edge-26.8.3");
    from.absent.push(Absent { need: need.clone(), absence: Absence::Of(edge("26.8.3")) });
    assert_eq!(target(decide(&from)), "edge-26.8.2", "the newest that the mirror has");
    from.absent.push(Absent { need: need.clone(), absence: Absence::Of(edge("26.8.2")) });
    let held = hold(decide(&from));
    let (mirror, charts) = ("https://mirror.example".to_owned(), vec![CRDS.to_owned()]);
    assert_eq!(held.reason, HoldReason::MirrorLacks { mirror: mirror.clone(), charts });
    assert_eq!(held.release, Some(edge("26.8.3")));
    from.absent = vec![Absent { need, absence: Absence::Unread("no route".to_owned()) }];
    let held = hold(decide(&from));
    assert_eq!(held.reason, HoldReason::MirrorUnread { mirror, reason: "no route".to_owned() });
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
    let jaeger = [ChartNeed { chart: "linkerd-jaeger".into(), mirror: None }];
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
