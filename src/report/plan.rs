//! A plan or a run as JSON: `uplinker.plan/v1`, to which a run adds what became of each pull request.

use schemars::JsonSchema;
use serde::Serialize;

use super::{PinRow, RunReport, StageDecision, StageReport, escape::json as to_json};
use crate::{
    explain::Content,
    linkerd::EdgeVersion,
    pins::{Skipped, Stage},
    policy::Hold,
    repo::{BlobId, FileChange, RepoPath, blob_id},
    verify::Finding,
};

/// `uplinker.plan/v1`, or `uplinker.run/v1`.
#[derive(Serialize, JsonSchema)]
pub(super) struct Document<'r> {
    /// The name and the version of this form.
    schema: &'static str,
    /// The repository, without credentials.
    repository: &'r str,
    /// The branch to propose against.
    base: &'r str,
    /// The commit of that branch that was read.
    base_commit: &'r str,
    /// One entry for each target and stage that has pins.
    decision: Vec<Decision<'r>>,
    /// The pins, ordered by path, then position.
    pins: &'r [PinRow],
    /// The files that were not read.
    skipped: &'r [Skipped],
    /// What the checks say.
    findings: Vec<FindingRow<'r>>,
    /// The changes of files.
    changes: Vec<Change<'r>>,
    /// The pull requests.
    pull_requests: Vec<PullRow<'r>>,
    /// What else a person should know.
    notes: &'r [String],
}

/// What was decided for a stage of a target.
#[derive(Serialize, JsonSchema)]
struct Decision<'r> {
    /// The target's name.
    target: &'r str,
    /// Which of its stages.
    stage: Stage,
    /// What comes of it.
    outcome: DecisionOutcome,
    /// The release that is, or would be, gone to.
    release: Option<EdgeVersion>,
    /// The releases that are left, oldest first.
    from: Vec<EdgeVersion>,
    /// Whether the oldest of these is that or an older one: its charts had versions of their own, which no index explains.
    or_older: bool,
    /// Where `release` is a step on the way: the release wanted in the end.
    hop_towards: Option<EdgeVersion>,
    /// SHA-256 over the inputs of the plan.
    fingerprint: Option<&'r str>,
    /// Why nothing is proposed now.
    hold: Option<&'r Hold>,
    /// The same, or why it cannot be planned, in words.
    reason: Option<&'r str>,
}

/// What comes of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DecisionOutcome {
    /// A pull request.
    Propose,
    /// Nothing now.
    Hold,
    /// Nothing, since a check or the pins themselves block it.
    Blocked,
}

/// What a check says of a stage.
#[derive(Serialize, JsonSchema)]
struct FindingRow<'r> {
    /// The target's name.
    target: &'r str,
    /// Which of its stages.
    stage: Stage,
    #[serde(flatten)]
    finding: &'r Finding,
}

/// The change of one file.
#[derive(Serialize, JsonSchema)]
struct Change<'r> {
    /// The target's name.
    target: &'r str,
    /// Which of its stages.
    stage: Stage,
    /// The file.
    path: &'r RepoPath,
    /// Its blob before; `null` for a new file.
    before: Option<BlobId>,
    /// Its blob after; `null` for one that is removed.
    after: Option<BlobId>,
}

/// A pull request as wanted, and what became of it.
#[derive(Serialize, JsonSchema)]
struct PullRow<'r> {
    /// The target's name.
    target: &'r str,
    /// Which of its stages.
    stage: Stage,
    /// Our branch.
    branch: Option<&'r str>,
    /// The branch to be merged into.
    base: Option<&'r str>,
    /// The title.
    title: Option<&'r str>,
    /// The text as the pull request has it, without check boxes: at most 65,536 characters. Like `content`, `changes` and
    /// `findings`, it is not there where a run finds that the open pull request would become what it is.
    body: Option<&'r str>,
    /// Whether it opens as a draft.
    draft: Option<bool>,
    /// What the text is written from, whole.
    content: Option<&'r Content>,
    /// `opened`, `updated`, `unchanged`, `closed`, `left-alone`; of a plan `would-update`, `would-close`.
    outcome: Option<&'static str>,
    /// Its number.
    number: Option<u64>,
    /// Its page.
    url: Option<&'r str>,
}

