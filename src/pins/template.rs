//! Step 5, pins: which parameters an expression of an ApplicationSet reads.
//!
//! In: text with `{{...}}` in either of Argo CD's two languages. Out: paths of keys. Nothing is evaluated.

/// Returns the path of keys of an expression (without its braces) that is one parameter and nothing else.
pub(super) fn parameter(expression: &str) -> Option<Vec<String>> {
    let words = words(expression.trim_matches(['-', ' ']));
    let path = match words.as_slice() {
        [Word::Bare(name)] if !matches!(name.as_str(), "else" | "end" | "break" | "continue") => keys(name),
        [Word::Bare(verb), Word::Bare(base), rest @ ..] if verb == "index" && !rest.is_empty() => {
            let quoted = rest.iter().map(|word| match word {
                Word::Quoted(key) => Some(key.clone()),
                Word::Bare(_) => None,
            });
            let rest: Vec<String> = quoted.collect::<Option<_>>()?;
            keys(base).into_iter().chain(rest).collect()
        }
        _ => return None,
    };
    (!path.is_empty()).then_some(path)
}

/// Replaces each expression by `*`, so that a path becomes a glob.
pub(super) fn as_glob(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((_, behind)) = after.split_once("}}") else { break };
        out.push_str(before);
        out.push('*');
        rest = behind;
    }
    out.push_str(rest);
    out
}

enum Word {
    Bare(String),
    Quoted(String),
}

fn words(expression: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut rest = expression.trim_start();
    while let Some(first) = rest.chars().next() {
        let (word, behind) = match first {
            '"' | '`' | '\'' => {
                let inner = rest.get(1..).unwrap_or_default();
                let (quoted, behind) = inner.split_once(first).unwrap_or((inner, ""));
                (Word::Quoted(quoted.to_owned()), behind)
            }
            '(' | ')' | '|' | ',' => (Word::Bare(String::new()), rest.get(1..).unwrap_or_default()),
            _ => {
                let end =
                    rest.find(|c: char| c.is_whitespace() || "()|,\"`".contains(c)).unwrap_or(rest.len());
                let (bare, behind) = rest.split_at(end);
                (Word::Bare(bare.to_owned()), behind)
            }
        };
        words.push(word);
        rest = behind.trim_start();
    }
    words
}

fn keys(name: &str) -> Vec<String> {
    name.trim_start_matches('$').split('.').filter(|k| !k.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_languages_are_read() {
        let path = |text: &str| parameter(text).map(|path| path.join("/"));
        assert_eq!(path("linkerd.chartVersion").unwrap(), "linkerd/chartVersion");
        assert_eq!(path("- .linkerd.chartVersion -").unwrap(), "linkerd/chartVersion");
        assert_eq!(path("index .linkerd \"chart-version\"").unwrap(), "linkerd/chart-version");
        assert_eq!(path("index . \"a\" \"b\"").unwrap(), "a/b");
        assert_eq!(path("default \"2026.8.2\" .version"), None);
        assert_eq!(path("end"), None);
    }

    #[test]
    fn a_path_with_expressions_is_a_glob() {
        assert_eq!(as_glob("$values/sites/{{.name}}/v.yaml"), "$values/sites/*/v.yaml");
    }
}
