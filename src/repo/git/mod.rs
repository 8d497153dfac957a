//! Step 3, repo: a Git remote by libgit2, without a working tree.
//!
//! In: an address and the operator's token. Out: [`Remote`]: branches in one request, commits by a shallow fetch into
//! a bare cache, new commits from a tree builder, and branches moved from the value that was observed. Nothing of a
//! repository is checked out; nothing outside the branch prefix is written.
#![allow(
    clippy::disallowed_methods,
    reason = "the files of a Git repository, and the time that a transfer takes"
)]

mod address;
mod advertisement;
mod head;
mod history;
mod http;
mod landed;
mod local;
mod merge;
mod object;
mod options;
mod sign;
mod ssh;
mod store;
pub mod tree;
mod wire;
mod write;

use std::{
    cell::{Cell, Ref, RefCell},
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use crate::{
    repo::{
        ChangeSet, CommitId, CommitInfo, GitError, NewCommit, RefUpdate, Refs, Refusals, Remote, RepoPath,
        SignedCommit, Stretch, Tree, Upstream,
        git::{
            address::Address,
            history::Reach,
            http::{HttpServer, Service},
            local::LocalRemote,
            store::Store,
            wire::{Pushed, Wire, WireError},
        },
    },
    sys::http::Http,
};

pub use head::{LocalClone, LocalHead, open_path};
pub use local::check_path;
pub use merge::merge;
pub use options::RemoteOptions;
pub use sign::{KeyError, SigningKey};
pub use ssh::SshOptions;
pub use wire::Limits;

/// Under what our branches live unless the repository's configuration says otherwise.
const PREFIX: &str = "uplinker/";
/// How far history is deepened, step by step, when a question about it cannot be answered; the last is all of it.
const DEPTHS: [i32; 5] = [2, 16, 128, 1024, i32::MAX];
/// How many commits of a branch are read to find where it left its base.
const MAX_BRANCH: usize = 1000;

/// A Git remote and the bare repository beside it.
pub struct GitRemote<'h> {
    link: Link<'h>,
    store: RefCell<Store>,
    ssh: SshOptions,
    refusals: Vec<&'static Refusals>,
    signing_key: Option<Arc<SigningKey>>,
    limits: Limits,
    prefix: RefCell<String>,
    /// The branches as observed last, with our own moves since.
    observed: RefCell<Option<Refs>>,
    /// What was fetched by this value, to be fetched again should the cache have to be renewed.
    fetched: RefCell<BTreeMap<String, CommitId>>,
    /// What was found whole by this value, so that it is looked through once.
    whole: RefCell<HashSet<CommitId>>,
    /// The cache was thrown away for a reader.
    forgotten: Cell<bool>,
}

/// How the remote is reached.
enum Link<'h> {
    Http(HttpServer<'h>),
    Ssh(String),
    Local(LocalRemote),
}

// === impl GitRemote ===

impl<'h> GitRemote<'h> {
    /// Opens a remote; no request is made yet, except that a folder of this machine must be there.
    pub fn open(url: &str, options: RemoteOptions, http: &'h Http) -> Result<Self, GitError> {
        let RemoteOptions { cache, token, user, refusals, plain_http, ssh, signing_key, limits } = options;
        let address = Address::parse(url, token.is_some(), plain_http)?;
        let name = address.shown();
        let (link, cache) = match address {
            Address::Http(url) => {
                (Link::Http(HttpServer::new(http, url, (user, token), refusals.clone())), cache)
            }
            Address::Ssh(url) => {
                ssh.check().map_err(|reason| GitError::Address { url: url.clone(), reason })?;
                (Link::Ssh(url), cache)
            }
            Address::Local(path) => (Link::Local(LocalRemote::open(&path)?), None),
        };
        let mut store = Store::open(cache.as_deref(), &name)?;
        if let Link::Local(local) = &link {
            store.borrow_from(local.objects())?;
        }
        Ok(Self {
            link,
            store: RefCell::new(store),
            ssh,
            refusals,
            signing_key,
            limits,
            prefix: RefCell::new(PREFIX.into()),
            observed: RefCell::default(),
            fetched: RefCell::default(),
            whole: RefCell::default(),
            forgotten: Cell::default(),
        })
    }

    /// Asks whether the token may push, and writes nothing; `None` where that shows only when it is tried.
    pub fn may_push(&self) -> Result<Option<()>, GitError> {
        match &self.link {
            Link::Http(server) => server.refs(Service::ReceivePack).map(|_| Some(())),
            Link::Ssh(_) | Link::Local(_) => Ok(None),
        }
    }

