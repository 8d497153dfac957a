//! Which objects a patch or a replacement means.

use regex::Regex;

use super::{
    gvk::Gvk,
    resource::{Id, Resource},
};
use crate::deploy::{expression::expression, value::Value};

/// Kinds, names and namespaces by regular expressions, labels and annotations by Kubernetes' selectors.
#[derive(Debug)]
pub(super) struct Selector {
    group: Pattern,
    version: Pattern,
    kind: Pattern,
    name: Pattern,
    namespace: Pattern,
    labels: Vec<Requirement>,
    annotations: Vec<Requirement>,
}

/// A regular expression for a whole text; an empty one fits all.
#[derive(Debug)]
enum Pattern {
    Any,
    Text(String),
    Expression(Box<Regex>),
}

#[derive(Debug)]
struct Requirement {
    key: String,
    operator: Operator,
}

#[derive(Debug)]
enum Operator {
    Exists,
    Absent,
    In(Vec<String>),
    NotIn(Vec<String>),
    Above(i64),
    Below(i64),
}

// === impl Selector ===

impl Selector {
    /// Reads a selector; `None` where an expression in it is none.
    pub fn of(value: &Value) -> Option<Self> {
        let text = |key: &str| value.text(&[key]).unwrap_or_default().into_owned();
        Some(Self {
            group: Pattern::of(text("group"))?,
            version: Pattern::of(text("version"))?,
            kind: Pattern::of(text("kind"))?,
            name: Pattern::of(text("name"))?,
            namespace: Pattern::of(text("namespace"))?,
            labels: requirements(&text("labelSelector"))?,
            annotations: requirements(&text("annotationSelector"))?,
        })
    }

    /// Tells whether a patch with this target means the object.
    pub fn selects(&self, resource: &Resource) -> bool {
        let (first, now) = (resource.first_id(), resource.id());
        (self.namespace.fits(&first.namespace) || self.namespace.fits(&now.namespace))
            && (self.name.fits(&first.name) || self.name.fits(&now.name))
            && self.fits_kind(&now.gvk)
            && self.fits_metadata(resource)
    }

    /// Tells whether a name of an object is meant.
    pub fn fits(&self, id: &Id) -> bool {
        self.fits_kind(&id.gvk) && self.name.fits(&id.name) && self.namespace.fits(&id.namespace)
    }

    /// Tells whether the object has the labels and annotations that are asked for.
    pub fn fits_metadata(&self, resource: &Resource) -> bool {
        let fit = |asked: &[Requirement], key: &str| {
            asked.is_empty() || {
                let map = resource.value.path(&["metadata", key]);
                asked.iter().all(|requirement| requirement.holds(map))
            }
        };
        fit(&self.labels, "labels") && fit(&self.annotations, "annotations")
    }

    /// Tells whether it asks for a kind, a name or a namespace.
    pub fn names_objects(&self) -> bool {
        [&self.group, &self.version, &self.kind, &self.name, &self.namespace]
            .iter()
            .any(|pattern| !matches!(pattern, Pattern::Any))
    }

    /// Tells whether it asks for labels or annotations.
    pub fn names_metadata(&self) -> bool {
        !self.labels.is_empty() || !self.annotations.is_empty()
    }

    fn fits_kind(&self, gvk: &Gvk) -> bool {
        self.kind.fits(&gvk.kind) && self.group.fits(&gvk.group) && self.version.fits(&gvk.version)
    }
}

// === impl Pattern ===

impl Pattern {
    fn of(text: String) -> Option<Self> {
        if text.is_empty() {
            return Some(Self::Any);
        }
        if text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_') {
            return Some(Self::Text(text));
        }
        expression(&format!("^(?:{text})$")).map(|regex| Self::Expression(Box::new(regex)))
    }

    fn fits(&self, text: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Text(own) => own == text,
            Self::Expression(regex) => regex.is_match(text),
        }
    }
}

// === impl Requirement ===

