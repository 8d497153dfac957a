//! Step 5, pins: other update bots that manage the same pins.
//!
//! In: Renovate's and Dependabot's configurations, and the pins. Out: a [`Rival`] with the rule that leaves the pins to one of the two,
//! unless such a rule is there already.

mod renovate;

use super::{
    Pin, PinKind,
    corpus::{Corpus, File},
};
use crate::{repo::RepoPath, yaml::Node};

/// A configuration of another update bot that covers Linkerd.
#[derive(Clone, Debug, Hash)]
pub struct Rival {
    /// The file.
    pub path: RepoPath,
    /// `Renovate` or `Dependabot`.
    pub bot: &'static str,
    /// The rule that leaves the pins to uplinker, as text to paste.
    pub rule: String,
}

/// Where Renovate looks for its configuration (docs.renovatebot.com/configuration-options).
const RENOVATE: [&str; 9] = [
    "renovate.json",
    "renovate.json5",
    ".github/renovate.json",
    ".github/renovate.json5",
    ".gitlab/renovate.json",
    ".gitlab/renovate.json5",
    ".renovaterc",
    ".renovaterc.json",
    ".renovaterc.json5",
];

/// Where Dependabot looks for its own.
const DEPENDABOT: [&str; 2] = [".github/dependabot.yml", ".github/dependabot.yaml"];

/// The rule for Renovate.
const RENOVATE_RULE: &str = r#"{"packageRules": [{"matchPackageNames": ["/linkerd/"], "enabled": false}]}"#;

/// The rule for Dependabot.
const DEPENDABOT_RULE: &str = r#"ignore: [{dependency-name: "*linkerd*"}]"#;

/// Finds the configurations that cover pins of the repository.
pub(super) fn find(corpus: &Corpus<'_>, pins: &[Pin]) -> Vec<Rival> {
    let mut found = Vec::new();
    for path in RENOVATE {
        let Some(entry) = corpus.entry(path) else { continue };
        let Ok(text) = corpus.text(entry) else { continue };
        if renovate::covers(&text, pins) {
            let rule = RENOVATE_RULE.to_owned();
            found.push(Rival { path: entry.path.clone(), bot: "Renovate", rule });
        }
    }
    for path in DEPENDABOT {
        if let Some(file) = corpus.file(path).filter(|file| dependabot_covers(file, pins)) {
            let rule = DEPENDABOT_RULE.to_owned();
            found.push(Rival { path: file.path.clone(), bot: "Dependabot", rule });
        }
    }
    found
}

fn dependabot_covers(file: &File, pins: &[Pin]) -> bool {
    let charts = pins.iter().any(|p| p.kind == PinKind::ChartDependency && p.stays.is_none());
    let ignores = |update: Node<'_>| {
        let rules = update.get("ignore").into_iter().flat_map(Node::items);
        rules.filter_map(|r| r.text(&["dependency-name"])).any(|n| n.contains("linkerd") || n == "*")
    };
    let helm = |update: Node<'_>| update.text(&["package-ecosystem"]) == Some("helm") && !ignores(update);
    charts && file.stream.roots().filter_map(|r| r.get("updates")).flat_map(Node::items).any(helm)
}
