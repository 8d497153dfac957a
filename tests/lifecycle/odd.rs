//! What is done to a base branch and to targets that nobody should rely on: history that is rewritten or cut, clocks that
//! disagree, pull requests that go elsewhere, names that change.

use super::play::*;
use crate::support::{
    git_server::hermetic_git,
    github::Merge,
    repo::{ADA, put},
    scene::{PLATFORM, REPO},
};

const DAY: i64 = 24 * 3600;
const CONFIG: &str = "version: 1\ndataPlane:\n  pins: ignore\ntargets:\n  - name: production\n    paths: [production]\n    \
                      after: {target: staging, soak: 2d}\n  - name: staging\n    paths: [staging]\n";

/// Two environments, the first of which was moved by hand at a time.
fn environments(config: &str, moved: i64) -> Play {
    let mut files = cluster("staging/", 2);
    files.extend(cluster("production/", 2));
    files.push(("uplinker.yaml".to_owned(), config.to_owned()));
    let play = Play::with(&files);
    play.scene.repo.set_clock(moved);
    for path in CHARTS {
        play.replace("main", &format!("staging/{path}"), "2026.8.2", "2026.8.3");
    }
    play
}

#[test]
fn a_base_branch_that_was_rewritten_brings_back_nothing_that_was_dropped() {
    let play = Play::configured("version: 1\ndataPlane:\n  pins: ignore\n");
    play.commit("main", "secret.txt", "To be dropped.\n");
    let play = play.begun();
    let ours = play.tip(PLATFORM);
    play.scene.repo.amend(
        "main",
        &ADA,
        Some("Something else"),
        &[crate::support::repo::Change::Remove("secret.txt")],
    );
    play.run().exits(0).prints(&["default, platform: edge-26.8.2 → edge-26.8.3: nothing to do"]);
    assert_eq!(play.tip(PLATFORM), ours, "none of the files that it changes is another");
    play.settles(0);
    play.scene.github.tick(REPO, 1, "Apply this to the base branch");
    play.run().exits(0).prints(&["updated http://"]);
    assert_eq!(play.scene.repo.changed("main", PLATFORM), CHARTS);
    play.settles(0);
    play.scene.github.merge(REPO, 1, Merge::Commit, "ada", true);
    assert_eq!(play.scene.repo.read("main", "secret.txt"), None);

    // One that changed our files too is taken in at once, and what a person pushed stays.
    let play = Play::configured("version: 1\ndataPlane:\n  pins: ignore\n").begun();
    let text = String::from_utf8(play.files("main")["crds.yaml"].clone()).unwrap();
    play.scene.repo.amend("main", &ADA, None, &[put("crds.yaml", &format!("# rewritten\n{text}"))]);
    play.run().exits(0).prints(&["updated http://"]);
    assert_eq!(play.scene.repo.changed("main", PLATFORM), CHARTS);
    assert!(play.scene.repo.read(PLATFORM, "crds.yaml").unwrap().starts_with("# rewritten\n"));
    let theirs = play.commit(PLATFORM, "docs/more.md", "Mine.\n");
    play.scene.repo.amend("main", &ADA, None, &[put("crds.yaml", &format!("# again\n{text}"))]);
    play.run().exits(0).prints(&["left alone, #1 has commits of a person"]);
    assert_eq!(play.tip(PLATFORM), theirs);
    play.settles(0);
}

#[test]
fn what_was_merged_into_another_branch_is_not_on_the_base_branch() {
    let play = Play::opened();
    play.scene.repo.branch("stable", "main");
    play.scene.github.change(REPO, 1, |pull| "stable".clone_into(&mut pull.base_ref));
    play.scene.github.merge(REPO, 1, Merge::Squash, "ada", true);
    play.run()
        .exits(0)
        .prints(&["default, platform: edge-26.8.2 → edge-26.8.3: opened", "/acme/config/pull/2"]);
    assert!(play.pull(1).merged_at.is_some() && play.pull(2).base_ref == "main");
    // Nor does it let the proxies go.
    assert!(play.scene.repo.tip(crate::support::scene::DATA_PLANE).is_none());
    play.settles(0);
}

