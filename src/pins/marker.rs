//! Step 5, pins: shape `marker`, a line of any text file with `uplinker: edge` or `uplinker: chart` in a comment.
//!
//! In: a text. Out: a pin at each release name of that form that stands before the comment on its line, or on the line
//! below a comment that says nothing else.

use std::ops::Range;

use super::{
    Form, Pin, PinKind, Reason, Site, Stage,
    found::is_workflow,
    hold,
    release_names::{Token, tokens},
};
use crate::{
    linkerd::EdgeVersion,
    repo::{BlobId, RepoPath},
};

/// What starts a comment in one language or another.
pub(super) const SIGNS: [&str; 6] = ["#", "//", "<!--", "/*", ";", "--"];

/// Comments that end before their line does.
const CLOSED: [(&str, &str); 2] = [("<!--", "-->"), ("/*", "*/")];

/// A text file that need not be YAML.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextFile<'a> {
    /// Where it is.
    pub path: &'a RepoPath,
    /// Its blob.
    pub blob: BlobId,
    /// Its text.
    pub text: &'a str,
    /// Whether it is under SOPS.
    pub sealed: bool,
}

/// Finds the markers of a text.
pub(super) fn pins(file: &TextFile<'_>) -> Vec<Pin> {
    let mut found = Vec::new();
    let finder = memchr::memmem::Finder::new("uplinker");
    if finder.find(file.text.as_bytes()).is_none() {
        return found;
    }
    let mut start = 0;
    let mut above: Option<&str> = None;
    for (number, line) in file.text.split_inclusive('\n').enumerate() {
        let mut marked = marked(line);
        if let Some(form) = above.and_then(lone_marker).filter(|_| marked.is_empty()) {
            marked.push((0..line.len(), form));
        }
        // What is held by a comment further behind is held with all that stands before that comment.
        let held = match above.is_some_and(is_hold_line) {
            true => marked.len(),
            false => marked.partition_point(|(code, _)| hold_in(line.get(code.end..).unwrap_or_default())),
        };
        let (mut counted, mut column) = (line.len() - line.trim_start_matches('\u{feff}').len(), 1);
        for (nth, (code, form)) in marked.into_iter().enumerate() {
            let first = code.start;
            for mut token in tokens(line.get(code).unwrap_or_default()).into_iter().filter(|t| t.form == form)
            {
                token.span = first + token.span.start..first + token.span.end;
                column += line.get(counted..token.span.start).map_or(0, |before| before.chars().count());
                counted = token.span.start;
                found.push(pin(file, start, (number + 1, column), &token, nth < held));
            }
        }
        above = Some(line);
        start += line.len();
    }
    found
}

/// Makes a pin of a release name in a text that is not walked as YAML.
pub(super) fn text_pin(
    file: &TextFile<'_>,
    kind: PinKind,
    span: Range<usize>,
    (line, column): (usize, usize),
    (form, version): (Form, Option<EdgeVersion>),
    stays: Option<Reason>,
) -> Pin {
    Pin {
        path: file.path.clone(),
        blob: file.blob,
        value: file.text.get(span.clone()).unwrap_or_default().to_owned(),
        site: Site { span, line, column, document: 0, route: None },
        kind,
        chart: None,
        mirror: None,
        form,
        read_as: None,
        frame: None,
        version,
        stage: Stage::Platform,
        restarts: false,
        is_off: false,
        asks_no_stop: false,
        chooses_controllers: false,
        filter: None,
        stays,
        unheld: None,
        ended: None,
        kept_by: None,
        read_at: Vec::new(),
        given_to: Vec::new(),
        also: Vec::new(),
        installations: Default::default(),
        homes: Vec::new(),
    }
}

fn pin(file: &TextFile<'_>, start: usize, place: (usize, usize), token: &Token, held: bool) -> Pin {
    let span = start + token.span.start..start + token.span.end;
    let workflow = is_workflow(file.path);
    let stays = held
        .then_some(Reason::Held)
        .or(file.sealed.then_some(Reason::Encrypted))
        .or(workflow.then_some(Reason::NeedsWorkflowsScope));
    text_pin(file, PinKind::Marker, span, place, (token.form, Some(token.version)), stays)
}

