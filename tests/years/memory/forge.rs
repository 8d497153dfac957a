//! What a forge promises of its pull requests.

use std::collections::BTreeMap;

use uplinker::{
    policy::StatusCheck,
    propose::forge::{
        Closer, Extras, Forge, ForgeError, NewPull, OpenPulls, PullPatch, PullRequest, PullState, Status,
    },
    repo::{CommitId, Refs, Signature},
};

use super::{Kept, Memory};

impl Forge for Memory {
    fn pulls(&self, branch: &str) -> Result<Vec<PullRequest>, ForgeError> {
        let pulls = self.pulls.borrow();
        Ok(pulls.iter().rev().filter(|kept| kept.branch == branch).map(|kept| kept.pull.clone()).collect())
    }

    fn open_pulls(&self, branches: &[String]) -> Result<Option<OpenPulls>, ForgeError> {
        let mut open = OpenPulls::new();
        for kept in self.pulls.borrow().iter().filter(|kept| kept.pull.state == PullState::Open) {
            if branches.contains(&kept.branch) {
                open.entry(kept.branch.clone()).or_default().push(kept.pull.clone());
            }
        }
        Ok(Some(open))
    }

    fn pull(&self, number: u64) -> Result<PullRequest, ForgeError> {
        Ok(self.change(number, |kept| kept.pull.clone()))
    }

    fn closer(&self, number: u64) -> Result<Closer, ForgeError> {
        Ok(self.change(number, |kept| kept.closer.clone()))
    }

    fn is_queued(&self, pull: &PullRequest, _: &Refs) -> bool {
        self.change(pull.number, |kept| kept.queued)
    }

    fn open(&self, new: &NewPull) -> Result<PullRequest, ForgeError> {
        let is_open = |kept: &Kept| kept.branch == new.head && kept.pull.state == PullState::Open;
        if self.pulls.borrow().iter().any(is_open) {
            let reason = format!("A pull request already exists for {}.", new.head);
            return Err(ForgeError::Rejected { what: "cannot open the pull request".to_owned(), reason });
        }
        let number = self.pulls.borrow().len() as u64 + 1;
        let pull = PullRequest {
            number,
            url: format!("https://forge.example/acme/config/pull/{number}"),
            state: PullState::Open,
            title: new.title.clone(),
            body: new.body.clone(),
            head: self.at(&new.head).to_string(),
            base: new.base.clone(),
            closed_at: None,
            labels: Vec::new(),
            draft: false,
        };
        let kept =
            Kept { pull: pull.clone(), branch: new.head.clone(), queued: false, closer: Closer::Unknown };
        self.write(format!("open {}", new.head), || self.pulls.borrow_mut().push(kept));
        Ok(pull)
    }

    fn update(&self, number: u64, patch: &PullPatch) -> Result<(), ForgeError> {
        self.write(format!("update #{number}"), || {
            self.change(number, |kept| {
                kept.pull.title = patch.title.clone().unwrap_or_else(|| kept.pull.title.clone());
                kept.pull.body = patch.body.clone().unwrap_or_else(|| kept.pull.body.clone());
            });
            if patch.state == Some(PullState::Closed)
                && self.change(number, |kept| kept.pull.state) == PullState::Open
            {
                self.close_as(number, PullState::Closed, Closer::Bot("uplinker".to_owned()));
            }
        });
        Ok(())
    }

    fn add_labels_and_reviewers(
        &self,
        pull: &PullRequest,
        extras: &Extras,
    ) -> Result<Vec<String>, ForgeError> {
        self.write(format!("label #{}", pull.number), || {
            self.change(pull.number, |kept| {
                let new = extras.labels.iter().filter(|label| !kept.pull.labels.contains(label));
                let new: Vec<String> = new.cloned().collect();
                kept.pull.labels.extend(new);
            });
        });
        Ok(Vec::new())
    }

    fn unlabel(&self, number: u64, label: &str) -> Result<(), ForgeError> {
        self.write(format!("unlabel #{number}"), || {
            self.change(number, |kept| kept.pull.labels.retain(|own| own != label));
        });
        Ok(())
    }

    fn status(&self, commit: CommitId, _: &Status, _: Option<&str>) -> Result<(), ForgeError> {
        self.write(format!("status {commit}"), || ());
        Ok(())
    }

    fn status_checks(&self, commits: &[CommitId]) -> Result<Option<Vec<StatusCheck>>, ForgeError> {
        // The last word of each name on each commit.
        let mut last = BTreeMap::new();
        for (commit, check) in self.checks.borrow().iter().filter(|(commit, _)| commits.contains(commit)) {
            last.insert((*commit, check.name.clone()), check.clone());
        }
        Ok(Some(last.into_values().collect()))
    }

    fn identity(&self) -> Result<Option<Signature>, ForgeError> {
        Ok(None)
    }

    fn compare_url(&self, _: &str, _: &str) -> Option<String> {
        None
    }
}
