//! Step 5, pins: numbers in text for people of which the line above, or the heading, says whose they are.
//!
//! In: a text. Out: the number of a line that says nothing but a version, right below a heading or an item that says nothing but
//! Linkerd; and one that a heading gives Linkerd, where the text below it names that again.

use std::collections::BTreeSet;

use super::{
    names::{as_name, brings_release, is_of_anything, is_of_release},
    number::{Number, lines, may_be_linkerd, moved, number, words},
    prose::{AROUND, in_prose, is_of_another, says_nothing},
};

/// How a heading begins.
pub(super) const HEADING: &str = "#";
/// The longest line that is read: what is written for people is shorter.
pub(super) const SENTENCE: usize = 1 << 10;
/// Words that say of a version that somebody has it.
const HAS: [&str; 14] =
    ["we", "i", "you", "this", "it", "will", "be", "are", "use", "uses", "using", "used", "run", "running"];
/// How words end that say that a version follows.
const VERSIONS: [&str; 4] = ["version", "revision", "release", "tag"];
/// What brings Linkerd, and has versions of its own.
const HELM: &str = "helm";

/// Finds all of a text.
pub(super) fn below_headings(text: &str) -> Vec<Number> {
    let (mut found, mut above, mut headed) = (Vec::new(), None, BTreeSet::new());
    for (start, line) in lines(text).filter(|(_, line)| line.contains(char::is_alphanumeric)) {
        let read = Some(line).filter(|line| line.len() <= SENTENCE);
        let is_heading = line.starts_with(HEADING);
        let is_below = above.is_some_and(|above| is_below(line, above));
        let own = read.filter(|_| is_below).and_then(only_version);
        let again = read.filter(|_| !is_heading).map(|line| said_again(line, &headed));
        let all = own.into_iter().chain(again.into_iter().flatten());
        found.extend(all.map(|(span, why)| (moved(span, start), why)));
        if is_heading {
            let given = read.map(in_prose).into_iter().flatten();
            headed = given.filter_map(|(span, _)| line.get(span)).collect();
        }
        above = read.filter(|line| says_only_linkerd(line));
    }
    found
}

/// Tells whether a line belongs to the one above: to a heading, or to what stands less deep. A bare version below the title may
/// be that of the text itself.
fn is_below(line: &str, above: &str) -> bool {
    let depth = |line: &str| line.len() - line.trim_start().len();
    above.strip_prefix(HEADING).is_some_and(|rest| rest.starts_with(HEADING)) || depth(line) > depth(above)
}

/// Tells whether all that a line says is Linkerd's name, or that something brings it: `## Install Linkerd`.
fn says_only_linkerd(line: &str) -> bool {
    let name = as_name(line.trim_start_matches(|c: char| !c.is_alphabetic()));
    is_of_release(&name) || brings_release(&name)
}

/// Reads the number of a line that says nothing but a version: `We will be using version 2.14.10`.
fn only_version(line: &str) -> Option<Number> {
    let (mut found, mut is_version) = (None, false);
    for (word, at) in plain_words(line) {
        let given = if is_version && found.is_none() { exact(line, word, at) } else { None };
        is_version = says_version(word);
        let is_plain =
            is_version || says_nothing(word) || HAS.iter().any(|has| word.eq_ignore_ascii_case(has));
        if given.is_none() && !is_plain {
            return None;
        }
        found = found.or(given);
    }
    found
}

/// Finds the numbers of a line that the heading above gives Linkerd, behind a key or a word that says nothing of its own.
fn said_again(line: &str, headed: &BTreeSet<&str>) -> Vec<Number> {
    let (mut found, mut is_given) = (Vec::new(), false);
    for (word, at) in plain_words(line).take_while(|_| !headed.is_empty()) {
        let is_its = |(span, _): &Number| {
            line.get(span.clone()).is_some_and(|number| headed.contains(number))
                && !is_of_another(line, span.end)
        };
        found.extend(exact(line, word, at).filter(|_| is_given).filter(is_its));
        is_given = says_version(word) || says_nothing(word);
    }
    found
}

/// Reads the version that a word is, where it counts as Linkerd's releases do.
pub(super) fn exact(line: &str, word: &str, at: usize) -> Option<Number> {
    let found = number(line.get(..at + word.len())?, at);
    found.filter(|(span, _)| line.get(span.clone()).is_some_and(may_be_linkerd))
}

/// Tells whether a word, or the last of a path, says that a version follows: `spec.source.targetRevision`.
fn says_version(word: &str) -> bool {
    let last = word.rsplit('.').next().unwrap_or(word).to_ascii_lowercase();
    let is_version = VERSIONS.iter().any(|end| last.ends_with(end));
    is_version && !last.contains(HELM) && is_of_anything(&last)
}

