//! Helm's `--set`: `a.b[0].c=value,d={x,y}` laid into a mapping of values.
//!
//! As Helm's `pkg/strvals/parser.go` reads it, with its bounds. Values are cut out of the text with their places.

use std::borrow::Cow;

use super::value::{Part, Scalar, Value};

/// Helm's highest index of a list.
const INDEX: usize = 65_536;
/// Indexes that are laid out here: a list is filled up to its index, and no values file needs more.
const FILLED: usize = 4_096;
/// Helm's deepest path.
const NESTED: usize = 30;

/// How the values of a line are typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Typing {
    /// `--set`: by their looks.
    Looks,
    /// `--set-string`: as texts.
    Text,
}

/// A line that Helm does not take, or more than is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetError {
    /// The author's: a key without a value.
    #[error("a key has no value")]
    NoValue,
    /// The author's: an index that is no number, or is too large.
    #[error("an index is no number from 0 to {INDEX}")]
    Index,
    /// The author's: a path through a value of another kind.
    #[error("the path leads through a value that is no mapping or no list")]
    Kind,
    /// The author's: deeper than Helm follows.
    #[error("the path has more than {NESTED} keys or indexes")]
    Deep,
    /// The author's: a list without its end.
    #[error("a list has no `}}`")]
    OpenList,
    /// The author's: text between an index and what follows.
    #[error("an index is followed by something else than `.`, `[` or `=`")]
    BehindIndex,
}

/// Lays a line of `--set` or `--set-string` into values.
///
/// # Errors
/// Where Helm refuses the line; what came before stays, as it does in Helm.
pub fn set(values: &mut Value, line: &Scalar, typing: Typing) -> Result<(), SetError> {
    let mut parser = Parser { line, text: line.text(), at: 0, typing, open: 0 };
    while parser.key(values, 0)? == More::Yes {}
    Ok(())
}

struct Parser<'a> {
    line: &'a Scalar,
    text: Cow<'a, str>,
    at: usize,
    typing: Typing,
    open: usize,
}

#[derive(PartialEq, Eq)]
enum More {
    Yes,
    No,
}

/// The value behind `=`.
struct Behind {
    value: Value,
    more: More,
}

// === impl Parser ===

