//! What GitHub refuses by its own rules, and what it leaves out of its lists.

use super::*;

#[test]
fn a_label_that_cannot_be_made_is_told_and_the_others_are_added() {
    let place = usual();
    place.fake.labels(REPO, &["Linkerd"]);
    let pull = place.open();
    let extras = Extras { labels: names(&["linkerd", "linkerd: blocked"]), ..Extras::default() };
    let lines = place.forge().add_labels_and_reviewers(&pull, &extras).expect("decorated");
    assert_eq!(
        lines,
        [
            "the label `linkerd: blocked` was not added: it is not in the repository, and making one takes the permission \
          `issues: write`; make it by hand, or give the token that permission"
        ]
    );
    assert_eq!(place.fake.pull(REPO, 1).labels, ["Linkerd"], "labels are the same in any case");
}

#[test]
fn a_team_that_the_token_may_not_see_keeps_nobody_else_from_being_asked() {
    for (token, asked) in [
        (Token::actions(), false),
        (Token::actions().having("members", Level::Read), false),
        (Token::app("uplinker"), false),
        (Token::app("uplinker").having("members", Level::Read), true),
        (Token::fine_grained("ben"), false),
        (Token::classic("ben"), true),
    ] {
        let place = Place::new(Flavor::GitHub, token.clone());
        place.fake.settings(REPO, |repo| {
            repo.collaborators.insert("ada".to_owned());
            repo.teams.insert("mesh".to_owned());
        });
        let pull = place.open();
        let extras = Extras { reviewers: names(&["ada", "acme/mesh"]), ..Extras::default() };
        let lines = place.forge().add_labels_and_reviewers(&pull, &extras).expect("decorated");
        let seen = place.fake.pull(REPO, 1);
        assert_eq!((seen.reviewers, !seen.teams.is_empty()), (names(&["ada"]), asked), "{token:?}");
        let refused = "`acme/mesh` was not asked for a review: the token may not see the organisation's teams; a \
                       workflow's own token never may, an App's with `members: read`";
        assert_eq!(lines, if asked { Vec::new() } else { names(&[refused]) }, "{token:?}");
    }
}

#[test]
fn a_commit_takes_a_thousand_statuses() {
    let place = usual();
    let tip = place.open().head;
    let status = Status { success: true, description: "fine".into() };
    place.forge().status(commit(&tip), &status, None).expect("set");
    place.fake.settings(REPO, |repo| {
        let first = repo.statuses[0].clone();
        repo.statuses.resize(1000, first);
    });
    let error = place.forge().status(commit(&tip), &status, None).expect_err("full");
    assert!(error.is_refusal() && error.to_string().contains("maximum number of statuses"), "{error}");
}

#[test]
fn a_short_page_is_not_the_last_one() {
    let place = usual();
    for _ in 0..150 {
        let number = place.fake.open_pull(REPO, "ada", PLATFORM, "main", "again");
        place.fake.close(REPO, number, "ada");
    }
    place.fake.settings(REPO, |repo| repo.hidden.extend(100..140));
    let numbers: Vec<u64> = place.forge().pulls(PLATFORM).expect("a list").iter().map(|p| p.number).collect();
    assert_eq!((numbers.len(), numbers.last()), (110, Some(&1)), "{numbers:?}");
    assert_eq!(place.requests(), [list(), list().replace("&page=1", "&page=2")]);
}

#[test]
fn a_pull_request_of_a_deleted_fork_is_nobodys_we_know() {
    let place = usual();
    let pull = place.open();
    let tip = git2::Oid::from_str(&pull.head).expect("an id");
    let forked = place.fake.fork_pull(REPO, "mallory", PLATFORM, "main", tip);
    place.fake.change(REPO, forked, |pull| {
        pull.head_owner = "acme".to_owned();
        pull.head_repo = None;
    });
    let numbers = |pulls: Vec<PullRequest>| pulls.iter().map(|p| p.number).collect::<Vec<_>>();
    assert_eq!(numbers(place.forge().pulls(PLATFORM).expect("a list")), [1]);
    let open = place.forge().open_pulls(&[PLATFORM.to_owned()]).expect("a list").expect("one page");
    assert_eq!(numbers(open[PLATFORM].clone()), [1]);
    assert_eq!(place.forge().pull(forked).expect("read").number, forked);
}

#[test]
fn a_renamed_repository_is_told_by_its_new_name() {
    let place = usual();
    place.open();
    place.fake.rename(REPO, "other/mesh");
    place.requests();
    let patch = PullPatch { title: Some("Other".into()), ..PullPatch::default() };
    let forge = place.forge();
    for error in [forge.pulls(PLATFORM).err(), forge.update(1, &patch).err(), forge.open(&new_pull()).err()] {
        assert_eq!(error.expect("refused").to_string(), "acme/config was renamed or moved to other/mesh");
    }
    assert_eq!(place.fake.pull("other/mesh", 1).title, "Linkerd", "nothing was written there");
    let asked = place.requests();
    let writes: Vec<&String> = asked.iter().filter(|line| !line.starts_with("GET ")).collect();
    assert_eq!(writes, ["PATCH /pulls/1", "POST /pulls"], "each once");
}
