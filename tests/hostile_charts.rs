//! A chart, a package, an index, or a `helm` that means harm: nothing outside changes, nobody is called, and it ends.

use std::{
    fs,
    net::TcpListener,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use crate::support::{
    charts::{ChartRepository, Files, Package, archive, pack},
    controls::Fault,
    feed::{Feed, release},
    helm::Bench,
};
use tar::EntryType;
use tempfile::TempDir;
use uplinker::{
    helm::{Layer, Setting, SettingKind, Template},
    render::{ChartId, Job, Manifest, RenderError, Renderer as _, Take},
    sys::cache::{Cache, Headers, Stored},
};

const VERSION: &str = "2026.8.3";

/// One test at a time: each looks at all that is left in the temporary folder, and programs are written here.
struct Scene {
    _one: MutexGuard<'static, ()>,
    listener: TcpListener,
    start: Instant,
}

impl Scene {
    fn new() -> Self {
        static ONE: Mutex<()> = Mutex::new(());
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = temporary();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        Self { _one: one, listener, start: Instant::now() }
    }

    fn address(&self) -> String {
        format!("http://{}", self.listener.local_addr().unwrap())
    }

    /// Nobody called, nothing is left, and it did not take long.
    fn quiet(self) {
        let took = self.start.elapsed();
        assert!(self.listener.accept().is_err(), "somebody called");
        // Other tests of this program lay out charts there too, and clear what they made: what is left stays.
        let made = |entry: &PathBuf| entry.to_string_lossy().contains("uplinker-helm-");
        let left = || fs::read_dir(temporary()).unwrap().map(|entry| entry.unwrap().path()).filter(made);
        let seen: Vec<PathBuf> = left().collect();
        let is_there = || left().any(|folder| seen.contains(&folder));
        let deadline = Instant::now() + Duration::from_secs(60);
        while is_there() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(!is_there(), "{seen:?}");
        let above = [temporary(), temporary().parent().unwrap(), Path::new("/")];
        assert!(above.iter().all(|folder| !folder.join("escaped").exists()));
        assert!(took < Duration::from_secs(90), "{took:?}");
    }
}

/// Returns this process's own temporary folder.
fn temporary() -> &'static Path {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = TempDir::new().unwrap();
        tempfile::env::override_temp_dir(folder.path()).unwrap();
        folder
    });
    folder.path()
}

fn id() -> ChartId {
    ChartId { name: "linkerd-viz".into(), version: VERSION.into() }
}

fn job() -> Job {
    Job {
        chart: id(),
        template: Template { include_crds: true, ..Template::of("linkerd-viz", "linkerd-viz") },
        take: Take::First,
    }
}

/// The same with another wish.
fn asking(wish: impl FnOnce(&mut Template)) -> Job {
    let mut job = job();
    wish(&mut job.template);
    job
}

fn files(more: &[(&str, &str)]) -> Files {
    let chart = format!("apiVersion: v2\nname: linkerd-viz\nversion: {VERSION}\n");
    let mut files = Files::from([("Chart.yaml".to_owned(), chart.into_bytes())]);
    files.extend(more.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())));
    files
}

/// Renders a chart made of a few files, within limits that a test can wait for.
fn render(more: &[(&str, &str)], job: &Job) -> Result<Arc<str>, RenderError> {
    render_package(pack("linkerd-viz", VERSION, &files(more)), job)
}

fn render_package(package: Package, job: &Job) -> Result<Arc<str>, RenderError> {
    let repository = ChartRepository::of(vec![package]);
    let mut bench = Bench::new(&repository.url());
    bench.limits.processor = Duration::from_secs(4);
    bench.limits.output = 4 * 1024 * 1024;
    bench.limits.memory = 768 * 1024 * 1024;
    let helm = bench.helm();
    helm.render(std::slice::from_ref(job)).remove(0)
}

fn of_entries(entries: &[(&str, EntryType, &[u8])]) -> Package {
    let chart = format!("apiVersion: v2\nname: linkerd-viz\nversion: {VERSION}\n");
    let first = ("linkerd-viz/Chart.yaml".to_owned(), EntryType::Regular, chart.as_bytes());
    let rest = entries.iter().map(|(path, kind, bytes)| ((*path).to_owned(), *kind, *bytes));
    Package { bytes: archive([first].into_iter().chain(rest)), ..pack("linkerd-viz", VERSION, &files(&[])) }
}

