//! Where a year happens: a repository and its forge, with what people do there, and one pass of the program.

use std::{collections::BTreeMap, rc::Rc};

use jiff::Timestamp;
use uplinker::{
    pipeline::{self, Operator, Rollback},
    plan::Served,
    propose::forge::Forge,
    release::NoMirrors,
    render::Off,
    repo::{CommitId, Upstream},
    report::RunReport,
};

use super::fleet::{self, Released};
use crate::support::github::Merge;

pub type Files = Rc<BTreeMap<String, Vec<u8>>>;

/// A pull request as people see it.
#[derive(Clone, Debug)]
pub struct Pull {
    pub number: u64,
    pub open: bool,
    pub merged: bool,
    pub branch: String,
    pub head: CommitId,
    pub title: String,
    pub body: String,
    pub labels: Vec<String>,
    pub queued: bool,
}

/// Where the program ends all of a sudden, in writes of this pass, counted from 1.
#[derive(Clone, Copy, Debug)]
pub enum End {
    Before(usize),
    After(usize),
}

/// One pass of the program.
#[derive(Clone, Copy)]
pub struct Pass<'a> {
    pub releases: &'a [Released],
    pub now: i64,
    /// The target that is to be taken back; an ordinary run where none is.
    pub back: Option<&'a str>,
    pub end: Option<End>,
}

pub trait Place {
    fn set_clock(&self, now: i64);

    // What is there.
    fn branches(&self) -> BTreeMap<String, CommitId>;
    fn files(&self, commit: CommitId) -> Files;
    /// The commits of `main`, newest first, by first parents, with their dates.
    fn line(&self) -> Vec<(CommitId, i64)>;
    fn contains(&self, branch: &str, commit: CommitId) -> bool;
    fn pulls(&self) -> Vec<Pull>;
    /// How many requests have changed something, of the program.
    fn writes(&self) -> usize;
    /// What was asked since the last call, for whoever has to understand a failure.
    fn asked(&self) -> Vec<String>;

    // What people do.
    fn commit(&self, branch: &str, message: &str, changes: &[(String, String)]) -> CommitId;
    fn can_be_merged(&self, branch: &str) -> bool;
    /// Whether no merge is on the branch: one that has some is one that GitHub does not rebase.
    fn is_linear(&self, branch: &str) -> bool;
    fn merge(&self, number: u64, how: Merge, delete: bool);
    fn close(&self, number: u64);
    fn update_branch(&self, number: u64);
    fn tick(&self, number: u64, words: &str);
    fn enqueue(&self, number: u64);
    /// The queue merges what it has tested, onto `main` as it is now.
    fn merge_queued(&self, number: u64);
    fn leave_queue(&self, number: u64);
    /// A deployer says something of the last commit of `main`.
    fn says(&self, context: &str, state: &str);

    /// Lets the program make a pass; nothing comes back of one that was killed.
    fn run(&self, pass: Pass<'_>) -> Result<Option<RunReport>, String>;

    fn tip(&self, branch: &str) -> Option<CommitId> {
        self.branches().get(branch).copied()
    }
}

// === impl Pass ===

impl Pass<'_> {
    /// Makes the pass, with the real pipeline.
    pub fn make(&self, remote: &dyn Upstream, forge: &dyn Forge) -> Result<RunReport, String> {
        let catalog = fleet::catalog(self.releases);
        let operator = Operator {
            catalog: &catalog,
            served: &Served::default(),
            mirrors: &NoMirrors,
            renderer: &Off,
            cache: None,
            to: None,
            now: Timestamp::from_second(self.now).expect("a time"),
            progress: &|_| (),
        };
        let done = match self.back {
            None => pipeline::run(remote, forge, &operator),
            Some(target) => {
                let wanted = Rollback { target: Some(target), dry_run: false };
                pipeline::roll_back(remote, forge, &operator, wanted)
            }
        };
        done.map_err(|error| error.to_string())
    }
}
