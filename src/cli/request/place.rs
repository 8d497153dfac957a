//! Which repository, and where its pull requests live.

use std::{fmt, path::PathBuf};

use url::Url;

use crate::{
    cli::{Error, args::AccessArgs},
    sys::{
        env::{self, Environment},
        http::keeps_secrets,
        secrets::without_userinfo,
    },
};

/// A repository as it was named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repository {
    /// On a server.
    Remote(RemoteUrl),
    /// On this machine: a clone, or a bare folder, which is a remote itself.
    Path(PathBuf),
}

/// The address of a Git remote; never carries a password.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RemoteUrl(String);

/// What is known of the forge before the remote is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForgeSettings {
    named: Option<Named>,
    /// `--github-api-url`.
    api: Option<Url>,
    /// The server of GitHub Actions and its API.
    actions: Option<(Url, Option<Url>)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Named {
    Github,
    Directory(PathBuf),
}

/// Where pull requests live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Forge {
    /// GitHub, or GitHub Enterprise Server.
    Github {
        /// The API, without a slash at its end.
        api: Url,
        /// The owner.
        owner: String,
        /// The repository's name.
        name: String,
    },
    /// Folders of files.
    Directory(PathBuf),
}

// === impl Repository ===

impl Repository {
    /// Reads `--repo`; without one, the workflow's repository, else this folder.
    pub(in crate::cli) fn of(named: Option<&str>, environment: &Environment) -> Result<Self, Error> {
        if let Some(text) = named {
            return Self::parse(text);
        }
        let workflow = environment.in_actions().then(|| environment.get(env::GITHUB_REPOSITORY)).flatten();
        match workflow {
            Some(name) => {
                let server = environment.get(env::GITHUB_SERVER_URL).unwrap_or("https://github.com");
                Self::parse(&format!("{}/{name}", server.trim_end_matches('/')))
            }
            None => Ok(Self::Path(PathBuf::from("."))),
        }
    }

    /// Reads a URL or a path.
    pub(in crate::cli) fn parse(text: &str) -> Result<Self, Error> {
        if text.is_empty() {
            return Err(Error::usage("the repository's name is empty").hint("write a URL or a path"));
        }
        match text.contains("://") || is_scp(text) {
            true => RemoteUrl::parse(text).map(Self::Remote),
            false => Ok(Self::Path(PathBuf::from(text))),
        }
    }
}

impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Remote(url) => url.fmt(f),
            Self::Path(path) => path.display().fmt(f),
        }
    }
}

/// Tells `git@host:owner/name` from a path with a colon.
fn is_scp(text: &str) -> bool {
    text.split_once(':').is_some_and(|(host, _)| host.contains('@') && !host.contains('/'))
}

// === impl RemoteUrl ===

impl RemoteUrl {
    /// Reads an address: `https`, `http`, `ssh`, `file`, or `user@host:path`.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let wrong = |reason: &str| Error::usage(format!("`{}` {reason}", without_userinfo(text)));
        if text.chars().any(|c| c.is_control() || c == ' ') {
            return Err(wrong("has spaces or control characters"));
        }
        if !text.contains("://") {
            return match is_scp(text) {
                true => Ok(Self(text.to_owned())),
                false => Err(wrong("is not the address of a repository")),
            };
        }
        let url = Url::parse(text).map_err(|_| wrong("is not a URL"))?;
        let has_user = !url.username().is_empty();
        match url.scheme() {
            "http" | "https" if has_user || url.password().is_some() => Err(wrong(
                "carries a user or a password",
            )
            .hint(
                "set UPLINKER_TOKEN, or name a file with --token-file: other users can read a command line",
            )),
            "ssh" if url.password().is_some() => Err(wrong("carries a password").hint("use a key")),
            "http" | "https" | "ssh" if url.host_str().is_none_or(str::is_empty) => Err(wrong("has no host")),
            "http" | "https" | "ssh" | "file" => Ok(Self(text.to_owned())),
            other => Err(wrong(&format!("has the scheme `{other}`, which is not read"))
                .hint("write https://, ssh://, file:// or a path")),
        }
    }

    /// Returns the address.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the host, with a port that is not the scheme's own; `None` for a file. The port of SSH is left out:
    /// nothing but Git is served there.
    pub fn host(&self) -> Option<String> {
        match Url::parse(&self.0).ok().filter(|_| self.0.contains("://")) {
            Some(url) if url.scheme() == "ssh" => url.host_str().map(str::to_lowercase),
            Some(url) => host_of(&url),
            None => self.0.split_once(':')?.0.rsplit('@').next().map(str::to_lowercase),
        }
    }

    /// Returns owner and name, the last two parts of the path.
    pub fn owner_and_name(&self) -> Option<(String, String)> {
        let path = match self.0.split_once("://") {
            Some((_, rest)) => rest.split_once('/')?.1,
            None => self.0.split_once(':')?.1,
        };
        let path = path.trim_matches('/');
        let (rest, name) = path.strip_suffix(".git").unwrap_or(path).rsplit_once('/')?;
        let owner = rest.rsplit('/').next()?;
        let sound = |part: &str| {
            let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            !matches!(part, "" | "." | "..") && part.chars().all(letters)
        };
        (sound(owner) && sound(name)).then(|| (owner.to_owned(), name.to_owned()))
    }
}

