//! Numbers in Terraform that count as releases do, and whose they are.

use crate::support::tree::{scanned, told};

#[test]
fn a_number_that_a_module_from_elsewhere_is_given_is_whose_its_name_says() {
    let main = r#"module "addons" {
  source          = "acme/addons/kubernetes"
  # meshed with Linkerd
  traefik_version = "40.2.0"
  vault_version   = "27.10.10"
  annotations     = { "linkerd.io/inject" = "enabled", helm = "27.10.9" }
  linkerd         = { version = "26.8.2" }
  mesh            = "edge-26.8.1"
}
module "linkerd" {
  source                = "acme/mesh/kubernetes"
  release               = "26.8.3"
  other                 = "40.2.1"
  trust_manager_version = "27.10.8"
}
"#;
    let found = scanned(&[("main.tf", main)]);
    let expected = [
        "main.tf:7 26.8.2 NotFollowed",
        "main.tf:8 edge-26.8.1 NotFollowed",
        "main.tf:12 26.8.3 NotFollowed",
    ];
    assert_eq!(told(&found), expected);
}

#[test]
fn what_linkerd_s_stable_repository_is_asked_for_is_of_another_channel() {
    for version in ["30.3.3", "1.9.3"] {
        let main = format!(
            "resource \"helm_release\" \"viz\" {{\n  name = \"viz\"\n  repository = \"https://helm.linkerd.io/stable\"\n  \
             chart = \"linkerd2-viz\"\n  version = \"{version}\"\n}}\n"
        );
        let found = scanned(&[("main.tf", &main)]);
        assert_eq!(told(&found), [format!("main.tf:5 {version} Channel")]);
    }
}

#[test]
fn what_argo_cd_asks_it_for_is_too() {
    let application = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a, namespace: argocd}\nspec:\n  \
                       destination: {name: a}\n  source:\n    chart: linkerd2-viz\n    repoURL: https://helm.linkerd.io/stable\n    \
                       targetRevision: 30.3.3\n";
    let found = scanned(&[("app.yaml", application)]);
    assert_eq!(told(&found), ["app.yaml:9 30.3.3 Channel"]);
    let other = application.replace("https://helm.linkerd.io/stable", "https://charts.acme.example/linkerd");
    assert_eq!(told(&scanned(&[("app.yaml", &other)])), [""; 0]);
}

#[test]
fn a_range_that_linkerd_s_repository_is_asked_for_takes_releases_by_itself() {
    let of = |chart: &str, address: &str, version: &str| {
        let main = format!(
            "resource \"helm_release\" \"a\" {{\n  name = \"a\"\n  repository = \"{address}\"\n  chart = \"{chart}\"\n  \
             version = \"{version}\"\n}}\n"
        );
        told(&scanned(&[("main.tf", &main)]))
    };
    let (edge, stable) = ("https://helm.linkerd.io/edge", "https://helm.linkerd.io/stable");
    for chart in ["linkerd-failover", "linkerd-viz"] {
        assert_eq!(of(chart, edge, ">0.0.0-0"), ["main.tf:5 >0.0.0-0 Range"], "{chart}");
        assert_eq!(of(chart, stable, "30.x"), ["main.tf:5 30.x Channel"], "{chart}");
    }
    assert_eq!(of("linkerd-failover", edge, "0.1.0-edge"), ["main.tf:5 0.1.0-edge NotFollowed"]);
    assert_eq!(of("linkerd-failover", "https://charts.acme.example", ">0.0.0-0"), [""; 0]);
}
