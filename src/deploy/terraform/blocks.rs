//! What blocks of a module say of themselves: resources, modules, and data sources that only read the tree.
//!
//! Source: `kubernetes/data_source_kubectl_file_documents.go` and `data_source_kubectl_path_documents.go` of
//! gavinbunney/terraform-provider-kubectl.

use hcl_edit::structure::Block;

use super::{
    functions, instances,
    module::is_meta,
    scope::{Scope, member, open, truth},
    template::STEP,
};
use crate::{
    deploy::{
        read,
        value::{Scalar, Value},
    },
    repo::RepoPath,
};

// === impl Scope ===

impl<'s> Scope<'s> {
    /// Evaluates what a resource is told, which is what it says of itself; what it becomes besides is not in the tree.
    pub fn argued(&self, kind: &str, name: &str) -> Option<Value> {
        let (scope, block) = self.block("resource", &[kind, name])?;
        let is_argument = |key: &str| block.body.get_attribute(key).is_some();
        scope.of_instances(block, |scope| {
            let body = scope.resource(block);
            // Whoever reads a block reads a list of blocks.
            Some(Value::map(body.entries().map(|(key, value)| match value {
                Value::Map(_) if !is_argument(key) => (key, Value::list(vec![value.clone()])),
                _ => (key, value.clone()),
            })))
        })
    }

    /// Evaluates an output of a module that lies in the tree, and has no instances beside itself.
    pub fn output(&self, call: &str, output: &str) -> Option<Value> {
        let (scope, block) = self.block("module", &[call]).filter(|(_, block)| !is_many(block))?;
        scope.put_out(block, |name| name == output)?.entry(output).cloned()
    }

    /// Evaluates all outputs of a module that lies in the tree.
    pub fn outputs(&self, call: &str) -> Option<Value> {
        let (scope, block) = self.block("module", &[call])?;
        scope.of_instances(block, |scope| scope.put_out(block, |_| true))
    }

    /// Evaluates outputs of one instance of a module.
    fn put_out(&self, block: &Block, is_wanted: impl Fn(&str) -> bool) -> Option<Value> {
        let child = self.modules.get(&self.module.called(block)?)?;
        let given = block.body.attributes().filter(|a| !is_meta(a.key.as_str()));
        let given = given.map(|a| (a.key.as_str().to_owned(), self.eval(&a.value))).collect();
        let frame = self.budget.frame();
        let mut found = Value::empty();
        for (own, output) in child.blocks.iter().filter(|(_, block)| block.ident.as_str() == "output") {
            let name = output.labels.first().map(|label| label.as_str()).unwrap_or_default();
            let Some(value) = output.body.get_attribute("value").filter(|_| is_wanted(name)) else {
                continue;
            };
            let scope = Scope { module: child, inputs: &given, frame, ..self.elsewhere(own) };
            found.insert(name, self.named(scope.eval(&value.value))?);
        }
        Some(found)
    }

    /// Evaluates a block, where it has instances each of these: by the keys of `for_each`, or by their numbers.
    fn of_instances(&self, block: &Block, each: impl Fn(&Self) -> Option<Value>) -> Option<Value> {
        if !is_many(block) {
            return each(self);
        }
        if block.body.get_attribute("for_each").is_none() {
            return Some(Value::list(instances(self, block).iter().map(each).collect::<Option<_>>()?));
        }
        let mut found = Value::empty();
        for scope in instances(self, block) {
            let key = scope.text(&member(&scope.bound("each")?, "key")?)?;
            found.insert(&key, each(&scope)?);
        }
        Some(found)
    }

    /// Evaluates a data source; `None` for one that is known to Terraform alone.
    pub fn data(&self, kind: &str, name: &str) -> Option<Value> {
        let (scope, block) = self.block("data", &[kind, name]).filter(|(_, block)| !is_many(block))?;
        let texts = match kind {
            "kubectl_file_documents" => vec![scope.eval(&block.body.get_attribute("content")?.value)],
            "kubectl_path_documents" => scope.files_of(block)?,
            _ => return None,
        };
        let (mut list, mut map) = (Vec::new(), Value::empty());
        for text in &texts {
            let text = text.as_scalar().filter(|_| open(text).is_none())?;
            self.budget.take(text.text().len() / STEP)?;
            for document in documents(text) {
                let document = Value::Scalar(document);
                map.insert(&self.link(&document).unwrap_or_else(|| list.len().to_string()), document.clone());
                list.push(document);
            }
        }
        Some(Value::map([("documents", Value::list(list)), ("manifests", map)]))
    }

