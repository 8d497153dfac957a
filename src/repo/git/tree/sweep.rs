//! Step 3, repo: the content of very many objects of one type, each inflated once.
//!
//! In: object folders and ids. Out: calls with each content, from all cores. Git stores an object mostly as a difference to
//! another one, and that one as a difference again, fifty deep. libgit2 answers one question at a time and works
//! through such a chain anew for most of them; here a chain is walked once from its beginning. What is not plain (a
//! loose object, a base in another pack, anything damaged or large) gets no call, and the caller asks libgit2.
//!
//! A content is believed as libgit2 believes a pack's, by its lengths and zlib's checksum, and not hashed again: the pack was
//! when it arrived.

use std::{
    collections::HashSet,
    fs::File,
    ops::Range,
    path::PathBuf,
    sync::atomic::{AtomicUsize, Ordering},
};

use crate::repo::{
    ObjectId,
    git::tree::{
        entry::{Header, Inflater, Kind, Type, Window, apply},
        packs::{Pack, locate},
    },
    parallel,
};

/// The largest content that is worth it; one of a few bytes can claim to be of any size.
const LARGEST: u64 = 1 << 20;
/// Contents that one thread holds at most while it walks down a chain, in bytes.
const HELD: usize = 8 << 20;
/// Emptied contents whose memory a thread keeps for the next ones.
const SPARE: usize = 4;
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
    /// Where its own are in `wanted`.
    wanted: Range<u32>,
    /// Where its own are in `children`.
    children: Range<u32>,
}

/// Nodes that one thread reads.
#[derive(Default)]
struct Headers<'f> {
    window: Option<Window<'f>>,
    nodes: Vec<Node>,
}

/// A content whose differences are being read.
struct Frame {
    content: Vec<u8>,
    rest: Range<u32>,
    /// What it counts among those that wait while others are walked.
    held: usize,
}

/// Shows the content of every object of this type that can be read this way and is not over the ceiling.
pub(super) fn sweep(
    objects: &[PathBuf],
    (of, ids): (Type, &[impl Copy + Into<ObjectId>]),
    ceiling: u64,
    see: See<'_>,
) {
    let ceiling = ceiling.min(LARGEST);
    for pack in locate(objects, ids) {
        let Ok(file) = File::open(&pack.path) else { continue };
        Families::new(&file, &pack).sweep(of, ceiling, see);
    }
}

// === impl Families ===

