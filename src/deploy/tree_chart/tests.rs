//! Tests of charts of the tree without Helm; those with it stand in `tests/tree_charts.rs`.

use std::sync::Arc;

use super::*;
use crate::deploy::{chart::Repository, files::TreeFiles, testing::files};

const CHART: (&str, &str) = ("c/Chart.yaml", "apiVersion: v2\nname: c\nversion: 0.1.0\n");

fn evaluated(all: &[(&str, &str)]) -> Rendered {
    given(all, |release| release)
}

fn given(all: &[(&str, &str)], with: impl FnOnce(ChartRelease) -> ChartRelease) -> Rendered {
    let tree = files(&[&[CHART], all].concat());
    let path = RepoPath::new("c/Chart.yaml").unwrap();
    let release = with(ChartRelease::new(&path, Scalar::made("c"), Repository::Git(None)));
    Charts::new(None, &|name| name.starts_with("linkerd"), &|_, _| true).evaluate(&release, &tree).unwrap()
}

/// Shows each text of the objects under `v`, with its place.
fn versions_of(rendered: &Rendered) -> Vec<String> {
    let of = |object: &Object| object.value.scalar(&["v"]).map(|scalar| format!("{scalar:?}"));
    rendered.objects.iter().filter_map(of).collect()
}

#[test]
fn what_a_schema_refuses_is_told_of_each_chart_that_is_switched_on() {
    let schema = r#"{"properties": {"v": {"const": "2026.8.1"}}}"#;
    let own = |values: &'static str| [("c/values.yaml", values), ("c/values.schema.json", schema)];
    let inner = |values: &'static str| {
        let x = "apiVersion: v2\nname: x\nversion: 0.1.0\ndependencies: [{name: z, version: 0.1.0, condition: z.enabled}]\n";
        let z = "apiVersion: v2\nname: z\nversion: 0.1.0\n";
        let of_z = ("c/charts/x/charts/z/values.schema.json", schema);
        let own_of_z = ("c/charts/x/charts/z/values.yaml", "v: 2026.8.2\n");
        let charts = [("c/charts/x/Chart.yaml", x), ("c/charts/x/charts/z/Chart.yaml", z)];
        [&charts[..], &[("c/values.yaml", values), own_of_z, of_z]].concat()
    };
    let refused = |all: &[(&str, &str)], ignores_schema: bool| {
        let rendered = given(all, |release| ChartRelease { ignores_schema, ..release });
        let what = |note: &Note| match &note.about {
            About::Unmet { what, .. } => Some(what.clone()),
            _ => None,
        };
        rendered.notes.iter().filter_map(what).collect::<Vec<_>>()
    };
    assert_eq!(refused(&own("v: 2026.8.2\n"), false), ["c, value v"]);
    assert_eq!(refused(&own("v: 2026.8.2\n"), true), [""; 0]);
    assert_eq!(refused(&own("v: 2026.8.1\n"), false), [""; 0]);
    assert_eq!(refused(&inner("a: b\n"), false), ["c, value x.z.v"]);
    assert_eq!(refused(&inner("x: {z: {v: 2026.8.1}}\n"), false), [""; 0]);
    assert_eq!(refused(&inner("x: {z: {enabled: false}}\n"), false), [""; 0]);
}

#[test]
fn what_values_from_elsewhere_may_cover_is_not_refused_for_sure() {
    let schema = r#"{"properties": {"v": {"const": "2026.8.1"}}}"#;
    let [own, of_z] = ["c/values.schema.json", "c/charts/z/values.schema.json"].map(|path| (path, schema));
    let inner = [
        (
            "c/requirements.yaml",
            "dependencies: [{name: z, version: 0.1.0, condition: z.enabled, tags: [t]}]\n",
        ),
        ("c/charts/z/Chart.yaml", "apiVersion: v2\nname: z\nversion: 0.1.0\n"),
    ];
    let values = |text: &str| Layer::values(&files(&[("v.yaml", text)]).documents("v.yaml").unwrap()[0]);
    let outside = |target: Option<&str>| Layer::Outside {
        who: "Secret a".to_owned(),
        target: target.map(Scalar::made),
        optional: true,
        text: None,
    };
    let refused = |schema: (&str, &str), layers: &[Layer]| {
        let with = |release| ChartRelease { layers: layers.to_vec(), ..release };
        let rendered = given(&[&[schema], &inner[..]].concat(), with);
        let how = |note: &Note| match &note.about {
            About::Unmet { .. } => Some("refused"),
            About::Doubted { .. } => Some("perhaps"),
            _ => None,
        };
        rendered.notes.iter().filter_map(how).collect::<Vec<_>>().join(" ")
    };
    let v = values("v: 2026.8.2\n");
    assert_eq!(refused(own, &[v.clone(), outside(None)]), "perhaps");
    assert_eq!(refused(own, &[v.clone(), outside(Some("w"))]), "refused");
    assert_eq!(refused(own, &[v.clone(), outside(Some("v"))]), "");
    assert_eq!(refused(own, &[outside(None), v]), "refused");
    let [off, on, z] =
        ["tags: {t: false}\n", "z: {enabled: true}\ntags: {t: true}\n", "z: {v: 2026.8.2}\n"].map(values);
    assert_eq!(refused(of_z, std::slice::from_ref(&z)), "refused");
    assert_eq!(refused(of_z, &[off, z.clone()]), "");
    assert_eq!(refused(of_z, &[outside(None), z.clone()]), "perhaps", "it may be off");
    assert_eq!(refused(of_z, &[outside(None), z.clone(), on.clone()]), "refused");
    assert_eq!(refused(of_z, &[on, z, outside(Some("z.enabled"))]), "perhaps", "it may be off");
}

