//! Step 5, pins: objects of deployers that no shape knows, such as k0s, vendir, Zarf, kpt, Carvel, or an Application that
//! stands in a ConfigMap.
//!
//! In: a parsed file and the pins that were found in it. Out: where an object sets a chart of Linkerd to a release,
//! so that it is named and not passed over in silence. It makes no pins.

use super::{Form, Pin, SkipReason, Skipped, object::Object, place::Place, release_names::tokens};
use crate::{
    deploy::{fleet, k3s, kinds},
    linkerd::{self, EdgeVersion},
    yaml::Node,
};

/// Under these keys, next to each other, the known deployers name a chart and its version: those that name nothing else, and
/// those that may.
const CHARTS: [&str; 3] = ["chart", "chartName", "chartname"];
const NAMES: [&str; 3] = ["name", "refName", "repo"];
const VERSIONS: [&[&str]; 5] =
    [&["version"], &["chartVersion"], &["targetRevision"], &["ref"], &["versionSelection", "constraints"]];
/// Kinds of other tools that have no group.
const UNGROUPED: [&str; 2] = ["ZarfPackageConfig", "ZarfInitConfig"];
/// What Buoyant's operator deploys: releases of its own.
const BUOYANT: &str = "linkerd.buoyant.io";
/// Keys under which names are marks, not charts.
const MARKS: [&str; 4] = ["metadata", "labels", "matchLabels", "annotations"];
/// Under these keys k3s and Cluster API hand values to a chart.
const VALUES_KEYS: [&str; 3] = ["valuesContent", "valuesTemplate", "values"];

/// Names the file if an object in it deploys a chart of Linkerd and no pin was taken there.
pub(super) fn skipped(place: Place<'_>, pins: &[Pin]) -> Option<Skipped> {
    let mut versions = Vec::new();
    let mut detail = None;
    for object in &Object::processed(place) {
        if object.kind == "ConfigMap" && object.group.is_empty() {
            if let Some((what, releases)) = in_config_map(place, object, pins) {
                versions.extend(releases);
                detail.get_or_insert(what);
            }
            continue;
        }
        if !is_foreign(object) {
            continue;
        }
        let mut nodes = vec![object.node];
        let mut releases = Vec::new();
        let mut ours = object.name.is_some_and(linkerd::is_chart);
        // A release of another channel, or whichever is the newest.
        let mut is_open = false;
        while let Some(node) = nodes.pop() {
            let below =
                node.entries().filter(|(key, _)| key.as_str().is_none_or(|key| !MARKS.contains(&key)));
            nodes.extend(below.map(|(_, value)| value).chain(node.items()));
            ours |= names_chart(node);
            let of_operator = || Some(release_of(node.get("version").filter(|_| object.group == BUOYANT)?));
            let Some((version, release)) = chart_at(node).or_else(of_operator) else {
                is_open |= names_at(node, &CHARTS);
                continue;
            };
            let taken = pins.iter().any(|p| version.span().contains(&p.site.span.start));
            is_open |= !taken && release.is_none();
            releases.extend(release.filter(|_| !taken));
        }
        if let Some(spec) = object.node.get("spec").filter(|_| ours) {
            releases.extend(in_values(place, spec, pins));
        }
        // What is followed says itself what its charts are.
        let is_open = is_open && !kinds::leads(object.group, object.kind);
        if !releases.is_empty() || is_open {
            versions.extend(releases);
            detail.get_or_insert_with(|| match object.group {
                "" => object.kind.to_owned(),
                group => format!("{} of {group}", object.kind),
            });
        }
    }
    versions.sort_unstable();
    versions.dedup();
    let path = place.file.path.clone();
    detail.map(|detail| Skipped { path, reason: SkipReason::UnknownShape, detail: Some(detail), versions })
}

/// Flux, Argo CD and kustomize have shapes of their own, which judge by more than names; what has no group is
/// Kubernetes' own, or no object.
fn is_foreign(object: &Object<'_>) -> bool {
    let known = ["toolkit.fluxcd.io", "argoproj.io", "kustomize.config.k8s.io"];
    // What k3s has of its own, or as a package in the object, is known by its name alone.
    let installed = object.group == k3s::GROUP && object.kind == "HelmChart";
    let installed = installed && object.node.path(&["spec", "chart"]).is_some();
    let installed = installed || object.is(fleet::GROUP, fleet::HELM_OP);
    let foreign = object.group.contains('.') && !known.iter().any(|group| object.group.ends_with(group));
    UNGROUPED.contains(&object.kind) || foreign && !installed
}

