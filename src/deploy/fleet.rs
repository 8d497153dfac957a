//! Rancher Fleet: the chart of a bundle, as its `fleet.yaml` says (fleet.rancher.io, "fleet.yaml"), or a `HelmOp`.
//!
//! In: a document. Out: the chart with its values, and once more for each of `targetCustomizations` that says anything
//! of its own. Known by what it holds: other files have that name too.

mod bundle;
mod fill;
mod git_repo;
mod helm_op;

use std::collections::BTreeSet;

use super::{
    build::Build,
    chart::{self, ChartRelease, Installed, Layer, Repository, merged, packaged, registry_chart},
    cluster::{Cluster, Reference},
    files::Files,
    go_yaml,
    note::Note,
    object::Object,
    typed::is_true,
    value::{Scalar, Value},
};
use crate::repo::RepoPath;
pub use bundle::{Bundle, Fleet};
use fill::Filler;
pub use git_repo::GitRepo;
pub use helm_op::KIND as HELM_OP;

/// The group of its objects.
pub const GROUP: &str = "fleet.cattle.io";

/// What a bundle says of the namespace that Fleet makes for it.
#[derive(Clone, Copy, Debug)]
pub struct Namespaced<'d> {
    /// Its name, where that is told.
    pub name: Option<&'d Scalar>,
    /// Its labels.
    pub labels: Option<&'d Value>,
    /// Its annotations.
    pub annotations: &'d Value,
}

/// Tells whether a file is called as bundles are.
pub fn is_bundle(name: &str) -> bool {
    matches!(name, "fleet.yaml" | "fleet.yml")
}

/// Lists what a file says to Fleet of bundles, each as a `fleet.yaml` says it.
pub fn told(path: &RepoPath, documents: &[Value], objects: &[Object]) -> Vec<Value> {
    let is_told =
        |document: &&Value| is_fleet(document) && (is_bundle(path.name()) || document.get("helm").is_some());
    let told = documents.iter().filter(is_told).cloned();
    told.chain(objects.iter().filter_map(helm_op::said)).collect()
}

