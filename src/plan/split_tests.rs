//! Which targets are made of installations.

use super::*;
use crate::plan::testing::{Build, edge, target};

const CHART: &str = "linkerd-control-plane";

fn wanted<'a>(taken: &'a [&'a str]) -> Wanted<'a> {
    Wanted { to: Some(edge("edge-26.8.3")), knowledge: crate::linkerd::built_in(), taken }
}

/// What each target has: its name and its files.
fn targets(inventory: &Inventory, how: Split) -> Vec<String> {
    let made = split(inventory, &Target::default_all(), how, wanted(&[]));
    let files = |target: &Target| {
        let mine = inventory.pins().filter(|pin| target.has(pin)).map(|pin| pin.path.as_str());
        mine.collect::<Vec<_>>().join(" ")
    };
    let one = |target: &Target| format!("{}: {}", target.name, files(target));
    let all = inventory.pins();
    assert!(all.clone().all(|pin| made.iter().filter(|target| target.has(pin)).count() == 1));
    assert!(all.clone().all(|pin| made.iter().filter(|t| t.has(pin)).all(|t| t.covers(&pin.path))));
    made.iter().map(one).collect()
}

fn fleet() -> Build {
    Build::default()
        .chart("a.yaml", CHART, "2026.8.2")
        .serves(&["a"])
        .chart("b.yaml", CHART, "2026.8.1")
        .serves(&["b"])
        .chart("far.yaml", CHART, "2025.2.3")
        .serves(&["far"])
        .chart("held.yaml", CHART, "2026.6.3")
        .stays(Reason::Held)
        .serves(&["held"])
        .chart("stable.yaml", CHART, "1.16.11")
        .stays(Reason::Channel)
        .serves(&["stable"])
        .proxy("team.yaml", "edge-26.8.1")
}

#[test]
fn an_installation_that_cannot_go_along_has_a_target_of_its_own() {
    let found = targets(&fleet().inventory(), Split::Laggards);
    assert_eq!(
        found,
        ["default: a.yaml b.yaml team.yaml", "held: held.yaml", "stable: stable.yaml", "far: far.yaml"]
    );
}

#[test]
fn what_nobody_but_laggards_reads_keeps_nobody_back() {
    let build = fleet()
        .chart("live.yaml", CHART, "2026.6.3")
        .stays(Reason::Held)
        .serves(&["dr", "prod"])
        .proxy("dr.yaml", "edge-26.1.1")
        .serves(&["dr"])
        .chart("ahead.yaml", CHART, "2026.9.1")
        .serves(&["eu", "us"])
        .chart("crds.yaml", "linkerd-crds", "2026.8.1")
        .serves(&["a", "dr", "eu", "prod", "us"]);
    assert_eq!(
        targets(&build.inventory(), Split::Laggards),
        [
            "default: a.yaml b.yaml crds.yaml team.yaml",
            "dr: dr.yaml",
            "dr-prod: live.yaml",
            "eu-us: ahead.yaml",
            "held: held.yaml",
            "stable: stable.yaml",
            "far: far.yaml"
        ]
    );
}

#[test]
fn proxies_of_a_cluster_without_a_control_plane_here_have_a_target_of_their_own() {
    let build = Build::default().chart("a.yaml", CHART, "2026.8.2").serves(&["a"]);
    let build = build.proxy("both.yaml", "edge-26.8.1").serves(&["a", "b"]).proxy("ns.yaml", "edge-26.8.1");
    let build = build.serves(&["b"]).facts(|facts| {
        facts.bare.insert("b".into());
    });
    let expected = ["default: a.yaml", "b: ns.yaml", "a-b: both.yaml"];
    assert_eq!(targets(&build.inventory(), Split::Laggards), expected);
}

#[test]
fn where_nobody_can_go_along_nobody_is_set_apart() {
    let far = |build: Build| build.chart("a.yaml", CHART, "2025.2.3").serves(&["a"]);
    let both = far(Build::default()).chart("b.yaml", CHART, "2025.1.1").serves(&["b"]);
    assert_eq!(targets(&both.inventory(), Split::Laggards), ["default: a.yaml b.yaml"]);
    let held = |build: Build, name: &str| {
        build.chart(&format!("{name}.yaml"), CHART, "2026.8.2").stays(Reason::Held).serves(&[name])
    };
    let both = held(held(Build::default(), "a"), "b").inventory();
    assert_eq!(targets(&both, Split::Laggards), ["default: a.yaml b.yaml"]);
    let one = held(far(Build::default()), "b").inventory();
    assert_eq!(targets(&one, Split::Laggards), ["default: a.yaml", "b: b.yaml"]);
}

#[test]
fn those_that_share_with_a_laggard_wait_and_nobody_else_does() {
    let build = fleet().chart("base.yaml", "linkerd-crds", "2026.8.1").serves(&["b", "far"]);
    assert_eq!(
        targets(&build.inventory(), Split::Laggards),
        [
            "default: a.yaml team.yaml",
            "held: held.yaml",
            "stable: stable.yaml",
            "far: far.yaml",
            "with-far: b.yaml base.yaml"
        ]
    );
    let all = fleet().chart("base.yaml", "linkerd-crds", "2026.8.1").serves(&["a", "b", "far"]);
    let found = targets(&all.inventory(), Split::Laggards);
    assert_eq!(found[0], "default: a.yaml b.yaml base.yaml team.yaml");
    let held = fleet().chart("base.yaml", "linkerd-crds", "2026.8.1").serves(&["a", "held"]);
    assert_eq!(targets(&held.inventory(), Split::Laggards)[0], "default: a.yaml b.yaml base.yaml team.yaml");
}

#[test]
fn proxies_that_a_laggard_runs_too_go_as_far_as_it_and_keep_nobody_back() {
    let build = fleet().proxy("two.yaml", "edge-26.1.1").serves(&["a", "b"]);
    let build = build.proxy("with.yaml", "edge-26.1.1").serves(&["a", "held"]);
    let build = build.proxy("late.yaml", "edge-26.1.1").serves(&["b", "far"]);
    let found = targets(&build.clone().inventory(), Split::Laggards);
    assert_eq!(found[0], "default: a.yaml b.yaml team.yaml two.yaml");
    for own in ["a-held: with.yaml", "b-far: late.yaml"] {
        assert!(found.contains(&own.to_owned()), "{found:?}");
    }
    // Where the platform is shared too, they go with that.
    let base = build.chart("base.yaml", "linkerd-crds", "2026.8.1").serves(&["a", "held"]);
    let found = targets(&base.inventory(), Split::Laggards);
    assert_eq!(found[0], "default: a.yaml b.yaml base.yaml team.yaml two.yaml with.yaml");
}

#[test]
fn targets_of_proxies_are_told_apart_where_their_names_begin_alike() {
    let name = |n: usize| format!("cluster-with-a-long-name-{n}");
    let mut build = Build::default();
    for n in 0..4 {
        build = build.chart(&format!("{n}.yaml"), CHART, "2026.8.2").serves(&[&name(n)]);
    }
    build = build.stays(Reason::Held);
    for other in [1, 2] {
        let names = [name(0), name(other), name(3)];
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        build = build.proxy(&format!("with-{other}.yaml"), "edge-26.1.1").serves(&names);
    }
    let found = targets(&build.inventory(), Split::Laggards);
    for own in ["name-0-and-2-more: with-1.yaml", "name-0-and-2-more-2: with-2.yaml"] {
        assert!(found.iter().any(|target| target.ends_with(own)), "{found:?}");
    }
}

#[test]
fn proxies_of_those_that_are_held_go_as_far_as_their_own_control_plane() {
    let held = |build: Build, name: &str, version: &str| {
        let build = build.chart(&format!("{name}.yaml"), CHART, version).stays(Reason::Held).serves(&[name]);
        build.proxy(&format!("{name}-ns.yaml"), "edge-26.1.1").serves(&[name])
    };
    let both = held(held(Build::default(), "a", "2026.8.2"), "b", "2026.7.1").inventory();
    assert_eq!(targets(&both, Split::Laggards), ["a: a-ns.yaml a.yaml", "b: b-ns.yaml b.yaml"]);
}

#[test]
fn laggards_that_share_go_together() {
    let build = fleet()
        .chart("further.yaml", CHART, "2025.1.1")
        .serves(&["further"])
        .chart("old.yaml", "linkerd-crds", "2025.1.1")
        .serves(&["far", "further"]);
    let found = targets(&build.inventory(), Split::Laggards);
    assert!(found.contains(&"far-further: far.yaml further.yaml old.yaml".to_owned()), "{found:?}");
}

#[test]
fn each_installation_has_its_target_and_what_they_share_goes_before_them() {
    let build = fleet().chart("base.yaml", "linkerd-crds", "2026.8.1").serves(&["a", "b"]);
    let inventory = build.inventory();
    assert_eq!(
        targets(&inventory, Split::Each),
        [
            "default: team.yaml",
            "shared: base.yaml",
            "a: a.yaml",
            "b: b.yaml",
            "far: far.yaml",
            "held: held.yaml",
            "stable: stable.yaml"
        ]
    );
    let made = split(&inventory, &Target::default_all(), Split::Each, wanted(&[]));
    let after: Vec<_> = made.iter().map(|target| target.after.as_deref()).collect();
    assert_eq!(after[..5], [None, None, Some("shared"), Some("shared"), None]);
}

#[test]
fn one_that_stays_has_a_target_of_its_own_whatever_others_share_with_it() {
    let build = fleet()
        .chart("viz.yaml", "linkerd-viz", "2026.6.3")
        .serves(&["a", "held"])
        .proxy("own.yaml", "edge-26.8.1")
        .serves(&["a"])
        .proxy("both.yaml", "edge-26.1.1")
        .serves(&["b", "held"]);
    assert_eq!(
        targets(&build.inventory(), Split::Each),
        [
            "default: team.yaml",
            "shared: both.yaml",
            "a: a.yaml own.yaml viz.yaml",
            "b: b.yaml",
            "far: far.yaml",
            "held: held.yaml",
            "stable: stable.yaml"
        ]
    );
}

#[test]
fn one_with_a_stop_to_make_has_a_target_of_its_own_whatever_those_past_it_share_with_it() {
    let further = fleet().chart("further.yaml", CHART, "2025.1.1").serves(&["further"]);
    let viz = further.chart("viz.yaml", "linkerd-viz", "2026.6.3").serves(&["a", "far"]);
    let old = viz.chart("old.yaml", "linkerd-viz", "2025.2.3").serves(&["far", "further"]);
    let of = |build: Build| {
        let inventory = build.inventory();
        let open = Wanted { to: None, ..wanted(&[]) };
        let made = split(&inventory, &Target::default_all(), Split::Each, open);
        let files = |target: &Target| inventory.pins().filter(|pin| target.has(pin)).count();
        made.iter().map(|target| format!("{} {}", target.name, files(target))).collect::<Vec<_>>()
    };
    let expected = ["default 1", "a 2", "b 1", "far-further 3", "held 1", "stable 1"];
    assert_eq!(of(old), expected, "those behind go to it together");
}

#[test]
fn nobody_waits_for_what_is_shared_and_stays() {
    let after = |stays: Option<Reason>| {
        let build = fleet().chart("base.yaml", "linkerd-crds", "2026.8.1").serves(&["a", "b"]);
        let build = build.chart("viz.yaml", "linkerd-viz", "2026.x").serves(&["a", "b", "far"]);
        let inventory = stays.into_iter().fold(build, Build::stays).inventory();
        let made = split(&inventory, &Target::default_all(), Split::Each, wanted(&[]));
        let waits = made.iter().filter(|target| target.after.is_some());
        waits.map(|target| target.name.clone()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(after(Some(Reason::Range)), "a b");
    assert_eq!(after(Some(Reason::Encrypted)), "a b far", "somebody has to move it");
    assert_eq!(after(None), "", "it goes with those that need it, and so does what they share");
}

#[test]
fn installations_that_share_what_cannot_go_before_them_have_one_target() {
    let build = fleet()
        .value("base.yaml", CHART, "proxy.image.version", "edge-26.8.1")
        .serves(&["a", "b"])
        .chart("crds.yaml", "linkerd-crds", "2026.8.1")
        .serves(&["a", "b", "far"]);
    let inventory = build.inventory();
    let made = split(&inventory, &Target::default_all(), Split::Each, wanted(&["a-b"]));
    let named = |target: &Target| format!("{} after {:?}", target.name, target.after.as_deref());
    let names: Vec<String> = made.iter().map(named).collect();
    assert_eq!(
        names[..4],
        [
            "default after None",
            "shared after None",
            "a-b after Some(\"shared\")",
            "far after Some(\"shared\")"
        ]
    );
    assert_eq!(targets(&inventory, Split::Each)[2], "a-b: a.yaml b.yaml base.yaml");
}

#[test]
fn those_who_go_together_wait_for_all_that_they_share_with_others() {
    let build = fleet()
        .value("base.yaml", CHART, "proxy.image.version", "edge-26.8.1")
        .serves(&["a", "b"])
        .chart("crds.yaml", "linkerd-crds", "2026.8.1")
        .serves(&["a", "far"])
        .chart("lab.yaml", CHART, "2026.8.1")
        .serves(&["lab"])
        .chart("more.yaml", "linkerd-crds", "2026.8.1")
        .serves(&["b", "lab"]);
    let inventory = build.inventory();
    let made = split(&inventory, &Target::default_all(), Split::Each, wanted(&[]));
    let after = |name: &str| made.iter().find(|target| target.name == name)?.after.as_deref();
    assert_eq!(["a-b", "far", "lab"].map(after), [Some("shared"); 3]);
    assert_eq!(targets(&inventory, Split::Each)[1], "shared: crds.yaml more.yaml");
}

#[test]
fn what_is_another_targets_names_none() {
    let build = Build::default()
        .chart("own/a.yaml", CHART, "2026.8.2")
        .serves(&["a"])
        .chart("other/b.yaml", CHART, "2026.8.2")
        .serves(&["b"])
        .value("own/base.yaml", CHART, "proxy.image.version", "edge-26.8.2")
        .serves(&["a", "b"]);
    let made = split(&build.inventory(), &target("own", &["own"], &[]), Split::Each, wanted(&["own"]));
    assert_eq!(made.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["a"]);
}

#[test]
fn a_narrowed_target_has_what_serves_its_installations_and_nobody_else() {
    let inventory = Build::default()
        .chart("set.yaml", CHART, "2026.8.2")
        .serves(&["eu"])
        .chart("set.yaml", CHART, "2026.8.3")
        .serves(&["lab"])
        .chart("base.yaml", "linkerd-crds", "2026.8.2")
        .serves(&["eu", "lab"])
        .chart("both.yaml", "linkerd-crds", "2026.8.2")
        .serves(&["eu", "us"])
        .chart("us.yaml", CHART, "2026.8.2")
        .serves(&["us"])
        .proxy("team.yaml", "edge-26.8.1")
        .inventory();
    let of = |names: &[&str]| {
        let names = names.iter().map(|name| Arc::from(*name)).collect();
        narrowed(&inventory, &Target::default_all(), &names)
    };
    let (prod, lab) = (of(&["eu", "us"]), of(&["lab"]));
    let files = |target: &Target| -> Vec<String> {
        let mine = inventory.pins().filter(|pin| target.has(pin));
        mine.map(|pin| format!("{} {}", pin.path, pin.value)).collect()
    };
    assert_eq!(files(&prod), ["both.yaml 2026.8.2", "set.yaml 2026.8.2", "us.yaml 2026.8.2"]);
    assert_eq!(files(&lab), ["set.yaml 2026.8.3"]);
    // One file of both is no overlap; what serves both is in neither.
    let assigned = crate::plan::assign(&inventory, &[prod.clone(), lab]).unwrap();
    let outside: Vec<&str> = assigned.outside.iter().map(|pin| pin.path.as_str()).collect();
    assert_eq!(outside, ["base.yaml", "team.yaml"]);
    assert!(crate::plan::assign(&inventory, &[prod.clone(), Target::default_all()]).is_err());
    let each = split(&inventory, &Target { name: "prod".to_owned(), ..prod }, Split::Each, wanted(&["prod"]));
    let names: Vec<&str> = each.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["prod-shared", "eu", "us"]);
}

#[test]
fn a_group_has_a_target_for_each_installation_in_its_files() {
    let build = Build::default()
        .chart("prod/eu.yaml", CHART, "2026.8.2")
        .serves(&["eu"])
        .chart("prod/us.yaml", CHART, "2026.8.2")
        .serves(&["us"])
        .chart("prod/base.yaml", "linkerd-crds", "2026.8.2")
        .serves(&["eu", "us"])
        .chart("staging/cp.yaml", CHART, "2026.8.3")
        .serves(&["staging"])
        .proxy("prod/team.yaml", "edge-26.8.1");
    let inventory = build.inventory();
    let group = |name: &str, taken: &[&str]| -> Vec<String> {
        let whole = Target { name: name.to_owned(), ..target(name, &[name], &[]) };
        let made = split(&inventory, &whole, Split::Each, wanted(taken));
        assert!(made.iter().all(|one| !inventory.pins().any(|pin| one.has(pin) && !whole.has(pin))));
        made.into_iter().map(|one| one.name).collect()
    };
    let taken = ["prod", "staging"];
    assert_eq!(group("prod", &taken), ["prod", "prod-shared", "eu", "us"]);
    assert_eq!(group("prod", &["prod", "eu"]), ["prod", "prod-shared", "prod-eu", "us"]);
    assert_eq!(group("staging", &taken), ["staging-staging"]);
    assert_eq!(group("lab", &taken), ["lab"], "a group without a pin is one target");
}
