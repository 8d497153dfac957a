//! `helm_release` of the Helm provider, in the form of version 2 (blocks) and 3 (lists).

use hcl_edit::structure::Block;

use super::scope::Scope;
use crate::{
    deploy::{
        chart::{self, ChartRelease, Layer, Parameter, ParameterKind, Repository, addressed},
        note::{About, Note},
        value::{Scalar, Value, Via},
    },
    repo::RepoPath,
};

/// The names under which single values are given, in the order in which the provider lays them in.
const SETS: [&str; 4] = ["set", "set_list", "set_sensitive", "set_wo"];

/// Reads a release; `None` where it names no chart.
pub(super) fn release(scope: &Scope<'_>, block: &Block, by: Option<&RepoPath>) -> Option<ChartRelease> {
    let body = scope.resource(block);
    let text = |key: &str| body.scalar(&[key]).cloned();
    let version = text("version");
    let who = version
        .as_ref()
        .and_then(Scalar::unknown_to)
        .filter(|who| scope.budget.unfollowed.borrow().contains(*who));
    let notes = who.map(|who| Note::new(&scope.source.path, About::Expression(who.to_owned())));
    let written = text("chart")?;
    let name = written.text().into_owned();
    let folder = folder(scope, &name);
    let (chart, repository, packaged) = match (addressed(&written), text("repository")) {
        (Some(addressed), _) => addressed,
        // Helm takes a folder of that name before it asks any repository.
        _ if folder.is_some() || name.starts_with(['.', '/']) => {
            (folder.unwrap_or(written), Repository::Git(None), None)
        }
        (None, Some(repository)) => (written, Repository::Address(repository), None),
        (None, None) => (written, Repository::Unknown("no `repository` is named".to_owned()), None),
    };
    Some(ChartRelease {
        part: block.labels.get(1).map(|label| label.as_str().to_owned()).unwrap_or_default(),
        by: by.cloned(),
        version: packaged.or(version.clone()),
        notes: notes.into_iter().collect(),
        release: text("name").unwrap_or_else(|| Scalar::made("")),
        namespace: text("namespace"),
        layers: layers(scope, &body),
        ..ChartRelease::new(&scope.source.path, chart, repository)
    })
}

/// Finds a chart of the tree, by its way from the module or from the root of the tree, which `path.module` and its like stand
/// for.
fn folder(scope: &Scope<'_>, name: &str) -> Option<Scalar> {
    [&*scope.module.folder, ""].into_iter().find_map(|base| chart::beside(base, name, scope.files))
}

fn layers(scope: &Scope<'_>, body: &Value) -> Vec<Layer> {
    let mut layers: Vec<Layer> = Vec::new();
    let texts = body.list_at("values").iter().filter_map(Value::as_scalar);
    layers.extend(texts.map(|text| Layer::text(text, scope.files, "`values`")));
    for name in SETS {
        let all = match body.get(name) {
            Some(Value::List(items)) => items.to_vec(),
            Some(one @ Value::Map(_)) => vec![one.clone()],
            _ => Vec::new(),
        };
        layers.extend(all.iter().filter_map(set));
    }
    layers
}

fn set(item: &Value) -> Option<Layer> {
    let name = item.scalar(&["name"])?.clone();
    let (value, kind) = match item.get("value") {
        Some(Value::List(items)) => {
            let comma = Scalar::made(",");
            let items = items.iter().filter_map(Value::as_scalar);
            let inner = items.fold(None, |all: Option<Scalar>, item| {
                Some(all.map_or_else(|| item.clone(), |all| all.then(&comma).then(item)))
            });
            let inner = inner.unwrap_or_else(|| Scalar::made(""));
            (Scalar::made("{").then(&inner).then(&Scalar::made("}")), ParameterKind::Looks)
        }
        Some(Value::Scalar(text)) => {
            let kind = match item.text(&["type"]).as_deref() {
                Some("string") => ParameterKind::Text,
                Some("literal") => ParameterKind::Literal,
                _ => ParameterKind::Looks,
            };
            (text.clone(), kind)
        }
        _ => return None,
    };
    Some(Layer::Set(Parameter { name, value: value.via(Via::Values), kind }))
}
