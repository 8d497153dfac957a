//! Step 5, pins: charts of Linkerd that are dependencies of a chart in the tree.
//!
//! In: a chart's folder, and who deploys it with which values. Out: one use for each dependency that is switched on,
//! with its own part of the values and `global`. Other dependencies and the chart's own templates are left alone.

use std::collections::HashSet;

use super::{
    super::{ChartUse, Parameter, ValuesPart, context::Context, index::repository_origin, origin::Ours},
    blank,
    data::Data,
    layers,
};
use crate::repo::RepoPath;

/// What Helm gives to every dependency.
const GLOBAL: &str = "global";
/// More values files that nothing refers to are not taken for deployments.
const FILES: usize = 20;

/// Adds the uses of a chart in the tree as `deployed` has it rendered. `instead` are values files that stand in place
/// of its own `values.yaml`.
pub(super) fn expand(
    context: &Context<'_>,
    folder: &str,
    instead: &[RepoPath],
    mut deployed: ChartUse,
    uses: &mut Vec<ChartUse>,
) {
    let Some(path) = RepoPath::resolve(folder, "Chart.yaml") else { return };
    let Some(file) = context.corpus.file(path.as_str()) else { return };
    let mut own = Vec::new();
    if instead.is_empty() {
        let values = RepoPath::resolve(folder, "values.yaml");
        let there = values.filter(|p| context.corpus.entry(p.as_str()).is_some());
        there.iter().for_each(|path| layers::push_file(context, &mut own, path));
    }
    instead.iter().for_each(|path| layers::push_file(context, &mut own, path));
    deployed.values.splice(0..0, own);
    let all: Vec<Option<Data>> = deployed.values.iter().map(read).collect();
    let items = file.stream.roots().next().and_then(|root| root.get("dependencies"));
    for (n, item) in items.into_iter().flat_map(|items| items.items().enumerate()) {
        let Some(dependency) = Data::read(item) else { continue };
        let (Some(name), Some(written)) = (dependency.text(&["name"]), dependency.text(&["version"])) else {
            continue;
        };
        let origin = repository_origin(dependency.text(&["repository"]));
        let ours = Ours::judge(name, &origin, written, &context.options.mirrors);
        let Some(ours) = ours.filter(super::is_rendered) else { continue };
        if !is_on(&dependency, &all, &deployed.parameters) {
            continue;
        }
        let key = dependency.text(&["alias"]).unwrap_or(name);
        let mut found = ChartUse {
            by: Some(deployed.path.clone()).filter(|by| *by != path).or_else(|| deployed.by.clone()),
            path: path.clone(),
            line: file.position(item.span().start).0,
            part: format!("dependencies[{n}]"),
            chart: ours.chart,
            version: locked(context, folder, name, n, written).unwrap_or_else(|| written.to_owned()),
            values: Vec::new(),
            parameters: deployed.parameters.iter().filter_map(|p| below(p, key)).collect(),
            ..deployed.clone()
        };
        let switches = switches(&dependency, key);
        for (part, data) in deployed.values.iter().zip(&all) {
            take(part, data.as_ref(), (key, &switches), &mut found.values);
        }
        if dependency.get("import-values").is_some() {
            found.notes.push("`import-values` is not followed.".to_owned());
        }
        uses.push(found);
    }
}

/// Adds the charts in the tree that nothing in the tree deploys: with each values file that names their dependencies,
/// or with their own values alone.
pub(super) fn undeployed(context: &Context<'_>, uses: &mut Vec<ChartUse>) {
    let known: HashSet<&str> = uses.iter().map(|u| u.path.as_str()).collect();
    let mirrors = &context.options.mirrors;
    let mut more = Vec::new();
    for (folder, chart) in &context.index.charts {
        let Some(path) = RepoPath::resolve(folder, "Chart.yaml") else { continue };
        let keys: Vec<&str> =
            chart.dependencies.iter().filter(|d| d.ours(mirrors).is_some()).map(|d| d.key.as_str()).collect();
        if keys.is_empty() || known.contains(path.as_str()) {
            continue;
        }
        let release =
            folder.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("release").to_owned();
        let own = RepoPath::resolve(folder, "values.yaml");
        let names = |file: &&super::super::index::ValuesFile| {
            Some(&file.path) != own.as_ref() && file.keys.iter().any(|k| keys.contains(&k.as_str()))
        };
        let files: Vec<_> = context.index.values_files.iter().filter(names).take(FILES).collect();
        let deployed = ChartUse { release, ..blank(&path, 1) };
        if files.is_empty() {
            let note = "Nothing in the repository deploys this chart; its own values are taken alone.";
            let found = ChartUse { notes: vec![note.to_owned()], ..deployed.clone() };
            expand(context, folder, &[], found, &mut more);
        }
        for file in files {
            let note = format!(
                "Nothing in the repository deploys this chart; {} is laid over its values.",
                file.path
            );
            let mut found = ChartUse { by: Some(file.path.clone()), notes: vec![note], ..deployed.clone() };
            layers::push_file(context, &mut found.values, &file.path);
            expand(context, folder, &[], found, &mut more);
        }
    }
    uses.extend(more);
}

