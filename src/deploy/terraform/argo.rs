//! Resources of the Argo CD provider, as the objects that they make.
//!
//! Source: `argocd/structure_application.go` and `argocd/schema_application.go` of argoproj-labs/terraform-provider-argocd: blocks in
//! snake case, one for each item of a list.

use crate::deploy::value::Value;

/// Blocks that repeat, with the lists that they are items of; `directory` and `file` are so below `git` alone.
const REPEATED: [(&str, &str); 9] = [
    ("parameter", "parameters"),
    ("file_parameter", "fileParameters"),
    ("generator", "generators"),
    ("patches", "patches"),
    ("match_expressions", "matchExpressions"),
    ("ignore_difference", "ignoreDifferences"),
    ("env", "env"),
    ("directory", "directories"),
    ("file", "files"),
];
/// Maps whose keys are the author's.
const OPEN: [&str; 7] =
    ["labels", "annotations", "match_labels", "elements", "values", "common_labels", "common_annotations"];

/// Returns the kind of object that a type of resource makes.
pub(super) fn kind(resource: &str) -> Option<&'static str> {
    match resource {
        "argocd_application" => Some("Application"),
        "argocd_application_set" => Some("ApplicationSet"),
        _ => None,
    }
}

/// Makes the object of a resource.
pub(super) fn object(kind: &str, body: &Value) -> Value {
    let mut object =
        Value::map([("apiVersion", Value::made("argoproj.io/v1alpha1")), ("kind", Value::made(kind))]);
    for key in ["metadata", "spec"] {
        if let Some(value) = body.get(key) {
            object.insert(key, fields(value, key));
        }
    }
    object
}

/// Writes the names of blocks and arguments as Argo CD does; `of` is the block around them.
fn fields(value: &Value, of: &str) -> Value {
    match value {
        Value::List(items) => Value::list(items.iter().map(|item| fields(item, of)).collect()),
        Value::Scalar(_) => value.clone(),
        Value::Map(_) => {
            let mut out = Value::empty();
            for (key, value) in value.entries() {
                match (key, value) {
                    ("repo_url", _) => out.insert("repoURL", value.clone()),
                    ("source", Value::List(_)) => out.insert("sources", fields(value, key)),
                    (key, _) if OPEN.contains(&key) => out.insert(&camel(key), value.clone()),
                    (key, _) => match list(key, of) {
                        Some(name) => out.insert(name, listed(fields(value, key))),
                        None => out.insert(&camel(key), fields(value, key)),
                    },
                }
            }
            out
        }
    }
}

/// Returns the list that a block is an item of.
fn list(key: &str, of: &str) -> Option<&'static str> {
    let in_git = !matches!(key, "directory" | "file") || of == "git";
    REPEATED.iter().find(|(block, _)| *block == key && in_git).map(|(_, name)| *name)
}

fn listed(value: Value) -> Value {
    if matches!(value, Value::List(_)) { value } else { Value::list(vec![value]) }
}

/// Writes a name as Kubernetes does.
pub(super) fn camel(key: &str) -> String {
    let mut parts = key.split('_');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut chars = part.chars();
        out.extend(chars.next().map(|c| c.to_ascii_uppercase()));
        out.push_str(chars.as_str());
    }
    out
}
