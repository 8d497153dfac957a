//! Step 6, plan: which target a file belongs to.
//!
//! In: targets and an inventory. Out: its [`Assignment`]. A file in two
//! targets would be changed by two pull requests, so an overlap is an error and never a choice.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use globset::GlobSet;

use super::{Share, Target};
use crate::{
    pins::{Inventory, Pin, Skipped, Stage},
    repo::RepoPath,
};

/// The target of a repository that configures none.
pub(super) const DEFAULT: &str = "default";

/// How many files an [`Overlap`] names before it counts the rest.
const NAMED: usize = 10;

/// The targets of the pins of an inventory.
#[derive(Clone, Debug, Default)]
pub struct Assignment {
    /// For each pin the position of its target; `None` outside all of them.
    pub targets: Vec<Option<usize>>,
    /// The pins in no target.
    pub outside: Vec<Arc<Pin>>,
}

/// Files that more than one target claims. The configuration is at fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Overlap {
    /// The files and the names of the targets that claim each.
    pub files: Vec<(RepoPath, Vec<String>)>,
}

// === impl Target ===

impl Target {
    /// Returns the target of a repository that configures none: every file.
    pub fn default_all() -> Self {
        Self {
            name: DEFAULT.to_owned(),
            paths: GlobSet::empty(),
            exclude: GlobSet::empty(),
            all: true,
            share: Share::All,
            wave: None,
            after: None,
        }
    }

    /// Returns what serves one installation, whatever else it serves.
    pub fn serving(installation: &Arc<str>) -> Self {
        Self { share: Share::Serving(installation.clone()), ..Self::default_all() }
    }

    /// Tells whether a file belongs to this target, or a part of it.
    pub fn covers(&self, path: &RepoPath) -> bool {
        let shared = match &self.share {
            Share::All | Share::Serving(_) => true,
            Share::Part { parts, mine } => parts.covers(*mine, path),
        };
        shared && self.spans(path)
    }

    /// Tells whether a file is among those of which this target is made, or a part.
    pub fn spans(&self, path: &RepoPath) -> bool {
        (self.all || self.paths.is_match(path.as_str())) && !self.exclude.is_match(path.as_str())
    }

    /// Tells whether a pin belongs to this target.
    pub fn has(&self, pin: &Pin) -> bool {
        self.whole_has(pin) && self.wave.as_ref().is_none_or(|wave| wave.has(pin))
    }

    /// Tells whether a pin belongs to this target, or the one whose wave it is.
    pub fn whole_has(&self, pin: &Pin) -> bool {
        let mine = match &self.share {
            Share::All => true,
            Share::Serving(name) => pin.installations.contains(name),
            Share::Part { parts, mine } => parts.has(*mine, pin),
        };
        mine && self.covers(&pin.path)
    }

    /// Tells whether an installation is one of those that this target is made for.
    pub fn serves(&self, installation: &str) -> bool {
        matches!(&self.share, Share::Part { parts, mine } if parts.serves(*mine, installation))
    }

    /// Tells whether a pin is a proxy's of this target: those of its waves too, and of a wave its own.
    pub fn has_proxy(&self, pin: &Pin) -> bool {
        let is_wave = self.wave.as_ref().is_some_and(|wave| wave.mine.is_some());
        pin.stage == Stage::DataPlane && if is_wave { self.has(pin) } else { self.whole_has(pin) }
    }

    /// Returns the name of the target that has the control plane: its own, but for a wave.
    pub fn whole(&self) -> &str {
        self.wave.as_ref().map_or(&self.name, |wave| &wave.of)
    }
}

/// Gives each pin to the one target that has it. Files that were skipped are checked for overlap too, as far as they are
/// anybody's: of those that have no pin, nobody knows which installation they serve.
pub fn assign(inventory: &Inventory, targets: &[Target]) -> Result<Assignment, Overlap> {
    let mut twice: BTreeMap<&RepoPath, BTreeSet<usize>> = BTreeMap::new();
    let mut claim = |path, by: Vec<usize>| {
        if by.len() > 1 {
            twice.entry(path).or_default().extend(by.iter().copied());
        }
        by.first().copied()
    };
    let having = |has: &dyn Fn(&Target) -> bool| -> Vec<usize> {
        targets.iter().enumerate().filter(|(_, target)| has(target)).map(|(n, _)| n).collect()
    };
    let of = inventory.pins.iter().map(|pin| claim(&pin.path, having(&|target| target.has(pin))));
    let of: Vec<Option<usize>> = of.collect();
    for Skipped { path, .. } in &inventory.skipped {
        claim(path, having(&|target| matches!(target.share, Share::All) && target.covers(path)));
    }
    let name = |n: &usize| targets.get(*n).map(|target| target.name.clone());
    let named = |by: BTreeSet<usize>| by.iter().filter_map(name).collect();
    let files: Vec<_> = twice.into_iter().map(|(path, by)| (path.clone(), named(by))).collect();
    if !files.is_empty() {
        return Err(Overlap { files });
    }
    let outside = inventory.pins.iter().zip(&of).filter(|(_, target)| target.is_none());
    let outside = outside.map(|(pin, _)| pin.clone()).collect();
    Ok(Assignment { targets: of, outside })
}

// === impl Overlap ===

impl fmt::Display for Overlap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a file may belong to one target only; narrow `paths` or `labels`, or use `exclude`:")?;
        for (path, targets) in self.files.iter().take(NAMED) {
            write!(f, "\n  {path}: {}", targets.join(", "))?;
        }
        match self.files.len().checked_sub(NAMED) {
            Some(more) if more > 0 => write!(f, "\n  and {more} more"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::testing::{Build, path, target};

    #[test]
    fn a_target_without_paths_has_every_file_but_the_excluded() {
        let all = target("default", &[], &["legacy"]);
        assert!(all.covers(&path("a/b.yaml")) && !all.covers(&path("legacy/b.yaml")));
        assert!(Target::default_all().covers(&path("legacy/b.yaml")));
    }

    #[test]
    fn each_pin_has_one_target_and_pins_in_none_are_outside() {
        let inventory = Build::default()
            .chart("staging/cp.yaml", "linkerd-control-plane", "2026.8.2")
            .chart("prod/cp.yaml", "linkerd-control-plane", "2026.8.2")
            .chart("lab/cp.yaml", "linkerd-control-plane", "2026.8.2")
            .inventory();
        let targets = [target("staging", &["staging"], &[]), target("prod", &["prod"], &[])];
        let found = assign(&inventory, &targets).unwrap();
        assert_eq!(found.targets, [None, Some(1), Some(0)], "pins are ordered by path: lab, prod, staging");
        assert!(matches!(&*found.outside, [pin] if Arc::ptr_eq(pin, &inventory.pins[0])));
    }

    #[test]
    fn an_overlap_names_the_files_and_the_targets() {
        let inventory = Build::default()
            .chart("prod/cp.yaml", "linkerd-control-plane", "2026.8.2")
            .skip("prod/broken.yaml", crate::pins::SkipReason::Syntax, &[])
            .inventory();
        let targets = [target("all", &[], &[]), target("prod", &["prod"], &[])];
        let text = assign(&inventory, &targets).unwrap_err().to_string();
        assert!(text.contains("prod/cp.yaml: all, prod"), "{text}");
        assert!(text.contains("prod/broken.yaml"), "a skipped file counts too: {text}");
        let excluded = [target("all", &[], &["prod"]), target("prod", &["prod"], &[])];
        assert!(assign(&inventory, &excluded).is_ok());
    }
}
