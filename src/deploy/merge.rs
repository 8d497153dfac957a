//! Strategic merge patches, as kustomize applies them.
//!
//! In: an object, a patch, the [`Schema`] of lists. Out: the object with the patch laid over it, each scalar with the origin
//! that it had where it was written. What kustomize does beside the patch is done too: a key without a value goes, and items
//! of a merged list that share a key become one, in the object as a whole.

use std::{borrow::Cow, collections::HashSet, sync::Arc};

use indexmap::IndexMap;

use super::{
    schema::{ListShape, Schema, Shape},
    value::{Origin, Scalar, Value},
};

/// The key of a directive.
const DIRECTIVE: &str = "$patch";

/// A patch that cannot be applied: the author's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// A mapping stands where the object has a list, or a text.
    #[error("it has a mapping, a list or a text where the object has another of them")]
    Kind,
    /// `$patch` says something else than `merge`, `replace` or `delete`.
    #[error("its `$patch` is none of `merge`, `replace`, `delete`")]
    Directive,
}

/// Lays a patch over an object; `None` where the patch deletes it.
///
/// # Errors
/// Where the two do not fit.
pub fn strategic(object: &Value, patch: &Value, schema: &Schema) -> Result<Option<Value>, MergeError> {
    Ok(match (Merger { schema }).walk(Some(object), Some(patch), None)? {
        // A patch that replaces the whole object comes to nothing: kustomize keeps the object that it was given.
        Kept::Same | Kept::New(_) => Some(object.clone()),
        Kept::In(value) => Some(value),
        Kept::Gone => None,
    })
}

struct Merger<'s> {
    schema: &'s Schema,
}

/// What comes of a value.
enum Kept {
    /// The object's own, as it is.
    Same,
    /// The object's own, changed.
    In(Value),
    /// Another: the patch's.
    New(Value),
    /// Nothing.
    Gone,
}

enum Directive {
    Merge,
    Replace,
    Delete,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Map,
    List,
    Scalar,
}

// === impl Merger ===

