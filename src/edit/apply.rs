//! A plan applied to a tree, file by file: the change set, or the first reason why there is none.

use std::collections::BTreeMap;

use super::{EditError, NewEntry, Refusal, Replacement, chart_lock, insert_all, replace_all};
use crate::repo::{ChangeSet, FileChange};
use crate::{
    pins::{Form, Pin},
    plan::{Move, NewText, Plan},
    repo::{Entry, Mode, RepoPath, Tree},
    yaml::Route,
};

/// What is to change in one file.
#[derive(Default)]
struct FileMoves<'a> {
    fixed: Vec<Replacement>,
    /// Entries that are not there yet.
    absent: Vec<NewEntry>,
    /// The digest of a `Chart.lock`, whose text follows from the other changes.
    digests: Vec<&'a Pin>,
}

/// A file of the tree that is to change.
struct Before<'a> {
    entry: &'a Entry,
    text: String,
}

/// Makes all moves of a plan, or none.
pub fn apply(plan: &Plan, tree: &dyn Tree) -> Result<ChangeSet, EditError> {
    let moves = by_file(plan)?;
    let mut files = BTreeMap::new();
    for (path, moves) in moves.iter().filter(|(_, m)| m.digests.is_empty()) {
        let before = read(tree, path)?;
        let after = edited(&before.text, moves).map_err(|e| e.in_file(path))?;
        files.insert(*path, (before, after));
    }
    // Locks come last: their digests cover charts that are edited above.
    for (path, moves) in moves.iter().filter(|(_, m)| !m.digests.is_empty()) {
        let before = read(tree, path)?;
        let chart_path = chart_of(path)?;
        let chart = match files.get(&chart_path) {
            Some((_, after)) => after.clone(),
            None => read(tree, &chart_path)?.text,
        };
        let after = lock(&before.text, moves, &chart).map_err(|e| e.in_file(path))?;
        files.insert(*path, (before, after));
    }
    let changed = files.into_iter().filter(|(_, (before, after))| before.text != *after);
    let change = |(path, (before, after)): (&RepoPath, (Before<'_>, String))| FileChange {
        path: path.clone(),
        mode: before.entry.mode,
        before_id: Some(before.entry.id),
        before: before.text.into_bytes(),
        after: Some(after.into_bytes()),
        rendered: false,
    };
    Ok(ChangeSet { files: changed.map(change).collect() })
}

fn by_file(plan: &Plan) -> Result<BTreeMap<&RepoPath, FileMoves<'_>>, EditError> {
    let mut files: BTreeMap<_, FileMoves<'_>> = BTreeMap::new();
    for Move { pin, new } in &plan.moves {
        let moves = files.entry(&pin.path).or_default();
        match new {
            NewText::LockDigest => moves.digests.push(pin),
            NewText::Fixed(new) => match (pin.form, pin.site.route.as_ref().and_then(Route::split)) {
                (Form::Absent, Some((mapping, key))) => {
                    moves.absent.push(NewEntry { mapping, key: key.to_owned(), value: new.clone() });
                }
                (Form::Absent, None) => {
                    let route = pin.site.route.as_ref().map(Route::display).unwrap_or_default();
                    return Err(EditError::whole(Refusal::NoSuchPlace { route }).in_file(&pin.path));
                }
                _ => moves.fixed.push(replacement(pin, new.clone())),
            },
            // `render` makes such a file.
            NewText::Rendered(_) => {}
            // Only what takes a change back has such a move, and restores its files.
            NewText::Gone => {}
        }
    }
    Ok(files)
}

/// Replaces what is there, then adds what is not: an entry more changes no route of another.
fn edited(text: &str, moves: &FileMoves<'_>) -> Result<String, EditError> {
    let replaced = replace_all(text, &moves.fixed)?;
    insert_all(&replaced, &moves.absent)
}

fn replacement(pin: &Pin, new: String) -> Replacement {
    Replacement { site: pin.site.clone(), old: pin.value.clone(), new }
}

/// Edits the versions of a lock, then its digest over the edited chart and lock.
fn lock(text: &str, moves: &FileMoves<'_>, chart: &str) -> Result<String, EditError> {
    let versions = replace_all(text, &moves.fixed)?;
    let digest = chart_lock::digest(chart, &versions)?;
    let digests = moves.digests.iter().map(|pin| replacement(pin, digest.clone()));
    let all: Vec<_> = moves.fixed.iter().cloned().chain(digests).collect();
    replace_all(text, &all)
}

/// Names the chart that a lock belongs to.
fn chart_of(lock: &RepoPath) -> Result<RepoPath, EditError> {
    let name = if lock.name() == "requirements.lock" { "requirements.yaml" } else { "Chart.yaml" };
    RepoPath::resolve(lock.folder(), name).ok_or_else(|| EditError::whole(Refusal::NoSuchFile).in_file(lock))
}

fn read<'t>(tree: &'t dyn Tree, path: &RepoPath) -> Result<Before<'t>, EditError> {
    let entries = tree.entries();
    let refused = |refusal| EditError::whole(refusal).in_file(path);
    let entry = entries.binary_search_by(|e| e.path.cmp(path)).ok().and_then(|n| entries.get(n));
    let entry = entry.filter(|e| matches!(e.mode, Mode::File | Mode::Executable));
    let entry = entry.ok_or_else(|| refused(Refusal::NoSuchFile))?;
    let bytes = tree.read(entry.id).map_err(|e| refused(Refusal::Unreadable(e.to_string())))?;
    // git-crypt's text is no UTF-8 either, and this is what its owner needs to hear.
    if bytes.starts_with(b"\0GITCRYPT\0") {
        return Err(refused(Refusal::Encrypted));
    }
    let text = String::from_utf8(bytes).map_err(|_| refused(Refusal::NotUtf8))?;
    Ok(Before { entry, text })
}
