//! YAML and JSON text read as values whose scalars know their bytes.
//!
//! In: a text in parts, of a file or of a scalar. Out: one [`Value`] a document: aliases and merge keys unfolded, of a key
//! that is written twice the last one, as Go's YAML reads them.

use std::{borrow::Cow, ops::Range, sync::Arc};

use indexmap::IndexMap;

use super::{
    typed,
    value::{Cutter, Origin, Part, Scalar, Unknown, Value, Via},
};
use crate::yaml::{Ceilings, Node, Shape, SourceMap, Stream, Style, YamlError};

/// The most values that one text may unfold to through its aliases.
const CEILING: usize = 200_000;
/// The deepest nesting, aliases followed.
const DEPTH: usize = 100;

/// A text that is not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The author's: no YAML, or over a ceiling of the parser.
    #[error(transparent)]
    Yaml(#[from] YamlError),
    /// The author's: its aliases make more of it than is followed.
    #[error("its aliases unfold to more than {CEILING} values, or deeper than {DEPTH}")]
    Unfolds,
}

/// Reads every document that has content.
///
/// # Errors
/// Where the text is no YAML, or is more than is read.
pub fn documents(text: &Scalar, ceilings: &Ceilings) -> Result<Vec<Value>, ReadError> {
    documents_with(text, ceilings, |key| key.into())
}

/// Reads the first document; an empty text is an empty mapping, as Helm and Argo CD take it.
///
/// # Errors
/// As [`documents`].
pub fn mapping(text: &Scalar, ceilings: &Ceilings) -> Result<Value, ReadError> {
    documents(text, ceilings).map(first)
}

/// Reads a file of values as Helm does: [`mapping`] with keys that stand without quotes typed, which kustomize takes as
/// they stand.
///
/// # Errors
/// As [`documents`].
pub fn values(text: &Scalar, ceilings: &Ceilings) -> Result<Value, ReadError> {
    documents_with(text, ceilings, typed::key).map(first)
}

fn first(documents: Vec<Value>) -> Value {
    let first = documents.into_iter().next();
    first.filter(|value| !value.is_null()).unwrap_or_else(Value::empty)
}

fn documents_with(text: &Scalar, ceilings: &Ceilings, key: PlainKey) -> Result<Vec<Value>, ReadError> {
    let whole = text.text();
    let stream = Stream::parse_within(&whole, ceilings)?;
    let mut reader = Reader { text: Cutter::new(text), whole: &whole, key, left: CEILING };
    stream.roots().map(|root| reader.value(root, DEPTH).ok_or(ReadError::Unfolds)).collect()
}

/// Says what a key that stands without quotes is called.
type PlainKey = for<'k> fn(&'k str) -> Cow<'k, str>;

struct Reader<'a> {
    /// What is read, in parts, and as one text.
    text: Cutter<'a>,
    whole: &'a str,
    key: PlainKey,
    /// How many values may still come.
    left: usize,
}

impl Reader<'_> {
    fn value(&mut self, node: Node<'_>, depth: usize) -> Option<Value> {
        self.left = self.left.checked_sub(1)?;
        let depth = depth.checked_sub(1)?;
        let (written, node) = (node, node.resolved());
        if node.is_sequence() {
            return node.items().map(|item| self.value(item, depth)).collect::<Option<_>>().map(Value::list);
        }
        if node.is_mapping() {
            return self.map(node, depth).map(|map| Value::Map(Arc::new(map)));
        }
        let scalar = self.scalar(node);
        let alias = written.is_alias().then(|| self.text.cut(written.span()));
        Some(Value::Scalar(alias.map_or_else(|| scalar.clone(), |alias| scalar.read_by(&alias))))
    }

    fn map(&mut self, node: Node<'_>, depth: usize) -> Option<IndexMap<Arc<str>, Value>> {
        let depth = depth.checked_sub(1)?;
        let entries = node.entries();
        let mut own = IndexMap::with_capacity(entries.size_hint().0);
        for (key, value) in entries {
            let Some(name) = key.as_str() else { continue };
            if !is_merge(key) {
                let is_plain = key.style() == Some(Style::Plain) && key.tag().is_none();
                let name = if is_plain { (self.key)(name) } else { name.into() };
                let read = match self.code_of(key, value) {
                    Some(code) => Value::Scalar(not_evaluated(&code)),
                    None => self.value(value, depth)?,
                };
                own.insert(Arc::from(name), read);
            }
        }
        for source in node.merged() {
            for (key, value) in self.map(source.resolved(), depth)? {
                own.entry(key).or_insert(value);
            }
        }
        Some(own)
    }

    /// Returns the code of a templating tool that stands in the place of a value. To YAML ytt's is a comment, and an action
    /// (`{{ name }}`) is a mapping in the place of a key, which no deployer takes.
    fn code_of(&self, key: Node<'_>, value: Node<'_>) -> Option<Scalar> {
        match value.shape() {
            Shape::Scalar("", _) => {
                let from = key.span().end;
                let code = code(self.whole.get(from..)?)?;
                Some(self.text.cut(from + code.start..from + code.end))
            }
            Shape::Mapping { flow: true } => is_action(value).then(|| self.text.cut(value.span())),
            _ => None,
        }
    }

    fn scalar(&self, node: Node<'_>) -> Scalar {
        let value = node.as_str().unwrap_or_default();
        let plain = match node.tag() {
            None => node.style() == Some(Style::Plain),
            Some(tag) => matches!(tag.rsplit(':').next(), Some("int" | "float" | "bool" | "null")),
        };
        let span = node.span();
        if self.whole.get(span.clone()) == Some(value) {
            return typed(self.text.cut(span), plain);
        }
        let Some(map) = SourceMap::of(self.whole, node) else { return typed(Scalar::made(value), plain) };
        let mut parts: Vec<Part> = Vec::new();
        let mut at = 0;
        let made = |range: Range<usize>| Part::Made(value.get(range).unwrap_or_default().into());
        for (run, begin) in map.runs() {
            parts.push(made(at..run.start));
            parts.extend_from_slice(self.text.cut(begin..begin + run.len()).parts());
            at = run.end;
        }
        parts.push(made(at..value.len()));
        Scalar::of(parts, plain)
    }
}

