//! Step 8, propose: what GitHub's answers mean.
//!
//! In: status, headers and body of an answer. Out: the answer, or a [`ForgeError`] that says who has to do what. Its
//! sentences are GitHub's own, so they are recognised here and nowhere else. Pure.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::HeaderMap;
use serde::{Deserialize, de::DeserializeOwned};

use crate::propose::ForgeError;

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
    errors: Vec<Problem>,
}

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
    fn now(&self) -> Timestamp {
        let date = self.header("date").and_then(|d| jiff::fmt::rfc2822::parse(d).ok());
        date.map_or(self.received, |z| z.timestamp())
    }

    fn header(&self, name: &str) -> Option<&str> {
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
    pub(super) fn accept(self, asked: &Asked<'_>) -> Result<Self, ForgeError> {
        let host = asked.host.to_owned();
        let refusal = match self.status {
            200..=299 => return Ok(self),
            _ => self.refusal(),
        };
        let reason = refusal.words();
        Err(match self.status {
            _ if reason.contains("was archived so is read-only") => {
                ForgeError::Archived(asked.repository.clone())
            }
            401 => ForgeError::Auth { host, reason },
            403 if reason.contains("not permitted to create or approve pull requests") => {
                ForgeError::PullsForbidden { compare: None }
            }
            403 if reason.contains("Resource not accessible")
                || reason.contains("Must have admin rights") =>
            {
                ForgeError::Permission {
                    host,
                    permission: self.accepted().unwrap_or(asked.permission.to_owned()),
                }
            }
            403 if refusal.is_of("label", "unauthorized") => ForgeError::NoSuchLabel,
            403 => ForgeError::Forbidden { host, reason },
            404 => ForgeError::NotFound(asked.repository.clone()),
            410 => ForgeError::NotFound(asked.repository.clone()),
            301 | 302 | 307 | 308 => ForgeError::Rejected {
                what: asked.what.to_owned(),
                reason: format!("{} was renamed or moved; use its new address", asked.repository),
            },
            // Right after a push, GitHub may not know the commit yet.
            422 if reason.contains("No commit found for SHA") => ForgeError::Temporary { host, reason },
            _ => ForgeError::Rejected { what: asked.what.to_owned(), reason },
        })
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
            errors: Vec::new(),
        })
    }
}

// === impl Refusal ===

impl Refusal {
    /// Tells whether a field is refused with this code.
    fn is_of(&self, wanted: &str, reason: &str) -> bool {
        let hit = |p: &Problem| matches!(p, Problem::Field { field: Some(f), code: Some(c), .. } if f == wanted && c == reason);
        self.errors.iter().any(hit)
    }

    /// GitHub's own words: those of the single problems where it tells them.
    fn words(&self) -> String {
        let problem = |p: &Problem| match p {
            Problem::Words(words) => Some(words.clone()),
            Problem::Field { message: Some(message), .. } => Some(message.clone()),
            Problem::Field { field, code, .. } => Some(format!(
                "`{}` is {}",
                field.as_deref()?,
                code.as_deref().unwrap_or("wrong").replace('_', " ")
            )),
        };
        let problems: Vec<String> = self.errors.iter().filter_map(problem).collect();
        let words = if problems.is_empty() { self.message.clone() } else { problems.join("; ") };
        words.chars().filter(|c| !c.is_control()).take(WORDS).collect()
    }
}

/// GitHub's words where a repository has no drafts.
pub(super) fn is_about_drafts(reason: &str) -> bool {
    reason.contains("Draft pull requests are not supported")
}

/// An error of opening after which the pull request may be there all the same.
pub(super) fn may_hide_a_pull(error: &ForgeError) -> bool {
    match error {
        ForgeError::Temporary { .. } => true,
        ForgeError::Rejected { reason, .. } => reason.contains("A pull request already exists"),
        _ => false,
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