impl fmt::Display for RemoteUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for RemoteUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RemoteUrl({})", self.0)
    }
}

// === impl ForgeSettings ===

impl ForgeSettings {
    /// The forge that is a folder.
    pub(in crate::cli) fn directory(path: PathBuf) -> Self {
        Self { named: Some(Named::Directory(path)), ..Self::default() }
    }

    /// Reads what was typed, and where the workflow runs.
    pub(in crate::cli) fn of(args: &AccessArgs, environment: &Environment) -> Result<Self, Error> {
        let named = match args.forge.as_deref() {
            None => None,
            Some("github") => Some(Named::Github),
            Some(text) => match text.strip_prefix("directory:").filter(|path| !path.is_empty()) {
                Some(path) => Some(Named::Directory(PathBuf::from(path))),
                None => {
                    return Err(Error::usage(format!("--forge: `{text}` is not known"))
                        .hint("write `github`, or `directory:PATH`; gitlab and gitea do not work yet"));
                }
            },
        };
        let api = args.github_api_url.as_deref().map(|text| api_url("--github-api-url", text)).transpose()?;
        let server = environment.in_actions().then(|| environment.get(env::GITHUB_SERVER_URL)).flatten();
        let actions = match server {
            Some(server) => {
                let api = environment.get(env::GITHUB_SERVER_API_URL);
                let api = api.map(|text| api_url(env::GITHUB_SERVER_API_URL, text)).transpose()?;
                Some((api_url(env::GITHUB_SERVER_URL, server)?, api))
            }
            None => None,
        };
        Ok(Self { named, api, actions })
    }

    /// Returns the folder of `--forge directory:PATH`.
    pub fn named_directory(&self) -> Option<&std::path::Path> {
        match &self.named {
            Some(Named::Directory(path)) => Some(path),
            Some(Named::Github) | None => None,
        }
    }

    /// Chooses the forge of a remote.
    pub fn choose(&self, remote: &RemoteUrl) -> Result<Forge, Error> {
        let host = remote.host();
        let is_dot_com = host.as_deref() == Some("github.com");
        let workflow = self.actions.as_ref().filter(|(server, _)| host_of(server) == host && host.is_some());
        match &self.named {
            Some(Named::Directory(path)) => return Ok(Forge::Directory(path.clone())),
            None if !is_dot_com && self.api.is_none() && workflow.is_none() => {
                return Err(Error::usage(format!("cannot tell which forge serves {remote}")).hint(
                    "name it with `--forge github` (GitHub Enterprise Server) or `--forge directory:PATH`",
                ));
            }
            _ => {}
        }
        let (owner, name) = remote.owner_and_name().ok_or_else(|| {
            Error::usage(format!("{remote} is not the address of a repository on GitHub"))
                .hint("it ends with OWNER/NAME; for another remote, use `--forge directory:PATH`")
        })?;
        let known = self.api.clone().or_else(|| workflow.and_then(|(_, api)| api.clone()));
        let api = match (known, host) {
            (Some(api), _) => api,
            (None, _) if is_dot_com => api_url("GitHub", "https://api.github.com")?,
            (None, Some(host)) => {
                let scheme = if remote.0.starts_with("http://") { "http" } else { "https" };
                api_url("--forge", &format!("{scheme}://{host}/api/v3"))?
            }
            (None, None) => {
                return Err(Error::usage(format!("{remote} is not on GitHub"))
                    .hint("name the API with --github-api-url, or use `--forge directory:PATH`"));
            }
        };
        Ok(Forge::Github { api, owner, name })
    }
}

fn host_of(url: &Url) -> Option<String> {
    let port = url.port().map(|p| format!(":{p}")).unwrap_or_default();
    url.host_str().filter(|host| !host.is_empty()).map(|host| format!("{host}{port}"))
}

