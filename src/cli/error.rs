//! What a command ends with: an exit code, or an error that knows its exit code and what to do.

use jiff::Timestamp;

use crate::{
    config::{ConfigErrors, ReadError},
    pipeline,
    propose::forge::{ALLOW_ACTIONS, ForgeError, Grant},
    release::ReleaseError,
    repo::{GitError, TreeError},
    sys::{http::HttpSetup, secrets::TokenError},
};

/// What to do where the feeds are out of reach.
pub(super) const MIRRORS: &str = "try again later; where these hosts are out of reach, name mirrors with `--charts-url`, \
                                  `--releases-url` and `--versioncheck-url`";

/// How a command ended well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done, nothing to do, or proposed.
    Done,
    /// Failed.
    Failed,
    /// Wrong usage or configuration.
    Usage,
    /// No pin was found.
    NoPin,
    /// A check blocked the change.
    Blocked,
    /// Something outside failed for now.
    Temporary,
    /// `plan --exit-code`: a change would be proposed.
    Changes,
}

/// An error with all that a person needs; rendered once, at the top.
#[derive(Clone, Debug)]
pub struct Error {
    /// What it means for the exit code.
    pub kind: Kind,
    /// What happened.
    pub message: String,
    /// Why, from the nearest cause to the first.
    pub causes: Vec<String>,
    /// What to do.
    pub hints: Vec<String>,
    /// The mistakes of a configuration file, which are shown with their lines.
    pub config: Option<Box<ConfigErrors>>,
    /// When trying again makes sense, where the other side said so.
    pub retry_at: Option<Timestamp>,
    /// Whether the other side does not know the token.
    pub unknown_token: bool,
}

/// What an error means for the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It failed, and would again.
    Failed,
    /// The person's command or configuration is wrong.
    Usage,
    /// A check blocked.
    Blocked,
    /// The network or a service; later it may work.
    Temporary,
}

// === impl Exit ===

impl Exit {
    /// Returns the worst of many: what fails for good before what a person has to write anew, and that before what may
    /// pass by itself.
    pub fn worst(all: &[Self]) -> Self {
        let worst = [Self::Failed, Self::Usage, Self::Blocked, Self::Temporary];
        worst.into_iter().find(|exit| all.contains(exit)).unwrap_or(Self::Done)
    }

    /// Returns the code.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::NoPin => 3,
            Self::Blocked => 4,
            Self::Temporary => 5,
            Self::Changes => 10,
        }
    }
}

// === impl Error ===

impl Error {
    /// It failed, and would again.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(Kind::Failed, message)
    }

    /// The person's command or configuration is wrong.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, message)
    }

    /// The network or a service; later it may work.
    pub fn temporary(message: impl Into<String>) -> Self {
        Self::new(Kind::Temporary, message)
    }

    fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            causes: Vec::new(),
            hints: Vec::new(),
            config: None,
            retry_at: None,
            unknown_token: false,
        }
    }

    /// Adds a cause, with its own causes.
    #[must_use = "the error is returned, not changed in place"]
    pub fn because(mut self, cause: impl std::error::Error) -> Self {
        let mut next: Option<&dyn std::error::Error> = Some(&cause);
        while let Some(error) = next {
            self.causes.push(error.to_string());
            next = error.source();
        }
        self
    }

    /// Adds what to do.
    #[must_use = "the error is returned, not changed in place"]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Returns the exit code.
    pub fn exit(&self) -> Exit {
        match self.kind {
            Kind::Failed => Exit::Failed,
            Kind::Usage => Exit::Usage,
            Kind::Blocked => Exit::Blocked,
            Kind::Temporary => Exit::Temporary,
        }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<ConfigErrors> for Error {
    fn from(errors: ConfigErrors) -> Self {
        let count = errors.errors.len();
        let what = if count == 1 { "a mistake".to_owned() } else { format!("{count} mistakes") };
        let message = format!("the configuration of the repository has {what}");
        let hint = "`uplinker schema` prints a JSON Schema that editors check the file against";
        Self { config: Some(Box::new(errors)), ..Self::usage(message).hint(hint) }
    }
}

impl From<ReadError> for Error {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Config(errors) => errors.into(),
            ReadError::Tree(error) => error.into(),
        }
    }
}

impl From<TreeError> for Error {
    fn from(error: TreeError) -> Self {
        Self::failed(error.to_string()).hint(
            "a clone made with `--filter` lacks objects: clone without it; else check the repository with `git fsck`",
        )
    }
}

impl From<TokenError> for Error {
    fn from(error: TokenError) -> Self {
        let hint =
            "a token file holds the token and nothing else; variables are UPLINKER_TOKEN and GITHUB_TOKEN";
        Self::usage(error.to_string()).hint(hint)
    }
}

impl From<HttpSetup> for Error {
    fn from(error: HttpSetup) -> Self {
        Self::usage(error.to_string()).hint("`--ca-file` takes a PEM file with one or more certificates")
    }
}

