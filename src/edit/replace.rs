//! Replacing values in a text: all of them in one pass, with one proof at the end.

use std::{cell::OnceCell, ops::Range};

use super::{
    EditError, Refusal, Replacement,
    locate::Places,
    proof::{Changes, NewScalar, Parse, Proven, prove, prove_bytes},
    scalar::{Piece, content, is_json, write},
    splice::Splice,
};
use crate::{
    pins::Site,
    yaml::{Node, Route, SourceMap, Step, Stream, Style, encrypted, parse_covered},
};

/// A replacement in one text, which is the file or a text inside one of its scalars.
#[derive(Clone)]
struct Target<'r> {
    /// The bytes in this text.
    span: Range<usize>,
    /// The way in this text; `None` for a marker, which is found by its bytes alone.
    route: Option<&'r Route>,
    edit: &'r Replacement,
}

/// Replaces the text at one site and proves that nothing else has changed.
///
/// The quote style stays; quotes are added only where YAML 1.1 would read the new value as another type.
pub fn replace(text: &str, site: &Site, expected_old: &str, new: &str) -> Result<String, EditError> {
    let edit = Replacement { site: site.clone(), old: expected_old.to_owned(), new: new.to_owned() };
    replace_all(text, std::slice::from_ref(&edit))
}

/// Replaces the text at several sites of one file, all or none.
pub fn replace_all(text: &str, edits: &[Replacement]) -> Result<String, EditError> {
    if encrypted(text.as_bytes()) {
        return Err(EditError::whole(Refusal::Encrypted));
    }
    let target = |edit| {
        let edit: &Replacement = edit;
        Target { span: edit.site.span.clone(), route: edit.site.route.as_ref(), edit }
    };
    let mut targets: Vec<_> = edits.iter().map(target).collect();
    targets.sort_by_key(|t| (t.span.start, t.span.end));
    targets.dedup_by(|a, b| a.edit == b.edit);
    if let Some(pair) = targets.windows(2).find(|pair| pair[1].span.start < pair[0].span.end) {
        return Err(pair[1].refused(Refusal::Overlap));
    }
    for target in &targets {
        if target.edit.new.is_empty() || target.edit.new.contains(char::is_control) {
            return Err(target.refused(Refusal::Written("the new value is empty or has control characters")));
        }
    }
    let proven = match targets.iter().any(|t| t.route.is_some()) {
        true => in_yaml(text, &targets, Stream::parse)?,
        false => in_lines(text, &targets)?,
    };
    Ok(proven.into_text())
}