/// Reads the image tags in what a deployer hands to a chart as one text.
fn in_values(place: Place<'_>, spec: Node<'_>, pins: &[Pin]) -> Vec<EdgeVersion> {
    let values = VALUES_KEYS.iter().filter_map(|key| spec.get(key));
    let tokens = values.flat_map(|node| {
        let start = node.span().start;
        let text = place.text.get(node.span()).unwrap_or_default();
        tokens(text).into_iter().map(move |token| (start + token.span.start, token))
    });
    let free = |at: usize| !pins.iter().any(|pin| pin.site.span.start == at);
    let edges = tokens.filter(|(at, token)| token.form == Form::Edge && free(*at));
    edges.map(|(_, token)| token.version).collect()
}

/// Reads what deployers' objects name that stand in a text of a ConfigMap, where only what reads that deploys them.
fn in_config_map(place: Place<'_>, object: &Object<'_>, pins: &[Pin]) -> Option<(String, Vec<EdgeVersion>)> {
    const DEPLOYERS: [&str; 2] = ["argoproj.io", "toolkit.fluxcd.io"];
    object.node.get("data")?.entries().find_map(|(_, node)| {
        let text = node.as_str().filter(|text| text.contains("kind:") && text.contains("inkerd"))?;
        let free = |at: usize| !pins.iter().any(|pin| pin.site.span.start == at);
        let named: Vec<EdgeVersion> = tokens(text)
            .into_iter()
            .filter(|token| free(place.locate(node, token.span.clone()).site.span.start))
            .map(|token| token.version)
            .collect();
        let kind = place.inside(node, |inner| {
            let all = Object::all(inner);
            let known = |o: &&Object<'_>| DEPLOYERS.iter().any(|group| o.group.ends_with(group));
            all.iter().find(known).map(|o| o.kind.to_owned())
        });
        let kind = kind.flatten().filter(|_| !named.is_empty())?;
        Some((format!("{kind} in a ConfigMap"), named))
    })
}

fn names_chart(node: Node<'_>) -> bool {
    // Carvel names a package by a domain.
    let package =
        || node.text(&["refName"]).is_some_and(|name| name.split('.').any(|part| part == "linkerd"));
    names_at(node, &CHARTS) || names_at(node, &NAMES) || package()
}

/// Tells whether a chart of Linkerd's stands under one of some keys.
fn names_at(node: Node<'_>, keys: &[&str]) -> bool {
    let text = |key: &&str| node.text(&[*key]).map(|text| text.rsplit('/').next().unwrap_or(text));
    keys.iter().filter_map(text).any(linkerd::is_chart)
}

/// Reads a mapping that names a chart of Linkerd and, beside it, a version: the release, where that is exactly one of edge.
fn chart_at(node: Node<'_>) -> Option<(Node<'_>, Option<EdgeVersion>)> {
    if !names_chart(node) {
        return None;
    }
    let version = VERSIONS.iter().find_map(|path| node.path(path))?;
    version.as_str()?;
    Some(release_of(version))
}

