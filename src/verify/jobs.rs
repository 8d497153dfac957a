//! Step 8, verify: proxy pins in the pods of a Job, which never change once it is there.
//!
//! In: the moving pins of the data plane. Out: a `warn` for each whose object its deployer does not make anew, since applying
//! it is refused; a part of `immutable-fields`.

use std::collections::BTreeMap;

use super::{CheckId, Finding, Verification};
use crate::{
    pins::Stage,
    repo::RepoPath,
    yaml::{Node, Step, Stream},
};

pub(super) fn refused(input: &Verification<'_>, check: CheckId) -> Vec<Finding> {
    let mut files: BTreeMap<&RepoPath, Option<Stream>> = BTreeMap::new();
    let pins = input.moving().map(|(pin, _)| pin).filter(|pin| pin.stage == Stage::DataPlane);
    let mut findings = Vec::new();
    for pin in pins {
        let stream = files.entry(&pin.path).or_insert_with(|| {
            let text = String::from_utf8(input.before.read(pin.blob).ok()?).ok()?;
            Stream::parse(&text).ok()
        });
        let found = stream
            .as_ref()
            .zip(pin.site.route.as_ref())
            .and_then(|(stream, route)| object(stream.roots().nth(route.document)?, &route.steps));
        let Some((job, keys)) = found else { continue };
        if job.text(&["kind"]) == Some("Job") && keys.starts_with(&["spec", "template"]) && !is_made_anew(job)
        {
            let name = job.text(&["metadata", "name"]).unwrap_or_default();
            let reason = format!("the pods of Job `{name}` change, which is refused while it is there");
            findings.push(Finding::warn(check, reason).at_pin(pin).hint(HINT));
        }
    }
    findings
}

const HINT: &str = "let it be made anew (`kustomize.toolkit.fluxcd.io/force: enabled`, or the sync option `Replace=true`), or \
                    delete it before merging";

/// Tells whether its deployer makes a Job anew, so that its pods may change.
pub fn is_made_anew(job: Node<'_>) -> bool {
    let annotation = |key: &str| job.text(&["metadata", "annotations", key]).unwrap_or_default();
    let is_hook = !annotation("helm.sh/hook").is_empty() || !annotation("argocd.argoproj.io/hook").is_empty();
    let is_replaced =
        annotation("argocd.argoproj.io/sync-options").split(',').any(|o| o.trim() == "Replace=true");
    is_hook || is_replaced || annotation("kustomize.toolkit.fluxcd.io/force") == "enabled"
}

/// Finds the innermost object on the way to a pin, and the keys from there on. The last of them may be still to come.
pub fn object<'a, 's>(root: Node<'a>, steps: &'s [Step]) -> Option<(Node<'a>, Vec<&'s str>)> {
    let mut node = Some(root);
    let mut found = None;
    let mut keys = Vec::new();
    for step in std::iter::once(None).chain(steps.iter().map(Some)) {
        match step {
            None => {}
            Some(Step::Key(key)) => {
                node = node.and_then(|node| node.get(key)).map(Node::resolved);
                keys.push(key.as_str());
            }
            Some(Step::Index(index)) => node = Some(node?.item(*index)?.resolved()),
            Some(Step::Text(_)) => return None,
        }
        let is_object =
            |node: &Node<'_>| node.text(&["kind"]).is_some() && node.path(&["metadata", "name"]).is_some();
        if let Some(node) = node.filter(|node| node.is_mapping() && is_object(node)) {
            found = Some(node);
            keys.clear();
        }
    }
    Some((found?, keys))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::{Severity, testing::*};

    fn found(text: &str, steps: &[&str]) -> Option<(String, bool)> {
        let stream = Stream::parse(text).unwrap();
        let steps: Vec<Step> = steps.iter().map(|s| Step::Key((*s).to_owned())).collect();
        let (object, keys) = object(stream.roots().next()?, &steps)?;
        Some((object.text(&["kind"])?.to_owned(), keys.starts_with(&["spec", "template"])))
    }

    #[test]
    fn the_object_of_a_pin_is_found() {
        let deployment =
            "kind: Deployment\nmetadata: {name: a}\nspec: {template: {metadata: {annotations: {x: y}}}}\n";
        let at = ["spec", "template", "metadata", "annotations", "x"];
        assert_eq!(found(deployment, &at), Some(("Deployment".into(), true)));
        let namespace = "kind: Namespace\nmetadata: {name: a, annotations: {x: y}}\n";
        assert_eq!(found(namespace, &["metadata", "annotations", "x"]), Some(("Namespace".into(), false)));
        assert_eq!(found("a: {b: c}\n", &["a", "b"]), None);
        let bare = "kind: Deployment\nmetadata: {name: a}\nspec: {template: {metadata: {labels: {x: y}}}}\n";
        assert_eq!(found(bare, &at), Some(("Deployment".into(), true)), "an annotation that is to come");
    }

    #[test]
    fn a_job_refuses_other_pods_unless_it_is_made_anew() {
        let made_anew = |annotations: &str| {
            let text = format!("kind: Job\nmetadata: {{name: a, annotations: {{{annotations}}}}}\n");
            is_made_anew(Stream::parse(&text).unwrap().roots().next().unwrap())
        };
        assert!(!made_anew("") && !made_anew("kustomize.toolkit.fluxcd.io/force: disabled"));
        for annotation in [
            "kustomize.toolkit.fluxcd.io/force: enabled",
            "argocd.argoproj.io/sync-options: 'Prune=false, Replace=true'",
            "argocd.argoproj.io/hook: PreSync",
            "helm.sh/hook: pre-upgrade",
        ] {
            assert!(made_anew(annotation), "{annotation}");
        }
    }

    #[test]
    fn a_pin_in_a_job_is_named_and_one_beside_it_is_not() {
        let text = "kind: KIND\nmetadata: {name: once}\nspec:\n  template:\n    metadata:\n      annotations:\n        config.linkerd.io/proxy-version: edge-26.8.2\n";
        let keys = ["spec", "template", "metadata", "annotations", "config.linkerd.io/proxy-version"];
        let found = |kind: &str| {
            let steps = keys.map(|key| Step::Key(key.to_owned())).to_vec();
            let case =
                Case::default().data_plane().file("job.yaml", &text.replace("KIND", kind)).pins(|build| {
                    build.proxy("job.yaml", "edge-26.8.2").with(|pin| {
                        pin.site.route = Some(crate::yaml::Route { document: 0, steps });
                    })
                });
            severities(&case.check(CheckId::ImmutableFields))
        };
        assert_eq!(found("Job"), [Severity::Warn]);
        assert!(found("Deployment").is_empty() && found("CronJob").is_empty());
    }
}
