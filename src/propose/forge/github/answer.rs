//! Step 10, propose: what GitHub's answers mean.
//!
//! In: status, headers and body of an answer. Out: the answer, or a [`ForgeError`] that says who has to do what. Its
//! sentences are GitHub's own, so they are recognised here and nowhere else. Pure.

use serde::Deserialize;

use crate::{
    propose::forge::{
        ForgeError, Grant,
        rest::{Asked, Known, Refused, Reply, words},
    },
    repo::{Barrier, Refusals, Rule},
};

/// The body of a refusal.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Refusal {
    message: String,
    errors: Problems,
}

/// Mostly a list, and sometimes the one that would be in it.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Problems {
    Many(Vec<Problem>),
    One(Problem),
}

/// What it takes that a label is there.
pub(super) const MAKING_A_LABEL: &str =
    "making one takes the permission `issues: write`; make it by hand, or give the token that permission";

/// GitHub's words for a branch or a commit that it was given a moment ago.
const BEHIND: [&str; 5] = [
    "No commit found for SHA",
    "No commits between",
    "sha can't be blank",
    "Head ref must be a branch",
    "SHA does not exist",
];

/// What keeps a good token out, and what a push goes against, over Git and over the API.
pub(super) const REFUSALS: Refusals = Refusals {
    barriers: &[
        ("SAML", SINGLE_SIGN_ON),
        (
            "IP allow list",
            Barrier {
                what: "the organisation's IP allow list does not have the address of this machine",
                hint: "add the address of this machine to the organisation's IP allow list, or run uplinker where the \
                       address is on it already",
            },
        ),
        (
            "forbids access via a",
            Barrier {
                what: "the organisation forbids this kind of token, or its lifetime",
                hint: "use a kind of token that the organisation allows: an App's token, or a fine-grained one with a \
                       shorter lifetime",
            },
        ),
        (
            "limited the ability to",
            Barrier {
                what: "the repository limits who may open pull requests",
                hint: "look at Settings > Moderation options > Interaction limits, of the repository and of its owner, \
                       or make the token's user a collaborator",
            },
        ),
    ],
    rules: &[
        ("verified signatures", Rule::Signatures),
        ("force-push", Rule::ForcePush),
        ("must not contain merge commits", Rule::LinearHistory),
        ("Cannot delete", Rule::Deletion),
        ("creations being restricted", Rule::Creation),
        ("through a pull request", Rule::PullRequest),
        ("Cannot update this protected ref", Rule::PullRequest),
        ("status check", Rule::PullRequest),
        ("pattern", Rule::Pattern),
        ("GH007", Rule::PrivateAddress),
        ("to create or update workflow", Rule::Workflow),
    ],
};

/// The organisation wants single sign-on, for which the token was not authorised.
pub(super) const SINGLE_SIGN_ON: Barrier = Barrier {
    what: "the token is not authorised for the organisation's single sign-on",
    hint: "authorise the token on GitHub under Settings > Developer settings > Personal access tokens > Configure SSO, \
           or use an App's token, which needs no authorisation",
};

/// One entry of `errors`: an object, or a bare sentence.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Problem {
    Words(String),
    Field {
        #[serde(default)]
        message: Option<String>,
        #[serde(default)]
        field: Option<String>,
        #[serde(default)]
        code: Option<String>,
    },
    Other(serde::de::IgnoredAny),
}

/// Says what a refusal means.
pub(super) fn refused(reply: &Reply, asked: &Asked<'_>) -> Refused {
    let refusal = Refusal::of(reply);
    let reason = refusal.words();
    match (reply.status, refusal.known()) {
        (403 | 422, Some(known)) => by_name(known, asked),
        (401, _) => ForgeError::Auth { host: asked.host.to_owned(), reason }.into(),
        (403 | 410, _) if reason.contains("was archived so is read-only") => {
            ForgeError::Archived(asked.repository.to_owned()).into()
        }
        (403, _) => forbidden(reply, asked, reason).into(),
        (404 | 410, _) => ForgeError::NotFound(asked.repository.to_owned()).into(),
        _ => asked.rejected(reason).into(),
    }
}

