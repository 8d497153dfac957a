//! Which lots are of one cluster.
//!
//! A cluster has one control plane: two lots that each have one are two clusters, and the folder in which they meet is
//! where clusters lie side by side. Below it, what lies together is together. What meets clusters without being one of
//! them serves all of those that it lies beside, but for what no root reads: that goes with the versions around it.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use super::{
    Mark, Role,
    reach::Lot,
    reached::Waiting,
    top::{Away, Rooted, Seated},
};
use crate::{deploy::object::Labels, repo::common_folder};

/// Of more clusters side by side, what nobody reads is said to serve none.
const BESIDE: usize = 200;

/// An installation.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    /// What it consists of.
    pub lots: Vec<Lot>,
    /// The places that it reads, and those that serve it.
    pub marks: BTreeSet<usize>,
}

/// What is known of a folder while its parent is worked out.
#[derive(Default)]
struct Folder {
    /// Clusters that are set apart, by position.
    closed: Vec<usize>,
    /// Lots with a control plane that have met no other one.
    planes: Vec<Lot>,
    /// Lots without one.
    others: Vec<Lot>,
}

/// Puts lots together.
pub(super) fn groups(lots: &[Lot], marks: &[Mark]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    // The deepest first: a folder is worked out after all that lies below it.
    let mut folders: BTreeMap<(Reverse<usize>, String), Folder> = BTreeMap::new();
    if !lots.iter().any(|lot| has_plane(lot, marks)) {
        return groups;
    }
    let planes: Vec<&Lot> = lots.iter().filter(|lot| has_plane(lot, marks)).collect();
    // Where all control planes have names of one sort, another such name is that of a cluster without one.
    let is_told = |away: &Away, lots: &[&Lot]| {
        has_named_proxies(away, lots, marks) && planes.iter().all(|plane| is_alike(away, plane))
    };
    let mut away: BTreeMap<&Away, Vec<&Lot>> = BTreeMap::new();
    for lot in lots {
        match &lot.away {
            Some(destination) => away.entry(destination).or_default().push(lot),
            None => {
                let folder = folders.entry(place(home(lot.files.iter().map(|f| f.folder())))).or_default();
                if has_plane(lot, marks) { &mut folder.planes } else { &mut folder.others }.push(lot.clone());
            }
        }
    }
    for (away, lots) in away {
        let folder = home(lots.iter().flat_map(|lot| &lot.files).map(|f| f.folder()));
        if !lots.iter().any(|lot| has_plane(lot, marks)) {
            if is_told(away, &lots) {
                groups.push(Group::of(lots.into_iter().cloned().collect()));
                continue;
            }
            // Whose control plane comes in another way suits that which it lies beside.
            let is_chosen = lots.iter().all(|lot| lot.seated == Seated::Chosen);
            if is_chosen || matches!(away, Away::Run { .. } | Away::Any(_)) {
                folders.entry(place(folder)).or_default().others.extend(lots.into_iter().cloned());
            }
            continue;
        }
        folders.entry(place(folder)).or_default().closed.push(groups.len());
        groups.push(Group::of(lots.into_iter().cloned().collect()));
    }
    while let Some(((_, at), found)) = folders.pop_first() {
        let left = found.settle(&mut groups, marks);
        match at.rsplit_once('/') {
            _ if at.is_empty() => left.finish(&mut groups),
            Some((parent, _)) => folders.entry(place(parent.to_owned())).or_default().join(left),
            None => folders.entry(place(String::new())).or_default().join(left),
        }
    }
    groups
}

/// Tells whether proxies go to a cluster that all who bring it something name.
pub(super) fn has_named_proxies(away: &Away, lots: &[&Lot], marks: &[Mark]) -> bool {
    let is_named = matches!(away, Away::Named(_)) && lots.iter().all(|lot| lot.is_named);
    is_named && lots.iter().any(|lot| has_proxies(lot, marks))
}

/// Tells whether the cluster of a control plane is named as another one is, by name or by server.
pub(super) fn is_alike(away: &Away, plane: &Lot) -> bool {
    let other = plane.away.as_ref().filter(|other| matches!(other, Away::Named(_)) && plane.is_named);
    other.is_some_and(|other| is_address(other) == is_address(away))
}

/// Tells whether a cluster is named by its server.
pub(super) fn is_address(away: &Away) -> bool {
    away.name().contains("://")
}

/// A folder with its depth.
fn place(folder: String) -> (Reverse<usize>, String) {
    let depth = if folder.is_empty() { 0 } else { 1 + folder.matches('/').count() };
    (Reverse(depth), folder)
}

/// Tells whether a control plane is among what goes to a cluster.
pub(super) fn has_plane(lot: &Lot, marks: &[Mark]) -> bool {
    lot.plane || lot.marks.iter().any(|mark| marks.get(*mark).is_some_and(|m| m.role == Role::ControlPlane))
}

/// Tells whether versions of proxies are among what goes to a cluster.
fn has_proxies(lot: &Lot, marks: &[Mark]) -> bool {
    lot.marks.iter().any(|mark| marks.get(*mark).is_some_and(|m| m.role == Role::Proxy))
}

