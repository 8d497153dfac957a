//! Tests of whose a head is: by its content, and by what a merge adds.

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
    let amended = format!("Other words\n\n{}Signed-off-by: A <a@example.org>\n\nA last word.\n", message(20));
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
