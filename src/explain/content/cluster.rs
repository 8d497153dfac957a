//! Step 9, explain: what a change does to the objects of a cluster.
//!
//! In: renderings and findings. Out: a [`Cluster`]: counts, what is called out, restarts, what is not known. Pure.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{Certificates, ChartChange, ImageChange, Material, Statement, changes, images, place, statement};
use crate::{
    pins::{Form, PinKind, Stage},
    render::{FieldPath, Object, ObjectDiff, ObjectKey, Rendering, Topic, is_version_only, topic},
    verify::{CheckId, Finding, Severity},
};

/// What changes in the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Cluster {
    /// The charts that were rendered.
    pub charts: Vec<ChartChange>,
    /// Images that differ.
    pub images: Vec<ImageChange>,
    /// What a reviewer looks for first, beyond version strings.
    pub callouts: Vec<Callout>,
    /// Workloads whose pods start anew.
    pub restarts: Vec<Restarts>,
    /// Workloads with another pod template that replace no pod by themselves.
    pub on_delete: Vec<String>,
    /// Certificates.
    pub certificates: Certificates,
    /// Defaults that change under the user's values, where no warning says so.
    pub defaults: Vec<Statement>,
    /// Charts that could not be rendered.
    pub missing: Vec<Missing>,
    /// `path:line` of moving pins that belong to nothing that was rendered, or failed to be.
    pub uncovered: Vec<String>,
    /// Values from outside the tree that were rendered with a stand-in.
    pub stand_ins: Vec<String>,
    /// What else a reader must know of the renderings.
    pub notes: Vec<String>,
    /// What is known of the packages that were rendered.
    pub packages: Vec<String>,
    /// Helm's version.
    pub helm: Option<String>,
    /// How many objects differ, are new or gone.
    pub objects: usize,
    /// How many fields differ.
    pub fields: usize,
    /// How many of them only say the new release.
    pub version_fields: usize,
}

/// What changes of one sort, beyond version strings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Callout {
    /// `CRD`, `RBAC`, `webhook`, `resource` or `port`.
    pub topic: &'static str,
    /// How many fields.
    pub fields: usize,
    /// Objects with such fields, and with `+` or `-` those that are new or gone.
    pub objects: Vec<String>,
}

/// Workloads of one chart whose pods start anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Restarts {
    /// The chart.
    pub chart: String,
    /// The workloads.
    pub workloads: Vec<Restart>,
}

/// A workload whose pods start anew.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Restart {
    /// The workload.
    pub object: String,
    /// Its replicas, where it says so.
    pub replicas: Option<u64>,
    /// How it replaces pods, where it says so.
    pub strategy: Option<String>,
    /// Whether it runs on every node.
    pub every_node: bool,
    /// In how many of the chart's deployments.
    pub times: usize,
}

/// A chart that could not be rendered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Missing {
    /// The chart.
    pub chart: String,
    /// Where it is.
    pub place: String,
    /// Why.
    pub reason: String,
    /// What to do.
    pub hint: String,
    /// Whether a block or a warning says so as well.
    pub told: bool,
}

/// Tells whether this section says what a check found, where it is no warning.
pub(super) fn tells(finding: &Finding, material: &Material<'_>) -> bool {
    match finding.check {
        CheckId::DefaultsChanged | CheckId::ValuesUnknown | CheckId::NotRendered => true,
        // Beside certificates that are listed with their dates.
        CheckId::CertificateExpiry => !material.rendered.done.is_empty(),
        CheckId::ChartDigest => is_of_packages(finding) && !material.rendered.done.is_empty(),
        _ => false,
    }
}

/// What is said of the packages that were rendered: it has no place.
fn is_of_packages(finding: &Finding) -> bool {
    finding.check == CheckId::ChartDigest && finding.severity == Severity::Info && finding.place.is_none()
}

/// What is gathered over all renderings.
#[derive(Default)]
struct Gathered {
    charts: Vec<ChartChange>,
    images: Vec<ImageChange>,
    topics: BTreeMap<&'static str, (usize, BTreeSet<String>)>,
    restarts: BTreeMap<String, BTreeMap<Restart, usize>>,
    on_delete: BTreeSet<String>,
}

