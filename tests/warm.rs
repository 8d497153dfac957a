//! Runs over an open pull request that is up to date: Helm is not started, hardly anything is asked, and what is left is what
//! a run that makes all again would have left.

use std::{fs, sync::LazyLock};

use crate::support::{
    charts::ChartRepository,
    controls::Entry,
    feed::{Feed, failing, release},
    helm::{Bench, Recording},
    manifests::{hours_ago, job},
    mesh::{MESH, mesh_and},
    process::{Home, Run},
    repo::{ADA, BareRepo, put},
    scene::{PLATFORM, REPO, Scene, releases},
};
use uplinker::render::Renderer as _;

static CHARTS: LazyLock<ChartRepository> = LazyLock::new(ChartRepository::new);

/// Helm's output at 2026.8.2 as a person committed it, some hours ago.
static COMMITTED: LazyLock<Vec<(String, String)>> =
    LazyLock::new(|| printed(&["linkerd-crds", "linkerd-control-plane"], "2026.8.2"));

/// What Helm printed of charts some hours ago, a file each.
fn printed(charts: &[&str], version: &str) -> Vec<(String, String)> {
    let bench = Bench::new(&CHARTS.url());
    let jobs: Vec<_> = charts.iter().map(|chart| job(chart, version, "{}")).collect();
    let texts = bench.helm().render(&jobs).into_iter().map(Result::unwrap);
    let file = |(chart, text): (&&str, std::sync::Arc<str>)| (format!("mesh/{chart}.yaml"), hours_ago(&text));
    charts.iter().zip(texts).map(file).collect()
}

const UMBRELLA: &[(&str, &str)] = &[
    (
        "mesh/Chart.yaml",
        "apiVersion: v2\nname: mesh\nversion: 1.0.0\ndependencies:\n  - name: linkerd-crds\n    version: 2026.8.2\n    \
         repository: https://helm.linkerd.io/edge\n",
    ),
    ("mesh/values.yaml", "linkerd-crds: {}\n"),
];

/// A scene with a Helm whose starts are counted.
struct Play {
    scene: Scene,
    helm: Recording,
}

fn committed() -> Play {
    Play::of(&COMMITTED)
}

impl Play {
    fn new(files: &[(&str, &str)]) -> Self {
        let scene = Scene::new(files);
        scene.feed.serve_packages(CHARTS.packages());
        let helm = Recording::new(scene.home.path(), "");
        Self { scene, helm }
    }

    fn of(files: &[(String, String)]) -> Self {
        Self::new(&files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>())
    }

    fn prepared(&self) -> Run {
        self.scene.run().env("UPLINKER_HELM", self.helm.program())
    }

    /// Runs, and returns how often Helm was started.
    fn run(&self) -> usize {
        let _ = self.prepared().done().exits(0);
        self.starts()
    }

    fn starts(&self) -> usize {
        self.helm.starts()
    }

    /// What was asked of everybody since this was asked last.
    fn asked(&self) -> Vec<String> {
        let feed = self.scene.feed.controls().log.take();
        self.scene.requests().into_iter().chain(feed.iter().map(Entry::line)).collect()
    }

    fn body(&self) -> String {
        self.scene.only_pull().body.unwrap()
    }

    /// Runs again and expects that Helm is left alone and nothing is written; a fetch only where one is due.
    fn stays(&self, fetches: bool) -> String {
        let before = (self.scene.only_pull(), self.scene.repo.refs());
        self.asked();
        let done = self.prepared().done().exits(0).prints(&["nothing to do, ", " is up to date"]);
        let asked = self.asked();
        assert_eq!(self.starts(), 0, "Helm was started\n{done}");
        let fetched =
            asked.iter().filter(|line| line.contains("POST") && line.contains("upload-pack")).count();
        // A fetch begins with a list of branches of its own.
        assert_eq!((fetched > 0, asked.len() - fetched), (fetches, 4 + usize::from(fetches)), "{asked:#?}");
        let after = (self.scene.only_pull(), self.scene.repo.refs());
        assert_eq!(format!("{after:?}"), format!("{before:?}"));
        done.stdout
    }

    /// Runs and expects that all is made again, and once.
    fn is_made_again(&self, why: &str) {
        assert!(self.run() > 0, "not made again: {why}");
        self.stays(false);
    }

