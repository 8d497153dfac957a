//! Linkerd's advice as written in release notes.
//!
//! In: the notes of one release, untrusted text. Out: [`Guidance`]. Notes are written by hand after the
//! release: `Overall status: RECOMMENDED` with a `Cautions` part, or a sentence such as "This release is not
//! recommended; use edge-25.10.7 instead". Notes without either say nothing, which is not the same as fine.
//! A condition ("for IPv6", "if ...") makes a caution and is never folded into a yes or a no.

use super::Guidance;
use crate::linkerd::EdgeVersion;

/// A note is cut here, at a character.
const LONGEST_NOTE: usize = 400;

/// What one statement says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Recommended,
    Caution,
    Against,
}

/// Reads the advice in the notes of a release.
pub(super) fn read(version: EdgeVersion, notes: &str, source: &str) -> Guidance {
    let lines = visible_lines(notes);
    let cautions = cautions(&lines);
    let mut said = status(&lines).into_iter().chain(sentences(version, &lines)).collect::<Vec<_>>();
    // Where two statements differ, the more careful one stands.
    said.sort_by_key(|(verdict, _)| std::cmp::Reverse(*verdict));
    let source = source.to_owned();
    match (said.into_iter().next(), cautions) {
        (Some((Verdict::Against, text)), _) => {
            Guidance::NotRecommended { instead: newer_releases(version, &text), note: note(&text), source }
        }
        (Some((Verdict::Caution, text)), _) => Guidance::Caution { note: note(&text), source },
        (Some((Verdict::Recommended, _)), cautions) => Guidance::Recommended { source, cautions },
        (None, Some(note)) => Guidance::Caution { note, source },
        (None, None) => Guidance::Unknown,
    }
}

/// Returns the lines outside code fences and comments.
pub(super) fn visible_lines(notes: &str) -> Vec<&str> {
    let (mut fenced, mut commented) = (false, false);
    let mut lines = Vec::new();
    for line in notes.lines().map(str::trim) {
        if commented || (!fenced && line.starts_with("<!--")) {
            commented = !line.contains("-->");
        } else if line.starts_with("```") || line.starts_with("~~~") {
            fenced = !fenced;
        } else if !fenced {
            lines.push(line);
        }
    }
    lines
}

/// Finds `Overall status: ...`, on one line or with its value on the next.
fn status(lines: &[&str]) -> Option<(Verdict, String)> {
    let plain = |line: &&str| plain(line.trim_start_matches(['#', '-', '*', ' ']));
    let (at, first) = lines.iter().map(plain).enumerate().find(|(_, l)| l.starts_with("overall status"))?;
    // Behind a colon, a dash or a sign.
    let words = |text: &str| text.trim_start_matches(|c: char| !c.is_alphanumeric()).to_owned();
    let value = words(first.trim_start_matches("overall status"));
    let below = || lines.iter().skip(at + 1).find(|line| !line.is_empty()).map(|line| words(&plain(line)));
    let value = if value.is_empty() { below()? } else { value };
    let verdict = verdict(&value)?;
    let text = lines.get(at).map_or(value, |line| (*line).to_owned());
    Some((verdict, text))
}

/// Finds the part headed `Cautions`; `None` when there is none, or it says that there are none.
fn cautions(lines: &[&str]) -> Option<String> {
    let title = |line: &str| plain(line.trim_start_matches('#')).trim_end_matches(':').trim().to_owned();
    let at = lines.iter().position(|line| {
        matches!(title(line).as_str(), "caution" | "cautions") || title(line).starts_with("cautions:")
    })?;
    let inline = lines.get(at).and_then(|line| line.split_once(':')).map(|(_, text)| text);
    let ends = |line: &&&str| {
        line.starts_with('#') || matches!(title(line).as_str(), "changes" | "changelog" | "what's changed")
    };
    let below = lines.iter().skip(at + 1).take_while(|line| !ends(line)).copied();
    let text = inline.into_iter().chain(below).map(|line| line.trim_matches(['*', '_', ' ']));
    let text = text.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    let none = matches!(plain(&text).trim_end_matches('.'), "" | "none" | "n/a" | "no cautions" | "- none");
    (!none).then(|| note(&text))
}

/// Finds the sentences about this release, each with the paragraph around it.
fn sentences(version: EdgeVersion, lines: &[&str]) -> Vec<(Verdict, String)> {
    let mut said = Vec::new();
    for paragraph in paragraphs(lines) {
        let text = plain(&paragraph);
        let verdicts = text.split_inclusive(['.', ';', '!']).scan(String::new(), |open, part| {
            // The dots of a version do not end a sentence.
            open.push_str(part);
            let ends = !part.trim_end_matches(['.', ';', '!']).ends_with(|c: char| c.is_ascii_digit())
                || part.ends_with(';');
            Some(ends.then(|| std::mem::take(open)))
        });
        let mut best = verdicts.flatten().filter_map(|s| of_sentence(version, &s)).max();
        if best.is_none() {
            best = of_sentence(version, &text);
        }
        said.extend(best.map(|verdict| (verdict, paragraph)));
    }
    said
}

