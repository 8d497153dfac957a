//! Step 7, render: the `helm` program.
//!
//! In: [`Job`]s. Out: what `helm template` prints for them. Helm is given nothing to fetch and nothing to find: an
//! unpacked chart, values files of ours, an environment and a home of ours, no plugin, no kubeconfig, proxies that lead
//! to a closed port. It is looked for when it is first needed, and each job is run once in this value's life.

mod command;
mod folder;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use semver::Version;

use super::{Chart, ChartId, Job, RenderError, Renderer, charts::Charts, key_material::has_private_key};
use crate::{
    release::{Catalog, SourceSetting},
    sys::{
        http::Http,
        process::{self, Call, Done, Limits, NotFound, ProcessError},
    },
};
use folder::PrivateFolder;

/// The oldest Helm that renders as the newest does, and knows the flags that keep it from looking around.
const OLDEST: Version = Version::new(3, 14, 0);

/// How to get one.
const GET: &str = "get one from https://helm.sh/docs/intro/install, or name one with `--helm`";

/// What `helm version` may use.
const VERSION_LIMITS: Limits =
    Limits { time: Duration::from_secs(20), output: 64 * 1024, memory: 1024 * 1024 * 1024 };

/// No more than this of Helm's words is shown.
const WORDS: usize = 600;

/// The operator's settings for Helm.
#[derive(Clone, Debug)]
pub struct HelmOptions {
    /// The program; `helm` on `PATH` where the operator names none.
    pub program: Option<PathBuf>,
    /// What one run may use.
    pub limits: Limits,
    /// Where the chart index is read from: packages come from there and from nowhere else.
    pub index: SourceSetting,
}

/// Renders with the `helm` program, and brings the charts for it.
pub struct Helm<'a> {
    charts: Charts<'a>,
    options: HelmOptions,
    program: OnceLock<Result<Program, RenderError>>,
    place: OnceLock<Result<PrivateFolder, String>>,
    /// Each with the number that is the name of its folder.
    laid_out: Mutex<BTreeMap<ChartId, (usize, Slot<PathBuf>)>>,
    rendered: Mutex<BTreeMap<Job, Slot<Arc<str>>>>,
}

type Slot<T> = Arc<OnceLock<Result<T, RenderError>>>;

/// A Helm that is fit to be used.
#[derive(Clone, Debug)]
struct Program {
    path: PathBuf,
    version: String,
}

/// Reads Helm's version; one that was built from its sources says two numbers alone, such as `v3.19`.
fn parsed(version: &str) -> Option<Version> {
    let number = version.trim_start_matches('v');
    Version::parse(number).or_else(|_| Version::parse(&format!("{number}.0"))).ok()
}

// === impl HelmOptions ===

impl Default for HelmOptions {
    /// Linkerd's control plane takes Helm half a second, 100 MB, and prints 100 KB.
    fn default() -> Self {
        let limits = Limits {
            time: Duration::from_secs(60),
            output: 32 * 1024 * 1024,
            memory: 2 * 1024 * 1024 * 1024,
        };
        Self { program: None, limits, index: crate::release::Sources::default().charts }
    }
}

// === impl Helm ===

impl<'a> Helm<'a> {
    /// Takes note of where to look; nothing is looked for before it is asked for. The cache folder is the operator's.
    pub fn new(http: &'a Http, cache: Option<&Path>, catalog: &'a Catalog, options: HelmOptions) -> Self {
        Self {
            charts: Charts::new(http, cache, catalog, options.index.clone()),
            options,
            program: OnceLock::new(),
            place: OnceLock::new(),
            laid_out: Mutex::default(),
            rendered: Mutex::default(),
        }
    }

    fn program(&self) -> Result<&Program, RenderError> {
        self.program.get_or_init(|| self.find()).as_ref().map_err(Clone::clone)
    }

