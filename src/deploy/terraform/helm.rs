//! `helm_release` and `helm_template` of the Helm provider, in the form of version 2 (blocks) and 3 (lists).

use hcl_edit::structure::Block;

use super::{
    providers::{compares_manifests, helm},
    scope::{Scope, open, truth},
};
use crate::{
    deploy::{
        chart::{
            self, ChartRelease, Installed, Layer, Parameter, ParameterKind, Renewal, Repository, addressed,
        },
        note::{About, Note},
        value::{Scalar, Value, Via},
    },
    repo::RepoPath,
};

/// The argument that has texts of values, and those of single values, in the order in which the provider lays them in.
const VALUES: &str = "values";
const SETS: [&str; 4] = ["set", "set_list", "set_sensitive", "set_wo"];

/// Reads a release that the provider with an alias makes; `None` where it names no chart.
pub(super) fn release(
    scope: &Scope<'_>,
    block: &Block,
    alias: Option<&str>,
    by: Option<&RepoPath>,
) -> Option<ChartRelease> {
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
    // What a chart of the tree brings, its values decide.
    let certain = folder.is_some().then(|| scope.certainly().resource(block));
    let (chart, repository, packaged) = match (addressed(&written), text("repository")) {
        (Some(addressed), _) => addressed,
        // Helm takes a folder of that name before it asks any repository.
        _ if folder.is_some() || name.starts_with(['.', '/']) => {
            (folder.unwrap_or(written), Repository::Git(None), None)
        }
        (None, Some(repository)) => (written, Repository::Address(repository), None),
        (None, None) => (written, Repository::Unknown("no `repository` is named".to_owned()), None),
    };
    let is_printed = block.ident.as_str() == "data";
    Some(ChartRelease {
        part: block.labels.get(1).map(|label| label.as_str().to_owned()).unwrap_or_default(),
        by: by.cloned(),
        version: packaged.or(version.clone()),
        notes: notes.into_iter().collect(),
        release: text("name").unwrap_or_else(|| Scalar::made("")),
        namespace: text("namespace"),
        layers: layers(scope, &body, certain.as_ref()),
        installed: if is_printed { Installed::Applied } else { Installed::Helm },
        renewal: if is_printed || is_compared(scope, alias) {
            Renewal::Change
        } else {
            Renewal::TerraformVersion
        },
        ..ChartRelease::new(&scope.source.path, chart, repository)
    })
}

/// Tells whether releases are compared by what their charts come to: a module without a provider of its own is given that of
/// the root.
fn is_compared(scope: &Scope<'_>, alias: Option<&str>) -> bool {
    let root = scope.modules.get(&*scope.budget.root);
    let mut modules = [Some(scope.module), root].into_iter().flatten();
    let provider = modules.find_map(|module| helm(module.blocks.iter().map(|(_, block)| block), alias));
    provider.is_some_and(compares_manifests)
}

/// Finds a chart of the tree, by its way from the module or from the root of the tree, which `path.module` and its like stand
/// for.
fn folder(scope: &Scope<'_>, name: &str) -> Option<Scalar> {
    [&*scope.module.folder, ""].into_iter().find_map(|base| chart::beside(base, name, scope.files))
}

/// Reads the layers of values; `certain` is what is certain of the release, where that matters.
fn layers(scope: &Scope<'_>, body: &Value, certain: Option<&Value>) -> Vec<Layer> {
    let of = |name: &str| {
        let own = given(scope, body, name);
        let Some(certain) = certain else { return own };
        match certain.get(name).and_then(open) {
            Some(who) => own.into_iter().chain([outside(who)]).collect(),
            None => doubted(own, &given(scope, certain, name)),
        }
    };
    [VALUES].into_iter().chain(SETS).flat_map(of).collect()
}

/// Reads what an argument gives, or blocks of that name.
fn given(scope: &Scope<'_>, body: &Value, name: &str) -> Vec<Layer> {
    if name == VALUES {
        let texts = body.list_at(name).iter().filter_map(Value::as_scalar);
        return texts.map(|text| Layer::text(text, scope.files, "`values`")).collect();
    }
    let all = match body.get(name) {
        Some(one @ Value::Map(_)) => std::slice::from_ref(one),
        Some(more) => more.items(),
        None => &[],
    };
    all.iter().filter_map(|item| set(item).or_else(|| open(item).map(outside))).collect()
}

/// Lays behind each layer what nobody here knows, where that may switch on what the layer leaves off.
fn doubted(own: Vec<Layer>, certain: &[Layer]) -> Vec<Layer> {
    let certain: Vec<Value> = certain.iter().map(mapping).collect();
    if own.len() != certain.len() {
        return own.into_iter().chain(certain.iter().find_map(open).map(outside)).collect();
    }
    let mut layers = Vec::new();
    for (own, certain) in own.into_iter().zip(&certain) {
        let value = mapping(&own);
        let who = open(&value).or_else(|| switched_by(&value, certain));
        let more = who.filter(|_| !matches!(own, Layer::Outside { .. })).map(outside);
        layers.push(own);
        layers.extend(more);
    }
    layers
}

/// Returns the mapping of a layer; of one of which nobody here knows what it sets, who knows it.
fn mapping(layer: &Layer) -> Value {
    match layer {
        Layer::Values(values) => values.clone(),
        Layer::Set(set) => match set.name.unknown_to() {
            Some(who) => Value::Scalar(Scalar::unknown(who)),
            None => Value::map([(&*set.name.text(), Value::Scalar(set.value.clone()))]),
        },
        Layer::Outside { who, .. } => Value::Scalar(Scalar::unknown(who)),
        Layer::InChart { .. } => Value::empty(),
    }
}

/// Says who knows whether what a value leaves off is on: `certain` is what is certain of the value.
fn switched_by<'v>(own: &Value, certain: &'v Value) -> Option<&'v str> {
    match (own, certain) {
        (Value::Map(_), Value::Map(_)) => {
            own.entries().find_map(|(key, own)| switched_by(own, certain.entry(key)?))
        }
        (Value::List(_), Value::List(_)) => {
            let mut pairs = own.items().iter().zip(certain.items());
            pairs.find_map(|(own, certain)| switched_by(own, certain))
        }
        (Value::Scalar(text), _) if !text.is_null() && truth(own) != Some(false) => None,
        _ => certain.as_scalar()?.unknown_to(),
    }
}

fn outside(who: &str) -> Layer {
    Layer::outside(who.to_owned())
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
