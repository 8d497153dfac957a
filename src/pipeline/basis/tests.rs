//! One input after another is changed: either the hash is another, or what would be written is the same, to the byte.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::{
    config::{self, Config},
    helm::Template,
    linkerd::Knowledge,
    pins::Stage,
    pipeline::{
        Error,
        draft::{Draft, draft},
        landed::Landed,
        survey::Survey,
        targets::Aim,
    },
    plan::testing::{edge, path},
    propose::forge::Extras,
    release::{Catalog, Feed, FeedState, Guidance},
    render::Off,
    repo::Mode,
};

/// Valid from 2026-11-21 to 2046-11-16.
const ANCHOR: &str = "-----BEGIN CERTIFICATE-----
MIIBnzCCAUWgAwIBAgIUesWAvIlsdIUObwWZpzGLSNqlD+0wCgYIKoZIzj0EAwIw
JTEjMCEGA1UEAwwacm9vdC5saW5rZXJkLmNsdXN0ZXIubG9jYWwwHhcNMjYxMTIx
MDY0OTQ0WhcNNDYxMTE2MDY0OTQ0WjAlMSMwIQYDVQQDDBpyb290LmxpbmtlcmQu
Y2x1c3Rlci5sb2NhbDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABH331JFhDm32
JkbFzJE+p2iTWsGvzqdnEMcjRcQepoiYpPAu9NzsDf33jfrfcbEALEk7hfenp03s
I3jE5QhBJ9ijUzBRMB0GA1UdDgQWBBSqnIjy/KAjUwBln+1B1QoIqXVKrjAfBgNV
HSMEGDAWgBSqnIjy/KAjUwBln+1B1QoIqXVKrjAPBgNVHRMBAf8EBTADAQH/MAoG
CCqGSM49BAMCA0gAMEUCIQC4Z+b58r+JNtkdF02Uf4ug7/GVRlkpY4Tu2o82c9/v
7wIgWQVp+qgACswmzDd5TLIlkQFkjpjziHF5uBTAQSkL9+o=
-----END CERTIFICATE-----
";

/// All that a run is given.
#[derive(Clone)]
struct World {
    files: BTreeMap<String, (String, Mode)>,
    catalog: Catalog,
    indexes: Vec<String>,
    renderer: Fake,
    now: Timestamp,
}

/// Makes of a chart what its version and its values say.
#[derive(Clone)]
struct Fake {
    name: &'static str,
    /// What the charts of a version have that others do not.
    extra: BTreeMap<&'static str, String>,
}

struct Files(Vec<Entry>, BTreeMap<BlobId, Vec<u8>>);

struct Never;

/// What a run would leave behind.
#[derive(Debug, PartialEq)]
struct Written {
    title: String,
    text: String,
    extras: Extras,
    status: (bool, String),
    draft: bool,
    plan: (String, String),
    files: Vec<(RepoPath, Option<Vec<u8>>)>,
}

impl Landed for Never {
    fn stands(&self, _: &Pin) -> Result<Option<Timestamp>, Error> {
        Ok(None)
    }
}

impl Tree for Files {
    fn entries(&self) -> &[Entry] {
        &self.0
    }

    fn read(&self, id: BlobId) -> Result<Vec<u8>, TreeError> {
        self.1.get(&id).cloned().ok_or_else(|| TreeError::new(id, "no such blob"))
    }
}

impl Renderer for Fake {
    fn helm(&self) -> Result<String, RenderError> {
        Ok(format!("v3.18.0 of {}", self.name))
    }

    fn identity(&self) -> Option<String> {
        Some(self.name.to_owned())
    }

    fn chart(&self, id: &ChartId) -> Result<Arc<Chart>, RenderError> {
        let defaults = format!("replicas: 1\nlinkerdVersion: {}\n", id.version);
        let files = [("Chart.yaml", "kubeVersion: '>=1.31.0-0'\n".to_owned()), ("values.yaml", defaults)];
        let files = files.map(|(name, text)| (name.to_owned(), text.into()));
        Ok(Arc::new(Chart { id: id.clone(), digest: String::new(), files: files.into() }))
    }

    fn render(&self, jobs: &[Job]) -> Vec<Result<Arc<str>, RenderError>> {
        jobs.iter().map(|job| Ok(self.print(job).into())).collect()
    }
}

