//! Inventories and catalogs made by hand, for the tests of `plan` and `verify`.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    linkerd::{CHARTS, EdgeVersion},
    pins::{Form, Inventory, Pin, PinKind, Reader, Reason, Site, SkipReason, Skipped, Stage},
    plan::Target,
    release::{Catalog, Chart, Feed, FeedState, Guidance, Release},
    repo::{BlobId, RepoPath},
    yaml::{Route, Step},
};

/// Reads an edge version.
pub fn edge(text: &str) -> EdgeVersion {
    text.parse().unwrap()
}

/// Reads a path.
pub fn path(text: &str) -> RepoPath {
    RepoPath::new(text).unwrap()
}

/// Makes a target of folders; none means all files.
pub fn target(name: &str, folders: &[&str], exclude: &[&str]) -> Target {
    let globs = |folders: &[&str]| {
        let mut set = globset::GlobSetBuilder::new();
        for folder in folders {
            set.add(globset::Glob::new(&format!("{folder}/**")).unwrap());
        }
        set.build().unwrap()
    };
    let (paths, exclude) = (globs(folders), globs(exclude));
    Target { name: name.to_owned(), paths, exclude, all: folders.is_empty(), ..Target::default_all() }
}

/// An inventory in the making; modifiers such as [`Build::stays`] change the pin that was added last.
#[derive(Clone, Default)]
pub struct Build(Inventory);

impl Build {
    /// Adds a pin of any shape; its line is one more than the number of pins of its file so far.
    pub fn pin(mut self, file: &str, kind: PinKind, value: &str) -> Self {
        let path = path(file);
        let line = 1 + self.0.pins.iter().filter(|p| p.path == path).count();
        let digest = value.starts_with("sha256:");
        let last = |at: char| value.rsplit_once(at).map_or(value, |(_, version)| version);
        let rendered = || last(' ').parse().ok().or_else(|| EdgeVersion::from_chart(last('-')));
        let (form, version) = match (value.parse(), EdgeVersion::from_chart(value)) {
            _ if kind == PinKind::RenderedManifest => (Form::Rendered, rendered()),
            (Ok(edge), _) => (Form::Edge, Some(edge)),
            (_, Some(edge)) => (Form::Chart, Some(edge)),
            _ if digest && kind == PinKind::ChartLock => (Form::LockDigest, None),
            _ if semver::Version::parse(value).is_ok() => (Form::Chart, None),
            _ => (Form::Opaque, None),
        };
        let stage = match kind {
            PinKind::ProxyAnnotation | PinKind::Image => Stage::DataPlane,
            _ => Stage::Platform,
        };
        let site = Site { span: 0..value.len(), line, column: 1, document: 0, route: None };
        let blob = BlobId([file.len() as u8; 20]);
        let (value, chart, mirror) = (value.to_owned(), None, None);
        let (stays, frame, installations, homes) = (None, None, Default::default(), Vec::new());
        let pin = Pin {
            path,
            blob,
            site,
            kind,
            chart,
            mirror,
            value,
            form,
            read_as: None,
            frame,
            version,
            stage,
            restarts: false,
            is_off: false,
            asks_no_stop: false,
            chooses_controllers: false,
            filter: None,
            stays,
            unheld: None,
            ended: None,
            kept_by: None,
            read_at: Vec::new(),
            given_to: Vec::new(),
            also: Vec::new(),
            installations,
            homes,
        };
        self.0.pins.push(Arc::new(pin));
        self
    }

    /// Adds the version of a chart in a HelmRelease.
    pub fn chart(self, file: &str, chart: &str, value: &str) -> Self {
        self.pin(file, PinKind::FluxHelmRelease, value).of(chart)
    }

    /// Adds a proxy annotation.
    pub fn proxy(self, file: &str, value: &str) -> Self {
        self.pin(file, PinKind::ProxyAnnotation, value)
    }

