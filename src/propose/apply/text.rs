//! Step 10, propose: the bodies that carrying out writes, each over the body as it is just before.
//!
//! In: what was seen and done so far. Out: a changed title or body on the forge, or the word to start over where the
//! pull request is not open any more.

use super::{Context, Run};
use crate::{
    explain::{
        Marker, Ticks,
        body::{self, Frame},
        marker,
    },
    linkerd::EdgeVersion,
    propose::{
        Proposal,
        context::ProposeError,
        forge::{ForgeError, PullPatch, PullRequest, PullState},
        ownership::Ownership,
        wanted::{Wanted, note_hash},
    },
};

// === impl Run ===

impl Run<'_> {
    /// The marker of the text that is about to be written.
    pub(super) fn marker(&self, wanted: &Wanted, context: &Context) -> Marker {
        let known =
            context.pull.as_ref().and_then(|p| context.seen.pulls.iter().find(|s| s.pull.number == p.number));
        let before = known.and_then(|s| s.marker.as_ref());
        let base_tip = context.seen.base_tip;
        let head = context.seen.head.as_ref();
        let base = match head.map(|h| &h.ownership) {
            _ if context.pushed => Some(base_tip),
            _ if head.is_some_and(|h| h.parents.contains(&base_tip)) => Some(base_tip),
            Some(Ownership::OursMergedWithBase { base, .. }) => Some(*base),
            _ => None,
        };
        let extras = wanted.extras_hash();
        let asked = context.decorated || extras.is_none() || before.and_then(|m| m.extras.clone()) == extras;
        let of_head = |m: &Marker| m.head == context.head.map(|h| h.to_string());
        let judged =
            context.judged || before.is_some_and(|m| of_head(m) && m.status == Some(wanted.status_hash()));
        Marker {
            head: context.head.map(|h| h.to_string()),
            base: base.map(|b| b.to_string()).or_else(|| before.and_then(|m| m.base.clone())),
            text: Some(wanted.text_hash()),
            status: Some(wanted.status_hash()).filter(|_| judged),
            extras: extras.filter(|_| asked),
            ..wanted.marker()
        }
    }

    pub(super) fn write(&mut self, context: &mut Context) -> Result<bool, ProposeError> {
        let (Some(Proposal { wanted, .. }), Some(pull)) = (self.intent.proposal(), &context.pull) else {
            return Ok(true);
        };
        let fresh = self.context.forge.pull(pull.number)?;
        if fresh.state != PullState::Open {
            return Ok(false);
        }
        let ticks = new_ticks(&fresh, context);
        let frame = wanted.frame(self.context.options.history);
        let body = body::compose(&wanted.text, &frame, &ticks, &self.marker(wanted, context))?;
        self.patch(&fresh, Some(&wanted.title), &body)?;
        context.pull = Some(PullRequest { title: wanted.title.clone(), body, ..fresh });
        Ok(true)
    }

    pub(super) fn note(
        &mut self,
        newer: Option<EdgeVersion>,
        context: &Context,
    ) -> Result<bool, ProposeError> {
        let (Some(Proposal { wanted, .. }), Some(pull)) = (self.intent.proposal(), &context.pull) else {
            return Ok(true);
        };
        let fresh = self.context.forge.pull(pull.number)?;
        if fresh.state != PullState::Open {
            return Ok(false);
        }
        let frame = Frame { person: true, newer, ..wanted.frame(self.context.options.history) };
        let before = marker::read(&fresh.body).unwrap_or_else(|| self.marker(wanted, context));
        let sign = Marker {
            head: context.head.map(|h| h.to_string()),
            text: Some(note_hash(newer)),
            person: true,
            closing: false,
            declined: false,
            basis: wanted.basis.clone(),
            ..before
        };
        let ticks = new_ticks(&fresh, context);
        self.patch(&fresh, None, &body::annotate(&fresh.body, &frame, &ticks, &sign)?)?;
        Ok(true)
    }

    pub(super) fn mark_closing(
        &mut self,
        number: u64,
        declined: Option<EdgeVersion>,
    ) -> Result<bool, ProposeError> {
        let fresh = self.context.forge.pull(number)?;
        let Some(before) = marker::read(&fresh.body)
            .or_else(|| self.intent.proposal().map(|p| p.wanted.marker()))
            .filter(|_| fresh.state == PullState::Open)
        else {
            return Ok(false);
        };
        let release = declined.unwrap_or(before.release);
        let sign = Marker { closing: true, declined: declined.is_some(), release, ..before };
        self.patch(&fresh, None, &body::with_marker(&fresh.body, &sign, self.context.forge.dialect()))?;
        Ok(true)
    }

    fn patch(&self, fresh: &PullRequest, title: Option<&str>, body: &str) -> Result<(), ForgeError> {
        let patch = PullPatch {
            title: title.filter(|t| *t != fresh.title).map(str::to_owned),
            body: Some(body).filter(|b| !body::same(b, &fresh.body)).map(str::to_owned),
            state: None,
        };
        match patch == PullPatch::default() {
            true => Ok(()),
            false => self.context.forge.update(fresh.number, &patch),
        }
    }
}

/// The ticks that appeared since the decision was made; those before it were answered by it.
fn new_ticks(fresh: &PullRequest, context: &Context) -> Ticks {
    let before = context.seen.pulls.iter().find(|p| p.pull.number == fresh.number);
    Ticks::read(&fresh.body).since(&before.map(|p| p.ticks.clone()).unwrap_or_default())
}
