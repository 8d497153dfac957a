//! Step 5, pins: what one file needs to know of the others.
//!
//! In: every file that passed the screen. Out: small facts by name: chart sources, releases, namespaces, local
//! charts, kustomizations, Flux and Argo CD roots, ConfigMaps. No pins.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::OnceLock,
};

use super::{
    annotation,
    applier::{Revision, says_replace},
    corpus::File,
    is_kustomization,
    object::Object,
    origin::Origin,
    place::Place,
};
use crate::{
    deploy::{Files, Repositories, argo, cluster::nearest, fleet, flux, kinds, repositories, umbrella},
    linkerd,
    repo::{Entry, RepoPath},
    yaml::Node,
};

/// Charts that those of the tree take in with others which are followed; people have far fewer.
const TAKEN_IN: usize = 100_000;

/// The keys by which charts of the tree have the values of one that they take in by another one, by its name.
type Nested = BTreeMap<String, BTreeSet<Vec<String>>>;

/// Facts of all files.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// HelmReleases that say their chart.
    pub releases: Vec<Release>,
    /// The names of charts in the tree, by folder.
    pub charts: BTreeMap<String, String>,
    /// The charts of Linkerd's that charts in the tree depend on, by the key of the values that these give them.
    pub dependencies: BTreeMap<String, BTreeSet<String>>,
    /// Those that charts in the tree take in by others, once somebody asks: what names these need not name Linkerd.
    nested: OnceLock<Nested>,
    /// Kustomizations, by folder.
    pub kustomizations: BTreeMap<String, Kustomization>,
    /// Flux Kustomizations, and Argo CD sources that deploy a folder.
    pub roots: Vec<Root>,
    /// The addresses of what Flux calls by name.
    pub sources: BTreeMap<String, BTreeSet<String>>,
    /// What each of them is fetched at, by the file that says so.
    pub revisions: BTreeMap<String, Vec<(RepoPath, Option<Revision>)>>,
    /// Files with objects that make others, wherever what they read may lie, and with clusters that they are made for.
    pub makers: Vec<RepoPath>,
    /// Files with objects that have modules of Terraform's run.
    pub runs: Vec<RepoPath>,
    /// Files that are called as bundles of Fleet's are, or that a GitRepo names for one.
    pub bundles: BTreeSet<RepoPath>,
    /// Files with objects that ask for a chart, or tell the injector something.
    pub objects: Vec<RepoPath>,
    /// Files with objects that lead to others.
    pub leading: Vec<RepoPath>,
    /// Files with HelmReleases whose chart may be one of the tree.
    pub of_tree: Vec<RepoPath>,
    /// Files with objects that others refer to.
    pub referable: Vec<RepoPath>,
}

/// The chart of a HelmRelease or Application.
#[derive(Clone, Debug)]
pub(super) struct Release {
    /// The file of the object.
    pub path: RepoPath,
    /// The chart, empty where it is only referred to.
    pub chart: String,
}

/// A kustomization in the tree.
#[derive(Clone, Debug)]
pub(super) struct Kustomization {
    pub path: RepoPath,
    /// Files and folders that it takes in, relative to its own folder.
    pub takes: Vec<String>,
    /// Whether it has [the annotation](says_replace) put on objects.
    pub replaces: bool,
}

/// A place from which a deployer applies a folder.
#[derive(Clone, Debug)]
pub(super) struct Root {
    pub path: RepoPath,
    /// From 1.
    pub line: usize,
    pub name: Option<String>,
    pub namespace: Option<String>,
    /// The folder.
    pub folder: String,
    /// The repository that it is asked of, where that is said.
    pub repository: Option<String>,
    /// Whether it is a Flux Kustomization.
    pub flux: bool,
    /// Whether it deletes from the cluster what leaves the folder.
    pub prunes: bool,
    /// Whether it makes an object anew that cannot be changed: a Flux Kustomization that is told to.
    pub replaces: bool,
    /// Whether it reports success once what it applied works, rather than once it is applied.
    pub waits: bool,
    /// What of the repository it applies; of Flux's, what the nearest source of its name says.
    pub revision: Option<Revision>,
}

