//! What expressions hold against texts by which Flux waits: where one no longer comes true, what waits is stuck.
//!
//! In: objects with such expressions, and those that they are about. Out: each text with the value that it has to agree with. What
//! an object of a chart has that is not known here is the release of that chart where the text says so.
//! Sources: `docs/spec/v1/kustomizations.md` of kustomize-controller ("Health check expressions", "Dependency Ready Expression"),
//! `docs/spec/v2/helmreleases.md` of helm-controller, `checkDependencies` of flux-operator. Of a status only the version of a
//! chart is known.

use std::{
    borrow::Cow,
    cell::RefCell,
    collections::{BTreeMap, BTreeSet, HashMap},
};

use super::{
    KUSTOMIZATIONS, OPERATOR, RELEASES, SOURCES,
    helm_release::{chart_source, helm_release},
};
use crate::deploy::{
    build::Build,
    cel::{self, Step},
    cluster::{Cluster, Reference},
    files::Files,
    json_patch::Guard,
    note::{About, Bound, Note},
    object::Object,
    typed::is_true,
    value::{Scalar, Value},
};

/// The groups of objects that wait by expressions.
const GROUPS: [&str; 3] = [KUSTOMIZATIONS, RELEASES, OPERATOR];
/// The expressions of a health check.
const CHECKS: [&str; 3] = ["inProgress", "failed", "current"];
/// What a health check is about that names no version of an API.
const WORKLOADS: &str = "apps/v1";
/// Objects that the health checks of one Kustomization look at, each as often as it may be compared.
const LOOKS: usize = 200_000;

/// The group, the kind and the name of an object.
type Called = [String; 3];

/// Lists the expressions of an object by which Flux waits.
pub fn expressions(object: &Object) -> Vec<&Scalar> {
    let spec = object.value.get("spec").filter(|_| GROUPS.contains(&&*object.group()));
    let Some(spec) = spec else { return Vec::new() };
    let checks = spec.list_at("healthCheckExprs").iter();
    let checks = checks.flat_map(|check| CHECKS.into_iter().filter_map(move |key| check.scalar(&[key])));
    checks.chain(spec.list_at("dependsOn").iter().filter_map(|on| on.scalar(&["readyExpr"]))).collect()
}

/// Builds a Kustomization, with what its health checks compare.
pub fn kustomization(object: &Object, cluster: &Cluster<'_>, files: &dyn Files) -> Build {
    let mut build = super::kustomization::kustomization(object, cluster, files);
    if let Some(spec) = object.value.get("spec").filter(|spec| spec.get("healthCheckExprs").is_some()) {
        let around = Cluster::within(&build.objects, cluster);
        let (compared, is_all) = checked(spec, &build.objects, &Versions::new(&around, files));
        build.guards.extend(compared);
        let note = || Note::new(&object.file, About::Bound(Bound::Looks(LOOKS)));
        build.notes.extend((!is_all).then(note));
    }
    build
}