impl Requirement {
    fn holds(&self, map: Option<&Value>) -> bool {
        let value = map.and_then(|map| map.get(&self.key)).and_then(Value::as_scalar);
        let text = value.map(|scalar| scalar.text());
        let number = || text.as_deref().and_then(|text| text.parse::<i64>().ok());
        match &self.operator {
            Operator::Exists => text.is_some(),
            Operator::Absent => text.is_none(),
            Operator::In(values) => text.is_some_and(|text| values.iter().any(|v| *v == text)),
            Operator::NotIn(values) => text.is_none_or(|text| values.iter().all(|v| *v != text)),
            Operator::Above(bound) => number().is_some_and(|number| number > *bound),
            Operator::Below(bound) => number().is_some_and(|number| number < *bound),
        }
    }
}

/// Reads Kubernetes' syntax of selectors: requirements between commas, sets in parentheses.
fn requirements(text: &str) -> Option<Vec<Requirement>> {
    let mut found = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let inside = rest.find('(').filter(|open| rest.find(',').is_none_or(|comma| *open < comma));
        let end = match inside {
            Some(open) => rest[open..].find(')').map(|close| open + close + 1)?,
            None => rest.find(',').unwrap_or(rest.len()),
        };
        let (one, after) = rest.split_at(end);
        found.push(requirement(one.trim())?);
        rest = after.trim_start();
        if let Some(after) = rest.strip_prefix(',') {
            rest = after.trim_start();
            if rest.is_empty() {
                return None;
            }
        } else if !rest.is_empty() {
            return None;
        }
    }
    Some(found)
}

fn requirement(text: &str) -> Option<Requirement> {
    let of = |key: &str, operator| {
        let key = key.trim().to_owned();
        let sound = !key.is_empty() && !key.contains(char::is_whitespace);
        sound.then_some(Requirement { key, operator })
    };
    if let Some(key) = text.strip_prefix('!') {
        return of(key, Operator::Absent);
    }
    if let Some((head, set)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        let values = set.split(',').map(|value| value.trim().to_owned()).collect();
        let (key, word) = head.trim().rsplit_once(char::is_whitespace)?;
        return match word {
            "in" => of(key, Operator::In(values)),
            "notin" => of(key, Operator::NotIn(values)),
            _ => None,
        };
    }
    let values = |value: &str| vec![value.trim().to_owned()];
    if let Some((key, value)) = text.split_once("!=") {
        return of(key, Operator::NotIn(values(value)));
    }
    if let Some((key, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
        return of(key, Operator::In(values(value)));
    }
    if let Some((key, value)) = text.split_once('>') {
        return of(key, Operator::Above(value.trim().parse().ok()?));
    }
    if let Some((key, value)) = text.split_once('<') {
        return of(key, Operator::Below(value.trim().parse().ok()?));
    }
    of(text, Operator::Exists)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(text: &str) -> bool {
        let labels = Value::map([("app", Value::made("web")), ("n", Value::made("5"))]);
        requirements(text).unwrap().iter().all(|requirement| requirement.holds(Some(&labels)))
    }

    #[test]
    fn selectors_are_read_as_kubernetes_does() {
        for text in [
            "",
            "app",
            "!none",
            "app=web",
            "app==web,n=5",
            "app in (db, web)",
            "tier notin (a,b), n>4",
            "n<6",
            "x!=1",
        ] {
            assert!(holds(text), "{text}");
        }
        for text in
            ["none", "!app", "app=db", "app in (a,b),n", "app notin (web)", "n>5", "app!=web", "n>4,app<1"]
        {
            assert!(!holds(text), "{text}");
        }
        for text in ["app in (a", "a b", ",", "a,", "a in (b) c", "a>x"] {
            assert!(requirements(text).is_none(), "{text}");
        }
    }

    #[test]
    fn names_are_whole_expressions() {
        let pattern = |text: &str| Pattern::of(text.to_owned()).unwrap();
        assert!(pattern("web|db").fits("db") && !pattern("web|db").fits("web2"));
        assert!(pattern("web.*").fits("web2") && pattern("").fits("x") && !pattern("web").fits("web2"));
        assert!(Pattern::of("(".to_owned()).is_none());
        assert!(Pattern::of("(a{1000}){1000}".to_owned()).is_none());
    }
}