/// Where an object stands: its file, its line from 1, its namespace.
type At = (RepoPath, usize, Option<String>);

/// Reads a `repository` of Chart.yaml: an address, `file://`, or the name of a repository on somebody's machine.
pub(super) fn repository_origin(repository: Option<&str>) -> Origin {
    match repository.map(str::trim).filter(|r| !r.is_empty()) {
        Some(r) if r.starts_with("file:") => Origin::Local,
        Some(r) if r.starts_with('@') || r.starts_with("alias:") || r.contains("${") || r.contains("{{") => {
            Origin::Unknown
        }
        Some(r) => Origin::Address(r.to_owned()),
        // A dependency without a repository lies unpacked in `charts/`.
        None => Origin::Local,
    }
}

fn nested(files: &dyn Files) -> Nested {
    let is_chart = |entry: &&Entry| matches!(entry.path.name(), "Chart.yaml" | "requirements.yaml");
    let charts = files.below("").iter().filter(is_chart);
    let folders: BTreeSet<&str> = charts.map(|entry| entry.path.folder()).collect();
    let (mut found, mut inners) = (Nested::new(), umbrella::Inners::new(files));
    for inner in folders.into_iter().flat_map(|folder| inners.of(folder)).take(TAKEN_IN) {
        if inner.keys.len() > 1 && linkerd::is_chart(&inner.chart) {
            found.entry(inner.chart).or_default().insert(inner.keys);
        }
    }
    found
}

// === impl Index ===

impl Index {
    /// Reads the facts of one file.
    pub fn of(file: &File) -> Self {
        let mut index = Self::default();
        let place = Place::of(file);
        let name = file.path.name();
        if name == "Chart.yaml" {
            let name = place.stream.roots().find_map(|root| root.text(&["name"]).map(str::to_owned));
            index.charts.extend(name.map(|name| (file.path.folder().to_owned(), name)));
        }
        if matches!(name, "Chart.yaml" | "requirements.yaml") {
            let items = place.stream.roots().filter_map(|root| root.get("dependencies"));
            items.flat_map(Node::items).for_each(|item| index.dependency(item));
        }
        if is_kustomization(name) {
            let roots = place.stream.roots().next();
            let fact = roots.map(|root| kustomization(file, root));
            index.kustomizations.extend(fact.map(|fact| (file.path.folder().to_owned(), fact)));
        }
        let objects = Object::processed(place);
        let path = |is: bool| is.then(|| file.path.clone());
        index.bundles.extend(path(fleet::is_bundle(name)));
        let is = |of: fn(&str, &str) -> bool| objects.iter().any(|object| of(object.group, object.kind));
        let speaks = || !objects.is_empty() && annotation::is_in(&file.text);
        index.objects.extend(path(is(kinds::asks) || speaks()));
        // A chart may be given objects that lead to others, or specs of them.
        let has_more = || file.text.matches("apiVersion").count() > objects.len();
        let has_map = || file.text.contains("valuesFrom");
        let gives = || is(kinds::asks) && (has_map() || has_more() || file.text.contains("targetRevision"));
        index.leading.extend(path(is(kinds::leads) || gives()));
        index.referable.extend(path(is(kinds::is_referred)));
        for object in objects {
            index.object(file, &object);
        }
        index
    }

    /// Adds the facts of another file.
    pub fn absorb(&mut self, other: Self) {
        self.releases.extend(other.releases);
        self.charts.extend(other.charts);
        for (key, charts) in other.dependencies {
            self.dependencies.entry(key).or_default().extend(charts);
        }
        self.kustomizations.extend(other.kustomizations);
        self.roots.extend(other.roots);
        for (name, urls) in other.sources {
            self.sources.entry(name).or_default().extend(urls);
        }
        for (name, revisions) in other.revisions {
            self.revisions.entry(name).or_default().extend(revisions);
        }
        self.makers.extend(other.makers);
        self.runs.extend(other.runs);
        self.bundles.extend(other.bundles);
        self.objects.extend(other.objects);
        self.leading.extend(other.leading);
        self.of_tree.extend(other.of_tree);
        self.referable.extend(other.referable);
    }

