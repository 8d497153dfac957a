//! OpenShift's templates: objects with parameters, of which `oc process` makes each by itself.
//!
//! In: an object. Out: what a template has, filled with its own values of the parameters; whoever processes it may give
//! others. Source: `pkg/template/templateprocessing/template.go` of openshift/library-go. Keys are not filled here.

use std::{cell::Cell, collections::HashMap};

use super::{
    object::Object,
    value::{Cutter, Part, Scalar, Value, Via},
};

/// The groups of templates: the older ones have none.
const GROUPS: [&str; 2] = ["template.openshift.io", ""];
/// Bytes of values that are filled into one template.
const BYTES: usize = 1 << 20;
/// What each piece of a value counts for beside its bytes.
const PIECE: usize = 16;

/// Tells whether objects of a kind are templates of others.
pub fn is_template(group: &str, kind: &str) -> bool {
    kind == "Template" && GROUPS.contains(&group)
}

/// Returns the objects that a template has; of what is none, the object itself.
pub fn processed(object: Object) -> Vec<Object> {
    if !is_template(&object.group(), &object.kind()) {
        return vec![object];
    }
    let parameters = Parameters::of(&object);
    let labels = object.value.get("labels").map(|labels| parameters.fill(labels));
    let inner = object.value.list_at("objects").iter().flat_map(|inner| Object::all(inner, &object.file));
    let made = inner.map(|inner| {
        let mut value = parameters.fill(&inner.value);
        let is_fixed = inner.namespace().is_some_and(|namespace| !namespace.text().contains("${"));
        if let Some(metadata) = value.entry_mut("metadata") {
            // It goes to the namespace for which the template is processed.
            if is_fixed {
                metadata.remove("namespace");
            }
            add(metadata, labels.as_ref());
        }
        Object { value, ..object.clone() }
    });
    made.collect()
}

/// Lays labels over those of an object.
fn add(metadata: &mut Value, labels: Option<&Value>) {
    let Some(labels) = labels else { return };
    let mut all = metadata.get("labels").cloned().unwrap_or_else(Value::empty);
    labels.entries().for_each(|(key, value)| all.insert(key, value.clone()));
    metadata.insert("labels", all);
}

/// What the parameters of a template have.
struct Parameters {
    values: HashMap<String, Scalar>,
    /// What may still be filled in.
    left: Cell<usize>,
}

// === impl Parameters ===

impl Parameters {
    fn of(template: &Object) -> Self {
        let parameter = |of: &Value| {
            let name = of.text(&["name"])?.into_owned();
            let value = match of.scalar(&["value"]).filter(|value| !value.text().is_empty()) {
                Some(value) => value.via(Via::Variable),
                None => Scalar::unknown(&format!("the parameter `{name}` of a template")),
            };
            Some((name, value))
        };
        let values = template.value.list_at("parameters").iter().filter_map(parameter).collect();
        Self { values, left: Cell::new(BYTES) }
    }

    fn fill(&self, value: &Value) -> Value {
        value.with_scalars(&mut |text| self.filled(text)).unwrap_or_else(|| value.clone())
    }

    /// Fills a text; `None` where it reads no parameter.
    fn filled(&self, text: &Scalar) -> Option<Scalar> {
        let whole = text.text();
        // What is one parameter and nothing else may be typed by its looks.
        let bare = whole.strip_prefix("${{").and_then(|rest| rest.strip_suffix("}}"));
        if let Some(value) = bare.and_then(|name| self.values.get(name)) {
            return Some(self.taken(value, text).as_plain());
        }
        if !whole.contains("${") {
            return None;
        }
        let cutter = Cutter::new(text);
        let (mut parts, mut from): (Vec<Part>, usize) = (Vec::new(), 0);
        for (start, _) in whole.match_indices("${") {
            let rest = whole.get(start + 2..).unwrap_or_default();
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let (name, behind) = rest.split_at(rest.find(|c| !is_name(c)).unwrap_or(rest.len()));
            let Some(value) = self.values.get(name).filter(|_| behind.starts_with('}')) else { continue };
            let end = start + 2 + name.len() + 1;
            parts.extend_from_slice(cutter.cut(from..start).parts());
            parts.extend_from_slice(self.taken(value, &cutter.cut(start..end)).parts());
            from = end;
        }
        parts.extend_from_slice(cutter.cut(from..whole.len()).parts());
        (from > 0).then(|| Scalar::of(parts, false))
    }

    /// Takes a value where it is read; over the bound nothing is known of it.
    fn taken(&self, value: &Scalar, place: &Scalar) -> Scalar {
        match self.left.get().checked_sub(value.text().len() + PIECE) {
            Some(left) => {
                self.left.set(left);
                value.read_by(place)
            }
            None => Scalar::unknown("a template with too many values"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        deploy::{files::Files as _, testing::files},
        repo::RepoPath,
    };

    fn made(text: &str) -> Vec<Object> {
        let tree = files(&[("t.yaml", text)]);
        let path = RepoPath::new("t.yaml").unwrap();
        let objects = Object::all(&tree.documents("t.yaml").unwrap()[0], &path);
        objects.into_iter().flat_map(processed).collect()
    }

    #[test]
    fn parameters_are_filled_as_texts_and_as_what_they_look_like() {
        let objects = made(
            "apiVersion: template.openshift.io/v1\nkind: Template\nlabels: {of: '${A}'}\nparameters:\n- {name: A, value: a}\n- \
             {name: N, value: '3'}\n- {name: OPEN}\nobjects:\n- {kind: X, metadata: {namespace: fixed, labels: {own: b}}, spec: {both: \
             'x-${A}-${N}', number: '${{N}}', text: '${N}', other: '${B} ${{N}} ${A', open: '${OPEN}'}}\n- {kind: Y, metadata: \
             {namespace: '${A}'}}\n- {kind: List, items: [{kind: Z}]}\n",
        );
        let spec = |key: &str| objects[0].value.scalar(&["spec", key]).unwrap();
        assert_eq!((&*spec("both").text(), &*spec("number").text()), ("x-a-3", "3"));
        assert_eq!([spec("number").plain, spec("text").plain], [true, false]);
        assert_eq!(spec("other").text(), "${B} ${{N}} ${A");
        assert_eq!(spec("open").unknown_to(), Some("the parameter `OPEN` of a template"));
        let namespaces: Vec<_> = objects.iter().map(|object| object.namespace().map(Scalar::text)).collect();
        assert_eq!(namespaces, [None, Some("a".into()), None]);
        let labels = ["of", "own"].map(|key| objects[0].label(key).map(Scalar::text));
        assert_eq!(labels, [Some("a".into()), Some("b".into())]);
        assert_eq!(objects.iter().map(|object| object.kind()).collect::<Vec<_>>(), ["X", "Y", "Z"]);
    }

    #[test]
    fn what_is_no_template_stays_and_what_is_filled_in_has_a_bound() {
        let other = "apiVersion: example.com/v1\nkind: Template\nobjects: [{kind: X}]\n";
        assert_eq!(made(other)[0].kind(), "Template");
        let long = "${A}".repeat(1_000);
        let value = "a".repeat(BYTES / 100);
        let text = format!(
            "apiVersion: v1\nkind: Template\nparameters: [{{name: A, value: {value}}}]\nobjects: [{{kind: X, a: '{long}'}}]\n"
        );
        let filled = made(&text);
        let filled = filled[0].value.scalar(&["a"]).unwrap();
        assert!(filled.text().len() < 2 * BYTES && filled.unknown_to().is_some());
    }
}
