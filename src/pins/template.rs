//! Step 5, pins: which parameters an expression of an ApplicationSet reads.
//!
//! In: text with `{{...}}` in either of Argo CD's two languages. Out: paths of keys. Nothing is evaluated.

/// Returns the paths of keys that a text's expressions read.
pub(super) fn reads(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for expression in expressions(text) {
        read_expression(expression, &mut found);
    }
    found
}

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

/// Tells whether a text is one expression and nothing else.
pub(super) fn is_whole(text: &str) -> bool {
    let text = text.trim();
    text.starts_with("{{") && text.ends_with("}}") && text.matches("{{").count() == 1
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

fn expressions(text: &str) -> impl Iterator<Item = &str> {
    text.split("{{")
        .skip(1)
        .filter_map(|t| t.split_once("}}"))
        .map(|(inner, _)| inner.trim_matches(['-', ' ']))
}

fn read_expression(expression: &str, found: &mut Vec<Vec<String>>) {
    let words = words(expression);
    if let [Word::Bare(name)] = words.as_slice()
        && !name.starts_with(['.', '$', '('])
    {
        found.push(keys(name));
        return;
    }
    let mut at = 0;
    while let Some(word) = words.get(at) {
        at += 1;
        let Word::Bare(name) = word else { continue };
        if matches!(name.as_str(), "index" | "get") {
            let Some(Word::Bare(base)) = words.get(at) else { continue };
            let mut path = keys(base);
            at += 1;
            while let Some(Word::Quoted(key)) = words.get(at) {
                path.push(key.clone());
                at += 1;
            }
            found.push(path);
        } else if name.starts_with(['.', '$']) {
            found.push(keys(name));
        }
    }
    found.retain(|path| !path.is_empty());
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
        let path = |text: &str| reads(text).iter().map(|p| p.join("/")).collect::<Vec<_>>();
        assert_eq!(path("{{linkerd.chartVersion}}"), ["linkerd/chartVersion"]);
        assert_eq!(path("{{ .linkerd.chartVersion }}"), ["linkerd/chartVersion"]);
        assert_eq!(path("{{- index .linkerd \"chart-version\" | quote -}}"), ["linkerd/chart-version"]);
        assert_eq!(path("{{ index . \"a\" \"b\" }}"), ["a/b"]);
        assert_eq!(path("{{ default \"2026.8.2\" .version }}"), ["version"]);
        assert_eq!(path("{{ .values.x }}-{{values.y}}"), ["values/x", "values/y"]);
        assert_eq!(path("{{ (get . \"v\") | trim }}"), ["v"]);
        assert_eq!(path("main {{ unclosed"), [""; 0]);
    }

    #[test]
    fn a_path_with_expressions_is_a_glob() {
        assert_eq!(as_glob("$values/sites/{{.name}}/v.yaml"), "$values/sites/*/v.yaml");
    }
}
