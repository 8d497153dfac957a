//! The digest of a `Chart.lock`, computed as Helm does, so that `helm dependency build` accepts the lock.
//!
//! Helm hashes the JSON of two lists, the dependencies of `Chart.yaml` and those of `Chart.lock`, with the
//! fields of its Go type in their order. The legacy `requirements.yaml` and `.lock` are hashed in the same way.
//! A repository by the name that `helm repo add` gave it (`@name`, `alias:name`) is hashed by its address
//! (`pkg/downloader/manager.go`), which the lock has.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use super::{EditError, Refusal};
use crate::yaml::{
    Node, Stream, Style,
    typed::{self, Typed},
};

/// Computes the digest over the dependencies of a `Chart.yaml` and its `Chart.lock`.
///
/// ```
/// let chart = "dependencies:\n- {name: a, version: ~1.2.0, repository: 'https://x'}\n";
/// let lock = "dependencies:\n- {name: a, version: 1.2.3, repository: 'https://x'}\n";
/// let digest = uplinker::edit::digest(chart, lock)?;
/// assert!(digest.starts_with("sha256:") && digest.len() == 71);
/// # Ok::<(), uplinker::edit::EditError>(())
/// ```
pub fn digest(chart_yaml: &str, chart_lock: &str) -> Result<String, EditError> {
    let lock = parsed(chart_lock)?;
    let locked = list(&lock);
    let own = dependencies(chart_yaml, &parsed(chart_yaml)?, locked)?;
    let json = format!("[{own},{}]", dependencies(chart_lock, &lock, None)?);
    let hash = Sha256::digest(json.as_bytes());
    Ok(hash.iter().fold("sha256:".to_owned(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    }))
}

fn parsed(text: &str) -> Result<Stream, EditError> {
    Stream::parse(text).map_err(|e| EditError::syntax(text, e))
}

fn list(stream: &Stream) -> Option<Node<'_>> {
    stream.roots().next().and_then(|root| root.get("dependencies"))
}

/// Writes a list; of one with a lock the repositories that have a name are those that are locked.
fn dependencies(text: &str, stream: &Stream, locked: Option<Node<'_>>) -> Result<String, EditError> {
    match list(stream) {
        None => Ok("null".to_owned()),
        Some(list) if is_null(list) => Ok("null".to_owned()),
        Some(list) if list.is_sequence() => {
            let items =
                list.items().enumerate().map(|(n, item)| dependency(text, item, address(item, n, locked)));
            Ok(format!("[{}]", items.collect::<Result<Vec<_>, _>>()?.join(",")))
        }
        Some(other) => Err(malformed(text, other, "`dependencies` is not a list")),
    }
}

/// Returns the address that a repository with a name was locked with: that of the entry at its place, or of its chart.
fn address(item: Node<'_>, at: usize, locked: Option<Node<'_>>) -> Option<String> {
    let text = |node: Node<'_>, key: &str| node.get(key).and_then(Node::as_str).map(str::to_owned);
    text(item, "repository").filter(|named| named.starts_with('@') || named.starts_with("alias:"))?;
    let name = text(item, "name");
    let is_it = |entry: &Node<'_>| text(*entry, "name") == name;
    let entries = || locked.into_iter().flat_map(|list| list.items());
    let entry = entries().nth(at).filter(is_it).or_else(|| entries().find(is_it))?;
    text(entry, "repository")
}

