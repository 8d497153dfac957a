//! The catalog that all repositories of a daemon share, read again when half an interval has passed.
#![allow(clippy::disallowed_methods, reason = "the time is taken here")]

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use jiff::Timestamp;

use crate::{
    cli::{Error, request::Network, session::Session},
    pipeline,
    release::{Catalog, Purpose},
    serve::Board,
    sys::secrets::Token,
};

/// How long a failure to read the feeds counts for every repository.
const FAILURE_LASTS: Duration = Duration::from_secs(30);

/// What reading the feeds gave.
type Shared = Result<Arc<Catalog>, Error>;

/// The catalog, and how it is read.
pub(super) struct SharedCatalog<'a> {
    pub(super) session: &'a Session<'a>,
    pub(super) network: &'a Network,
    /// How long it lasts.
    pub(super) lasts: Duration,
    /// Told of what was read.
    pub(super) board: &'a Board,
    pub(super) last: Mutex<Option<(Instant, Shared)>>,
}

// === impl SharedCatalog ===

impl SharedCatalog<'_> {
    /// Returns the catalog; `token` is for the list of releases, where it is read anew.
    pub(super) fn get(&self, token: Option<&Token>) -> Shared {
        // Held while the feeds are read, so that they are read once however many passes wait for them.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((read, catalog)) =
            last.as_ref().filter(|(read, shared)| read.elapsed() < self.lasts(shared))
        {
            tracing::debug!(age = read.elapsed().as_secs(), "the catalog is fresh enough");
            return catalog.clone();
        }
        let catalog = self.session.catalog(self.network, token, Purpose::Run { to: None }).map(Arc::new);
        if let Ok(catalog) = &catalog {
            let newest = pipeline::newest(catalog);
            let published = |version| catalog.get(version).and_then(|release| release.published);
            let newest = newest.map(|newest| (newest, published(newest)));
            self.board.releases(Timestamp::now(), catalog.releases.len(), newest);
        }
        *last = Some((Instant::now(), catalog.clone()));
        catalog
    }

    /// Feeds that are down are not asked again for each of hundreds of repositories.
    fn lasts(&self, shared: &Shared) -> Duration {
        if shared.is_ok() { self.lasts } else { self.lasts.min(FAILURE_LASTS) }
    }
}
