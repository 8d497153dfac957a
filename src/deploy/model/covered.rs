//! What the cluster would give if builds laid nothing over what files say: variables, inputs and values of a base that every
//! overlay says otherwise.

use std::collections::{HashMap, HashSet};

use super::{
    Builder, What,
    gathered::{Gathered, Said},
    kept::{Kept, Standing},
    last::reads_cluster,
    seen::{Beside, Seen},
};
use crate::{
    deploy::{cluster::Cluster, object::Object, value::Value},
    repo::{RepoPath, parallel},
};

impl<R: Default + Send> Builder<'_, R> {
    /// Builds the roots that are filled with what the cluster has, and asks for the charts of releases that are, once more with
    /// what files say in the place of what builds make of them.
    pub(super) fn covered(
        &self,
        roots: &[Object],
        (raw, built): (&[Kept], &[Kept]),
        from_builds: &HashSet<RepoPath>,
    ) -> Vec<R> {
        let mut made: HashMap<&RepoPath, Vec<&Object>> = HashMap::new();
        for object in built.iter().flat_map(|kept| &kept.references) {
            made.entry(&object.file).or_default().push(object);
        }
        let is_kept = |object: &Object| {
            made.get(&object.file).is_some_and(|made| made.iter().any(|made| says(made) == says(object)))
        };
        let of_files = || raw.iter().flat_map(|kept| &kept.references);
        let is_covered = |object: &&Object| from_builds.contains(&object.file) && !is_kept(object);
        let covered: HashSet<&RepoPath> = of_files().filter(is_covered).map(|object| &object.file).collect();
        if covered.is_empty() {
            return Vec::new();
        }
        let left = of_files().filter(|o| !from_builds.contains(&o.file) || covered.contains(&o.file));
        let others = made.values().flatten().copied().filter(|object| !covered.contains(&object.file));
        let cluster = Cluster::new(left.chain(others));
        let filled = parallel::fold(roots, |gathered: &mut Gathered<R>, root| {
            let before = gathered.begin(Standing::Shadowed);
            self.root(&What::Object(root.clone()), &cluster, gathered);
            gathered.end(Standing::Shadowed, before);
        });
        let asks = |kept: &Kept| kept.releases.iter().filter(|o| reads_cluster(o)).cloned().collect();
        let asking: Vec<Kept> =
            built.iter().map(|kept| Kept { releases: asks(kept), ..Kept::default() }).collect();
        let mut found = self.come_to(filled, &cluster);
        let mut said = Said::default();
        asking.iter().for_each(|kept| self.hand_over(kept, &cluster, false, &mut said));
        found.push(said.facts);
        found
    }

    /// Hands over what builds would give with what generators are merged over, and with what patches are laid over.
    pub(super) fn merged_over(&self, mut covered: Vec<Kept>, all: &Cluster<'_>) -> Vec<R> {
        let mut seen = Seen::default();
        // All overlays of a base begin with the same.
        for Kept { roots, references, .. } in &mut covered {
            let beside = Beside::of(references);
            roots.retain(|root| seen.is_new(root, &beside));
        }
        let gathered = parallel::fold(&covered, |gathered: &mut Gathered<R>, kept| {
            let cluster = Cluster::within(&kept.references, all);
            self.hand_over(kept, all, false, &mut gathered.shadowed);
            for root in &kept.roots {
                let before = gathered.begin(Standing::Shadowed);
                self.root(&What::Object(root.clone()), &cluster, gathered);
                gathered.end(Standing::Shadowed, before);
            }
        });
        self.come_to(gathered, all)
    }

    /// Hands over releases as they were before patches.
    pub(super) fn laid_over(&self, mut releases: Vec<Object>, all: &Cluster<'_>) -> R {
        let mut seen = Seen::default();
        // All overlays of a base begin with the same.
        releases.retain(|release| seen.is_new(release, &Beside::default()));
        let mut said = Said::default();
        self.hand_over(&Kept { releases, ..Kept::default() }, all, false, &mut said);
        said.facts
    }

    /// Returns what builds give, and what is kept of them.
    fn come_to(&self, gathered: Vec<Gathered<R>>, cluster: &Cluster<'_>) -> Vec<R> {
        let mut found = Vec::new();
        for Gathered { shadowed, kept, .. } in gathered {
            found.push(shadowed.facts);
            let mut said = Said::default();
            kept.iter().for_each(|kept| self.hand_over(kept, cluster, false, &mut said));
            found.push(said.facts);
        }
        found
    }
}

/// What others read of an object.
fn says(object: &Object) -> [Option<&Value>; 3] {
    ["data", "stringData", "spec"].map(|key| object.value.get(key))
}
