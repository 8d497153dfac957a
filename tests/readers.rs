//! A version that several things read, end to end: charts, proxies, what is not Linkerd's, and lines that hold it.

use std::sync::atomic::{AtomicUsize, Ordering};

use uplinker::{
    pins::{Reason, ScanOptions, scan},
    repo::{BlobId, Entry, Tree, TreeError},
};

use crate::support::{
    feed::release,
    process::Done,
    scene::{PLATFORM, REPO, Scene},
    tree::{MemoryTree, scanned, told},
};

/// What a Kustomization of a cluster fills in, and where from.
const CLUSTER: &str = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: mesh, namespace: flux-system}\n\
                       spec:\n  path: ./mesh\n  sourceRef: {kind: GitRepository, name: flux-system}\n  postBuild:\n    substitute:\n      \
                       linkerd_chart: 2026.8.2\n      linkerd_tag: edge-26.8.2\n";

const SOURCE: &str = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: edge, namespace: linkerd}\n\
                      spec: {url: https://helm.linkerd.io/edge}\n";

/// A release of a chart at a version, with what stands behind the version, and values.
fn helm_release(chart: &str, version: &str, values: &str) -> String {
    format!(
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: {chart}, namespace: linkerd}}\nspec:\n  chart:\n    \
         spec:\n      chart: {chart}\n      version: {version}\n      sourceRef: {{kind: HelmRepository, name: edge}}\n{values}"
    )
}

const CHART: &str = "${linkerd_chart}";

/// A cluster whose folder has these objects.
fn scene(objects: &[String]) -> Scene {
    let mesh = [SOURCE.to_owned()].iter().chain(objects).cloned().collect::<Vec<_>>().join("---\n");
    Scene::new(&[("clusters/prod.yaml", CLUSTER), ("mesh/all.yaml", &mesh)])
}

/// Runs once, and returns the text of the only pull request.
fn body(scene: &Scene) -> String {
    let _ = scene.run().done().exits(0).prints(&["opened http://"]);
    scene.only_pull().body.unwrap().replace("&#40;", "(").replace("&#41;", ")")
}

/// What the branch has changed, line by line.
fn lines(scene: &Scene, path: &str) -> Vec<String> {
    let (before, after) = (scene.repo.read("main", path).unwrap(), scene.repo.read(PLATFORM, path).unwrap());
    let pairs = before.lines().zip(after.lines());
    pairs.filter(|(a, b)| a != b).map(|(_, b)| b.trim().to_owned()).collect()
}

#[test]
fn a_version_of_its_own_that_is_put_together_stays_for_that() {
    let cluster = CLUSTER.replace("linkerd_tag: edge-26.8.2", "prometheus: 2.55.1");
    let values = "  values: {prometheus: {image: {tag: 'v${prometheus}'}}}\n";
    let viz = format!("{SOURCE}---\n{}", helm_release("linkerd-viz", CHART, values));
    let found = scanned(&[("clusters/prod.yaml", &cluster), ("mesh/viz.yaml", &viz)]);
    assert_eq!(
        told(&found),
        ["clusters/prod.yaml:9 2026.8.2 moves", "clusters/prod.yaml:10 v2.55.1 OwnVersion"]
    );
    let main = "variable \"p\" { default = \"2.55.1\" }\nresource \"helm_release\" \"viz\" {\n  repository = \
                \"https://helm.linkerd.io/edge\"\n  chart = \"linkerd-viz\"\n  version = \"2026.8.2\"\n  values = \
                [yamlencode({ prometheus = { image = { tag = \"v${var.p}\" } } })]\n}\n";
    let found = told(&scanned(&[("main.tf", main)]));
    assert_eq!(found, ["main.tf:1 v2.55.1 OwnVersion", "main.tf:5 2026.8.2 moves"]);
}

