//! Step 5, pins: comments that are meant for uplinker and do nothing.
//!
//! In: texts, and the pins that were found. Out: the files with such comments, each with its line: a word that is none, a
//! marker without a release of its form, a hold that is not the first of its comment, or at whose line no pin is.

use std::collections::{BTreeMap, HashSet};

use super::{
    Form, Pin, PinKind, Reason, SkipReason, Skipped, hold,
    marker::{SIGNS, TextFile, bare, comment_sign, hold_in, is_hold_line, lone_marker},
    release_names::tokens,
};
use crate::repo::RepoPath;

/// Comments that are told of one file.
const TOLD: usize = 20;

/// The comments of files that are meant for uplinker.
#[derive(Default)]
pub(super) struct Comments {
    /// What is wrong with those that are misread.
    misread: Vec<(RepoPath, Vec<String>)>,
    /// The line of each hold, and the one that it speaks of.
    holds: Vec<(RepoPath, Vec<(usize, usize)>)>,
}

// === impl Comments ===

impl Comments {
    /// Takes those of a file.
    pub fn take(&mut self, file: &TextFile<'_>) {
        let (misread, holds) = (misread(file.text), held(file.text));
        self.misread.extend((!misread.is_empty()).then(|| (file.path.clone(), misread)));
        self.holds.extend((!holds.is_empty()).then(|| (file.path.clone(), holds)));
    }

    /// Adds what another has gathered.
    pub fn append(&mut self, other: Self) {
        self.misread.extend(other.misread);
        self.holds.extend(other.holds);
    }

    /// Names the files with comments that are misread, and with holds at whose lines no pin is, and none is read.
    pub fn idle(self, pins: &[Pin]) -> Vec<Skipped> {
        let mut lines: HashSet<(&RepoPath, usize)> = HashSet::new();
        for pin in pins.iter().filter(|pin| pin.kind != PinKind::Other) {
            let also = pin.also.iter().flat_map(|also| &also.places);
            let read = pin.kept_by.iter().chain(&pin.read_at).chain(also);
            lines.extend(read.map(|(path, line)| (path, *line)).chain([(&pin.path, pin.site.line)]));
            // What stands in a block is held at its head.
            lines.extend((pin.stays == Some(Reason::Held)).then(|| (&pin.path, pin.site.line - 1)));
        }
        let mut told: BTreeMap<RepoPath, Vec<String>> = BTreeMap::new();
        for (path, misread) in self.misread {
            told.entry(path).or_default().extend(misread);
        }
        for (path, holds) in &self.holds {
            for (line, _) in holds.iter().filter(|(_, held)| !lines.contains(&(path, *held))) {
                let detail = format!("line {line}: `uplinker: hold` stands at no pin");
                told.entry(path.clone()).or_default().push(detail);
            }
        }
        let skipped = |(path, mut details): (RepoPath, Vec<String>)| {
            details.truncate(TOLD);
            let (reason, versions) = (SkipReason::Marker, Vec::new());
            Skipped { path, reason, detail: Some(details.join("; ")), versions }
        };
        told.into_iter().map(skipped).collect()
    }
}

