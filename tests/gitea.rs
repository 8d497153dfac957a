//! The Gitea adapter against a fake that answers as Gitea does: what it asks for, and what it makes of refusals and of
//! Gitea's own ways.

use crate::support::{
    controls::Fault,
    flavor::Flavor,
    github::{Level, Token},
    http::Response,
    place::{Place, REFUSED_BY_ALL, is_refused, names, new_pull},
    scene::{PLATFORM, REPO, TOKEN},
};
use uplinker::{
    propose::forge::{Closer, Extras, ForgeError, NewPull, PullPatch, PullState, Status},
    repo::CommitId,
};

fn usual() -> Place {
    Place::new(Flavor::Gitea, Token::fine_grained("robot"))
}

const LIST: &str = "GET /pulls?state=all&sort=recentupdate&limit=50&page=1";

#[test]
fn a_pull_request_lives_its_life() {
    let place = usual();
    let forge = place.forge();
    assert_eq!(forge.pulls(PLATFORM).expect("a list"), []);
    let opened = forge.open(&new_pull()).expect("opened");
    assert_eq!((opened.number, opened.state, opened.body.as_str()), (1, PullState::Open, "Body"));
    let patch = PullPatch { title: None, body: Some("New".into()), state: None };
    forge.update(1, &patch).expect("changed");
    let read = forge.pull(1).expect("read");
    assert_eq!((read.title.as_str(), read.body.as_str(), read.base.as_str()), ("Linkerd", "New", "main"));
    let close = PullPatch { state: Some(PullState::Closed), ..PullPatch::default() };
    forge.update(1, &close).expect("closed");
    assert_eq!(forge.pulls(PLATFORM).expect("a list").first().map(|p| p.state), Some(PullState::Closed));
    assert_eq!(
        place.requests(),
        [LIST, "POST /pulls", "PATCH /pulls/1", "GET /pulls/1", "PATCH /pulls/1", LIST]
    );
}

#[test]
fn a_draft_keeps_its_prefix_and_shows_our_title() {
    let place = usual();
    let forge = place.forge();
    let opened = forge.open(&NewPull { draft: true, ..new_pull() }).expect("opened");
    assert_eq!((opened.title.as_str(), opened.draft), ("Linkerd", true));
    assert_eq!(place.fake.pull(REPO, 1).title, "WIP: Linkerd");
    let patch = PullPatch { title: Some("Other".into()), ..PullPatch::default() };
    forge.update(1, &patch).expect("changed");
    assert_eq!(place.fake.pull(REPO, 1).title, "WIP: Other");
    // Somebody has marked it as ready.
    place.fake.change(REPO, 1, |pull| (pull.title, pull.draft) = ("Other".into(), false));
    forge.update(1, &PullPatch { title: Some("Third".into()), ..PullPatch::default() }).expect("changed");
    assert_eq!(
        (place.fake.pull(REPO, 1).title.as_str(), forge.pull(1).expect("read").draft),
        ("Third", false)
    );
}

#[test]
fn labels_go_by_number_and_are_made() {
    let place = usual();
    let pull = place.open();
    place.fake.labels(REPO, &["Team"]);
    place.requests();
    let labels = vec!["team".to_owned(), "linkerd: routine".to_owned()];
    let extras = Extras { labels, ..Extras::default() };
    assert_eq!(place.forge().add_labels_and_reviewers(&pull, &extras).expect("added"), Vec::<String>::new());
    let labels: std::collections::BTreeSet<String> = place.fake.pull(REPO, 1).labels.into_iter().collect();
    assert_eq!(labels, ["Team", "linkerd: routine"].map(str::to_owned).into());
    assert_eq!(
        place.requests()[..4],
        [
            "GET /labels?limit=50&page=1",
            "GET /api/v1/orgs/acme/labels?limit=50&page=1",
            "POST /labels",
            "POST /issues/1/labels"
        ]
    );
    place.forge().unlabel(1, "TEAM").expect("taken off");
    place.forge().unlabel(1, "never there").expect("nothing to do");
    assert_eq!(place.fake.pull(REPO, 1).labels, ["linkerd: routine".to_owned()]);
}

