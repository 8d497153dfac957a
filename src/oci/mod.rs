//! Registries of the OCI distribution specification, as far as charts need them.
//!
//! In: an address that the operator has named, and his credentials. Out: tags, manifests and blobs, each proven by its
//! digest. A pin of a repository chooses no host here: who asks has checked that an address lies in one of the
//! operator's. The four requests are our own, since [`sys::http`](crate::sys::http) bounds sizes and times, counts, and
//! says where credentials go; a client of its own would do each of these in another way.

mod address;
mod challenge;
mod client;
mod keyring;
mod manifest;

use crate::sys::http::HttpError;

pub use address::{Address, tag_of};
pub use client::{Client, Registries};
pub use keyring::{BadKeys, Key, Keyring};
pub use manifest::{Descriptor, Manifest};

/// A registry that did not give what was asked for. Addresses are shown without credentials and query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OciError {
    /// The network, or the server.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// An answer that is not what the specification has there: a wrong address, or a hostile server.
    #[error("{address}: {reason}")]
    Content {
        /// What was asked for.
        address: String,
        /// What is wrong with the answer.
        reason: String,
    },
    /// Bytes that are not those of their digest: damage, or an attack.
    #[error("{address}: has the digest {found}, and {expected} was asked for")]
    Digest {
        /// What was asked for.
        address: String,
        /// The digest that it should have, in hexadecimal.
        expected: String,
        /// The digest that it has.
        found: String,
    },
    /// A token is given by a host that was not told the password: the operator's to decide.
    #[error(
        "{registry} has its tokens from {realm}, which gets no password unless it is named; see `UPLINKER_REGISTRY_REALM`"
    )]
    Realm {
        /// The registry.
        registry: String,
        /// The host that gives the tokens.
        realm: String,
    },
}

// === impl OciError ===

impl OciError {
    /// Says whether the same request may succeed later with nothing changed on our side.
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::Http(error) if error.is_temporary())
    }
}
