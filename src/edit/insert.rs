//! Inserting a missing entry, such as an annotation, with the mappings that are missing around it.

use super::{
    EditError, Refusal,
    entry::{self, Entry},
    locate::Places,
    proof::{Changes, Growth, Proven, prove, prove_grown},
    scalar::{Piece, is_json, write},
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
    if key.is_empty() || [key, value].iter().any(|t| t.contains(char::is_control)) {
        return Err(EditError::whole(Refusal::Written("the new entry has control characters or no key")));
    }
    insertion(text, mapping, key, value).map(Proven::into_text)
}

/// Finds the splice that makes the entry, and proves it.
fn insertion(text: &str, mapping: &Route, key: &str, value: &str) -> Result<Proven, EditError> {
    let before = Stream::parse(text).map_err(|e| EditError::syntax(text, e))?;
    Places::new(text, &before)?;
    let nowhere = || EditError::whole(Refusal::NoSuchPlace { route: mapping.display() });
    let root = before.documents.get(mapping.document).and_then(|d| d.root()).ok_or_else(nowhere)?;
    let (node, rest) = descend(text, root, mapping)?;
    let refused = |refusal| EditError::at(text, node.span().start, refusal);
    if let Some(Step::Text(inner)) = rest.first() {
        return inside(text, &before, node, (inner, key, value));
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
    let mut why = Refusal::NotProven("there is no place for it");
    for candidate in entry::candidates(text, node, &Entry { keys: &keys, value }) {
        let growth = Growth {
            document: mapping.document,
            parent: node.number(),
            was_null: !node.is_mapping(),
            at: candidate.at,
            keys: keys.clone(),
            value,
            flow: candidate.flow,
        };
        match prove_grown((text, &before), candidate.splice, &growth) {
            Ok(proven) => return Ok(proven),
            Err(refusal) => why = refusal,
        }
    }
    Err(refused(why))
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
