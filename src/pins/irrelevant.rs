//! Step 5, pins: what an earlier scan need not have read.
//!
//! In: blobs. Out: whether one of them is among these.

use std::sync::{Arc, LazyLock};

use crate::repo::BlobId;

/// Blobs in which nothing is of interest, whatever file they are: a tree after a change shares nearly all of them with
/// the tree before, and they are not read again. Cheap to clone, and put in order by the scan that asks first.
#[derive(Clone, Debug)]
pub struct IrrelevantBlobs(Arc<LazyLock<Vec<BlobId>, Sort>>);

type Sort = Box<dyn FnOnce() -> Vec<BlobId> + Send>;

// === impl IrrelevantBlobs ===

impl IrrelevantBlobs {
    /// Takes the blobs, in any order.
    pub(super) fn new(mut ids: Vec<BlobId>) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(move || {
            ids.sort_unstable();
            ids.dedup();
            ids
        }))))
    }

    /// Tells whether one is among them.
    pub(super) fn contains(&self, id: BlobId) -> bool {
        self.0.binary_search(&id).is_ok()
    }
}

impl Default for IrrelevantBlobs {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}