impl Merger<'_> {
    fn walk(
        &self,
        own: Option<&Value>,
        patch: Option<&Value>,
        shape: Option<&Shape>,
    ) -> Result<Kept, MergeError> {
        let (own_kind, patch_kind) = (own.and_then(kind), patch.and_then(kind));
        if own_kind.zip(patch_kind).is_some_and(|(own, patch)| own != patch) {
            return Err(MergeError::Kind);
        }
        match own_kind.or(patch_kind) {
            None | Some(Kind::Map) => self.map(own, patch, shape),
            Some(Kind::List) => match shape {
                Some(Shape::List(list @ ListShape { keys: Some(keys), .. })) => {
                    self.list(own, patch, keys, list.items())
                }
                _ => Ok(override_with(patch)),
            },
            Some(Kind::Scalar) => Ok(override_with(patch)),
        }
    }

    fn map(
        &self,
        own: Option<&Value>,
        patch: Option<&Value>,
        shape: Option<&Shape>,
    ) -> Result<Kept, MergeError> {
        let found = if shape.is_none() {
            own.and_then(|v| self.kind(v)).or(patch.and_then(|v| self.kind(v)))
        } else {
            None
        };
        let shape = shape.or(found.as_ref());
        if let Some(own) = own.filter(|own| !own.is_null()) {
            let Some(patch) = patch else {
                return Ok(self.fields(own, None, shape)?.map_or(Kept::Same, Kept::In));
            };
            if patch.is_null() {
                return Ok(Kept::Gone);
            }
            let (directive, stripped) = directive_of(patch)?;
            return match directive {
                Directive::Delete => Ok(Kept::Gone),
                _ if is_same(own, patch) => Ok(Kept::In(self.added(&stripped, shape)?)),
                Directive::Replace => Ok(Kept::New(self.added(&stripped, shape)?)),
                Directive::Merge => {
                    Ok(self.fields(own, Some(&stripped), shape)?.map_or(Kept::Same, Kept::In))
                }
            };
        }
        match (own, patch) {
            (_, Some(patch)) if !patch.is_null() => match directive_of(patch) {
                Ok((Directive::Delete, _)) => Ok(Kept::Gone),
                Ok((_, patch)) => Ok(Kept::New(self.added(&patch, shape)?)),
                Err(_) => Ok(Kept::New(self.added(patch, shape)?)),
            },
            // A null that is written out stays; a key without a value goes.
            (Some(Value::Scalar(null)), None) if !null.text().is_empty() => Ok(Kept::Same),
            _ => Ok(Kept::Gone),
        }
    }

    /// A mapping of the patch alone, walked like all others.
    fn added(&self, patch: &Value, shape: Option<&Shape>) -> Result<Value, MergeError> {
        Ok(self.fields(patch, Some(patch), shape)?.unwrap_or_else(|| patch.clone()))
    }

    /// Merges the fields of two mappings; `None` where nothing changes.
    fn fields(
        &self,
        own: &Value,
        patch: Option<&Value>,
        shape: Option<&Shape>,
    ) -> Result<Option<Value>, MergeError> {
        let mut new: Option<IndexMap<Arc<str>, Value>> = None;
        let Value::Map(map) = own else { return Ok(None) };
        let added = patch
            .into_iter()
            .flat_map(Value::entries)
            .map(|(key, _)| key)
            .filter(|key| !map.contains_key(*key));
        for key in map.keys().map(|key| &**key).chain(added) {
            let field = self.schema.field(shape, key);
            let kept = self.walk(map.get(key), patch.and_then(|patch| patch.entry(key)), field)?;
            match kept {
                Kept::Same => {}
                Kept::In(value) | Kept::New(value) => {
                    let value = in_style_of(map.get(key), value);
                    new.get_or_insert_with(|| IndexMap::clone(map)).insert(key.into(), value);
                }
                Kept::Gone if map.contains_key(key) => {
                    new.get_or_insert_with(|| IndexMap::clone(map)).shift_remove(key);
                }
                Kept::Gone => {}
            }
        }
        Ok(new.map(|map| Value::Map(Arc::new(map))))
    }

    fn list(
        &self,
        own: Option<&Value>,
        patch: Option<&Value>,
        keys: &[String],
        items: Option<&Shape>,
    ) -> Result<Kept, MergeError> {
        let Some(own) = own.filter(|own| !own.is_null()) else {
            let patch = patch.filter(|patch| !patch.is_null()).map(Value::items).unwrap_or_default();
            return Ok(Kept::New(self.items(patch, Some(patch), keys, items)?));
        };
        let Some(patch) = patch else {
            let merged = self.items(own.items(), None, keys, items)?;
            return Ok(if merged == *own { Kept::Same } else { Kept::In(merged) });
        };
        if patch.is_null() {
            return Ok(Kept::Gone);
        }
        let (directive, stripped) = list_directive_of(patch.items())?;
        match directive {
            Directive::Delete => Ok(Kept::Gone),
            _ if is_same(own, patch) => Ok(Kept::In(self.items(&stripped, Some(&stripped), keys, items)?)),
            Directive::Replace => Ok(Kept::New(self.items(&stripped, Some(&stripped), keys, items)?)),
            Directive::Merge => Ok(Kept::In(self.items(own.items(), Some(&stripped), keys, items)?)),
        }
    }

    /// Merges the items of two lists: the patch's first, in its order.
    fn items(
        &self,
        own: &[Value],
        patch: Option<&[Value]>,
        keys: &[String],
        shape: Option<&Shape>,
    ) -> Result<Value, MergeError> {
        let whole = [String::new()];
        let fields = if keys.is_empty() { &whole[..] } else { keys };
        let mut wanted: Vec<Vec<String>> = Vec::new();
        for item in patch.into_iter().flatten().chain(own) {
            let values = fields.iter().map(|key| key_value(item, key)).collect();
            if !wanted.contains(&values) {
                wanted.push(values);
            }
        }
        if wanted.is_empty() {
            return Ok(Value::list(own.to_vec()));
        }
        if fields.len() > 1 {
            complete(&mut wanted);
        }
        let used: Vec<usize> = used_keys(&wanted, fields.len());
        let names: Vec<&str> = used.iter().map(|at| fields[*at].as_str()).collect();
        let mut own: Vec<Value> = own.to_vec();
        let mut merged: Vec<Value> = Vec::new();
        let mut walked: HashSet<&[String]> = HashSet::new();
        for values in &wanted {
            let again = !walked.insert(values);
            let values: Vec<&str> = used.iter().map(|at| values[*at].as_str()).collect();
            let given = given(&names, &values);
            let mine = own.iter().position(|item| given.iter().all(|(key, value)| has(item, key, value)));
            let theirs =
                patch.and_then(|patch| patch.iter().find(|item| given.iter().all(|(k, v)| has(item, k, v))));
            // Items that become one are walked once each, and kustomize takes a directive out of the patch where it obeys it.
            let obeyed = theirs.filter(|_| again).map(obeyed).transpose()?;
            let kept = self.walk(mine.map(|at| &own[at]), obeyed.as_ref().or(theirs), shape)?;
            let (mut value, in_place) = match (kept, mine) {
                (Kept::Same, Some(at)) => (own[at].clone(), None),
                (Kept::In(value), at) => (value, at),
                (Kept::New(value), _) => (value, None),
                (Kept::Same | Kept::Gone, _) => (Value::empty(), None),
            };
            if value.is_null() || value == Value::empty() {
                // One that lacks a key of the others is not found again, and stays, without the directive that was obeyed.
                if let Some(at) = mine {
                    own[at] = self::obeyed(&own[at])?;
                }
                set(&mut own, None, &names, &values);
                continue;
            }
            if let Value::Map(_) = value {
                for (key, text) in names.iter().zip(&values).filter(|(_, text)| !text.is_empty()) {
                    if value.entry(key).is_none() {
                        value.insert(key, Value::Scalar(Scalar::made(text).as_plain()));
                    }
                }
            }
            if let Some(at) = in_place {
                own[at] = value.clone();
            }
            set(&mut merged, Some(&value), &names, &values);
        }
        own.iter().for_each(|item| append(&mut merged, item, &names));
        Ok(Value::list(merged))
    }

    fn kind(&self, value: &Value) -> Option<Shape> {
        self.schema.kind(&value.text(&["apiVersion"])?, &value.text(&["kind"])?)
    }
}

