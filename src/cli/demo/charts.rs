//! The demo's charts, packed as an index wants them: the same bytes each time.

use std::io;

use flate2::{Compression, GzBuilder};
use sha2::{Digest as _, Sha256};
use tar::{Builder, EntryType, Header};

macro_rules! file {
    ($chart:literal, $version:literal, $path:literal) => {
        ($path, include_str!(concat!("../../../templates/demo/charts/", $chart, "/", $version, "/", $path)))
    };
}

/// A file's path, and its text.
type File = (&'static str, &'static str);

/// Each chart in a version with its files, in which `<version>` and `<edge>` stand for the release's names.
const CHARTS: [(&str, &str, &[File]); 4] = [
    (
        "linkerd-crds",
        "2026.8.2",
        &[
            file!("linkerd-crds", "2026.8.2", "Chart.yaml"),
            file!("linkerd-crds", "2026.8.2", "templates/servers.yaml"),
        ],
    ),
    (
        "linkerd-crds",
        "2026.8.3",
        &[
            file!("linkerd-crds", "2026.8.2", "Chart.yaml"),
            file!("linkerd-crds", "2026.8.3", "templates/servers.yaml"),
        ],
    ),
    (
        "linkerd-control-plane",
        "2026.8.2",
        &[
            file!("linkerd-control-plane", "2026.8.2", "Chart.yaml"),
            file!("linkerd-control-plane", "2026.8.2", "values.yaml"),
            file!("linkerd-control-plane", "2026.8.2", "templates/destination.yaml"),
        ],
    ),
    (
        "linkerd-control-plane",
        "2026.8.3",
        &[
            file!("linkerd-control-plane", "2026.8.2", "Chart.yaml"),
            file!("linkerd-control-plane", "2026.8.3", "values.yaml"),
            file!("linkerd-control-plane", "2026.8.3", "templates/destination.yaml"),
        ],
    ),
];

/// A chart's package.
pub(super) struct Package {
    /// Its chart and version, as in `linkerd-crds-2026.8.3`.
    pub name: String,
    pub bytes: Vec<u8>,
}

// === impl Package ===

impl Package {
    /// Packs each chart.
    pub fn all() -> io::Result<Vec<Self>> {
        CHARTS.iter().map(|(chart, version, files)| Self::of(chart, version, files)).collect()
    }

    fn of(chart: &str, version: &str, files: &[File]) -> io::Result<Self> {
        let edge = format!("edge-{}", version.trim_start_matches("20"));
        let mut archive = Builder::new(GzBuilder::new().write(Vec::new(), Compression::default()));
        for (path, text) in files {
            let text = text.replace("<version>", version).replace("<edge>", &edge);
            let mut header = Header::new_ustar();
            header.set_entry_type(EntryType::Regular);
            header.set_mode(0o644);
            header.set_size(text.len() as u64);
            archive.append_data(&mut header, format!("{chart}/{path}"), text.as_bytes())?;
        }
        let bytes = archive.into_inner()?.finish()?;
        Ok(Self { name: format!("{chart}-{version}"), bytes })
    }

    /// Returns its SHA-256, as an index names it.
    pub fn digest(&self) -> String {
        Sha256::digest(&self.bytes).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
