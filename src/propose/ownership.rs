//! Step 10, propose: whose the head of our branch is.
//!
//! In: the commits and trees that were read of the branch. Out: an [`Ownership`]. A head is ours by its content,
//! never by its author's name, which anybody can write. Pure: [`Evidence`] says what has to be read.

use std::collections::{BTreeMap, BTreeSet};

use crate::repo::{BlobId, CommitId, CommitInfo, Entry, Mode, RepoPath};

/// The trailer that names a commit's own tree.
pub const TREE_TRAILER: &str = "Uplinker-Tree";
/// The trailer that names the plan's fingerprint.
pub const PLAN_TRAILER: &str = "Uplinker-Plan";

/// Whose a head is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// Its tree is the one that its trailer names: nobody changed what we wrote.
    Ours {
        /// The fingerprint of the plan that it carries, where its trailer is still there.
        plan: Option<String>,
    },
    /// A merge of the base branch into ours that changes nothing of ours: what *Update branch* makes.
    OursMergedWithBase {
        /// The fingerprint of the plan that our commit below carries.
        plan: Option<String>,
        /// Our commit below the merges.
        root: CommitId,
        /// The commit of the base branch that was merged last.
        base: CommitId,
    },
    /// Anything else.
    Person,
}

/// What has to be read of a branch to tell.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// The tip, then its first parent and so on, as long as they are merges without our trailer, then one more.
    pub chain: Vec<CommitInfo>,
    /// The second parents of the chain that are reachable from the base branch.
    pub on_base: BTreeSet<CommitId>,
    /// The trees to compare, where the tip is a merge.
    pub merged: Option<Merged>,
}

/// The trees around a merge.
#[derive(Clone, Debug, Default)]
pub struct Merged {
    /// Of the merge itself.
    pub tip: Vec<Entry>,
    /// Of our commit below.
    pub ours: Vec<Entry>,
    /// Of the commit of the base branch that was merged last.
    pub base: Vec<Entry>,
    /// The files that both sides changed, and that the merge has as Git merges them by itself.
    pub by_git: BTreeSet<RepoPath>,
}

// === impl Merged ===

impl Merged {
    /// Returns the files of the merge that are of neither side, where both have them.
    pub fn apart(&self) -> Vec<RepoPath> {
        let (tip, ours, base) = (index(&self.tip), index(&self.ours), index(&self.base));
        let is_apart = |(path, now): &(&RepoPath, (BlobId, Mode))| {
            let sides = ours.get(path).zip(base.get(path));
            sides.is_some_and(|(ours, base)| ours != now && base != now && ours.1 == now.1 && base.1 == now.1)
        };
        tip.into_iter().filter(is_apart).map(|(path, _)| path.clone()).collect()
    }
}

/// The files that a plan writes, and what it makes of each; nothing of one that it removes.
pub type Planned = BTreeMap<RepoPath, Option<(BlobId, Mode)>>;

/// The plan that is wanted now: where the head carries the same, its files are known.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// Its fingerprint.
    pub fingerprint: &'a str,
    /// The files of its change set.
    pub files: &'a Planned,
}

/// Tells whose a head is.
pub fn classify(evidence: &Evidence, known: Option<Known<'_>>) -> Ownership {
    let Some(tip) = evidence.chain.first() else { return Ownership::Person };
    if is_written_by_us(tip) {
        return Ownership::Ours { plan: plan_of(tip) };
    }
    let (Some((root, merges)), Some(merged)) = (evidence.chain.split_last(), &evidence.merged) else {
        return Ownership::Person;
    };
    let update = |c: &CommitInfo| {
        c.parents.len() == 2 && c.parents.get(1).is_some_and(|p| evidence.on_base.contains(p))
    };
    let Some(base) = tip.parents.get(1).copied() else { return Ownership::Person };
    let plan = plan_of(root);
    let carried = known.is_some_and(|k| plan.as_deref() == Some(k.fingerprint));
    let files = known.map(|k| k.files);
    if !merges.iter().all(update) || !is_written_by_us(root) || !adds_nothing(merged, files, carried) {
        return Ownership::Person;
    }
    Ownership::OursMergedWithBase { plan, root: root.id, base }
}

