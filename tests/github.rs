//! The GitHub adapter against a fake that answers as GitHub does: what it asks for, and what it makes of refusals,
//! limits and broken connections.

mod late;
mod refused;

use std::time::Duration;

use crate::support::{
    controls::Fault,
    flavor::Flavor,
    github::{GitHub as Fake, Level, Merge, Token},
    http::Response,
    place::{Place, commit, names, new_pull},
    scene::{PLATFORM, REPO, TOKEN},
};
use secrecy::SecretString;
use uplinker::{
    propose::forge::{
        Closer, Extras, ForgeError, NewPull, PullPatch, PullRequest, PullState, Status,
        github::{Address, GitHub},
    },
    repo::CommitId,
};

fn usual() -> Place {
    Place::new(Flavor::GitHub, Token::actions())
}

fn list() -> String {
    let head = format!("acme%3A{}", PLATFORM.replace('/', "%2F"));
    format!("GET /pulls?state=all&head={head}&sort=created&direction=desc&per_page=100&page=1")
}

fn answer(status: u16, text: &str) -> Fault {
    Fault::Answer(Response::text(status, text))
}

#[test]
fn a_pull_request_lives_its_life() {
    let place = usual();
    let forge = place.forge();
    assert_eq!(forge.pulls(PLATFORM).expect("a list"), []);
    let opened = forge.open(&new_pull()).expect("opened");
    assert_eq!((opened.number, opened.state, opened.body.as_str()), (1, PullState::Open, "Body"));
    let patch = PullPatch { title: Some("Other".into()), body: Some("New".into()), state: None };
    forge.update(1, &patch).expect("changed");
    let read = forge.pull(1).expect("read");
    assert_eq!((read.title.as_str(), read.body.as_str(), read.base.as_str()), ("Other", "New", "main"));
    assert_eq!(read.head, place.fake.pull(REPO, 1).head_sha.to_string());
    let close = PullPatch { state: Some(PullState::Closed), ..PullPatch::default() };
    forge.update(1, &close).expect("closed");
    let listed = forge.pulls(PLATFORM).expect("a list");
    assert_eq!(listed.first().map(|p| p.state), Some(PullState::Closed));
    assert_eq!(
        place.requests(),
        [
            list(),
            "POST /pulls".into(),
            "PATCH /pulls/1".into(),
            "GET /pulls/1".into(),
            "PATCH /pulls/1".into(),
            list()
        ]
    );
}

#[test]
fn merged_ones_are_told_from_closed_ones() {
    let place = usual();
    place.open();
    place.fake.merge(REPO, 1, Merge::Squash, "ada", false);
    let merged = place.forge().pulls(PLATFORM).expect("a list").remove(0);
    assert_eq!(merged.state, PullState::Merged);
    assert!(merged.closed_at.is_some());
}

#[test]
fn only_our_own_branch_counts() {
    let place = usual();
    let tip = git2::Oid::from_str(&place.open().head).expect("an id");
    place.fake.fork_pull(REPO, "mallory", PLATFORM, "main", tip);
    place.fake.fork_pull(REPO, "acme", "other", "main", tip);
    // A fork in the same organization has the same owner.
    let forked = place.fake.fork_pull(REPO, "acme", PLATFORM, "main", tip);
    place.fake.change(REPO, forked, |pull| pull.head_repo = Some("acme/fleet-of-ada".to_owned()));
    let numbers: Vec<u64> = place.forge().pulls(PLATFORM).expect("a list").iter().map(|p| p.number).collect();
    assert_eq!(numbers, [1]);
}

/// The most bytes of one answer that are read.
const LARGEST: usize = 32 << 20;

#[test]
fn an_answer_is_read_up_to_its_ceiling() {
    let place = usual();
    let padded = |bytes: usize| {
        let body = format!("[{}]", " ".repeat(bytes - 2)).into_bytes();
        Fault::Answer(
            Response { status: 200, body, ..Response::default() }.with("Content-Type", "application/json"),
        )
    };
    place.fault("GET", "/pulls?*", padded(LARGEST));
    assert_eq!(place.forge().pulls(PLATFORM).expect("a list"), []);
    // More is an error, as often as it is sent, and not the part that was read.
    place.fake.controls().rules.fault_nth("GET", "*/pulls?*", 0, usize::MAX, padded(LARGEST + 1));
    let error = place.forge().pulls(PLATFORM).expect_err("too large");
    assert!(
        matches!(&error, ForgeError::Temporary { reason, .. } if reason.contains("more than")),
        "{error}"
    );
}