const OBJECT: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\ndata:\n";

#[test]
fn templates_see_no_cluster_no_network_and_no_file() {
    let scene = Scene::new();
    let address = scene.address();
    let template = format!(
        "{OBJECT}  secret: {{{{ lookup \"v1\" \"Secret\" \"\" \"\" | toJson | quote }}}}\n  \
         host: {{{{ getHostByName \"localhost\" | quote }}}}\n  \
         passwd: {{{{ .Files.Get \"/etc/passwd\" | quote }}}}\n  \
         above: {{{{ .Files.Get \"../../../../etc/passwd\" | quote }}}}\n  \
         glob: {{{{ (.Files.Glob \"/etc/*\").AsConfig | quote }}}}\n  \
         url: {{{{ .Files.Get \"{address}\" | quote }}}}\n"
    );
    let text = render(&[("templates/x.yaml", &template)], &job()).unwrap();
    let manifest = Manifest::parse(text).unwrap();
    let data = manifest.objects[0].at(&["data"]).unwrap();
    let expected =
        serde_json::json!({"secret": "{}", "host": "", "passwd": "", "above": "", "glob": "{}", "url": ""});
    assert_eq!(*data, expected);
    scene.quiet();
}

#[test]
fn nothing_of_the_environment_reaches_a_template() {
    let scene = Scene::new();
    for function in ["env \"PATH\"", "expandenv \"$PATH\""] {
        let template = format!("{OBJECT}  x: {{{{ {function} }}}}\n");
        let error = render(&[("templates/x.yaml", &template)], &job()).unwrap_err();
        assert!(matches!(error, RenderError::Helm { .. }), "{error}");
    }
    scene.quiet();
}

#[test]
fn templates_that_do_not_end_are_ended() {
    let scene = Scene::new();
    let helpers = [
        ("include", "{{ define \"loop\" }}{{ include \"loop\" . }}{{ end }}{{ include \"loop\" . }}"),
        ("template", "{{ define \"loop\" }}{{ template \"loop\" . }}{{ end }}{{ template \"loop\" . }}"),
        ("tpl", "{{ tpl .Values.loop . }}"),
        ("range", "{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}"),
    ];
    for (name, text) in helpers {
        let chart = [("templates/x.yaml", text), ("values.yaml", "loop: '{{ tpl .Values.loop . }}'\n")];
        let error = render(&chart, &job()).unwrap_err();
        assert!(matches!(error, RenderError::Helm { .. } | RenderError::Ceiling { .. }), "{name}: {error}");
        assert!(error.to_string().len() < 1000, "{name}: {error}");
    }
    scene.quiet();
}

#[test]
fn templates_that_print_gigabytes_are_ended() {
    let scene = Scene::new();
    for text in [
        "x: {{ repeat 2000000000 \"x\" }}",
        "x: {{ $x := repeat 1000 \"x\" }}{{ range until 10000000 }}{{ $x }}{{ end }}",
        "x: {{ repeat 6000000 \"x\" }}",
    ] {
        let error = render(&[("templates/x.yaml", text)], &job()).unwrap_err();
        assert!(matches!(error, RenderError::Helm { .. } | RenderError::Ceiling { .. }), "{error}");
    }
    scene.quiet();
}

#[test]
fn archives_that_lead_outside_or_grow_are_refused() {
    let scene = Scene::new();
    let zeros = vec![0; 7 << 20];
    let (file, link) = (EntryType::Regular, EntryType::Symlink);
    let cases: [&[(&str, EntryType, &[u8])]; 9] = [
        &[("linkerd-viz/../../escaped", file, b"x")],
        &[("../escaped", file, b"x")],
        &[("/escaped", file, b"x")],
        &[("linkerd-viz/templates", link, b"/"), ("linkerd-viz/templates/escaped", file, b"x")],
        &[("linkerd-viz/values.yaml", link, b"/etc/passwd")],
        &[("linkerd-viz/values.yaml", EntryType::Link, b"/etc/passwd")],
        &[("linkerd-viz/pipe", EntryType::Fifo, b"")],
        &[("linkerd-viz/Values.yaml", file, b"a: 1"), ("linkerd-viz/values.yaml", file, b"a: 2")],
        &[("linkerd-viz/files/zeros", file, &zeros)],
    ];
    for entries in cases {
        let error = render_package(of_entries(entries), &job()).unwrap_err();
        assert!(matches!(error, RenderError::Package { .. }), "{error}");
    }
    scene.quiet();
}

