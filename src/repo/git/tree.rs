//! Step 3, repo: the tree of a commit, read from a Git object database.
//!
//! In: a repository's folder and a commit, or object folders and a tree. Out: a [`Tree`]. Nothing is checked out, no
//! link is followed, no submodule is entered. A name that no [`RepoPath`](crate::repo::RepoPath) can hold is not an
//! entry; it is listed in [`Tree::odd_names`].

mod entry;
mod listing;
mod packs;
mod sweep;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use git2::{ObjectType, Odb, Oid, Repository, RepositoryOpenFlags};

use self::entry::Type;
pub use self::listing::Listing;
use crate::repo::{BlobId, CommitId, Entry, ObjectId, Tree, TreeError, TreeId};

/// A [`Tree`] over a Git object database.
pub struct GitTree {
    listing: Arc<Listing>,
    objects: Objects,
    /// Keeps a temporary or locked folder until the last tree that reads from it is gone.
    _home: Option<Arc<dyn Send + Sync>>,
}

/// Object folders, opened as often as threads read from them at once: libgit2 locks a database for the whole of a read.
pub struct Objects {
    folders: Vec<PathBuf>,
    handles: Mutex<Vec<Odb<'static>>>,
}

// === impl GitTree ===

impl GitTree {
    /// Opens the tree of a commit in a repository of this machine.
    pub fn open(repository: &Path, commit: CommitId) -> Result<Self, TreeError> {
        let none: [&std::ffi::OsStr; 0] = [];
        let open = || {
            let repo = Repository::open_ext(repository, RepositoryOpenFlags::NO_SEARCH, none)?;
            let tree = repo.find_object(oid(commit)?, None)?.peel(ObjectType::Tree)?.id();
            Ok((repo.commondir().join("objects"), tree))
        };
        let (objects, tree) = open().map_err(|e| failed(commit, &e))?;
        let mut id = [0; 20];
        id.iter_mut().zip(tree.as_bytes()).for_each(|(to, from)| *to = *from);
        Self::from_objects(&[objects], TreeId(id))
    }

    /// Opens a tree whose objects lie in these folders (`objects` of a repository, and those that it borrows from).
    pub fn from_objects(folders: &[PathBuf], tree: TreeId) -> Result<Self, TreeError> {
        let objects = Objects::new(folders);
        let listing = Arc::new(Listing::read(&objects, tree)?);
        Ok(Self { listing, objects, _home: None })
    }

    /// Puts a tree together from a listing that was read already. `home` lives as long as the tree does.
    pub fn from_listing(listing: Arc<Listing>, folders: &[PathBuf], home: Arc<dyn Send + Sync>) -> Self {
        Self { listing, objects: Objects::new(folders), _home: Some(home) }
    }
}

impl Tree for GitTree {
    fn entries(&self) -> &[Entry] {
        self.listing.entries()
    }

    fn read(&self, id: BlobId) -> Result<Vec<u8>, TreeError> {
        self.objects.read(id, ObjectType::Blob)
    }

    fn size(&self, id: BlobId) -> Result<u64, TreeError> {
        self.objects.with(id.into(), |odb| Ok(odb.read_header(oid(id)?)?.0 as u64))
    }

    fn odd_names(&self) -> &[String] {
        self.listing.odd_names()
    }

    fn sweep(&self, ids: &[BlobId], ceiling: u64, see: &(dyn Fn(usize, &[u8]) + Sync)) {
        sweep::sweep(&self.objects.folders, (Type::Blob, ids), ceiling, see);
    }
}

// === impl Objects ===

impl Objects {
    /// Names the folders; each is opened when something is read.
    pub fn new(folders: &[PathBuf]) -> Self {
        Self { folders: folders.to_vec(), handles: Mutex::default() }
    }

    /// Reads an object of this type.
    fn read(&self, id: impl Into<ObjectId>, wanted: ObjectType) -> Result<Vec<u8>, TreeError> {
        let id = id.into();
        self.with(id, |odb| {
            let object = odb.read(oid(id)?)?;
            Ok((object.kind() == wanted).then(|| object.data().to_vec()))
        })?
        .ok_or_else(|| TreeError::new(id, format!("not a {wanted}")))
    }

