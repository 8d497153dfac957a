//! Step 5, pins: how charts of Linkerd are rendered.
//!
//! In: charts as the model has them deployed. Out: [`ChartUse`]s, equal ones once, with all who have them so. What the
//! tree does not know of their values follows them as a layer from outside.

mod alone;
mod given;

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use crate::{
    deploy::{About, ChartRelease, Files as _, Note, Scalar, value::UNKNOWN},
    pins::{
        ChartUse, Installed, Reason, ValuesPart, context::Context, is_kustomization, object::Object,
        origin::Ours, place::Place,
    },
    repo::RepoPath,
    yaml,
};

/// Charts as they are rendered.
#[derive(Default)]
pub(in crate::pins) struct Uses {
    /// Each with those who have it so, and the files in which it was written. Their lines are the first byte of what is
    /// known of them, for now.
    found: HashMap<ChartUse, Places>,
    /// The texts of values, each once.
    texts: HashSet<Arc<str>>,
    /// The folders of the charts of the tree that somebody deploys.
    umbrellas: HashSet<String>,
}

/// Those who have a chart so, and the files in which it was written.
#[derive(Default)]
struct Places {
    by: BTreeSet<RepoPath>,
    sources: BTreeSet<RepoPath>,
    installed: BTreeSet<Installed>,
}

// === impl Uses ===

impl Uses {
    /// Takes a release, where its chart is one of Linkerd's that is rendered and its version is known.
    pub fn take(&mut self, context: &Context<'_>, release: &ChartRelease) {
        let ours = Ours::of(release, &context.options.mirrors);
        let ours = ours.filter(|ours| ours.stays != Some(Reason::Channel));
        // A variable of Flux that nobody fills is no version.
        let is_known = |version: &Scalar| version.unknown_to().is_none() && !version.text().contains("${");
        if let Some(ours) = ours.filter(|_| release.version.as_ref().is_none_or(is_known)) {
            let found = one(release, ours.chart, &mut self.texts);
            let places = self.found.entry(found).or_default();
            places.by.extend(release.by.clone());
            places.installed.insert(release.installed);
            for at in scalars(release).flat_map(Scalar::origins) {
                if at.source.path != release.file && !places.sources.contains(&at.source.path) {
                    places.sources.insert(at.source.path.clone());
                }
            }
        }
    }

    /// Takes what a chart of the tree depends on.
    pub fn umbrella(&mut self, context: &Context<'_>, release: &ChartRelease, of: &[ChartRelease]) {
        self.umbrellas.extend(release.folder());
        of.iter().for_each(|dependency| self.take(context, dependency));
    }

    /// Adds what another has gathered.
    pub fn append(&mut self, other: Self) {
        for (mut found, Places { by, sources, installed }) in other.found {
            for part in &mut found.values {
                if let ValuesPart::Text { text, .. } = part {
                    *text = kept(&mut self.texts, text);
                }
            }
            let places = self.found.entry(found).or_default();
            places.by.extend(by);
            places.sources.extend(sources);
            places.installed.extend(installed);
        }
        self.umbrellas.extend(other.umbrellas);
    }

    /// Adds the charts of the tree that nobody deploys, and returns all in order.
    pub fn complete(mut self, context: &Context<'_>, named: &[RepoPath]) -> Vec<ChartUse> {
        for (of, note) in alone::dependencies(context, named, &self.umbrellas) {
            let mut own = Self::default();
            of.iter().for_each(|dependency| own.take(context, dependency));
            let noted = own.found.into_iter().map(|(mut found, mut places)| {
                found.notes.push(note.clone());
                // Helm may install it, or Argo CD.
                places.installed.insert(Installed::Argo { prunes: true });
                (found, places)
            });
            self.found.extend(noted);
        }
        let place = |(found, Places { by, sources, mut installed })| {
            // By itself a kustomization does not say who applies it; where that is known, it is nobody else.
            if installed.len() > 1 {
                installed.remove(&Installed::Applied);
            }
            ChartUse { by, sources, installed, ..found }
        };
        let mut uses: Vec<ChartUse> = self.found.into_iter().map(place).collect();
        uses.sort_by(|a, b| a.path.cmp(&b.path));
        uses.chunk_by_mut(|a, b| a.path == b.path).for_each(|of_file| lines(context, of_file));
        leave_parts(context, &self.umbrellas, &mut uses);
        uses.sort_by(|a, b| {
            fn key(of: &ChartUse) -> (&RepoPath, usize, &str, &str) {
                (&of.path, of.line, &of.part, &of.release)
            }
            key(a).cmp(&key(b)).then_with(|| a.cmp(b))
        });
        uses
    }
}

