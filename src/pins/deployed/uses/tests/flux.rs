//! Uses of HelmReleases: their values, overlays, variables and sources.

use super::*;

#[test]
fn flux_takes_values_from_maps_in_order_and_never_from_secrets() {
    let rest = "  targetNamespace: mesh\n  valuesFrom:\n  - {kind: ConfigMap, name: shared}\n  - {kind: Secret, name: trust, valuesKey: ca.crt, targetPath: identityTrustAnchorsPEM}\n  - {kind: ConfigMap, name: single, valuesKey: n, targetPath: 'proxy.cores'}\n  - {kind: ConfigMap, name: gone, optional: true}\n  - {kind: ConfigMap, name: made, valuesKey: v.yaml}\n  values:\n    a: ENC[AES256_GCM,data:x]\n    b: {c: 1}\n  install: {crds: Create}\n  upgrade: {crds: CreateReplace}\n  postRenderers: [{kustomize: {}}]\n";
    let maps = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shared, namespace: linkerd}\ndata:\n  values.yaml: |\n    x: yes\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: single, namespace: linkerd}\ndata: {n: '3'}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: trust, namespace: linkerd}\nstringData: {ca.crt: PEM}\n";
    let found = uses(&[
        ("a/source.yaml", REPOSITORY),
        ("a/release.yaml", &release("cp", "linkerd-control-plane", "2026.8.2", rest)),
        ("a/maps.yaml", maps),
        (
            "a/kustomization.yaml",
            "resources: [source.yaml, release.yaml, maps.yaml]\nconfigMapGenerator:\n- name: made\n  files: [v.yaml=made.yaml]\n",
        ),
        ("a/made.yaml", "m: 1\n"),
    ]);
    let all: Vec<String> = found.iter().map(named).collect();
    assert_eq!(
        all,
        ["a/release.yaml:1 by a/kustomization.yaml: linkerd-control-plane 2026.8.2 as mesh-cp in mesh"]
    );
    assert_eq!(
        layers(&found[0]),
        [
            "a/maps.yaml: {x: true}",
            "outside: Secret linkerd/trust, key ca.crt -> identityTrustAnchorsPEM",
            "a/maps.yaml: {proxy: {cores: 3}}",
            "outside?: ConfigMap linkerd/gone, key values.yaml, which is not in this repository -> any",
            "a/made.yaml: {m: 1}",
            "a/release.yaml: {b: {c: 1}}",
            "outside: a value that SOPS encrypts -> a",
        ]
    );
    assert!(found[0].include_crds && found[0].hooks);
    assert_eq!(found[0].notes.len(), 1, "{:?}", found[0].notes);
}

#[test]
fn overlays_and_flux_variables_give_a_use_each() {
    let rest = "  values: {a: '${x:=1}', l: [1, 2]}\n";
    let cluster = |name: &str, more: &str| {
        format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: flux-system}}\nspec: {{path: ./overlays/{name}, {more}}}\n"
        )
    };
    let found = uses(&[
        ("base/source.yaml", REPOSITORY),
        ("base/release.yaml", &release("crds", "linkerd-crds", "\"${v}\"", rest)),
        ("base/kustomization.yaml", "resources: [source.yaml, release.yaml]\n"),
        (
            "overlays/a/kustomization.yaml",
            "resources: [../../base]\npatches:\n- patch: |\n    apiVersion: helm.toolkit.fluxcd.io/v2\n    kind: HelmRelease\n    metadata: {name: crds, namespace: linkerd}\n    spec: {values: {l: [3], b: 2}}\n- target: {kind: HelmRelease, name: other}\n  patch: '[{op: remove, path: /spec}]'\n",
        ),
        (
            "overlays/b/kustomization.yaml",
            "resources: [../../base]\npatches:\n- path: version.yaml\n  target: {kind: HelmRelease, name: 'cr.*'}\n",
        ),
        ("overlays/b/version.yaml", "- {op: replace, path: /spec/chart/spec/version, value: 2026.6.3}\n"),
        ("clusters/a.yaml", &cluster("a", "postBuild: {substitute: {v: 2026.8.2, x: '7'}}")),
        ("clusters/b.yaml", &cluster("b", "targetNamespace: tb, postBuild: {substitute: {v: 2026.8.1}}")),
    ]);
    let all: Vec<String> = found.iter().map(named).collect();
    assert_eq!(
        all,
        [
            "base/release.yaml:1 by clusters/a.yaml: linkerd-crds 2026.8.2 as crds in linkerd",
            "base/release.yaml:1 by clusters/b.yaml: linkerd-crds 2026.6.3 as crds in tb",
        ]
    );
    assert_eq!(layers(&found[0]), ["overlays/a/kustomization.yaml: {a: 7, b: 2, l: [3]}"]);
    assert_eq!(layers(&found[1]), ["base/release.yaml: {a: 1, l: [1, 2]}"]);
}

