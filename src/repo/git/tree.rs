//! Step 3, repo: the tree of a commit, read from a Git object database.
//!
//! In: a repository's folder and a commit, or object folders and a tree. Out: a [`Tree`]. Nothing is checked out, no
//! link is followed, no submodule is entered. A name that no [`RepoPath`] can hold is not an entry; it is listed in
//! [`Tree::odd_names`].

mod entry;
mod packs;
mod sweep;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use git2::{ObjectType, Odb, Oid, Repository, RepositoryOpenFlags};

use crate::repo::{BlobId, Entry, Mode, RepoPath, Tree, TreeError};

/// How many entries, folders included, one tree may have. A tree that names itself over and over in few bytes ends here.
const MAX_ENTRIES: usize = 2_000_000;
/// How many bytes all paths together may have: a few objects that name each other can spell out gigabytes.
const MAX_PATH_BYTES: usize = 256 << 20;
/// How long a path may be, as on most file systems; also bounds how deep folders nest.
const MAX_PATH: usize = 4096;

/// A [`Tree`] over a Git object database.
pub struct GitTree {
    listing: Arc<Listing>,
    objects: Vec<PathBuf>,
    /// libgit2 locks a database for the whole of a read, so each thread that reads takes one of its own.
    handles: Mutex<Vec<Odb<'static>>>,
    /// Keeps a temporary or locked folder until the last tree that reads from it is gone.
    _home: Option<Arc<dyn Send + Sync>>,
}

/// All entries of a tree.
#[derive(Debug, Default)]
pub struct Listing {
    entries: Vec<Entry>,
    odd_names: Vec<String>,
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
    id: BlobId,
}

// === impl GitTree ===

impl GitTree {
    /// Opens the tree of a commit in a repository of this machine.
    pub fn open(repository: &Path, commit: BlobId) -> Result<Self, TreeError> {
        let none: [&std::ffi::OsStr; 0] = [];
        let open = || {
            let repo = Repository::open_ext(repository, RepositoryOpenFlags::NO_SEARCH, none)?;
            let tree = repo.find_object(oid(commit)?, None)?.peel(ObjectType::Tree)?.id();
            Ok((repo.commondir().join("objects"), tree))
        };
        let (objects, tree) = open().map_err(|e| failed(commit, &e))?;
        let mut id = [0; 20];
        id.iter_mut().zip(tree.as_bytes()).for_each(|(to, from)| *to = *from);
        Self::from_objects(&[objects], BlobId(id))
    }

    /// Opens a tree whose objects lie in these folders (`objects` of a repository, and those that it borrows from).
    pub fn from_objects(objects: &[PathBuf], tree: BlobId) -> Result<Self, TreeError> {
        let odb = open_odb(objects).map_err(|e| failed(tree, &e))?;
        let listing = Arc::new(Listing::read(&odb, tree)?);
        let handles = Mutex::new(vec![odb]);
        Ok(Self { listing, objects: objects.to_vec(), handles, _home: None })
    }

    /// Puts a tree together from a listing that was read already. `home` lives as long as the tree does.
    pub fn from_listing(listing: Arc<Listing>, objects: &[PathBuf], home: Arc<dyn Send + Sync>) -> Self {
        Self { listing, objects: objects.to_vec(), handles: Mutex::default(), _home: Some(home) }
    }

    fn with_handle<T>(
        &self,
        id: BlobId,
        read: impl FnOnce(&Odb<'static>) -> Result<T, TreeError>,
    ) -> Result<T, TreeError> {
        let pooled = self.handles.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let odb = match pooled {
            Some(odb) => odb,
            None => open_odb(&self.objects).map_err(|e| failed(id, &e))?,
        };
        let result = read(&odb);
        self.handles.lock().unwrap_or_else(PoisonError::into_inner).push(odb);
        result
    }
}

impl Tree for GitTree {
    fn entries(&self) -> &[Entry] {
        &self.listing.entries
    }