#[test]
fn a_version_of_three_charts_waits_for_all_of_them_and_is_told_of_all_of_them() {
    let of = |chart: &str| helm_release(chart, CHART, "");
    let scene = scene(&["linkerd-crds", "linkerd-control-plane", "linkerd-viz"].map(of));
    let published = || release("edge-26.8.3", "2026-08-15T09:00:00Z");
    scene.feed.publish(published().charts(&["linkerd-crds", "linkerd-control-plane"]));
    let _ = scene.run().done().exits(0).prints(&["waits until the chart index has linkerd-viz for it"]);
    assert!(scene.github.pulls(REPO).is_empty());
    scene.feed.publish(published());
    let body = body(&scene);
    let row = "| `linkerd-control-plane, linkerd-crds, linkerd-viz` | `2026.8.2` | **`2026.8.3`** |";
    assert!(body.contains(row), "{body}");
    let order = "does not wait for `linkerd-crds`, which brings its CRDs";
    assert!(body.contains(order) && !body.contains("linkerd-crds does not move"), "{body}");
    let message = scene.repo.message(PLATFORM);
    for chart in ["linkerd-control-plane", "linkerd-crds", "linkerd-viz"] {
        assert!(message.contains(&format!("Chart-Digest: {chart} 2026.8.3 sha256:")), "{message}");
    }
    assert_eq!(lines(&scene, "clusters/prod.yaml"), ["linkerd_chart: 2026.8.3"]);
}

#[test]
fn proxies_that_read_what_the_platform_does_are_told() {
    let values = "  values:\n    linkerdVersion: ${linkerd_tag}\n";
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n  annotations:\n    \
                     config.linkerd.io/proxy-version: ${linkerd_tag}\n";
    let scene = scene(&[helm_release("linkerd-control-plane", CHART, values), namespace.to_owned()]);
    let body = body(&scene);
    assert!(body.contains("`edge-26.8.2` is the version of proxies too (mesh/all.yaml:23)"), "{body}");
    assert!(body.contains("with this change, not once the control plane runs it"), "{body}");
    assert_eq!(lines(&scene, "clusters/prod.yaml"), ["linkerd_chart: 2026.8.3", "linkerd_tag: edge-26.8.3"]);
}

#[test]
fn values_of_a_chart_that_is_held_stay_with_it() {
    let values = "  values:\n    linkerdVersion: edge-26.8.2\n    proxy: {image: {version: edge-26.8.2}}\n";
    let crds = helm_release("linkerd-crds", "2026.8.2", "");
    let scene = scene(&[crds, helm_release("linkerd-control-plane", "2026.8.2 # uplinker: hold", values)]);
    let body = body(&scene);
    assert!(body.contains("`edge-26.8.2` is held by the comment at mesh/all.yaml:23 and stays"), "{body}");
    assert!(!body.contains("Blocked"), "{body}");
    assert_eq!(lines(&scene, "mesh/all.yaml"), ["version: 2026.8.3"]);
}

#[test]
fn values_of_a_chart_that_flux_moves_stay_with_it() {
    let values = "  values:\n    linkerdVersion: edge-26.8.2\n    proxy: {image: {version: edge-26.8.2}}\n";
    let version = "2026.8.2 # {\"$imagepolicy\": \"flux-system:linkerd:tag\"}";
    let crds = helm_release("linkerd-crds", "2026.8.2", "");
    let scene = scene(&[crds, helm_release("linkerd-control-plane", version, values)]);
    let body = body(&scene);
    let said = "`edge-26.8.2` stays with its chart (mesh/all.yaml:23), which is left to Flux";
    assert!(body.contains(said), "{body}");
    assert_eq!(lines(&scene, "mesh/all.yaml"), ["version: 2026.8.3"]);
}

#[test]
fn a_line_that_reads_a_version_holds_it_for_all() {
    let of = |chart: &str, behind: &str| helm_release(chart, &format!("{CHART}{behind}"), "");
    let viz = helm_release("linkerd-viz", "2026.8.2", "");
    let scene = scene(&[of("linkerd-crds", ""), of("linkerd-control-plane", " # uplinker: hold"), viz]);
    let body = body(&scene);
    assert!(body.contains("`2026.8.2` is held by the comment at mesh/all.yaml:23 and stays"), "{body}");
    assert_eq!(lines(&scene, "clusters/prod.yaml"), [""; 0]);
    assert_eq!(lines(&scene, "mesh/all.yaml"), ["version: 2026.8.3"]);
}

