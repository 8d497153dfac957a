//! The GitLab adapter against a fake that answers as GitLab does: what it asks for, and what it makes of refusals and of
//! GitLab's own ways.

use std::collections::BTreeSet;

use crate::support::{
    controls::Fault,
    flavor::Flavor,
    github::{Level, Token},
    http::Response,
    place::{Place, REFUSED_BY_ALL, is_refused, names, new_pull},
    repo::{ADA, put},
    scene::{PLATFORM, REPO, TOKEN},
};
use uplinker::{
    propose::{
        History,
        forge::{
            Closer, Extras, ForgeError, NewPull, PullPatch, PullState, Status,
            issues::Issue,
            kind::Opening,
            kinds,
            preflight::{Needed, Seen, Subject},
        },
    },
    repo::CommitId,
    sys::http::Http,
};

fn usual() -> Place {
    Place::new(Flavor::GitLab, Token::fine_grained("robot"))
}

const LIST: &str = "GET /merge_requests?state=all&source_branch=uplinker%2Fdefault%2Fplatform&order_by=created_at\
                    &sort=desc&per_page=100&page=1";

#[test]
fn a_merge_request_lives_its_life() {
    let place = usual();
    let forge = place.forge();
    assert_eq!(forge.pulls(PLATFORM).expect("a list"), []);
    let opened = forge.open(&new_pull()).expect("opened");
    assert_eq!((opened.number, opened.state, opened.body.as_str()), (1, PullState::Open, "Body"));
    assert!(opened.url.ends_with("/acme/config/-/merge_requests/1"), "{}", opened.url);
    let patch = PullPatch { title: None, body: Some("New".into()), state: None };
    forge.update(1, &patch).expect("changed");
    let read = forge.pull(1).expect("read");
    assert_eq!((read.title.as_str(), read.body.as_str(), read.base.as_str()), ("Linkerd", "New", "main"));
    assert_eq!(read.head, place.fake.pull(REPO, 1).head_sha.to_string());
    let state = |state| PullPatch { state: Some(state), ..PullPatch::default() };
    forge.update(1, &state(PullState::Closed)).expect("closed");
    assert_eq!(forge.pulls(PLATFORM).expect("a list").first().map(|p| p.state), Some(PullState::Closed));
    forge.update(1, &state(PullState::Open)).expect("opened again");
    assert_eq!(forge.pull(1).expect("read").state, PullState::Open);
    assert_eq!(
        place.requests(),
        [
            LIST,
            "POST /merge_requests",
            "PUT /merge_requests/1",
            "GET /merge_requests/1",
            "PUT /merge_requests/1",
            LIST,
            "PUT /merge_requests/1",
            "GET /merge_requests/1",
        ]
    );
}

#[test]
fn a_project_in_groups_of_groups_is_addressed_as_one_part() {
    let place = usual();
    let deep = "acme/mesh/eu-west/config";
    let repo = place.fake.repo(deep, &[("a.yaml", "a: 1\n")]);
    repo.branch(PLATFORM, "main");
    repo.commit(PLATFORM, &ADA, "Ahead", &[put("a.yaml", "a: 2\n")]);
    let http = Http::new(None).expect("a client");
    let kind = kinds::named("gitlab").expect("a forge");
    let api = url::Url::parse(&format!("{}/api/v4", place.fake.server().url())).expect("a URL");
    let (git_url, token) = (place.fake.url(deep), TOKEN.to_owned().into());
    let opening = Opening { http: &http, git_url: &git_url, api: &api, token: Some(&token), signs: false };
    let forge = (kind.open)(opening).expect("a forge");
    assert_eq!(forge.open(&new_pull()).expect("opened").number, 1);
    assert_eq!(forge.pulls(PLATFORM).expect("a list").len(), 1);
    assert!(place.requests()[0].starts_with("POST /api/v4/projects/acme%2Fmesh%2Feu-west%2Fconfig/"));
    let page = forge.compare_url("main", "a&b").expect("a page");
    assert!(page.ends_with(
        "/acme/mesh/eu-west/config/-/merge_requests/new?merge_request%5Bsource_branch%5D=a%26b&\
         merge_request%5Btarget_branch%5D=main"
    ));
}

