//! Repositories that several clusters are built out of.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::json;
use uplinker::{
    linkerd::built_in,
    pins::{Applier, Inventory, PinKind, Reason, Revision, ScanOptions, Stage, scan},
    plan::{Options, Target, control_plane, forecast},
};

use crate::support::{
    expected,
    tree::{MemoryTree, scanned, told},
};

#[test]
fn a_release_that_many_clusters_build_alike_is_one_deployment() {
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: crds, namespace: linkerd}\n\
                   spec: {chart: {spec: {chart: linkerd-crds, version: 2026.8.2, sourceRef: {kind: HelmRepository, name: linkerd}}}}\n";
    let build = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: mesh, namespace: flux-system}\n\
                 spec: {path: mesh, sourceRef: {kind: GitRepository, name: flux-system}}\n";
    let files = [
        ("clusters/a/mesh.yaml", build),
        ("clusters/b/mesh.yaml", build),
        ("mesh/kustomization.yaml", "resources: [release.yaml]\n"),
        ("mesh/release.yaml", release),
    ];
    let files = files.map(|(path, text)| (path, text.as_bytes()));
    let found = scan(&MemoryTree::new(files), &ScanOptions::default()).unwrap();
    let told: Vec<_> = found.facts.deployments.iter().map(|d| (d.path.as_str(), d.line)).collect();
    assert_eq!(told, [("mesh/release.yaml", 1)]);
}

/// Two clusters of one repository, and what they take out of others.
fn clusters(more: &str) -> Inventory {
    let build = |name: &str, source: &str, path: &str| {
        format!(
            "---\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: flux-system}}\n\
             spec: {{path: {path}, prune: true, sourceRef: {{kind: GitRepository, name: {source}}}}}\n"
        )
    };
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: mesh, namespace: linkerd}\nspec: {chart: {spec: \
                   {chart: linkerd-control-plane, version: 2026.8.2, sourceRef: {kind: HelmRepository, name: linkerd}}}}\n";
    let source = |name: &str, url: &str| {
        format!(
            "---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {{name: {name}}}\nspec: {{url: '{url}'}}\n"
        )
    };
    let sources =
        [source("fleet", "https://github.com/acme/fleet"), source("team", "ssh://git@github.com/acme/team")];
    let teams = sources.concat() + &build("team", "team", "./") + more;
    let mut files = vec![("teams/team.yaml".to_owned(), teams)];
    for cluster in ["a", "b"] {
        let mesh = build("mesh", "fleet", &format!("./mesh/{cluster}"));
        files.push((
            format!("clusters/{cluster}/all.yaml"),
            mesh + &build("teams", "fleet", "./teams")
                + &build("cluster", "fleet", &format!("clusters/{cluster}")),
        ));
        files.push((format!("mesh/{cluster}/release.yaml"), release.to_owned()));
    }
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_bytes())).collect();
    scan(&MemoryTree::new(files), &ScanOptions::default()).unwrap()
}

#[test]
fn the_root_of_another_repository_is_not_the_root_of_this_one() {
    let application = |url: &str| {
        format!(
            "---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: shop, namespace: argocd}}\n\
             spec: {{source: {{repoURL: '{url}', path: .}}}}\n"
        )
    };
    let chart = "---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: nginx, namespace: argocd}\n\
                 spec: {source: {repoURL: 'https://charts.example.com', path: '', chart: nginx, targetRevision: 1.0.0}}\n";
    let apart = |more: &str| {
        let found = clusters(more);
        let names: Vec<String> = found.facts.installations.iter().map(ToString::to_string).collect();
        let mut appliers: Vec<String> =
            found.facts.appliers.values().flatten().map(|applier| applier.name.clone()).collect();
        appliers.dedup();
        (names, appliers)
    };
    let two = (vec!["a".to_owned(), "b".to_owned()], vec!["mesh".to_owned()]);
    for more in [String::new(), application("https://github.com/acme/shop"), chart.to_owned()] {
        assert_eq!(apart(&more), two, "{more}");
    }
    // Argo CD calls by its address what Flux calls by a name.
    let own = apart(&application("git@github.com:acme/fleet.git"));
    assert!(own.1.contains(&"shop".to_owned()), "it takes all in: {own:?}");
}

