//! What stands in the tree for a text that the tree does not say: what asks somebody else for it, the action of a template or an
//! expression of Terraform's.
//!
//! In: what came of an action, and the action. Out: the same with the place of the action, by which a version is known to be one
//! although it stands nowhere.

use std::ops::Range;

use super::scalar::{Origin, Part, Scalar, Unknown, Via};

/// What stands around an action.
const AROUND: [(&str, &str); 2] = [("{{", "}}"), ("<<", ">>")];

// === impl Scalar ===

impl Scalar {
    /// Notes the action that asks somebody else for what the tree does not say; the first one that did is the one that counts.
    pub fn asked_by(&self, action: &Self) -> Self {
        let Some(code) = self.unknown_to().and_then(|_| code(action)) else { return self.clone() };
        let is_code = |at: &Origin| at.via == Some(Via::Code);
        let part = |part: &Part| match part {
            Part::Unknown(unknown) if !unknown.of.iter().any(is_code) => {
                let of = unknown.of.iter().chain([&code]).cloned().collect();
                Part::Unknown(Unknown { who: unknown.who.clone(), of })
            }
            other => other.clone(),
        };
        Self::of(self.parts().iter().map(part), self.plain)
    }

    /// The same where nobody has to be asked.
    pub fn unasked(&self) -> Self {
        let part = |part: &Part| match part {
            Part::Unknown(unknown) => {
                let of = unknown.of.iter().filter(|at| at.via != Some(Via::Code)).cloned().collect();
                Part::Unknown(Unknown { who: unknown.who.clone(), of })
            }
            other => other.clone(),
        };
        Self::of(self.parts().iter().map(part), self.plain)
    }
}

/// Returns the place of an action with the signs around it; `None` where it was not written.
fn code(action: &Scalar) -> Option<Origin> {
    let (first, last) = (action.origins().next()?, action.origins().next_back()?);
    let is_whole = last.source == first.source && first.span.start <= last.span.start;
    let end = if is_whole { last.span.end } else { first.span.end };
    let span = with_signs(&first.source.text, first.span.start..end)?;
    Some(Origin { span, via: Some(Via::Code), ..first.clone() })
}

fn with_signs(text: &str, inner: Range<usize>) -> Option<Range<usize>> {
    let (before, behind) = (text.get(..inner.start)?, text.get(inner.end..)?);
    let before = before.strip_suffix('-').unwrap_or(before);
    let behind = behind.strip_prefix('-').unwrap_or(behind);
    let mut around = AROUND.iter().filter_map(|(open, close)| {
        let start = before.strip_suffix(open)?.len();
        Some(start..text.len() - behind.strip_prefix(close)?.len())
    });
    Some(around.next().unwrap_or(inner))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        deploy::value::Source,
        repo::{BlobId, RepoPath},
    };

    fn asked(text: &str, action: &str) -> Vec<String> {
        let path = RepoPath::new("set.yaml").unwrap();
        let file = Scalar::file(&Arc::new(Source { path, blob: BlobId([0; 20]), text: text.into() }));
        let start = text.find(action).unwrap();
        let asked = Scalar::unknown("a Secret").asked_by(&file.cut(start..start + action.len()));
        asked.handed().map(|at| at.text().to_owned()).collect()
    }

    #[test]
    fn an_action_is_told_with_its_signs() {
        for (text, action) in [
            ("v: '{{ .chart }}'", " .chart "),
            ("v: '{{- .chart -}}'", " .chart "),
            ("v: << inputs.chart >>", " inputs.chart "),
            ("v: {{chart}}", "{{chart}}"),
        ] {
            let whole = text.trim_start_matches("v: ").trim_matches('\'');
            assert_eq!(asked(text, action), [whole], "{text}");
        }
        assert_eq!(asked("{{ if .chart }}", ".chart"), [".chart"], "no signs are right beside it");
    }

    #[test]
    fn the_first_action_that_asks_counts() {
        let path = RepoPath::new("set.yaml").unwrap();
        let file = |text: &str| {
            Scalar::file(&Arc::new(Source { path: path.clone(), blob: BlobId([0; 20]), text: text.into() }))
        };
        let both = Scalar::unknown("a Secret").asked_by(&file("{{a}}")).asked_by(&file("{{b}}"));
        assert_eq!(both.handed().map(Origin::text).collect::<Vec<_>>(), ["{{a}}"]);
        assert_eq!(both.unasked(), Scalar::unknown("a Secret"));
        assert_eq!(Scalar::made("x").asked_by(&file("{{a}}")), Scalar::made("x"));
        assert_eq!(Scalar::unknown("a Secret").asked_by(&Scalar::made("{{a}}")).handed().count(), 0);
    }
}
