//! Step 5, pins: what commands of Helm's and Argo CD's give a chart of Linkerd's as a version: `helm install x l/linkerd-crds
//! --version 1.8.0`, `argocd app create x --helm-chart linkerd-crds --revision 1.8.0`.
//!
//! In: a text. Out: the numbers behind their flags, where the chart is Linkerd's. What a command installs it names behind a
//! repository; a name by itself may be that of the release, or of the namespace that it goes to.

use super::number::{Number, is_chart, moved, number, words};

/// How Helm's command line gives a version.
const FLAG: &str = "--version";
/// How Argo CD's gives that of the chart which another flag names: by itself it may be that of a repository.
const REVISION: &str = "--revision";
/// The flag that names the chart.
const CHART: &str = "--helm-chart";
/// What Helm is told to do with a version of a chart.
const VERBS: [&str; 5] = ["install", "upgrade", "template", "pull", "fetch"];
/// What stands between commands of one line.
const BETWEEN: [char; 3] = ['&', '|', ';'];
/// Flags whose value may be called as a chart is, and is none.
const OF_OTHERS: [&str; 10] = [
    "-n",
    "--namespace",
    "-f",
    "--values",
    "--set",
    "--set-string",
    "--set-file",
    "--kube-context",
    "--kubeconfig",
    "--name",
];