/// Puts an item of the object behind the merged ones, or in place of the one with its keys.
fn append(merged: &mut Vec<Value>, item: &Value, names: &[&str]) {
    let mut values = Vec::new();
    for name in names {
        match field(item, name) {
            Some(value) => values.push(value),
            None => merged.push(item.clone()),
        }
    }
    let values: Vec<&str> = values.iter().map(|value| &**value).collect();
    if names.len() > 1 {
        set(merged, None, names, &values);
    }
    set(merged, Some(item), names, &values);
}

/// Replaces or removes the items that have these values under these keys; what replaces none is put behind.
fn set(items: &mut Vec<Value>, new: Option<&Value>, names: &[&str], values: &[&str]) {
    let by_field = names.first().is_some_and(|name| !name.is_empty());
    let mut found = false;
    let mut kept = Vec::with_capacity(items.len() + 1);
    for item in items.drain(..) {
        if item.is_null() || item == Value::empty() {
            continue;
        }
        if kind(&item) != Some(Kind::Map) && by_field && values.first().is_some_and(|value| !value.is_empty())
        {
            kept.push(item);
            continue;
        }
        let mut matched = false;
        for (at, name) in names.iter().enumerate() {
            if let Some(value) = values.get(at) {
                let own = field(&item, name);
                matched = own.is_some_and(|own| (value.is_empty() && by_field) || own == *value);
            }
            if !matched {
                break;
            }
        }
        if matched {
            found = true;
            kept.extend(new.cloned());
        } else if !values.is_empty() {
            kept.push(item);
        }
    }
    *items = kept;
    if !found {
        items.extend(new.cloned());
    }
}

/// Fills what one of two items leaves out, where they agree in something and differ in nothing.
fn complete(wanted: &mut [Vec<String>]) {
    for at in 0..wanted.len() {
        let one = wanted[at].clone();
        for other in 0..wanted.len() {
            let pairs = || one.iter().zip(&wanted[other]);
            let agree = pairs().any(|(a, b)| a == b);
            let differ = pairs().any(|(a, b)| a != b && !a.is_empty() && !b.is_empty());
            if agree && !differ {
                let both: Vec<String> =
                    pairs().map(|(a, b)| if a.is_empty() { b.clone() } else { a.clone() }).collect();
                wanted[at].clone_from(&both);
                wanted[other] = both;
            }
        }
    }
}

/// Returns the keys that some item has; all of them where none has any.
fn used_keys(wanted: &[Vec<String>], count: usize) -> Vec<usize> {
    let used: Vec<usize> =
        (0..count).filter(|at| wanted.iter().any(|values| !values[*at].is_empty())).collect();
    if used.is_empty() { (0..count).collect() } else { used }
}

/// Returns the keys that an item is looked for by: those that it has, or all.
fn given<'k>(names: &[&'k str], values: &[&'k str]) -> Vec<(&'k str, &'k str)> {
    let all = || names.iter().copied().zip(values.iter().copied());
    let given: Vec<_> = all().filter(|(_, value)| !value.is_empty()).collect();
    if given.is_empty() { all().collect() } else { given }
}

