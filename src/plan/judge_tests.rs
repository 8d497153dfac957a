//! Which pins move, and why others stay.

use super::*;
use crate::{
    linkerd::built_in,
    pins::{Ended, TagFilter},
    plan::{Proxies, testing::*},
};

const TO: &str = "edge-26.8.3";
const TO_CHART: &str = "2026.8.3";
const CP: &str = "linkerd-control-plane";

fn judged(build: Build, options: &Options) -> Vec<(String, Option<String>, Option<Reason>)> {
    judged_to(build, TO, options)
}

fn judged_to(build: Build, to: &str, options: &Options) -> Vec<(String, Option<String>, Option<Reason>)> {
    let inventory = build.inventory();
    let moves = judge(&inventory, &Target::default_all(), edge(to), built_in(), options);
    let text = |new: NewText| match new {
        NewText::Fixed(text) | NewText::Rendered(text) => text,
        NewText::LockDigest => "digest".to_owned(),
        NewText::Gone => "gone".to_owned(),
    };
    moves.into_iter().map(|m| (m.pin.path.to_string(), m.becomes().cloned().map(text), m.reason())).collect()
}

fn only(build: Build) -> (Option<String>, Option<Reason>) {
    let mut all = judged(build, &Options::default());
    assert_eq!(all.len(), 1);
    let (_, new, reason) = all.remove(0);
    assert_ne!(new.is_some(), reason.is_some(), "a pin either moves or says why it stays");
    (new, reason)
}

fn moved(text: &str) -> (Option<String>, Option<Reason>) {
    (Some(text.to_owned()), None)
}

fn stayed(reason: Reason) -> (Option<String>, Option<Reason>) {
    (None, Some(reason))
}

#[test]
fn a_pin_gets_the_text_of_its_form() {
    assert_eq!(only(Build::default().chart("a.yaml", "linkerd-crds", "2026.8.2")), moved("2026.8.3"));
    assert_eq!(only(Build::default().proxy("a.yaml", "edge-26.8.2")), moved("edge-26.8.3"));
}

#[test]
fn a_pin_at_the_release_or_newer_stays() {
    for value in ["2026.8.3", "2026.9.1", "2027.1.1"] {
        let pin = Build::default().chart("a.yaml", "linkerd-crds", value);
        assert_eq!(only(pin), stayed(Reason::UpToDate), "{value}");
    }
    let tenth = Build::default().chart("a.yaml", "linkerd-crds", "2026.8.10");
    assert_eq!(only(tenth), stayed(Reason::UpToDate), "10 is more than 3");
}

#[test]
fn the_scans_reason_stands() {
    for reason in [Reason::Held, Reason::Channel, Reason::OptedOut, Reason::NoEffect, Reason::Alias] {
        let pin = Build::default().chart("a.yaml", "linkerd-crds", "2026.8.2").stays(reason);
        assert_eq!(only(pin), stayed(reason));
    }
    let broken =
        |value| only(Build::default().chart("a.yaml", "linkerd-crds", value).stays(Reason::DuplicateKey)).1;
    assert_eq!(broken("2026.8.2"), Some(Reason::DuplicateKey));
    assert_eq!(broken("2026.8.3"), Some(Reason::UpToDate), "there is nothing to edit");
}

#[test]
fn a_value_moves_as_long_as_its_chart_reads_it() {
    let value = |before| {
        let b = Build::default().value("a.yaml", CP, "policyController.image.version", "edge-25.2.3");
        b.stays(Reason::NoEffect).with(|pin| pin.ended = Some(Ended { since: edge("edge-25.8.3"), before }))
    };
    let fate = |before, to| {
        let (_, new, reason) = judged_to(value(before), to, &Options::default()).remove(0);
        (new, reason)
    };
    assert_eq!(fate(None, "edge-25.7.6"), moved("edge-25.7.6"));
    assert_eq!(fate(None, "edge-25.8.3"), stayed(Reason::NoEffect));
    assert_eq!(fate(Some(Reason::ChartStays), "edge-25.7.6"), stayed(Reason::ChartStays));
    assert_eq!(fate(Some(Reason::Uneditable), TO), stayed(Reason::NoEffect), "it need not be edited");
    let mut inventory = value(None).inventory();
    assert!(set_aside(&mut inventory, &RepoPath::new("a.yaml").unwrap(), 1));
    assert_eq!(inventory.pins[0].stays_at(edge("edge-25.7.6")), Some(Reason::Uneditable));
}

