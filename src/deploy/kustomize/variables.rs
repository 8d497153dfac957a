//! `vars`: values of objects that stand as `$(NAME)` in others.

use super::{
    config::{Config, Section},
    fields::Create,
    gvk::Gvk,
    paths::Path,
    replacement::is_selected,
    resource::{Id, Resource, is_text, text_of},
};
use crate::deploy::value::{Part, Scalar, Value, Via};

/// Bytes that one text may grow to.
const TEXT: usize = 1 << 20;

/// One entry of `vars`.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub name: String,
    field: String,
}

/// Notes which objects the variables read, by the names that they have at this time.
pub(super) fn note(resources: &mut [Resource], known: &mut Vec<Variable>, entries: &[Value]) {
    for entry in entries {
        let name = text_of(entry.get("name"));
        let reference = entry.get("objref").cloned().unwrap_or_else(Value::empty);
        let mut id = Id::of_fields(&reference);
        if let Some(api_version) = reference.text(&["apiVersion"]) {
            let kind = std::mem::take(&mut id.gvk.kind);
            id.gvk = Gvk { kind, ..Gvk::of(&Value::map([("apiVersion", Value::made(&api_version))])) };
        }
        let namespaced = reference.get("namespace").is_some();
        let exact = |own: &Id| own.gvk == id.gvk && is_selected(own, &id, namespaced);
        let meant = resources.iter_mut().find(|resource| resource.ids().iter().any(exact));
        if let Some(resource) = meant {
            resource.variables.push(name.clone());
        }
        let field = text_of(entry.path(&["fieldref", "fieldPath"]));
        let field = if field.is_empty() { "metadata.name".to_owned() } else { field };
        merge(known, &[Variable { name, field }]);
    }
}

/// Adds variables that are not known yet.
pub(super) fn merge(known: &mut Vec<Variable>, more: &[Variable]) {
    for variable in more {
        if !known.iter().any(|own| own.name == variable.name) {
            known.push(variable.clone());
        }
    }
}

/// Puts the values in place; returns the names of those that no object here has.
pub(super) fn resolve(resources: &mut [Resource], variables: &[Variable], config: &Config) -> Vec<String> {
    let mut missing = Vec::new();
    let mut values: Vec<(&str, Scalar)> = Vec::new();
    for variable in variables {
        let source = resources.iter().find(|resource| resource.variables.contains(&variable.name));
        let path = Path::of_variable(&variable.field);
        let found =
            source.zip(path).and_then(|(resource, path)| path.find(&resource.value)?.as_scalar().cloned());
        match found {
            Some(scalar) => values.push((&variable.name, scalar.via(Via::Variable))),
            None => missing.push(variable.name.clone()),
        }
    }
    if values.is_empty() {
        return missing;
    }
    for resource in resources {
        let gvk = Gvk::of(&resource.value);
        for spec in config.fields(Section::VarReference) {
            spec.change(&mut resource.value, &gvk, Create::Nothing, &mut |old| filled(old, &values));
        }
    }
    missing
}

fn filled(old: &Value, values: &[(&str, Scalar)]) -> Option<Value> {
    let mut fill = |scalar: &Scalar| if is_text(scalar) { fill(scalar, values) } else { None };
    match old {
        Value::Scalar(scalar) => fill(scalar).map(Value::Scalar),
        // Only the entries and items themselves, not what is in them.
        Value::Map(map) if map.values().all(|value| value.as_scalar().is_some()) => {
            old.with_scalars(&mut fill)
        }
        Value::List(items) if items.iter().all(|item| item.as_scalar().is_some()) => {
            old.with_scalars(&mut fill)
        }
        _ => None,
    }
}

/// Fills a text: `$(NAME)` is a variable, `$$` a dollar sign; a name that is not known stays as it is.
fn fill(scalar: &Scalar, values: &[(&str, Scalar)]) -> Option<Scalar> {
    let text = scalar.text();
    let value = |name: &str| values.iter().find(|(known, _)| *known == name).map(|(_, value)| value);
    if !text.contains('$') {
        return None;
    }
    let whole = text.strip_prefix("$(").and_then(|text| text.strip_suffix(')')).and_then(value);
    if let Some(value) = whole {
        let read = value.read_by(scalar);
        return Some(if is_text(value) { read.as_string() } else { read });
    }
    let mut parts: Vec<Part> = Vec::new();
    let (mut at, mut length) = (0, 0);
    while let Some(found) = text[at..].find('$').map(|found| at + found) {
        parts.extend_from_slice(scalar.cut(at..found).parts());
        let after = &text[found + 1..];
        let name = after.strip_prefix('(').and_then(|inside| inside.split_once(')')).map(|(name, _)| name);
        if after.starts_with('$') {
            parts.extend_from_slice(scalar.cut(found..found + 1).parts());
            at = found + 2;
        } else if let Some(value) = name.and_then(value) {
            at = found + 3 + name.map_or(0, str::len);
            parts.extend_from_slice(value.read_by(&scalar.cut(found..at)).parts());
            length += value.text().len();
        } else {
            let end = found + 1 + name.map_or(0, |name| name.len() + 2);
            parts.extend_from_slice(scalar.cut(found..end).parts());
            at = end;
        }
        if length > TEXT {
            return None;
        }
    }
    parts.extend_from_slice(scalar.cut(at..text.len()).parts());
    Some(Scalar::of(parts, false))
}