    /// Finds out which repositories the tree has folders of, and leaves out the roots of others; a root of Flux's is at
    /// the revision of the nearest source of that name.
    pub fn settle(&mut self, files: &dyn Files) -> Repositories {
        self.revisions.values_mut().for_each(|all| all.sort());
        for root in &mut self.roots {
            let named = root.repository.as_ref().and_then(|name| self.revisions.get(name));
            let said = named.and_then(|all| nearest(all, &root.path, |(path, _)| path, |_| true));
            root.revision = root.revision.take().or_else(|| said?.1.clone());
        }
        let is_here = |root: &&Root| !root.folder.is_empty() && files.has_folder(&root.folder);
        let here = self.roots.iter().filter(is_here).filter_map(|root| root.repository.clone());
        let at_root = self.roots.iter().filter(|root| root.folder.is_empty());
        let at_root = at_root.filter_map(|root| root.repository.clone()).collect();
        let repositories = Repositories::new(here.collect(), &at_root, &self.sources);
        self.roots.retain(|root| {
            let is_ours = || root.repository.as_ref().is_none_or(|name| repositories.has_root_of(name));
            !root.folder.is_empty() || is_ours()
        });
        repositories
    }

    /// Tells whether a chart of the tree takes in one of Linkerd's by others, and has its values at these keys.
    pub fn takes_in(&self, files: &dyn Files, keys: &[&str], chart: &str) -> bool {
        let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        self.nested.get_or_init(|| nested(files)).get(chart).is_some_and(|all| all.contains(&keys))
    }

    fn dependency(&mut self, item: Node<'_>) {
        let Some(chart) = item.text(&["name"]).filter(|chart| linkerd::is_chart(chart)) else { return };
        let alias = item.text(&["alias"]).filter(|alias| !alias.is_empty());
        let charts = self.dependencies.entry(alias.unwrap_or(chart).to_owned()).or_default();
        charts.insert(chart.to_owned());
    }

    fn object(&mut self, file: &File, object: &Object<'_>) {
        let Some(name) = object.name else { return };
        let path = file.path.clone();
        let namespace = || object.node.text(&["metadata", "namespace"]).map(str::to_owned);
        let at = || (file.path.clone(), file.position(object.node.span().start).0, namespace());
        let spec = object.node.get("spec");
        match (object.group, object.kind) {
            ("helm.toolkit.fluxcd.io", "HelmRelease") => {
                let kind = |path: &[&str]| spec.and_then(|spec| spec.text(path));
                let of_tree = kind(&["chart", "spec", "sourceRef", "kind"]) == Some("GitRepository")
                    || matches!(kind(&["chartRef", "kind"]), Some("HelmChart" | flux::ARTIFACT));
                self.of_tree.extend(of_tree.then(|| path.clone()));
                self.releases.extend(spec.map(|spec| release(path, spec)));
            }
            ("kustomize.toolkit.fluxcd.io", "Kustomization") => {
                self.roots.extend(spec.map(|spec| flux_root(name, at(), spec)));
            }
            ("argoproj.io", "Application") => {
                self.roots.extend(spec.map(|s| argo_roots(name, at(), s)).unwrap_or_default());
                self.releases.extend(spec.map(|s| argo_releases(&path, s)).unwrap_or_default());
            }
            ("source.toolkit.fluxcd.io", kind) => {
                if let Some(url) = spec.and_then(|spec| spec.text(&["url"])) {
                    let urls = self.sources.entry(repositories::referred(kind, name)).or_default();
                    urls.insert(repositories::address(url));
                }
                let revision = spec.and_then(|spec| source_revision(spec.get("ref")?));
                let all = self.revisions.entry(repositories::referred(kind, name)).or_default();
                all.push((path, revision));
            }
            ("fluxcd.controlplane.io", "ResourceSet" | "FluxInstance")
            | (fleet::GROUP, "GitRepo" | fleet::HELM_OP) => {
                self.bundles.extend(spec.map(bundles).unwrap_or_default());
                self.makers.push(path);
            }
            ("infra.contrib.fluxcd.io", "Terraform") => self.runs.push(path),
            ("", "Secret")
                if object.node.text(&["metadata", "labels", argo::SECRET_TYPE]) == Some("cluster") =>
            {
                self.makers.push(path);
            }
            ("argoproj.io", "ApplicationSet") => {
                self.makers.push(path);
                self.roots.extend(spec.map(|s| argo_set_roots(name, at(), s)).unwrap_or_default());
            }
            _ => {}
        }
    }
}

