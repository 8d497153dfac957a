//! A chart as a deployer has it rendered, and the layering of its values.
//!
//! In: what HelmReleases, Applications, k3s HelmCharts and others say of a chart. Out: one type for all of them, whose
//! scalars know where they were written, and the one mapping that Helm is given.

mod address;
mod installed;
mod renewal;

use std::collections::HashSet;

use super::{
    files::Files,
    note::Note,
    object::Object,
    read,
    strvals::{self, SetError, Typing},
    value::{Part, Scalar, Value, Via},
};
use crate::repo::RepoPath;
use address::named;
pub use address::{Repository, addressed, beside, packaged, registry_chart};
pub use installed::Installed;
pub use renewal::Renewal;

/// What `--set` takes for its syntax.
const SYNTAX: [char; 6] = ['\\', ',', '[', ']', '{', '}'];

/// A chart as one object has it rendered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartRelease {
    /// The file of the object.
    pub file: RepoPath,
    /// Which of several in one object: `sources[1]`; empty where there is one.
    pub part: String,
    /// What sets it apart from other releases of the same object: the file of the outermost that took it in.
    pub by: Option<RepoPath>,
    /// The chart's name; of a folder its path.
    pub chart: Scalar,
    /// Where the chart is.
    pub repository: Repository,
    /// Its version as written; `None` where the object says none.
    pub version: Option<Scalar>,
    /// A pattern that a tag has to match besides, where the version is a range of tags.
    pub filter: Option<Scalar>,
    /// Versions that the object names beside it, and that do not count there.
    pub beside: Vec<Scalar>,
    /// Whether the object is a part of one that is not known here: its name stands for the chart's.
    pub is_part: bool,
    /// Whether the object is a patch, or what patches are laid over: what it does not say, another one may.
    pub is_partial: bool,
    /// Whether its version is known elsewhere only if somebody sets what the tree leaves open: one who applies it, a variable
    /// with a default.
    pub is_supposed: bool,
    /// Whether it is switched off as things stand.
    pub is_off: bool,
    /// The name of the Helm release.
    pub release: Scalar,
    /// The namespace that it is rendered for, where the tree says it.
    pub namespace: Option<Scalar>,
    /// What Helm is given beside the chart's own values, in the order in which it counts: later ones win.
    pub layers: Vec<Layer>,
    /// How many of the first layers stand in the place of the chart's own values; with none those lie under all of them.
    pub replacing: usize,
    /// Layers out of Secrets that lie in the tree in plain text: releases in them are pins, and nothing else of them is
    /// rendered or shown. One from outside stands for each of them among `layers`.
    pub secret: Vec<Layer>,
    /// Layers that the deployer does not look at, since others stand beside them.
    pub ignored: Vec<Layer>,
    /// What the deployer lays over the objects that the chart gives: parts of objects.
    pub laid_over: Vec<Object>,
    /// Entries of `images` for these.
    pub images: Vec<Value>,
    /// What is said of the cluster's version.
    pub kube_version: Option<Scalar>,
    /// The same of its APIs.
    pub api_versions: Vec<Scalar>,
    /// The APIs that its cluster has since the deployer itself is there; templates ask for them.
    pub apis: Vec<&'static str>,
    /// Whether the `crds/` folder is rendered too.
    pub include_crds: bool,
    /// Whether hooks are rendered.
    pub hooks: bool,
    /// Whether its values may be what the chart's schema refuses.
    pub ignores_schema: bool,
    /// Who brings what it gives to the cluster.
    pub installed: Installed,
    /// What of it has to change before its deployer takes it anew, where it is one of the tree.
    pub renewal: Renewal,
    /// What is done beyond what is read here.
    pub notes: Vec<Note>,
}

/// A layer of values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layer {
    /// A mapping.
    Values(Value),
    /// A single value.
    Set(Parameter),
    /// A values file inside the chart's package, such as `values-ha.yaml`.
    InChart {
        /// Its path below the chart's folder.
        file: Scalar,
        /// Whether the deployer goes on without it.
        optional: bool,
    },
    /// Values that are not in the tree, or cannot be read.
    Outside {
        /// Where they are, for people: `Secret linkerd/certs, key ca.crt`.
        who: String,
        /// The one value that they set, as a path of Helm's; `None` for any.
        target: Option<Scalar>,
        /// Whether the deployer goes on without them.
        optional: bool,
        /// Their text, where a part of it is in the tree, or made of what is.
        text: Option<Scalar>,
    },
}

