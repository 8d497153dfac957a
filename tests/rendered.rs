//! Committed manifests are made again: the diff shows the upgrade and nothing else, in the form that is there.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use support::{
    charts::{CHARTS, ChartRepository, files, pack},
    helm::Bench,
    tree::MemoryTree,
};
use uplinker::{
    linkerd::built_in,
    render::{
        ChartId, DriftMode, Job, Layer, Manifest, RenderEntry, Renderer as _, Take,
        committed::{Committed, Regenerate, Regenerated, committed, prove_all, regenerate},
    },
    scan::{RepoPath, ScanOptions, Tree as _, scan},
};

const OLD: &str = "2026.6.3";
const NEW: &str = "2026.8.3";

/// The charts and Helm, for all tests of this file.
struct World {
    _charts: ChartRepository,
    bench: Bench,
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let charts = ChartRepository::new();
    let bench = Bench::new(&charts.url());
    World { _charts: charts, bench }
});

/// The documents of a manifest, without what is around them.
type Documents = Vec<String>;

/// Text that says it is a key, as no key is committed here.
fn pem(kind: &str, text: &str) -> String {
    format!("-----BEGIN {kind}-----\n{}\n-----END {kind}-----\n", BASE64_STANDARD.encode(text))
}

fn identity() -> String {
    let (anchors, certificate) = (pem("CERTIFICATE", "anchors"), pem("CERTIFICATE", "issuer"));
    let tls = serde_json::json!({"crtPEM": certificate, "keyPEM": pem("EC PRIVATE KEY", "no key")});
    serde_json::json!({"identityTrustAnchorsPEM": anchors, "identity": {"issuer": {"tls": tls}}}).to_string()
}

/// Runs `helm template` as a person would.
fn template(chart: &str, version: &str, values: &str) -> String {
    let mut layers = vec![Layer(values.into())];
    layers.extend((chart == "linkerd-control-plane").then(|| Layer(identity().into())));
    let namespace = if chart == "linkerd-viz" { "linkerd-viz" } else { "linkerd" };
    let job = Job {
        chart: ChartId { name: chart.into(), version: version.into() },
        release: chart.into(),
        namespace: namespace.into(),
        values: layers,
        settings: Vec::new(),
        kube_version: None,
        api_versions: Vec::new(),
        include_crds: false,
        hooks: true,
        take: Take::First,
    };
    WORLD.bench.helm().render(&[job]).remove(0).unwrap().to_string()
}

/// What is committed, some hours ago.
fn committed_text(chart: &str, version: &str, values: &str) -> String {
    let text = template(chart, version, values);
    let schedule = text.lines().find(|l| l.trim().starts_with("schedule:")).map(str::to_owned);
    schedule.map_or(text.clone(), |line| text.replace(&line, "  schedule: \"03 21 * * *\""))
}

fn documents(text: &str) -> Documents {
    let parts =
        format!("\n{text}").replace("\n---\n", "\n\0").split('\0').map(str::to_owned).collect::<Vec<_>>();
    let parts = parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty());
    parts.map(|part| format!("{part}\n")).collect()
}

fn joined(documents: &[String]) -> String {
    documents.iter().map(|d| format!("---\n{d}")).collect()
}

fn name(document: &str) -> String {
    let object = &Manifest::parse(document).unwrap().objects[0];
    format!("{}-{}", object.key.kind.to_lowercase(), object.key.name.replace(':', "-"))
}

/// Returns what the new version must look like: Helm's text, with the lines that it invents taken from what is committed.
fn expected(new: &str, committed: &str) -> String {
    const INVENTED: [&str; 6] = ["tls.crt:", "tls.key:", "crt.pem:", "key.pem:", "caBundle:", "schedule:"];
    let old: BTreeMap<String, String> = documents(committed).into_iter().map(|d| (name(&d), d)).collect();
    let names: Vec<String> = documents(new).iter().map(|d| name(d)).collect();
    let mut document = 0;
    let mut out = String::new();
    for line in new.lines() {
        document += usize::from(line == "---");
        let key = INVENTED.iter().find(|key| line.trim().starts_with(**key));
        let kept =
            key.and_then(|key| old.get(&names[document - 1])?.lines().find(|l| l.trim().starts_with(key)));
        out.push_str(&format!("{}\n", kept.unwrap_or(line)));
    }
    out
}