impl<'p> Families<'p> {
    fn new(file: &'p File, pack: &'p Pack) -> Self {
        let mut nodes = read_wanted(file, pack);
        let unread = read_bases(file, &nodes);
        if !unread.is_empty() {
            nodes.extend(unread);
            nodes.sort_unstable_by_key(|node| node.offset);
        }
        let bases = parallel::map(&nodes, |node| position(&nodes, node.base()?));
        let pair = |(child, base): (u32, Option<usize>)| Some((u32::try_from(base?).ok()?, child));
        let mut pairs: Vec<(u32, u32)> = (0..).zip(bases).filter_map(pair).collect();
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

    fn sweep(&self, of: Type, ceiling: u64, see: See<'_>) {
        let is_root = |node: &&Node| node.header.kind == Kind::Whole(of);
        let roots: Vec<&Node> = self.nodes.iter().filter(is_root).collect();
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

/// Reads the beginnings of all entries that are wanted, ordered by offset.
fn read_wanted<'f>(file: &'f File, pack: &Pack) -> Vec<Node> {
    let mut at = 0;
    let places: Vec<(u64, Range<u32>)> = pack
        .found
        .chunk_by(|(a, _), (b, _)| a == b)
        .map(|same| {
            let first = at;
            at += u32::try_from(same.len()).unwrap_or_default();
            (same.first().map_or(0, |(offset, _)| *offset), first..at)
        })
        .collect();
    let read = parallel::fold(&places, |read: &mut Headers<'f>, (offset, wanted)| {
        let header = Header::read(read.window.get_or_insert_with(|| Window::new(file)), *offset);
        let node = |header| Node { offset: *offset, header, wanted: wanted.clone(), children: 0..0 };
        read.nodes.extend(header.map(node));
    });
    parallel::together(read.into_iter().map(|read| read.nodes).collect())
}

/// Reads the beginnings of entries that are not wanted and that wanted ones build on.
fn read_bases(file: &File, nodes: &[Node]) -> Vec<Node> {
    let mut window = Window::new(file);
    let (mut unread, mut known) = (Vec::new(), HashSet::new());
    let bases = parallel::map(nodes, |node| node.base().filter(|base| position(nodes, *base).is_none()));
    for base in bases.into_iter().flatten() {
        // A base always lies before what builds on it, so that this ends.
        let mut next = Some(base);
        while let Some(offset) = next.filter(|at| position(nodes, *at).is_none() && known.insert(*at)) {
            let header = Header::read(&mut window, offset);
            let node = header.map(|header| Node { offset, header, wanted: 0..0, children: 0..0 });
            next = node.as_ref().and_then(Node::base);
            unread.extend(node);
        }
    }
    unread
}

/// Finds the node at an offset.
fn position(nodes: &[Node], offset: u64) -> Option<usize> {
    nodes.binary_search_by_key(&offset, |node| node.offset).ok()
}

// === impl Node ===

impl Node {
    fn base(&self) -> Option<u64> {
        match self.header.kind {
            Kind::Whole(_) => None,
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
        let mut stack = vec![self.shown(root, content)];
        let mut held = 0;
        while let Some(mut frame) = stack.pop() {
            held -= frame.held;
            let child = frame.rest.next().and_then(|n| self.families.children.get(n as usize));
            let child = child.and_then(|n| self.families.nodes.get(*n as usize));
            let built = child.and_then(|child| Some((child, self.built(child, &frame.content)?)));
            if frame.rest.is_empty() {
                self.spare.push(frame.content);
            } else {
                frame.held = frame.content.capacity();
                held += frame.held;
                stack.push(frame);
            }
            if let Some((child, content)) = built {
                stack.push(self.shown(child, content));
            }
            if held > HELD {
                break;
            }
        }
        self.spare.truncate(SPARE);
    }

    fn shown(&self, node: &Node, content: Vec<u8>) -> Frame {
        let same = self.families.wanted.get(node.wanted.start as usize..node.wanted.end as usize);
        same.into_iter().flatten().for_each(|(_, n)| (self.see)(*n, &content));
        Frame { content, rest: node.children.clone(), held: 0 }
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
    use crate::repo::BlobId;

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
        let done =
            Command::new("git").arg("-C").arg(folder).args(["repack", "-adfq", "--depth=400"]).status();
        assert!(done.unwrap().success());
        let id = |oid: &Oid| BlobId(<[u8; 20]>::try_from(oid.as_bytes()).unwrap());
        ids.iter().map(id).zip(contents).collect()
    }

    fn swept(folder: &std::path::Path, ids: &[BlobId], ceiling: u64) -> Vec<Option<Vec<u8>>> {
        let seen = Mutex::new(vec![None; ids.len()]);
        sweep(&[folder.join("objects")], (Type::Blob, ids), ceiling, &|n, content| {
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
        // Changed: what is shown all the same is right.
        for at in (12..whole.len() - 20).step_by(97) {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << (at % 8);
            std::fs::write(&pack, &damaged).unwrap();
            let seen = swept(folder.path(), &ids, 1 << 20);
            assert!(files.iter().zip(seen).all(|((_, content), seen)| seen.is_none_or(|s| s == *content)));
        }
        // An index that lies leads to other places of the pack, and it ends.
        std::fs::write(&pack, &whole).unwrap();
        let index = pack.with_extension("idx");
        let whole = std::fs::read(&index).unwrap();
        std::fs::remove_file(&index).unwrap();
        let seen = |at: usize| {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x55;
            std::fs::write(&index, &damaged).unwrap();
            swept(folder.path(), &ids, 1 << 20).iter().flatten().count()
        };
        assert!((0..whole.len() - 40).step_by(97).map(seen).any(|seen| seen < ids.len()));
    }

    /// Writes a pack and its index with these entries, each as its bytes stand there.
    fn by_hand(folder: &std::path::Path, entries: &[Vec<u8>]) -> Vec<BlobId> {
        let id = |n: u16| BlobId(std::array::from_fn(|at| n.to_be_bytes().get(at).copied().unwrap_or(7)));
        let ids: Vec<BlobId> = (0..).take(entries.len()).map(id).collect();
        let mut pack = b"PACK\0\0\0\x02".to_vec();
        pack.extend(u32::try_from(entries.len()).unwrap().to_be_bytes());
        let (mut sums, mut offsets) = (Vec::new(), Vec::new());
        for entry in entries {
            offsets.extend(u32::try_from(pack.len()).unwrap().to_be_bytes());
            sums.extend([0; 4]);
            pack.extend(entry);
        }
        let mut index = vec![0xFF, b't', b'O', b'c', 0, 0, 0, 2];
        // Only the last of these counts, that of all ids, is asked for.
        index.extend([u32::try_from(entries.len()).unwrap().to_be_bytes(); 256].concat());
        index.extend(ids.iter().flat_map(|id| id.0));
        index.extend(sums.into_iter().chain(offsets));
        let packs = folder.join("objects/pack");
        std::fs::create_dir_all(&packs).unwrap();
        std::fs::write(packs.join("a.pack"), &pack).unwrap();
        std::fs::write(packs.join("a.idx"), &index).unwrap();
        ids
    }

    fn entry(kind: u8, mut size: u64, base: &[u8], content: &[u8]) -> Vec<u8> {
        let mut bytes = vec![kind << 4 | (size & 0x0F) as u8];
        size >>= 4;
        while size > 0 {
            *bytes.last_mut().unwrap() |= 0x80;
            bytes.push((size & 0x7F) as u8);
            size >>= 7;
        }
        bytes.extend(base);
        let mut stream = flate2::write::ZlibEncoder::new(bytes, flate2::Compression::best());
        std::io::Write::write_all(&mut stream, content).unwrap();
        stream.finish().unwrap()
    }

    #[test]
    fn entries_that_lie_are_left_to_libgit2() {
        let zeros = vec![0; 4 << 20];
        let sound = entry(3, 2, &[], b"ok");
        let cut = |bytes: Vec<u8>| bytes[..bytes.len() - 4].to_vec();
        let (to_sound, length) = (u8::try_from(sound.len()).unwrap(), 1 << 40);
        // Size 2 to size 2^40: insert one byte.
        let huge_result = [2, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20, 1, b'x'];
        let entries = [
            sound.clone(),
            entry(6, 9, &[to_sound], &huge_result),
            entry(3, length, &[], b"tiny"),
            entry(3, 10, &[], &zeros),
            entry(3, zeros.len() as u64, &[], &zeros),
            entry(6, 4, &[0], b"abcd"),
            entry(6, 4, &[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7F], b"abcd"),
            entry(7, 4, &[5; 20], b"abcd"),
            entry(1, 2, &[], b"ok"),
            vec![0xFF; 30],
            cut(entry(3, 2, &[], b"ok")),
        ];
        let folder = tempfile::tempdir().unwrap();
        let ids = by_hand(folder.path(), &entries);
        let seen = swept(folder.path(), &ids, u64::MAX);
        assert_eq!(seen[0].as_deref(), Some(b"ok".as_slice()));
        assert_eq!(seen.iter().flatten().count(), 1, "{seen:?}");
    }

    #[test]
    fn what_is_larger_than_is_read_at_a_time_is_shown_too() {
        let next = |x: &u64| Some((x ^ (x << 13) ^ (x >> 7)).rotate_left(17));
        // Noise, which no compression makes smaller.
        let noise: Vec<u8> = std::iter::successors(Some(88_172_645_463_325_252), next)
            .flat_map(u64::to_le_bytes)
            .take(40_000)
            .collect();
        let entries = [entry(3, noise.len() as u64, &[], &noise), entry(3, 2, &[], b"ok")];
        assert!(entries[0].len() > noise.len(), "it is packed as it is");
        let folder = tempfile::tempdir().unwrap();
        let ids = by_hand(folder.path(), &entries);
        assert_eq!(swept(folder.path(), &ids, 1 << 20), [Some(noise), Some(b"ok".to_vec())]);
    }

    #[test]
    fn a_chain_without_end_is_walked_to_its_end() {
        let text = |n: u16| format!("{n:04}").into_bytes();
        let mut entries = vec![entry(3, 4, &[], &text(0))];
        for n in 1..5000 {
            let before = u8::try_from(entries.last().map_or(0, Vec::len)).unwrap();
            entries.push(entry(6, 7, &[before], &[&[4, 4, 4], &*text(n)].concat()));
        }
        let folder = tempfile::tempdir().unwrap();
        let ids = by_hand(folder.path(), &entries);
        let seen = swept(folder.path(), &ids, 1 << 20);
        assert!(seen.iter().zip(0..).all(|(seen, n)| *seen == Some(text(n))));
    }
}
