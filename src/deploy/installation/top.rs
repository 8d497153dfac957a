//! Roots that nothing else of the tree takes in, and what each kind of root comes to.

use std::collections::{BTreeMap, BTreeSet};

use super::{ROOTS, Root};
use crate::{
    deploy::{
        Build,
        apply::Apply,
        argo,
        chart::ChartRelease,
        cluster::Cluster,
        files::Files,
        fleet, flux,
        helmfile::{helmfile, is_helmfile},
        json_patch::Guard,
        kinds::{self, Makes, is_root},
        kustomize::{self, is_kustomization},
        note::Note,
        object::{Labels, Object},
        openshift,
        suspended::{self, By},
        terraform::{is_terraform, terraform},
        tree_chart::Evaluations,
        value::{Scalar, Value},
        watch::Watch,
    },
    repo::RepoPath,
};

/// Roots that are built as others fill them, all together.
const FOLLOWED: usize = 5_000;
/// Roots that come of roots, one out of the other.
const DEPTH: usize = 8;

/// How files with objects end.
const MANIFESTS: [&str; 3] = [".yaml", ".yml", ".json"];

/// A root.
#[derive(Clone, Debug)]
pub(in crate::deploy) enum Top {
    /// An object that has something deployed.
    Object(Box<Object>),
    /// A kustomization: its file.
    Overlay(RepoPath),
    /// A bundle of Fleet's.
    Bundle(Box<fleet::Bundle>),
    /// What a tool brings that is run.
    Apply(Box<Apply>),
}

/// What a root comes to.
#[derive(Default)]
pub(in crate::deploy) struct Made {
    /// The objects, those that it says parts of too.
    pub objects: Vec<Object>,
    /// The elements of generators that the first of them were made of.
    pub elements: Vec<Value>,
    /// The files among theirs that its source leaves out.
    pub ignored: BTreeSet<RepoPath>,
    /// The charts.
    pub charts: Vec<ChartRelease>,
    /// What patches compare with what they are laid over: both go together, whatever comes of them.
    pub guards: Vec<Guard>,
    /// What was not followed, and what the deployer would fail at.
    pub notes: Vec<Note>,
    /// Where they go; `None` is the cluster that the root itself is in.
    pub away: Option<Away>,
}

/// A cluster that the root itself is not in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::deploy) enum Away {
    /// The destination that the tree names, or the labels by which it is chosen.
    Named(String),
    /// The one whose address a Secret has, or a ConfigMap: each namespace has its own.
    Remote {
        /// The namespace of the object that asks for it.
        namespace: String,
        /// What it is called.
        kubeconfig: String,
    },
    /// Any that is known to Argo CD alone, by the file of the object that asks for them.
    Any(String),
    /// One of those that a tool is run for in a folder.
    Run {
        /// The folder.
        folder: String,
        /// What tells it from the others.
        cluster: String,
    },
}

/// In which cluster that is which a root brings, where it names none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Seated {
    /// Nobody knows: a file is in none.
    #[default]
    Unsaid,
    /// In that of the object that brings it.
    ThatOfItself,
    /// The same of Argo CD, which may have objects for other clusters too.
    ThatOfArgo,
    /// In those that Fleet chooses for it.
    Chosen,
    /// In all that Fleet tells apart.
    All,
}

/// A Kustomization of Flux's: its namespace, its name, and the folder that it deploys.
pub(super) type Rooted = (String, String, String);

/// What an object is known by.
pub(super) type Id = (RepoPath, String, String, String);

// === impl Away ===

impl Away {
    /// Returns what it is called.
    pub fn name(&self) -> &str {
        match self {
            Self::Named(name) | Self::Any(name) => name,
            Self::Remote { kubeconfig, .. } => kubeconfig,
            Self::Run { cluster, .. } => cluster,
        }
    }
}

// === impl Top ===

impl Top {
    /// Returns the Kustomization of Flux's that it is.
    pub fn kustomization(&self) -> Option<&Object> {
        match self {
            Self::Object(object) if object.group() == flux::KUSTOMIZATIONS => Some(object),
            _ => None,
        }
    }

