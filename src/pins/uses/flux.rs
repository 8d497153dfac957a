//! Step 5, pins: charts of Linkerd that Flux HelmReleases have rendered.
//!
//! In: a HelmRelease with what kustomizations and Flux do to it. Out: uses. Values in Flux's order: `valuesFrom` as
//! listed, then `values`. A Secret is never read.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

use super::{
    super::{
        ChartUse, ValuesPart,
        context::{Context, NamedChart, Reference, oci_chart},
        index::{Kustomization, clean_folder},
        object::Object,
        origin::{Origin, Ours},
        place::Place,
    },
    blank,
    data::{Data, unknown},
    fill::{self, nearest_map},
    layers,
    overlay::{self, Variant},
    umbrella,
};
use crate::{deploy::cluster::nearest, repo::RepoPath};

/// The longest name of a Helm release, and how much of it Flux keeps in front of a digest.
const NAME: (usize, usize) = (53, 40);

/// What a release deploys.
enum Deployed {
    Ours(Ours, String),
    /// A chart in a folder of the tree.
    Folder(String),
}

/// One release as it reaches the cluster.
struct Release<'a> {
    path: &'a RepoPath,
    spec: &'a Data,
    variant: &'a Variant,
    /// The namespaces that it may end in.
    namespaces: BTreeSet<String>,
}

/// Takes the uses of a HelmRelease: one for each way to the cluster that makes something else of it.
pub(super) fn helm_release(
    context: &Context<'_>,
    place: Place<'_>,
    object: &Object<'_>,
    uses: &mut Vec<ChartUse>,
) {
    let path = &place.file.path;
    let Some(name) = object.name.filter(|_| may_be_ours(context, object)) else { return };
    let Some(data) = Data::read(object.node).filter(|_| !overlay::is_patch(context, path)) else { return };
    let line = place.file.position(object.node.span().start).0;
    for variant in overlay::variants(context, path, object, &data) {
        let mut data = data.clone();
        variant.apply(&mut data);
        let Some(spec) = data.get("spec") else { continue };
        let namespaces = match &variant.namespace {
            Some(namespace) => BTreeSet::from([namespace.clone()]),
            None => context.namespaces(path, object),
        };
        let release = Release { path, spec, variant: &variant, namespaces };
        let Some(deployed) = release.deployed(context) else { continue };
        let found = ChartUse { by: variant.by.clone(), ..release.as_use(context, name, line) };
        match deployed {
            Deployed::Ours(ours, version) => {
                uses.push(ChartUse { chart: ours.chart, version, ..release.with_chart_files(found) });
            }
            Deployed::Folder(folder) => {
                let files = spec.path(&["chart", "spec"]).map(|t| t.texts("valuesFiles")).unwrap_or_default();
                let files: Vec<RepoPath> = files.iter().filter_map(|f| RepoPath::resolve("", f)).collect();
                umbrella::expand(context, &folder, &files, found, uses);
            }
        }
    }
}

/// Looks whether a release is worth more: most are of other charts.
fn may_be_ours(context: &Context<'_>, object: &Object<'_>) -> bool {
    let Some(spec) = object.node.get("spec") else { return false };
    let chart = spec.text(&["chart", "spec", "chart"]);
    spec.get("chartRef").is_some()
        || chart.is_some_and(|chart| {
            let local = context.local_chart(&clean_folder(chart));
            chart.contains("${") || crate::linkerd::is_chart(chart) || local.is_some()
        })
}

// === impl Release ===

