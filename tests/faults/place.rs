//! Where a run ends: refs, pull requests and statuses, comparable between two scenes.

use std::collections::BTreeMap;

use git2::Oid;

use super::support::{
    process::{Home, Run},
    scene::{REPO, Scene, TOKEN, unaddressed},
};

/// What is left on the host when a run has ended.
#[derive(Debug, PartialEq, Eq)]
pub struct Place {
    refs: BTreeMap<String, Oid>,
    pulls: Vec<Pull>,
    /// Commit and context to state and description; the last of each counts.
    statuses: BTreeMap<(String, String), (String, Option<String>)>,
}

#[derive(Debug, PartialEq, Eq)]
struct Pull {
    number: u64,
    title: String,
    body: Vec<String>,
    open: bool,
    draft: bool,
    merged: bool,
    head: String,
    head_sha: Oid,
    base: String,
    labels: Vec<String>,
    reviewers: Vec<String>,
    assignees: Vec<String>,
}

// === impl Place ===

impl Place {
    /// Looks at the scene's repository. A pull request that was made and closed again counts as well.
    pub fn of(scene: &Scene) -> Self {
        let sorted = |names: &[String]| {
            let mut names = names.to_vec();
            names.sort();
            names
        };
        let url = scene.github.server().url();
        let mut statuses = BTreeMap::new();
        let pulls = scene.github.pulls(REPO);
        for sha in scene.repo.refs().values().copied().chain(pulls.iter().map(|p| p.head_sha)) {
            for status in scene.github.statuses(REPO, sha) {
                statuses.insert((status.sha, status.context), (status.state, status.description));
            }
        }
        let pull = |pull: &super::support::github::Pull| Pull {
            number: pull.number,
            title: pull.title.clone(),
            // By line, so that a failure shows where two bodies part.
            body: unaddressed(pull.body.as_deref().unwrap_or_default(), &url)
                .lines()
                .map(str::to_owned)
                .collect(),
            open: pull.open,
            draft: pull.draft,
            merged: pull.merged_at.is_some(),
            head: pull.head_ref.clone(),
            head_sha: pull.head_sha,
            base: pull.base_ref.clone(),
            labels: sorted(&pull.labels),
            reviewers: sorted(&pull.reviewers),
            assignees: sorted(&pull.assignees),
        };
        Self { refs: scene.repo.refs(), pulls: pulls.iter().map(pull).collect(), statuses }
    }
}

/// A run of the scene from another home, so with another cache.
pub fn run_from(scene: &Scene, home: &Home) -> Run {
    let run = home.run(["run", "--repo", &scene.github.url(REPO)]);
    run.args(scene.feed.flags()).args(["--forge", "github"]).env("UPLINKER_TOKEN", TOKEN)
}

/// Runs without faults, which ends well at once, since nothing is wrong any more; returns what it said.
pub fn complete(scene: &Scene) -> String {
    scene.github.controls().rules.clear();
    scene.github.controls().writes.clear();
    scene.run().done().exits(0).never_says(TOKEN).to_string()
}

/// Runs once more and asserts that nothing is written.
pub fn settled(scene: &Scene) {
    let writes = &scene.github.controls().writes;
    let before = writes.count();
    let done = complete(scene);
    assert_eq!(writes.count(), before, "a run with nothing to do writes\n{done}");
}
