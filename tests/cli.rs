//! The program as a person meets it: help, usage errors, and the commands that need no repository.

use std::{fs, path::Path};

use assert_cmd::Command;

const COMMANDS: [&str; 16] = [
    "run",
    "plan",
    "pins",
    "status",
    "rollback",
    "verify",
    "doctor",
    "releases",
    "serve",
    "repositories",
    "healthcheck",
    "init",
    "schema",
    "completions",
    "man",
    "demo",
];

/// The program with nothing from this machine's environment.
fn uplinker(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_uplinker"));
    command.env_clear().args(arguments);
    command
}

struct Ran {
    code: i32,
    out: String,
    err: String,
}

fn ran(command: &mut Command) -> Ran {
    let output = command.output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn run(arguments: &[&str]) -> Ran {
    ran(&mut uplinker(arguments))
}

#[test]
fn help_of_the_program() {
    let help = run(&["--help"]);
    assert_eq!((help.code, help.err.as_str()), (0, ""));
    insta::assert_snapshot!("help", help.out);
}

#[test]
fn help_of_every_command() {
    for command in COMMANDS {
        let help = run(&[command, "--help"]);
        assert_eq!((help.code, help.err.as_str()), (0, ""), "{command}");
        assert!(help.out.contains("Examples:\n  "), "{command} teaches by example");
        insta::assert_snapshot!(format!("help-{command}"), help.out);
    }
}

#[test]
fn the_list_of_commands_is_whole() {
    let help = run(&["-h"]).out;
    let listed = help.lines().skip_while(|l| *l != "Commands:").skip(1).take_while(|l| !l.is_empty());
    let listed: Vec<&str> = listed.filter_map(|l| l.split_whitespace().next()).collect();
    assert_eq!(listed, COMMANDS);
}

#[test]
fn every_flag_has_its_variable_and_every_variable_its_flag() {
    let help: String = COMMANDS.iter().map(|c| run(&[c, "--help"]).out).collect();
    for variable in uplinker::sys::env::VARIABLES {
        let Some(flag) = variable.flag else { continue };
        assert!(help.contains(&format!("[env: {}]", variable.name)), "{} is in no help", variable.name);
        assert!(help.contains(flag), "{flag} is in no help");
    }
    let flags =
        help.lines().filter_map(|l| l.trim_start().strip_prefix('-')).filter_map(|l| l.split("--").nth(1));
    for flag in flags.filter_map(|l| l.split(|c: char| !c.is_ascii_lowercase() && c != '-').next()) {
        let known = uplinker::sys::env::VARIABLES.iter().any(|v| v.flag == Some(&format!("--{flag}")));
        assert!(known || flag == "help", "--{flag} has no variable");
    }
}

#[test]
fn usage_errors() {
    let cases: &[(&str, &[&str])] = &[
        ("no-command", &[]),
        ("unknown-command", &["rnu"]),
        ("unknown-flag", &["plan", "--dif"]),
        ("chart-version-as-release", &["plan", "--to", "2026.8.3"]),
        ("not-a-release", &["pins", "--to", "latest"]),
        ("unknown-format", &["pins", "--format", "yaml"]),
        ("password-in-url", &["run", "--repo", "https://me:s3cret@github.com/o/n"]),
        ("unknown-forge", &["run", "--repo", "https://github.com/o/n", "--forge", "bitbucket"]),
        ("unknown-scheme", &["pins", "ftp://example.com/o/n"]),
        ("feed-is-no-url", &["releases", "--charts-url", "index.yaml"]),
        (
            "missing-token-file",
            &["run", "--repo", "https://github.com/o/n", "--token-file", "/nonexistent/token"],
        ),
        ("nothing-to-serve", &["serve"]),
        ("interval-too-short", &["serve", "https://github.com/o/n", "--interval", "10"]),
    ];
    for (name, arguments) in cases {
        let failed = run(arguments);
        assert_eq!((failed.code, failed.out.as_str()), (2, ""), "{name}: {}", failed.err);
        assert!(!failed.err.contains("s3cret"), "{name}");
        insta::assert_snapshot!(format!("error-{name}"), failed.err);
    }
}

#[test]
fn a_token_that_is_none_is_told_without_being_shown() {
    let failed =
        ran(uplinker(&["run", "--repo", "https://github.com/o/n"]).env("UPLINKER_TOKEN", "s3cret s3cret"));
    assert_eq!(failed.code, 2);
    assert!(failed.err.contains("UPLINKER_TOKEN does not hold one token") && !failed.err.contains("s3cret"));
}

#[test]
fn flags_win_over_variables_and_empty_variables_count_for_nothing() {
    let format = |flag: &[&str], variable: &str| {
        let arguments: Vec<&str> = ["schema"].into_iter().chain(flag.iter().copied()).collect();
        ran(uplinker(&arguments).env("UPLINKER_FORMAT", variable)).out
    };
    assert!(format(&[], "markdown").starts_with("# Configuration"));
    assert!(format(&["--format", "json"], "markdown").starts_with('{'));
    assert!(format(&[], "").starts_with('{'));
    let empty =
        ["TO", "FORGE", "FAIL_ON", "COLOR", "QUIET", "VERBOSE", "NO_CACHE", "TOKEN", "CHARTS_URL", "REPO"];
    let mut command = uplinker(&["schema"]);
    command.envs(empty.map(|name| (format!("UPLINKER_{name}"), "")));
    assert_eq!(ran(&mut command).code, 0);
    let mut command = uplinker(&["plan", "--repo", "https://u:p@h/o"]);
    command.envs(empty.into_iter().chain(["DIFF", "EXIT_CODE"]).map(|name| (format!("UPLINKER_{name}"), "")));
    assert!(ran(&mut command).err.contains("carries a user or a password"));
}

#[test]
fn variables_of_switches_and_counts_are_read() {
    let ran = |name: &str, value: &str| ran(uplinker(&["schema"]).env(name, value)).code;
    for value in ["true", "false", "1", "0", "yes"] {
        assert_eq!(ran("UPLINKER_QUIET", value), 0, "{value}");
    }
    assert_eq!((ran("UPLINKER_VERBOSE", "2"), ran("UPLINKER_QUIET", "perhaps")), (0, 2));
}

#[test]
fn completions_know_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let completions = run(&["completions", shell]);
        assert_eq!(completions.code, 0);
        for command in COMMANDS {
            assert!(completions.out.contains(command), "{shell} {command}");
        }
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let page = |arguments: &[&str]| {
        let page = run(&[&["man"], arguments].concat());
        assert_eq!(page.code, 0, "{}", page.err);
        page.out
    };
    let program = page(&[]);
    assert!(program.contains(".TH uplinker 1 ") && program.contains("Exit codes"), "{program}");
    for command in COMMANDS {
        assert!(program.contains(&format!("uplinker\\-{command}(1)")), "{command}");
        let page = page(&[command]);
        assert!(page.contains(&format!("uplinker\\-{command} ")) && page.contains(".SH OPTIONS"), "{page}");
    }
    let other = run(&["man", "frobnicate"]);
    assert!(other.code == 2 && other.err.contains("there is no command `frobnicate`"), "{}", other.err);
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    use std::process::{Command, Stdio};
    let mut child = Command::new(env!("CARGO_BIN_EXE_uplinker"))
        .args(["schema", "--format", "markdown"])
        .env_clear()
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), ended.stderr.as_slice()), (Some(0), [].as_slice()));
}

