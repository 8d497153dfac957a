//! What each root reads, by the cluster that it goes to.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use super::{
    BUILDS, Mark,
    top::{self, Id, Made, Top},
    watch::Watch,
};
use crate::{
    deploy::{
        chart::{ChartRelease, Repository},
        cluster::Cluster,
        files::Files,
        kinds::is_root,
        object::Object,
        value::{Part, Scalar, Value},
    },
    repo::RepoPath,
};

/// The destination that the tree names; `None` is the cluster that the roots themselves are in.
pub(super) type Seat = Option<String>;

/// What goes to one cluster, as far as it is known to be one.
#[derive(Clone, Debug, Default)]
pub(super) struct Lot {
    /// The cluster.
    pub away: Seat,
    /// The files of its roots; of what no root reads, the files themselves.
    pub files: BTreeSet<RepoPath>,
    /// The folder that its root deploys, where it is one root that names a folder.
    pub folder: Option<String>,
    /// The places that it reads.
    pub marks: BTreeSet<usize>,
    /// Whether a chart of a control plane is among what it deploys.
    pub plane: bool,
}

/// What a root reads of one cluster's.
#[derive(Default)]
struct Reach {
    /// Places of which something is in what it deploys.
    exact: BTreeSet<usize>,
    /// Places in files that it reads.
    near: BTreeSet<usize>,
    /// Whether it deploys a control plane.
    plane: bool,
}

/// Places by file.
struct Places<'m> {
    by_file: HashMap<&'m str, Vec<usize>>,
    marks: &'m [Mark],
    is_plane: &'m dyn Fn(&str) -> bool,
}

/// A walk from one root on.
struct Walk<'w> {
    files: &'w dyn Files,
    places: &'w Places<'w>,
    builds: usize,
    reaches: BTreeMap<Seat, Reach>,
    /// The objects of the cluster that others look up: sources, ConfigMaps, releases.
    kept: Vec<(Object, Seat)>,
    /// Whether a text is filled in from an object of the cluster.
    fills: bool,
}

/// Says of each root what it reads, and of what no root reads by its unit; `None` where there is too much to build.
pub(super) fn lots(
    files: &dyn Files,
    tops: &[Top],
    marks: &[Mark],
    is_plane: &dyn Fn(&str) -> bool,
) -> Option<Vec<Lot>> {
    let places = Places::new(marks, is_plane);
    let mut builds = BUILDS;
    let mut found: Vec<(Lot, Reach)> = Vec::new();
    for top in tops {
        let (reaches, left) = walk(files, &places, top, builds)?;
        builds = left;
        for (away, reach) in reaches {
            let folder = top.folder();
            let files = BTreeSet::from([top.file().clone()]);
            let plane = reach.plane;
            found.push((Lot { away, files, folder, marks: BTreeSet::new(), plane }, reach));
        }
    }
    // A file that is read whole tells less than a scalar that is.
    let exact: BTreeSet<usize> = found.iter().flat_map(|(_, reach)| &reach.exact).copied().collect();
    let mut lots: Vec<Lot> = Vec::new();
    for (lot, reach) in found {
        let near = reach.near.iter().filter(|mark| !exact.contains(mark));
        let marks = reach.exact.iter().chain(near).copied().collect();
        lots.push(Lot { marks, ..lot });
    }
    let read: BTreeSet<usize> = lots.iter().flat_map(|lot| &lot.marks).copied().collect();
    let mut units: BTreeMap<&str, Lot> = BTreeMap::new();
    for (n, mark) in marks.iter().enumerate().filter(|(n, _)| !read.contains(n)) {
        let lot = units.entry(&mark.unit).or_default();
        lot.files.insert(mark.path.clone());
        lot.marks.insert(n);
    }
    lots.extend(units.into_values());
    lots.retain(|lot| !lot.marks.is_empty());
    Some(lots)
}

/// Walks twice where objects of the cluster fill in texts of others: they are known after the first walk.
fn walk(
    files: &dyn Files,
    places: &Places<'_>,
    top: &Top,
    builds: usize,
) -> Option<(BTreeMap<Seat, Reach>, usize)> {
    let begin = |builds| {
        let (reaches, kept) = (BTreeMap::new(), Vec::new());
        Walk { files, places, builds, reaches, kept, fills: false }
    };
    let mut walk = begin(builds);
    walk.from(top, &Cluster::default())?;
    if walk.fills {
        let known = walk.kept;
        walk = begin(walk.builds);
        walk.from(top, &Cluster::new(known.iter().map(|(object, _)| object)))?;
    }
    walk.releases();
    Some((walk.reaches, walk.builds))
}

// === impl Places ===

impl<'m> Places<'m> {
    fn new(marks: &'m [Mark], is_plane: &'m dyn Fn(&str) -> bool) -> Self {
        let mut by_file: HashMap<&str, Vec<usize>> = HashMap::new();
        for (n, mark) in marks.iter().enumerate() {
            by_file.entry(mark.path.as_str()).or_default().push(n);
        }
        Self { by_file, marks, is_plane }
    }

    fn in_file(&self, path: &str) -> &[usize] {
        self.by_file.get(path).map_or(&[], Vec::as_slice)
    }

