//! Step 10, propose: what GitHub's answers mean.
//!
//! In: status, headers and body of an answer. Out: the answer, or a [`ForgeError`] that says who has to do what. Its
//! sentences are GitHub's own, so they are recognised here and nowhere else. Pure.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::HeaderMap;
use serde::{Deserialize, de::DeserializeOwned};

use crate::{propose::forge::ForgeError, repo::Barrier};

/// How long to wait where GitHub only says that it was too much: it asks for a minute at the least.
const UNNAMED_WAIT: Duration = Duration::from_secs(61);
/// The most characters of GitHub's words in an error.
const WORDS: usize = 400;

/// An answer as it came.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
    /// When it came, by our clock.
    pub(super) received: Timestamp,
}

/// What was asked, for messages.
#[derive(Clone, Debug)]
pub(super) struct Asked<'a> {
    /// What did not work, as the start of a sentence.
    pub(super) what: &'static str,
    /// The permission that it needs.
    pub(super) permission: &'static str,
    /// The host.
    pub(super) host: &'a str,
    /// `owner/name`.
    pub(super) repository: String,
}

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

/// A refusal that this adapter knows what to do about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// The API does not see yet what Git was told a moment ago.
    Behind,
    /// There is an open pull request from this branch to this base.
    AlreadyOpen,
    /// The repository has no drafts.
    NoDrafts,
    /// Too many were made in a short time: a limit that GitHub gives no number for.
    TooSoon,
    /// A label is not there, and the token may not make it.
    NoSuchLabel,
    /// The token may not see a team.
    HiddenTeam,
}

/// A refusal: what is known of it, and the error that it is where nothing helps.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) known: Option<Known>,
    pub(super) error: ForgeError,
}

/// What it takes that a label is there.
pub(super) const MAKING_A_LABEL: &str =
    "making one takes the permission `issues: write`; make it by hand, or give the token that permission";

/// GitHub's words for a branch or a commit that it was given a moment ago.
const BEHIND: [&str; 4] =
    ["No commit found for SHA", "No commits between", "sha can't be blank", "Head ref must be a branch"];

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

// === impl Reply ===

impl Reply {
    /// Reads the body as JSON.
    pub(super) fn json<T: DeserializeOwned>(&self, asked: &Asked<'_>) -> Result<T, ForgeError> {
        serde_json::from_slice(&self.body).map_err(|e| ForgeError::Rejected {
            what: asked.what.to_owned(),
            reason: match self.body.trim_ascii_start().starts_with(b"<") {
                true => {
                    format!("{} answered with a web page; is it GitHub, and is there a proxy?", asked.host)
                }
                false => format!("{} answered with something else than expected: {e}", asked.host),
            },
        })
    }

    /// Says whether and how long a rate limit asks to wait.
    pub(super) fn rate_limit(&self) -> Option<Duration> {
        if !matches!(self.status, 403 | 429) {
            return None;
        }
        let number = |name: &str| self.header(name)?.parse::<i64>().ok();
        let words = self.refusal().message.to_ascii_lowercase();
        let named = words.contains("rate limit") || words.contains("abuse detection");
        if self.status == 403 && !named && number("retry-after").is_none() {
            return None;
        }
        let seconds = number("retry-after").or_else(|| {
            let left = self.reset()?.as_second().saturating_sub(self.now().as_second());
            Some(left.saturating_add(1))
        });
        Some(seconds.map_or(UNNAMED_WAIT, |s| Duration::from_secs(s.max(0).unsigned_abs())))
    }

    /// The error of a rate limit that takes too long.
    pub(super) fn limited(&self, host: &str) -> ForgeError {
        let wait = || jiff::SignedDuration::try_from(self.rate_limit()?).ok();
        let until = self.reset().or_else(|| self.now().checked_add(wait()?).ok());
        ForgeError::RateLimited { host: host.to_owned(), until }
    }

    /// When the primary limit starts anew, where it is spent.
    fn reset(&self) -> Option<Timestamp> {
        let spent = self.header("x-ratelimit-remaining") == Some("0");
        let reset = self.header("x-ratelimit-reset").filter(|_| spent)?.parse().ok()?;
        Timestamp::from_second(reset).ok()
    }

    /// The server's clock where it tells, since its times are by it.
    pub(super) fn now(&self) -> Timestamp {
        self.date().unwrap_or(self.received)
    }

    /// When it was sent, by the server's clock.
    pub(super) fn date(&self) -> Option<Timestamp> {
        Some(jiff::fmt::rfc2822::parse(self.header("date")?).ok()?.timestamp())
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok().map(str::trim)
    }

    /// A 5xx is an error that may pass.
    pub(super) fn unless_broken(self, asked: &Asked<'_>) -> Result<Self, ForgeError> {
        match self.status {
            500..=599 => Err(ForgeError::Temporary {
                host: asked.host.to_owned(),
                reason: format!("{}: status {}", asked.what, self.status),
            }),
            _ => Ok(self),
        }
    }

