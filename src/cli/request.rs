//! What was asked for, ready to use: checked, with defaults, inferred where the environment tells.
//!
//! In: arguments and the environment as values. Out: requests for the pipeline. Only the token's file is read.

mod forge;
mod registries;
mod remote;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    Error,
    args::{AccessArgs, CommitsArg, HelmArgs, LookArgs, NetworkArgs},
};
use crate::{
    helm::Helm,
    linkerd::EdgeVersion,
    propose::forge::github::App,
    release::{BadMirror, Mirror, SourceSetting, Sources},
    repo::git::{KeyError, SigningKey, SshOptions},
    sys::{
        env::{self, Environment},
        secrets::{self, Token, without_userinfo},
    },
};

pub use forge::{Forge, ForgeSettings};
pub use remote::{RemoteUrl, Repository};

/// One pass: read, decide, edit, verify, and, unless it is a plan, push and propose.
#[derive(Clone, Debug)]
pub struct RunRequest {
    /// The repository.
    pub repository: Repository,
    /// Where its pull requests live.
    pub forge: ForgeSettings,
    /// The token for Git and the forge.
    pub token: Option<Token>,
    /// Key and known hosts for SSH.
    pub ssh: SshOptions,
    /// The GitHub App that gives tokens in its place.
    pub app: Option<Arc<App>>,
    /// Whether the forge is to make commits, where it signs them.
    pub forge_signs: bool,
    /// What signs commits.
    pub signing_key: Option<Arc<SigningKey>>,
    /// The feeds and the cache.
    pub network: Network,
    /// `--to`.
    pub to: Option<EdgeVersion>,
    /// What renders charts.
    pub helm: HelmChoice,
}

/// What renders charts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HelmChoice {
    /// `helm` on `PATH`.
    OnPath,
    /// This program.
    Program(PathBuf),
    /// Nothing.
    Off,
}

/// Every pin and every skip.
#[derive(Clone, Debug)]
pub struct PinsRequest {
    /// The repository; of a path the HEAD commit is read, and no network is used.
    pub repository: Repository,
    /// The token for Git.
    pub token: Option<Token>,
    /// Key and known hosts for SSH.
    pub ssh: SshOptions,
    /// Certificate authorities and the cache.
    pub ca_file: Option<PathBuf>,
    /// The cache's folder; `None` keeps nothing on disk.
    pub cache_dir: Option<PathBuf>,
    /// `--to`.
    pub to: Option<EdgeVersion>,
    /// What evaluates charts of the repository.
    pub helm: HelmChoice,
}

/// The committed manifests against their charts.
#[derive(Clone, Debug)]
pub struct VerifyRequest {
    /// The repository; of a path the HEAD commit is read.
    pub repository: Repository,
    /// The token for Git.
    pub token: Option<Token>,
    /// Key and known hosts for SSH.
    pub ssh: SshOptions,
    /// The chart index and the cache.
    pub network: Network,
    /// What renders charts.
    pub helm: HelmChoice,
}

/// The catalog.
#[derive(Clone, Debug)]
pub struct ReleasesRequest {
    /// The feeds and the cache.
    pub network: Network,
    /// The token, for a feed on its own host alone.
    pub token: Option<Token>,
}

/// A throw-away repository with a release feed of its own.
#[derive(Clone, Debug)]
pub struct Demo {
    /// Where everything is.
    pub directory: PathBuf,
    /// The run on it.
    pub run: RunRequest,
}

/// The feeds and the cache.
#[derive(Clone, Debug)]
pub struct Network {
    /// Where releases are learnt from.
    pub feeds: Sources,
    /// The cache's folder; `None` keeps nothing on disk.
    pub cache_dir: Option<PathBuf>,
    /// Certificate authorities beside the system's.
    pub ca_file: Option<PathBuf>,
}

// === impl RunRequest ===

impl RunRequest {
    /// Makes the request of a command that only looks.
    pub(super) fn to_look(args: LookArgs, environment: &Environment) -> Result<Self, Error> {
        let LookArgs { repository, network, helm } = args;
        let place = Repository::of(repository.named(), environment)?;
        let request = Self::of(place, &repository.access, network, environment)?;
        Ok(Self { helm: HelmChoice::of(helm), ..request })
    }

