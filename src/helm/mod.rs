//! Helm, run so that a chart can do nothing but print.
//!
//! In: a chart's files and what `helm template` is asked for. Out: what it prints. Helm is given nothing to fetch and
//! nothing to find: an unpacked chart, values files of ours, an environment and a home of ours, no plugin, no kubeconfig,
//! proxies that lead to a closed port. It is looked for when it is first needed.

mod command;
mod evaluate;
mod folder;
pub mod key_material;

use std::{
    path::{Path, PathBuf},
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use semver::Version;

use crate::sys::{
    files,
    process::{self, Call, Done, Limits, NotFound, ProcessError},
};
use folder::PrivateFolder;
use key_material::has_private_key;

pub use command::{Layer, Setting, SettingKind, Template};
pub use evaluate::{Evaluate, Evaluator};
pub use folder::File;

/// The oldest Helm that renders as the newest does, and knows the flags that keep it from looking around.
const OLDEST: Version = Version::new(3, 14, 0);

/// How to get one.
const GET: &str = "get one from https://helm.sh/docs/intro/install, or name one with `--helm`";

/// What `helm version` may use.
const VERSION_LIMITS: Limits = Limits {
    processor: Duration::from_secs(20),
    time: Duration::from_secs(30),
    output: 64 * 1024,
    memory: 1024 * 1024 * 1024,
};

/// No more than this of Helm's words is shown.
const WORDS: usize = 600;

/// The `helm` program, and the private folder in which it works.
pub struct Helm {
    program: Option<PathBuf>,
    limits: Limits,
    found: OnceLock<Result<Program, HelmError>>,
    place: OnceLock<Result<PrivateFolder, String>>,
    charts: AtomicUsize,
}

/// A Helm that is fit to be used.
#[derive(Clone, Debug)]
struct Program {
    path: PathBuf,
    version: String,
}

/// What Helm did not do, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HelmError {
    /// No Helm, or one that is too old: the operator's to fix.
    #[error("{reason}; {hint}")]
    Missing {
        /// What is wrong with it.
        reason: String,
        /// What to do, in a clause.
        hint: &'static str,
    },
    /// Helm refused: wrong values, or a chart that asks for more. Its words, shortened.
    #[error("helm: {0}")]
    Refused(String),
    /// It has too much to do, prints too much, or uses too much memory.
    #[error("helm {0}")]
    Ceiling(String),
    /// It waited for too long, or was ended from outside: another time it may not be.
    #[error("helm {0}")]
    Late(String),
    /// The disk or the system failed.
    #[error("{0}")]
    System(String),
}

/// Reads Helm's version; one that was built from its sources says two numbers alone, such as `v3.19`.
fn parsed(version: &str) -> Option<Version> {
    let number = version.trim_start_matches('v');
    Version::parse(number).or_else(|_| Version::parse(&format!("{number}.0"))).ok()
}

// === impl Helm ===

impl Helm {
    /// Linkerd's control plane takes Helm half a second, 100 MB, and prints 100 KB.
    pub const LIMITS: Limits = Limits {
        processor: Duration::from_secs(60),
        time: Duration::from_secs(300),
        output: 32 * 1024 * 1024,
        memory: 2 * 1024 * 1024 * 1024,
    };

    /// Takes note of the operator's program, or of none, which means `helm` on `PATH`; nothing is looked for before it is
    /// asked for.
    pub fn new(program: Option<PathBuf>, limits: Limits) -> Self {
        Self { program, limits, found: OnceLock::new(), place: OnceLock::new(), charts: AtomicUsize::new(0) }
    }

    /// Returns Helm's version, such as `v3.18.2`.
    pub fn version(&self) -> Result<&str, HelmError> {
        self.program().map(|program| &*program.version)
    }

    /// Returns why the program that the operator named is no Helm to work with, where it was asked for and is none.
    /// Starts nothing.
    pub fn misnamed(&self) -> Option<HelmError> {
        self.program.as_ref()?;
        self.found.get()?.as_ref().err().cloned()
    }

    /// Returns what tells the program from another, `None` where there is none. It is known by its bytes: to ask it for
    /// its version takes longer than all the rest of a run in which there is nothing to do.
    pub fn identity(&self) -> Option<String> {
        files::sample(&self.look().ok()?).ok()
    }

    /// Writes a chart where Helm can read it, and returns its folder.
    pub fn lay_out(&self, files: &[File]) -> Result<PathBuf, HelmError> {
        let number = self.charts.fetch_add(1, Ordering::Relaxed);
        self.place()?.lay_out(number, files).map_err(|e| HelmError::System(format!("cannot unpack it: {e}")))
    }

    /// Removes a chart that was laid out.
    fn clear(&self, chart: &Path) {
        if let Some(Ok(place)) = self.place.get() {
            place.clear(chart);
        }
    }

    /// Runs `helm template` on a chart that was laid out.
    pub fn template(&self, chart: &Path, asked: &Template) -> Result<String, HelmError> {
        self.template_within(chart, asked, self.limits, &mut Duration::default())
    }

