//! Step 5, pins: what a file is by its name.
//!
//! In: a path. Out: which language it is in, or who reads it.

use crate::{
    deploy::helmfile::{is_helmfile, is_lock},
    pins::{SkipReason, is_kustomization},
    repo::RepoPath,
};

/// What a file is by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pins) enum Class {
    /// YAML or JSON that a deployer may read.
    Manifest,
    /// Something that runs: a Makefile, a shell script, a CI pipeline.
    Script,
    /// Text for people.
    Prose,
    /// HCL of Terraform, which is read with all that belongs to it.
    Terraform,
    /// A helmfile, which is read with all that belongs to it.
    Helmfile,
    /// A language that is named and not read.
    Foreign(SkipReason),
    /// Anything else.
    Unknown,
}

// === impl Class ===

impl Class {
    /// Tells whether what such a file says is told of it alone, and not of what a deployer makes of it with others.
    pub fn is_told_alone(self) -> bool {
        matches!(self, Self::Script | Self::Prose | Self::Foreign(_) | Self::Unknown)
    }
}

/// Judges a file by its name.
pub(in crate::pins) fn class(path: &RepoPath) -> Class {
    let (whole, name) = (path.as_str(), path.name());
    let lower = name.to_ascii_lowercase();
    let ending = lower.rsplit_once('.').map_or("", |(_, ending)| ending);
    if is_pipeline(whole) {
        return Class::Script;
    }
    if is_helmfile(path) || is_lock(path) {
        return Class::Helmfile;
    }
    if is_kustomization(name) || matches!(name, "Chart.lock" | "requirements.lock" | "Kptfile") {
        return Class::Manifest;
    }
    let script =
        ["makefile", "gnumakefile", "justfile", "jenkinsfile", "tiltfile", "earthfile", "vagrantfile"];
    if script.contains(&lower.as_str()) || lower.starts_with("dockerfile") || lower.starts_with("makefile") {
        return Class::Script;
    }
    match ending {
        // Modules in JSON are Terraform's too, and are not followed.
        "json" if [".tf.json", ".tofu.json"].iter().any(|end| lower.ends_with(end)) => {
            Class::Foreign(SkipReason::UnknownShape)
        }
        "yaml" | "yml" | "json" => Class::Manifest,
        // What Renovate may do is no pin, in whichever of its forms it is told.
        "json5" if ["renovate.json5", ".renovaterc.json5"].contains(&name) => Class::Unknown,
        "tf" | "tofu" | "tfvars" => Class::Terraform,
        // The lock of a module has the versions of its providers.
        "hcl" if name == ".terraform.lock.hcl" => Class::Unknown,
        "hcl" => Class::Foreign(SkipReason::UnknownShape),
        "tpl" | "gotmpl" | "tmpl" => Class::Foreign(SkipReason::HelmTemplate),
        "jsonnet" | "libsonnet" | "cue" | "k" | "dhall" | "star" | "j2" | "json5" | "toml" | "ytt"
        | "nix" | "ts" | "pkl" | "bicep" => Class::Foreign(SkipReason::UnknownShape),
        "md" | "mdx" | "markdown" | "txt" | "rst" | "adoc" | "html" => Class::Prose,
        "mk" | "sh" | "bash" | "zsh" | "ps1" | "py" | "rb" | "pl" | "env" | "go" | "js" | "just"
        | "groovy" => Class::Script,
        _ => Class::Unknown,
    }
}

/// Tells whether a package manager takes a file of that name for what describes packages of its own, whatever they are called:
/// npm, Composer, Ansible Galaxy.
pub(super) fn describes_packages(name: &str) -> bool {
    const NAMES: [&str; 6] = [
        "package.json",
        "package-lock.json",
        "composer.json",
        "composer.lock",
        "galaxy.yml",
        "MANIFEST.json",
    ];
    NAMES.contains(&name)
}

/// Tells whether a file is what uplinker itself is told, which names releases and is no pin.
pub(in crate::pins) fn is_configuration(path: &RepoPath) -> bool {
    matches!(path.as_str(), "uplinker.yaml" | ".github/uplinker.yaml")
}

/// Tells whether a file lies among the templates of a chart.
pub(in crate::pins) fn is_chart_template(path: &RepoPath, has_chart: impl Fn(&str) -> bool) -> bool {
    let mut folder = path.folder();
    loop {
        let (above, name) = folder.rsplit_once('/').unwrap_or(("", folder));
        if name == "templates" && has_chart(above) {
            return true;
        }
        if above.is_empty() {
            return false;
        }
        folder = above;
    }
}

fn is_pipeline(path: &str) -> bool {
    const FOLDERS: [&str; 7] = [
        ".github/workflows/",
        ".gitea/workflows/",
        ".forgejo/workflows/",
        ".circleci/",
        ".buildkite/",
        ".tekton/",
        ".woodpecker/",
    ];
    const NAMES: [&str; 11] = [
        ".gitlab-ci.yml",
        ".drone.yml",
        ".woodpecker.yml",
        ".woodpecker.yaml",
        "azure-pipelines.yml",
        "bitbucket-pipelines.yml",
        "cloudbuild.yaml",
        "Taskfile.yml",
        "Taskfile.yaml",
        "skaffold.yaml",
        "devcontainer.json",
    ];
    let name = path.rsplit('/').next().unwrap_or(path);
    FOLDERS.iter().any(|folder| path.starts_with(folder)) || NAMES.contains(&name) || is_compose(name)
}

/// Tells whether Docker Compose or Podman takes a file for its own: `compose.yaml`, `docker-compose.dev.yml`.
fn is_compose(name: &str) -> bool {
    let name = name.strip_prefix("docker-").unwrap_or(name);
    let rest =
        name.strip_prefix("compose.").and_then(|rest| rest.strip_suffix("yaml").or(rest.strip_suffix("yml")));
    rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_a_file_is() {
        let class = |path: &str| class(&RepoPath::new(path).unwrap());
        assert_eq!(class("a/b.yml"), Class::Manifest);
        assert_eq!(class("a/Chart.lock"), Class::Manifest);
        assert_eq!(class(".github/workflows/a.yaml"), Class::Script);
        for compose in ["compose.yaml", "lab/docker-compose.yml", "docker-compose.dev.yaml"] {
            assert_eq!(class(compose), Class::Script, "{compose}");
        }
        assert_eq!(class("docker-composer.yml"), Class::Manifest);
        assert_eq!(class("helmfile.d/10-mesh.yaml"), Class::Helmfile);
        assert_eq!(class("x/main.tf"), Class::Terraform);
        assert_eq!(class("README.md"), Class::Prose);
        assert_eq!(class("docs/mesh.mdx"), Class::Prose);
        assert_eq!(class("LICENSE"), Class::Unknown);
        assert_eq!(class("mesh/.terraform.lock.hcl"), Class::Unknown);
        assert_eq!(class(".github/renovate.json5"), Class::Unknown);
        assert_eq!(class("mesh.json5"), Class::Foreign(SkipReason::UnknownShape));
    }

    #[test]
    fn only_files_of_a_chart_are_its_templates() {
        let has = |folder: &str| folder == "charts/a";
        let template = |path: &str| is_chart_template(&RepoPath::new(path).unwrap(), has);
        assert!(template("charts/a/templates/x.yaml") && template("charts/a/templates/sub/x.yaml"));
        assert!(!template("templates/x.yaml") && !template("charts/a/values.yaml"));
    }
}