/// Lists what the health checks of a Kustomization compare of its objects, and of those of charts that it asks for; and says
/// whether that is all of it.
fn checked(spec: &Value, objects: &[Object], versions: &Versions<'_>) -> (Vec<Guard>, bool) {
    let checks = spec.list_at("healthChecks");
    let (named, is_for_all) = (named(checks), is_true(spec, &["wait"]));
    let is_checked = |object: &Object| {
        let own = object.namespace().and_then(Scalar::known);
        let is_there = |all: &BTreeSet<String>| own.as_deref().is_none_or(|own| all.contains(own));
        is_for_all || named.get(&called_as(object)).is_some_and(is_there)
    };
    let applied: BTreeSet<Called> = match checks {
        [] => BTreeSet::new(),
        _ => objects.iter().map(called_as).collect(),
    };
    // What is checked and not applied is of a chart.
    let is_charted = |check: &&Value| called_in(check).is_some_and(|called| !applied.contains(&called));
    let charted: Vec<&Value> = checks.iter().filter(is_charted).collect();
    let (mut found, mut left) = (Vec::new(), LOOKS);
    for check in spec.list_at("healthCheckExprs") {
        let (Some(version), Some(kind)) = (check.text(&["apiVersion"]), check.text(&["kind"])) else {
            continue;
        };
        let group = group(&version);
        for text in CHECKS.into_iter().filter_map(|key| check.scalar(&[key])) {
            let whole = text.text();
            let compared = cel::comparisons(&whole);
            let looks = (objects.len() + charted.len()) * compared.len();
            let Some(rest) = left.checked_sub(looks) else { return (found, false) };
            left = rest;
            if compared.is_empty() {
                continue;
            }
            for object in objects.iter().filter(|object| object.is(group, &kind) && is_checked(object)) {
                found.extend(guards(text, &compared, |path| versions.value(path, object)));
            }
            let of_kind = charted.iter().filter(|check| check.text(&["kind"]).as_ref() == Some(&kind));
            let namespaces: BTreeSet<_> = of_kind.filter_map(|check| check.text(&["namespace"])).collect();
            for release in objects.iter().filter(|object| gives_into(object, &namespaces)) {
                found.extend(versions.of(release).iter().flat_map(|version| ends(text, &compared, version)));
            }
        }
    }
    (found, true)
}

/// Lists the objects that a Kustomization names to be checked, each with its namespaces.
fn named(checks: &[Value]) -> BTreeMap<Called, BTreeSet<String>> {
    let mut found: BTreeMap<Called, BTreeSet<String>> = BTreeMap::new();
    for check in checks {
        if let Some(called) = called_in(check) {
            let namespace = check.text(&["namespace"]).map(Cow::into_owned);
            found.entry(called).or_default().insert(namespace.unwrap_or_default());
        }
    }
    found
}

/// What a health check looks at.
fn called_in(check: &Value) -> Option<Called> {
    let version = check.text(&["apiVersion"]).unwrap_or(Cow::Borrowed(WORKLOADS));
    let (kind, name) = (check.text(&["kind"])?, check.text(&["name"])?);
    Some([group(&version).to_owned(), kind.into_owned(), name.into_owned()])
}

fn called_as(object: &Object) -> Called {
    let name = object.name().map(Scalar::text).unwrap_or_default();
    [object.group(), object.kind(), name].map(Cow::into_owned)
}

/// Returns the group of a version of an API.
fn group(version: &str) -> &str {
    version.split_once('/').map_or("", |(group, _)| group)
}

/// Tells whether a HelmRelease has its objects in one of some namespaces; those of a chart of definitions are in none.
fn gives_into(object: &Object, namespaces: &BTreeSet<Cow<'_, str>>) -> bool {
    let is_release = object.is(RELEASES, "HelmRelease") && !namespaces.is_empty();
    let own = || object.namespace().and_then(Scalar::known);
    let namespace = || object.value.text(&["spec", "targetNamespace"]).or_else(own);
    let chart = || object.value.text(&["spec", "chart", "spec", "chart"]).unwrap_or_default();
    is_release && namespace().is_some_and(|name| namespaces.contains(&name)) && !chart().ends_with("crds")
}

/// Pairs the ends of texts with the version of a chart whose objects are held against them, where they are that release: its
/// labels and the tags of its images are.
fn ends(text: &Scalar, compared: &[cel::Comparison<'_>], version: &Scalar) -> Vec<Guard> {
    let (whole, release) = (text.text(), version.text());
    let pair = |one: &cel::Comparison<'_>| {
        let said = whole.get(one.text.clone())?;
        let end = said.rsplit([':', ' ']).next()?;
        let numbers = end.trim_start_matches(|c: char| !c.is_ascii_digit());
        // A tag has no century.
        let is_release = numbers.contains('.') && matches!(release.strip_suffix(numbers), Some("" | "20"));
        let guard = || text.cut(one.text.end - end.len()..one.text.end);
        is_release.then(|| Guard { guard: guard(), value: version.clone() })
    };
    compared.iter().filter_map(pair).collect()
}

