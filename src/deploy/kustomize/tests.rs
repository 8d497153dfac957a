//! The origins that each transformer leaves, and the bounds.

use std::fmt::Write;

use super::*;
use crate::deploy::{
    chart::{Layer, Repository},
    note::Bound,
    testing::files,
    value::{Part, Via},
};

/// The parts of a scalar of the only object of a kind: texts with the files that they stand in, and their ways.
fn origin(build: &Build, kind: &str, path: &[&str]) -> String {
    let object = build.objects.iter().find(|object| object.kind() == kind).unwrap();
    let value = path.iter().fold(&object.value, |value, key| match value {
        Value::List(items) => &items[key.parse::<usize>().unwrap()],
        _ => value.entry(key).unwrap(),
    });
    let part = |part: &Part| match part {
        Part::Written(origin) => {
            let via =
                origin.via.map_or("", |via| if via == Via::Variable { " by name" } else { " otherwise" });
            format!("{}@{}{via}", origin.text(), origin.source.path)
        }
        Part::Made(text) => format!("({text})"),
        Part::Unknown(who) => format!("<{who}>"),
    };
    value.as_scalar().unwrap().parts().iter().map(part).collect::<Vec<_>>().join(" + ")
}

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: a, image: 'web:1.0@sha256:aa'}]}\n";

fn overlay(kustomization: &str, more: &[(&str, &str)]) -> Build {
    let mut all = vec![("kustomization.yaml", kustomization), ("pod.yaml", POD)];
    all.extend(more);
    build(&files(&all), "")
}

#[test]
fn names_namespaces_labels_and_annotations_come_from_the_kustomization() {
    let build = overlay(
        "resources: [pod.yaml]\nnamePrefix: pre-\nnameSuffix: -suf\nnamespace: prod\ncommonLabels: {l: one}\nlabels: [{pairs: {m: two}}]\ncommonAnnotations: {n: three}\n",
        &[],
    );
    let at = |path: &[&str]| origin(&build, "Pod", path);
    assert_eq!(at(&["metadata", "name"]), "pre-@kustomization.yaml + web@pod.yaml + -suf@kustomization.yaml");
    assert_eq!(at(&["metadata", "namespace"]), "prod@kustomization.yaml");
    assert_eq!(at(&["metadata", "labels", "l"]), "one@kustomization.yaml");
    assert_eq!(at(&["metadata", "labels", "m"]), "two@kustomization.yaml");
    assert_eq!(at(&["metadata", "annotations", "n"]), "three@kustomization.yaml");
    assert_eq!(build.notes, []);
}

#[test]
fn an_image_has_its_parts_from_where_each_was_written() {
    let image = |entry: &str| {
        let build = overlay(&format!("resources: [pod.yaml]\nimages: [{entry}]\n"), &[]);
        origin(&build, "Pod", &["spec", "containers", "0", "image"])
    };
    assert_eq!(image("{name: web, newTag: '2'}"), "web@pod.yaml + (:) + 2@kustomization.yaml");
    assert_eq!(
        image("{name: web, newName: x/y}"),
        "x/y@kustomization.yaml + (:) + 1.0@pod.yaml + (@) + sha256:aa@pod.yaml"
    );
    assert_eq!(
        image("{name: web, digest: 'sha256:bb'}"),
        "web@pod.yaml + (@) + sha256:bb@kustomization.yaml"
    );
    assert_eq!(image("{name: web, tagSuffix: -x}").matches("-x@kustomization.yaml").count(), 2);
    assert_eq!(image("{name: we, newTag: '2'}"), "web:1.0@sha256:aa@pod.yaml");
}

