//! Tokens that may not do everything, and repositories that do not let us.

use super::{play::*, standing};
use crate::support::{
    controls::Fault,
    github::{
        Level, Token,
        rules::{Form, Kind},
    },
    http::Response,
    scene::{PLATFORM, REPO, TOKEN},
};

fn play_with(token: Token) -> Play {
    let play = Play::new();
    play.scene.github.token(TOKEN, token);
    play
}

#[test]
fn the_workflows_own_token_leaves_workflows_waiting() {
    let waits =
        "note: its workflows wait until a person approves them, since the workflow's own token opened it";
    Play::new().run().exits(0).prints(&["opened http://", waits]);
    for token in [Token::app("uplinker"), Token::fine_grained("ada"), Token::classic("ada")] {
        let play = play_with(token);
        let pass = play.run().exits(0).prints(&["opened http://"]);
        assert!(!pass.done.stdout.contains("workflows wait"), "{}", pass.done);
        play.settles(0);
    }
}

#[test]
fn a_token_that_may_not_set_statuses_goes_on() {
    let play = play_with(Token::actions().without("statuses"));
    play.run().exits(0).asks(&[LOOK, FETCH, &list(PLATFORM), WHO, PUSH, &opens(1)]).prints(&[
        "opened http://",
        "note: the status `uplinker/verify` was not set: 127.0.0.1: the token lacks the permission `statuses: write`",
    ]);
    play.expect_platform(1, 3, &play.files("main"), &[play.tip("main")]);
    assert!(play.statuses(PLATFORM).is_empty());
    play.run().exits(0).asks(&[LOOK, &list(PLATFORM)]).stays_warm();
    play.settles(0);
}

#[test]
fn pull_requests_forbidden_by_the_setting_are_told_with_the_way_out() {
    let play = Play::new();
    play.scene.github.settings(REPO, |repo| repo.actions_may_open = false);
    let link = format!(
        "{}/compare/main...uplinker/default/platform?expand=1",
        play.scene.github.url(REPO).trim_end_matches(".git")
    );
    play.run()
        .exits(1)
        .asks(&[LOOK, FETCH, &list(PLATFORM), WHO, PUSH, OPEN])
        .complains(&["\"Allow GitHub Actions to create and approve pull requests\"", &link]);
    // The branch stays, and a later run opens from it without a second push.
    let ours = play.tip(PLATFORM);
    assert!(play.scene.github.pulls(REPO).is_empty());
    let files = replaced(&play.files("main"), &CHARTS, "2026.8.2", "2026.8.3");
    assert_same_files(&play.files(PLATFORM), &files);
    play.run().exits(1).asks(&[LOOK, &list(PLATFORM), OPEN]);
    assert_eq!(play.tip(PLATFORM), ours);
    play.scene.github.settings(REPO, |repo| repo.actions_may_open = true);
    play.run().exits(0).asks(&[LOOK, &list(PLATFORM), &opens(1)]).prints(&["opened http://"]);
    assert_eq!(play.tip(PLATFORM), ours);
    play.expect_platform(1, 3, &play.files("main"), &[play.tip("main")]);
    play.settles(0);
}

#[test]
fn a_token_without_a_permission_is_told_which() {
    for (missing, asked, words) in [
        ("pull_requests", vec![LOOK, FETCH], "the token lacks the permission `pull-requests: "),
        ("contents", vec![LOOK], "authentication failed"),
    ] {
        let play = play_with(Token::actions().without(missing));
        let pass = play.run().exits(1).complains(&[words]);
        let lines: Vec<&str> = asked.iter().flat_map(|part| part.lines()).collect();
        assert_eq!(pass.asked[..lines.len()], lines, "{:#?}", pass.asked);
        assert_eq!(play.scene.repo.branches().len(), 1, "nothing was pushed");
        assert!(play.scene.github.pulls(REPO).is_empty());
    }
}

const ASKING: &str = "\
version: 1
pullRequest:
  labels: [linkerd]
  reviewers: [ben, stranger, acme/mesh, acme/nobody]
  assignees: [ben, stranger]
  draft: true
";

#[test]
fn who_is_refused_does_not_stop_the_rest() {
    let play = Play::configured(ASKING);
    play.scene.github.labels(REPO, &["linkerd"]);
    play.scene.github.token(TOKEN, Token::app("mesh-robot").having("members", Level::Read));
    play.scene.github.settings(REPO, |repo| {
        repo.drafts = false;
        repo.collaborators.insert("ben".to_owned());
        repo.teams.insert("mesh".to_owned());
    });
    let review = ask(1, "requested_reviewers");
    let one_by_one = [review.as_str(); 5].join("\n");
    let pass = play.run().exits(0);
    let extras: Vec<&str> = pass.asked.iter().map(String::as_str).skip_while(|l| *l != OPEN).collect();
    let expected =
        [OPEN, OPEN, STATUS, &ask(1, "labels"), &one_by_one, &ask(1, "assignees"), &read(1), &write(1)];
    assert_eq!(extras, expected.iter().flat_map(|p| p.lines()).collect::<Vec<_>>(), "{}", pass.done);
    pass.prints(&[
        "opened http://",
        "note: the pull request is not a draft: the repository does not support drafts",
        "note: `stranger` was not asked for a review: ",
        "note: `acme/nobody` was not asked for a review: ",
        "note: `stranger` was not assigned: GitHub lets only collaborators be assigned",
    ]);
    let pull = play.expect_platform(1, 3, &play.files("main"), &[play.tip("main")]);
    assert_eq!((pull.labels, pull.draft), (vec!["linkerd".to_owned(), ATTENTION.to_owned()], false));
    assert_eq!((pull.reviewers, pull.teams), (vec!["ben".to_owned()], vec!["mesh".to_owned()]));
    assert_eq!(pull.assignees, ["ben"]);
    play.settles(0);
}

