//! Step 7, render: where in an object a field is, in words that a reader finds again.
//!
//! Displayed as `spec.template.spec.containers[name=proxy].image`; a path into YAML inside a text goes on behind a
//! bar: `data.values | proxy.image.version`.

use std::fmt;

/// A path from an object's root to one of its fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldPath(pub Vec<Segment>);

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// Into a mapping.
    Key(String),
    /// To the item of a list that has these merge keys: names and texts.
    Item(Vec<(String, String)>),
    /// To an item of a list by its place, from 0: the place after the change, before it where the item is removed.
    Index(usize),
    /// To a member of a list that is a set.
    Member(String),
    /// Into the YAML that the text holds.
    Inside,
}

// === impl FieldPath ===

impl FieldPath {
    /// Returns the keys of mappings on the way, list items left out.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.iter().filter_map(|segment| match segment {
            Segment::Key(key) => Some(key.as_str()),
            _ => None,
        })
    }

    /// Tells whether the path begins with these keys.
    pub fn starts_with(&self, keys: &[&str]) -> bool {
        let mut segments = self.0.iter();
        keys.iter().all(|key| matches!(segments.next(), Some(Segment::Key(found)) if found == key))
    }

    /// Tells whether the path's last keys are these, list items left out.
    pub fn ends_with(&self, keys: &[&str]) -> bool {
        let mut own = self.keys().rev();
        keys.iter().rev().all(|key| own.next() == Some(*key))
    }

    /// Tells whether the field lies in YAML inside a text.
    pub fn is_inside(&self) -> bool {
        self.0.contains(&Segment::Inside)
    }
}

impl<const N: usize> From<[&str; N]> for FieldPath {
    fn from(keys: [&str; N]) -> Self {
        Self(keys.iter().map(|key| Segment::Key((*key).to_owned())).collect())
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut joined = false;
        for segment in &self.0 {
            match segment {
                Segment::Key(key) if is_plain(key) => {
                    f.write_str(if joined { "." } else { "" })?;
                    f.write_str(key)?;
                }
                Segment::Key(key) => write!(f, "[{}]", quoted(key))?,
                Segment::Item(keys) => {
                    let keys: Vec<String> =
                        keys.iter().map(|(name, text)| format!("{name}={}", item_text(text))).collect();
                    write!(f, "[{}]", keys.join(","))?;
                }
                Segment::Index(at) => write!(f, "[{at}]")?,
                Segment::Member(text) => write!(f, "[={}]", item_text(text))?,
                Segment::Inside => f.write_str(" | ")?,
            }
            joined = *segment != Segment::Inside;
        }
        Ok(())
    }
}

fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'$'))
}

fn item_text(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'/' | b':' | b'*');
    match !text.is_empty() && text.bytes().all(plain) {
        true => text.to_owned(),
        false => quoted(text),
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_reads_from_left_to_right() {
        let key = |k: &str| Segment::Key(k.to_owned());
        let item = |n: &str, t: &str| Segment::Item(vec![(n.to_owned(), t.to_owned())]);
        let path = FieldPath(vec![key("spec"), key("containers"), item("name", "proxy"), key("image")]);
        assert_eq!(path.to_string(), "spec.containers[name=proxy].image");
        assert!(path.starts_with(&["spec", "containers"]) && path.ends_with(&["containers", "image"]));
        let inside = FieldPath(vec![key("data"), key("a.yml"), Segment::Inside, key("proxy"), key("cores")]);
        assert_eq!(inside.to_string(), "data[\"a.yml\"] | proxy.cores");
        let odd = FieldPath(vec![key("a b"), Segment::Index(3), item("mountPath", "/x y\n")]);
        assert_eq!(odd.to_string(), "[\"a b\"][3][mountPath=\"/x y\\n\"]");
        let set = FieldPath(vec![key("verbs"), Segment::Member("get".into())]);
        assert_eq!(set.to_string(), "verbs[=get]");
    }
}
