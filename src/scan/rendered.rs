//! Step 3, scan: shape `rendered-manifest`, committed output of `helm template` or `linkerd install`.
//!
//! In: a parsed file. Out: a pin for each chart in it, at the first version that its objects name. Recognised by content
//! alone. Such a file is made again as a whole, so no other shape looks at it.

use std::collections::BTreeMap;

use super::{
    Form, PinKind, Reason, RenderedFile, Stage,
    found::{Found, Spec},
    object::Object,
    place::Place,
    version_text::{Expects, VersionText},
};
use crate::{linkerd, release::EdgeVersion, yaml::Node};

/// The annotation with which every chart marks its objects.
const CREATED_BY: &str = "linkerd.io/created-by";
/// The label with which linkerd-crds does so.
const CHART_LABEL: &str = "helm.sh/chart";

/// What an object says of the chart that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks<'a> {
    /// The chart.
    pub chart: &'a str,
    /// The text that names its version: `linkerd/helm edge-26.8.2`, `linkerd-crds-2026.8.2`.
    pub version: Option<&'a str>,
    /// Whether the chart said so itself, rather than by a label that anybody's object may have.
    pub certain: bool,
    /// Whether `linkerd install` made it, rather than Helm.
    pub cli: bool,
}

/// Reads the marks of one object; `source` is Helm's `# Source:` above it.
pub fn marks<'a>(node: Node<'a>, source: Option<&'a str>) -> Option<Marks<'a>> {
    let object = Object::of(node)?;
    let source = source.and_then(chart_of_source);
    let chart = source.or_else(|| chart_of(&object))?;
    let version = version(&object).and_then(Node::as_str);
    let cli = object.annotation(CREATED_BY).is_some_and(|by| by.starts_with("linkerd/cli "));
    Some(Marks { chart, version, certain: source.is_some() || is_marked(&object), cli })
}

/// Takes a file that Helm or `linkerd install` made, and tells whether it is one.
pub(super) fn take(place: Place<'_>, found: &mut Found) -> bool {
    let objects = Object::all(place);
    let made = |object: &Object<'_>| is_marked(object) || source(place, object).is_some();
    if !objects.iter().any(made) {
        return false;
    }
    let mut charts: BTreeMap<&str, Option<Node<'_>>> = BTreeMap::new();
    for object in &objects {
        let Some(chart) = source(place, object).or_else(|| chart_of(object)) else { continue };
        let first = charts.entry(chart).or_default();
        *first = first.or_else(|| version(object));
    }
    for (chart, version) in charts {
        let (path, blob) = (place.file.path.clone(), place.file.blob);
        found.rendered.push(RenderedFile { path, blob, chart: chart.to_owned() });
        if let Some(node) = version {
            pin(place, chart, node, found);
        }
    }
    true
}

fn pin(place: Place<'_>, chart: &str, node: Node<'_>, found: &mut Found) {
    let Some(text) = node.as_str() else { return };
    let version = text.rsplit_once(' ').map_or(text, |(_, version)| version);
    let edge = version.parse().ok().or_else(|| {
        let (_, packaged) = text.rsplit_once('-')?;
        EdgeVersion::from_chart(packaged)
    });
    let retired = linkerd::retired_chart(chart).map(|_| Reason::RetiredChart);
    let other_channel =
        ["stable-", "enterprise-"].iter().any(|c| version.starts_with(c)).then_some(Reason::Channel);
    let spec = Spec {
        kind: PinKind::RenderedManifest,
        stage: Stage::Platform,
        expects: Expects::Either,
        chart: Some(chart.to_owned()),
        mirror: None,
        stays: retired.or(other_channel),
    };
    let whole = VersionText { span: 0..text.len(), form: Form::Rendered, version: edge, stays: None };
    found.version(place, node, &spec, whole);
}

/// Tells whether a chart has put its mark on an object. A pod that was injected by hand has the same annotation, and is
/// no chart's.
fn is_marked(object: &Object<'_>) -> bool {
    let own = || object.node.text(&["metadata", "labels", "linkerd.io/control-plane-component"]).is_some();
    let made = |by: &str| by.starts_with("linkerd/helm ") || by.starts_with("linkerd/cli ");
    label(object).is_some()
        || object.annotation(CREATED_BY).is_some_and(|by| made(by) && (object.kind != "Pod" || own()))
}

/// Returns the first scalar of an object that names the version of its chart.
fn version<'a>(object: &Object<'a>) -> Option<Node<'a>> {
    let metadata = object.node.get("metadata")?;
    // linkerd-crds has no version to print there and prints this.
    let made =
        metadata.path(&["annotations", CREATED_BY]).filter(|n| n.as_str().is_some_and(|t| !t.contains("%!")));
    let label = label(object).and_then(|_| metadata.path(&["labels", CHART_LABEL]));
    [made, label].into_iter().flatten().min_by_key(|node| node.span().start)
}

