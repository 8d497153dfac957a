//! Step 3, repo: fetch and push over HTTP and SSH, by libgit2.
//!
//! In: a repository, an address, refs. Out: objects here, or a branch moved there. A transfer is bounded in size and
//! time; the token travels in a header of this one operation and is stored nowhere; no redirect leaves the host.

use std::{
    cell::{Cell, RefCell},
    panic::{AssertUnwindSafe, catch_unwind},
    time::{Duration, Instant},
};

use git2::{
    AutotagOption, Direction, ErrorClass, ErrorCode, FetchOptions, ProxyOptions, PushOptions,
    RemoteCallbacks, RemoteRedirect, Repository,
};
use secrecy::{ExposeSecret, SecretString};

use crate::{
    repo::{
        CommitId, GitError, RefUpdate, Refs,
        git::{http::printable, ssh::SshOptions, store},
    },
    sys::git_options,
};

/// How much of what a server says beside a push is kept.
const MAX_WORDS: usize = 4 << 10;

/// What bounds a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many bytes a fetch may bring.
    pub pack_bytes: usize,
    /// How long a fetch may take, also when the server keeps sending.
    pub time: Duration,
}

/// One connection's address and credentials.
pub struct Wire<'a> {
    /// Without credentials.
    pub url: String,
    /// For HTTP.
    pub authorization: Option<SecretString>,
    /// For SSH; over HTTP nothing is asked for, since after a 401 libgit2 would ask and try again.
    pub ssh: Option<&'a SshOptions>,
    /// Why the server's key was refused.
    pub refused: RefCell<Option<String>>,
}

/// A transfer that did not come to its end.
#[derive(Debug)]
pub enum WireError {
    /// Over [`Limits::pack_bytes`].
    TooLarge,
    /// Over [`Limits::time`].
    TooLong,
    /// libgit2's, and with a push what the server said beside it.
    Git(git2::Error, String),
}

/// How a push ended that reached the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// The branch is where it was to go.
    Done,
    /// The branch was at another value than the observed one; nothing was sent.
    Moved,
    /// The server did not move the branch; its words.
    Rejected(String),
}

// === impl Limits ===

impl Default for Limits {
    fn default() -> Self {
        Self { pack_bytes: 2 << 30, time: Duration::from_secs(15 * 60) }
    }
}

// === impl Wire ===

impl Wire<'_> {
    /// Lists the branches (SSH; over HTTP one request does the same).
    pub fn refs(&self, repo: &Repository) -> Result<Refs, git2::Error> {
        self.listed(repo).map_err(|error| self.told(error))
    }

    fn listed(&self, repo: &Repository) -> Result<Refs, git2::Error> {
        let mut remote = self.remote(repo)?;
        let connection = remote.connect_auth(Direction::Fetch, Some(self.callbacks()), Some(proxy()))?;
        let mut refs = Refs::default();
        for head in connection.list()? {
            if head.name() == "HEAD" {
                let target = head.symref_target().and_then(|name| name.strip_prefix("refs/heads/"));
                refs.default_branch = target.map(str::to_owned);
            } else if let Some(branch) = head.name().strip_prefix("refs/heads/") {
                refs.branches.insert(branch.to_owned(), store::id(head.oid()));
            }
        }
        Ok(refs)
    }

    fn remote<'r>(&self, repo: &'r Repository) -> Result<git2::Remote<'r>, git2::Error> {
        if self.url.starts_with("https:") {
            git_options::trust_system();
        }
        repo.remote_anonymous(&self.url)
    }

    /// Fetches by these refspecs; a server that knows no depth gives the whole history.
    pub fn fetch(
        &self,
        repo: &Repository,
        refspecs: &[String],
        depth: i32,
        limits: Limits,
    ) -> Result<(), WireError> {
        let start = Instant::now();
        let over = Cell::new(None);
        let mut callbacks = self.callbacks();
        callbacks.transfer_progress(|progress| {
            if progress.received_bytes() > limits.pack_bytes {
                over.set(Some(WireError::TooLarge));
                return false;
            }
            if start.elapsed() > limits.time {
                over.set(Some(WireError::TooLong));
                return false;
            }
            true
        });
        let mut options = FetchOptions::new();
        options
            .depth(depth)
            .download_tags(AutotagOption::None)
            .follow_redirects(RemoteRedirect::None)
            .update_fetchhead(false)
            .proxy_options(proxy())
            .remote_callbacks(callbacks);
        if let Some(header) = &self.authorization {
            options.custom_headers(&[header.expose_secret()]);
        }
        let fetched =
            self.remote(repo).and_then(|mut remote| remote.fetch(refspecs, Some(&mut options), None));
        drop(options);
        match fetched {
            // libgit2 tells so before anything is asked for.
            Err(error) if depth != 0 && error.raw_code() == raw_code::INVALID => {
                self.fetch(repo, refspecs, 0, limits)
            }
            fetched => fetched.map_err(|error| {
                over.take().unwrap_or_else(|| WireError::Git(self.told(error), String::new()))
            }),
        }
    }

    /// Moves one branch. The old value is compared with what the server says on this same connection, and sent to
    /// it: libgit2 by itself would take whatever the server says for the old value.
    pub fn push(&self, repo: &Repository, update: &RefUpdate) -> Result<Pushed, WireError> {
        let source = update.new.map(|id| id.to_string()).unwrap_or_default();
        // The plus sign only tells libgit2 not to compare histories, which are cut here; the lease is what guards.
        let plus = if update.new.is_some() && update.old.is_some() { "+" } else { "" };
        let refspec = format!("{plus}{source}:refs/heads/{}", update.branch);
        let ended = Cell::new(None);
        let status = RefCell::new(None);
        let words = RefCell::new(Vec::new());
        let mut callbacks = self.callbacks();
        callbacks.push_negotiation(|updates| {
            let Some(stopped) = updates.iter().find_map(|sent| lease(update, sent)) else { return Ok(()) };
            ended.set(Some(stopped));
            Err(git2::Error::from_str("stopped by the lease"))
        });
        callbacks.push_update_reference(|_, refused| {
            *status.borrow_mut() = refused.map(str::to_owned);
            Ok(())
        });
        callbacks.sideband_progress(|bytes| {
            let mut words = words.borrow_mut();
            let room = MAX_WORDS.saturating_sub(words.len());
            words.extend(bytes.iter().take(room));
            true
        });
        let mut options = PushOptions::new();
        options.follow_redirects(RemoteRedirect::None).proxy_options(proxy()).remote_callbacks(callbacks);
        if let Some(header) = &self.authorization {
            options.custom_headers(&[header.expose_secret()]);
        }
        // git2 unwraps the server's status as UTF-8 inside a callback; a server can send any bytes.
        let pushed = catch_unwind(AssertUnwindSafe(|| {
            self.remote(repo).and_then(|mut remote| remote.push(&[&refspec], Some(&mut options)))
        }));
        drop(options);
        if let Some(ended) = ended.take() {
            return Ok(ended);
        }
        let words = printable(&String::from_utf8_lossy(&words.take()), 600);
        let status = status.take().map(|status| printable(&status, 200));
        match (pushed, status) {
            (Err(_), _) => Ok(Pushed::Rejected("the server's status is not UTF-8".into())),
            (Ok(_), Some(status)) if words.is_empty() => Ok(Pushed::Rejected(status)),
            (Ok(_), Some(status)) => Ok(Pushed::Rejected(format!("{status}: {words}"))),
            (Ok(Ok(())), None) => Ok(Pushed::Done),
            (Ok(Err(error)), None) => Err(WireError::Git(self.told(error), words)),
        }
    }

    fn callbacks(&self) -> RemoteCallbacks<'_> {
        let mut callbacks = RemoteCallbacks::new();
        if let Some(ssh) = self.ssh {
            ssh.answer(&mut callbacks, &self.url, &self.refused);
        }
        callbacks
    }

    /// Says again why the server's key was refused, where that ended the transfer.
    fn told(&self, error: git2::Error) -> git2::Error {
        match self.refused.take() {
            Some(reason) => git2::Error::new(ErrorCode::Certificate, ErrorClass::Ssh, reason),
            None => error,
        }
    }
}

