//! Step 5, pins: what Renovate proposes of the pins of a repository.
//!
//! In: the text of its configuration, and the pins. Out: whether it may propose any. What its presets say is not known.
//! Sources: docs.renovatebot.com (`enabledManagers`, `packageRules`, `ignoreDeps`), and the default file patterns of its
//! managers (`lib/modules/manager/*/index.ts`): Argo CD's and Kubernetes' have none.

use crate::{
    deploy::expression::expression,
    pins::{Pin, PinKind},
    repo::RepoPath,
    yaml::{Node, Stream},
};

/// What reads a pin for Renovate.
struct Manager {
    name: &'static str,
    /// Whether its default patterns name the file.
    by_default: bool,
}

/// Tells whether a configuration covers pins; one that cannot be read says nothing.
pub(super) fn covers(text: &str, pins: &[Pin]) -> bool {
    let Ok(stream) = Stream::parse(&plain(text)) else { return false };
    let Some(config) = stream.roots().next() else { return false };
    !is_off(config) && pins.iter().filter(|pin| pin.stays.is_none()).any(|pin| covers_pin(config, pin))
}

fn covers_pin(config: Node<'_>, pin: &Pin) -> bool {
    let Some(manager) = manager(pin) else { return false };
    let own = config.get(manager.name);
    let mut enabled = texts(config, "enabledManagers").peekable();
    if enabled.peek().is_some() && !enabled.any(|name| name == manager.name) || own.is_some_and(is_off) {
        return false;
    }
    let is_named = |own: Node<'_>| {
        let path = pin.path.as_str();
        // Others than regular expressions are globs, which are taken to fit.
        let fits_pattern = |pattern: &str| !pattern.starts_with('/') || fits(pattern, path, false);
        texts(own, "managerFilePatterns").any(fits_pattern)
            || texts(own, "fileMatch").any(|pattern| fits(pattern, path, false))
    };
    if !manager.by_default && !own.is_some_and(is_named) {
        return false;
    }
    let chart = pin.chart.as_deref().unwrap_or("linkerd");
    let rules = config.get("packageRules").into_iter().flat_map(Node::items);
    // The last rule that says so counts.
    let said = rules.filter(|rule| rule.get("enabled").is_some() && applies(*rule, &manager, chart)).last();
    !said.is_some_and(is_off) && !texts(config, "ignoreDeps").any(|name| name == chart)
}

/// Tells whether a rule is for a chart; one that is for some updates of it alone is not.
fn applies(rule: Node<'_>, manager: &Manager, chart: &str) -> bool {
    let keys = rule.entries().filter_map(|(key, _)| key.as_str()).filter(|key| key.starts_with("match"));
    keys.into_iter().all(|key| {
        let mut of = texts(rule, key);
        match key {
            "matchManagers" => of.any(|name| name == manager.name),
            "matchDatasources" => of.any(|name| name == "helm"),
            "matchPackageNames" | "matchDepNames" => is_among(of, chart),
            "matchPackagePatterns" | "matchDepPatterns" => of.any(|pattern| fits(pattern, chart, false)),
            "matchPackagePrefixes" | "matchDepPrefixes" => of.any(|prefix| chart.starts_with(prefix)),
            "matchFileNames" | "matchPaths" => true,
            _ => false,
        }
    })
}

/// Tells whether a name is among some: those with `!` take out again.
fn is_among<'n>(names: impl Iterator<Item = &'n str>, name: &str) -> bool {
    let (not, those): (Vec<&str>, Vec<&str>) = names.partition(|name| name.starts_with('!'));
    let is_out = not.iter().any(|not| fits(not.trim_start_matches('!'), name, true));
    !is_out && (those.is_empty() || those.iter().any(|one| fits(one, name, true)))
}

/// Tells whether a pattern of Renovate's fits a text: `/regex/`, or a name with `*`. One that is not understood fits.
fn fits(pattern: &str, text: &str, is_name: bool) -> bool {
    let is_regex = |inner: &str| expression(inner).is_none_or(|regex| regex.is_match(text));
    match pattern.strip_prefix('/').and_then(|rest| rest.rsplit_once('/')) {
        Some((inner, "i")) => is_regex(&format!("(?i){inner}")),
        Some((inner, _)) => is_regex(inner),
        None if !is_name => is_regex(pattern),
        None => match pattern.split_once('*') {
            Some((before, behind)) => text.starts_with(before) && text.ends_with(behind.trim_matches('*')),
            None => text == pattern,
        },
    }
}

fn manager(pin: &Pin) -> Option<Manager> {
    let (path, name) = (pin.path.as_str(), pin.path.name());
    let (name, by_default) = match pin.kind {
        PinKind::FluxHelmRelease | PinKind::FluxHelmChart | PinKind::FluxOciRepository => {
            ("flux", path.contains("flux-system/") && is_yaml(name, "gotk-components"))
        }
        PinKind::ArgoApplication | PinKind::ArgoApplicationset => ("argocd", false),
        PinKind::Image => ("kubernetes", false),
        PinKind::KustomizeHelmChart | PinKind::KustomizeImage => {
            ("kustomize", is_yaml(name, "kustomization"))
        }
        PinKind::ChartDependency => ("helmv3", is_yaml(name, "Chart")),
        PinKind::Helmfile => ("helmfile", is_helmfile(&pin.path)),
        PinKind::Terraform => ("terraform", [".tf", ".tofu"].iter().any(|end| name.ends_with(end))),
        PinKind::Fleet => ("fleet", is_yaml(name, "fleet")),
        _ => return None,
    };
    Some(Manager { name, by_default })
}

fn is_helmfile(path: &RepoPath) -> bool {
    let name = path.name().strip_suffix(".gotmpl").unwrap_or(path.name());
    let is_of_folder = || path.folder().split('/').any(|folder| folder == "helmfile.d");
    is_yaml(name, "helmfile") || is_of_folder() && [".yaml", ".yml"].iter().any(|end| name.ends_with(end))
}

fn is_yaml(name: &str, stem: &str) -> bool {
    name.strip_prefix(stem).is_some_and(|end| matches!(end, ".yaml" | ".yml"))
}

fn is_off(node: Node<'_>) -> bool {
    node.text(&["enabled"]) == Some("false")
}

fn texts<'n>(node: Node<'n>, key: &str) -> impl Iterator<Item = &'n str> {
    node.get(key).into_iter().flat_map(Node::items).filter_map(Node::as_str)
}

/// Takes out of JSON5 what YAML lacks: its comments, and tabs.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut quote) = (text, None);
    while let Some(c) = rest.chars().next() {
        let length = match (quote, c) {
            (Some(_), '\\') => 1 + rest.chars().nth(1).map_or(0, char::len_utf8),
            (None, '/') if rest.starts_with("//") => {
                rest = rest.get(rest.find('\n').unwrap_or(rest.len())..).unwrap_or_default();
                continue;
            }
            (None, '/') if rest.starts_with("/*") => {
                rest = rest.split_once("*/").map_or("", |(_, behind)| behind);
                continue;
            }
            (None, '\t') => {
                out.push(' ');
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            (Some(open), c) if c == open => {
                quote = None;
                c.len_utf8()
            }
            (None, '"' | '\'') => {
                quote = Some(c);
                1
            }
            _ => c.len_utf8(),
        };
        let (now, behind) = rest.split_at_checked(length).unwrap_or((rest, ""));
        out.push_str(now);
        rest = behind;
    }
    out
}