/// Tells whether a commit's tree is the one that its trailer names.
pub fn is_written_by_us(commit: &CommitInfo) -> bool {
    let tree = commit.tree.to_string();
    // Any of them may name it: a squash of two of ours carries two trailers.
    trailers(&commit.message, TREE_TRAILER).any(|named| named == tree)
}

/// Returns the fingerprint that a commit of ours carries.
pub fn plan_of(commit: &CommitInfo) -> Option<String> {
    trailers(&commit.message, PLAN_TRAILER).last().map(str::to_owned)
}

fn trailers<'a>(message: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    message.lines().filter_map(move |line| Some(line.strip_prefix(key)?.strip_prefix(": ")?.trim()))
}

/// A merge adds nothing when each of its files is what the wanted plan makes of it, or comes from one of its sides:
/// from ours in the change set, from the base branch elsewhere. Where ours carries another plan, whose change set is
/// not known, either side will do, or what Git makes of both. A file of the change set that changed on the base branch is
/// of neither side, but merged it is what the plan makes of the new base.
fn adds_nothing(merged: &Merged, files: Option<&Planned>, carried: bool) -> bool {
    let (tip, ours, base) = (index(&merged.tip), index(&merged.ours), index(&merged.base));
    let paths: BTreeSet<&RepoPath> = tip.keys().chain(ours.keys()).chain(base.keys()).copied().collect();
    paths.into_iter().all(|path| {
        let (now, from_ours, from_base) = (tip.get(path), ours.get(path), base.get(path));
        match files.and_then(|files| files.get(path)) {
            Some(planned) if now.copied() == *planned => true,
            Some(_) if carried => now == from_ours,
            None if carried => now == from_base,
            _ => now == from_ours || now == from_base || merged.by_git.contains(path),
        }
    })
}

