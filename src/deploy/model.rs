//! All that a tree deploys: every root is built, what it gives is read, and it is dropped again.
//!
//! In: the files that hold objects of deployers, and the folders of kustomizations that nobody takes in. Out: charts,
//! objects and guards, each handed over once it is known. Roots that a build gives (a Kustomization of Flux, an
//! Application) are built after it. Of a build nothing is kept but what other builds may refer to, and objects of interest:
//! what these mean may be for another build to say.

mod covered;
mod fact;
mod gathered;
mod kept;
mod last;
mod release;
mod root;
mod seen;
mod written;

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::{OnceLock, atomic::AtomicUsize},
};

use super::{
    argo,
    build::Build,
    chart::ChartRelease,
    cluster::Cluster,
    files::Files,
    flux,
    kinds::{self, Deployer, Makes},
    kustomize,
    note::{About, Bound, Note},
    object::Object,
    tree_chart::Charts,
};
use crate::repo::{RepoPath, parallel};
pub use fact::{After, Asked, Fact, Take};
use gathered::{Gathered, Said};
use kept::{Kept, Standing};
use last::{Last, Queue};
use root::{Root, What};
use seen::{Beside, Seen};
use written::AsWritten;
pub use written::Written;

/// Roots that are built.
const ROOTS: usize = 20_000;
/// Roots that come of roots: an app of apps of apps.
const WAVES: usize = 12;
/// Maps of other clusters that are read for what all clusters have.
const CLUSTERS: usize = 20_000;

/// Where reading begins.
pub struct Entries<'e> {
    /// Files with objects that lead to others or that others refer to, and whether a kustomization takes them in.
    pub leading: &'e [(RepoPath, bool)],
    /// Files of which the objects are read as they stand there too.
    pub written: &'e [Written],
    /// The folders of kustomizations that no other takes in.
    pub folders: &'e [String],
    /// Whether anything of interest is in a folder: others are not built.
    pub wanted: &'e (dyn Fn(&str) -> bool + Sync),
    /// Whether an object is of interest: others are not handed over.
    pub mentions: &'e (dyn Fn(&Object) -> bool + Sync),
    /// Whether an object names a release.
    pub names_release: &'e (dyn Fn(&Object) -> bool + Sync),
    /// Charts of the tree as others than those here deploy them.
    pub releases: &'e [ChartRelease],
    /// Objects that others than those here deploy.
    pub objects: &'e [Object],
    /// Those that there would be with variables that others are laid over.
    pub shadowed: &'e [Object],
    /// Charts of the tree as nobody does.
    pub lone: &'e [ChartRelease],
    /// How charts of the tree are evaluated.
    pub charts: &'e Charts<'e>,
}

/// What was found.
#[derive(Default)]
pub struct Modelled<R> {
    /// As it is deployed.
    pub deployed: Vec<R>,
    /// As the files have it, whatever is made of it.
    pub written: Vec<R>,
    /// As it would be with the variables that others are laid over.
    pub shadowed: Vec<R>,
    /// As nobody deploys it: with more of charts switched on, and what builds lay something else over.
    pub off: Vec<R>,
    /// As it would be with what files say of the objects of clusters, and builds say otherwise.
    pub covered: Vec<R>,
    /// What patches say of objects that are not there.
    pub unmatched: Vec<R>,
    /// Releases as they were before patches took versions out of them.
    pub laid_over: R,
}

