//! Step 7, render: which charts made the committed manifests, and which files belong together.
//!
//! In: the files that scan recognised. Out: one [`Committed`] for each time that a chart was rendered into the
//! repository. Files are of one set where they lie near each other and no object stands in two of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{Committed, CommittedFile};
use crate::{
    linkerd::{CNI, CONTROL_PLANE, CRDS, EdgeVersion, default_namespace},
    pins::{self, Marks, RenderedFile, together},
    render::{Cause, Manifest, NotRendered, Object, ObjectKey},
    repo::{Mode, RepoPath, Tree},
};

/// What was recognised, and what could not be read.
#[derive(Clone, Debug, Default)]
pub struct Recognised {
    /// The committed manifests, ordered by path.
    pub sets: Vec<Committed>,
    /// Files that a chart made and that are no manifest any more.
    pub missing: Vec<NotRendered>,
}

/// With so many objects in it a namespace is the one that the file was rendered for. Charts write into others too, and a
/// file with a few objects says nothing.
const MANY: usize = 8;

/// A file, seen as output of one chart.
struct Part {
    file: CommittedFile,
    keys: BTreeSet<ObjectKey>,
    /// Where the file says it clearly.
    namespace: Option<String>,
    /// Whether one of its objects says that a chart made it: a label alone is anybody's.
    said: bool,
}

// === impl Part ===

impl Part {
    fn folder(&self) -> &str {
        self.file.path.folder()
    }
}

/// Finds the committed manifests in the files that hold rendered objects.
pub fn committed(tree: &dyn Tree, files: &[RenderedFile]) -> Recognised {
    let mut found = Recognised::default();
    let mut manifests: BTreeMap<&RepoPath, Option<(Mode, Arc<Manifest>)>> = BTreeMap::new();
    let mut charts: BTreeMap<&str, Vec<Part>> = BTreeMap::new();
    for rendered in files {
        let known = manifests.entry(&rendered.path).or_insert_with(|| match read(tree, rendered) {
            Ok(read) => Some(read),
            Err(reason) => {
                found.missing.push(unread(rendered, reason));
                None
            }
        });
        if let Some(part) = known.as_ref().and_then(|(mode, manifest)| part(rendered, *mode, manifest)) {
            charts.entry(&rendered.chart).or_default().push(part);
        }
    }
    for (chart, parts) in charts {
        let said = |parts: &Vec<Part>| parts.iter().any(|part| part.said);
        let renderings = together(parts, Part::folder, are_one).into_iter();
        found.sets.extend(renderings.filter(said).map(|parts| set(chart, parts)));
    }
    found.sets.sort_by(|a, b| (a.path(), &a.chart).cmp(&(b.path(), &b.chart)));
    found
}

/// Reads what one object says of its chart.
pub(super) fn marks<'a>(manifest: &'a Manifest, object: &'a Object) -> Option<Marks<'a>> {
    pins::marks(manifest.node(object)?, object.source.as_deref())
}

/// Reads the chart's version out of the text in which an object names it; `None` for other versions, such as an image's.
pub(super) fn chart_version(text: &str) -> Option<String> {
    let behind = |at: char| text.rsplit_once(at).map(|(_, version)| version);
    let edge = behind(' ').and_then(|version| version.parse::<EdgeVersion>().ok());
    edge.or_else(|| behind('-').and_then(EdgeVersion::from_chart)).map(|version| version.chart().to_string())
}

fn read(tree: &dyn Tree, file: &RenderedFile) -> Result<(Mode, Arc<Manifest>), String> {
    let bytes = tree.read(file.blob).map_err(|e| e.to_string())?;
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    let manifest = Manifest::parse(text).map_err(|e| e.to_string())?;
    let entries = tree.entries();
    let entry = entries.binary_search_by(|e| e.path.cmp(&file.path)).ok().and_then(|n| entries.get(n));
    Ok((entry.map_or(Mode::File, |e| e.mode), Arc::new(manifest)))
}

