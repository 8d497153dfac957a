//! Step 1, release: what all feeds have in common.
//!
//! A feed is asked within a time, and one that could not be read says why, and whether asking later may help.

use std::time::Duration;

use url::Url;

use super::BadSource;
use crate::sys::http::{HttpError, shown};

/// The longest that one attempt at a feed may take.
pub(super) const TIMEOUT: Duration = Duration::from_secs(60);

/// A feed that could not be read.
#[derive(Clone, Debug)]
pub(super) struct FeedError {
    pub reason: String,
    pub temporary: bool,
}

// === impl FeedError ===

impl FeedError {
    /// A body that is not what the feed should be.
    pub(super) fn content(address: &Url, reason: &str) -> Self {
        Self { reason: format!("{}: {reason}", shown(address)), temporary: false }
    }
}

impl From<BadSource> for FeedError {
    fn from(error: BadSource) -> Self {
        Self { reason: error.to_string(), temporary: false }
    }
}

impl From<HttpError> for FeedError {
    fn from(error: HttpError) -> Self {
        Self { reason: error.to_string(), temporary: error.is_temporary() }
    }
}
