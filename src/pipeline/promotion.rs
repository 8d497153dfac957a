//! What targets have run, by the history of the base branch alone, and the status checks of it.
//!
//! In: a survey of the base branch, and its history. Out: for a target that goes before another (or before its own
//! proxies) the releases that it has run. Each commit that changed a file with pins is scanned as the base branch is, so
//! that it makes no difference who changed it, or how it was merged.

use std::{
    collections::BTreeSet,
    ops::{Bound, RangeBounds as _},
};

use jiff::{SignedDuration, Timestamp};

use crate::{
    config::TargetConfig,
    linkerd::EdgeVersion,
    pins::{Inventory, Pin, PinKind, Reason, Stage},
    pipeline::{
        Error,
        case::Case,
        landed::Landed,
        past::{Of, Was},
        survey::Survey,
    },
    plan::{self, Target},
    policy::{self, Before, Ran, StatusCheck},
    repo::{self, CommitId, RepoPath},
};

/// How many changes of a target are looked back over.
const CHANGES: usize = 200;
/// Of how many releases the status checks are read.
const ASKED: usize = 5;
/// Of how many commits with a release the status checks are read: of the newest, and of those with which it came.
const NEWEST: usize = 30;
const OLDEST: usize = 10;

/// A time at a release, and the commits that had it.
type Stretch = (Ran, Vec<CommitId>);

/// A look back from the tip of the base branch.
pub(super) struct LookBack<'a> {
    pub case: Case<'a>,
    pub landed: &'a dyn Landed,
    /// From which release on they matter.
    pub floor: Bound<EdgeVersion>,
    pub now: Timestamp,
}

/// Returns the targets that go before one, and where they are now.
pub(super) fn before(case: Case<'_>) -> Vec<Before> {
    let Case { survey, target, stage } = case;
    let after = target.after.iter().filter(|_| stage == leading(survey, &target.target));
    after
        .flat_map(|after| members(survey, &after.target).into_iter().map(|one| at(survey, one, after.soak)))
        .collect()
}

/// Returns the targets of a group; those of it alone that Linkerd's edge releases go to, where there are such.
fn members<'a>(survey: &'a Survey<'_>, group: &str) -> Vec<&'a TargetConfig> {
    let all: Vec<&TargetConfig> = survey.targets.iter().filter(|target| target.group == group).collect();
    let runs = |target: &&TargetConfig| {
        let counts = |pin: &Pin| {
            pin.stage == Stage::Platform && pin.kind != PinKind::Other && pin.stays != Some(Reason::Channel)
        };
        survey.inventory.pins().any(|pin| counts(pin) && target.target.has(pin))
    };
    let running: Vec<&TargetConfig> = all.iter().copied().filter(runs).collect();
    if running.is_empty() { all } else { running }
}

/// Returns the waves that go before one, and where they are now. One in which nothing may move has nothing to say.
pub(super) fn waves_before(case: Case<'_>) -> Vec<Before> {
    let Case { survey, target, stage } = case;
    let Some(share) = target.target.wave.as_ref().filter(|_| stage == Stage::DataPlane) else {
        return Vec::new();
    };
    let wave = |other: &TargetConfig| {
        let position = other.target.wave.as_ref().filter(|wave| wave.of == share.of)?.mine?;
        share.mine.is_none_or(|mine| position < mine).then(|| share.waves.get(position))?
    };
    let moves = |other: &TargetConfig| {
        plan::resting(&survey.inventory, &other.target, stage, &survey.options).is_none()
    };
    let before = survey.targets.iter().filter_map(|other| Some((other, wave(other)?)));
    before.filter(|(other, _)| moves(other)).map(|(other, wave)| at(survey, other, wave.soak)).collect()
}

/// Returns the stage of a target that goes first, and that targets after it wait for: its platform where it has one.
fn leading(survey: &Survey<'_>, target: &Target) -> Stage {
    let counts = |pin: &&Pin| pin.stage == Stage::Platform && pin.kind != PinKind::Other;
    match survey.inventory.pins().filter(counts).any(|pin| target.whole_has(pin)) {
        true => Stage::Platform,
        false => Stage::DataPlane,
    }
}

/// Returns the stage by which it is told where a target is: of a wave its proxies.
fn telling(survey: &Survey<'_>, target: &Target) -> Stage {
    let is_wave = target.wave.as_ref().is_some_and(|wave| wave.mine.is_some());
    if is_wave { Stage::DataPlane } else { leading(survey, target) }
}