fn unread(file: &RenderedFile, reason: String) -> NotRendered {
    NotRendered {
        path: file.path.clone(),
        line: None,
        files: vec![file.path.clone()],
        chart: file.chart.clone(),
        refused: false,
        cause: Cause::new(
            format!("the file cannot be read as rendered objects: {reason}"),
            "render it again by hand, or leave the file out with `ignore`",
        ),
    }
}

fn part(file: &RenderedFile, mode: Mode, manifest: &Arc<Manifest>) -> Option<Part> {
    let objects = manifest.objects.iter().enumerate();
    let own =
        objects.filter(|(_, o)| marks(manifest, o).is_some_and(|m| m.chart == file.chart)).map(|(n, _)| n);
    let own: Vec<usize> = own.collect();
    let objects = || own.iter().filter_map(|n| manifest.objects.get(*n));
    let keys = objects().map(|o| o.key.clone()).collect::<BTreeSet<_>>();
    let namespace = namespace(&file.chart, objects(), MANY);
    let said = objects().any(|o| marks(manifest, o).is_some_and(|m| m.certain));
    let (path, blob, manifest) = (file.path.clone(), file.blob, manifest.clone());
    (!keys.is_empty()).then(|| Part {
        file: CommittedFile { path, mode, blob, manifest, own: own.clone() },
        keys,
        namespace,
        said,
    })
}

/// Finds the namespace that objects were rendered for: named by a label, else the one that most of them are in.
fn namespace<'a>(
    chart: &str,
    objects: impl Iterator<Item = &'a Object> + Clone,
    least: usize,
) -> Option<String> {
    let of_plane = matches!(chart, CRDS | CONTROL_PLANE);
    let label = objects.clone().find_map(|o| o.label("linkerd.io/control-plane-ns")).filter(|_| of_plane);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for namespace in objects.filter_map(|o| o.key.namespace.as_deref()).filter(|n| *n != "kube-system") {
        *counts.entry(namespace).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(_, count)| *count).filter(|(_, count)| *count >= least);
    label.or(most.map(|(namespace, _)| namespace)).map(str::to_owned)
}

fn are_one(groups: &[Vec<Part>]) -> bool {
    let parts = || groups.iter().flatten();
    let mut seen = BTreeSet::new();
    let apart = parts().flat_map(|p| &p.keys).all(|key| seen.insert(key));
    let namespaces: BTreeSet<&String> = parts().filter_map(|p| p.namespace.as_ref()).collect();
    apart && namespaces.len() <= 1
}

fn set(chart: &str, mut parts: Vec<Part>) -> Committed {
    parts.sort_by(|a, b| a.file.path.cmp(&b.file.path));
    let said = |(manifest, object): &(&Manifest, &Object)| marks(manifest, object).is_some_and(|m| m.certain);
    let all = || parts.iter().flat_map(|p| own(&p.file));
    let certain: Vec<&Object> = all().filter(said).map(|(_, object)| object).collect();
    let any: Vec<&Object> = all().map(|(_, object)| object).collect();
    let namespace = namespace(chart, certain.into_iter(), 1).or_else(|| namespace(chart, any.into_iter(), 1));
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut named = Vec::new();
    let mut other = None;
    let (mut by_cli, mut by_helm) = (0, 0);
    for (manifest, object) in all() {
        let Some(marks) = marks(manifest, object).filter(|marks| marks.version.is_some()) else { continue };
        *if marks.cli { &mut by_cli } else { &mut by_helm } += 1;
        if let Some(version) = marks.version.and_then(chart_version) {
            *counts.entry(version.clone()).or_default() += 1;
            named.push((object.key.clone(), version));
        } else if let Some(text) = marks.version.filter(|_| chart != CNI) {
            // That chart alone names its image, and no release.
            other.get_or_insert_with(|| text.rsplit_once(' ').map_or(text, |(_, name)| name).to_owned());
        }
    }
    let version = counts.into_iter().max_by_key(|(_, count)| *count).map(|(version, _)| version);
    let mixed = named.into_iter().filter(|(_, v)| Some(v) != version.as_ref()).collect();
    let files: Vec<CommittedFile> = parts.into_iter().map(|p| p.file).collect();
    let namespace = namespace.unwrap_or_else(|| default_namespace(chart).to_owned());
    let other = other.filter(|_| version.is_none());
    Committed { chart: chart.to_owned(), version, other, mixed, namespace, cli: by_cli > by_helm, files }
}

