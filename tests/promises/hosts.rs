//! Requests go to the operator's hosts; an address in the repository is never contacted.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use crate::support::{
    charts::ChartRepository,
    mesh::{CONTROL_PLANE, CRDS, SOURCES, WEB},
    repo::{ADA, Change, put},
    scene::{PLATFORM, REPO, Scene, TOKEN},
};

/// A server that answers everything with an empty page, and keeps what it heard.
pub struct Listener {
    port: u16,
    heard: Arc<Mutex<Vec<String>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("its address").port();
        let (heard, stop) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (kept, stopped) = (Arc::clone(&heard), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            for socket in listener.incoming().filter_map(Result::ok) {
                if stopped.load(Ordering::SeqCst) {
                    break;
                }
                kept.lock().expect("no poison").push(answer(socket));
            }
        });
        Self { port, heard, stop, thread: Some(thread) }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// What was said to it so far.
    pub fn heard(&self) -> Vec<String> {
        self.heard.lock().expect("no poison").clone()
    }
}

fn answer(mut socket: TcpStream) -> String {
    let _ = socket.set_read_timeout(Some(Duration::from_secs(2)));
    let mut bytes = [0; 8192];
    let count = socket.read(&mut bytes).unwrap_or(0);
    let _ = socket.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    String::from_utf8_lossy(&bytes[..count]).into_owned()
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the thread up.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[test]
fn a_listener_hears() {
    let listener = Listener::start();
    let mut socket = TcpStream::connect(("127.0.0.1", listener.port())).expect("it listens");
    socket.write_all(b"GET /x HTTP/1.1\r\n\r\n").expect("sent");
    let _ = socket.read_to_end(&mut Vec::new());
    assert!(listener.heard()[0].starts_with("GET /x"));
}

/// Every kind of address that a deployer would follow, all to one listener.
#[test]
fn addresses_in_the_repository_are_never_contacted() {
    let listener = Listener::start();
    let host = format!("http://127.0.0.1:{}", listener.port());
    let sources = SOURCES.replace("https://helm.linkerd.io/edge", &format!("{host}/edge"));
    let argo = format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {{name: linkerd-viz}}\nspec:\n  source:\n    \
         repoURL: {host}/edge\n    chart: linkerd-viz\n    targetRevision: 2026.8.2\n    helm:\n      valueFiles: [\"{host}/values.yaml\"]\n"
    );
    let kustomization = format!(
        "resources:\n  - {host}/base?ref=v1\nhelmCharts:\n  - name: linkerd-crds\n    repo: {host}/edge\n    version: 2026.8.2\n\
         configurations: [\"{host}/c.yaml\"]\n"
    );
    let config = format!("# yaml-language-server: $schema={host}/schema.json\nversion: 1\n");
    let oci = format!(
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {{name: linkerd-crds}}\nspec:\n  \
         url: oci://127.0.0.1:{}/charts/linkerd-crds\n  ref: {{tag: 2026.8.2}}\n",
        listener.port()
    );
    let modules = format!("[submodule \"charts\"]\n\tpath = charts\n\turl = {host}/charts.git\n");
    let git = format!("[remote \"origin\"]\n\turl = {host}/x.git\n[lfs]\n\turl = {host}/lfs\n");
    let pointer = format!("version {host}/spec/v1\noid sha256:{}\nsize 12\n# linkerd\n", "0".repeat(64));
    let mut scene = Scene::new(&[
        ("linkerd/sources.yaml", &sources),
        ("linkerd/crds.yaml", CRDS),
        ("linkerd/control-plane.yaml", CONTROL_PLANE),
        ("apps/web.yaml", WEB),
        ("argo/app.yaml", &argo),
        ("kustomize/kustomization.yaml", &kustomization),
        ("oci.yaml", &oci),
        ("uplinker.yaml", &config),
        (".gitmodules", &modules),
        (".lfsconfig", &git),
        (".gitattributes", "*.yaml filter=lfs\n"),
        ("linkerd/lfs.yaml", &pointer),
    ]);
    renders(&mut scene);
    let tip = scene.repo.tip("main").expect("the tip");
    scene.repo.commit("main", &ADA, "Submodule", &[Change::Submodule("charts", tip)]);
    let _ = scene.run().done().exits(0);
    let _ = scene.command("plan").arg("--diff").done().exits(0);
    let url = scene.github.url(REPO);
    let _ =
        scene.home.run(["pins", &url, "--to", "edge-26.8.3"]).env("UPLINKER_TOKEN", TOKEN).done().exits(0);
    assert_eq!(listener.heard(), Vec::<String>::new());
    assert!(scene.repo.tip(PLATFORM).is_some(), "there was something to propose, so the addresses were read");
    assert!(scene.feed.controls().log.count("GET", "*.tgz") > 0, "charts were fetched and rendered");
}

/// Gives the program a Helm, and charts that it may fetch.
fn renders(scene: &mut Scene) {
    scene.renders = true;
    scene.feed.serve_packages(ChartRepository::new().packages());
}

/// The index names where a chart is: on another host it is not fetched, although it is wanted for the preview.
#[test]
fn addresses_in_the_index_on_other_hosts_are_not_contacted() {
    let listener = Listener::start();
    let mut scene = Scene::new(crate::support::mesh::MESH);
    renders(&mut scene);
    let digest = "0".repeat(64);
    let charts = ["linkerd-crds", "linkerd-control-plane"].map(|chart| {
        let entry = |edge: &str| {
            format!(
                "  - {{version: 20{edge}, appVersion: edge-{edge}, digest: {digest}, urls: [\"http://127.0.0.1:{}/{chart}.tgz\"]}}\n",
                listener.port()
            )
        };
        format!("  {chart}:\n{}{}", entry("26.8.3"), entry("26.8.2"))
    });
    let index = format!("apiVersion: v1\nentries:\n{}", charts.concat());
    let answer = crate::support::http::Response::text(200, index);
    scene.feed.break_always("/edge/index.yaml", crate::support::controls::Fault::Answer(answer));
    let _ = scene.run().done().exits(0);
    let body = scene.only_pull().body.expect("a body");
    assert!(body.contains("not where the index is"), "{body}");
    assert_eq!(listener.heard(), Vec::<String>::new());
}

/// Where a warm run and a cold one ask: the host of the repository and the feed, nothing else.
#[test]
fn a_run_asks_the_repository_and_the_feeds() {
    let mut scene = Scene::new(crate::support::mesh::MESH);
    renders(&mut scene);
    // A proxy sees every request that does not go to the loopback.
    let proxy = Listener::start();
    let address = format!("http://127.0.0.1:{}", proxy.port());
    let run = || {
        let run = scene.run().env("HTTPS_PROXY", &address).env("https_proxy", &address);
        run.env("HTTP_PROXY", &address)
            .env("http_proxy", &address)
            .env("NO_PROXY", "127.0.0.1")
            .env("no_proxy", "127.0.0.1")
    };
    let _ = run().done().exits(0);
    scene.repo.commit("main", &ADA, "More", &[put("note.md", "Linkerd\n")]);
    let _ = run().done().exits(0);
    assert_eq!(proxy.heard(), Vec::<String>::new());
    for line in scene.requests() {
        let ours = line.contains("/acme/config.git/")
            || line.contains("/repos/acme/config")
            || line == "GET /api/v3/user"
            || line == "POST /api/graphql";
        assert!(ours, "{line}");
    }
}
