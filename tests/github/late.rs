//! GitHub's API shows late what Git was told: branches, commits, lists, single pull requests.

use std::time::{Duration, Instant};

use super::*;

/// Lets the API show, for so many requests, what there was before the branch was pushed.
fn late(requests: u32) -> Place {
    let place = usual();
    place.fake.settings(REPO, |repo| {
        repo.lag_for(requests);
        repo.lag.as_mut().expect("a lag").branches.remove(PLATFORM);
    });
    place
}

#[test]
fn a_branch_that_shows_late_is_waited_for() {
    let place = late(1);
    assert_eq!(place.open().number, 1);
    assert_eq!(place.requests(), ["POST /pulls", "POST /pulls"]);
}

#[test]
fn a_branch_that_does_not_show_may_show_later() {
    let place = late(9);
    let start = Instant::now();
    let error = place.forge().open(&new_pull()).expect_err("not seen");
    assert!(matches!(error, ForgeError::Temporary { .. }), "{error}");
    let words = "127.0.0.1: cannot open a pull request: GitHub does not see yet what was pushed";
    assert_eq!(error.to_string(), words);
    let asked = place.requests();
    assert_eq!(asked[..4], ["POST /pulls"; 4], "a refused request was not done, so it may be sent again");
    assert!(start.elapsed() < Duration::from_secs(15) && asked.len() <= 5, "{asked:?}");
    assert!(place.fake.pulls(REPO).is_empty());
}

#[test]
fn a_branch_that_still_shows_where_it_was_is_waited_for() {
    let place = usual();
    place.fake.settings(REPO, |repo| {
        repo.lag_for(1);
        let main = repo.bare.tip("main").expect("a tip");
        repo.lag.as_mut().expect("a lag").branches.insert(PLATFORM.to_owned(), main);
    });
    assert_eq!(place.open().number, 1, "`No commits between` passes");
}

#[test]
fn a_pull_request_that_is_listed_late_is_found() {
    let place = usual();
    place.fake.settings(REPO, |repo| repo.lag_for(4));
    let first = place.open();
    place.requests();
    // The list of the next run is stale: it opens a second one, and is told that there is one.
    assert_eq!(place.forge().pulls(PLATFORM).expect("a list"), []);
    assert_eq!(place.forge().open(&new_pull()).expect("the one that is there").number, first.number);
    assert_eq!(place.requests(), [list(), "POST /pulls".into(), list(), list()]);
}

#[test]
fn a_pull_request_that_is_never_listed_may_be_later() {
    let place = usual();
    place.fake.settings(REPO, |repo| repo.lag_for(99));
    place.open();
    let error = place.forge().open(&new_pull()).expect_err("not listed");
    assert!(matches!(error, ForgeError::Temporary { .. }), "{error}");
    assert!(error.to_string().contains("does not list it yet"), "{error}");
    assert_eq!(place.fake.controls().log.count("POST", "*/pulls"), 2, "one for each");
}

#[test]
fn a_commit_that_shows_late_gets_its_status() {
    let place = usual();
    let id = commit(&place.open().head);
    place.fake.settings(REPO, |repo| {
        repo.lag_for(1);
        repo.lag.as_mut().expect("a lag").branches.remove(PLATFORM);
    });
    place.requests();
    let status = Status { success: true, description: "fine".into() };
    place.forge().status(id, &status, None).expect("set");
    assert_eq!(place.requests().len(), 2);
}

#[test]
fn a_pull_request_that_is_not_found_right_after_it_was_opened_is_read_again() {
    let place = usual();
    place.open();
    let missing = || answer(404, r#"{"message":"Not Found","status":"404"}"#);
    place.fake.controls().rules.fault_nth("GET", "*/pulls/1", 0, 2, missing());
    assert_eq!(place.forge().pull(1).expect("read").number, 1);
    place.fake.controls().rules.fault_nth("GET", "*/pulls/1", 0, 9, missing());
    assert!(matches!(place.forge().pull(1), Err(ForgeError::Temporary { .. })));
}

#[test]
fn what_was_opened_too_quickly_waits() {
    let place = usual();
    place.fake.settings(REPO, |repo| repo.pace = Some(0));
    let error = place.forge().open(&new_pull()).expect_err("too quick");
    assert!(matches!(error, ForgeError::RateLimited { until: None, .. }), "{error}");
    assert_eq!(place.requests(), ["POST /pulls"], "no second try makes it slower");
}

#[test]
fn labels_of_a_pull_request_that_does_not_show_yet_are_added() {
    let place = usual();
    place.fake.labels(REPO, &["linkerd"]);
    let pull = place.open();
    let missing = || answer(404, r#"{"message":"Not Found","status":"404"}"#);
    let extras = Extras { labels: vec!["linkerd".into()], ..Extras::default() };
    place.fake.controls().rules.fault_nth("POST", "*/labels", 0, 2, missing());
    assert!(place.forge().add_labels_and_reviewers(&pull, &extras).expect("decorated").is_empty());
    assert_eq!(place.fake.pull(REPO, 1).labels, ["linkerd"]);
    // What stays so is one line.
    place.fake.controls().rules.fault_nth("POST", "*/labels", 0, 9, missing());
    let lines = place.forge().add_labels_and_reviewers(&pull, &extras).expect("decorated");
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].starts_with("the label `linkerd` was not added: acme/config: not found"), "{lines:?}");
}
