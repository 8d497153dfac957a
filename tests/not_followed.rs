//! Releases that are handed to what is not followed: functions of templates, plugins, charts of others. Each is told, with a
//! true reason and with what could not be followed, and none is shown as a range.

mod texts;

use crate::support::tree::{scanned, told};
use uplinker::pins::{Inventory, PinKind, SkipReason};

/// Lines that keep what stands between them far from any that speaks of Linkerd.
const FAR: &str = "        a: 1\n        b: 1\n        c: 1\n        d: 1\n        e: 1\n        f: 1\n";

fn details(inventory: &Inventory) -> Vec<&str> {
    let templates = inventory.skipped.iter().filter(|skip| skip.reason == SkipReason::HelmTemplate);
    templates.filter_map(|skip| skip.detail.as_deref()).collect()
}

/// An ApplicationSet over the files of a folder.
fn set(chart: &str, version: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {{name: mesh, namespace: argocd}}\nspec:\n  \
         goTemplate: true\n  generators:\n  - git: {{repoURL: 'https://g.test/x', files: [{{path: 'clusters/*.json'}}]}}\n  \
         template:\n    metadata: {{name: 'linkerd-{{{{ .name }}}}'}}\n    spec:\n      project: default\n      \
         source: {{repoURL: 'https://helm.linkerd.io/edge', chart: '{chart}', targetRevision: '{version}'}}\n      \
         destination: {{name: a, namespace: linkerd}}\n"
    )
}

#[test]
fn what_a_function_that_is_not_followed_is_given_is_told() {
    let release = "{\"name\": \"a\", \"mesh\": \"v2026.8.2\"}";
    let text = "{\"name\": \"a\", \"mesh\": \"{mesh: 2026.8.2}\"}";
    for (version, file, detail) in [
        (
            "{{ regexReplaceAll \"^v\" .mesh \"\" }}",
            release,
            "`regexReplaceAll \"^v\" .mesh \"\"` is not followed",
        ),
        ("{{ (semver .mesh).Original }}", release, "`(semver .mesh).Original` is not followed"),
        ("{{ (fromYaml .mesh).mesh }}", text, "`(fromYaml .mesh).mesh` is not followed"),
        ("{{ with fromYaml .mesh }}{{ .mesh }}{{ end }}", text, "`with fromYaml .mesh` is not followed"),
        ("{{ trimPrefix .mesh }}", release, "trimPrefix .mesh: wrong arguments for trimPrefix"),
        ("{{ .mesh.version }}", release, "can't evaluate field version"),
    ] {
        let found = scanned(&[("set.yaml", &set("linkerd-crds", version)), ("clusters/a.json", file)]);
        assert_eq!(told(&found), ["clusters/a.json:1 2026.8.2 NotFollowed"], "{version}");
        assert_eq!(details(&found), [detail], "{version}");
    }
}

#[test]
fn what_code_of_ytt_reads_of_its_values_is_told() {
    let app = "#@ load(\"@ytt:data\", \"data\")\n---\napiVersion: argoproj.io/v1alpha1\nkind: Application\n\
               metadata: {name: mesh, namespace: argocd}\nspec:\n  source:\n    repoURL: https://helm.linkerd.io/edge\n    \
               chart: linkerd-control-plane\n    targetRevision: #@ data.values.mesh.v\n  destination: {name: a}\n";
    let values = "#@data/values\n---\nmesh:\n  v: 2026.8.1\nbilling: 2026.8.1\n";
    let found = scanned(&[("app.yaml", app), ("values.yaml", values), ("plain.yaml", "v: 2026.8.1\n")]);
    let code = "app.yaml:10 #@ data.values.mesh.v NotFollowed";
    assert_eq!(told(&found), [code, "values.yaml:4 2026.8.1 NotFollowed"]);
}

