//! Step 5, pins: releases that text for people names by their numbers: `Upgrade Linkerd to v2.14.10`.
//!
//! In: a line. Out: the numbers behind the name of Linkerd, of its edge channel or of one of its charts, with nothing but words
//! like `version` between them, where they count as its releases do.

use super::number::{Number, is_edge, is_linkerd, is_old_edge, is_own, may_be_linkerd, number};

/// Words that may stand between.
const BETWEEN: [&str; 21] = [
    "-", "version", "versions", "release", "releases", "stable", "cli", "chart", "control", "plane", "to",
    "from", "upgraded", "updated", "bumped", "is", "of", "at", "the", "latest", "edge",
];
/// What may stand around a word.
const AROUND: [char; 9] = ['*', '_', ':', ';', ',', '.', '"', '\'', '`'];

/// Finds all of a line.
pub(super) fn in_prose(line: &str) -> Vec<Number> {
    let ends = |c: char| c.is_whitespace() || matches!(c, '(' | ')' | '[' | ']' | '|');
    let (mut found, mut start) = (Vec::new(), 0);
    let mut after: Option<fn(&str) -> bool> = None;
    for part in line.split_inclusive(ends) {
        let word = part.trim_end_matches(ends);
        let rest = word.trim_start_matches(AROUND);
        let (at, plain) = (start + word.len() - rest.len(), rest.trim_end_matches(AROUND));
        start += part.len();
        match after {
            // A comma ends what is said of it.
            _ if is_linkerd(plain) => after = (!rest.ends_with(',')).then_some(may_be_linkerd),
            _ if is_own(plain) => after = Some(is_old_edge),
            None if plain.eq_ignore_ascii_case("edge") => after = Some(is_edge),
            Some(counts) if !may_stand_between(plain) => {
                let named = line.get(..at + plain.len()).and_then(|text| number(text, at));
                found.extend(named.filter(|(span, _)| line.get(span.clone()).is_some_and(counts)));
                after = None;
            }
            _ => {}
        }
    }
    found
}

/// Tells whether a word, or the address of a link, says nothing of what the number behind it is of.
fn may_stand_between(word: &str) -> bool {
    let is_link = word.starts_with("http");
    word.is_empty() || is_link || BETWEEN.iter().any(|between| word.eq_ignore_ascii_case(between))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pins::Reason;

    fn found(line: &str) -> Vec<(&str, Option<Reason>)> {
        in_prose(line).into_iter().map(|(span, why)| (&line[span], why)).collect()
    }

    #[test]
    fn a_number_behind_linkerd_s_name_is_a_release() {
        for line in [
            "- Upgrade Linkerd to v2.14.10.",
            "Update to Linkerd 2.14.10 and Prometheus to 2.12.0",
            "1. [Linkerd](https://linkerd.io/) 2.14.10",
            "| Service Mesh | Linkerd | v2.14.10 | of 2022 |",
            "  linkerd: \"2.14.10\"",
            "**linkerd2** version `2.14.10`",
        ] {
            assert_eq!(found(line), [("2.14.10", Some(Reason::Channel))], "{line}");
        }
        for line in
            ["is running version 24.3.3 but the latest edge version is 26.6.3", "Linkerd (edge 26.6.3)"]
        {
            assert_eq!(found(line), [("26.6.3", None)], "{line}");
        }
        for line in ["Upgrade Linkerd to v1.18.11-edge.", "| linkerd-control-plane | 1.18.11-edge |"] {
            assert_eq!(found(line), [("1.18.11-edge", None)], "{line}");
        }
        for line in [
            "linkerd-viz 1.0.0",
            "Linkerd and Prometheus 2.12.0-edge",
            "Linkerd and Prometheus 2.12.0",
            "linkerd-smi 2.1.0",
            "Linkerd 2.14",
            "Linkerd 1.7.5",
            "edge 2.14.10",
            "vendor=\"linkerd\",version=\"2.24.0\"",
            "linkerd: 2.224.0",
            "linkerd --version 2.14.10",
            "Terraform module for Linkerd, version 2.3.4",
            "linkerd",
        ] {
            assert_eq!(found(line), [], "{line}");
        }
    }
}
