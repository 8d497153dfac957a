//! What an Application deploys: charts with their values, folders, kustomizations.

use super::{super::environment::Environment, *};
use crate::{deploy::testing::MemoryTree, yaml::Ceilings};

fn application_of(spec: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: crds, namespace: argocd}}\nspec:\n  project: mesh\n  destination: {{namespace: linkerd}}\n{spec}"
    )
}

fn deployed(spec: &str, more: &[(&str, &str)]) -> Build {
    let text = application_of(spec);
    let mut all = more.to_vec();
    all.push(("app.yaml", &text));
    let tree = files(&all);
    application(&objects(&tree, "app.yaml")[0], &Cluster::default(), &tree)
}

fn values(release: &ChartRelease) -> String {
    shown(&release.values().value)
}

#[test]
fn a_chart_of_a_repository_is_read_in_helms_order() {
    let found = deployed(
        "  source:\n    chart: linkerd-crds\n    repoURL: https://charts.example.com\n    targetRevision: 2026.8.2\n    helm:\n      releaseName: r\n      kubeVersion: '1.31'\n      skipCrds: true\n      valueFiles: [values-ha.yaml]\n      values: |\n        a: 1\n        b: {c: 1, d: 2}\n      parameters:\n      - {name: b.c, value: 'x,$ARGOCD_APP_NAME'}\n      - {name: n, value: '1'}\n      - {name: s, value: '1', forceString: true}\n      - {name: l, value: '{p,q}'}\n",
        &[],
    );
    let release = &found.charts[0];
    assert_eq!(
        (release.chart.text(), release.version.as_ref().unwrap().text()),
        ("linkerd-crds".into(), "2026.8.2".into())
    );
    assert_eq!(
        (release.release.text(), release.namespace.as_ref().unwrap().text()),
        ("r".into(), "linkerd".into())
    );
    assert!(
        matches!(&release.repository, Repository::Address(url) if url.text() == "https://charts.example.com")
    );
    assert!(
        matches!(&release.layers[0], Layer::InChart { file, optional: false } if file.text() == "values-ha.yaml")
    );
    assert!(!release.include_crds);
    assert_eq!(values(release), "{a:1 b:{c:x,crds d:2} l:[p q] n:1 s:1}");
    let value = release.values().value;
    assert_eq!(typed(value.scalar(&["s"]).unwrap()), crate::deploy::typed::Typed::Text("1".to_owned()));
    let via = |keys: &[&str]| match &value.scalar(keys).unwrap().parts()[0] {
        Part::Written(origin) => origin.via,
        other => panic!("{other:?}"),
    };
    assert_eq!((via(&["a"]), via(&["n"])), (Some(Via::Values), Some(Via::Parameter)));
    let oci = deployed(
        "  source: {repoURL: 'oci://cr.example.com/charts/linkerd-crds', targetRevision: 2026.8.2, path: .}\n",
        &[],
    );
    assert_eq!(oci.charts[0].chart.text(), "linkerd-crds");
}

#[test]
fn values_come_from_files_of_the_tree() {
    let found = deployed(
        "  sources:\n  - {repoURL: g, ref: values}\n  - chart: linkerd-crds\n    repoURL: https://charts.example.com\n    targetRevision: 2026.8.2\n    helm:\n      ignoreMissingValueFiles: true\n      valueFiles: ['$values/env/b.yaml', '$values/env/*.yaml', '$values/none.yaml', '$ARGOCD_APP_NAME.yaml']\n      valuesObject: {o: 1}\n      values: 'o: 2'\n      fileParameters: [{name: f, path: $values/env/raw.txt}]\n",
        &[
            ("env/a.yaml", "v: a\nw: a\n"),
            ("env/b.yaml", "v: b\n"),
            ("env/c.yaml", "w: c\n"),
            ("env/raw.txt", "x,y={z}"),
        ],
    );
    assert_eq!(found.charts.len(), 1);
    let release = &found.charts[0];
    assert_eq!(release.part, "sources[1]");
    assert_eq!(values(release), "{f:x,y={z} o:1 v:a w:c}");
    assert!(matches!(&release.layers[3], Layer::InChart { file, .. } if file.text() == "crds.yaml"));
}

#[test]
fn a_path_with_an_unknown_part_is_each_file_that_fits() {
    let set = of(
        "clusters: {}",
        "{destination: {}, sources: [{ref: values, repoURL: g}, {chart: c, repoURL: r, targetRevision: '1', helm: {valueFiles: ['$values/sites/{{ .name }}/v.yaml']}}]}",
        true,
    );
    let tree = files(&[
        ("set.yaml", &set),
        ("sites/a/v.yaml", "v: 1\n"),
        ("sites/b/v.yaml", "v: 2\n"),
        ("sites/b/x/v.yaml", "v: 3\n"),
    ]);
    let made = application_set(&objects(&tree, "set.yaml")[0], &Cluster::default(), &tree);
    let found = application(&made.objects[0], &Cluster::default(), &tree);
    assert_eq!(found.charts.iter().map(values).collect::<Vec<_>>(), ["{v:1}", "{v:2}"]);
    assert!(matches!(&found.notes[0].about, About::Condition(_)));
}