    /// Returns its file.
    pub fn file(&self) -> &RepoPath {
        match self {
            Self::Object(object) => &object.file,
            Self::Overlay(path) => path,
            Self::Bundle(bundle) => &bundle.file,
            Self::Apply(apply) => &apply.file,
        }
    }

    /// Returns the labels of what it deploys to, and its own.
    pub fn labels(&self) -> Labels {
        match self {
            Self::Object(object) => object.labels(),
            Self::Overlay(_) | Self::Apply(_) => Labels::new(),
            Self::Bundle(bundle) => bundle.labels.clone(),
        }
    }

    /// Says what it is, of a Kustomization of Flux's.
    pub(super) fn rooted(&self) -> Option<Rooted> {
        let text = |scalar: Option<&Scalar>| scalar.map(|s| s.text().into_owned()).unwrap_or_default();
        let root = self.kustomization()?;
        Some((text(root.namespace()), text(root.name()), self.folder()?))
    }

    /// Tells whether it is an Application that names the cluster that it goes to.
    pub(super) fn names_cluster(&self) -> bool {
        matches!(self, Self::Object(object) if names_cluster(object))
    }

    /// Tells whether what it has deployed is left as it is.
    pub(super) fn is_suspended(&self, cluster: &Cluster<'_>) -> bool {
        match self {
            Self::Object(object) => suspended::is_suspended(object, cluster),
            Self::Bundle(bundle) => bundle.is_paused,
            Self::Overlay(_) | Self::Apply(_) => false,
        }
    }

    /// Says who applies what it brings.
    pub(super) fn applies(&self) -> By {
        match self {
            Self::Object(object) => By::of(object),
            Self::Overlay(_) => By::Unsaid,
            Self::Bundle(_) | Self::Apply(_) => By::Other,
        }
    }

    /// Says in which cluster that is which it brings, where it names none.
    pub(super) fn seated(&self) -> Seated {
        match self {
            Self::Object(object) if object.group() == argo::GROUP => Seated::ThatOfArgo,
            Self::Object(_) => Seated::ThatOfItself,
            Self::Bundle(bundle) if bundle.is_for_all => Seated::All,
            Self::Bundle(_) => Seated::Chosen,
            Self::Overlay(_) | Self::Apply(_) => Seated::Unsaid,
        }
    }

    /// Returns the folder that it deploys, where it names one.
    pub fn folder(&self) -> Option<String> {
        match self {
            Self::Object(object) if object.group() == flux::KUSTOMIZATIONS => {
                let path = object.value.text(&["spec", "path"])?;
                RepoPath::resolve_folder("", path.trim_start_matches('/'))
            }
            Self::Object(_) | Self::Bundle(_) | Self::Apply(_) => None,
            Self::Overlay(path) => Some(path.folder().to_owned()),
        }
    }

    /// Builds it.
    pub fn made(&self, cluster: &Cluster<'_>, files: &dyn Files) -> Made {
        match self {
            Self::Object(object) => made(object, cluster, files).unwrap_or_default(),
            Self::Overlay(path) => of_build(kustomize::build(files, path.folder()), None),
            Self::Bundle(bundle) => of_bundle(bundle, files),
            Self::Apply(apply) => {
                let Apply { charts, objects, guards, notes, .. } = (**apply).clone();
                let run = |cluster| Away::Run { folder: apply.file.folder().to_owned(), cluster };
                let away = apply.cluster.clone().map(run);
                Made { charts, objects, guards, notes, away, ..Made::default() }
            }
        }
    }
}

/// Says what an object is known by.
pub(super) fn id(object: &Object) -> Id {
    let text = |scalar: Option<&Scalar>| scalar.map(|s| s.text().into_owned()).unwrap_or_default();
    (object.file.clone(), object.kind().into_owned(), text(object.namespace()), text(object.name()))
}

/// Builds what an object has deployed; `None` for one that deploys nothing by itself.
pub(in crate::deploy) fn made(object: &Object, cluster: &Cluster<'_>, files: &dyn Files) -> Option<Made> {
    let away = away(object);
    Some(match kinds::of(object)?.makes {
        Makes::Roots(build) | Makes::Objects { build, .. } => of_build(build(object, cluster, files), away),
        Makes::Chart(read) => {
            Made { charts: read(object, cluster, files).into_iter().collect(), away, ..Made::default() }
        }
    })
}

