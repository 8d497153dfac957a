//! YAML as the controllers write it before they fill a template or substitute variables: sigs.k8s.io/yaml, whose emitter
//! is go-yaml v2 (`encode.go`, `emitterc.go`). Quotes of the author's are lost on that way, so that what is filled in may
//! be typed anew: `"${count}"` becomes a number.

use super::{
    files::Files,
    read,
    typed::{self, Typed, typed},
    value::{Part, Scalar, Value},
};

/// How far a nested block stands in.
const INDENT: usize = 2;

/// How a text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

/// Writes a value as a document, keys in order.
pub fn document(value: &Value) -> Scalar {
    let mut writer = Writer { parts: Vec::new() };
    match value {
        Value::Scalar(scalar) => {
            writer.scalar(scalar, 0);
            writer.made("\n");
        }
        value => writer.block(value, 0, false),
    }
    Scalar::of(writer.parts, false)
}

/// Changes the text of every scalar and key that `touches` names, in the form in which the controllers write it, and
/// reads it again: what comes may be typed anew, or be more than a scalar.
///
/// # Errors
/// Where `change` refuses, or what comes of it is no YAML.
pub fn rewritten(
    value: &Value,
    files: &dyn Files,
    touches: &dyn Fn(&str) -> bool,
    change: &mut dyn FnMut(&Scalar) -> Result<Scalar, String>,
) -> Result<Option<Value>, String> {
    let mut rewriter = Rewriter { files, touches, change };
    rewriter.value(value, "a: ")
}

struct Rewriter<'a> {
    files: &'a dyn Files,
    touches: &'a dyn Fn(&str) -> bool,
    change: &'a mut dyn FnMut(&Scalar) -> Result<Scalar, String>,
}

struct Writer {
    parts: Vec<Part>,
}

// === impl Rewriter ===

impl Rewriter<'_> {
    fn value(&mut self, value: &Value, context: &str) -> Result<Option<Value>, String> {
        match value {
            Value::Scalar(scalar) if (self.touches)(&scalar.text()) => self.scalar(scalar, context).map(Some),
            Value::Scalar(_) => Ok(None),
            Value::List(items) => {
                let mut new: Option<Vec<Value>> = None;
                for (at, item) in items.iter().enumerate() {
                    if let Some(item) = self.value(item, "- ")? {
                        new.get_or_insert_with(|| items.to_vec())[at] = item;
                    }
                }
                Ok(new.map(Value::list))
            }
            Value::Map(map) => {
                let mut new: Option<Value> = None;
                for (key, value) in map.iter() {
                    let changed = self.value(value, "a: ")?;
                    if (self.touches)(key) {
                        let key_text = (self.change)(&Scalar::made(key))?.shown();
                        let out = new.get_or_insert_with(|| Value::Map(map.clone()));
                        out.remove(key);
                        out.insert(&key_text, changed.unwrap_or_else(|| value.clone()));
                    } else if let Some(changed) = changed {
                        new.get_or_insert_with(|| Value::Map(map.clone())).insert(key, changed);
                    }
                }
                Ok(new)
            }
        }
    }

    fn scalar(&mut self, scalar: &Scalar, context: &str) -> Result<Value, String> {
        let mut writer = Writer { parts: vec![Part::Made(context.into())] };
        writer.scalar(scalar, INDENT);
        writer.made("\n");
        let text = (self.change)(&Scalar::of(writer.parts, false))?;
        let read = read::documents(&text, self.files.ceilings()).map_err(|error| error.to_string())?;
        let value = match read.first() {
            Some(Value::Map(map)) => map.get("a").cloned(),
            Some(Value::List(items)) => items.first().cloned(),
            _ => None,
        };
        value.ok_or_else(|| "what is filled in makes other YAML of it".to_owned())
    }
}

// === impl Writer ===

impl Writer {
    fn made(&mut self, text: &str) {
        self.parts.push(Part::Made(text.into()));
    }

