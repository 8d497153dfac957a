//! Generated YAML: an edit changes the bytes of its target alone, and other parsers read the rest as before.

use proptest::prelude::*;
use serde_json::Value as Json;
use serde_yaml::Value;
use uplinker::{
    edit::{NewEntry, Refusal, Replacement, insert, insert_all, replace_all},
    pins::Site,
    yaml::{Node, Route, Shape, SourceMap, Step, Stream, Style, position},
};

use crate::edit::{
    generator::generate,
    other_parsers::{pyyaml, yaml_serde},
};

/// A token in a scalar, with what an edit of it may touch.
struct Target {
    edit: Replacement,
    /// The whole node, which gets quotes where they are needed.
    node: std::ops::Range<usize>,
    style: Style,
}

/// Lists the tokens of a text: each as the part of its scalar, or as the whole where it is that.
fn targets(text: &str, stream: &Stream) -> Vec<Target> {
    let mut found = Vec::new();
    for node in stream.documents.iter().flat_map(|d| d.nodes()) {
        let Shape::Scalar(value, style) = node.shape() else { continue };
        if node.is_key() {
            continue;
        }
        let map = SourceMap::of(text, node).expect("a value that its source does not explain");
        for (at, _) in value.match_indices("edge-26.8.1") {
            let token = &value[at..at
                + value[at..]
                    .find(|c: char| !c.is_ascii_alphanumeric() && !"-.".contains(c))
                    .unwrap_or(value.len() - at)];
            let span = map.in_file(at..at + token.len()).expect("a token that is not in the file");
            assert_eq!(&text[span.clone()], token);
            found.push(Target {
                edit: replacement(text, node, node.route(), span),
                node: node.span(),
                style,
            });
        }
    }
    found
}

fn replacement(text: &str, node: Node<'_>, route: Route, span: std::ops::Range<usize>) -> Replacement {
    let (line, column) = position(text, span.start);
    let old = text[span.clone()].to_owned();
    let site = Site { span, line, column, document: node.document().index, route: Some(route) };
    Replacement { site, old, new: String::new() }
}

/// Values with and without need for quotes.
const NEW: [&str; 12] = [
    "edge-26.8.3",
    "2026.8.3",
    "yes",
    "1_000",
    "it's",
    "a: b",
    "null",
    "0123",
    "2026-08-03",
    "say \"hi\\\"",
    "x #y",
    "é🚀",
];

fn renamed(text: &str, edits: &[Target]) -> String {
    edits.iter().fold(text.to_owned(), |text, t| text.replace(&t.edit.old, &t.edit.new))
}

fn expected_value(value: &Value, edits: &[Target]) -> Value {
    match value {
        Value::String(text) => Value::String(renamed(text, edits)),
        Value::Sequence(items) => items.iter().map(|v| expected_value(v, edits)).collect(),
        Value::Mapping(map) => {
            let entries = map.iter().map(|(k, v)| (k.clone(), expected_value(v, edits)));
            Value::Mapping(entries.collect())
        }
        Value::Tagged(tagged) => {
            let mut tagged = tagged.clone();
            tagged.value = expected_value(&tagged.value, edits);
            Value::Tagged(tagged)
        }
        other => other.clone(),
    }
}

/// Compares PyYAML's events: equal, except that an edited scalar has its new text and may have got quotes.
fn same_events(before: &[Json], after: &[Json], edits: &[Target]) -> Result<(), TestCaseError> {
    prop_assert_eq!(before.len(), after.len());
    for (old, new) in before.iter().zip(after) {
        let mut wanted = old.clone();
        if let Some(value) = old[3].as_str() {
            let value_after = renamed(value, edits);
            if value != value_after {
                wanted[4] = new[4].clone();
            }
            wanted[3] = Json::String(value_after);
        }
        prop_assert_eq!(&wanted, new);
    }
    Ok(())
}