    fn commit(&self, path: &str, text: &str) {
        self.scene.repo.commit("main", &ADA, "Change it", &[put(path, text)]);
    }
}

#[test]
fn an_open_pull_request_that_is_up_to_date_costs_four_requests_and_no_helm() {
    for play in [committed(), Play::new(MESH), Play::new(UMBRELLA)] {
        assert!(play.run() > 1);
        let said = play.stays(false);
        assert!(said.contains("not made again: nothing has changed"), "{said}");
        // The cache is gone: what is read is fetched again, and nothing else.
        play.scene.home.forget();
        play.stays(true);
        // The base branch moves, and nothing of Linkerd's with it.
        play.commit(
            "shop/deployment.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: shop}\n",
        );
        play.commit("README.md", "Ours.\n");
        play.stays(true);
        play.stays(false);
    }
}

#[test]
fn what_is_deployed_beside_it_out_of_one_file_makes_no_difference() {
    let build = |name: &str| {
        format!(
            "---\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: flux-system}}\n\
             spec: {{path: ./{name}, sourceRef: {{kind: GitRepository, name: flux-system}}}}\n"
        )
    };
    let builds = build("linkerd") + &build("shop");
    let shop = "resources: [deployment.yaml]\n";
    let deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: shop}\n";
    let play = Play::new(&mesh_and(&[
        ("clusters/a.yaml", &builds),
        ("shop/kustomization.yaml", shop),
        ("shop/deployment.yaml", deployment),
    ]));
    assert!(play.run() > 1);
    play.stays(false);
}

/// Whatever a repository is like, what is read of it to make a text is known, or a run over it would never be warm.
#[test]
fn every_text_says_what_it_was_made_from() {
    let feed = Feed::start(&releases());
    let (mut texts, mut without) = (0, Vec::new());
    for repository in fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scan")).unwrap() {
        let repository = repository.unwrap().path();
        let (home, folder) = (Home::new(), tempfile::tempdir().unwrap());
        let repo =
            BareRepo::from_folder(folder.path().join("config.git"), "main", &repository.join("before"));
        let forge = folder.path().join("proposals");
        let run = home.run(["run", "--helm", "off", "--repo"]).arg(repo.path()).args(feed.flags());
        let done = run.arg(format!("--forge=directory:{}", forge.display())).done();
        for pull in fs::read_dir(&forge).into_iter().flatten() {
            let Ok(body) = fs::read_to_string(pull.unwrap().path().join("body.md")) else { continue };
            if !body.contains("\"basis\"") {
                without.push(format!("{}\n{done}", repository.display()));
            }
            texts += 1;
        }
    }
    assert!(texts > 20 && without.is_empty(), "{texts}\n{}", without.join("\n"));
}

#[test]
fn several_sets_cost_no_more_even_where_no_object_of_one_names_its_release() {
    let charts = ["linkerd-crds", "linkerd-control-plane", "linkerd-viz", "linkerd2-cni"];
    let release = release("edge-26.8.3", "2026-08-15T09:00:00Z").charts(&charts);
    let play = Play::of(&printed(&charts, "2026.8.2"));
    play.scene.feed.publish(release.clone());
    assert!(play.run() > 1);
    let report = play.prepared().args(["--format", "json"]).done().exits(0).json();
    let pin = |chart: &str| {
        let pins = report["pins"].as_array().unwrap().iter();
        pins.clone().find(|pin| pin["chart"] == chart).unwrap_or_else(|| panic!("{report:#}")).clone()
    };
    // What was found out by rendering is told again without.
    assert!(charts.iter().all(|chart| pin(chart)["moves"] == true), "{report:#}");
    let title = "Linkerd edge-26.8.2 → edge-26.8.3 (default, platform)";
    assert_eq!((play.scene.only_pull().title.as_str(), play.starts()), (title, 0));
    assert_eq!(report["pull_requests"][0]["title"], title);
    play.stays(false);

    // Merged, there is nothing to do, and of sets that name their release nothing to look up.
    let named = &charts[..3];
    let play = Play::of(&printed(named, "2026.8.3"));
    play.scene.feed.publish(release);
    assert_eq!(play.run(), 0);
    assert!(play.scene.github.pulls(REPO).is_empty());
}

