//! What Helm printed, as it lies in a repository.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::matrix::cells::Form;
use crate::support::{
    kustomize,
    manifests::{documents, joined, name},
};

pub type Files = BTreeMap<String, String>;

/// Objects of other people that lie in the same file.
const OTHERS: [&str; 2] = [
    "# ours, by hand\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: mesh # the cluster's\n",
    "apiVersion: monitoring.coreos.com/v1\nkind: PodMonitor\nmetadata:\n  name: mesh-proxies\n  namespace: monitoring\nspec:\n  \
     selector: {matchLabels: {team: platform}}\n",
];

/// Lays out what Helm printed of a chart; `added` are objects that a person put there.
pub fn lay_out(form: Form, chart: &str, printed: &str, added: &[&str]) -> Files {
    let own = documents(printed);
    let added: Vec<String> = added.iter().map(|text| (*text).to_owned()).collect();
    let all: Vec<String> = own.iter().chain(&added).cloned().collect();
    let folder = folder(form, chart);
    let one = |text: String| Files::from([(format!("{folder}/out.yaml"), text)]);
    let as_printed = || printed.to_owned() + &joined(&added);
    match form {
        Form::OneFile | Form::TwoEnvironments => one(as_printed()),
        Form::PerObject => per_object(&folder, &all),
        Form::OutputDir => output_dir(&folder, &own, &added),
        Form::Kustomize => one(kustomize::build(&objects(&all))),
        Form::List => one(kustomize::list(&objects(&all))),
        Form::Json => {
            let list = json!({"apiVersion": "v1", "kind": "List", "items": objects(&all)});
            let text = serde_json::to_string_pretty(&list).expect("JSON") + "\n";
            Files::from([(format!("{folder}/out.json"), text)])
        }
        Form::Crlf => one(as_printed().replace('\n', "\r\n")),
        Form::Banner => {
            let banner = format!("# {chart}, rendered by `make mesh`.\n#\n# Do not edit.\n\n");
            let parted = as_printed().replace("\n---\n", "\n\n# ----------------\n---\n");
            one(banner + &parted)
        }
        Form::Beside => one(format!("{}{}---\n{}", OTHERS[0], with_separator(&as_printed()), OTHERS[1])),
    }
}

/// The folder in which a chart's output lies; of two environments the first.
pub fn folder(form: Form, chart: &str) -> String {
    match form {
        Form::TwoEnvironments => format!("production/{chart}"),
        _ => format!("mesh/{chart}"),
    }
}

/// Turns the first of two environments into the second.
pub fn second(files: &Files) -> Files {
    let other = |path: &String| path.replacen("production/", "staging/", 1);
    files.iter().map(|(path, text)| (other(path), text.clone())).collect()
}

/// Reads documents with another reader than the program's.
pub fn objects(documents: &[String]) -> Vec<Value> {
    documents.iter().map(|document| kustomize::read(document)).collect()
}

fn with_separator(text: &str) -> String {
    if text.starts_with("---\n") { text.to_owned() } else { format!("---\n{text}") }
}

fn per_object(folder: &str, documents: &[String]) -> Files {
    let file = |document: &String| (format!("{folder}/{}.yaml", name(document)), document.clone());
    let mut files: Files = documents.iter().map(file).collect();
    assert_eq!(files.len(), documents.len(), "each has a name of its own");
    let lines = documents.iter().map(|document| format!("- {}.yaml\n", name(document)));
    let list = format!(
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n{}",
        lines.collect::<String>()
    );
    files.insert(format!("{folder}/kustomization.yaml"), list);
    files
}

fn output_dir(folder: &str, own: &[String], added: &[String]) -> Files {
    let mut files = Files::new();
    for document in own {
        let source = document.lines().next().and_then(|line| line.strip_prefix("# Source: "));
        let path = format!("{folder}/{}", source.expect("Helm says the source"));
        files.entry(path).or_default().push_str(&format!("---\n{document}"));
    }
    files
        .extend(added.iter().map(|document| (format!("{folder}/{}.yaml", name(document)), document.clone())));
    files
}
