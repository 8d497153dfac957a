//! The form that is committed is the form that is written.

use std::collections::{BTreeMap, BTreeSet};

use uplinker::render::Manifest;

use super::{
    Ask, NEW, OLD, REDUCED, assert_trees, committed_text, expected, made, moved, name, sets, template, texts,
    texts_from, unsummed, unsummed_files,
};
use crate::support::{
    manifests::{documents, joined},
    tree::MemoryTree,
};

#[test]
fn single_files_become_what_helm_gives_but_for_what_it_invents() {
    let texts = texts();
    let path = |chart: &str| format!("mesh/{chart}.yaml");
    let mut files: Vec<(String, String)> = texts.iter().map(|(c, old, _)| (path(c), old.clone())).collect();
    files.push((
        "mesh/kustomization.yaml".into(),
        "resources:\n- linkerd-crds.yaml\n- linkerd-viz.yaml\n".into(),
    ));
    files.push(("apps/web.yaml".into(), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n".into()));
    let tree = MemoryTree::new(files.clone());
    let after = moved(&tree, NEW);
    let mut wanted: BTreeMap<String, String> = files.into_iter().collect();
    wanted.extend(texts.iter().map(|(chart, _, new)| (path(chart), unsummed(new))));
    assert_trees(&unsummed_files(&after), &wanted);
    let plane = after.text("mesh/linkerd-control-plane.yaml");
    assert!(plane.contains("03 21 * * *") && plane.contains("edge-26.8.3") && !plane.contains("edge-26.8.2"));
    assert!(plane.contains("controllerLogLevel: debug") && plane.contains("request: 32Mi"));
    assert!(!plane.contains("name: linkerd-policy\n"));
}

#[test]
fn objects_in_files_of_their_own_come_and_go_with_their_kustomization() {
    let mut files = BTreeMap::new();
    let mut wanted = BTreeMap::new();
    let list = |documents: &[String]| {
        let names = documents.iter().map(|d| format!("  - {}.yaml # ours\n", name(d)));
        format!("namespace: linkerd\nresources:\n  - ../../ns.yaml\n{}", names.collect::<String>())
    };
    for (chart, old, new) in texts_from(OLD) {
        let (old, new) = (documents(&old), documents(&new));
        let folder = format!("mesh/{chart}");
        files.extend(old.iter().map(|d| (format!("{folder}/{}.yaml", name(d)), d.clone())));
        files.insert(format!("{folder}/kustomization.yaml"), list(&old));
        wanted.extend(new.iter().map(|d| (format!("{folder}/{}.yaml", name(d)), unsummed(d))));
        wanted.insert(format!("{folder}/kustomization.yaml"), list(&new));
    }
    let added = "mesh/linkerd-crds/customresourcedefinition-egressnetworks.policy.linkerd.io.yaml";
    let gone = "mesh/linkerd-control-plane/service-linkerd-policy.yaml";
    assert!(files.contains_key(gone) && !files.contains_key(added) && wanted.contains_key(added));
    let after = moved(&MemoryTree::new(files), NEW);
    // A new line has no comment of anybody's.
    let added_line = |text: &str| {
        text.replace("egressnetworks.policy.linkerd.io.yaml # ours", "egressnetworks.policy.linkerd.io.yaml")
    };
    let wanted: BTreeMap<String, String> = wanted.into_iter().map(|(p, t)| (p, added_line(&t))).collect();
    assert_trees(&unsummed_files(&after), &wanted);
}

#[test]
fn a_folder_for_each_kind_is_one_rendering() {
    let (_, old, new) =
        texts_from("2026.8.2").into_iter().find(|(chart, ..)| *chart == "linkerd-control-plane").unwrap();
    // Of some kinds no object has a mark of the chart.
    let files = |text: &str| -> BTreeMap<String, String> {
        let place = |document: &String| {
            let name = name(document);
            let (kind, rest) = name.split_once('-').unwrap();
            format!("mesh/{kind}/{rest}.yaml")
        };
        documents(text)
            .iter()
            .map(|d| (place(d), d.lines().skip(1).collect::<Vec<_>>().join("\n") + "\n"))
            .collect()
    };
    let (old, new) = (files(&old), files(&new));
    let after = moved(&MemoryTree::new(old), NEW);
    let wanted: BTreeMap<String, String> = new.into_iter().map(|(p, t)| (p, unsummed(&t))).collect();
    assert_trees(&unsummed_files(&after), &wanted);
}

fn by_template(documents: &[String]) -> BTreeMap<String, String> {
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for document in documents {
        let source = document.lines().next().unwrap().strip_prefix("# Source: ").unwrap();
        files.entry(format!("out/{source}")).or_default().push_str(&format!("---\n{document}"));
    }
    files
}

#[test]
fn an_output_dir_keeps_one_file_for_each_template() {
    let (mut files, mut wanted) = (BTreeMap::new(), BTreeMap::new());
    for (_, old, new) in texts_from(OLD) {
        files.extend(by_template(&documents(&old)));
        wanted.extend(by_template(&documents(&new)).into_iter().map(|(p, t)| (p, unsummed(&t))));
    }
    assert!(!files.contains_key("out/linkerd-crds/templates/policy/egress-network.yaml"));
    assert_trees(&unsummed_files(&moved(&MemoryTree::new(files), NEW)), &wanted);
}

#[test]
fn charts_may_share_a_file_with_each_other_and_with_anybody() {
    let own = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: linkerd # ours\n";
    let (mut old_text, mut new_text) = (format!("# by hand\n{own}"), format!("# by hand\n{own}"));
    for (_, old, new) in texts() {
        old_text.push_str(&joined(&documents(&old)));
        new_text.push_str(&unsummed(&joined(&documents(&new))));
    }
    let crlf = |text: &str| text.replace('\n', "\r\n");
    let tree = MemoryTree::new([("all.yaml", old_text.as_str()), ("dos/all.yml", &crlf(&old_text))]);
    assert_eq!(sets(&tree).len(), 6);
    let after = moved(&tree, NEW);
    assert_eq!(unsummed(&after.text("all.yaml")), new_text);
    let dos = after.text("dos/all.yml");
    assert_eq!(unsummed(&dos.replace("\r\n", "\n")), new_text);
    assert_eq!(crlf(&dos.replace("\r\n", "\n")), dos);
}

#[test]
fn what_does_not_change_keeps_its_bytes() {
    for values in ["{}", REDUCED, "{webhookFailurePolicy: Fail, enablePodDisruptionBudget: true}"] {
        let text = format!("{}\n", committed_text("linkerd-control-plane", NEW, values));
        let tree = MemoryTree::new([("plane.yaml", &text)]);
        let made = made(&tree, NEW, &Ask::default());
        assert!(made.missing.is_empty() && made.changes.is_empty(), "{:?}", made.missing);
        assert_eq!(made.renderings.len(), 1);
    }
}

#[test]
fn a_checksum_changes_only_with_its_template() {
    let text = committed_text("linkerd-control-plane", "2026.8.2", "{}");
    let sums = |text: &str| -> BTreeSet<String> {
        text.lines().filter_map(|l| l.split_once("checksum/config: ")).map(|(_, s)| s.to_owned()).collect()
    };
    let tree = MemoryTree::new([("plane.yaml", &text)]);
    let after = moved(&tree, NEW).text("plane.yaml");
    assert!(sums(&text).len() > 1 && sums(&text).is_disjoint(&sums(&after)));
    // Without Secrets of the chart's own the hashed templates name no version.
    let outside = "{proxyInjector: {externalSecret: true, caBundle: ca}, profileValidator: {externalSecret: true, caBundle: ca}, policyValidator: {externalSecret: true, caBundle: ca}}";
    let text = committed_text("linkerd-control-plane", "2026.8.2", outside);
    let tree = MemoryTree::new([("plane.yaml", &text)]);
    let after = moved(&tree, NEW).text("plane.yaml");
    assert_eq!(sums(&text), sums(&after));
}

#[test]
fn a_text_that_a_tool_laid_out_keeps_its_layout() {
    let text = committed_text("linkerd-control-plane", "2026.8.2", REDUCED);
    let new = documents(&expected(&template("linkerd-control-plane", NEW, REDUCED), &text));
    // No comments of Helm's, quotes of its own, a comment on each object.
    let lay_out = |d: &String| {
        let lines = d.lines().filter(|l| !l.starts_with("# Source"));
        let lines: Vec<String> = lines
            .map(|l| match l.trim_start().starts_with("name: ") {
                _ if d.contains("kind: ConfigMap") => l.to_owned(),
                true => format!("{l} # kept"),
                false => l.replace('"', "'"),
            })
            .collect();
        format!("# about this\n{}\n", lines.join("\n"))
    };
    let old: Vec<String> = documents(&text).iter().map(lay_out).collect();
    let tree = MemoryTree::new([("plane.yaml", joined(&old))]);
    let after = moved(&tree, NEW).text("plane.yaml");
    let (read, wanted) = (Manifest::parse(after.as_str()).unwrap(), Manifest::parse(joined(&new)).unwrap());
    assert_eq!(read.objects.len(), wanted.objects.len());
    for object in &wanted.objects {
        let found = &read.get(&object.key).unwrap().value;
        let text = |value: &serde_json::Value| {
            unsummed(&serde_json::to_string_pretty(value).unwrap().replace(['"', ','], ""))
        };
        assert_eq!(text(found), text(&object.value), "{}", object.key);
    }
    let count = |text: &str, what: &str| text.matches(what).count();
    let before = joined(&old);
    assert_eq!(count(&after, "# about this"), new.len());
    // Each line that differs says a version, or is of the object that went.
    let gone = documents(&before).into_iter().find(|d| d.contains("name: linkerd-policy #")).unwrap();
    let kept: BTreeSet<&str> = after.lines().collect();
    for line in before.lines().filter(|l| !kept.contains(l)) {
        let moved = line.contains("26.8.2")
            || line.contains("checksum")
            || gone.contains(line)
            || line.contains("ontainerPort");
        assert!(moved, "{line}");
    }
    assert!(count(&after, " # kept") + count(&gone, " # kept") >= count(&before, " # kept") - 2);
}

#[test]
fn hooks_that_were_left_out_stay_out() {
    let all = documents(&committed_text("linkerd-viz", OLD, "{}"));
    let without: Vec<String> = all.iter().filter(|d| !d.contains("helm.sh/hook")).cloned().collect();
    assert!(without.len() < all.len());
    let after = moved(&MemoryTree::new([("viz.yaml", joined(&without))]), NEW);
    assert!(!after.text("viz.yaml").contains("helm.sh/hook"));
}

/// Puts objects into one `List`, as YAML or JSON.
fn listed(documents: &[String], json: bool) -> String {
    let items: Vec<_> =
        documents.iter().map(|d| Manifest::parse(d.as_str()).unwrap().objects.remove(0).value).collect();
    let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": items});
    if json {
        return serde_json::to_string_pretty(&list).unwrap() + "\n";
    }
    let indented = |d: &String| {
        let lines = d.lines().enumerate().map(|(n, l)| format!("{}{l}\n", if n == 0 { "- " } else { "  " }));
        lines.collect::<String>()
    };
    let bare =
        |d: &String| d.split_inclusive('\n').filter(|l| !l.starts_with("# Source")).collect::<String>();
    let items = documents.iter().map(|d| indented(&bare(d)));
    format!("apiVersion: v1\nkind: List\nitems:\n{}", items.collect::<String>())
}

#[test]
fn objects_come_into_a_list_and_leave_it() {
    for (chart, gone, come) in [
        ("linkerd-control-plane", Some("name: linkerd-policy\n"), None),
        ("linkerd-crds", None, Some("egressnetworks.policy.linkerd.io")),
    ] {
        let old = committed_text(chart, OLD, "{}");
        let new = expected(&template(chart, NEW, "{}"), &old);
        assert!(gone.is_none_or(|g| old.contains(g) && !new.contains(g)));
        assert!(come.is_none_or(|c| !old.contains(c) && new.contains(c)));
        for json in [false, true] {
            let path = if json { "list.json" } else { "list.yaml" };
            let after = moved(&MemoryTree::new([(path, listed(&documents(&old), json))]), NEW).text(path);
            let (found, wanted) =
                (Manifest::parse(after.as_str()).unwrap(), Manifest::parse(new.as_str()).unwrap());
            let values = |manifest: &Manifest| -> BTreeMap<String, String> {
                let shown = |v: &serde_json::Value| {
                    unsummed(&serde_json::to_string_pretty(v).unwrap().replace(['"', ','], ""))
                };
                manifest.objects.iter().map(|o| (o.key.to_string(), shown(&o.value))).collect()
            };
            assert_trees(&values(&found), &values(&wanted));
            assert_eq!(
                after.matches("kind: List").count(),
                usize::from(!json),
                "one list, and nothing behind it"
            );
            assert!(!json || serde_json::from_str::<serde_json::Value>(&after).is_ok());
            assert!(found.objects.iter().all(|o| o.item.is_some()));
        }
    }
}

/// Writes the literal text under `values:` in double quotes, a line for each of its lines, as writers do that break lines.
fn in_quotes(text: &str) -> String {
    let (before, behind) = text.split_once("  values: |").unwrap();
    let (header, body) = behind.split_once('\n').unwrap();
    let end = body
        .lines()
        .take_while(|l| l.is_empty() || l.starts_with("    "))
        .map(|l| l.len() + 1)
        .sum::<usize>();
    let lines: Vec<&str> = body[..end].trim_end().lines().map(|l| l.get(4..).unwrap_or_default()).collect();
    let line = |l: &&str| {
        let escaped = l.replace('\\', "\\\\").replace('"', "\\\"");
        let begin = if l.starts_with(' ') { "\\" } else { "" };
        format!("    {begin}{escaped}")
    };
    let lines: Vec<String> = lines.iter().map(line).collect();
    let close = if header == "-" { "" } else { "\\n" };
    format!("{before}  values: \"\\\n{}{close}\"\n{}", lines.join("\\n\\\n"), &body[end..])
}

#[test]
fn a_text_that_a_tool_broke_over_lines_keeps_its_lines() {
    let old = committed_text("linkerd-control-plane", "2026.8.2", REDUCED);
    let new = expected(&template("linkerd-control-plane", NEW, REDUCED), &old);
    let all: Vec<String> = documents(&old)
        .iter()
        .map(|d| if d.contains("  values: |") { in_quotes(d) } else { d.clone() })
        .collect();
    let list = listed(&all, false);
    assert!(list.contains("\\n\\\n"), "it is broken over lines");
    let value = |text: &str| {
        let manifest = Manifest::parse(text).unwrap();
        let config = manifest.objects.iter().find(|o| o.key.name == "linkerd-config").unwrap();
        config.text(&["data", "values"]).unwrap().to_owned()
    };
    let after = moved(&MemoryTree::new([("list.yaml", &list)]), NEW).text("list.yaml");
    assert_eq!(value(&after), value(&new));
    let (before, behind): (BTreeSet<&str>, BTreeSet<&str>) = (value_lines(&list), value_lines(&after));
    let told = value(&old)
        .lines()
        .collect::<BTreeSet<_>>()
        .symmetric_difference(&value(&new).lines().collect())
        .count();
    assert_eq!(before.symmetric_difference(&behind).count(), told, "a line changes where the text does");
}

/// Returns the lines between `values: "` and its end.
fn value_lines(text: &str) -> BTreeSet<&str> {
    let lines = text.lines().skip_while(|l| !l.contains("values: \""));
    lines.take_while(|l| l.ends_with('\\') || l.contains("\\n")).collect()
}

#[test]
fn a_description_that_kustomize_folded_anew_stays_as_it_is() {
    let text = committed_text("linkerd-crds", "2026.8.2", "{}");
    // Another blank line behind the first line of the text.
    let (before, behind) = text.split_once("description: |-\n").unwrap();
    let (first, rest) = behind.split_once('\n').unwrap();
    let folded = format!("{before}description: |-\n{first}\n\n{rest}");
    let tree = MemoryTree::new([("crds.yaml", &folded)]);
    assert_eq!(moved(&tree, "2026.8.2").text("crds.yaml"), folded);
    let wanted = folded.replace("2026.8.2", "2026.8.3");
    let after = moved(&tree, NEW).text("crds.yaml");
    let profile = |text: &str| documents(text).into_iter().find(|d| d.contains("description:")).unwrap();
    assert_eq!(profile(&after), profile(&wanted));
    // Other words are a change by hand.
    let other = folded.replacen(first, &format!("{first} other"), 1);
    assert_eq!(made(&MemoryTree::new([("crds.yaml", other)]), NEW, &Ask::default()).missing.len(), 1);
}
