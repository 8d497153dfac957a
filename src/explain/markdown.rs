//! Step 9, explain: text from elsewhere, made harmless for Markdown.
//!
//! In: names, values, paths, reasons, notes: all untrusted. Out: Markdown that shows the same characters and does
//! nothing: no mention, no reference, no link, no image, no HTML, no formula, nothing hidden. Pure.

use super::Dialect;

/// The most characters that one foreign string may show.
const LONGEST: usize = 300;
/// A word of hexadecimal digits that is longer than this names a commit, if there is one.
const PIECE: usize = 6;
/// The longest name of a commit; a longer word is another digest.
const COMMIT: usize = 40;
/// Stands for an empty text, since nothing at all would leave the bare dash of a list, which makes a heading of the line
/// above.
const NOTHING: &str = "(empty)";
/// Where Linkerd's documentation is.
const DOCUMENTATION: &str = "https://linkerd.io/";

/// Makes one foreign string harmless in running text or in a table cell; it becomes one line of bounded length.
pub fn safe(text: &str) -> String {
    safe_to(text, LONGEST, &Dialect::COMMON)
}

/// The same with another bound, for a forge.
pub(super) fn safe_to(text: &str, longest: usize, dialect: &Dialect) -> String {
    match visible(text, longest) {
        text if text.is_empty() => NOTHING.to_owned(),
        text => harmless(&text, dialect),
    }
}

/// Tells whether a text has more characters than a bound.
pub(super) fn is_longer(text: &str, longest: usize) -> bool {
    text.len() > longest && text.trim().chars().nth(longest).is_some()
}

/// The same for a sentence that may be as long as it is, in which what stands between two backticks is code.
///
/// ```
/// use uplinker::explain::markdown::whole;
/// assert_eq!(whole("<b>@all| in `a`"), "&#60;b&#62;@&#8203;all&#124; in `a`");
/// ```
pub fn whole(text: &str) -> String {
    quoted(&visible(text, usize::MAX), &Dialect::COMMON)
}

/// The same as [`safe`] for advice, in which an address of Linkerd's documentation stays a link: a reader has to open it.
pub fn advice(text: &str) -> String {
    advice_to(text, LONGEST, &Dialect::COMMON)
}

/// The same with another bound, for a forge.
pub(super) fn advice_to(text: &str, longest: usize, dialect: &Dialect) -> String {
    let text = visible(text, longest);
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '-' | '_');
    let (mut out, mut rest) = (String::new(), text.as_str());
    while let Some((before, after)) = rest.split_once(DOCUMENTATION) {
        let end = after.find(|c| !plain(c)).unwrap_or(after.len());
        let (page, behind) = after.split_at(end);
        // An address that was cut leads elsewhere.
        if behind == "…" {
            break;
        }
        let before = if before.is_empty() { String::new() } else { quoted(before, dialect) };
        out.push_str(&format!("{before}<{DOCUMENTATION}{page}>"));
        rest = behind;
    }
    if out.is_empty() || !rest.is_empty() { out + &quoted(rest, dialect) } else { out }
}

/// The same as [`safe`] for a sentence in which what stands between two backticks is code.
///
/// ```
/// use uplinker::explain::markdown::prose;
/// assert_eq!(prose("name `@crds` under <b>"), "name `@crds` under &#60;b&#62;");
/// ```
pub fn prose(text: &str) -> String {
    prose_to(text, LONGEST, &Dialect::COMMON)
}

/// The same with another bound, for a forge.
pub(super) fn prose_to(text: &str, longest: usize, dialect: &Dialect) -> String {
    quoted(&visible(text, longest), dialect)
}

/// Shows what stands between backticks as code; a backtick without its other is text.
fn quoted(text: &str, dialect: &Dialect) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    let mut out = String::with_capacity(text.len() + 16);
    for (n, part) in parts.iter().enumerate() {
        let alone = n + 1 == parts.len();
        match (n % 2 == 1, alone) {
            (false, _) => out.push_str(&harmless(part, dialect)),
            // An empty pair would begin a longer fence.
            (true, false) if !part.trim().is_empty() => out.push_str(&code_to(part, LONGEST, dialect)),
            (true, false) => {}
            (true, true) => out.push_str(&harmless(&format!("`{part}"), dialect)),
        }
    }
    match out.trim().is_empty() {
        // What held only empty pairs.
        true if !text.trim().is_empty() => harmless(text, dialect),
        true => NOTHING.to_owned(),
        false => out,
    }
}