impl Release<'_> {
    fn as_use(&self, context: &Context<'_>, name: &str, line: usize) -> ChartUse {
        let spec = self.spec;
        let target = spec.text(&["targetNamespace"]);
        let name = match (spec.text(&["releaseName"]), target) {
            (Some(name), _) => name.to_owned(),
            (None, Some(target)) => format!("{target}-{name}"),
            (None, None) => name.to_owned(),
        };
        let single = self.namespaces.first().filter(|_| self.namespaces.len() == 1);
        let mut found = blank(self.path, line);
        found.release = shortened(&name);
        found.namespace = target.map(str::to_owned).or_else(|| single.cloned());
        found.include_crds = matches!(
            spec.text(&["upgrade", "crds"]),
            Some("Create" | "CreateReplace" | "create" | "createReplace")
        );
        found.notes.clone_from(&self.variant.notes);
        if !spec.list("postRenderers").is_empty() {
            found.notes.push(
                "Flux changes the output afterwards (`postRenderers`), which is not done here.".to_owned(),
            );
        }
        for from in spec.list("valuesFrom") {
            self.values_from(context, from, &mut found);
        }
        if let Some(values) = spec.get("values") {
            layers::push(&mut found.values, values.clone(), self.path);
        }
        found
    }

    /// Puts the values files inside the chart before all other values.
    fn with_chart_files(&self, mut found: ChartUse) -> ChartUse {
        let Some(template) = self.spec.path(&["chart", "spec"]) else { return found };
        let optional = template.is_true("ignoreMissingValuesFiles");
        let mut files = template.texts("valuesFiles");
        if files.first().is_some_and(|f| *f == "values.yaml") {
            files.remove(0);
        } else if !files.is_empty() {
            found.notes.push(
                "`valuesFiles` leaves the chart's `values.yaml` out; the rendering here has it all the same."
                    .to_owned(),
            );
        }
        let inside = files.into_iter().map(|f| ValuesPart::InChart { file: clean_folder(f), optional });
        found.values.splice(0..0, inside);
        found
    }

    fn deployed(&self, context: &Context<'_>) -> Option<Deployed> {
        let (named, version) = match self.spec.get("chartRef") {
            Some(reference) => self.referenced(context, reference)?,
            None => {
                let template = self.spec.path(&["chart", "spec"])?;
                let chart = template.text(&["chart"])?;
                let version = template.text(&["version"]).unwrap_or("*");
                let (kind, name) =
                    (template.text(&["sourceRef", "kind"]), template.text(&["sourceRef", "name"]));
                let namespace = template.text(&["sourceRef", "namespace"]);
                let origin = match kind.zip(name) {
                    Some((kind, name)) => context.origin(&self.reference(kind, name, namespace)),
                    None => Origin::Unknown,
                };
                (NamedChart { chart: chart.to_owned(), origin }, version.to_owned())
            }
        };
        if unknown(&version).is_some() {
            return None;
        }
        let ours = Ours::judge(&named.chart, &named.origin, &version, &context.options.mirrors);
        match ours {
            Some(ours) => super::is_rendered(&ours).then_some(Deployed::Ours(ours, version)),
            None => {
                let folder = clean_folder(&named.chart);
                context.local_chart(&folder).map(|_| Deployed::Folder(folder))
            }
        }
    }

    /// Follows a `chartRef` to the chart and its version, the source patched as the release is.
    fn referenced(&self, context: &Context<'_>, reference: &Data) -> Option<(NamedChart, String)> {
        let (kind, name) = (reference.text(&["kind"])?, reference.text(&["name"])?);
        let namespace = reference.text(&["namespace"]);
        let source = context.source(&self.reference(kind, name, namespace))?;
        let file = context.corpus.file(source.path.as_str())?;
        let place = Place::of(&file);
        let objects = Object::all(place);
        let own = |o: &&Object<'_>| {
            o.kind == kind && o.name == Some(name) && o.namespace == source.namespace.as_deref()
        };
        let object = objects.iter().find(own)?;
        let mut data = Data::read(object.node)?;
        let variants = overlay::variants(context, &source.path, object, &data);
        let same = variants.iter().find(|v| v.by == self.variant.by && v.by.is_some());
        let shared = |v: &&Variant| v.folders.last() == self.variant.folders.last();
        if let Some(variant) = same.or_else(|| variants.iter().find(shared)).or(variants.first()) {
            variant.apply(&mut data);
        }
        let spec = data.get("spec")?;
        if kind == "OCIRepository" {
            // Flux reads the digest first, then the constraint, then the tag; a digest names no version.
            let version = spec.text(&["ref", "semver"]).or_else(|| spec.text(&["ref", "tag"]))?;
            return Some((oci_chart(spec.text(&["url"])?)?, version.to_owned()));
        }
        let version = spec.text(&["version"]).unwrap_or("*").to_owned();
        let named = context.referenced_chart(&self.reference(kind, name, namespace))?;
        Some((named, version))
    }

    fn reference<'r>(&'r self, kind: &'r str, name: &'r str, namespace: Option<&'r str>) -> Reference<'r> {
        Reference { from: self.path, kind, name, namespace, own: &self.namespaces }
    }

    fn values_from(&self, context: &Context<'_>, from: &Data, found: &mut ChartUse) {
        let Some((kind, name)) = from.text(&["kind"]).zip(from.text(&["name"])) else { return };
        let key = from.text(&["valuesKey"]).unwrap_or("values.yaml");
        let (target, optional) = (from.text(&["targetPath"]), from.is_true("optional"));
        let space = self.namespaces.first().map(|n| format!("{n}/")).unwrap_or_default();
        let what = format!("{kind} {space}{name}, key {key}");
        let hole = |reason: &str| ValuesPart::Outside {
            what: format!("{what}{reason}"),
            target: target.map(str::to_owned),
            optional,
        };
        if kind != "ConfigMap" {
            found.values.push(hole(""));
            return;
        }
        let (text, path) = match self.entry(context, name, key) {
            Entry::Text(text, path) => (text, path),
            Entry::Sealed => return found.values.push(hole(", which SOPS encrypts")),
            Entry::NoKey if optional => return,
            Entry::NoKey => return found.values.push(hole(", which the ConfigMap does not have")),
            Entry::None => return found.values.push(hole(", which is not in this repository")),
        };
        let filled = self.variant.variables.as_ref().and_then(|v| v.fill(&text)).unwrap_or(text);
        match target {
            None => layers::push_text(&mut found.values, &filled, &path, &what),
            Some(target) => match layers::at_path(target, typed(&filled)) {
                Some(data) => layers::push(&mut found.values, data, &path),
                None => found.values.push(hole(", which goes into a list")),
            },
        }
    }

    /// Finds an entry of a ConfigMap in the tree, or of one that kustomize generates.
    fn entry(&self, context: &Context<'_>, name: &str, key: &str) -> Entry {
        let generated = self.generated(context, name, key);
        if !matches!(generated, Entry::None) {
            return generated;
        }
        let Some(map) = nearest_map(context, name, &self.namespaces, self.path) else { return Entry::None };
        match fill::config_map(context, map) {
            Some((_, true)) => Entry::Sealed,
            Some((data, false)) => match data.path(&["data"]).and_then(|d| d.get(key)).and_then(Data::as_str)
            {
                Some(text) => Entry::Text(text.to_owned(), map.path.clone()),
                None => Entry::NoKey,
            },
            None => Entry::None,
        }
    }

    /// Looks into generators, those that the release goes through first, and of these the outermost.
    fn generated(&self, context: &Context<'_>, name: &str, key: &str) -> Entry {
        let makes = |k: &&Kustomization| k.generated.iter().any(|g| g == name);
        let own = self.variant.folders.iter().rev().filter_map(|f| context.index.kustomizations.get(f));
        let mut makers: Vec<&Kustomization> = own.filter(makes).collect();
        if makers.is_empty() {
            let mut all: Vec<&Kustomization> = context.index.kustomizations.values().filter(makes).collect();
            all.sort_by_key(|k| &k.path);
            makers.extend(nearest(&all, self.path, |k| &k.path, |_| true));
        }
        if makers.is_empty() {
            return Entry::None;
        }
        let found = makers.into_iter().find_map(|maker| generated_entry(context, maker, name, key));
        found.unwrap_or(Entry::NoKey)
    }
}

