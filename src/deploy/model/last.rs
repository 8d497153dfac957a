//! What is read after all else, since somebody may give it more: roots that ask for variables, and charts of the tree that
//! cannot be rendered with their own values alone. Those that somebody deploys are only what their files say.

use std::collections::HashSet;

use super::{Beside, Builder, Fact, Gathered, Root, Seen, What, gathered::Charted, kept::Standing};
use crate::deploy::{
    build::Build, chart::ChartRelease, cluster::Cluster, flux, handed, note::About, object::Object,
    tree_chart::Rendered, value::Value,
};

/// Roots that are to be built.
#[derive(Default)]
pub(super) struct Queue {
    now: Vec<Root>,
    /// Those that are filled with what the cluster has, which others may bring.
    later: Vec<Root>,
    /// All of these that were waiting.
    filled: Vec<Object>,
}

/// What waits until all else was built.
#[derive(Default)]
pub(super) struct Last<'r> {
    /// Roots that ask for variables, which whoever applies them fills.
    pub asking: Vec<&'r Object>,
    /// Charts of the tree as nobody deploys them.
    pub lone: &'r [ChartRelease],
    /// Charts that cannot be rendered as nobody deploys them.
    pub failed: Vec<Charted>,
    /// The folders of charts that somebody deploys.
    pub evaluated: HashSet<String>,
}

/// Parts roots into those that others may give more, variables of Flux's or a patch, and all others.
pub(super) fn parted<'r>(roots: impl Iterator<Item = &'r Object>) -> (Vec<&'r Object>, Vec<&'r Object>) {
    let roots: Vec<&Object> = roots.collect();
    let is_patched = roots.iter().any(|root| patches_others(root));
    let asks = |root: &Object| root.value.scalars().iter().any(|text| text.text().contains("${"));
    let may_be_patched = |root: &Object| is_patched && is_kustomization(root) && !patches_others(root);
    roots.into_iter().partition(|root| asks(root) || may_be_patched(root))
}

/// Tells whether a root is filled with what the cluster has, which another root may bring.
pub(super) fn reads_cluster(root: &Object) -> bool {
    let lists: [&[&str]; 3] =
        [&["spec", "postBuild", "substituteFrom"], &["spec", "inputsFrom"], &["spec", "valuesFrom"]];
    let asks = |path: &&[&str]| root.value.path(path).is_some_and(|list| !list.items().is_empty());
    lists.iter().any(asks) || flux::copies(root)
}

/// Tells whether a root patches Kustomizations of Flux's among what it applies.
fn patches_others(root: &Object) -> bool {
    let is_meant = |patch: &Value| match patch.path(&["target", "kind"]) {
        Some(kind) => kind.as_scalar().is_some_and(|kind| kind.text().contains("Kustomization")),
        None => patch.text(&["patch"]).is_some_and(|text| text.contains("Kustomization")),
    };
    let patches = root.value.get("spec").map_or(&[][..], |spec| spec.list_at("patches"));
    is_kustomization(root) && patches.iter().any(is_meant)
}

fn is_kustomization(root: &Object) -> bool {
    root.kind() == "Kustomization" && root.group() == flux::KUSTOMIZATIONS
}

// === impl Queue ===

impl Queue {
    /// Adds roots.
    pub fn extend(&mut self, roots: impl IntoIterator<Item = Root>) {
        for root in roots {
            match &root.what {
                What::Object(object) if reads_cluster(object) => {
                    self.filled.push(object.clone());
                    self.later.push(root);
                }
                _ => self.now.push(root),
            }
        }
    }

    /// Lists the roots that were filled with what the cluster has.
    pub fn filled(&self) -> &[Object] {
        &self.filled
    }

    /// Takes out those that can be built with what the cluster has so far; once there are none, what waited for all others.
    pub fn take(&mut self, last: &mut Last<'_>, seen: &mut Seen, cluster: &Cluster<'_>) -> Vec<Root> {
        if !self.now.is_empty() {
            return std::mem::take(&mut self.now);
        }
        let waits = |root: &Root| match &root.what {
            What::Object(object) => is_kustomization(object) && flux::waits_for_variables(object, cluster),
            _ => false,
        };
        let (waiting, ready): (Vec<Root>, Vec<Root>) =
            std::mem::take(&mut self.later).into_iter().partition(waits);
        match (ready.is_empty(), waiting.is_empty()) {
            (true, true) => last.take(seen),
            (true, false) => waiting,
            (false, _) => {
                self.later = waiting;
                ready
            }
        }
    }
}

