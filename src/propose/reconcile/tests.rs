//! The rows of the decision table that need no run to be seen.

use super::*;
use crate::{
    explain::Ticks,
    propose::{
        forge::{Closer, PullRequest},
        wanted::example as wanted,
    },
};

const TIP: CommitId = CommitId([1; 20]);
const BASE: CommitId = CommitId([2; 20]);
const CONFLICT: Options = Options { history: History::Append, update: Update::Conflict };

fn release(n: u32) -> EdgeVersion {
    format!("edge-26.8.{n}").parse().expect("a release")
}

fn marker() -> Marker {
    let wanted = wanted();
    Marker {
        head: Some(TIP.to_string()),
        base: Some(BASE.to_string()),
        text: Some(wanted.text_hash()),
        status: Some(wanted.status_hash()),
        ..wanted.marker()
    }
}

fn pull(number: u64, state: PullState, marker: Option<Marker>) -> Seen {
    let pull = PullRequest {
        number,
        url: String::new(),
        state,
        title: wanted().title,
        body: String::new(),
        head: TIP.to_string(),
        base: "main".into(),
        closed_at: None,
        labels: Vec::new(),
        draft: false,
    };
    Seen { pull, marker, ticks: Ticks::default(), queued: false, closer: None }
}

fn seen(pulls: Vec<Seen>) -> Observed {
    Observed { base: "main".into(), base_tip: BASE, tip: Some(TIP), head: None, is_elsewhere: false, pulls }
}

fn ours(plan: &str) -> Option<Head> {
    let ownership = Ownership::Ours { plan: Some(plan.into()) };
    Some(Head { ownership, parents: vec![BASE], chain: vec![TIP] })
}

fn decide(seen: &Observed) -> Result<Reconciled, Question> {
    reconcile(Some(&wanted()), seen, CONFLICT)
}

#[test]
fn a_pull_request_in_the_merge_queue_is_left_in_it() {
    let mut queued = pull(1, PullState::Open, Some(Marker { inputs: "others".into(), ..marker() }));
    queued.queued = true;
    let held = Reconciled { held: Some(Held::Queued { pull: 1 }), pull: Some(1), ..Reconciled::default() };
    assert_eq!(decide(&seen(vec![queued.clone()])), Ok(held.clone()));
    let elsewhere = Observed { is_elsewhere: true, ..seen(vec![queued.clone()]) };
    assert_eq!(reconcile(None, &elsewhere, CONFLICT), Ok(held));
    queued.marker = Some(marker());
    assert_eq!(decide(&seen(vec![queued])).map(|o| (o.actions, o.held)), Ok((Vec::new(), None)), "settled");
}

#[test]
fn one_that_is_not_wanted_any_more_is_closed_in_the_merge_queue_too() {
    let queued = Seen { queued: true, ..pull(1, PullState::Open, Some(marker())) };
    let unwanted = |head| reconcile(None, &Observed { head, ..seen(vec![queued.clone()]) }, CONFLICT);
    let actions = vec![Action::MarkClosing(1, None), Action::DeleteBranch(TIP), Action::Close(1)];
    assert_eq!(unwanted(ours("f")), Ok(Reconciled { actions, pull: Some(1), ..Reconciled::default() }));
    let person = Head { ownership: Ownership::Person, ..ours("f").unwrap() };
    let left =
        Reconciled { held: Some(Held::NothingLeft { pull: 1 }), pull: Some(1), ..Reconciled::default() };
    assert_eq!(unwanted(Some(person)), Ok(left), "what a person pushed is left");
}

#[test]
fn a_settled_pull_request_asks_for_nothing() {
    let outcome = decide(&seen(vec![pull(1, PullState::Open, Some(marker()))])).expect("no question");
    assert_eq!(outcome, Reconciled { pull: Some(1), ..Reconciled::default() });
}

#[test]
fn each_difference_asks_whose_the_head_is() {
    type Change = fn(&mut Marker);
    let changes: [Change; 9] = [
        |m| m.fingerprint = "f2".into(),
        |m| m.inputs = "other".into(),
        |m| m.release = release(2),
        |m| m.head = Some(BASE.to_string()),
        |m| m.text = None,
        |m| m.status = None,
        |m| m.extras = Some("somebody".into()),
        |m| m.closing = true,
        |m| m.declined = true,
    ];
    for (n, change) in changes.into_iter().enumerate() {
        let mut marker = marker();
        change(&mut marker);
        assert_eq!(decide(&seen(vec![pull(1, PullState::Open, Some(marker))])), Err(Question::Head), "{n}");
    }
}

