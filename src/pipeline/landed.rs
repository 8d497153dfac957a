//! Since when a platform change has been on the base branch: from its pull request, else from history.

use std::{cell::RefCell, collections::HashMap};

use jiff::Timestamp;

use crate::{
    config::Config,
    explain::{CheckBox, Marker, Ticks, marker},
    linkerd::{CONTROL_PLANE, EdgeVersion},
    pins::{Inventory, Pin, Stage},
    pipeline::{
        Base, Error,
        case::Case,
        lists::{Lists, goes_no_further},
    },
    plan::{self, Target},
    policy::StatusCheck,
    propose::{
        self, Held,
        forge::{Forge, PullRequest, PullState},
    },
    repo::{CommitId, RepoPath, Stretch, Tree, Upstream, git::LocalClone},
};

/// Since when, where it is known that the wait is over.
const LONG_AGO: Timestamp = Timestamp::UNIX_EPOCH;

/// Tells since when a target's control plane has been at a release.
pub(super) trait Landed {
    /// Returns the commits since a pin has stood where it stands; `None` where nothing tells.
    fn stands(&self, pin: &Pin) -> Result<Option<Stretch>, Error>;

    /// Returns the last commit of the base branch.
    fn tip(&self) -> CommitId;

    /// Returns the commits up to `last` in which files are as they are in that one.
    fn stretch(&self, last: CommitId, files: &[RepoPath]) -> Result<Option<Stretch>, Error>;

    /// Returns the status checks of commits of the base branch; why they cannot be read.
    fn status_checks(&self, commits: &[CommitId]) -> Result<Said, Error>;

    /// Opens the tree of a commit of the base branch.
    fn tree(&self, commit: CommitId) -> Result<Box<dyn Tree>, Error>;

    /// Returns when a target's pull request for a release was merged; `None` where there is none to know of.
    fn merged(&self, _target: &Target, _release: EdgeVersion) -> Result<Option<Timestamp>, Error> {
        Ok(None)
    }

    /// Returns when the pull request was merged that brought a release which a stage has had since the date of a commit; `None`
    /// where there is none to know of. What a forge merges as it is has the date at which we made it.
    fn brought(
        &self,
        _of: (&Target, Stage),
        _release: EdgeVersion,
        _since: Timestamp,
    ) -> Result<Option<Timestamp>, Error> {
        Ok(None)
    }

    /// Returns the newest release that an open pull request of ours is for.
    fn open_release(&self, _case: Case<'_>) -> Result<Option<EdgeVersion>, Error> {
        Ok(None)
    }

    /// Returns the release that an open pull request takes back from a stage.
    fn goes_back(&self, _case: Case<'_>) -> Result<Option<EdgeVersion>, Error> {
        Ok(None)
    }

    /// Tells whether somebody closed a pull request that would have taken a release of a stage back.
    fn keeps(&self, _case: Case<'_>, _release: EdgeVersion) -> Result<bool, Error> {
        Ok(false)
    }

    /// Returns what was merged of a stage, where no pull request is open that goes on to a release: one for a newer release
    /// would have to go down to it.
    fn merges(&self, _target: &Target, _stage: Stage, _release: EdgeVersion) -> Result<Vec<Merged>, Error> {
        Ok(Vec::new())
    }

    /// Returns the time; `None` where nothing tells.
    fn since(
        &self,
        release: EdgeVersion,
        target: &Target,
        inventory: &Inventory,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, Error> {
        if let Some(at) = self.merged(target, release)? {
            return Ok(Some(at));
        }
        let mut last = None;
        for pin in pins(release, target, inventory) {
            let came = self.stands(pin)?.map(|came| came.not_before_its_parents(came.since, now));
            last = last.max(came);
        }
        Ok(last)
    }
}

/// A pull request of ours that was merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Merged {
    /// The release that it brought, or took back.
    pub release: EdgeVersion,
    /// Its number.
    pub pull: u64,
    /// Whether it took the release back.
    pub undone: bool,
}

