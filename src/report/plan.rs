//! A plan or a run as JSON: `uplinker.plan/v1`, to which a run adds what became of each pull request.

use serde_json::{Value, json};

use super::{RunReport, StageDecision, StageReport, escape::json as to_json};
use crate::edit::{FileChange, blob_id};

/// Returns the report as JSON.
pub(super) fn json(report: &RunReport) -> String {
    let schema = if report.writes { "uplinker.run/v1" } else { "uplinker.plan/v1" };
    to_json(&json!({
        "schema": schema,
        "repository": report.repository,
        "base": report.base,
        "base_commit": report.base_commit,
        "decision": report.stages.iter().map(decision).collect::<Vec<_>>(),
        "pins": report.pins.pins,
        "skipped": report.pins.skipped,
        "findings": report.stages.iter().flat_map(findings).collect::<Vec<_>>(),
        "changes": report.stages.iter().flat_map(changes).collect::<Vec<_>>(),
        "pull_requests": report.stages.iter().filter_map(|s| pull_request(s, report.writes)).collect::<Vec<_>>(),
        "notes": report.notes,
    }))
}

fn decision(stage: &StageReport) -> Value {
    let plan = stage.decision.plan();
    let (outcome, hold, reason) = match &stage.decision {
        StageDecision::Propose(_) => ("propose", None, None),
        StageDecision::Hold { hold, text } => ("hold", Some(hold), Some(text)),
        StageDecision::Blocked(_) => ("blocked", None, None),
        StageDecision::Unplannable { reason, .. } => ("blocked", None, Some(reason)),
    };
    let release = match &stage.decision {
        StageDecision::Unplannable { release, .. } => Some(*release),
        StageDecision::Hold { hold, .. } => hold.release,
        _ => plan.map(|p| p.to),
    };
    json!({
        "target": stage.target,
        "stage": stage.stage,
        "outcome": outcome,
        "release": release,
        "from": plan.map(|p| p.from.clone()).unwrap_or_default(),
        "hop_towards": plan.and_then(|p| p.hop_towards).map(|(version, _)| version),
        "fingerprint": plan.map(|p| p.fingerprint.as_str()),
        "hold": hold,
        "reason": reason,
    })
}

fn findings(stage: &StageReport) -> impl Iterator<Item = Value> + '_ {
    stage.findings.iter().map(|finding| {
        let mut value = json!({"target": stage.target, "stage": stage.stage});
        if let (Value::Object(all), Ok(Value::Object(own))) = (&mut value, serde_json::to_value(finding)) {
            all.extend(own);
        }
        value
    })
}

fn changes(stage: &StageReport) -> impl Iterator<Item = Value> + '_ {
    let change = |file: &FileChange| {
        json!({
            "target": stage.target,
            "stage": stage.stage,
            "path": file.path,
            "before": file.before_id,
            "after": file.after.as_deref().map(blob_id),
        })
    };
    stage.changes.files.iter().map(change)
}

fn pull_request(stage: &StageReport, writes: bool) -> Option<Value> {
    let pull = stage.outcome.as_ref().and_then(|o| o.pull());
    if stage.proposal.is_none() && stage.outcome.is_none() {
        return None;
    }
    let wanted = stage.proposal.as_ref();
    Some(json!({
        "target": stage.target,
        "stage": stage.stage,
        "branch": wanted.map(|p| &p.branch),
        "base": wanted.map(|p| &p.base),
        "title": wanted.map(|p| &p.title).or(pull.map(|p| &p.title)),
        "body": wanted.map(|p| &p.body),
        "draft": wanted.map(|p| p.draft),
        "content": wanted.map(|p| &p.content),
        "outcome": stage.outcome.as_ref().map(|o| o.word(writes)),
        "number": pull.map(|p| p.number),
        "url": pull.map(|p| &p.url),
    }))
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