impl Fake {
    fn print(&self, job: &Job) -> String {
        let ChartId { name, version } = &job.chart;
        let values: Vec<&str> = job.template.values.iter().map(|layer| &*layer.0).collect();
        let values = serde_json::to_string(&values.join("\n")).unwrap();
        let mut text = format!(
            "---\n# Source: {name}/templates/config.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}-config\n  \
             namespace: {}\n  annotations:\n    linkerd.io/created-by: linkerd/helm edge-{}\n  labels:\n    \
             linkerd.io/extension: viz\ndata:\n  values: {values}\n",
            job.template.namespace,
            version.trim_start_matches("20"),
        );
        if name == "linkerd-crds" && version.ends_with(".2") {
            text.push_str(
                "---\n# Source: linkerd-crds/templates/x.yaml\napiVersion: apiextensions.k8s.io/v1\nkind: \
                 CustomResourceDefinition\nmetadata:\n  name: httproutes.gateway.networking.k8s.io\nspec:\n  group: \
                 gateway.networking.k8s.io\n  names: {kind: HTTPRoute}\n",
            );
        }
        text + self.extra.get(version.as_str()).map_or("", String::as_str)
    }
}

// === impl World ===

impl World {
    /// A repository with something of each kind that a text is made from.
    fn new() -> Self {
        let release = |chart: &str, version: &str, more: &str| {
            format!(
                "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata:\n  name: {chart}\n  namespace: linkerd\n\
                 spec:\n  interval: 10m\n{more}  chart:\n    spec:\n      chart: {chart}\n      version: {version}\n      \
                 sourceRef:\n        kind: HelmRepository\n        name: edge\n"
            )
        };
        let anchor: String = ANCHOR.lines().map(|line| format!("      {line}\n")).collect();
        let values = format!("  values:\n    replicas: 2\n    identityTrustAnchorsPEM: |\n{anchor}");
        let renderer = Fake { name: "a", extra: BTreeMap::new() };
        let viz = Job {
            chart: ChartId { name: "linkerd-viz".into(), version: "2026.8.2".into() },
            template: Template::of("linkerd-viz", "linkerd-viz"),
            take: Default::default(),
        };
        let source = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: edge, namespace: \
                      linkerd}\nspec: {url: https://helm.linkerd.io/edge}\n";
        let files = [
            ("mesh/source.yaml", source.to_owned()),
            ("mesh/crds.yaml", release("linkerd-crds", "2026.8.2", "")),
            ("mesh/control-plane.yaml", release("linkerd-control-plane", "2026.8.2", &values)),
            ("mesh/held.yaml", release("linkerd-multicluster", "2026.8.1 # uplinker: hold", "")),
            ("viz/viz.yaml", renderer.print(&viz)),
            ("viz/kustomization.yaml", "resources:\n  - viz.yaml\n".to_owned()),
            ("umbrella/Chart.yaml", "apiVersion: v2\nname: umbrella\nversion: 1.0.0\ndependencies:\n  - name: \
              linkerd-crds\n    version: 2026.8.2\n    repository: https://helm.linkerd.io/edge\n".to_owned()),
            ("umbrella/values.yaml", "linkerd-crds: {replicas: 3}\n".to_owned()),
            ("clusters/mesh.yaml", "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: mesh, \
              namespace: flux-system}\nspec:\n  path: ./viz\n  prune: true\n".to_owned()),
            ("crds/gateway.yaml", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: \
              httproutes.gateway.networking.k8s.io\n  annotations:\n    gateway.networking.k8s.io/bundle-version: v1.2.1\n"
                .to_owned()),
            ("net/policy.yaml", "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: a}\n".to_owned()),
            ("apps/web.yaml", "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: web\n  annotations:\n    \
              linkerd.io/inject: enabled\n    config.linkerd.io/proxy-version: edge-26.8.2\n".to_owned()),
            ("apps/shop.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: shop}\nspec: {replicas: 3}\n".to_owned()),
            ("Makefile", "install:\n\tlinkerd install --version edge-26.8.2\n".to_owned()),
            ("renovate.json", "{\"extends\": [\"config:recommended\"], \"flux\": {\"fileMatch\": [\"mesh/.+\"]}}\n".to_owned()),
            ("broken.yaml", "linkerd: edge-26.8.2\n  - x: [\n".to_owned()),
            ("uplinker.yaml", "version: 1\npullRequest:\n  labels: [mesh]\n  title: Mesh {to}\npolicy:\n  soak: 0d\n".to_owned()),
        ];
        let files = files.map(|(name, text)| (name.to_owned(), (text, Mode::File))).into();
        let mut catalog =
            plan::testing::catalog(&["edge-26.7.1", "edge-26.8.1", "edge-26.8.2", "edge-26.8.3"]);
        catalog.knowledge = knowledge("");
        catalog.feeds.push(Feed { name: "releases", state: FeedState::Read });
        for release in catalog.releases.values_mut() {
            release.notes =
                Some(format!("* fix: something in {} (#1{})\n", release.version, release.charts.len()));
        }
        let indexes = vec!["https://helm.linkerd.io/edge".to_owned()];
        Self { files, catalog, indexes, renderer, now: "2027-01-01T00:00:00Z".parse().unwrap() }
    }