#[test]
fn a_package_fetches_nothing() {
    let scene = Scene::new();
    let address = scene.address();
    let schema = format!("{{\"$ref\": \"{address}/schema.json\"}}");
    let error = render(&[("values.schema.json", &schema)], &job()).unwrap_err();
    assert!(matches!(error, RenderError::Package { .. }), "{error}");
    let dependencies =
        format!("dependencies:\n- {{name: other, version: 1.0.0, repository: \"{address}\"}}\n");
    let chart = format!("apiVersion: v2\nname: linkerd-viz\nversion: {VERSION}\n{dependencies}");
    let error = render(&[("Chart.yaml", &chart), ("templates/x.yaml", OBJECT)], &job()).unwrap_err();
    assert!(matches!(error, RenderError::Helm { .. }) && error.to_string().contains("other"), "{error}");
    scene.quiet();
}

#[test]
fn values_are_never_addresses_or_paths() {
    let scene = Scene::new();
    let address = scene.address();
    let template = format!("{OBJECT}  x: {{{{ .Values.x | quote }}}}\n");
    let chart = [("templates/x.yaml", template.as_str()), ("values.yaml", "x: default\n")];
    for layer in [format!("{address}/values.yaml"), "/etc/passwd".to_owned(), "git::https://x/y".to_owned()] {
        let values = vec![Layer(layer.as_str().into())];
        let error = render(&chart, &asking(|t| t.values = values.clone())).unwrap_err();
        assert!(matches!(error, RenderError::Helm { .. }), "{error}");
    }
    let file = |name: &str, value: &str| {
        let setting = Setting { name: name.into(), value: value.into(), kind: SettingKind::File };
        render(&chart, &asking(|t| t.settings = vec![setting]))
    };
    assert!(file("x", "/etc/passwd").unwrap().contains("x: \"/etc/passwd\""));
    assert!(file("x", &address).unwrap().contains(&address));
    for name in ["x=/etc/passwd,y", &format!("x={address},y")] {
        assert!(matches!(file(name, "v"), Err(RenderError::Helm { .. })), "{name}");
    }
    for release in ["--post-renderer=/bin/sh", "--dry-run=server", "-f=/etc/passwd", "../x"] {
        let error = render(&chart, &asking(|t| t.release = release.into())).unwrap_err();
        assert!(matches!(error, RenderError::Helm { .. }), "{error}");
    }
    scene.quiet();
}

#[test]
fn names_with_slashes_stay_names() {
    let scene = Scene::new();
    let template = OBJECT.replace("name: x", "name: ../../../escaped") + "  x: y\n";
    let text = render(&[("templates/x.yaml", &template)], &job()).unwrap();
    assert_eq!(Manifest::parse(text).unwrap().objects[0].key.name, "../../../escaped");
    scene.quiet();
}

#[test]
fn a_package_must_be_the_one_that_the_index_names() {
    let scene = Scene::new();
    let package = pack("linkerd-viz", VERSION, &files(&[("templates/x.yaml", OBJECT)]));
    let repository = ChartRepository::of(vec![package.clone()]);
    let bring = |entry: String| {
        repository.write_index(|_| entry.clone());
        Bench::new(&repository.url()).helm().chart(&id()).unwrap_err()
    };
    let good = package.entry(&package.file());
    let other = bring(good.replace(&package.digest(), &"0".repeat(64)));
    assert!(matches!(other, RenderError::Digest { .. }), "{other}");
    let none = bring(good.replace(&format!("digest: {}", package.digest()), "other: x"));
    assert!(matches!(none, RenderError::NoChart { .. }) && none.to_string().contains("digest"), "{none}");
    for url in
        [scene.address(), format!("{}/{}", scene.address(), package.file()), "file:///etc/passwd".to_owned()]
    {
        let elsewhere = bring(good.replace(&format!("- {}", package.file()), &format!("- {url}")));
        assert!(elsewhere.to_string().contains("not where the index is"), "{elsewhere}");
    }
    let renamed = bring(good.replace(VERSION, "2026.8.4"));
    assert!(matches!(renamed, RenderError::NoChart { .. }), "{renamed}");
    scene.quiet();
}

