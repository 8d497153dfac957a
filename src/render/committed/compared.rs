//! Step 7, render: committed manifests as they are, before and after a change that makes nothing again.
//!
//! In: the sets of two trees. Out: a [`Rendering`] for each that differs. No chart is rendered: both sides are in Git. Pure.

use std::sync::Arc;

use super::Committed;
use crate::{
    pins::Installed,
    render::{ChartId, Manifest, Rendering},
    repo::RepoPath,
};

/// Compares the sets of two trees, chart by chart and folder by folder.
pub fn compared(before: &[Committed], after: &[Committed]) -> Vec<Rendering> {
    let folder = |set: &Committed| set.path().map(|path| path.folder().to_owned());
    let other = |set: &Committed| {
        let same = |other: &&Committed| (&other.chart, &other.namespace) == (&set.chart, &set.namespace);
        let alike = || after.iter().filter(same);
        let beside = || alike().find(|other| folder(other) == folder(set));
        alike().find(|other| other.path() == set.path()).or_else(beside)
    };
    before.iter().filter_map(|set| rendering(set, other(set))).collect()
}

/// Compares two states of a set; of one that goes, all objects do.
fn rendering(before: &Committed, after: Option<&Committed>) -> Option<Rendering> {
    if after.is_some_and(|after| before.blobs().eq(after.blobs())) {
        return None;
    }
    let nothing = || serde_json::Value::Null;
    Some(Rendering {
        path: before.path()?.clone(),
        line: before.line(),
        committed: true,
        installed: [Installed::Applied].into(),
        from: before.id()?,
        to: after.unwrap_or(before).id()?,
        namespace: before.namespace.clone(),
        before: before.whole()?,
        after: after.map_or_else(|| Manifest::parse("").ok().map(Arc::new), Committed::whole)?,
        values_before: nothing(),
        values_after: nothing(),
        defaults_before: nothing(),
        defaults_after: nothing(),
        stand_ins: Vec::new(),
        notes: Vec::new(),
        places: before.places().collect(),
        difference: Default::default(),
    })
}

// === impl Committed ===

impl Committed {
    fn blobs(&self) -> impl Iterator<Item = (&RepoPath, crate::repo::BlobId)> {
        self.files.iter().map(|file| (&file.path, file.blob))
    }

    fn id(&self) -> Option<ChartId> {
        Some(ChartId { name: self.chart.clone(), version: self.version.clone()? })
    }

    /// Returns all of its objects as one manifest.
    fn whole(&self) -> Option<Arc<Manifest>> {
        let own = self.files.iter().flat_map(|file| {
            let objects = file.own.iter().filter_map(|at| file.manifest.objects.get(*at));
            objects.map(|object| format!("---\n{}\n", object.value))
        });
        Manifest::parse(own.collect::<String>()).ok().map(Arc::new)
    }

    fn places(&self) -> impl Iterator<Item = (super::ObjectKey, (RepoPath, Option<usize>))> {
        self.files.iter().flat_map(|file| {
            let objects = file.own.iter().filter_map(|at| file.manifest.objects.get(*at));
            objects.map(|object| (object.key.clone(), (file.path.clone(), Some(file.manifest.line(object)))))
        })
    }
}