#[test]
fn what_is_not_proposed_is_found_out_once() {
    // No object of it names a release: only its chart tells that there is nothing to do.
    let play = Play::of(&printed(&["linkerd2-cni"], "2026.8.3"));
    for (tag, day) in [("edge-26.8.2", 8), ("edge-26.8.3", 15)] {
        let date = format!("2026-08-{day:02}T09:00:00Z");
        play.scene.feed.publish(release(tag, &date).charts(&["linkerd2-cni"]));
    }
    let idle = || play.prepared().done().exits(0).prints(&["up to date at edge-26.8.3"]).stdout;
    let first = idle();
    assert!(play.starts() > 0);
    assert_eq!((idle(), play.starts()), (first.clone(), 0));
    play.scene.home.forget();
    assert_eq!(idle(), first, "the cache makes no difference but in work");
    assert!(play.starts() > 0);
    drop(Recording::new(play.scene.home.path(), "another one"));
    assert_eq!(idle(), first);
    assert!(play.starts() > 0, "another Helm may give something else");

    // A change by hand, for which its stage waits.
    let play = committed();
    let (path, text) = &COMMITTED[1];
    play.commit(path, &text.replacen("replicas: 1", "replicas: 4", 1));
    let waits = |replicas: &str| {
        let words = format!("spec.replicas is {replicas}, the chart gives 1");
        play.prepared().done().exits(4).prints(&[&words]).stdout
    };
    let first = waits("4");
    assert!(play.starts() > 0);
    assert_eq!((waits("4"), play.starts()), (first, 0));
    play.commit(path, &text.replacen("replicas: 1", "replicas: 5", 1));
    let _ = waits("5");
    assert!(play.starts() > 0);
    play.commit(path, text);
    play.is_made_again("the change was undone");
}

#[test]
fn what_the_text_is_made_from_makes_it_again() {
    let play = Play::new(MESH);
    assert!(play.run() > 0);
    let notes = |text: &str| release("edge-26.8.3", "2026-08-15T09:00:00Z").notes(text);
    play.scene.feed.publish(notes("* A fix by @someone in #2\n"));
    play.is_made_again("the notes of the release");
    play.scene.feed.publish(notes("Not recommended.\n* A fix by @someone in #2\n"));
    play.is_made_again("the advice on the release");
    play.scene
        .feed
        .publish(release("edge-26.8.1", "2026-08-01T09:00:00Z").notes("* Older by @someone in #1\n"));
    play.stays(false);
    play.commit("uplinker.yaml", "version: 1\npullRequest:\n  title: Mesh to {to}\n");
    play.is_made_again("the configuration");
    let control_plane = play.scene.repo.read("main", "linkerd/control-plane.yaml").unwrap();
    play.commit(
        "linkerd/control-plane.yaml",
        &control_plane.replace("  values:\n", "  values:\n    controllerReplicas: 2\n"),
    );
    play.is_made_again("a value");
    drop(Recording::new(play.scene.home.path(), "another one"));
    play.is_made_again("another Helm");
    play.scene.feed.set_milestones(serde_json::json!({"version": 1, "notices": [
        {"release": "edge-26.8.3", "kind": "breaking", "text": "Something.", "source": "us"}]}));
    assert!(play.run() > 0, "what the operator knows");
}

#[test]
fn what_is_made_again_is_the_same_to_the_byte() {
    for play in [committed(), Play::new(MESH)] {
        play.run();
        let (pull, refs) = (play.scene.only_pull(), play.scene.repo.refs());
        let inputs = |body: &str| body.split("\"basis\":{\"inputs\":\"").nth(1).unwrap()[..64].to_owned();
        let known = inputs(pull.body.as_ref().unwrap());
        play.scene.github.edit_body(REPO, 1, |body| body.replace(&known, &"0".repeat(64)));
        play.asked();
        assert!(play.run() > 0, "the marker is of something else");
        let writes: Vec<String> = play.asked().into_iter().filter(|line| !line.starts_with("GET ")).collect();
        let writes: Vec<&String> = writes.iter().filter(|line| !line.contains("upload-pack")).collect();
        assert!(matches!(writes.as_slice(), [one] if one.starts_with("PATCH ")), "{writes:?}");
        assert_eq!((play.body(), play.scene.repo.refs()), (pull.body.unwrap(), refs));
        assert_eq!(play.scene.only_pull().labels, pull.labels);
        play.stays(false);
    }
}

