//! The texts of a chart that may be a version, each of which can be given a number of its own.
//!
//! In: a chart's files and the values that it is given. Out: the same with some of the versions changed, and the way
//! back: a text that Helm printed, in parts that say which of the versions each came from.

use std::{collections::BTreeSet, ops::Range};

use super::{
    OWN_VALUES,
    package::{Content, Package, is_template, is_values},
};
use crate::{
    deploy::{
        go_template::{BRACES, actions},
        go_yaml,
        value::{Scalar, Value, Via},
    },
    helm::File,
};

/// Versions of one chart that are told apart.
const CANDIDATES: usize = 20_000;
/// The first number that is given; no release counts so far.
const FIRST: usize = 7_000_001;
/// How many digits such a number has.
const DIGITS: usize = 7;

/// A text with a version in it.
pub(super) struct Candidate {
    /// The text around it, with its place in the tree.
    written: Scalar,
    /// The digits in that text that are changed.
    digits: Range<usize>,
    place: Input,
}

#[derive(PartialEq, Eq)]
enum Input {
    /// The scalar with this number of the values that the chart is given.
    Value(usize),
    /// The same of those in the place of its own.
    Own(usize),
    /// The file with this number, and the first of the digits there.
    File(usize, usize),
}

/// Where a piece of a printed text was written.
pub(super) struct Traced {
    /// The bytes of the text as Helm prints it for what the tree says.
    pub bytes: Range<usize>,
    /// What was written.
    pub written: Scalar,
}

/// All that may be a version of what one render is given.
pub(super) struct Candidates<'p> {
    package: &'p Package,
    values: &'p Value,
    all: Vec<Candidate>,
}

// === impl Candidates ===

impl<'p> Candidates<'p> {
    /// Looks for them.
    pub fn of(package: &'p Package, values: &'p Value) -> Self {
        let mut all = Vec::new();
        let places: [fn(usize) -> Input; 2] = [Input::Value, Input::Own];
        for (values, place) in [Some(values), package.own.as_ref()].into_iter().zip(places) {
            let mut number = 0;
            drop(values.and_then(|values| {
                values.with_scalars(&mut |scalar| {
                    for digits in versions(&scalar.text()) {
                        all.push(Candidate { written: scalar.clone(), digits, place: place(number) });
                    }
                    number += 1;
                    None
                })
            }));
        }
        for (file, laid) in package.files.iter().enumerate() {
            let Content::Text(source) = &laid.content else { continue };
            let text = Scalar::file(source);
            let text = if is_values(&laid.place) { text.via(Via::Values) } else { text };
            for digits in in_file(&laid.place, &source.text) {
                let line = line_around(&source.text, &digits);
                let inner = digits.start - line.start..digits.end - line.start;
                let place = Input::File(file, digits.start);
                all.push(Candidate { written: text.cut(line), digits: inner, place });
            }
        }
        all.truncate(CANDIDATES);
        Self { package, values, all }
    }

    /// Returns the numbers of all of them.
    pub fn numbers(&self) -> BTreeSet<usize> {
        (0..self.all.len()).collect()
    }

    /// Makes the chart's files and the values that Helm is to be given, with those of `changed` changed.
    pub fn inputs(&self, changed: &BTreeSet<usize>) -> (Vec<File>, String) {
        let values = self.document(self.values, changed, Input::Value);
        let own = self.package.own.as_ref().map(|own| self.document(own, changed, Input::Own));
        let own = own.map(|text| File { path: OWN_VALUES.to_owned(), bytes: text.into_bytes() });
        let files = self.package.files.iter().enumerate().map(|(number, file)| {
            let here = self.changes(changed, |place| match place {
                Input::File(n, at) if *n == number => Some(Some(*at)),
                _ => None,
            });
            let text = match &file.content {
                Content::Text(source) => replaced(&source.text, &here),
                Content::Made(text) => text.clone(),
            };
            File { path: file.place.clone(), bytes: text.into_bytes() }
        });
        (files.chain(own).collect(), values)
    }

    /// Writes values with those of `changed` changed.
    fn document(&self, values: &Value, changed: &BTreeSet<usize>, at: fn(usize) -> Input) -> String {
        let mut number = 0;
        let new = values.with_scalars(&mut |scalar| {
            let here = self.changes(changed, |place| (*place == at(number)).then_some(None));
            number += 1;
            if here.is_empty() {
                return None;
            }
            let new = Scalar::made(&replaced(&scalar.text(), &here));
            Some(if scalar.plain { new.as_plain() } else { new })
        });
        go_yaml::document(new.as_ref().unwrap_or(values)).text().into_owned()
    }