    /// Takes the places that a scalar was written at.
    fn read(&self, scalar: &Scalar, found: &mut BTreeSet<usize>) {
        for part in scalar.parts() {
            let Part::Written(origin) = part else { continue };
            let near = self.in_file(origin.source.path.as_str());
            let meets = |n: &&usize| {
                let span = &self.marks[**n].span;
                span.start < origin.span.end && origin.span.start < span.end
            };
            found.extend(near.iter().filter(meets));
        }
    }

    /// Takes the places below a folder: what a chart of the tree consists of.
    fn below(&self, folder: &str, found: &mut BTreeSet<usize>) {
        let prefix = format!("{}/", folder.trim_start_matches("./").trim_end_matches('/'));
        let inside = self.by_file.iter().filter(|(path, _)| path.starts_with(&prefix));
        found.extend(inside.flat_map(|(_, marks)| marks));
    }
}

// === impl Walk ===

impl Walk<'_> {
    /// Builds a root and all roots that come out of it; `None` over the bound.
    fn from(&mut self, top: &Top, cluster: &Cluster<'_>) -> Option<()> {
        let mut seen: HashMap<Id, Vec<Value>> = HashMap::new();
        let mut todo: VecDeque<(Object, Seat)> = VecDeque::new();
        let watch = Watch::new(self.files);
        let made = top.made(cluster, &watch);
        if let Top::Object(object) = top {
            seen.entry(top::id(object)).or_default().push(object.value.clone());
            self.fills |= fills(object);
        }
        self.take(made, None, [top.file()], watch, &mut todo);
        while let Some((object, seat)) = todo.pop_front() {
            // What one set makes for several clusters may have one name; what takes itself in is the same again.
            let same = seen.entry(top::id(&object)).or_default();
            if same.contains(&object.value) {
                continue;
            }
            same.push(object.value.clone());
            self.builds = self.builds.checked_sub(1)?;
            self.fills |= fills(&object);
            let watch = Watch::new(self.files);
            if let Some(made) = top::made(&object, cluster, &watch) {
                self.take(made, seat, [&object.file].into_iter().chain(&object.by), watch, &mut todo);
            }
        }
        Some(())
    }

    /// Takes what came out of a root in the cluster `seat`, which was written in these files.
    fn take<'p>(
        &mut self,
        made: Made,
        seat: Seat,
        written: impl IntoIterator<Item = &'p RepoPath>,
        watch: Watch<'_>,
        todo: &mut VecDeque<(Object, Seat)>,
    ) {
        let seat = made.away.or(seat);
        let places = self.places;
        let reach = self.reaches.entry(seat.clone()).or_default();
        reach.near.extend(written.into_iter().flat_map(|path| places.in_file(path.as_str())));
        reach.near.extend(watch.into_read().iter().flat_map(|path| places.in_file(path)));
        made.charts.iter().for_each(|chart| reach.chart(places, chart));
        for object in made.objects {
            if is_root(&object) {
                todo.push_back((object, seat.clone()));
                continue;
            }
            object.value.scalars().into_iter().for_each(|scalar| places.read(scalar, &mut reach.exact));
            if is_looked_up(&object) {
                self.kept.push((object, seat.clone()));
            }
        }
    }

    /// Reads the charts of releases, whose sources and values are other objects of the cluster.
    fn releases(&mut self) {
        let kept = std::mem::take(&mut self.kept);
        let cluster = Cluster::new(kept.iter().map(|(object, _)| object));
        for (object, seat) in &kept {
            let watch = Watch::new(self.files);
            let Some(made) = top::made(object, &cluster, &watch) else { continue };
            let reach = self.reaches.entry(made.away.or_else(|| seat.clone())).or_default();
            let places = self.places;
            reach.near.extend(watch.into_read().iter().flat_map(|path| places.in_file(path)));
            made.charts.iter().for_each(|chart| reach.chart(places, chart));
            object.value.scalars().into_iter().for_each(|scalar| places.read(scalar, &mut reach.exact));
        }
    }
}

// === impl Reach ===

impl Reach {
    /// Takes the places that a chart and its values were written at, and those of a chart of the tree.
    fn chart(&mut self, places: &Places<'_>, chart: &ChartRelease) {
        chart.scalars().for_each(|scalar| places.read(scalar, &mut self.exact));
        self.plane |= (places.is_plane)(&chart.chart.text());
        if matches!(chart.repository, Repository::Git(_)) {
            places.below(&chart.chart.text(), &mut self.near);
        }
    }
}

/// Tells whether texts of the object's build are filled in from objects of the cluster.
fn fills(object: &Object) -> bool {
    let from = object.value.path(&["spec", "postBuild"]).map(|build| build.list_at("substituteFrom"));
    from.is_some_and(|from| !from.is_empty()) || object.kind() == "ResourceSet"
}

/// Tells whether other objects of the cluster ask for this one by name, or it asks for others.
fn is_looked_up(object: &Object) -> bool {
    matches!(
        &*object.kind(),
        "ConfigMap"
            | "Secret"
            | "HelmRepository"
            | "OCIRepository"
            | "GitRepository"
            | "Bucket"
            | "HelmChart"
            | "HelmChartConfig"
            | "HelmRelease"
            | "ResourceSetInputProvider"
    )
}
