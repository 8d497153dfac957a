//! Step 8, propose: the text of a pull request.
//!
//! In: a [`Content`] and the state of the branch. Out: a body that fits the forge's limit, with its check boxes and
//! its marker at the end. Templates get data only; every text in them is made harmless unless they say that it is
//! code. Pure.

use std::sync::OnceLock;

use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value, context, value::Serde};
use serde::Serialize;

use super::{CheckBox, Content, Marker, Ticks, markdown, marker};
use crate::release::EdgeVersion;

/// The most characters that GitHub takes in a body.
pub const LIMIT: usize = 65_536;
/// What is kept free for the note, the boxes and the marker.
const FRAME: usize = 6_000;

const NOTE: (&str, &str) = ("<!-- uplinker:note -->", "<!-- /uplinker:note -->");
const BOXES: (&str, &str) = ("<!-- uplinker:boxes -->", "<!-- /uplinker:boxes -->");

/// A template that does not render: a defect of the program.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the pull request's text: {0}; please report this")]
pub struct BodyError(String);

/// What stands around the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The target.
    pub target: &'a str,
    /// The stage.
    pub stage: &'a str,
    /// The release that the first box declines.
    pub release: EdgeVersion,
    /// Whether the head is a person's.
    pub person: bool,
    /// Where it is: a release newer than the one that the branch goes to.
    pub newer: Option<EdgeVersion>,
    /// Whether taking the branch back keeps a person's commits in its history.
    pub keeps_history: bool,
    /// Whether there is something to ask for again.
    pub retry: bool,
}

/// How many entries of each list are shown, least important list first.
#[derive(Clone, Copy, Debug, Serialize)]
struct Limits {
    items: usize,
    fields: usize,
    certificates: usize,
    notes: usize,
    infos: usize,
    stays: usize,
    objects: usize,
    releases: usize,
    images: usize,
    places: usize,
    restarts: usize,
    order: usize,
    charts: usize,
    notices: usize,
    breaking: usize,
    rows: usize,
    warnings: usize,
    blocks: usize,
}

// === impl Limits ===

impl Limits {
    const FULL: Self = Self {
        items: 40,
        fields: 60,
        certificates: 40,
        notes: 40,
        infos: 200,
        stays: 30,
        objects: 120,
        releases: 100,
        images: 60,
        places: 12,
        restarts: 100,
        order: 40,
        charts: 60,
        notices: 60,
        breaking: 100,
        rows: 200,
        warnings: 200,
        blocks: 200,
    };

    /// Shortens the least important list that is still over `floor`; `false` when none is.
    fn tighten(&mut self, floor: usize) -> bool {
        let lists = [
            &mut self.items,
            &mut self.fields,
            &mut self.certificates,
            &mut self.notes,
            &mut self.infos,
            &mut self.stays,
            &mut self.objects,
            &mut self.releases,
            &mut self.images,
            &mut self.places,
            &mut self.restarts,
            &mut self.order,
            &mut self.charts,
            &mut self.notices,
            &mut self.breaking,
            &mut self.rows,
            &mut self.warnings,
            &mut self.blocks,
        ];
        match lists.into_iter().find(|n| **n > floor) {
            Some(list) => *list = (*list / 4).max(floor),
            None => return false,
        }
        true
    }
}

/// Writes the text of a content: what a reviewer reads, without boxes and marker. It leaves room for those.
pub fn text(content: &Content) -> Result<String, BodyError> {
    let mut limits = Limits::FULL;
    let data = Value::from(Serde(content));
    loop {
        let text =
            tidy(&render("pull_request", context! { limits => Value::from(Serde(limits)), ..data.clone() })?);
        if length(&text) <= LIMIT - FRAME || !(limits.tighten(4) || limits.tighten(1)) {
            return Ok(cut(&text, LIMIT - FRAME));
        }
    }
}

/// Puts text, boxes and marker together.
pub fn compose(text: &str, frame: &Frame<'_>, ticks: &Ticks, sign: &Marker) -> Result<String, BodyError> {
    let boxes = boxes(frame, ticks)?;
    Ok(format!("{}\n\n---\n\n{boxes}\n\n{}\n", text.trim_end(), marker::write(sign)))
}

/// Puts a note above a body that is there, and other boxes and another marker below; its text stays.
pub fn annotate(body: &str, frame: &Frame<'_>, ticks: &Ticks, sign: &Marker) -> Result<String, BodyError> {
    let newer = frame.newer.map(|r| r.to_string());
    let note = tidy(&render("note", context! { newer })?);
    let (above, old_boxes) = marker::strip(body).split_once(BOXES.0).unwrap_or((marker::strip(body), ""));
    let below = old_boxes.split_once(BOXES.1).map_or("", |(_, rest)| rest);
    let kept = match above.split_once(NOTE.0).and_then(|(a, rest)| Some((a, rest.split_once(NOTE.1)?.1))) {
        Some((before, after)) => format!("{}{}", before, after.trim_start()),
        None => above.to_owned(),
    };
    let kept = cut(kept.trim(), LIMIT - FRAME);
    let below = cut(below.trim(), LIMIT - FRAME - length(&kept));
    let boxes = boxes(frame, ticks)?;
    let rest = [kept.as_str(), &boxes, &below].into_iter().filter(|p| !p.is_empty()).collect::<Vec<_>>();
    Ok(format!("{}\n{note}\n{}\n\n{}\n\n{}\n", NOTE.0, NOTE.1, rest.join("\n\n"), marker::write(sign)))
}

