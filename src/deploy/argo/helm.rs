//! A chart that argocd-repo-server renders.
//!
//! Source: `helmTemplate` and `getResolvedValueFiles` of `reposerver/repository/repository.go`, `util/helm/cmd.go`.
//! Helm's order: value files, then `valuesObject` or `values`, then parameters, texts, files.

use std::collections::HashSet;

use super::{APIS, source::Source};
use crate::{
    deploy::{
        chart::{ChartRelease, Layer, Parameter, ParameterKind, Repository, registry_chart},
        files::FileError,
        note::{About, Note},
        typed::is_true,
        value::{Part, Scalar, Value, Via},
    },
    repo::RepoPath,
};

/// Where a source has its chart from.
#[derive(Clone, Copy)]
pub(super) enum Chart<'a> {
    /// A repository, or a registry.
    Repository,
    /// A folder of this tree.
    Folder(&'a str),
    /// A folder of another one.
    Elsewhere,
}

/// Reads a source as a chart.
pub(super) fn release(source: &Source<'_>, place: Chart<'_>) -> Option<ChartRelease> {
    let own = |key: &str| source.value.scalar(&[key]).filter(|s| !s.text().is_empty());
    let none = Value::empty();
    let helm = source.value.get("helm").unwrap_or(&none);
    let url = own("repoURL");
    let folder = match place {
        Chart::Folder(folder) => Some(folder),
        Chart::Repository | Chart::Elsewhere => None,
    };
    let is_part = own("chart").is_none() && own("path").is_none() && url.is_none();
    let (chart, repository, version) = match (folder, own("chart"), url) {
        (Some(folder), ..) => {
            let path = own("path").cloned().unwrap_or_else(|| Scalar::made(folder));
            (path, Repository::Git(url.cloned()), None)
        }
        _ if matches!(place, Chart::Elsewhere) => (own("path")?.clone(), Repository::Git(url.cloned()), None),
        (None, Some(chart), Some(url)) => {
            (chart.clone(), Repository::Address(url.clone()), own("targetRevision").cloned())
        }
        (None, Some(chart), None) => {
            let who = "a repository that the source does not name".to_owned();
            (chart.clone(), Repository::Unknown(who), own("targetRevision").cloned())
        }
        (None, None, Some(url)) => {
            let (chart, repository) = registry_chart(url);
            (chart, repository, own("targetRevision").cloned())
        }
        (None, None, None) => {
            let who = "the Application that this is a part of".to_owned();
            let name = source.application.name()?.clone();
            (name, Repository::Unknown(who), own("targetRevision").cloned())
        }
    };
    let mut notes = Vec::new();
    if source.value.get("kustomize").is_some() {
        notes.push(Note::new(&source.application.file, About::Unfollowed("kustomize")));
    }
    if source.value.get("plugin").is_some() {
        notes.push(Note::new(&source.application.file, About::Unfollowed("plugin")));
    }
    let of_helm = |key: &str| helm.scalar(&[key]).filter(|s| !s.text().is_empty()).cloned();
    let destination = source.application.value.scalar(&["spec", "destination", "namespace"]);
    let name = source.application.name().cloned().unwrap_or_else(|| Scalar::made(""));
    let layers = Layers { source, helm, folder };
    let (parameters, replaced) = layers.parameters();
    Some(ChartRelease {
        part: source.part.clone(),
        by: source.application.by.clone(),
        version,
        is_part,
        release: of_helm("releaseName").unwrap_or(name),
        namespace: of_helm("namespace").or_else(|| destination.filter(|n| !n.text().is_empty()).cloned()),
        layers: layers.all(parameters),
        ignored: layers.ignored(replaced),
        kube_version: of_helm("kubeVersion"),
        api_versions: helm.list_at("apiVersions").iter().filter_map(Value::as_scalar).cloned().collect(),
        apis: APIS.to_vec(),
        include_crds: !is_true(helm, &["skipCrds"]),
        ignores_schema: is_true(helm, &["skipSchemaValidation"]),
        installed: source.installed(),
        notes,
        ..ChartRelease::new(&source.application.file, chart, repository)
    })
}

