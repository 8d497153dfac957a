//! Step 10, propose: what Gitea's answers mean.
//!
//! In: status and body of a refusal. Out: a [`ForgeError`] that says who has to do what. Its sentences are Gitea's own,
//! so they are recognised here and nowhere else. Pure.

use crate::{
    propose::forge::{
        ForgeError, Grant,
        rest::{Asked, Known, Refused, Reply},
    },
    repo::{Refusals, Rule},
};

/// What a push goes against.
pub(super) const REFUSALS: Refusals = Refusals {
    barriers: &[],
    rules: &[
        ("protected from unverified commit", Rule::Signatures),
        ("protected from force push", Rule::ForcePush),
        ("Not allowed to force-push to protected branch", Rule::ForcePush),
        ("protected from deletion", Rule::Deletion),
        ("Not allowed to push to protected branch", Rule::PullRequest),
    ],
};

/// Says what a refusal means.
pub(super) fn refused(reply: &Reply, asked: &Asked<'_>) -> Refused {
    let reason = reply.words();
    let host = asked.host.to_owned();
    let repository = asked.repository.to_owned();
    match reply.status {
        401 => ForgeError::Auth { host, reason }.into(),
        403 => match scope(&reason) {
            Some(scope) => ForgeError::Permission { host, grant: Grant::Scope(scope) }.into(),
            None if reply.message().is_none() || reason.contains("permission to write to a repo") => {
                asked.lacks().into()
            }
            None => ForgeError::Forbidden { host, what: asked.what.to_owned(), reason }.into(),
        },
        404 => ForgeError::NotFound(repository).into(),
        409 if reason.contains("pull request already exists") => Known::AlreadyOpen.refused(asked),
        423 => ForgeError::Archived(repository).into(),
        _ => asked.rejected(reason).into(),
    }
}

/// The scope that a token lacks, as Gitea names it: `required=[write:issue]`.
fn scope(reason: &str) -> Option<String> {
    let (_, rest) = reason.split_once("required scope(s)")?;
    let (_, list) = rest.split_once("required=[")?;
    Some(list.split_once(']')?.0.replace([',', ' '], "` or `"))
}

/// The name that a repository has now: the API redirects to the same request there.
pub(super) fn repository_in(place: &str) -> Option<String> {
    let (_, rest) = place.split_once("/repos/")?;
    let mut parts = rest.split(['/', '?']);
    let (owner, name) = (parts.next()?, parts.next()?);
    (!owner.is_empty() && !name.is_empty()).then(|| format!("{owner}/{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(status: u16, body: &str) -> Refused {
        let reply = Reply::of(status, &[], body);
        let asked = Asked {
            what: "cannot open a pull request",
            permission: "write:repository",
            grant: |scope| Grant::Scope(scope.to_owned()),
            forge: "Gitea",
            host: "git.example",
            repository: "acme/config",
        };
        refused(&reply, &asked)
    }

    #[test]
    fn each_refusal_says_who_has_to_do_what() {
        let said = |status, body: &str| error(status, body).error.to_string();
        assert_eq!(
            said(401, r#"{"message":"invalid username, password or token"}"#),
            "git.example: the token was refused: invalid username, password or token"
        );
        let scope = "token does not have at least one of required scope(s), required=[write:issue], token \
                     scope=write:repository";
        assert_eq!(
            said(403, &format!(r#"{{"message":"{scope}"}}"#)),
            "git.example: the token lacks the scope `write:issue`"
        );
        assert_eq!(
            said(403, r#"{"message":"user should have a permission to write to a repo"}"#),
            "git.example: the token lacks the scope `write:repository`"
        );
        assert_eq!(said(403, ""), "git.example: the token lacks the scope `write:repository`");
        assert!(matches!(
            error(423, r#"{"message":"acme/config is archived"}"#).error,
            ForgeError::Archived(_)
        ));
        assert!(matches!(error(404, r#"{"message":"not found"}"#).error, ForgeError::NotFound(_)));
        let open = r#"{"message":"pull request already exists for these targets [id: 1, issue_id: 1]"}"#;
        assert_eq!(error(409, open).known, Some(Known::AlreadyOpen));
        assert_eq!(
            said(405, r#"{"message":"Please try again later"}"#),
            "cannot open a pull request: Please try again later"
        );
    }

    #[test]
    fn every_rule_that_a_refused_push_tells_of_is_found() {
        for (words, rule) in [
            ("Not allowed to push to protected branch uplinker/a/platform", Rule::PullRequest),
            ("Not allowed to force-push to protected branch uplinker/a/platform", Rule::ForcePush),
            ("branch uplinker/a/platform is protected from unverified commit 1234567", Rule::Signatures),
            ("branch uplinker/a/platform is protected from force push", Rule::ForcePush),
            ("branch uplinker/a/platform is protected from deletion", Rule::Deletion),
        ] {
            assert_eq!(Refusals::rules_of(&[&REFUSALS], &format!("error: {words}")), [rule], "{words}");
        }
    }

    #[test]
    fn a_redirect_tells_the_new_name() {
        let new = |place: &str| repository_in(place);
        assert_eq!(new("/api/v1/repos/acme/mesh/pulls?state=all").as_deref(), Some("acme/mesh"));
        assert_eq!(new("/api/v1/repos/acme"), None);
        assert_eq!(new("/user/login"), None);
    }
}
