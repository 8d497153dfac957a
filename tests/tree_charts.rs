//! Charts whose folder is in the repository, with the real Helm and without.
//!
//! `tests/tree_charts/<name>/before` is a repository, `expected.json` what a scan must find there, whichever way the
//! templates are followed.

use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use crate::support::{
    expected,
    tree::{MemoryTree, told},
};
use serde_json::{Value, json};
use uplinker::{
    helm::{Evaluate, Evaluator, File, Helm, HelmError, Template},
    pins::{Inventory, Pin, PinKind, Reason, ScanOptions, SkipReason, scan},
    repo::{Mode, Tree},
    sys::process::Limits,
};

/// What Helm may use in a test that it is to go over.
const LITTLE: Limits = Limits {
    processor: Duration::from_secs(4),
    output: 1024 * 1024,
    memory: 512 * 1024 * 1024,
    ..Helm::LIMITS
};

fn evaluator(limits: Limits, cache: Option<&Path>) -> Arc<dyn Evaluate> {
    let helm = Arc::new(Helm::new(Some(crate::support::helm::helm().to_owned()), limits));
    Arc::new(Evaluator::new(helm, cache))
}

fn scanned(tree: &MemoryTree, helm: Option<Arc<dyn Evaluate>>) -> Inventory {
    scan(tree, &ScanOptions { helm, ..ScanOptions::default() }).unwrap()
}

fn pins(inventory: &Inventory) -> Vec<Value> {
    let pins = inventory.pins().filter(|p| p.kind != PinKind::Other);
    pins.map(|p| {
        let place = format!("{}:{}:{}", p.path, p.site.line, p.site.column);
        let fate = p.stays.map_or(json!("moves"), |reason| json!(reason));
        match &p.kept_by {
            None => json!([place, p.kind, p.stage, p.value, fate]),
            Some((path, line)) => json!([place, p.kind, p.stage, p.value, fate, format!("by {path}:{line}")]),
        }
    })
    .collect()
}

/// Says where there are pins: path and line.
fn places(inventory: &Inventory) -> Vec<String> {
    let pins = inventory.pins().filter(|p| p.kind != PinKind::Other);
    pins.map(|p| format!("{}:{}", p.path, p.site.line)).collect()
}

/// Lists the repositories in a folder, of which there are at least so many.
fn repositories(folder: &str, least: usize) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut found: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    found.sort();
    assert!(found.len() >= least);
    found
}

#[test]
fn values_and_literals_are_pins_of_what_reads_them() {
    for repository in repositories("tests/tree_charts", 7) {
        let tree = MemoryTree::read(&repository.join("before"));
        let with_helm = scanned(&tree, Some(evaluator(Helm::LIMITS, None)));
        let found = json!(pins(&with_helm));
        expected::json(&repository.join("expected.json"), &found);
        assert_eq!(with_helm.skipped, [], "{} with Helm", repository.display());
        let plain = scanned(&tree, None);
        assert_eq!(json!(pins(&plain)), found, "{} without Helm", repository.display());
    }
}

#[test]
fn the_order_of_what_a_chart_brings_is_known_by_helm_and_without() {
    let app = |chart: &str, wave: u8| {
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: {chart}, annotations: \
             {{argocd.argoproj.io/sync-wave: '{wave}'}}}}\nspec:\n  source: {{repoURL: https://helm.linkerd.io/edge, \
             chart: {chart}, targetRevision: {{{{ .Values.version }}}}}}\n  destination: {{name: a, namespace: linkerd}}\n"
        )
    };
    let (crds, plane) = (app("linkerd-crds", 1), app("linkerd-control-plane", 2));
    let tree = MemoryTree::new([
        ("mesh/Chart.yaml", "apiVersion: v2\nname: mesh\nversion: 0.1.0\n"),
        ("mesh/values.yaml", "version: 2026.8.2\n"),
        ("mesh/templates/crds.yaml", crds.as_str()),
        ("mesh/templates/plane.yaml", plane.as_str()),
    ]);
    for helm in [None, Some(evaluator(Helm::LIMITS, None))] {
        let found = scanned(&tree, helm);
        let told: Vec<_> =
            found.facts.deployments.iter().map(|d| (d.path.as_str(), d.line, d.sync_wave)).collect();
        let wanted = [("mesh/templates/crds.yaml", 1, Some(1)), ("mesh/templates/plane.yaml", 1, Some(2))];
        assert_eq!(told, wanted);
    }
}

