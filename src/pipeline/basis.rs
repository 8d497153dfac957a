//! What the text of a pull request is made from, in one hash: where it is the same, so is the text, to the byte.
//!
//! In: a survey, and what was decided for a stage. Out: an [`Origin`], and the [`Basis`] that its marker keeps. What is
//! read beside what the hash covers is noticed ([`Watched`], [`Witness`]), and such a text has no basis: then it is made
//! anew each time.

use std::{
    collections::{BTreeSet, HashSet},
    hash::{Hash, Hasher},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use sha2::{Digest as _, Sha256};
use url::Url;

use crate::{
    explain::{Basis, Search},
    linkerd::EdgeVersion,
    pins::{ChartUse, Inventory, Pin, PinKind, Root, Site, Versioned, is_kustomization},
    pipeline::{Operator, case::Case},
    plan::{self, Served, Target},
    policy::Promoted,
    release::{Chart as Packaged, Release},
    render::{Chart, ChartId, Job, RenderError, Renderer, committed},
    repo::{BlobId, Entry, RepoPath, Tree, TreeError, folders_up},
    sys::http::shown,
};

/// The program, also where it is no release: by its sources.
const PROGRAM: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("UPLINKER_SOURCES"));

/// What a stage's pull request is made from, as far as that is known before it is made.
pub(super) struct Origin<'a> {
    tree: &'a dyn Tree,
    hash: Sha,
    covered: HashSet<BlobId>,
}

/// What a stage is to become, and by whose means.
#[derive(Clone, Copy)]
pub(super) struct Question<'a> {
    pub case: Case<'a>,
    pub to: EdgeVersion,
    pub hop_towards: Option<(EdgeVersion, &'static str)>,
    pub promoted: &'a [Promoted],
}

/// A tree that notices what is read of it beside what a hash covers.
pub(super) struct Watched<'a> {
    origin: &'a Origin<'a>,
    beyond: AtomicBool,
    searches: Mutex<BTreeSet<Search>>,
}

/// A renderer that notices failures that the next run may not meet.
pub(super) struct Witness<'a> {
    renderer: &'a dyn Renderer,
    failed: AtomicBool,
}

/// Hashes with SHA-256 whatever can be hashed.
#[derive(Clone, Default)]
struct Sha(Sha256);

// === impl Origin ===

impl<'a> Origin<'a> {
    /// Gathers what the text of a pull request can depend on.
    pub fn of(question: &Question<'a>, operator: &Operator<'_>) -> Self {
        let Question { case: Case { survey, target, stage }, to, hop_towards, promoted } = *question;
        let mut hash = Sha::default();
        (PROGRAM, operator.renderer.identity()).hash(&mut hash);
        let Served { index, mirrors } = operator.served;
        index.as_deref().map(address).hash(&mut hash);
        mirrors.iter().map(|mirror| address(mirror)).collect::<BTreeSet<_>>().hash(&mut hash);
        (&target.target.name, stage, to, hop_towards, promoted).hash(&mut hash);
        pins(&survey.inventory, &target.target, &mut hash);
        (survey.targets.len() > 1).hash(&mut hash);
        (&survey.inventory.skipped, &survey.inventory.facts).hash(&mut hash);
        releases(question, &mut hash);
        let files = files(question);
        files.hash(&mut hash);
        let rendered = survey.inventory.facts.rendered.iter().map(|file| &file.path);
        let rendered = rendered.filter(|path| target.target.covers(path)).collect();
        let near = committed::opened_near(survey.tree, &rendered);
        near.hash(&mut hash);
        let covered = files.into_iter().chain(near).map(|entry| entry.id);
        Self { tree: survey.tree, hash, covered: covered.collect() }
    }

    /// Tells whether a text of that basis would be made again as it is.
    pub fn is(&self, basis: &Basis) -> bool {
        basis.is_sound() && basis.inputs == self.inputs(&basis.searches)
    }

