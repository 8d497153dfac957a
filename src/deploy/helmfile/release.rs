//! The releases of a helmfile: their templates, the expressions in them, their charts and layers of values.
//!
//! Sources: `pkg/state/state_exec_tmpl.go`, `release.go`, and `state.go` (`namespaceAndValuesFlags`, `setFlags`).

use std::borrow::Cow;

use super::{
    patches::patches,
    state::{Loader, State, expression, secrets_out},
    values::laid,
};
use crate::deploy::{
    build::Build,
    chart::{self, ChartRelease, Layer, Parameter, ParameterKind, Repository},
    go_yaml,
    note::About,
    typed::is_true,
    umbrella,
    value::{Scalar, Value, Via},
};

/// How often the expressions of a release may read each other.
const ROUNDS: usize = 6;
/// Templates in templates.
const DEPTH: usize = 16;
/// What tells Helm to take values whatever a chart's schema says (`helmx.go`, `shouldSkipSchemaValidation`).
const SKIPS: &str = "skipSchemaValidation";
/// The texts of a release that are templates.
const TEXTS: [&str; 4] = ["name", "chart", "namespace", "version"];

/// Reads the releases of a state, each with the context of its cluster, where that is told.
pub(super) fn releases(loader: &Loader<'_>, state: &State) -> Vec<(Option<String>, ChartRelease)> {
    let defaults = state.value.get("defaultInherit");
    let defaults = match defaults {
        Some(Value::List(names)) => names.to_vec(),
        Some(name @ Value::Scalar(_)) => vec![name.clone()],
        _ => Vec::new(),
    };
    let defaults: Vec<Value> = defaults.iter().map(|name| Value::map([("template", name.clone())])).collect();
    let all = state.value.list_at("releases").iter();
    all.take_while(|_| loader.run.look(&state.path))
        .flat_map(|release| {
            let mut release = release.clone();
            let own = release.list_at("inherit").to_vec();
            let name = |inherit: &Value| inherit.text(&["template"]).map(Cow::into_owned);
            let names: Vec<_> = own.iter().filter_map(name).collect();
            let is_own = |inherit: &Value| name(inherit).is_some_and(|name| names.contains(&name));
            let others = defaults.iter().filter(|inherit| !is_own(inherit)).cloned();
            release.insert("inherit", Value::list(others.chain(own).collect()));
            let whole = inherited(loader, state, &release, DEPTH);
            let own = one(loader, state, &whole);
            let beside =
                own.iter().flat_map(|own| dependencies(loader, state, &whole, own)).collect::<Vec<_>>();
            let context = context(loader, state, &whole);
            own.into_iter().chain(beside).map(move |chart| (context.clone(), chart))
        })
        .collect()
}

/// Lays a release over its templates, of which a later one counts before an earlier one.
fn inherited(loader: &Loader<'_>, state: &State, release: &Value, depth: usize) -> Value {
    let mut all = Value::empty();
    for inherit in release.list_at("inherit") {
        let Some(name) = inherit.text(&["template"]) else { continue };
        let template = state.value.path(&["templates", &name]);
        let (Some(template), Some(depth), true) =
            (template, depth.checked_sub(1), loader.run.look(&state.path))
        else {
            let what = format!("the release template `{name}`");
            let why = if depth == 0 { "it inherits itself" } else { "there is none of that name" };
            loader.run.note(&state.path, About::Fails { what, why: why.to_owned() });
            continue;
        };
        let mut template = inherited(loader, state, template, depth);
        for key in inherit.list_at("except").iter().filter_map(Value::as_scalar) {
            template.remove(&key.text());
        }
        all = over(&all, &template);
    }
    let mut all = over(&all, release);
    all.remove("inherit");
    all
}

/// Lays `more` over what there is; its lists go behind.
fn over(there: &Value, more: &Value) -> Value {
    let mut out = laid(there, more, true);
    let said = there.get("installed").filter(|_| more.text(&["installed"]).is_some_and(|text| is_no(&text)));
    if let Some(said) = said {
        // mergo takes a boolean that is false for one that nobody has set.
        out.insert("installed", said.clone());
    }
    out
}

