//! Step 7, render: changed fields spliced into an object's text that a person or a tool has laid out.
//!
//! In: the text, the object's node, the value that it is to have. Out: splices; comments, quotes and order around them
//! stay. What cannot be done so is `None`, and the caller writes the whole object. The caller also reads the result back:
//! nothing here is believed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{emit, field::same, folds};
use crate::{
    edit::{Splice, written_end},
    render::value,
    yaml::{Node, Style},
};

/// Lists whose differences are searched, items times items.
const CEILING: usize = 1 << 20;

/// Finds the splices that give a node another value.
pub(super) fn graft(text: &str, node: Node<'_>, new: &Value) -> Option<Vec<Splice>> {
    let mut graft = Graft::of(text);
    graft.node(node, new)?;
    graft.splices.sort_by_key(|s| (s.span.start, s.span.end));
    Some(graft.splices)
}

/// Finds places in a text, and collects what is to change at them.
pub(super) struct Graft<'a> {
    text: &'a str,
    splices: Vec<Splice>,
}

// === impl Graft ===

impl<'a> Graft<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        Self { text, splices: Vec::new() }
    }

    fn node(&mut self, node: Node<'_>, new: &Value) -> Option<()> {
        let old = value::of(node).ok()?;
        if same(&old, new) {
            return Some(());
        }
        if node.is_alias() || node.has_anchor() {
            return None;
        }
        match (&old, new) {
            (Value::Object(old), Value::Object(new)) if !node.is_flow() && !new.is_empty() => {
                self.mapping(node, old, new)
            }
            (Value::Array(old), Value::Array(new)) if !node.is_flow() && !new.is_empty() => {
                self.list(node, old, new)
            }
            (Value::Object(old), Value::Object(fields)) if node.is_flow() => {
                match old.keys().eq(fields.keys()) {
                    true => node.entries().try_for_each(|(key, below)| {
                        fields.get(key.as_str()?).map_or(Some(()), |value| self.node(below, value))
                    }),
                    false => self.replace(node, self.flow(node, new)?),
                }
            }
            (Value::Array(old), Value::Array(items)) if node.is_flow() => match old.len() == items.len() {
                true => node.items().zip(items).try_for_each(|(below, value)| self.node(below, value)),
                false => self.replace(node, self.flow(node, new)?),
            },
            (Value::Object(_) | Value::Array(_), _) | (_, Value::Object(_) | Value::Array(_)) => None,
            (_, Value::String(text)) if !is_json(node) => match folds::kept(self.text, node, text) {
                Some(splices) => {
                    self.splices.extend(splices);
                    Some(())
                }
                None => self.replace(node, emit::like(self.text, node, text)),
            },
            (_, other) if is_json(node) => self.replace(node, other.to_string()),
            (_, other) => self.replace(node, emit::inline(other)),
        }
    }

    /// Writes a flow collection over lines of its own where the one that it replaces stands so.
    fn flow(&self, node: Node<'_>, new: &Value) -> Option<String> {
        let first = node.items().next().or_else(|| node.entries().next().map(|(key, _)| key));
        let below = first.and_then(|first| self.column(first.span().start));
        let (Some(below), line) = (below, self.line_start_of(node.span().start)) else {
            return Some(new.to_string());
        };
        let indent = self.text.get(line..)?.chars().take_while(|c| *c == ' ').count();
        emit::flow(new, indent, below.checked_sub(indent)?)
    }

    fn replace(&mut self, node: Node<'_>, with: String) -> Option<()> {
        if node.is_absent() || is_anchored(node) {
            return None;
        }
        self.splices.push(Splice { span: node.span().start..emit::end(self.text, node), with });
        Some(())
    }

    fn mapping(&mut self, node: Node<'_>, old: &Map<String, Value>, new: &Map<String, Value>) -> Option<()> {
        let entries: Vec<(Node<'_>, Node<'_>)> = node.entries().collect();
        if node.merged().next().is_some() {
            return None;
        }
        let column = self.column(node.span().start)?;
        let mut kept = Vec::new();
        for (key, below) in &entries {
            let name = key.as_str()?;
            match (new.get(name), old.get(name)) {
                (Some(value), Some(old)) if !value.is_null() || old.is_null() => {
                    kept.push(name);
                    let before = self.splices.len();
                    if self.node(*below, value).is_none() {
                        // A value of another kind, or an alias: the entry is written anew.
                        (!is_anchored(*below)).then_some(())?;
                        self.splices.truncate(before);
                        let span = key.span().start..written_end(self.text, *key, *below)?;
                        self.splices.push(Splice { span, with: emit::entry(name, value, column) });
                    }
                }
                (_, Some(old)) if old.is_null() => kept.push(name),
                _ => self.remove(*key, *below, entries.iter().map(|(k, v)| (*k, *v)))?,
            }
        }
        if kept.is_empty() {
            return None;
        }
        let mut predecessor: Option<&str> = None;
        let mut added: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        let first = entries.first()?.0.span().start;
        for (name, value) in new.iter().filter(|(_, value)| !value.is_null()) {
            if old.contains_key(name) {
                predecessor = kept.iter().find(|k| *k == name).copied().or(predecessor);
                continue;
            }
            let behind = predecessor.and_then(|p| entries.iter().find(|(k, _)| k.as_str() == Some(p)));
            let at = match behind {
                Some((key, below)) => self.next_line(written_end(self.text, *key, *below)?),
                None => first,
            };
            added.entry(at).or_default().push(emit::entry(name, value, column));
        }
        self.insert(added, first, column);
        Some(())
    }

    fn list(&mut self, node: Node<'_>, old: &[Value], new: &[Value]) -> Option<()> {
        let items: Vec<Node<'_>> = node.items().collect();
        let pairs = pairs(old, new)?;
        if pairs.is_empty() {
            return None;
        }
        let dash = self.dash(*items.first()?)?;
        let column = self.column(dash)?;
        for (n, item) in items.iter().enumerate() {
            match pairs.iter().find(|(o, _)| *o == n).and_then(|(_, to)| new.get(*to)) {
                Some(value) => {
                    let before = self.splices.len();
                    if self.node(*item, value).is_none() {
                        (!is_anchored(*item)).then_some(())?;
                        self.splices.truncate(before);
                        let span = self.dash(*item)?..written_end(self.text, *item, *item)?;
                        self.splices.push(Splice { span, with: emit::item(value, column) });
                    }
                }
                None if is_anchored(*item) => return None,
                None => {
                    let start = self.line_start(self.dash(*item)?)?;
                    let end = self.next_line(written_end(self.text, *item, *item)?);
                    self.splices.push(Splice { span: start..end, with: String::new() });
                }
            }
        }
        let mut added: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for (n, value) in new.iter().enumerate() {
            if pairs.iter().any(|(_, to)| *to == n) {
                continue;
            }
            let behind = pairs.iter().filter(|(_, to)| *to < n).max_by_key(|(_, to)| *to);
            let at = match behind.and_then(|(from, _)| items.get(*from)) {
                Some(item) => self.next_line(written_end(self.text, *item, *item)?),
                None => dash,
            };
            added.entry(at).or_default().push(emit::item(value, column));
        }
        self.insert(added, dash, column);
        Some(())
    }

    /// Inserts lines at the starts of lines, or before what is `first` on its own line.
    fn insert(&mut self, added: BTreeMap<usize, Vec<String>>, first: usize, column: usize) {
        for (at, lines) in added {
            let open = at > 0 && !self.text.get(..at).is_some_and(|t| t.ends_with('\n'));
            let with: String = match at == first {
                true => lines.iter().map(|line| format!("{line}\n{:column$}", "")).collect(),
                false if open => lines.iter().map(|line| format!("\n{:column$}{line}", "")).collect(),
                false => lines.iter().map(|line| format!("{:column$}{line}\n", "")).collect(),
            };
            self.splices.push(Splice { span: at..at, with });
        }
    }

    /// Removes an entry with its lines; the first behind a dash leaves the dash.
    fn remove<'n>(
        &mut self,
        key: Node<'_>,
        below: Node<'_>,
        entries: impl Iterator<Item = (Node<'n>, Node<'n>)>,
    ) -> Option<()> {
        if is_anchored(below) {
            return None;
        }
        let start = key.span().start;
        let end = self.next_line(written_end(self.text, key, below)?);
        let span = match self.line_start(start) {
            Some(line) => line..end,
            None => start..entries.map(|(k, _)| k.span().start).find(|s| *s > start)?,
        };
        self.splices.push(Splice { span, with: String::new() });
        Some(())
    }

    /// Finds the dash before an item.
    pub(super) fn dash(&self, item: Node<'_>) -> Option<usize> {
        let before = self.text.get(..item.span().start)?;
        let trimmed = before.trim_end_matches([' ', '\t', '\n', '\r']);
        trimmed.ends_with('-').then(|| trimmed.len() - 1)
    }

    /// Returns the start of a line on which only blanks, or dashes of outer lists, stand before a position.
    pub(super) fn line_start(&self, at: usize) -> Option<usize> {
        let start = self.line_start_of(at);
        let before = self.text.get(start..at)?;
        before.trim_matches([' ', '-']).is_empty().then_some(start).filter(|_| !before.contains('-'))
    }

    fn line_start_of(&self, at: usize) -> usize {
        self.text.get(..at).and_then(|t| t.rfind('\n')).map_or(0, |n| n + 1)
    }

    pub(super) fn next_line(&self, at: usize) -> usize {
        let rest = self.text.get(at..).unwrap_or_default();
        rest.find('\n').map_or(self.text.len(), |n| at + n + 1)
    }

    pub(super) fn column(&self, at: usize) -> Option<usize> {
        let line = self.text.get(self.line_start_of(at)..at)?;
        line.chars().all(|c| matches!(c, ' ' | '-')).then_some(line.len())
    }
}