#[test]
fn values_that_are_made_in_a_way_that_is_not_followed_are_told() {
    let values = ", helm: {values: \"{{ toYaml .values | b64enc | b64dec }}\"}}";
    let set =
        set("linkerd-control-plane", "2026.8.2").replacen("2026.8.2'}", &format!("2026.8.2'{values}"), 1);
    let file = "{\"name\": \"a\", \"values\": {\"controllerImageVersion\": \"edge-26.8.1\"}}";
    let found = scanned(&[("set.yaml", &set), ("clusters/a.json", file)]);
    assert_eq!(told(&found), ["clusters/a.json:1 edge-26.8.1 NotFollowed", "set.yaml:12 2026.8.2 moves"]);
    assert_eq!(details(&found), ["`toYaml .values | b64enc | b64dec` is not followed"]);
}

#[test]
fn a_version_that_the_repository_does_not_have_is_told() {
    let told = |path: &str, text: &str| {
        let found = scanned(&[(path, text)]);
        let skips = found.skipped.iter().map(|skip| (skip.reason, skip.detail.clone().unwrap_or_default()));
        (told(&found), skips.collect::<Vec<_>>())
    };
    let helmfile = |version: &str| {
        format!(
            "repositories: [{{name: l5d, url: 'https://helm.linkerd.io/edge'}}]\nreleases:\n\
             - {{name: b, chart: l5d/linkerd-crds, version: {version}}}\n"
        )
    };
    let exec = "{{ exec \"cat\" (list \"VERSION\") }}";
    let (pins, skips) = told("helmfile.yaml.gotmpl", &helmfile(exec));
    assert_eq!((pins, skips), (vec![format!("helmfile.yaml.gotmpl:3 {exec} NotFollowed")], Vec::new()));
    let off = |version: &str| {
        told("helmfile.yaml.gotmpl", &helmfile(version).replace("}\n", ", installed: false}\n"))
    };
    assert_eq!(off(exec), (Vec::new(), Vec::new()));
    let env = "{{ env \"V\" | default \"2026.8.2\" }}";
    let (pins, skips) = told("helmfile.yaml.gotmpl", &helmfile(env));
    assert_eq!(pins, ["helmfile.yaml.gotmpl:3 2026.8.2 moves"]);
    let detail = "the version of `linkerd-crds` is not followed: the environment variable `V`".to_owned();
    assert_eq!(skips, [(SkipReason::Helmfile, detail)]);
    assert_eq!(off(env), (pins, Vec::new()));
    let terraform = |version: &str| {
        format!(
            "resource \"helm_release\" \"crds\" {{\n  name = \"crds\"\n  repository = \"https://helm.linkerd.io/edge\"\n  \
             chart = \"linkerd-crds\"\n  version = {version}\n}}\n"
        )
    };
    let (pins, skips) = told("main.tf", &terraform("trimspace(data.local_file.v.content)"));
    assert_eq!(pins, [""; 0]);
    assert_eq!(skips.len(), 1);
    assert_eq!(skips[0].0, SkipReason::Terraform);
    assert!(skips[0].1.starts_with("the version of `linkerd-crds` is not followed: "), "{skips:?}");
    assert_eq!(told("main.tf", &terraform("\"2026.8.2\"")).1, []);
    let object = |version: &str| {
        format!(
            "variable \"mesh\" {{}}\nresource \"kubernetes_manifest\" \"crds\" {{\n  manifest = {{\n    apiVersion = \"argoproj.io/v1alpha1\"\n    \
             kind = \"Application\"\n    metadata = {{ name = \"crds\", namespace = \"argocd\" }}\n    spec = {{ source = {{ chart = \"linkerd-crds\", \
             repoURL = \"https://helm.linkerd.io/edge\", targetRevision = {version} }}, destination = {{ name = \"a\" }} }}\n  }}\n}}\n"
        )
    };
    let (pins, skips) = told("main.tf", &object("var.mesh"));
    assert_eq!(pins, [""; 0]);
    let detail = "the version of `linkerd-crds` is not followed: Terraform, `var.mesh`".to_owned();
    assert_eq!(skips, [(SkipReason::Terraform, detail)]);
    assert_eq!(told("main.tf", &object("\"2026.8.2\"")).1, []);
}