    /// Returns where a branch was observed last, our own moves included; asks the remote if nothing was yet.
    pub fn tip(&self, branch: &str) -> Result<Option<CommitId>, GitError> {
        if self.observed.borrow().is_none() {
            self.refs()?;
        }
        let observed = self.observed.borrow();
        Ok(observed.as_ref().and_then(|refs| refs.branches.get(branch).copied()))
    }

    /// Tells whether a branch has what a head would bring: its commit, or (after a squash or a rebase) all of its
    /// changed files.
    pub fn contains(&self, branch: &str, head: CommitId) -> Result<bool, GitError> {
        let Some(tip) = self.tip(branch)? else { return Ok(false) };
        self.fetch(&[(branch, tip)])?;
        // Where the head's branch is left, it can be fetched; once it is merged, the base brings it.
        let of_head = self.branch_at(head);
        if let Some(name) = of_head {
            self.fetch(&[(&name, head)])?;
        }
        let roots = history::ancestors(|id| self.store().find_commit(id), head, MAX_BRANCH)?;
        if self.reaches(branch, tip, head, &roots)? {
            return Ok(true);
        }
        self.has_changes(branch, tip, head, &roots)
    }

    fn store(&self) -> Ref<'_, Store> {
        self.store.borrow()
    }

    fn is_whole(&self, id: CommitId) -> bool {
        let known = self.whole.borrow().contains(&id);
        let whole = known || self.store().is_complete(id);
        if whole {
            self.whole.borrow_mut().insert(id);
        }
        whole
    }

    fn branch_at(&self, id: CommitId) -> Option<String> {
        let observed = self.observed.borrow();
        let mut branches = observed.iter().flat_map(|refs| &refs.branches);
        branches.find(|(_, tip)| **tip == id).map(|(name, _)| name.clone())
    }

    /// Compares the files that `head` changed since it left `branch` with those of the branch's tip.
    fn has_changes(
        &self,
        branch: &str,
        tip: CommitId,
        head: CommitId,
        roots: &HashSet<CommitId>,
    ) -> Result<bool, GitError> {
        let Some(head) = self.store().find_commit(head)? else { return Ok(false) };
        let look = || history::first_of(|id| self.store().find_commit(id), tip, roots);
        let mut fork = look()?;
        for depth in DEPTHS {
            if fork.is_some() || matches!(self.link, Link::Local(_)) {
                break;
            }
            self.transfer_once(&[(branch, None)], depth)?;
            fork = look()?;
        }
        let Some(fork) = fork else { return Ok(false) };
        let store = self.store();
        write::carries(store.repo(), store.commit(fork)?.tree, head.tree, store.commit(tip)?.tree)
    }

    /// Tells whether `wanted` is reachable from `from`, deepening `branch` as far as it takes to know it and to have it.
    fn reaches(
        &self,
        branch: &str,
        from: CommitId,
        wanted: CommitId,
        beyond: &HashSet<CommitId>,
    ) -> Result<bool, GitError> {
        let look = || history::reach(|id| self.store().find_commit(id), from, wanted, beyond);
        let enough = |answer| match answer {
            Reach::Yes => Ok(self.store().find_commit(wanted)?.is_some()),
            Reach::No => Ok(true),
            Reach::Unknown => Ok::<_, GitError>(false),
        };
        let mut answer = look()?;
        for depth in DEPTHS {
            if enough(answer)? || matches!(self.link, Link::Local(_)) {
                break;
            }
            self.transfer_once(&[(branch, None)], depth)?;
            answer = look()?;
        }
        // What is still cut here is cut on the remote as well.
        Ok(answer == Reach::Yes)
    }

    fn wire(&self) -> Wire<'_> {
        let (authorization, ssh) = match &self.link {
            Link::Http(server) => (server.authorization(), None),
            Link::Ssh(_) | Link::Local(_) => (None, Some(&self.ssh)),
        };
        Wire { url: self.url(), authorization, ssh, refused: RefCell::default() }
    }

    /// Fetches branches; a cache that turns out to be broken is thrown away and the fetch done again.
    fn transfer(&self, branches: &[(&str, CommitId)]) -> Result<(), GitError> {
        self.fetched.borrow_mut().extend(branches.iter().map(|(branch, id)| ((*branch).to_owned(), *id)));
        let wanted: Vec<_> = branches.iter().map(|(branch, id)| (*branch, Some(*id))).collect();
        let renewable = self.store().is_cache();
        let is_torn = |(_, id): &(&str, CommitId)| !matches!(self.store().find_commit(*id), Ok(None));
        if renewable && branches.iter().any(is_torn) {
            return self.transfer_afresh();
        }
        match self.transfer_once(&wanted, 1) {
            Err(GitError::Other(reason)) if renewable => {
                tracing::debug!(reason, "the Git cache does not take the fetch");
                self.transfer_afresh()
            }
            result => result,
        }
    }

    fn transfer_afresh(&self) -> Result<(), GitError> {
        self.store.borrow_mut().renew()?;
        self.whole.borrow_mut().clear();
        let fetched = self.fetched.borrow().clone();
        let wanted: Vec<_> = fetched.iter().map(|(branch, id)| (branch.as_str(), Some(*id))).collect();
        self.transfer_once(&wanted, 1)
    }

    /// Fetches branches to a depth, and checks that what came is what was asked for, with all that it names.
    fn transfer_once(&self, branches: &[(&str, Option<CommitId>)], depth: i32) -> Result<(), GitError> {
        let specs = branches.iter().map(|(branch, _)| {
            if is_branch_name(branch) {
                Ok(format!("+refs/heads/{branch}:{}", wire::private_ref(branch)))
            } else {
                Err(GitError::Other(format!("`{branch}` is not a branch's name")))
            }
        });
        let specs = specs.collect::<Result<Vec<_>, _>>()?;
        let store = self.store();
        http::retry_once(|| {
            let fetched = self.wire().fetch(store.repo(), &specs, depth, self.limits);
            fetched.map_err(|e| self.explain(Service::UploadPack, e))
        })?;
        for (branch, id) in branches {
            let Some(id) = id else { continue };
            if wire::kept(store.repo(), branch) != Some(*id) {
                return Err(GitError::Moved { branch: (*branch).to_owned() });
            }
            if !self.is_whole(*id) {
                return Err(GitError::Other(format!("{}: the fetched commit {id} is not whole", self.url())));
            }
        }
        Ok(())
    }

    /// Finds the reason of a failed transfer. libgit2 tells little of an answer that it did not expect, so the server
    /// is asked once more in a way that shows its words.
    fn explain(&self, service: Service, error: WireError) -> GitError {
        let url = self.url();
        let (error, words) = match error {
            WireError::TooLarge => {
                let reason =
                    format!("{url}: the repository sends more than {} bytes", self.limits.pack_bytes);
                return GitError::Other(reason);
            }
            WireError::TooLong => {
                let reason = format!("the transfer was not done after {} s", self.limits.time.as_secs());
                return GitError::Temporary { url, reason };
            }
            WireError::Git(error, words) => (error, words),
        };
        let ours = wire::by_class(url, &error);
        let Link::Http(server) = &self.link else { return ours };
        if matches!(ours, GitError::Other(_)) || error.code() == git2::ErrorCode::Timeout {
            return ours;
        }
        if let Err(told) = server.refs(service) {
            return told;
        }
        match wire::http_status(&error).and_then(|status| reqwest::StatusCode::from_u16(status).ok()) {
            Some(status) => server.refusal(status, &words),
            None => ours,
        }
    }

    /// Refuses what this program must never write.
    fn check_write(&self, update: &RefUpdate) -> Result<(), GitError> {
        let branch = &update.branch;
        let refused = |reason: &str| {
            Err(GitError::Refused {
                branch: branch.clone(),
                reason: format!("{reason}, so it is not written"),
                rules: Vec::new(),
            })
        };
        let prefix = self.prefix.borrow();
        if !branch.starts_with(prefix.as_str()) || branch.len() == prefix.len() || !is_branch_name(branch) {
            return refused(&format!("it is not a branch under `{prefix}`"));
        }
        match self.observed.borrow().as_ref() {
            None => refused("the remote's branches were not read before"),
            Some(refs) if refs.default_branch.as_ref() == Some(branch) => refused("it is the default branch"),
            Some(_) => Ok(()),
        }
    }

    /// Tells a branch that moved meanwhile from one that the server does not let us move.
    fn rejected(&self, update: &RefUpdate, reason: String) -> GitError {
        let now = self.refs().ok().map(|refs| refs.branches.get(&update.branch).copied());
        match now {
            Some(now) if now != update.old => GitError::Moved { branch: update.branch.clone() },
            _ => {
                let (branch, rules) = (update.branch.clone(), Refusals::rules_of(&self.refusals, &reason));
                GitError::Refused { branch, reason, rules }
            }
        }
    }
}

