//! What people commit of charts: jobs as they run them, what was printed, and the keys in it.

use std::collections::BTreeSet;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use uplinker::render::{ChartId, Job, Layer, Take};

/// Text that says it is a key, as no key is committed here.
pub fn pem(kind: &str, text: &str) -> String {
    format!("-----BEGIN {kind}-----\n{}\n-----END {kind}-----\n", BASE64_STANDARD.encode(text))
}

/// Values with which a control plane has its identity.
pub fn identity() -> String {
    let (anchors, certificate) = (pem("CERTIFICATE", "anchors"), pem("CERTIFICATE", "issuer"));
    let tls = serde_json::json!({"crtPEM": certificate, "keyPEM": pem("EC PRIVATE KEY", "no key")});
    serde_json::json!({"identityTrustAnchorsPEM": anchors, "identity": {"issuer": {"tls": tls}}}).to_string()
}

/// What a person has `helm template` do.
pub fn job(chart: &str, version: &str, values: &str) -> Job {
    let mut layers = vec![Layer(values.into())];
    layers.extend((chart == "linkerd-control-plane").then(|| Layer(identity().into())));
    Job {
        chart: ChartId { name: chart.into(), version: version.into() },
        release: chart.into(),
        namespace: if chart == "linkerd-viz" { "linkerd-viz" } else { "linkerd" }.into(),
        values: layers,
        settings: Vec::new(),
        kube_version: None,
        api_versions: Vec::new(),
        include_crds: false,
        hooks: true,
        take: Take::First,
    }
}

/// Moves the schedule to another hour: it was printed some hours ago.
pub fn hours_ago(text: &str) -> String {
    let line = |line: &str| match line.trim().starts_with("schedule:") {
        true => "  schedule: \"03 21 * * *\"\n".to_owned(),
        false => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// Splits a manifest into its documents, without what is around them.
pub fn documents(text: &str) -> Vec<String> {
    let text = format!("\n{text}").replace("\n---\n", "\n\0");
    let parts = text.split('\0').map(str::trim).filter(|part| !part.is_empty());
    parts.map(|part| format!("{part}\n")).collect()
}

/// The reverse.
pub fn joined(documents: &[String]) -> String {
    documents.iter().map(|d| format!("---\n{d}")).collect()
}

/// Finds every private key in a text, also in base64.
pub fn keys(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || "+/=".contains(c)));
    let decoded = words.filter(|w| w.len() > 40).filter_map(|w| BASE64_STANDARD.decode(w).ok());
    let decoded = decoded.filter_map(|bytes| String::from_utf8(bytes).ok());
    let texts = decoded.chain([text.to_owned()]);
    let pems = texts.flat_map(|t| t.split("-----BEGIN ").skip(1).map(str::to_owned).collect::<Vec<_>>());
    pems.filter(|t| t.contains("PRIVATE KEY-----"))
        .map(|t| t.split("-----END").next().unwrap().to_owned())
        .collect()
}
