//! What each root reads, by the cluster that it goes to.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use super::{
    BUILDS, Knows, Mark, left,
    looked_up::{fills, is_looked_up, is_release, is_remote, leaves_out, loose, own_sources, seats},
    places::Places,
    reached::{Reach, Waiting},
    together::Together,
    top::{self, Away, Id, Made, Rooted, Seated, Top, names_cluster},
};
use crate::{
    deploy::{
        argo,
        cluster::Cluster,
        files::Files,
        flux, k3s,
        kinds::{self, is_root},
        object::{Labels, Object},
        suspended::{self, By},
        tree_chart::Evaluations,
        value::Value,
        watch::Watch,
    },
    repo::RepoPath,
};

/// Charts of the tree that bring releases of charts of the tree.
const NESTED: usize = 4;
/// Objects of the cluster that fill in each other's texts.
const FILLED: usize = 3;

/// Where something goes; `None` is the cluster that the roots themselves are in.
pub(super) type Seat = Option<Away>;

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
    /// What of them waits, since a deployer is told to leave it as it is.
    pub waits: Waiting,
    /// Whether a chart of a control plane is among what it deploys.
    pub plane: bool,
    /// The labels of what leads to a control plane.
    pub labels: Labels,
    /// In which cluster it is where it names none.
    pub seated: Seated,
    /// Whether somebody names the cluster, rather than choosing it.
    pub is_named: bool,
    /// Whether a tool brings it that an object of another one has run.
    pub by_object: bool,
    /// What its roots are, where they are in the cluster themselves: of one name there is one there.
    pub roots: BTreeSet<Rooted>,
}

/// How an object came about.
#[derive(Clone, Default)]
struct Way {
    /// The cluster that it goes to.
    seat: Seat,
    /// The labels of what led to it.
    labels: Labels,
    /// Whether a source leaves out its file: no cluster has it by this way, and another may have it by its own.
    ignored: bool,
    /// Whether whoever makes it is told to leave it as it is.
    idle: bool,
    /// Who applies it.
    by: By,
    /// Whether somebody names its cluster.
    is_named: bool,
    /// Places that the chart was made of which it came out of, whatever is laid over them.
    made_of: BTreeSet<usize>,
    /// Places of the element of a generator that it was made of.
    own: BTreeSet<usize>,
}

/// A walk from one root on.
struct Walk<'w> {
    files: &'w dyn Files,
    charts: &'w Evaluations,
    places: &'w Places<'w>,
    builds: usize,
    reaches: BTreeMap<Seat, Reach>,
    /// The objects of the cluster that others look up: sources, ConfigMaps, releases.
    kept: Vec<(Object, Way)>,
    /// The roots of Flux's: they wait for one another.
    roots: Vec<Object>,
    /// Whether a text is filled in from an object of the cluster, or a file is left out by one.
    fills: bool,
    /// Places that move together.
    bound: Together,
}

/// What came of a walk.
struct Walked {
    reaches: BTreeMap<Seat, Reach>,
    /// The files of what it deploys and others look up.
    brought: BTreeSet<RepoPath>,
    /// Builds that are left.
    builds: usize,
    bound: Together,
}

