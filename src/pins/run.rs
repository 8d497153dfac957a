//! Step 5, pins: the order in which the shapes look at a repository.
//!
//! In: a tree and options. Out: the [`Inventory`]. The files are screened, indexed, then read shape by shape; variables
//! that pins read are traced last. Owns no rule of any shape.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::Arc,
};

use crate::{
    deploy::{Files as _, TreeFiles, fleet, terraform::deploys},
    linkerd::MULTICLUSTER,
    repo::{Entry, RepoPath, Tree, TreeError, parallel},
    yaml::Node,
};

use super::{
    Applier, Facts, Form, Generator, Inventory, Pin, PinKind, Reason, ScanOptions, SkipReason, Skipped,
    chart,
    context::{Context, Holds},
    corpus::{Corpus, File, Unread},
    deployed::{self, Claims},
    ended,
    found::{Found, Spec},
    idle::Comments,
    image,
    index::Index,
    installed,
    layout::Layout,
    marker::{self, TextFile},
    object::Object,
    other::{self, Class},
    place::Place,
    rendered, rivals,
    screen::{self, Hit},
    screened::ScreenedTree,
    unknown,
    unread::{coded, concerns, is_marked, only_injects, unreadable},
    version_text::Expects,
};

/// More names that are no path are not listed.
const ODD_NAMES: usize = 100;
/// What stands for a name of which no part can be shown.
const ODD_NAME: &str = "(a name that is no path)";

/// What one file gave, or several.
#[derive(Default)]
struct FileResult {
    found: Found,
    skipped: Vec<Skipped>,
    comments: Comments,
    /// Scripts that speak of Linkerd.
    scripts: Vec<RepoPath>,
    /// Files with what the CLI gives another cluster.
    access: Vec<RepoPath>,
    /// Files of Terraform that name a release or Linkerd.
    terraform: Vec<RepoPath>,
    /// Files of helmfile that do.
    helmfiles: Vec<RepoPath>,
    /// Files of which the objects are read as they stand there too, and whether they are a chart's output.
    written: Vec<(RepoPath, bool)>,
    /// What is read of deployers' files.
    claims: Claims,
}

// === impl FileResult ===

impl FileResult {
    /// Puts together what was found in files, in their order.
    fn of(results: Vec<Self>) -> Self {
        let mut all = Self::default();
        results.into_iter().for_each(|result| all.append(result));
        all.terraform.sort();
        all.helmfiles.sort();
        all.written.sort();
        all
    }

    fn take_unread(&mut self, context: &Context<'_>, entry: &Entry, hit: &Hit, unread: Unread) {
        let (markers, skipped) = unreadable(context, entry, hit, unread);
        self.found.pins.extend(markers);
        self.skipped.extend(skipped);
    }

    fn append(&mut self, other: Self) {
        self.found.append(other.found);
        self.skipped.extend(other.skipped);
        self.comments.append(other.comments);
        self.scripts.extend(other.scripts);
        self.access.extend(other.access);
        self.terraform.extend(other.terraform);
        self.helmfiles.extend(other.helmfiles);
        self.written.extend(other.written);
        self.claims.append(other.claims);
    }
}

/// Finds every place in a tree that pins a Linkerd version.
///
/// Fails only where the repository itself cannot be read; a file that cannot be understood is named in
/// [`Inventory::skipped`].
pub fn scan(tree: &dyn Tree, options: &ScanOptions) -> Result<Inventory, TreeError> {
    read(tree, options).map_err(|error| error.named_in(tree))
}

