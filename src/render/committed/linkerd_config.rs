//! Step 5, render: the values of a control plane, rebuilt from what it carries of them.
//!
//! In: the committed ConfigMap `linkerd-config`, whose `data.values` holds all values but private keys, and the chart's
//! defaults. Out: what the user must have set.

use serde_json::{Map, Value};

use super::field::same;
use crate::{render::value, yaml::YamlError};

/// Keys that the template takes out of the values before it prints them (linkerd2
/// charts/linkerd-control-plane/templates/config.yaml): that they are missing says nothing.
const TAKEN_OUT: [&str; 4] = ["keyPEM", "partials", "configs", "stage"];

/// Rebuilds the user's values; `removals` also takes a missing key for one that the user removed with a null.
pub(super) fn user_values(printed: &str, defaults: &Value, removals: bool) -> Result<Value, YamlError> {
    let mut all = value::read(printed)?;
    // The template fills an empty trust domain with the cluster's.
    let filled = all.get("identityTrustDomain") == all.get("clusterDomain");
    let unset = defaults.get("identityTrustDomain").is_none_or(|d| d.as_str().is_none_or(str::is_empty));
    if let Some(map) = all.as_object_mut().filter(|_| filled && unset) {
        map.shift_remove("identityTrustDomain");
    }
    let added = added(&all, defaults, removals);
    Ok(added.unwrap_or_else(|| Value::Object(Map::new())))
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
    fn a_trust_domain_of_its_own_is_the_users() {
        let printed = "clusterDomain: cluster.local\nidentityTrustDomain: mesh.local\n";
        let found = user_values(printed, &json!({"clusterDomain": "cluster.local"}), false).unwrap();
        assert_eq!(found, json!({"identityTrustDomain": "mesh.local"}));
    }
}
