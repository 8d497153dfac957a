//! Tests of the support itself: the servers answer real clients, and the faults really happen.

mod git_server;
mod github_api;

use std::{process::Output, sync::Arc, time::Duration};

use crate::support::{
    controls::{Fault, WriteFault},
    feed::{self, Feed, release},
    git_server::{Access, GitServer, Refusal, hermetic_git},
    github::{self, GitHub, Level, Merge, Token},
    http::{Response, send},
    process::{self, Home},
    record::CHECK,
    repo::{ADA, BEN, BareRepo, put},
};
use serde_json::{Value, json};
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
        ("User-Agent", CHECK),
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