/// Lists what objects of a cluster compare of others in it that they depend on.
pub fn awaited_values<'o>(
    objects: impl Iterator<Item = &'o Object>,
    cluster: &Cluster<'_>,
    files: &dyn Files,
) -> Vec<Guard> {
    let awaited = |object: &Object| -> Vec<Value> {
        let all = object.value.get("spec").map_or(&[][..], |spec| spec.list_at("dependsOn")).iter();
        let all = all.filter(|on| on.get("readyExpr").is_some()).cloned();
        if GROUPS.contains(&&*object.group()) { all.collect() } else { Vec::new() }
    };
    let versions = Versions::new(cluster, files);
    let mut found = Vec::new();
    for object in objects {
        for on in &awaited(object) {
            let Some((text, name)) = on.scalar(&["readyExpr"]).zip(on.text(&["name"])) else { continue };
            // Those of a ResourceSet may be of any kind, and their fields are variables by themselves.
            let is_set = object.is(OPERATOR, "ResourceSet");
            let said = |key: &str| on.text(&[key]).unwrap_or_default();
            let (version, kind) = match is_set {
                true => (said("apiVersion"), said("kind")),
                false => (object.api_version(), object.kind()),
            };
            let group = group(&version);
            let namespace = on.text(&["namespace"]).or_else(|| object.namespace().and_then(Scalar::known));
            let namespace = namespace.as_deref();
            let wanted = Reference { group, kind: &kind, name: &name, namespace, from: &object.file };
            let dependency = cluster.find(wanted);
            let value = |path: &[Step<'_>]| match path {
                _ if is_set => versions.value(path, dependency?),
                [Step::Key("dep"), rest @ ..] => versions.value(rest, dependency?),
                [Step::Key("self"), rest @ ..] => versions.value(rest, object),
                _ => None,
            };
            let whole = text.text();
            found.extend(guards(text, &cel::comparisons(&whole), value));
        }
    }
    found
}

