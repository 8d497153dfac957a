//! `uplinker init`: a first configuration and a workflow.

mod gates;
mod suggest;

use std::path::{Path, PathBuf};

use clap::{Args, builder::BoolishValueParser};

use super::{
    Context, Error, Exit,
    request::{HelmChoice, PinsRequest, Repository},
    session,
};
use gates::Gates;

use crate::{
    config,
    pins::{PinKind, Reason},
    policy::{Hold, HoldReason},
    repo::git::SshOptions,
    report::{PinsReport, RowReason},
    sys::{env, files},
};

/// Write a first uplinker.yaml with the targets it saw, and a GitHub workflow
///
/// The configuration is all comments and changes nothing by itself: without one, uplinker has a single target of all
/// files. The workflow runs every hour with the least permissions. Files that are there are left, unless --force is
/// given. With --gates nothing is written: what Flux or Argo CD need, so that they say on commits whether a release works,
/// is printed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  uplinker init
  uplinker init ../mesh-config --force
  uplinker init --gates > clusters/production/notifications.yaml

Exit codes: 0 written, 1 failed, 2 a file is there already.")]
pub(super) struct InitArgs {
    /// The folder of a clone
    #[arg(value_name = "PATH", default_value = ".")]
    path: PathBuf,
    /// Replace files that are there
    #[arg(long, env = env::FORCE, hide_env_values = true, value_parser = BoolishValueParser::new())]
    force: bool,
    /// Print what Flux or Argo CD need so that `gates` hear of them
    #[arg(long, conflicts_with = "force")]
    gates: bool,
}

const CONFIG: &str = include_str!("../../templates/init/uplinker.yaml");
const WORKFLOW: &str = include_str!("../../templates/init/workflow.yml");
const WORKFLOW_PATH: &str = ".github/workflows/uplinker.yml";

/// Runs the command.
pub(super) fn execute(args: &InitArgs, context: &Context) -> Result<Exit, Error> {
    if args.gates {
        return print_gates(args, context);
    }
    let [config_path, other_config] = config::PATHS;
    if files::is_there(&args.path.join(other_config)) {
        return Err(Error::usage(format!(
            "{other_config} is there already, and only one configuration may be"
        ))
        .hint(format!("edit it, or remove it and run `uplinker init` again to get {config_path}")));
    }
    let wanted = [config_path, WORKFLOW_PATH];
    let there: Vec<&str> = wanted.into_iter().filter(|p| files::is_there(&args.path.join(p))).collect();
    if !there.is_empty() && !args.force {
        let verb = if there.len() == 1 { "is" } else { "are" };
        return Err(Error::usage(format!(
            "{} {verb} there already; nothing was written",
            there.join(" and ")
        ))
        .hint("`--force` replaces them"));
    }
    let request = PinsRequest {
        repository: Repository::Path(args.path.clone()),
        token: None,
        ssh: SshOptions::default(),
        ca_file: None,
        cache_dir: None,
        to: None,
        helm: HelmChoice::OnPath,
    };
    let pins = session::pins(&request, &context.terminal)?;
    // The workflow first: its folders can be missing or links, and then nothing has been written yet.
    for (path, text) in [(WORKFLOW_PATH, workflow()), (config_path, configuration(&pins))] {
        write(&args.path, path, &text)?;
        context.note(&format!("wrote {}", args.path.join(path).display()));
    }
    let repository =
        "Settings > Actions > General > \"Allow GitHub Actions to create and approve pull requests\"";
    context.note(&format!("next: commit both files, and turn on {repository}"));
    if let Some(hold) = on_another_channel(&pins) {
        context.note(&format!("note: {hold}"));
    }
    Ok(Exit::Done)
}

/// What every run would say where no pin is on the edge channel.
fn on_another_channel(report: &PinsReport) -> Option<Hold> {
    let pins: Vec<_> = report.pins.iter().filter(|pin| pin.kind != PinKind::Other).collect();
    let all = pins.iter().all(|pin| pin.reason == Some(RowReason::Stays(Reason::Channel)));
    let reason = HoldReason::OtherChannel { pins: pins.len() };
    (all && !pins.is_empty()).then_some(Hold { reason, release: None, until: None })
}

fn print_gates(args: &InitArgs, context: &Context) -> Result<Exit, Error> {
    let (origin, appliers) = session::appliers(&args.path)?;
    let Gates { manifests, notes } = Gates::of(&appliers, origin.as_deref());
    if manifests.is_empty() {
        return Err(Error::failed(
            "no Flux Kustomization and no Argo CD Application here applies Linkerd from this repository",
        )
        .hint("gates need one that does: an Application whose source is a chart says nothing on the commits here"));
    }
    context.print(&manifests)?;
    notes.iter().for_each(|note| context.note(note));
    Ok(Exit::Done)
}

fn write(folder: &Path, path: &str, text: &str) -> Result<(), Error> {
    files::replace_below(folder, path, text)
        .map_err(|e| Error::failed(format!("cannot write {}", folder.join(path).display())).because(e))
}

/// Fills the template of the configuration.
fn configuration(pins: &PinsReport) -> String {
    let paths: Vec<&str> = pins.pins.iter().map(|p| p.path.as_str()).collect();
    let rendered = pins.pins.iter().filter(|p| p.kind == PinKind::RenderedManifest);
    let seen: Vec<(&str, &str)> =
        rendered.filter_map(|p| Some((p.chart.as_deref()?, p.path.as_str()))).collect();
    CONFIG
        .replace("# <targets>\n", &suggest::targets(&paths))
        .replace("# <rendered>\n", &suggest::rendered(&seen))
}

fn workflow() -> String {
    WORKFLOW.replace("<version>", env!("CARGO_PKG_VERSION"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_a_configuration_that_changes_nothing() {
        let text = configuration(&PinsReport::default());
        let config = config::parse("uplinker.yaml", &text).unwrap();
        assert_eq!(config.targets.len(), 1);
        assert!(config.targets[0].target.all);
        assert_eq!(config.branch, config::BranchConfig::default());
    }

    #[test]
    fn every_commented_line_is_a_valid_key() {
        let targets = suggest::targets(&["clusters/a/x.yaml", "clusters/b/x.yaml"]);
        let rendered =
            suggest::rendered(&[("linkerd-viz", "out/viz.yaml"), ("linkerd-crds", "out/crds.yaml")]);
        let text = CONFIG.replace("# <targets>\n", &targets).replace("# <rendered>\n", &rendered);
        // One space behind `#` begins an explanation; anything else behind it is a setting.
        let setting = |l: &'_ str| {
            l.strip_prefix('#').is_some_and(|r| !r.is_empty() && (!r.starts_with(' ') || r.starts_with("  ")))
        };
        let live: Vec<&str> = text.lines().map(|l| if setting(l) { &l[1..] } else { l }).collect();
        let live = live.join("\n");
        let config = config::parse("uplinker.yaml", &live).unwrap_or_else(|e| panic!("{e}\n{live}"));
        assert_eq!((config.targets.len(), config.render.len()), (2, 2));
    }
}