#[test]
fn a_label_that_is_refused_is_one_line() {
    let play = Play::configured("version: 1\npullRequest:\n  labels: [linkerd, mesh]\n");
    play.scene.github.labels(REPO, &["linkerd", "mesh"]);
    // Both together, then the second one alone.
    for n in [0, 2] {
        let words = r#"{"message":"Validation Failed","errors":["`mesh` is reserved"]}"#;
        let refusal = Fault::Answer(Response::text(422, words));
        play.scene.github.controls().rules.fault_nth("POST", "*/issues/1/labels", n, 1, refusal);
    }
    let labels = ask(1, "labels");
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
            &labels,
            &labels,
            &labels,
            &labels,
            &read(1),
            &write(1),
        ])
        .prints(&["opened http://", "note: the label `mesh` was not added: `mesh` is reserved"]);
    assert_eq!(play.pull(1).labels, ["linkerd", ATTENTION]);
    play.settles(0);
}

#[test]
fn a_host_that_gives_the_token_back_does_not_bring_it_into_the_summary() {
    let play = Play::configured("version: 1\npullRequest:\n  reviewers: [ben]\n");
    let words = format!(r#"{{"message":"Validation Failed","errors":["no: {TOKEN}"]}}"#);
    let refusal = Fault::Answer(Response::text(422, words));
    play.scene.github.controls().rules.fault("POST", "*/requested_reviewers", refusal);
    let (folder, actions) = (play.scene.home.path(), ["GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"]);
    let run = play.scene.run().env("GITHUB_ACTIONS", "true");
    let run = actions.iter().fold(run, |run, name| run.env(name, folder.join(name)));
    play.pass(run).exits(0).prints(&["note: `ben` was not asked for a review: no: ***"]);
    let [summary, outputs] = actions.map(|name| std::fs::read_to_string(folder.join(name)).unwrap());
    assert!(summary.contains("was not asked") && outputs.contains("proposed=true"), "{summary}{outputs}");
    assert!(!summary.contains(TOKEN) && !outputs.contains(TOKEN), "{summary}{outputs}");
}

impl Play {
    /// A second run is refused as the first, and leaves as little.
    fn is_refused_again(&self) {
        let before = self.world();
        self.run().exits(1).asks(&[LOOK, &list(PLATFORM), WHO, PUSH, LOOK]);
        assert_eq!(self.world(), before);
    }
}

#[test]
fn a_ruleset_over_our_prefix_is_named() {
    let play = Play::new();
    play.scene.github.rule(REPO, "refs/heads/uplinker/", Kind::Creation, Form::Ruleset);
    play.run().exits(1).asks(&[LOOK, FETCH, &list(PLATFORM), WHO, PUSH, LOOK]).complains(&[
        "uplinker/default/platform",
        "creations being restricted",
        "GH013",
        "hint: let the token's user bypass the ruleset",
    ]);
    assert_eq!(play.scene.repo.branches().len(), 1);
    assert!(play.scene.github.pulls(REPO).is_empty());
    play.is_refused_again();
}

#[test]
fn a_ruleset_over_one_targets_branch_keeps_no_other_back() {
    let mut files = cluster("staging/", 2);
    files.extend(cluster("production/", 2));
    let targets = "version: 1\ntargets:\n  - {name: staging, paths: [staging]}\n  - {name: production, paths: [production]}\n";
    files.push(("uplinker.yaml".to_owned(), targets.to_owned()));
    let play = Play::with(&files);
    play.scene.github.ruleset(REPO, "refs/heads/uplinker/staging/", "Cannot create ref.");
    play.run().exits(1).complains(&["uplinker/staging/platform", "Cannot create ref."]);
    assert_eq!(play.scene.only_pull().head_ref, "uplinker/production/platform");
}

#[test]
fn commits_that_must_be_signed_are_told() {
    let play = Play::new();
    play.scene.github.rule(REPO, "refs/heads/uplinker/", Kind::Unsigned, Form::Ruleset);
    play.run().exits(1).complains(&[
        "Commits must have verified signatures",
        "GH013",
        "hint: uplinker's commits are not signed",
    ]);
    assert_eq!(play.scene.repo.branches().len(), 1);
    play.is_refused_again();
}

#[test]
fn a_hook_that_refuses_is_told_in_its_own_words() {
    let play = Play::new();
    play.scene.repo.install_hook("pre-receive", "echo 'Ticket number missing' >&2; exit 1");
    play.run().exits(1).complains(&["uplinker/default/platform", "Ticket number missing"]);
    assert_eq!(play.scene.repo.branches().len(), 1);
    play.is_refused_again();
}

#[test]
fn an_overview_that_cannot_be_written_is_a_note() {
    let play = Play::configured("version: 1\noverview: issue\n");
    play.run().exits(0).prints(&[
        "default, platform: edge-26.8.2 → edge-26.8.3: opened",
        "the overview was not written",
        "issues: read",
    ]);
    assert!(standing::overview(&play).is_none());
    play.scene.github.token(TOKEN, Token::actions().having("issues", Level::Write));
    play.scene.github.settings(REPO, |repo| repo.board.enabled = false);
    play.run()
        .exits(0)
        .prints(&["the overview was not written: acme/config has no issues, or the token may not see them"]);
}
