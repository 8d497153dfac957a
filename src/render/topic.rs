//! Step 7, render: what a changed field is about, for people.
//!
//! In: a changed field of an object, and the chart before and after. Out: whether it only says the new release, and
//! what a reviewer would file it under.

use serde_json::Value;

use super::{
    diff::{FieldChange, ObjectDiff},
    field_path::FieldPath,
    job::ChartId,
    object::ObjectKey,
};
use crate::linkerd::EdgeVersion;

/// What a field is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Topic {
    /// The image of a container.
    Image,
    /// Roles, bindings and their subjects.
    Rbac,
    /// Definitions of custom resources.
    Crd,
    /// Admission webhooks and API services.
    Webhook,
    /// What containers request and may use.
    Resources,
    /// Ports of containers and Services.
    Ports,
    /// Anything else.
    Other,
}

/// Returns what a field of an object is about.
pub fn topic(object: &ObjectKey, path: &FieldPath) -> Topic {
    let has = |key: &str| path.keys().any(|k| k == key);
    match (object.group.as_str(), object.kind.as_str()) {
        ("rbac.authorization.k8s.io", _) => Topic::Rbac,
        ("apiextensions.k8s.io", _) => Topic::Crd,
        ("admissionregistration.k8s.io" | "apiregistration.k8s.io", _) => Topic::Webhook,
        _ if !path.starts_with(&["spec"]) => Topic::Other,
        _ if path.ends_with(&["image"]) => Topic::Image,
        _ if has("resources") => Topic::Resources,
        _ if has("ports") => Topic::Ports,
        _ => Topic::Other,
    }
}

/// Tells whether a change says nothing but the new release: a text in which the old one was replaced by the new one
/// (created-by, version labels, `helm.sh/chart`, image tags, `proxy-version`, `linkerdVersion`), or a
/// `checksum/config`, which only follows from objects whose changes are listed themselves.
pub fn is_version_only(change: &FieldChange, from: &ChartId, to: &ChartId) -> bool {
    let (Some(before), Some(after)) = (&change.before, &change.after) else { return false };
    change.path.ends_with(&["annotations", "checksum/config"]) || names_release_only(before, after, from, to)
}

/// Tells whether two values are one text, but for the release that it names.
pub fn names_release_only(before: &Value, after: &Value, from: &ChartId, to: &ChartId) -> bool {
    let (Some(before), Some(after)) = (before.as_str(), after.as_str()) else { return false };
    let moved = replace_whole(before, &from.version, &to.version);
    let edge = |id: &ChartId| EdgeVersion::from_chart(&id.version).map(|edge| edge.to_string());
    let moved = match (edge(from), edge(to)) {
        (Some(from), Some(to)) => replace_whole(&moved, &from, &to),
        _ => moved,
    };
    before != after && moved == after
}

/// Replaces a version where it is not a part of a longer one.
fn replace_whole(text: &str, from: &str, to: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(from).filter(|_| !from.is_empty()) {
        let continues = |c: char| c.is_ascii_digit();
        let longer = before.ends_with(continues) || behind.starts_with(continues);
        out.push_str(before);
        out.push_str(if longer { from } else { to });
        rest = behind;
    }
    out.push_str(rest);
    out
}

// === impl ObjectDiff ===

impl ObjectDiff {
    /// Returns the changed fields that say more than the new release, each with its object.
    pub fn beyond_version<'d>(
        &'d self,
        from: &'d ChartId,
        to: &'d ChartId,
    ) -> impl Iterator<Item = (&'d ObjectKey, &'d FieldChange)> {
        self.fields().filter(move |(_, change)| !is_version_only(change, from, to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn chart(version: &str) -> ChartId {
        ChartId { name: "linkerd-viz".into(), version: version.into() }
    }

    fn only(path: FieldPath, before: Value, after: Value) -> bool {
        let change = FieldChange { path, before: Some(before), after: Some(after), secret: false };
        is_version_only(&change, &chart("2026.8.1"), &chart("2026.8.12"))
    }

    #[test]
    fn texts_in_which_only_the_release_moved_are_told() {
        let text = |before: &str, after: &str| only(FieldPath::from(["x"]), json!(before), json!(after));
        assert!(text("linkerd/helm edge-26.8.1", "linkerd/helm edge-26.8.12"));
        assert!(text("linkerd-crds-2026.8.1", "linkerd-crds-2026.8.12"));
        assert!(text("cr.l5d.io/linkerd/proxy:edge-26.8.1", "cr.l5d.io/linkerd/proxy:edge-26.8.12"));
        assert!(!text("cr.l5d.io/linkerd/proxy:edge-26.8.1", "example.com/proxy:edge-26.8.12"));
        assert!(!text("edge-26.8.10", "edge-26.8.120"), "a longer version is another");
        assert!(!text("v0.1.11", "v0.1.12"), "a part's own version is a change");
        assert!(!text("a", "b") && !only(FieldPath::from(["x"]), json!(1), json!(2)));
    }

    #[test]
    fn a_checksum_follows_and_a_removal_never_does() {
        let path = || FieldPath::from(["spec", "template", "metadata", "annotations", "checksum/config"]);
        assert!(only(path(), json!("ab"), json!("cd")));
        let gone = FieldChange { path: path(), before: Some(json!("ab")), after: None, secret: false };
        assert!(!is_version_only(&gone, &chart("2026.8.1"), &chart("2026.8.2")));
    }

    #[test]
    fn fields_are_filed_under_what_they_are_about() {
        let key = |group: &str, kind: &str| ObjectKey {
            group: group.into(),
            kind: kind.into(),
            namespace: None,
            name: "x".into(),
        };
        let about = |group: &str, kind: &str, path: FieldPath| topic(&key(group, kind), &path);
        let pod = FieldPath::from(["spec", "template", "spec", "containers", "image"]);
        assert_eq!(about("apps", "Deployment", pod.clone()), Topic::Image);
        assert_eq!(about("rbac.authorization.k8s.io", "Role", FieldPath::from(["rules"])), Topic::Rbac);
        assert_eq!(about("apiextensions.k8s.io", "CustomResourceDefinition", pod), Topic::Crd);
        let hooks = "MutatingWebhookConfiguration";
        assert_eq!(
            about("admissionregistration.k8s.io", hooks, FieldPath::from(["webhooks"])),
            Topic::Webhook
        );
        let limits = FieldPath::from(["spec", "containers", "resources", "limits", "cpu"]);
        assert_eq!(about("", "Pod", limits), Topic::Resources);
        assert_eq!(about("", "Service", FieldPath::from(["spec", "ports", "port"])), Topic::Ports);
        assert_eq!(about("", "ConfigMap", FieldPath::from(["data", "image"])), Topic::Other);
    }
}