// === impl Cluster ===

impl Cluster {
    /// Says what changes.
    pub(super) fn of(material: &Material<'_>) -> Self {
        let rendered = material.rendered;
        let mut gathered = Gathered::default();
        rendered.done.iter().for_each(|rendering| gathered.add(rendering));
        let charts = changes::together(gathered.charts);
        let sum = |of: fn(&ChartChange) -> usize| charts.iter().map(of).sum();
        let info = material.findings.iter().filter(|f| f.severity == Severity::Info);
        let defaults = info.filter(|f| matches!(f.check, CheckId::DefaultsChanged | CheckId::ValuesUnknown));
        Self {
            objects: sum(|c| c.changed + c.added.len() + c.removed.len()),
            fields: sum(|c| c.fields),
            version_fields: sum(|c| c.version_fields),
            charts,
            images: images::together(gathered.images),
            callouts: callouts(gathered.topics),
            restarts: gathered.restarts.into_iter().map(restarts).collect(),
            on_delete: gathered.on_delete.into_iter().collect(),
            certificates: Certificates::of(&rendered.done),
            defaults: defaults.map(statement).collect(),
            missing: missing(material),
            uncovered: uncovered(material),
            stand_ins: once(rendered.done.iter().flat_map(|r| &r.stand_ins)),
            notes: once(rendered.done.iter().flat_map(|r| &r.notes)),
            packages: material
                .findings
                .iter()
                .filter(|f| is_of_packages(f))
                .map(|f| f.reason.clone())
                .collect(),
            helm: rendered.helm.clone(),
        }
    }

    /// Marks what is missing and told by one of these too.
    pub(super) fn tell_apart<'s>(&mut self, statements: impl Iterator<Item = &'s Statement>) {
        let places: BTreeSet<&String> =
            statements.filter(|s| s.check == CheckId::NotRendered).filter_map(|s| s.place.as_ref()).collect();
        for missing in &mut self.missing {
            missing.told = places.contains(&missing.place);
        }
    }
}

// === impl Gathered ===

impl Gathered {
    fn add(&mut self, rendering: &Rendering) {
        let diff = rendering.diff();
        let before: BTreeMap<&ObjectKey, &Object> = by_key(&rendering.before.objects);
        let after: BTreeMap<&ObjectKey, &Object> = by_key(&rendering.after.objects);
        let counts = self.count_topics(rendering, diff);
        self.added_and_removed(diff, &before, &after);
        for change in &diff.changed {
            let pods = |path: &FieldPath| path.starts_with(&["spec", "template"]);
            let moves = change.fields.iter().any(|f| pods(&f.path)) || change.reordered.iter().any(pods);
            let Some(object) = after.get(&change.key).filter(|_| moves && runs_pods(&change.key)) else {
                continue;
            };
            if strategy(object) == Some("OnDelete") {
                self.on_delete.insert(change.key.to_string());
            } else {
                let of_chart = self.restarts.entry(rendering.to.name.clone()).or_default();
                *of_chart.entry(restart(object)).or_default() += 1;
            }
        }
        self.charts.push(changes::of(rendering, diff, &counts));
        self.images.extend(images::of(rendering));
    }

    /// Files what changed beyond the version under its topics, and returns their counts in this rendering.
    fn count_topics(&mut self, rendering: &Rendering, diff: &ObjectDiff) -> Vec<(&'static str, usize)> {
        let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
        for change in &diff.changed {
            for field in &change.fields {
                if is_version_only(field, &rendering.from, &rendering.to) {
                    continue;
                }
                for about in about(&change.key, &field.path, [field.before.as_ref(), field.after.as_ref()]) {
                    *counts.entry(about).or_default() += 1;
                    self.file(about, 1, change.key.to_string());
                }
            }
            for path in &change.reordered {
                for about in about(&change.key, path, [None, None]) {
                    self.file(about, 1, change.key.to_string());
                }
            }
        }
        counts.into_iter().collect()
    }