#[test]
fn a_draft_keeps_its_prefix_and_shows_our_title() {
    let place = usual();
    let forge = place.forge();
    let opened = forge.open(&NewPull { draft: true, ..new_pull() }).expect("opened");
    assert_eq!((opened.title.as_str(), opened.draft), ("Linkerd", true));
    assert_eq!(place.fake.pull(REPO, 1).title, "Draft: Linkerd");
    let titled = |title: &str| PullPatch { title: Some(title.into()), ..PullPatch::default() };
    forge.update(1, &titled("Other")).expect("changed");
    assert_eq!(place.fake.pull(REPO, 1).title, "Draft: Other");
    // Somebody has marked it as ready.
    place.fake.change(REPO, 1, |pull| (pull.title, pull.draft) = ("Other".into(), false));
    forge.update(1, &titled("Third")).expect("changed");
    assert_eq!(place.fake.pull(REPO, 1).title, "Third");
    assert!(!forge.pull(1).expect("read").draft);
}

#[test]
fn the_longest_title_and_text_are_taken_and_no_longer_ones() {
    let place = usual();
    let dialect = place.forge().dialect();
    let sized = |title: usize, body: usize| NewPull {
        title: "x".repeat(title),
        body: "x".repeat(body),
        draft: true,
        ..new_pull()
    };
    let error = place.forge().open(&sized(dialect.title + 1, 1)).expect_err("too long").to_string();
    assert_eq!(error, "cannot open a merge request: title: is too long (maximum is 255 characters)");
    let error = place.forge().open(&sized(1, dialect.body + 1)).expect_err("too long").to_string();
    assert!(error.contains("description: is too long"), "{error}");
    place.forge().open(&sized(dialect.title, dialect.body)).expect("opened");
}

#[test]
fn labels_are_made_and_what_is_left_out_is_told() {
    let place = usual();
    let pull = place.open();
    place.requests();
    let labels = names(&["team", "linkerd: routine", "a,b"]);
    let extras = Extras { labels, ..Extras::default() };
    let lines = place.forge().add_labels_and_reviewers(&pull, &extras).expect("added");
    assert_eq!(lines, ["the label `a,b` was not added: no label on GitLab has a comma"]);
    let there: BTreeSet<String> = place.fake.pull(REPO, 1).labels.into_iter().collect();
    assert_eq!(there, ["team", "linkerd: routine"].map(str::to_owned).into());
    assert_eq!(place.requests(), ["PUT /merge_requests/1"]);
    place.forge().unlabel(1, "team").expect("taken off");
    place.forge().unlabel(1, "never there").expect("nothing to do");
    assert_eq!(place.fake.pull(REPO, 1).labels, ["linkerd: routine"]);
}

#[test]
fn people_are_asked_by_number_and_who_was_left_out_is_told() {
    let place = usual();
    let pull = place.open();
    place.fake.settings(REPO, |repo| repo.collaborators.extend(["ada".to_owned(), "ben".to_owned()]));
    place.fake.change(REPO, 1, |pull| pull.reviewers = vec!["ben".to_owned()]);
    let extras = Extras {
        labels: Vec::new(),
        reviewers: names(&["Ada", "nobody", "mallory", "acme/mesh"]),
        assignees: names(&["ben"]),
    };
    let lines = place.forge().add_labels_and_reviewers(&pull, &extras).expect("goes on");
    assert_eq!(
        lines,
        [
            "`nobody` was not asked for a review: no such user",
            "`acme/mesh` was not asked for a review: on GitLab users are asked; a group approves by an approval rule",
            "`mallory` was not asked for a review: GitLab takes members of the project alone, and without Premium \
             one of them",
        ]
    );
    let pull = place.fake.pull(REPO, 1);
    assert_eq!((pull.reviewers, pull.assignees), (names(&["ben", "ada"]), names(&["ben"])));
}