#[test]
fn long_lists_are_read_to_their_end() {
    let place = usual();
    for _ in 0..101 {
        let number = place.fake.open_pull(REPO, "ada", PLATFORM, "main", "again");
        place.fake.close(REPO, number, "ada");
    }
    let pulls = place.forge().pulls(PLATFORM).expect("a list");
    assert_eq!((pulls.len(), pulls.first().map(|p| p.number)), (101, Some(101)), "newest first");
    assert_eq!(place.requests(), [list(), list().replace("&page=1", "&page=2")]);
}

#[test]
fn what_is_open_of_many_branches_is_one_request() {
    let place = usual();
    let pull = place.open();
    let tip = git2::Oid::from_str(&pull.head).expect("an id");
    place.fake.fork_pull(REPO, "mallory", PLATFORM, "main", tip);
    place.fake.open_pull(REPO, "ada", PLATFORM, "main", "closed again");
    place.fake.close(REPO, 3, "ada");
    place.requests();
    let branches = [PLATFORM.to_owned(), "uplinker/default/data-plane".to_owned()];
    let open = || place.forge().open_pulls(&branches).expect("a list");
    assert_eq!(
        open(),
        Some([(PLATFORM.to_owned(), vec![pull])].into()),
        "none of a fork, none that is closed"
    );
    assert_eq!(place.requests(), ["GET /pulls?state=open&per_page=100&page=1"]);
    for n in 0..98 {
        place.fake.fork_pull(REPO, "mallory", &format!("topic-{n}"), "main", tip);
    }
    assert!(open().is_some(), "a full page may be all");
    place.fake.fork_pull(REPO, "mallory", "one-more", "main", tip);
    assert_eq!(open(), None);
    place.fake.settings(REPO, |repo| repo.hidden.extend(50..60));
    assert_eq!(open(), None, "nor is a short page all where another follows");
}

#[test]
fn a_list_that_did_not_change_is_not_sent_again() {
    let place = usual();
    place.open();
    let forge = place.forge();
    let first = forge.pulls(PLATFORM).expect("a list");
    place.fake.controls().log.take();
    assert_eq!(forge.pulls(PLATFORM).expect("a list"), first);
    let entries = place.fake.controls().log.take();
    assert_eq!(entries.iter().map(|e| (e.status, e.bytes_out)).collect::<Vec<_>>(), [(Some(304), 0)]);
    place.fake.edit_body(REPO, 1, |_| "edited".into());
    assert_eq!(forge.pulls(PLATFORM).expect("a list").remove(0).body, "edited");
}

#[test]
fn who_closed_it_is_told() {
    let place = usual();
    place.open();
    place.fake.close(REPO, 1, "ada");
    assert_eq!(place.forge().closer(1).expect("told"), Closer::Person("ada".into()));
    place.fake.reopen(REPO, 1, "ada");
    place.fake.close(REPO, 1, "stale[bot]");
    assert_eq!(place.forge().closer(1).expect("told"), Closer::Bot("stale[bot]".into()));
    place.fake.reopen(REPO, 1, "ada");
    place.fake.delete_branch(REPO, "main", "ada");
    assert_eq!(place.forge().closer(1).expect("told"), Closer::BaseGone);
}

#[test]
fn opening_twice_is_opening_once() {
    let place = usual();
    let first = place.open();
    place.requests();
    let second = place.forge().open(&new_pull()).expect("the one that is there");
    assert_eq!(second.number, first.number);
    assert_eq!(place.requests(), ["POST /pulls".to_owned(), list()]);
}

