//! Step 7, render: what a chart would invent for an object that is not committed any more, found again.
//!
//! In: a field that nothing committed holds, the rendering, what is committed. Out: its value, the same at each run, where
//! it follows from what is there. A bundle is what signed the certificate that the chart gives its Secret; a time of the day
//! is as good as any other. What belongs to a new private key is nowhere, and is never made here.

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{field::Field, nondeterministic::Nondeterministic};
use crate::{
    helm::key_material::certificates,
    render::{Manifest, ObjectKey},
};

/// Where values are found again.
pub(super) struct Restore<'a> {
    /// The rendering, with the chart's inventions in it.
    pub(super) rendered: &'a Manifest,
    /// Which fields those are.
    pub(super) nondeterministic: &'a Nondeterministic,
    /// All texts of the user's values.
    pub(super) given: &'a str,
    /// What tells this set from others: equal ones would all do the same thing at the same minute.
    pub(super) seed: &'a str,
}

// === impl Restore ===

impl Restore<'_> {
    /// Finds the value of a field, where it follows from something.
    pub(super) fn value<'v>(
        &self,
        key: &ObjectKey,
        field: &Field,
        committed: &dyn Fn(&ObjectKey) -> Option<&'v Value>,
    ) -> Option<Value> {
        let rendered = field.find(&self.rendered.get(key)?.value)?.as_str()?;
        if self.nondeterministic.clock.iter().any(|(k, f)| (k, f) == (key, field)) {
            return Some(match self.given.contains(rendered) {
                true => rendered.into(),
                false => self.daily(key, rendered)?.into(),
            });
        }
        // What the chart fills with the same text belongs together: a bundle and the certificate in a Secret.
        let twins =
            self.nondeterministic.fields.iter().flat_map(|(k, fields)| fields.iter().map(move |f| (k, f)));
        let mut twins = twins.filter(|(k, f)| {
            let text = self.rendered.get(k).and_then(|object| f.find(&object.value));
            *k != key && text.and_then(Value::as_str) == Some(rendered)
        });
        twins.find_map(|(k, f)| bundle(committed(k)?, f))
    }

    /// Makes a time of the day for a schedule such as `44 03 * * *`.
    fn daily(&self, key: &ObjectKey, rendered: &str) -> Option<String> {
        let (minute, rest) = rendered.split_once(' ')?;
        let (hour, rest) = rest.split_once(' ')?;
        let is_number = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        let digest = Sha256::digest(format!("{}\n{key}", self.seed));
        let [first, second, ..] = *digest else { return None };
        let time = format!("{:02} {:02} {rest}", u16::from(first) * 60 / 256, u16::from(second) * 24 / 256);
        (is_number(minute) && is_number(hour)).then_some(time)
    }
}

