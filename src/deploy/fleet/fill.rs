//! Values of a bundle as Fleet fills them for each cluster.
//!
//! In: layers of values. Out: the same, for one outcome of what the tree does not decide. Fleet writes the values as YAML, fills
//! them as a Go template between `${` and `}`, and reads them again (fleet `internal/cmd/controller/target/builder.go`,
//! `preprocessHelmValues`); what a template asks of the cluster is known to Fleet alone.

use crate::deploy::{
    chart::Layer,
    files::Files,
    go_template::{Budget, Scope, Stop, Templates},
    note::About,
    read,
    value::{Scalar, Value},
};

/// A value that begins with this is that label of the cluster (`processLabelValues`).
const LABEL: &str = "global.fleet.clusterLabels.";
/// What templates may ask of the cluster.
const ASKED: [&str; 5] =
    ["ClusterNamespace", "ClusterName", "ClusterLabels", "ClusterAnnotations", "ClusterValues"];

/// Fills the values of one chart.
pub(super) struct Filler {
    /// Whether the values are templates.
    is_template: bool,
    templates: Templates,
    budget: Budget,
    cluster: Value,
    /// Which outcome is wanted, from 0.
    outcome: usize,
    /// How many there are.
    outcomes: usize,
    /// What was not followed.
    pub notes: Vec<About>,
}

// === impl Filler ===

impl Filler {
    pub fn new(is_template: bool) -> Self {
        let asked = |key: &'static str| (key, Value::Scalar(Scalar::unknown(&format!("Fleet, `.{key}`"))));
        Self {
            is_template,
            templates: Templates::new("${", "}"),
            budget: Budget::default(),
            cluster: Value::map(ASKED.map(asked)),
            outcome: 0,
            outcomes: 1,
            notes: Vec::new(),
        }
    }

    /// Goes on to the next outcome; `false` where there is none.
    pub fn advance(&mut self) -> bool {
        self.outcome += 1;
        self.outcome < self.outcomes
    }

    /// Fills a layer.
    pub fn layer(&mut self, layer: &Layer) -> Layer {
        match layer {
            Layer::Values(values) => {
                let filled = values.with_scalars(&mut |text| self.scalar(text));
                Layer::Values(filled.unwrap_or_else(|| values.clone()))
            }
            other => other.clone(),
        }
    }

    /// Fills values of which each is a text, and YAML then (`processTemplateValuesData`).
    pub fn texts(&mut self, files: &dyn Files, values: &Value) -> Layer {
        let filled = values.entries().map(|(key, value)| {
            let text = value.as_scalar().map(|text| self.scalar(text).unwrap_or_else(|| text.clone()));
            let read =
                text.and_then(|text| read::documents(&text, files.ceilings()).ok()?.into_iter().next());
            (key, read.unwrap_or_else(|| value.clone()))
        });
        Layer::values(&Value::map(filled))
    }

    /// Fills a text; `None` where it is left as it is. Where Fleet refuses one, nothing of the bundle is deployed.
    fn scalar(&mut self, text: &Scalar) -> Option<Scalar> {
        let whole = text.text();
        if whole.starts_with(LABEL) {
            return Some(Scalar::unknown_of(&format!("Fleet, `{whole}`"), [text]));
        }
        if !self.is_template || !self.templates.is_template(&whole) {
            return None;
        }
        match self.filled(text) {
            // The quotes around it are lost on the way.
            Ok(filled) => Some(filled.as_plain()),
            Err(Stop::Bound(bound)) => {
                self.note(About::Bound(bound));
                Some(Scalar::unknown_of("Fleet", [text]))
            }
            Err(Stop::Refused(_) | Stop::Missing(_)) => None,
        }
    }

    fn filled(&mut self, text: &Scalar) -> Result<Scalar, Stop> {
        self.budget.spend(text.text().len())?;
        let scope = Scope {
            dot: &self.cluster,
            inputs: None,
            own: None,
            open: None,
            named: None,
            strict: true,
            outcome: self.outcome,
        };
        let filled = self.templates.fill(text, scope)?;
        self.budget.spend(filled.cost)?;
        self.outcomes = self.outcomes.max(filled.outcomes);
        filled.notes.into_iter().for_each(|about| self.note(about));
        Ok(filled.text)
    }

    fn note(&mut self, about: About) {
        if !self.notes.contains(&about) {
            self.notes.push(about);
        }
    }
}