/// The release of a control plane whose chart and images are filled in from elsewhere.
fn filled() -> String {
    "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: linkerd-control-plane, namespace: linkerd}\nspec:\n  \
     chart: {spec: {chart: linkerd-control-plane, version: '${mesh_version}', sourceRef: {kind: HelmRepository, name: linkerd}}}\n  \
     values: {controllerImageVersion: '${mesh_tag}'}\n"
        .to_owned()
}

/// Where nothing in the tree applies the entry of a cluster, as after a bootstrap by Terraform or flux-operator.
#[test]
fn what_one_kustomization_fills_in_is_of_one_cluster() {
    let entry = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: infra, namespace: flux-system}\nspec:\n  \
                 path: ./infra\n  prune: true\n  sourceRef: {kind: GitRepository, name: flux-system}\n  postBuild:\n    \
                 substitute: {mesh_tag: edge-26.8.2}\n    substituteFrom: [{kind: ConfigMap, name: vars}]\n";
    let variables = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: vars, namespace: flux-system}\ndata:\n  mesh_version: 2026.8.2\n";
    let files = [
        ("clusters/prod/infra.yaml", entry),
        ("clusters/prod/vars.yaml", variables),
        ("infra/mesh.yaml", &filled()),
    ];
    let found = scan(&MemoryTree::new(files), &ScanOptions::default()).unwrap();
    assert_eq!(
        told(&found),
        ["clusters/prod/infra.yaml:9 edge-26.8.2 moves", "clusters/prod/vars.yaml:5 2026.8.2 moves"]
    );
    assert_eq!(found.facts.installations.len(), 1, "{:?}", found.facts.installations);
    assert!(found.pins().all(|pin| pin.installations.len() == 1));
}

/// Two control planes in one module: the tree does not tell their clusters apart, and a tag may be of either.
#[test]
fn the_files_of_a_module_of_terraform_are_of_one_cluster() {
    let release = |name: &str, version: &str| {
        format!(
            "resource \"helm_release\" \"{name}\" {{\n  name = \"{name}\"\n  repository = \"https://helm.linkerd.io/edge\"\n  \
             chart = \"linkerd-control-plane\"\n  version = {version}\n  set {{\n    name = \"controllerImageVersion\"\n    \
             value = \"edge-26.8.2\"\n  }}\n}}\n"
        )
    };
    let main =
        "variable \"mesh\" {}\n".to_owned() + &release("a", "var.mesh") + &release("b", "\"2026.8.1\"");
    let files = [("infra/main.tf", &*main), ("infra/terraform.tfvars", "mesh = \"2026.8.2\"\n")];
    let found = scan(&MemoryTree::new(files), &ScanOptions::default()).unwrap();
    assert_eq!(found.pins().count(), 4, "{:?}", told(&found));
    assert_eq!(found.facts.installations.len(), 1, "{:?}", found.facts.installations);
    assert!(found.pins().all(|pin| pin.installations.len() == 1));
}

/// Each pin of a tree: its file, its text, and the installations that it serves.
fn serving(files: &[(&str, &str)]) -> Vec<String> {
    let found = scan(&MemoryTree::new(files.iter().copied()), &ScanOptions::default()).unwrap();
    let one =
        |pin: &uplinker::pins::Pin| format!("{} {}: {}", pin.path, pin.value, pin.installations.join(" "));
    found.pins().map(one).collect()
}