/// Compares whole trees and shows the lines that differ.
#[track_caller]
fn assert_trees(found: &BTreeMap<String, String>, wanted: &BTreeMap<String, String>) {
    let paths: BTreeSet<&String> = found.keys().chain(wanted.keys()).collect();
    let mut shown = String::new();
    for path in paths {
        let (found, wanted) = (found.get(path), wanted.get(path));
        if found != wanted {
            let text = |t: Option<&String>| t.cloned().unwrap_or_else(|| "(no file)\n".to_owned());
            let diff = similar::TextDiff::from_lines(text(wanted).as_str(), text(found).as_str())
                .unified_diff()
                .to_string();
            shown.push_str(&format!("{path} (- wanted, + found)\n{diff}"));
        }
    }
    assert!(shown.is_empty(), "{shown}");
}

/// Replaces checksums, which the tests below look at by themselves.
fn unsummed(text: &str) -> String {
    let line = |l: &str| match l.split_once("checksum/config: ") {
        Some((before, sum)) => {
            assert!(sum.len() == 64 && sum.bytes().all(|b| b.is_ascii_hexdigit()), "{l}");
            format!("{before}checksum/config: SUM\n")
        }
        None => format!("{l}\n"),
    };
    text.lines().map(line).collect()
}

fn sets(tree: &MemoryTree) -> Vec<Committed> {
    let inventory = scan(tree, &ScanOptions::default()).unwrap();
    let found = committed(tree, &inventory.facts.rendered);
    assert!(found.missing.is_empty(), "{:?}", found.missing);
    found.sets
}

/// What a test asks for beside the version.
#[derive(Default)]
struct Ask<'a> {
    entries: &'a [RenderEntry],
    drift: DriftMode,
}

fn request<R>(tree: &MemoryTree, version: &str, ask: &Ask<'_>, run: impl FnOnce(&Regenerate<'_>) -> R) -> R {
    let to: BTreeMap<String, String> = CHARTS.iter().map(|c| ((*c).to_owned(), version.to_owned())).collect();
    let sets = sets(tree);
    run(&Regenerate {
        tree,
        committed: &sets,
        uses: &[],
        entries: ask.entries,
        to: &to,
        drift: ask.drift,
        kube_version: None,
        knowledge: built_in(),
    })
}

fn made(tree: &MemoryTree, version: &str, ask: &Ask<'_>) -> Regenerated {
    request(tree, version, ask, |request| regenerate(request, &WORLD.bench.helm()))
}

/// Makes everything again, and the same once more, which must give the same bytes.
fn moved(tree: &MemoryTree, version: &str) -> MemoryTree {
    let first = made(tree, version, &Ask::default());
    assert!(first.missing.is_empty(), "{:?}", first.missing);
    assert_eq!(first.changes, made(tree, version, &Ask::default()).changes);
    let after = tree.changed(&first.changes);
    // What was made is what a further pass would make.
    assert!(made(&after, version, &Ask::default()).changes.is_empty());
    after
}

fn unsummed_files(tree: &MemoryTree) -> BTreeMap<String, String> {
    tree.files().into_iter().map(|(path, text)| (path, unsummed(&text))).collect()
}

const REDUCED: &str =
    "{controllerLogLevel: debug, controllerReplicas: 3, proxy: {resources: {memory: {request: 32Mi}}}}";

/// The texts of a repository: charts, their old version, their values.
fn texts() -> Vec<(&'static str, String, String)> {
    let charts = [
        ("linkerd-crds", "2026.8.2", "{}"),
        ("linkerd-control-plane", "2026.8.2", REDUCED),
        ("linkerd-viz", OLD, "{}"),
    ];
    let text = |(chart, version, values): (&'static str, &str, &str)| {
        let old = committed_text(chart, version, values);
        let new = expected(&template(chart, NEW, values), &old);
        (chart, old, new)
    };
    charts.into_iter().map(text).collect()
}