/// Says of each root what it reads, and of what no root reads by its unit; `None` where there is too much to build.
/// `entries` are the files that may hold what deploys, `kustomizations` are those of Flux, by which an object is known to be
/// another cluster's.
pub(super) fn lots(
    (files, charts): (&dyn Files, &Evaluations),
    (tops, entries): (&[Top], &[RepoPath]),
    kustomizations: Vec<Object>,
    marks: &[Mark],
    knows: Knows<'_>,
) -> Option<Vec<Lot>> {
    let places = Places::new(marks, knows);
    let mut builds = BUILDS;
    let mut found: Vec<(Lot, Reach)> = Vec::new();
    let mut bound = Together::default();
    let loose = loose(files, entries, marks);
    // What a chart makes is deployed by those who ask for the chart.
    let mut brought: BTreeSet<RepoPath> = charts.files().cloned().collect();
    let folders: Vec<String> =
        tops.iter().filter_map(Top::folder).chain(kustomizations.iter().flat_map(kinds::folders)).collect();
    let outer = Cluster::new(loose.iter().chain(&kustomizations));
    let of_no_hub = loose.iter().filter(|object| !argo::is_own_cluster(object));
    let of_no_hub = Cluster::new(of_no_hub.chain(&kustomizations));
    for top in tops {
        let walked = walk((files, charts), &places, top, [&outer, &of_no_hub], builds)?;
        builds = walked.builds;
        bound.extend(walked.bound);
        brought.extend(walked.brought);
        for (away, mut reach) in walked.reaches {
            reach.await_planes();
            let folder = top.folder();
            let files = BTreeSet::from([top.file().clone()]);
            let (plane, labels) = (reach.plane, reach.labels.clone());
            let (waits, is_named, seated) = (reach.waits.clone(), reach.is_named, top.seated());
            let roots = top.rooted().filter(|_| away.is_none()).into_iter().collect();
            let by_object = matches!(top, Top::Apply(apply) if apply.by_object);
            let own = Lot { away, files, folder, waits, plane, labels, ..Lot::default() };
            found.push((Lot { seated, is_named, by_object, roots, ..own }, reach));
        }
    }
    // The texts of an object that has a tool run are of the cluster that the tool brings them to.
    let run = found.iter().filter(|(lot, _)| lot.by_object).flat_map(|(_, reach)| &reach.exact);
    let run: BTreeSet<usize> = run.copied().collect();
    let hands_on = |(lot, reach): &&mut (Lot, Reach)| !lot.by_object && !reach.plane;
    found.iter_mut().filter(hands_on).for_each(|(_, reach)| reach.exact.retain(|mark| !run.contains(mark)));
    for all in bound.joined() {
        let reads = |(_, reach): &&mut (Lot, Reach)| reach.exact.intersection(&all).next().is_some();
        found.iter_mut().filter(reads).for_each(|(_, reach)| reach.exact.extend(&all));
    }
    let mut lots = settled(&places, found);
    let mut read: BTreeSet<usize> = lots.iter().flat_map(|lot| &lot.marks).copied().collect();
    let unapplied = unapplied((files, charts), &places, &loose, |object| {
        brought.contains(&object.file) || folders.iter().any(|folder| object.file.is_below(folder))
    });
    let mut unapplied = settled(&places, unapplied);
    unapplied.iter_mut().for_each(|lot| lot.marks.retain(|mark| !read.contains(mark)));
    let mut units: BTreeMap<String, Lot> = BTreeMap::new();
    for lot in unapplied {
        read.extend(&lot.marks);
        // What goes to the cluster that a file is of is together with all else in that file.
        match lot.files.first().filter(|_| lot.away.is_none()).map(ToString::to_string) {
            Some(file) => {
                let unit = units.entry(file).or_default();
                unit.files.extend(lot.files);
                unit.marks.extend(lot.marks);
                unit.waits.extend(lot.waits);
            }
            None => lots.push(lot),
        }
    }
    for (n, mark) in marks.iter().enumerate().filter(|(n, _)| !read.contains(n)) {
        let lot = units.entry(mark.unit.clone()).or_default();
        lot.files.insert(mark.path.clone());
        lot.marks.insert(n);
    }
    lots.extend(units.into_values());
    lots.retain(|lot| !lot.marks.is_empty());
    Some(lots)
}

/// Says what was reached: a file that is read whole tells less than a scalar that is, and so does what need not be there.
fn settled(places: &Places<'_>, found: Vec<(Lot, Reach)>) -> Vec<Lot> {
    let exact: BTreeSet<usize> = found.iter().flat_map(|(_, reach)| &reach.exact).copied().collect();
    let owned: BTreeSet<usize> = found.iter().flat_map(|(_, reach)| &reach.own).copied().collect();
    let alone: BTreeSet<usize> = found.iter().flat_map(|(_, reach)| &reach.alone).copied().collect();
    let is_near = |mark: &usize| !exact.contains(mark);
    let is_anybodys = |mark: &usize| is_near(mark) && !owned.contains(mark);
    let left: Vec<Vec<usize>> =
        places.of.iter().map(|(marks, _)| marks.iter().copied().filter(is_anybodys).collect()).collect();
    let settled = found.into_iter().map(|(lot, reach)| {
        let near = reach.near.iter().filter_map(|file| left.get(*file)).flatten();
        let values = reach.values.iter().filter(|mark| !alone.contains(mark));
        let maybe = reach.maybe.iter().chain(values).chain(&reach.own).filter(|mark| is_near(mark));
        let marks = reach.exact.iter().chain(near).chain(maybe).copied().collect();
        Lot { marks, ..lot }
    });
    settled.collect()
}

