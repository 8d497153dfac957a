//! What source-watcher puts into an ExternalArtifact, as its ArtifactGenerator says.
//!
//! In: the name of an artifact and a path in it. Out: the source that was copied there, and the path in that.
//! Source: `docs/spec/v1beta1/artifactgenerators.md` of source-watcher, "Copy Operations".

use super::WATCHER;
use crate::deploy::{
    cluster::Cluster,
    object::Object,
    value::{Scalar, Value},
};

/// An artifact by its generator.
pub(super) struct Artifact<'a> {
    generator: &'a Object,
    artifact: &'a Value,
}

/// A part of an artifact.
pub(super) struct Copied<'a> {
    /// The reference to the source that it is copied from, and the object that makes it.
    pub source: &'a Value,
    pub generator: &'a Object,
    /// Its path there.
    pub path: String,
}

// === impl Artifact ===

impl<'a> Artifact<'a> {
    /// Finds an artifact by its name: of several generators that make one, that of the namespace comes first.
    pub fn find(name: &str, namespace: Option<&str>, cluster: &'a Cluster<'_>) -> Option<Self> {
        let of = |generator: &'a Object| {
            let mut all = generator.value.get("spec")?.list_at("artifacts").iter();
            let artifact = all.find(|artifact| artifact.text(&["name"]).as_deref() == Some(name))?;
            Some(Self { generator, artifact })
        };
        let all: Vec<Self> = cluster.all(WATCHER, "ArtifactGenerator").into_iter().filter_map(of).collect();
        let is_near = |own: &Self| own.generator.namespace().and_then(Scalar::known).as_deref() == namespace;
        let near = all.iter().position(is_near).unwrap_or_default();
        all.into_iter().nth(near)
    }

    /// Says what lies at a path of it; of several copies the one that names it most closely, of equals the last, since that one
    /// is laid over the others.
    pub fn at(&self, path: &str) -> Option<Copied<'a>> {
        let wanted = steps(path);
        let copies = self.copies().filter_map(|(source, from, to)| {
            let rest = wanted.strip_prefix(steps(&to).as_slice())?;
            let from = steps(&from);
            let path = from.iter().chain(rest).copied().collect::<Vec<_>>().join("/");
            Some((wanted.len() - rest.len(), Copied { source, generator: self.generator, path }))
        });
        copies.max_by_key(|(shared, _)| *shared).map(|(_, copied)| copied)
    }

    /// Lists what is copied as a whole: the reference to its source, its folder there, and where that is put.
    fn copies(&self) -> impl Iterator<Item = (&'a Value, String, String)> {
        let sources = self.generator.value.get("spec").map_or(&[][..], |spec| spec.list_at("sources"));
        self.artifact.list_at("copy").iter().filter_map(move |copy| {
            let (from, to) = (copy.text(&["from"])?, copy.text(&["to"])?);
            let (alias, pattern) = from.strip_prefix('@')?.split_once('/')?;
            let to = to.strip_prefix("@artifact/")?;
            let source = sources.iter().find(|source| source.text(&["alias"]).as_deref() == Some(alias))?;
            // `a/**`, `a/**/*.yaml` and `a/` keep what is below the folder as it lies there.
            let folder = pattern.split("**").next().unwrap_or_default();
            let is_whole = folder.is_empty() || folder.ends_with('/');
            let is_plain = !folder.contains(['*', '?', '[', '{']);
            (is_whole && is_plain).then(|| (source, folder.to_owned(), to.to_owned()))
        })
    }
}

/// The folders and the name of a path.
pub(super) fn steps(path: &str) -> Vec<&str> {
    path.split('/').filter(|step| !matches!(*step, "" | ".")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deploy::{files::Files, testing::files};

    #[test]
    fn what_lies_in_an_artifact_is_known_by_its_copies() {
        let text = "apiVersion: source.extensions.fluxcd.io/v1beta1\nkind: ArtifactGenerator\nmetadata: {name: g, namespace: flux-system}\nspec:\n  \
                    sources: [{alias: repo, kind: GitRepository, name: fleet}, {alias: chart, kind: OCIRepository, name: viz}]\n  artifacts:\n  - name: mesh\n    copy:\n    \
                    - {from: '@repo/infra/**', to: '@artifact/'}\n    - {from: '@repo/envs/prod/**/*.yaml', to: '@artifact/env/'}\n    \
                    - {from: '@repo/one/*.yaml', to: '@artifact/one/'}\n  - name: viz\n    copy: [{from: '@chart/', to: '@artifact/'}]\n";
        let tree = files(&[("g.yaml", text)]);
        let all: Vec<Object> = tree
            .documents("g.yaml")
            .unwrap()
            .iter()
            .flat_map(|d| Object::all(d, &crate::repo::RepoPath::new("g.yaml").unwrap()))
            .collect();
        let cluster = Cluster::new(&all);
        let at = |name: &str, path: &str| {
            let copied = Artifact::find(name, Some("flux-system"), &cluster)?.at(path)?;
            Some(format!("{} {}", copied.source.text(&["name"])?, copied.path))
        };
        assert_eq!(at("mesh", "./").as_deref(), Some("fleet infra"));
        assert_eq!(at("mesh", "cp").as_deref(), Some("fleet infra/cp"));
        assert_eq!(at("mesh", "./env/eu").as_deref(), Some("fleet envs/prod/eu"));
        assert_eq!(at("viz", "").as_deref(), Some("viz "));
        assert_eq!(at("none", ""), None);
    }
}
