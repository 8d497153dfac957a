//! Step 5, pins: what a text gives a chart of Linkerd's as a version that names no channel: `--version 1.16.11`.
//!
//! In: a text. Out: the bytes of each, with why it stays, where that is not for being of the edge channel. Such a number may be
//! of anything: it counts in a command or a mapping that names the chart itself, in a mapping that names Linkerd's own
//! repository of charts, and behind a word that says itself whose version it is, a key or the name of a package.

use std::ops::Range;

use crate::{
    linkerd::{self, CHARTS, RETIRED_CHARTS},
    pins::{
        Reason,
        origin::{ENTERPRISE, is_linkerds},
        version_text::{Expects, Judged, VersionText, judge},
    },
};

/// How Helm's command line gives a version.
const FLAG: &str = "--version";
/// The deepest mapping that is looked at.
const DEPTH: usize = 64;
/// The longest word that may be a key or the name of a package.
const LONGEST: usize = 64;

/// A version that is no release of the edge channel's new scheme.
pub(super) type Number = (Range<usize>, Option<Reason>);

/// Finds all of a text, in its order.
pub(super) fn numbers(text: &str) -> Vec<Number> {
    let mut found = in_commands(text);
    found.extend(in_mappings(text));
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let of_line = in_flows(line).into_iter().chain(in_words(line));
        found.extend(of_line.map(|(span, why)| (moved(span, start), why)));
        start += line.len();
    }
    found.sort_by_key(|(span, _)| span.start);
    found.dedup_by_key(|(span, _)| span.start);
    found
}

/// Finds those of commands, which may go on over several lines, or stand there as a list of their arguments.
fn in_commands(text: &str) -> Vec<Number> {
    let mut found = Vec::new();
    let (mut start, mut end) = (0, 0);
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        end += line.len();
        let is_one = |next: &&str| line.trim_end().ends_with('\\') || is_argument(line) && is_argument(next);
        if lines.peek().is_some_and(is_one) {
            continue;
        }
        let command = text.get(start..end).unwrap_or_default();
        if command.contains(FLAG) && words(command).any(is_chart) {
            let flags = command.match_indices(FLAG).map(|(at, flag)| at + flag.len());
            found.extend(
                flags.filter_map(|at| number(command, at)).map(|(span, why)| (moved(span, start), why)),
            );
        }
        start = end;
    }
    found
}

/// Tells whether all of a line is arguments of a list: `- --version`, or `"--version", "1.16.11",`.
fn is_argument(line: &str) -> bool {
    let line = line.trim();
    if let Some(item) = line.strip_prefix("- ") {
        return !item.trim_start().contains([' ', '\t', '[', '{']) && !item.ends_with(':');
    }
    let is_quoted = |word: &str| {
        let inner = |quote: char| word.strip_prefix(quote)?.strip_suffix(quote);
        ['"', '\''].into_iter().any(|quote| inner(quote).is_some_and(|inner| !inner.contains(quote)))
    };
    let is_name = |word: &str| word.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.'));
    line.ends_with([',', '"', '\''])
        && line.split(',').map(str::trim).all(|word| is_quoted(word) || is_name(word))
}

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
fn in_mappings(text: &str) -> Vec<Number> {
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
fn in_flows(line: &str) -> Vec<Number> {
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

/// Finds those of which a word says whose version they are: `linkerd_version: 2.14.10`, `linkerd-crds-1.8.0.tgz`.
fn in_words(line: &str) -> Vec<Number> {
    let is_outside = |c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-' | '.' | '+');
    let (mut found, mut start) = (Vec::new(), 0);
    for part in line.split_inclusive(is_outside) {
        let word = part.trim_end_matches(is_outside);
        if names_linkerd(word) {
            let end = start + word.len();
            found.extend(of_package(word).map(|(span, why)| (moved(span, start), why)));
            // What stands behind a slash is an image, and the number its tag.
            let is_key = !line.get(..start).is_some_and(|before| before.ends_with('/'));
            let given = line.get(end..).unwrap_or_default().trim_start_matches(['"', '\'', ' ', '\t']);
            if is_key && given.starts_with([':', '=', '?']) && gives_linkerds(word) {
                let value = given.trim_start_matches([':', '?']);
                found.extend(number(line, line.len() - value.len()));
            }
        }
        start += part.len();
    }
    found
}

fn names_linkerd(word: &str) -> bool {
    let begins = |name: &str| word.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name));
    word.len() <= LONGEST && (begins("linkerd") || begins("l5d"))
}

