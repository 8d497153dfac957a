//! One input after another is changed: either the hash is another, or what would be written is the same, to the byte.

mod changes;
mod world;

use std::collections::BTreeSet;

use super::*;
use crate::{
    config,
    pins::{SkipReason, Skipped, Stage},
    pipeline::{survey::Survey, targets::Aim},
    plan::testing::edge,
    policy::Promoted,
    release::NoMirrors,
    render::Off,
};
use changes::{Change, of_catalog, of_files, of_the_rest};
use world::World;

/// How often nothing had to be made again, and how often what was made was another.
#[derive(Debug, Default)]
struct Counts {
    kept: BTreeSet<String>,
    other: usize,
}

/// Changes a world in each way, and compares the hash with what would be written.
fn compare(world: &World, stage: Stage, changes: &[Change]) -> Counts {
    let (draft, _) = world.draft(stage, None).unwrap().unwrap();
    let wanted = draft.wanted.as_ref().unwrap_or_else(|| panic!("no proposal: {:?}", draft.report.decision));
    let basis = wanted.basis.as_ref().expect("a file was read that the hash does not cover");
    let before = World::written(&draft).unwrap();
    let (again, same) = world.draft(stage, Some(basis)).unwrap().unwrap();
    assert_eq!((World::written(&again).as_ref(), same), (Some(&before), Some(true)));
    let mut counts = Counts::default();
    for (name, change) in changes {
        let mut other = world.clone();
        change(&mut other);
        let Ok(Some((draft, same))) = other.draft(stage, Some(basis)) else { continue };
        let after = World::written(&draft);
        counts.other += usize::from(after.as_ref() != Some(&before));
        if same == Some(true) {
            assert_eq!(after.as_ref(), Some(&before), "kept after: {name}");
            assert_eq!(draft.wanted.as_ref().and_then(|w| w.basis.as_ref()), Some(basis), "{name}");
            counts.kept.insert(name.clone());
        }
    }
    counts
}

#[test]
fn each_input_counts_or_makes_no_difference() {
    for (world, stage, at_least) in
        [(World::new(), Stage::Platform, 50), (World::of_proxies(), Stage::DataPlane, 10)]
    {
        let changes: Vec<Change> =
            of_files(&world).into_iter().chain(of_catalog(&world)).chain(of_the_rest()).collect();
        let counts = compare(&world, stage, &changes);
        assert!(counts.other > at_least, "{} of {}, {} kept", counts.other, changes.len(), counts.kept.len());
        // What has nothing to do with Linkerd, a release that is not passed, a chart that is not used.
        let irrelevant = |name: &&String| {
            name.starts_with("apps/shop.yaml") && !name.ends_with("removed")
                || ["apps/new.yaml: new", "mesh/new.yaml: new", "2027-06-01T12:00:00Z"]
                    .contains(&name.as_str())
                || ["edge-26.7.1: other notes", "edge-26.7.1: a caution"].contains(&name.as_str())
        };
        assert!(counts.kept.contains("linkerd-crds of edge-26.8.3: another password"));
        let missed: Vec<_> = changes
            .iter()
            .map(|(name, _)| name)
            .filter(irrelevant)
            .filter(|n| !counts.kept.contains(*n))
            .collect();
        assert!(missed.is_empty(), "made again for nothing: {missed:?}");
    }
}

#[test]
fn what_cannot_be_rendered_counts_and_what_may_be_next_time_has_no_basis() {
    struct Failing(RenderError, Option<String>);
    impl Renderer for Failing {
        fn helm(&self) -> Result<String, RenderError> {
            Err(self.0.clone())
        }
        fn identity(&self) -> Option<String> {
            self.1.clone()
        }
        fn chart(&self, _: &ChartId) -> Result<Arc<Chart>, RenderError> {
            Err(self.0.clone())
        }
        fn render(&self, jobs: &[Job]) -> Vec<Result<Arc<str>, RenderError>> {
            jobs.iter().map(|_| Err(self.0.clone())).collect()
        }
    }
    let chart = ChartId { name: "x".into(), version: "1".into() };
    let error = |reason: &str| RenderError::Outside {
        chart: chart.clone(),
        reason: reason.to_owned(),
        temporary: true,
    };
    let lasts = |renderer: &dyn Renderer| {
        let witness = Witness::new(renderer);
        let _ = (witness.helm(), witness.chart(&chart), witness.render(&[]));
        witness.is_lasting()
    };
    assert!(lasts(&Off));
    assert!(!lasts(&Failing(error("it answers 503"), Some(String::new()))));
    let no_helm = RenderError::NoHelm { reason: "it does not start".to_owned(), hint: "get one" };
    assert!(
        !lasts(&Failing(no_helm.clone(), Some(String::new()))),
        "a Helm that is there may start next time"
    );
    assert!(lasts(&Failing(no_helm, None)));
}

