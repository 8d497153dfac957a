//! The configuration as files: valid ones are read, invalid ones give exactly the errors beside them.

use std::{fs, path::PathBuf};

use crate::support::{expected, tree::MemoryTree};

use uplinker::config::{self, Config, Misfit, OnBlock, PATHS, ProxyPins, keys, reference, schema};
use uplinker::pins::{ScanOptions, scan};
use uplinker::policy::OnFailure;
use uplinker::propose::{History, Options, Update};

fn files(kind: &str) -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/config").join(kind);
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "yaml"));
    files.sort();
    files
}

fn every_key() -> Config {
    let text =
        fs::read_to_string(files("valid").iter().find(|p| p.ends_with("every-key.yaml")).unwrap()).unwrap();
    config::parse("uplinker.yaml", &text).unwrap()
}

/// Compares a generated file with what is committed.
fn assert_fresh(path: &str, wanted: &str, command: &str) {
    let committed =
        fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap_or_default();
    assert!(committed == wanted, "{path} is stale; refresh it with:\n  {command} > {path}\n");
}

#[test]
fn a_release_that_the_configuration_names_is_no_pin() {
    let text = "dataPlane: {controlPlane: edge-26.8.2}\n";
    for path in PATHS {
        let tree = MemoryTree::new([(path, text), ("notes/uplinker.yaml", text)]);
        let found = scan(&tree, &ScanOptions::default()).unwrap();
        let told: Vec<&str> = found.pins().map(|pin| pin.path.as_str()).collect();
        assert_eq!(told, ["notes/uplinker.yaml"]);
    }
}

#[test]
fn valid_files_are_read() {
    let files = files("valid");
    assert!(files.len() >= 5);
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        config::parse("uplinker.yaml", &text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    }
}

#[test]
fn invalid_files_give_every_error_with_its_place() {
    let files = files("invalid");
    assert!(files.len() >= 9);
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let found = config::parse("uplinker.yaml", &text).unwrap_err().to_string() + "\n";
        expected::text(&file.with_extension("txt"), &found);
    }
}

#[test]
fn five_mistakes_are_five_errors_in_order() {
    let text =
        fs::read_to_string(files("invalid").iter().find(|p| p.ends_with("five-at-once.yaml")).unwrap())
            .unwrap();
    let errors = config::parse("uplinker.yaml", &text).unwrap_err().errors;
    let places: Vec<_> = errors.iter().map(|e| (e.line, e.column)).collect();
    assert_eq!(places, [(2, 1), (5, 9), (6, 13), (8, 10), (10, 11)]);
}

#[test]
fn nothing_written_is_the_default() {
    for text in ["", "# only a comment\n", "version: 1\n", "---\n", "~\n", "{}"] {
        let config = config::parse("uplinker.yaml", text).unwrap();
        let target = &config.targets[0];
        assert_eq!(
            (config.targets.len(), target.target.name.as_str(), target.target.all),
            (1, "default", true)
        );
        assert_eq!((config.on_block, config.data_plane.pins), (OnBlock::Propose, ProxyPins::Follow));
        assert_eq!(config.data_plane.after.as_hours(), 24);
        assert_eq!(config.branch.prefix, "uplinker/");
        assert_eq!(config.branch.options, Options { history: History::Append, update: Update::Conflict });
        assert!(config.ignore.is_empty() && config.base.is_none() && target.policy.soak.is_zero());
    }
}

#[test]
fn every_key_arrives() {
    let config = every_key();
    let [staging, production] = config.targets.as_slice() else { panic!() };
    assert_eq!((staging.policy.soak.as_hours(), production.policy.soak.as_hours()), (72, 14 * 24));
    // A version such as 1.30 is the number 1.3 to YAML, and stays what was written.
    assert_eq!(staging.kubernetes, Some(semver::Version::new(1, 30, 0)));
    assert!(production.target.paths.is_match("clusters/production/a/b.yaml"));
    assert!(production.target.exclude.is_match("clusters/production/legacy/x.yaml"));
    let schedule = production.policy.schedule.as_ref().unwrap();
    assert_eq!(
        (schedule.expression.as_str(), schedule.timezone.as_str()),
        ("* 10-11 * * tue", "Europe/Vienna")
    );
    assert_eq!(staging.policy.paused.as_deref(), Some("upgrade of the cluster"));
    let freeze = &production.policy.freeze[0];
    assert_eq!(freeze.from.to_string(), "2026-12-19T23:00:00Z");
    assert_eq!(freeze.to.to_string(), "2027-01-06T23:00:00Z");
    assert_eq!(config.data_plane.control_plane.unwrap().to_string(), "edge-26.8.2");
    assert!(config.data_plane.restarts);
    let merges: Vec<_> = config.targets.iter().map(|t| t.merge.map(|merge| merge.after.as_hours())).collect();
    assert_eq!(merges, [Some(48), None]);
    assert!(config.targets.iter().all(|t| t.gates.proposed.len() == 1));
    assert!(config.targets.iter().all(|t| t.gates.on_failure == OnFailure::Rollback));
    assert_eq!(config.pull_request.extras.reviewers, ["ann", "acme/mesh"]);
    assert_eq!(config.commit.author.as_ref().unwrap().email, "mesh@example.com");
    assert!(config.commit.sign_off && config.pull_request.draft);
    assert_eq!(config.branch.options, Options { history: History::Replace, update: Update::Behind });
    assert!(config.ignore.is_match("archive/a/b") && !config.ignore.is_match("docs/a.md"));
}