/// Returns what the API server must trust for a committed certificate: the authority beside it, else the certificate, where
/// that signed itself.
fn bundle(secret: &Value, certificate: &Field) -> Option<Value> {
    let text = certificate.find(secret)?.as_str()?;
    let chain = certificates(text);
    let leaf = chain.first()?;
    let authority = secret.pointer("/data/ca.crt").and_then(Value::as_str).filter(|text| !text.is_empty());
    let bundle = authority.unwrap_or(text);
    let signs = certificates(bundle).iter().any(|ca| leaf.is_signed_by(ca) == Some(true));
    signs.then(|| bundle.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::{Engine, prelude::BASE64_STANDARD};
    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
    use serde_json::json;

    const TEXT: &str = "---\nkind: Secret\napiVersion: v1\nmetadata: {name: s}\ndata: {tls.crt: SAME, tls.key: KEY}\n\
        ---\nkind: Hook\napiVersion: v1\nmetadata: {name: w}\nbundle: SAME\n\
        ---\nkind: CronJob\napiVersion: batch/v1\nmetadata: {name: c}\nspec: {schedule: '44 03 * * *'}\n";

    /// Asks for a field of the object at a place, with this Secret committed.
    fn found(
        place: usize,
        field: &[&str],
        secret: Option<&Value>,
        (given, seed): (&str, &str),
    ) -> Option<Value> {
        let rendered = Manifest::parse(TEXT).unwrap();
        let key = |n: usize| rendered.objects[n].key.clone();
        let fields = [
            (key(0), vec![Field::keys(&["data", "tls.crt"]), Field::keys(&["data", "tls.key"])]),
            (key(1), vec![Field::keys(&["bundle"])]),
            (key(2), vec![Field::keys(&["spec", "schedule"])]),
        ];
        let clock = vec![(key(2), Field::keys(&["spec", "schedule"]))];
        let nondeterministic = Nondeterministic { fields: fields.into(), clock, checksums: Vec::new() };
        let restore = Restore { rendered: &rendered, nondeterministic: &nondeterministic, given, seed };
        let (asked, secret_key) = (key(place), key(0));
        restore.value(&asked, &Field::keys(field), &|k| secret.filter(|_| *k == secret_key))
    }

    fn pem(text: &str) -> Value {
        BASE64_STANDARD.encode(text).into()
    }

    #[test]
    fn a_bundle_is_what_signed_the_committed_certificate() {
        let own = pem(&rcgen::generate_simple_self_signed(["a.b.svc".to_owned()]).unwrap().cert.pem());
        let secret = json!({"data": {"tls.crt": own}});
        assert_eq!(found(1, &["bundle"], Some(&secret), ("", "")), Some(own.clone()));
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let leaf = CertificateParams::new(["a.b.svc".to_owned()]).unwrap();
        let leaf = pem(&leaf.signed_by(&KeyPair::generate().unwrap(), &ca).unwrap().pem());
        let signed = json!({"data": {"tls.crt": leaf, "ca.crt": pem(&ca.pem())}});
        assert_eq!(found(1, &["bundle"], Some(&signed), ("", "")), Some(pem(&ca.pem())));
        let alone = json!({"data": {"tls.crt": leaf}});
        assert_eq!(found(1, &["bundle"], Some(&alone), ("", "")), None, "who signed it is not known");
        let other = json!({"data": {"tls.crt": leaf, "ca.crt": own}});
        assert_eq!(found(1, &["bundle"], Some(&other), ("", "")), None, "somebody else's authority");
        assert_eq!(found(1, &["bundle"], None, ("", "")), None);
        let sealed = json!({"data": {"tls.crt": "ENC[AES256_GCM,data:x]"}});
        assert_eq!(found(1, &["bundle"], Some(&sealed), ("", "")), None);
    }

    #[test]
    fn a_key_is_never_made() {
        let own = pem(&rcgen::generate_simple_self_signed(["a".to_owned()]).unwrap().cert.pem());
        let secret = json!({"data": {"tls.crt": own}});
        assert_eq!(found(0, &["data", "tls.key"], Some(&secret), ("", "")), None);
        assert_eq!(found(0, &["data", "tls.crt"], None, ("", "")), None);
    }

    #[test]
    fn a_time_of_the_day_is_the_same_at_each_run_and_the_users_own_stays() {
        let at = |given: &str, seed: &str| found(2, &["spec", "schedule"], None, (given, seed)).unwrap();
        let (one, other) = (at("", "a"), at("", "b"));
        assert_eq!(at("", "a"), one);
        assert_ne!(one, other);
        for time in [&one, &other] {
            let parts: Vec<&str> = time.as_str().unwrap().split(' ').collect();
            let [minute, hour] = [parts[0], parts[1]].map(|text| text.parse::<u8>().unwrap());
            assert!(minute < 60 && hour < 24 && parts[2..] == ["*", "*", "*"], "{time}");
        }
        assert_eq!(at("heartbeatSchedule: 44 03 * * *\n", "a"), "44 03 * * *");
    }
}
