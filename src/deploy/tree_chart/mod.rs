//! Charts whose folder is in the tree: what their templates make of values, and where each text of it was written.
//!
//! In: a folder, and the values that a deployer gives it. Out: objects whose scalars know their bytes, like those of any
//! other deployer. Helm evaluates the chart, where there is one, and each version among the inputs is given a number of
//! its own: where that comes out says what was written there. Without Helm the plain forms of templates are followed.

mod candidate;
mod evaluations;
mod outcome;
mod package;
mod plain;
mod switches;
#[cfg(test)]
mod tests;
mod trace;
mod value_schema;

use std::{
    collections::{BTreeSet, HashSet},
    sync::atomic::{AtomicUsize, Ordering},
};

use super::{
    chart::{ChartRelease, Layer, layered, merged},
    files::Files,
    go_yaml,
    note::{About, Bound, Note},
    object::Object,
    value::{Origin, Part, Scalar, Value},
};
use crate::{
    helm::{self, HelmError, Template},
    repo::RepoPath,
};
use candidate::{Candidates, versions};
use trace::{Comparison, Printed};

pub use crate::helm::Evaluate;
pub use evaluations::Evaluations;
pub use outcome::ChartOutcome;
pub use package::{Package, is_chart, unpacked};

/// Charts that are evaluated, each as often as it is deployed.
const EVALUATIONS: usize = 1_000;
/// Renders that are spent on one chart with one set of values.
const RENDERS: usize = 24;
/// The name of a release that nobody names.
const RELEASE: &str = "release-name";
/// The Kubernetes of a cluster of which nobody says it. Helm has one of its own that is another in each release of Helm, and
/// very old where Helm was built from its sources.
const KUBERNETES: &str = "1.34.0";
/// Kubernetes of clusters that are older and newer than what any chart tells apart.
const ELSEWHERE: [&str; 2] = ["1.20.0", "1.99.0"];
/// What a chart has of its own, and Flux puts other files in the place of.
const OWN_VALUES: &str = "values.yaml";
/// The namespace of a release that nobody names.
const NAMESPACE: &str = "default";

/// How the charts of one tree are evaluated.
pub struct Charts<'c> {
    helm: Option<&'c dyn Evaluate>,
    foreign: &'c (dyn Fn(&str) -> bool + Sync),
    concerns: &'c Concerns<'c>,
    evaluated: AtomicUsize,
}

/// Tells from the texts of a chart and of its values, and from the values that it is given, whether it is of interest.
pub type Concerns<'c> = dyn Fn(&mut dyn Iterator<Item = &str>, &Value) -> bool + Sync + 'c;

/// What comes of a chart.
#[derive(Clone, Debug, Default)]
pub struct Rendered {
    /// Its objects.
    pub objects: Vec<Object>,
    /// The templates that were wholly evaluated, whatever came of them.
    pub followed: BTreeSet<RepoPath>,
    /// The values files of the chart, and of those inside of it, that Helm read as a whole, their aliases too.
    pub read: BTreeSet<RepoPath>,
    /// Objects that would come of it with what its values switch off around versions.
    pub off: Vec<Object>,
    /// Versions that nothing reads but what comes of it in other clusters.
    pub elsewhere: Vec<Scalar>,
    /// The objects of other clusters that read these.
    pub only_elsewhere: Vec<Object>,
    /// Whether texts of it are others each time.
    pub has_chance: bool,
    /// What was not followed.
    pub notes: Vec<Note>,
}

// === impl Charts ===

impl<'c> Charts<'c> {
    /// Evaluates by Helm, where there is one. Charts whose name `foreign` knows are none of the tree's; those that do not
    /// concern anybody are left alone.
    pub fn new(
        helm: Option<&'c dyn Evaluate>,
        foreign: &'c (dyn Fn(&str) -> bool + Sync),
        concerns: &'c Concerns<'c>,
    ) -> Self {
        Self { helm, foreign, concerns, evaluated: AtomicUsize::new(0) }
    }

    /// Tells whether a chart of that name is none of the tree's.
    pub fn is_foreign(&self, name: &str) -> bool {
        (self.foreign)(name)
    }