fn read(part: &ValuesPart) -> Option<Data> {
    match part {
        ValuesPart::Text { text, .. } => Data::parse(text),
        ValuesPart::InChart { .. } | ValuesPart::Outside { .. } => None,
    }
}

/// Returns the keys among a dependency's own values that switch it on: the umbrella reads them, not the chart.
fn switches(dependency: &Data, key: &str) -> Vec<String> {
    let conditions = dependency.text(&["condition"]).unwrap_or_default().split(',');
    let own = conditions.filter_map(|path| path.trim().strip_prefix(key)?.strip_prefix('.'));
    own.filter(|key| !key.contains('.')).map(str::to_owned).collect()
}

/// Takes of one layer what a dependency gets, without the keys that switch it on.
fn take(
    part: &ValuesPart,
    data: Option<&Data>,
    (key, switches): (&str, &[String]),
    values: &mut Vec<ValuesPart>,
) {
    match part {
        ValuesPart::Text { path, .. } => {
            let Some(data) = data else { return };
            let mut own =
                data.get(key).cloned().filter(|d| matches!(d, Data::Map(_))).unwrap_or_else(Data::empty);
            if let Data::Map(map) = &mut own {
                map.retain(|key, _| !switches.contains(key));
            }
            if let (Data::Map(map), Some(global)) = (&mut own, data.get(GLOBAL)) {
                let mut all = global.clone();
                if let Some(given) = map.get(GLOBAL) {
                    // What the umbrella says for all goes over what it says for one.
                    let over = std::mem::replace(&mut all, given.clone());
                    all.merge(&over);
                }
                map.insert(GLOBAL.to_owned(), all);
            }
            layers::push(values, own, path);
        }
        ValuesPart::InChart { .. } => {}
        ValuesPart::Outside { target: None, .. } => values.push(part.clone()),
        ValuesPart::Outside { what, target: Some(target), optional } => {
            if let Some(target) = path_below(target, key) {
                let what = what.clone();
                values.push(ValuesPart::Outside { what, target: Some(target), optional: *optional });
            }
        }
    }
}

fn below(parameter: &Parameter, key: &str) -> Option<Parameter> {
    Some(Parameter { name: path_below(&parameter.name, key)?, ..parameter.clone() })
}

fn path_below(path: &str, key: &str) -> Option<String> {
    if path.strip_prefix(GLOBAL).is_some_and(|rest| rest.starts_with('.')) {
        return Some(path.to_owned());
    }
    path.strip_prefix(key)?.strip_prefix('.').map(str::to_owned)
}

/// Tells whether a dependency is rendered: the first condition that is set decides, then the tags.
fn is_on(dependency: &Data, values: &[Option<Data>], parameters: &[Parameter]) -> bool {
    let last = |path: &str| -> Option<bool> {
        let set = parameters.iter().rev().find(|p| p.name == path).and_then(|p| p.value.as_deref());
        let keys: Vec<&str> = path.split('.').collect();
        let layer = || values.iter().rev().flatten().find_map(|data| data.path(&keys)).and_then(Data::truth);
        set.and_then(|v| v.parse().ok()).or_else(layer)
    };
    let conditions = dependency.text(&["condition"]).unwrap_or_default();
    if let Some(on) = conditions.split(',').find_map(|path| last(path.trim())) {
        return on;
    }
    let tags: Vec<bool> =
        dependency.texts("tags").iter().filter_map(|tag| last(&format!("tags.{tag}"))).collect();
    tags.is_empty() || tags.contains(&true)
}

/// Returns the version that the lock says for a range.
fn locked(context: &Context<'_>, folder: &str, name: &str, n: usize, written: &str) -> Option<String> {
    if semver::Version::parse(written).is_ok() {
        return None;
    }
    let lock = ["Chart.lock", "requirements.lock"].into_iter().find_map(|name| {
        let path = RepoPath::resolve(folder, name)?;
        context.corpus.file(path.as_str())
    })?;
    let root = lock.stream.roots().next().and_then(Data::read)?;
    let all = root.list("dependencies");
    let own = all.get(n).filter(|d| d.text(&["name"]) == Some(name));
    let own = own.or_else(|| all.iter().find(|d| d.text(&["name"]) == Some(name)))?;
    own.text(&["version"]).map(str::to_owned)
}
