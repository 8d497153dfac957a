//! Step 8, verify: what is deployed after the change is what was deployed before, with releases replaced.
//!
//! In: the trees before and after, the plan's moves. Out: a `block` for each object that differs in anything else, and for what
//! a deployer could build before and no longer can, or a `warn` where values from elsewhere decide that. This reads both trees
//! as the deployers do, so that what only compares itself with a release (`op: test` of a JSON patch, a replacement's source,
//! a condition of a chart's template) is found where it is left behind.

use std::collections::{BTreeMap, BTreeSet};

use super::{CheckId, Checked, Finding, Verification, count};
use crate::{
    deploy::{self, KnownBy, Object, Replaced, TreeFiles, What},
    pins::{ChartUse, Form, Inventory, Root, ValuesPart},
    plan::NewText,
    render::ObjectKey,
    repo::{Overlay, RepoPath},
    yaml::{Ceilings, Route},
};

pub(super) const ID: CheckId = CheckId::ModelDiff;

pub(super) fn check(input: &Verification<'_>) -> Checked {
    let changed: BTreeSet<&RepoPath> = input.changes.files.iter().map(|file| &file.path).collect();
    let reads =
        |root: &&Root| changed.contains(&root.path) || root.reads.iter().any(|path| changed.contains(path));
    let roots = input.inventory.facts.roots.iter().filter(reads);
    let entries: Vec<RepoPath> = roots.map(|root| root.path.clone()).collect();
    let mut replaced = Replaced::default();
    for (pin, new) in input.moving() {
        if matches!(new, NewText::Gone) {
            let key = pin.site.route.as_ref().and_then(Route::split);
            key.into_iter().for_each(|(_, key)| replaced.remove_entry(key, &pin.value));
        }
        if let NewText::Fixed(text) = new {
            match (pin.form, pin.site.route.as_ref().and_then(Route::split)) {
                (Form::Absent, Some((_, key))) => replaced.add_entry(key, text),
                _ => replaced.add(&pin.path, pin.site.span.clone(), &pin.value, text),
            }
        }
    }
    let edited = Overlay::new(input.before, input.changes);
    let files =
        |tree| TreeFiles::new(tree, Ceilings::default()).of(input.inventory.facts.repositories.clone());
    let (before, after) = (files(input.before), files(&edited));
    let regenerated = Regenerated::of(input);
    let is_made_again = |object: &Object| regenerated.has(object);
    let mut compared = deploy::compare(&before, &after, &entries, &replaced, &is_made_again);
    let told = compared.differences.iter().filter_map(|difference| match &difference.what {
        What::Leaves(_) => Some(difference.root.clone()),
        What::Loses { by, .. } => Some(by.clone()),
        _ => None,
    });
    let told: BTreeSet<RepoPath> = told.collect();
    if let Some(rescanned) = input.after {
        let charted = (&*input.inventory.charted, &*rescanned.charted);
        compared.outcomes(charted, (&before, &after), &replaced, &is_made_again);
    }
    let mut findings: Vec<Finding> = compared.differences.into_iter().map(finding).collect();
    findings.extend(given_less(input, &told));
    findings.extend(compared.identities.into_iter().map(known_by));
    findings.extend(compared.beyond.iter().map(|(root, bound)| {
        let reason = format!("only a part of what it deploys was compared: {bound}");
        Finding::warn(ID, reason).at(root, None).hint(BY_HAND)
    }));
    if input.inventory.facts.rootless {
        let reason =
            "nothing that is deployed was compared: this repository has more roots than are looked at";
        findings.push(Finding::warn(ID, reason).hint(BY_HAND));
    }
    let looked_at = format!(
        "{} of {}, before and after",
        count(compared.objects, "object"),
        count(compared.roots, "root")
    );
    Checked { looked_at, findings }
}

fn finding(difference: deploy::Difference) -> Finding {
    let deploy::Difference { root, object, what } = difference;
    let (reason, hint) = match what {
        What::MayFail(why) => {
            let reason = format!(
                "`{object}` can be built today and may not be after this: {why}, unless values that are not in this repository are \
                 laid over it"
            );
            return Finding::warn(ID, reason).at(&root, None).hint(ELSEWHERE);
        }
        What::Fails(why) => (
            format!(
                "`{object}` can be built today and could not be after this: {}",
                why.trim_end_matches('.')
            ),
            "something compares itself with a release that moves; set both by hand in this branch",
        ),
        What::Leaves(path) => (
            format!(
                "`{object}` can be built today and could not be after this: it reads `{path}`, and nothing would be there in its \
                 place"
            ),
            NAMED,
        ),
        What::Loses { was, is, .. } => {
            (format!("`{object}` reads `{was}` today, and after this there would be no `{is}` for it"), NAMED)
        }
        What::Gone => (format!("`{object}` would be gone"), OURS),
        What::New => (format!("`{object}` would come"), OURS),
        What::Field { field, texts: Some((wanted, found)) } => (
            format!(
                "`{object}` would differ in more than its release: {field} would be `{found}`, not `{wanted}`"
            ),
            OURS,
        ),
        What::Field { field, texts: None } => {
            (format!("`{object}` would differ in more than its release: {field} would be another"), OURS)
        }
    };
    Finding::block(ID, reason).at(&root, None).hint(hint)
}