/// Lists the files that a GitRepo of Fleet's names in the place of a `fleet.yaml`.
fn bundles(repo: Node<'_>) -> Vec<RepoPath> {
    let file = |bundle: Node<'_>| {
        let base = RepoPath::resolve_folder("", bundle.text(&["base"])?.trim_start_matches('/'))?;
        RepoPath::resolve(&base, bundle.text(&["options"]).filter(|options| !options.is_empty())?)
    };
    repo.get("bundles").into_iter().flat_map(Node::items).filter_map(file).collect()
}

fn release(path: RepoPath, spec: Node<'_>) -> Release {
    let chart = spec.text(&["chart", "spec", "chart"]).unwrap_or_default().to_owned();
    Release { path, chart }
}

/// Reads what a source of Flux's is fetched at; of several a commit counts first, then `name`, a range, a tag, and last a
/// branch.
fn source_revision(of: Node<'_>) -> Option<Revision> {
    let text = |key: &str| of.text(&[key]).filter(|text| !text.is_empty());
    let fixed = |text: &str| Revision::Fixed(text.to_owned());
    match text("commit").map(fixed).or_else(|| Revision::of(text("name")?)) {
        None => {
            let tag = text("semver").or_else(|| text("tag")).map(fixed);
            tag.or_else(|| text("branch").map(|branch| Revision::Branch(branch.to_owned())))
        }
        said => said,
    }
}

fn flux_root(name: &str, (path, line, namespace): At, spec: Node<'_>) -> Root {
    let folder = spec.text(&["path"]).unwrap_or_default();
    let mut patches = spec.get("patches").into_iter().flat_map(Node::items);
    Root {
        path,
        line,
        name: Some(name.to_owned()),
        namespace,
        folder: clean_folder(folder),
        repository: spec
            .text(&["sourceRef", "kind"])
            .zip(spec.text(&["sourceRef", "name"]))
            .map(|(kind, name)| repositories::referred(kind, name)),
        flux: true,
        prunes: spec.is_true(&["prune"]),
        replaces: spec.is_true(&["force"])
            || patches.any(|patch| patch.text(&["patch"]).is_some_and(says_replace)),
        waits: spec.is_true(&["wait"])
            || spec.get("healthChecks").is_some_and(|checks| checks.items().next().is_some()),
        revision: None,
    }
}

fn argo_roots(name: &str, at: At, spec: Node<'_>) -> Vec<Root> {
    let folders = argo_sources(spec).into_iter().filter_map(|source| Some((folder_of(source)?, source)));
    folders.map(|of| argo_root(name, at.clone(), spec, of)).collect()
}

/// Returns the folder of a repository that a source names; a registry's artifact has its own.
fn folder_of<'n>(source: Node<'n>) -> Option<&'n str> {
    let of_chart = source.text(&["chart"]).is_some_and(|chart| !chart.is_empty());
    let of_registry = source.text(&["repoURL"]).is_some_and(|url| url.starts_with("oci://"));
    source.text(&["path"]).filter(|_| !of_chart && !of_registry)
}

/// Of a path that is a template, the folders that a generator lists are known: as far as they have no wildcard.
fn argo_set_roots(name: &str, at: At, spec: Node<'_>) -> Vec<Root> {
    let Some(template) = spec.path(&["template", "spec"]) else { return Vec::new() };
    let generators = || spec.get("generators").into_iter().flat_map(Node::items);
    let directories = || generators().filter_map(|g| g.path(&["git", "directories"])).flat_map(Node::items);
    let listed =
        || directories().filter_map(|d| Some(d.text(&["path"])?.split('*').next().unwrap_or_default()));
    let sources = argo_sources(template);
    let folders = sources.iter().filter_map(|source| Some((folder_of(*source)?, *source)));
    let folders = folders.flat_map(|(path, source)| match path.contains("{{") {
        true => listed().map(|folder| (folder, source)).collect::<Vec<_>>(),
        false => vec![(path, source)],
    });
    folders.map(|of| argo_root(name, at.clone(), template, of)).collect()
}