/// Reads a version: the release, where it is exactly one of edge.
fn release_of(version: Node<'_>) -> (Node<'_>, Option<EdgeVersion>) {
    let release = |text: &str| EdgeVersion::from_chart(text).or_else(|| text.parse().ok());
    (version, version.as_str().and_then(release))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        pins::corpus::File,
        repo::{BlobId, RepoPath},
        yaml::Ceilings,
    };

    fn told(text: &str) -> Option<(String, Vec<String>)> {
        let path = RepoPath::new("a.yaml").unwrap();
        let file = File::parse(path, BlobId([0; 20]), text.to_owned(), &Ceilings::default()).unwrap();
        let skipped = skipped(Place::of(&file), &[])?;
        Some((skipped.detail.unwrap(), skipped.versions.iter().map(ToString::to_string).collect()))
    }

    #[test]
    fn a_chart_of_linkerd_in_an_unknown_object_is_told_with_its_release() {
        let chart =
            "apiVersion: example.com/v1\nkind: Chart\nspec: {chart: linkerd-crds, version: 2026.8.2}\n";
        assert_eq!(told(chart), Some(("Chart of example.com".into(), vec!["edge-26.8.2".into()])));
        let k3s = chart.replace("example.com", k3s::GROUP).replace("kind: Chart", "kind: HelmChart");
        assert_eq!(told(&k3s), None);
        let nested = "apiVersion: config.projectsveltos.io/v1beta1\nkind: ClusterProfile\nspec:\n  helmCharts:\n  \
                      - {chartName: linkerd/linkerd-viz, chartVersion: \"2026.7.2\"}\n";
        assert_eq!(told(nested).unwrap().1, ["edge-26.7.2"]);
    }

    #[test]
    fn a_chart_of_another_channel_is_told_too() {
        let of =
            |spec: &str| told(&format!("apiVersion: helm.example.com/v1\nkind: Release\nspec: {{{spec}}}\n"));
        for spec in [
            "chart: {name: linkerd-crds, version: 1.8.0}",
            "chartName: linkerd-viz",
            "chart: linkerd-viz, version: '>=1'",
            "chart: linkerd-crds, version: 2026.x",
            "chart: edge/linkerd-crds, appVersion: 2026.8.2",
        ] {
            assert_eq!(of(spec), Some(("Release of helm.example.com".to_owned(), Vec::new())), "{spec}");
        }
        assert_eq!(of("name: linkerd-crds"), None);
    }

    #[test]
    fn other_tools_are_told_by_what_they_hold() {
        for (text, what) in [
            (
                "apiVersion: k0s.k0sproject.io/v1beta1\nkind: ClusterConfig\nspec: {extensions: {helm: {charts: [{chartname: l/linkerd-crds, version: 2026.8.2}]}}}\n",
                "ClusterConfig of k0s.k0sproject.io",
            ),
            (
                "apiVersion: khelm.mgoltzsche.github.com/v2\nkind: ChartRenderer\nchart: linkerd-crds\nversion: 2026.8.2\n",
                "ChartRenderer of khelm.mgoltzsche.github.com",
            ),
            (
                "apiVersion: vendir.k14s.io/v1alpha1\nkind: Config\ndirectories: [{contents: [{helmChart: {name: linkerd-crds, version: 2026.8.2}}]}]\n",
                "Config of vendir.k14s.io",
            ),
            (
                "kind: ZarfPackageConfig\ncomponents: [{charts: [{name: linkerd-crds, version: 2026.8.2}]}]\n",
                "ZarfPackageConfig",
            ),
            (
                "apiVersion: kpt.dev/v1\nkind: Kptfile\nupstream: {git: {repo: https://github.com/linkerd/linkerd2, ref: edge-26.8.2}}\n",
                "Kptfile of kpt.dev",
            ),
            (
                "apiVersion: packaging.carvel.dev/v1alpha1\nkind: PackageInstall\nspec: {packageRef: {refName: linkerd.example.com, versionSelection: {constraints: 2026.8.2}}}\n",
                "PackageInstall of packaging.carvel.dev",
            ),
            (
                "apiVersion: v1\nkind: ConfigMap\ndata:\n  a: |\n    apiVersion: argoproj.io/v1alpha1\n    kind: Application\n    spec: {source: {chart: linkerd-crds, targetRevision: 2026.8.2}}\n",
                "Application in a ConfigMap",
            ),
            (
                "apiVersion: linkerd.buoyant.io/v1alpha1\nkind: ControlPlane\nspec: {components: {linkerd: {version: edge-26.8.2}}}\n",
                "ControlPlane of linkerd.buoyant.io",
            ),
        ] {
            assert_eq!(told(text), Some((what.to_owned(), vec!["edge-26.8.2".to_owned()])), "{text}");
        }
        let enterprise = "apiVersion: linkerd.buoyant.io/v1alpha1\nkind: ControlPlane\nspec: {components: {linkerd: {version: enterprise-2.16.0}}}\n";
        assert_eq!(told(enterprise), Some(("ControlPlane of linkerd.buoyant.io".to_owned(), Vec::new())));
    }

    #[test]
    fn values_of_a_chart_of_linkerd_are_told_without_a_version_of_the_chart() {
        let of = |name: &str, spec: &str| {
            let head = "apiVersion: helm.cattle.io/v1\nkind: HelmChartConfig\n";
            told(&format!("{head}metadata: {{name: {name}}}\nspec:\n{spec}")).map(|(_, versions)| versions)
        };
        let values = "  valuesContent: |-\n    linkerdVersion: edge-26.8.2\n";
        let oci = format!("  chart: oci://registry.example.com/mirror/linkerd-viz\n{values}");
        assert_eq!(of("viz", &oci).unwrap(), ["edge-26.8.2"]);
        assert_eq!(of("linkerd-viz", values).unwrap(), ["edge-26.8.2"], "as a HelmChartConfig has it");
        assert_eq!(of("calendar", values), None);
        assert_eq!(of("linkerd-viz", "  valuesContent: 'a: 2026.8.2'\n"), None);
    }

    #[test]
    fn what_only_looks_like_it_is_not_told() {
        for spec in [
            "{chart: billing-calendar, version: 2026.8.2}",
            "{labels: {app: linkerd-crds, version: 2026.8.2}}",
        ] {
            let text = format!("apiVersion: example.com/v1\nkind: Chart\nspec: {spec}\n");
            assert_eq!(told(&text), None, "{spec}");
        }
        let spec = "spec: {chart: linkerd-crds, version: 2026.8.2}\n";
        for head in ["apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n", "kind: Values\n", ""] {
            assert_eq!(told(&format!("{head}{spec}")), None, "{head}");
        }
    }
}
