//! What policies of Kyverno's put on the objects of others, and take.
//!
//! In: an object. Out: the same, where a rule has a JSON patch with what that puts in its place, as a strategic merge of the rule
//! has it; and whether a text says which values a rule takes. Source: `Mutation` and `ForEachMutation` in
//! `api/kyverno/v1/common_types.go` of kyverno/kyverno.

use super::{
    json_patch,
    object::Object,
    read,
    value::{Scalar, Value, list_with},
};
use crate::yaml::Ceilings;

/// The group of policies.
const GROUP: &str = "kyverno.io";
/// The key of JSON patches in a rule, which are one text.
const PATCHES: &str = "patchesJson6902";
/// The keys under which a rule says what it takes.
const PATTERNS: [&str; 2] = ["pattern", "anyPattern"];
/// What makes more than a value of a text under one: the operators and wildcards of rules that validate.
const OPERATORS: [char; 7] = ['|', '&', '!', '*', '?', '<', '>'];
/// Values in values that are looked into.
const DEPTH: usize = 32;
/// The longest path of an operation.
const STEPS: usize = 50;

/// Reads the JSON patches of a policy; any other object is as it is.
pub fn patched(object: Object) -> Object {
    let new = if object.group() == GROUP { opened(&object.value, DEPTH) } else { None };
    match new {
        Some(value) => Object { value, ..object },
        None => object,
    }
}

/// Tells whether a text says which values a policy takes, more of them than one: `edge-26.8.1 | edge-26.8.2`.
pub fn is_pattern(group: &str, path: &[&str], text: &str) -> bool {
    group == GROUP && path.iter().any(|key| PATTERNS.contains(key)) && text.contains(OPERATORS)
}

fn opened(value: &Value, depth: usize) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    if let Value::List(items) = value {
        return list_with(items, |_, item| opened(item, depth));
    }
    let mut new: Option<Value> = None;
    for (key, inner) in value.entries() {
        let read = match inner {
            Value::Scalar(text) if key == PATCHES => puts(text),
            _ => opened(inner, depth),
        };
        if let Some(read) = read {
            new.get_or_insert_with(|| value.clone()).insert(key, read);
        }
    }
    new
}

/// Returns what each operation of a text puts; `None` where it is no list of them until its variables are filled.
fn puts(text: &Scalar) -> Option<Value> {
    // No text has more nodes than that but by its aliases.
    let ceilings = Ceilings { nodes: 2 * text.text().len(), ..Ceilings::default() };
    let documents = read::documents(text, &ceilings).ok()?;
    let operations = documents.first().filter(|first| json_patch::is_patch(first))?;
    Some(Value::list(operations.items().iter().filter_map(put).collect()))
}

/// Lays a value under the steps of a path.
fn put(operation: &Value) -> Option<Value> {
    let path = json_patch::steps(&operation.text(&["path"])?);
    let value = operation.get("value").filter(|_| path.len() <= STEPS)?;
    // Which item of a list it is may be filled in: `{{elementIndex}}`.
    let is_item = |step: &str| step == "-" || step.contains("{{") || step.parse::<usize>().is_ok();
    let lay = |inner: Value, step: &String| match is_item(step) {
        true => Value::list(vec![inner]),
        false => Value::map([(step.as_str(), inner)]),
    };
    Some(path.iter().rev().fold(value.clone(), lay))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{deploy::testing::files, repo::RepoPath};

    fn mutated(group: &str, patches: &str) -> String {
        let text = format!(
            "apiVersion: {group}/v1\nkind: ClusterPolicy\nspec: {{rules: [{{mutate: {{patchesJson6902: {patches}}}}}]}}\n"
        );
        let tree = files(&[("a.yaml", &text)]);
        let object = Object::of_file(&tree, &RepoPath::new("a.yaml").unwrap()).remove(0);
        let mutate = patched(object).value.path(&["spec"]).unwrap().list_at("rules")[0].clone();
        format!("{:?}", mutate.path(&["mutate", "patchesJson6902"]).unwrap())
    }

    #[test]
    fn what_an_operation_puts_lies_under_its_path() {
        let operations =
            r#"'[{"op":"add","path":"/a~1b/-/{{i}}/c","value":"x"},{"op":"remove","path":"/d"}]'"#;
        assert_eq!(mutated("kyverno.io", operations), r#"[{"a/b": [[{"c": ["x"@a.yaml:136]}]]}]"#);
    }

    #[test]
    fn only_a_rule_of_a_policy_takes_several_values() {
        let path = ["spec", "rules", "[]", "validate", "anyPattern", "[]", "metadata", "annotations"];
        let both = "edge-26.8.1 | edge-26.8.2";
        assert!(is_pattern("kyverno.io", &path, both));
        assert!(!is_pattern("kyverno.io", &path, "edge-26.8.1"));
        assert!(!is_pattern("kyverno.io", &path[5..], both));
        assert!(!is_pattern("acme.io", &path, both));
    }

    #[test]
    fn what_is_no_list_of_operations_stays_a_text() {
        let many = |one: &str| [one; 9].join(", ");
        let bomb = format!(
            "'[{{op: add, path: /a, value: &a [{}]}}, {{op: add, path: /b, value: &b [{}]}}, {{op: add, path: /c, value: [{}]}}]'",
            many("1"),
            many("*a"),
            many("*b")
        );
        for text in ["'{{ patches }}'", "'- {{op}}: x'", "'[a, b]'", &bomb] {
            assert!(mutated("kyverno.io", text).starts_with("[\""), "{text}");
        }
        assert!(mutated("acme.io", r#"'[{"op":"add","path":"/a","value":"x"}]'"#).starts_with("[\"["));
    }
}
