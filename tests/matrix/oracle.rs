//! One cell: the repository as it is committed, what the program says of it and makes of it, and what it should.

use std::{
    collections::{BTreeMap, BTreeSet},
    panic::{AssertUnwindSafe, catch_unwind},
};

use serde_json::json;
use uplinker::{report::RunReport, verify::Severity};

use crate::matrix::{
    by_hand::{ByHand, by_hand},
    cells::{Cell, Drift, Form, Mode, Values},
    layout::{Files, folder, lay_out, second},
    repository::{Repository, all_of, applied, said, untrue, verify},
    world::{ENDED, NEW, OLD, World, old_version},
};
use crate::support::{
    kustomize,
    manifests::{differences, documents, expected, unsummed},
};

/// What a cell asks for, and what should come of it.
struct Case {
    before: Files,
    after: Files,
    hand: ByHand,
    /// The charts that are committed, with their versions.
    charts: Vec<(&'static str, &'static str)>,
}

/// Runs one cell and lists what is wrong.
pub fn run(world: &World, cell: &Cell) -> Vec<String> {
    match catch_unwind(AssertUnwindSafe(|| check(world, cell))) {
        Ok(wrong) => wrong,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|t| (*t).to_owned()));
            vec![format!("it panicked: {}", text.unwrap_or_default())]
        }
    }
}

fn check(world: &World, cell: &Cell) -> Vec<String> {
    let case = case(world, cell);
    let mut wrong = Vec::new();
    verified(world, cell, &case, &mut wrong);

    let repository = Repository::of(&case.before);
    match repository.plan(world, OLD) {
        Ok(report) => same(&case.before, &applied(&case.before, &report), "where nothing moves", &mut wrong),
        Err(e) => wrong.push(format!("where nothing moves: {e}")),
    }
    match repository.plan(world, NEW) {
        Ok(report) => upgraded(cell, &case, &report, &mut wrong),
        Err(e) => wrong.push(format!("an upgrade: {e}")),
    }
    wrong
}

/// Builds the repository, and the one that should come of it.
fn case(world: &World, cell: &Cell) -> Case {
    let Cell { form, chart, .. } = *cell;
    let values = world.values(chart, cell.values);
    let old = world.printed(chart, old_version(chart), &values);
    let new = match chart == ENDED.0 {
        true => old.clone(),
        false => expected(&world.printed(chart, NEW, &values), &old),
    };
    let hand = by_hand(cell, &old, &new);

    let mut before = lay_out(form, chart, &hand.printed, &hand.added);
    let refused = match cell.mode {
        Mode::Refuse => hand.named.is_some(),
        Mode::Overwrite => false,
        Mode::Keep => hand.kept.is_none(),
    };
    let waits = refused && chart != ENDED.0;
    let kept = hand.kept.as_ref().filter(|_| cell.mode == Mode::Keep && chart != ENDED.0);
    let own = kept.unwrap_or(&new);
    let mut after = match chart == ENDED.0 || waits {
        true => before.clone(),
        false => lay_out(form, chart, own, &hand.added),
    };
    if form == Form::TwoEnvironments {
        let (old, new) = (lay_out(form, chart, &old, &[]), lay_out(form, chart, &new, &[]));
        before.extend(second(&old));
        after.extend(second(if waits { &old } else { &new }));
    }

    // Another chart lies beside it, untouched: one stage moves whole or not at all.
    let companion = if chart == "linkerd-control-plane" { "linkerd-crds" } else { "linkerd-control-plane" };
    let defaults = world.values(companion, Values::Default);
    let old = world.printed(companion, OLD, &defaults);
    let new = expected(&world.printed(companion, NEW, &defaults), &old);
    let new = if waits { old.clone() } else { new };
    before.extend(lay_out(Form::OneFile, companion, &old, &[]));
    after.extend(lay_out(Form::OneFile, companion, &new, &[]));

    let more = configuration(cell, &values);
    before.extend(more.clone());
    after.extend(more);
    let charts = vec![(chart, old_version(chart)), (companion, OLD)];
    Case { before, after, hand, charts }
}

/// Writes the configuration, and the values where the output does not hold them.
fn configuration(cell: &Cell, values: &serde_json::Value) -> Files {
    let mut files = Files::new();
    let mut config = json!({"version": 1});
    match cell.mode {
        Mode::Refuse => {}
        Mode::Overwrite => config["drift"] = json!("overwrite"),
        Mode::Keep => config["drift"] = json!("keep"),
    }
    let from_package = cell.chart == "linkerd-viz" && cell.values == Values::HighAvailability;
    if cell.chart != "linkerd-control-plane" && !from_package && *values != json!({}) {
        let text = serde_yaml::to_string(values).expect("YAML");
        if cell.form == Form::OutputDir {
            files.insert("values/extension.yaml".to_owned(), text);
            config["render"] = json!([{"chart": cell.chart, "values": ["values/extension.yaml"]}]);
        } else {
            let beside = Files::from([(format!("{}/values.yaml", folder(cell.form, cell.chart)), text)]);
            files.extend(beside.clone());
            if cell.form == Form::TwoEnvironments {
                files.extend(second(&beside));
            }
        }
    }
    files.insert("uplinker.yaml".to_owned(), serde_yaml::to_string(&config).expect("YAML"));
    files
}