    /// Returns the digits to be changed at a place, each with its new number, in order.
    fn changes(
        &self,
        changed: &BTreeSet<usize>,
        at: impl Fn(&Input) -> Option<Option<usize>>,
    ) -> Vec<(Range<usize>, usize)> {
        let of = |n: &usize| {
            let candidate = self.all.get(*n)?;
            let digits = match at(&candidate.place)? {
                Some(start) => start..start + candidate.digits.len(),
                None => candidate.digits.clone(),
            };
            Some((digits, FIRST + n))
        };
        changed.iter().filter_map(of).collect()
    }

    /// Says where the pieces of `text` were written, which reads `probed` when the versions of `changed` are changed;
    /// `None` where that is not the whole difference.
    pub fn explain(&self, text: &str, probed: &str, changed: &BTreeSet<usize>) -> Option<Vec<Traced>> {
        let mut traced = Vec::new();
        let mut original = String::with_capacity(text.len());
        let mut from = 0;
        for digits in numbers(probed) {
            let Some(n) =
                probed.get(digits.clone())?.parse::<usize>().ok().and_then(|n| n.checked_sub(FIRST))
            else {
                continue;
            };
            let Some(candidate) = self.all.get(n).filter(|_| changed.contains(&n)) else { continue };
            let whole = candidate.written.text();
            let before = same_end(probed.get(from..digits.start)?, whole.get(..candidate.digits.start)?);
            let after = same_start(probed.get(digits.end..)?, whole.get(candidate.digits.end..)?);
            original.push_str(probed.get(from..digits.start - before)?);
            let written =
                candidate.written.cut(candidate.digits.start - before..candidate.digits.end + after);
            let start = original.len();
            original.push_str(&written.text());
            traced.push(Traced { bytes: start..original.len(), written });
            from = digits.end + after;
        }
        original.push_str(probed.get(from..)?);
        (original == text && !traced.is_empty()).then_some(traced)
    }
}

fn replaced(text: &str, changes: &[(Range<usize>, usize)]) -> String {
    let mut out = String::with_capacity(text.len() + changes.len() * DIGITS);
    let mut from = 0;
    for (digits, number) in changes {
        out.push_str(text.get(from..digits.start).unwrap_or_default());
        out.push_str(&number.to_string());
        from = digits.end;
    }
    out.push_str(text.get(from..).unwrap_or_default());
    out
}

fn same_end(a: &str, b: &str) -> usize {
    let same = a.chars().rev().zip(b.chars().rev()).take_while(|(a, b)| a == b);
    same.map(|(c, _)| c.len_utf8()).sum()
}

fn same_start(a: &str, b: &str) -> usize {
    let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b && *a != '\n');
    same.map(|(c, _)| c.len_utf8()).sum()
}

/// Finds runs of digits that are as long as the numbers that are given.
fn numbers(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = None;
    for (at, byte) in text.bytes().chain([b' ']).enumerate() {
        match (byte.is_ascii_digit(), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                found.extend((at - from == DIGITS).then_some(from..at));
                start = None;
            }
            _ => {}
        }
    }
    found
}

/// Finds in a text the last number of each version: of three numbers with dots between, or of one or two and a wildcard.
pub(super) fn versions(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = bytes.get(at..).and_then(|rest| rest.iter().position(u8::is_ascii_digit)) {
        let start = at + start;
        let dotted = |b: &u8| b.is_ascii_digit() || matches!(b, b'.' | b'*' | b'x' | b'X');
        let length = bytes.get(start..).map_or(0, |rest| rest.iter().take_while(|b| dotted(b)).count());
        at = start + length.max(1);
        // Behind a dot or a letter that is no word's end it is a part of something else.
        if start.checked_sub(1).and_then(|n| bytes.get(n)).is_some_and(|b| *b == b'.') {
            continue;
        }
        let word = text.get(start..start + length).unwrap_or_default().trim_end_matches('.');
        let parts: Vec<&str> = word.split('.').collect();
        let number =
            |part: &&str| !part.is_empty() && part.len() < DIGITS && part.bytes().all(|b| b.is_ascii_digit());
        let wild = |part: &&str| matches!(*part, "*" | "x" | "X");
        let numbers = parts.iter().take_while(|part| number(part)).count();
        let version = match parts.len() {
            3 => numbers == 3 || numbers > 0 && parts.iter().skip(numbers).all(&wild),
            2 => numbers == 1 && parts.iter().skip(1).all(wild),
            _ => false,
        };
        if version {
            let before: usize = parts.iter().take(numbers - 1).map(|part| part.len() + 1).sum();
            let last = parts.get(numbers - 1).map_or(0, |part| part.len());
            found.push(start + before..start + before + last);
        }
    }
    found
}