fn argo_root(
    name: &str,
    (path, line, namespace): At,
    spec: Node<'_>,
    (folder, source): (&str, Node<'_>),
) -> Root {
    let url = source.text(&["repoURL"]);
    let policy = spec.get("syncPolicy");
    let options = policy.and_then(|p| p.get("syncOptions")).into_iter().flat_map(Node::items);
    let keeps = options.filter_map(|option| option.as_str()).any(|option| option == "Prune=false");
    let prunes = policy.is_some_and(|p| p.is_true(&["automated", "prune"]));
    Root {
        path,
        line,
        name: Some(name.to_owned()),
        namespace,
        folder: clean_folder(folder),
        repository: url.filter(|url| !url.contains("{{")).map(repositories::address),
        flux: false,
        prunes: prunes && !keeps,
        replaces: false,
        // Argo CD knows the health of all that it applies.
        waits: true,
        revision: source.text(&["targetRevision"]).and_then(Revision::of),
    }
}

fn argo_releases(path: &RepoPath, spec: Node<'_>) -> Vec<Release> {
    let charts = argo_sources(spec).into_iter().filter_map(argo_chart);
    charts.map(|chart| Release { path: path.clone(), chart: chart.to_owned() }).collect()
}

/// Returns the chart that a source names; that of a registry's artifact is the end of its address.
fn argo_chart<'n>(source: Node<'n>) -> Option<&'n str> {
    let of_registry =
        || source.text(&["repoURL"])?.strip_prefix("oci://")?.trim_end_matches('/').rsplit('/').next();
    let chart = source.text(&["chart"]);
    chart.filter(|chart| !chart.is_empty()).or_else(of_registry).or(chart)
}

/// Returns `source` and `sources[]` of an application's spec, or what is hydrated in their place.
fn argo_sources(spec: Node<'_>) -> Vec<Node<'_>> {
    if let Some(dry) = spec.path(&["sourceHydrator", "drySource"]) {
        return vec![dry];
    }
    let many = spec.get("sources").into_iter().flat_map(Node::items);
    spec.get("source").into_iter().chain(many).filter(|s| s.is_mapping()).collect()
}

/// Brings a folder as deployers write it (`./a/b/`) to the form of the tree (`a/b`).
pub(super) fn clean_folder(folder: &str) -> String {
    folder.split('/').filter(|p| !p.is_empty() && *p != ".").collect::<Vec<_>>().join("/")
}

fn kustomization(file: &File, root: Node<'_>) -> Kustomization {
    let list = |key: &str| -> Vec<String> {
        let items = root.get(key).into_iter().flat_map(Node::items);
        items.filter_map(Node::as_str).map(str::to_owned).collect()
    };
    let mut takes = list("resources");
    for key in ["bases", "components", "patchesStrategicMerge", "generators", "transformers"] {
        takes.extend(list(key));
    }
    let patches =
        ["patches", "patchesJson6902"].into_iter().filter_map(|key| root.get(key)).flat_map(Node::items);
    takes.extend(patches.filter_map(|p| p.text(&["path"]).map(str::to_owned)));
    let items = |key: &str| root.get(key).into_iter().flat_map(Node::items);
    for chart in items("helmCharts") {
        takes.extend(chart.text(&["valuesFile"]).map(str::to_owned));
        let more = chart.get("additionalValuesFiles").into_iter().flat_map(Node::items);
        takes.extend(more.filter_map(Node::as_str).map(str::to_owned));
    }
    for generator in ["configMapGenerator", "secretGenerator"].into_iter().flat_map(items) {
        takes.extend(generator.text(&["env"]).map(str::to_owned));
        let files = ["files", "envs"].into_iter().filter_map(|key| generator.get(key)).flat_map(Node::items);
        // `key=path`, or the path alone.
        let path = |file: &str| file.split_once('=').map_or(file, |(_, path)| path).to_owned();
        takes.extend(files.filter_map(Node::as_str).map(path));
    }
    Kustomization { path: file.path.clone(), takes, replaces: says_replace(&file.text) }
}
