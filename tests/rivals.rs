//! What is said of Renovate and Dependabot where they would propose the same pins, and that nothing is said where a rule of theirs
//! leaves these alone or their managers do not read the file.

use crate::support::tree::scanned;

const CHART: (&str, &str) = (
    "mesh/Chart.yaml",
    "apiVersion: v2\nname: mesh\nversion: 0.1.0\ndependencies:\n- {name: linkerd-crds, version: 2026.8.2, repository: 'https://helm.linkerd.io/edge'}\n",
);

const RELEASE: &str = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: linkerd, namespace: linkerd}\n\
    spec: {url: 'https://helm.linkerd.io/edge'}\n---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: \
    linkerd-crds, namespace: linkerd}\nspec:\n  chart: {spec: {chart: linkerd-crds, version: 2026.8.2, sourceRef: {kind: HelmRepository, name: linkerd}}}\n";

const APPLICATION: &str = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: crds, namespace: argocd}\nspec:\n  source: \
    {repoURL: 'https://helm.linkerd.io/edge', chart: linkerd-crds, targetRevision: 2026.8.2}\n  destination: {name: a, namespace: linkerd}\n";

const KUSTOMIZATION: &str = "helmCharts:\n- {name: linkerd-crds, repo: 'https://helm.linkerd.io/edge', version: 2026.8.2, releaseName: crds}\n";

const HELMFILE: &str = "repositories: [{name: l, url: 'https://helm.linkerd.io/edge'}]\nreleases:\n- {name: crds, chart: l/linkerd-crds, version: 2026.8.2}\n";

const TERRAFORM: &str = "resource \"helm_release\" \"crds\" {\n  name = \"crds\"\n  repository = \"https://helm.linkerd.io/edge\"\n  \
    chart = \"linkerd-crds\"\n  version = \"2026.8.2\"\n}\n";

const FLEET: &str = "helm: {chart: linkerd-crds, repo: 'https://helm.linkerd.io/edge', version: 2026.8.2}\n";

/// Tells whether the bot of a configuration manages the pin of a file.
fn manages((path, text): (&str, &str), configuration: &str, said: &str) -> bool {
    let found = scanned(&[(path, text), (configuration, said)]);
    assert!(found.pins.iter().any(|pin| pin.stays.is_none()), "{path} has a pin that moves");
    !found.facts.rivals.is_empty()
}

fn renovate(file: (&str, &str), said: &str) -> bool {
    manages(file, "renovate.json5", said)
}

#[test]
fn renovate_is_named_until_a_rule_leaves_the_pins_alone() {
    let of = |said: &str| renovate(CHART, said);
    assert!(of(r#"{"extends": ["config:recommended"]}"#));
    assert!(of("{\n\t// all of them\n\textends: ['config:recommended'], /* and\n */\n}"));
    assert!(!of(r#"{"ignoreDeps": ["linkerd-crds"]}"#));
    assert!(!of(r#"{"enabled": false}"#));
    assert!(!of(r#"{enabledManagers: ["npm"]}"#));
    assert!(of(r#"{enabledManagers: ["helmv3"]}"#));
    assert!(!of(r#"{"helmv3": {"enabled": false}}"#));
    assert!(!of("{"), "it cannot be read");
    let rules = |rules: &str| of(&format!("{{packageRules: [{rules}]}}"));
    for on in [
        "{matchPackageNames: ['/linkerd/'], groupName: mesh}, {matchPackageNames: ['node'], enabled: false}",
        "{matchPackageNames: ['/linkerd/'], matchUpdateTypes: ['major'], enabled: false}",
        "{enabled: false}, {matchPackageNames: ['linkerd-*'], enabled: true}",
        "{matchPackageNames: ['*', '!/LINKERD/i'], enabled: false}",
    ] {
        assert!(rules(on), "{on}");
    }
    for off in [
        "{matchPackageNames: ['linkerd-*'], enabled: false}",
        "{matchPackageNames: ['!node'], enabled: false}",
        "{matchPackagePatterns: ['^linkerd'], enabled: false}",
        "{matchManagers: ['helmv3'], enabled: false}",
        "{matchDatasources: ['helm'], matchDepNames: ['*'], enabled: false}",
    ] {
        assert!(!rules(off), "{off}");
    }
}

#[test]
fn the_rule_that_is_told_is_one_that_settles_it() {
    for (configuration, said) in [
        ("renovate.json", "{}"),
        (".github/dependabot.yml", "updates:\n- {package-ecosystem: helm, directory: /mesh}\n"),
    ] {
        let found = scanned(&[CHART, (configuration, said)]);
        let [rival] = &*found.facts.rivals else { panic!("{configuration}: {:?}", found.facts.rivals) };
        let settled = match rival.bot {
            "Renovate" => rival.rule.clone(),
            _ => format!("updates:\n- package-ecosystem: helm\n  {}\n", rival.rule),
        };
        assert!(!manages(CHART, configuration, &settled), "{settled}");
    }
}

#[test]
fn a_manager_reads_the_files_of_its_patterns() {
    for (path, text, by_default) in [
        ("mesh/release.yaml", RELEASE, false),
        ("clusters/a/flux-system/gotk-components.yaml", RELEASE, true),
        ("apps/crds.yaml", APPLICATION, false),
        ("mesh/kustomization.yml", KUSTOMIZATION, true),
        ("helmfile.yaml", HELMFILE, true),
        ("helmfile.d/10-mesh.yaml", HELMFILE, true),
        ("infra/main.tf", TERRAFORM, true),
        ("mesh/fleet.yaml", FLEET, true),
    ] {
        assert_eq!(renovate((path, text), "{}"), by_default, "{path}");
    }
    let release = ("mesh/release.yaml", RELEASE);
    assert!(renovate(release, r#"{"flux": {"managerFilePatterns": ["/^mesh/.+\\.yaml$/"]}}"#));
    assert!(!renovate(release, r#"{"flux": {"managerFilePatterns": ["/^other/.+\\.yaml$/"]}}"#));
    assert!(renovate(release, r#"{"flux": {"managerFilePatterns": ["mesh/**/*.yaml"]}}"#));
    assert!(renovate(("apps/crds.yaml", APPLICATION), r#"{argocd: {fileMatch: ["\\.yaml$"]}}"#));
}
