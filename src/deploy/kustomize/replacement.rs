//! Replacements: a value of one object put into fields of others.

use super::{
    paths::{Make, Path},
    resource::{Id, Resource, by_looks, is_text, text_of},
    selector::Selector,
};
use crate::deploy::{
    json_patch::is_bounded,
    typed::{Typed, is_true, typed},
    value::{Part, Scalar, Value, Via},
};

/// Bytes that one text may grow to.
const TEXT: usize = 1 << 20;
/// Pieces that one text may be put together of.
const PARTS: usize = 1_000;

/// Why a replacement is not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ReplacementError {
    #[error("it has no source, or no targets")]
    Incomplete,
    #[error("its source is no object that is known here, or several")]
    Source,
    #[error("its source has no such field")]
    SourceField,
    #[error("a target has no such field")]
    TargetField,
    #[error("a delimiter is given for what is no text, or the index is beyond its parts")]
    Delimiter,
    #[error("a target is no selector, or a path is none")]
    Target,
    #[error("a target is a number, a boolean or null, and would be none of its kind")]
    Type,
    #[error("it makes more of an object than is followed")]
    Grows,
}

/// How a text is taken apart.
struct Options {
    delimiter: String,
    index: i64,
    create: bool,
}

// === impl Options ===

impl Options {
    fn of(value: Option<&Value>) -> Self {
        let text = |key: &str| value.and_then(|value| value.text(&[key])).unwrap_or_default().into_owned();
        Self {
            delimiter: text("delimiter"),
            index: text("index").parse().unwrap_or(0),
            create: value.is_some_and(|value| is_true(value, &["create"])),
        }
    }

    /// Cuts the part that the index names.
    fn part(&self, value: &Value) -> Result<Value, ReplacementError> {
        if self.delimiter.is_empty() {
            return Ok(value.clone());
        }
        let scalar = value.as_scalar().ok_or(ReplacementError::Delimiter)?;
        let parts = split(scalar, &self.delimiter);
        let at = usize::try_from(self.index).map_err(|_| ReplacementError::Delimiter)?;
        parts.get(at).cloned().map(Value::Scalar).ok_or(ReplacementError::Delimiter)
    }

    /// Puts a value in place of the part that the index names, or before or behind all.
    fn joined(&self, old: &Scalar, new: &Scalar) -> Scalar {
        let mut parts = split(old, &self.delimiter);
        match usize::try_from(self.index) {
            Err(_) => parts.insert(0, new.clone()),
            Ok(at) if at >= parts.len() => parts.push(new.clone()),
            Ok(at) => parts[at] = new.clone(),
        }
        let mut joined: Vec<Part> = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            if at > 0 {
                joined.push(Part::Made(self.delimiter.as_str().into()));
            }
            joined.extend_from_slice(part.parts());
        }
        Scalar::of(joined, old.plain)
    }
}

/// Makes one replacement.
pub(super) fn replace(resources: &mut [Resource], replacement: &Value) -> Result<(), ReplacementError> {
    let value = source(resources, replacement)?;
    let targets = replacement.get("targets").ok_or(ReplacementError::Incomplete)?.items();
    for target in targets {
        let select = target.get("select").ok_or(ReplacementError::Target)?;
        let exact = Id::of_fields(select);
        let selector = Selector::of(select).ok_or(ReplacementError::Target)?;
        let rejects = target.list_at("reject").iter().map(|reject| {
            Some((Id::of_fields(reject), reject.get("namespace").is_some(), Selector::of(reject)?))
        });
        let rejects: Vec<_> = rejects.collect::<Option<_>>().ok_or(ReplacementError::Target)?;
        let namespaced = select.get("namespace").is_some();
        for resource in resources.iter_mut() {
            let meant = |selector: &Selector, exact: &Id, namespaced: bool, id: &Id| {
                selector.fits(id) || is_selected(id, exact, namespaced)
            };
            let ids = resource.ids();
            let rejected = rejects.iter().any(|(exact, namespaced, reject)| {
                (reject.names_metadata() && reject.fits_metadata(resource))
                    || (reject.names_objects() && ids.iter().any(|id| meant(reject, exact, *namespaced, id)))
            });
            let selected = selector.fits_metadata(resource)
                && !rejected
                && ids.iter().any(|id| meant(&selector, &exact, namespaced, id));
            if selected {
                put(resource, target, &value)?;
            }
        }
    }
    Ok(())
}