#[test]
fn a_block_is_told_again_by_the_exit_code() {
    let play = committed();
    // Nobody can tell what it names, and the old release is in it.
    play.commit("broken.yaml", "linkerd: [unclosed\nversion: 2026.8.2\nchart: linkerd-viz\n");
    let run = || play.prepared().args(["--fail-on", "block"]).done();
    let _ = run().exits(4);
    assert!(play.starts() > 0 && play.body().contains("\"blocked\":true"), "{}", play.body());
    let (statuses, tip) = (
        play.scene.github.statuses(REPO, play.scene.repo.tip(PLATFORM).unwrap()),
        play.scene.repo.tip(PLATFORM),
    );
    assert_eq!(statuses.last().unwrap().state, "failure");
    let _ = run().exits(4).prints(&["nothing to do"]);
    assert_eq!((play.starts(), play.scene.repo.tip(PLATFORM)), (0, tip));
    play.stays(false);
    let report = play.prepared().args(["--format", "json"]).done().exits(0).json();
    assert_eq!(report["pull_requests"][0]["outcome"], "unchanged");
    assert_eq!(play.starts(), 0);
}

#[test]
fn what_failed_outside_is_tried_again() {
    let play = Play::new(MESH);
    play.scene.feed.break_always("/edge/linkerd-control-plane-2026.8.3.tgz", failing(503));
    let _ = play.prepared().done().exits(0);
    assert!(play.body().contains("answered 503") && !play.body().contains("\"basis\""), "{}", play.body());
    play.scene.feed.controls().rules.clear();
    assert!(play.run() > 0);
    assert!(!play.body().contains("answered 503"));
    play.stays(false);
}

#[test]
fn a_persons_answer_is_heard_without_helm_or_with_it() {
    let play = Play::new(MESH);
    play.run();
    // Words of their own and a label that is taken off stay as they are.
    play.scene.github.edit_body(REPO, 1, |body| body.replacen("###", "Ada: fine with me.\n\n###", 1));
    play.scene.github.change(REPO, 1, |pull| pull.labels.clear());
    play.scene.github.change(REPO, 1, |pull| pull.title = "Ada's title".to_owned());
    play.stays(false);
    play.scene.github.tick(REPO, 1, "Apply this to the base branch");
    play.is_made_again("a box");
    assert!(!play.body().contains("[x]"));
    // A commit of a person's is noted once, and left alone without a look at charts.
    play.scene.repo.commit(PLATFORM, &ADA, "Mine", &[put("notes.md", "Mine.\n")]);
    let _ = play.prepared().done().exits(0).prints(&["has commits of a person"]);
    play.starts();
    let body = play.body();
    let _ = play.prepared().done().exits(0).prints(&["left alone, #1 has commits of a person"]);
    assert_eq!((play.starts(), play.body()), (0, body));
}

#[test]
fn a_patch_that_was_laid_beside_is_laid_there_again() {
    let (home, folder) = (Home::new(), tempfile::tempdir().unwrap());
    let play = Play::new(MESH);
    let files: Vec<(&str, &str)> = MESH.to_vec();
    let repo = BareRepo::with_files(folder.path().join("config.git"), "main", &files);
    let forge = folder.path().join("proposals");
    let run = || {
        let run = home.run(["run", "--repo"]).arg(repo.path()).args(play.scene.feed.flags());
        let run = run
            .args([format!("--forge=directory:{}", forge.display())])
            .env("UPLINKER_HELM", play.helm.program());
        let _ = run.done().exits(0);
        play.starts()
    };
    assert!(run() > 0);
    assert_eq!(run(), 0);
    let patch = forge.join("1/changes.patch");
    let text = fs::read_to_string(&patch).unwrap();
    for damage in [None, Some("")] {
        match damage {
            Some(damage) => fs::write(&patch, damage).unwrap(),
            None => fs::remove_file(&patch).unwrap(),
        }
        assert!(run() > 0);
        assert_eq!(fs::read_to_string(&patch).unwrap(), text);
        assert_eq!(run(), 0);
    }
}