impl Parser<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.text.get(self.at..)?.chars().next()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// Reads up to one of some characters; a backslash takes the next character as it is.
    fn until(&mut self, stops: &[char]) -> (Scalar, Option<char>) {
        let mut parts: Vec<Part> = Vec::new();
        let mut start = self.at;
        loop {
            let here = self.at;
            let next = self.next();
            match next {
                Some('\\') if !stops.contains(&'\\') => {
                    parts.extend_from_slice(self.line.cut(start..here).parts());
                    start = self.at;
                    if self.next().is_none() {
                        return (Scalar::of(parts, false), None);
                    }
                }
                Some(c) if !stops.contains(&c) => {}
                _ => {
                    parts.extend_from_slice(self.line.cut(start..here).parts());
                    return (Scalar::of(parts, false), next);
                }
            }
        }
    }

    fn key(&mut self, data: &mut Value, level: usize) -> Result<More, SetError> {
        let (key, stop) = self.until(&['=', '[', ',', '.']);
        let key = key.text().into_owned();
        match stop {
            None if key.is_empty() => Ok(More::No),
            None => Err(SetError::NoValue),
            Some('[') => {
                let index = self.index()?;
                let mut list = match data.entry(&key) {
                    None => Vec::new(),
                    Some(Value::List(items)) => items.to_vec(),
                    Some(_) => return Err(SetError::Kind),
                };
                let done = self.item(&mut list, index, level);
                put(data, &key, Value::list(list));
                done
            }
            Some('=') => {
                let Behind { value, more } = self.value()?;
                put(data, &key, value);
                Ok(more)
            }
            Some(',') => {
                put(data, &key, Value::made(""));
                Err(SetError::NoValue)
            }
            Some(_) => {
                if level + 1 > NESTED {
                    return Err(SetError::Deep);
                }
                let mut inner = match data.entry(&key) {
                    None => Value::empty(),
                    Some(Value::Map(map)) => Value::Map(map.clone()),
                    Some(_) => return Err(SetError::Kind),
                };
                let done = self.key(&mut inner, level + 1);
                let empty = inner == Value::empty();
                if !empty {
                    put(data, &key, inner);
                } else if done == Ok(More::Yes) {
                    return Err(SetError::NoValue);
                }
                done
            }
        }
    }

    fn index(&mut self) -> Result<usize, SetError> {
        let (index, stop) = self.until(&[']']);
        let index = index.text().parse::<usize>().ok().filter(|n| *n <= INDEX);
        index.filter(|_| stop.is_some()).ok_or(SetError::Index)
    }

    /// Counts the indexes that a path is in the middle of.
    fn item(&mut self, list: &mut Vec<Value>, index: usize, level: usize) -> Result<More, SetError> {
        self.open += 1;
        if self.open > NESTED {
            return Err(SetError::Deep);
        }
        let done = self.slot(list, index, level);
        self.open -= 1;
        done
    }

    fn slot(&mut self, list: &mut Vec<Value>, index: usize, level: usize) -> Result<More, SetError> {
        let (between, stop) = self.until(&['[', '.', '=']);
        if !between.text().is_empty() || stop.is_none() {
            return Err(SetError::BehindIndex);
        }
        let (value, more) = match stop {
            Some('=') => (self.value()?.value, More::Yes),
            Some('[') => {
                let next = self.index()?;
                let mut inner = match list.get(index) {
                    None => Vec::new(),
                    Some(value) if value.is_null() => Vec::new(),
                    Some(Value::List(items)) => items.to_vec(),
                    Some(_) => return Err(SetError::Kind),
                };
                let more = self.item(&mut inner, next, level)?;
                if more == More::No {
                    return Ok(more);
                }
                (Value::list(inner), more)
            }
            _ => {
                // Helm begins anew where something else stands at the index.
                let there = list.get(index).filter(|v| matches!(v, Value::Map(_)));
                let mut inner = there.cloned().unwrap_or_else(Value::empty);
                let more = self.key(&mut inner, level)?;
                // What a line ends with is lost there, where it is nothing and the index is new.
                if more == More::No && index >= list.len() {
                    return Ok(more);
                }
                (inner, more)
            }
        };
        if index >= FILLED {
            return Err(SetError::Index);
        }
        while list.len() <= index {
            list.push(Value::Scalar(Scalar::made("null").as_plain()));
        }
        if let Some(slot) = list.get_mut(index) {
            *slot = value;
        }
        Ok(more)
    }

    fn value(&mut self) -> Result<Behind, SetError> {
        match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            None => return Ok(Behind { value: Value::made(""), more: More::No }),
            Some('{') => self.at += 1,
            Some(_) => {
                let (value, _) = self.until(&[',']);
                return Ok(Behind { value: Value::Scalar(self.typed(value)), more: More::Yes });
            }
        }
        let mut items = Vec::new();
        loop {
            let (item, stop) = self.until(&[',', '}']);
            if stop.is_none() {
                return Err(SetError::OpenList);
            }
            items.push(Value::Scalar(self.typed(item)));
            if stop == Some('}') {
                if self.text.get(self.at..).is_some_and(|rest| rest.starts_with(',')) {
                    self.at += 1;
                }
                return Ok(Behind { value: Value::list(items), more: More::Yes });
            }
        }
    }

    fn typed(&self, value: Scalar) -> Scalar {
        if self.typing == Typing::Text || value.unknown_to().is_some() {
            return value.as_string();
        }
        let text = value.text();
        for word in ["true", "false", "null"] {
            if text.eq_ignore_ascii_case(word) {
                // YAML knows three spellings of each; Helm takes all.
                return if *text == *word { value.as_plain() } else { Scalar::made(word).as_plain() };
            }
        }
        let int = *text == *"0" || (!text.starts_with('0') && text.parse::<i64>().is_ok());
        if int { value.as_plain() } else { value.as_string() }
    }
}