/// Replaces in a text that need not be YAML.
fn in_lines(text: &str, targets: &[Target<'_>]) -> Result<Proven, EditError> {
    let splices: Vec<_> = targets.iter().map(|t| raw(text, t)).collect::<Result<_, _>>()?;
    prove_bytes(text, splices).map_err(EditError::whole)
}

/// Replaces in YAML or JSON and proves it; the splices are those of `text`.
fn in_yaml(text: &str, targets: &[Target<'_>], parse: Parse) -> Result<Proven, EditError> {
    let before = parse(text).map_err(|e| EditError::syntax(text, e))?;
    let (splices, changes) = splices_of(text, &before, targets)?;
    prove((text, &before), splices, &changes, parse).map_err(|why| match targets.first() {
        Some(target) => target.refused(why),
        None => EditError::whole(why),
    })
}

/// Finds the scalar of each target and how it is written anew.
fn splices_of(
    text: &str,
    before: &Stream,
    targets: &[Target<'_>],
) -> Result<(Vec<Splice>, Changes), EditError> {
    let mut places = Places::new(text, before)?;
    let mut splices = Vec::new();
    let mut changes = Changes::new();
    let json = OnceCell::new();
    let is_json = || *json.get_or_init(|| is_json(text));
    let mut rest = targets;
    while let Some(first) = rest.first() {
        let Some(node) = first.node(&mut places)? else {
            splices.push(raw(text, first)?);
            rest = &rest[1..];
            continue;
        };
        // Targets are ordered by position, so those in one scalar are neighbours.
        let end = node.span().end;
        let (here, others) = rest.split_at(rest.partition_point(|t| t.span.start < end));
        for target in here.iter().skip(1) {
            target.node(&mut places)?;
        }
        let (written, change) = in_scalar(text, node, here, &is_json)?;
        splices.extend(written);
        changes.insert((node.document().index, node.number()), change);
        rest = others;
    }
    Ok((splices, changes))
}

/// Replaces inside one scalar.
fn in_scalar(
    text: &str,
    node: Node<'_>,
    targets: &[Target<'_>],
    json: &dyn Fn() -> bool,
) -> Result<(Vec<Splice>, NewScalar), EditError> {
    let Some(first) = targets.first() else { return Err(EditError::whole(Refusal::Overlap)) };
    let line = text.get(..node.span().start).and_then(|t| t.rfind('\n')).map_or(0, |n| n + 1);
    if text.get(line..node.span().end).is_some_and(|t| t.contains(['\u{85}', '\u{2028}', '\u{2029}'])) {
        return Err(first.refused(Refusal::Written("its line holds a break that only YAML 1.1 knows")));
    }
    if node.style() == Some(Style::Plain)
        && in_flow(node)
        && node.as_str().is_some_and(|t| t.starts_with(['?', ':']))
    {
        return Err(first.refused(Refusal::Written("it begins with an indicator that readers disagree on")));
    }
    // A whole value is written anew, so its source need not be understood.
    let map = SourceMap::of(text, node);
    let inner: Vec<_> = targets.iter().filter_map(|t| Some((t, t.inner_route()?))).collect();
    let pieces = match inner.len() {
        0 => {
            let piece = |t| piece(text, node, map.as_ref(), t);
            targets.iter().map(piece).collect::<Result<Vec<_>, _>>()?
        }
        n if n == targets.len() => embedded(node, map.as_ref(), &inner)?,
        _ => return Err(first.refused(Refusal::Overlap)),
    };
    write(text, node, map.as_ref(), &pieces, json).map_err(|why| first.refused(why))
}

fn in_flow(node: Node<'_>) -> bool {
    node.parent().is_some_and(Node::is_flow)
}

/// Replaces in the text that a scalar holds.
fn embedded(
    node: Node<'_>,
    map: Option<&SourceMap>,
    targets: &[(&Target<'_>, &Route)],
) -> Result<Vec<Piece>, EditError> {
    let mut inner = Vec::with_capacity(targets.len());
    for (target, route) in targets {
        let span = map.and_then(|m| m.in_value(target.span.clone()));
        let across = Refusal::Written("it stands across a fold or an escape");
        let span = span.ok_or_else(|| target.refused(across))?;
        inner.push(Target { span, route: Some(route), edit: target.edit });
    }
    let value = node.as_str().unwrap_or_default();
    let proven = in_yaml(value, &inner, parse_covered).map_err(|e| match (&e.refusal, inner.first()) {
        // These count lines of the inner text, which nobody sees.
        (Refusal::Syntax(_) | Refusal::Template, Some(first)) => first.refused(e.refusal),
        _ => e,
    })?;
    Ok(proven.into_splices().into_iter().map(|s| Piece { value: s.span, with: s.with }).collect())
}

/// Turns a replacement in a scalar's source into one of its value.
fn piece(
    text: &str,
    node: Node<'_>,
    map: Option<&SourceMap>,
    target: &Target<'_>,
) -> Result<Piece, EditError> {
    let with = target.edit.new.clone();
    if node.tag().is_some_and(|tag| !matches!(tag, "tag:yaml.org,2002:str" | "!")) {
        return Err(target.refused(Refusal::Written("it has a tag")));
    }
    let value = node.as_str().unwrap_or_default();
    let whole = content(node).is_some_and(|content| content == target.span) || node.span() == target.span;
    if whole && value == target.edit.old {
        return Ok(Piece { value: 0..value.len(), with });
    }
    target.expect_old(text)?;
    let value = map.and_then(|m| m.in_value(target.span.clone()));
    let across = Refusal::Written("it stands across a fold or an escape");
    value.map(|value| Piece { value, with }).ok_or_else(|| target.refused(across))
}

/// Replaces bytes as they are.
fn raw(text: &str, target: &Target<'_>) -> Result<Splice, EditError> {
    target.expect_old(text)?;
    Ok(Splice { span: target.span.clone(), with: target.edit.new.clone() })
}

// === impl Target ===

impl<'r> Target<'r> {
    /// Finds the scalar to edit; `None` for a marker's text that is in no scalar.
    fn node<'a>(&self, places: &mut Places<'a>) -> Result<Option<Node<'a>>, EditError> {
        match self.route {
            Some(route) => places.on_route(&self.span, route).map(Some).map_err(|why| self.refused(why)),
            None => Ok(places.around(&self.span)),
        }
    }

    fn inner_route(&self) -> Option<&'r Route> {
        self.route?.steps.iter().find_map(|step| match step {
            Step::Text(route) => Some(&**route),
            _ => None,
        })
    }

    fn expect_old(&self, text: &str) -> Result<(), EditError> {
        match text.get(self.span.clone()) {
            Some(found) if found == self.edit.old => Ok(()),
            found => Err(self.refused(Refusal::Changed {
                expected: self.edit.old.clone(),
                found: found.unwrap_or_default().to_owned(),
            })),
        }
    }

    fn refused(&self, refusal: Refusal) -> EditError {
        EditError { path: None, line: self.edit.site.line, column: self.edit.site.column, refusal }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::position;

    #[test]
    fn edits_that_overlap_are_refused_together() {
        let text = "RUN curl edge-26.8.2 # uplinker: edge\n";
        let edit = |old: &str, new: &str| {
            let start = text.find(old).unwrap();
            let site =
                Site { span: start..start + old.len(), line: 1, column: start + 1, document: 0, route: None };
            Replacement { site, old: old.to_owned(), new: new.to_owned() }
        };
        let whole = edit("edge-26.8.2", "edge-26.8.3");
        let refused = replace_all(text, &[whole.clone(), edit("26.8.2", "26.8.3")]).unwrap_err();
        assert_eq!((refused.refusal, refused.line, refused.column), (Refusal::Overlap, 1, 15));
        // The same edit asked for twice is one.
        assert!(replace_all(text, &[whole.clone(), whole]).unwrap().contains("edge-26.8.3 #"));
    }

    #[test]
    fn a_line_that_readers_break_in_two_is_left_alone() {
        let replaced = |text: &str| {
            let route = Stream::parse(text).unwrap().roots().next().unwrap().get("v").unwrap().route();
            let start = text.find("2026.8.2").unwrap();
            let (line, column) = position(text, start);
            let site = Site { span: start..start + 8, line, column, document: 0, route: Some(route) };
            replace_all(text, &[Replacement { site, old: "2026.8.2".into(), new: "2026.8.3".into() }])
        };
        for text in ["v: \"\u{85} 2026.8.2\"\n", "{a: 'b\u{2028}', v: 2026.8.2}\n"] {
            assert!(matches!(replaced(text).unwrap_err().refusal, Refusal::Written(_)), "{text:?}");
        }
        assert!(replaced("a: 'b\u{2029}'\nv: 2026.8.2\n").unwrap().ends_with("v: 2026.8.3\n"));
    }
}