/// Returns the cluster that an object names itself.
pub(super) fn away(object: &Object) -> Option<Away> {
    let remote = ["secretRef", "configMapRef"].into_iter().find_map(|kind| {
        object.value.text(&["spec", "kubeConfig", kind, "name"]).map(|name| name.into_owned())
    });
    let namespace = || object.namespace().map(|name| name.text().into_owned()).unwrap_or_default();
    let remote = remote.map(|kubeconfig| Away::Remote { namespace: namespace(), kubeconfig });
    remote.or_else(|| destination(object))
}

/// Tells whether an object names the cluster that it goes to, rather than labels by which it is chosen. The address of Argo CD's
/// own cluster, which is the same for each, names none.
pub(super) fn names_cluster(object: &Object) -> bool {
    let is_own = |server: &str| argo::OWN_CLUSTER.contains(&server.trim_end_matches('/'));
    let of = |key: &str| object.value.scalar(&["spec", "destination", key]).filter(|s| !s.text().is_empty());
    let (name, server) = (of("name"), of("server").filter(|server| !is_own(&server.text())));
    object.kind() == "Application" && name.or(server).is_some_and(|said| said.unknown_to().is_none())
}

/// Returns what charts that nobody in the tree deploys bring to clusters that it names itself: whoever deploys them by hand,
/// it goes there.
pub(super) fn by_hand(charts: &Evaluations) -> impl Iterator<Item = Top> {
    charts.lone().into_iter().filter_map(|(file, objects)| {
        let objects = objects.iter().filter(|object| is_root(object) && away(object).is_some());
        let (file, objects): (_, Vec<Object>) = (file.clone(), objects.cloned().collect());
        let (charts, left, guards, notes) = Default::default();
        let (cluster, by_object) = (None, false);
        let apply = Apply { file, cluster, by_object, charts, objects, left, guards, notes };
        (!apply.objects.is_empty()).then(|| Top::Apply(Box::new(apply)))
    })
}

fn of_build(build: Build, away: Option<Away>) -> Made {
    let Build { mut objects, elements, charts, strays, ignored: left_out, guards, notes, .. } = build;
    let ignored = left_out.iter().map(|object| object.file.clone()).collect();
    objects.extend(strays);
    objects.extend(left_out);
    Made { objects, elements, ignored, charts, guards, notes, away }
}

/// Fleet applies the manifests of a folder as they are, where there is no kustomization of them (fleet
/// `internal/helmdeployer/render`).
fn of_bundle(bundle: &fleet::Bundle, files: &dyn Files) -> Made {
    let fleet::Bundle { releases, namespaces, manifests, target, .. } = bundle;
    let away = target.clone().map(Away::Named);
    let (charts, objects) = (releases.clone(), namespaces.clone());
    let mut all = Made { charts, objects, away, ..Made::default() };
    for (folder, manifests) in &**manifests {
        if kustomize::file(files, folder).is_some() {
            let Made { objects, charts, guards, notes, .. } = of_build(kustomize::build(files, folder), None);
            all.objects.extend(objects);
            all.charts.extend(charts);
            all.guards.extend(guards);
            all.notes.extend(notes);
        } else {
            let plain = manifests.iter().filter(|path| !is_kustomization(path.name()));
            all.objects.extend(plain.flat_map(|path| Object::of_file(files, path)));
        }
    }
    all
}

/// Names the destination of an Application; the cluster of Argo CD itself has no name here. What the tree does not name
/// is known by the labels by which it is chosen, or by the object that asks for it.
fn destination(application: &Object) -> Option<Away> {
    let of = |key: &str| application.value.scalar(&["spec", "destination", key]);
    let said = of("name").or(of("server")).filter(|s| !s.text().is_empty())?;
    if said.unknown_to().is_some() {
        let stem = application.file.name().split('.').next().unwrap_or_default();
        let chosen_by: Vec<&str> = application.chosen_by.iter().map(|(_, value)| value.as_str()).collect();
        return Some(match chosen_by.as_slice() {
            [] => Away::Any(stem.to_owned()),
            values => Away::Named(values.join("-")),
        });
    }
    let text = said.text();
    (!argo::OWN_CLUSTER.contains(&text.trim_end_matches('/'))).then(|| Away::Named(text.into_owned()))
}

