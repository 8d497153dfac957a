//! File changes line by line, as `git diff` writes them.

use std::fmt::Write;

use similar::TextDiff;

use super::escape::{for_terminal, lines_for_terminal};
use crate::repo::{ChangeSet, FileChange, Mode};

/// Returns the changes as unified diffs that are safe on a terminal; coloured where asked.
pub(super) fn unified(changes: &ChangeSet, color: bool) -> String {
    let mut out = String::new();
    for file in &changes.files {
        let text = lines_for_terminal(&one(file));
        match color {
            true => out.extend(text.split_inclusive('\n').map(colored)),
            false => out.push_str(&text),
        }
    }
    out
}

fn one(file: &FileChange) -> String {
    let path = for_terminal(file.path.as_str()).into_owned();
    let (old, new) = (String::from_utf8_lossy(&file.before), file.after.as_deref().unwrap_or_default());
    let new = String::from_utf8_lossy(new);
    let mut out = format!("diff --git a/{path} b/{path}\n");
    let mode = if file.mode == Mode::Executable { "100755" } else { "100644" };
    let (mut from, mut to) = (format!("a/{path}"), format!("b/{path}"));
    // Writing to a String cannot fail.
    if file.before_id.is_none() {
        let _ = writeln!(out, "new file mode {mode}");
        "/dev/null".clone_into(&mut from);
    }
    if file.after.is_none() {
        let _ = writeln!(out, "deleted file mode {mode}");
        "/dev/null".clone_into(&mut to);
    }
    out + &TextDiff::from_lines(old.as_ref(), new.as_ref()).unified_diff().header(&from, &to).to_string()
}

fn colored(line: &str) -> String {
    let code = match line {
        line if line.starts_with("+++") || line.starts_with("---") || line.starts_with("diff ") => "1",
        line if line.starts_with('+') => "32",
        line if line.starts_with('-') => "31",
        line if line.starts_with("@@") => "36",
        line => return line.to_owned(),
    };
    let bare = line.strip_suffix('\n').unwrap_or(line);
    format!("\u{1b}[{code}m{bare}\u{1b}[0m\n")
}