#[test]
fn what_is_not_linkerd_s_keeps_what_it_reads_and_that_blocks() {
    let app = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: app, namespace: shop}\nspec:\n  template:\n    spec:\n      \
               containers:\n      - name: app\n        image: acme/app:${linkerd_chart}\n";
    let of = |chart: &str| helm_release(chart, CHART, "");
    let viz = helm_release("linkerd-viz", "2026.8.2", "");
    let scene = scene(&[of("linkerd-crds"), of("linkerd-control-plane"), app.to_owned(), viz]);
    let body = body(&scene);
    let said =
        "`2026.8.2` stays behind: something that must not move with Linkerd reads it too (mesh/all.yaml:34)";
    assert!(body.contains("**Blocked:"), "{body}");
    assert!(body.contains(said), "{body}");
    assert_eq!(lines(&scene, "clusters/prod.yaml"), [""; 0]);
}

/// Two Kustomizations that fill the same ConfigMap in: Linkerd's, and one of a folder that nowhere names it.
fn filled(app: &str) -> Vec<String> {
    let kustomization = |name: &str, path: &str| {
        format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: flux-system}}\nspec:\n  \
             path: {path}\n  sourceRef: {{kind: GitRepository, name: flux-system}}\n  postBuild: {{substituteFrom: [{{kind: ConfigMap, \
             name: versions}}]}}\n---\n"
        )
    };
    let versions = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: versions, namespace: flux-system}\ndata:\n  version: 2026.8.1\n";
    let clusters =
        [kustomization("mesh", "./mesh"), kustomization("apps", "./apps"), versions.to_owned()].concat();
    let mesh = format!("{SOURCE}---\n{}", helm_release("linkerd-control-plane", "${version}", ""));
    let tree =
        scanned(&[("clusters/prod.yaml", &clusters), ("mesh/all.yaml", &mesh), ("apps/app.yaml", app)]);
    told(&tree)
}

#[test]
fn what_nowhere_names_linkerd_keeps_what_it_reads_of_a_config_map() {
    let pod = |image: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec: {{containers: [{{name: a, image: '{image}'}}]}}\n"
        )
    };
    assert_eq!(filled(&pod("acme/a:${version}")), ["clusters/prod.yaml:21 2026.8.1 Shared"]);
    assert_eq!(filled(&pod("acme/a:1")), ["clusters/prod.yaml:21 2026.8.1 moves"]);
    let other = helm_release("podinfo", "${version}", "").replace("name: edge", "name: podinfo");
    let other = other.replace("namespace: linkerd", "namespace: shop");
    assert_eq!(filled(&other), ["clusters/prod.yaml:21 2026.8.1 Shared"]);
}

#[test]
fn a_chart_that_nowhere_names_linkerd_keeps_what_it_is_given() {
    let app = "---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: app, namespace: shop}\nspec:\n  chart:\n    \
               spec:\n      chart: ./charts/app\n      sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}\n  \
               values: {tag: '${linkerd_tag}'}\n";
    let values = "  values:\n    linkerdVersion: ${linkerd_tag}\n";
    let mesh = format!("{SOURCE}---\n{}{app}", helm_release("linkerd-control-plane", "2026.8.2", values));
    let template = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: app}\nspec:\n  template:\n    spec:\n      containers:\n      \
                    - name: app\n        image: \"acme/app:{{ .Values.tag }}\"\n";
    let tree = scanned(&[
        ("clusters/prod.yaml", CLUSTER),
        ("mesh/all.yaml", &mesh),
        ("charts/app/Chart.yaml", "apiVersion: v2\nname: app\nversion: 1.0.0\n"),
        ("charts/app/values.yaml", "tag: x\n"),
        ("charts/app/templates/app.yaml", template),
    ]);
    assert!(
        told(&tree).contains(&"clusters/prod.yaml:10 edge-26.8.2 Shared".to_owned()),
        "{:?}",
        told(&tree)
    );
}

