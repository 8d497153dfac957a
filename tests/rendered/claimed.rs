//! An object that has the label of one chart and is given by another: linkerd-jaeger has one of linkerd-viz.

use std::sync::{LazyLock, Mutex};

use uplinker::{
    render::{
        DriftMode, Job, RenderError, Renderer as _,
        committed::{Committed, Left, Regenerate, Regenerated, prove_all, regenerate},
    },
    repo::RepoPath,
};

use super::{
    Ask, NEW, OLD, assert_trees, committed_text, expected, request, template, unsummed, unsummed_files,
    values::Faulty,
};
use crate::support::{
    charts::{ChartRepository, files, pack},
    helm::Bench,
    manifests::{hours_ago, job},
    tree::MemoryTree,
};

const VIZ: &str = "linkerd-viz";
const JAEGER: &str = "linkerd-jaeger";
/// A version of it, which ended.
const ENDED: &str = "2025.9.3";
const MODES: [DriftMode; 2] = [DriftMode::Refuse, DriftMode::Overwrite];

/// The charts of all tests, and a linkerd-viz of linkerd-jaeger's time, which gives such an object too.
static BENCH: LazyLock<Bench> = LazyLock::new(|| {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let mut then = files(VIZ, OLD);
    for file in ["Chart.yaml", "values.yaml"] {
        let now = text(then.remove(file).unwrap());
        then.insert(file.into(), now.replace(OLD, ENDED).replace(&OLD[2..], &ENDED[2..]).into());
    }
    let template = text(files(JAEGER, ENDED).remove("templates/jaeger-injector.yaml").unwrap());
    let (_, object) = template.rsplit_once("---\n").unwrap();
    then.insert("templates/network.yaml".into(), object.into());
    let mut packages = ChartRepository::new().packages().to_vec();
    packages.push(pack(VIZ, ENDED, &then));
    let charts = ChartRepository::of(packages);
    let bench = Bench::new(&charts.url());
    // It lies there as long as the tests run.
    std::mem::forget(charts);
    bench
});

/// Helm's output as tools lay it out that keep no comments.
fn without_sources(text: &str) -> String {
    text.split_inclusive('\n').filter(|line| !line.starts_with("# Source:")).collect()
}

fn jaeger() -> String {
    committed_text(JAEGER, ENDED, "{}")
}

/// Linkerd-viz as it is committed, and as it is to become.
fn viz(values: &str) -> (String, String) {
    let old = committed_text(VIZ, OLD, values);
    let new = expected(&template(VIZ, NEW, values), &old);
    (old, new)
}

/// Makes everything again but linkerd-jaeger, which has no newer release. Also lists the charts that Helm rendered.
fn again(
    tree: &MemoryTree,
    drift: DriftMode,
    fault: impl Fn(&Job) -> Option<RenderError> + Sync,
) -> (Regenerated, Vec<String>) {
    let rendered = Mutex::new(Vec::new());
    let fault = |job: &Job| {
        rendered.lock().unwrap().push(job.chart.to_string());
        fault(job)
    };
    let found = request(tree, NEW, &Ask { drift, ..Ask::default() }, |all| {
        let is_ended = |set: &Committed| set.chart == JAEGER;
        let (beside, committed): (Vec<_>, Vec<_>) = all.committed.iter().cloned().partition(is_ended);
        assert_eq!(beside.len(), 1);
        let request = Regenerate { committed: &committed, beside: &beside, ..*all };
        regenerate(&request, &Faulty { inner: &BENCH.helm(), fault: &fault })
    });
    let rendered = rendered.into_inner().unwrap();
    (found, rendered)
}

fn given_by_jaeger(path: &str) -> Left {
    let path = RepoPath::new(path).unwrap();
    Left { path, chart: VIZ.into(), given_by: Some(JAEGER.into()), by_cli: false, runs: false }
}

#[test]
fn it_is_of_the_chart_that_gives_it_when_everything_is_proven() {
    let (jaeger, (viz, _)) = (without_sources(&jaeger()), viz("{}"));
    let viz = without_sources(&viz);
    for files in [vec![("a/jaeger.yaml", &*jaeger)], vec![("a/jaeger.yaml", &*jaeger), ("a/viz.yaml", &*viz)]]
    {
        let tree = MemoryTree::new(files.clone());
        let proofs = request(&tree, NEW, &Ask::default(), |r| prove_all(r, &BENCH.helm()));
        assert!(proofs.drifts.is_empty() && proofs.missing.is_empty() && proofs.own.is_empty(), "{proofs:?}");
        let charts: Vec<&str> = proofs.sets.iter().map(|set| set.chart.as_str()).collect();
        assert_eq!(charts, [JAEGER, VIZ][..files.len()]);
    }
}