    /// Returns the hash over all that a text was made from; `searches` went through the whole tree.
    pub fn inputs(&self, searches: &BTreeSet<Search>) -> String {
        let mut hash = self.hash.clone();
        for search in searches {
            let words: Vec<&str> = search.words.iter().map(String::as_str).collect();
            let found = self.tree.mentioning(&words, search.ceiling);
            (search, found.iter().map(|(entry, _)| *entry).collect::<Vec<_>>()).hash(&mut hash);
        }
        hash.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Hashes what is said of pins. Where in its file a pin is counts for an edit alone, and the files of those are hashed
/// whole: a file may change around a pin that stays.
fn pins(inventory: &Inventory, target: &Target, hash: &mut Sha) {
    for pin in inventory.pins() {
        let Pin {
            path,
            blob: _,
            site,
            kind,
            chart,
            mirror,
            value,
            form,
            read_as,
            frame,
            version,
            stage,
            restarts,
            is_off,
            asks_no_stop,
            chooses_controllers,
            filter,
            stays,
            unheld,
            ended,
            kept_by,
            read_at,
            given_to,
            also,
            installations,
            // They say which of the waves has it, and nothing else.
            homes: _,
        } = pin;
        let Site { span: _, line, column, document, route } = site;
        (path, line, column, document, route, kind).hash(hash);
        (chart, mirror, value, form, read_as, frame, version, stage, stays, unheld).hash(hash);
        (restarts, is_off, asks_no_stop, ended, kept_by, read_at, given_to, also).hash(hash);
        (installations, filter, chooses_controllers, target.has(pin)).hash(hash);
    }
}

/// Hashes what is known of the releases that a text can quote, and of their charts.
fn releases(question: &Question<'_>, hash: &mut Sha) {
    let Question { case: Case { survey, .. }, to, hop_towards, .. } = *question;
    let (catalog, inventory) = (survey.catalog, &survey.inventory);
    (&catalog.knowledge, catalog.feed("releases")).hash(hash);
    let pins = || inventory.pins().filter(|pin| pin.chart.is_some() || pin.version.is_some());
    let named = pins().filter_map(plan::edge_of).chain(survey.config().data_plane.control_plane);
    let named: BTreeSet<EdgeVersion> =
        named.chain([to]).chain(hop_towards.map(|(version, _)| version)).collect();
    let (first, last) = (named.first().copied().unwrap_or(to), named.last().copied().unwrap_or(to));
    // What no release can be read from, such as a range, may mean any of them. So may what a manifest was rendered from.
    let exact = |text: &str| EdgeVersion::from_chart(text.trim_start_matches(['=', 'v', ' '])).is_some();
    let open = pins().filter(|pin| pin.version.is_none()).flat_map(Pin::charts);
    let used = inventory.facts.uses.iter().filter(|found| !exact(&found.version)).map(|u| u.chart.as_str());
    let committed = inventory.facts.rendered.iter().map(|file| file.chart.as_str());
    let open: BTreeSet<&str> = open.chain(used).chain(committed).collect();
    for (version, release) in &catalog.releases {
        let Release { version: _, published, charts, milestone, is_milestone, guidance, notes } = release;
        let passed = (first..=last).contains(version);
        if passed {
            (version, published, milestone, is_milestone, guidance, notes).hash(hash);
        }
        for (name, chart) in charts.iter().filter(|(name, _)| passed || open.contains(name.as_str())) {
            let Packaged { version, url, digest, kube_version } = chart;
            (name, version, address(url), digest, kube_version).hash(hash);
        }
    }
}

/// Leaves out of an address what opens it: a hash that anybody may read must not tell whether a guess is right.
fn address(text: &str) -> String {
    Url::parse(text).map_or_else(|_| text.to_owned(), |url| shown(&url))
}

/// Lists the files that may be read to make a text, beside those that are searched for a word.
fn files<'a>(question: &Question<'a>) -> Vec<&'a Entry> {
    let Case { survey, target, stage } = question.case;
    let (config, facts) = (survey.config(), &survey.inventory.facts);
    let own_versions: Vec<RepoPath> = facts.versioned.iter().filter_map(Versioned::named_in).collect();
    let covers = |path: &RepoPath| target.target.covers(path);
    let edited = survey.inventory.pins().filter(|pin| pin.stage == stage && covers(&pin.path));
    let is_chart = |pin: &&Pin| matches!(pin.kind, PinKind::ChartDependency | PinKind::ChartLock);
    let beside = survey.inventory.pins().filter(is_chart).filter(|pin| covers(&pin.path));
    let charts: BTreeSet<String> = beside.map(|pin| below(pin.path.folder(), "charts/")).collect();
    let pinned = edited.clone().filter(|pin| pin.may_move()).chain(survey.inventory.pins().filter(is_chart));
    let of_uses = facts.uses.iter().filter(|found| found.files().any(covers)).flat_map(ChartUse::files);
    let rendered = || facts.rendered.iter().map(|file| &file.path).filter(|path| covers(path));
    // Of what is not read, the line that names a release is quoted.
    let quoted = survey.inventory.skipped.iter().filter(|s| !s.versions.is_empty()).map(|s| &s.path);
    let moving: HashSet<&RepoPath> =
        edited.clone().filter(|pin| pin.may_move()).map(|pin| &pin.path).chain(rendered()).collect();
    let is_moved = |root: &&Root| root.files().any(|path| moving.contains(path));
    let of_roots = facts.roots.iter().filter(is_moved).flat_map(Root::files);
    let named: HashSet<&RepoPath> = pinned
        .map(|pin| &pin.path)
        .chain(quoted.filter(|path| covers(path)))
        .chain(of_uses)
        .chain(of_roots)
        .chain(&own_versions)
        .chain(config.render.iter().flat_map(|entry| &entry.values))
        .collect();
    let folders: HashSet<&str> = rendered().map(RepoPath::folder).collect();
    let above: HashSet<&str> = folders.iter().flat_map(|folder| folders_up(folder)).collect();
    let is_meant = |entry: &&Entry| {
        let path = &entry.path;
        named.contains(path)
            || folders.contains(path.folder())
            || (is_kustomization(path.name()) && above.contains(path.folder()))
            || charts.iter().any(|folder| path.as_str().starts_with(folder))
            || config.path() == Some(path.as_str())
    };
    survey.tree.entries().iter().filter(is_meant).collect()
}

