//! Repositories of any size, written by `git fast-import` from a seed, the same in each run.

use std::{
    io::{BufWriter, Write},
    path::Path,
    process::{Command, Stdio},
};

/// The release that all pins of a fixture name.
pub const OLD: &str = "edge-26.8.2";
/// The chart version of [`OLD`].
pub const OLD_CHART: &str = "2026.8.2";

const WORDS: [&str; 24] = [
    "frontend",
    "ledger",
    "orders",
    "search",
    "gateway",
    "mailer",
    "cache",
    "worker",
    "metrics",
    "replicas",
    "region",
    "quota",
    "timeout",
    "backend",
    "invoice",
    "catalogue",
    "session",
    "profile",
    "shipping",
    "stock",
    "review",
    "audit",
    "billing",
    "queue",
];

/// Numbers without a crate: the generator splitmix64.
pub struct Numbers(u64);

/// One file of a fixture.
pub struct File {
    pub path: String,
    pub content: Vec<u8>,
}

// === impl Numbers ===

impl Numbers {
    /// Starts from a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut n = self.0;
        n = (n ^ (n >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        n = (n ^ (n >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        n ^ (n >> 31)
    }

    fn word(&mut self) -> &'static str {
        WORDS[usize::try_from(self.next() % WORDS.len() as u64).unwrap_or(0)]
    }
}

/// Adds files to a repository as one commit on `branch`, onto what is there.
pub fn import(repository: &Path, branch: &str, files: impl Iterator<Item = File>) {
    let parent = git(repository, &["rev-parse", "--verify", "--quiet", &format!("refs/heads/{branch}")]);
    let mut child = Command::new("git")
        .arg("-C")
        .arg(repository)
        .args(["fast-import", "--quiet", "--done"])
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("git fast-import");
    let mut to = BufWriter::new(child.stdin.take().expect("its input"));
    let mut write = |bytes: &[u8]| to.write_all(bytes).expect("git fast-import reads");
    write(
        format!("commit refs/heads/{branch}\ncommitter Ada <ada@example.com> 1785000000 +0000\n").as_bytes(),
    );
    write(b"data 4\nMake\n");
    if !parent.trim().is_empty() {
        write(format!("from {}\n", parent.trim()).as_bytes());
    }
    for file in files {
        write(format!("M 100644 inline {}\ndata {}\n", file.path, file.content.len()).as_bytes());
        write(&file.content);
        write(b"\n");
    }
    write(b"done\n");
    drop(to);
    assert!(child.wait().expect("git fast-import").success());
}

/// Runs Git in a repository and returns what it printed; nothing where it failed.
pub fn git(repository: &Path, arguments: &[&str]) -> String {
    let done = Command::new("git")
        .arg("-C")
        .arg(repository)
        .args(arguments)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stderr(Stdio::null())
        .output()
        .expect("git");
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// Makes `count` manifests of about 1 KB, a hundred in a folder; 1 in 100 holds a Linkerd pin, and 2 in
/// 1,000 are of interest to a scan although they do not mention Linkerd.
pub fn manifests(count: usize) -> impl Iterator<Item = File> {
    let mut numbers = Numbers::new(7);
    (0..count).map(move |n| {
        let folder = format!("clusters/c{:02}/apps-{:03}", n / 10_000, n / 100 % 1000);
        let (name, content) = match n % 100 {
            0 if n / 100 % 10 == 1 => ("kustomization.yaml".to_owned(), kustomization()),
            1 if n / 100 % 10 == 1 => {
                ("release.yaml".to_owned(), helm_release(&mut numbers, "redis", "19.6.4", "bitnami"))
            }
            2 if n / 100 % 10 == 0 => ("linkerd.yaml".to_owned(), linkerd_release(&mut numbers)),
            2 => ("namespace.yaml".to_owned(), namespace(&mut numbers)),
            k => (format!("app-{k:02}.yaml"), deployment(&mut numbers, "")),
        };
        File { path: format!("{folder}/{name}"), content: padded(content, &mut numbers) }
    })
}

/// Makes what is hardest to keep in memory: every file holds a pin.
pub fn pinned(annotated: usize, applications: usize) -> impl Iterator<Item = File> {
    let mut numbers = Numbers::new(11);
    let annotation = format!("config.linkerd.io/proxy-version: {OLD}");
    (0..annotated + applications).map(move |n| {
        let (kind, text) = if n < annotated {
            ("app", deployment(&mut numbers, &annotation))
        } else {
            ("application", application(n))
        };
        let path = format!("fleet/{:03}/{kind}-{n:05}.yaml", n / 100);
        File { path, content: padded(text, &mut numbers) }
    })
}

/// Makes `count` files of random bytes of that size, which no compression makes smaller.
pub fn random(count: usize, size: usize) -> impl Iterator<Item = File> {
    let mut numbers = Numbers::new(13);
    (0..count).map(move |n| {
        let content: Vec<u8> = (0..size / 8).flat_map(|_| numbers.next().to_le_bytes()).collect();
        File { path: format!("assets/{:03}/blob-{n:05}.dat", n / 100), content }
    })
}

/// Makes clusters whose Flux Kustomizations fill the versions of the same releases, each with one of its own.
pub fn clusters(clusters: usize, charts: usize) -> impl Iterator<Item = File> {
    let file = |path: String, text: String| File { path, content: text.into_bytes() };
    let source = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: edge, namespace: mesh}\nspec: {url: https://helm.linkerd.io/edge}\n";
    let base = (0..charts).map(move |n| {
        let text = format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: viz-{n}, namespace: mesh}}\nspec:\n  interval: 10m\n  chart:\n    spec:\n      chart: linkerd-viz\n      version: ${{release}}\n      sourceRef: {{kind: HelmRepository, name: edge}}\n  values:\n    dashboard: {{replicas: {n}}}\n"
        );
        file(format!("mesh/base/viz-{n}.yaml"), text)
    });
    let names: Vec<String> = (0..charts).map(|n| format!("viz-{n}.yaml")).collect();
    let list = format!("resources: [source.yaml, {}]\n", names.join(", "));
    let each = (0..clusters).flat_map(move |n| {
        let root = format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: mesh, namespace: flux-system}}\nspec:\n  path: ./mesh/c{n:02}\n  postBuild:\n    substitute:\n      release: {OLD_CHART}\n"
        );
        let overlay = "resources: [../base]\n".to_owned();
        [file(format!("clusters/c{n:02}/mesh.yaml"), root), file(format!("mesh/c{n:02}/kustomization.yaml"), overlay)]
    });
    let own = [
        file("mesh/base/kustomization.yaml".to_owned(), list),
        file("mesh/base/source.yaml".to_owned(), source.to_owned()),
    ];
    own.into_iter().chain(base).chain(each)
}

