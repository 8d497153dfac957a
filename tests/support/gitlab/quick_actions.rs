//! What GitLab does with a line that begins with a slash: it is a command, and is taken out of the text.

/// Commands that do something to a merge request.
const COMMANDS: [&str; 12] = [
    "/close",
    "/merge",
    "/approve",
    "/label",
    "/unlabel",
    "/assign",
    "/reviewer",
    "/title",
    "/draft",
    "/ready",
    "/reopen",
    "/target_branch",
];

/// Finds the commands of a text, outside of code; and the text without them.
pub fn taken(text: &str) -> (Vec<String>, String) {
    let (mut found, mut rest) = (Vec::new(), Vec::new());
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let mark = ["```", "~~~"].into_iter().find(|mark| line.trim_start().starts_with(mark));
        fence = match (fence, mark) {
            (None, mark) => mark,
            (Some(open), Some(mark)) if open == mark => None,
            (open, _) => open,
        };
        let command = line.split_whitespace().next().unwrap_or_default();
        match fence.is_none() && COMMANDS.contains(&command) && line.starts_with('/') {
            true => found.push(line.trim_end().to_owned()),
            false => rest.push(line),
        }
    }
    if found.is_empty() { (found, text.to_owned()) } else { (found, rest.join("\n")) }
}
