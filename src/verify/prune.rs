//! Step 6, verify: what pruning deletes when committed manifests shrink.
//!
//! In: committed manifests before and after, and the Flux Kustomizations and Argo CD Applications of the tree that apply
//! them. Out: a `block` where a pruned object takes others with it, a `warn` for any other pruned object, an `info`
//! where nothing in the tree prunes them. Helm's resource policy is not honoured by any of these.

use std::collections::BTreeSet;

use super::{
    Checked, Finding, Severity, Verification, count,
    rendered::{Compared, compared},
    sweep::{WRITTEN, texts_with},
};
use crate::{
    render::{Object, ObjectKey},
    repo::RepoPath,
    yaml::{Node, Stream, position},
};

pub(super) const NAME: &str = "prune";

/// How many objects one line names before it counts the rest.
const NAMED: usize = 8;

/// What keeps an object: Flux's and Argo CD's own words.
const KEEPERS: [(&str, &str); 2] =
    [("kustomize.toolkit.fluxcd.io/prune", "disabled"), ("argocd.argoproj.io/sync-options", "Prune=false")];

/// Something that deletes what is no longer in a folder.
struct Pruner {
    what: String,
    folders: Vec<String>,
}

pub(super) fn check(input: &Verification<'_>) -> Checked {
    let all = compared(input);
    let staying: BTreeSet<&ObjectKey> = all.iter().flat_map(|c| c.after.keys().copied()).collect();
    let committed: Vec<&Compared<'_>> = all.iter().filter(|c| c.rendering.committed).collect();
    let shrinking: Vec<(&Compared<'_>, Vec<&Object>)> =
        committed.iter().map(|c| (*c, gone(c, &staying))).filter(|(_, gone)| !gone.is_empty()).collect();
    let pruners = if shrinking.is_empty() { Vec::new() } else { pruners(input) };
    let findings = shrinking.iter().map(|(compared, gone)| finding(compared, gone, &pruners)).collect();
    let looked_at = format!("objects that vanish from {}", count(committed.len(), "committed manifest"));
    Checked { looked_at, findings }
}

fn gone<'r>(compared: &Compared<'r>, staying: &BTreeSet<&ObjectKey>) -> Vec<&'r Object> {
    let removed = compared.diff.removed.iter().filter(|key| !staying.contains(key));
    removed.filter_map(|key| compared.before.get(key).copied()).filter(|object| !is_kept(object)).collect()
}

/// Tells whether an object says that it is not to be pruned.
pub(super) fn is_kept(object: &Object) -> bool {
    KEEPERS.iter().any(|(name, word)| {
        object.annotation(name).is_some_and(|text| text.split(',').any(|part| part.trim() == *word))
    })
}

fn finding(compared: &Compared<'_>, gone: &[&Object], pruners: &[Pruner]) -> Finding {
    let names: Vec<String> = gone.iter().take(NAMED).map(|object| object.key.to_string()).collect();
    let more = gone.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let objects = count(gone.len(), "object");
    let verb = if gone.len() == 1 { "vanishes" } else { "vanish" };
    let start = format!("{objects} {verb} from the manifest: {}{more}", names.join(", "));
    let by: Vec<&str> =
        pruners.iter().filter(|p| p.covers(&compared.rendering.path)).map(|p| p.what.as_str()).collect();
    let finding = if by.is_empty() {
        let rest = "nothing was found in the repository that prunes them, so they may stay in the cluster";
        Finding::info(NAME, format!("{start}; {rest}"))
    } else {
        let severity =
            if gone.iter().any(|o| takes_others(&o.key)) { Severity::Block } else { Severity::Warn };
        Finding::new(NAME, severity, format!("{start}; {} deletes them from the cluster", by.join(" and "))).mend(
            "check that they may go; else annotate them with `kustomize.toolkit.fluxcd.io/prune: disabled` or \
             `argocd.argoproj.io/sync-options: Prune=false` before this is merged",
        )
    };
    compared.at(finding)
}

/// Tells whether other objects or data go when an object goes.
fn takes_others(key: &ObjectKey) -> bool {
    matches!(key.kind.as_str(), "Namespace" | "CustomResourceDefinition" | "PersistentVolumeClaim")
}

// === impl Pruner ===

impl Pruner {
    fn covers(&self, path: &RepoPath) -> bool {
        self.folders.iter().any(|folder| {
            let rest = path.as_str().strip_prefix(folder.as_str());
            rest.is_some_and(|rest| folder.is_empty() || rest.starts_with('/'))
        })
    }
}

/// Finds what prunes, in the whole tree: it is read only when something vanishes.
fn pruners(input: &Verification<'_>) -> Vec<Pruner> {
    let found = texts_with(input, &["prune"], WRITTEN);
    found.iter().flat_map(|(entry, text)| in_file(&entry.path, text)).collect()
}