#[test]
fn what_a_mirror_of_linkerd_s_sources_is_fetched_at_is_told() {
    let application = |url: &str, path: &str| {
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: mesh, namespace: linkerd}}\nspec:\n  \
             source: {{repoURL: '{url}', path: '{path}', targetRevision: 2026.8.2}}\n  destination: {{namespace: linkerd}}\n"
        )
    };
    let source = |url: &str| {
        format!(
            "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {{name: linkerd, namespace: mesh}}\n\
             spec: {{url: '{url}', ref: {{tag: 2026.8.2}}}}\n"
        )
    };
    let found = |text: String| told(&scanned(&[("app.yaml", &text)]));
    let is_told = ["app.yaml:5 2026.8.2 NotFollowed"];
    assert_eq!(found(application("https://g.test/mirrors/mesh", "charts/linkerd-control-plane")), is_told);
    assert_eq!(found(application("https://g.test/mirrors/linkerd2.git", "viz/charts")), is_told);
    assert_eq!(found(application("https://g.test/acme/calendar", "deploy")), [""; 0]);
    assert_eq!(found(source("https://g.test/mirrors/linkerd2")), ["app.yaml:4 2026.8.2 NotFollowed"]);
}

#[test]
fn a_file_that_helmfile_cannot_fill_is_named_and_the_rest_of_one_that_it_fills_is_told() {
    let helmfile = "environments:\n  default:\n    values: [env.yaml.gotmpl]\n---\nrepositories:\n\
                    - {name: linkerd, url: 'https://helm.linkerd.io/edge'}\nreleases:\n- name: mesh\n  \
                    chart: linkerd/linkerd-control-plane\n  version: {{ .Values.mesh }}\n";
    let found = |values: &str| scanned(&[("helmfile.yaml", helmfile), ("env.yaml.gotmpl", values)]);
    let failing = found("mesh: 2026.8.2\ntag: edge-26.8.2\n{{ exec \"./secrets.sh\" (list \"prod\") }}\n");
    let named: Vec<_> = failing.skipped.iter().map(|skip| (skip.path.as_str(), skip.reason)).collect();
    assert_eq!(named, [("env.yaml.gotmpl", SkipReason::Helmfile)]);
    assert_eq!(told(&failing), ["helmfile.yaml:10 {{ .Values.mesh }} NotFollowed"]);
    let filled = found("mesh: 2026.8.2\ntag: edge-26.8.2\nfirst: {{ .Environment.Name }}\n");
    assert_eq!(filled.skipped, []);
    assert_eq!(
        told(&filled),
        ["env.yaml.gotmpl:1 2026.8.2 moves", "env.yaml.gotmpl:2 edge-26.8.2 NotFollowed"]
    );
}

#[test]
fn what_an_operator_may_put_on_others_is_told() {
    let policy = "apiVersion: policy.karmada.io/v1alpha1\nkind: ClusterOverridePolicy\nmetadata: {name: p}\nspec:\n  \
                  resourceSelectors: [{apiVersion: v1, kind: Namespace, name: shop}]\n  overrideRules:\n  - overriders:\n      \
                  annotationsOverrider:\n      - operator: addIfAbsent\n        value: {config.linkerd.io/proxy-version: edge-26.8.2}\n      \
                  labelsOverrider:\n      - labels: {config.linkerd.io/proxy-version: edge-26.8.1}\n";
    let found = scanned(&[("policy.yaml", policy)]);
    assert_eq!(
        told(&found),
        ["policy.yaml:10 edge-26.8.2 NotFollowed", "policy.yaml:12 edge-26.8.1 NoEffect"]
    );
    let of_kubernetes = policy.replace("policy.karmada.io", "policy.k8s.io");
    assert_eq!(told(&scanned(&[("policy.yaml", &of_kubernetes)]))[0], "policy.yaml:10 edge-26.8.2 NoEffect");
}