/// Finds what releases bring that no root applies: to the cluster that they name themselves, else to that of their file,
/// wherever what they read is written. `is_brought` says of one whether somebody applies it, or what lies around it.
fn unapplied(
    (files, charts): (&dyn Files, &Evaluations),
    places: &Places<'_>,
    loose: &[Object],
    is_brought: impl Fn(&Object) -> bool,
) -> Vec<(Lot, Reach)> {
    let all = Cluster::new(loose);
    let mut found = Vec::new();
    let is_applied = |object: &Object| is_brought(object) && !is_remote(object);
    for object in loose.iter().filter(|object| is_release(object, files) && !is_applied(object)) {
        if own_sources(object, &all).is_none() {
            continue;
        }
        let mut walk = Walk::new((files, charts), places, 0);
        walk.kept.push((object.clone(), Way::default()));
        walk.releases(&all);
        for (away, reach) in walk.reaches {
            let (files, folder) = (BTreeSet::from([object.file.clone()]), None);
            let (plane, labels) = (reach.plane, reach.labels.clone());
            let (waits, seated) = (reach.waits.clone(), Seated::ThatOfItself);
            let lot = Lot { away, files, folder, waits, plane, labels, seated, ..Lot::default() };
            found.push((lot, reach));
        }
    }
    found
}