/// Joins the lines of prose into paragraphs; lists, headings and quotes are what others wrote.
fn paragraphs(lines: &[&str]) -> Vec<String> {
    let mut all = vec![String::new()];
    for line in lines {
        let prose = !(line.is_empty() || line.starts_with(['#', '>', '|', '<']) || is_list_item(line));
        match all.last_mut() {
            Some(open) if prose => {
                open.push_str(line);
                open.push(' ');
            }
            _ => all.push(String::new()),
        }
    }
    all.retain(|paragraph| !paragraph.is_empty());
    all
}

fn is_list_item(line: &str) -> bool {
    ["- ", "* ", "+ "].iter().any(|mark| line.starts_with(mark))
}

fn of_sentence(version: EdgeVersion, sentence: &str) -> Option<Verdict> {
    let tag = version.to_string();
    // "This release is", and nothing between the release and its verdict: what a sentence says of another
    // release is not about this one.
    let about = [format!("{tag} is "), "this release is ".to_owned()]
        .iter()
        .filter_map(|subject| sentence.find(subject.as_str()).map(|at| at + subject.len()))
        .find_map(|after| verdict(sentence.get(after..)?));
    let elsewhere = !newer_releases(version, sentence).is_empty()
        && (sentence.contains("recommend") && sentence.contains(" instead")
            || sentence.contains("going straight to"));
    about.or(elsewhere.then_some(Verdict::Caution))
}

/// Reads "recommended ...", "not recommended ..." and "only recommended ..." with what follows.
fn verdict(text: &str) -> Option<Verdict> {
    let text = ["therefore ", "also ", "generally ", "currently "]
        .iter()
        .fold(text.trim(), |text, adverb| text.trim_start_matches(adverb));
    if let Some(rest) = text.strip_prefix("not recommended") {
        let whole = ["for production", "for use", "for any", "for all", "for general"];
        let whole = whole.iter().any(|words| rest.trim_start().starts_with(words));
        return Some(if is_condition(rest) && !whole { Verdict::Caution } else { Verdict::Against });
    }
    if text.starts_with("only recommended") {
        return Some(Verdict::Caution);
    }
    let rest = text.strip_prefix("recommended")?;
    let everybody = ["for all users", "for everyone", "for everybody", "for all"];
    let rest = rest.trim_start();
    let rest = everybody.iter().find_map(|words| rest.strip_prefix(words)).unwrap_or(rest);
    Some(if is_condition(rest) { Verdict::Caution } else { Verdict::Recommended })
}

fn is_condition(rest: &str) -> bool {
    let words = rest.trim_start_matches([' ', ',', '(', ':']);
    ["for ", "if ", "on ", "when ", "where ", "with ", "unless ", "except", "only ", "but ", "apart "]
        .iter()
        .any(|word| words.starts_with(word))
}

/// Returns the releases that a text names and that are newer than `version`, in order, each once.
fn newer_releases(version: EdgeVersion, text: &str) -> Vec<EdgeVersion> {
    let mut all = Vec::new();
    for (at, _) in text.match_indices("edge-") {
        let word = text.get(at..).unwrap_or_default();
        let end = word.find(|c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '-'));
        let word = word.get(..end.unwrap_or(word.len())).unwrap_or_default();
        if let Ok(named) = word.trim_end_matches('.').parse::<EdgeVersion>()
            && named > version
            && !all.contains(&named)
        {
            all.push(named);
        }
    }
    all
}

