//! Tests of the support itself: the servers answer real clients, and the faults really happen.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::{process::Output, sync::Arc, time::Duration};

use serde_json::{Value, json};
use support::{
    controls::{Fault, WriteFault},
    feed::{self, Feed, release},
    git_server::{Access, GitServer, Refusal, hermetic_git},
    github::{self, GitHub, Level, Merge, Token},
    http::{Response, send},
    process::{self, Home},
    repo::{ADA, BEN, BareRepo, put},
};
use tempfile::TempDir;

/// Runs the real `git` in a folder.
fn git(folder: &TempDir, arguments: &[&str]) -> Output {
    let output = hermetic_git(folder.path())
        .current_dir(folder.path())
        .args(["-c", "user.name=Cleo", "-c", "user.email=cleo@example.com"])
        .args(arguments)
        .output();
    output.expect("git runs")
}

fn says(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn must(output: &Output) -> String {
    assert!(output.status.success(), "{}", says(output));
    says(output)
}

/// A clone with one commit that is not yet pushed.
fn clone_with_commit(url: &str) -> TempDir {
    let folder = TempDir::new().expect("a folder");
    must(&git(&folder, &["clone", "--quiet", "--depth", "1", url, "."]));
    std::fs::write(folder.path().join("new.txt"), "new\n").expect("a file");
    must(&git(&folder, &["add", "."]));
    must(&git(&folder, &["commit", "--quiet", "-m", "Add a file"]));
    folder
}

fn with_token(url: &str, token: &str) -> String {
    url.replace("http://", &format!("http://x-access-token:{token}@"))
}

#[test]
fn a_shallow_clone_and_a_push_work_over_http() {
    let server = GitServer::start();
    let repo = server.repo("acme/config", &[("a.txt", "one\n"), ("b/c.txt", "two\n")]);
    repo.commit("main", &ADA, "Second", &[put("a.txt", "three\n")]);
    let clone = clone_with_commit(&server.url("acme/config"));
    assert_eq!(must(&git(&clone, &["rev-list", "--count", "HEAD"])).trim(), "2", "depth 1 and ours");

    must(&git(&clone, &["push", "--quiet", "origin", "HEAD:refs/heads/uplinker/default/platform"]));

    assert_eq!(repo.read("uplinker/default/platform", "new.txt").as_deref(), Some("new\n"));
    assert_eq!(repo.changed("main", "uplinker/default/platform"), ["new.txt"]);
    assert_eq!(server.controls().writes.count(), 1);
    let log = server.controls().log.entries();
    let push = log.iter().find(|e| e.target.ends_with("/git-receive-pack") && e.method == "POST");
    let push = push.expect("the push is in the log");
    assert_eq!((push.status, push.user.as_deref()), (Some(200), Some("anonymous")));
    assert!(push.bytes_in > 100 && push.bytes_out > 10, "{push:?}");
}

#[test]
fn a_big_push_comes_in_chunks_and_compressed_requests_are_understood() {
    let server = GitServer::start();
    let repo = server.repo("acme/config", &[("a.txt", "one\n")]);
    let clone = clone_with_commit(&server.url("acme/config"));
    // Random-looking bytes, so that the pack is larger than git's buffer and is sent in chunks.
    let mut state = 1u64;
    let noise = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    });
    let noise: Vec<u8> = noise.take(3_000_000).collect();
    std::fs::write(clone.path().join("noise.bin"), &noise).expect("a file");
    must(&git(&clone, &["add", "."]));
    must(&git(&clone, &["commit", "--quiet", "-m", "Add noise"]));
    must(&git(&clone, &["push", "--quiet", "origin", "HEAD:refs/heads/big"]));
    assert_eq!(repo.files("big")["noise.bin"], noise);

    // Many refs make git compress its request for objects.
    for n in 0..200 {
        repo.branch(&format!("b{n}"), "big");
        repo.commit(&format!("b{n}"), &BEN, "Go on", &[put("n.txt", &n.to_string())]);
    }
    must(&git(&clone, &["fetch", "--quiet", "origin", "+refs/heads/*:refs/remotes/origin/*"]));
    assert_eq!(must(&git(&clone, &["show", "origin/b199:n.txt"])).trim(), "199");
}

