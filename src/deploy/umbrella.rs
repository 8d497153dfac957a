//! The charts that a chart of the tree depends on, as Helm renders them with it.
//!
//! In: a chart of the tree as a deployer has it rendered. Out: each dependency that is switched on as a release of its
//! own, with its part of every layer of values, and `global`. Source: helm's `pkg/chart/v2/util/dependencies.go` and
//! `coalesce.go`.

mod inner;

use super::{
    chart::{ChartRelease, Layer, Parameter, Repository, layered, merged},
    files::Files,
    note::{About, Note},
    typed::{Typed, typed},
    value::{Scalar, Value},
};
use crate::repo::RepoPath;
use inner::{CHARTS, DEPENDENCIES, document, key, local, taken_in};
pub use inner::{DEPTH, Inner, Inners, inner};

/// What Helm gives to every dependency.
const GLOBAL: &str = "global";

/// What a chart of the tree depends on.
#[derive(Debug, Default)]
pub struct Dependencies {
    /// What is rendered with it.
    pub on: Vec<ChartRelease>,
    /// What is rendered with it and lies in folders of the tree, each without what it takes in itself.
    pub in_folders: Vec<ChartRelease>,
    /// The versions of what is, in charts and in their locks.
    pub on_at: Vec<Scalar>,
    /// The versions of what is not, whoever else may give it values.
    pub off_at: Vec<Scalar>,
}

/// Reads the dependencies of a chart of the tree that `wanted` knows by name; `None` where the chart is none of the tree.
pub fn all(release: &ChartRelease, files: &dyn Files, wanted: &dyn Fn(&str) -> bool) -> Option<Dependencies> {
    let chart = release.folder_in(files)?;
    let (mut found, mut left) = (Dependencies::default(), CHARTS);
    Umbrella { release, files, wanted, folder: chart }.take(DEPTH, &mut left, &mut found);
    Some(found)
}

/// Lists those that are rendered with it.
pub fn dependencies(
    release: &ChartRelease,
    files: &dyn Files,
    wanted: &dyn Fn(&str) -> bool,
) -> Option<Vec<ChartRelease>> {
    all(release, files, wanted).map(|all| all.on)
}

/// Says what a chart is given that a deployer puts into the chart of a release, under a key of that one's values, and whether
/// these leave it switched on.
pub fn added(release: &ChartRelease, files: &dyn Files, key: &str) -> (Vec<Layer>, bool) {
    let condition = format!("{key}.enabled");
    let all = layers(release, release.folder_in(files).as_deref(), files);
    let dependency = Value::map([("condition", Value::made(&condition))]);
    let is_on = is_on(&dependency, &layered(&all).value);
    (all.iter().filter_map(|layer| part_of(layer, key, &condition)).collect(), is_on)
}

/// Lists the keys under which a chart in a folder of the tree has the values of what it depends on.
pub fn keys(files: &dyn Files, folder: &str) -> Vec<String> {
    taken_in(files, folder).iter().flat_map(|(_, all)| all).filter_map(key).collect()
}

/// A chart of the tree with what it is given.
struct Umbrella<'a> {
    release: &'a ChartRelease,
    files: &'a dyn Files,
    wanted: &'a dyn Fn(&str) -> bool,
    folder: String,
}

/// A dependency as its chart names it.
struct Dependency<'v> {
    value: &'v Value,
    number: usize,
    /// Its name; of a folder of the tree its path.
    chart: Scalar,
    repository: Repository,
    version: Option<Scalar>,
    /// Its version as the chart has it, and as its lock has it.
    said: Vec<Scalar>,
    /// The key of its values.
    key: String,
}

// === impl Umbrella ===

