//! What the configuration of a repository changes.

use super::{FORGE, play::*};
use crate::support::{
    github::{Level, Token},
    repo::BareRepo,
    scene::{PLATFORM, REPO, Scene, TOKEN},
};

const TWO: &str = "\
version: 1
targets:
  - name: staging
    paths: [staging]
  - name: production
    paths: [production]
    policy:
      skip: [edge-26.8.3]
";

#[test]
fn each_target_has_its_pull_request() {
    let mut files = cluster("staging/", 2);
    files.extend(cluster("production/", 1));
    files.push(("uplinker.yaml".to_owned(), TWO.to_owned()));
    let play = Play::with(&files);
    let (staging, production) = ("uplinker/staging/platform", "uplinker/production/platform");
    play.run()
        .exits(0)
        .asks(&[LOOK, FETCH, &list(staging), &list(production), WHO, PUSH, &opens(1), PUSH, &opens(2)])
        .prints(&[
            "staging, platform: edge-26.8.2 → edge-26.8.3: opened",
            "production, platform: edge-26.8.1 → edge-26.8.2: opened",
        ]);
    let base = play.files("main");
    for (number, name, from, to) in [(1, "staging", 2, 3), (2, "production", 1, 2)] {
        let paths = CHARTS.map(|path| format!("{name}/{path}"));
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let files = replaced(&base, &paths, &format!("2026.8.{from}"), &format!("2026.8.{to}"));
        play.expect(&Expected {
            number,
            branch: &format!("uplinker/{name}/platform"),
            base: "main",
            title: &format!("Linkerd edge-26.8.{from} → edge-26.8.{to} ({name}, platform)"),
            target: name,
            release: &format!("edge-26.8.{to}"),
            files: &files,
            parents: &[play.tip("main")],
        });
    }
    play.run().exits(0).asks(&[LOOK, OPEN_LIST]).stays_warm();
    play.settles(0);
    // A no to one is none to the other.
    play.scene.github.close(REPO, 1, "ada");
    play.publish(4);
    play.run().exits(0).prints(&[
        "staging, platform: edge-26.8.2 → edge-26.8.4: opened",
        "production, platform: edge-26.8.1 → edge-26.8.4: updated",
    ]);
    play.settles(0);
}

#[test]
fn while_paused_frozen_or_outside_the_schedule_nothing_is_opened_or_moved() {
    let now = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
    let (from, to) = (now.date().yesterday().unwrap(), now.date().saturating_add(jiff::Span::new().days(9)));
    let month = (i32::from(now.month()) + 5) % 12 + 1;
    for (config, words) in [
        (
            "version: 1\npaused: moving house\n".to_owned(),
            "paused (moving house) until `paused` is taken out of the configuration".to_owned(),
        ),
        (
            format!("version: 1\nfreeze:\n  - from: {from}\n    to: {to}\n    reason: end of year\n"),
            format!("frozen (end of year) until {}", to.tomorrow().unwrap()),
        ),
        (
            format!("version: 1\npolicy:\n  schedule: \"* * * {month} *\"\n"),
            "edge-26.8.3 waits, outside the schedule, until 20".to_owned(),
        ),
    ] {
        let play = Play::configured(&config);
        play.run().exits(0).asks(&[LOOK, FETCH]).prints(&[&format!("default, platform: on hold: {words}")]);
        play.run().exits(0).asks(&[LOOK]).stays_warm();
        assert_eq!(play.scene.repo.branches().len(), 1);
        play.settles(0);

        // An open one stays as it is.
        let play = Play::opened();
        let ours = play.tip(PLATFORM);
        play.commit("main", "uplinker.yaml", &config);
        play.publish(4);
        play.run().exits(0).asks(&[LOOK, FETCH]);
        assert!(play.pull(1).open && play.tip(PLATFORM) == ours);
        play.settles(0);
        play.commit("main", "uplinker.yaml", "version: 1\n");
        play.run().exits(0).prints(&["edge-26.8.4: updated http://"]);
    }
}