struct Layers<'a> {
    source: &'a Source<'a>,
    helm: &'a Value,
    folder: Option<&'a str>,
}

/// Where a file is that a source names.
enum Location {
    /// In this tree, if it is there; the address of the repository that is said to have it, which may be another one.
    Tree(String, Option<String>),
    /// In the chart's package.
    InChart(Scalar),
    /// Elsewhere: who has it.
    Elsewhere(String),
}

// === impl Layers ===

impl Layers<'_> {
    fn all(&self, parameters: Vec<Layer>) -> Vec<Layer> {
        let mut layers = self.value_files();
        match self.helm.get("valuesObject") {
            Some(object) => layers.push(Layer::values(object)),
            None => layers.extend(self.text()),
        }
        layers.extend(parameters);
        layers.extend(self.helm.list_at("fileParameters").iter().filter_map(|p| self.file_parameter(p)));
        layers
    }

    /// Returns the single values, and those of which another one of the same name takes the place.
    fn parameters(&self) -> (Vec<Layer>, Vec<Layer>) {
        let mut looks: Vec<Parameter> = Vec::new();
        let mut texts: Vec<Parameter> = Vec::new();
        let mut replaced: Vec<Parameter> = Vec::new();
        for parameter in self.helm.list_at("parameters") {
            let Some(name) = parameter.scalar(&["name"]) else { continue };
            let value = parameter.scalar(&["value"]).cloned().unwrap_or_else(|| Scalar::made(""));
            let value = escaped(&self.source.environment.fill(&value.via(Via::Parameter)));
            let forced = is_true(parameter, &["forceString"]);
            let (list, kind) =
                if forced { (&mut texts, ParameterKind::Text) } else { (&mut looks, ParameterKind::Looks) };
            // Of two of one name the last counts.
            replaced.extend(list.extract_if(.., |p| p.name.text() == name.text()));
            list.push(Parameter { name: name.clone(), value, kind });
        }
        let layers = |all: Vec<Parameter>| all.into_iter().map(Layer::Set);
        (layers(looks).chain(layers(texts)).collect(), layers(replaced).collect())
    }

    /// Returns what Argo CD does not look at: with `valuesObject`, `values`, and what another parameter takes the place of.
    fn ignored(&self, replaced: Vec<Layer>) -> Vec<Layer> {
        let text = self.helm.get("valuesObject").and_then(|_| self.text());
        text.into_iter().chain(replaced).collect()
    }

    fn text(&self) -> Option<Layer> {
        let text = self.helm.scalar(&["values"]).filter(|text| !text.text().is_empty())?;
        let name = self.source.application.name().map(|n| n.text().into_owned()).unwrap_or_default();
        Some(Layer::text(text, self.source.files, &format!("`helm.values` of {name}")))
    }

    fn file_parameter(&self, parameter: &Value) -> Option<Layer> {
        let (name, path) = (parameter.scalar(&["name"])?, parameter.scalar(&["path"])?);
        let outside =
            |who: String| Layer::Outside { who, target: Some(name.clone()), optional: false, text: None };
        Some(match self.place(path) {
            Location::Tree(path, _) => match self.source.files.file(&path) {
                Ok(file) => Layer::Set(Parameter {
                    name: name.clone(),
                    value: Scalar::file(&file).via(Via::Parameter),
                    kind: ParameterKind::Literal,
                }),
                Err(error) => outside(format!("{path}: {error}")),
            },
            Location::InChart(file) => outside(format!("the file `{}` of the chart", file.text())),
            Location::Elsewhere(who) => outside(who),
        })
    }

    fn value_files(&self) -> Vec<Layer> {
        let files = self.source.files;
        let optional = is_true(self.helm, &["ignoreMissingValueFiles"]);
        let written: Vec<&Scalar> =
            self.helm.list_at("valueFiles").iter().filter_map(Value::as_scalar).collect();
        let places: Vec<Location> = written.iter().map(|file| self.place(file)).collect();
        let is_glob = |path: &str| path.contains(['*', '?', '[']);
        let explicit = |path: &str| {
            places.iter().any(|p| matches!(p, Location::Tree(other, _) if !is_glob(other) && other == path))
        };
        // That a file is missing here says something only of a repository that is this one.
        let is_this = |of: &Option<String>| {
            let has =
                |p: &Location| matches!(p, Location::Tree(path, other) if other == of && files.has(path));
            of.is_none() || places.iter().any(has)
        };
        let mut layers = Vec::new();
        let mut seen: HashSet<String> = HashSet::new();
        let mut take = |layers: &mut Vec<Layer>, path: &str, of: &Option<String>| {
            if !seen.insert(path.to_owned()) {
                return;
            }
            match files.file(path) {
                Ok(file) => layers.push(Layer::text(&Scalar::file(&file), files, path)),
                Err(_) if optional && !files.has(path) && is_this(of) => {}
                Err(FileError::Absent) => {
                    let who = match of {
                        Some(repository) => format!("{path} of {repository}"),
                        None => format!("{path}, which is not in this repository"),
                    };
                    layers.push(Layer::Outside { who, target: None, optional, text: None });
                }
                Err(error) => layers.push(Layer::outside(format!("{path}: {error}"))),
            }
        };
        for place in &places {
            match place {
                Location::InChart(file) => layers.push(Layer::InChart { file: file.clone(), optional }),
                Location::Elsewhere(who) => {
                    layers.push(Layer::Outside { who: who.clone(), target: None, optional, text: None });
                }
                Location::Tree(path, of) if is_glob(path) => {
                    let found: Vec<String> =
                        files.matching(path).into_iter().map(|e| e.path.to_string()).collect();
                    found.iter().filter(|p| !explicit(p)).for_each(|p| take(&mut layers, p, of));
                }
                Location::Tree(path, of) => take(&mut layers, path, of),
            }
        }
        layers
    }

    /// Says where a file is that the source names.
    fn place(&self, written: &Scalar) -> Location {
        let text = written.text();
        let spec = &self.source.application.value;
        let sources = spec.path(&["spec", "sources"]).map_or(&[][..], Value::items);
        let referred = |name: &str| sources.iter().find(|s| s.text(&["ref"]).is_some_and(|r| r == name));
        let reference = text.strip_prefix('$').map(|rest| rest.split_once('/').unwrap_or((rest, "")));
        let mut of = None;
        let referred = reference.and_then(|(name, _)| Some((name, referred(name)?)));
        let (folder, file) = match referred {
            // Only what is behind the reference is filled.
            Some((name, source)) => {
                of = source.text(&["repoURL"]).map(|url| url.into_owned());
                let behind = written.cut((name.len() + 2).min(text.len())..text.len());
                (Some(""), self.source.environment.fill(&behind))
            }
            None => (self.folder, self.source.environment.fill(written)),
        };
        if let Some(who) = file.unknown_to() {
            return Location::Elsewhere(format!("the values file of {who}"));
        }
        let name = file.text();
        if name.contains("://") {
            return Location::Elsewhere(name.into_owned());
        }
        let Some(folder) = folder else { return Location::InChart(file.clone()) };
        let path = match name.strip_prefix('/') {
            Some(from_root) => RepoPath::resolve("", from_root),
            None => RepoPath::resolve(folder, &name),
        };
        path.map_or_else(
            || Location::Elsewhere(name.clone().into_owned()),
            |path| Location::Tree(path.to_string(), of),
        )
    }
}

/// Escapes the commas of a parameter as `cleanSetParameters` does: a list in braces keeps them.
fn escaped(value: &Scalar) -> Scalar {
    let text = value.text();
    if text.starts_with('{') && text.ends_with('}') {
        return value.clone();
    }
    let mut parts: Vec<Part> = Vec::new();
    let mut from = 0;
    for (at, _) in text.match_indices(',') {
        if text.get(..at).is_some_and(|before| before.ends_with('\\')) {
            continue;
        }
        parts.extend_from_slice(value.cut(from..at).parts());
        parts.push(Part::Made("\\".into()));
        from = at;
    }
    parts.extend_from_slice(value.cut(from..text.len()).parts());
    Scalar::of(parts, value.plain)
}
