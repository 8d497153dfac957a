//! Step 5, pins: what a text gives a chart of Linkerd's as a version that names no channel: `--version 1.16.11`.
//!
//! In: a text. Out: the bytes of each, with why it stays, where that is not for being of the edge channel. Such a number may be
//! of anything: it counts in a command or a mapping that names the chart itself, in a mapping that names Linkerd's own
//! repository of charts, behind a word that says itself whose version it is, a key or the name of a package, and where a name
//! is given one that the text reads behind the word of a channel.

use super::{
    badges::in_badge,
    channels::{behind_channels, values},
    commands::in_commands,
    mappings::{in_flows, in_mappings},
    milestones::milestones,
    names::is_of_release,
    number::{
        Number, gives_linkerds, is_edge, is_linkerd, is_own, lines, may_be_linkerd, moved, names_linkerd,
        number, of_chart,
    },
    prose::in_prose,
    renovate::for_renovate,
    speaks::speaks,
    spelling::chart_meant,
    tables::in_tables,
};
use crate::pins::release_names::{TAGS, extension};

/// How a text gives a number, by lines that belong together.
const IN_TEXTS: [fn(&str) -> Vec<Number>; 7] =
    [in_commands, in_mappings, behind_channels, for_renovate, in_tables, milestones, in_badge];
/// How a line does by itself.
const IN_LINES: [fn(&str) -> Vec<Number>; 3] = [in_flows, in_words, in_prose];
/// The longest line that is read word by word: a longer one is written by programs, for programs.
const LINE: usize = 1 << 16;
/// The command line of Linkerd, as packages are called.
const CLI: &str = "linkerd2-cli";
/// How distributions call the packages of Linkerd's parts, each of which they build of one release.
const PACKAGES: &str = "linkerd2-";
/// What parts a key from what it is given.
const GIVES: &str = ":=?";
/// What parts a package too from its version.
const ASKS: &str = ":=?@";
/// What the control plane's own chart says of the chart of its definitions, of whatever release both are.
const OF_NO_RELEASE: &str = "1.0.0-edge";

/// Finds all of a text, in its order.
pub(super) fn numbers(text: &str) -> Vec<Number> {
    let mut found: Vec<Number> = IN_TEXTS.into_iter().flat_map(|form| form(text)).collect();
    for (start, line) in lines(text) {
        if line.len() <= LINE && line.bytes().any(|byte| byte.is_ascii_digit()) {
            let of_line = IN_LINES.into_iter().flat_map(|form| form(line));
            found.extend(of_line.map(|(span, why)| (moved(span, start), why)));
        }
    }
    found.sort_by_key(|(span, _)| span.start);
    found.dedup_by_key(|(span, _)| span.start);
    found
}

/// Reads the number that a file has and nothing else, where its name or its folder's is one of releases: `.linkerd-version`.
pub(super) fn of_file(path: &str, text: &str) -> Option<Number> {
    let is_called_so = |name: &str| {
        let name = name.trim_start_matches('.');
        is_of_release(name.split('.').next().unwrap_or(name))
    };
    let is_all = text.split_whitespace().nth(1).is_none() && path.rsplit('/').take(2).any(is_called_so);
    let found = is_all.then(|| number(text, 0)).flatten();
    found.filter(|(span, _)| text.get(span.clone()).is_some_and(may_be_linkerd))
}

/// Finds those of which a word says whose version they are: `linkerd_version: 2.14.10`, `linkerd-crds-1.8.0.tgz`.
fn in_words(line: &str) -> Vec<Number> {
    let is_outside = |c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-' | '.' | '+');
    let (mut found, mut start) = (Vec::new(), 0);
    let speaks = speaks(line);
    for part in line.split_inclusive(is_outside) {
        let word = part.trim_end_matches(is_outside);
        let before = line.get(..start).unwrap_or_default();
        if names_linkerd(word) {
            found.extend(of_package(word).map(|(span, why)| (moved(span, start), why)));
        }
        let is_key = match before.ends_with('/') {
            // Else it is an image, and the number its tag.
            true => word == "proxy-version" && before.ends_with("linkerd.io/"),
            false => {
                names_linkerd(word) && (gives_linkerds(word) || is_chart_s(word, line, start + word.len()))
            }
        };
        let end = start + word.len();
        // `apk add linkerd2-controller=26.6.3-r0`.
        let is_asked =
            word.starts_with(PACKAGES) && line.get(end..).is_some_and(|rest| rest.starts_with('='));
        let is_named = || speaks && !before.ends_with('/') && is_release_s(word, line, end);
        let counts: Option<fn(&str) -> bool> = match (is_key, is_asked) {
            (true, _) => Some(|_| true),
            (false, true) => Some(is_edge),
            (false, false) if is_named() => Some(may_be_linkerd),
            (false, false) if names_linkerd(word) => of_chart_meant(word, line, end),
            (false, false) => None,
        };
        if let Some(counts) = counts {
            // A package manager is asked for `linkerd@2.14.10`.
            let signs = if is_key || is_asked { GIVES } else { ASKS };
            let fits = |(span, _): &Number| line.get(span.clone()).is_some_and(counts);
            found.extend(given_to_key(line, end, signs).into_iter().filter(fits));
        }
        start += part.len();
    }
    found
}

