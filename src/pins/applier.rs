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
    /// The commit or tag that it stays at, whatever is merged.
    pub revision: Option<String>,
}

/// Returns a revision that a merge does not move: a commit or a tag. What else looks like a version is taken for a tag too.
pub(super) fn fixed(revision: &str) -> Option<String> {
    let bare = revision.strip_prefix("refs/tags/");
    let text = bare.unwrap_or(revision);
    let is_commit = text.len() >= 7
        && text.chars().all(|c| c.is_ascii_hexdigit())
        && text.contains(|c: char| c.is_ascii_digit());
    let numbers = text.strip_prefix('v').unwrap_or(text);
    let is_version = numbers.contains('.') && numbers.starts_with(|c: char| c.is_ascii_digit());
    (bare.is_some() || is_commit || is_version).then(|| text.to_owned())
}

/// The annotations by which Flux makes an object anew that cannot be changed, or leaves it alone once it is there
/// (fluxcd/kustomize-controller, `internal/controller/kustomization_controller.go`).
pub const REPLACES: [&str; 2] = ["kustomize.toolkit.fluxcd.io/force", "kustomize.toolkit.fluxcd.io/ssa"];

/// Tells whether a text has one of [these](REPLACES), as a patch that puts it on objects.
pub(super) fn says_replace(text: &str) -> bool {
    REPLACES.iter().any(|annotation| text.contains(annotation))
}
