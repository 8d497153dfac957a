//! The pure part of a run, end to end: tree, scan, plan, edit, second scan, checks.

use std::collections::BTreeMap;

use super::{testing::*, *};
use crate::{
    edit,
    pins::{ScanOptions, Stage, scan},
    plan::{Request, plan, resolve, testing::*},
};

const SOURCES: &str = "apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: linkerd-edge, namespace: linkerd}
spec: {url: https://helm.linkerd.io/edge}
";

const NAMESPACE: &str = "apiVersion: v1
kind: Namespace
metadata:
  name: web
  annotations:
    linkerd.io/inject: enabled
    config.linkerd.io/proxy-version: edge-26.8.2 # follows
";

fn release(chart: &str, version: &str, more: &str) -> String {
    format!(
        "# {chart}
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: {chart}, namespace: linkerd}}
spec:
  chart:
    spec:
      chart: {chart}
      version: {version}
      sourceRef: {{kind: HelmRepository, name: linkerd-edge}}
{more}"
    )
}

fn files() -> BTreeMap<String, String> {
    let control_plane = "  dependsOn: [{name: linkerd-crds}]\n  values:\n    linkerdVersion: edge-26.8.2\n";
    [
        ("mesh/sources.yaml", SOURCES.to_owned()),
        ("mesh/crds.yaml", release("linkerd-crds", "2026.8.2", "")),
        ("mesh/cp.yaml", release("linkerd-control-plane", "'2026.8.2'", control_plane)),
        ("apps/web.yaml", NAMESPACE.to_owned()),
    ]
    .map(|(name, text)| (name.to_owned(), text))
    .into()
}

/// What a pass over the files gives: the files after it, and the findings; `None` where nothing is to do.
type Pass = Option<(BTreeMap<String, String>, Vec<Finding>)>;

fn pass(files: &BTreeMap<String, String>, stage: Stage, to: &str) -> Pass {
    let catalog = catalog(&["edge-26.8.2", "edge-26.8.3"]);
    let (target, options) = (Target::default_all(), Options::default());
    let tree = tree(files);
    let mut inventory = scan(&tree, &ScanOptions::default()).unwrap();
    resolve(&mut inventory, &catalog);
    let request = Request {
        inventory: &inventory,
        target: &target,
        stage,
        to: edge(to),
        hop_towards: None,
        sources: &[],
        catalog: &catalog,
        options: &options,
    };
    let plan = plan(&request).unwrap()?;
    let changes = edit::apply(&plan, &tree).unwrap();
    let mut result = files.clone();
    for file in &changes.files {
        let text = String::from_utf8(file.after.clone().unwrap()).unwrap();
        result.insert(file.path.to_string(), text);
    }
    let mut after = scan(&self::tree(&result), &ScanOptions::default()).unwrap();
    resolve(&mut after, &catalog);
    let findings = verify(&Verification {
        base: "main",
        before: &tree,
        inventory: &inventory,
        plan: &plan,
        changes: &changes,
        after: Some(&after),
        target: &target,
        kubernetes: None,
        control_plane: None,
        catalog: &catalog,
        options: &options,
        rendered: &Renderings::default(),
        clock: &Clock::new(jiff::Timestamp::UNIX_EPOCH),
    });
    Some((result, findings))
}

fn tree(files: &BTreeMap<String, String>) -> MemoryTree {
    MemoryTree::new(files.iter().map(|(name, text)| (name.as_str(), text.as_bytes())))
}

fn moved(files: &BTreeMap<String, String>, folder: &str) -> BTreeMap<String, String> {
    let new = |text: &str| text.replace("2026.8.2", "2026.8.3").replace("edge-26.8.2", "edge-26.8.3");
    let one = |(name, text): (&String, &String)| {
        (name.clone(), if name.starts_with(folder) { new(text) } else { text.clone() })
    };
    files.iter().map(one).collect()
}

#[test]
fn platform_then_proxies_then_nothing() {
    let files = files();
    let (platform, findings) = pass(&files, Stage::Platform, "edge-26.8.3").unwrap();
    assert_eq!(platform, moved(&files, "mesh/"));
    assert!(findings.iter().all(|f| f.severity == Severity::Info), "{findings:?}");
    let (proxies, findings) = pass(&platform, Stage::DataPlane, "edge-26.8.3").unwrap();
    assert_eq!(proxies, moved(&platform, "apps/"));
    assert!(findings.iter().all(|f| f.severity == Severity::Info), "{findings:?}");
    for stage in [Stage::Platform, Stage::DataPlane] {
        assert!(pass(&proxies, stage, "edge-26.8.3").is_none(), "{stage:?}: a second run has nothing to do");
    }
}

#[test]
fn proxies_do_not_go_before_their_control_plane() {
    assert!(pass(&files(), Stage::DataPlane, "edge-26.8.3").is_none());
}

#[test]
fn a_pin_that_cannot_be_edited_blocks_while_the_others_move() {
    let mut files = files();
    let twice = release("linkerd-viz", "2026.8.2", "")
        .replace("      version: 2026.8.2\n", "      version: 2026.8.2\n      version: 2026.8.2\n");
    files.insert("mesh/viz.yaml".into(), twice.clone());
    let (after, findings) = pass(&files, Stage::Platform, "edge-26.8.3").unwrap();
    assert_eq!(after["mesh/viz.yaml"], twice);
    assert!(after["mesh/crds.yaml"].contains("2026.8.3"));
    let blocks: Vec<_> = findings.iter().filter(|f| f.severity == Severity::Block).collect();
    assert!(!blocks.is_empty() && blocks.iter().all(|f| f.check == CheckId::VersionAgreement), "{blocks:?}");
    assert_eq!(blocks[0].place.as_ref().unwrap().path.as_str(), "mesh/viz.yaml");
}

