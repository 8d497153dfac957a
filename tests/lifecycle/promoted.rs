//! Promotion: production gets what staging has run, and nothing else.

use super::play::*;
use crate::support::{github::Merge, scene::REPO};

const STAGING: &str = "uplinker/staging/platform";
const PRODUCTION: &str = "uplinker/production/platform";
const CONFIG: &str = "version: 1\ndataPlane:\n  pins: ignore\ntargets:\n  - name: production\n    paths: [production]\n    \
                      after: {target: staging, soak: 2d}\n  - name: staging\n    paths: [staging]\n";
const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

/// Two environments at a release each, since a month ago.
fn environments(staging: u32, production: u32) -> Play {
    let mut files = cluster("staging/", staging);
    files.extend(cluster("production/", production));
    files.push(("uplinker.yaml".to_owned(), CONFIG.to_owned()));
    let play = Play::with(&files);
    ago(&play, 30 * DAY);
    play.commit("main", "README.md", "Two environments.\n");
    play
}

/// What is committed from now on was committed that long ago.
fn ago(play: &Play, seconds: i64) {
    play.scene.repo.set_clock(jiff::Timestamp::now().as_second() - seconds);
}

/// A person moves an environment by hand.
fn moves(play: &Play, folder: &str, from: u32, to: u32) {
    for path in CHARTS {
        let (from, to) = (format!("2026.8.{from}"), format!("2026.8.{to}"));
        play.replace("main", &format!("{folder}/{path}"), &from, &to);
    }
}

/// Staging's pull request is merged as it is: nobody makes a commit, the base branch moves to ours.
fn forwards(play: &Play, seconds_ago: i64) {
    play.scene.github.set_clock(jiff::Timestamp::now().as_second() - seconds_ago);
    play.scene.repo.set_tip("main", play.tip(STAGING));
    assert!(play.scene.github.pull(REPO, 1).merged_at.is_some());
}

fn charts(folder: &str) -> Vec<String> {
    CHARTS.iter().map(|path| format!("{folder}/{path}")).collect()
}

#[test]
fn a_release_goes_on_once_it_was_merged_and_has_run_for_long_enough() {
    for how in [Merge::Commit, Merge::Squash, Merge::Rebase] {
        let play = environments(2, 2);
        play.run().exits(0).prints(&[
            "staging, platform: edge-26.8.2 → edge-26.8.3: opened",
            "production, platform: on hold: edge-26.8.3 waits until target `staging`, now at edge-26.8.2, has run it",
        ]);
        assert_eq!(play.scene.repo.changed("main", STAGING), charts("staging"));
        play.settles(0);

        ago(&play, HOUR);
        play.scene.github.merge(REPO, 1, how, "ada", true);
        play.run().exits(0).prints(&[
            "production, platform: on hold: edge-26.8.3 waits until 20",
            " UTC: target `staging` has run it since 20",
        ]);
        play.settles(0);

        let play = environments(2, 2);
        play.run().exits(0);
        ago(&play, 3 * DAY);
        play.scene.github.merge(REPO, 1, how, "ada", true);
        ago(&play, HOUR);
        play.commit("main", "staging/notes.md", "Fine so far.\n");
        play.replace("main", "staging/crds.yaml", "# moved by pull request", "# moved by pull requests");
        play.run().exits(0).prints(&["production, platform: edge-26.8.2 → edge-26.8.3: opened"]);
        assert_eq!(play.scene.repo.changed("main", PRODUCTION), charts("production"));
        play.settles(0);
    }
}

#[test]
fn a_newer_release_before_it_does_not_start_the_clock_again() {
    let play = environments(1, 1);
    ago(&play, 3 * DAY);
    moves(&play, "staging", 1, 2);
    ago(&play, HOUR);
    moves(&play, "staging", 2, 3);
    play.run().exits(0).prints(&["production, platform: edge-26.8.1 → edge-26.8.2: opened"]);
    play.settles(0);
}