/// Reads all that is deployed, then what files say whether it is deployed or not.
pub fn model<R: Default + Send>(files: &dyn Files, entries: &Entries<'_>, take: &Take<'_, R>) -> Modelled<R> {
    let left = AtomicUsize::new(CLUSTERS);
    let builder = Builder { files, entries, take, left, handed_on: OnceLock::new() };
    let raw = builder.raw();
    let mut found = Modelled::default();
    let (mut unmatched_parts, mut parts, mut laid_over) = (Vec::new(), Vec::new(), Vec::new());
    let mut seen = Seen::default();
    let roots = raw.iter().flat_map(|kept| &kept.roots);
    let deployed: HashSet<String> = roots.clone().flat_map(kinds::folders).collect();
    let mut queue = Queue::default();
    queue.extend(Root::all(entries, &deployed));
    // What asks for variables, or may be patched, is as whoever applies it makes it, and as it stands there where nobody does.
    let (asking, whole) = last::parted(roots);
    for root in whole {
        queue.extend(seen.is_new(root, &Beside::default()).then(|| Root::of(root)));
    }
    let mut built: Vec<Kept> = Vec::new();
    let mut from_builds: HashSet<RepoPath> = HashSet::new();
    let mut covered: Vec<Kept> = Vec::new();
    let mut last = Last { asking, lone: entries.lone, ..Last::default() };
    for _ in 0..WAVES {
        let outer = in_cluster(&raw, &built, &from_builds);
        let mut todo = queue.take(&mut last, &mut seen, &outer);
        if todo.is_empty() {
            break;
        }
        let beyond = todo.split_off(todo.len().min(ROOTS.saturating_sub(built.len())));
        found.deployed.push(builder.left(&beyond, Bound::Roots(ROOTS)));
        let within = within(&todo, &built, &outer);
        let gathered = parallel::fold(&todo, |gathered: &mut Gathered<R>, root| {
            let cluster = within.get(&root.from).unwrap_or(&outer);
            let before = gathered.begin(root.standing);
            builder.root(&root.what, cluster, gathered);
            gathered.end(root.standing, before);
        });
        drop(within);
        drop(outer);
        for of_roots in gathered {
            let Gathered { facts, said, shadowed: other, unmatched: idle, kept, replaced, .. } = of_roots;
            let Gathered { files, failed, off: charts, switched, evaluated, covered: merged_over, .. } =
                of_roots;
            found.off.push(switched.facts);
            let charts = charts.into_iter().map(|chart| What::Charted(Box::new(chart)));
            queue.extend(charts.map(|off| Root { standing: Standing::Off, ..Root::new(off) }));
            last.failed.extend(failed);
            last.evaluated.extend(evaluated);
            found.shadowed.push(other.facts);
            found.unmatched.push(idle.facts);
            unmatched_parts.extend(idle.parts);
            laid_over.extend(replaced);
            from_builds.extend(files);
            covered.extend(merged_over);
            found.deployed.push(facts.facts);
            parts.extend(facts.parts);
            found.written.push(said.facts);
            parts.extend(said.parts);
            for mut kept in kept {
                queue.extend(Root::of_build(&mut kept, built.len(), &mut seen));
                built.push(kept);
            }
        }
    }
    let all = in_cluster(&raw, &built, &from_builds);
    while let left @ [_, ..] = &*queue.take(&mut last, &mut seen, &all) {
        found.deployed.push(builder.left(left, Bound::Waves(WAVES)));
    }
    found.covered = builder.covered(queue.filled(), (&raw, &built), &from_builds);
    found.covered.extend(builder.merged_over(covered, &all));
    parts.extend(builder.hand_over_all(&built, &all, &mut found));
    let read = |read: &mut AsWritten<R>, file: &Written| {
        builder.as_written(file, &all, from_builds.contains(&file.path), &seen, read);
    };
    for AsWritten { said, covered } in parallel::fold(entries.written, read) {
        found.written.push(said.facts);
        found.off.push(covered.facts);
        parts.extend(said.parts.into_iter().chain(covered.parts));
    }
    found.written.push(builder.over(&parts, &built, &all));
    found.unmatched.push(builder.over(&unmatched_parts, &built, &all));
    found.laid_over = builder.laid_over(laid_over, &all);
    found
}

/// Puts what was built beside roots before what clusters have, once for all roots of a build: there may be thousands.
fn within<'k>(
    roots: &[Root],
    built: &'k [Kept],
    outer: &'k Cluster<'k>,
) -> HashMap<Option<usize>, Cluster<'k>> {
    let from: BTreeSet<Option<usize>> = roots.iter().map(|root| root.from).collect();
    let own =
        |from: Option<usize>| from.and_then(|from| built.get(from)).map_or(&[][..], |kept| &kept.references);
    from.into_iter().map(|from| (from, Cluster::within(own(from), outer))).collect()
}

/// Returns what clusters have: what builds make of files in the place of these.
fn in_cluster<'k>(raw: &'k [Kept], built: &'k [Kept], from_builds: &HashSet<RepoPath>) -> Cluster<'k> {
    let of_files = raw.iter().flat_map(|kept| &kept.references);
    let of_files = of_files.filter(|object| !from_builds.contains(&object.file));
    Cluster::new(of_files.chain(built.iter().flat_map(|kept| &kept.references)))
}

/// Who asks for the charts of a build.
struct By<'b> {
    deployer: Deployer,
    object: Option<&'b Object>,
    after: After,
}

// === impl By ===

impl<'b> By<'b> {
    const NOBODY: Self = Self { deployer: Deployer::Kustomize, object: None, after: After::Unsaid };

