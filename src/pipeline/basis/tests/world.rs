//! All that a run is given, in memory: a repository with something of each kind that a text is made from.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::super::*;
use crate::{
    config::{self, Config},
    helm::Template,
    linkerd::Knowledge,
    pins::Stage,
    pipeline::{Error, draft::Draft, landed::Landed, survey::Survey, targets::Aim, upgrade},
    plan::testing::path,
    policy::StatusCheck,
    propose::forge::Extras,
    release::{Catalog, Feed, FeedState, NoMirrors},
    repo::{CommitId, Mode, Stretch},
};

/// Valid from 2026-11-21 to 2046-11-16.
const ANCHOR: &str = include_str!("../../../../tests/bodies/anchor.pem");

/// All that a run is given.
#[derive(Clone)]
pub(super) struct World {
    pub(super) files: BTreeMap<String, (String, Mode)>,
    pub(super) catalog: Catalog,
    pub(super) served: Served,
    pub(super) renderer: Fake,
    pub(super) now: Timestamp,
}

/// Makes of a chart what its version and its values say.
#[derive(Clone)]
pub(super) struct Fake {
    pub(super) name: &'static str,
    /// What the charts of a version have that others do not.
    pub(super) extra: BTreeMap<&'static str, String>,
}

pub(super) struct Files(Vec<Entry>, BTreeMap<BlobId, Vec<u8>>);

pub(super) struct Never;

/// What a run would leave behind.
#[derive(Debug, PartialEq)]
pub(super) struct Written {
    pub(super) title: String,
    pub(super) text: String,
    pub(super) extras: Extras,
    pub(super) status: (bool, String),
    pub(super) draft: bool,
    pub(super) plan: (String, String),
    pub(super) files: Vec<(RepoPath, Option<Vec<u8>>)>,
}

impl Landed for Never {
    fn stands(&self, _: &Pin) -> Result<Option<Stretch>, Error> {
        Ok(None)
    }

    fn tip(&self) -> CommitId {
        CommitId([0; 20])
    }

    fn stretch(&self, _: CommitId, _: &[RepoPath]) -> Result<Option<Stretch>, Error> {
        Ok(None)
    }

    fn status_checks(&self, _: &[CommitId]) -> Result<Result<Vec<StatusCheck>, String>, Error> {
        Ok(Ok(Vec::new()))
    }

    fn tree(&self, _: CommitId) -> Result<Box<dyn Tree>, Error> {
        Err(Error::Defect("there is no history".to_owned()))
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
    pub(super) fn print(&self, job: &Job) -> String {
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
    pub(super) fn new() -> Self {
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
        let served = Served { index: Some("https://helm.linkerd.io/edge".to_owned()), ..Served::default() };
        Self { files, catalog, served, renderer, now: "2027-01-01T00:00:00Z".parse().unwrap() }
    }

    /// Where the pins of proxies are what is left to move.
    pub(super) fn of_proxies() -> Self {
        let mut world = Self::new();
        for (text, _) in world.files.values_mut().filter(|(text, _)| !text.contains("proxy-version")) {
            *text = text.replace("2026.8.2", "2026.8.3").replace("helm edge-26.8.2", "helm edge-26.8.3");
        }
        let config = &mut world.files.get_mut("uplinker.yaml").unwrap().0;
        config.push_str("dataPlane:\n  after: 0d\n");
        world
    }

    pub(super) fn tree(&self) -> Files {
        let mut files = Files(Vec::new(), BTreeMap::new());
        for (name, (text, mode)) in &self.files {
            let id = crate::repo::blob_id(text.as_bytes());
            files.0.push(Entry { path: path(name), id, mode: *mode });
            files.1.insert(id, text.clone().into_bytes());
        }
        files.0.sort_by(|a, b| a.path.cmp(&b.path));
        files
    }

    pub(super) fn operator(&self) -> Operator<'_> {
        Operator {
            catalog: &self.catalog,
            served: &self.served,
            mirrors: &NoMirrors,
            renderer: &self.renderer,
            cache: None,
            to: None,
            now: self.now,
            progress: &|_| (),
        }
    }

    pub(super) fn survey<'s>(&'s self, tree: &'s Files, config: &'s Config) -> Result<Survey<'s>, Error> {
        Survey::new(tree, config, &self.catalog, &self.served, Aim::default(), None)
    }

    /// Drafts a stage; `known` is the basis of another text.
    pub(super) fn draft(
        &self,
        stage: Stage,
        known: Option<&Basis>,
    ) -> Result<Option<(Draft, Option<bool>)>, Error> {
        let tree = self.tree();
        let config: Config = config::read(&tree)?;
        let survey = self.survey(&tree, &config)?;
        let operator = self.operator();
        let case = Case { survey: &survey, target: &survey.targets[0], stage };
        let Some(drafted) = upgrade::draft(case, "main", &operator, &Never, None, &[])? else {
            return Ok(None);
        };
        let decided = drafted.report.decision.plan().map(|plan| (plan.to, plan.hop_towards));
        let same = known.zip(decided).map(|(basis, (to, hop_towards))| {
            let origin = Origin::of(&Question { case, to, hop_towards, promoted: &[] }, &operator);
            basis.stretch.holds(self.now) && origin.is(basis)
        });
        Ok(Some((drafted, same)))
    }

    pub(super) fn written(draft: &Draft) -> Option<Written> {
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

pub(super) fn knowledge(more: &str) -> Knowledge {
    let text = format!(
        "version: 1\nmilestones:\n  - {{name: '2.19', first: edge-25.10.7}}\n  - {{name: '2.20', first: edge-26.8.3}}\n\
         gatewayApi:\n  - {{since: edge-25.4.4, from: '1.1.1', to: '1.2.1', source: here}}\n  - {{since: edge-26.8.3, from: \
         '1.2.1', to: '1.5.1', source: here}}\nnotices:\n  - {{release: edge-26.8.3, kind: breaking, text: Policies., source: \
         here, touches: {{kinds: [networking.k8s.io/NetworkPolicy]}}}}\n{more}"
    );
    Knowledge::parse(&text).unwrap()
}
