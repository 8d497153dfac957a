//! What is asked of a renderer for uses that differ, and what is made of its answers.

use std::{cell::RefCell, sync::Mutex};

use super::*;
use crate::{
    helm::{Layer, Setting, SettingKind},
    pins::{Installed, Parameter, ParameterKind, ValuesPart},
    release::{Chart as Indexed, Release},
    render::StandIn,
};

/// Prints one ConfigMap that says the chart, the values and the settings, and notes what it was asked.
#[derive(Default)]
struct Fake {
    asked: Mutex<Vec<Job>>,
    files: BTreeMap<String, Arc<str>>,
    no_helm: bool,
    fails: Option<&'static str>,
}

impl Renderer for Fake {
    fn helm(&self) -> Result<String, RenderError> {
        match self.no_helm {
            true => {
                Err(RenderError::NoHelm { reason: "there is no `helm` on PATH".to_owned(), hint: "get one" })
            }
            false => Ok("v3.18.0".to_owned()),
        }
    }

    fn identity(&self) -> Option<String> {
        (!self.no_helm).then(String::new)
    }

    fn chart(&self, id: &ChartId) -> Result<Arc<Chart>, RenderError> {
        let digest = String::new();
        let mut files = self.files.clone();
        files.entry("Chart.yaml".to_owned()).or_insert_with(|| "kubeVersion: '>=1.31.0-0'\n".into());
        Ok(Arc::new(Chart { id: id.clone(), digest, files }))
    }

    fn render(&self, jobs: &[Job]) -> Vec<Result<Arc<str>, RenderError>> {
        self.asked.lock().unwrap().extend(jobs.iter().cloned());
        let print = |job: &Job| match self.fails.filter(|v| *v == job.chart.version) {
            Some(_) => {
                Err(RenderError::Helm { chart: job.chart.clone(), reason: "a value is missing".to_owned() })
            }
            None => Ok(format!(
                "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata: {{v: {}}}\n",
                job.chart.version
            )
            .into()),
        };
        jobs.iter().map(print).collect()
    }
}

fn path(text: &str) -> RepoPath {
    RepoPath::new(text).unwrap()
}

fn one(chart: &str, version: &str, values: &[ValuesPart]) -> ChartUse {
    ChartUse {
        path: path("a/release.yaml"),
        line: 3,
        part: String::new(),
        by: BTreeSet::new(),
        sources: BTreeSet::new(),
        chart: chart.to_owned(),
        version: version.to_owned(),
        release: chart.to_owned(),
        namespace: None,
        values: values.to_vec(),
        parameters: Vec::new(),
        kube_version: None,
        api_versions: Vec::new(),
        include_crds: false,
        hooks: true,
        notes: Vec::new(),
        installed: [Installed::Helm].into(),
    }
}

fn text(text: &str) -> ValuesPart {
    ValuesPart::Text { text: text.into(), path: path("a/values.yaml") }
}

fn outside(target: Option<&str>) -> ValuesPart {
    let (what, target) = ("Secret linkerd/certs".to_owned(), target.map(str::to_owned));
    ValuesPart::Outside { what, target, optional: false }
}

fn catalog() -> Catalog {
    let mut catalog = Catalog::default();
    for (edge, version) in [("edge-26.8.2", "2026.8.2"), ("edge-26.8.3", "2026.8.3")] {
        let mut release = Release::new(edge.parse().unwrap());
        let (version_text, url) = (version.to_owned(), String::new());
        let chart = Indexed { version: version_text, url, digest: None, kube_version: None };
        release.charts.insert("linkerd-viz".to_owned(), chart);
        catalog.releases.insert(release.version, release);
    }
    catalog
}

fn render(before: &[ChartUse], after: &[ChartUse], fake: &Fake) -> Renderings {
    render_uses(before, after, &|_| true, &catalog(), None, fake)
}

#[test]
fn only_what_differs_is_rendered_and_equal_pairs_once() {
    let fake = Fake::default();
    let viz = |version: &str, release: &str, at: &str| ChartUse {
        path: path(at),
        release: release.to_owned(),
        ..one("linkerd-viz", version, &[text("a: 1\n")])
    };
    let before =
        [viz("2026.8.2", "v", "a.yaml"), viz("2026.8.2", "v", "b.yaml"), viz("2026.8.2", "v", "c.yaml")];
    let mut moved = viz("2026.8.2", "v", "c.yaml");
    moved.line = 9;
    moved.notes.push("Said differently.".to_owned());
    let after = [viz("2026.8.3", "v", "a.yaml"), viz("2026.8.3", "v", "b.yaml"), moved];
    let renderings = render(&before, &after, &fake);
    let done: Vec<String> =
        renderings.done.iter().map(|r| format!("{} {} -> {}", r.path, r.from, r.to.version)).collect();
    assert_eq!(done, ["a.yaml linkerd-viz 2026.8.2 -> 2026.8.3", "b.yaml linkerd-viz 2026.8.2 -> 2026.8.3"]);
    let asked = fake.asked.lock().unwrap();
    assert_eq!(asked.len(), 2);
    assert!(asked.iter().all(|job| job.template.kube_version.as_deref() == Some("1.31.0")
        && job.template.namespace == "linkerd-viz"));
    assert_eq!(renderings.helm.as_deref(), Some("v3.18.0"));
    assert!(Arc::ptr_eq(&renderings.done[0].before, &renderings.done[1].before));
    assert_eq!(renderings.done[0].values_after, serde_json::json!({"a": 1}));
}

