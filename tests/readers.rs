//! A version that several things read, end to end: charts, proxies, what is not Linkerd's, and lines that hold it.

use crate::support::{
    feed::release,
    scene::{PLATFORM, REPO, Scene},
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
