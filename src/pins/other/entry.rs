//! Step 5, pins: keys of lines, as many languages write them, and the heads of sections.
//!
//! In: a line. Out: how deep it stands, its key, and where what is behind it begins; or the name of the section that it begins.

/// How languages begin a definition that has all that follows deeper.
const DEFINES: [&str; 3] = ["(define-public ", "(define ", "class "];

/// Reads the key of a line, or the tag of an element: how deep it stands, its name, and where what is behind it begins.
pub(super) fn entry(line: &str) -> Option<(usize, &str, usize)> {
    let depth = line.len() - line.trim_start_matches([' ', '\t', '-', '*', '#', '/']).len();
    let rest = line.get(depth..)?;
    let tag = rest.strip_prefix('<').and_then(|rest| rest.split_once('>'));
    if let Some((name, _)) = tag.filter(|(name, _)| is_name(name)) {
        return Some((depth, name, depth + name.len() + "<>".len()));
    }
    let begun = defined(rest).or_else(|| variable(rest));
    if let Some((name, behind)) = begun.or_else(|| called(rest)) {
        return Some((depth, name, depth + behind));
    }
    let key = rest.split([':', '=']).next()?;
    let sign = depth + key.len();
    // A program may say before a name what it is: `const version = ..`.
    let name = match line.get(sign..)?.starts_with('=') {
        true => key.trim_end_matches('?').split_whitespace().next_back()?,
        false => key.trim_end().trim_matches(['"', '\'', '`', '*']),
    };
    is_name(name).then_some((depth, name, sign + 1))
}

/// Reads the last name of the section that a line begins, as INI and TOML write it: `linkerd` of `[tools.linkerd]`.
pub(super) fn section(line: &str) -> Option<&str> {
    let whole = bracketed(line.trim_end())?;
    let name = bracketed(whole).unwrap_or(whole).rsplit('.').next()?.trim_matches([' ', '"', '\'']);
    is_name(name).then_some(name)
}

fn bracketed(text: &str) -> Option<&str> {
    text.strip_prefix('[')?.strip_suffix(']')
}

/// Reads the name of a definition that has nothing but its name, and a parent, on its line: `(define-public linkerd`,
/// `class Linkerd < Formula`.
fn defined(rest: &str) -> Option<(&str, usize)> {
    let behind = DEFINES.iter().find_map(|begin| rest.strip_prefix(begin))?;
    let name = behind.split_whitespace().next().filter(|name| is_name(name))?;
    let parent = behind.get(name.len()..)?.trim();
    (parent.is_empty() || parent.starts_with('<')).then_some((name, rest.len()))
}

/// Reads the name of a variable of Terraform's, with what it is declared to be behind it: `variable "linkerd_version" {`.
fn variable(rest: &str) -> Option<(&str, usize)> {
    let label = rest.strip_prefix("variable")?.trim_start().strip_prefix('"')?;
    let (name, behind) = label.split_once('"')?;
    let begins = behind.trim_start();
    let is_block = begins.is_empty() || begins.starts_with('{');
    (is_block && is_name(name)).then_some((name, rest.len() - behind.len()))
}

/// Reads a name with a text in quotes behind it, as Lisp and Ruby write: `(version "2.14.10")`, `version "2.14.10"`.
fn called(rest: &str) -> Option<(&str, usize)> {
    let (name, value) = rest.strip_prefix('(').unwrap_or(rest).split_once(' ')?;
    let value = value.trim_start();
    let (_, behind) = value.strip_prefix('"')?.split_once('"')?;
    let behind = behind.trim_start_matches(')').trim_start();
    let is_all = behind.is_empty() || behind.starts_with(['#', ';']);
    (is_all && is_name(name)).then_some((name, rest.len() - value.len()))
}

fn is_name(text: &str) -> bool {
    let is_inside = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'/');
    !text.is_empty() && text.bytes().all(is_inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_in_many_languages() {
        for (line, depth, key, value) in [
            ("  version: 2.14.10", 2, "version", " 2.14.10"),
            ("- version: 2.14.10", 2, "version", " 2.14.10"),
            ("const version = \"2.14.10\"", 0, "version", " \"2.14.10\""),
            ("<version>2.14.10</version>", 0, "version", "2.14.10</version>"),
            ("    (version \"2.14.10\")))", 4, "version", "\"2.14.10\")))"),
            ("  version \"2.14.10\" # of 2022", 2, "version", "\"2.14.10\" # of 2022"),
            ("(define-public linkerd\n", 0, "linkerd", ""),
            ("class Linkerd < Formula", 0, "Linkerd", ""),
            ("variable \"linkerd_version\" {", 0, "linkerd_version", " {"),
        ] {
            let found = entry(line).map(|(depth, key, behind)| (depth, key, &line[behind..]));
            assert_eq!(found, Some((depth, key, value)), "{line}");
        }
        let sections = ["[linkerd]\n", "[[tools.\"linkerd\"]]", "[ a.linkerd ]"];
        assert_eq!(sections.map(section), [Some("linkerd"); 3]);
        assert_eq!(["  [a]", "[a] = 1", "[a, b]", "[]"].map(section), [None; 4]);
        for line in [
            "resource \"helm_release\" \"a\" {",
            "module \"linkerd\" {",
            "url \"https://acme.example\",",
            "(define (linkerd version)",
            "class Linkerd extends Chart {",
            "(package",
            "version \"2.14.10",
            "",
        ] {
            assert_eq!(entry(line), None, "{line}");
        }
    }
}
