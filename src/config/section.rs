//! A section of the configuration as written: each of its entries checked against the table of keys.
//!
//! In: a node of the file. Out: its texts with their places; unknown and repeated keys, wrong types and keys that do not
//! work yet are noted.

use std::{cell::RefCell, ops::Range};

use super::{
    error::Mistakes,
    keys::{self, KEYS, Key, Shape, Text},
    nearest,
};
use crate::yaml::{Node, Style};

/// The longest text and the longest list that are read.
const MAX_TEXT: usize = 4096;
const MAX_ITEMS: usize = 1000;

/// A value and the bytes that it was written in.
#[derive(Clone, Debug)]
pub(super) struct Spanned<T> {
    pub value: T,
    pub span: Range<usize>,
}

pub(super) type Word = Option<Spanned<String>>;
pub(super) type Words = Option<Vec<Spanned<String>>>;

/// A mapping of the file, checked against the table.
pub(super) struct Section<'r, 'a> {
    text: &'a str,
    node: Option<Node<'a>>,
    path: &'static str,
    mistakes: &'r RefCell<&'r mut Mistakes>,
}

// === impl Section ===

impl<'r, 'a> Section<'r, 'a> {
    /// Opens a mapping and notes every structural mistake in its own entries.
    pub(super) fn open(
        text: &'a str,
        node: Option<Node<'a>>,
        path: &'static str,
        mistakes: &'r RefCell<&'r mut Mistakes>,
    ) -> Self {
        let section = Self { text, node, path, mistakes };
        let entries: Vec<_> = node.into_iter().flat_map(Node::entries).take(MAX_ITEMS).collect();
        for (n, (key, value)) in entries.iter().enumerate() {
            let Some(name) = key.as_str() else {
                section.wrong(*key, path, "a key must be a name", "");
                continue;
            };
            if entries.iter().take(n).any(|(k, _)| k.as_str() == Some(name)) {
                section.wrong(
                    *key,
                    &section.full(name),
                    format!("`{name}` is written twice"),
                    "keep one of them",
                );
            } else {
                section.check(name, *key, *value);
            }
        }
        section
    }

    fn check(&self, name: &str, key: Node<'a>, value: Node<'a>) {
        let full = self.full(name);
        match keys::children(self.path).find(|k| k.name() == name) {
            Some(known) => {
                if let Some(reason) = self.shape_fault(known.shape, value) {
                    let hint = format!("it must be {}", known.shape.expected());
                    self.wrong(value, &full, format!("`{full}` {reason}"), hint);
                }
                if let Shape::Texts(text) = known.shape {
                    self.check_items(&full, value, text);
                }
            }
            None if name == "<<" => {
                self.wrong(key, &full, "merge keys are not read in this file", "write the keys out");
            }
            None => self.wrong(key, &full, format!("`{full}` is not a key"), self.suggestion(name)),
        }
    }

    fn check_items(&self, full: &str, list: Node<'a>, text: Text) {
        for item in list.items().take(MAX_ITEMS) {
            if let Some(reason) = self.shape_fault(Shape::Text(Text::Free), item) {
                let hint = format!("it must be {}", text.expected());
                self.wrong(item, full, format!("an item of `{full}` {reason}"), hint);
            }
        }
    }

    /// Says what is wrong with the type of a value, as the end of a sentence.
    fn shape_fault(&self, shape: Shape, value: Node<'a>) -> Option<String> {
        let typed = self.typed(value);
        match shape {
            _ if typed == "nothing" => Some("has no value".to_owned()),
            Shape::Section | Shape::Like(_) => (typed != "a section").then(|| format!("is {typed}")),
            Shape::SectionsOr(word) if value.as_str().is_some() => (value.as_str() != Some(word))
                .then(|| format!("cannot be `{}`", value.as_str().unwrap_or_default())),
            Shape::Sections | Shape::SectionsOr(_) | Shape::OneOrMore | Shape::Texts(_)
                if value.items().count() > MAX_ITEMS =>
            {
                Some(format!("has more than {MAX_ITEMS} items"))
            }
            Shape::Sections | Shape::SectionsOr(_) | Shape::Texts(_) => {
                (typed != "a list").then(|| format!("is {typed}"))
            }
            Shape::OneOrMore => (!matches!(typed, "a section" | "a list")).then(|| format!("is {typed}")),
            Shape::Format => (value.as_str().is_none()).then(|| format!("is {typed}")),
            Shape::Bool => (typed != "a boolean").then(|| format!("is {typed}")),
            Shape::Word(words) => match value.as_str() {
                Some(word) => (!words.contains(&word)).then(|| format!("cannot be `{word}`")),
                None => Some(format!("is {typed}")),
            },
            // A version such as 1.30 is a number to YAML, and its text is what counts.
            Shape::Text(Text::Kubernetes) if typed == "a number" => None,
            Shape::Text(_) => match value.as_str() {
                Some(word) if word.len() > MAX_TEXT => Some(format!("is longer than {MAX_TEXT} bytes")),
                _ => (typed != "a text").then(|| format!("is {typed}")),
            },
        }
    }

