//! Step 8, verify: what Linkerd advises on the release.
//!
//! In: the catalog's guidance. Out: a `warn` where the release is advised against or carries a caution, an `info` where
//! nothing was said of it, and one for all releases on the way of which the same was said. Notes are upstream's words,
//! untrusted: whoever shows them neutralises them.

use std::collections::BTreeMap;

use super::{CheckId, Checked, Finding, Verification};
use crate::{linkerd::EdgeVersion, release::Guidance};

pub(super) const ID: CheckId = CheckId::Guidance;

const CONDITION: &str = "check whether its condition is yours";

pub(super) fn check(input: &Verification<'_>) -> Checked {
    let to = input.plan.to;
    let mut findings: Vec<Finding> = on_target(to, input.catalog.get(to).map(|r| &r.guidance));
    if let Some(from) = input.plan.from.first() {
        let passed =
            input.catalog.releases.range(*from..to.max(*from)).filter(|(version, _)| *version > from);
        findings.extend(on_the_way(passed.map(|(version, release)| (*version, &release.guidance))));
    }
    Checked { looked_at: format!("Linkerd's advice on the releases up to {to}"), findings }
}

fn on_target(to: EdgeVersion, guidance: Option<&Guidance>) -> Vec<Finding> {
    let finding = match guidance {
        Some(Guidance::Recommended { cautions: None, .. }) => return Vec::new(),
        Some(Guidance::Recommended { cautions: Some(note), source }) => Finding::warn(
            ID,
            format!("{to} is recommended with a caution{} ({source})", told(&sentence(note))),
        )
        .hint(CONDITION),
        Some(Guidance::NotRecommended { instead, note, source }) => {
            let names: Vec<String> = instead.iter().map(ToString::to_string).collect();
            let hint = match names.as_slice() {
                [] => "wait for a newer release".to_owned(),
                names => format!("go to {} instead", names.join(" or ")),
            };
            Finding::warn(ID, format!("{to} is not recommended{} ({source})", told(&sentence(note))))
                .hint(hint)
        }
        Some(Guidance::Caution { note, source }) => {
            Finding::warn(ID, format!("{to} carries a caution{} ({source})", told(&sentence(note))))
                .hint(CONDITION)
        }
        Some(Guidance::Unknown) => {
            Finding::info(ID, format!("Linkerd has published no advice on {to}, for or against"))
        }
        None => Finding::info(ID, format!("no feed that was read describes {to}")),
    };
    vec![finding]
}

fn on_the_way<'g>(passed: impl Iterator<Item = (EdgeVersion, &'g Guidance)>) -> Vec<Finding> {
    let mut said: BTreeMap<([&str; 2], String, &str), Vec<String>> = BTreeMap::new();
    for (version, guidance) in passed {
        let (what, note, source) = match guidance {
            Guidance::NotRecommended { note, source, .. } => {
                (["is not recommended", "are not recommended"], note, source)
            }
            Guidance::Caution { note, source } => (["carries a caution", "carry a caution"], note, source),
            Guidance::Recommended { .. } | Guidance::Unknown => continue,
        };
        said.entry((what, sentence(note), source)).or_default().push(version.to_string());
    }
    let each = said.into_iter().map(|(([one, many], note, source), versions)| {
        let what = if versions.len() == 1 { one } else { many };
        let note = told(&note);
        let text = format!("passed on the way: {} {what}{note} ({source})", versions.join(", "));
        Finding::info(ID, text)
    });
    each.collect()
}

/// Puts a note behind a statement, where there is one.
fn told(note: &str) -> String {
    if note.is_empty() { String::new() } else { format!(": {note}") }
}

/// One line, without the full stop that would stand before the source.
fn sentence(note: &str) -> String {
    note.split_whitespace().collect::<Vec<_>>().join(" ").trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::{Severity::*, testing::*};

    fn against(instead: &[&str]) -> Guidance {
        let instead = instead.iter().map(|v| v.parse().unwrap()).collect();
        let (note, source) = ("Use another\n one.".to_owned(), "https://example.com".to_owned());
        Guidance::NotRecommended { instead, note, source }
    }

    fn recommended(cautions: Option<&str>) -> Guidance {
        Guidance::Recommended { source: "x".into(), cautions: cautions.map(str::to_owned) }
    }

    fn found(guidance: &[(&'static str, Guidance)]) -> Vec<Finding> {
        let guidance = guidance.to_vec();
        Case::default()
            .pins(|b| b.chart("a.yaml", "linkerd-crds", "2026.8.1"))
            .catalog(move |catalog| {
                for (version, guidance) in guidance {
                    catalog.releases.get_mut(&version.parse().unwrap()).unwrap().guidance = guidance;
                }
            })
            .check(ID)
    }

    #[test]
    fn a_recommended_release_needs_no_word() {
        assert_eq!(found(&[("edge-26.8.3", recommended(None))]), []);
        assert_eq!(severities(&found(&[("edge-26.8.3", recommended(Some("IPv4 only.")))])), [Warn]);
    }

    #[test]
    fn silence_is_not_the_same_as_fine() {
        let unknown = found(&[]);
        assert_eq!(severities(&unknown), [Info]);
        assert!(unknown[0].reason.contains("no advice on edge-26.8.3"));
    }

    #[test]
    fn advice_against_names_note_source_and_what_to_use_instead() {
        let found = found(&[("edge-26.8.3", against(&["edge-26.8.4"]))]);
        assert_eq!(severities(&found), [Warn]);
        let text = "edge-26.8.3 is not recommended: Use another one (https://example.com)";
        assert_eq!(
            (found[0].reason.as_str(), found[0].hint.as_deref()),
            (text, Some("go to edge-26.8.4 instead"))
        );
    }

    #[test]
    fn releases_that_are_passed_are_mentioned_and_the_one_that_is_left_is_not() {
        let advised = recommended(None);
        let caution = Guidance::Caution { note: "GKE only.".into(), source: "y".into() };
        let found = found(&[
            ("edge-26.8.1", against(&[])),
            ("edge-26.8.2", caution),
            ("edge-26.8.3", advised),
            ("edge-26.9.1", against(&[])),
        ]);
        assert_eq!(severities(&found), [Info]);
        assert_eq!(found[0].reason, "passed on the way: edge-26.8.2 carries a caution: GKE only (y)");
    }

    #[test]
    fn what_was_said_of_many_releases_is_said_once() {
        let silent =
            || Guidance::NotRecommended { instead: Vec::new(), note: String::new(), source: "x".into() };
        let found = Case::default()
            .pins(|b| b.chart("a.yaml", "linkerd-crds", "2026.8.1"))
            .to("edge-26.9.1")
            .catalog(move |catalog| {
                for version in ["edge-26.8.2", "edge-26.8.3"] {
                    catalog.releases.get_mut(&version.parse().unwrap()).unwrap().guidance = silent();
                }
            })
            .check(ID);
        assert_eq!(severities(&found), [Info, Info]);
        let words = "passed on the way: edge-26.8.2, edge-26.8.3 are not recommended (x)";
        assert!(found.iter().any(|f| f.reason == words), "{found:?}");
    }
}