#[test]
fn what_is_put_by_in_a_chart_is_no_part_of_it() {
    let versions = |folder: &str| {
        let [chart, template] =
            ["Chart.yaml", "templates/a.yaml"].map(|file| format!("c/charts/{folder}/{file}"));
        versions_of(&evaluated(&[
            ("c/templates/a.yaml", "kind: A\n"),
            (&chart, "apiVersion: v2\nname: old\nversion: 0.1.0\n"),
            (&template, "kind: A\nv: 2026.8.2\n"),
        ]))
    };
    assert_eq!(versions("old").len(), 1);
    for folder in ["_old", ".old"] {
        assert_eq!(versions(folder), [""; 0], "{folder}");
    }
}

#[test]
fn schemas_of_too_many_steps_are_told() {
    let schema = r##"{"allOf": [{"$ref": "#"}, {"$ref": "#"}]}"##;
    let notes = evaluated(&[("c/values.schema.json", schema)]).notes;
    assert!(matches!(notes[..], [Note { about: About::Bound(Bound::Steps(_)), .. }]), "{notes:?}");
}

#[test]
fn plain_forms_are_followed_to_where_they_were_written() {
    let rendered = evaluated(&[
        (
            "c/templates/_h.tpl",
            "{{- define \"x\" }}\nkind: A\nv: {{ .v | default \"2026.7.3\" | quote }}\n{{- end }}\n",
        ),
        ("c/values.yaml", "v: 2026.8.1\nextra: \"v: {{ .Values.v }}\"\n"),
        (
            "c/templates/a.yaml",
            "{{- include \"x\" (dict \"v\" .Values.v) }}\n---\n{{- include \"x\" (dict \"v\" .Values.none) }}\n---\n\
             kind: B\n{{ tpl .Values.extra . }}\n---\nkind: C\nv: {{ lookup \"v1\" \"Secret\" \"a\" \"b\" }}\n---\nkind: D\nv: edge-{{ .Values.v | trimPrefix \"20\" }}\n",
        ),
    ]);
    let found = versions_of(&rendered);
    assert_eq!(
        found,
        [
            "[\"2026.8.1\"@c/values.yaml:3]",
            "[\"2026.7.3\"@c/templates/_h.tpl:46]",
            "[\"2026.8.1\"@c/values.yaml:3]",
            "[<the template expression `lookup \"v1\" \"Secret\" \"a\" \"b\"`>]",
            "[\"edge-\"@c/templates/a.yaml:190, \"26.8.1\"@c/values.yaml:5]",
        ]
    );
    assert!(
        rendered
            .notes
            .iter()
            .any(|note| matches!(&note.about, About::Expression(text) if text.starts_with("lookup")))
    );
    assert!(!rendered.followed.iter().any(|path| path.name() == "a.yaml"));
}

