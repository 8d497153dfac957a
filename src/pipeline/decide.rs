//! Which release a stage of a target is to go to: what policy says, with what it has to be told.
//!
//! In: a case, and the history of the base branch. Out: a [`Decision`]. What costs a fetch or a request is asked only where
//! everything else says go.

use std::ops::Bound;

use jiff::{SignedDuration, Timestamp};

use crate::{
    explain::word_of,
    linkerd::EdgeVersion,
    pins::{Pin, PinKind, Reason, Stage},
    pipeline::{
        Error, Operator,
        case::Case,
        draft::Draft,
        landed::{Landed, Merged},
        promotion::{self, LookBack},
    },
    plan,
    policy::{self, Absence, Absent, ChartNeed, Decision, Hold, HoldReason, Lack, Needs, Policy, Waits},
    release::Stock,
};

impl Case<'_> {
    /// Tells whether the target has such a stage: what is only a mention makes none.
    pub(super) fn has_pins(&self) -> bool {
        self.pins().next().is_some()
    }

    fn pins(&self) -> impl Iterator<Item = &Pin> {
        let Self { survey, target, stage } = *self;
        let mine = move |p: &&Pin| p.stage == stage && p.kind != PinKind::Other && target.target.has(p);
        survey.inventory.pins().filter(mine)
    }

    /// Returns what the pins ask of a release, on the way to one where that matters.
    fn needs(&self, to: Option<EdgeVersion>) -> Needs {
        let Self { survey, target, stage } = *self;
        plan::needs_towards(&survey.inventory, &target.target, stage, &survey.options, to)
    }

    /// Says why every pin stays, whatever the release is; none where one may move.
    fn resting(&self) -> Option<Hold> {
        let Self { survey, target, stage } = *self;
        let reasons = plan::resting(&survey.inventory, &target.target, stage, &survey.options)?;
        let pins = self.pins().count();
        let reason = match Vec::from_iter(reasons).as_slice() {
            [Reason::Channel] => HoldReason::OtherChannel { pins },
            [Reason::Range] => HoldReason::Floating { pins },
            reasons => {
                let reasons = reasons.iter().map(word_of).collect();
                let floating = self.pins().filter(|pin| pin.stays == Some(Reason::Range)).count();
                HoldReason::NothingMoves { reasons, floating }
            }
        };
        Some(Hold { reason, release: None, until: None })
    }

    /// Says why nothing goes to a release though something is behind it.
    pub(super) fn resting_at(&self, to: EdgeVersion) -> Option<Hold> {
        let Self { survey, target, stage } = *self;
        let knowledge = &survey.catalog.knowledge;
        let (inventory, options) = (&survey.inventory, &survey.options);
        let reasons = plan::resting_at(inventory, &target.target, stage, to, knowledge, options)?;
        let takes = |pin: &Pin| plan::Constraint::of(pin).is_ok_and(|range| range.allows(&to.chart()));
        let floating = self.pins().filter(|pin| pin.stays == Some(Reason::Range) && takes(pin)).count();
        let reasons = reasons.iter().map(word_of).collect();
        let reason = HoldReason::NothingMoves { reasons, floating };
        Some(Hold { reason, release: Some(to), until: None })
    }

    /// Decides. Where what may move is there, what cannot be edited may still be behind.
    pub(super) fn decide(&self, operator: &Operator<'_>, landed: &dyn Landed) -> Result<Decision, Error> {
        let behind = |hold: &Hold| {
            let at = hold.release.filter(|_| hold.reason == HoldReason::UpToDate);
            at.filter(|_| self.pins().any(plan::cannot_be_edited)).and_then(|at| self.resting_at(at))
        };
        Ok(match self.choose(operator, landed)? {
            Decision::Hold(hold) => Decision::Hold(behind(&hold).unwrap_or(hold)),
            decision => decision,
        })
    }

    fn choose(&self, operator: &Operator<'_>, landed: &dyn Landed) -> Result<Decision, Error> {
        if let Some(hold) = self.resting() {
            return Ok(Decision::Hold(hold));
        }
        let Self { survey, target, stage } = *self;
        let policy = Policy { to: operator.to.or(target.policy.to), ..target.policy.clone() };
        if stage == Stage::DataPlane {
            return self.decide_proxies(&policy, landed, operator.now);
        }
        let needs = Needs { before: promotion::before(*self), ..self.needs(None) };
        let decision = policy::decide(&policy, survey.catalog, &needs, operator.now);
        // History costs a fetch, and a mirror a request, so they are asked only where everything else says go.
        if matches!(decision, Decision::Hold(_)) {
            return Ok(decision);
        }
        // Where some are at no release, there may be one to go to that the others are at.
        let floor = needs.lowest.filter(|_| !needs.unnamed).map_or(Bound::Unbounded, Bound::Excluded);
        let back = LookBack { case: *self, landed, floor, now: operator.now };
        let before = needs.before.iter().cloned().map(|before| back.complete(before));
        let before = before.collect::<Result<_, _>>()?;
        Ok(self.decide_with_mirrors(&policy, Needs { before, ..needs }, operator))
    }

    /// Decides, and asks the mirrors for each release that it comes to.
    fn decide_with_mirrors(&self, policy: &Policy, mut needs: Needs, operator: &Operator<'_>) -> Decision {
        loop {
            let decision = policy::decide(policy, self.survey.catalog, &needs, operator.now);
            let Decision::Target { version, .. } = &decision else { return decision };
            let absent: Vec<Absent> =
                needs.charts.iter().filter_map(|need| absent(need, *version, operator)).collect();
            if absent.is_empty() {
                return decision;
            }
            needs.absent.extend(absent);
        }
    }

    /// Holds a release that was merged and that the target went back from, and all before it: that was a no. Who asks for
    /// it by name gets it.
    pub(super) fn went_back(
        &self,
        release: EdgeVersion,
        operator: &Operator<'_>,
        landed: &dyn Landed,
    ) -> Result<Option<Hold>, Error> {
        let Self { survey, target, stage } = *self;
        if operator.to.or(target.policy.to).is_some() {
            return Ok(None);
        }
        let merged = landed.merges(&target.target, stage, release)?;
        let highest = self.needs(None).highest;
        let newest = merged.into_iter().filter(|merged| merged.release >= release).max();
        // What is there of it still has not gone back; it has company that is behind. What was taken back on purpose has,
        // also where a part of it had come by itself and is there still.
        let is_below = |merged: &Merged| merged.undone || highest.is_some_and(|own| own < merged.release);
        let from = newest.filter(is_below);
        Ok(from.map(|Merged { release: from, pull, undone }| {
            let pull = survey.dialect.reference(pull);
            let reason = HoldReason::WentBack { from, pull, undone };
            Hold { reason, release: Some(release), until: None }
        }))
    }

    /// Says why what is open for a release is not to be taken any more. Proxies go where their control plane is.
    fn refuses(&self, open: EdgeVersion, operator: &Operator<'_>) -> Option<String> {
        let Self { survey, target, stage } = *self;
        let policy = Policy { to: operator.to.or(target.policy.to), ..target.policy.clone() };
        let needs = self.needs(None);
        let of_platform = policy::refusal(&policy, survey.catalog, &needs, open, operator.now);
        of_platform.filter(|_| stage == Stage::Platform)
    }

    /// Holds what is open where there is nothing left of it to propose, since the base branch has come there otherwise, where
    /// the release is not to be taken any more, or where
    /// that which goes first went back from it meanwhile: the control plane of proxies, a wave, a target.
    pub(super) fn is_outrun(
        &self,
        operator: &Operator<'_>,
        landed: &dyn Landed,
    ) -> Result<Option<Hold>, Error> {
        let Self { survey, target, stage } = *self;
        let plane = plan::control_plane(&survey.inventory, &target.target, survey.options.control_plane);
        let plane = plane.ceiling().filter(|_| stage == Stage::DataPlane);
        let plane = plane.map(|running| (running, HoldReason::ControlPlaneWentBack { running }));
        let before = promotion::before(*self).into_iter().chain(promotion::waves_before(*self));
        let before = before.filter_map(|before| {
            let lacks = Lack::NotRun { running: before.running };
            Some((before.running?, HoldReason::Promotion { target: before.target, lacks }))
        });
        let first: Vec<(EdgeVersion, HoldReason)> = plane.into_iter().chain(before).collect();
        let Some(open) = landed.open_release(*self)? else { return Ok(None) };
        let needs = self.needs(Some(open));
        if needs.lowest.is_some_and(|lowest| lowest >= open) {
            return Ok(Some(Hold { reason: HoldReason::UpToDate, release: Some(open), until: None }));
        }
        if let Some(reason) = self.refuses(open, operator) {
            return Ok(Some(Hold {
                reason: HoldReason::Refused { reason },
                release: Some(open),
                until: None,
            }));
        }
        let ahead = first.into_iter().find(|(running, _)| open > *running);
        let waits = needs.waits.filter(|_| needs.lowest.is_none()).map(Waits::reason);
        let reason = ahead.map(|(_, reason)| reason).or(waits);
        Ok(reason.map(|reason| Hold { reason, release: Some(open), until: None }))
    }

    /// Holds proxies, also those of what is open, that would be ahead of a control plane which is being taken back.
    pub(super) fn behind_the_way_back(
        &self,
        decided: Decision,
        landed: &dyn Landed,
        others: &[Draft],
    ) -> Result<Decision, Error> {
        let whole = self.target.target.whole();
        let of_plane = |draft: &&Draft| draft.report.target == whole && draft.report.stage == Stage::Platform;
        let plane = others.iter().find(of_plane).filter(|_| self.stage == Stage::DataPlane);
        let back = plane.and_then(|draft| draft.report.decision.plan()).filter(|plan| plan.undoes.is_some());
        let Some(to) = back.map(|plan| plan.to) else { return Ok(decided) };
        let next = match &decided {
            Decision::Target { version, .. } => Some(*version),
            Decision::Hold(_) => landed.open_release(*self)?,
        };
        Ok(match next.filter(|next| *next > to) {
            Some(release) => {
                let reason = HoldReason::ControlPlaneGoesBack { to };
                Decision::Hold(Hold { reason, release: Some(release), until: None })
            }
            None => decided,
        })
    }

    fn decide_proxies(
        &self,
        policy: &Policy,
        landed: &dyn Landed,
        now: Timestamp,
    ) -> Result<Decision, Error> {
        let Self { survey, target, .. } = *self;
        let plane = plan::control_plane(&survey.inventory, &target.target, survey.options.control_plane);
        let (release, after) = match plane.ceiling() {
            Some(running) => (Some(running), survey.config().data_plane.after),
            // Who asks for a release by name says that the control plane runs it; since when, nobody can tell.
            None => (policy.to, SignedDuration::ZERO),
        };
        let needs = self.needs(release.into_iter().chain(policy.to).min());
        let at_once =
            policy::ControlPlane { release, landed: None, after: SignedDuration::ZERO, itself: None };
        let decision = policy::data_plane(policy, &needs, at_once, now);
        // What follows costs requests, so it is asked for only where everything else says go.
        let (Some(release), Decision::Target { version, .. }) = (release, &decision) else {
            return Ok(decision);
        };
        let back = LookBack { case: *self, landed, floor: Bound::Included(*version), now };
        let landed = match after.is_zero() {
            true => None,
            false => landed.since(release, &target.target, &survey.inventory, now)?,
        };
        let plane = policy::ControlPlane { landed, after, ..at_once };
        let before = [promotion::before(*self), promotion::waves_before(*self)].concat();
        let needs = Needs { before, ..needs };
        let decision = policy::data_plane(policy, &needs, plane, now);
        if target.gates.active.is_empty() && needs.before.is_empty() || matches!(decision, Decision::Hold(_))
        {
            return Ok(decision);
        }
        let itself = match target.gates.active.is_empty() {
            true => None,
            false => {
                Some(back.complete(promotion::at(survey, survey.whole(target), SignedDuration::ZERO))?)
            }
        };
        let plane = policy::ControlPlane { itself: itself.as_ref(), ..plane };
        let before = needs.before.iter().cloned().map(|before| back.complete(before));
        let before = before.collect::<Result<_, _>>()?;
        Ok(policy::data_plane(policy, &Needs { before, ..needs }, plane, now))
    }
}

/// Asks the mirror of a chart whether it has a release of it.
fn absent(need: &ChartNeed, release: EdgeVersion, operator: &Operator<'_>) -> Option<Absent> {
    let mirror = need.mirror.as_deref()?;
    let absence = match operator.mirrors.stock(mirror, &need.chart, &release.chart()) {
        Stock::There => return None,
        Stock::Absent => Absence::Of(release),
        Stock::Unread(reason) => Absence::Unread(reason),
    };
    Some(Absent { need: need.clone(), absence })
}
