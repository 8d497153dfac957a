//! Step 5, pins: layers of values, from texts and files of the tree.
//!
//! In: a mapping, a path. Out: [`ValuesPart`]s. What is sealed, missing or not YAML becomes a part from outside.

use super::{
    super::{ValuesPart, context::Context},
    data::Data,
};
use crate::repo::RepoPath;

/// The longest list index that a path of Helm's may have here.
const INDEX: usize = 100;

/// Adds a mapping of values; what of it is not known follows it.
pub(super) fn push(parts: &mut Vec<ValuesPart>, mut data: Data, path: &RepoPath) {
    let holes = data.settle();
    if data != Data::empty() {
        parts.push(ValuesPart::Text { text: data.to_text().into(), path: path.clone() });
    }
    parts.extend(holes.into_iter().map(|hole| ValuesPart::Outside {
        what: hole.what,
        target: Some(hole.path),
        optional: false,
    }));
}

/// Adds a text of values that may have parts that are not known.
pub(super) fn push_text(parts: &mut Vec<ValuesPart>, text: &str, path: &RepoPath, what: &str) {
    match Data::parse(text) {
        Some(data) if data.get("sops").is_some() => {
            parts.push(outside(format!("{what}, which SOPS encrypts")))
        }
        Some(data) => push(parts, data, path),
        None => parts.push(outside(format!("{what}, which cannot be read as values"))),
    }
}

/// Adds a file of the tree.
pub(super) fn push_file(context: &Context<'_>, parts: &mut Vec<ValuesPart>, path: &RepoPath) {
    let Some(entry) = context.corpus.entry(path.as_str()) else {
        return parts.push(outside(format!("{path}, which is no file of this repository")));
    };
    let Ok(text) = context.corpus.text(entry) else {
        return parts.push(outside(format!("{path}, which cannot be read")));
    };
    match Data::parse(&text) {
        // As it is: Helm reads it as it would from the deployer.
        Some(data) if data.get("sops").is_none() => {
            if data != Data::empty() {
                parts.push(ValuesPart::Text { text: text.into(), path: path.clone() });
            }
        }
        _ => push_text(parts, &text, path, path.as_str()),
    }
}

/// A part from outside that must be there and may set anything.
pub(super) fn outside(what: impl Into<String>) -> ValuesPart {
    ValuesPart::Outside { what: what.into(), target: None, optional: false }
}

/// Makes a mapping of one value at a path in Helm's syntax; `None` where the path goes into a list.
pub(super) fn at_path(path: &str, value: Data) -> Option<Data> {
    let keys = keys(path)?;
    let lay = |data: Data, key: String| Data::Map([(key, data)].into());
    (!keys.is_empty() && keys.len() <= INDEX).then(|| keys.into_iter().rev().fold(value, lay))
}

/// Splits a path in Helm's syntax: dots part keys, a backslash escapes.
pub(super) fn keys(path: &str) -> Option<Vec<String>> {
    let (mut keys, mut key, mut escaped) = (Vec::new(), String::new(), false);
    for c in path.chars() {
        match c {
            _ if escaped => {
                key.push(c);
                escaped = false;
            }
            '\\' => escaped = true,
            '.' => keys.push(std::mem::take(&mut key)),
            '[' | ']' | ',' | '=' | '{' | '}' => return None,
            c => key.push(c),
        }
    }
    keys.push(key);
    keys.iter().all(|k| !k.is_empty()).then_some(keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_helm_become_mappings() {
        let text = |path: &str| at_path(path, Data::string("v")).map(|d| d.to_text());
        assert_eq!(text("a.b\\.c/d.e").unwrap(), "{\"a\": {\"b.c/d\": {\"e\": \"v\"}}}\n");
        assert_eq!(text("a[0].b"), None);
        assert_eq!(text("a..b"), None);
        assert_eq!(text(""), None);
    }
}