fn has(item: &Value, key: &str, value: &str) -> bool {
    (key.is_empty() || kind(item) == Some(Kind::Map)) && field(item, key).is_some_and(|own| own == value)
}

/// Returns an item's text under a key; its own under no key.
fn field<'v>(item: &'v Value, key: &str) -> Option<Cow<'v, str>> {
    let value = if key.is_empty() { item } else { item.entry(key)? };
    Some(value.as_scalar().map(Scalar::text).unwrap_or_default())
}

fn key_value(item: &Value, key: &str) -> String {
    let null = !key.is_empty() && item.get(key).is_none();
    if null { String::new() } else { field(item, key).unwrap_or_default().into_owned() }
}

fn kind(value: &Value) -> Option<Kind> {
    match value {
        Value::Map(_) => Some(Kind::Map),
        Value::List(_) => Some(Kind::List),
        Value::Scalar(scalar) if scalar.is_null() => None,
        Value::Scalar(_) => Some(Kind::Scalar),
    }
}

/// Tells whether both are one value of the patch, which is merged with itself where the object has none.
fn is_same(own: &Value, patch: &Value) -> bool {
    match (own, patch) {
        (Value::Map(own), Value::Map(patch)) => Arc::ptr_eq(own, patch),
        (Value::List(own), Value::List(patch)) => Arc::ptr_eq(own, patch),
        _ => false,
    }
}

/// Keeps the style of the field: what comes in the place of a text in quotes, or of a block, is a text (kyaml's `FieldSetter`).
fn in_style_of(own: Option<&Value>, new: Value) -> Value {
    match (own, new) {
        (Some(Value::Scalar(own)), Value::Scalar(new)) if is_quoted(own) => Value::Scalar(new.as_string()),
        (_, new) => new,
    }
}

/// Tells whether a text was written in quotes or as a block.
fn is_quoted(scalar: &Scalar) -> bool {
    let marks = |at: &Origin| {
        let before = at.source.text.get(..at.span.start).unwrap_or_default();
        let header = || before.trim_end().trim_end_matches(['-', '+']).ends_with(['|', '>']);
        before.ends_with(['"', '\'']) || header()
    };
    !scalar.plain && scalar.origins().next().is_some_and(marks)
}

fn override_with(patch: Option<&Value>) -> Kept {
    match patch {
        None => Kept::Same,
        Some(null) if null.is_null() => Kept::Gone,
        Some(patch) => Kept::New(patch.clone()),
    }
}

fn directive(text: &str) -> Result<Directive, MergeError> {
    match text {
        "merge" => Ok(Directive::Merge),
        "replace" => Ok(Directive::Replace),
        "delete" => Ok(Directive::Delete),
        _ => Err(MergeError::Directive),
    }
}

fn directive_of(patch: &Value) -> Result<(Directive, Value), MergeError> {
    let Some(word) = patch.entry(DIRECTIVE) else { return Ok((Directive::Merge, patch.clone())) };
    let found = directive(&word.as_scalar().map(Scalar::text).unwrap_or_default())?;
    let mut rest = patch.clone();
    rest.remove(DIRECTIVE);
    Ok((found, rest))
}

/// Returns a part of a patch as it is once it was walked: without the directives that were obeyed.
fn obeyed(patch: &Value) -> Result<Value, MergeError> {
    match patch {
        Value::Map(_) => {
            let (directive, mut rest) = directive_of(patch)?;
            if !matches!(directive, Directive::Delete) {
                for (key, value) in rest.clone().entries() {
                    rest.insert(key, obeyed(value)?);
                }
            }
            Ok(rest)
        }
        Value::List(items) => {
            let (directive, rest) = list_directive_of(items)?;
            let all = rest.iter().map(|item| match directive {
                Directive::Delete => Ok(item.clone()),
                _ => obeyed(item),
            });
            Ok(Value::list(all.collect::<Result<_, _>>()?))
        }
        Value::Scalar(_) => Ok(patch.clone()),
    }
}

/// Reads the directive of a list: an item that holds nothing else.
fn list_directive_of(patch: &[Value]) -> Result<(Directive, Vec<Value>), MergeError> {
    let first = patch.iter().find(|item| item.entry(DIRECTIVE).is_some());
    let Some(word) = first.filter(|item| item.entries().count() == 1).and_then(|item| field(item, DIRECTIVE))
    else {
        return Ok((Directive::Merge, patch.to_vec()));
    };
    let mut rest = patch.to_vec();
    set(&mut rest, None, &[DIRECTIVE], &[&word]);
    Ok((directive(&word)?, rest))
}
