//! Resources of the Kubernetes, kubectl and Argo CD providers, as the objects that they make.

use hcl_edit::structure::Block;

use super::{
    argo::{self, camel},
    scope::Scope,
};
use crate::{
    deploy::{object::Object, read, value::Value},
    repo::RepoPath,
};

/// Resources whose blocks have the form of an object: type, `apiVersion`, `kind`.
const TYPES: [(&str, &str, &str); 10] = [
    ("namespace", "v1", "Namespace"),
    ("pod", "v1", "Pod"),
    ("config_map", "v1", "ConfigMap"),
    ("secret", "v1", "Secret"),
    ("deployment", "apps/v1", "Deployment"),
    ("stateful_set", "apps/v1", "StatefulSet"),
    ("daemonset", "apps/v1", "DaemonSet"),
    ("daemon_set", "apps/v1", "DaemonSet"),
    ("job", "batch/v1", "Job"),
    ("cron_job", "batch/v1", "CronJob"),
];

/// Tells whether a type of resource makes objects that are read here.
pub(super) fn is_known(kind: &str) -> bool {
    matches!(kind, "kubernetes_manifest" | "kubectl_manifest" | "kubernetes_annotations")
        || argo::kind(kind).is_some()
        || typed(kind).is_some()
}

fn typed(kind: &str) -> Option<(&'static str, &'static str)> {
    let name = kind.strip_prefix("kubernetes_")?.trim_end_matches("_v1").trim_end_matches("_v1beta1");
    TYPES.iter().find(|(own, ..)| *own == name).map(|(_, version, kind)| (*version, *kind))
}

/// Returns the objects of one instance of a resource.
pub(super) fn objects(scope: &Scope<'_>, kind: &str, block: &Block, by: Option<&RepoPath>) -> Vec<Object> {
    let file = &scope.source.path;
    let body = scope.resource(block);
    let values = match kind {
        "kubernetes_manifest" => body.get("manifest").cloned().into_iter().collect(),
        "kubectl_manifest" => match body.get("yaml_body") {
            Some(Value::Scalar(text)) => read::documents(text, scope.files.ceilings()).unwrap_or_default(),
            _ => Vec::new(),
        },
        "kubernetes_annotations" => vec![annotated(&body)],
        kind => {
            let of_argo = argo::kind(kind).map(|kind| argo::object(kind, &body));
            let own = || typed(kind).map(|(version, kind)| object(version, kind, &body));
            of_argo.or_else(own).into_iter().collect()
        }
    };
    // Of objects a file that was read is their own.
    let own = |value: &Value| value.with_scalars(&mut |s| Some(s.not_of_values()));
    let values = values.iter().map(|value| own(value).unwrap_or_else(|| value.clone()));
    let mut objects: Vec<Object> = values.flat_map(|value| Object::all(&value, file)).collect();
    objects.iter_mut().for_each(|object| object.by = by.cloned());
    objects
}

/// `kubernetes_annotations` lays annotations over an object that is there, and over its pod template.
fn annotated(body: &Value) -> Value {
    let get = |key: &str| body.get(key).cloned().unwrap_or_else(Value::empty);
    let mut metadata = get("metadata");
    metadata.insert("annotations", get("annotations"));
    let pods = Value::map([("metadata", Value::map([("annotations", get("template_annotations"))]))]);
    Value::map([
        ("apiVersion", get("api_version")),
        ("kind", get("kind")),
        ("metadata", metadata),
        ("spec", Value::map([("template", pods)])),
    ])
}

fn object(version: &str, kind: &str, body: &Value) -> Value {
    let mut object = Value::map([("apiVersion", Value::made(version)), ("kind", Value::made(kind))]);
    for key in ["metadata", "spec", "data"] {
        if let Some(value) = body.get(key) {
            // The provider encodes what a Secret has: its author writes it in plain text.
            let name = if (kind, key) == ("Secret", "data") { "stringData" } else { key };
            object.insert(name, renamed(value, key == "data"));
        }
    }
    object
}

/// Writes the names of blocks and arguments as Kubernetes does; keys of maps, such as annotations, stay.
fn renamed(value: &Value, is_map: bool) -> Value {
    match value {
        Value::Map(_) if is_map => value.clone(),
        Value::Map(_) => {
            let mut out = Value::empty();
            for (key, value) in value.entries() {
                let map = matches!(key, "annotations" | "labels" | "match_labels" | "node_selector");
                let inner = renamed(value, map);
                match key {
                    // Blocks that repeat are lists in Kubernetes, under a name in the plural.
                    "container" | "init_container" => {
                        let list =
                            if matches!(inner, Value::List(_)) { inner } else { Value::list(vec![inner]) };
                        out.insert(&format!("{}s", camel(key)), list);
                    }
                    key => out.insert(&camel(key), inner),
                }
            }
            out
        }
        Value::List(items) => Value::list(items.iter().map(|item| renamed(item, is_map)).collect()),
        Value::Scalar(_) => value.clone(),
    }
}
