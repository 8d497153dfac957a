//! Step 9, explain: the text of a pull request.
//!
//! In: a [`Content`] and the state of the branch. Out: a body that fits the forge's limit, with its check boxes and
//! its marker at the end. The sentences are in `templates/pull_request/`. Templates get data only; every text in them is
//! made harmless unless they say that it is code. Pure.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicUsize, Ordering},
};

use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value, context, value::Serde};

use super::{CheckBox, Content, Dialect, Marker, Ticks, markdown, marker};
use crate::{linkerd::EdgeVersion, pins::Stage};
use fit::{Limits, cut, length};

mod fit;

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
    /// The forge that shows it.
    pub dialect: &'a Dialect,
    /// The target.
    pub target: &'a str,
    /// The stage.
    pub stage: Stage,
    /// The release that the first box declines.
    pub release: EdgeVersion,
    /// The release that it takes back, where it goes to an older one: the first box lets it come again.
    pub undoes: Option<EdgeVersion>,
    /// Whether the head is a person's.
    pub person: bool,
    /// Where it is: a release newer than the one that the branch goes to.
    pub newer: Option<EdgeVersion>,
    /// Whether taking the branch back keeps a person's commits in its history.
    pub keeps_history: bool,
    /// Whether there is something to ask for again.
    pub retry: bool,
}

/// Writes the text of a content as a pull request has it: what a reviewer reads, without boxes and marker. It leaves
/// room for those.
pub fn text(content: &Content, dialect: &Dialect) -> Result<String, BodyError> {
    within(content, dialect.body - FRAME, dialect)
}

/// Writes the same text with all that there is to say, however long it gets.
pub fn whole(content: &Content, dialect: &Dialect) -> Result<String, BodyError> {
    written(&Value::from(Serde(content)), &Limits::ALL, dialect)
}

/// Writes the same text so that it needs at most so many bytes, which is the strictest way to count characters: lists
/// and long values are shortened, the least important first, and each says by how much.
pub fn within(content: &Content, most: usize, dialect: &Dialect) -> Result<String, BodyError> {
    let data = Value::from(Serde(content));
    let full = written(&data, &Limits::FULL, dialect)?;
    if full.len() <= most {
        return Ok(full);
    }
    // Each step says less than the one before, so the first that fits is found by halves.
    let steps = Limits::steps();
    let (mut low, mut high, mut found) = (0, steps.len(), None);
    while let Some(limits) = steps.get(low + (high - low) / 2).filter(|_| low < high) {
        let middle = low + (high - low) / 2;
        let text = written(&data, limits, dialect)?;
        match text.len() <= most {
            true => (high, found) = (middle, Some(text)),
            false => low = middle + 1,
        }
    }
    match (found, steps.last()) {
        (Some(text), _) => Ok(text),
        (None, last) => Ok(cut(&written(&data, last.unwrap_or(&Limits::FULL), dialect)?, most)),
    }
}

fn written(data: &Value, limits: &Limits, dialect: &Dialect) -> Result<String, BodyError> {
    let data = context! { limits => Value::from(Serde(limits)), ..data.clone() };
    Ok(tidy(&render("pull_request", data, limits.text, dialect)?))
}

/// Puts text, boxes and marker together.
pub fn compose(text: &str, frame: &Frame<'_>, ticks: &Ticks, sign: &Marker) -> Result<String, BodyError> {
    let boxes = boxes(frame, ticks)?;
    Ok(format!("{}\n\n---\n\n{boxes}\n\n{}\n", text.trim_end(), marker::write(sign)))
}

/// Puts a note above a body that is there, and other boxes and another marker below; its text stays.
pub fn annotate(body: &str, frame: &Frame<'_>, ticks: &Ticks, sign: &Marker) -> Result<String, BodyError> {
    let newer = frame.newer.map(|r| r.to_string());
    let note = tidy(&render("note", context! { newer }, Limits::FULL.text, frame.dialect)?);
    let (above, old_boxes) = marker::strip(body).split_once(BOXES.0).unwrap_or((marker::strip(body), ""));
    let below = old_boxes.split_once(BOXES.1).map_or("", |(_, rest)| rest);
    let kept = match above.split_once(NOTE.0).and_then(|(a, rest)| Some((a, rest.split_once(NOTE.1)?.1))) {
        Some((before, after)) => format!("{}{}", before, after.trim_start()),
        None => above.to_owned(),
    };
    let room = frame.dialect.body - FRAME;
    let kept = cut(kept.trim(), room);
    let below = cut(below.trim(), room.saturating_sub(length(&kept)));
    let boxes = boxes(frame, ticks)?;
    let rest = [kept.as_str(), &boxes, &below].into_iter().filter(|p| !p.is_empty()).collect::<Vec<_>>();
    Ok(format!("{}\n{note}\n{}\n\n{}\n\n{}\n", NOTE.0, NOTE.1, rest.join("\n\n"), marker::write(sign)))
}

/// Replaces the marker of a body and leaves the rest, as far as it fits.
pub fn with_marker(body: &str, sign: &Marker, dialect: &Dialect) -> String {
    format!("{}\n\n{}\n", cut(marker::strip(body), dialect.body - FRAME / 2), marker::write(sign))
}