/// A file that names the old release and does not parse.
const BROKEN: (&str, &str) = ("broken.yaml", "linkerd-control-plane: {version: 2026.8.2\n  - ]\n");

#[test]
fn a_block_is_proposed_with_label_and_status_and_goes_when_it_is_settled() {
    let mut files = cluster("", 2);
    files.push((BROKEN.0.to_owned(), BROKEN.1.to_owned()));
    let play = Play::with(&files);
    play.run()
        .exits(0)
        .asks(&[
            LOOK,
            FETCH,
            &list(PLATFORM),
            WHO,
            PUSH,
            OPEN,
            STATUS,
            &ask(1, "labels"),
            &read(1),
            &write(1),
        ])
        .prints(&["opened http://", "block skipped: broken.yaml"]);
    let pull = play.expect_platform(1, 3, &play.files("main"), &[play.tip("main")]);
    assert_eq!(pull.labels, ["linkerd: blocked"]);
    assert!(pull.body.unwrap().starts_with("**Blocked: 1 thing to settle before merging ("));
    assert_eq!(play.statuses(PLATFORM), failure());
    play.settles(0);
    play.pass(play.scene.run().args(["--fail-on", "block"])).exits(4).asks(&[LOOK, &list(PLATFORM)]);
    play.pass(play.scene.command("plan").args(["--fail-on", "block"])).exits(4);

    play.commit("main", BROKEN.0, "ok: true\n");
    play.run().exits(0).asks(&[
        LOOK,
        FETCH,
        &list(PLATFORM),
        STATUS,
        &ask(1, "labels"),
        "DELETE /api/v3/repos/acme/config/issues/1/labels/linkerd%3A%20blocked",
        &read(1),
        &write(1),
    ]);
    assert_eq!(play.pull(1).labels, [ATTENTION]);
    assert!(play.body(1).starts_with("**Not rendered:"));
    assert_eq!(play.statuses(PLATFORM), [failure(), success()].concat());
    play.settles(0);
}

#[test]
fn with_hold_a_block_proposes_nothing() {
    let mut files = cluster("", 2);
    files.push((BROKEN.0.to_owned(), BROKEN.1.to_owned()));
    files.push(("uplinker.yaml".to_owned(), "version: 1\nonBlock: hold\n".to_owned()));
    let play = Play::with(&files);
    play.run().exits(4).asks(&[LOOK, FETCH, &list(PLATFORM)]).prints(&[
        "edge-26.8.2 → edge-26.8.3: not proposed, a check blocks it",
        "block skipped: broken.yaml",
    ]);
    assert_eq!(play.scene.repo.branches().len(), 1);
    play.settles(4);
}

const WORDED: &str = "\
version: 1
pullRequest:
  title: \"chore(mesh): {from} to {to} for {target}/{stage}\"
  labels: [linkerd, mesh]
  reviewers: [ben, acme/mesh]
  assignees: [ada]
  draft: true
commit:
  author: Mesh Robot <mesh@acme.example>
  message: \"mesh: {from} to {to}\\n\\nfor {target}, {stage}\"
  signOff: true
";