/// Says whether a release that stands at a place (`path:line:column`) is one of those that move.
fn moves(tree: &MemoryTree, inventory: &Inventory, place: &str) -> bool {
    let (file, column) = place.rsplit_once(':').unwrap();
    let column: usize = column.parse().unwrap();
    inventory.pins().any(|pin| {
        let is_there = format!("{}:{}", pin.path, pin.site.line) == file;
        if pin.kind == PinKind::Other || pin.stays.is_some() || !is_there {
            return false;
        }
        // A pin begins where its scalar does, the quote included, and may be a part of it.
        let text = tree.text(pin.path.as_str());
        let line = text.lines().nth(pin.site.line - 1).unwrap();
        let from = pin.site.column - 1;
        let at = line[from..].find(&pin.value).map_or(from, |n| from + n) + 1;
        (at.saturating_sub(2)..=at + pin.value.len()).contains(&column)
    })
}

/// Lists what a scan gets wrong of what Helm reads, also once what values switch off is on, as `scripts/helm-generated` has found it.
fn wrong(tree: &MemoryTree, inventory: &Inventory, expected: &[(String, String, bool)]) -> Vec<String> {
    let differs = |(place, _, is_read): &&(String, String, bool)| moves(tree, inventory, place) != *is_read;
    expected
        .iter()
        .filter(differs)
        .map(|(place, text, is_read)| format!("{place} {text} {is_read}"))
        .collect()
}

/// Gives each pin that moves the release after the last of those trees.
fn moved(tree: &MemoryTree, inventory: &Inventory) -> MemoryTree {
    let mut moved = MemoryTree::default();
    for entry in tree.entries() {
        let mut text = String::from_utf8(tree.read(entry.id).unwrap()).unwrap();
        let here = inventory.pins().filter(|p| p.path == entry.path && p.stays.is_none());
        let mut spans: Vec<_> = here.map(|pin| pin.site.span.clone()).collect();
        spans.sort_by_key(|span| span.start);
        for span in spans.into_iter().rev() {
            let number = text[span.clone()].rfind('.').unwrap() + span.start + 1;
            text.replace_range(number..=number, "3");
        }
        moved.put(entry.path.as_str(), Some(text.as_bytes()));
    }
    moved
}

#[test]
fn what_helm_reads_moves_and_nothing_else() {
    let repositories = repositories("tests/helm_trees", 150);
    // Each waits for Helm most of the time.
    let next = AtomicUsize::new(0);
    let one_after_the_other = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(repository) = repositories.get(number) else { break };
            // After the move it takes as long again; the script does so with all.
            moves_what_helm_reads(repository, &evaluator(Helm::LIMITS, None), number.is_multiple_of(6));
        }
    };
    thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(one_after_the_other))));
}

fn moves_what_helm_reads(repository: &Path, helm: &Arc<dyn Evaluate>, and_after: bool) {
    let text = fs::read_to_string(repository.join("expected.json")).unwrap();
    let expected: Vec<(String, String, bool)> = serde_json::from_str(&text).unwrap();
    let tree = MemoryTree::read(&repository.join("before"));
    let before = scanned(&tree, Some(helm.clone()));
    assert_eq!(wrong(&tree, &before, &expected), [""; 0], "{}", repository.display());
    assert_eq!(before.skipped, [], "{}", repository.display());
    // Without Helm less may be followed, and nothing else is.
    let plain = scanned(&tree, None);
    let more = wrong(&tree, &plain, &expected).into_iter().filter(|line| line.ends_with("false"));
    assert_eq!(more.collect::<Vec<_>>(), [""; 0], "{} without Helm", repository.display());
    if !and_after {
        return;
    }
    let moved = moved(&tree, &before);
    let after = scanned(&moved, Some(helm.clone()));
    assert_eq!(wrong(&moved, &after, &expected), [""; 0], "{} after the move", repository.display());
    let old = after.pins().filter(|pin| pin.kind != PinKind::Other && pin.stays.is_none());
    let old: Vec<_> = old.filter(|pin| !pin.value.ends_with("26.8.3")).collect();
    assert!(old.is_empty(), "{}: {old:?}", repository.display());
}

