//! What is committed of charts, and where it is not what their versions and values give.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Style, count,
    escape::{for_terminal, json as to_json},
    table::Table,
};
use crate::{
    explain::markdown,
    repo::RepoPath,
    verify::{Finding, Severity},
};

/// What `uplinker verify` found.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct VerifyReport {
    /// Helm's version.
    pub helm: Option<String>,
    /// The committed manifests, ordered by path.
    pub manifests: Vec<ManifestRow>,
    /// Where they are not what their charts give, ordered by path and line.
    pub drifts: Vec<DriftRow>,
    /// Objects in the same files that no chart gives: nothing is wrong with them.
    pub own: Vec<OwnRow>,
    /// What could not be rendered, and so is not known.
    pub unproven: Vec<UnprovenRow>,
    /// How many charts are deployed or committed in an exact version.
    pub deployed: usize,
    /// How many proxy pins are compared with the control plane.
    pub proxies: usize,
    /// Versions that do not go together.
    pub findings: Vec<Finding>,
}

/// One committed manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ManifestRow {
    /// The first of its files.
    pub path: RepoPath,
    /// How many files it has.
    pub files: usize,
    /// The chart.
    pub chart: String,
    /// Its version; `None` where no object names it.
    pub version: Option<String>,
    /// The namespace that it was rendered for.
    pub namespace: String,
    /// Whether it is what its chart gives.
    pub proven: bool,
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DriftRow {
    /// The file.
    pub path: RepoPath,
    /// From 1.
    pub line: usize,
    /// The chart and its version.
    pub chart: String,
    /// The object.
    pub object: String,
    /// The field; `None` for an object that only one side has.
    pub field: Option<String>,
    /// What differs, as a sentence; secrets are not shown.
    pub reason: String,
    /// What to do.
    pub hint: String,
}

/// An object beside those of the charts, in the same file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OwnRow {
    /// The file.
    pub path: RepoPath,
    /// From 1.
    pub line: usize,
    /// The object.
    pub object: String,
    /// The command of the Linkerd CLI that writes it, where one does.
    pub command: Option<String>,
}

/// A committed manifest of which nothing can be said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UnprovenRow {
    /// The first of its files.
    pub path: RepoPath,
    /// The chart.
    pub chart: String,
    /// Why.
    pub reason: String,
    /// What to do.
    pub hint: String,
}

/// `uplinker.verify/v1`.
#[derive(Serialize, JsonSchema)]
pub(super) struct Document<'r> {
    schema: &'static str,
    #[serde(flatten)]
    report: &'r VerifyReport,
}

const HEAD: [&str; 5] = ["manifest", "chart", "version", "namespace", "as its chart gives it"];

// === impl VerifyReport ===

impl VerifyReport {
    /// Returns the report in the style's form.
    pub fn render(&self, style: Style) -> String {
        match style.format {
            super::Format::Text => self.text(style.color),
            super::Format::Json => to_json(&Document { schema: "uplinker.verify/v1", report: self }),
            super::Format::Markdown => self.markdown(),
        }
    }

    /// Tells whether everything that is committed is what its charts give, and no upgrade is half done.
    pub fn is_proven(&self) -> bool {
        let blocks = self.findings.iter().any(|finding| finding.severity == Severity::Block);
        self.drifts.is_empty() && self.unproven.is_empty() && !blocks
    }

    fn text(&self, color: bool) -> String {
        let mut out = if self.manifests.is_empty() {
            "nothing here was made by Helm or `linkerd install`\n".to_owned()
        } else {
            let mut table = Table::new(HEAD);
            self.manifests.iter().for_each(|row| table.row(cells(row)));
            table.text(color)
        };
        for line in self.lines().chain(self.agreement()) {
            out.push_str(&for_terminal(&line));
            out.push('\n');
        }
        out
    }

    fn markdown(&self) -> String {
        let head = if self.manifests.is_empty() {
            "Nothing here was made by Helm or `linkerd install`.\n".to_owned()
        } else {
            let mut table = Table::new(HEAD);
            self.manifests.iter().for_each(|row| table.row(cells(row).map(|c| markdown::whole(&c))));
            table.markdown()
        };
        let lines = self.lines().chain(self.agreement());
        let lines: String = lines.map(|line| format!("- {}\n", markdown::whole(&line))).collect();
        if lines.is_empty() { head } else { format!("{head}\n{lines}") }
    }