#[test]
fn a_value_goes_by_a_stop_at_which_its_chart_still_reads_it() {
    let reason = |chart: &str, value: &str| {
        let b = Build::default().chart("a.yaml", CP, chart);
        let b = b.value("b.yaml", CP, "policyController.image.version", value).stays(Reason::NoEffect);
        let ended = Some(Ended { since: edge("edge-25.8.3"), before: None });
        let inventory = b.with(|pin| pin.ended = ended).inventory();
        let all = [Target::default_all()];
        forecast(&inventory, &all, edge(TO), built_in(), &Options::default())[1].reason()
    };
    assert_eq!(reason("2025.2.3", "edge-25.2.3"), Some(Reason::RequiredHop));
    assert_eq!(reason("2025.2.3", "edge-25.7.6"), Some(Reason::NoEffect), "it is there");
    assert_eq!(reason("2026.8.2", "edge-25.2.3"), Some(Reason::NoEffect), "nothing reads it");
}

#[test]
fn prose_and_opaque_texts_never_move() {
    let other = Build::default().pin("README.md", PinKind::Other, "edge-26.8.2");
    assert_eq!(only(other), stayed(Reason::NotDeployed));
    let opaque = Build::default().pin("a.yaml", PinKind::FluxHelmRelease, "latest");
    assert_eq!(only(opaque), stayed(Reason::Uneditable));
}

#[test]
fn a_rendered_manifest_moves_as_its_first_version_says() {
    let rendered = |value| only(Build::default().pin("out.yaml", PinKind::RenderedManifest, value));
    assert_eq!(rendered("linkerd/helm edge-26.8.2"), moved("linkerd/helm edge-26.8.3"));
    assert_eq!(rendered("linkerd/cli edge-26.6.3"), moved("linkerd/cli edge-26.8.3"));
    assert_eq!(rendered("linkerd-crds-2026.8.2"), moved("linkerd-crds-2026.8.3"));
    assert_eq!(rendered("linkerd/helm edge-26.8.3"), stayed(Reason::UpToDate));
}

#[test]
fn proxies_follow_unless_they_are_ignored() {
    let build =
        || Build::default().proxy("a.yaml", "edge-26.8.2").chart("b.yaml", "linkerd-crds", "2026.8.2");
    let with = |proxies| judged(build(), &Options { proxies, ..Options::default() });
    assert_eq!(with(Proxies::Ignore)[0].2, Some(Reason::Ignored));
    assert_eq!(with(Proxies::Follow)[0].1.as_deref(), Some(TO));
    assert!(with(Proxies::Ignore)[1].1.is_some(), "the platform is not asked");
}

#[test]
fn proxies_stay_behind_the_control_plane_of_each_installation_that_runs_them() {
    let build = |other: &str| {
        let b = Build::default().chart("a.yaml", CP, TO_CHART).serves(&["a"]);
        let b = b.chart("b.yaml", CP, other).serves(&["b"]).stays(Reason::Held);
        let b = b.proxy("own.yaml", "edge-26.8.1").serves(&["a"]);
        b.proxy("shared.yaml", "edge-26.8.1").serves(&["a", "b"])
    };
    let fates = |other| judged(build(other), &Options::default()).split_off(2);
    let behind = ("shared.yaml".to_owned(), None, Some(Reason::ControlPlaneBehind));
    assert_eq!(fates("2026.8.2")[0].1.as_deref(), Some(TO));
    assert_eq!(fates("2026.8.2")[1], behind);
    assert_eq!(fates(TO_CHART)[1].1.as_deref(), Some(TO));
}