fn one(loader: &Loader<'_>, state: &State, release: &Value) -> Option<ChartRelease> {
    let (release, dot) = filled(loader, state, release);
    let named = named(loader, state, &release)?;
    let namespace = state.value.scalar(&["namespace"]).filter(|n| !n.text().is_empty());
    let name = release.scalar(&["name"]).cloned().unwrap_or_else(|| Scalar::made(""));
    let Build { strays, images, notes, .. } = patches(loader, state, &release, &dot);
    Some(ChartRelease {
        part: match &*loader.name {
            "default" => name.text().into_owned(),
            environment => format!("{} in {environment}", name.text()),
        },
        release: name,
        namespace: namespace.or_else(|| release.scalar(&["namespace"])).cloned(),
        layers: layers(loader, state, &release, &dot),
        is_off: is_off(state, &release),
        laid_over: strays,
        images,
        notes,
        ignores_schema: is_true(&release, &[SKIPS]) || is_true(&state.value, &["helmDefaults", SKIPS]),
        kube_version: release
            .scalar(&["kubeVersion"])
            .or_else(|| state.value.scalar(&["kubeVersion"]))
            .cloned(),
        ..named
    })
}

/// Says which context of a kubeconfig a release is for (`state.go`, `ApplyOverrides`, `kubeConnectionFlags`).
fn context(loader: &Loader<'_>, state: &State, release: &Value) -> Option<String> {
    let said = [
        state.value.scalar(&["kubeContext"]),
        release.scalar(&["kubeContext"]),
        state.value.scalar(&["environments", &loader.name, "kubeContext"]),
        state.value.scalar(&["helmDefaults", "kubeContext"]),
    ];
    let context = said.into_iter().flatten().find(|context| !context.text().is_empty())?;
    context.known().map(|context| context.into_owned())
}

/// Reads the chart that an entry names, and its version.
fn named(loader: &Loader<'_>, state: &State, entry: &Value) -> Option<ChartRelease> {
    let said = |key: &str| entry.scalar(&[key]).filter(|text| !text.text().is_empty());
    let (chart, repository, packaged) = source(loader, state, said("chart")?);
    let version = said("version").cloned().or(packaged);
    Some(ChartRelease { version, ..ChartRelease::new(&state.path, chart, repository) })
}

/// Lists the charts that helmfile puts into the chart of a release before it installs that one (chartify, `dependencies`).
fn dependencies(loader: &Loader<'_>, state: &State, release: &Value, of: &ChartRelease) -> Vec<ChartRelease> {
    let one = |dependency: &Value| {
        let named = named(loader, state, dependency)?;
        let chart = named.chart.text();
        let alias = dependency.text(&["alias"]).filter(|alias| !alias.is_empty());
        let key = alias.unwrap_or_else(|| chart.rsplit('/').next().unwrap_or_default().to_owned().into());
        let (layers, is_on) = umbrella::added(of, loader.run.files, &key);
        Some(ChartRelease {
            part: format!("{}, {key}", of.part),
            release: of.release.clone(),
            namespace: of.namespace.clone(),
            is_off: of.is_off || !is_on,
            layers,
            ..named
        })
    };
    release.list_at("dependencies").iter().filter_map(one).collect()
}

/// Tells whether a release is not installed, by itself or by a value that its `condition` names (`state.go`, `ConditionEnabled`).
fn is_off(state: &State, release: &Value) -> bool {
    let condition = release.text(&["condition"]);
    let values = state.values.all();
    let is_false = |value: Option<Cow<'_, str>>| value.is_some_and(|text| text == "false");
    let keys = condition.iter().map(|condition| condition.split('.').collect::<Vec<_>>());
    release.text(&["installed"]).is_some_and(|text| is_no(&text))
        || keys.into_iter().any(|keys| is_false(values.text(&keys)))
}

/// Into a boolean go-yaml v3 reads the words of YAML 1.1 too (`decode.go`), which are texts among values.
fn is_no(text: &str) -> bool {
    matches!(text, "false" | "n" | "N" | "no" | "off")
}

