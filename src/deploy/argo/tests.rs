//! What an ApplicationSet makes; Applications by themselves are in `application`.

mod application;

use super::*;
use crate::deploy::{
    Build,
    chart::{ChartRelease, Layer, Repository},
    cluster::Cluster,
    files::{Files, TreeFiles},
    note::{About, Bound, Note},
    object::Object,
    testing::files,
    typed::typed,
    value::{Part, Scalar, Value, Via},
};

fn objects(files: &TreeFiles<'_>, path: &str) -> Vec<Object> {
    let documents = files.documents(path).unwrap();
    let path = files.matching(path)[0].path.clone();
    documents.iter().flat_map(|document| Object::all(document, &path)).collect()
}

fn shown(value: &Value) -> String {
    match value {
        Value::Scalar(s) => s.text().replace('\u{f8f0}', "?"),
        Value::List(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(" ")),
        Value::Map(map) => {
            let mut all: Vec<_> = map.iter().map(|(k, v)| format!("{k}:{}", shown(v))).collect();
            all.sort();
            format!("{{{}}}", all.join(" "))
        }
    }
}

/// The Applications of `set.yaml`, each as its name and spec.
fn made(tree: &[(&str, &str)]) -> (Vec<String>, Vec<About>) {
    let (objects, notes) = made_objects(tree);
    let line = |o: &Object| {
        let name = o.name().map(|n| shown(&Value::Scalar(n.clone()))).unwrap_or_default();
        format!("{name} {}", shown(o.value.get("spec").unwrap()))
    };
    (objects.iter().map(line).collect(), notes.into_iter().map(|n| n.about).collect())
}

fn made_objects(tree: &[(&str, &str)]) -> (Vec<Object>, Vec<Note>) {
    let tree = files(tree);
    let set = objects(&tree, "set.yaml");
    let secrets = if tree.has("secrets.yaml") { objects(&tree, "secrets.yaml") } else { Vec::new() };
    let cluster = Cluster::new(&secrets);
    let Build { objects, notes, .. } = application_set(&set[0], &cluster, &tree);
    (objects, notes)
}

fn set(spec: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {{name: mesh, namespace: argocd}}\nspec:\n{spec}"
    )
}

/// A set of one generator with a template of its own.
fn of(generator: &str, template: &str, go: bool) -> String {
    let head = if go { "  goTemplate: true\n  goTemplateOptions: [missingkey=error]\n" } else { "" };
    set(&format!(
        "{head}  generators:\n  - {generator}\n  template: {{metadata: {{name: \"{}\"}}, spec: {template}}}\n",
        if go { "{{ .name }}" } else { "{{name}}" }
    ))
}

// Sources of the following tests: the files and tests of applicationset/ in argo-cd.
#[test]
fn a_list_fills_the_template_in_both_languages() {
    let flat = of(
        "list: {elements: [{name: a, version: 2026.8.2, values: {env: dev}}, {name: b, version: 2026.8.1, values: {env: prod}}]}",
        "{v: 'x-{{ version }}', e: '{{values.env}}', gone: '{{gone}}', plain: '{{ {{version}}'}",
        false,
    );
    assert_eq!(
        made(&[("set.yaml", &flat)]).0,
        [
            "a {e:dev gone:{{gone}} plain:{{ {{version}} v:x-2026.8.2}",
            "b {e:prod gone:{{gone}} plain:{{ {{version}} v:x-2026.8.1}"
        ]
    );
    let go = of(
        "list: {elements: [{name: a, version: 2026.8.2, port: 8080, values: {env: dev}}]}",
        "{v: 'x-{{ .version }}', e: '{{ if eq .values.env \"dev\" }}1.0.0{{ else }}{{ .version }}{{ end }}', p: '{{ .port }}'}",
        true,
    );
    assert_eq!(made(&[("set.yaml", &go)]).0, ["a {e:1.0.0 p:8080 v:x-2026.8.2}"]);
    let strict = of("list: {elements: [{name: a}, {name: b, v: 1}]}", "{v: '{{ .v }}'}", true);
    let (applications, notes) = made(&[("set.yaml", &strict)]);
    assert_eq!(applications, ["b {v:1}"]);
    assert!(matches!(&notes[..], [About::Refused(why)] if why.contains("no entry for key")));
    let number = of("list: {elements: [{name: a, v: 1}]}", "{v: '{{v}}'}", false);
    assert_eq!(made(&[("set.yaml", &number)]).0, ["a {v:1}"], "though Argo CD wants texts");
    let list = of("list: {elements: [{name: a, v: [1]}]}", "{v: '{{v}}'}", false);
    assert!(matches!(&made(&[("set.yaml", &list)]).1[..], [About::Refused(_)]));
}

