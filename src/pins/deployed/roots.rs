//! Step 5, pins: where what is deployed begins, and which of it can concern Linkerd.
//!
//! In: the index and the layout. Out: claims of all that the model finds. A repository may deploy a thousand things that
//! have nothing to do with Linkerd; what names neither it nor a release, and leads nowhere, is not built.

use std::collections::{BTreeSet, HashSet};

use super::{
    charts,
    claims::Claims,
    images::{is_image, over, printed, take_containers, take_guards, take_images, take_tested},
    objects::take_object,
    release::{take_asked, take_copy, take_dependency, take_elsewhere},
    values_files::take_values_file,
};
use crate::{
    deploy::{
        ChartRelease, Object, Scalar, Value, flux,
        model::{Entries, Fact, Modelled, Written, model},
        tree_chart::Charts,
        umbrella::Dependencies,
    },
    linkerd::{self, RECONCILE},
    pins::{
        PinKind, annotation, chart, context::Context, found::Spec, release_names::tokens, rendered::has_mark,
        version_text::Expects,
    },
    repo::RepoPath,
};

/// Mappings in mappings that are looked into.
const DEPTH: usize = 64;

/// Takes all that Flux, Argo CD, k3s and kustomizations deploy.
///
/// `written` are files whose objects are read as they stand there too, and whether they are a chart's output.
pub(in crate::pins) fn roots(
    context: &Context<'_>,
    named: &[RepoPath],
    written: &[(RepoPath, bool)],
    claims: &mut Claims,
) {
    let leading: Vec<&RepoPath> = named.iter().chain(&context.index.leading).collect();
    let mut wanted: HashSet<&str> = HashSet::new();
    let mut folders: BTreeSet<&str> = BTreeSet::new();
    for path in &leading {
        let above = context.layout.folders_above(path);
        above.iter().chain([&path.folder()]).for_each(|folder| around(folder, &mut wanted));
        folders.extend(above.into_iter().filter(|folder| is_top(context, folder)));
    }
    if leading.iter().any(|path| chart::folder_around(context, path).is_some()) {
        let takers = charts::takers(context, &|folder| wanted.contains(folder));
        takers.into_iter().for_each(|folder| around(folder, &mut wanted));
    }
    // What comes of a template is what its chart makes of it, of one without actions too: its chart may be switched off.
    let is_template = |path: &RepoPath| context.is_template(path);
    let is_taken = |path: &RepoPath| !context.layout.folders_above(path).is_empty();
    let index = context.index;
    // They matter where there is a chart for them.
    let of_tree = context.holds.charts.then_some(&index.of_tree).into_iter().flatten();
    let mut leads: Vec<&RepoPath> = index.leading.iter().chain(&index.referable).chain(of_tree).collect();
    leads.sort();
    leads.dedup();
    let leads = leads.into_iter().filter(|path| !is_template(path));
    let leads: Vec<(RepoPath, bool)> = leads.map(|path| (path.clone(), is_taken(path))).collect();
    let known: HashSet<&RepoPath> = written.iter().map(|(path, _)| path).collect();
    let loose =
        index.objects.iter().filter(|path| !known.contains(path) && !is_taken(path) && !is_template(path));
    let of_charts: HashSet<&RepoPath> =
        written.iter().filter(|(_, of_chart)| *of_chart).map(|(path, _)| path).collect();
    let written = written.iter().map(|(path, _)| path).filter(|path| !is_template(path)).chain(loose);
    let written: Vec<Written> =
        written.map(|path| Written { path: path.clone(), is_taken: is_taken(path) }).collect();
    let folders: Vec<String> = folders.into_iter().map(str::to_owned).collect();
    let (releases, lone) = (std::mem::take(&mut claims.local), charts::lone(context, named));
    let (objects, shadowed) = (std::mem::take(&mut claims.objects), std::mem::take(&mut claims.shadowed));
    let charts = Charts::new(context.options.helm.as_deref(), &charts::is_foreign, &charts::concerns);
    let entries = Entries {
        leading: &leads,
        written: &written,
        releases: &releases,
        objects: &objects,
        shadowed: &shadowed,
        lone: &lone,
        charts: &charts,
        folders: &folders,
        wanted: &|folder| wanted.contains(folder),
        // What a chart has made is said as a whole, unless somebody builds more of it.
        mentions: &|object| {
            let is_of_chart = object.by.is_none() && of_charts.contains(&object.file);
            mentions(object) && !(is_of_chart && has_mark(object))
        },
        names_release: &|object| has(&object.value, DEPTH, &|_, text| !tokens(text).is_empty()),
    };
    let found = model(context.files, &entries, &|claims: &mut Claims, fact| match fact {
        Fact::Release(asked) => take_asked(context, &asked, claims),
        Fact::Use(release) => claims.uses.take(context, release),
        Fact::Umbrella(release, all) => take_umbrella(context, release, all, claims),
        Fact::Object(object, cluster) => {
            take_object(object, cluster, context.options, claims);
            // What a patch lays over a chart's output goes with that.
            let over = of_charts.contains(&object.file).then(|| printed(object)).flatten();
            take_containers(object, over.as_slice(), claims);
        }
        Fact::Part(object, cluster, charts) => {
            take_object(object, cluster, context.options, claims);
            let over = over(context, charts, object);
            take_containers(object, &over, claims);
            take_tested(object, &over, claims);
        }
        Fact::Images(images, charts) => take_images(images, &over(context, charts, None), claims),
        Fact::Guards(guards) => {
            claims.guards(guards);
            take_guards(guards, &|path| of_charts.contains(path), claims);
        }
        Fact::File(path) => take_values_file(context, path, claims),
        Fact::Rendered(release, rendered) => {
            take_elsewhere(context, release, &rendered.only_elsewhere, claims);
            claims.take_rendered(release, rendered);
        }
        Fact::Unmade(object, values) => take_unmade(object, values, claims),
        Fact::Told(object, values) => take_told(object, values, claims),
        Fact::Overridden(object, values) => take_overridden(object, values, claims),
        Fact::Notes(notes) => claims.beyond.take(notes),
    });
    take_found(found, claims);
}