#[test]
fn it_stays_with_the_chart_that_gives_it_where_that_one_does_not_move() {
    let jaeger = without_sources(&jaeger());
    let own = "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: mine\ndata: {}\n";
    let (old, new) = viz("{}");
    let (old, new) = (without_sources(&old), without_sources(&new));
    let among = format!("{jaeger}{old}{own}");
    let aside = given_by_jaeger("a/jaeger.yaml");
    for (files, left) in [
        (vec![("a/jaeger.yaml", &jaeger)], vec![aside.clone()]),
        (vec![("a/jaeger.yaml", &jaeger), ("a/viz.yaml", &old)], vec![aside]),
        (vec![("all.yaml", &among)], vec![]),
    ] {
        let tree = MemoryTree::new(files);
        let mut wanted = unsummed_files(&tree);
        wanted.values_mut().for_each(|text| *text = text.replace(&unsummed(&old), &unsummed(&new)));
        for drift in MODES {
            let (found, _) = again(&tree, drift, |_| None);
            assert!(found.missing.is_empty(), "{:?}", found.missing);
            assert_eq!(found.left, left);
            assert_trees(&unsummed_files(&tree.changed(&found.changes)), &wanted);
            let notes = found.renderings.iter().flat_map(|rendering| &rendering.notes);
            let own: Vec<&String> = notes.filter(|note| note.starts_with("No chart gives")).collect();
            match left.is_empty() {
                true => assert!(own[0].ends_with("as they are: ConfigMap mine."), "{own:?}"),
                false => assert!(own.is_empty(), "{own:?}"),
            }
        }
    }
}

#[test]
fn a_set_is_proven_without_it_whatever_its_values_are() {
    // The likeliest values are not the right ones, so that the new version is rendered when they are known.
    let values = "prometheus: {enabled: false}\n";
    let text = BENCH.helm().render(&[job(VIZ, ENDED, values)]).remove(0).unwrap();
    let old = hours_ago(&text);
    let new = without_sources(&expected(&template(VIZ, NEW, values), &old));
    let files = [("a/jaeger.yaml", &*jaeger()), ("a/viz.yaml", &*old), ("a/values.yaml", values)];
    let tree = MemoryTree::new(files.map(|(path, text)| (path, without_sources(text))));
    let (found, _) = again(&tree, DriftMode::Refuse, |_| None);
    assert!(found.missing.is_empty(), "{:?}", found.missing);
    let mut wanted = unsummed_files(&tree);
    wanted.insert("a/viz.yaml".into(), unsummed(&new));
    assert_trees(&unsummed_files(&tree.changed(&found.changes)), &wanted);
}

#[test]
fn what_stays_is_rendered_only_where_it_may_give_what_is_in_doubt() {
    let (jaeger, (old, _)) = (jaeger(), viz("{}"));
    let plain = (without_sources(&jaeger), without_sources(&old));
    let far = "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: mine\ndata: {}\n";
    for (files, in_doubt) in [
        // Every object says which chart it is of.
        (vec![("a/jaeger.yaml", jaeger.clone()), ("a/viz.yaml", old.clone())], false),
        (vec![("all.yaml", format!("{jaeger}{old}"))], false),
        // Or is given by the one whose label it has.
        (vec![("a/jaeger.yaml", jaeger.clone()), ("a/viz.yaml", plain.1.clone())], false),
        // Or lies where the other has nothing.
        (vec![("a/jaeger.yaml", jaeger.clone()), ("b/viz.yaml", format!("{old}{far}"))], false),
        (vec![("a/jaeger.yaml", jaeger.clone()), ("a/viz.yaml", format!("{old}{far}"))], true),
        (vec![("a/jaeger.yaml", plain.0.clone()), ("b/viz.yaml", plain.1.clone())], true),
    ] {
        let tree = MemoryTree::new(files);
        let (found, rendered) = again(&tree, DriftMode::Refuse, |_| None);
        assert!(found.missing.is_empty() && found.changes.len() == 1, "{:?}", found.missing);
        let count = |chart: &str| rendered.iter().filter(|id| id.starts_with(chart)).count();
        assert_eq!((count(JAEGER) > 0, count(JAEGER) > 2), (in_doubt, false), "{rendered:?}");
        assert!(!rendered.contains(&format!("{JAEGER} {NEW}")), "it has no such release");
    }
}

#[test]
fn nothing_is_overwritten_where_the_chart_that_may_give_it_cannot_be_rendered() {
    let fault = |job: &Job| {
        let fault = RenderError::Ceiling { chart: job.chart.clone(), reason: "took too long".into() };
        (job.chart.name == JAEGER).then_some(fault)
    };
    let tree = MemoryTree::new([("a/jaeger.yaml", without_sources(&jaeger()))]);
    for drift in MODES {
        let (found, _) = again(&tree, drift, fault);
        assert!(found.changes.is_empty() && found.left.is_empty());
        let [not] = &*found.missing else { panic!("{:?}", found.missing) };
        assert!(not.chart == VIZ && not.cause.to_string().contains(JAEGER), "{not:?}");
    }
}
