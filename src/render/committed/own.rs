//! Step 7, render: objects in the files of committed manifests that no chart gives.
//!
//! In: the sets with their renderings. Out: the objects beside those of the charts, with the command of the Linkerd CLI that
//! writes such ones, where one does. They are their owners', and nothing here ever changes them.

use std::{collections::BTreeSet, fmt};

use super::{Committed, claimed::Settled, placed::is_encrypted, recognise::marks};
use crate::{
    render::{Manifest, Object, ObjectKey},
    repo::RepoPath,
};

/// More are counted.
const NAMED: usize = 8;

/// An object that no chart gives.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Own {
    /// The file.
    pub path: RepoPath,
    /// From 1.
    pub line: usize,
    /// The object.
    pub object: ObjectKey,
    /// The command of the Linkerd CLI that wrote it.
    pub command: Option<&'static str>,
}

/// Finds the objects of the sets' files that none of the sets has; nothing of files of which a set was not rendered.
pub(super) fn own(settled: &Settled<'_>) -> Vec<Own> {
    let made = settled.works.iter().map(|(set, work)| (*set, work.as_ref().ok()));
    let works = made.chain(settled.beside.iter().map(|(set, work)| (*set, work.as_ref())));
    let attempts = || works.clone().filter_map(|(_, work)| work?.best.as_ref());
    let placed: BTreeSet<(&RepoPath, &ObjectKey)> = attempts()
        .flat_map(|best| best.placed.all())
        .map(|(file, object)| (&file.path, &object.key))
        .collect();
    let unknown: BTreeSet<&RepoPath> = works
        .clone()
        .filter(|(_, work)| work.is_none_or(|work| work.best.is_none()))
        .flat_map(|(set, _)| set.files.iter().map(|file| &file.path))
        .collect();
    let files = works.clone().flat_map(|(set, _)| &set.files).filter(|file| !unknown.contains(&file.path));
    let mut found: Vec<Own> = files
        .flat_map(|file| file.manifest.objects.iter().map(move |object| (file, object)))
        .filter(|(file, object)| !placed.contains(&(&file.path, &object.key)) && !is_encrypted(object))
        .map(|(file, object)| Own {
            path: file.path.clone(),
            line: file.manifest.line(object),
            object: object.key.clone(),
            command: command(&file.manifest, object),
        })
        .collect();
    found.sort();
    found.dedup();
    found
}

/// Names the command that writes such an object (linkerd2 cli/cmd, viz/cmd, multicluster/cmd).
fn command(manifest: &Manifest, object: &Object) -> Option<&'static str> {
    let by_cli = object.annotation("linkerd.io/created-by").is_some_and(|by| by.starts_with("linkerd/cli "));
    let key = &object.key;
    let credentials = object.text(&["type"]) == Some("mirror.linkerd.io/remote-kubeconfig");
    match (&*key.kind, object.label("linkerd.io/extension")) {
        ("Link", _) if by_cli => Some("linkerd multicluster link-gen"),
        ("Secret", _) if credentials => Some("linkerd multicluster link-gen"),
        ("Secret", _) if key.name == "linkerd-config-overrides" => Some("linkerd install"),
        ("Namespace", _) if object.label("linkerd.io/is-control-plane").is_some() => Some("linkerd install"),
        ("Namespace", _) if object.label("linkerd.io/cni-resource").is_some() => Some("linkerd install-cni"),
        ("Namespace", Some("viz")) => Some("linkerd viz install"),
        ("Namespace", Some("multicluster")) => Some("linkerd multicluster install"),
        ("Namespace", Some("jaeger")) => Some("linkerd jaeger install"),
        (_, Some("multicluster")) if by_cli => Some("linkerd multicluster allow"),
        _ => marks(manifest, object).filter(|marks| marks.cli).map(|_| "linkerd"),
    }
}

// === impl Own ===

impl Own {
    /// Says of the objects in a set's files that they stay.
    pub(super) fn note(all: &[Self], set: &Committed) -> Option<String> {
        let own: Vec<&Self> =
            all.iter().filter(|own| set.files.iter().any(|file| file.path == own.path)).collect();
        let mut named: Vec<String> = own.iter().take(NAMED).map(ToString::to_string).collect();
        let more = own.len().saturating_sub(NAMED);
        named.extend((more > 0).then(|| format!("{more} more")));
        (!own.is_empty())
            .then(|| format!("No chart gives these, and they stay as they are: {}.", named.join(", ")))
    }
}

impl fmt::Display for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.object)?;
        match self.command {
            Some(command) => write!(f, " (`{command}` writes it)"),
            None => Ok(()),
        }
    }
}
