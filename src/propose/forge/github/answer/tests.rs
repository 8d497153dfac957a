//! GitHub's refusals and limits, and what becomes of them.

use std::time::Duration;

use super::*;

fn asked() -> Asked<'static> {
    Asked {
        what: "cannot open a pull request",
        permission: "pull-requests: write",
        grant: |name| Grant::Permission(name.to_owned()),
        host: "github.com",
        forge: "GitHub",
        repository: "acme/gitops",
    }
}

fn refused(reply: Reply) -> Refused {
    match reply.unless_broken(&asked()) {
        Ok(reply) if (300..400).contains(&reply.status) => reply.moved(&asked()),
        Ok(reply) => super::refused(&reply, &asked()),
        Err(error) => error.into(),
    }
}

fn error(status: u16, headers: &[(&'static str, &str)], body: &str) -> ForgeError {
    let reply = Reply::of(status, headers, body);
    refused(reply).error
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
        "github.com: cannot open a pull request: GitHub does not see yet what was pushed"
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
fn what_can_be_done_about_is_known_by_githubs_words() {
    let known = |status, body: &str| refused(Reply::of(status, &[], body)).known;
    let of = |errors: &str| known(422, &format!(r#"{{"message":"Validation Failed","errors":{errors}}}"#));
    for (errors, expected) in [
        (r#"[{"resource":"PullRequest","field":"head","code":"invalid"}]"#, Some(Known::Behind)),
        (r#"[{"code":"custom","message":"No commits between main and x"}]"#, Some(Known::Behind)),
        (
            r#"[{"code":"custom","message":"A pull request already exists for acme:x."}]"#,
            Some(Known::AlreadyOpen),
        ),
        (r#"[{"code":"custom","message":"was submitted too quickly"}]"#, Some(Known::TooSoon)),
        (r#"["Could not resolve to a node with the global id of 'T_kwDO'."]"#, Some(Known::HiddenTeam)),
        (r#"{"code":"custom","message":"was submitted too quickly"}"#, Some(Known::TooSoon)),
        (r#"[{"resource":"PullRequest","field":"base","code":"invalid"}]"#, None),
        (r#"[17, {"message":"other"}]"#, None),
        ("[]", None),
    ] {
        assert_eq!(of(errors), expected, "{errors}");
    }
    let label = r#"{"message":"You do not have permission to create labels on this repository.",
                    "errors":[{"resource":"Repository","field":"label","code":"unauthorized"}]}"#;
    assert_eq!(known(403, label), Some(Known::NoSuchLabel));
    assert_eq!(known(422, r#"{"message":"No commit found for SHA: 1"}"#), Some(Known::Behind));
    assert!(matches!(
        error(422, &[], r#"{"errors":"was submitted too quickly"}"#),
        ForgeError::RateLimited { .. }
    ));
}

#[test]
fn a_barrier_is_no_wrong_token() {
    let saml = r#"{"message":"Resource protected by organization SAML enforcement. You must grant your Personal Access token access to this organization."}"#;
    assert!(matches!(error(403, &[], saml), ForgeError::Barred { barrier: SINGLE_SIGN_ON, .. }));
    let other = error(403, &[], r#"{"message":"Repository access blocked"}"#);
    assert_eq!(other.to_string(), "github.com: cannot open a pull request: Repository access blocked");
    assert!(other.is_refusal() && !error(401, &[], "{}").is_refusal() && !error(502, &[], "").is_refusal());
}

#[test]
fn a_new_name_is_found_by_its_id() {
    let moved = |place: &str| {
        Reply::of(301, &[("location", place)], "{}").moved(&asked()).place.as_deref().and_then(repository_in)
    };
    assert_eq!(moved("https://api.github.com/repositories/1267945395/pulls?state=all"), Some(1_267_945_395));
    assert_eq!(moved("https://git.corp.example/api/v3/repositories/7"), Some(7));
    assert_eq!(moved("https://api.github.com/repos/a/b"), None);
}

#[test]
fn the_links_say_whether_a_list_goes_on() {
    let next = |link: &str| Reply::of(200, &[("link", link)], "[]").has_next();
    assert!(next(r#"<https://h/x?page=1>; rel="prev", <https://h/x?page=3>; rel="next""#));
    assert!(!next(r#"<https://h/x?page=1>; rel="prev", <https://h/x?page=1>; rel="first""#));
    assert!(!Reply::of(200, &[], "[]").has_next());
}

#[test]
fn rate_limits_say_how_long() {
    let wait =
        |status, headers: &[(&'static str, &str)], body: &str| Reply::of(status, headers, body).rate_limit();
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
    let until = match Reply::of(403, &primary, words).limited("github.com") {
        ForgeError::RateLimited { until, .. } => until,
        other => panic!("{other}"),
    };
    assert_eq!(until.map(|t| t.as_second()), Some(1_787_616_030));
}

#[test]
fn what_is_not_json_is_told() {
    let page =
        Reply::of(200, &[], "  <!DOCTYPE html>").json::<Vec<u8>>(&asked()).expect_err("an error").to_string();
    assert!(page.contains("web page"), "{page}");
    let other = Reply::of(200, &[], "{}").json::<Vec<u8>>(&asked()).expect_err("an error").to_string();
    assert!(other.contains("something else than expected"), "{other}");
}

#[test]
fn each_barrier_is_known_over_git_and_over_the_api() {
    for (words, barrier) in [
        (
            "Resource protected by organization SAML enforcement. You must grant your Personal Access token access",
            Some("the token is not authorised for the organisation's single sign-on"),
        ),
        (
            "The `acme' organization has enabled or enforced SAML SSO.",
            Some("the token is not authorised for the organisation's single sign-on"),
        ),
        (
            "Although you appear to have the correct authorization credentials, the `acme` organization has an IP \
             allow list enabled, and your IP address is not permitted to access this resource.",
            Some("the organisation's IP allow list does not have the address of this machine"),
        ),
        (
            "`acme` forbids access via a personal access token (classic).",
            Some("the organisation forbids this kind of token, or its lifetime"),
        ),
        (
            "The 'acme' organization forbids access via a fine-grained personal access tokens if the token's lifetime \
             is greater than 90 days.",
            Some("the organisation forbids this kind of token, or its lifetime"),
        ),
        (
            "An owner of this repository has limited the ability to open a pull request to users that are \
             collaborators on this repository.",
            Some("the repository limits who may open pull requests"),
        ),
        ("Permission to acme/config.git denied to ada.", None),
    ] {
        assert_eq!(REFUSALS.barrier(words).map(|barrier| barrier.what), barrier, "{words}");
    }
}

#[test]
fn every_rule_that_a_refused_push_tells_of_is_found() {
    let told = |words: &str| Refusals::rules_of(&[&REFUSALS], words);
    let both = "GH013: Repository rule violations found for refs/heads/uplinker/a/platform. - Cannot force-push to this \
                branch - Changes must be made through a pull request. - 3 of 3 required status checks are expected.";
    assert_eq!(told(both), [Rule::ForcePush, Rule::PullRequest], "each once");
    assert_eq!(told("GH006: error: Cannot delete a protected branch"), [Rule::Deletion]);
    assert_eq!(told("3 of 3 required status checks are expected."), [Rule::PullRequest]);
    assert_eq!(told("Ticket number missing"), []);
}
