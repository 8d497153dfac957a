//! A pull request's text as a terminal shows it.
//!
//! In: Markdown that `explain` wrote. Out: the same words without its signs: headings, emphasis, folds, entities.

use crate::explain::markdown::is_hidden;

/// What folds and frames a text on a page, and says nothing in a terminal.
const TAGS: [&str; 5] = ["<details>", "</details>", "<summary>", "</summary>", "<br>"];

/// Returns the words of a text, one line a line.
pub(super) fn as_text(markdown: &str) -> String {
    let mut out = String::with_capacity(markdown.len());
    for line in markdown.lines() {
        let trimmed = line.trim();
        let is_rule = trimmed.starts_with("|-") && trimmed.chars().all(|c| "|-: ".contains(c));
        if is_rule || trimmed.starts_with("<!--") || trimmed == "</details>" {
            continue;
        }
        let heading = line.trim_start_matches('#');
        let line = if heading.len() < line.len() { heading.trim_start() } else { line };
        let words = words(line);
        // Where signs alone stood, no second blank line is left.
        if !(words.trim().is_empty() && out.ends_with("\n\n")) {
            out.push_str(words.trim_end());
            out.push('\n');
        }
    }
    out
}

fn words(line: &str) -> String {
    let mut text = TAGS.iter().fold(line.replace("**", ""), |text, tag| text.replace(tag, ""));
    if let Some(row) = text.trim().strip_prefix('|').and_then(|row| row.strip_suffix('|')) {
        text = row.trim().to_owned();
    }
    decoded(&links(&text))
}

/// Writes `[words](address)` as words and address.
fn links(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, behind)) = rest.split_once("](") {
        let (Some((plain, words)), Some((address, after))) =
            (before.rsplit_once('['), behind.split_once(')'))
        else {
            break;
        };
        out.push_str(&format!("{plain}{words} ({address})"));
        rest = after;
    }
    out + rest
}

/// Puts characters in place of `&#40;`; those that would act in a terminal go.
fn decoded(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, behind)) = rest.split_once("&#") {
        out.push_str(before);
        let read = behind
            .split_once(';')
            .and_then(|(digits, after)| Some((char::from_u32(digits.parse().ok()?)?, after)));
        match read {
            Some((c, after)) => {
                out.extend(Some(c).filter(|c| !is_hidden(*c)));
                rest = after;
            }
            None => {
                out.push_str("&#");
                rest = behind;
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signs_of_markdown_go_and_the_words_stay() {
        let page = "**Not rendered: none.** All\n\n| what | now |\n|---|---|\n| `a` | **`b`** |\n\n<details><summary>Where: 3 lines</summary>\n\n\
                    - `x` &#40;`y`&#41;: https:&#8203;//a.example\n\n</details>\n\n### Upstream\n\n**[edge](https://e.example)**, 2026\n<!-- uplinker:v1 {} -->\n";
        let text = "Not rendered: none. All\n\nwhat | now\n`a` | `b`\n\nWhere: 3 lines\n\n- `x` (`y`): https://a.example\n\nUpstream\n\nedge (https://e.example), 2026\n";
        assert_eq!(as_text(page), text);
    }

    #[test]
    fn what_is_no_sign_is_left_and_nothing_acts() {
        assert_eq!(as_text("a & b &#x; [c] (d) ]( &#27;[31m\n"), "a & b &#x; [c] (d) ]( [31m\n");
    }
}
