//! Step 7, render: charts of the index through Helm.
//!
//! In: [`Job`]s. Out: what `helm template` prints for them. Each chart is brought and laid out once, and each job is run
//! once in this value's life.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::{Chart, ChartId, Job, RenderError, Renderer, charts::Charts, job::SYSTEM};
use crate::{
    helm::{Evaluate, Evaluator, Helm, HelmError},
    release::{Catalog, Sources},
    sys::http::Http,
};

/// Renders with the `helm` program, and brings the charts for it.
pub struct ByHelm<'a> {
    charts: Charts<'a>,
    helm: Arc<Helm>,
    evaluator: Arc<Evaluator>,
    laid_out: Mutex<BTreeMap<ChartId, Slot<PathBuf>>>,
    rendered: Mutex<BTreeMap<Job, Slot<Arc<str>>>>,
}

type Slot<T> = Arc<OnceLock<Result<T, RenderError>>>;

// === impl ByHelm ===

impl<'a> ByHelm<'a> {
    /// Packages come from where the chart index is read, and from nowhere else. The cache folder is the operator's.
    pub fn new(
        helm: Arc<Helm>,
        http: &'a Http,
        cache: Option<&Path>,
        catalog: &'a Catalog,
        sources: &Sources,
    ) -> Self {
        Self {
            charts: Charts::new(http, cache, catalog, sources),
            evaluator: Arc::new(Evaluator::new(helm.clone(), cache)),
            helm,
            laid_out: Mutex::default(),
            rendered: Mutex::default(),
        }
    }

    /// Brings a chart and writes it where Helm can read it, once.
    fn lay_out(&self, id: &ChartId) -> Result<PathBuf, RenderError> {
        let slot = {
            let mut all = self.laid_out.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(all.entry(id.clone()).or_default())
        };
        let write = || {
            let package = self.charts.bring(id)?;
            self.helm.lay_out(&package.files).map_err(|error| by_helm(id, error))
        };
        slot.get_or_init(write).clone()
    }

    fn run(&self, job: &Job) -> Result<Arc<str>, RenderError> {
        self.helm.version().map_err(|error| by_helm(&job.chart, error))?;
        let chart = self.lay_out(&job.chart)?;
        let text = self.helm.template(&chart, &job.template).map_err(|error| by_helm(&job.chart, error))?;
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

impl Renderer for ByHelm<'_> {
    fn helm(&self) -> Result<String, RenderError> {
        self.helm.version().map(str::to_owned).map_err(no_helm)
    }

    fn misnamed(&self) -> Option<RenderError> {
        self.helm.misnamed().map(no_helm)
    }

    fn identity(&self) -> Option<String> {
        Some(format!("{} {}", self.helm.identity()?, self.charts.index()))
    }

    fn evaluator(&self) -> Option<Arc<dyn Evaluate>> {
        Some(self.evaluator.clone())
    }

    fn chart(&self, id: &ChartId) -> Result<Arc<Chart>, RenderError> {
        self.charts.bring(id).map(|package| package.chart)
    }

    fn render(&self, jobs: &[Job]) -> Vec<Result<Arc<str>, RenderError>> {
        if let Err(error) = self.helm() {
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

fn no_helm(error: HelmError) -> RenderError {
    match error {
        HelmError::Missing { reason, hint } => RenderError::NoHelm { reason, hint },
        other => RenderError::NoHelm { reason: other.to_string(), hint: SYSTEM },
    }
}

fn by_helm(chart: &ChartId, error: HelmError) -> RenderError {
    let chart = chart.clone();
    match error {
        HelmError::Missing { reason, hint } => RenderError::NoHelm { reason, hint },
        HelmError::Refused(reason) => RenderError::Helm { chart, reason },
        HelmError::Ceiling(reason) | HelmError::Late(reason) => RenderError::Ceiling { chart, reason },
        HelmError::System(reason) => RenderError::Outside { chart, reason, temporary: false },
    }
}
