//! Config repositories in which something went wrong once, each a folder: what is to come of them with Linkerd's charts.
//!
//! `UPLINKER_CASE_REPOS` names the folder that has them, as plain files. A folder that is not known here fails, and so
//! does a known one that is not there.

use std::{collections::BTreeSet, env, fs, path::PathBuf};

use uplinker::report::{PinRow, VerifyReport};

use crate::matrix::{
    layout::Files,
    repository::{Repository, all_of, applied, said, untrue, verify},
    world::{self, NEW, OLD, World},
};
use crate::support::tree::MemoryTree;

/// What is to come of a repository.
struct Case {
    name: &'static str,
    /// The files that move to the new release.
    moves: &'static [&'static str],
    /// Files that stay, byte for byte; a folder ends with a slash.
    stays: &'static [&'static str],
    /// What `verify` is to say of it.
    drifts: Drifts,
    /// Objects of their owners in rendered files, which are named as being left alone.
    names: &'static [&'static str],
    /// Files that no chart gives, which the list of pins names with the reason.
    listed: &'static [(&'static str, &'static str)],
}

enum Drifts {
    None,
    /// All of this object.
    Of(&'static str),
}

/// What `linkerd multicluster link-gen` wrote.
const LINK: &[(&str, &str)] = &[("east.yaml", "made-by-cli")];

const CASES: [Case; 10] = [
    Case {
        name: "link",
        moves: &["cp.yaml"],
        stays: &["east.yaml"],
        drifts: Drifts::None,
        names: &[],
        listed: LINK,
    },
    Case {
        name: "link-overwrite",
        moves: &["cp.yaml"],
        stays: &["east.yaml"],
        drifts: Drifts::None,
        names: &[],
        listed: LINK,
    },
    Case {
        name: "allow",
        moves: &["mc.yaml"],
        stays: &["allow.yaml"],
        drifts: Drifts::None,
        names: &[],
        listed: &[("allow.yaml", "made-by-cli")],
    },
    Case {
        name: "cni",
        moves: &["cp.yaml", "cni.yaml"],
        stays: &[],
        drifts: Drifts::None,
        names: &[],
        listed: &[],
    },
    Case {
        name: "cni-alone",
        moves: &["mesh/cni.yaml"],
        stays: &[],
        drifts: Drifts::None,
        names: &[],
        listed: &[],
    },
    Case {
        name: "drift-text",
        moves: &[],
        stays: &["cp.yaml"],
        drifts: Drifts::Of("ClusterRole linkerd-heartbeat"),
        names: &[],
        listed: &[],
    },
    Case {
        name: "overwrite-webhook",
        moves: &["cp.yaml"],
        stays: &[],
        drifts: Drifts::Of("MutatingWebhookConfiguration linkerd-proxy-injector-webhook-config"),
        names: &[],
        listed: &[],
    },
    Case {
        name: "own-label",
        moves: &["viz.yaml"],
        stays: &[],
        drifts: Drifts::None,
        names: &["PodMonitor linkerd-viz/viz"],
        listed: &[],
    },
    Case {
        name: "sops",
        moves: &["cp/deployment-linkerd-identity.yaml", "cp/configmap-linkerd-config.yaml"],
        stays: &["cp/secret-"],
        drifts: Drifts::None,
        names: &[],
        listed: &[],
    },
    Case {
        name: "umbrella",
        moves: &["mesh.yaml"],
        stays: &[],
        drifts: Drifts::None,
        names: &[],
        listed: &[],
    },
];

/// Runs the repositories, where the folder and Linkerd's charts are named, and lists what is wrong.
pub fn run() -> Option<Vec<String>> {
    let folder = PathBuf::from(env::var_os("UPLINKER_CASE_REPOS")?);
    let world = world::real()?;
    let known: BTreeSet<String> = CASES.iter().map(|case| case.name.to_owned()).collect();
    let there = fs::read_dir(&folder).expect("a folder of repositories");
    let there: BTreeSet<String> =
        there.map(|e| e.expect("an entry").file_name().into_string().expect("a plain name")).collect();
    assert_eq!(known, there, "{}", folder.display());
    let one = |case: &Case| {
        let mut wrong = Vec::new();
        check(world, case, &MemoryTree::read(&folder.join(case.name)).files(), &mut wrong);
        wrong.into_iter().map(|line| format!("{}: {line}", case.name)).collect::<Vec<_>>()
    };
    Some(CASES.iter().flat_map(one).collect())
}

fn check(world: &World, case: &Case, files: &Files, wrong: &mut Vec<String>) {
    let report = verify(world, files).expect("it is verified");
    drifts(case, &report, wrong);
    wrong.extend(report.unproven.iter().map(|u| format!("unproven: {}: {}", u.chart, u.reason)));
    let told = all_of(&report);
    wrong.extend(
        case.names.iter().filter(|n| !told.contains(*n)).map(|n| format!("verify does not name {n}")),
    );

    let repository = Repository::of(files);
    let still = applied(files, &repository.plan(world, OLD).expect("a plan"));
    wrong.extend((still != *files).then(|| "where nothing is to move, something does".to_owned()));

    let plan = repository.plan(world, NEW).expect("a plan");
    let (after, told) = (applied(files, &plan), said(&plan));
    wrong.extend(
        case.names.iter().filter(|n| !told.contains(*n)).map(|n| format!("a plan does not name {n}")),
    );
    for (path, reason) in case.listed {
        let is_it = |row: &&PinRow| row.path.as_str() == *path;
        let found = plan.pins.pins.iter().find(is_it).and_then(|row| row.reason).map(|r| r.to_string());
        wrong.extend((found.as_deref() != Some(*reason)).then(|| format!("{path} is listed as {found:?}")));
    }
    if let Drifts::Of(object) = case.drifts {
        wrong.extend((!told.contains(object)).then(|| format!("a plan does not name {object}")));
    }
    for path in case.moves {
        let (old, new) = (&files[*path], after.get(*path).map_or("", String::as_str));
        if old == new || new.contains("26.6.3") && !new.contains("26.8.3") {
            wrong.push(format!("{path} does not move: {told:.400}"));
        }
    }
    for (path, text) in files.iter().filter(|(path, _)| case.stays.iter().any(|s| path.starts_with(s))) {
        wrong.extend((after.get(path) != Some(text)).then(|| format!("{path} does not stay")));
    }
    wrong.extend(untrue(&plan));
    if !case.moves.is_empty() {
        moved(world, &after, wrong);
    }
}

/// What was moved is proven in the new release, and nothing is left to do.
fn moved(world: &World, after: &Files, wrong: &mut Vec<String>) {
    let report = verify(world, after).expect("it is verified");
    wrong.extend(report.drifts.iter().map(|d| format!("after the upgrade: {}", d.reason)));
    wrong.extend(report.unproven.iter().map(|u| format!("after the upgrade: {}: {}", u.chart, u.reason)));
    let behind = report.manifests.iter().filter(|row| row.version.as_deref().is_some_and(|v| v != NEW));
    wrong.extend(behind.map(|row| format!("after the upgrade: {} is of {:?}", row.chart, row.version)));
    let again = Repository::of(after).plan(world, NEW).expect("a plan");
    wrong.extend((applied(after, &again) != *after).then(|| "a second run changes something".to_owned()));
}

fn drifts(case: &Case, report: &VerifyReport, wrong: &mut Vec<String>) {
    let found: BTreeSet<&str> = report.drifts.iter().map(|drift| drift.object.as_str()).collect();
    let wanted: BTreeSet<&str> = match case.drifts {
        Drifts::None => BTreeSet::new(),
        Drifts::Of(object) => [object].into(),
    };
    if found != wanted {
        wrong.push(format!("verify names {found:?}, changed is {wanted:?}"));
    }
    // What is committed and what the chart gives are shown so that they differ.
    for drift in &report.drifts {
        let sides = drift
            .reason
            .rsplit_once(", the chart gives ")
            .and_then(|(before, gives)| Some((before.rsplit_once(" is ")?.1.to_owned(), gives.to_owned())));
        wrong.extend(
            sides
                .filter(|(is, gives)| is == gives)
                .map(|_| format!("both sides are the same: {}", drift.reason)),
        );
    }
}
