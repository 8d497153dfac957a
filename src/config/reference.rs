//! The reference page of the configuration, made from the table of keys and the table of variables.

use std::fmt::Write;

use super::keys::{KEYS, Shape, Text};
use crate::propose::forge::kinds;

/// The page around the tables.
const PAGE: &str = include_str!("../../templates/configuration.md");

/// Returns the page as Markdown.
pub fn page() -> String {
    PAGE.replace("<!-- keys -->\n", &key_table()).replace("<!-- variables -->\n", &variable_table())
}

fn key_table() -> String {
    let mut out = String::from("| key | value | default | meaning |\n|---|---|---|---|\n");
    for key in KEYS {
        let default = if key.default.is_empty() { "none" } else { key.default };
        // Writing to a String cannot fail.
        let _ = writeln!(out, "| `{}` | {} | {default} | {} |", key.path, value(key.shape), key.meaning);
    }
    out
}

fn variable_table() -> String {
    let mut out = String::from("| variable | flag | meaning |\n|---|---|---|\n");
    for variable in kinds::variables() {
        let flag = variable.flag.map_or("none".to_owned(), |f| format!("`{f}`"));
        let _ = writeln!(out, "| `{}` | {flag} | {} |", variable.name, variable.meaning);
    }
    out
}

fn value(shape: Shape) -> String {
    match shape {
        Shape::Section => "section".to_owned(),
        Shape::Sections => "list of sections".to_owned(),
        Shape::OneOrMore => "section, list of sections".to_owned(),
        Shape::SectionsOr(word) => format!("list of sections, `{word}`"),
        Shape::Like(other) => format!("as `{other}`"),
        Shape::Format => "`1`".to_owned(),
        Shape::Bool => "`true`, `false`".to_owned(),
        Shape::Word(words) => words.iter().map(|w| format!("`{w}`")).collect::<Vec<_>>().join(", "),
        Shape::Text(text) => kind(text).to_owned(),
        Shape::Texts(text) => format!("list of {}", plural(text)),
    }
}

fn kind(text: Text) -> &'static str {
    match text {
        Text::Free => "text",
        Text::Branch => "branch",
        Text::Duration => "[duration](#durations)",
        Text::Edge => "release",
        Text::Range => "[range](#ranges)",
        Text::Cron => "[cron](#schedules)",
        Text::Zone => "time zone",
        Text::Moment => "[moment](#freezes)",
        Text::Glob => "[glob](#paths)",
        Text::Context => "[context](#gates)",
        Text::Name => "name",
        Text::Chart => "chart",
        Text::Namespace | Text::Namespaces => "namespace",
        Text::Label => "label",
        Text::Path => "path",
        Text::Kubernetes => "version",
        Text::Account => "login",
        Text::Author => "author",
        Text::Wording => "[wording](#placeholders)",
    }
}

fn plural(text: Text) -> &'static str {
    match text {
        Text::Edge => "releases",
        Text::Glob => "[globs](#paths)",
        Text::Account => "logins",
        Text::Context => "[contexts](#gates)",
        Text::Path => "paths",
        Text::Namespaces => "namespaces",
        Text::Label => "labels",
        _ => "texts",
    }
}