/// Lists the words of a line without what stands around them, and where each begins.
pub(super) fn plain_words(line: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut end = 0;
    let all = words(line).filter_map(move |word| {
        let at = end + line.get(end..)?.find(word)?;
        end = at + word.len();
        let rest = word.trim_start_matches(AROUND);
        Some((rest.trim_end_matches(AROUND), end - rest.len()))
    });
    all.filter(|(word, _)| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{
        super::{TextFile, pins},
        *,
    };
    use crate::{
        pins::Reason,
        repo::{BlobId, RepoPath},
    };

    fn found(text: &str) -> Vec<(&str, Option<Reason>)> {
        below_headings(text).into_iter().map(|(span, why)| (&text[span], why)).collect()
    }

    #[test]
    fn a_bare_version_belongs_to_what_stands_above() {
        for text in [
            "## Install Linkerd\n\nWe will be using version 2.14.10\n",
            "### 2. The Linkerd CLI\n- Version: `v2.14.10`.\n",
            "* Helm\n  * version 3.16.1\n* linkerd\n  * version 2.14.10\n* Prometheus\n  * version 2.12.0\n",
            "1. **Linkerd**:\n   we run the stable release 2.14.10\n",
        ] {
            assert_eq!(found(text), [("2.14.10", Some(Reason::Channel))], "{text}");
        }
        assert_eq!(found("## Linkerd (edge)\n\nversion 26.6.3\n"), [("26.6.3", None)]);
        for other in [
            "# Linkerd\n\nVersion 2.1.0\n",
            "## Linkerd and Prometheus\n\nversion 2.12.0\n",
            "## Linkerd\n\n## Prometheus\n\nversion 2.12.0\n",
            "## Linkerd\n\nIt needs Prometheus.\n\nversion 2.12.0\n",
            "## Linkerd\n\nPrometheus version 2.12.0\n",
            "## Linkerd\n\nuse helm 2.16.1\n",
            "## Linkerd\n\nhelm_version: 2.16.1\n",
            "## Linkerd\n\nuse build 2.1.0\n",
            "## Linkerd\n\nUsing Helm version 2.16.1\n",
            "## Linkerd\n\nversion 2.12.0 of Prometheus\n",
            "## Linkerd\n\nversion 0.2.3\n",
            "## Linkerd\n\n2.14.10\n",
            "## Linkerd\n\nuse version 2.12.0 2.14.10\n",
            "* linkerd\n* version 2.1.0\n",
            "  * linkerd\n* version 2.1.0\n",
            "## Helm\n\nversion 2.14.10\n",
        ] {
            assert_eq!(found(other), [], "{other}");
        }
    }

    #[test]
    fn what_a_heading_gives_linkerd_is_linkerd_s_below_it() {
        let of = |text: &str| found(&format!("### Upgrade Linkerd to 2.14.10\n\n{text}\n")).len();
        for told in [
            "Set the `spec.source.targetRevision` field to `2.14.10` in\nthe file",
            "targetRevision: 2.14.10",
            "1. Prometheus 2.12.0\n2. once it is at v2.14.10:",
        ] {
            assert_eq!(of(told), 1, "{told}");
        }
        for other in [
            "Prometheus 2.14.10",
            "with helm 2.14.10",
            "[Prometheus](https://acme.example) 2.14.10",
            "upgrade to 2.14.10 of Prometheus",
            "set it to 2.14.11",
            "#### Prometheus\n\nversion: 2.14.10",
        ] {
            assert_eq!(of(other), 0, "{other}");
        }
        assert_eq!(found("### Upgrade Prometheus to 2.14.10\n\nversion: 2.14.10\n"), []);
    }

    #[test]
    fn text_for_people_alone_has_headings() {
        let told = |path: &str| {
            let (path, text) = (RepoPath::new(path).unwrap(), "## Linkerd\n\nversion 2.14.10\n");
            let file = TextFile { path: &path, blob: BlobId([0; 20]), text, sealed: false };
            pins(&file, &[], Reason::NotDeployed).pins.len()
        };
        assert_eq!((told("README.md"), told("install.sh")), (1, 0));
    }

    #[test]
    fn a_line_that_is_written_for_programs_is_not_read() {
        let many = "2.14.10 ".repeat(SENTENCE);
        assert_eq!(found(&format!("## Linkerd 2.14.10\n{many}\n## Linkerd {many}\nto 2.14.10\n")), []);
    }
}
