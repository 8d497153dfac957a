//! Texts with placeholders: names in braces that are replaced, and nothing else. No template language, since the
//! configuration is repository content.

use super::nearest;

/// The placeholders that a wording may hold.
pub const PLACEHOLDERS: [&str; 4] = ["from", "to", "target", "stage"];

/// A text with placeholders, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wording(Vec<Part>);

/// What the placeholders of a wording stand for.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'f> {
    /// The releases left, joined with commas.
    pub from: &'f str,
    /// The release to go to.
    pub to: &'f str,
    /// The target's name.
    pub target: &'f str,
    /// `platform` or `data-plane`.
    pub stage: &'f str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Field(&'static str),
}

// === impl Wording ===

impl Wording {
    /// Reads a text; the error says what is wrong with it.
    ///
    /// ```
    /// use uplinker::config::{Fields, Wording};
    /// let wording = Wording::parse("mesh: {from} to {to}").unwrap();
    /// let fields = Fields { from: "edge-26.8.2", to: "edge-26.8.3", target: "default", stage: "platform" };
    /// assert_eq!(wording.fill(&fields), "mesh: edge-26.8.2 to edge-26.8.3");
    /// assert_eq!(Wording::parse("{too}").unwrap_err(), "`{too}` is not a placeholder; did you mean `{to}`?");
    /// ```
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(open) = rest.find(['{', '}']) {
            let (before, braced) = rest.split_at(open);
            let inner = braced.strip_prefix('{').and_then(|b| b.split_once('}'));
            let Some((name, after)) = inner else {
                return Err("a brace stands alone; braces enclose placeholders such as `{to}`".to_owned());
            };
            let field = PLACEHOLDERS.into_iter().find(|p| *p == name).ok_or_else(|| unknown(name))?;
            parts.extend([Part::Text(before.to_owned()), Part::Field(field)]);
            rest = after;
        }
        parts.push(Part::Text(rest.to_owned()));
        Ok(Self(parts))
    }

    /// Returns the text with its placeholders replaced.
    pub fn fill(&self, fields: &Fields<'_>) -> String {
        let part = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Field("from") => fields.from.to_owned(),
            Part::Field("to") => fields.to.to_owned(),
            Part::Field("target") => fields.target.to_owned(),
            Part::Field(_) => fields.stage.to_owned(),
        };
        self.0.iter().map(part).collect()
    }
}

fn unknown(name: &str) -> String {
    let meant = nearest(name, PLACEHOLDERS).map(|p| format!("did you mean `{{{p}}}`?"));
    let all = || format!("there are {}", PLACEHOLDERS.map(|p| format!("`{{{p}}}`")).join(", "));
    format!("`{{{name}}}` is not a placeholder; {}", meant.unwrap_or_else(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_placeholder_is_filled_and_values_are_not_read_again() {
        let wording = Wording::parse("{stage}{target}|{from}>{to}").unwrap();
        let fields = Fields { from: "{to}", to: "b", target: "t", stage: "s" };
        assert_eq!(wording.fill(&fields), "st|{to}>b");
    }

    #[test]
    fn lone_braces_and_unknown_names_are_errors() {
        for text in ["{", "a } b", "{to", "{{ to }}", "{}"] {
            Wording::parse(text).unwrap_err();
        }
    }
}