const CHART: (&str, &str) = ("c/Chart.yaml", "apiVersion: v2\nname: c\nversion: 0.1.0\n");
const VALUES: (&str, &str) = ("c/values.yaml", "version: 2026.8.2\n");
const APPLICATION: (&str, &str) = (
    "c/templates/app.yaml",
    "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: crds}\nspec:\n  source:\n    chart: linkerd-crds\n    \
     repoURL: https://helm.linkerd.io/edge\n    targetRevision: {{ .Values.version }}\n",
);
/// Another chart, which nothing is wrong with.
const OTHER: [(&str, &str); 3] = [
    ("other/Chart.yaml", "apiVersion: v2\nname: other\nversion: 0.1.0\n"),
    ("other/values.yaml", "version: 2026.8.1\n"),
    ("other/templates/app.yaml", APPLICATION.1),
];

fn chart(more: &[(&str, &str)]) -> MemoryTree {
    MemoryTree::new([&[CHART, VALUES, APPLICATION], &OTHER[..], more].concat())
}

#[test]
fn a_manifest_among_the_templates_of_a_chart_that_is_switched_off_is_not_deployed() {
    let application = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: mesh}\nspec:\n  source:\n    \
                       repoURL: https://helm.linkerd.io/edge\n    chart: linkerd-crds\n    targetRevision: 2026.8.2\n";
    let chart = "apiVersion: v2\nname: apps\nversion: 1.0.0\ndependencies:\n- {name: mesh, version: 1.0.0, repository: '', \
                 condition: mesh.enabled}\n";
    let of = |values: &str| {
        MemoryTree::new([
            ("apps/Chart.yaml", chart),
            ("apps/values.yaml", values),
            ("apps/charts/mesh/Chart.yaml", "apiVersion: v2\nname: mesh\nversion: 1.0.0\n"),
            ("apps/charts/mesh/templates/mesh.yaml", application),
        ])
    };
    let helm = evaluator(Helm::LIMITS, None);
    for helm in [None, Some(helm)] {
        let told = |values: &str| told(&scanned(&of(values), helm.clone()));
        assert_eq!(
            told("mesh: {enabled: true}\n"),
            ["apps/charts/mesh/templates/mesh.yaml:8 2026.8.2 moves"]
        );
        let off = told("mesh: {enabled: false}\n");
        assert_eq!(off, ["apps/charts/mesh/templates/mesh.yaml:8 2026.8.2 NotDeployed"]);
    }
}

#[test]
fn what_only_another_cluster_gets_is_told() {
    let application = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: mesh}\nspec:\n  source:\n    \
                       repoURL: https://helm.linkerd.io/edge\n    chart: linkerd-control-plane\n    targetRevision: {{ .Values.v }}\n";
    let helm = evaluator(Helm::LIMITS, None);
    let told = |condition: &str| {
        let template = format!("{{{{- if {condition} }}}}\n{application}{{{{- end }}}}\n");
        let tree = MemoryTree::new([
            ("mesh/Chart.yaml", "apiVersion: v2\nname: mesh\nversion: 1.0.0\n"),
            ("mesh/templates/a.yaml", template.as_str()),
            ("mesh/values.yaml", "v: 2026.8.2\n"),
        ]);
        told(&scanned(&tree, Some(helm.clone())))
    };
    let today = "semverCompare \">=1.31-0\" .Capabilities.KubeVersion.Version";
    assert_eq!(told(today), ["mesh/values.yaml:1 2026.8.2 moves"]);
    for elsewhere in [
        "semverCompare \"<1.31-0\" .Capabilities.KubeVersion.Version",
        "semverCompare \">=1.40-0\" .Capabilities.KubeVersion.Version",
        ".Capabilities.APIVersions.Has \"mesh.example.com/v1\"",
    ] {
        assert_eq!(told(elsewhere), ["mesh/values.yaml:1 2026.8.2 NotFollowed"], "{elsewhere}");
    }
}

