//! Step 5, pins: numbers of which the text says elsewhere what channel they are of: `version=26.6.3` for `edge-${version}`.
//!
//! In: a text. Out: the numbers that a name is given which the text reads behind the word of a channel, each of a list too,
//! such as a matrix of a pipeline, where they count as that channel does.

use super::{
    entry::entry,
    number::{Number, is_edge, lines, may_be_linkerd, moved, number},
    reads,
};
use crate::pins::Reason;

/// How loops of shells and programs say what they go through.
const LOOP: (&str, &str) = ("for ", " in ");

/// Finds all of a text.
pub(super) fn behind_channels(text: &str) -> Vec<Number> {
    let (names, mut found) = (reads::behind_channels(text), Vec::new());
    // A list may be called by the plural of the name that is given each of its elements.
    let channel_of = |name: &str| names.get(name).or_else(|| names.get(name.strip_suffix('s')?)).copied();
    let mut listed = None;
    for (start, line) in lines(text).filter(|_| !names.is_empty()) {
        let element = element(line).and_then(|behind| Some((listed?, behind)));
        let named = [looped(line), entry(line).map(|(_, key, behind)| (key, behind))];
        let mut channels = named.into_iter().flatten().filter_map(|(name, at)| Some((channel_of(name)?, at)));
        let given = element.or_else(|| channels.next());
        if !line.trim().is_empty() && !line.trim_start().starts_with('#') {
            let is_empty = |behind: usize| line.get(behind..).is_none_or(|value| value.trim().is_empty());
            listed = given.filter(|(_, at)| element.is_some() || is_empty(*at)).map(|(channel, _)| channel);
        }
        if let Some((channel, behind)) = given {
            let fits = |(span, _): &Number| {
                let number = line.get(span.clone()).unwrap_or_default();
                is_edge(number) == matches!(channel, "edge-" | "preview-") && may_be_linkerd(number)
            };
            found.extend(values(line, behind).into_iter().filter(fits).map(|(span, why)| {
                (moved(span, start), if channel == "edge-" { why } else { Some(Reason::Channel) })
            }));
        }
    }
    found
}

/// Returns where an element of a list begins that is no mapping.
fn element(line: &str) -> Option<usize> {
    let item = line.trim_start().strip_prefix("- ").filter(|item| !item.contains(':'))?;
    Some(line.len() - item.len())
}

/// Reads a loop: the name that it gives each element, and where these begin.
fn looped(line: &str) -> Option<(&str, usize)> {
    let (_, rest) = line.split_once(LOOP.0)?;
    let (name, elements) = rest.split_once(LOOP.1)?;
    Some((name, line.len() - elements.len()))
}

/// Reads the versions that a line has behind a place: one, or all of a list.
pub(super) fn values(line: &str, behind: usize) -> Vec<Number> {
    let (before, value) = line.split_at_checked(behind).unwrap_or_default();
    if !value.trim_start().starts_with(['[', '(']) && !before.ends_with(LOOP.1) {
        // A shell gives a variable its default where it reads it.
        let at = value.find(":-").map_or(behind, |sign| behind + sign + 2);
        return number(line, at).into_iter().collect();
    }
    let mut start = behind;
    let list = value.split([']', ')', ';']).next().unwrap_or_default();
    let elements = list.split([' ', ',', '[', '(']).filter_map(|element| {
        let at = start;
        start += element.len() + 1;
        number(element, 0).map(|(span, why)| (moved(span, at), why))
    });
    elements.collect()
}
