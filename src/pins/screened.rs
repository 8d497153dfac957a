//! Step 5, pins: a tree as its screen left it: what was read once is not read again.
//!
//! In: a tree and what its screen found. Out: the same tree. Each file that is read is asked for several times, and Git
//! unpacks it each time; for its size as well, which a blob that is a difference has inside the difference.

use std::collections::HashMap;

use super::screen::Hit;
use crate::repo::{BlobId, Entry, Tree, TreeError};

/// A [`Tree`] that was screened.
pub(super) struct ScreenedTree<'t> {
    tree: &'t dyn Tree,
    /// In bytes.
    sizes: HashMap<BlobId, u32>,
    contents: HashMap<BlobId, Vec<u8>>,
}

// === impl ScreenedTree ===

impl<'t> ScreenedTree<'t> {
    /// Notes the sizes of what the screen has read, and what it has kept of it.
    pub fn new(tree: &'t dyn Tree, hits: &[Hit], contents: HashMap<BlobId, Vec<u8>>) -> Self {
        let sized = hits.iter().filter(|hit| hit.size < u32::MAX);
        let sizes = sized.filter_map(|hit| Some((tree.entries().get(hit.entry)?.id, hit.size)));
        Self { tree, sizes: sizes.collect(), contents }
    }
}

impl Tree for ScreenedTree<'_> {
    fn entries(&self) -> &[Entry] {
        self.tree.entries()
    }

    fn entry(&self, path: &str) -> Option<&Entry> {
        self.tree.entry(path)
    }

    fn read(&self, id: BlobId) -> Result<Vec<u8>, TreeError> {
        self.contents.get(&id).map_or_else(|| self.tree.read(id), |content| Ok(content.clone()))
    }

    fn size(&self, id: BlobId) -> Result<u64, TreeError> {
        self.sizes.get(&id).map_or_else(|| self.tree.size(id), |size| Ok(u64::from(*size)))
    }

    fn odd_names(&self) -> &[String] {
        self.tree.odd_names()
    }

    fn sweep(&self, ids: &[BlobId], ceiling: u64, see: &(dyn Fn(usize, &[u8]) + Sync)) {
        self.tree.sweep(ids, ceiling, see);
    }

    fn mentioning(&self, words: &[&str], ceiling: u64) -> Vec<(&Entry, String)> {
        self.tree.mentioning(words, ceiling)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deploy::testing::MemoryTree;

    #[test]
    fn what_is_known_is_not_asked_for() {
        let tree = MemoryTree::of(&[("a.yaml", "of the tree"), ("b.yaml", "long"), ("c.yaml", "other")]);
        let id = |n: usize| tree.entries()[n].id;
        let hit = |entry, size| Hit { entry, named: true, linkerd: true, size, speaks: true };
        let contents = HashMap::from([(id(0), b"kept".to_vec())]);
        let screened = ScreenedTree::new(&tree, &[hit(0, 4), hit(1, u32::MAX)], contents);
        let known = |n: usize| (screened.read(id(n)).unwrap(), screened.size(id(n)).unwrap());
        assert_eq!(known(0), (b"kept".to_vec(), 4));
        // What is larger than can be counted, and what was not looked at, is the tree's to say.
        assert_eq!((known(1), known(2)), ((b"long".to_vec(), 4), (b"other".to_vec(), 5)));
    }
}
