//! Step 7, render: YAML as the values that Helm and Kubernetes read.
//!
//! In: a node. Out: a JSON value, typed as YAML 1.1 types plain scalars, merge keys followed, the last duplicate kept.
//! Also: values laid over each other as Helm does, and what one set of values adds to another.

use serde_json::{Map, Number, Value};

use crate::{
    deploy,
    yaml::{
        Node, Stream, Style, YamlError,
        typed::{Typed, plain},
    },
};

/// The most values that one document may unfold to through its aliases.
const CEILING: usize = 2_000_000;

/// The deepest that a document may unfold to: each alias adds what its anchor holds, and one inside its own anchor has
/// no end.
const DEPTH: usize = 300;

/// Reads the first document of a text; an empty text is an empty mapping.
pub fn read(text: &str) -> Result<Value, YamlError> {
    let stream = Stream::parse(text)?;
    match stream.roots().next() {
        Some(root) => of(root),
        None => Ok(Value::Object(Map::new())),
    }
}

/// Reads a node and all below it.
pub fn of(node: Node<'_>) -> Result<Value, YamlError> {
    let mut left = CEILING;
    unfold(node, &mut left, DEPTH)
}

fn unfold(node: Node<'_>, left: &mut usize, depth: usize) -> Result<Value, YamlError> {
    *left = left.checked_sub(1).ok_or(YamlError::TooLarge { what: "values", limit: CEILING })?;
    let depth = depth.checked_sub(1).ok_or(YamlError::TooLarge { what: "nested values", limit: DEPTH })?;
    let node = node.resolved();
    if node.is_sequence() {
        return node
            .items()
            .map(|item| unfold(item, left, depth))
            .collect::<Result<_, _>>()
            .map(Value::Array);
    }
    if node.is_mapping() {
        return mapping(node, left, depth).map(Value::Object);
    }
    let text = node.as_str().unwrap_or_default();
    Ok(match (node.style(), node.tag()) {
        (Some(Style::Plain), None) => typed(text),
        (_, Some("tag:yaml.org,2002:int" | "tag:yaml.org,2002:float" | "tag:yaml.org,2002:bool")) => {
            typed(text)
        }
        _ => Value::String(text.to_owned()),
    })
}

fn mapping(node: Node<'_>, left: &mut usize, depth: usize) -> Result<Map<String, Value>, YamlError> {
    let depth = depth.checked_sub(1).ok_or(YamlError::TooLarge { what: "nested values", limit: DEPTH })?;
    let mut map = Map::new();
    for source in node.merged() {
        for (key, value) in mapping(source.resolved(), left, depth)? {
            map.entry(key).or_insert(value);
        }
    }
    for (key, value) in node.entries() {
        if key.as_str() == Some("<<") && key.style() == Some(Style::Plain) {
            continue;
        }
        map.insert(key.as_str().unwrap_or_default().to_owned(), unfold(value, left, depth)?);
    }
    Ok(map)
}

/// Takes over a value of the model.
pub fn of_deployed(value: &deploy::Value) -> Value {
    match value {
        deploy::Value::Map(map) => {
            map.iter().map(|(key, value)| (key.to_string(), of_deployed(value))).collect()
        }
        deploy::Value::List(items) => items.iter().map(of_deployed).collect(),
        deploy::Value::Scalar(scalar) => json(deploy::typed::typed(scalar), &scalar.text()),
    }
}

/// Types a plain scalar as YAML 1.1 does; dates stay text, as in JSON.
pub fn typed(text: &str) -> Value {
    json(plain(text), text)
}

/// Returns a scalar as JSON has it, which knows no number without end.
fn json(typed: Typed, text: &str) -> Value {
    match typed {
        Typed::Null => Value::Null,
        Typed::Bool(is) => Value::Bool(is),
        Typed::Int(number) => Value::from(number),
        Typed::Float(number) => {
            Number::from_f64(number).map_or_else(|| Value::String(text.to_owned()), Value::Number)
        }
        Typed::Text(text) => Value::String(text),
    }
}

/// Lays values over others as Helm does: mappings are merged, everything else is replaced, `null` removes.
pub fn overlay(base: &mut Value, over: &Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                match (base.get_mut(key), value) {
                    (_, Value::Null) => {
                        base.shift_remove(key);
                    }
                    (Some(below @ Value::Object(_)), Value::Object(_)) => overlay(below, value),
                    _ => {
                        base.insert(key.clone(), value.clone());
                    }
                }
            }
        }
        (base, over) => *base = over.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn scalars_are_typed_as_kubernetes_reads_them() {
        let text = "a: yes\nb: 0123\nc: 1_000\nd: '1'\ne: 2026.8.3\nf: 1.50\ng: ~\nh: 0x1F\ni: -3\nj: 1e3\nk: 2024-01-02\nl: .inf\nm: -x\nn: y\no: 0X1F\n";
        let found = read(text).unwrap();
        let wanted = json!({"a": true, "b": 83, "c": 1000, "d": "1", "e": "2026.8.3", "f": 1.5, "g": null, "h": 31,
            "i": -3, "j": 1000.0, "k": "2024-01-02", "l": ".inf", "m": "-x", "n": true, "o": 31});
        for (key, value) in wanted.as_object().unwrap() {
            assert_eq!(found.get(key), Some(value), "{key}");
        }
    }

    #[test]
    fn merge_keys_and_duplicates_are_followed_and_bombs_are_refused() {
        let merged = read("d: &d {a: 1, b: 1}\nv: {b: 2, <<: *d, c: 3, c: 4}\n").unwrap();
        assert_eq!(merged["v"], json!({"a": 1, "b": 2, "c": 4}));
        let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        (1..9).for_each(|n| {
            bomb.push_str(&format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 10].join(", ")))
        });
        assert!(matches!(read(&bomb), Err(YamlError::TooLarge { .. })));
        // A reader of the text counts aliases too; here it is what they unfold to that counts.
        let stream = Stream::parse("a: &a [1, 2]\nb: [*a, *a]\n").unwrap();
        let unfolded = |mut left| unfold(stream.roots().next().unwrap(), &mut left, DEPTH);
        assert!(unfolded(11).is_ok());
        assert_eq!(unfolded(10), Err(YamlError::TooLarge { what: "values", limit: CEILING }));
    }

    #[test]
    fn aliases_that_nest_without_end_are_refused() {
        let mut chain = String::from("a0: &a0 [x]\n");
        (1..1_500).for_each(|n| chain.push_str(&format!("a{n}: &a{n} [*a{}]\n", n - 1)));
        let found = read(&chain).unwrap_err();
        assert!(matches!(found, YamlError::TooLarge { what: "nested values", .. }), "{found}");
        for own in ["a: &a [*a]\n", "a: &a {b: *a}\n", "a: &a {<<: *a}\n"] {
            assert!(read(own).is_err(), "{own}");
        }
        let deep = format!("{}{}", "[".repeat(140), "]".repeat(140));
        assert!(read(&deep).is_ok());
    }

    #[test]
    fn values_are_laid_over_each_other_as_helm_does() {
        let mut base = json!({"a": {"x": 1, "y": 2}, "l": [1, 2], "gone": 1});
        overlay(&mut base, &json!({"a": {"y": 3}, "l": [3], "gone": null, "new": {"z": 1}}));
        assert_eq!(base, json!({"a": {"x": 1, "y": 3}, "l": [3], "new": {"z": 1}}));
    }
}
