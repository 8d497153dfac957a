//! Step 3, repo: a change set as a commit object.
//!
//! In: a [`NewCommit`] and the tree that it is applied to. Out: the id of a commit in the store; nothing leaves this
//! machine. Same inputs, same id: the date is given, the zone is UTC, and no configuration has a say.

use std::collections::BTreeMap;

use git2::{FileMode, Repository, Time, Tree, build::TreeUpdateBuilder};

use super::{object::parse_commit, sign::SigningKey};

use crate::repo::{
    BlobId, ChangeSet, CommitId, CommitInfo, FileChange, GitError, Mode, NewCommit, SignedCommit, TreeId,
    git::store::{id, oid, other},
};

/// Writes blobs, trees and the commit, signed where there is a key.
pub fn write_commit(
    repo: &Repository,
    base: TreeId,
    commit: &NewCommit<'_>,
    key: Option<&SigningKey>,
) -> Result<CommitId, GitError> {
    let base = repo.find_tree(oid(base)?).map_err(|e| other(&e))?;
    let tree = write_tree(repo, &base, &commit.changes.files)?;
    let seconds = commit.date.as_second();
    let (name, email) = (&commit.author.name, &commit.author.email);
    let no_author = |why: &str| GitError::Other(format!("`{name} <{email}>` is no author: {why}"));
    // It is written as it is below, where a line break would begin a header of its own.
    if name.contains(char::is_control) || email.contains(char::is_control) {
        return Err(no_author("it has control characters"));
    }
    let author =
        git2::Signature::new(name, email, &Time::new(seconds, 0)).map_err(|e| no_author(e.message()))?;
    let tree_id = tree.id();
    let message = with_trailer(&commit.message, "Uplinker-Tree", &tree_id.to_string());
    // As bytes and not through git2's parents: those must be here as objects, which a merged base need not be.
    let mut text = format!("tree {tree_id}\n");
    for parent in &commit.parents {
        text.push_str(&format!("parent {parent}\n"));
    }
    let who = format!(
        "{} <{}> {seconds} +0000",
        author.name().unwrap_or_default(),
        author.email().unwrap_or_default()
    );
    text.push_str(&format!("author {who}\ncommitter {who}\n\n{message}"));
    if let Some(key) = key {
        let signature = key.sign(text.as_bytes());
        let signature =
            signature.map_err(|_| GitError::Other("the key cannot sign the commit".to_owned()))?;
        text = with_signature(&text, &signature);
    }
    let odb = repo.odb().map_err(|e| other(&e))?;
    odb.write(git2::ObjectType::Commit, text.as_bytes()).map(id).map_err(|e| other(&e))
}

/// Puts a signature into a commit, as the last of its headers.
fn with_signature(commit: &str, signature: &str) -> String {
    let (headers, message) = commit.split_once("\n\n").unwrap_or((commit, ""));
    format!("{headers}\ngpgsig {}\n\n{message}", signature.replace('\n', "\n "))
}

/// Writes a commit that a forge made, where it has the id that the forge says, and the tree, the parents and the message of
/// ours.
pub fn adopt(
    repo: &Repository,
    signed: &SignedCommit,
    ours: &CommitInfo,
) -> Result<Option<CommitId>, GitError> {
    let signature = signed.signature.trim_end();
    // With how many line breaks a signature ends in a commit is the forge's own way; the id tells.
    for end in ["", "\n", "\n\n"] {
        let text = with_signature(&signed.payload, &format!("{signature}{end}"));
        let hash =
            git2::Oid::hash_object(git2::ObjectType::Commit, text.as_bytes()).map_err(|e| other(&e))?;
        if hash.to_string() != signed.id {
            continue;
        }
        let same = |made: &CommitInfo| {
            made.tree == ours.tree
                && made.parents == ours.parents
                && made.message.trim_end() == ours.message.trim_end()
        };
        if !parse_commit(id(hash), text.as_bytes()).as_ref().is_some_and(same) {
            return Ok(None);
        }
        let odb = repo.odb().map_err(|e| other(&e))?;
        return odb
            .write(git2::ObjectType::Commit, text.as_bytes())
            .map(|made| Some(id(made)))
            .map_err(|e| other(&e));
    }
    Ok(None)
}

/// Applies changes to a tree, and proves that nothing else differs.
fn write_tree<'r>(
    repo: &'r Repository,
    base: &Tree<'r>,
    changes: &[FileChange],
) -> Result<Tree<'r>, GitError> {
    let mut update = TreeUpdateBuilder::new();
    for change in changes {
        let before = entry(base, change)?;
        match &change.after {
            Some(content) => {
                let blob = repo.blob(content).map_err(|e| other(&e))?;
                update.upsert(change.path.as_str(), blob, before.unwrap_or(file_mode(change)?));
            }
            None => {
                update.remove(change.path.as_str());
            }
        }
    }
    let tree = update
        .create_updated(repo, base)
        .and_then(|tree| repo.find_tree(tree))
        .map_err(|e| GitError::Other(format!("cannot write the new tree: {e}")))?;
    prove(repo, base, &tree, changes)?;
    Ok(tree)
}

