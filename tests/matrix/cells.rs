//! The dimensions of the matrix, which of their combinations there are, and a sample in which every two values of two
//! dimensions meet.

use std::{collections::BTreeSet, fmt};

/// How what Helm printed lies in the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// As it came.
    OneFile,
    /// A file for each object, and a kustomization.
    PerObject,
    /// `helm template --output-dir`.
    OutputDir,
    /// As `kustomize build` prints it.
    Kustomize,
    /// One `List`, as kubectl prints it.
    List,
    /// One `List` as JSON.
    Json,
    /// With the line ends of Windows.
    Crlf,
    /// With comments that a script puts above and between.
    Banner,
    /// With objects of other people in the same file.
    Beside,
    /// Twice, for two environments.
    TwoEnvironments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Values {
    Default,
    HighAvailability,
    /// Certificates from somewhere else.
    External,
    OwnPrometheus,
}

/// What a person did to it since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Drift {
    None,
    Field,
    Added,
    Removed,
    /// An object is gone that has nondeterministic fields.
    RemovedRandom,
}

/// `drift` in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    Refuse,
    Overwrite,
    Keep,
}

pub const FORMS: [Form; 10] = [
    Form::OneFile,
    Form::PerObject,
    Form::OutputDir,
    Form::Kustomize,
    Form::List,
    Form::Json,
    Form::Crlf,
    Form::Banner,
    Form::Beside,
    Form::TwoEnvironments,
];
pub const CHARTS: [&str; 6] = [
    "linkerd-crds",
    "linkerd-control-plane",
    "linkerd-viz",
    "linkerd-multicluster",
    "linkerd2-cni",
    "linkerd-jaeger",
];
const VALUES: [Values; 4] =
    [Values::Default, Values::HighAvailability, Values::External, Values::OwnPrometheus];
const DRIFTS: [Drift; 5] = [Drift::None, Drift::Field, Drift::Added, Drift::Removed, Drift::RemovedRandom];
const MODES: [Mode; 3] = [Mode::Refuse, Mode::Overwrite, Mode::Keep];

/// One repository of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    pub form: Form,
    pub chart: &'static str,
    pub values: Values,
    pub drift: Drift,
    pub mode: Mode,
}

/// Lists all cells that there are.
pub fn all() -> Vec<Cell> {
    let mut cells = Vec::new();
    for form in FORMS {
        for chart in CHARTS {
            for values in VALUES {
                for drift in DRIFTS {
                    for mode in MODES {
                        cells.push(Cell { form, chart, values, drift, mode });
                    }
                }
            }
        }
    }
    cells.retain(Cell::exists);
    cells
}

/// Chooses cells in which every two values of two dimensions meet that meet anywhere: always the one with most pairs
/// that are still to be met, the first of equals.
pub fn sample(cells: &[Cell]) -> Vec<Cell> {
    let mut open: BTreeSet<(String, String)> = cells.iter().flat_map(|c| c.pairs()).collect();
    let mut chosen = Vec::new();
    while !open.is_empty() {
        let fresh = |cell: &Cell| cell.pairs().iter().filter(|pair| open.contains(pair)).count();
        let best = cells.iter().rev().max_by_key(|cell| fresh(cell)).expect("a cell");
        for pair in best.pairs() {
            open.remove(&pair);
        }
        chosen.push(*best);
    }
    chosen
}

// === impl Cell ===

impl Cell {
    fn exists(&self) -> bool {
        let random = matches!(self.chart, "linkerd-control-plane" | "linkerd-viz" | "linkerd-jaeger");
        let values = match self.values {
            Values::Default => true,
            Values::HighAvailability => !matches!(self.chart, "linkerd-crds" | "linkerd-jaeger"),
            Values::External => random,
            Values::OwnPrometheus => self.chart == "linkerd-viz",
        };
        // With certificates from elsewhere nothing is nondeterministic but the clock of the control plane.
        let clock = self.chart == "linkerd-control-plane" || self.values != Values::External;
        values && (self.drift != Drift::RemovedRandom || random && clock)
    }

    /// Names its value in each dimension.
    pub fn words(&self) -> [String; 5] {
        let Self { form, chart, values, drift, mode } = self;
        [
            format!("{form:?}"),
            (*chart).to_owned(),
            format!("{values:?}"),
            format!("{drift:?}"),
            format!("{mode:?}"),
        ]
    }

    fn pairs(&self) -> Vec<(String, String)> {
        let words = self.words();
        let others = |n: usize| words[n + 1..].iter().map(move |other| (n, other));
        (0..words.len()).flat_map(others).map(|(n, other)| (words[n].clone(), other.clone())).collect()
    }

    /// Tells whether a pattern names it, such as `*/linkerd-viz/*/Removed/*`.
    pub fn is_named(&self, pattern: &str) -> bool {
        let parts: Vec<&str> = pattern.split('/').collect();
        assert_eq!(parts.len(), 5, "{pattern}");
        parts.iter().zip(self.words()).all(|(part, word)| part.split('|').any(|p| p == "*" || p == word))
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words().join("/"))
    }
}
