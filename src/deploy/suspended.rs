//! What deployers are told to leave as it is: a merge changes nothing of it in any cluster until that is taken back.
//!
//! In: an object, those of its cluster, who applies it. Out: whether its controller leaves what it has deployed, or whoever
//! applies it leaves the object itself. Sources: `spec.suspend` of Flux's objects; kustomize-controller (`apply`); flux-operator
//! (`ReconcileAnnotation`); Argo CD (`controller/appcontroller.go`, `AnnotationKeyAppSkipReconcile`; `Skip` of
//! `gitops-engine/pkg/sync/hook`); k3s-io/helm-controller (`pkg/controllers/chart/chart.go`, `shouldManage`).

use super::{
    argo,
    cluster::{Cluster, Reference},
    flux, k3s,
    object::Object,
    typed::is_true,
    value::{Scalar, Value},
};

/// Sources of a source: a HelmRelease names a HelmChart, which names a repository.
const SOURCES: usize = 2;

/// Where an object names its source.
const REFERENCES: [&[&str]; 3] =
    [&["spec", "sourceRef"], &["spec", "chartRef"], &["spec", "chart", "spec", "sourceRef"]];

/// Texts that Go's `strconv.ParseBool` takes for true.
const TRUE: [&str; 6] = ["1", "t", "T", "true", "TRUE", "True"];

/// Who applies an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum By {
    /// Nobody here knows.
    #[default]
    Unsaid,
    /// A Kustomization of Flux's.
    Flux,
    /// An Application.
    Argo,
    /// One who leaves nothing: Helm, flux-operator, a tool that is run.
    Other,
}

/// Tells whether an object's controller leaves what it has deployed as it is: it is told so, or a source of it is.
pub(super) fn is_suspended(object: &Object, cluster: &Cluster<'_>) -> bool {
    let mut at = object;
    for _ in 0..SOURCES {
        if is_told(at) {
            return true;
        }
        let Some(source) = source(at, cluster) else { return false };
        at = source;
    }
    is_told(at)
}

/// Tells whether an object itself says that its controller is to do nothing. What a FluxInstance has Flux sync goes on, and so
/// does a ResourceSet, with what an input provider gave it before.
pub(super) fn is_told(object: &Object) -> bool {
    match &*object.group() {
        flux::KUSTOMIZATIONS | flux::RELEASES | flux::SOURCES => {
            // One of a registry is asked for nothing by itself.
            let is_of_registry = object.value.text(&["spec", "type"]).is_some_and(|text| text == "oci");
            let is_asked = object.kind() != "HelmRepository" || !is_of_registry;
            is_asked && is_true(&object.value, &["spec", "suspend"])
        }
        flux::OPERATOR => {
            matches!(&*object.kind(), "ResourceSet" | "ResourceSetInputProvider")
                && is_set(object, "fluxcd.controlplane.io/reconcile", &["disabled"])
        }
        argo::GROUP if object.kind() == "Application" => {
            let skips = object.annotation("argocd.argoproj.io/skip-reconcile");
            skips.is_some_and(|text| TRUE.contains(&&*text.text()))
        }
        argo::GROUP if object.kind() == "ApplicationSet" => argo::creates_only(object),
        k3s::GROUP if object.kind() == "HelmChart" => {
            object.annotation("helmcharts.helm.cattle.io/unmanaged").is_some()
        }
        _ => false,
    }
}

/// Tells whether whoever applies an object leaves it as the cluster has it.
pub(super) fn is_left(object: &Object, by: By) -> bool {
    let by_argo = || {
        let hook = object.annotation("argocd.argoproj.io/hook");
        hook.is_some_and(|hook| hook.text().trim() == "Skip")
    };
    let by_flux = || {
        is_set(object, "kustomize.toolkit.fluxcd.io/reconcile", &["disabled"])
            || is_set(object, "kustomize.toolkit.fluxcd.io/ssa", &["ignore", "ifnotpresent"])
    };
    match by {
        By::Unsaid => by_argo() || by_flux(),
        By::Flux => by_flux(),
        By::Argo => by_argo(),
        By::Other => false,
    }
}

/// Tells whether a label or an annotation has one of these values, in whatever case.
fn is_set(object: &Object, key: &str, values: &[&str]) -> bool {
    let is_one = |text: &Scalar| values.iter().any(|value| text.text().eq_ignore_ascii_case(value));
    [object.annotation(key), object.label(key)].into_iter().flatten().any(is_one)
}

// === impl By ===

