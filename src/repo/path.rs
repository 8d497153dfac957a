//! A path that cannot leave the tree.

use std::{fmt, sync::Arc};

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// A file's path inside the repository: relative, `/`-separated, without `.`, `..` or empty parts.
// All that is known of a file has its path: it is shared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
#[schemars(transparent)]
pub struct RepoPath(Arc<str>);

// === impl RepoPath ===

impl RepoPath {
    /// Reads a path as Git writes it; `None` where it is absolute, empty, holds NUL, or leaves the tree.
    pub fn new(text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        let sound = |part: &[u8]| !matches!(part, b"" | b"." | b"..") && !part.eq_ignore_ascii_case(b".git");
        let bytes = text.as_bytes();
        (!bytes.contains(&0) && bytes.split(|byte| *byte == b'/').all(sound)).then(|| Self(text.into()))
    }

    /// Resolves a reference such as `../values.yaml` or `./a.yaml`, as written in a file of `self`'s folder.
    /// `None` where it is absolute, a URL, or leaves the tree.
    pub fn join_from_folder(&self, reference: &str) -> Option<Self> {
        Self::resolve(self.folder(), reference)
    }

    /// Resolves a reference against a folder (`""` is the root).
    pub fn resolve(folder: &str, reference: &str) -> Option<Self> {
        if reference.starts_with('/') || reference.contains("://") {
            return None;
        }
        let mut parts: Vec<&str> = folder.split('/').filter(|p| !p.is_empty()).collect();
        for part in reference.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop()?),
                part => parts.push(part),
            }
        }
        Self::new(parts.join("/"))
    }

    /// Resolves a reference to a folder against another one; of both `""` is the root. `None` where it is absolute, a URL, or
    /// leaves the tree.
    pub fn resolve_folder(folder: &str, reference: &str) -> Option<String> {
        let reference = if reference.is_empty() { "." } else { reference };
        Some(Self::resolve(folder, &format!("{reference}/.x"))?.folder().to_owned())
    }

    /// Tells whether it lies below a folder, however deep; all lies below the root.
    pub fn is_below(&self, folder: &str) -> bool {
        folder.is_empty() || self.0.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    }

    /// Returns the folder, `""` for the root, without a slash at its end.
    pub fn folder(&self) -> &str {
        self.last_slash().and_then(|at| self.0.get(..at)).unwrap_or_default()
    }

    /// Returns the file's name.
    pub fn name(&self) -> &str {
        self.last_slash().and_then(|at| self.0.get(at + 1..)).unwrap_or(&self.0)
    }

    /// Counts the folders around this file and another one, from the root on.
    pub fn shared_folders(&self, other: &Self) -> usize {
        equal_parts(self.folder(), other.folder()).count()
    }

    fn last_slash(&self) -> Option<usize> {
        memchr::memrchr(b'/', self.0.as_bytes())
    }

    /// Returns the whole path.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns the folder that both of two folders lie in; `""` is the root.
pub fn common_folder<'f>(one: &'f str, other: &str) -> &'f str {
    let length: usize = equal_parts(one, other).map(|part| part.len() + 1).sum();
    one.get(..length.saturating_sub(1)).unwrap_or_default()
}

/// Lists a folder and those that it is in, up to the root.
pub fn folders_up(folder: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(folder), |folder| match folder.rsplit_once('/') {
        Some((above, _)) => Some(above),
        None => (!folder.is_empty()).then_some(""),
    })
}

fn equal_parts<'f>(one: &'f str, other: &str) -> impl Iterator<Item = &'f str> {
    one.split('/').zip(other.split('/')).take_while(|(a, b)| a == b).map(|(part, _)| part)
}

impl Serialize for RepoPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl fmt::Display for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_shared_by_their_whole_names() {
        let pairs = [("a/b/c", "a/b/d"), ("a/b", "a/bc"), ("a", "b"), ("", "a"), ("a/b", "a/b")];
        assert_eq!(pairs.map(|(one, other)| common_folder(one, other)), ["a/b", "a", "", "", "a/b"]);
        let path = |text: &str| RepoPath::new(text).unwrap();
        let shared = |one: &str, other: &str| path(one).shared_folders(&path(other));
        assert_eq!([shared("a/b/x", "a/b/y"), shared("a/b/x", "a/bc/x"), shared("a/x", "b/x")], [2, 1, 0]);
    }

    #[test]
    fn a_folder_is_found_from_another_one_and_may_be_the_root() {
        let folder = |from: &str, to: &str| RepoPath::resolve_folder(from, to);
        assert_eq!(folder("a/b", "../c/"), Some("a/c".to_owned()));
        assert_eq!(folder("a", ".."), Some(String::new()));
        assert_eq!(folder("", ""), Some(String::new()));
        assert_eq!((folder("a", "../.."), folder("a", "/b")), (None, None));
        let path = RepoPath::new("a/b/c.yaml").unwrap();
        assert!(path.is_below("") && path.is_below("a") && path.is_below("a/b"));
        assert!(!path.is_below("a/b/c") && !path.is_below("b") && !path.is_below("a/b/c.yaml"));
    }

    #[test]
    fn a_path_stays_in_the_tree() {
        for sound in ["a", "a/b.yaml", "..a/b..", ".gitignore", "größe/x y"] {
            assert_eq!(RepoPath::new(sound).map(|p| p.to_string()).as_deref(), Some(sound));
        }
        for odd in ["", "/a", "a/", "a//b", "./a", "a/..", "../a", ".git/config", "a/.GIT/x", "a\0b"] {
            assert_eq!(RepoPath::new(odd), None, "{odd:?}");
        }
    }

    #[test]
    fn a_reference_that_leaves_the_tree_is_none() {
        let from = RepoPath::new("clusters/east/kustomization.yaml").unwrap();
        let leads = |reference: &str| from.join_from_folder(reference).map(|p| p.to_string());
        assert_eq!(leads("./values.yaml").as_deref(), Some("clusters/east/values.yaml"));
        assert_eq!(leads("../../base//x.yaml").as_deref(), Some("base/x.yaml"));
        // A folder above the root is not the root: what is there is somebody else's file.
        for outside in ["../../../base/x.yaml", "../../../clusters/east/values.yaml", "../../.."] {
            assert_eq!(leads(outside), None, "{outside}");
        }
        for elsewhere in ["/etc/passwd", "https://example.com/x.yaml", "../../.git/config", "../.."] {
            assert_eq!(leads(elsewhere), None, "{elsewhere}");
        }
        assert_eq!(RepoPath::resolve("", "../a"), None);
        assert_eq!(RepoPath::resolve("a", "../../a/b"), None);
    }
}
