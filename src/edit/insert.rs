//! Inserting a missing entry, such as an annotation, with the mappings that are missing around it.

use super::{
    EditError, Refusal,
    entry::{self, Entry},
    locate::Places,
    proof::{Changes, Growth, Proven, prove, prove_grown},
    scalar::{Piece, is_json, write},
    splice::Splice,
};
use crate::yaml::{Node, Route, SourceMap, Step, Stream, encrypted, position};

/// Inserts `key: value` into the mapping on a route and proves that nothing else has changed.
///
/// Mappings that are missing at the end of the route are made. The entry takes the indentation, line ending and
/// style of its neighbours; the value reads as text.
///
/// ```
/// use uplinker::{edit::insert, yaml::{Route, Step}};
/// let route = Route { document: 0, steps: vec![Step::Key("annotations".into())] };
/// assert_eq!(insert("a: 1\n", &route, "x/y", "yes")?, "a: 1\nannotations:\n  x/y: \"yes\"\n");
/// # Ok::<(), uplinker::edit::EditError>(())
/// ```
pub fn insert(text: &str, mapping: &Route, key: &str, value: &str) -> Result<String, EditError> {
    if encrypted(text.as_bytes()) {
        return Err(EditError::whole(Refusal::Encrypted));
    }
    if !is_sound(key, value) {
        return Err(EditError::whole(Refusal::Written("the new entry has control characters or no key")));
    }
    insertion(text, mapping, key, value).map(Proven::into_text)
}

/// An entry that is to come.
#[derive(Clone, Debug)]
pub struct NewEntry {
    /// The mapping.
    pub mapping: Route,
    /// Its key.
    pub key: String,
    /// Its value.
    pub value: String,
}

/// Entries that stand in the text of a scalar: each is made by itself, with a parse of the whole text.
const IN_TEXTS: usize = 200;

/// Inserts many entries, as [`insert`] does with one: together where that can be proven, else by halves.
pub fn insert_all(text: &str, entries: &[NewEntry]) -> Result<String, EditError> {
    let is_inside = |entry: &&NewEntry| entry.mapping.steps.iter().any(|step| matches!(step, Step::Text(_)));
    let (inside, plain): (Vec<&NewEntry>, Vec<&NewEntry>) = entries.iter().partition(is_inside);
    if inside.len() > IN_TEXTS {
        return Err(EditError::whole(Refusal::Written("too many entries come into texts in this file")));
    }
    let text = halves(text, &plain)?;
    inside.iter().try_fold(text, |text, entry| insert(&text, &entry.mapping, &entry.key, &entry.value))
}

fn halves(text: &str, entries: &[&NewEntry]) -> Result<String, EditError> {
    match entries {
        [] => Ok(text.to_owned()),
        [one] => insert(text, &one.mapping, &one.key, &one.value),
        many => {
            if let Some(proven) = together(text, many) {
                return Ok(proven.into_text());
            }
            // An entry more changes no route of another.
            let (first, second) = many.split_at(many.len() / 2);
            halves(&halves(text, first)?, second)
        }
    }
}

/// Writes each entry in its likeliest way; `None` where that is not proven for all of them.
fn together(text: &str, entries: &[&NewEntry]) -> Option<Proven> {
    if encrypted(text.as_bytes()) || entries.iter().any(|entry| !is_sound(&entry.key, &entry.value)) {
        return None;
    }
    let before = Stream::parse(text).ok()?;
    Places::new(text, &before).ok()?;
    let mut ways = Vec::new();
    for NewEntry { mapping, key, value } in entries {
        match at_mapping(text, &before, mapping, key, value).ok()? {
            At::Mapping(_, found) => ways.push(found.into_iter().next()?),
            At::Inside(..) => return None,
        }
    }
    ways.sort_by_key(|(_, growth)| (growth.document, growth.at));
    let (splices, growths): (Vec<_>, Vec<_>) = ways.into_iter().unzip();
    prove_grown((text, &before), splices, &growths).ok()
}

fn is_sound(key: &str, value: &str) -> bool {
    !key.is_empty() && ![key, value].iter().any(|text| text.contains(char::is_control))
}

/// Where an entry goes.
enum At<'a, 'e> {
    /// Into a mapping, in one of these ways, the likeliest first.
    Mapping(Node<'a>, Vec<(Splice, Growth<'e>)>),
    /// Into the text of a scalar, along the rest of the route.
    Inside(Node<'a>, &'e Route),
}