    fn block(&mut self, value: &Value, depth: usize, behind_dash: bool) {
        let indent = " ".repeat(depth);
        match value {
            Value::Scalar(scalar) => {
                self.scalar(scalar, depth);
                self.made("\n");
            }
            Value::List(items) => {
                for (at, item) in items.iter().enumerate() {
                    if at > 0 || !behind_dash {
                        self.made(&indent);
                    }
                    self.made("- ");
                    self.nested(item, depth + INDENT, true);
                }
            }
            Value::Map(map) => {
                let mut entries: Vec<_> = map.iter().collect();
                entries.sort_by_key(|(key, _)| (*key).clone());
                for (at, (key, value)) in entries.into_iter().enumerate() {
                    if at > 0 || !behind_dash {
                        self.made(&indent);
                    }
                    self.scalar(&Scalar::made(key), depth);
                    self.made(":");
                    match value {
                        Value::Map(map) if !map.is_empty() => {
                            self.made("\n");
                            self.block(value, depth + INDENT, false);
                        }
                        Value::List(items) if !items.is_empty() => {
                            self.made("\n");
                            self.block(value, depth, false);
                        }
                        value => {
                            self.made(" ");
                            self.nested(value, depth + INDENT, false);
                        }
                    }
                }
            }
        }
    }

    fn nested(&mut self, value: &Value, depth: usize, dash: bool) {
        match value {
            Value::Map(map) if map.is_empty() => self.made("{}\n"),
            Value::List(items) if items.is_empty() => self.made("[]\n"),
            value => self.block(value, depth, dash),
        }
    }

    fn scalar(&mut self, scalar: &Scalar, depth: usize) {
        let text = scalar.text();
        let canonical = match typed(scalar) {
            Typed::Text(_) => None,
            Typed::Null => Some("null".to_owned()),
            Typed::Bool(is) => Some(is.to_string()),
            Typed::Int(number) => Some(number.to_string()),
            Typed::Float(number) => Some(typed::number(number)),
        };
        match canonical {
            Some(canonical) if canonical == *text => self.parts.extend_from_slice(scalar.parts()),
            Some(canonical) => self.made(&canonical),
            None => match style(&text) {
                Style::Plain => self.parts.extend_from_slice(scalar.parts()),
                Style::Single => self.escaped(scalar, '\'', |c| (c == '\'').then(|| "''".to_owned())),
                Style::Double => self.escaped(scalar, '"', double_escape),
                Style::Literal => self.literal(scalar, &text, depth.max(INDENT)),
            },
        }
    }

    fn escaped(&mut self, scalar: &Scalar, quote: char, escape: impl Fn(char) -> Option<String>) {
        let text = scalar.text();
        self.made(&quote.to_string());
        let mut from = 0;
        for (at, c) in text.char_indices() {
            if let Some(escape) = escape(c) {
                self.parts.extend_from_slice(scalar.cut(from..at).parts());
                self.made(&escape);
                from = at + c.len_utf8();
            }
        }
        self.parts.extend_from_slice(scalar.cut(from..text.len()).parts());
        self.made(&quote.to_string());
    }

    fn literal(&mut self, scalar: &Scalar, text: &str, depth: usize) {
        let hint = if text.starts_with([' ', '\n']) { INDENT.to_string() } else { String::new() };
        let chomp = match text.strip_suffix('\n') {
            None => "-",
            Some(rest) if rest.is_empty() || rest.ends_with('\n') => "+",
            Some(_) => "",
        };
        self.made(&format!("|{hint}{chomp}\n"));
        let body = text.strip_suffix('\n').unwrap_or(text);
        let indent = " ".repeat(depth);
        let mut at = 0;
        for (number, line) in body.split('\n').enumerate() {
            if number > 0 {
                self.made("\n");
            }
            if !line.is_empty() {
                self.made(&indent);
                self.parts.extend_from_slice(scalar.cut(at..at + line.len()).parts());
            }
            at += line.len() + 1;
        }
    }
}

