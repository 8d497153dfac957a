//! Step 7, render: the values with which a committed manifest may have been rendered, the likeliest first.
//!
//! In: the configuration's entries, charts as the repository deploys them, the committed objects. Out: [`Candidate`]s and
//! the jobs that render them. Which one is right is for the proof to say.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{
    Committed, Regenerate, RenderEntry,
    beside::values_files,
    field::{Field, differing},
    linkerd_config,
    recognise::own,
};
use crate::{
    helm::{Layer, Setting, Template},
    linkerd::{CNI, CONTROL_PLANE, CRDS},
    pins::{ChartUse, ValuesPart},
    render::{Chart, ChartId, Job, StandIn, Take, inputs::setting, value},
    repo::{RepoPath, Tree},
};

/// What stands in for a private key that is not among the values: one text for each of two renderings, so that whatever
/// depends on it is seen to.
const STAND_INS: [&str; 2] = ["stand-in for a private key", "another stand-in for a private key"];

/// The values file of that name in Linkerd's packages.
const HIGH_AVAILABILITY: &str = "values-ha.yaml";

/// Values that may be the user's.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// Where they are from, for people.
    pub(super) what: String,
    /// The release's name.
    release: String,
    /// Whether the values are those that the manifest itself carries, and nothing else says so.
    pub(super) is_carried: bool,
    /// A values file of the chart's package, below all layers.
    in_chart: Option<&'static str>,
    /// What the Linkerd CLI adds of its own, below the user's layers.
    of_cli: Option<Value>,
    layers: Vec<Layer>,
    settings: Vec<Setting>,
}

/// So many values files near a set are tried.
const TRIED: usize = 12;

/// Lists the candidates for a set; the file that an entry names and that holds no values, where there is one.
pub(super) fn candidates(
    request: &Regenerate<'_>,
    set: &Committed,
    chart: &Chart,
) -> Result<Vec<Candidate>, RepoPath> {
    let plain = |what: &str, layers: Vec<Layer>| Candidate {
        what: what.to_owned(),
        is_carried: false,
        release: set.chart.clone(),
        in_chart: None,
        of_cli: None,
        layers,
        settings: Vec::new(),
    };
    let mut found = Vec::new();
    for entry in request.entries.iter().filter(|entry| is_meant(entry, set)) {
        let layer = |path: &RepoPath| layer(request.tree, path).ok_or_else(|| path.clone());
        let layers: Vec<Layer> = entry.values.iter().map(layer).collect::<Result<_, _>>()?;
        found.push(plain("the `render:` entry", layers));
    }
    let same =
        |u: &&ChartUse| u.chart == set.chart && u.namespace.as_ref().is_none_or(|n| *n == set.namespace);
    found.extend(request.uses.iter().filter(same).filter_map(of_use));
    for removals in [false, true] {
        let Some(printed) = printed_values(set) else { break };
        let Ok(mut user) = linkerd_config::user_values(printed, &defaults(chart), removals) else { break };
        let of_cli = set.cli.then(|| linkerd_config::of_cli(&mut user, &defaults(chart), set.edge()));
        let layers = vec![Layer(user.to_string().into())];
        found.push(Candidate { is_carried: true, of_cli, ..plain("the ConfigMap linkerd-config", layers) });
    }
    found.push(plain("the chart's defaults", Vec::new()));
    if chart.files.contains_key(HIGH_AVAILABILITY) {
        let what = format!("the chart's {HIGH_AVAILABILITY}");
        found.push(Candidate { in_chart: Some(HIGH_AVAILABILITY), ..plain(&what, Vec::new()) });
    }
    found.extend(switched(chart).map(|(what, layer)| plain(&what, vec![layer])));
    let files = values_files(request.near, set).into_iter();
    let files = files.filter_map(|file| Some((file.layer(&set.chart, &defaults(chart))?, file.path)));
    found.extend(files.take(TRIED).map(|(layer, path)| plain(path.as_str(), vec![layer])));
    let mut kept: Vec<Candidate> = Vec::new();
    for candidate in found {
        if !kept.iter().any(|k| k.is_like(&candidate)) {
            kept.push(candidate);
        }
    }
    Ok(kept)
}

/// Lists the switches of linkerd-crds, which has nothing but switches, each turned.
fn switched(chart: &Chart) -> impl Iterator<Item = (String, Layer)> {
    let switches = defaults(chart).as_object().filter(|_| chart.id.name == CRDS).cloned();
    switches.into_iter().flatten().filter_map(|(name, value)| {
        let turned = !value.as_bool()?;
        Some((format!("`{name}: {turned}`"), Layer(json!({name: turned}).to_string().into())))
    })
}

