//! What holds at all times, whatever happened.

use std::collections::{BTreeMap, BTreeSet};

use uplinker::{
    explain::{Marker, marker},
    linkerd::EdgeVersion,
    policy::{Hold, HoldReason, Lack},
    report::{Outcome, RunReport, StageDecision, StageReport},
};

use super::{
    fleet::{
        DAY, ENVIRONMENTS, Standing, WAVE, environment_of, goes_past_the_stop, milestone_of, release_of,
    },
    life::{Push, Year},
    place::{Place, Pull},
};

// === impl Year ===

impl<P: Place> Year<P> {
    /// Also in the moment after the program was killed.
    pub fn is_safe(&self) {
        let open: Vec<Pull> = self.place.pulls().into_iter().filter(|pull| pull.open).collect();
        let branches: BTreeSet<&str> = open.iter().map(|pull| pull.branch.as_str()).collect();
        assert_eq!(branches.len(), open.len(), "two pull requests of one branch\n{}", self.story);
        for Push { number, branch, commit } in &self.pushes {
            let is_open = open.iter().any(|pull| pull.number == *number);
            let lost = is_open && !self.place.contains(branch, *commit);
            assert!(!lost, "the commit {commit} of a person is lost in #{number}\n{}", self.story);
        }
        self.stands();
    }

    /// After a whole run.
    pub fn check(&self, report: &RunReport) {
        self.is_safe();
        self.is_whole(report);
        for stage in &report.stages {
            if let StageDecision::Hold { hold, text } = &stage.decision {
                self.is_true(stage, hold, text);
            }
        }
        for pull in self.place.pulls().iter().filter(|pull| pull.open) {
            let Some(marker) = marker::read(&pull.body) else {
                panic!("no marker in #{}\n{}", pull.number, self.story)
            };
            if !marker.person && !pull.queued && !self.is_pushed_to(pull) {
                self.may_be_open(pull, &marker);
            }
        }
    }

    /// Control planes and proxies of the base branch fit each other.
    fn stands(&self) {
        for (environment, _) in ENVIRONMENTS {
            let Standing { control_plane, proxies: (oldest, newest), .. } = self.standing(environment);
            assert!(newest <= control_plane, "the proxies of {environment} lead\n{}", self.story);
            let apart = milestone_of(control_plane) - milestone_of(oldest);
            assert!(
                apart <= 1,
                "{environment}: {control_plane} and {oldest} are {apart} milestones apart\n{}",
                self.story
            );
        }
    }

    /// No half of a proposal is left: each branch of ours has its pull request, and each pull request says what its branch has.
    fn is_whole(&self, report: &RunReport) {
        let pulls = self.place.pulls();
        for (branch, tip) in self.place.branches() {
            let has = pulls.iter().any(|pull| pull.branch == branch && (pull.open || pull.head == tip));
            assert!(
                !branch.starts_with("uplinker/") || has,
                "`{branch}` has no pull request\n{}",
                self.story
            );
        }
        for stage in &report.stages {
            let (StageDecision::Propose(plan), Some(outcome)) = (&stage.decision, &stage.outcome) else {
                continue;
            };
            let (Outcome::Opened(of) | Outcome::Updated(of) | Outcome::Unchanged(of)) = outcome else {
                continue;
            };
            let pull = pulls.iter().find(|pull| pull.number == of.number).expect("the pull request");
            let marker = marker::read(&pull.body).expect("its marker");
            let head = self.place.tip(&pull.branch).map(|tip| tip.to_string());
            let whole =
                marker.head == head && marker.release == plan.to && pull.title.contains(&plan.to.to_string());
            assert!(whole, "#{} is half done: {marker:?} at {head:?}\n{}", pull.number, self.story);
        }
    }

    /// A hold says why, and that is so.
    fn is_true(&self, stage: &StageReport, hold: &Hold, text: &str) {
        let at = self.standing(environment_of(&stage.target));
        let known = self.releases.iter().map(|released| (release_of(released.number), released));
        let known: BTreeMap<EdgeVersion, _> = known.collect();
        let ahead = hold.until.is_none_or(|until| until.as_second() > self.now);
        let so = match &hold.reason {
            HoldReason::UpToDate => {
                let is_wave = stage.target != environment_of(&stage.target);
                let oldest = if is_wave { at.wave } else { at.control_plane };
                hold.release.is_none_or(|release| oldest >= release)
            }
            HoldReason::Promotion { target, lacks } => self.lacks(hold, target, lacks),
            HoldReason::NotReady { charts } => {
                !charts.is_empty() && hold.release.is_some_and(|release| !known[&release].is_ready)
            }
            HoldReason::WentBack { from, pull, .. } => {
                let oldest = if stage.stage.name() == "platform" { at.control_plane } else { at.proxies.0 };
                let named = |seen: &Pull| format!("#{}", seen.number) == *pull;
                oldest < *from && self.place.pulls().iter().any(|seen| named(seen) && seen.merged)
            }
            HoldReason::ControlPlaneWentBack { running } => *running == at.control_plane,
            HoldReason::ControlPlaneBehind { running, .. } => *running == Some(at.control_plane),
            HoldReason::DataPlaneWait => hold.until.is_some(),
            HoldReason::ControlPlaneGoesBack { to } => *to < at.control_plane,
            HoldReason::ProxiesAhead { running, .. } => at.proxies.1 == *running,
            HoldReason::NoneEligible { .. }
            | HoldReason::HopUnavailable { .. }
            | HoldReason::NoWayBack { .. }
            | HoldReason::WayBackGone { .. } => true,
            HoldReason::Refused { .. } => hold.release.is_some_and(|release| known[&release].is_bad),
            other => panic!("nobody asked for {other:?}\n{}", self.story),
        };
        let target = &stage.target;
        assert!(
            ahead && so && !text.is_empty(),
            "{target} at {at:?}: not so: {text} ({hold:?})\n{}",
            self.story
        );
    }