#[test]
fn a_targets_own_schedule_is_in_the_time_zone_of_the_file() {
    let text = "policy: {timezone: Europe/Vienna}\ntargets:\n- {name: a, paths: [a], policy: {schedule: '* 9 * * *'}}\n\
                - {name: b, paths: [b], policy: {schedule: '* 9 * * *', timezone: Asia/Tokyo}}\n- {name: c, paths: [c]}\n";
    let config = config::parse("uplinker.yaml", text).unwrap();
    let zones: Vec<_> =
        config.targets.iter().map(|t| t.policy.schedule.as_ref().map(|s| s.timezone.as_str())).collect();
    assert_eq!(zones, [Some("Europe/Vienna"), Some("Asia/Tokyo"), None]);
}

#[test]
fn the_sample_of_every_key_has_every_key() {
    let text =
        fs::read_to_string(files("valid").iter().find(|p| p.ends_with("every-key.yaml")).unwrap()).unwrap();
    for key in keys::KEYS {
        assert!(text.contains(&format!("{}:", key.name())), "{} is in no sample", key.path);
    }
}

#[test]
fn the_default_branch_is_out_of_reach() {
    let config = config::parse("uplinker.yaml", "branch: {prefix: release/}\n").unwrap();
    assert_eq!(config.base_branch("main").unwrap(), "main");
    let error = config.base_branch("release/2026").unwrap_err();
    assert_eq!((error.errors[0].line, error.errors[0].column), (1, 18));
    assert!(error.to_string().contains("never written to"));
    assert_eq!(every_key().base_branch("trunk").unwrap(), "main");
    let beside = config::parse("uplinker.yaml", "branch: {prefix: main/x-}\n").unwrap();
    assert!(beside.base_branch("main").unwrap_err().to_string().contains("no room"));
}

#[test]
fn an_error_of_a_target_points_at_its_paths() {
    let error = every_key().misfit("production", Misfit::NoFile);
    assert_eq!((error.errors[0].line, error.errors[0].column), (18, 13));
}

#[test]
fn no_text_makes_it_panic() {
    let sample =
        fs::read_to_string(files("valid").iter().find(|p| p.ends_with("every-key.yaml")).unwrap()).unwrap();
    // Every prefix, and every single line lost, of a file with every key.
    for end in sample.char_indices().map(|(n, _)| n) {
        let _ = config::parse("x", &sample[..end]);
    }
    for skipped in 0..sample.lines().count() {
        let text: Vec<&str> =
            sample.lines().enumerate().filter(|(n, _)| *n != skipped).map(|(_, l)| l).collect();
        let _ = config::parse("x", &text.join("\n"));
    }
    let bombs = [
        "a: &a [x]\nb: &b [*a,*a]\ntargets: [*b, *b]\n".to_owned(),
        format!("targets: {}{}", "[".repeat(10_000), "]".repeat(10_000)),
        format!("ignore: [{}]", "a,".repeat(100_000)),
        "\0".to_owned(),
        "targets: &t [*t]".to_owned(),
        "policy: &p\n  soak: *p\n".to_owned(),
    ];
    for bomb in bombs {
        assert!(config::parse("x", &bomb).is_err(), "{bomb:.40}");
    }
}

#[test]
fn the_schema_is_fresh() {
    assert_fresh("schema/uplinker.schema.json", &schema::text(), "cargo run --quiet -- schema");
}

#[test]
fn the_reference_page_is_fresh() {
    assert_fresh(
        "docs/configuration.md",
        &reference::page(),
        "cargo run --quiet -- schema --format markdown",
    );
}

#[test]
fn examples_of_the_reference_page_are_valid() {
    let page = reference::page();
    let examples: Vec<&str> =
        page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(examples.len() >= 2);
    for example in examples {
        config::parse("docs/configuration.md", example).unwrap_or_else(|e| panic!("{e}"));
    }
}

#[test]
fn examples_of_the_page_on_promotion_are_valid() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/promotion.md")).unwrap();
    let examples = page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let own = ["version:", "gates:", "dataPlane:", "merge:", "policy:", "targets:", "# uplinker.yaml"];
    let examples: Vec<&str> = examples.filter(|text| own.iter().any(|key| text.starts_with(key))).collect();
    assert!(examples.len() >= 5, "{examples:?}");
    for example in examples {
        let whole =
            if example.contains("version:") { example.to_owned() } else { format!("version: 1\n{example}") };
        config::parse("docs/promotion.md", &whole).unwrap_or_else(|e| panic!("{e}"));
    }
}