#[test]
fn a_module_of_terraform_is_of_the_clusters_that_its_roots_are_applied_to() {
    let release = |chart: &str, more: &str| {
        format!(
            "resource \"helm_release\" \"{chart}\" {{\n  name = \"{chart}\"\n  repository = \"https://helm.linkerd.io/edge\"\n  chart = \
             \"{chart}\"\n{more}}}\n"
        )
    };
    let module = release("linkerd-crds", "  version = \"2026.8.2\"\n")
        + &release("linkerd-control-plane", "  version = var.mesh\n")
        + "variable \"mesh\" {}\n";
    let by_file =
        "module \"mesh\" {\n  source = \"../modules/mesh\"\n  mesh = var.mesh\n}\nvariable \"mesh\" {}\n";
    let by_provider = "module \"a\" {\n  source = \"../modules/mesh\"\n  mesh = \"2026.7.1\"\n  providers = { helm = helm.a }\n}\n\
                       module \"b\" {\n  source = \"../modules/mesh\"\n  mesh = \"2026.7.2\"\n  providers = { helm = helm.b }\n}\n";
    let own = release("linkerd-viz", "  version = \"2026.7.3\"\n  provider = helm.b\n");
    let found = serving(&[
        ("files/dev.tfvars", "mesh = \"2026.8.1\"\n"),
        ("files/main.tf", by_file),
        ("files/prod.tfvars", "mesh = \"2026.8.0\"\n"),
        ("modules/mesh/main.tf", &module),
        ("providers/main.tf", &(by_provider.to_owned() + &own)),
        ("providers/other.tfvars", "team = \"a\"\n"),
        ("files/nested/main.tf", "variable \"mesh\" {}\n"),
        ("files/nested/terraform.tfvars", "mesh = \"x\"\n"),
    ]);
    assert_eq!(
        found,
        [
            "files/dev.tfvars 2026.8.1: dev",
            "files/prod.tfvars 2026.8.0: prod",
            "modules/mesh/main.tf 2026.8.2: a b dev prod",
            "providers/main.tf 2026.7.1: a",
            "providers/main.tf 2026.7.2: b",
            "providers/main.tf 2026.7.3: b",
        ]
    );
}

#[test]
fn each_environment_of_a_helmfile_is_a_cluster() {
    let main = "environments:\n  dev: {values: [env/dev.yaml]}\n  prod: {values: [{mesh: 2026.8.1}]}\n---\nrepositories: [{name: l, url: \
                \"https://helm.linkerd.io/edge\"}]\nreleases:\n- {name: crds, chart: l/linkerd-crds, version: 2026.8.2}\n- name: mesh\n  chart: \
                l/linkerd-control-plane\n  version: {{ .Values.mesh }}\n  values: ['values/{{ .Environment.Name }}.yaml']\n";
    let tag = "controllerImageVersion: edge-26.8.1\n";
    let found = serving(&[
        ("env/dev.yaml", "mesh: 2026.8.0\n"),
        ("helmfile.yaml.gotmpl", main),
        ("values/dev.yaml", tag),
        ("values/prod.yaml", tag),
    ]);
    assert_eq!(
        found,
        [
            "env/dev.yaml 2026.8.0: dev",
            "helmfile.yaml.gotmpl 2026.8.1: prod",
            "helmfile.yaml.gotmpl 2026.8.2: dev prod",
            "values/dev.yaml edge-26.8.1: dev",
            "values/prod.yaml edge-26.8.1: prod",
        ]
    );
}

