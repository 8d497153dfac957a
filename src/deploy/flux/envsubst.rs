//! `${var}` as Flux fills it: `github.com/fluxcd/pkg/envsubst`, a fork of drone/envsubst.
//!
//! In: a text and the variables. Out: the text filled, each piece with its place. What that library refuses is refused,
//! also what shells take: `${var-default}`. `:+` and `:?` do there what `:-` does.

use super::pattern;
use crate::deploy::value::{Part, Scalar, Via};

/// Substitutions in substitutions go no deeper than this.
const DEPTH: usize = 64;
/// Bytes of values that are filled into one text.
pub const BYTES: usize = 1 << 20;
/// What each piece of a value counts for beside its bytes.
const PIECE: usize = 16;

/// Why nothing is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubstituteError {
    /// The author's: no substitution.
    #[error("bad substitution")]
    Bad,
    /// The author's: no `}`.
    #[error("missing closing brace")]
    Open,
    /// The author's: no name.
    #[error("unable to parse variable name")]
    Name,
    /// The author's: deeper than is followed.
    #[error("substitutions nest too deep")]
    Deep,
    /// The author's: values that fill themselves.
    #[error("values of more than {BYTES} bytes are filled in")]
    Long,
}

/// Fills a text; `variable` gives nothing for a variable that nobody sets, which is filled with an empty text.
///
/// # Errors
/// Where Flux refuses the text, which is then not filled at all.
pub fn fill(
    text: &Scalar,
    variable: &mut dyn FnMut(&str, bool) -> Option<Scalar>,
) -> Result<Scalar, SubstituteError> {
    let chars: Vec<(usize, char)> = text.text().char_indices().collect();
    let end = text.text().len();
    let mut filler = Filler { text, chars, end, at: 0, left: BYTES, variable };
    let mut out: Vec<Part> = Vec::new();
    while filler.peek().is_some() {
        if filler.opens() {
            let from = filler.byte(filler.at);
            filler.at += 2;
            let filled = filler.substitution(DEPTH)?;
            let place = text.cut(from..filler.byte(filler.at));
            out.extend_from_slice(filled.read_by(&place).parts());
        } else {
            out.extend_from_slice(filler.run(|_| true, true, false).parts());
        }
    }
    Ok(Scalar::of(out, text.plain))
}

/// Lists the variables that a text asks for, as far as Flux takes it.
pub fn names(text: &Scalar) -> Vec<String> {
    let mut names = Vec::new();
    let mut note = |name: &str, _: bool| -> Option<Scalar> {
        names.push(name.to_owned());
        None
    };
    drop(fill(text, &mut note));
    names
}

struct Filler<'a> {
    text: &'a Scalar,
    chars: Vec<(usize, char)>,
    end: usize,
    /// The number of the next character.
    at: usize,
    /// What may still be filled in.
    left: usize,
    /// Gives a variable; it is told whether there is a value to take in its place.
    variable: &'a mut dyn FnMut(&str, bool) -> Option<Scalar>,
}

// === impl Filler ===

