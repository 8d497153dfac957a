//! Step 3, repo: all paths of a tree.
//!
//! In: an object database and a tree. Out: its entries, ordered by path. Folders are read on all cores, as soon as there are
//! enough of them; what a hostile tree can spell out is bounded over all of them together.

use std::sync::{
    OnceLock,
    atomic::{AtomicUsize, Ordering},
};

use git2::{ObjectType, Odb};
use openssl::sha::Sha1;

use super::{Objects, entry::Type, oid, sweep::sweep};
use crate::repo::{BlobId, Entry, Mode, RepoPath, TreeError, TreeId, parallel};

/// How many entries, folders included, one tree may have. A tree that names itself over and over in few bytes ends here.
const MAX_ENTRIES: usize = 2_000_000;
/// How many bytes all paths together may have: a few objects that name each other can spell out gigabytes.
const MAX_PATH_BYTES: usize = 256 << 20;
/// How long a path may be, as on most file systems; also bounds how deep folders nest.
const MAX_PATH: usize = 4096;
/// Folders that are enough for all cores.
const ENOUGH: usize = 64;
/// How many levels are looked through for so many folders.
const LEVELS: usize = 4;

/// All entries of a tree.
#[derive(Debug, Default)]
pub struct Listing {
    entries: Vec<Entry>,
    odd_names: Vec<String>,
}

/// A part of a tree, in its order.
enum Part {
    /// What was read.
    Read(Listing),
    /// A folder that is still to be read, with its path and a slash.
    Folder(String, TreeId),
}

/// What was read of a folder among many others.
type Swept = OnceLock<Result<Vec<Part>, TreeError>>;

/// Reads folders, and counts over all of them.
struct Reader<'o> {
    objects: &'o Objects,
    entries: AtomicUsize,
    path_bytes: AtomicUsize,
}

/// A folder that is being read: its bytes, how far, and how much of the path was there before it.
struct Frame {
    bytes: Vec<u8>,
    at: usize,
    parent_path: usize,
}

/// One entry as it stands in a tree object.
struct RawEntry<'a> {
    mode: u32,
    name: &'a [u8],
    id: [u8; 20],
}

/// Tells whether bytes are those of a folder: what is packed as a difference to another one can be damaged and still be one.
fn is_whole(id: TreeId, bytes: &[u8]) -> bool {
    // Against damage, not against collisions, so that the faster of the two that are here will do.
    let mut sha1 = Sha1::new();
    sha1.update(format!("tree {}\0", bytes.len()).as_bytes());
    sha1.update(bytes);
    sha1.finish() == id.0
}

// === impl Listing ===

impl Listing {
    /// Reads all entries of a tree, ordered by path.
    pub fn read(objects: &Objects, tree: TreeId) -> Result<Self, TreeError> {
        let reader = Reader { objects, entries: AtomicUsize::new(0), path_bytes: AtomicUsize::new(0) };
        let mut parts = vec![Part::Folder(String::new(), tree)];
        for level in 1..=LEVELS {
            let folders = parts.iter().filter(|part| matches!(part, Part::Folder(..))).count();
            parts = reader.read_all(parts, level == LEVELS || folders >= ENOUGH)?;
        }
        let read = parts.into_iter().filter_map(|part| match part {
            Part::Read(read) => Some((read.entries, read.odd_names)),
            Part::Folder(..) => None,
        });
        let (entries, odd_names): (Vec<_>, Vec<_>) = read.unzip();
        let mut listing = Self { entries: parallel::together(entries), odd_names: odd_names.concat() };
        listing.settle();
        Ok(listing)
    }

    /// The entries.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What no path can hold.
    pub(super) fn odd_names(&self) -> &[String] {
        &self.odd_names
    }

    /// Returns the first blob that the object database does not have: what a fetch that was cut, or a pack that was
    /// deleted, leaves behind.
    pub fn first_missing(&self, odb: &Odb<'_>) -> Option<BlobId> {
        let missing = |id| oid(id).map_or(true, |oid| !odb.exists(oid));
        self.entries.iter().filter(|e| e.mode != Mode::Submodule).map(|e| e.id).find(|id| missing(*id))
    }

    /// Git orders a tree so that this does nothing; a tree made by hand can hold a name twice, and then no one can
    /// tell which is meant.
    fn settle(&mut self) {
        if self.entries.windows(2).all(|pair| matches!(pair, [a, b] if a.path < b.path)) {
            return;
        }
        self.entries.sort_by(|a, b| a.path.cmp(&b.path));
        let twice: Vec<RepoPath> = self
            .entries
            .windows(2)
            .filter_map(|pair| match pair {
                [a, b] if a.path == b.path => Some(a.path.clone()),
                _ => None,
            })
            .collect();
        self.entries.retain(|e| twice.binary_search(&e.path).is_err());
        self.odd_names.extend(twice.iter().map(ToString::to_string));
    }
}

// === impl Reader ===

