//! The first run on a fresh repository, with the permissions that the documentation names and no other.

use super::play::*;
use crate::support::{
    github::{
        Level, Token, TokenKind,
        rules::{Form, Kind},
    },
    process::Home,
    repo::BareRepo,
    scene::{LABELS, PLATFORM, REPO, TOKEN},
};

const NO_LABEL: &str = "note: the label `linkerd: attention` was not added: it is not in the repository, and making one \
                        takes the permission `issues: write`";

/// The permissions of a workflow's only job.
fn permissions(workflow: &str) -> Vec<(String, Level)> {
    let workflow: serde_yaml::Value = serde_yaml::from_str(workflow).expect("YAML");
    let granted = workflow["jobs"]["uplinker"]["permissions"].as_mapping().expect("permissions");
    let level = |text: Option<&str>| match text {
        Some("write") => Level::Write,
        Some("read") => Level::Read,
        other => panic!("{other:?} is no level"),
    };
    let entry = |(name, text): (&serde_yaml::Value, &serde_yaml::Value)| {
        (name.as_str().expect("a name").replace('-', "_"), level(text.as_str()))
    };
    granted.iter().map(entry).collect()
}

/// The workflow as the README shows it.
fn of_the_readme() -> String {
    let text = include_str!("../../README.md");
    let (_, after) = text.split_once("   ```yaml\n").expect("a workflow");
    let (workflow, _) = after.split_once("   ```\n").expect("its end");
    workflow.lines().map(|line| line.strip_prefix("   ").unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

/// The workflow as `init` writes it.
fn of_init() -> String {
    let home = Home::new();
    let folder = home.path().join("clone");
    let files = cluster("", 2);
    let files: Vec<(&str, &str)> = files.iter().map(|(p, t)| (p.as_str(), t.as_str())).collect();
    BareRepo::with_files(folder.join(".git"), "main", &files);
    let _ = home.run(["init"]).arg(&folder).done().exits(0);
    std::fs::read_to_string(folder.join(".github/workflows/uplinker.yml")).unwrap()
}

/// A token of a kind with the permissions that the documentation names.
fn documented(kind: TokenKind) -> Token {
    let plain = match kind {
        TokenKind::Actions => Token::actions(),
        TokenKind::App => Token::app("mesh-robot"),
        TokenKind::FineGrained => Token::fine_grained("ada"),
        TokenKind::Classic => Token::classic("ada"),
    };
    let mut token = Token { permissions: std::collections::BTreeMap::new(), ..plain };
    token.permissions.extend(permissions(&of_the_readme()));
    token.having("metadata", Level::Read)
}

/// How it is found out who commits.
fn who(kind: TokenKind) -> &'static str {
    match kind {
        TokenKind::Actions | TokenKind::App => WHO,
        TokenKind::FineGrained | TokenKind::Classic => WHO_OF_A_PERSON,
    }
}

/// A repository as it was made: without a label of ours.
fn fresh(token: Token, config: &str) -> Play {
    let play = Play::configured(config);
    play.scene.github.settings(REPO, |repo| repo.labels.clear());
    play.scene.github.token(TOKEN, token);
    play
}

/// The pull request is there with its marker and its status, and the marker says that nothing is left to do.
fn is_whole(play: &Play) {
    let pull = play.expect_platform(1, 3, &play.files("main"), &[play.tip("main")]);
    let marker = marker(&pull);
    for key in ["status", "extras", "text", "base", "inputs"] {
        assert!(marker[key].is_string(), "`{key}` is missing: {marker}");
    }
    assert_eq!(play.statuses(PLATFORM), success());
    play.run().exits(0).asks(&[LOOK, &list(PLATFORM)]).stays_warm();
    play.settles(0);
}

#[test]
fn the_documents_name_the_same_permissions() {
    let named = permissions(&of_the_readme());
    assert_eq!(permissions(&of_init()), named);
    let action = include_str!("../../action.yml");
    let security = include_str!("../../docs/security.md");
    for (name, level) in &named {
        assert_eq!(*level, Level::Write);
        let words = format!("`{}: write`", name.replace('_', "-"));
        assert!(action.contains(&words) && security.contains(&words), "{words}");
    }
    for text in [&of_init(), include_str!("../../README.md"), action, security] {
        assert!(text.contains("issues: write"), "how labels are made:\n{text}");
    }
}

#[test]
fn the_documented_permissions_lead_to_a_whole_pull_request() {
    for kind in [TokenKind::Actions, TokenKind::App, TokenKind::FineGrained] {
        let play = fresh(documented(kind), "version: 1\n");
        let pass = play.run().exits(0).asks(&[LOOK, FETCH, &list(PLATFORM), who(kind), PUSH, &opens(1)]);
        pass.prints(&["opened http://", NO_LABEL]);
        assert!(play.pull(1).labels.is_empty());
        is_whole(&play);
    }
}

#[test]
fn with_the_permission_for_issues_the_label_is_made() {
    for kind in [TokenKind::Actions, TokenKind::App, TokenKind::FineGrained, TokenKind::Classic] {
        let play = fresh(documented(kind).having("issues", Level::Write), "version: 1\n");
        let pass = play.run().exits(0).asks(&[LOOK, FETCH, &list(PLATFORM), who(kind), PUSH, &opens(1)]);
        assert!(!pass.done.stdout.contains("was not added"), "{}", pass.done);
        assert_eq!(play.pull(1).labels, [ATTENTION]);
        is_whole(&play);
    }
}

#[test]
fn a_label_made_by_hand_is_added_when_asked_again() {
    let play = fresh(documented(TokenKind::Actions), "version: 1\n");
    play.run().exits(0).prints(&[NO_LABEL]);
    play.scene.github.labels(REPO, &LABELS);
    play.settles(0);
    play.scene.github.tick(REPO, 1, "Ask again for labels, people and status");
    let labels = ask(1, "labels");
    play.run().exits(0).asks(&[LOOK, &list(PLATFORM), STATUS, &labels, &read(1), &write(1)]);
    assert_eq!(play.pull(1).labels, [ATTENTION]);
}

#[test]
fn labels_that_are_there_are_added_beside_one_that_cannot_be_made() {
    let play = fresh(documented(TokenKind::Actions), "version: 1\npullRequest:\n  labels: [mesh, Team]\n");
    play.scene.github.labels(REPO, &["mesh", "linkerd: attention"]);
    let labels = ask(1, "labels");
    let all = [labels.as_str(); 4].join("\n");
    play.run()
        .exits(0)
        .asks(&[LOOK, FETCH, &list(PLATFORM), WHO, PUSH, OPEN, STATUS, &all, &read(1), &write(1)])
        .prints(&["note: the label `Team` was not added: it is not in the repository"]);
    assert_eq!(play.pull(1).labels, ["mesh", ATTENTION]);
    is_whole(&play);
}

#[test]
fn a_team_that_the_token_may_not_see_is_one_line() {
    for kind in [TokenKind::Actions, TokenKind::App, TokenKind::FineGrained] {
        let play = fresh(documented(kind), "version: 1\npullRequest:\n  reviewers: [acme/mesh]\n");
        play.scene.github.settings(REPO, |repo| {
            repo.teams.insert("mesh".to_owned());
        });
        play.run().exits(0).prints(&[
            "opened http://",
            NO_LABEL,
            "note: `acme/mesh` was not asked for a review: the token may not see the organisation's teams",
        ]);
        is_whole(&play);
    }
}

#[test]
fn all_that_can_be_refused_at_once_leaves_a_whole_pull_request() {
    let config = "version: 1\npullRequest:\n  labels: [mesh]\n  reviewers: [acme/mesh, ben]\n  assignees: [ben]\n  draft: true\n";
    let play = fresh(documented(TokenKind::Actions).without("statuses"), config);
    play.scene.github.settings(REPO, |repo| {
        repo.teams.insert("mesh".to_owned());
        repo.drafts = false;
        repo.single_sign_on = true;
    });
    play.run().exits(0).prints(&[
        "opened http://",
        "note: the pull request is not a draft",
        "note: the status `uplinker/verify` was not set: ",
        "note: the label `mesh` was not added: ",
        NO_LABEL,
        "note: `acme/mesh` was not asked for a review: ",
        "note: `ben` was not asked for a review: ",
        "note: `ben` was not assigned: ",
    ]);
    play.expect_platform(1, 3, &play.files("main"), &[play.tip("main")]);
    let marker = marker(&play.pull(1));
    assert!(marker["status"].is_string() && marker["extras"].is_string(), "{marker}");
    play.run().exits(0).asks(&[LOOK, &list(PLATFORM)]).stays_warm();
    play.settles(0);
}

#[test]
fn rules_over_the_base_branch_keep_nothing_back() {
    for form in [Form::Ruleset, Form::Protection] {
        let play = fresh(documented(TokenKind::Actions), "version: 1\n");
        for kind in [
            Kind::Creation,
            Kind::ForcePush,
            Kind::MergeCommits,
            Kind::Deletion,
            Kind::Unsigned,
            Kind::WithoutPullRequest,
        ] {
            play.scene.github.rule(REPO, "refs/heads/main", kind, form);
        }
        play.run().exits(0).prints(&["opened http://", NO_LABEL]);
        is_whole(&play);
    }
}