fn read(tree: &dyn Tree, options: &ScanOptions) -> Result<Inventory, TreeError> {
    let screened = screen::screen(tree, options)?;
    let mut inventory =
        Inventory { skipped: screened.skipped, irrelevant: screened.irrelevant, ..Inventory::default() };
    inventory.skipped.extend(odd_names(tree));
    // Where nothing names Linkerd, what looks like a version of its charts is of something else.
    if !screened.hits.iter().any(|hit| hit.speaks) {
        return Ok(inventory);
    }
    let tree: &dyn Tree = &ScreenedTree::new(tree, &screened.hits, screened.contents);
    let corpus = Corpus::new(tree, options);
    let mut index = index(tree, &corpus, &screened.hits);
    let beside = referred_beside(tree, &corpus, &index);
    index.referable.extend(beside);
    let files = TreeFiles::new(tree, options.ceilings());
    inventory.facts.repositories = index.settle(&files);
    let files = files.of(inventory.facts.repositories.clone());
    let layout = Layout::new(&index);
    let holds = Holds::of(tree);
    let context = Context { corpus: &corpus, files: &files, index: &index, layout: &layout, options, holds };
    let results = parallel::fold(&screened.hits, |all: &mut FileResult, hit| {
        let entry = tree.entries().get(hit.entry);
        entry.into_iter().for_each(|entry| all.append(look(&context, entry, hit)));
    });
    let all = FileResult::of(results);
    let FileResult { mut found, mut skipped, scripts, access, terraform, helmfiles, .. } = all;
    let FileResult { written, mut claims, comments, .. } = all;
    let named = named(tree, &screened.hits);
    // What deploys need not name Linkerd itself: what it reads does. Terragrunt's files may say what a module is for.
    let is_told = !terraform.is_empty() || named.iter().any(|path| path.name().ends_with(".hcl"));
    let terraformed = (is_told || holds.terraform && deploys(&files))
        .then(|| deployed::terraform(&context, &mut claims, &mut skipped));
    // A lock alone is told all the same.
    let helmfiled = holds.helmfiles.then(|| deployed::helmfile(&context, &mut claims, &mut skipped));
    deployed::roots(&context, &named, &written, &mut claims);
    let mut charted = std::mem::take(&mut claims.charts);
    let told = std::mem::take(&mut claims.told);
    inventory.facts.versioned = std::mem::take(&mut claims.versioned);
    inventory.charted = std::mem::take(&mut charted.outcomes).into();
    // In the files of these the rest is read.
    let partly = [claims.not_followed(), charted.over()].concat();
    let mut beyond = std::mem::take(&mut claims.beyond);
    let mut uses = std::mem::take(&mut claims.uses).complete(&context, &named);
    skipped.extend(asked_for(&context, &beyond.unread, &skipped));
    let foreign = deployed::pins(&context, claims, &mut found);
    skipped.retain(|s| s.reason != SkipReason::UnknownShape || !deployed::tells(&found, s));
    let mut applied = Vec::new();
    for (evaluated, files) in [(terraformed, terraform), (helmfiled, helmfiles)] {
        let Some(evaluated) = evaluated else { continue };
        evaluated.report(&context, &files, &mut found, &mut skipped);
        applied.push(evaluated.applied);
    }
    deployed::note_aliases(&context, &charted, &mut found);
    deployed::report_charts(&context, &charted, &mut found, &mut skipped);
    leave_copied(access, &mut found);
    deployed::report_rest(&context, &named, &foreign, &mut skipped, &mut found);
    skipped.extend(partly);
    inventory.skipped.extend(skipped);
    found.pins.retain(|pin| !options.ignore.is_match(pin.path.as_str()));
    uses.retain(|found| !options.ignore.is_match(found.path.as_str()));
    inventory.facts.uses = uses;
    inventory.facts.rendered = std::mem::take(&mut found.rendered);
    inventory.facts.rendered.retain(|file| !options.ignore.is_match(file.path.as_str()));
    inventory.facts.rendered.sort();
    let (mut pins, deployments, given) = found.into_pins();
    inventory.facts.deployments = deployments;
    inventory.facts.generators = generators(&context, (&scripts, &told), &pins);
    leave_put_by(&context, &mut pins);
    if options.installations {
        beyond.take(&installed::name(&context, applied, &charted.made, &mut pins, &mut inventory.facts));
    }
    given.hold(&mut pins);
    ended::settle(&mut pins);
    inventory.skipped.extend(beyond.skipped());
    inventory.skipped.extend(comments.idle(&pins));
    let appliers = appliers(&context, &pins, &inventory.facts);
    let rivals = rivals::find(&corpus, &pins);
    inventory.pins = pins.into_iter().map(Arc::new).collect();
    inventory.facts = Facts { appliers, rivals, ..inventory.facts };
    inventory.skipped.sort_by(|a, b| (&a.path, a.reason).cmp(&(&b.path, b.reason)));
    corpus.failure().map_or(Ok(inventory), Err)
}

