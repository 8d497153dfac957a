//! The pages: where every target stands, one target with its pins, what happened.
//!
//! In: what the board knows. Out: HTML and Atom. Every text may be a stranger's: hidden characters are shown by their
//! numbers, the rest is escaped, and a link leads to a web page or nowhere.

use std::sync::OnceLock;

use jiff::Timestamp;
use minijinja::{Environment, HtmlEscape, UndefinedBehavior, Value, context, escape_formatter, value::Serde};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;

use super::{
    board::{Facts, Known, id_of},
    readiness::unready,
};
use crate::{
    linkerd::EdgeVersion,
    report::{EventRow, OpenPull, PinRow, StatusRow, for_terminal},
};

/// How the pages look.
pub(super) const STYLE: &str = include_str!("../../templates/service/style.css");

/// So many pins of a target are shown.
const PINS: usize = 1000;

/// What a part of a path keeps as it is.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// A repository on the first page.
#[derive(Serialize)]
struct Entry<'f> {
    id: String,
    name: &'f str,
    failure: Option<&'f str>,
    passed: bool,
    rows: Vec<Row<'f>>,
}

/// A stage of a target.
#[derive(Serialize)]
struct Row<'f> {
    target: &'f str,
    stage: &'static str,
    release: Option<EdgeVersion>,
    since: Option<Timestamp>,
    behind: Option<String>,
    next: Option<EdgeVersion>,
    waits: Option<&'f str>,
    pull: Option<&'f OpenPull>,
}

/// An event in words.
#[derive(Serialize)]
struct Told<'f> {
    words: &'static str,
    #[serde(flatten)]
    event: &'f EventRow,
}

type Page = Result<String, minijinja::Error>;

/// The first page.
pub(super) fn index(facts: &Facts, now: Timestamp) -> Page {
    let entries = facts.repositories.iter().map(|(name, known)| Entry {
        id: id_of(name),
        name,
        failure: known.failure(),
        passed: known.pass.is_some(),
        rows: rows(known, |_| true),
    });
    let entries: Vec<Entry<'_>> = entries.collect();
    let unready = unready(facts, now).map(|reason| reason.to_string());
    render(
        "index.html",
        context! { repositories => Serde(entries), unready, newest => Serde(facts.newest()), now => Serde(now) },
    )
}

/// The page of a target; `None` where there is none.
pub(super) fn target(facts: &Facts, id: &str, target: &str, now: Timestamp) -> Option<Page> {
    let (name, known) = facts.find(id)?;
    let status = known.status.as_ref()?;
    let rows = rows(known, |row| row.target == target);
    if rows.is_empty() {
        return None;
    }
    let its = |pin: &&PinRow| pin.target.as_deref() == Some(target);
    let pins: Vec<&PinRow> = known.pins.iter().filter(its).take(PINS).collect();
    let more = known.pins.iter().filter(its).count() - pins.len();
    let about = |event: &&EventRow| {
        event.repository.as_deref() == Some(name) && event.target.as_deref().is_none_or(|own| own == target)
    };
    let events: Vec<Told<'_>> = facts.events.iter().rev().filter(about).map(Told::of).collect();
    let pass = known.pass.as_ref();
    let milliseconds = pass.map(|pass| u64::try_from(pass.took.as_millis()).unwrap_or(u64::MAX));
    let data = context! {
        id, name, target, more, milliseconds,
        newest => Serde(facts.newest()), now => Serde(now),
        failure => known.failure(),
        began => Serde(pass.map(|pass| pass.began)),
        run => pass.map(|pass| pass.run.as_str()),
        base => status.base.as_str(), base_commit => status.base_commit.get(..12), notes => Serde(&status.notes),
        rows => Serde(rows), pins => Serde(pins), events => Serde(events),
    };
    Some(render("target.html", data))
}

/// What happened since the start, as Atom.
pub(super) fn events(facts: &Facts) -> Page {
    let updated = facts.events.back().map_or(facts.started, |event| event.time);
    let events: Vec<Told<'_>> = facts.events.iter().rev().map(Told::of).collect();
    render("events.xml", context! { updated => Serde(updated), events => Serde(events) })
}

fn rows(known: &Known, is_meant: impl Fn(&StatusRow) -> bool) -> Vec<Row<'_>> {
    let all = known.status.iter().flat_map(|status| &status.targets).filter(|row| is_meant(row));
    let shown = all.map(|row| Row {
        target: &row.target,
        stage: row.stage.name(),
        release: row.release,
        since: row.since,
        behind: row.behind.as_ref().map(|behind| behind.words()),
        next: row.next,
        waits: row.waits.as_deref(),
        pull: row.pull_request.as_ref(),
    });
    shown.collect()
}

impl<'f> Told<'f> {
    fn of(event: &'f EventRow) -> Self {
        Self { words: event.event.words(), event }
    }
}