/// Finds the pieces of a line that comments mark, each with the form that its comment asks for. A piece reaches from
/// the end of the marker before it, which only a comment that closes on the line leaves room for.
fn marked(line: &str) -> Vec<(Range<usize>, Form)> {
    let (mut found, mut from) = (Vec::new(), 0);
    for (at, _) in line.match_indices("uplinker:") {
        let rest = line.get(at + "uplinker:".len()..).unwrap_or_default();
        let word = rest.trim_start_matches(' ');
        let form = [("edge", Form::Edge), ("chart", Form::Chart)].into_iter().find(|(name, _)| {
            let rest = word.strip_prefix(name);
            rest.is_some_and(|r| !r.starts_with(|c: char| c.is_alphanumeric() || c == '-' || c == '_'))
        });
        let sign = line.get(..at).and_then(comment_sign).filter(|sign| *sign >= from);
        let (Some((_, form)), Some(sign)) = (form, sign) else { continue };
        found.push((from..sign, form));
        let closing = CLOSED.iter().find(|(open, _)| line.get(sign..).is_some_and(|l| l.starts_with(open)));
        let end = closing.and_then(|(_, close)| rest.find(close).map(|n| n + close.len()));
        let Some(end) = end else { break };
        from = at + "uplinker:".len() + end;
    }
    found
}

/// Returns where the comment starts whose text ends the given piece of a line; only space, or other comment text
/// behind a sign of its own, stands between the sign and the marker.
pub(super) fn comment_sign(before: &str) -> Option<usize> {
    let trimmed = before.trim_end();
    let sign = SIGNS.iter().find(|sign| trimmed.ends_with(**sign))?;
    let at = trimmed.len() - sign.len();
    let apart =
        trimmed.get(..at)?.chars().next_back().is_none_or(|c| c.is_whitespace() || "\"'`,;)]}>".contains(c));
    apart.then_some(at)
}

/// Reads a line that is nothing but a marker: a Dockerfile knows no comment behind an instruction.
pub(super) fn lone_marker(line: &str) -> Option<Form> {
    let line = line.trim_start_matches('\u{feff}').trim();
    let sign = SIGNS.iter().find(|sign| line.starts_with(**sign))?;
    let text = line.strip_prefix(sign)?;
    let close = CLOSED.iter().find(|(open, _)| open == sign).map_or("", |(_, close)| close);
    match text.trim_end().strip_suffix(close)?.trim().strip_prefix("uplinker:")?.trim_start() {
        "edge" => Some(Form::Edge),
        "chart" => Some(Form::Chart),
        _ => None,
    }
}

/// Tells whether a comment holds what stands at these bytes: behind it on its line, or alone on the line above.
pub(super) fn is_held(text: &str, span: &Range<usize>) -> bool {
    let (before, behind) = (text.get(..span.start), text.get(span.end..));
    let (Some(before), Some(behind)) = (before, behind) else { return false };
    let rest = behind.lines().next().unwrap_or_default();
    let mut lines = before.rsplit('\n');
    hold_in(rest) || lines.nth(1).is_some_and(is_hold_line)
}

/// Tells whether a comment of a template's own, `{{/* uplinker: hold */}}`, stands on the line of a byte, or alone on the one
/// above it.
pub(super) fn is_held_in_template(text: &str, at: usize) -> bool {
    let start = text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |n| n + 1);
    let (before, behind) = text.split_at_checked(start).unwrap_or_default();
    let line = behind.lines().next().unwrap_or_default();
    let mut actions = line.split("{{").skip(1).map(|action| action.trim_start_matches('-').trim_start());
    let above = before.lines().next_back().unwrap_or_default().trim_start();
    actions.any(|action| action.strip_prefix("/*").is_some_and(hold::holds))
        || above.starts_with("{{") && is_hold_line(above)
}

pub(super) fn hold_in(comment: &str) -> bool {
    SIGNS.iter().any(|sign| comment.split(sign).any(hold::holds))
}

