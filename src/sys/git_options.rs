//! libgit2's process-wide options: time limits, certificate authorities, and what it verifies.
//!
//! The one place of the program with `unsafe`: libgit2 keeps these options in plain C globals, so that git2 declares
//! their setters `unsafe`. [`apply`] is called by each command before it starts a thread.
#![allow(unsafe_code)]

use std::{
    path::PathBuf,
    sync::{Mutex, Once, PoisonError},
    time::Duration,
};

use git2::opts;

/// What every Git connection of this process is bounded by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitOptions {
    /// How long a connection may take to be made.
    pub connect_timeout: Duration,
    /// How long a server may stay silent, in a handshake as in mid-pack.
    pub silence_timeout: Duration,
    /// An operator's certificate authorities (PEM), trusted beside the system's.
    pub ca_file: Option<PathBuf>,
    /// Whether a repository on this machine must belong to the user who runs the program (or be named by
    /// `safe.directory`).
    pub owner_validation: bool,
}

/// Options that libgit2 did not accept: the operator's file, or a second call with other options.
#[derive(Debug, thiserror::Error)]
#[error("cannot set up Git: {0}")]
pub struct GitSetup(pub String);

static TRUSTED: Once = Once::new();
static APPLIED: Mutex<Option<GitOptions>> = Mutex::new(None);

// === impl GitOptions ===

impl Default for GitOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            silence_timeout: Duration::from_secs(30),
            ca_file: None,
            owner_validation: true,
        }
    }
}

/// Sets the options for the whole process. A second call with the same options does nothing, with others it is an
/// error.
///
/// Objects are then read without computing their hash again, which halves the time of a scan. Nothing is trusted by
/// that: a pack is hashed when it arrives, and what is read later is this machine's own disk.
///
/// # Safety of the calls inside
///
/// The setters write C globals without a lock. That is sound while no other thread is inside libgit2, so this
/// function belongs before the first thread; the lock around it keeps a later call from writing again.
pub fn apply(options: &GitOptions) -> Result<(), GitSetup> {
    let mut applied = APPLIED.lock().unwrap_or_else(PoisonError::into_inner);
    match &*applied {
        Some(before) if before == options => return Ok(()),
        Some(_) => {
            return Err(GitSetup("the options of this process are set already, to other values".into()));
        }
        None => {}
    }
    // Before git2's own start, which would have libgit2 read the system's authorities: see `trust_system`.
    libgit2_sys::init();
    opts::strict_hash_verification(false);
    // SAFETY: no other thread is in libgit2 yet (this function's contract), and the values are plain integers.
    unsafe {
        opts::set_server_connect_timeout_in_milliseconds(milliseconds(options.connect_timeout))
            .and_then(|()| opts::set_server_timeout_in_milliseconds(milliseconds(options.silence_timeout)))
            .and_then(|()| opts::set_verify_owner_validation(options.owner_validation))
            .map_err(|e| GitSetup(e.message().to_owned()))?;
    }
    if let Some(path) = &options.ca_file {
        // SAFETY: as above; libgit2 copies the path and reads the file before it returns.
        unsafe { opts::set_ssl_cert_file(path) }
            .map_err(|e| GitSetup(format!("{}: {}", path.display(), e.message())))?;
    }
    *applied = Some(options.clone());
    Ok(())
}

/// Lets libgit2 trust the system's authorities; called before each connection that it makes over TLS.
///
/// It is no part of [`apply`], since reading them takes longer than all else that a run without a fetch does.
pub fn trust_system() {
    TRUSTED.call_once(|| {
        // git2 has put the places that it found into these two, where the operator had not.
        let place = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        // What cannot be read is an authority less, and a server that needed it is refused.
        // SAFETY: no other thread connects meanwhile, since each comes by here first and waits, and OpenSSL locks its
        // store; libgit2 copies the path.
        unsafe {
            let _ = place("SSL_CERT_FILE").map(|file| opts::set_ssl_cert_file(file));
            let _ = place("SSL_CERT_DIR").map(|folder| opts::set_ssl_cert_dir(folder));
        }
    });
}

fn milliseconds(duration: Duration) -> i32 {
    i32::try_from(duration.as_millis()).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_call_must_agree() {
        let options = GitOptions { silence_timeout: Duration::from_secs(20), ..GitOptions::default() };
        let absent = GitOptions { ca_file: Some("/nowhere/ca.pem".into()), ..options.clone() };
        assert!(apply(&absent).unwrap_err().to_string().contains("/nowhere/ca.pem"));
        apply(&options).unwrap();
        apply(&options).unwrap();
        let other = GitOptions { silence_timeout: Duration::from_secs(21), ..options };
        assert!(apply(&other).unwrap_err().to_string().contains("already"));
    }

    #[test]
    fn a_time_limit_beyond_the_type_is_the_longest() {
        assert_eq!(milliseconds(Duration::from_secs(u64::MAX)), i32::MAX);
        assert_eq!(milliseconds(Duration::from_secs(2)), 2000);
    }
}
