//! Image names, tags and digests.

use regex::Regex;

use super::{
    fields::{Create, FieldSpec},
    gvk::Gvk,
    resource::Resource,
};
use crate::deploy::{
    expression::expression,
    value::{Part, Scalar, Value, list_with},
};

/// Fields that hold containers wherever they are in an object.
const CONTAINERS: [&str; 2] = ["containers", "initContainers"];

/// One entry of `images`.
#[derive(Debug)]
pub(super) struct Image {
    /// What image it is for.
    matched: Regex,
    new_name: Option<Scalar>,
    new_tag: Option<Scalar>,
    digest: Option<Scalar>,
    tag_suffix: Option<Scalar>,
}

// === impl Image ===

impl Image {
    /// Reads an entry; `None` where its name is no expression.
    pub fn of(value: &Value) -> Option<Self> {
        let text = |key: &str| value.scalar(&[key]).filter(|scalar| !scalar.text().is_empty()).cloned();
        Some(Self {
            matched: pattern(&value.text(&["name"]).unwrap_or_default())?,
            new_name: text("newName"),
            new_tag: text("newTag"),
            digest: text("digest"),
            tag_suffix: text("tagSuffix"),
        })
    }

    /// Changes the image in all objects; tells whether one has it.
    pub fn apply<'f>(
        &self,
        resources: &mut [Resource],
        fields: impl Iterator<Item = &'f FieldSpec> + Clone,
    ) -> bool {
        let mut found = false;
        for resource in resources {
            let gvk = Gvk::of(&resource.value);
            if gvk.kind == "CustomResourceDefinition" {
                continue;
            }
            if let Some(new) = self.containers(&resource.value) {
                resource.value = new;
                found = true;
            }
            for spec in fields.clone() {
                found |=
                    spec.change(&mut resource.value, &gvk, Create::Nothing, &mut |old| self.renamed(old));
            }
        }
        found
    }

    /// Changes the images of containers, wherever they are.
    fn containers(&self, value: &Value) -> Option<Value> {
        match value {
            Value::Scalar(_) => None,
            Value::List(items) => list_with(items, |_, item| self.containers(item)),
            Value::Map(_) => {
                let mut new: Option<Value> = None;
                for (key, field) in value.entries() {
                    let inner = self.containers(field);
                    let list = inner.as_ref().unwrap_or(field);
                    let named = if CONTAINERS.contains(&key) { self.items(list) } else { None };
                    if let Some(changed) = named.or(inner) {
                        new.get_or_insert_with(|| value.clone()).insert(key, changed);
                    }
                }
                new
            }
        }
    }

    fn items(&self, list: &Value) -> Option<Value> {
        let mut new: Option<Value> = None;
        for (at, item) in list.items().iter().enumerate() {
            if let Some(image) = item.entry("image").and_then(|image| self.renamed(image)) {
                let items = new.get_or_insert_with(|| list.clone()).make_list();
                items[at].insert("image", image);
            }
        }
        new
    }

    pub fn renamed(&self, old: &Value) -> Option<Value> {
        let old = old.as_scalar()?;
        let text = old.text();
        if !self.matched.is_match(&text) {
            return None;
        }
        let [name, tag, digest] = cut(&text).map(|range| range.map(|range| old.cut(range)));
        let name = self.new_name.clone().or(name);
        let (tag, digest) = match (&self.new_tag, &self.digest, &self.tag_suffix) {
            (Some(tag), digest, _) => (Some(tag.clone()), digest.clone()),
            (None, Some(digest), _) => (None, Some(digest.clone())),
            (None, None, Some(suffix)) => {
                (Some(tag.map_or_else(|| suffix.clone(), |tag| tag.then(suffix))), None)
            }
            (None, None, None) => (tag, digest),
        };
        let mut parts: Vec<Part> = name.map(|name| name.parts().to_vec()).unwrap_or_default();
        for (mark, scalar) in [(":", tag), ("@", digest)] {
            if let Some(scalar) = scalar.filter(|scalar| !scalar.text().is_empty()) {
                parts.push(Part::Made(mark.into()));
                parts.extend_from_slice(scalar.parts());
            }
        }
        Some(Value::Scalar(Scalar::of(parts, old.plain)))
    }
}

/// Returns what matches the images that a name stands for; `None` where it is no expression.
pub fn pattern(name: &str) -> Option<Regex> {
    expression(&format!("^{name}(:[a-zA-Z0-9_.{{}}-]*)?(@sha256:[a-zA-Z0-9_.{{}}-]*)?$"))
}

/// Cuts an image into name, tag and digest.
fn cut(text: &str) -> [Option<std::ops::Range<usize>>; 3] {
    let host = text.find('/').unwrap_or(0);
    let digest = text[host..].find('@').map(|at| host + at);
    let tag = text[host..digest.unwrap_or(text.len())].find(':').map(|at| host + at);
    let end = digest.unwrap_or(text.len());
    [Some(0..tag.unwrap_or(end)), tag.map(|at| at + 1..end), digest.map(|at| at + 1..text.len())]
}