#[test]
fn what_is_refused_of_the_extras_is_one_line() {
    let place = usual();
    let pull = place.open();
    place.fake.settings(REPO, |repo| {
        repo.collaborators.insert("ada".to_owned());
        repo.teams.insert("mesh".to_owned());
    });
    place.fake.controls().rules.fault(
        "POST",
        "*/labels",
        Fault::Answer(Response::json(403, &serde_json::json!({"message": "no"}))),
    );
    let extras = Extras {
        labels: names(&["x"]),
        reviewers: names(&["ada", "nobody", "acme/mesh", "acme/none", "robot"]),
        assignees: names(&["Ada", "nobody"]),
    };
    let lines = place.forge().add_labels_and_reviewers(&pull, &extras).expect("goes on");
    assert_eq!(
        lines,
        [
            "the label `x` was not added: it is not in the repository, and was not made: no",
            "`nobody` was not asked for a review: no such user or team",
            "`acme/none` was not asked for a review: no such user or team",
            "`robot` was not asked for a review: poster of pr can't be reviewer [user_id: 2, repo_id: 1001]",
            "`nobody` was not assigned: only who may write to the repository can be assigned",
        ]
    );
    let pull = place.fake.pull(REPO, 1);
    assert_eq!(
        (pull.reviewers, pull.teams, pull.assignees),
        (names(&["ada"]), names(&["mesh"]), names(&["ada"]))
    );
}

#[test]
fn it_is_merged_with_the_head_that_was_looked_at_and_no_other() {
    let place = usual();
    place.open();
    let other = CommitId([9; 20]);
    let error = place.forge().merge(1, other).expect_err("refused");
    assert_eq!(error.to_string(), "cannot merge the pull request: head out of date");
    place.fake.settings(REPO, |repo| repo.squash_only = true);
    place.forge().merge(1, place.head()).expect("merged");
    let merged = place.forge().pull(1).expect("read");
    assert_eq!((merged.state, merged.closed_at.is_some()), (PullState::Merged, true));
}

#[test]
fn statuses_and_checks_are_told_apart() {
    let place = usual();
    place.open();
    let (forge, head) = (place.forge(), place.head());
    let say = |success| Status { success, description: "x".repeat(400) };
    forge.status(head, &say(false), Some("http://page")).expect("set");
    assert_eq!(forge.verified_at(head).expect("read"), None);
    forge.status(head, &say(true), None).expect("set");
    assert!(forge.verified_at(head).expect("read").is_some());
    let statuses = place.fake.statuses(REPO, place.fake.pull(REPO, 1).head_sha);
    assert!(statuses[0].description.as_ref().is_some_and(|text| text.chars().count() == 250));
    assert_eq!(forge.status_checks(&[head]).expect("read"), Some(Vec::new()), "our own opens no gate");
}

#[test]
fn the_last_who_closed_it_counts_on_every_page() {
    let place = usual();
    place.open();
    for _ in 0..60 {
        place.fake.close(REPO, 1, "gitea-actions");
        place.fake.reopen(REPO, 1, "ada");
    }
    assert_eq!(place.forge().closer(1).expect("told"), Closer::Unknown);
    place.fake.close(REPO, 1, "ada");
    assert_eq!(place.forge().closer(1).expect("told"), Closer::Person("ada".into()));
    place.fake.reopen(REPO, 1, "ada");
    place.fake.close(REPO, 1, "gitea-actions");
    assert_eq!(place.forge().closer(1).expect("told"), Closer::Bot("gitea-actions".into()));
}

#[test]
fn a_fork_and_a_later_page_are_looked_at_as_they_are() {
    let place = usual();
    let tip = git2::Oid::from_str(&place.open().head).expect("an id");
    for n in 0..70 {
        place.fake.fork_pull(REPO, "mallory", &format!("x{n}"), "main", tip);
    }
    place.fake.fork_pull(REPO, "mallory", PLATFORM, "main", tip);
    place.requests();
    let numbers: Vec<u64> = place.forge().pulls(PLATFORM).expect("a list").iter().map(|p| p.number).collect();
    assert_eq!(numbers, [1]);
    assert_eq!(place.requests(), [LIST.to_owned(), LIST.replace("page=1", "page=2")]);
    assert_eq!(place.forge().open_pulls(&[PLATFORM.into()]).expect("a list"), None, "more than a page");
}