/// `verify` names the object and the field that were changed, and nothing else.
fn verified(world: &World, cell: &Cell, case: &Case, wrong: &mut Vec<String>) {
    let report = match verify(world, &case.before) {
        Ok(report) => report,
        Err(e) => return wrong.push(format!("verify: {e}")),
    };
    let found: BTreeSet<(String, Option<String>)> =
        report.drifts.iter().map(|d| (d.object.clone(), d.field.clone())).collect();
    let named: BTreeSet<(String, Option<String>)> = case.hand.named.iter().cloned().collect();
    if found != named {
        wrong.push(format!("verify names {found:?}, changed was {named:?}"));
    }
    if is_among(cell) && !all_of(&report).contains("platform/ours") {
        wrong.push("verify does not name the object that no chart gives".to_owned());
    }
    wrong.extend(report.unproven.iter().map(|u| format!("verify: {} is unproven: {}", u.chart, u.reason)));
    let blocks = report.findings.iter().filter(|f| f.severity == Severity::Block);
    wrong.extend(blocks.map(|f| format!("verify: {} blocks: {}", f.check, f.reason)));
    for (chart, version) in &case.charts {
        let rows: Vec<_> = report.manifests.iter().filter(|row| row.chart == *chart).collect();
        let sets = if cell.form == Form::TwoEnvironments && *chart == cell.chart { 2 } else { 1 };
        if rows.len() != sets {
            wrong.push(format!("verify: {chart} is {} manifests, committed are {sets}", rows.len()));
        }
        let others = rows.iter().filter(|r| r.version.as_deref().is_some_and(|found| found != *version));
        wrong.extend(others.map(|r| format!("verify: {chart} {version} is said to be {:?}", r.version)));
    }
}

/// Tells whether an object that no chart gives lies in a file that a chart gave. In a file of its own nothing is to be said.
fn is_among(cell: &Cell) -> bool {
    cell.drift == Drift::Added && !matches!(cell.form, Form::PerObject | Form::OutputDir)
}

/// The new tree is what a fresh render gives, and what was refused or replaced is said.
fn upgraded(cell: &Cell, case: &Case, report: &RunReport, wrong: &mut Vec<String>) {
    let mut found = applied(&case.before, report);
    let mut wanted = case.after.clone();
    for text in found.values_mut().chain(wanted.values_mut()) {
        *text = unsummed(text);
    }
    // A schedule that was gone is the clock's again.
    if case.hand.named.as_ref().is_some_and(|(object, _)| object.starts_with("CronJob"))
        && cell.mode == Mode::Overwrite
    {
        for text in found.values_mut().chain(wanted.values_mut()) {
            *text = without_schedule(text);
        }
    }
    like(cell.form, (&case.before, &wanted, &found), wrong);
    let said = said(report);
    if let Some((object, field)) = case.hand.named.as_ref().filter(|_| cell.chart != ENDED.0)
        && (!said.contains(object.as_str()) || field.as_ref().is_some_and(|f| !said.contains(f.as_str())))
    {
        wrong.push(format!("an upgrade does not name {object} {field:?}: {said}"));
    }
    if is_among(cell) && cell.chart != ENDED.0 && !said.contains("platform/ours") {
        wrong.push("an upgrade does not name the object that no chart gives".to_owned());
    }
    wrong.extend(untrue(report));
}

fn same(wanted: &Files, found: &Files, when: &str, wrong: &mut Vec<String>) {
    let shown = differences(found, wanted);
    if !shown.is_empty() {
        wrong.push(format!("{when}: {shown}"));
    }
}

/// Where Helm's text is what is committed, every byte counts. What another tool laid out has the same objects in the same
/// order, and no line is gone that may stay.
fn like(form: Form, (before, wanted, found): (&Files, &Files, &Files), wrong: &mut Vec<String>) {
    if !matches!(form, Form::Kustomize | Form::List | Form::Json | Form::Banner) {
        return same(wanted, found, "an upgrade", wrong);
    }
    let read = |files: &Files| -> Files {
        let one = |text: &String| {
            documents(text).iter().map(|d| kustomize::print(&kustomize::read(d)) + "---\n").collect()
        };
        files.iter().map(|(path, text)| (path.clone(), one(text))).collect()
    };
    let known = wrong.len();
    same(&read(wanted), &read(found), "an upgrade", wrong);
    if wrong.len() > known {
        return;
    }
    let none = String::new();
    for (path, text) in before {
        let text = unsummed(text);
        let gone = |files: &Files| lines_gone(&text, files.get(path).unwrap_or(&none));
        let mut may_go = gone(wanted);
        for line in gone(found) {
            match may_go.iter().position(|other| *other == line) {
                Some(at) => drop(may_go.remove(at)),
                None => wrong.push(format!("an upgrade: {path}: this line may stay: {line}")),
            }
        }
    }
}

/// Lists the lines that are in one text and no longer in the other, as often as they are.
fn lines_gone(before: &str, after: &str) -> Vec<String> {
    let plain = |text: &str| text.lines().map(|l| l.trim_end_matches(',').to_owned()).collect::<Vec<_>>();
    let mut left: BTreeMap<String, usize> = BTreeMap::new();
    for line in plain(after) {
        *left.entry(line).or_default() += 1;
    }
    let is_gone = |line: &String| match left.get_mut(line) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    };
    plain(before).into_iter().filter(is_gone).collect()
}

fn without_schedule(text: &str) -> String {
    text.split_inclusive('\n').filter(|line| !line.contains("schedule")).collect()
}