#[test]
fn tokens_decide_who_may_read_and_push() {
    let server = GitServer::start();
    server.repo("acme/config", &[("a.txt", "one\n")]);
    server.gate().allow("good", "bot", Access::Write);
    server.gate().allow("reader", "reader", Access::Read);
    let url = server.url("acme/config");

    let folder = TempDir::new().expect("a folder");
    let anonymous = git(&folder, &["ls-remote", &url]);
    assert!(says(&anonymous).contains("terminal prompts disabled"), "{}", says(&anonymous));
    let wrong = git(&folder, &["ls-remote", &with_token(&url, "wrong")]);
    assert!(says(&wrong).contains("Authentication failed"), "{}", says(&wrong));
    let gone = git(&folder, &["ls-remote", &with_token(&server.url("acme/gone"), "good")]);
    assert!(says(&gone).contains("not found"), "{}", says(&gone));

    let clone = clone_with_commit(&with_token(&url, "reader"));
    let refused = git(&clone, &["push", "origin", "HEAD:refs/heads/x"]);
    assert!(says(&refused).contains("403"), "{}", says(&refused));
    must(&git(&clone, &["push", "--quiet", &with_token(&url, "good"), "HEAD:refs/heads/x"]));
    let users: Vec<_> = server.controls().log.entries().into_iter().filter_map(|e| e.user).collect();
    assert!(users.contains(&"bot".to_owned()) && users.contains(&"reader".to_owned()), "{users:?}");
}

#[test]
fn hooks_and_rules_refuse_a_push_with_their_words() {
    let server = GitServer::start();
    let repo = server.repo("acme/config", &[("a.txt", "one\n")]);
    let clone = clone_with_commit(&server.url("acme/config"));

    repo.install_hook("pre-receive", "echo 'no deploys on Friday' >&2; exit 1");
    let hook = git(&clone, &["push", "origin", "HEAD:refs/heads/x"]);
    assert!(says(&hook).contains("remote: no deploys on Friday"), "{}", says(&hook));
    assert!(says(&hook).contains("pre-receive hook declined"), "{}", says(&hook));
    repo.remove_hook("pre-receive");

    let refusal = Refusal {
        words: vec!["error: GH013: Repository rule violations found for refs/heads/up/x.".to_owned()],
        reason: "push declined due to repository rule violations".to_owned(),
    };
    server.gate().refuse_pushes("refs/heads/up/", refusal);
    let rule = git(&clone, &["push", "origin", "HEAD:refs/heads/up/x"]);
    assert!(says(&rule).contains("remote: error: GH013: Repository rule"), "{}", says(&rule));
    assert!(says(&rule).contains("(push declined due to repository rule violations)"), "{}", says(&rule));
    assert!(!rule.status.success());
    assert_eq!(repo.tip("up/x"), None);
    must(&git(&clone, &["push", "--quiet", "origin", "HEAD:refs/heads/other"]));
}

#[test]
fn a_branch_can_move_just_before_a_push_arrives() {
    let server = GitServer::start();
    let repo = server.repo("acme/config", &[("a.txt", "one\n")]);
    repo.branch("x", "main");
    let clone = clone_with_commit(&server.url("acme/config"));
    let theirs = Arc::clone(&repo);
    server.controls().rules.before("POST", "*/git-receive-pack", move |_| {
        theirs.commit("x", &BEN, "Faster", &[put("ben.txt", "ben\n")]);
    });
    let late = git(&clone, &["push", "origin", "HEAD:refs/heads/x"]);
    assert!(!late.status.success(), "{}", says(&late));
    assert_eq!(repo.message("x"), "Faster", "what was pushed first stays");
}