/// A refusal that something can be done about; what to do stands in GitHub's terms.
fn by_name(known: Known, asked: &Asked<'_>) -> Refused {
    let error = match known {
        Known::NoSuchLabel => asked.rejected(format!("it is not in the repository, and {MAKING_A_LABEL}")),
        Known::HiddenTeam => asked.rejected(
            "the token may not see the organisation's teams; a workflow's own token never may, an App's with \
             `members: read`",
        ),
        known => return known.refused(asked),
    };
    Refused { known: Some(known), ..error.into() }
}

/// Who has to do what about a 403.
fn forbidden(reply: &Reply, asked: &Asked<'_>, reason: String) -> ForgeError {
    let host = asked.host.to_owned();
    let lacks = ["Resource not accessible", "Must have admin rights"];
    match REFUSALS.barrier(&reason) {
        Some(barrier) => ForgeError::Barred { host, barrier },
        None if reason.contains("not permitted to create or approve pull requests") => {
            ForgeError::PullsForbidden { compare: None }
        }
        None if lacks.iter().any(|words| reason.contains(words)) => match accepted(reply) {
            Some(permission) => ForgeError::Permission { host, grant: Grant::Permission(permission) },
            None => asked.lacks(),
        },
        None => ForgeError::Forbidden { host, what: asked.what.to_owned(), reason },
    }
}

/// The id of the repository that an answer sends us to, where it says that the old name is gone.
pub(super) fn repository_in(place: &str) -> Option<u64> {
    let (_, rest) = place.split_once("/repositories/")?;
    rest.split(['/', '?']).next()?.parse().ok()
}

/// The permissions that would do, as GitHub tells them: `issues=write; pull_requests=write`.
fn accepted(reply: &Reply) -> Option<String> {
    let told = reply.header("x-accepted-github-permissions")?;
    let pair =
        |p: &str| p.trim().split_once('=').map(|(n, level)| format!("{}: {level}", n.replace('_', "-")));
    let all: Vec<String> = told.split([';', ',']).filter_map(pair).collect();
    (!all.is_empty()).then(|| all.join("` or `"))
}

// === impl Problems ===

impl Problems {
    fn all(&self) -> &[Problem] {
        match self {
            Self::Many(all) => all,
            Self::One(one) => std::slice::from_ref(one),
        }
    }
}

impl Default for Problems {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

// === impl Refusal ===

impl Refusal {
    fn of(reply: &Reply) -> Self {
        serde_json::from_slice(&reply.body)
            .unwrap_or_else(|_| Self { message: reply.words(), errors: Problems::default() })
    }

    /// Finds the refusals that this adapter knows what to do about.
    fn known(&self) -> Option<Known> {
        let words = self.words();
        let says = |parts: &[&str]| parts.iter().any(|part| words.contains(part));
        Some(match () {
            () if self.is_of("label", "unauthorized") => Known::NoSuchLabel,
            () if self.is_of("head", "invalid") || says(&BEHIND) => Known::Behind,
            () if says(&["A pull request already exists"]) => Known::AlreadyOpen,
            () if says(&["Draft pull requests are not supported"]) => Known::NoDrafts,
            () if says(&["was submitted too quickly"]) => Known::TooSoon,
            () if says(&["Could not resolve to a node"]) => Known::HiddenTeam,
            () => return None,
        })
    }

    /// Tells whether a field is refused with this code.
    fn is_of(&self, wanted: &str, reason: &str) -> bool {
        let hit = |p: &Problem| matches!(p, Problem::Field { field: Some(f), code: Some(c), .. } if f == wanted && c == reason);
        self.errors.all().iter().any(hit)
    }

    /// GitHub's own words: those of the single problems where it tells them.
    fn words(&self) -> String {
        let problem = |p: &Problem| match p {
            Problem::Words(words) => Some(words.clone()),
            Problem::Field { message: Some(message), .. } => Some(message.clone()),
            Problem::Other(_) => None,
            Problem::Field { field, code, .. } => Some(format!(
                "`{}` is {}",
                field.as_deref()?,
                code.as_deref().unwrap_or("wrong").replace('_', " ")
            )),
        };
        let problems: Vec<String> = self.errors.all().iter().filter_map(problem).collect();
        words(&if problems.is_empty() { self.message.clone() } else { problems.join("; ") })
    }
}

#[cfg(test)]
mod tests;