/// Returns the marked objects of a file.
pub(super) fn own(file: &CommittedFile) -> impl Iterator<Item = (&Manifest, &Object)> {
    let manifest = &*file.manifest;
    file.own.iter().filter_map(move |n| Some((manifest, manifest.objects.get(*n)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::BlobId;

    fn role(name: &str, namespace: &str, by: &str) -> String {
        format!(
            "---\napiVersion: v1\nkind: Role\nmetadata:\n  name: {name}\n  namespace: {namespace}\n  \
             labels: {{linkerd.io/extension: viz}}\n  annotations: {{linkerd.io/created-by: {by}}}\n"
        )
    }

    fn part(path: &str, text: &str) -> Part {
        let path = RepoPath::new(path).unwrap();
        let (chart, objects) = ("linkerd-viz".into(), BTreeSet::new());
        let file = RenderedFile { path, blob: BlobId([0; 20]), chart, runs: true, objects };
        super::part(&file, Mode::File, &Arc::new(Manifest::parse(text).unwrap())).unwrap()
    }

    /// Shows the sets that files make up.
    fn sets(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let parts = files.iter().map(|(path, text)| part(path, text)).collect();
        let paths =
            |parts: Vec<Part>| set("linkerd-viz", parts).files.iter().map(|f| f.path.to_string()).collect();
        let renderings = together(parts, Part::folder, are_one).into_iter();
        let mut sets: Vec<Vec<String>> = renderings.map(paths).collect();
        sets.sort();
        sets
    }

    #[test]
    fn files_near_each_other_are_one_rendering_unless_an_object_is_in_two() {
        let by = "linkerd/helm edge-26.8.2";
        let (a, b, c) = (role("a", "v", by), role("b", "v", by), role("c", "linkerd", by));
        let split = sets(&[
            ("p/x/a.yaml", &a),
            ("p/y/b.yaml", &b),
            ("s/x/a.yaml", &a),
            ("s/b.yaml", &b),
            ("s/c.yaml", &c),
        ]);
        assert_eq!(split, [vec!["p/x/a.yaml", "p/y/b.yaml"], vec!["s/b.yaml", "s/c.yaml", "s/x/a.yaml"]]);
        assert_eq!(sets(&[("viz-p.yaml", &a), ("viz-s.yaml", &a)]).len(), 2);
        let many = |namespace: &str, first: char| -> String {
            (0..8).map(|n| role(&format!("{first}{n}"), namespace, by)).collect()
        };
        assert_eq!(sets(&[("x.yaml", &many("v", 'a')), ("y.yaml", &many("w", 'b'))]).len(), 2);
    }

    #[test]
    fn the_version_of_most_objects_counts_and_the_others_are_named() {
        let text = ["a", "b", "c"].map(|n| role(n, "v", "linkerd/helm edge-26.8.2")).concat();
        let text = text + &role("d", "w", "linkerd/cli edge-26.6.3") + &role("e", "v", "linkerd/helm v1.6.4");
        let set = set("linkerd-viz", vec![part("a.yaml", &text)]);
        assert_eq!((set.version.as_deref(), set.namespace.as_str(), set.cli), (Some("2026.8.2"), "v", false));
        let mixed: Vec<String> = set.mixed.iter().map(|(key, version)| format!("{key} {version}")).collect();
        assert_eq!(mixed, ["Role w/d 2026.6.3"]);
        assert_eq!(chart_version("linkerd-crds-2026.8.2").as_deref(), Some("2026.8.2"));
        assert_eq!(chart_version("linkerd/helm %!s(<nil>)"), None);
    }
}