    /// Makes the request for a repository that is known already.
    pub(super) fn of(
        repository: Repository,
        access: &AccessArgs,
        network: NetworkArgs,
        environment: &Environment,
    ) -> Result<Self, Error> {
        Ok(Self {
            repository,
            forge: ForgeSettings::of(access, environment)?,
            token: Token::find(access.token_file.as_deref(), environment)?,
            ssh: access.ssh.clone().options(),
            app: app(access, environment)?,
            forge_signs: access.commits == CommitsArg::Api,
            signing_key: signing_key(access, environment)?,
            network: Network::of(network, environment)?,
            to: None,
            helm: HelmChoice::OnPath,
        })
    }
}

/// Reads the App's key, where an App is named.
fn app(access: &AccessArgs, environment: &Environment) -> Result<Option<Arc<App>>, Error> {
    let file = access.github_app_key_file.as_deref();
    let hint = "`--github-app-key-file` takes the file `.pem` that GitHub made; UPLINKER_GITHUB_APP_KEY takes its text";
    let Some(id) = &access.github_app_id else {
        return match file {
            Some(_) => Err(Error::usage("the key of a GitHub App is given, and not its id")
                .hint("name it with --github-app-id")),
            None => Ok(None),
        };
    };
    let key =
        secrets::key(file, env::GITHUB_APP_KEY, environment).map_err(|e| Error::usage(e.to_string()))?;
    let key =
        key.ok_or_else(|| Error::usage("the id of a GitHub App is given, and not its key").hint(hint))?;
    let app = App::new(id, &key).map_err(|e| Error::usage(e.to_string()).hint(hint))?;
    Ok(Some(Arc::new(app)))
}

/// Reads the key that signs commits, where one is given.
fn signing_key(access: &AccessArgs, environment: &Environment) -> Result<Option<Arc<SigningKey>>, Error> {
    let file = access.signing_key_file.as_deref();
    let text = secrets::key(file, env::SIGNING_KEY, environment).map_err(|e| Error::usage(e.to_string()))?;
    let wrong = |error: KeyError| {
        Error::usage(format!("the signing key cannot be used: {error}")).hint(
            "make one with `ssh-keygen -t ed25519 -N '' -f FILE`, name that file with --signing-key-file, and add FILE.pub to \
             the user on the forge as a signing key",
        )
    };
    text.map(|text| SigningKey::of(&text).map(Arc::new).map_err(wrong)).transpose()
}

// === impl HelmChoice ===

impl HelmChoice {
    /// Reads what was typed.
    pub(super) fn of(args: HelmArgs) -> Self {
        match args.helm {
            None => Self::OnPath,
            Some(path) if path.as_os_str() == "off" => Self::Off,
            Some(path) => Self::Program(path),
        }
    }

    /// Returns the program, which is not looked for before it is needed.
    pub(super) fn program(&self) -> Option<Helm> {
        let program = match self {
            Self::Off => return None,
            Self::OnPath => None,
            Self::Program(path) => Some(path.clone()),
        };
        Some(Helm::new(program, Helm::LIMITS))
    }
}

// === impl Network ===

impl Network {
    /// Makes the settings of what was typed.
    pub(super) fn of(args: NetworkArgs, environment: &Environment) -> Result<Self, Error> {
        let charts = source("--charts-url", &args.charts_url)?;
        let mirrors: Vec<Mirror> = args.mirrors.iter().map(|text| mirror(text)).collect::<Result<_, _>>()?;
        let feeds = Sources {
            versioncheck: source("--versioncheck-url", &args.versioncheck_url)?,
            registries: registries::registries(&charts, &mirrors, environment)?,
            charts,
            mirrors,
            releases: source("--releases-url", &args.releases_url)?,
            milestones: source("--milestones-url", &args.milestones_url)?,
            releases_token: None,
        };
        let cache_dir = cache_dir(args.cache_dir.as_deref(), args.no_cache, environment);
        Ok(Self { feeds, cache_dir, ca_file: args.ca_file })
    }

    /// Makes the settings of a command that reads charts alone.
    pub(super) fn of_charts(
        url: &str,
        (cache_dir, no_cache): (Option<PathBuf>, bool),
        ca_file: Option<PathBuf>,
        environment: &Environment,
    ) -> Result<Self, Error> {
        let charts = source("--charts-url", url)?;
        let feeds = Sources {
            versioncheck: SourceSetting::Off,
            registries: registries::registries(&charts, &[], environment)?,
            charts,
            releases: SourceSetting::Off,
            milestones: SourceSetting::Off,
            mirrors: Vec::new(),
            releases_token: None,
        };
        Ok(Self { feeds, cache_dir: self::cache_dir(cache_dir.as_deref(), no_cache, environment), ca_file })
    }
}

