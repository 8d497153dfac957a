//! Step 7, render: packaged charts, as the index names them.
//!
//! In: a chart's name and version. Out: its files, out of a package whose SHA-256 is the index's, or that of its manifest
//! in a registry. A package is fetched from the host of the index and from no other, and kept in the cache by its digest.
//! A package without a digest in the index is not taken: its templates would run unchecked.

mod package;

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use url::Url;

use super::{Chart, ChartId, RenderError};
use crate::{
    helm::File,
    oci::{Address, OciError, Registries},
    release::{self, Catalog, SourceSetting, Sources},
    sys::{
        cache::{Cache, Headers, Stored},
        http::{FeedRequest, Http, HttpError, shown},
    },
};

/// Linkerd's largest package has 160 KB.
const PACKAGE_LIMIT: u64 = 8 * 1024 * 1024;

const TIMEOUT: Duration = Duration::from_secs(60);

/// Brings charts; each is fetched once.
pub(super) struct Charts<'a> {
    http: &'a Http,
    cache: Option<Cache>,
    catalog: &'a Catalog,
    index: SourceSetting,
    registries: Arc<Registries>,
    brought: Mutex<BTreeMap<ChartId, Slot>>,
}

type Slot = Arc<OnceLock<Result<Package, RenderError>>>;

/// A chart, and all of its files.
#[derive(Clone)]
pub(super) struct Package {
    /// What the other steps see.
    pub chart: Arc<Chart>,
    /// All files, those that are no text too.
    pub files: Arc<Vec<File>>,
}

// === impl Charts ===

impl<'a> Charts<'a> {
    /// Uses the operator's cache folder, where there is one.
    pub fn new(http: &'a Http, cache: Option<&Path>, catalog: &'a Catalog, sources: &Sources) -> Self {
        let cache = cache.and_then(|folder| Cache::open(&folder.join("charts")));
        let (index, registries) = (sources.charts.clone(), Arc::clone(&sources.registries));
        Self { http, cache, catalog, index, registries, brought: Mutex::default() }
    }

    /// Returns where the index is read from.
    pub fn index(&self) -> &SourceSetting {
        &self.index
    }

    /// Brings a chart.
    pub fn bring(&self, id: &ChartId) -> Result<Package, RenderError> {
        let slot = {
            let mut brought = self.brought.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(brought.entry(id.clone()).or_default())
        };
        slot.get_or_init(|| self.fetch(id)).clone()
    }

    fn fetch(&self, id: &ChartId) -> Result<Package, RenderError> {
        let missing = |reason: &str| RenderError::NoChart { chart: id.clone(), reason: reason.to_owned() };
        let entry = self.entry(id).ok_or_else(|| match self.index {
            SourceSetting::Off => {
                missing("the chart index is turned off, so that there is nothing to render")
            }
            _ => missing("the chart index does not have it"),
        })?;
        let (digest, body) = match &self.index {
            SourceSetting::Oci(index) => self.pull(id, index, &entry.url)?,
            _ => self.download(id, entry)?,
        };
        let files = package::unpack(&body)
            .and_then(|files| package::is_chart(&files, id).map(|()| files))
            .map_err(|reason| RenderError::Package { chart: id.clone(), reason })?;
        let text = |file: &File| Some((file.path.clone(), Arc::from(str::from_utf8(&file.bytes).ok()?)));
        let chart = Chart { id: id.clone(), digest, files: files.iter().filter_map(text).collect() };
        Ok(Package { chart: Arc::new(chart), files: Arc::new(files) })
    }

    /// Brings a package that the index names; returns its digest too.
    fn download(&self, id: &ChartId, entry: &release::Chart) -> Result<(String, Vec<u8>), RenderError> {
        let missing = |reason: &str| RenderError::NoChart { chart: id.clone(), reason: reason.to_owned() };
        let digest = entry.digest.as_deref().ok_or_else(|| {
            missing("the chart index names no digest for it, so that its package cannot be checked")
        })?;
        let url = Url::parse(&entry.url).map_err(|_| missing("its address in the chart index is none"))?;
        let index = self.index.address().and_then(Result::ok);
        let allowed = index.as_ref().is_some_and(|index| serves(index, &url));
        if !allowed {
            let reason = format!(
                "the chart index has its package at {}, which is not where the index is",
                shown(&url)
            );
            return Err(missing(&reason));
        }
        Ok((digest.to_owned(), self.body(id, digest, &url)?))
    }

    /// Brings a package of a registry, whose manifest names its digest; returns that too.
    fn pull(&self, id: &ChartId, index: &Address, url: &str) -> Result<(String, Vec<u8>), RenderError> {
        let missing = |reason: &str| RenderError::NoChart { chart: id.clone(), reason: reason.to_owned() };
        let at = Address::parse(url).filter(|at| at.lies_in(index));
        let at = at.ok_or_else(|| missing("it is in another registry"))?;
        let registry = self.registries.client(self.http);
        let manifest = registry.manifest(&at, &id.version).map_err(|error| of_registry(id, error))?;
        let package = manifest.ok_or_else(|| missing("the registry does not have it"))?.package;
        if let Some(kept) = self.kept(&package.digest) {
            return Ok((package.digest, kept));
        }
        let body = registry.blob(&at, &package, PACKAGE_LIMIT).map_err(|error| of_registry(id, error))?;
        Ok((package.digest.clone(), self.keep(&package.digest, body)))
    }