impl Reader<'_> {
    /// Reads the folders among some parts, each with all below it or by itself.
    fn read_all(&self, parts: Vec<Part>, deep: bool) -> Result<Vec<Part>, TreeError> {
        let swept = self.sweep(&parts, deep);
        let pairs: Vec<_> = parts.iter().zip(&swept).collect();
        let left = parallel::map(&pairs, |(part, swept)| match part {
            Part::Folder(path, id) if swept.get().is_none() => {
                self.folder(path, *id, self.read(path, *id)?, deep)
            }
            _ => Ok(Vec::new()),
        });
        let read = swept.into_iter().zip(left).map(|(swept, left)| swept.into_inner().unwrap_or(left));
        let mut all = Vec::new();
        for (part, read) in parts.into_iter().zip(read) {
            match part {
                Part::Read(_) => all.push(part),
                Part::Folder(..) => all.extend(read?),
            }
        }
        Ok(all)
    }

    /// Reads those folders among many parts that lie in packs; of the others nothing is known here.
    fn sweep(&self, parts: &[Part], deep: bool) -> Vec<Swept> {
        let swept: Vec<Swept> = parts.iter().map(|_| OnceLock::new()).collect();
        let folders = (0..).zip(parts).filter_map(|(at, part)| match part {
            Part::Folder(_, id) => Some((at, *id)),
            Part::Read(_) => None,
        });
        let (places, ids): (Vec<usize>, Vec<TreeId>) = folders.unzip();
        if ids.len() >= ENOUGH {
            sweep(&self.objects.folders, (Type::Tree, &ids), u64::MAX, &|n, bytes| {
                let place = places.get(n).and_then(|at| Some((parts.get(*at)?, swept.get(*at)?)));
                if let Some((Part::Folder(path, id), swept)) = place
                    && is_whole(*id, bytes)
                {
                    let _ = swept.set(self.folder(path, *id, bytes.to_vec(), deep));
                }
            });
        }
        swept
    }

    /// Returns the object of a folder.
    fn read(&self, path: &str, id: TreeId) -> Result<Vec<u8>, TreeError> {
        let read = self.objects.read(id, ObjectType::Tree);
        read.map_err(|error| TreeError { path: RepoPath::new(path.trim_end_matches('/')), ..error })
    }

    /// Reads a folder whose object is at hand.
    fn folder(&self, path: &str, id: TreeId, bytes: Vec<u8>, deep: bool) -> Result<Vec<Part>, TreeError> {
        let mut path = path.to_owned();
        let mut parts = Vec::new();
        let mut listing = Listing::default();
        let mut stack = vec![Frame { bytes, at: 0, parent_path: path.len() }];
        while let Some(frame) = stack.last_mut() {
            if frame.at == frame.bytes.len() {
                path.truncate(frame.parent_path);
                stack.pop();
                continue;
            }
            let malformed = || TreeError::new(id, format!("malformed folder `{path}`"));
            let entry = next_entry(&frame.bytes, &mut frame.at).ok_or_else(malformed)?;
            self.count(id, path.len() + entry.name.len())?;
            let Some((full, parent_path)) = child_path(&mut path, entry.name) else {
                listing.odd_names.push(format!("{path}{}", String::from_utf8_lossy(entry.name)));
                continue;
            };
            let mode = match entry.mode {
                0o040_000 if deep => {
                    let bytes = self.read(&path, TreeId(entry.id))?;
                    path.push('/');
                    stack.push(Frame { bytes, at: 0, parent_path });
                    continue;
                }
                0o040_000 => {
                    parts.push(Part::Read(std::mem::take(&mut listing)));
                    parts.push(Part::Folder(format!("{path}/"), TreeId(entry.id)));
                    path.truncate(parent_path);
                    continue;
                }
                0o120_000 => Mode::Symlink,
                0o160_000 => Mode::Submodule,
                mode if mode & 0o111 != 0 => Mode::Executable,
                _ => Mode::File,
            };
            listing.entries.push(Entry { path: full, id: BlobId(entry.id), mode });
            path.truncate(parent_path);
        }
        parts.push(Part::Read(listing));
        Ok(parts)
    }

    /// Counts an entry whose path has so many bytes.
    fn count(&self, tree: TreeId, path_bytes: usize) -> Result<(), TreeError> {
        if self.entries.fetch_add(1, Ordering::Relaxed) >= MAX_ENTRIES {
            return Err(TreeError::new(tree, format!("more than {MAX_ENTRIES} entries")));
        }
        if self.path_bytes.fetch_add(path_bytes, Ordering::Relaxed) + path_bytes > MAX_PATH_BYTES {
            let reason = format!("its paths have more than {MAX_PATH_BYTES} bytes");
            return Err(TreeError::new(tree, reason));
        }
        Ok(())
    }
}

/// Extends `path` by one name; `None`, with `path` unchanged, for a name that cannot be a part of a path.
/// Returns the whole path and how long `path` was before.
fn child_path(path: &mut String, name: &[u8]) -> Option<(RepoPath, usize)> {
    let name = std::str::from_utf8(name).ok().filter(|name| !name.contains('/'))?;
    let before = path.len();
    if before + name.len() > MAX_PATH {
        return None;
    }
    path.push_str(name);
    let whole = RepoPath::new(path.as_str());
    if whole.is_none() {
        path.truncate(before);
    }
    whole.map(|whole| (whole, before))
}

/// Reads `<octal mode> <name>\0<id>`.
fn next_entry<'a>(bytes: &'a [u8], at: &mut usize) -> Option<RawEntry<'a>> {
    let rest = bytes.get(*at..)?;
    let space = memchr::memchr(b' ', rest)?;
    let end = memchr::memchr(0, rest)?;
    let mode = u32::from_str_radix(std::str::from_utf8(rest.get(..space)?).ok()?, 8).ok()?;
    let name = rest.get(space + 1..end)?;
    let id = rest.get(end + 1..end + 21)?.try_into().ok()?;
    *at += end + 21;
    Some(RawEntry { mode, name, id })
}