/// Finds the code of ytt's (`#@ data.values.version`) in what stands behind a key, without a comment behind it.
pub fn code(behind: &str) -> Option<Range<usize>> {
    let from = behind.trim_start_matches(['"', '\'']).strip_prefix(':')?.trim_start_matches([' ', '\t']);
    // The rest of the line is looked at only where it is code: a line may have many keys.
    let line = from.strip_prefix("#@ ")?.lines().next()?;
    let code = line.split(" # ").next()?.trim_end();
    let start = behind.len() - from.len();
    (!code.is_empty()).then(|| start..start + "#@ ".len() + code.len())
}

/// Finds the code of ytt's in a text: `edge-(@= data.values.version @)`.
pub fn code_in(line: &str) -> Option<Range<usize>> {
    let start = line.find("(@")?;
    let inner = start + "(@".len();
    let end = inner + line.get(inner..)?.find("@)")?;
    Some(start..end + "@)".len())
}

/// Tells whether a mapping is an action of a template: it has a mapping for a key.
fn is_action(node: Node<'_>) -> bool {
    node.entries().any(|(key, _)| key.is_mapping())
}

/// A text for which code stands that is not evaluated here.
fn not_evaluated(code: &Scalar) -> Scalar {
    let who = format!("code that is not evaluated here, `{}`", code.text());
    let of = code.origins().map(|at| Origin { via: Some(Via::Code), ..at.clone() }).collect();
    Scalar::of([Part::Unknown(Unknown { who: who.into(), of })], false)
}

fn typed(mut scalar: Scalar, plain: bool) -> Scalar {
    scalar.plain = plain;
    scalar
}

