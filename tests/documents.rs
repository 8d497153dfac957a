//! The documents, the action, the workflow and the image say what the program does.

mod kubernetes;

use std::{collections::BTreeSet, fs, path::Path};

use assert_cmd::Command;
use serde_yaml::Value;
use uplinker::{report, sys::env};

pub fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// Lists the documents for those who use the program: README, then those of `docs/` by their names.
pub fn for_users() -> Vec<String> {
    let folder = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs")).unwrap();
    let names = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut found: Vec<String> = names.filter(|n| n.ends_with(".md")).map(|n| format!("docs/{n}")).collect();
    found.sort();
    found.insert(0, "README.md".to_owned());
    found
}

fn yaml(path: &str) -> Value {
    serde_yaml::from_str(&read(path)).unwrap()
}

fn help(command: Option<&str>) -> Option<String> {
    let mut program = Command::cargo_bin("uplinker").unwrap();
    program.env_clear().args(command).arg("--help");
    let output = program.output().unwrap();
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
}

/// Returns every command line of the program in a document: what stands in code and begins with its name.
fn command_lines(document: &str) -> Vec<Vec<String>> {
    let text = read(document);
    let fenced = text.split("```").skip(1).step_by(2).flat_map(str::lines);
    let prose: String = text.split("```").step_by(2).collect();
    let inline: Vec<String> = prose.split('`').skip(1).step_by(2).map(|c| c.replace('\n', " ")).collect();
    let lines = fenced.map(str::to_owned).chain(inline);
    let words = lines.filter_map(|line| {
        let line = line.split(" # ").next().unwrap().trim().replace("cargo run --release --", "uplinker");
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let named = words.iter().position(|w| !w.contains('='))?;
        (words[named] == "uplinker").then(|| words[named + 1..].to_vec())
    });
    words.collect()
}

#[test]
fn commands_and_flags_that_documents_name_exist() {
    let mut seen = BTreeSet::new();
    let others = ["CONTRIBUTING.md", "CHANGELOG.md", "RELEASING.md"].map(str::to_owned);
    for document in for_users().into_iter().chain(others) {
        for words in command_lines(&document) {
            let Some(command) = words.first().filter(|w| !w.starts_with('-')) else { continue };
            let help = help(Some(command)).unwrap_or_else(|| panic!("{document}: no command `{command}`"));
            for flag in words.iter().filter(|w| w.starts_with("--")) {
                let flag = flag.split('=').next().unwrap();
                let known = help.split_whitespace().any(|w| w.trim_end_matches([',', ']']) == flag);
                assert!(known, "{document}: `uplinker {command}` has no {flag}");
            }
            seen.insert(command.clone());
        }
    }
    for command in ["demo", "pins", "plan", "run", "serve", "init", "releases"] {
        assert!(seen.contains(command), "no document shows `uplinker {command}`");
    }
    assert!(help(Some("frobnicate")).is_none() && help(None).is_some());
}

#[test]
fn flags_and_variables_that_documents_name_exist() {
    let mut variables: BTreeSet<&str> = env::VARIABLES.iter().map(|v| v.name).collect();
    // These two the action's own scripts read.
    variables.extend(["UPLINKER_DOWNLOAD_URL", "UPLINKER_HELM_DOWNLOAD_URL"]);
    let flags: BTreeSet<&str> = env::VARIABLES.iter().filter_map(|v| v.flag).collect();
    let documents = [
        "README.md",
        "docs/security.md",
        "docs/configuration.md",
        "docs/pins.md",
        "docs/forges.md",
        "docs/github.md",
        "docs/kubernetes.md",
        "docs/rendering.md",
        "docs/serve.md",
        "Dockerfile",
        "action.yml",
    ];
    for document in documents {
        let text = read(document);
        for (at, _) in text.match_indices("UPLINKER_") {
            let name: String =
                text[at..].chars().take_while(|c| c.is_ascii_uppercase() || *c == '_').collect();
            assert!(name == "UPLINKER_" || variables.contains(name.as_str()), "{document}: {name}");
        }
        let prose: String = text.split("```").step_by(2).collect();
        for code in prose.split('`').skip(1).step_by(2).filter(|c| c.starts_with("--")) {
            let flag = code.split([' ', '=']).next().unwrap();
            assert!(flags.contains(flag), "{document}: {flag}");
        }
    }
}

#[test]
fn the_readme_shows_the_workflow_that_init_writes() {
    let readme = read("README.md");
    let shown = readme.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let template = read("templates/init/workflow.yml").replace("<version>", env!("CARGO_PKG_VERSION"));
    let shown: Value = serde_yaml::from_str(&shown.replace("\n   ", "\n").replacen("   ", "", 1)).unwrap();
    assert_eq!(shown, serde_yaml::from_str::<Value>(&template).unwrap());
}

#[test]
fn the_workflow_and_the_program_agree_with_the_action() {
    let (action, workflow) = (yaml("action.yml"), yaml("templates/init/workflow.yml"));
    let keys = |map: &Value| -> BTreeSet<String> {
        map.as_mapping().unwrap().keys().map(|k| k.as_str().unwrap().to_owned()).collect()
    };
    let inputs = keys(&action["inputs"]);
    let with = keys(&workflow["jobs"]["uplinker"]["steps"][0]["with"]);
    assert!(with.is_subset(&inputs), "{with:?}");
    assert!(workflow["permissions"].as_mapping().unwrap().is_empty());
    let outputs: BTreeSet<String> =
        report::outputs(None, 0).lines().map(|l| l.split_once('=').unwrap().0.to_owned()).collect();
    assert_eq!(keys(&action["outputs"]), outputs);
}

