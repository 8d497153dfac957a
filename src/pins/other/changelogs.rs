//! Step 5, pins: what the changelog of a repository that packs a chart of Linkerd's says was taken in: `Bump version 2.14.10`.
//!
//! In: a text. Out: the numbers behind a word like `Bump`, and one that says what they are, where they count as Linkerd's releases
//! do. The links of a changelog say which repository it is of; what its headings name are that repository's own versions.

use std::collections::BTreeSet;

use super::{
    headings::{HEADING, SENTENCE, exact, plain_words},
    number::{Number, is_linkerd, is_own, lines, moved},
    prose::says_nothing,
};

/// How words begin that say that something was taken in.
const TAKES: [&str; 5] = ["align", "bump", "sync", "updat", "upgrad"];
/// Words that say what it is.
const KINDS: [&str; 4] = ["chart", "release", "upstream", "version"];
/// A word between them that says nothing either.
const WITH: &str = "with";
/// What stands behind a repository in the address of one of its versions.
const SHOWS: [&str; 2] = ["/compare/", "/releases/tag/"];
/// What may stand between them.
const APART: &str = "/-";
/// How the name of a repository ends that packs the chart before it.
const PACKS: [&str; 4] = ["-app", "-chart", "-charts", "-helm"];

/// Finds all of a text.
pub(super) fn taken_in(text: &str) -> Vec<Number> {
    if !text.lines().any(|line| version_of(line).is_some_and(packs_linkerds)) {
        return Vec::new();
    }
    let read = || lines(text).filter(|(_, line)| line.len() <= SENTENCE);
    let headings = read().filter(|(_, line)| line.starts_with(HEADING));
    let own: BTreeSet<&str> = headings
        .flat_map(|(_, line)| plain_words(line))
        .map(|(word, _)| word.trim_start_matches('v'))
        .collect();
    let all = read()
        .filter(|(_, line)| !line.starts_with(HEADING))
        .flat_map(|(start, line)| taken(line).into_iter().map(move |(span, why)| (moved(span, start), why)));
    all.filter(|(span, _)| text.get(span.clone()).is_some_and(|number| !own.contains(number))).collect()
}

/// Returns the repository of which a line gives the address of a version: `[1.2.0]: https://github.com/acme/mesh/compare/v1.1.0..`.
fn version_of(line: &str) -> Option<&str> {
    let (_, address) = line.strip_prefix('[')?.split_once("]:")?;
    let (repository, _) = SHOWS.iter().find_map(|shows| address.split_once(shows))?;
    repository.strip_suffix(APART).unwrap_or(repository).rsplit('/').next()
}

/// Tells whether a repository is called as one of Linkerd's charts, or as what packs it: `linkerd-crds-app`.
fn packs_linkerds(repository: &str) -> bool {
    let chart = PACKS.iter().find_map(|end| repository.strip_suffix(end)).unwrap_or(repository);
    is_linkerd(chart) || is_own(chart)
}

/// Finds the numbers of a line that it says were taken in, and nothing else of.
fn taken(line: &str) -> Vec<Number> {
    let (mut found, mut is_told) = (Vec::new(), None);
    for (word, at) in plain_words(line) {
        let is_one = |words: &[&str]| words.iter().any(|one| word.eq_ignore_ascii_case(one));
        let takes = |begin: &&str| word.get(..begin.len()).is_some_and(|b| b.eq_ignore_ascii_case(begin));
        let given = if is_told == Some(true) { exact(line, word, at) } else { None };
        is_told = match is_told {
            _ if TAKES.iter().any(takes) => Some(false),
            Some(_) if is_one(&KINDS) => Some(true),
            Some(_) if says_nothing(word) || is_one(&[WITH]) => is_told,
            _ => None,
        };
        found.extend(given);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pins::Reason;

    const OWN: &str = "# Changelog\n\n## [1.1.0] - 2024-01-31\n\n";
    const LINK: &str = "\n\n[1.1.0]: https://github.com/acme/linkerd-crds-app/compare/v1.0.0...v1.1.0\n";

    fn found(line: &str) -> Vec<(String, Option<Reason>)> {
        let text = format!("{OWN}{line}{LINK}");
        taken_in(&text).into_iter().map(|(span, why)| (text[span].to_owned(), why)).collect()
    }

    #[test]
    fn what_a_chart_s_changelog_takes_in_is_linkerd_s() {
        for line in [
            "- Bump version 2.14.10 ([#7](https://github.com/acme/linkerd-crds-app/pull/7)).",
            "- Updated to upstream v2.14.10. (#4)",
            "* Update chart to `2.14.10`",
            "- Moved partials and bumped the version to 2.14.10 using vendir.",
            "- Align with upstream release 2.14.10",
        ] {
            assert_eq!(found(line), [("2.14.10".to_owned(), Some(Reason::Channel))], "{line}");
        }
        assert_eq!(found("Sync with upstream version 26.6.3"), [("26.6.3".to_owned(), None)]);
        for other in [
            "- Update the pytest version to 2.14.10",
            "- Bump version of Go to 2.14.10",
            "- Upgrade Prometheus: version 2.14.10",
            "- Update to 2.14.10",
            "- Since version 2.14.10",
            "- Bump version 1.1.0",
            "- Bump version 0.7.3",
            "## Bump version 2.14.10",
            "## 2.14.10\n- Bump version 2.14.10",
        ] {
            assert_eq!(found(other), [], "{other}");
        }
    }

    #[test]
    fn the_links_of_a_changelog_say_whose_it_is() {
        let of = |link: &str| taken_in(&format!("- Bump version 2.14.10\n\n{link}\n")).len();
        for own in [
            "[Unreleased]: https://github.com/acme/linkerd-control-plane-app/compare/v1.4.1...HEAD",
            "[0.3.2]: https://github.com/acme/linkerd2/releases/tag/v0.3.2",
            "[1.0.0]: https://git.acme.example/mesh/linkerd-viz/-/compare/v0.9.0...v1.0.0",
        ] {
            assert_eq!(of(own), 1, "{own}");
        }
        for other in [
            "[1.0.0]: https://github.com/linkerd/website/compare/v0.9.0...v1.0.0",
            "[1.0.0]: https://github.com/acme/linkerd-await/compare/v0.9.0...v1.0.0",
            "[1.0.0]: https://github.com/linkerd/linkerd2/pull/7",
            "see https://github.com/linkerd/linkerd2/compare/a...b",
            "",
        ] {
            assert_eq!(of(other), 0, "{other}");
        }
    }
}