#[test]
fn proxies_wait_for_a_control_plane_that_is_off_where_nothing_else_is_known_of_their_cluster() {
    let reasons = |beside: bool| {
        let b = Build::default().chart("a.yaml", CP, TO_CHART).serves(&["a"]);
        let b = b.chart("b.yaml", CP, "2026.7.2").serves(&["a", "b"]).stays(Reason::Held);
        let b = b.with(|pin| pin.is_off = true);
        let b = if beside { b.chart("b.yaml", CP, TO_CHART).serves(&["b"]) } else { b };
        let b = b.proxy("ns/a.yaml", "edge-26.7.1").serves(&["a"]);
        let b = b.proxy("ns/b.yaml", "edge-26.7.1").serves(&["b"]).proxy("ns/any.yaml", "edge-26.7.1");
        let fates = judged(b, &Options::default()).into_iter();
        let proxies = fates.filter(|(path, ..)| path.starts_with("ns/")).map(|(.., reason)| reason);
        proxies.collect::<Vec<_>>()
    };
    assert_eq!(reasons(false), [None, None, Some(Reason::ControlPlaneBehind)]);
    assert_eq!(reasons(true), [None; 3], "another one runs there");
}

#[test]
fn proxies_of_nobody_wait_for_each_control_plane_that_they_may_have() {
    let waits = |proxy: &str| {
        let b = Build::default().chart("a.yaml", CP, "2026.8.2").serves(&["a"]);
        let b = b.chart("b.yaml", CP, "2026.7.2").serves(&["b"]).stays(Reason::Held);
        let inventory = b.proxy("ns.yaml", proxy).inventory();
        let planes = ControlPlanes::now(&inventory, &Target::default_all());
        planes.behind(&inventory.pins[2], edge("edge-26.8.2")).and_then(|waits| waits.installation)
    };
    assert_eq!(waits("edge-26.7.1").as_deref(), Some("b"));
    assert_eq!(waits("edge-26.7.2").as_deref(), Some("b"));
    assert_eq!(waits("edge-26.8.1"), None, "it is ahead of that one, so it is not its own");
}

#[test]
fn proxies_wait_for_a_control_plane_whose_version_is_code_unless_the_configuration_names_it() {
    let build = Build::default().chart("a.yaml", CP, "{{ chart }}").stays(Reason::NotFollowed);
    let inventory = build.serves(&["a"]).proxy("ns.yaml", "edge-26.8.1").inventory();
    let waits = |configured: Option<EdgeVersion>| {
        let planes = ControlPlanes::now(&inventory, &Target::default_all()).with_configured(configured);
        inventory.pins().any(|pin| planes.behind(pin, edge("edge-26.8.3")).is_some())
    };
    let configured = ["edge-26.8.2", "edge-26.8.3"].map(|release| waits(Some(edge(release))));
    assert_eq!((waits(None), configured), (true, [true, false]));
}

#[test]
fn a_version_that_a_control_plane_has_in_one_outcome_is_not_that_of_another() {
    let waits = |other: Build, configured: Option<&str>| {
        let build = other.serves(&["a"]).chart("a.yaml", CP, "{{ chart }}").stays(Reason::NotFollowed);
        let inventory = build.serves(&["a"]).proxy("ns.yaml", "edge-26.8.1").serves(&["a"]).inventory();
        let planes = ControlPlanes::now(&inventory, &Target::default_all());
        let planes = planes.with_configured(configured.map(edge));
        inventory.pins().any(|pin| planes.behind(pin, edge("edge-26.8.3")).is_some())
    };
    let version = |release: &str| Build::default().chart("b.yaml", CP, release);
    assert!(waits(version("2026.8.3"), None));
    assert!(!waits(version("2026.8.3"), Some("edge-26.8.3")));
    assert!(waits(version("2026.8.2"), Some("edge-26.8.3")), "it is that in one of them");
    let value = Build::default().value("v.yaml", CP, "linkerdVersion", "edge-26.8.3");
    assert!(!waits(value, None), "its controllers run that in both");
}

