//! Step 5, pins: shape `rendered-manifest`, committed output of `helm template` or `linkerd install`.
//!
//! In: a parsed file. Out: a pin for each chart in it, where the version stands first that most of its objects name.
//! Recognised by content alone. Such a file is made again as a whole, so no other shape looks at it.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use super::{
    Form, PinKind, Reason, RenderedFile,
    found::{Found, Spec},
    object::Object,
    place::Place,
    release_names::CHANNELS,
    version_text::{Expects, VersionText},
};
use crate::{
    deploy,
    linkerd::{self, CNI, CONTROL_PLANE, CRDS, EdgeVersion, MULTICLUSTER, VIZ},
    yaml::Node,
};

/// The annotation with which every chart marks its objects.
const CREATED_BY: &str = "linkerd.io/created-by";
/// The access that linkerd-multicluster gives itself (L2 multicluster/charts/linkerd-multicluster/values.yaml,
/// `remoteMirrorServiceAccountName`); other names are those of `multicluster allow`.
const GIVEN: &str = "linkerd-service-mirror-remote-access-default";
/// The label with which linkerd-crds does so, and no other chart of Linkerd's.
const CHART_LABEL: &str = "helm.sh/chart";

/// What an object says of the chart that made it. Whether the chart did is for a rendering to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks<'a> {
    /// The chart.
    pub chart: &'a str,
    /// The text that names its version: `linkerd/helm edge-26.8.2`, `linkerd-crds-2026.8.2`.
    pub version: Option<&'a str>,
    /// Whether it says that a chart made it, rather than have a label that anybody's object may have.
    pub certain: bool,
    /// Whether it says which chart, rather than to which extension it belongs: charts label objects as another's too
    /// (linkerd-jaeger 2025.9.4 has one of viz).
    pub named: bool,
    /// Whether a command of the Linkerd CLI made it, rather than Helm.
    pub cli: bool,
}

/// Where a chart's objects of one file name its version, by who made them.
#[derive(Default)]
struct Makers<'a> {
    helm: Vec<Node<'a>>,
    cli: Vec<Node<'a>>,
    /// Whether one of them runs, or says of which template it was printed.
    runs: bool,
    /// What all of its objects are called.
    objects: BTreeSet<String>,
}

/// Reads the marks of one object; `source` is Helm's `# Source:` above it.
pub fn marks<'a>(node: Node<'a>, source: Option<&'a str>) -> Option<Marks<'a>> {
    let object = Object::of(node)?;
    let source = source.and_then(chart_of_source);
    let chart = source.or_else(|| chart_of(&object))?;
    let version = version(&object).and_then(Node::as_str);
    let named = source.is_some() || label(&object).is_some();
    let certain = source.is_some() || is_marked(&object);
    Some(Marks { chart, version, certain, named, cli: is_by_cli(&object) })
}

/// Takes the objects of a file that Helm or the Linkerd CLI made, and tells whether a chart may be among them.
pub(super) fn take(place: Place<'_>, found: &mut Found) -> bool {
    let objects = Object::all(place);
    let printed = |object: &Object<'_>| source(place, object).is_some();
    let (single, objects): (Vec<_>, Vec<_>) = objects.into_iter().partition(|o| is_single(o) && !printed(o));
    single.iter().for_each(|object| by_cli(place, object, found));
    let made = |object: &Object<'_>| is_marked(object) || printed(object);
    if !objects.iter().any(made) {
        return false;
    }
    let mut charts: BTreeMap<&str, Makers<'_>> = BTreeMap::new();
    for object in &objects {
        let source = source(place, object);
        if let Some(chart) = source.or_else(|| chart_of(object)) {
            let makers = charts.entry(chart).or_default();
            makers.take(object);
            makers.runs |= source.is_some() || runs(object);
        }
    }
    for (chart, makers) in charts {
        let (path, blob) = (place.file.path.clone(), place.file.blob);
        if let Some(node) = makers.version() {
            pin(place, chart, node, found);
        }
        let (runs, objects) = (makers.runs, makers.objects);
        found.rendered.push(RenderedFile { path, blob, chart: chart.to_owned(), runs, objects });
    }
    true
}