/// Reads the version in the name of a package, which labels have too. What counts as edge charts once did is left out: the
/// control plane's own chart writes `linkerd-crds-1.0.0-edge`, of whatever release it is.
fn of_package(word: &str) -> Option<Number> {
    let word = word.trim_end_matches(['.', '-', '+']);
    let word = word.strip_suffix(".tgz").unwrap_or(word);
    let names = word.match_indices('-').filter(|(at, _)| word.get(..*at).is_some_and(is_own));
    let found = names.map(|(at, dash)| at + dash.len()).find_map(|at| number(word, at));
    found.filter(|(_, why)| *why == Some(Reason::Channel))
}

/// Tells whether a key gives the version of Linkerd, or of a chart of Linkerd's, and says no more: `linkerd_await_version` is
/// that of something else.
fn gives_linkerds(key: &str) -> bool {
    let plain = |text: &str| text.replace(['_', '-', '.'], "").to_ascii_lowercase();
    let key = plain(key);
    let of = key.strip_suffix("version").or_else(|| key.strip_suffix("ver"));
    let of = of.map(|of| of.strip_suffix("chart").unwrap_or(of));
    let mut charts = CHARTS.into_iter().chain(RETIRED_CHARTS.into_iter().map(|chart| chart.name));
    of.is_some_and(|of| {
        matches!(of, "linkerd" | "l5d" | "linkerdenterprise")
            || charts.any(|chart| is_own(chart) && plain(chart) == of)
    })
}

