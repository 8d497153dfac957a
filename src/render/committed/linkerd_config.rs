//! Step 7, render: the values of a control plane, rebuilt from what it carries of them.
//!
//! In: the committed ConfigMap `linkerd-config`, whose `data.values` holds all values but private keys, and the chart's
//! defaults. Out: what the user must have set.

use serde_json::{Map, Value};

use super::field::same;
use crate::{linkerd::EdgeVersion, render::value, yaml::YamlError};

/// Keys that the template takes out of the values before it prints them (linkerd2
/// charts/linkerd-control-plane/templates/config.yaml): that they are missing says nothing.
const TAKEN_OUT: [&str; 4] = ["keyPEM", "partials", "configs", "stage"];

/// Rebuilds the user's values; `removals` also takes a missing key for one that the user removed with a null.
pub(super) fn user_values(printed: &str, defaults: &Value, removals: bool) -> Result<Value, YamlError> {
    let mut all = value::read(printed)?;
    // Helm adds it to the values of each chart below an umbrella.
    if all.get("global").and_then(Value::as_object).is_some_and(Map::is_empty) {
        all.as_object_mut().and_then(|all| all.shift_remove("global"));
    }
    // The template fills an empty trust domain with the cluster's.
    let filled = all.get("identityTrustDomain") == all.get("clusterDomain");
    let unset = defaults.get("identityTrustDomain").is_none_or(|d| d.as_str().is_none_or(str::is_empty));
    if let Some(map) = all.as_object_mut().filter(|_| filled && unset) {
        map.shift_remove("identityTrustDomain");
    }
    let added = added(&all, defaults, removals);
    Ok(added.unwrap_or_else(|| Value::Object(Map::new())))
}

/// Takes out of the user's values what the Linkerd CLI wrote there itself: the release of its own images, and fields that
/// its program has and the chart has not, as long as they are empty (linkerd2 pkg/charts/linkerd2/values.go).
pub(super) fn of_cli(user: &mut Value, defaults: &Value, release: Option<EdgeVersion>) -> Value {
    let debug =
        user.get_mut("debugContainer").and_then(|v| v.get_mut("image")).and_then(Value::as_object_mut);
    let own =
        |version: &Value| release.is_some_and(|release| version.as_str() == Some(&*release.to_string()));
    if let Some(image) = debug.filter(|image| image.get("version").is_some_and(own)) {
        image.shift_remove("version");
    }
    if let Some(user) = user.as_object_mut() {
        user.shift_remove("cliVersion");
    }
    split(user, defaults)
}

/// Tells whether the debug container has the release's own image, as the CLI sets it.
pub(super) fn is_debugged(printed: &str, release: Option<EdgeVersion>) -> bool {
    let all = value::read(printed).unwrap_or_default();
    let version = all.get("debugContainer").and_then(|v| v.get("image")?.get("version")?.as_str());
    version.is_some() && version.map(str::to_owned) == release.map(|release| release.to_string())
}

/// Moves the fields that the defaults do not know and that say nothing into a value of their own.
fn split(user: &mut Value, defaults: &Value) -> Value {
    let mut moved = Map::new();
    let Some(map) = user.as_object_mut() else { return Value::Object(moved) };
    for (key, value) in map.iter_mut() {
        let known = defaults.get(key);
        if known.is_none() && (is_empty(value) || key == "proxyContainerName") {
            moved.insert(key.clone(), value.take());
        } else if let Some(known) = known.filter(|known| known.is_object()) {
            let below = split(value, known);
            moved.extend(below.as_object().filter(|b| !b.is_empty()).map(|_| (key.clone(), below.clone())));
        }
    }
    map.retain(|key, value| match moved.get(key) {
        Some(_) => !value.is_null() && value.as_object().is_none_or(|value| !value.is_empty()),
        None => value.as_object().is_none_or(|v| !v.is_empty() || defaults.get(key).is_none()),
    });
    Value::Object(moved)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.values().all(is_empty),
        Value::Bool(true) => false,
    }
}