    /// Where the pins of proxies are what is left to move.
    fn of_proxies() -> Self {
        let mut world = Self::new();
        for (text, _) in world.files.values_mut().filter(|(text, _)| !text.contains("proxy-version")) {
            *text = text.replace("2026.8.2", "2026.8.3").replace("helm edge-26.8.2", "helm edge-26.8.3");
        }
        let config = &mut world.files.get_mut("uplinker.yaml").unwrap().0;
        config.push_str("dataPlane:\n  after: 0d\n");
        world
    }

    fn tree(&self) -> Files {
        let mut files = Files(Vec::new(), BTreeMap::new());
        for (name, (text, mode)) in &self.files {
            let id = crate::repo::blob_id(text.as_bytes());
            files.0.push(Entry { path: path(name), id, mode: *mode });
            files.1.insert(id, text.clone().into_bytes());
        }
        files.0.sort_by(|a, b| a.path.cmp(&b.path));
        files
    }

    /// Drafts a stage; `known` is the basis of another text.
    fn draft(&self, stage: Stage, known: Option<&Basis>) -> Result<Option<(Draft, Option<bool>)>, Error> {
        let tree = self.tree();
        let config: Config = config::read(&tree)?;
        let survey = Survey::new(&tree, &config, &self.catalog, &self.indexes, Aim::default(), None)?;
        let operator = Operator {
            catalog: &self.catalog,
            indexes: &self.indexes,
            renderer: &self.renderer,
            cache: None,
            to: None,
            now: self.now,
            progress: &|_| (),
        };
        let case = Case { survey: &survey, target: &survey.targets[0], stage };
        let Some(drafted) = draft(case, "main", &operator, &Never, None, &[])? else { return Ok(None) };
        let decided = drafted.report.decision.plan().map(|plan| (plan.to, plan.hop_towards));
        let same = known.zip(decided).map(|(basis, (to, hop_towards))| {
            let origin = Origin::of(&Question { case, to, hop_towards }, &operator);
            basis.stretch.holds(self.now) && origin.is(basis)
        });
        Ok(Some((drafted, same)))
    }

    fn written(draft: &Draft) -> Option<Written> {
        let wanted = draft.wanted.as_ref()?;
        let files = draft.report.changes.files.iter().map(|file| (file.path.clone(), file.after.clone()));
        Some(Written {
            title: wanted.title.clone(),
            text: wanted.text.clone(),
            extras: wanted.extras.clone(),
            status: (wanted.status.success, wanted.status.description.clone()),
            draft: wanted.draft,
            plan: (wanted.fingerprint.clone(), wanted.inputs.clone()),
            files: files.collect(),
        })
    }
}

fn knowledge(more: &str) -> Knowledge {
    let text = format!(
        "version: 1\nmilestones:\n  - {{name: '2.19', first: edge-25.10.7}}\n  - {{name: '2.20', first: edge-26.8.3}}\n\
         gatewayApi:\n  - {{since: edge-25.4.4, from: '1.1.1', to: '1.2.1', source: here}}\n  - {{since: edge-26.8.3, from: \
         '1.2.1', to: '1.5.1', source: here}}\nnotices:\n  - {{release: edge-26.8.3, kind: breaking, text: Policies., source: \
         here, touches: {{kinds: [networking.k8s.io/NetworkPolicy]}}}}\n{more}"
    );
    Knowledge::parse(&text).unwrap()
}