/// Reads the charts of a bundle, each as often as what the tree does not decide has outcomes; none where the document is no
/// `fleet.yaml`, or brings no chart from elsewhere.
pub fn releases((files, maps): (&dyn Files, &Cluster<'_>), path: &RepoPath, document: &Value) -> Build {
    let mut notes = Vec::new();
    let all = customized((files, maps), path, document, &mut notes);
    let charts = all.into_iter().flat_map(|(releases, _)| releases).collect();
    Build { charts, notes, ..Build::default() }
}

/// Reads what a bundle says for targets that it is not deployed to: with `doNotDeploy`, or behind one that takes the same
/// clusters.
pub fn idle(
    (files, maps): (&dyn Files, &Cluster<'_>),
    path: &RepoPath,
    document: &Value,
) -> Vec<ChartRelease> {
    let all = targets((files, maps), path, document, true, &mut Vec::new());
    all.into_iter().flat_map(|(releases, _)| releases).collect()
}

/// Returns the ways in which a target chooses clusters, each with what it says.
fn chosen(target: &Value) -> Vec<(&'static str, String)> {
    let ways = ["clusterName", "clusterGroup", "clusterGroupSelector", "clusterSelector"];
    let said = |key| Some((key, go_yaml::document(target.get(key)?).text().into_owned()));
    ways.into_iter().filter_map(said).collect()
}

/// Tells whether a target chooses all clusters.
fn takes_all(target: &Value) -> bool {
    chosen(target).len() == 1 && target.get("clusterSelector") == Some(&Value::empty())
}

/// Tells whether a target is there for clusters that get nothing.
fn is_off(target: &Value) -> bool {
    is_true(target, &["doNotDeploy"])
}

/// Returns the chart of a bundle, and once more for each target that says anything of its own of it, with all outcomes.
fn customized<'d>(
    (files, maps): (&dyn Files, &Cluster<'_>),
    path: &RepoPath,
    document: &'d Value,
    notes: &mut Vec<Note>,
) -> Vec<(Vec<ChartRelease>, Option<&'d Value>)> {
    let Some(helm) = document.get("helm").filter(|_| is_fleet(document)) else { return Vec::new() };
    let namespace = namespace(document);
    let whole = release((files, maps), path, &[helm], namespace, String::new(), notes);
    let own = targets((files, maps), path, document, false, notes);
    let own = own.into_iter().map(|(releases, of)| (releases, Some(of)));
    let all = [(whole, None)].into_iter().filter(|(releases, _)| !releases.is_empty()).chain(own);
    let installed = |release| ChartRelease { installed: installed(document), ..release };
    all.map(|(releases, of)| (releases.into_iter().map(installed).collect(), of)).collect()
}

/// Says what becomes of definitions that leave a chart. A target does not say it for itself (fleet
/// `internal/cmd/controller/options/calculate.go`, `Merge`).
fn installed(document: &Value) -> Installed {
    match is_true(document, &["deleteCRDResources"]) {
        true => Installed::Helm,
        false => Installed::Fleet,
    }
}

/// Returns the chart of a bundle for each target that says anything of its own of it: of those that are idle, or of the others.
fn targets<'d>(
    (files, maps): (&dyn Files, &Cluster<'_>),
    path: &RepoPath,
    document: &'d Value,
    idle: bool,
    notes: &mut Vec<Note>,
) -> Vec<(Vec<ChartRelease>, &'d Value)> {
    let Some(helm) = document.get("helm").filter(|_| is_fleet(document)) else { return Vec::new() };
    let mut found = Vec::new();
    for (part, target, _) in taken(document).filter(|(.., is_idle)| *is_idle == idle) {
        let Some(own) = target.get("helm") else { continue };
        let namespace = target.scalar(&["namespace"]).or_else(|| namespace(document));
        let releases = release((files, maps), path, &[helm, own], namespace, part, notes);
        found.extend((!releases.is_empty()).then_some((releases, target)));
    }
    found
}

/// Lists the targets that may say more, each with whether it is idle: its clusters get nothing, or one before it takes them all.
/// A cluster takes the first target that chooses it (fleet docs, "Mapping to Downstream Clusters").
fn taken(document: &Value) -> impl Iterator<Item = (String, &Value, bool)> {
    let (mut taken, mut all_are_taken) = (BTreeSet::new(), false);
    customizations(document).map(move |(part, target)| {
        let chosen = chosen(target);
        let is_behind = all_are_taken || !chosen.is_empty() && !taken.insert(chosen);
        all_are_taken |= takes_all(target);
        (part, target, is_behind || is_off(target))
    })
}

/// Lists the targets that may say more, each with its place: those of the bundle come first (fleet
/// `internal/bundlereader/read.go`).
fn customizations(document: &Value) -> impl Iterator<Item = (String, &Value)> {
    ["targets", "targetCustomizations"].into_iter().flat_map(|key| {
        let targets = document.list_at(key).iter().enumerate();
        targets.map(move |(n, target)| (format!("{key}[{n}]"), target))
    })
}

/// Reads the annotations of a bundle's namespace, and those that a target has instead (`namespaceAnnotations`).
pub fn namespaces(document: &Value) -> Vec<Namespaced<'_>> {
    let targets = customizations(document).map(|(_, target)| target);
    let mut found = Vec::new();
    for said in std::iter::once(document).chain(targets).filter(|_| is_fleet(document)) {
        let Some(annotations) = said.get("namespaceAnnotations") else { continue };
        let name = namespace(said).or_else(|| namespace(document));
        let labels = said.get("namespaceLabels").or_else(|| document.get("namespaceLabels"));
        found.push(Namespaced { name, labels, annotations });
    }
    found
}

fn namespace(said: &Value) -> Option<&Scalar> {
    ["targetNamespace", "namespace", "defaultNamespace"].iter().find_map(|key| said.scalar(&[key]))
}

/// Tells a `fleet.yaml` from an object or values in a file of that name.
fn is_fleet(document: &Value) -> bool {
    document.entry("kind").is_none() && document.entry("apiVersion").is_none()
}

/// Reads what is said of a chart, the later over the earlier. Each has its `valuesFiles` laid over its `values` before the
/// next counts (fleet `internal/bundlereader/resources.go`). A template of values that the tree does not decide has several
/// outcomes.
fn release(
    (files, maps): (&dyn Files, &Cluster<'_>),
    path: &RepoPath,
    said: &[&Value],
    namespace: Option<&Scalar>,
    part: String,
    notes: &mut Vec<Note>,
) -> Vec<ChartRelease> {
    let helm = &said.iter().fold(Value::empty(), |all, helm| merged(&all, helm));
    let folder = path.folder();
    let written = helm.scalar(&["chart"]).filter(|chart| !chart.text().is_empty()).cloned();
    let registry = || helm.scalar(&["repo"]).filter(|repo| is_registry(&repo.text())).cloned();
    let written = written.or_else(registry);
    let Some(written) = written.or_else(|| chart::beside(folder, ".", files)) else { return Vec::new() };
    let (chart, repository, version) = source(helm, &written, (folder, files));
    let mut layers = Vec::new();
    for helm in said {
        layers.extend(helm.get("values").map(Layer::values));
        for file in helm.list_at("valuesFiles").iter().filter_map(Value::as_scalar) {
            let name = file.text();
            let source = RepoPath::resolve(folder, &name).and_then(|p| files.file(p.as_str()).ok());
            layers.push(match source {
                Some(source) => Layer::text(&Scalar::file(&source), files, &name),
                None => Layer::outside(format!("{name}, which is not in this repository")),
            });
        }
    }
    let is_template = !is_true(helm, &["disablePreProcess"]);
    let templates = helm.get("templateValues").filter(|_| is_template);
    let from = said.iter().flat_map(|helm| helm.list_at("valuesFrom"));
    let from: Vec<Layer> = from.map(|from| referenced(from, namespace, path, (files, maps))).collect();
    let release = ChartRelease {
        part,
        version,
        release: helm.scalar(&["releaseName"]).cloned().unwrap_or_else(|| Scalar::made("")),
        namespace: namespace.cloned(),
        ignores_schema: is_true(helm, &["skipSchemaValidation"]),
        ..ChartRelease::new(path, chart, repository)
    };
    let (mut filler, mut found) = (Filler::new(is_template), Vec::new());
    loop {
        let mut layers: Vec<Layer> = layers.iter().map(|layer| filler.layer(layer)).collect();
        layers.extend(templates.map(|values| filler.texts(files, values)));
        layers.extend(from.iter().cloned());
        found.push(ChartRelease { layers, ..release.clone() });
        if !filler.advance() {
            break;
        }
    }
    notes.extend(filler.notes.into_iter().map(|about| Note::new(path, about)));
    found
}

/// Reads one entry of `valuesFrom`, which is laid over all other values (fleet `internal/helmdeployer`).
fn referenced(
    from: &Value,
    namespace: Option<&Scalar>,
    path: &RepoPath,
    (files, maps): (&dyn Files, &Cluster<'_>),
) -> Layer {
    let kinds = [("configMapKeyRef", "ConfigMap", "data"), ("secretKeyRef", "Secret", "stringData")];
    let said = kinds.iter().find_map(|(key, kind, texts)| Some((from.get(key)?, *kind, *texts)));
    let Some((reference, kind, texts)) = said else { return Layer::outside("`valuesFrom`".to_owned()) };
    let text = |key: &str| reference.text(&[key]).filter(|text| !text.is_empty());
    let (name, key) = (text("name").unwrap_or_default(), text("key").unwrap_or("values.yaml".into()));
    let namespace = text("namespace").or_else(|| namespace.and_then(Scalar::known));
    let namespace = namespace.as_deref();
    let found = maps.find(Reference { group: "", kind, name: &name, namespace, from: path });
    let what = format!("`valuesFrom` {name}");
    match found.and_then(|map| map.value.scalar(&[texts, &key])) {
        Some(text) => Layer::text(text, files, &what),
        None => Layer::outside(what),
    }
}

/// Tells whether a bundle has values from ConfigMaps or Secrets.
pub fn asks_for_maps(document: &Value) -> bool {
    let asks = |said: &Value| said.get("helm").is_some_and(|helm| !helm.list_at("valuesFrom").is_empty());
    asks(document) || customizations(document).any(|(_, target)| asks(target))
}

/// Tells whether an address is that of a chart in a registry, which `repo` may name by itself (fleet
/// `internal/bundlereader/charturl.go`).
fn is_registry(address: &str) -> bool {
    address.starts_with("oci://")
}

/// Says where the chart is: in a repository by name, in a registry, or a package by its address.
fn source(
    helm: &Value,
    written: &Scalar,
    (folder, files): (&str, &dyn Files),
) -> (Scalar, Repository, Option<Scalar>) {
    let text = written.text();
    let version = helm.scalar(&["version"]).cloned();
    if is_registry(&text) {
        let (chart, repository) = registry_chart(written);
        return (chart, repository, version);
    }
    if let Some(repo) = helm.scalar(&["repo"]) {
        return (written.clone(), Repository::Address(repo.clone()), version);
    }
    let packaged = if text.contains("://") { packaged(written) } else { None };
    packaged.unwrap_or_else(|| {
        let beside = chart::beside(folder, &text, files);
        (beside.unwrap_or_else(|| written.clone()), Repository::Git(None), version)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deploy::{files::Files, note::About, testing::files};

    fn found(text: &str) -> Vec<ChartRelease> {
        built(text).charts
    }

    fn built(text: &str) -> Build {
        let tree = files(&[("a/fleet.yaml", text), ("a/v.yaml", "linkerdVersion: edge-26.8.1\n")]);
        releases(
            (&tree, &Cluster::default()),
            &RepoPath::new("a/fleet.yaml").unwrap(),
            &tree.documents("a/fleet.yaml").unwrap()[0],
        )
    }

    fn shown(text: &str) -> Vec<String> {
        let one = |c: &ChartRelease| {
            let version = c.version.as_ref().map(|v| v.text().into_owned()).unwrap_or_default();
            format!("{} {version}", c.chart.text())
        };
        found(text).iter().map(one).collect()
    }

    #[test]
    fn a_bundle_and_its_customizations_bring_a_chart() {
        let text = "defaultNamespace: linkerd\nhelm:\n  repo: https://helm.linkerd.io/edge\n  chart: linkerd-crds\n  \
                    version: 2026.8.2\n  valuesFiles: [v.yaml]\ntargetCustomizations:\n- name: a\n  helm: {version: 2026.7.1}\n- name: b\n";
        assert_eq!(shown(text), ["linkerd-crds 2026.8.2", "linkerd-crds 2026.7.1"]);
        let values = found(text)[0].values().value;
        assert_eq!(values.text(&["linkerdVersion"]).unwrap(), "edge-26.8.1");
    }

    #[test]
    fn a_cluster_takes_the_first_target_that_chooses_it() {
        let of = |targets: &str| {
            let text = format!(
                "helm: {{repo: x, chart: y, version: 2026.8.2}}\ntargetCustomizations: [{targets}]\n"
            );
            let tree = files(&[("fleet.yaml", &text)]);
            let (path, documents) =
                (RepoPath::new("fleet.yaml").unwrap(), tree.documents("fleet.yaml").unwrap());
            let shown = |all: Vec<ChartRelease>| {
                all.iter().map(|release| release.part.clone()).collect::<Vec<_>>().join(" ")
            };
            (
                shown(releases((&tree, &Cluster::default()), &path, &documents[0]).charts),
                shown(idle((&tree, &Cluster::default()), &path, &documents[0])),
            )
        };
        let target = |says: &str| format!("{{{says}, helm: {{version: 2026.8.1}}}}");
        let selector = "clusterSelector: {matchLabels: {env: dev}}";
        let (twice, more) = (format!("{0},{0}", target(selector)), target("clusterName: a"));
        let part = |n: usize| format!("targetCustomizations[{n}]");
        assert_eq!(of(&twice), (format!(" {}", part(0)), part(1)));
        let off = format!("{{{selector}, doNotDeploy: true}},{}", target(selector));
        assert_eq!(of(&off), (String::new(), part(1)));
        let all = format!("{},{more}", target("clusterSelector: {}"));
        assert_eq!(of(&all), (format!(" {}", part(0)), part(1)));
        let unlike =
            format!("{},{more},{}", target(selector), target(&format!("{selector}, clusterGroup: g")));
        assert_eq!(of(&unlike), (format!(" {} {} {}", part(0), part(1), part(2)), String::new()));
        let nobody = format!("{0},{0}", target("name: a"));
        assert_eq!(of(&nobody).1, "");
    }

    #[test]
    fn what_a_cluster_is_asked_for_is_known_to_it() {
        let of = |value: &str, more: &str| {
            let text = format!("helm: {{repo: x, chart: y, values: {{a: \"{value}\"}}{more}}}\n");
            let values = found(&text)[0].values().value;
            values.scalar(&["a"]).unwrap().shown()
        };
        let who = |value: &str| {
            let text = format!("helm: {{repo: x, chart: y, values: {{a: \"{value}\"}}}}\n");
            found(&text)[0].values().value.scalar(&["a"]).unwrap().unknown_to().map(str::to_owned)
        };
        let template = "edge-${ .ClusterLabels.a }${ .ClusterValues.b }-x";
        assert_eq!(of(template, ""), format!("edge-{0}{0}-x", crate::deploy::value::UNKNOWN));
        assert_eq!(of(template, ", disablePreProcess: true"), template);
        assert_eq!(who(template).unwrap(), "Fleet, `.ClusterLabels`");
        assert_eq!(who("global.fleet.clusterLabels.a").unwrap(), "Fleet, `global.fleet.clusterLabels.a`");
        assert_eq!(who("${"), None);
        let started = std::time::Instant::now();
        assert_eq!(of(&"x${}".repeat(20_000), "").len(), 20_000);
        assert_eq!(of(&"${".repeat(200_000), "").len(), 400_000);
        assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
    }

    #[test]
    fn values_are_filled_once_for_each_outcome() {
        let of = |value: &str, more: &str| -> Vec<String> {
            let text = format!("helm:\n  {{repo: x, chart: y, values: {{a: '{value}'}}{more}}}\n");
            let shown = |release: ChartRelease| release.values().value.scalar(&["a"]).unwrap().shown();
            found(&text).into_iter().map(shown).collect()
        };
        let unknown = crate::deploy::value::UNKNOWN;
        let fallback = "${ get .ClusterLabels \"l5d\" | default \"edge-26.8.2\" }";
        assert_eq!(of(fallback, ""), ["edge-26.8.2", "edge-26.8.2", unknown]);
        assert_eq!(of(fallback, ", disablePreProcess: true"), [fallback]);
        let branches = "edge-${ if eq .ClusterName \"a\" }26.8.1${ else }26.8.2${ end }";
        assert_eq!(of(branches, ""), ["edge-26.8.1", "edge-26.8.2"]);
        let texts = ", templateValues: {a: '${ if .ClusterValues.b }1${ else }2${ end }'}";
        assert_eq!(of("x", texts), ["1", "2"]);
        assert_eq!(of("${ if }", ""), ["${ if }"], "Fleet refuses it");
        let two = "${ if .ClusterName }a${ end }${ default \"b\" .ClusterValues.c }";
        assert_eq!(of(two, ""), ["ab", "b", unknown]);
    }

    #[test]
    fn a_template_of_too_many_steps_is_told_and_not_known() {
        let nested = "${ range 1000 }".repeat(4) + "x" + &"${ end }".repeat(4);
        let build = built(&format!("helm: {{repo: x, chart: y, values: {{a: '{nested}'}}}}\n"));
        assert!(matches!(build.notes[..], [Note { about: About::Bound(_), .. }]), "{:?}", build.notes);
        let values = build.charts[0].values().value;
        assert_eq!(values.scalar(&["a"]).unwrap().unknown_to(), Some("Fleet"));
    }

    #[test]
    fn a_bundle_and_its_targets_annotate_their_namespaces() {
        let text = "defaultNamespace: shop\nnamespaceLabels: {a: b}\nnamespaceAnnotations: {x: '1'}\ntargetCustomizations:\n- name: a\n  namespace: other\n  namespaceAnnotations: {x: '2'}\n- name: b\n";
        let tree = files(&[("fleet.yaml", text)]);
        let documents = tree.documents("fleet.yaml").unwrap();
        let one = |made: &Namespaced<'_>| {
            let name = made.name.map(|name| name.text().into_owned()).unwrap_or_default();
            format!("{name} {} {}", made.annotations.text(&["x"]).unwrap(), made.labels.is_some())
        };
        let found: Vec<String> = namespaces(&documents[0]).iter().map(one).collect();
        assert_eq!(found, ["shop 1 true", "other 2 true"]);
    }

    #[test]
    fn a_package_is_named_by_its_address() {
        let of = |chart: &str| shown(&format!("helm: {{chart: \"{chart}\"}}\n"));
        assert_eq!(of("https://helm.linkerd.io/edge/linkerd-crds-2026.8.2.tgz"), ["linkerd-crds 2026.8.2"]);
        assert_eq!(of("https://helm.linkerd.io/edge/linkerd2-cni-2026.8.2.tgz"), ["linkerd2-cni 2026.8.2"]);
        assert_eq!(of("oci://cr.example.com/l5d/linkerd-viz"), ["linkerd-viz "]);
        assert_eq!(of("./charts/a"), ["./charts/a "]);
        let alone = "helm: {repo: oci://cr.example.com/l5d/linkerd-viz, version: 2026.8.2}\n";
        assert_eq!(shown(alone), ["linkerd-viz 2026.8.2"]);
    }

    #[test]
    fn an_object_in_a_file_of_that_name_is_none() {
        assert_eq!(shown("apiVersion: v1\nkind: ConfigMap\nhelm: {chart: linkerd-crds, repo: x}\n"), [""; 0]);
    }
}
