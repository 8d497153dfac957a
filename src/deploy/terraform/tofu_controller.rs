//! tofu-controller: a `Terraform` of Flux's has a module of the tree applied, and gives it variables.
//!
//! In: manifests. Out: the modules that are run. Followed are `path`, `values`, `vars`, `varsFrom` and `tfVarsFiles`; what Flux fills in
//! an object before is known to Flux. Sources: flux-iac/tofu-controller, `api/v1alpha2/terraform_types.go`,
//! `runner/server_generate_tf_vars.go` and `runner/server_plan.go`.

use std::collections::{BTreeMap, BTreeSet};

use super::{Inputs, inputs::read_inputs, named, terragrunt::Unit};
use crate::{
    deploy::{
        cluster::{Cluster, Reference},
        files::Files,
        note::Note,
        object::Object,
        repositories,
        typed::is_true,
        value::{Scalar, Value},
    },
    repo::RepoPath,
};

/// The group of its objects.
const GROUP: &str = "infra.contrib.fluxcd.io";

/// What manifests have of it.
pub(super) struct Objects {
    /// Those that have modules run.
    runs: Vec<Object>,
    /// What they may take variables from.
    maps: Vec<Object>,
}

// === impl Objects ===

impl Objects {
    /// Finds them in manifests.
    pub fn of(files: &dyn Files, manifests: &BTreeSet<&RepoPath>) -> Self {
        let speaks =
            |path: &&&RepoPath| files.file(path.as_str()).is_ok_and(|source| source.text.contains(GROUP));
        let is_run = |object: &Object| object.is(GROUP, "Terraform");
        let runs: Vec<Object> = manifests
            .iter()
            .filter(speaks)
            .flat_map(|path| Object::of_file(files, path))
            .filter(is_run)
            .collect();
        let is_asked = runs.iter().any(|run| run.value.path(&["spec", "varsFrom"]).is_some());
        let is_map =
            |object: &Object| object.group().is_empty() && matches!(&*object.kind(), "ConfigMap" | "Secret");
        let maps = manifests.iter().filter(|_| is_asked).flat_map(|path| Object::of_file(files, path));
        Self { runs, maps: maps.filter(is_map).collect() }
    }

    /// Lists what they have run; the names of several in one file tell their clusters apart.
    pub fn units(&self, files: &dyn Files, notes: &mut Vec<Note>) -> Vec<Unit> {
        let cluster = Cluster::new(&self.maps);
        let mut beside: BTreeMap<&RepoPath, usize> = BTreeMap::new();
        self.runs.iter().for_each(|run| *beside.entry(&run.file).or_default() += 1);
        let mut units = Vec::new();
        for run in &self.runs {
            let Some((spec, module)) =
                run.value.get("spec").and_then(|spec| Some((spec, folder(spec, files)?)))
            else {
                continue;
            };
            // It is read as one of the files that the module rests on.
            drop(files.file(run.file.as_str()));
            let (mut inputs, mut named) = (variables((run, spec), files, &cluster), Vec::new());
            let texts = spec.list_at("tfVarsFiles").iter().filter_map(|file| file.as_scalar()?.known());
            let there = |path: &RepoPath| files.has(path.as_str());
            for path in texts.filter_map(|text| RepoPath::resolve("", &text)).filter(there) {
                read_inputs(files, &path, &mut inputs, notes);
                named.push(path);
            }
            let are_several = beside.get(&run.file).is_some_and(|times| *times > 1);
            let place = run.name().filter(|_| are_several).map(|name| name.text().into_owned());
            let is_suspended = is_true(spec, &["suspend"]) || is_true(spec, &["planOnly"]);
            let (path, is_excluded, reads) = (run.file.clone(), is_true(spec, &["destroy"]), Vec::new());
            let by_object = true;
            units.push(Unit {
                path,
                by_object,
                place,
                module,
                inputs,
                named,
                is_excluded,
                is_suspended,
                reads,
            });
        }
        units
    }
}

/// Returns the folder of the tree that an object has applied: the root is in every repository.
fn folder(spec: &Value, files: &dyn Files) -> Option<String> {
    let path = spec.text(&["path"]).unwrap_or_default();
    let folder = RepoPath::resolve_folder("", path.trim_start_matches('/'))?;
    let source = spec.text(&["sourceRef", "kind"]).zip(spec.text(&["sourceRef", "name"]));
    let is_here =
        || source.is_none_or(|(kind, name)| files.has_root_of(&repositories::referred(&kind, &name)));
    (!folder.is_empty() || is_here()).then_some(folder)
}

/// Reads the variables that an object gives: single ones count less than those of maps, and of these the last counts.
fn variables((run, spec): (&Object, &Value), files: &dyn Files, cluster: &Cluster<'_>) -> Inputs {
    let mut inputs = Inputs::new();
    inputs.extend(spec.get("values").map(|values| ("values".to_owned(), values.clone())));
    for variable in spec.list_at("vars") {
        if let Some((name, value)) = variable.text(&["name"]).zip(variable.get("value")) {
            inputs.insert(name.into_owned(), value.clone());
        }
    }
    spec.list_at("varsFrom").iter().for_each(|from| take((run, from), files, cluster, &mut inputs));
    inputs.into_iter().map(|(name, value)| (name, named(filled(value)))).collect()
}