/// Leaves what is put by, and nobody here deploys.
fn leave_put_by(context: &Context<'_>, pins: &mut [Pin]) {
    for pin in pins.iter_mut().filter(|pin| is_put_by(&pin.path)) {
        if context.layout.appliers(&pin.path).is_empty() {
            pin.stays.get_or_insert(Reason::NotDeployed);
        }
    }
}

/// Lists the files that name Linkerd or a release.
fn named(tree: &dyn Tree, hits: &[Hit]) -> Vec<RepoPath> {
    let entries = hits.iter().filter(|hit| hit.named).filter_map(|hit| tree.entries().get(hit.entry));
    entries.map(|entry| entry.path.clone()).collect()
}

/// Tells whether a file lies in a hidden folder in which things are kept that are no longer used, such as `.backup/`.
fn is_put_by(path: &RepoPath) -> bool {
    const KEPT: [&str; 7] = [".backup", ".backups", ".bak", ".old", ".archive", ".trash", ".attic"];
    path.folder().split('/').any(|folder| KEPT.contains(&folder.to_ascii_lowercase().as_str()))
}

/// Finds who applies what moves, and what is rendered.
fn appliers(context: &Context<'_>, pins: &[Pin], facts: &Facts) -> BTreeMap<RepoPath, Vec<Applier>> {
    let rendered =
        facts.rendered.iter().map(|file| &file.path).chain(facts.uses.iter().map(|found| &found.path));
    let moving = pins.iter().filter(|pin| pin.stays.is_none()).map(|pin| &pin.path);
    let paths: BTreeSet<&RepoPath> = rendered.chain(moving).collect();
    let all = paths.into_iter().map(|path| (path.clone(), context.layout.appliers(path)));
    all.filter(|(_, found)| !found.is_empty()).collect()
}

/// Finds what scripts would bring back, and plugins that are told of it. Of what a pin is, the pin tells.
fn generators(
    context: &Context<'_>,
    (scripts, told): (&[RepoPath], &BTreeSet<(RepoPath, usize)>),
    pins: &[Pin],
) -> Vec<Generator> {
    let of_script = |path: &RepoPath| {
        let source = context.files.file(path.as_str()).ok()?;
        let first = pins.partition_point(|pin| pin.path < *path);
        let own = pins.iter().skip(first).take_while(|pin| pin.path == *path);
        let known: Vec<Pin> = own.filter(|pin| pin.kind != PinKind::Other).cloned().collect();
        let file = TextFile { path, blob: source.blob, text: &source.text, sealed: false };
        Some(other::generators(&file, &known))
    };
    let is_told =
        |pin: &&Pin| pin.kind == PinKind::Other && told.contains(&(pin.path.clone(), pin.site.span.start));
    let of_plugin = |pin: &Pin| {
        let (path, line, form) = (pin.path.clone(), pin.site.line, pin.form);
        Some(Generator { path, line, version: pin.version.filter(|_| form != Form::Opaque)?, form })
    };
    let of_plugins = pins.iter().filter(is_told).filter_map(of_plugin);
    scripts.iter().filter_map(of_script).flatten().chain(of_plugins).collect()
}

