//! Step 3, repo: the ids of Git's objects, a type for each kind.
//!
//! In: twenty bytes. Out: an id that only stands where one of its kind is meant. SHA-1, as Git shows it.

use std::{borrow::Cow, cmp::Ordering, fmt};

use schemars::JsonSchema;
use serde::Serialize;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name(pub [u8; 20]);

        impl $name {
            /// Returns the first bytes as a number, which tells nearly all ids apart.
            fn head(&self) -> Option<u64> {
                self.0.first_chunk().map(|bytes| u64::from_be_bytes(*bytes))
            }
        }

        impl From<[u8; 20]> for $name {
            fn from(bytes: [u8; 20]) -> Self {
                Self(bytes)
            }
        }

        /// The order of the bytes, as Git's indexes have it.
        impl Ord for $name {
            fn cmp(&self, other: &Self) -> Ordering {
                self.head().cmp(&other.head()).then_with(|| self.0.cmp(&other.0))
            }
        }

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{self}")
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"type": "string", "pattern": "^[0-9a-f]{40}$"})
            }
        }
    };
}

id! {
    /// The id of a file's content.
    BlobId
}
id! {
    /// The id of a commit.
    CommitId
}
id! {
    /// The id of a folder's content, and so of all that a commit has.
    TreeId
}
id! {
    /// The id of an object of any kind.
    ObjectId
}

impl From<BlobId> for ObjectId {
    fn from(id: BlobId) -> Self {
        Self(id.0)
    }
}

impl From<CommitId> for ObjectId {
    fn from(id: CommitId) -> Self {
        Self(id.0)
    }
}

impl From<TreeId> for ObjectId {
    fn from(id: TreeId) -> Self {
        Self(id.0)
    }
}