    /// Evaluates the chart of a release; `None` where its folder is none of the tree, or is of no interest.
    pub fn evaluate(&self, release: &ChartRelease, files: &dyn Files) -> Option<Rendered> {
        let inside = RepoPath::resolve(&release.folder_in(files)?, "Chart.yaml")?;
        let mut package = match Package::read(files, &inside, self.foreign) {
            Ok(package) if (self.foreign)(&package.name) => return None,
            Ok(package) if !package.has_templates() && package.schemas.is_empty() => return None,
            Ok(package) => package,
            Err(note) => return Some(Rendered { notes: vec![note], ..Rendered::default() }),
        };
        let layers = in_tree(&package, release, files);
        let (own, over) = layers.split_at_checked(release.replacing).unwrap_or((&[], &layers));
        let values = layered(over).value;
        if release.replacing > 0 {
            package.files.retain(|file| file.place != OWN_VALUES);
            package.own = Some(layered(own).value);
        }
        let given = go_yaml::document(&values).text().into_owned();
        let own = package.own.as_ref().map(|own| go_yaml::document(own).text().into_owned());
        if !(self.concerns)(&mut package.texts().chain([&*given]).chain(own.as_deref()), &values) {
            return None;
        }
        if self.evaluated.fetch_add(1, Ordering::Relaxed) >= EVALUATIONS {
            let about = About::Bound(Bound::Objects(EVALUATIONS));
            return Some(Rendered { notes: vec![Note::new(&inside, about)], ..Rendered::default() });
        }
        let outside = layers.iter().rposition(|layer| matches!(layer, Layer::Outside { target: None, .. }));
        let over_it = outside.and_then(|at| layers.get(at + 1..)).map(|over| layered(over).value);
        let over = (&values, over_it.as_ref());
        let is_asked = !release.ignores_schema;
        let refused = if is_asked { value_schema::refused(&package, over, files) } else { Vec::new() };
        if !package.has_templates() {
            return Some(Rendered { notes: refused, ..Rendered::default() });
        }
        let mut rendered = self.rendered(&package, release, over, files);
        rendered.notes.extend(refused);
        Some(rendered)
    }

    /// Renders it, and once more with what is switched off around versions that nothing reads. Where values are laid over it
    /// from outside, `over_it` is what lies over these: whatever else is switched off may be on.
    fn rendered(
        &self,
        package: &Package,
        release: &ChartRelease,
        (values, over_it): (&Value, Option<&Value>),
        files: &dyn Files,
    ) -> Rendered {
        let mut rendered = self.once(package, release, values, files);
        rendered.has_chance = package.has_chance();
        let whole = switches::whole(package, values, files);
        if let Some(over_it) = over_it {
            let on = switches::on(values, &whole, &unread(&rendered.objects)).map(|on| merged(&on, over_it));
            let more = self.more(package, release, on, &rendered.objects, files);
            rendered.objects.extend(more);
        }
        let is_unread = unread(&rendered.objects);
        let on = switches::on(values, &whole, &is_unread);
        rendered.off = self.more(package, release, on, &rendered.objects, files);
        if whole.scalars().into_iter().any(&is_unread) {
            let mut objects = self.elsewhere(package, release, values, files);
            objects.retain(|object| object.value.scalars().into_iter().any(&is_unread));
            let texts = objects.iter().flat_map(|object| object.value.scalars());
            rendered.elsewhere = texts.filter(|text| is_unread(text)).cloned().collect();
            rendered.only_elsewhere = objects;
        }
        rendered
    }

    /// Returns what comes of other values that is not there yet, or reads versions that nothing there reads.
    fn more(
        &self,
        package: &Package,
        release: &ChartRelease,
        on: Option<Value>,
        there: &[Object],
        files: &dyn Files,
    ) -> Vec<Object> {
        let Some(on) = on else { return Vec::new() };
        let called = |object: &Object| {
            let text = |scalar: Option<&Scalar>| scalar.map(|scalar| scalar.text().into_owned());
            (object.kind().into_owned(), text(object.namespace()), text(object.name()))
        };
        let known: HashSet<_> = there.iter().map(called).collect();
        let is_unread = unread(there);
        let is_new = |object: &Object| {
            !known.contains(&called(object)) || object.value.scalars().into_iter().any(&is_unread)
        };
        let mut more = self.once(package, release, &on, files).objects;
        more.retain(is_new);
        more
    }

