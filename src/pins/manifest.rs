//! Step 5, pins: which shapes look at an object.
//!
//! In: an object, whole or as a patch. Out: the pins of every shape that knows its kind.

use std::collections::BTreeSet;

use super::{
    annotation, argo, context::Context, flux, found::Found, image, kustomize, object::Object, patch,
    place::Place,
};
use crate::linkerd::PROXY_VERSION;

/// Takes the pins of all objects of a text.
pub(super) fn objects(context: &Context<'_>, place: Place<'_>, found: &mut Found) {
    for item in Object::all(place) {
        let namespaces = namespaces(context, place, &item);
        object(context, place, &item, &namespaces, found);
    }
}

/// Takes the pins of the deployers' objects alone, from a file that charts of Linkerd made otherwise.
pub(super) fn deployers(context: &Context<'_>, place: Place<'_>, found: &mut Found) {
    for item in Object::all(place).iter().filter(|item| is_gitops_object(item)) {
        let namespaces = namespaces(context, place, item);
        object(context, place, item, &namespaces, found);
    }
}

/// Tells whether an object is Flux's or Argo CD's; no chart of Linkerd makes one.
pub(super) fn is_gitops_object(object: &Object<'_>) -> bool {
    matches!(
        object.group,
        "helm.toolkit.fluxcd.io" | "source.toolkit.fluxcd.io" | "kustomize.toolkit.fluxcd.io" | "argoproj.io"
    )
}

/// Takes the pins of one object.
pub(super) fn object(
    context: &Context<'_>,
    place: Place<'_>,
    object: &Object<'_>,
    namespaces: &BTreeSet<String>,
    found: &mut Found,
) {
    annotation::object(context, place, object, namespaces, found);
    image::object(place, object, found);
    match object.group {
        "helm.toolkit.fluxcd.io" | "source.toolkit.fluxcd.io" | "kustomize.toolkit.fluxcd.io" => {
            flux::object(context, place, object, found);
        }
        "argoproj.io" => argo::object(context, place, object, found),
        _ => kustomize::builtin(context, place, object, found),
    }
}

/// Returns the namespaces that an object may end in; one without a namespace may be a patch, and is then where its
/// target is.
fn namespaces(context: &Context<'_>, place: Place<'_>, object: &Object<'_>) -> BTreeSet<String> {
    let said = context.namespaces(&place.file.path, object);
    // Only injection asks for more, and what is asked for is not free.
    if !said.is_empty() || !place.text.contains(PROXY_VERSION) {
        return said;
    }
    let target = patch::Target { kind: object.kind, name: object.name, namespace: None };
    patch::target_namespaces(context, place, &target, &said)
}
