//! Step 10, propose: what GitLab's answers mean.
//!
//! In: status and body of a refusal. Out: a [`ForgeError`] that says who has to do what. Its sentences are GitLab's own, so
//! they are recognised here and nowhere else. Pure.

use serde::Deserialize;

use super::pulls_off;
use crate::{
    propose::forge::{
        ForgeError, Grant,
        rest::{Asked, Known, Refused, Reply},
    },
    repo::{Refusals, Rule},
};

/// What a token lacks, as OAuth has it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Scope {
    error: Option<String>,
    scope: Option<String>,
}

/// GitLab's words for a branch or a commit that it was given a moment ago.
const BEHIND: [&str; 3] = ["does not exist", "404 Commit Not Found", "404 References for commit Not Found"];

/// What a push goes against; why it keeps a token out, GitLab tells in no sentence of its own.
pub(super) const REFUSALS: Refusals = Refusals {
    barriers: &[],
    rules: &[
        ("must be signed", Rule::Signatures),
        ("allowed to force push", Rule::ForcePush),
        ("allowed to delete protected branches", Rule::Deletion),
        ("allowed to create protected branches", Rule::Creation),
        ("allowed to push code to protected branches", Rule::PullRequest),
        ("does not follow the pattern", Rule::Pattern),
        ("is not a member of team", Rule::Author),
        ("one of your own verified emails", Rule::Author),
    ],
};

/// Says what a refusal means.
pub(super) fn refused(reply: &Reply, asked: &Asked<'_>) -> Refused {
    let reason = reply.words();
    let says = |part: &str| reason.contains(part);
    let host = asked.host.to_owned();
    match reply.status {
        401 => ForgeError::Auth { host, reason }.into(),
        403 => match scope(reply) {
            Some(scope) => ForgeError::Permission { host, grant: Grant::Scope(scope) }.into(),
            None if reply.message().is_none_or(|said| said.starts_with("403 Forbidden")) => {
                asked.lacks().into()
            }
            None => ForgeError::Forbidden { host, what: asked.what.to_owned(), reason }.into(),
        },
        400 | 404 | 422 if BEHIND.iter().any(|part| says(part)) => Known::Behind.refused(asked),
        404 => ForgeError::NotFound(asked.repository.to_owned()).into(),
        405 if says("moved projects") => {
            ForgeError::Renamed { from: asked.repository.to_owned(), to: None }.into()
        }
        409 if says("open merge request already exists") => Known::AlreadyOpen.refused(asked),
        422 if says("disabled merge requests") => pulls_off(asked.repository).into(),
        _ => asked.rejected(reason).into(),
    }
}

/// The scope that a token lacks: `"error": "insufficient_scope"`, and which one would do.
fn scope(reply: &Reply) -> Option<String> {
    let told: Scope = serde_json::from_slice(&reply.body).ok()?;
    let lacks = told.error.as_deref() == Some("insufficient_scope");
    lacks.then(|| told.scope.unwrap_or_else(|| "api".to_owned()).replace(' ', "` or `"))
}

/// The number of the project that an answer sends us to, where it says that the old name is gone.
pub(super) fn project_in(place: &str) -> Option<u64> {
    let (_, rest) = place.split_once("/projects/")?;
    rest.split(['/', '?']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(status: u16, body: &str) -> Refused {
        let reply = Reply::of(status, &[], body);
        let asked = Asked {
            what: "cannot open a merge request",
            permission: "api",
            grant: |_| Grant::ScopeOrRole("api", "Developer"),
            forge: "GitLab",
            host: "git.example",
            repository: "acme/mesh/config",
        };
        refused(&reply, &asked)
    }

    #[test]
    fn each_refusal_says_who_has_to_do_what() {
        for (status, body, said) in [
            (
                401,
                r#"{"message":"401 Unauthorized"}"#,
                "git.example: the token was refused: 401 Unauthorized",
            ),
            (
                401,
                r#"{"error":"invalid_token","error_description":"Token is expired."}"#,
                "git.example: the token was refused: Token is expired.",
            ),
            (
                403,
                r#"{"error":"insufficient_scope","error_description":"Higher privileges.","scope":"api read_api"}"#,
                "git.example: the token lacks the scope `api` or `read_api`",
            ),
            (
                403,
                r#"{"message":"403 Forbidden"}"#,
                "git.example: the token lacks the scope `api` or the role Developer",
            ),
            (
                403,
                r#"{"message":"Your IP is on the list."}"#,
                "git.example: cannot open a merge request: Your IP is on the list.",
            ),
            (
                404,
                r#"{"message":"404 Project Not Found"}"#,
                "acme/mesh/config: not found, or the token may not see it",
            ),
            (
                400,
                r#"{"message":{"title":["is too long (maximum is 255 characters)"]}}"#,
                "cannot open a merge request: title: is too long (maximum is 255 characters)",
            ),
            (
                422,
                r#"{"error":["Target project has disabled merge requests"]}"#,
                "acme/mesh/config: merge requests are turned off in this repository",
            ),
            (
                405,
                r#"{"message":"Non GET methods are not allowed for moved projects"}"#,
                "acme/mesh/config was renamed or moved",
            ),
        ] {
            assert_eq!(error(status, body).error.to_string(), said, "{body}");
        }
    }

    #[test]
    fn every_rule_that_a_refused_push_tells_of_is_found() {
        for (words, rule) in [
            ("You are not allowed to push code to protected branches on this project.", Rule::PullRequest),
            (
                "You are not allowed to force push code to a protected branch on this project.",
                Rule::ForcePush,
            ),
            ("You are not allowed to create protected branches on this project.", Rule::Creation),
            ("You are not allowed to delete protected branches from this project.", Rule::Deletion),
            ("Commit must be signed with a GPG key", Rule::Signatures),
            ("Branch name does not follow the pattern '(feature|hotfix)/*'", Rule::Pattern),
            ("Author 'robot@example.org' is not a member of team", Rule::Author),
        ] {
            assert_eq!(Refusals::rules_of(&[&REFUSALS], &format!("GitLab: {words}")), [rule], "{words}");
        }
    }

    #[test]
    fn what_can_be_helped_is_known() {
        let open = r#"{"message":["Another open merge request already exists for this source branch: !7"]}"#;
        assert_eq!(error(409, open).known, Some(Known::AlreadyOpen));
        assert_eq!(error(404, r#"{"message":"404 Commit Not Found"}"#).known, Some(Known::Behind));
        assert_eq!(error(409, r#"{"message":"SHA does not match HEAD"}"#).known, None);
    }

    #[test]
    fn a_redirect_tells_the_number_of_the_project() {
        assert_eq!(project_in("https://h/api/v4/projects/42/merge_requests?state=all"), Some(42));
        assert_eq!(project_in("https://h/api/v4/projects/acme%2Fmesh"), None);
        assert_eq!(project_in("/users/sign_in"), None);
    }
}
