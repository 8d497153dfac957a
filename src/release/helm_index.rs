//! The `charts` feed: the index of a Helm repository.
//!
//! In: the body of `index.yaml`. Out: the packaged charts of Linkerd in it, each with the edge release that it
//! belongs to. One broken entry costs that entry and a remark, never the index. Charts of others are left out:
//! a mirror may hold anything, and `billing-calendar 2026.8.2` is no release.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde::{
    Deserialize, Serialize,
    de::{IgnoredAny, MapAccess},
};
use url::Url;

use super::{
    Chart,
    lenient::{Lenient, Shape},
};
use crate::linkerd::{EdgeVersion, is_chart};

/// An index that only ever grows: six charts a release over ten years are some 5 MB.
pub(super) const LIMIT: u64 = 32 * 1024 * 1024;

/// Charts of one release are packaged by one job; dates further apart than this belong to different releases.
const SAME_JOB: SignedDuration = SignedDuration::from_mins(30);

/// Raised when what is taken from an index changes, so that parsed forms in the cache are made anew.
pub(super) const RULES: u32 = 2;

/// Brackets nest a few levels in an index that is written as JSON; the parser's time grows with the square of
/// their depth.
const DEEPEST: usize = 200;

/// The charts of an index, and what was passed over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Packages {
    /// The charts, at most one of a name for each release.
    pub packages: Vec<Package>,
    /// Entries that were passed over or lack something, one sentence each.
    pub remarks: Vec<String>,
}

/// One packaged chart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Package {
    /// The chart's name.
    pub name: String,
    /// The release that it belongs to.
    pub edge: EdgeVersion,
    /// What the catalog keeps of it.
    #[serde(flatten)]
    pub chart: Chart,
}

/// The index as written, as far as it is used.
#[derive(Deserialize)]
struct Index {
    #[serde(default)]
    entries: Option<Entries>,
}

/// The versions of each chart; none where the node is no list.
type Entries = BTreeMap<String, Lenient<Vec<Row>>>;

/// One version of a chart. Every field is optional, and one of a wrong type counts as absent.
#[derive(Default)]
struct Row {
    version: Option<String>,
    app_version: Option<String>,
    created: Option<String>,
    digest: Option<String>,
    kube_version: Option<String>,
    urls: Vec<String>,
}

/// Reads an index; relative addresses are resolved against the one it was asked for at, as Helm does. The error
/// completes the sentence that names the feed.
pub(super) fn read(body: &[u8], address: &Url) -> Result<Packages, String> {
    if flow_depth(body) > DEEPEST {
        return Err("not a Helm index: brackets are nested too deeply".to_owned());
    }
    let index: Index = serde_yaml::from_slice(body).map_err(|e| format!("not a Helm index: {e}"))?;
    let entries = index.entries.ok_or("not a Helm index: it has no `entries`")?;
    let dates = release_dates(&entries);
    let mut all = Packages::default();
    for (name, Lenient(rows)) in entries.iter().filter(|(name, _)| is_chart(name)) {
        let mut seen = BTreeSet::new();
        let mut rows: Vec<&Row> = rows.iter().collect();
        // A mirror's rebuild, such as `2026.8.3-ours`, must not stand for the release's own chart, whichever comes first.
        rows.sort_by_key(|row| row.version.as_deref().and_then(EdgeVersion::from_chart).is_none());
        for row in rows {
            match package(name, row, address, &dates) {
                Ok(package) if !seen.insert(package.edge) => {
                    let (version, edge) = (&package.chart.version, package.edge);
                    all.remarks.push(format!("{name} {version}: {edge} has one already; passed over"));
                }
                Ok(package) => {
                    if package.chart.digest.is_none() {
                        all.remarks.push(format!("{name} {} has no digest", package.chart.version));
                    }
                    all.packages.push(package);
                }
                Err(remark) => all.remarks.push(remark),
            }
        }
    }
    Ok(all)
}

