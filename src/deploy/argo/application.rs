//! What argocd-repo-server makes of an Application's sources.
//!
//! Source: `reposerver/repository/repository.go` of argo-cd. A source is a chart of a repository, or a folder: a chart,
//! a kustomization, or a directory of manifests. A folder is looked for in this tree, whatever the source's address.

use super::{
    directory,
    environment::Environment,
    helm::{self, Chart},
    kustomize, patch,
    source::Source,
};
use std::collections::BTreeSet;

use crate::{
    deploy::{
        build::Build,
        cluster::Cluster,
        files::Files,
        kustomize as build,
        note::{About, Bound, Note},
        object::Object,
        open_path::OpenPath,
        value::{Part, Scalar, Value},
    },
    repo::RepoPath,
};

/// Files or folders that a path may mean of which a part is not known.
const CANDIDATES: usize = 1_000;

/// Tells whether an Application names a chart, or a folder of which it is said that something of interest is in it.
pub fn concerns(object: &Object, _: &Cluster<'_>, is_wanted: &dyn Fn(&str) -> bool) -> bool {
    let Some(spec) = object.value.get("spec") else { return false };
    sources(spec).into_iter().any(|source| match source.scalar(&["path"]) {
        Some(path) if source.get("helm").is_none() && path.unknown_to().is_none() => is_wanted(&path.text()),
        _ => true,
    })
}

/// Lists the sources of the spec of an Application.
pub fn sources(spec: &Value) -> Vec<&Value> {
    single(spec).map_or_else(|| spec.list_at("sources").iter().collect(), |source| vec![source])
}

/// Returns the source of an Application that has one. What Argo CD hydrates goes before all others, and beside `sources` it
/// does not look at `source` (`pkg/apis/application/v1alpha1/types.go`, `GetSource`).
fn single(spec: &Value) -> Option<&Value> {
    let plain = || spec.get("source").filter(|_| spec.list_at("sources").is_empty());
    spec.path(&["sourceHydrator", "drySource"]).or_else(plain)
}

/// The annotation that orders syncs.
const SYNC_WAVE: &str = "argocd.argoproj.io/sync-wave";

/// Reads what an Application deploys.
pub fn application(object: &Object, _: &Cluster<'_>, files: &dyn Files) -> Build {
    let mut deployed = Build::default();
    let Some(spec) = object.value.get("spec") else { return deployed };
    let is_single = single(spec).is_some();
    let part = |n: usize| if is_single { String::new() } else { format!("sources[{n}]") };
    for (part, value) in sources(spec).into_iter().enumerate().map(|(n, source)| (part(n), source)) {
        for value in candidates(object, value, files, &mut deployed.notes) {
            let environment = Environment::new(&object.value, &value);
            let source =
                Source { application: object, value: &value, part: part.clone(), environment, files };
            source.take(&mut deployed);
        }
    }
    let namespace = spec.scalar(&["destination", "namespace"]);
    if let Some(namespace) = namespace.filter(|name| name.known().is_some_and(|name| !name.is_empty())) {
        deployed.objects.iter_mut().for_each(|object| object.default_namespace(namespace));
    }
    deployed
}

/// Makes the namespace that Argo CD makes for an Application, of what that says of it (argo-cd
/// `controller/sync_namespace.go`).
pub fn managed_namespace(application: &Object) -> Option<Object> {
    let spec = application.value.get("spec")?;
    let mut metadata = spec.path(&["syncPolicy", "managedNamespaceMetadata"])?.clone();
    let name = spec.path(&["destination", "namespace"]).cloned();
    metadata.insert("name", name.unwrap_or_else(|| Value::made("")));
    let value = Value::map([("kind", Value::made("Namespace")), ("metadata", metadata)]);
    Some(Object { value, ..application.clone() })
}

/// Returns the sync wave of an Application; without an annotation it is in the first.
pub fn sync_wave(object: &Object) -> i64 {
    let wave = object.annotation(SYNC_WAVE).filter(|wave| wave.unknown_to().is_none());
    wave.and_then(|wave| wave.text().trim().parse().ok()).unwrap_or_default()
}

