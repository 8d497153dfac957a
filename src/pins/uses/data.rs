//! Step 5, pins: a piece of YAML that can be patched and filled in memory.
//!
//! In: a node. Out: [`Data`], and text of it in flow form. Scalars keep their text, so that whoever reads them types
//! them; nothing of this is ever written to the repository.

use std::collections::BTreeMap;

use crate::yaml::{Node, Style, core};

/// The most values that one piece may unfold to through its aliases.
const CEILING: usize = 200_000;
/// The deepest nesting, aliases followed.
const DEPTH: usize = 100;

/// What stands around a part of a text that only somebody outside the tree knows: characters that no text has.
pub(super) const OPEN: char = '\u{f8f0}';
/// See [`OPEN`].
pub(super) const CLOSE: char = '\u{f8f1}';

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Data {
    /// A mapping.
    Map(BTreeMap<String, Data>),
    /// A sequence.
    List(Vec<Data>),
    /// A scalar; a plain one is typed by who reads it.
    Scalar {
        /// Its text.
        text: String,
        /// Whether it was written without quotes.
        plain: bool,
    },
}

/// A scalar whose text is not known, at its path in Helm's syntax.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hole {
    /// `proxy.image.version`, `list[0]`, `podAnnotations.a\.b/c`.
    pub path: String,
    /// Who knows it.
    pub what: String,
}

// === impl Data ===

impl Data {
    /// An empty mapping.
    pub fn empty() -> Self {
        Self::Map(BTreeMap::new())
    }

    /// A text that is no other type.
    pub fn string(text: &str) -> Self {
        Self::Scalar { text: text.to_owned(), plain: false }
    }

    /// Reads a node; `None` over a ceiling.
    pub fn read(node: Node<'_>) -> Option<Self> {
        unfold(node, DEPTH, &mut { CEILING })
    }

    /// Parses the first document of a text as a mapping; an empty text is an empty one.
    pub fn parse(text: &str) -> Option<Self> {
        let stream = crate::yaml::Stream::parse(text).ok()?;
        let Some(root) = stream.roots().next() else { return Some(Self::empty()) };
        match Self::read(root)? {
            Self::Scalar { text, plain: true } if is_null(&text) => Some(Self::empty()),
            data @ Self::Map(_) => Some(data),
            _ => None,
        }
    }