/// By the history of a clone.
pub(super) struct InHistory<'a>(pub &'a LocalClone);

/// By the merged pull request, else by the history of the base branch.
pub(super) struct OnRemote<'a> {
    remote: &'a dyn Upstream,
    forge: Option<&'a dyn Forge>,
    base: &'a Base,
    config: &'a Config,
    lists: RefCell<Lists>,
    /// What was said of commits, by what was asked.
    said: RefCell<HashMap<Vec<CommitId>, Said>>,
}

/// Status checks, or why they cannot be read.
type Said = Result<Vec<StatusCheck>, String>;

impl Landed for InHistory<'_> {
    fn stands(&self, pin: &Pin) -> Result<Option<Stretch>, Error> {
        Ok(self.0.landed(&pin.path, &pin.value)?)
    }

    fn tip(&self) -> CommitId {
        self.0.tip()
    }

    fn stretch(&self, last: CommitId, files: &[RepoPath]) -> Result<Option<Stretch>, Error> {
        Ok(self.0.stretch(last, files)?)
    }

    fn status_checks(&self, _: &[CommitId]) -> Result<Said, Error> {
        Ok(Err("no forge is asked about a path".to_owned()))
    }

    fn tree(&self, commit: CommitId) -> Result<Box<dyn Tree>, Error> {
        Ok(Box::new(self.0.tree(commit)?))
    }
}

// === impl OnRemote ===

impl<'a> OnRemote<'a> {
    /// Asks nothing yet; without a forge the history alone tells.
    pub fn new(
        remote: &'a dyn Upstream,
        forge: Option<&'a dyn Forge>,
        base: &'a Base,
        config: &'a Config,
    ) -> Self {
        Self { remote, forge, base, config, lists: RefCell::default(), said: RefCell::default() }
    }

    /// Returns the branch of a target's stage.
    pub fn branch(&self, target: &str, stage: Stage) -> String {
        propose::branch(&self.config.branch.prefix, target, stage)
    }

    /// Returns all pull requests of a target's stage that lead to the base branch, newest first.
    pub fn all_of(&self, target: &str, stage: Stage) -> Result<Vec<PullRequest>, Error> {
        let Some(forge) = self.forge else { return Ok(Vec::new()) };
        let branch = self.branch(target, stage);
        let mut lists = self.lists.borrow_mut();
        let all = lists.all(forge, &branch)?.iter();
        Ok(all.filter(|pull| self.leads_to_base(pull)).cloned().collect())
    }

    /// Returns the open pull requests of a target's stage, none without a branch; those of all other branches like ours are
    /// listed in the same request.
    pub fn open_of(&self, target: &str, stage: Stage) -> Result<Vec<PullRequest>, Error> {
        let own = self.branch(target, stage);
        if !self.is_there(&own) {
            return Ok(Vec::new());
        }
        let others = self.base.branches_like_ours().filter(|branch| *branch != own);
        let others: Vec<String> = others.map(str::to_owned).collect();
        let Some(forge) = self.forge else { return Ok(Vec::new()) };
        let mut lists = self.lists.borrow_mut();
        Ok(lists.open(forge, &own, &others)?.into_iter().cloned().collect())
    }

    /// Returns the markers of what is open for a case.
    fn open_markers(&self, case: Case<'_>) -> Result<impl Iterator<Item = Marker>, Error> {
        let open = self.open_of(&case.target.target.name, case.stage)?;
        let leads = open.into_iter().filter(|pull| self.leads_to_base(pull));
        Ok(leads.filter_map(|pull| marker::read(&pull.body)))
    }

    fn is_there(&self, branch: &str) -> bool {
        self.base.refs.branches.contains_key(branch)
    }

    /// Tells whether a pull request is to be merged into the base branch.
    pub fn leads_to_base(&self, pull: &PullRequest) -> bool {
        pull.base == self.base.branch
    }