/// Finds charts that would not be given values that they are given today: what they call these by holds a release. `told` are
/// files of which that is said.
fn given_less(input: &Verification<'_>, told: &BTreeSet<RepoPath>) -> Vec<Finding> {
    let Some(after) = input.after else { return Vec::new() };
    let (was, is) = (missing(input.inventory), missing(after));
    let less = is.into_iter().filter_map(|(given @ (path, _, chart, _), missing)| {
        let known = was.get(&given).filter(|known| known.len() < missing.len())?;
        let what = missing.difference(known).next().filter(|_| !told.contains(path))?;
        let reason = format!("`{chart}` is given values today that would be missing after this: {what}");
        Some(Finding::block(ID, reason).at(path, None).hint(NAMED))
    });
    less.collect()
}

/// A chart as an object has it rendered: the object's file, which of its charts, the chart's name, that of the release.
type Given<'a> = (&'a RepoPath, &'a str, &'a str, &'a str);

/// Lists the values of charts that are not in a tree, for all clusters.
fn missing(inventory: &Inventory) -> BTreeMap<Given<'_>, BTreeSet<&str>> {
    let mut all: BTreeMap<Given<'_>, BTreeSet<&str>> = BTreeMap::new();
    for ChartUse { path, part, chart, release, values, .. } in &inventory.facts.uses {
        let outside = values.iter().filter_map(|values| match values {
            ValuesPart::Outside { what, .. } => Some(what.as_str()),
            ValuesPart::Text { .. } | ValuesPart::InChart { .. } => None,
        });
        all.entry((path, part.as_str(), chart.as_str(), release.as_str())).or_default().extend(outside);
    }
    all
}

fn known_by(identity: deploy::Identity) -> Finding {
    let deploy::Identity { root, object, by } = identity;
    let finding = match by {
        KnownBy::Name(now) => {
            Finding::warn(ID, format!("`{object}` would go, and `{now}` come in its place")).hint(PRUNED)
        }
        KnownBy::Selector => {
            let reason =
                format!("`{object}`: spec.selector cannot be changed in a cluster; applying this is refused");
            Finding::block(ID, reason)
                .hint("take the release out of its selector; what is there has to be made anew for that")
        }
    };
    finding.at(&root, None)
}

const PRUNED: &str = "who prunes deletes the first with all that it brings: check that it may go, or take the release out of its \
                      name, which moves it once";

const OURS: &str =
    "what builds it follows a release in a way that uplinker does not; change it by hand, or hold the pin";

const ELSEWHERE: &str =
    "look at what is given it from elsewhere; where that sets another value there, nothing fails";

const NAMED: &str =
    "its name holds a release that moves; add what will be named in this branch, or hold the pin";

const BY_HAND: &str = "build it before and after this branch, and compare the two";

/// What charts made again as a whole.
struct Regenerated<'a> {
    files: BTreeSet<&'a RepoPath>,
    objects: Vec<&'a ObjectKey>,
}

// === impl Regenerated ===

impl<'a> Regenerated<'a> {
    fn of(input: &Verification<'a>) -> Self {
        let committed = input.rendered.done.iter().filter(|rendering| rendering.committed);
        let keys =
            committed.flat_map(|r| r.before.objects.iter().chain(&r.after.objects).map(|object| &object.key));
        let files = input.changes.files.iter().filter(|file| file.rendered);
        Self { files: files.map(|file| &file.path).collect(), objects: keys.collect() }
    }