/// Returns what a target is at.
fn stands(survey: &Survey<'_>, inventory: &Inventory, target: &Target) -> Was {
    of_stage(inventory, target, telling(survey, target), &survey.options)
}

/// Returns what the proxies of a target are at, also of those that are left as they are.
fn proxies(survey: &Survey<'_>, inventory: &Inventory, target: &Target) -> Was {
    let options = plan::Options { proxies: plan::Proxies::Follow, ..survey.options.clone() };
    of_stage(inventory, target, Stage::DataPlane, &options)
}

/// Returns what a stage of a target is at. A pod without the annotation that it asks for is nowhere.
fn of_stage(inventory: &Inventory, target: &Target, stage: Stage, options: &plan::Options) -> Was {
    let is_nowhere = stage == Stage::DataPlane && plan::needs(inventory, target, stage, options).unnamed;
    // A control plane that is held has not run what the rest went to.
    let plane = plan::own_control_plane(inventory, target).filter(|_| stage == Stage::Platform);
    let was = was(inventory, target, stage, options);
    let is_untold = untold(inventory, target, stage).is_some();
    let release = was.release.filter(|_| !is_nowhere && !is_untold);
    Was { release: release.map(|release| plane.map_or(release, |plane| plane.min(release))), ..was }
}

/// Names the pin by which nobody can tell what the control plane of a stage runs, whatever the rest of it is pinned to.
pub(super) fn untold(inventory: &Inventory, target: &Target, stage: Stage) -> Option<String> {
    if stage == Stage::Platform { plan::untold_control_plane(inventory, target) } else { None }
}

/// Returns where a target is now.
pub(super) fn at(survey: &Survey<'_>, target: &TargetConfig, soak: SignedDuration) -> Before {
    Before {
        target: target.target.name.clone(),
        soak,
        running: stands(survey, &survey.inventory, &target.target).release,
        untold: untold(&survey.inventory, &target.target, telling(survey, &target.target)),
        ran: None,
        gates: target.gates.clone(),
    }
}

/// Returns what a target's stage was at.
pub(super) fn was(inventory: &Inventory, target: &Target, stage: Stage, options: &plan::Options) -> Was {
    let needs = plan::needs(inventory, target, stage, options);
    let mine = |pin: &&Pin| pin.stage == stage && pin.kind != PinKind::Other && target.has(pin);
    let files: BTreeSet<&RepoPath> = inventory.pins().filter(mine).map(|pin| &pin.path).collect();
    // All of it is at least there; where nothing of it may move, it is where that is held.
    Was { release: needs.lowest.or(needs.highest), files: files.into_iter().cloned().collect() }
}

/// Returns since when a stage has been at a release. A commit of ours has the date of what it was made of, the release and the
/// commit under it: where it was merged as it is, its pull request knows when.
pub(super) fn dated(
    case: Case<'_>,
    landed: &dyn Landed,
    release: EdgeVersion,
    came: &repo::Stretch,
) -> Result<Timestamp, Error> {
    let published = case.survey.catalog.get(release).and_then(|release| release.published);
    let is_made_then = came.older.max(published).is_some_and(|made| came.since == made);
    let merged = match is_made_then {
        true => landed.brought((&case.target.target, case.stage), release, came.since)?,
        false => None,
    };
    Ok(merged.unwrap_or(came.since))
}

// === impl LookBack ===

