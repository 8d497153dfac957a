//! The charts of `tests/charts`, packed as `helm package` packs them, and a repository of packages with its index.
//!
//! Packing the same files gives the same bytes, so that digests may be compared between tests.

use std::{
    collections::BTreeMap,
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

use flate2::{Compression, GzBuilder, read::GzDecoder};
use sha2::{Digest as _, Sha256};
use tar::{Archive, Builder, EntryType, Header};
use tempfile::TempDir;

/// The versions in which each of [`CHARTS`] is there.
pub const VERSIONS: [&str; 5] = ["2026.6.3", "2026.8.2", "2026.8.3", "2026.8.4", "2026.9.1"];

/// The charts that most tests need, rendered as they are.
pub const CHARTS: [&str; 3] = ["linkerd-crds", "linkerd-control-plane", "linkerd-viz"];

/// The versions of the chart that ended.
pub const RETIRED: [&str; 2] = ["2025.9.3", "2025.9.4"];

/// All charts of `tests/charts`, each with the versions in which it is there.
pub const PUBLISHED: [(&str, &[&str]); 6] = [
    ("linkerd-crds", &VERSIONS),
    ("linkerd-control-plane", &VERSIONS),
    ("linkerd-viz", &VERSIONS),
    ("linkerd-multicluster", &VERSIONS),
    ("linkerd2-cni", &VERSIONS),
    ("linkerd-jaeger", &RETIRED),
];

/// Files by path below the chart's folder.
pub type Files = BTreeMap<String, Vec<u8>>;

/// A packaged chart.
#[derive(Clone, Debug)]
pub struct Package {
    pub name: String,
    pub version: String,
    pub bytes: Vec<u8>,
    /// What the index says of the Kubernetes that it needs.
    pub kube_version: String,
}

/// A folder with packages and an index of them, gone with this value.
pub struct ChartRepository {
    folder: TempDir,
    packages: Vec<Package>,
}

/// Returns the files of a chart in a version.
pub fn files(chart: &str, version: &str) -> Files {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/charts").join(chart);
    let (_, versions) = PUBLISHED.iter().find(|(name, _)| *name == chart).expect("one of the test charts");
    let last = versions.iter().position(|known| *known == version).expect("a version of the test chart");
    let mut files = Files::new();
    for version in &versions[..=last] {
        let mut changed = Files::new();
        read(&folder.join(version), "", &mut changed);
        let removed = changed.remove("REMOVED").unwrap_or_default();
        files.extend(changed);
        for path in String::from_utf8(removed).expect("text").lines() {
            assert!(files.remove(path).is_some(), "{chart} {version}: {path} was not there");
        }
    }
    let edge = format!("edge-{}", version.trim_start_matches("20"));
    for (path, bytes) in &mut files {
        let text = String::from_utf8(std::mem::take(bytes)).expect("text");
        let text = match path.as_str() {
            "Chart.yaml" => text.replace("0.0.0-undefined", version).replace("edge-XX.X.X", &edge),
            "values.yaml" => text.replace("linkerdVersionValue", &edge),
            _ => text,
        };
        *bytes = text.into_bytes();
    }
    files
}

fn read(folder: &Path, prefix: &str, files: &mut Files) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries {
        let entry = entry.expect("an entry");
        let path = format!("{prefix}{}", entry.file_name().to_str().expect("a plain name"));
        if entry.path().is_dir() {
            read(&entry.path(), &format!("{path}/"), files);
        } else {
            files.insert(path, fs::read(entry.path()).expect("a file"));
        }
    }
}

/// Packs files as a chart's package.
pub fn pack(name: &str, version: &str, files: &Files) -> Package {
    let entries =
        files.iter().map(|(path, bytes)| (format!("{name}/{path}"), EntryType::Regular, bytes.as_slice()));
    let chart = String::from_utf8_lossy(files.get("Chart.yaml").map_or(&[][..], Vec::as_slice)).into_owned();
    Package {
        name: name.to_owned(),
        version: version.to_owned(),
        bytes: archive(entries),
        kube_version: kube_version(&chart),
    }
}

fn kube_version(chart: &str) -> String {
    let range = chart.lines().find_map(|line| line.strip_prefix("kubeVersion: "));
    range.unwrap_or(">=1.31.0-0").trim_matches(['"', '\'']).to_owned()
}

/// Reads `Chart.yaml` of a package.
fn chart_file(name: &str, package: &[u8]) -> String {
    let mut archive = Archive::new(GzDecoder::new(package));
    let path = format!("{name}/Chart.yaml");
    let mut files = archive.entries().expect("an archive").map(|file| file.expect("an entry"));
    let found = files.find(|file| file.path().is_ok_and(|p| p.as_os_str() == path.as_str()));
    let mut text = String::new();
    found.expect("Chart.yaml").read_to_string(&mut text).expect("text");
    text
}

