//! The fake GitHub: its words, lists, rights, counters, and the shape of its answers.

use super::*;

#[test]
fn a_pull_request_lives_through_the_api() {
    let (github, repo) = github();
    let number = open(&github);
    let one = format!("/repos/acme/config/pulls/{number}");
    let read = call(&github, "secret", "GET", &one, &Value::Null).as_json();
    assert_eq!(read["head"]["sha"], json!(repo.tip(BRANCH).expect("a tip").to_string()));
    assert_eq!(read["head"]["repo"]["full_name"], json!(REPO));
    assert_eq!(
        (&read["user"]["type"], &read["user"]["login"]),
        (&json!("Bot"), &json!("github-actions[bot]"))
    );

    let labels = json!({"labels": ["linkerd"]});
    let at = format!("/repos/acme/config/issues/{number}");
    let refused = call(&github, "secret", "POST", &format!("{at}/labels"), &labels);
    let words = "403 You do not have permission to create labels on this repository.";
    assert!(message(&refused).starts_with(words), "{}", message(&refused));
    github.labels(REPO, &["Linkerd"]);
    let added = call(&github, "secret", "POST", &format!("{at}/labels"), &labels);
    assert_eq!((added.status, &added.as_json()[0]["name"]), (200, &json!("Linkerd")), "whatever the case");
    let assignees = json!({"assignees": ["ada", "stranger"]});
    github.settings(REPO, |repo| {
        repo.collaborators.insert("ada".to_owned());
    });
    let assigned = call(&github, "secret", "POST", &format!("{at}/assignees"), &assignees);
    assert_eq!((assigned.status, assigned.as_json()["assignees"].as_array().map(Vec::len)), (201, Some(1)));
    let reviewers = json!({"reviewers": ["ada", "stranger"]});
    let refused = call(&github, "secret", "POST", &format!("{one}/requested_reviewers"), &reviewers);
    assert!(message(&refused).starts_with("422 Reviews may only be requested from collaborators."));
    assert!(github.pull(REPO, number).reviewers.is_empty(), "all or none");
    let ada = json!({"reviewers": ["ada"]});
    assert_eq!(call(&github, "secret", "POST", &format!("{one}/requested_reviewers"), &ada).status, 201);

    let tip = repo.tip(BRANCH).expect("a tip");
    let status = json!({"state": "success", "context": "uplinker/verify", "description": "fine"});
    let set = call(&github, "secret", "POST", &format!("/repos/acme/config/statuses/{tip}"), &status);
    assert_eq!((set.status, github.statuses(REPO, tip).len()), (201, 1));

    let patch = json!({"title": "Moved", "body": "new"});
    assert_eq!(call(&github, "secret", "PATCH", &one, &patch).as_json()["title"], json!("Moved"));
    let newer = repo.commit(BRANCH, &BEN, "More", &[put("a.txt", "three\n")]);
    assert_eq!(github.pull(REPO, number).head_sha, newer, "the head follows the branch");
    assert_eq!(repo.refs()[&format!("refs/pull/{number}/head")], newer);

    call(&github, "secret", "PATCH", &one, &json!({"state": "closed"}));
    let events = call(&github, "secret", "GET", &format!("{at}/events"), &Value::Null).as_json();
    let last = events.as_array().and_then(|all| all.last()).expect("events").clone();
    assert_eq!((&last["event"], &last["actor"]["type"]), (&json!("closed"), &json!("Bot")));
}

#[test]
fn refusals_have_the_words_of_github() {
    let (github, repo) = github();
    let create = |body: &Value| message(&call(&github, "secret", "POST", "/repos/acme/config/pulls", body));
    let wanted = json!({"title": "Move", "head": BRANCH, "base": "main"});
    let with = |field: &str, value: Value| {
        let mut body = wanted.clone();
        body[field] = value;
        body
    };
    github.settings(REPO, |repo| repo.actions_may_open = false);
    assert_eq!(create(&wanted), "403 GitHub Actions is not permitted to create or approve pull requests.");
    github.settings(REPO, |repo| (repo.actions_may_open, repo.drafts) = (true, false));
    let drafts = "422 Draft pull requests are not supported in this repository.";
    assert_eq!(create(&with("draft", json!(true))), drafts);
    let head = r#"422 Validation Failed {"resource":"PullRequest","field":"head","code":"invalid"}"#;
    assert_eq!(create(&with("head", json!("gone"))), head);
    repo.branch("same", "main");
    let same = "422 Validation Failed No commits between main and same";
    assert_eq!(create(&with("head", json!("same"))), same);
    let long = "422 Validation Failed body is too long (maximum is 65536 characters)";
    assert_eq!(create(&with("body", json!("x".repeat(65_537)))), long);
    open(&github);
    let twice = format!("422 Validation Failed A pull request already exists for acme:{BRANCH}.");
    assert_eq!(create(&wanted), twice);
    github.settings(REPO, |repo| repo.archived = true);
    assert_eq!(create(&wanted), "403 Repository was archived so is read-only.");
}

