//! Step 5, pins: tags of Linkerd's milestones, which are no releases of the edge channel: `version-2.19`.
//!
//! In: a text. Out: those on lines that speak of Linkerd, or right below one that does.

use std::ops::Range;

use super::{
    number::{Number, lines, moved},
    speaks::speaks,
};
use crate::pins::{
    Reason,
    release_names::{is_in_name, may_stand_before},
};

/// How such a tag begins.
const TAG: &str = "version-2.";
/// How many digits follow: the milestones before 2.15 are releases of the stable channel.
const DIGITS: usize = 2;

/// Finds all of a text.
pub(super) fn milestones(text: &str) -> Vec<Number> {
    let (mut found, mut is_near) = (Vec::new(), false);
    // Most texts have none.
    let is_read = text.contains(TAG);
    for (start, line) in lines(text).take_while(|_| is_read) {
        let is_named = speaks(line);
        if is_named || is_near {
            found.extend(of_line(line).map(|span| (moved(span, start), Some(Reason::Channel))));
        }
        is_near = is_named;
    }
    found
}

fn of_line(line: &str) -> impl Iterator<Item = Range<usize>> {
    line.match_indices(TAG).filter_map(move |(start, _)| {
        let (before, rest) = (line.get(..start)?, line.get(start + TAG.len()..)?);
        let digits = rest.bytes().take(DIGITS).take_while(u8::is_ascii_digit).count();
        let behind = rest.get(digits..)?;
        let goes_on = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let stands = match before.strip_suffix('-') {
            Some(before) => may_stand_before(before),
            None => !is_in_name(before),
        };
        let is_whole = !behind.strip_prefix('.').unwrap_or(behind).starts_with(goes_on);
        (digits == DIGITS && stands && is_whole).then(|| start..line.len() - behind.len())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        milestones(text).into_iter().map(|(span, _)| &text[span]).collect()
    }

    #[test]
    fn a_tag_of_a_milestone_is_told_where_linkerd_is_spoken_of() {
        for told in [
            "LINKERD=${LINKERD:-version-2.19}",
            "github.com/linkerd/linkerd2/releases/tag/version-2.19.",
            "url \"https://github.com/linkerd/linkerd2.git\",\n    tag: \"version-2.19\",\n    other: \"version-2.20\"\n",
        ] {
            assert_eq!(found(told), ["version-2.19"], "{told}");
        }
        for other in [
            "acme version-2.19",
            "linkerd acme-version-2.19",
            "linkerd version-2.19.1",
            "linkerd version-2.190",
            "linkerd version-2.19-rc",
            "linkerd version-2.1",
            "linkerd --version-2.19",
        ] {
            assert_eq!(found(other), [""; 0], "{other}");
        }
        assert_eq!(found(&format!("linkerd {}", "version-2.".repeat(100_000))), [""; 0]);
    }
}