    /// Returns the value under a key.
    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Map(map) => map.get(key).filter(|v| !v.is_null()),
            _ => None,
        }
    }

    /// Returns the value under a path of keys.
    pub fn path(&self, keys: &[&str]) -> Option<&Self> {
        keys.iter().try_fold(self, |data, key| data.get(key))
    }

    /// Returns the text under a path of keys, where it is not empty.
    pub fn text(&self, keys: &[&str]) -> Option<&str> {
        self.path(keys)?.as_str().filter(|t| !t.is_empty())
    }

    /// Returns a scalar's text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// Returns the items of a sequence.
    pub fn items(&self) -> &[Self] {
        match self {
            Self::List(items) => items,
            _ => &[],
        }
    }

    /// Returns the items of the sequence under a key.
    pub fn list(&self, key: &str) -> &[Self] {
        self.get(key).map_or(&[], Self::items)
    }

    /// Returns the texts of the sequence under a key.
    pub fn texts(&self, key: &str) -> Vec<&str> {
        self.list(key).iter().filter_map(Self::as_str).collect()
    }

    /// Tells whether the value under a key is true.
    pub fn is_true(&self, key: &str) -> bool {
        self.get(key).and_then(Self::truth) == Some(true)
    }

    /// Returns a boolean.
    pub fn truth(&self) -> Option<bool> {
        match self.as_str()? {
            "true" | "True" | "TRUE" => Some(true),
            "false" | "False" | "FALSE" => Some(false),
            _ => None,
        }
    }

    /// Tells whether this is a null.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Scalar { text, plain: true } if is_null(text))
    }

    /// Lays a patch over it as kustomize does with objects that it has no schema of: mappings are merged, all else is
    /// replaced, `null` and `$patch: delete` remove.
    pub fn merge(&mut self, patch: &Self) {
        let (Self::Map(map), Self::Map(over)) = (&mut *self, patch) else {
            *self = patch.clone();
            return;
        };
        if over.get("$patch").and_then(Self::as_str) == Some("replace") {
            map.clear();
        }
        for (key, value) in over.iter().filter(|(key, _)| *key != "$patch") {
            let deleted = value.get("$patch").and_then(Self::as_str) == Some("delete");
            if value.is_null() || deleted {
                map.remove(key);
            } else {
                let below = map.entry(key.clone()).or_insert_with(Self::empty);
                if matches!((&*below, value), (Self::Map(_), Self::Map(_))) {
                    below.merge(value);
                } else {
                    *below = value.clone();
                }
            }
        }
    }

    /// Carries out a JSON operation (RFC 6902); `None` where it cannot be.
    pub fn operate(&mut self, op: &Self) -> Option<()> {
        let pointer = op.get("path")?.as_str()?;
        let keys: Vec<String> =
            pointer.split('/').skip(1).map(|s| s.replace("~1", "/").replace("~0", "~")).collect();
        let (last, above) = keys.split_last()?;
        let verb = op.text(&["op"])?;
        let mut at = self;
        for key in above {
            at = match at {
                Self::Map(map) => map.get_mut(key)?,
                Self::List(items) => items.get_mut(key.parse::<usize>().ok()?)?,
                Self::Scalar { .. } => return None,
            };
        }
        match (verb, at) {
            ("remove", Self::Map(map)) => map.remove(last).map(drop),
            ("add" | "replace", Self::Map(map)) => {
                map.insert(last.clone(), op.get("value")?.clone());
                Some(())
            }
            ("remove", Self::List(items)) => {
                let index = last.parse::<usize>().ok().filter(|n| *n < items.len())?;
                items.remove(index);
                Some(())
            }
            ("replace", Self::List(items)) => {
                *items.get_mut(last.parse::<usize>().ok()?)? = op.get("value")?.clone();
                Some(())
            }
            ("add", Self::List(items)) => {
                let index = if last == "-" { items.len() } else { last.parse().ok()? };
                (index <= items.len()).then(|| items.insert(index, Self::string("")))?;
                *items.get_mut(index)? = op.get("value")?.clone();
                Some(())
            }
            _ => None,
        }
    }

    /// Replaces the texts of scalars; `None` leaves one as it is. With `typed` a new text is typed by who reads it.
    pub fn fill(&mut self, typed: bool, new: &dyn Fn(&str) -> Option<String>) {
        match self {
            Self::Map(map) => map.values_mut().for_each(|v| v.fill(typed, new)),
            Self::List(items) => items.iter_mut().for_each(|v| v.fill(typed, new)),
            Self::Scalar { text, plain } => {
                if let Some(filled) = new(text) {
                    *text = filled;
                    *plain |= typed;
                }
            }
        }
    }

    /// Takes out the scalars whose text is not known.
    pub fn settle(&mut self) -> Vec<Hole> {
        let mut holes = Vec::new();
        self.settle_at("", &mut holes);
        holes
    }

    fn settle_at(&mut self, path: &str, holes: &mut Vec<Hole>) {
        match self {
            Self::Map(map) => {
                for (key, value) in map.iter_mut() {
                    let key = escaped(key);
                    let path = if path.is_empty() { key } else { format!("{path}.{key}") };
                    value.settle_at(&path, holes);
                }
                map.retain(|_, v| v.as_str().is_none_or(|text| unknown(text).is_none()));
            }
            Self::List(items) => {
                for (n, item) in items.iter_mut().enumerate() {
                    item.settle_at(&format!("{path}[{n}]"), holes);
                    if item.as_str().is_some_and(|text| unknown(text).is_some()) {
                        // A list keeps its length, so that the paths of the others hold.
                        *item = Self::string("");
                    }
                }
            }
            Self::Scalar { text, .. } => {
                holes.extend(unknown(text).map(|what| Hole { path: path.to_owned(), what }));
            }
        }
    }

    /// Writes it in flow form, on one line.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out.push('\n');
        out
    }

    fn write(&self, out: &mut String) {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        match self {
            Self::Map(map) => {
                out.push('{');
                for (n, (key, value)) in map.iter().enumerate() {
                    out.push_str(if n == 0 { "" } else { ", " });
                    out.push_str(&quoted(key));
                    out.push_str(": ");
                    value.write(out);
                }
                out.push('}');
            }
            Self::List(items) => {
                out.push('[');
                for (n, item) in items.iter().enumerate() {
                    out.push_str(if n == 0 { "" } else { ", " });
                    item.write(out);
                }
                out.push(']');
            }
            Self::Scalar { text, plain: true } if is_null(text) => out.push_str("null"),
            // What would be text anyway is quoted, since a flow mapping reads more of it as its own.
            Self::Scalar { text, plain: true }
                if core::is_typed(text) && core::is_plain_piece(text) && !text.ends_with(':') =>
            {
                out.push_str(text);
            }
            Self::Scalar { text, .. } => out.push_str(&quoted(text)),
        }
    }
}

/// Says who knows the part of a text that is not known here, where there is one.
pub(super) fn unknown(text: &str) -> Option<String> {
    if text.starts_with("ENC[") {
        return Some("a value that SOPS encrypts".to_owned());
    }
    let (_, behind) = text.split_once(OPEN)?;
    Some(behind.split(CLOSE).next().unwrap_or_default().to_owned())
}

/// Marks a part of a text as known to somebody else.
pub(super) fn mark(what: &str) -> String {
    format!("{OPEN}{what}{CLOSE}")
}

