//! Step 5, pins: who applies a file to a cluster.
//!
//! In: the roots above a file. Out: [`Applier`]s, with what they do to objects that vanish or cannot be changed.

use crate::repo::RepoPath;

/// A Flux Kustomization, or an Argo CD application or a set of them, that applies a folder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Applier {
    /// Its name.
    pub name: String,
    /// Its namespace, where its file says it.
    pub namespace: Option<String>,
    /// Its file.
    pub path: RepoPath,
    /// From 1.
    pub line: usize,
    /// Whether it is Flux, rather than Argo CD.
    pub flux: bool,
    /// Whether it deletes from the cluster what leaves the folder.
    pub prunes: bool,
    /// Whether it makes an object anew that cannot be changed, instead of failing.
    pub replaces: bool,
    /// Whether it reports success once what it applied works, rather than once it is applied.
    pub waits: bool,
    /// What of the repository it applies, where it does not leave that to the repository.
    pub revision: Option<Revision>,
}

/// What of a repository is applied.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    /// A commit, a tag, or the newest tag in a range: a merge moves none.
    Fixed(String),
    /// A branch, which only a merge into it moves.
    Branch(String),
}

// === impl Revision ===

impl Revision {
    /// Reads a revision that may be anything Git names; `None` where it is the repository's HEAD, or a template's to say. What
    /// looks like a version is taken for a tag.
    pub(super) fn of(text: &str) -> Option<Self> {
        if text.is_empty() || text == "HEAD" || text.contains(['{', '$']) {
            return None;
        }
        if let Some(branch) = text.strip_prefix("refs/heads/") {
            return Some(Self::Branch(branch.to_owned()));
        }
        let bare = text.strip_prefix("refs/tags/");
        let is_commit = text.len() >= 7
            && text.chars().all(|c| c.is_ascii_hexdigit())
            && text.contains(|c: char| c.is_ascii_digit());
        let numbers = text.strip_prefix('v').unwrap_or(text);
        let is_version = numbers.contains('.') && numbers.starts_with(|c: char| c.is_ascii_digit());
        // No branch has such a sign in its name, and ranges do.
        let is_range = text.contains(['*', '^', '~', '<', '>', '=', ' ']);
        let is_fixed = bare.is_some() || text.starts_with("refs/") || is_commit || is_version || is_range;
        let name = bare.unwrap_or(text).to_owned();
        Some(if is_fixed { Self::Fixed(name) } else { Self::Branch(name) })
    }
}

/// The annotations by which Flux makes an object anew that cannot be changed, or leaves it alone once it is there
/// (fluxcd/kustomize-controller, `internal/controller/kustomization_controller.go`).
pub const REPLACES: [&str; 2] = ["kustomize.toolkit.fluxcd.io/force", "kustomize.toolkit.fluxcd.io/ssa"];

/// Tells whether a text has one of [these](REPLACES), as a patch that puts it on objects.
pub(super) fn says_replace(text: &str) -> bool {
    REPLACES.iter().any(|annotation| text.contains(annotation))
}