fn double_escape(c: char) -> Option<String> {
    Some(match c {
        '"' => "\\\"".to_owned(),
        '\\' => "\\\\".to_owned(),
        '\n' => "\\n".to_owned(),
        '\t' => "\\t".to_owned(),
        '\r' => "\\r".to_owned(),
        c if is_printable(c) => return None,
        c if u32::from(c) <= 0xff => format!("\\x{:02X}", u32::from(c)),
        c if u32::from(c) <= 0xffff => format!("\\u{:04X}", u32::from(c)),
        c => format!("\\U{:08X}", u32::from(c)),
    })
}

fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}') && c != '\u{feff}'
}

fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Says how go-yaml writes a text in a block.
fn style(text: &str) -> Style {
    let wanted = match () {
        () if text.contains('\n') => Style::Literal,
        () if matches!(typed::plain(text), Typed::Text(_)) && !is_base_60(text) && !is_time(text) => {
            Style::Plain
        }
        () => Style::Double,
    };
    let seen = Looks::of(text);
    match wanted {
        Style::Plain if seen.plain => Style::Plain,
        Style::Plain if seen.single => Style::Single,
        Style::Literal if seen.block => Style::Literal,
        _ => Style::Double,
    }
}

/// A number in base 60, which YAML 1.1 readers would take for one.
fn is_base_60(text: &str) -> bool {
    let digits = text.trim_start_matches(['-', '+']);
    digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.contains(':')
        && digits.chars().all(|c| c.is_ascii_digit() || matches!(c, ':' | '_' | '.'))
}

/// A date, which go-yaml would read as a time.
fn is_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digits =
        |range: std::ops::Range<usize>| bytes.get(range).is_some_and(|b| b.iter().all(u8::is_ascii_digit));
    let mut parts = text.splitn(3, '-');
    let short = |part: Option<&str>| {
        part.is_some_and(|p| matches!(p.len(), 1 | 2) && p.bytes().all(|b| b.is_ascii_digit()))
    };
    let day_and_time = |part: &str| {
        let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        matches!(end, 1 | 2)
            && (end == part.len() || part[end..].starts_with(['T', 't', ' ']) && part.contains(':'))
    };
    digits(0..4)
        && parts.next().is_some_and(|p| p.len() == 4)
        && short(parts.next())
        && parts.next().is_some_and(day_and_time)
}

/// What a text may be written as (`yaml_emitter_analyze_scalar`).
struct Looks {
    plain: bool,
    single: bool,
    block: bool,
}

// === impl Looks ===