fn bytes_outside_are_the_same(before: &str, after: &str, edits: &[Target]) -> Result<(), TestCaseError> {
    let (mut old, mut new) = (0, 0);
    for (n, target) in edits.iter().enumerate() {
        let touched =
            |t: &Target| if t.style == Style::Plain { t.node.clone() } else { t.edit.site.span.clone() };
        let span = touched(target);
        if span.start < old {
            continue;
        }
        let kept = &before[old..span.start];
        prop_assert!(after[new..].starts_with(kept), "bytes differ before {:?}", target.edit.old);
        let next = edits[n + 1..].iter().map(touched).find(|s| s.start >= span.end);
        let until = next.map_or(before.len(), |s| s.start);
        let behind = &before[span.end..until];
        let at = new + kept.len();
        let found = match until == before.len() {
            true => after.len().checked_sub(behind.len()).filter(|n| after[*n..] == *behind),
            false => after[at..].find(behind).map(|n| at + n),
        };
        prop_assert!(found.is_some(), "bytes differ behind {:?}", target.edit.old);
        (old, new) = (span.end, found.unwrap_or(at));
    }
    prop_assert_eq!(&before[old..], &after[new..]);
    Ok(())
}

fn check(bytes: &[u8], picks: &[(u8, u8)]) -> Result<(), TestCaseError> {
    let before = generate(bytes);
    let stream = Stream::parse(&before);
    prop_assert!(stream.is_ok(), "{:?} in {before}", stream.err());
    let stream = stream.unwrap();
    let mut all = targets(&before, &stream);
    let mut edits: Vec<Target> = Vec::new();
    for (which, new) in picks {
        if all.is_empty() {
            break;
        }
        let mut target = all.swap_remove(usize::from(*which) % all.len());
        target.edit.new = NEW[usize::from(*new) % NEW.len()].to_owned();
        edits.push(target);
    }
    edits.sort_by_key(|t| t.edit.site.span.start);
    let list: Vec<_> = edits.iter().map(|t| t.edit.clone()).collect();
    let after = match replace_all(&before, &list) {
        Ok(after) => after,
        // The only fair refusal: quotes around a plain scalar of several lines.
        Err(e) => {
            let lines = |t: &Target| t.style == Style::Plain && before[t.node.clone()].contains('\n');
            let fair = matches!(e.refusal, Refusal::Written(_)) && edits.iter().any(lines);
            prop_assert!(fair, "{e}\n{before}");
            return Ok(());
        }
    };
    bytes_outside_are_the_same(&before, &after, &edits)?;
    let read = |text: &str| (pyyaml(text), yaml_serde(text));
    let ((old_py, old_serde), (new_py, new_serde)) = (read(&before), read(&after));
    prop_assert!(old_py.is_ok() && old_serde.is_ok(), "{:?} {:?}\n{before}", old_py.err(), old_serde.err());
    prop_assert!(new_py.is_ok() && new_serde.is_ok(), "{:?} {:?}\n{after}", new_py.err(), new_serde.err());
    same_events(&old_py.unwrap(), &new_py.unwrap(), &edits)?;
    let wanted: Vec<_> = old_serde.unwrap().iter().map(|d| expected_value(d, &edits)).collect();
    prop_assert_eq!(wanted, new_serde.unwrap());
    Ok(())
}

/// As many cases as take a few seconds; `PROPTEST_CASES` asks for more.
fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(200);
    ProptestConfig { failure_persistence: None, cases, ..ProptestConfig::default() }
}

/// Reads the file as PyYAML does, node by node.
fn same_reading(text: &str, stream: &Stream, events: &[Json]) -> Result<(), TestCaseError> {
    let mut own = Vec::new();
    for node in stream.documents.iter().flat_map(|d| d.nodes()) {
        own.push(match node.shape() {
            Shape::Scalar(value, _) => format!("={value}"),
            Shape::Sequence { flow } => format!("sequence {flow}"),
            Shape::Mapping { flow } => format!("mapping {flow}"),
            Shape::Alias(_) => "alias".to_owned(),
        });
    }
    let other: Vec<_> = events
        .iter()
        .filter_map(|e| match e[0].as_str()? {
            "ScalarEvent" => Some(format!("={}", e[3].as_str()?)),
            "SequenceStartEvent" => Some(format!("sequence {}", e[4] == true)),
            "MappingStartEvent" => Some(format!("mapping {}", e[4])),
            "AliasEvent" => Some("alias".to_owned()),
            _ => None,
        })
        .collect();
    prop_assert_eq!(own, other, "{}", text);
    Ok(())
}

