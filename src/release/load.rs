//! Asks the feeds and merges their answers into the catalog.
//!
//! In: the operator's sources. Out: a [`Catalog`]. A feed that fails is recorded and the rest goes on; only when
//! no feed can tell any release is it an error.
//!
//! A warm run makes two requests here, both conditional: the index and the first page of GitHub's releases.
//! `versioncheck` names one release that the list of releases names too, earlier and with its date, so it is
//! asked only where that list is off or failed. The built-in milestones and notices need no request.

use super::{
    Catalog, Feed, FeedState, Guidance, SourceSetting, Sources,
    feed::{self, FeedError},
    github_releases, milestones, registry, versioncheck,
};
use crate::{
    linkerd::{Advice, EdgeVersion, Knowledge, Verdict, built_in},
    oci::Registries,
    sys::{cache::Cache, http::Http},
};

/// More remarks than this are counted, not listed.
const REMARKS: usize = 20;

/// How far back GitHub's list is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// For a run: the first page, and further ones only back to the required stops, whose dates and advice count
    /// however old they are.
    Run {
        /// `--to`, which counts as well.
        to: Option<EdgeVersion>,
    },
    /// For a list of all releases.
    Everything,
}

/// No release can be told.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ReleaseError {
    /// Every feed is off: the operator's fault.
    #[error(
        "every release feed is off; leave out `--charts-url`, `--releases-url` or `--versioncheck-url`, or give one an address"
    )]
    AllOff,
    /// No feed that is on could be read, or none names a release.
    #[error("no feed tells of any release")]
    NoFeed {
        /// Each feed with its reason.
        feeds: Vec<Feed>,
        /// Whether the same run may succeed later with nothing changed.
        temporary: bool,
    },
}

/// Reads the feeds.
///
/// # Errors
///
/// When no feed tells any release.
pub fn load(
    http: &Http,
    cache: Option<&Cache>,
    sources: &Sources,
    purpose: Purpose,
) -> Result<Catalog, ReleaseError> {
    let feeds = [&sources.versioncheck, &sources.charts, &sources.releases];
    if feeds.iter().all(|source| source.is_off()) {
        return Err(ReleaseError::AllOff);
    }
    let mut reader = Reader { http, cache, catalog: Catalog::default(), temporary: false };
    let operators = reader.knowledge(&sources.milestones);
    reader.charts(&sources.charts, &sources.registries);
    let listed = reader.releases(sources, purpose);
    if !listed || sources.versioncheck.is_off() {
        reader.versioncheck(&sources.versioncheck);
    }
    let Reader { mut catalog, temporary, .. } = reader;
    if catalog.releases.is_empty() {
        return Err(ReleaseError::NoFeed { feeds: catalog.feeds, temporary });
    }
    annotate(&mut catalog, operators.as_ref());
    Ok(catalog)
}

/// The catalog while it is filled.
struct Reader<'a> {
    http: &'a Http,
    cache: Option<&'a Cache>,
    catalog: Catalog,
    temporary: bool,
}

// === impl Reader ===

