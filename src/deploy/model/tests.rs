//! Roots that never end.

use super::*;
use crate::deploy::testing::files;

/// A Kustomization that each time gives another one of its own folder.
const ENDLESS: &str = "apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: again, namespace: flux-system}
spec:
  path: ./again
  sourceRef: {kind: GitRepository, name: fleet}
  postBuild: {substitute: {round: '${round}x'}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: 'round-${round}'}
";

#[test]
fn roots_that_always_give_others_are_followed_so_far() {
    let files = files(&[("again/a.yaml", ENDLESS)]);
    let charts = Charts::new(None, &|_| false, &|_, _| true);
    let entries = Entries {
        leading: &[(RepoPath::new("again/a.yaml").unwrap(), false)],
        written: &[],
        folders: &[],
        wanted: &|_| true,
        names_release: &|_| false,
        mentions: &|object| object.kind() == "ConfigMap",
        releases: &[],
        objects: &[],
        shadowed: &[],
        lone: &[],
        charts: &charts,
    };
    let count = model(&files, &entries, &|count: &mut usize, fact| {
        *count += usize::from(matches!(fact, Fact::Object(..)));
    });
    assert_eq!(count.deployed.iter().sum::<usize>(), WAVES);
}