impl Remote for GitRemote<'_> {
    fn refs(&self) -> Result<Refs, GitError> {
        let refs = match &self.link {
            Link::Http(server) => server.refs(Service::UploadPack)?,
            Link::Local(local) => local.refs()?,
            Link::Ssh(url) => {
                self.wire().refs(self.store().repo()).map_err(|e| wire::by_class(url.clone(), &e))?
            }
        };
        *self.observed.borrow_mut() = Some(refs.clone());
        Ok(refs)
    }

    fn fetch(&self, branches: &[(&str, CommitId)]) -> Result<(), GitError> {
        let absent = |(_, id): &(&str, CommitId)| !self.is_whole(*id);
        let missing: Vec<_> = branches.iter().copied().filter(absent).collect();
        match (missing.first(), &self.link) {
            (None, _) => Ok(()),
            (Some((branch, id)), Link::Local(_)) => Err(GitError::Other(format!(
                "{}: branch `{branch}` is at {id}, which cannot be read whole there; run `git fsck`",
                self.url()
            ))),
            (Some(_), _) => self.transfer(&missing),
        }
    }

    fn commit(&self, id: CommitId) -> Result<CommitInfo, GitError> {
        self.store().commit(id)
    }

    fn tree(&self, id: CommitId) -> Result<Box<dyn Tree>, GitError> {
        let store = self.store();
        let tree = store.commit(id)?.tree;
        Ok(Box::new(store.tree(tree)?))
    }

    fn is_ancestor(&self, ancestor: CommitId, branch: &str, descendant: CommitId) -> Result<bool, GitError> {
        self.reaches(branch, descendant, ancestor, &HashSet::new())
    }

    fn write(&self, commit: &NewCommit<'_>) -> Result<CommitId, GitError> {
        let store = self.store();
        let base = store.commit(commit.onto)?.tree;
        write::write_commit(store.repo(), base, commit, self.signing_key.as_deref())
    }

    fn adopt(&self, signed: &SignedCommit, ours: CommitId) -> Result<Option<CommitId>, GitError> {
        let store = self.store();
        let ours = store.commit(ours)?;
        write::adopt(store.repo(), signed, &ours)
    }

    fn push(&self, update: &RefUpdate) -> Result<(), GitError> {
        self.check_write(update)?;
        let pushed = match &self.link {
            Link::Local(local) => local.push(&self.store(), update)?,
            Link::Http(_) | Link::Ssh(_) => self
                .wire()
                .push(self.store().repo(), update)
                .map_err(|e| self.explain(Service::ReceivePack, e))?,
        };
        match pushed {
            Pushed::Done => {}
            Pushed::Moved => return Err(GitError::Moved { branch: update.branch.clone() }),
            Pushed::Rejected(reason) => return Err(self.rejected(update, reason)),
        }
        if let Some(refs) = self.observed.borrow_mut().as_mut() {
            match update.new {
                Some(new) => drop(refs.branches.insert(update.branch.clone(), new)),
                None => drop(refs.branches.remove(&update.branch)),
            }
        }
        Ok(())
    }
}