/// Tells whether two bodies say the same: the forge and its editor change line ends.
pub fn same(one: &str, other: &str) -> bool {
    one.trim_end().lines().eq(other.trim_end().lines())
}

fn boxes(frame: &Frame<'_>, ticks: &Ticks) -> Result<String, BodyError> {
    let release = frame.release.to_string();
    let (target, stage) = (markdown::code(frame.target), frame.stage.name());
    let of = format!("{} for {target} ({stage})", markdown::code(&release));
    let undoes = frame.undoes.map(|release| release.to_string());
    let mut lines = vec![match frame.undoes {
        Some(undone) => CheckBox::Again(undone).line(
            &format!(
                "Propose {} for {} again, once this is merged",
                markdown::code(&undone.to_string()),
                markdown::code(frame.target)
            ),
            ticks,
        ),
        None => CheckBox::Skip(frame.release).line(&format!("Skip {of}"), ticks),
    }];
    match frame.person {
        true => lines.push(CheckBox::Retake.line("Hand this branch back to uplinker", ticks)),
        false => lines.push(CheckBox::Rebase.line("Apply this to the base branch as it is now", ticks)),
    }
    if frame.retry && !frame.person {
        lines.push(CheckBox::Retry.line("Ask again for labels, people and status", ticks));
    }
    let (person, keeps_history) = (frame.person, frame.keeps_history);
    let request = frame.dialect.request;
    let data = context! { person, keeps_history, release, undoes, request };
    let answer = tidy(&render("answer", data, Limits::FULL.text, frame.dialect)?);
    Ok(format!("{}\n{}\n\n{answer}\n{}", BOXES.0, lines.join("\n"), BOXES.1))
}

/// Renders a template, in which no foreign text shows more than so many characters.
fn render(name: &str, data: Value, longest: usize, dialect: &Dialect) -> Result<String, BodyError> {
    let fail = |e: minijinja::Error| BodyError(format!("{e:#}"));
    static TEMPLATES: OnceLock<Result<Environment<'static>, String>> = OnceLock::new();
    let templates = TEMPLATES.get_or_init(|| templates().map_err(|e| format!("{e:#}")));
    let templates = templates.as_ref().map_err(|reason| BodyError(reason.clone()))?;
    let templates = counting(templates.clone(), longest, *dialect);
    templates.get_template(name).and_then(|t| t.render(data)).map_err(fail)
}

/// Gives the templates what shows and shortens: in each of them a text is escaped unless a filter made Markdown of it,
/// and what is left out is counted.
fn counting(mut templates: Environment<'static>, longest: usize, dialect: Dialect) -> Environment<'static> {
    let entries = Arc::new(AtomicUsize::new(0));
    let texts = Arc::new(AtomicUsize::new(0));
    let shown = |show: fn(&str, usize, &Dialect) -> String| {
        let texts = Arc::clone(&texts);
        move |text: &str| {
            texts.fetch_add(usize::from(markdown::is_longer(text, longest)), Ordering::Relaxed);
            show(text, longest, &dialect)
        }
    };
    let safe = shown(markdown::safe_to);
    templates.set_formatter(move |out, _, value| match value.as_str() {
        Some(text) if !value.is_safe() => Ok(out.write_str(&safe(text))?),
        _ => Ok(write!(out, "{value}")?),
    });
    for (name, show) in [
        ("code", markdown::code_to as fn(&str, usize, &Dialect) -> String),
        ("line_code", markdown::line_code_to),
        ("prose", markdown::prose_to),
        ("advice", markdown::advice_to),
    ] {
        let show = shown(show);
        templates.add_filter(name, move |text: &str| Value::from_safe_string(show(text)));
    }
    let left_out = Arc::clone(&entries);
    templates.add_filter("top", move |list: Vec<Value>, n: usize| {
        left_out.fetch_add(list.len().saturating_sub(n), Ordering::Relaxed);
        list.into_iter().take(n).collect::<Vec<_>>()
    });
    // The same list a second time is not left out twice.
    templates.add_filter("begin", |list: Vec<Value>, n: usize| list.into_iter().take(n).collect::<Vec<_>>());
    templates.add_filter("hidden", |list: Vec<Value>, n: usize| list.len().saturating_sub(n));
    templates.add_function("left_out", move || entries.load(Ordering::Relaxed));
    templates.add_function("shortened", move || texts.load(Ordering::Relaxed));
    templates
}

/// Reads the templates.
fn templates() -> Result<Environment<'static>, minijinja::Error> {
    let mut templates = Environment::new();
    templates.set_undefined_behavior(UndefinedBehavior::Strict);
    templates.set_auto_escape_callback(|_| AutoEscape::Custom("markdown".into()));
    for (name, source) in [
        ("pull_request", include_str!("../../templates/pull_request/body.md")),
        ("sections", include_str!("../../templates/pull_request/sections.md")),
        ("cluster", include_str!("../../templates/pull_request/cluster.md")),
        ("workloads", include_str!("../../templates/pull_request/workloads.md")),
        ("upstream", include_str!("../../templates/pull_request/upstream.md")),
        ("next", include_str!("../../templates/pull_request/next.md")),
        ("answer", include_str!("../../templates/pull_request/answer.md")),
        ("note", include_str!("../../templates/pull_request/note.md")),
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

#[cfg(test)]
mod tests;
