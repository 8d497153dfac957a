//! Charts that kustomize inflates: here they stay charts.

use super::{
    builder::{Builder, Here},
    resource::text_of,
};
use crate::{
    deploy::{
        chart::{ChartRelease, Installed, Layer, Repository},
        files::FileError,
        note::{About, Note},
        typed::is_true,
        value::{Scalar, Value},
    },
    repo::RepoPath,
};

/// Where charts are kept below a kustomization, where it does not say otherwise.
const HOME: &str = "charts";
/// What a kustomization does to objects, those of charts among them.
const CHANGES: [&str; 9] = [
    "images",
    "patches",
    "patchesStrategicMerge",
    "patchesJson6902",
    "replacements",
    "transformers",
    "commonLabels",
    "labels",
    "commonAnnotations",
];

/// Reads an entry of `helmCharts`, or a `HelmChartInflationGenerator`.
pub(super) fn chart(
    builder: &mut Builder<'_>,
    here: &Here,
    entry: &Value,
    globals: Option<&Value>,
) -> ChartRelease {
    let old = entry.get("chartName").is_some();
    let scalar = |new: &str, before: &str| entry.scalar(&[if old { before } else { new }]).cloned();
    let home = globals.or(Some(entry)).and_then(|globals| globals.text(&["chartHome"]));
    let home = home.unwrap_or(HOME.into());
    let name = scalar("name", "chartName").unwrap_or_else(|| Scalar::made(""));
    let folder = RepoPath::resolve(&here.folder, &format!("{home}/{}", name.text()));
    let said = |new: &str, before: &str| scalar(new, before).filter(|text| !text.text().is_empty());
    let (version, repository) = (said("version", "chartVersion"), said("repo", "chartRepoUrl"));
    // A chart that is there is taken as it is. Where both are named, it is looked for under its version, and fetched
    // (`absChartHome` of HelmChartInflationGenerator, kustomize 5).
    let is_fetched = version.is_some() && repository.is_some();
    let is_there = |folder: &RepoPath| !is_fetched && builder.files.has(&format!("{folder}/Chart.yaml"));
    let local = folder.filter(is_there);
    let (chart, repository) = match (local, repository) {
        (Some(folder), _) => (Scalar::made(folder.as_str()), Repository::Git(None)),
        (None, Some(address)) => (name, Repository::Address(address)),
        (None, None) => (name, Repository::Unknown("the repository of the chart is not said".to_owned())),
    };
    let flag = |key: &str| is_true(entry, &[key]);
    let file = scalar("valuesFile", "values").filter(|file| !file.text().is_empty());
    let inline = entry.get(if old { "valuesLocal" } else { "valuesInline" });
    let mut layers = Vec::new();
    let file = file.map(|file| values(builder, here, &text_of(Some(&Value::Scalar(file)))));
    let inline = inline.map(Layer::values);
    match entry.text(&["valuesMerge"]).as_deref() {
        Some("merge") => layers.extend(inline.into_iter().chain(file)),
        // Of the file and the inline values alone: Helm lays the chart's own below both.
        Some("replace") if inline.is_some() => layers.extend(inline),
        _ => layers.extend(file.into_iter().chain(inline)),
    }
    for more in entry.list_at("additionalValuesFiles") {
        layers.push(values(builder, here, &text_of(Some(more))));
    }
    ChartRelease {
        version,
        release: entry.scalar(&["releaseName"]).cloned().unwrap_or_else(|| Scalar::made("release-name")),
        // Without a namespace kustomize gives none to Helm either.
        namespace: scalar("namespace", "releaseNamespace").or_else(|| Some(Scalar::made("default"))),
        layers,
        kube_version: entry.scalar(&["kubeVersion"]).cloned(),
        api_versions: entry.list_at("apiVersions").iter().filter_map(Value::as_scalar).cloned().collect(),
        include_crds: flag("includeCRDs"),
        hooks: !flag("skipHooks"),
        installed: Installed::Applied,
        ..ChartRelease::new(file_of(entry).unwrap_or(&here.path), chart, repository)
    }
}

/// Returns the file of an entry: a generator may have one of its own.
fn file_of(entry: &Value) -> Option<&RepoPath> {
    entry.scalars().into_iter().flat_map(Scalar::origins).map(|at| &at.source.path).next()
}

/// Notes of charts what a kustomization does to their objects.
pub(super) fn changed(here: &Here, of: &Value, charts: &mut [ChartRelease]) {
    let keys: Vec<&str> = CHANGES.into_iter().filter(|key| of.get(key).is_some()).collect();
    if !keys.is_empty() {
        let note = Note::new(&here.path, About::Afterwards { who: "kustomize", keys });
        charts.iter_mut().for_each(|chart| chart.notes.push(note.clone()));
    }
}

fn values(builder: &mut Builder<'_>, here: &Here, path: &str) -> Layer {
    let outside = || Layer::Outside {
        who: format!("the values file {path}"),
        target: None,
        optional: false,
        text: None,
    };
    match builder.try_file(here, path) {
        Ok(source) => Layer::text(&Scalar::file(&source), builder.files, source.path.as_str()),
        // It may come with the chart, when that is fetched.
        Err(FileError::Absent) => outside(),
        Err(error) => {
            builder.unread(here, path, &error);
            outside()
        }
    }
}