#[test]
fn what_is_read_beside_the_hash_is_noticed() {
    let world = World::new();
    let tree = world.tree();
    let config = config::read(&tree).unwrap();
    let survey = world.survey(&tree, &config).unwrap();
    let operator = world.operator();
    let case = Case { survey: &survey, target: &survey.targets[0], stage: Stage::Platform };
    let origin =
        Origin::of(&Question { case, to: edge("edge-26.8.3"), hop_towards: None, promoted: &[] }, &operator);
    let id = |name: &str| tree.entries().iter().find(|entry| entry.path.as_str() == name).unwrap().id;
    let looks = |look: &dyn Fn(&Watched<'_>)| {
        let watched = Watched::new(&origin);
        look(&watched);
        watched.searches()
    };
    assert_eq!(looks(&|tree| drop(tree.read(id("mesh/crds.yaml")))), Some(BTreeSet::new()));
    assert_eq!(looks(&|tree| drop(tree.read(id("apps/shop.yaml")))), None);
    assert_eq!(looks(&|tree| drop(tree.size(id("apps/shop.yaml")))), None);
    assert_eq!(looks(&|tree| tree.sweep(&[id("apps/shop.yaml")], 9, &|_, _| ())), None);
    let searches = looks(&|tree| drop(tree.mentioning(&["kind: Deployment"], 1 << 20))).unwrap();
    let inputs = origin.inputs(&searches);
    assert_ne!(inputs, origin.inputs(&BTreeSet::new()));
    let mut other = world.clone();
    other.files.get_mut("apps/shop.yaml").unwrap().0.push_str("# more\n");
    let tree = other.tree();
    let survey = world.survey(&tree, &config).unwrap();
    let case = Case { survey: &survey, ..case };
    let moved =
        Origin::of(&Question { case, to: edge("edge-26.8.3"), hop_towards: None, promoted: &[] }, &operator);
    assert_eq!(
        moved.inputs(&BTreeSet::new()),
        origin.inputs(&BTreeSet::new()),
        "nothing else reads that file"
    );
    assert_ne!(moved.inputs(&searches), inputs);
}

#[test]
fn what_no_pin_and_no_file_of_a_stage_shows_counts_by_itself() {
    let world = World::new();
    let tree = world.tree();
    let config = config::read(&tree).unwrap();
    let with = |served: &Served, skipped: Option<Skipped>, promoted: &[Promoted]| {
        let mut survey = Survey::new(&tree, &config, &world.catalog, served, Aim::default(), None).unwrap();
        survey.inventory.skipped.extend(skipped);
        let operator = Operator {
            catalog: &world.catalog,
            served,
            mirrors: &NoMirrors,
            renderer: &world.renderer,
            cache: None,
            to: None,
            now: world.now,
            progress: &|_| (),
        };
        let case = Case { survey: &survey, target: &survey.targets[0], stage: Stage::Platform };
        let question = Question { case, to: edge("edge-26.8.3"), hop_towards: None, promoted };
        Origin::of(&question, &operator).inputs(&BTreeSet::new())
    };
    let inputs = |served: &Served, skipped| with(served, skipped, &[]);
    let as_it_is = inputs(&world.served, None);
    assert_eq!(inputs(&world.served, None), as_it_is);
    // A mirror that is asked takes a warning away.
    let mirrors = vec!["https://mirror.example/charts".to_owned()];
    let more = Served { mirrors, ..world.served.clone() };
    assert_ne!(inputs(&more, None), as_it_is);
    let path = RepoPath::new("mesh/odd.yaml").unwrap();
    let skipped = Skipped { path, reason: SkipReason::NotUtf8, detail: None, versions: Vec::new() };
    assert_ne!(inputs(&world.served, Some(skipped)), as_it_is);
    let staging = Promoted { target: "staging".to_owned(), since: world.now, gates: Vec::new() };
    assert_ne!(with(&world.served, None, &[staging]), as_it_is);
}
