//! A plan or a run for people.

use super::{
    Outcome, Proposal, RunReport, StageDecision, StageReport, Style, count, diff,
    escape::{fenced, for_terminal, lines_for_terminal},
    unread, word_of,
};
use crate::{
    explain::{Dialect, body, markdown},
    pins::Pin,
    plan::{NewText, Plan},
    policy::HoldReason,
    verify::{Finding, Severity},
};

/// Returns the report for a terminal.
pub(super) fn text(report: &RunReport, style: Style) -> String {
    let bold = |text: &str| if style.color { format!("\u{1b}[1m{text}\u{1b}[0m") } else { text.to_owned() };
    let short: String = report.base_commit.chars().take(12).collect();
    let mut out =
        format!("{} ({} at {short})\n", for_terminal(&report.repository), for_terminal(&report.base));
    if report.is_without_pins() {
        out.push_str("\nNo pin was found.\n");
    }
    for stage in &report.stages {
        let title = format!("{}, {}: {}", stage.target, word_of(&stage.stage), verdict(stage, report.writes));
        out.push_str(&format!("\n{}\n", bold(&for_terminal(&title))));
        for line in details(stage) {
            out.push_str(&format!("  {}\n", for_terminal(&line)));
        }
        if style.diff && !stage.changes.files.is_empty() {
            out.push_str(&format!("\n{}", diff::unified(&stage.changes, style.color)));
        }
        if let Some(proposal) = stage.proposal.as_ref().filter(|_| style.diff && !report.writes) {
            out.push_str(&format!("\n{}", page_in_text(proposal, style.terminal)));
        }
    }
    let notes = report.notes.iter().map(|n| format!("note: {}", for_terminal(n)));
    let unread = report.pins.skipped.len();
    let unread = (unread > 0).then(|| {
        format!("note: {} could not be read; `uplinker pins` says which and why", count(unread, "file"))
    });
    let after: Vec<String> = notes.chain(unread).collect();
    if !after.is_empty() && !style.quiet {
        out.push_str(&format!("\n{}\n", after.join("\n")));
    }
    out
}

/// How much of a report in Markdown is shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Page {
    /// Whether changes are shown line by line.
    pub(super) diff: bool,
    /// The most bytes of one pull request's text; nothing of it is shown where that is 0.
    pub(super) text: usize,
    /// The most lines of one list.
    pub(super) lines: usize,
    /// The most stages.
    pub(super) stages: usize,
}

/// Returns the report as Markdown, with all that there is to say.
pub(super) fn markdown(report: &RunReport, diff: bool) -> String {
    page(report, Page { diff, text: usize::MAX, lines: usize::MAX, stages: usize::MAX })
}

