//! Edits with their proof, as a library call: files in, files out, nothing else.

use uplinker::{
    edit,
    pins::{Inventory, ScanOptions, Stage, scan},
    plan::{Move, NewText, Plan},
    repo::{BlobId, Entry, Mode, RepoPath, Tree, TreeError},
};

use crate::{
    Scale, fixture, measure,
    table::{Amount, Row},
};

const ROUNDS: usize = 7;

/// Files in memory; an id is the position.
struct Files {
    entries: Vec<Entry>,
    contents: Vec<Vec<u8>>,
}

/// Measures.
pub fn rows(scale: &Scale) -> Vec<Row> {
    let small = Files::new(fixture::pinned(scale.of(4_000), 0).collect());
    let large = Files::new(vec![joined(scale.of(4_000))]);
    vec![
        throughput("edit with proof, files of 1 KB", &small),
        throughput("edit with proof, one file of many documents", &large),
    ]
}

/// Makes one file of so many documents; every hundredth keeps its pin.
fn joined(documents: usize) -> fixture::File {
    let mut content = Vec::new();
    for (n, file) in fixture::pinned(documents, 0).enumerate() {
        let text = String::from_utf8_lossy(&file.content).into_owned();
        content.extend_from_slice(b"---\n");
        content.extend_from_slice(match n % 100 {
            0 => text.as_bytes(),
            _ => &file.content[..0],
        });
        if n % 100 != 0 {
            content.extend_from_slice(
                text.replace("config.linkerd.io/proxy-version", "example.com/other").as_bytes(),
            );
        }
    }
    fixture::File { path: "fleet/all.yaml".to_owned(), content }
}

fn throughput(work: &str, files: &Files) -> Row {
    let inventory = scan(files, &ScanOptions::default()).expect("a scan");
    let plan = plan(&inventory);
    let bytes: usize = files.contents.iter().map(Vec::len).sum();
    let rate = |_| {
        let start = measure::processor_time();
        let changes = edit::apply(&plan, files).expect("edits");
        assert_eq!(changes.files.len(), files.entries.len(), "changed files");
        bytes as f64 / (measure::processor_time() - start)
    };
    let rates = (0..ROUNDS).map(rate).collect();
    Row::at_least(
        work,
        Amount::Throughput(measure::median(rates)),
        Amount::Throughput(20.0 * 1024.0 * 1024.0),
    )
}

fn plan(inventory: &Inventory) -> Plan {
    let to = "edge-26.8.3";
    let new = || NewText::Fixed(to.to_owned());
    let moves = inventory.pins.iter().map(|pin| Move { pin: pin.clone(), new: new() }).collect();
    Plan {
        target: "default".to_owned(),
        stage: Stage::DataPlane,
        from: Vec::new(),
        older: false,
        to: to.parse().expect("a release"),
        hop_towards: None,
        undoes: None,
        published: None,
        moves,
        stays: Vec::new(),
        fingerprint: String::new(),
        inputs: String::new(),
    }
}

// === impl Files ===

impl Files {
    fn new(mut files: Vec<fixture::File>) -> Self {
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let entry = |(n, file): (usize, &fixture::File)| {
            let mut id = [0; 20];
            id[..8].copy_from_slice(&(n as u64).to_le_bytes());
            let path = RepoPath::new(file.path.as_str()).expect("a path");
            Entry { path, id: BlobId(id), mode: Mode::File }
        };
        let entries = files.iter().enumerate().map(entry).collect();
        Self { entries, contents: files.into_iter().map(|f| f.content).collect() }
    }
}

impl Tree for Files {
    fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn read(&self, id: BlobId) -> Result<Vec<u8>, TreeError> {
        let mut number = [0; 8];
        number.copy_from_slice(&id.0[..8]);
        let content =
            usize::try_from(u64::from_le_bytes(number)).ok().and_then(|n| self.contents.get(n)).cloned();
        content.ok_or(TreeError::new(id, "no such object"))
    }
}