#[test]
fn faults_cut_connections_before_and_after_the_effect() {
    let server = GitServer::start();
    let repo = server.repo("acme/config", &[("a.txt", "one\n")]);
    let clone = clone_with_commit(&server.url("acme/config"));
    let push = |branch: &str| git(&clone, &["push", "origin", &format!("HEAD:refs/heads/{branch}")]);
    let rules = &server.controls().rules;

    for (branch, fault, applied) in [
        ("upload", Fault::CutUpload(100), false),
        ("before", Fault::DropBefore, false),
        ("after", Fault::DropAfter, true),
        ("answer", Fault::CutAnswer(10), true),
        ("gateway", Fault::AnswerAfter(Response::text(502, "Bad Gateway")), true),
        ("refused", Fault::Answer(Response::text(502, "Bad Gateway")), false),
    ] {
        // Twice: curl sends a request again when a connection that it reuses breaks without an answer.
        rules.fault_nth("POST", "*/git-receive-pack", 0, 2, fault);
        let output = push(branch);
        rules.clear();
        assert!(!output.status.success(), "{branch}: {}", says(&output));
        assert_eq!(repo.tip(branch).is_some(), applied, "{branch}");
    }
    server.controls().writes.plan(1, WriteFault::LoseAnswer);
    assert!(!push("lost").status.success());
    assert!(repo.tip("lost").is_some());
    must(&push("healthy"));
}

#[test]
fn a_server_can_fall_silent_in_mid_pack_and_still_ends_with_the_test() {
    let server = GitServer::start();
    server.repo("acme/config", &[("a.txt", "one\n")]);
    server.controls().rules.fault("POST", "*/git-upload-pack", Fault::Silent(20));
    let folder = TempDir::new().expect("a folder");
    let mut child = hermetic_git(folder.path())
        .args(["clone", "--quiet", &server.url("acme/config"), "clone"])
        .current_dir(folder.path())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("git runs");
    std::thread::sleep(Duration::from_millis(700));
    assert!(child.try_wait().expect("a status").is_none(), "the client still waits");
    drop(server);
    assert!(!child.wait().expect("an end").success());
}

#[test]
fn repositories_are_reproducible_and_can_do_what_a_forge_does() {
    let make = |folder: &TempDir| {
        let repo = BareRepo::with_files(folder.path().join("r.git"), "trunk", &[("a", "1\n"), ("b", "1\n")]);
        repo.branch("feature", "trunk");
        repo.commit("feature", &BEN, "Change a", &[put("a", "2\n")]);
        repo.commit("trunk", &ADA, "Change b", &[put("b", "2\n")]);
        repo
    };
    let (one, two) = (TempDir::new().expect("a folder"), TempDir::new().expect("a folder"));
    let (repo, same) = (make(&one), make(&two));
    assert_eq!(repo.refs(), same.refs());

    let before = repo.tip("feature").expect("a tip");
    repo.merge("feature", "trunk", &BEN, "Merge branch 'trunk' into feature").expect("no conflict");
    assert_eq!(repo.parents("feature"), [before, repo.tip("trunk").expect("a tip")]);
    assert_eq!(repo.read("feature", "b").as_deref(), Some("2\n"));
    same.amend("feature", &BEN, None, &[put("a", "3\n")]);
    assert!(!same.contains("feature", before), "amended");

    repo.squash("trunk", "feature", &ADA, "Change a (#1)").expect("no conflict");
    assert_eq!((repo.parents("trunk").len(), repo.ahead("feature", "trunk")), (1, 1));
    same.rebase("trunk", "feature", &ADA).expect("no conflict");
    assert_eq!(same.message("trunk"), "Change a");
    same.rename_branch("trunk", "main");
    assert_eq!(same.default_branch(), "main");
    repo.commit("feature", &BEN, "Clash", &[put("a", "x\n")]);
    repo.commit("trunk", &ADA, "Clash too", &[put("a", "y\n")]);
    assert!(repo.merge("feature", "trunk", &BEN, "No").is_err());
}

/// Calls the API as a client would.
fn call(github: &GitHub, token: &str, method: &str, path: &str, body: &Value) -> Response {
    call_with(github, token, method, path, body, &[])
}

fn call_with(
    github: &GitHub,
    token: &str,
    method: &str,
    path: &str,
    body: &Value,
    more: &[(&str, &str)],
) -> Response {
    let authorization = format!("Bearer {token}");
    let mut headers = vec![
        ("User-Agent", "support-check"),
        ("Authorization", authorization.as_str()),
        ("Content-Type", "application/json"),
    ];
    headers.extend_from_slice(more);
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let target = format!("/api/v3{path}");
    send(github.server().address(), method, &target, &headers, body.as_bytes()).expect("an answer")
}

const REPO: &str = "acme/config";
const BRANCH: &str = "uplinker/default/platform";

