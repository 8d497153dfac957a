//! What a ResourceSet waits for before it applies anything.
//!
//! Source: `checkDependencies` and `apply` in `internal/controller/resourceset_controller.go` of
//! controlplaneio-fluxcd/flux-operator. In: a ResourceSet, and the objects of its cluster. Out: the HelmReleases that are ready
//! by then.

use std::collections::BTreeSet;

use super::{OPERATOR, RELEASES};
use crate::deploy::{
    cluster::{Cluster, Reference},
    object::Object,
    typed::is_true,
    value::{Scalar, Value},
};

const KIND: &str = "ResourceSet";

/// Lists the HelmReleases that are ready before a ResourceSet applies anything, by `namespace/name`: those that it depends on,
/// and those of the ResourceSets that it depends on.
pub(super) fn awaited(set: &Object, cluster: &Cluster<'_>) -> Vec<String> {
    let mut found = Vec::new();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut open = vec![set];
    while let Some(set) = open.pop() {
        let depends_on = set.value.get("spec").map_or(&[][..], |spec| spec.list_at("dependsOn"));
        // What is there need not be ready, and what another expression calls ready may be anything.
        let is_ready = |on: &&Value| is_true(on, &["ready"]) && on.get("readyExpr").is_none();
        for on in depends_on.iter().filter(is_ready) {
            let (kind, name, namespace) = (on.text(&["kind"]), on.text(&["name"]), on.text(&["namespace"]));
            let Some(name) = name else { continue };
            let called = called(&name, namespace.as_deref());
            match kind.as_deref() {
                Some("HelmRelease") => found.push(called),
                Some(KIND) => {
                    let namespace = namespace.as_deref();
                    let wanted =
                        Reference { group: OPERATOR, kind: KIND, name: &name, namespace, from: &set.file };
                    if let Some(other) = cluster.find(wanted).filter(|_| seen.insert(called)) {
                        found.extend(checked(other));
                        open.push(other);
                    }
                }
                _ => {}
            }
        }
    }
    found
}

/// Names a HelmRelease by `namespace/name`; `None` for anything else, and where the name is not known.
pub(super) fn release(object: &Value) -> Option<String> {
    let version = object.text(&["apiVersion"])?;
    let is_release = version.split('/').next() == Some(RELEASES)
        && object.text(&["kind"]).as_deref() == Some("HelmRelease");
    let text = |key| object.scalar(&["metadata", key]).and_then(Scalar::known);
    let name = text("name").filter(|name| is_release && !name.contains("<<"))?;
    Some(called(&name, text("namespace").as_deref()))
}

/// Lists the HelmReleases that are ready once a ResourceSet is, as far as they are called without inputs: where it waits, those
/// of its last step too.
fn checked(set: &Object) -> Vec<String> {
    let Some(spec) = set.value.get("spec") else { return Vec::new() };
    let parts: Vec<&Value> = match (is_true(spec, &["wait"]), spec.list_at("steps")) {
        (true, []) => vec![spec],
        (false, []) => Vec::new(),
        (true, all) => all.iter().collect(),
        (false, [before @ .., _]) => before.iter().collect(),
    };
    parts.into_iter().flat_map(|part| part.list_at("resources")).filter_map(release).collect()
}

fn called(name: &str, namespace: Option<&str>) -> String {
    namespace.map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        deploy::{
            flux::{depends_on, resource_set},
            testing::files,
        },
        repo::RepoPath,
    };

    fn set(name: &str, spec: &str) -> String {
        format!(
            "---\napiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\nmetadata: {{name: {name}, namespace: a}}\nspec: {{{spec}}}\n"
        )
    }

    fn resources(name: &str) -> String {
        format!(
            "resources: [{{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {{name: {name}, namespace: a}}}}]"
        )
    }

    /// Lists what the last release waits for of the last set.
    fn waits(sets: &[String]) -> Vec<String> {
        let tree = files(&[("sets.yaml", &sets.concat())]);
        let all = Object::of_file(&tree, &RepoPath::new("sets.yaml").unwrap());
        let made = resource_set(all.last().unwrap(), &Cluster::new(&all), &tree).objects;
        depends_on(made.last().unwrap())
    }

    #[test]
    fn a_step_waits_for_the_steps_before_it() {
        let steps = |wait: bool| {
            let [crds, plane] =
                ["crds", "plane"].map(|name| format!("{{name: {name}, {}}}", resources(name)));
            waits(&[set("one", &format!("wait: {wait}, steps: [{crds}, {plane}]"))])
        };
        assert_eq!((steps(true), steps(false)), (vec!["a/crds".to_owned()], vec!["a/crds".to_owned()]));
        let crds = resources("crds");
        let both =
            format!("{}, {}", crds.trim_end_matches(']'), resources("plane").replace("resources: [", ""));
        assert_eq!(waits(&[set("one", &both)]), [""; 0], "they are applied at once");
    }

    #[test]
    fn a_set_waits_for_what_is_ready_with_those_that_it_depends_on() {
        let on = |kind: &str, name: &str, more: &str| {
            format!("dependsOn: [{{kind: {kind}, name: {name}, namespace: a{more}}}], {}", resources("plane"))
        };
        let behind =
            |one: &str, more: &str| waits(&[set("one", one), set("two", &on("ResourceSet", "one", more))]);
        let (ready, waiting) = (", ready: true", format!("wait: true, {}", resources("crds")));
        assert_eq!(behind(&waiting, ready), ["a/crds"]);
        assert_eq!(behind(&waiting.replace("true", "yes"), ", ready: on"), ["a/crds"]);
        assert_eq!(behind(&waiting, ""), [""; 0], "it need only be there");
        assert_eq!(behind(&waiting, ", ready: true, readyExpr: 'true'"), [""; 0]);
        assert_eq!(behind(&resources("crds"), ready), [""; 0], "it is ready once they are applied");
        let steps =
            format!("steps: [{{name: a, {}}}, {{name: b, {}}}]", resources("crds"), resources("certs"));
        assert_eq!(behind(&steps, ready), ["a/crds"], "nobody looks at its last step");
        let through = [
            set("one", &waiting),
            set("mid", &on("ResourceSet", "one", ready).replace("plane", "certs")),
            set("two", &on("ResourceSet", "mid", ready)),
        ];
        assert_eq!(waits(&through), ["a/crds"], "through another set");
        assert_eq!(waits(&[set("two", &on("HelmRelease", "crds", ready))]), ["a/crds"]);
        assert_eq!(waits(&[set("two", &on("ResourceSet", "two", ready))]), [""; 0], "a circle ends");
    }
}