fn api_url(what: &str, text: &str) -> Result<Url, Error> {
    let wrong = || {
        Error::usage(format!("{what}: `{}` is not the address of an API", without_userinfo(text)))
            .hint("write one such as https://github.example.com/api/v3")
    };
    let url = Url::parse(text.trim_end_matches('/')).map_err(|_| wrong())?;
    let plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
    let web = matches!(url.scheme(), "http" | "https") && url.host_str().is_some();
    if plain && web && !keeps_secrets(&url) {
        return Err(
            Error::usage(format!("{what}: {url} would get the token unencrypted")).hint("use https://")
        );
    }
    if plain && web { Ok(url) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remote(text: &str) -> RemoteUrl {
        RemoteUrl::parse(text).unwrap()
    }

    fn settings(
        forge: Option<&str>,
        api: Option<&str>,
        variables: &[(&str, &str)],
    ) -> Result<ForgeSettings, Error> {
        let args = AccessArgs {
            forge: forge.map(str::to_owned),
            github_api_url: api.map(str::to_owned),
            token_file: None,
        };
        ForgeSettings::of(&args, &Environment::of(variables.iter().copied()))
    }

    #[test]
    fn urls_and_paths_are_told_apart() {
        let parse = |text: &str| Repository::parse(text).unwrap();
        for url in ["https://github.com/o/n", "git@github.com:o/n.git", "file:///a/b", "ssh://git@h/o/n"] {
            assert!(matches!(parse(url), Repository::Remote(_)), "{url}");
        }
        for path in [".", "../a", "/a/b.git", "a:b", "./git@x:y"] {
            assert!(matches!(parse(path), Repository::Path(_)), "{path}");
        }
    }

    #[test]
    fn a_password_in_a_url_is_refused_and_not_shown() {
        for url in
            ["https://me:s3cret@github.com/o/n", "https://s3cret@github.com/o/n", "ssh://git:s3cret@h/o/n"]
        {
            let error = Repository::parse(url).unwrap_err();
            assert!(!format!("{error:?}").contains("s3cret"), "{error:?}");
            assert_eq!(error.exit().code(), 2);
        }
        assert!(Repository::parse("ftp://h/o/n").is_err() && Repository::parse("https://").is_err());
        assert!(Repository::parse("").is_err() && Repository::parse("https://h/a b").is_err());
    }

    #[test]
    fn owner_and_name_are_the_last_two_parts() {
        let pair = |text: &str| remote(text).owner_and_name();
        let expected = Some(("o".to_owned(), "n".to_owned()));
        for url in ["https://github.com/o/n", "https://github.com/o/n.git/", "git@github.com:o/n.git"] {
            assert_eq!(pair(url), expected, "{url}");
        }
        assert_eq!(pair("http://127.0.0.1:8080/git/o/n.git"), expected);
        assert_eq!(pair("https://github.com/n"), None);
        assert_eq!(pair("https://github.com/o/.."), None);
    }

    #[test]
    fn the_forge_is_inferred_from_the_host() {
        let github = |settings: &ForgeSettings, url: &str| match settings.choose(&remote(url)).unwrap() {
            Forge::Github { api, .. } => api.to_string(),
            Forge::Directory(path) => path.display().to_string(),
        };
        let none = settings(None, None, &[]).unwrap();
        assert_eq!(github(&none, "https://github.com/o/n"), "https://api.github.com/");
        assert_eq!(github(&none, "git@github.com:o/n.git"), "https://api.github.com/");
        assert!(
            none.choose(&remote("https://git.example.com/o/n")).unwrap_err().hints[0].contains("--forge")
        );
        let named = settings(Some("github"), None, &[]).unwrap();
        assert_eq!(github(&named, "https://ghes.example.com/o/n"), "https://ghes.example.com/api/v3");
        assert_eq!(github(&named, "ssh://git@GHES.example.com:2222/o/n"), "https://ghes.example.com/api/v3");
        let api = settings(None, Some("http://127.0.0.1:1/api/v3/"), &[]).unwrap();
        assert_eq!(github(&api, "http://127.0.0.1:2/o/n"), "http://127.0.0.1:1/api/v3");
        let folder = settings(Some("directory:/p"), None, &[]).unwrap();
        assert_eq!(github(&folder, "file:///x"), "/p");
        assert!(
            settings(Some("gitlab"), None, &[]).is_err() && settings(Some("directory:"), None, &[]).is_err()
        );
        assert!(settings(None, Some("https://u:p@h/api"), &[]).is_err());
    }

    #[test]
    fn a_workflow_names_repository_and_api() {
        let inside = [
            ("GITHUB_ACTIONS", "true"),
            ("GITHUB_REPOSITORY", "o/n"),
            ("GITHUB_SERVER_URL", "https://ghes.example.com"),
            ("GITHUB_API_URL", "https://ghes.example.com/api/v3"),
        ];
        let environment = Environment::of(inside);
        let repository = Repository::of(None, &environment).unwrap();
        assert_eq!(repository.to_string(), "https://ghes.example.com/o/n");
        let forge =
            settings(None, None, &inside).unwrap().choose(&remote("https://ghes.example.com/o/n")).unwrap();
        assert!(matches!(forge, Forge::Github { api, .. } if api.path() == "/api/v3"));
        assert_eq!(
            Repository::of(None, &Environment::of(inside[1..].to_vec())).unwrap(),
            Repository::Path(".".into())
        );
        assert_eq!(Repository::of(Some("x"), &environment).unwrap(), Repository::Path("x".into()));
    }
}