fn at_mapping<'a, 'e>(
    text: &str,
    before: &'a Stream,
    mapping: &'e Route,
    key: &'e str,
    value: &'e str,
) -> Result<At<'a, 'e>, EditError> {
    let nowhere = || EditError::whole(Refusal::NoSuchPlace { route: mapping.display() });
    let root = before.documents.get(mapping.document).and_then(|d| d.root()).ok_or_else(nowhere)?;
    let (node, rest) = descend(text, root, mapping)?;
    let refused = |refusal| EditError::at(text, node.span().start, refusal);
    if let Some(Step::Text(inner)) = rest.first() {
        return Ok(At::Inside(node, inner));
    }
    let mut keys = Vec::new();
    for step in rest {
        match step {
            Step::Key(key) => keys.push(key.as_str()),
            Step::Index(_) | Step::Text(_) => return Err(refused(nowhere().refusal)),
        }
    }
    keys.push(key);
    let aliases = before.aliases_through(&node.route()).len();
    if aliases > 0 {
        return Err(refused(Refusal::Shared { aliases }));
    }
    if !node.is_mapping() && !entry::is_null(node) {
        return Err(refused(nowhere().refusal));
    }
    if rest.is_empty() && node.get(key).is_some() {
        return Err(refused(Refusal::Present { key: key.to_owned() }));
    }
    let ways = entry::candidates(text, node, &Entry { keys: &keys, value }).into_iter().map(|candidate| {
        let growth = Growth {
            document: mapping.document,
            parent: node.number(),
            was_null: !node.is_mapping(),
            at: candidate.at,
            keys: keys.clone(),
            value,
            flow: candidate.flow,
        };
        (candidate.splice, growth)
    });
    let ways = ways.collect();
    Ok(At::Mapping(node, ways))
}

/// Finds the splice that makes the entry, and proves it.
fn insertion(text: &str, mapping: &Route, key: &str, value: &str) -> Result<Proven, EditError> {
    let before = Stream::parse(text).map_err(|e| EditError::syntax(text, e))?;
    Places::new(text, &before)?;
    let (node, ways) = match at_mapping(text, &before, mapping, key, value)? {
        At::Inside(node, inner) => return inside(text, &before, node, (inner, key, value)),
        At::Mapping(node, ways) => (node, ways),
    };
    let mut why = Refusal::NotProven("there is no place for it");
    for (splice, growth) in ways {
        match prove_grown((text, &before), vec![splice], &[growth]) {
            Ok(proven) => return Ok(proven),
            Err(refusal) => why = refusal,
        }
    }
    Err(EditError::at(text, node.span().start, why))
}

/// Follows a route as far as it exists; the rest of its steps is missing.
fn descend<'a, 'r>(
    text: &str,
    root: Node<'a>,
    route: &'r Route,
) -> Result<(Node<'a>, &'r [Step]), EditError> {
    let mut at = root;
    for (n, step) in route.steps.iter().enumerate() {
        let refused = |refusal| Err(EditError::at(text, at.span().start, refusal));
        if at.is_alias() {
            return refused(Refusal::Alias { anchor: position(text, at.resolved().span().start).0 });
        }
        let next = match step {
            Step::Key(key) if at.is_duplicated(key) => {
                return refused(Refusal::DuplicateKey { key: key.clone() });
            }
            Step::Key(key) => at.entries().find(|(k, _)| k.as_str() == Some(key)).map(|(_, v)| v),
            Step::Index(index) => at.item(*index),
            Step::Text(_) => None,
        };
        match (next, step) {
            (Some(next), _) => at = next,
            (None, Step::Key(key)) if at.get(key).is_some() => {
                return refused(Refusal::Written("a merge key brings the mapping"));
            }
            (None, _) => return Ok((at, route.steps.get(n..).unwrap_or_default())),
        }
    }
    match at.is_alias() {
        true => {
            let anchor = position(text, at.resolved().span().start).0;
            Err(EditError::at(text, at.span().start, Refusal::Alias { anchor }))
        }
        false => Ok((at, &[])),
    }
}

/// Inserts into the text that a scalar holds.
fn inside(
    text: &str,
    before: &Stream,
    node: Node<'_>,
    (route, key, value): (&Route, &str, &str),
) -> Result<Proven, EditError> {
    let refused = |refusal| EditError::at(text, node.span().start, refusal);
    let Some(inner) = node.as_str() else {
        return Err(refused(Refusal::NoSuchPlace { route: route.display() }));
    };
    let inserted = insertion(inner, route, key, value).map_err(|e| refused(e.refusal))?.into_splices();
    let [splice] = <[_; 1]>::try_from(inserted).map_err(|_| refused(Refusal::Overlap))?;
    let map = SourceMap::of(text, node);
    // The piece takes the character before it along where it can, so that it lies inside the scalar also at
    // its end.
    let last = inner.get(..splice.span.start).and_then(|t| t.char_indices().next_back());
    let last = last.filter(|(start, c)| {
        let known = || map.as_ref().is_some_and(|m| m.in_file(*start..splice.span.end).is_some());
        splice.span.is_empty() && *c != '\n' && known()
    });
    let piece = match last {
        Some((start, c)) => Piece { value: start..splice.span.end, with: format!("{c}{}", splice.with) },
        None => Piece { value: splice.span, with: splice.with },
    };
    let (splices, change) = write(text, node, map.as_ref(), &[piece], &|| is_json(text)).map_err(refused)?;
    let changes = Changes::from([((node.document().index, node.number()), change)]);
    prove((text, before), splices, &changes, Stream::parse).map_err(refused)
}
