//! Step 5, pins: charts of Linkerd that Argo CD has rendered.
//!
//! In: an Application, or what an ApplicationSet makes. Out: uses. Argo CD's precedence: value files, `values` or in
//! their place `valuesObject`, parameters, file parameters. Its build environment fills paths and parameters alone.

use std::collections::BTreeMap;

use super::{
    super::{
        ChartUse, Parameter, ValuesPart,
        context::{Context, NamedChart, oci_chart},
        index::{argo_sources, clean_folder},
        object::Object,
        origin::{Origin, Ours},
        place::Place,
    },
    blank,
    data::{Data, unknown},
    fill, layers, overlay, umbrella,
};
use crate::repo::RepoPath;

/// An application as it reaches the cluster.
pub(super) struct App<'a> {
    /// The file of the object.
    pub path: &'a RepoPath,
    /// The object's line.
    pub line: usize,
    /// Its name.
    pub name: &'a str,
    /// What sets it apart from others of the same object.
    pub by: Option<RepoPath>,
    /// What was not followed.
    pub notes: Vec<String>,
}

/// One source of an application.
struct Source<'a> {
    app: &'a App<'a>,
    spec: &'a Data,
    node: &'a Data,
    environment: BTreeMap<&'static str, String>,
}

/// Takes the uses of an Application.
pub(super) fn application(
    context: &Context<'_>,
    place: Place<'_>,
    object: &Object<'_>,
    uses: &mut Vec<ChartUse>,
) {
    let path = &place.file.path;
    let Some(name) = object.name.filter(|_| may_be_ours(context, object)) else { return };
    let Some(data) = Data::read(object.node).filter(|_| !overlay::is_patch(context, path)) else { return };
    let line = place.file.position(object.node.span().start).0;
    for mut variant in overlay::variants(context, path, object, &data) {
        // Its `${...}` are Argo CD's, unless a Flux Kustomization of the tree substitutes.
        variant.variables = variant.variables.filter(|_| variant.by.is_some());
        let mut data = data.clone();
        variant.apply(&mut data);
        let app = App { path, line, name, by: variant.by, notes: variant.notes };
        if let Some(spec) = data.get("spec") {
            sources(context, &app, spec, uses);
        }
    }
}

/// Looks whether an application is worth more: most are of other charts, or of no chart.
fn may_be_ours(context: &Context<'_>, object: &Object<'_>) -> bool {
    let sources = object.node.get("spec").map(argo_sources).unwrap_or_default();
    sources.into_iter().any(|source| {
        let url =
            source.text(&["repoURL"]).and_then(|url| oci_chart(url).filter(|_| url.starts_with("oci://")));
        let chart = source.text(&["chart"]).map(str::to_owned).or_else(|| url.map(|named| named.chart));
        let ours = chart.is_some_and(|chart| chart.contains("${") || crate::linkerd::is_chart(&chart));
        ours || context.local_chart(&clean_folder(source.text(&["path"]).unwrap_or("."))).is_some()
    })
}

/// Takes the uses of an application's sources.
pub(super) fn sources(context: &Context<'_>, app: &App<'_>, spec: &Data, uses: &mut Vec<ChartUse>) {
    let many = spec.list("sources");
    let parts = many.iter().enumerate().map(|(n, s)| (format!("sources[{n}]"), s));
    // With `sources` Argo CD does not look at `source`.
    let single = spec.get("source").filter(|_| many.is_empty()).map(|s| (String::new(), s));
    for (part, node) in parts.chain(single) {
        let source = Source { app, spec, node, environment: environment(app, spec, node) };
        source.take(context, part, uses);
    }
}