#[test]
fn what_was_left_out_there_does_not_go_on() {
    let play = environments(1, 1);
    ago(&play, 3 * DAY);
    moves(&play, "staging", 1, 3);
    play.publish(4);
    let only = |to: &str| play.pass(play.scene.run().args(["--to", to]));
    only("edge-26.8.2").exits(0).prints(&[
        "production, platform: on hold: edge-26.8.2 waits until target `staging`, now at edge-26.8.3, has run it",
    ]);
    play.run().exits(0).prints(&["production, platform: edge-26.8.1 → edge-26.8.3: opened"]);
}

#[test]
fn what_was_gone_back_from_does_not_go_on() {
    let play = environments(1, 1);
    ago(&play, 9 * DAY);
    moves(&play, "staging", 1, 2);
    ago(&play, 5 * DAY);
    moves(&play, "staging", 2, 1);
    play.run().exits(0).prints(&[
        "production, platform: on hold: edge-26.8.3 waits until target `staging`, now at edge-26.8.1, has run it",
    ]);
    ago(&play, HOUR);
    moves(&play, "staging", 1, 3);
    play.run().exits(0).prints(&["production, platform: on hold: edge-26.8.3 waits until 20"]);
    assert!(play.scene.repo.tip(PRODUCTION).is_none());
    // It starts from the time when it came back.
    let play = environments(1, 1);
    for (days, from, to) in [(9, 1, 3), (8, 3, 1), (1, 1, 3)] {
        ago(&play, days * DAY);
        moves(&play, "staging", from, to);
    }
    play.run().exits(0).prints(&["production, platform: on hold: edge-26.8.3 waits until 20"]);
}

#[test]
fn an_open_pull_request_is_withdrawn_where_the_release_is_gone_back_from() {
    let play = environments(2, 2);
    ago(&play, 3 * DAY);
    moves(&play, "staging", 2, 3);
    play.run().exits(0).prints(&["production, platform: edge-26.8.2 → edge-26.8.3: opened"]);
    ago(&play, HOUR);
    moves(&play, "staging", 3, 2);
    let pass = play.run().exits(0);
    assert!(pass.done.stdout.contains("has run it"), "{}", pass.done);
    let pull = play.pull(1);
    assert!(!pull.open && play.scene.repo.tip(PRODUCTION).is_none());
    // That is nobody's no: it comes again when staging has run it again.
    ago(&play, 0);
    moves(&play, "staging", 2, 3);
    play.run().exits(0).prints(&["production, platform: on hold: edge-26.8.3 waits until 20"]);
}

#[test]
fn an_open_pull_request_is_withdrawn_though_an_older_release_is_to_go_on_later() {
    let play = environments(1, 1);
    ago(&play, 3 * DAY);
    moves(&play, "staging", 1, 3);
    play.run().exits(0).prints(&["production, platform: edge-26.8.1 → edge-26.8.3: opened"]);
    ago(&play, HOUR);
    moves(&play, "staging", 3, 2);
    play.run().exits(0).prints(&[
        "production, platform: on hold: edge-26.8.3 waits until target `staging`, now at edge-26.8.2, has run it",
    ]);
    assert!(!play.pull(1).open && play.scene.repo.tip(PRODUCTION).is_none());
    play.settles(0);
}

#[test]
fn what_was_merged_as_it_is_has_been_there_since_the_merge() {
    let play = environments(2, 2);
    play.run().exits(0).prints(&["staging, platform: edge-26.8.2 → edge-26.8.3: opened"]);
    forwards(&play, HOUR);
    play.run().exits(0).prints(&[
        "production, platform: on hold: edge-26.8.3 waits until 20",
        " UTC: target `staging` has run it since 20",
    ]);
    play.settles(0);
    let play = environments(2, 2);
    play.run().exits(0).prints(&["staging, platform: edge-26.8.2 → edge-26.8.3: opened"]);
    forwards(&play, 3 * DAY);
    play.run().exits(0).prints(&["production, platform: edge-26.8.2 → edge-26.8.3: opened"]);
    play.settles(0);
}