#[test]
fn a_502_after_it_was_opened_is_a_success() {
    for fault in [
        Fault::AnswerAfter(Response::text(502, "<html>Bad Gateway</html>")),
        Fault::DropAfter,
        Fault::CutAnswer(20),
    ] {
        let place = usual();
        place.fault("POST", "/pulls", fault.clone());
        assert_eq!(place.forge().open(&new_pull()).expect("found").number, 1, "{fault:?}");
        assert_eq!(place.requests(), ["POST /pulls".to_owned(), list()], "{fault:?}: not sent twice");
    }
}

#[test]
fn a_write_that_failed_is_not_repeated() {
    for fault in [answer(502, "<html>"), answer(500, ""), Fault::DropBefore] {
        let place = usual();
        place.fault("POST", "/pulls", fault.clone());
        let error = place.forge().open(&new_pull()).expect_err("not opened");
        assert!(matches!(error, ForgeError::Temporary { .. }), "{error}");
        assert_eq!(place.fake.pulls(REPO).len(), 0);
        assert_eq!(place.fake.controls().log.count("POST", "*/pulls"), 1, "{fault:?}");
        place.open();
        place.fault("PATCH", "/pulls/1", fault.clone());
        let patch = PullPatch { body: Some("x".into()), ..PullPatch::default() };
        assert!(matches!(place.forge().update(1, &patch), Err(ForgeError::Temporary { .. })));
        assert_eq!(place.fake.controls().log.count("PATCH", "*"), 1, "{fault:?}");
    }
}

#[test]
fn a_read_that_failed_is_repeated() {
    for fault in [answer(502, "<html>"), Fault::DropBefore, Fault::CutAnswer(1)] {
        let place = usual();
        place.fake.controls().rules.fault_nth("GET", "*/pulls?*", 0, 2, fault.clone());
        assert_eq!(place.forge().pulls(PLATFORM).expect("in the end"), [], "{fault:?}");
        assert_eq!(place.requests().len(), 3);
        place.fake.controls().rules.fault_nth("GET", "*/pulls?*", 0, 9, fault.clone());
        let error = place.forge().pulls(PLATFORM).expect_err("given up");
        assert!(matches!(error, ForgeError::Temporary { .. }), "{error}");
        assert_eq!(place.requests().len(), 3, "{fault:?}");
    }
}

#[test]
fn each_missing_permission_is_named() {
    for token in [Token::actions(), Token::fine_grained("ada")] {
        let place = Place::new(Flavor::GitHub, token.without("pull_requests"));
        let error = place.forge().open(&new_pull()).expect_err("refused").to_string();
        assert_eq!(error, "127.0.0.1: the token lacks the permission `pull-requests: write`");
    }
    let mut reader = Token::actions();
    reader.permissions.insert("pull_requests".into(), Level::Read);
    let place = Place::new(Flavor::GitHub, reader);
    assert!(place.forge().pulls(PLATFORM).is_ok());
    assert!(matches!(place.forge().open(&new_pull()), Err(ForgeError::Permission { .. })));
}

#[test]
fn a_status_that_may_not_be_set_is_a_refusal() {
    let place = usual();
    let tip = place.open().head;
    let id = commit(&tip);
    let status = Status { success: false, description: "x".repeat(200) };
    place.forge().status(id, &status, Some("https://example.org/pull/1")).expect("set");
    let set = place.fake.statuses(REPO, git2::Oid::from_str(&tip).expect("an id")).remove(0);
    assert_eq!((set.context.as_str(), set.state.as_str()), ("uplinker/verify", "failure"));
    let place = Place::new(Flavor::GitHub, Token::actions().without("statuses"));
    let id = commit(&place.open().head);
    let refused = place.forge().status(id, &status, None).expect_err("refused");
    assert!(refused.is_refusal() && refused.to_string().contains("`statuses: write`"), "{refused}");
    let unknown = usual().forge().status(CommitId([9; 20]), &status, None).expect_err("not pushed yet");
    assert!(matches!(unknown, ForgeError::Temporary { .. }), "{unknown}");
}