fn harmless(text: &str, dialect: &Dialect) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let chars: Vec<char> = text.chars().collect();
    let mut hash: Option<(usize, usize)> = None;
    for (i, &c) in chars.iter().enumerate() {
        let next = chars.get(i + 1).copied().unwrap_or(' ');
        if hash.is_none_or(|(_, end)| i >= end) {
            hash = hash_at(&chars, i);
        }
        // No piece of it is as long as the shortest name of a commit.
        if hash.is_some_and(|(start, _)| i > start && (i - start) % PIECE == 0) {
            out.push_str("&#8203;");
        }
        match c {
            // A reference or a mention is found in the finished text, after entities are read: only another
            // character between sign and name undoes it.
            '@' => out.push_str("@&#8203;"),
            '#' => out.push_str("&#35;&#8203;"),
            ':' if next == '/' => out.push_str(":&#8203;"),
            ':' if is_emoji_name(&chars, i) => out.push_str(":&#8203;"),
            '.' if ends_with_word(&chars, i, "www") => out.push_str("&#8203;."),
            '-' if ends_with_word(&chars, i, "gh") => out.push_str("-&#8203;"),
            '-' | '+' | '=' | ':' if i == 0 => entity(&mut out, c),
            // Boxes too may be looked for in the finished text.
            '[' if i == 0 => out.push_str("&#91;&#8203;"),
            '.' if i > 0 && chars.iter().take(i).all(char::is_ascii_digit) => entity(&mut out, c),
            '&' | '<' | '>' | '"' | '\'' | '\\' | '`' | '*' | '_' | '[' | ']' | '(' | ')' | '{' | '}'
            | '~' | '|' | '!' | '$' | '^' => entity(&mut out, c),
            '/' if i == 0 && dialect.commands => entity(&mut out, c),
            c => out.push(c),
        }
        // What follows the text may be a name too.
        let ends = i + 1 == chars.len();
        if dialect.signs.contains(&c) && (ends || !next.is_whitespace()) {
            out.push_str("&#8203;");
        }
    }
    out
}

/// Shows one foreign string as code, so that it can be copied unchanged; one that would end the code, or pass for a
/// hidden mark of ours, is shown as text instead.
pub fn code(text: &str) -> String {
    code_to(text, LONGEST, &Dialect::COMMON)
}

/// The same with another bound, for a forge; what is over the bound is counted.
pub(super) fn code_to(text: &str, longest: usize, dialect: &Dialect) -> String {
    // In a table a bar ends the cell, in code too.
    coded(text, longest, &['|', '\\'], dialect)
}

/// The same where no table is.
pub(super) fn line_code_to(text: &str, longest: usize, dialect: &Dialect) -> String {
    coded(text, longest, &[], dialect)
}

fn coded(text: &str, longest: usize, act: &[char], dialect: &Dialect) -> String {
    let left = if is_longer(text, longest) { text.trim().chars().count() - longest } else { 0 };
    let text = visible(text, longest);
    let acts = text.contains('`') || text.contains(act) || text.contains("<!--");
    if text.is_empty() {
        return NOTHING.to_owned();
    }
    let shown = match acts || text.starts_with(' ') || text.ends_with(' ') {
        true => harmless(&text, dialect),
        false => format!("`{text}`"),
    };
    match left {
        0 => shown,
        left => format!("{shown} and {left} more characters"),
    }
}

/// Makes one foreign string harmless in a commit message: one line, no mention, no reference on any forge, since a
/// commit may be mirrored to each of them.
pub fn plain(text: &str) -> String {
    let text = visible(text, LONGEST);
    let mut out = String::with_capacity(text.len());
    let chars: Vec<char> = text.chars().collect();
    let mut hash: Option<(usize, usize)> = None;
    for (i, &c) in chars.iter().enumerate() {
        if hash.is_none_or(|(_, end)| i >= end) {
            hash = hash_at(&chars, i).filter(|(start, end)| end - start <= COMMIT);
        }
        if hash.is_some_and(|(start, _)| i > start && (i - start) % PIECE == 0) {
            out.push(' ');
        }
        out.push(c);
        let next = chars.get(i + 1).copied().unwrap_or(' ');
        let url = c == ':' && next == '/';
        let ticket = c == '-' && next.is_ascii_digit() && ends_with_word(&chars, i, "gh");
        let refers = match c {
            '@' | '#' => next.is_alphanumeric(),
            '!' | '%' | '$' | '&' => next.is_ascii_digit(),
            _ => false,
        };
        if url || ticket || refers {
            out.push(' ');
        }
    }
    out
}

