//! Step 8, verify: certificates that an upgrade carries over, and that nothing renews.
//!
//! In: committed objects and users' values after the change, and the time. Out: a `block` for a certificate that has
//! expired, is not valid yet, or has a key that Linkerd refuses; a `warn` for one that expires within 60 days (when
//! Linkerd's own checks begin to warn), and for those that do not belong together; an `info` for an old anchor beside a valid
//! one, one with the first dates and one
//! with what is kept outside of the repository, where nothing is known. What a cluster renders for itself is not looked
//! at: its certificates are made there.

mod belongs;
mod found;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::Value;

use self::found::{FoundCertificate, Role, found, in_object, is_stand_in};
use super::{CheckId, Checked, Clock, Finding, Place, Severity, Verification, count};
use crate::{
    helm::key_material::{Certificate, certificates},
    linkerd::CONTROL_PLANE,
    render::{
        Object, Rendering,
        committed::{Committed, CommittedFile},
    },
};

pub(super) const ID: CheckId = CheckId::CertificateExpiry;

const WARN_DAYS: i64 = 60;
const DAY: i64 = 24 * 60 * 60;

pub(super) fn check(input: &Verification<'_>) -> Checked {
    let all: Vec<FoundCertificate> = input.rendered.done.iter().flat_map(found).collect();
    let once = once(&all);
    let mut findings = expiries(&once, input.clock);
    // A way back that keeps what has expired makes nothing worse, and may be what somebody needs now.
    if input.plan.undoes.is_some() {
        findings.iter_mut().for_each(|finding| finding.severity = finding.severity.min(Severity::Warn));
    }
    findings.extend(belongs::findings(&input.rendered.done, &all));
    findings.extend(dates(&once));
    findings.extend(outside(&input.rendered.done));
    Checked { looked_at: format!("{} and when they expire", count(once.len(), "certificate")), findings }
}

/// Judges the certificates of committed manifests as they are. Time passes under every change, and is none of its faults;
/// a certificate and a bundle that do not belong together are somebody's doing.
pub(super) fn at_rest(sets: &[Committed], now: Timestamp) -> Vec<Finding> {
    let mut all = Vec::new();
    for file in sets.iter().flat_map(|set| &set.files) {
        let own = file.own.iter().filter_map(|n| file.manifest.objects.get(*n));
        for (object, (what, role, text)) in
            own.flat_map(|o| in_object(o).into_iter().map(move |found| (o, found)))
        {
            let place = Place { path: file.path.clone(), line: Some(file.manifest.line(object)) };
            let chain = certificates(text);
            all.push(FoundCertificate { what, role, chain, place });
        }
    }
    let told = expiries(&once(&all), &Clock::new(now)).into_iter().chain(belongs::of_all(&all));
    let mut findings: Vec<Finding> =
        told.map(|f| Finding { severity: f.severity.min(Severity::Warn), ..f }).collect();
    for set in sets {
        let pairs = belongs::pairs(&set.files.iter().flat_map(placed_in).collect::<Vec<_>>());
        findings.extend(pairs.into_iter().map(|f| Finding { severity: Severity::Block, ..f }));
    }
    findings
}

fn placed_in(file: &CommittedFile) -> impl Iterator<Item = (&Object, Place)> {
    file.manifest
        .objects
        .iter()
        .map(|object| (object, Place { path: file.path.clone(), line: Some(file.manifest.line(object)) }))
}

/// A certificate that stands in several objects is told of once.
fn once(all: &[FoundCertificate]) -> BTreeMap<&Certificate, &FoundCertificate> {
    let mut once = BTreeMap::new();
    for found in all {
        for certificate in &found.chain {
            once.entry(certificate).or_insert(found);
        }
    }
    once
}

fn expiries(once: &BTreeMap<&Certificate, &FoundCertificate>, clock: &Clock) -> Vec<Finding> {
    once.iter().filter_map(|(certificate, found)| expiry(clock, found, certificate)).collect()
}

