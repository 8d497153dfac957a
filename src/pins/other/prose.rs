//! Step 5, pins: releases that text for people names by their numbers: `Upgrade Linkerd to v2.14.10`.
//!
//! In: a line. Out: the numbers behind the name of Linkerd, of its edge channel or of one of its charts, of a key or of a command
//! that brings it, with nothing but words like `version` between them, where they count as its releases do, or behind a chart or
//! a part as its charts did; and those that words like `and` join to them.

use std::ops::Range;

use super::{
    names::{brings_release, is_of_release},
    number::{Number, is_edge, is_linkerd, is_own, may_be_linkerd, number, of_chart, of_part, words},
    speaks::speaks,
};

/// Words that may stand between.
const BETWEEN: [&str; 45] = [
    "-",
    "version",
    "versions",
    "release",
    "releases",
    "stable",
    "cli",
    "cni",
    "crds",
    "multicluster",
    "viz",
    "chart",
    "control",
    "plane",
    "control-plane",
    "service",
    "mesh",
    "to",
    "from",
    "install",
    "upgrade",
    "upgraded",
    "update",
    "updated",
    "bump",
    "bumped",
    "is",
    "was",
    "has",
    "been",
    "now",
    "of",
    "at",
    "the",
    "latest",
    "newest",
    "current",
    "currently",
    "recommended",
    "tested",
    "minimum",
    "default",
    "defaults",
    "edge",
    "→",
];
/// Words that join a number to the one before, as a comma does.
const JOINS: [&str; 10] = ["", "-", "–", "→", "/", "&", "and", "or", "to", "through"];
/// What may stand around a word.
pub(super) const AROUND: [char; 17] =
    ['*', '_', ':', ';', ',', '.', '"', '\'', '`', '+', '<', '>', '=', '~', '^', '#', '%'];
/// What stands between a number and the name of what it is of.
const OF: &str = " of ";
/// Words behind a name that say what the number before it is.
const KINDS: [&str; 3] = [" version", " release", " chart"];
/// A part of Linkerd that nothing else has.
const PART: &str = "viz";

/// Finds all of a line.
pub(super) fn in_prose(line: &str) -> Vec<Number> {
    let mut found = behind(line, None);
    found.extend(before_name(line));
    found.extend(before_kind(line));
    found
}

/// Finds all of a text that has nothing but what Linkerd's name says before.
pub(super) fn in_cell(cell: &str) -> Vec<Number> {
    behind(cell, Some(may_be_linkerd))
}

/// Reads a line behind a name, where one stands before it, by how the numbers of that count.
fn behind(line: &str, mut after: Option<fn(&str) -> bool>) -> Vec<Number> {
    let ends = |c: char| c.is_whitespace() || matches!(c, '(' | ')' | '[' | ']' | '<' | '>' | '|');
    let (mut found, mut start, mut is_markup) = (Vec::new(), 0, false);
    let (speaks, closes, mut listed) = (speaks(line), line.rfind('>'), None);
    for part in line.split_inclusive(ends) {
        let word = part.trim_end_matches(ends);
        let rest = word.trim_start_matches(AROUND);
        let (at, plain) = (start + word.len() - rest.len(), rest.trim_end_matches(AROUND));
        start += part.len();
        let was_markup = is_markup;
        is_markup = match part.chars().next_back() {
            Some('<') => {
                closes > Some(start) && line.get(start..).is_some_and(|tag| tag.starts_with(begins_tag))
            }
            Some('>') => false,
            _ => is_markup,
        };
        if was_markup {
            continue;
        }
        let is_chart = is_own(plain) && !is_linkerd(plain);
        let says = || is_of_release(plain) || brings_release(plain) && plain == rest;
        let is_named = !is_chart && (is_linkerd(plain) || speaks && says());
        let behind_part = after.and_then(|_| of_part(plain));
        if is_chart || is_named || behind_part.is_some() || after.is_none() {
            listed = None;
        }
        let may_stand = match listed {
            None => may_stand_between(plain),
            Some(_) => JOINS.contains(&plain),
        };
        match after {
            _ if is_chart => after = of_chart(plain),
            // A comma ends what is said of it.
            _ if is_named => after = (!rest.ends_with(',')).then_some(may_be_linkerd),
            None if plain.eq_ignore_ascii_case("edge") => after = Some(is_edge),
            Some(_) if behind_part.is_some() => after = behind_part,
            Some(counts) if !may_stand => {
                let text = line.get(..at + plain.len()).filter(|_| listed != Some(false));
                let named = text.and_then(|text| number(text, at));
                let is_its = |span: &Range<usize>| !is_of_another(line, span.end);
                let named =
                    named.filter(|(span, _)| line.get(span.clone()).is_some_and(counts) && is_its(span));
                listed = named.as_ref().map(|_| rest.ends_with(','));
                after = after.filter(|_| named.is_some() && !rest.ends_with(['.', ';', ':']));
                found.extend(named);
            }
            Some(_) if !plain.is_empty() => listed = listed.map(|_| true),
            _ => {}
        }
    }
    found
}