impl Umbrella<'_> {
    fn take(&self, depth: usize, left: &mut usize, found: &mut Dependencies) {
        let Some(depth) = depth.checked_sub(1) else { return };
        let Some((path, all)) = taken_in(self.files, &self.folder) else { return };
        let all = all.iter().enumerate();
        let lock = self.lock();
        let named: Vec<Dependency<'_>> =
            all.filter_map(|(n, item)| self.dependency(n, item, lock.as_ref())).collect();
        if named.is_empty() {
            return;
        }
        let layers = layers(self.release, Some(self.folder.as_str()), self.files);
        let values = layered(&layers).value;
        let is_told = !layers.iter().any(|layer| matches!(layer, Layer::Outside { .. }));
        for dependency in &named {
            if !is_on(dependency.value, &values) {
                if is_told && is_decided(dependency.value, &values) {
                    found.off_at.extend(dependency.said.iter().cloned());
                }
                continue;
            }
            found.on_at.extend(dependency.said.iter().cloned());
            let Some(less) = left.checked_sub(1) else { return };
            *left = less;
            let release = self.given(&path, dependency, &layers);
            match release.folder_in(self.files) {
                Some(folder) => {
                    Umbrella { release: &release, folder, ..*self }.take(depth, left, found);
                    found.in_folders.push(release);
                }
                None => found.on.push(release),
            }
        }
    }

    fn dependency<'v>(
        &self,
        number: usize,
        value: &'v Value,
        lock: Option<&Value>,
    ) -> Option<Dependency<'v>> {
        let name = value.scalar(&["name"])?;
        let text = name.text();
        let address = value.scalar(&["repository"]).cloned().unwrap_or_else(|| Scalar::made(""));
        let written = address.text();
        let local = local(self.files, &self.folder, &text, &written);
        if local.is_none() && !(self.wanted)(&text) {
            return None;
        }
        let repository = match &*written {
            "" => Repository::Git(None),
            file if file.starts_with("file:") => Repository::Git(None),
            name if name.starts_with('@') || name.starts_with("alias:") => {
                Repository::Unknown(format!("the Helm repository `{name}`"))
            }
            _ => Repository::Address(address.clone()),
        };
        let written = value.scalar(&["version"]);
        let locked = written.and_then(|_| locked(lock?, &text, number));
        let is_exact = |version: &&Scalar| semver::Version::parse(&version.text()).is_ok();
        let installed = written.filter(is_exact).or(locked).or(written);
        Some(Dependency {
            value,
            number,
            chart: local.map_or_else(|| name.clone(), |folder| Scalar::made(folder.as_str())),
            repository,
            version: installed.cloned(),
            said: written.into_iter().chain(locked).cloned().collect(),
            key: key(value)?,
        })
    }

    fn lock(&self) -> Option<Value> {
        let mut all = ["Chart.lock", "requirements.lock"].into_iter();
        all.find_map(|name| document(self.files, &self.folder, name)).map(|(_, lock)| lock)
    }

    /// Makes the release of a dependency.
    fn given(&self, path: &RepoPath, of: &Dependency<'_>, layers: &[Layer]) -> ChartRelease {
        let mut notes = self.release.notes.clone();
        if of.value.get("import-values").is_some() {
            notes.push(Note::new(path, About::Unfollowed("import-values")));
        }
        // Whoever deploys the outermost umbrella sets it apart.
        let is_outermost = !self.release.part.starts_with(DEPENDENCIES);
        let by = Some(&self.release.file).filter(|by| is_outermost && by.folder() != self.folder);
        let conditions = of.value.text(&["condition"]).unwrap_or_default();
        ChartRelease {
            file: path.clone(),
            part: format!("{DEPENDENCIES}[{}]", of.number),
            by: by.or(self.release.by.as_ref()).cloned(),
            chart: of.chart.clone(),
            repository: of.repository.clone(),
            version: of.version.clone(),
            layers: layers.iter().filter_map(|layer| part_of(layer, &of.key, &conditions)).collect(),
            replacing: 0,
            notes,
            ..self.release.clone()
        }
    }
}

/// Returns the version that a lock has of a dependency.
fn locked<'v>(lock: &'v Value, name: &str, number: usize) -> Option<&'v Scalar> {
    let all = lock.list_at(DEPENDENCIES);
    let is_it = |item: &&Value| item.text(&["name"]).is_some_and(|own| own == name);
    all.get(number).filter(is_it).or_else(|| all.iter().find(is_it))?.scalar(&["version"])
}

/// Returns the layers of an umbrella, its own values first where its folder is known.
fn layers(release: &ChartRelease, folder: Option<&str>, files: &dyn Files) -> Vec<Layer> {
    let file = |name: &str| {
        let source = files.file(RepoPath::resolve(folder?, name)?.as_str()).ok()?;
        Some(Layer::text(&Scalar::file(&source), files, source.path.as_str()))
    };
    let own = (release.replacing == 0).then(|| file("values.yaml")).flatten();
    let given = release.layers.iter().filter_map(|layer| match layer {
        Layer::InChart { file: name, .. } => file(&name.text()),
        layer => Some(layer.clone()),
    });
    own.into_iter().chain(given).collect()
}

