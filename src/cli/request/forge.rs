//! Where the pull requests of a repository live.

use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use url::Url;

use super::remote::{RemoteUrl, host_of, running_on};
use crate::{
    cli::{Error, args::AccessArgs},
    propose::forge::{
        github,
        kind::Kind,
        kinds::{self, KINDS},
    },
    sys::{env::Environment, http::keeps_secrets, secrets::without_userinfo},
};

/// What is known of the forge before the remote is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForgeSettings {
    named: Option<Named>,
    /// `--forge-api-url`.
    api: Option<Url>,
    /// The server of the workflow, its API, and what it is by that.
    workflow: Option<Workflow>,
}

/// Where a workflow runs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Workflow {
    server: Url,
    api: Option<Url>,
    kind: &'static Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Named {
    Kind(&'static Kind),
    Directory(PathBuf),
}

/// Returns a name for a repository's folder that people know it by, and that no other repository has.
fn folder_of(repository: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    let last = repository.trim_end_matches('/').trim_end_matches(".git").rsplit(['/', ':']).next();
    let name: String = last.unwrap_or_default().chars().take(60).map(plain).collect();
    let hash =
        Sha256::digest(repository).iter().take(4).map(|byte| format!("{byte:02x}")).collect::<String>();
    format!("{}-{hash}", name.trim_start_matches(['.', '-']))
}

/// Where pull requests live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Forge {
    /// Behind an API.
    Hosted {
        /// Which one.
        kind: &'static Kind,
        /// The API, without a slash at its end.
        api: Url,
    },
    /// Folders of files.
    Directory(PathBuf),
}

// === impl ForgeSettings ===

impl ForgeSettings {
    /// The forge that is a folder.
    pub(in crate::cli) fn directory(path: PathBuf) -> Self {
        Self { named: Some(Named::Directory(path)), ..Self::default() }
    }

    /// The same for one repository of many: of a folder a part of its own, since what lies in one belongs to one repository.
    pub(in crate::cli) fn of_one(&self, repository: &str) -> Self {
        let named = match &self.named {
            Some(Named::Directory(path)) => Some(Named::Directory(path.join(folder_of(repository)))),
            named => named.clone(),
        };
        Self { named, ..self.clone() }
    }

    /// Reads what was typed, and where the workflow runs.
    pub(in crate::cli) fn of(args: &AccessArgs, environment: &Environment) -> Result<Self, Error> {
        let named = match args.forge.as_deref() {
            None => None,
            Some(text) => match (kinds::named(text), text.strip_prefix("directory:")) {
                (Some(kind), _) => Some(Named::Kind(kind)),
                (None, Some(path)) if !path.is_empty() => Some(Named::Directory(PathBuf::from(path))),
                _ => {
                    return Err(Error::usage(format!("--forge: `{text}` is not known"))
                        .hint(format!("write {} or `directory:PATH`", kinds::names())));
                }
            },
        };
        let url = |flag: &str, text: Option<&str>| text.map(|text| api_url(flag, text)).transpose();
        let api = url("--forge-api-url", args.forge_api_url.as_deref())?;
        let of_github = url("--github-api-url", args.github_api_url.as_deref())?;
        let named = match (named, &of_github) {
            (None, Some(_)) => kinds::named("github").map(Named::Kind),
            (Some(Named::Kind(kind)), Some(_)) if kind.name != "github" => {
                return Err(Error::usage(format!("--github-api-url names no API of {}", kind.dialect.forge))
                    .hint("write `--forge-api-url`, which is for every forge"));
            }
            (named, _) => named,
        };
        Ok(Self { named, api: api.or(of_github), workflow: workflow(environment)? })
    }

    /// Returns the forge that lists of repositories are asked of, and its API: as named, else that of the workflow, else
    /// GitHub; where no server is named, the first that is known of it.
    pub fn listing(&self) -> Result<(&'static Kind, String), Error> {
        let workflow = self.workflow.as_ref();
        let kind = match &self.named {
            Some(Named::Kind(kind)) => *kind,
            Some(Named::Directory(_)) | None => workflow.map_or(&github::KIND, |at| at.kind),
        };
        let of_workflow = workflow.filter(|at| at.kind == kind).and_then(|at| at.api.as_ref());
        let named =
            self.api.as_ref().or(of_workflow).map(|api| api.as_str().trim_end_matches('/').to_owned());
        let known = || kind.hosts.first().map(|(_, api)| (*api).to_owned());
        let api = named.or_else(known).ok_or_else(|| {
            let forge = kind.dialect.forge;
            Error::usage(format!("which {forge} has the repositories is not named"))
                .hint("name its API with --forge-api-url")
        })?;
        Ok((kind, api))
    }

