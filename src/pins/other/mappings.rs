//! Step 5, pins: numbers that mappings give charts of Linkerd's, such as YAML's, or the arguments and constants of programs.
//!
//! In: a text. Out: the number beside a chart's name, or beside the address of Linkerd's own repository of charts.

use super::number::{Number, is_chart, is_own, moved, number, words};
use crate::pins::origin::is_linkerds;

/// The deepest mapping that is looked at.
const DEPTH: usize = 64;

/// What stands in one mapping, as far as it was read.
struct Mapping {
    depth: usize,
    /// It is one of several, or what something is given: of those a chart's name may be all that says which chart it is.
    is_item: bool,
    is_chart_s: bool,
    is_called_so: bool,
    /// It says that its chart is another, or its own.
    is_of_another: bool,
    versions: Vec<Number>,
}

// === impl Mapping ===

impl Mapping {
    fn new(depth: usize, is_item: bool) -> Self {
        let versions = Vec::new();
        Self { depth, is_item, is_chart_s: false, is_called_so: false, is_of_another: false, versions }
    }

    /// Reads an entry, whose value begins at a place of the text.
    fn read(&mut self, key: &str, value: &str, at: usize) {
        let first = words(value).next();
        self.is_chart_s |= gives_chart(key) && first.is_some_and(is_chart) || first.is_some_and(is_linkerds);
        self.is_called_so |= self.is_item && key == "name" && first.is_some_and(is_own);
        let is_here = first.is_some_and(|word| word.starts_with("file:"));
        self.is_of_another |= gives_chart(key) || key == "path" || is_here;
        let version = number(value, 0).filter(|_| gives_version(key));
        self.versions.extend(version.map(|(span, why)| (moved(span, at), why)));
    }

    fn into_versions(self) -> Vec<Number> {
        match self.is_chart_s || self.is_called_so && !self.is_of_another {
            true => self.versions,
            false => Vec::new(),
        }
    }
}

/// Finds those of mappings of a line for each key, such as YAML's, or the arguments and constants of programs.
pub(super) fn in_mappings(text: &str) -> Vec<Number> {
    let (mut open, mut found) = (Vec::<Mapping>::new(), Vec::new());
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let entry = entry(line).filter(|(depth, ..)| *depth <= DEPTH);
        let is_new = entry.is_some() && line.trim_start().starts_with("- ");
        let depth = entry.map_or_else(|| depth_of_rest(line), |(depth, ..)| depth);
        while let Some(last) = open.pop_if(|last| last.depth > depth || is_new && last.depth == depth) {
            found.extend(last.into_versions());
        }
        if let Some((depth, key, behind)) = entry {
            if open.last().is_none_or(|last| last.depth < depth) {
                open.push(Mapping::new(depth, is_new));
            }
            if let Some(mapping) = open.last_mut() {
                mapping.read(key, line.get(behind..).unwrap_or_default(), start + behind);
            }
        }
        start += line.len();
    }
    found.extend(open.into_iter().flat_map(Mapping::into_versions));
    found
}

/// Tells how deep a line stands that has no key: what is less deep than a mapping ends it, such as the brace behind a block of
/// HCL. Comments and the conditions of templates stand anywhere.
fn depth_of_rest(line: &str) -> usize {
    let rest = line.trim_start();
    let is_anywhere = rest.is_empty() || ["#", "//", "{{", "{%"].iter().any(|sign| rest.starts_with(sign));
    if is_anywhere { usize::MAX } else { line.len() - rest.len() }
}

/// Finds those of mappings and calls that a line has as a whole: `{name: linkerd-crds, version: 1.8.0}`.
pub(super) fn in_flows(line: &str) -> Vec<Number> {
    let (mut open, mut found) = (Vec::<Mapping>::new(), Vec::new());
    let first = line.len() - line.trim_start().len();
    let mut start = 0;
    for (at, sign) in line.match_indices(['{', '[', '(', '}', ']', ')', ',']) {
        let entry = line.get(start..at).and_then(entry);
        if let (Some(mapping), Some((_, key, behind))) = (open.last_mut(), entry) {
            mapping.read(key, line.get(start + behind..at).unwrap_or_default(), start + behind);
        }
        match sign {
            "," => {}
            "{" | "[" | "(" if open.len() == DEPTH => break,
            "{" | "[" | "(" => open.push(Mapping::new(0, at > first)),
            _ => found.extend(open.pop().into_iter().flat_map(Mapping::into_versions)),
        }
        start = at + 1;
    }
    found
}

/// Reads the key of a line: how deep it stands, its name, and where what is behind it begins.
pub(super) fn entry(line: &str) -> Option<(usize, &str, usize)> {
    let depth = line.len() - line.trim_start_matches([' ', '\t', '-']).len();
    let key = line.get(depth..)?.split([':', '=']).next()?;
    let sign = depth + key.len();
    // A program may say before a name what it is: `const version = ..`.
    let name = match line.get(sign..)?.starts_with('=') {
        true => key.trim_end_matches('?').split_whitespace().next_back()?,
        false => key.trim_end().trim_matches(['"', '\'']),
    };
    let is_name = !name.is_empty()
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'/'));
    is_name.then_some((depth, name, sign + 1))
}

