//! Rancher Fleet: which clusters get what of a bundle.
//!
//! In: each `fleet.yaml` and each GitRepo of a tree. Out: every bundle, once for each of the clusters that the tree tells
//! apart: those that its GitRepo names, and those that get a version of their own.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    chosen, customizations, customized,
    git_repo::{self, Clusters, GitRepo},
    is_bundle, is_off, taken, takes_all, told,
};
use crate::{
    deploy::{
        chart::ChartRelease,
        cluster::Cluster,
        files::Files,
        kustomize,
        object::{Labels, Object, labels_of},
        selector,
        value::Value,
    },
    repo::RepoPath,
};

/// What clusters are called that get the version of the bundle itself.
const OTHERS: &str = "others";

/// What Fleet deploys of a bundle to clusters that it tells apart.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// The file.
    pub file: RepoPath,
    /// The chart, as one or several customizations have it.
    pub releases: Vec<ChartRelease>,
    /// What is said of its namespaces.
    pub namespaces: Vec<Object>,
    /// Its manifests, by the folder in which a kustomization stands for them.
    pub manifests: Manifests,
    /// What the clusters are called, where they are told apart.
    pub target: Option<String>,
    /// Whether it goes to all clusters that are told apart.
    pub is_for_all: bool,
    /// The bundle's labels, and those by which the clusters are chosen.
    pub labels: Labels,
    /// Whether its clusters keep what they have of it.
    pub is_paused: bool,
}

/// What the files of a tree say to Fleet.
#[derive(Default)]
pub struct Fleet {
    repos: Vec<GitRepo>,
    /// What is told it of bundles, by the files.
    told: Vec<(RepoPath, Value)>,
}

/// A `fleet.yaml` as one bundle.
struct Told<'t> {
    path: &'t RepoPath,
    document: &'t Value,
    /// The clusters that it goes to, where they are known.
    clusters: Vec<Clusters>,
    /// Its manifests, where no kustomization stands for them.
    plain: &'t [RepoPath],
    /// Whether all clusters keep what they have of it.
    is_paused: bool,
}

/// Manifests by the folder in which a kustomization stands for them.
type Manifests = Arc<BTreeMap<String, Vec<RepoPath>>>;

// === impl Fleet ===

impl Fleet {
    /// Takes what a file says: its documents, and the objects in them.
    pub fn take(&mut self, files: &dyn Files, path: &RepoPath, documents: &[Value], objects: &[Object]) {
        self.repos.extend(objects.iter().filter_map(|object| GitRepo::of(files, object)));
        let told = told(path, documents, objects);
        self.told.extend(told.into_iter().map(|document| (path.clone(), document)));
    }

    /// Returns the bundles, at most so many; `manifests` are the files that may be in one without a word of it.
    pub fn bundles<'m>(
        &self,
        files: &dyn Files,
        manifests: impl IntoIterator<Item = &'m RepoPath>,
        most: usize,
    ) -> Vec<Bundle> {
        let mut of_bundles: BTreeMap<String, Vec<RepoPath>> = BTreeMap::new();
        let mut loose: Vec<&RepoPath> = Vec::new();
        for path in manifests.into_iter().filter(|path| !self.repos.is_empty() && !is_bundle(path.name())) {
            match folder_of_bundle(files, path) {
                Some(folder) => of_bundles.entry(folder.to_owned()).or_default().push(path.clone()),
                None => loose.push(path),
            }
        }
        let (mut found, mut open): (Vec<Bundle>, Vec<Bundle>) = (Vec::new(), Vec::new());
        for (path, document) in &self.told {
            if found.len() + open.len() >= most {
                break;
            }
            let clusters = self.clusters(path, document);
            let is_paused = git_repo::is_paused(document) || self.is_paused(path.folder());
            let plain = of_bundles.get(path.folder()).filter(|_| is_bundle(path.name()));
            let plain = plain.filter(|_| is_paused || !clusters.is_empty());
            let plain = plain.map_or(&[][..], Vec::as_slice);
            let to = if clusters.is_empty() { &mut open } else { &mut found };
            to.extend(Told { path, document, clusters, plain, is_paused }.bundles(files, &self.repos));
        }
        // Where bundles tell clusters apart, one that names none is for all of them.
        let is_apart = |bundle: &Bundle| bundle.target.as_deref() == Some(OTHERS);
        if found.iter().chain(&open).any(is_apart) {
            open.iter_mut().for_each(|bundle| bundle.is_for_all = bundle.target.is_none());
        }
        found.extend(open);
        found.extend(self.repos.iter().flat_map(|repo| without_words(repo, &loose)).take(most));
        found.truncate(most);
        found
    }

    /// Tells whether every GitRepo that brings a folder is paused, whatever clusters it goes to.
    fn is_paused(&self, folder: &str) -> bool {
        let mut around = self.repos.iter().filter(|repo| repo.around(folder).is_some()).peekable();
        around.peek().is_some() && around.all(|repo| repo.is_paused)
    }

    /// Returns the clusters that a bundle goes to: those of the GitRepos around it, or its own in their place.
    fn clusters(&self, path: &RepoPath, document: &Value) -> Vec<Clusters> {
        if document.get("overrideTargets").is_some() {
            return git_repo::clusters(document.list_at("overrideTargets"));
        }
        let around = self.repos.iter().filter(|repo| repo.around(path.folder()).is_some());
        let mut found: Vec<Clusters> = Vec::new();
        for clusters in around.flat_map(|repo| &repo.clusters) {
            if !found.contains(clusters) {
                found.push(clusters.clone());
            }
        }
        found
    }
}