#[test]
fn generated_texts_are_those_of_the_literals_lines_and_files() {
    let build = overlay(
        "configMapGenerator:\n- name: c\n  literals: [\"a='one'\"]\n  envs: [e.env]\n  files: [f=f.txt]\n  options: {labels: {l: m}}\nsecretGenerator:\n- name: s\n  literals: [a=one]\n  files: [b.bin]\n",
        &[("e.env", "# x\nE=two=2\n"), ("f.txt", "three\n")],
    );
    let at = |path: &[&str]| origin(&build, "ConfigMap", path);
    assert_eq!(at(&["data", "a"]), "one@kustomization.yaml");
    assert_eq!(at(&["data", "E"]), "two=2@e.env");
    assert_eq!(at(&["data", "f"]), "three\n@f.txt");
    assert_eq!(at(&["metadata", "name"]), format!("c@kustomization.yaml + (-{HASH})"));
    assert_eq!(at(&["metadata", "labels", "l"]), "m@kustomization.yaml");
    assert_eq!(origin(&build, "Secret", &["stringData", "a"]), "one@kustomization.yaml");
    let unread = About::Unread { what: "b.bin".into(), why: "there is no such file".into() };
    assert_eq!(build.notes.iter().map(|note| &note.about).collect::<Vec<_>>(), [&unread]);
}

#[test]
fn patches_bring_their_own_places() {
    let build = overlay(
        "resources: [pod.yaml]\npatches:\n- path: p.yaml\n- target: {kind: Pod}\n  patch: |-\n    - {op: add, path: /spec/host, value: inline}\n    - {op: copy, from: /spec/host, path: /spec/copy}\n    - {op: test, path: /metadata/name, value: web}\n",
        &[(
            "p.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: a, image: 'web:2'}]}\n",
        )],
    );
    let at = |path: &[&str]| origin(&build, "Pod", path);
    assert_eq!(at(&["spec", "containers", "0", "image"]), "web:2@p.yaml");
    assert_eq!(at(&["spec", "containers", "0", "name"]), "a@p.yaml");
    assert_eq!(at(&["spec", "host"]), "inline@kustomization.yaml");
    assert_eq!(at(&["spec", "copy"]), "inline@kustomization.yaml");
    let [guard] = build.guards.as_slice() else { panic!("{:?}", build.guards) };
    let texts = [&guard.guard, &guard.value].map(|scalar| format!("{scalar:?}"));
    assert!(
        texts[0].starts_with("[\"web\"@kustomization.yaml:") && texts[1].starts_with("[\"web\"@pod.yaml:"),
        "{texts:?}"
    );
}

#[test]
fn replacements_and_variables_have_names_of_their_own() {
    let build = overlay(
        "resources: [pod.yaml, c.yaml]\nreplacements:\n- source: {kind: ConfigMap, fieldPath: data.v, options: {delimiter: '-', index: 1}}\n  targets: [{select: {kind: Pod}, fieldPaths: ['spec.containers.0.image'], options: {delimiter: ':', index: 1}}]\n- sourceValue: fixed\n  targets: [{select: {kind: Pod}, fieldPaths: [spec.made], options: {create: true}}]\nvars:\n- {name: V, objref: {kind: ConfigMap, name: c, apiVersion: v1}, fieldref: {fieldPath: data.v}}\n",
        &[(
            "c.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, annotations: {a: 'is $(V)'}}\ndata: {v: edge-26.8.2}\n",
        )],
    );
    assert_eq!(
        origin(&build, "Pod", &["spec", "containers", "0", "image"]),
        "web@pod.yaml + (:) + 26.8.2@c.yaml by name + (:) + aa@pod.yaml"
    );
    assert_eq!(origin(&build, "Pod", &["spec", "made"]), "fixed@kustomization.yaml by name");
    assert_eq!(
        origin(&build, "ConfigMap", &["metadata", "annotations", "a"]),
        "is @c.yaml + edge-26.8.2@c.yaml by name"
    );
}

#[test]
fn a_replacement_reaches_into_a_text() {
    let build = overlay(
        "resources: [c.yaml]\nreplacements:\n- source: {kind: ConfigMap, fieldPath: data.v}\n  targets: [{select: {kind: ConfigMap}, fieldPaths: [data.text.proxy.version]}]\n",
        &[(
            "c.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  v: edge-26.8.2\n  text: |\n    proxy:\n      version: old # kept\n",
        )],
    );
    let text = origin(&build, "ConfigMap", &["data", "text"]);
    assert!(text.contains("version: @c.yaml + edge-26.8.2@c.yaml by name + "), "{text}");
    assert!(!text.contains("old"), "{text}");
}

