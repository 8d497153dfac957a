//! Clusters that Argo CD knows by two names: a destination has the name of one or its server, and a Secret in the tree both.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{Mark, group::has_plane, reach::Lot, top::Away};
use crate::{
    deploy::{argo, files::Files, object::Object},
    repo::RepoPath,
};

/// Puts what goes to a cluster by its name together with what goes there by its server. Two instances of Argo CD may know
/// different clusters by one name: then the Secrets do not say which is meant.
pub(super) fn join(lots: &mut [Lot], known: &BTreeSet<(String, String)>, marks: &[Mark]) {
    let mut times: HashMap<&str, usize> = HashMap::new();
    known.iter().for_each(|(name, server)| {
        [name, server].iter().for_each(|text| *times.entry(text).or_default() += 1)
    });
    let once = |text: &str| times.get(text) == Some(&1);
    let asked = lots.iter().filter_map(|lot| lot.away.as_ref().map(|away| away.name().to_owned()));
    let asked: HashSet<String> = asked.collect();
    for (name, server) in known.iter().filter(|(name, server)| asked.contains(name) || asked.contains(server))
    {
        // The cluster of Argo CD itself has no name here.
        if !once(name) || !once(server) || argo::OWN_CLUSTER.contains(&server.trim_end_matches('/')) {
            continue;
        }
        let (by_name, by_server) = (Away::Named(name.clone()), Away::Named(server.clone()));
        let is_plane = |lot: &Lot| lot.away.as_ref() == Some(&by_server) && has_plane(lot, marks);
        // It is called as its control plane is asked for.
        let is_by_server = lots.iter().any(is_plane);
        let (from, to) = if is_by_server { (by_name, by_server) } else { (by_server, by_name) };
        let same = lots.iter_mut().filter(|lot| lot.away.as_ref() == Some(&from));
        same.for_each(|lot| lot.away = Some(to.clone()));
    }
}

/// Lists the clusters whose Secrets stand in files: their names and servers.
pub(super) fn known(files: &dyn Files, entries: &[RepoPath]) -> BTreeSet<(String, String)> {
    let has_any =
        |path: &&RepoPath| files.file(path.as_str()).is_ok_and(|file| file.text.contains(argo::SECRET_TYPE));
    let objects = entries.iter().filter(has_any).flat_map(|path| Object::of_file(files, path));
    let both = |object: Object| {
        let text = |key: &str| object.value.text(&["stringData", key]).filter(|text| !text.is_empty());
        Some((text("name")?.into_owned(), text("server")?.into_owned()))
    };
    objects.filter(argo::is_cluster).filter_map(both).collect()
}