impl Filler<'_> {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).map(|(_, c)| *c)
    }

    fn opens(&self) -> bool {
        self.peek() == Some('$') && self.chars.get(self.at + 1).is_some_and(|(_, c)| *c == '{')
    }

    fn byte(&self, at: usize) -> usize {
        self.chars.get(at).map_or(self.end, |(byte, _)| *byte)
    }

    /// Reads on while characters are wanted and no substitution opens; `$$` and, in a replacement, `\/` and `\\` stand
    /// for their second character.
    fn run(&mut self, wanted: impl Fn(char) -> bool, dollars: bool, slashes: bool) -> Scalar {
        let mut parts: Vec<Part> = Vec::new();
        let mut from = self.at;
        while let Some(c) = self.peek() {
            if self.opens() {
                break;
            }
            let next = self.chars.get(self.at + 1).map(|(_, c)| *c);
            let escapes = dollars && c == '$' && next == Some('$')
                || slashes && c == '\\' && matches!(next, Some('/' | '\\'));
            if escapes {
                parts.extend_from_slice(self.text.cut(self.byte(from)..self.byte(self.at)).parts());
                from = self.at + 1;
                self.at += 2;
            } else if wanted(c) {
                self.at += 1;
            } else {
                break;
            }
        }
        parts.extend_from_slice(self.text.cut(self.byte(from)..self.byte(self.at)).parts());
        Scalar::of(parts, false)
    }

    fn close(&mut self) -> Result<(), SubstituteError> {
        let closes = self.peek() == Some('}');
        self.at += 1;
        if closes { Ok(()) } else { Err(SubstituteError::Bad) }
    }

    fn name(&mut self) -> Option<String> {
        let from = self.at;
        while self.peek().is_some_and(|c| c.is_alphanumeric() || c == '_') {
            self.at += 1;
        }
        let name: String = self.chars.get(from..self.at)?.iter().map(|(_, c)| *c).collect();
        (!name.is_empty()).then_some(name)
    }

    /// One argument: a substitution or a run of characters, of which there must be one.
    fn argument(
        &mut self,
        wanted: impl Fn(char) -> bool,
        escapes: bool,
        depth: usize,
    ) -> Result<Scalar, SubstituteError> {
        if self.opens() {
            self.at += 2;
            return self.substitution(depth);
        }
        let before = self.at;
        let run = self.run(wanted, escapes, escapes);
        if self.at > before { Ok(run) } else { Err(SubstituteError::Bad) }
    }

    /// Reads what is behind `${`.
    fn substitution(&mut self, depth: usize) -> Result<Scalar, SubstituteError> {
        let depth = depth.checked_sub(1).ok_or(SubstituteError::Deep)?;
        if self.peek() == Some('#') {
            self.at += 1;
            let name = self.name().ok_or(SubstituteError::Bad)?;
            self.close()?;
            let value = self.value(&name, false)?;
            return Ok(unless_unknown(&value, |value| Scalar::made(&value.text().len().to_string())));
        }
        let name = self.name().ok_or(SubstituteError::Name)?;
        match self.peek() {
            Some('}') => {
                self.at += 1;
                self.value(&name, false)
            }
            Some(':') => match self.chars.get(self.at + 1).map(|(_, c)| *c) {
                Some('=' | '-' | '?' | '+') => {
                    self.at += 2;
                    self.default(&name, depth)
                }
                _ => self.piece(&name, depth),
            },
            Some('=') => {
                self.at += 1;
                self.default(&name, depth)
            }
            Some(case @ (',' | '^')) => self.cased(&name, case),
            Some('/') => self.replaced(&name, depth),
            Some(sign @ ('#' | '%')) => self.trimmed(&name, sign, depth),
            _ => Err(SubstituteError::Open),
        }
    }

    fn value(&mut self, name: &str, has_default: bool) -> Result<Scalar, SubstituteError> {
        let value = (self.variable)(name, has_default).unwrap_or_else(|| Scalar::made(""));
        let cost = value.text().len() + PIECE * value.parts().len();
        self.left = self.left.checked_sub(cost).ok_or(SubstituteError::Long)?;
        Ok(value)
    }

    fn default(&mut self, name: &str, depth: usize) -> Result<Scalar, SubstituteError> {
        let mut default = Scalar::made("");
        while self.peek() != Some('}') {
            default = default.then(&self.argument(|c| c != '}', false, depth)?);
        }
        self.close()?;
        let value = self.value(name, true)?;
        Ok(if value.text().is_empty() { default.via(Via::Variable) } else { value })
    }

    /// `${var:1}`, `${var:1:2}`.
    fn piece(&mut self, name: &str, depth: usize) -> Result<Scalar, SubstituteError> {
        self.at += 1;
        let first = self.argument(|c| !matches!(c, ':' | '}'), false, depth)?;
        let mut second = None;
        match self.peek() {
            Some('}') => self.at += 1,
            Some(':') => {
                while self.peek() == Some(':') {
                    self.at += 1;
                }
                second = Some(self.argument(|c| c != '}', false, depth)?);
                self.close()?;
            }
            _ => return Err(SubstituteError::Bad),
        }
        let value = self.value(name, false)?;
        let known = first.unknown_to().or(second.as_ref().and_then(Scalar::unknown_to));
        if let Some(who) = known {
            return Ok(Scalar::unknown(who));
        }
        let range = range_of(value.text().len(), &first.text(), second.as_ref().map(Scalar::text).as_deref());
        let Some(range) = range else { return Ok(value) };
        let whole = value.text().get(range.clone()).is_some();
        Ok(unless_unknown(&value, |value| value.cut(range))).and_then(|cut| {
            // Go would cut through a character, or end with a panic.
            if whole { Ok(cut) } else { Err(SubstituteError::Bad) }
        })
    }

    fn cased(&mut self, name: &str, sign: char) -> Result<Scalar, SubstituteError> {
        let from = self.at;
        while self.at < from + 2 && matches!(self.peek(), Some(',' | '^')) {
            self.at += 1;
        }
        let signs: String =
            self.chars.get(from..self.at).unwrap_or_default().iter().map(|(_, c)| *c).collect();
        self.close()?;
        let value = self.value(name, false)?;
        let lower = sign == ',';
        let all = |text: &str| if lower { text.to_lowercase() } else { text.to_uppercase() };
        Ok(unless_unknown(&value, |value| {
            let text = value.text();
            let new = match signs.as_str() {
                ",," | "^^" => all(&text),
                "," | "^" => {
                    let first = text.chars().next().map_or(0, char::len_utf8);
                    format!("{}{}", all(&text[..first]), &text[first..])
                }
                // A function of no name is the default's, which there is none of.
                _ => text.clone().into_owned(),
            };
            match value.withheld_by() {
                Some(who) => Scalar::unknown(who),
                None if *new == *text => value.clone(),
                None => Scalar::made(&new),
            }
        }))
    }

    /// `${var/a/b}`, `//`, `/#`, `/%`.
    fn replaced(&mut self, name: &str, depth: usize) -> Result<Scalar, SubstituteError> {
        self.at += 1;
        let kind = self.peek().filter(|c| matches!(c, '/' | '#' | '%'));
        self.at += usize::from(kind.is_some());
        let old = self.argument(|c| c != '/', true, depth)?;
        if self.peek() != Some('/') {
            return Err(SubstituteError::Bad);
        }
        while self.peek() == Some('/') {
            self.at += 1;
        }
        let new = match self.peek() {
            Some('}') => None,
            _ => Some(self.argument(|c| c != '}', true, depth)?),
        };
        self.close()?;
        let value = self.value(name, false)?;
        if let Some(who) = old.unknown_to() {
            return Ok(Scalar::unknown(who));
        }
        let old = old.text().into_owned();
        Ok(unless_unknown(&value, |value| {
            let text = value.text();
            let empty = Scalar::made("");
            match (kind, &new) {
                (Some('#'), Some(new)) if text.starts_with(&*old) => value.splice(0..old.len(), new),
                (Some('%'), Some(new)) if text.ends_with(&*old) => {
                    value.splice(text.len() - old.len()..text.len(), new)
                }
                (Some('#' | '%'), _) => value.clone(),
                (kind, new) => replace(value, &old, new.as_ref().unwrap_or(&empty), kind.is_some()),
            }
        }))
    }

    /// `${var#a}`, `##`, `%`, `%%`.
    fn trimmed(&mut self, name: &str, sign: char, depth: usize) -> Result<Scalar, SubstituteError> {
        self.at += 1;
        let longest = self.peek() == Some(sign);
        self.at += usize::from(longest);
        let wanted = self.argument(|c| c != '}', false, depth)?;
        self.close()?;
        let value = self.value(name, false)?;
        if let Some(who) = wanted.unknown_to() {
            return Ok(Scalar::unknown(who));
        }
        let wanted = wanted.text().into_owned();
        Ok(unless_unknown(&value, |value| {
            let text = value.text();
            let cut = pattern::matched(&text, &wanted, sign == '%', longest);
            let range = if sign == '%' { 0..text.len() - cut } else { cut..text.len() };
            value.cut(range)
        }))
    }
}

