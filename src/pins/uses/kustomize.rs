//! Step 5, pins: charts of Linkerd that kustomize inflates.
//!
//! In: kustomizations and inflation generators. Out: uses. The values file and the inline values are merged as
//! `valuesMerge` says, then additional files follow.

use super::{
    super::{
        ChartUse,
        context::Context,
        index::clean_folder,
        object::Object,
        origin::{Origin, Ours},
        place::Place,
    },
    blank,
    data::Data,
    layers, umbrella,
};
use crate::{repo::RepoPath, yaml::Node};

/// The names of fields, which differ in the older form.
struct Names {
    name: &'static str,
    repository: &'static str,
    version: &'static str,
    namespace: &'static str,
    file: &'static str,
    inline: &'static str,
}

const MODERN: Names = Names {
    name: "name",
    repository: "repo",
    version: "version",
    namespace: "namespace",
    file: "valuesFile",
    inline: "valuesInline",
};
const LEGACY: Names = Names {
    name: "chartName",
    repository: "chartRepoUrl",
    version: "chartVersion",
    namespace: "releaseNamespace",
    file: "values",
    inline: "valuesLocal",
};

/// Takes the uses of a kustomization.
pub(super) fn kustomization(
    context: &Context<'_>,
    place: Place<'_>,
    root: Node<'_>,
    uses: &mut Vec<ChartUse>,
) {
    let home = root.text(&["helmGlobals", "chartHome"]).unwrap_or("charts");
    let changes: Vec<&str> =
        ["images", "patches", "patchesStrategicMerge", "patchesJson6902", "replacements"]
            .into_iter()
            .chain(["transformers", "commonLabels", "labels", "commonAnnotations"])
            .filter(|key| root.get(key).is_some())
            .collect();
    for (key, names) in [("helmCharts", &MODERN), ("helmChartInflationGenerator", &LEGACY)] {
        for (n, item) in root.get(key).into_iter().flat_map(Node::items).enumerate() {
            let mut found = chart(context, place, item, names, home, &format!("{key}[{n}]"));
            if !changes.is_empty() {
                let note = format!(
                    "kustomize changes the output afterwards (`{}`), which is not done here.",
                    changes.join("`, `")
                );
                found.iter_mut().for_each(|u| u.notes.push(note.clone()));
            }
            uses.append(&mut found);
        }
    }
}

/// Takes the use of an inflation generator in a file of its own.
pub(super) fn generator(
    context: &Context<'_>,
    place: Place<'_>,
    object: &Object<'_>,
    uses: &mut Vec<ChartUse>,
) {
    let home = object.node.text(&["chartHome"]).unwrap_or("charts");
    uses.extend(chart(context, place, object.node, &MODERN, home, ""));
}

fn chart(
    context: &Context<'_>,
    place: Place<'_>,
    item: Node<'_>,
    names: &Names,
    home: &str,
    part: &str,
) -> Vec<ChartUse> {
    let path = &place.file.path;
    let Some(data) = Data::read(item) else { return Vec::new() };
    let Some(name) = data.text(&[names.name]) else { return Vec::new() };
    let mut found = blank(path, place.file.position(item.span().start).0);
    part.clone_into(&mut found.part);
    found.release = data.text(&["releaseName"]).unwrap_or(name).to_owned();
    // Without a namespace kustomize gives none to Helm either.
    found.namespace = Some(data.text(&[names.namespace]).unwrap_or("default").to_owned());
    found.include_crds = data.is_true("includeCRDs");
    found.hooks = !data.is_true("skipHooks");
    found.kube_version = data.text(&["kubeVersion"]).map(str::to_owned);
    found.api_versions = data.texts("apiVersions").into_iter().map(str::to_owned).collect();
    values(context, path, &data, names, &mut found);
    let unpacked = path.join_from_folder(&format!("{home}/{name}/Chart.yaml"));
    if let Some(unpacked) = unpacked.filter(|p| context.corpus.entry(p.as_str()).is_some()) {
        // kustomize takes a chart that lies there, whatever version is written.
        let mut uses = Vec::new();
        umbrella::expand(context, &clean_folder(unpacked.folder()), &[], found, &mut uses);
        return uses;
    }
    let origin = data.text(&[names.repository]).map(|r| Origin::Address(r.to_owned()));
    let version = data.text(&[names.version]).unwrap_or("*");
    let ours = Ours::judge(name, &origin.unwrap_or(Origin::Unknown), version, &context.options.mirrors);
    let ours = ours.filter(super::is_rendered);
    let whole = |ours: Ours| ChartUse { chart: ours.chart, version: version.to_owned(), ..found };
    ours.map(whole).into_iter().collect()
}

fn values(context: &Context<'_>, path: &RepoPath, data: &Data, names: &Names, found: &mut ChartUse) {
    let file = |written: &str, found: &mut ChartUse| match path.join_from_folder(written) {
        Some(file) => layers::push_file(context, &mut found.values, &file),
        None => found.values.push(layers::outside(format!("{written}, which is no path of this repository"))),
    };
    let own = data.text(&[names.file]);
    let inline = data.get(names.inline);
    let merge = data.text(&["valuesMerge"]).unwrap_or("override");
    if let (Some(own), false) = (own, inline.is_some() && matches!(merge, "merge" | "replace")) {
        file(own, found);
    }
    if let Some(inline) = inline {
        layers::push(&mut found.values, inline.clone(), path);
        if merge == "replace" {
            found.notes.push(
                "`valuesMerge: replace` leaves the chart's `values.yaml` out; the rendering here has it all the same."
                    .to_owned(),
            );
        } else if merge == "merge" {
            own.into_iter().for_each(|own| file(own, found));
        }
    }
    data.texts("additionalValuesFiles").into_iter().for_each(|more| file(more, found));
}