fn begins_tag(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '/'
}

/// Finds those before Linkerd's name: `version 2.14.10 of Linkerd`, `the 26.6.3 release of Linkerd`.
fn before_name(line: &str) -> impl Iterator<Item = Number> {
    line.match_indices(OF).filter_map(move |(at, of)| {
        let (before, behind) = (line.get(..at)?, line.get(at + of.len()..)?);
        let is_its = named_first(behind).is_some_and(is_linkerd);
        let found = last(before.strip_suffix(" release").unwrap_or(before)).filter(|_| is_its);
        found.filter(|(span, _)| line.get(span.clone()).is_some_and(may_be_linkerd))
    })
}

/// Finds those before a name and a word that says what they are: `the 2.11.1 viz version`. That word may have a number of its own
/// behind it, and the number one of somebody's before it: `Grafana 2.3.4`.
fn before_kind(line: &str) -> impl Iterator<Item = Number> {
    let speaks = speaks(line);
    let all = KINDS.into_iter().flat_map(|kind| line.match_indices(kind));
    all.filter_map(move |(at, kind)| {
        let (before, name) = line.get(..at)?.rsplit_once(' ')?;
        let behind = line.get(at + kind.len()..)?;
        let next = behind.split_whitespace().find(|word| word.contains(char::is_alphanumeric));
        let has_own = next.is_some_and(|word| word.contains(|c: char| c.is_ascii_digit()));
        let owner = before.split_whitespace().rev().nth(1);
        let is_owned = owner.is_some_and(|word| word.starts_with(char::is_uppercase));
        let name = name.trim_matches(AROUND);
        let is_its = is_linkerd(name) || is_own(name) || speaks && name.eq_ignore_ascii_case(PART);
        let is_apart = behind.starts_with(char::is_alphanumeric) || before.ends_with([',', ';', ':', '.']);
        let counts = of_chart(name).filter(|_| is_its && !(has_own || is_owned || is_apart))?;
        last(before).filter(|(span, _)| line.get(span.clone()).is_some_and(counts))
    })
}

/// Reads the number that a text ends with.
fn last(text: &str) -> Option<Number> {
    let word = text.split_whitespace().next_back()?;
    let start = text.rfind(word)?;
    let rest = word.trim_start_matches(AROUND);
    let plain = text.get(..start + word.trim_end_matches(AROUND).len())?;
    number(plain, start + word.len() - rest.len())
}

/// Tells whether a number that ends at a place of a line is said to be of something else: `2.3.4 of Grafana`.
pub(super) fn is_of_another(line: &str, end: usize) -> bool {
    let behind = line.get(end..).unwrap_or_default().trim_start_matches(AROUND);
    let name = behind.strip_prefix(OF).and_then(named_first);
    let is_linkerds = |name: &str| is_linkerd(name) || is_own(name) || may_stand_between(name);
    name.is_some_and(|name| name.starts_with(char::is_alphabetic) && !is_linkerds(name))
}

/// Returns what a text names first.
fn named_first(text: &str) -> Option<&str> {
    let name = words(text).take(2).find(|word| !word.eq_ignore_ascii_case("the"));
    name.map(|name| name.trim_matches(AROUND))
}

/// Tells whether a word, or the address of a link, says nothing of what the number behind it is of.
fn may_stand_between(word: &str) -> bool {
    word.is_empty() || word.starts_with("http") || says_nothing(word)
}