impl From<GitError> for Error {
    fn from(error: GitError) -> Self {
        let message = error.to_string();
        match error {
            GitError::Moved { .. } => {
                Self::temporary(message).hint("run it again: another run or a person was quicker")
            }
            GitError::Refused { rules, .. } if rules.is_empty() => Self::failed(message).hint(
                "look for a ruleset, a protected branch or a hook that covers this branch, or set another \
                 `branch.prefix` in uplinker.yaml",
            ),
            GitError::Refused { rules, .. } => {
                rules.iter().fold(Self::failed(message), |error, rule| error.hint(rule.hint()))
            }
            GitError::Barred { barrier, .. } => Self::failed(message).hint(barrier.hint),
            GitError::Auth { .. } => {
                let error = Self { unknown_token: true, ..Self::failed(message) };
                error.hint("set UPLINKER_TOKEN (or GITHUB_TOKEN) to a token that may write `contents` of this repository")
            }
            GitError::NotFound { .. } => Self::failed(message).hint(
                "check the address; a forge says the same of a repository that the token was not given",
            ),
            GitError::Temporary { .. } => Self::temporary(message).hint("try again later"),
            GitError::Address { .. } => Self::usage(message),
            GitError::Archived { .. } => Self::failed(message)
                .hint("unarchive the repository, or take it out of the list of repositories"),
            GitError::Empty { .. } => Self::failed(message).hint("push a first commit"),
            GitError::Shallow { .. } => Self::failed(message)
                .hint("run `git fetch --unshallow` there, or name the repository that it was cloned from"),
            GitError::Other(_) => Self::failed(message),
        }
    }
}

impl From<pipeline::Error> for Error {
    fn from(error: pipeline::Error) -> Self {
        let message = error.to_string();
        match error {
            pipeline::Error::Config(errors) => errors.into(),
            pipeline::Error::Git(error) => error.into(),
            pipeline::Error::Forge(error) => error.into(),
            pipeline::Error::Tree(error) => error.into(),
            pipeline::Error::BaseDisagrees { .. }
            | pipeline::Error::NoBranch { .. }
            | pipeline::Error::WhichTarget { .. }
            | pipeline::Error::Helm(_) => Self::usage(message),
            pipeline::Error::Empty { .. } => Self::failed(message).hint("push a first commit"),
            pipeline::Error::Moved => Self::temporary(message),
            pipeline::Error::Defect(_) => {
                Self::failed(message).hint("this is a defect of uplinker; please report it with the command")
            }
        }
    }
}

impl From<ReleaseError> for Error {
    fn from(error: ReleaseError) -> Self {
        let message = error.to_string();
        let told = match &error {
            ReleaseError::AllOff => Self::usage(message),
            error if error.is_temporary() => Self::temporary(message).hint(MIRRORS),
            ReleaseError::NoFeed { .. } => {
                Self::failed(message).hint("check the addresses of the feeds, or mirror them and name a file")
            }
        };
        Self { causes: error.reasons(), ..told }
    }
}

impl From<ForgeError> for Error {
    fn from(error: ForgeError) -> Self {
        let message = error.to_string();
        match error {
            ForgeError::Auth { .. } => {
                let error = Self { unknown_token: true, ..Self::failed(message) };
                error.hint("the token is missing, wrong or expired: set UPLINKER_TOKEN to a valid one")
            }
            ForgeError::Permission { grant, .. } => Self::failed(message).hint(match grant {
                Grant::Permission(permission) => format!(
                    "give the token `{permission}`; in a workflow of GitHub Actions, under `permissions:` of the job"
                ),
                Grant::Scope(_) => format!("make a token that has {grant}"),
                Grant::Role(_) => format!("give the token's user {grant} in the project"),
                Grant::ScopeOrRole(scope, role) => {
                    format!("the token needs the scope `{scope}`, and its user the role {role} in the project")
                }
            }),
            ForgeError::Barred { barrier, .. } => Self::failed(message).hint(barrier.hint),
            ForgeError::Forbidden { .. } => Self::failed(message).hint(
                "the token was known, and something else keeps it from this: look for a policy of the repository, its \
                 organisation or its enterprise",
            ),
            ForgeError::Renamed { to, .. } => Self::failed(message).hint(match to {
                Some(_) => "use its new address, and give a token that was made for one repository access to it again",
                None => "use its new address",
            }),
            ForgeError::PullsForbidden { compare } => {
                let error = Self::failed(message).hint(ALLOW_ACTIONS);
                match compare {
                    Some(link) => error.hint(format!("the branch is there; open the pull request at {link}")),
                    None => error,
                }
            }
            ForgeError::PullsOff { .. } => {
                Self::failed(message).hint("turn them on in the settings of the repository, among its units or features")
            }
            ForgeError::NotFound(_) => Self::failed(message)
                .hint("check the address; a forge says the same of a repository that the token was not given"),
            ForgeError::Archived(_) => {
                Self::failed(message).hint("remove it from the schedule, or unarchive it")
            }
            ForgeError::Rejected { .. } | ForgeError::Directory { .. } => Self::failed(message),
            ForgeError::RateLimited { until, .. } => {
                let error = Self::temporary(message).hint("wait, or use a token with a limit of its own");
                Self { retry_at: until, ..error }
            }
            ForgeError::Temporary { .. } => Self::temporary(message).hint("try again later"),
        }
    }
}
