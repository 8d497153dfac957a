//! Step 7, render: for which Kubernetes a chart is rendered.
//!
//! In: what is known of the cluster; charts. Out: a version. Helm has one of its own that grows with every release of
//! Helm, and refuses a chart that needs a newer one. So it is always told one, the same for both sides of a change.

use semver::Version;

use super::Chart;
use crate::yaml::Stream;

/// Returns the oldest version that all of these charts accept; `None` where they accept any.
pub(super) fn oldest<'c>(charts: impl IntoIterator<Item = &'c Chart>) -> Option<String> {
    charts.into_iter().filter_map(least).max().map(|version| version.to_string())
}

/// Says which version was assumed.
pub(super) fn note(version: &str) -> String {
    format!(
        "For Kubernetes {version}, the oldest that the charts accept; `kubernetes` of the target may name another."
    )
}

/// Reads the lower bound in a chart's `kubeVersion`.
fn least(chart: &Chart) -> Option<Version> {
    let stream = Stream::parse(chart.files.get("Chart.yaml")?).ok()?;
    let range = stream.roots().next()?.text(&["kubeVersion"])?.to_owned();
    let bounds = range.split("||").map(|all| {
        let bounds = all.split([' ', ',']).filter(|part| !part.is_empty());
        // A sign may stand apart from its version.
        let bounds = bounds.scan("", |sign, part| {
            let version = part.trim_start_matches(['>', '=', '^', '~', '<', '!', 'v']);
            let own = part.get(..part.len() - version.len()).unwrap_or_default();
            let before = std::mem::replace(sign, if version.is_empty() { own } else { "" });
            Some(if own.is_empty() { (before, version) } else { (own, version) })
        });
        bounds
            .filter(|(sign, _)| !sign.starts_with(['<', '!']))
            .filter_map(|(sign, version)| if sign == ">" { beyond(version) } else { plain(version) })
            .max()
    });
    bounds.min()?
}

/// Reads up to three numbers; what is not said is 0, and so is a wildcard.
fn plain(text: &str) -> Option<Version> {
    let numbers = text.split(['-', '+']).next()?.split('.').map(|n| n.parse::<u64>().ok());
    let mut numbers = numbers.chain(std::iter::repeat(None)).take(3);
    let major = numbers.next()??;
    let mut next = || numbers.next().flatten().unwrap_or(0);
    Some(Version::new(major, next(), next()))
}

/// Returns the first version after all that the text names: `1.30` names every patch of it.
fn beyond(text: &str) -> Option<Version> {
    let Version { major, minor, patch, .. } = plain(text)?;
    Some(match text.split(['-', '+']).next()?.split('.').count() {
        1 => Version::new(major.checked_add(1)?, 0, 0),
        2 => Version::new(major, minor.checked_add(1)?, 0),
        _ => Version::new(major, minor, patch.checked_add(1)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::ChartId;

    fn chart(range: &str) -> Chart {
        let id = ChartId { name: "c".into(), version: "1".into() };
        let files = [("Chart.yaml".to_owned(), format!("name: c\nkubeVersion: '{range}'\n").into())].into();
        Chart { id, digest: String::new(), files }
    }

    #[test]
    fn the_oldest_version_that_all_charts_accept_is_found() {
        for (range, wanted) in [
            (">=1.31.0-0", Some("1.31.0")),
            (">= 1.25.0 < 1.36.0", Some("1.25.0")),
            ("<1.36, >=1.23-0", Some("1.23.0")),
            ("^1.30 || ~1.28.3", Some("1.28.3")),
            ("1.x", Some("1.0.0")),
            (">1.30", Some("1.31.0")),
            ("> 1.30.2-0", Some("1.30.3")),
            ("< 1.36", None),
            ("*", None),
            ("", None),
        ] {
            assert_eq!(oldest([&chart(range)]).as_deref(), wanted, "{range}");
        }
        assert_eq!(oldest([&chart(">=1.23.0-0"), &chart(">=1.31.0-0")]).as_deref(), Some("1.31.0"));
    }
}