#[test]
fn what_the_elements_of_a_merge_are_laid_over_is_told() {
    let set = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: mesh, namespace: argocd}\nspec:\n  \
               generators:\n  - merge:\n      mergeKeys: [name]\n      generators:\n      - list:\n          elements:\n          \
               - name: east\n            version: 2026.8.2\n          - name: west\n            version: 2026.8.1\n      - list:\n          \
               elements:\n          - name: west\n            version: 2026.8.0\n          - name: none\n            \
               version: 2026.7.2\n  template:\n    metadata: {name: '{{name}}'}\n    spec:\n      project: default\n      source:\n        \
               repoURL: https://helm.linkerd.io/edge\n        chart: linkerd-control-plane\n        targetRevision: '{{version}}'\n      \
               destination: {name: '{{name}}', namespace: mesh}\n";
    assert_eq!(
        told(&scanned(&[("set.yaml", set)])),
        [
            "set.yaml:12 2026.8.2 moves",
            "set.yaml:14 2026.8.1 NoEffect",
            "set.yaml:18 2026.8.0 moves",
            "set.yaml:20 2026.7.2 NoEffect"
        ]
    );
}

#[test]
fn a_version_that_a_set_asks_of_a_cluster_is_told_where_its_secret_is_made_of_it() {
    let set = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: mesh, namespace: argocd}\nspec:\n  \
               generators:\n  - clusters: {}\n  template:\n    metadata: {name: '{{name}}'}\n    spec:\n      project: default\n      \
               source:\n        repoURL: https://helm.linkerd.io/edge\n        chart: linkerd-control-plane\n        \
               targetRevision: '{{metadata.annotations.mesh_version}}'\n      destination: {name: '{{name}}', namespace: mesh}\n";
    let code = "set.yaml:14 {{metadata.annotations.mesh_version}} NotFollowed";
    let main = "module \"bridge\" {\n  source = \"gitops-bridge-dev/gitops-bridge/helm\"\n  cluster = { addons = local.addons }\n}\n\
                locals {\n  addons = {\n    mesh_version = \"2026.8.1\"\n    day = \"2026.8.2\"\n  }\n}\n";
    assert_eq!(
        told(&scanned(&[("set.yaml", set), ("main.tf", main)])),
        ["main.tf:7 2026.8.1 NotFollowed", code]
    );
    let addons = "day: 2026.8.2\nmesh_version: 2026.8.1\n";
    assert_eq!(
        told(&scanned(&[("set.yaml", set), ("addons.yaml", addons)])),
        ["addons.yaml:2 2026.8.1 NotFollowed", code]
    );
    let set = set.replace("annotations.mesh_version", "labels.version");
    assert_eq!(
        told(&scanned(&[("set.yaml", &set), ("addons.yaml", "version: 2026.8.1\n")])),
        ["set.yaml:14 {{metadata.labels.version}} NotFollowed"]
    );
}

#[test]
fn a_condition_that_is_not_decided_makes_no_range() {
    let set = set("linkerd-crds", "{{ if semverCompare \">=26.1\" .mesh }}{{ .mesh }}{{ end }}");
    let file = "{\"name\": \"a\", \"mesh\": \"2026.8.2\"}";
    let found = scanned(&[("set.yaml", &set), ("clusters/a.json", file)]);
    assert_eq!(told(&found), ["clusters/a.json:1 2026.8.2 moves"]);
}

#[test]
fn of_a_chart_of_linkerd_s_that_is_not_known_the_version_is_told() {
    let set = set("{{ regexReplaceAll \"x\" .name \"\" }}", "{{ .mesh }}");
    let found =
        scanned(&[("set.yaml", &set), ("clusters/a.json", "{\"name\": \"a\", \"mesh\": \"2026.8.2\"}")]);
    assert_eq!(told(&found), ["clusters/a.json:1 2026.8.2 NotFollowed"]);
}

#[test]
fn what_a_plugin_is_told_may_come_out_of_it_and_its_values_go_past_it() {
    let source = |version: &str| {
        format!(
            "      - {{repoURL: 'https://helm.linkerd.io/edge', chart: linkerd-crds, targetRevision: '{{{{ {version} }}}}'}}\n"
        )
    };
    let set = format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {{name: mesh, namespace: argocd}}\nspec:\n  \
         goTemplate: true\n  generators:\n  - plugin:\n      configMapRef: {{name: p}}\n      input:\n       parameters:\n{FAR}        \
         told: 2026.8.1\n{FAR}      values:\n{FAR}        given: 2026.8.2\n{FAR}  template:\n    metadata: {{name: '{{{{ .name }}}}'}}\n    \
         spec:\n      project: default\n      destination: {{name: a, namespace: linkerd}}\n      sources:\n{}{}",
        source(".version"),
        source(".values.given"),
    );
    let found = told(&scanned(&[("set.yaml", &set)]));
    assert_eq!(found, ["set.yaml:17 2026.8.1 NotFollowed", "set.yaml:31 2026.8.2 moves"]);
}

