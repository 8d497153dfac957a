//! Rancher Fleet's `HelmOp`: a bundle of one chart that an object tells of, without a folder.
//!
//! In: an object. Out: what it says, as a `fleet.yaml` would. Source: fleet
//! `internal/cmd/controller/helmops/reconciler/helmop_controller.go`, `calculateBundle`.

use super::GROUP;
use crate::deploy::{object::Object, value::Value};

/// The kind of the object.
pub const KIND: &str = "HelmOp";

/// Reads a HelmOp. No GitRepo is around it: the clusters that its targets choose are all that get it.
pub(super) fn said(object: &Object) -> Option<Value> {
    let mut said = object.value.get("spec").filter(|_| object.is(GROUP, KIND))?.clone();
    let targets = said.list_at("targets").to_vec();
    said.insert("overrideTargets", Value::list(targets));
    Some(said)
}

#[cfg(test)]
mod tests {
    use crate::{
        deploy::{
            files::Files as _,
            fleet::{Bundle, Fleet},
            object::Object,
            testing::files,
        },
        repo::RepoPath,
    };

    #[test]
    fn a_helm_op_goes_to_the_clusters_that_it_chooses_itself() {
        let op = "apiVersion: fleet.cattle.io/v1alpha1\nkind: HelmOp\nmetadata: {name: mesh}\nspec:\n  helm: {repo: x, chart: y, \
                  version: 2026.8.2}\n  targets: [{clusterName: west, helm: {version: 2026.8.1}}, {clusterName: east}]\n---\n";
        let repo = "apiVersion: fleet.cattle.io/v1alpha1\nkind: GitRepo\nmetadata: {name: ops}\nspec: {repo: 'https://x/y', paths: \
                    [ops], targets: [{clusterName: hub}]}\n";
        let tree = files(&[("ops/fleet.yaml", "namespace: a\n"), ("ops/ops.yaml", &format!("{op}{repo}"))]);
        let path = RepoPath::new("ops/ops.yaml").unwrap();
        let mut fleet = Fleet::default();
        let documents = tree.documents(path.as_str()).unwrap();
        fleet.take(&tree, &path, &documents, &Object::of_file(&tree, &path));
        let shown = |bundle: &Bundle| {
            let versions = bundle.releases.iter().filter_map(|release| release.version.as_ref());
            let versions: String = versions.map(|version| version.text().into_owned()).collect();
            let manifests = bundle.manifests.len();
            format!("{} {versions} {manifests}", bundle.target.as_deref().unwrap_or_default())
        };
        let found: Vec<String> = fleet.bundles(&tree, &[path], 9).iter().map(shown).collect();
        assert_eq!(found, ["west 2026.8.1 0", "east 2026.8.2 0"]);
    }
}