    /// Returns what YAML takes a node for.
    fn typed(&self, node: Node<'a>) -> &'static str {
        if node.is_mapping() {
            return "a section";
        }
        if node.is_sequence() {
            return "a list";
        }
        if node.style() != Some(Style::Plain) || node.resolved().tag().is_some() {
            return "a text";
        }
        match serde_yaml::from_str(node.as_str().unwrap_or_default()) {
            Ok(serde_yaml::Value::Null) => "nothing",
            Ok(serde_yaml::Value::Bool(_)) => "a boolean",
            Ok(serde_yaml::Value::Number(_)) => "a number",
            _ => "a text",
        }
    }

    fn suggestion(&self, name: &str) -> String {
        let names: Vec<&str> = keys::children(self.path).map(Key::name).collect();
        if let Some(near) = nearest(name, names.iter().copied()) {
            return format!("did you mean `{}`?", self.full(near));
        }
        if let Some(elsewhere) = KEYS.iter().find(|k| k.name() == name) {
            return format!("did you mean `{}`?", elsewhere.path);
        }
        let ready = keys::children(self.path);
        format!("there are {}", ready.map(|k| format!("`{}`", k.name())).collect::<Vec<_>>().join(", "))
    }

    /// Returns one text; `None` where there is none or where its type was noted as wrong.
    pub(super) fn word(&self, name: &str) -> Word {
        let (shape, value) = self.entry(name)?;
        let sound = self.shape_fault(shape, value).is_none();
        sound.then(|| value.as_str().map(|v| Spanned { value: v.to_owned(), span: value.span() }))?
    }

    /// Returns a list of texts, without the items whose type was noted as wrong.
    pub(super) fn words(&self, name: &str) -> Words {
        let (shape, value) = self.entry(name)?;
        if self.shape_fault(shape, value).is_some() {
            return None;
        }
        let sound = |item: &Node<'a>| self.shape_fault(Shape::Text(Text::Free), *item).is_none();
        let spanned = |item: Node<'a>| Some(Spanned { value: item.as_str()?.to_owned(), span: item.span() });
        Some(value.items().filter(sound).filter_map(spanned).collect())
    }

    /// Opens the section under a key; an empty one where there is none.
    pub(super) fn section(&self, name: &str) -> Section<'r, 'a> {
        let Some(key) = keys::children(self.path).find(|k| k.name() == name) else {
            return Section { text: self.text, node: None, path: "", mistakes: self.mistakes };
        };
        let path = match key.shape {
            Shape::Like(other) => other,
            _ => key.path,
        };
        let node = self.entry(name).map(|(_, value)| value).filter(|v| v.is_mapping());
        Section::open(self.text, node, path, self.mistakes)
    }

    /// Opens each section of a list.
    pub(super) fn sections(&self, name: &str) -> Option<Spanned<Vec<Section<'r, 'a>>>> {
        let (shape, list) = self.entry(name)?;
        if self.shape_fault(shape, list).is_some() || !list.is_sequence() {
            return None;
        }
        let items = format!("{}[]", self.full(name));
        let path = KEYS.iter().find_map(|key| key.path.get(..items.len()).filter(|path| *path == items))?;
        Some(Spanned { value: self.items(name, list, path), span: list.span() })
    }

    /// Opens the section under a key, or each of a list there.
    pub(super) fn one_or_more(&self, name: &str) -> Vec<Section<'r, 'a>> {
        let known = keys::children(self.path).find(|key| key.name() == name);
        match (self.entry(name), known) {
            (Some((_, one)), Some(key)) if one.is_mapping() => {
                vec![Section::open(self.text, Some(one), key.path, self.mistakes)]
            }
            (Some((_, list)), Some(key)) => self.items(key.path, list, key.path),
            _ => Vec::new(),
        }
    }

    fn items(&self, name: &str, list: Node<'a>, path: &'static str) -> Vec<Section<'r, 'a>> {
        let mut sections = Vec::new();
        for item in list.items() {
            match item.is_mapping() {
                true => sections.push(Section::open(self.text, Some(item), path, self.mistakes)),
                false => {
                    let reason = format!("an item of `{name}` is {}", self.typed(item));
                    self.wrong(item, name, reason, "it must be a section with keys of its own");
                }
            }
        }
        sections
    }

    fn entry(&self, name: &str) -> Option<(Shape, Node<'a>)> {
        let known = keys::children(self.path).find(|k| k.name() == name)?;
        // The first of a repeated key, as that is the one whose type was checked.
        let (_, value) = self.node?.entries().find(|(k, _)| k.as_str() == Some(name))?;
        Some((known.shape, value))
    }

    pub(super) fn span(&self) -> Range<usize> {
        // A section's own span reaches over all its lines; its first key is where to look.
        self.node.and_then(|n| n.entries().next()).map_or(0..0, |(key, _)| key.span())
    }

    fn full(&self, name: &str) -> String {
        match self.path {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        }
    }

    fn wrong(&self, node: Node<'_>, key: &str, reason: impl Into<String>, hint: impl Into<String>) {
        let span = node.span();
        // Only the first line of a collection is marked.
        let shown =
            self.text.get(span.clone()).and_then(|t| t.find('\n')).map_or(span.end, |n| span.start + n);
        self.mistakes.borrow_mut().add(span.start..shown, key, reason, hint);
    }
}

/// Tells whether a node is YAML's nothing.
pub(super) fn is_null(text: &str, node: Node<'_>) -> bool {
    node.style() == Some(Style::Plain)
        && matches!(text.get(node.span()), Some("" | "~" | "null" | "Null" | "NULL"))
}
