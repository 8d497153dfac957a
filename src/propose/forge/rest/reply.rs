//! Step 10, propose: what every forge's answers have in common.
//!
//! In: status, headers and body of an answer. Out: JSON, the end of a rate limit, the server's clock, and the refusals
//! that each forge says in words of its own. Pure.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::{HeaderMap, LINK};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::propose::forge::{ForgeError, Grant};

/// How long to wait where a forge only says that it was too much: GitHub asks for a minute at the least.
const UNNAMED_WAIT: Duration = Duration::from_secs(61);
/// The most characters of a forge's words in an error.
const WORDS: usize = 400;

/// An answer as it came.
#[derive(Clone, Debug)]
pub(in crate::propose::forge) struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
    /// When it came, by our clock.
    pub received: Timestamp,
}

/// What was asked, for messages.
#[derive(Clone, Copy, Debug)]
pub(in crate::propose::forge) struct Asked<'a> {
    /// What did not work, as the start of a sentence.
    pub what: &'static str,
    /// What it needs, such as a permission's name.
    pub permission: &'static str,
    /// What that is.
    pub grant: fn(&str) -> Grant,
    /// The forge's name.
    pub forge: &'static str,
    /// The host.
    pub host: &'a str,
    /// The repository, with its owner.
    pub repository: &'a str,
}

/// A refusal that adapters know what to do about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::propose::forge) enum Known {
    /// The API does not see yet what Git was told a moment ago.
    Behind,
    /// There is an open pull request from this branch to this base.
    AlreadyOpen,
    /// The repository has no drafts.
    NoDrafts,
    /// Too many were made in a short time: a limit that the forge gives no number for.
    TooSoon,
    /// A label is not there, and the token may not make it.
    NoSuchLabel,
    /// The token may not see a team.
    HiddenTeam,
}

/// A refusal: what is known of it, and the error that it is where nothing helps.
#[derive(Debug)]
pub(in crate::propose::forge) struct Refused {
    pub known: Option<Known>,
    pub error: ForgeError,
    /// The address that a redirect names.
    pub place: Option<String>,
}

// === impl Reply ===

