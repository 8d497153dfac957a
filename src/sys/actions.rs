//! GitHub Actions as an outside system: the two files through which a step reports.

use std::{
    fs::OpenOptions,
    io::{self, Write},
    path::PathBuf,
};

use super::env::{self, Environment};

/// The files of the running step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Actions {
    /// Takes Markdown.
    summary: Option<PathBuf>,
    /// Takes outputs.
    output: Option<PathBuf>,
}

/// The largest summary that GitHub takes, in bytes.
const MAX_SUMMARY: usize = 1 << 20;

// === impl Actions ===

impl Actions {
    /// Finds the files; none outside GitHub Actions.
    pub fn of(environment: &Environment) -> Self {
        match environment.in_actions() {
            true => Self {
                summary: environment.path(env::GITHUB_STEP_SUMMARY),
                output: environment.path(env::GITHUB_OUTPUT),
            },
            false => Self::default(),
        }
    }

    /// Returns how many bytes the step's summary still takes; `None` where there is none.
    pub fn room(&self) -> Option<usize> {
        let there = std::fs::metadata(self.summary.as_ref()?).map_or(0, |file| file.len());
        Some(MAX_SUMMARY.saturating_sub(usize::try_from(there).unwrap_or(usize::MAX)))
    }

    /// Adds Markdown to the step's summary, which is lost whole where it gets too large.
    pub fn summarize(&self, markdown: &str) -> io::Result<()> {
        match &self.summary {
            Some(path) if self.room().is_some_and(|room| markdown.len() <= room) => append(path, markdown),
            _ => Ok(()),
        }
    }

    /// Sets outputs of the step, ready made as lines of `name=value`.
    pub fn set(&self, outputs: &str) -> io::Result<()> {
        self.output.as_ref().map_or(Ok(()), |path| append(path, outputs))
    }
}

fn append(path: &PathBuf, text: &str) -> io::Result<()> {
    let named = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", path.display()));
    let mut file = OpenOptions::new().append(true).create(true).open(path).map_err(named)?;
    file.write_all(text.as_bytes()).map_err(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_count_only_inside_actions() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("summary");
        let set = [(env::GITHUB_STEP_SUMMARY, path.as_os_str().to_owned())];
        assert_eq!(Actions::of(&Environment::of(set.clone())), Actions::default());
        let inside = set.into_iter().chain([(env::GITHUB_ACTIONS, "true".into())]);
        let actions = Actions::of(&Environment::of(inside));
        actions.summarize("one\n").unwrap();
        actions.summarize("two\n").unwrap();
        actions.set("a=b\n").unwrap();
        actions.summarize(&"x".repeat(MAX_SUMMARY)).unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), "one\ntwo\n", "what is there would be lost too");
    }
}