/// Leaves out what only takes part in what somebody deploys: a kustomization that others apply, a chart of the tree as it
/// is by itself.
fn leave_parts(context: &Context<'_>, umbrellas: &HashSet<String>, uses: &mut Vec<ChartUse>) {
    let is_part = |path: &RepoPath| {
        let is_kustomization = is_kustomization(path.name()) && !context.layout.roots_above(path).is_empty();
        is_kustomization || path.name() == "Chart.yaml" && umbrellas.contains(path.folder())
    };
    let is_whole = |found: &&ChartUse| found.by.is_empty() || !found.by.iter().all(is_part);
    let key = |found: &ChartUse| (found.path.clone(), found.part.clone());
    let whole: HashSet<(RepoPath, String)> = uses.iter().filter(is_whole).map(key).collect();
    uses.retain_mut(|found| {
        let is_whole = is_whole(&&*found);
        if is_whole {
            found.by.retain(|by| !is_part(by));
        }
        is_whole || !whole.contains(&key(found))
    });
}

/// Makes a use of a release.
fn one(release: &ChartRelease, chart: String, texts: &mut HashSet<Arc<str>>) -> ChartUse {
    let known = |scalar: &Scalar| scalar.withheld_by().is_none().then(|| scalar.text().into_owned());
    let (values, parameters) = given::given(release, texts);
    let mut notes: Vec<String> = Vec::new();
    let left_out = "The chart's `values.yaml` is left out; the rendering here has it all the same.";
    for note in release.notes.iter().filter_map(sentence) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    if release.replacing > 0 {
        notes.push(left_out.to_owned());
    }
    let mut name = release.release.shown().replace(UNKNOWN, "").trim_matches('-').to_owned();
    if name.is_empty() {
        name.clone_from(&chart);
    }
    ChartUse {
        path: release.file.clone(),
        line: start(release),
        part: release.part.clone(),
        by: BTreeSet::new(),
        sources: BTreeSet::new(),
        version: release.version.as_ref().map_or_else(|| "*".to_owned(), |v| v.text().into_owned()),
        chart,
        release: name,
        namespace: release.namespace.as_ref().and_then(known),
        values,
        parameters,
        kube_version: release.kube_version.as_ref().and_then(known),
        api_versions: release.api_versions.iter().filter_map(known).collect(),
        include_crds: release.include_crds,
        hooks: release.hooks,
        notes,
        installed: BTreeSet::new(),
    }
}

/// Says for people what is not followed.
fn sentence(note: &Note) -> Option<String> {
    Some(match &note.about {
        About::Afterwards { who, keys } => {
            format!("{who} changes the output afterwards (`{}`), which is not done here.", keys.join("`, `"))
        }
        About::Unfollowed("plugin") => {
            "A plugin of Argo CD renders this source; here Helm alone does.".to_owned()
        }
        About::Unfollowed("kustomize") => {
            "Argo CD's `kustomize` settings are not followed for a chart.".to_owned()
        }
        About::Unfollowed(key) => format!("`{key}` is not followed."),
        _ => return None,
    })
}

/// Returns the scalars of a release: those that say what is rendered, and of the values.
fn scalars(release: &ChartRelease) -> impl Iterator<Item = &Scalar> {
    let own =
        [&release.chart, &release.release].into_iter().chain(&release.version).chain(&release.namespace);
    own.chain(release.scalars())
}

/// Returns a byte of a release in its file.
fn start(release: &ChartRelease) -> usize {
    let own = [&release.release, &release.chart].into_iter().chain(&release.version);
    let mut own = own.flat_map(Scalar::origins).filter(|at| at.source.path == release.file);
    own.next().map_or(0, |at| at.span.start)
}

/// Puts the lines of objects in place of bytes.
fn lines(context: &Context<'_>, uses: &mut [ChartUse]) {
    let Some(path) = uses.first().map(|found| found.path.clone()) else { return };
    let Ok(source) = context.files.file(path.as_str()) else { return };
    let file = context.corpus.file(path.as_str());
    let objects = file.as_deref().map(|file| Object::processed(Place::of(file))).unwrap_or_default();
    for found in uses {
        let item = || {
            let (key, number) = found.part.strip_suffix(']')?.split_once('[')?;
            let number = number.parse::<usize>().ok()?;
            file.as_ref()?.stream.roots().find_map(|root| root.get(key)?.items().nth(number))
        };
        let is_around = |o: &&Object<'_>| o.node.span().contains(&found.line);
        let object = || objects.iter().find(is_around).map(|object| object.node);
        let at = item().or_else(object).map_or(found.line, |node| node.span().start);
        found.line = yaml::position(&source.text, at).0;
    }
}

/// Keeps a text once.
fn kept(texts: &mut HashSet<Arc<str>>, text: &str) -> Arc<str> {
    match texts.get(text) {
        Some(kept) => kept.clone(),
        None => {
            let text: Arc<str> = text.into();
            texts.insert(text.clone());
            text
        }
    }
}

#[cfg(test)]
mod tests;