// === impl Last ===

impl Last<'_> {
    /// Returns the roots that nobody filled; after them the charts, which they may deploy, and what is left of these.
    pub fn take(&mut self, seen: &mut Seen) -> Vec<Root> {
        let open: Vec<&Object> = self.asking.drain(..).filter(|root| !seen.has(root)).collect();
        let open: Vec<Root> =
            open.into_iter().filter(|root| seen.is_new(root, &Beside::default())).map(Root::of).collect();
        if !open.is_empty() {
            return open;
        }
        let root = |release: &ChartRelease, what| {
            let standing = match self.evaluated.contains(&folder(release)) {
                false => Standing::Deployed,
                // Those who deploy it lay other values over its own.
                true if release.layers.is_empty() => Standing::Off,
                true => Standing::Written,
            };
            Root { standing, ..Root::new(what) }
        };
        let lone = std::mem::take(&mut self.lone).iter();
        let lone: Vec<Root> =
            lone.map(|release| root(release, What::Lone(Box::new(release.clone())))).collect();
        if !lone.is_empty() {
            return lone;
        }
        let failed = std::mem::take(&mut self.failed).into_iter();
        failed.map(|failed| root(&failed.release.clone(), What::Charted(Box::new(failed)))).collect()
    }
}

// === impl Builder ===

impl<R: Default + Send> Builder<'_, R> {
    /// Builds a chart whose folder is in the tree; of another one what it is given as objects.
    pub(super) fn chart(&self, release: &ChartRelease, cluster: &Cluster<'_>, gathered: &mut Gathered<R>) {
        let Some(rendered) = self.entries.charts.evaluate(release, self.files) else {
            let objects = handed::objects(release, self.files);
            if !objects.is_empty() {
                self.built(of_chart(release, objects), super::By::NOBODY, cluster, gathered);
            }
            return;
        };
        gathered.evaluated.extend((!has_failed(&rendered)).then(|| folder(release)));
        self.switched_off(release, &rendered, gathered);
        self.charted(release, rendered, cluster, gathered);
    }

    /// Builds one as nobody deploys it.
    pub(super) fn lone(&self, release: &ChartRelease, cluster: &Cluster<'_>, gathered: &mut Gathered<R>) {
        let Some(rendered) = self.entries.charts.evaluate(release, self.files) else { return };
        match has_failed(&rendered) {
            true => gathered.failed.push(Charted { release: release.clone(), rendered }),
            false => {
                self.switched_off(release, &rendered, gathered);
                self.charted(release, rendered, cluster, gathered);
            }
        }
    }

    /// Keeps what a chart would bring with more of it switched on: that is only what its files say.
    fn switched_off(&self, release: &ChartRelease, rendered: &Rendered, gathered: &mut Gathered<R>) {
        if !rendered.off.is_empty() {
            let rendered = Rendered { objects: rendered.off.clone(), ..Rendered::default() };
            gathered.off.push(Charted { release: release.clone(), rendered });
        }
    }

    /// Hands over what came of a chart.
    pub(super) fn charted(
        &self,
        release: &ChartRelease,
        rendered: Rendered,
        cluster: &Cluster<'_>,
        gathered: &mut Gathered<R>,
    ) {
        (self.take)(&mut gathered.facts.facts, Fact::Rendered(release, &rendered));
        self.built(of_chart(release, rendered.objects), super::By::NOBODY, cluster, gathered);
    }
}

/// Puts objects of a chart into the namespace of its release, as Helm does.
fn of_chart(release: &ChartRelease, mut objects: Vec<Object>) -> Build {
    let namespace = release.namespace.as_ref().filter(|name| name.known().is_some_and(|n| !n.is_empty()));
    if let Some(namespace) = namespace {
        objects.iter_mut().for_each(|object| object.default_namespace(namespace));
    }
    Build { objects, ..Build::default() }
}

fn has_failed(rendered: &Rendered) -> bool {
    rendered.notes.iter().any(|note| matches!(note.about, About::Fails { .. }))
}

fn folder(release: &ChartRelease) -> String {
    release.folder().unwrap_or_default()
}