#[test]
fn elements_know_where_they_were_written() {
    let text = of(
        "list: {elements: [{name: a, version: 2026.8.2}]}",
        "{v: 'r-{{ .version | trimPrefix \"20\" }}'}",
        true,
    );
    let (made, _) = made_objects(&[("set.yaml", &text)]);
    let scalar = made[0].value.scalar(&["spec", "v"]).unwrap();
    let places: Vec<_> = scalar
        .parts()
        .iter()
        .map(|p| match p {
            Part::Written(o) => (o.text(), o.span.start, o.via),
            other => panic!("{other:?}"),
        })
        .collect();
    let at = |needle: &str| text.find(needle).unwrap();
    assert_eq!(places, [("r-", at("r-{{"), None), ("26.8.2", at("26.8.2"), Some(Via::Generator))]);
    let text = of("list: {elementsYaml: '[{name: a, version: 2026.8.2}]'}", "{v: '{{ .version }}'}", true);
    let (made, _) = made_objects(&[("set.yaml", &text)]);
    let Part::Written(origin) = &made[0].value.scalar(&["spec", "v"]).unwrap().parts()[0] else { panic!() };
    assert_eq!((origin.text(), origin.span.start), ("2026.8.2", text.find("2026.8.2").unwrap()));
}

const FILES: &[(&str, &str)] = &[
    (
        "clusters/a/config.json",
        "{\"name\": \"a\", \"mesh\": {\"version\": \"2026.8.2\", \"tags\": [\"x\", \"y\"]}}",
    ),
    ("clusters/b/config.yaml", "name: b\nmesh: {version: 2026.8.1, ratio: 26.10}\n"),
    (
        "clusters/c/config.yaml",
        "- {name: c1, mesh: {version: 1.0.0}}\n- {name: c2, mesh: {version: 1.0.1}}\n",
    ),
    ("clusters/.hidden/x/config.yaml", "name: h\nmesh: {version: 0}\n"),
    ("other/readme.md", "x"),
];

fn with_files(set: &str) -> (Vec<String>, Vec<About>) {
    let mut all = FILES.to_vec();
    all.push(("set.yaml", set));
    made(&all)
}

#[test]
fn git_files_are_read_with_their_paths() {
    let flat = of(
        "git: {repoURL: u, files: [{path: clusters/**/config.*}, {path: clusters/.hidden, exclude: true}, {path: 'clusters/c*', exclude: true}], values: {full: 'v-{{mesh.version}}'}}",
        "{v: '{{mesh.version}}', t: '{{mesh.tags.1}}', r: '{{mesh.ratio}}', p: '{{path}}', f: '{{path.filename}}', s: '{{path[1]}}', n: '{{path.basenameNormalized}}', full: '{{values.full}}'}",
        false,
    );
    assert_eq!(
        with_files(&flat).0,
        [
            "h {f:config.yaml full:v-0 n:x p:clusters/.hidden/x r:{{mesh.ratio}} s:.hidden t:{{mesh.tags.1}} v:0}",
            "a {f:config.json full:v-2026.8.2 n:a p:clusters/a r:{{mesh.ratio}} s:a t:y v:2026.8.2}",
            "b {f:config.yaml full:v-2026.8.1 n:b p:clusters/b r:26.1 s:b t:{{mesh.tags.1}} v:2026.8.1}"
        ]
    );
    let go = of(
        "git: {repoURL: u, pathParamPrefix: at, files: [{path: clusters/c}], values: {full: 'v-{{ .mesh.version }}'}}",
        "{v: '{{ .mesh.version }}', p: '{{ .at.path.path }}', s: '{{ index .at.path.segments 1 }}', full: '{{ .values.full }}'}",
        true,
    );
    assert_eq!(
        with_files(&go).0,
        ["c1 {full:v-1.0.0 p:clusters/c s:c v:1.0.0}", "c2 {full:v-1.0.1 p:clusters/c s:c v:1.0.1}"]
    );
}