/// What was found under a key of a ConfigMap.
enum Entry {
    Text(String, RepoPath),
    Sealed,
    NoKey,
    None,
}

fn generated_entry(context: &Context<'_>, maker: &Kustomization, name: &str, key: &str) -> Option<Entry> {
    let file = context.corpus.file(maker.path.as_str())?;
    let root = file.stream.roots().next().and_then(Data::read)?;
    let own = root.list("configMapGenerator").iter().filter(|g| g.text(&["name"]) == Some(name));
    for generator in own {
        for written in generator.texts("files") {
            let last = |p: &str| p.rsplit('/').next().unwrap_or(p).to_owned();
            let (as_key, at) =
                written.split_once('=').map_or((last(written), written), |(k, p)| (k.to_owned(), p));
            let path = maker.path.join_from_folder(at).filter(|_| as_key == key);
            let entry = path.as_ref().and_then(|p| context.corpus.entry(p.as_str()));
            if let Some(text) = entry.and_then(|e| context.corpus.text(e).ok()) {
                return Some(Entry::Text(text, path?));
            }
        }
        let literals = generator.texts("literals").into_iter().filter_map(|l| l.split_once('='));
        let envs = generator.texts("envs").into_iter().chain(generator.text(&["env"]));
        let env_texts = envs.filter_map(|e| {
            let path = maker.path.join_from_folder(e)?;
            context.corpus.text(context.corpus.entry(path.as_str())?).ok()
        });
        let lines: Vec<String> = env_texts.collect();
        let pairs = lines.iter().flat_map(|t| t.lines()).filter_map(|l| l.split_once('='));
        if let Some((_, value)) = literals.chain(pairs).rfind(|(k, _)| *k == key) {
            return Some(Entry::Text(value.to_owned(), maker.path.clone()));
        }
    }
    None
}

