//! What an object refers to in its own cluster.

use super::{KUSTOMIZATIONS, substitute::is_whole};
use crate::deploy::{
    cluster::{Cluster, Reference},
    object::Object,
};

/// Finds what an object refers to. What only another cluster has is not that: what lies nearer to a namesake of the Kustomization
/// by which the object is applied.
pub(super) fn find<'c>(object: &Object, wanted: Reference<'_>, cluster: &Cluster<'c>) -> Option<&'c Object> {
    let found = cluster.find(wanted)?;
    let is_told_apart =
        |root: &&Object| root.is(KUSTOMIZATIONS, "Kustomization") && cluster.namesakes(root).next().is_some();
    let applied = object.by.iter().flat_map(|by| cluster.of_file(by));
    let mut applied = applied.filter(is_told_apart).peekable();
    let is_anothers =
        applied.peek().is_some() && applied.all(|root| cluster.is_anothers(found, root, is_whole));
    (!is_anothers).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deploy::{
        files::{Files, TreeFiles},
        flux::{helm_release, providers},
        testing::files,
        value::Scalar,
    };

    const ROOT: &str = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps, namespace: flux-system}\n\
                        spec: {sourceRef: {kind: GitRepository, name: g}}\n";
    const SOURCE: &str = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata: {name: l5d, namespace: linkerd}\n\
                          spec: {url: oci://acme.example/linkerd-crds, ref: {tag: 2026.8.2}}\n";
    const RELEASE: &str = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: crds, namespace: linkerd}\n\
                           spec: {chartRef: {kind: OCIRepository, name: l5d}}\n";
    const PROVIDER: &str = "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSetInputProvider\nmetadata: {name: l5d, namespace: linkerd}\n\
                            spec: {type: Static}\n";
    const SET: &str = "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\nmetadata: {name: crds, namespace: linkerd}\n\
                       spec: {inputsFrom: [{kind: ResourceSetInputProvider, name: l5d}]}\n";

    /// Reads the objects of a tree, of which the last file is applied by a Kustomization of another.
    fn applied(tree: &TreeFiles<'_>, by: &str) -> Vec<Object> {
        let mut all = Vec::new();
        for entry in tree.below("") {
            for document in tree.documents(entry.path.as_str()).unwrap().iter() {
                all.extend(Object::all(document, &entry.path));
            }
        }
        let by = all.iter().find(|object| object.file.as_str() == by).unwrap().file.clone();
        all.last_mut().unwrap().by = Some(by);
        all
    }

    #[test]
    fn a_chart_is_not_that_of_another_cluster() {
        let version = |source: &str, by: &str| {
            let tree =
                files(&[("a/k.yaml", ROOT), ("b/k.yaml", ROOT), (source, SOURCE), ("z/crds.yaml", RELEASE)]);
            let all = applied(&tree, by);
            let outer = Cluster::new(&all);
            let found = helm_release(all.last().unwrap(), &Cluster::within([], &outer), &tree).unwrap();
            found.version.as_ref().and_then(Scalar::known).map(|version| version.into_owned())
        };
        assert_eq!(version("b/oci.yaml", "b/k.yaml").as_deref(), Some("2026.8.2"));
        assert_eq!(version("b/oci.yaml", "a/k.yaml"), None);
        assert_eq!(version("sources/oci.yaml", "a/k.yaml").as_deref(), Some("2026.8.2"), "both may have it");
    }

    #[test]
    fn inputs_are_not_those_of_another_cluster() {
        let count = |by: &str| {
            let tree = files(&[
                ("a/k.yaml", ROOT),
                ("b/in.yaml", PROVIDER),
                ("b/k.yaml", ROOT),
                ("z/set.yaml", SET),
            ]);
            let all = applied(&tree, by);
            let outer = Cluster::new(&all);
            providers(all.last().unwrap(), &Cluster::within([], &outer)).len()
        };
        assert_eq!((count("a/k.yaml"), count("b/k.yaml")), (0, 1));
    }
}