/// Tells whether a word is one of those that may stand between.
pub(super) fn says_nothing(word: &str) -> bool {
    BETWEEN.iter().any(|between| word.eq_ignore_ascii_case(between))
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
            "Linkerd (default 2.14.10)",
            "#linkerd version 2.14.10",
            "Update linkerd CNI to 2.14.10 and its proxy to 2.12.0",
            "(define %linkerd-version \"2.14.10\")",
            "Linkerd (>= v2.14.10)",
            "Linkerd >=2.14.10",
            "Linkerd has been upgraded to 2.14.10+ and Prometheus to 2.12.0",
            "ENV LINKERD2_VERSION 2.14.10",
            "setup --linkerd-version 2.14.10 --kube-version 2.12.0",
            "./install-linkerd.sh 2.14.10 2.12.0",
            "run: bash bin/linkerd.sh upgrade 'v2.14.10'",
            "| Linkerd | 2.14.10 | 2.12.0 |",
            "Linkerd 2.14.10 (2.12.0 of Prometheus)",
            "<tr><td>Linkerd</td><td class=\"version\">2.14.10</td><td>2.12.0</td></tr>",
            "<id>linkerd2</id><version>2.14.10</version>",
            "install <linkerd 2.14.10",
            "version `2.14.10` of Linkerd and 2.12.0 of Prometheus",
            "we run v2.14.10 of the [Linkerd](https://linkerd.io) mesh",
            "The 2.14.10 release of **Linkerd**",
            "Linkerd 2.14.10 of the service mesh",
            "Linkerd 2.14.10 of 2022",
            "Linkerd 2.14.10, `2.12.0` of the Prometheus chart",
            "Linkerd 2.14.10 and Grafana 2.12.0",
            "Don't use the 2.14.10 VIZ version: all pods of linkerd-viz restart",
            "Prometheus 2.12.0 with the `2.14.10` Linkerd release",
        ] {
            assert_eq!(found(line), [("2.14.10", Some(Reason::Channel))], "{line}");
        }
    }

    #[test]
    fn a_number_behind_a_chart_or_a_channel_counts_as_theirs_do() {
        for line in [
            "is running version 24.3.3 but the latest edge version is 26.6.3",
            "Linkerd (edge 26.6.3)",
            "linkerd-crds 26.6.3",
        ] {
            assert_eq!(found(line), [("26.6.3", None)], "{line}");
        }
        for line in [
            "Upgrade Linkerd from 26.5.1 to 26.6.3.",
            "linkerd: [26.5.1, 26.6.3], kube: [2.12.0]",
            "Linkerd `26.5.1`, and `26.6.3`. 2.12.0 is old",
            "install_linkerd 26.5.1 or 26.6.3 # 2.12.0",
        ] {
            assert_eq!(found(line), [("26.5.1", None), ("26.6.3", None)], "{line}");
        }
        for line in [
            "Upgrade Linkerd to v1.18.11-edge.",
            "| linkerd-control-plane | 1.18.11-edge |",
            "- Update linkerd control-plane to 1.18.11-edge.",
        ] {
            assert_eq!(found(line), [("1.18.11-edge", None)], "{line}");
        }
        for (line, version) in [
            ("linkerd-viz 30.12.11", "30.12.11"),
            ("| a | [linkerd-crds](https://acme.example) | `1.8.0` | 1.6.1 |", "1.8.0"),
            ("Linkerd control plane (chart 1.16.11)", "1.16.11"),
            ("linkerd2-cni v2.11.4 and Prometheus 30.1.1", "2.11.4"),
            ("our 30.12.11 linkerd-viz chart", "30.12.11"),
        ] {
            assert_eq!(found(line), [(version, Some(Reason::Channel))], "{line}");
        }
        let both = [("1.16.11", Some(Reason::Channel)), ("30.12.11", Some(Reason::Channel))];
        assert_eq!(found("Linkerd: Control plane 1.16.11, Viz 30.12.11, Prometheus 30.1.1"), both);
    }

    #[test]
    fn a_number_of_something_else_is_no_release() {
        for line in [
            "linkerd-viz 1.0.0",
            "linkerd-crds 30.12.11",
            "linkerd-control-plane 1.8.0",
            "Linkerd 30.12.11",
            "viz 30.12.11",
            "Linkerd and the control plane 1.16.11",
            "Linkerd viz of Kubernetes 30.12.11",
            "Linkerd and Prometheus 2.12.0-edge",
            "Linkerd and Prometheus 2.12.0",
            "linkerd-smi 2.1.0",
            "Linkerd 2.14",
            "Linkerd 1.7.5",
            "Update Linkerd to the latest 2.3.4 of Grafana",
            "edge 2.14.10",
            "vendor=\"linkerd\",version=\"2.24.0\"",
            "linkerd: 2.224.0",
            "linkerd --version 2.14.10",
            "acme/linkerd 2.14.10",
            "install_istio 2.14.10 # not Linkerd",
            "Linkerd requires Helm 2.14.10",
            "install-linkerd: 2.14.10",
            "2.12.0 of Prometheus for Linkerd",
            "1.7.5 of Linkerd",
            "2.14.10 of acme/linkerd",
            "with prometheus 2.12.0, Linkerd release of today",
            "with prometheus 2.12.0 Linkerd version 2.14",
            "Prometheus 2.12.0 Linkerd chart",
            "for Linkerd, the 2.6.1 CNI version of Calico",
            "the 2.14.10 viz version",
            "the 2.14.10 Linkerd versioning",
            "<td>Linkerd</td><td>Helm</td><td>2.14.10</td>",
            "Terraform module for Linkerd, version 2.3.4",
            "linkerd",
        ] {
            assert_eq!(found(line), [], "{line}");
        }
    }
}
