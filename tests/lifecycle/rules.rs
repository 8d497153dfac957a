//! Rulesets and protected branches over our prefix: each is named, with the way out, and a way out that is taken leads
//! on.

use super::play::*;
use crate::support::{
    github::{
        Level, Merge, Token,
        rules::{Form, Kind},
    },
    scene::{PLATFORM, REPO, TOKEN},
};

const OURS: &str = "refs/heads/uplinker/";

fn forbid(play: &Play, kind: Kind, form: Form) {
    play.scene.github.rule(REPO, OURS, kind, form);
}

const FORMS: [(Form, &str); 2] = [(Form::Ruleset, "GH013"), (Form::Protection, "GH006")];

#[test]
fn each_rule_against_the_first_push_is_named() {
    for (kind, words, hint) in [
        (
            Kind::Creation,
            "reat",
            "hint: let the token's user bypass the ruleset against new branches, or set a `branch.prefix`",
        ),
        (Kind::Unsigned, "Commits must have verified signatures.", "hint: uplinker's commits are not signed"),
        (
            Kind::WithoutPullRequest,
            "Changes must be made through a pull request.",
            "hint: this rule is for branches that are merged into: leave those under `branch.prefix` out of it",
        ),
        (
            Kind::Any("Branch name must match a given regex pattern: ^team/".to_owned()),
            "Branch name must match",
            "hint: follow the pattern with `branch.prefix`",
        ),
    ] {
        for (form, code) in FORMS {
            let play = Play::new();
            forbid(&play, kind.clone(), form);
            let pass = play.run().exits(1).complains(&["uplinker/default/platform", words, code]);
            let known = form == Form::Ruleset || kind != Kind::Creation;
            assert!(!known || pass.done.stderr.contains(hint), "{}", pass.done);
            assert!(pass.done.stderr.contains("hint: "), "{}", pass.done);
            assert_eq!(play.scene.repo.branches().len(), 1);
            assert!(play.scene.github.pulls(REPO).is_empty());
            play.run().exits(1).asks(&[LOOK, &list(PLATFORM), WHO, PUSH, LOOK]);
        }
    }
}

#[test]
fn where_no_branch_may_be_replaced_append_needs_none() {
    for (form, code) in FORMS {
        let play = Play::configured("version: 1\nbranch:\n  history: replace\n").begun();
        forbid(&play, Kind::ForcePush, form);
        let ours = play.tip(PLATFORM);
        play.publish(4);
        play.run().exits(1).complains(&["Cannot force-push", code, "hint: set `branch.history: append`"]);
        assert_eq!(play.tip(PLATFORM), ours);
        assert_eq!(marker(&play.pull(1))["release"], "edge-26.8.3", "the pull request says what is there");
        play.commit("main", "uplinker.yaml", "version: 1\n");
        play.run().exits(0).prints(&["edge-26.8.4: updated http://"]);
        assert_eq!(play.scene.repo.parents(PLATFORM)[0], ours);
        play.settles(0);
    }
}

#[test]
fn where_no_branch_may_be_replaced_one_that_was_left_behind_has_to_go() {
    let play = Play::configured("version: 1\ndataPlane:\n  pins: ignore\n").begun();
    forbid(&play, Kind::ForcePush, Form::Ruleset);
    play.scene.github.merge(REPO, 1, Merge::Squash, "ada", false);
    play.publish(4);
    play.run().exits(1).complains(&["delete the branch where an older pull request has left it"]);
    play.scene.repo.delete_branch(PLATFORM);
    play.run().exits(0).prints(&["edge-26.8.3 → edge-26.8.4: opened http://"]);
    play.settles(0);
}

#[test]
fn where_history_is_linear_replace_makes_no_merge() {
    for (form, code) in FORMS {
        let play = Play::opened();
        forbid(&play, Kind::MergeCommits, form);
        play.replace("main", "crds.yaml", "# moved by", "# moved, as always, by");
        let ours = play.tip(PLATFORM);
        let words = "This branch must not contain merge commits.";
        play.run().exits(1).complains(&[words, code, "hint: set `branch.history: replace`"]);
        assert_eq!(play.tip(PLATFORM), ours);
        play.commit("main", "uplinker.yaml", "version: 1\nbranch:\n  history: replace\n");
        play.run().exits(0).prints(&["updated http://"]);
        assert_eq!(play.scene.repo.parents(PLATFORM), [play.tip("main")]);
        play.settles(0);
    }
}

#[test]
fn a_branch_that_may_not_be_deleted_stays_and_the_pull_request_is_closed() {
    for (form, _) in FORMS {
        let play = Play::opened();
        forbid(&play, Kind::Deletion, form);
        play.scene.github.tick(REPO, 1, "Skip `edge-26.8.3`");
        play.run().exits(0).prints(&[
            "note: the branch `uplinker/default/platform` stays: the remote does not let it be deleted",
        ]);
        assert!(!play.pull(1).open);
        assert!(play.scene.repo.tip(PLATFORM).is_some());
        play.settles(0);
        play.publish(4);
        play.run().exits(0).prints(&["opened http://"]);
        play.settles(0);
    }
}

#[test]
fn an_address_that_is_private_is_told() {
    let play = Play::configured("version: 1\ncommit:\n  author: Ada <ada@home.example>\n");
    let token = Token { private_address: Some("ada@home.example".to_owned()), ..Token::fine_grained("ada") };
    play.scene.github.token(TOKEN, token);
    play.run().exits(1).complains(&[
        "push declined due to email privacy restrictions",
        "GH007",
        "hint: the author's address is private: set `commit.author` to the user's noreply address",
    ]);
    assert_eq!(play.scene.repo.branches().len(), 1);
    // Without the setting, commits carry the noreply address.
    play.commit("main", "uplinker.yaml", "version: 1\n");
    play.run().exits(0).prints(&["opened http://"]);
}

#[test]
fn workflow_files_of_the_base_branch_need_no_permission_of_ours() {
    let play = Play::configured("version: 1\nbranch:\n  update: behind\n").begun();
    play.commit("main", ".github/workflows/ci.yml", "on: push\n");
    play.run().exits(0).prints(&["updated http://"]);
    let there = play.scene.repo.read(PLATFORM, ".github/workflows/ci.yml");
    assert_eq!(there.as_deref(), Some("on: push\n"));
    play.settles(0);
}

#[test]
fn a_workflow_file_that_is_nowhere_else_is_told_with_the_permission() {
    for (token, words) in [
        (Token::actions(), "a GitHub App to create or update workflow `.github/workflows/ci.yml`"),
        (Token::classic("ada"), "a Personal Access Token to create or update workflow"),
    ] {
        let play = Play::configured("version: 1\nbranch:\n  update: behind\n").begun();
        play.scene.github.token(TOKEN, token.clone());
        play.commit("main", ".github/workflows/ci.yml", "on: push\n");
        // In the moment of the push, the base branch goes on and the file is on no branch any more.
        let repo = std::sync::Arc::clone(&play.scene.repo);
        play.scene.github.before(("POST", "*/git-receive-pack"), move |_| {
            repo.commit(
                "main",
                &crate::support::repo::ADA,
                "Other",
                &[crate::support::repo::put(".github/workflows/ci.yml", "on: [push, pull_request]\n")],
            );
        });
        let ours = play.tip(PLATFORM);
        play.run().exits(1).complains(&[words, "hint: the token may not change workflow files"]);
        assert_eq!(play.tip(PLATFORM), ours);
        play.scene.github.token(TOKEN, token.having("workflows", Level::Write));
        play.run().exits(0).prints(&["updated http://"]);
    }
}
