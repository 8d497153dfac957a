//! Step 7, edit: takes a change back, with what came since kept.
//!
//! In: the trees before and after the change, and now; the plan that says what its pins go back to. Out: a [`ChangeSet`]. What
//! nobody has touched since is restored byte for byte; else both changes are merged line by line, as Git does it; where
//! those touch, pin by pin. Pure.

use std::collections::HashMap;

use super::{EditError, Refusal, Replacement, replace_all};
use crate::{
    pins::{Inventory, Pin, PinKey},
    plan::{NewText, Plan},
    repo::{BlobId, ChangeSet, Entry, FileChange, Mode, RepoPath, Tree, git::merge},
    yaml::encrypted,
};

/// A change that is to be taken back.
#[derive(Clone, Copy)]
pub struct Restoring<'a> {
    /// The tree before it.
    pub before: &'a dyn Tree,
    /// The tree after it.
    pub after: &'a dyn Tree,
    /// What the scan finds in that one.
    pub then: &'a Inventory,
    /// The tree as it is.
    pub now: &'a dyn Tree,
    /// What the scan finds in it.
    pub inventory: &'a Inventory,
    /// What its pins go back to.
    pub plan: &'a Plan,
    /// Tells whether a file has a part in it.
    pub is_part: &'a dyn Fn(&RepoPath) -> bool,
    /// Tells whether a file was rendered as a whole.
    pub is_rendered: &'a dyn Fn(&RepoPath) -> bool,
}

/// Restores the files of a change.
pub fn restore(restoring: &Restoring<'_>) -> Result<ChangeSet, EditError> {
    let paths =
        differing(restoring.before, restoring.after).into_iter().filter(|path| (restoring.is_part)(path));
    let changes = paths.filter_map(|path| restoring.file(path).map_err(|e| e.in_file(path)).transpose());
    Ok(ChangeSet { files: changes.collect::<Result<_, _>>()? })
}

/// Lists the files that two trees do not have alike, ordered.
fn differing<'t>(before: &'t dyn Tree, after: &'t dyn Tree) -> Vec<&'t RepoPath> {
    let same = |entry: &Entry, other: &dyn Tree| other.entry(entry.path.as_str()) == Some(entry);
    let left = before.entries().iter().filter(|entry| !same(entry, after)).map(|entry| &entry.path);
    let right = after.entries().iter().filter(|entry| before.entry(entry.path.as_str()).is_none());
    let mut paths: Vec<&RepoPath> = left.chain(right.map(|entry| &entry.path)).collect();
    paths.sort_unstable();
    paths
}

// === impl Restoring ===

impl Restoring<'_> {
    fn file(&self, path: &RepoPath) -> Result<Option<FileChange>, EditError> {
        let of = |tree: &dyn Tree| tree.entry(path.as_str()).map(|entry| (entry.id, entry.mode));
        let (before, after, now) = (of(self.before), of(self.after), of(self.now));
        if now == before {
            return Ok(None);
        }
        let is_file = |(_, mode): (BlobId, Mode)| matches!(mode, Mode::File | Mode::Executable);
        if ![before, after, now].into_iter().flatten().all(is_file) {
            return Err(EditError::whole(Refusal::Since("it is no regular file")));
        }
        let restored = match (before, after, now) {
            (Some((id, mode)), ..) if now == after => Some((read(self.before, id)?, mode)),
            (None, ..) if now == after => None,
            (Some((before, mode)), Some((after, _)), Some((now, since))) if mode == since => {
                let texts = (read(self.before, before)?, read(self.after, after)?, read(self.now, now)?);
                Some((self.merged(path, texts)?, mode))
            }
            _ => return Err(EditError::whole(Refusal::Since("it has come or gone since"))),
        };
        let mode = restored.as_ref().map(|(_, mode)| *mode).or(now.map(|(_, mode)| mode));
        Ok(Some(FileChange {
            path: path.clone(),
            mode: mode.unwrap_or(Mode::File),
            before_id: now.map(|(id, _)| id),
            before: now.map(|(id, _)| read(self.now, id)).transpose()?.unwrap_or_default(),
            after: restored.map(|(text, _)| text),
            rendered: (self.is_rendered)(path),
        }))
    }

    fn merged(&self, path: &RepoPath, texts: (Vec<u8>, Vec<u8>, Vec<u8>)) -> Result<Vec<u8>, EditError> {
        let (before, after, now) = texts;
        if encrypted(&now) {
            return Err(EditError::whole(Refusal::Since("it is encrypted, and has changed since")));
        }
        let merged = merge(&after, &now, &before)
            .map_err(|error| EditError::whole(Refusal::Unreadable(error.to_string())))?;
        if let Some(text) = merged {
            return Ok(text);
        }
        let touches = || EditError::whole(Refusal::Since("the same lines have changed since"));
        let [before, after, now] =
            [before, after, now].map(|text| String::from_utf8(text).map_err(|_| touches()));
        self.by_pin(path, [&before?, &after?, &now?]).ok_or_else(touches)
    }

    /// Puts the old text of each pin into the text of now, where the change was nothing but that.
    fn by_pin(&self, path: &RepoPath, [before, after, now]: [&str; 3]) -> Option<Vec<u8>> {
        let then: HashMap<PinKey<'_>, &Pin> = self.then.pins().map(|pin| (pin.key(), pin)).collect();
        let (mut of_then, mut of_now) = (Vec::new(), Vec::new());
        for (pin, new) in self.plan.moving().filter(|(pin, _)| pin.path == *path) {
            let NewText::Fixed(new) = new else { continue };
            let old = then.get(&pin.key()).filter(|old| old.value == pin.value)?;
            let to_old =
                |pin: &Pin| Replacement { site: pin.site.clone(), old: pin.value.clone(), new: new.clone() };
            of_then.push(to_old(old));
            of_now.push(to_old(pin));
        }
        let was_that_alone = replace_all(after, &of_then).is_ok_and(|text| text == before);
        was_that_alone.then(|| replace_all(now, &of_now).ok()).flatten().map(String::into_bytes)
    }
}

fn read(tree: &dyn Tree, id: BlobId) -> Result<Vec<u8>, EditError> {
    tree.read(id).map_err(|error| EditError::whole(Refusal::Unreadable(error.to_string())))
}