#[test]
fn a_chart_reference_is_followed_and_files_inside_the_chart_are_named() {
    let oci = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: viz, namespace: linkerd}\nspec: {url: 'oci://mirror.example/charts/linkerd-viz', ref: {tag: 2026.8.2}}\n---\napiVersion: helm.toolkit.fluxcd.io/v2beta2\nkind: HelmRelease\nmetadata: {name: viz, namespace: linkerd}\nspec: {chartRef: {kind: OCIRepository, name: viz}}\n";
    let ha = release("cp", "linkerd-control-plane", "2026.8.2", "")
        .replace("version: 2026.8.2", "version: 2026.8.2, valuesFiles: [values.yaml, values-ha.yaml]");
    let found = uses(&[("oci.yaml", oci), ("ha.yaml", &format!("{REPOSITORY}---\n{ha}"))]);
    let all: Vec<String> = found.iter().map(named).collect();
    assert_eq!(
        all,
        [
            "ha.yaml:6: linkerd-control-plane 2026.8.2 as cp in linkerd",
            "oci.yaml:6: linkerd-viz 2026.8.2 as viz in linkerd",
        ]
    );
    assert_eq!(layers(&found[0]), ["in chart: values-ha.yaml"]);
    assert!(found[0].notes.is_empty());
}

#[test]
fn what_clusters_have_alike_is_one_use_and_what_they_build_of_is_none() {
    let cluster = |name: &str, to: &str| {
        format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: flux-system}}\nspec: {{path: ./base, postBuild: {{substitute: {{v: '{to}'}}}}}}\n"
        )
    };
    let (a, b, c) = (cluster("a", "2026.8.2"), cluster("b", "2026.8.2"), cluster("c", "2026.8.1"));
    let base = format!("{REPOSITORY}---\n{}", release("crds", "linkerd-crds", "\"${v:=2026.6.3}\"", ""));
    let kustomization = ("base/kustomization.yaml", "resources: [release.yaml]\n");
    let files = [("base/release.yaml", &*base), kustomization];
    let clusters = [("c/a.yaml", &*a), ("c/b.yaml", &*b), ("c/c.yaml", &*c)];
    let shown = |files: &[(&str, &str)]| uses(files).iter().map(named).collect::<Vec<_>>();
    assert_eq!(
        shown(&[&files[..], &clusters].concat()),
        [
            "base/release.yaml:6 by c/a.yaml and c/b.yaml: linkerd-crds 2026.8.2 as crds in linkerd",
            "base/release.yaml:6 by c/c.yaml: linkerd-crds 2026.8.1 as crds in linkerd",
        ]
    );
    // Whoever applies it may set the variable, or leave it.
    let alone = shown(&files);
    assert_eq!(
        alone,
        ["base/release.yaml:6 by base/kustomization.yaml: linkerd-crds 2026.6.3 as crds in linkerd"]
    );
    let bare = base.replace(":=2026.6.3", "");
    assert!(uses(&[("base/release.yaml", &bare), kustomization]).is_empty());
}

#[test]
fn what_a_secret_fills_in_is_shown_to_nobody() {
    let rest = "  targetNamespace: '${where}'\n  values:\n    plain: '${token}'\n    upper: '${token^^}'\n    long: 'a ${long} b'\n    ${token}: key\n    known: '${shown}'\n";
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: own, namespace: flux-system}\nstringData: {token: s3cret, long: \"s3cret\\tin words\", where: s3cret, version: 2026.8.2}\n";
    let root = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: root, namespace: flux-system}\nspec:\n  path: ./a\n  postBuild:\n    substitute: {shown: open}\n    substituteFrom: [{kind: Secret, name: own}]\n";
    let files = [
        ("a/kustomization.yaml", "resources: [source.yaml, release.yaml]\n"),
        ("a/source.yaml", REPOSITORY),
        ("a/release.yaml", &release("crds", "linkerd-crds", "\"${version}\"", rest)),
        ("root/root.yaml", root),
        ("root/secret.yaml", secret),
    ];
    let found = uses(&files);
    let [only] = &found[..] else { panic!("{found:?}") };
    assert!(!format!("{only:?}").to_lowercase().contains("s3cret"), "{only:?}");
    assert_eq!((only.version.as_str(), &only.namespace), ("2026.8.2", &None));
    let outside = |path: &str| format!("outside: {path}");
    let shown = layers(only);
    assert_eq!(shown[0], "a/release.yaml: {known: open}");
    for path in ["a Secret -> plain", "a Secret -> upper", "the Secret `own` -> long"] {
        assert!(shown.contains(&outside(path)), "{path}: {shown:?}");
    }
}
