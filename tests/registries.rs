//! Charts from OCI registries: readiness, rendering, logins, and what a registry that misbehaves comes to.

use crate::support::{
    charts::{ChartRepository, Package},
    controls::{Entry, Fault},
    feed::{Feed, failing, huge},
    http::Response,
    mesh::{CONTROL_PLANE, CRDS, MESH, SOURCES},
    process::{Done, Run},
    registry::{Login, PASSWORD, Registry, USER},
    scene::{PLATFORM, REPO, Scene, TOKEN},
};

/// What a pull request says where nothing could be rendered.
const NOT_RENDERED: &str = "Not rendered, so not compared";

/// The charts of the release that is pinned, and of the newest one of the feeds.
fn packages() -> Vec<Package> {
    let mut all = ChartRepository::new().packages().to_vec();
    all.retain(|package| ["2026.8.2", "2026.8.3"].contains(&package.version.as_str()));
    all
}

fn package(name: &str, version: &str) -> Package {
    let all = ChartRepository::new();
    let found = all.packages().iter().find(|package| package.name == name && package.version == version);
    found.unwrap().clone()
}

/// A scene that renders, and a run of it with the charts of a registry.
fn with_charts(registry: &Registry) -> (Scene, impl Fn(&Scene) -> Run + use<>) {
    let mut scene = Scene::new(MESH);
    scene.renders = true;
    let own = format!("--charts-url={}", registry.address());
    (scene, move |scene: &Scene| run(scene, &own))
}

fn run(scene: &Scene, charts: &str) -> Run {
    let flags = scene.feed.flags().into_iter().filter(|flag| !flag.starts_with("--charts-url"));
    let run = scene.home.run(["run", "--repo", &scene.github.url(REPO), "--forge", "github"]);
    run.args(flags)
        .arg(charts)
        .env("UPLINKER_TOKEN", TOKEN)
        .env("UPLINKER_HELM", crate::support::helm::helm())
}

fn knowing(run: Run) -> Run {
    run.env("UPLINKER_REGISTRY_USERNAME", USER).env("UPLINKER_REGISTRY_PASSWORD", PASSWORD)
}

/// Runs to the end; the password is nowhere.
fn quietly(run: Run) -> Done {
    run.done().never_says(PASSWORD)
}

fn lines(asked: &[Entry]) -> Vec<String> {
    asked.iter().map(Entry::line).collect()
}

fn body(scene: &Scene) -> String {
    scene.only_pull().body.unwrap()
}

#[test]
fn charts_are_rendered_from_a_registry_and_kept_by_their_digest() {
    let registry = Registry::start(&packages());
    registry.pages_of(1);
    let (scene, run) = with_charts(&registry);
    let _ = quietly(run(&scene)).exits(0);
    let text = body(&scene);
    assert!(!text.contains(NOT_RENDERED) && text.contains("What changes in the cluster"), "{text}");
    let asked = lines(&registry.asked());
    let count = |part: &str| asked.iter().filter(|line| line.contains(part)).count();
    assert_eq!((count("/blobs/"), count("/manifests/")), (4, 4), "{asked:#?}");
    assert_eq!(count("linkerd-crds/tags/list"), 2, "two tags, one a page: {asked:#?}");
    // A plan makes all of it again, and has the packages.
    let plan = scene.home.run(["plan", "--repo", &scene.github.url(REPO), "--forge", "github"]);
    let flags = scene.feed.flags().into_iter().filter(|flag| !flag.starts_with("--charts-url"));
    let plan = plan.args(flags).arg(format!("--charts-url={}", registry.address()));
    let _ =
        plan.env("UPLINKER_TOKEN", TOKEN).env("UPLINKER_HELM", crate::support::helm::helm()).done().exits(0);
    let asked = lines(&registry.asked());
    assert!(asked.iter().any(|line| line.contains("/manifests/")), "{asked:#?}");
    assert!(!asked.iter().any(|line| line.contains("/blobs/")), "{asked:#?}");
}

#[test]
fn every_login_of_the_specification_is_answered() {
    let registry = Registry::start(&packages());
    for login in [Login::Anonymous, Login::Token { lasts: 2 }, Login::Basic] {
        registry.login(login.clone());
        let (scene, run) = with_charts(&registry);
        let run = run(&scene);
        let run = if login == Login::Anonymous { run } else { knowing(run) };
        let _ = quietly(run).exits(0);
        let text = body(&scene);
        assert!(!text.contains(NOT_RENDERED) && !text.contains(PASSWORD), "{login:?}: {text}");
    }
}