    /// Lets an answer through, or says what is wrong.
    pub(super) fn accept(self, asked: &Asked<'_>) -> Result<Self, Refused> {
        let refusal = match self.status {
            200..=299 => return Ok(self),
            _ => self.refusal(),
        };
        let reason = refusal.words();
        Err(match (self.status, refusal.known()) {
            (403 | 422, Some(known)) => known.refused(asked),
            (401, _) => ForgeError::Auth { host: asked.host.to_owned(), reason }.into(),
            (403 | 410, _) if reason.contains("was archived so is read-only") => {
                ForgeError::Archived(asked.repository.clone()).into()
            }
            (403, _) => self.forbidden(asked, reason).into(),
            (404 | 410, _) => ForgeError::NotFound(asked.repository.clone()).into(),
            (301 | 302 | 307 | 308, _) => {
                ForgeError::Renamed { from: asked.repository.clone(), to: None }.into()
            }
            _ => ForgeError::Rejected { what: asked.what.to_owned(), reason }.into(),
        })
    }

    /// Who has to do what about a 403.
    fn forbidden(&self, asked: &Asked<'_>, reason: String) -> ForgeError {
        let host = asked.host.to_owned();
        let lacks = ["Resource not accessible", "Must have admin rights"];
        match Barrier::of(&reason) {
            Some(barrier) => ForgeError::Barred { host, barrier },
            None if reason.contains("not permitted to create or approve pull requests") => {
                ForgeError::PullsForbidden { compare: None }
            }
            None if lacks.iter().any(|words| reason.contains(words)) => ForgeError::Permission {
                host,
                permission: self.accepted().unwrap_or(asked.permission.to_owned()),
            },
            None => ForgeError::Forbidden { host, what: asked.what.to_owned(), reason },
        }
    }

    /// The id of the repository that an answer sends us to, where it says that the old name is gone.
    pub(super) fn moved_to(&self) -> Option<u64> {
        let redirects = matches!(self.status, 301 | 302 | 307 | 308);
        let place = self.header("location").filter(|_| redirects)?;
        let (_, rest) = place.split_once("/repositories/")?;
        rest.split(['/', '?']).next()?.parse().ok()
    }

    /// Tells whether a list goes on after this page. A page may be short and not the last: GitHub leaves out what it
    /// does not show after it has cut the list.
    pub(super) fn has_next(&self) -> bool {
        let links = self.headers.get_all(reqwest::header::LINK).iter().filter_map(|v| v.to_str().ok());
        links.flat_map(|line| line.split(',')).any(|link| link.contains("rel=\"next\""))
    }

    /// The permissions that would do, as GitHub tells them: `issues=write; pull_requests=write`.
    fn accepted(&self) -> Option<String> {
        let told = self.header("x-accepted-github-permissions")?;
        let pair =
            |p: &str| p.trim().split_once('=').map(|(n, level)| format!("{}: {level}", n.replace('_', "-")));
        let all: Vec<String> = told.split([';', ',']).filter_map(pair).collect();
        (!all.is_empty()).then(|| all.join("` or `"))
    }

    fn refusal(&self) -> Refusal {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| Refusal {
            message: format!("status {} without an explanation", self.status),
            errors: Problems::default(),
        })
    }
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
        let words = if problems.is_empty() { self.message.clone() } else { problems.join("; ") };
        words.chars().filter(|c| !c.is_control()).take(WORDS).collect()
    }
}

// === impl Known ===

impl Known {
    fn refused(self, asked: &Asked<'_>) -> Refused {
        let rejected =
            |reason: &str| ForgeError::Rejected { what: asked.what.to_owned(), reason: reason.to_owned() };
        let passing = |reason: &str| ForgeError::Temporary {
            host: asked.host.to_owned(),
            reason: format!("{}: {reason}", asked.what),
        };
        let error = match self {
            Self::Behind => passing("GitHub does not see yet what was pushed"),
            Self::AlreadyOpen => passing("GitHub has one already and does not list it yet"),
            Self::TooSoon => ForgeError::RateLimited { host: asked.host.to_owned(), until: None },
            Self::NoDrafts => rejected("the repository does not support drafts"),
            Self::NoSuchLabel => rejected(&format!("it is not in the repository, and {MAKING_A_LABEL}")),
            Self::HiddenTeam => rejected(
                "the token may not see the organisation's teams; a workflow's own token never may, an App's with \
                 `members: read`",
            ),
        };
        Refused { known: Some(self), error }
    }
}

// === impl Refused ===

impl Refused {
    /// Takes what was not found for what does not show yet.
    pub(super) fn late(self, asked: &Asked<'_>) -> Self {
        match self.error {
            ForgeError::NotFound(_) => Known::Behind.refused(asked),
            _ => self,
        }
    }
}

impl From<ForgeError> for Refused {
    fn from(error: ForgeError) -> Self {
        Self { known: None, error }
    }
}

impl From<Refused> for ForgeError {
    fn from(refused: Refused) -> Self {
        refused.error
    }
}

/// octocrab's errors carry a backtrace; what people need is the innermost cause.
pub(super) fn without_backtrace(error: &octocrab::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string().lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
