//! Step 9, explain: the hidden marker, the only memory of a pull request.
//!
//! In: a body as the forge returns it. Out: a [`Marker`], or none. Only the last line of a body counts, and only in
//! our own format; text from elsewhere cannot make such a line, since its `<` is always encoded. Pure.

use serde::{Deserialize, Serialize};

use super::Basis;
use crate::{linkerd::EdgeVersion, pins::Stage};

const OPEN: &str = "<!-- uplinker:v1 ";
const CLOSE: &str = " -->";

/// What the hidden marker in a body says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    /// The plan's fingerprint.
    pub fingerprint: String,
    /// The target.
    pub target: String,
    /// The stage, `platform` or `data-plane`.
    pub stage: String,
    /// The release.
    pub release: EdgeVersion,
    /// The hash over (path, base blob) of the change set.
    pub inputs: String,
    /// The head that this body was written for: while the branch is there, nothing needs to be fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// The newest commit of the base branch that the head contains, as far as we put it there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// A hash over title and text as we wrote them: a person's own edits of the text stay until there is news.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// A hash over the status that was set on the head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// A hash over the labels and people that were asked for: what a person takes off stays off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extras: Option<String>,
    /// The head is a person's, and the body says so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub person: bool,
    /// Set before we close the pull request ourselves: then its close is not a no.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closing: bool,
    /// Set when we close it because a person ticked the box that declines the release: then it is a no.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub declined: bool,
    /// Nobody needs to look at it, as far as the checks tell: it may be merged by itself where that is wanted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub routine: bool,
    /// The release that it takes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<EdgeVersion>,
    /// What the text was made from: where that is the same, nothing is made again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
}

// === impl Marker ===

impl Marker {
    /// Says what a pull request is for, and nothing yet of what became of it.
    pub fn new(target: &str, stage: Stage, release: EdgeVersion, fingerprint: &str, inputs: &str) -> Self {
        Self {
            fingerprint: fingerprint.to_owned(),
            target: target.to_owned(),
            stage: stage.name().to_owned(),
            release,
            inputs: inputs.to_owned(),
            head: None,
            base: None,
            text: None,
            status: None,
            extras: None,
            person: false,
            closing: false,
            declined: false,
            routine: false,
            undoes: None,
            basis: None,
        }
    }
}

/// Writes a marker as the one line that ends a body.
pub fn write(marker: &Marker) -> String {
    let json = serde_json::to_string(marker).unwrap_or_default();
    // No sequence of these can end an HTML comment early, and JSON reads the escapes back as the same text.
    let mut line = String::with_capacity(json.len() + 32);
    line.push_str(OPEN);
    let mut last = ' ';
    for c in json.chars() {
        match c {
            '<' | '>' | '&' => line.push_str(&format!("\\u{:04x}", c as u32)),
            '-' if last == '-' => line.push_str("\\u002d"),
            c if c.is_ascii() => line.push(c),
            c => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| line.push_str(&format!("\\u{unit:04x}"))),
        }
        last = c;
    }
    line.push_str(CLOSE);
    line
}

/// Reads the marker of a body; `None` where the last line is not one.
pub fn read(body: &str) -> Option<Marker> {
    let line = body.trim_end().lines().next_back()?.trim_end();
    let json = line.strip_prefix(OPEN)?.strip_suffix(CLOSE)?;
    // A marker that could have been cut or nested was not written by us.
    (!json.contains(['<', '>'])).then(|| serde_json::from_str(json).ok()).flatten()
}

/// Returns a body without its marker line, and without white space at its end.
pub fn strip(body: &str) -> &str {
    let body = body.trim_end();
    match body.rsplit_once('\n') {
        Some((rest, line)) if line.starts_with(OPEN) => rest.trim_end(),
        None if body.starts_with(OPEN) => "",
        _ => body,
    }
}

#[cfg(test)]
pub(super) fn example() -> Marker {
    Marker::new("default", Stage::Platform, "edge-26.8.3".parse().expect("a release"), "f3", "i")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_also_after_the_web_editor() {
        let mut marker = example();
        marker.target = "a --> b <!-- -- --- ü 🚀 \" \\ &".into();
        let body = format!("Text\n\n{}\n", write(&marker));
        assert_eq!(read(&body), Some(marker.clone()));
        assert_eq!(read(&body.replace('\n', "\r\n")), Some(marker.clone()));
        assert_eq!(write(&marker).matches("--").count(), 2, "only the comment's own dashes");
        assert!(write(&marker).is_ascii());
    }

    #[test]
    fn only_the_last_line_counts() {
        let line = write(&example());
        assert_eq!(read(&format!("{line}\n\na person wrote below")), None);
        assert_eq!(read(&format!("text {line}")), None);
        assert_eq!(read(&format!("> {line}")), None);
        assert_eq!(read("<!-- uplinker:v1 {} -->"), None);
        assert_eq!(read("<!-- uplinker:v2 {} -->"), None);
        assert_eq!(read(""), None);
    }

    #[test]
    fn the_rest_of_the_body_is_kept() {
        let line = write(&example());
        assert_eq!(strip(&format!("a\r\nb\r\n\r\n{line}\r\n")), "a\r\nb");
        assert_eq!(strip(&line), "");
        assert_eq!(strip("a\nb\n"), "a\nb");
    }

    proptest::proptest! {
        #[test]
        fn any_names_survive(target in ".*", inputs in "[->< !]*") {
            let marker = Marker { target, inputs, ..example() };
            let line = write(&marker);
            proptest::prop_assert_eq!(read(&line), Some(marker));
            proptest::prop_assert_eq!(line.matches("-->").count(), 1);
            proptest::prop_assert_eq!(line.lines().count(), 1);
        }
    }
}