    fn find(&self) -> Result<Program, RenderError> {
        let named = self.options.program.as_deref();
        let path = process::find(named.unwrap_or(Path::new("helm"))).map_err(|reason| {
            RenderError::NoHelm(match (named, reason) {
                (Some(path), NotFound::Missing) => format!("there is no program {}; {GET}", path.display()),
                (Some(path), NotFound::NotExecutable) => {
                    format!("{} is not executable; make it so with `chmod +x`", path.display())
                }
                (None, _) => format!("there is no `helm` on PATH; {GET}"),
            })
        })?;
        // Helm runs in a folder of its own, so that a relative path would lead elsewhere.
        let path = std::path::absolute(&path).unwrap_or(path);
        let done = self.ask_version(&path).map_err(|reason| {
            RenderError::NoHelm(format!("{} does not say its version: {reason}; {GET}", path.display()))
        })?;
        let version = String::from_utf8_lossy(&done.stdout).trim().to_owned();
        let parsed = parsed(&version).ok_or_else(|| {
            let answer: String = version.chars().filter(|c| !c.is_control()).take(80).collect();
            let path = path.display();
            RenderError::NoHelm(format!(
                "{path} says `{answer}` for its version, which is none of Helm's; {GET}"
            ))
        })?;
        match parsed >= OLDEST {
            true => Ok(Program { path, version }),
            false => Err(RenderError::NoHelm(format!(
                "{} is Helm {version}, and {}.{} or newer is needed; {GET}",
                path.display(),
                OLDEST.major,
                OLDEST.minor
            ))),
        }
    }

    fn ask_version(&self, program: &Path) -> Result<Done, String> {
        let place = self.place()?;
        let run = place.run().map_err(|e| e.to_string())?;
        let arguments = ["version".into(), "--template={{.Version}}".into()];
        let environment = run.environment();
        let limits = Limits { time: VERSION_LIMITS.time.min(self.options.limits.time), ..VERSION_LIMITS };
        let call =
            Call { program, arguments: &arguments, environment: &environment, folder: run.path(), limits };
        let done = process::run(&call).map_err(|e| match e {
            ProcessError::Start { reason, .. } => reason,
            other => format!("it {other}"),
        })?;
        match done.code {
            Some(0) => Ok(done),
            _ => Err(shortened(&done.stderr, run.path())),
        }
    }

    fn place(&self) -> Result<&PrivateFolder, String> {
        let make = || PrivateFolder::new().map_err(|e| format!("no private folder for Helm: {e}"));
        self.place.get_or_init(make).as_ref().map_err(Clone::clone)
    }

    /// Brings a chart and writes it where Helm can read it, once.
    fn lay_out(&self, id: &ChartId) -> Result<PathBuf, RenderError> {
        let (number, slot) = {
            let mut all = self.laid_out.lock().unwrap_or_else(PoisonError::into_inner);
            let number = all.len();
            all.entry(id.clone()).or_insert_with(|| (number, Slot::default())).clone()
        };
        let write = || {
            let package = self.charts.bring(id)?;
            let outside =
                |reason: String| RenderError::Outside { chart: id.clone(), reason, temporary: false };
            let place = self.place().map_err(outside)?;
            place.lay_out(number, &package.files).map_err(|e| outside(format!("cannot unpack it: {e}")))
        };
        slot.get_or_init(write).clone()
    }

    fn run(&self, job: &Job) -> Result<Arc<str>, RenderError> {
        let program = self.program()?;
        let chart = self.lay_out(&job.chart)?;
        let outside =
            |reason: String| RenderError::Outside { chart: job.chart.clone(), reason, temporary: false };
        let helm = |reason: String| RenderError::Helm { chart: job.chart.clone(), reason };
        let place = self.place().map_err(outside)?;
        let run = place.run().map_err(|e| outside(format!("no private folder for Helm: {e}")))?;
        let layout = command::layout(job, &chart).map_err(helm)?;
        for (name, content) in &layout.files {
            run.write(name, content).map_err(|e| outside(format!("cannot write values for Helm: {e}")))?;
        }
        let environment = run.environment();
        let call = Call {
            program: &program.path,
            arguments: &layout.arguments,
            environment: &environment,
            folder: run.path(),
            limits: self.options.limits,
        };
        let done = process::run(&call).map_err(|e| match e {
            ProcessError::Start { .. } | ProcessError::System(_) => outside(e.to_string()),
            _ => RenderError::Ceiling { chart: job.chart.clone(), reason: e.to_string() },
        })?;
        if done.code != Some(0) {
            return Err(helm(match (shortened(&done.stderr, place.path()), done.signal) {
                (words, None) if !words.is_empty() => words,
                (words, Some(signal)) => format!("it was ended by signal {signal}: {words}"),
                (_, None) => "it failed and did not say why".to_owned(),
            }));
        }
        let text =
            String::from_utf8(done.stdout).map_err(|_| helm("it printed what is no text".to_owned()))?;
        Ok(text.into())
    }

