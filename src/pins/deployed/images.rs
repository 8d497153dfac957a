//! Step 5, pins: shape `kustomize-image`, the tag or digest that an entry of `images` puts to an image of Linkerd.
//!
//! In: entries, wherever they stand. Out: claims.

use super::claim::Claims;
use crate::{
    deploy::Value,
    pins::{PinKind, Reason, found::Spec, image, version_text::Expects},
};

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