    /// Returns what the cache holds for a digest, where that is its digest.
    fn kept(&self, digest: &str) -> Option<Vec<u8>> {
        let kept = self.cache.as_ref()?.load(&format!("sha256:{digest}"))?;
        (kept.hash == digest).then_some(kept.body)
    }

    fn keep(&self, digest: &str, body: Vec<u8>) -> Vec<u8> {
        let stored = Stored::new(body, Headers::default());
        if let Some(cache) = &self.cache {
            cache.store(&format!("sha256:{digest}"), &stored);
        }
        stored.body
    }

    fn entry(&self, id: &ChartId) -> Option<&'a release::Chart> {
        let mut charts = self.catalog.releases.values().filter_map(|release| release.charts.get(&id.name));
        charts.find(|chart| chart.version == id.version)
    }

    /// Returns the package, whose digest is the index's.
    fn body(&self, id: &ChartId, digest: &str, url: &Url) -> Result<Vec<u8>, RenderError> {
        if let Some(kept) = self.kept(digest) {
            return Ok(kept);
        }
        let request = FeedRequest {
            url,
            accept: "application/gzip, application/octet-stream",
            token: None,
            limit: PACKAGE_LIMIT,
            timeout: TIMEOUT,
        };
        let fetched = self.http.get(&request, None).map_err(|error| outside(id, &error))?;
        if fetched.hash != digest {
            let (expected, found) = (digest.to_owned(), fetched.hash);
            return Err(RenderError::Digest { chart: id.clone(), expected, found });
        }
        Ok(self.keep(digest, fetched.body))
    }
}

fn outside(id: &ChartId, error: &HttpError) -> RenderError {
    let (chart, reason) = (id.clone(), error.to_string());
    match error {
        HttpError::TooLarge { .. } => RenderError::Package { chart, reason },
        _ => RenderError::Outside { chart, reason, temporary: error.is_temporary() },
    }
}

fn of_registry(id: &ChartId, error: OciError) -> RenderError {
    let (chart, reason) = (id.clone(), error.to_string());
    match error {
        OciError::Http(error) => outside(id, &error),
        OciError::Digest { expected, found, .. } => RenderError::Digest { chart, expected, found },
        OciError::Content { .. } => RenderError::Package { chart, reason },
        OciError::Realm { .. } => RenderError::Outside { chart, reason, temporary: false },
    }
}

/// Tells whether a package may be fetched: from the host of the index, or below the folder of an index that is a file.
/// An index is a list that anybody along its way may have written; the operator named one host, not those in it.
fn serves(index: &Url, package: &Url) -> bool {
    match index.scheme() {
        "file" => {
            let folder = index.path().rsplit_once('/').map_or("", |(folder, _)| folder);
            let below = package.path().strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
            // An encoded slash would lead elsewhere once it is decoded; the parser has resolved encoded dots.
            let plain = !package.path().to_ascii_lowercase().contains("%2f");
            package.scheme() == "file" && below && plain
        }
        scheme => {
            let secure = package.scheme() == "https" || package.scheme() == scheme;
            let port = package.port_or_known_default() == index.port_or_known_default();
            let moved = scheme == "http" && package.scheme() == "https" && package.port().is_none();
            secure && package.host() == index.host() && (port || moved)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_fetched_from_where_the_index_is() {
        let yes = |index: &str, package: &str| {
            serves(&Url::parse(index).unwrap(), &Url::parse(index).unwrap().join(package).unwrap())
        };
        let edge = "https://helm.linkerd.io/edge/index.yaml";
        assert!(yes(edge, "https://helm.linkerd.io/edge/linkerd-crds-2026.8.3.tgz"));
        assert!(yes(edge, "linkerd-crds-2026.8.3.tgz") && yes(edge, "/other/x.tgz"));
        assert!(!yes(edge, "http://helm.linkerd.io/edge/x.tgz"));
        assert!(!yes(edge, "http://helm.linkerd.io:443/edge/x.tgz"));
        assert!(!yes(edge, "https://helm.linkerd.io:8443/edge/x.tgz"));
        assert!(!yes(edge, "https://helm.linkerd.io.evil.example/x.tgz"));
        assert!(!yes(edge, "https://evil.example/x.tgz") && !yes(edge, "oci://helm.linkerd.io/x"));
        assert!(!yes(edge, "file:///etc/passwd"));
        let mirror = "http://127.0.0.1:8080/charts/index.yaml";
        assert!(yes(mirror, "x.tgz") && yes(mirror, "https://127.0.0.1/x.tgz"));
        assert!(!yes(mirror, "http://127.0.0.1:9/x.tgz") && !yes(mirror, "http://169.254.169.254/x.tgz"));
        let file = "file:///srv/charts/index.yaml";
        assert!(yes(file, "x.tgz") && yes(file, "deep/x.tgz") && yes(file, "file:///srv/charts/a%20b.tgz"));
        assert!(!yes(file, "../x.tgz") && !yes(file, "file:///etc/passwd"));
        assert!(!yes(file, "a%2f..%2f../x.tgz") && !yes(file, "https://helm.linkerd.io/edge/x.tgz"));
    }
}