/// Returns an Application without the sources that are nothing but a folder; `None` where no others are left.
pub fn without_folders(object: &Object) -> Option<Object> {
    let says = |source: &Value| {
        ["chart", "helm", "kustomize", "ref"].iter().any(|key| source.get(key).is_some())
            || source.text(&["repoURL"]).is_some_and(|url| url.starts_with("oci://"))
    };
    let spec = object.value.get("spec")?;
    if let Some(single) = single(spec) {
        return says(single).then(|| object.clone());
    }
    let own: Vec<Value> = spec.list_at("sources").iter().filter(|source| says(source)).cloned().collect();
    let mut object = object.clone();
    let has_any = !own.is_empty();
    object.value.entry_mut("spec")?.insert("sources", Value::list(own));
    has_any.then_some(object)
}

// === impl Source ===

impl Source<'_> {
    fn take(&self, deployed: &mut Build) {
        let text = |key: &str| self.value.text(&[key]).filter(|t| !t.is_empty());
        if let Some(plugin) = self.value.get("plugin") {
            self.note(&mut deployed.notes, About::Unfollowed("plugin"));
            deployed.told.push(plugin.clone());
        }
        let is_registry = text("repoURL").is_some_and(|url| url.starts_with("oci://"));
        let has_folder = text("path").is_some_and(|p| p != ".");
        let is_part = text("repoURL").is_none() && text("path").is_none();
        let is_chart = self.value.scalar(&["chart"]).is_some_and(|c| !c.text().is_empty());
        if is_chart || is_registry && !has_folder || is_part && self.value.get("kustomize").is_none() {
            deployed.charts.extend(helm::release(self, Chart::Repository));
            return;
        }
        // A source that is only referred to deploys nothing.
        if text("path").is_none() && text("ref").is_some() {
            return;
        }
        let Some(folder) = self.folder() else {
            let path = self.value.scalar(&["path"]).cloned().unwrap_or_else(|| Scalar::made("."));
            let url = self.value.scalar(&["repoURL"]).map(|u| u.text().into_owned()).unwrap_or_default();
            let about = About::Remote(format!("{} of {url}", path.text()));
            self.note(&mut deployed.notes, about);
            if self.value.get("kustomize").is_some() {
                kustomize::take_over(self, deployed);
            }
            if self.value.get("helm").is_some() {
                deployed.charts.extend(helm::release(self, Chart::Elsewhere));
            }
            return;
        };
        let value = self.overridden(&folder, &mut deployed.notes);
        let environment = Environment::new(&self.application.value, &value);
        let source = Source { value: &value, part: self.part.clone(), environment, ..*self };
        source.take_folder(&folder, deployed);
    }

    /// Lays `.argocd-source.yaml` and `.argocd-source-<name>.yaml` of the folder over the source.
    fn overridden(&self, folder: &str, notes: &mut Vec<Note>) -> Value {
        let mut value = self.value.clone();
        let name = self.application.name().map(|n| n.text().into_owned()).unwrap_or_default();
        for file in [".argocd-source.yaml".to_owned(), format!(".argocd-source-{name}.yaml")] {
            let Some(path) = RepoPath::resolve(folder, &file).filter(|p| self.files.has(p.as_str())) else {
                continue;
            };
            match self.files.documents(path.as_str()) {
                Ok(documents) => {
                    let over = documents.first().cloned().unwrap_or_else(Value::empty);
                    value = patch::json_merged(&value, &over);
                }
                Err(error) => {
                    self.note(notes, About::Unread { what: path.to_string(), why: error.to_string() });
                }
            }
        }
        for key in ["chart", "path", "repoURL", "targetRevision"] {
            match self.value.entry(key) {
                Some(own) => value.insert(key, own.clone()),
                None => drop(value.remove(key)),
            }
        }
        value
    }

    fn take_folder(&self, folder: &str, deployed: &mut Build) {
        let explicit = ["helm", "kustomize", "directory"]
            .into_iter()
            .find(|key| self.value.get(key).is_some_and(|v| *v != Value::empty()));
        let has = |name: &str| RepoPath::resolve(folder, name).is_some_and(|p| self.files.has(p.as_str()));
        match explicit {
            Some("kustomize") => kustomize::take(self, folder, deployed),
            Some("directory") => directory::take(self, folder, deployed),
            Some(_) => deployed.charts.extend(helm::release(self, Chart::Folder(folder))),
            None if build::file(self.files, folder).is_some() => {
                // Argo CD itself takes one of them; a plugin may lay the kustomization over what comes of the chart.
                if self.value.get("plugin").is_some() && has("Chart.yaml") {
                    deployed.charts.extend(helm::release(self, Chart::Folder(folder)));
                }
                kustomize::take(self, folder, deployed);
            }
            None if has("Chart.yaml") => deployed.charts.extend(helm::release(self, Chart::Folder(folder))),
            None => directory::take(self, folder, deployed),
        }
    }
}

