//! Where building begins.

use std::collections::HashSet;

use super::{
    Entries,
    gathered::Charted,
    kept::{Kept, Standing},
    seen::{Beside, Seen},
};
use crate::deploy::{chart::ChartRelease, object::Object};

/// A root, and the build that it came of.
pub(super) struct Root {
    pub what: What,
    pub from: Option<usize>,
    /// How far it is deployed.
    pub standing: Standing,
}

pub(super) enum What {
    Folder(String),
    Object(Object),
    Chart(Box<ChartRelease>),
    /// Those that others deploy, or would.
    Objects(Vec<Object>),
    Lone(Box<ChartRelease>),
    Charted(Box<Charted>),
}

// === impl Root ===

impl Root {
    pub fn new(what: What) -> Self {
        Self { what, from: None, standing: Standing::Deployed }
    }

    pub fn of(object: &Object) -> Self {
        Self::new(What::Object(object.clone()))
    }

    /// Takes those out of a build that are not known.
    pub fn of_build(kept: &mut Kept, from: usize, seen: &mut Seen) -> Vec<Self> {
        let roots = std::mem::take(&mut kept.roots).into_iter();
        let beside = Beside::of(&kept.references);
        let roots = roots.filter(|root| seen.is_new(root, &beside));
        roots
            .map(|root| Self { from: Some(from), standing: kept.standing, ..Self::new(What::Object(root)) })
            .collect()
    }

    /// Returns those that entries name, without the folders that another root deploys: what these come to is its own to say.
    pub fn all(entries: &Entries<'_>, deployed: &HashSet<String>) -> Vec<Self> {
        let folders = entries.folders.iter().filter(|folder| !deployed.contains(*folder));
        let folders = folders.map(|folder| What::Folder(folder.clone()));
        let releases = entries.releases.iter().map(|release| What::Chart(Box::new(release.clone())));
        let of = |objects: &[Object], standing| {
            let root = || Self { standing, ..Self::new(What::Objects(objects.to_vec())) };
            (!objects.is_empty()).then(root)
        };
        let deployed = of(entries.objects, Standing::Deployed);
        let shadowed = of(entries.shadowed, Standing::Shadowed);
        folders.chain(releases).map(Self::new).chain(deployed).chain(shadowed).collect()
    }
}