#[test]
fn a_step_of_actions_gets_its_outputs_when_it_fails() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("output");
    let failed = ran(uplinker(&["run", "--repo", "ftp://h/o/n"])
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_OUTPUT", &output));
    assert_eq!(failed.code, 2);
    assert_eq!(fs::read_to_string(output).unwrap(), "proposed=false\nurl=\nrelease=\nexit=2\n");
}

#[test]
fn init_never_overwrites() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let init = || run(&["init", folder.path().to_str().unwrap()]);
    fs::write(at("uplinker.yaml"), "version: 1\n").unwrap();
    let failed = init();
    assert_eq!(failed.code, 2);
    assert!(failed.err.contains("uplinker.yaml is there already; nothing was written"), "{}", failed.err);
    assert_eq!(fs::read_to_string(at("uplinker.yaml")).unwrap(), "version: 1\n");
    assert!(!at(".github").exists());
    fs::remove_file(at("uplinker.yaml")).unwrap();
    fs::create_dir(at(".github")).unwrap();
    fs::write(at(".github/uplinker.yaml"), "").unwrap();
    let failed = ran(uplinker(&["init", "--force"]).arg(folder.path()));
    assert!(failed.code == 2 && failed.err.contains("only one configuration may be"), "{}", failed.err);
    assert!(!at("uplinker.yaml").exists());
}

#[test]
fn demo_leaves_a_folder_in_use_alone() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mine"), "x").unwrap();
    let failed = ran(uplinker(&["demo", "--directory"]).arg(folder.path()));
    assert!(failed.code == 2 && failed.err.contains("is not empty"), "{}", failed.err);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn every_snapshot_is_used() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli.rs")).unwrap();
    for file in fs::read_dir(folder).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let Some(name) = name.strip_prefix("cli__").and_then(|n| n.strip_suffix(".snap")) else { continue };
        let word = name.trim_start_matches("help-").trim_start_matches("error-");
        assert!(text.contains(&format!("\"{word}\"")), "no test makes the snapshot {name}");
    }
}
