//! Trees in which installations are told apart, and such in which they are not.

use super::*;
use crate::deploy::testing::files;

const PLANE: &str = "linkerd-control-plane";
const KNOWS: Knows<'_> = Knows { is_plane: &|chart| chart == PLANE, agrees: &|_| true };

/// Marks every version in a tree: a control plane's, one of something beside it, a proxy's.
fn marks(tree: &[(&str, &str)]) -> Vec<Mark> {
    let mut marks = Vec::new();
    for (path, text) in tree {
        for (at, _) in text.match_indices("20") {
            let role = match text[..at].lines().last().is_some_and(|line| line.contains("proxy")) {
                true => Role::Other,
                false if text[..at].rfind(PLANE) > text[..at].rfind("linkerd-crds") => Role::ControlPlane,
                false => Role::Platform,
            };
            let path = RepoPath::new(*path).unwrap();
            marks.push(Mark { unit: path.to_string(), path, span: at..at + 8, role });
        }
    }
    marks
}

/// Finds the installations of the places in a tree.
fn all(tree: &[(&str, &str)], marks: &[Mark]) -> Installations {
    let files = files(tree);
    let entries: Vec<RepoPath> = files.below("").iter().map(|entry| entry.path.clone()).collect();
    let all = installations(&files, &entries, Vec::new(), &Evaluations::default(), marks, KNOWS);
    assert_eq!(all.notes, []);
    all
}

fn found(tree: &[(&str, &str)]) -> Vec<(String, Vec<String>)> {
    let marks = marks(tree);
    let all = all(tree, &marks);
    let row = |(mark, of): (&Mark, &Vec<usize>)| {
        (format!("{} {}", mark.path, mark.span.start), of.iter().map(|n| all.names[*n].clone()).collect())
    };
    marks.iter().zip(&all.of).map(row).collect()
}

/// The names that serve each file, files in order.
fn by_file(tree: &[(&str, &str)]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (place, names) in found(tree) {
        let path = place.split(' ').next().unwrap();
        let line = format!("{path}: {}", names.join(" "));
        if lines.last() != Some(&line) {
            lines.push(line);
        }
    }
    lines
}

/// The labels of each installation.
fn labels(tree: &[(&str, &str)]) -> Vec<String> {
    let all = all(tree, &marks(tree));
    let text =
        |labels: &Labels| labels.iter().map(|(key, value)| format!(" {key}={value}")).collect::<String>();
    all.names.iter().zip(&all.labels).map(|(name, labels)| format!("{name}:{}", text(labels))).collect()
}

fn release(chart: &str) -> String {
    format!(
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: {chart}, namespace: linkerd}}\nspec:\n  \
         chart: {{spec: {{chart: {chart}, version: 2026.8.2, sourceRef: {{kind: HelmRepository, name: l5d}}}}}}\n"
    )
}

fn flux(name: &str, path: &str) -> String {
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: \
         flux-system}}\nspec: {{path: {path}, sourceRef: {{kind: GitRepository, name: flux-system}}}}\n"
    )
}

#[test]
fn clusters_of_flux_are_told_apart_and_share_what_they_take_in() {
    let (plane, crds) = (release(PLANE), release("linkerd-crds"));
    let (a, b) = (flux("flux-system", "./clusters/a"), flux("flux-system", "./clusters/b"));
    let (infra, own) = (flux("infra", "./infra"), flux("mesh", "./mesh/b"));
    let tree = [
        ("clusters/a/flux-system/gotk-sync.yaml", a.as_str()),
        ("clusters/a/infra.yaml", &infra),
        ("clusters/a/mesh.yaml", &plane),
        ("clusters/b/flux-system/gotk-sync.yaml", &b),
        ("clusters/b/infra.yaml", &infra),
        ("clusters/b/own.yaml", &own),
        ("infra/crds.yaml", &crds),
        ("mesh/b/plane.yaml", &plane),
    ];
    assert_eq!(by_file(&tree), ["clusters/a/mesh.yaml: a", "infra/crds.yaml: a b", "mesh/b/plane.yaml: b"]);
}

