//! Each piece that says that it was written somewhere is changed there: the new word must stand at the same place of
//! what comes out, and nowhere else.

use std::collections::BTreeSet;

use super::{
    argo,
    chart::{ChartRelease, Layer},
    cluster::Cluster,
    files::{Files, TreeFiles},
    flux, k3s,
    note::Note,
    object::Object,
    testing::files,
    value::{Part, Scalar, Value},
};

/// A tree as a list of texts.
type Tree = Vec<(String, String)>;

fn open(tree: &Tree) -> TreeFiles<'static> {
    let all: Vec<(&str, &str)> = tree.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    files(&all)
}

fn objects(files: &TreeFiles<'_>) -> Vec<Object> {
    let mut found = Vec::new();
    for entry in files.below("") {
        if let Ok(documents) = files.documents(entry.path.as_str()) {
            found.extend(documents.iter().flat_map(|d| Object::all(d, &entry.path)));
        }
    }
    found
}

fn scalars(name: &str, value: &Value, found: &mut Vec<(String, Scalar)>) {
    match value {
        Value::Scalar(scalar) => found.push((name.to_owned(), scalar.clone())),
        Value::List(items) => {
            items.iter().enumerate().for_each(|(n, item)| scalars(&format!("{name}[{n}]"), item, found));
        }
        Value::Map(map) => {
            map.iter().for_each(|(key, value)| scalars(&format!("{name}.{key}"), value, found))
        }
    }
}

fn of_release(name: &str, release: &ChartRelease, found: &mut Vec<(String, Scalar)>) {
    found.push((format!("{name} chart"), release.chart.clone()));
    found.extend(release.version.clone().map(|version| (format!("{name} version"), version)));
    scalars(&format!("{name} values"), &release.values().value, found);
    let outside = release.layers.iter().filter(|l| matches!(l, Layer::Outside { .. }));
    found.extend(outside.map(|_| (format!("{name} outside"), Scalar::made(""))));
}

/// Everything that comes out of a tree, by name, and what was not followed.
fn evaluated(tree: &Tree) -> (Vec<(String, Scalar)>, Vec<Note>) {
    let files = open(tree);
    let mut all = objects(&files);
    let mut found = Vec::new();
    let mut notes = Vec::new();
    let base = all.clone();
    let cluster = Cluster::new(&base);
    for set in base.iter().filter(|o| o.kind() == "ApplicationSet") {
        all.extend(argo::application_set(set, &cluster, &files).objects);
    }
    for set in base.iter().filter(|o| o.kind() == "ResourceSet") {
        all.extend(flux::resource_set(set, &cluster, &files).objects);
    }
    let kustomization = base.iter().find(|o| o.group() == "kustomize.toolkit.fluxcd.io");
    if let Some(variables) = kustomization.and_then(|k| flux::substitute::Variables::of(k, &cluster)) {
        for object in all.iter_mut().filter(|o| o.group() != "kustomize.toolkit.fluxcd.io") {
            if let Some(value) = variables.fill(object, &files, &mut notes) {
                object.value = value;
            }
        }
    }
    let cluster = Cluster::new(&all);
    for (n, object) in all.iter().enumerate() {
        match &*object.kind() {
            "Application" => {
                for (m, release) in argo::application(object, &cluster, &files).charts.iter().enumerate() {
                    of_release(&format!("{n}.{m}"), release, &mut found);
                }
            }
            "HelmRelease" => {
                if let Some(release) = flux::helm_release(object, &cluster, &files) {
                    of_release(&n.to_string(), &release, &mut found);
                }
            }
            "HelmChart" => {
                if let Some(release) = k3s::helm_chart(object, &cluster, &files) {
                    of_release(&n.to_string(), &release, &mut found);
                }
            }
            _ => {}
        }
    }
    (found, notes)
}

/// The same text with other digits behind the first dot, so that nothing moves and what is cut off stays the same.
fn turned(text: &str) -> String {
    let dot = text.find('.').unwrap_or_default();
    let turn = |(at, c): (usize, char)| match c.to_digit(10) {
        Some(digit) if at > dot => char::from(b'1' + (digit as u8 + 1) % 9),
        _ => c,
    };
    text.char_indices().map(turn).collect()
}

