//! Step 9, explain: the first line of a pull request.
//!
//! In: the rest of a content. Out: a [`Verdict`]. It claims only what was computed: of charts that were not rendered
//! it says that they were not. Pure.

use schemars::JsonSchema;
use serde::Serialize;

use super::{ChartChange, Content, Effect, count};
use crate::pins::Stage;

/// The first line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Verdict {
    /// How much there is to do.
    pub weight: Weight,
    /// What was computed of the change, as one sentence without its full stop.
    pub claim: String,
}

/// How much a change asks of its reviewer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Weight {
    /// No check found anything to settle.
    #[default]
    Routine,
    /// The same, but nothing was rendered, so what changes in the cluster is not known.
    Unrendered,
    /// Something is to be read first.
    Attention,
    /// Something must be settled first.
    Blocked,
}

/// Comes to the verdict on a content.
pub(super) fn of(content: &Content) -> Verdict {
    let unrendered = content.stage == Stage::Platform && content.cluster.charts.is_empty();
    let weight = if !content.blocks.is_empty() {
        Weight::Blocked
    } else if !content.warnings.is_empty() || content.undoes.is_some() {
        Weight::Attention
    } else if unrendered {
        Weight::Unrendered
    } else {
        Weight::Routine
    };
    let claim = match content.stage {
        Stage::DataPlane => workloads(content),
        Stage::Platform => objects(content),
    };
    Verdict { weight, claim }
}

fn workloads(content: &Content) -> String {
    let of = |effect| content.next.workloads.iter().filter(|w| w.effect == effect).count();
    let (now, later, unknown) = (of(Effect::Restarts), of(Effect::NextStart), of(Effect::Unknown));
    let refused = of(Effect::Refused);
    let mut parts = Vec::new();
    parts.push(match now {
        0 => "no workload is known to restart by the change itself".to_owned(),
        1 => "1 workload restarts".to_owned(),
        n => format!("{n} workloads restart"),
    });
    match content.next.workloads.iter().filter(|w| w.gap).count() {
        0 => {}
        1 => parts.push("1 of them serves nothing meanwhile".to_owned()),
        n => parts.push(format!("{n} of them serve nothing meanwhile")),
    }
    match later {
        0 => {}
        1 => parts.push("1 pin works only when pods start anew".to_owned()),
        n => parts.push(format!("{n} pins work only when pods start anew")),
    }
    match refused {
        0 => {}
        1 => parts.push("1 Job refuses it while it is there".to_owned()),
        n => parts.push(format!("{n} Jobs refuse it while they are there")),
    }
    if unknown > 0 {
        parts.push(format!("of {} it is not known", count(unknown, "pin")));
    }
    parts.join("; ")
}

fn objects(content: &Content) -> String {
    let cluster = &content.cluster;
    if cluster.charts.is_empty() {
        return "no chart was rendered, so what changes in the cluster is not known".to_owned();
    }
    let changes = |topic: &str| cluster.callouts.iter().any(|c| c.topic == topic);
    let (moved, still): (Vec<&str>, Vec<&str>) =
        ["CRD", "RBAC", "webhook", "port"].into_iter().partition(|topic| changes(topic));
    let mut parts = Vec::new();
    if cluster.charts.iter().all(ChartChange::is_version_only) {
        parts.push("only version strings change".to_owned());
    } else {
        match cluster.fields - cluster.version_fields {
            0 => {}
            1 => parts.push("1 field changes beyond version strings".to_owned()),
            n => parts.push(format!("{n} fields change beyond version strings")),
        }
        if !moved.is_empty() {
            parts.push(format!("{} changes", listed(&moved, "and")));
        }
        if !still.is_empty() {
            parts.push(format!("no {} changes", listed(&still, "or")));
        }
        match cluster.charts.iter().map(|c| c.added.len()).sum::<usize>() {
            0 => {}
            1 => parts.push("1 object is added".to_owned()),
            n => parts.push(format!("{n} objects are added")),
        }
        parts.push(match cluster.charts.iter().map(|c| c.removed.len()).sum::<usize>() {
            0 => "nothing is removed".to_owned(),
            1 => "1 object is removed".to_owned(),
            n => format!("{n} objects are removed"),
        });
    }
    parts.push(match cluster.restarts.iter().flat_map(|r| &r.workloads).map(|w| w.times).sum::<usize>() {
        0 => "nothing restarts".to_owned(),
        1 => "1 workload restarts".to_owned(),
        n => format!("{n} workloads restart"),
    });
    let unseen = cluster.missing.len() + cluster.uncovered.len();
    if unseen > 0 {
        parts.push(match unseen {
            1 => "1 part was not rendered, and this says nothing of it".to_owned(),
            n => format!("{n} parts were not rendered, and this says nothing of them"),
        });
    }
    parts.join("; ")
}

fn listed(words: &[&str], last: &str) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [all @ .., end] => format!("{} {last} {end}", all.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::content::{Callout, ChartChange, Cluster, Missing, Workload};

    fn platform(cluster: Cluster) -> Content {
        Content { stage: Stage::Platform, cluster, ..Content::default() }
    }

    #[test]
    fn only_what_was_rendered_is_claimed() {
        let none = of(&platform(Cluster::default()));
        assert_eq!(none.weight, Weight::Unrendered);
        assert!(none.claim.contains("not known"));
        let charts = vec![ChartChange::default()];
        let all = of(&platform(Cluster { charts: charts.clone(), ..Cluster::default() }));
        assert_eq!(all.claim, "only version strings change; nothing restarts");
        assert_eq!(all.weight, Weight::Routine);
        let callouts = vec![Callout { topic: "RBAC", fields: 1, ..Callout::default() }];
        let charts = vec![ChartChange { added: vec!["Role a".into()], ..ChartChange::default() }];
        let missing = vec![Missing::default()];
        let part = of(&platform(Cluster { charts, callouts, missing, ..Cluster::default() }));
        assert_eq!(
            part.claim,
            "RBAC changes; no CRD, webhook or port changes; 1 object is added; nothing is removed; nothing restarts; \
             1 part was not rendered, and this says nothing of it"
        );
    }

    #[test]
    fn workloads_are_counted_by_when_they_get_the_new_proxy() {
        let workload = |effect| Workload {
            place: "a.yaml:1".to_owned(),
            object: None,
            effect,
            replicas: None,
            strategy: None,
            gap: false,
            every_node: false,
        };
        let claim = |effects: &[Effect]| {
            let mut content = Content { stage: Stage::DataPlane, ..Content::default() };
            content.next.workloads = effects.iter().copied().map(workload).collect();
            of(&content).claim
        };
        let [now, later, unknown] = [Effect::Restarts, Effect::NextStart, Effect::Unknown];
        assert_eq!(claim(&[now, later]), "1 workload restarts; 1 pin works only when pods start anew");
        assert_eq!(
            claim(&[now, later, now, later, unknown]),
            "2 workloads restart; 2 pins work only when pods start anew; of 1 pin it is not known"
        );
        assert_eq!(claim(&[]), "no workload is known to restart by the change itself");
    }
}
