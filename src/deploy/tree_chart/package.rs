//! A folder of the tree as a chart: what Helm would be given of it.
//!
//! Source: helm's `pkg/chart/loader` and `pkg/action/dependency.go`. A dependency at a `file://` address is what
//! `helm dependency build` makes of it: a copy below `charts/`. In the place of one that is not in the tree stands an empty
//! chart, so that the rest can be looked at.

use std::{collections::BTreeSet, sync::Arc};

use semver::{Version, VersionReq};

use crate::{
    deploy::{
        files::{FileError, Files},
        note::{About, Bound, Note},
        value::{Scalar, Source, Value},
    },
    helm::HelmError,
    repo::{Entry, Mode, RepoPath},
};

/// Files of one chart with all that it depends on.
const FILES: usize = 2_000;
/// Bytes of them.
const BYTES: usize = 8 << 20;
/// Charts in charts.
const DEPTH: usize = 4;
/// What says which values a chart takes.
const SCHEMA: &str = "values.schema.json";

/// A chart of the tree.
pub struct Package {
    /// Its folder.
    pub folder: String,
    /// Its `Chart.yaml`.
    pub path: RepoPath,
    /// What it calls itself.
    pub name: String,
    /// Its files.
    pub files: Vec<File>,
    /// What its deployer puts in the place of its own `values.yaml`.
    pub own: Option<Value>,
    /// The charts inside of it.
    pub inner: Vec<Inner>,
    /// What it and those inside of it ask of their values.
    pub schemas: Vec<Schema>,
    /// Whether nothing comes of it by itself.
    pub library: bool,
    /// What was left out.
    pub notes: Vec<Note>,
}

/// A file of a chart.
pub struct File {
    /// Where it lies below the chart's folder.
    pub place: String,
    /// Its text, or what is no text.
    pub content: Content,
}

/// What a file holds.
pub enum Content {
    /// A text of the tree as it stands there.
    Text(Arc<Source>),
    /// A text that is made of one of the tree.
    Made(String),
}

/// A chart inside of another one.
pub struct Inner {
    /// Where it lies below the outer chart's folder: `charts/a`.
    pub place: String,
    /// The key of its values in those of the chart around it.
    pub key: String,
    /// Its entry among the dependencies of the chart around it: a condition or a tag of it may switch it off.
    pub dependency: Value,
    /// Whether nothing comes of it by itself.
    pub library: bool,
}

/// What a chart asks of its values.
pub struct Schema {
    /// Where the chart lies below the folder of the outermost one: `charts/a`.
    pub place: String,
    /// The file.
    pub path: RepoPath,
    /// What it says.
    pub of: Value,
}

/// Says whether a folder of the tree is a chart.
pub fn is_chart(files: &dyn Files, folder: &str) -> bool {
    RepoPath::resolve(folder, "Chart.yaml").is_some_and(|path| files.has(path.as_str()))
}

/// Lists the charts that lie unpacked in one, by their folders in `charts/`: they are parts of it, named or not. Helm passes over
/// those whose names begin with a sign (`LoadFiles`).
pub fn unpacked(files: &dyn Files, folder: &str) -> BTreeSet<String> {
    let Some(inside) = RepoPath::resolve(folder, "charts") else { return BTreeSet::new() };
    let name = |entry: &Entry| {
        let below = entry.path.as_str().strip_prefix(inside.as_str())?.strip_prefix('/')?;
        let name = below.strip_suffix("/Chart.yaml")?;
        (!name.contains('/') && !name.starts_with(['_', '.'])).then(|| name.to_owned())
    };
    files.below(inside.as_str()).iter().filter_map(name).collect()
}

// === impl Package ===

impl Package {
    /// Reads the folder of a `Chart.yaml`; dependencies of a name that `foreign` knows are left out.
    ///
    /// # Errors
    /// Where it is no chart, or has more than is read.
    pub fn read(files: &dyn Files, chart: &RepoPath, foreign: &dyn Fn(&str) -> bool) -> Result<Self, Note> {
        let folder = chart.folder();
        let mut package = Self {
            folder: folder.to_owned(),
            path: chart.clone(),
            name: String::new(),
            files: Vec::new(),
            own: None,
            inner: Vec::new(),
            schemas: Vec::new(),
            library: false,
            notes: Vec::new(),
        };
        let mut reader = Reader { files, foreign, package: &mut package, bytes: 0 };
        let (name, library) = reader.chart(folder, "", DEPTH)?;
        (package.name, package.library) = (name, library);
        Ok(package)
    }

