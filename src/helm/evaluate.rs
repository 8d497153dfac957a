//! Charts of a repository, evaluated to see what reads what.
//!
//! In: a chart's files as they stand in the tree, with some of their texts changed. Out: what Helm prints of them, once
//! for equal questions: in this process, and where the operator has a cache, in later ones too, so that a run in which
//! nothing is new starts no Helm. All charts of a run together have so much time, and one that is over a limit once is
//! not tried again.

use std::{
    collections::HashMap,
    fmt,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use sha2::{Digest as _, Sha256};

use super::{File, Helm, HelmError, Template};
use crate::sys::{cache::Cache, process::Limits};

/// Raised when an answer is to count no longer.
const RULES: &str = "tree-chart/2";
/// Answers that are kept in memory, in bytes.
const KEPT: usize = 32 << 20;

/// Evaluates charts of a repository.
pub trait Evaluate: fmt::Debug + Send + Sync {
    /// Renders the chart of a folder; equal questions have equal answers.
    ///
    /// # Errors
    /// Where nothing comes of it.
    fn evaluate(&self, folder: &str, chart: &[File], asked: &Template) -> Result<Arc<str>, HelmError>;
}

/// [`Evaluate`] by Helm itself, for the charts of one repository in one run.
pub struct Evaluator {
    helm: Arc<Helm>,
    cache: Option<Cache>,
    /// What tells this Helm from another one.
    stamp: OnceLock<Option<String>>,
    kept: Mutex<Kept>,
    /// The time for all charts, and what is left of it.
    together: Duration,
    left: Mutex<Duration>,
    /// The folders of charts that were over a limit.
    over: Mutex<HashMap<String, HelmError>>,
}

#[derive(Default)]
struct Kept {
    answers: HashMap<[u8; 32], Result<Arc<str>, HelmError>>,
    bytes: usize,
}

// === impl Evaluator ===

impl Evaluator {
    /// A chart of applications takes Helm a tenth of a second; nothing of what it prints is kept but versions.
    pub const LIMITS: Limits = Limits {
        processor: Duration::from_secs(5),
        time: Helm::LIMITS.time,
        output: 8 * 1024 * 1024,
        memory: 1024 * 1024 * 1024,
    };

    /// How long all charts of a run may keep processors busy.
    pub const TOGETHER: Duration = Duration::from_secs(120);

    /// Evaluates with a Helm; the cache folder is the operator's.
    pub fn new(helm: Arc<Helm>, cache: Option<&Path>) -> Self {
        let cache = cache.and_then(|folder| Cache::open(&folder.join("tree-charts")));
        Self {
            helm,
            cache,
            stamp: OnceLock::new(),
            kept: Mutex::default(),
            together: Self::TOGETHER,
            left: Mutex::new(Self::TOGETHER),
            over: Mutex::default(),
        }
    }

    /// The same with another time for all charts.
    pub fn within(self, together: Duration) -> Self {
        Self { together, left: Mutex::new(together), ..self }
    }

    /// Returns the lesser of what Helm may use and of what it may use here.
    fn limits(&self) -> Limits {
        let (helm, own) = (self.helm.limits, Self::LIMITS);
        Limits {
            processor: helm.processor.min(own.processor),
            time: helm.time.min(own.time),
            output: helm.output.min(own.output),
            memory: helm.memory.min(own.memory),
        }
    }

    fn stored(&self, key: &str) -> Option<Result<Arc<str>, HelmError>> {
        let stored = String::from_utf8(self.cache.as_ref()?.load_derived(key, RULES)?).ok()?;
        let (kind, text) = stored.split_at_checked(1)?;
        match kind {
            "+" => Some(Ok(text.into())),
            "-" => Some(Err(HelmError::Refused(text.to_owned()))),
            "!" => Some(Err(HelmError::Ceiling(text.to_owned()))),
            _ => None,
        }
    }

    fn store(&self, key: &str, answer: &Result<Arc<str>, HelmError>) {
        let Some(cache) = &self.cache else { return };
        match answer {
            Ok(text) => cache.store_derived(key, RULES, format!("+{text}").as_bytes()),
            Err(HelmError::Refused(words)) => cache.store_derived(key, RULES, format!("-{words}").as_bytes()),
            Err(HelmError::Ceiling(words)) => cache.store_derived(key, RULES, format!("!{words}").as_bytes()),
            // What there is no time for now there may be time for later.
            Err(_) => {}
        }
    }

    /// Says why a chart is not tried.
    fn spared(&self, folder: &str) -> Option<HelmError> {
        let known = lock(&self.over).get(folder).cloned();
        known.or_else(|| {
            let words =
                format!("had no time for it: all charts together have {} s", self.together.as_secs_f32());
            lock(&self.left).is_zero().then_some(HelmError::Late(words))
        })
    }

    fn run(&self, chart: &[File], asked: &Template) -> Result<Arc<str>, HelmError> {
        let mut spent = Duration::ZERO;
        let place = self.helm.lay_out(chart)?;
        let done = self.helm.template_within(&place, asked, self.limits(), &mut spent);
        self.helm.clear(&place);
        let mut left = lock(&self.left);
        *left = left.saturating_sub(spent);
        done.map(Arc::from)
    }

    fn key(&self, chart: &[File], asked: &Template) -> Option<[u8; 32]> {
        let stamp = self.stamp.get_or_init(|| self.helm.identity()).as_ref()?;
        let mut hash = Sha256::new();
        let mut part = |bytes: &[u8]| {
            hash.update(bytes.len().to_be_bytes());
            hash.update(bytes);
        };
        part(stamp.as_bytes());
        part(format!("{asked:?}").as_bytes());
        for file in chart {
            part(file.path.as_bytes());
            part(&file.bytes);
        }
        Some(hash.finalize().into())
    }
}

impl fmt::Debug for Evaluator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Evaluator").finish_non_exhaustive()
    }
}

impl Evaluate for Evaluator {
    fn evaluate(&self, folder: &str, chart: &[File], asked: &Template) -> Result<Arc<str>, HelmError> {
        // Without a program the search for it says what is wrong.
        let Some(key) = self.key(chart, asked) else { return self.run(chart, asked) };
        if let Some(answer) = lock(&self.kept).answers.get(&key) {
            return answer.clone();
        }
        let name: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        let stored = self.stored(&name);
        let is_stored = stored.is_some();
        if let Some(error) = self.spared(folder).filter(|_| !is_stored) {
            return Err(error);
        }
        let answer = stored.unwrap_or_else(|| self.run(chart, asked));
        if let Err(error @ (HelmError::Ceiling(_) | HelmError::Late(_))) = &answer {
            lock(&self.over).insert(folder.to_owned(), error.clone());
        }
        if !is_stored {
            self.store(&name, &answer);
        }
        let mut kept = lock(&self.kept);
        kept.bytes += answer.as_ref().map_or(0, |text| text.len());
        if kept.bytes > KEPT {
            *kept = Kept::default();
        }
        kept.answers.insert(key, answer.clone());
        answer
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