/// Takes one entry, or says why it is passed over.
fn package(
    name: &str,
    row: &Row,
    address: &Url,
    dates: &BTreeMap<EdgeVersion, Timestamp>,
) -> Result<Package, String> {
    let Some(version) = row.version.clone() else {
        return Err(format!("an entry of {name} has no version; passed over"));
    };
    let Some(edge) = edge_of(row, &version, dates) else {
        return Err(format!("{name} {version}: its edge release cannot be told; passed over"));
    };
    let Some(url) = row.urls.iter().find_map(|url| resolve(address, url)) else {
        return Err(format!("{name} {version} has no usable address; passed over"));
    };
    let digest = row.digest.as_deref().and_then(sha256);
    let chart = Chart { version, url: url.into(), digest, kube_version: row.kube_version.clone() };
    Ok(Package { name: name.to_owned(), edge, chart })
}

/// Tells the release of a chart: by the version itself since edge-24.3.1, by `appVersion` before; linkerd-crds
/// has no `appVersion`, so its old versions go by the date of the charts that were packaged with it.
fn edge_of(row: &Row, version: &str, dates: &BTreeMap<EdgeVersion, Timestamp>) -> Option<EdgeVersion> {
    if let Some(edge) = EdgeVersion::from_chart(version) {
        return Some(edge);
    }
    match &row.app_version {
        Some(app_version) => app_version.parse().ok(),
        None => {
            let created: Timestamp = row.created.as_deref()?.parse().ok()?;
            let near = |date: &Timestamp| date.duration_since(created).abs() <= SAME_JOB;
            let mut siblings = dates.iter().filter(|(_, date)| near(date)).map(|(edge, _)| *edge);
            // Two releases within the time of one job: dates tell nothing, as in an index that was made anew.
            siblings.next().filter(|_| siblings.next().is_none())
        }
    }
}

/// Returns when each release was packaged, by the charts that name it.
fn release_dates(entries: &Entries) -> BTreeMap<EdgeVersion, Timestamp> {
    let mut dates = BTreeMap::new();
    let rows = entries.iter().filter(|(name, _)| is_chart(name)).flat_map(|(_, rows)| &rows.0);
    for row in rows {
        let edge = row.app_version.as_deref().and_then(|text| text.parse::<EdgeVersion>().ok());
        let created = row.created.as_deref().and_then(|text| text.parse::<Timestamp>().ok());
        if let (Some(edge), Some(created)) = (edge, created) {
            let date = dates.entry(edge).or_insert(created);
            *date = created.max(*date);
        }
    }
    dates
}

/// Returns how many brackets are open at once, at most; brackets in text count too, which errs upwards.
fn flow_depth(body: &[u8]) -> usize {
    let (mut open, mut most) = (0_usize, 0);
    for byte in body {
        match byte {
            b'[' | b'{' => open += 1,
            b']' | b'}' => open = open.saturating_sub(1),
            _ => continue,
        }
        most = most.max(open);
    }
    most
}

fn resolve(address: &Url, text: &str) -> Option<Url> {
    let url = address.join(text).ok()?;
    // Only an index that is a file itself may point at files.
    let allowed = matches!(url.scheme(), "https" | "http" | "oci") || url.scheme() == address.scheme();
    allowed.then_some(url)
}

fn sha256(text: &str) -> Option<String> {
    let text = text.strip_prefix("sha256:").unwrap_or(text);
    (text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit())).then(|| text.to_ascii_lowercase())
}

// === impl Row ===

impl Shape for Option<Row> {
    // An entry that is not even a mapping is kept, so that it is remarked on as one without a version.
    fn absent() -> Self {
        Some(Row::default())
    }

    fn map<'de, A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        let mut row = Row::default();
        while let Some(Lenient(key)) = map.next_key::<Lenient<Option<String>>>()? {
            match key.as_deref() {
                Some("version") => row.version = map.next_value::<Lenient<_>>()?.0,
                Some("appVersion") => row.app_version = map.next_value::<Lenient<_>>()?.0,
                Some("created") => row.created = map.next_value::<Lenient<_>>()?.0,
                Some("digest") => row.digest = map.next_value::<Lenient<_>>()?.0,
                Some("kubeVersion") => row.kube_version = map.next_value::<Lenient<_>>()?.0,
                Some("urls") => row.urls = map.next_value::<Lenient<_>>()?.0,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(Some(row))
    }
}

#[cfg(test)]
mod tests;