/// Tells whether a key that ends at a place of a line is a chart's name: `linkerd-crds: 1.8.0`.
fn is_chart_s(key: &str, line: &str, end: usize) -> bool {
    is_own(&key.replace('_', "-")) && !is_linkerd(key) && !is_image(line, end)
}

/// Returns how the numbers count of the chart whose name a key is but for a letter, which ends at a place of a line.
fn of_chart_meant(key: &str, line: &str, end: usize) -> Option<fn(&str) -> bool> {
    chart_meant(key).filter(|_| !is_image(line, end)).and_then(of_chart)
}

/// Tells whether a key that ends at a place of a line is a name of releases, whatever part or channel it names:
/// `LINKERD_CLI_VERSION=2.14.10`.
fn is_release_s(key: &str, line: &str, end: usize) -> bool {
    is_of_release(key) && !is_image(line, end)
}

/// Tells whether what ends at a place of a line is an image, and what follows its tag: it has no space behind its colon.
fn is_image(line: &str, end: usize) -> bool {
    let behind = line.get(end..).unwrap_or_default();
    behind.strip_prefix(':').is_some_and(|tag| !tag.starts_with([' ', '\t', '=', '-']))
}

/// Reads the versions that a key is given which ends at a place of a line: one, or all of a list.
fn given_to_key(line: &str, end: usize, signs: &str) -> Vec<Number> {
    let given = line.get(end..).unwrap_or_default().trim_start_matches(['"', '\'', ' ', '\t']);
    if !given.starts_with(|c: char| signs.contains(c)) {
        return Vec::new();
    }
    let value = given.trim_start_matches([':', '?', '@']);
    let list = value.trim_start_matches(['=', ' ', '\t']);
    if !list.starts_with(['[', '(']) {
        return number(line, line.len() - value.len()).into_iter().collect();
    }
    // A line may begin another list at each place of one.
    let (start, opened) = (line.len() - list.len(), list.get(1..).unwrap_or_default());
    let end = opened.find(['[', ']', '(', ')']).map_or(line.len(), |end| start + 1 + end);
    values(line.get(..end).unwrap_or_default(), start)
}

