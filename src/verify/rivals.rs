//! Step 8, verify: other update bots that manage the same pins.
//!
//! In: configurations of Renovate and Dependabot. Out: an `info` for each, with the rule that leaves the pins to one of the two.

use super::{CheckId, Checked, Finding, Verification, count};

pub(super) const ID: CheckId = CheckId::Rivals;

pub(super) fn check(input: &Verification<'_>) -> Checked {
    let rivals = &input.inventory.facts.rivals;
    let findings = rivals.iter().map(|rival| {
        let reason = format!("{} manages the same pins and may propose them too", rival.bot);
        Finding::info(ID, reason).at(&rival.path, None).hint(rival.rule.clone())
    });
    let findings = findings.collect();
    Checked { looked_at: count(rivals.len(), "configuration of another bot"), findings }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        pins::Rival,
        plan::testing::path,
        verify::{Severity::*, testing::*},
    };

    #[test]
    fn a_rival_is_named_with_its_rule() {
        let rival =
            Rival { path: path("renovate.json"), bot: "Renovate", rule: "{\"enabled\": false}".into() };
        let build = |rivals| {
            Case::default()
                .pins(|b| b.chart("a.yaml", "linkerd-crds", "2026.8.2").facts(|facts| facts.rivals = rivals))
        };
        let found = build(vec![rival]).check(ID);
        assert_eq!(severities(&found), [Info]);
        assert_eq!(found[0].hint.as_deref(), Some("{\"enabled\": false}"));
        assert_eq!(build(Vec::new()).check(ID), []);
    }
}