fn below(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

// === impl Watched ===

impl<'a> Watched<'a> {
    /// Looks on while a text is made.
    pub fn new(origin: &'a Origin<'a>) -> Self {
        Self { origin, beyond: AtomicBool::default(), searches: Mutex::default() }
    }

    /// Returns what the whole tree was searched for; `None` where a file was read that the hash does not cover.
    pub fn searches(&self) -> Option<BTreeSet<Search>> {
        let searches = self.searches.lock().unwrap_or_else(PoisonError::into_inner).clone();
        (!self.beyond.load(Ordering::Relaxed)).then_some(searches)
    }

    fn note(&self, ids: &[BlobId]) {
        if ids.iter().any(|id| !self.origin.covered.contains(id)) {
            self.beyond.store(true, Ordering::Relaxed);
        }
    }
}

impl Tree for Watched<'_> {
    fn entries(&self) -> &[Entry] {
        self.origin.tree.entries()
    }

    fn read(&self, id: BlobId) -> Result<Vec<u8>, TreeError> {
        self.note(&[id]);
        self.origin.tree.read(id)
    }

    fn size(&self, id: BlobId) -> Result<u64, TreeError> {
        self.note(&[id]);
        self.origin.tree.size(id)
    }

    fn odd_names(&self) -> &[String] {
        self.origin.tree.odd_names()
    }

    fn sweep(&self, ids: &[BlobId], ceiling: u64, see: &(dyn Fn(usize, &[u8]) + Sync)) {
        self.note(ids);
        self.origin.tree.sweep(ids, ceiling, see);
    }

    fn mentioning(&self, words: &[&str], ceiling: u64) -> Vec<(&Entry, String)> {
        let search = Search { words: words.iter().map(|word| (*word).to_owned()).collect(), ceiling };
        self.searches.lock().unwrap_or_else(PoisonError::into_inner).insert(search);
        self.origin.tree.mentioning(words, ceiling)
    }
}

// === impl Witness ===

impl<'a> Witness<'a> {
    /// Looks on while charts are rendered.
    pub fn new(renderer: &'a dyn Renderer) -> Self {
        Self { renderer, failed: AtomicBool::default() }
    }

    /// Tells whether the next run would meet no other failure than this one did.
    pub fn is_lasting(&self) -> bool {
        !self.failed.load(Ordering::Relaxed)
    }

    fn note<T>(&self, result: Result<T, RenderError>) -> Result<T, RenderError> {
        result.inspect_err(|error| {
            let absent = matches!(error, RenderError::NoHelm { .. }) && self.renderer.identity().is_none();
            if !absent && !error.lasts() {
                self.failed.store(true, Ordering::Relaxed);
            }
        })
    }
}

impl Renderer for Witness<'_> {
    fn helm(&self) -> Result<String, RenderError> {
        self.note(self.renderer.helm())
    }

    fn misnamed(&self) -> Option<RenderError> {
        self.renderer.misnamed()
    }

    fn identity(&self) -> Option<String> {
        self.renderer.identity()
    }

    fn chart(&self, id: &ChartId) -> Result<Arc<Chart>, RenderError> {
        self.note(self.renderer.chart(id))
    }

    fn render(&self, jobs: &[Job]) -> Vec<Result<Arc<str>, RenderError>> {
        self.renderer.render(jobs).into_iter().map(|result| self.note(result)).collect()
    }
}

// === impl Sha ===

impl Hasher for Sha {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The hash has more bits than this can return; what is asked for is taken from within.
    fn finish(&self) -> u64 {
        let hash = self.0.clone().finalize();
        hash.iter().take(8).fold(0, |all, byte| all << 8 | u64::from(*byte))
    }
}

#[cfg(test)]
mod tests;
