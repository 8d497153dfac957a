//! Step 10, propose: where a repository on GitHub is, from its Git address.
//!
//! In: a Git URL in any of its forms. Out: the API's root, the host, owner and name. Nothing secret goes through. Pure.

use percent_encoding::utf8_percent_encode;
use url::Url;

use crate::propose::forge::address::{NoRepository, PATH, Site};

/// A repository on GitHub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    api: String,
    web: String,
    host: String,
    owner: String,
    name: String,
}

// === impl Address ===

impl Address {
    /// Reads `https://host/owner/name(.git)`, `ssh://git@host/owner/name` or `git@host:owner/name`. `api` is the
    /// root of the API where it is not where GitHub has it.
    pub fn of(git_url: &str, api: Option<&Url>) -> Result<Self, NoRepository> {
        let Site { scheme, host, authority, path } = Site::of(git_url)?;
        let pair = path.split_once('/').filter(|(_, name)| !name.contains('/'));
        let (owner, name) = pair.ok_or_else(|| NoRepository::new(git_url, "is not owner/name"))?;
        let public = matches!(host.as_str(), "github.com" | "www.github.com" | "ssh.github.com");
        let root = match api {
            Some(api) => api.as_str().trim_end_matches('/').to_owned(),
            None if public => "https://api.github.com".to_owned(),
            None if host.ends_with(".ghe.com") => format!("https://api.{host}"),
            None => format!("{scheme}://{authority}/api/v3"),
        };
        let web = if public { "https://github.com".to_owned() } else { format!("{scheme}://{authority}") };
        Ok(Self { api: root, web, host, owner: owner.to_owned(), name: name.to_owned() })
    }

    /// Returns the API's root.
    pub fn api(&self) -> &str {
        &self.api
    }

    /// Returns the root of the API's GraphQL: an Enterprise Server has it beside the version.
    pub(super) fn graphql(&self) -> &str {
        self.api.strip_suffix("/v3").unwrap_or(&self.api)
    }

    /// Returns the host, for messages.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the owner.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// Returns the repository's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns `owner/name`.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }

    /// Returns the host of the addresses that GitHub gives to people who hide theirs.
    pub(super) fn noreply(&self) -> String {
        match self.web.as_str() {
            "https://github.com" => "users.noreply.github.com".to_owned(),
            _ => format!("users.noreply.{}", self.host),
        }
    }

    /// Returns the page that opens a pull request by hand.
    pub(super) fn compare(&self, base: &str, branch: &str) -> String {
        let (base, branch) = (utf8_percent_encode(base, PATH), utf8_percent_encode(branch, PATH));
        format!("{}/{}/{}/compare/{base}...{branch}?expand=1", self.web, self.owner, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(url: &str) -> (String, String, String) {
        let address = Address::of(url, None).expect("an address");
        (address.api().to_owned(), address.full_name(), address.web)
    }

    #[test]
    fn each_form_is_read() {
        let public =
            ("https://api.github.com".into(), "acme/gitops.conf".into(), "https://github.com".into());
        for url in [
            "https://github.com/acme/gitops.conf",
            "https://github.com/acme/gitops.conf.git",
            "https://x-access-token:secret@github.com/acme/gitops.conf.git/",
            "git@github.com:acme/gitops.conf.git",
            "ssh://git@github.com/acme/gitops.conf.git",
            "ssh://git@ssh.github.com:443/acme/gitops.conf.git",
        ] {
            assert_eq!(of(url), public, "{url}");
        }
        assert_eq!(of("https://git.corp.example:8443/a/b").0, "https://git.corp.example:8443/api/v3");
        assert_eq!(of("git@git.corp.example:a/b").0, "https://git.corp.example/api/v3");
        assert_eq!(of("https://acme.ghe.com/a/b").0, "https://api.acme.ghe.com");
        assert_eq!(of("http://127.0.0.1:8080/a/b.git").0, "http://127.0.0.1:8080/api/v3");
        let api = Url::parse("https://proxy.example/github/").ok();
        assert_eq!(
            Address::of("https://h.example/a/b", api.as_ref()).expect("one").api(),
            "https://proxy.example/github"
        );
    }

    #[test]
    fn graphql_is_beside_the_version() {
        let root = |url: &str| Address::of(url, None).expect("an address").graphql().to_owned();
        assert_eq!(root("https://github.com/a/b"), "https://api.github.com");
        assert_eq!(root("https://acme.ghe.com/a/b"), "https://api.acme.ghe.com");
        assert_eq!(root("https://git.corp.example/a/b"), "https://git.corp.example/api");
    }

    #[test]
    fn what_is_no_repository_is_refused_without_its_password() {
        for url in [
            "https://u:secret@github.com/acme",
            "https://u:secret@github.com/a/b/c",
            "https://u:secret@github.com/../b",
            "https://u:secret@github.com/a/b%2Fc",
            "http://u:secret@github.com/a/b",
            "file:///srv/a/b",
            "/srv/a/b",
            "https:///a/b",
            "",
        ] {
            let error = Address::of(url, None).expect_err(url);
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }

    #[test]
    fn the_compare_page_can_be_opened() {
        let address = Address::of("https://github.com/a/b", None).expect("an address");
        assert_eq!(
            address.compare("main", "uplinker/default/platform"),
            "https://github.com/a/b/compare/main...uplinker/default/platform?expand=1"
        );
        assert!(address.compare("ma?n", "x#y").ends_with("/compare/ma%3Fn...x%23y?expand=1"));
    }
}