#[test]
fn replicas_and_references_follow() {
    let build = overlay(
        "namePrefix: p-\nresources: [d.yaml, s.yaml]\nreplicas: [{name: web, count: 3}]\n",
        &[
            (
                "d.yaml",
                "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {serviceAccountName: sa}}}\n",
            ),
            ("s.yaml", "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: sa}\n"),
        ],
    );
    assert_eq!(origin(&build, "Deployment", &["spec", "replicas"]), "3@kustomization.yaml");
    assert_eq!(
        origin(&build, "Deployment", &["spec", "template", "spec", "serviceAccountName"]),
        "p-@kustomization.yaml + sa@s.yaml"
    );
}

#[test]
fn charts_stay_charts_with_their_layers_in_order() {
    let build = overlay(
        "helmGlobals: {chartHome: vendored}\nhelmCharts:\n- {name: linkerd-control-plane, repo: https://helm.linkerd.io/edge, version: 2026.8.2, releaseName: r, namespace: linkerd, valuesFile: v.yaml, valuesInline: {a: 1}, additionalValuesFiles: [w.yaml, none.yaml], includeCRDs: true}\n- {name: local, valuesInline: {b: 2}, valuesMerge: merge, valuesFile: v.yaml}\npatches:\n- patch: |-\n    apiVersion: apps/v1\n    kind: Deployment\n    metadata: {name: linkerd-destination, annotations: {config.linkerd.io/proxy-version: edge-26.8.2}}\nimages: [{name: cr.l5d.io/linkerd/proxy, newTag: edge-26.8.2}]\n",
        &[("v.yaml", "c: 3\n"), ("w.yaml", "d: 4\n"), ("vendored/local/Chart.yaml", "name: local\n")],
    );
    let [first, second] = build.charts.as_slice() else { panic!() };
    let layers = |chart: &ChartRelease| {
        chart.layers.iter().fold(String::new(), |mut all, layer| {
            match layer {
                Layer::Values(value) => all.push_str(&format!("{value:?} ")),
                Layer::Outside { who, .. } => write!(all, "<{who}>").unwrap(),
                _ => {}
            }
            all
        })
    };
    let found = layers(first);
    for text in [
        "{\"c\": [\"3\"@v.yaml:3]} {\"a\": [\"1\"@kustomization.yaml:",
        "{\"d\": [\"4\"@w.yaml:3]} <the values file none.yaml>",
    ] {
        assert!(found.contains(text), "{found}");
    }
    assert_eq!(first.version.as_ref().unwrap().text(), "2026.8.2");
    assert!(first.include_crds && matches!(&first.repository, Repository::Address(_)));
    assert!(layers(second).starts_with(r#"{"b""#) && second.chart.text() == "vendored/local");
    let strays: Vec<_> = build.strays.iter().map(|stray| format!("{:?}", stray.value)).collect();
    assert!(
        strays[0].contains("\"config.linkerd.io/proxy-version\": [\"edge-26.8.2\"@kustomization.yaml"),
        "{strays:?}"
    );
    assert!(strays[1].contains("\":\", \"edge-26.8.2\"@kustomization.yaml"), "{strays:?}");
    assert_eq!(build.notes, []);
}

#[test]
fn one_unreadable_resource_loses_no_other() {
    let build = overlay(
        "resources: [pod.yaml, broken.yaml, none.yaml, https://github.com/a/b//c?ref=v1, ../above, folder]\n",
        &[("broken.yaml", "a: ["), ("folder/x.txt", "")],
    );
    assert_eq!(build.objects.len(), 1);
    let abouts: Vec<_> = build.notes.iter().map(|note| &note.about).collect();
    assert!(matches!(abouts[0], About::Unread { what, .. } if what == "broken.yaml"));
    assert!(matches!(abouts[1], About::Unread { what, .. } if what == "none.yaml"));
    assert!(matches!(abouts[2], About::Remote(from) if from.starts_with("https://")));
    assert!(matches!(abouts[3], About::Unread { what, .. } if what == "../above"));
    assert!(matches!(abouts[4], About::Fails { what, .. } if what == "folder"));
}

#[test]
fn circles_chains_and_fans_end() {
    let own = overlay("resources: [., pod.yaml]\ncomponents: [.]\n", &[]);
    assert_eq!((own.objects.len(), own.notes.len()), (1, 1));
    assert_eq!(own.notes[0].about, About::Cycle(String::new()));

    let chain: Vec<(String, String)> = (0..1_000)
        .map(|n| (format!("l{n}/kustomization.yaml"), format!("resources: [../l{}]\nnamePrefix: a\n", n + 1)))
        .collect();
    let borrowed: Vec<(&str, &str)> =
        chain.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let found = build(&files(&borrowed), "l0");
    assert!(found.notes.iter().any(|note| matches!(note.about, About::Bound(Bound::Overlays(_)))));

    let fan: Vec<(String, String)> = (0..30)
        .map(|n| (format!("l{n}/kustomization.yaml"), format!("resources: [../l{0}, ../l{0}]\n", n + 1)))
        .collect();
    let borrowed: Vec<(&str, &str)> = fan.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let found = build(&files(&borrowed), "l0");
    assert!(found.notes.iter().any(|note| matches!(note.about, About::Bound(Bound::Kustomizations(_)))));
}

#[test]
fn what_grows_is_bounded() {
    let doubled = "- source: {kind: Pod, fieldPath: spec}\n  targets: [{select: {kind: Pod}, fieldPaths: [spec.x, spec.y], options: {create: true}}]\n".repeat(60);
    let found = overlay(&format!("resources: [pod.yaml]\nreplacements:\n{doubled}"), &[]);
    assert!(found.notes.iter().any(|note| matches!(&note.about, About::Fails { .. })));
    let text = "- source: {kind: Pod, fieldPath: spec.a}\n  targets: [{select: {kind: Pod}, fieldPaths: [spec.a], options: {delimiter: '|', index: 99}}]\n".repeat(60);
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {a: some text}\n";
    let found = build(
        &files(&[
            ("kustomization.yaml", &format!("resources: [p.yaml]\nreplacements:\n{text}")),
            ("p.yaml", pod),
        ]),
        "",
    );
    assert!(found.notes.iter().any(|note| matches!(&note.about, About::Fails { .. })));
    let deep = format!(
        "resources: [pod.yaml]\nreplacements:\n- sourceValue: x\n  targets: [{{select: {{kind: Pod}}, fieldPaths: [a{}], options: {{create: true}}}}]\n",
        ".a".repeat(100_000)
    );
    assert_eq!(overlay(&deep, &[]).notes.len(), 1);
    let object = |n: usize| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m{n}}}\n---\n");
    let many: String = (0..3_500).map(object).collect();
    let found = overlay("resources: [many.yaml]\n", &[("many.yaml", &many)]);
    assert!(found.notes.iter().any(|note| matches!(note.about, About::Bound(Bound::Looks(_)))));
}

