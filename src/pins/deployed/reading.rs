//! Step 5, pins: lines that name what was written elsewhere, and whether a comment there holds it.
//!
//! In: a file and a byte. Out: the line; whether `# uplinker: hold` stands behind it or above it. What one line holds is held
//! for all that read it.

use std::{cell::OnceCell, collections::BTreeSet};

use super::{claim::Claim, foreign::Named};
use crate::{
    deploy::{Files as _, value::Reading},
    pins::{Line, Reason, context::Context, corpus::File, hold, marker, other, place::Place},
    repo::parallel,
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
/// ends alike too, or the only one that has in order what stands around its actions.
fn of_template(template: &str, printed: &str, at: usize) -> Option<usize> {
    let (before, behind) = printed.split_at_checked(at)?;
    let start = before.rsplit('\n').next().unwrap_or_default();
    let end = behind.lines().next().unwrap_or_default();
    let (begins, ends) = (start.trim(), end.rsplit('#').next().unwrap_or_default());
    let lines = || (1..).zip(template.lines()).filter(|(_, line)| line.trim_start().starts_with(begins));
    let only = |mut found: Vec<usize>| found.pop().filter(|_| found.is_empty());
    let alike = lines().map(|(number, _)| number).collect();
    let whole = format!("{start}{end}");
    let printing = || (1..).zip(template.lines()).filter(|(_, line)| may_print(line, &whole));
    only(alike)
        .or_else(|| only(lines().filter(|(_, line)| line.ends_with(ends)).map(|(n, _)| n).collect()))
        .or_else(|| only(printing().map(|(number, _)| number).collect()))
}

/// Tells whether a line of a template may have printed a line: it has in order what stands around its actions. One that is
/// nothing but actions may print any, and says nothing.
fn may_print(template: &str, printed: &str) -> bool {
    let mut actions = template.trim().split("{{");
    let first = actions.next().unwrap_or_default();
    let texts = actions.map(|part| part.split_once("}}").map_or("", |(_, text)| text.trim()));
    let texts: Vec<&str> = [first.trim()].into_iter().chain(texts).collect();
    let (Some((first, rest)), printed) = (texts.split_first(), printed.trim()) else { return false };
    let Some((last, between)) = rest.split_last() else { return !first.is_empty() && *first == printed };
    let mut left = printed.strip_prefix(first).and_then(|left| left.strip_suffix(last));
    for text in between {
        left = left.and_then(|left| left.split_once(text)).map(|(_, left)| left);
    }
    left.is_some() && texts.iter().any(|text| text.contains(char::is_alphabetic))
}

/// Notes in claims where a comment holds a place by which they are read. One place may read thousands, and thousands stand in
/// one file: each place is looked at once, and each file is opened once.
pub(super) fn note_held(context: &Context<'_>, claims: &mut [Claim]) {
    let read: BTreeSet<Reading> = claims.iter().flat_map(|claim| &claim.read).cloned().collect();
    let read: Vec<Reading> = read.into_iter().collect();
    let files: Vec<&[Reading]> = read.chunk_by(|a, b| a.source.path == b.source.path).collect();
    let held = parallel::map(&files, |of_file| held_in(context, of_file));
    let held: BTreeSet<Reading> = held.into_iter().flatten().collect();
    for claim in claims.iter_mut().filter(|_| !held.is_empty()) {
        claim.held_at = claim.read.iter().find(|at| held.contains(*at)).cloned();
    }
}

/// Finds, of places in one file, those that a comment holds.
fn held_in(context: &Context<'_>, readings: &[Reading]) -> Vec<Reading> {
    let opened = OnceCell::new();
    let file = || {
        let path = &readings.first()?.source.path;
        let is_yaml = matches!(other::class(path), other::Class::Manifest);
        opened.get_or_init(|| is_yaml.then(|| context.corpus.read(path.as_str())).flatten()).as_deref()
    };
    readings.iter().filter(|reading| is_held(context, reading, file)).cloned().collect()
}

/// Tells whether a comment holds what is named at a place of a file.
fn is_held<'f>(context: &Context<'_>, reading: &Reading, file: impl Fn() -> Option<&'f File>) -> bool {
    let Reading { source, at } = reading;
    let path = &source.path;
    if may_be_held(&source.text, *at) {
        let is_held = match file().filter(|file| *file.text == *source.text) {
            Some(file) => in_yaml(Place::of(file), *at),
            None => marker::is_held(&source.text, &(*at..*at)),
        };
        if is_held || marker::is_held_in_template(&source.text, *at) {
            return true;
        }
    }
    // Of a comment of the template's own Helm prints nothing.
    let template = context.is_template(path).then(|| context.files.file(path.as_str()).ok()).flatten();
    template.is_some_and(|template| {
        template.text.contains("uplinker:")
            && template.text != source.text
            && is_held_unprinted(&template.text, &source.text, *at)
    })
}