/// What has such a name cannot be read, so that nobody can tell whether it mentions Linkerd: it is named all the same.
fn odd_names(tree: &dyn Tree) -> impl Iterator<Item = Skipped> + '_ {
    tree.odd_names().iter().take(ODD_NAMES).filter_map(|name| {
        let sound = |part: &&str| RepoPath::new(*part).is_some();
        let shown: Vec<&str> = name.split('/').filter(sound).collect();
        let path = RepoPath::new(if shown.is_empty() { ODD_NAME.to_owned() } else { shown.join("/") })?;
        let detail = Some(format!("its name is {name:?}"));
        Some(Skipped { path, reason: SkipReason::OddName, detail, versions: Vec::new() })
    })
}

fn index(tree: &dyn Tree, corpus: &Corpus<'_>, hits: &[Hit]) -> Index {
    let parts = parallel::fold(hits, |index: &mut Index, hit| {
        let entry = tree.entries().get(hit.entry);
        let manifest = entry.filter(|entry| matches!(other::class(&entry.path), Class::Manifest));
        if let Some(file) = manifest.and_then(|entry| corpus.open(entry).ok()) {
            index.absorb(Index::of(&file));
        }
    });
    let mut index = Index::default();
    parts.into_iter().for_each(|part| index.absorb(part));
    index
}

/// Finds what HelmReleases of charts of the tree may refer to in their folders. It need not name Linkerd, or a release: of
/// a text such as `26.8.2` a template may make one.
fn referred_beside(tree: &dyn Tree, corpus: &Corpus<'_>, index: &Index) -> Vec<RepoPath> {
    let folders: HashSet<&str> = index.of_tree.iter().map(RepoPath::folder).collect();
    if folders.is_empty() {
        return Vec::new();
    }
    let entries = tree.entries().iter().filter(|entry| folders.contains(entry.path.folder()));
    let manifests = entries.filter(|entry| matches!(other::class(&entry.path), Class::Manifest));
    let files = manifests.filter_map(|entry| corpus.entry(entry.path.as_str()));
    let files = files.filter(|file| corpus.text(file).is_ok_and(|text| text.contains("ConfigMap")));
    files.filter_map(|file| corpus.open(file).ok()).flat_map(|file| Index::of(&file).referable).collect()
}

/// What was taken out of an installation keeps the marks of a chart, and what somebody wrote beside one may have copied them: it
/// is no chart's output where nothing of that chart runs from here, nor what the CLI gave another cluster where the CLI
/// installed nothing. Beside what runs, it asks for nothing.
fn leave_copied(access: Vec<RepoPath>, found: &mut Found) {
    let access: HashSet<RepoPath> = access.into_iter().collect();
    let running = found.rendered.iter().filter(|file| file.runs);
    let running: HashSet<(RepoPath, String)> =
        running.map(|file| (file.path.clone(), file.chart.clone())).collect();
    let (files, charts): (HashSet<&RepoPath>, HashSet<&str>) =
        running.iter().map(|(path, chart)| (path, chart.as_str())).unzip();
    let installed = found.pins.iter().any(|pin| {
        pin.kind == PinKind::RenderedManifest
            && pin.chart.as_deref() == Some(MULTICLUSTER)
            && pin.value.starts_with("linkerd/cli ")
            && !access.contains(&pin.path)
    });
    let left = |path: &RepoPath, chart: &str| match access.contains(path) {
        true => (!installed).then_some(Reason::MadeByCli),
        // Charts label objects as another's too.
        false => (!files.contains(path) && !charts.contains(chart)).then_some(Reason::NoEffect),
    };
    found.rendered.retain(|file| left(&file.path, &file.chart).is_none());
    for pin in found.pins.iter_mut().filter(|pin| pin.kind == PinKind::RenderedManifest) {
        let Some(chart) = pin.chart.clone() else { continue };
        pin.stays = pin.stays.or(left(&pin.path, &chart));
        pin.is_off = !running.contains(&(pin.path.clone(), chart));
    }
}