/// Writes one dependency with the fields of Helm's type in their order; that type leaves out empty fields,
/// except name and repository.
fn dependency(text: &str, item: Node<'_>, address: Option<String>) -> Result<String, EditError> {
    if is_null(item) {
        return Ok("null".to_owned());
    }
    if !item.is_mapping() {
        return Err(malformed(text, item, "a dependency is not a mapping"));
    }
    let string = |key| item.get(key).map_or(Ok(String::new()), |node| string(text, node));
    let field = |key: &str, value: String| format!("\"{key}\":{value}");
    let filled = |key: &str, value: String| (!value.is_empty()).then(|| field(key, quoted(&value)));
    let list = |key| item.get(key).filter(|n| n.items().next().is_some());
    let enabled = item.get("enabled").is_some_and(|n| type_of(n) == Typed::Bool(true));
    let tags = list("tags").map(|n| n.items().map(|tag| self::string(text, tag)).collect());
    let tags = tags.transpose()?.map(|tags: Vec<_>| array(tags.iter().map(|tag| quoted(tag))));
    let repository = address.map_or_else(|| string("repository"), Ok)?;
    let fields = [
        Some(field("name", quoted(&string("name")?))),
        filled("version", string("version")?),
        Some(field("repository", quoted(&repository))),
        filled("condition", string("condition")?),
        tags.map(|tags| field("tags", tags)),
        enabled.then(|| field("enabled", "true".to_owned())),
        list("import-values").map(|n| field("import-values", array(n.items().map(json)))),
        filled("alias", string("alias")?),
    ];
    let fields: Vec<_> = fields.into_iter().flatten().collect();
    Ok(format!("{{{}}}", fields.join(",")))
}

fn malformed(text: &str, node: Node<'_>, what: &str) -> EditError {
    EditError::at(text, node.span().start, Refusal::Lock(what.to_owned()))
}

/// Types a scalar as Helm's YAML reader does.
fn type_of(node: Node<'_>) -> Typed {
    let text = node.as_str().unwrap_or_default();
    let node = node.resolved();
    match node.style() != Some(Style::Plain) || node.tag() == Some("tag:yaml.org,2002:str") {
        true => Typed::Text(text.to_owned()),
        false => typed::plain(text),
    }
}

fn is_null(node: Node<'_>) -> bool {
    node.as_str().is_some() && type_of(node) == Typed::Null
}

/// Reads a scalar into a Go string, which takes numbers and booleans too.
fn string(text: &str, node: Node<'_>) -> Result<String, EditError> {
    let Some(written) = node.as_str() else {
        return Err(malformed(text, node, "a field of a dependency is not text"));
    };
    Ok(match type_of(node) {
        Typed::Null => String::new(),
        Typed::Text(text) => text,
        Typed::Bool(_) | Typed::Int(_) | Typed::Float(_) => typed::key(written).into_owned(),
    })
}

/// Writes an entry of `import-values`: text, or a mapping of child to parent, with sorted keys as Go has them.
fn json(node: Node<'_>) -> String {
    if node.as_str().is_none() {
        // Deeper nesting means nothing to Helm, and an alias of itself could go on for ever.
        let mut entries: Vec<_> = node.entries().filter_map(|(k, v)| Some((k.as_str()?, v))).collect();
        entries.sort_by_key(|(key, _)| *key);
        let entries = entries.iter().map(|(key, value)| format!("{}:{}", quoted(key), scalar(*value)));
        return format!("{{{}}}", entries.collect::<Vec<_>>().join(","));
    }
    scalar(node)
}

fn scalar(node: Node<'_>) -> String {
    match type_of(node) {
        Typed::Null => "null".to_owned(),
        Typed::Bool(is) => is.to_string(),
        Typed::Int(number) => number.to_string(),
        Typed::Float(number) => typed::number(number),
        Typed::Text(text) => quoted(&text),
    }
}