#[test]
fn a_path_with_an_unknown_part_stands_for_so_many_files_and_no_more() {
    let set = of(
        "clusters: {}",
        "{destination: {}, sources: [{ref: values, repoURL: g}, {chart: c, repoURL: r, targetRevision: '1', helm: {valueFiles: ['$values/sites/{{ .name }}/v.yaml']}}]}",
        true,
    );
    let sites: Vec<String> = (0..1_500).map(|n| format!("sites/{n}/v.yaml")).collect();
    let mut all: Vec<(&str, &str)> = sites.iter().map(|path| (path.as_str(), "v: 1\n")).collect();
    all.push(("set.yaml", &set));
    let tree = files(&all);
    let made = application_set(&objects(&tree, "set.yaml")[0], &Cluster::default(), &tree);
    let found = application(&made.objects[0], &Cluster::default(), &tree);
    assert_eq!(found.charts.len(), 1_000);
    assert!(found.notes.iter().any(|note| note.about == About::Bound(Bound::Objects(1_000))));
}

#[test]
fn a_folder_is_a_chart_or_a_directory() {
    let tree = [
        ("charts/x/Chart.yaml", "name: x\n"),
        ("charts/x/values.yaml", "a: 1\n"),
        ("charts/x/ha.yaml", "ha: 1\n"),
        (
            "charts/x/.argocd-source-crds.yaml",
            "helm:\n  parameters:\n  - {name: image.tag, value: edge-26.8.2}\n",
        ),
        ("plain/a.yaml", "kind: A\nmetadata: {name: a}\n---\nkind: List\nitems: [{kind: B}]\n"),
        ("plain/sub/c.yaml", "kind: C\n"),
        ("plain/skip.yaml", "# +argocd:skip-file-rendering\nkind: S\n"),
        ("plain/d.txt", "kind: D\n"),
    ];
    let chart = deployed(
        "  source: {repoURL: g, path: ./charts/x, helm: {valueFiles: [ha.yaml, /charts/x/none.yaml]}}\n",
        &tree,
    );
    assert_eq!(values(&chart.charts[0]), "{ha:1 image:{tag:edge-26.8.2}}");
    assert!(
        matches!(&chart.charts[0].layers[1], Layer::Outside { who, .. } if who == "charts/x/none.yaml, which is not in this repository")
    );
    let kinds = |spec: &str| {
        let found = deployed(&format!("  source: {{repoURL: g, path: plain{spec}}}\n"), &tree);
        found.objects.iter().map(|o| o.kind().into_owned()).collect::<Vec<_>>().join("")
    };
    assert_eq!(kinds(""), "AB");
    assert_eq!(kinds(", directory: {recurse: true}"), "ABC");
    assert_eq!(kinds(", directory: {recurse: true, include: '{sub/*,x}'}"), "C");
    assert_eq!(kinds(", directory: {recurse: true, exclude: '*.yaml'}"), "");
    let none = deployed("  source: {repoURL: 'https://e.com/g', path: elsewhere}\n", &tree);
    assert!(none.objects.is_empty() && none.notes.len() == 1);
}

#[test]
fn a_link_in_a_directory_is_the_file_that_it_leads_to() {
    let text = application_of("  source: {repoURL: g, path: plain}\n");
    let files = [("app.yaml", text.as_str()), ("plain/a.yaml", "kind: A\n"), ("shop/ns.txt", "kind: N\n")];
    let links =
        [("plain/gone.yaml", "none.yaml"), ("plain/l.yaml", "../shop/ns.txt"), ("plain/sub.yaml", "../shop")];
    let tree = MemoryTree::of(&[files, links].concat());
    let tree = links.iter().fold(tree, |tree, (path, _)| tree.with_link(path));
    let files = TreeFiles::new(&tree, Ceilings::default());
    let found = application(&objects(&files, "app.yaml")[0], &Cluster::default(), &files);
    let places: Vec<_> = found.objects.iter().map(|o| (o.file.as_str(), o.kind().into_owned())).collect();
    assert_eq!(places, [("plain/a.yaml", "A".to_owned()), ("shop/ns.txt", "N".to_owned())]);
    assert_eq!(found.notes, []);
}

// Source: Go's os.Expand, and `Envsubst` of Argo CD's Env.
#[test]
fn the_build_environment_is_filled_as_go_expands() {
    let application = Value::map([("metadata", Value::map([("name", Value::made("viz"))]))]);
    let environment = Environment::new(&application, &Value::empty());
    for (text, expected) in [
        ("$ARGOCD_APP_NAME-${ARGOCD_APP_NAME}x-$$A", "viz-vizx-$A"),
        ("$none.$1x$-${}$", ".x$"),
        ("a$ b", "a$ b"),
        ("${open", "open"),
        ("é$é", "é$é"),
    ] {
        assert_eq!(environment.fill(&Scalar::made(text)).text(), expected, "{text}");
    }
    assert!(environment.fill(&Scalar::made("$ARGOCD_APP_REVISION_SHORT")).unknown_to().is_some());
}

