//! The demo's files: a bare repository with one commit, and a release feed with its charts.
#![allow(clippy::disallowed_methods, reason = "the folder of the demo")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::charts::Package;
use crate::cli::Error;

const REPOSITORY: [(&str, &str); 4] = [
    (
        "clusters/production/linkerd/sources.yaml",
        include_str!("../../../templates/demo/repository/sources.yaml"),
    ),
    ("clusters/production/linkerd/crds.yaml", include_str!("../../../templates/demo/repository/crds.yaml")),
    (
        "clusters/production/linkerd/control-plane.yaml",
        include_str!("../../../templates/demo/repository/control-plane.yaml"),
    ),
    ("apps/web.yaml", include_str!("../../../templates/demo/repository/web.yaml")),
];

const INDEX: &str = include_str!("../../../templates/demo/feeds/index.yaml");

const FEEDS: [(&str, &str); 2] = [
    ("version.json", include_str!("../../../templates/demo/feeds/version.json")),
    ("releases.json", include_str!("../../../templates/demo/feeds/releases.json")),
];

/// When the demo's commit was made, in seconds; fixed, so that the demo is the same everywhere.
const COMMITTED: i64 = 1_786_701_600;

/// Makes or takes the folder that the demo works in, as an absolute path.
pub(super) fn folder(named: Option<&Path>) -> Result<PathBuf, Error> {
    let failed = |e: std::io::Error| Error::failed("cannot make the folder of the demo").because(e);
    let Some(path) = named else {
        let folder = tempfile::Builder::new().prefix("uplinker-demo-").tempdir().map_err(failed)?;
        return Ok(folder.keep());
    };
    fs::create_dir_all(path).map_err(failed)?;
    if fs::read_dir(path).map_err(failed)?.next().is_some() {
        return Err(Error::usage(format!("{} is not empty", path.display()))
            .hint("name a folder that is new or empty, or leave --directory out"));
    }
    path.canonicalize().map_err(failed)
}

/// Writes the repository and the feed.
pub(super) fn lay_out(remote: &Path, feeds: &Path) -> Result<(), Error> {
    feed(feeds).map_err(|e| Error::failed("cannot write the demo's feed").because(e))?;
    commit(remote).map_err(|e| Error::failed("cannot write the demo's repository").because(e))
}

fn feed(folder: &Path) -> std::io::Result<()> {
    fs::create_dir(folder)?;
    for (name, text) in FEEDS {
        fs::write(folder.join(name), text)?;
    }
    let mut index = INDEX.to_owned();
    for package in Package::all()? {
        index = index.replace(&format!("<{}>", package.name), &package.digest());
        fs::write(folder.join(format!("{}.tgz", package.name)), package.bytes)?;
    }
    fs::write(folder.join("index.yaml"), index)
}

fn commit(remote: &Path) -> Result<(), git2::Error> {
    let mut options = git2::RepositoryInitOptions::new();
    options.bare(true).no_reinit(true).external_template(false).initial_head("main");
    let repository = git2::Repository::init_opts(remote, &options)?;
    let base = repository.treebuilder(None)?.write()?;
    let mut update = git2::build::TreeUpdateBuilder::new();
    for (path, text) in REPOSITORY {
        update.upsert(path, repository.blob(text.as_bytes())?, git2::FileMode::Blob);
    }
    let tree = update.create_updated(&repository, &repository.find_tree(base)?)?;
    let author = git2::Signature::new("Demo", "demo@example.com", &git2::Time::new(COMMITTED, 0))?;
    let tree = repository.find_tree(tree)?;
    repository.commit(Some("refs/heads/main"), &author, &author, "Run Linkerd edge-26.8.2\n", &tree, &[])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scene_is_the_same_each_time() {
        let head = || {
            let folder = tempfile::tempdir().unwrap();
            let remote = folder.path().join("r.git");
            lay_out(&remote, &folder.path().join("feeds")).unwrap();
            let repository = git2::Repository::open_bare(&remote).unwrap();
            let head = repository.head().unwrap();
            assert_eq!(head.name().ok(), Some("refs/heads/main"));
            head.target().unwrap()
        };
        assert_eq!(head(), head());
    }

    #[test]
    fn a_folder_in_use_is_refused() {
        let used = tempfile::tempdir().unwrap();
        fs::write(used.path().join("x"), "").unwrap();
        assert_eq!(folder(Some(used.path())).unwrap_err().exit().code(), 2);
        assert!(folder(Some(&used.path().join("new"))).unwrap().is_absolute());
    }
}