/// Reads where a feed is.
fn source(flag: &str, text: &str) -> Result<SourceSetting, Error> {
    let wrong = |reason: &str| {
        Error::usage(format!("{flag}: `{}` {reason}", without_userinfo(text)))
            .hint("write a URL with https://, a file with file:///absolute/path, or `off`")
    };
    match text.parse().map_err(|_| wrong("is not a URL"))? {
        SourceSetting::Oci(_) if flag != "--charts-url" => {
            Err(wrong("is a registry, which has charts alone"))
        }
        SourceSetting::Url(url) if !url.username().is_empty() || url.password().is_some() => {
            Err(wrong("carries a password, which other users of this machine could read"))
        }
        setting => Ok(setting),
    }
}

/// Reads where a mirror is.
fn mirror(text: &str) -> Result<Mirror, Error> {
    text.parse().map_err(|bad: BadMirror| {
        Error::usage(format!("--mirror: {bad}"))
            .hint("write the address of a Helm repository with https://, or of a registry with oci://")
    })
}

/// Chooses the cache's folder: as named, else in the user's cache folder, else none.
pub(super) fn cache_dir(named: Option<&Path>, no_cache: bool, environment: &Environment) -> Option<PathBuf> {
    let absolute = |name: &str| environment.path(name).filter(|path| path.is_absolute());
    let own = || {
        let home = || absolute("HOME").map(|home| home.join(".cache"));
        absolute("XDG_CACHE_HOME").or_else(home).map(|dir| dir.join("uplinker"))
    };
    if no_cache { None } else { named.map(Path::to_owned).or_else(own) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feeds_are_addresses_files_or_off() {
        let of = |text: &str| source("--charts-url", text);
        assert_eq!(of("off").unwrap(), SourceSetting::Off);
        assert_eq!(of("file:///a/b%20c").unwrap(), SourceSetting::File("/a/b c".into()));
        assert!(matches!(of("https://h/index.yaml").unwrap(), SourceSetting::Url(_)));
        assert!(matches!(of("oci://h/charts").unwrap(), SourceSetting::Oci(_)));
        assert_eq!(source("--releases-url", "oci://h/charts").unwrap_err().exit().code(), 2);
        for bad in ["", "index.yaml", "ftp://h/x", "/a/b", "https://"] {
            assert_eq!(of(bad).unwrap_err().exit().code(), 2, "{bad}");
        }
        for bad in ["", "off", "charts.example.com", "https://me:s3cret@h/x"] {
            let error = mirror(bad).unwrap_err();
            assert!(error.exit().code() == 2 && !error.message.contains("s3cret"), "{bad}");
        }
        let error = of("https://me:s3cret@h/x").unwrap_err();
        assert!(!error.message.contains("s3cret") && error.message.contains("carries a password"));
    }

    #[test]
    fn a_repository_is_named_with_and_without_the_flag() {
        use clap::Parser;
        #[derive(Parser)]
        struct Typed {
            #[command(flatten)]
            look: LookArgs,
        }
        let named = |arguments: &[&str]| {
            let typed = Typed::parse_from([&["plan"], arguments].concat());
            typed.look.repository.named().map(str::to_owned)
        };
        assert_eq!(named(&["--repo", "a.git"]).as_deref(), Some("a.git"));
        assert_eq!(named(&["a.git"]).as_deref(), Some("a.git"));
        assert_eq!(named(&["--repo", "a.git", "b.git"]).as_deref(), Some("b.git"));
    }

    #[test]
    fn the_cache_is_where_it_is_named() {
        let environment = Environment::of([("HOME", "/home/a"), ("XDG_CACHE_HOME", "relative")]);
        assert_eq!(cache_dir(None, false, &environment), Some("/home/a/.cache/uplinker".into()));
        let xdg = Environment::of([("HOME", "/home/a"), ("XDG_CACHE_HOME", "/c")]);
        assert_eq!(cache_dir(None, false, &xdg), Some("/c/uplinker".into()));
        assert_eq!(cache_dir(Some(Path::new("x")), false, &xdg), Some("x".into()));
        assert_eq!(cache_dir(Some(Path::new("x")), true, &xdg), None);
        assert_eq!(cache_dir(None, false, &Environment::default()), None);
    }
}