/// Tells whether an id is selected by its plain texts.
pub(super) fn is_selected(id: &Id, by: &Id, namespaced: bool) -> bool {
    (by.name.is_empty() || by.name == id.name)
        && (!namespaced || by.namespace == id.namespace)
        && id.gvk.is_selected(&by.gvk)
}

fn source(resources: &[Resource], replacement: &Value) -> Result<Value, ReplacementError> {
    if let Some(value) = replacement.scalar(&["sourceValue"]) {
        return Ok(Value::Scalar(by_looks(value.clone()).via(Via::Variable)));
    }
    let source = replacement.get("source").ok_or(ReplacementError::Incomplete)?;
    let (id, namespaced) = (Id::of_fields(source), source.get("namespace").is_some());
    let mut found = resources.iter().filter(|r| r.ids().iter().any(|own| is_selected(own, &id, namespaced)));
    let (Some(resource), None) = (found.next(), found.next()) else { return Err(ReplacementError::Source) };
    let path = source.text(&["fieldPath"]).unwrap_or("metadata.name".into());
    let path = Path::of(&path).ok_or(ReplacementError::SourceField)?;
    let value = path.find(&resource.value).ok_or(ReplacementError::SourceField)?;
    let value =
        value.with_scalars(&mut |scalar| Some(scalar.via(Via::Variable))).unwrap_or_else(|| value.clone());
    Options::of(source.get("options")).part(&value)
}

fn put(resource: &mut Resource, target: &Value, value: &Value) -> Result<(), ReplacementError> {
    let options = Options::of(target.get("options"));
    let make = match value {
        _ if !options.create => Make::Nothing,
        Value::Scalar(_) => Make::Scalar,
        Value::Map(_) => Make::Map,
        Value::List(_) => Make::List,
    };
    let mut failed = None;
    let paths: Vec<String> = target.list_at("fieldPaths").iter().map(|path| text_of(Some(path))).collect();
    let name = ["metadata.name".to_owned()];
    for path in if paths.is_empty() { &name[..] } else { &paths } {
        let path = Path::of(path).ok_or(ReplacementError::Target)?;
        let new =
            path.change(&resource.value, make, &mut |old, made| match set(&options, old, made, value) {
                Ok(new) => Some(new),
                Err(error) => {
                    failed.get_or_insert(error);
                    None
                }
            });
        let new = new.ok_or(failed.unwrap_or(ReplacementError::TargetField))?;
        if !is_bounded(&new) {
            return Err(ReplacementError::Grows);
        }
        let before = std::mem::replace(&mut resource.value, new);
        resource.settle(&before);
    }
    failed.map_or(Ok(()), Err)
}

fn set(options: &Options, old: &Value, made: bool, value: &Value) -> Result<Value, ReplacementError> {
    let Value::Scalar(scalar) = old else {
        return if options.delimiter.is_empty() {
            Ok(value.clone())
        } else {
            Err(ReplacementError::Delimiter)
        };
    };
    // Of anything but a text kustomize takes an empty one.
    let empty = Scalar::made("");
    let text = value.as_scalar().unwrap_or(&empty).read_by(scalar);
    let new = if options.delimiter.is_empty() { text.clone() } else { options.joined(scalar, &text) };
    if new.text().len() > TEXT || new.parts().len() > PARTS {
        return Err(ReplacementError::Grows);
    }
    if made && value.as_scalar().is_none() {
        return Ok(value.clone());
    }
    // The type of what was there stays; what is made is typed by its looks.
    let new = if made || !is_text(scalar) { by_looks(new) } else { new.as_string() };
    if made || is_text(scalar) || takes(scalar, &new) {
        Ok(Value::Scalar(new))
    } else {
        Err(ReplacementError::Type)
    }
}

/// Tells whether a scalar that is no text can become another one: kustomize reads what it becomes by the old one's type.
fn takes(old: &Scalar, new: &Scalar) -> bool {
    new.unknown_to().is_some()
        || matches!(
            (typed(old), typed(new)),
            (Typed::Null, Typed::Null)
                | (Typed::Bool(_), Typed::Bool(_))
                | (Typed::Int(_), Typed::Int(_))
                | (Typed::Float(_), Typed::Int(_) | Typed::Float(_))
        )
}

fn split(scalar: &Scalar, delimiter: &str) -> Vec<Scalar> {
    let text = scalar.text();
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, found) in text.match_indices(delimiter) {
        parts.push(scalar.cut(start..at));
        start = at + found.len();
    }
    parts.push(scalar.cut(start..text.len()));
    parts
}
