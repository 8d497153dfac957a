//! Step 3, scan: the content of very many blobs, each inflated once.
//!
//! In: object folders and ids. Out: calls with each content, from all cores. Git stores a blob mostly as a difference to
//! another one, and that one as a difference again, fifty deep. libgit2 answers one question at a time and works
//! through such a chain anew for most of them; here a chain is walked once from its beginning. What is not plain (a
//! loose object, a base in another pack, anything damaged or large) gets no call, and the caller asks libgit2.

use std::{
    fs::File,
    ops::Range,
    path::PathBuf,
    sync::atomic::{AtomicUsize, Ordering},
};

use super::{
    entry::{Header, Inflater, Kind, apply},
    packs::{Pack, locate},
};
use crate::scan::{BlobId, parallel};

/// Contents that one thread holds at most while it walks down a chain, in bytes.
const HELD: usize = 64 << 20;
/// Beginnings of chains that a thread takes at a time.
const BATCH: usize = 8;

/// Told the position of a wanted id, and the content.
type See<'a> = &'a (dyn Fn(usize, &[u8]) + Sync);

/// The entries of a pack that are wanted or that wanted ones build on.
struct Families<'p> {
    file: &'p File,
    /// Ordered by offset, so that a base comes before what builds on it.
    nodes: Vec<Node>,
    /// The positions of the nodes that build on each node, one after the other.
    children: Vec<u32>,
    /// As found by the index, ordered by offset.
    wanted: &'p [(u64, usize)],
}

struct Node {
    offset: u64,
    header: Header,
    /// Where its own begin in `children`.
    children: Range<u32>,
}

/// A content whose differences are being read.
struct Frame {
    content: Vec<u8>,
    rest: Range<u32>,
}

/// Shows the content of every blob that can be read this way and is not over the ceiling.
pub(super) fn sweep(objects: &[PathBuf], ids: &[BlobId], ceiling: u64, see: See<'_>) {
    for mut pack in locate(objects, ids) {
        pack.found.sort_unstable();
        let Ok(file) = File::open(&pack.path) else { continue };
        Families::new(&file, &pack).sweep(ceiling, see);
    }
}

// === impl Families ===

impl<'p> Families<'p> {
    fn new(file: &'p File, pack: &'p Pack) -> Self {
        let mut nodes: Vec<Node> = Vec::new();
        let mut todo: Vec<u64> = pack.found.iter().map(|(offset, _)| *offset).collect();
        while !todo.is_empty() {
            todo.sort_unstable();
            todo.dedup();
            let known = nodes.len();
            for offset in todo.drain(..) {
                let new = nodes
                    .get(..known)
                    .is_some_and(|n| n.binary_search_by_key(&offset, |n| n.offset).is_err());
                if new && let Some(header) = Header::read(file, offset) {
                    nodes.push(Node { offset, header, children: 0..0 });
                }
            }
            todo.extend(nodes.iter().skip(known).filter_map(Node::base));
            // Stable, since all but the new ones are in order already.
            nodes.sort_by_key(|node| node.offset);
        }
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        for (child, node) in (0_u32..).zip(&nodes) {
            let base = node.base().and_then(|base| nodes.binary_search_by_key(&base, |n| n.offset).ok());
            pairs.extend(base.and_then(|base| u32::try_from(base).ok()).map(|base| (base, child)));
        }
        pairs.sort_unstable();
        for (at, (base, _)) in (0_u32..).zip(&pairs) {
            if let Some(node) = nodes.get_mut(*base as usize) {
                let first = if node.children.is_empty() { at } else { node.children.start };
                node.children = first..at + 1;
            }
        }
        Self {
            file,
            nodes,
            children: pairs.into_iter().map(|(_, child)| child).collect(),
            wanted: &pack.found,
        }
    }

    fn sweep(&self, ceiling: u64, see: See<'_>) {
        let roots: Vec<&Node> = self.nodes.iter().filter(|node| node.header.kind == Kind::Blob).collect();
        let next = AtomicUsize::new(0);
        parallel::on_all_cores(|| {
            let mut walk =
                Walk { families: self, inflater: Inflater::new(self.file), spare: Vec::new(), ceiling, see };
            loop {
                let start = next.fetch_add(BATCH, Ordering::Relaxed);
                let Some(batch) = roots.get(start..).filter(|rest| !rest.is_empty()) else { break };
                batch.iter().take(BATCH).for_each(|root| walk.family(root));
            }
        });
    }
}

// === impl Node ===

impl Node {
    fn base(&self) -> Option<u64> {
        match self.header.kind {
            Kind::Blob => None,
            Kind::Delta(base) => Some(base),
        }
    }
}

/// One thread's walk down the families.
struct Walk<'w, 'p> {
    families: &'w Families<'p>,
    inflater: Inflater<'p>,
    /// Memory to be used again.
    spare: Vec<Vec<u8>>,
    ceiling: u64,
    see: See<'w>,
}

// === impl Walk ===

impl Walk<'_, '_> {
    /// Shows a blob and everything that builds on it.
    fn family(&mut self, root: &Node) {
        let Some(content) = self.inflated(root) else { return };
        let mut held = content.capacity();
        let mut stack = vec![self.shown(root, content)];
        while let Some(frame) = stack.last_mut() {
            let Some(child) = frame.rest.next() else {
                held -= frame.content.capacity();
                self.spare.extend(stack.pop().map(|frame| frame.content));
                continue;
            };
            let child = self.families.children.get(child as usize);
            let Some(child) = child.and_then(|n| self.families.nodes.get(*n as usize)) else { continue };
            let Some(content) = self.built(child, &frame.content) else { continue };
            held += content.capacity();
            let frame = self.shown(child, content);
            stack.push(frame);
            if held > HELD {
                return;
            }
        }
    }

