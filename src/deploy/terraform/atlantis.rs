//! Atlantis: the folders of a tree in which it runs Terraform.
//!
//! In: `atlantis.yaml`. Out: the folders of its projects. What its workflows give to Terraform is known to Atlantis alone. Source:
//! runatlantis/atlantis, `runatlantis.io/docs/repo-level-atlantis-yaml.md`.

use std::collections::BTreeSet;

use crate::{deploy::files::Files, repo::RepoPath};

/// The file at the top of the tree, under its only name.
const FILE: &str = "atlantis.yaml";

/// Lists the folders of the projects.
pub(super) fn projects(files: &dyn Files) -> BTreeSet<String> {
    if !files.has(FILE) {
        return BTreeSet::new();
    }
    let documents = files.documents(FILE);
    let projects = documents.iter().flat_map(|all| all.iter()).flat_map(|all| all.list_at("projects"));
    projects.filter_map(|project| RepoPath::resolve_folder("", &project.text(&["dir"])?)).collect()
}