/// Returns the folder of the nearest `fleet.yaml` around a file.
fn folder_of_bundle<'p>(files: &dyn Files, path: &'p RepoPath) -> Option<&'p str> {
    let folder = path.folder();
    let above = folder.match_indices('/').rev().filter_map(|(at, _)| folder.get(..at));
    let mut around = [folder].into_iter().chain(above).chain([""]);
    around.find(|folder| {
        let file = |name: &str| RepoPath::resolve(folder, name).is_some_and(|path| files.has(path.as_str()));
        file("fleet.yaml") || file("fleet.yml")
    })
}

/// Makes the bundles of a GitRepo's folders in which nothing is said to Fleet.
fn without_words(repo: &GitRepo, loose: &[&RepoPath]) -> Vec<Bundle> {
    // Of a GitRepo whose clusters are not known only that it is paused counts.
    if repo.clusters.is_empty() && !repo.is_paused {
        return Vec::new();
    }
    let mut manifests: BTreeMap<String, Vec<RepoPath>> = BTreeMap::new();
    for path in loose {
        let folder = repo.around(path.folder());
        folder
            .into_iter()
            .for_each(|folder| manifests.entry(folder.to_owned()).or_default().push((*path).clone()));
    }
    if manifests.is_empty() {
        return Vec::new();
    }
    let manifests = Arc::new(manifests);
    let bundle = |clusters: &Clusters| Bundle {
        file: repo.file.clone(),
        releases: Vec::new(),
        namespaces: Vec::new(),
        manifests: manifests.clone(),
        target: clusters.name.clone(),
        is_for_all: clusters.name.is_none() && !repo.clusters.is_empty(),
        labels: clusters.labels.clone(),
        is_paused: clusters.is_paused,
    };
    // Of clusters that the tree does not know it counts that they take nothing.
    let unknown = Clusters { chosen: Vec::new(), name: None, labels: Labels::new(), is_paused: true };
    let unknown = Some(&unknown).filter(|_| repo.clusters.is_empty());
    repo.clusters.iter().chain(unknown).map(bundle).collect()
}

// === impl Told ===