#[test]
fn files_of_another_target_are_left_out() {
    let (before, after) = ([one("linkerd-viz", "2026.8.2", &[])], [one("linkerd-viz", "2026.8.3", &[])]);
    let asked = RefCell::new(Vec::new());
    let covers = |path: &RepoPath| {
        asked.borrow_mut().push(path.to_string());
        false
    };
    let renderings = render_uses(&before, &after, &covers, &catalog(), None, &Fake::default());
    assert!(renderings.done.is_empty() && renderings.missing.is_empty() && renderings.helm.is_none());
    assert_eq!(*asked.borrow(), ["a/release.yaml"]);
}

#[test]
fn values_from_outside_get_one_text_where_the_chart_takes_one() {
    let defaults =
        "proxy: {cores: 1}\nidentity: {issuer: {scheme: linkerd.io/tls, tls: {crtPEM: '', keyPEM: ''}}}\n";
    let files = BTreeMap::from([("values.yaml".to_owned(), defaults.into())]);
    let fake = Fake { files, ..Fake::default() };
    let values = [
        outside(Some("identityTrustAnchorsPEM")),
        outside(Some("proxy.cores")),
        outside(None),
        text("x: null\n"),
    ];
    let cp = |version: &str| one("linkerd-control-plane", version, &values);
    let renderings = render(&[cp("2026.8.2")], &[cp("2026.8.3")], &fake);
    let done = &renderings.done[0];
    assert_eq!(
        shown(&done.stand_ins),
        [
            "identityTrustAnchorsPEM (Secret linkerd/certs)",
            "any value (Secret linkerd/certs)",
            "identity.issuer.tls.crtPEM (not in this repository)",
            "identity.issuer.tls.keyPEM (not in this repository)",
        ]
    );
    assert_eq!(done.notes.len(), 2, "{:?}", done.notes);
    assert!(done.notes[1].starts_with("For Kubernetes 1.31.0, the oldest"), "{:?}", done.notes);
    let asked = fake.asked.lock().unwrap();
    assert_eq!(asked[0].template.values, asked[1].template.values);
    assert!(asked[0].template.values.contains(&Layer("x: null\n".into())));
    drop(asked);
    let given = "identityTrustAnchorsPEM: A\nidentity: {issuer: {scheme: kubernetes.io/tls}}\n";
    let cp = |version: &str| one("linkerd-control-plane", version, &[text(given)]);
    assert!(render(&[cp("2026.8.2")], &[cp("2026.8.3")], &fake).done[0].stand_ins.is_empty());
}

#[test]
fn parameters_are_settings_behind_all_values() {
    let fake = Fake::default();
    let parameter =
        |name: &str, value: &str, kind| Parameter { name: name.to_owned(), value: value.to_owned(), kind };
    let viz = |version: &str| ChartUse {
        parameters: vec![
            parameter("a.b", "x\\,y", ParameterKind::Looks),
            parameter("n", "3", ParameterKind::Text),
            parameter("f", "a,b", ParameterKind::Literal),
        ],
        ..one("linkerd-viz", version, &[text("a: {b: 1, c: 2}\n"), outside(Some("l[0].m"))])
    };
    let renderings = render(&[viz("2026.8.2")], &[viz("2026.8.3")], &fake);
    let setting =
        |name: &str, value: &str, kind| Setting { name: name.to_owned(), value: value.to_owned(), kind };
    assert_eq!(
        fake.asked.lock().unwrap()[0].template.settings,
        [
            setting("l[0].m", "uplinker-stand-in", SettingKind::Text),
            setting("a.b", "x\\,y", SettingKind::Typed),
            setting("n", "3", SettingKind::Text),
            setting("f", "a,b", SettingKind::File),
        ]
    );
    let values = serde_json::json!({
        "a": {"b": "x,y", "c": 2}, "l": [{"m": "uplinker-stand-in"}], "n": "3", "f": "a,b"
    });
    assert_eq!(renderings.done[0].values_after, values);
    assert_eq!(shown(&renderings.done[0].stand_ins), ["l[0].m (Secret linkerd/certs)"]);
}

fn shown(stand_ins: &[StandIn]) -> Vec<String> {
    stand_ins.iter().map(StandIn::to_string).collect()
}