/// The digest is the index's, and the package is sound: of another chart, or another version.
#[test]
fn a_package_must_be_the_chart_that_it_is_offered_as() {
    let scene = Scene::new();
    for (key, other) in [("name", "linkerd-crds"), ("version", "2026.8.2")] {
        let own = if key == "name" { "linkerd-viz" } else { VERSION };
        let chart = format!("apiVersion: v2\nname: linkerd-viz\nversion: {VERSION}\n")
            .replace(&format!("{key}: {own}"), &format!("{key}: {other}"));
        let error = render(&[("Chart.yaml", &chart), ("templates/x.yaml", OBJECT)], &job()).unwrap_err();
        assert!(matches!(&error, RenderError::Package { reason, .. } if reason.contains(other)), "{error}");
    }
    scene.quiet();
}

#[test]
fn a_truncated_or_replaced_package_is_no_package() {
    let scene = Scene::new();
    let feed = Feed::start(&[release("edge-26.8.3", "2026-08-20T10:00:00Z")]);
    let package = pack("linkerd-viz", VERSION, &files(&[("templates/x.yaml", OBJECT)]));
    feed.serve_packages(std::slice::from_ref(&package));
    let bench = Bench::new(&feed.charts());
    let cache = TempDir::new().unwrap();
    let bring = || {
        let helm = bench.cached(Some(cache.path()));
        helm.chart(&id())
    };
    let half = package.bytes[..package.bytes.len() / 2].to_vec();
    let short = crate::support::http::Response { status: 200, body: half, ..Default::default() };
    feed.controls().rules.fault_nth("GET", "*.tgz", 0, 1, Fault::Answer(short));
    assert!(matches!(bring(), Err(RenderError::Digest { .. })), "{:?}", bring());
    assert!(bring().is_ok(), "a bad answer is not kept");
    scene.quiet();
}

/// Somebody put another package of the same name and version where the cache keeps the true one, sound in itself.
#[test]
fn a_package_of_the_cache_must_be_the_one_that_the_index_names_too() {
    let scene = Scene::new();
    let package = pack("linkerd-viz", VERSION, &files(&[("templates/x.yaml", OBJECT)]));
    let other = pack("linkerd-viz", VERSION, &files(&[("templates/evil.yaml", OBJECT)]));
    let repository = ChartRepository::of(vec![package.clone()]);
    let bench = Bench::new(&repository.url());
    let folder = TempDir::new().unwrap();
    let cache = Cache::open(&folder.path().join("charts")).unwrap();
    let name = format!("sha256:{}", package.digest());
    cache.store(&name, &Stored::new(other.bytes.clone(), Headers::default()));
    assert_eq!(cache.load(&name).map(|kept| kept.body), Some(other.bytes), "it lies where it is looked for");
    let helm = bench.cached(Some(folder.path()));
    let chart = helm.chart(&id()).unwrap();
    assert!(chart.files.contains_key("templates/x.yaml"), "{:?}", chart.files.keys());
    assert_eq!(chart.digest, package.digest());
    assert_eq!(cache.load(&name).map(|kept| kept.body), Some(package.bytes), "the true one is kept instead");
    scene.quiet();
}

