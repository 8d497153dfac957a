//! Rancher Fleet's `GitRepo`: which folders of a repository go to which clusters.
//!
//! In: the objects of a file. Out: each GitRepo with the clusters that it names. Sources: fleet `internal/cmd/cli/apply/apply.go`
//! (`CreateBundles`, `CreateBundlesDriven`), and `internal/bundlereader/read.go` (`appendTargets`).

use globset::{GlobBuilder, GlobMatcher};

use super::{GROUP, chosen};
use crate::{
    deploy::{
        files::Files,
        object::{Labels, Object},
        repositories, selector,
        typed::is_true,
        value::{Scalar, Value},
    },
    repo::RepoPath,
};

/// Targets of one GitRepo that are looked at: bundles for as many are more than are built.
const CLUSTERS: usize = 5_000;

/// Clusters that a target chooses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Clusters {
    /// The ways in which it chooses them.
    pub chosen: Vec<(&'static str, String)>,
    /// What they are called; `None` for all, and where the tree does not tell.
    pub name: Option<String>,
    /// The labels by which they are chosen.
    pub labels: Labels,
    /// Whether they keep what they have.
    pub is_paused: bool,
}

/// A GitRepo.
#[derive(Debug)]
pub struct GitRepo {
    /// Its file.
    pub file: RepoPath,
    /// Its name.
    pub name: String,
    /// The commit or the tag that it brings, which counts before the branch.
    pub revision: Option<Scalar>,
    /// The branch that it brings.
    pub branch: Option<Scalar>,
    /// Its folders.
    folders: Vec<GlobMatcher>,
    /// Whether the folders below them are meant too.
    is_deep: bool,
    /// The clusters that its bundles go to; none for those of a group of which the tree tells nothing.
    pub(super) clusters: Vec<Clusters>,
    /// Whether they keep what they have.
    pub is_paused: bool,
}

/// Reads the clusters of a list of targets.
pub(super) fn clusters(targets: &[Value]) -> Vec<Clusters> {
    let one = |target: &Value| {
        let labels = target.get("clusterSelector").map(selector::asked).unwrap_or_default();
        let groups = target.get("clusterGroupSelector").map(selector::asked).unwrap_or_default();
        let said = ["clusterName", "clusterGroup"].iter().find_map(|key| target.text(&[key]));
        let values: Vec<&str> = labels.iter().chain(&groups).map(|(_, value)| value.as_str()).collect();
        let name = said.map(|name| name.into_owned()).filter(|name| !name.is_empty());
        let name = name.or_else(|| (!values.is_empty()).then(|| values.join("-")));
        Clusters { chosen: chosen(target), name, labels, is_paused: false }
    };
    targets.iter().take(CLUSTERS).map(one).collect()
}

// === impl GitRepo ===

impl GitRepo {
    /// Reads the one that an object is; `None` where no folder of this repository is its.
    pub fn of(files: &dyn Files, object: &Object) -> Option<Self> {
        let spec = object.value.get("spec").filter(|_| object.is(GROUP, "GitRepo"))?;
        let texts = |all: &[Value], key: &[&str]| -> Vec<String> {
            all.iter().filter_map(|one| path(one.text(key)?)).collect()
        };
        let bundles = texts(spec.list_at("bundles"), &["base"]);
        let is_deep = bundles.is_empty();
        let paths = if is_deep { texts(spec.list_at("paths"), &[]) } else { bundles };
        let paths = if paths.is_empty() { vec![String::new()] } else { paths };
        // The root is in every repository.
        let url = spec.text(&["repo"]).unwrap_or_default();
        let is_here = |path: &&String| !path.is_empty() || files.has_root_of(&repositories::address(&url));
        let folders: Vec<GlobMatcher> = paths.iter().filter(is_here).filter_map(|path| glob(path)).collect();
        let mut clusters = clusters(spec.list_at("targets"));
        let is_paused = is_paused(spec);
        clusters.iter_mut().for_each(|clusters| clusters.is_paused = is_paused);
        let said = |key: &str| spec.scalar(&[key]).filter(|text| !text.text().is_empty()).cloned();
        let (revision, branch) = (said("revision"), said("branch"));
        let name = object.name().map(|name| name.text().into_owned()).unwrap_or_default();
        let file = object.file.clone();
        let repo = Self { file, name, revision, branch, folders, is_deep, clusters, is_paused };
        (!repo.folders.is_empty()).then_some(repo)
    }