// === impl Makers ===

impl<'a> Makers<'a> {
    fn take(&mut self, object: &Object<'a>) {
        let namespace = object.node.text(&["metadata", "namespace"]).unwrap_or_default();
        let name = object.name.unwrap_or_default();
        self.objects.insert(format!("{}/{} {namespace}/{name}", object.group, object.kind));
        let Some(node) = version(object) else { return };
        if is_by_cli(object) { &mut self.cli } else { &mut self.helm }.push(node);
    }

    /// Returns the version that most objects name of those who made most of it, where it stands first: another chart may
    /// give one that has this one's label.
    fn version(&self) -> Option<Node<'a>> {
        let named = if self.cli.len() > self.helm.len() { &self.cli } else { &self.helm };
        let mut counts: BTreeMap<Option<&str>, (usize, Reverse<usize>)> = BTreeMap::new();
        for (n, node) in named.iter().enumerate() {
            counts.entry(node.as_str()).or_insert((0, Reverse(n))).0 += 1;
        }
        let (_, Reverse(first)) = counts.into_values().max()?;
        named.get(first).copied()
    }
}

/// Names an object that one command of the CLI wrote for one cluster, and that no chart gives.
fn by_cli(place: Place<'_>, object: &Object<'_>, found: &mut Found) {
    let Some(node) = version(object) else { return };
    let Some(text) = node.as_str() else { return };
    let version = text.rsplit_once(' ').map_or(text, |(_, version)| version);
    let reason = if is_of_other_channel(version) { Reason::Channel } else { Reason::MadeByCli };
    let spec = Spec::platform(PinKind::RenderedManifest, Expects::Either).staying(Some(reason));
    let version = version.parse().ok();
    found.version(
        place,
        node,
        &spec,
        VersionText { span: 0..text.len(), form: Form::Opaque, version, stays: None },
    );
}

fn pin(place: Place<'_>, chart: &str, node: Node<'_>, found: &mut Found) {
    let Some(text) = node.as_str() else { return };
    let version = text.rsplit_once(' ').map_or(text, |(_, version)| version);
    let edge = version.parse().ok().or_else(|| {
        let (_, packaged) = text.rsplit_once('-')?;
        EdgeVersion::from_chart(packaged)
    });
    let retired = linkerd::retired_chart(chart).map(|_| Reason::RetiredChart);
    // linkerd2-cni names its image.
    let is_unreleased = edge.is_none() && chart != CNI;
    let other_channel = (is_of_other_channel(version) || is_unreleased).then_some(Reason::Channel);
    let spec = Spec {
        stays: retired.or(other_channel),
        ..Spec::platform(PinKind::RenderedManifest, Expects::Either).of_chart(chart)
    };
    let whole = VersionText { span: 0..text.len(), form: Form::Rendered, version: edge, stays: None };
    found.version(place, node, &spec, whole);
}

fn is_of_other_channel(version: &str) -> bool {
    CHANNELS.iter().any(|channel| version.starts_with(channel))
}

/// Tells whether a chart has put its mark on an object. A pod that was injected by hand has the same annotation, and is
/// no chart's.
fn is_marked(object: &Object<'_>) -> bool {
    let own = || object.node.text(&["metadata", "labels", "linkerd.io/control-plane-component"]).is_some();
    let made = |by: &str| by.starts_with("linkerd/helm ") || by.starts_with("linkerd/cli ");
    label(object).is_some()
        || object.annotation(CREATED_BY).is_some_and(|by| made(by) && (object.kind != "Pod" || own()))
}

