//! What keeps a good token out, over the API and over Git: single sign-on, address lists, token policies.

use super::{
    super::http::Response,
    json,
    state::{Repo, Token, TokenKind, owner_of},
};

/// A barrier that stands before everything in a repository.
enum Barrier {
    SingleSignOn,
    AddressList,
    Policy(TokenKind),
}

fn barrier(repo: &Repo, token: &Token) -> Option<Barrier> {
    let personal = matches!(token.kind, TokenKind::Classic | TokenKind::FineGrained);
    if repo.forbidden_kind == Some(token.kind) {
        return Some(Barrier::Policy(token.kind));
    }
    if repo.single_sign_on && personal && !token.authorized {
        return Some(Barrier::SingleSignOn);
    }
    // Anonymous reading is not kept out, a good token from elsewhere is.
    repo.address_list.then_some(Barrier::AddressList)
}

fn policy(owner: &str, kind: TokenKind) -> String {
    match kind {
        TokenKind::Classic => format!(
            "`{owner}` forbids access via a personal access token (classic). Please use a GitHub App, OAuth App, or a \
             personal access token with fine-grained permissions."
        ),
        _ => format!(
            "`{owner}` forbids access via a personal access token with fine-grained permissions. Please use a GitHub \
             App, or an OAuth App."
        ),
    }
}

/// The answer of the API.
pub fn over_api(name: &str, repo: &Repo, token: &Token) -> Option<Response> {
    let owner = owner_of(name);
    let sso = format!("https://github.com/orgs/{owner}/sso?authorization_request=A0123456789");
    Some(match barrier(repo, token)? {
        Barrier::SingleSignOn => {
            let words = "Resource protected by organization SAML enforcement. You must grant your Personal Access \
                         token access to this organization.";
            json::refusal(403, words, "").with("X-GitHub-SSO", format!("required; url={sso}"))
        }
        Barrier::AddressList => {
            let words = format!(
                "Although you appear to have the correct authorization credentials, the `{owner}` organization has an \
                 IP allow list enabled, and your IP address is not permitted to access this resource."
            );
            json::refusal(403, &words, "")
        }
        Barrier::Policy(kind) => json::refusal(403, &policy(owner, kind), ""),
    })
}

/// The answer of Git's server.
pub fn over_git(name: &str, repo: &Repo, token: &Token) -> Option<Response> {
    let owner = owner_of(name);
    let words = match barrier(repo, token)? {
        Barrier::SingleSignOn => format!(
            "The `{owner}' organization has enabled or enforced SAML SSO. To access\nthis repository, visit \
             https://github.com/orgs/{owner}/sso?authorization_request=A0123456789\nand try your request again.\n"
        ),
        Barrier::AddressList => {
            "The repository owner has an IP allow list enabled, and 127.0.0.1 is not permitted to \
                                 access this repository.\n"
                .to_owned()
        }
        Barrier::Policy(kind) => policy(owner, kind),
    };
    Some(Response::text(403, words))
}