/// Returns the mode that stays, and refuses a change that was made from another content than the base has.
fn entry(base: &Tree<'_>, change: &FileChange) -> Result<Option<FileMode>, GitError> {
    let stale = |what: &str| {
        GitError::Other(format!("{}: {what}; the change was made from another commit", change.path))
    };
    let entry = match base.get_path(change.path.as_str().as_ref()) {
        Ok(entry) => Some(entry),
        Err(error) if error.code() == git2::ErrorCode::NotFound => None,
        Err(error) => return Err(other(&error)),
    };
    let Some(entry) = entry else {
        let absent = change.before_id.is_none() && change.after.is_some();
        return if absent { Ok(None) } else { Err(stale("is not in the base tree")) };
    };
    let Some(expected) = change.before_id else { return Err(stale("is in the base tree already")) };
    if id::<BlobId>(entry.id()) != expected {
        return Err(stale("has another content in the base tree"));
    }
    match entry.filemode() {
        0o100_644 => Ok(Some(FileMode::Blob)),
        0o100_664 => Ok(Some(FileMode::BlobGroupWritable)),
        0o100_755 => Ok(Some(FileMode::BlobExecutable)),
        mode => {
            Err(GitError::Other(format!("{}: is no file (mode {mode:o}) and is never written", change.path)))
        }
    }
}

fn file_mode(change: &FileChange) -> Result<FileMode, GitError> {
    match change.mode {
        Mode::File => Ok(FileMode::Blob),
        Mode::Executable => Ok(FileMode::BlobExecutable),
        Mode::Symlink | Mode::Submodule => {
            Err(GitError::Other(format!("{}: a link or submodule is never written", change.path)))
        }
    }
}

/// Compares the two trees: they differ in the change set's paths, in its contents, and nowhere else.
fn prove(
    repo: &Repository,
    base: &Tree<'_>,
    tree: &Tree<'_>,
    changes: &[FileChange],
) -> Result<(), GitError> {
    let mut wanted: BTreeMap<&[u8], Option<BlobId>> = BTreeMap::new();
    for change in changes {
        let after = match &change.after {
            Some(content) => {
                Some(git2::Oid::hash_object(git2::ObjectType::Blob, content).map_err(|e| other(&e))?)
            }
            None => None,
        };
        let after = after.map(id);
        if after != change.before_id {
            wanted.insert(change.path.as_str().as_bytes(), after);
        }
    }
    let diff = repo.diff_tree_to_tree(Some(base), Some(tree), None).map_err(|e| other(&e))?;
    let odd = |path: &[u8]| {
        GitError::Other(format!(
            "the new tree differs at `{}`, which no change says",
            String::from_utf8_lossy(path)
        ))
    };
    for delta in diff.deltas() {
        let path = delta.new_file().path_bytes().unwrap_or_default();
        let after = (delta.status() != git2::Delta::Deleted).then(|| id(delta.new_file().id()));
        if wanted.remove(path) != Some(after) {
            return Err(odd(path));
        }
    }
    match wanted.into_keys().next() {
        Some(path) => Err(odd(path)),
        None => Ok(()),
    }
}

/// Adds a trailer to a message: to its block of trailers where it ends in one, else as a block of its own.
fn with_trailer(message: &str, name: &str, value: &str) -> String {
    let message = message.trim_end();
    let last = message.rsplit("\n\n").next().unwrap_or_default();
    let is_trailer = |line: &str| {
        line.starts_with(' ')
            || line.split_once(": ").is_some_and(|(key, _)| {
                !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
            })
    };
    let block = message.contains("\n\n") && last.lines().all(is_trailer);
    let gap = if block { "\n" } else { "\n\n" };
    format!("{message}{gap}{name}: {value}\n")
}

/// Tells whether `there` has each file that `after` changed since `before`, as `after` has it. No change is carried by
/// nothing: then the answer is no.
pub fn carries(repo: &Repository, before: TreeId, after: TreeId, there: TreeId) -> Result<bool, GitError> {
    let find = |tree| repo.find_tree(oid(tree)?).map_err(|e| other(&e));
    let there = find(there)?;
    let diff =
        repo.diff_tree_to_tree(Some(&find(before)?), Some(&find(after)?), None).map_err(|e| other(&e))?;
    let carried = |delta: git2::DiffDelta<'_>| {
        let wanted = (delta.status() != git2::Delta::Deleted).then(|| delta.new_file().id());
        let found = delta.new_file().path().and_then(|path| there.get_path(path).ok());
        found.map(|entry| entry.id()) == wanted
    };
    Ok(diff.deltas().len() > 0 && diff.deltas().all(carried))
}

