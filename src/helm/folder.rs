//! The private folder in which Helm works.
//!
//! In: files of charts and values. Out: their paths. Only this user may look into the folder, and it is removed when the
//! value goes, whichever way. Names were checked before they come here; a file is made anew or not at all, so that
//! nothing that is there is followed or written over.
#![allow(clippy::disallowed_methods, reason = "the private folder")]

use std::{
    ffi::OsString,
    fs::{DirBuilder, OpenOptions, Permissions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use tempfile::TempDir;

/// Nobody listens on the first port; a request ends there, before a name is asked for.
const CLOSED: &str = "http://127.0.0.1:1";

/// A file of a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Below the chart's folder, with `/`.
    pub path: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// The folder of one Helm.
pub(super) struct PrivateFolder(TempDir);

/// The folder of one run: what Helm may write to, thrown away behind it.
pub(super) struct RunFolder(TempDir);

// === impl PrivateFolder ===

impl PrivateFolder {
    pub fn new() -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("uplinker-helm-").permissions(private()).tempdir()?;
        folder_in(folder.path(), "charts")?;
        folder_in(folder.path(), "runs")?;
        Ok(Self(folder))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a chart's files, and returns the chart's folder.
    pub fn lay_out(&self, number: usize, files: &[File]) -> io::Result<PathBuf> {
        let folder = folder_in(&self.path().join("charts"), &number.to_string())?;
        for file in files {
            let path = folder.join(&file.path);
            if let Some(above) = path.parent() {
                DirBuilder::new().recursive(true).mode(0o700).create(above)?;
            }
            write_new(&path, &file.bytes)?;
        }
        Ok(folder)
    }

    /// Removes a chart; what stays goes with the folder.
    pub fn clear(&self, chart: &Path) {
        if chart.starts_with(self.path().join("charts"))
            && let Err(error) = std::fs::remove_dir_all(chart)
        {
            tracing::debug!(%error, "a chart stays in the private folder");
        }
    }

    /// Makes the folder of one run.
    pub fn run(&self) -> io::Result<RunFolder> {
        let runs = self.path().join("runs");
        let run = RunFolder(tempfile::Builder::new().prefix("").permissions(private()).tempdir_in(runs)?);
        ["home", "none", "tmp"].iter().try_for_each(|name| folder_in(run.path(), name).map(drop))?;
        Ok(run)
    }
}

// === impl RunFolder ===

impl RunFolder {
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file of ours.
    pub fn write(&self, name: &str, content: &str) -> io::Result<()> {
        write_new(&self.path().join(name), content.as_bytes())
    }

    /// Returns all that Helm gets to know of its surroundings.
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        let below = |name: &str| self.path().join(name).into_os_string();
        let mut all = vec![
            ("HOME", below("home")),
            ("TMPDIR", below("tmp")),
            ("KUBECONFIG", below("none/kubeconfig")),
            ("HELM_PLUGINS", below("none")),
            ("HELM_REGISTRY_CONFIG", below("none/registry.json")),
            ("HELM_REPOSITORY_CONFIG", below("none/repositories.yaml")),
            ("HELM_REPOSITORY_CACHE", below("none")),
            // It runs for a moment and uses little: with its usual care for memory a third of that goes into collecting it.
            ("GOGC", "400".into()),
            ("LC_ALL", "C.UTF-8".into()),
            ("TZ", "UTC".into()),
        ];
        for name in
            ["XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"]
        {
            all.push((name, below("home")));
        }
        for name in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
            all.push((name, below("home")));
        }
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"] {
            all.push((name, CLOSED.into()));
        }
        all
    }
}

fn private() -> Permissions {
    Permissions::from_mode(0o700)
}

fn folder_in(above: &Path, name: &str) -> io::Result<PathBuf> {
    let path = above.join(name);
    DirBuilder::new().mode(0o700).create(&path)?;
    Ok(path)
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn only_this_user_looks_in_and_nothing_stays() {
        let place = PrivateFolder::new().unwrap();
        let file = File { path: "templates/deep/x.yaml".into(), bytes: b"x".to_vec() };
        let chart = place.lay_out(0, &[file]).unwrap();
        let run = place.run().unwrap();
        run.write("values-0.yaml", "a: 1").unwrap();
        assert!(run.write("values-0.yaml", "a: 2").is_err());
        let mode = |path: &Path| path.metadata().unwrap().mode() & 0o777;
        for folder in [place.path(), &chart, &chart.join("templates/deep"), run.path()] {
            assert_eq!(mode(folder), 0o700, "{}", folder.display());
        }
        assert_eq!(mode(&chart.join("templates/deep/x.yaml")), 0o600);
        let (run_path, path) = (run.path().to_owned(), place.path().to_owned());
        drop(run);
        assert!(!run_path.exists() && path.exists());
        drop(place);
        assert!(!path.exists());
    }
}
