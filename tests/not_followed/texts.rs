//! Releases that stand in files that no deployer reads are told, with a reason that is true.

use crate::support::tree::{scanned, told};
use uplinker::pins::SkipReason;

#[test]
fn what_a_program_reads_by_a_name_is_told_where_it_is_given() {
    let program = "name: mesh\nruntime: yaml\nconfig:\n  chart:\n    default: 2026.8.1\n    type: string\nresources:\n  crds:\n    \
                   type: kubernetes:helm.sh/v3:Release\n    properties:\n      chart: linkerd-crds\n      version: ${chart}\n";
    let found = scanned(&[
        ("Pulumi.yaml", program),
        ("Pulumi.dev.yaml", "config:\n  mesh:chart: 2026.8.2\n  mesh:days: 2026.8.3\n"),
        ("days.yaml", "chart: 2026.8.2\n"),
    ]);
    assert_eq!(
        told(&found),
        ["Pulumi.dev.yaml:2 2026.8.2 NotFollowed", "Pulumi.yaml:5 2026.8.1 NotFollowed"]
    );
}

#[test]
fn a_tag_of_the_edge_channel_is_told_in_files_that_do_not_speak_of_linkerd() {
    let text = "tag: edge-26.8.2\n";
    let found = scanned(&[
        ("a.json", "{\"tag\": \"edge-26.8.2\"}"),
        ("a.yaml", text),
        ("a.yaml.tpl", text),
        ("b.toml", "tag = 'edge-26.8.2'\n"),
        ("broken.yaml", "tag: edge-26.8.2\na: b: c\n"),
        ("calendar.yaml", "day: 2026.8.2\n"),
        ("calendar.toml", "day = '2026.8.2'\n"),
    ]);
    assert_eq!(told(&found), ["a.json:1 edge-26.8.2 NotFollowed", "a.yaml:1 edge-26.8.2 NotFollowed"]);
    let named: Vec<_> = found.skipped.iter().map(|skip| (skip.path.as_str(), skip.reason)).collect();
    assert_eq!(
        named,
        [
            ("a.yaml.tpl", SkipReason::HelmTemplate),
            ("b.toml", SkipReason::UnknownShape),
            ("broken.yaml", SkipReason::Syntax)
        ]
    );
}

#[test]
fn names_of_channels_and_of_folders_are_told() {
    let images = "images:\n- {name: registry.acme.io/mesh/linkerd-proxy, newTag: stable-2.14.10}\n- {name: \
                  registry.acme.io/mesh/linkerd-controller, newTag: edge-26.8.1}\n";
    let found = told(&scanned(&[("kustomization.yaml", images)]));
    assert!(
        matches!(&*found, [first, second] if first.contains("stable-2.14.10") && second.contains("edge-26.8.1")),
        "{found:?}"
    );
    for (version, elsewhere) in [("edge-26.8.1", 1), ("2026.8.1", 0)] {
        let found = told(&scanned(&[("linkerd/VERSION", version)]));
        assert_eq!(found, [format!("linkerd/VERSION:1 {version} NotFollowed")]);
        // A version of four digits may be anybody's, where nothing says that it is Linkerd's.
        assert_eq!(told(&scanned(&[("mesh/VERSION", version)])).len(), elsewhere, "{version}");
    }
}

#[test]
fn the_version_of_a_package_that_brings_linkerd_is_told() {
    let guix = "(define-public linkerd\n  (package\n    (name \"linkerd\")\n    (version \"2.19.4\")))\n\n(define-public hello\n  (package\n    \
                (name \"hello\")\n    (version \"2.12.1\")))\n";
    let arch =
        "pkgname=linkerd-edge-bin\npkgver=26.6.3\npkgrel=1\nsource=(\"linkerd::https://acme.example/a\")\n";
    let found = scanned(&[("aur/PKGBUILD", arch), ("gnu/packages/mesh.scm", guix)]);
    assert_eq!(told(&found), ["aur/PKGBUILD:2 26.6.3 NotFollowed", "gnu/packages/mesh.scm:4 2.19.4 Channel"]);
}

#[test]
fn a_release_that_a_script_or_a_step_is_given_is_told() {
    let workflow = "jobs:\n  test:\n    strategy:\n      matrix:\n        linkerd-version:\n          - 26.5.1\n          - 26.6.3\n    \
                    steps:\n      - uses: acme/setup-linkerd@v2.1.0\n        with:\n          version: 26.7.1\n";
    let script = "./install-linkerd.sh 26.6.3\ninstall_istio 2.14.10\n";
    let found = scanned(&[(".github/workflows/mesh.yaml", workflow), ("run.sh", script)]);
    assert_eq!(
        told(&found),
        [
            ".github/workflows/mesh.yaml:6 26.5.1 NotFollowed",
            ".github/workflows/mesh.yaml:7 26.6.3 NotFollowed",
            ".github/workflows/mesh.yaml:11 26.7.1 NotFollowed",
            "run.sh:1 26.6.3 NotFollowed"
        ]
    );
}

#[test]
fn what_only_its_path_says_to_be_linkerd_s_is_told() {
    let nix = |version: &str| {
        format!("(callPackage ./generic.nix {{ }}) {{\n  channel = \"edge\";\n  version = {version};\n}}\n")
    };
    let found = scanned(&[
        (".linkerd-version", "26.6.3\n"),
        ("apps/linkerd/values.yaml", "image: {version: stable-2.14.10}\nversion: 2.14.9\n"),
        ("apps/mesh/values.yaml", "image: {version: stable-2.14.10}\n"),
        ("linkerd/VERSION", "v2.14.10\n"),
        ("linkerd/install.sh", "VERSION=stable-2.14.10\n"),
        ("mesh/VERSION", "26.6.3\n"),
        ("linkerd-await/VERSION", "2.14.10\n"),
        (
            "linkerd/.terraform.lock.hcl",
            "provider \"registry.terraform.io/hashicorp/helm\" {\n  version = \"2.12.1\"\n}\n",
        ),
        ("pkgs/linkerd/edge.nix", &nix("\"26.6.3\"")),
        ("pkgs/linkerd/other.nix", &nix("\"0.6.3\"")),
        ("pkgs/mesh/edge.nix", &nix("\"26.6.3\"")),
    ]);
    assert_eq!(
        told(&found),
        [
            ".linkerd-version:1 26.6.3 NotFollowed",
            "apps/linkerd/values.yaml:1 stable-2.14.10 Channel",
            "linkerd/VERSION:1 2.14.10 Channel",
            "linkerd/install.sh:1 stable-2.14.10 Channel"
        ]
    );
    let named: Vec<_> = found.skipped.iter().map(|skip| (skip.path.as_str(), skip.reason)).collect();
    assert_eq!(named, [("pkgs/linkerd/edge.nix", SkipReason::UnknownShape)]);
}
