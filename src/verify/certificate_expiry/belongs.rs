//! What certificates must be for each other: signed, of a kind that Linkerd takes, known to who calls a webhook.

use serde_json::Value;

use super::{
    ID,
    found::{FoundCertificate, Role, bundles},
    placed,
};
use crate::{
    helm::key_material::{Certificate, KeyKind, certificates},
    render::{Object, Rendering},
    verify::{Finding, Place},
};

/// Webhooks whose certificate the values may hold (L2 values.yaml of each chart).
const WEBHOOKS: [&str; 6] =
    ["proxyInjector", "profileValidator", "policyValidator", "tap", "tapInjector", "webhook"];

/// A Secret with a certificate, and the object whose `caBundle` the API server trusts for it (L2 templates).
const PAIRS: [(&str, &str); 6] = [
    ("linkerd-proxy-injector-k8s-tls", "linkerd-proxy-injector-webhook-config"),
    ("linkerd-sp-validator-k8s-tls", "linkerd-sp-validator-webhook-config"),
    ("linkerd-policy-validator-k8s-tls", "linkerd-policy-validator-webhook-config"),
    ("tap-k8s-tls", "v1alpha1.tap.linkerd.io"),
    ("tap-injector-k8s-tls", "linkerd-tap-injector-webhook-config"),
    ("jaeger-injector-k8s-tls", "linkerd-jaeger-injector-webhook-config"),
];

/// Says what does not go together.
pub(super) fn findings(renderings: &[Rendering], all: &[FoundCertificate]) -> Vec<Finding> {
    let mut findings = of_all(all);
    for rendering in renderings {
        findings.extend(WEBHOOKS.iter().filter_map(|webhook| of_values(rendering, webhook)));
        let committed = rendering.after.objects.iter().filter(|_| rendering.committed);
        let placed = committed.map(|object| {
            let (path, line) = rendering.place(&object.key);
            (object, Place { path: path.clone(), line })
        });
        findings.extend(pairs(&placed.collect::<Vec<_>>()));
    }
    findings
}

/// Compares issuers with anchors, and the keys of both with what Linkerd takes.
pub(super) fn of_all(all: &[FoundCertificate]) -> Vec<Finding> {
    let of = |role: Role| all.iter().filter(move |found| found.role == role);
    let anchors: Vec<&Certificate> = of(Role::Anchor).flat_map(|found| &found.chain).collect();
    let unsigned = of(Role::Issuer).filter_map(|issuer| unsigned(issuer, &anchors));
    unsigned.chain(of(Role::Issuer).chain(of(Role::Anchor)).filter_map(wrong_key)).collect()
}

fn unsigned(issuer: &FoundCertificate, anchors: &[&Certificate]) -> Option<Finding> {
    let reason = format!("{} is not signed by any of the trust anchors that were found", issuer.what);
    let hint = "have the issuer signed by the trust anchor, or add the anchor that signed it to the bundle";
    let finding = Finding::warn(ID, reason).hint(hint);
    is_strange(&issuer.chain, anchors).then(|| placed(issuer, finding))
}

/// Tells whether none of a chain is one of some authorities, or signed by one of them.
fn is_strange(chain: &[Certificate], authorities: &[&Certificate]) -> bool {
    let belongs = |certificate: &Certificate| {
        authorities.iter().any(|ca| *ca == certificate || certificate.is_signed_by(ca) != Some(false))
    };
    !authorities.is_empty() && !chain.is_empty() && !chain.iter().any(belongs)
}

/// An issuer must have ECDSA P-256, an anchor that or RSA (L2 pkg/issuercerts).
fn wrong_key(found: &FoundCertificate) -> Option<Finding> {
    let (kinds, wanted) = match found.role {
        Role::Issuer => (&[KeyKind::P256][..], "ECDSA P-256"),
        _ => (&[KeyKind::P256, KeyKind::Rsa][..], "ECDSA P-256 or RSA"),
    };
    // What an issuer's chain holds behind it are anchors.
    let looked_at = if found.role == Role::Issuer { 1 } else { found.chain.len() };
    let wrong = found.chain.iter().take(looked_at).any(|certificate| !kinds.contains(&certificate.key));
    let reason = format!("{} has a key that is not {wanted}, and Linkerd's identity refuses it", found.what);
    let hint = format!("make a certificate with a key of {wanted}");
    wrong.then(|| placed(found, Finding::block(ID, reason).hint(hint)))
}

/// A certificate without its bundle: the chart then prints the bundle of a certificate that it throws away.
fn of_values(rendering: &Rendering, webhook: &str) -> Option<Finding> {
    let values = rendering.values_after.get(webhook)?;
    let text = |key: &str| values.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    let chain = certificates(text("crtPEM")?);
    let finding = match text("caBundle") {
        Some(bundle) => {
            let bundle = certificates(bundle);
            let reason = format!(
                "the value `{webhook}.crtPEM` is not signed by its `{webhook}.caBundle`, so the API server refuses it"
            );
            let strange = is_strange(&chain, &bundle.iter().collect::<Vec<_>>());
            let finding = Finding::warn(ID, reason)
                .hint(format!("give the bundle that signed it in `{webhook}.caBundle`"));
            strange.then_some(finding)?
        }
        None if text("injectCaFrom").or_else(|| text("injectCaFromSecret")).is_some() => return None,
        None => {
            let reason = format!(
                "`{webhook}.crtPEM` is set without `{webhook}.caBundle`: the chart makes up another bundle at each \
                 rendering, and the API server refuses the certificate"
            );
            Finding::warn(ID, reason)
                .hint(format!("set `{webhook}.caBundle` to what signed that certificate"))
        }
    };
    Some(finding.at(&rendering.path, rendering.line))
}

/// Finds committed certificates that their own bundle does not know: a rotation that was done by half.
pub(super) fn pairs(objects: &[(&Object, Place)]) -> Vec<Finding> {
    let named = |kinds: &[&str], name: &str| {
        objects.iter().find(|(o, _)| kinds.contains(&o.key.kind.as_str()) && o.key.name == name)
    };
    let kinds = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "APIService"];
    let pair = |(secret, config): &(&str, &str)| {
        let ((certificate, place), (config, _)) = (named(&["Secret"], secret)?, named(&kinds, config)?);
        let chain = certificates(certificate.text(&["data", "tls.crt"])?);
        let bundle: Vec<Certificate> = bundles(config).flat_map(certificates).collect();
        let reason = format!(
            "the certificate in {} is not signed by the caBundle of {}, so the API server refuses it",
            certificate.key, config.key
        );
        let hint = "commit both from one rendering, or hand them to cert-manager (`externalSecret: true`)";
        let finding = Finding { place: Some(place.clone()), ..Finding::warn(ID, reason).hint(hint) };
        is_strange(&chain, &bundle.iter().collect::<Vec<_>>()).then_some(finding)
    };
    PAIRS.iter().filter_map(pair).collect()
}