    /// Reads the files that a pattern names, as templates unless it is said that they are none.
    fn files_of(&self, block: &Block) -> Option<Vec<Value>> {
        let argument = |key: &str| block.body.get_attribute(key).map(|argument| self.eval(&argument.value));
        let pattern = self.text(&argument("pattern")?)?;
        let below = |base: &str| Some(self.files.matching(RepoPath::resolve(base, &pattern)?.as_str()));
        let found = below("").filter(|found| !found.is_empty()).or_else(|| below(&self.module.folder))?;
        let given = |scope: &Self| -> Vec<Value> {
            let all = ["vars", "sensitive_vars"].into_iter().filter_map(|key| block.body.get_attribute(key));
            all.map(|argument| scope.eval(&argument.value)).collect()
        };
        let (vars, certain) = (given(self), given(&self.certainly()));
        let open = certain.iter().find(|given| functions::is_open(given)).cloned();
        let (vars, certain) = (functions::merged(&vars), open.unwrap_or_else(|| functions::merged(&certain)));
        let is_plain = argument("disable_template").as_ref().and_then(truth) == Some(true);
        let function = if is_plain { "file" } else { "templatefile" };
        let read = |path: &RepoPath| {
            let path = Value::made(path.as_str());
            functions::call(self, function, vec![path, vars.clone(), certain.clone()], false)
        };
        found.into_iter().map(|entry| read(&entry.path)).collect()
    }

    /// Returns the address under which a cluster serves an object.
    fn link(&self, document: &Value) -> Option<String> {
        let objects = read::documents(document.as_scalar()?, self.files.ceilings()).ok()?;
        let object = objects.first()?;
        let of = |path: &[&str]| object.text(path).unwrap_or_default();
        let version = of(&["apiVersion"]);
        let root = if version.contains('/') { "apis" } else { "api" };
        let namespace = of(&["metadata", "namespace"]);
        let place = if namespace.is_empty() { String::new() } else { format!("/namespaces/{namespace}") };
        let kind = of(&["kind"]).to_lowercase();
        Some(format!("/{root}/{version}{place}/{kind}s/{}", of(&["metadata", "name"])))
    }

    /// Finds a block, with the scope of its file.
    fn block(&self, ident: &str, labels: &[&str]) -> Option<(Self, &'s Block)> {
        let is_it = |block: &Block| {
            let own = block.labels.iter().map(|label| label.as_str());
            block.ident.as_str() == ident && own.eq(labels.iter().copied())
        };
        let module = self.module;
        let (source, block) = module.blocks.iter().find(|(_, block)| is_it(block))?;
        Some((self.elsewhere(source), block))
    }
}

/// Tells whether a block has instances.
fn is_many(block: &Block) -> bool {
    ["for_each", "count"].iter().any(|key| block.body.get_attribute(key).is_some())
}