    /// Returns what comes of it in clusters that it asks whether they are another one: with another Kubernetes, and with the APIs
    /// that it names. Of these nobody here knows whether there is one.
    fn elsewhere(
        &self,
        package: &Package,
        release: &ChartRelease,
        values: &Value,
        files: &dyn Files,
    ) -> Vec<Object> {
        let Some(helm) = self.helm.filter(|_| package.asks_its_cluster()) else { return Vec::new() };
        let mut other = release.clone();
        if other.api_versions.is_empty() {
            let own = release.apis.iter().map(|api| Scalar::made(api));
            let asked = package.apis_asked_for().into_iter().map(Scalar::made);
            other.api_versions = own.chain(asked).collect();
        }
        let mut objects = Vec::new();
        for version in ELSEWHERE {
            other.kube_version = release.kube_version.clone().or_else(|| Some(Scalar::made(version)));
            let mut rendered = Rendered::default();
            // What is refused in such a cluster brings nothing there.
            if (Probe { package, release: &other, files, helm }).run(values, &mut rendered).is_ok() {
                objects.extend(rendered.objects);
            }
        }
        objects
    }

    fn once(&self, package: &Package, release: &ChartRelease, values: &Value, files: &dyn Files) -> Rendered {
        let mut rendered = Rendered { notes: package.notes.clone(), ..Rendered::default() };
        if let Some(helm) = self.helm {
            let probe = Probe { package, release, files, helm };
            match probe.run(values, &mut rendered) {
                Ok(()) => return rendered,
                Err(HelmError::Missing { .. }) => {}
                Err(error) => rendered.notes.push(package.failed(&error)),
            }
        }
        plain::follow(package, release, values, files, &mut rendered);
        rendered
    }
}

/// Reads the values files that are named as parts of the chart, which are in the tree here.
fn in_tree(package: &Package, release: &ChartRelease, files: &dyn Files) -> Vec<Layer> {
    let read = |layer: &Layer| match layer {
        Layer::InChart { file, .. } => {
            let name = file.text();
            let source = package.source(name.trim_start_matches("./"));
            source.map_or_else(|| layer.clone(), |s| Layer::text(&Scalar::file(s), files, &name))
        }
        layer => layer.clone(),
    };
    release.layers.iter().map(read).collect()
}

/// One chart with one set of values, before Helm.
struct Probe<'a> {
    package: &'a Package,
    release: &'a ChartRelease,
    files: &'a dyn Files,
    helm: &'a dyn Evaluate,
}

// === impl Probe ===