#[test]
fn an_image_tag_of_another_chart_is_a_reader_however_it_is_given() {
    let set = |helm: &str| {
        let text = format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {{name: a, namespace: argocd}}\nspec:\n  goTemplate: true\n  \
             generators: [{{list: {{elements: [{{version: edge-26.8.1}}]}}}}]\n  template:\n    metadata: {{name: a}}\n    spec:\n      \
             project: default\n      destination: {{name: a, namespace: linkerd}}\n      sources:\n      - repoURL: \
             https://helm.linkerd.io/edge\n        chart: linkerd-control-plane\n        targetRevision: 2026.8.1\n        helm: \
             {{valuesObject: {{linkerdVersion: '{{{{ .version }}}}'}}}}\n      - repoURL: https://charts.acme.io\n        chart: app\n        \
             targetRevision: 1.0.0\n        helm: {helm}\n"
        );
        told(&scanned(&[("a.yaml", &text)]))[0].clone()
    };
    let shared = "a.yaml:6 edge-26.8.1 Shared";
    assert_eq!(set("{parameters: [{name: imageTag, value: '{{ .version }}'}]}"), shared);
    assert_eq!(set("{valuesObject: {imageTag: '{{ .version }}'}}"), shared);
    assert_eq!(set("{valuesObject: {imageName: acme/x, imageTag: '{{ .version }}'}}"), shared);
    assert_eq!(set("{valuesObject: {replicas: 2}}"), "a.yaml:6 edge-26.8.1 moves");
    let ours = "{valuesObject: {imageName: cr.l5d.io/linkerd/proxy, imageTag: '{{ .version }}'}}";
    assert_eq!(set(ours), "a.yaml:6 edge-26.8.1 moves");
}

#[test]
fn an_entry_of_values_from_holds_what_it_reads() {
    let config_map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: versions, namespace: linkerd}\ndata:\n  v: edge-26.8.1\n";
    let said = |hold: &str| {
        let from = format!(
            "  valuesFrom:\n  - kind: ConfigMap\n    name: versions\n    valuesKey: v{hold}\n    targetPath: linkerdVersion\n"
        );
        let mesh = format!("{SOURCE}---\n{}", helm_release("linkerd-control-plane", "2026.8.1", &from));
        told(&scanned(&[("cm.yaml", config_map), ("mesh.yaml", &mesh)]))[0].clone()
    };
    assert_eq!(said(""), "cm.yaml:5 edge-26.8.1 moves");
    assert_eq!(said(" # uplinker: hold"), "cm.yaml:5 edge-26.8.1 Held");
}