/// Says what a source may be whose paths have a part that the tree does not say: one for each file or folder that fits.
fn candidates(object: &Object, source: &Value, files: &dyn Files, notes: &mut Vec<Note>) -> Vec<Value> {
    let value_files = source.get("helm").map_or(&[][..], |helm| helm.list_at("valueFiles"));
    let open = |s: &&Scalar| s.unknown_to().is_some();
    let path = source.scalar(&["path"]).filter(open);
    let file = value_files.iter().filter_map(Value::as_scalar).find(open);
    let Some(wanted) = path.or(file) else { return vec![source.clone()] };
    let is_folder = path.is_some();
    let text = wanted.text();
    // `$values/..` is a file of the tree too.
    let pattern = match text.strip_prefix('$').and_then(|rest| rest.split_once('/')) {
        Some((_, behind)) => behind.to_owned(),
        None => text.trim_start_matches("./").trim_start_matches('/').to_owned(),
    };
    let Some(pattern) = OpenPath::new(&pattern) else { return vec![source.clone()] };
    let mut found: BTreeSet<Vec<&str>> = BTreeSet::new();
    for entry in files.below("") {
        let place = entry.path.as_str();
        // Every folder on the way to a file is one.
        let folders = place.match_indices('/').map(|(at, _)| &place[..at]).filter(|_| is_folder);
        let file = (!is_folder).then_some(place);
        found.extend(folders.chain(file).filter_map(|place| pattern.parts(place)));
        if found.len() > CANDIDATES {
            while found.len() > CANDIDATES {
                found.pop_last();
            }
            notes.push(Note::new(&object.file, About::Bound(Bound::Objects(CANDIDATES))));
            break;
        }
    }
    if found.is_empty() {
        return vec![source.clone()];
    }
    let who = wanted.unknown_to().unwrap_or_default().to_owned();
    notes.push(Note::new(&object.file, About::Condition(who)));
    let fill = |parts: &Vec<&str>| {
        let mut new = source.clone();
        if let Some(path) = source.scalar(&["path"]) {
            new.insert("path", Value::Scalar(said(path, parts)));
        }
        if let Some(helm) = new.entry_mut("helm") {
            let all = value_files.iter().map(|file| match file {
                Value::Scalar(scalar) => Value::Scalar(said(scalar, parts)),
                other => other.clone(),
            });
            if !value_files.is_empty() {
                helm.insert("valueFiles", Value::list(all.collect()));
            }
        }
        new
    };
    found.iter().map(fill).collect()
}

/// Puts what was found in place of what is not known, in order.
fn said(scalar: &Scalar, found: &[&str]) -> Scalar {
    let mut found = found.iter();
    let parts = scalar.parts().iter().map(|part| match part {
        Part::Unknown(_) => found.next().map_or_else(|| part.clone(), |text| Part::Made((*text).into())),
        part => part.clone(),
    });
    Scalar::of(parts.collect::<Vec<_>>(), scalar.plain)
}