impl Probe<'_> {
    fn run(&self, values: &Value, rendered: &mut Rendered) -> Result<(), HelmError> {
        let candidates = Candidates::of(self.package, values);
        let mut printed = self.printed(candidates.inputs(&BTreeSet::new()), &mut rendered.notes)?;
        let mut left = RENDERS;
        let all = candidates.numbers();
        if !all.is_empty() {
            match self.compare(&candidates, all, &mut printed, &mut left) {
                // More of the same would go over the same limit; what was found so far counts.
                Err(error) => rendered.notes.push(self.package.failed(&error)),
                Ok(()) if left == 0 => {
                    let about = About::Bound(Bound::Steps(RENDERS));
                    rendered.notes.push(Note::new(&self.release.file, about));
                }
                Ok(()) => {}
            }
        }
        let templates = self.package.templates().map(|(_, source)| source);
        let templates = templates.chain(self.package.loose_templates());
        rendered.followed.extend(templates.map(|source| source.path.clone()));
        rendered.read.extend(self.package.values_files().map(|source| source.path.clone()));
        for Printed { place, documents } in &printed {
            let file = trace::file_of(self.package, place, &self.release.file);
            for document in documents {
                let settled = trace::settled(document);
                let document = settled.as_ref().unwrap_or(document);
                untraced(document, &file, &mut rendered.notes);
                rendered.objects.extend(Object::all(document, &file).into_iter().map(|object| Object {
                    by: Some(self.release.by.clone().unwrap_or_else(|| self.release.file.clone())),
                    ..object
                }));
            }
        }
        Ok(())
    }

    /// Changes some versions and notes where they come out; where that changes more than them, one half after the other.
    fn compare(
        &self,
        candidates: &Candidates<'_>,
        changed: BTreeSet<usize>,
        printed: &mut [Printed],
        left: &mut usize,
    ) -> Result<(), HelmError> {
        let Some(less) = left.checked_sub(1) else { return Ok(()) };
        *left = less;
        let mut comparison = Comparison { candidates, changed: &changed, clean: true };
        // What a change breaks is no news of the chart.
        match self.printed(candidates.inputs(&changed), &mut Vec::new()) {
            Ok(probed) => comparison.all(printed, &probed),
            Err(HelmError::Refused(_)) => comparison.clean = false,
            Err(error) => return Err(error),
        }
        if comparison.clean || changed.len() < 2 {
            return Ok(());
        }
        let mut first = changed;
        let middle = first.iter().nth(first.len() / 2).copied().unwrap_or_default();
        let second = first.split_off(&middle);
        self.compare(candidates, first, printed, left)?;
        self.compare(candidates, second, printed, left)
    }

    fn printed(
        &self,
        (chart, values): (Vec<helm::File>, String),
        notes: &mut Vec<Note>,
    ) -> Result<Vec<Printed>, HelmError> {
        let known = |scalar: &Scalar| {
            Some(scalar.text().into_owned()).filter(|t| !t.is_empty() && scalar.unknown_to().is_none())
        };
        let ChartRelease { release, namespace, kube_version, api_versions, apis, .. } = self.release;
        let own_version = kube_version.as_ref().and_then(known);
        let mut api_versions: Vec<String> = api_versions.iter().filter_map(known).collect();
        // What is said stands in the place of what the cluster has.
        if api_versions.is_empty() {
            api_versions.extend(apis.iter().map(|api| (*api).to_owned()));
        }
        let asked = Template {
            release: known(release).unwrap_or_else(|| RELEASE.to_owned()),
            namespace: namespace.as_ref().and_then(known).unwrap_or_else(|| NAMESPACE.to_owned()),
            values: vec![helm::Layer(values.into())],
            settings: Vec::new(),
            kube_version: Some(own_version.clone().unwrap_or_else(|| KUBERNETES.to_owned())),
            api_versions,
            include_crds: false,
            hooks: true,
        };
        let evaluate = |asked: &Template| self.helm.evaluate(&self.package.folder, &chart, asked);
        let text = match evaluate(&asked) {
            // A chart may be for older clusters alone.
            Err(HelmError::Refused(why)) if own_version.is_none() && why.contains("kubeVersion") => {
                evaluate(&Template { kube_version: None, ..asked })
            }
            done => done,
        }?;
        Ok(trace::printed(&text, self.files, self.package, notes))
    }
}

/// Returns what tells whether a text is a version that none of some objects reads.
fn unread(objects: &[Object]) -> impl Fn(&Scalar) -> bool + use<> {
    let scalars = objects.iter().flat_map(|object| object.value.scalars());
    let places = scalars.flat_map(Scalar::origins).map(|at| (at.source.path.clone(), at.span.start));
    let read: HashSet<(RepoPath, usize)> = places.collect();
    let is_read = move |at: &Origin| read.contains(&(at.source.path.clone(), at.span.start));
    move |text: &Scalar| is_release(&text.text()) && !text.origins().any(&is_read)
}

/// Tells whether a text may be a release of Linkerd's.
fn is_release(text: &str) -> bool {
    (text.contains("edge-") || text.starts_with("20")) && !versions(text).is_empty()
}

/// Notes the versions of a document that came from nowhere that is known.
fn untraced(document: &Value, file: &RepoPath, notes: &mut Vec<Note>) {
    for scalar in document.scalars() {
        for part in scalar.parts() {
            let Part::Made(text) = part else { continue };
            if is_release(text) {
                let about = About::Untraced(scalar.text().chars().take(200).collect());
                let note = Note::new(file, about);
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
    }
}