    fn lines(&self) -> impl Iterator<Item = String> + '_ {
        let drifts = self.drifts.iter().map(|d| format!("{}:{}: {}", d.path, d.line, d.reason));
        let mut hints: Vec<String> = self.drifts.iter().map(|d| format!("{}: {}", d.chart, d.hint)).collect();
        hints.dedup();
        let own = self.own.iter().map(|own| {
            let by =
                own.command.as_ref().map(|command| format!(", which `{command}` writes")).unwrap_or_default();
            format!("note: {}:{}: no chart gives {}{by}; it is left alone", own.path, own.line, own.object)
        });
        let unproven =
            self.unproven.iter().map(|u| format!("{}: {}: {}; {}", u.path, u.chart, u.reason, u.hint));
        let findings = self.findings.iter().map(super::run::finding_line);
        drifts.chain(hints).chain(unproven).chain(findings).chain(own)
    }

    /// Says what was compared where all of it agrees.
    fn agreement(&self) -> Option<String> {
        let compared = self.deployed + self.proxies > 0 && self.findings.is_empty();
        let (charts, pins) = (self.deployed, self.proxies);
        compared.then(|| format!("{} and {} go together", count(charts, "chart"), count(pins, "proxy pin")))
    }
}

fn cells(row: &ManifestRow) -> [String; 5] {
    let more = match row.files {
        0 | 1 => String::new(),
        n => format!(" and {} more", n - 1),
    };
    [
        format!("{}{more}", row.path),
        row.chart.clone(),
        row.version.clone().unwrap_or_else(|| "not named".to_owned()),
        row.namespace.clone(),
        if row.proven { "yes" } else { "no" }.to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        report::Format,
        verify::{CheckId, Place},
    };

    fn report() -> VerifyReport {
        let path = RepoPath::new("linkerd/crds.yaml").unwrap();
        VerifyReport {
            helm: Some("v4.2.3".to_owned()),
            manifests: vec![ManifestRow {
                path: path.clone(),
                files: 2,
                chart: "linkerd-crds".to_owned(),
                version: Some("2026.8.2".to_owned()),
                namespace: "linkerd".to_owned(),
                proven: false,
            }],
            drifts: vec![DriftRow {
                path,
                line: 7,
                chart: "linkerd-crds 2026.8.2".to_owned(),
                object: "A b".to_owned(),
                field: Some("spec.x".to_owned()),
                reason: "A b spec.x is \u{1b}[31m<b>, the chart gives 1".to_owned(),
                hint: "undo it".to_owned(),
            }],
            own: vec![OwnRow {
                path: RepoPath::new("a.yaml").unwrap(),
                line: 3,
                object: "Link m/east".to_owned(),
                command: Some("linkerd multicluster link-gen".to_owned()),
            }],
            ..VerifyReport::default()
        }
    }

    fn finding(severity: Severity) -> Finding {
        let place = Place { path: RepoPath::new("a.yaml").unwrap(), line: Some(2) };
        let (reason, hint) = ("crds lag".to_owned(), Some("move them".to_owned()));
        Finding { check: CheckId::HalfDone, severity, place: Some(place), reason, hint }
    }

    #[test]
    fn what_agrees_is_said_with_what_was_compared() {
        let report = VerifyReport { deployed: 2, proxies: 1, ..VerifyReport::default() };
        let text = report.render(Style::default());
        let words =
            "nothing here was made by Helm or `linkerd install`\n2 charts and 1 proxy pin go together\n";
        assert_eq!(text, words);
    }

    #[test]
    fn what_differs_is_placed_and_nothing_of_it_acts() {
        let shown = |format| report().render(Style { format, ..Style::default() });
        let text = shown(Format::Text);
        assert!(
            text.contains("linkerd/crds.yaml:7: A b spec.x is \\u{1b}[31m<b>, the chart gives 1"),
            "{text}"
        );
        assert!(
            text.contains("linkerd/crds.yaml and 1 more")
                && text.contains("\nlinkerd-crds 2026.8.2: undo it\n")
        );
        let own = "note: a.yaml:3: no chart gives Link m/east, which `linkerd multicluster link-gen` writes; it is left alone\n";
        assert!(text.ends_with(own), "{text}");
        let markdown = shown(Format::Markdown);
        assert!(!markdown.contains("<b>") && markdown.contains("&#60;b&#62;"), "{markdown}");
        let json: serde_json::Value = serde_json::from_str(&shown(Format::Json)).unwrap();
        assert_eq!(
            (json["schema"].as_str(), json["drifts"][0]["line"].as_u64()),
            (Some("uplinker.verify/v1"), Some(7))
        );
        let half = VerifyReport {
            drifts: Vec::new(),
            own: Vec::new(),
            findings: vec![finding(Severity::Block)],
            ..report()
        };
        let text = half.render(Style::default());
        assert!(text.ends_with("block half-done: a.yaml:2: crds lag; move them\n"), "{text}");
        let warned = VerifyReport { findings: vec![finding(Severity::Warn)], ..VerifyReport::default() };
        assert!(!half.is_proven() && warned.is_proven());
        assert!(!report().is_proven() && VerifyReport::default().is_proven());
    }
}