#[test]
fn credentials_are_read_as_helm_keeps_them() {
    let registry = Registry::start(&packages());
    registry.login(Login::Basic);
    let (scene, run) = with_charts(&registry);
    let held = quietly(run(&scene)).exits(0);
    let _ = held.prints(&["waits until the chart index can be read", "401"]);
    let file = scene.home.path().join("registries.json");
    let auths = format!(
        "{{\"auths\":{{\"{}\":{{\"username\":\"{USER}\",\"password\":\"{PASSWORD}\"}}}},\"credsStore\":\"/bin/false\"}}",
        registry.server().address()
    );
    std::fs::write(&file, auths).unwrap();
    let _ = quietly(run(&scene).env("HELM_REGISTRY_CONFIG", &file)).exits(0);
    assert!(scene.repo.tip(PLATFORM).is_some());
}

#[test]
fn a_password_goes_to_no_other_host() {
    let (registry, other) = (Registry::start(&packages()), Registry::start(&[]));
    registry.login(Login::Token { lasts: 9 });
    registry.has_tokens_from(&format!("{}/token", other.server().url()));
    let (scene, run) = with_charts(&registry);
    let held = quietly(knowing(run(&scene))).exits(0);
    let _ = held.prints(&["has its tokens from another host in plain text"]);
    assert_eq!(lines(&other.asked()), Vec::<String>::new());
}

/// A registry keeps its blobs elsewhere; what says who asks stays with the registry.
#[test]
fn a_redirect_to_another_host_gets_no_token() {
    let (registry, storage) = (Registry::start(&packages()), Registry::start(&packages()));
    registry.login(Login::Token { lasts: 9 });
    registry.has_blobs_at(&storage.server().url());
    let (scene, run) = with_charts(&registry);
    let _ = quietly(knowing(run(&scene))).exits(0);
    assert!(!body(&scene).contains(NOT_RENDERED), "{}", body(&scene));
    let stored = storage.asked();
    assert_eq!(stored.len(), 4, "{stored:#?}");
    assert!(stored.iter().all(|entry| entry.status == Some(200)), "{stored:#?}");
}

/// A package that is not the one of its manifest is not rendered, whatever is wrong with it.
#[test]
fn a_package_that_is_not_its_digest_is_refused() {
    let crds = package("linkerd-crds", "2026.8.3");
    let longer = [crds.bytes.as_slice(), &[b'x'; 100]].concat();
    let other = package("linkerd-crds", "2026.8.4").bytes;
    let shorter = &crds.bytes[..crds.bytes.len() / 2];
    let cases: [(&[u8], &str); 3] =
        [(shorter, "its package has the digest"), (&longer, "is larger than"), (&other, "")];
    for (bytes, why) in cases {
        let registry = Registry::start(&packages());
        registry.tamper(&crds, bytes);
        let (scene, run) = with_charts(&registry);
        let _ = quietly(run(&scene)).exits(0);
        let text = body(&scene);
        assert!(text.contains(NOT_RENDERED) && text.contains(why), "{why}: {text}");
    }
}

#[test]
fn a_connection_that_breaks_off_is_tried_again() {
    let registry = Registry::start(&packages());
    let rules = &registry.controls().rules;
    rules.fault_nth("GET", "/v2/charts/linkerd-crds/blobs/*", 0, 1, Fault::CutAnswer(100));
    let (scene, run) = with_charts(&registry);
    let _ = quietly(run(&scene)).exits(0);
    assert!(!body(&scene).contains(NOT_RENDERED), "{}", body(&scene));
}

fn json(text: &str) -> Response {
    Response::text(200, text)
}

/// What the list of tags comes to where the registry answers something else.
#[test]
fn a_registry_that_misbehaves_holds_and_says_why() {
    let elsewhere = Registry::start(&packages());
    let next = |link: String| Fault::Answer(json("{\"tags\": [\"2026.8.3\"]}").with("Link", link));
    let cases: [(Fault, &str); 7] = [
        (failing(429), "429"),
        (failing(500), "500"),
        (huge(5 << 20), "is larger than"),
        (Fault::Answer(json("[]")), "is no list of tags"),
        (Fault::Answer(json("<html>")), "HTML"),
        (
            next(format!("<{}/v2/charts/linkerd-crds/tags/list>; rel=\"next\"", elsewhere.server().url())),
            "of another list",
        ),
        (next("</v2/charts/linkerd-crds/tags/list?n=1000>; rel=\"next\"".to_owned()), "have no end"),
    ];
    for (fault, why) in cases {
        let registry = Registry::start(&packages());
        registry.controls().rules.fault_nth("GET", "*/tags/list*", 0, usize::MAX, fault);
        let (scene, run) = with_charts(&registry);
        let _ = quietly(run(&scene)).exits(0).prints(&["waits until the chart index can be read", why]);
    }
    assert_eq!(lines(&elsewhere.asked()), Vec::<String>::new());
}