/// Writes a key as a part of a path in Helm's syntax.
fn escaped(key: &str) -> String {
    let mut out = String::with_capacity(key.len());
    for c in key.chars() {
        if matches!(c, '.' | ',' | '[' | ']' | '=' | '\\' | '{' | '}') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

fn unfold(node: Node<'_>, depth: usize, left: &mut usize) -> Option<Data> {
    *left = left.checked_sub(1)?;
    let depth = depth.checked_sub(1)?;
    let node = node.resolved();
    if node.is_sequence() {
        return node.items().map(|item| unfold(item, depth, left)).collect::<Option<_>>().map(Data::List);
    }
    if node.is_mapping() {
        return mapping(node, depth, left).map(Data::Map);
    }
    let text = node.as_str().unwrap_or_default().to_owned();
    let plain = match node.tag() {
        None => node.style() == Some(Style::Plain),
        Some(tag) => matches!(tag.rsplit(':').next(), Some("int" | "float" | "bool" | "null")),
    };
    Some(Data::Scalar { text, plain })
}

fn mapping(node: Node<'_>, depth: usize, left: &mut usize) -> Option<BTreeMap<String, Data>> {
    let depth = depth.checked_sub(1)?;
    let mut map = BTreeMap::new();
    for source in node.merged() {
        for (key, value) in mapping(source.resolved(), depth, left)? {
            map.entry(key).or_insert(value);
        }
    }
    for (key, value) in node.entries() {
        if key.as_str() == Some("<<") && key.style() == Some(Style::Plain) {
            continue;
        }
        map.insert(key.as_str().unwrap_or_default().to_owned(), unfold(value, depth, left)?);
    }
    Some(map)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(text: &str) -> Data {
        Data::parse(text).unwrap()
    }

    #[test]
    fn text_keeps_types_and_cannot_be_broken_out_of() {
        let text = "a: yes\nb: 'yes'\nc: 0123\nd: ~\ne: 2024-01-0, x\nf: &f [1, *g]\n".replace(", *g", "");
        let out = data(&format!("{text}g: *f\nh: \"q\\\"]}}\"\ni: !!str 12\n")).to_text();
        assert_eq!(
            out,
            "{\"a\": yes, \"b\": \"yes\", \"c\": 0123, \"d\": null, \"e\": \"2024-01-0, x\", \"f\": [1], \
             \"g\": [1], \"h\": \"q\\\"]}\", \"i\": \"12\"}\n"
        );
        assert_eq!(data(&out).to_text(), out);
    }

    #[test]
    fn bombs_and_endless_chains_are_refused() {
        let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        (1..9).for_each(|n| {
            bomb.push_str(&format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 10].join(", ")));
        });
        assert!(Data::parse(&bomb).is_none());
        // What a reader of the text takes may still be too much here.
        let list = |item: &str, times| vec![item; times].join(", ");
        let wide = |times| format!("a: &a [{}]\nb: [{}]\n", list("x", 1000), list("*a", times));
        assert!(Data::parse(&wide(10)).is_some() && Data::parse(&wide(300)).is_none());
        assert!(crate::yaml::Stream::parse(&wide(300)).is_ok());
        let mut chain = String::from("a0: &a0 [x]\n");
        (1..20_000).for_each(|n| chain.push_str(&format!("a{n}: &a{n} [*a{}]\n", n - 1)));
        assert!(Data::parse(&chain).is_none());
    }

    #[test]
    fn patches_merge_and_operate() {
        let mut base = data("a: {x: 1, y: 2}\nl: [1, 2]\ngone: 1\n");
        base.merge(&data("a: {y: 3}\nl: [3]\ngone: null\nnew: {z: 1}\n"));
        assert_eq!(base.to_text(), data("a: {x: 1, y: 3}\nl: [3]\nnew: {z: 1}\n").to_text());
        for op in [
            "{op: replace, path: /a/x, value: 9}",
            "{op: add, path: /l/-, value: 4}",
            "{op: remove, path: /new}",
            "{op: add, path: /a~1b, value: {c: 1}}",
        ] {
            assert_eq!(base.operate(&data(op)), Some(()), "{op}");
        }
        assert_eq!(base.to_text(), data("a: {x: 9, y: 3}\nl: [3, 4]\na/b: {c: 1}\n").to_text());
        assert_eq!(base.operate(&data("{op: replace, path: /none/x, value: 1}")), None);
        assert_eq!(base.operate(&data("{op: add, path: /l/9, value: 1}")), None);
    }

    #[test]
    fn what_is_not_known_is_taken_out_with_its_path() {
        let mut base = data("a: {b.c: x, d: y}\nl: [x, y]\ns: ENC[AES256_GCM,data:a]\n");
        base.fill(false, &|text| (text == "x").then(|| format!("1-{}", mark("who"))));
        let holes: Vec<_> = base.settle().into_iter().map(|h| (h.path, h.what)).collect();
        let hole = |path: &str, what: &str| (path.to_owned(), what.to_owned());
        let sops = "a value that SOPS encrypts";
        assert_eq!(holes, [hole("a.b\\.c", "who"), hole("l[0]", "who"), hole("s", sops)]);
        assert_eq!(base.to_text(), data("a: {d: y}\nl: ['', y]\n").to_text());
    }
}
