//! Hands one draft to the forge, and says what became of it.

use crate::{
    commit::{CommitId, git::GitRemote},
    config::Config,
    pipeline::{
        Base, Error,
        draft::{Draft, fill},
        landed::Lists,
    },
    policy::HoldReason,
    propose::{self, Carried, CommitParts, Desk, Done, Forge, ForgeError, Held, Message, ProposeError, Wish},
    release::Catalog,
    report::{Outcome, StageDecision},
};

/// Carries out a draft and notes the outcome in it; what was listed while it was drafted is not listed again. Returns one line for each thing that was refused.
pub(super) fn carry_out(
    draft: &mut Draft,
    lists: &mut Lists,
    base: &Base,
    config: &Config,
    (remote, forge): (&GitRemote<'_>, &dyn Forge),
    catalog: &Catalog,
) -> Result<Vec<String>, Error> {
    let (target, stage) = (draft.report.target.clone(), draft.report.stage);
    let branch = propose::branch(&config.branch.prefix, &target, stage);
    let Some(wish) = wish(draft, base, config, &branch, catalog) else { return Ok(Vec::new()) };
    let desk = Desk {
        forge,
        remote,
        branch: branch.clone(),
        base: base.branch.clone(),
        target,
        stage,
        options: config.branch.options,
        known: lists.remove(&branch),
    };
    let carried = propose::carry_out(&desk, &wish, &base.refs).map_err(error)?;
    if carried.done == Done::StartOver {
        return Err(Error::Moved);
    }
    attach(&carried, base.tip.id, &branch, remote, forge)?;
    draft.report.outcome = outcome(carried.done, carried.pull, &branch);
    if matches!(draft.report.outcome, Some(Outcome::LeftAlone { pull: None, .. })) {
        draft.report.proposal = None;
    }
    Ok(carried.notes)
}

/// What is wished for; nothing on a hold, which leaves an open pull request as it is.
fn wish<'a>(
    draft: &'a Draft,
    base: &Base,
    config: &Config,
    branch: &str,
    catalog: &Catalog,
) -> Option<Wish<'a>> {
    match (&draft.report.decision, &draft.wanted) {
        (StageDecision::Propose(plan), Some(wanted)) => {
            let worded = config.commit.message.as_ref().map(|wording| fill(wording, plan));
            let (subject, body) =
                match worded.as_deref().map(|text| text.split_once('\n').unwrap_or((text, ""))) {
                    Some((subject, body)) => (subject.to_owned(), body.trim().to_owned()),
                    None => (wanted.title.clone(), String::new()),
                };
            let message = Message {
                subject,
                body,
                release: plan.to,
                fingerprint: plan.fingerprint.clone(),
                charts: Message::charts_of(catalog, plan.to, &draft.charts),
                sign_off: config.commit.sign_off,
            };
            let commit = CommitParts {
                onto: base.tip.id,
                changes: &draft.report.changes,
                message,
                author: config.commit.author.clone(),
                published: plan.published,
            };
            Some(Wish::Propose(propose::Proposal { wanted: wanted.clone(), commit }))
        }
        // Without a branch of ours there is no open pull request to close, and nothing to ask for.
        (StageDecision::Hold { hold, .. }, _)
            if matches!(hold.reason, HoldReason::UpToDate | HoldReason::NothingMoves { .. }) =>
        {
            base.refs.branches.contains_key(branch).then_some(Wish::Withdraw)
        }
        _ => None,
    }
}

fn attach(
    carried: &Carried,
    base: CommitId,
    branch: &str,
    remote: &GitRemote<'_>,
    forge: &dyn Forge,
) -> Result<(), Error> {
    let Some(pull) = &carried.pull else { return Ok(()) };
    if !matches!(carried.done, Done::Opened | Done::Updated | Done::Unchanged) {
        return Ok(());
    }
    let patch = || -> Result<String, ForgeError> {
        let fail = |reason: String| ForgeError::Rejected { what: "writing the patch".to_owned(), reason };
        let tip = remote.tip(branch).map_err(|e| fail(e.to_string()))?;
        let tip = tip.ok_or_else(|| fail(format!("branch `{branch}` is gone")))?;
        remote.patch(base, tip).map_err(|e| fail(e.to_string()))
    };
    Ok(forge.attach(pull.number, &patch)?)
}

fn outcome(done: Done, pull: Option<propose::PullRequest>, branch: &str) -> Option<Outcome> {
    match (done, pull) {
        // Its last word is `branch`, and without a pull request nothing else in the report names it.
        (Done::Held(held @ Held::BranchOccupied { .. }), pull) => {
            Some(Outcome::LeftAlone { reason: format!("{held} `{branch}`"), pull })
        }
        (Done::Held(held), pull) => Some(Outcome::LeftAlone { reason: held.to_string(), pull }),
        (Done::Opened, Some(pull)) => Some(Outcome::Opened(pull)),
        (Done::Updated, Some(pull)) => Some(Outcome::Updated(pull)),
        (Done::Unchanged, Some(pull)) => Some(Outcome::Unchanged(pull)),
        (Done::Closed, Some(pull)) => Some(Outcome::Closed(pull)),
        (_, None) | (Done::StartOver, _) => None,
    }
}

fn error(error: ProposeError) -> Error {
    match error {
        ProposeError::Git(error) => error.into(),
        ProposeError::Forge(error) => error.into(),
        ProposeError::Body(error) => Error::Defect(error.to_string()),
    }
}