/// Tells whether something elsewhere may refer to a node, or to one in it.
fn is_anchored(node: Node<'_>) -> bool {
    node.has_anchor()
        || !node.is_alias()
            && (node.items().any(is_anchored) || node.entries().any(|(_, below)| is_anchored(below)))
}

/// Tells whether a value stands under a quoted key of a flow mapping, as in JSON.
fn is_json(node: Node<'_>) -> bool {
    let mut around = std::iter::successors(Some(node), |n| n.parent()).filter_map(Node::key);
    around.next().is_some_and(|key| {
        key.style() == Some(Style::DoubleQuoted) && key.parent().is_some_and(Node::is_flow)
    })
}

/// Pairs the items of two lists that are the same one, in ascending order on both sides.
fn pairs(old: &[Value], new: &[Value]) -> Option<Vec<(usize, usize)>> {
    if let (Some(before), Some(after)) = (names(old), names(new)) {
        let places = after.iter().enumerate().map(|(n, name)| (*name, n)).collect::<BTreeMap<_, _>>();
        let pairs: Vec<_> =
            before.iter().enumerate().filter_map(|(n, name)| Some((n, *places.get(name)?))).collect();
        return pairs.is_sorted_by_key(|(_, to)| *to).then_some(pairs);
    }
    if old.len().saturating_mul(new.len()) > CEILING {
        return None;
    }
    Some(with_gaps(longest_common(old, new), old.len(), new.len()))
}