/// Numbers of libgit2's errors that git2 has no name for.
mod raw_code {
    /// `GIT_EINVALID`: the server lacks a capability.
    pub const INVALID: i32 = -21;
}

/// Compares what the server says of the branch with what was observed; `None` lets the push go on.
fn lease(update: &RefUpdate, sent: &git2::PushUpdate<'_>) -> Option<Pushed> {
    let there: Option<CommitId> = (!sent.src().is_zero()).then(|| store::id(sent.src()));
    if there == update.new {
        Some(Pushed::Done)
    } else if there != update.old {
        Some(Pushed::Moved)
    } else {
        None
    }
}

/// The proxy that the environment names; the repository has no configuration to name another.
fn proxy<'a>() -> ProxyOptions<'a> {
    let mut options = ProxyOptions::new();
    options.auto();
    options
}

/// Returns the status in libgit2's own text for an unexpected answer; it is told nowhere else.
pub fn http_status(error: &git2::Error) -> Option<u16> {
    let number = error.message().rsplit(' ').next()?.parse().ok()?;
    (error.class() == ErrorClass::Http && (400..600).contains(&number)).then_some(number)
}

/// Turns an error of a transfer into ours, from its class alone.
pub fn by_class(url: String, error: &git2::Error) -> GitError {
    let reason = printable(error.message(), 300);
    match (error.code(), error.class()) {
        // A lock in our own repository, left by a process that was killed: not the network's fault.
        (ErrorCode::Locked, _) => GitError::Other(reason),
        (ErrorCode::Auth, _) => GitError::Auth { url, reason },
        (ErrorCode::Certificate, ErrorClass::Ssh) => {
            let hint = "check the key and put it into the list of known hosts";
            GitError::Address { url, reason: format!("{reason}; {hint}") }
        }
        (ErrorCode::Certificate, _) => {
            GitError::Address { url, reason: format!("{reason}; give the server's authority as the CA file") }
        }
        (ErrorCode::Timeout | ErrorCode::Eof, _)
        | (_, ErrorClass::Net | ErrorClass::Http | ErrorClass::Ssl | ErrorClass::Ssh | ErrorClass::Os) => {
            GitError::Temporary { url, reason }
        }
        _ => GitError::Other(reason),
    }
}

/// Returns the ref under which a branch is kept here; a digest, since `a` and `a/b` cannot both be refs.
pub fn private_ref(branch: &str) -> String {
    format!("refs/uplinker/{}", store::short_digest(branch))
}

/// Reads a private ref.
pub fn kept(repo: &Repository, branch: &str) -> Option<CommitId> {
    repo.refname_to_id(&private_ref(branch)).ok().map(store::id)
}