/// Fills the expressions of a release, which may read its own texts. Returns it with what its templates read.
fn filled(loader: &Loader<'_>, state: &State, release: &Value) -> (Value, Value) {
    let mut dot = loader.dot(&state.values);
    let mut now = release.clone();
    let text = |value: &Value, key: &str| value.get(key).cloned().unwrap_or_else(|| Value::made(""));
    for _ in 0..ROUNDS {
        let labels = now.get("labels").cloned().unwrap_or_else(Value::empty);
        let own = Value::map([
            ("Name", text(&now, "name")),
            ("Chart", text(&now, "chart")),
            ("ChartVersion", text(&now, "version")),
            ("Namespace", text(&now, "namespace")),
            ("KubeContext", text(&now, "kubeContext")),
            ("Labels", labels),
        ]);
        dot.insert("Release", own);
        let mut next = release.clone();
        for key in TEXTS {
            if let Some(written) = release.scalar(&[key]) {
                next.insert(key, Value::Scalar(expression(loader, state, written, &dot)));
            }
        }
        for key in ["valuesTemplate", "setTemplate"] {
            let items = release.list_at(key).iter().map(|item| template(loader, state, item, &dot));
            let items: Vec<Value> = items.collect();
            if !items.is_empty() {
                next.insert(key, Value::list(items));
            }
        }
        let values = release.list_at("values").iter().map(|item| match item {
            Value::Scalar(name) => Value::Scalar(expression(loader, state, name, &dot)),
            _ => item.clone(),
        });
        next.insert("values", Value::list(values.collect()));
        if next == now {
            break;
        }
        now = next;
    }
    (now, dot)
}

/// Fills the texts in a mapping, which may come to be of another type.
fn template(loader: &Loader<'_>, state: &State, value: &Value, dot: &Value) -> Value {
    let done = go_yaml::rewritten(value, loader.run.files, &|text| text.contains("{{"), &mut |text| {
        Ok(expression(loader, state, text, dot))
    });
    match done {
        Ok(done) => done.unwrap_or_else(|| value.clone()),
        Err(why) => {
            let what = "a mapping of `valuesTemplate`".to_owned();
            loader.run.note(&state.path, About::Unread { what, why });
            value.clone()
        }
    }
}

/// Says where a chart is: `REPOSITORY/CHART`, in a registry, a package by its address, or a folder.
fn source(loader: &Loader<'_>, state: &State, written: &Scalar) -> (Scalar, Repository, Option<Scalar>) {
    let text = written.text();
    if text.starts_with("oci://") {
        // A tag may stand behind the name.
        let name = text.rfind('/').unwrap_or_default();
        let tag = text.get(name..).and_then(|rest| rest.find([':', '@'])).map(|at| name + at);
        let version = tag.filter(|at| text.get(*at..).is_some_and(|rest| rest.starts_with(':')));
        let version = version.map(|at| written.cut(at + 1..text.len()));
        let (chart, repository) = chart::registry_chart(&written.cut(0..tag.unwrap_or(text.len())));
        return (chart, repository, version);
    }
    if text.contains("://") {
        return chart::packaged(written).unwrap_or_else(|| (written.clone(), Repository::Git(None), None));
    }
    if let Some(folder) = chart::beside(state.path.folder(), &text, loader.run.files) {
        return (folder, Repository::Git(None), None);
    }
    let Some(slash) = text.find('/') else {
        return (written.clone(), Repository::Git(None), None);
    };
    let (name, chart) = (text.get(..slash).unwrap_or_default(), written.cut(slash + 1..text.len()));
    let declared = state.value.list_at("repositories").iter().rev();
    let mut declared = declared.filter(|r| r.text(&["name"]).is_some_and(|n| n == name));
    if let Some(repository) = declared.next() {
        let url = repository.scalar(&["url"]).cloned().unwrap_or_else(|| Scalar::made(""));
        let oci = repository.text(&["oci"]).is_some_and(|t| t == "true") && !url.text().starts_with("oci://");
        let url = if oci { Scalar::made("oci://").then(&url) } else { url };
        return (chart, Repository::Address(url), None);
    }
    match name.starts_with('.') {
        true => (written.clone(), Repository::Git(None), None),
        false => {
            let who = format!("the Helm repository `{name}`, which {} does not name", state.path);
            (chart, Repository::Unknown(who), None)
        }
    }
}