#[test]
fn a_null_of_files_in_the_place_of_the_own_values_is_none() {
    let tree = [
        ("c/Chart.yaml", "name: c\nversion: 0.1.0\ndependencies:\n- {name: s}\n"),
        ("c/charts/s/Chart.yaml", "name: s\n"),
        ("c/charts/s/values.yaml", "v: 2026.8.1\n"),
        ("c/charts/s/templates/a.yaml", "kind: A\nv: {{ .Values.v }}\n"),
    ];
    let values = |text: &str| Layer::text(&Scalar::made(text), &files(&[]), "values");
    let layers = || vec![values("s: {v: 2026.8.2}\n"), values("s: {v: null}\n")];
    let of = |replacing| {
        versions_of(&given(&tree, |release| ChartRelease { layers: layers(), replacing, ..release }))
            .join(" ")
    };
    assert_eq!(of(2), "[\"2026.8.1\"@c/charts/s/values.yaml:3]");
    // What whoever deploys the chart takes away is gone in the charts inside too.
    assert!(!of(1).contains("2026"), "{}", of(1));
}

#[test]
fn charts_in_charts_have_their_values_and_libraries_give_nothing() {
    let rendered = evaluated(&[
        (
            "c/Chart.yaml",
            "name: c\nversion: 0.1.0\ndependencies:\n- {name: sub, alias: s, condition: s.on}\n- {name: lib, repository: 'file://../lib'}\n- {name: linkerd-crds, repository: 'https://helm.linkerd.io/edge'}\n- {name: gone, repository: 'https://example.com'}\n",
        ),
        ("c/values.yaml", "global: {g: 2026.8.3}\ns: {v: 2026.8.2}\n"),
        ("c/charts/sub/Chart.yaml", "name: sub\n"),
        ("c/charts/sub/values.yaml", "v: 2026.8.1\nw: 2026.8.0\n"),
        (
            "c/charts/sub/templates/a.yaml",
            "kind: A\nv: {{ .Values.v }}-{{ .Values.w }}-{{ .Values.global.g }}\n",
        ),
        ("lib/Chart.yaml", "name: lib\ntype: library\n"),
        ("lib/templates/a.yaml", "kind: L\nv: 2026.1.1\n"),
    ]);
    let found = versions_of(&rendered).join(" ");
    assert!(
        found.contains("2026.8.2\"@c/values.yaml") && found.contains("2026.8.0\"@c/charts/sub/values.yaml"),
        "{found}"
    );
    assert!(found.contains("2026.8.3\"@c/values.yaml") && !found.contains("2026.1.1"), "{found}");
    let remote: Vec<_> = rendered.notes.iter().filter(|n| matches!(&n.about, About::Remote(_))).collect();
    assert_eq!(remote.len(), 1, "{remote:?}");
}

#[test]
fn a_chart_of_the_first_version_says_elsewhere_what_it_depends_on() {
    let rendered = evaluated(&[
        ("c/Chart.yaml", "apiVersion: v1\nname: c\nversion: 0.1.0\n"),
        (
            "c/requirements.yaml",
            "dependencies:\n- {name: sub, version: 0.1.0, repository: 'file://../sub'}\n",
        ),
        ("c/values.yaml", "sub: {v: 2026.8.2}\n"),
        ("sub/Chart.yaml", "name: sub\n"),
        ("sub/templates/a.yaml", "kind: A\nv: {{ .Values.v }}\n"),
    ]);
    assert_eq!(versions_of(&rendered), ["[\"2026.8.2\"@c/values.yaml:9]"]);
}

#[test]
fn charts_that_conditions_or_tags_switch_off_give_nothing() {
    let chart = "name: c\ndependencies:\n- {name: a, condition: 'x.on,a.enabled'}\n- {name: b, tags: [mesh]}\n- {name: d, tags: [mesh, other]}\n";
    let rendered = evaluated(&[
        ("c/Chart.yaml", chart),
        ("c/values.yaml", "a: {enabled: false}\ntags: {mesh: false, other: true}\n"),
        ("c/charts/a/Chart.yaml", "name: a\n"),
        ("c/charts/a/templates/a.yaml", "kind: A\nv: 2026.8.0\n"),
        ("c/charts/b/Chart.yaml", "name: b\n"),
        ("c/charts/b/templates/a.yaml", "kind: A\nv: 2026.8.1\n"),
        ("c/charts/d/Chart.yaml", "name: d\ndependencies:\n- {name: e, tags: [mesh]}\n"),
        ("c/charts/d/templates/a.yaml", "kind: A\nv: 2026.8.2\n"),
        ("c/charts/d/charts/e/Chart.yaml", "name: e\n"),
        ("c/charts/d/charts/e/templates/a.yaml", "kind: A\nv: 2026.8.3\n"),
    ]);
    assert_eq!(versions_of(&rendered), ["[\"2026.8.2\"@c/charts/d/templates/a.yaml:11]"]);
}