#[test]
fn no_expression_stands_in_a_script() {
    let workflows =
        [".github/workflows/ci.yml", ".github/workflows/release.yml", "templates/init/workflow.yml"];
    for path in ["action.yml"].into_iter().chain(workflows) {
        let file = yaml(path);
        let jobs = file.get("jobs").and_then(Value::as_mapping).into_iter().flat_map(|jobs| jobs.values());
        let steps: Vec<&Value> =
            jobs.chain([&file["runs"]]).filter_map(|job| job.get("steps")?.as_sequence()).flatten().collect();
        assert!(!steps.is_empty(), "{path}");
        for step in steps {
            let script = step.get("run").and_then(Value::as_str).unwrap_or_default();
            assert!(!script.contains("${{"), "{path}: {script}");
            let uses = step.get("uses").and_then(Value::as_str).unwrap_or("uplinker/uplinker@");
            let pinned = uses.split_once('@').is_some_and(|(_, at)| at.len() == 40);
            assert!(pinned || uses.starts_with("uplinker/uplinker@"), "{path}: {uses} is not pinned");
        }
    }
}

/// Returns the words of an enum, as JSON and tables have them.
fn words(source: &str, name: &str) -> BTreeSet<String> {
    let text = read(source);
    let body = text.split_once(&format!("pub enum {name} {{\n")).unwrap().1.split_once("\n}").unwrap().0;
    let variants = body.lines().filter_map(|line| line.trim().strip_suffix(','));
    let kebab = |variant: &str| {
        let lower = variant.chars().enumerate().flat_map(|(n, c)| {
            let dash = (n > 0 && c.is_ascii_uppercase()).then_some('-');
            dash.into_iter().chain([c.to_ascii_lowercase()])
        });
        lower.collect::<String>()
    };
    variants.map(kebab).collect()
}

/// What stands in quotes behind a word in each row of the table of kinds.
fn of_rows(word: &str, constants: &dyn Fn(&str) -> String) -> Vec<String> {
    let text = read("src/deploy/kinds.rs");
    let rows = text.split_once("const KINDS").unwrap().1.split_once("\n];").unwrap().0;
    let of =
        |line: &str| line.trim().strip_prefix(word).map(|rest| constants(rest.trim_matches([':', ' ', ','])));
    rows.lines().filter_map(of).collect()
}

#[test]
fn every_kind_of_object_that_deploys_is_in_the_documents() {
    let constant = |path: &str| {
        let (file, name) = path.split_once("::").unwrap();
        let place = ["src/deploy/{}.rs", "src/deploy/{}/mod.rs"].map(|form| form.replace("{}", file));
        let place = place.iter().find(|place| Path::new(env!("CARGO_MANIFEST_DIR")).join(place).is_file());
        let text = read(place.unwrap());
        let line = text.split_once(&format!("pub const {name}: &str = \"")).unwrap().1;
        line.split('"').next().unwrap().to_owned()
    };
    let groups = of_rows("group", &constant);
    let names = of_rows("name", &|name| name.trim_matches('"').to_owned());
    let rows: BTreeSet<(String, String)> = names.into_iter().zip(groups).collect();
    let document = read("docs/pins.md");
    let section = document.split_once("## What is followed\n").unwrap().1.split("\n## ").next().unwrap();
    let explained = section.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| `")?.split('`');
        Some((cells.next()?.to_owned(), cells.nth(1)?.to_owned()))
    });
    assert!(rows.len() >= 9);
    assert_eq!(explained.collect::<BTreeSet<_>>(), rows);
    let recipe = read("CONTRIBUTING.md");
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let row = recipe.split_once("```rust\n").unwrap().1.split("```").next().unwrap();
    assert!(plain(&read("src/deploy/kinds.rs")).contains(&plain(row)), "{row}");
    let words = recipe.split('`').filter_map(|text| text.split(' ').next());
    for named in words.filter(|word| word.starts_with("src/") || word.starts_with("tests/")) {
        assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join(named).exists(), "{named}");
    }
}

#[test]
fn every_kind_and_reason_is_explained_in_its_table() {
    let document = read("docs/pins.md");
    let table = |heading: &str| -> BTreeSet<String> {
        let section =
            document.split_once(&format!("## {heading}\n")).unwrap().1.split("\n## ").next().unwrap();
        let first = |row: &str| row.strip_prefix("| `")?.split_once('`').map(|(word, _)| word.to_owned());
        section.lines().filter_map(first).collect()
    };
    assert_eq!(table("Kinds"), words("src/pins/mod.rs", "PinKind"));
    assert_eq!(table("Why a file is not read"), words("src/pins/mod.rs", "SkipReason"));
    let mut reasons = words("src/pins/reason.rs", "Reason");
    reasons.extend(words("src/report/mod.rs", "Outside"));
    assert!(reasons.len() > 15);
    assert_eq!(table("Why a pin stays"), reasons);
}