    fn read(&self, id: BlobId) -> Result<Vec<u8>, TreeError> {
        self.with_handle(id, |odb| read(odb, id, ObjectType::Blob))
    }

    fn size(&self, id: BlobId) -> Result<u64, TreeError> {
        self.with_handle(id, |odb| {
            let header = oid(id).and_then(|oid| odb.read_header(oid)).map_err(|e| failed(id, &e))?;
            Ok(header.0 as u64)
        })
    }

    fn odd_names(&self) -> &[String] {
        &self.listing.odd_names
    }

    fn sweep(&self, ids: &[BlobId], ceiling: u64, see: &(dyn Fn(usize, &[u8]) + Sync)) {
        sweep::sweep(&self.objects, ids, ceiling, see);
    }
}

// === impl Listing ===

impl Listing {
    /// Reads all entries of a tree, ordered by path.
    pub fn read(odb: &Odb<'_>, tree: BlobId) -> Result<Self, TreeError> {
        let mut listing = Self::default();
        let mut path = String::new();
        let (mut seen, mut spelled) = (0_usize, 0_usize);
        let mut stack = vec![Frame { bytes: read(odb, tree, ObjectType::Tree)?, at: 0, parent_path: 0 }];
        while let Some(frame) = stack.last_mut() {
            if frame.at == frame.bytes.len() {
                path.truncate(frame.parent_path);
                stack.pop();
                continue;
            }
            let malformed = || TreeError::new(tree, format!("malformed folder `{path}`"));
            let entry = next_entry(&frame.bytes, &mut frame.at).ok_or_else(malformed)?;
            seen += 1;
            if seen > MAX_ENTRIES {
                return Err(TreeError::new(tree, format!("more than {MAX_ENTRIES} entries")));
            }
            spelled += path.len() + entry.name.len();
            if spelled > MAX_PATH_BYTES {
                let reason = format!("its paths have more than {MAX_PATH_BYTES} bytes");
                return Err(TreeError::new(tree, reason));
            }
            let Some((full, parent_path)) = child_path(&mut path, entry.name) else {
                listing.odd_names.push(format!("{path}{}", String::from_utf8_lossy(entry.name)));
                continue;
            };
            let mode = match entry.mode {
                0o040_000 => {
                    let bytes = read(odb, entry.id, ObjectType::Tree)?;
                    path.push('/');
                    stack.push(Frame { bytes, at: 0, parent_path });
                    continue;
                }
                0o120_000 => Mode::Symlink,
                0o160_000 => Mode::Submodule,
                mode if mode & 0o111 != 0 => Mode::Executable,
                _ => Mode::File,
            };
            listing.entries.push(Entry { path: full, id: entry.id, mode });
            path.truncate(parent_path);
        }
        listing.settle();
        Ok(listing)
    }