#[test]
fn who_stays_at_a_revision_is_told_by_its_own_source() {
    let source = |of: &str| {
        format!(
            "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {{name: fleet, namespace: flux-system}}\n\
             spec: {{url: 'https://github.com/acme/fleet', ref: {of}}}\n---\n"
        )
    };
    let build = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: mesh, namespace: flux-system}\n\
                 spec: {path: mesh, sourceRef: {kind: GitRepository, name: fleet}}\n";
    let application = |revision: &str| {
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: app, namespace: argocd}}\n\
             spec: {{source: {{repoURL: 'https://github.com/acme/fleet', path: mesh, targetRevision: '{revision}'}}}}\n"
        )
    };
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: mesh, namespace: linkerd}\nspec: {chart: {spec: \
                   {chart: linkerd-control-plane, version: 2026.8.2, sourceRef: {kind: HelmRepository, name: linkerd}}}}\n";
    let revision = |flux: &str, argo: &str| {
        let (flux, argo) = (source(flux) + build, application(argo));
        let files = [
            ("clusters/a/flux.yaml", source("{branch: main}") + build),
            ("clusters/b/flux.yaml", flux),
            ("clusters/c/app.yaml", argo),
            ("mesh/release.yaml", release.to_owned()),
        ];
        let files: Vec<_> = files.iter().map(|(path, text)| (*path, text.as_bytes())).collect();
        let found = scan(&MemoryTree::new(files), &ScanOptions::default()).unwrap().facts.appliers;
        let text = |applier: &Applier| match &applier.revision {
            Some(Revision::Fixed(name)) => name.clone(),
            Some(Revision::Branch(name)) => format!("at {name}"),
            None => String::new(),
        };
        found.values().flatten().map(text).collect::<Vec<_>>()
    };
    let commit = "0123456789abcdef0123456789abcdef01234567";
    for (flux, argo, told) in [
        ("{branch: main}", "main", ["at main", "at main"]),
        ("{tag: stable, branch: main}", "HEAD", ["stable", ""]),
        ("{semver: 1.x, tag: v1.0.0}", "v1.4.0", ["1.x", "v1.4.0"]),
        ("{name: refs/heads/prod, tag: v1.0.0}", "release/1.4", ["at prod", "at release/1.4"]),
        ("{name: refs/tags/v2}", "refs/tags/prod", ["v2", "prod"]),
        ("{branch: main, commit: abc}", commit, ["abc", commit]),
        ("{branch: main}", "deadbeef-feature", ["at main", "at deadbeef-feature"]),
        ("{name: refs/pull/7/head}", "{{ .revision }}", ["refs/pull/7/head", ""]),
        ("{}", "v1.*", ["", "v1.*"]),
        ("{branch: ''}", "", ["", ""]),
    ] {
        assert_eq!(revision(flux, argo), ["at main", told[0], told[1]], "{flux} {argo}");
    }
}

#[test]
fn a_folder_of_a_registry_s_artifact_is_none_of_the_repository() {
    let application = |name: &str, url: &str| {
        format!(
            "---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: {name}, namespace: argocd}}\n\
             spec: {{destination: {{namespace: linkerd}}, source: {{path: ., targetRevision: 2026.8.2, repoURL: '{url}'}}}}\n"
        )
    };
    let text = application("cp", "oci://registry.example.com/charts/linkerd-control-plane")
        + &application("apps", "https://github.com/acme/fleet");
    let found = scan(&MemoryTree::new([("cp.yaml", text.as_bytes())]), &ScanOptions::default()).unwrap();
    let names: Vec<&str> = found.facts.appliers.values().flatten().map(|applier| &*applier.name).collect();
    assert_eq!(names, ["apps"]);
}

/// `tests/installations/<name>/before` is a repository, `expected.json` says of each pin what stays of it and whom it serves.
#[test]
fn a_control_plane_that_one_of_two_clusters_has_suspended_moves_for_the_other() {
    let sync = |cluster: &str| {
        format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: flux-system, namespace: flux-system}}\n\
             spec: {{path: ./clusters/{cluster}, sourceRef: {{kind: GitRepository, name: flux-system}}}}\n"
        )
    };
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: mesh, namespace: linkerd}\nspec: {chart: {spec: \
                   {chart: linkerd-control-plane, version: 2026.8.2, sourceRef: {kind: HelmRepository, name: linkerd}}}}\n";
    let patched = "resources: [../../base]\npatches: [{target: {kind: HelmRelease}, patch: '[{op: add, path: /spec/suspend, value: true}]'}]\n";
    let (a, b) = (sync("a"), sync("b"));
    let files = [
        ("base/kustomization.yaml", "resources: [mesh.yaml]\n"),
        ("base/mesh.yaml", release),
        ("clusters/a/kustomization.yaml", "resources: [../../base]\n"),
        ("clusters/b/kustomization.yaml", patched),
        ("sync/a.yaml", &a),
        ("sync/b.yaml", &b),
    ];
    let files = files.map(|(path, text)| (path, text.as_bytes()));
    let found = scan(&MemoryTree::new(files), &ScanOptions::default()).unwrap();
    let pins: Vec<_> = found.pins().map(|pin| (pin.stays, pin.installations.join(" "))).collect();
    assert_eq!(pins, [(None, "a b".to_owned())]);
    let suspended: Vec<&str> = found.facts.suspended.iter().map(|name| &**name).collect();
    assert_eq!(suspended, ["b"]);
}