/// Says of the comments of a text that do nothing what is wrong with them.
fn misread(text: &str) -> Vec<String> {
    // Nearly all files have none, whatever the letters.
    if !["linker:", "linker ", "Linker", "LINKER"].iter().any(|part| text.contains(part)) {
        return Vec::new();
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut told = Vec::new();
    for (at, line) in
        lines.iter().enumerate().filter(|(_, line)| line.to_ascii_lowercase().contains("uplinker"))
    {
        let below = lines.get(at + 1).copied().unwrap_or_default();
        let texts = words(line).filter_map(|(before, word)| fault(line, below, before, word));
        told.extend(texts.chain(slip(line)).map(|text| format!("line {}: {text}", at + 1)));
        if told.len() >= TOLD {
            break;
        }
    }
    told
}

/// Finds a comment that is nearly a marker: in other letters, with a space, or a hold without its colon.
fn slip(line: &str) -> Option<String> {
    let lower = line.to_ascii_lowercase();
    let (at, name) =
        lower.match_indices("uplinker").find(|(at, _)| line.get(..*at).and_then(comment_sign).is_some())?;
    let rest = lower.get(at + name.len()..)?;
    let behind = rest.trim_start();
    let (word, has_colon) =
        behind.strip_prefix(':').map_or((behind, false), |word| (word.trim_start(), true));
    let known = ["hold", "edge", "chart"].into_iter().find(|known| {
        let end = word.strip_prefix(known);
        end.is_some_and(|end| !end.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ')))
    })?;
    let is_exact = line.get(at..)?.starts_with("uplinker:");
    (!is_exact && (has_colon || known == "hold")).then(|| format!("a marker is written `uplinker: {known}`"))
}

/// Returns the lines of a text that hold comments speak of, each with the comment's.
fn held(text: &str) -> Vec<(usize, usize)> {
    if !text.contains("uplinker:") {
        return Vec::new();
    }
    let lines: Vec<&str> = text.lines().collect();
    let is_comment = |line: &str| SIGNS.iter().any(|sign| bare(line).starts_with(sign));
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| line.contains("uplinker:")) {
        if is_hold_line(line) {
            let behind = lines.iter().enumerate().skip(at + 1).take(hold::ABOVE);
            found.extend(
                behind.skip_while(|(_, line)| is_comment(line)).map(|(held, _)| (at + 1, held + 1)).next(),
            );
        } else if hold_in(line) {
            found.push((at + 1, at + 1));
        }
    }
    found
}

/// Returns what stands before each marker of a line, and its word.
fn words(line: &str) -> impl Iterator<Item = (&str, &str)> {
    line.match_indices("uplinker:").filter_map(|(at, mark)| {
        let rest = line.get(at + mark.len()..)?.trim_start_matches(' ');
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_')).unwrap_or(rest.len());
        Some((line.get(..at)?, rest.get(..end)?))
    })
}

/// Says what is wrong with a marker.
fn fault(line: &str, below: &str, before: &str, word: &str) -> Option<String> {
    let (form, like) = match word {
        "hold" => (None, ""),
        "edge" => (Some(Form::Edge), "edge-26.8.3"),
        "chart" => (Some(Form::Chart), "2026.8.3"),
        _ if comment_sign(before).is_none() => return None,
        _ => return Some(format!("`uplinker: {word}` is none of `hold`, `edge` and `chart`")),
    };
    if comment_sign(before).is_none() {
        let is_comment = before.split_whitespace().any(|part| SIGNS.contains(&part));
        return is_comment
            .then(|| format!("`uplinker: {word}` is not the first of its comment, so it does nothing"));
    }
    let has = |text: &str, form| tokens(text).iter().any(|token| token.form == form);
    let code = if lone_marker(line).is_some() { below } else { before };
    let form = form.filter(|form| !has(code, *form))?;
    let other = if form == Form::Edge { Form::Chart } else { Form::Edge };
    // What explains a marker names no release.
    has(code, other).then(|| format!("`uplinker: {word}` is for a text as `{like}`, and there is none"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_that_does_nothing_is_told() {
        let told = |text: &str| misread(text).join("; ");
        assert_eq!(
            told("a: 1\nv: 2026.8.2 # uplinker: hodl\n"),
            "line 2: `uplinker: hodl` is none of `hold`, `edge` and `chart`"
        );
        let first = "line 1: `uplinker: hold` is not the first of its comment, so it does nothing";
        assert_eq!(told("v: 2026.8.2 # we wait; uplinker: hold\n"), first);
        for text in ["v: 1 # Uplinker: hold\n", "v: 1 # uplinker : hold\n", "v: 1 #uplinker hold\n"] {
            assert_eq!(told(text), "line 1: a marker is written `uplinker: hold`", "{text}");
        }
        let edge = "line 1: `uplinker: edge` is for a text as `edge-26.8.3`, and there is none";
        assert_eq!(told("v: 2026.8.2 # uplinker: edge\n"), edge);
        assert_eq!(told("# uplinker: edge\nv: 2026.8.2\n"), edge);
        for text in [
            "v: 2026.8.2 # uplinker: hold until Q3\n",
            "v: 2026.8.2 # was 1 # uplinker: hold\n",
            "v: edge-26.8.2 # uplinker: edge\n# uplinker: chart\nw: 2026.8.2\n",
            "# uplinker: edge moves a line\n",
            "uplinker:\n  hold: true\n",
            "a: uplinker: hold\n",
            "image: ghcr.io/acme/uplinker:v1 # pinned\n",
            "a: 1 # uplinker holds this\n",
            "a: 1 # Uplinker edge releases\n",
        ] {
            assert_eq!(told(text), "", "{text}");
        }
    }
}