#[test]
fn each_refusal_is_its_own_error() {
    is_refused(usual, &REFUSED_BY_ALL);
    is_refused(
        usual,
        &[
            (
                |p| p.fake.token(TOKEN, Token::fine_grained("robot").expired()),
                "the token was refused: invalid username",
            ),
            (
                |p| p.fake.token(TOKEN, Token::fine_grained("robot").having("pull_requests", Level::Read)),
                "the token lacks the scope `write:repository`",
            ),
        ],
    );
}

#[test]
fn a_limit_of_a_proxy_is_told_with_its_end() {
    let place = usual();
    place.fake.limit(0, jiff::Timestamp::now().as_second() + 600);
    let error = place.forge().pulls(PLATFORM).expect_err("refused");
    assert!(matches!(error, ForgeError::RateLimited { until: Some(_), .. }), "{error}");
}

#[test]
fn a_502_after_it_was_opened_is_a_success() {
    let place = usual();
    let lost = Fault::AnswerAfter(Response::text(502, "Bad Gateway"));
    place.fake.controls().rules.fault_nth("POST", "*/pulls", 0, 1, lost);
    assert_eq!(place.open().number, 1);
    assert_eq!(place.requests(), ["POST /pulls", LIST]);
    assert_eq!(place.fake.pulls(REPO).len(), 1);
    // Another run was quicker.
    assert_eq!(place.open().number, 1);
}

#[test]
fn a_first_push_that_gitea_has_not_looked_at_is_waited_for() {
    let place = usual();
    let rules = &place.fake.controls().rules;
    let missing = Fault::Answer(Response::json(404, &serde_json::json!({"message": "not found"})));
    let empty = serde_json::json!({"full_name": REPO, "empty": true, "has_pull_requests": true});
    rules.fault_nth("GET", "*/pulls?*", 0, 1, missing.clone());
    rules.fault_nth("GET", &format!("*/repos/{REPO}"), 0, 9, Fault::Answer(Response::json(200, &empty)));
    assert_eq!(place.forge().pulls(PLATFORM).expect("a list"), []);
    assert_eq!(place.requests(), [LIST, "GET ", LIST]);
    // It may take longer, and then the next run goes on.
    rules.fault_nth("GET", "*/pulls?*", 0, 9, missing);
    let error = place.forge().pulls(PLATFORM).expect_err("not yet");
    assert!(matches!(error, ForgeError::Temporary { .. }), "{error}");
}

#[test]
fn commits_carry_the_tokens_user() {
    let place = usual();
    let me = place.forge().identity().expect("told").expect("somebody");
    assert_eq!((me.name.as_str(), me.email.as_str()), ("robot", "robot@example.org"));
    place.fake.controls().rules.fault(
        "GET",
        "*/user/settings",
        Fault::Answer(Response::json(200, &serde_json::json!({"hide_email": true}))),
    );
    let me = place.forge().identity().expect("told").expect("somebody");
    assert_eq!(me.email, "robot@noreply.127.0.0.1");
    let mut token = Token::fine_grained("robot");
    token.permissions.remove("metadata");
    place.fake.token(TOKEN, token);
    assert_eq!(place.forge().identity().expect("told"), None);
}

#[test]
fn all_repositories_of_an_organisation_are_listed() {
    let place = usual();
    for n in 0..120 {
        place.fake.copy(&format!("acme/mesh-{n}"), REPO);
    }
    place.fake.copy("acme-labs/mesh", REPO);
    place.fake.settings("acme/mesh-7", |repo| repo.archived = true);
    // A page may be short, and not the last.
    place.fake.token(
        TOKEN,
        (0..120)
            .filter(|n| *n != 3)
            .fold(Token::fine_grained("robot").only(REPO), |token, n| token.only(&format!("acme/mesh-{n}"))),
    );
    place.requests();
    let all = place.listed("acme").expect("a list");
    assert_eq!((all.len(), all.iter().filter(|one| one.archived).count()), (120, 1));
    assert!(all.iter().any(|one| one.address == place.fake.url("acme/mesh-119")));
    let page = |n| format!("GET /api/v1/users/acme/repos?limit=50&page={n}");
    assert_eq!(place.requests(), [page(1), page(2), page(3)]);
    let error = place.listed("nobody").expect_err("not there");
    assert!(matches!(error, ForgeError::NotFound(ref what) if what == "nobody"), "{error}");
}
