//! Mirrors of the edge charts that the operator has named: whether they have a chart.
//!
//! In: the operator's addresses. Out: an answer for the address that a pin has its chart from, where that is one of the
//! operator's or below one; nothing else is ever asked. Each index is read at most once, and only when a release would
//! be taken otherwise; a registry is asked for the manifest, and for its tags once something is missing.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, PoisonError},
};

use url::Url;

use super::{Mirror, Sources, feed, mirror::AskedAt};
use crate::{
    oci::{self, Address},
    sys::{cache::Cache, http::Http},
};

/// What a mirror said of a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stock {
    /// It has the chart at that version.
    There,
    /// It does not.
    Absent,
    /// It could not be asked; the reason.
    Unread(String),
}

/// Tells whether mirrors have charts.
pub trait Mirrors {
    /// Asks the repository at an address, which lies in a mirror of the operator's.
    fn stock(&self, address: &str, chart: &str, version: &str) -> Stock;
}

/// Where the operator has named no mirror.
#[derive(Clone, Copy, Debug)]
pub struct NoMirrors;

/// The mirrors of one pass, with what was read of them.
pub struct Asked<'a> {
    http: &'a Http,
    cache: Option<Cache>,
    mirrors: &'a [Mirror],
    registries: oci::Client<'a>,
    read: Mutex<BTreeMap<Url, Index>>,
    said: Mutex<Said>,
}

/// What registries said.
#[derive(Default)]
struct Said {
    charts: BTreeMap<(Address, String), Stock>,
    /// The tags of a repository that lacked something: it is not asked for what is not among them.
    tags: BTreeMap<Address, BTreeSet<String>>,
}

/// The charts of an index, by name and version, or why it could not be read.
type Index = Result<BTreeSet<(String, String)>, String>;

// === impl NoMirrors ===

impl Mirrors for NoMirrors {
    fn stock(&self, _: &str, _: &str, _: &str) -> Stock {
        Stock::Unread("no mirror is named".to_owned())
    }
}

// === impl Asked ===

impl<'a> Asked<'a> {
    /// Asks nothing yet.
    pub fn new(http: &'a Http, cache: Option<Cache>, sources: &'a Sources) -> Self {
        let registries = sources.registries.client(http);
        let (read, said) = (Mutex::default(), Mutex::default());
        Self { http, cache, mirrors: &sources.mirrors, registries, read, said }
    }

    /// Reads an index, once.
    fn index(&self, address: &Url) -> Index {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let ask = || {
            let found = feed::index(self.http, self.cache.as_ref(), address).map_err(|error| error.reason)?;
            let charts = found.packages.into_iter().map(|package| (package.name, package.chart.version));
            Ok(charts.collect())
        };
        read.entry(address.clone()).or_insert_with(ask).clone()
    }

    /// Asks a registry for a chart, once.
    fn chart(&self, repository: &Address, version: &str) -> Stock {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (repository.clone(), version.to_owned());
        if let Some(stock) = said.charts.get(&key) {
            return stock.clone();
        }
        let listed = |tags: &BTreeSet<String>| tags.contains(&oci::tag_of(version));
        let stock = match said.tags.get(repository).is_none_or(listed) {
            false => Stock::Absent,
            true => match self.registries.has(repository, version) {
                Ok(true) => Stock::There,
                Ok(false) => Stock::Absent,
                Err(error) => Stock::Unread(error.to_string()),
            },
        };
        if stock == Stock::Absent
            && !said.tags.contains_key(repository)
            && let Ok(tags) = self.registries.tags(repository)
        {
            said.tags.insert(repository.clone(), tags.unwrap_or_default().into_iter().collect());
        }
        said.charts.insert(key, stock.clone());
        stock
    }
}

impl Mirrors for Asked<'_> {
    fn stock(&self, address: &str, chart: &str, version: &str) -> Stock {
        let index = match self.mirrors.iter().find_map(|mirror| mirror.place(address, chart)) {
            Some(AskedAt::Index(index)) => index,
            Some(AskedAt::Repository(repository)) => return self.chart(&repository, version),
            None => return Stock::Unread("no mirror that was named has this address".to_owned()),
        };
        match self.index(&index) {
            Ok(charts) if charts.contains(&(chart.to_owned(), version.to_owned())) => Stock::There,
            Ok(_) => Stock::Absent,
            Err(reason) => Stock::Unread(reason),
        }
    }
}
