//! Step 3, repo: files of the whole tree that have a word in them.
//!
//! In: a tree and words. Out: the texts of its YAML and JSON files with one of them. Nothing of them is understood here.

use std::sync::{Mutex, PoisonError};

use memchr::memmem;

use super::{BlobId, Entry, Mode, Tree};

/// As [`Tree::mentioning`] says.
pub(super) fn find<'t, T: Tree + ?Sized>(
    tree: &'t T,
    words: &[&str],
    ceiling: u64,
) -> Vec<(&'t Entry, String)> {
    let is_yaml = |entry: &&Entry| {
        let name = entry.path.name();
        matches!(entry.mode, Mode::File | Mode::Executable)
            && [".yaml", ".yml", ".json"].iter().any(|end| name.ends_with(end))
    };
    let entries: Vec<&Entry> = tree.entries().iter().filter(is_yaml).collect();
    let ids: Vec<BlobId> = entries.iter().map(|entry| entry.id).collect();
    let finders: Vec<memmem::Finder<'_>> = words.iter().map(|word| memmem::Finder::new(*word)).collect();
    let text_of = |content: &[u8]| {
        let found = finders.iter().any(|finder| finder.find(content).is_some());
        found.then(|| String::from_utf8(content.to_vec()).ok()).flatten()
    };
    let texts: Mutex<Vec<Option<Option<String>>>> = Mutex::new(vec![None; ids.len()]);
    let keep = |at: usize, content: &[u8]| {
        let text = text_of(content);
        if let Some(slot) = texts.lock().unwrap_or_else(PoisonError::into_inner).get_mut(at) {
            *slot = Some(text);
        }
    };
    tree.sweep(&ids, ceiling, &keep);
    let mut texts = texts.into_inner().unwrap_or_else(PoisonError::into_inner);
    for (slot, id) in texts.iter_mut().zip(&ids).filter(|(slot, _)| slot.is_none()) {
        let small = tree.size(*id).is_ok_and(|size| size <= ceiling);
        let content = small.then(|| tree.read(*id).ok()).flatten().unwrap_or_default();
        *slot = Some(text_of(&content));
    }
    entries.into_iter().zip(texts).filter_map(|(entry, text)| Some((entry, text.flatten()?))).collect()
}