#[test]
fn what_loops_or_grows_ends_and_the_rest_is_found() {
    let rendered = evaluated(&[
        ("c/values.yaml", "v: 2026.8.2\nself: '{{ tpl .Values.self . }}'\n"),
        ("c/templates/a.yaml", "{{ define \"a\" }}{{ include \"a\" . }}{{ end }}{{ include \"a\" . }}\n"),
        ("c/templates/b.yaml", "{{ range 1000000 }}{{ range 1000000 }}x{{ end }}{{ end }}\n"),
        ("c/templates/c.yaml", "kind: C\nv: {{ .Values.v }}\n"),
        ("c/templates/d.yaml", "{{ tpl .Values.t . }}{{ if }}\n"),
        ("c/templates/e.yaml", "{{ tpl .Values.self . }}\n"),
    ]);
    assert_eq!(versions_of(&rendered), ["[\"2026.8.2\"@c/values.yaml:3]"]);
    let bounds = rendered.notes.iter().filter(|n| matches!(n.about, About::Bound(_))).count();
    assert_eq!((bounds, rendered.followed.len()), (3, 1), "{:?}", rendered.notes);
}

#[test]
fn a_cycle_of_charts_and_a_chart_without_end_are_named() {
    let big = "x".repeat(9 << 20);
    for (path, text) in [("c/charts/c/Chart.yaml", ""), ("c/templates/big.yaml", &*big)] {
        let chart = "name: c\ndependencies:\n- {name: d, repository: 'file://../d'}\n";
        let other = "name: d\ndependencies:\n- {name: c, repository: 'file://../c'}\n";
        let rendered = evaluated(&[("c/Chart.yaml", chart), ("d/Chart.yaml", other), (path, text)]);
        assert!(rendered.objects.is_empty() && rendered.notes.len() == 1, "{path}: {:?}", rendered.notes);
    }
}

/// What a Helm would answer, and how often it was asked.
#[derive(Debug)]
struct Stub {
    answer: fn(usize) -> Result<Arc<str>, HelmError>,
    asked: AtomicUsize,
}

// === impl Stub ===

impl Stub {
    fn new(answer: fn(usize) -> Result<Arc<str>, HelmError>) -> Self {
        Self { answer, asked: AtomicUsize::new(0) }
    }

    /// Evaluates a chart so many times; returns what came of it, and how often Helm was asked.
    fn evaluates(&self, tree: &TreeFiles<'_>, times: usize) -> (Vec<Rendered>, usize) {
        let path = RepoPath::new("c/Chart.yaml").unwrap();
        let release = ChartRelease::new(&path, Scalar::made("c"), Repository::Git(None));
        let charts = Charts::new(Some(self), &|_| false, &|_, _| true);
        let all = (0..times).map(|_| charts.evaluate(&release, tree).unwrap()).collect();
        (all, self.asked.load(Ordering::Relaxed))
    }
}

impl Evaluate for Stub {
    fn evaluate(&self, _: &str, _: &[helm::File], _: &Template) -> Result<Arc<str>, HelmError> {
        (self.answer)(self.asked.fetch_add(1, Ordering::Relaxed))
    }
}

#[test]
fn templates_beside_the_templates_were_given_to_helm_too() {
    let tree = files(&[CHART, TEMPLATE, ("c/apps/a.tpl", "v: {{ .Values.v }}\n"), ("c/apps/a.txt", "v\n")]);
    let (all, _) = Stub::new(|_| Ok("".into())).evaluates(&tree, 1);
    let followed: Vec<&str> = all[0].followed.iter().map(RepoPath::as_str).collect();
    assert_eq!(followed, ["c/apps/a.tpl", "c/templates/a.yaml"]);
}

/// Helm refuses a chart without those that it depends on.
#[test]
fn a_chart_that_is_not_here_stands_as_an_empty_one() {
    let depends =
        "apiVersion: v2\nname: c\nversion: 0.1.0\ndependencies:\n- {name: linkerd-crds}\n- {name: other}\n";
    let tree = files(&[("c/Chart.yaml", depends)]);
    let path = RepoPath::new("c/Chart.yaml").unwrap();
    let package = Package::read(&tree, &path, &|name| name.starts_with("linkerd")).unwrap();
    let places: Vec<&str> = package.files.iter().map(|file| file.place.as_str()).collect();
    assert_eq!(places, ["Chart.yaml", "charts/linkerd-crds/Chart.yaml", "charts/other/Chart.yaml"]);
    assert_eq!(package.notes.len(), 1, "that of what is not Linkerd's alone");
}