impl Told<'_> {
    /// Returns it for the clusters that get a version or a kustomization of their own, and for the others.
    fn bundles(&self, files: &dyn Files, repos: &[GitRepo]) -> Vec<Bundle> {
        let (mut found, mut rest, mut own) = (Vec::new(), Vec::new(), BTreeSet::new());
        let mut is_versioned = false;
        let all = customized((files, &Cluster::default()), self.path, self.document, &mut Vec::new());
        for (releases, target) in all {
            match target.filter(|target| is_apart(target)) {
                None => rest.extend(releases.into_iter().map(|release| (release, target))),
                Some(target) => {
                    is_versioned |= has_version(target);
                    own.insert(chosen(target));
                    let part = releases.first().map(|release| release.part.clone()).unwrap_or_default();
                    found.push(self.apart((files, repos), (part, target), releases));
                }
            }
        }
        // What brings no chart of its own has that of the bundle, whatever it says of it.
        for (part, target, _) in taken(self.document).filter(|(.., is_idle)| !is_idle) {
            if is_apart(target) && own.insert(chosen(target)) {
                let releases = rest.iter().filter(|(_, target)| target.is_none());
                let releases = releases.map(|(release, _)| release.clone()).collect();
                found.push(self.apart((files, repos), (part, target), releases));
            }
        }
        let manifests = self.manifests(files, None);
        let rest_of = |is_its: &dyn Fn(&Value) -> bool| {
            let releases = rest.iter().filter(|(_, target)| target.is_none_or(is_its));
            let releases: Vec<ChartRelease> = releases.map(|(release, _)| release.clone()).collect();
            let targets = customizations(self.document).map(|(_, target)| target);
            let targets = targets.filter(|target| !is_apart(target) && is_its(target));
            let said = [self.document].into_iter().chain(targets);
            (releases, said.filter_map(|said| self.namespace(said)).collect::<Vec<_>>())
        };
        let is_known = |of: &Vec<(&'static str, String)>| self.clusters.iter().any(|c| c.chosen == *of);
        let is_told = self.clusters.iter().all(|clusters| clusters.name.is_some());
        // A version for clusters that the GitRepo chooses in another way may be for any of its own.
        if self.clusters.is_empty() || !is_told || !own.iter().all(is_known) {
            let (mut releases, namespaces) = rest_of(&|_| true);
            if is_versioned {
                let others = (std::mem::take(&mut releases), Vec::new(), Manifests::default());
                let bundle = self.bundle(others, Some(OTHERS.to_owned()), &Labels::new());
                found.push(Bundle { is_for_all: !is_told, ..bundle });
            }
            // Others of this bundle may be told apart by the next one.
            let is_for_all = !is_told || !own.is_empty();
            let bundle = self.bundle((releases, namespaces, manifests), None, &Labels::new());
            found.push(Bundle { is_for_all, ..bundle });
        } else {
            // The first target that chooses clusters is theirs.
            let gets_nothing = |clusters: &Clusters| {
                let mut targets = customizations(self.document).map(|(_, target)| target);
                let first = targets.find(|target| takes_all(target) || chosen(target) == clusters.chosen);
                first.is_some_and(is_off)
            };
            let is_left = |clusters: &&Clusters| !own.contains(&clusters.chosen) && !gets_nothing(clusters);
            for clusters in self.clusters.iter().filter(is_left) {
                // What is said for others of them is none of theirs.
                let of = |target: &Value| Some(chosen(target)).filter(is_known);
                let is_its = |target: &Value| of(target).is_none_or(|of| of == clusters.chosen);
                let (releases, namespaces) = rest_of(&is_its);
                let has = (releases, namespaces, manifests.clone());
                found.push(self.bundle(has, clusters.name.clone(), &clusters.labels));
            }
        }
        found.retain(|b| !b.releases.is_empty() || !b.namespaces.is_empty() || !b.manifests.is_empty());
        found
    }

    /// Returns what clusters that are chosen in some ways are called by a GitRepo.
    fn called(&self, repos: &[GitRepo], ways: &[(&'static str, String)]) -> Option<String> {
        let all = self.clusters.iter().chain(repos.iter().flat_map(|repo| &repo.clusters));
        let mut same = all.filter(|clusters| !ways.is_empty() && clusters.chosen == ways);
        same.find_map(|clusters| clusters.name.clone())
    }

    /// Makes it for the clusters of a target that has something of its own.
    fn apart(
        &self,
        (files, repos): (&dyn Files, &[GitRepo]),
        (part, target): (String, &Value),
        releases: Vec<ChartRelease>,
    ) -> Bundle {
        let mut names = ["name", "clusterName", "clusterGroup"].iter().filter_map(|key| target.text(&[key]));
        let name = self.called(repos, &chosen(target)).or_else(|| names.next().map(|n| n.into_owned()));
        let labels = target.get("clusterSelector").map(selector::asked).unwrap_or_default();
        let annotated = target.get("namespaceAnnotations").map_or(self.document, |_| target);
        let namespaces = self.namespace(annotated).into_iter().collect();
        let has = (releases, namespaces, self.manifests(files, Some(target)));
        self.bundle(has, Some(name.unwrap_or(part)), &labels)
    }

    /// Returns its manifests as a target has them: a kustomization stands for all of them (fleet
    /// `internal/bundlereader/style.go`). Of whose clusters nothing is known, only what a target says itself counts,
    /// and that it is paused.
    fn manifests(&self, files: &dyn Files, target: Option<&Value>) -> Manifests {
        let own = target.and_then(kustomized);
        if self.clusters.is_empty() && own.is_none() && !self.is_paused {
            return Manifests::default();
        }
        let folder = self.path.folder();
        let dir = own.or_else(|| kustomized(self.document));
        let built = dir.and_then(|dir| RepoPath::resolve_folder(folder, dir.trim_start_matches('/')));
        let built = built.filter(|built| kustomize::file(files, built).is_some());
        let plain = (!self.plain.is_empty()).then(|| (folder.to_owned(), self.plain.to_vec()));
        Arc::new(built.map(|built| (built, Vec::new())).or(plain).into_iter().collect())
    }

    fn bundle(
        &self,
        (releases, namespaces, manifests): (Vec<ChartRelease>, Vec<Object>, Manifests),
        target: Option<String>,
        chosen_by: &Labels,
    ) -> Bundle {
        let own = self.document.get("labels").into_iter().flat_map(labels_of);
        let is_its = |clusters: &&Clusters| clusters.name == target;
        let is_named = self.clusters.iter().any(|clusters| is_its(&clusters));
        let mut its = self.clusters.iter().filter(|clusters| !is_named || is_its(clusters));
        let is_paused = self.is_paused || its.any(|clusters| clusters.is_paused);
        Bundle {
            file: self.path.clone(),
            releases,
            namespaces,
            manifests,
            target,
            is_for_all: false,
            labels: own.chain(chosen_by.iter().cloned()).collect(),
            is_paused,
        }
    }

    /// Makes the namespace of what is said of it.
    fn namespace(&self, said: &Value) -> Option<Object> {
        let annotations = said.get("namespaceAnnotations")?.clone();
        let metadata = Value::map([("annotations", annotations)]);
        let value = Value::map([("kind", Value::made("Namespace")), ("metadata", metadata)]);
        Some(Object::new(value, self.path.clone(), None))
    }
}

/// Tells whether a target has a version or a kustomization of its own.
fn is_apart(target: &Value) -> bool {
    has_version(target) || kustomized(target).is_some()
}

fn has_version(target: &Value) -> bool {
    target.path(&["helm", "version"]).is_some()
}

/// Returns the folder in which a bundle, or a target, says that its kustomization is.
fn kustomized(said: &Value) -> Option<String> {
    said.text(&["kustomize", "dir"]).filter(|dir| !dir.is_empty()).map(|dir| dir.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deploy::testing::files;

    fn bundles(tree: &[(&str, &str)]) -> Vec<Bundle> {
        let files = files(tree);
        let paths: Vec<RepoPath> = tree.iter().map(|(path, _)| RepoPath::new(*path).unwrap()).collect();
        let mut fleet = Fleet::default();
        for path in &paths {
            let documents = files.documents(path.as_str()).unwrap();
            fleet.take(&files, path, &documents, &Object::of_file(&files, path));
        }
        fleet.bundles(&files, &paths, 20)
    }

    /// Shows the bundles of a tree: their clusters, and how much they have.
    fn shown(tree: &[(&str, &str)]) -> Vec<String> {
        let one = |bundle: &Bundle| {
            let labels = bundle.labels.iter().map(|(key, value)| format!(" {key}={value}"));
            let target = bundle.target.as_deref().unwrap_or(if bundle.is_for_all { "all" } else { "" });
            let manifests = bundle.manifests.values().map(Vec::len).sum::<usize>();
            let (releases, namespaces) = (bundle.releases.len(), bundle.namespaces.len());
            let counts = format!("{releases} {namespaces} {manifests}");
            format!("{} {target} {counts}{}", bundle.file, labels.collect::<String>())
        };
        bundles(tree).iter().map(one).collect()
    }

    #[test]
    fn a_gitrepo_pauses_its_bundles_whether_or_not_it_names_clusters() {
        let paused = |bundle: &str, specs: &[&str]| {
            let repo = |spec: &&str| {
                format!(
                    "---\napiVersion: fleet.cattle.io/v1alpha1\nkind: GitRepo\nmetadata: {{name: a}}\nspec: {{{spec}}}\n"
                )
            };
            let repos: String = specs.iter().map(repo).collect();
            let bundle = format!("helm: {{repo: x, chart: y, version: 2026.8.2}}\n{bundle}");
            let manifest = "kind: Namespace\nmetadata: {name: a}\n";
            let tree = [
                ("apps/ns.yaml", manifest),
                ("mesh/fleet.yaml", bundle.as_str()),
                ("repo.yaml", repos.as_str()),
            ];
            let shown = |bundle: &Bundle| format!("{} {}", bundle.file, bundle.is_paused);
            bundles(&tree).iter().map(shown).collect::<Vec<_>>().join(", ")
        };
        let (is, live) = ("paths: [mesh, apps], paused: true", "paths: [mesh, apps]");
        assert_eq!(paused("", &[is]), "mesh/fleet.yaml true, repo.yaml true");
        assert_eq!(paused("", &[live]), "mesh/fleet.yaml false");
        assert_eq!(
            paused("overrideTargets: [{clusterName: a}]\n", &[is]),
            "mesh/fleet.yaml true, repo.yaml true"
        );
        assert_eq!(paused("", &["paths: [mesh], paused: true", "paths: [mesh]"]), "mesh/fleet.yaml false");
        assert_eq!(paused("paused: true\n", &[live]), "mesh/fleet.yaml true");
    }

    #[test]
    fn clusters_with_a_version_of_their_own_are_told_apart_from_the_others() {
        let text = "labels: {team: mesh}\nhelm: {repo: https://helm.linkerd.io/edge, chart: linkerd-crds, version: 2026.8.2}\n\
                    targetCustomizations:\n- clusterName: a\n  helm: {version: 2026.7.1}\n- name: b\n  helm: {values: {x: y}}\n- \
                    clusterSelector:\n    matchLabels: {env: lab}\n    matchExpressions: [{key: tier, operator: In, values: [one]}, \
                    {key: x, operator: NotIn, values: [y]}]\n  helm: {version: 2026.8.1}\n";
        let own = [
            "fleet.yaml a 1 0 0 team=mesh",
            "fleet.yaml targetCustomizations[2] 1 0 0 env=lab team=mesh tier=one",
            "fleet.yaml others 2 0 0 team=mesh",
        ];
        assert_eq!(shown(&[("fleet.yaml", text)]), own);
        let plain = "helm: {repo: x, chart: linkerd-crds, version: 2026.8.2}\n";
        assert_eq!(shown(&[("fleet.yaml", plain)]), ["fleet.yaml  1 0 0"]);
        let annotated = "namespaceAnnotations: {a: b}\ntargetCustomizations: [{clusterName: a, namespaceAnnotations: {a: c}}]\n";
        let beside = shown(&[("a/fleet.yaml", text), ("b/fleet.yaml", annotated)]);
        assert_eq!(beside.last().map(String::as_str), Some("b/fleet.yaml all 0 2 0"));
    }

    #[test]
    fn a_bundle_goes_to_no_cluster_that_gets_nothing_of_it() {
        let repo = "apiVersion: fleet.cattle.io/v1alpha1\nkind: GitRepo\nmetadata: {name: a}\nspec: {paths: [mesh], targets: \
                    [{clusterName: west}, {clusterName: east}]}\n";
        let of = |targets: &str| {
            let mesh = format!("helm: {{repo: x, chart: y}}\ntargetCustomizations: [{targets}]\n");
            shown(&[("mesh/fleet.yaml", &mesh), ("repo.yaml", repo)])
        };
        let (off, both) = ("{clusterName: west, doNotDeploy: true}", ["west", "east"]);
        assert_eq!(of(off), ["mesh/fleet.yaml east 1 0 0"]);
        let first = both.map(|name| format!("mesh/fleet.yaml {name} 1 0 0"));
        assert_eq!(of(&format!("{{clusterName: west}}, {off}")), first, "another target comes first");
    }

    #[test]
    fn a_bundle_goes_to_the_clusters_of_the_gitrepos_around_it() {
        let repo = "apiVersion: fleet.cattle.io/v1alpha1\nkind: GitRepo\nmetadata: {name: a}\nspec:\n  paths: [mesh, apps]\n  targets: \
                    [{name: x, clusterName: west}, {name: y, clusterName: east}]\n";
        let mesh = "helm: {repo: x, chart: y, version: 2026.8.2}\ntargetCustomizations:\n- {name: slow, clusterName: west, helm: \
                    {version: 2026.6.3}}\n";
        let own = "helm: {repo: x, chart: y}\noverrideTargets: [{clusterName: lab}]\n";
        let manifest = "kind: Namespace\nmetadata: {name: a}\n";
        let tree = [
            ("apps/a/ns.yaml", manifest),
            ("apps/lab/fleet.yaml", own),
            ("apps/lab/ns.yaml", manifest),
            ("mesh/fleet.yaml", mesh),
            ("other/fleet.yaml", own.get(..26).unwrap_or_default()),
            ("repo.yaml", repo),
        ];
        let expected = [
            "apps/lab/fleet.yaml lab 1 0 1",
            "mesh/fleet.yaml west 1 0 0",
            "mesh/fleet.yaml east 1 0 0",
            "other/fleet.yaml  1 0 0",
            "repo.yaml west 0 0 1",
            "repo.yaml east 0 0 1",
        ];
        assert_eq!(shown(&tree), expected);
        let many: Vec<String> = (0..30).map(|n| format!("{{clusterName: c{n}}}")).collect();
        let (head, _) = repo.split_once("[{").unwrap();
        let many = format!("{head}[{}]\n", many.join(", "));
        assert_eq!(
            shown(&[("apps/a/ns.yaml", manifest), ("repo.yaml", &many)]).len(),
            20,
            "no more than are asked for"
        );
        let overlay = |name: &str| (format!("shop/{name}/kustomization.yaml"), "resources: [ns.yaml]\n");
        let (west, east) = (overlay("west"), overlay("east"));
        let shop = "targetCustomizations:\n- {clusterName: west, kustomize: {dir: west}}\n- {clusterName: west, kustomize: {dir: \
                    east}}\n- {clusterName: north, kustomize: {dir: gone}, doNotDeploy: true}\n";
        let of = |shop: &str| {
            let tree = [
                ("repo.yaml", repo.replace("mesh, apps", "shop")),
                ("shop/fleet.yaml", shop.to_owned()),
                (&west.0, west.1.to_owned()),
                (&east.0, east.1.to_owned()),
                ("shop/west/ns.yaml", manifest.to_owned()),
            ];
            shown(&tree.each_ref().map(|(path, text)| (*path, text.as_str())))
        };
        let expected = ["shop/fleet.yaml west 0 0 0", "shop/fleet.yaml east 0 0 3"];
        assert_eq!(of(shop), expected);
        let named = shop.replacen("kustomize", "helm: {releaseName: shop}, kustomize", 1);
        assert_eq!(of(&named), expected, "the name of a release brings no chart");
        let behind = shop.replacen("- {", "- {clusterSelector: {}}\n- {", 1);
        let expected = ["shop/fleet.yaml west 0 0 3", "shop/fleet.yaml east 0 0 3"];
        assert_eq!(of(&behind), expected, "another target takes all clusters");
        // Whom a selector means is not known: a version for them may be for any.
        let chosen = mesh.replace("clusterName: west", "clusterSelector: {matchLabels: {env: prod}}");
        let tree = [("mesh/fleet.yaml", chosen.as_str()), ("repo.yaml", repo)];
        assert_eq!(shown(&tree), ["mesh/fleet.yaml slow 1 0 0 env=prod", "mesh/fleet.yaml others 1 0 0"]);
    }
}