#[test]
fn what_a_plugin_of_an_application_is_told_would_be_brought_back() {
    let app = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: cp, namespace: argocd}\nspec:\n  \
               project: default\n  destination: {name: a, namespace: linkerd}\n  source:\n    repoURL: https://g.test/x\n    \
               path: mesh\n    plugin:\n      name: vault\n      env:\n      - name: HELM_ARGS\n        \
               value: --set linkerd-control-plane.linkerdVersion=edge-26.8.2\n";
    let chart = "apiVersion: v2\nname: mesh\nversion: 1.0.0\ndependencies:\n- name: linkerd-control-plane\n  \
                 version: 2026.8.2\n  repository: https://helm.linkerd.io/edge\n";
    let found = scanned(&[("app.yaml", app), ("mesh/Chart.yaml", chart)]);
    assert_eq!(told(&found), ["app.yaml:14 edge-26.8.2 NotFollowed", "mesh/Chart.yaml:6 2026.8.2 moves"]);
    let lines = found.facts.generators.iter().map(|g| format!("{}:{} {}", g.path, g.line, g.version));
    assert_eq!(lines.collect::<Vec<_>>(), ["app.yaml:14 edge-26.8.2"]);
}

#[test]
fn an_input_of_a_resource_set_that_is_not_followed_is_told() {
    let set = |version: &str| {
        format!(
            "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\nmetadata: {{name: mesh, namespace: flux-system}}\nspec:\n  \
             inputs:\n  -\n{FAR}        mesh: 2026.8.2\n{FAR}  resources:\n  - apiVersion: source.toolkit.fluxcd.io/v1\n    \
             kind: HelmRepository\n    metadata: {{name: l, namespace: a}}\n    spec: {{url: 'https://helm.linkerd.io/edge'}}\n  \
             - apiVersion: helm.toolkit.fluxcd.io/v2\n    kind: HelmRelease\n    metadata: {{name: crds, namespace: a}}\n    spec:\n      \
             chart:\n        spec:\n          chart: linkerd-crds\n          version: {version}\n          \
             sourceRef: {{kind: HelmRepository, name: l}}\n"
        )
    };
    for (version, fate, detail) in [
        (
            "<< regexReplaceAll \"^v\" inputs.mesh \"\" >>",
            "NotFollowed",
            Some("`regexReplaceAll \"^v\" inputs.mesh \"\"` is not followed"),
        ),
        (
            "<< trimPrefix inputs.mesh >>",
            "NotFollowed",
            Some("trimPrefix inputs.mesh: wrong arguments for trimPrefix"),
        ),
        ("<< if semverCompare \">=26.1\" inputs.mesh >><< inputs.mesh >><< end >>", "moves", None),
    ] {
        let found = scanned(&[("set.yaml", &set(version))]);
        assert_eq!(told(&found), [format!("set.yaml:13 2026.8.2 {fate}")], "{version}");
        assert_eq!(details(&found).first().copied(), detail, "{version}");
    }
}

#[test]
fn what_a_function_of_terraform_s_that_is_not_followed_is_given_is_told() {
    let locals = "locals {\n  mesh = \"2026.8.2\"\n}\n";
    let release = "resource \"helm_release\" \"crds\" {\n  name = \"crds\"\n  chart = \"linkerd-crds\"\n  repository = \"https://helm.linkerd.io/edge\"\n  \
                   version = regexall(\".*\", local.mesh)\n}\n";
    let found = scanned(&[("locals.tf", locals), ("main.tf", release)]);
    assert_eq!(told(&found), ["locals.tf:2 2026.8.2 NotFollowed"]);
    assert_eq!(found.pins[0].chart.as_deref(), Some("linkerd-crds"), "its plan says whose version stays");
}

