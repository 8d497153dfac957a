//! Step 5, pins: a number that a text gives as a version, how those of each chart count, and the names of charts beside it.
//!
//! In: a text and a place in it. Out: the bytes of the number, with why it stays, where that is not for being of the edge
//! channel.

use std::ops::{Range, RangeInclusive};

use super::spelling::spelled;
use crate::{
    linkerd::{self, CHARTS, EdgeVersion, RETIRED_CHARTS},
    pins::{
        Reason,
        origin::ENTERPRISE,
        version_text::{Expects, Judged, VersionText, YEARS, judge},
    },
};

/// The longest word that may be a version, a key or the name of a package.
const LONGEST: usize = 64;

/// A version that is no release of the edge channel's new scheme.
pub(super) type Number = (Range<usize>, Option<Reason>);

/// Reads the version that follows on a place of a text.
pub(super) fn number(text: &str, at: usize) -> Option<Number> {
    let rest = text.get(at..)?;
    let given = rest.trim_start_matches([' ', '\t', '\n', '\r', '\\', '=', '-', '"', '\'', '`', ',']);
    // A word may go on to the end of a file, and a number be asked for at each place of it.
    let near = given.char_indices().nth(LONGEST).and_then(|(end, _)| given.get(..end)).unwrap_or(given);
    let word = words(near).next().filter(|word| given.starts_with(word) && word.len() < LONGEST)?;
    let exact = word.strip_prefix('v').unwrap_or(word);
    let version = semver::Version::parse(exact).ok()?;
    // What is built between releases counts as the first before all of them.
    if (version.major, version.minor, version.patch) == (0, 0, 0) {
        return None;
    }
    let start = at + rest.len() - given.len() + word.len() - exact.len();
    match judge(exact, Expects::Chart) {
        // What names a release is found by itself, behind a letter only near Linkerd's name.
        Judged::Version(VersionText { version: Some(_), .. }) if exact == word => None,
        Judged::Version(VersionText { stays, .. }) => {
            Some((start..start + exact.len(), stays.filter(|_| !is_edge(exact))))
        }
        Judged::Reads(_) | Judged::Nothing => None,
    }
}

/// Tells whether a number is that of an edge release, without its channel.
pub(super) fn is_edge(number: &str) -> bool {
    let release = number.split(['-', '+']).next().unwrap_or(number);
    format!("edge-{release}").parse::<EdgeVersion>().is_ok_and(|edge| edge.triple().0 < YEARS)
}

/// Tells whether a number is one of those that charts of the edge channel had before their releases': `1.18.11-edge`.
pub(super) fn is_old_edge(number: &str) -> bool {
    number.ends_with("-edge")
}

/// Tells whether a number may be that of a release of Linkerd's, of whatever channel. Its proxy counts by itself: `2.224.0`.
pub(super) fn may_be_linkerd(number: &str) -> bool {
    let minor = number.strip_prefix("2.").and_then(|rest| rest.split('.').next());
    minor.is_some_and(|minor| minor.len() <= 2) || is_edge(number) || is_old_edge(number)
}

/// Returns how the numbers of a chart count, by its name.
pub(super) fn of_chart(name: &str) -> Option<fn(&str) -> bool> {
    name.rsplit('-').next().and_then(of_part).or(Some(may_be_linkerd))
}

/// Returns how those of a part of Linkerd do, where a word is the last of its name: as releases, or as the charts of the
/// stable channel did from 2.12 to 2.14.
pub(super) fn of_part(word: &str) -> Option<fn(&str) -> bool> {
    let counts: fn(&str) -> bool = match word.to_ascii_lowercase().as_str() {
        "crds" => |number| may_be_linkerd(number) || is_second(number, 4..=8),
        "plane" | "control-plane" => |number| may_be_linkerd(number) || is_second(number, 9..=16),
        "viz" | "multicluster" | "jaeger" | "cni" => {
            |number| may_be_linkerd(number) || number.starts_with("30.")
        }
        _ => return None,
    };
    Some(counts)
}

/// Tells whether the second part of a number that begins with 1 is one of these.
fn is_second(number: &str, of: RangeInclusive<u8>) -> bool {
    let second = number.strip_prefix("1.").and_then(|rest| rest.split('.').next());
    second.and_then(|second| second.parse::<u8>().ok()).is_some_and(|second| of.contains(&second))
}

/// Tells whether a word is the name of Linkerd itself.
pub(super) fn is_linkerd(word: &str) -> bool {
    ["linkerd", "linkerd2"].iter().any(|name| word.eq_ignore_ascii_case(name))
}

/// Lists the lines of a text, with their ends, and where each begins.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut next = 0;
    text.split_inclusive('\n').map(move |line| {
        let start = next;
        next += line.len();
        (start, line)
    })
}

pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| {
        c.is_whitespace()
            || matches!(
                c,
                '"' | '\'' | '`' | '=' | '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | ',' | ';' | '\\'
            )
    };
    text.split(ends).filter(|word| !word.is_empty())
}

/// Tells whether a word is the name of one of Linkerd's charts, alone or behind its repository's. One that others have too,
/// `jaeger`, is Linkerd's behind a repository that is called so.
pub(super) fn is_chart(word: &str) -> bool {
    let (repository, name) = word.rsplit_once('/').unwrap_or(("", word));
    let is_called_so = ["linkerd", "l5d"].iter().any(|name| repository.contains(name));
    is_own(name) || is_called_so && linkerd::is_chart(name)
}

/// Tells whether a word is the name of a chart that is Linkerd's wherever it stands, or of Buoyant's distribution of it.
pub(super) fn is_own(word: &str) -> bool {
    word.starts_with(ENTERPRISE) || word.starts_with("linkerd") && linkerd::is_chart(word)
}

/// Tells whether a word begins with Linkerd's name.
pub(super) fn names_linkerd(word: &str) -> bool {
    let begins = |name: &str| word.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name));
    word.len() <= LONGEST && (begins("linkerd") || begins("l5d"))
}

/// Tells whether a key gives the version of Linkerd, or of a chart of Linkerd's, and says no more: `linkerd_await_version` is
/// that of something else.
pub(super) fn gives_linkerds(key: &str) -> bool {
    let plain = |text: &str| text.replace(['_', '-', '.'], "").to_ascii_lowercase();
    let key = plain(&spelled(key));
    let of = key.strip_suffix("version").or_else(|| key.strip_suffix("ver"));
    let of = of.map(|of| of.strip_suffix("helmchart").or_else(|| of.strip_suffix("chart")).unwrap_or(of));
    let mut charts = CHARTS.into_iter().chain(RETIRED_CHARTS.into_iter().map(|chart| chart.name));
    of.is_some_and(|of| {
        matches!(of, "linkerd" | "l5d" | "linkerdenterprise")
            || charts.any(|chart| is_own(chart) && plain(chart) == of)
    })
}

pub(super) fn moved(span: Range<usize>, by: usize) -> Range<usize> {
    span.start + by..span.end + by
}