fn check_insertion(bytes: &[u8], pick: usize) -> Result<(), TestCaseError> {
    let before = generate(bytes);
    let stream = Stream::parse(&before).unwrap();
    let old = pyyaml(&before).unwrap();
    same_reading(&before, &stream, &old)?;
    let mappings: Vec<_> =
        stream.documents.iter().flat_map(|d| d.nodes()).filter(|n| n.is_mapping() && !n.is_alias()).collect();
    let Some(node) = mappings.get(pick % mappings.len().max(1)) else { return Ok(()) };
    let after = match insert(&before, &node.route(), "config.linkerd.io/new-key", "2026.8") {
        Ok(after) => after,
        Err(e) => {
            prop_assert!(matches!(e.refusal, Refusal::Shared { .. }), "{e}\n{before}");
            return Ok(());
        }
    };
    let new = pyyaml(&after);
    prop_assert!(new.is_ok(), "{:?}\n{after}", new.err());
    let new = new.unwrap();
    let at = new.iter().position(|e| e[3] == "config.linkerd.io/new-key");
    prop_assert!(at.is_some());
    let at = at.unwrap();
    prop_assert_eq!(&new[at + 1][3], "2026.8");
    prop_assert_eq!(&new[at + 1][4], "\"");
    let rest: Vec<_> = new[..at].iter().chain(&new[at + 2..]).cloned().collect();
    prop_assert_eq!(rest, old, "{}", after);
    prop_assert!(yaml_serde(&after).is_ok());
    let common = before.bytes().zip(after.bytes()).take_while(|(a, b)| a == b).count();
    prop_assert_eq!(&after.as_bytes()[after.len() - (before.len() - common)..], &before.as_bytes()[common..]);
    prop_assert_eq!(after.contains("\r\n"), before.contains("\r\n"));
    Ok(())
}

/// Entries that come together come as they would one after another.
fn check_insertions(bytes: &[u8]) -> Result<(), TestCaseError> {
    let before = generate(bytes);
    let stream = Stream::parse(&before).unwrap();
    let nodes = stream.documents.iter().flat_map(|d| d.nodes());
    let mut entries = Vec::new();
    let mut one_by_one = before.clone();
    for node in nodes.filter(|n| n.is_mapping() && !n.is_alias()) {
        let entry = NewEntry {
            mapping: node.route(),
            key: "config.linkerd.io/new-key".into(),
            value: "2026.8".into(),
        };
        if let Ok(text) = insert(&one_by_one, &entry.mapping, &entry.key, &entry.value) {
            one_by_one = text;
            entries.push(entry);
        }
    }
    let together = insert_all(&before, &entries);
    prop_assert_eq!(together.as_ref().ok(), Some(&one_by_one), "{:?}\n{}", together.as_ref().err(), before);
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn many_insertions_are_each_as_it_is_alone(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        check_insertions(&bytes)?;
    }

    #[test]
    fn an_insertion_adds_one_entry_alone(
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
        pick in any::<usize>(),
    ) {
        check_insertion(&bytes, pick)?;
    }

    #[test]
    fn an_edit_changes_its_target_alone(
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
        picks in proptest::collection::vec(any::<(u8, u8)>(), 1..5),
    ) {
        check(&bytes, &picks)?;
    }
}

#[test]
fn text_inside_scalars_is_edited_with_all_that_is_around_it() {
    let before = "a: |\n  x: edge-26.8.2\nb: \"y: edge-26.8.2\\nz: 1\"\n";
    let stream = Stream::parse(before).unwrap();
    let root = stream.roots().next().unwrap();
    let edit = |outer: &str, inner: &str, nth: usize| {
        let node = root.get(outer).unwrap();
        let (at, old) = before.match_indices("edge-26.8.2").nth(nth).unwrap();
        let inner = Route { document: 0, steps: vec![Step::Key(inner.into())] };
        let mut route = node.route();
        route.steps.push(Step::Text(Box::new(inner)));
        Replacement { new: "yes".into(), ..replacement(before, node, route, at..at + old.len()) }
    };
    let after = replace_all(before, &[edit("b", "y", 1), edit("a", "x", 0)]).unwrap();
    assert_eq!(after, "a: |\n  x: \"yes\"\nb: \"y: \\\"yes\\\"\\nz: 1\"\n");
    assert_eq!(yaml_serde(&after).unwrap()[0]["b"], Value::from("y: \"yes\"\nz: 1"));
}