    fn added_and_removed(
        &mut self,
        diff: &ObjectDiff,
        before: &BTreeMap<&ObjectKey, &Object>,
        after: &BTreeMap<&ObjectKey, &Object>,
    ) {
        for (keys, sign, side) in [(&diff.added, '+', after), (&diff.removed, '-', before)] {
            for key in keys {
                let value = side.get(key).map(|object| &object.value);
                for about in about(key, &FieldPath::default(), [value, None]) {
                    self.file(about, 0, format!("{sign}{key}"));
                }
            }
        }
    }

    fn file(&mut self, topic: &'static str, fields: usize, object: String) {
        let (count, objects) = self.topics.entry(topic).or_default();
        *count += fields;
        objects.insert(object);
    }
}

fn by_key(objects: &[Object]) -> BTreeMap<&ObjectKey, &Object> {
    objects.iter().map(|object| (&object.key, object)).collect()
}

/// Says what a change is about: by its place, and by what is in it where it is more than one value.
fn about(key: &ObjectKey, path: &FieldPath, values: [Option<&Value>; 2]) -> Vec<&'static str> {
    let by_place = match topic(key, path) {
        Topic::Image => Some("image"),
        Topic::Rbac => Some("RBAC"),
        Topic::Crd => Some("CRD"),
        Topic::Webhook => Some("webhook"),
        Topic::Resources => Some("resource"),
        Topic::Ports => Some("port"),
        Topic::Other => None,
    };
    if by_place.is_some() {
        return by_place.into_iter().collect();
    }
    let port =
        |name: &str| name == "port" || name == "ports" || name.ends_with("Port") || name == "containerPorts";
    let mut found = Vec::new();
    if path.keys().next_back().is_some_and(port) && !path.is_inside() {
        found.push("port");
    }
    for (word, named) in [
        ("image", &(|n: &str| n == "image") as &dyn Fn(&str) -> bool),
        ("port", &port),
        ("resource", &|n| n == "resources"),
    ] {
        let held = values.iter().flatten().any(|value| holds(value, named));
        if held && !found.contains(&word) {
            found.push(word);
        }
    }
    found
}

fn holds(value: &Value, named: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::Object(map) => map.iter().any(|(key, value)| named(key) || holds(value, named)),
        Value::Array(list) => list.iter().any(|value| holds(value, named)),
        _ => false,
    }
}

/// Orders the topics by what a reviewer looks for first; images have a list of their own.
fn callouts(mut topics: BTreeMap<&'static str, (usize, BTreeSet<String>)>) -> Vec<Callout> {
    let one = |topic| {
        let (fields, objects) = topics.remove(topic)?;
        Some(Callout { topic, fields, objects: objects.into_iter().collect() })
    };
    ["CRD", "RBAC", "webhook", "port", "resource"].into_iter().filter_map(one).collect()
}

fn runs_pods(key: &ObjectKey) -> bool {
    key.group == "apps" && matches!(key.kind.as_str(), "Deployment" | "DaemonSet" | "StatefulSet")
}

fn strategy(object: &Object) -> Option<&str> {
    ["strategy", "updateStrategy"].iter().find_map(|key| object.text(&["spec", key, "type"]))
}

fn restart(object: &Object) -> Restart {
    Restart {
        object: object.key.to_string(),
        replicas: object.at(&["spec", "replicas"]).and_then(Value::as_u64),
        strategy: strategy(object).map(str::to_owned),
        every_node: object.key.kind == "DaemonSet",
        times: 0,
    }
}

fn restarts((chart, workloads): (String, BTreeMap<Restart, usize>)) -> Restarts {
    let workloads = workloads.into_iter().map(|(workload, times)| Restart { times, ..workload });
    Restarts { chart, workloads: workloads.collect() }
}

/// Says each once, in order.
fn once<'a, T: Ord + ToString + 'a>(all: impl Iterator<Item = &'a T>) -> Vec<String> {
    all.collect::<BTreeSet<_>>().into_iter().map(T::to_string).collect()
}