    /// Returns the folder among its own that a folder is, or lies in.
    pub fn around<'f>(&self, folder: &'f str) -> Option<&'f str> {
        let above = folder.match_indices('/').filter_map(|(at, _)| folder.get(..at));
        let mut all = [""].into_iter().chain(above).chain([folder]);
        all.find(|one| (self.is_deep || *one == folder) && self.folders.iter().any(|glob| glob.is_match(one)))
    }
}

/// Tells whether a spec says that its clusters keep what they have.
pub(super) fn is_paused(spec: &Value) -> bool {
    is_true(spec, &["paused"])
}

/// Brings a path as Fleet takes it (`/a/b/`) to the form of the tree.
fn path(written: impl AsRef<str>) -> Option<String> {
    RepoPath::resolve_folder("", written.as_ref().trim_start_matches('/'))
}

/// Reads a pattern of Go's `filepath.Glob`, which knows no braces.
fn glob(text: &str) -> Option<GlobMatcher> {
    let text = text.replace('{', "\\{").replace('}', "\\}");
    let glob = GlobBuilder::new(&text).literal_separator(true).backslash_escape(true).build();
    Some(glob.ok()?.compile_matcher())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deploy::testing::files;

    #[test]
    fn folders_are_patterns_and_all_below_them_is_meant_unless_bundles_are_listed() {
        let of = |says: &str| {
            let text = format!(
                "apiVersion: fleet.cattle.io/v1alpha1\nkind: GitRepo\nmetadata: {{name: a}}\nspec: {{repo: 'https://x/y', {says}}}\n"
            );
            let tree = files(&[("a.yaml", &text)]);
            let objects = Object::of_file(&tree, &RepoPath::new("a.yaml").unwrap());
            let all: Vec<GitRepo> = objects.iter().filter_map(|object| GitRepo::of(&tree, object)).collect();
            let folders = ["", "apps", "apps/a", "apps/a/b", "other"];
            let around = |repo: &GitRepo| {
                let shown = |folder: &&str| repo.around(folder).map(|around| format!("{folder}<{around}"));
                folders.iter().filter_map(shown).collect::<Vec<_>>().join(" ")
            };
            all.iter().map(around).collect::<Vec<_>>()
        };
        let targets = "targets: [{clusterName: west}]";
        assert_eq!(of(&format!("paths: [/apps/*], {targets}")), ["apps/a<apps/a apps/a/b<apps/a"]);
        assert_eq!(of(&format!("bundles: [{{base: ./apps}}], paths: [other], {targets}")), ["apps<apps"]);
        assert_eq!(of(targets), ["< apps< apps/a< apps/a/b< other<"]);
        let any = "its clusters are those of a group";
        assert_eq!(of("paths: [apps]"), ["apps<apps apps/a<apps apps/a/b<apps"], "{any}");
    }

    #[test]
    fn clusters_are_called_as_they_are_chosen() {
        let of = |targets: &str| {
            let tree = files(&[("a.yaml", &format!("a: [{targets}]\n"))]);
            let documents = tree.documents("a.yaml").unwrap();
            let name = |clusters: Clusters| clusters.name.unwrap_or_default();
            clusters(documents[0].list_at("a")).into_iter().map(name).collect::<Vec<_>>()
        };
        let all = of(
            "{name: default, clusterName: west}, {name: x, clusterSelector: {matchLabels: {env: prod, region: eu}}}, \
             {clusterSelector: {}}, {clusterGroup: lab}, {name: y, clusterSelector: {matchExpressions: [{key: a, operator: \
             Exists}]}}",
        );
        assert_eq!(all, ["west", "prod-eu", "", "lab", ""]);
    }
}
