//! A runner of GitHub Actions, as far as `action.yml` needs one: its steps, their conditions, variables and outputs.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use regex::Regex;
use serde_yaml::Value;
use tempfile::TempDir;

/// What the scripts may need of a machine beside the program; no Helm, `gh` or Rust among it.
const TOOLS: [&str; 22] = [
    "awk",
    "bash",
    "cat",
    "curl",
    "cut",
    "dirname",
    "env",
    "find",
    "git",
    "grep",
    "gzip",
    "head",
    "mkdir",
    "mktemp",
    "mv",
    "rm",
    "sed",
    "sha256sum",
    "sort",
    "tail",
    "tar",
    "xargs",
];

/// A machine that uses the action at a ref.
pub struct Runner {
    folder: TempDir,
    action: PathBuf,
    /// The variables of the job.
    variables: BTreeMap<String, String>,
    inputs: BTreeMap<String, String>,
}

/// How a job ended.
pub struct Job {
    /// The steps that ran, with their outputs.
    pub steps: Vec<(String, BTreeMap<String, String>)>,
    /// All that they printed.
    pub log: String,
    /// The exit code of the step that failed.
    pub failed: Option<i32>,
    pub summary: String,
}

/// The action as it is in the repository.
pub fn action() -> Value {
    serde_yaml::from_str(include_str!("../../action.yml")).unwrap()
}

/// The steps of the action.
pub fn steps() -> Vec<Value> {
    action()["runs"]["steps"].as_sequence().unwrap().clone()
}

/// Makes a program of a script.
pub fn script(path: &Path, text: &str) {
    let _ = fs::remove_file(path);
    fs::write(path, format!("#!/usr/bin/env bash\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            copy(&entry.path(), &to.join(entry.file_name()));
        }
    } else {
        fs::copy(from, to).unwrap();
    }
}

fn of_path(program: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    let found = std::env::split_paths(&path).map(|folder| folder.join(program)).find(|place| place.is_file());
    found.unwrap_or_else(|| panic!("no {program} on PATH"))
}

/// The lines `name=value` of a file of the runner.
fn assignments(path: &Path) -> BTreeMap<String, String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|line| line.split_once('=')).map(|(n, v)| (n.to_owned(), v.to_owned())).collect()
}

// === impl Runner ===

impl Runner {
    /// A machine where a workflow says `uses: uplinker/uplinker@REF`.
    pub fn at(reference: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let action = folder.path().join("_actions/uplinker/uplinker").join(reference);
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        for part in
            ["Cargo.toml", "Cargo.lock", "build.rs", "data", "templates", "scripts/action", "src/main.rs"]
        {
            let to = action.join(part);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            copy(&root.join(part), &to);
        }
        for name in ["bin", "temp", "workspace"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        for tool in TOOLS {
            symlink(of_path(tool), folder.path().join("bin").join(tool)).unwrap();
        }
        let defaults = action_defaults();
        let mut runner = Self { folder, action, variables: BTreeMap::new(), inputs: defaults };
        for (name, value) in [
            ("RUNNER_OS", "Linux"),
            ("RUNNER_ARCH", "X64"),
            ("GITHUB_ACTIONS", "true"),
            ("UPLINKER_HELM", "off"),
        ] {
            runner = runner.with(name, value);
        }
        runner.with("GITHUB_SERVER_URL", "https://github.com")
    }

    /// The same with a variable of the job.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    /// The same with an input.
    pub fn input(mut self, name: &str, value: &str) -> Self {
        assert!(
            self.inputs.insert(name.to_owned(), value.to_owned()).is_some(),
            "the action has no input {name}"
        );
        self
    }

    /// The same with one more program, a script.
    pub fn having(self, program: &str, text: &str) -> Self {
        script(&self.folder.path().join("bin").join(program), text);
        self
    }

    /// The folder that the action lies in.
    pub fn action(&self) -> &Path {
        &self.action
    }

    /// The workspace of the job.
    pub fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    /// A file below the folder for temporary ones.
    pub fn temp(&self, path: &str) -> PathBuf {
        self.folder.path().join("temp").join(path)
    }

    /// The names of what lies in the folder for temporary files.
    pub fn left(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path().join("temp")).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// Prepares a command with nothing but the job's own variables.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let bin = self.folder.path().join("bin");
        command.env_clear().envs(&self.variables).env("PATH", bin).env("HOME", self.folder.path());
        command.env("GITHUB_ACTION_PATH", &self.action).env("GITHUB_WORKSPACE", self.workspace());
        command.env("RUNNER_TEMP", self.folder.path().join("temp")).env("LC_ALL", "C.UTF-8");
        command.current_dir(self.workspace());
        command
    }

