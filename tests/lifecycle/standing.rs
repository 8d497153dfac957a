//! `status`: where every target stands, without a write.

use serde_json::Value;

use super::{FORGE, play::*};
use crate::support::{
    github::{Level, Merge, Token, board::Issue},
    scene::{REPO, TOKEN},
    schema::refusal,
};

const CONFIG: &str = "version: 1\ntargets:\n  - name: production\n    paths: [production]\n    after: {target: staging, soak: \
                      2d}\n  - name: staging\n    paths: [staging]\n";

fn environments() -> Play {
    let mut files = cluster("staging/", 2);
    files.extend(cluster("production/", 1));
    files.push(("uplinker.yaml".to_owned(), CONFIG.to_owned()));
    Play::with(&files)
}

fn row<'v>(status: &'v Value, target: &str, stage: &str) -> &'v Value {
    let rows = status["targets"].as_array().unwrap();
    rows.iter().find(|row| row["target"] == target && row["stage"] == stage).unwrap()
}

#[test]
fn each_stage_of_each_target_has_a_row_with_what_comes_next() {
    let play = environments();
    play.run().exits(0);
    let before = play.world();
    let writes = play.scene.github.controls().writes.count();
    let pass = play.pass(play.scene.command("status").args(["--format", "json"])).exits(0);
    let status = pass.done.json();
    assert_eq!(refusal(&status), None);
    assert_eq!(status["newest"], "edge-26.8.3");
    let staging = row(&status, "staging", "platform");
    assert_eq!((&staging["release"], &staging["next"]), (&"edge-26.8.2".into(), &"edge-26.8.3".into()));
    assert_eq!((&staging["behind"]["releases"], &staging["behind"]["days"]), (&1.into(), &7.into()));
    assert_eq!(staging["pull_request"]["number"], 2, "{status}");
    assert_eq!(
        (&staging["waits"], &staging["pull_request"]["release"]),
        (&Value::Null, &"edge-26.8.3".into())
    );
    let production = row(&status, "production", "platform");
    assert_eq!((&production["release"], &production["next"]), (&"edge-26.8.1".into(), &"edge-26.8.2".into()));
    assert_eq!(
        (&production["behind"]["releases"], &production["pull_request"]["number"]),
        (&2.into(), &1.into())
    );
    let proxies = row(&status, "production", "data-plane");
    assert_eq!(proxies["pull_request"], Value::Null);
    assert!(proxies["since"].is_string(), "{status}");
    assert!(proxies["waits"].as_str().unwrap().starts_with("level with the control plane"), "{status}");

    // The branches, and what is open of all of them.
    assert!(pass.asked.len() <= 2 + 3, "{:#?}", pass.asked);
    let listed = |line: &&String| line.contains("/pulls?") || line.contains("/merge_requests?");
    assert_eq!(pass.asked.iter().filter(listed).count(), 1, "{:#?}", pass.asked);
    assert_eq!((play.world(), play.scene.github.controls().writes.count()), (before, writes));

    let text = play.pass(play.scene.command("status")).exits(0);
    text.prints(&["TARGET      STAGE", "edge-26.8.3 in http://", "1 release, 7 days", "/acme/config/pull/2"]);
    let page = play.pass(play.scene.command("status").args(["--format", "markdown"])).exits(0);
    page.prints(&["| target | stage | release | since | behind | next |", "in [#2](http://"]);
}

#[test]
fn many_targets_cost_no_more_than_a_request_for_each_pull_request() {
    let play = clusters(TARGETS);
    play.run().exits(0);
    let status = || {
        let pass = play.pass(play.scene.command("status").args(["--format", "json"])).exits(0);
        let asked = pass.asked.iter().filter(|line| line.contains("/api/")).count();
        assert!(asked <= TARGETS, "{:#?}", pass.asked);
        pass.done.json()
    };
    let open = status();
    let row_of_last = row(&open, &last(), "platform");
    assert_eq!(row_of_last["pull_request"]["release"], "edge-26.8.3", "{open}");
    for number in 1..=TARGETS as u64 {
        play.scene.github.merge(REPO, number, Merge::Squash, "ada", true);
    }
    let merged = status();
    assert_eq!(row(&merged, &last(), "platform")["release"], "edge-26.8.3", "{merged}");
    play.run().exits(0);
    let idle = play.run().exits(0);
    assert!(idle.asked.len() <= 4, "{:#?}", idle.asked);
}