/// Tells whether a comment of a template's own holds the line that a printed one came of: of several that may print it, one
/// above which most lines may print those above it.
fn is_held_unprinted(template: &str, printed: &str, at: usize) -> bool {
    let start = printed.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |n| n + 1);
    let (before, behind) = printed.split_at_checked(start).unwrap_or_default();
    let line = behind.lines().next().unwrap_or_default();
    let (mut found, mut start) = (Vec::new(), 0);
    for own in template.split_inclusive('\n') {
        if may_print(own, line) {
            let above = template.get(..start).unwrap_or_default().lines().rev();
            let above = above.filter(|own| !own.trim().is_empty() && !own.trim_start().starts_with("{{"));
            let printed = before.lines().rev().filter(|line| !line.trim().is_empty());
            found.push((above.zip(printed).take_while(|(own, line)| may_print(own, line)).count(), start));
        }
        start += own.len();
    }
    let most = found.iter().map(|(alike, _)| *alike).max();
    let mut likely = found.iter().filter(|(alike, _)| Some(*alike) == most);
    likely.any(|(_, start)| marker::is_held_in_template(template, *start))
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
    fn a_comment_that_helm_does_not_print_holds_the_line_that_it_is_for() {
        let printed =
            "kind: A\nchart: crds\nversion: 2026.8.2\n---\nkind: A\nchart: viz\nversion: 2026.8.2\n";
        let held = |template: &str| {
            let places =
                printed.match_indices("2026").map(|(at, _)| is_held_unprinted(template, printed, at));
            places.collect::<Vec<_>>()
        };
        let of = |crds: &str, viz: &str| {
            format!(
                "kind: A\nchart: crds\n{crds}---\n{{{{ if .b }}}}\nkind: A\nchart: viz\n{viz}{{{{ end }}}}\n"
            )
        };
        let (a, b) = ("version: {{ .Values.a }}\n", "version: {{ .Values.b }}\n");
        let hold = "{{- /* uplinker: hold */}}\n";
        assert_eq!(held(&of(a, &format!("{hold}{b}"))), [false, true]);
        assert_eq!(held(&of(&format!("{hold}{a}"), b)), [true, false]);
        let behind = "version: {{ .Values.a }} {{/* uplinker: hold */}}\n";
        assert_eq!(held(&of(behind, b)), [true, false]);
        let range =
            format!("{{{{ range .all }}}}\nkind: A\nchart: {{{{ .name }}}}\n{hold}{b}{{{{ end }}}}\n");
        assert_eq!(held(&range), [true, true], "one line prints both");
        assert_eq!(held(&of(a, b)), [false, false]);
    }

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
        let flow = "{{ range .Values.apps }}\n- {of: {{ .name }}, version: {{ .version | default $.Values.version }}}\n{{ end }}\n";
        let printed = "- {of: billing, version: 2026.8.2}\n";
        let at = printed.find("2026").unwrap();
        assert_eq!(of_template(flow, printed, at), Some(2), "what stands around its actions is there");
        assert_eq!(of_template(&flow.replace("of:", "for:"), printed, at), None);
    }
}