fn is_meant(entry: &RenderEntry, set: &Committed) -> bool {
    let here = |output: &RepoPath| set.files.iter().any(|file| is_below(&file.path, output));
    entry.chart == set.chart
        && entry.namespace.as_ref().is_none_or(|namespace| *namespace == set.namespace)
        && entry.output.as_ref().is_none_or(here)
}

/// Reads a chart's own values.
pub(super) fn defaults(chart: &Chart) -> Value {
    value::read(chart.defaults()).unwrap_or_else(|_| Value::Object(Map::new()))
}

// === impl Candidate ===

impl Candidate {
    fn is_like(&self, other: &Self) -> bool {
        let of = |one: &Self| (one.in_chart, one.of_cli.clone(), one.layers.clone(), one.settings.clone());
        of(self) == of(other)
    }

    /// Returns the same with other values of the user.
    pub(super) fn with(&self, user: &Value, what: String) -> Self {
        Self { what, layers: vec![Layer(user.to_string().into())], ..self.clone() }
    }

    /// Returns the values in the order of Helm's command line.
    fn layers<'c>(&'c self, chart: &'c Chart) -> impl Iterator<Item = Layer> + 'c {
        let own = self.in_chart.and_then(|name| chart.files.get(name)).map(|text| Layer(text.clone()));
        own.into_iter().chain(self.layers.iter().cloned())
    }

    /// Makes the jobs of both takes.
    pub(super) fn jobs(&self, kubernetes: Option<&str>, set: &Committed, chart: &Chart) -> [Job; 2] {
        let made_by = set.cli.then(|| cli_layer(set, chart, self.of_cli.as_ref()));
        let user = self.user_values(chart);
        let mut effective = defaults(chart);
        value::overlay(&mut effective, &user);
        [(Take::First, STAND_INS[0]), (Take::Second, STAND_INS[1])].map(|(take, text)| {
            let keys = missing_keys(&effective, text).map(|keys| Layer(keys.to_string().into()));
            let layers = made_by.clone().into_iter().chain(self.layers(chart)).chain(keys);
            Job {
                chart: chart.id.clone(),
                template: Template {
                    values: layers.collect(),
                    settings: self.settings.clone(),
                    kube_version: kubernetes.map(str::to_owned),
                    include_crds: true,
                    ..Template::of(&self.release, &set.namespace)
                },
                take,
            }
        })
    }

    /// Lists the keys that are rendered with a stand-in.
    pub(super) fn stand_ins(&self, chart: &Chart) -> Vec<StandIn> {
        let mut effective = defaults(chart);
        value::overlay(&mut effective, &self.user_values(chart));
        let [one, other] = STAND_INS.map(|text| missing_keys(&effective, text).unwrap_or_default());
        let fields = differing(&one, &other);
        let one = |field: &Field| StandIn {
            target: Some(field.to_string()),
            source: "what is committed stays".into(),
        };
        fields.iter().map(one).collect()
    }

    /// Returns all texts that are given to Helm: they are in Git.
    pub(super) fn given(&self, chart: &Chart) -> String {
        let layers = self.layers(chart).map(|layer| layer.0);
        let settings = self.settings.iter().map(|setting| Arc::from(setting.value.as_str()));
        layers.chain(settings).collect::<Vec<_>>().join("\n")
    }

    /// Returns the user's values merged, single ones left out.
    pub(super) fn user_values(&self, chart: &Chart) -> Value {
        let mut user = Value::Object(Map::new());
        for layer in self.layers(chart).filter_map(|layer| value::read(&layer.0).ok()) {
            lay(&mut user, &layer);
        }
        user
    }
}

/// Lays values over others and keeps nulls, which are for the defaults below.
fn lay(base: &mut Value, over: &Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                match base.get_mut(key) {
                    Some(below) => lay(below, value),
                    None => drop(base.insert(key.clone(), value.clone())),
                }
            }
        }
        (base, over) => *base = over.clone(),
    }
}

/// Returns stand-ins for the keys whose certificates are given and that are not: Git has them only in the Secrets that
/// they end in.
fn missing_keys(values: &Value, text: &str) -> Option<Value> {
    let map = values.as_object()?;
    let filled = |key: &str| map.get(key).and_then(Value::as_str).is_some_and(|t| !t.is_empty());
    let mut found = Map::new();
    if filled("crtPEM") && !filled("keyPEM") {
        found.insert("keyPEM".to_owned(), text.into());
    }
    found.extend(map.iter().filter_map(|(key, below)| Some((key.clone(), missing_keys(below, text)?))));
    (!found.is_empty()).then_some(Value::Object(found))
}