#[test]
fn single_files_become_what_helm_gives_but_for_what_it_invents() {
    let texts = texts();
    let path = |chart: &str| format!("mesh/{chart}.yaml");
    let mut files: Vec<(String, String)> = texts.iter().map(|(c, old, _)| (path(c), old.clone())).collect();
    files.push((
        "mesh/kustomization.yaml".into(),
        "resources:\n- linkerd-crds.yaml\n- linkerd-viz.yaml\n".into(),
    ));
    files.push(("apps/web.yaml".into(), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n".into()));
    let tree = MemoryTree::new(files.clone());
    let after = moved(&tree, NEW);
    let mut wanted: BTreeMap<String, String> = files.into_iter().collect();
    wanted.extend(texts.iter().map(|(chart, _, new)| (path(chart), unsummed(new))));
    assert_trees(&unsummed_files(&after), &wanted);
    let plane = after.text("mesh/linkerd-control-plane.yaml");
    assert!(plane.contains("03 21 * * *") && plane.contains("edge-26.8.3") && !plane.contains("edge-26.8.2"));
    assert!(plane.contains("controllerLogLevel: debug") && plane.contains("request: 32Mi"));
    assert!(!plane.contains("name: linkerd-policy\n"));
}

#[test]
fn objects_in_files_of_their_own_come_and_go_with_their_kustomization() {
    let mut files = BTreeMap::new();
    let mut wanted = BTreeMap::new();
    let list = |documents: &Documents| {
        let names = documents.iter().map(|d| format!("  - {}.yaml # ours\n", name(d)));
        format!("namespace: linkerd\nresources:\n  - ../../ns.yaml\n{}", names.collect::<String>())
    };
    for (chart, old, new) in texts_from(OLD) {
        let (old, new) = (documents(&old), documents(&new));
        let folder = format!("mesh/{chart}");
        files.extend(old.iter().map(|d| (format!("{folder}/{}.yaml", name(d)), d.clone())));
        files.insert(format!("{folder}/kustomization.yaml"), list(&old));
        wanted.extend(new.iter().map(|d| (format!("{folder}/{}.yaml", name(d)), unsummed(d))));
        wanted.insert(format!("{folder}/kustomization.yaml"), list(&new));
    }
    let added = "mesh/linkerd-crds/customresourcedefinition-egressnetworks.policy.linkerd.io.yaml";
    let gone = "mesh/linkerd-control-plane/service-linkerd-policy.yaml";
    assert!(files.contains_key(gone) && !files.contains_key(added) && wanted.contains_key(added));
    let after = moved(&MemoryTree::new(files), NEW);
    // A new line has no comment of anybody's.
    let added_line = |text: &str| {
        text.replace("egressnetworks.policy.linkerd.io.yaml # ours", "egressnetworks.policy.linkerd.io.yaml")
    };
    let wanted: BTreeMap<String, String> = wanted.into_iter().map(|(p, t)| (p, added_line(&t))).collect();
    assert_trees(&unsummed_files(&after), &wanted);
}

fn texts_from(version: &str) -> Vec<(&'static str, String, String)> {
    let text = |chart: &'static str| {
        let old = committed_text(chart, version, "{}");
        let new = expected(&template(chart, NEW, "{}"), &old);
        (chart, old, new)
    };
    CHARTS.into_iter().map(text).collect()
}

fn by_template(documents: &Documents) -> BTreeMap<String, String> {
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for document in documents {
        let source = document.lines().next().unwrap().strip_prefix("# Source: ").unwrap();
        files.entry(format!("out/{source}")).or_default().push_str(&format!("---\n{document}"));
    }
    files
}

#[test]
fn an_output_dir_keeps_one_file_for_each_template() {
    let (mut files, mut wanted) = (BTreeMap::new(), BTreeMap::new());
    for (_, old, new) in texts_from(OLD) {
        files.extend(by_template(&documents(&old)));
        wanted.extend(by_template(&documents(&new)).into_iter().map(|(p, t)| (p, unsummed(&t))));
    }
    assert!(!files.contains_key("out/linkerd-crds/templates/policy/egress-network.yaml"));
    assert_trees(&unsummed_files(&moved(&MemoryTree::new(files), NEW)), &wanted);
}

#[test]
fn charts_may_share_a_file_with_each_other_and_with_anybody() {
    let own = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: linkerd # ours\n";
    let (mut old_text, mut new_text) = (format!("# by hand\n{own}"), format!("# by hand\n{own}"));
    for (_, old, new) in texts() {
        old_text.push_str(&joined(&documents(&old)));
        new_text.push_str(&unsummed(&joined(&documents(&new))));
    }
    let crlf = |text: &str| text.replace('\n', "\r\n");
    let tree = MemoryTree::new([("all.yaml", old_text.as_str()), ("dos/all.yml", &crlf(&old_text))]);
    assert_eq!(sets(&tree).len(), 6);
    let after = moved(&tree, NEW);
    assert_eq!(unsummed(&after.text("all.yaml")), new_text);
    let dos = after.text("dos/all.yml");
    assert_eq!(unsummed(&dos.replace("\r\n", "\n")), new_text);
    assert_eq!(crlf(&dos.replace("\r\n", "\n")), dos);
}

#[test]
fn what_does_not_change_keeps_its_bytes() {
    for values in ["{}", REDUCED, "{webhookFailurePolicy: Fail, enablePodDisruptionBudget: true}"] {
        let text = format!("{}\n", committed_text("linkerd-control-plane", NEW, values));
        let tree = MemoryTree::new([("plane.yaml", &text)]);
        let made = made(&tree, NEW, &Ask::default());
        assert!(made.missing.is_empty() && made.changes.is_empty(), "{:?}", made.missing);
        assert_eq!(made.renderings.len(), 1);
    }
}

#[test]
fn a_checksum_changes_only_with_its_template() {
    let text = committed_text("linkerd-control-plane", "2026.8.2", "{}");
    let sums = |text: &str| -> BTreeSet<String> {
        text.lines().filter_map(|l| l.split_once("checksum/config: ")).map(|(_, s)| s.to_owned()).collect()
    };
    let tree = MemoryTree::new([("plane.yaml", &text)]);
    let after = moved(&tree, NEW).text("plane.yaml");
    assert!(sums(&text).len() > 1 && sums(&text).is_disjoint(&sums(&after)));
    // Without Secrets of the chart's own the hashed templates name no version.
    let outside = "{proxyInjector: {externalSecret: true, caBundle: ca}, profileValidator: {externalSecret: true, caBundle: ca}, policyValidator: {externalSecret: true, caBundle: ca}}";
    let text = committed_text("linkerd-control-plane", "2026.8.2", outside);
    let tree = MemoryTree::new([("plane.yaml", &text)]);
    let after = moved(&tree, NEW).text("plane.yaml");
    assert_eq!(sums(&text), sums(&after));
}

#[test]
fn a_text_that_a_tool_laid_out_keeps_its_layout() {
    let text = committed_text("linkerd-control-plane", "2026.8.2", REDUCED);
    let new = documents(&expected(&template("linkerd-control-plane", NEW, REDUCED), &text));
    // No comments of Helm's, quotes of its own, a comment on each object.
    let lay_out = |d: &String| {
        let lines = d.lines().filter(|l| !l.starts_with("# Source"));
        let lines: Vec<String> = lines
            .map(|l| match l.trim_start().starts_with("name: ") {
                _ if d.contains("kind: ConfigMap") => l.to_owned(),
                true => format!("{l} # kept"),
                false => l.replace('"', "'"),
            })
            .collect();
        format!("# about this\n{}\n", lines.join("\n"))
    };
    let old: Documents = documents(&text).iter().map(lay_out).collect();
    let tree = MemoryTree::new([("plane.yaml", joined(&old))]);
    let after = moved(&tree, NEW).text("plane.yaml");
    let (read, wanted) = (Manifest::parse(after.as_str()).unwrap(), Manifest::parse(joined(&new)).unwrap());
    assert_eq!(read.objects.len(), wanted.objects.len());
    for object in &wanted.objects {
        let found = &read.get(&object.key).unwrap().value;
        let text = |value: &serde_json::Value| {
            unsummed(&serde_json::to_string_pretty(value).unwrap().replace(['"', ','], ""))
        };
        assert_eq!(text(found), text(&object.value), "{}", object.key);
    }
    let count = |text: &str, what: &str| text.matches(what).count();
    let before = joined(&old);
    assert_eq!(count(&after, "# about this"), new.len());
    // Each line that differs says a version, or is of the object that went.
    let gone = documents(&before).into_iter().find(|d| d.contains("name: linkerd-policy #")).unwrap();
    let kept: BTreeSet<&str> = after.lines().collect();
    for line in before.lines().filter(|l| !kept.contains(l)) {
        let moved = line.contains("26.8.2")
            || line.contains("checksum")
            || gone.contains(line)
            || line.contains("ontainerPort");
        assert!(moved, "{line}");
    }
    assert!(count(&after, " # kept") + count(&gone, " # kept") >= count(&before, " # kept") - 2);
}

#[test]
fn hooks_that_were_left_out_stay_out() {
    let all = documents(&committed_text("linkerd-viz", OLD, "{}"));
    let without: Documents = all.iter().filter(|d| !d.contains("helm.sh/hook")).cloned().collect();
    assert!(without.len() < all.len());
    let after = moved(&MemoryTree::new([("viz.yaml", joined(&without))]), NEW);
    assert!(!after.text("viz.yaml").contains("helm.sh/hook"));
}

#[test]
fn a_change_by_hand_is_named_and_refused_or_overwritten() {
    let text = committed_text("linkerd-control-plane", "2026.8.2", "{}");
    let by_hand = text.replace("-log-level=info", "-log-level=trace");
    let tree = MemoryTree::new([("a/plane.yaml", &by_hand)]);
    let drifts = request(&tree, NEW, &Ask::default(), |r| prove_all(r, &WORLD.bench.helm()));
    assert!(drifts.missing.is_empty() && !drifts.drifts.is_empty());
    for drift in &drifts.drifts {
        assert_eq!(drift.object.kind, "Deployment");
        assert!(drift.field.as_ref().unwrap().contains("args"), "{drift}");
        assert!(by_hand.lines().nth(drift.line - 1).unwrap().contains("trace"), "{drift:?}");
    }
    let refused = made(&tree, NEW, &Ask::default());
    assert!(refused.changes.is_empty());
    let reason = &refused.missing[0].reason;
    assert!(
        reason.contains("-log-level=trace") && reason.contains("Deployment linkerd/linkerd-"),
        "{reason}"
    );
    assert!(refused.missing[0].committed && refused.missing[0].files.len() == 1);
    let over = made(&tree, NEW, &Ask { drift: DriftMode::Overwrite, ..Ask::default() });
    assert!(over.missing.is_empty(), "{:?}", over.missing);
    let wanted = expected(&template("linkerd-control-plane", NEW, "{}"), &text);
    let wanted = [("a/plane.yaml".to_owned(), unsummed(&wanted))].into();
    assert_trees(&unsummed_files(&tree.changed(&over.changes)), &wanted);
    assert!(over.renderings[0].notes.iter().any(|note| note.starts_with("Overwritten: Deployment")));
}

#[test]
fn secrets_are_not_shown_and_a_half_upgrade_is_named() {
    let text = committed_text("linkerd-control-plane", "2026.8.2", "{}");
    let mut half = documents(&text);
    let old = documents(&committed_text("linkerd-control-plane", OLD, "{}"));
    let injector = |documents: &Documents| {
        documents.iter().position(|d| name(d) == "deployment-linkerd-proxy-injector").unwrap()
    };
    let at = injector(&half);
    half[at] = old[injector(&old)].clone();
    let tree = MemoryTree::new([("plane.yaml", joined(&half))]);
    let refused = made(&tree, NEW, &Ask::default()).missing.remove(0);
    assert!(
        refused.reason.contains(
            "by half (Deployment linkerd/linkerd-proxy-injector is of 2026.6.3, the rest of 2026.8.2)"
        ),
        "{}",
        refused.reason
    );
    let secret = text.replace("type: kubernetes.io/tls\n", "type: Opaque\n");
    let tree = MemoryTree::new([("plane.yaml", &secret)]);
    let refused = made(&tree, NEW, &Ask::default()).missing.remove(0);
    assert!(refused.reason.contains("(hidden)") && !refused.reason.contains("Opaque"), "{}", refused.reason);
}

#[test]
fn what_linkerd_install_printed_is_made_again_through_the_charts() {
    let cli =
        |version: &str| format!("{{cliVersion: linkerd/cli edge-{}, controllerReplicas: 2}}", &version[2..]);
    // The program prints no `# Source:`, and two objects that no chart has.
    let printed = |text: &str| {
        let lines = text.lines().filter(|l| !l.starts_with("# Source"));
        let own = "---\nkind: Namespace\napiVersion: v1\nmetadata:\n  name: linkerd\n  labels:\n    linkerd.io/is-control-plane: \"true\"\n    linkerd.io/control-plane-ns: linkerd\n";
        let overrides = "---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: linkerd-config-overrides\n  namespace: linkerd\n  labels:\n    linkerd.io/control-plane-ns: linkerd\n";
        format!("{own}{}{overrides}", lines.map(|l| format!("{l}\n")).collect::<String>())
    };
    let old = committed_text("linkerd-control-plane", "2026.8.2", &cli("2026.8.2"));
    let new = expected(&template("linkerd-control-plane", NEW, &cli(NEW)), &old);
    let tree = MemoryTree::new([("linkerd.yaml", printed(&old))]);
    assert!(sets(&tree)[0].cli);
    let wanted = [("linkerd.yaml".to_owned(), unsummed(&printed(&new)))].into();
    assert_trees(&unsummed_files(&moved(&tree, NEW)), &wanted);
}

#[test]
fn values_that_an_entry_names_are_used() {
    let values = "{tap: {replicas: 7}}";
    let files = [
        ("viz/out.yaml", committed_text("linkerd-viz", OLD, values)),
        ("config/viz.yaml", values.to_owned()),
    ];
    let tree = MemoryTree::new(files);
    assert_eq!(made(&tree, NEW, &Ask::default()).missing.len(), 1);
    let path = |text: &str| RepoPath::new(text).unwrap();
    let entry = RenderEntry {
        chart: "linkerd-viz".into(),
        namespace: None,
        values: vec![path("config/viz.yaml")],
        output: Some(path("viz")),
    };
    let made = made(&tree, NEW, &Ask { entries: &[entry], ..Ask::default() });
    assert!(made.missing.is_empty(), "{:?}", made.missing);
    assert!(tree.changed(&made.changes).text("viz/out.yaml").contains("replicas: 7"));
}

#[test]
fn trust_anchors_never_change_and_an_entry_must_lead_to_values() {
    let text = committed_text("linkerd-control-plane", "2026.8.2", "{}");
    let tls = serde_json::json!({"crtPEM": pem("CERTIFICATE", "x"), "keyPEM": "y"});
    let other = serde_json::json!({"identityTrustAnchorsPEM": pem("CERTIFICATE", "x"), "identity": {"issuer": {"tls": tls}}});
    // The committed ConfigMap says nothing, so that the entry is all there is to go by.
    let odd = text.replace("name: linkerd-config\n", "name: linkerd-config-old\n");
    let tree = MemoryTree::new([("plane.yaml", odd), ("v.yaml", other.to_string())]);
    let values = |path: &str| {
        let values = vec![RepoPath::new(path).unwrap()];
        [RenderEntry { chart: "linkerd-control-plane".into(), namespace: None, values, output: None }]
    };
    let entries = values("v.yaml");
    let refused = made(&tree, NEW, &Ask { entries: &entries, drift: DriftMode::Overwrite });
    assert!(refused.changes.is_empty() && refused.missing[0].reason.contains("the `render:` entry"));
    let entries = values("none.yaml");
    let wrong = made(&tree, NEW, &Ask { entries: &entries, drift: DriftMode::Overwrite });
    assert_eq!(wrong.missing[0].reason, "none.yaml, which `render:` names, holds no values");
}

/// Charts with a template of our own.
fn world(templates: &[(&str, &str, &str)]) -> World {
    let package = |version: &str| {
        let mut files = files("linkerd-viz", version);
        let own = templates.iter().filter(|(of, ..)| *of == version);
        files.extend(own.map(|(_, path, text)| (format!("templates/{path}"), text.as_bytes().to_vec())));
        pack("linkerd-viz", version, &files)
    };
    let charts = ChartRepository::of(vec![package(OLD), package(NEW)]);
    let bench = Bench::new(&charts.url());
    World { _charts: charts, bench }
}

const UNMARKED: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: unmarked, namespace: linkerd-viz}\ndata: {v: '{{ .Chart.Version }}'}\n";
const HOSTILE: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 'a:b/../../../c', namespace: linkerd-viz}\n";

