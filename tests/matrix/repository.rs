//! A repository as the program reads it: planned, verified, and with what a run would push.

use std::path::PathBuf;

use jiff::Timestamp;
use serde_json::json;
use tempfile::TempDir;
use uplinker::{
    pins::Stage,
    pipeline::{self, Error, Operator},
    plan::Served,
    release::NoMirrors,
    repo::git::open_path,
    report::{Format, RunReport, StageDecision, StageReport, Style, VerifyReport},
    verify::{CheckId, Severity},
};

use crate::matrix::{layout::Files, world::World};
use crate::support::{repo::BareRepo, tree::MemoryTree};

/// A bare repository with one commit, gone with this value.
pub struct Repository {
    path: PathBuf,
    _folder: TempDir,
}

// === impl Repository ===

impl Repository {
    pub fn of(files: &Files) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let files: Vec<(&str, &str)> = files.iter().map(|(p, t)| (p.as_str(), t.as_str())).collect();
        let path = folder.path().join("mesh.git");
        drop(BareRepo::with_files(path.clone(), "main", &files));
        Self { path, _folder: folder }
    }

    /// Plans a chart version's release, as `uplinker plan --to` does.
    pub fn plan(&self, world: &World, to: &str) -> Result<RunReport, Error> {
        let operator = Operator {
            catalog: world.catalog(),
            served: &Served::default(),
            mirrors: &NoMirrors,
            renderer: world.renderer(),
            cache: None,
            to: Some(format!("edge-{}", &to[2..]).parse().expect("a release")),
            now: Timestamp::now(),
            progress: &|_| {},
        };
        pipeline::plan_head(open_path(&self.path).expect("a repository"), "mesh", &operator)
    }
}

/// Verifies files, as `uplinker verify` does.
pub fn verify(world: &World, files: &Files) -> Result<VerifyReport, Error> {
    pipeline::verify(&MemoryTree::new(files), world.catalog(), world.renderer(), Timestamp::now())
}

/// All that a report says, for programs.
pub fn all_of(report: &VerifyReport) -> String {
    report.render(Style { format: Format::Json, ..Style::default() })
}

/// All that a run says in words.
pub fn said(report: &RunReport) -> String {
    let stage = |stage: &StageReport| {
        let decision = match &stage.decision {
            StageDecision::Hold { text, .. } => text.clone(),
            StageDecision::Unplannable { reason, .. } => reason.clone(),
            StageDecision::Propose(_) | StageDecision::Blocked(_) => String::new(),
        };
        let findings: Vec<String> = stage.findings.iter().map(|f| f.reason.clone()).collect();
        let content = stage.proposal.as_ref().map(|p| json!(p.content).to_string());
        format!("{decision} {} {}", findings.join(" "), content.unwrap_or_default().replace("\\\"", "\""))
    };
    report.stages.iter().filter(|s| s.stage == Stage::Platform).map(stage).collect()
}

/// Applies what a run would push.
pub fn applied(before: &Files, report: &RunReport) -> Files {
    let mut files = before.clone();
    for change in report.stages.iter().flat_map(|stage| &stage.changes.files) {
        let path = change.path.to_string();
        match &change.after {
            Some(bytes) => files.insert(path, String::from_utf8(bytes.clone()).expect("text")),
            None => files.remove(&path),
        };
    }
    files
}

/// Says which checks block that only a mistake of the program can make block here.
pub fn untrue(report: &RunReport) -> Vec<String> {
    let own = [
        CheckId::Idempotent,
        CheckId::MinimalDiff,
        CheckId::VersionAgreement,
        CheckId::Parses,
        CheckId::PrivateKey,
    ];
    let findings = report.stages.iter().flat_map(|stage| &stage.findings);
    let untrue = findings.filter(|f| f.severity == Severity::Block && own.contains(&f.check));
    untrue.map(|f| format!("an upgrade: {} blocks: {}", f.check, f.reason)).collect()
}