#[test]
fn values_that_a_script_renders_with_are_no_control_plane_beside_what_it_rendered() {
    let application = |destination: &str, source: &str| {
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: mesh, namespace: argocd}}\n\
             spec: {{destination: {{name: {destination}, namespace: linkerd}}, source: {{{source}}}}}\n"
        )
    };
    let rendered = "# Source: linkerd-control-plane/templates/destination.yaml\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  \
                    name: linkerd-destination\n  namespace: linkerd\n  \
                    annotations: {linkerd.io/created-by: linkerd/helm edge-26.8.3}\n  \
                    labels: {linkerd.io/control-plane-component: destination, linkerd.io/control-plane-ns: linkerd}\n\
                    spec: {template: {spec: {containers: [{name: c, image: 'cr.l5d.io/linkerd/controller:edge-26.8.3'}]}}}\n";
    let script = "helm template linkerd l5d/linkerd-control-plane -f values/linkerd.yaml --version 2026.8.2 > mesh/linkerd.yaml\n";
    let folder = application("prod", "repoURL: 'https://git.test/x', path: mesh");
    let chart =
        "repoURL: 'https://helm.linkerd.io/edge', chart: linkerd-control-plane, targetRevision: 2026.8.3";
    let (of_prod, of_other) = (application("prod", chart), application("other", chart));
    let runs = |values: &str, more: &[(&str, &str)]| {
        let files = [("values/linkerd.yaml", values), ("values/render.sh", script)];
        let found = scanned(&[&files[..], more].concat());
        let plane = control_plane(&found, &Target::default_all(), None).ceiling();
        plane.map(|release| release.to_string()).unwrap_or_default()
    };
    let (values, mesh) = ("linkerdVersion: edge-26.8.2\n", ("mesh/linkerd.yaml", rendered));
    assert_eq!(runs(values, &[mesh]), "edge-26.8.3");
    assert_eq!(runs(values, &[mesh, ("app.yaml", &*folder)]), "edge-26.8.3");
    // Whoever has the chart deployed may give it these values.
    assert_eq!(runs(values, &[mesh, ("app.yaml", &*folder), ("apps/cp.yaml", &*of_prod)]), "edge-26.8.2");
    assert_eq!(runs(values, &[mesh, ("app.yaml", &*folder), ("apps/cp.yaml", &*of_other)]), "edge-26.8.2");
    assert_eq!(runs(values, &[]), "edge-26.8.2");
    assert_eq!(runs("linkerdVersion: edge-26.8.2 # uplinker: hold\n", &[mesh]), "edge-26.8.2");
}

#[test]
fn proxies_wait_for_a_control_plane_whose_version_nothing_sets() {
    let of = |name: &str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/installations").join(name);
        let found = scan(&MemoryTree::read(&folder.join("before")), &ScanOptions::default()).unwrap();
        let (targets, to) = ([Target::default_all()], "edge-26.8.2".parse().unwrap());
        let judged = forecast(&found, &targets, to, built_in(), &Options::default());
        let proxies = judged.iter().filter(|judged| judged.pin.stage == Stage::DataPlane);
        let of = |reason: Option<Reason>| {
            let own = proxies.clone().filter(|judged| judged.reason() == reason);
            own.flat_map(|judged| &*judged.pin.installations).map(ToString::to_string).collect::<Vec<_>>()
        };
        [of(Some(Reason::ControlPlaneBehind)), of(None)].map(|names| names.join(" "))
    };
    assert_eq!(of("variables-of-terraform"), ["asked handed held object silent", "given known library"]);
    assert_eq!(of("variables-of-helmfile"), ["asked", "known optional"]);
}