#[test]
fn git_folders_are_those_that_are_not_hidden() {
    let text = set(
        "  generators:\n  - git: {repoURL: u, directories: [{path: 'clusters/*'}, {path: 'other'}, {path: 'clusters/b', exclude: true}]}\n  template: {metadata: {name: '{{path.basename}}'}, spec: {p: '{{path}}'}}\n",
    );
    assert_eq!(with_files(&text).0, ["a {p:clusters/a}", "c {p:clusters/c}", "other {p:other}"]);
    let none = set(
        "  goTemplate: true\n  generators:\n  - git: {repoURL: 'https://e.com/x', directories: [{path: 'none/*'}]}\n  template: {metadata: {name: 'n-{{ .path.basename }}'}, spec: {p: '{{ .path.path }}'}}\n",
    );
    assert_eq!(with_files(&none).0, ["n-? {p:?}"]);
}

#[test]
fn a_matrix_has_every_pair_and_its_second_reads_the_first() {
    let list = "list: {elements: [{name: a, dir: clusters/a}, {name: b, dir: clusters/b}]}";
    let flat = of(
        &format!(
            "matrix: {{generators: [{{{list}}}, {{list: {{elements: [{{v: '1', of: '{{{{name}}}}'}}, {{v: '2', of: '{{{{name}}}}'}}]}}}}]}}"
        ),
        "{v: '{{v}}', of: '{{of}}'}",
        false,
    );
    assert_eq!(
        made(&[("set.yaml", &flat)]).0,
        ["a {of:a v:1}", "a {of:a v:2}", "b {of:b v:1}", "b {of:b v:2}"]
    );
    let go = of(
        &format!(
            "matrix: {{generators: [{{{list}}}, {{git: {{repoURL: u, files: [{{path: '{{{{ .dir }}}}/config.*'}}], values: {{a: '{{{{ .mesh.version }}}}', b: '{{{{ .name }}}}'}}}}}}]}}"
        ),
        "{v: '{{ .mesh.version }}', a: '{{ .values.a }}', b: '{{ .values.b }}'}",
        true,
    );
    assert_eq!(with_files(&go).0, ["a {a:2026.8.2 b:a v:2026.8.2}", "b {a:2026.8.1 b:b v:2026.8.1}"]);
    let three = of(&format!("matrix: {{generators: [{{{list}}}, {{{list}}}, {{{list}}}]}}"), "{}", false);
    assert!(matches!(&made(&[("set.yaml", &three)]).1[..], [About::Refused(_)]));
    let clash = of(
        &format!("matrix: {{generators: [{{{list}}}, {{list: {{elements: [{{name: z}}]}}}}]}}"),
        "{}",
        false,
    );
    assert!(matches!(&made(&[("set.yaml", &clash)]).1[..], [About::Refused(_)]));
}

#[test]
fn a_merge_overrides_by_its_keys() {
    let base = "list: {elements: [{name: a, v: '1', deep: {x: '1', y: '2'}}, {name: b, v: '2'}]}";
    let over = "list: {elements: [{name: b, v: '3'}, {name: a, v: '', deep: {x: '9'}}, {name: z, v: '4'}]}";
    let go = of(
        &format!("merge: {{mergeKeys: [name], generators: [{{{base}}}, {{{over}}}]}}"),
        "{v: '{{ .v }}', d: '{{ default \"\" .deep }}'}",
        true,
    )
    .replace("  goTemplateOptions: [missingkey=error]\n", "");
    assert_eq!(made(&[("set.yaml", &go)]).0, ["a {d:map[x:9 y:2] v:1}", "b {d: v:3}"]);
    let twice = of(
        &format!(
            "merge: {{mergeKeys: [v], generators: [{{{base}}}, {{list: {{elements: [{{v: '1'}}, {{v: '1'}}]}}}}]}}"
        ),
        "{}",
        true,
    );
    assert!(matches!(&made(&[("set.yaml", &twice)]).1[..], [About::Refused(_)]));
}