/// Helm sets nothing under an empty key.
fn put(data: &mut Value, key: &str, value: Value) {
    if !key.is_empty() {
        data.insert(key, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{deploy::read, yaml::Ceilings};

    fn yaml(text: &str) -> Value {
        read::mapping(&Scalar::made(text), &Ceilings::default()).unwrap()
    }

    /// Compares what is meant, whoever wrote it.
    fn plainly(value: &Value) -> String {
        match value {
            Value::Scalar(s) => format!("{:?}", crate::deploy::typed::typed(s)),
            Value::List(items) => format!("[{}]", items.iter().map(plainly).collect::<Vec<_>>().join(", ")),
            Value::Map(map) => {
                let mut all: Vec<_> = map.iter().map(|(k, v)| format!("{k}: {}", plainly(v))).collect();
                all.sort();
                format!("{{{}}}", all.join(", "))
            }
        }
    }

    fn after(base: &str, line: &str, typing: Typing) -> Result<String, SetError> {
        let mut values = yaml(base);
        set(&mut values, &Scalar::made(line), typing).map(|()| plainly(&values))
    }

    // Source: the table of helm.sh/helm/v4/pkg/strvals/parser_test.go.
    #[test]
    fn lines_are_laid_into_values() {
        let cases = [
            ("name1=null", "{name1: null}"),
            ("name1=,name2=x", "{name1: '', name2: x}"),
            ("is_null=NULL,t=TRUE", "{is_null: null, t: true}"),
            ("leading_zeros=00009", "{leading_zeros: '00009'}"),
            ("zero_int=0,long_int=1234567890", "{zero_int: 0, long_int: 1234567890}"),
            ("name1=one\\,two,name2=three\\,four", "{name1: 'one,two', name2: 'three,four'}"),
            ("name1=one\\=two", "{name1: 'one=two'}"),
            ("outer.inner1=1,outer.middle.inner=v", "{outer: {inner1: 1, middle: {inner: v}}}"),
            ("name1={value1,value2},b={}", "{name1: [value1, value2], b: ['']}"),
            ("list[0]=foo,list[3]=4", "{list: [foo, null, null, 4]}"),
            ("list[0].a.b=1,list[0].c=2", "{list: [{a: {b: 1}, c: 2}]}"),
            ("nested[1][1]=1", "{nested: [null, [null, 1]]}"),
            ("a\\.b/c=1", "{a.b/c: 1}"),
            ("v=26.8.3,w=2026.8", "{v: 26.8.3, w: '2026.8'}"),
            ("", "{}"),
        ];
        for (line, expected) in cases {
            assert_eq!(after("{}", line, Typing::Looks).as_deref(), Ok(&*plainly(&yaml(expected))), "{line}");
        }
        assert_eq!(after("{}", "a=1,b=true", Typing::Text).unwrap(), plainly(&yaml("{a: '1', b: 'true'}")));
    }

    #[test]
    fn what_was_there_is_kept_or_replaced() {
        let base = "a: {b: 1, c: 2}\nl: [1, {x: 1}]\ns: text\n";
        let expect = |line, expected: &str| {
            assert_eq!(after(base, line, Typing::Looks).as_deref(), Ok(&*plainly(&yaml(expected))), "{line}");
        };
        expect("a.b=3", "{a: {b: 3, c: 2}, l: [1, {x: 1}], s: text}");
        expect("l[0]=9,l[1].y=2", "{a: {b: 1, c: 2}, l: [9, {x: 1, y: 2}], s: text}");
        expect("a=x", "{a: x, l: [1, {x: 1}], s: text}");
    }

    #[test]
    fn what_helm_refuses_is_refused() {
        let deep = vec!["a"; 32].join(".") + "=1";
        let nested = format!("a{}=1", "[0]".repeat(100_000));
        for (line, error) in [
            ("name1", SetError::NoValue),
            ("name1,name2=", SetError::NoValue),
            ("a[x]=1", SetError::Index),
            ("a[-1]=1", SetError::Index),
            ("a[70000]=1", SetError::Index),
            ("a[5000]=1", SetError::Index),
            ("a[0]x=1", SetError::BehindIndex),
            ("s.b=1", SetError::Kind),
            ("s[0]=1", SetError::Kind),
            ("a={x", SetError::OpenList),
            (&deep, SetError::Deep),
            (&nested, SetError::Deep),
        ] {
            assert_eq!(after("s: text", line, Typing::Looks), Err(error), "{line}");
        }
    }
}