/// Cuts a text where a document begins.
fn documents(text: &Scalar) -> Vec<Scalar> {
    let whole = text.text();
    let starts = whole.match_indices("\n---").map(|(at, _)| at + 1);
    let ends: Vec<usize> = starts.chain([whole.len()]).collect();
    let mut from = 0;
    let mut found = Vec::new();
    for to in ends {
        let document = whole.get(from..to).unwrap_or_default();
        if !document.trim_start_matches('-').trim().is_empty() {
            found.push(text.cut(from..to));
        }
        from = to;
    }
    found
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::deploy::{Scalar, terraform::terraform, testing::files};

    const OBJECTS: &str = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\n---\napiVersion: argoproj.io/v1alpha1\n\
                           kind: Application\nmetadata: {name: b, namespace: c}\nspec: {source: {targetRevision: \"${v}\"}}\n";

    /// Lists the objects that come of the documents of a data source, with where their versions were written.
    fn found(data: &str, of: &str) -> Vec<String> {
        let main = format!(
            "data \"{data}\n}}\nresource \"kubectl_manifest\" \"m\" {{\n  for_each = {of}\n  yaml_body = each.value\n}}\n"
        );
        let found =
            terraform(&files(&[("r/main.tf", main.as_str()), ("r/m/a.yaml", OBJECTS)]), &BTreeSet::new());
        let shown = found.objects.iter().map(|object| {
            let version = object.value.scalar(&["spec", "source", "targetRevision"]);
            let at = version.and_then(|version| version.origins().next());
            let at = at.map(|at| format!(" {}:{}", at.source.path, at.text())).unwrap_or_default();
            format!("{} {}{at}", object.kind(), object.name().map(Scalar::text).unwrap_or_default())
        });
        shown.collect()
    }

    #[test]
    fn documents_of_files_are_objects_of_their_own() {
        let file = "kubectl_file_documents\" \"d\" {\n  content = templatefile(\"${path.module}/m/a.yaml\", { v = \"2026.8.2\" })";
        let path = "kubectl_path_documents\" \"d\" {\n  pattern = \"${path.module}/m/*.yaml\"\n  vars = { v = \"2026.8.2\" }";
        for (data, kind) in [(file, "kubectl_file_documents"), (path, "kubectl_path_documents")] {
            let all = ["Namespace a", "Application b r/main.tf:2026.8.2"];
            assert_eq!(found(data, &format!("toset(data.{kind}.d.documents)")), all, "{kind}");
            let by_address = found(data, &format!("data.{kind}.d.manifests"));
            assert!(by_address.len() == 2 && all.iter().all(|one| by_address.contains(&(*one).to_owned())));
            let address = "/apis/argoproj.io/v1alpha1/namespaces/c/applications/b";
            let one = found(data, &format!("[data.{kind}.d.manifests[\"{address}\"]]"));
            assert_eq!(one, all[1..], "{kind}");
        }
        let plain = "kubectl_path_documents\" \"d\" {\n  pattern = \"m/*.yaml\"\n  disable_template = true";
        let of = "toset(data.kubectl_path_documents.d.documents)";
        assert_eq!(found(plain, of), ["Namespace a", "Application b r/m/a.yaml:${v}"]);
        let elsewhere = "kubectl_file_documents\" \"d\" {\n  content = data.http.x.body";
        assert_eq!(found(elsewhere, "data.kubectl_file_documents.d.manifests"), [""; 0]);
    }

    /// Returns where the versions of linkerd-viz were written, which `of` leads to from a chart or module with instances.
    fn led(instances: &str, of: &str) -> Vec<String> {
        let main = format!(
            "variable \"unset\" {{}}\nresource \"helm_release\" \"crds\" {{\n  {instances}\n  chart = \"linkerd-crds\"\n  \
             version = \"2026.8.2\"\n}}\nmodule \"mesh\" {{\n  {instances}\n  source = \"./mesh\"\n  edge = \"2026.8.1\"\n}}\n\
             resource \"helm_release\" \"viz\" {{\n  {of}\n  chart = \"linkerd-viz\"\n}}\n"
        );
        let mesh = "variable \"edge\" {}\noutput \"edge\" {\n  value = var.edge\n}\n";
        let tree = files(&[("r/main.tf", main.as_str()), ("r/mesh/main.tf", mesh)]);
        let found = terraform(&tree, &BTreeSet::new());
        let viz = found.charts.iter().filter(|chart| chart.chart.text() == "linkerd-viz");
        let origins = viz.filter_map(|chart| chart.version.as_ref()?.origins().next());
        origins.map(|at| at.text().to_owned()).collect()
    }

    #[test]
    fn instances_are_known_by_their_keys() {
        let (chart, module) = (["2026.8.2"], ["2026.8.1"]);
        let keyed = "for_each = toset([\"a\"])";
        assert_eq!(led(keyed, "version = helm_release.crds[\"a\"].version"), chart);
        assert_eq!(led(keyed, "version = module.mesh[\"a\"].edge"), module);
        assert_eq!(led(keyed, "for_each = helm_release.crds\n  version = each.value.version"), chart);
        assert_eq!(led(keyed, "version = [for mesh in module.mesh : mesh.edge][0]"), module);
        let counted = "count = 2";
        assert_eq!(led(counted, "version = helm_release.crds[1].version"), chart);
        assert_eq!(led(counted, "count = 1\n  version = module.mesh[count.index].edge"), module);
        assert_eq!(led(counted, "version = helm_release.crds.*.version[0]"), chart);
        assert_eq!(led("", "version = values(module.mesh)[0]"), module);
        let is_release = |text: &String| text.starts_with("2026");
        for (instances, of) in [
            (keyed, "version = helm_release.crds[\"b\"].version"),
            (keyed, "version = module.mesh.edge"),
            (counted, "version = helm_release.crds[2].version"),
            ("for_each = var.unset", "version = helm_release.crds[\"a\"].version"),
        ] {
            assert!(!led(instances, of).iter().any(is_release), "{of}");
        }
    }
}