#[test]
fn a_commit_of_tomorrow_waits_and_one_of_long_ago_does_not_break() {
    let play = environments(CONFIG, now() + DAY);
    let ahead = "which is still to come, so that one clock is wrong";
    play.run().exits(0).prints(&["production, platform: on hold: edge-26.8.3 waits until 20", ahead]);
    play.settles(0);
    let status = play.pass(play.scene.command("status").args(["--format", "json"])).exits(0).done.json();
    let rows = status["targets"].as_array().unwrap();
    let since = rows.iter().map(|row| row["since"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap());
    assert!(since.max().unwrap() <= jiff::Timestamp::now(), "{status}");
    let play = environments(CONFIG, 0);
    play.run().exits(0).prints(&["production, platform: edge-26.8.2 → edge-26.8.3: opened"]);
    play.settles(0);
}

#[test]
fn what_a_slow_clock_merged_has_been_there_no_longer_than_what_it_was_made_on() {
    let mut files = cluster("staging/", 2);
    files.extend(cluster("production/", 2));
    files.push(("uplinker.yaml".to_owned(), CONFIG.to_owned()));
    for how in [Merge::Commit, Merge::Squash] {
        let play = Play::with(&files);
        play.run().exits(0).prints(&["staging, platform: edge-26.8.2 → edge-26.8.3: opened"]);
        play.scene.repo.set_clock(now() - 3600);
        play.commit("main", "README.md", "Two environments.\n");
        play.scene.repo.set_clock(now() - 9 * DAY);
        play.scene.github.merge(REPO, 1, how, "ada", true);
        play.run()
            .exits(0)
            .prints(&["production, platform: on hold: edge-26.8.3 waits until 20", "has run it since 20"]);
        play.settles(0);
    }
    // A commit of some day to come, which somebody's clock made, holds up nothing that came after it.
    let play = Play::with(&files);
    play.scene.repo.set_clock(now() + 400 * DAY);
    play.commit("main", "README.md", "Two environments.\n");
    play.scene.repo.set_clock(now() - 3 * DAY);
    for path in CHARTS {
        play.replace("main", &format!("staging/{path}"), "2026.8.2", "2026.8.3");
    }
    play.run().exits(0).prints(&["production, platform: edge-26.8.2 → edge-26.8.3: opened"]);
}

#[test]
fn proxies_wait_after_a_merge_by_a_slow_clock_too() {
    let play = Play::new();
    play.scene.repo.set_clock(now() - 3600);
    play.commit("main", "README.md", "A mesh.\n");
    play.scene.repo.set_clock(now() - 9 * DAY);
    for path in CHARTS {
        play.replace("main", path, "2026.8.2", "2026.8.3");
    }
    play.run()
        .exits(0)
        .prints(&["default, data-plane: on hold: the control plane's edge-26.8.3 is to prove itself first"]);
    play.settles(0);
}

#[test]
fn what_a_fast_clock_dated_is_gone_back_to_all_the_same() {
    let play = Play::with(&cluster("", 1));
    play.scene.repo.set_clock(now() - 30 * DAY);
    play.commit("main", "README.md", "A mesh.\n");
    for (days, from, to) in [(1, 1, 2), (3, 2, 3)] {
        play.scene.repo.set_clock(now() - days * DAY);
        for path in CHARTS {
            play.replace("main", path, &format!("2026.8.{from}"), &format!("2026.8.{to}"));
        }
    }
    let back = play.pass(play.scene.command("rollback")).exits(0);
    back.prints(&["Roll back Linkerd edge-26.8.3 → edge-26.8.2 (default, platform)"]);
}

#[test]
fn a_repository_whose_history_was_cut_says_what_it_does_not_tell() {
    let play = environments(CONFIG, now() - 3600);
    // As a workflow's checkout is: all that is there came with the oldest commit that there is.
    let cut = |play: &Play| {
        let clone = tempfile::TempDir::new().unwrap();
        let from = format!("file://{}", play.scene.repo.path().display());
        let git = hermetic_git(play.scene.home.path())
            .args(["clone", "-q", "--depth", "1", &from])
            .arg(clone.path())
            .status();
        assert!(git.unwrap().success());
        let plan = play.scene.home.run(["plan"]).arg(clone.path()).args(play.scene.feed.flags());
        plan.done().exits(0)
    };
    let _ = cut(&play)
        .prints(&["production, platform: on hold: edge-26.8.3 waits until 20", "has run it since 20"]);
    let play = environments(CONFIG, now() - 3 * DAY);
    let _ = cut(&play).prints(&["production, platform: edge-26.8.2 → edge-26.8.3: would be proposed"]);
    // Where nothing was before, nothing is taken back.
    let play = Play::new();
    let back = play.pass(play.scene.command("rollback"));
    back.exits(4).prints(&["the history of the base branch does not tell what it was at before"]);
}

#[test]
fn a_remote_that_is_a_shallow_clone_is_told_and_how_to_mend_it() {
    let play = Play::new();
    let (path, tip) = (play.scene.repo.path().to_owned(), play.tip("main"));
    std::fs::write(path.join("shallow"), format!("{tip}\n")).unwrap();
    let told = ["it is a shallow clone, whose history is cut", "hint: run `git fetch --unshallow` there"];
    let _ = play.run().exits(1).complains(&told);
    // Of a folder all is read that is there; what it would take to write is not.
    let proposals = tempfile::TempDir::new().unwrap();
    let forge = format!("directory:{}", proposals.path().display());
    let run = play.scene.home.run(["run", "--forge", &forge, "--repo"]).arg(&path);
    let _ = run.args(play.scene.feed.flags()).done().exits(1).complains(&told);
    assert_eq!(play.scene.repo.branches().len(), 1);
}

#[test]
fn a_target_that_is_renamed_while_its_pull_request_is_open_gets_another_one() {
    let play = environments(CONFIG, now() - 3 * DAY);
    play.run().exits(0).prints(&["production, platform: edge-26.8.2 → edge-26.8.3: opened"]);
    let renamed = CONFIG.replace("name: production", "name: live");
    play.commit("main", "uplinker.yaml", &renamed);
    play.run().exits(0).prints(&[
        "live, platform: edge-26.8.2 → edge-26.8.3: opened",
        "production, platform: on hold: no pin has this target any more",
        "; closed http://",
    ]);
    assert!(!play.pull(1).open && play.pull(2).open);
    assert!(play.scene.repo.tip("uplinker/production/platform").is_none());
    play.settles(0);
    // That was nobody's no.
    play.commit("main", "uplinker.yaml", CONFIG);
    play.run().exits(0).prints(&["production, platform: edge-26.8.2 → edge-26.8.3: opened"]);
    assert!(!play.pull(2).open && play.pull(3).open);
}

#[test]
fn a_gate_that_nothing_ever_says_a_word_for_is_overdue() {
    let config =
        CONFIG.replace("soak: 2d", "soak: 0d") + "gates:\n  active: [\"kustomisation/*\"]\n  timeout: 1h\n";
    let play = environments(&config, now() - 7200);
    play.reads_gates();
    play.says("main", "kustomization/linkerd/0c9c2e41", "success");
    play.run().exits(0).prints(&[
        "edge-26.8.3 waits until `kustomisation/*` says something of target `staging`",
        "which is overdue: see `gates` in docs/promotion.md",
    ]);
    play.settles(0);
}