#[test]
fn an_exact_version_stays_where_the_pattern_beside_it_does_not_take_the_release() {
    let of = |filter: &str| {
        let b = Build::default().chart("a.yaml", CP, "2026.7.2");
        only(b.with(|pin| pin.filter = Some(TagFilter::new(filter))))
    };
    for filter in ["2026[.]7[.]2", "["] {
        assert_eq!(of(filter), (None, Some(Reason::Uneditable)), "{filter}");
    }
    assert_eq!(of("^2026[.]").1, None);
}

#[test]
fn values_stay_with_a_chart_whose_range_does_not_take_the_release() {
    let build = |range: &str, other: &str| {
        let b = Build::default().chart("a.yaml", CP, range).stays(Reason::Range).serves(&["a"]);
        let b = b.value("v.yaml", CP, "linkerdVersion", "edge-26.7.1").serves(&["a"]);
        let b = b.value("w.yaml", CP, "linkerdVersion", "edge-26.7.1").serves(&[other]);
        b.value("x.yaml", "linkerd-viz", "tag", "edge-26.7.1").serves(&["a"])
    };
    let kept = |range, other| {
        judged(build(range, other), &Options::default()).into_iter().map(|m| m.2).collect::<Vec<_>>()
    };
    let stays = Some(Reason::ChartStays);
    assert_eq!(kept("2026.7.x", "b"), [Some(Reason::Range), stays, None, None]);
    assert_eq!(kept("~2026.7.0", "a"), [Some(Reason::Range), stays, stays, None]);
    for takes in ["2026.x", ">=2026.1.0", "", "latest"] {
        assert_eq!(kept(takes, "a"), [Some(Reason::Range), None, None, None], "{takes:?}");
    }
    for (filter, kept) in [("2026[.]7[.]2", stays), ("^2026[.]", None), ("[", stays)] {
        let b = Build::default().chart("a.yaml", CP, "2026.x").stays(Reason::Range);
        let b = b.with(|pin| pin.filter = Some(TagFilter::new(filter)));
        let found = judged(b.value("v.yaml", CP, "linkerdVersion", "edge-26.7.1"), &Options::default());
        assert_eq!(found[1].2, kept, "{filter}");
    }
}

#[test]
fn proxies_beside_a_control_plane_that_goes_its_own_way_stay_whoever_else_moves() {
    let of_b = |stays: Reason, version: &str| {
        let b = Build::default().chart("a.yaml", CP, "2026.8.2").serves(&["a"]);
        let b = b.chart("b.yaml", "linkerd-enterprise-control-plane", version).stays(stays).serves(&["b"]);
        let inventory = b.proxy("ns.yaml", "edge-26.8.1").serves(&["b"]).inventory();
        let all = [Target::default_all()];
        let moves = forecast(&inventory, &all, edge(TO), built_in(), &Options::default());
        moves[2].reason()
    };
    let behind = Some(Reason::ControlPlaneBehind);
    assert_eq!(of_b(Reason::Channel, "2.19.4"), behind);
    assert_eq!(of_b(Reason::Digest, "sha256:00"), behind);
    assert_eq!(of_b(Reason::Range, "2026.7.x"), behind);
    assert_eq!(of_b(Reason::Range, "2026.x"), None, "it may be there already");
    let nameless = |range: &str| {
        let b = Build::default().chart("a.yaml", CP, range).stays(Reason::Range);
        judged(b.proxy("ns.yaml", "edge-26.8.1"), &Options::default())[1].2
    };
    assert_eq!((nameless("2026.7.x"), nameless("2026.x")), (behind, None));
}

