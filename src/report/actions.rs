//! The outputs of a step in GitHub Actions: `proposed`, `url`, `release`, `exit`.

use super::{Outcome, RunReport, escape::for_terminal};

/// Returns the outputs as lines of `name=value`; values cannot begin another line.
pub fn outputs(report: Option<&RunReport>, exit: u8) -> String {
    let stages = || report.into_iter().flat_map(|r| &r.stages);
    let open = |o: &&Outcome| matches!(o, Outcome::Opened(_) | Outcome::Updated(_) | Outcome::Unchanged(_));
    let pulls = || stages().filter_map(|s| s.outcome.as_ref()).filter(open).filter_map(Outcome::pull);
    let urls: Vec<&str> = pulls().map(|p| p.url.as_str()).collect();
    let mut releases: Vec<_> = stages().filter_map(|s| s.decision.plan()).map(|p| p.to).collect();
    releases.sort();
    let release = releases.last().map(ToString::to_string).unwrap_or_default();
    let proposed = !urls.is_empty();
    format!("proposed={proposed}\nurl={}\nrelease={release}\nexit={exit}\n", for_terminal(&urls.join(" ")))
}
