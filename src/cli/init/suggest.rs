//! Which targets the paths of the pins suggest, and which rendered manifests were seen. Pure.

use std::collections::{BTreeMap, BTreeSet};

/// Folders whose subfolders are environments, clusters or sites in repositories of the usual shapes.
const PARENTS: [&str; 12] = [
    "clusters",
    "cluster",
    "environments",
    "environment",
    "envs",
    "env",
    "overlays",
    "regions",
    "sites",
    "stages",
    "tenants",
    "zones",
];

/// More rendered manifests are counted.
const SHOWN: usize = 10;

/// Returns the lines of the configuration that name the targets, as comments.
pub(super) fn targets(paths: &[&str]) -> String {
    let mut seen: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let mut shared = BTreeSet::new();
    for path in paths {
        match target(path) {
            Some((name, folder)) => drop(seen.entry(name).or_default().insert(folder)),
            None => drop(shared.insert(*path)),
        }
    }
    if seen.len() < 2 {
        return "# The pins suggest no division. An example:\n#targets:\n#  - name: staging\n#    paths: \
                [clusters/staging]\n#  - name: production\n#    paths: [clusters/production]\n"
            .to_owned();
    }
    let mut out = String::from("# These folders have pins of their own:\n#targets:\n");
    for (name, folders) in &seen {
        let folders: Vec<String> = folders.iter().map(|f| quoted(f)).collect();
        out.push_str(&format!("#  - name: {}\n#    paths: [{}]\n", quoted(name), folders.join(", ")));
    }
    if !shared.is_empty() {
        out.push_str(
            "# These files have pins and would be in no target, so that nothing in them would move:\n",
        );
        out.extend(shared.iter().take(10).map(|path| format!("# - {}\n", plain(path))));
        if shared.len() > 10 {
            out.push_str(&format!("# - and {} more\n", shared.len() - 10));
        }
    }
    out
}

/// Returns the lines of the configuration that name rendered manifests, as comments: charts with their files.
pub(super) fn rendered(seen: &[(&str, &str)]) -> String {
    let mut outputs: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for (chart, path) in seen {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        outputs.entry((folder, chart)).or_default().insert(path);
    }
    if outputs.is_empty() {
        return "#render:\n#  - chart: linkerd-viz\n#    values: [rendered/viz-values.yaml]\n#    output: \
                rendered/viz.yaml\n"
            .to_owned();
    }
    let mut out = String::from(
        "# These were seen; name the values files of those that uplinker cannot make again:\n#render:\n",
    );
    for ((folder, chart), files) in outputs.iter().take(SHOWN) {
        // One file is named itself; many, one for each object, are named by their folder.
        let output = match files.first() {
            Some(file) if files.len() == 1 => Some(*file),
            _ => Some(*folder).filter(|folder| !folder.is_empty()),
        };
        out.push_str(&format!("#  - chart: {}\n#    values: []\n", quoted(chart)));
        out.extend(output.map(|output| format!("#    output: {}\n", quoted(output))));
    }
    if outputs.len() > SHOWN {
        out.push_str(&format!("# - and {} more\n", outputs.len() - SHOWN));
    }
    out
}

/// Returns the name and the folder of the target that a path suggests.
fn target(path: &str) -> Option<(&str, String)> {
    let parts: Vec<&str> = path.split('/').collect();
    let parent = parts.iter().position(|part| PARENTS.contains(part))?;
    // The part below must be a folder, not the file itself, and a name that a target may have.
    let name = parts.get(parent + 1).filter(|_| parts.len() > parent + 2)?;
    let letters = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let sound = name.len() <= 64
        && name.chars().all(letters)
        && !name.starts_with(['-', '_'])
        && !name.ends_with('-');
    sound.then(|| (*name, parts[..=parent + 1].join("/")))
}

/// Writes a text as YAML reads it back: JSON strings are YAML.
fn quoted(text: &str) -> String {
    match crate::yaml::core::is_plain_text(text) {
        true => text.to_owned(),
        false => serde_json::Value::from(plain(text)).to_string(),
    }
}

/// A path of a repository may hold a line break, which would end the comment.
fn plain(text: &str) -> String {
    crate::report::for_terminal(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_environments_become_targets() {
        let text = targets(&[
            "clusters/prod/a.yaml",
            "x/clusters/staging/b/c.yaml",
            "infra/l.yaml",
            "clusters/prod/b.yaml",
        ]);
        assert_eq!(
            text,
            "# These folders have pins of their own:\n#targets:\n#  - name: prod\n#    paths: [clusters/prod]\n\
             #  - name: staging\n#    paths: [x/clusters/staging]\n\
             # These files have pins and would be in no target, so that nothing in them would move:\n# - infra/l.yaml\n"
        );
    }

    #[test]
    fn rendered_manifests_are_named_by_file_or_folder() {
        let text = rendered(&[
            ("linkerd-viz", "out/viz.yaml"),
            ("linkerd-crds", "out/crds/a.yaml"),
            ("linkerd-crds", "out/crds/b.yaml"),
            ("linkerd-viz", "evil\nname.yaml"),
        ]);
        assert_eq!(
            text,
            "# These were seen; name the values files of those that uplinker cannot make again:\n#render:\n\
             #  - chart: linkerd-viz\n#    values: []\n#    output: \"evil\\\\u{a}name.yaml\"\n\
             #  - chart: linkerd-viz\n#    values: []\n#    output: out/viz.yaml\n\
             #  - chart: linkerd-crds\n#    values: []\n#    output: out/crds\n"
        );
        assert!(rendered(&[]).lines().all(|line| line.starts_with('#')));
    }

    #[test]
    fn one_environment_is_no_division_and_names_cannot_break_out() {
        assert!(targets(&["clusters/prod/a.yaml"]).contains("suggest no division"));
        let hostile = targets(&["clusters/a/x", "clusters/b/x", "evil\npaused: yes", "clusters/c\nd: e/x"]);
        assert!(hostile.lines().all(|line| line.starts_with('#')), "{hostile}");
    }

    #[test]
    fn folders_that_yaml_would_type_are_quoted() {
        assert!(targets(&["envs/1/x", "envs/no/x"]).contains("name: \"no\""));
    }
}
