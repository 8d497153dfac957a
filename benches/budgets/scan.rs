//! Scan of 100,000 files, against `rg -l linkerd` on a checkout of them; the same with a pin in every file; and what is
//! deployed to many clusters.

use std::path::Path;

use crate::{
    Scale, fixture, measure,
    measure::Cost,
    table::{Amount, Row},
};

const ROUNDS: usize = 7;

/// The most memory that a scan may take.
const MEMORY: Amount = Amount::Bytes(128.0 * 1024.0 * 1024.0);

/// Measures.
pub fn rows(scale: &Scale) -> Vec<Row> {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let files = scale.of(100_000);
    let clone = scratch.path().join("clone");
    make(&clone, fixture::manifests(files));
    let (mut floor, mut ours) = (Vec::new(), Vec::new());
    // The first round warms the file system's cache and does not count.
    for round in 0..=ROUNDS {
        let rg = ripgrep(&clone, scratch.path(), files / 100);
        let pins = pins(&clone, scratch.path(), files / 100);
        if round > 0 {
            floor.push(rg);
            ours.push(pins);
        }
    }
    let hard = scratch.path().join("hard");
    let (annotated, applications) = (scale.of(20_000), scale.of(5_000));
    make(&hard, fixture::pinned(annotated, applications));
    let pinned: Vec<Cost> = (0..3).map(|_| pins(&hard, scratch.path(), annotated + applications)).collect();
    eprintln!(
        "  {} pins in {} files: {:.2} s",
        annotated + applications,
        annotated + applications,
        measure::wall(&pinned)
    );
    let fleet = scratch.path().join("fleet");
    make(&fleet, fixture::clusters(20, 10));
    let modelled: Vec<Cost> = (0..ROUNDS).map(|_| pins(&fleet, scratch.path(), 20)).collect();
    vec![
        Row::at_most(
            "model of 200 charts in 20 clusters".to_owned(),
            Amount::Seconds(measure::wall(&modelled)),
            Amount::Seconds(0.1),
        ),
        Row::times(
            format!("scan {files} files, against `rg -l linkerd`"),
            Amount::Seconds(measure::wall(&floor)),
            Amount::Seconds(measure::wall(&ours)),
            1.0,
        ),
        Row::at_most(format!("peak memory on {files} files"), Amount::Bytes(measure::peak(&ours)), MEMORY),
        Row::at_most(
            format!("peak memory with a pin in each of {} files", annotated + applications),
            Amount::Bytes(measure::peak(&pinned)),
            MEMORY,
        ),
    ]
}

fn make(clone: &Path, files: impl Iterator<Item = fixture::File>) {
    std::fs::create_dir(clone).expect("a folder");
    fixture::git(clone, &["init", "--quiet", "--initial-branch=main"]);
    fixture::import(clone, "main", files);
    // As a clone would have it: one pack, and the files beside it.
    fixture::git(clone, &["repack", "-adq"]);
    fixture::git(clone, &["reset", "--hard", "--quiet"]);
}

fn ripgrep(clone: &Path, home: &Path, expected: usize) -> Cost {
    let mut rg = measure::program("rg", home);
    rg.args(["-l", "linkerd"]).arg(clone);
    let cost = measure::run(&rg, home, 0);
    assert_eq!(cost.stdout.lines().count(), expected, "files that mention Linkerd");
    cost
}

fn pins(clone: &Path, home: &Path, expected: usize) -> Cost {
    let mut uplinker = measure::uplinker(home);
    uplinker.arg("pins").arg(clone).args(["--format", "json"]);
    let cost = measure::run(&uplinker, home, 0);
    let report: serde_json::Value = serde_json::from_str(&cost.stdout).expect("JSON");
    assert_eq!(report["pins"].as_array().map(Vec::len), Some(expected), "pins");
    cost
}
