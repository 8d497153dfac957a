//! The `helm` program for tests: the machine's own, else one that speaks its command line over Helm's SDK.
//!
//! The second is made once below `target/` and shared by all tests; that needs a network once.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::OnceLock,
};

use uplinker::{
    helm::Helm,
    release::{Catalog, Purpose, SourceSetting, Sources, load},
    render::ByHelm,
    sys::{http::Http, process::Limits},
};

/// The oldest that will do.
const OLDEST: (u64, u64) = (3, 14);

/// What a renderer needs beside itself.
pub struct Bench {
    pub http: Http,
    pub catalog: Catalog,
    pub program: PathBuf,
    pub limits: Limits,
    pub sources: Sources,
}

/// Returns the program; fails the test where there is none, and none can be made.
pub fn helm() -> &'static Path {
    static HELM: OnceLock<PathBuf> = OnceLock::new();
    HELM.get_or_init(|| named().or_else(on_path).unwrap_or_else(made))
}

/// Returns where the second one is made.
pub fn place() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("helm")
}

fn named() -> Option<PathBuf> {
    env::var_os("UPLINKER_TEST_HELM").map(PathBuf::from)
}

fn on_path() -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    let program = env::split_paths(&folders).map(|folder| folder.join("helm")).find(|path| path.is_file())?;
    is_fit(&program).then_some(program)
}

/// Tells whether a program says that it is a Helm which is new enough.
fn is_fit(program: &Path) -> bool {
    let output = Command::new(program).args(["version", "--template={{.Version}}"]).output();
    let Some(Output { stdout, .. }) = output.ok().filter(|output| output.status.success()) else {
        return false;
    };
    let text = String::from_utf8_lossy(&stdout).into_owned();
    let mut numbers = text.trim_start_matches('v').split('.').map_while(|number| number.parse::<u64>().ok());
    matches!((numbers.next(), numbers.next()), (Some(major), Some(minor)) if (major, minor) >= OLDEST)
}

fn made() -> PathBuf {
    let (place, program) = (place(), place().join("helm"));
    fs::create_dir_all(place.parent().expect("a folder above")).expect("a writable target folder");
    // Test binaries run at the same time; one makes it, the others wait.
    let lock = fs::File::create(place.with_extension("lock")).expect("a lock");
    lock.lock().expect("the lock");
    if is_fit(&program) {
        return program;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/prepare-helm");
    let output = Command::new(&script).arg(&place).output().expect("the script is started");
    assert!(
        output.status.success() && is_fit(&program),
        "these tests need Helm 3.14 or newer. Install `helm`, or run this once with a network (Debian: python3-venv):\n    \
         tests/support/prepare-helm {}\nIt failed now:\n{}",
        place.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    program
}

/// A Helm that writes down when it is started.
pub struct Recording {
    folder: PathBuf,
}

// === impl Recording ===

impl Recording {
    /// Makes one in a folder; with another remark it is another program.
    pub fn new(folder: &Path, remark: &str) -> Self {
        let recording = Self { folder: folder.to_owned() };
        let script = format!(
            "#!/bin/sh\n# {remark}\necho \"$1\" >> {}\nexec {} \"$@\"\n",
            recording.log().display(),
            std::path::absolute(helm()).expect("a path").display()
        );
        fs::write(recording.program(), script).expect("written");
        fs::set_permissions(recording.program(), fs::Permissions::from_mode(0o755)).expect("a program");
        recording
    }

    /// Returns where it is.
    pub fn program(&self) -> PathBuf {
        self.folder.join("helm")
    }

    /// Counts its starts since this was asked last.
    pub fn starts(&self) -> usize {
        let lines = fs::read_to_string(self.log()).unwrap_or_default().lines().count();
        let _ = fs::remove_file(self.log());
        lines
    }

    fn log(&self) -> PathBuf {
        self.folder.join("helm.log")
    }
}

// === impl Bench ===

impl Bench {
    /// Reads the chart index at an address, and no other feed.
    pub fn new(index: &str) -> Self {
        Self::with_program(index, helm())
    }

    /// The same with another program for Helm.
    pub fn with_program(index: &str, program: &Path) -> Self {
        let charts: SourceSetting = index.parse().expect("a source");
        let off = SourceSetting::Off;
        let sources = Sources {
            versioncheck: off.clone(),
            charts,
            releases: off.clone(),
            milestones: off,
            mirrors: Vec::new(),
            registries: Default::default(),
            releases_token: None,
        };
        let http = Http::new(None).expect("a client");
        let catalog = load(&http, None, &sources, Purpose::Everything).expect("a catalog");
        Self { http, catalog, program: program.to_owned(), limits: Helm::LIMITS, sources }
    }

    /// Returns a renderer without a cache.
    pub fn helm(&self) -> ByHelm<'_> {
        self.cached(None)
    }

    /// Returns a renderer that keeps what it fetched.
    pub fn cached(&self, cache: Option<&Path>) -> ByHelm<'_> {
        let helm = Helm::new(Some(self.program.clone()), self.limits);
        ByHelm::new(helm.into(), &self.http, cache, &self.catalog, &self.sources)
    }
}
