//! Step 9, explain: which pins move and which stay, grouped as a reader takes them in.
//!
//! In: the moves of a plan. Out: [`Row`]s and [`Stays`]. Pure.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::{place, word_of};
use crate::{
    pins::{Form, Pin, PinKind, Reason},
    plan::{NewText, Plan, edge_of},
};

/// How much of a digest tells it from others: `sha256:` and seven digits.
const DIGEST: usize = 14;

/// Pins that move alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Row {
    /// The charts that read it, or what else the pin is, in words.
    pub what: String,
    /// Whether `what` is made of names of charts.
    pub chart: bool,
    /// The text as it stands; of a rendered manifest, its release.
    pub from: String,
    /// The text as it will be; `None` for a digest that is computed again.
    pub to: Option<String>,
    /// `path:line` of each.
    pub places: Vec<String>,
}

/// Pins that stay for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Stays {
    /// The reason, in the words of the contract.
    pub reason: String,
    /// The same as a sentence.
    pub why: &'static str,
    /// `path:line` and text of each.
    pub pins: Vec<(String, String)>,
}

pub(super) fn rows(plan: &Plan) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut known: BTreeMap<(String, String, Option<String>), usize> = BTreeMap::new();
    for (pin, new) in plan.moving() {
        let chart = pin.chart.as_ref().filter(|_| matches!(pin.form, Form::Chart | Form::Rendered));
        let what = chart.map_or_else(|| words(pin.kind).to_owned(), |_| all_of(pin));
        let (from, to) = match (new, edge_of(pin)) {
            // Its text is that of an annotation.
            (NewText::Rendered(_), Some(release)) if plan.undoes.is_none() => {
                (release.to_string(), Some(plan.to.to_string()))
            }
            (NewText::Fixed(text) | NewText::Rendered(text), _) => (pin.value.clone(), Some(text.clone())),
            (NewText::Gone, _) => (pin.value.clone(), Some("none".to_owned())),
            (NewText::LockDigest, _) => (pin.value.chars().take(DIGEST).collect::<String>() + "…", None),
        };
        let key = (what.clone(), from.clone(), to.clone());
        let index = *known.entry(key).or_insert(rows.len());
        match rows.get_mut(index) {
            Some(row) => row.places.push(place(pin)),
            None => rows.push(Row { what, chart: chart.is_some(), from, to, places: vec![place(pin)] }),
        }
    }
    rows
}

pub(super) fn stays(plan: &Plan) -> Vec<Stays> {
    let mut reasons: BTreeMap<Reason, Vec<(String, String)>> = BTreeMap::new();
    for (pin, reason) in plan.staying() {
        reasons.entry(reason).or_default().push((place(pin), pin.value.clone()));
    }
    reasons
        .into_iter()
        .map(|(reason, pins)| Stays { reason: word_of(&reason), why: why(reason), pins })
        .collect()
}

/// Names the charts whose version a pin is, and proxies where it is theirs too.
fn all_of(pin: &Pin) -> String {
    let proxies = pin.of_proxies().map(|_| "proxies");
    let all: BTreeSet<&str> = pin.charts().collect();
    all.into_iter().chain(proxies).collect::<Vec<_>>().join(", ")
}

/// Names a pin that is not a chart's version.
fn words(kind: PinKind) -> &'static str {
    match kind {
        PinKind::FluxHelmRelease | PinKind::FluxHelmChart => "Flux chart version",
        PinKind::FluxOciRepository => "Flux OCI reference",
        PinKind::ArgoApplication | PinKind::ArgoApplicationset => "Argo CD revision",
        PinKind::ArgoGenerator => "Argo CD generator",
        PinKind::ArgoHelmParameter => "Argo CD Helm parameter",
        PinKind::KustomizeHelmChart => "kustomize chart version",
        PinKind::KustomizeImage => "kustomize image tag",
        PinKind::ChartDependency => "chart dependency",
        PinKind::ChartLock => "digest of Chart.lock",
        PinKind::HelmValues => "Helm value",
        PinKind::ProxyAnnotation => "proxy annotation",
        PinKind::Image => "image",
        PinKind::RenderedManifest => "rendered manifest",
        PinKind::Variable => "variable",
        PinKind::Helmfile => "helmfile chart version",
        PinKind::Terraform => "Terraform chart version",
        PinKind::Fleet => "Fleet chart version",
        PinKind::Marker => "marked line",
        PinKind::Other => "text",
    }
}

/// Says in words why a pin stays.
fn why(reason: Reason) -> &'static str {
    match reason {
        Reason::Range => "a range, which moves by itself",
        Reason::Channel => "not of the edge channel",
        Reason::Held => "held by a comment",
        Reason::OptedOut => "not meshed",
        Reason::UpToDate => "not behind",
        Reason::Digest => "fixed by a digest",
        Reason::OwnVersion => "has versions of its own",
        Reason::RetiredChart => "a chart that the channel no longer has",
        Reason::NoEffect => "nothing reads it there",
        Reason::DuplicateKey => "its key is written twice",
        Reason::Alias => "follows its anchor",
        Reason::Shared => "read by something that must not move with it",
        Reason::Encrypted => "the file is encrypted",
        Reason::RequiredHop => "too far behind for one step",
        Reason::ManagedByFlux => "left to Flux's image automation, or with a chart that is",
        Reason::NeedsWorkflowsScope => "below .github/workflows, where the token may not write",
        Reason::Ignored => "proxy pins are configured to be left",
        Reason::Uneditable => "cannot be edited safely",
        Reason::ManualInjection => "written by linkerd inject, which must make it again",
        Reason::MadeByCli => {
            "written by a command of the Linkerd CLI (`multicluster link-gen`, `allow`), which alone makes it again"
        }
        Reason::GivenByAnother => "given by another chart than the label says, with which it goes",
        Reason::NotDeployed => "not deployed from there",
        Reason::NotFollowed => "in a text that something may read, in a way that is not followed",
        Reason::ChartStays => "a value of a chart whose version stays, or is not in this repository",
        Reason::Suspended => "what deploys it is suspended, and takes nothing of a merge",
        Reason::ControlPlaneBehind => "the control plane does not go there",
        Reason::NewerBeside => "another pin of the target is ahead",
    }
}