/// Returns as much of the report as a page is to have.
pub(super) fn page(report: &RunReport, page: Page) -> String {
    let mut out = format!("## uplinker: {}\n", markdown::whole(&report.repository));
    if report.is_without_pins() {
        out.push_str("\nNo pin was found.\n");
    }
    for stage in report.stages.iter().take(page.stages) {
        // A hold is a sentence, so it stands below the title.
        let (after, held) = match &stage.decision {
            StageDecision::Hold { hold, text } if hold.reason == HoldReason::UpToDate => {
                (String::new(), Some(held(stage, text, report.writes)))
            }
            StageDecision::Hold { text, .. } => {
                (": on hold".to_owned(), Some(held(stage, text, report.writes)))
            }
            _ => (format!(": {}", verdict(stage, report.writes)), None),
        };
        let title = format!("{}, {}{after}", stage.target, word_of(&stage.stage));
        out.push_str(&format!("\n### {}\n\n", markdown::whole(&title)));
        match (&stage.proposal, held) {
            (Some(proposal), _) => out.push_str(&page_in_markdown(proposal, page.text)),
            (None, Some(text)) => out.push_str(&format!("{}\n", markdown::whole(&text))),
            (None, None) => {
                // What is indented for a terminal is a list below its line on a page.
                let line = |line: String| {
                    let indent = if line.starts_with(' ') { "  " } else { "" };
                    format!("{indent}- {}\n", markdown::whole(line.trim_start()))
                };
                out.extend(listed(details(stage).into_iter().map(line).collect(), page.lines));
            }
        }
        if let Some(pull) = stage.outcome.as_ref().and_then(Outcome::pull) {
            // The address comes from the forge that the operator named; angle brackets keep it one link.
            let url: String =
                pull.url.chars().filter(|c| !matches!(c, '<' | '>' | ' ') && !c.is_control()).collect();
            out.push_str(&format!("\n<{url}>\n"));
        }
        if page.diff && !stage.changes.files.is_empty() {
            let changes = fenced(&diff::unified(&stage.changes, false), "diff");
            out.push_str(&format!("\n<details><summary>Changes</summary>\n\n{changes}\n</details>\n"));
        }
    }
    if report.stages.len() > page.stages {
        out.push_str(&format!("\n{} more are left out here.\n", report.stages.len() - page.stages));
    }
    if !report.notes.is_empty() || !report.pins.skipped.is_empty() {
        // Without it the list would belong to what stands above, such as a folded diff.
        out.push('\n');
    }
    let notes = report.notes.iter().map(|n| format!("- {}\n", markdown::whole(n)));
    out.extend(listed(notes.collect(), page.lines));
    let (files, rest) = unread(&report.pins.skipped);
    let file = |file: &crate::pins::Skipped| {
        format!("- not read: {}, {}\n", markdown::code(file.path.as_str()), word_of(&file.reason))
    };
    out.extend(listed(files.into_iter().map(file).collect(), page.lines));
    out.extend(rest.map(|rest| format!("- not read: {rest}\n")));
    out
}

/// Returns the first lines of a list, and one that counts the others.
fn listed(mut lines: Vec<String>, most: usize) -> Vec<String> {
    let more = lines.len().saturating_sub(most);
    lines.truncate(most);
    lines.extend((more > 0).then(|| format!("- {more} more, left out here\n")));
    lines
}

/// Says why a stage is held, and what became of its pull request.
fn held(stage: &StageReport, text: &str, writes: bool) -> String {
    let also = stage.outcome.as_ref().map(|o| format!("; {}", became(o, writes))).unwrap_or_default();
    format!("{text}{also}")
}

/// Says in one line what a stage comes to.
fn verdict(stage: &StageReport, writes: bool) -> String {
    let what = match &stage.decision {
        StageDecision::Propose(plan) => versions(plan),
        StageDecision::Hold { hold, text } => {
            let held = held(stage, text, writes);
            return if hold.reason == HoldReason::UpToDate { held } else { format!("on hold: {held}") };
        }
        StageDecision::Blocked(plan) => {
            return format!("{}: not proposed, a check blocks it", versions(plan));
        }
        StageDecision::Unplannable { release, reason } => {
            return format!("{release}: not proposed, {reason}");
        }
    };
    match &stage.outcome {
        None if writes => format!("{what}: nothing written"),
        None => format!("{what}: would be proposed"),
        Some(outcome) => format!("{what}: {}", became(outcome, writes)),
    }
}

/// Says what became of a pull request, or in a plan what would.
fn became(outcome: &Outcome, writes: bool) -> String {
    match outcome {
        Outcome::Opened(pull) => format!("opened {}", pull.url),
        Outcome::Updated(pull) if writes => format!("updated {}", pull.url),
        Outcome::Updated(pull) => format!("would update {}", pull.url),
        Outcome::Unchanged(pull) => format!("nothing to do, {} is up to date", pull.url),
        Outcome::Merged(pull) => format!("merged {}", pull.url),
        Outcome::Closed(pull) if writes => format!("closed {}", pull.url),
        Outcome::Closed(pull) => format!("would close {}", pull.url),
        Outcome::LeftAlone { reason, pull } => {
            let about = pull.as_ref().map(|p| format!(" ({})", p.url)).unwrap_or_default();
            format!("left alone, {reason}{about}")
        }
    }
}

fn versions(plan: &Plan) -> String {
    let from = plan.origins();
    match from.as_slice() {
        [] => format!("→ {}", plan.to),
        from => format!("{} → {}", from.join(", "), plan.to),
    }
}

