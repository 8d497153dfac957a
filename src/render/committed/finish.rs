//! Step 7, render: what was written for all sets as changes of files.
//!
//! In: edits by set; several charts may be in one file. Out: [`FileChange`]s, with kustomizations in step. Every new text
//! is read back, and no text leaves that holds a stand-in for a key.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Committed, Regenerate, Regenerated,
    candidate::has_stand_in,
    field::same,
    kustomization::{self, Arrival, Moves},
    write::{FileEdit, Written},
};
use crate::{
    deploy::kustomize::NAMES as KUSTOMIZATIONS,
    edit::spliced,
    render::{Manifest, NotRendered, Rendering},
    repo::{Entry, FileChange, Mode, RepoPath, folders_up},
};

/// What was written so far.
#[derive(Default)]
pub(super) struct Finished {
    /// What changes, by object.
    pub(super) renderings: Vec<Rendering>,
    edits: BTreeMap<RepoPath, FileEdit>,
    new: BTreeMap<RepoPath, String>,
    added: Vec<Arrival>,
}

// === impl Finished ===

impl Finished {
    /// Takes what was written for a set, where all of it reads as meant; else the reason, and nothing of it.
    pub(super) fn take(
        &mut self,
        request: &Regenerate<'_>,
        set: &Committed,
        written: Written,
    ) -> Result<(), String> {
        let mut edits = self.edits.clone();
        for (path, edit) in &written.edits {
            let all = edits.entry(path.clone()).or_default();
            all.splices.extend(edit.splices.iter().cloned());
            all.splices.sort_by_key(|s| (s.span.start, s.span.end));
            all.dropped.extend(edit.dropped.iter().cloned());
            all.expected.extend(edit.expected.iter().map(|(k, v)| (k.clone(), v.clone())));
            result(request, path, all)?;
        }
        for (path, text) in &written.new {
            let sound = Manifest::parse(text.as_str()).is_ok() && !has_stand_in(text);
            if !sound || self.new.contains_key(path) {
                return Err(format!("the new file {path} of {} does not read as meant", set.chart));
            }
        }
        self.edits = edits;
        self.new.extend(written.new);
        self.added.extend(written.added);
        Ok(())
    }
}

/// Turns everything into changes of files.
pub(super) fn finish(request: &Regenerate<'_>, done: Finished, missing: Vec<NotRendered>) -> Regenerated {
    let mut changes = BTreeMap::new();
    let mut removed = Vec::new();
    for (path, edit) in &done.edits {
        let Some(entry) = entry(request, path) else { continue };
        let Ok(before) = request.tree.read(entry.id) else { continue };
        // Each was made once already when it was taken.
        let Ok(after) = result(request, path, edit) else { continue };
        if after.is_none() {
            removed.push(path.clone());
        }
        let after = after.map(String::into_bytes);
        if after.as_ref() != Some(&before) {
            changes.insert(path.clone(), change(path, Some(entry), before, after));
        }
    }
    for (path, text) in done.new {
        changes.insert(path.clone(), change(&path, None, Vec::new(), Some(text.into_bytes())));
    }
    for change in kustomizations(request, &Moves { added: &done.added, removed: &removed }) {
        changes.insert(change.path.clone(), change);
    }
    let changes = changes.into_values().collect();
    Regenerated { changes, renderings: done.renderings, missing, left: Vec::new() }
}

/// Makes the new text of a file, `None` where nothing is left in it.
fn result(request: &Regenerate<'_>, path: &RepoPath, edit: &FileEdit) -> Result<Option<String>, String> {
    let wrong = || format!("the new text of {path} does not read as meant");
    let entry = entry(request, path).ok_or_else(wrong)?;
    let text =
        request.tree.read(entry.id).ok().and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(wrong)?;
    let before = Manifest::parse(text.as_str()).map_err(|_| wrong())?;
    let after = spliced(&text, &edit.splices).ok_or_else(wrong)?;
    let read = Manifest::parse(after.as_str()).map_err(|_| wrong())?;
    let mut expected: BTreeMap<_, _> = before
        .objects
        .iter()
        .filter(|o| !edit.dropped.contains(&o.key))
        .map(|o| (&o.key, &o.value))
        .collect();
    expected.extend(&edit.expected);
    let as_meant = read.objects.len() == expected.len()
        && read.objects.iter().all(|o| expected.get(&o.key).is_some_and(|value| same(value, &o.value)));
    if !as_meant || has_stand_in(&after) {
        return Err(wrong());
    }
    Ok((!read.objects.is_empty()).then_some(after))
}

fn change(path: &RepoPath, entry: Option<&Entry>, before: Vec<u8>, after: Option<Vec<u8>>) -> FileChange {
    FileChange {
        path: path.clone(),
        mode: entry.map_or(Mode::File, |e| e.mode),
        before_id: entry.map(|e| e.id),
        before,
        after,
        rendered: true,
    }
}

/// Brings the kustomizations above the files up to date.
fn kustomizations(request: &Regenerate<'_>, moves: &Moves<'_>) -> Vec<FileChange> {
    let paths = moves.added.iter().map(|arrival| &arrival.path).chain(moves.removed);
    let folders: BTreeSet<&str> = paths.flat_map(|path| folders_up(path.folder())).collect();
    let mut changes = Vec::new();
    for (folder, name) in folders.iter().flat_map(|f| KUSTOMIZATIONS.map(|name| (*f, name))) {
        let Some(path) = RepoPath::resolve(folder, name) else { continue };
        let Some(entry) = entry(request, &path).filter(|e| matches!(e.mode, Mode::File | Mode::Executable))
        else {
            continue;
        };
        let Ok(before) = request.tree.read(entry.id) else { continue };
        let Ok(text) = std::str::from_utf8(&before) else { continue };
        if let Some(after) = kustomization::follow(text, folder, moves) {
            changes.push(change(&path, Some(entry), before.clone(), Some(after.into_bytes())));
        }
    }
    changes
}

fn entry<'a>(request: &Regenerate<'a>, path: &RepoPath) -> Option<&'a Entry> {
    let entries = request.tree.entries();
    entries.binary_search_by(|e| e.path.cmp(path)).ok().and_then(|n| entries.get(n))
}