/// What is not known stays so, whatever is done with it.
fn unless_unknown(value: &Scalar, change: impl FnOnce(&Scalar) -> Scalar) -> Scalar {
    match value.unknown_to() {
        Some(who) => Scalar::unknown(who),
        None => change(value),
    }
}

fn replace(value: &Scalar, old: &str, new: &Scalar, all: bool) -> Scalar {
    let text = value.text();
    let mut parts = Vec::new();
    let mut from = 0;
    // Nothing is found before each character and at the end, as Go finds it.
    for (at, _) in text.match_indices(old).take(if all { usize::MAX } else { 1 }) {
        parts.extend_from_slice(value.cut(from..at).parts());
        parts.extend_from_slice(new.parts());
        from = at + old.len();
    }
    parts.extend_from_slice(value.cut(from..text.len()).parts());
    Scalar::of(parts, value.plain)
}

/// The bytes that `${var:first:second}` takes; `None` where it takes all, since a number is none.
fn range_of(length: usize, first: &str, second: Option<&str>) -> Option<std::ops::Range<usize>> {
    let length = i64::try_from(length).ok()?;
    let mut start = first.parse::<i64>().ok()?;
    if start < 0 {
        start = (length + start).max(0);
    }
    let end = match second {
        None => length,
        Some(second) => (start + second.parse::<i64>().ok()?).min(length),
    };
    let (start, end) = (start.min(length), end);
    Some(usize::try_from(start).ok()?..usize::try_from(end).unwrap_or(0))
}
