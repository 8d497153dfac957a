//! What an ApplicationSet leaves of its Applications as the cluster has it, once it has made them.
//!
//! Sources: `pkg/apis/application/v1alpha1/applicationset_types.go` (`AllowUpdate`), `applicationset/utils/createOrUpdate.go`
//! (`applyIgnoreDifferences`) and `util/argo/normalizers/diff_normalizer.go` of argo-cd: what is ignored is taken out of what
//! the cluster has and of what was made, and is no part of the patch between them.

use std::ptr;

use super::GROUP;
use crate::deploy::{json_patch, object::Object, value::Value};

/// A step of a path of jq.
enum Step<'e> {
    Key(&'e str),
    Each,
    At(usize),
}

/// Tells whether a policy lets an ApplicationSet make Applications, and never change them.
pub fn creates_only(set: &Object) -> bool {
    let policy = set.value.text(&["spec", "syncPolicy", "applicationsSync"]);
    policy.is_some_and(|policy| matches!(&*policy, "create-only" | "create-delete"))
}

/// Lists the parts of one of its Applications of which an ApplicationSet takes over no difference.
pub fn kept<'a>(set: &Object, application: &'a Object) -> Vec<&'a Value> {
    let spec = set.value.get("spec").filter(|_| set.is(GROUP, "ApplicationSet"));
    let rules = spec.map_or(&[][..], |spec| spec.list_at("ignoreApplicationDifferences"));
    let name = application.name();
    let is_its = |rule: &&Value| match rule.text(&["name"]) {
        Some(of) if !of.is_empty() => {
            name.is_none_or(|name| name.unknown_to().is_some() || name.text() == of)
        }
        _ => true,
    };
    let mut found = Vec::new();
    for rule in rules.iter().filter(is_its) {
        let texts = |key: &str| rule.list_at(key).iter().filter_map(|text| text.text(&[]));
        let pointers = texts("jsonPointers");
        found.extend(pointers.filter_map(|pointer| json_patch::pointed(&application.value, &pointer)));
        found.extend(texts("jqPathExpressions").flat_map(|path| led(&application.value, &path)));
    }
    // Many rules may name one part.
    found.sort_by_key(|part| ptr::from_ref(*part));
    found.dedup_by_key(|part| ptr::from_ref(*part));
    found
}

/// Lists what a path of jq may lead to, which is in what its first steps lead to; where these are none, anything.
fn led<'v>(whole: &'v Value, path: &str) -> Vec<&'v Value> {
    let (mut found, mut rest) = (vec![whole], path.trim());
    while let Some((step, behind)) = first(rest) {
        found = found.into_iter().flat_map(|value| step.of(value)).collect();
        rest = behind.trim_start_matches('?').trim_start();
    }
    // What a pipe hands on is taken out of what stands before it; any other sign may begin another path.
    if rest.is_empty() || rest.starts_with('|') { found } else { vec![whole] }
}

/// Reads the first step of a path, and what stands behind it.
fn first(path: &str) -> Option<(Step<'_>, &str)> {
    let quoted = |text: &str| text.starts_with('"');
    let plain = |key: &str| !key.is_empty() && !key.contains(['"', '\\']);
    if let Some(inner) = path.strip_prefix('.').unwrap_or(path).strip_prefix('[') {
        let (inside, behind) = inner.split_once(']')?;
        let step = match inside.trim() {
            "" => Step::Each,
            key if quoted(key) => {
                let key = key.strip_prefix('"').and_then(|key| key.strip_suffix('"'));
                Step::Key(key.filter(|key| plain(key))?)
            }
            number => Step::At(number.parse().ok()?),
        };
        return Some((step, behind));
    }
    let name = path.strip_prefix('.')?;
    let (key, behind) = match name.strip_prefix('"') {
        Some(inner) => inner.split_once('"')?,
        None => {
            name.split_at(name.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(name.len()))
        }
    };
    plain(key).then_some((Step::Key(key), behind))
}

// === impl Step ===

impl Step<'_> {
    /// Lists what it leads to.
    fn of<'v>(&self, value: &'v Value) -> Vec<&'v Value> {
        match (self, value) {
            (Self::Key(key), _) => value.get(key).into_iter().collect(),
            (Self::At(at), _) => value.items().get(*at).into_iter().collect(),
            (Self::Each, Value::List(items)) => items.iter().collect(),
            (Self::Each, _) => value.entries().map(|(_, value)| value).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deploy::testing::objects;

    #[test]
    fn what_is_ignored_of_an_application_is_kept() {
        let of = |rule: &str| {
            let all = objects(&format!(
                "{{apiVersion: argoproj.io/v1alpha1, kind: ApplicationSet, spec: {{ignoreApplicationDifferences: [{{{rule}}}]}}}}\n\
                 ---\n{{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {{name: a}}, spec: {{source: {{chart: b, \
                 targetRevision: '1'}}, sources: [{{chart: c, targetRevision: '2'}}]}}}}\n"
            ));
            let scalars = kept(&all[0], &all[1]).into_iter().flat_map(Value::scalars);
            let mut texts: Vec<String> = scalars.map(|scalar| scalar.text().into_owned()).collect();
            texts.sort();
            texts.join(" ")
        };
        assert_eq!(of("jsonPointers: [/spec/source/targetRevision, /spec/gone]"), "1");
        assert_eq!(of("name: a, jsonPointers: [/spec/sources/0]"), "2 c");
        assert_eq!(of("name: b, jsonPointers: [/spec/source]"), "");
        assert_eq!(of("jsonPointers: [/spec/sources/0], jqPathExpressions: ['.spec.sources[]']"), "2 c");
        let jq = |path: &str| of(&format!("jqPathExpressions: ['{path}']"));
        assert_eq!(jq(".spec.source.targetRevision"), "1");
        assert_eq!(jq(".spec.sources[].targetRevision?"), "2");
        assert_eq!(jq(".spec[\"sources\"][0] | select(.chart == \"x\").targetRevision"), "2 c");
        assert_eq!(jq(".spec.syncPolicy"), "");
        for open in
            [".spec.syncPolicy, .spec.source", "(.spec.source | .targetRevision)", "..", ".spec.sources[-1]"]
        {
            let all = "1 2 Application a argoproj.io/v1alpha1 b c";
            assert_eq!(jq(open), all, "{open}: any part may be meant");
        }
    }

    #[test]
    fn a_policy_may_let_applications_be_made_and_not_changed() {
        let of = |policy: &str| {
            creates_only(
                &objects(&format!(
                    "{{kind: ApplicationSet, spec: {{syncPolicy: {{applicationsSync: {policy}}}}}}}\n"
                ))[0],
            )
        };
        assert!(of("create-only") && of("create-delete") && !of("create-update") && !of("sync"));
    }
}