#[test]
fn an_optional_map_of_one_cluster_serves_that_one() {
    let plane = release(PLANE).replace("2026.8.2", "'${v}'");
    let from = "substituteFrom: [{kind: ConfigMap, name: v}, {kind: ConfigMap, name: late, optional: true}]";
    let mesh = flux("mesh", "./mesh").replace("}}\n", &format!("}}, postBuild: {{{from}}}}}\n"));
    let map = |name: &str| {
        format!(
            "# {PLANE}\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: flux-system}}\ndata: {{v: 2026.8.2}}\n"
        )
    };
    let (a, b) = (flux("flux-system", "./clusters/a"), flux("flux-system", "./clusters/b"));
    let tree = [
        ("clusters/a/gotk-sync.yaml", a.as_str()),
        ("clusters/a/late.yaml", &map("late")),
        ("clusters/a/mesh.yaml", &mesh),
        ("clusters/a/v.yaml", &map("v")),
        ("clusters/b/gotk-sync.yaml", &b),
        ("clusters/b/mesh.yaml", &mesh),
        ("clusters/b/v.yaml", &map("v")),
        ("mesh/plane.yaml", &plane),
    ];
    let found = by_file(&tree);
    assert!(found.contains(&"clusters/a/late.yaml: a".to_owned()), "{found:?}");
    assert!(found.contains(&"clusters/b/v.yaml: b".to_owned()), "{found:?}");
}

#[test]
fn kustomizations_side_by_side_in_one_folder_are_clusters_where_each_has_a_control_plane() {
    let (plane, crds) = (release(PLANE), release("linkerd-crds"));
    let roots = ["dev", "prod"].map(|name| flux(&format!("mesh-{name}"), &format!("./clusters/{name}")));
    let list = |name: &str| format!("resources: [../../plane/{name}.yaml, ../../crds/{name}.yaml]\n");
    let (dev, prod) = (list("dev"), list("prod"));
    let tree = [
        ("clusters/dev.yaml", roots[0].as_str()),
        ("clusters/dev/kustomization.yaml", &dev),
        ("clusters/prod.yaml", &roots[1]),
        ("clusters/prod/kustomization.yaml", &prod),
        ("crds/dev.yaml", &crds),
        ("crds/prod.yaml", &crds),
        ("plane/dev.yaml", &plane),
        ("plane/prod.yaml", &plane),
        ("sites/far/mesh.yaml", &plane),
        ("sites/far/namespace.yaml", "proxy: 2026.8.2\n"),
        ("teams/namespace.yaml", "proxy: 2026.8.2\n"),
    ];
    assert_eq!(
        by_file(&tree),
        [
            "crds/dev.yaml: dev",
            "crds/prod.yaml: prod",
            "plane/dev.yaml: dev",
            "plane/prod.yaml: prod",
            "sites/far/mesh.yaml: far",
            "sites/far/namespace.yaml: far",
            "teams/namespace.yaml: ",
        ]
    );
}

#[test]
fn one_cluster_is_one_whatever_lies_where() {
    let (plane, crds) = (release(PLANE), release("linkerd-crds"));
    let tree = [
        ("apps/namespace.yaml", "proxy: 2026.8.2\n"),
        ("linkerd/crds/release.yaml", crds.as_str()),
        ("linkerd/plane/release.yaml", &plane),
    ];
    let names: BTreeSet<String> = found(&tree).into_iter().flat_map(|(_, names)| names).collect();
    assert_eq!(names.len(), 1);
    assert!(found(&tree).iter().all(|(_, names)| names.len() == 1));
}

#[test]
fn what_nobody_reads_serves_all_that_it_lies_beside() {
    let (plane, crds) = (release(PLANE), release("linkerd-crds"));
    let tree =
        [("mesh/crds/all.yaml", crds.as_str()), ("mesh/plane/a.yaml", &plane), ("mesh/plane/b.yaml", &plane)];
    assert_eq!(by_file(&tree), ["mesh/crds/all.yaml: a b", "mesh/plane/a.yaml: a", "mesh/plane/b.yaml: b"]);
}

