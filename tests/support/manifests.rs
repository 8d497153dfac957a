//! What people commit of charts: jobs as they run them, what was printed, and the keys in it.

use std::collections::{BTreeMap, BTreeSet};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use uplinker::{
    helm::{Layer, Template},
    render::{ChartId, Job, Manifest, Take},
};

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
        template: Template {
            values: layers,
            ..Template::of(chart, if chart == "linkerd-viz" { "linkerd-viz" } else { "linkerd" })
        },
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

/// Returns a name for the file of an object.
pub fn name(document: &str) -> String {
    let object = &Manifest::parse(document).unwrap().objects[0];
    format!("{}-{}", object.key.kind.to_lowercase(), object.key.name.replace(':', "-"))
}

/// Returns what the new version must look like: Helm's text, with the lines that it invents taken from what is committed.
pub fn expected(new: &str, committed: &str) -> String {
    const INVENTED: [&str; 6] = ["tls.crt:", "tls.key:", "crt.pem:", "key.pem:", "caBundle:", "schedule:"];
    let old: BTreeMap<String, String> = documents(committed).into_iter().map(|d| (name(&d), d)).collect();
    let names: Vec<String> = documents(new).iter().map(|d| name(d)).collect();
    let mut document = 0;
    let mut out = String::new();
    for line in new.lines() {
        document += usize::from(line == "---");
        // What looks so in a ConfigMap is a value that a person gave.
        let invents = document > 0 && !names[document - 1].starts_with("configmap-");
        let key = INVENTED.iter().find(|key| invents && line.trim().starts_with(**key));
        let kept =
            key.and_then(|key| old.get(&names[document - 1])?.lines().find(|l| l.trim().starts_with(key)));
        out.push_str(&format!("{}\n", kept.unwrap_or(line)));
    }
    out
}

/// Compares whole trees and shows the lines that differ; nothing where none does.
pub fn differences(found: &BTreeMap<String, String>, wanted: &BTreeMap<String, String>) -> String {
    let paths: BTreeSet<&String> = found.keys().chain(wanted.keys()).collect();
    let mut shown = String::new();
    for path in paths {
        let (found, wanted) = (found.get(path), wanted.get(path));
        if found != wanted {
            let text = |t: Option<&String>| t.cloned().unwrap_or_else(|| "(no file)\n".to_owned());
            let diff = similar::TextDiff::from_lines(text(wanted).as_str(), text(found).as_str())
                .unified_diff()
                .to_string();
            shown.push_str(&format!("{path} (- wanted, + found)\n{diff}"));
        }
    }
    shown
}

/// The same as a claim.
#[track_caller]
pub fn assert_trees(found: &BTreeMap<String, String>, wanted: &BTreeMap<String, String>) {
    let shown = differences(found, wanted);
    assert!(shown.is_empty(), "{shown}");
}

/// Replaces checksums, which tests look at by themselves.
pub fn unsummed(text: &str) -> String {
    const SUM: &str = "checksum/config";
    let line = |line: &str| match line.split_once(SUM) {
        Some((before, after)) if !after.starts_with('\n') => {
            let is_digit = |c: char| c.is_ascii_hexdigit();
            let sum = after.trim_start_matches(|c| !is_digit(c)).trim_end_matches(|c| !is_digit(c));
            assert!(sum.len() == 64 && sum.chars().all(is_digit), "{line}");
            format!("{before}{SUM}{}", after.replace(sum, "SUM"))
        }
        _ => line.to_owned(),
    };
    text.split_inclusive('\n').map(line).collect()
}