#[test]
fn it_is_merged_with_the_head_that_was_looked_at_and_no_other() {
    let place = usual();
    place.open();
    let refused = |words: &str| {
        let error = place.forge().merge(1, place.head()).expect_err("refused").to_string();
        assert_eq!(error, format!("cannot merge the merge request: {words}"));
    };
    let error = place.forge().merge(1, CommitId([9; 20])).expect_err("refused").to_string();
    assert_eq!(error, "cannot merge the merge request: its head is another one by now");
    place.fake.settings(REPO, |repo| repo.merge_rule = Some("approvals".to_owned()));
    refused("it has to be approved");
    place.fake.settings(REPO, |repo| repo.merge_rule = None);
    place.fault(
        "PUT",
        "/merge",
        Fault::Answer(Response::json(401, &serde_json::json!({"message": "401 Unauthorized"}))),
    );
    refused(
        "the token's user may not merge into the base branch; let it, under Settings > Repository > Protected branches",
    );
    place.fake.settings(REPO, |repo| repo.squash_only = true);
    place.fake.controls().rules.clear();
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
    forge
        .status(head, &say(true), Some(&format!("http://{}", "x".repeat(300))))
        .expect("set without the page");
    forge.status(head, &say(true), None).expect("set again");
    assert!(forge.verified_at(head).expect("read").is_some());
    let statuses = place.fake.statuses(REPO, place.fake.pull(REPO, 1).head_sha);
    assert_eq!(
        statuses.iter().map(|s| s.state.as_str()).collect::<Vec<_>>(),
        ["failure", "success", "success"]
    );
    assert!(statuses[0].description.as_ref().is_some_and(|text| text.chars().count() == 255));
    assert_eq!(
        (statuses[0].target_url.as_deref(), statuses[1].target_url.as_deref()),
        (Some("http://page"), None)
    );
    assert_eq!(forge.status_checks(&[head]).expect("read"), Some(Vec::new()), "our own opens no gate");
}

#[test]
fn a_state_that_is_there_already_is_no_failure() {
    let place = usual();
    place.open();
    let (forge, head) = (place.forge(), place.head());
    forge.status(head, &Status { success: true, description: "fine".into() }, None).expect("set");
    let words = "Cannot transition status via :success from :success (Reason(s): Status cannot transition via \"success\")";
    let refusal = Fault::Answer(Response::json(400, &serde_json::json!({"message": words})));
    place.fake.controls().rules.fault_nth("POST", "*/statuses/*", 0, 2, refusal);
    forge.status(head, &Status { success: true, description: "fine".into() }, None).expect("it is there");
    let error = forge.status(head, &Status { success: false, description: "no".into() }, None);
    assert!(error.expect_err("refused").to_string().contains("Cannot transition status"));
}

#[test]
fn the_last_who_closed_it_counts() {
    let place = usual();
    place.open();
    for _ in 0..60 {
        place.fake.close(REPO, 1, "project_7_bot_1f");
        place.fake.reopen(REPO, 1, "ada");
    }
    assert_eq!(place.forge().closer(1).expect("told"), Closer::Unknown);
    place.fake.close(REPO, 1, "ada");
    assert_eq!(place.forge().closer(1).expect("told"), Closer::Person("ada".into()));
    place.fake.reopen(REPO, 1, "ada");
    place.fake.close(REPO, 1, "project_7_bot_1f");
    assert_eq!(place.forge().closer(1).expect("told"), Closer::Bot("project_7_bot_1f".into()));
}

#[test]
fn a_fork_and_a_later_page_are_looked_at_as_they_are() {
    let place = usual();
    let tip = git2::Oid::from_str(&place.open().head).expect("an id");
    for n in 0..120 {
        place.fake.fork_pull(REPO, &format!("mallory{n}"), PLATFORM, "main", tip);
    }
    place.requests();
    let numbers: Vec<u64> = place.forge().pulls(PLATFORM).expect("a list").iter().map(|p| p.number).collect();
    assert_eq!(numbers, [1]);
    assert_eq!(place.requests(), [LIST.to_owned(), LIST.replace("&page=1", "&page=2")]);
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
                "the token was refused: 401 Unauthorized",
            ),
            (
                |p| p.fake.token(TOKEN, Token::fine_grained("robot").having("pull_requests", Level::Read)),
                "the token lacks the scope `api`",
            ),
            (
                |p| p.fake.token(TOKEN, Token::fine_grained("robot").having("contents", Level::Read)),
                "the token lacks the scope `api` or the role Developer",
            ),
        ],
    );
}