    fn lacks(&self, hold: &Hold, target: &str, lacks: &Lack) -> bool {
        let standing = self.standing(environment_of(target));
        let at = if target == environment_of(target) { standing.control_plane } else { standing.wave };
        match lacks {
            Lack::NotRun { running } => *running == Some(at),
            Lack::Soak { since } => hold.until.is_some() && since.as_second() <= self.now,
            Lack::Gate { since, .. } | Lack::Silent { since, .. } => since.as_second() <= self.now,
            Lack::Ahead { .. } | Lack::Untold { .. } => false,
            Lack::Unread { reason } => panic!("gates are not read: {reason}\n{}", self.story),
        }
    }

    fn may_be_open(&self, pull: &Pull, marker: &Marker) {
        let (target, number, wanted) = (marker.target.as_str(), pull.number, marker.release);
        let wrong = |what: &str| panic!("#{number}, {}: {what}\n{}", pull.title, self.story);
        let is_blocked = pull.labels.iter().any(|label| label == "linkerd: blocked");
        let environment = environment_of(target);
        let at = self.standing(environment);
        let is_upgrade = marker.undoes.is_none();
        let is_platform = marker.stage == "platform";
        if is_platform && is_upgrade {
            if wanted <= at.control_plane {
                wrong(&format!("{target} is at {} already", at.control_plane));
            }
            if goes_past_the_stop(at.control_plane, wanted) {
                wrong("it goes past the required stop");
            }
            let before =
                ENVIRONMENTS.iter().find(|(name, _)| *name == target).and_then(|(_, before)| *before);
            if let Some((before, soak)) = before
                && !self.was(before, |at| at.control_plane, wanted, soak * DAY)
            {
                wrong(&format!("{before} has not run it"));
            }
        }
        if is_platform && milestone_of(wanted) > milestone_of(at.proxies.0) + 1 && !is_blocked {
            wrong(&format!("it would leave the proxies, at {}, more than a milestone behind", at.proxies.0));
        }
        if is_platform && !is_upgrade && wanted < at.proxies.1 && !is_blocked {
            wrong(&format!("the proxies, at {}, would be ahead of the control plane", at.proxies.1));
        }
        if !is_platform && wanted > at.control_plane {
            wrong("its proxies would be ahead of the control plane");
        }
        if !is_platform
            && is_upgrade
            && target == environment
            && !self.was(environment, |at| at.wave, wanted, WAVE.1 * DAY)
        {
            wrong("the wave before has not run it");
        }
        if is_upgrade {
            self.is_not_refused(pull, marker);
        }
    }

    /// Nobody said no to the release, and nobody went back from it.
    fn is_not_refused(&self, pull: &Pull, marker: &Marker) {
        for earlier in
            self.place.pulls().iter().filter(|earlier| earlier.branch == pull.branch && !earlier.open)
        {
            let Some(known) = marker::read(&earlier.body) else { continue };
            let refused = match earlier.merged {
                true if marker.stage == "platform" => known.undoes.or(Some(known.release)),
                true => None,
                false => Some(known.release).filter(|_| {
                    self.declined.contains(&earlier.number) && known.undoes.is_none() && !known.person
                }),
            };
            let (number, wanted) = (pull.number, marker.release);
            assert!(
                refused.is_none_or(|refused| wanted > refused),
                "#{number}, {}: #{} said no to {refused:?}\n{}",
                pull.title,
                earlier.number,
                self.story
            );
        }
    }

    /// Tells whether something of an environment came to a release long enough ago and has been there or above since.
    fn was(
        &self,
        environment: &str,
        of: impl Fn(Standing) -> EdgeVersion,
        release: EdgeVersion,
        soak: i64,
    ) -> bool {
        for (commit, time) in self.place.line() {
            match of(self.standing_at(commit, environment)) {
                at if at < release => return false,
                at if at == release && time <= self.now - soak => return true,
                _ => {}
            }
        }
        false
    }
}