#[test]
fn destinations_of_argo_cd_are_installations_and_elements_of_one_file_are_told_apart() {
    let set = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: mesh, namespace: argocd}\nspec:\n  \
               generators:\n  - list:\n      elements:\n      - {to: east, version: 2026.8.2}\n      - {to: west, version: \
               2026.8.1}\n  template:\n    metadata: {name: 'mesh-{{to}}'}\n    spec:\n      destination: {name: '{{to}}'}\n      \
               source: {repoURL: https://helm.linkerd.io/edge, chart: linkerd-control-plane, targetRevision: '{{version}}', helm: \
               {values: 'linkerdVersion: 2026.8.0'}}\n";
    // The elements stand before the chart's name: what they are is said by the chart that reads them.
    let files = files(&[("argo/set.yaml", set)]);
    let path = RepoPath::new("argo/set.yaml").unwrap();
    let at = |text: &str| set.find(text).unwrap();
    let mark = |text: &str, role| Mark {
        path: path.clone(),
        span: at(text)..at(text) + 8,
        unit: String::new(),
        role,
    };
    let marks = [
        mark("2026.8.2", Role::ControlPlane),
        mark("2026.8.1", Role::ControlPlane),
        mark("2026.8.0", Role::Platform),
    ];
    let all = installations(
        &files,
        std::slice::from_ref(&path),
        Vec::new(),
        &Evaluations::default(),
        &marks,
        KNOWS,
    );
    assert_eq!(all.names, ["east", "west"]);
    assert_eq!(all.of, [vec![0], vec![1], vec![0, 1]]);
}

#[test]
fn overlays_that_nobody_takes_in_are_installations() {
    let plane = release(PLANE);
    let patched = "resources: [../../base]\npatches:\n- target: {kind: HelmRelease}\n  patch: |\n    - {op: replace, path: \
                   /spec/chart/spec/version, value: 2026.8.1} # linkerd-control-plane\n";
    let tree = [
        ("base/kustomization.yaml", "resources: [plane.yaml]\n"),
        ("base/plane.yaml", plane.as_str()),
        ("overlays/a/kustomization.yaml", "resources: [../../base]\n"),
        ("overlays/b/kustomization.yaml", "resources: [../../base]\n"),
        ("overlays/c/kustomization.yaml", patched),
    ];
    let of = by_file(&tree);
    assert_eq!(of[0], "base/plane.yaml: a b");
}

#[test]
fn what_takes_itself_in_ends() {
    let plane = release(PLANE);
    let (a, b) = (flux("a", "./x"), flux("b", "./x"));
    let tree = [("x/a.yaml", a.as_str()), ("x/b.yaml", &b), ("x/plane.yaml", &plane)];
    assert_eq!(by_file(&tree), ["x/plane.yaml: x"]);
}

#[test]
fn what_takes_too_many_builds_is_one_and_says_so() {
    let many: String = (0..2_600).map(|n| format!("{}---\n", flux(&format!("k{n}"), "./y"))).collect();
    let roots: String =
        (0..4).map(|n| format!("{}---\n", flux(&format!("root{n}"), &format!("./x{n}")))).collect();
    let plane = release(PLANE);
    let tree = files(&[
        ("clusters/root.yaml", &roots),
        ("x0/k.yaml", &many),
        ("x1/k.yaml", &many),
        ("x2/k.yaml", &many),
        ("x3/k.yaml", &many),
        ("y/plane.yaml", &plane),
    ]);
    let at = plane.find("2026").unwrap();
    let path = RepoPath::new("y/plane.yaml").unwrap();
    let marks = [Mark { unit: path.to_string(), path, span: at..at + 8, role: Role::ControlPlane }];
    let entries = [RepoPath::new("clusters/root.yaml").unwrap()];
    let all = installations(&tree, &entries, Vec::new(), &Evaluations::default(), &marks, KNOWS);
    assert!(all.names.is_empty() && all.of == [Vec::<usize>::new()]);
    assert!(matches!(all.notes[..], [Note { about: About::Bound(_), .. }]), "{:?}", all.notes);
}

