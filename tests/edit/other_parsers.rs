//! Two readers of YAML that share no code with the editor: yaml_serde, and PyYAML in a process of its own.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{Mutex, OnceLock},
};

use serde::Deserialize;
use serde_json::Value as Json;
use serde_yaml::Value;

/// Answers each line of JSON, a text, with a line of JSON: its events, or the error as text.
///
/// `BaseLoader` leaves every scalar as text, so that YAML 1.1 and 1.2 do not differ on types.
const SCRIPT: &str = r#"
import json, sys, yaml
def event(e):
    name = type(e).__name__
    out = [name, getattr(e, "anchor", None), getattr(e, "tag", None), getattr(e, "value", None)]
    out.append(getattr(e, "flow_style", None) if "Start" in name else getattr(e, "style", None))
    out.append(getattr(e, "explicit", None))
    return out
print("ready", flush=True)
for line in sys.stdin:
    try:
        answer = [event(e) for e in yaml.parse(json.loads(line), Loader=yaml.BaseLoader)]
    except yaml.YAMLError as e:
        answer = str(e)
    print(json.dumps(answer), flush=True)
"#;

struct Python {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// Ends by itself when its input closes with this process.
    _child: Child,
}

fn start() -> Python {
    let mut child = Command::new("/usr/bin/python3")
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("/usr/bin/python3 must start: install Debian's `python3` and `python3-yaml`");
    let input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut ready = String::new();
    output.read_line(&mut ready).unwrap();
    assert_eq!(ready, "ready\n", "PyYAML is missing: install Debian's `python3-yaml`");
    Python { input, output, _child: child }
}

/// Returns PyYAML's events of a text, or its words against it.
pub fn pyyaml(text: &str) -> Result<Vec<Json>, String> {
    static PYTHON: OnceLock<Mutex<Python>> = OnceLock::new();
    let mut python = PYTHON.get_or_init(|| Mutex::new(start())).lock().unwrap_or_else(|e| e.into_inner());
    writeln!(python.input, "{}", serde_json::to_string(text).unwrap()).unwrap();
    let mut answer = String::new();
    python.output.read_line(&mut answer).unwrap();
    match serde_json::from_str(&answer).unwrap() {
        Json::Array(events) => Ok(events),
        other => Err(other.to_string()),
    }
}

/// Returns the documents of a text as yaml_serde reads them.
pub fn yaml_serde(text: &str) -> Result<Vec<Value>, String> {
    // It counts a byte order mark as indentation of the first line.
    serde_yaml::Deserializer::from_str(text.trim_start_matches('\u{feff}'))
        .map(|document| Value::deserialize(document).map_err(|e| e.to_string()))
        .collect()
}