    /// Says in `spent` how long it kept processors busy; of one that was ended it is all that it may.
    fn template_within(
        &self,
        chart: &Path,
        asked: &Template,
        limits: Limits,
        spent: &mut Duration,
    ) -> Result<String, HelmError> {
        let program = self.program()?;
        let place = self.place()?;
        let run = place.run().map_err(|e| HelmError::System(format!("no private folder for Helm: {e}")))?;
        let layout = command::layout(asked, chart).map_err(HelmError::Refused)?;
        for (name, content) in &layout.files {
            run.write(name, content)
                .map_err(|e| HelmError::System(format!("cannot write values for Helm: {e}")))?;
        }
        let environment = run.environment();
        let call = Call {
            program: &program.path,
            arguments: &layout.arguments,
            environment: &environment,
            folder: run.path(),
            limits,
        };
        let done = process::run(&call);
        *spent = done.as_ref().map_or(limits.processor, |done| done.processor);
        let done = done.map_err(|e| match e {
            ProcessError::Start { .. } | ProcessError::System(_) => HelmError::System(e.to_string()),
            ProcessError::Time(_) | ProcessError::Left => HelmError::Late(e.to_string()),
            ProcessError::Processor(_) | ProcessError::Output(_) | ProcessError::Memory(_) => {
                HelmError::Ceiling(e.to_string())
            }
        })?;
        if done.code != Some(0) {
            let words = shortened(&done.stderr, place.path());
            return Err(match done.signal {
                Some(signal) => HelmError::Late(format!("was ended by signal {signal}: {words}")),
                None if words.is_empty() => HelmError::Refused("it failed and did not say why".to_owned()),
                None => HelmError::Refused(words),
            });
        }
        String::from_utf8(done.stdout)
            .map_err(|_| HelmError::Refused("it printed what is no text".to_owned()))
    }

    fn program(&self) -> Result<&Program, HelmError> {
        self.found.get_or_init(|| self.find()).as_ref().map_err(Clone::clone)
    }

    fn look(&self) -> Result<PathBuf, NotFound> {
        process::find(self.program.as_deref().unwrap_or(Path::new("helm")))
    }

    fn find(&self) -> Result<Program, HelmError> {
        let named = self.program.as_deref();
        let path = self.look().map_err(|reason| {
            let (reason, hint) = match (named, reason) {
                (Some(path), NotFound::Missing) => (format!("there is no program {}", path.display()), GET),
                (Some(path), NotFound::NotExecutable) => {
                    (format!("{} is not executable", path.display()), "make it so with `chmod +x`")
                }
                (None, _) => ("there is no `helm` on PATH".to_owned(), GET),
            };
            HelmError::Missing { reason, hint }
        })?;
        let unfit = |reason| HelmError::Missing { reason, hint: GET };
        // Helm runs in a folder of its own, so that a relative path would lead elsewhere.
        let path = std::path::absolute(&path).unwrap_or(path);
        let done = self
            .ask_version(&path)
            .map_err(|reason| unfit(format!("{} does not say its version: {reason}", path.display())))?;
        let version = String::from_utf8_lossy(&done.stdout).trim().to_owned();
        let parsed = parsed(&version).ok_or_else(|| {
            let answer: String = version.chars().filter(|c| !c.is_control()).take(80).collect();
            let path = path.display();
            unfit(format!("{path} says `{answer}` for its version, which is none of Helm's"))
        })?;
        match parsed >= OLDEST {
            true => Ok(Program { path, version }),
            false => Err(unfit(format!(
                "{} is Helm {version}, and {}.{} or newer is needed",
                path.display(),
                OLDEST.major,
                OLDEST.minor
            ))),
        }
    }

    fn ask_version(&self, program: &Path) -> Result<Done, String> {
        let place = self.place().map_err(|e| e.to_string())?;
        let run = place.run().map_err(|e| e.to_string())?;
        let arguments = ["version".into(), "--template={{.Version}}".into()];
        let environment = run.environment();
        let limits = Limits { time: VERSION_LIMITS.time.min(self.limits.time), ..VERSION_LIMITS };
        let call =
            Call { program, arguments: &arguments, environment: &environment, folder: run.path(), limits };
        let done = process::run(&call).map_err(|e| match e {
            ProcessError::Start { reason, .. } => reason,
            other => format!("it {other}"),
        })?;
        let end = match done.code {
            Some(0) => return Ok(done),
            Some(code) => format!("it ended with exit code {code}"),
            None => "a signal ended it".to_owned(),
        };
        let words = shortened(&done.stderr, run.path());
        Err(if words.is_empty() { end } else { words })
    }

    fn place(&self) -> Result<&PrivateFolder, HelmError> {
        let make = || PrivateFolder::new().map_err(|e| format!("no private folder for Helm: {e}"));
        self.place.get_or_init(make).as_ref().map_err(|e| HelmError::System(e.clone()))
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