/// Tells whether a text has come from a stand-in.
pub(super) fn has_stand_in(text: &str) -> bool {
    use base64::{Engine, prelude::BASE64_STANDARD};
    STAND_INS
        .iter()
        .any(|s| text.contains(s) || text.contains(BASE64_STANDARD.encode(s).trim_end_matches('=')))
}

/// Makes what an `install` of the Linkerd CLI gives a chart of its own accord: who made it, its own release for the debug
/// container (linkerd2 pkg/charts/linkerd2/values.go), and the fields that only its program has.
fn cli_layer(set: &Committed, chart: &Chart, more: Option<&Value>) -> Layer {
    let edge = crate::linkerd::EdgeVersion::from_chart(&chart.id.version);
    let edge = edge.map_or_else(|| chart.id.version.clone(), |edge| edge.to_string());
    let mut all = more.cloned().unwrap_or_else(|| json!({}));
    let mut own = json!({"cliVersion": format!("linkerd/cli {edge}")});
    match &*chart.id.name {
        CONTROL_PLANE if printed_values(set).is_some_and(|p| linkerd_config::is_debugged(p, set.edge())) => {
            own["debugContainer"] = json!({"image": {"version": edge}});
        }
        // Its flag has no default (linkerd2 cli/cmd/install-cni-plugin.go).
        CNI => own["image"] = json!({"pullPolicy": ""}),
        _ => {}
    }
    value::overlay(&mut all, &own);
    Layer(all.to_string().into())
}

/// Takes the values of a deployed chart, where the tree has all of them.
fn of_use(chart: &ChartUse) -> Option<Candidate> {
    let layer = |part: &ValuesPart| match part {
        ValuesPart::Text { text, .. } => Some(Some(Layer(text.clone()))),
        ValuesPart::InChart { optional, .. } | ValuesPart::Outside { optional, .. } => {
            optional.then_some(None)
        }
    };
    let layers: Option<Vec<Option<Layer>>> = chart.values.iter().map(layer).collect();
    Some(Candidate {
        what: format!("{}", chart.path),
        is_carried: false,
        release: chart.release.clone(),
        in_chart: None,
        of_cli: None,
        layers: layers?.into_iter().flatten().collect(),
        settings: chart.parameters.iter().map(setting).collect(),
    })
}

fn printed_values(set: &Committed) -> Option<&str> {
    let mut objects = set.files.iter().flat_map(own).map(|(_, object)| object);
    let config = objects.find(|o| o.key.kind == "ConfigMap" && o.key.name == "linkerd-config");
    config?.text(&["data", "values"])
}

fn layer(tree: &dyn Tree, path: &RepoPath) -> Option<Layer> {
    let entries = tree.entries();
    let entry = entries.binary_search_by(|e| e.path.cmp(path)).ok().and_then(|n| entries.get(n))?;
    let text = String::from_utf8(tree.read(entry.id).ok()?).ok()?;
    value::read(&text).ok().filter(Value::is_object).map(|_| Layer(Arc::from(text)))
}

fn is_below(path: &RepoPath, output: &RepoPath) -> bool {
    path == output || path.is_below(output.as_str())
}

/// Names the chart of a set in a version.
pub(super) fn chart_id(set: &Committed, version: &str) -> ChartId {
    ChartId { name: set.chart.clone(), version: version.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_stands_in_only_where_its_certificate_is_given() {
        let values = json!({"identity": {"issuer": {"tls": {"crtPEM": "x", "keyPEM": ""}}},
            "a": {"crtPEM": "", "keyPEM": ""}, "b": {"crtPEM": "x", "keyPEM": "y"}});
        let found = missing_keys(&values, STAND_INS[0]).unwrap();
        assert_eq!(found, json!({"identity": {"issuer": {"tls": {"keyPEM": STAND_INS[0]}}}}));
        assert!(has_stand_in(STAND_INS[1]) && has_stand_in("c3RhbmQtaW4gZm9yIGEgcHJpdmF0ZSBrZXk="));
        assert!(!has_stand_in("stand-in") && missing_keys(&json!({}), "x").is_none());
    }

    #[test]
    fn an_output_may_be_a_file_or_a_folder() {
        let path = |text| RepoPath::new(text).unwrap();
        assert!(is_below(&path("a/b.yaml"), &path("a")) && is_below(&path("a/b.yaml"), &path("a/b.yaml")));
        assert!(!is_below(&path("ab/b.yaml"), &path("a")));
    }
}