/// Returns what changes do to a tree, as `git apply` reads it, contents that are no text included.
pub fn patch(repo: &Repository, onto: TreeId, changes: &ChangeSet) -> Result<String, GitError> {
    let before = repo.find_tree(oid(onto)?).map_err(|e| other(&e))?;
    let after = write_tree(repo, &before, &changes.files)?;
    let mut options = git2::DiffOptions::new();
    options.show_binary(true).id_abbrev(40);
    let diff =
        repo.diff_tree_to_tree(Some(&before), Some(&after), Some(&mut options)).map_err(|e| other(&e))?;
    let mut text = Vec::new();
    diff.print(git2::DiffFormat::Patch, |_, _, line| {
        if matches!(line.origin(), '+' | '-' | ' ') {
            text.push(u8::try_from(line.origin()).unwrap_or(b' '));
        }
        text.extend_from_slice(line.content());
        true
    })
    .map_err(|e| other(&e))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::RepoPath;

    #[test]
    fn a_tree_that_differs_in_more_than_its_changes_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let repo = Repository::init_bare(folder.path()).unwrap();
        let tree = |files: &[(&str, &str)]| {
            let mut builder = repo.treebuilder(None).unwrap();
            for (name, text) in files {
                builder.insert(name, repo.blob(text.as_bytes()).unwrap(), 0o100_644).unwrap();
            }
            repo.find_tree(builder.write().unwrap()).unwrap()
        };
        let base = tree(&[("a", "old"), ("b", "same")]);
        let change = FileChange {
            path: RepoPath::new("a").unwrap(),
            mode: Mode::File,
            before_id: base.get_name("a").map(|entry| id(entry.id())),
            before: b"old".to_vec(),
            after: Some(b"new".to_vec()),
            rendered: false,
        };
        let proven =
            |files: &[(&str, &str)]| prove(&repo, &base, &tree(files), std::slice::from_ref(&change));
        assert!(proven(&[("a", "new"), ("b", "same")]).is_ok());
        for odd in [
            &[("a", "new"), ("b", "other")][..],
            &[("a", "new")],
            &[("a", "new"), ("b", "same"), ("c", "more")],
            &[("a", "newer"), ("b", "same")],
            &[("a", "old"), ("b", "same")],
        ] {
            assert!(proven(odd).is_err(), "{odd:?}");
        }
    }

    #[test]
    fn what_a_forge_made_is_taken_over_where_it_is_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let repo = Repository::init_bare(folder.path()).unwrap();
        let (tree, parent) = ("a".repeat(40), "b".repeat(40));
        let commit = |tree: &str, parent: &str, who: &str, message: &str| {
            format!(
                "tree {tree}\nparent {parent}\nauthor {who} 1 +0000\ncommitter {who} 2 +0000\n\n{message}"
            )
        };
        let ours = commit(&tree, &parent, "A <a@b>", "Subject\n\nUplinker-Plan: 1\n");
        let ours = parse_commit(CommitId([1; 20]), ours.as_bytes()).unwrap();
        let adopted = |payload: &str, end: &str, change: &dyn Fn(&mut SignedCommit)| {
            let signature = "-----BEGIN-----\n\nx\n-----END-----";
            let object = with_signature(payload, &format!("{signature}{end}"));
            let id = git2::Oid::hash_object(git2::ObjectType::Commit, object.as_bytes()).unwrap().to_string();
            let mut signed =
                SignedCommit { id, payload: payload.to_owned(), signature: format!("{signature}\n") };
            change(&mut signed);
            adopt(&repo, &signed, &ours).unwrap()
        };
        let theirs = commit(&tree, &parent, "Forge <f@g>", "Subject\n\nUplinker-Plan: 1");
        for end in ["", "\n", "\n\n"] {
            let made = adopted(&theirs, end, &|_| {}).expect("the same commit");
            assert!(repo.find_commit(oid(made).unwrap()).unwrap().header_field_bytes("gpgsig").is_ok());
        }
        assert_eq!(adopted(&theirs, " ", &|_| {}), None, "put together in another way");
        assert_eq!(adopted(&theirs, "", &|signed| signed.id = "c".repeat(40)), None, "another id");
        for other in [
            commit(&"d".repeat(40), &parent, "Forge <f@g>", "Subject\n\nUplinker-Plan: 1"),
            commit(&tree, &"d".repeat(40), "Forge <f@g>", "Subject\n\nUplinker-Plan: 1"),
            commit(&tree, &parent, "Forge <f@g>", "Subject\n\nUplinker-Plan: 2"),
        ] {
            assert_eq!(adopted(&other, "", &|_| {}), None, "{other}");
        }
    }

    #[test]
    fn a_trailer_joins_the_block_that_is_there() {
        let one = with_trailer(
            "Subject\n\nBody.\n\nLinkerd-Version: edge-26.8.3\nSigned-off-by: A <a@b>\n",
            "T",
            "v",
        );
        assert!(one.ends_with("Linkerd-Version: edge-26.8.3\nSigned-off-by: A <a@b>\nT: v\n"));
        assert_eq!(with_trailer("Subject", "T", "v"), "Subject\n\nT: v\n");
        assert_eq!(with_trailer("fix: subject", "T", "v"), "fix: subject\n\nT: v\n");
        assert_eq!(
            with_trailer("Subject\n\nNot: a trailer\nbut text", "T", "v"),
            "Subject\n\nNot: a trailer\nbut text\n\nT: v\n"
        );
    }
}
