//! What people, other bots and GitHub itself do to pull requests while the program is not looking.

use std::sync::Arc;

use git2::Oid;

use super::{
    GitHub,
    state::{Draft, Event, Pull, State, Status, owner_of},
};
use crate::support::repo::{FORGE, Person};

/// The three buttons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    Commit,
    Squash,
    Rebase,
}

// === impl GitHub ===

impl GitHub {
    /// Returns the pull requests, oldest first, as GitHub sees them now.
    pub fn pulls(&self, repo: &str) -> Vec<Pull> {
        let mut state = self.lock();
        state.follow(repo, "ghost");
        state.repo(repo).expect("the repository").pulls.values().cloned().collect()
    }

    /// Returns one pull request.
    pub fn pull(&self, repo: &str, number: u64) -> Pull {
        let found = self.pulls(repo).into_iter().find(|pull| pull.number == number);
        found.unwrap_or_else(|| panic!("no pull request {number} in {repo}"))
    }

    /// Returns the events of a pull request by name.
    pub fn events(&self, repo: &str, number: u64) -> Vec<String> {
        self.pull(repo, number).events.into_iter().map(|Event { event, .. }| event).collect()
    }

    /// Returns the statuses of a commit, oldest first.
    pub fn statuses(&self, repo: &str, commit: Oid) -> Vec<Status> {
        let state = self.lock();
        let all = &state.repo(repo).expect("the repository").statuses;
        all.iter().filter(|status| status.sha == commit.to_string()).cloned().collect()
    }

    /// A person, or a bot whose login ends in `[bot]`, closes a pull request.
    pub fn close(&self, repo: &str, number: u64, who: &str) {
        self.lock().note(repo, number, who, "closed");
    }

    /// Somebody opens a closed pull request again.
    pub fn reopen(&self, repo: &str, number: u64, who: &str) {
        self.lock().note(repo, number, who, "reopened");
    }

    /// Somebody edits the body in a browser, whose form sends every line with CRLF.
    pub fn edit_body(&self, repo: &str, number: u64, edit: impl FnOnce(&str) -> String) {
        self.change(repo, number, |pull| {
            let text = edit(&pull.body.as_deref().unwrap_or_default().replace("\r\n", "\n"));
            pull.body = Some(text.replace("\r\n", "\n").replace('\n', "\r\n"));
        });
    }

    /// Lets something happen in the moment before a request is handled.
    pub fn before(&self, (method, pattern): (&str, &str), act: impl Fn(&mut State) + Send + Sync + 'static) {
        let state = Arc::clone(&self.state);
        self.controls.rules.before(method, pattern, move |_| act(&mut state.lock().expect("no poison")));
    }

    /// Somebody ticks the checkbox whose line contains `words`; panics when there is none to tick.
    pub fn tick(&self, repo: &str, number: u64, words: &str) {
        self.edit_body(repo, number, |body| {
            let line = body.lines().find(|line| line.contains("- [ ]") && line.contains(words));
            let line = line.unwrap_or_else(|| panic!("no empty checkbox with `{words}` in:\n{body}"));
            body.replacen(line, &line.replacen("- [ ]", "- [x]", 1), 1)
        });
    }

    /// Changes anything about a pull request.
    pub fn change(&self, repo: &str, number: u64, change: impl FnOnce(&mut Pull)) {
        let mut state = self.lock();
        let at = state.tick();
        let pull = state.repo_mut(repo).and_then(|repo| repo.pulls.get_mut(&number));
        let pull = pull.unwrap_or_else(|| panic!("no pull request {number} in {repo}"));
        change(pull);
        pull.updated_at = at;
    }

    /// Somebody presses a merge button, and perhaps *Delete branch* after it.
    pub fn merge(&self, repo: &str, number: u64, how: Merge, who: &str, delete_branch: bool) -> Oid {
        let pull = self.pull(repo, number);
        assert!(pull.open, "pull request {number} is not open");
        super::merging::merged(&mut self.lock(), repo, number, how, who, delete_branch)
    }

    /// Somebody presses *Update branch*: the base is merged into the head.
    pub fn update_branch(&self, repo: &str, number: u64, who: &Person) -> Oid {
        let pull = self.pull(repo, number);
        let mut state = self.lock();
        let bare = state.repo(repo).expect("the repository").bare.clone();
        let message = format!("Merge branch '{}' into {}", pull.base_ref, pull.head_ref);
        let commit = bare.merge(&pull.head_ref, &pull.base_ref, who, &message).expect("no conflict");
        state.follow(repo, who.name);
        commit
    }

