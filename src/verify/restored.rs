//! Step 8, verify: what takes a change back gives each pin the text that it had.
//!
//! In: the plan, and the inventory after the change. Out: a `block` for each pin that is at another text than before the
//! change that is taken back, and for each of another stage or target that moves with it; a `warn` for what Linkerd says of
//! going back below a release. The texts come from a scan of the older commit, the files from a merge, so that each proves
//! the other.

use std::{collections::HashMap, sync::Arc};

use super::{CheckId, Checked, Finding, Verification, count};
use crate::{
    linkerd::NoticeKind,
    pins::{Form, Pin, PinKey, PinKind, Stage},
    plan::{NewText, Undone},
};

pub(super) const ID: CheckId = CheckId::Restored;

const HINT: &str = "take the change back by hand, and report it";

pub(super) fn check(input: &Verification<'_>) -> Checked {
    let (Some(undone), Some(after)) = (&input.plan.undoes, input.after) else {
        return Checked { looked_at: "nothing: no change is taken back".to_owned(), findings: Vec::new() };
    };
    let there: HashMap<PinKey<'_>, &Pin> =
        after.pins().filter(|pin| pin.form != Form::Absent).map(|pin| (pin.key(), pin)).collect();
    let moves = input.plan.texts();
    let wrong = input.inventory.pins.iter().filter_map(|pin| {
        let now = there.get(&pin.key()).map(|pin| pin.value.as_str());
        let sound = match moves.get(&Arc::as_ptr(pin)) {
            Some(NewText::Gone) => now.is_none(),
            Some(NewText::Fixed(text) | NewText::Rendered(text)) => now == Some(text),
            Some(NewText::LockDigest) => now.is_some(),
            // What a release renders comes and goes with it.
            None if matches!(pin.form, Form::Rendered | Form::Absent) || pin.kind == PinKind::Other => true,
            None => now == Some(&pin.value),
        };
        let now = now.unwrap_or("nothing");
        let why = match moves.contains_key(&Arc::as_ptr(pin)) {
            true => "which is not what it was before",
            false => "though it is not of this stage and target: one commit changed both",
        };
        let reason = format!("`{}` would be `{now}`, {why}", pin.value);
        (!sound).then(|| Finding::block(ID, reason).at_pin(pin).hint(HINT))
    });
    let findings = wrong.chain(one_way(input, undone)).collect();
    Checked { looked_at: format!("the texts of {}", count(input.inventory.pins.len(), "pin")), findings }
}

/// Says what does not go back with the release.
fn one_way(input: &Verification<'_>, undone: &Undone) -> impl Iterator<Item = Finding> {
    let notices = input.catalog.notices_between(input.plan.to, undone.release);
    let here = input.plan.stage == Stage::Platform;
    notices.filter(move |notice| here && notice.kind == NoticeKind::OneWay).map(|notice| {
        let text = notice.text.trim_end_matches('.');
        let condition =
            notice.condition.iter().map(|condition| format!(" ({condition})")).collect::<String>();
        let reason =
            format!("going back below {} does not undo everything: {text}{condition}", notice.release);
        Finding::warn(ID, reason)
            .hint(format!("read {} first; going forward to a newer release may be safer", notice.source))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        linkerd::EdgeVersion,
        repo::CommitId,
        verify::{Severity::*, testing::*},
    };

    /// Two charts go back from one release to another.
    fn case(from: &'static str, to: &'static str) -> Case {
        let release = |version: &str| EdgeVersion::from_chart(version).expect("a release");
        Case::default()
            .pins(|b| b.chart("a.yaml", "linkerd-crds", from).chart("b.yaml", "linkerd-viz", from))
            .change_plan(move |plan| {
                plan.moves.iter_mut().for_each(|moved| moved.new = NewText::Fixed(to.into()));
                plan.to = release(to);
                let (commit, since) = (CommitId([1; 20]), jiff::Timestamp::UNIX_EPOCH);
                plan.undoes = Some(Undone { release: release(from), commit, since, failure: None });
            })
    }

    #[test]
    fn pins_that_have_their_old_texts_pass() {
        assert_eq!(case("2026.8.2", "2026.8.1").rescanned(|_| ()).check(ID), []);
    }

    #[test]
    fn another_text_blocks() {
        let found = case("2026.8.2", "2026.8.1")
            .rescanned(|after| Arc::make_mut(&mut after.pins[1]).value = "2026.7.4".into());
        let found = found.check(ID);
        assert_eq!(severities(&found), [Block]);
        assert!(found[0].reason.contains("`2026.8.2` would be `2026.7.4`"), "{found:?}");
    }

    #[test]
    fn what_cannot_go_back_is_told() {
        let found = case("2025.7.6", "2025.4.1").rescanned(|_| ()).check(ID);
        assert_eq!(severities(&found), [Warn]);
        assert!(found[0].reason.contains("Link resources are stored as v1alpha3"), "{found:?}");
    }
}