    /// Runs what has not been run, over the cores.
    fn run_all(&self, jobs: &[(&Job, Slot<Arc<str>>)]) {
        let waiting: Vec<_> = jobs.iter().filter(|(_, slot)| slot.get().is_none()).collect();
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some((job, slot)) = waiting.get(next.fetch_add(1, Ordering::Relaxed)) {
                slot.get_or_init(|| self.run(job));
            }
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            // This thread is one of them.
            for _ in 1..cores.min(waiting.len()) {
                scope.spawn(work);
            }
            work();
        });
    }
}

impl Renderer for Helm<'_> {
    fn helm(&self) -> Result<String, RenderError> {
        self.program().map(|program| program.version.clone())
    }

    fn misnamed(&self) -> Option<RenderError> {
        self.options.program.as_ref()?;
        self.program.get()?.as_ref().err().cloned()
    }

    fn chart(&self, id: &ChartId) -> Result<Arc<Chart>, RenderError> {
        self.charts.bring(id).map(|package| package.chart)
    }

    fn render(&self, jobs: &[Job]) -> Vec<Result<Arc<str>, RenderError>> {
        if let Err(error) = self.program() {
            return jobs.iter().map(|_| Err(error.clone())).collect();
        }
        let slots: Vec<_> = {
            let mut all = self.rendered.lock().unwrap_or_else(PoisonError::into_inner);
            jobs.iter().map(|job| (job, Arc::clone(all.entry(job.clone()).or_default()))).collect()
        };
        self.run_all(&slots);
        // A slot that another thread fills right now is waited for.
        slots.iter().map(|(job, slot)| slot.get_or_init(|| self.run(job)).clone()).collect()
    }
}

/// Returns what Helm says went wrong, without our private paths, on one line.
fn shortened(stderr: &str, private: &Path) -> String {
    if has_private_key(stderr) {
        return "its words hold a private key and are not shown".to_owned();
    }
    let start = stderr.find("Error: ").map_or(0, |at| at + "Error: ".len());
    let words = stderr.get(start..).unwrap_or_default();
    let words = words.split("\n\nUse --debug flag").next().unwrap_or_default();
    let words = words.replace(&*private.to_string_lossy(), "");
    let plain: String = words.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    match plain.char_indices().nth(WORDS) {
        Some((at, _)) => format!("{} [{} more bytes]", &plain[..at], plain.len() - at),
        None => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_helm_that_was_built_from_its_sources_says_two_numbers() {
        assert!(parsed("v3.22").unwrap() > OLDEST && parsed("v4.2.3+gsdk").unwrap() > OLDEST);
        assert!(parsed("v3.13.9").unwrap() < OLDEST && parsed("v3").is_none() && parsed("helm").is_none());
    }

    #[test]
    fn helms_words_are_shortened_to_what_matters() {
        let private = Path::new("/tmp/private");
        let long = format!(
            "walk.go: found symlink\nError: at /tmp/private/1/x: \u{1b}[31m{}\n\nUse --debug flag to",
            "y".repeat(900)
        );
        let words = shortened(&long, private);
        assert!(words.starts_with("at /1/x: [31myyy") && words.ends_with("more bytes]"), "{words}");
        assert_eq!(shortened("exec failed\n", private), "exec failed");
        assert_eq!(shortened("", private), "");
        let key = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIFxK8lq0bY3vJt1hQmZ2cW5uZ0Jkc2Zhc2Rm\n-----END EC PRIVATE KEY-----";
        let quoted = format!("Error: execution error at (c/templates/x.yaml:1:1): bad value {key:?}");
        assert!(!shortened(&quoted, private).contains("MHcC"));
    }
}