/// Pairs texts of an expression with the values that they are compared with.
fn guards(
    text: &Scalar,
    compared: &[cel::Comparison<'_>],
    value: impl Fn(&[Step<'_>]) -> Option<Scalar>,
) -> Vec<Guard> {
    let pair = |one: &cel::Comparison<'_>| {
        Some(Guard { guard: text.cut(one.text.clone()), value: value(&one.path)? })
    };
    compared.iter().filter_map(pair).collect()
}

/// The versions of charts in a cluster, each looked for once.
struct Versions<'c> {
    cluster: &'c Cluster<'c>,
    files: &'c dyn Files,
    known: RefCell<HashMap<*const Object, Option<Scalar>>>,
}

// === impl Versions ===

impl<'c> Versions<'c> {
    fn new(cluster: &'c Cluster<'c>, files: &'c dyn Files) -> Self {
        Self { cluster, files, known: RefCell::default() }
    }

    /// Finds what a path leads to in an object of the cluster.
    fn value(&self, path: &[Step<'_>], object: &Object) -> Option<Scalar> {
        use Step::{Each, Index, Key};
        let kind = match path {
            [Key("status"), Key("history"), Index(0) | Each, Key("chartVersion" | "appVersion")]
            | [Key("status"), Key("lastAttemptedRevision" | "lastAppliedRevision")] => Some("HelmRelease"),
            [Key("status"), Key("artifact"), Key("revision")] => Some("HelmChart"),
            _ => None,
        };
        if kind.is_some_and(|kind| object.kind() == kind) {
            return self.of(object);
        }
        let value = path.iter().try_fold(&object.value, |value, step| match step {
            Key(key) => value.get(key),
            Index(index) => value.items().get(*index),
            Each => None,
        });
        value?.as_scalar().cloned()
    }

    /// Returns the version of the chart that an object asks for.
    fn of(&self, object: &Object) -> Option<Scalar> {
        let place = std::ptr::from_ref(object);
        if let Some(known) = self.known.borrow().get(&place) {
            return known.clone();
        }
        let release = match &*object.group() {
            RELEASES => helm_release(object, self.cluster, self.files),
            SOURCES => chart_source(object, self.cluster, self.files),
            _ => None,
        };
        let version = release.and_then(|release| release.version);
        self.known.borrow_mut().insert(place, version.clone());
        version
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        deploy::testing::{files, objects},
        repo::RepoPath,
    };

    fn pairs(found: &[Guard]) -> Vec<String> {
        found.iter().map(|one| format!("{} {}", one.guard.text(), one.value.text())).collect()
    }

    const OBJECTS: &str = "kind: ConfigMap\napiVersion: v1\nmetadata: {name: c, namespace: n}\ndata: {v: 1.2.3, w: x}\n---\n\
        apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: o, namespace: n}\nspec: {url: 'oci://a/b', ref: {tag: 1.2.4}}\n---\n\
        apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmChart\nmetadata: {name: h, namespace: n}\n\
        spec: {chart: b, version: 1.2.5, sourceRef: {kind: HelmRepository, name: a}}\n---\n\
        apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: r, namespace: n}\n\
        spec: {chartRef: {kind: OCIRepository, name: o}, dependsOn: [{name: s, readyExpr: \"\
        dep.status.lastAttemptedRevision == 'a' || self.metadata.name == 'b'\"}, {name: gone, readyExpr: \"dep.metadata.name == 'c'\"}]}\n---\n\
        apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: s, namespace: n}\n\
        spec: {chart: {spec: {chart: b, version: 1.2.6, sourceRef: {kind: HelmRepository, name: a}}}}\n";

    fn checks(spec: &str) -> Vec<String> {
        let text = format!(
            "apiVersion: {KUSTOMIZATIONS}/v1\nkind: Kustomization\nmetadata: {{name: k, namespace: n}}\nspec:\n  path: ./a\n{spec}  \
             sourceRef: {{kind: GitRepository, name: g}}\n  healthCheckExprs:\n  - apiVersion: v1\n    kind: ConfigMap\n    \
             current: data.v == 'a'\n    failed: data.gone == 'b' || data.w == 'c'\n  - apiVersion: {RELEASES}/v2\n    kind: HelmRelease\n    \
             current: status.history[0].chartVersion == 'd' && status.history[1].chartVersion == 'e'\n  - apiVersion: {SOURCES}/v1\n    \
             kind: HelmChart\n    current: status.artifact.revision == 'f'\n"
        );
        let tree = files(&[("k.yaml", &text), ("a/all.yaml", OBJECTS)]);
        let all = Object::of_file(&tree, &RepoPath::new("k.yaml").unwrap());
        pairs(&kustomization(&all[0], &Cluster::new(&all), &tree).guards)
    }

    #[test]
    fn health_checks_compare_the_objects_that_are_checked() {
        assert_eq!(checks("  wait: true\n"), ["c x", "a 1.2.3", "d 1.2.4", "d 1.2.6", "f 1.2.5"]);
        let named = |version: &str, namespace: &str| {
            checks(&format!(
                "  healthChecks: [{{apiVersion: {version}, kind: HelmRelease, name: s, namespace: {namespace}}}]\n"
            ))
        };
        assert_eq!(named("helm.toolkit.fluxcd.io/v2", "n"), ["d 1.2.6"]);
        assert_eq!(named("helm.toolkit.fluxcd.io/v2", "m"), [""; 0], "its namesake in another namespace");
        assert_eq!(named("helm.cattle.io/v1", "n"), [""; 0], "one of another group");
        assert_eq!(checks(""), [""; 0], "nothing is checked");
    }

    #[test]
    fn a_health_check_of_what_a_chart_has_compares_the_release_of_that() {
        let release = |name: &str, chart: &str, version: &str, more: &str| {
            format!(
                "---\napiVersion: {RELEASES}/v2\nkind: HelmRelease\nmetadata: {{name: {name}, namespace: f}}\n\
                 spec: {{targetNamespace: n, {more}chart: {{spec: {{chart: {chart}, version: {version}, sourceRef: {{kind: HelmRepository, name: a}}}}}}}}\n"
            )
        };
        let own = "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: own, namespace: n}\nspec: {replicas: 3}\n";
        let all = release("r", "mesh", "2026.8.2", "") + &release("c", "mesh-crds", "2026.8.2", "") + own;
        let checked = |name: &str, expression: &str| {
            let text = format!(
                "apiVersion: {KUSTOMIZATIONS}/v1\nkind: Kustomization\nmetadata: {{name: k, namespace: f}}\nspec:\n  path: ./a\n  \
                 sourceRef: {{kind: GitRepository, name: g}}\n  healthChecks:\n  - {{apiVersion: apps/v1, kind: Deployment, name: {name}, namespace: n}}\n  \
                 healthCheckExprs:\n  - apiVersion: apps/v1\n    kind: Deployment\n    current: {expression}\n"
            );
            let tree = files(&[("k.yaml", &text), ("a/all.yaml", &all)]);
            let root = Object::of_file(&tree, &RepoPath::new("k.yaml").unwrap());
            pairs(&kustomization(&root[0], &Cluster::new(&root), &tree).guards)
        };
        for text in
            ["edge-26.8.2", "2026.8.2", "registry.example.com:5000/a/b:edge-26.8.2", "mesh/helm edge-26.8.2"]
        {
            let end = text.rsplit([':', ' ']).next().unwrap();
            assert_eq!(checked("gone", &format!("a.b == '{text}'")), [format!("{end} 2026.8.2")], "{text}");
        }
        for text in ["edge-26.8.1", "8.2", "2", "n", "126.8.2"] {
            assert_eq!(checked("gone", &format!("a.b == '{text}'")), [""; 0], "{text}");
        }
        assert_eq!(checked("own", "spec.replicas == 'edge-26.8.2'"), ["edge-26.8.2 3"], "it is applied here");
    }

    #[test]
    fn a_release_compares_what_it_depends_on_and_itself() {
        let all = objects(OBJECTS);
        let (releases, others): (Vec<Object>, Vec<Object>) =
            all.into_iter().partition(|object| object.kind() == "HelmRelease");
        let outer = Cluster::new(&others);
        let cluster = Cluster::within(&releases, &outer);
        let found = awaited_values(releases.iter().chain(&others), &cluster, &files(&[]));
        assert_eq!(pairs(&found), ["a 1.2.6", "b r"]);
    }

    #[test]
    fn the_objects_that_checks_look_at_are_bounded() {
        let object = |n: usize| format!("---\napiVersion: v1\nkind: X\nmetadata: {{name: x{n}}}\nv: y\n");
        let objects: String = (0..500).map(object).collect();
        let check = |times: usize| {
            let text = format!(
                "apiVersion: {KUSTOMIZATIONS}/v1\nkind: Kustomization\nmetadata: {{name: k, namespace: n}}\nspec:\n  path: ./a\n  wait: true\n  \
                 sourceRef: {{kind: GitRepository, name: g}}\n  healthCheckExprs: [{{apiVersion: v1, kind: X, current: \"{}true\"}}]\n",
                "v == 'y' || ".repeat(times)
            );
            let tree = files(&[("k.yaml", &text), ("a/all.yaml", &objects)]);
            let all = Object::of_file(&tree, &RepoPath::new("k.yaml").unwrap());
            let build = kustomization(&all[0], &Cluster::new(&all), &tree);
            let is_told = build.notes.iter().any(|note| note.about == About::Bound(Bound::Looks(LOOKS)));
            (build.guards.len(), is_told)
        };
        assert_eq!((check(2), check(500)), ((1000, false), (0, true)));
    }
}