#[test]
fn objects_are_kept_as_they_were_without_a_patch_so_often_and_no_more() {
    let object = |n: usize| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m{n}}}\ndata: {{v: 1.0.0}}\n---\n")
    };
    let many: String = (0..100).map(object).collect();
    let patch = |n: usize| {
        format!(
            "- target: {{kind: ConfigMap}}\n  patch: |\n    - {{op: replace, path: /data/v, value: 1.0.{n}}}\n"
        )
    };
    let of = |times: usize| {
        let patches: String = (1..=times).map(patch).collect();
        overlay(&format!("resources: [many.yaml]\npatches:\n{patches}"), &[("many.yaml", &many)])
    };
    let few = of(2);
    assert_eq!((few.unpatched.len(), few.notes.len()), (200, 0));
    let found = of(101);
    assert_eq!(found.unpatched.len(), 10_000);
    assert!(found.notes.iter().any(|note| note.about == About::Bound(Bound::Objects(10_000))));
}

#[test]
fn a_text_that_variables_lengthen_stays_as_it_is() {
    let of = |times: usize| {
        let text = "$(LONG)".repeat(times);
        let pod = format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: p, annotations: {{long: {}}}}}\nspec: {{containers: [{{name: c, args: ['a {text}']}}]}}\n",
            "x".repeat(10_000)
        );
        let kustomization = "resources: [p.yaml]\nvars:\n- name: LONG\n  objref: {apiVersion: v1, kind: Pod, name: p}\n  fieldref: {fieldPath: metadata.annotations.long}\n";
        let found = build(&files(&[("kustomization.yaml", kustomization), ("p.yaml", &pod)]), "");
        let containers = found.objects[0].value.path(&["spec"]).unwrap().list_at("containers").to_vec();
        containers[0].list_at("args")[0].as_scalar().unwrap().text().len()
    };
    assert_eq!((of(2), of(1_000)), (2 + 20_000, 2 + 7_000));
}