#[test]
fn a_forecast_has_proxies_where_their_control_planes_will_be() {
    let (infra, apps) = (target("infra", &["infra"], &[]), target("apps", &["apps"], &[]));
    let foretold = |build: Build, control_plane: Option<EdgeVersion>| {
        let options = Options { control_plane, ..Options::default() };
        let targets = [infra.clone(), apps.clone()];
        let moves = forecast(&build.inventory(), &targets, edge(TO), built_in(), &options);
        match &moves.iter().find(|m| m.pin.stage == Stage::DataPlane).unwrap().fate {
            Fate::Becomes(NewText::Fixed(text)) => text.clone(),
            fate => format!("{fate:?}"),
        }
    };
    let proxy = |at| Build::default().proxy("apps/ns.yaml", at);
    let with = |version: &str| proxy("edge-26.8.1").chart("infra/cp.yaml", CP, version);
    assert_eq!(foretold(with("2026.8.2"), None), TO, "another target takes it there");
    let held = || with("2026.8.2").stays(Reason::Held);
    assert_eq!(foretold(held(), None), "edge-26.8.2", "as far as it is");
    assert_eq!(foretold(held(), Some(edge(TO))), TO, "the configuration knows better");
    let there = Some(edge("edge-26.8.2"));
    assert_eq!(foretold(proxy("edge-26.8.1"), there), "edge-26.8.2");
    assert_eq!(foretold(proxy("edge-26.8.2"), there), "Stays(ControlPlaneBehind)");
    assert_eq!(foretold(proxy("edge-26.8.1"), None), TO, "who names a release has looked");
    let elsewhere = proxy("edge-26.8.2").chart("other/cp.yaml", CP, "2026.8.2");
    assert_eq!(foretold(elsewhere, None), "Stays(ControlPlaneBehind)", "no target takes it there");
}

#[test]
fn a_platform_pin_below_the_hop_does_not_jump_over_it() {
    let old = || Build::default().chart("a.yaml", "linkerd-crds", "2024.11.8");
    assert_eq!(only(old()), stayed(Reason::RequiredHop));
    let hop = judged_to(old(), "edge-25.9.3", &Options::default());
    assert_eq!(hop[0].1.as_deref(), Some("2025.9.3"), "the hop itself is one step away");
    let proxy = Build::default().proxy("a.yaml", "edge-24.11.8");
    assert_eq!(only(proxy), moved(TO), "a hop is about CRDs, not about proxies");
    let image = || Build::default().value("a.yaml", CP, "debugContainer.image.version", "edge-24.11.8");
    assert_eq!(only(image()), moved(TO), "nor about images");
    assert_eq!(only(image().read_by(Some("linkerd-crds"), "b.yaml")), moved(TO));
    let cli = Build::default().pin("install.sh", PinKind::Marker, "edge-24.11.8");
    assert_eq!(only(cli), stayed(Reason::RequiredHop), "what installs a release brings its CRDs");
}

#[test]
fn charts_of_old_schemes_are_placed_by_the_index_and_without_it_are_old() {
    let old = || Build::default().chart("a.yaml", "linkerd-control-plane", "1.16.9-edge");
    assert_eq!(only(old()), stayed(Reason::RequiredHop));
    let hop = judged_to(old(), "edge-25.9.3", &Options::default());
    assert_eq!(hop[0].1.as_deref(), Some("2025.9.3"));
    let range = Build::default().chart("a.yaml", "linkerd-crds", "1.x");
    assert_eq!(only(range), stayed(Reason::Uneditable), "what is not exact is not old");

    let mut catalog = catalog(&["edge-23.10.2"]);
    let release = catalog.releases.get_mut(&edge("edge-23.10.2")).unwrap();
    release.charts.get_mut("linkerd-control-plane").unwrap().version = "1.16.9-edge".into();
    let mut inventory = old().inventory();
    resolve(&mut inventory, &catalog);
    assert_eq!(inventory.pins[0].version, Some(edge("edge-23.10.2")));
}