    /// Returns the folder of `--forge directory:PATH`.
    pub fn named_directory(&self) -> Option<&Path> {
        match &self.named {
            Some(Named::Directory(path)) => Some(path),
            Some(Named::Kind(_)) | None => None,
        }
    }

    /// Chooses the forge of a remote.
    pub fn choose(&self, remote: &RemoteUrl) -> Result<Forge, Error> {
        let host = remote.host();
        let known = host.as_deref().and_then(kinds::at);
        let workflow = self.workflow.as_ref().filter(|at| host_of(&at.server) == host && host.is_some());
        let kind = match &self.named {
            Some(Named::Directory(path)) => return Ok(Forge::Directory(path.clone())),
            Some(Named::Kind(kind)) => Some(*kind),
            None => known.map(|(kind, _)| kind).or(workflow.map(|at| at.kind)),
        };
        let kind = kind.ok_or_else(|| {
            Error::usage(format!("cannot tell which forge serves {remote}")).hint(format!(
                "name it with `--forge`: {} (each also on a server of your own) or `directory:PATH`",
                kinds::names()
            ))
        })?;
        let forge = kind.dialect.forge;
        let (before, ..) = remote.parts().ok_or_else(|| {
            Error::usage(format!("{remote} is not the address of a repository on {forge}"))
                .hint("it ends with OWNER/NAME; for another remote, use `--forge directory:PATH`")
        })?;
        let of_workflow = workflow.filter(|at| at.kind == kind).and_then(|at| at.api.clone());
        let of_host = known.filter(|(its, _)| *its == kind).map(|(_, api)| api);
        let api = match (self.api.clone().or(of_workflow), of_host, host) {
            (Some(api), ..) => api,
            (None, Some(api), _) => api_url(forge, api)?,
            (None, None, Some(host)) => {
                let scheme = if remote.as_str().starts_with("http://") { "http" } else { "https" };
                // Where repositories have two parts, what stands before them is the forge's own folder.
                let folder =
                    if kind.groups || before.is_empty() { String::new() } else { format!("/{before}") };
                api_url("--forge", &format!("{scheme}://{host}{folder}{}", kind.below))?
            }
            (None, None, None) => {
                return Err(Error::usage(format!("{remote} is not on {forge}"))
                    .hint("name the API with --forge-api-url, or use `--forge directory:PATH`"));
            }
        };
        Ok(Forge::Hosted { kind, api })
    }
}