/// Walks again where objects of the cluster fill in texts of others, or leave files out: they are known after the walk before.
/// An Argo CD is in one cluster, so that where it is told the Secret of which that is, those of others are none of its.
fn walk(
    (files, charts): (&dyn Files, &Evaluations),
    places: &Places<'_>,
    top: &Top,
    [outer, of_no_hub]: [&Cluster<'_>; 2],
    builds: usize,
) -> Option<Walked> {
    let begin = |builds| Walk::new((files, charts), places, builds);
    let mut walk = begin(builds);
    walk.from(top, outer)?;
    for _ in 0..FILLED {
        if !walk.fills {
            break;
        }
        let known = walk.kept;
        walk = begin(walk.builds);
        let is_hub = known.iter().any(|(object, _)| argo::is_own_cluster(object));
        let around = if is_hub { of_no_hub } else { outer };
        walk.from(top, &Cluster::within(known.iter().map(|(object, _)| object), around))?;
        if walk.kept.iter().map(|(object, _)| object).eq(known.iter().map(|(object, _)| object)) {
            break;
        }
    }
    let brought = walk.kept.iter().map(|(object, _)| object.file.clone()).collect();
    walk.releases(outer);
    Some(Walked { reaches: walk.reaches, brought, builds: walk.builds, bound: walk.bound })
}

// === impl Walk ===

impl<'w> Walk<'w> {
    fn new((files, charts): (&'w dyn Files, &'w Evaluations), places: &'w Places<'w>, builds: usize) -> Self {
        let (reaches, kept, roots, bound) = Default::default();
        Self { files, charts, places, builds, reaches, kept, roots, fills: false, bound }
    }

    /// Builds a root and all roots that come out of it; `None` over the bound.
    fn from(&mut self, top: &Top, cluster: &Cluster<'_>) -> Option<()> {
        let mut seen: HashMap<Id, Vec<(Value, Labels)>> = HashMap::new();
        let mut todo: VecDeque<(Object, Way)> = VecDeque::new();
        let watch = Watch::new(self.files);
        let mut made = top.made(cluster, &watch);
        if let Top::Object(object) = top {
            made.objects.extend(argo::managed_namespace(object));
            let own = (object.value.clone(), object.chosen_by.clone());
            seen.entry(top::id(object)).or_default().push(own);
            self.fills |= fills(object);
            self.keep_root(object);
            self.leave_parts(object, &made, made.away.clone(), cluster);
        }
        if let Top::Apply(apply) = top {
            for (seat, marks) in left::of(apply, made.away.as_ref(), self.places) {
                self.reaches.entry(seat).or_default().waits.left.extend(marks);
            }
        }
        let (idle, is_named) = (top.is_suspended(cluster), top.names_cluster());
        let way = Way { labels: top.labels(), idle, is_named, by: top.applies(), ..Way::default() };
        self.take(made, way, [top.file()], watch, &mut todo);
        while let Some((object, way)) = todo.pop_front() {
            // What one set makes for several clusters may have one name; what takes itself in is the same again.
            let same = seen.entry(top::id(&object)).or_default();
            let own = (object.value.clone(), object.chosen_by.clone());
            if same.contains(&own) {
                continue;
            }
            same.push(own);
            self.builds = self.builds.checked_sub(1)?;
            self.fills |= fills(&object);
            self.keep_root(&object);
            let watch = Watch::new(self.files);
            if let Some(mut made) = top::made(&object, cluster, &watch) {
                let (places, seat) = (self.places, made.away.clone().or_else(|| way.seat.clone()));
                // What it deploys it goes on with, as the cluster has it.
                if way.idle || suspended::is_left(&object, way.by) {
                    self.reaches.entry(seat.clone()).or_default().leave(&object.value, places);
                }
                self.leave_parts(&object, &made, seat, cluster);
                let is_named = names_cluster(&object) || made.away.is_none() && way.is_named;
                let idle = suspended::is_suspended(&object, cluster);
                let way = Way { idle, is_named, by: By::of(&object), ..way.on(&object) };
                made.objects.extend(argo::managed_namespace(&object));
                self.take(made, way, [&object.file].into_iter().chain(&object.by), watch, &mut todo);
            }
        }
        Some(())
    }

    fn keep_root(&mut self, root: &Object) {
        let is_of_flux = matches!(&*root.group(), flux::KUSTOMIZATIONS | flux::OPERATOR);
        self.roots.extend(is_of_flux.then(|| root.clone()));
    }

    /// Takes what a root leaves as its cluster has it of what it is given, and of what it makes.
    fn leave_parts(&mut self, root: &Object, made: &Made, seat: Seat, cluster: &Cluster<'_>) {
        let (places, charts) = (self.places, self.charts);
        let charted = made.charts.iter().filter(|chart| !chart.is_off).flat_map(|chart| charts.of(chart));
        let ignored = argo::Kept::of(root);
        for object in made.objects.iter().chain(charted) {
            let kept = ignored.parts(object);
            if !kept.is_empty() {
                let seat = top::away(object).or_else(|| seat.clone());
                let reach = self.reaches.entry(seat).or_default();
                kept.into_iter().for_each(|part| reach.leave(part, places));
            }
        }
        let mut untold = flux::providers(root, cluster);
        untold.retain(|provider| suspended::is_told(provider));
        if !untold.is_empty() {
            let reach = self.reaches.entry(seat).or_default();
            untold.into_iter().for_each(|provider| reach.leave(&provider.value, places));
        }
    }

    /// Takes what came out of a root on a way, which was written in these files.
    fn take<'p>(
        &mut self,
        made: Made,
        way: Way,
        written: impl IntoIterator<Item = &'p RepoPath>,
        watch: Watch<'_>,
        todo: &mut VecDeque<(Object, Way)>,
    ) {
        let mut way = Way { seat: made.away.or(way.seat), ..way };
        let (places, charts) = (self.places, self.charts);
        let (values, own) = (std::mem::take(&mut way.made_of), std::mem::take(&mut way.own));
        let mut reach = Reach { values, own, ..Reach::default() };
        reach.near.extend(written.into_iter().filter_map(|path| places.file(path.as_str())));
        reach.near.extend(watch.into_read().iter().filter_map(|path| places.file(path)));
        made.charts.iter().for_each(|chart| reach.chart((self.files, charts), places, chart));
        reach.made_charts(way.idle, way.ignored);
        self.bound.take(&made.guards, places);
        let on = made.charts.iter().filter(|chart| !chart.is_off);
        let charted = on.flat_map(|chart| charts.of(chart)).cloned();
        let (leading, charted): (Vec<Object>, Vec<Object>) = charted.partition(is_root);
        // Where that goes which comes of a chart, there goes what the chart is given.
        if !leading.is_empty() {
            let is_all =
                made.charts.iter().all(|chart| !chart.is_off && charts.of(chart).iter().any(is_root));
            let made_of = if is_all { reach.handed_on(places) } else { BTreeSet::new() };
            for object in made.charts.iter().flat_map(|chart| charts.off(chart)).filter(|off| is_root(off)) {
                let own = places.all(&object.value);
                let seat = top::away(object).or_else(|| way.seat.clone());
                let reach = self.reaches.entry(seat).or_default();
                reach.alone.extend(&own);
                reach.own.extend(own);
            }
            let way = Way { made_of, ..way.clone() };
            todo.extend(leading.into_iter().map(|object| (object, way.clone())));
        }
        for (n, object) in made.objects.into_iter().chain(charted).enumerate() {
            let ignored = way.ignored || made.ignored.contains(&object.file);
            let is_idle = way.idle && !ignored && !is_remote(&object);
            if (is_idle || suspended::is_left(&object, way.by)) && !is_root(&object) {
                reach.leave(&object.value, places);
            }
            let way = || Way { ignored, ..way.clone() };
            if is_root(&object) {
                let own = made.elements.get(n).map(|element| places.all(element)).unwrap_or_default();
                todo.push_back((object, Way { own, ..way() }));
                continue;
            }
            // What others ask for is read with them.
            if is_looked_up(&object) {
                self.fills |= leaves_out(&object) || argo::is_own_cluster(&object);
                self.kept.push((object, way()));
                continue;
            }
            let read = if ignored { &mut reach.maybe } else { &mut reach.exact };
            object.value.scalars().into_iter().for_each(|scalar| places.read(scalar, read));
        }
        self.join(reach, way);
    }

    /// Reads the charts of releases, whose sources and values are other objects of the cluster, and these; a chart of the tree
    /// may bring releases again.
    fn releases(&mut self, outer: &Cluster<'_>) {
        for _ in 0..NESTED {
            let (kept, roots) = (std::mem::take(&mut self.kept), std::mem::take(&mut self.roots));
            let objects = || kept.iter().map(|(object, _)| object).chain(&roots);
            let cluster = Cluster::within(objects(), outer);
            let compared = flux::awaited_values(objects(), &cluster, self.files);
            self.bound.take(&compared, self.places);
            let placed: Vec<_> = kept.iter().map(|(object, way)| (object, &way.seat)).collect();
            for ((object, way), seats) in kept.iter().zip(seats(&placed, &cluster)) {
                for seat in seats {
                    self.release(object, Way { seat, ..way.clone() }, &cluster);
                }
            }
        }
    }

    fn release(&mut self, object: &Object, way: Way, cluster: &Cluster<'_>) {
        let own = own_sources(object, cluster).unwrap_or_default();
        let around = &Cluster::within(own, cluster);
        let watch = Watch::new(self.files);
        let made = top::made(object, around, &watch);
        let way = if made.is_some() { way.on(object) } else { way };
        let made = made.unwrap_or_default();
        let (places, files, charts) = (self.places, self.files, self.charts);
        let mut reach = Reach::default();
        if way.idle || suspended::is_left(object, way.by) {
            reach.leave(&object.value, places);
        }
        let idle = suspended::is_suspended(object, around) || k3s::is_skipped(object, files);
        let way = Way { seat: made.away.or(way.seat), idle, by: By::of(object), ..way };
        reach.near.extend(watch.into_read().iter().filter_map(|path| places.file(path)));
        made.charts.iter().for_each(|chart| reach.chart((files, charts), places, chart));
        let charted = || made.charts.iter().flat_map(|chart| charts.of(chart));
        for object in [object].into_iter().chain(charted()) {
            object.value.scalars().into_iter().for_each(|scalar| places.read(scalar, &mut reach.exact));
        }
        for source in flux::optional_sources(object, around).into_iter().filter(|s| !cluster.has_itself(s)) {
            source.value.scalars().into_iter().for_each(|scalar| places.read(scalar, &mut reach.maybe));
        }
        reach.exact.retain(|mark| !reach.maybe.contains(mark));
        reach.made_charts(way.idle, way.ignored);
        let again = charted().filter(|object| is_looked_up(object));
        self.kept.extend(again.map(|object| (object.clone(), way.clone())));
        self.join(reach, way);
    }

    /// Puts what was reached on a way to what its cluster has; what led to a control plane says what that is called.
    fn join(&mut self, found: Reach, way: Way) {
        let leads = !way.ignored && (found.plane || found.has_plane(self.places));
        let reach = self.reaches.entry(way.seat).or_default();
        reach.waits.extend(found.waits);
        if way.ignored { &mut reach.maybe } else { &mut reach.exact }.extend(found.exact);
        reach.near.extend(found.near);
        reach.maybe.extend(found.maybe);
        reach.values.extend(found.values);
        reach.own.extend(found.own);
        reach.off.extend(found.off);
        reach.plane |= found.plane && !way.ignored;
        reach.is_named |= way.is_named;
        if leads {
            reach.labels.extend(way.labels);
        }
    }
}

// === impl Way ===

impl Way {
    /// Goes on by an object.
    fn on(mut self, object: &Object) -> Self {
        self.labels.extend(object.labels());
        self
    }
}