#[test]
fn no_chart_version_is_made_up_for_a_release_of_the_old_schemes() {
    let build = Build::default().with_old_release();
    let moves = judged_to(build, "edge-24.2.4", &Options::default());
    assert_eq!(moves[0].2, Some(Reason::Uneditable), "2024.2.4 was never a chart version");
}

impl Build {
    fn with_old_release(self) -> Self {
        let at = Some(edge("edge-23.10.2"));
        self.chart("a.yaml", "linkerd-control-plane", "1.16.9-edge").with(|p| p.version = at)
    }
}

fn umbrella(dependency: &str, reason: Option<Reason>, locked: &str) -> Build {
    let build =
        Build::default().pin("mesh/Chart.yaml", PinKind::ChartDependency, dependency).of("linkerd-viz");
    let build = match reason {
        Some(reason) => build.stays(reason),
        None => build,
    };
    let digest = "sha256:00";
    build.pin("mesh/Chart.lock", PinKind::ChartLock, locked).of("linkerd-viz").pin(
        "mesh/Chart.lock",
        PinKind::ChartLock,
        digest,
    )
}

fn lock(build: Build) -> Vec<(Option<String>, Option<Reason>)> {
    let all = judged(build, &Options::default()).into_iter();
    all.filter(|(path, ..)| path.ends_with("Chart.lock")).map(|(_, new, reason)| (new, reason)).collect()
}

#[test]
fn a_locks_digest_moves_with_its_versions_only() {
    assert_eq!(lock(umbrella("2026.8.2", None, "2026.8.2")), [moved("2026.8.3"), moved("digest")]);
    let still = [stayed(Reason::UpToDate), stayed(Reason::UpToDate)];
    assert_eq!(lock(umbrella("2026.8.3", None, "2026.8.3")), still);
    let elsewhere = umbrella("2026.8.3", None, "2026.8.3")
        .pin("other/Chart.lock", PinKind::ChartLock, "2026.8.2")
        .of("linkerd-viz");
    assert_eq!(lock(elsewhere)[..2], still, "the lock of another chart does not count");
}

#[test]
fn a_lock_stays_inside_the_range_that_its_chart_asks_for() {
    let range = Some(Reason::Range);
    assert_eq!(lock(umbrella("~2026.8.0", range, "2026.8.2")), [moved("2026.8.3"), moved("digest")]);
    assert_eq!(
        lock(umbrella("~2026.7.0", range, "2026.7.2")),
        [stayed(Reason::Range), stayed(Reason::Range)]
    );
    assert_eq!(
        lock(umbrella("2026.8.2", Some(Reason::Held), "2026.8.2")),
        [stayed(Reason::Held), stayed(Reason::Held)]
    );
}

#[test]
fn a_locks_digest_stays_for_what_keeps_its_versions_behind() {
    let too_far = [stayed(Reason::RequiredHop), stayed(Reason::RequiredHop)];
    assert_eq!(lock(umbrella("2024.11.8", None, "2024.11.8")), too_far);
    let beside = |value: &str, form, reason| {
        let build = umbrella("2026.8.3", None, "2026.8.3").pin("mesh/Chart.lock", PinKind::ChartLock, value);
        lock(build.of("linkerd-viz").stays(reason).with(|pin| pin.form = form))[1].clone()
    };
    assert_eq!(beside("2026.8.2", Form::Chart, Reason::Held), stayed(Reason::Held));
    let stable = beside("30.12.11", Form::Opaque, Reason::Channel);
    assert_eq!(stable, stayed(Reason::UpToDate), "it is behind nothing");
}