/// Tells whether a dependency is rendered: the first condition that is set decides, then the tags.
pub(super) fn is_on(dependency: &Value, values: &Value) -> bool {
    let set = |path: &str| {
        let keys: Vec<&str> = path.split('.').collect();
        match typed(values.scalar(&keys)?) {
            Typed::Bool(is) => Some(is),
            _ => None,
        }
    };
    let conditions = dependency.text(&["condition"]).unwrap_or_default();
    if let Some(on) = conditions.split(',').find_map(|path| set(path.trim())) {
        return on;
    }
    let tags = dependency.list_at("tags").iter().filter_map(Value::as_scalar);
    let tags: Vec<bool> = tags.filter_map(|tag| set(&format!("tags.{}", tag.text()))).collect();
    tags.is_empty() || tags.contains(&true)
}

/// Tells whether the tree knows all that switches a dependency on or off.
fn is_decided(dependency: &Value, values: &Value) -> bool {
    let conditions = dependency.text(&["condition"]).unwrap_or_default();
    let keys = conditions.split(',').filter_map(|path| path.trim().split('.').next());
    let mut deciding = keys.chain(["tags"]).filter_map(|key| values.get(key)).flat_map(Value::scalars);
    deciding.all(|text| text.unknown_to().is_none())
}

/// Takes of one layer what a dependency gets under a key, without the values that switch it on: the umbrella reads those.
fn part_of(layer: &Layer, key: &str, conditions: &str) -> Option<Layer> {
    let is_switch = |name: &str| {
        conditions
            .split(',')
            .any(|path| path.trim().strip_prefix(key).and_then(|p| p.strip_prefix('.')) == Some(name))
    };
    match layer {
        Layer::Values(values) => {
            let mut own = match values.get(key) {
                Some(own @ Value::Map(_)) => own.clone(),
                _ => Value::empty(),
            };
            let switches: Vec<String> =
                own.entries().map(|(name, _)| name.to_owned()).filter(|name| is_switch(name)).collect();
            switches.iter().for_each(|name| drop(own.remove(name)));
            if let Some(global) = values.get(GLOBAL) {
                // What the umbrella says for all goes over what it says for one.
                let all = own.get(GLOBAL).map_or_else(|| global.clone(), |own| merged(own, global));
                own.insert(GLOBAL, all);
            }
            (own != Value::empty()).then_some(Layer::Values(own))
        }
        Layer::Set(set) => {
            let name = below(&set.name, key).filter(|name| !is_switch(&name.text()))?;
            Some(Layer::Set(Parameter { name, ..set.clone() }))
        }
        Layer::InChart { .. } => None,
        Layer::Outside { target: None, .. } => Some(layer.clone()),
        Layer::Outside { who, target: Some(target), optional, text } => {
            let target = Some(below(target, key)?);
            Some(Layer::Outside { who: who.clone(), target, optional: *optional, text: text.clone() })
        }
    }
}