    /// The entries.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
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

/// Opens an object database over these folders.
fn open_odb(objects: &[PathBuf]) -> Result<Odb<'static>, git2::Error> {
    let odb = Odb::new()?;
    for folder in objects {
        let folder =
            folder.to_str().ok_or_else(|| git2::Error::from_str("the repository's own path is not UTF-8"))?;
        odb.add_disk_alternate(folder)?;
    }
    Ok(odb)
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
    Some(RawEntry { mode, name, id: BlobId(id) })
}

fn read(odb: &Odb<'_>, id: BlobId, wanted: ObjectType) -> Result<Vec<u8>, TreeError> {
    let object = oid(id).and_then(|oid| odb.read(oid)).map_err(|e| failed(id, &e))?;
    if object.kind() == wanted {
        Ok(object.data().to_vec())
    } else {
        Err(TreeError::new(id, format!("not a {wanted}")))
    }
}

fn oid(id: BlobId) -> Result<Oid, git2::Error> {
    Oid::from_bytes(&id.0)
}

fn failed(id: BlobId, error: &git2::Error) -> TreeError {
    TreeError::new(id, error.message())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const FILE: u32 = 0o100_644;

    fn repository() -> (tempfile::TempDir, Repository) {
        let dir = tempfile::tempdir().unwrap();
        let repo = Repository::init_bare(dir.path()).unwrap();
        (dir, repo)
    }

    /// Writes a tree object byte for byte, as a hostile server could.
    fn tree(repo: &Repository, entries: &[(u32, &[u8], Oid)]) -> Oid {
        let mut bytes = Vec::new();
        for (mode, name, id) in entries {
            bytes.extend_from_slice(format!("{mode:o} ").as_bytes());
            bytes.extend_from_slice(name);
            bytes.push(0);
            bytes.extend_from_slice(id.as_bytes());
        }
        repo.odb().unwrap().write(ObjectType::Tree, &bytes).unwrap()
    }

    fn blob(oid: Oid) -> BlobId {
        BlobId(oid.as_bytes().try_into().unwrap())
    }

    fn open(dir: &Path, oid: Oid) -> Result<GitTree, TreeError> {
        GitTree::from_objects(&[dir.join("objects")], blob(oid))
    }

    fn paths(tree: &GitTree) -> Vec<&str> {
        tree.entries().iter().map(|e| e.path.as_str()).collect()
    }

    #[test]
    fn lists_by_path_and_enters_neither_links_nor_submodules() {
        let (dir, repo) = repository();
        let text = repo.blob(b"text").unwrap();
        let inner = tree(&repo, &[(FILE, "ümläut .yaml".as_bytes(), text)]);
        let root = tree(
            &repo,
            &[
                (FILE, b"a-b", text),
                (0o100_755, b"a.sh", text),
                (0o040_000, b"a", inner),
                (0o120_000, b"link", text),
                (0o160_000, b"sub", Oid::from_bytes(&[7; 20]).unwrap()),
            ],
        );
        let tree = open(dir.path(), root).unwrap();
        assert_eq!(paths(&tree), ["a-b", "a.sh", "a/ümläut .yaml", "link", "sub"]);
        let modes: Vec<Mode> = tree.entries().iter().map(|e| e.mode).collect();
        assert_eq!(modes, [Mode::File, Mode::Executable, Mode::File, Mode::Symlink, Mode::Submodule]);
        assert_eq!(tree.read(blob(text)).unwrap(), b"text");
        assert_eq!(tree.size(blob(text)).unwrap(), 4);
    }

    #[test]
    fn opens_a_commit_of_exactly_this_folder() {
        let (dir, repo) = repository();
        let text = repo.blob(b"text").unwrap();
        let root = repo.find_tree(tree(&repo, &[(FILE, b"f", text)])).unwrap();
        let who = git2::Signature::new("A", "a@b", &git2::Time::new(0, 0)).unwrap();
        let commit = repo.commit(None, &who, &who, "Message", &root, &[]).unwrap();
        assert_eq!(paths(&GitTree::open(dir.path(), blob(commit)).unwrap()), ["f"]);
        assert!(GitTree::open(&dir.path().join("objects"), blob(commit)).is_err());
        assert!(GitTree::open(dir.path(), blob(text)).is_err());
    }

    #[test]
    fn several_threads_read_at_once() {
        let (dir, repo) = repository();
        let texts: Vec<String> = (0..100).map(|n| format!("text {n}")).collect();
        let blobs: Vec<Oid> = texts.iter().map(|text| repo.blob(text.as_bytes()).unwrap()).collect();
        let names: Vec<String> = (0..100).map(|n| format!("{n:03}")).collect();
        let entries: Vec<_> = names.iter().zip(&blobs).map(|(n, b)| (FILE, n.as_bytes(), *b)).collect();
        let tree = open(dir.path(), tree(&repo, &entries)).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for (entry, text) in tree.entries().iter().zip(&texts) {
                        assert_eq!(tree.read(entry.id).unwrap(), text.as_bytes());
                    }
                });
            }
        });
    }

    #[test]
    fn names_that_are_no_path_are_reported_and_not_entered() {
        let (dir, repo) = repository();
        let text = repo.blob(b"text").unwrap();
        let inner = tree(&repo, &[(FILE, b"pins.yaml", text)]);
        let root = tree(
            &repo,
            &[
                (0o040_000, b"..", inner),
                (0o040_000, b".git", inner),
                (FILE, b"a/../../b", text),
                (FILE, b"caf\xe9.yaml", text),
                (0o040_000, b"d\xff", inner),
                (FILE, b"folder/file.yaml", text),
                (FILE, b"ok.yaml", text),
                (FILE, b"twice", text),
                (FILE, b"twice", inner),
            ],
        );
        let tree = open(dir.path(), root).unwrap();
        assert_eq!(paths(&tree), ["ok.yaml"]);
        assert_eq!(
            tree.odd_names(),
            ["..", ".git", "a/../../b", "caf\u{fffd}.yaml", "d\u{fffd}", "folder/file.yaml", "twice"]
        );
    }

    #[test]
    fn a_tree_bomb_ends_at_the_ceiling() {
        let (dir, repo) = repository();
        let mut level = tree(&repo, &[(FILE, b"f", repo.blob(b"").unwrap())]);
        for _ in 0..12 {
            let names: Vec<String> = (0..10).map(|n| n.to_string()).collect();
            let entries: Vec<_> = names.iter().map(|n| (0o040_000, n.as_bytes(), level)).collect();
            level = tree(&repo, &entries);
        }
        assert!(open(dir.path(), level).err().unwrap().reason.contains("entries"));
    }

    #[test]
    fn long_paths_that_are_spelled_out_over_and_over_end_at_the_ceiling() {
        let (dir, repo) = repository();
        let name = |n: usize| format!("{n}{}", "x".repeat(240));
        let mut level = tree(&repo, &[(FILE, b"f", repo.blob(b"").unwrap())]);
        // Four levels of 20 folders below ten of one: a few objects, and half a gigabyte of paths.
        for wide in [20, 20, 20, 20, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1] {
            let names: Vec<String> = (0..wide).map(name).collect();
            let entries: Vec<_> = names.iter().map(|n| (0o040_000, n.as_bytes(), level)).collect();
            level = tree(&repo, &entries);
        }
        let error = open(dir.path(), level).err().unwrap();
        assert!(error.reason.contains("its paths have more than"), "{}", error.reason);
    }

    #[test]
    fn deep_folders_end_at_the_longest_path() {
        let (dir, repo) = repository();
        let mut level = tree(&repo, &[(FILE, b"f", repo.blob(b"").unwrap())]);
        for _ in 0..3000 {
            level = tree(&repo, &[(0o040_000, b"d", level)]);
        }
        let tree = open(dir.path(), level).unwrap();
        assert_eq!((tree.entries().len(), tree.odd_names().len()), (0, 1));
    }

    #[test]
    fn what_is_malformed_or_missing_is_an_error() {
        let (dir, repo) = repository();
        let odb = repo.odb().unwrap();
        let cut = odb.write(ObjectType::Tree, b"100644 name-and-no-id\0abc").unwrap();
        assert!(open(dir.path(), cut).err().unwrap().reason.contains("malformed"));
        let no_mode = odb.write(ObjectType::Tree, b"no-mode\0aaaaaaaaaaaaaaaaaaaa").unwrap();
        assert!(open(dir.path(), no_mode).is_err());
        let text = repo.blob(b"text").unwrap();
        assert!(open(dir.path(), text).is_err());
        let file_for_folder = tree(&repo, &[(0o040_000, b"d", text)]);
        assert!(open(dir.path(), file_for_folder).err().unwrap().reason.contains("not a tree"));
        let absent = Oid::from_bytes(&[9; 20]).unwrap();
        assert!(open(dir.path(), absent).is_err());
        let gap = tree(&repo, &[(FILE, b"a", text), (FILE, b"b", absent)]);
        let listing = Listing::read(&odb, blob(gap)).unwrap();
        assert_eq!(listing.first_missing(&odb), Some(blob(absent)));
    }
}