/// A host with one repository, one pushed branch of ours, and a workflow's token.
fn github() -> (GitHub, Arc<BareRepo>) {
    let github = GitHub::start();
    let repo = github.repo(REPO, &[("a.txt", "one\n"), ("b.txt", "one\n")]);
    github.token("secret", Token::actions());
    repo.branch(BRANCH, "main");
    repo.commit(BRANCH, &BEN, "Move", &[put("a.txt", "two\n")]);
    (github, repo)
}

fn open(github: &GitHub) -> u64 {
    let body = json!({"title": "Move", "head": BRANCH, "base": "main", "body": "- [ ] hand back\n"});
    let response = call(github, "secret", "POST", "/repos/acme/config/pulls", &body);
    assert_eq!(response.status, 201, "{}", response.as_text());
    response.as_json()["number"].as_u64().expect("a number")
}

fn message(response: &Response) -> String {
    let json = response.as_json();
    let first = &json["errors"][0];
    format!(
        "{} {} {}",
        response.status,
        json["message"].as_str().unwrap_or_default(),
        match first {
            Value::Null => String::new(),
            error => error["message"].as_str().map_or_else(|| error.to_string(), str::to_owned),
        }
    )
    .trim()
    .to_owned()
}

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
    assert_eq!(call(&github, "secret", "POST", &format!("{at}/labels"), &labels).status, 200);
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
    assert_eq!(github.pull(REPO, first).body.as_deref(), Some("- [x] hand back\n"));
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
    let headers = [
        ("User-Agent", "support-check"),
        ("Authorization", "Bearer secret"),
        ("Content-Type", "application/json"),
    ];
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
fn the_feed_lists_releases_in_three_places() {
    let feed = Feed::start(&[
        release("edge-26.8.2", "2026-08-10T10:00:00Z"),
        release("edge-26.8.10", "2026-08-28T10:00:00Z").charts(&["linkerd-crds"]),
        release("edge-26.8.3", "2026-08-20T10:00:00Z").undated(),
    ]);
    let get = |address: &str, more: &[(&str, &str)]| {
        let target = address.strip_prefix(&feed.server().url()).expect("an address of the feed");
        send(feed.server().address(), "GET", target, more, b"").expect("an answer")
    };
    assert_eq!(get(&feed.versioncheck(), &[]).as_json(), json!({"edge": "edge-26.8.10"}));
    let index = get(&feed.charts(), &[]);
    let parsed: Value = serde_yaml::from_slice(&index.body).expect("YAML");
    assert_eq!(parsed["entries"]["linkerd-crds"][0]["version"], json!("2026.8.10"));
    assert_eq!(parsed["entries"]["linkerd-crds"].as_array().map(Vec::len), Some(3));
    assert_eq!(parsed["entries"]["linkerd-viz"][0]["appVersion"], json!("edge-26.8.3"));
    let url = parsed["entries"]["linkerd-viz"][0]["urls"][0].as_str().expect("a url").to_owned();
    assert!(url.starts_with("http://127.0.0.1:") && url.ends_with("/edge/linkerd-viz-2026.8.3.tgz"), "{url}");
    let first = get(&format!("{}?per_page=1", feed.releases()), &[]);
    assert_eq!(first.as_json()[0]["tag_name"], json!("edge-26.8.10"));
    let next = first.header("link").and_then(|l| l.split(['<', '>']).nth(1)).expect("a next page");
    assert_eq!(get(next, &[]).as_json()[0]["tag_name"], json!("edge-26.8.2"), "edge-26.8.3 is undated");

    let etag = index.header("etag").expect("an ETag");
    assert_eq!(get(&feed.charts(), &[("If-None-Match", etag)]).status, 304);
    feed.publish(release("edge-26.9.1", "2026-09-04T10:00:00Z"));
    assert_eq!(get(&feed.charts(), &[("If-None-Match", etag)]).status, 200);
    feed.break_always("/edge/*", feed::html());
    assert!(get(&feed.charts(), &[]).as_text().contains("<html>"));
    feed.controls().rules.clear();
    feed.controls().rules.fault("GET", "/edge/*", Fault::CutAnswer(50));
    assert!(send(feed.server().address(), "GET", "/edge/index.yaml", &[], b"").is_err(), "cut");
    let versions = feed.controls().log.count("GET", "/version.json");
    assert_eq!(versions, 1);
}

