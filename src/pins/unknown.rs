//! Step 5, pins: objects of deployers that no shape knows, such as the `HelmChart` of k3s.
//!
//! In: a parsed file and the pins that were found in it. Out: where an object sets a chart of Linkerd to a release,
//! so that it is named and not passed over in silence. It makes no pins.

use super::{Form, Pin, SkipReason, Skipped, object::Object, place::Place, version_text::tokens};
use crate::{
    linkerd::{self, EdgeVersion},
    yaml::Node,
};

/// Under these keys, next to each other, the known deployers name a chart and its version.
const CHART_KEYS: [&str; 3] = ["chart", "chartName", "name"];
const VERSION_KEYS: [&str; 3] = ["version", "chartVersion", "targetRevision"];
/// Under these keys k3s and Cluster API hand values to a chart.
const VALUES_KEYS: [&str; 3] = ["valuesContent", "valuesTemplate", "values"];

/// Names the file if an object in it deploys a chart of Linkerd and no pin was taken there.
pub(super) fn skipped(place: Place<'_>, pins: &[Pin]) -> Option<Skipped> {
    let mut versions = Vec::new();
    let mut detail = None;
    for object in Object::all(place).iter().filter(|o| is_foreign(o)) {
        let Some(spec) = object.node.get("spec") else { continue };
        let mut nodes = vec![spec];
        let mut releases = Vec::new();
        let mut ours = object.name.is_some_and(linkerd::is_chart);
        while let Some(node) = nodes.pop() {
            nodes.extend(node.entries().map(|(_, value)| value).chain(node.items()));
            ours |= names_chart(node);
            let Some((version, release)) = chart_at(node) else { continue };
            let taken = pins.iter().any(|p| version.span().contains(&p.site.span.start));
            releases.extend((!taken).then_some(release));
        }
        if ours {
            releases.extend(in_values(place, spec, pins));
        }
        if !releases.is_empty() {
            versions.extend(releases);
            detail.get_or_insert_with(|| format!("{} of {}", object.kind, object.group));
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
    object.group.contains('.') && !known.iter().any(|group| object.group.ends_with(group))
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

fn names_chart(node: Node<'_>) -> bool {
    let text = |key: &&str| node.text(&[*key]).map(|text| text.rsplit('/').next().unwrap_or(text));
    CHART_KEYS.iter().filter_map(text).any(linkerd::is_chart)
}

/// Reads a mapping that names a chart of Linkerd and, beside it, exactly one release.
fn chart_at(node: Node<'_>) -> Option<(Node<'_>, EdgeVersion)> {
    if !names_chart(node) {
        return None;
    }
    let version = VERSION_KEYS.iter().find_map(|key| node.get(key))?;
    Some((version, EdgeVersion::from_chart(version.as_str()?)?))
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
        let k3s = "apiVersion: helm.cattle.io/v1\nkind: HelmChart\nspec: {chart: linkerd-crds, version: 2026.8.2}\n";
        assert_eq!(told(k3s), Some(("HelmChart of helm.cattle.io".into(), vec!["edge-26.8.2".into()])));
        let nested = "apiVersion: config.projectsveltos.io/v1beta1\nkind: ClusterProfile\nspec:\n  helmCharts:\n  \
                      - {chartName: linkerd/linkerd-viz, chartVersion: \"2026.7.2\"}\n";
        assert_eq!(told(nested).unwrap().1, ["edge-26.7.2"]);
    }

    #[test]
    fn values_of_a_chart_of_linkerd_are_told_without_a_version_of_the_chart() {
        let of = |name: &str, spec: &str| {
            let head = "apiVersion: helm.cattle.io/v1\nkind: HelmChart\n";
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
            "{chart: linkerd-crds, version: 2026.x}",
            "{chart: linkerd-crds, version: 1.8.0}",
            "{chart: linkerd-crds, appVersion: 2026.8.2}",
            "{labels: {app: linkerd-crds, version: 2026.8.2}}",
        ] {
            let text = format!("apiVersion: helm.cattle.io/v1\nkind: HelmChart\nspec: {spec}\n");
            assert_eq!(told(&text), None, "{spec}");
        }
        let spec = "spec: {chart: linkerd-crds, version: 2026.8.2}\n";
        for head in ["apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n", "kind: Values\n", ""] {
            assert_eq!(told(&format!("{head}{spec}")), None, "{head}");
        }
    }
}
