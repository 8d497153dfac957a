//! What an edit changes beyond its texts, on trees of a few files.

use super::*;
use crate::deploy::{chart::Repository, testing::files, tree_chart::ChartOutcome};

const OVERLAY: &str = "resources: [release.yaml]\npatches:\n- target: {kind: HelmRelease}\n  patch: |\n    - {op: test, path: \
                       /spec/version, value: 2026.8.2}\n    - {op: replace, path: /spec/interval, value: 1h}\n";
const RELEASE: &str = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: mesh, namespace: \
                       linkerd}\nspec: {version: 2026.8.2, interval: 5m, other: 2026.8.2}\n";

/// Compares a tree with one in which a text of some places is replaced.
fn compared(tree: &[(&str, &str)], after: &[(&str, &str)], places: &[(&str, usize)]) -> Vec<Difference> {
    let path = |text: &str| RepoPath::new(text).unwrap();
    let mut replaced = Replaced::default();
    for (file, at) in places {
        replaced.add(&path(file), *at..at + 8, "2026.8.2", "2026.8.3");
    }
    let entries: Vec<RepoPath> = tree.iter().map(|(file, _)| path(file)).collect();
    let found = compare(&files(tree), &files(after), &entries, &replaced, &|_| false);
    assert!(found.roots > 0 && (found.objects > 0 || !found.differences.is_empty()), "{found:?}");
    found.differences
}

fn at(text: &str, nth: usize) -> usize {
    text.match_indices("2026.8.2").nth(nth).unwrap().0
}

fn moved(text: &str, nth: usize) -> String {
    let mut text = text.to_owned();
    text.replace_range(at(&text, nth)..at(&text, nth) + 8, "2026.8.3");
    text
}

#[test]
fn what_only_moves_its_releases_differs_in_nothing() {
    let tree = [("kustomization.yaml", OVERLAY), ("release.yaml", RELEASE)];
    let (overlay, release) = (moved(OVERLAY, 0), moved(RELEASE, 0));
    let after = [("kustomization.yaml", overlay.as_str()), ("release.yaml", &release)];
    let places = [("kustomization.yaml", at(OVERLAY, 0)), ("release.yaml", at(RELEASE, 0))];
    assert_eq!(compared(&tree, &after, &places), []);
}

#[test]
fn a_guard_that_is_left_behind_fails() {
    let tree = [("kustomization.yaml", OVERLAY), ("release.yaml", RELEASE)];
    let release = moved(RELEASE, 0);
    let after = [("kustomization.yaml", OVERLAY), ("release.yaml", release.as_str())];
    let found = compared(&tree, &after, &[("release.yaml", at(RELEASE, 0))]);
    assert!(found.iter().any(|d| matches!(d.what, What::Fails(_))), "{found:?}");
}

#[test]
fn a_failure_that_is_there_hides_no_other() {
    let broken = "- target: {kind: HelmRelease}\n  patch: |\n    - {op: remove, path: /spec/nothing}\n";
    let overlay = format!("{OVERLAY}{broken}");
    let tree = [("kustomization.yaml", overlay.as_str()), ("release.yaml", RELEASE)];
    assert_eq!(compared(&tree, &tree, &[]), [], "it fails as it did");
    let release = moved(RELEASE, 0);
    let after = [("kustomization.yaml", overlay.as_str()), ("release.yaml", release.as_str())];
    let found = compared(&tree, &after, &[("release.yaml", at(RELEASE, 0))]);
    assert!(matches!(found[..], [Difference { what: What::Fails(_), .. }]), "{found:?}");
}

#[test]
fn a_text_that_was_not_to_move_is_named_with_its_object_and_field() {
    let tree = [("kustomization.yaml", "resources: [release.yaml]\n"), ("release.yaml", RELEASE)];
    let both = moved(&moved(RELEASE, 0), 0);
    let after = [("kustomization.yaml", "resources: [release.yaml]\n"), ("release.yaml", both.as_str())];
    let found = compared(&tree, &after, &[("release.yaml", at(RELEASE, 0))]);
    let texts = Some(("2026.8.2".to_owned(), "2026.8.3".to_owned()));
    let what = What::Field { field: "spec.other".to_owned(), texts };
    let root = RepoPath::new("kustomization.yaml").unwrap();
    assert_eq!(found, [Difference { root, object: "HelmRelease linkerd/mesh".to_owned(), what }]);
}