impl By {
    /// Says who applies what an object has deployed.
    pub fn of(root: &Object) -> Self {
        match &*root.group() {
            flux::KUSTOMIZATIONS => Self::Flux,
            argo::GROUP if root.kind() == "Application" => Self::Argo,
            _ => Self::Other,
        }
    }
}

/// Finds the source that one of Flux's objects names.
fn source<'c>(object: &Object, cluster: &Cluster<'c>) -> Option<&'c Object> {
    let reference: &Value = REFERENCES.iter().find_map(|path| object.value.path(path))?;
    let (kind, name) = (reference.text(&["kind"])?, reference.text(&["name"])?);
    let own = object.namespace().and_then(Scalar::known);
    let namespace = reference.text(&["namespace"]).or(own);
    let (namespace, from) = (namespace.as_deref(), &object.file);
    cluster.find(Reference { group: flux::SOURCES, kind: &kind, name: &name, namespace, from })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deploy::testing::objects;

    #[test]
    fn objects_and_their_sources_are_told_to_do_nothing() {
        let of = |of: &str, more: &str| {
            let text = format!("{{apiVersion: {of}, metadata: {{name: a{more}}}\n");
            is_told(&objects(&text)[0])
        };
        let (release, source) =
            ("helm.toolkit.fluxcd.io/v2, kind: HelmRelease", "source.toolkit.fluxcd.io/v1");
        let noted = |key: &str| format!(", annotations: {{{key}}}}}");
        assert!(of(release, "}, spec: {suspend: true}") && !of(release, "}, spec: {suspend: false}"));
        let of_registry = |more: &str| of(&format!("{source}, kind: HelmRepository"), more);
        assert!(
            of_registry("}, spec: {suspend: true}") && !of_registry("}, spec: {suspend: true, type: oci}")
        );
        let application = "argoproj.io/v1alpha1, kind: Application";
        assert!(of(application, &noted("argocd.argoproj.io/skip-reconcile: 'true'")));
        assert!(!of(application, &noted("argocd.argoproj.io/skip-reconcile: 'false'")));
        let disabled = noted("fluxcd.controlplane.io/reconcile: Disabled");
        assert!(of("fluxcd.controlplane.io/v1, kind: ResourceSet", &disabled));
        assert!(of("fluxcd.controlplane.io/v1, kind: ResourceSetInputProvider", &disabled));
        assert!(!of("fluxcd.controlplane.io/v1, kind: FluxInstance", &disabled), "Flux syncs on");
        let unmanaged = noted("helmcharts.helm.cattle.io/unmanaged: ''");
        assert!(of("helm.cattle.io/v1, kind: HelmChart", &unmanaged), "whatever it says");
        let set = "argoproj.io/v1alpha1, kind: ApplicationSet";
        assert!(of(set, "}, spec: {syncPolicy: {applicationsSync: create-only}}"));
        let all = objects(
            "{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: a}, spec: {chartRef: {kind: HelmChart, name: b}}}\n\
             ---\n{apiVersion: source.toolkit.fluxcd.io/v1, kind: HelmChart, metadata: {name: b}, spec: {sourceRef: {kind: \
             HelmRepository, name: c}}}\n---\n{apiVersion: source.toolkit.fluxcd.io/v1, kind: HelmRepository, metadata: {name: c}, \
             spec: {suspend: true}}\n",
        );
        assert!(is_suspended(&all[0], &Cluster::new(&all)) && !is_suspended(&all[0], &Cluster::default()));
    }

    #[test]
    fn what_is_applied_once_or_never_is_left() {
        let by = |noted: &str| {
            let object = &objects(&format!("{{kind: A, metadata: {{name: a, {noted}}}}}\n"))[0];
            let all = [By::Unsaid, By::Flux, By::Argo, By::Other];
            all.into_iter().filter(|by| is_left(object, *by)).collect::<Vec<_>>()
        };
        let of_flux = [By::Unsaid, By::Flux];
        assert_eq!(by("annotations: {kustomize.toolkit.fluxcd.io/reconcile: disabled}"), of_flux);
        assert_eq!(by("labels: {kustomize.toolkit.fluxcd.io/ssa: IfNotPresent}"), of_flux);
        assert_eq!(by("labels: {kustomize.toolkit.fluxcd.io/ssa: Merge}"), []);
        assert_eq!(by("annotations: {argocd.argoproj.io/hook: Skip}"), [By::Unsaid, By::Argo]);
        assert_eq!(
            by("annotations: {argocd.argoproj.io/hook: 'PreSync,Skip'}"),
            [],
            "it is a hook all the same"
        );
    }
}