/// Tells whether an object that stands in a chart's output has a mark of Linkerd's: what has none is somebody's own.
pub(super) fn has_mark(object: &deploy::Object) -> bool {
    const LABELS: [&str; 3] =
        ["linkerd.io/extension", "linkerd.io/cni-resource", "linkerd.io/control-plane-component"];
    let is_labelled = || LABELS.iter().any(|key| object.label(key).is_some());
    object.annotation(CREATED_BY).is_some() || is_labelled()
}

/// Says which chart has put its mark on an object that stands in a chart's output.
pub(super) fn printed_by(object: &deploy::Object) -> Option<&'static str> {
    let chart = by_labels(|key| object.label(key).map(deploy::Scalar::text));
    // An image of what is no longer published is told as such.
    chart.filter(|chart| linkerd::retired_chart(chart).is_none())
}

/// Tells whether an object has pods or defines a kind. Each chart of Linkerd's gives such ones, and what people put a mark of
/// a chart on is what they have beside it: a way in, a policy, a Secret.
fn runs(object: &Object<'_>) -> bool {
    object.kind == "CustomResourceDefinition" || object.node.path(&["spec", "template"]).is_some()
}

/// Tells whether an object is Flux's or Argo CD's; no chart of Linkerd makes one.
fn is_gitops_object(object: &Object<'_>) -> bool {
    matches!(
        object.group,
        "helm.toolkit.fluxcd.io" | "source.toolkit.fluxcd.io" | "kustomize.toolkit.fluxcd.io" | "argoproj.io"
    )
}

/// Tells whether a file that was taken holds what `linkerd multicluster allow` gives another cluster (linkerd2
/// multicluster/cmd/allow.go): the access, and nothing that the CLI installs.
pub(super) fn is_access(place: Place<'_>) -> bool {
    const ACCESS: [&str; 7] =
        ["Namespace", "ServiceAccount", "Secret", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"];
    let objects = Object::all(place);
    let mut made = objects.iter().filter(|object| !is_gitops_object(object));
    let of_access = |object: &Object<'_>| {
        ACCESS.contains(&object.kind)
            && object.annotation(CREATED_BY).is_none_or(|_| is_by_cli(object))
            && chart_of(object).is_none_or(|chart| chart == MULTICLUSTER)
            && source(place, object).is_none()
    };
    // Secrets alone may be of any chart.
    let is_of_one = made.clone().any(|object| object.kind != "Secret");
    is_of_one && made.clone().any(is_by_cli) && made.all(of_access)
}

fn is_by_cli(object: &Object<'_>) -> bool {
    object.annotation(CREATED_BY).is_some_and(|by| by.starts_with("linkerd/cli "))
}

/// Tells whether an object is what a command of the CLI writes by itself: a Link (linkerd2 multicluster/cmd/link-gen.go), what
/// mirrors its services, which `link` printed beside it, or a Secret that no chart has marked.
fn is_single(object: &Object<'_>) -> bool {
    let link = object.is("multicluster.linkerd.io", "Link");
    let mirror = ["linkerd-service-mirror-", "probe-gateway-"];
    let is_mirror =
        |name: &str| !name.starts_with(GIVEN) && mirror.iter().any(|prefix| name.starts_with(prefix));
    let mirror = object.name.is_some_and(is_mirror);
    is_by_cli(object) && (link || mirror || object.kind == "Secret" && chart_of(object).is_none())
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
    let packaged = label(object).and_then(split_label).map(|(chart, _)| chart);
    packaged.or_else(|| by_labels(|key| object.node.text(&["metadata", "labels", key])))
}

/// Says which chart labels an object so.
fn by_labels<T: AsRef<str>>(label: impl Fn(&str) -> Option<T>) -> Option<&'static str> {
    let extension = label("linkerd.io/extension").and_then(|extension| match extension.as_ref() {
        "viz" => Some(VIZ),
        "multicluster" => Some(MULTICLUSTER),
        "jaeger" => Some("linkerd-jaeger"),
        _ => None,
    });
    let cni = label("linkerd.io/cni-resource").map(|_| CNI);
    let component = label("linkerd.io/control-plane-component").map(|_| CONTROL_PLANE);
    extension.or(cni).or(component)
}