/// A manifest that is not the one that the registry says it is, or is none of a chart.
#[test]
fn a_manifest_that_is_no_chart_is_refused() {
    let (none, zeros) = ("{\"schemaVersion\": 2, \"layers\": []}", "0".repeat(64));
    let image = "{\"schemaVersion\":2,\"config\":{\"mediaType\":\"application/vnd.oci.image.config.v1+json\",\"digest\":\"x\",\"size\":1},\"layers\":[]}";
    for (text, why) in [(none, "is no manifest"), (image, "is no Helm chart")] {
        let registry = Registry::start(&packages());
        registry.controls().rules.fault_nth("GET", "*/manifests/*", 0, usize::MAX, Fault::Answer(json(text)));
        let (scene, run) = with_charts(&registry);
        let _ = quietly(run(&scene)).exits(0);
        assert!(body(&scene).contains(why), "{}", body(&scene));
    }
    let registry = Registry::start(&packages());
    let crds = package("linkerd-crds", "2026.8.3");
    let manifest = Registry::manifest_of(&crds);
    let lying = json(&manifest).with("Docker-Content-Digest", format!("sha256:{zeros}"));
    registry.controls().rules.fault_nth("GET", "*/manifests/2026.8.3", 0, usize::MAX, Fault::Answer(lying));
    let (scene, run) = with_charts(&registry);
    let _ = quietly(run(&scene)).exits(0);
    assert!(body(&scene).contains("the index says 000000"), "{}", body(&scene));
}

/// A repository whose charts come from a registry.
fn from_registry(registry: &Registry) -> Scene {
    let sources = SOURCES.replace("https://helm.linkerd.io/edge", &registry.address());
    let sources = sources.replace("spec:\n", "spec:\n  type: oci\n");
    Scene::new(&[
        ("linkerd/sources.yaml", &sources),
        ("linkerd/crds.yaml", CRDS),
        ("linkerd/control-plane.yaml", CONTROL_PLANE),
    ])
}

#[test]
fn a_release_waits_until_the_registry_has_its_charts() {
    let registry = Registry::start(&packages());
    registry.remove("linkerd-crds", "2026.8.3");
    let scene = from_registry(&registry);
    let named = || scene.run().arg(format!("--mirror={}", registry.address()));
    let held = named().done().exits(0);
    let why = format!("edge-26.8.3 waits until the mirror {} has linkerd-crds for it", registry.address());
    let _ = held.prints(&[&why]);
    assert!(scene.github.pulls(REPO).is_empty());
    let asked = lines(&registry.asked());
    let expected = [
        "HEAD /v2/charts/linkerd-control-plane/manifests/2026.8.3",
        "HEAD /v2/charts/linkerd-crds/manifests/2026.8.3",
        "GET /v2/charts/linkerd-crds/tags/list?n=1000",
    ];
    assert_eq!(asked, expected);
    registry.push(&package("linkerd-crds", "2026.8.3"));
    registry.login(Login::Token { lasts: 1 });
    let _ = named().done().exits(0).prints(&["can be asked", "401"]);
    assert!(scene.github.pulls(REPO).is_empty());
    let _ = quietly(knowing(named())).exits(0);
    assert!(scene.repo.tip(PLATFORM).is_some());
    assert!(!body(&scene).contains("mirror-unverified"), "{}", body(&scene));
}

/// The name and the password are for one registry; with two nobody can tell for which.
#[test]
fn a_password_for_two_registries_is_an_error() {
    let (one, two) = (Registry::start(&packages()), Registry::start(&packages()));
    let scene = from_registry(&one);
    let run =
        scene.run().arg(format!("--mirror={}", one.address())).arg(format!("--mirror={}", two.address()));
    let _ = quietly(knowing(run)).exits(2).complains(&["for one registry", "HELM_REGISTRY_CONFIG"]);
    assert!(one.asked().is_empty() && two.asked().is_empty());
}

#[test]
fn the_doctor_asks_mirrors_and_registries() {
    let registry = Registry::start(&packages());
    let (index, broken) = (Feed::start(&crate::support::scene::releases()), Feed::start(&[]));
    broken.break_always("*", failing(503));
    let scene = from_registry(&registry);
    let address = |feed: &Feed| feed.charts().trim_end_matches("/index.yaml").to_owned();
    let mirrors = [registry.address(), address(&index), address(&broken)];
    let done = scene
        .command("doctor")
        .arg(format!("--mirror={}", mirrors.join(",")))
        .args(["--format", "json"])
        .done();
    let report = done.exits(0).json();
    let checks = report["checks"].as_array().unwrap().iter().filter(|check| check["name"] == "mirror");
    let said: Vec<String> = checks.map(|check| format!("{} {}", check["state"], check["message"])).collect();
    assert!(said[0].starts_with("\"ok\"") && said[0].contains("has linkerd-crds 2026.8.3"), "{said:#?}");
    assert!(said[1].starts_with("\"ok\"") && said[1].contains("has linkerd-crds 2026.8.3"), "{said:#?}");
    assert!(said[2].starts_with("\"warning\"") && said[2].contains("503"), "{said:#?}");
}