#[test]
fn what_came_by_hand_is_not_proposed_any_more_while_a_newer_one_waits() {
    let play = environments(2, 2);
    ago(&play, 3 * DAY);
    moves(&play, "staging", 2, 3);
    play.run().exits(0).prints(&["production, platform: edge-26.8.2 → edge-26.8.3: opened"]);
    play.publish(4);
    ago(&play, HOUR);
    moves(&play, "staging", 3, 4);
    moves(&play, "production", 2, 3);
    play.run().exits(0).prints(&["production, platform: up to date at edge-26.8.3; nothing to do until a newer release is out; closed http://"]);
    assert!(!play.pull(1).open && play.scene.repo.tip(PRODUCTION).is_none());
    play.run().exits(0).prints(&["production, platform: on hold: edge-26.8.4 waits until 20"]);
    play.settles(0);
}

#[test]
fn what_a_control_plane_runs_that_takes_releases_without_a_commit_is_not_known() {
    let play = environments(2, 2);
    ago(&play, 9 * DAY);
    moves(&play, "staging", 2, 3);
    for range in ["2026.8.x", ">=2026.1.1"] {
        play.replace(
            "main",
            "staging/control-plane.yaml",
            "version: 2026.8.3",
            &format!("version: \"{range}\""),
        );
        let waits = "production, platform: on hold: edge-26.8.3 waits until it is known what target `staging` runs: its control \
                     plane takes releases without a commit, by";
        play.run()
            .exits(0)
            .prints(&[waits, &format!("`{range}` in staging/control-plane.yaml:12; pin it to one")]);
        assert!(play.scene.repo.tip(PRODUCTION).is_none());
        play.settles(0);
        let status = play.pass(play.scene.command("status")).exits(0);
        status.prints(&["staging     platform    -  "]);
        play.replace(
            "main",
            "staging/control-plane.yaml",
            &format!("version: \"{range}\""),
            "version: 2026.8.3",
        );
    }
    play.run().exits(0).prints(&["production, platform: edge-26.8.2 → edge-26.8.3: opened"]);
    // What is open stays: nobody has gone back from it.
    play.replace("main", "staging/control-plane.yaml", "version: 2026.8.3", "version: 2026.8.x");
    play.run().exits(0).prints(&["waits until it is known what target `staging` runs"]);
    assert!(play.pull(1).open);
}

#[test]
fn every_target_before_it_must_have_run_it() {
    let mut files = cluster("a/", 3);
    files.extend(cluster("b/", 2));
    files.extend(cluster("z/", 1));
    let config = "version: 1\ndataPlane:\n  pins: ignore\ntargets:\n  - {name: a, paths: [a]}\n  - {name: b, paths: [b]}\n  \
                  - name: z\n    paths: [z]\n    after:\n      - {target: a}\n      - target: b\n";
    files.push(("uplinker.yaml".to_owned(), config.to_owned()));
    let play = Play::with(&files);
    play.run().exits(0).prints(&[
        "a, platform: up to date at edge-26.8.3",
        "b, platform: edge-26.8.2 → edge-26.8.3: opened",
        "z, platform: on hold: edge-26.8.3 waits until target `b`, now at edge-26.8.2, has run it",
    ]);
}

#[test]
fn a_group_goes_after_all_targets_of_another() {
    let config = "version: 1\ndataPlane:\n  pins: ignore\ntargets:\n  - name: production\n    paths: [prod-*]\n    \
                  each: installation\n    after: {target: staging, soak: 2d}\n  - name: staging\n    \
                  paths: [staging-*]\n    each: installation\n";
    let mut files: Vec<(String, String)> = ["prod-eu", "prod-us", "staging-a", "staging-b"]
        .iter()
        .flat_map(|name| cluster(&format!("{name}/"), 2))
        .collect();
    files.push(("uplinker.yaml".to_owned(), config.to_owned()));
    let play = Play::with(&files);
    ago(&play, 30 * DAY);
    play.commit("main", "README.md", "Four clusters.\n");
    ago(&play, 5 * DAY);
    moves(&play, "staging-a", 2, 3);
    play.run().exits(0).prints(&[
        "staging-b, platform: edge-26.8.2 → edge-26.8.3: opened",
        "prod-eu, platform: on hold: edge-26.8.3 waits until target `staging-b`, now at edge-26.8.2, has run it",
        "prod-us, platform: on hold: edge-26.8.3 waits until target `staging-b`",
    ]);
    play.settles(0);
    ago(&play, 3 * DAY);
    play.scene.github.merge(REPO, 1, Merge::Squash, "ada", true);
    play.run().exits(0).prints(&[
        "prod-eu, platform: edge-26.8.2 → edge-26.8.3: opened",
        "prod-us, platform: edge-26.8.2 → edge-26.8.3: opened",
    ]);
    assert_eq!(play.scene.repo.changed("main", "uplinker/prod-eu/platform"), charts("prod-eu"));
    assert!(play.files("uplinker/prod-us/platform").contains_key("prod-us/crds.yaml"));
    play.settles(0);
}