fn hold(tree: &[(&str, &str)], least: usize) {
    let tree: Tree = tree.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    let (before, notes) = evaluated(&tree);
    assert_eq!(notes, []);
    assert!(!before.iter().any(|(name, _)| name.ends_with("outside")));
    let mut places: BTreeSet<(String, usize, usize)> = BTreeSet::new();
    for (_, scalar) in &before {
        for part in scalar.parts() {
            if let Part::Written(origin) = part
                && origin.text().contains('.')
                && origin.text().chars().any(|c| c.is_ascii_digit())
            {
                places.insert((origin.source.path.to_string(), origin.span.start, origin.span.end));
            }
        }
    }
    assert!(places.len() >= least, "{} places: {before:#?}", places.len());
    for (path, start, end) in places {
        let mut edited = tree.clone();
        let text = &mut edited.iter_mut().find(|(p, _)| *p == path).unwrap().1;
        let new = turned(&text[start..end]);
        text.replace_range(start..end, &new);
        let (after, _) = evaluated(&edited);
        let now = |part: &Part| match part {
            Part::Written(origin) => {
                let (_, text) = edited.iter().find(|(p, _)| *p == origin.source.path.to_string()).unwrap();
                text[origin.span.clone()].to_owned()
            }
            other => other.text().to_owned(),
        };
        let expected: Vec<(String, String)> =
            before.iter().map(|(name, s)| (name.clone(), s.parts().iter().map(now).collect())).collect();
        let found: Vec<(String, String)> =
            after.iter().map(|(name, s)| (name.clone(), s.text().into_owned())).collect();
        assert_eq!(found, expected, "{path}:{start} became {new}");
    }
}

const ARGO: &[(&str, &str)] = &[
    (
        "set.yaml",
        "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: mesh, namespace: argocd}\nspec:\n  goTemplate: true\n  generators:\n  - matrix:\n      generators:\n      - list:\n          elements:\n          - {chart: linkerd-crds, version: 2026.8.2, tag: edge-26.8.2}\n          - {chart: linkerd-viz, version: '2026.8.1', extra: \"1.2.\\x33\"}\n      - git:\n          repoURL: g\n          files: [{path: 'sites/*/site.json'}]\n          values: {both: '{{ .proxy }}-x', own: 3.2.1}\n  template:\n    metadata: {name: '{{ .chart }}-{{ .path.basename }}'}\n    spec:\n      project: p\n      sources:\n      - {repoURL: g, ref: v}\n      - repoURL: https://charts.example.com\n        chart: '{{ .chart }}'\n        targetRevision: '{{ .version }}'\n        helm:\n          valueFiles: ['$v/sites/{{ .path.basename }}/values.yaml']\n          values: |\n            linkerdVersion: edge-{{ trimPrefix \"20\" .version }}\n            fixed: 7.7.7 # as it is\n            {{ if .tag }}tag: {{ .tag | quote }}{{ else }}tag: edge-5.5.5{{ end }}\n          parameters:\n          - {name: p.image, value: '{{ .proxy }}'}\n          - {name: own, value: '{{ .values.own }}', forceString: true}\n  templatePatch: |\n    spec:\n      info:\n      - {name: 'v', value: '{{ .values.both }}'}\n      {{- if eq .chart \"linkerd-viz\" }}\n      sources:\n      - repoURL: https://charts.example.com\n        chart: {{ .chart }}\n        targetRevision: {{ default \"4.4.4\" .none }}\n        helm: {valuesObject: {both: {{ .values.both }}, extra: {{ .extra | quote }}}}\n      {{- end }}\n",
    ),
    ("sites/a/site.json", "{\"proxy\": \"edge-26.8.2\"}"),
    ("sites/b/site.json", "[{\"proxy\": \"edge-26.7.1\"}]"),
    ("sites/a/values.yaml", "proxy: {image: {version: edge-26.8.2}}\n"),
    ("sites/b/values.yaml", "a: &a 1.2.3\nb: *a\nc: {<<: {d: 2.2.2}}\n"),
];