    fn shown(&self, node: &Node, content: Vec<u8>) -> Frame {
        let wanted = self.families.wanted;
        let first = wanted.partition_point(|(offset, _)| *offset < node.offset);
        let same = wanted.iter().skip(first).take_while(|(offset, _)| *offset == node.offset);
        same.for_each(|(_, n)| (self.see)(*n, &content));
        Frame { content, rest: node.children.clone() }
    }

    fn inflated(&mut self, node: &Node) -> Option<Vec<u8>> {
        if node.header.size > self.ceiling {
            return None;
        }
        let mut output = self.spare.pop().unwrap_or_default();
        self.inflater.inflate(&node.header, &mut output)?;
        Some(output)
    }

    fn built(&mut self, node: &Node, base: &[u8]) -> Option<Vec<u8>> {
        let delta = self.inflated(node)?;
        let mut output = self.spare.pop().unwrap_or_default();
        let applied = apply(base, &delta, self.ceiling, &mut output);
        self.spare.push(delta);
        applied.map(|()| output)
    }
}

#[cfg(test)]
mod tests {
    use std::{process::Command, sync::Mutex};

    use git2::{Oid, Repository};

    use super::*;

    /// Makes files that Git stores as long chains of differences, and packs them as it does.
    fn packed(folder: &std::path::Path) -> Vec<(BlobId, Vec<u8>)> {
        let repo = Repository::init_bare(folder).unwrap();
        let text = |n: usize| -> Vec<u8> {
            let lines = (0..80).map(|line| {
                format!("line {} of a long file\n", if line == n % 80 { n * 7919 } else { line })
            });
            lines.chain((0..n % 13).map(|k| format!("and {k} more\n"))).collect::<String>().into_bytes()
        };
        let contents: Vec<Vec<u8>> =
            (0..400).map(text).chain([Vec::new(), b"alone".to_vec(), vec![7; 100_000]]).collect();
        let ids: Vec<Oid> = contents.iter().map(|content| repo.blob(content).unwrap()).collect();
        let mut tree = repo.treebuilder(None).unwrap();
        for (n, id) in ids.iter().enumerate() {
            tree.insert(format!("file-{n}"), *id, 0o100_644).unwrap();
        }
        let tree = repo.find_tree(tree.write().unwrap()).unwrap();
        let who = git2::Signature::now("a", "a@example.com").unwrap();
        repo.commit(Some("HEAD"), &who, &who, "make", &tree, &[]).unwrap();
        let done = Command::new("git").arg("-C").arg(folder).args(["repack", "-adfq", "--depth=50"]).status();
        assert!(done.unwrap().success());
        let id = |oid: &Oid| BlobId(<[u8; 20]>::try_from(oid.as_bytes()).unwrap());
        ids.iter().map(id).zip(contents).collect()
    }

    fn swept(folder: &std::path::Path, ids: &[BlobId], ceiling: u64) -> Vec<Option<Vec<u8>>> {
        let seen = Mutex::new(vec![None; ids.len()]);
        sweep(&[folder.join("objects")], ids, ceiling, &|n, content| {
            seen.lock().unwrap()[n] = Some(content.to_vec());
        });
        seen.into_inner().unwrap()
    }

    #[test]
    fn every_packed_blob_is_shown_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let files = packed(folder.path());
        let ids: Vec<BlobId> = files.iter().map(|(id, _)| *id).chain([BlobId([9; 20]), files[5].0]).collect();
        let seen = swept(folder.path(), &ids, 1 << 20);
        for ((_, content), seen) in files.iter().zip(&seen) {
            assert_eq!(seen.as_ref(), Some(content));
        }
        assert_eq!((&seen[403], &seen[404]), (&None, &seen[5]));
        // A difference alone brings what it builds on.
        for (id, content) in &files {
            assert_eq!(swept(folder.path(), &[*id], 1 << 20), [Some(content.clone())]);
        }
        assert_eq!(swept(folder.path(), &[files[402].0], 99_999), [None]);
    }

    #[test]
    fn a_damaged_pack_is_no_danger() {
        let folder = tempfile::tempdir().unwrap();
        let files = packed(folder.path());
        let ids: Vec<BlobId> = files.iter().map(|(id, _)| *id).collect();
        let pack = locate(&[folder.path().join("objects")], &ids).remove(0).path;
        let whole = std::fs::read(&pack).unwrap();
        std::fs::remove_file(&pack).unwrap();
        // Cut off: what is still there is right, and what builds on the rest is not shown.
        std::fs::write(&pack, &whole[..whole.len() / 2]).unwrap();
        let seen = swept(folder.path(), &ids, 1 << 20);
        assert!((1..ids.len()).contains(&seen.iter().flatten().count()));
        assert!(files.iter().zip(seen).all(|((_, content), seen)| seen.is_none_or(|seen| seen == *content)));
        // Changed: whatever the bytes say, it ends.
        for at in (12..whole.len()).step_by(31) {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x55;
            std::fs::write(&pack, &damaged).unwrap();
            assert_eq!(swept(folder.path(), &ids, 1 << 20).len(), ids.len());
        }
    }
}