#[test]
fn an_installation_is_called_what_a_branch_can_be() {
    let plane = release(PLANE);
    let odd = ["clusters/ä b~^:?*[\\", "clusters/@{x}..y", "clusters/-c.lock", "clusters/\u{202e}d"];
    let folders: Vec<String> = odd.iter().map(|folder| format!("{folder}/mesh")).collect();
    let roots: Vec<String> =
        folders.iter().map(|folder| flux("mesh", &format!("'./{}'", folder.replace('\'', "''")))).collect();
    let paths: Vec<(String, String)> = odd
        .iter()
        .zip(&folders)
        .map(|(odd, folder)| (format!("{odd}/root.yaml"), format!("{folder}/plane.yaml")))
        .collect();
    let mut tree: Vec<(&str, &str)> = Vec::new();
    for ((root, inside), text) in paths.iter().zip(&roots) {
        tree.extend([(root.as_str(), text.as_str()), (inside.as_str(), plane.as_str())]);
    }
    let names: BTreeSet<String> = found(&tree).into_iter().flat_map(|(_, names)| names).collect();
    assert_eq!(names.len(), 4);
    for name in names {
        assert!(git2::Branch::name_is_valid(&name).unwrap(), "{name}");
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c)), "{name}");
    }
}

/// Puts labels to the first object of a text.
fn labelled(text: &str, labels: &str) -> String {
    text.replacen("metadata: {", &format!("metadata: {{labels: {{{labels}}}, "), 1)
}

#[test]
fn an_installation_has_the_labels_of_what_leads_to_its_control_plane() {
    let plane = labelled(&release(PLANE), "part: mesh");
    let a = labelled(&flux("mesh", "./mesh/a"), "env: staging");
    let b = labelled(&flux("mesh", "./mesh/b"), "env: prod, region: eu");
    let (root, apps) =
        (flux("flux-system", "./clusters/a"), labelled(&flux("apps", "./apps/a"), "team: shop"));
    let tree = [
        ("apps/a/namespace.yaml", "proxy: 2026.8.2\n"),
        ("clusters/a/apps.yaml", apps.as_str()),
        ("clusters/a/flux-system/gotk-sync.yaml", &root),
        ("clusters/a/mesh.yaml", &a),
        ("clusters/b/mesh.yaml", &b),
        ("mesh/a/plane.yaml", &plane),
        ("mesh/b/plane.yaml", &plane),
    ];
    assert_eq!(labels(&tree), ["a: env=staging part=mesh", "b: env=prod part=mesh region=eu"]);
    let manifest = "kind: ConfigMap\nmetadata: {name: linkerd-control-plane}\ndata: {version: 2026.8.2}\n";
    let rendered = [
        ("clusters/a/mesh.yaml", a.as_str()),
        ("clusters/b/mesh.yaml", &b),
        ("mesh/a/all.yaml", manifest),
        ("mesh/b/all.yaml", manifest),
    ];
    assert_eq!(
        labels(&rendered),
        ["a: env=staging", "b: env=prod region=eu"],
        "what was rendered is deployed too"
    );
}

#[test]
fn clusters_that_argo_cd_chooses_by_different_labels_are_told_apart_and_have_them() {
    let set = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: mesh, namespace: argocd}\nspec:\n  \
               generators:\n  - clusters: {selector: {matchLabels: {env: staging}}, values: {version: 2026.8.3}}\n  - clusters: \
               {selector: {matchExpressions: [{key: env, operator: In, values: [prod]}]}, values: {version: 2026.8.2}}\n  \
               template:\n    metadata: {name: 'mesh-{{name}}', labels: {part: mesh}}\n    spec:\n      destination: {server: \
               '{{server}}'}\n      source: {repoURL: https://helm.linkerd.io/edge, chart: linkerd-control-plane, targetRevision: \
               '{{values.version}}'}\n";
    let tree = [("argo/mesh.yaml", set)];
    assert_eq!(labels(&tree), ["prod: env=prod part=mesh", "staging: env=staging part=mesh"]);
    let of: Vec<Vec<String>> = found(&tree).into_iter().map(|(_, names)| names).collect();
    assert_eq!(of, [["staging"], ["prod"]]);
    // The same version in both is one place for each.
    let same = set.replace("2026.8.2", "2026.8.3");
    assert_eq!(labels(&[("argo/mesh.yaml", &same)]).len(), 2);
}

