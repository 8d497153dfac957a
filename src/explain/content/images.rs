//! Step 9, explain: the images that a cluster runs before and after a change.
//!
//! In: the objects of both sides. Out: [`ImageChange`]s, for whoever mirrors images or scans them. Pure.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::render::{Manifest, Rendering, names_release_only};

/// An image whose tags differ.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct ImageChange {
    /// Its name without a tag.
    pub image: String,
    /// The tags and digests before; none for a new image.
    pub before: Vec<String>,
    /// The same after; none for one that is gone.
    pub after: Vec<String>,
    /// Whether it only goes along with the release.
    pub with_release: bool,
}

/// Puts the same image of several renderings together.
pub(super) fn together(all: impl IntoIterator<Item = ImageChange>) -> Vec<ImageChange> {
    let mut found: BTreeMap<String, (BTreeSet<String>, BTreeSet<String>, bool)> = BTreeMap::new();
    for one in all {
        let (before, after, with_release) =
            found.entry(one.image).or_insert_with(|| (BTreeSet::new(), BTreeSet::new(), true));
        before.extend(one.before);
        after.extend(one.after);
        *with_release &= one.with_release;
    }
    let one =
        |(image, (before, after, with_release)): (String, (BTreeSet<String>, BTreeSet<String>, bool))| {
            let (before, after) = (before.into_iter().collect(), after.into_iter().collect());
            ImageChange { image, before, after, with_release }
        };
    found.into_iter().map(one).collect()
}

/// Lists the images that differ in a rendering.
pub(super) fn of(rendering: &Rendering) -> Vec<ImageChange> {
    let (mut old, new) = (images(&rendering.before), images(&rendering.after));
    let mut names: BTreeSet<String> = old.keys().cloned().collect();
    names.extend(new.keys().cloned());
    let mut new = new;
    let change = |image: String| {
        let (before, after) =
            (old.remove(&image).unwrap_or_default(), new.remove(&image).unwrap_or_default());
        let with_release = before.len() == after.len()
            && before.iter().zip(&after).all(|(b, a)| {
                let (b, a) = (Value::from(b.as_str()), Value::from(a.as_str()));
                names_release_only(&b, &a, &rendering.from, &rendering.to)
            });
        (before != after).then(|| ImageChange {
            image,
            before: before.into_iter().collect(),
            after: after.into_iter().collect(),
            with_release,
        })
    };
    names.into_iter().filter_map(change).collect()
}

fn images(manifest: &Manifest) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for object in manifest.objects.iter().filter(|o| o.key.kind != "CustomResourceDefinition") {
        collect(&object.value, &mut found);
    }
    found
}

fn collect(value: &Value, found: &mut BTreeMap<String, BTreeSet<String>>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                if let (true, Value::Array(list)) = (key == "containers" || key == "initContainers", value) {
                    for image in list.iter().filter_map(|c| c.get("image")?.as_str()) {
                        let (name, tag) = split(image);
                        found.entry(name.to_owned()).or_default().insert(tag.to_owned());
                    }
                } else {
                    collect(value, found);
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| collect(value, found)),
        _ => {}
    }
}

/// Splits the tag or digest off; a port of the registry is no tag.
fn split(image: &str) -> (&str, &str) {
    if let Some((name, digest)) = image.split_once('@') {
        let (name, _) = split(name);
        return (name, digest);
    }
    match image.rsplit_once(':').filter(|(_, tag)| !tag.contains('/')) {
        Some((name, tag)) => (name, tag),
        None => (image, "latest"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::content::testing::{pod, rendering};

    #[test]
    fn names_and_tags_are_told_apart() {
        assert_eq!(split("localhost:5000/a/b"), ("localhost:5000/a/b", "latest"));
        assert_eq!(split("localhost:5000/a/b:v1"), ("localhost:5000/a/b", "v1"));
        assert_eq!(split("a/b:v1@sha256:00"), ("a/b", "sha256:00"));
    }

    #[test]
    fn images_that_go_with_the_release_are_marked() {
        let one = rendering(&pod("a", "x/proxy:edge-26.8.2"), &pod("a", "x/proxy:edge-26.8.3"));
        let found = of(&one);
        assert_eq!(found.len(), 1);
        assert!(found[0].with_release && found[0].after == ["edge-26.8.3"]);
        let own = of(&rendering(&pod("a", "x/init:v1"), &pod("a", "x/init:v2")));
        assert!(!own[0].with_release);
        let other = of(&rendering(&pod("a", "x/init:v1"), &pod("a", "y/init:v1")));
        assert_eq!(other.len(), 2, "one is gone, one is new");
        assert!(of(&rendering(&pod("a", "x/init:v1"), &pod("a", "x/init:v1"))).is_empty());
    }

    #[test]
    fn an_image_of_several_deployments_is_one() {
        let from =
            |tag: &str| rendering(&pod("a", &format!("x/proxy:{tag}")), &pod("a", "x/proxy:edge-26.8.3"));
        let of_fleet = |tags: [&str; 2]| together(tags.iter().flat_map(|tag| of(&from(tag))));
        let found = of_fleet(["edge-26.8.2", "v1"]);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].before.len(), found[0].after.len(), found[0].with_release), (2, 1, false));
        assert!(of_fleet(["edge-26.8.2", "edge-26.8.2"])[0].with_release);
    }
}
