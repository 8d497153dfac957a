//! Step 6, plan: the title of a plan.
//!
//! In: a plan. Out: one line, used for the pull request and the commit. It names what changes, from where and to.

use super::Plan;
use crate::pins::Stage;

/// How many origins a title names before it gives the ends and the count.
const NAMED: usize = 3;

/// Returns the title. Where a repository has one target and the stage is `platform`, a title with several origins
/// needs no word of either; otherwise titles of different pull requests could not be told apart.
///
/// `several_targets` says whether the repository has more than one target.
pub fn title(plan: &Plan, several_targets: bool) -> String {
    let (to, target, stage) = (plan.to, &plan.target, plan.stage.name());
    if let Some(undone) = &plan.undoes {
        return format!("Roll back Linkerd {} → {to} ({target}, {stage})", undone.release);
    }
    match plan.from.as_slice() {
        [] => format!("Linkerd → {to} ({target}, {stage})"),
        [_] => format!("Linkerd {} → {to} ({target}, {stage})", origins(plan)),
        _ if several_targets || plan.stage == Stage::DataPlane => {
            format!("Linkerd → {to} ({target}, {stage}, from {})", origins(plan))
        }
        _ => format!("Linkerd → {to} (from {})", origins(plan)),
    }
}

fn origins(plan: &Plan) -> String {
    let names = plan.origins();
    match (names.as_slice(), names.first(), names.last()) {
        (many, Some(first), Some(last)) if many.len() > NAMED => {
            format!("{} releases, {first} to {last}", many.len())
        }
        (few, ..) => few.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::testing::edge;

    fn plan(stage: Stage, target: &str, from: &[&str]) -> Plan {
        Plan {
            target: target.to_owned(),
            stage,
            from: from.iter().map(|v| edge(v)).collect(),
            older: false,
            to: edge("edge-26.8.3"),
            hop_towards: None,
            published: None,
            undoes: None,
            moves: Vec::new(),
            stays: Vec::new(),
            fingerprint: String::new(),
            inputs: String::new(),
        }
    }

    #[test]
    fn titles_are_as_the_contract_writes_them() {
        let one = plan(Stage::Platform, "production", &["edge-26.8.2"]);
        assert_eq!(title(&one, true), "Linkerd edge-26.8.2 → edge-26.8.3 (production, platform)");
        let two = plan(Stage::Platform, "default", &["edge-26.4.4", "edge-26.8.2"]);
        assert_eq!(title(&two, false), "Linkerd → edge-26.8.3 (from edge-26.4.4, edge-26.8.2)");
    }

    #[test]
    fn titles_of_different_proposals_differ() {
        let from = ["edge-26.4.4", "edge-26.8.2"];
        let platform = plan(Stage::Platform, "production", &from);
        let proxies = plan(Stage::DataPlane, "production", &from);
        let staging = plan(Stage::Platform, "staging", &from);
        assert_eq!(
            title(&platform, true),
            "Linkerd → edge-26.8.3 (production, platform, from edge-26.4.4, edge-26.8.2)"
        );
        assert_ne!(title(&platform, true), title(&staging, true));
        assert_ne!(title(&platform, false), title(&proxies, false));
    }

    #[test]
    fn many_origins_are_shortened() {
        let many = ["edge-26.1.1", "edge-26.4.4", "edge-26.6.3", "edge-26.8.2"];
        let text = title(&plan(Stage::Platform, "default", &many), false);
        assert_eq!(text, "Linkerd → edge-26.8.3 (from 4 releases, edge-26.1.1 to edge-26.8.2)");
    }
}
