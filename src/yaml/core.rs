//! How YAML 1.1, which Helm and Kubernetes read, would type a plain scalar.

/// Tells whether a plain scalar would be read as text, so that it needs no quotes.
///
/// ```
/// use uplinker::yaml::core::is_plain_text;
/// assert!(is_plain_text("2026.8.3"));
/// assert!(is_plain_text("edge-26.8.3"));
/// assert!(!is_plain_text("1_000") && !is_plain_text("yes") && !is_plain_text("2026.8"));
/// ```
pub fn is_plain_text(text: &str) -> bool {
    is_plain_piece(text)
        && !text.ends_with(':')
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && !is_typed(text)
}

/// Tells whether a text may stand inside a plain scalar without meaning anything to YAML.
pub fn is_plain_piece(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '/' | '+' | '~' | ':'))
}

/// Tells whether YAML 1.1 reads a plain scalar as null, a boolean, a number or a timestamp.
pub fn is_typed(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let word =
        matches!(lower.as_str(), "null" | "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n" | "nan");
    word || is_number(&lower) || is_sexagesimal(&lower) || is_date(&lower)
}

/// Reads a boolean out of a plain scalar, as go-yaml v2 does (`resolve.go`): with it `sigs.k8s.io/yaml` reads objects,
/// values and kustomizations.
pub fn boolean(text: &str) -> Option<bool> {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "true" | "True" | "TRUE" => Some(true),
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" | "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

fn is_number(lower: &str) -> bool {
    let plain = lower.replace('_', "");
    let radix = ["0x", "0o", "0b"].iter().find_map(|p| plain.strip_prefix(p));
    radix.is_some_and(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_hexdigit()))
        || (plain.bytes().any(|b| b.is_ascii_digit()) && plain.parse::<f64>().is_ok())
}

fn is_sexagesimal(lower: &str) -> bool {
    lower.contains(':') && lower.bytes().all(|b| b.is_ascii_digit() || matches!(b, b':' | b'.' | b'_'))
}

fn is_date(lower: &str) -> bool {
    let mut parts = lower.splitn(3, '-');
    let year = parts.next().is_some_and(|p| p.len() == 4 && p.bytes().all(|b| b.is_ascii_digit()));
    year && parts.next().is_some_and(|p| matches!(p.len(), 1 | 2) && p.bytes().all(|b| b.is_ascii_digit()))
        && parts.next().is_some_and(|p| p.starts_with(|c: char| c.is_ascii_digit()))
}
