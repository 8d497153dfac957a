//! One test a rule of the index and a trap of it.

use super::*;

const CONTROL_PLANE: &str = "linkerd-control-plane";

fn address() -> Url {
    Url::parse("https://charts.example.com/edge/index.yaml").unwrap()
}

fn packages(text: &str) -> Packages {
    read(text.as_bytes(), &address()).unwrap()
}

fn one(row: &str) -> Packages {
    packages(&format!("apiVersion: v1\nentries:\n  linkerd-control-plane:\n  - {row}\n"))
}

fn edge(text: &str) -> EdgeVersion {
    text.parse().unwrap()
}

#[test]
fn an_entry_is_read_with_what_the_catalog_keeps() {
    let digest = "7DCBEB53acba2513bdc8c76c8260fe6fa6ded8f9e53adfee655e0b3f70182301";
    let all = one(&format!(
        "{{version: 2026.8.3, appVersion: edge-26.8.3, digest: {digest}, kubeVersion: '>=1.31.0-0', \
          keywords: [mesh], maintainers: [{{name: x}}], urls: [https://helm.linkerd.io/edge/a.tgz]}}"
    ));
    let package = &all.packages[0];
    assert_eq!((package.edge, package.name.as_str()), (edge("edge-26.8.3"), CONTROL_PLANE));
    assert_eq!(package.chart.digest, Some(digest.to_lowercase()));
    assert_eq!(package.chart.kube_version.as_deref(), Some(">=1.31.0-0"));
    assert_eq!(all.remarks, Vec::<String>::new());
}

#[test]
fn addresses_are_resolved_against_the_index() {
    let url = |text: &str| {
        one(&format!("{{version: 2026.8.3, urls: [{text}]}}")).packages.first().map(|p| p.chart.url.clone())
    };
    assert_eq!(url("charts/a.tgz").as_deref(), Some("https://charts.example.com/edge/charts/a.tgz"));
    assert_eq!(url("/a.tgz").as_deref(), Some("https://charts.example.com/a.tgz"));
    assert_eq!(url("http://other.example.com/a.tgz").as_deref(), Some("http://other.example.com/a.tgz"));
    assert_eq!(url("file:///etc/passwd"), None, "a remote index does not point at files");
    let text = "entries: {linkerd-viz: [{version: 2026.8.3, urls: [viz.tgz]}]}";
    let local = read(text.as_bytes(), &Url::parse("file:///mirror/index.yaml").unwrap()).unwrap();
    assert_eq!(local.packages[0].chart.url, "file:///mirror/viz.tgz");
}

#[test]
fn old_schemes_go_by_their_app_version() {
    let all = one("{version: 1.18.4-edge, appVersion: edge-24.1.1, urls: [a.tgz]}");
    assert_eq!(all.packages[0].edge, edge("edge-24.1.1"));
    let all = one("{version: 1.16.11, appVersion: stable-2.14.10, urls: [a.tgz]}");
    assert!(all.packages.is_empty() && all.remarks.len() == 1);
}

#[test]
fn the_releases_own_chart_goes_before_a_rebuild_of_it() {
    let all = packages(
        "entries:\n  linkerd-viz:\n  - {version: 2026.8.3-ours, appVersion: edge-26.8.3, urls: [a.tgz]}\n  \
         - {version: 2026.8.3, appVersion: edge-26.8.3, urls: [b.tgz]}\n",
    );
    assert_eq!(all.packages[0].chart.version, "2026.8.3");
    assert!(all.remarks.iter().any(|r| r.starts_with("linkerd-viz 2026.8.3-ours: ")), "{:?}", all.remarks);
}

#[test]
fn crds_without_app_version_go_by_their_scheme_or_their_siblings_date() {
    let index = |created: &str| {
        packages(&format!(
            "entries:\n  linkerd-crds:\n  - {{version: 2026.8.3, urls: [a.tgz]}}\n  - {{version: 1.9.5-edge, \
             created: '{created}', urls: [b.tgz]}}\n  linkerd-control-plane:\n  - {{version: 1.18.11-edge, \
             appVersion: edge-24.2.5, created: '2024-02-29T20:00:04Z', urls: [c.tgz]}}\n  - {{version: \
             1.18.10-edge, appVersion: edge-24.2.4, created: '2024-02-21T20:00:00Z', urls: [d.tgz]}}\n"
        ))
    };
    let crds = |all: &Packages| {
        all.packages.iter().filter(|p| p.name == "linkerd-crds").map(|p| p.edge).collect::<Vec<_>>()
    };
    assert_eq!(crds(&index("2024-02-29T20:00:00.5Z")), [edge("edge-26.8.3"), edge("edge-24.2.5")]);
    let far = index("2024-02-25T20:00:00Z");
    assert_eq!(crds(&far), [edge("edge-26.8.3")]);
    assert!(far.remarks.iter().any(|r| r.starts_with("linkerd-crds 1.9.5-edge: ")), "{:?}", far.remarks);
}