#[test]
fn since_is_when_all_of_it_came_there() {
    let play = environments();
    play.run().exits(0);
    let merged = jiff::Timestamp::now().as_second() - 3600;
    play.scene.repo.set_clock(merged);
    play.scene.github.merge(REPO, 2, Merge::Squash, "ada", true);
    play.scene.repo.set_clock(merged + 60);
    play.replace("main", "staging/crds.yaml", "# moved by pull request", "# moved by hand");
    let status = play.pass(play.scene.command("status").args(["--format", "json"])).exits(0).done.json();
    let since: jiff::Timestamp =
        row(&status, "staging", "platform")["since"].as_str().unwrap().parse().unwrap();
    assert!((merged..merged + 60).contains(&since.as_second()), "{status}");
    assert_eq!(row(&status, "staging", "platform")["behind"]["releases"], 0);
    let waits = row(&status, "production", "platform");
    assert_eq!(waits["pull_request"]["number"], 1, "{status}");

    // A clone tells the same of itself, and says what it was not asked.
    let path = play.scene.repo.path().to_owned();
    let clone = play.scene.home.run(["status", "--format", "json"]).arg(path).args(play.scene.feed.flags());
    let clone = clone.done().exits(0).json();
    assert_eq!(row(&clone, "staging", "platform")["since"], row(&status, "staging", "platform")["since"]);
    assert!(clone["notes"][0].as_str().unwrap().contains("the HEAD commit alone is read"), "{clone}");
}

#[test]
fn a_repository_without_a_pin_has_no_row() {
    let play = Play::with(&[("README.md".to_owned(), "Nothing.\n".to_owned())]);
    play.pass(play.scene.command("status")).exits(3);
}

#[test]
fn proxies_say_since_when_and_which_is_the_oldest_though_they_are_left_as_they_are() {
    for pins in ["follow", "ignore"] {
        let mut files = cluster("", 3);
        let other = files
            .iter()
            .find(|(path, _)| path == "web.yaml")
            .unwrap()
            .1
            .replace("edge-26.8.3", "edge-26.8.1");
        files.push(("api.yaml".to_owned(), other.replace("name: web", "name: api")));
        files.push(("uplinker.yaml".to_owned(), format!("version: 1\ndataPlane: {{pins: {pins}}}\n")));
        let play = Play::with(&files);
        let moved = now() - 5 * 24 * 3600;
        play.scene.repo.set_clock(moved);
        play.replace("main", "api.yaml", "edge-26.8.1", "edge-26.8.2");
        play.scene.repo.set_clock(now() - 3600);
        play.commit("main", "README.md", "A mesh.\n");
        let status = play.pass(play.scene.command("status").args(["--format", "json"])).exits(0).done.json();
        let proxies = row(&status, "default", "data-plane");
        assert_eq!(
            (&proxies["release"], &proxies["behind"]["releases"]),
            (&"edge-26.8.2".into(), &1.into()),
            "{status}"
        );
        let since: jiff::Timestamp = proxies["since"].as_str().unwrap().parse().unwrap();
        assert!((moved..moved + 60).contains(&since.as_second()), "{status}");
    }
}

/// Staging and production with an overview, after a run.
fn with_overview() -> Play {
    let config = format!("{CONFIG}overview: issue\ndataPlane:\n  pins: ignore\n");
    let mut files = cluster("staging/", 2);
    files.extend(cluster("production/", 2));
    files.push(("uplinker.yaml".to_owned(), config));
    let play = Play::with(&files);
    if !is_elsewhere() {
        play.scene.github.token(TOKEN, Token::actions().having("issues", Level::Write));
    }
    play.run().exits(0);
    play
}