    /// Somebody removes a branch on its page; open pull requests from it and into it are closed.
    pub fn delete_branch(&self, repo: &str, branch: &str, who: &str) {
        let mut state = self.lock();
        state.repo(repo).expect("the repository").bare.delete_branch(branch);
        state.follow(repo, who);
    }

    /// Somebody renames a branch in the settings; pull requests into it follow, those from it are closed.
    pub fn rename_branch(&self, repo: &str, old: &str, new: &str, who: &str) {
        let mut state = self.lock();
        let stored = state.repo_mut(repo).expect("the repository");
        stored.bare.rename_branch(old, new);
        let mut retargeted = Vec::new();
        for pull in stored.pulls.values_mut().filter(|pull| pull.open && pull.base_ref == old) {
            new.clone_into(&mut pull.base_ref);
            retargeted.push(pull.number);
        }
        for number in retargeted {
            state.note(repo, number, who, "automatic_base_change_succeeded");
        }
        state.follow(repo, who);
    }

    /// Somebody renames a repository, or moves it to another owner; the old name redirects.
    pub fn rename(&self, old: &str, new: &str) {
        let mut state = self.lock();
        let repo = state.repos.remove(old).expect("the repository");
        state.repos.insert(new.to_owned(), repo);
        state.renamed.insert(old.to_owned(), new.to_owned());
        let place = |name: &str| self.home.path().join(format!("{name}.git"));
        let folder = place(new);
        std::fs::create_dir_all(folder.parent().expect("an owner's folder")).expect("a folder");
        std::os::unix::fs::symlink(place(old), folder).expect("a link");
    }

    /// Somebody puts a pull request into the merge queue, which begins to test it.
    pub fn enqueue(&self, repo: &str, number: u64, who: &str) -> String {
        let pull = self.pull(repo, number);
        let mut state = self.lock();
        let bare = state.repo(repo).expect("the repository").bare.clone();
        let base = bare.tip(&pull.base_ref).expect("the base branch");
        let branch = format!("gh-readonly-queue/{}/pr-{number}-{base}", pull.base_ref);
        bare.branch(&branch, &pull.base_ref);
        let message = format!("Merge pull request #{number} from {}/{}", owner_of(repo), pull.head_ref);
        bare.merge(&branch, &pull.head_ref, &FORGE, &message).expect("no conflict");
        state.note(repo, number, who, "added_to_merge_queue");
        branch
    }

    /// The merge queue merges what it has tested.
    pub fn merge_queued(&self, repo: &str, number: u64) {
        let pull = self.pull(repo, number);
        let mut state = self.lock();
        let branch = state.queued(repo, number).expect("a queued pull request");
        let bare = state.repo(repo).expect("the repository").bare.clone();
        let tested = bare.tip(&branch).expect("the queue's branch");
        bare.set_tip(&pull.base_ref, tested);
        bare.delete_branch(&branch);
        let queue = "github-merge-queue[bot]";
        for event in ["removed_from_merge_queue", "merged", "closed"] {
            state.note(repo, number, queue, event);
        }
        if let Some(pull) = state.repo_mut(repo).and_then(|repo| repo.pulls.get_mut(&number)) {
            pull.merge_commit = Some(tested);
        }
        state.follow(repo, queue);
    }

    /// Somebody opens a pull request from a fork's branch, at a commit that the repository already has.
    pub fn fork_pull(&self, repo: &str, owner: &str, branch: &str, base: &str, head: Oid) -> u64 {
        let draft = Draft {
            title: "From a fork",
            body: None,
            head_owner: owner,
            head_ref: branch,
            head_sha: head,
            base_ref: base,
            draft: false,
            author: owner,
        };
        self.lock().open_pull(repo, &draft)
    }

    /// Somebody opens a pull request from a branch of the repository.
    pub fn open_pull(&self, repo: &str, who: &str, branch: &str, base: &str, title: &str) -> u64 {
        let mut state = self.lock();
        let head_sha = state.repo(repo).and_then(|repo| repo.bare.tip(branch)).expect("the branch");
        let draft = Draft {
            title,
            body: None,
            head_owner: owner_of(repo),
            head_ref: branch,
            head_sha,
            base_ref: base,
            draft: false,
            author: who,
        };
        state.open_pull(repo, &draft)
    }
}
