//! Step 5, pins: numbers that mappings give charts of Linkerd's, such as YAML's, or the arguments and constants of programs.
//!
//! In: a text. Out: the numbers that [each mapping](Mapping) of it gives Linkerd, and keys that are themselves releases.

use std::iter;

use super::{
    entry::{entry, section},
    mapping::{Mapping, opens},
    names::is_of_release,
    number::{Number, is_linkerd, lines, may_be_linkerd, moved, number},
};

/// The deepest mapping that is looked at.
const DEPTH: usize = 64;
/// What begins a mapping within a line, or a call.
const OPENS: [char; 3] = ['(', '[', '{'];
/// What a key says beside Linkerd's name of the releases below it.
const LISTS: [&str; 5] = ["checksums", "cli", "releases", "sha256", "versions"];
/// What stands before the code of a comment.
const COMMENT: [char; 4] = [' ', '\t', '#', '/'];

/// Finds those of mappings of a line for each key, such as YAML's, or the arguments and constants of programs; of those that
/// are comments too.
pub(super) fn in_mappings(text: &str) -> Vec<Number> {
    let mut found = in_lines(text, false);
    found.extend(in_lines(text, true));
    found
}

/// Reads the lines of a text that are comments, or those that are none.
fn in_lines(text: &str, commented: bool) -> Vec<Number> {
    let (mut open, mut found) = (Vec::<Mapping<'_>>::new(), Vec::new());
    let mut of_section = None;
    for (at, line) in lines(text) {
        let is_read = is_comment(line) == commented;
        if let Some(name) = section(line).filter(|_| is_read) {
            end(&mut open, &mut found, |_| true);
            of_section = Some(name);
            continue;
        }
        let entry = entry(line).filter(|(depth, ..)| is_read && *depth <= DEPTH);
        let is_new = entry.is_some() && line.trim_start_matches(COMMENT).starts_with("- ");
        let is_form = line.trim_start().starts_with('(');
        let depth = entry.map_or_else(|| depth_of_rest(line, commented, is_read), |(depth, ..)| depth);
        end(&mut open, &mut found, |last| last.depth > depth || is_new && last.depth == depth);
        let Some((depth, key, behind)) = entry else { continue };
        // No mapping has a key twice: lists of Markdown, and variables of scripts, follow on one another.
        end(&mut open, &mut found, |last| last.depth == depth && last.first == Some(key));
        if open.last().is_none_or(|last| last.depth < depth) {
            let is_item = is_new || is_form || open.last().is_some_and(|last| last.holds_chart);
            let under = open.last().map_or(of_section, Mapping::above);
            open.push(Mapping::new(depth, is_item, under));
        }
        found.extend(of_key(line, depth, key, &open).map(|(span, why)| (moved(span, at), why)));
        if let Some(mapping) = open.last_mut() {
            arguments(line, key, behind).for_each(|(key, value, of)| mapping.read(key, value, at + of));
        }
    }
    end(&mut open, &mut found, |_| true);
    found
}

/// Ends mappings, the last one first, as long as they are over.
fn end<'t>(open: &mut Vec<Mapping<'t>>, found: &mut Vec<Number>, is_over: impl Fn(&Mapping<'t>) -> bool) {
    while let Some(last) = open.pop_if(|last| is_over(last)) {
        if let Some(above) = open.last_mut() {
            above.ends_below(&last);
        }
        found.extend(last.into_versions());
    }
}

/// Reads a key of a line that is itself a release: `2.10.1: ..` below `stable:` below `linkerd_checksums:`. Those within a line
/// are not read.
fn of_key(line: &str, depth: usize, key: &str, open: &[Mapping<'_>]) -> Option<Number> {
    let is_number = key.starts_with(|c: char| c.is_ascii_digit()) && may_be_linkerd(key);
    let above =
        open.iter().rev().filter(|mapping| mapping.depth < depth).filter_map(|mapping| mapping.opened);
    // Below Linkerd's name its channels may stand.
    let mut lists = above.filter(|_| is_number).filter(|key| !matches!(*key, "stable" | "edge"));
    let list = lists.next()?;
    let mut parts = list.split(['_', '-']);
    let is_list = parts.next().is_some_and(is_linkerd) && parts.all(|part| LISTS.contains(&part));
    let is_linkerd_s = is_list || is_of_release(list);
    let (span, why) = number(key, 0).filter(|_| is_linkerd_s)?;
    Some((moved(span, depth + line.get(depth..)?.find(key)?), why))
}

/// Tells how deep a line stands that has no key: what is less deep than a mapping ends it, such as the brace behind a block of
/// HCL. Conditions of templates stand anywhere, and so do comments, but for what is one itself.
fn depth_of_rest(line: &str, commented: bool, is_read: bool) -> usize {
    let rest = line.trim_start();
    let is_anywhere = rest.is_empty() || ["{{", "{%"].iter().any(|sign| rest.starts_with(sign));
    match (commented, is_read) {
        (false, true) if !is_anywhere => line.len() - rest.len(),
        (true, false) => 0,
        _ => usize::MAX,
    }
}

fn is_comment(line: &str) -> bool {
    let start = line.trim_start();
    start.starts_with('#') || start.starts_with("//")
}

/// Lists what a line gives at its key, and at those of further arguments: `chart="linkerd-viz", version="30.12.11",`.
fn arguments<'t>(
    line: &'t str,
    key: &'t str,
    behind: usize,
) -> impl Iterator<Item = (&'t str, &'t str, usize)> {
    let (before, value) = line.split_at_checked(behind).unwrap_or_default();
    // What opens is a mapping of its own.
    let plain = value.split(OPENS).next().filter(|_| !before.contains(OPENS)).unwrap_or_default();
    let mut start = plain.find(',').map_or(plain.len(), |comma| comma + 1);
    // No argument is looked for behind the comma that ends the one before: a line may have a hundred thousand.
    let further = plain.get(start..).unwrap_or_default().split(',').filter_map(move |argument| {
        let at = start;
        start += argument.len() + 1;
        let (_, key, sign) =
            entry(argument).filter(|(.., sign)| argument.as_bytes().get(sign - 1) == Some(&b'='))?;
        Some((key, argument.get(sign..)?, behind + at + sign))
    });
    iter::once((key, value, behind)).chain(further)
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
            "{" | "[" | "(" => {
                let is_open = |behind: usize| line.get(start + behind..at).is_some_and(opens);
                let under = entry.filter(|(.., behind)| is_open(*behind)).map(|(_, key, _)| key);
                open.push(Mapping::new(0, at > first, under));
            }
            _ => found.extend(open.pop().into_iter().flat_map(Mapping::into_versions)),
        }
        start = at + 1;
    }
    found
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
    fn a_module_is_given_a_version_of_its_chart() {
        let of = |source: &str| {
            format!(
                "module \"mesh\" {{\n  source        = \"{source}\"\n  chart_version = \"2.15.4\"\n  \
                 kubernetes_version = \"1.30.1\"\n  trust_manager_chart_version = \"1.0.1\"\n}}\nmodule \"eks\" {{\n  source = \"../eks\"\n  chart_version = \"1.2.3\"\n}}\n"
            )
        };
        for source in ["../../modules/linkerd", "./linkerd-control-plane/"] {
            assert_eq!(found(&of(source)), [("2.15.4", Some(Reason::Channel))], "{source}");
        }
        let viz = of("./linkerd").replace("  chart_version", "  viz_chart_version");
        assert_eq!(found(&viz), [("2.15.4", Some(Reason::Channel))]);
        for source in [
            "git::https://git.test/modules.git//linkerd?ref=v2.1.0",
            "github.com/acme/terraform-helm-linkerd.git",
            "acme/linkerd/helm",
            "registry.acme.test/acme/linkerd-viz/helm",
        ] {
            assert_eq!(found(&of(source)), [("2.15.4", Some(Reason::Channel))], "{source}");
            let own = of(source).replace("  chart_version", "  version");
            assert_eq!(found(&own), [], "one from elsewhere has versions of its own: {source}");
        }
        for source in ["../mesh", "acme/mesh/linkerd", "github.com/linkerd/mesh", "acme/linkerd-await/helm"] {
            assert_eq!(found(&of(source)), [], "{source}");
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
        let ended = "resource \"helm_release\" \"a\" {\n  chart = \"linkerd-crds\"\n}\nmodule \"b\" {\n  version = \"20.8.5\"\n}\n";
        assert_eq!(found(ended), []);
        let template = "chart: linkerd-crds\n{{- if .Values.old }}\nversion: 1.8.0\n{{- end }}\n";
        assert_eq!(found(template), [("1.8.0", Some(Reason::Channel))]);
        let of = |address: &str| found(&format!("chart:\n  repository: {address}\n  version: 2.7.0\n")).len();
        let addresses = ["https://helm.linkerd.io/stable", "'https://helm.linkerd.io/stable/'"];
        assert_eq!(addresses.map(of), [1, 1], "Flux's first HelmRelease need not name the chart");
        assert_eq!(of("https://helm.linkerd.io.example.com/stable"), 0);
    }

    #[test]
    fn a_mapping_says_otherwise_whose_version_it_has() {
        for told in [
            "vizChart = \"linkerd-viz\"\nvizVersion = \"1.8.0\"\nkubeVersion = \"1.30.0\"\n",
            "* Chart: `linkerd-crds`\n* Version: `1.8.0`\n\n* Chart: `cert-manager`\n* Version: `v1.7.1`\n",
            "helmChart:\n  name: linkerd-crds\n  version: 1.8.0\nimage:\n  name: linkerd-crds\n  version: 1.0.0\n",
            "a: b\n#  - chart: linkerd-crds\n#    version: 1.8.0\nversion: 1.0.0\n",
            "Release('viz',\n  chart='linkerd-viz', version='1.8.0',\n  repo='https://acme.example')\n",
        ] {
            assert_eq!(found(told), [("1.8.0", Some(Reason::Channel))], "{told}");
        }
        for told in [
            "- name: Linkerd\n  version: 2.14.3\n- name: cert-manager\n  version: 2.1.0\n",
            "package:\n  name: linkerd2\n  version: 2.14.3\n",
            "<metadata>\n  <id>Linkerd2</id>\n  <version>2.14.3</version>\n</metadata>\n<version>2.1.0</version>\n",
            "apiVersion: v1\nappVersion: stable-2.14.3\nname: linkerd2\nversion: 2.14.3\n",
            "apiVersion: v2\nname: linkerd-viz\nversion: 0.1.0\nappVersion: \"2.14.3\"\n",
            "apiVersion: v2\nhome: https://linkerd.io\nname: linkerd-crds\nversion: 2.14.3\n",
            "apiVersion: v1\nversion: 2.14.3\nname: linkerd2\n",
            "(define-public linkerd\n  (package\n    (name \"linkerd\")\n    (version \"2.14.3\")))\n(define-public hello\n  \
             (package\n    (name \"hello\")\n    (version \"2.12.1\")))\n",
            "(define-public linkerd-stable\n  (package\n    (inherit linkerd)\n    (version \"2.14.3\")))\n",
            "(package\n  (name \"linkerd-viz\")\n  (version \"2.14.3\"))\n",
            "class LinkerdStable < Formula\n  url \"https://acme.example/linkerd\"\n  version \"2.14.3\"\n",
            "pkgname=linkerd-bin\npkgver=2.14.3\npkgrel=1\nsource=(\"a\")\n",
            "pkgbase = linkerd-bin\n\tpkgver = 2.14.3\n\tsource = a\n\npkgbase = mesh\n\tpkgver = 2.1.0\n",
            "- {component: linkerd, version: 2.14.3}\n- {component: istio, version: 2.1.0}\n",
            "Name: linkerd\nVersion: 2.14.3\nSource0: a.tar.gz\n",
        ] {
            assert_eq!(found(told), [("2.14.3", Some(Reason::Channel))], "{told}");
        }
        for other in [
            "apiVersion: v1\nappVersion: stable-2.14.3\nname: linkerd2\nversion: 2.0.1\n",
            "apiVersion: v2\nname: linkerd\nversion: 2.0.1\n",
            "apiVersion: v2\nname: mesh\nversion: 2.0.1\nappVersion: 2.0.1\n",
            "name: linkerd\nversion: 0.1.0\n",
            "name: linkerd-await\nversion: 2.0.1\n",
            "home: https://linkerd.io\nname: linkerd-viz\nversion: 0.1.0\n",
            "home: https://linkerd.io\nname: mesh\nversion: 2.0.1\n",
            "home: https://linkerd.io.acme.example\nname: linkerd-viz\nversion: 2.0.1\n",
            "name: linkerd-viz\nversion: 2.0.1\n",
            "apiVersion: v2\nname: linkerd-viz\nversion: 0.1.0\n",
            "apiVersion: v2\nname: linkerd-viz\nversion: 3.2.1\n",
            "apiVersion: v2\nname: linkerd-crds\nversion: 1.0.0\n",
            "apiVersion: v2\nhome: https://acme.example\nname: linkerd-viz\nversion: 2.0.1\n",
            "apiVersion: acme.example/v1\nname: linkerd-viz\nversion: 2.0.1\n",
            "(define-public linkerd-await\n  (package\n    (version \"2.1.0\")))\n",
            "class Mesh < Formula\n  desc \"linkerd\"\n  version \"2.1.0\"\n",
            "pkgname=linkerd-await\npkgver=2.1.0\n",
            "# chart: linkerd-crds\n\n# version: 1.0.0\n",
            "install('linkerd-crds', a('b', version='1.0.0'),\n",
            "{ id = 1, chart = \"linkerd-crds\" },\n{ id = 2, chart = \"istiod\", version = \"1.22.0\" },\n",
        ] {
            assert_eq!(found(other), [], "{other}");
        }
        assert_eq!(found("package:\n  name: linkerd\n  version: 26.6.3\n"), [("26.6.3", None)]);
        let app = "name: linkerd\nversion: 0.1.0\nappVersion: 26.6.3\n";
        assert_eq!(found(app), [("26.6.3", Some(Reason::NotDeployed))]);
        let copy = "name: linkerd-crds\nversion: 1.9.5-edge\nhome: https://linkerd.io/\n";
        assert_eq!(found(copy), [("1.9.5-edge", None)]);
    }

    #[test]
    fn a_copy_without_a_home_counts_as_its_chart_did() {
        let own = "apiVersion: v2\nname: linkerd-crds\nversion: 1.4.0\n";
        let taken = "dependencies:\n- name: linkerd-crds\n  version: 1.8.0\n  repository: ";
        let (crds, taken_crds) = (("1.4.0", Some(Reason::Channel)), ("1.8.0", Some(Reason::Channel)));
        assert_eq!(found(own), [crds]);
        let app = format!("{own}appVersion: stable-2.12.2\n");
        assert_eq!(found(&app), [crds], "it need not count as the release that it brings");
        let here = format!("{taken}file://../linkerd-crds\n");
        assert_eq!(found(&here), [taken_crds]);
        assert_eq!(found(&here.replace("1.8.0", "19.2.2")), [], "that chart may be somebody's own");
        assert_eq!(found(&format!("{here}{own}")), [taken_crds, crds]);
        for repository in ["https://helm.linkerd.io/stable", "oci://acme.example/charts", "'@mesh'"] {
            let around = format!("{own}{taken}{repository}\n");
            assert_eq!(found(&around), [taken_crds], "{repository}");
            assert_eq!(found(&format!("{around}type: application\n")), [taken_crds], "{repository}");
        }
    }

    #[test]
    fn a_key_says_whose_versions_its_mapping_has() {
        for told in [
            "mesh:\n  linkerd: # of the platform\n    enabled: true\n    version: \"2.14.3\"\n",
            "linkerd: {enabled: true, version: 2.14.3}\n",
            "{\"linkerd\": {\"version\": \"2.14.3\"}}\n",
            "linkerd = {\n  version = \"2.14.3\"\n}\n",
            "linkerd:\n  chartVersion: 2.14.3\n  kubeVersion: 1.30.0\n",
            "linkerd_crds:\n  version: 2.14.3\n",
            "linkerd:\n  stable: 2.14.3\n  grafana: 2.1.0\n",
            "linkerd-cli:\n  version: 2.14.3\n",
            "linkerd:\n  cli:\n    version: 2.14.3\n  metrics:\n    version: 2.1.0\n",
            "LINKERD = {\"version\": \"2.14.3\", \"chart\": \"1.16.3\"}\n",
            "- uses: acme/setup-linkerd-action@v2.1.0\n  with:\n    version: 2.14.3\n- uses: acme/setup-helm@v1\n  with:\n    version: 2.1.0\n",
            "kind: Linkerd\nmetadata:\n  name: mesh\nspec:\n  version: 2.14.3\n---\nkind: Mesh\nspec:\n  version: 2.1.0\n",
            "variable \"linkerd_version\" {\n  type    = string\n  default = \"2.14.3\"\n}\nvariable \"kube_version\" {\n  default = \"2.1.0\"\n}\n",
            "variable \"linkerd_version\" { default = \"2.14.3\" }\n",
            "# variable \"linkerd_chart_version\" {\n#   default = \"2.14.3\"\n# }\n",
            "{\"variable\": {\"linkerd_version\": {\"default\": \"2.14.3\"}}}\n",
            "Parameters:\n  LinkerdVersion:\n    Type: String\n    Default: 2.14.3\n",
            "[linkerd]\nversion = 2.14.3\nkube = 2.1.0\n\n[kube]\nversion = 2.1.0\n",
            "[[tools.\"linkerd\"]]\nversion = \"2.14.3\"\n",
            "[mesh]\nname = linkerd\nversion = 2.14.3\n[mesh.kube]\nversion = 2.1.0\n",
        ] {
            assert_eq!(found(told), [("2.14.3", Some(Reason::Channel))], "{told}");
        }
        for told in [
            "linkerd_checksums:\n  stable:\n    '2.10.1':\n      linux: sha256:1\n    '2.10.2':\n      linux: sha256:2\n",
            "linkerd_cli_sha256:\n  2.10.1: abc\n  2.10.2: def\n",
            "linkerd-version:\n- \"2.10.1\"\n- 2.10.2\nkube-version:\n- 2.1.0\n",
        ] {
            let both = [("2.10.1", Some(Reason::Channel)), ("2.10.2", Some(Reason::Channel))];
            assert_eq!(found(told), both, "{told}");
        }
        assert_eq!(found("linkerd:\n  version: 26.6.3\n"), [("26.6.3", None)]);
        let chart = "variable \"linkerd_chart_version\" {\n  default = \"1.16.11\"\n}\n";
        assert_eq!(found(chart), [("1.16.11", Some(Reason::Channel))]);
        for other in [
            "linkerd:\n  version: 0.9.0\n",
            "linkerd:\n  source: acme/linkerd\n  version: 2.1.0\n",
            "- src: https://github.com/acme/ansible-linkerd\n  name: linkerd\n  version: 2.1.0\n",
            "linkerd:\n  proxy:\n    version: 2.1.0\n",
            "linkerd-await:\n  version: 2.1.0\n",
            "linkerd: true\nversion: 2.1.0\n",
            "linkerd = acme({version: 2.1.0})\n",
            "linkerd_checksums:\n  proxy:\n    2.10.1: abc\n",
            "linkerd_await_checksums:\n  2.10.1: abc\n",
            "linkerd_checksums: {}\nchecksums:\n  2.10.1: abc\n",
            "variable \"linkerd_await_version\" {\n  default = \"2.1.0\"\n}\n",
            "[mesh]\nname = linkerd\n[kube]\nversion = 2.1.0\n",
            "[linkerd]\n[kube]\nversion = 2.1.0\n",
            "[linkerd]\nawait_version = 2.1.0\n",
            "variable \"linkerd\" {\n  default = true\n}\nvariable \"mesh\" {\n  default = \"2.1.0\"\n}\n",
        ] {
            assert_eq!(found(other), [], "{other}");
        }
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
        assert_eq!(found(&format!("linkerd: {}", ",".repeat(1_000_000))), [], "each argument is read once");
    }
}
