//! The words of an action of a Go template.

use std::ops::Range;

use super::TemplateError;

/// A word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Space,
    Open,
    Close,
    Pipe,
    Comma,
    Declare,
    Assign,
    Dot,
    /// `.name`.
    Field(String),
    /// `$name`, without the sign.
    Variable(String),
    Word(String),
    Number(String),
    /// A quoted text, with its bytes where it has no escapes.
    Text {
        text: String,
        place: Option<Range<usize>>,
    },
}

/// Cuts the code of an action into words.
pub(super) fn tokens(text: &str, code: Range<usize>) -> Result<Vec<Token>, TemplateError> {
    let mut lexer = Lexer { text, at: code.start, end: code.end };
    let mut found = Vec::new();
    while let Some(token) = lexer.token()? {
        found.push(token);
    }
    Ok(found)
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    end: usize,
}

// === impl Lexer ===

impl Lexer<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..self.end).unwrap_or_default()
    }

    fn take(&mut self, is: impl Fn(char) -> bool) -> String {
        let rest = self.rest();
        let end = rest.find(|c| !is(c)).unwrap_or(rest.len());
        let word = rest.get(..end).unwrap_or_default().to_owned();
        self.at += end;
        word
    }

    fn token(&mut self) -> Result<Option<Token>, TemplateError> {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Ok(None) };
        let second = rest.chars().nth(1);
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let single = |token: Token| (token, 1);
        let (token, length) = match first {
            ' ' | '\t' | '\r' | '\n' => {
                self.take(char::is_whitespace);
                return Ok(Some(Token::Space));
            }
            '(' => single(Token::Open),
            ')' => single(Token::Close),
            '|' => single(Token::Pipe),
            ',' => single(Token::Comma),
            ':' if second == Some('=') => (Token::Declare, 2),
            '=' => single(Token::Assign),
            '"' => return self.quoted().map(Some),
            '`' => return self.raw().map(Some),
            '$' => {
                self.at += 1;
                return Ok(Some(Token::Variable(self.take(is_name))));
            }
            '.' if second.is_some_and(|c| c.is_alphabetic() || c == '_') => {
                self.at += 1;
                return Ok(Some(Token::Field(self.take(is_name))));
            }
            '.' if !second.is_some_and(|c| c.is_ascii_digit()) => single(Token::Dot),
            c if c.is_alphabetic() || c == '_' => return Ok(Some(Token::Word(self.take(is_name)))),
            c if c.is_ascii_digit() || matches!(c, '+' | '-' | '.') => {
                let number = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | '_');
                return Ok(Some(Token::Number(self.take(number))));
            }
            _ => return Err(TemplateError::Unexpected),
        };
        self.at += length;
        Ok(Some(token))
    }

    fn raw(&mut self) -> Result<Token, TemplateError> {
        let start = self.at + 1;
        let inner = self.text.get(start..self.end).unwrap_or_default();
        let length = inner.find('`').ok_or(TemplateError::Unclosed)?;
        self.at = start + length + 1;
        let text = inner.get(..length).unwrap_or_default().to_owned();
        Ok(Token::Text { text, place: Some(start..start + length) })
    }

    fn quoted(&mut self) -> Result<Token, TemplateError> {
        let start = self.at + 1;
        let inner = self.text.get(start..self.end).unwrap_or_default().to_owned();
        let mut text = String::new();
        let mut chars = inner.char_indices();
        let mut plain = true;
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.at = start + at + 1;
                    return Ok(Token::Text { text, place: plain.then_some(start..start + at) });
                }
                '\\' => {
                    plain = false;
                    let (_, escape) = chars.next().ok_or(TemplateError::Unclosed)?;
                    text.push(match escape {
                        'n' => '\n',
                        't' => '\t',
                        'r' => '\r',
                        'a' => '\u{7}',
                        'b' => '\u{8}',
                        'f' => '\u{c}',
                        'v' => '\u{b}',
                        '\\' | '"' | '\'' => escape,
                        'x' | 'u' | 'U' => {
                            let length = match escape {
                                'x' => 2,
                                'u' => 4,
                                _ => 8,
                            };
                            let digits: String = chars.by_ref().take(length).map(|(_, c)| c).collect();
                            let code = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                            code.ok_or(TemplateError::Unexpected)?
                        }
                        _ => return Err(TemplateError::Unexpected),
                    });
                }
                c => text.push(c),
            }
        }
        Err(TemplateError::Unclosed)
    }
}