/// Takes a chart of the tree with what it takes in.
fn take_umbrella(context: &Context<'_>, release: &ChartRelease, all: &Dependencies, claims: &mut Claims) {
    claims.uses.umbrella(context, release, &all.on);
    claims.take_umbrella(release, all);
    all.on.iter().for_each(|dependency| take_dependency(context, dependency, claims));
    all.in_folders.iter().for_each(|dependency| take_copy(context, dependency, claims));
}

/// Takes what the model has given, each for what became of it.
fn take_found(found: Modelled<Claims>, claims: &mut Claims) {
    found.deployed.into_iter().for_each(|found| claims.append(found));
    found.written.into_iter().for_each(|found| claims.append_written(found));
    found.off.into_iter().for_each(|found| claims.append_off(found));
    found.unmatched.into_iter().for_each(|found| claims.append_unmatched(found));
    found.covered.into_iter().for_each(|found| claims.append_covered(found));
    claims.note_laid_over(&found.laid_over);
    found.shadowed.into_iter().for_each(|found| claims.append_shadowed(found));
}

/// Takes the releases of what others are laid over, where it is Linkerd's.
fn take_overridden(object: &Object, values: &[Value], claims: &mut Claims) {
    if is_ours(object, values) {
        let mut found = Claims::default();
        let spec = Spec::platform(PinKind::ArgoGenerator, Expects::Either);
        for text in values.iter().flat_map(Value::scalars) {
            match is_release(&text.text()) {
                true => found.take(text, &spec),
                false => found.take_not_followed(text),
            }
        }
        claims.append_without_effect(found);
    }
}