#[test]
fn dates_of_an_index_that_was_made_anew_tell_nothing() {
    let now = "created: '2026-11-20T21:25:18Z'";
    let all = packages(&format!(
        "entries:\n  linkerd-crds: [{{version: 1.9.5-edge, {now}, urls: [a]}}]\n  linkerd-control-plane:\n  \
         - {{version: 1.18.11-edge, appVersion: edge-24.2.5, {now}, urls: [c]}}\n  \
         - {{version: 1.18.10-edge, appVersion: edge-24.2.4, {now}, urls: [d]}}\n"
    ));
    assert!(all.packages.iter().all(|p| p.name == CONTROL_PLANE), "{:?}", all.packages);
}

#[test]
fn a_broken_entry_costs_only_itself() {
    let all = packages(
        "entries:\n  linkerd-viz:\n  - a text\n  - [a, list]\n  - null\n  - 7\n  - {appVersion: edge-26.8.3}\n  \
         - {version: 2026.8}\n  - {version: [2026.8.1], urls: {a: b}}\n  - {version: 2026.8.2, digest: 12, urls: \
         [[], b.tgz]}\n  - {version: 2026.8.2, version: 2026.8.3, urls: [c.tgz], digest: abc}\n  \
         linkerd-crds: nothing\n  linkerd2-cni: null\n",
    );
    let versions: Vec<_> = all.packages.iter().map(|p| p.chart.version.as_str()).collect();
    assert_eq!(versions, ["2026.8.2", "2026.8.3"]);
    assert!(all.packages.iter().all(|p| p.chart.digest.is_none()));
    assert_eq!(all.remarks.len(), 9, "{:#?}", all.remarks);
}

#[test]
fn charts_of_others_are_left_out() {
    let all = packages(
        "entries:\n  billing-calendar: [{version: 2026.8.2, urls: [a.tgz]}]\n  linkerd-viz: \
         [{version: 2026.8.3, urls: [a.tgz]}, {version: 2026.8.3, urls: [b.tgz]}]\n",
    );
    assert_eq!(all.packages.len(), 1);
    assert!(all.packages[0].chart.url.ends_with("a.tgz"));
    assert!(all.remarks.iter().any(|r| r.contains("has one already")), "{:?}", all.remarks);
}

#[test]
fn what_is_no_index_is_refused_with_its_line() {
    let error = |text: &str| read(text.as_bytes(), &address()).unwrap_err();
    assert!(error("entries:\n  linkerd-viz:\n  - version: 'open\n").contains("line"), "no line");
    assert!(error("{\"message\": \"Not Found\"}").contains("no `entries`"));
    assert!(error("entries: [a]").contains("not a Helm index"));
    assert!(error("just text").contains("not a Helm index"));
    assert!(error("").contains("not a Helm index"));
    assert!(error("entries:\n  linkerd-viz:\n  - version: 2026.8.3\n    urls: [a.tg").contains("line"));
    assert!(error("entries: {a: &a [x], b: *nowhere}").contains("not a Helm index"));
}

#[test]
fn nesting_and_aliases_do_not_exhaust_the_machine() {
    let deep = format!("entries: {{linkerd-viz: {}", "[".repeat(200_000));
    assert!(read(deep.as_bytes(), &address()).is_err());
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for n in 1..20 {
        let refs = vec![format!("*a{}", n - 1); 10].join(", ");
        bomb.push_str(&format!("a{n}: &a{n} [{refs}]\n"));
    }
    bomb.push_str("entries: {linkerd-viz: *a19}\n");
    let before = std::time::Instant::now();
    assert!(read(bomb.as_bytes(), &address()).is_ok_and(|all| all.packages.is_empty()));
    assert!(before.elapsed() < std::time::Duration::from_secs(5));
}