/// Reads the key of a line: how deep it stands, its name, and where what is behind it begins.
fn entry(line: &str) -> Option<(usize, &str, usize)> {
    let depth = line.len() - line.trim_start_matches([' ', '\t', '-']).len();
    let key = line.get(depth..)?.split([':', '=']).next()?;
    let sign = depth + key.len();
    // A program may say before a name what it is: `const version = ..`.
    let name = match line.get(sign..)?.starts_with('=') {
        true => key.split_whitespace().next_back()?,
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

/// Reads the version that follows on a place of a text.
fn number(text: &str, at: usize) -> Option<Number> {
    let rest = text.get(at..)?;
    let given = rest.trim_start_matches([' ', '\t', '\n', '\r', '\\', '=', '-', '"', '\'', ',']);
    let word = words(given).next().filter(|word| given.starts_with(word))?;
    let exact = word.strip_prefix('v').unwrap_or(word);
    semver::Version::parse(exact).ok()?;
    let start = at + rest.len() - given.len() + word.len() - exact.len();
    match judge(exact, Expects::Chart) {
        // What names a release is found wherever it stands, but behind a letter.
        Judged::Version(VersionText { version: Some(_), .. }) if exact == word => None,
        Judged::Version(VersionText { stays, .. }) => Some((start..start + exact.len(), stays)),
        Judged::Reads(_) | Judged::Nothing => None,
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| {
        c.is_whitespace()
            || matches!(c, '"' | '\'' | '`' | '=' | '(' | ')' | '[' | ']' | '{' | '}' | ',' | ';' | '\\')
    };
    text.split(ends).filter(|word| !word.is_empty())
}

/// Tells whether a word is the name of one of Linkerd's charts, alone or behind its repository's. One that others have too,
/// `jaeger`, is Linkerd's behind a repository that is called so.
fn is_chart(word: &str) -> bool {
    let (repository, name) = word.rsplit_once('/').unwrap_or(("", word));
    let is_called_so = ["linkerd", "l5d"].iter().any(|name| repository.contains(name));
    is_own(name) || is_called_so && linkerd::is_chart(name)
}

/// Tells whether a word is the name of a chart that is Linkerd's wherever it stands, or of Buoyant's distribution of it.
fn is_own(word: &str) -> bool {
    word.starts_with(ENTERPRISE) || word.starts_with("linkerd") && linkerd::is_chart(word)
}

fn moved(span: Range<usize>, by: usize) -> Range<usize> {
    span.start + by..span.end + by
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(&str, Option<Reason>)> {
        numbers(text).into_iter().map(|(span, why)| (&text[span], why)).collect()
    }

    #[test]
    fn a_command_gives_its_chart_a_version() {
        let of = |version| vec![(version, Some(Reason::Channel))];
        assert_eq!(
            found("helm install linkerd-crds linkerd/linkerd-crds -n linkerd --version 1.8.0\n"),
            of("1.8.0")
        );
        assert_eq!(
            found("\thelm upgrade \\\n\t  cp l5d/linkerd-control-plane \\\n\t  --version=v1.16.11"),
            of("1.16.11")
        );
        assert_eq!(
            found("helm_resource('x', 'l/linkerd-viz', flags=['--version', '30.12.11'])"),
            of("30.12.11")
        );
        assert_eq!(found("helm install jaeger linkerd/jaeger --version 2.9.4"), of("2.9.4"));
        assert_eq!(found("helm install x l/linkerd-enterprise-crds --version 2.15.5"), of("2.15.5"));
        assert_eq!(found("helm install x l/linkerd-crds --version 1.9.0-edge"), [("1.9.0-edge", None)]);
        assert_eq!(found("helm install x l/linkerd-crds --version v2026.8.2"), [("2026.8.2", None)]);
        for other in [
            "helm install linkerd-crds l/linkerd-crds --version 2026.8.2",
            "helm install linkerd-crds l/linkerd-crds --version $VERSION",
            "helm install jaeger jaegertracing/jaeger --version 3.4.1",
            "helm install linkerd-crds l/linkerd-crds --version '~1.8'",
            "helm install linkerd-crds l/linkerd-crds\nhelm install cert-manager j/cert-manager --version 1.16.1",
        ] {
            assert_eq!(found(other), [], "{other}");
        }
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
    fn arguments_over_several_lines_give_a_chart_a_version() {
        let args = "args:\n- upgrade\n- linkerd-crds\n- linkerd/linkerd-crds\n- --version\n- \"1.8.0\"\nimage: helm:3.16.1\n";
        assert_eq!(found(args), [("1.8.0", Some(Reason::Channel))]);
        assert_eq!(found(&args.replace("--version\n- ", "--version=")).len(), 1);
        assert_eq!(found(&args.replace("linkerd/linkerd-crds", "a/b").replace("linkerd-crds", "x")), []);
        let program = "helm(\n    \"install\", name, \"l/linkerd-crds\",\n    '--version', '1.8.0')\nrun(\n    \"install\",                        \"a/b\",\n    \"--version\", \"1.0.0\",\n)\n";
        assert_eq!(found(&program.replace("')", "'\n)")), [("1.8.0", Some(Reason::Channel))]);
        let charts = "[\n  [\"install\", \"a/b\", \"--version\", \"1.0.0\"],\n  [\"install\", \"l/linkerd-crds\"],\n]\n";
        assert_eq!(found(charts), []);
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

    #[test]
    fn a_key_says_whose_version_it_gives() {
        for told in [
            "linkerd_ver: 2.14.10",
            "linkerd_version = \"2.14.10\"",
            "ARG LINKERD2_VERSION=2.14.10",
            "LINKERD_VERSION ?= 2.14.10",
            "sh -c '${LINKERD_VERSION:-2.14.10}'",
            "{\"linkerdCrdsChartVersion\": \"v2.14.10\"}",
            "linkerd2-cni.version: 2.14.10",
            "LINKERD_ENTERPRISE_VERSION=2.14.10",
        ] {
            assert_eq!(found(told), [("2.14.10", Some(Reason::Channel))], "{told}");
        }
        for other in [
            "ARG LINKERD_AWAIT_VERSION=0.2.3",
            "linkerdImageVersion = \"v0.1.0\"",
            "linkerd_proxy_init_version: v2.4.1",
            "acme_linkerd_version: 1.0.0",
            "image: acme/linkerd-version:1.0.0",
            "linkerd_version: \"{{ v }}\"",
            "linkerd_version 1.0.0",
            "jaeger_version: 1.57.0",
        ] {
            assert_eq!(found(other), [], "{other}");
        }
    }

    #[test]
    fn a_package_has_its_version_behind_the_chart_s_name() {
        for told in [
            "helm.sh/chart: linkerd-control-plane-1.16.11",
            "| Linkerd | `linkerd-control-plane-1.16.11`. |",
            "tar xf charts/linkerd2-cni-v1.16.11.tgz",
            "https://helm.linkerd.io/stable/linkerd2-1.16.11.tgz",
        ] {
            assert_eq!(found(told), [("1.16.11", Some(Reason::Channel))], "{told}");
        }
        for other in [
            "linkerd-crds-chart-version: linkerd-crds-1.0.0-edge",
            "https://helm.linkerd.io/edge/linkerd-crds-2026.8.2.tgz",
            "linkerd-1.4.6-exec",
            "linkerd-smi-1.0.0.tgz",
            "acme-linkerd-crds-1.8.0",
            "jaeger-3.1.0",
            "cr.l5d.io/linkerd/proxy-init:v2.4.1",
            "buoyantio/linkerd-viz:0.2.0",
        ] {
            assert_eq!(found(other), [], "{other}");
        }
    }
}