/// Reads the version in the name of a package, which labels have too.
fn of_package(word: &str) -> Option<Number> {
    let word = word.trim_end_matches(['.', '-', '+']);
    let word = word.get(..word.len() - extension(word.as_bytes()))?;
    let found = word.match_indices('-').find_map(|(at, dash)| {
        let (name, start) = (word.get(..at)?, at + dash.len());
        let is_name = is_own(name) || name == CLI;
        // Behind a channel stands a release, which is found as such.
        let is_part = || {
            let before = word.get(..start).unwrap_or_default();
            let is_called_so = name.starts_with(PACKAGES) || is_of_release(name);
            is_called_so && !TAGS.iter().any(|tag| before.ends_with(tag))
        };
        let found = (is_name || is_part()).then(|| number(word, start)).flatten();
        found.filter(|(span, _)| is_name || word.get(span.clone()).is_some_and(is_edge))
    });
    found.filter(|(span, _)| word.get(span.clone()) != Some(OF_NO_RELEASE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pins::Reason;

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
            "charts: {linkerd-crds: 2.14.10, linkerd-smi: 0.2.7}",
            "{\"linkerd-viz\": \"v2.14.10\"}",
            "linkerd_viz = \"2.14.10\"",
            "{\"linkerd-control-pane\" : \"2.14.10\"}",
            "linkerd_vesion: 2.14.10",
            "LINKERD_CLI_VERSOIN=2.14.10",
            "{\"config.linkerd.io/proxy-version\": \"2.14.10\"}",
        ] {
            assert_eq!(found(told), [("2.14.10", Some(Reason::Channel))], "{told}");
        }
        for told in [
            "LINKERD_CLI_VERSION=2.14.10",
            "linkerd_helm_version: 2.14.10",
            "linkerd_release ?= 2.14.10",
            "ENV DEFAULT_LINKERD_VERSION=\"v2.14.10\" KUBE_VERSION=2.1.0",
            "{\"linkerd\":\"2.14.10\"}",
            "${LINKERD_STABLE:-2.14.10}",
            "mise use linkerd@2.14.10 helm@2.16.1",
        ] {
            assert_eq!(found(told), [("2.14.10", Some(Reason::Channel))], "{told}");
        }
        assert_eq!(found("linkerd_ver: 26.6.3"), [("26.6.3", None)]);
        for told in [
            "linkerd: [26.5.1, 26.6.3]",
            "linkerd-version: [\"26.5.1\", '26.6.3'] # of 2.14.10",
            "LINKERD_EDGE_VERSIONS=['26.5.1','26.6.3']; KUBE=2.1.0",
            "LINKERD_VERSIONS=(26.5.1 26.6.3); KUBE=(2.1.0)",
        ] {
            assert_eq!(found(told), [("26.5.1", None), ("26.6.3", None)], "{told}");
        }
        assert_eq!(found("linkerd_viz_version: 30.12.11"), [("30.12.11", Some(Reason::Channel))]);
        assert_eq!(found("# linkerd_helm_chart_version: '1.18.0'"), [("1.18.0", Some(Reason::Channel))]);
        for other in [
            "ARG LINKERD_AWAIT_VERSION=0.2.3",
            "linkerdImageVersion = \"v0.1.0\"",
            "linkerd_proxy_init_version: v2.4.1",
            "acme_linkerd_version: 1.0.0",
            "image: linkerd-viz:1.0.0",
            "image: linkerd-vis:2.14.10",
            "linkerd-control-pane: 0.2.7",
            "linkerd_await_vesion: 0.2.3",
            "linkerd2: 0.9.0",
            "linkerd_prometheus_version: 2.48.1",
            "linkerd_helm_version: 3.16.1",
            "LINKERD_CLI_VERSION=0.9.0",
            "image: linkerd:2.14.10",
            "image: acme/linkerd:2.14.10",
            "uses: acme/linkerd@v2.1.0",
            "linkerd-viz@1.0.0",
            "linkerd-crds-acme: 1.0.0",
            "image: acme/linkerd-version:1.0.0",
            "linkerd_version: \"{{ v }}\"",
            "linkerd_version 1.0.0",
            "jaeger_version: 1.57.0",
            "acme.io/proxy-version: 2.14.10",
        ] {
            assert_eq!(found(other), [], "{other}");
        }
    }

    #[test]
    fn a_line_is_read_once_however_long_it_is() {
        for many in [" ", "\"", "--version"] {
            let line = format!("helm install x l/linkerd-crds {}", many.repeat(300_000));
            assert_eq!(found(&line), [], "{many}");
        }
        for many in ["linkerd=[", "linkerd=("] {
            assert_eq!(found(&many.repeat(LINE / many.len())), [], "{many}");
        }
    }

    #[test]
    fn a_name_behind_a_channel_is_given_a_release_of_it() {
        let of = |channel: &str, given: &str| {
            let text =
                format!("{given}\nother=1.0.0\ncurl github.com/linkerd/linkerd2/{channel}-${{version}}\n");
            found(&text).into_iter().map(|(number, why)| (number.to_owned(), why)).collect::<Vec<_>>()
        };
        for given in [
            "version=26.6.3",
            "export version=\"v26.6.3\"",
            "version ?= 26.6.3",
            "version: 26.6.3",
            "version=${version:-26.6.3}",
            "version: [26.6.3, 2.11.1] # since 26.7.1",
            "versions=(2.11.1 26.6.3) # since 26.7.1",
            "versions:\n\n  # of the platform\n  - '26.6.3'\n  - 2.11.1",
            "for version in 2.11.1 26.6.3; do",
        ] {
            assert_eq!(of("edge", given), [("26.6.3".to_owned(), None)], "{given}");
        }
        assert_eq!(of("stable", "version=2.11.1"), [("2.11.1".to_owned(), Some(Reason::Channel))]);
        for (channel, given) in [
            ("stable", "version=0.8.0"),
            ("stable", "version=26.6.3"),
            ("edge", "version=2.11.1"),
            ("edge", "a_version=26.6.3"),
            ("edge", "others:\n- 26.6.3"),
            ("edge", "versions:\n- a: 1\n- 26.6.3"),
            ("edge", "version: 2.11.1 # of 26.6.3"),
        ] {
            assert_eq!(of(channel, given), [], "{channel} {given}");
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
        assert_eq!(
            found("linkerd2-21.9.1.tgz linkerd2-cli-26.1.3-r0"),
            [("21.9.1", None), ("26.1.3-r0", None)]
        );
        for (told, version) in [
            ("https://helm.linkerd.io/edge/linkerd-viz-30.14.11-edge.tgz", "30.14.11-edge"),
            ("(define-public linkerd-crds-1.9.5-edge", "1.9.5-edge"),
            ("linkerd2-controller-26.1.1-r0.apk", "26.1.1-r0"),
            ("RUN apk add linkerd2-metrics-api=26.6.3-r0", "26.6.3-r0"),
            ("tar xf linkerd-cli-26.6.3.tar.gz", "26.6.3"),
            ("/opt/linkerd-26.6.3/bin", "26.6.3"),
        ] {
            assert_eq!(found(told), [(version, None)], "{told}");
        }
        for other in [
            "linkerd2-cli-edge-26.6.3-linux-amd64",
            "linkerd2-proxy-2.224.0.tgz",
            "linkerd2-proxy=2.224.0",
            "image: linkerd2-controller:26.6.3",
            "linkerd-crds-chart-version: linkerd-crds-1.0.0-edge",
            "helm.sh/chart: linkerd-crds-0.0.0-undefined",
            "https://helm.linkerd.io/edge/linkerd-crds-2026.8.2.tgz",
            "linkerd-1.4.6-exec",
            "helm.sh/chart: linkerd-2.1.0",
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