#[test]
fn proxies_are_those_of_a_control_plane_that_only_another_cluster_gets() {
    let application = |name: &str, condition: &str| {
        format!(
            "{{{{- if {condition} }}}}\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: {name}}}\nspec:\n  \
             source:\n    repoURL: https://helm.linkerd.io/edge\n    chart: linkerd-control-plane\n    \
             targetRevision: {{{{ .Values.v }}}}\n{{{{- end }}}}\n"
        )
    };
    let (today, elsewhere) = (
        application("one", "true"),
        application("two", ".Capabilities.APIVersions.Has \"mesh.example.com/v1\""),
    );
    let root = |name: &str, version: &str| {
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: {name}}}\nspec:\n  source: {{repoURL: x, path: \
             charts/{name}, helm: {{valuesObject: {{v: {version}}}}}}}\n"
        )
    };
    let chart = |name: &str| format!("apiVersion: v2\nname: {name}\nversion: 1.0.0\n");
    let (a, b, proxy) =
        (root("a", "2026.8.2"), root("b", "2026.7.2"), "config.linkerd.io/proxy-version: edge-26.7.2");
    let proxy =
        format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: web, annotations: {{{proxy}}}}}\n");
    let tree = MemoryTree::new([
        ("apps/b/ns.yaml", proxy.as_str()),
        ("charts/a/Chart.yaml", &chart("a")),
        ("charts/a/templates/a.yaml", &today),
        ("charts/b/Chart.yaml", &chart("b")),
        ("charts/b/templates/b.yaml", &elsewhere),
        ("clusters/a/mesh.yaml", &a),
        ("clusters/b/mesh.yaml", &b),
    ]);
    let found = scanned(&tree, Some(evaluator(Helm::LIMITS, None)));
    let serves = |pin: &Pin| format!("{} {:?} {}", pin.path, pin.stays, pin.installations.join(" "));
    let expected =
        ["apps/b/ns.yaml None b", "clusters/a/mesh.yaml None a", "clusters/b/mesh.yaml Some(NotFollowed) b"];
    assert_eq!(found.pins().map(serves).collect::<Vec<_>>(), expected);
}

#[test]
fn a_chart_that_goes_over_a_limit_is_named_and_every_other_pin_is_found() {
    let loops = "{{ range $i := until 100000 }}{{ range $j := until 100000 }}{{ $x := sha256sum (toString $j) }}{{ end }}{{ end }}";
    let prints = "{{ range $i := until 100000 }}{{ repeat 1000 \"0123456789\" }}{{ end }}";
    for template in [loops, prints] {
        let tree = chart(&[("c/templates/hostile.yaml", &format!("# linkerd edge-26.8.2\n{template}\n"))]);
        let inventory = scanned(&tree, Some(evaluator(LITTLE, None)));
        let found = places(&inventory);
        // What Helm does not get to, the plain forms give.
        assert_eq!(found, ["c/values.yaml:1", "other/values.yaml:1"], "{template}");
        for (path, reason) in
            [("c/templates/hostile.yaml", SkipReason::HelmTemplate), ("c/Chart.yaml", SkipReason::TooLarge)]
        {
            let skip = inventory.skipped.iter().find(|s| s.path.as_str() == path).unwrap();
            let detail = skip.detail.as_deref().unwrap_or_default();
            assert!(skip.reason == reason && detail.starts_with("the chart `c`: helm "), "{path}: {detail}");
        }
    }
}

#[test]
fn a_text_that_a_template_reads_is_no_text_for_people() {
    let template = "{{- range .Files.Lines \"versions.txt\" }}\n{{- with splitList \"=\" . }}\n{{- if eq (len .) 2 }}\n---\napiVersion: \
                    argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: {{ index . 0 }}}\nspec:\n  source: {repoURL: \
                    https://helm.linkerd.io/edge, chart: {{ index . 0 }}, targetRevision: {{ index . 1 }}}\n{{- end }}\n{{- end }}\n\
                    {{- end }}\n";
    let tree = MemoryTree::new([
        CHART,
        ("c/README.md", "Installs linkerd-crds 2026.8.2.\n"),
        ("c/templates/a.yaml", template),
        ("c/versions.txt", "linkerd-crds=2026.8.2\nlinkerd-control-plane=2026.8.2\n"),
    ]);
    let found = |helm| {
        let mut told = told(&scanned(&tree, helm));
        told.retain(|line| line.starts_with("c/versions.txt"));
        told
    };
    let both = |fate: &str| [1, 2].map(|line| format!("c/versions.txt:{line} 2026.8.2 {fate}"));
    assert_eq!(found(Some(evaluator(Helm::LIMITS, None))), both("moves"));
    assert_eq!(found(None), both("NotFollowed"));
    let readme = scanned(&tree, None).pins().find(|pin| pin.path.as_str() == "c/README.md").cloned();
    assert!(readme.is_none_or(|pin| pin.stays == Some(Reason::NotDeployed)));
}