/// A change of one input, with its name.
type Change = (String, Box<dyn Fn(&mut World)>);

fn change(name: impl Into<String>, change: impl Fn(&mut World) + 'static) -> Change {
    (name.into(), Box::new(change))
}

/// Changes each file in turn: each of its lines in one of several ways, its mode, its being there.
fn of_files(world: &World) -> Vec<Change> {
    let mut all = Vec::new();
    for (name, (text, _)) in &world.files {
        let with = |what: String, make: Box<dyn Fn(&mut String)>| {
            let file = name.clone();
            change(format!("{name}: {what}"), move |world| make(&mut world.files.get_mut(&file).unwrap().0))
        };
        for (n, line) in text.lines().enumerate() {
            let (line, text) = (line.to_owned(), text.clone());
            let other = move |how: usize| -> String {
                let changed = match how {
                    0 => format!("# a comment\n{line}"),
                    1 => String::new(),
                    2 => line.replacen(|c: char| c.is_ascii_digit(), "7", 1),
                    _ => line.replacen(|c: char| c.is_ascii_lowercase(), "z", 1),
                };
                let lines = text.lines().enumerate();
                lines
                    .map(|(at, other)| if at == n { changed.clone() + "\n" } else { other.to_owned() + "\n" })
                    .collect()
            };
            // Each line in two ways: all ways are met in each file.
            for how in [n % 4, (n + 2) % 4] {
                let new = other(how);
                all.push(with(
                    format!("line {} otherwise ({how})", n + 1),
                    Box::new(move |text| text.clone_from(&new)),
                ));
            }
        }
        let (file, other) = (name.clone(), name.clone());
        all.push(change(format!("{name}: executable"), move |world| {
            world.files.get_mut(&file).unwrap().1 = Mode::Executable;
        }));
        all.push(change(format!("{name}: removed"), move |world| drop(world.files.remove(&other))));
    }
    let prunes = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: all}\nspec: {path: ./, prune: \
                  true}\n";
    for (name, text) in [
        ("apps/new.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: new}\n"),
        ("mesh/new.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: new}\n"),
        (
            "viz/new.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: linkerd-viz-config, namespace: linkerd-viz}\n",
        ),
        ("viz/values.yaml", "replicas: 5\n"),
        ("viz/linkerd-viz-values.yaml", "replicas: 6\n"),
        ("kustomization.yaml", "resources: [viz]\n"),
        ("umbrella/charts/linkerd-crds-2026.8.2.tgz", "no package\n"),
        ("clusters/all.yaml", prunes),
        ("net/other.yaml", "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: b}\n"),
        ("crds/more.yaml", "metadata:\n  annotations: {gateway.networking.k8s.io/bundle-version: v1.0.0}\n"),
        ("linkerd.sh", "linkerd install --version edge-26.8.2\n"),
        ("apps/other.yaml", "metadata:\n  annotations:\n    config.linkerd.io/proxy-version: edge-26.8.1\n"),
        (
            ".github/dependabot.yml",
            "version: 2\nupdates: [{package-ecosystem: helm, directory: /umbrella}]\n",
        ),
        ("broken2.yaml", "linkerd: edge-26.8.2\n  - x: [\n"),
    ] {
        all.push(change(format!("{name}: new"), move |world| {
            world.files.insert(name.to_owned(), (text.to_owned(), Mode::File));
        }));
    }
    all
}