    /// Runs the steps whose `run` stands before the given one, and that one.
    pub fn until(&self, last: &str) -> Job {
        let mut job = Job { steps: Vec::new(), log: String::new(), failed: None, summary: String::new() };
        for step in steps() {
            let text = |key: &str| step.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            if step.get("if").is_some() && !self.holds(&text("if"), &job) {
                continue;
            }
            let name = text("name");
            if step.get("run").is_some() {
                self.step(&step, &text("id"), &mut job);
            }
            if job.failed.is_some() || name == last {
                break;
            }
        }
        job
    }

    fn step(&self, step: &Value, id: &str, job: &mut Job) {
        let (output, summary) = (self.folder.path().join("output"), self.folder.path().join("summary"));
        for file in [&output, &summary] {
            fs::write(file, "").unwrap();
        }
        let mut command = self.command("/bin/bash");
        let env = step.get("env").and_then(Value::as_mapping).into_iter().flatten();
        for (name, value) in env {
            command.env(name.as_str().unwrap(), self.filled(value.as_str().unwrap(), job));
        }
        command.env("GITHUB_OUTPUT", &output).env("GITHUB_STEP_SUMMARY", &summary);
        let script = step["run"].as_str().unwrap();
        let done = command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script]).output().unwrap();
        job.log.push_str(&String::from_utf8_lossy(&done.stdout));
        job.log.push_str(&String::from_utf8_lossy(&done.stderr));
        job.steps.push((id.to_owned(), assignments(&output)));
        job.summary.push_str(&fs::read_to_string(&summary).unwrap());
        job.failed = (!done.status.success()).then(|| done.status.code().unwrap_or(-1));
    }

    /// Evaluates a condition: comparisons with a text, joined by `&&`.
    fn holds(&self, condition: &str, job: &Job) -> bool {
        let compare = Regex::new(r"^([\w.-]+) (==|!=) '([^']*)'$").unwrap();
        condition.split(" && ").all(|part| {
            let found =
                compare.captures(part).unwrap_or_else(|| panic!("a condition of another form: {part}"));
            (self.value(&found[1], job) == found[3]) == (&found[2] == "==")
        })
    }

    fn filled(&self, text: &str, job: &Job) -> String {
        let expression = Regex::new(r"\$\{\{ ([\w.-]+) \}\}").unwrap();
        let filled = expression.replace_all(text, |found: &regex::Captures<'_>| self.value(&found[1], job));
        assert!(!filled.contains("${{"), "an expression of another form: {text}");
        filled.into_owned()
    }

    fn value(&self, name: &str, job: &Job) -> String {
        let variable = |name: &str| self.variables.get(name).cloned().unwrap_or_default();
        match name.split('.').collect::<Vec<_>>().as_slice() {
            ["inputs", input] => self.inputs[*input].clone(),
            ["github", "token"] => variable("GITHUB_TOKEN"),
            ["github", "server_url"] => variable("GITHUB_SERVER_URL"),
            ["github", "repository"] => variable("GITHUB_REPOSITORY"),
            ["steps", id, "outputs", output] => job.output(id, output),
            _ => panic!("an expression that the tests do not know: {name}"),
        }
    }
}

fn action_defaults() -> BTreeMap<String, String> {
    let inputs = action();
    let default = |(name, input): (&Value, &Value)| {
        let value = input["default"].as_str().unwrap();
        // These two come from the job; a test gives them.
        let value = if value.contains("${{") { "" } else { value };
        (name.as_str().unwrap().to_owned(), value.to_owned())
    };
    inputs["inputs"].as_mapping().unwrap().iter().map(default).collect()
}

// === impl Job ===

impl Job {
    /// Returns an output of a step; empty where there is none.
    pub fn output(&self, step: &str, name: &str) -> String {
        let found = self.steps.iter().find(|(id, _)| id == step).and_then(|(_, outputs)| outputs.get(name));
        found.cloned().unwrap_or_default()
    }

    /// Asserts that the log holds each text.
    pub fn says(&self, texts: &[&str]) -> &Self {
        for text in texts {
            assert!(self.log.contains(text), "the log lacks `{text}`:\n{}", self.log);
        }
        self
    }

    /// Asserts that nothing failed.
    pub fn succeeds(&self) -> &Self {
        assert_eq!(self.failed, None, "{}", self.log);
        self
    }
}
