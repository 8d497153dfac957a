//! Files that say what is expected. With `BLESS=1` in the environment those that differ are written anew instead.

use std::{env, fs, path::Path};

use serde_json::Value;
use similar::TextDiff;

/// Whether files are written anew.
pub fn blessed() -> bool {
    env::var_os("BLESS").is_some()
}

/// Compares a file with a text; a test fails with what differs.
pub fn text(path: &Path, found: &str) {
    let expected = fs::read_to_string(path).unwrap_or_default();
    if found != expected {
        differs(path, &expected, found);
    }
}

/// Compares a file of JSON with a value, however it is written.
pub fn json(path: &Path, found: &Value) {
    let expected = fs::read_to_string(path).unwrap_or_default();
    let value = serde_json::from_str(&expected).unwrap_or(Value::Null);
    if *found != value {
        differs(path, &laid_out(&value), &laid_out(found));
    }
}

fn differs(path: &Path, expected: &str, found: &str) {
    if blessed() {
        fs::write(path, found).expect("a writable source tree");
        return;
    }
    let changes = TextDiff::from_lines(expected, found).unified_diff().to_string();
    panic!("{} differs. If that is wanted, run the test again with BLESS=1.\n{changes}", path.display());
}

/// A line for each entry of a list, whether it stands alone or under a key.
fn laid_out(value: &Value) -> String {
    let list = |value: &Value, indent: &str| match value.as_array() {
        Some(entries) if !entries.is_empty() => {
            let lines: Vec<String> = entries.iter().map(|entry| format!("{indent}  {entry}")).collect();
            format!("[\n{}\n{indent}]", lines.join(",\n"))
        }
        _ => value.to_string(),
    };
    let Some(map) = value.as_object() else { return list(value, "") + "\n" };
    let keys: Vec<String> =
        map.iter().map(|(key, value)| format!("  {key:?}: {}", list(value, "  "))).collect();
    format!("{{\n{}\n}}\n", keys.join(",\n"))
}