#[test]
fn a_text_that_names_no_release_is_not_shown() {
    let tree = [("kustomization.yaml", "resources: [release.yaml]\n"), ("release.yaml", RELEASE)];
    let (moved, at) = (moved(RELEASE, 0).replace("5m", "hunter2"), at(RELEASE, 0));
    let after = [("kustomization.yaml", "resources: [release.yaml]\n"), ("release.yaml", moved.as_str())];
    let found = compared(&tree, &after, &[("release.yaml", at)]);
    assert_eq!(found[0].what, What::Field { field: "spec.interval".to_owned(), texts: None });
}

#[test]
fn what_is_taken_out_or_comes_anew_is_named() {
    let two = format!("{RELEASE}---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: web}}\n");
    let tree = [("kustomization.yaml", "resources: [release.yaml]\n"), ("release.yaml", two.as_str())];
    let one = [("kustomization.yaml", "resources: [release.yaml]\n"), ("release.yaml", RELEASE)];
    let gone = compared(&tree, &one, &[]);
    assert_eq!((gone[0].object.as_str(), &gone[0].what), ("Namespace web", &What::Gone));
    let new = compared(&one, &tree, &[]);
    assert_eq!((new[0].object.as_str(), &new[0].what), ("Namespace web", &What::New));
}

/// Says which file is left by the object of which it is told.
fn left(found: &[Difference]) -> Vec<(&str, &str)> {
    let left = found.iter().filter_map(|difference| match &difference.what {
        What::Leaves(path) => Some((difference.object.as_str(), path.as_str())),
        _ => None,
    });
    left.collect()
}

#[test]
fn what_a_name_with_a_release_leads_to_is_there_afterwards() {
    let set = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: cps, namespace: argocd}\nspec:\n  \
               goTemplate: true\n  generators: [{list: {elements: [{version: 2026.8.2}]}}]\n  template:\n    metadata: {name: \
               cp}\n    spec:\n      sources:\n      - {repoURL: 'https://helm.linkerd.io/edge', chart: linkerd-control-plane, \
               targetRevision: '{{ .version }}', helm: {valueFiles: ['$v/values/{{ .version }}.yaml']}}\n      - {repoURL: \
               'https://g.test/x', targetRevision: main, ref: v}\n      - {repoURL: 'https://g.test/x', targetRevision: main, \
               path: 'extras/{{ .version }}'}\n      destination: {name: a, namespace: linkerd}\n";
    let now = moved(set, 0);
    let (value, object) = ("a: 1\n", "kind: Namespace\nmetadata: {name: web}\n");
    let (values, extras) = (
        ["values/2026.8.2.yaml", "values/2026.8.3.yaml"],
        ["extras/2026.8.2/n.yaml", "extras/2026.8.3/n.yaml"],
    );
    let places = [("set.yaml", at(set, 0))];
    let found = |new: &[(&str, &str)]| {
        let tree = [&[("set.yaml", set), (values[0], value), (extras[0], object)][..], new].concat();
        let after =
            [&[("set.yaml", now.as_str()), (values[0], value), (extras[0], object)][..], new].concat();
        compared(&tree, &after, &places)
    };
    assert_eq!(left(&found(&[])), [("Application argocd/cp", extras[0])]);
    assert_eq!(left(&found(&[(extras[1], object)])), [("Application argocd/cp", values[0])]);
    assert_eq!(found(&[(extras[1], object), (values[1], value)]), []);
}