    /// Says why Helm does not evaluate it.
    pub fn failed(&self, error: &HelmError) -> Note {
        let is_over = matches!(error, HelmError::Ceiling(_) | HelmError::Late(_));
        let (what, why) = (self.name.clone(), error.to_string());
        let about = if is_over { About::Over { what, why } } else { About::Fails { what, why } };
        Note::new(&self.path, about)
    }

    /// Returns all its texts.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|file| match &file.content {
            Content::Text(source) => &*source.text,
            Content::Made(text) => text,
        })
    }

    /// Tells whether it has a template: without one nothing comes of it but what other charts give.
    pub fn has_templates(&self) -> bool {
        self.files.iter().any(|file| file.place.split('/').any(|folder| folder == "templates"))
    }

    /// Tells whether a template has texts made by chance, or of the time: they are others each time.
    pub fn has_chance(&self) -> bool {
        const FUNCTIONS: [&str; 12] = [
            "rand",
            "uuidv4",
            "now",
            "ago",
            "shuffle",
            "genCA",
            "genSignedCert",
            "genSelfSignedCert",
            "genPrivateKey",
            "bcrypt",
            "htpasswd",
            "encryptAES",
        ];
        let is_one = |word: &str| FUNCTIONS.iter().any(|name| word.starts_with(name));
        let ends = |c: char| !c.is_ascii_alphanumeric();
        self.templates().any(|(_, source)| source.text.split(ends).any(is_one))
    }

    /// Tells whether a template asks what its cluster is.
    pub fn asks_its_cluster(&self) -> bool {
        self.templates().any(|(_, source)| source.text.contains(".Capabilities"))
    }

    /// Returns the APIs of which templates ask by name whether the cluster has them.
    pub fn apis_asked_for(&self) -> Vec<&str> {
        let asked = self.templates().flat_map(|(_, source)| source.text.split("APIVersions.Has").skip(1));
        asked.filter_map(quoted).collect()
    }

    /// Returns the file of the tree that lies at a place of the chart.
    pub fn source(&self, place: &str) -> Option<&Arc<Source>> {
        self.files.iter().find(|file| file.place == place).and_then(|file| match &file.content {
            Content::Text(source) => Some(source),
            Content::Made(_) => None,
        })
    }

    /// Returns what lies beside the templates and is called a template too, which `.Files` and `tpl` may evaluate.
    pub fn loose_templates(&self) -> impl Iterator<Item = &Arc<Source>> {
        let is_called = |place: &str| [".tpl", ".tmpl", ".gotmpl"].iter().any(|end| place.ends_with(end));
        self.files.iter().filter_map(move |file| match &file.content {
            Content::Text(source) if is_called(&file.place) && !is_template(&file.place) => Some(source),
            _ => None,
        })
    }

    /// Returns the values that the charts have of their own.
    pub fn values_files(&self) -> impl Iterator<Item = &Arc<Source>> {
        self.files.iter().filter_map(|file| match &file.content {
            Content::Text(source) if is_values(&file.place) => Some(source),
            _ => None,
        })
    }

    /// Returns the templates: where each lies, and its text.
    pub fn templates(&self) -> impl Iterator<Item = (&str, &Arc<Source>)> {
        self.files.iter().filter_map(|file| match &file.content {
            Content::Text(source) if is_template(&file.place) => Some((&*file.place, source)),
            _ => None,
        })
    }
}

/// Reads the name of an API that a text begins with.
fn quoted(text: &str) -> Option<&str> {
    let name = text.trim_start().strip_prefix('"')?.split('"').next()?;
    let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '/');
    (!name.is_empty() && name.chars().all(is_letter)).then_some(name)
}

/// Tells whether a file at a place of a chart has the values of that chart, or of one inside of it.
pub(super) fn is_values(place: &str) -> bool {
    !is_template(place) && place.ends_with("values.yaml")
}

/// Tells whether a file at a place of a chart is a template.
pub fn is_template(place: &str) -> bool {
    let mut rest = place;
    while let Some((_, behind)) = rest.strip_prefix("charts/").and_then(|r| r.split_once('/')) {
        rest = behind;
    }
    rest.starts_with("templates/")
}

struct Reader<'a> {
    files: &'a dyn Files,
    foreign: &'a dyn Fn(&str) -> bool,
    package: &'a mut Package,
    bytes: usize,
}

// === impl Reader ===