#[test]
fn a_merge_keeps_what_a_cluster_may_have_that_nobody_overrides() {
    let of = |generators: &str| {
        let set = of(
            &format!("merge: {{mergeKeys: [server], generators: [{generators}]}}"),
            "{v: '{{values.v}}'}",
            false,
        );
        made(&[("set.yaml", &set)]).0
    };
    let clusters = |version: &str, env: &str| {
        let selector = match env {
            "" => String::new(),
            env => format!("selector: {{matchLabels: {{env: {env}}}}}, "),
        };
        format!("{{clusters: {{{selector}values: {{v: '{version}'}}}}}}")
    };
    let list = |servers: &[&str], version: &str| {
        let one = |server: &&str| format!("{{server: '{server}', name: n, values: {{v: '{version}'}}}}");
        let all: Vec<String> = servers.iter().map(one).collect();
        format!("{{list: {{elements: [{}]}}}}", all.join(", "))
    };
    let all = clusters("1", "");
    assert_eq!(of(&[all.clone(), clusters("2", "prod")].join(", ")), ["? {v:1}", "? {v:2}"]);
    // A cluster has one value of a label, so that nobody has what both say.
    let three = [all.clone(), clusters("2", "dev"), clusters("3", "prod")].join(", ");
    assert_eq!(of(&three), ["? {v:1}", "? {v:2}", "? {v:3}"]);
    assert_eq!(of(&[all.clone(), list(&["a", "b"], "2")].join(", ")), ["? {v:1}", "n {v:2}", "n {v:2}"]);
    assert_eq!(of(&[list(&["a"], "1"), clusters("2", "")].join(", ")), ["n {v:1}", "n {v:2}"]);
    assert_eq!(of(&[list(&["a", "b"], "1"), list(&["b", "c"], "2")].join(", ")), ["n {v:1}", "n {v:2}"]);
}

#[test]
fn clusters_are_known_by_the_metadata_of_their_secrets() {
    let secret = |name: &str, env: &str| {
        format!(
            "---\napiVersion: v1\nkind: Secret\nmetadata: {{name: {name}, labels: {{argocd.argoproj.io/secret-type: cluster, env: {env}, linkerd: 2026.8.2}}}}\nstringData: {{name: {name}}}\n"
        )
    };
    let secrets = secret("one", "dev") + &secret("two", "prod");
    let go = of(
        "clusters: {selector: {matchExpressions: [{key: env, operator: In, values: [prod]}]}, values: {v: 'v{{ .metadata.labels.linkerd }}'}}",
        "{v: '{{ .metadata.labels.linkerd }}', e: '{{ .values.v }}', s: '{{ .server }}'}",
        true,
    );
    assert_eq!(
        made(&[("set.yaml", &go), ("secrets.yaml", &secrets)]).0,
        ["two {e:v2026.8.2 s:? v:2026.8.2}"]
    );
    let known = of("clusters: {}", "{n: '{{nameNormalized}}', v: '{{metadata.labels.linkerd}}'}", false);
    let of_east = secret("East_1.a", "dev").replace("metadata: {name: East_1.a", "metadata: {name: east");
    assert_eq!(
        made(&[("set.yaml", &known), ("secrets.yaml", &of_east)]).0,
        ["East_1.a {n:east-1.a v:2026.8.2}", "in-cluster {n:in-cluster v:?}"]
    );
    // SOPS leaves in plain text what its rule does not name.
    let sealed = secret("east", "dev").replace("{name: east}", "{name: East, server: 'ENC[x]'}");
    let named = of("clusters: {}", "{n: '{{nameNormalized}}', s: '{{server}}'}", false);
    assert_eq!(
        made(&[("set.yaml", &named), ("secrets.yaml", &(sealed + "sops: {mac: x}\n"))]).0,
        ["East {n:east s:?}", "in-cluster {n:in-cluster s:https://kubernetes.default.svc}"]
    );
    // Argo CD's own cluster is one of them, unless a Secret describes it.
    let flat = of("clusters: {}", "{v: '{{metadata.labels.linkerd}}'}", false);
    let with_own = |own: &str| made(&[("set.yaml", &flat), ("secrets.yaml", &(secrets.clone() + own))]).0;
    assert_eq!(with_own(""), ["one {v:2026.8.2}", "two {v:2026.8.2}", "in-cluster {v:?}"]);
    let own =
        secret("hub", "dev").replace("{name: hub}", "{name: hub, server: 'https://kubernetes.default.svc'}");
    assert_eq!(with_own(&own), ["hub {v:2026.8.2}", "one {v:2026.8.2}", "two {v:2026.8.2}"]);
    // What no Secret here fits is of a cluster elsewhere.
    let staging = "{clusters: {selector: {matchLabels: {env: staging}}, values: {v: '2'}}}";
    let merge = format!(
        "merge: {{mergeKeys: [server], generators: [{{clusters: {{values: {{v: '1'}}}}}}, {staging}]}}"
    );
    let merge = of(&merge, "{v: '{{values.v}}'}", false);
    let found = made(&[("set.yaml", &merge), ("secrets.yaml", &(secrets.clone() + &own))]).0;
    assert_eq!(found, ["hub {v:1}", "one {v:1}", "two {v:1}", "? {v:2}"]);
    assert_eq!(made(&[("set.yaml", &flat)]).0, ["? {v:?}"]);
    let other = of("pullRequest: {github: {}}", "{v: '{{number}}', w: x}", false);
    assert_eq!(made(&[("set.yaml", &other)]).0, ["? {v:? w:x}"]);
}