#[test]
fn lists_are_filtered_paged_and_conditional() {
    let (github, repo) = github();
    for n in 0..5 {
        let branch = format!("b{n}");
        repo.branch(&branch, "main");
        repo.commit(&branch, &ADA, "x", &[put("x", &n.to_string())]);
        github.open_pull(REPO, "ada", &branch, "main", "x");
    }
    let ours = open(&github);
    let fork = github.fork_pull(REPO, "mallory", BRANCH, "main", repo.tip(BRANCH).expect("a tip"));
    let list = |query: &str| {
        let path = format!("/repos/acme/config/pulls?{query}");
        let json = call(&github, "secret", "GET", &path, &Value::Null).as_json();
        let all = json.as_array().expect("a list").clone();
        all.iter().filter_map(|p| p["number"].as_u64()).collect::<Vec<_>>()
    };
    assert_eq!(list(&format!("head=acme:{BRANCH}&state=all")), [ours]);
    assert_eq!(list(&format!("head=mallory:{BRANCH}")), [fork]);
    assert_eq!(list(&format!("head={BRANCH}")).len(), 7, "a head without owner is ignored");
    github.close(REPO, ours, "ada");
    assert_eq!(list(&format!("head=acme:{BRANCH}")), [0; 0], "open ones only");
    assert_eq!(list("state=closed&base=main"), [ours]);
    assert_eq!(list("state=all&base=other"), [0; 0]);

    let first = call(&github, "secret", "GET", "/repos/acme/config/pulls?state=all&per_page=3", &Value::Null);
    let link = first.header("link").expect("more pages").to_owned();
    assert!(link.contains("rel=\"next\"") && link.contains("/repositories/"), "{link}");
    let next = link.split(['<', '>']).nth(1).expect("an address");
    let next = next.strip_prefix(&github.api()).expect("the same root");
    let second = call(&github, "secret", "GET", next, &Value::Null);
    let numbers = |r: &Response| {
        let json = r.as_json();
        json.as_array().expect("a list").iter().filter_map(|p| p["number"].as_u64()).collect::<Vec<_>>()
    };
    assert_eq!((numbers(&first), numbers(&second)), (vec![7, 6, 5], vec![4, 3, 2]));

    let etag = first.header("etag").expect("an ETag").to_owned();
    let path = "/repos/acme/config/pulls?state=all&per_page=3";
    let same = call_with(&github, "secret", "GET", path, &Value::Null, &[("If-None-Match", &etag)]);
    assert_eq!((same.status, same.body.len()), (304, 0));
    github.reopen(REPO, ours, "ada");
    let changed = call_with(&github, "secret", "GET", path, &Value::Null, &[("If-None-Match", &etag)]);
    assert_eq!(changed.status, 200);
}

#[test]
fn tokens_see_and_do_what_they_may() {
    let (github, _repo) = github();
    github.token("old", Token::actions().expired());
    github.token("blind", Token::actions().only("acme/other"));
    github.token("reader", Token::actions().having("pull_requests", Level::Read));
    github.token("person", Token::fine_grained("ada").without("statuses"));
    let get = |token: &str, path: &str| message(&call(&github, token, "GET", path, &Value::Null));
    assert_eq!(get("wrong", "/repos/acme/config"), "401 Bad credentials");
    assert_eq!(get("old", "/repos/acme/config"), "401 Bad credentials");
    assert_eq!(get("blind", "/repos/acme/config/pulls"), "404 Not Found");
    assert_eq!(get("secret", "/user"), "403 Resource not accessible by integration");
    assert_eq!(call(&github, "person", "GET", "/user", &Value::Null).as_json()["login"], json!("ada"));
    let body = json!({"title": "Move", "head": BRANCH, "base": "main"});
    let refused = call(&github, "reader", "POST", "/repos/acme/config/pulls", &body);
    assert_eq!(message(&refused), "403 Resource not accessible by integration");
    assert_eq!(refused.header("x-accepted-github-permissions"), Some("pull_requests=write"));
    let status =
        call(&github, "person", "POST", "/repos/acme/config/statuses/x", &json!({"state": "success"}));
    assert_eq!(message(&status), "403 Resource not accessible by personal access token");

    github.limit(1, 1_800_000_000);
    assert_eq!(call(&github, "secret", "GET", "/repos/acme/config", &Value::Null).status, 200);
    let over = call(&github, "secret", "GET", "/repos/acme/config", &Value::Null);
    assert_eq!(message(&over), "403 API rate limit exceeded for installation ID 4242.");
    assert_eq!(over.header("x-ratelimit-remaining"), Some("0"));
    assert_eq!(over.header("x-ratelimit-reset"), Some("1800000000"));
}

