//! What the Linkerd CLI itself prints, beside charts that Helm rendered: it is of a recognised render, or it is left alone
//! under its own name; what Helm rendered moves as if it were not there.
//!
//! `UPLINKER_CLI_OUTPUT` names a folder with a folder for each release, such as `edge-26.6.3`, with what its commands print:
//! Linkerd's own golden files (`*/cmd/testdata` of its repository), where `dev-undefined`, `linkerdVersionValue` and the
//! like stand for the release.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use crate::matrix::{
    cells::{Form, Values},
    layout::{Files, lay_out},
    repository::{Repository, all_of, applied, said, verify},
    world::{self, NEW, OLD, World},
};
use crate::support::manifests::{differences, expected, unsummed};

/// What stands for a release in a golden file.
const RELEASE: [&str; 9] = [
    "dev-undefined",
    "linkerdVersionValue",
    "install-control-plane-version",
    "install-proxy-version",
    "install-debug-version",
    "LinkerdVersion",
    "ProxyVersion",
    "CliVersion",
    "DebugVersion",
];

/// Runs every file, where the folder and Linkerd's charts are named, and lists what is wrong.
pub fn run() -> Option<Vec<String>> {
    let folder = PathBuf::from(env::var_os("UPLINKER_CLI_OUTPUT")?);
    let world = world::real()?;
    let mut files = Vec::new();
    for release in fs::read_dir(&folder).expect("a folder of releases") {
        read(&release.expect("an entry").path(), &mut files);
    }
    files.sort();
    assert!(!files.is_empty(), "{} has no file", folder.display());
    let beside: Vec<(&str, Files, Files)> = ["linkerd-crds", "linkerd-control-plane", "linkerd-viz"]
        .map(|chart| {
            let values = world.values(chart, Values::Default);
            let old = world.printed(chart, OLD, &values);
            let new = expected(&world.printed(chart, NEW, &values), &old);
            (chart, lay_out(Form::OneFile, chart, &old, &[]), lay_out(Form::OneFile, chart, &new, &[]))
        })
        .into();
    let one = |path: &PathBuf| {
        println!("{}", path.display());
        let text = fs::read_to_string(path).expect("text");
        let name = path.strip_prefix(&folder).expect("below it").display().to_string();
        let release = name.split('/').next().expect("a release").to_owned();
        let filled = RELEASE.iter().fold(text.clone(), |text, word| text.replace(word, &release));
        let mut wrong = Vec::new();
        for (how, text) in [("as it is", text.clone()), ("with its release", filled)] {
            let found = check(world, &beside, &name, &text);
            wrong.extend(found.into_iter().map(|line| format!("{name} {how}: {line}")));
        }
        wrong
    };
    Some(files.iter().flat_map(one).collect())
}

fn read(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            read(&path, files);
        } else {
            files.push(path);
        }
    }
}

fn check(world: &World, beside: &[(&str, Files, Files)], name: &str, text: &str) -> Vec<String> {
    let place = "other/printed.yaml";
    // The same objects twice in a repository are two clusters'; here there is one.
    let is_in = |chart: &str| match chart {
        "linkerd-crds" => text.contains("kind: CustomResourceDefinition"),
        "linkerd-control-plane" => text.contains("name: linkerd-destination\n"),
        _ => text.contains("name: metrics-api\n"),
    };
    let others = || beside.iter().filter(|(chart, ..)| !is_in(chart));
    let (mut before, mut after) = (Files::new(), Files::new());
    for (_, old, new) in others() {
        before.extend(old.clone());
        after.extend(new.clone());
    }
    before.insert(place.to_owned(), text.to_owned());
    let mut wrong = Vec::new();

    let report = match verify(world, &before) {
        Ok(report) => report,
        Err(e) => return vec![format!("verify: {e}")],
    };
    let of_others = report.drifts.iter().filter(|drift| drift.path.as_str() != place);
    wrong.extend(of_others.map(|drift| format!("verify: of something else: {}", drift.reason)));
    for (chart, ..) in others() {
        let row = report.manifests.iter().find(|row| row.chart == *chart && row.path.as_str() != place);
        let sound = row.is_some_and(|row| row.proven && row.version.as_deref() == Some(OLD));
        wrong.extend((!sound).then(|| format!("verify: {chart} is {row:?}")));
    }
    let own = report.drifts.iter().any(|drift| drift.path.as_str() == place)
        || report.unproven.iter().any(|unproven| unproven.path.as_str() == place);

    let plan = match Repository::of(&before).plan(world, NEW) {
        Ok(plan) => plan,
        Err(e) => return vec![format!("plan: {e}")],
    };
    let mut found = applied(&before, &plan);
    let now = found.remove(place).unwrap_or_default();
    for text in found.values_mut().chain(after.values_mut()) {
        *text = unsummed(text);
    }
    let moved = differences(&found, &after).is_empty();
    before.remove(place);
    let stayed = found.iter().all(|(path, text)| before.get(path).is_some_and(|b| unsummed(b) == *text));
    // What is of a render that is not proven holds the stage, by name; anything else leaves the others alone.
    let told = said(&plan) + &all_of(&report);
    let held = own && stayed && now == *text && told.contains(place);
    if !moved && !held {
        wrong.push(format!(
            "what Helm rendered does not move as it should: {:.600}",
            differences(&found, &after)
        ));
    }
    // Of some files the placeholders are no release of anything, so that there is nothing to name.
    let names_release = ["dev-undefined", "edge-"].iter().any(|word| text.contains(word));
    let is_listed = plan.pins.pins.iter().any(|row| row.path.as_str() == place);
    if now == *text && names_release && !name.contains("inject") && !told.contains(place) && !is_listed {
        wrong.push("it is left alone, and not named".to_owned());
    }
    if now != *text {
        let after: Files = [(place.to_owned(), now)].into();
        let report = verify(world, &after).expect("it is verified");
        wrong.extend(report.drifts.iter().map(|d| format!("it moves, and then {}", d.reason)));
    }
    wrong
}