fn render(name: &str, data: Value) -> Page {
    static TEMPLATES: OnceLock<Result<Environment<'static>, minijinja::Error>> = OnceLock::new();
    match TEMPLATES.get_or_init(templates) {
        Ok(templates) => templates.get_template(name)?.render(data),
        Err(error) => Err(minijinja::Error::new(error.kind(), error.to_string())),
    }
}

/// Shows what stands between backticks as code; a backtick without its other is text.
fn prose(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    let shown = parts.iter().enumerate().map(|(n, part)| {
        let part = HtmlEscape(&for_terminal(part)).to_string();
        match (n % 2 == 1, n + 1 == parts.len()) {
            (false, _) => part,
            (true, false) => format!("<code>{part}</code>"),
            (true, true) => format!("`{part}"),
        }
    });
    shown.collect()
}

fn templates() -> Result<Environment<'static>, minijinja::Error> {
    let mut templates = Environment::new();
    templates.set_undefined_behavior(UndefinedBehavior::Strict);
    templates.set_formatter(|out, state, value| match value.as_str() {
        Some(text) if !value.is_safe() => {
            escape_formatter(out, state, &Value::from(for_terminal(text).as_ref()))
        }
        _ => escape_formatter(out, state, value),
    });
    templates.add_filter("time", |time: &str| match time.parse::<Timestamp>() {
        Ok(time) => time.strftime("%Y-%m-%d %H:%M UTC").to_string(),
        Err(_) => time.to_owned(),
    });
    templates.add_filter("segment", |text: &str| utf8_percent_encode(text, SEGMENT).to_string());
    templates.add_filter("prose", |text: &str| Value::from_safe_string(prose(text)));
    // A forge's word for an address may be anything, such as a script.
    templates.add_filter("web", |url: Value| {
        url.as_str().is_some_and(|url| url.starts_with("https://") || url.starts_with("http://"))
    });
    for (name, source) in [
        ("page.html", include_str!("../../templates/service/page.html")),
        ("index.html", include_str!("../../templates/service/index.html")),
        ("target.html", include_str!("../../templates/service/target.html")),
        ("events.xml", include_str!("../../templates/service/events.xml")),
    ] {
        templates.add_template(name, source)?;
    }
    Ok(templates)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        pins::Stage,
        report::StatusReport,
        serve::board::{Board, Pass},
    };

    const EVIL: &str = "javascript:alert(1)//\"><script>\u{202e}\u{1b}[2J";

    fn board() -> Board {
        let board = Board::new(Timestamp::UNIX_EPOCH, Duration::from_secs(60));
        board.list(["https://h/o/n"]);
        let pull = OpenPull { number: 7, reference: "#7".to_owned(), url: EVIL.to_owned(), release: None };
        let row = StatusRow {
            target: "a/b c".to_owned(),
            stage: Stage::Platform,
            release: None,
            since: None,
            behind: None,
            next: None,
            waits: Some(EVIL.to_owned()),
            until: Some(Timestamp::UNIX_EPOCH),
            pull_request: Some(pull),
            history: Vec::new(),
        };
        let status = StatusReport {
            repository: String::new(),
            base: EVIL.to_owned(),
            base_commit: "0123456789abcdef".to_owned(),
            newest: None,
            targets: vec![row],
            notes: vec![EVIL.to_owned()],
        };
        board.lock().repositories.get_mut("https://h/o/n").unwrap().status = Some(status);
        let (began, took) = (Timestamp::UNIX_EPOCH, Duration::from_millis(3));
        let failure = Some(EVIL.to_owned());
        board.passed(
            "https://h/o/n",
            Pass { run: "r".to_owned(), began, took, failure, temporary: true },
            None,
        );
        board
    }

    #[test]
    fn what_stands_between_backticks_is_code_and_nothing_else_is_more_than_text() {
        assert_eq!(prose("waits for `a<b>` & `c"), "waits for <code>a&lt;b&gt;</code> &amp; `c");
    }

    #[test]
    fn an_address_that_is_no_page_is_no_link() {
        let board = board();
        let facts = board.lock();
        let id = id_of("https://h/o/n");
        let first = index(&facts, Timestamp::UNIX_EPOCH).unwrap();
        assert!(first.contains(&format!("/targets/{id}/a%2Fb%20c")), "{first}");
        let target = target(&facts, &id, "a/b c", Timestamp::UNIX_EPOCH).unwrap().unwrap();
        for page in [first, target, events(&facts).unwrap()] {
            assert!(!page.contains("href=\"javascript") && !page.contains("<script"), "{page}");
            assert!(!page.contains(['\u{202e}', '\u{1b}']), "{page:?}");
        }
        assert!(super::target(&facts, &id, "a", Timestamp::UNIX_EPOCH).is_none());
        assert!(super::target(&facts, "0", "a/b c", Timestamp::UNIX_EPOCH).is_none());
    }
}