const BY_LABEL: &str = "version: 1\ndataPlane:\n  pins: ignore\ntargets:\n  - name: production\n    labels: [env=prod]\n    each: \
                        installation\n    after: {target: staging, soak: 2d}\n  - name: staging\n    labels: [env=staging]\n    each: \
                        installation\n";

#[test]
fn a_group_by_label_goes_after_another_wherever_its_clusters_lie() {
    let clusters = [("frankfurt", "prod"), ("lab", "staging"), ("ohio", "prod")];
    let mut files: Vec<(String, String)> = Vec::new();
    for (name, env) in clusters {
        files.extend(cluster(&format!("{name}/"), 2));
        let root = format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  name: {name}\n  namespace: flux-system\n  \
             labels: {{env: {env}}}\nspec:\n  interval: 10m\n  path: ./{name}\n  prune: true\n  sourceRef: {{kind: GitRepository, name: \
             flux-system}}\n"
        );
        files.push((format!("roots/{name}.yaml"), root));
    }
    files.push(("uplinker.yaml".to_owned(), BY_LABEL.to_owned()));
    let play = Play::with(&files);
    ago(&play, 30 * DAY);
    play.commit("main", "README.md", "Three clusters.\n");
    play.run().exits(0).prints(&[
        "lab, platform: edge-26.8.2 → edge-26.8.3: opened",
        "frankfurt, platform: on hold: edge-26.8.3 waits until target `lab`, now at edge-26.8.2, has run it",
        "ohio, platform: on hold: edge-26.8.3 waits until target `lab`",
    ]);
    play.settles(0);
    ago(&play, 3 * DAY);
    play.scene.github.merge(REPO, 1, Merge::Squash, "ada", true);
    play.run().exits(0).prints(&[
        "frankfurt, platform: edge-26.8.2 → edge-26.8.3: opened",
        "ohio, platform: edge-26.8.2 → edge-26.8.3: opened",
    ]);
    assert_eq!(play.scene.repo.changed("main", "uplinker/ohio/platform"), charts("ohio"));
    play.settles(0);
}

