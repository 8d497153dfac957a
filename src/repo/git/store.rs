//! Step 3, repo: the bare repository beside a remote.
//!
//! In: a cache folder and a remote's address. Out: objects. The cache can be deleted or broken at any time: it is
//! then made again. Two processes never share one: the second works in a private temporary folder. Neither holds
//! an address or a token, and no Git configuration of the machine is read.

use std::{
    cell::RefCell,
    collections::HashMap,
    fs::{self, File},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use git2::{Config, ObjectType, Oid, Repository, RepositoryInitOptions, RepositoryOpenFlags};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::{
    repo::{
        CommitId, CommitInfo, GitError, GitTree, Listing, ObjectId, TreeId,
        git::{object::parse_commit, tree::Objects},
    },
    sys::files::private_folder,
};

/// A cache with more packs than this is started afresh: each fetch leaves one, and nothing repacks.
const MAX_PACKS: usize = 64;

/// What another thread starts holds the locks of this process until its own program begins: so often, and so long each
/// time, that is waited for.
const MOMENTS: usize = 20;
const MOMENT: Duration = Duration::from_millis(5);

/// A bare repository, and the object folders that it reads from.
pub struct Store {
    repo: Repository,
    path: PathBuf,
    /// Its own objects first, then those of a remote on this machine.
    objects: Vec<PathBuf>,
    home: Arc<Home>,
    listings: RefCell<HashMap<TreeId, Arc<Listing>>>,
}

/// What must outlive every reader: the lock on the cache, or the temporary folder.
struct Home {
    _lock: Option<File>,
    temporary: Option<TempDir>,
}

// === impl Store ===

impl Store {
    /// Opens the cache of `address` under `cache`; a private temporary repository where there is no cache, where it
    /// cannot be written, or where another process works in it.
    pub fn open(cache: Option<&Path>, address: &str) -> Result<Self, GitError> {
        if let Some(cache) = cache {
            match Self::open_cache(cache, address) {
                Ok(Some(store)) => return Ok(store),
                Ok(None) => tracing::debug!("the Git cache is in use; working without it"),
                Err(error) => tracing::debug!(%error, "the Git cache cannot be used; working without it"),
            }
        }
        let temporary = tempfile::Builder::new()
            .prefix("uplinker-git-")
            .tempdir()
            .map_err(|e| GitError::Other(format!("cannot make a temporary folder: {e}")))?;
        let path = temporary.path().to_owned();
        Self::at(path, Home { _lock: None, temporary: Some(temporary) }).map_err(|e| other(&e))
    }

    fn open_cache(cache: &Path, address: &str) -> Result<Option<Self>, Box<dyn std::error::Error>> {
        let folder = cache.join("git");
        private_folder(&folder)?;
        let name = short_digest(address);
        let path = folder.join(&name);
        // Beside the repository, which may be thrown away while the lock is held. The system frees it with the process.
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(folder.join(format!("{name}.lock")))?;
        if !locks_soon(&lock)? {
            return Ok(None);
        }
        if path.exists() && !is_sound(&path) {
            tracing::debug!(path = %path.display(), "the Git cache is broken or full; starting afresh");
            remove(&path)?;
        }
        private_folder(&path)?;
        Ok(Some(Self::at(path, Home { _lock: Some(lock), temporary: None })?))
    }

    fn at(path: PathBuf, home: Home) -> Result<Self, git2::Error> {
        let repo = bare(&path)?;
        let objects = vec![path.join("objects")];
        Ok(Self { repo, path, objects, home: Arc::new(home), listings: RefCell::default() })
    }

    /// Reads from a remote's own objects too: nothing has to be transferred from this machine to itself.
    pub fn borrow_from(&mut self, objects: PathBuf) -> Result<(), GitError> {
        let text = objects.to_str().ok_or_else(|| GitError::Address {
            url: objects.display().to_string(),
            reason: "the path is not UTF-8; give another".into(),
        })?;
        self.repo.odb().and_then(|odb| odb.add_disk_alternate(text)).map_err(|e| other(&e))?;
        self.objects.push(objects);
        Ok(())
    }

    /// Throws the cache away and makes it again; a temporary repository has no past to be broken by.
    pub fn renew(&mut self) -> Result<(), GitError> {
        if self.home.temporary.is_some() {
            return Ok(());
        }
        tracing::debug!(path = %self.path.display(), "the Git cache lacks objects; starting afresh");
        let failed = |e: std::io::Error| GitError::Other(format!("{}: {e}", self.path.display()));
        remove(&self.path).map_err(failed)?;
        private_folder(&self.path).map_err(failed)?;
        self.repo = bare(&self.path).map_err(|e| other(&e))?;
        self.listings.borrow_mut().clear();
        Ok(())
    }

    /// Returns the repository.
    pub fn repo(&self) -> &Repository {
        &self.repo
    }

    /// Tells whether the repository was there before this run, so that it may lack what its refs promise.
    pub fn is_cache(&self) -> bool {
        self.home.temporary.is_none()
    }

    /// Reads a commit.
    pub fn commit(&self, id: CommitId) -> Result<CommitInfo, GitError> {
        self.find_commit(id)?
            .ok_or_else(|| GitError::Other(format!("commit {id} is not here; it was not fetched")))
    }

    /// Reads a commit if it is here.
    pub fn find_commit(&self, id: CommitId) -> Result<Option<CommitInfo>, GitError> {
        find_commit(&self.repo, id)
    }

    /// Tells whether a commit is here with everything that its tree names. A fetch writes its pack in one piece, but
    /// a cache can lose one; then the answer is no as well.
    pub fn is_complete(&self, id: CommitId) -> bool {
        let Ok(Some(commit)) = self.find_commit(id) else { return false };
        let (Ok(listing), Ok(odb)) = (self.listing(commit.tree), self.repo.odb()) else { return false };
        !self.is_cache() || listing.first_missing(&odb).is_none()
    }

    /// Opens a tree.
    pub fn tree(&self, tree: TreeId) -> Result<GitTree, GitError> {
        let listing = self.listing(tree)?;
        let home: Arc<dyn Send + Sync> = self.home.clone();
        Ok(GitTree::from_listing(listing, &self.objects, home))
    }

    /// Returns the entries of a tree; they are read once.
    pub fn listing(&self, tree: TreeId) -> Result<Arc<Listing>, GitError> {
        if let Some(listing) = self.listings.borrow().get(&tree) {
            return Ok(Arc::clone(listing));
        }
        let listing = Listing::read(&Objects::new(&self.objects), tree);
        let listing = Arc::new(listing.map_err(|e| GitError::Other(e.to_string()))?);
        self.listings.borrow_mut().insert(tree, Arc::clone(&listing));
        Ok(listing)
    }
}

/// Opens or makes a bare repository that no configuration file says anything about: neither the cache's own, which
/// another user could have written, nor the user's, whose `url.*.insteadOf` would send the token elsewhere.
fn bare(path: &Path) -> Result<Repository, git2::Error> {
    let mut options = RepositoryInitOptions::new();
    options.bare(true).external_template(false).initial_head("uplinker-none");
    let repo = Repository::init_opts(path, &options)?;
    repo.set_config(&Config::new()?)?;
    Ok(repo)
}

/// Locks a file, unless another process keeps it locked.
fn locks_soon(file: &File) -> std::io::Result<bool> {
    for _ in 0..MOMENTS {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(fs::TryLockError::WouldBlock) => std::thread::sleep(MOMENT),
            Err(fs::TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(false)
}

fn is_sound(path: &Path) -> bool {
    let flags = RepositoryOpenFlags::NO_SEARCH | RepositoryOpenFlags::BARE | RepositoryOpenFlags::NO_DOTGIT;
    let none: [&std::ffi::OsStr; 0] = [];
    let packs = fs::read_dir(path.join("objects/pack")).map_or(0, Iterator::count);
    // A pack and its index are two files.
    packs <= 2 * MAX_PACKS && Repository::open_ext(path, flags, none).is_ok_and(|repo| repo.odb().is_ok())
}

/// Removes what lies in the cache's place, be it a folder or a file.
fn remove(path: &Path) -> std::io::Result<()> {
    if path.symlink_metadata()?.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}

/// Returns a name for a text that is safe in a file system and as a ref.
pub fn short_digest(text: &str) -> String {
    Sha256::digest(text).iter().take(16).map(|b| format!("{b:02x}")).collect()
}

/// Returns libgit2's form of an id.
pub fn oid(id: impl Into<ObjectId>) -> Result<Oid, GitError> {
    Oid::from_bytes(&id.into().0).map_err(|e| other(&e))
}

/// Returns our form of an id.
pub fn id<I: From<[u8; 20]>>(oid: Oid) -> I {
    let mut bytes = [0; 20];
    bytes.iter_mut().zip(oid.as_bytes()).for_each(|(to, from)| *to = *from);
    I::from(bytes)
}

/// An error of libgit2 that is neither the network's nor the remote's.
pub fn other(error: &git2::Error) -> GitError {
    GitError::Other(error.message().to_owned())
}

/// Reads a commit as it was made; `None` where it is not here. libgit2 shows no parents where a fetch was cut.
pub fn find_commit(repo: &Repository, id: CommitId) -> Result<Option<CommitInfo>, GitError> {
    let odb = repo.odb().map_err(|e| other(&e))?;
    let object = match odb.read(oid(id)?) {
        Ok(object) => object,
        Err(error) if error.code() == git2::ErrorCode::NotFound => return Ok(None),
        Err(error) => return Err(other(&error)),
    };
    let commit = (object.kind() == ObjectType::Commit).then(|| parse_commit(id, object.data())).flatten();
    commit.map(Some).ok_or_else(|| GitError::Other(format!("object {id} is not a sound commit")))
}