fn index(entries: &[Entry]) -> BTreeMap<&RepoPath, (BlobId, Mode)> {
    entries.iter().map(|e| (&e.path, (e.id, e.mode))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::TreeId;

    fn id<I: From<[u8; 20]>>(n: u8) -> I {
        I::from([n; 20])
    }

    fn commit(n: u8, tree: u8, parents: &[u8], message: &str) -> CommitInfo {
        CommitInfo {
            id: id(n),
            tree: id(tree),
            parents: parents.iter().map(|p| id(*p)).collect(),
            message: message.into(),
            time: jiff::Timestamp::UNIX_EPOCH,
        }
    }

    fn message(tree: u8) -> String {
        format!("Subject\n\nUplinker-Plan: f1\nUplinker-Tree: {}\n", id::<TreeId>(tree))
    }

    fn entries(files: &[(&str, u8)]) -> Vec<Entry> {
        let entry = |(path, n): &(&str, u8)| Entry {
            path: RepoPath::new(*path).expect("a path"),
            id: id(*n),
            mode: Mode::File,
        };
        files.iter().map(entry).collect()
    }

    /// The wanted plan makes blob 7 of the pin.
    fn files() -> Planned {
        BTreeMap::from([(RepoPath::new("pin").expect("a path"), Some((id(7), Mode::File)))])
    }

    fn alone(tip: CommitInfo) -> Ownership {
        classify(&Evidence { chain: vec![tip], ..Evidence::default() }, None)
    }

    /// Ours (2) on base (1), which then went on to 3; 4 merges 3 into 2.
    fn update(tip: &[(&str, u8)]) -> Evidence {
        Evidence {
            chain: vec![commit(4, 40, &[2, 3], "Merge branch 'main'"), commit(2, 20, &[1], &message(20))],
            on_base: BTreeSet::from([id(3)]),
            merged: Some(Merged {
                tip: entries(tip),
                ours: entries(&[("pin", 2), ("app", 1)]),
                base: entries(&[("pin", 1), ("app", 3), ("new", 3)]),
                by_git: BTreeSet::new(),
            }),
        }
    }

    fn with_plan(evidence: &Evidence, fingerprint: &str) -> Ownership {
        classify(evidence, Some(Known { fingerprint, files: &files() }))
    }

    #[test]
    fn a_commit_is_ours_by_its_tree() {
        assert_eq!(alone(commit(2, 20, &[1], &message(20))), Ownership::Ours { plan: Some("f1".into()) });
        assert_eq!(alone(commit(2, 20, &[1], &message(21))), Ownership::Person, "a trailer of another tree");
        assert_eq!(alone(commit(2, 20, &[1], "Fix by hand")), Ownership::Person);
        assert_eq!(
            alone(commit(2, 20, &[1], &format!("Quote\n\n> {}", message(20)))).clone(),
            alone(commit(2, 20, &[1], &message(20)))
        );
    }

    #[test]
    fn an_amended_message_leaves_it_ours() {
        let amended =
            format!("Other words\n\n{}Signed-off-by: A <a@example.org>\n\nA last word.\n", message(20));
        assert_eq!(alone(commit(9, 20, &[1], &amended)), Ownership::Ours { plan: Some("f1".into()) });
        assert_eq!(
            alone(commit(9, 20, &[1], &format!("Only the tree\n\nUplinker-Tree: {}", id::<TreeId>(20)))),
            Ownership::Ours { plan: None }
        );
    }

    #[test]
    fn update_branch_leaves_it_ours() {
        let merged = update(&[("pin", 2), ("app", 3), ("new", 3)]);
        let ours = Ownership::OursMergedWithBase { plan: Some("f1".into()), root: id(2), base: id(3) };
        assert_eq!(with_plan(&merged, "f1"), ours);
        assert_eq!(with_plan(&merged, "f2"), ours, "also under a newer plan");
        let mut twice = merged.clone();
        twice.chain.insert(0, commit(6, 40, &[4, 5], "Merge branch 'main'"));
        twice.on_base.insert(id(5));
        assert_eq!(
            with_plan(&twice, "f1"),
            Ownership::OursMergedWithBase { plan: Some("f1".into()), root: id(2), base: id(5) }
        );
    }

    #[test]
    fn a_merged_file_that_is_as_the_plan_wants_it_leaves_it_ours() {
        let merged = update(&[("pin", 7), ("app", 3), ("new", 3)]);
        assert!(matches!(with_plan(&merged, "f2"), Ownership::OursMergedWithBase { .. }));
        assert_eq!(classify(&merged, None), Ownership::Person, "nothing says that it is wanted so");
        let mut executable = merged.clone();
        executable.merged.as_mut().expect("trees").tip[0].mode = Mode::Executable;
        assert_eq!(with_plan(&executable, "f2"), Ownership::Person);
        let elsewhere = update(&[("pin", 7), ("app", 7), ("new", 3)]);
        assert_eq!(with_plan(&elsewhere, "f2"), Ownership::Person, "the plan does not write this file");
    }

    #[test]
    fn a_merge_that_does_more_is_a_persons() {
        for tip in [
            &[("pin", 1), ("app", 3), ("new", 3)][..],
            &[("pin", 9), ("app", 3), ("new", 3)],
            &[("pin", 2), ("app", 9), ("new", 3)],
            &[("pin", 2), ("app", 3)],
            &[("pin", 2), ("app", 1), ("new", 3)],
            &[("pin", 2), ("app", 3), ("new", 3), ("extra", 1)],
        ] {
            assert_eq!(with_plan(&update(tip), "f1"), Ownership::Person, "{tip:?}");
        }
    }

    #[test]
    fn a_merge_of_something_else_is_a_persons() {
        let sound = [("pin", 2), ("app", 3), ("new", 3)];
        let mut other = update(&sound);
        other.on_base.clear();
        assert_eq!(with_plan(&other, "f1"), Ownership::Person, "not a merge of the base branch");
        let mut octopus = update(&sound);
        octopus.chain[0].parents.push(id(7));
        assert_eq!(with_plan(&octopus, "f1"), Ownership::Person);
        let mut below = update(&sound);
        below.chain[1].message = "By hand".into();
        assert_eq!(with_plan(&below, "f1"), Ownership::Person);
        let mut swapped = update(&sound);
        swapped.chain[0].parents.reverse();
        assert_eq!(with_plan(&swapped, "f1"), Ownership::Person, "our branch merged into the base branch");
        assert_eq!(classify(&Evidence::default(), None), Ownership::Person);
    }
}