impl Looks {
    fn of(text: &str) -> Self {
        if text.is_empty() {
            return Self { plain: false, single: true, block: false };
        }
        let mut indicators = text.starts_with("---") || text.starts_with("...");
        let mut special = false;
        let (mut break_space, mut space_break) = (false, false);
        let blank_or_end = |c: Option<char>| c.is_none_or(|c| c == ' ' || c == '\t' || is_break(c));
        let mut before: Option<char> = None;
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            let next = chars.peek().copied();
            // go-yaml counts a blank alone here, not a break or the end's absence.
            let followed = next.is_none_or(|c| c == ' ' || c == '\t');
            indicators |= match c {
                '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@'
                | '`'
                    if before.is_none() =>
                {
                    true
                }
                '?' | '-' if before.is_none() => followed,
                ':' => followed,
                '#' => blank_or_end(before),
                _ => false,
            };
            special |= !is_printable(c);
            space_break |= is_break(c) && before == Some(' ');
            break_space |= c == ' ' && before.is_some_and(is_break);
            before = Some(c);
        }
        let edge = |c: Option<char>| c.is_some_and(|c| c == ' ' || is_break(c));
        let edges = edge(text.chars().next()) || edge(before);
        let breaks = text.chars().any(is_break);
        let bad = space_break || special;
        Self {
            plain: !(indicators || edges || breaks || break_space || bad),
            single: !(break_space || bad),
            block: !(bad || before == Some(' ')),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{deploy::testing::files, yaml::Ceilings};

    fn text(value: &str) -> String {
        document(&Value::made(value)).text().into_owned()
    }

    // Source: what sigs.k8s.io/yaml v1.6 writes for these texts.
    #[test]
    fn texts_are_quoted_as_go_yaml_quotes_them() {
        for (value, expected) in [
            ("plain", "plain\n"),
            ("${a}", "${a}\n"),
            ("a: ${b}", "'a: ${b}'\n"),
            ("", "\"\"\n"),
            ("true", "\"true\"\n"),
            ("26.8", "\"26.8\"\n"),
            ("1_0", "\"1_0\"\n"),
            ("yes", "\"yes\"\n"),
            ("2026-08-02", "\"2026-08-02\"\n"),
            ("12:30", "\"12:30\"\n"),
            ("edge-26.8.2", "edge-26.8.2\n"),
            ("- x", "'- x'\n"),
            ("-x", "-x\n"),
            ("it's", "it's\n"),
            ("'q'", "'''q'''\n"),
            ("a #b", "'a #b'\n"),
            ("a\tb", "\"a\\tb\"\n"),
            (" x", "' x'\n"),
            ("a\nb", "|-\n  a\n  b\n"),
            ("a\nb\n", "|\n  a\n  b\n"),
            ("a\n\n", "|+\n  a\n\n"),
            ("{{ .x }}", "'{{ .x }}'\n"),
            ("x{y}", "x{y}\n"),
        ] {
            assert_eq!(text(value), expected, "{value:?}");
        }
    }

    #[test]
    fn documents_are_written_as_go_yaml_writes_them() {
        let yaml = "b: [1, {x: 2, a: []}, [3]]\na: {k: 'true', n: null, f: 1.50, e: {}}\n";
        let value = read::mapping(&Scalar::made(yaml), &Ceilings::default()).unwrap();
        assert_eq!(
            document(&value).text(),
            "a:\n  e: {}\n  f: 1.5\n  k: \"true\"\n  \"n\": null\nb:\n- 1\n- a: []\n  x: 2\n- - 3\n"
        );
    }

    #[test]
    fn what_is_filled_in_is_typed_anew() {
        let yaml = "a: '${v}'\nb: 'x: ${v}'\nc: ['${v}', \"true${v}\"]\nd: |\n  l1\n  ${v}\n${v}: 1\n";
        let value = read::mapping(&Scalar::made(yaml), &Ceilings::default()).unwrap();
        let fill = |new: &'static str| {
            move |scalar: &Scalar| {
                let at = scalar.text().find("${v}").unwrap();
                Ok(scalar.splice(at..at + 4, &Scalar::made(new)))
            }
        };
        let files = files(&[]);
        let touches = |text: &str| text.contains("${");
        let filled = rewritten(&value, &files, &touches, &mut fill("3")).unwrap().unwrap();
        let scalar = |keys: &[&str]| filled.scalar(keys).cloned().unwrap();
        assert_eq!(typed(&scalar(&["a"])), Typed::Int(3));
        assert_eq!(typed(&scalar(&["b"])), Typed::Text("x: 3".to_owned()));
        assert_eq!(typed(filled.list_at("c")[0].as_scalar().unwrap()), Typed::Int(3));
        assert_eq!(typed(filled.list_at("c")[1].as_scalar().unwrap()), Typed::Text("true3".to_owned()));
        assert_eq!(scalar(&["d"]).text(), "l1\n3\n");
        assert_eq!(scalar(&["3"]).text(), "1");
        let mapping = rewritten(&value, &files, &touches, &mut fill("{k: w}")).unwrap().unwrap();
        assert_eq!(mapping.text(&["a", "k"]).unwrap(), "w");
        assert!(rewritten(&value, &files, &touches, &mut fill("k: w")).is_err());
    }
}