pub(super) fn is_hold_line(line: &str) -> bool {
    let line = bare(line);
    SIGNS.iter().any(|sign| line.strip_prefix(sign).is_some_and(hold::holds))
}

/// Takes from a line what encloses a comment of a template: `{{- /* .. */}}`.
pub(super) fn bare(line: &str) -> &str {
    let line = line.trim();
    line.strip_prefix("{{").map_or(line, |inside| inside.trim_start_matches('-').trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(usize, usize, String, Option<Reason>)> {
        let path = RepoPath::new("a/Makefile").unwrap();
        let file = TextFile { path: &path, blob: BlobId([0; 20]), text, sealed: false };
        pins(&file).into_iter().map(|p| (p.site.line, p.site.column, p.value, p.stays)).collect()
    }

    #[test]
    fn the_release_before_the_comment_is_the_pin() {
        let text = "x\nLINKERD ?= edge-26.8.2 # uplinker: edge\nARG V=2026.8.2 // uplinker: chart\n<a v=\"edge-26.8.2\"/> <!-- uplinker: edge -->\n";
        let sites: Vec<(usize, usize)> = found(text).iter().map(|f| (f.0, f.1)).collect();
        assert_eq!(sites, [(2, 12), (3, 7), (4, 7)]);
        assert_eq!(found("SET v = 'edge-26.8.2' -- uplinker: edge").len(), 1);
        assert_eq!(found("v = edge-26.8.2 ; uplinker: edge").len(), 1);
        let two = "Runs edge-26.8.2 <!-- uplinker: edge --> from 2026.8.2 <!-- uplinker: chart -->, not edge-26.8.2.";
        assert_eq!(found(two).iter().map(|f| f.1).collect::<Vec<_>>(), [6, 47]);
        assert_eq!(found("a=edge-26.8.2 # uplinker: edge, not edge-26.8.2 # uplinker: edge").len(), 1);
    }

    #[test]
    fn other_words_and_forms_are_no_marker() {
        for text in [
            "A line with `# uplinker: edge` moves.",
            "v: 2026.8.2 # uplinker: edge",
            "v: edge-26.8.2 uplinker: edge",
            "v: edge-26.8.2 # uplinker: edges",
            "v: x # edge-26.8.2 # uplinker-edge",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }

    #[test]
    fn a_marker_alone_on_a_line_is_for_the_line_below() {
        let lines = |text: &str| found(text).iter().map(|f| f.0).collect::<Vec<_>>();
        assert_eq!(lines("# uplinker: edge\nARG V=edge-26.8.2\nARG W=edge-26.8.2\n"), [2]);
        assert_eq!(lines("  // uplinker: chart\r\n  \"v\": \"2026.8.2\"\r\n"), [2]);
        assert_eq!(lines("<!-- uplinker: edge -->\nWe run edge-26.8.2.\n"), [2]);
        assert_eq!(lines("# uplinker: edge\n\nARG V=edge-26.8.2\n"), [0; 0], "an empty line is between them");
        assert_eq!(lines("# uplinker: edge moves a line\nARG V=edge-26.8.2\n"), [0; 0], "it explains");
        assert_eq!(lines("# uplinker: chart\nARG V=edge-26.8.2\n"), [0; 0]);
        assert_eq!(lines("# uplinker: chart\nV=2026.8.2 U=edge-26.8.2 # uplinker: edge\n"), [2]);
    }

    #[test]
    fn a_marked_line_can_be_held() {
        assert_eq!(found("# uplinker: hold\nv=edge-26.8.2 # uplinker: edge\n")[0].3, Some(Reason::Held));
        assert_eq!(found("v=edge-26.8.2 # uplinker: edge # uplinker: hold\n")[0].3, Some(Reason::Held));
        let two =
            "edge-26.8.2 <!-- uplinker: edge --> <!-- uplinker: hold --> edge-26.8.2 <!-- uplinker: edge -->";
        let stays: Vec<_> = found(two).into_iter().map(|f| (f.1, f.3)).collect();
        assert_eq!(stays, [(1, Some(Reason::Held)), (61, None)]);
    }
}