const TEMPLATE: (&str, &str) = ("c/templates/a.yaml", "kind: A\nv: {{ .Values.v }}\n");

#[test]
fn a_chart_that_goes_over_a_limit_is_named_with_it_and_followed_without_helm() {
    let tree = files(&[CHART, TEMPLATE, ("c/values.yaml", "v: 2026.8.2\n")]);
    let about = |why: &str| About::Over { what: "c".to_owned(), why: why.to_owned() };
    let over = Stub::new(|_| Err(HelmError::Ceiling("printed more than 9 bytes".to_owned())));
    let (all, _) = over.evaluates(&tree, 1);
    assert_eq!(versions_of(&all[0]), ["[\"2026.8.2\"@c/values.yaml:3]"]);
    assert_eq!(all[0].notes, [Note::new(&all[0].notes[0].path, about("helm printed more than 9 bytes"))]);
    // One that goes over it once its versions are changed is no chart of too many renders.
    let late = Stub::new(|n| match n {
        0 => Ok("---\n# Source: c/templates/a.yaml\nkind: A\nv: 2026.8.2\n".into()),
        _ => Err(HelmError::Late("took longer than 1 s".to_owned())),
    });
    let (all, asked) = late.evaluates(&tree, 1);
    assert_eq!(asked, 2);
    let notes: Vec<&About> = all[0].notes.iter().map(|note| &note.about).collect();
    assert!(notes.contains(&&about("helm took longer than 1 s")), "{notes:?}");
    assert!(!notes.contains(&&About::Bound(Bound::Steps(RENDERS))), "{notes:?}");
}

#[test]
fn a_chart_that_never_prints_the_same_is_rendered_so_often_and_no_more() {
    let values: String = (0..200).map(|n| format!("v{n}: 2026.8.2\n")).collect();
    let tree = files(&[CHART, TEMPLATE, ("c/values.yaml", &values)]);
    let other = Stub::new(|n| {
        let more = if n == 0 { "" } else { "more: true\n" };
        Ok(format!("---\n# Source: c/templates/a.yaml\nkind: A\n{more}").into())
    });
    let (all, asked) = other.evaluates(&tree, 1);
    assert_eq!(asked, 1 + RENDERS);
    assert!(all[0].notes.iter().any(|note| note.about == About::Bound(Bound::Steps(RENDERS))));
}

#[test]
fn so_many_charts_are_evaluated_and_no_more() {
    let tree = files(&[CHART, TEMPLATE]);
    let silent = Stub::new(|_| Ok("".into()));
    let (_, once) = silent.evaluates(&tree, 1);
    let silent = Stub::new(|_| Ok("".into()));
    let (all, asked) = silent.evaluates(&tree, EVALUATIONS + 5);
    assert_eq!(asked, once * EVALUATIONS);
    let last: Vec<&About> = all[EVALUATIONS].notes.iter().map(|note| &note.about).collect();
    assert_eq!(last, [&About::Bound(Bound::Objects(EVALUATIONS))]);
}

#[test]
fn a_chart_has_so_many_files_and_bytes_and_no_schema() {
    let read = |tree: &TreeFiles<'_>| {
        Package::read(tree, &RepoPath::new("c/Chart.yaml").unwrap(), &|_| false)
            .map(|package| package.files.len())
    };
    // A schema can name an address, which Helm would ask.
    let schema = ("c/values.schema.json", "{\"$ref\": \"http://127.0.0.1:9/x.json\"}");
    assert_eq!(read(&files(&[CHART, TEMPLATE, schema])).ok(), Some(2));
    let half = "x".repeat(5 << 20);
    let large = files(&[CHART, ("c/templates/a.yaml", &half), ("c/templates/b.yaml", &half)]);
    assert!(matches!(read(&large), Err(Note { about: About::Bound(Bound::Bytes(_)), .. })));
    let schema = format!("{{}}{}", " ".repeat(5 << 20));
    let large = files(&[CHART, ("c/templates/a.yaml", &half), ("c/values.schema.json", &schema)]);
    assert!(matches!(read(&large), Err(Note { about: About::Bound(Bound::Bytes(_)), .. })));
    let names: Vec<String> = (0..2_500).map(|n| format!("c/templates/{n}.yaml")).collect();
    let mut many: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "kind: A\n")).collect();
    many.push(CHART);
    assert!(matches!(read(&files(&many)), Err(Note { about: About::Bound(Bound::Objects(2_000)), .. })));
}