#[test]
fn what_an_action_compares_is_told_however_far_it_stands_from_linkerd_s_name() {
    let template = "{{- if semverCompare \">=2026.8.1\" .Values.v }}\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n  \
                    labels:\n    team: shop\n  annotations: {config.linkerd.io/proxy-version: \
                    'edge-{{ trimPrefix \"20\" .Values.v }}'}\n{{- end }}\n";
    let tree = MemoryTree::new([
        ("mesh/Chart.yaml", "apiVersion: v2\nname: mesh\nversion: 1.0.0\n"),
        ("mesh/templates/a.yaml", template),
        ("mesh/values.yaml", "v: 2026.8.2\n"),
    ]);
    let mut told = told(&scanned(&tree, Some(evaluator(Helm::LIMITS, None))));
    told.retain(|line| line.starts_with("mesh/templates/"));
    assert_eq!(told, ["mesh/templates/a.yaml:1 2026.8.1 NotDeployed"]);
}

/// A chart with one template, beside its values.
fn asked(template: &str, values: &str) -> (Vec<File>, Template) {
    let file = |path: &str, text: &str| File { path: path.to_owned(), bytes: text.into() };
    let asked = Template {
        release: "r".to_owned(),
        namespace: "n".to_owned(),
        values: vec![uplinker::helm::Layer(values.into())],
        settings: Vec::new(),
        kube_version: None,
        api_versions: Vec::new(),
        include_crds: false,
        hooks: true,
    };
    (vec![file("Chart.yaml", CHART.1), file("templates/a.yaml", template)], asked)
}

#[test]
fn a_chart_over_a_limit_is_not_tried_again_and_all_have_so_much_time() {
    let long = "a: {{ range until 400 }}{{ repeat 1000 \"0123456789\" }}{{ end }}";
    let cache = tempfile::tempdir().unwrap();
    let helm = Arc::new(Helm::new(Some(crate::support::helm::helm().to_owned()), LITTLE));
    let of_a_run = || Evaluator::new(helm.clone(), Some(cache.path()));
    let ask = |by: &Evaluator, folder: &str, (chart, asked): (Vec<File>, Template)| {
        by.evaluate(folder, &chart, &asked).map_err(|error| error.to_string())
    };
    let first = of_a_run();
    let over = Err("helm printed more than 1048576 bytes".to_owned());
    assert_eq!(ask(&first, "c", asked(long, "a: 1")), over);
    // With this template Helm would be done at once.
    assert_eq!(ask(&first, "c", asked("a: 1", "a: 2")), over);
    assert!(ask(&first, "d", asked("a: 1", "a: 2")).is_ok());
    // Another run knows that chart by what it has, and tries nothing else of it either.
    let next = of_a_run();
    assert_eq!(ask(&next, "c", asked(long, "a: 1")), over);
    assert_eq!(ask(&next, "c", asked("a: 2", "a: 1")), over);
    let spent = of_a_run().within(Duration::ZERO);
    let late = "helm had no time for it: all charts together have 0 s".to_owned();
    assert_eq!(ask(&spent, "e", asked("a: 3", "a: 1")), Err(late));
    assert!(ask(&spent, "d", asked("a: 1", "a: 2")).is_ok(), "what is known takes no time");
    assert!(ask(&of_a_run(), "c", asked("a: 2", "a: 1")).is_ok(), "a chart that is mended is tried");
}

