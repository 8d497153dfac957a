//! Step 3, scan: shape `rendered-manifest`, committed output of `helm template` or `linkerd install`.
//!
//! In: a parsed file. Out: what made it, or `None`. Recognised by content alone: such a file is taken as a whole.

use super::{object::Object, place::Place};

/// The annotation with which every chart marks its objects.
const CREATED_BY: &str = "linkerd.io/created-by";

/// Says which chart and version rendered a file.
pub(super) fn recognise(place: Place<'_>) -> Option<String> {
    let objects = Object::all(place);
    let by_mark = objects.iter().find_map(mark);
    let source = place.stream.comments.iter().find_map(|c| source_chart(&c.text));
    if by_mark.is_none() && (source.is_none() || objects.is_empty()) {
        return None;
    }
    let chart = source.or_else(|| objects.iter().find_map(chart_of)).unwrap_or("a chart of Linkerd");
    let version = objects.iter().find_map(version).unwrap_or("of unknown version");
    Some(format!("{chart} {version}"))
}

/// Returns the mark of a rendered object. A pod that was injected by hand has the same annotation, and is no chart's.
fn mark<'a>(object: &Object<'a>) -> Option<&'a str> {
    let label = object.node.text(&["metadata", "labels", "helm.sh/chart"]).filter(|l| is_chart_label(l));
    let made = object.annotation(CREATED_BY).filter(|by| {
        let own = object.node.text(&["metadata", "labels", "linkerd.io/control-plane-component"]).is_some();
        (object.kind != "Pod" || own) && (by.starts_with("linkerd/helm ") || by.starts_with("linkerd/cli "))
    });
    label.or(made)
}

fn version<'a>(object: &Object<'a>) -> Option<&'a str> {
    let made = object.annotation(CREATED_BY).and_then(|by| by.split_once(' ')).map(|(_, version)| version);
    let label = object.node.text(&["metadata", "labels", "helm.sh/chart"]).filter(|l| is_chart_label(l));
    let packaged = label.and_then(|l| l.rsplit_once('-')).map(|(_, version)| version);
    // linkerd-crds has no version to print and prints this.
    made.filter(|v| !v.starts_with("%!")).or(packaged)
}

fn chart_of<'a>(object: &Object<'a>) -> Option<&'a str> {
    let label = |key: &str| object.node.text(&["metadata", "labels", key]);
    let packaged = label("helm.sh/chart").filter(|l| is_chart_label(l)).and_then(|l| l.rsplit_once('-'));
    let extension = label("linkerd.io/extension").map(|extension| match extension {
        "viz" => "linkerd-viz",
        "multicluster" => "linkerd-multicluster",
        "jaeger" => "linkerd-jaeger",
        _ => "an extension of Linkerd",
    });
    let component = label("linkerd.io/control-plane-component").map(|_| "linkerd-control-plane");
    packaged.map(|(chart, _)| chart).or(extension).or(component)
}

fn is_chart_label(label: &str) -> bool {
    label.rsplit_once('-').is_some_and(|(chart, _)| crate::linkerd::is_chart(chart))
}

/// Reads Helm's comment `# Source: linkerd-crds/templates/...`, also below an umbrella chart.
fn source_chart(comment: &str) -> Option<&str> {
    let path = comment.trim().strip_prefix("Source:")?.trim();
    let (before, _) = path.split_once("/templates/")?;
    let chart = before.rsplit('/').next()?;
    crate::linkerd::is_chart(chart).then_some(chart)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        scan::{BlobId, RepoPath, corpus::File},
        yaml::Ceilings,
    };

    fn made_by(text: &str) -> Option<String> {
        let path = RepoPath::new("a.yaml").unwrap();
        let file = File::parse(path, BlobId([0; 20]), text.to_owned(), &Ceilings::default()).unwrap();
        recognise(Place::of(&file))
    }

    #[test]
    fn objects_of_a_chart_are_recognised_one_by_one() {
        let crd = "kind: CustomResourceDefinition\nmetadata:\n  labels: {helm.sh/chart: linkerd-crds-2026.8.2}\n  annotations: {linkerd.io/created-by: 'linkerd/helm %!s(<nil>)'}\n";
        assert_eq!(made_by(crd).unwrap(), "linkerd-crds 2026.8.2");
        let viz = "kind: Role\nmetadata:\n  labels: {linkerd.io/extension: viz}\n  annotations: {linkerd.io/created-by: linkerd/helm edge-26.6.3}\n";
        assert_eq!(made_by(viz).unwrap(), "linkerd-viz edge-26.6.3");
        let below_an_umbrella = "# Source: mesh/charts/linkerd-crds/templates/a.yaml\nkind: Role\n";
        assert!(made_by(below_an_umbrella).is_some());
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