#[test]
fn definitions_that_refer_to_themselves_end() {
    let fields: String = (0..10).map(|n| format!("\"f{n}\": {{\"$ref\": \"x.A\"}}, ")).collect();
    let crds = format!(
        "{{\"x.A\": {{\"Schema\": {{\"properties\": {{{fields}\"kind\": {{}}, \"apiVersion\": {{}}, \"metadata\": {{}}}}}}}}}}"
    );
    let found = overlay("resources: [pod.yaml]\ncrds: [crds.json]\n", &[("crds.json", &crds)]);
    assert_eq!(found.objects.len(), 1);
    assert!(found.notes.iter().any(|note| matches!(note.about, About::Bound(Bound::Looks(_)))));
}

#[test]
fn odd_input_is_no_panic() {
    let texts = [
        "[]",
        "a",
        "null",
        "resources: pod.yaml",
        "resources: [[a], {b: c}, null]",
        "patches: [a, null, {}, {patch: 5}, {path: [x]}]",
        "patches: [{patch: '[]', target: {name: '('}}]",
        "images: [a, {name: '('}, {newTag: x}, {name: ''}]",
        "replacements: [a, {source: b}, {source: {}, targets: [x]}]",
        "configMapGenerator: [a, {name: 5, literals: ['=', 'x', 'a=', {}], envs: [none], files: ['a=b=c', '=x', 'x=']}]",
        "vars: [a, {}, {name: X}]",
        "namespace: {a: b}\nresources: [pod.yaml]",
        "namePrefix: [x]\nresources: [pod.yaml]",
        "transformers: [a, '{', 'kind: X', {}]\ngenerators: [5, 'a: b']",
        "helmCharts: [a, {}, {name: '../..'}]\nhelmGlobals: x",
        "replicas: [a, {name: web, count: x}]\nresources: [pod.yaml]",
        "labels: [a, {pairs: x}, {fields: [a], pairs: {a: b}}]\nresources: [pod.yaml]\ncommonLabels: x",
        "openapi: {path: pod.yaml}\nresources: [pod.yaml]\npatches: [{path: pod.yaml}]",
        "configurations: [pod.yaml, none]\ncrds: [pod.yaml]\nresources: [pod.yaml]",
        "components: [/, '', '..', pod.yaml]",
        "resources: ['', '/', '..', '../..', '.git/x']",
        "patches: [{target: {kind: Pod}, patch: '[{\"op\": \"add\", \"path\": \"\"}, {\"op\": \"move\", \"path\": \"/a\"}]'}]\nresources: [pod.yaml]",
        "resources: [pod.yaml]\nreplacements: [{source: {kind: Pod, fieldPath: '[=]..*.-'}, targets: [{select: {}, fieldPaths: ['[', ']', '[a', '', '.', '\\']}]}]",
    ];
    for text in texts {
        let found = overlay(text, &[]);
        assert!(found.objects.len() <= 1, "{text}");
    }
}

#[test]
fn a_folder_of_very_many_files_is_built_in_the_time_that_reading_them_takes() {
    let paths: Vec<String> = (0..3_000).map(|n| format!("{n}.yaml")).collect();
    let text = |n: usize| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{}}}\n", n % 2_999);
    let texts: Vec<String> = (0..paths.len()).map(text).collect();
    let kustomization = format!("resources: [{}]\n", paths.join(", "));
    let mut all: Vec<(&str, &str)> =
        paths.iter().map(String::as_str).zip(texts.iter().map(String::as_str)).collect();
    all.push(("kustomization.yaml", &kustomization));
    let tree = files(&all);
    let begin = std::time::Instant::now();
    paths.iter().for_each(|path| drop(tree.documents(path)));
    let read = begin.elapsed();
    let begin = std::time::Instant::now();
    let build = build(&tree, "");
    assert!(begin.elapsed() < read * 8, "reading took {read:?}, building {:?}", begin.elapsed());
    let twice = About::Twice("ConfigMap c0".to_owned());
    assert_eq!(build.notes.iter().map(|note| &note.about).collect::<Vec<_>>(), [&twice]);
}