/// Takes the variables of a map: all, or those whose keys are named, with the name that a variable has behind a colon.
fn take((run, from): (&Object, &Value), files: &dyn Files, cluster: &Cluster<'_>, inputs: &mut Inputs) {
    let Some((kind, asked)) = from.text(&["kind"]).zip(from.scalar(&["name"])) else { return };
    let (name, namespace) = (asked.text(), run.namespace().map(|space| space.text().into_owned()));
    let (namespace, from_file) = (namespace.as_deref(), &run.file);
    let wanted = Reference { group: "", kind: &kind, name: &name, namespace, from: from_file };
    let map = cluster.find_own(wanted, &run.files());
    map.into_iter().for_each(|map| drop(files.file(map.file.as_str())));
    let who = format!("the {kind} `{name}`");
    let hidden = |asked: &Scalar| Value::Scalar(Scalar::unknown(&who).asked_by(asked));
    let is_open = kind == "ConfigMap";
    let data = map.and_then(|map| map.value.get(if is_open { "data" } else { "stringData" }));
    let is_shown = |value: &Value| is_open && !value.as_scalar().is_some_and(Scalar::is_sealed);
    let Some(keys) = from.get("varsKeys") else {
        for (key, value) in data.into_iter().flat_map(Value::entries) {
            let value = if is_shown(value) { value.clone() } else { hidden(asked) };
            inputs.insert(key.to_owned(), value);
        }
        return;
    };
    for key in keys.items().iter().filter_map(Value::as_scalar) {
        let text = key.text();
        let (old, new) = text.split_once(':').unwrap_or((&*text, &*text));
        let shown = data.and_then(|data| data.get(old)).filter(|value| is_shown(value));
        // Of a ConfigMap that does not have the key nothing is taken.
        if shown.is_some() || !is_open || map.is_none() {
            inputs.insert(new.to_owned(), shown.cloned().unwrap_or_else(|| hidden(key)));
        }
    }
}

/// Leaves to Flux what it fills in: a variable without a default.
fn filled(value: Value) -> Value {
    let is_open = |text: &str| text.contains("${") && !text.contains([':', '=', '-']);
    let asked = |scalar: &Scalar| Scalar::unknown("a Kustomization of Flux's").asked_by(scalar);
    value.with_scalars(&mut |scalar| is_open(&scalar.text()).then(|| asked(scalar))).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deploy::{terraform::terraform, testing::files};

    const MAIN: &str = "variable \"mesh\" {\n  default = \"2026.7.1\"\n}\nresource \"helm_release\" \"a\" {\n  chart = \"linkerd-crds\"\n  \
                        version = var.mesh\n}\n";
    const MAPS: &str = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, namespace: flux}\ndata: {mesh: 2026.8.2, other: 2026.8.3}\n\
                        ---\napiVersion: v1\nkind: Secret\nmetadata: {name: hidden, namespace: flux}\nstringData: {mesh: 2026.8.4}\n";

    /// Lists the versions of what objects of these specs have applied; `?` is one that nobody here knows.
    fn versions(folder: &str, specs: &[&str], more: &[(&str, &str)]) -> String {
        let object = |spec: &&str| {
            format!(
                "---\napiVersion: {GROUP}/v1alpha2\nkind: Terraform\nmetadata: {{name: a, namespace: flux}}\nspec: {{{spec}}}\n"
            )
        };
        let objects: String = specs.iter().map(object).chain([MAPS.to_owned()]).collect();
        let main = format!("{folder}main.tf");
        let tree = files(&[&[("a.yaml", objects.as_str()), (&*main, MAIN)][..], more].concat());
        let path = RepoPath::new("a.yaml").unwrap();
        let found = terraform(&tree, &BTreeSet::from([&path]));
        let versions = found.charts.iter().filter_map(|chart| chart.version.as_ref());
        let shown =
            versions.map(|text| text.known().map_or_else(|| "?".to_owned(), |text| text.into_owned()));
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_module_gets_the_variables_of_the_object_that_has_it_run() {
        let own = "path: ./m, vars: [{name: mesh, value: 2026.8.1}]";
        let from = |map: &str| versions("m/", &[&format!("{own}, varsFrom: [{map}]")], &[]);
        assert_eq!(versions("m/", &["path: m"], &[]), "2026.7.1");
        assert_eq!(versions("m/", &[own], &[]), "2026.8.1");
        assert_eq!(versions("m/", &[own, "path: /m"], &[]), "2026.8.1 2026.7.1");
        assert_eq!(from("{kind: ConfigMap, name: one}"), "2026.8.2");
        assert_eq!(from("{kind: ConfigMap, name: one, varsKeys: ['other:mesh']}"), "2026.8.3");
        assert_eq!(from("{kind: ConfigMap, name: one, varsKeys: ['none:mesh']}"), "2026.8.1");
        assert_eq!(from("{kind: ConfigMap, name: gone, varsKeys: [mesh]}"), "?");
        assert_eq!(from("{kind: Secret, name: hidden}"), "?");
        let file = [("env/a.tfvars", "mesh = \"2026.8.5\"\n")];
        let named = format!("{own}, tfVarsFiles: [./env/a.tfvars, gone.tfvars]");
        assert_eq!(versions("m/", &[&named], &file), "2026.8.5");
    }

    #[test]
    fn what_flux_fills_in_is_known_to_flux() {
        let of =
            |text: &str| versions("m/", &[&format!("path: m, vars: [{{name: mesh, value: '{text}'}}]")], &[]);
        assert_eq!(
            (of("${mesh}"), of("${mesh:=2026.8.2}")),
            ("?".to_owned(), "${mesh:=2026.8.2}".to_owned())
        );
    }

    #[test]
    fn what_is_destroyed_or_of_another_repository_is_not_run() {
        assert_eq!(versions("m/", &["path: m, destroy: true"], &[]), "");
        let of = |source: &str| {
            let spec = format!("vars: [{{name: mesh, value: 2026.8.1}}], sourceRef: {{{source}}}");
            versions("", &[&spec], &[])
        };
        assert_eq!(of("kind: GitRepository, name: flux-system"), "2026.8.1");
        assert_eq!(of("kind: OCIRepository, name: modules"), "2026.7.1", "it is for others");
    }
}
