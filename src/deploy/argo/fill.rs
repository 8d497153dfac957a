//! The two template languages of an ApplicationSet.
//!
//! Source: `applicationset/utils/utils.go`. Without `goTemplate` a text's `{{name}}` is replaced where a parameter is a
//! text (valyala/fasttemplate) and stays where it is none.

use indexmap::IndexMap;

use super::element::Element;
use crate::deploy::{
    go_template::{BYTES, Budget, Scope, Stop, Templates},
    note::{About, Bound},
    typed::is_true,
    value::{Part, Scalar, Value},
};

/// Notes of one ApplicationSet: who has more reads the first.
const NOTES: usize = 1_000;

/// How the texts of one ApplicationSet are filled.
pub(super) struct Language {
    /// Whether texts are Go templates.
    pub go: bool,
    /// Whether a key that is not there is an error.
    pub strict: bool,
    templates: Templates,
    budget: Budget,
    /// What was not followed.
    pub notes: Vec<About>,
    /// The outcomes of conditions that the last text had.
    pub outcomes: usize,
}

// === impl Language ===

impl Language {
    /// Reads `goTemplate` and `goTemplateOptions`.
    pub fn of(spec: &Value) -> Self {
        let go = is_true(spec, &["goTemplate"]);
        let options = spec.list_at("goTemplateOptions").iter().filter_map(Value::as_scalar);
        // Of several the last counts.
        let mut strict = false;
        for option in options {
            strict = match &*option.text() {
                "missingkey=error" => true,
                option if option.starts_with("missingkey=") => false,
                _ => strict,
            };
        }
        Self {
            go,
            strict,
            templates: Templates::new("{{", "}}"),
            budget: Budget::default(),
            notes: Vec::new(),
            outcomes: 1,
        }
    }

    /// Notes something once.
    pub fn note(&mut self, about: About) {
        if self.notes.len() < NOTES && !self.notes.contains(&about) {
            self.notes.push(about);
        }
    }

    /// Fills a text; `outcome` says which way conditions go that the tree does not decide.
    pub fn text(&mut self, text: &Scalar, element: &Element, outcome: usize) -> Result<Scalar, Stop> {
        if !text.text().contains("{{") {
            return Ok(text.clone());
        }
        if !self.go {
            self.budget.spend(text.text().len())?;
            let (filled, bytes) = fast(text, element)?;
            self.budget.spend(bytes)?;
            return Ok(filled);
        }
        let scope = Scope {
            dot: &element.parameters,
            inputs: None,
            own: None,
            named: None,
            open: element.open.as_ref(),
            strict: self.strict,
            outcome,
        };
        self.budget.spend(text.text().len())?;
        let filled = self.templates.fill(text, scope)?;
        self.budget.spend(filled.cost)?;
        self.outcomes = self.outcomes.max(filled.outcomes);
        filled.notes.into_iter().for_each(|about| self.note(about));
        Ok(filled.text)
    }

    /// Fills every text of a value, keys too; texts stay texts.
    pub fn value(&mut self, value: &Value, element: &Element, outcome: usize) -> Result<Option<Value>, Stop> {
        Ok(match value {
            Value::Scalar(scalar) if scalar.text().contains("{{") => {
                Some(Value::Scalar(self.text(scalar, element, outcome)?.as_string()))
            }
            Value::Scalar(_) => None,
            Value::List(items) => {
                let mut new: Option<Vec<Value>> = None;
                for (at, item) in items.iter().enumerate() {
                    if let Some(item) = self.value(item, element, outcome)? {
                        new.get_or_insert_with(|| items.to_vec())[at] = item;
                    }
                }
                new.map(Value::list)
            }
            Value::Map(map) => {
                let mut new: Option<IndexMap<std::sync::Arc<str>, Value>> = None;
                for (at, value) in map.values().enumerate() {
                    if let Some(value) = self.value(value, element, outcome)? {
                        new.get_or_insert_with(|| IndexMap::clone(map))[at] = value;
                    }
                }
                let keys: Vec<_> = map.keys().filter(|key| key.contains("{{")).cloned().collect();
                for key in keys {
                    let new_key = self.text(&Scalar::made(&key), element, outcome)?.text().into_owned();
                    let out = new.get_or_insert_with(|| IndexMap::clone(map));
                    if let Some(value) = out.shift_remove(&key) {
                        out.insert(new_key.into(), value);
                    }
                }
                new.map(|map| Value::Map(std::sync::Arc::new(map)))
            }
        })
    }
}

/// Replaces the tags of a text as fasttemplate does; returns with it how many bytes were put in.
fn fast(text: &Scalar, element: &Element) -> Result<(Scalar, usize), Stop> {
    let whole = text.text();
    // A line must have both, or Argo CD does not look at the text.
    let has_tag = |line: &str| line.split_once("{{").is_some_and(|(_, behind)| behind.contains("}}"));
    if !whole.split('\n').any(has_tag) {
        return Ok((text.clone(), 0));
    }
    let mut parts: Vec<Part> = Vec::new();
    let (mut at, mut bytes) = (0, 0);
    while let Some(open) = whole.get(at..).and_then(|rest| rest.find("{{")) {
        let start = at + open + 2;
        let length = whole.get(start..).and_then(|rest| rest.find("}}"));
        let Some(length) = length else {
            return Err(Stop::Refused("Cannot find end tag=\"}}\"".to_owned()));
        };
        let tag = whole.get(start..start + length).unwrap_or_default().trim();
        parts.extend_from_slice(text.cut(at..start - 2).parts());
        at = start + length + 2;
        match element.parameters.entry(tag) {
            Some(Value::Scalar(value)) if !tag.is_empty() && (!value.plain || is_text(value)) => {
                bytes += value.parts().iter().map(|part| part.text().len()).sum::<usize>();
                if bytes > BYTES {
                    return Err(Stop::Bound(Bound::Bytes(BYTES)));
                }
                parts.extend_from_slice(value.read_by(&text.cut(start - 2..at)).parts());
            }
            None if let Some(open) = element.open.as_ref().filter(|_| !tag.is_empty()) => {
                let asked = Scalar::of([Part::Unknown(open.clone())], false);
                parts.extend_from_slice(asked.asked_by(&text.cut(start - 2..at)).parts());
            }
            _ => parts.extend_from_slice(text.cut(start - 2..at).parts()),
        }
    }
    parts.extend_from_slice(text.cut(at..whole.len()).parts());
    Ok((Scalar::of(parts, text.plain), bytes))
}

fn is_text(value: &Scalar) -> bool {
    matches!(crate::deploy::typed::typed(value), crate::deploy::typed::Typed::Text(_))
}
