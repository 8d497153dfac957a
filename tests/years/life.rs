//! What happens in a year: releases come out and are advised against, people merge late, close, push, decline, revert and edit
//! by hand, deployers say what works, the program is killed; and a run every twelve hours, or after more of them.

use std::{
    cell::RefCell,
    collections::{BTreeSet, HashMap},
    fmt::Write as _,
};

use jiff::Timestamp;
use uplinker::{
    explain::{Marker, marker},
    linkerd::EdgeVersion,
    repo::CommitId,
    report::{RunReport, StageDecision},
};

use super::{
    chance::Chance,
    fleet::{
        DAY, ENVIRONMENTS, RELEASES, Released, Standing, environment_of, folders, milestone_of,
        moved_by_hand, number_of, release_of, standing,
    },
    place::{End, Pass, Place, Pull},
};
use crate::support::{github::Merge, repo::EPOCH};

const HALF_DAY: i64 = 12 * 3600;

/// What a person did that must not be lost.
pub struct Push {
    pub number: u64,
    pub branch: String,
    pub commit: CommitId,
}

pub struct Year<P> {
    pub place: P,
    pub now: i64,
    pub releases: Vec<Released>,
    pub pushes: Vec<Push>,
    /// What people closed or declined by its box: numbers of pull requests.
    pub declined: BTreeSet<u64>,
    /// What happened, for whoever has to understand a failure.
    pub story: String,
    /// How often the program was killed.
    pub kills: usize,
    /// What environments were at at commits, so that none is read twice.
    pub seen: RefCell<HashMap<(CommitId, &'static str), Standing>>,
    chance: Chance,
    /// The program is killed once in so many runs.
    mortality: u64,
}

// === impl Year ===

impl<P: Place> Year<P> {
    /// Begins a year at one of its releases, in a place that is made for that; `again` is the command that tells it again.
    pub fn new(place: impl Fn(usize) -> P, (seed, first): (u64, usize), mortality: u64, again: &str) -> Self {
        let place = place(first);
        let before = |number| Released {
            number,
            at: EPOCH - DAY * 7 * i64::try_from(first - number).expect("small"),
            is_ready: true,
            is_bad: false,
        };
        let mut year = Self {
            place,
            now: EPOCH + 10 * DAY,
            releases: (0..first).map(before).collect(),
            pushes: Vec::new(),
            declined: BTreeSet::new(),
            story: format!("seed {seed}, again by: {again}\n"),
            kills: 0,
            seen: RefCell::default(),
            chance: Chance(seed),
            mortality,
        };
        year.publish();
        year
    }

    pub fn tell(&mut self, what: &str) {
        let _ = writeln!(self.story, "{}: {what}", Timestamp::from_second(self.now).expect("a time"));
    }

    fn publish(&mut self) {
        let number = self.releases.len();
        // Some come before their charts do.
        let is_ready = !self.chance.percent(12);
        self.releases.push(Released { number, at: self.now, is_ready, is_bad: false });
        let late = if is_ready { "" } else { ", without a chart" };
        self.tell(&format!("{} is out{late}", release_of(number)));
    }

    /// Lets so many half-days pass, runs, and holds the rules against what became of it.
    pub fn step(&mut self, half_days: u64) {
        let mut touched = BTreeSet::new();
        for _ in 0..half_days {
            self.now += HALF_DAY;
            // What people do, they did within the last hour.
            self.place.set_clock(self.now - 3600);
            self.world();
            self.people(&mut touched);
        }
        if self.chance.percent(3) {
            let target = ENVIRONMENTS[self.chance.of(3)].0;
            self.tell(&format!("{target} is to be taken back"));
            self.run(Some(target));
        }
        let report = self.run(None);
        self.narrate(&report);
        self.check(&report);
        let (branches, writes) = (self.place.branches(), self.place.writes());
        if self.chance.percent(25) {
            self.place.asked();
            self.pass(None, None);
            assert_eq!(self.place.branches(), branches, "a second run moved a branch\n{}", self.story);
            let asked = self.place.asked();
            assert_eq!(
                self.place.writes(),
                writes,
                "a second run wrote something: {asked:#?}\n{}",
                self.story
            );
        }
    }

    fn narrate(&mut self, report: &RunReport) {
        for stage in &report.stages {
            let outcome = stage.outcome.as_ref().map(|outcome| format!("{outcome:?}")).unwrap_or_default();
            let outcome: String = outcome.chars().take_while(|c| !matches!(c, '(' | '{')).collect();
            let why = match &stage.decision {
                StageDecision::Hold { text, .. } => text.as_str(),
                _ => "",
            };
            if !matches!(outcome.trim(), "" | "Unchanged") {
                self.tell(&format!("  {}, {}: {outcome} {why}", stage.target, stage.stage.name()));
            }
        }
        let at = ENVIRONMENTS.map(|(environment, _)| {
            let at = self.standing(environment);
            format!("{environment} {} ({} to {})", at.control_plane, at.proxies.0, at.proxies.1)
        });
        self.tell(&format!("  {}", at.join(", ")));
    }