impl Reader<'_> {
    /// Adds the operator's facts to the built-in ones and returns them.
    fn knowledge(&mut self, source: &SourceSetting) -> Option<Knowledge> {
        let read = source.address().map(|address| {
            let address = address?;
            let page = feed::get(self.http, self.cache, &address, milestones::LIMIT)?;
            milestones::read(&page.body).map_err(|reason| FeedError::content(&address, &reason))
        });
        let more = self.record("milestones", read)?;
        self.catalog.knowledge = built_in().extended_by(more.clone());
        Some(more)
    }

    fn charts(&mut self, source: &SourceSetting, registries: &Registries) {
        let read = match source {
            SourceSetting::Oci(address) => Some(registry::read(registries.client(self.http), address)),
            _ => source.address().map(|address| feed::index(self.http, self.cache, &address?)),
        };
        let Some(found) = self.record("charts", read) else { return };
        for package in found.packages {
            self.catalog.entry(package.edge).charts.insert(package.name, package.chart);
        }
        let more = found.remarks.len().saturating_sub(REMARKS);
        self.catalog.remarks.extend(found.remarks.into_iter().take(REMARKS));
        if more > 0 {
            self.catalog.remarks.push(format!("and {more} more entries of the chart index"));
        }
    }

    /// Reads GitHub's list and says whether it named any release. What was read before a failure counts.
    fn releases(&mut self, sources: &Sources, purpose: Purpose) -> bool {
        let knowledge = &self.catalog.knowledge;
        let enough = |oldest: EdgeVersion| match purpose {
            Purpose::Everything => false,
            Purpose::Run { to } => {
                knowledge.hops.iter().flat_map(|hop| &hop.via).chain(&to).all(|needed| oldest <= *needed)
            }
        };
        let mut all = Vec::new();
        let read = sources.releases.address().map(|address| {
            let address = address?;
            let list = github_releases::List { address: &address, token: sources.releases_token.as_ref() };
            list.read(self.http, self.cache, enough, &mut all)
        });
        self.record("releases", read);
        let any = !all.is_empty();
        for published in all {
            let release = self.catalog.entry(published.version);
            release.published = published.date;
            release.notes = published.notes;
            release.guidance = published.guidance;
        }
        any
    }

    fn versioncheck(&mut self, source: &SourceSetting) {
        let read = source.address().map(|address| {
            let address = address?;
            let page = feed::get(self.http, self.cache, &address, versioncheck::LIMIT)?;
            versioncheck::read(&page.body).map_err(|reason| FeedError::content(&address, &reason))
        });
        if let Some(newest) = self.record("versioncheck", read) {
            self.catalog.entry(newest);
        }
    }

    /// Notes what became of a feed.
    fn record<T>(&mut self, name: &'static str, read: Option<Result<T, FeedError>>) -> Option<T> {
        let (state, value) = match read {
            None => (FeedState::Off, None),
            Some(Ok(value)) => (FeedState::Read, Some(value)),
            Some(Err(error)) => {
                self.temporary |= error.temporary;
                (FeedState::Failed(error.reason), None)
            }
        };
        self.catalog.feeds.push(Feed { name, state });
        value
    }
}

/// Adds milestones and advice. The operator's word goes first, then a release's own notes, then the built-in
/// advice, which was published elsewhere.
fn annotate(catalog: &mut Catalog, operators: Option<&Knowledge>) {
    for release in catalog.releases.values_mut() {
        let version = release.version;
        if let Some(milestone) = catalog.knowledge.milestone_of(version) {
            release.milestone = Some(milestone.name.clone());
            release.is_milestone = milestone.first == version;
        }
        if let Some(advice) = operators.and_then(|known| known.guidance.get(&version)) {
            release.guidance = advice.into();
        } else if release.guidance == Guidance::Unknown
            && let Some(advice) = built_in().guidance.get(&version)
        {
            release.guidance = advice.into();
        }
    }
}

// === impl ReleaseError ===

impl ReleaseError {
    /// Says of each feed that is on why it gave nothing, one line each.
    pub fn reasons(&self) -> Vec<String> {
        let Self::NoFeed { feeds, .. } = self else { return Vec::new() };
        let reason = |feed: &Feed| match &feed.state {
            FeedState::Read => Some(format!("{}: read, and it names no release", feed.name)),
            FeedState::Off => None,
            FeedState::Failed(reason) => Some(format!("{}: {reason}", feed.name)),
        };
        feeds.iter().filter_map(reason).collect()
    }

    /// Says whether the same run may succeed later with nothing changed on our side.
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::NoFeed { temporary: true, .. })
    }
}

// === impl Guidance ===

impl From<&Advice> for Guidance {
    fn from(advice: &Advice) -> Self {
        let (note, source) = (advice.note.clone(), advice.source.clone());
        match advice.verdict {
            Verdict::Recommended => {
                Self::Recommended { source, cautions: Some(note).filter(|note| !note.is_empty()) }
            }
            Verdict::NotRecommended => Self::NotRecommended { instead: advice.instead.clone(), note, source },
            Verdict::Caution => Self::Caution { note, source },
        }
    }
}

#[cfg(test)]
mod tests;
