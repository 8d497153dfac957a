//! HCL as its own parser takes it, where ours takes less.
//!
//! In: a file. Out: its body, with every byte in its place: what ours refuses is given to it as something else of the same
//! length, and what was written is read in the file.

use std::{borrow::Cow, sync::Arc};

use hcl_edit::{
    Span as _,
    expr::{Expression, ObjectKey},
    parser,
    structure::Body,
};

use crate::{
    deploy::{
        files::Files,
        note::{About, Note},
        value::Source,
    },
    repo::RepoPath,
};

/// The largest file that is parsed.
const BYTES: usize = 1 << 20;
/// The mark that some editors begin a file with.
const MARK: char = '\u{feff}';
/// Keys of one file that are written twice in an object.
const TWICE: usize = 64;
/// What the parser says of such a key.
const REDEFINED: &str = "redefined object key";

/// Parses a file.
pub(super) fn parsed(
    files: &dyn Files,
    path: &RepoPath,
    notes: &mut Vec<Note>,
) -> Option<(Arc<Source>, Body)> {
    let mut unread = |why: String| {
        notes.push(Note::new(path, About::Unread { what: "Terraform".to_owned(), why }));
        None
    };
    let source = match files.file(path.as_str()) {
        Ok(source) => source,
        Err(error) => return unread(error.to_string()),
    };
    if source.text.len() > BYTES {
        return unread(format!("it has more than {BYTES} bytes"));
    }
    // HCL takes no notice of a byte order mark (hcl `hclsyntax/scan_tokens.rl`).
    let mut text: Cow<'_, str> = match source.text.strip_prefix(MARK) {
        Some(rest) => Cow::Owned(format!("{}{rest}", " ".repeat(MARK.len_utf8()))),
        _ => Cow::Borrowed(&source.text),
    };
    let mut masks = 0;
    loop {
        let error = match parser::parse_body(&text) {
            Ok(body) => return Some((source, body)),
            Err(error) => error,
        };
        let place = error.location();
        let is_twice = masks < TWICE && error.message().contains(REDEFINED);
        let Some(masked) = is_twice.then(|| masked(&text, place.offset(), masks)).flatten() else {
            return unread(format!("line {}, column {}: {}", place.line(), place.column(), error.message()));
        };
        text = Cow::Owned(masked);
        masks += 1;
    }
}

/// Returns the name of a key that is no expression, as it stands in the file.
pub(super) fn key(source: &Source, key: &ObjectKey) -> Option<String> {
    let (span, quotes) = match key {
        ObjectKey::Ident(name) => (name.span()?, 0),
        ObjectKey::Expression(Expression::Variable(name)) => (name.span()?, 0),
        ObjectKey::Expression(Expression::String(text)) => (text.span()?, 1),
        ObjectKey::Expression(_) => return None,
    };
    let written = source.text.get(span.start + quotes..span.end.checked_sub(quotes)?)?;
    // In quotes a backslash means something.
    (!written.contains('\\')).then(|| written.to_owned())
}

/// Gives another name to the key at a byte: Terraform takes the last of those that are alike.
fn masked(text: &str, at: usize, number: usize) -> Option<String> {
    let rest = text.get(at..)?;
    let quotes = usize::from(rest.starts_with('"'));
    let inner = rest.get(quotes..)?;
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let length = match quotes {
        0 => inner.find(|c: char| !is_name(c))?,
        _ => inner.find('"')?,
    };
    let (mut left, mut name) = (number, String::with_capacity(length));
    while name.len() < length {
        name.push(char::from(b'A' + u8::try_from(left % 26).ok()?));
        left /= 26;
    }
    let (before, behind) = (text.get(..at + quotes)?, inner.get(length..)?);
    Some(format!("{before}{name}{behind}"))
}
