//! GitHub's refusals and limits, and what becomes of them.

use super::*;

fn reply(status: u16, headers: &[(&'static str, &str)], body: &str) -> Reply {
    let header = |(name, value): &(&'static str, &str)| {
        (reqwest::header::HeaderName::from_static(name), value.parse().expect("a header"))
    };
    let headers = headers.iter().map(header).collect();
    Reply { status, headers, body: body.as_bytes().to_vec(), received: Timestamp::UNIX_EPOCH }
}

fn asked() -> Asked<'static> {
    Asked {
        what: "cannot open a pull request",
        permission: "pull-requests: write",
        host: "github.com",
        repository: "acme/gitops".into(),
    }
}

fn error(status: u16, headers: &[(&'static str, &str)], body: &str) -> ForgeError {
    let reply = reply(status, headers, body);
    reply.unless_broken(&asked()).and_then(|r| r.accept(&asked())).expect_err("an error")
}

#[test]
fn each_refusal_says_who_has_to_do_what() {
    let said =
        |status, headers: &[(&'static str, &str)], body: &str| error(status, headers, body).to_string();
    assert_eq!(
        said(401, &[], r#"{"message":"Bad credentials","status":"401"}"#),
        "github.com: the token was refused: Bad credentials"
    );
    assert_eq!(
        said(403, &[], r#"{"message":"Resource not accessible by integration"}"#),
        "github.com: the token lacks the permission `pull-requests: write`"
    );
    assert_eq!(
        said(
            403,
            &[("x-accepted-github-permissions", "issues=write; pull_requests=write")],
            r#"{"message":"Resource not accessible by personal access token"}"#
        ),
        "github.com: the token lacks the permission `issues: write` or `pull-requests: write`"
    );
    assert!(matches!(
        error(
            403,
            &[],
            r#"{"message":"GitHub Actions is not permitted to create or approve pull requests."}"#
        ),
        ForgeError::PullsForbidden { compare: None }
    ));
    for status in [403, 410] {
        let archived = error(status, &[], r#"{"message":"Repository was archived so is read-only."}"#);
        assert!(matches!(archived, ForgeError::Archived(name) if name == "acme/gitops"));
    }
    assert!(matches!(error(404, &[], r#"{"message":"Not Found"}"#), ForgeError::NotFound(_)));
    assert!(matches!(error(502, &[], "<html>"), ForgeError::Temporary { .. }));
    assert!(said(307, &[], "").contains("was renamed or moved"));
    assert!(said(418, &[], "<html>").contains("status 418 without an explanation"));
}

#[test]
fn the_single_problems_are_told() {
    let told = |errors: &str| {
        error(422, &[], &format!(r#"{{"message":"Validation Failed","errors":[{errors}]}}"#)).to_string()
    };
    assert_eq!(
        told(r#"{"resource":"PullRequest","code":"custom","message":"No commits between main and x"}"#),
        "cannot open a pull request: No commits between main and x"
    );
    assert_eq!(
        told(r#"{"resource":"PullRequest","field":"base","code":"invalid"},"A bare sentence""#),
        "cannot open a pull request: `base` is invalid; A bare sentence"
    );
    assert_eq!(told(""), "cannot open a pull request: Validation Failed");
}

#[test]
fn an_error_tells_nothing_hidden_and_not_too_much() {
    let words = error(422, &[], &format!(r#"{{"message":"a\u001b[31m{}"}}"#, "b".repeat(5_000))).to_string();
    assert!(words.len() < 500 && !words.contains('\u{1b}'));
}

#[test]
fn only_some_errors_may_hide_a_pull_request() {
    assert!(may_hide_a_pull(&error(502, &[], "")));
    assert!(may_hide_a_pull(&error(
        422,
        &[],
        r#"{"message":"Validation Failed","errors":[{"message":"A pull request already exists for acme:x."}]}"#
    )));
    assert!(!may_hide_a_pull(&error(422, &[], r#"{"message":"Validation Failed"}"#)));
    assert!(!may_hide_a_pull(&error(401, &[], "{}")));
}

#[test]
fn rate_limits_say_how_long() {
    let wait =
        |status, headers: &[(&'static str, &str)], body: &str| reply(status, headers, body).rate_limit();
    let date = ("date", "Tue, 25 Aug 2026 00:00:00 GMT");
    let primary = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1787616030"), date];
    let words = r#"{"message":"API rate limit exceeded for user ID 1."}"#;
    assert_eq!(wait(403, &primary, words), Some(Duration::from_secs(31)), "until the reset and a second");
    assert_eq!(wait(429, &[("retry-after", "7")], "{}"), Some(Duration::from_secs(7)));
    let secondary = r#"{"message":"You have exceeded a secondary rate limit. Please wait."}"#;
    assert_eq!(wait(403, &[("retry-after", "5")], secondary), Some(Duration::from_secs(5)));
    assert_eq!(wait(403, &[], secondary), Some(Duration::from_secs(61)), "too long to wait for");
    assert_eq!(
        wait(403, &primary[..2], words),
        Some(Duration::from_secs(1_787_616_031)),
        "by our own clock where the server tells none"
    );
    assert_eq!(
        wait(
            403,
            &[("x-ratelimit-remaining", "0")],
            r#"{"message":"Resource not accessible by integration"}"#
        ),
        None
    );
    assert_eq!(wait(200, &[("x-ratelimit-remaining", "0")], "[]"), None);
    let until = match reply(403, &primary, words).limited("github.com") {
        ForgeError::RateLimited { until, .. } => until,
        other => panic!("{other}"),
    };
    assert_eq!(until.map(|t| t.as_second()), Some(1_787_616_030));
}

#[test]
fn what_is_not_json_is_told() {
    let page =
        reply(200, &[], "  <!DOCTYPE html>").json::<Vec<u8>>(&asked()).expect_err("an error").to_string();
    assert!(page.contains("web page"), "{page}");
    let other = reply(200, &[], "{}").json::<Vec<u8>>(&asked()).expect_err("an error").to_string();
    assert!(other.contains("something else than expected"), "{other}");
}