/// A single value, as `--set` gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its path in Helm's syntax.
    pub name: Scalar,
    /// Its text in Helm's syntax.
    pub value: Scalar,
    /// How it is typed.
    pub kind: ParameterKind,
}

/// How a single value is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ParameterKind {
    /// `--set`: by its looks.
    Looks,
    /// `--set-string`.
    Text,
    /// `--set-file`, `--set-literal`: the text as it is, with no syntax in it.
    Literal,
}

/// What layers come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Values {
    /// The mapping that Helm is given; nulls are in it, since they take the chart's own values away.
    pub value: Value,
    /// The single values that Helm refuses, each with its name.
    pub refused: Vec<(Scalar, SetError)>,
}

/// Notes of releases that come of one by what the tree does not decide: where the version is known in one way, that of
/// another way is supposed.
pub fn suppose(releases: &mut [ChartRelease]) {
    let key = |release: &ChartRelease| {
        let [chart, name] = [&release.chart, &release.release].map(|text| text.text().into_owned());
        (release.file.clone(), chart, name)
    };
    let is_known =
        |release: &&ChartRelease| release.version.as_ref().is_some_and(|v| v.unknown_to().is_none());
    let known: HashSet<_> = releases.iter().filter(is_known).map(key).collect();
    for release in releases.iter_mut().filter(|release| !is_known(&&**release)) {
        release.is_supposed |= release.version.is_some() && known.contains(&key(release));
    }
}

// === impl ChartRelease ===

impl ChartRelease {
    /// A release of a chart as Helm installs it by itself: with its CRDs and hooks, and no values.
    pub fn new(file: &RepoPath, chart: Scalar, repository: Repository) -> Self {
        let (chart, repository) = named(chart, repository);
        Self {
            file: file.clone(),
            part: String::new(),
            by: None,
            chart,
            repository,
            version: None,
            filter: None,
            beside: Vec::new(),
            is_part: false,
            is_partial: false,
            is_supposed: false,
            is_off: false,
            release: Scalar::made(""),
            namespace: None,
            layers: Vec::new(),
            replacing: 0,
            secret: Vec::new(),
            ignored: Vec::new(),
            laid_over: Vec::new(),
            images: Vec::new(),
            kube_version: None,
            api_versions: Vec::new(),
            apis: Vec::new(),
            include_crds: true,
            hooks: true,
            ignores_schema: false,
            installed: Installed::Helm,
            renewal: Renewal::Change,
            notes: Vec::new(),
        }
    }

    /// Returns the folder that the chart is in, where it is one of a Git repository and known: deployers take no path out of
    /// that.
    pub fn folder(&self) -> Option<String> {
        let (Repository::Git(_), Some(path)) = (&self.repository, self.chart.known()) else { return None };
        RepoPath::resolve_folder("", path.trim_start_matches('/'))
    }

    /// Returns the same where the tree has a chart there.
    pub fn folder_in(&self, files: &dyn Files) -> Option<String> {
        self.folder().filter(|folder| beside(folder, ".", files).is_some())
    }

    /// Returns the scalars of the release itself and of the layers that the tree has: one that differs tells two releases
    /// apart.
    pub fn scalars(&self) -> impl Iterator<Item = &Scalar> {
        let own = [&self.chart].into_iter().chain(&self.version);
        own.chain(self.layers.iter().flat_map(|layer| match layer {
            Layer::Values(value) => value.scalars(),
            Layer::Set(parameter) => vec![&parameter.value],
            Layer::InChart { .. } | Layer::Outside { .. } => Vec::new(),
        }))
    }

    /// Shows the scalars that Helm reads: those that no later layer is laid over.
    pub fn each_read(&self, see: &mut dyn FnMut(&Scalar)) {
        if self.layers.len() < 2 {
            return self.scalars().for_each(see);
        }
        [&self.chart].into_iter().chain(&self.version).for_each(&mut *see);
        self.values().value.scalars().into_iter().for_each(see);
    }

    /// Lays the layers over each other.
    pub fn values(&self) -> Values {
        layered(&self.layers)
    }
}

// === impl Layer ===

impl Layer {
    /// A mapping whose texts are known by being values.
    pub fn values(value: &Value) -> Self {
        Self::Values(value.with_scalars(&mut |s| Some(s.via(Via::Values))).unwrap_or_else(|| value.clone()))
    }