/// Shows what hides: control and format characters become their names, line ends become spaces.
fn visible(text: &str, longest: usize) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.trim().chars();
    for c in chars.by_ref().take(longest) {
        match c {
            '\n' | '\r' | '\t' => out.push(' '),
            c if is_hidden(c) => out.push_str(&format!("‹U+{:04X}›", c as u32)),
            c => out.push(c),
        }
    }
    if chars.next().is_some() {
        out.push('…');
    }
    out
}

/// Tells whether a character could move a cursor, hide text, or turn its direction.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}')
        || matches!(c, '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}')
        || matches!(c, '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}')
        || matches!(c, '\u{e0000}'..='\u{e0fff}')
}

fn entity(out: &mut String, c: char) {
    out.push_str(&format!("&#{};", c as u32));
}

/// `:name:` is shown as a picture.
fn is_emoji_name(chars: &[char], colon: usize) -> bool {
    let rest = chars.get(colon + 1..).unwrap_or_default();
    let name = rest.iter().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '+' | '-')).count();
    match rest.get(name) {
        Some(c) => name > 0 && *c == ':',
        // The words around may go on with the other colon. A number at the end is a line or a port.
        None => rest.iter().any(|c| !c.is_ascii_digit()),
    }
}

/// Finds the word that begins here and could be the name of a commit: its place and its end.
fn hash_at(chars: &[char], start: usize) -> Option<(usize, usize)> {
    let before = start.checked_sub(1).and_then(|n| chars.get(n));
    if before.is_some_and(|c| c.is_ascii_alphanumeric()) {
        return None;
    }
    let word = chars.iter().skip(start).take_while(|c| c.is_ascii_alphanumeric());
    let (mut length, mut hex) = (0, true);
    for c in word {
        (length, hex) = (length + 1, hex && c.is_ascii_hexdigit());
    }
    (hex && length > PIECE).then_some((start, start + length))
}