/// Returns the report as JSON.
pub(super) fn json(report: &RunReport) -> String {
    to_json(&Document {
        schema: if report.writes { "uplinker.run/v1" } else { "uplinker.plan/v1" },
        repository: &report.repository,
        base: &report.base,
        base_commit: &report.base_commit,
        decision: report.stages.iter().map(decision).collect(),
        pins: &report.pins.pins,
        skipped: &report.pins.skipped,
        findings: report.stages.iter().flat_map(findings).collect(),
        changes: report.stages.iter().flat_map(changes).collect(),
        pull_requests: report.stages.iter().filter_map(|s| pull_request(s, report.writes)).collect(),
        notes: &report.notes,
    })
}

fn decision(stage: &StageReport) -> Decision<'_> {
    let plan = stage.decision.plan();
    let (hold, reason) = match &stage.decision {
        StageDecision::Propose(_) | StageDecision::Blocked(_) => (None, None),
        StageDecision::Hold { hold, text } => (Some(hold), Some(text.as_str())),
        StageDecision::Unplannable { reason, .. } => (None, Some(reason.as_str())),
    };
    let release = match &stage.decision {
        StageDecision::Unplannable { release, .. } => Some(*release),
        StageDecision::Hold { hold, .. } => hold.release,
        _ => plan.map(|p| p.to),
    };
    Decision {
        target: &stage.target,
        stage: stage.stage,
        outcome: stage.decision.outcome(),
        release,
        from: plan.map(|p| p.from.clone()).unwrap_or_default(),
        or_older: plan.is_some_and(|p| p.older),
        hop_towards: plan.and_then(|p| p.hop_towards).map(|(version, _)| version),
        fingerprint: plan.map(|p| p.fingerprint.as_str()),
        hold,
        reason,
    }
}

fn findings(stage: &StageReport) -> impl Iterator<Item = FindingRow<'_>> {
    let row = |finding| FindingRow { target: &stage.target, stage: stage.stage, finding };
    stage.findings.iter().map(row)
}

fn changes(stage: &StageReport) -> impl Iterator<Item = Change<'_>> {
    stage.changes.files.iter().map(|file: &FileChange| Change {
        target: &stage.target,
        stage: stage.stage,
        path: &file.path,
        before: file.before_id,
        after: file.after.as_deref().map(blob_id),
    })
}

fn pull_request(stage: &StageReport, writes: bool) -> Option<PullRow<'_>> {
    let pull = stage.outcome.as_ref().and_then(|o| o.pull());
    if stage.proposal.is_none() && stage.outcome.is_none() {
        return None;
    }
    let (wanted, kept) = (stage.proposal.as_ref(), stage.kept.as_ref());
    Some(PullRow {
        target: &stage.target,
        stage: stage.stage,
        branch: wanted.map(|p| p.branch.as_str()).or(kept.map(|k| k.branch.as_str())),
        base: wanted.map(|p| p.base.as_str()).or(kept.map(|k| k.base.as_str())),
        title: wanted
            .map(|p| p.title.as_str())
            .or(kept.map(|k| k.title.as_str()))
            .or(pull.map(|p| p.title.as_str())),
        body: wanted.map(|p| p.body.as_str()),
        draft: wanted.map(|p| p.draft).or(kept.map(|k| k.draft)),
        content: wanted.map(|p| p.content.as_ref()),
        outcome: stage.outcome.as_ref().map(|o| o.word(writes)),
        number: pull.map(|p| p.number),
        url: pull.map(|p| p.url.as_str()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blob_ids_are_gits() {
        // `printf 'hello\n' | git hash-object --stdin`
        assert_eq!(blob_id(b"hello\n").to_string(), "ce013625030ba8dba906f756967f9e9ca394464a");
    }
}