    /// Runs until it is done: a run that was killed is followed by another one.
    fn run(&mut self, back: Option<&str>) -> RunReport {
        let end = self.chance.percent(self.mortality).then(|| {
            let n = 1 + self.chance.of(12);
            if self.chance.percent(50) { End::Before(n) } else { End::After(n) }
        });
        if let Some(report) = self.pass(back, end) {
            return report;
        }
        self.kills += 1;
        self.tell(&format!("  killed: {end:?}"));
        self.is_safe();
        // Whoever asked for it asks again.
        self.pass(back, None).expect("a pass that nobody kills")
    }

    fn pass(&self, back: Option<&str>, end: Option<End>) -> Option<RunReport> {
        let pass = Pass { releases: &self.releases, now: self.now, back, end };
        self.place.run(pass).unwrap_or_else(|error| panic!("{error}\n{}", self.story))
    }

    pub fn main(&self) -> CommitId {
        self.place.tip("main").expect("main")
    }

    /// What an environment is at on the base branch.
    pub fn standing(&self, environment: &str) -> Standing {
        self.standing_at(self.main(), environment)
    }

    pub fn standing_at(&self, commit: CommitId, environment: &str) -> Standing {
        let own = ENVIRONMENTS.iter().find(|(name, _)| *name == environment).expect("an environment").0;
        let known = self.seen.borrow().get(&(commit, own)).copied();
        known.unwrap_or_else(|| {
            let at = standing(&self.place.files(commit), own);
            self.seen.borrow_mut().insert((commit, own), at);
            at
        })
    }

    /// Something changes in the world, by chance.
    fn world(&mut self) {
        if self.releases.len() < RELEASES && self.chance.percent(14) {
            self.publish();
        }
        if self.chance.percent(2) {
            let newest = self.releases.len();
            let n = newest - 1 - self.chance.of(2.min(newest));
            self.releases[n].is_bad = true;
            self.tell(&format!("{} is advised against", release_of(n)));
        }
        if self.chance.percent(30)
            && let Some(late) = self.releases.iter_mut().find(|release| !release.is_ready)
        {
            late.is_ready = true;
            let version = release_of(late.number);
            self.tell(&format!("the charts of {version} are there"));
        }
        for (environment, _) in ENVIRONMENTS {
            let state = match self.chance.of(10) {
                0 => "failure",
                1 => "pending",
                2 => continue,
                _ => "success",
            };
            self.place.says(&format!("kustomization/{environment}/1"), state);
            if state != "success" {
                self.tell(&format!("{environment}: {state}"));
            }
        }
    }

    /// People do what they do, by chance. What of an environment changed on the base branch has its checks run again before
    /// the next of it is merged, so that is left to another day: environments that were `touched` since the last run.
    fn people(&mut self, touched: &mut BTreeSet<String>) {
        for pull in self.place.pulls().into_iter().filter(|pull| pull.open) {
            if pull.queued {
                self.queue(&pull, touched);
            } else {
                self.with(&pull, touched);
            }
        }
        match self.chance.of(100) {
            0..15 => {
                let text = format!("{}\n", self.now);
                self.place.commit("main", "Something else", &[("apps/notes.md".to_owned(), text)]);
            }
            15..17 => self.by_hand(1, touched),
            17..20 => self.by_hand(-1, touched),
            20..24 => self.edits_beside(),
            _ => {}
        }
    }

    /// The merge queue goes on with what it has, or gives it back. A branch that somebody pushed to is looked at once more.
    fn queue(&mut self, pull: &Pull, touched: &mut BTreeSet<String>) {
        let Some(marker) = marker::read(&pull.body) else { return };
        let number = pull.number;
        let passes = touched.insert(environment_of(&marker.target).to_owned()) && self.chance.percent(80);
        if passes && self.still_fits(pull, &marker) {
            self.tell(&format!("#{number} is merged by the queue: {}", pull.title));
            self.place.merge_queued(number);
        } else {
            self.tell(&format!("#{number} is taken out of the queue"));
            self.place.leave_queue(number);
        }
    }