fn chart_of<'a>(object: &Object<'a>) -> Option<&'a str> {
    let value = |key: &str| object.node.text(&["metadata", "labels", key]);
    let packaged = label(object).and_then(|l| l.rsplit_once('-')).map(|(chart, _)| chart);
    let extension = value("linkerd.io/extension").and_then(|extension| match extension {
        "viz" => Some("linkerd-viz"),
        "multicluster" => Some("linkerd-multicluster"),
        "jaeger" => Some("linkerd-jaeger"),
        _ => None,
    });
    let cni = value("linkerd.io/cni-resource").map(|_| "linkerd2-cni");
    let component = value("linkerd.io/control-plane-component").map(|_| "linkerd-control-plane");
    let plane = is_marked(object).then_some("linkerd-control-plane");
    packaged.or(extension).or(cni).or(component).or(plane)
}

fn label<'a>(object: &Object<'a>) -> Option<&'a str> {
    let label = object.node.text(&["metadata", "labels", CHART_LABEL])?;
    label.rsplit_once('-').is_some_and(|(chart, _)| linkerd::is_chart(chart)).then_some(label)
}

/// Reads Helm's comment `# Source: linkerd-crds/templates/...` above an object, also below an umbrella chart.
fn source<'a>(place: Place<'a>, object: &Object<'_>) -> Option<&'a str> {
    let root = object.node.document().root()?.span().start;
    let before = place.stream.comments.partition_point(|c| c.span.start < root);
    let since = object.node.document().marker().map_or(0, |m| m.end);
    let own = place.stream.comments.get(..before)?.iter().rev().take_while(|c| c.span.start >= since);
    chart_of_source(own.filter_map(|c| c.text.trim().strip_prefix("Source:")).next()?.trim())
}

fn chart_of_source(path: &str) -> Option<&str> {
    let (before, _) = path.split_once("/templates/")?;
    let chart = before.rsplit('/').next()?;
    linkerd::is_chart(chart).then_some(chart)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        repo::{BlobId, RepoPath},
        scan::corpus::File,
        yaml::Ceilings,
    };

    /// Reads charts and pins as `chart: value @ line`.
    fn made_by(text: &str) -> Option<Vec<String>> {
        let path = RepoPath::new("a.yaml").unwrap();
        let file = File::parse(path, BlobId([0; 20]), text.to_owned(), &Ceilings::default()).unwrap();
        let mut found = Found::default();
        take(Place::of(&file), &mut found).then(|| {
            let pins = found.pins.iter();
            pins.map(|p| format!("{}: {} @ {}", p.chart.as_ref().unwrap(), p.value, p.site.line)).collect()
        })
    }

    #[test]
    fn objects_of_a_chart_are_recognised_one_by_one() {
        let crd = "kind: CustomResourceDefinition\nmetadata:\n  labels: {helm.sh/chart: linkerd-crds-2026.8.2}\n  annotations: {linkerd.io/created-by: 'linkerd/helm %!s(<nil>)'}\n";
        assert_eq!(made_by(crd).unwrap(), ["linkerd-crds: linkerd-crds-2026.8.2 @ 3"]);
        let viz = "kind: Role\nmetadata:\n  labels: {linkerd.io/extension: viz}\n  annotations: {linkerd.io/created-by: linkerd/helm edge-26.6.3}\n";
        assert_eq!(made_by(viz).unwrap(), ["linkerd-viz: linkerd/helm edge-26.6.3 @ 4"]);
        let below_an_umbrella = "# Source: mesh/charts/linkerd-crds/templates/a.yaml\nkind: Role\n";
        assert!(made_by(below_an_umbrella).unwrap().is_empty());
    }

    #[test]
    fn each_chart_of_a_file_has_its_first_version() {
        let role = |source: &str, by: &str| {
            format!(
                "---\n# Source: {source}/templates/a.yaml\nkind: Role\nmetadata: {{annotations: {{linkerd.io/created-by: linkerd/{by}}}}}\n"
            )
        };
        let plane = "linkerd-control-plane";
        let text = [
            role(plane, "cli edge-26.8.2"),
            role("linkerd-viz", "helm edge-26.6.3"),
            role(plane, "cli edge-26.1.1"),
        ];
        let wanted = [
            "linkerd-control-plane: linkerd/cli edge-26.8.2 @ 4",
            "linkerd-viz: linkerd/helm edge-26.6.3 @ 8",
        ];
        assert_eq!(made_by(&text.concat()).unwrap(), wanted);
    }

    #[test]
    fn what_was_injected_by_hand_is_no_render() {
        let by = "{linkerd.io/created-by: linkerd/cli edge-25.10.7}";
        assert_eq!(made_by(&format!("kind: Pod\nmetadata: {{annotations: {by}}}\n")), None);
        let template = format!("kind: Deployment\nspec: {{template: {{metadata: {{annotations: {by}}}}}}}\n");
        assert_eq!(made_by(&template), None);
        assert_eq!(made_by("kind: A\nmetadata: {labels: {helm.sh/chart: billing-2026.8.2}}\n"), None);
        assert_eq!(made_by("# Source: linkerd-crds/templates/a.yaml\n"), None);
    }
}