#[test]
fn a_hold_tells_no_release_that_a_control_plane_runs() {
    let of = |version: &str| {
        let release = format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: mesh, namespace: linkerd}}\n\
             spec:\n  chart:\n    spec:\n      chart: linkerd-control-plane\n      sourceRef: {{kind: HelmRepository, name: linkerd}}\n\
             \x20     version: {version}\n---\napiVersion: v1\nkind: Namespace\n\
             metadata: {{name: shop, annotations: {{config.linkerd.io/proxy-version: edge-26.7.1}}}}\n"
        );
        let found = scan(&MemoryTree::new([("mesh.yaml", release)]), &ScanOptions::default()).unwrap();
        let (targets, to) = ([Target::default_all()], "edge-26.8.2".parse().unwrap());
        let judged = forecast(&found, &targets, to, built_in(), &Options::default());
        judged.iter().map(|judged| judged.reason()).collect::<Vec<_>>()
    };
    let behind = Some(Reason::ControlPlaneBehind);
    for (version, reason, proxies) in [
        ("'{{ chart }}'", Reason::NotFollowed, behind),
        ("2026.7.x", Reason::Range, behind),
        ("2026.8.x", Reason::Range, None),
        ("2.14.10", Reason::Channel, behind),
        ("sha256:0123abcd", Reason::Digest, behind),
    ] {
        assert_eq!(of(version), [Some(reason), proxies], "{version}");
        let held = format!("{version} # uplinker: hold");
        assert_eq!(of(&held), [Some(Reason::Held), proxies], "{held}");
    }
}

#[test]
fn the_only_crds_of_helmfiles_are_those_of_control_planes_without() {
    let helmfile = |charts: &[&str]| {
        let release = |chart: &&str| {
            format!("- {{name: {chart}, namespace: linkerd, chart: edge/{chart}, version: 2026.8.1}}\n")
        };
        let releases: String = charts.iter().map(release).collect();
        format!("repositories: [{{name: edge, url: https://helm.linkerd.io/edge}}]\nreleases:\n{releases}")
    };
    let (crds, plane) = (helmfile(&["linkerd-crds"]), helmfile(&["linkerd-control-plane"]));
    let both = helmfile(&["linkerd-crds", "linkerd-control-plane"]);
    let application = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: mesh, namespace: argocd}\n\
                       spec:\n  source: {repoURL: https://helm.linkerd.io/edge, chart: linkerd-control-plane, targetRevision: 2026.8.1}\n\
                       \x20 destination: {server: https://kubernetes.default.svc, namespace: linkerd}\n";
    let of = |crds: &str, own: &str, more: (&str, &str)| {
        let whole = "helmfiles: [{path: crds/helmfile.yaml}, {path: local/helmfile.yaml}]\n";
        let local = ("local/helmfile.yaml", own);
        let found = scanned(&[("helmfile.yaml", whole), ("crds/helmfile.yaml", crds), local, more]);
        let own = found.pins().filter(|pin| pin.is_of("linkerd-crds") && pin.path.folder() == "crds");
        own.flat_map(|pin| pin.installations.iter()).map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(of(&crds, &plane, ("prod/helmfile.yaml", &*plane)), "prod root");
    assert_eq!(of(&crds, &plane, ("prod/helmfile.yaml", &*both)), "root", "it brings its own");
    assert_eq!(
        of(&both, "releases: []\n", ("prod/helmfile.yaml", &*plane)),
        "root",
        "not without the other's"
    );
    assert_eq!(of(&crds, &plane, ("prod/mesh.yaml", application)), "root", "Argo CD brings that");
}

#[test]
fn every_repository_tells_its_clusters_apart() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/installations");
    let mut repositories: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    repositories.sort();
    assert!(repositories.len() > 10);
    for repository in repositories {
        let tree = MemoryTree::read(&repository.join("before"));
        let found = scan(&tree, &ScanOptions::default()).unwrap();
        let pins = found.pins().filter(|pin| pin.kind != PinKind::Other).map(|pin| {
            let fate = pin.stays.map_or(json!("moves"), |reason| json!(reason));
            let serves: Vec<&str> = pin.installations.iter().map(|name| &**name).collect();
            json!([format!("{}:{}:{}", pin.path, pin.site.line, pin.site.column), fate, serves.join(", ")])
        });
        expected::json(&repository.join("expected.json"), &pins.collect());
    }
}