#[test]
fn unmarked_objects_belong_by_name_and_hostile_names_stay_in_the_tree() {
    let world = world(&[(OLD, "u.yaml", UNMARKED), (NEW, "u.yaml", UNMARKED), (NEW, "v.yaml", HOSTILE)]);
    let job = |version: &str| Job {
        chart: ChartId { name: "linkerd-viz".into(), version: version.into() },
        release: "linkerd-viz".into(),
        namespace: "linkerd-viz".into(),
        values: Vec::new(),
        settings: Vec::new(),
        kube_version: None,
        api_versions: Vec::new(),
        include_crds: false,
        hooks: false,
        take: Take::First,
    };
    let text = world.bench.helm().render(&[job(OLD)]).remove(0).unwrap().to_string();
    // Without Helm's comments nothing says whose the object is.
    let bare = |d: &String| {
        let lines = d.lines().filter(|l| !l.starts_with("# Source"));
        lines.map(|l| format!("{l}\n")).collect::<String>()
    };
    let files =
        documents(&text).iter().map(|d| (format!("viz/{}.yaml", name(d)), bare(d))).collect::<Vec<_>>();
    let tree = MemoryTree::new(files);
    let sets = sets(&tree);
    assert!(sets[0].files.iter().all(|f| f.path.as_str() != "viz/configmap-unmarked.yaml"));
    let to = [("linkerd-viz".to_owned(), NEW.to_owned())].into();
    let made = regenerate(
        &Regenerate {
            tree: &tree,
            committed: &sets,
            uses: &[],
            entries: &[],
            to: &to,
            drift: DriftMode::Refuse,
            kube_version: None,
            knowledge: built_in(),
        },
        &world.bench.helm(),
    );
    assert!(made.missing.is_empty(), "{:?}", made.missing);
    let after = tree.changed(&made.changes);
    assert!(after.text("viz/configmap-unmarked.yaml").contains(NEW));
    let new: Vec<&str> =
        made.changes.iter().filter(|c| c.before_id.is_none()).map(|c| c.path.as_str()).collect();
    assert!(new.contains(&"viz/configmap-a-b-..-..-..-c.yaml"), "{new:?}");
    assert!(new.iter().all(|path| path.starts_with("viz/")));
}

