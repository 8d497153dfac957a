//! `uplinker init --gates`: what Flux or Argo CD need so that they say whether a release works.
//!
//! In: who applies Linkerd, and where the repository is. Out: manifests, and what is to be told. Pure.

use crate::pins::Applier;

const FLUX: &str = include_str!("../../../templates/init/gates-flux.yaml");
const ARGO: &str = include_str!("../../../templates/init/gates-argo.yaml");
/// Where the address of the repository is not known, or is none of GitHub's form.
const ADDRESS: &str = "https://github.com/OWNER/REPOSITORY";

/// What is written, and what is told beside it.
pub(super) struct Gates {
    /// YAML; empty where nobody applies Linkerd.
    pub manifests: String,
    /// One line each.
    pub notes: Vec<String>,
}

// === impl Gates ===

impl Gates {
    /// Writes what the repository lacks so that those who apply Linkerd report to it.
    pub fn of(appliers: &[Applier], origin: Option<&str>) -> Self {
        // Another name is none that Kubernetes takes.
        let named = appliers.iter().filter(|applier| is_name(&applier.name));
        let (flux, argo): (Vec<&Applier>, Vec<&Applier>) = named.partition(|applier| applier.flux);
        let mut parts = Vec::new();
        if let Some(first) = flux.first() {
            let own = namespace(first, "flux-system");
            let sources: String = flux.iter().map(|applier| source(applier, own)).collect();
            let text = FLUX.replace("<namespace>", own).replace("<address>", &address(origin));
            parts.push(text.replace("# <sources>\n", &sources));
        }
        if let Some(first) = argo.first() {
            let listed: String = argo.iter().map(|applier| format!("#   {}\n", applier.name)).collect();
            let text = ARGO.replace("<namespace>", namespace(first, "argocd"));
            parts.push(text.replace("# <applications>\n", &listed));
        }
        Self { manifests: parts.join("---\n"), notes: notes(&flux, &argo) }
    }
}

fn notes(flux: &[&Applier], argo: &[&Applier]) -> Vec<String> {
    let lacking = |applier: &&&Applier| !applier.waits;
    let mut notes: Vec<String> = flux
        .iter()
        .filter(lacking)
        .map(|Applier { name, path, line, .. }| {
            format!(
                "{path}:{line}: Kustomization `{name}` has neither `wait: true` nor `healthChecks`, so its success does not \
                 say that Linkerd works"
            )
        })
        .collect();
    let of_flux = flux.iter().map(|applier| format!("kustomization/{}/*", applier.name));
    let of_argo = argo.iter().map(|applier| format!("continuous-delivery/{}", applier.name));
    let mut contexts: Vec<String> = of_flux.chain(of_argo).collect();
    contexts.dedup();
    let gates = |context: &String| format!("gates: {{active: [\"{context}\"]}}");
    if let [context] = contexts.as_slice() {
        notes.push(format!("in uplinker.yaml: {}", gates(context)));
        return notes;
    }
    notes.push(
        "in uplinker.yaml, in each target the names of those that apply its files, since all of a list have to speak, and none \
         does of a commit that changes nothing for it:"
            .to_owned(),
    );
    notes.extend(contexts.iter().map(|context| format!("  {}", gates(context))));
    notes
}

fn source(applier: &Applier, own: &str) -> String {
    let mut text = format!("    - kind: Kustomization\n      name: {}\n", applier.name);
    let other = namespace(applier, own);
    if other != own {
        text.push_str(&format!("      namespace: {other}\n"));
    }
    text
}

fn namespace<'a>(applier: &'a Applier, default: &'a str) -> &'a str {
    applier.namespace.as_deref().filter(|name| is_name(name)).unwrap_or(default)
}

fn address(origin: Option<&str>) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '/' | '.' | '-' | '_');
    let whole =
        origin.and_then(|origin| match origin.strip_prefix("git@").and_then(|rest| rest.split_once(':')) {
            Some((host, path)) => Some(format!("https://{host}/{path}")),
            None => origin.starts_with("https://").then(|| origin.to_owned()),
        });
    let whole = whole.filter(|address| address.chars().all(plain));
    whole.map_or_else(|| ADDRESS.to_owned(), |address| address.trim_end_matches(".git").to_owned())
}

/// Tells whether Kubernetes takes a text as a name.
fn is_name(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
    !text.is_empty() && text.len() <= 253 && text.chars().all(inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::RepoPath;

    fn applier(name: &str, flux: bool, waits: bool) -> Applier {
        Applier {
            name: name.to_owned(),
            namespace: Some(if flux { "flux-system" } else { "argocd" }.to_owned()),
            path: RepoPath::new("a.yaml").expect("a path"),
            line: 3,
            flux,
            prunes: true,
            replaces: false,
            waits,
            revision: None,
        }
    }

    #[test]
    fn each_deployer_gets_what_makes_it_speak() {
        let all = [applier("linkerd", true, false), applier("viz", true, true), applier("mesh", false, true)];
        let gates = Gates::of(&all, Some("git@github.com:acme/mesh-config.git"));
        let documents: Vec<serde_yaml::Value> = serde_yaml::Deserializer::from_str(&gates.manifests)
            .map(|document| serde::Deserialize::deserialize(document).expect("YAML"))
            .collect();
        let kinds: Vec<&str> = documents.iter().filter_map(|d| d["kind"].as_str()).collect();
        assert_eq!(kinds, ["Provider", "Alert", "ConfigMap"]);
        assert_eq!(documents[0]["spec"]["address"], "https://github.com/acme/mesh-config");
        let sources = documents[1]["spec"]["eventSources"].as_sequence().expect("sources");
        assert_eq!(sources.len(), 2);
        assert!(gates.manifests.ends_with("#   mesh\n"));
        assert_eq!(gates.notes.len(), 5, "{:?}", gates.notes);
        assert!(gates.notes[0].starts_with("a.yaml:3: Kustomization `linkerd` has neither"));
        let each = ["kustomization/linkerd/*", "kustomization/viz/*", "continuous-delivery/mesh"]
            .map(|context| format!("  gates: {{active: [\"{context}\"]}}"));
        assert_eq!(gates.notes[2..], each);
    }

    #[test]
    fn what_one_applies_has_one_line_for_the_configuration() {
        let gates = Gates::of(&[applier("linkerd", true, true)], None);
        let [note] = gates.notes.as_slice() else { panic!("{:?}", gates.notes) };
        let text = note.strip_prefix("in uplinker.yaml: ").expect("a line for the configuration");
        let config = crate::config::parse("uplinker.yaml", text).expect("sound");
        assert_eq!(config.targets[0].gates.active.len(), 1);
    }

    #[test]
    fn the_page_shows_what_is_printed() {
        let page = include_str!("../../../docs/promotion.md");
        let printed = |applier| Gates::of(&[applier], Some("https://github.com/acme/mesh-config")).manifests;
        for text in [printed(applier("linkerd", true, true)), printed(applier("linkerd", false, true))] {
            let manifests: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
            assert!(page.contains(&manifests.join("\n")), "{text}");
        }
    }

    #[test]
    fn what_a_repository_says_of_itself_makes_no_yaml() {
        let hostile = applier("x\n  evil: true", true, true);
        let fine = applier("mesh", true, true);
        let gates = Gates::of(&[hostile, fine], Some("https://h/a\"b"));
        assert!(
            !gates.manifests.contains("evil") && gates.manifests.contains(ADDRESS),
            "{}",
            gates.manifests
        );
    }

    #[test]
    fn nobody_who_applies_linkerd_gets_nothing() {
        assert!(Gates::of(&[], None).manifests.is_empty());
    }
}