/// Reads where the workflow runs. Forges that share their variables are told apart by their API.
fn workflow(environment: &Environment) -> Result<Option<Workflow>, Error> {
    let Some(first) = running_on(environment) else { return Ok(None) };
    let runner = first.runner;
    let Some(server) = environment.get(runner.server) else { return Ok(None) };
    let api = environment.get(runner.api).map(|text| api_url(runner.api, text)).transpose()?;
    let is_it = |kind: &&&Kind| {
        kind.runner == runner && api.as_ref().is_some_and(|api| api.path().ends_with(kind.below))
    };
    let kind = KINDS.iter().find(is_it).copied().unwrap_or(first);
    Ok(Some(Workflow { server: api_url(runner.server, server)?, api, kind }))
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
    use super::{super::remote::Repository, *};
    use crate::cli::args::{CommitsArg, SshArgs};

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
            forge_api_url: None,
            token_file: None,
            ssh: SshArgs::default(),
            github_app_id: None,
            github_app_key_file: None,
            commits: CommitsArg::Git,
            signing_key_file: None,
        };
        ForgeSettings::of(&args, &Environment::of(variables.iter().copied()))
    }

    #[test]
    fn the_forge_is_inferred_from_the_host() {
        let github = |settings: &ForgeSettings, url: &str| match settings.choose(&remote(url)).unwrap() {
            Forge::Hosted { api, .. } => api.to_string(),
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
            settings(Some("bitbucket"), None, &[]).is_err()
                && settings(Some("directory:"), None, &[]).is_err()
        );
        assert!(settings(None, Some("https://u:p@h/api"), &[]).is_err());
    }

    #[test]
    fn each_repository_of_many_has_a_folder_of_its_own() {
        let folder = |repository: &str| match settings(Some("directory:/p"), None, &[]) {
            Ok(ForgeSettings { named: Some(Named::Directory(path)), .. }) => {
                let settings = ForgeSettings::directory(path).of_one(repository);
                settings.named_directory().map(|path| path.display().to_string()).unwrap()
            }
            other => panic!("{other:?}"),
        };
        let one = folder("https://git.example.com/acme/mesh-config.git");
        assert!(one.starts_with("/p/mesh-config-") && one.len() == "/p/mesh-config-".len() + 8, "{one}");
        assert_eq!(one, folder("https://git.example.com/acme/mesh-config.git"));
        assert_ne!(one, folder("https://git.example.com/other/mesh-config.git"));
        for odd in ["/srv/..", "/srv/a b", "git@h:x", ""] {
            let name = folder(odd)["/p/".len()..].to_owned();
            assert!(!name.starts_with('.') && !name.contains(['/', ' ']), "{name}");
        }
        let kind = settings(Some("gitea"), None, &[]).unwrap();
        assert_eq!(kind.of_one("https://h/a/b"), kind);
    }

    #[test]
    fn every_forge_is_chosen_by_its_name_or_its_host() {
        let chosen = |settings: &ForgeSettings, url: &str| match settings.choose(&remote(url)).unwrap() {
            Forge::Hosted { api, kind } => (kind.name, api.to_string()),
            Forge::Directory(path) => ("directory", path.display().to_string()),
        };
        let none = settings(None, None, &[]).unwrap();
        assert_eq!(
            chosen(&none, "https://codeberg.org/o/n.git"),
            ("forgejo", "https://codeberg.org/api/v1".into())
        );
        assert_eq!(chosen(&none, "git@gitea.com:o/n"), ("gitea", "https://gitea.com/api/v1".into()));
        let named = settings(Some("gitea"), None, &[]).unwrap();
        assert_eq!(
            chosen(&named, "https://git.example.com/o/n"),
            ("gitea", "https://git.example.com/api/v1".into())
        );
        assert_eq!(
            chosen(&named, "https://example.com/git/o/n"),
            ("gitea", "https://example.com/git/api/v1".into()),
            "below a folder"
        );
        assert_eq!(
            chosen(&none, "git@gitlab.com:acme/mesh/config.git"),
            ("gitlab", "https://gitlab.com/api/v4".into()),
            "in groups"
        );
        let named = settings(Some("gitlab"), None, &[]).unwrap();
        assert_eq!(
            chosen(&named, "https://git.example.com:8443/acme/mesh/eu/config.git"),
            ("gitlab", "https://git.example.com:8443/api/v4".into())
        );
        // A runner of Gitea's speaks as GitHub's does.
        let inside = [
            ("GITHUB_ACTIONS", "true"),
            ("GITHUB_SERVER_URL", "https://git.example.com"),
            ("GITHUB_API_URL", "https://git.example.com/api/v1"),
        ];
        let runner = settings(None, None, &inside).unwrap();
        assert_eq!(
            chosen(&runner, "https://git.example.com/o/n"),
            ("gitea", "https://git.example.com/api/v1".into())
        );
        let error = settings(Some("gitea"), Some("https://h/api/v3"), &[]).unwrap_err();
        assert!(error.message.contains("Gitea") && error.hints[0].contains("--forge-api-url"), "{error:?}");
    }

    #[test]
    fn a_job_of_gitlab_names_its_project_and_api() {
        let inside = [
            ("GITLAB_CI", "true"),
            ("CI_PROJECT_PATH", "acme/mesh/config"),
            ("CI_SERVER_URL", "https://git.example.com"),
            ("CI_API_V4_URL", "https://git.example.com/api/v4"),
        ];
        let repository = Repository::of(None, &Environment::of(inside)).unwrap();
        assert_eq!(repository.to_string(), "https://git.example.com/acme/mesh/config");
        let settings = settings(None, None, &inside).unwrap();
        let forge = settings.choose(&remote("https://git.example.com/acme/mesh/config")).unwrap();
        assert!(
            matches!(forge, Forge::Hosted { api, kind } if api.path() == "/api/v4" && kind.name == "gitlab")
        );
        let (kind, api) = settings.listing().unwrap();
        assert_eq!((kind.name, api.as_str()), ("gitlab", "https://git.example.com/api/v4"));
    }

    #[test]
    fn a_list_is_asked_of_the_forge_that_is_named() {
        let asked = |forge, api| {
            let (kind, api) = settings(forge, api, &[]).unwrap().listing().unwrap();
            (kind.name, api)
        };
        assert_eq!(asked(None, None), ("github", "https://api.github.com".into()));
        assert_eq!(asked(Some("gitlab"), None), ("gitlab", "https://gitlab.com/api/v4".into()));
        assert_eq!(asked(Some("forgejo"), None), ("forgejo", "https://codeberg.org/api/v1".into()));
        assert_eq!(asked(Some("directory:/p"), None), ("github", "https://api.github.com".into()));
        assert_eq!(asked(None, Some("https://h/api/v3/")), ("github", "https://h/api/v3".into()));
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
        assert!(
            matches!(forge, Forge::Hosted { api, kind } if api.path() == "/api/v3" && kind.name == "github")
        );
        assert_eq!(
            Repository::of(None, &Environment::of(inside[1..].to_vec())).unwrap(),
            Repository::Path(".".into())
        );
        assert_eq!(Repository::of(Some("x"), &environment).unwrap(), Repository::Path("x".into()));
    }
}
