//! Step 5, pins: the badge of a version that helm-docs writes about a copy of a chart: `![Version: 1.16.11](..)`.
//!
//! In: a text. Out: its number, where the title is the name of one of Linkerd's charts and Linkerd's page is the home of that.

use super::{
    mapping::is_home,
    number::{Number, is_own, number, words},
};

/// How the title of a text begins.
const TITLE: &str = "# ";
/// What stands before the home of a chart.
const HOME: &str = "**Homepage:**";
/// How the badge begins.
const BADGE: &str = "![Version: ";

/// Finds the one of a text.
pub(super) fn in_badge(text: &str) -> Vec<Number> {
    badge(text).into_iter().collect()
}

fn badge(text: &str) -> Option<Number> {
    let at = text.find(BADGE)?;
    let title = text.lines().find_map(|line| line.strip_prefix(TITLE))?;
    let is_at_home = || {
        let mut homes = text.lines().filter_map(|line| line.strip_prefix(HOME));
        homes.any(|home| words(home).next().is_some_and(is_home))
    };
    let found = number(text, at + BADGE.len()).filter(|_| is_own(title.trim()) && is_at_home());
    // In Linkerd's own tree charts have a number that stands for all of them.
    found.filter(|(span, _)| text.get(span.clone()).is_some_and(|number| !number.starts_with("0.")))
}

#[cfg(test)]
mod tests {
    use super::super::numbers::numbers;
    use crate::pins::Reason;

    fn found(text: &str) -> Vec<(&str, Option<Reason>)> {
        numbers(text).into_iter().map(|(span, why)| (&text[span], why)).collect()
    }

    #[test]
    fn a_badge_has_the_version_of_a_copy() {
        let text = "# linkerd-control-plane\n\n![Version: 1.16.11](https://acme.example/badge/Version-1.16.11-blue)\n\n\
                    **Homepage:** <https://linkerd.io>\n";
        assert_eq!(found(text), [("1.16.11", Some(Reason::Channel))]);
        assert_eq!(found(&text.replace("1.16.11", "1.9.5-edge")), [("1.9.5-edge", None)]);
        for (own, other) in [
            ("# linkerd-control-plane", "# mesh"),
            ("<https://linkerd.io>", "<https://acme.example>"),
            ("1.16.11", "0.1.0"),
            ("Version: ", "Type: "),
        ] {
            assert_eq!(found(&text.replace(own, other)), [], "{other}");
        }
    }
}