    /// One pull request on somebody's desk.
    fn with(&mut self, pull: &Pull, touched: &mut BTreeSet<String>) {
        let Some(marker) = marker::read(&pull.body) else { return };
        let environment = environment_of(&marker.target);
        let number = pull.number;
        let may_merge = |year: &Self, touched: &BTreeSet<String>| {
            !touched.contains(environment)
                && year.place.can_be_merged(&pull.branch)
                && year.is_approved(pull, &marker)
        };
        match self.chance.of(100) {
            0..28 if may_merge(self, touched) => {
                let ways = if self.place.is_linear(&pull.branch) { 3 } else { 2 };
                let how = [Merge::Commit, Merge::Squash, Merge::Rebase][self.chance.of(ways)];
                let delete = self.chance.percent(70);
                self.tell(&format!("#{number} is merged, {how:?}: {}", pull.title));
                self.place.merge(number, how, delete);
                touched.insert(environment.to_owned());
            }
            28..34 if may_merge(self, touched) => {
                self.tell(&format!("#{number} goes into the merge queue: {}", pull.title));
                self.place.enqueue(number);
            }
            34..37 => {
                self.tell(&format!("#{number} is closed: {}", pull.title));
                self.place.close(number);
                self.declined.insert(number);
            }
            37..39 if marker.undoes.is_none() => {
                self.tell(&format!("#{number} is declined by its box: {}", pull.title));
                self.place.tick(number, "Skip ");
                self.declined.insert(number);
            }
            39..43 => {
                let path = format!("docs/{number}-{}.md", self.now);
                let commit = self.place.commit(&pull.branch, "Mine", &[(path, "mine\n".to_owned())]);
                self.pushes.push(Push { number, branch: pull.branch.clone(), commit });
                self.tell(&format!("#{number}: a commit of a person"));
            }
            43..47 if self.place.can_be_merged(&pull.branch) => {
                self.tell(&format!("#{number}: updated from the base branch"));
                self.place.update_branch(number);
            }
            47..49 if !marker.person => {
                self.tell(&format!("#{number}: to be applied to the base branch as it is now"));
                self.place.tick(number, "Apply this to the base branch");
            }
            49..55 if marker.person => {
                self.tell(&format!("#{number}: the branch is handed back"));
                self.place.tick(number, "Hand this branch back");
            }
            _ => {}
        }
    }

    /// Nobody merges what a check blocks.
    fn is_approved(&self, pull: &Pull, marker: &Marker) -> bool {
        !pull.labels.iter().any(|label| label == "linkerd: blocked") && self.still_fits(pull, marker)
    }

    /// A branch that somebody pushed to is on its own, so its reviewer looks whether it still fits what is there.
    fn still_fits(&self, pull: &Pull, marker: &Marker) -> bool {
        if !marker.person && !self.is_pushed_to(pull) {
            return true;
        }
        let at = self.standing(environment_of(&marker.target));
        let to = marker.release;
        match marker.stage.as_str() {
            "platform" => marker.undoes.is_none() && to > at.control_plane && self.can_stand(to, at.proxies),
            _ => to <= at.control_plane && to >= at.proxies.0,
        }
    }

    /// Tells whether somebody's commit is on the branch of a pull request.
    pub fn is_pushed_to(&self, pull: &Pull) -> bool {
        let theirs =
            |push: &Push| push.branch == pull.branch && self.place.contains(&push.branch, push.commit);
        self.pushes.iter().any(theirs)
    }

    fn can_stand(&self, control_plane: EdgeVersion, proxies: (EdgeVersion, EdgeVersion)) -> bool {
        proxies.1 <= control_plane && milestone_of(control_plane) <= milestone_of(proxies.0) + 1
    }

    /// Somebody moves an environment by one release, up or down, as far as Linkerd supports it.
    fn by_hand(&mut self, step: i64, touched: &mut BTreeSet<String>) {
        let environment = ENVIRONMENTS[self.chance.of(3)].0;
        let (files, at) = (self.place.files(self.main()), self.standing(environment));
        let number = i64::try_from(number_of(at.control_plane)).expect("small") + step;
        let to = match usize::try_from(number) {
            Ok(number) if number < self.releases.len() && !touched.contains(environment) => {
                release_of(number)
            }
            _ => return,
        };
        if step > 0 && !self.can_stand(to, at.proxies) {
            return;
        }
        self.place.commit("main", "By hand", &moved_by_hand(&files, environment, to));
        touched.insert(environment.to_owned());
        self.tell(&format!("{environment} by hand from {} to {to}", at.control_plane));
    }

    /// Somebody changes a file that we move, beside what we move in it.
    fn edits_beside(&mut self) {
        let environment = ENVIRONMENTS[self.chance.of(3)].0;
        let all = folders(environment);
        let path = format!("{}/mesh.yaml", all[self.chance.of(all.len())]);
        let text = String::from_utf8_lossy(&self.place.files(self.main())[&path]).into_owned();
        let text = match text.strip_prefix("# ") {
            Some(rest) => format!("# {}\n{}", self.now, rest.split_once('\n').expect("lines").1),
            None => format!("# {}\n{text}", self.now),
        };
        self.tell(&format!("{path} is edited"));
        self.place.commit("main", "A note", &[(path, text)]);
    }

    /// Counts what was merged.
    pub fn merged(&self) -> usize {
        self.place.pulls().iter().filter(|pull| pull.merged).count()
    }

    /// Tells how much happened.
    pub fn summary(&self) -> String {
        let pulls = self.place.pulls();
        let merged = self.merged();
        let milestones = milestone_of(release_of(self.releases.len() - 1));
        format!(
            "{} pull requests, {merged} merged; up to release {} of milestone {milestones}, {} kills",
            pulls.len(),
            self.releases.len(),
            self.kills
        )
    }
}