/// Changes each fact of the catalog in turn.
fn of_catalog(world: &World) -> Vec<Change> {
    let mut all = Vec::new();
    for &version in world.catalog.releases.keys() {
        let of = |what: &str, make: fn(&mut Release)| {
            change(format!("{version}: {what}"), move |world| {
                make(world.catalog.releases.get_mut(&version).unwrap())
            })
        };
        all.push(of("another day", |release| {
            release.published = release.published.map(|at| at + SignedDuration::from_hours(30))
        }));
        all.push(of("no day", |release| release.published = None));
        all.push(of("other notes", |release| {
            release.notes = Some("* feat!: something else (#77)\n".to_owned())
        }));
        all.push(of("no notes", |release| release.notes = None));
        all.push(of("another milestone", |release| release.milestone = Some("2.99".to_owned())));
        all.push(of("recommended", |release| {
            release.guidance =
                Guidance::Recommended { source: "there".to_owned(), cautions: Some("IPv4 only".to_owned()) };
        }));
        all.push(of("a caution", |release| {
            release.guidance = Guidance::Caution { note: "GKE only".to_owned(), source: "there".to_owned() };
        }));
        all.push(change(format!("{version}: unknown"), move |world| {
            drop(world.catalog.releases.remove(&version))
        }));
        for chart in ["linkerd-crds", "linkerd-control-plane", "linkerd-viz", "linkerd2-cni"] {
            let of = |what: &str, make: fn(&mut Packaged)| {
                change(format!("{chart} of {version}: {what}"), move |world| {
                    make(world.catalog.releases.get_mut(&version).unwrap().charts.get_mut(chart).unwrap());
                })
            };
            all.push(of("another digest", |chart| chart.digest = Some("another".to_owned())));
            all.push(of("no digest", |chart| chart.digest = None));
            all.push(of("another range", |chart| chart.kube_version = Some(">=1.99.0-0".to_owned())));
            all.push(of("another address", |chart| chart.url.push('x')));
            all.push(of("another password", |chart| chart.url = chart.url.replace("//", "//me:secret@")));
        }
    }
    for state in [FeedState::Off, FeedState::Failed("it answers 503".to_owned())] {
        all.push(change(format!("the releases' feed: {}", state == FeedState::Off), move |world| {
            world.catalog.feeds.last_mut().unwrap().state = state.clone();
        }));
    }
    for more in [
        "  - {release: edge-26.8.3, kind: one-way, text: No way back., source: here}\n",
        "  - {release: edge-26.8.3, kind: breaking, text: Links., source: here, touches: {charts: [linkerd-viz]}}\n",
        "  - {release: edge-26.8.3, kind: breaking, text: R., source: here, touches: {unset: ['linkerd-crds:replicas']}}\n",
        "  - {release: edge-26.9.1, kind: breaking, text: Later., source: here}\n",
        "kubernetes:\n  - {since: edge-26.8.3, range: '>=1.33.0-0', source: here}\n",
        "hops:\n  - {below: edge-26.8.2, reaching: edge-26.8.3, via: [edge-26.8.2], why: gateway-api-ownership, note: x, source: y}\n",
    ] {
        all.push(change(format!("known: {more}"), move |world| world.catalog.knowledge = knowledge(more)));
    }
    all
}

/// Changes what is neither of the repository nor of the feeds.
fn of_the_rest() -> Vec<Change> {
    let mut all = vec![
        change("another Helm", |world| world.renderer.name = "b"),
        change("no index was read", |world| world.indexes.clear()),
        change("another index", |world| world.indexes = vec!["https://mirror.example/charts".to_owned()]),
    ];
    for time in [
        "2026-11-21T06:49:43Z",
        "2026-11-21T06:49:44Z",
        "2027-01-01T00:00:01Z",
        "2027-06-01T12:00:00Z",
        "2046-09-17T06:49:43Z",
        "2046-09-17T06:49:44Z",
        "2046-09-18T00:00:00Z",
        "2046-11-16T06:49:44Z",
        "2046-11-16T06:49:45Z",
        "2050-01-01T00:00:00Z",
    ] {
        all.push(change(time, move |world| world.now = time.parse().unwrap()));
    }
    all
}

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
    let no_helm = RenderError::NoHelm("it does not start".to_owned());
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
    let survey = Survey::new(&tree, &config, &world.catalog, &world.indexes, Aim::default(), None).unwrap();
    let operator = Operator {
        catalog: &world.catalog,
        indexes: &world.indexes,
        renderer: &world.renderer,
        cache: None,
        to: None,
        now: world.now,
        progress: &|_| (),
    };
    let case = Case { survey: &survey, target: &survey.targets[0], stage: Stage::Platform };
    let origin = Origin::of(&Question { case, to: edge("edge-26.8.3"), hop_towards: None }, &operator);
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
    let survey = Survey::new(&tree, &config, &world.catalog, &world.indexes, Aim::default(), None).unwrap();
    let case = Case { survey: &survey, ..case };
    let moved = Origin::of(&Question { case, to: edge("edge-26.8.3"), hop_towards: None }, &operator);
    assert_eq!(
        moved.inputs(&BTreeSet::new()),
        origin.inputs(&BTreeSet::new()),
        "nothing else reads that file"
    );
    assert_ne!(moved.inputs(&searches), inputs);
}