/// Reads one file that passed the screen.
fn look(context: &Context<'_>, entry: &Entry, hit: &Hit) -> FileResult {
    let mut result = FileResult::default();
    match other::class(&entry.path) {
        Class::Manifest => match context.corpus.open(entry) {
            Ok(file) => manifest_file(context, &file, hit, &mut result),
            Err(unread) => result.take_unread(context, entry, hit, unread),
        },
        class if hit.named => match context.corpus.text(entry) {
            Ok(text) => text_file(context, (entry, &*text), class, hit, &mut result),
            Err(unread) => result.take_unread(context, entry, hit, unread),
        },
        _ => {}
    }
    result
}

fn manifest_file(context: &Context<'_>, file: &File, hit: &Hit, result: &mut FileResult) {
    let text = TextFile { path: &file.path, blob: file.blob, text: &file.text, sealed: file.sealed };
    let markers = marker::pins(&text);
    let place = Place::of(file);
    let templated = file.text.contains("{{") && context.is_template(&file.path);
    if templated {
        let versions = other::unmarked_releases(&file.text, &markers);
        if concerns(hit, &versions) && !only_injects(&file.text) && !is_marked(&file.text, &markers) {
            let reason = SkipReason::HelmTemplate;
            result.skipped.push(Skipped { path: file.path.clone(), reason, detail: None, versions });
        }
    } else {
        let is_rendered = rendered::take(place, &mut result.found);
        if hit.named {
            // What stands beside a copied mark is as much somebody's own.
            let runs = result.found.rendered.iter().any(|file| file.runs);
            result.written.push((file.path.clone(), runs));
        }
        if is_rendered {
            result.access.extend(rendered::is_access(place).then(|| file.path.clone()));
        } else {
            shapes(context, file, result);
            result.skipped.extend(hit.linkerd.then(|| unknown::skipped(place, &markers)).flatten());
            result.skipped.extend(hit.linkerd.then(|| coded(&text)).flatten());
        }
    }
    result.comments.take(&text);
    result.found.pins.extend(markers);
}

/// Takes what a file says that is no object of a deployer's.
fn shapes(context: &Context<'_>, file: &File, result: &mut FileResult) {
    let FileResult { found, claims, .. } = result;
    let place = Place::of(file);
    let name = file.path.name();
    let mut tells_fleet = fleet::is_bundle(name) || context.index.bundles.contains(&file.path);
    for object in Object::processed(place) {
        image::object(place, &object, found);
        unread_variables(place, &object, found);
        tells_fleet |= object.is(fleet::GROUP, fleet::HELM_OP);
    }
    for root in file.stream.roots() {
        if matches!(name, "Chart.yaml" | "requirements.yaml") {
            chart::dependencies(context, place, root, found);
        } else if matches!(name, "Chart.lock" | "requirements.lock") {
            chart::lock(context, place, root, found);
        }
    }
    if tells_fleet {
        deployed::fleet(context, place, claims);
    }
}

/// Reports variables of a Flux Kustomization that name a release: where nothing deployed reads one, it is mere text.
fn unread_variables(place: Place<'_>, object: &Object<'_>, found: &mut Found) {
    if !object.is("kustomize.toolkit.fluxcd.io", "Kustomization") {
        return;
    }
    let values = object.node.path(&["spec", "postBuild", "substitute"]);
    let spec = Spec::platform(PinKind::Other, Expects::Either).staying(Some(Reason::NotDeployed));
    for (_, value) in values.into_iter().flat_map(Node::entries) {
        found.scalar(place, value, &spec);
    }
}