#[test]
fn very_many_readers_of_one_file_are_looked_at_line_by_line() {
    let alias = |n: usize| format!("      - {{name: a{n}, version: *v}}\n");
    let set = |last: &str| {
        let elements: String = (0..2_000).map(alias).collect();
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {{name: a, namespace: argocd}}\nspec:\n  goTemplate: true\n  \
             generators:\n  - list:\n      elements:\n      - {{name: a, version: &v 2026.8.1}}\n{elements}  template:\n    metadata: {{name: \
             '{{{{ .name }}}}'}}\n    spec:\n      project: default\n      destination: {{name: a, namespace: linkerd}}\n      source: {{repoURL: \
             https://helm.linkerd.io/edge, chart: linkerd-crds, targetRevision: '{{{{ .version }}}}'}}\n{last}"
        )
    };
    let time = |text: &str| {
        let begin = std::time::Instant::now();
        assert_eq!(told(&scanned(&[("a.yaml", text)])), ["a.yaml:9 2026.8.1 moves"]);
        begin.elapsed()
    };
    let (without, with) = (time(&set("")), time(&set("# uplinker: a word\n")));
    assert!(with < 5 * without, "{with:?} where it was {without:?}");
}

#[test]
fn a_chart_of_another_name_is_told_where_its_release_is_called_as_linkerd_s() {
    let oci = |name: &str| {
        format!(
            "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {{name: mesh, namespace: linkerd}}\nspec:\n  \
             url: oci://cr.example.com/charts/mesh\n  ref: {{tag: 2026.8.2}}\n---\napiVersion: helm.toolkit.fluxcd.io/v2\n\
             kind: HelmRelease\nmetadata: {{name: {name}, namespace: linkerd}}\nspec:\n  chartRef: {{kind: OCIRepository, name: mesh}}\n"
        )
    };
    let found = |name: &str| told(&scanned(&[("flux/mesh.yaml", &oci(name))]));
    assert_eq!(found("linkerd-control-plane"), ["flux/mesh.yaml:6 2026.8.2 NotFollowed"]);
    assert_eq!(found("podinfo"), [""; 0], "it may be a release of anything");
}

#[test]
fn an_image_that_is_laid_over_a_chart_goes_with_it() {
    let over = "  postRenderers:\n  - kustomize:\n      patches:\n      - patch: |\n          kind: Deployment\n          apiVersion: apps/v1\n          \
                metadata: {name: linkerd-identity}\n          spec: {template: {spec: {containers: [\n            \
                {name: linkerd-proxy, image: 'cr.l5d.io/linkerd/proxy:edge-26.8.2'}]}}}\n";
    let of = |chart: &str, more: &str| helm_release(chart, CHART, more);
    let scene = scene(&[of("linkerd-crds", ""), of("linkerd-control-plane", over)]);
    scene.feed.publish(release("edge-26.8.3", "2026-08-15T09:00:00Z"));
    let body = body(&scene);
    assert!(!body.contains("manual-injection"), "{body}");
    assert_eq!(
        lines(&scene, "mesh/all.yaml"),
        ["{name: linkerd-proxy, image: 'cr.l5d.io/linkerd/proxy:edge-26.8.3'}]}}}"]
    );
}

#[test]
fn values_whose_chart_is_said_elsewhere_stay_and_the_pull_request_warns() {
    let cluster = CLUSTER.replace(
        "    substitute:\n",
        "    substituteFrom: [{kind: ConfigMap, name: cluster}]\n    substitute:\n",
    );
    let values = |value: &str| format!("  values:\n    proxy: {{image: {{version: {value}}}}}\n");
    let mesh = [
        SOURCE.to_owned(),
        helm_release("linkerd-crds", CHART, ""),
        helm_release("linkerd-control-plane", CHART, ""),
        helm_release(
            "linkerd-viz",
            "${viz_chart}",
            &values("edge-26.8.2")
                .replace("proxy: {image: {version: edge-26.8.2}}", "linkerdVersion: edge-26.8.2"),
        ),
    ];
    let scene = Scene::new(&[("clusters/prod.yaml", &cluster), ("mesh/all.yaml", &mesh.join("---\n"))]);
    scene.feed.publish(release("edge-26.8.3", "2026-08-15T09:00:00Z"));
    let body = body(&scene);
    assert!(body.contains("the version of its chart is not in this repository"), "{body}");
    assert!(body.contains("is for linkerd-viz is not known here"), "{body}");
    assert_eq!(scene.repo.read("main", "mesh/all.yaml"), scene.repo.read(PLATFORM, "mesh/all.yaml"));
}

/// Plans for an app of apps whose template has something more than the release of viz.
fn planned_with(more: &str) -> Done {
    let template = format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: viz, namespace: argocd}}\nspec:\n  source:\n    \
         repoURL: https://helm.linkerd.io/edge\n    chart: linkerd-viz\n    targetRevision: {{{{ .Values.viz }}}}\n{more}"
    );
    let root = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: root, namespace: argocd}\nspec:\n  source: \
                {repoURL: https://git.example.org/mesh.git, path: charts/apps, targetRevision: main}\n";
    let mut scene = Scene::new(&[
        ("root.yaml", root),
        ("charts/apps/Chart.yaml", "apiVersion: v2\nname: apps\nversion: 0.1.0\n"),
        ("charts/apps/values.yaml", "viz: 2026.8.2\n"),
        ("charts/apps/templates/viz.yaml", &template),
    ]);
    scene.renders = true;
    scene.feed.publish(release("edge-26.8.3", "2026-08-15T09:00:00Z"));
    scene.command("plan").done()
}

#[test]
fn what_a_template_gives_for_one_release_alone_blocks() {
    let plan = |condition: &str| {
        planned_with(&format!(
            "{{{{- if eq .Values.viz {condition:?} }}}}\n---\napiVersion: v1\nkind: Service\nmetadata: {{name: web}}\n{{{{- end }}}}\n"
        ))
    };
    let _ = plan("2026.8.2").prints(&["model-diff", "would be gone"]);
    let _ = plan("2026.8.3").prints(&["model-diff", "would come"]);
    let _ = plan("2026.8.1").prints(&["2026.8.2 → 2026.8.3"]).never_says("model-diff");
}

