//! The token: where it comes from, and how it stays out of texts.
//!
//! In: environment and files, never a command line. Out: a [`Token`], which prints as nothing readable.

use std::{borrow::Cow, path::Path};

use secrecy::{ExposeSecret, SecretString};

use super::{
    env::{self, Environment},
    files,
};

/// A token for Git and the forge.
#[derive(Clone, Debug)]
pub struct Token(SecretString);

/// A token that cannot be used; the operator can fix it. The token itself is not in the message.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file cannot be read.
    #[error("cannot read the token file {path}: {reason}")]
    Unreadable {
        /// The file.
        path: String,
        /// The system's words.
        reason: String,
    },
    /// The text is not one token.
    #[error("{place} does not hold one token: {reason}")]
    Malformed {
        /// The file or variable.
        place: String,
        /// What is wrong.
        reason: &'static str,
    },
}

/// The largest token that is taken, in bytes.
const MAX_BYTES: u64 = 16 << 10;

/// What stands in a text in place of a secret.
const HIDDEN: &str = "***";

/// Finds a secret of several lines, such as a private key: the file, then the variable; `None` where there is neither.
pub fn key(
    file: Option<&Path>,
    variable: &str,
    environment: &Environment,
) -> Result<Option<SecretString>, TokenError> {
    let Some(path) = file else { return Ok(environment.get(variable).map(|text| text.to_owned().into())) };
    let unreadable = |e: std::io::Error| TokenError::Unreadable {
        path: path.display().to_string(),
        reason: e.to_string(),
    };
    files::read_text(path, MAX_BYTES).map(|text| Some(text.into())).map_err(unreadable)
}

// === impl Token ===

impl Token {
    /// Finds the token: the file, then `UPLINKER_TOKEN`, then `GITHUB_TOKEN`; `None` where there is none.
    pub fn find(file: Option<&Path>, environment: &Environment) -> Result<Option<Self>, TokenError> {
        Self::of(file, &[env::TOKEN, env::GITHUB_TOKEN], environment)
    }

    /// Finds a secret: the file, then the first of these variables that is set; `None` where there is none.
    pub fn of(
        file: Option<&Path>,
        variables: &[&str],
        environment: &Environment,
    ) -> Result<Option<Self>, TokenError> {
        if let Some(path) = file {
            let unreadable = |e: std::io::Error| TokenError::Unreadable {
                path: path.display().to_string(),
                reason: e.to_string(),
            };
            let text = files::read_text(path, MAX_BYTES).map_err(unreadable)?;
            return Self::new(&text, &path.display().to_string()).map(Some);
        }
        let named = variables.iter().find_map(|name| Some((*name, environment.get(name)?)));
        named.map(|(name, text)| Self::new(text, name)).transpose()
    }

    /// Takes a token from text that came from `place`; line breaks around it are cut.
    pub fn new(text: &str, place: &str) -> Result<Self, TokenError> {
        let token = text.trim();
        let reason = if token.is_empty() {
            "it is empty"
        } else if token.len() as u64 > MAX_BYTES {
            "it is too long"
        } else if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            "it has a space, a line break, or a character that is in no token"
        } else {
            return Ok(Self(SecretString::from(token.to_owned())));
        };
        Err(TokenError::Malformed { place: place.to_owned(), reason })
    }

    /// Returns the token as adapters keep it.
    pub fn secret(&self) -> SecretString {
        self.0.clone()
    }

    /// Returns the token itself, for the header or the credentials that need it.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// Replaces the token in a text, as it is and as a URL would carry it.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let token = self.expose();
        let escaped =
            percent_encoding::utf8_percent_encode(token, percent_encoding::NON_ALPHANUMERIC).to_string();
        if !text.contains(token) && !text.contains(&escaped) {
            return Cow::Borrowed(text);
        }
        Cow::Owned(text.replace(token, HIDDEN).replace(&escaped, HIDDEN))
    }
}

/// Hides what stands before `@` in every URL of a text.
///
/// ```
/// use uplinker::sys::secrets::without_userinfo;
/// assert_eq!(without_userinfo("at https://me:pw@host/x"), "at https://***@host/x");
/// assert_eq!(without_userinfo("git@host:o/n https://host/a@b"), "git@host:o/n https://host/a@b");
/// ```
pub fn without_userinfo(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + "://".len());
        out.push_str(before);
        let end =
            after.find(|c: char| matches!(c, '/' | '?' | '#') || c.is_whitespace()).unwrap_or(after.len());
        let (authority, tail) = after.split_at(end);
        match authority.rsplit_once('@') {
            Some((_, host)) => out.extend([HIDDEN, "@", host]),
            None => out.push_str(authority),
        }
        rest = tail;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(file: Option<&Path>, variables: &[(&str, &str)]) -> Option<String> {
        let environment = Environment::of(variables.iter().copied());
        Token::find(file, &environment).unwrap().map(|t| t.expose().to_owned())
    }

    #[test]
    fn the_file_wins_then_our_variable_then_githubs() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut file, b"from-file\n").unwrap();
        let both = [(env::TOKEN, "ours"), (env::GITHUB_TOKEN, "github")];
        assert_eq!(found(Some(file.path()), &both).as_deref(), Some("from-file"));
        assert_eq!(found(None, &both).as_deref(), Some("ours"));
        assert_eq!(found(None, &both[1..]).as_deref(), Some("github"));
        assert_eq!(found(None, &[]), None);
    }

    #[test]
    fn what_is_no_token_is_an_error_that_does_not_show_it() {
        for bad in ["  ", "s3cret s3cret", "s3cret\ns3cret", "s3cret\u{0}", "\u{feff}s3cret"] {
            let message = Token::new(bad, "UPLINKER_TOKEN").unwrap_err().to_string();
            assert!(message.contains("UPLINKER_TOKEN") && !message.contains("s3cret"), "{message}");
        }
        let missing =
            Token::find(Some(Path::new("/nonexistent/token")), &Environment::default()).unwrap_err();
        assert!(missing.to_string().starts_with("cannot read the token file /nonexistent/token"));
    }

    #[test]
    fn a_token_never_shows() {
        let token = Token::new("gh/p_s3cret", "x").unwrap();
        assert!(!format!("{token:?}").contains("s3cret"));
        assert_eq!(token.redact("a gh/p_s3cret b gh%2Fp%5Fs3cret"), "a *** b ***");
        assert!(matches!(token.redact("nothing"), Cow::Borrowed(_)));
    }
}
