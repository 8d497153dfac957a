//! Where certificates stand that an upgrade carries over, and what each is for.

use serde_json::Value;

use crate::{
    helm::key_material::{Certificate, certificates},
    render::{Object, Rendering},
    repo::RepoPath,
    verify::Place,
};

/// Values of Linkerd's charts that hold a certificate (L2 values.yaml of each chart).
const VALUES: [(&str, Role); 14] = [
    ("identityTrustAnchorsPEM", Role::Anchor),
    ("identity.issuer.tls.crtPEM", Role::Issuer),
    ("proxyInjector.crtPEM", Role::Webhook),
    ("proxyInjector.caBundle", Role::Webhook),
    ("profileValidator.crtPEM", Role::Webhook),
    ("profileValidator.caBundle", Role::Webhook),
    ("policyValidator.crtPEM", Role::Webhook),
    ("policyValidator.caBundle", Role::Webhook),
    ("tap.crtPEM", Role::Webhook),
    ("tap.caBundle", Role::Webhook),
    ("tapInjector.crtPEM", Role::Webhook),
    ("tapInjector.caBundle", Role::Webhook),
    ("webhook.crtPEM", Role::Webhook),
    ("webhook.caBundle", Role::Webhook),
];

/// What a certificate is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Anchor,
    Issuer,
    Webhook,
}

/// A certificate, or a chain or bundle of them, and where it was found.
pub(super) struct FoundCertificate {
    pub what: String,
    pub role: Role,
    pub chain: Vec<Certificate>,
    pub place: Place,
}

/// Finds the certificates that a rendering carries over: in committed objects, and in users' values.
pub(super) fn found(rendering: &Rendering) -> Vec<FoundCertificate> {
    let mut out = Vec::new();
    let mut add = |what: String, role: Role, text: Option<&str>, (path, line): (&RepoPath, Option<usize>)| {
        let chain = text.map(certificates).unwrap_or_default();
        if !chain.is_empty() {
            out.push(FoundCertificate { what, role, chain, place: Place { path: path.clone(), line } });
        }
    };
    if rendering.committed {
        for object in &rendering.after.objects {
            for (what, role, text) in in_object(object) {
                add(what, role, Some(text), rendering.place(&object.key));
            }
        }
    }
    for (path, role) in VALUES.iter().filter(|(path, _)| !is_stand_in(rendering, path)) {
        let value = path.split('.').try_fold(&rendering.values_after, |value, key| value.get(key));
        let place = (&rendering.path, Some(rendering.line));
        add(format!("the value `{path}`"), *role, value.and_then(Value::as_str), place);
    }
    out
}

/// Tells whether a value stands for one that is kept outside of the repository.
pub(super) fn is_stand_in(rendering: &Rendering, path: &str) -> bool {
    rendering.stand_ins.iter().any(|one| one.target.as_deref() == Some(path))
}

/// Lists what of an object may hold certificates: what it is called, what it is for, its text.
pub(super) fn in_object(object: &Object) -> Vec<(String, Role, &str)> {
    let texts = |key: &str| {
        let data = object.at(&[key]).and_then(Value::as_object);
        data.into_iter()
            .flatten()
            .filter_map(|(name, v)| Some((name.as_str(), v.as_str()?)))
            .collect::<Vec<_>>()
    };
    let key = &object.key;
    match key.kind.as_str() {
        "Secret" => {
            let role = if key.name == "linkerd-identity-issuer" { Role::Issuer } else { Role::Webhook };
            let all = texts("data").into_iter().chain(texts("stringData"));
            all.map(|(name, text)| (format!("{key}, {name},"), role, text)).collect()
        }
        "ConfigMap" if key.name == "linkerd-identity-trust-roots" => {
            let all = texts("data").into_iter();
            all.map(|(_, text)| (format!("the trust anchor in {key}"), Role::Anchor, text)).collect()
        }
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" | "APIService" => {
            let all = bundles(object);
            all.map(|text| (format!("the caBundle of {key}"), Role::Webhook, text)).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns what the API server trusts behind an object.
pub(super) fn bundles(object: &Object) -> impl Iterator<Item = &str> {
    let hooks = object.at(&["webhooks"]).and_then(Value::as_array).into_iter().flatten();
    let of_hooks = hooks.filter_map(|hook| hook.pointer("/clientConfig/caBundle")?.as_str());
    of_hooks.chain(object.text(&["spec", "caBundle"]).filter(|_| object.key.kind == "APIService"))
}