/// Finds the roots in files, in the order of the files; `None` where there are too many to look at. What a folder is deployed
/// for is looked for in `marked` files too.
pub(in crate::deploy) fn candidates(
    files: &dyn Files,
    entries: &[RepoPath],
    marked: &BTreeSet<&RepoPath>,
) -> Option<Vec<Top>> {
    let mut all: Vec<Top> = Vec::new();
    let mut fleet = fleet::Fleet::default();
    for path in entries.iter().collect::<BTreeSet<_>>() {
        if is_kustomization(path.name()) {
            all.push(Top::Overlay(path.clone()));
        } else if MANIFESTS.iter().any(|end| path.as_str().ends_with(end))
            && let Ok(documents) = files.documents(path.as_str())
        {
            let objects = documents.iter().flat_map(|document| Object::all(document, path));
            let objects: Vec<Object> = objects.flat_map(openshift::processed).collect();
            fleet.take(files, path, &documents, &objects);
            all.extend(objects.into_iter().filter(is_root).map(|object| Top::Object(Box::new(object))));
        }
        if all.len() > ROOTS {
            return None;
        }
    }
    let is_manifest = |path: &&RepoPath| MANIFESTS.iter().any(|end| path.as_str().ends_with(end));
    let manifests: BTreeSet<&RepoPath> = entries.iter().chain(marked.iter().copied()).collect();
    let bundles = fleet.bundles(files, manifests.into_iter().filter(is_manifest), ROOTS + 1);
    all.extend(bundles.into_iter().map(|bundle| Top::Bundle(Box::new(bundle))));
    if all.len() > ROOTS {
        return None;
    }
    all.extend(applies(files, entries).into_iter().map(|apply| Top::Apply(Box::new(apply))));
    Some(all)
}

/// Returns all that is brought by the tools of which a file is among these.
fn applies(files: &dyn Files, entries: &[RepoPath]) -> Vec<Apply> {
    let mut found = Vec::new();
    if entries.iter().any(is_terraform) {
        found.extend(terraform(files, &entries.iter().collect()).applied.applies);
    }
    if entries.iter().any(is_helmfile) {
        found.extend(helmfile(files).applied.applies);
    }
    found
}

/// Finds the roots that no other one takes in, and the files with a root that reads one of the marked files, with all that
/// the roots in them read.
pub(super) fn tops(files: &dyn Files, all: Vec<Top>, marked: &BTreeSet<&str>) -> (Vec<Top>, Vec<Root>) {
    let mut overlays = BTreeMap::new();
    let mut objects: BTreeMap<(&RepoPath, &str), Vec<(Id, usize)>> = BTreeMap::new();
    let ids: Vec<Option<Id>> = all
        .iter()
        .map(|top| match top {
            Top::Object(object) => Some(id(object)),
            Top::Overlay(_) | Top::Bundle(_) | Top::Apply(_) => None,
        })
        .collect();
    for (n, (top, id)) in all.iter().zip(&ids).enumerate() {
        match (top, id) {
            (_, Some(id)) => objects.entry((&id.0, &id.1)).or_default().push((id.clone(), n)),
            (Top::Overlay(path), None) => drop(overlays.insert(path.as_str(), n)),
            (Top::Object(_) | Top::Bundle(_) | Top::Apply(_), None) => {}
        }
    }
    let mut inner: BTreeSet<usize> = BTreeSet::new();
    let mut taken: Vec<BTreeSet<usize>> = Vec::with_capacity(all.len());
    let mut reads: BTreeMap<&RepoPath, BTreeSet<RepoPath>> = BTreeMap::new();
    let mut followed = Followed { all: &all, objects: &objects, left: FOLLOWED };
    for (n, top) in all.iter().enumerate() {
        // What takes a kustomization in was built with all that this one comes to.
        if matches!(top, Top::Overlay(_)) && inner.contains(&n) {
            taken.push(BTreeSet::new());
            continue;
        }
        let watch = Watch::new(files);
        let made = top.made(&Cluster::default(), &watch);
        let mut own = BTreeSet::new();
        followed.take(&made, &watch, DEPTH, &mut own);
        let read = watch.into_read();
        own.extend(read.iter().filter_map(|path| overlays.get(path.as_str())));
        own.remove(&n);
        inner.extend(&own);
        taken.push(own);
        reads.entry(top.file()).or_default().extend(read.into_iter().filter_map(RepoPath::new));
    }
    let outermost = outermost(&taken);
    let roots = reads.into_iter().map(|(path, reads)| Root { path: path.clone(), reads });
    let roots = roots.filter(|root| root.files().any(|path| marked.contains(path.as_str()))).collect();
    let tops = all.into_iter().enumerate().filter(|(n, _)| outermost.contains(n)).map(|(_, top)| top);
    (tops.collect(), roots)
}

