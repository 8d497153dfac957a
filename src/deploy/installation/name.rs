//! What installations are called: by their folder, their file or their destination, in the form of a branch's name.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    clusters::Servers,
    group::{Group, home},
};

/// Longer names are cut.
const LONGEST: usize = 48;
/// Folders that say the same of every installation: of deployers, of what they deploy, of where clusters lie, of what
/// kind of files is in them.
const EVERYWHERE: [&str; 22] = [
    "flux-system",
    "flux",
    "argocd",
    "argo-cd",
    "argo",
    "linkerd",
    "linkerd2",
    "linkerd-control-plane",
    "control-plane",
    "linkerd-crds",
    "crds",
    "service-mesh",
    "mesh",
    "clusters",
    "environments",
    "overlays",
    "base",
    "deploy",
    "k8s",
    "kubernetes",
    "manifests",
    "server",
];
/// How Cluster API, and who follows it, calls the Secret with the address of a cluster, behind the cluster's name.
const KUBECONFIG: &str = "-kubeconfig";
/// Names that targets have of themselves.
const TAKEN: [&str; 2] = ["default", "shared"];

/// Names groups: each by itself, as far as no two get the same name. A cluster whose Secret is here is called as that calls it.
pub(super) fn named(groups: &[Group], servers: &Servers) -> Vec<String> {
    let mut alone: BTreeMap<String, usize> = BTreeMap::new();
    for group in groups.iter().filter(|group| group.lots.iter().all(|lot| lot.away.is_none())) {
        *alone.entry(folder(group)).or_default() += 1;
    }
    let lots = groups.iter().flat_map(|group| &group.lots).filter(|lot| lot.away.is_none());
    let deployed: BTreeSet<&str> = lots.filter_map(|lot| lot.folder.as_deref()).collect();
    let words = groups.iter().map(|group| words(group, (&alone, &deployed), servers));
    let words: Vec<Vec<String>> = words.collect();
    let mut used: Vec<usize> = words.iter().map(|_| 1).collect();
    // Those that are called the same take in the folder above, until they differ or there is none left.
    loop {
        let names: Vec<String> = words.iter().zip(&used).map(|(words, used)| join(words, *used)).collect();
        let mut same: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        names.iter().enumerate().for_each(|(n, name)| same.entry(name).or_default().push(n));
        let mut grown = false;
        for (name, clash) in &same {
            for n in clash.iter().filter(|_| clash.len() > 1 || TAKEN.contains(name)) {
                let can = used[*n] < words[*n].len();
                grown |= can;
                used[*n] += usize::from(can);
            }
        }
        if !grown {
            return numbered(names);
        }
    }
}

/// The last resort for what is called the same all the way up.
fn numbered(names: Vec<String>) -> Vec<String> {
    let mut taken: BTreeSet<String> = TAKEN.iter().map(|name| (*name).to_owned()).collect();
    let free = |name: String| {
        let numbers = (2..).map(|n| format!("{name}-{n}"));
        let found = [name.clone()].into_iter().chain(numbers).find(|name| !taken.contains(name));
        let found = found.unwrap_or(name);
        taken.insert(found.clone());
        found
    };
    names.into_iter().map(free).collect()
}

/// Joins the last words, in the order of folders.
fn join(words: &[String], used: usize) -> String {
    let mut words: Vec<&str> = words.iter().take(used).map(String::as_str).collect();
    words.reverse();
    let name = words.join("-");
    let cut = name.get(name.len().saturating_sub(LONGEST)..).unwrap_or(&name);
    cut.trim_matches(['-', '.', '_']).to_owned()
}

/// The words that a group may be called by, the nearest first.
fn words(
    group: &Group,
    (alone, deployed): (&BTreeMap<String, usize>, &BTreeSet<&str>),
    servers: &Servers,
) -> Vec<String> {
    let folder = folder(group);
    let is_anothers = |below: &str| below.rsplit('/').find_map(telling).is_none();
    let mut found: Vec<String> = Vec::new();
    if let Some(destination) = group.lots.iter().find_map(|lot| lot.away.as_ref()) {
        let name = destination.name();
        found.extend(of_destination(servers.get(name).map_or(name, String::as_str)));
    } else if alone.get(&folder).is_some_and(|groups| *groups > 1)
        || below(&folder, group, deployed).is_some_and(is_anothers)
    {
        // Of several in one folder, or in one that is deployed, the file, or what it deploys, tells them apart.
        let lot = group.lots.first();
        let own = lot.and_then(|lot| lot.folder.as_deref()).and_then(|f| f.rsplit('/').find_map(telling));
        let stem = lot
            .and_then(|lot| lot.files.first())
            .and_then(|file| file.name().split('.').next())
            .and_then(word);
        found.extend(own.or(stem));
    }
    found.extend(folder.rsplit('/').filter_map(telling));
    if found.is_empty() {
        // Nothing but words that say the same everywhere, or the root.
        found.extend(folder.rsplit('/').find_map(word).or_else(|| Some("root".to_owned())));
    }
    found
}

/// Returns what of a folder lies below the nearest one that others deploy, who are called as that is.
fn below<'f>(folder: &'f str, group: &Group, deployed: &BTreeSet<&str>) -> Option<&'f str> {
    let is_own = |at: &str| group.lots.iter().any(|lot| lot.folder.as_deref() == Some(at));
    let is_others = |end: &usize| folder.get(..*end).is_some_and(|at| deployed.contains(at) && !is_own(at));
    let ends = folder.match_indices('/').map(|(at, _)| at).chain([folder.len()]);
    folder.get(ends.rev().find(is_others)?..)
}

fn folder(group: &Group) -> String {
    home(group.lots.iter().flat_map(|lot| &lot.files).map(|file| file.folder()))
}

/// Names what goes to a destination.
pub(super) fn of_destination(destination: &str) -> Option<String> {
    let name = word(host(destination))?;
    word(name.strip_suffix(KUBECONFIG).unwrap_or(&name))
}

/// The host of an address, without its port; a name as it is.
fn host(destination: &str) -> &str {
    let Some((_, rest)) = destination.split_once("://") else { return destination };
    let host = rest.split(['/', '?']).next().unwrap_or(rest);
    host.rsplit_once(':').map_or(host, |(host, _)| host)
}

fn telling(word: &str) -> Option<String> {
    self::word(word).filter(|word| !EVERYWHERE.contains(&word.as_str()))
}

/// Brings a word into the form of a part of a branch's name.
fn word(text: &str) -> Option<String> {
    let letter = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '.') { c } else { '-' };
    let word: String = text.chars().map(letter).collect();
    let word = word.replace("..", "-");
    let word = word.trim_matches(['-', '.', '_']);
    (!word.is_empty()).then(|| word.trim_end_matches(".lock").to_owned())
}