#[test]
fn groups_by_label_share_a_file_and_move_one_after_the_other() {
    let set = |chart: &str| {
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {{name: {chart}, namespace: argocd}}\nspec:\n  \
             generators:\n    - clusters: {{selector: {{matchLabels: {{env: staging}}}}, values: {{version: 2026.8.1}}}}\n    - clusters: \
             {{selector: {{matchLabels: {{env: prod}}}}, values: {{version: 2026.8.2}}}}\n  template:\n    metadata: {{name: \
             '{chart}-{{{{name}}}}'}}\n    spec:\n      project: default\n      destination: {{server: '{{{{server}}}}', namespace: \
             linkerd}}\n      source: {{repoURL: https://helm.linkerd.io/edge, chart: {chart}, targetRevision: '{{{{values.version}}}}'}}\n"
        )
    };
    let text = [set("linkerd-crds"), set("linkerd-control-plane")].join("---\n");
    let (file, config) = ("mesh.yaml".to_owned(), ("uplinker.yaml".to_owned(), BY_LABEL.to_owned()));
    let play = Play::with(&[(file, text.clone()), config]);
    ago(&play, 30 * DAY);
    play.commit("main", "README.md", "Two environments.\n");
    ago(&play, 3 * DAY);
    let text = text.replace("2026.8.1", "2026.8.3");
    play.commit("main", "mesh.yaml", &text);
    play.run().exits(0).prints(&[
        "prod, platform: edge-26.8.2 → edge-26.8.3: opened",
        "staging, platform: up to date at edge-26.8.3",
    ]);
    let proposed = play.files("uplinker/prod/platform");
    assert_eq!(String::from_utf8_lossy(&proposed["mesh.yaml"]), text.replace("2026.8.2", "2026.8.3"));
    play.settles(0);
}

#[test]
fn a_label_that_no_installation_has_is_told_with_those_that_are_there() {
    let mut files = cluster("a/", 2);
    let root = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a, labels: {env: production}}\nspec: \
                {path: ./a, sourceRef: {kind: GitRepository, name: a}}\n";
    files.push(("root.yaml".to_owned(), root.to_owned()));
    for (label, hint) in
        [("env=prodution", "did you mean `env=production`?"), ("region=eu", "they have env=production")]
    {
        let config = format!("version: 1\ntargets:\n  - {{name: prod, labels: [{label}]}}\n");
        let play = Play::with(&[files.clone(), vec![("uplinker.yaml".to_owned(), config)]].concat());
        let told = format!("no installation has the label `{label}`");
        play.run().exits(2).complains(&[&told, "uplinker.yaml:3:27", hint]);
    }
}

#[test]
fn a_control_plane_that_is_held_has_not_run_what_the_rest_went_to() {
    let play = environments(2, 2);
    let held = "2026.8.2 # uplinker: hold,";
    play.replace("main", "staging/control-plane.yaml", "2026.8.2 #", held);
    play.run().exits(0).prints(&["staging, platform: edge-26.8.2 → edge-26.8.3: opened"]);
    ago(&play, 9 * DAY);
    play.scene.github.merge(REPO, 1, Merge::Squash, "ada", true);
    let waits = "production, platform: on hold: edge-26.8.3 waits until target `staging`, now at edge-26.8.2, has run it";
    play.run().exits(0).prints(&[waits]);
    ago(&play, 8 * DAY);
    play.replace("main", "staging/control-plane.yaml", held, "2026.8.3 # once held,");
    play.run().exits(0).prints(&["production, platform: edge-26.8.2 → edge-26.8.3: opened"]);
}

#[test]
fn proxies_alone_wait_for_those_of_the_target_before_them() {
    let mut files = Vec::new();
    for folder in ["staging/", "production/"] {
        files.extend(cluster(folder, 2).into_iter().filter(|(path, _)| path.ends_with("web.yaml")));
    }
    let config = CONFIG.replace("pins: ignore", "after: 0d\n  controlPlane: edge-26.8.3");
    files.push(("uplinker.yaml".to_owned(), config));
    let play = Play::with(&files);
    play.run().exits(0).prints(&[
        "staging, data-plane: edge-26.8.2 → edge-26.8.3: opened",
        "production, data-plane: on hold: edge-26.8.3 waits until target `staging`, now at edge-26.8.2, has run it",
    ]);
    ago(&play, HOUR);
    play.scene.github.merge(REPO, 1, Merge::Squash, "ada", true);
    play.run().exits(0).prints(&["production, data-plane: on hold: edge-26.8.3 waits until 20"]);
    play.settles(0);
}

#[test]
fn what_is_not_to_be_taken_any_more_is_withdrawn() {
    let play = environments(2, 2);
    play.run().exits(0).prints(&["staging, platform: edge-26.8.2 → edge-26.8.3: opened"]);
    play.commit("main", "uplinker.yaml", &format!("{CONFIG}policy:\n  skip: [edge-26.8.3]\n"));
    play.run().exits(0).prints(&[
        "staging, platform: on hold: edge-26.8.3 is not taken any more (listed in `policy.skip`)",
        "closed http://",
    ]);
    assert!(!play.pull(1).open && play.scene.repo.tip(STAGING).is_none());
    play.settles(0);
    play.commit("main", "uplinker.yaml", CONFIG);
    play.run().exits(0).prints(&["staging, platform: edge-26.8.2 → edge-26.8.3: opened"]);
}