/// Tells whether two lots are of two clusters: each has a Kustomization of one name, for folders of their own.
fn are_apart(one: &Lot, other: &Lot) -> bool {
    let is_rival = |own: &Rooted, root: &Rooted| (&own.0, &own.1) == (&root.0, &root.1) && own.2 != root.2;
    one.roots.iter().any(|own| other.roots.iter().any(|root| is_rival(own, root)))
}

/// Tells whether a lot lies in the folder that another one deploys.
fn is_inside(lot: &Lot, around: &Lot) -> bool {
    let home = home(lot.files.iter().map(|file| file.folder()));
    let below = around.folder.as_deref().filter(|folder| !folder.is_empty());
    below
        .and_then(|folder| home.strip_prefix(folder))
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the folder that all folders lie in.
pub(super) fn home<'f>(folders: impl IntoIterator<Item = &'f str>) -> String {
    folders.into_iter().reduce(|one, other| common_folder(one, other)).unwrap_or_default().to_owned()
}

// === impl Group ===

impl Group {
    /// Puts together what goes to one cluster.
    pub fn of(lots: Vec<Lot>) -> Self {
        let marks = lots.iter().flat_map(|lot| &lot.marks).copied().collect();
        Self { lots, marks }
    }

    /// Tells whether it is known by the cluster that it goes to.
    pub fn is_elsewhere(&self) -> bool {
        self.lots.iter().all(|lot| lot.away.is_some())
    }

    /// Tells whether nothing here brings it a control plane.
    pub fn is_bare(&self, marks: &[Mark]) -> bool {
        !self.lots.iter().any(|lot| has_plane(lot, marks))
    }

    /// Tells whether a change of its control plane's release reaches it no more: beside one that is suspended none is live.
    pub fn is_suspended(&self, marks: &[Mark]) -> bool {
        let is_plane = |mark: &usize| marks.get(*mark).is_some_and(|m| m.role == Role::ControlPlane);
        let waits = self.waits();
        let mut all = waits.left.iter().chain(&waits.suspended);
        let mut live = waits.live.difference(&waits.left);
        all.any(|mark| is_plane(mark) && waits.has(*mark)) && !live.any(is_plane)
    }

    /// Returns what of all that it reads waits for a deployer.
    pub fn waits(&self) -> Waiting {
        let mut all = Waiting::default();
        self.lots.iter().for_each(|lot| all.extend(lot.waits.clone()));
        all
    }

    /// Returns the labels of what leads to its control plane.
    pub fn labels(&self) -> Labels {
        self.lots.iter().flat_map(|lot| &lot.labels).cloned().collect()
    }
}

// === impl Folder ===

impl Folder {
    fn join(&mut self, other: Self) {
        self.closed.extend(other.closed);
        self.planes.extend(other.planes);
        self.others.extend(other.others);
    }

    /// Sets clusters apart to which nothing brings a control plane: a root of theirs is called as one of a cluster that has one.
    fn set_apart(&mut self, groups: &mut Vec<Group>, marks: &[Mark]) {
        let closed = self.closed.iter().filter_map(|n| groups.get(*n)).flat_map(|group| &group.lots);
        let planes: Vec<&Lot> = self.planes.iter().chain(closed).collect();
        let is_apart = |lot: &Lot| {
            !lot.roots.is_empty()
                && has_proxies(lot, marks)
                && planes.iter().any(|plane| are_apart(plane, lot))
        };
        let (mut apart, left): (Vec<Lot>, Vec<Lot>) =
            std::mem::take(&mut self.others).into_iter().partition(is_apart);
        for lot in left {
            match apart.iter_mut().find(|around| is_inside(&lot, around)) {
                Some(around) => {
                    around.marks.extend(lot.marks);
                    around.waits.extend(lot.waits);
                }
                None => self.others.push(lot),
            }
        }
        groups.extend(apart.into_iter().map(|lot| Group::of(vec![lot])));
    }

