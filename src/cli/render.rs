//! Errors as a person reads them: what happened, why, the lines concerned, what to do.

use std::fmt;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode};

use super::Error;
use crate::{
    config::{ConfigError, ConfigErrors},
    report::{for_terminal, lines_for_terminal},
};

/// One mistake with its file, in the form that miette draws.
#[derive(Debug)]
struct Mistake<'e> {
    source: &'e NamedSource<String>,
    error: &'e ConfigError,
}

/// Returns the error as text of several lines.
pub(super) fn error(error: &Error, color: bool) -> String {
    let red = |text: &str| if color { format!("\u{1b}[1;31m{text}\u{1b}[0m") } else { text.to_owned() };
    let mut out = format!("{} {}", red("error:"), for_terminal(&error.message));
    for cause in &error.causes {
        out.push_str(&format!("\n  caused by: {}", for_terminal(cause)));
    }
    if let Some(config) = &error.config {
        out.push_str(&format!("\n\n{}", mistakes(config, color).trim_end()));
    }
    if !error.hints.is_empty() {
        out.push('\n');
    }
    for hint in &error.hints {
        out.push_str(&format!("\nhint: {}", for_terminal(hint)));
    }
    out
}

fn mistakes(config: &ConfigErrors, color: bool) -> String {
    if config.text.is_empty() {
        let lines = config.to_string();
        return lines.lines().map(|l| format!("  {}\n", for_terminal(l))).collect();
    }
    let theme = if color { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let handler = GraphicalReportHandler::new_themed(theme)
        .with_width(100)
        .with_context_lines(1)
        .with_links(false)
        .without_syntax_highlighting();
    let source = NamedSource::new(for_terminal(&config.path), harmless(&config.text));
    let mut out = String::new();
    for error in &config.errors {
        // Writing to a String cannot fail, and an unknown position draws the message alone.
        let _ = handler.render_report(&mut out, &Mistake { source: &source, error });
        out.push('\n');
    }
    out
}

/// Replaces what could steer a terminal by characters of the same length, so that positions stay true.
fn harmless(text: &str) -> String {
    let safe = |c: char| match c {
        '\n' | '\t' => c,
        '\r' => ' ',
        c if for_terminal(c.encode_utf8(&mut [0; 4])).len() == c.len_utf8() => c,
        c => match c.len_utf8() {
            1 => '?',
            2 => '¿',
            3 => '\u{fffd}',
            _ => '\u{1f6c7}',
        },
    };
    text.chars().map(safe).collect()
}

impl fmt::Display for Mistake<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&lines_for_terminal(&self.error.reason))
    }
}

impl std::error::Error for Mistake<'_> {}

impl Diagnostic for Mistake<'_> {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        (!self.error.hint.is_empty())
            .then(|| Box::new(lines_for_terminal(&self.error.hint)) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(self.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let length = self.error.span.len().max(1);
        let start = self.error.span.start.min(self.source.inner().len().saturating_sub(1));
        let label = LabeledSpan::new(None, start, length.min(self.source.inner().len() - start));
        Some(Box::new(std::iter::once(label)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    #[test]
    fn every_mistake_is_shown_with_its_line() {
        let text = "version: 1\npolcy: {}\npolicy:\n  soak: soon\n";
        let shown = error(&config::parse("uplinker.yaml", text).unwrap_err().into(), false);
        let expected = "error: the configuration of the repository has 2 mistakes\n\n\
            \u{20} × `polcy` is not a key\n\
            \u{20}  ╭─[uplinker.yaml:2:1]\n\
            \u{20}1 │ version: 1\n\
            \u{20}2 │ polcy: {}\n\
            \u{20}  · ─────\n\
            \u{20}3 │ policy:\n\
            \u{20}  ╰────\n\
            \u{20} help: did you mean `policy`?\n";
        assert!(shown.starts_with(expected), "{shown}");
        assert!(
            shown.contains("[uplinker.yaml:4:9]") && shown.contains("\nhint: `uplinker schema`"),
            "{shown}"
        );
    }

    #[test]
    fn nothing_hidden_reaches_the_terminal() {
        let text = "policy:\n  soak: \"a\\e[31m\u{202e}é\" # \u{202e}\u{85}\n";
        let hidden = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        let of_config = error(&config::parse("x\u{1b}", text).unwrap_err().into(), false);
        assert!(!of_config.contains(hidden) && of_config.contains("[x\\u{1b}:2:9]"), "{of_config:?}");
        let other = Error::failed("a\u{1b}").because(std::io::Error::other("b\u{9b}")).hint("c\u{7}");
        assert_eq!(error(&other, false), "error: a\\u{1b}\n  caused by: b\\u{9b}\n\nhint: c\\u{7}");
    }

    #[test]
    fn a_mistake_anywhere_in_any_text_can_be_shown() {
        let sample = "é: [ü\r\n# 🛇\n policy: {\"\u{202e}\": ä}\n🛇";
        for end in sample.char_indices().map(|(at, _)| at).chain([sample.len()]) {
            if let Err(errors) = config::parse("uplinker.yaml", &sample[..end]) {
                let shown = error(&errors.into(), false);
                assert!(shown.contains("uplinker.yaml:") && !shown.contains(['\r', '?']), "{shown}");
            }
        }
    }

    #[test]
    fn an_empty_file_and_a_missing_one_can_be_wrong() {
        let late = config::Config::default().base_branch("uplinker/x").unwrap_err();
        assert!(error(&late.into(), false).contains("uplinker.yaml: prefix `uplinker/` would cover branch"));
    }
}