/// The lines below a stage's verdict.
fn details(stage: &StageReport) -> Vec<String> {
    let mut lines = Vec::new();
    let ordered = [Severity::Block, Severity::Warn, Severity::Info];
    let findings = ordered.iter().flat_map(|s| stage.findings.iter().filter(move |f| f.severity == *s));
    lines.extend(findings.map(finding_line));
    if let StageDecision::Hold { hold, .. } = &stage.decision {
        lines.extend(hold.release.map(|release| format!("release: {release}")));
    }
    let Some(plan) = stage.decision.plan() else { return lines };
    if let Some((towards, why)) = plan.hop_towards {
        lines.push(format!("{} comes before {towards}: {why}", plan.to));
    }
    let proposal = stage.proposal.as_ref().map(|p| (&p.title, &p.branch, &p.base));
    let kept = stage.kept.as_ref().map(|k| (&k.title, &k.branch, &k.base));
    if let Some((title, branch, base)) = proposal.or(kept) {
        lines.push(format!("title: {title}"));
        lines.push(format!("branch: {branch} into {base}"));
    }
    let pins = count(plan.moves.len(), "pin");
    match &stage.kept {
        Some(_) => {
            lines.push("not made again: nothing has changed of what it is made from".to_owned());
            lines.push(format!("{pins}:"));
        }
        None => lines.push(format!("{pins} in {}:", count(stage.changes.files.len(), "file"))),
    }
    let line =
        |pin: &Pin, says: String| format!("  {}:{} {}: {says}", pin.path, pin.site.line, word_of(&pin.kind));
    lines.extend(plan.moving().map(|(pin, new)| line(pin, moved(&pin.value, new))));
    if !plan.stays.is_empty() {
        lines.push(format!("{}:", if plan.stays.len() == 1 { "1 pin stays" } else { "pins that stay" }));
        let stays = |pin: &Pin, reason| format!("{} ({})", pin.value, word_of(&reason));
        lines.extend(plan.staying().map(|(pin, reason)| line(pin, stays(pin, reason))));
    }
    lines
}

fn moved(value: &str, new: &NewText) -> String {
    match new {
        NewText::Fixed(new) => format!("{value} → {new}"),
        NewText::Rendered(new) => format!("{value} → {new}, rendered again"),
        NewText::Gone => format!("{value} goes"),
        NewText::LockDigest => "computed anew".to_owned(),
    }
}

/// Writes a finding on one line: weight, check, place, reason, hint.
pub(super) fn finding_line(finding: &Finding) -> String {
    let place = finding.place.as_ref().map(|place| format!("{place}: "));
    let hint = finding.hint.as_ref().map(|m| format!("; {m}")).unwrap_or_default();
    let place = place.unwrap_or_default();
    format!("{} {}: {place}{}{hint}", word_of(&finding.severity), finding.check, finding.reason)
}

/// The pull request as a part of a page, with all that it has to say, as far as it fits: its headings go one level down.
/// Its text is made for Markdown already.
fn page_in_markdown(proposal: &Proposal, most: usize) -> String {
    let Proposal { title, branch, base, body, content, .. } = proposal;
    let written = match most {
        0 => Ok(String::new()),
        usize::MAX => body::whole(content, &Dialect::COMMON),
        most => body::within(content, most, &Dialect::COMMON),
    };
    let text = written.as_ref().unwrap_or(body);
    let mut out = format!(
        "- title: {}\n- branch: {} into {}\n\n",
        markdown::whole(title),
        markdown::code(branch),
        markdown::code(base)
    );
    for line in lines_for_terminal(text).trim_end().lines() {
        let deeper = if line.starts_with("### ") { "#" } else { "" };
        out.push_str(&format!("{deeper}{line}\n"));
    }
    out
}

/// The pull request's text as a reader of the terminal sees it.
fn page_in_text(proposal: &Proposal, is_terminal: bool) -> String {
    let body = if is_terminal { proposal.in_words() } else { proposal.body.clone() };
    let body = lines_for_terminal(&body);
    format!("{}\n\n{}\n", for_terminal(&proposal.title), body.trim_end())
}
