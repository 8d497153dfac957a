//! Step 8, verify: versions of custom resources go one way.
//!
//! In: CRDs before and after. Out: a `block` where the version in which objects are stored is dropped, which the API
//! server refuses; a `warn` where another version is dropped or no longer served, and where storage moves, since
//! that cannot be undone by going back.

use std::collections::BTreeMap;

use super::{
    CheckId, Checked, Finding, Verification,
    rendered::{Compared, compared, looked_at},
};
use crate::render::Object;

pub(super) const ID: CheckId = CheckId::CrdStoredVersion;

/// What a CRD says of one of its versions.
#[derive(Clone, Copy)]
struct Version {
    served: bool,
    storage: bool,
}

pub(super) fn check(input: &Verification<'_>) -> Checked {
    let all = compared(input);
    let findings = all.iter().flat_map(of_one).collect();
    Checked { looked_at: looked_at("versions of CustomResourceDefinitions", &all), findings }
}

fn of_one(compared: &Compared<'_>) -> Vec<Finding> {
    let crds = compared.changed().filter(|(change, ..)| change.key.kind == "CustomResourceDefinition");
    let of = |(_, before, after): (_, &Object, &Object)| {
        findings(before, after)
            .into_iter()
            .map(|finding| compared.at(&after.key, finding))
            .collect::<Vec<_>>()
    };
    crds.flat_map(of).collect()
}

fn findings(before: &Object, after: &Object) -> Vec<Finding> {
    let (old, new) = (versions(before), versions(after));
    let name = &after.key.name;
    let mut found = Vec::new();
    for (version, was) in &old {
        match new.get(version) {
            None if was.storage => found.push(
                Finding::block(
                    ID,
                    format!(
                        "{name} drops {version}, in which its objects are stored; the API server refuses that"
                    ),
                )
                .hint(
                    "go through a release that stores a newer version and has both, and migrate the objects",
                ),
            ),
            None => found.push(
                Finding::warn(
                    ID,
                    format!("{name} drops {version}; manifests and clients that use it are refused"),
                )
                .hint(format!(
                    "move what uses it, and check that `status.storedVersions` of {name} has no {version}"
                )),
            ),
            Some(is) if was.served && !is.served => found.push(
                Finding::warn(ID, format!("{name} no longer serves {version}; what uses it is refused"))
                    .hint("move manifests and clients to a served version first"),
            ),
            Some(_) => {}
        }
    }
    let stored = |versions: &BTreeMap<String, Version>| {
        versions.iter().find(|(_, v)| v.storage).map(|(version, _)| version.clone())
    };
    if let (Some(from), Some(to)) = (stored(&old), stored(&new))
        && from != to
        && new.contains_key(&from)
    {
        let reason = format!(
            "{name} stores objects as {to} instead of {from}; a release without {to} cannot read them"
        );
        found.push(Finding::warn(ID, reason).hint("take a backup; plan for going forward only"));
    }
    found
}

fn versions(crd: &Object) -> BTreeMap<String, Version> {
    let list = crd.at(&["spec", "versions"]).and_then(|v| v.as_array()).map_or(&[][..], Vec::as_slice);
    let is =
        |version: &serde_json::Value, key: &str| version.get(key).and_then(|v| v.as_bool()) == Some(true);
    list.iter()
        .filter_map(|version| {
            let name = version.get("name")?.as_str()?.to_owned();
            Some((name, Version { served: is(version, "served"), storage: is(version, "storage") }))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::{Severity::*, testing::*};

    fn crd(versions: &[(&str, bool, bool)]) -> String {
        let each = versions.iter().map(|(name, served, storage)| {
            format!("  - {{name: {name}, served: {served}, storage: {storage}}}\n")
        });
        format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: links.l5d.io}}\n\
             spec:\n  versions:\n{}",
            each.collect::<String>()
        )
    }

    fn found(before: &[(&str, bool, bool)], after: &[(&str, bool, bool)]) -> Vec<Finding> {
        rendered(&crd(before), &crd(after)).check(ID)
    }

    #[test]
    fn a_stored_version_may_not_be_dropped() {
        let found = found(&[("v1alpha1", true, true)], &[("v1", true, true)]);
        assert_eq!(severities(&found), [Block]);
        assert!(found[0].reason.contains("links.l5d.io drops v1alpha1"));
    }

    #[test]
    fn other_one_way_changes_are_warnings() {
        let (old, new) = (("v1alpha1", true, false), ("v1", true, true));
        assert_eq!(severities(&found(&[old, new], &[new])), [Warn]);
        assert_eq!(severities(&found(&[old, new], &[("v1alpha1", false, false), new])), [Warn]);
        let moved = found(&[("v1alpha1", true, true), ("v1", true, false)], &[old, new]);
        assert_eq!(severities(&moved), [Warn]);
        assert!(moved[0].reason.contains("as v1 instead of v1alpha1"));
    }

    #[test]
    fn a_new_version_beside_the_old_passes() {
        let old = ("v1alpha1", true, true);
        assert_eq!(found(&[old], &[("v1", true, false), old]), []);
        assert_eq!(found(&[old], &[old]), []);
    }
}