fn environment(app: &App<'_>, spec: &Data, source: &Data) -> BTreeMap<&'static str, String> {
    let text = |data: &Data, keys: &[&str]| data.text(keys).unwrap_or_default().to_owned();
    BTreeMap::from([
        ("ARGOCD_APP_NAME", app.name.to_owned()),
        ("ARGOCD_APP_NAMESPACE", text(spec, &["destination", "namespace"])),
        ("ARGOCD_APP_PROJECT_NAME", text(spec, &["project"])),
        ("ARGOCD_APP_SOURCE_PATH", text(source, &["path"])),
        ("ARGOCD_APP_SOURCE_REPO_URL", text(source, &["repoURL"])),
        ("ARGOCD_APP_SOURCE_TARGET_REVISION", text(source, &["targetRevision"])),
    ])
}

// === impl Source ===

impl Source<'_> {
    fn take(&self, context: &Context<'_>, part: String, uses: &mut Vec<ChartUse>) {
        let url = self.node.text(&["repoURL"]).unwrap_or_default();
        let named = match self.node.text(&["chart"]) {
            Some(chart) => {
                Some(NamedChart { chart: chart.to_owned(), origin: Origin::Address(url.to_owned()) })
            }
            None => oci_chart(url).filter(|_| url.starts_with("oci://")),
        };
        let version = self.node.text(&["targetRevision"]).unwrap_or("*");
        if let Some(named) = named {
            let ours = Ours::judge(&named.chart, &named.origin, version, &context.options.mirrors);
            let known = unknown(version).is_none() && unknown(&named.chart).is_none();
            if let Some(ours) = ours.filter(|ours| known && super::is_rendered(ours)) {
                let found = ChartUse { part, ..self.as_use(context) };
                uses.push(ChartUse { chart: ours.chart, version: version.to_owned(), ..found });
            }
            return;
        }
        let folder = clean_folder(self.node.text(&["path"]).unwrap_or("."));
        if self.node.get("ref").is_none() && context.local_chart(&folder).is_some() {
            let found = ChartUse { part, ..self.as_use(context) };
            umbrella::expand(context, &folder, &[], found, uses);
        }
    }

    fn as_use(&self, context: &Context<'_>) -> ChartUse {
        let mut found = blank(self.app.path, self.app.line);
        let empty = Data::empty();
        let helm = self.node.get("helm").unwrap_or(&empty);
        found.by.clone_from(&self.app.by);
        found.notes.clone_from(&self.app.notes);
        found.release = helm.text(&["releaseName"]).unwrap_or(self.app.name).to_owned();
        let namespace = helm.text(&["namespace"]).or_else(|| self.spec.text(&["destination", "namespace"]));
        found.namespace = namespace.filter(|n| unknown(n).is_none()).map(str::to_owned);
        found.include_crds = !helm.is_true("skipCrds");
        found.kube_version = helm.text(&["kubeVersion"]).map(str::to_owned);
        found.api_versions = helm.texts("apiVersions").into_iter().map(str::to_owned).collect();
        if self.node.get("plugin").is_some() {
            found.notes.push("A plugin of Argo CD renders this source; here Helm alone does.".to_owned());
        }
        if self.node.get("kustomize").is_some() {
            found.notes.push("Argo CD's `kustomize` settings are not followed for a chart.".to_owned());
        }
        for written in helm.texts("valueFiles") {
            self.value_file(context, helm, written, &mut found.values);
        }
        match (helm.get("valuesObject"), helm.text(&["values"])) {
            (Some(object), _) => layers::push(&mut found.values, object.clone(), self.app.path),
            (None, Some(text)) => {
                let what = format!("`helm.values` of {}", self.app.name);
                layers::push_text(&mut found.values, text, self.app.path, &what);
            }
            (None, None) => {}
        }
        self.parameters(context, helm, &mut found);
        found
    }

    fn value_file(&self, context: &Context<'_>, helm: &Data, written: &str, values: &mut Vec<ValuesPart>) {
        let optional = helm.is_true("ignoreMissingValueFiles");
        let there = |path: &RepoPath| context.corpus.entry(path.as_str()).is_some();
        match self.file(written) {
            Found::Chart(file) => values.push(ValuesPart::InChart { file, optional }),
            Found::Elsewhere(what) => values.push(ValuesPart::Outside { what, target: None, optional }),
            Found::Tree(path) if path.as_str().contains('*') => {
                let entries = context.corpus.matching(path.as_str());
                entries.iter().for_each(|e| layers::push_file(context, values, &e.path));
            }
            Found::Tree(path) if there(&path) => layers::push_file(context, values, &path),
            Found::Tree(path) => {
                // That it is missing here says something only of a repository that is this one.
                let url = self.repository_of(written);
                let same = |other: &&str| {
                    self.repository_of(other) == url
                        && matches!(self.file(other), Found::Tree(p) if there(&p))
                };
                let this = helm.texts("valueFiles").iter().any(same);
                if !(optional && this) {
                    let what = format!("{path} of {}", url.unwrap_or("this repository"));
                    values.push(ValuesPart::Outside { what, target: None, optional });
                }
            }
        }
    }

    fn parameters(&self, context: &Context<'_>, helm: &Data, found: &mut ChartUse) {
        for parameter in helm.list("parameters") {
            let Some(name) = parameter.text(&["name"]) else { continue };
            let value = parameter.get("value").and_then(Data::as_str).unwrap_or_default();
            let value = fill::argo(&self.environment, value);
            if let Some(what) = unknown(&value) {
                let target = Some(name.to_owned());
                found.values.push(ValuesPart::Outside { what, target, optional: false });
                continue;
            }
            let text = parameter.is_true("forceString");
            found.parameters.push(Parameter { name: name.to_owned(), value: Some(value), text, file: false });
        }
        for parameter in helm.list("fileParameters") {
            let Some((name, path)) = parameter.text(&["name"]).zip(parameter.text(&["path"])) else {
                continue;
            };
            let value = match self.file(path) {
                Found::Tree(path) => {
                    let entry = context.corpus.entry(path.as_str());
                    entry.and_then(|e| context.corpus.text(e).ok())
                }
                Found::Chart(_) | Found::Elsewhere(_) => None,
            };
            found.parameters.push(Parameter { name: name.to_owned(), value, text: true, file: true });
        }
    }

    /// Says where a file that a source names is.
    fn file(&self, written: &str) -> Found {
        let named = written.strip_prefix('$').map(|rest| rest.split_once('/').unwrap_or((rest, "")));
        let (folder, path) = match named.filter(|(name, _)| self.reference(name).is_some()) {
            Some((_, path)) => (String::new(), path.to_owned()),
            None => {
                let filled = fill::argo(&self.environment, written);
                if let Some(what) = unknown(&filled) {
                    return Found::Elsewhere(format!("the values file of {what}"));
                }
                match (filled.strip_prefix('/'), self.node.text(&["path"])) {
                    _ if filled.contains("://") => return Found::Elsewhere(filled),
                    (None, None) => return Found::Chart(clean_folder(&filled)),
                    (Some(_), None) => return Found::Elsewhere(filled),
                    (Some(path), Some(_)) => (String::new(), path.to_owned()),
                    (None, Some(folder)) => (clean_folder(folder), filled.clone()),
                }
            }
        };
        if let Some(what) = unknown(&path) {
            return Found::Elsewhere(format!("the values file of {what}"));
        }
        let path = fill::argo(&self.environment, &path);
        RepoPath::resolve(&folder, &path).map_or_else(|| Found::Elsewhere(path.clone()), Found::Tree)
    }

    fn reference(&self, name: &str) -> Option<&Data> {
        self.spec.list("sources").iter().find(|s| s.text(&["ref"]) == Some(name))
    }

    fn repository_of(&self, written: &str) -> Option<&str> {
        let name = written.strip_prefix('$')?.split('/').next()?;
        self.reference(name)?.text(&["repoURL"])
    }
}

/// Where a file is.
enum Found {
    /// In this tree, if it is there.
    Tree(RepoPath),
    /// Inside the chart's package.
    Chart(String),
    /// Not in a place that is looked at.
    Elsewhere(String),
}
