//! Objects as kustomize and kubectl print them: keys sorted, comments gone, long text folded, kinds in an order of their
//! own. Written from what both print; go-yaml's emitter breaks a line at the first blank behind its column 80.

use serde_json::Value;

/// The column behind which a blank becomes a line break.
const WIDTH: usize = 80;

/// Kinds that kustomize prints first, and those that it prints last; the others stand between them by group.
const FIRST: [&str; 22] = [
    "Namespace",
    "ResourceQuota",
    "StorageClass",
    "CustomResourceDefinition",
    "ServiceAccount",
    "PodSecurityPolicy",
    "Role",
    "ClusterRole",
    "RoleBinding",
    "ClusterRoleBinding",
    "ConfigMap",
    "Secret",
    "Endpoints",
    "Service",
    "LimitRange",
    "PriorityClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Deployment",
    "StatefulSet",
    "CronJob",
    "PodDisruptionBudget",
];
const LAST: [&str; 2] = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

/// Reads one object with another reader of YAML than the program's.
pub fn read(document: &str) -> Value {
    serde_yaml::from_str(document).unwrap_or_else(|e| panic!("{e}\n{document}"))
}

/// Returns an object's kind, namespace and name.
pub fn key(object: &Value) -> (String, String, String) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (text(&object["kind"]), text(&object["metadata"]["namespace"]), text(&object["metadata"]["name"]))
}

/// Prints objects as `kustomize build` does.
pub fn build(objects: &[Value]) -> String {
    let mut objects: Vec<&Value> = objects.iter().collect();
    objects.sort_by_key(|object| rank(object));
    objects.iter().map(|object| print(object)).collect::<Vec<_>>().join("---\n")
}

/// Prints objects as `kubectl get -o yaml` does.
pub fn list(objects: &[Value]) -> String {
    print(&serde_json::json!({"apiVersion": "v1", "items": objects, "kind": "List"}))
}

/// Prints one value.
pub fn print(value: &Value) -> String {
    let mut out = String::new();
    write(value, 0, &mut out);
    out
}

fn rank(object: &Value) -> (usize, String, String) {
    let (kind, namespace, name) = key(object);
    let version = object["apiVersion"].as_str().unwrap_or_default();
    // What has no group comes behind what has one, and what has no namespace behind what has one.
    let (group, version) = version.split_once('/').unwrap_or(("~G", version));
    let namespace = if namespace.is_empty() { "~X".to_owned() } else { namespace };
    let place = |kinds: &[&str]| kinds.iter().position(|known| *known == kind);
    let at = place(&FIRST).or_else(|| Some(1000 + place(&LAST)?)).unwrap_or(500);
    // Both are one text, so that `linkerd-viz` stands before `linkerd`.
    (at, format!("{group}_{version}_{kind}"), format!("{namespace}|{name}"))
}

fn write(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort();
            for key in keys {
                margin(indent, out);
                out.push_str(&scalar(key, false).unwrap_or_else(|| quoted(key)));
                out.push(':');
                // A list stands as far to the left as its key.
                let below = if map[key].is_array() { indent } else { indent + 2 };
                nested(&map[key], below, out);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                margin(indent, out);
                out.push('-');
                item_of_list(item, indent, out);
            }
        }
        other => {
            out.push_str(&leaf(other, indent, 0));
            out.push('\n');
        }
    }
}

fn item_of_list(item: &Value, indent: usize, out: &mut String) {
    let holds = |value: &Value| {
        value.as_object().is_some_and(|m| !m.is_empty()) || value.as_array().is_some_and(|a| !a.is_empty())
    };
    if holds(item) {
        // The first line of what is nested stands behind the dash.
        let mut text = String::new();
        write(item, indent + 2, &mut text);
        out.push(' ');
        out.push_str(&text[indent + 2..]);
    } else {
        nested(item, indent + 2, out);
    }
}

fn nested(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            out.push('\n');
            write(value, indent, out);
        }
        Value::Array(items) if !items.is_empty() => {
            out.push('\n');
            write(value, indent, out);
        }
        other => {
            let column = out.len() - out.rfind('\n').map_or(0, |at| at + 1);
            out.push(' ');
            out.push_str(&leaf(other, indent, column + 1));
            out.push('\n');
        }
    }
}

fn leaf(value: &Value, indent: usize, column: usize) -> String {
    match value {
        Value::String(text) if text.contains('\n') => block(text, indent),
        Value::String(text) => match scalar(text, true) {
            Some(plain) => folded(&plain, indent, column),
            None => quoted(text),
        },
        other => other.to_string(),
    }
}

/// A text of several lines, its own ending told.
fn block(text: &str, indent: usize) -> String {
    let ending = match (text.ends_with('\n'), text.ends_with("\n\n")) {
        (false, _) => "-",
        (true, true) => "+",
        (true, false) => "",
    };
    let lead = if text.starts_with([' ', '\n']) { "2" } else { "" };
    let line = |line: &str| match line {
        "" => "\n".to_owned(),
        line => format!("\n{}{line}", " ".repeat(indent)),
    };
    let body = text.strip_suffix('\n').unwrap_or(text);
    format!("|{lead}{ending}{}", body.split('\n').map(line).collect::<String>())
}

/// Returns a text as it stands where no quotes are needed.
fn scalar(text: &str, value: bool) -> Option<String> {
    let other_type = !matches!(serde_yaml::from_str::<Value>(text), Ok(Value::String(read)) if read == text);
    // What YAML 1.1 reads as something else.
    let old = ["y", "n", "yes", "no", "on", "off", "~", "null", "true", "false"];
    let mut first = text.chars();
    let special = match (first.next(), first.next()) {
        // These mean something alone or before a blank only.
        (Some('-' | '?' | ':'), next) => next.is_none_or(|c| c == ' '),
        (first, _) => first.is_some_and(|c| ",[]{}#&*!|>'\"%@`=".contains(c)),
    };
    let inside =
        text.contains(": ") || text.contains(" #") || text.ends_with([':', ' ']) || text.starts_with(' ');
    let number = text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || "._:ex".contains(c));
    let plain = !(text.is_empty()
        || other_type
        || special
        || inside
        || number && value
        || old.contains(&text.to_ascii_lowercase().as_str()));
    plain.then(|| text.to_owned())
}

fn quoted(text: &str) -> String {
    let typed = !text.contains(['"', '\'', '\\', ':', '#', '*', '%', '[', '{', '@', '`']);
    match typed {
        true => format!("\"{text}\""),
        false => format!("'{}'", text.replace('\'', "''")),
    }
}

fn folded(text: &str, indent: usize, column: usize) -> String {
    let (mut out, mut at) = (String::new(), column);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == ' ' && at > WIDTH && chars.peek().is_some_and(|next| *next != ' ') && !out.ends_with(' ') {
            out.push('\n');
            margin(indent, &mut out);
            at = indent;
        } else {
            out.push(c);
            at += 1;
        }
    }
    out
}

fn margin(indent: usize, out: &mut String) {
    out.extend(std::iter::repeat_n(' ', indent));
}
