//! Step 1, release: what all feeds have in common.
//!
//! A feed is asked within a time, and one that could not be read says why, and whether asking later may help.

use std::time::Duration;

use url::Url;

use super::{BadSource, helm_index};
use crate::sys::{
    cache::Cache,
    http::{FeedRequest, Fetched, Http, HttpError, shown},
};

/// The longest that one attempt at a feed may take.
pub(super) const TIMEOUT: Duration = Duration::from_secs(60);

/// A feed that could not be read.
#[derive(Clone, Debug)]
pub(super) struct FeedError {
    pub reason: String,
    pub temporary: bool,
}

/// Gets a feed that needs no token.
pub(super) fn get(http: &Http, cache: Option<&Cache>, url: &Url, limit: u64) -> Result<Fetched, FeedError> {
    let request = FeedRequest { url, accept: "*/*", token: None, limit, timeout: TIMEOUT };
    Ok(http.get(&request, cache)?)
}

/// Gets an index of charts; what was once worked out from the same bytes is not worked out again.
pub(super) fn index(
    http: &Http,
    cache: Option<&Cache>,
    address: &Url,
) -> Result<helm_index::Packages, FeedError> {
    let page = get(http, cache, address, helm_index::LIMIT)?;
    let origin = format!("{}/{}", page.hash, helm_index::RULES);
    let derived = cache.and_then(|cache| cache.load_derived(address.as_str(), &origin));
    if let Some(known) = derived.and_then(|bytes| serde_json::from_slice(&bytes).ok()) {
        return Ok(known);
    }
    let found = helm_index::read(&page.body, address).map_err(|e| FeedError::content(address, &e))?;
    if let (Some(cache), Ok(bytes)) = (cache, serde_json::to_vec(&found)) {
        cache.store_derived(address.as_str(), &origin, &bytes);
    }
    Ok(found)
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