/// Says how long the certificates last that this change carries over.
fn dates(once: &BTreeMap<&Certificate, &FoundCertificate>) -> Option<Finding> {
    let first =
        |role: Role| once.iter().filter(|(_, found)| found.role == role).map(|(c, _)| c.last_day()).min();
    let roles = [
        (Role::Anchor, "the trust anchor"),
        (Role::Issuer, "the identity issuer"),
        (Role::Webhook, "the webhooks' certificates"),
    ];
    let each = roles.iter().filter_map(|(role, name)| Some(format!("{name} until {}", first(*role)?)));
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| Finding::info(ID, format!("carried over as they are: {}", each.join(", "))))
}

/// Says of which certificates nothing is known here.
fn outside(renderings: &[Rendering]) -> Option<Finding> {
    let mut names = BTreeSet::new();
    for rendering in renderings.iter().filter(|r| r.to.name == CONTROL_PLANE) {
        let at = |path: &str| path.split('.').try_fold(&rendering.values_after, |value, key| value.get(key));
        let is_on = |path: &str| at(path) == Some(&Value::Bool(true));
        if is_on("identity.externalCA") || is_stand_in(rendering, "identityTrustAnchorsPEM") {
            names.insert("the trust anchor");
        }
        let scheme = at("identity.issuer.scheme").and_then(Value::as_str);
        if scheme == Some("kubernetes.io/tls") || is_stand_in(rendering, "identity.issuer.tls.crtPEM") {
            names.insert("the identity issuer");
        }
        let hooks = ["proxyInjector", "profileValidator", "policyValidator"];
        if hooks.iter().any(|hook| is_on(&format!("{hook}.externalSecret"))) {
            names.insert("webhooks' certificates");
        }
    }
    let names: Vec<&str> = names.into_iter().collect();
    let reason =
        format!("kept outside of the repository, so how long they last is not known: {}", names.join(", "));
    (!names.is_empty()).then(|| Finding::info(ID, reason))
}

fn expiry(clock: &Clock, found: &FoundCertificate, certificate: &Certificate) -> Option<Finding> {
    let is_valid = |c: &Certificate| clock.has_reached(c.not_before) && !clock.has_reached(c.not_after);
    let day = certificate.last_day();
    let (severity, words) = if !clock.has_reached(certificate.not_before) {
        // The next anchor stands in the bundle before it is used.
        if found.role == Role::Anchor && found.chain.iter().any(is_valid) {
            return None;
        }
        let day = certificate.not_before.to_zoned(jiff::tz::TimeZone::UTC).date();
        (Severity::Block, format!("is not valid before {day}; {}", consequence(found.role)))
    } else if clock.has_passed(certificate.not_after, 1) {
        let other = |c: &Certificate| !clock.has_reached(c.not_after);
        match found.role == Role::Anchor && found.chain.iter().any(other) {
            // Nothing stops working, and each release would find it again.
            true => (
                Severity::Info,
                format!("holds a certificate that expired on {day}, beside one that is valid"),
            ),
            false => (Severity::Block, format!("expired on {day}; {}", consequence(found.role))),
        }
    } else if clock.has_passed(certificate.not_after, -WARN_DAYS * DAY) {
        let left = clock.days_until(certificate.not_after);
        let days = count(usize::try_from(left).unwrap_or_default(), "day");
        (Severity::Warn, format!("expires on {day}, in {days}; this change does not renew it"))
    } else {
        return None;
    };
    Some(placed(found, Finding::new(ID, severity, format!("{} {words}", found.what)).hint(hint(found.role))))
}

fn placed(found: &FoundCertificate, finding: Finding) -> Finding {
    Finding { place: Some(found.place.clone()), ..finding }
}

fn consequence(role: Role) -> &'static str {
    match role {
        Role::Anchor | Role::Issuer => "proxies get no certificate, and nothing in the mesh connects",
        Role::Webhook => {
            "the API server no longer calls what it is for; behind an injector, pods start without a proxy or not at all"
        }
    }
}