impl Reader<'_> {
    /// Takes in the chart of a folder, laid out at a place (`""`, or `charts/a/`); returns its name and whether it is a
    /// library.
    fn chart(&mut self, folder: &str, place: &str, depth: usize) -> Result<(String, bool), Note> {
        let Some(path) = RepoPath::resolve(folder, "Chart.yaml") else { return Ok((String::new(), true)) };
        let unread = |error: FileError| {
            Note::new(&path, About::Unread { what: path.to_string(), why: error.to_string() })
        };
        let chart = self.files.documents(path.as_str()).map_err(unread)?.first().cloned();
        let chart = chart.unwrap_or_else(Value::empty);
        let depth = depth.checked_sub(1).ok_or_else(|| Note::new(&path, About::Cycle(folder.to_owned())))?;
        let name = chart.text(&["name"]).unwrap_or_default().into_owned();
        let declaring = self.requirements(folder).unwrap_or_else(|| chart.clone());
        let left_out = self.dependencies(&declaring, (folder, place), &path, depth)?;
        self.own_files(folder, place, &path)?;
        // Helm asks for a chart of each name that is depended on; what its version is it does not ask.
        self.package.files.extend(left_out.iter().map(|name| File {
            place: format!("{place}charts/{name}/Chart.yaml"),
            content: Content::Made(format!("apiVersion: v2\nname: {name}\nversion: 0.0.0\ntype: library\n")),
        }));
        Ok((name, is_library(&chart)))
    }

    /// Reads the file in which charts of the first version say what they depend on: Helm takes that for what any chart says.
    fn requirements(&self, folder: &str) -> Option<Value> {
        let path = RepoPath::resolve(folder, "requirements.yaml").filter(|p| self.files.has(p.as_str()))?;
        let read = self.files.documents(path.as_str()).ok()?.first().cloned();
        read.filter(|value| value.get("dependencies").is_some())
    }

    /// Takes in what a chart depends on; returns the names of what is left out.
    fn dependencies(
        &mut self,
        chart: &Value,
        (folder, place): (&str, &str),
        path: &RepoPath,
        depth: usize,
    ) -> Result<BTreeSet<String>, Note> {
        let mut left_out = BTreeSet::new();
        let mut inner: BTreeSet<String> = BTreeSet::new();
        for dependency in chart.list_at("dependencies") {
            let Some(name) = dependency.text(&["name"]) else { continue };
            let vendored = RepoPath::resolve(folder, &format!("charts/{name}"));
            let vendored = vendored.filter(|folder| is_chart(self.files, folder.as_str()));
            let beside = dependency.text(&["repository"]);
            let beside = beside.as_deref().and_then(|address| address.strip_prefix("file://"));
            let beside = beside.and_then(|to| RepoPath::resolve(folder, to));
            let is_fetched = vendored.is_none();
            let from = vendored.or_else(|| beside.filter(|folder| is_chart(self.files, folder.as_str())));
            let Some(from) = from.filter(|_| !(self.foreign)(&name)) else {
                left_out.insert(name.clone().into_owned());
                if !(self.foreign)(&name) {
                    self.package.notes.push(Note::new(path, About::Remote(format!("the chart `{name}`"))));
                }
                continue;
            };
            if is_fetched {
                self.note_unmet(dependency, &from, path);
            }
            if inner.insert(name.clone().into_owned()) {
                let key = dependency.text(&["alias"]).unwrap_or_else(|| name.clone()).into_owned();
                self.inner(from.as_str(), (place, &name), (key, dependency.clone()), depth)?;
            }
        }
        for name in unpacked(self.files, folder) {
            if (self.foreign)(&name) {
                left_out.insert(name);
            } else if !inner.contains(&name)
                && let Some(from) = RepoPath::resolve(folder, &format!("charts/{name}"))
            {
                self.inner(from.as_str(), (place, &name), (name.clone(), Value::empty()), depth)?;
            }
        }
        Ok(left_out)
    }

    /// Notes a chart beside this one that has not the version which is asked for: Helm does not take it in then.
    fn note_unmet(&mut self, dependency: &Value, folder: &RepoPath, path: &RepoPath) {
        let chart = RepoPath::resolve(folder.as_str(), "Chart.yaml");
        let chart = chart.and_then(|chart| self.files.documents(chart.as_str()).ok()?.first().cloned());
        let own = chart.as_ref().and_then(|chart| chart.text(&["version"]));
        let (Some(own), Some(asked)) = (own, dependency.text(&["version"])) else { return };
        if is_met(&own, &asked) == Some(false) {
            let what = format!("{} of {path}", dependency.text(&["name"]).unwrap_or_default());
            let why = format!("it asks for version {asked}, and {folder} has {own}");
            self.package.notes.push(Note::new(path, About::Unmet { what, why }));
        }
    }

    fn inner(
        &mut self,
        folder: &str,
        (place, name): (&str, &str),
        (key, dependency): (String, Value),
        depth: usize,
    ) -> Result<(), Note> {
        let at = format!("{place}charts/{name}");
        let (_, library) = self.chart(folder, &format!("{at}/"), depth)?;
        self.package.inner.push(Inner { place: at, key, dependency, library });
        Ok(())
    }

    /// Takes in the schema of the chart at a place; one that cannot be read asks nothing.
    fn schema(&mut self, path: &RepoPath, place: &str, chart: &RepoPath) -> Result<(), Note> {
        let Ok(file) = self.files.file(path.as_str()) else { return Ok(()) };
        self.count(&file, chart)?;
        let Ok(documents) = self.files.documents(path.as_str()) else { return Ok(()) };
        let schema = |of: &Value| Schema {
            place: place.trim_end_matches('/').to_owned(),
            path: path.clone(),
            of: of.clone(),
        };
        self.package.schemas.extend(documents.first().map(schema));
        Ok(())
    }

    /// Counts the bytes of a file.
    fn count(&mut self, source: &Source, chart: &RepoPath) -> Result<(), Note> {
        self.bytes += source.text.len();
        if self.bytes > BYTES {
            return Err(Note::new(chart, About::Bound(Bound::Bytes(BYTES))));
        }
        Ok(())
    }

    /// Takes in the files of one chart, those in its `charts/` excepted.
    fn own_files(&mut self, folder: &str, place: &str, chart: &RepoPath) -> Result<(), Note> {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        for entry in self.files.below(folder) {
            let Some(inside) = entry.path.as_str().strip_prefix(&prefix) else { continue };
            if inside.starts_with("charts/") {
                continue;
            }
            // Schemas may lead anywhere, and what Helm is only to look at need not obey them.
            if inside == SCHEMA {
                self.schema(&entry.path, place, chart)?;
                continue;
            }
            if !matches!(entry.mode, Mode::File | Mode::Executable) {
                let why = FileError::Link.to_string();
                self.package
                    .notes
                    .push(Note::new(&entry.path, About::Unread { what: inside.to_owned(), why }));
                continue;
            }
            let source = match self.files.file(entry.path.as_str()) {
                Ok(source) => source,
                Err(FileError::Tree(_) | FileError::TooLarge { .. }) if is_template(inside) => {
                    return Err(Note::new(chart, About::Bound(Bound::Bytes(BYTES))));
                }
                // No template is anything but text, and none is missed that nobody reads.
                Err(_) => continue,
            };
            self.count(&source, chart)?;
            if self.package.files.len() >= FILES {
                return Err(Note::new(chart, About::Bound(Bound::Objects(FILES))));
            }
            let place = format!("{place}{inside}");
            self.package.files.push(File { place, content: Content::Text(source) });
        }
        Ok(())
    }
}

/// Tells whether a version is one that is asked for; `None` where what is asked for is written in no way that is known here.
fn is_met(own: &str, asked: &str) -> Option<bool> {
    let own = Version::parse(own.trim_start_matches('v')).ok()?;
    match Version::parse(asked.trim_start_matches(['=', 'v', ' '])) {
        Ok(exact) => Some(own.cmp_precedence(&exact).is_eq()),
        Err(_) => VersionReq::parse(asked).ok().map(|range| range.matches(&own)),
    }
}

fn is_library(chart: &Value) -> bool {
    chart.text(&["type"]).as_deref() == Some("library")
}

/// Reads the values that a chart inside of the package has of its own (`""` for the outermost).
pub fn own_values(package: &Package, files: &dyn Files, place: &str) -> Value {
    if let Some(own) = package.own.as_ref().filter(|_| place.is_empty()) {
        return own.clone();
    }
    let place = if place.is_empty() { "values.yaml".to_owned() } else { format!("{place}/values.yaml") };
    let Some(source) = package.source(&place) else { return Value::empty() };
    let text = Scalar::file(source);
    match crate::deploy::chart::Layer::text(&text, files, &place) {
        crate::deploy::chart::Layer::Values(values) => values,
        _ => Value::empty(),
    }
}
