//! Step 5, pins: images of Linkerd as they are deployed: what kustomize's `images` puts to them (shape
//! `kustomize-image`), and those of containers, whatever way their tag took there.
//!
//! In: entries and objects. Out: claims.

use super::claim::Claims;
use crate::{
    deploy::{Object, Scalar, Value},
    pins::{
        PinKind, Reason,
        found::Spec,
        image::{self, Around, Reference},
        version_text::Expects,
    },
};

/// Mappings in mappings that are walked.
const DEPTH: usize = 64;

/// Takes the entries for images of Linkerd.
pub(super) fn take_images(entries: &[Value], claims: &mut Claims) {
    for value in entries {
        let name = value.text(&["name"]).unwrap_or_default();
        let new = value.text(&["newName"]);
        let official = image::linkerd_image(&name);
        let Some(image) = official.or_else(|| new.as_deref().and_then(image::linkerd_image)) else {
            value.scalar(&["newTag"]).into_iter().for_each(|tag| claims.take_foreign(tag));
            continue;
        };
        let fork = new
            .is_some_and(|new| image::linkerd_image(&new).is_none() && !image::is_mirror_name(&name, &new));
        let digest = value.scalar(&["digest"]).filter(|digest| !digest.text().is_empty());
        let spec = Spec::platform(PinKind::KustomizeImage, Expects::Edge)
            .staying(image.stays)
            .staying(fork.then_some(Reason::Channel))
            .staying(digest.map(|_| Reason::Digest));
        for scalar in value.scalar(&["newTag"]).into_iter().chain(digest) {
            claims.take(scalar, &spec);
        }
    }
}

/// Tells whether a value under a key is an image of Linkerd.
pub(super) fn is_image(key: &str, text: &str) -> bool {
    key == "image" && text.contains("linkerd") && image::pinned(text).is_some()
}

/// Takes the images in the containers of an object.
pub(super) fn take_containers(object: &Object, claims: &mut Claims) {
    let text = |scalar: Option<&Scalar>| scalar.map(|text| text.text().into_owned());
    let mut todo = vec![(&object.value, DEPTH)];
    while let Some((value, depth)) = todo.pop() {
        let Some(depth) = depth.checked_sub(1) else { continue };
        todo.extend(value.items().iter().map(|item| (item, depth)));
        for (key, value) in value.entries().filter(|(key, _)| !image::VALUES.contains(key)) {
            if !image::CONTAINERS.contains(&key) {
                todo.push((value, depth));
                continue;
            }
            for container in value.items() {
                let Some(scalar) = container.scalar(&["image"]) else { continue };
                let whole = scalar.text();
                let Some((part, stays)) = image::pinned(&whole) else { continue };
                let called = text(container.scalar(&["name"]));
                let around = Around {
                    container: called.as_deref(),
                    annotation: &|key| text(object.annotation(key)),
                    label: &|key| text(object.label(key)),
                };
                let name = Reference::parse(&whole).map(|image| image.name).unwrap_or_default();
                let stays = stays.unwrap_or_else(|| image::origin(&around, name));
                claims.take(&scalar.cut(part), &image::spec(stays));
            }
        }
    }
}