#[test]
fn words_people_and_author_are_the_configured_ones() {
    // An order of requests that is GitHub's.
    if is_elsewhere() {
        return;
    }
    let play = Play::configured(WORDED);
    play.scene.github.labels(REPO, &["linkerd", "mesh"]);
    play.scene.github.settings(REPO, |repo| {
        repo.collaborators.extend(["ada".to_owned(), "ben".to_owned()]);
        repo.teams.insert("mesh".to_owned());
    });
    play.scene.github.token(TOKEN, Token::app("mesh-robot").having("members", Level::Read));
    let pass = play.run().exits(0).asks(&[
        LOOK,
        FETCH,
        &list(PLATFORM),
        PUSH,
        OPEN,
        STATUS,
        &ask(1, "labels"),
        &ask(1, "requested_reviewers"),
        &ask(1, "assignees"),
        &read(1),
        &write(1),
    ]);
    assert_eq!(pass.sent(OPEN)[0]["draft"], true);
    let files = replaced(&play.files("main"), &CHARTS, "2026.8.2", "2026.8.3");
    let pull = play.expect(&Expected {
        number: 1,
        branch: PLATFORM,
        base: "main",
        title: "chore(mesh): edge-26.8.2 to edge-26.8.3 for default/platform",
        target: "default",
        release: "edge-26.8.3",
        files: &files,
        parents: &[play.tip("main")],
    });
    assert_eq!((pull.labels.join(","), pull.draft), (format!("linkerd,mesh,{ATTENTION}"), true));
    assert_eq!(
        (pull.reviewers, pull.teams, pull.assignees),
        (vec!["ben".to_owned()], vec!["mesh".to_owned()], vec!["ada".to_owned()])
    );
    let message = play.scene.repo.message(PLATFORM);
    assert!(
        message.starts_with(
            "mesh: edge-26.8.2 to edge-26.8.3\n\nfor default, platform\n\nLinkerd-Version: edge-26.8.3\n"
        ),
        "{message}"
    );
    assert_eq!(trailers(&message, "Signed-off-by"), ["Mesh Robot <mesh@acme.example>"]);
    let repo = play.scene.repo.open();
    let commit = repo.find_commit(play.tip(PLATFORM)).unwrap();
    for who in [commit.author(), commit.committer()] {
        assert_eq!((who.name().unwrap(), who.email().unwrap()), ("Mesh Robot", "mesh@acme.example"));
    }
    play.settles(0);
}

#[test]
fn the_default_branch_may_have_any_name() {
    let files = cluster("", 2);
    let scene = Scene::on(FORGE, |path| {
        let files: Vec<(&str, &str)> = files.iter().map(|(p, t)| (p.as_str(), t.as_str())).collect();
        BareRepo::with_files(path, "live/cluster", &files)
    });
    let play = Play { scene };
    play.run()
        .exits(0)
        .asks(&[LOOK, FETCH, &list(PLATFORM), WHO, PUSH, &opens(1)])
        .prints(&["(live/cluster at "]);
    assert_eq!(play.pull(1).base_ref, "live/cluster");
    assert_eq!(play.scene.repo.parents(PLATFORM), [play.tip("live/cluster")]);
    play.settles(0);
}

#[test]
fn the_base_may_be_another_branch() {
    let play = Play::configured("version: 1\nbase: release/stable\n");
    let base = play.scene.repo.branch("release/stable", "main");
    play.commit("main", "docs/notes.md", "Something that is not on the base.\n");
    play.run()
        .exits(0)
        .asks(&[LOOK, FETCH, FETCH, &list(PLATFORM), WHO, PUSH, &opens(1)])
        .prints(&["(release/stable at ", "branch: uplinker/default/platform into release/stable"]);
    assert_eq!(play.pull(1).base_ref, "release/stable");
    assert_eq!(play.scene.repo.parents(PLATFORM), [base]);
    assert_eq!(play.scene.repo.read(PLATFORM, "docs/notes.md").as_deref(), Some("Nothing about versions.\n"));
    play.run().exits(0).asks(&[LOOK, &list(PLATFORM)]).stays_warm();
    play.settles(0);
}

#[test]
fn another_prefix_names_the_branches() {
    let play = Play::configured("version: 1\nbranch:\n  prefix: bots/mesh/\n");
    play.run().exits(0).prints(&["branch: bots/mesh/default/platform into main"]);
    assert_eq!(
        play.scene.repo.branches().into_keys().collect::<Vec<_>>(),
        ["bots/mesh/default/platform", "main"]
    );
    play.settles(0);
}

#[test]
fn a_release_can_be_fixed() {
    let play = Play::new();
    play.publish(4);
    play.pass(play.scene.run().args(["--to", "edge-26.8.3"]))
        .exits(0)
        .prints(&["edge-26.8.2 → edge-26.8.3: opened"]);
    play.expect_platform(1, 3, &play.files("main"), &[play.tip("main")]);
    play.run().exits(0).prints(&["edge-26.8.2 → edge-26.8.4: updated"]);
    play.settles(0);
}
