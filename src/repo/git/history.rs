//! Step 3, repo: questions about history that is only partly here.
//!
//! In: a lookup of commits. Out: whether one commit is reachable from another, as far as can be told. Pure.

use std::collections::{HashSet, VecDeque};

use crate::repo::{CommitId, CommitInfo, GitError};

/// What the history that is here says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The commit is reachable.
    Yes,
    /// It is not, and all that matters was seen.
    No,
    /// Parents are missing: a deeper history may tell.
    Unknown,
}

/// Looks for `wanted` among the ancestors of `from`, itself included. Reaching a commit of `beyond` counts as having
/// seen enough on that path: nothing wanted lies behind it.
pub fn reach(
    find: impl Fn(CommitId) -> Result<Option<CommitInfo>, GitError>,
    from: CommitId,
    wanted: CommitId,
    beyond: &HashSet<CommitId>,
) -> Result<Reach, GitError> {
    let mut seen = HashSet::new();
    let mut queue = VecDeque::from([from]);
    let mut cut = false;
    while let Some(id) = queue.pop_front() {
        if id == wanted {
            return Ok(Reach::Yes);
        }
        if beyond.contains(&id) || !seen.insert(id) {
            continue;
        }
        match find(id)? {
            Some(commit) => queue.extend(commit.parents),
            None => cut = true,
        }
    }
    Ok(if cut { Reach::Unknown } else { Reach::No })
}

/// Returns the ancestors of `from`, without itself, as far as they are known: those that are here, and the parents
/// that they name; at most `most` commits are read.
pub fn ancestors(
    find: impl Fn(CommitId) -> Result<Option<CommitInfo>, GitError>,
    from: CommitId,
    most: usize,
) -> Result<HashSet<CommitId>, GitError> {
    let mut known = HashSet::new();
    let mut queue = VecDeque::from([from]);
    let mut read = 0;
    while let Some(id) = queue.pop_front() {
        if read == most {
            break;
        }
        read += 1;
        for parent in find(id)?.map(|commit| commit.parents).unwrap_or_default() {
            if known.insert(parent) {
                queue.push_back(parent);
            }
        }
    }
    known.remove(&from);
    Ok(known)
}

/// Returns the commit of `wanted` that is met first on the way back from `from`, newest generation first.
pub fn first_of(
    find: impl Fn(CommitId) -> Result<Option<CommitInfo>, GitError>,
    from: CommitId,
    wanted: &HashSet<CommitId>,
) -> Result<Option<CommitId>, GitError> {
    let mut seen = HashSet::new();
    let mut queue = VecDeque::from([from]);
    while let Some(id) = queue.pop_front() {
        if !seen.insert(id) {
            continue;
        }
        let Some(commit) = find(id)? else { continue };
        if wanted.contains(&id) {
            return Ok(Some(id));
        }
        queue.extend(commit.parents);
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::TreeId;

    fn id(n: u8) -> CommitId {
        CommitId([n; 20])
    }

    /// 1 <- 2 <- 3 <- 5 (merge of 3 and 4), 2 <- 4; 9 is the parent of 1 and is not here.
    fn find(commit: CommitId) -> Result<Option<CommitInfo>, GitError> {
        let parents: &[u8] = match commit.0[0] {
            1 => &[9],
            2 => &[1],
            3 | 4 => &[2],
            5 => &[3, 4],
            _ => return Ok(None),
        };
        Ok(Some(CommitInfo {
            id: commit,
            tree: TreeId([0; 20]),
            parents: parents.iter().map(|n| id(*n)).collect(),
            message: String::new(),
            time: jiff::Timestamp::UNIX_EPOCH,
        }))
    }

    #[test]
    fn finds_through_merges_and_tells_where_history_is_cut() {
        let none = HashSet::new();
        assert_eq!(reach(find, id(5), id(4), &none).unwrap(), Reach::Yes);
        assert_eq!(reach(find, id(5), id(5), &none).unwrap(), Reach::Yes);
        assert_eq!(reach(find, id(3), id(4), &none).unwrap(), Reach::Unknown);
        assert_eq!(reach(find, id(3), id(4), &HashSet::from([id(2)])).unwrap(), Reach::No);
        assert_eq!(reach(find, id(5), id(9), &none).unwrap(), Reach::Yes);
        assert_eq!(reach(find, id(7), id(1), &none).unwrap(), Reach::Unknown);
    }

    #[test]
    fn knows_the_parents_that_are_named_and_not_here() {
        assert_eq!(ancestors(find, id(4), 99).unwrap(), HashSet::from([id(2), id(1), id(9)]));
        assert_eq!(ancestors(find, id(4), 1).unwrap(), HashSet::from([id(2)]));
        assert!(ancestors(find, id(7), 99).unwrap().is_empty());
    }
}