fn text_file(
    context: &Context<'_>,
    (entry, text): (&Entry, &str),
    class: Class,
    hit: &Hit,
    result: &mut FileResult,
) {
    let sealed = crate::yaml::encrypted(text.as_bytes());
    let file = TextFile { path: &entry.path, blob: entry.id, text, sealed };
    let markers = marker::pins(&file);
    let linkerd = hit.linkerd;
    match class {
        // A tag of the edge channel is one wherever it stands; what else names a release has to speak of Linkerd.
        Class::Prose => {
            let is_read = is_named_in_chart(context, &entry.path);
            let reason = if is_read { Reason::NotFollowed } else { Reason::NotDeployed };
            let told = other::pins(&file, &markers, reason);
            told.report(&mut result.found.pins, &mut result.skipped);
        }
        Class::Unknown | Class::Script => {
            let installs = class == Class::Script && linkerd;
            result.scripts.extend(installs.then(|| entry.path.clone()));
            let told = other::pins(&file, &markers, Reason::NotFollowed);
            told.report(&mut result.found.pins, &mut result.skipped);
        }
        Class::Terraform => result.terraform.push(entry.path.clone()),
        Class::Helmfile => result.helmfiles.push(entry.path.clone()),
        Class::Foreign(reason) => {
            let versions = other::unmarked_releases(text, &markers);
            let concerns = concerns(hit, &versions) || hit.speaks && other::counts_as_linkerds(text);
            if concerns && !is_marked(text, &markers) {
                result.skipped.push(Skipped { path: entry.path.clone(), reason, detail: None, versions });
            }
        }
        Class::Manifest => {}
    }
    // Text for people may explain markers.
    if class != Class::Prose {
        result.comments.take(&file);
    }
    result.found.pins.extend(markers);
}

/// Tells whether a template of the chart around a file reads it by its name.
fn is_named_in_chart(context: &Context<'_>, path: &RepoPath) -> bool {
    let folder = chart::folder_around(context, path);
    let Some(templates) = folder.and_then(|folder| RepoPath::resolve(folder, "templates")) else {
        return false;
    };
    let entries = context.files.below(templates.as_str()).iter();
    let mut texts = entries.filter_map(|entry| context.files.file(entry.path.as_str()).ok());
    texts.any(|source| source.text.contains(".Files") && source.text.contains(path.name()))
}

/// Names files that something deployed asks for, that name a release, and that cannot be read.
fn asked_for(context: &Context<'_>, paths: &BTreeSet<RepoPath>, told: &[Skipped]) -> Vec<Skipped> {
    let told: HashSet<&RepoPath> = told.iter().map(|skip| &skip.path).collect();
    let mut result = FileResult::default();
    for entry in paths.iter().filter(|p| !told.contains(p)).filter_map(|p| context.corpus.entry(p.as_str())) {
        if let Err(unread) = context.corpus.open(entry) {
            let hit = Hit { entry: 0, named: true, linkerd: true, size: 0, speaks: true };
            result.take_unread(context, entry, &hit, unread);
        }
    }
    let concerns = |skip: &Skipped| !skip.versions.is_empty() || skip.reason == SkipReason::TooLarge;
    result.skipped.into_iter().filter(concerns).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::BlobId;

    struct Odd(Vec<String>);

    impl Tree for Odd {
        fn entries(&self) -> &[Entry] {
            &[]
        }

        fn read(&self, id: BlobId) -> Result<Vec<u8>, TreeError> {
            Err(TreeError::new(id, "nothing is here"))
        }

        fn odd_names(&self) -> &[String] {
            &self.0
        }
    }

    #[test]
    fn a_name_that_is_no_path_is_told_and_leads_nowhere() {
        let names = ["..", "a/../../linkerd.yaml", "caf\u{fffd}.yaml"].map(str::to_owned);
        let skipped = scan(&Odd(names.to_vec()), &ScanOptions::default()).unwrap().skipped;
        let told: Vec<_> = skipped.iter().map(|s| (s.path.as_str(), s.reason)).collect();
        let odd = |path| (path, SkipReason::OddName);
        assert_eq!(told, [odd(ODD_NAME), odd("a/linkerd.yaml"), odd("caf\u{fffd}.yaml")]);
        assert!(skipped[1].detail.as_ref().is_some_and(|d| d.contains("a/../../linkerd.yaml")));
        let many = scan(&Odd(vec!["..".to_owned(); 9_000]), &ScanOptions::default()).unwrap();
        assert_eq!(many.skipped.len(), ODD_NAMES);
    }
}