    /// A kustomization may have put something around the name.
    fn has(&self, object: &Object) -> bool {
        let name = object.name().map(|name| name.text().into_owned()).unwrap_or_default();
        let same = |key: &&ObjectKey| key.kind == *object.kind() && name.contains(&key.name);
        self.files.contains(&object.file) && self.objects.iter().any(same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::{Severity, testing::*};

    const RELEASE: &str = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: crds, namespace: linkerd}\n\
                           spec: {chart: {spec: {chart: linkerd-crds, version: 2026.8.2}}, interval: 5m}\n";

    /// A release that a kustomization takes in, whose version moves.
    fn case(kustomization: &str) -> Case {
        let path = |text: &str| RepoPath::new(text).unwrap();
        let root = Root { path: path("kustomization.yaml"), reads: [path("crds.yaml")].into() };
        Case::default().file("kustomization.yaml", kustomization).file("crds.yaml", RELEASE).pins(|build| {
            build.chart("crds.yaml", "linkerd-crds", "2026.8.2").facts(|facts| facts.roots = vec![root])
        })
    }

    #[test]
    fn a_release_that_moves_is_no_difference() {
        assert_eq!(case("resources: [crds.yaml]\n").check(ID), []);
    }

    #[test]
    fn what_guards_the_old_release_blocks() {
        let guarded = "resources: [crds.yaml]\npatches:\n- target: {kind: HelmRelease}\n  patch: |\n    - {op: test, path: \
                       /spec/chart/spec/version, value: 2026.8.2}\n    - {op: replace, path: /spec/interval, value: 1h}\n";
        let found = case(guarded).check(ID);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].severity == Severity::Block && found[0].reason.contains("can be built today"),
            "{found:?}"
        );
    }

    #[test]
    fn another_change_of_the_same_file_blocks_and_names_its_object() {
        let found = case("resources: [crds.yaml]\n")
            .tamper(|changes| {
                let file = &mut changes.files[0];
                let text = String::from_utf8(file.after.take().unwrap()).unwrap();
                file.after = Some(text.replace("5m", "6m").into_bytes());
            })
            .check(ID);
        let wanted = "`HelmRelease linkerd/crds` would differ in more than its release: spec.interval would be another";
        assert!(found.len() == 1 && found[0].reason == wanted, "{found:?}");
    }

    #[test]
    fn values_that_are_not_there_after_the_move_block() {
        let given = |values: &str| ChartUse {
            path: RepoPath::new("crds.yaml").unwrap(),
            line: 1,
            part: String::new(),
            by: BTreeSet::new(),
            sources: BTreeSet::new(),
            chart: "linkerd-crds".into(),
            version: "2026.8.2".into(),
            release: "crds".into(),
            namespace: None,
            values: match values {
                "" => Vec::new(),
                what => vec![ValuesPart::Outside { what: what.into(), target: None, optional: false }],
            },
            parameters: Vec::new(),
            kube_version: None,
            api_versions: Vec::new(),
            include_crds: true,
            hooks: true,
            notes: Vec::new(),
            installed: BTreeSet::new(),
        };
        let found = |was: &'static str, is: &'static str| {
            let facts = Case::default().file("crds.yaml", RELEASE).pins(|build| {
                let build = build.chart("crds.yaml", "linkerd-crds", "2026.8.2");
                build.facts(|facts| facts.uses = vec![given(was)])
            });
            let now = given(is);
            facts.rescanned(move |after| after.facts.uses = vec![now]).check(ID)
        };
        let lost = found("", "ConfigMap linkerd/crds-2026.8.3");
        let wanted = "`linkerd-crds` is given values today that would be missing after this: ConfigMap \
                      linkerd/crds-2026.8.3";
        assert!(lost.len() == 1 && lost[0].reason == wanted, "{lost:?}");
        assert_eq!(found("Secret linkerd/a-2026.8.2", "Secret linkerd/a-2026.8.3"), [], "as before");
        assert_eq!(found("ConfigMap linkerd/crds-2026.8.2", ""), []);
    }

    #[test]
    fn what_a_cluster_knows_by_the_release_is_told() {
        let known = |kind: &str, name: &str, selector: &str| {
            let objects = format!(
                "{RELEASE}---\napiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: {name}, namespace: linkerd}}\nspec: \
                 {{selector: {{matchLabels: {{mesh: {selector}}}}}}}\n"
            );
            // What fills one of them in is the version of the release.
            let set = "resources: [crds.yaml]\nreplacements:\n- source: {kind: HelmRelease, fieldPath: spec.chart.spec.version}\n  \
                       targets:\n  - select: {group: apps}\n    fieldPaths: [FIELD]\n";
            let field = if name == "x" { "metadata.name" } else { "spec.selector.matchLabels.mesh" };
            let path = |text: &str| RepoPath::new(text).unwrap();
            let root = Root { path: path("kustomization.yaml"), reads: [path("crds.yaml")].into() };
            let case = Case::default().file("kustomization.yaml", &set.replace("FIELD", field));
            let case = case.file("crds.yaml", &objects).pins(|build| {
                build.chart("crds.yaml", "linkerd-crds", "2026.8.2").facts(|facts| facts.roots = vec![root])
            });
            let found = case.check(ID);
            found.into_iter().map(|finding| (finding.severity, finding.reason)).collect::<Vec<_>>()
        };
        let renamed =
            "`Deployment linkerd/2026.8.2` would go, and `Deployment linkerd/2026.8.3` come in its place";
        assert_eq!(known("Deployment", "x", "a"), [(Severity::Warn, renamed.to_owned())]);
        let refused =
            "`Deployment linkerd/a`: spec.selector cannot be changed in a cluster; applying this is refused";
        assert_eq!(known("Deployment", "a", "x"), [(Severity::Block, refused.to_owned())]);
        assert_eq!(known("Job", "x", "a"), []);
    }

    #[test]
    fn what_is_not_compared_is_said() {
        let found = Case::default()
            .file("crds.yaml", RELEASE)
            .pins(|build| build.chart("crds.yaml", "linkerd-crds", "2026.8.2").facts(|f| f.rootless = true))
            .check(ID);
        assert!(
            found.len() == 1
                && found[0].severity == Severity::Warn
                && found[0].reason.contains("nothing that"),
            "{found:?}"
        );
    }
}