/// Tells whether a key gives a chart's name.
fn gives_chart(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    key.ends_with("chart") || key.ends_with("chartname") || key.ends_with("chart_name")
}

/// Tells whether a key gives the version of the chart beside it: that of an application, or of Kubernetes, is none.
fn gives_version(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let of = key.strip_suffix("version").map(|of| of.trim_end_matches(['_', '-']));
    key == "targetrevision"
        || of.is_some_and(|of| of.is_empty() || of.ends_with("chart") || of.contains("linkerd"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pins::Reason;

    fn found(text: &str) -> Vec<(&str, Option<Reason>)> {
        let flows = text.lines().flat_map(in_flows);
        let all = in_mappings(text).into_iter().chain(flows);
        all.map(|(span, why)| (&text[span], why)).collect()
    }

    #[test]
    fn a_mapping_gives_its_chart_a_version() {
        let text = "a:\n- chart: cert-manager\n  version: 1.16.1\n- version: 1.16.11\n  values:\n    chart: b\n    version: 1.0.0\n  \
                    chart: \"linkerd-control-plane\"\nname: linkerd-viz\nversion: 1.0.0\n";
        assert_eq!(found(text), [("1.16.11", Some(Reason::Channel))]);
        assert_eq!(found("chart: linkerd-crds\nappVersion: 1.0.0\ntargetRevision: '1.8.0'\n").len(), 1);
        assert_eq!(found("chart: linkerd-enterprise-control-plane\ntargetRevision: 2.15.5\n").len(), 1);
        assert_eq!(found("chart: jaeger\nversion: 3.4.1\n"), []);
        assert_eq!(found("chart: linkerd-crds-extra\nversion: 1.0.0\n"), []);
        let program = "const (\n\tlinkerdRepo    = \"https://helm.linkerd.io/stable\"\n\tlinkerdVersion = \"1.12.3\"\n\tkubeVersion = \
                       \"1.30.0\"\n)\n";
        assert_eq!(found(program), [("1.12.3", Some(Reason::Channel))]);
        let program = "Chart(\n    \"crds\",\n    chart=\"linkerd-crds\",\n    version=\"1.8.0\",\n)\n";
        assert_eq!(found(program), [("1.8.0", Some(Reason::Channel))]);
        let blocks = "resource \"helm_release\" \"a\" {\n  chart = \"cert-manager\"\n  version = \"v1.7.1\"\n}\n\nmodule \"b\" {\n  version = \
                      \"20.8.5\"\n}\n\nresource \"helm_release\" \"c\" {\n  chart = \"linkerd-crds\"\n\n# the last one\n  version = \
                      \"1.8.0\"\n}\n";
        assert_eq!(found(blocks), [("1.8.0", Some(Reason::Channel))]);
        let template = "chart: linkerd-crds\n{{- if .Values.old }}\nversion: 1.8.0\n{{- end }}\n";
        assert_eq!(found(template), [("1.8.0", Some(Reason::Channel))]);
        let of = |address: &str| found(&format!("chart:\n  repository: {address}\n  version: 2.7.0\n")).len();
        let addresses = ["https://helm.linkerd.io/stable", "'https://helm.linkerd.io/stable/'"];
        assert_eq!(addresses.map(of), [1, 1], "Flux's first HelmRelease need not name the chart");
        assert_eq!(of("https://helm.linkerd.io.example.com/stable"), 0);
    }

    #[test]
    fn a_mapping_within_a_line_gives_its_chart_a_version() {
        for told in [
            "charts: [{name: linkerd-crds, version: 1.8.0}, {name: prometheus, version: 25.0.0}]",
            "- {chart: l/linkerd-crds, values: {a: b}, version: 1.8.0}",
            "crds = Chart('crds', chart=\"linkerd-crds\", version=\"1.8.0\")",
            "- name: linkerd-crds\n  version: 1.8.0\n- name: prometheus\n  version: 25.0.0\n",
        ] {
            assert_eq!(found(told), [("1.8.0", Some(Reason::Channel))], "{told}");
        }
        for other in [
            "{\"name\": \"linkerd-viz\", \"version\": \"1.0.0\"}",
            "- {name: linkerd-viz, chart: acme/boards, version: 1.0.0}",
            "- {name: linkerd2, version: 19.2.2, repository: 'file://charts/linkerd2'}",
            "- {name: linkerd-viz, version: 1.0.0, path: charts/viz}",
            "- {name: linkerd, values: {name: linkerd-viz}, version: 1.0.0}",
            "- {name: jaeger, version: 3.1.0}",
        ] {
            assert_eq!(found(other), [], "{other}");
        }
        assert_eq!(found(&"{(".repeat(100_000)), []);
    }
}