#[test]
fn the_program_runs_in_a_scrubbed_environment() {
    let home = Home::new();
    let done = home.run(["--version"]).done();
    assert!(!done.was_killed(), "{done}");
    let text = process::scrub(
        "http://127.0.0.1:4242/x at 0123456789abcdef0123456789abcdef01234567, /tmp/a",
        &[("/tmp/a", "[A]")],
    );
    assert_eq!(text, "http://[HOST]/x at [ID], [A]");
    assert_eq!(process::scrub("decade 2026", &[]), "decade 2026");
}

/// Callbacks of libgit2 that offer one token.
fn offering<'a>(token: &'a str, refused: &'a mut Vec<String>) -> git2::RemoteCallbacks<'a> {
    let mut callbacks = git2::RemoteCallbacks::new();
    let mut asked = 0;
    callbacks.credentials(move |_, _, _| {
        asked += 1;
        if asked > 1 {
            return Err(git2::Error::from_str("the token was refused"));
        }
        git2::Cred::userpass_plaintext("x-access-token", token)
    });
    callbacks.push_update_reference(move |name, status| {
        refused.extend(status.map(|reason| format!("{name}: {reason}")));
        Ok(())
    });
    callbacks
}

#[test]
fn libgit2_fetches_shallow_and_pushes_as_git_does() {
    let (github, repo) = github();
    repo.commit("main", &ADA, "Second", &[put("a.txt", "1\n")]);
    let folder = TempDir::new().expect("a folder");
    let local = git2::Repository::init_bare(folder.path()).expect("a repository");
    let mut remote = local.remote_anonymous(&github.url(REPO)).expect("a remote");
    let mut refused = Vec::new();

    let mut fetch = |token: &str| {
        let mut none = Vec::new();
        let mut options = git2::FetchOptions::new();
        options.depth(1).remote_callbacks(offering(token, &mut none));
        remote.fetch(&["+refs/heads/main:refs/remotes/main"], Some(&mut options), None)
    };
    assert!(fetch("wrong").is_err());
    fetch("secret").expect("a fetch");
    let tip = local.refname_to_id("refs/remotes/main").expect("the tip");
    assert_eq!(Some(tip), repo.tip("main"));
    assert!(local.is_shallow(), "one commit only");

    let tip = local.find_commit(tip).expect("a commit");
    let who = git2::Signature::new("Bot", "bot@example.com", &git2::Time::new(0, 0)).expect("a signature");
    let made = local.commit(None, &who, &who, "Ours", &tip.tree().expect("its tree"), &[&tip]);
    let made = made.expect("a commit");
    local.reference("refs/heads/ours", made, true, "").expect("a ref");
    let push = |target: &str, refused: &mut Vec<String>| {
        let mut remote = local.remote_anonymous(&github.url(REPO)).expect("a remote");
        let mut options = git2::PushOptions::new();
        options.remote_callbacks(offering("secret", refused));
        remote.push(&[format!("+refs/heads/ours:refs/heads/{target}")], Some(&mut options))
    };
    push("up/x", &mut refused).expect("a push");
    assert_eq!((repo.tip("up/x"), refused.len()), (Some(made), 0));

    github.ruleset(REPO, "refs/heads/ruled", "Commits must have verified signatures.");
    push("ruled", &mut refused).expect("libgit2 tells of it in the callback alone");
    assert_eq!(refused, ["refs/heads/ruled: push declined due to repository rule violations"]);
    refused.clear();
    repo.install_hook("pre-receive", "exit 1");
    push("hooked", &mut refused).expect("libgit2 tells of it in the callback alone");
    assert_eq!(refused, ["refs/heads/hooked: pre-receive hook declined"]);
    repo.remove_hook("pre-receive");

    let writes = &github.controls().writes;
    writes.plan(1, WriteFault::LoseAnswer);
    assert!(push("lost", &mut refused).is_err());
    assert_eq!(repo.tip("lost"), Some(made));
    github.controls().rules.fault("POST", "*/git-receive-pack", Fault::CutUpload(40));
    assert!(push("cut", &mut refused).is_err());
    assert_eq!(repo.tip("cut"), None);
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
    let asked = call(&github, "secret", "POST", &format!("{one}/requested_reviewers"), &asked);
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
