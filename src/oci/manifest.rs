//! The manifest of a chart: which blob is its package.
//!
//! In: bytes. Out: a [`Manifest`], or what is wrong with them. Pure.

use serde::Deserialize;
use sha2::{Digest as _, Sha256};

/// The media type of a manifest.
pub(super) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.cncf.helm.config.v1+json";
const CHART: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";

/// A chart's manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Its own SHA-256 in hexadecimal.
    pub digest: String,
    /// The chart's package.
    pub package: Descriptor,
}

/// A blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Its SHA-256 in hexadecimal.
    pub digest: String,
    /// Its size in bytes.
    pub size: u64,
}

/// A manifest as written.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    schema_version: u32,
    media_type: Option<String>,
    config: Part,
    layers: Vec<Part>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    media_type: String,
    digest: String,
    size: u64,
}

// === impl Manifest ===

impl Manifest {
    /// Reads a manifest. The error completes the sentence that names it.
    pub(super) fn read(body: &[u8]) -> Result<Self, String> {
        let written: Written = serde_json::from_slice(body).map_err(|e| format!("is no manifest: {e}"))?;
        let typed = written.media_type.as_deref().is_none_or(|kind| kind == MANIFEST);
        if written.schema_version != 2 || !typed {
            return Err("is a manifest of another kind".to_owned());
        }
        if written.config.media_type != CONFIG {
            return Err("is no Helm chart".to_owned());
        }
        let mut charts = written.layers.iter().filter(|layer| layer.media_type == CHART);
        let (Some(chart), None) = (charts.next(), charts.next()) else {
            return Err("does not have one package".to_owned());
        };
        let digest = sha256(&chart.digest).ok_or("names its package by no SHA-256")?;
        let package = Descriptor { digest: digest.to_owned(), size: chart.size };
        Ok(Self { digest: hash(body), package })
    }
}

/// Returns the hexadecimal part of a digest that is a SHA-256.
pub(super) fn sha256(digest: &str) -> Option<&str> {
    let hex = digest.strip_prefix("sha256:")?;
    let plain = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    (hex.len() == 64 && hex.bytes().all(plain)).then_some(hex)
}

/// Returns the SHA-256 of bytes in hexadecimal.
pub(super) fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(config: &str, layers: &str) -> String {
        let digest = "a".repeat(64);
        let layers = layers.replace("DIGEST", &digest);
        format!(
            "{{\"schemaVersion\":2,\"config\":{{\"mediaType\":\"{config}\",\"digest\":\"sha256:{digest}\",\"size\":2}},\
             \"layers\":[{layers}]}}"
        )
    }

    #[test]
    fn a_chart_has_one_package() {
        let layer = format!("{{\"mediaType\":\"{CHART}\",\"digest\":\"sha256:DIGEST\",\"size\":7}}");
        let signature = "{\"mediaType\":\"application/vnd.cncf.helm.chart.provenance.v1.prov\",\"digest\":\"sha256:DIGEST\",\"size\":7}";
        let read = |config: &str, layers: &str| Manifest::read(written(config, layers).as_bytes());
        let found = read(CONFIG, &format!("{layer},{signature}")).unwrap();
        assert_eq!(found.package, Descriptor { digest: "a".repeat(64), size: 7 });
        for (config, layers) in [
            ("application/vnd.oci.image.config.v1+json", layer.as_str()),
            (CONFIG, ""),
            (CONFIG, signature),
            (CONFIG, &format!("{layer},{layer}")),
            (CONFIG, &layer.replace("sha256:", "sha512:")),
            (CONFIG, &layer.replace("sha256:DIGEST", "sha256:../x")),
        ] {
            assert!(read(config, layers).is_err(), "{config} {layers}");
        }
        for bad in ["", "[]", "{\"schemaVersion\":2,\"manifests\":[]}"] {
            assert!(Manifest::read(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
