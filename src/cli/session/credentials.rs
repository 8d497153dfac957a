//! The token that a request is made with: the one that was given, or that of a GitHub App's installation.

use secrecy::ExposeSecret as _;

use super::{Session, choose_forge};
use crate::{
    cli::{Error, Forge, RunRequest},
    propose::forge::{
        github::{self, Address},
        kind::Listing,
        listing::{self, Pattern},
    },
    sys::secrets::Token,
};

// === impl Session ===

impl Session<'_> {
    /// Lists the repositories that match patterns, as the App or the token of a request sees them.
    pub fn repositories(&self, request: &RunRequest, patterns: &[Pattern]) -> Result<Vec<String>, Error> {
        let (kind, api) = request.forge.listing()?;
        let (http, forge) = (&self.http, kind.dialect.forge);
        if let Some(pattern) = patterns.iter().find(|pattern| pattern.is_nested() && !kind.groups) {
            return Err(Error::usage(format!("the pattern {pattern} names a group in a group"))
                .hint(format!("on {forge} a repository has an owner and a name, such as acme/*")));
        }
        if let Some(app) = request.app.as_ref().filter(|_| *kind == github::KIND) {
            return Ok(listing::matching(app.repositories(http, &api)?, patterns));
        }
        let Some(token) = request.token.as_ref().map(Token::secret) else {
            return Err(Error::usage("a list of repositories needs a token, or on GitHub an App")
                .hint("set UPLINKER_TOKEN, or name an App with --github-app-id"));
        };
        if let Some(pattern) = patterns.iter().find(|pattern| pattern.owner().is_none()) {
            return Err(Error::usage(format!("the pattern {pattern} names no owner"))
                .hint("a token lists what one owner has, such as acme/*; a GitHub App lists all of its installations"));
        }
        let mut all = Vec::new();
        for owner in listing::owners(patterns) {
            all.extend((kind.list)(Listing { http, api: &api, token: &token, owner })?);
        }
        Ok(listing::matching(all, patterns))
    }

    /// Does something with the token of a request. A token of a GitHub App may end while it is used, or be taken back: then
    /// it is done once more with a new one, as any run may be done twice.
    pub(super) fn with_token<T>(
        &self,
        request: &RunRequest,
        url: &str,
        work: impl Fn(Option<&Token>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        match work(self.token(request, url)?.as_ref()) {
            Err(error) if error.unknown_token && request.app.is_some() => {
                tracing::info!("the token of the GitHub App is not taken any more; making a new one");
                if let (Some(app), Some(address)) = (&request.app, github_address(request, url)) {
                    app.forget(&address);
                }
                work(self.token(request, url)?.as_ref())
            }
            done => done,
        }
    }

    /// Returns the token of a request: that of the GitHub App's installation, or the one that was given.
    pub(in crate::cli) fn token(&self, request: &RunRequest, url: &str) -> Result<Option<Token>, Error> {
        let (Some(app), Some(address)) = (&request.app, github_address(request, url)) else {
            return Ok(request.token.clone());
        };
        let secret = app.token(&self.http, &address)?;
        let token = Token::new(secret.expose_secret(), "GitHub's answer")?;
        self.terminal.hide(&token);
        Ok(Some(token))
    }
}

/// Where a repository is, if GitHub has it.
fn github_address(request: &RunRequest, url: &str) -> Option<Address> {
    match choose_forge(request, url) {
        Ok(Forge::Hosted { kind, api }) if kind.name == github::KIND.name => {
            Address::of(url, Some(&api)).ok()
        }
        _ => None,
    }
}