impl LookBack<'_> {
    /// Finds out what a target has run, and the status checks of it.
    pub fn complete(&self, before: Before) -> Result<Before, Error> {
        let survey = self.case.survey;
        let position = survey.targets.iter().position(|target| target.target.name == before.target);
        let Some(position) = position else { return Ok(before) };
        let is_enough = |ran| !(self.floor, Bound::Unbounded).contains(&ran);
        let stretches = self.stretches(position, Of::Leading, is_enough)?;
        let mut ran = policy::ran(stretches.iter().map(|(ran, _)| ran.clone()));
        // What has not run for long enough waits whatever is said.
        let is_old = |ran: &&mut Ran| ran.since.checked_add(before.soak).is_ok_and(|end| end <= self.now);
        let mut old = ran.iter_mut().filter(is_old).filter(|_| !before.gates.active.is_empty());
        for one in old.by_ref().take(ASKED) {
            let with_it =
                stretches.iter().filter(|(ran, _)| ran.release == one.release && ran.since >= one.since);
            one.checks =
                self.status_checks(with_it.flat_map(|(_, commits)| commits.iter().copied()).collect())?;
        }
        old.for_each(|one| one.checks = Err("too much has run there since".to_owned()));
        Ok(Before { ran: Some(ran), ..before })
    }

    /// Returns the release that all of a target is at, or of its proxies, and since when; by a commit that is dated ahead of
    /// now, since now.
    pub fn standing(
        &self,
        target: &TargetConfig,
        of: Of,
    ) -> Result<(Option<EdgeVersion>, Option<Timestamp>), Error> {
        let (release, stretches) = self.now(target, of)?;
        Ok((release, stretches.last().map(|(ran, _)| ran.since.min(self.now))))
    }

    /// Returns the release that all of a target is at, with the status checks of the commits that have had it since.
    pub fn itself(&self, target: &TargetConfig) -> Result<Option<Ran>, Error> {
        let (_, stretches) = self.now(target, Of::Leading)?;
        let Some((oldest, _)) = stretches.last() else { return Ok(None) };
        let commits = stretches.iter().flat_map(|(_, commits)| commits.iter().copied()).collect();
        Ok(Some(Ran { checks: self.status_checks(commits)?, ..oldest.clone() }))
    }

    /// Returns the release of a target, and walks back over what it has been at since it came there.
    fn now(&self, target: &TargetConfig, of: Of) -> Result<(Option<EdgeVersion>, Vec<Stretch>), Error> {
        let survey = self.case.survey;
        let own = |other: &TargetConfig| other.target.name == target.target.name;
        let Some(position) = survey.targets.iter().position(own) else { return Ok((None, Vec::new())) };
        let now = self.at(self.landed.tip(), position, of)?.release;
        Ok((now, self.stretches(position, of, |release| Some(release) != now)?))
    }

    /// Returns what a target was at a commit.
    fn at(&self, commit: CommitId, position: usize, of: Of) -> Result<Was, Error> {
        let all = self.case.survey.past.at((commit, of), || self.were(commit, of))?;
        Ok(all.get(position).cloned().unwrap_or_default())
    }

    /// Walks back over what a target has been at, until it is enough.
    fn stretches(
        &self,
        position: usize,
        of: Of,
        is_enough: impl Fn(EdgeVersion) -> bool,
    ) -> Result<Vec<Stretch>, Error> {
        let mut stretches: Vec<Stretch> = Vec::new();
        let mut next = Some(self.landed.tip());
        for _ in 0..CHANGES {
            let Some(last) = next else { break };
            let Was { release: Some(release), files } = self.at(last, position, of)? else { break };
            if is_enough(release) {
                break;
            }
            let Some(stretch) = self.landed.stretch(last, &files)? else { break };
            let since = self.since_when(position, of, release, &stretch)?;
            let ran = Ran { release, since, checks: Ok(Vec::new()) };
            stretches.push((ran, stretch.commits));
            next = stretch.before;
        }
        Ok(stretches)
    }

    fn since_when(
        &self,
        position: usize,
        of: Of,
        release: EdgeVersion,
        came: &repo::Stretch,
    ) -> Result<Timestamp, Error> {
        let survey = self.case.survey;
        let Some(target) = survey.targets.get(position) else { return Ok(came.since) };
        let stage = match of {
            Of::Leading => telling(survey, &target.target),
            Of::Proxies => Stage::DataPlane,
        };
        let since = dated(Case { survey, target, stage }, self.landed, release, came)?;
        Ok(came.not_before_its_parents(since, self.now))
    }

    /// Says what all targets were at a commit.
    fn were(&self, commit: CommitId, of: Of) -> Result<Vec<Was>, Error> {
        let survey = self.case.survey;
        let look = match of {
            Of::Leading => stands,
            Of::Proxies => proxies,
        };
        let all = |inventory: &Inventory| {
            survey.targets.iter().map(|target| look(survey, inventory, &target.target)).collect()
        };
        match commit == self.landed.tip() {
            true => Ok(all(&survey.inventory)),
            false => Ok(all(&survey.scan(self.landed.tree(commit)?.as_ref())?)),
        }
    }

    fn status_checks(&self, mut commits: Vec<CommitId>) -> Result<Result<Vec<StatusCheck>, String>, Error> {
        if let Some(middle) = commits.len().checked_sub(OLDEST).filter(|end| *end > NEWEST) {
            commits.drain(NEWEST..middle);
        }
        self.landed.status_checks(&commits)
    }
}
