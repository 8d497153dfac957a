//! Reads a body as GitHub renders Markdown: as the page that a reviewer sees, and for what is broken in it.

use comrak::{
    Arena, Options, markdown_to_html,
    nodes::{AstNode, NodeValue},
    parse_document,
};

/// The only tags that we write.
const TAGS: [&str; 4] = ["details", "/details", "summary", "/summary"];

fn options() -> Options<'static> {
    let mut options = Options::default();
    let extension = &mut options.extension;
    extension.strikethrough = true;
    extension.table = true;
    extension.autolink = true;
    extension.tasklist = true;
    extension.footnotes = true;
    extension.alerts = true;
    options.render.r#unsafe = true;
    options
}

/// The page without a style.
pub fn html(body: &str) -> String {
    markdown_to_html(body, &options())
}

/// Returns what is broken: raw tags, rows that lack cells, headings out of order, lists with nothing in them, folds that
/// are open or never closed, and what is said twice.
pub fn faults(body: &str) -> Vec<String> {
    let arena = Arena::new();
    let root = parse_document(&arena, body, &options());
    let mut faults = Vec::new();
    let (mut level, mut depth) = (2, 0_usize);
    for node in root.descendants() {
        match &node.data.borrow().value {
            NodeValue::Heading(heading) => {
                if heading.level != 3 {
                    faults.push(format!("a heading of level {} after {level}", heading.level));
                }
                level = heading.level;
                if node.next_sibling().is_none_or(|next| is_heading(next)) {
                    faults.push(format!("nothing below `{}`", words(node)));
                }
            }
            NodeValue::Item(_) | NodeValue::TaskItem(_) | NodeValue::Paragraph
                if words(node).trim().is_empty() && node.descendants().count() < 3 =>
            {
                faults.push(format!("empty: {}", node.data.borrow().value.xml_node_name()));
            }
            NodeValue::Text(text) => {
                faults.extend(
                    ["<details", "</", "<!--", "**", "| --"]
                        .iter()
                        .find(|t| text.contains(**t))
                        .map(|tag| format!("`{tag}` is shown in: {text}")),
                );
            }
            NodeValue::HtmlBlock(block) => tags(&block.literal, &mut depth, &mut faults),
            NodeValue::HtmlInline(text) => tags(text, &mut depth, &mut faults),
            _ => {}
        }
    }
    if depth != 0 {
        faults.push(format!("{depth} folds are not closed"));
    }
    faults.extend(rows(body));
    faults.extend(repeated(body));
    faults
}

fn is_heading<'a>(node: &'a AstNode<'a>) -> bool {
    matches!(node.data.borrow().value, NodeValue::Heading(_))
}

fn words<'a>(node: &'a AstNode<'a>) -> String {
    let word = |node: &'a AstNode<'a>| match &node.data.borrow().value {
        NodeValue::Text(text) => text.to_string(),
        NodeValue::Code(code) => code.literal.clone(),
        _ => String::new(),
    };
    node.descendants().map(word).collect()
}

fn tags(html: &str, depth: &mut usize, faults: &mut Vec<String>) {
    for tag in html.split('<').skip(1).map(|part| part.split('>').next().unwrap_or_default()) {
        match tag {
            "details" => *depth += 1,
            "/details" => *depth = depth.wrapping_sub(1),
            _ if TAGS.contains(&tag) || tag.starts_with("!--") => {}
            _ => faults.push(format!("the tag <{tag}>")),
        }
    }
}

/// A row that has not as many cells as its head loses or invents some.
fn rows(body: &str) -> Vec<String> {
    let mut head = None;
    let mut faults = Vec::new();
    for line in body.lines() {
        let cells = line.matches('|').count();
        match head {
            _ if !line.starts_with('|') => head = None,
            None => head = Some(cells),
            Some(wanted) if wanted != cells => faults.push(format!("{cells} instead of {wanted}: {line}")),
            Some(_) => {}
        }
    }
    faults
}

/// A long line that stands there twice.
fn repeated(body: &str) -> Vec<String> {
    let mut seen = std::collections::BTreeSet::new();
    // The same field may differ alike in several objects.
    let lines = body.lines().filter(|line| !line.starts_with("  - `"));
    let long = lines.map(|line| line.trim_start_matches([' ', '-'])).filter(|line| line.len() > 60);
    long.filter(|line| !seen.insert(*line)).map(|line| format!("said twice: {line}")).collect()
}
