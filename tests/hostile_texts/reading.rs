//! Reads a body as GitHub does: CommonMark with GitHub's extensions, then mentions and references in what is shown.

use comrak::{
    Arena, Options,
    nodes::{AstNode, NodeValue},
    parse_document,
};

fn options() -> Options<'static> {
    let mut options = Options::default();
    let extension = &mut options.extension;
    extension.strikethrough = true;
    extension.table = true;
    extension.autolink = true;
    extension.tasklist = true;
    extension.footnotes = true;
    extension.alerts = true;
    extension.math_dollars = true;
    extension.math_code = true;
    options
}

/// Returns what the body is made of, but for words and code: each block, link, picture, tag and box, in order.
pub fn structure(body: &str) -> Vec<String> {
    let arena = Arena::new();
    let root = parse_document(&arena, body, &options());
    root.descendants().filter_map(part).collect()
}

fn part<'a>(node: &'a AstNode<'a>) -> Option<String> {
    Some(match &node.data.borrow().value {
        // What stands between tags is words, which may be code or not.
        NodeValue::Text(_) | NodeValue::Code(_) | NodeValue::SoftBreak => return None,
        NodeValue::Link(link) => format!("link {}", link.url),
        NodeValue::HtmlBlock(html) => format!("html {:?}", tags(&html.literal)),
        NodeValue::HtmlInline(html) => format!("html {:?}", tags(html)),
        NodeValue::TaskItem(_) => "box".to_owned(),
        NodeValue::Heading(heading) => format!("heading {}", heading.level),
        NodeValue::CodeBlock(_) => "code block".to_owned(),
        other => other.xml_node_name().to_owned(),
    })
}

/// The tags of some HTML; of the marker, which differs by its content, only that it is one.
fn tags(html: &str) -> Vec<String> {
    let mut tags = Vec::new();
    for part in html.split('<').skip(1) {
        let tag = part.split_inclusive('>').next().unwrap_or_default();
        let is_marker = tag.starts_with("!-- uplinker:v1 ") && tag.ends_with(" -->");
        tags.push(if is_marker { "the marker".to_owned() } else { format!("<{tag}") });
    }
    tags
}

/// Returns the words that are shown, and the marks of ours in code among them.
fn shown(body: &str) -> (String, Vec<String>) {
    let arena = Arena::new();
    let root = parse_document(&arena, body, &options());
    let mut shown = String::new();
    let mut foreign_marks = Vec::new();
    for node in root.descendants() {
        match &node.data.borrow().value {
            NodeValue::Text(text) => shown.push_str(text),
            NodeValue::HtmlInline(html)
            | NodeValue::HtmlBlock(comrak::nodes::NodeHtmlBlock { literal: html, .. }) => {
                shown.push_str(&decoded(html));
            }
            NodeValue::Code(code) => {
                if code.literal.contains("<!-- uplinker") {
                    foreign_marks.push(format!("a mark in code: {}", code.literal));
                }
                shown.extend(code.literal.chars().filter(|c| is_hidden(*c)));
                shown.push('\u{fffc}');
            }
            _ => shown.push('\n'),
        }
    }
    (shown, foreign_marks)
}

/// Returns what refers or commands on GitLab alone.
pub fn on_gitlab(body: &str) -> Vec<String> {
    let (shown, _) = shown(body);
    let refers = |rest: &str| {
        let mut chars = rest.chars();
        let (sign, next) = (chars.next().unwrap_or(' '), chars.next().unwrap_or(' '));
        match sign {
            '!' | '&' | '$' => next.is_ascii_digit(),
            '%' | '~' => next.is_alphanumeric() || next == '"',
            '^' => rest.starts_with("^alert#"),
            '*' => rest.starts_with("*iteration:"),
            '[' => ["[vulnerability:", "[epic:", "[issue:"].iter().any(|kind| rest.starts_with(kind)),
            _ => false,
        }
    };
    let mut found: Vec<String> = shown
        .char_indices()
        .map(|(at, _)| &shown[at..])
        .filter(|rest| refers(rest))
        .map(|rest| rest.chars().take(30).collect())
        .collect();
    // Commands are looked for in the text as it was sent.
    let command = |line: &&str| line.strip_prefix('/').is_some_and(|r| r.starts_with(char::is_alphabetic));
    found.extend(body.lines().filter(command).map(str::to_owned));
    found
}

/// Returns what the shown words would do or hide.
pub fn effects(body: &str) -> Vec<String> {
    let (shown, mut found) = shown(body);
    let chars: Vec<char> = shown.chars().collect();
    for (n, c) in chars.iter().enumerate() {
        let rest: String = chars.iter().skip(n).take(40).collect();
        let next = chars.get(n + 1).copied().unwrap_or(' ');
        let before = n.checked_sub(1).and_then(|n| chars.get(n)).copied().unwrap_or(' ');
        let lower = rest.to_ascii_lowercase();
        let acts = match c {
            '@' => next.is_ascii_alphanumeric(),
            '#' => next.is_ascii_digit(),
            'g' | 'G' => {
                !before.is_alphanumeric()
                    && lower.strip_prefix("gh-").is_some_and(|r| r.starts_with(|c: char| c.is_ascii_digit()))
            }
            ':' => lower.starts_with("://") || is_emoji(&rest),
            c if c.is_ascii_hexdigit() && !before.is_ascii_alphanumeric() => is_commit(&rest),
            c => is_hidden(*c),
        };
        if acts {
            found.push(escaped(&rest));
        }
    }
    let ours = ["boxes -->", "v1 ", "skip edge-26.8.3 -->", "rebase -->", "retry -->"];
    let marks = body.split("<!-- uplinker:").skip(1);
    found.extend(
        marks.filter(|m| !ours.iter().any(|o| m.starts_with(o))).map(|m| m.chars().take(30).collect()),
    );
    found
}

/// The words between tags, with their entities read.
fn decoded(html: &str) -> String {
    let words: String = html.split('<').filter_map(|p| p.split_once('>')).map(|(_, words)| words).collect();
    let mut parts = words.split("&#");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (number, rest) = part.split_once(';').unwrap_or((part, ""));
        out.extend(number.parse().ok().and_then(char::from_u32));
        out.push_str(rest);
    }
    out
}

fn is_emoji(text: &str) -> bool {
    let name: Vec<&str> = text.splitn(3, ':').collect();
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '+' | '-');
    matches!(name.as_slice(), ["", name, _] if !name.is_empty() && name.chars().all(is_word))
}

/// A word of 7 to 40 hexadecimal digits is a link, if there is such a commit.
fn is_commit(text: &str) -> bool {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
    (7..=40).contains(&end) && text[..end].chars().all(|c| c.is_ascii_hexdigit())
}

/// Control characters, and those that turn the direction of words; the zero-width space that parts a sign from a name is ours.
pub fn is_hidden(c: char) -> bool {
    (c.is_control() && c != '\n')
        || matches!(c, '\u{ad}' | '\u{200c}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{feff}' | '\u{fe0f}' | '\u{e0000}'..='\u{e0fff}')
}

/// Shows a text so that nothing in it hides.
pub fn escaped(text: &str) -> String {
    text.chars().take(80).flat_map(char::escape_debug).collect()
}