    /// An Application that another object may have made, or a Kustomization.
    fn of((deployer, of): (Deployer, &'b Object), object: &Object) -> Self {
        match deployer {
            Deployer::Application | Deployer::ApplicationSet => {
                Self { deployer, object: Some(of), after: After::Wave(argo::sync_wave(object)) }
            }
            _ => Self { deployer, ..Self::NOBODY },
        }
    }

    /// What stands in a kustomization is the kustomization's.
    fn asks(&self, release: &ChartRelease) -> (Deployer, Option<&'b Object>) {
        match self.object.filter(|object| object.file == release.file) {
            Some(object) => (self.deployer, Some(object)),
            None => (Deployer::Kustomize, None),
        }
    }
}

struct Builder<'b, R> {
    files: &'b dyn Files,
    entries: &'b Entries<'b>,
    take: &'b Take<'b, R>,
    /// How often more something may still be read as yet another cluster has it.
    left: AtomicUsize,
    /// Variables of artifacts that are not followed, once all is built.
    handed_on: OnceLock<BTreeSet<String>>,
}

// === impl Builder ===

impl<R: Default + Send> Builder<'_, R> {
    /// Reads a file as it is.
    fn read(&self, path: &RepoPath) -> Kept {
        let mut kept = Kept::default();
        for object in Object::of_file(self.files, path) {
            kept.take(object, self.entries.mentions);
        }
        kept
    }

    /// Reads what leads to others, and what others refer to, as the files have it.
    fn raw(&self) -> Vec<Kept> {
        // Most files have one object: a list for each of them would be mostly empty.
        let raw = parallel::fold(self.entries.leading, |all: &mut Kept, (path, taken): &(RepoPath, bool)| {
            let Kept { references, roots, .. } = self.read(path);
            all.references.extend(references);
            all.roots.extend(roots.into_iter().filter(|_| !taken));
        });
        Kept::with_clusters(raw, self.entries.objects)
    }

    /// Hands over what is kept of all builds; returns parts of releases whose other parts are elsewhere.
    fn hand_over_all(&self, built: &[Kept], all: &Cluster<'_>, found: &mut Modelled<R>) -> Vec<Object> {
        self.handed_on.get_or_init(|| flux::handed_on(all, self.files));
        let mut parts = Vec::new();
        let handed = [
            (Standing::Deployed, &mut found.deployed),
            (Standing::Written, &mut found.written),
            (Standing::Off, &mut found.off),
            (Standing::Shadowed, &mut found.shadowed),
        ];
        for (standing, handed) in handed {
            for Said { facts, parts: more } in parallel::fold(built, |said: &mut Said<R>, kept| {
                if kept.standing == standing {
                    self.hand_over(kept, all, standing == Standing::Deployed, said);
                }
            }) {
                handed.push(facts);
                parts.extend(more);
            }
        }
        parts
    }

    /// Says of roots that they are not built.
    fn left(&self, roots: &[Root], bound: Bound) -> R {
        let (mut facts, mut last) = (R::default(), None);
        for path in roots.iter().filter_map(|root| self.file(&root.what)) {
            if last.as_ref() != Some(&path) {
                (self.take)(&mut facts, Fact::Notes(&[Note::new(&path, About::Bound(bound))]));
                last = Some(path);
            }
        }
        facts
    }

    /// Returns the file that a root is in.
    fn file(&self, root: &What) -> Option<RepoPath> {
        match root {
            What::Object(object) => Some(object.file.clone()),
            What::Chart(release) | What::Lone(release) => Some(release.file.clone()),
            What::Charted(failed) => Some(failed.release.file.clone()),
            What::Folder(folder) => kustomize::file(self.files, folder),
            What::Objects(_) => None,
        }
    }

    fn root(&self, root: &What, cluster: &Cluster<'_>, gathered: &mut Gathered<R>) {
        match root {
            What::Folder(folder) => {
                self.built(kustomize::build(self.files, folder), By::NOBODY, cluster, gathered);
            }
            What::Chart(release) => {
                self.umbrella(release, &mut gathered.facts.facts);
                self.chart(release, cluster, gathered);
            }
            What::Lone(release) => self.lone(release, cluster, gathered),
            What::Charted(failed) => {
                self.charted(&failed.release, failed.rendered.clone(), cluster, gathered)
            }
            What::Objects(objects) => {
                let build = Build { objects: objects.clone(), ..Build::default() };
                self.built(build, By::NOBODY, cluster, gathered);
            }
            What::Object(object) => self.object(object, None, cluster, gathered),
        }
    }

    /// Builds what an object has deployed; `of` has made it.
    fn object(
        &self,
        object: &Object,
        of: Option<(Deployer, &Object)>,
        cluster: &Cluster<'_>,
        gathered: &mut Gathered<R>,
    ) {
        let Some(kind) = kinds::of(object) else { return };
        match kind.makes {
            Makes::Roots(build) if of.is_none() => {
                let build = build(object, cluster, self.files);
                (self.take)(&mut gathered.facts.facts, Fact::Notes(&build.notes));
                self.unmade(object, &build, &mut gathered.facts.facts);
                for made in &build.objects {
                    self.object(made, Some((kind.deployer, object)), cluster, gathered);
                }
            }
            Makes::Objects { build, concerns } => {
                let mentions = (self.entries.mentions)(object);
                if mentions {
                    (self.take)(&mut gathered.facts.facts, Fact::Object(object, cluster));
                }
                let sources = kinds::sources(object, cluster);
                // Who reads a release beside Linkerd need not name it.
                let reads = || sources.iter().any(|map| (self.entries.names_release)(map));
                if mentions || concerns(object, cluster, &|folder| self.is_wanted(folder)) || reads() {
                    let facts = &mut gathered.facts.facts;
                    for own in &self.variants(cluster, &sources, &object.files(), facts) {
                        let cluster = Cluster::within(own.iter().copied(), cluster);
                        let build = build(object, &cluster, self.files);
                        self.unmade(object, &build, &mut gathered.facts.facts);
                        let by = By::of(of.unwrap_or((kind.deployer, object)), object);
                        let mut kept = Kept::of(own);
                        kept.references.extend(argo::managed_namespace(object));
                        self.built_beside(kept, build, by, &cluster, gathered);
                    }
                }
            }
            Makes::Chart(read) => {
                let sources = kinds::sources(object, cluster);
                if !kept::leads(object, &sources) {
                    return;
                }
                let asks = object.by.as_ref().unwrap_or(&object.file);
                for own in &self.variants(cluster, &sources, &[asks], &mut gathered.facts.facts) {
                    let cluster = &Cluster::within(own.iter().copied(), cluster);
                    let release = read(object, cluster, self.files);
                    release.iter().for_each(|release| self.chart(release, cluster, gathered));
                }
            }
            Makes::Roots(_) => {}
        }
    }

    fn is_wanted(&self, folder: &str) -> bool {
        let folder = RepoPath::resolve_folder("", folder.trim_start_matches('/'));
        folder.is_some_and(|folder| (self.entries.wanted)(&folder))
    }

    /// Hands over what a build gives, and keeps what others may refer to.
    fn built(&self, build: Build, by: By<'_>, outer: &Cluster<'_>, gathered: &mut Gathered<R>) {
        self.built_beside(Kept::default(), build, by, outer, gathered);
    }

    /// The same beside what the cluster has for it.
    fn built_beside(
        &self,
        mut kept: Kept,
        build: Build,
        by: By<'_>,
        outer: &Cluster<'_>,
        gathered: &mut Gathered<R>,
    ) {
        gathered.files.extend(build.left_out);
        if !build.covered.is_empty() {
            let mut covered = Kept::default();
            build.covered.into_iter().for_each(|object| covered.take(object, self.entries.mentions));
            gathered.covered.push(covered);
        }
        for object in build.unpatched {
            let mut unpatched = Kept::default();
            unpatched.take(object, self.entries.mentions);
            gathered.replaced.append(&mut unpatched.releases);
            // Most lead to nothing.
            if !unpatched.roots.is_empty() {
                gathered.covered.push(Kept { roots: unpatched.roots, ..Kept::default() });
            }
        }
        for object in build.objects {
            gathered.files.insert(object.file.clone());
            kept.take(object, self.entries.mentions);
        }
        let facts = &mut gathered.facts.facts;
        {
            let cluster = &Cluster::within(&kept.references, outer);
            self.shadowed(&build.shadowed, cluster, &mut gathered.shadowed);
            for release in &build.charts {
                let (deployer, object) = by.asks(release);
                let asked = Asked { release, deployer, object, after: by.after.clone(), cluster };
                (self.take)(facts, Fact::Release(asked));
                self.used(release, facts);
            }
            (self.take)(facts, Fact::Guards(&build.guards));
            (self.take)(facts, Fact::Notes(&build.notes));
            self.said((&build.strays, &build.images, &build.charts), cluster, &mut gathered.facts);
            self.said((&[], &build.images_of_known, &[]), cluster, &mut gathered.facts);
            self.said((&build.idle, &[], &[]), cluster, &mut gathered.said);
            self.said((&build.unmatched, &[], &[]), cluster, &mut gathered.unmatched);
            build.charts.iter().for_each(|release| self.chart(release, cluster, gathered));
        }
        gathered.kept.push(kept);
    }

    /// Hands over objects as nobody deploys them.
    fn shadowed(&self, objects: &[Object], cluster: &Cluster<'_>, said: &mut Said<R>) {
        for object in objects {
            match kinds::asks(&object.group(), &object.kind()) {
                true => drop(self.release(object, true, cluster, said)),
                false if kinds::leads(&object.group(), &object.kind()) => {}
                false if (self.entries.mentions)(object) => {
                    (self.take)(&mut said.facts, Fact::Object(object, cluster));
                }
                false => {}
            }
        }
    }
}

#[cfg(test)]
mod tests;