#[test]
fn the_token_of_a_job_is_refused_with_the_way_out() {
    let place = usual();
    let kind = kinds::named("gitlab").expect("a forge");
    let api = url::Url::parse(&format!("{}/api/v4", place.fake.server().url())).expect("a URL");
    let (git_url, token) = (place.fake.url(REPO), "glcbt-64_abcdef".to_owned().into());
    let opening =
        Opening { http: &place.http, git_url: &git_url, api: &api, token: Some(&token), signs: false };
    let Err(error) = (kind.open)(opening) else { panic!("a job's token is none") };
    let said = error.to_string();
    assert!(said.contains("the token of a job") && said.contains("the role Developer"), "{said}");
    assert!(!said.contains("abcdef") && place.requests().is_empty(), "{said}");
}

#[test]
fn a_limit_is_told_with_its_end() {
    let place = usual();
    place.fake.limit(0, jiff::Timestamp::now().as_second() + 600);
    let error = place.forge().pulls(PLATFORM).expect_err("refused");
    assert!(matches!(error, ForgeError::RateLimited { until: Some(_), .. }), "{error}");
}

#[test]
fn a_502_after_it_was_opened_is_a_success() {
    let place = usual();
    let lost = Fault::AnswerAfter(Response::text(502, "Bad Gateway"));
    place.fake.controls().rules.fault_nth("POST", "*/merge_requests", 0, 1, lost);
    assert_eq!(place.open().number, 1);
    assert_eq!(place.requests(), ["POST /merge_requests", LIST]);
    assert_eq!(place.fake.pulls(REPO).len(), 1);
    // Another run was quicker.
    assert_eq!(place.open().number, 1);
}

#[test]
fn commits_carry_the_tokens_user() {
    let place = usual();
    let me = place.forge().identity().expect("told").expect("somebody");
    assert_eq!((me.name.as_str(), me.email.as_str()), ("robot", "robot@example.org"));
    let mut token = Token::fine_grained("robot");
    token.permissions.remove("metadata");
    place.fake.token(TOKEN, token);
    assert_eq!(place.forge().identity().expect("told"), None);
}

#[test]
fn one_issue_is_found_by_its_label_and_kept() {
    let place = usual();
    let forge = place.forge();
    let issues = forge.issues().expect("GitLab has issues");
    assert_eq!(issues.labelled().expect("a list"), []);
    let opened = issues.open_issue("Linkerd", "Body").expect("opened");
    assert_eq!((opened.number, opened.open, opened.body.as_str()), (1, true, "Body"));
    issues.update_issue(&Issue { open: false, body: "New".into(), ..opened }).expect("changed");
    let all = issues.labelled().expect("a list");
    assert_eq!(all, [Issue { number: 1, open: false, body: "New".into() }]);
}

/// What is looked at, as `subject: what was seen`.
fn looked_at(place: &Place, history: History) -> Vec<String> {
    let needed = Needed {
        branches: vec![PLATFORM.to_owned()],
        history,
        labels: names(&["linkerd: routine"]),
        gates: true,
        tip: place.head(),
    };
    let row = |(subject, seen): (Subject, Seen)| {
        let said = match seen {
            Seen::Fine(what) => format!("fine, {what}"),
            Seen::Lacking(what, _) => format!("lacking, {what}"),
            Seen::Untold(what, _) => format!("untold, {what}"),
            Seen::Ruled { rule, stops, .. } => format!("rule, {rule}, stops: {stops}"),
            Seen::Failed(error) => format!("failed, {error}"),
        };
        format!("{}: {said}", subject.name())
    };
    place.forge().preflight(&needed).into_iter().map(row).filter(|row| !row.starts_with("clock")).collect()
}