fn is_merge(key: Node<'_>) -> bool {
    key.as_str() == Some("<<") && key.style() == Some(Style::Plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        deploy::value::Source,
        repo::{BlobId, RepoPath},
        sys::clock::on_processor,
    };

    fn file(text: &str) -> Scalar {
        let path = RepoPath::new("a.yaml").unwrap();
        Scalar::file(&Arc::new(Source { path, blob: BlobId([0; 20]), text: text.into() }))
    }

    fn one(text: &str) -> Value {
        mapping(&file(text), &Ceilings::default()).unwrap()
    }

    /// The texts of the file that a scalar's parts stand in.
    fn written(scalar: &Scalar) -> Vec<(usize, &str)> {
        let place = |part: &'_ Part| match part {
            Part::Written(origin) => Some(origin.span.start),
            _ => None,
        };
        scalar.parts().iter().filter_map(|part| Some((place(part)?, part.text()))).collect()
    }

    #[test]
    fn each_scalar_knows_its_bytes() {
        let text = "a: x\nb: 'y'\nc: \"z\\n1\"\nd: |\n  e: f\n  g: h\ni: >\n  j\n  k\n";
        let value = one(text);
        let at = |needle: &str| text.find(needle).unwrap();
        assert_eq!(written(value.scalar(&["a"]).unwrap()), [(at("x"), "x")]);
        assert_eq!(written(value.scalar(&["b"]).unwrap()), [(at("y"), "y")]);
        assert_eq!(written(value.scalar(&["c"]).unwrap()), [(at("z"), "z"), (at("1"), "1")]);
        assert_eq!(value.text(&["c"]).unwrap(), "z\n1");
        assert_eq!(value.text(&["i"]).unwrap(), "j k\n");
        let inner = mapping(value.scalar(&["d"]).unwrap(), &Ceilings::default()).unwrap();
        assert_eq!(written(inner.scalar(&["g"]).unwrap()), [(at("h\ni"), "h")]);
    }

    #[test]
    fn a_text_of_very_many_parts_is_read_in_time() {
        let lines: String = (0..20_000).map(|n| format!("  - {{a: v{n}, b: w{n}}}\n")).collect();
        let outer = one(&format!("text: |\n{lines}"));
        let text = outer.scalar(&["text"]).unwrap();
        assert!(text.parts().len() >= 20_000, "each line stands in the file by itself");
        let begun = on_processor();
        let inner = documents(text, &Ceilings::default()).unwrap();
        let taken = on_processor() - begun;
        assert_eq!(written(inner[0].items()[19_999].scalar(&["b"]).unwrap())[0].1, "w19999");
        assert!(taken.as_secs() < 20, "{taken:?}");
    }

    #[test]
    fn a_text_that_was_filled_is_read_with_the_places_of_all_its_parts() {
        let outer = file("v: |\n  tag: edge-VAR # c\n  who: VAR2\nx: 26.8.2\n");
        let value = mapping(&outer, &Ceilings::default()).unwrap();
        let (text, x) = (value.scalar(&["v"]).unwrap(), value.scalar(&["x"]).unwrap());
        let at = text.text().find("VAR2").unwrap();
        let filled = text.splice(at..at + 4, &Scalar::unknown("somebody"));
        let at = filled.text().find("VAR").unwrap();
        let filled = filled.splice(at..at + 3, &x.via(Via::Variable));
        let inner = mapping(&filled, &Ceilings::default()).unwrap();
        let tag = inner.scalar(&["tag"]).unwrap();
        assert_eq!(tag.text(), "edge-26.8.2");
        assert_eq!(tag.parts().len(), 2);
        assert_eq!(inner.scalar(&["who"]).unwrap().unknown_to(), Some("somebody"));
    }

    #[test]
    fn aliases_and_merge_keys_lead_to_the_anchor() {
        let value = one("a: &a {v: 1, w: 2}\nb: {<<: *a, w: 3}\nc: *a\n");
        assert_eq!(written(value.scalar(&["b", "v"]).unwrap()), written(value.scalar(&["a", "v"]).unwrap()));
        assert_eq!(value.text(&["b", "w"]).unwrap(), "3");
        assert_eq!(value.path(&["c"]), value.path(&["a"]));
    }

    #[test]
    fn code_of_ytt_stands_for_a_value_that_is_not_known() {
        let value =
            one("a: #@ data.values.a\n'b': #@ f(1)\nc: # @ no\nd: x #@ no\ne: #@\nf: #@ ns()\n  g: 1\n");
        assert_eq!(["a", "b"].map(|key| code_at(&value, key)), ["#@ data.values.a", "#@ f(1)"].map(Some));
        assert_eq!(["c", "d", "e"].map(|key| code_at(&value, key)), [None; 3]);
        assert_eq!(value.text(&["f", "g"]).unwrap(), "1");
        let held = one("a: #@ data.values.a # uplinker: hold\n");
        assert_eq!(code_at(&held, "a"), Some("#@ data.values.a"));
    }

    /// Returns the code that stands for what is not known.
    fn code_at<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
        let mut handed = value.scalar(&[key])?.handed().filter(|at| at.via == Some(Via::Code));
        handed.next().map(Origin::text)
    }

    #[test]
    fn an_action_of_a_template_stands_for_a_value_that_is_not_known() {
        let value = one("a: {{ chart }}\nb: {{ chart | quote }} # c\nd: {e: {f: g}}\nh: {}\n");
        assert_eq!(
            ["a", "b"].map(|key| code_at(&value, key)),
            ["{{ chart }}", "{{ chart | quote }}"].map(Some)
        );
        assert_eq!(["d", "h"].map(|key| code_at(&value, key)), [None; 2]);
    }

    #[test]
    fn keys_of_values_are_typed_where_they_stand_without_quotes() {
        let text = file("on: a\n'no': b\n!!str off: c\n1.30: {y: d}\n");
        let keys = |value: &Value| value.entries().map(|(key, _)| key.to_owned()).collect::<Vec<_>>();
        let values = values(&text, &Ceilings::default()).unwrap();
        assert_eq!(keys(&values), ["true", "no", "off", "1.3"]);
        assert_eq!(values.text(&["1.3", "true"]).unwrap(), "d");
        assert_eq!(keys(&mapping(&text, &Ceilings::default()).unwrap()), ["on", "no", "off", "1.30"]);
    }

    #[test]
    fn bombs_are_refused() {
        let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        (1..6).for_each(|n| {
            bomb.push_str(&format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 10].join(", ")));
        });
        assert_eq!(mapping(&file(&bomb), &Ceilings::default()), Err(ReadError::Unfolds));
    }
}