/// Cuts a path of Helm's to what a dependency sees of it.
fn below(path: &Scalar, key: &str) -> Option<Scalar> {
    let text = path.text();
    if text.strip_prefix(GLOBAL).is_some_and(|rest| rest.starts_with('.')) {
        return Some(path.clone());
    }
    text.strip_prefix(key)?.strip_prefix('.')?;
    Some(path.cut(key.len() + 1..text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        deploy::{chart::ParameterKind, go_yaml, testing::files},
        sys::clock::on_processor,
    };

    const CHART: &str = "name: mesh
dependencies:
- {name: viz, alias: v, version: ~1.0.0, repository: https://e.example, condition: 'v.enabled,all', tags: [t]}
- {name: other, version: 1.0.0, repository: https://e.example}
- {name: inner, version: 1.0.0, repository: 'file://../inner'}
";

    /// Shows what `viz` and the like are given by a chart in `mesh/` with some values.
    fn found(values: &str, more: &[(&str, &str)], layers: Vec<Layer>) -> Vec<String> {
        let mut all = vec![("mesh/Chart.yaml", CHART), ("mesh/values.yaml", values)];
        all.extend(more);
        let tree = files(&all);
        let file = RepoPath::new("app.yaml").unwrap();
        let chart = ChartRelease::new(&file, Scalar::made("./mesh"), Repository::Git(None));
        let release = ChartRelease { layers, ..chart };
        let wanted = |name: &str| name == "viz";
        let one = |of: &ChartRelease| {
            let values = go_yaml::document(&of.values().value).text().trim().replace('\n', " ");
            let version = of.version.as_ref().unwrap().text();
            format!("{} {} by {} {version}: {values}", of.file, of.part, of.by.as_ref().unwrap())
        };
        dependencies(&release, &tree, &wanted).unwrap().iter().map(one).collect()
    }

    #[test]
    fn conditions_decide_before_tags_and_are_no_values() {
        assert_eq!(found("", &[], Vec::new()), ["mesh/Chart.yaml dependencies[0] by app.yaml ~1.0.0: "]);
        assert!(found("tags: {t: false}", &[], Vec::new()).is_empty());
        assert!(found("v: {enabled: false}\nall: true", &[], Vec::new()).is_empty());
        let on = found("v: {enabled: true, a: 1}\ntags: {t: false}\nglobal: {g: 1}", &[], Vec::new());
        assert_eq!(on, ["mesh/Chart.yaml dependencies[0] by app.yaml ~1.0.0: a: 1 global:   g: 1"]);
        let set = |name: &str, value: &str| {
            let (name, value) = (Scalar::made(name), Scalar::made(value));
            Layer::Set(Parameter { name, value, kind: ParameterKind::Looks })
        };
        let layers =
            vec![set("v.a.b", "2"), set("v.enabled", "true"), set("other.a", "3"), set("global.g", "4")];
        let lock = ("mesh/Chart.lock", "dependencies: [{name: viz, version: 1.0.7}]\n");
        let on = found("v: {enabled: false}", &[lock], layers);
        assert_eq!(on, ["mesh/Chart.yaml dependencies[0] by app.yaml 1.0.7: a:   b: 2 global:   g: 4"]);
    }

    #[test]
    fn what_lies_unpacked_in_a_chart_is_rendered_with_it() {
        let chart =
            "name: net\ndependencies:\n- {name: viz, version: 1.0.2, repository: https://e.example}\n";
        let folders = [("mesh/charts/sub/Chart.yaml", chart), ("mesh/charts/_old/Chart.yaml", chart)];
        let values = "v: {enabled: false}\nnet: {enabled: false, viz: {a: 1}}\nsub: {viz: {a: 2}}\n";
        let all = found(values, &folders, Vec::new());
        assert_eq!(all, ["mesh/charts/sub/Chart.yaml dependencies[0] by app.yaml 1.0.2: a: 1"]);
    }

    #[test]
    fn a_chart_is_read_once_by_however_many_names_it_is_taken_in() {
        let alias =
            |n: usize| format!("- {{name: big, alias: a{n}, version: 1.0.0, repository: 'file://../big'}}\n");
        let chart = format!("name: mesh\ndependencies:\n{}", (0..CHARTS).map(alias).collect::<String>());
        let names: Vec<String> = (0..100_000).map(|n| format!("big/charts/{n}.txt")).collect();
        let mut all: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
        let folders = ["m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "m9"];
        let charts = folders.map(|folder| format!("{folder}/Chart.yaml"));
        all.extend(charts.iter().map(|path| (path.as_str(), chart.as_str())));
        all.push(("big/Chart.yaml", "name: big\n"));
        let tree = files(&all);
        let begun = on_processor();
        let mut inners = Inners::new(&tree);
        assert!(folders.iter().all(|folder| inners.of(folder).len() == CHARTS));
        let taken = on_processor() - begun;
        assert!(taken.as_secs() < 10, "{taken:?}");
    }

    #[test]
    fn what_a_chart_of_the_tree_depends_on_has_its_values_through_both() {
        let inner = (
            "inner/Chart.yaml",
            "name: inner\ndependencies:\n- {name: viz, version: 1.0.1, repository: https://e.example}\n- {name: mesh, version: 1.0.0, repository: 'file://../mesh'}\n",
        );
        let own = ("inner/values.yaml", "viz: {a: 1, b: 1}\n");
        let all = found(
            "v: {enabled: false}\ninner: {viz: {b: 2}, mesh: {v: {enabled: false}}}\n",
            &[inner, own],
            Vec::new(),
        );
        assert_eq!(all.len(), 2, "{all:?}");
        assert!(
            all.iter().all(|found| found == "inner/Chart.yaml dependencies[0] by app.yaml 1.0.1: a: 1 b: 2"),
            "{all:?}"
        );
    }
}
