//! What makes a release: what is packed, what its notes are, what keeps a tag from being one.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use regex::Regex;
use tempfile::TempDir;

use super::{
    releases::{ASSET, Releases, hex},
    runner::script,
};
use crate::support::{self};

fn done(command: &mut std::process::Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn what_is_packed_is_what_is_installed() {
    let (releases, folder) = (Releases::none(), TempDir::new().unwrap());
    let program = folder.path().join("built");
    script(&program, &format!("exec \"{}\" \"$@\"", env!("CARGO_BIN_EXE_uplinker")));
    let pack = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/release/pack");
    done(std::process::Command::new(pack).args([
        program.as_os_str(),
        "x86_64-unknown-linux-musl".as_ref(),
        folder.path().as_os_str(),
    ]));
    let package = fs::read(folder.path().join(ASSET)).unwrap();
    releases.publish(ASSET, &package);
    releases.publish("SHA256SUMS", format!("{}  {ASSET}\n", hex(&package)).as_bytes());
    releases.runner().until("Install").succeeds().says(&["installed uplinker"]);

    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(package.as_slice()));
    let sizes: BTreeMap<String, u64> = archive
        .entries()
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.path().unwrap().display().to_string(), entry.size()))
        .filter(|(name, _)| !name.ends_with('/'))
        .collect();
    for name in
        ["LICENSE", "man/uplinker.1", "man/uplinker-run.1", "man/uplinker-verify.1", "completions/_uplinker"]
    {
        assert!(sizes.get(name).is_some_and(|size| *size > 500), "{name}: {sizes:?}");
    }
    let pages = sizes.keys().filter(|name| name.starts_with("man/uplinker-")).count();
    let help = done(std::process::Command::new(env!("CARGO_BIN_EXE_uplinker")).arg("--help"));
    let commands = help.split_once("Commands:\n").unwrap().1.split_once("\n\n").unwrap().0;
    assert_eq!(pages, commands.lines().count(), "a page for each command:\n{commands}");
}

#[test]
fn what_is_released_is_what_is_looked_for() {
    let workflow: serde_yaml::Value =
        serde_yaml::from_str(include_str!("../../.github/workflows/release.yml")).unwrap();
    let matrix =
        |job: &str| workflow["jobs"][job]["strategy"]["matrix"]["include"].as_sequence().unwrap().clone();
    let built: BTreeSet<String> = [matrix("linux"), matrix("macos")]
        .concat()
        .iter()
        .map(|entry| entry["target"].as_str().unwrap().to_owned())
        .collect();
    let target = Regex::new(r"(?m)^  [\w-]+\) +target=(\S+) ;;$").unwrap();
    let script = include_str!("../../scripts/action/install");
    let wanted: BTreeSet<String> = target.captures_iter(script).map(|found| found[1].to_owned()).collect();
    assert_eq!(built, wanted);
    assert_eq!(built.len(), 4);
}

#[test]
fn what_keeps_a_tag_from_being_a_release_is_named() {
    let folder = TempDir::new().unwrap();
    let at = |path: &str| folder.path().join(path);
    fs::create_dir_all(at("scripts/release")).unwrap();
    for name in ["check", "notes"] {
        let from = format!("{}/scripts/release/{name}", env!("CARGO_MANIFEST_DIR"));
        fs::copy(from, at("scripts/release").join(name)).unwrap();
    }
    fs::write(at("Cargo.toml"), "[package]\nversion = \"1.2.3\"\n[other]\nversion = \"9.9.9\"\n").unwrap();
    let log = "# Changelog\n\n## Unreleased\n\n- New.\n\n## 1.2.3\n\n### Changed\n\n- A thing.\n\n## 1.2.30\n\n- Old.\n";
    fs::write(at("CHANGELOG.md"), log).unwrap();
    let git = |arguments: &[&str]| {
        let mut git = support::git_server::hermetic_git(folder.path());
        let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"];
        done(git.current_dir(folder.path()).args(who).args(arguments))
    };
    git(&["init", "--quiet", "--initial-branch", "main"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "--message", "one"]);
    git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    let check = |tag: &str| {
        let mut check = std::process::Command::new(at("scripts/release/check"));
        let output = check.arg(tag).env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(check("v1.2.3"), (true, String::new()));
    let notes = done(std::process::Command::new(at("scripts/release/notes")).arg("v1.2.3"));
    assert_eq!(notes, "### Changed\n\n- A thing.\n\n");
    let (fine, said) = check("v1.2.4");
    assert!(
        !fine && said.contains("has the version 1.2.3") && said.contains("no section `## 1.2.4`"),
        "{said}"
    );
    git(&["commit", "--quiet", "--allow-empty", "--message", "two"]);
    assert_eq!(check("v1.2.3"), (false, "v1.2.3: the commit is not on main\n".to_owned()));
}