/// Pairs what lies between items that are the same, where it is equally much on both sides.
fn with_gaps(same: Vec<(usize, usize)>, old: usize, new: usize) -> Vec<(usize, usize)> {
    let (mut n, mut m, mut all) = (0, 0, Vec::new());
    for (to_n, to_m) in same.into_iter().chain([(old, new)]) {
        if to_n - n == to_m - m {
            all.extend((n..to_n).zip(m..to_m));
        }
        all.extend((to_n < old).then_some((to_n, to_m)));
        (n, m) = (to_n + 1, to_m + 1);
    }
    all
}

/// Returns the items' names, where each has one of its own.
fn names(items: &[Value]) -> Option<Vec<&str>> {
    let names: Option<Vec<&str>> = items.iter().map(|item| item.get("name")?.as_str()).collect();
    names.filter(|names| names.iter().collect::<BTreeSet<_>>().len() == names.len())
}

fn longest_common(old: &[Value], new: &[Value]) -> Vec<(usize, usize)> {
    let width = new.len() + 1;
    let mut lengths = vec![0_usize; (old.len() + 1) * width];
    let at = |n: usize, m: usize| n * width + m;
    for (n, a) in old.iter().enumerate().rev() {
        for (m, b) in new.iter().enumerate().rev() {
            lengths[at(n, m)] = match same(a, b) {
                true => lengths[at(n + 1, m + 1)] + 1,
                false => lengths[at(n + 1, m)].max(lengths[at(n, m + 1)]),
            };
        }
    }
    let (mut n, mut m, mut found) = (0, 0, Vec::new());
    while let (Some(a), Some(b)) = (old.get(n), new.get(m)) {
        if same(a, b) {
            found.push((n, m));
            (n, m) = (n + 1, m + 1);
        } else if lengths[at(n + 1, m)] >= lengths[at(n, m + 1)] {
            n += 1;
        } else {
            m += 1;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{edit::spliced, yaml::Stream};
    use serde_json::json;

    fn grafted(text: &str, new: Value) -> String {
        let stream = Stream::parse(text).unwrap();
        let splices = graft(text, stream.roots().next().unwrap(), &new).unwrap();
        let out = spliced(text, &splices).unwrap();
        assert!(same(&value::read(&out).unwrap(), &new), "{out}");
        out
    }

    #[test]
    fn fields_are_changed_added_and_removed_around_comments() {
        let text = "# top\na: 'x' # why\nb:\n    c: 1\n    # about d\n    d: [1, 2]\n    e: |\n        t\nl:\n    - name: p\n      i: v1 # pin\n      gone: {a: b}\n    - name: q\n      i: v1\n";
        let new = json!({"a": "y", "b": {"c": 1, "new": {"m": [1, {"k": "v"}]}, "d": [1], "e": "u\nv\n"},
            "l": [{"name": "p", "i": "v2"}, {"name": "r", "i": "v3"}, {"name": "q", "i": "v1", "z": "yes"}], "last": true});
        let wanted = "# top\na: 'y' # why\nb:\n    c: 1\n    new:\n      m:\n      - 1\n      - k: v\n    # about d\n    d: [1]\n    e: |\n        u\n        v\nl:\n    - name: p\n      i: v2 # pin\n    - name: r\n      i: v3\n    - name: q\n      i: v1\n      z: \"yes\"\nlast: true\n";
        assert_eq!(grafted(text, new), wanted);
    }

    #[test]
    fn items_without_names_are_found_by_what_they_are() {
        let text = "rules:\n- a\n- b # keep\n- c\n";
        assert_eq!(grafted(text, json!({"rules": ["b", "c", "d"]})), "rules:\n- b # keep\n- c\n- d\n");
        assert_eq!(grafted(text, json!({"rules": ["a", "c"]})), "rules:\n- a\n- c\n");
        assert_eq!(grafted(text, json!({"rules": []})), "rules: []\n");
        assert_eq!(grafted("a:\n- x: 1\n  y: 2\n- z\n", json!({"a": [{"y": 2}, "z"]})), "a:\n- y: 2\n- z\n");
        assert_eq!(grafted("a: 1\nb: {c: 1}\n", json!({"a": {"x": [1]}, "b": 2})), "a:\n  x:\n  - 1\nb: 2\n");
    }

    #[test]
    fn json_stays_json() {
        let text = "{\n  \"a\": {\"b\": \"x\", \"n\": 1},\n  \"l\": [{\"c\": \"d\"}]\n}\n";
        let wanted = "{\n  \"a\": {\"b\": \"y\", \"n\": \"z\"},\n  \"l\": [{\"c\":\"e\",\"f\":[2]}]\n}\n";
        assert_eq!(grafted(text, json!({"a": {"b": "y", "n": "z"}, "l": [{"c": "e", "f": [2]}]})), wanted);
        let text =
            "{\n    \"l\": [\n        {\n            \"a\": 1,\n            \"c\": 3\n        }\n    ]\n}\n";
        let wanted = text.replace("1,\n", "1,\n            \"b\": 2,\n");
        assert_eq!(grafted(text, json!({"l": [{"a": 1, "b": 2, "c": 3}]})), wanted);
        assert_eq!(
            grafted(text, json!({"l": ["x", "y"]})),
            "{\n    \"l\": [\n        \"x\",\n        \"y\"\n    ]\n}\n"
        );
    }

    #[test]
    fn anchors_stay_with_their_aliases() {
        let text = "a: &a 1 # one\nb: *a\nc: 2\n";
        assert_eq!(grafted(text, json!({"a": 1, "b": 1, "c": 3})), "a: &a 1 # one\nb: *a\nc: 3\n");
        assert_eq!(grafted(text, json!({"a": 1, "b": 4, "c": 2})), "a: &a 1 # one\nb: 4\nc: 2\n");
        let refused = |text: &str, new: Value| {
            graft(text, Stream::parse(text).unwrap().roots().next().unwrap(), &new).is_none()
        };
        assert!(refused(text, json!({"a": 2, "b": 1, "c": 2})), "the alias would change with it");
        assert!(refused(text, json!({"b": 1, "c": 2})));
        assert!(refused("l:\n- &a {x: 1}\n- y\n- *a\n", json!({"l": ["y", {"x": 1}]})));
        let text = "a: &a {x: 1}\nb:\n  <<: *a\n  z: 1\n";
        let wanted = "a: &a {x: 1}\nb:\n  x: 1\n  z: 2\n";
        assert_eq!(grafted(text, json!({"a": {"x": 1}, "b": {"x": 1, "z": 2}})), wanted);
    }
}