impl Upstream for GitRemote<'_> {
    fn url(&self) -> String {
        match &self.link {
            Link::Http(server) => server.url(),
            Link::Ssh(url) => url.clone(),
            Link::Local(local) => local.shown(),
        }
    }

    fn write_under(&self, prefix: &str) -> Result<(), GitError> {
        let sound = !prefix.is_empty() && git2::Reference::is_valid_name(&format!("refs/heads/{prefix}x"));
        if !sound {
            return Err(GitError::Other(format!(
                "`{prefix}` cannot start a branch's name; choose another prefix"
            )));
        }
        *self.prefix.borrow_mut() = prefix.to_owned();
        Ok(())
    }

    fn patch(&self, onto: CommitId, changes: &ChangeSet) -> Result<String, GitError> {
        let store = self.store();
        write::patch(store.repo(), store.commit(onto)?.tree, changes)
    }

    fn landed(
        &self,
        branch: &str,
        tip: CommitId,
        file: &RepoPath,
        text: &str,
    ) -> Result<Option<Stretch>, GitError> {
        self.landed_in(branch, tip, file, text)
    }

    fn stretch(&self, branch: &str, last: CommitId, files: &[RepoPath]) -> Result<Option<Stretch>, GitError> {
        self.stretch_in(branch, last, files)
    }

    fn forget(&self) -> bool {
        if !self.store().is_cache() || self.forgotten.replace(true) {
            return false;
        }
        self.whole.borrow_mut().clear();
        self.fetched.borrow_mut().clear();
        self.store.borrow_mut().renew().is_ok()
    }
}

/// Tells whether a text can be a branch's name, without a pattern or a colon that a refspec would read.
fn is_branch_name(name: &str) -> bool {
    git2::Reference::is_valid_name(&format!("refs/heads/{name}"))
}
