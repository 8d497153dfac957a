//! `uplinker repositories`: the list that `serve` works on, for what starts one job for each.

use std::path::PathBuf;

use clap::Args;

use super::{Context, Error, Exit, request::Repository};
use crate::{
    report::RepositoriesReport,
    serve::Shard,
    sys::{env, files},
};

/// The largest list that is read, in bytes.
const MAX_LIST: u64 = 4 << 20;

/// A list of repositories.
#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// The repositories: URLs or paths
    #[arg(value_name = "URL|PATH")]
    repositories: Vec<String>,
    /// A file with more of them, one a line; `#` begins a comment
    #[arg(long, env = env::REPOS_FILE, hide_env_values = true, value_name = "FILE")]
    repos_file: Option<PathBuf>,
    /// Take a part of them alone, such as 0/4 for the first of four; which part one is in hangs on its address alone
    #[arg(long, env = env::SHARD, hide_env_values = true, value_name = "I/N")]
    shard: Option<Shard>,
}

/// List the repositories that `serve` would work on
///
/// Nothing is asked of them. With `--format matrix`, prints a matrix of GitHub Actions that has a job for each, in which
/// `matrix.repository` is its address.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct RepositoriesArgs {
    #[command(flatten)]
    list: ListArgs,
}

const EXAMPLES: &str = "\
Examples:
  uplinker repositories --repos-file repositories --shard 0/4
  echo \"matrix=$(uplinker repositories --repos-file repositories --format matrix)\" >> \"$GITHUB_OUTPUT\"

Exit codes: 0 listed, 2 usage.";

/// Runs the command.
pub(super) fn execute(args: RepositoriesArgs, context: &Context) -> Result<Exit, Error> {
    let repositories = args.list.repositories()?.iter().map(ToString::to_string).collect();
    let report = RepositoriesReport { repositories };
    let text = if context.matrix { report.matrix() } else { report.render(context.style(false)) };
    context.print(&text)?;
    Ok(Exit::Done)
}

// === impl ListArgs ===

impl ListArgs {
    /// Returns the repositories of the part that is ours, each once, in the order of the list.
    pub(super) fn repositories(&self) -> Result<Vec<Repository>, Error> {
        self.of(self.names()?, true)
    }

    fn names(&self) -> Result<Vec<String>, Error> {
        let mut names = self.repositories.clone();
        if let Some(path) = &self.repos_file {
            let text = files::read_text(path, MAX_LIST)
                .map_err(|e| Error::usage(format!("cannot read {}", path.display())).because(e))?;
            names.extend(listed(&text));
        }
        Ok(names)
    }

    /// Returns the repositories of the part that is ours among these and those on the list, which may be empty then.
    pub(super) fn with(&self, more: Vec<String>) -> Result<Vec<Repository>, Error> {
        let names = self.names()?.into_iter().chain(more).collect();
        self.of(names, false)
    }

    fn of(&self, names: Vec<String>, needed: bool) -> Result<Vec<Repository>, Error> {
        if names.is_empty() && needed {
            return Err(Error::usage("no repository is named").hint("name some, or a list with --repos-file"));
        }
        let mut all = Vec::new();
        for name in &names {
            let repository = Repository::parse(name)?;
            let ours = self.shard.is_none_or(|shard| shard.has(&repository.to_string()));
            if ours && !all.contains(&repository) {
                all.push(repository);
            }
        }
        Ok(all)
    }
}

fn listed(text: &str) -> impl Iterator<Item = String> + '_ {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_comments_and_blank_lines() {
        let names: Vec<_> = listed("# ours\n\n https://h/o/n \r\n/srv/x.git\n").collect();
        assert_eq!(names, ["https://h/o/n", "/srv/x.git"]);
    }

    #[test]
    fn a_repository_is_listed_once() {
        let names = ["https://h/o/n", "/srv/x.git", "https://h/o/n"].map(str::to_owned).to_vec();
        let list = ListArgs { repositories: names, repos_file: None, shard: None };
        assert_eq!(list.repositories().unwrap().len(), 2);
    }
}