fn layers(loader: &Loader<'_>, state: &State, release: &Value, dot: &Value) -> Vec<Layer> {
    let mut layers = Vec::new();
    let prefix = release.text(&["valuesPathPrefix"]).unwrap_or_default().into_owned();
    let handler = |value: &Value| value.text(&["missingFileHandler"]).map(|t| t == "Error");
    let strict = handler(release).or_else(|| handler(&state.value)).unwrap_or(true);
    for value in release.list_at("valuesTemplate").iter().chain(release.list_at("values")) {
        match value {
            Value::Scalar(name) if name.unknown_to().is_some() => {
                layers.push(Layer::outside(format!(
                    "a values file that {} names",
                    name.unknown_to().unwrap_or_default()
                )));
            }
            Value::Scalar(name) => {
                let name = format!("{prefix}{}", name.text());
                let files = loader.found(&name, &state.path, state.path.folder(), strict);
                if files.is_empty() {
                    layers.push(Layer::outside(format!("{name}, which is not in this repository")));
                }
                layers.extend(files.iter().filter_map(|file| {
                    let text = loader.run.text(file, &state.path)?;
                    let text = match file.name().ends_with(".gotmpl") {
                        true => loader.run.fill(&text, dot, file.folder(), file)?,
                        false => text,
                    };
                    Some(without_secrets(Layer::text(&text, loader.run.files, &name)))
                }));
            }
            Value::Map(_) => layers.push(without_secrets(Layer::values(value))),
            Value::List(_) => {}
        }
    }
    for secret in release.list_at("secrets").iter().filter_map(Value::as_scalar) {
        layers.extend(secrets(loader, state, &format!("{prefix}{}", secret.text())));
    }
    let sets = [
        ("setTemplate", ParameterKind::Looks),
        ("set", ParameterKind::Looks),
        ("setString", ParameterKind::Text),
    ];
    for (key, kind) in sets {
        layers.extend(release.list_at(key).iter().filter_map(|item| set(loader, state, item, kind)));
    }
    layers.extend(release.list_at("env").iter().filter_map(|item| {
        let who = format!("the environment variable `{}`", item.text(&["value"])?);
        Some(Layer::Outside { who, target: item.scalar(&["name"]).cloned(), optional: false, text: None })
    }));
    layers
}

/// Reads what SOPS leaves in plain text of the files that a name of secrets means; what another tool hides is not known.
fn secrets(loader: &Loader<'_>, state: &State, name: &str) -> Vec<Layer> {
    let outside = || Layer::outside(format!("{name}, which is encrypted"));
    let files = loader.found(name, &state.path, state.path.folder(), false);
    let read = files.iter().map(|file| loader.run.sealed(file, &state.path));
    let layer = |value| without_secrets(Layer::values(&chart::opened(value)));
    let layers: Vec<Layer> = read.map(|value| value.map_or_else(outside, layer)).collect();
    if layers.is_empty() { vec![outside()] } else { layers }
}

fn without_secrets(layer: Layer) -> Layer {
    match layer {
        Layer::Values(value) => Layer::Values(secrets_out(&value)),
        other => other,
    }
}

fn set(loader: &Loader<'_>, state: &State, item: &Value, kind: ParameterKind) -> Option<Layer> {
    const SYNTAX: [char; 3] = ['{', '}', ','];
    let name = chart::escaped(item.scalar(&["name"])?, &SYNTAX);
    let value = item.scalar(&["value"]).filter(|value| !value.text().is_empty());
    if let Some(value) = value {
        let value = chart::escaped(value, &SYNTAX).via(Via::Values);
        return Some(Layer::Set(Parameter { name, value, kind }));
    }
    if let Some(file) = item.text(&["file"]) {
        let found = loader.found(&file, &state.path, state.path.folder(), true);
        let text = found.first().and_then(|file| loader.run.text(file, &state.path));
        let value = text.unwrap_or_else(|| Scalar::unknown(&format!("`{file}`"))).via(Via::Values);
        return Some(Layer::Set(Parameter { name, value, kind: ParameterKind::Literal }));
    }
    let mut items =
        item.list_at("values").iter().filter_map(Value::as_scalar).map(|s| chart::escaped(s, &SYNTAX));
    let first = items.next()?;
    let inner = items.fold(first, |all, item| all.then(&Scalar::made(",")).then(&item));
    let value = Scalar::made("{").then(&inner).then(&Scalar::made("}")).via(Via::Values);
    Some(Layer::Set(Parameter { name, value, kind }))
}
