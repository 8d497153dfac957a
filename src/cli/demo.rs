//! `uplinker demo`: the real pipeline on a throw-away repository, without network or token.

mod charts;
mod scene;

use std::path::PathBuf;

use clap::Args;

use super::{
    Context, Error, Exit,
    args::HelmArgs,
    request::{Demo, ForgeSettings, HelmChoice, Network, Repository, RunRequest},
    run,
};
use crate::{
    release::{SourceSetting, Sources},
    repo::git::SshOptions,
    sys::env,
};

/// See it work, without network or token
///
/// Makes a bare Git repository with a small Flux configuration, and a release feed with small charts beside it, and runs
/// the real pipeline on them. The pull request is a folder with `pull.json`, `body.md` and `changes.patch`; with Helm at
/// hand it says what changes in the cluster.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  uplinker demo
  uplinker demo --directory /tmp/uplinker-demo

Exit codes: 0 proposed, 1 failed, 2 the folder is not empty.")]
pub(super) struct DemoArgs {
    /// The folder to work in, new or empty [default: a new one among the temporary files]
    #[arg(long, env = env::DIRECTORY, hide_env_values = true, value_name = "DIR")]
    directory: Option<PathBuf>,
    #[command(flatten)]
    helm: HelmArgs,
}

/// Runs the command.
pub(super) fn execute(args: DemoArgs, context: &Context) -> Result<Exit, Error> {
    let demo = prepare(args)?;
    let report = run::pass(&demo.run, context)?;
    context.terminal.clear();
    context.print(&report.render(context.style(false)))?;
    for proposal in report.stages.iter().filter_map(|s| s.proposal.as_ref()) {
        context.note("");
        context.note(&format!("--- {} ---", proposal.title));
        proposal.in_words().lines().for_each(|line| context.note(line));
    }
    context.note("");
    context.note(&format!("The repository, the feed and the proposal are in {}", demo.directory.display()));
    context.note("A second run finds nothing to do:");
    context.note(&format!("  {}", command_line(&demo)));
    Ok(run::exit_of(&report, false))
}

/// Lays out the repository and the feed, and makes the request of a run on them.
fn prepare(args: DemoArgs) -> Result<Demo, Error> {
    let directory = scene::folder(args.directory.as_deref())?;
    let [remote, feeds] = [directory.join("config.git"), directory.join("feeds")];
    scene::lay_out(&remote, &feeds)?;
    let run = RunRequest {
        repository: Repository::Path(remote),
        forge: ForgeSettings::directory(directory.join("proposals")),
        token: None,
        ssh: SshOptions::default(),
        app: None,
        forge_signs: false,
        signing_key: None,
        network: Network {
            feeds: Sources {
                versioncheck: SourceSetting::File(feeds.join("version.json")),
                charts: SourceSetting::File(feeds.join("index.yaml")),
                releases: SourceSetting::File(feeds.join("releases.json")),
                milestones: SourceSetting::Off,
                mirrors: Vec::new(),
                registries: Default::default(),
                releases_token: None,
            },
            cache_dir: Some(directory.join("cache")),
            ca_file: None,
        },
        to: None,
        helm: HelmChoice::of(args.helm),
    };
    Ok(Demo { directory, run })
}

/// Writes the command that does the same run again.
fn command_line(demo: &Demo) -> String {
    let at = |name: &str| quoted(&demo.directory.join(name).display().to_string());
    let feed = |flag: &str, name: &str| {
        let path = demo.directory.join("feeds").join(name);
        let url = url::Url::from_file_path(path).map_or_else(|()| "off".to_owned(), String::from);
        format!("{flag} {}", quoted(&url))
    };
    let helm = match &demo.run.helm {
        HelmChoice::OnPath => None,
        HelmChoice::Program(path) => Some(quoted(&path.display().to_string())),
        HelmChoice::Off => Some("off".to_owned()),
    };
    let words = [
        format!("uplinker run --repo {}", at("config.git")),
        format!("--forge directory:{} --cache-dir {}", at("proposals"), at("cache")),
        feed("--versioncheck-url", "version.json"),
        feed("--charts-url", "index.yaml"),
        feed("--releases-url", "releases.json"),
    ];
    words.into_iter().chain(helm.map(|helm| format!("--helm {helm}"))).collect::<Vec<_>>().join(" ")
}

/// Quotes a word for a shell where it needs it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:%".contains(c);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}