/// Writes a program that says it is a Helm, and does something else.
fn program(folder: &Path, script: &str) -> PathBuf {
    let path = folder.join("helm");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn run_with(script: &str, seconds: u64) -> Result<Arc<str>, RenderError> {
    let folder = TempDir::new().unwrap();
    let repository =
        ChartRepository::of(vec![pack("linkerd-viz", VERSION, &files(&[("templates/x.yaml", OBJECT)]))]);
    let mut bench = Bench::with_program(&repository.url(), &program(folder.path(), script));
    bench.limits.time = Duration::from_secs(seconds);
    bench.limits.output = 1024 * 1024;
    bench.helm().render(&[asking(|t| t.values = vec![Layer("a: 1".into())])]).remove(0)
}

#[test]
fn a_helm_that_does_not_fit_is_named_with_how_to_get_one() {
    let scene = Scene::new();
    for (script, word) in [
        ("printf v3.13.3", "3.14"),
        ("printf 'Client: v2.17.0'", "version"),
        ("printf v4.0.0-rc.1; exit 1", "version"),
        ("echo 'unknown flag' >&2; exit 1", "unknown flag"),
        ("exit 3", "does not say its version: it ended with exit code 3;"),
        ("kill -SEGV $$", "does not say its version: a signal ended it;"),
        ("sleep 60", "longer than"),
        ("exec yes", "printed more"),
    ] {
        let error = run_with(script, 2).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, RenderError::NoHelm { .. }), "{script}: {text}");
        assert!(text.contains(word) && text.contains("helm.sh/docs"), "{script}: {text}");
    }
    let repository = ChartRepository::of(vec![pack("linkerd-viz", VERSION, &files(&[]))]);
    let bench = Bench::with_program(&repository.url(), Path::new("/nowhere/helm"));
    let error = bench.helm().helm().unwrap_err().to_string();
    assert!(error.contains("/nowhere/helm") && error.contains("helm.sh/docs"), "{error}");
    scene.quiet();
}

#[test]
fn a_helm_that_hangs_or_prints_forever_is_ended() {
    let scene = Scene::new();
    let version = "if [ \"$1\" = version ]; then printf v3.14.0; exit 0; fi";
    for (script, word) in [
        ("sleep 60", "longer than 2 s"),
        ("sleep 60 & sleep 60 & wait", "longer than 2 s"),
        ("exec yes", "printed more than"),
        ("exec yes >&2", "printed more than"),
        ("kill -SEGV $$", "signal 11"),
        ("exit 7", "did not say why"),
        ("echo 'Error: of its own' >&2; exit 1", "helm: of its own"),
        ("printf '\\377'", "no text"),
    ] {
        let error = run_with(&format!("{version}\n{script}"), 2).unwrap_err().to_string();
        assert!(error.contains(word), "{script}: {error}");
    }
    scene.quiet();
}

#[test]
fn helm_is_given_an_empty_world() {
    let scene = Scene::new();
    let script = "if [ \"$1\" = version ]; then printf v3.14.0; exit 0; fi\n\
                  export -p; cat; echo \"arguments: $*\"; echo \"in: $(pwd)\"; ls -a \"$HOME\" none";
    let text = run_with(script, 10).unwrap();
    let mut names: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("export ").or_else(|| line.strip_prefix("declare -x ")))
        .map(|line| line.split('=').next().unwrap())
        .filter(|name| !matches!(*name, "PWD" | "OLDPWD" | "SHLVL" | "_"))
        .collect();
    names.sort_unstable();
    let expected = "ALL_PROXY GOGC HELM_CACHE_HOME HELM_CONFIG_HOME HELM_DATA_HOME HELM_PLUGINS \
                    HELM_REGISTRY_CONFIG HELM_REPOSITORY_CACHE HELM_REPOSITORY_CONFIG HOME HTTPS_PROXY HTTP_PROXY \
                    KUBECONFIG LC_ALL TMPDIR TZ XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_RUNTIME_DIR \
                    XDG_STATE_HOME all_proxy http_proxy https_proxy";
    assert_eq!(names.join(" "), expected, "{text}");
    for line in text.lines().filter(|line| line.to_ascii_lowercase().contains("_proxy=")) {
        assert!(line.contains("http://127.0.0.1:1"), "{line}");
    }
    // Whatever names a file or a folder names one of this run's own.
    let run = text.lines().find_map(|line| line.strip_prefix("in: ")).unwrap();
    assert!(run.starts_with(temporary().to_str().unwrap()) && run.contains("uplinker-helm-"), "{run}");
    let paths = names.iter().filter(|name| {
        !name.to_ascii_lowercase().ends_with("_proxy") && !matches!(**name, "GOGC" | "LC_ALL" | "TZ")
    });
    for name in paths {
        let start = [format!(" {name}='{run}/"), format!(" {name}=\"{run}/")];
        assert!(start.iter().any(|start| text.contains(start)), "{name}: {text}");
    }
    assert!(
        text.lines().rev().take_while(|line| *line != "none:").all(|line| [".", ".."].contains(&line)),
        "{text}"
    );
    assert!(text.contains("--values=values-0.yaml") && text.contains("-- linkerd-viz /"), "{text}");
    scene.quiet();
}