fn is_release(text: &str) -> bool {
    matches!(&*tokens(text), [token] if token.span.len() == text.len())
}

fn is_ours(object: &Object, values: &[Value]) -> bool {
    speaks(&object.value) || values.iter().any(speaks)
}

fn speaks(value: &Value) -> bool {
    has(value, DEPTH, &|key, text| key.contains("inkerd") || text.contains("inkerd"))
}

/// Takes the releases of what nothing is made of, where it is Linkerd's.
fn take_unmade(object: &Object, values: &[Value], claims: &mut Claims) {
    if is_ours(object, values) {
        values.iter().flat_map(Value::scalars).for_each(|scalar| claims.take_unmade(&object.file, scalar));
    }
}

/// Takes the releases that a plugin is told, where it is Linkerd's.
fn take_told(object: &Object, values: &[Value], claims: &mut Claims) {
    if is_ours(object, values) {
        values.iter().flat_map(Value::scalars).for_each(|scalar| claims.take_told(scalar));
    }
}

/// Adds a folder, and those that it lies in: a directory of manifests reads what is below it too.
fn around<'p>(folder: &'p str, wanted: &mut HashSet<&'p str>) {
    let mut folder = folder;
    while wanted.insert(folder) {
        folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
    }
}

/// Tells whether no other kustomization takes in that of a folder. Kustomize refuses those that take in each other.
fn is_top(context: &Context<'_>, folder: &str) -> bool {
    let own = context.index.kustomizations.get(folder);
    own.is_some_and(|k| context.layout.folders_above(&k.path).len() <= 1)
}

/// Tells whether an object may ask for a chart of Linkerd, or tell its injector anything.
fn mentions(object: &Object) -> bool {
    let value = &object.value;
    match &*object.kind() {
        "HelmRelease" => {}
        // A variable that holds a release may be read by what names neither.
        "Kustomization" | "Application" => {
            let is_ours = |text: &str| text.contains("inkerd") || !tokens(text).is_empty();
            return has(value, DEPTH, &|key, text| key.contains("inkerd") || is_ours(text));
        }
        _ => {
            let annotated = has(value, DEPTH, &|key, text| {
                annotation::is_in(key) || key == RECONCILE || is_image(key, text)
            });
            return annotated || names_image(value, DEPTH) || is_named(value.path(&["spec", "ref", "tag"]));
        }
    }
    let from_elsewhere = ["chartRef", "valuesFrom"].iter().any(|key| value.path(&["spec", key]).is_some());
    let chart = value.text(&["spec", "chart", "spec", "chart"]).unwrap_or_default();
    from_elsewhere
        || linkerd::is_chart(&chart)
        || linkerd::retired_chart(&chart).is_some()
        || chart.contains('/')
        || flux::is_of_tree(object)
        || has(value, DEPTH, &|key, text| key.contains("inkerd") || text.contains("inkerd"))
        || value.scalars().iter().any(|text| text.is_from_elsewhere() && !tokens(&text.text()).is_empty())
}

/// Tells whether an image is named by a text that was written elsewhere, as a variable is: Linkerd may read it too.
fn names_image(value: &Value, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let below = || value.entries().map(|(_, value)| value).chain(value.items());
    is_named(value.get("image")) || below().any(|value| names_image(value, depth))
}

fn is_named(value: Option<&Value>) -> bool {
    value.and_then(Value::as_scalar).is_some_and(Scalar::is_from_elsewhere)
}

/// Looks at the scalars of a value, with their keys.
fn has(value: &Value, depth: usize, is_it: &dyn Fn(&str, &str) -> bool) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let entry = |(key, value): (&str, &Value)| {
        let text = value.as_scalar().map(|scalar| scalar.text()).unwrap_or_default();
        is_it(key, &text) || has(value, depth, is_it)
    };
    value.entries().any(entry) || value.items().iter().any(|item| entry(("", item)))
}