#[test]
fn a_template_sees_no_file_no_name_and_no_cluster() {
    let secret = tempfile::tempdir().unwrap();
    fs::write(secret.path().join("secret"), "2026.8.0").unwrap();
    let path = secret.path().join("secret").display().to_string();
    let reads = [
        format!(".Files.Get {path:?}"),
        format!(".Files.Get \"../../../../../../../../{path}\""),
        "getHostByName \"localhost\"".to_owned(),
        "lookup \"v1\" \"Namespace\" \"\" \"default\" | toString".to_owned(),
        "env \"HOME\"".to_owned(),
    ];
    for read in reads {
        let template = format!("{}    seen: {{{{ {read} | quote }}}}\n", APPLICATION.1);
        let recorder =
            Arc::new(Recorder { inner: evaluator(Helm::LIMITS, None), printed: AtomicUsize::new(0) });
        let tree = MemoryTree::new([CHART, VALUES, ("c/templates/app.yaml", &template)]);
        let found = scanned(&tree, Some(recorder.clone()));
        assert_eq!(places(&found), ["c/values.yaml:1"], "{read}");
        let seen = recorder.printed.load(Ordering::Relaxed);
        let refused = read.starts_with("env");
        assert_eq!(seen > 0, !refused, "{read}");
    }
}

#[test]
fn links_and_ways_out_of_the_repository_are_not_followed() {
    let mut tree = chart(&[(
        "c/Chart.yaml",
        "apiVersion: v2\nname: c\nversion: 0.1.0\ndependencies:\n- {name: a, version: 0.1.0, repository: 'file://../../../etc'}\n",
    )]);
    tree.put_as("c/templates/link.yaml", Some(b"/etc/linkerd"), Mode::Symlink);
    tree.put_as("c/charts/b", Some(b"../../other"), Mode::Symlink);
    let inventory = scanned(&tree, Some(evaluator(Helm::LIMITS, None)));
    assert_eq!(places(&inventory), ["c/values.yaml:1", "other/values.yaml:1"]);
}

#[test]
fn only_what_names_linkerd_is_rendered_and_nothing_twice() {
    let mut tree = chart(&[]);
    for n in 0..200 {
        let about = format!("apiVersion: v2\nname: m{n}\nversion: 0.1.0\n");
        tree.put(&format!("many/{n}/Chart.yaml"), Some(about.as_bytes()));
        tree.put(&format!("many/{n}/values.yaml"), Some(b"tag: 2026.8.2\nflag: 1.2.3\n"));
        tree.put(&format!("many/{n}/templates/a.yaml"), Some(b"kind: A\nx: {{ .Values.tag }}\n"));
    }
    let cache = tempfile::tempdir().unwrap();
    let runs = |cache: &Path| {
        let recorder =
            Arc::new(Recorder { inner: evaluator(Helm::LIMITS, Some(cache)), printed: AtomicUsize::new(0) });
        let found = places(&scanned(&tree, Some(recorder.clone())));
        (found, recorder.printed.load(Ordering::Relaxed))
    };
    let (found, asked) = runs(cache.path());
    assert_eq!(found, ["c/values.yaml:1", "other/values.yaml:1"]);
    assert_eq!(asked, 4, "two renders of two charts");
    // Once more with a Helm that can do nothing: all answers are in the cache.
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("helm");
    fs::copy(crate::support::helm::helm(), &program).unwrap();
    let by = |limits| -> Arc<dyn Evaluate> {
        Arc::new(Evaluator::new(Arc::new(Helm::new(Some(program.clone()), limits)), Some(cache.path())))
    };
    let first = places(&scanned(&tree, Some(by(Helm::LIMITS))));
    let no_time = Duration::from_millis(1);
    let nothing = Limits { processor: no_time, time: no_time, output: 1, memory: 1 };
    assert_eq!(places(&scanned(&tree, Some(by(nothing)))), first);
}

/// Counts what is asked of Helm and answered.
#[derive(Debug)]
struct Recorder {
    inner: Arc<dyn Evaluate>,
    printed: AtomicUsize,
}

impl Evaluate for Recorder {
    fn evaluate(&self, folder: &str, chart: &[File], asked: &Template) -> Result<Arc<str>, HelmError> {
        let answer = self.inner.evaluate(folder, chart, asked);
        if let Ok(text) = &answer {
            assert!(!text.contains("2026.8.0") && !text.contains("127.0.0.1"), "{text}");
            self.printed.fetch_add(1, Ordering::Relaxed);
        }
        answer
    }
}