fn in_file(path: &RepoPath, text: &str) -> Vec<Pruner> {
    let Ok(stream) = Stream::parse(text) else { return Vec::new() };
    let pruner = |root: Node<'_>| {
        let line = position(text, root.span().start).0;
        let name = root.text(&["metadata", "name"]).unwrap_or_default();
        let folders = folders(root)?;
        let kind = root.text(&["kind"])?;
        Some(Pruner { what: format!("the {kind} `{name}` ({path}:{line})"), folders })
    };
    stream.roots().filter_map(pruner).collect()
}

/// Returns the folders that an object prunes, `None` where it prunes none.
fn folders(root: Node<'_>) -> Option<Vec<String>> {
    let is_on = |text: Option<&str>| text == Some("true");
    let clean = |text: &str| text.trim_start_matches("./").trim_matches('/').replace("/./", "/");
    let spec: &[&str] = match root.text(&["kind"])? {
        "Kustomization" => {
            let flux = root.text(&["apiVersion"])?.starts_with("kustomize.toolkit.fluxcd.io/");
            let prunes = flux && is_on(root.text(&["spec", "prune"]));
            let folder = clean(root.text(&["spec", "path"]).unwrap_or_default());
            return prunes.then(|| vec![if folder == "." { String::new() } else { folder }]);
        }
        "Application" => &["spec"],
        "ApplicationSet" => &["spec", "template", "spec"],
        _ => return None,
    };
    let under = |keys: &[&'static str]| [spec, keys].concat();
    if !is_on(root.text(&under(&["syncPolicy", "automated", "prune"]))) {
        return None;
    }
    let one = root.text(&under(&["source", "path"])).map(clean);
    let sources = under(&["sources"]).iter().try_fold(root, |node, key| node.get(key));
    let sources = sources.filter(|list| list.is_sequence());
    let many =
        sources.into_iter().flat_map(|list| list.items().filter_map(|item| item.text(&["path"]).map(clean)));
    // A path with a template in it is not known here.
    Some(one.into_iter().chain(many).filter(|folder| !folder.contains("{{")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::{Severity::*, testing::*};

    fn object(kind: &str, annotation: &str) -> String {
        format!("---\napiVersion: v1\nkind: {kind}\nmetadata: {{name: x, annotations: {{{annotation}}}}}\n")
    }

    fn committed(before: &str, after: &str) -> Case {
        rendered(before, after).with_rendering(|r| {
            r.committed = true;
            r.path = crate::plan::testing::path("clusters/prod/mesh/all.yaml");
        })
    }

    fn flux(path: &str) -> String {
        format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: mesh}}\n\
             spec: {{path: {path}, prune: true}}\n"
        )
    }

    const ARGO: &str = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: mesh}\n\
                        spec: {source: {path: clusters/prod/mesh}, syncPolicy: {automated: {prune: true}}}\n";

    #[test]
    fn a_pruned_object_is_named_with_who_deletes_it() {
        for deployer in [flux("./clusters/prod"), flux("./"), ARGO.to_owned()] {
            let found = committed(&object("Service", ""), "").file("flux.yaml", &deployer).check(NAME);
            assert_eq!(severities(&found), [Warn], "{deployer}");
            assert!(
                found[0].reason.contains("Service x; the ")
                    && found[0].reason.contains("(flux.yaml:1) deletes")
            );
        }
        let crd = committed(&object("Namespace", ""), "").file("flux.yaml", ARGO).check(NAME);
        assert_eq!(severities(&crd), [Block], "all in it goes too");
    }

    #[test]
    fn without_pruning_of_that_folder_it_is_only_said() {
        for deployer in [flux("./clusters/production"), flux("./x"), ARGO.replace("true", "false")] {
            let found = committed(&object("Service", ""), "").file("flux.yaml", &deployer).check(NAME);
            assert_eq!(severities(&found), [Info], "{deployer}");
        }
    }

    #[test]
    fn kept_objects_stable_manifests_and_the_cluster_itself_pass() {
        let kept = object("Service", "kustomize.toolkit.fluxcd.io/prune: disabled");
        assert_eq!(committed(&kept, "").file("flux.yaml", ARGO).check(NAME), []);
        let kept = object("Service", "argocd.argoproj.io/sync-options: 'Replace=true, Prune=false'");
        assert_eq!(committed(&kept, "").file("flux.yaml", ARGO).check(NAME), []);
        let same = object("Service", "");
        assert_eq!(committed(&same, &same).file("flux.yaml", ARGO).check(NAME), []);
        assert_eq!(rendered(&same, "").file("flux.yaml", ARGO).check(NAME), [], "Helm's own removal");
    }
}