fn array(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

/// Writes a JSON string as Go does, which escapes what could mean something in HTML or JavaScript.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(list: &str) -> String {
        of_file(&format!("dependencies:\n{list}"))
    }

    fn of_file(text: &str) -> String {
        dependencies(text, &parsed(text).unwrap(), None).unwrap()
    }

    #[test]
    fn the_digest_is_that_of_the_two_lists() {
        let chart = "name: umbrella\ndependencies:\n- name: linkerd-crds\n  version: 2026.8.2\n  repository: \
                     https://helm.linkerd.io/edge\n- name: cache\n  alias: store\n  version: '>=1.0.0 <2'\n  \
                     repository: https://charts.example.org\n  condition: cache.enabled\n  tags: [a&b]\n  \
                     import-values: [data, {parent: p, child: c}]\n";
        let lock = "dependencies:\n- name: linkerd-crds\n  repository: https://helm.linkerd.io/edge\n  version: \
                    2026.8.2\n- name: cache\n  repository: https://charts.example.org\n  version: 1.4.2\ndigest: \
                    sha256:0\ngenerated: \"2026-08-13T09:14:31.5Z\"\n";
        let expected = "sha256:cde2332355133803035974fdb50925da1e4c29fdc9ad8770f2d5a9c96c8eceb3";
        assert_eq!(digest(chart, lock).unwrap(), expected);
    }

    #[test]
    fn a_repository_with_a_name_is_hashed_by_its_locked_address() {
        let chart = |name: &str| {
            format!("dependencies:\n- {{name: linkerd-crds, version: 2026.8.2, repository: '{name}'}}\n")
        };
        let address = "https://helm.linkerd.io/edge";
        let lock =
            format!("dependencies:\n- {{name: linkerd-crds, version: 2026.8.2, repository: '{address}'}}\n");
        let expected = digest(&chart(address), &lock).unwrap();
        for name in ["@edge", "alias:edge"] {
            assert_eq!(digest(&chart(name), &lock).unwrap(), expected);
        }
        let other = "dependencies:\n- {name: cache, version: 1.0.0, repository: https://x}\n";
        assert_ne!(digest(&chart("@edge"), other).unwrap(), digest(&chart(address), other).unwrap());
    }

    #[test]
    fn fields_come_in_the_order_of_the_type() {
        let list = "- {alias: x, tags: [b, a], condition: c.d, name: dep, import-values: [data, {parent: p, child: \
                    k}], enabled: true, version: 1.2.3, repository: r}";
        let json = "[{\"name\":\"dep\",\"version\":\"1.2.3\",\"repository\":\"r\",\"condition\":\"c.d\",\
                    \"tags\":[\"b\",\"a\"],\"enabled\":true,\"import-values\":[\"data\",{\"child\":\"k\",\
                    \"parent\":\"p\"}],\"alias\":\"x\"}]";
        assert_eq!(of(list), json);
    }

    #[test]
    fn empty_fields_are_left_out_except_name_and_repository() {
        let list = "- {name: dep, version: '', tags: [], enabled: false, import-values: [], alias: ~}";
        assert_eq!(of(list), r#"[{"name":"dep","repository":""}]"#);
    }

    #[test]
    fn what_could_mean_something_in_html_is_escaped() {
        let json = r#"[{"name":"dep","version":"\u003e=1 \u003c2 \u0026","repository":"\"\\é\u2028"}]"#;
        assert_eq!(of(r#"- {name: dep, version: ">=1 <2 &", repository: "\"\\é\u2028"}"#), json);
    }

    #[test]
    fn numbers_and_booleans_become_text() {
        assert_eq!(
            of(
                "- {name: yes, version: 1.10, repository: 010}\n- {name: 1_000, version: '1.10', repository: ~, alias: 1e6}"
            ),
            r#"[{"name":"true","version":"1.1","repository":"8"},{"name":"1000","version":"1.10","repository":"","alias":"1e+06"}]"#
        );
    }

    #[test]
    fn a_missing_list_is_not_an_empty_one() {
        assert_eq!(of_file("name: x\n"), "null");
        assert_eq!(of_file(""), "null");
        assert_eq!(of_file("dependencies: []\n"), "[]");
    }

    #[test]
    fn another_form_is_an_error_with_its_place() {
        let error = digest("name: a\ndependencies: 7\n", "").unwrap_err();
        assert_eq!((error.line, error.column), (2, 15));
        assert!(digest("dependencies: [[]]\n", "").is_err());
        assert!(digest("dependencies: [{name: []}]\n", "").is_err());
        assert!(digest("a: [\n", "").is_err());
    }
}