#[test]
fn what_a_chart_makes_by_chance_is_no_difference() {
    let by_chance = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"web-{{ randAlpha 6 | lower }}\"}\n---\napiVersion: \
                     v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {seed: \"{{ randAlphaNum 20 }}\"}\n";
    let _ = planned_with(by_chance).prints(&["2026.8.2 → 2026.8.3"]).never_says("model-diff");
}

#[test]
fn what_depends_on_a_chart_at_the_version_that_moves_blocks() {
    let plan = |asked: &str| {
        let application = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: viz, namespace: argocd}\nspec:\n  source: \
                           {repoURL: https://helm.linkerd.io/edge, chart: linkerd-viz, targetRevision: {{ .Chart.Version }}}\n";
        let root = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: root, namespace: argocd}\nspec:\n  source: \
                    {repoURL: https://git.example.org/mesh.git, path: charts/all, targetRevision: main}\n";
        let all = format!(
            "apiVersion: v2\nname: all\nversion: 0.1.0\ndependencies:\n- {{name: linkerd-apps, version: {asked:?}, repository: \
             'file://../linkerd-apps'}}\n"
        );
        let mut scene = Scene::new(&[
            ("root.yaml", root),
            ("charts/all/Chart.yaml", &all),
            ("charts/linkerd-apps/Chart.yaml", "apiVersion: v2\nname: linkerd-apps\nversion: 2026.8.2\n"),
            ("charts/linkerd-apps/templates/viz.yaml", application),
        ]);
        scene.renders = true;
        scene.feed.publish(release("edge-26.8.3", "2026-08-15T09:00:00Z"));
        scene.command("plan").done()
    };
    let _ = plan("2026.8.2").prints(&["model-diff", "charts/linkerd-apps has 2026.8.3"]);
    let _ = plan("~2026.8.0").prints(&["2026.8.2 → 2026.8.3"]).never_says("model-diff");
}

/// A tree that counts how often it is read from.
struct Counted {
    tree: MemoryTree,
    reads: AtomicUsize,
}

impl Tree for Counted {
    fn entries(&self) -> &[Entry] {
        self.tree.entries()
    }

    fn read(&self, id: BlobId) -> Result<Vec<u8>, TreeError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.tree.read(id)
    }

    fn size(&self, id: BlobId) -> Result<u64, TreeError> {
        self.tree.size(id)
    }
}

/// How often the files are read of a cluster that has these objects, each held by the first of their lines.
fn reads(objects: &str) -> usize {
    let tree = MemoryTree::new([("clusters/prod.yaml", CLUSTER), ("mesh/all.yaml", objects)]);
    let counted = Counted { tree, reads: AtomicUsize::new(0) };
    let found = scan(&counted, &ScanOptions::default()).unwrap();
    assert!(found.pins().any(|pin| pin.stays == Some(Reason::Held)), "{:?}", told(&found));
    counted.reads.into_inner()
}

#[test]
fn more_lines_that_read_a_version_beside_a_hold_take_no_more_reads() {
    let hold = |n| if n == 0 { " # uplinker: hold" } else { "" };
    let namespace = |n| {
        let annotations = "annotations: {config.linkerd.io/proxy-version: '${linkerd_tag}'}";
        let meta = format!("metadata: {{name: n{n}, {annotations}}}");
        format!("---\n{{apiVersion: v1, kind: Namespace, {meta}}}{}\n", hold(n))
    };
    let namespaces = |count| (0..count).map(namespace).collect::<String>();
    assert_eq!(reads(&namespaces(3)), reads(&namespaces(40)), "each line reads one place");
    let element = |n| format!("      - {{to: c{n}, version: 2026.8.2}}{}\n", hold(n));
    let set = |count| {
        let elements = (0..count).map(element).collect::<String>();
        let source = "repoURL: https://helm.linkerd.io/edge, chart: linkerd-crds";
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {{name: crds, namespace: argocd}}\nspec:\n  generators:\n  \
             - list:\n      elements:\n{elements}  template:\n    metadata: {{name: 'crds-{{{{to}}}}'}}\n    spec:\n      destination: \
             {{name: '{{{{to}}}}'}}\n      source: {{{source}, targetRevision: '{{{{version}}}}'}}\n"
        )
    };
    assert_eq!(reads(&set(3)), reads(&set(40)), "one line reads each of them");
}