/// Finds those of commands, which may go on over several lines, or stand there as a list of their arguments.
pub(super) fn in_commands(text: &str) -> Vec<Number> {
    let mut found = Vec::new();
    let (mut start, mut end) = (0, 0);
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        end += line.len();
        let is_one = |next: &&str| line.trim_end().ends_with('\\') || is_argument(line) && is_argument(next);
        if lines.peek().is_some_and(is_one) {
            continue;
        }
        let of_line = of_line(text.get(start..end).unwrap_or_default());
        found.extend(of_line.into_iter().map(|(span, why)| (moved(span, start), why)));
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

/// Finds those of a line of commands.
fn of_line(text: &str) -> Vec<Number> {
    if ![FLAG, REVISION].iter().any(|flag| text.contains(flag)) {
        return Vec::new();
    }
    // A command may name its chart by a variable, which another one of the line fills.
    let names_one = arguments(text).any(is_chart);
    let (mut found, mut start) = (Vec::new(), 0);
    for command in text.split_inclusive(BETWEEN) {
        let flag = match argo_chart(command) {
            Some(chart) => is_chart(chart).then_some(REVISION),
            None => installs_linkerds(command).unwrap_or(names_one).then_some(FLAG),
        };
        if let Some(flag) = flag {
            let flags = command.match_indices(flag).map(|(at, flag)| start + at + flag.len());
            found.extend(flags.filter_map(|at| number(text, at)));
        }
        start += command.len();
    }
    found
}

/// Returns the chart that a command of Argo CD's names.
fn argo_chart(command: &str) -> Option<&str> {
    words(command).skip_while(|word| *word != CHART).nth(1)
}

/// Tells whether the chart that a command names is one of Linkerd's, where it names one behind a repository, or is one of Helm's
/// as a whole that names all it has by itself.
fn installs_linkerds(command: &str) -> Option<bool> {
    let mut charts = arguments(command).filter(|word| is_behind_repository(word)).peekable();
    if charts.peek().is_some() {
        return Some(charts.any(is_chart));
    }
    let is_whole = words(command).any(|word| VERBS.contains(&word)) && !command.contains(['$', '{', '%']);
    is_whole.then(|| arguments(command).any(is_chart))
}

/// Lists the words of a text that may name a chart.
fn arguments(text: &str) -> impl Iterator<Item = &str> {
    let mut is_value = false;
    words(text).filter(|word| *word != "-").filter(move |word| {
        let is_argument = !is_value;
        is_value = OF_OTHERS.contains(word);
        is_argument
    })
}

/// Tells whether a word names a chart behind its repository: `grafana/grafana`, `oci://ghcr.io/acme/mesh`. What has a dot, or
/// more folders, is a file; Helm itself is called so where it lies in a folder, or in an image.
fn is_behind_repository(word: &str) -> bool {
    let is_name = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
    };
    let (repository, name) = word.rsplit_once('/').unwrap_or_default();
    let is_in_one = repository.starts_with("oci://") || is_name(repository);
    !repository.is_empty() && (is_chart(word) || is_in_one && is_name(name) && name != "helm")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        in_commands(text).into_iter().map(|(span, _)| &text[span]).collect()
    }

    #[test]
    fn argo_cd_is_given_the_version_of_the_chart_that_a_flag_names() {
        for told in [
            "argocd app create mesh --repo https://helm.linkerd.io/stable --helm-chart linkerd-crds --revision 1.8.0",
            "argocd app create mesh \\\n  --helm-chart=linkerd-crds \\\n  --revision=1.8.0 \\\n  --dest-namespace linkerd\n",
        ] {
            assert_eq!(found(told), ["1.8.0"], "{told}");
        }
        for other in [
            "argocd app create linkerd-crds --repo https://git.acme.example/linkerd-crds --path . --revision 1.8.0",
            "argocd app create linkerd-viz --helm-chart grafana --revision 1.8.0",
            "helm rollback linkerd-crds --revision 1.8.0",
        ] {
            assert_eq!(found(other), [""; 0], "{other}");
        }
    }

    #[test]
    fn a_command_gives_a_version_to_the_chart_that_it_installs() {
        for told in [
            "helm install linkerd-viz linkerd/linkerd-viz -n linkerd-viz --version 1.8.0",
            "helm install linkerd-viz linkerd-viz --repo https://helm.linkerd.io/stable --version 1.8.0",
            "helm upgrade -i linkerd-crds $REPO/linkerd-crds --set-file a=ca.crt --version 1.8.0",
            "helm upgrade -i linkerd-crds oci://${HOST}/mesh/linkerd-crds --version 1.8.0",
            "helm upgrade -i linkerd-viz \"$chart\" -f values/viz.yaml --version 1.8.0",
            "bin/helm install linkerd-crds linkerd-crds --version 1.8.0",
            "for c in linkerd-crds linkerd-viz; do helm install $c linkerd/$c --version 1.8.0; done",
            "helm install c jetstack/cert-manager --version 2.1.0 && helm install l l/linkerd-crds --version 1.8.0",
            "helm template linkerd-crds l/linkerd-crds --set 'a=b;c' --version 1.8.0 | kubectl apply -f -",
        ] {
            assert_eq!(found(told), ["1.8.0"], "{told}");
        }
        for other in [
            "helm install linkerd-dash grafana/grafana --version 7.3.9 -n linkerd-viz",
            "helm install linkerd-viz grafana/grafana --version 7.3.9",
            "helm upgrade -i kube-prom kube-prometheus-stack --version 58.1.0 --namespace=linkerd-viz",
            "run('install', 'prom', 'prometheus', '--namespace', 'linkerd-viz', '--version', '25.8.0')",
            "- --namespace\n- linkerd-viz\n- --version\n- 25.8.0\n",
            "For linkerd-viz: `helm install grafana grafana/grafana --version 8.15.0`.",
            "helm install j jaegertracing/jaeger --version 3.4.1 -n linkerd-jaeger",
            "helm install x oci://ghcr.io/acme/mesh --version 1.8.0 -n linkerd-viz",
            "helm install linkerd-crds linkerd-crds --repo a && helm install prom prometheus --repo b --version 25.8.0",
            "helm install linkerd-crds l/linkerd-crds && \\\n  helm upgrade -i prom ./charts/prom --version 25.8.0",
        ] {
            assert_eq!(found(other), [""; 0], "{other}");
        }
    }
}