/// Replaces the marker of a body and leaves the rest, as far as it fits.
pub fn with_marker(body: &str, sign: &Marker) -> String {
    format!("{}\n\n{}\n", cut(marker::strip(body), LIMIT - FRAME / 2), marker::write(sign))
}

/// Tells whether two bodies say the same: the forge and its editor change line ends.
pub fn same(one: &str, other: &str) -> bool {
    one.trim_end().lines().eq(other.trim_end().lines())
}

fn boxes(frame: &Frame<'_>, ticks: &Ticks) -> Result<String, BodyError> {
    let release = frame.release.to_string();
    let of = format!("{} for {} ({})", markdown::code(&release), markdown::code(frame.target), frame.stage);
    let mut lines = vec![CheckBox::Skip(frame.release).line(&format!("Skip {of}"), ticks)];
    match frame.person {
        true => lines.push(CheckBox::Retake.line("Hand this branch back to uplinker", ticks)),
        false => lines.push(CheckBox::Rebase.line("Apply this to the base branch as it is now", ticks)),
    }
    if frame.retry && !frame.person {
        lines.push(CheckBox::Retry.line("Ask again for labels, people and status", ticks));
    }
    let (person, keeps_history) = (frame.person, frame.keeps_history);
    let answer = tidy(&render("answer", context! { person, keeps_history, release })?);
    Ok(format!("{}\n{}\n\n{answer}\n{}", BOXES.0, lines.join("\n"), BOXES.1))
}

fn render(name: &str, data: Value) -> Result<String, BodyError> {
    let fail = |e: minijinja::Error| BodyError(format!("{e:#}"));
    static TEMPLATES: OnceLock<Result<Environment<'static>, String>> = OnceLock::new();
    let templates = TEMPLATES.get_or_init(|| templates().map_err(|e| format!("{e:#}")));
    let templates = templates.as_ref().map_err(|reason| BodyError(reason.clone()))?;
    templates.get_template(name).and_then(|t| t.render(data)).map_err(fail)
}

/// Reads the templates. In each of them a text is escaped unless a filter made Markdown of it.
fn templates() -> Result<Environment<'static>, minijinja::Error> {
    let mut templates = Environment::new();
    templates.set_undefined_behavior(UndefinedBehavior::Strict);
    templates.set_auto_escape_callback(|_| AutoEscape::Custom("markdown".into()));
    templates.set_formatter(|out, _, value| match value.as_str() {
        Some(text) if !value.is_safe() => Ok(out.write_str(&markdown::safe(text))?),
        _ => Ok(write!(out, "{value}")?),
    });
    templates.add_filter("code", |text: String| Value::from_safe_string(markdown::code(&text)));
    templates.add_filter("prose", |text: String| Value::from_safe_string(markdown::prose(&text)));
    templates.add_filter("advice", |text: String| Value::from_safe_string(markdown::advice(&text)));
    templates.add_filter("top", |list: Vec<Value>, n: usize| list.into_iter().take(n).collect::<Vec<_>>());
    templates.add_filter("hidden", |list: Vec<Value>, n: usize| list.len().saturating_sub(n));
    for (name, source) in [
        ("pull_request", include_str!("../../templates/pull_request.md")),
        ("sections", include_str!("../../templates/pull_request_sections.md")),
        ("cluster", include_str!("../../templates/pull_request_cluster.md")),
        ("workloads", include_str!("../../templates/pull_request_workloads.md")),
        ("upstream", include_str!("../../templates/pull_request_upstream.md")),
        ("next", include_str!("../../templates/pull_request_next.md")),
        ("answer", include_str!("../../templates/pull_request_answer.md")),
        ("note", include_str!("../../templates/pull_request_note.md")),
    ] {
        templates.add_template(name, source)?;
    }
    Ok(templates)
}

/// Leaves at most one empty line between lines, and no white space at their ends.
fn tidy(text: &str) -> String {
    let mut out: Vec<&str> = Vec::new();
    for line in text.trim().lines().map(str::trim_end) {
        if !line.is_empty() || out.last().is_some_and(|last| !last.is_empty()) {
            out.push(line);
        }
    }
    out.join("\n")
}

/// Counts as the strictest of the forges' own counts does.
fn length(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Cuts whole lines off the end until the rest fits.
fn cut(text: &str, most: usize) -> String {
    if length(text) <= most {
        return text.to_owned();
    }
    let mut kept = String::new();
    let (mut used, total) = (0, text.lines().count());
    for (n, line) in text.lines().enumerate() {
        used += length(line) + 1;
        if used + 60 > most {
            return format!("{kept}\n{} more lines are left out here.", total - n);
        }
        kept.push_str(line);
        kept.push('\n');
    }
    kept
}

#[cfg(test)]
mod tests;