fn ends_with_word(chars: &[char], end: usize, word: &str) -> bool {
    let Some(start) = end.checked_sub(word.len()) else { return false };
    let found = chars.get(start..end).unwrap_or_default();
    found.iter().map(char::to_ascii_lowercase).eq(word.chars())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_acts() {
        for (text, harmless) in [
            ("@linkerd/admins", "@&#8203;linkerd/admins"),
            ("fixes #1", "fixes &#35;&#8203;1"),
            ("closes o/r#1", "closes o/r&#35;&#8203;1"),
            ("GH-12", "GH-&#8203;12"),
            ("resolves https://github.com/o/r/issues/1", "resolves https:&#8203;//github.com/o/r/issues/1"),
            ("www.example.org", "www&#8203;.example.org"),
            ("a@example.org", "a@&#8203;example.org"),
            ("<img src=x>", "&#60;img src=x&#62;"),
            ("<!-- uplinker:skip -->", "&#60;&#33;-- uplinker:skip --&#62;"),
            ("![a](b)", "&#33;&#91;a&#93;&#40;b&#41;"),
            ("```sh", "&#96;&#96;&#96;sh"),
            ("a|b", "a&#124;b"),
            ("$x$ *b* _c_ ~d~", "&#36;x&#36; &#42;b&#42; &#95;c&#95; &#126;d&#126;"),
            ("&#64;me", "&#38;&#35;&#8203;64;me"),
            ("1. item", "1&#46; item"),
            ("[x] box", "&#91;&#8203;x&#93; box"),
            ("at ::warning file=x", "at ::warning file=x"),
            ("::warning::x:", "&#58;:&#8203;warning::&#8203;x:"),
            ("x:tada", "x:&#8203;tada"),
            ("- [x] box", "&#45; &#91;x&#93; box"),
            (":tada: at a.yaml:12:3", ":&#8203;tada: at a.yaml:&#8203;12:3"),
            ("at a7c9f3e, abcdef", "at a7c9f3&#8203;e, abcdef"),
            ("o/r@0123456789abcdef", "o/r@&#8203;012345&#8203;6789ab&#8203;cdef"),
            ("v1.6.8-rc 2026821 facade7x", "v1.6.8-rc 202682&#8203;1 facade7x"),
            ("a\nb\r\n## c", "a b  &#35;&#8203;&#35;&#8203; c"),
            ("a\u{202e}b\u{200b}", "a‹U+202E›b‹U+200B›"),
        ] {
            assert_eq!(safe(text), harmless, "{text}");
        }
    }

    #[test]
    fn only_the_documentation_is_linked_and_nothing_behind_it_acts() {
        assert_eq!(advice("see https://linkerd.io/2-edge/x/"), "see <https://linkerd.io/2-edge/x/>");
        assert_eq!(
            advice("@me https://linkerd.io/a?b=<script> https://linkerd.io.example.org/"),
            "@&#8203;me <https://linkerd.io/a>?b=&#60;script&#62; https:&#8203;//linkerd.io.example.org/"
        );
        assert_eq!(
            advice("https://linkerd.io/a)[x](//y)"),
            format!("<https://linkerd.io/a>{}", safe(")[x](//y)"))
        );
    }

    #[test]
    fn code_stays_code() {
        assert_eq!(code("edge-26.8.3"), "`edge-26.8.3`");
        assert_eq!(code("apps/@team/#1 <b>.yaml"), "`apps/@team/#1 <b>.yaml`");
        assert_eq!(code("a`b"), "a&#96;b");
        assert_eq!(line_code_to("data | a", 9, &Dialect::COMMON), "`data | a`");
        assert_eq!(code("a|b"), "a&#124;b");
        assert_eq!(code("<!-- uplinker:boxes -->"), "&#60;&#33;-- uplinker:boxes --&#62;");
        assert_eq!(code("a\nb"), "`a b`");
        assert_eq!([code(""), prose(" \n"), advice("")], ["(empty)", "(empty)", "(empty)"]);
    }

    #[test]
    fn a_commit_message_references_nothing() {
        assert_eq!(plain("fixes #1, o/r#2, gh-3, @me"), "fixes # 1, o/r# 2, gh- 3, @ me");
        let digest = format!("sha256:{}", "ab".repeat(32));
        assert_eq!(plain(&format!("see a7c9f3e in {digest}")), format!("see a7c9f3 e in {digest}"));
        assert_eq!(
            plain("closes https://github.com/o/r/issues/1"),
            "closes https: //github.com/o/r/issues/1"
        );
    }

    #[test]
    fn what_refers_on_one_forge_alone_is_undone_there() {
        let other = Dialect { signs: &['!', '%', '~', '$', '&', '^'], commands: true, ..Dialect::COMMON };
        let safe = |text: &str| safe_to(text, LONGEST, &other);
        for (text, harmless) in [
            ("!12 and g/p!12", "&#33;&#8203;12 and g/p&#33;&#8203;12"),
            ("%3 ~bug $4 &5", "%&#8203;3 &#126;&#8203;bug &#36;&#8203;4 &#38;&#8203;5"),
            ("100 % & more!", "100 % &#38; more&#33;&#8203;"),
            ("/close", "&#47;close"),
            ("a/close", "a/close"),
        ] {
            assert_eq!(safe(text), harmless, "{text}");
        }
        assert_eq!(plain("see !12 and %3, 5 % of g/p!7"), "see ! 12 and % 3, 5 % of g/p! 7");
    }

    #[test]
    fn long_text_is_cut() {
        assert_eq!(safe(&"x".repeat(9_000)).chars().count(), LONGEST + 1);
    }

    #[test]
    fn what_is_quoted_is_code_and_no_quote_is_left_open() {
        assert_eq!(prose("set `a.b` or `@c`"), "set `a.b` or `@c`");
        assert_eq!(prose("an `open one @me"), "an &#96;open one @&#8203;me");
        assert_eq!(prose("``` x ```"), "`x`");
        assert_eq!(prose("``"), "&#96;&#96;");
        assert_eq!(
            prose("`<!-- uplinker:skip -->` `a|b`"),
            format!("{} a&#124;b", safe("<!-- uplinker:skip -->"))
        );
        assert_eq!(advice("name `x` at https://linkerd.io/a/"), "name `x` at <https://linkerd.io/a/>");
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_markup(text in ".{0,80}") {
            let out = safe(&text);
            proptest::prop_assert!(!out.contains(['<', '>', '`', '|', '[', ']', '\n', '\r', '*', '_', '\\']));
            proptest::prop_assert!(!out.contains("://"));
            proptest::prop_assert!(out.split('@').skip(1).all(|rest| rest.starts_with("&#8203;")));
        }
    }
}