fn missing(material: &Material<'_>) -> Vec<Missing> {
    let one = |not: &crate::render::NotRendered| Missing {
        chart: not.chart.clone(),
        place: not.line.map_or_else(|| not.path.to_string(), |line| format!("{}:{line}", not.path)),
        reason: not.cause.to_string(),
        hint: format!("{}.", sentence(not.cause.hint())),
        told: false,
    };
    let mut all: Vec<Missing> = material.rendered.missing.iter().map(one).collect();
    all.dedup();
    all
}

/// Begins with a capital letter, unless it begins with code.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().collect::<String>() + chars.as_str()).unwrap_or_default()
}

/// Finds moving pins of whose effect on the cluster nothing is known: no rendering is of their chart.
fn uncovered(material: &Material<'_>) -> Vec<String> {
    let Material { plan, rendered, .. } = *material;
    if plan.stage == Stage::DataPlane {
        return Vec::new();
    }
    let done = rendered.done.iter().map(|r| r.to.name.as_str());
    let seen: BTreeSet<&str> = done.chain(rendered.missing.iter().map(|m| m.chart.as_str())).collect();
    let deployed =
        |kind| !matches!(kind, PinKind::Other | PinKind::Marker | PinKind::Variable | PinKind::ArgoGenerator);
    let pins = plan.moving().map(|(pin, _)| pin);
    pins.filter(|pin| deployed(pin.kind) && pin.form != Form::LockDigest)
        .filter(|pin| pin.chart.is_none() || pin.charts().any(|chart| !seen.contains(chart)))
        .map(place)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::content::testing::{deployment, pod, rendering};

    fn gathered(before: &str, after: &str) -> Gathered {
        let mut gathered = Gathered::default();
        gathered.add(&rendering(before, after));
        gathered
    }

    fn topics(gathered: Gathered) -> Vec<&'static str> {
        callouts(gathered.topics).iter().map(|c| c.topic).collect()
    }

    #[test]
    fn a_version_label_is_no_call_and_a_port_in_a_new_container_is() {
        let label = |v: &str| {
            format!(
                "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {{name: a, labels: {{v: {v}}}}}\n"
            )
        };
        assert!(topics(gathered(&label("edge-26.8.2"), &label("edge-26.8.3"))).is_empty());
        assert_eq!(topics(gathered(&label("x"), &label("y"))), ["RBAC"]);
        let sidecar = deployment("a", 1, "[{name: a, image: 'i:1'}]");
        let more = deployment(
            "a",
            1,
            "[{name: a, image: 'i:1'}, {name: b, image: 'j:1', ports: [{containerPort: 1}]}]",
        );
        assert_eq!(topics(gathered(&sidecar, &more)), ["port"]);
    }

    #[test]
    fn added_objects_are_called_out() {
        let role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: a}\n";
        let found = callouts(gathered("", role).topics);
        assert_eq!(found[0].topic, "RBAC");
        assert!(found[0].objects[0].starts_with("+Role"), "{found:?}");
    }

    #[test]
    fn a_workload_restarts_if_its_pods_change_and_not_else() {
        let before = deployment("a", 2, "[{name: a, image: 'i:edge-26.8.2'}]");
        let after = deployment("a", 2, "[{name: a, image: 'i:edge-26.8.3'}]");
        let found = gathered(&before, &after).restarts;
        assert_eq!(found["linkerd-viz"].keys().next().and_then(|r| r.replicas), Some(2));
        assert!(
            gathered(&before, &deployment("a", 3, "[{name: a, image: 'i:edge-26.8.2'}]")).restarts.is_empty()
        );
        assert!(gathered(&pod("a", "i:1"), &pod("a", "i:2")).restarts.is_empty(), "a pod is not a workload");
        let on_delete =
            |text: &str| text.replace("  replicas", "  updateStrategy: {type: OnDelete}\n  replicas");
        let waits = gathered(&on_delete(&before), &on_delete(&after));
        assert!(
            waits.restarts.is_empty() && waits.on_delete.contains("Deployment n/a"),
            "it waits for somebody"
        );
    }
}