    /// The text of a values file, or of a key that holds one; what is sealed or no mapping is from outside.
    pub fn text(text: &Scalar, files: &dyn Files, what: &str) -> Self {
        let of = |who: String| {
            let text = text.unknown_to().map(|_| text.clone());
            Self::Outside { who, target: None, optional: false, text }
        };
        let outside = |why: &str| of(format!("{what}, {why}"));
        if text.parts().len() == 1
            && let Some(who) = text.unknown_to()
        {
            return of(who.to_owned());
        }
        match read::values(text, files.ceilings()) {
            // What is under SOPS inside of another file is not marked as sealed there.
            Ok(value) if value.get("sops").is_some() && !is_file(text) => outside("which SOPS encrypts"),
            Ok(value @ Value::Map(_)) => Self::values(&opened(value)),
            Ok(_) => outside("which is no mapping of values"),
            Err(error) => outside(&format!("which cannot be read as values: {error}")),
        }
    }

    /// Values from outside that must be there and may set anything.
    pub fn outside(who: String) -> Self {
        Self::Outside { who, target: None, optional: false, text: None }
    }
}

// === impl Parameter ===

impl Parameter {
    /// Lays it into values.
    ///
    /// # Errors
    /// Where Helm refuses it.
    pub fn lay(&self, values: &mut Value) -> Result<(), SetError> {
        let equals = self.name.then(&Scalar::made("="));
        match self.kind {
            ParameterKind::Looks => strvals::set(values, &equals.then(&self.value), Typing::Looks),
            ParameterKind::Text => strvals::set(values, &equals.then(&self.value), Typing::Text),
            ParameterKind::Literal => {
                strvals::set(values, &equals.then(&escaped(&self.value, &SYNTAX)), Typing::Text)
            }
        }
    }
}

/// Tells whether a text is that of a whole file.
fn is_file(text: &Scalar) -> bool {
    matches!(text.parts(), [Part::Written(at)] if at.span == (0..at.source.text.len()))
}

/// What a file under SOPS says in plain text; the rest is not known.
pub(super) fn opened(mut value: Value) -> Value {
    if value.remove("sops").is_none() {
        return value;
    }
    let who = "a value that SOPS encrypts";
    let hidden = value.with_scalars(&mut |scalar| scalar.is_sealed().then(|| Scalar::unknown(who)));
    hidden.unwrap_or(value)
}

/// Escapes signs of Helm's syntax for single values.
pub(super) fn escaped(value: &Scalar, signs: &[char]) -> Scalar {
    let text = value.text();
    let mut out = Scalar::made("");
    let mut from = 0;
    for (at, _) in text.char_indices().filter(|(_, c)| signs.contains(c)) {
        out = out.then(&value.cut(from..at)).then(&Scalar::made("\\"));
        from = at;
    }
    out.then(&value.cut(from..text.len()))
}

/// Lays layers over each other, later ones win. What is in the chart's package or outside the tree changes nothing,
/// unless it is known which value it sets: that one is then not known.
pub fn layered(layers: &[Layer]) -> Values {
    let mut all = Values { value: Value::empty(), refused: Vec::new() };
    for layer in layers {
        let parameter = match layer {
            Layer::Values(value) => {
                all.value = merged(&all.value, value);
                continue;
            }
            Layer::InChart { .. } | Layer::Outside { target: None, .. } => continue,
            Layer::Set(parameter) => parameter.clone(),
            Layer::Outside { who, target: Some(name), .. } => {
                let value = Scalar::unknown(who);
                Parameter { name: name.clone(), value, kind: ParameterKind::Text }
            }
        };
        if let Err(error) = parameter.lay(&mut all.value) {
            all.refused.push((parameter.name, error));
        }
    }
    all
}

/// Merges mappings as Helm merges layers (`pkg/cli/values/options.go`, `loader.MergeMaps`): mappings are merged, all
/// else is replaced, nulls too.
pub fn merged(base: &Value, over: &Value) -> Value {
    let mut out = base.clone();
    for (key, value) in over.entries() {
        let value = match (out.entry(key), value) {
            (Some(there @ Value::Map(_)), Value::Map(_)) => merged(there, value),
            _ => value.clone(),
        };
        out.insert(key, value);
    }
    out
}