#[test]
fn git_and_api_share_tokens_rules_and_the_write_counter() {
    let (github, repo) = github();
    github.token("reader", Token::actions().having("contents", Level::Read));
    let url = github.url(REPO);
    let clone = clone_with_commit(&with_token(&url, "secret"));
    let push = |token: &str, branch: &str| {
        git(&clone, &["push", &with_token(&url, token), &format!("HEAD:refs/heads/{branch}")])
    };
    assert!(says(&push("reader", "x")).contains("denied to github-actions[bot]"));
    assert!(says(&push("wrong", "x")).contains("Invalid username or token"));
    github.ruleset(REPO, "refs/heads/release/", "Cannot create ref due to creations being restricted.");
    let ruled = says(&push("secret", "release/x"));
    assert!(ruled.contains("GH013: Repository rule violations found for refs/heads/release/x."), "{ruled}");
    assert!(ruled.contains("- Cannot create ref due to creations being restricted."), "{ruled}");
    must(&push("secret", "x"));
    let before = github.controls().writes.count();
    open(&github);
    assert_eq!(github.controls().writes.count(), before + 1);

    let opened = github.pull(REPO, 1);
    let force = ["push", "--force", &with_token(&url, "secret"), &format!("HEAD:refs/heads/{BRANCH}")];
    must(&git(&clone, &force));
    assert_ne!(github.pull(REPO, 1).head_sha, opened.head_sha);
    assert_eq!(github.events(REPO, 1), ["head_ref_force_pushed"]);
    assert!(repo.tip("x").is_some());
    github.settings(REPO, |repo| repo.archived = true);
    assert!(says(&push("secret", "y")).contains("archived so it is read-only"));
}

#[test]
fn people_merge_close_rename_and_delete() {
    let (github, repo) = github();
    let first = open(&github);
    repo.commit("main", &ADA, "Meanwhile", &[put("b.txt", "two\n")]);
    let merge = github.update_branch(REPO, first, &ADA);
    assert_eq!(github.pull(REPO, first).head_sha, merge);
    github.tick(REPO, first, "hand back");
    assert_eq!(
        github.pull(REPO, first).body.as_deref(),
        Some("- [x] hand back\r\n"),
        "as a browser sends it"
    );
    github.merge(REPO, first, Merge::Squash, "ada", false);
    let merged = github.pull(REPO, first);
    assert!(!merged.open && merged.merged_at.is_some() && repo.tip(BRANCH).is_some());
    assert_eq!(repo.read("main", "a.txt").as_deref(), Some("two\n"));

    repo.set_tip(BRANCH, repo.tip("main").expect("a tip"));
    repo.commit(BRANCH, &BEN, "Move again", &[put("a.txt", "three\n")]);
    let second = open(&github);
    github.rename_branch(REPO, "main", "trunk", "ada");
    assert_eq!(github.pull(REPO, second).base_ref, "trunk");
    assert!(github.pull(REPO, second).open);
    github.delete_branch(REPO, BRANCH, "ada");
    assert_eq!(github.events(REPO, second).last().map(String::as_str), Some("head_ref_deleted"));
    assert!(!github.pull(REPO, second).open);
    let reopen = json!({"state": "open"});
    let at = format!("/repos/acme/config/pulls/{second}");
    let refused = message(&call(&github, "secret", "PATCH", &at, &reopen));
    assert!(refused.ends_with("The uplinker/default/platform branch has been deleted."), "{refused}");

    repo.branch("work", "trunk");
    repo.branch("base", "trunk");
    repo.commit("work", &BEN, "Work", &[put("c.txt", "c\n")]);
    let third = github.open_pull(REPO, "ben", "work", "base", "Work");
    github.delete_branch(REPO, "base", "ada");
    assert_eq!(github.events(REPO, third), ["base_ref_deleted", "closed"]);
    let fourth = github.open_pull(REPO, "ben", "work", "trunk", "Work");
    repo.set_tip("trunk", repo.tip("work").expect("a tip"));
    assert_eq!(github.events(REPO, fourth), ["merged", "closed"], "pushed into the base by hand");
}