    /// Adds a value of a chart under a dotted key.
    pub fn value(self, file: &str, chart: &str, key: &str, value: &str) -> Self {
        let steps = key.split('.').map(|k| Step::Key(k.to_owned())).collect();
        let chooses_controllers =
            crate::linkerd::value(chart, key).is_some_and(|value| value.chooses_controllers());
        self.pin(file, PinKind::HelmValues, value).of(chart).with(|p| {
            p.site.route = Some(Route { document: 0, steps });
            p.chooses_controllers = chooses_controllers;
        })
    }

    /// Says which chart the last pin is of.
    pub fn of(self, chart: &str) -> Self {
        self.with(|pin| pin.chart = Some(chart.to_owned()))
    }

    /// Says what else reads the last pin: a chart by its version, or proxies at a line.
    pub fn read_by(self, chart: Option<&str>, at: &str) -> Self {
        let stage = if chart.is_some() { Stage::Platform } else { Stage::DataPlane };
        let chart = chart.map(str::to_owned);
        let places = vec![(path(at), 7)];
        self.with(|pin| pin.also.push(Reader { chart, mirror: None, form: pin.form, stage, places }))
    }

    /// Says why the last pin stays.
    pub fn stays(self, reason: Reason) -> Self {
        self.with(|pin| pin.stays = Some(reason))
    }

    /// Says that a line elsewhere keeps the last pin.
    pub fn kept_by(self, at: &str) -> Self {
        self.with(|pin| pin.kept_by = Some((path(at), 7)))
    }

    /// Says that the first line of a file names the last pin.
    pub fn read_at(self, file: &str) -> Self {
        self.with(|pin| pin.read_at = vec![(path(file), 1)])
    }

    /// Says which installations the last pin serves.
    pub fn serves(mut self, names: &[&str]) -> Self {
        let names: crate::pins::Installations = names.iter().map(|name| (*name).into()).collect();
        let known = &mut self.0.facts.installations;
        known.extend(names.iter().cloned());
        known.sort();
        known.dedup();
        self.with(|pin| pin.installations = names)
    }

    /// Says which mirror serves the last pin's chart.
    pub fn mirror(self, url: &str) -> Self {
        self.with(|pin| pin.mirror = Some(url.to_owned()))
    }

    /// Changes the last pin.
    pub fn with(mut self, change: impl FnOnce(&mut Pin)) -> Self {
        change(Arc::make_mut(self.0.pins.last_mut().unwrap()));
        self
    }

    /// Adds a file that was skipped.
    pub fn skip(mut self, file: &str, reason: SkipReason, versions: &[&str]) -> Self {
        let versions = versions.iter().map(|v| edge(v)).collect();
        self.0.skipped.push(Skipped { path: path(file), reason, detail: None, versions });
        self
    }

    /// Changes the facts.
    pub fn facts(mut self, change: impl FnOnce(&mut crate::pins::Facts)) -> Self {
        change(&mut self.0.facts);
        self
    }

    /// Returns the inventory, ordered as a scan orders it.
    pub fn inventory(mut self) -> Inventory {
        self.0.pins.sort_by(|a, b| (&a.path, a.site.line).cmp(&(&b.path, b.site.line)));
        self.0
    }
}

/// Makes a catalog of releases with all charts, published on the 21st of their month.
pub fn catalog(versions: &[&str]) -> Catalog {
    let releases = versions.iter().map(|v| (edge(v), release(edge(v)))).collect();
    Catalog { releases, feeds: vec![Feed { name: "charts", state: FeedState::Read }], ..Catalog::default() }
}

fn release(version: EdgeVersion) -> Release {
    let chart = |name: &str| Chart {
        version: version.chart(),
        url: format!("https://helm.linkerd.io/edge/{name}-{}.tgz", version.chart()),
        digest: Some(format!("digest of {name} {version}")),
        kube_version: Some(">=1.31.0-0".into()),
    };
    let (year, month, _) = version.triple();
    Release {
        version,
        published: Some(format!("20{year}-{month:02}-21T00:00:00Z").parse().unwrap()),
        charts: CHARTS.iter().map(|name| ((*name).to_owned(), chart(name))).collect::<BTreeMap<_, _>>(),
        milestone: None,
        is_milestone: false,
        guidance: Guidance::Unknown,
        notes: None,
    }
}