#[test]
fn one_chart_twice_in_a_lock_is_told_apart_by_its_place() {
    let build = Build::default()
        .pin("mesh/Chart.yaml", PinKind::ChartDependency, "~2026.7.0")
        .of("linkerd-viz")
        .stays(Reason::Range)
        .pin("mesh/Chart.yaml", PinKind::ChartDependency, "~2026.8.0")
        .of("linkerd-viz")
        .stays(Reason::Range)
        .pin("mesh/Chart.lock", PinKind::ChartLock, "2026.7.2")
        .of("linkerd-viz")
        .pin("mesh/Chart.lock", PinKind::ChartLock, "2026.8.2")
        .of("linkerd-viz");
    assert_eq!(lock(build), [stayed(Reason::Range), moved("2026.8.3")]);
}

#[test]
fn what_helmfile_has_locked_stays_inside_its_range() {
    let locked = |range: &str, at: &str| {
        let build = Build::default().pin("helmfile.yaml", PinKind::Helmfile, range).of("linkerd-viz");
        let build = build.stays(Reason::Range).pin("helmfile.lock", PinKind::Helmfile, at).of("linkerd-viz");
        let build = build.read_at("helmfile.yaml");
        let all = judged(build, &Options::default()).into_iter();
        let mut of_lock = all.filter(|(path, ..)| path.ends_with(".lock"));
        of_lock.next().map(|(_, new, reason)| (new, reason))
    };
    assert_eq!(locked("~2026.8.0", "2026.8.2"), Some(moved("2026.8.3")));
    assert_eq!(locked("~2026.7.0", "2026.7.2"), Some(stayed(Reason::Range)));
}

#[test]
fn a_version_stays_with_a_lock_that_has_to_stay_in_a_range_too() {
    let fates = |range: &str| {
        let pin = |build: Build, file: &str, value: &str| {
            build.pin(file, PinKind::Helmfile, value).of("linkerd-viz")
        };
        let build = pin(Build::default(), "b.yaml", range).stays(Reason::Range);
        let build = pin(build, "c.lock", "2026.7.2").read_at("b.yaml");
        let build = pin(build, "d.yaml", "2026.7.2").read_at("c.lock");
        judged(build, &Options::default()).into_iter().map(|(_, _, reason)| reason).collect::<Vec<_>>()
    };
    let range = Some(Reason::Range);
    assert_eq!(fates("~2026.7.0"), [range, range, Some(Reason::Uneditable)]);
    assert_eq!(fates(">=2026.7.0"), [range, None, None]);
}

#[test]
fn what_an_editor_refuses_is_set_aside_until_nothing_is_left() {
    let build = Build::default()
        .chart("a.yaml", "linkerd-crds", "2026.8.2")
        .chart("a.yaml", "linkerd-viz", "2026.8.2")
        .chart("b.yaml", "linkerd-viz", "2026.8.2");
    let mut inventory = build.inventory();
    let reasons = |inventory: &Inventory| inventory.pins().map(|p| p.stays).collect::<Vec<_>>();
    let aside = Some(Reason::Uneditable);
    assert!(set_aside(&mut inventory, &path("a.yaml"), 2));
    assert_eq!(reasons(&inventory), [None, aside, None]);
    assert!(set_aside(&mut inventory, &path("a.yaml"), 0), "the whole file is meant");
    assert_eq!(reasons(&inventory), [aside, aside, None]);
    assert!(!set_aside(&mut inventory, &path("a.yaml"), 0));
}

#[test]
fn only_the_pins_of_the_target_are_judged() {
    let build = Build::default().proxy("apps/a.yaml", "edge-26.8.2").proxy("infra/b.yaml", "edge-26.8.2");
    let inventory = build.inventory();
    let apps = target("apps", &["apps"], &[]);
    let moves = judge(&inventory, &apps, edge(TO), built_in(), &Options::default());
    assert_eq!(moves.iter().map(|m| m.pin.path.as_str()).collect::<Vec<_>>(), ["apps/a.yaml"]);
}