/// Makes the few manifests that pin Linkerd in a repository of other things.
pub fn platform() -> Vec<File> {
    let source = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata:\n  name: linkerd-edge\n  \
                  namespace: flux-system\nspec:\n  interval: 1h\n  url: https://helm.linkerd.io/edge\n";
    let release = |chart: &str, depends: &str| {
        format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata:\n  name: {chart}\n  \
             namespace: flux-system\nspec:\n  interval: 10m\n{depends}  targetNamespace: linkerd\n  chart:\n    \
             spec:\n      chart: {chart}\n      version: {OLD_CHART}\n      sourceRef:\n        \
             kind: HelmRepository\n        name: linkerd-edge\n"
        )
    };
    let workload = format!(
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n  annotations:\n    linkerd.io/inject: enabled\n    \
         config.linkerd.io/proxy-version: {OLD}\n"
    );
    let file = |path: &str, text: String| File { path: path.to_owned(), content: text.into_bytes() };
    vec![
        file("linkerd/source.yaml", source.to_owned()),
        file("linkerd/crds.yaml", release("linkerd-crds", "")),
        file(
            "linkerd/control-plane.yaml",
            release("linkerd-control-plane", "  dependsOn:\n    - name: linkerd-crds\n"),
        ),
        file("apps/shop/namespace.yaml", workload),
    ]
}

fn kustomization() -> String {
    let resources: String = (3..30).map(|k| format!("  - app-{k:02}.yaml\n")).collect();
    format!("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n{resources}")
}

fn helm_release(numbers: &mut Numbers, chart: &str, version: &str, source: &str) -> String {
    let name = numbers.next() % 1_000_000;
    format!(
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata:\n  name: {chart}-{name}\n  \
         namespace: flux-system\nspec:\n  interval: 10m\n  chart:\n    spec:\n      chart: {chart}\n      \
         version: {version}\n      sourceRef:\n        kind: HelmRepository\n        name: {source}\n"
    )
}

fn linkerd_release(numbers: &mut Numbers) -> String {
    let release = helm_release(numbers, "linkerd-crds", OLD_CHART, "linkerd-edge");
    format!(
        "{release}---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata:\n  \
         name: linkerd-edge\n  namespace: flux-system\nspec:\n  url: https://helm.linkerd.io/edge\n"
    )
}

fn namespace(numbers: &mut Numbers) -> String {
    format!(
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {}-{}\n  annotations:\n    linkerd.io/inject: enabled\n    \
         config.linkerd.io/proxy-version: {OLD}\n",
        numbers.word(),
        numbers.next() % 10_000
    )
}

fn deployment(numbers: &mut Numbers, annotation: &str) -> String {
    let (name, image) = (format!("{}-{}", numbers.word(), numbers.next() % 10_000), numbers.word());
    let tag = numbers.next();
    let annotations = match annotation {
        "" => String::new(),
        annotation => format!("      annotations:\n        {annotation}\n"),
    };
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {name}\n  namespace: {image}\nspec:\n  \
         replicas: {}\n  selector:\n    matchLabels:\n      app: {name}\n  template:\n    metadata:\n{annotations}      \
         labels:\n        app: {name}\n    spec:\n      containers:\n        - name: {image}\n          \
         image: registry.example.com/{image}:{tag:x}\n          ports:\n            - containerPort: 8080\n",
        tag % 9 + 1
    )
}

fn application(n: usize) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata:\n  name: linkerd-crds-{n}\n  \
         namespace: argocd\nspec:\n  project: default\n  source:\n    repoURL: https://helm.linkerd.io/edge\n    \
         chart: linkerd-crds\n    targetRevision: {OLD_CHART}\n  destination:\n    name: cluster-{n}\n    \
         namespace: linkerd\n"
    )
}

/// Fills a manifest up to about 1 KB with a comment of words, as people and licence headers do.
fn padded(mut text: String, numbers: &mut Numbers) -> Vec<u8> {
    while text.len() < 1000 {
        let words: Vec<String> =
            (0..8).map(|_| format!("{}{}", numbers.word(), numbers.next() % 97)).collect();
        text.push_str(&format!("# {}\n", words.join(" ")));
    }
    text.into_bytes()
}