    /// Lists at once what may be for the releases that are due for stages, so that none of their branches is asked about alone.
    pub fn look_for(&self, due: &[(Case<'_>, EdgeVersion)]) -> Result<(), Error> {
        let Some(forge) = self.forge else { return Ok(()) };
        let one = |(case, release): &(Case<'_>, EdgeVersion)| {
            let published = case.survey.catalog.get(*release).and_then(|release| release.published);
            (self.branch(&case.target.target.name, case.stage), published)
        };
        self.lists.borrow_mut().list_for_what_is_due(forge, due.iter().map(one).collect())
    }

    /// Says who declined a release of a stage that is due.
    pub fn declined(&self, case: Case<'_>, release: EdgeVersion) -> Result<Option<Held>, Error> {
        let Some(forge) = self.forge else { return Ok(None) };
        let target = case.target.target.name.as_str();
        let branch = self.branch(target, case.stage);
        let pulls = self.lists.borrow_mut().for_what_is_due(forge, &branch)?.to_vec();
        Ok(propose::declined((target, case.stage), release, pulls, |number| forge.closer(number))?)
    }

    /// Tells whether all is there that lies beside a pull request.
    pub fn is_attached(&self, number: u64) -> Result<bool, Error> {
        Ok(self.forge.map_or(Ok(true), |forge| forge.is_attached(number))?)
    }

    /// Returns the lists that were read, so that nobody asks for them a second time.
    pub fn into_lists(self) -> Lists {
        self.lists.into_inner()
    }
}

impl Landed for OnRemote<'_> {
    fn stands(&self, pin: &Pin) -> Result<Option<Stretch>, Error> {
        let Base { branch, tip, .. } = self.base;
        Ok(self.remote.landed(branch, tip.id, &pin.path, &pin.value)?)
    }

    fn tip(&self) -> CommitId {
        self.base.tip.id
    }

    fn stretch(&self, last: CommitId, files: &[RepoPath]) -> Result<Option<Stretch>, Error> {
        Ok(self.remote.stretch(&self.base.branch, last, files)?)
    }

    fn status_checks(&self, commits: &[CommitId]) -> Result<Said, Error> {
        let Some(forge) = self.forge else { return Ok(Err("there is no forge to ask".to_owned())) };
        if let Some(said) = self.said.borrow().get(commits) {
            return Ok(said.clone());
        }
        let said = match forge.status_checks(commits) {
            Ok(Some(checks)) => Ok(checks),
            Ok(None) => Err("this forge has no status checks".to_owned()),
            Err(error) if error.is_refusal() => Err(error.to_string()),
            Err(error) => return Err(error.into()),
        };
        self.said.borrow_mut().insert(commits.to_owned(), said.clone());
        Ok(said)
    }

    fn tree(&self, commit: CommitId) -> Result<Box<dyn Tree>, Error> {
        Ok(self.remote.tree(commit)?)
    }

    fn merged(&self, target: &Target, release: EdgeVersion) -> Result<Option<Timestamp>, Error> {
        let Some(forge) = self.forge else { return Ok(None) };
        let platform = self.branch(target.whole(), Stage::Platform);
        let proxies = self.branch(&target.name, Stage::DataPlane);
        let is_there = |branch: &String| self.is_there(branch);
        let goes_there = |pull: &&PullRequest| {
            self.leads_to_base(pull) && marker::read(&pull.body).is_some_and(|m| m.release == release)
        };
        let mut lists = self.lists.borrow_mut();
        // One that is open was due once: there is nothing more to wait for.
        if is_there(&proxies) {
            let beside = Vec::from_iter(Some(platform.clone()).filter(is_there));
            if lists.open(forge, &proxies, &beside)?.iter().any(goes_there) {
                return Ok(Some(LONG_AGO));
            }
        }
        let mut merged = lists.all(forge, &platform)?.iter().filter(|p| p.state == PullState::Merged);
        Ok(merged.find(goes_there).and_then(|pull| pull.closed_at))
    }

    fn brought(
        &self,
        (target, stage): (&Target, Stage),
        release: EdgeVersion,
        since: Timestamp,
    ) -> Result<Option<Timestamp>, Error> {
        let Some(forge) = self.forge else { return Ok(None) };
        let mut lists = self.lists.borrow_mut();
        let merged = lists.all(forge, &self.branch(&target.name, stage))?.iter().filter(|pull| {
            let brings = |m: Marker| m.release == release && m.undoes.is_none();
            let is_merged = pull.state == PullState::Merged && self.leads_to_base(pull);
            is_merged && marker::read(&pull.body).is_some_and(brings)
        });
        Ok(merged.filter_map(|pull| pull.closed_at).filter(|at| *at >= since).min())
    }

    fn open_release(&self, case: Case<'_>) -> Result<Option<EdgeVersion>, Error> {
        Ok(self.open_markers(case)?.map(|marker| marker.release).max())
    }

    fn goes_back(&self, case: Case<'_>) -> Result<Option<EdgeVersion>, Error> {
        Ok(self.open_markers(case)?.filter(|marker| !marker.closing).find_map(|marker| marker.undoes))
    }

    fn keeps(&self, case: Case<'_>, release: EdgeVersion) -> Result<bool, Error> {
        let Some(forge) = self.forge else { return Ok(false) };
        let branch = self.branch(&case.target.target.name, case.stage);
        let of_release = |marker: Marker| marker.undoes == Some(release) && !marker.closing;
        let mut lists = self.lists.borrow_mut();
        let mut closed = lists.all(forge, &branch)?.iter().filter(|p| p.state == PullState::Closed);
        Ok(closed.any(|pull| marker::read(&pull.body).is_some_and(of_release)))
    }

    fn merges(&self, target: &Target, stage: Stage, release: EdgeVersion) -> Result<Vec<Merged>, Error> {
        let Some(forge) = self.forge else { return Ok(Vec::new()) };
        let branch = self.branch(&target.name, stage);
        let mut lists = self.lists.borrow_mut();
        let open = if self.is_there(&branch) { lists.open(forge, &branch, &[])? } else { Vec::new() };
        if open.iter().any(|pull| self.leads_to_base(pull) && goes_no_further(pull, release)) {
            return Ok(Vec::new());
        }
        let all = lists.for_what_is_due(forge, &branch)?;
        let merged = all.iter().filter(|p| p.state == PullState::Merged);
        let ours = |pull: &PullRequest| {
            let marker =
                marker::read(&pull.body).filter(|m| m.target == target.name && m.stage == stage.name())?;
            let (undone, release) = (marker.undoes.is_some(), marker.undoes.unwrap_or(marker.release));
            let lifted = undone && Ticks::read(&pull.body).has(CheckBox::Again(release));
            Some((Merged { release, pull: pull.number, undone }, lifted))
        };
        let all: Vec<(Merged, bool)> =
            merged.filter(|pull| self.leads_to_base(pull)).filter_map(ours).collect();
        let is_lifted = |one: &Merged| {
            let mut lifted = all.iter().filter(|(_, lifted)| *lifted).map(|(lifted, _)| lifted);
            lifted.any(|lifted| one.release <= lifted.release && one.pull <= lifted.pull)
        };
        Ok(all.iter().map(|(merged, _)| *merged).filter(|merged| !is_lifted(merged)).collect())
    }
}

/// The pins that say that the control plane is at the release: the target's own, else anybody's.
fn pins<'i>(
    release: EdgeVersion,
    target: &Target,
    inventory: &'i Inventory,
) -> impl Iterator<Item = &'i Pin> {
    let says = move |p: &&Pin| p.is_of(CONTROL_PLANE) && plan::edge_of(p) == Some(release);
    let all: Vec<&Pin> = inventory.pins().filter(says).collect();
    let own: Vec<&Pin> = all.iter().copied().filter(|p| target.whole_has(p)).collect();
    if own.is_empty() { all } else { own }.into_iter()
}