#[test]
fn other_rules_over_the_same_files_push_only_another_tree() {
    let marker = Marker { fingerprint: "older rules".into(), ..marker() };
    let mut seen = seen(vec![pull(1, PullState::Open, Some(marker))]);
    seen.head = ours("older rules");
    let outcome = decide(&seen).expect("no question");
    let push = Action::Push { old: Some(TIP), parents: vec![TIP], even_if_same: false };
    assert_eq!(outcome.actions, [push, Action::SetStatus, Action::Write]);
}

#[test]
fn a_changed_base_branch_closes_what_leads_elsewhere() {
    let mut old = pull(1, PullState::Open, Some(marker()));
    old.pull.base = "master".into();
    let mut seen = seen(vec![old]);
    seen.head = ours("f3");
    let outcome = decide(&seen).expect("no question");
    assert_eq!(
        outcome.actions,
        [Action::MarkClosing(1, None), Action::Close(1), Action::Open, Action::SetStatus, Action::Write],
        "and opens another from the same head"
    );
}

#[test]
fn one_opened_by_a_person_elsewhere_is_theirs() {
    let mut theirs = pull(1, PullState::Open, None);
    theirs.pull.base = "release".into();
    let mut seen = seen(vec![theirs]);
    seen.head = ours("f3");
    assert_eq!(decide(&seen).expect("no question").actions, [Action::Open, Action::SetStatus, Action::Write]);
    assert_eq!(reconcile(None, &seen, CONFLICT).expect("no question"), Reconciled::default());
}

#[test]
fn who_closed_is_asked_only_where_it_matters() {
    let older = Marker { release: release(2), ..marker() };
    let closing = Marker { closing: true, ..marker() };
    let declined = Marker { closing: true, declined: true, ..marker() };
    let closed = |m: Marker| seen(vec![pull(1, PullState::Closed, Some(m))]);
    assert_eq!(decide(&closed(marker())), Err(Question::Closer(1)));
    assert_eq!(decide(&closed(older)), Err(Question::Head), "an older release: not a no to this one");
    assert_eq!(decide(&closed(closing)), Err(Question::Head), "closed by us");
    let mut no = closed(declined);
    no.tip = None;
    let held = Some(Held::Declined { release: release(3), pull: 1 });
    assert_eq!(decide(&no), Ok(Reconciled { held, ..Reconciled::default() }));
}

#[test]
fn a_no_to_a_newer_release_stands_for_the_older_too() {
    let mut closed = pull(1, PullState::Closed, Some(Marker { release: release(4), ..marker() }));
    closed.closer = Some(Closer::Unknown);
    let held = Some(Held::Declined { release: release(4), pull: 1 });
    assert_eq!(decide(&seen(vec![closed])), Ok(Reconciled { held, ..Reconciled::default() }));
}

#[test]
fn a_killed_close_is_finished() {
    let closing = || Some(Marker { closing: true, ..marker() });
    let mut open = seen(vec![pull(1, PullState::Open, closing())]);
    open.head = ours("f3");
    let actions = reconcile(None, &open, CONFLICT).expect("no question").actions;
    assert_eq!(actions, [Action::DeleteBranch(TIP), Action::Close(1)]);
    open.tip = None;
    let actions = reconcile(None, &open, CONFLICT).expect("no question").actions;
    assert_eq!(actions, [Action::Close(1)], "where the forge has not closed it with its branch");
}

#[test]
fn nothing_wanted_and_nothing_of_ours_asks_for_nothing() {
    for state in [PullState::Merged, PullState::Closed] {
        assert_eq!(
            reconcile(None, &seen(vec![pull(1, state, Some(marker()))]), CONFLICT),
            Ok(Reconciled::default())
        );
    }
    assert_eq!(reconcile(None, &seen(vec![]), CONFLICT), Ok(Reconciled::default()));
}

#[test]
fn an_unticked_decline_is_taken_back() {
    let declined = Marker { closing: true, declined: true, ..marker() };
    let mut seen = seen(vec![pull(1, PullState::Open, Some(declined))]);
    seen.head = ours("f3");
    assert_eq!(decide(&seen).expect("no question").actions, [Action::Write]);
}

#[test]
fn a_branch_under_another_prefix_stays_when_its_pull_request_is_closed() {
    let mut seen = seen(vec![pull(1, PullState::Open, Some(marker()))]);
    (seen.head, seen.is_elsewhere) = (ours("f3"), true);
    let actions = reconcile(None, &seen, CONFLICT).expect("no question").actions;
    assert_eq!(actions, [Action::MarkClosing(1, None), Action::Close(1)]);
    seen.head = Some(Head { ownership: Ownership::Person, parents: vec![BASE], chain: vec![TIP] });
    let held = reconcile(None, &seen, CONFLICT).expect("no question").held;
    assert_eq!(held, Some(Held::NothingLeft { pull: 1 }));
}