/// Lays values over the chart's own ones as Helm does before it renders (`pkg/chart/common/util/coalesce.go`,
/// `CoalesceValues`): a null takes the chart's value away, and a null of the chart's own is none. Under the key of a chart
/// inside, nulls stay where both say something, and take away what that one has.
pub fn coalesced(own: &Value, values: &Value, is_inner: &dyn Fn(&str) -> bool) -> Value {
    let mut out = values.clone();
    for (key, default) in own.entries() {
        match (out.entry(key), default) {
            (Some(value), _) if value.is_null() => drop(out.remove(key)),
            (Some(value @ Value::Map(_)), Value::Map(_)) => {
                let table = match is_inner(key) {
                    true => merged(default, value),
                    false => coalesced_table(&without_nulls(default), value),
                };
                out.insert(key, table);
            }
            (Some(_), _) => {}
            (None, _) if default.is_null() => {}
            (None, _) => out.insert(key, without_nulls(default)),
        }
    }
    out
}

fn coalesced_table(own: &Value, values: &Value) -> Value {
    let mut out = values.clone();
    for (key, default) in own.entries() {
        match out.entry(key) {
            None => out.insert(key, default.clone()),
            Some(value) if value.is_null() && !default.is_null() => drop(out.remove(key)),
            Some(value @ Value::Map(_)) if matches!(default, Value::Map(_)) => {
                let table = coalesced_table(default, value);
                out.insert(key, table);
            }
            Some(_) => {}
        }
    }
    out
}

fn without_nulls(value: &Value) -> Value {
    let Value::Map(map) = value else { return value.clone() };
    let entries = map.iter().filter(|(_, v)| !v.is_null());
    Value::map(entries.map(|(key, value)| (&**key, without_nulls(value))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::Ceilings;

    fn yaml(text: &str) -> Value {
        read::mapping(&Scalar::made(text), &Ceilings::default()).unwrap()
    }

    fn shown(value: &Value) -> String {
        match value {
            Value::Scalar(s) => s.text().into_owned(),
            Value::List(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(" ")),
            Value::Map(map) => {
                let mut all: Vec<_> = map.iter().map(|(k, v)| format!("{k}:{}", shown(v))).collect();
                all.sort();
                format!("{{{}}}", all.join(" "))
            }
        }
    }

    #[test]
    fn later_layers_win_and_mappings_are_merged() {
        let set = |name: &str, value: &str, kind| {
            Layer::Set(Parameter { name: Scalar::made(name), value: Scalar::made(value), kind })
        };
        let layers = [
            Layer::Values(yaml("a: {x: 1, y: 2}\nl: [1, 2]\nm: {k: 1}\n")),
            Layer::Values(yaml("a: {y: 3, z: null}\nl: [3]\nm: text\n")),
            set("a.x", "9", ParameterKind::Looks),
            set("s", "true", ParameterKind::Text),
            set("f", "a,b={c}\\d", ParameterKind::Literal),
            set("m.k", "1", ParameterKind::Looks),
            Layer::Outside {
                who: "Secret a".to_owned(),
                target: Some(Scalar::made("o.k")),
                optional: false,
                text: None,
            },
        ];
        let values = layered(&layers);
        assert_eq!(
            shown(&values.value),
            "{a:{x:9 y:3 z:null} f:a,b={c}\\d l:[3] m:text o:{k:\u{f8f0}} s:true}"
        );
        assert!(!values.value.scalar(&["s"]).unwrap().plain);
        assert_eq!(values.refused, [(Scalar::made("m.k"), SetError::Kind)]);
        assert_eq!(values.value.scalar(&["o", "k"]).unwrap().unknown_to(), Some("Secret a"));
    }

    #[test]
    fn a_null_takes_the_charts_value_away() {
        let own = yaml("a: {x: 1, y: null, z: {q: 1}}\nb: 2\nc: null\nd: {e: null, f: 1}\n");
        let values = yaml("a: {x: null, w: null, z: {q: null}}\nb: null\nn: null\n");
        assert_eq!(shown(&coalesced(&own, &values, &|_| false)), "{a:{w:null z:{}} d:{f:1} n:null}");
        let inner = coalesced(&own, &values, &|key| matches!(key, "a" | "d"));
        assert_eq!(shown(&inner), "{a:{w:null x:null y:null z:{q:null}} d:{f:1} n:null}");
    }
}
