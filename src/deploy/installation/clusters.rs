//! Clusters whose names do not say by themselves which is meant. Argo CD knows one by two: a destination has the name or the
//! server, and a Secret in the tree both. Flux knows several by one: what has the address of a cluster is of a namespace.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
};

use super::{Mark, group::has_plane, reach::Lot, top::Away};
use crate::{
    deploy::{argo, files::Files, object::Object, value::Scalar},
    repo::RepoPath,
};

/// The names of clusters, by their servers.
pub(super) type Servers = BTreeMap<String, String>;

/// Returns the clusters of which Secrets say both. Two instances of Argo CD may know different clusters by one name: then the
/// Secrets do not say which is meant.
pub(super) fn servers(known: &BTreeSet<(String, String)>) -> Servers {
    let mut times: HashMap<&str, usize> = HashMap::new();
    known.iter().for_each(|(name, server)| {
        [name, server].iter().for_each(|text| *times.entry(text).or_default() += 1)
    });
    let once = |text: &str| times.get(text) == Some(&1);
    // The cluster of Argo CD itself has no name here.
    let is_own = |server: &str| argo::OWN_CLUSTER.contains(&server.trim_end_matches('/'));
    let told = known.iter().filter(|(name, server)| once(name) && once(server) && !is_own(server));
    told.map(|(name, server)| (server.clone(), name.clone())).collect()
}

/// Puts what goes to a cluster by its name together with what goes there by its server.
pub(super) fn join(lots: &mut [Lot], servers: &Servers, marks: &[Mark]) {
    let asked = lots.iter().filter_map(|lot| lot.away.as_ref().map(|away| away.name().to_owned()));
    let asked: HashSet<String> = asked.collect();
    let is_asked = |text: &String| asked.contains(text);
    for (server, name) in servers.iter().filter(|(server, name)| is_asked(name) || is_asked(server)) {
        let (by_name, by_server) = (Away::Named(name.clone()), Away::Named(server.clone()));
        let is_plane = |lot: &Lot| lot.away.as_ref() == Some(&by_server) && has_plane(lot, marks);
        // Clusters without a control plane are told by the form in which those of all control planes are named.
        let is_by_server = lots.iter().any(is_plane);
        let (from, to) = if is_by_server { (by_name, by_server) } else { (by_server, by_name) };
        let same = lots.iter_mut().filter(|lot| lot.away.as_ref() == Some(&from));
        same.for_each(|lot| lot.away = Some(to.clone()));
    }
}

/// Names the clusters whose addresses a Secret of a namespace has. Copies of it may be in several namespaces, but a cluster has
/// one control plane: where several namespaces have one, each has a cluster of its own.
pub(super) fn tell_apart(lots: &mut [Lot], marks: &[Mark]) {
    let mut planes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for lot in lots.iter().filter(|lot| has_plane(lot, marks)) {
        if let Some(Away::Remote { namespace, kubeconfig }) = &lot.away {
            planes.entry(kubeconfig.clone()).or_default().insert(namespace.clone());
        }
    }
    for lot in lots {
        let Some(Away::Remote { namespace, kubeconfig }) = &lot.away else { continue };
        let are_several = planes.get(kubeconfig).is_some_and(|all| all.len() > 1);
        let name = if are_several { format!("{namespace}/{kubeconfig}") } else { kubeconfig.clone() };
        lot.away = Some(Away::Named(name));
    }
}

/// Lists the clusters whose Secrets stand in files: their names and servers.
pub(super) fn known(files: &dyn Files, entries: &[RepoPath]) -> BTreeSet<(String, String)> {
    let has_any =
        |path: &&RepoPath| files.file(path.as_str()).is_ok_and(|file| file.text.contains(argo::SECRET_TYPE));
    let objects = entries.iter().filter(has_any).flat_map(|path| Object::of_file(files, path));
    let both = |object: Object| {
        let text = |key: &str| {
            let shown = object.value.scalar(&["stringData", key]).filter(|text| !text.is_sealed());
            shown.and_then(Scalar::known).filter(|text| !text.is_empty()).map(Cow::into_owned)
        };
        Some((text("name")?, text("server")?))
    };
    objects.filter(argo::is_cluster).filter_map(both).collect()
}
