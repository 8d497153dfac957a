//! Step 9, explain: what a proxy pin does to the workload that it stands in.
//!
//! In: the moving pins of the data plane and their files. Out: [`Workload`]s. Linkerd reads the annotation when a pod is
//! created: on a pod template its change restarts the workload, on a namespace it restarts nothing. Pure.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Material, place};
use crate::{
    pins::{Pin, Stage},
    repo::RepoPath,
    verify::jobs,
    yaml::Stream,
};

/// Kinds whose controller replaces pods when their template changes.
const REPLACED: [&str; 6] =
    ["Deployment", "DaemonSet", "StatefulSet", "Rollout", "DeploymentConfig", "CloneSet"];

/// A workload or namespace that a proxy pin stands in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Workload {
    /// `path:line` of the pin.
    pub place: String,
    /// Kind, namespace and name, as the file has them.
    pub object: Option<String>,
    /// When the new proxy comes.
    pub effect: Effect,
    /// Replicas, where the file says so.
    pub replicas: Option<u64>,
    /// How pods are replaced, where the file says so.
    pub strategy: Option<String>,
    /// Whether all its pods are down for a while when it restarts.
    pub gap: bool,
    /// Whether it runs on every node.
    pub every_node: bool,
}

/// When a workload gets the new proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// Its pod template changes: its controller replaces the pods.
    Restarts,
    /// Pods get it when they start for another reason.
    NextStart,
    /// It is refused while the object is there: a Job never changes its pods.
    Refused,
    /// The file does not tell.
    Unknown,
}

/// Says of each moving proxy pin what it does; nothing for the platform.
pub(super) fn of(material: &Material<'_>) -> Vec<Workload> {
    let Material { plan, tree, .. } = *material;
    if plan.stage == Stage::Platform {
        return Vec::new();
    }
    let mut files: BTreeMap<&RepoPath, Option<Stream>> = BTreeMap::new();
    let pins = plan.moving().map(|(pin, _)| pin);
    let mut all: Vec<Workload> = pins
        .map(|pin| {
            let stream = files.entry(&pin.path).or_insert_with(|| {
                let text = String::from_utf8(tree.read(pin.blob).ok()?).ok()?;
                Stream::parse(&text).ok()
            });
            one(pin, stream.as_ref())
        })
        .collect();
    all.dedup_by(|a, b| a.object.is_some() && a.object == b.object && a.effect == b.effect);
    all.sort_by(|a, b| (a.effect, &a.object).cmp(&(b.effect, &b.object)));
    all
}

fn one(pin: &Pin, stream: Option<&Stream>) -> Workload {
    let unknown = Workload {
        place: place(pin),
        object: None,
        effect: Effect::Unknown,
        replicas: None,
        strategy: None,
        gap: false,
        every_node: false,
    };
    let found = stream.zip(pin.site.route.as_ref()).and_then(|(stream, route)| {
        let root = stream.roots().nth(route.document)?;
        jobs::object(root, &route.steps)
    });
    let Some((object, keys)) = found else { return unknown };
    let text = |keys: &[&str]| object.text(keys).map(str::to_owned);
    let (Some(kind), Some(name)) = (text(&["kind"]), text(&["metadata", "name"])) else { return unknown };
    let in_template = keys.starts_with(&["spec", "template"]);
    let effect = match kind.as_str() {
        kind if in_template && REPLACED.contains(&kind) => Effect::Restarts,
        "Namespace" | "Pod" | "CronJob" => Effect::NextStart,
        "ReplicaSet" if in_template => Effect::NextStart,
        "Job" if in_template && jobs::is_made_anew(object) => Effect::NextStart,
        "Job" if in_template => Effect::Refused,
        _ => Effect::Unknown,
    };
    let namespace = text(&["metadata", "namespace"]).map(|n| format!("{n}/")).unwrap_or_default();
    let strategy = text(&["spec", "strategy", "type"]).or_else(|| text(&["spec", "updateStrategy", "type"]));
    // With `OnDelete` a changed template waits for somebody to delete the pods.
    let effect = if strategy.as_deref() == Some("OnDelete") { Effect::NextStart } else { effect };
    let replicas = text(&["spec", "replicas"]).and_then(|n| n.parse().ok());
    // A Deployment that rolls starts the new pod first; a StatefulSet never has two pods of one name.
    let alone = match kind.as_str() {
        "Deployment" => strategy.as_deref() == Some("Recreate"),
        "StatefulSet" => replicas == Some(1),
        _ => false,
    };
    Workload {
        gap: alone && effect == Effect::Restarts && replicas != Some(0),
        every_node: kind == "DaemonSet",
        object: Some(format!("{kind} {namespace}{name}")),
        effect,
        replicas,
        strategy,
        ..unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::{Route, Step};

    fn effect(text: &str, steps: &[&str]) -> Effect {
        let route = Route { document: 0, steps: steps.iter().map(|s| Step::Key((*s).to_owned())).collect() };
        let inventory = crate::plan::testing::Build::default()
            .proxy("a.yaml", "edge-26.8.2")
            .with(|pin| pin.site.route = Some(route))
            .inventory();
        one(&inventory.pins[0], Some(&Stream::parse(text).unwrap())).effect
    }

    #[test]
    fn what_a_pin_does_depends_on_the_object_that_it_stands_in() {
        let at = ["spec", "template", "metadata", "annotations", "x"];
        let of = |kind: &str| {
            format!("kind: {kind}\nmetadata: {{name: a}}\nspec: {{template: {{metadata: {{}}}}}}\n")
        };
        assert_eq!(effect(&of("Deployment"), &at), Effect::Restarts);
        assert_eq!(effect(&of("Job"), &at), Effect::Refused);
        let forced = of("Job").replace("name: a", "name: a, annotations: {helm.sh/hook: pre-upgrade}");
        assert_eq!(effect(&forced, &at), Effect::NextStart);
        let namespace = "kind: Namespace\nmetadata: {name: a, annotations: {x: y}}\n";
        assert_eq!(effect(namespace, &["metadata", "annotations", "x"]), Effect::NextStart);
        assert_eq!(effect("a: {b: c}\n", &["a", "b"]), Effect::Unknown);
    }
}
