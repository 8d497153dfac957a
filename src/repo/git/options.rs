//! Step 3, repo: what an operator gives, and a forge tells, for a Git remote.

use std::{path::PathBuf, sync::Arc};

use secrecy::SecretString;

use super::{Limits, SigningKey, SshOptions};
use crate::repo::Refusals;

/// What the operator gives for a remote.
#[derive(Clone, Debug, Default)]
pub struct RemoteOptions {
    /// Where bare repositories are kept between runs; without it a temporary folder serves.
    pub cache: Option<PathBuf>,
    /// The token for HTTP.
    pub token: Option<SecretString>,
    /// The name that goes with it, where the forge wants one.
    pub user: Option<&'static str>,
    /// The sentences by which its refusals are known.
    pub refusals: Vec<&'static Refusals>,
    /// Whether a token may go unencrypted to another machine.
    pub plain_http: bool,
    /// Key and known hosts for SSH.
    pub ssh: SshOptions,
    /// What signs commits.
    pub signing_key: Option<Arc<SigningKey>>,
    /// What bounds a fetch.
    pub limits: Limits,
}