/// What roots make that are roots again.
struct Followed<'a> {
    all: &'a [Top],
    objects: &'a BTreeMap<(&'a RepoPath, &'a str), Vec<(Id, usize)>>,
    /// Builds that are left.
    left: usize,
}

// === impl Followed ===

impl Followed<'_> {
    /// Takes the roots among what was made. Those that are not written so are built here, as their maker fills them, so that
    /// what they read is read.
    fn take(&mut self, made: &Made, files: &dyn Files, depth: usize, taken: &mut BTreeSet<usize>) {
        let Some(depth) = depth.checked_sub(1) else { return };
        for (n, object) in made.objects.iter().enumerate().filter(|(_, object)| is_root(object)) {
            // What a set makes of its elements is written nowhere by itself.
            let known = known(object, self.objects).filter(|_| made.elements.get(n).is_none());
            taken.extend(known);
            let written = known.and_then(|n| self.all.get(n));
            let is_written = matches!(written, Some(Top::Object(written)) if written.value == object.value);
            // Where the tree does not say what is read, what lies there stands for itself.
            if is_written || !says_folders(object) {
                continue;
            }
            let Some(left) = self.left.checked_sub(1) else { continue };
            self.left = left;
            if let Some(inner) = self::made(object, &Cluster::default(), files) {
                self.take(&inner, files, depth, taken);
            }
        }
    }
}

/// Tells whether the folders that a root names are known.
fn says_folders(root: &Object) -> bool {
    let Some(spec) = root.value.get("spec") else { return false };
    let sources = argo::sources(spec).into_iter();
    let mut paths = sources.chain([spec]).filter_map(|value| value.scalar(&["path"]));
    paths.all(|path| path.unknown_to().is_none())
}

/// Finds the root that an object is, also where a kustomization gave it another name or namespace on the way.
fn known(object: &Object, roots: &BTreeMap<(&RepoPath, &str), Vec<(Id, usize)>>) -> Option<usize> {
    let id = id(object);
    match roots.get(&(&id.0, id.1.as_str()))?.as_slice() {
        [(_, only)] => Some(*only),
        many => many
            .iter()
            .find(|(root, _)| *root == id)
            .or_else(|| many.iter().find(|(root, _)| id.3.contains(&root.3)))
            .map(|(_, n)| *n),
    }
}

/// Finds those that nobody takes in; of a circle that nobody takes in, the first.
fn outermost(taken: &[BTreeSet<usize>]) -> BTreeSet<usize> {
    let inner: BTreeSet<usize> = taken.iter().flatten().copied().collect();
    let free = (0..taken.len()).filter(|n| !inner.contains(n));
    let mut found = BTreeSet::new();
    let mut reached: BTreeSet<usize> = BTreeSet::new();
    for start in free.chain(0..taken.len()).collect::<Vec<_>>() {
        if !reached.insert(start) {
            continue;
        }
        found.insert(start);
        let mut todo = vec![start];
        while let Some(at) = todo.pop() {
            todo.extend(taken.get(at).into_iter().flatten().copied().filter(|next| reached.insert(*next)));
        }
    }
    found
}