/// Packs entries under whatever names and of whatever kinds, also such as no packer would write.
pub fn archive<'e>(entries: impl IntoIterator<Item = (String, EntryType, &'e [u8])>) -> Vec<u8> {
    let zipped = GzBuilder::new().mtime(0).write(Vec::new(), Compression::default());
    let mut builder = Builder::new(zipped);
    for (path, kind, bytes) in entries {
        let mut header = Header::new_gnu();
        let name = &mut header.as_gnu_mut().expect("a GNU header").name;
        name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_entry_type(kind);
        header.set_mode(0o644);
        let is_link = matches!(kind, EntryType::Symlink | EntryType::Link);
        if is_link {
            header.set_link_name_literal(bytes).expect("a short target");
        }
        header.set_size(if is_link { 0 } else { bytes.len() as u64 });
        header.set_cksum();
        builder.append(&header, if is_link { &[] } else { bytes }).expect("packed");
    }
    builder.into_inner().and_then(|zipped| zipped.finish()).expect("packed")
}

// === impl Package ===

impl Package {
    /// Returns the name of its file.
    pub fn file(&self) -> String {
        format!("{}-{}.tgz", self.name, self.version)
    }

    /// Returns its SHA-256 in hexadecimal.
    pub fn digest(&self) -> String {
        Sha256::digest(&self.bytes).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns what an index says of it, its file being at an address.
    pub fn entry(&self, url: &str) -> String {
        let edge = self.version.trim_start_matches("20");
        let app = if self.name == "linkerd-crds" {
            String::new()
        } else {
            format!("    appVersion: edge-{edge}\n")
        };
        format!(
            "  - apiVersion: v2\n{app}    created: \"2026-11-20T21:25:18.871141936Z\"\n    digest: {}\n    \
             kubeVersion: '{}'\n    name: {}\n    type: application\n    urls:\n    - {url}\n    version: {}\n",
            self.digest(),
            self.kube_version,
            self.name,
            self.version
        )
    }
}

// === impl ChartRepository ===

impl ChartRepository {
    /// Packs all charts of `tests/charts` in all their versions.
    pub fn new() -> Self {
        let all = PUBLISHED.iter().flat_map(|(chart, versions)| versions.iter().map(move |v| (*chart, *v)));
        Self::of(all.map(|(chart, version)| pack(chart, version, &files(chart, version))).collect())
    }

    /// Makes one of the packages in a folder, as `helm pull` leaves them there.
    pub fn pulled(folder: &Path) -> Self {
        let mut paths: Vec<PathBuf> = fs::read_dir(folder)
            .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.extension().is_some_and(|end| end == "tgz"))
            .collect();
        paths.sort();
        let package = |path: &PathBuf| {
            let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("a plain name");
            let (name, version) = stem.rsplit_once('-').expect("a name and a version");
            let bytes = fs::read(path).expect("a package");
            let kube_version = kube_version(&chart_file(name, &bytes));
            Package { name: name.to_owned(), version: version.to_owned(), bytes, kube_version }
        };
        Self::of(paths.iter().map(package).collect())
    }

    /// Makes one of other packages.
    pub fn of(packages: Vec<Package>) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let repository = Self { folder, packages };
        for package in &repository.packages {
            fs::write(repository.path().join(package.file()), &package.bytes).expect("written");
        }
        repository.write_index(|package| package.entry(&package.file()));
        repository
    }

    /// Writes the index anew, with other words about the packages.
    pub fn write_index(&self, entry: impl Fn(&Package) -> String) {
        let mut by_name: BTreeMap<&str, String> = BTreeMap::new();
        // The newest comes first.
        for package in self.packages.iter().rev() {
            by_name.entry(&package.name).or_default().push_str(&entry(package));
        }
        let mut text = String::from("apiVersion: v1\nentries:\n");
        for (name, entries) in by_name {
            text.push_str(&format!("  {name}:\n{entries}"));
        }
        text.push_str("generated: \"2026-11-20T21:25:18.853Z\"\n");
        fs::write(self.index(), text).expect("written");
    }

    /// Returns the folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the path of the index.
    pub fn index(&self) -> PathBuf {
        self.path().join("index.yaml")
    }

    /// Returns the address of the index, for `--charts-url`.
    pub fn url(&self) -> String {
        format!("file://{}", self.index().display())
    }

    /// Returns the packages.
    pub fn packages(&self) -> &[Package] {
        &self.packages
    }
}

impl Default for ChartRepository {
    fn default() -> Self {
        Self::new()
    }
}