#[test]
fn what_a_command_of_helmfile_s_is_given_is_the_version_of_its_chart() {
    let text = "repositories: [{name: l, url: 'https://helm.linkerd.io/edge'}]\nreleases:\n- name: crds\n  chart: l/linkerd-crds\n  \
                version: {{ exec \"./v.sh\" (list \"2026.8.2\") }}\n";
    let told_by_a_value =
        format!("values:\n- mesh: 2026.8.2\n---\n{}", text.replace("\"2026.8.2\"", ".Values.mesh"));
    for (text, line) in [(text, 5), (&*told_by_a_value, 2)] {
        let found = scanned(&[("helmfile.yaml", text)]);
        assert_eq!(told(&found), [format!("helmfile.yaml:{line} 2026.8.2 NotFollowed")]);
        assert_eq!(found.pins[0].chart.as_deref(), Some("linkerd-crds"));
    }
}

#[test]
fn the_name_of_a_package_in_the_tree_is_what_runs() {
    let text = "resource \"helm_release\" \"cp\" {\n  name = \"cp\"\n  chart = \"${path.module}/linkerd-control-plane-2026.7.2.tgz\"\n  \
                set = [{ name = \"controllerImageVersion\", value = \"edge-26.7.2\" }]\n}\n";
    let found = scanned(&[("main.tf", text)]);
    assert_eq!(told(&found), ["main.tf:3 2026.7.2 NotFollowed", "main.tf:4 edge-26.7.2 ChartStays"]);
    assert_eq!(found.pins[0].chart.as_deref(), Some("linkerd-control-plane"));
}

#[test]
fn the_tag_of_an_image_of_linkerd_s_is_found_whoever_says_its_name() {
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: check, namespace: x}\nspec:\n  \
                   chart: {spec: {chart: check, version: 1.0.0, sourceRef: {kind: HelmRepository, name: acme}}}\n  \
                   values:\n    image: {repository: cr.l5d.io/linkerd/controller}\n  valuesFrom: [{kind: ConfigMap, name: v}]\n";
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: v, namespace: x}\ndata:\n  values.yaml: |\n    \
               image:\n      tag: edge-26.8.2\n    sidecar: {imageTag: edge-26.8.1}\n    app: {version: 2026.8.2}\n";
    let application = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: x, namespace: argocd}\nspec:\n  \
                       source:\n    repoURL: https://charts.example.com\n    chart: check\n    targetRevision: 1.0.0\n    helm:\n      \
                       parameters:\n      - {name: image.repository, value: cr.l5d.io/linkerd/controller}\n      \
                       - {name: image.tag, value: edge-26.8.2}\n";
    let found = scanned(&[("app.yaml", application), ("map.yaml", map), ("release.yaml", release)]);
    let expected = [
        "app.yaml:12 edge-26.8.2 moves",
        "map.yaml:7 edge-26.8.2 moves",
        "map.yaml:8 edge-26.8.1 NotFollowed",
    ];
    assert_eq!(told(&found), expected);
    let kinds: Vec<PinKind> = found.pins.iter().map(|pin| pin.kind).collect();
    assert_eq!(kinds, [PinKind::ArgoHelmParameter, PinKind::HelmValues, PinKind::Other]);
}

#[test]
fn a_line_that_a_condition_leaves_out_is_no_range() {
    for condition in [
        "        <<- if inputs.pinned >>\n        targetRevision: 2026.8.1\n        <<- end >>\n",
        "        targetRevision: \"<< if inputs.pinned >>2026.8.1<< end >>\"\n",
    ] {
        let text = format!(
            "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSetInputProvider\nmetadata: {{name: p, namespace: a}}\nspec: {{type: \
             GitHubBranch, url: 'https://g.test/x'}}\n---\napiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\nmetadata: {{name: r, \
             namespace: a}}\nspec:\n  inputsFrom: [{{name: p}}]\n  resourcesTemplate: |\n    apiVersion: argoproj.io/v1alpha1\n    kind: \
             Application\n    metadata: {{name: linkerd}}\n    spec:\n      source:\n        repoURL: https://helm.linkerd.io/edge\n        \
             chart: linkerd-control-plane\n{condition}      destination: {{namespace: linkerd, name: in-cluster}}\n"
        );
        let found = told(&scanned(&[("a.yaml", &text)]));
        assert!(matches!(&*found, [only] if only.contains(" 2026.8.1 ")), "{found:?}");
    }
}