const FLUX: &[(&str, &str)] = &[
    (
        "k.yaml",
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: k, namespace: flux-system}\nspec:\n  postBuild:\n    substituteFrom: [{kind: ConfigMap, name: vars}]\n    substitute: {tag: edge-26.8.2, chart: \"2026.8.2\"}\n",
    ),
    (
        "vars.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: vars, namespace: flux-system}\ndata:\n  proxy: |\n    edge-26.8.1\n  chart: 1.1.1\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: values, namespace: linkerd}\ndata:\n  values.yaml: |\n    linkerdVersion: ${tag}\n    x: {y: 3.3.3, z: 6.6.6}\n  image: 8.8.8\n  list: '{9.9.1,9.9.2}'\n",
    ),
    (
        "r.yaml",
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: crds, namespace: linkerd}\nspec:\n  chart: {spec: {chart: linkerd-crds, version: \"${chart}\", sourceRef: {kind: HelmRepository, name: e}}}\n  valuesFrom:\n  - {kind: ConfigMap, name: values}\n  - {kind: ConfigMap, name: values, valuesKey: image, targetPath: p.image}\n  - {kind: ConfigMap, name: values, valuesKey: list, targetPath: l}\n  values:\n    x: {y: 5.5.5}\n    p: {image: 4.4.4}\n    d: ${none:=26.1.1}-${tag#edge-}\n    s: 'a: ${proxy/edge-/v}'\n    t: |\n      one ${tag}\n      two 2.2.2\n---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: cp, namespace: linkerd}\nspec:\n  chartRef: {kind: OCIRepository, name: cp}\n---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: cp, namespace: linkerd}\nspec: {url: oci://r.example.com/charts/linkerd-control-plane, ref: {tag: \"${chart}\"}}\n",
    ),
    (
        "s.yaml",
        "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\nmetadata: {name: s, namespace: linkerd}\nspec:\n  inputs:\n  - {version: 2026.7.7, values: {a: 1.2.3, b: [4.5.6]}}\n  - {version: 2026.7.6, values: {a: 1.2.4}}\n  resources:\n  - apiVersion: helm.toolkit.fluxcd.io/v2\n    kind: HelmRelease\n    metadata: {name: viz-<< inputs.version | replace \".\" \"-\" >>}\n    spec:\n      chart: {spec: {chart: linkerd-viz, version: << inputs.version | quote >>, sourceRef: {kind: HelmRepository, name: e}}}\n      values: << inputs.values | toYaml | nindent 8 >>\n  resourcesTemplate: |\n    apiVersion: helm.toolkit.fluxcd.io/v2\n    kind: HelmRelease\n    metadata: {name: << inputs.version | trunc 4 >>}\n    spec:\n      chart: {spec: {chart: linkerd-viz, version: << inputs.version >>, sourceRef: {kind: HelmRepository, name: e}}}\n",
    ),
    (
        "z.yaml",
        "apiVersion: helm.cattle.io/v1\nkind: HelmChart\nmetadata: {name: mesh, namespace: kube-system}\nspec:\n  chart: linkerd-viz\n  repo: https://charts.example.com\n  version: 2026.6.6\n  valuesContent: |\n    linkerdVersion: edge-26.6.6\n  set: {a.b: 1.2.3}\n---\napiVersion: helm.cattle.io/v1\nkind: HelmChartConfig\nmetadata: {name: mesh, namespace: kube-system}\nspec: {valuesContent: \"x: {y: 6.5.4}\"}\n",
    ),
];

#[test]
fn of_application_sets_each_origin_holds() {
    hold(ARGO, 12);
}

#[test]
fn of_flux_and_k3s_each_origin_holds() {
    hold(FLUX, 19);
}

/// What a line becomes, or gets.
const HOSTILE: &[&str] = &[
    "",
    "{{",
    "}}",
    "{{ range .x }}",
    "{{ if",
    "${",
    "${a:=",
    "<<",
    "<< inputs.x >>",
    "spec: []",
    "  generators: {}",
    "  - list: 5",
    "      - matrix: {generators: [{}, {}]}",
    "  template:",
    "  goTemplate: no",
    "kind: List",
    "  - git: {files: [{path: '***['}]}",
    "metadata:",
    "  valuesFrom: x",
    "  values: [1]",
    "\t",
    "&a [*a]",
    "é: \u{f8f0}",
];

proptest::proptest! {
    #[test]
    fn no_object_makes_it_panic(
        argo: bool,
        edits in proptest::collection::vec((0usize..8, 0usize..80, 0usize..HOSTILE.len(), 0usize..3), 1..6),
    ) {
        let tree = if argo { ARGO } else { FLUX };
        let mut tree: Tree =
            tree.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        for (file, line, hostile, way) in edits {
            let count = tree.len();
            let text = &mut tree[file % count].1;
            let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
            let at = line % lines.len();
            match way {
                0 => drop(lines.remove(at)),
                1 => lines.insert(at, HOSTILE[hostile].to_owned()),
                _ => lines[at].push_str(HOSTILE[hostile]),
            }
            *text = lines.join("\n");
        }
        let _ = evaluated(&tree);
    }
}