    /// Puts together what lies in one folder; what is left may still meet others in a folder above.
    fn settle(mut self, groups: &mut Vec<Group>, marks: &[Mark]) -> Self {
        self.set_apart(groups, marks);
        if self.closed.is_empty() && self.planes.len() < 2 {
            if let Some(plane) = self.planes.pop() {
                return Self { planes: vec![merged(plane, self.others)], ..Self::default() };
            }
            return self;
        }
        // Beside clusters elsewhere there is the one in which all of this is kept: what names no other is that one's.
        let elsewhere = |closed: &usize| groups.get(*closed).is_some_and(Group::is_elsewhere);
        let is_own = self.planes.len() == 1 && self.closed.iter().all(elsewhere);
        let is_itself = |lot: &Lot| matches!(lot.seated, Seated::ThatOfItself | Seated::ThatOfArgo);
        let is_hubs = |lot: &Lot| is_own && is_itself(lot) && lot.away.is_none();
        let (own, others): (Vec<Lot>, Vec<Lot>) = self.others.into_iter().partition(is_hubs);
        let mut own: Vec<Lot> = self.planes.into_iter().map(|plane| merged(plane, own.clone())).collect();
        if self.closed.len() + own.len() <= BESIDE {
            let of_closed = self.closed.iter().filter_map(|closed| Some(&groups.get(*closed)?.marks));
            let read: Vec<&BTreeSet<usize>> = own.iter().map(|plane| &plane.marks).chain(of_closed).collect();
            let mut of_own = suiting(&others, &read, marks);
            let of_closed = of_own.split_off(own.len());
            own.iter_mut().zip(of_own).for_each(|(plane, marks)| plane.marks.extend(marks));
            for (closed, marks) in self.closed.iter().zip(of_closed) {
                if let Some(group) = groups.get_mut(*closed) {
                    group.marks.extend(marks);
                }
            }
        }
        if !is_own {
            self.closed.extend(groups.len()..groups.len() + own.len());
            groups.extend(own.drain(..).map(|plane| Group::of(vec![plane])));
        }
        Self { closed: self.closed, planes: own, others: Vec::new() }
    }

    fn finish(self, groups: &mut Vec<Group>) {
        groups.extend(self.planes.into_iter().map(|plane| Group::of(vec![plane])));
    }
}

/// Returns, of what lies beside clusters, what suits each of them, as far as the tree tells: what has to suit a control plane,
/// and what goes to any cluster. What no root reads goes with the versions of control planes in the innermost folder around it
/// that has any. `read` is what each of the clusters reads.
fn suiting(others: &[Lot], read: &[&BTreeSet<usize>], marks: &[Mark]) -> Vec<Vec<usize>> {
    let mut versions: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for (cluster, read) in read.iter().enumerate() {
        let read = read.iter().filter_map(|mark| marks.get(*mark));
        for version in read.filter(|mark| mark.role == Role::ControlPlane) {
            versions.entry(version.path.folder()).or_default().insert(cluster);
        }
    }
    let all: BTreeSet<usize> = (0..read.len()).collect();
    let mut found = vec![Vec::new(); read.len()];
    for lot in others {
        let is_for_all = lot.seated == Seated::All || matches!(lot.away, Some(Away::Any(_)));
        let is_read = lot.seated != Seated::Unsaid || lot.away.is_some() || lot.folder.is_some();
        for (at, mark) in lot.marks.iter().filter_map(|at| Some((*at, marks.get(*at)?))) {
            if !is_for_all && matches!(mark.role, Role::Proxy | Role::Other) {
                continue;
            }
            let around = innermost(mark.path.folder(), &versions).filter(|_| !is_read);
            for cluster in around.unwrap_or(&all) {
                if let Some(found) = found.get_mut(*cluster) {
                    found.push(at);
                }
            }
        }
    }
    found
}

/// Returns what is known of the innermost folder of those on the way to a file, the root left out.
fn innermost<'k, T>(folder: &str, known: &'k BTreeMap<&str, T>) -> Option<&'k T> {
    let mut folders = std::iter::successors(Some(folder), |folder| Some(folder.rsplit_once('/')?.0));
    folders.find_map(|folder| known.get(folder).filter(|_| !folder.is_empty()))
}

/// Puts what hangs on a control plane to it; it keeps its own place, by which it is called.
fn merged(mut plane: Lot, others: Vec<Lot>) -> Lot {
    for lot in others {
        plane.marks.extend(lot.marks);
        plane.roots.extend(lot.roots);
        plane.waits.extend(lot.waits);
    }
    plane
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::RepoPath;

    #[test]
    fn what_no_root_reads_goes_with_the_versions_around_it() {
        let mark = |path: &str, role| {
            let (unit, path) = (path.to_owned(), RepoPath::new(path).unwrap());
            Mark { path, span: 0..1, unit, role }
        };
        let marks = [
            mark("mesh.yaml", Role::ControlPlane),
            mark("clusters/a/mesh.yaml", Role::ControlPlane),
            mark("clusters/b/mesh.yaml", Role::ControlPlane),
            mark("clusters/a/more/values.yml", Role::Platform),
            mark("clusters/values.yml", Role::Platform),
        ];
        let read = [0, 1, 2].map(|mark| BTreeSet::from([mark]));
        let found = |lot: Lot| {
            let lot = Lot { marks: BTreeSet::from([3, 4]), ..lot };
            suiting(&[lot], &read.iter().collect::<Vec<_>>(), &marks)
        };
        assert_eq!(found(Lot::default()), [vec![4], vec![3, 4], vec![4]]);
        let run = Away::Run { folder: "infra".to_owned(), cluster: "c".to_owned() };
        for lot in [
            Lot { seated: Seated::ThatOfItself, ..Lot::default() },
            Lot { folder: Some("infra".to_owned()), ..Lot::default() },
            Lot { away: Some(run), ..Lot::default() },
        ] {
            assert_eq!(found(lot.clone()), [[3, 4]; 3], "{lot:?}");
        }
    }
}
