//! The grammar and the order of Linkerd edge versions.
//!
//! In: text from tags, charts and pins. Out: [`EdgeVersion`]. Edge tags are not SemVer: they are
//! ordered as an integer triple, and a chart carries the same triple with a four-digit year.

use std::{borrow::Cow, fmt, str::FromStr};

/// The first year in which Linkerd tagged edge releases by date; smaller numbers are CI test tags.
const FIRST_YEAR: u16 = 18;
/// The year and the month of the first release whose charts have its version (L2 #12175).
const FIRST_CHART: (u16, u8) = (24, 3);

/// One Linkerd edge release, `edge-YY.M.N`, ordered by year, month and number.
///
/// ```
/// use uplinker::linkerd::EdgeVersion;
/// let version: EdgeVersion = "edge-26.8.3".parse().unwrap();
/// assert_eq!(version.chart(), "2026.8.3");
/// assert!(version > "edge-26.7.12".parse().unwrap());
/// assert_eq!(EdgeVersion::from_chart("2026.8.3"), Some(version));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EdgeVersion {
    year: u16,
    month: u8,
    number: u32,
}

/// Text that is not `edge-YY.M.N`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an edge release; one looks like `edge-26.8.3`")]
pub struct NotAnEdge(pub String);

// === impl EdgeVersion ===

impl EdgeVersion {
    /// Returns the version of every chart of this release since edge-24.3.1: `20YY.M.N`.
    pub fn chart(&self) -> String {
        format!("20{:02}.{}.{}", self.year, self.month, self.number)
    }

    /// Reads a chart version of the `YYYY.M.N` scheme; `None` for every other scheme, and for what is older than the scheme.
    pub fn from_chart(text: &str) -> Option<Self> {
        let (year, rest) = text.split_once('.')?;
        let century = year.strip_prefix("20").filter(|yy| yy.len() == 2)?;
        Self::from_parts(century, rest).filter(|version| (version.year, version.month) >= FIRST_CHART)
    }

    /// Returns what a text that is no edge release was probably meant to be: the release of a chart's version, or one
    /// without its channel.
    pub fn meant_by(text: &str) -> Option<Self> {
        Self::from_chart(text).or_else(|| format!("edge-{text}").parse().ok())
    }

    /// Returns year (two digits), month and number.
    pub fn triple(&self) -> (u16, u8, u32) {
        (self.year, self.month, self.number)
    }

    fn from_parts(year: &str, rest: &str) -> Option<Self> {
        let (month, number) = rest.split_once('.')?;
        if year.len() != 2 || !unpadded(month) || !unpadded(number) {
            return None;
        }
        let version = Self { year: digits(year)?, month: digits(month)?, number: digits(number)? };
        (version.year >= FIRST_YEAR && (1..=12).contains(&version.month)).then_some(version)
    }
}

impl FromStr for EdgeVersion {
    type Err = NotAnEdge;

    fn from_str(text: &str) -> Result<Self, NotAnEdge> {
        text.strip_prefix("edge-")
            .and_then(|rest| rest.split_once('.'))
            .and_then(|(year, rest)| Self::from_parts(year, rest))
            .ok_or_else(|| NotAnEdge(text.to_owned()))
    }
}

impl fmt::Display for EdgeVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "edge-{:02}.{}.{}", self.year, self.month, self.number)
    }
}

impl serde::Serialize for EdgeVersion {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl schemars::JsonSchema for EdgeVersion {
    fn schema_name() -> Cow<'static, str> {
        "EdgeVersion".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "pattern": "^edge-[0-9]{2}\\.([1-9]|1[0-2])\\.[0-9]+$"})
    }
}

impl<'de> serde::Deserialize<'de> for EdgeVersion {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

fn digits<T: FromStr>(text: &str) -> Option<T> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?
}

fn unpadded(text: &str) -> bool {
    !text.is_empty() && (text == "0" || !text.starts_with('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_are_called_so_since_2024_3() {
        assert_eq!(EdgeVersion::from_chart("2022.11.2"), None);
        assert_eq!(EdgeVersion::from_chart("2024.2.9"), None);
        assert!(EdgeVersion::from_chart("2024.3.1").is_some());
    }
}