#[test]
fn an_element_that_a_condition_leaves_out_is_told_by_its_name() {
    let selected = "\n    selector: {matchLabels: {mesh: 'on'}}\n  template:";
    let set = set("linkerd-crds", "{{ .release }}").replace("\n  template:", selected);
    let element = |mesh: &str, release: &str| {
        format!(
            "{{\"name\": \"{mesh}\", \"mesh\": \"{mesh}\", \"release\": \"{release}\", \"tools\": \"2026.8.1\"}}"
        )
    };
    let (on, off) = (element("on", "2026.8.2"), element("off", "2026.8.1"));
    let found =
        scanned(&[("set.yaml", &set), ("clusters/a.json", &on), ("clusters/b.json", &off), ("c.json", &off)]);
    assert_eq!(told(&found), ["clusters/a.json:1 2026.8.2 moves", "clusters/b.json:1 2026.8.1 NotFollowed"]);
}

#[test]
fn what_a_condition_of_a_template_may_leave_out_is_no_text_for_people() {
    let release = "apiVersion: helm.cattle.io/v1\nkind: HelmChart\nmetadata: {name: mesh, namespace: kube-system}\nspec:\n  \
                   repo: https://helm.linkerd.io/edge\n  chart: linkerd-crds\n  version: 2026.8.2\n";
    let template = format!(
        "# It was 2026.8.1 of linkerd-crds.\n{{{{ if .Values.mesh.enabled }}}}\n{release}{{{{ end }}}}\n"
    );
    let chart = "apiVersion: v2\nname: hub\nversion: 0.1.0\n";
    let values = "mesh: {enabled: false}\n";
    let found =
        scanned(&[("Chart.yaml", chart), ("templates/linkerd.yaml", &template), ("values.yaml", values)]);
    assert_eq!(
        told(&found),
        ["templates/linkerd.yaml:1 2026.8.1 NotDeployed", "templates/linkerd.yaml:9 2026.8.2 NotFollowed"]
    );
}

#[test]
fn of_a_rendered_manifest_in_a_chart_no_line_stays() {
    let rendered = include_str!("scan/chart-rendered/before/charts/linkerd/templates/cp/destination.yaml");
    let chart = "apiVersion: v2\nname: linkerd\nversion: 0.1.1\n";
    let path = "charts/linkerd/templates/cp/destination.yaml";
    let found = scanned(&[("charts/linkerd/Chart.yaml", chart), (path, rendered)]);
    assert_eq!(told(&found), [format!("{path}:5 linkerd/cli edge-26.5.1 moves")]);
}

#[test]
fn a_version_that_is_put_together_is_known_though_it_is_written_in_no_one_place() {
    let text = include_str!("scan/put-together-escaped/before/main.tf");
    let found = scanned(&[("main.tf", text)]);
    let versions = Vec::from_iter(found.pins().map(|pin| (&*pin.value, pin.version)));
    assert_eq!(versions, [("2026.7.2", "edge-26.7.2".parse().ok())]);
}

#[test]
fn a_release_that_flux_waits_for_in_another_way_is_told() {
    let text = format!(
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: cp, namespace: linkerd}}\nspec:\n  \
         chart: {{spec: {{chart: linkerd-control-plane, version: 2026.8.1, sourceRef: {{kind: HelmRepository, name: edge}}}}}}\n  \
         values:\n    x:\n{FAR}  dependsOn:\n  - name: crds\n    readyExpr: \
         dep.status.history[0].chartVersion.startsWith('2026.8.1')\n"
    );
    let told = told(&scanned(&[("cp.yaml", &text)]));
    assert!(told.iter().any(|line| line == "cp.yaml:16 2026.8.1 NotFollowed"), "{told:?}");
}