#[test]
fn a_selector_chooses_by_parameters() {
    let text = set(
        "  generators:\n  - list: {elements: [{name: a, values: {e: x}}, {name: b, values: {e: z}}, {name: c, values: {}}]}\n    selector: {matchExpressions: [{key: values.e, operator: NotIn, values: [x]}], matchLabels: {name: b}}\n  template: {metadata: {name: '{{name}}'}, spec: {}}\n",
    );
    assert_eq!(made(&[("set.yaml", &text)]).0, ["b {}"]);
}

#[test]
fn a_generators_own_template_counts_first() {
    let text = set(
        "  generators:\n  - list: {elements: [{name: a}], template: {metadata: {}, spec: {project: own, source: {targetRevision: '1', helm: {valuesObject: {a: 1}}}}}}\n  - list: {elements: [{name: b}]}\n  template: {metadata: {name: '{{name}}'}, spec: {project: all, source: {chart: c, targetRevision: '2', helm: {valuesObject: {b: 2}}}}}\n",
    );
    assert_eq!(
        made(&[("set.yaml", &text)]).0,
        [
            "a {project:own source:{chart:c helm:{valuesObject:{a:1}} targetRevision:1}}",
            "b {project:all source:{chart:c helm:{valuesObject:{b:2}} targetRevision:2}}"
        ]
    );
}

#[test]
fn a_template_patch_is_laid_over_the_application() {
    let text = set(
        "  goTemplate: true\n  generators:\n  - list: {elements: [{name: a, version: 2026.8.2, files: [x.yaml, y.yaml]}, {name: b, files: []}]}\n  template: {metadata: {name: '{{ .name }}'}, spec: {project: p, source: {chart: c, targetRevision: '1', helm: {releaseName: r}}, syncPolicy: {automated: {}}}}\n  templatePatch: |\n    spec:\n      project: stolen\n      syncPolicy: null\n      source:\n        {{- if .version }}\n        targetRevision: {{ .version | quote }}\n        {{- end }}\n        helm:\n          valueFiles:\n          {{- range .files }}\n          - {{ . }}\n          {{- end }}\n",
    );
    assert_eq!(
        made(&[("set.yaml", &text)]).0,
        [
            "a {project:p source:{chart:c helm:{releaseName:r valueFiles:[x.yaml y.yaml]} targetRevision:2026.8.2}}",
            "b {project:p source:{chart:c helm:{releaseName:r} targetRevision:1}}"
        ]
    );
}