#[test]
fn tags_are_replaced_as_fasttemplate_replaces_them() {
    let (cases, parameters) = crate::deploy::oracle::cases("fast");
    let element = element::Element::known(parameters);
    let mut language = fill::Language::of(&Value::empty());
    crate::deploy::oracle::compare("fast", &cases, &mut |case| {
        // Argo CD looks only at texts that have both signs on one line.
        let both = |line: &str| line.split_once("{{").is_some_and(|(_, behind)| behind.contains("}}"));
        let looked_at = case.text.split('\n').any(both);
        let filled = language.text(&Scalar::made(&case.text), &element, 0);
        match (looked_at, filled) {
            (true, filled) => filled.ok().map(|filled| filled.text().into_owned()),
            (false, Ok(same)) if same.text() == case.text => case.out.clone(),
            (false, other) => panic!("{other:?}"),
        }
    });
}

#[test]
fn a_kustomization_is_built_with_the_applications_options() {
    let tree = [
        (
            "k/kustomization.yaml",
            "resources: [d.yaml]\nimages: [{name: cr.l5d.io/linkerd/proxy, newTag: edge-26.1.1}]\n",
        ),
        (
            "k/d.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {replicas: 1, template: {spec: {containers: [{name: c, image: 'cr.l5d.io/linkerd/proxy:x'}, {name: e, image: 'b:1'}]}}}\n",
        ),
    ];
    let found = deployed(
        "  source:\n    repoURL: g\n    path: k\n    kustomize:\n      namePrefix: p-\n      namespace: mesh\n      images: ['cr.l5d.io/linkerd/proxy:edge-26.8.2', 'b=c:2']\n      replicas: [{name: d, count: 3}]\n      commonAnnotations: {a: '${ARGOCD_APP_NAME}'}\n      commonAnnotationsEnvsubst: true\n      patches:\n      - target: {kind: Deployment}\n        patch: |\n          - {op: add, path: /metadata/labels, value: {version: 2026.8.2}}\n",
        &tree,
    );
    assert_eq!(found.notes, []);
    let value = &found.objects[0].value;
    assert_eq!(value.text(&["metadata", "name"]).unwrap(), "p-d");
    assert_eq!(value.text(&["metadata", "namespace"]).unwrap(), "mesh");
    assert_eq!(value.text(&["metadata", "annotations", "a"]).unwrap(), "crds");
    assert_eq!(value.text(&["spec", "replicas"]).unwrap(), "3");
    let pod = value.path(&["spec", "template", "spec"]).unwrap();
    let image = pod.list_at("containers")[0].scalar(&["image"]).unwrap();
    assert_eq!(image.text(), "cr.l5d.io/linkerd/proxy:edge-26.8.2");
    assert!(image.parts().iter().any(|p| matches!(p, Part::Written(o) if o.source.path.as_str() == "app.yaml" && o.text().ends_with("edge-26.8.2"))));
    assert_eq!(pod.list_at("containers")[1].text(&["image"]).unwrap(), "c:2");
    assert_eq!(value.text(&["metadata", "labels", "version"]).unwrap(), "2026.8.2");
    assert_eq!(found.objects[0].by.as_ref().unwrap().as_str(), "app.yaml");
}

#[test]
fn what_a_plugin_is_told_is_handed_on() {
    let found = deployed(
        "  source:\n    repoURL: https://git.example.com/a.git\n    path: .\n    plugin:\n      env: [{name: V, value: 2026.8.2}]\n      \
         parameters: [{name: p, map: {v: edge-26.8.2}}]\n",
        &[],
    );
    let texts = found.told.iter().flat_map(Value::scalars).map(|s| s.text().into_owned());
    let told: std::collections::BTreeSet<String> = texts.collect();
    assert_eq!(told.into_iter().collect::<Vec<_>>(), ["2026.8.2", "V", "edge-26.8.2", "p"]);
}

#[test]
fn objects_are_in_the_namespace_that_the_application_gives_them() {
    let all = "kind: Deployment\napiVersion: apps/v1\nmetadata: {name: a}\n---\nkind: Deployment\napiVersion: apps/v1\n\
               metadata: {name: b, namespace: own}\n---\nkind: Namespace\napiVersion: v1\nmetadata: {name: c}\n";
    let found =
        deployed("  source: {repoURL: 'https://git.example.com/a.git', path: d}\n", &[("d/all.yaml", all)]);
    let namespaces: Vec<_> = found
        .objects
        .iter()
        .map(|o| o.namespace().map(|n| n.text().into_owned()).unwrap_or_default())
        .collect();
    assert_eq!(namespaces, ["linkerd", "own", ""]);
}