/// Returns what the first adds to the second.
fn added(all: &Value, base: &Value, removals: bool) -> Option<Value> {
    let (Value::Object(all), Value::Object(base)) = (all, base) else {
        return (!same(all, base)).then(|| all.clone());
    };
    let mut found = Map::new();
    for (key, value) in all {
        let new = match base.get(key) {
            Some(default) => added(value, default, removals),
            None => (!value.is_null()).then(|| value.clone()),
        };
        found.extend(new.map(|new| (key.clone(), new)));
    }
    let kept_back = |key: &str| TAKEN_OUT.contains(&key) || key == "identityTrustDomain";
    if removals {
        let gone =
            base.iter().filter(|(key, value)| !all.contains_key(*key) && !value.is_null() && !kept_back(key));
        found.extend(gone.map(|(key, _)| (key.clone(), Value::Null)));
    }
    (!found.is_empty()).then_some(Value::Object(found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_differs_from_the_defaults_is_the_users() {
        let defaults = json!({"clusterDomain": "cluster.local", "identityTrustDomain": "", "replicas": 1, "partials": {"x": 1},
            "identity": {"issuer": {"tls": {"crtPEM": "", "keyPEM": ""}}}, "proxy": {"resources": {"memory": {"request": "", "limit": ""}}}});
        let printed = "clusterDomain: cluster.local\nidentityTrustDomain: cluster.local\nreplicas: 1\nidentity:\n  issuer:\n    tls:\n      crtPEM: |\n        x\n\
                       proxy:\n  resources:\n    memory:\n      request: 32Mi\n";
        let wanted = json!({"identity": {"issuer": {"tls": {"crtPEM": "x\n"}}}, "proxy": {"resources": {"memory": {"request": "32Mi"}}}});
        assert_eq!(user_values(printed, &defaults, false).unwrap(), wanted);
        let removed = user_values(printed, &defaults, true).unwrap();
        assert_eq!(removed["proxy"]["resources"]["memory"], json!({"request": "32Mi", "limit": null}));
        assert_eq!(removed["identity"], wanted["identity"]);
    }

    #[test]
    fn what_the_cli_writes_of_its_own_is_not_the_users() {
        let defaults = json!({"debugContainer": {"image": {"name": "d", "version": ""}}, "proxy": {"logLevel": "warn"}, "identity": {"a": 1}});
        let mut user = json!({"cliVersion": "linkerd/cli edge-26.6.3", "proxyContainerName": "linkerd-proxy", "highAvailability": false,
            "debugContainer": {"image": {"version": "edge-26.6.3"}}, "proxy": {"isIngress": false, "logLevel": "debug"},
            "identity": {"kubeAPI": {"qps": 0}}, "mine": {"x": 1}});
        let release = Some("edge-26.6.3".parse().unwrap());
        let cli = of_cli(&mut user, &defaults, release);
        assert_eq!(user, json!({"proxy": {"logLevel": "debug"}, "mine": {"x": 1}}));
        let wanted = json!({"proxyContainerName": "linkerd-proxy", "highAvailability": false, "proxy": {"isIngress": false},
            "identity": {"kubeAPI": {"qps": 0}}});
        assert_eq!(cli, wanted);
        let mut own = json!({"debugContainer": {"image": {"version": "edge-26.1.1"}}});
        of_cli(&mut own, &defaults, release);
        assert_eq!(own, json!({"debugContainer": {"image": {"version": "edge-26.1.1"}}}));
    }

    #[test]
    fn a_trust_domain_of_its_own_is_the_users() {
        let printed = "clusterDomain: cluster.local\nidentityTrustDomain: mesh.local\n";
        let found = user_values(printed, &json!({"clusterDomain": "cluster.local"}), false).unwrap();
        assert_eq!(found, json!({"identityTrustDomain": "mesh.local"}));
    }
}