#[test]
fn the_overview_says_what_was_declined() {
    let play = with_overview();
    play.scene.github.close(REPO, 1, "ada");
    play.run().exits(0);
    let issue = overview(&play).unwrap();
    assert!(issue.open && issue.body.contains("| edge-26.8.3 was declined in "), "{}", issue.body);
    play.settles(0);
}

/// The only issue.
pub(super) fn overview(play: &Play) -> Option<Issue> {
    let mut found = None;
    play.scene.github.settings(REPO, |repo| {
        assert!(repo.board.issues.len() <= 1, "{:#?}", repo.board);
        found = repo.board.issues.values().next().cloned();
    });
    found
}

#[test]
fn one_issue_shows_where_everything_stands_and_is_closed_while_all_is_current() {
    let play = with_overview();
    let issue = overview(&play).unwrap();
    assert!(issue.open && issue.labels == ["linkerd: overview"], "{issue:#?}");
    for text in
        ["The newest release is `edge-26.8.3`.", "| staging | platform |", "in [#1](http://", "has run it"]
    {
        assert!(issue.body.contains(&FORGE.words(text)), "{}", issue.body);
    }
    // Nothing is new: it is looked for, and nothing else.
    let writes = play.scene.github.controls().writes.count();
    let again = play.run().exits(0);
    assert_eq!(play.scene.github.controls().writes.count(), writes, "{:#?}", again.asked);
    assert_eq!(again.asked.iter().filter(|line| line.contains("/issues")).count(), 1, "{:#?}", again.asked);
    assert!(
        !again.asked.iter().any(|line| line.contains("upload-pack") && line.starts_with("POST")),
        "{:#?}",
        again.asked
    );
    assert_eq!(overview(&play).unwrap(), issue);

    play.scene.repo.set_clock(now() - 3 * 24 * 3600);
    play.scene.github.merge(REPO, 1, Merge::Squash, "ada", true);
    play.run().exits(0);
    let second = overview(&play).unwrap();
    assert!(second.open && second.body.contains("| production | platform | edge-26.8.2"), "{}", second.body);
    play.scene.github.merge(REPO, 3, Merge::Squash, "ada", true);
    play.run().exits(0);
    let current = overview(&play).unwrap();
    assert!(!current.open && current.body.contains("current"), "{}", current.body);
    play.publish(4);
    play.run().exits(0);
    assert!(overview(&play).unwrap().open);
    // Nothing is open, and something waits.
    play.scene.repo.set_clock(now());
    play.scene.github.merge(REPO, 4, Merge::Squash, "ada", true);
    play.run().exits(0);
    let waiting = overview(&play).unwrap();
    assert!(waiting.open && !waiting.body.contains("in ["), "{}", waiting.body);
}

#[test]
fn what_was_merged_is_listed_where_it_is_asked_for() {
    let play = environments();
    play.run().exits(0);
    play.scene.repo.set_clock(now() - 3 * 24 * 3600);
    play.scene.github.merge(REPO, 2, Merge::Squash, "ada", true);
    play.pass(play.scene.command("rollback").args(["--target", "staging"])).exits(0);
    play.scene.github.merge(REPO, 3, Merge::Commit, "ada", true);
    let ask = |more: &[&str]| play.pass(play.scene.command("status").args(more)).exits(0);
    let status = ask(&["--history", "--format", "json"]).done.json();
    assert_eq!(refusal(&status), None);
    let rows = row(&status, "staging", "platform")["history"].as_array().unwrap().clone();
    let said: Vec<_> =
        rows.iter().map(|row| (row["number"].as_u64().unwrap(), &row["release"], &row["undoes"])).collect();
    assert_eq!(
        said,
        [(3, &"edge-26.8.2".into(), &"edge-26.8.3".into()), (2, &"edge-26.8.3".into(), &Value::Null)],
        "{status:#}"
    );
    assert_eq!(row(&status, "production", "platform")["history"], Value::Array(Vec::new()));
    ask(&["--history"]).prints(&[
        "TARGET   STAGE     MERGED",
        "edge-26.8.2, back from edge-26.8.3",
        "/acme/config/pull/2",
    ]);
    assert!(!ask(&[]).done.stdout.contains("MERGED"));
}