fn hint(role: Role) -> &'static str {
    match role {
        Role::Anchor => "rotate the trust anchor by Linkerd's guide, as a change of its own",
        Role::Issuer => "renew the issuer first, by cert-manager or by hand",
        Role::Webhook => "renew it, or hand it to cert-manager (`externalSecret: true`)",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        render::StandIn,
        verify::{Severity::*, testing::*},
    };
    use base64::{Engine, engine::general_purpose::STANDARD};
    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
    use serde_json::json;

    type Ca = CertifiedIssuer<'static, KeyPair>;

    fn params(name: &str, until: (i32, u8, u8)) -> CertificateParams {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(until.0, until.1, until.2);
        params
    }

    fn anchor(name: &str, until: (i32, u8, u8)) -> Ca {
        Ca::self_signed(params(name, until), KeyPair::generate().unwrap()).unwrap()
    }

    fn issuer(anchor: &Ca, until: (i32, u8, u8)) -> String {
        params("identity", until).signed_by(&KeyPair::generate().unwrap(), anchor).unwrap().pem()
    }

    const FAR: (i32, u8, u8) = (2034, 1, 9);

    /// On 2026-09-01.
    fn values(values: Value) -> Vec<Finding> {
        heavier(rendered("", "").with_rendering(|r| r.values_after = values).check(ID))
    }

    /// Leaves the line with the dates out.
    fn heavier(found: Vec<Finding>) -> Vec<Finding> {
        found.into_iter().filter(|f| f.severity > Info).collect()
    }

    fn identity(anchors: String, issuer: String) -> Vec<Finding> {
        values(
            json!({"identityTrustAnchorsPEM": anchors, "identity": {"issuer": {"tls": {"crtPEM": issuer}}}}),
        )
    }

    #[test]
    fn valid_certificates_that_belong_together_pass() {
        let ca = anchor("root", FAR);
        assert_eq!(identity(ca.pem(), issuer(&ca, FAR)), []);
        let other = anchor("other", FAR);
        assert_eq!(identity(other.pem() + &ca.pem(), issuer(&ca, FAR)), [], "a bundle in rotation");
    }

    #[test]
    fn the_dates_are_said_where_all_is_well() {
        let ca = anchor("root", FAR);
        let (anchors, issuer) = (ca.pem(), issuer(&ca, (2027, 3, 2)));
        let case = rendered("", "").with_rendering(|r| {
            r.values_after =
                json!({"identityTrustAnchorsPEM": anchors, "identity": {"issuer": {"tls": {"crtPEM": issuer}}}});
        });
        let found = case.check(ID);
        assert_eq!(severities(&found), [Info]);
        let words = "carried over as they are: the trust anchor until 2034-01-09, the identity issuer until 2027-03-02";
        assert_eq!(found[0].reason, words);
    }

    #[test]
    fn what_has_expired_keeps_nobody_from_going_back() {
        let ca = anchor("root", FAR);
        let (anchors, issuer) = (ca.pem(), issuer(&ca, (2023, 3, 2)));
        let case = || {
            rendered("", "").with_rendering(|r| {
                r.values_after =
                    json!({"identityTrustAnchorsPEM": anchors, "identity": {"issuer": {"tls": {"crtPEM": issuer}}}});
            })
        };
        assert_eq!(severities(&heavier(case().check(ID))), [Block]);
        assert_eq!(severities(&heavier(case().undoing("2026.8.3").check(ID))), [Warn]);
    }

    #[test]
    fn expired_blocks_and_soon_warns_with_the_date() {
        let ca = anchor("root", FAR);
        let expired = identity(ca.pem(), issuer(&ca, (2026, 8, 31)));
        assert_eq!(severities(&expired), [Block]);
        assert!(
            expired[0].reason.starts_with("the value `identity.issuer.tls.crtPEM` expired on 2026-08-31")
        );
        let soon = identity(ca.pem(), issuer(&ca, (2026, 10, 30)));
        assert_eq!(severities(&soon), [Warn]);
        assert!(soon[0].reason.contains("expires on 2026-10-30, in 59 days"), "{soon:?}");
        assert_eq!(identity(ca.pem(), issuer(&ca, (2026, 11, 2))), []);
        let old = anchor("old", (2026, 1, 1));
        let leftover = identity(old.pem() + &ca.pem(), issuer(&ca, FAR));
        assert_eq!(leftover, [], "another anchor of the bundle is valid");
        let only = values(json!({"identityTrustAnchorsPEM": old.pem()}));
        assert_eq!(severities(&only), [Block]);
    }

    #[test]
    fn an_issuer_that_no_anchor_signed_is_found_also_behind_the_same_name() {
        let (ca, impostor) = (anchor("root", FAR), anchor("root", FAR));
        for wrong in [impostor, anchor("other", FAR)] {
            let found = identity(ca.pem(), issuer(&wrong, FAR));
            assert_eq!(severities(&found), [Warn]);
            assert!(found[0].reason.contains("not signed by any"));
        }
    }

    #[test]
    fn a_certificate_of_tomorrow_blocks_unless_it_waits_in_a_bundle() {
        let ca = anchor("root", FAR);
        let mut later = params("next", FAR);
        later.not_before = rcgen::date_time_ymd(2027, 1, 1);
        let later = Ca::self_signed(later, KeyPair::generate().unwrap()).unwrap();
        let alone = values(json!({"identityTrustAnchorsPEM": later.pem()}));
        assert_eq!(severities(&alone), [Block]);
        assert!(alone[0].reason.contains("is not valid before 2027-01-01"), "{alone:?}");
        assert_eq!(identity(later.pem() + &ca.pem(), issuer(&ca, FAR)), [], "the next anchor");
    }

    #[test]
    fn a_key_that_linkerds_identity_refuses_blocks() {
        let ca = anchor("root", FAR);
        let odd = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P384_SHA384).unwrap();
        let wrong = params("identity", FAR).signed_by(&odd, &ca).unwrap().pem();
        let found = identity(ca.pem(), wrong);
        assert_eq!(severities(&found), [Block]);
        assert!(found[0].reason.contains("a key that is not ECDSA P-256,"), "{found:?}");
        let odd = Ca::self_signed(params("root", FAR), odd).unwrap();
        let found = values(json!({"identityTrustAnchorsPEM": odd.pem()}));
        assert!(found[0].reason.contains("not ECDSA P-256 or RSA"), "{found:?}");
    }

    #[test]
    fn a_webhooks_certificate_needs_the_bundle_that_signed_it() {
        let (ca, other) = (anchor("hooks", FAR), anchor("other", FAR));
        let hook = |more: Value| {
            let mut given = json!({"crtPEM": issuer(&ca, FAR)});
            given.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            values(json!({"proxyInjector": given}))
        };
        assert_eq!(hook(json!({"caBundle": ca.pem()})), []);
        assert_eq!(hook(json!({"injectCaFrom": "linkerd/x"})), []);
        let without = hook(json!({"caBundle": ""}));
        assert_eq!(severities(&without), [Warn]);
        assert!(without[0].reason.starts_with("`proxyInjector.crtPEM` is set without"), "{without:?}");
        let wrong = hook(json!({"caBundle": other.pem()}));
        assert_eq!(severities(&wrong), [Warn]);
        assert!(wrong[0].reason.contains("is not signed by its `proxyInjector.caBundle`"), "{wrong:?}");
    }

    #[test]
    fn a_committed_certificate_and_its_bundle_go_together() {
        let (ca, other) = (anchor("tap", FAR), anchor("tap", FAR));
        let objects = |bundle: &Ca| {
            format!(
                "apiVersion: v1\nkind: Secret\nmetadata: {{name: tap-k8s-tls}}\ndata: {{tls.crt: {}}}\n---\n\
                 apiVersion: apiregistration.k8s.io/v1\nkind: APIService\nmetadata: {{name: v1alpha1.tap.linkerd.io}}\n\
                 spec: {{caBundle: {}}}\n",
                STANDARD.encode(issuer(&ca, FAR)),
                STANDARD.encode(bundle.pem())
            )
        };
        let found = |text: &str| heavier(rendered("", text).with_rendering(|r| r.committed = true).check(ID));
        assert_eq!(found(&objects(&ca)), []);
        let half = found(&objects(&other));
        assert_eq!(severities(&half), [Warn]);
        assert!(
            half[0].reason.starts_with("the certificate in Secret tap-k8s-tls is not signed"),
            "{half:?}"
        );

        let at_rest = |text: &str, now: &str| {
            let manifest = crate::render::Manifest::parse(text).unwrap();
            let own = (0..manifest.objects.len()).collect();
            let path = crate::plan::testing::path("viz.yaml");
            let (mode, blob) = (crate::repo::Mode::File, crate::repo::BlobId([0; 20]));
            let file = CommittedFile { path, mode, blob, manifest: manifest.into(), own };
            let set = Committed {
                chart: "linkerd-viz".into(),
                other: None,
                version: None,
                mixed: Vec::new(),
                namespace: "linkerd-viz".into(),
                cli: false,
                files: vec![file],
            };
            severities(&at_rest(&[set], now.parse().unwrap()))
        };
        assert_eq!(at_rest(&objects(&ca), "2026-09-01T00:00:00Z"), []);
        assert_eq!(at_rest(&objects(&other), "2026-09-01T00:00:00Z"), [Block], "somebody did it by half");
        assert_eq!(at_rest(&objects(&ca), "2035-01-01T00:00:00Z"), [Warn, Warn], "time did it");
    }

    #[test]
    fn what_is_kept_elsewhere_is_not_known() {
        let values = json!({"identity": {"externalCA": true, "issuer": {"scheme": "kubernetes.io/tls"}},
            "proxyInjector": {"externalSecret": true}});
        let case = rendered("", "").with_rendering(|r| {
            (r.to.name, r.values_after) = (CONTROL_PLANE.into(), values);
        });
        let found = case.check(ID);
        assert_eq!(severities(&found), [Info]);
        assert!(
            found[0]
                .reason
                .ends_with("not known: the identity issuer, the trust anchor, webhooks' certificates")
        );
    }

    #[test]
    fn committed_objects_are_read_and_those_of_the_cluster_are_not() {
        let expired = STANDARD.encode(anchor("x.linkerd.svc", (2026, 1, 1)).pem());
        let objects = format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: tap-k8s-tls}}\ndata: {{tls.crt: {expired}}}\n---\n\
             apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\n\
             metadata: {{name: w}}\nwebhooks: [{{name: w, clientConfig: {{caBundle: {expired}}}}}]\n"
        );
        let committed = rendered("", &objects).with_rendering(|r| r.committed = true).check(ID);
        let committed = heavier(committed);
        assert_eq!(severities(&committed), [Block], "one certificate in two objects");
        assert!(committed[0].reason.starts_with("Secret tap-k8s-tls, tls.crt, expired"), "{committed:?}");
        assert_eq!(rendered("", &objects).check(ID), []);
    }

    #[test]
    fn a_stand_in_is_no_certificate_of_the_users() {
        let old = anchor("stand-in", (2026, 1, 1)).pem();
        let case = rendered("", "").with_rendering(|r| {
            r.values_after = json!({"identityTrustAnchorsPEM": old});
            let target = Some("identityTrustAnchorsPEM".into());
            r.stand_ins = vec![StandIn { target, source: "Secret linkerd/anchor".into() }];
        });
        assert_eq!(case.check(ID), []);
    }
}