#[test]
fn writes_are_counted_and_broken_by_number() {
    let (github, _repo) = github();
    let address = github.server().address();
    let headers =
        [("User-Agent", CHECK), ("Authorization", "Bearer secret"), ("Content-Type", "application/json")];
    let body = json!({"title": "Move", "head": BRANCH, "base": "main"}).to_string();
    let post = || send(address, "POST", "/api/v3/repos/acme/config/pulls", &headers, body.as_bytes());

    let mut sleeper = std::process::Command::new("sleep").arg("60").spawn().expect("sleep runs");
    assert!(sleeper.try_wait().expect("a status").is_none());
    github.controls().writes.victim().set(sleeper);
    github.controls().writes.plan(1, WriteFault::KillBefore);
    assert!(post().is_err());
    assert!(github.pulls(REPO).is_empty(), "not applied");
    let ended = github.controls().writes.victim().ended().expect("a status");
    assert!(ended.is_some_and(|status| !status.success()), "killed");

    github.controls().writes.plan(1, WriteFault::LoseAnswer);
    assert!(post().is_err());
    assert_eq!(github.pulls(REPO).len(), 1, "applied");
    github.close(REPO, 1, "ada");
    github.controls().writes.plan(1, WriteFault::BadGatewayAfter);
    assert_eq!(post().expect("an answer").status, 502);
    assert_eq!(github.pulls(REPO).len(), 2, "applied");

    let at = "/api/v3/repos/acme/config/pulls/2";
    github.controls().rules.fault("GET", "*/pulls/2", Fault::Answer(github::json::secondary_limit(429, 7)));
    let limited = send(address, "GET", at, &headers, b"").expect("an answer");
    assert_eq!((limited.status, limited.header("retry-after")), (429, Some("7")));
    let seen = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let flag = Arc::clone(&seen);
    github.controls().rules.before("PATCH", "/api/v3/repos/*/pulls/*", move |request| {
        flag.store(request.body == b"{}", std::sync::atomic::Ordering::SeqCst);
    });
    assert_eq!(send(address, "PATCH", at, &headers, b"{}").expect("an answer").status, 200);
    assert!(seen.load(std::sync::atomic::Ordering::SeqCst));
    assert_eq!(github.controls().log.count("PATCH", "*/pulls/*"), 1);
}

#[test]
fn answers_have_the_shape_that_a_client_library_insists_on() {
    let (github, _repo) = github();
    let number = open(&github);
    github.settings(REPO, |repo| {
        repo.collaborators.insert("ada".to_owned());
        repo.teams.insert("platform".to_owned());
    });
    let one = format!("/repos/acme/config/pulls/{number}");
    let asked = json!({"reviewers": ["ada"], "team_reviewers": ["platform"]});
    let refused = call(&github, "secret", "POST", &format!("{one}/requested_reviewers"), &asked);
    let words = "422 Validation Failed \"Could not resolve to a node with the global id of 'T_8'.\"";
    assert_eq!(message(&refused), words, "a workflow's own token sees no team");
    github.token("secret", Token::app("uplinker").having("members", Level::Read));
    let asked = call(&github, "secret", "POST", &format!("{one}/requested_reviewers"), &asked);
    github.labels(REPO, &["a b"]);
    let labels = json!({"labels": ["a b"]});
    let labelled = call(&github, "secret", "POST", "/repos/acme/config/issues/1/labels", &labels);
    let labelled: Vec<octocrab::models::Label> = serde_json::from_slice(&labelled.body).expect("labels");
    assert_eq!(labelled[0].name, "a b");
    let read = call(&github, "secret", "GET", &one, &Value::Null);
    for body in [&asked.body, &read.body] {
        let pull: octocrab::models::pulls::PullRequest =
            serde_json::from_slice(body).expect("a pull request");
        assert_eq!((pull.number, pull.head.ref_field.as_str()), (number, BRANCH));
    }
    github.close(REPO, number, "renovate[bot]");
    let events = call(&github, "secret", "GET", "/repos/acme/config/issues/1/events", &Value::Null);
    let events: Vec<octocrab::models::IssueEvent> = serde_json::from_slice(&events.body).expect("events");
    let last = events.last().expect("an event");
    assert_eq!(last.actor.r#type, "Bot");
    let repo = call(&github, "secret", "GET", "/repos/acme/config", &Value::Null);
    let repo: octocrab::models::Repository = serde_json::from_slice(&repo.body).expect("a repository");
    assert_eq!(repo.default_branch.as_deref(), Some("main"));
}
