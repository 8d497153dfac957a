//! What holds for every policy, catalog and repository.

use proptest::prelude::*;

use super::*;

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
            let mirror = mirror.then(|| "https://mirror.example".to_owned());
            let charts = vec![ChartNeed { chart: CRDS.into(), mirror }];
            let lowest = one.min(other).or(one);
            Needs { charts, lowest, steps_from: lowest, highest: one.max(other), ..Needs::default() }
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
        let Decision::Target { version, hop_towards, .. } = decide(&policy, &all, &needs, now()) else { return Ok(()) };
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
            Decision::Target { version, hop_towards, .. } => Some(hop_towards.map_or(version, |(goal, _)| goal)),
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
            Decision::Target { version, hop_towards, .. } => Some(hop_towards.map_or(version, |(goal, _)| goal)),
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
        let plane = ControlPlane { release: Some(release), landed, after: days(after), itself: None };
        if let Decision::Target { version, .. } = data_plane(&policy, &proxies, plane, now()) {
            prop_assert!(version <= release && after <= 1);
            prop_assert!(proxies.lowest.is_some_and(|lowest| version > lowest));
        }
    }
}