#[test]
fn what_clusters_had_alike_may_differ_between_them() {
    let by = |version: &str, who: &[&str]| ChartUse {
        by: who.iter().map(|who| path(who)).collect(),
        sources: [path("a.yaml")].into(),
        ..one("linkerd-viz", version, &[])
    };
    let shown = |before: &[ChartUse], after: &[ChartUse]| -> Vec<String> {
        let done = render(before, after, &Fake::default()).done;
        done.iter().map(|r| format!("{} -> {} {}", r.from.version, r.to.version, r.notes.join(" "))).collect()
    };
    let (old, new) = ("2026.8.2", "2026.8.3");
    let both = [by(old, &["a.yaml", "b.yaml"])];
    let moved = [by(new, &["a.yaml"]), by(old, &["b.yaml"])];
    let found = shown(&both, &moved);
    assert_eq!(found.len(), 1);
    assert!(
        found[0].starts_with("2026.8.2 -> 2026.8.3") && found[0].contains("As a.yaml has it."),
        "{found:?}"
    );
    let found = shown(&moved, &[by(new, &["a.yaml", "b.yaml"])]);
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("As a.yaml and one other have it."), "{found:?}");
    assert!(shown(&both, &[by(new, &["c.yaml"])]).is_empty());
}

#[test]
fn what_cannot_be_rendered_is_named_and_the_rest_goes_on() {
    let fake = Fake { fails: Some("2026.8.3"), ..Fake::default() };
    let inside = ValuesPart::InChart { file: "values-ha.yaml".to_owned(), optional: false };
    let before = [
        one("linkerd-viz", "2026.8.2", &[]),
        one("linkerd-crds", "2026.8.2", std::slice::from_ref(&inside)),
        one("linkerd2-cni", "2026.8.1", &[]),
        one("linkerd-multicluster", ">=1.0.0 <2.0.0", &[text("a: 1\n")]),
    ];
    let after = [
        one("linkerd-viz", "2026.8.3", &[]),
        one("linkerd-crds", "2026.8.2", &[inside, text("a: 1\n")]),
        one("linkerd2-cni", "2026.8.2", &[]),
        one("linkerd-multicluster", ">=1.0.0 <2.0.0", &[text("a: 2\n")]),
    ];
    let renderings = render(&before, &after, &fake);
    assert_eq!(renderings.done.len(), 1);
    let mut told: Vec<String> =
        renderings.missing.iter().map(|m| format!("{}: {}", m.chart, m.cause)).collect();
    told.sort();
    assert_eq!(
        told,
        [
            "linkerd-crds: the chart linkerd-crds 2026.8.2 has no values file values-ha.yaml",
            "linkerd-multicluster: `>=1.0.0 <2.0.0` does not say which version of linkerd-multicluster is rendered",
            "linkerd-viz: linkerd-viz 2026.8.3: helm: a value is missing",
        ]
    );
    let none = render(&before, &after, &Fake { no_helm: true, ..Fake::default() });
    assert_eq!((none.done.len(), none.missing.len()), (0, 4));
    assert!(none.missing[0].cause.to_string().contains("no `helm`"));
}

#[test]
fn a_range_means_the_newest_chart_in_it() {
    let fake = Fake::default();
    let viz = |values: &str| one("linkerd-viz", ">=2026.1.0 <2027.0.0", &[text(values)]);
    let renderings = render(&[viz("a: 1\n")], &[viz("a: 2\n")], &fake);
    assert_eq!(renderings.done[0].from.version, "2026.8.3");
}

#[test]
fn a_fleet_is_rendered_once_where_the_chart_does_not_read_its_name() {
    let asked = |template: &str, value: &str| {
        let files = BTreeMap::from([("templates/a.yaml".to_owned(), template.into())]);
        let fake = Fake { files, ..Fake::default() };
        let viz = |version: &str, release: &str| ChartUse {
            release: release.to_owned(),
            ..one("linkerd-viz", version, &[text(value)])
        };
        let before = [viz("2026.8.2", "a"), viz("2026.8.2", "b")];
        let after = [viz("2026.8.3", "a"), viz("2026.8.3", "b")];
        let done = render(&before, &after, &fake).done;
        assert_eq!(done.len(), 2);
        assert_eq!(done[1].notes[1..], ["For the Helm release `b`."]);
        fake.asked.into_inner().unwrap().len()
    };
    assert_eq!(asked("n: {{ .Release.Namespace }}", "a: 1\n"), 2);
    assert_eq!(asked("n: {{ .Release.Name }}", "a: 1\n"), 4);
    assert_eq!(asked("n: {{ toYaml $.Release }}", "a: 1\n"), 4);
    assert_eq!(asked("n: {{ tpl .Values.a . }}", "a: '{{ .Release.Name }}'\n"), 4);
}