/// Types a single value as Flux does: quotes make a text, else it is typed by its looks.
fn typed(text: &str) -> Data {
    let quoted = |q: char| text.len() > 1 && text.starts_with(q) && text.ends_with(q);
    if let Some(q) = ['\'', '"'].into_iter().find(|q| quoted(*q)) {
        return Data::string(text.trim_matches(q));
    }
    let number =
        text.parse::<i64>().is_ok() && (text == "0" || !text.trim_start_matches('-').starts_with('0'));
    let plain = number || matches!(text, "true" | "false" | "null");
    Data::Scalar { text: text.to_owned(), plain }
}

/// Shortens a release's name as Flux does, so that Helm takes it.
fn shortened(name: &str) -> String {
    let (longest, kept) = NAME;
    if name.len() <= longest {
        return name.to_owned();
    }
    let digest: String = Sha256::digest(name.as_bytes()).iter().take(6).map(|b| format!("{b:02x}")).collect();
    let kept = name.char_indices().take_while(|(at, c)| at + c.len_utf8() <= kept).last();
    format!("{}-{digest}", name.get(..kept.map_or(0, |(at, c)| at + c.len_utf8())).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut_to_what_helm_takes() {
        let name = shortened(&"a-very-long-namespace-of-a-tenant-".repeat(2));
        assert_eq!(name.len(), 53);
        assert!(name.starts_with("a-very-long-namespace-of-a-tenant-a-very-"));
        assert_eq!(shortened("linkerd-crds"), "linkerd-crds");
        assert!(shortened(&"é".repeat(60)).len() <= 53);
    }

    #[test]
    fn single_values_are_typed_by_their_looks() {
        assert_eq!(typed("3"), Data::Scalar { text: "3".to_owned(), plain: true });
        assert_eq!(typed("'3'"), Data::string("3"));
        assert_eq!(typed("007"), Data::string("007"));
        assert_eq!(typed("yes"), Data::string("yes"));
    }
}
