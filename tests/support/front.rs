//! What the APIs of all fake forges begin with: who calls, the parts of the path, and pages.

use serde_json::Value;

use super::{
    github::{State, Token},
    http::Request,
};

/// Finds the token of a secret; an error where it is none that is valid.
pub fn caller(state: &State, secret: Option<&str>) -> Result<Option<Token>, ()> {
    let token = |secret| state.tokens.get(secret).filter(|token| !token.expired).cloned().ok_or(());
    secret.map(token).transpose()
}

/// Splits a path at its slashes, and decodes each part.
pub fn parts(path: &str) -> Vec<String> {
    let decode = |part: &str| percent_encoding::percent_decode_str(part).decode_utf8_lossy().into_owned();
    path.split('/').map(decode).collect()
}

/// What stands behind the repository in an address, to be asked of another one.
pub fn behind(request: &Request, inner: &[&str]) -> String {
    let below: String = inner.iter().map(|part| format!("/{part}")).collect();
    if request.query.is_empty() { below } else { format!("{below}?{}", request.query) }
}

/// One page of a list.
pub struct Page {
    pub items: Vec<Value>,
    pub size: usize,
    pub number: usize,
    /// The number of the last page.
    pub last: usize,
    /// How many entries all pages have.
    pub total: usize,
}

// === impl Page ===

impl Page {
    /// Cuts a list into the page that was asked for; `parameter` names the entries on it, `usual` come unasked.
    pub fn of(request: &Request, parameter: &str, (usual, most): (usize, usize), items: Vec<Value>) -> Self {
        let asked = |name: &str| request.query_value(name).and_then(|v| v.parse::<usize>().ok());
        let size = asked(parameter).filter(|n| *n > 0).unwrap_or(usual).min(most);
        let number = asked("page").unwrap_or(1).max(1);
        let (total, last) = (items.len(), items.len().div_ceil(size).max(1));
        let items = items.into_iter().skip((number - 1).saturating_mul(size)).take(size).collect();
        Self { items, size, number, last, total }
    }

    /// The pages beside this one, with what each is to it.
    pub fn others(&self) -> Vec<(usize, &'static str)> {
        let before = [(self.number.wrapping_sub(1), "prev"), (1, "first")];
        let after = [(self.number + 1, "next"), (self.last, "last")];
        let mut all = Vec::new();
        all.extend((self.number > 1).then_some(before).into_iter().flatten());
        all.extend((self.number < self.last).then_some(after).into_iter().flatten());
        all
    }

    /// The query of another page.
    pub fn query(request: &Request, page: usize) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        let kept = url::form_urlencoded::parse(request.query.as_bytes()).filter(|(key, _)| key != "page");
        query.extend_pairs(kept);
        query.append_pair("page", &page.to_string()).finish()
    }
}
