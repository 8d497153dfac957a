//! Step 5, pins: other update bots that manage the same pins.
//!
//! In: Renovate's and Dependabot's configurations, and the pins. Out: a [`Rival`] with the rule that leaves the pins to one of the two,
//! unless such a rule is there already.

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
        if renovate_covers(&text, pins) {
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

/// JSON5 is read as text: only words matter here.
fn renovate_covers(text: &str, pins: &[Pin]) -> bool {
    let bare: String = text.chars().filter(|c| !c.is_whitespace() && !matches!(c, '"' | '\'')).collect();
    let off = bare.starts_with("{enabled:false")
        || (!bare.contains("packageRules") && bare.contains("enabled:false"));
    let settled =
        bare.contains("inkerd") && (bare.contains("enabled:false") || bare.contains("ignoreDeps:["));
    let manager = |pin: &Pin| match pin.kind {
        PinKind::FluxHelmRelease | PinKind::FluxHelmChart | PinKind::FluxOciRepository => "flux",
        PinKind::ArgoApplication | PinKind::ArgoApplicationset => "argocd",
        PinKind::KustomizeHelmChart | PinKind::KustomizeImage => "kustomize",
        PinKind::ChartDependency | PinKind::ChartLock => "helmv3",
        _ => "",
    };
    let limited = bare.contains("enabledManagers:[");
    let covers = |pin: &Pin| !manager(pin).is_empty() && (!limited || bare.contains(manager(pin)));
    !off && !settled && pins.iter().filter(|p| p.stays.is_none()).any(covers)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pins::{Form, Site, Stage};
    use crate::repo::{BlobId, RepoPath};

    fn pin(kind: PinKind) -> Pin {
        let site = Site { span: 0..1, line: 1, column: 1, document: 0, route: None };
        let path = RepoPath::new("a.yaml").unwrap();
        let (form, stage) = (Form::Chart, Stage::Platform);
        let (chart, mirror, version, stays, frame) = (None, None, None, None, None);
        let (blob, value) = (BlobId([0; 20]), String::new());
        Pin {
            path,
            blob,
            site,
            kind,
            chart,
            mirror,
            value,
            form,
            frame,
            version,
            stage,
            restarts: false,
            is_off: false,
            stays,
            kept_by: None,
            read_at: Vec::new(),
            also: Vec::new(),
            installations: Default::default(),
            homes: Vec::new(),
        }
    }

    #[test]
    fn renovate_is_a_rival_until_a_rule_leaves_the_pins_alone() {
        let pins = [pin(PinKind::FluxHelmRelease)];
        assert!(renovate_covers(r#"{"extends": ["config:recommended"]}"#, &pins));
        assert!(!renovate_covers(RENOVATE_RULE, &pins));
        assert!(!renovate_covers(r#"{"ignoreDeps": ["linkerd-crds"]}"#, &pins));
        assert!(!renovate_covers(r#"{"enabled": false}"#, &pins));
        assert!(!renovate_covers(r#"{enabledManagers: ["npm"]}"#, &pins));
        assert!(renovate_covers(r#"{enabledManagers: ["flux"]}"#, &pins));
        assert!(!renovate_covers("{}", &[pin(PinKind::ProxyAnnotation)]));
    }
}
