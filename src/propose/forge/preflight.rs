//! Step 10, propose: what a forge tells of a token and a repository before anything is written.

use jiff::{SignedDuration, Timestamp};

use crate::{
    propose::{History, forge::ForgeError},
    repo::{CommitId, Rule, Signature},
};

/// What a run will want of the forge.
#[derive(Clone, Debug)]
pub struct Needed {
    /// The branches that it will write.
    pub branches: Vec<String>,
    /// How they move.
    pub history: History,
    /// The labels that it may add.
    pub labels: Vec<String>,
    /// Whether it will ask what is said of commits.
    pub gates: bool,
    /// The tip of the base branch.
    pub tip: CommitId,
}

/// What was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// That the repository is there, and is not archived.
    Repository,
    /// Who the token is, and how long it lasts.
    Token,
    /// What the token may do, as far as that can be told.
    Permissions,
    /// Pull requests.
    PullRequests,
    /// The status of our own commits.
    Statuses,
    /// What others say of commits.
    Gates,
    /// Labels.
    Labels,
    /// The rules over our branches.
    Rules,
    /// This machine's clock beside the forge's.
    Clock,
}

/// What was seen.
#[derive(Debug)]
pub enum Seen {
    /// It is fine.
    Fine(String),
    /// The rest goes on without it: what is missing, and what to do.
    Lacking(String, String),
    /// It shows only when it is tried: what, and what it needs.
    Untold(String, String),
    /// A rule covers a branch of ours; whether a run would end there.
    Ruled {
        /// The rule.
        rule: Rule,
        /// The branch.
        branch: String,
        /// Whether a run would end there.
        stops: bool,
    },
    /// A run would end with this.
    Failed(ForgeError),
}

// === impl Subject ===

impl Subject {
    /// Returns its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Repository => "repository",
            Self::Token => "token",
            Self::Permissions => "permissions",
            Self::PullRequests => "pull-requests",
            Self::Statuses => "statuses",
            Self::Gates => "gates",
            Self::Labels => "labels",
            Self::Rules => "rules",
            Self::Clock => "clock",
        }
    }
}

/// How far two clocks may be apart, and more than an answer takes.
const APART: SignedDuration = SignedDuration::from_mins(1);

/// Our clock when an answer came beside the host's, where it tells.
pub(super) fn clock(received: Timestamp, sent: Option<Timestamp>, host: &str) -> Option<Seen> {
    let apart = received.duration_since(sent?);
    let seconds = apart.as_secs().unsigned_abs();
    Some(match apart.abs() <= APART {
        true => Seen::Fine(format!("within a minute of {host}'s")),
        false => Seen::Lacking(
            format!("{seconds} s {} that of {host}", if apart.is_negative() { "behind" } else { "ahead of" }),
            "set it: the age of releases, waits and schedules are counted by it".to_owned(),
        ),
    })
}

/// The labels that are there beside those that may be added.
pub(super) fn labels(there: Result<Vec<String>, ForgeError>, needed: &Needed, hint: &str) -> Seen {
    let there = match there {
        Ok(there) => there,
        Err(error) if error.is_refusal() => return Seen::Untold(error.to_string(), String::new()),
        Err(error) => return Seen::Failed(error),
    };
    let is_there = |wanted: &str| there.iter().any(|name| name.eq_ignore_ascii_case(wanted));
    let missing: Vec<String> =
        needed.labels.iter().filter(|label| !is_there(label)).map(|label| format!("`{label}`")).collect();
    match missing.is_empty() {
        true => Seen::Fine("all are there".to_owned()),
        false => Seen::Lacking(format!("not in the repository: {}", missing.join(", ")), hint.to_owned()),
    }
}

/// Who commits, where the token may ask; `hint` says what it lacks where it may not.
pub(super) fn identified(who: Result<Option<Signature>, ForgeError>, hint: &str) -> Seen {
    match who {
        Ok(Some(who)) => Seen::Fine(format!("commits are by {} <{}>", who.name, who.email)),
        Ok(None) => Seen::Lacking("the token may not ask whose it is".to_owned(), hint.to_owned()),
        Err(error) => Seen::Failed(error),
    }
}

/// What was read without a failure is fine.
pub(super) fn told(read: Result<(), ForgeError>, fine: &str) -> Seen {
    match read {
        Ok(()) => Seen::Fine(fine.to_owned()),
        Err(error) => Seen::Failed(error),
    }
}