#[test]
fn a_folder_that_flux_is_told_by_a_variable_is_there_afterwards() {
    let root = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a, namespace: flux-system}\n\
                spec:\n  path: ./tenants\n  sourceRef: {kind: GitRepository, name: flux-system}\n  postBuild: {substitute: {v: \
                2026.8.2}}\n";
    let inner = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: mesh, namespace: flux-system}\n\
                 spec:\n  path: ./mesh/${v}\n  sourceRef: {kind: GitRepository, name: flux-system}\n";
    let chart = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: web}\nspec: {chart: \
                 {spec: {chart: './web-${v}', sourceRef: {kind: GitRepository, name: flux-system}}}}\n";
    let now = moved(root, 0);
    let found = |what: (&str, &str), named: (&str, &str)| {
        let (tree, after) = ([("a.yaml", root), what, named], [("a.yaml", now.as_str()), what, named]);
        compared(&tree, &after, &[("a.yaml", at(root, 0))])
    };
    let folder = ("mesh/2026.8.2/n.yaml", "kind: Namespace\nmetadata: {name: web}\n");
    let told = found(("tenants/k.yaml", inner), folder);
    assert_eq!(left(&told), [("Kustomization flux-system/mesh", folder.0)]);
    let told = found(("tenants/r.yaml", chart), ("web-2026.8.2/Chart.yaml", "name: web\n"));
    assert_eq!(left(&told), [("HelmRelease web/web", "web-2026.8.2/Chart.yaml")]);
}

#[test]
fn what_an_object_names_is_there_afterwards() {
    let root = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a, namespace: flux-system}\n\
                spec:\n  path: ./tenants\n  sourceRef: {kind: GitRepository, name: flux-system}\n  postBuild: {substitute: {v: \
                2026.8.2}}\n";
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: web}\nspec:\n  \
                   chart: {spec: {chart: web, version: 1.0.0, sourceRef: {kind: HelmRepository, name: web}}}\n  valuesFrom: \
                   [{kind: Secret, name: 'web-${v}'}]\n";
    let job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: web, namespace: web, labels: {version: '${v}'}}\nspec: \
               {template: {spec: {containers: [{name: web, envFrom: [{secretRef: {name: 'web-${v}'}}]}]}}}\n";
    let secret = |kind: &str, name: &str| {
        format!("apiVersion: v1\nkind: {kind}\nmetadata: {{name: {name}, namespace: web}}\n")
    };
    let now = moved(root, 0);
    let lost = |object: &str, secrets: &str| {
        let files = [("tenants/o.yaml", object), ("tenants/s.yaml", secrets)];
        let tree = [&[("a.yaml", root)][..], &files[..]].concat();
        let after = [&[("a.yaml", now.as_str())][..], &files[..]].concat();
        let found = compared(&tree, &after, &[("a.yaml", at(root, 0))]);
        let lost = found.into_iter().map(|difference| match difference.what {
            What::Loses { was, is, by } => (difference.object, was, is, by.to_string()),
            other => panic!("{other:?}"),
        });
        lost.collect::<Vec<_>>()
    };
    let told = |object: &str| {
        let texts =
            [object, "Secret web-2026.8.2", "Secret web-2026.8.3", "tenants/o.yaml"].map(str::to_owned);
        let [object, was, is, by] = texts;
        vec![(object, was, is, by)]
    };
    assert_eq!(lost(release, &secret("Secret", "web-2026.8.2")), told("HelmRelease web/web"));
    assert_eq!(lost(job, &secret("SealedSecret", "web-2026.8.2")), told("Job web/web"));
    let both = format!("{}---\n{}", secret("Secret", "web-2026.8.2"), secret("Secret", "web-2026.8.3"));
    for there in [both.as_str(), &secret("Secret", "'web-${v}'"), &secret("ConfigMap", "web-2026.8.2")] {
        assert_eq!(lost(release, there), [], "{there}");
    }
}

