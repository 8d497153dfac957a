//! A plan or a run on a page that takes only so much, such as the summary of a step in GitHub Actions.

use super::{
    RunReport,
    run::{Page, page},
};
use crate::explain::Dialect;

/// What a pull request's text needs at the least to say more than its first line.
const LEAST: usize = 4_000;

/// Returns all of the report where it fits, else ever less of it, the least important left out first.
pub(super) fn summary(report: &RunReport, diff: bool, room: usize) -> String {
    let all = Page { diff, text: usize::MAX, lines: usize::MAX, stages: usize::MAX };
    let whole = page(report, all);
    if whole.len() <= room {
        return whole;
    }
    let proposals = report.stages.iter().filter(|s| s.proposal.is_some()).count().max(1);
    let share = room / 2 / proposals;
    let fair = if share < LEAST { 0 } else { share.min(Dialect::COMMON.body) };
    let less = [
        Page { diff: false, ..all },
        Page { diff: false, text: Dialect::COMMON.body, ..all },
        Page { diff: false, text: Dialect::COMMON.body, lines: 200, ..all },
        Page { diff: false, text: fair, lines: 50, ..all },
        Page { diff: false, text: 0, lines: 10, ..all },
        Page { diff: false, text: 0, lines: 3, stages: 500 },
        Page { diff: false, text: 0, lines: 0, stages: 50 },
    ];
    let fitting = less.into_iter().map(|less| (less, page(report, less) + &left_out(less, diff)));
    // A repository or a target has a name of some length, so the last fits any room that is worth the name.
    let fits = fitting.into_iter().find(|(_, text)| text.len() <= room);
    fits.map_or_else(|| left_out(Page { text: 0, ..all }, diff), |(_, text)| text)
}

/// Says what a page does not have, and where that is.
fn left_out(page: Page, diff: bool) -> String {
    let mut parts = Vec::new();
    if diff && !page.diff {
        parts.push("the changes line by line");
    }
    match page.text {
        usize::MAX => {}
        0 => parts.push("the texts of the pull requests"),
        _ => parts.push("the ends of long lists and long values"),
    }
    if page.text != usize::MAX && page.lines != usize::MAX {
        parts.push("the ends of other lists");
    }
    let (flag, parts) = (if diff { " --diff" } else { "" }, parts.join(", "));
    format!("\nLeft out to fit here: {parts}. `uplinker plan --format markdown{flag}` prints all of it.\n")
}