#[test]
fn what_a_run_will_want_is_looked_at_without_writing() {
    let place = usual();
    place.open();
    place.requests();
    assert_eq!(
        looked_at(&place, History::Append),
        [
            "repository: fine, acme/config is there",
            "token: fine, commits are by robot <robot@example.org>",
            "permissions: fine, the scope `api`, until 2099-01-31",
            "permissions: fine, the role Developer, or one above",
            "pull-requests: fine, can be listed",
            "statuses: fine, can be read",
            "gates: fine, what is said of commits can be read",
            "labels: lacking, not in the repository: `linkerd: routine`",
        ]
    );
    assert!(place.requests().iter().all(|line| line.starts_with("GET ")));
    place.fake.ruleset(REPO, "refs/heads/uplinker/", "GitLab: You are not allowed to push code");
    let rules = |history| looked_at(&place, history).split_off(8);
    let push = "rules: rule, changes come through pull requests and their checks, stops: true";
    assert_eq!(rules(History::Append), [push]);
    assert_eq!(rules(History::Replace), [push, "rules: rule, no force-push, stops: true"]);
    let soon = r#"{"scopes":["api"],"expires_at":"2026-01-31"}"#;
    place.fault("GET", "/personal_access_tokens/self", Fault::Answer(Response::text(200, soon)));
    assert_eq!(looked_at(&place, History::Append)[2], "permissions: lacking, the token ends on 2026-01-31");
}

#[test]
fn what_is_missing_is_named_before_anything_is_written() {
    let seen = |token: Token| {
        let place = usual();
        place.open();
        place.fake.token(TOKEN, token);
        looked_at(&place, History::Append)
    };
    let robot = || Token::fine_grained("robot");
    let lacks = |what: &str| format!("permissions: failed, 127.0.0.1: the token lacks {what}");
    assert!(seen(robot().having("contents", Level::Read)).contains(&lacks("the role Developer")));
    assert!(seen(robot().having("pull_requests", Level::Read)).contains(&lacks("the scope `api`")));
    let nobody = seen(robot().without("metadata"));
    assert!(nobody.contains(&"token: lacking, the token may not ask whose it is".to_owned()), "{nobody:?}");
    let place = usual();
    place.open();
    place.fake.settings(REPO, |repo| repo.archived = true);
    assert_eq!(
        looked_at(&place, History::Append)[0],
        "repository: failed, acme/config: the repository is archived, so it is read-only"
    );
}

#[test]
fn a_text_of_others_is_no_command_and_the_fake_would_notice() {
    let place = usual();
    let act = NewPull { body: "fine\n/close\n```\n/merge\n```\n".into(), ..new_pull() };
    place.forge().open(&act).expect("opened");
    let pull = place.fake.pull(REPO, 1);
    assert!(!pull.open && pull.events.iter().any(|event| event.event == "command /close"));
    assert_eq!(pull.body.as_deref(), Some("fine\n```\n/merge\n```"));
}

#[test]
fn all_projects_of_a_group_and_the_groups_below_are_listed() {
    let place = usual();
    for n in 0..230 {
        place.fake.copy(&format!("acme/eu/mesh-{n}"), REPO);
    }
    place.fake.copy("acme-labs/mesh", REPO);
    place.fake.settings("acme/eu/mesh-7", |repo| repo.archived = true);
    place.fake.token(TOKEN, Token::fine_grained("robot"));
    place.requests();
    let names = |owner: &str| -> Vec<String> {
        place.listed(owner).expect("a list").into_iter().map(|one| one.name).collect()
    };
    let all = names("acme");
    assert_eq!((all.len(), all.first().map(String::as_str)), (230, Some(REPO)));
    assert!(!all.contains(&"acme/eu/mesh-7".to_owned()) && all.contains(&"acme/eu/mesh-229".to_owned()));
    let query = "include_subgroups=true&with_shared=false&archived=false&simple=true&order_by=id&sort=asc";
    let page = |n| format!("GET /api/v4/groups/acme/projects?{query}&per_page=100&page={n}");
    assert_eq!(place.requests(), [page(1), page(2), page(3)]);
    assert_eq!(names("acme/eu").len(), 229);
    assert!(place.requests()[0].starts_with("GET /api/v4/groups/acme%2Feu/projects?"));
    // What a person has.
    place.fake.copy("robot/mesh", REPO);
    let own = place.listed("robot").expect("a list");
    assert_eq!(own.first().map(|one| one.address.as_str()), Some(place.fake.url("robot/mesh").as_str()));
    let error = place.listed("nobody").expect_err("not there");
    assert!(matches!(error, ForgeError::NotFound(ref what) if what == "nobody"), "{error}");
}