/// Lowers the case and takes out emphasis and link marks.
fn plain(text: &str) -> String {
    let text = text.to_lowercase().replace(['*', '_', '`', '[', ']'], "");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn note(text: &str) -> String {
    let text = text.trim().trim_matches('_').trim();
    match text.char_indices().nth(LONGEST_NOTE) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(notes: &str) -> Guidance {
        read("edge-25.10.4".parse().unwrap(), notes, "notes")
    }

    fn kind(notes: &str) -> &'static str {
        match of(notes) {
            Guidance::Recommended { .. } => "for",
            Guidance::NotRecommended { .. } => "against",
            Guidance::Caution { .. } => "caution",
            Guidance::Unknown => "unknown",
        }
    }

    #[test]
    fn notes_nobody_edited_say_nothing() {
        let generated = "## What's Changed\n* This release is not recommended by @x in https://github.com/1\n\
                         * Say that edge-25.10.4 is recommended (#5)\n\n**Full Changelog**: edge-25.10.3...edge-25.10.4";
        assert_eq!(kind(generated), "unknown");
        assert_eq!(kind(""), "unknown");
    }

    #[test]
    fn the_status_line_is_read_in_any_dress() {
        for notes in [
            "Overall status: RECOMMENDED",
            "**Overall status:** RECOMMENDED\r\n\r\n## Changes",
            "## Overall status: **RECOMMENDED**",
            "Overall status:\n\nRecommended for all users.",
            "Overall status – ✅ RECOMMENDED",
        ] {
            assert_eq!(kind(notes), "for", "{notes}");
        }
        assert_eq!(kind("Overall status: **NOT RECOMMENDED**, see below"), "against");
        assert_eq!(kind("Overall status: RECOMMENDED except on GKE"), "caution");
        assert_eq!(kind("Overall status: NOT RECOMMENDED for IPv6"), "caution");
        assert_eq!(kind("Overall status: pending"), "unknown");
    }

    #[test]
    fn cautions_stand_beside_a_recommendation() {
        let notes =
            "Overall status: RECOMMENDED\n\n### Cautions\n\n- GKE only: read this.\n\n### Changes\n- more";
        let Guidance::Recommended { cautions, .. } = of(notes) else { panic!("{:?}", of(notes)) };
        assert_eq!(cautions.as_deref(), Some("- GKE only: read this."));
        let none = of("Overall status: RECOMMENDED\n\n### Cautions\n\nNone.\n\n### Changes");
        assert!(matches!(none, Guidance::Recommended { cautions: None, .. }), "{none:?}");
        assert_eq!(kind("### Cautions\nThe CLI cannot install it.\n"), "caution");
    }

    #[test]
    fn advice_against_names_what_to_use_instead() {
        let notes = "_This release is **not recommended**; use [edge-25.10.7](https://x/edge-25.10.7) instead, or \
                     go on to [edge-25.11.3]._\n\n* a change in edge-25.12.1";
        let Guidance::NotRecommended { instead, note, .. } = of(notes) else { panic!("{:?}", of(notes)) };
        let instead: Vec<_> = instead.iter().map(ToString::to_string).collect();
        assert_eq!(instead, ["edge-25.10.7", "edge-25.11.3"]);
        assert!(note.starts_with("This release is **not recommended**"), "{note}");
    }

    #[test]
    fn sentences_are_about_this_release_only() {
        assert_eq!(kind("This release is recommended for all users, and probably what you want."), "for");
        assert_eq!(kind("edge-25.10.4 is **NOT RECOMMENDED**, superseded by [edge-25.10.5]."), "against");
        assert_eq!(kind("This release replaces edge-25.10.3, which is not recommended."), "unknown");
        assert_eq!(kind("edge-25.10.3 is not recommended. Take this one."), "unknown");
        assert_eq!(kind("edge-25.10.41 is not recommended."), "unknown");
        assert_eq!(kind("> This release is not recommended."), "unknown");
        assert_eq!(kind("```\nThis release is not recommended.\n```"), "unknown");
        assert_eq!(kind("<!-- This release is\nnot recommended. -->"), "unknown");
        assert_eq!(kind("<!--\n```\n-->\nThis release is not recommended."), "against");
        assert_eq!(kind("```\n<!--\n```\nThis release is not recommended."), "against");
    }

    #[test]
    fn conditions_are_not_folded() {
        assert_eq!(
            kind("IPv6 is broken. We recommend [edge-25.10.7] instead, though IPv4 is fine."),
            "caution"
        );
        assert_eq!(kind("With multicluster, consider going straight to [edge-25.10.7]."), "caution");
        assert_eq!(kind("This release is not recommended if you use IPv6."), "caution");
        assert_eq!(kind("This release is not recommended for production."), "against");
        assert_eq!(kind("This release is only recommended for testers."), "caution");
    }

    #[test]
    fn the_careful_statement_stands() {
        assert_eq!(
            kind("Overall status: RECOMMENDED\n\nUpdate: this release is not recommended."),
            "against"
        );
    }

    #[test]
    fn notes_are_cut_at_a_character() {
        let long = format!("This release is not recommended. {}", "é".repeat(2000));
        let Guidance::NotRecommended { note, .. } = of(&long) else { panic!() };
        assert_eq!(note.chars().count(), LONGEST_NOTE + 1);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "(\\PC|[\\n*_#`<>-]|edge-|recommended|this release is ){0,60}") {
            let _ = of(&text);
        }
    }
}