impl Reply {
    /// An answer of the beginning of time.
    #[cfg(test)]
    pub fn of(status: u16, headers: &[(&'static str, &str)], body: &str) -> Self {
        let header = |(name, value): &(&'static str, &str)| {
            (reqwest::header::HeaderName::from_static(name), value.parse().expect("a header"))
        };
        let headers = headers.iter().map(header).collect();
        Self { status, headers, body: body.as_bytes().to_vec(), received: Timestamp::UNIX_EPOCH }
    }

    /// Reads the body as JSON.
    pub fn json<T: DeserializeOwned>(&self, asked: &Asked<'_>) -> Result<T, ForgeError> {
        serde_json::from_slice(&self.body).map_err(|e| ForgeError::Rejected {
            what: asked.what.to_owned(),
            reason: match self.body.trim_ascii_start().starts_with(b"<") {
                true => format!(
                    "{} answered with a web page; is it {}, and is there a proxy?",
                    asked.host, asked.forge
                ),
                false => format!("{} answered with something else than expected: {e}", asked.host),
            },
        })
    }

    /// The first that is there of the fields in which forges put their words: a sentence, or a list of some.
    pub fn message(&self) -> Option<String> {
        let value: Value = serde_json::from_slice(&self.body).ok()?;
        let told =
            ["message", "error_description", "error"].into_iter().find_map(|key| said(value.get(key)?));
        told.filter(|text| !text.is_empty())
    }

    /// What the forge said, as much as an error shows of it.
    pub fn words(&self) -> String {
        words(&self.message().unwrap_or_else(|| format!("status {} without an explanation", self.status)))
    }

    /// Says whether and how long a rate limit asks to wait.
    pub fn rate_limit(&self) -> Option<Duration> {
        if !matches!(self.status, 403 | 429) {
            return None;
        }
        let after = self.header("retry-after").and_then(|text| text.parse::<i64>().ok());
        let said = self.message().unwrap_or_default().to_ascii_lowercase();
        let named = said.contains("rate limit") || said.contains("abuse detection");
        if self.status == 403 && !named && after.is_none() {
            return None;
        }
        let after = after.map(|seconds| Duration::from_secs(seconds.max(0).unsigned_abs()));
        Some(after.or_else(|| self.until_reset()).unwrap_or(UNNAMED_WAIT))
    }

    /// Says whether and how long the next request is to wait: also after the last one that a limit allows.
    pub fn pause(&self) -> Option<Duration> {
        self.rate_limit().or_else(|| self.until_reset())
    }

    fn until_reset(&self) -> Option<Duration> {
        let left = self.reset()?.as_second().saturating_sub(self.now().as_second());
        Some(Duration::from_secs(left.saturating_add(1).max(0).unsigned_abs()))
    }

    /// The error of a rate limit that takes too long.
    pub fn limited(&self, host: &str) -> ForgeError {
        let wait = || jiff::SignedDuration::try_from(self.rate_limit()?).ok();
        let until = self.reset().or_else(|| self.now().checked_add(wait()?).ok());
        ForgeError::RateLimited { host: host.to_owned(), until }
    }

    /// When the limit starts anew, where it is spent.
    fn reset(&self) -> Option<Timestamp> {
        ["x-ratelimit", "ratelimit"].into_iter().find_map(|prefix| {
            let spent = self.header(&format!("{prefix}-remaining")) == Some("0");
            let reset = self.header(&format!("{prefix}-reset")).filter(|_| spent)?.parse().ok()?;
            Timestamp::from_second(reset).ok()
        })
    }

    /// The server's clock where it tells, since its times are by it.
    pub fn now(&self) -> Timestamp {
        self.date().unwrap_or(self.received)
    }

    /// When it was sent, by the server's clock.
    pub fn date(&self) -> Option<Timestamp> {
        Some(jiff::fmt::rfc2822::parse(self.header("date")?).ok()?.timestamp())
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok().map(str::trim)
    }

    /// A 5xx is an error that may pass.
    pub fn unless_broken(self, asked: &Asked<'_>) -> Result<Self, ForgeError> {
        match self.status {
            500..=599 => Err(ForgeError::Temporary {
                host: asked.host.to_owned(),
                reason: format!("{}: status {}", asked.what, self.status),
            }),
            _ => Ok(self),
        }
    }

    /// The repository has another name now.
    pub fn moved(&self, asked: &Asked<'_>) -> Refused {
        let error = ForgeError::Renamed { from: asked.repository.to_owned(), to: None };
        Refused { place: self.header("location").map(str::to_owned), ..error.into() }
    }

    /// Tells whether a list goes on after this page. A page may be short and not the last: a forge may leave out what
    /// it does not show after it has cut the list.
    pub fn has_next(&self) -> bool {
        let links = self.headers.get_all(LINK).iter().filter_map(|v| v.to_str().ok());
        links.flat_map(|line| line.split(',')).any(|link| link.contains("rel=\"next\""))
    }
}

/// Takes a sentence, or all sentences below, with the field that they are about.
fn said(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(list) => Some(list.iter().filter_map(said).collect::<Vec<_>>().join("; ")),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| Some(format!("{name}: {}", said(value)?));
            Some(fields.iter().filter_map(field).collect::<Vec<_>>().join("; "))
        }
        _ => None,
    }
}

/// Shows a forge's words in an error: without what hides, and not too many.
pub(in crate::propose::forge) fn words(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(WORDS).collect()
}

// === impl Asked ===

impl Asked<'_> {
    /// The request was heard and not accepted.
    pub fn rejected(&self, reason: impl Into<String>) -> ForgeError {
        ForgeError::Rejected { what: self.what.to_owned(), reason: reason.into() }
    }

    /// The token lacks what this needs.
    pub fn lacks(&self) -> ForgeError {
        ForgeError::Permission { host: self.host.to_owned(), grant: (self.grant)(self.permission) }
    }
}

// === impl Known ===

impl Known {
    /// The refusal, with the error that it is where nothing helps.
    pub fn refused(self, asked: &Asked<'_>) -> Refused {
        let passing = |reason: &str| ForgeError::Temporary {
            host: asked.host.to_owned(),
            reason: format!("{}: {} {reason}", asked.what, asked.forge),
        };
        let error = match self {
            Self::Behind => passing("does not see yet what was pushed"),
            Self::AlreadyOpen => passing("has one already and does not list it yet"),
            Self::TooSoon => ForgeError::RateLimited { host: asked.host.to_owned(), until: None },
            Self::NoDrafts => asked.rejected("the repository does not support drafts"),
            Self::NoSuchLabel => asked.rejected("it is not in the repository, and the token may not make it"),
            Self::HiddenTeam => asked.rejected("the token may not see the organisation's teams"),
        };
        Refused { known: Some(self), ..error.into() }
    }
}

// === impl Refused ===

impl Refused {
    /// Takes what was not found for what does not show yet.
    pub fn late(self, asked: &Asked<'_>) -> Self {
        match self.error {
            ForgeError::NotFound(_) => Known::Behind.refused(asked),
            _ => self,
        }
    }
}

impl From<ForgeError> for Refused {
    fn from(error: ForgeError) -> Self {
        Self { known: None, error, place: None }
    }
}

impl From<Refused> for ForgeError {
    fn from(refused: Refused) -> Self {
        refused.error
    }
}