#[test]
fn a_release_that_the_schema_of_a_chart_refuses_blocks() {
    let of_argo = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: apps, namespace: argocd}\nspec: {source: \
                   {repoURL: 'https://example.com/mesh', path: apps, helm: {skipSchemaValidation: SKIPS}}}\n";
    let of_flux = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: apps, namespace: flux-system}\nspec: \
                   {upgrade: {disableSchemaValidation: SKIPS}, chart: {spec: {chart: ./apps, sourceRef: {kind: GitRepository, name: \
                   flux-system}}}}\n";
    let refused = |(path, text): (&str, &str), schema: &str, skips: &str| {
        let schema = format!("{{\"properties\": {{\"linkerd\": {{{schema}}}}}}}");
        let files = [
            (path, text.replace("SKIPS", skips)),
            ("apps/Chart.yaml", "apiVersion: v2\nname: apps\nversion: 0.1.0\n".to_owned()),
            ("apps/values.yaml", "linkerd: 2026.8.2\n".to_owned()),
            ("apps/values.schema.json", schema),
            ("apps/templates/crds.yaml", release("linkerd-crds", "{{ .Values.linkerd | quote }}", "")),
            ("mesh/sources.yaml", SOURCES.to_owned()),
        ];
        let files = files.map(|(path, text)| (path.to_owned(), text)).into();
        let (_, findings) = pass(&files, Stage::Platform, "edge-26.8.3").unwrap();
        let found = findings.into_iter().filter(|finding| finding.check == CheckId::ModelDiff);
        found.map(|finding| (finding.severity, finding.reason)).collect::<Vec<_>>()
    };
    let (listed, pattern) = ("\"enum\": [\"2026.8.1\", \"2026.8.2\"]", "\"pattern\": \"^2026\\\\.8\\\\.\"");
    let wanted = "`apps, value linkerd` can be built today and could not be after this: apps/values.schema.json takes no `2026.8.3` \
                  there";
    for deployer in [
        ("argo/apps.yaml", of_argo),
        ("flux/apps.yaml", of_flux),
        ("helmfile.yaml", "releases:\n- {name: apps, chart: ./apps, skipSchemaValidation: SKIPS}\n"),
        ("fleet.yaml", "helm: {chart: ./apps, skipSchemaValidation: SKIPS}\n"),
    ] {
        let block = [(Severity::Block, wanted.to_owned())];
        assert_eq!(refused(deployer, listed, "false"), block, "{}", deployer.0);
        assert_eq!(refused(deployer, listed, "true"), [], "{}", deployer.0);
        assert_eq!(refused(deployer, pattern, "false"), [], "{}", deployer.0);
    }
    let covered = of_flux.replace("{upgrade", "{valuesFrom: [{kind: Secret, name: mesh}], upgrade");
    let wanted = "`apps, value linkerd` can be built today and may not be after this: apps/values.schema.json takes no `2026.8.3` \
                  there, unless values that are not in this repository are laid over it";
    assert_eq!(
        refused(("flux/apps.yaml", covered.as_str()), listed, "false"),
        [(Severity::Warn, wanted.to_owned())]
    );
}

#[test]
fn a_held_value_stays_and_is_named_as_keeping_images_old() {
    let mut files = files();
    let cp = files.get_mut("mesh/cp.yaml").unwrap();
    *cp = cp.replace("linkerdVersion: edge-26.8.2", "linkerdVersion: edge-26.8.2 # uplinker: hold");
    let (after, findings) = pass(&files, Stage::Platform, "edge-26.8.3").unwrap();
    assert!(after["mesh/cp.yaml"].contains("linkerdVersion: edge-26.8.2 # uplinker: hold"));
    let checks: Vec<_> = findings.iter().map(|f| (f.severity, f.check)).collect();
    assert!(checks.contains(&(Severity::Warn, CheckId::ValuesStaleOverride)), "{checks:?}");
    assert!(checks.contains(&(Severity::Info, CheckId::VersionAgreement)), "{checks:?}");
    assert!(findings.iter().all(|f| f.severity < Severity::Block), "{findings:?}");
}

#[test]
fn an_unreadable_file_with_the_old_release_blocks() {
    let mut files = files();
    files.insert("mesh/broken.yaml".into(), "linkerdVersion: [edge-26.8.2\n".into());
    let (_, findings) = pass(&files, Stage::Platform, "edge-26.8.3").unwrap();
    let first = findings.first().unwrap();
    assert_eq!((first.check, first.severity), (CheckId::Skipped, Severity::Block));
    assert_eq!(first.place.as_ref().unwrap().path.as_str(), "mesh/broken.yaml");
}

#[test]
fn crds_that_nobody_waits_for_are_a_warning() {
    let mut files = files();
    let cp = files.get_mut("mesh/cp.yaml").unwrap();
    *cp = cp.replace("  dependsOn: [{name: linkerd-crds}]\n", "");
    let (_, findings) = pass(&files, Stage::Platform, "edge-26.8.3").unwrap();
    let first = findings.first().unwrap();
    assert_eq!((first.check, first.severity), (CheckId::Order, Severity::Warn), "{findings:?}");
}
