//! Where a run ends: refs, pull requests and statuses, comparable between two scenes.

use std::collections::BTreeMap;

use git2::Oid;

use crate::support::{
    flavor::Flavor,
    process::{Home, Run},
    scene::{REPO, Scene, TOKEN, unaddressed},
};

/// What is left on the host when a run has ended.
#[derive(Debug, PartialEq, Eq)]
pub struct Place {
    refs: BTreeMap<String, String>,
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
    head_sha: String,
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
        let known = signed_commits(scene);
        let named =
            |text: &str| known.iter().fold(text.to_owned(), |text, (id, name)| text.replace(id, name));
        let mut statuses = BTreeMap::new();
        let pulls = scene.github.pulls(REPO);
        for sha in scene.repo.refs().values().copied().chain(pulls.iter().map(|p| p.head_sha)) {
            for status in scene.github.statuses(REPO, sha) {
                statuses.insert((named(&status.sha), status.context), (status.state, status.description));
            }
        }
        let pull = |pull: &crate::support::github::Pull| Pull {
            number: pull.number,
            title: pull.title.clone(),
            // By line, so that a failure shows where two bodies part.
            body: named(&unaddressed(pull.body.as_deref().unwrap_or_default(), &url))
                .lines()
                .map(str::to_owned)
                .collect(),
            open: pull.open,
            draft: pull.draft,
            merged: pull.merged_at.is_some(),
            head: pull.head_ref.clone(),
            head_sha: named(&pull.head_sha.to_string()),
            base: pull.base_ref.clone(),
            labels: sorted(&pull.labels),
            reviewers: sorted(&pull.reviewers),
            assignees: sorted(&pull.assignees),
        };
        let refs = scene.repo.refs().into_iter().map(|(name, id)| (name, named(&id.to_string()))).collect();
        Self { refs, pulls: pulls.iter().map(pull).collect(), statuses }
    }
}

/// The commits that the host made and signed, each with a name that does not hang on when that was.
fn signed_commits(scene: &Scene) -> Vec<(String, String)> {
    let repo = scene.repo.open();
    let mut walk = repo.revwalk().expect("a walk");
    walk.set_sorting(git2::Sort::TOPOLOGICAL | git2::Sort::REVERSE).expect("an order");
    let tips =
        scene.repo.refs().into_values().chain(scene.github.pulls(REPO).into_iter().map(|pull| pull.head_sha));
    tips.for_each(|tip| walk.push(tip).expect("a commit"));
    let mut known: Vec<(String, String)> = Vec::new();
    for id in walk {
        let id = id.expect("a commit");
        let commit = repo.find_commit(id).expect("a commit");
        let parents: Vec<String> = commit.parent_ids().map(|parent| parent.to_string()).collect();
        let of_signed = parents.iter().any(|parent| known.iter().any(|(id, _)| id == parent));
        if commit.header_field_bytes("gpgsig").is_ok() || of_signed {
            let parents = known.iter().fold(parents.join(" "), |text, (id, name)| text.replace(id, name));
            let text = format!("{} {parents} {}", commit.tree_id(), commit.message().unwrap_or_default());
            let hash = Oid::hash_object(git2::ObjectType::Blob, text.as_bytes()).expect("a hash");
            known.push((id.to_string(), format!("signed-{hash}")));
        }
    }
    known
}

/// A run of the scene from another home, so with another cache.
pub fn run_from(scene: &Scene, home: &Home) -> Run {
    let run = home.run(["run", "--repo", &scene.github.url(REPO)]);
    let run = run.args(scene.feed.flags()).args(["--forge", "github"]).env("UPLINKER_TOKEN", TOKEN);
    if scene.flavor == Flavor::Signing { run.env("UPLINKER_COMMITS", "api") } else { run }
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