/// Finds the versions of a file of a chart that a template may print.
fn in_file(place: &str, text: &str) -> Vec<Range<usize>> {
    let inside =
        place.rsplit_once("charts/").map_or(place, |(_, rest)| rest.split_once('/').map_or(rest, |(_, r)| r));
    let lower = inside.to_ascii_lowercase();
    // By their versions Helm finds the charts that are depended on: none of them is printed.
    if inside.starts_with("crds/")
        || inside == "requirements.yaml"
        || [".lock", ".helmignore"].iter().any(|end| lower.ends_with(end))
    {
        return Vec::new();
    }
    if inside == "Chart.yaml" {
        let own = |at: usize| {
            let line = text.get(line_around(text, &(at..at))).unwrap_or_default();
            // A chart inside is not found under another version, whether that is printed or not.
            let is_found_by = inside != place && !line.contains("20");
            line.starts_with("appVersion:") || line.starts_with("version:") && !is_found_by
        };
        return versions(text).into_iter().filter(|digits| own(digits.start)).collect();
    }
    if !is_template(place) {
        return versions(text);
    }
    let mut found = Vec::new();
    let mut at = 0;
    for action in actions(text, BRACES).map_while(Result::ok) {
        let shifted = |from: usize, part: &str| -> Vec<Range<usize>> {
            versions(part).into_iter().map(|d| from + d.start..from + d.end).collect()
        };
        found.extend(shifted(at, text.get(at..action.whole.start).unwrap_or_default()));
        for quoted in action.texts(text) {
            let part = text.get(quoted.clone()).unwrap_or_default();
            // A text with more in it is a condition or a pattern.
            let only = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '*');
            if part.chars().all(only) {
                found.extend(shifted(quoted.start, part));
            }
        }
        at = action.whole.end;
    }
    found.extend(versions(text.get(at..).unwrap_or_default()).into_iter().map(|d| at + d.start..at + d.end));
    found
}

/// Returns the line that bytes stand in, its end excepted.
fn line_around(text: &str, at: &Range<usize>) -> Range<usize> {
    let start = text.get(..at.start).and_then(|before| before.rfind('\n')).map_or(0, |n| n + 1);
    let end = text.get(at.end..).and_then(|rest| rest.find(['\n', '\r'])).map_or(text.len(), |n| at.end + n);
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_told_from_other_numbers() {
        let of = |text: &str| versions(text).into_iter().map(|r| text[r].to_owned()).collect::<Vec<_>>();
        assert_eq!(of("2026.8.2"), ["2"]);
        assert_eq!(of("x edge-26.8.12, v1.18.3."), ["12", "3"]);
        assert_eq!(of("2026.8.* 2026.x >=2026.7.1"), ["8", "2026", "1"]);
        for text in ["10.0.0.1", "1.5", "100m", "v2", "2026-08-02", "1..2", "12345678.1.2222222222"] {
            assert_eq!(of(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_template_may_read_any_text_of_a_chart() {
        let of = |place: &str| in_file(place, "a=2026.8.2\n").len();
        assert_eq!([of("versions.txt"), of("charts/a/README.md"), of("VERSION")], [1; 3]);
        assert_eq!([of("Chart.lock"), of(".helmignore"), of("crds/a.txt")], [0; 3]);
    }

    #[test]
    fn of_a_template_only_plain_text_and_whole_quotes_count() {
        let text = "a: 2026.8.2 {{ default \"2026.8.3\" .x }}{{ if semverCompare \">=1.2.3\" .v }} {{/* 1.2.4 */}}\nb: 1.2.5 {{ eq .w `}} 1.2.6` }}";
        let of =
            |place: &str| in_file(place, text).into_iter().map(|r| text[r].to_owned()).collect::<Vec<_>>();
        assert_eq!(of("templates/a.yaml"), ["2", "3", "5"]);
        assert_eq!(of("charts/a/templates/_h.tpl"), ["2", "3", "5"]);
        assert_eq!(of("crds/a.yaml"), [""; 0]);
        assert_eq!(of("requirements.yaml"), [""; 0]);
    }

    #[test]
    fn what_a_chart_inside_is_found_by_stays_unless_it_may_be_a_release() {
        let of = |place: &str, version: &str| {
            let text =
                format!("name: a\nversion: {version}\nappVersion: 1.2.3\ndependencies:\n- version: 1.2.4\n");
            in_file(place, &text).into_iter().map(|range| text[range].to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(of("Chart.yaml", "0.1.5"), ["5", "3"]);
        assert_eq!(of("charts/a/Chart.yaml", "0.1.5"), ["3"]);
        assert_eq!(of("charts/a/Chart.yaml", "2026.8.2"), ["2", "3"]);
    }
}
