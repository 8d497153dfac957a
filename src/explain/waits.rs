//! Step 9, explain: why a stage waits.
//!
//! In: a plan, and the charts of it that could not be rendered. Out: of each why and what to do, then what waits for it. All
//! on one line, as what is kept of it is.

use std::collections::BTreeSet;

use crate::{pins::Pin, plan::Plan, render::NotRendered};

/// Says why a stage waits that moves whole or not at all.
pub fn waits(plan: &Plan, missing: &[NotRendered]) -> String {
    let line = |not: &NotRendered| {
        let line = not.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!("{} in {}{line}: {}; {}", not.chart, not.path, not.cause, not.cause.hint())
    };
    let mut lines: Vec<String> = missing.iter().map(line).collect();
    lines.dedup();
    let stuck = |pin: &Pin| {
        missing.iter().any(|not| Some(&not.chart) == pin.chart.as_ref() && not.files.contains(&pin.path))
    };
    let pins = plan.moving().map(|(pin, _)| pin).filter(|pin| !stuck(pin));
    let waiting: BTreeSet<&str> = pins.map(|pin| pin.chart.as_deref().unwrap_or(pin.path.as_str())).collect();
    if !waiting.is_empty() {
        let names: Vec<&str> = waiting.into_iter().collect();
        lines.push(format!("The rest of the stage waits for it: {}", names.join(", ")));
    }
    lines.join(". ")
}