/// Finds every private key in a text, also in base64.
fn keys(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || "+/=".contains(c)));
    let decoded = words.filter(|w| w.len() > 40).filter_map(|w| BASE64_STANDARD.decode(w).ok());
    let decoded = decoded.filter_map(|bytes| String::from_utf8(bytes).ok());
    decoded.chain([text.to_owned()]).filter(|t| t.contains("PRIVATE KEY-----")).collect()
}

fn all_keys(tree: &MemoryTree) -> BTreeSet<String> {
    let texts = tree.entries().iter().map(|e| String::from_utf8(tree.read(e.id).unwrap()).unwrap());
    texts.flat_map(|text| keys(&text)).collect()
}

#[test]
fn a_key_that_was_not_in_git_never_gets_there() {
    let text = committed_text("linkerd-control-plane", "2026.8.3", "{}");
    let tree = MemoryTree::new([("plane.yaml", &text)]);
    assert_eq!(all_keys(&tree).len(), 4);
    for drift in [DriftMode::Refuse, DriftMode::Overwrite] {
        let made = made(&tree, "2026.8.4", &Ask { drift, ..Ask::default() });
        assert!(made.changes.is_empty());
        let missing = &made.missing[0];
        assert!(
            missing.reason.contains("invents") && missing.reason.contains("not in Git"),
            "{}",
            missing.reason
        );
        assert!(missing.mend.contains("externalSecret") && missing.mend.contains("cert-manager"));
    }
    // A Secret that its owner keeps elsewhere is not brought back.
    let without: Documents = documents(&text).into_iter().filter(|d| !d.contains("kind: Secret")).collect();
    let tree = MemoryTree::new([("plane.yaml", joined(&without))]);
    assert!(made(&tree, "2026.9.1", &Ask::default()).changes.is_empty());
    for version in ["2026.8.3", "2026.8.4", "2026.9.1"] {
        let made = made(&tree, version, &Ask { drift: DriftMode::Overwrite, ..Ask::default() });
        assert!(all_keys(&tree.changed(&made.changes)).is_empty(), "{version}");
    }
    let texts = texts();
    let files: Vec<_> = texts.iter().map(|(chart, old, _)| (format!("{chart}.yaml"), old)).collect();
    let tree = MemoryTree::new(files);
    assert_eq!(all_keys(&tree), all_keys(&moved(&tree, NEW)));
}