/// An ApplicationSet of a chart, with its generators.
fn set(chart: &str, generators: &str, version: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {{name: a, namespace: argocd}}\nspec:\n  goTemplate: true\n  \
         generators: [{generators}]\n  template:\n    metadata: {{name: 'a-{{{{.name}}}}'}}\n    spec:\n      destination: {{server: \
         '{{{{.server}}}}'}}\n      source: {{repoURL: https://helm.linkerd.io/edge, chart: {chart}, targetRevision: {version}}}\n"
    )
}

#[test]
fn sets_that_choose_the_same_clusters_are_of_one_installation_and_one_for_any_suits_all() {
    let of = |env: &str| format!("clusters: {{selector: {{matchLabels: {{env: {env}}}}}}}");
    let both =
        "clusters: {selector: {matchExpressions: [{key: env, operator: In, values: [prod, staging]}]}}";
    let (prod, staging) = (set(PLANE, &of("prod"), "2026.8.2"), set(PLANE, &of("staging"), "2026.8.3"));
    let (crds, viz) = (set("linkerd-crds", both, "2026.8.3"), set("linkerd-viz", "clusters: {}", "2026.8.2"));
    let tree = [
        ("argo/crds.yaml", crds.as_str()),
        ("argo/prod.yaml", &prod),
        ("argo/staging.yaml", &staging),
        ("argo/viz.yaml", &viz),
    ];
    let expected = [
        "argo/crds.yaml: prod staging",
        "argo/prod.yaml: prod",
        "argo/staging.yaml: staging",
        "argo/viz.yaml: prod staging",
    ];
    assert_eq!(by_file(&tree), expected);
}

#[test]
fn files_that_a_label_of_the_cluster_chooses_tell_clusters_apart() {
    let generators = "matrix: {generators: [clusters: {}, git: {repoURL: 'https://git.example.com/a.git', revision: main, \
                      files: [{path: 'envs/{{.metadata.labels.env}}/*.yaml'}]}]}";
    let mesh = set(PLANE, generators, "'{{.version}}'");
    let tree = [
        ("argo/mesh.yaml", mesh.as_str()),
        ("envs/prod/mesh.yaml", "of: linkerd-control-plane\nversion: 2026.8.2\n"),
        ("envs/staging/mesh.yaml", "of: linkerd-control-plane\nversion: 2026.8.3\n"),
    ];
    assert_eq!(by_file(&tree), ["envs/prod/mesh.yaml: prod", "envs/staging/mesh.yaml: staging"]);
}

#[test]
fn a_release_that_nobody_here_applies_says_itself_where_it_goes() {
    let to = |cluster: &str| {
        release(PLANE)
            .replace("spec:\n", &format!("spec:\n  kubeConfig: {{secretRef: {{name: {cluster}}}}}\n"))
    };
    let (east, west) = (to("east"), to("west"));
    let tree = [("hub/e.yaml", east.as_str()), ("hub/w.yaml", &west)];
    assert_eq!(by_file(&tree), ["hub/e.yaml: east", "hub/w.yaml: west"]);
    let in_one = format!("{east}---\n{}", west.replace("name: linkerd-control-plane,", "name: other,"));
    assert_eq!(labels(&[("hub/all.yaml", &in_one)]).len(), 2);
}

#[test]
fn clusters_to_which_fleet_gives_a_version_of_their_own_are_told_apart() {
    let bundle = |chart: &str| {
        format!(
            "helm: {{repo: https://helm.linkerd.io/edge, chart: {chart}, version: 2026.8.3}}\ntargetCustomizations:\n- name: prod\n  \
             clusterSelector: {{matchLabels: {{env: prod}}}}\n  helm: {{version: 2026.8.2}}\n"
        )
    };
    let (plane, crds) = (bundle(PLANE), bundle("linkerd-crds"));
    let tree = [("crds/fleet.yaml", crds.as_str()), ("plane/fleet.yaml", &plane)];
    assert_eq!(labels(&tree), ["others:", "prod: env=prod"]);
    let of: Vec<Vec<String>> = found(&tree).into_iter().map(|(_, names)| names).collect();
    assert_eq!(of, [["others"], ["prod"], ["others"], ["prod"]]);
}

/// An Application of a chart, or of a folder.
fn application(name: &str, source: &str, destination: &str) -> String {
    format!(
        "---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: {name}, namespace: argocd}}\nspec:\n  \
         source: {{{source}}}\n  destination: {{{destination}}}\n"
    )
}

#[test]
fn what_names_no_cluster_is_that_of_the_hub_where_all_others_are_named() {
    let chart =
        "repoURL: https://helm.linkerd.io/edge, chart: linkerd-control-plane, targetRevision: 2026.8.2";
    let folder = "repoURL: 'https://git.example.com/a.git', path: apps";
    let (hub, spoke) =
        (application("hub", chart, "name: in-cluster"), application("spoke", chart, "name: spoke"));
    let apps = application("apps", folder, "server: https://kubernetes.default.svc");
    let proxies = "proxy: 2026.8.2\n";
    let tree = |argo: &str| {
        let tree = [("apps/ns.yaml", proxies), ("argo/all.yaml", argo), ("loose/ns.yaml", proxies)];
        by_file(&tree).into_iter().filter(|line| !line.starts_with("argo")).collect::<Vec<_>>()
    };
    assert_eq!(tree(&[hub.clone(), spoke, apps.clone()].concat()), ["apps/ns.yaml: argo", "loose/ns.yaml: "]);
    // With another one that is named nowhere it may be either's.
    let two = [
        ("apps/ns.yaml", proxies),
        ("argo/a.yaml", hub.as_str()),
        ("argo/b.yaml", &hub),
        ("argo/c.yaml", &apps),
    ];
    assert_eq!(by_file(&two)[0], "apps/ns.yaml: ");
}

#[test]
fn a_folder_that_is_called_as_an_installation_is_its_own() {
    let (plane, proxies) = (release(PLANE), "proxy: 2026.8.2\n");
    let tree = [
        ("apps/a/ns.yaml", proxies),
        ("apps/a/b/ns.yaml", proxies),
        ("apps/c/ns.yaml", proxies),
        ("mesh/a/plane.yaml", plane.as_str()),
        ("mesh/b/plane.yaml", &plane),
    ];
    let expected = [
        "apps/a/ns.yaml: a",
        "apps/a/b/ns.yaml: ",
        "apps/c/ns.yaml: ",
        "mesh/a/plane.yaml: a",
        "mesh/b/plane.yaml: b",
    ];
    assert_eq!(by_file(&tree), expected);
}

#[test]
fn a_folder_that_says_what_kind_of_files_is_in_it_gives_no_name() {
    let plane = release(PLANE);
    let tree = [
        ("apps/lyon/ns.yaml", "proxy: 2026.8.2\n"),
        ("sites/lyon/manifests/plane.yaml", plane.as_str()),
        ("sites/paris/k8s/base/plane.yaml", &plane),
        ("sites/s1/server/manifests/plane.yaml", &plane),
    ];
    let expected = [
        "apps/lyon/ns.yaml: lyon",
        "sites/lyon/manifests/plane.yaml: lyon",
        "sites/paris/k8s/base/plane.yaml: paris",
        "sites/s1/server/manifests/plane.yaml: s1",
    ];
    assert_eq!(by_file(&tree), expected);
}

#[test]
fn what_nobody_applies_is_not_called_as_the_cluster_in_whose_folder_it_lies() {
    let (plane, root) = (release(PLANE), flux("flux-system", "./clusters/b"));
    for draft in ["clusters/b/next.yaml", "clusters/b/mesh/next.yaml"] {
        let tree = [
            ("apps/b/ns.yaml", "proxy: 2026.8.2\n"),
            ("clusters/a/plane.yaml", plane.as_str()),
            ("clusters/b/flux-system/gotk-sync.yaml", &root),
            ("clusters/b/kustomization.yaml", "resources: [plane.yaml]\n"),
            ("clusters/b/plane.yaml", &plane),
            (draft, &plane),
        ];
        let next = format!("{draft}: next");
        let expected =
            ["apps/b/ns.yaml: b", "clusters/a/plane.yaml: a", "clusters/b/plane.yaml: b", next.as_str()];
        assert_eq!(by_file(&tree), expected);
    }
}