/// Reads the label of linkerd-crds. What has another chart's name there has it from somebody's hand, or of a chart of their
/// own.
fn label<'a>(object: &Object<'a>) -> Option<&'a str> {
    let label = object.node.text(&["metadata", "labels", CHART_LABEL])?;
    split_label(label).is_some_and(|(chart, _)| chart == CRDS).then_some(label)
}

/// Parts a chart's name from its version; the CLI carries charts that have none yet.
fn split_label(label: &str) -> Option<(&str, &str)> {
    label.split_once("-0.0.0-").or_else(|| label.rsplit_once('-'))
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
        pins::corpus::File,
        repo::{BlobId, RepoPath},
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
    fn each_chart_of_a_file_has_the_version_that_most_of_it_names() {
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
        let viz = "linkerd-viz: linkerd/helm edge-26.6.3 @ 8";
        let wanted = ["linkerd-control-plane: linkerd/cli edge-26.8.2 @ 4", viz];
        assert_eq!(made_by(&text.concat()).unwrap(), wanted);
        // What most of its objects name is the chart's.
        let text = text.concat() + &role(plane, "cli edge-26.1.1");
        let wanted = ["linkerd-control-plane: linkerd/cli edge-26.1.1 @ 12", viz];
        assert_eq!(made_by(&text).unwrap(), wanted);
    }

    #[test]
    fn what_a_command_of_the_cli_wrote_decides_nothing_for_a_chart() {
        let by = |by: &str| format!("annotations: {{linkerd.io/created-by: linkerd/{by}}}");
        let link = format!(
            "apiVersion: multicluster.linkerd.io/v1alpha3\nkind: Link\nmetadata: {{name: east, {}}}\n",
            by("cli edge-25.1.1")
        );
        let path = RepoPath::new("a.yaml").unwrap();
        let file = File::parse(path, BlobId([0; 20]), link, &Ceilings::default()).unwrap();
        let mut found = Found::default();
        assert!(!take(Place::of(&file), &mut found) && found.rendered.is_empty());
        assert_eq!((found.pins[0].chart.as_ref(), found.pins[0].stays), (None, Some(Reason::MadeByCli)));
        let role = |maker: &str| {
            format!(
                "---\nkind: Role\nmetadata: {{labels: {{linkerd.io/extension: multicluster}}, {}}}\n",
                by(maker)
            )
        };
        let text = role("cli edge-25.1.1") + &role("helm edge-26.8.2");
        assert_eq!(made_by(&text).unwrap(), ["linkerd-multicluster: linkerd/helm edge-26.8.2 @ 6"]);
        let text = text + &role("cli edge-26.1.1") + &role("cli edge-26.1.1");
        assert_eq!(made_by(&text).unwrap(), ["linkerd-multicluster: linkerd/cli edge-26.1.1 @ 9"]);
    }

    #[test]
    fn what_was_injected_by_hand_is_no_render() {
        let by = "{linkerd.io/created-by: linkerd/cli edge-25.10.7}";
        assert_eq!(made_by(&format!("kind: Pod\nmetadata: {{annotations: {by}}}\n")), None);
        let template = format!("kind: Deployment\nspec: {{template: {{metadata: {{annotations: {by}}}}}}}\n");
        assert_eq!(made_by(&template), None);
        // No chart of Linkerd's but linkerd-crds has such a label.
        for chart in ["billing", "linkerd-viz", "linkerd-control-plane", "linkerd2"] {
            let labelled = format!("kind: A\nmetadata: {{labels: {{helm.sh/chart: {chart}-2026.8.2}}}}\n");
            assert_eq!(made_by(&labelled), None, "{chart}");
        }
        assert_eq!(made_by("# Source: linkerd-crds/templates/a.yaml\n"), None);
    }
}