#[test]
fn what_the_tree_does_not_decide_makes_an_application_for_each_outcome() {
    let text = set(
        "  goTemplate: true\n  generators:\n  - clusters: {}\n  template: {metadata: {name: 'n'}, spec: {v: '{{ if eq .metadata.labels.env \"prod\" }}2026.8.2{{ else }}2026.8.3{{ end }}'}}\n  templatePatch: |\n    {{- if .metadata.labels.extra }}\n    spec: {extra: 2026.8.1}\n    {{- end }}\n",
    );
    let (applications, notes) = made(&[("set.yaml", &text)]);
    assert_eq!(applications, ["n {extra:2026.8.1 v:2026.8.2}", "n {v:2026.8.3}"]);
    assert!(notes.iter().any(|n| matches!(n, About::Condition(c) if c.starts_with("if eq"))));
}

#[test]
fn what_is_too_much_is_bounded_and_each_element_is_still_there() {
    let elements =
        |n: usize, key: &str| (0..n).map(|i| format!("{{{key}: v{i}}}")).collect::<Vec<_>>().join(", ");
    let text = of(
        &format!(
            "matrix: {{generators: [{{list: {{elements: [{}]}}}}, {{list: {{elements: [{}]}}}}]}}",
            elements(5_000, "name"),
            elements(300, "cluster")
        ),
        "{c: '{{ .cluster }}'}",
        true,
    );
    let (applications, notes) = made(&[("set.yaml", &text)]);
    assert_eq!(notes, [About::Bound(Bound::Elements(ELEMENTS))]);
    assert_eq!(applications.len(), 5_299);
    assert!(
        applications.iter().any(|a| a.contains("c:v299"))
            && applications.iter().any(|a| a.starts_with("v4999 "))
    );
    let nested = (0..6).fold("list: {elements: [{name: a}]}".to_owned(), |inner, _| {
        format!("matrix: {{generators: [{{{inner}}}, {{list: {{elements: [{{x: y}}]}}}}]}}")
    });
    let (applications, notes) = made(&[("set.yaml", &of(&nested, "{}", true))]);
    assert_eq!((applications.len(), &notes[..]), (0, &[About::Bound(Bound::Depth(3))][..]));
}

#[test]
fn elements_and_applications_are_so_many_and_no_more() {
    let elements = |n: usize| (0..n).map(|i| format!("{{name: v{i}}}")).collect::<Vec<_>>().join(", ");
    let list = format!("list: {{elements: [{}]}}", elements(ELEMENTS + 500));
    let (applications, notes) = made(&[("set.yaml", &of(&list, "{}", true))]);
    assert_eq!((applications.len(), notes), (ELEMENTS, vec![About::Bound(Bound::Elements(ELEMENTS))]));
    let lists = format!("  - list: {{elements: [{}]}}\n", elements(8_000)).repeat(3);
    let three = set(&format!(
        "  generators:\n{lists}  template: {{metadata: {{name: '{{{{name}}}}'}}, spec: {{}}}}\n"
    ));
    let (applications, notes) = made(&[("set.yaml", &three)]);
    assert_eq!((applications.len(), notes), (20_000, vec![About::Bound(Bound::Objects(20_000))]));
}

#[test]
fn templates_of_many_elements_print_so_much_and_no_more() {
    let elements: Vec<String> = (0..300).map(|i| format!("{{name: v{i}}}")).collect();
    let list = format!("list: {{elements: [{}]}}", elements.join(", "));
    let long = format!("{{v: '{}{{{{ .name }}}}'}}", "x".repeat(1 << 20));
    let (applications, notes) = made(&[("set.yaml", &of(&list, &long, true))]);
    assert!(applications.len() < 100, "{}", applications.len());
    assert!(notes.iter().any(|about| matches!(about, About::Bound(Bound::Bytes(_)))), "{notes:?}");
}

#[test]
fn a_text_that_parameters_lengthen_stays_short() {
    let list = format!("list: {{elements: [{{name: a, long: '{}'}}]}}", "x".repeat(1 << 20));
    let (applications, notes) =
        made(&[("set.yaml", &of(&list, &format!("{{v: '{}'}}", "{{long}}".repeat(10)), false))]);
    assert!(applications.iter().all(|application| application.len() < 4 << 20));
    assert!(notes.iter().any(|about| matches!(about, About::Bound(Bound::Bytes(_)))), "{notes:?}");
}