    fn with<T>(
        &self,
        id: ObjectId,
        read: impl FnOnce(&Odb<'static>) -> Result<T, git2::Error>,
    ) -> Result<T, TreeError> {
        let pooled = self.handles.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let result = pooled.map_or_else(|| self.open(), Ok).and_then(|odb| {
            let result = read(&odb);
            self.handles.lock().unwrap_or_else(PoisonError::into_inner).push(odb);
            result
        });
        result.map_err(|e| failed(id, &e))
    }

    fn open(&self) -> Result<Odb<'static>, git2::Error> {
        let odb = Odb::new()?;
        for folder in &self.folders {
            let folder = folder
                .to_str()
                .ok_or_else(|| git2::Error::from_str("the repository's own path is not UTF-8"))?;
            odb.add_disk_alternate(folder)?;
        }
        Ok(odb)
    }
}

fn oid(id: impl Into<ObjectId>) -> Result<Oid, git2::Error> {
    Oid::from_bytes(&id.into().0)
}

fn failed(id: impl Into<ObjectId>, error: &git2::Error) -> TreeError {
    TreeError::new(id, error.message())
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::repo::Mode;

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

    fn id<I: From<[u8; 20]>>(oid: Oid) -> I {
        I::from(oid.as_bytes().try_into().unwrap())
    }

    fn open(dir: &Path, oid: Oid) -> Result<GitTree, TreeError> {
        GitTree::from_objects(&[dir.join("objects")], id(oid))
    }

    fn git(dir: &Path, arguments: &[&str]) {
        let done = std::process::Command::new("git").arg("-C").arg(dir).args(arguments).output();
        assert!(done.unwrap().status.success());
    }

    /// Returns the one file of a kind among the packs.
    fn in_packs(dir: &Path, extension: &str) -> PathBuf {
        let packs = std::fs::read_dir(dir.join("objects/pack")).unwrap();
        let mut files = packs.map(|file| file.unwrap().path());
        files.find(|path| path.extension() == Some(extension.as_ref())).unwrap()
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
        assert_eq!(tree.read(id(text)).unwrap(), b"text");
        assert_eq!(tree.size(id(text)).unwrap(), 4);
    }

    #[test]
    fn opens_a_commit_of_exactly_this_folder() {
        let (dir, repo) = repository();
        let text = repo.blob(b"text").unwrap();
        let root = repo.find_tree(tree(&repo, &[(FILE, b"f", text)])).unwrap();
        let who = git2::Signature::new("A", "a@b", &git2::Time::new(0, 0)).unwrap();
        let commit = repo.commit(None, &who, &who, "Message", &root, &[]).unwrap();
        assert_eq!(paths(&GitTree::open(dir.path(), id(commit)).unwrap()), ["f"]);
        assert!(GitTree::open(&dir.path().join("objects"), id(commit)).is_err());
        assert!(GitTree::open(dir.path(), id(text)).is_err());
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
    fn many_folders_are_listed_in_order_at_any_depth() {
        let (dir, repo) = repository();
        let text = repo.blob(b"text").unwrap();
        let wide = |inner: Option<Oid>| {
            let names: Vec<String> = (0..40).map(|n| format!("{n:02}")).collect();
            let files: Vec<String> = names.iter().map(|name| format!("{name}.yaml")).collect();
            let entries = names.iter().zip(&files).flat_map(|(name, file)| {
                let folder = inner.map(|inner| (0o040_000, name.as_bytes(), inner));
                [Some((FILE, file.as_bytes(), text)), folder].into_iter().flatten()
            });
            tree(&repo, &entries.collect::<Vec<_>>())
        };
        let (mut level, mut files) = (wide(None), 40);
        for folders in [1, 40, 40, 1, 1, 1] {
            level = match folders {
                1 => tree(&repo, &[(FILE, b"a.yaml", text), (0o040_000, b"b", level), (FILE, b"c", text)]),
                _ => wide(Some(level)),
            };
            files = folders * files + if folders == 1 { 2 } else { 40 };
            let tree = open(dir.path(), level).unwrap();
            assert_eq!(tree.entries().len(), files);
            assert!(paths(&tree).is_sorted(), "{folders}");
            assert!(tree.odd_names().is_empty());
        }
    }

    #[test]
    fn packed_folders_are_listed_as_loose_ones_are() {
        let (dir, repo) = repository();
        let text = repo.blob(b"text").unwrap();
        let names: Vec<String> = (0..100).map(|n| format!("{n:03}")).collect();
        let inner = tree(&repo, &[(FILE, b"deep.yaml", text)]);
        let folder = |n: usize| {
            let others = names.iter().filter(|name| **name != names[n]);
            let files = others.map(|name| (FILE, name.as_bytes(), text));
            tree(&repo, &files.chain([(0o040_000, b"z".as_slice(), inner)]).collect::<Vec<_>>())
        };
        let folders: Vec<Oid> = (0..names.len()).map(folder).collect();
        // One that stands at two paths, too.
        let twice = names.iter().zip(folders.iter().chain([&folders[7]]));
        let mut entries: Vec<_> = twice.map(|(name, id)| (0o040_000, name.as_bytes(), *id)).collect();
        entries.push((0o040_000, b"again", folders[7]));
        let root = tree(&repo, &entries);
        let loose = open(dir.path(), root).unwrap();
        let loose = paths(&loose);
        assert_eq!(loose.len(), 101 * 100);
        let who = git2::Signature::new("A", "a@b", &git2::Time::new(0, 0)).unwrap();
        repo.commit(Some("HEAD"), &who, &who, "Message", &repo.find_tree(root).unwrap(), &[]).unwrap();
        git(dir.path(), &["repack", "-adfq", "--depth=50"]);
        assert_eq!(paths(&open(dir.path(), root).unwrap()), loose);
        // A folder that the pack has lost is missed, and nothing else is taken for it.
        let pack = in_packs(dir.path(), "pack");
        let whole = std::fs::read(&pack).unwrap();
        std::fs::remove_file(&pack).unwrap();
        for at in (12..whole.len() - 20).step_by(whole.len() / 40) {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << (at % 8);
            std::fs::write(&pack, &damaged).unwrap();
            assert!(
                open(dir.path(), root).is_ok_and(|tree| paths(&tree) == loose)
                    || open(dir.path(), root).is_err()
            );
        }
    }

    #[test]
    fn bytes_of_another_folder_are_not_taken_for_one() {
        let (dir, repo) = repository();
        let text = repo.blob(b"text").unwrap();
        let names: Vec<String> = (0..100).map(|n| format!("{n:03}")).collect();
        let folders: Vec<Oid> =
            names.iter().map(|name| tree(&repo, &[(FILE, name.as_bytes(), text)])).collect();
        let all = names.iter().zip(&folders).map(|(name, id)| (0o040_000, name.as_bytes(), *id));
        let root = tree(&repo, &all.collect::<Vec<_>>());
        let who = git2::Signature::new("A", "a@b", &git2::Time::new(0, 0)).unwrap();
        repo.commit(Some("HEAD"), &who, &who, "Message", &repo.find_tree(root).unwrap(), &[]).unwrap();
        git(dir.path(), &["repack", "-adfq"]);
        assert_eq!(open(dir.path(), root).unwrap().entries().len(), 100);
        // The index says of one folder that it stands where another does (gitformat-pack, version 2).
        let index = in_packs(dir.path(), "idx");
        let mut bytes = std::fs::read(&index).unwrap();
        let many = u32::from_be_bytes(bytes[8 + 255 * 4..8 + 256 * 4].try_into().unwrap()) as usize;
        let ids = 8 + 256 * 4;
        let at = |id: Oid| (0..many).find(|n| &bytes[ids + n * 20..][..20] == id.as_bytes()).unwrap();
        let offset = |n: usize| ids + many * 24 + n * 4;
        let (one, other) = (offset(at(folders[3])), offset(at(folders[7])));
        bytes.copy_within(other..other + 4, one);
        std::fs::remove_file(&index).unwrap();
        std::fs::write(&index, &bytes).unwrap();
        assert!(open(dir.path(), root).is_err());
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
        let listing = Listing::read(&Objects::new(&[dir.path().join("objects")]), id(gap)).unwrap();
        assert_eq!(listing.first_missing(&odb), Some(id(absent)));
        let inner = tree(&repo, &[(0o040_000, b"b", absent)]);
        let lost = open(dir.path(), tree(&repo, &[(0o040_000, b"a", inner)])).err().unwrap();
        assert!(lost.to_string().starts_with("cannot read a/b, object 0909"), "{lost}");
    }
}