#[test]
fn what_terraform_refuses_after_the_move_fails() {
    let release = |lifecycle: &str| {
        format!(
            "resource \"helm_release\" \"a\" {{\n  chart = \"linkerd-crds\"\n  repository = \"https://helm.linkerd.io/edge\"\n  \
             version = var.v\n{lifecycle}}}\n"
        )
    };
    let found = |condition: &str, form: &dyn Fn(&str) -> [String; 2]| {
        let [validation, rest] = form(condition);
        let main = format!("variable \"v\" {{\n  default = \"2026.8.2\"\n{validation}}}\n{rest}");
        let now = moved(&main, 0);
        let (tree, after) = ([("main.tf", main.as_str())], [("main.tf", now.as_str())]);
        compared(&tree, &after, &[("main.tf", at(&main, 0))])
    };
    let validation = |of: &str| [format!("  validation {{\n    condition = {of}\n  }}\n"), release("")];
    let check = |of: &str| format!("precondition {{\n      condition = {of}\n    }}\n");
    let lifecycle = |of: &str| [String::new(), release(&format!("  lifecycle {{\n    {}  }}\n", check(of)))];
    let output = |of: &str| {
        let output = format!("output \"o\" {{\n  value = var.v\n  {}}}\n", check(of));
        [String::new(), format!("{}{output}", release(""))]
    };
    type Form<'f> = &'f dyn Fn(&str) -> [String; 2];
    let forms: [(Form<'_>, &str); 3] =
        [(&validation, "variable v"), (&lifecycle, "helm_release.a"), (&output, "output o")];
    for (form, what) in forms {
        for refusing in [
            "contains([\"2026.8.1\", \"2026.8.2\"], var.v)",
            "can(regex(\"^2026\\\\.8\\\\.[0-2]$\", var.v))",
            "var.v != \"\" && (endswith(var.v, \".2\") || var.v == \"x\")",
            "!(var.v == \"2026.8.3\")",
            "length(regexall(\"^2026\\\\.8\\\\.[0-2]$\", var.v)) > 0",
            "try(regex(\"^2026\\\\.8\\\\.[0-2]$\", var.v), null) != null",
            "can({ \"2026.8.2\" = true }[var.v])",
            "var.v == null ? true : var.v == \"2026.8.2\"",
            "anytrue([for v in [\"2026.8.1\", \"2026.8.2\"] : v == var.v])",
        ] {
            let found = found(refusing, form);
            let is_it = |d: &Difference| d.object == what && matches!(d.what, What::Fails(_));
            assert!(found.iter().any(is_it), "{refusing} {found:?}");
        }
        for taking in [
            "can(regex(\"^2026\", var.v))",
            "startswith(var.v, \"2026.\")",
            "contains(var.none, var.v)",
            "var.v == \"no\"",
            "length(regexall(\"2026\", var.v)) == 1",
            "try(regex(\"^2026\", var.v), null) != null",
            "can(var.none.some)",
        ] {
            assert_eq!(found(taking, form), [], "{taking}");
        }
    }
    let afterwards =
        |of: &str| [String::new(), lifecycle(of)[1].replacen("precondition", "postcondition", 1)];
    for (condition, takes) in [
        ("self.version == \"2026.8.2\"", false),
        ("self.metadata[0].version != \"2026.8.3\"", false),
        ("can(regex(\"[0-2]$\", self.version))", false),
        ("startswith(self.version, \"2026.\")", true),
        ("can(self.status) || self.version == \"2026.8.2\"", true),
    ] {
        assert_eq!(found(condition, &afterwards).is_empty(), takes, "{condition}");
    }
}

#[test]
fn an_entry_that_was_to_come_is_no_difference_and_any_other_is() {
    let workload = |annotations: &str| {
        format!(
            "kind: Deployment\nmetadata: {{name: a}}\nspec: {{template: {{metadata: {{{annotations}}}}}}}\n"
        )
    };
    let compared = |goes: bool, before: &str, after: &str| {
        let mut replaced = Replaced::default();
        match goes {
            true => replaced.remove_entry("x/version", "edge-26.8.3"),
            false => replaced.add_entry("x/version", "edge-26.8.3"),
        }
        let root = "resources: [a.yaml]\n";
        let (before, after) = (workload(before), workload(after));
        let tree = [("kustomization.yaml", root), ("a.yaml", before.as_str())];
        let now = [("kustomization.yaml", root), ("a.yaml", after.as_str())];
        let entries = [RepoPath::new("kustomization.yaml").unwrap()];
        compare(&files(&tree), &files(&now), &entries, &replaced, &|_| false).differences.len()
    };
    let comes = "annotations: {x/version: edge-26.8.3}";
    for before in ["", "annotations:", "annotations: {}"] {
        assert_eq!(compared(false, before, comes), 0, "{before}");
        assert_eq!(compared(true, comes, before), 0, "{before}");
    }
    assert_eq!(compared(false, "annotations: {a: b}", "annotations: {a: b, x/version: edge-26.8.3}"), 0);
    assert_eq!(compared(false, comes, ""), 1, "nothing was to go");
    for other in [
        "annotations: {x/version: edge-26.8.4}",
        "annotations: {x/other: edge-26.8.3}",
        "annotations: {x/version: edge-26.8.3, a: b}",
        "annotations: {x/version: {edge-26.8.3: a}}",
    ] {
        assert_eq!(compared(false, "", other), 1, "{other}");
        assert_eq!(compared(true, other, ""), 1, "{other}");
    }
    assert_eq!(compared(false, "annotations: {a: b}", comes), 1, "nothing goes for it");
}

#[test]
fn a_root_of_which_a_part_is_left_out_is_named() {
    let nested = (0..4).fold("list: {elements: []}".to_owned(), |inner, _| {
        format!("matrix: {{generators: [{{{inner}}}, {{list: {{elements: [{{x: y}}]}}}}]}}")
    });
    let set = format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {{name: sets}}\nspec:\n  generators: [{{{nested}}}]\n  \
         template: {{metadata: {{name: a}}, spec: {{}}}}\n"
    );
    let tree = [("set.yaml", set.as_str()), ("kustomization.yaml", "resources: [set.yaml]\n")];
    let entries = ["set.yaml", "kustomization.yaml"].map(|path| RepoPath::new(path).unwrap());
    let found = compare(&files(&tree), &files(&tree), &entries, &Replaced::default(), &|_| false);
    let beyond = [(entries[0].clone(), Bound::Depth(3))];
    assert_eq!((found.roots, found.beyond), (2, beyond.into()));
    let many: Vec<String> = (0..=ROOTS).map(|n| format!("a{n}/kustomization.yaml")).collect();
    let tree: Vec<(&str, &str)> = many.iter().map(|path| (path.as_str(), "{}")).collect();
    let entries: Vec<RepoPath> = many.iter().map(|path| RepoPath::new(path.as_str()).unwrap()).collect();
    let found = compare(&files(&tree), &files(&tree), &entries, &Replaced::default(), &|_| false);
    assert_eq!((found.roots, found.beyond.len()), (0, 1));
}

#[test]
fn a_text_of_which_a_part_is_read_moves_by_that_part() {
    let text = "edge-26.8.2";
    let source = std::sync::Arc::new(crate::deploy::Source {
        path: RepoPath::new("a.yaml").unwrap(),
        blob: crate::repo::BlobId([0; 20]),
        text: text.into(),
    });
    let mut replaced = Replaced::default();
    replaced.add(&source.path, 0..text.len(), text, "edge-26.10.12");
    let whole = Scalar::file(&source);
    assert_eq!(replaced.text(&whole), "edge-26.10.12");
    assert_eq!(replaced.text(&whole.cut(5..text.len())), "26.10.12");
}

#[test]
fn what_a_tool_that_is_run_brings_is_compared_too() {
    let main = "locals {\n  v = \"2026.8.2\"\n}\nresource \"helm_release\" \"a\" {\n  chart = \"a\"\n  version = local.v\n  values = \
                [yamlencode({ odd = local.v == \"2026.8.2\" })]\n}\n";
    let tree = [("main.tf", main)];
    let both = moved(&moved(main, 0), 0);
    let places = [("main.tf", at(main, 0)), ("main.tf", at(main, 1))];
    assert_eq!(compared(&tree, &[("main.tf", &both)], &places), []);
    let found = compared(&tree, &[("main.tf", &moved(main, 0))], &places[..1]);
    assert!(
        matches!(&found[..], [Difference { what: What::Field { field, .. }, .. }] if field == "its values"),
        "{found:?}"
    );
    let state = "releases:\n- {name: a, chart: l/a, version: 2026.8.2}\n{{ if eq .Values.v \"2026.8.2\" }}\n- {name: b, chart: l/b}\n{{ end }}\n";
    let state = format!("environments: {{default: {{values: [{{v: 2026.8.2}}]}}}}\n---\n{state}");
    let places = [("helmfile.yaml.gotmpl", at(&state, 0))];
    let found = compared(
        &[("helmfile.yaml.gotmpl", &state)],
        &[("helmfile.yaml.gotmpl", &moved(&state, 0))],
        &places,
    );
    assert!(matches!(&found[..], [Difference { what: What::Field { .. }, .. }]), "{found:?}");
}

/// What comes of a chart, as Helm prints it.
fn outcome(printed: &str) -> ChartOutcome {
    let path = |text: &str| RepoPath::new(text).unwrap();
    let tree = files(&[("c/templates/a.yaml", printed)]);
    let mut objects = Object::of_file(&tree, &path("c/templates/a.yaml"));
    for object in &mut objects {
        object.value = object.value.with_scalars(&mut |text| Some(Scalar::made(&text.text()))).unwrap();
    }
    let release = ChartRelease::new(&path("c/Chart.yaml"), Scalar::made("c"), Repository::Git(None));
    ChartOutcome { release, objects, has_chance: false, notes: Vec::new() }
}

/// Compares what came of a chart whose version moved.
fn came(before: ChartOutcome, after: ChartOutcome) -> Vec<Difference> {
    let mut replaced = Replaced::default();
    replaced.add(&RepoPath::new("c/values.yaml").unwrap(), 3..11, "2026.8.2", "2026.9.1");
    let mut compared = Compared::default();
    compared.outcomes((&[before], &[after]), (&files(&[]), &files(&[])), &replaced, &|_| false);
    compared.differences
}

#[test]
fn what_a_chart_gives_for_one_release_alone_is_named_with_its_template() {
    let moved = |version: &str, rest: &str| {
        outcome(&format!("kind: A\nmetadata: {{name: a-{version}}}\nv: {version}\n{rest}"))
    };
    assert_eq!(came(moved("2026.8.2", ""), moved("2026.9.1", "")), []);
    assert_eq!(came(moved("2026-8-2", ""), moved("2026-9-1", "")), [], "as names have it");
    let service = "---\nkind: Service\nmetadata: {name: web}\n";
    let found = came(moved("2026.8.2", service), moved("2026.9.1", ""));
    let root = RepoPath::new("c/templates/a.yaml").unwrap();
    assert_eq!(found, [Difference { root, object: "Service web".to_owned(), what: What::Gone }]);
    let found = came(moved("2026.8.2", "replicas: 3\n"), moved("2026.9.1", "replicas: 1\n"));
    assert!(
        matches!(&found[..], [Difference { what: What::Field { field, .. }, .. }] if field == "replicas")
    );
    let by_chance = |name: &str, text: &str| {
        let rest = format!("text: {text}\n---\nkind: Job\nmetadata: {{name: job-{name}}}\n");
        ChartOutcome { has_chance: true, ..moved("2026.8.2", &rest) }
    };
    assert_eq!(
        came(by_chance("xq", "hG3t"), ChartOutcome { has_chance: true, ..moved("2026.9.1", "text: pT5m\n") }),
        []
    );
    let failed = || {
        let (what, why) = ("c".to_owned(), "it is no release".to_owned());
        let note = Note::new(&RepoPath::new("c/Chart.yaml").unwrap(), About::Fails { what, why });
        ChartOutcome { notes: vec![note], ..moved("2026.8.2", "") }
    };
    let found = came(moved("2026.8.2", ""), failed());
    assert!(matches!(found[..], [Difference { what: What::Fails(_), .. }]), "{found:?}");
    assert_eq!(came(failed(), moved("2026.9.1", service)), [], "nobody knows what there was");
}

#[test]
fn what_helm_makes_of_a_whole_text_or_by_chance_is_no_difference() {
    let pods = |digest: &str, chance: &str| {
        outcome(&format!(
            "kind: Deployment\nmetadata: {{name: a}}\nspec:\n  template:\n    metadata: {{annotations: {{rollme: {chance}}}}}\n    \
             spec: {{volumes: [{{configMap: {{name: c-{digest}}}}}]}}\n---\nkind: ConfigMap\nmetadata: {{name: c-{digest}}}\n---\n\
             kind: Secret\nmetadata: {{name: s}}\nstringData: {{password: {chance}}}\n"
        ))
    };
    assert_eq!(came(pods("0f3c9d21", "xYzAb"), pods("9be02a77", "QwErT")), []);
    assert_ne!(came(pods("red", "x"), pods("blue", "x")), [], "somebody chose that");
}
