//! Step 5, pins: lines that name what was written elsewhere, and whether a comment there holds it.
//!
//! In: a file and a byte. Out: the line; whether `# uplinker: hold` stands behind it or above it. What one line holds is held
//! for all that read it.

use super::foreign::Named;
use crate::{
    deploy::{Files as _, value::Reading},
    pins::{Line, Reason, context::Context, hold, marker, other, place::Place},
    yaml::{SourceMap, position},
};

/// Returns the line at which something is named.
pub(super) fn line_of(context: &Context<'_>, named: &Named) -> Option<Line> {
    match named {
        Named::There(reading) => line(context, reading),
        Named::Here((path, at)) => {
            let file = context.files.file(path.as_str()).ok()?;
            Some((path.clone(), position(&file.text, *at).0))
        }
    }
}

/// Returns the line of a place.
pub(super) fn line(context: &Context<'_>, reading: &Reading) -> Option<Line> {
    let Reading { source, at } = reading;
    let file = context.files.file(source.path.as_str()).ok()?;
    let line = match file.text == source.text {
        true => position(&file.text, *at).0,
        false => of_template(&file.text, &source.text, *at)?,
    };
    Some((source.path.clone(), line))
}

/// Finds the line of a template that a printed line came of: the only one that begins alike, or of several the only one that
/// ends alike too.
fn of_template(template: &str, printed: &str, at: usize) -> Option<usize> {
    let (before, behind) = printed.split_at_checked(at)?;
    let begins = before.rsplit('\n').next().unwrap_or_default().trim();
    let ends = behind.lines().next().unwrap_or_default().rsplit('#').next().unwrap_or_default();
    let lines = || (1..).zip(template.lines()).filter(|(_, line)| line.trim_start().starts_with(begins));
    let only = |mut found: Vec<usize>| found.pop().filter(|_| found.is_empty());
    let alike = lines().map(|(number, _)| number).collect();
    only(alike).or_else(|| only(lines().filter(|(_, line)| line.ends_with(ends)).map(|(n, _)| n).collect()))
}

/// Tells whether a comment holds what is named at a place.
pub(super) fn is_held(context: &Context<'_>, reading: &Reading) -> bool {
    let Reading { source, at } = reading;
    if !may_be_held(&source.text, *at) {
        return false;
    }
    let path = &source.path;
    let is_yaml = matches!(other::class(path), other::Class::Manifest);
    let file = is_yaml.then(|| context.corpus.read(path.as_str())).flatten();
    match file.filter(|file| *file.text == *source.text) {
        Some(file) => in_yaml(Place::of(&file), *at),
        None => marker::is_held(&source.text, &(*at..*at)),
    }
}

/// Tells whether a marker stands on the line of a byte, or on one of those above it that may be comments. Few files have any,
/// and of those few lines: the others need no look at what they are.
fn may_be_held(text: &str, at: usize) -> bool {
    let (before, behind) = text.split_at_checked(at).unwrap_or((text, ""));
    let first = memchr::memrchr_iter(b'\n', before.as_bytes()).nth(hold::ABOVE).unwrap_or(0);
    let last = memchr::memchr(b'\n', behind.as_bytes()).unwrap_or(behind.len());
    text.as_bytes()
        .get(first..at + last)
        .is_some_and(|near| memchr::memmem::find(near, b"uplinker:").is_some())
}

/// The same in a text, or in the text of one of its scalars.
fn in_yaml(place: Place<'_>, at: usize) -> bool {
    if hold::word(place.stream, place.text, at) == Some(Reason::Held) {
        return true;
    }
    let nodes = place.stream.roots().flat_map(|root| root.document().nodes());
    let mut scalars = nodes.filter(|node| !node.is_alias() && node.as_str().is_some());
    let Some(node) = scalars.find(|node| node.span().contains(&at)) else { return false };
    let part = SourceMap::of(place.text, node).and_then(|map| map.in_value(at..at + 1));
    let Some(part) = part.filter(|_| node.as_str().is_some_and(|text| text.contains('\n'))) else {
        return false;
    };
    // A template need not be YAML.
    let text = node.as_str().unwrap_or_default();
    let inside = place.inside(node, |inner| in_yaml(inner, part.start));
    inside.unwrap_or_else(|| marker::is_held(text, &(part.start..part.start)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_template_is_named_where_it_is_the_only_one() {
        let printed = "a:\n  version: 2026.8.2\nb:\n  version: 2026.8.2 # uplinker: hold\n";
        let line = |template: &str, nth: usize| {
            let at = printed.match_indices("2026").nth(nth).unwrap().0;
            of_template(template, printed, at)
        };
        assert_eq!(line("a:\n  version: {{ .Values.a }}\n", 0), Some(2));
        let two = "a:\n  version: {{ .Values.a }}\nb:\n  version: {{ .Values.b }} # uplinker: hold\n";
        assert_eq!(line(two, 1), Some(4), "it ends alike too");
        let alike = "a:\n  version: {{ .Values.a }}\nb:\n  version: {{ .Values.b }}\n";
        assert_eq!(line(alike, 0), None);
        assert_eq!(line("{{ include \"a\" . }}\n", 0), None);
    }
}
