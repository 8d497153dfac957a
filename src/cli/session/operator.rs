//! What holds for every repository of a run: the catalog, the mirrors, what renders charts, the time.
#![allow(clippy::disallowed_methods, reason = "the time is taken here")]

use std::sync::Arc;

use jiff::Timestamp;

use super::Session;
use crate::{
    cli::{Error, Network, RunRequest, request::HelmChoice},
    pipeline::{self, Operator},
    plan::Served,
    release::{self, Catalog, SourceSetting},
    render::{self, ByHelm, Renderer},
    sys::cache::Cache,
};

// === impl Session ===

impl Session<'_> {
    /// Does something with what the operator gives to every repository.
    pub(in crate::cli) fn operate<T>(
        &self,
        request: &RunRequest,
        catalog: &Catalog,
        work: impl FnOnce(&Operator<'_>) -> Result<T, pipeline::Error>,
    ) -> Result<T, Error> {
        let feeds = &request.network.feeds;
        let served = Served {
            index: match &feeds.charts {
                SourceSetting::Url(url) => Some(url.as_str().to_owned()),
                SourceSetting::Oci(address) => Some(address.to_string()),
                SourceSetting::File(_) | SourceSetting::Off => None,
            },
            mirrors: feeds.mirrors.iter().map(ToString::to_string).collect(),
        };
        let mirrors = self.mirrors(&request.network);
        let progress = |doing: &str| self.terminal.progress(doing);
        let renderer = self.renderer(&request.helm, &request.network, catalog);
        let operator = Operator {
            catalog,
            renderer: renderer.as_ref(),
            served: &served,
            mirrors: &mirrors,
            cache: request.network.cache_dir.as_deref(),
            to: request.to,
            now: Timestamp::now(),
            progress: &progress,
        };
        Ok(work(&operator)?)
    }

    /// Returns what asks the mirrors.
    pub(in crate::cli) fn mirrors<'s>(&'s self, network: &'s Network) -> release::Asked<'s> {
        release::Asked::new(&self.http, feed_cache(network), &network.feeds)
    }

    /// Nothing is looked for, fetched or started before something is to be rendered.
    pub(super) fn renderer<'s>(
        &'s self,
        helm: &HelmChoice,
        network: &Network,
        catalog: &'s Catalog,
    ) -> Box<dyn Renderer + 's> {
        let Some(helm) = helm.program() else { return Box::new(render::Off) };
        let helm = Arc::new(helm);
        let cache = network.cache_dir.as_deref();
        Box::new(ByHelm::new(helm, &self.http, cache, catalog, &network.feeds))
    }
}

/// Opens the folder that keeps the feeds.
pub(super) fn feed_cache(network: &Network) -> Option<Cache> {
    network.cache_dir.as_deref().and_then(|dir| Cache::open(&dir.join("feeds")))
}
