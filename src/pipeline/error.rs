//! What ends a pass, sorted by who can fix it.

use crate::{
    config::{ConfigErrors, ReadError},
    propose::forge::ForgeError,
    render::RenderError,
    repo::{GitError, TreeError},
};

/// Why a pass ended without a report.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The configuration is wrong: the repository's owner fixes it.
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    /// The default branch sends us to a base branch whose own configuration names another.
    #[error(
        "`base` on `{default}` names the branch `{branch}`, whose own configuration names another; make the two agree"
    )]
    BaseDisagrees {
        /// The default branch.
        default: String,
        /// The branch that it names.
        branch: String,
    },
    /// The base branch is not there.
    #[error("{url}: there is no branch `{branch}`; change `base`, or create the branch")]
    NoBranch {
        /// The repository.
        url: String,
        /// The branch.
        branch: String,
    },
    /// The repository has no commit yet.
    #[error("{url}: the repository is empty: it has no commit to read")]
    Empty {
        /// The repository.
        url: String,
    },
    /// It is not told of which target something is wanted, or there is none of that name.
    #[error("{}", which(named.as_deref(), targets))]
    WhichTarget {
        /// What was named.
        named: Option<String>,
        /// The targets that there are.
        targets: Vec<String>,
    },
    /// A branch moved in every attempt: the next run will do.
    #[error(
        "branches moved while this run was working, several times over; the next run begins from where they are"
    )]
    Moved,
    /// Git.
    #[error(transparent)]
    Git(GitError),
    /// The forge.
    #[error(transparent)]
    Forge(#[from] ForgeError),
    /// An object of the repository cannot be read: the cache or the disk.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// What `--helm` names is no Helm to work with: the operator's.
    #[error("--helm: {0}")]
    Helm(RenderError),
    /// A template of this program is broken: a defect.
    #[error("{0}")]
    Defect(String),
}

fn which(named: Option<&str>, targets: &[String]) -> String {
    let all = targets.join("`, `");
    match named {
        _ if targets.is_empty() => {
            "no pin has a target here; `uplinker pins` lists what was found".to_owned()
        }
        Some(name) => format!("there is no target `{name}`; there are: `{all}`"),
        None => format!("name the target with `--target`: `{all}`"),
    }
}

// === impl Error ===

impl Error {
    /// Says whether an object could not be read, which a fresh cache may fix.
    pub fn is_of_objects(&self) -> bool {
        matches!(self, Self::Tree(_) | Self::Git(GitError::Other(_)))
    }
}

impl From<GitError> for Error {
    fn from(error: GitError) -> Self {
        match error {
            GitError::Moved { .. } => Self::Moved,
            error => Self::Git(error),
        }
    }
}

impl From<ReadError> for Error {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Config(errors) => Self::Config(errors),
            ReadError::Tree(error) => Self::Tree(error),
        }
    }
}