#[test]
fn the_setting_that_forbids_pull_requests_is_told_with_the_way_out() {
    let place = usual();
    place.fake.settings(REPO, |repo| repo.actions_may_open = false);
    match place.forge().open(&new_pull()) {
        Err(ForgeError::PullsForbidden { compare: Some(page) }) => {
            assert!(
                page.ends_with("/acme/config/compare/main...uplinker/default/platform?expand=1"),
                "{page}"
            );
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_workflows_own_token_leaves_checks_waiting() {
    for (token, lines) in [(Token::actions(), 1), (Token::app("uplinker"), 0), (Token::classic("ada"), 0)] {
        let place = Place::new(Flavor::GitHub, token);
        let forge = place.forge();
        let opened = forge.open(&new_pull()).expect("opened");
        assert_eq!(forge.remarks(&opened).len(), lines);
    }
}

#[test]
fn an_archived_or_hidden_repository_is_told() {
    let place = usual();
    place.fake.settings(REPO, |repo| repo.archived = true);
    assert!(matches!(place.forge().open(&new_pull()), Err(ForgeError::Archived(_))));
    let mut blind = Token::actions();
    blind.repos = Some(std::collections::BTreeSet::new());
    let place = Place::new(Flavor::GitHub, blind);
    assert!(matches!(place.forge().pulls(PLATFORM), Err(ForgeError::NotFound(_))));
    let place = usual();
    match place.forge_with("wrong").pulls(PLATFORM) {
        Err(ForgeError::Auth { reason, .. }) => assert_eq!(reason, "Bad credentials"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_draft_falls_back_where_there_are_none() {
    let place = usual();
    place.fake.settings(REPO, |repo| repo.drafts = false);
    let draft = NewPull { draft: true, ..new_pull() };
    assert!(!place.forge().open(&draft).expect("opened").draft);
    let place = usual();
    place.fake.settings(REPO, |repo| repo.drafts = true);
    assert!(place.forge().open(&draft).expect("opened").draft);
}

#[test]
fn one_who_is_refused_does_not_keep_the_others() {
    let token = Token::app("uplinker").having("issues", Level::Write).having("members", Level::Read);
    let place = Place::new(Flavor::GitHub, token);
    place.fake.settings(REPO, |repo| {
        repo.collaborators.extend(["ada".to_owned(), "ben".to_owned()]);
        repo.teams.insert("mesh".into());
    });
    let pull = place.open();
    let names = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
    let extras = Extras {
        labels: names(&["linkerd", "", "linkerd: blocked"]),
        reviewers: names(&["ada", "stranger", "acme/mesh"]),
        assignees: names(&["ben", "stranger"]),
    };
    let lines = place.forge().add_labels_and_reviewers(&pull, &extras).expect("decorated");
    let seen = place.fake.pull(REPO, 1);
    assert_eq!(seen.labels, ["linkerd", "linkerd: blocked"]);
    assert_eq!(
        (seen.reviewers, seen.teams, seen.assignees),
        (names(&["ada"]), names(&["mesh"]), names(&["ben"]))
    );
    assert_eq!(lines.len(), 3, "{lines:#?}");
    assert!(lines[1].starts_with("`stranger` was not asked for a review: Reviews may only"));
    place.forge().unlabel(1, "linkerd: blocked").expect("removed");
    place.forge().unlabel(1, "linkerd: blocked").expect("gone already");
    assert_eq!(place.fake.pull(REPO, 1).labels, ["linkerd"]);
}

#[test]
fn commits_carry_the_tokens_user() {
    let me =
        |token: Token| Place::new(Flavor::GitHub, token).forge().identity().expect("told").expect("somebody");
    let actions = me(Token::actions());
    assert_eq!(actions.name, "github-actions[bot]");
    assert_eq!(actions.email, "41898282+github-actions[bot]@users.noreply.127.0.0.1");
    let app = me(Token::app("mesh-robot"));
    assert_eq!(app.name, "mesh-robot[bot]");
    assert!(app.email.ends_with("+mesh-robot[bot]@users.noreply.127.0.0.1"), "{}", app.email);
    let person = me(Token::classic("ada"));
    assert_eq!(person.name, "ada Example");
    assert!(person.email.ends_with("+ada@users.noreply.127.0.0.1"), "{}", person.email);
}

#[test]
fn a_short_limit_is_waited_for_and_a_long_one_is_told() {
    let place = usual();
    let words = r#"{"message":"You have exceeded a secondary rate limit."}"#;
    let short = Response::text(403, words).with("Retry-After", "1");
    place.fault("POST", "/pulls", Fault::Answer(short));
    let start = std::time::Instant::now();
    assert_eq!(place.open().number, 1, "a refused request was not done, so it may be sent again");
    assert!(start.elapsed() >= Duration::from_secs(1));
    let long = Response::text(429, words).with("Retry-After", "600");
    place.fault("PATCH", "/pulls/1", Fault::Answer(long));
    let patch = PullPatch { body: Some("x".into()), ..PullPatch::default() };
    let error = place.forge().update(1, &patch).expect_err("limited");
    assert!(matches!(error, ForgeError::RateLimited { until: Some(_), .. }), "{error}");
    let _ = place.requests();
    assert!(matches!(place.forge().pulls(PLATFORM), Err(ForgeError::RateLimited { .. })));
    assert_eq!(place.requests(), [""; 0], "whoever uses the token keeps to it");
    let place = usual();
    let far = jiff::Timestamp::now().as_second() + 3_000;
    place.fake.limit(0, far);
    match place.forge().pulls(PLATFORM) {
        Err(ForgeError::RateLimited { until: Some(until), .. }) => {
            assert!((until.as_second() - far).abs() <= 2)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn after_the_last_request_of_a_limit_none_is_sent() {
    let place = usual();
    place.fake.limit(1, jiff::Timestamp::now().as_second() + 3_000);
    assert_eq!(place.forge().pulls(PLATFORM).expect("the last"), []);
    let _ = place.requests();
    assert!(matches!(place.forge().pulls(PLATFORM), Err(ForgeError::RateLimited { until: Some(_), .. })));
    assert_eq!(place.requests(), [""; 0]);
}

#[test]
fn a_limit_that_does_not_end_is_given_up() {
    let place = usual();
    let again = Response::text(429, "{}").with("Retry-After", "0");
    place.fake.controls().rules.fault_nth("GET", "*/pulls?*", 0, 9, Fault::Answer(again));
    assert!(matches!(place.forge().pulls(PLATFORM), Err(ForgeError::RateLimited { .. })));
    assert_eq!(place.requests().len(), 2);
}

#[test]
fn a_web_page_in_place_of_json_is_told() {
    let place = usual();
    place.fault("GET", "/pulls?*", answer(200, "<html><body>Sign in</body></html>"));
    let error = place.forge().pulls(PLATFORM).expect_err("a page").to_string();
    assert!(error.contains("web page"), "{error}");
}

#[test]
fn the_token_is_in_no_error() {
    let place = usual();
    place.fake.controls().rules.fault_nth("*", "*", 0, 9, Fault::DropBefore);
    let error = place.forge().pulls(PLATFORM).expect_err("broken");
    assert!(!format!("{error} {error:?}").contains(TOKEN));
    let address = Address::of(&place.fake.url(REPO), None).expect("an address");
    for token in ["", " ", "with space", "with\nline", "ümlaut"] {
        let error = GitHub::new(&place.http, address.clone(), Some(&SecretString::from(token.to_owned())));
        assert!(matches!(error.err(), Some(ForgeError::Auth { .. })), "{token:?}");
    }
}

#[test]
fn a_renamed_repository_is_told_and_no_redirect_is_followed() {
    let place = usual();
    let elsewhere = Fake::start();
    let away = elsewhere.url(REPO).replace(REPO, &format!("api/v3/repos/{REPO}/pulls"));
    for method in ["GET", "POST", "PATCH"] {
        let answer = Response::text(307, "{}").with("Location", &away);
        place.fault(method, "/pulls*", Fault::Answer(answer));
    }
    let forge = place.forge();
    let patch = PullPatch { title: Some("Other".into()), ..PullPatch::default() };
    for error in [forge.pulls(PLATFORM).err(), forge.open(&new_pull()).err(), forge.update(1, &patch).err()] {
        let error = error.expect("refused").to_string();
        assert_eq!(error, "acme/config was renamed or moved");
    }
    assert!(elsewhere.controls().log.take().is_empty(), "nothing was asked there");
}
