//! Plans applied to trees in memory.

use std::sync::Arc;

use uplinker::{
    edit::{Refusal, apply, digest},
    linkerd::EdgeVersion,
    pins::{Form, Pin, PinKind, Site, Stage},
    plan::{Move, NewText, Plan},
    repo::{BlobId, Entry, Mode, RepoPath, Tree, TreeError},
    yaml::{Stream, position},
};

struct Files(Vec<Entry>, Vec<Vec<u8>>);

impl Tree for Files {
    fn entries(&self) -> &[Entry] {
        &self.0
    }

    fn read(&self, id: BlobId) -> Result<Vec<u8>, TreeError> {
        let content = self.1.get(usize::from(id.0[0])).cloned();
        content.ok_or(TreeError::new(id, "no such object"))
    }
}

fn path(path: &str) -> RepoPath {
    RepoPath::new(path).unwrap()
}

fn tree(files: &[(&str, Mode, &[u8])]) -> Files {
    let entry = |(n, (name, mode, _)): (usize, &(&str, Mode, &[u8]))| Entry {
        path: path(name),
        id: BlobId([n as u8; 20]),
        mode: *mode,
    };
    let mut entries: Vec<_> = files.iter().enumerate().map(entry).collect();
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    Files(entries, files.iter().map(|f| f.2.to_vec()).collect())
}

/// A pin at the `nth` place where the file has `value`.
fn pin(tree: &Files, file: &str, value: &str, nth: usize) -> Pin {
    let entry = tree.0.iter().find(|e| e.path.as_str() == file).unwrap();
    let text = String::from_utf8_lossy(&tree.1[usize::from(entry.id.0[0])]).into_owned();
    let at = text.match_indices(value).nth(nth).unwrap().0;
    let span = at..at + value.len();
    let (line, column) = position(&text, at);
    let stream = Stream::parse(&text).ok();
    let nodes = stream.iter().flat_map(|s| &s.documents).flat_map(|d| d.nodes());
    let route =
        nodes.filter(|n| n.as_str() == Some(value)).find(|n| n.span().contains(&at)).map(|n| n.route());
    Pin {
        path: entry.path.clone(),
        blob: entry.id,
        site: Site { span, line, column, document: 0, route },
        kind: PinKind::HelmValues,
        chart: None,
        mirror: None,
        value: value.to_owned(),
        form: Form::Chart,
        read_as: None,
        frame: None,
        version: None,
        stage: Stage::Platform,
        restarts: false,
        is_off: false,
        asks_no_stop: false,
        chooses_controllers: false,
        filter: None,
        stays: None,
        unheld: None,
        ended: None,
        kept_by: None,
        read_at: Vec::new(),
        given_to: Vec::new(),
        also: Vec::new(),
        installations: Default::default(),
        homes: Vec::new(),
    }
}

fn plan(pins: Vec<Pin>, moves: Vec<NewText>) -> Plan {
    let to: EdgeVersion = "edge-26.8.3".parse().unwrap();
    Plan {
        target: "default".into(),
        stage: Stage::Platform,
        from: Vec::new(),
        older: false,
        to,
        hop_towards: None,
        undoes: None,
        published: None,
        moves: pins.into_iter().zip(moves).map(|(pin, new)| Move { pin: Arc::new(pin), new }).collect(),
        stays: Vec::new(),
        fingerprint: String::new(),
        inputs: String::new(),
    }
}

fn fixed(text: &str) -> NewText {
    NewText::Fixed(text.to_owned())
}

/// Stands for the digest before the edit.
const OLD_DIGEST: &str = "sha256:OLD";

fn chart(version: &str) -> String {
    format!(
        "apiVersion: v2\nname: umbrella\nversion: 1.0.0\ndependencies:\n- name: linkerd-crds\n  version: {version}\n  repository: https://helm.linkerd.io/edge\n- name: cache\n  version: \">=1.0.0 <2\"\n  repository: https://charts.example.org\n  condition: cache.enabled\n"
    )
}

fn lock(version: &str, digest: &str) -> String {
    format!(
        "dependencies:\n- name: linkerd-crds\n  repository: https://helm.linkerd.io/edge\n  version: {version}\n- name: cache\n  repository: https://charts.example.org\n  version: 1.4.2\ndigest: {digest}\ngenerated: \"2026-08-13T09:14:31.52148Z\"\n"
    )
}

#[test]
fn files_change_together_and_keep_their_modes() {
    let tree = tree(&[
        ("b/run.sh", Mode::Executable, b"#!/bin/sh\nV=edge-26.8.2 # uplinker: edge\r\n"),
        ("a.yaml", Mode::File, b"\xef\xbb\xbfv: 2026.8.2\r\nw: \"2026.8.2\""),
        ("other.yaml", Mode::File, b"v: 2026.8.2\n"),
    ]);
    let pins = vec![
        pin(&tree, "a.yaml", "2026.8.2", 0),
        pin(&tree, "a.yaml", "2026.8.2", 1),
        pin(&tree, "b/run.sh", "edge-26.8.2", 0),
        pin(&tree, "other.yaml", "2026.8.2", 0),
    ];
    let moves = vec![fixed("2026.8.3"), fixed("2026.8.3"), fixed("edge-26.8.3"), fixed("2026.8.2")];
    let changes = apply(&plan(pins, moves), &tree).unwrap().files;
    let names: Vec<_> = changes.iter().map(|c| (c.path.as_str(), c.mode, c.before_id)).collect();
    assert_eq!(
        names,
        [
            ("a.yaml", Mode::File, Some(BlobId([1; 20]))),
            ("b/run.sh", Mode::Executable, Some(BlobId([0; 20]))),
        ]
    );
    assert_eq!(changes[0].after.as_deref(), Some(&b"\xef\xbb\xbfv: 2026.8.3\r\nw: \"2026.8.3\""[..]));
    assert_eq!(changes[1].after.as_deref(), Some(&b"#!/bin/sh\nV=edge-26.8.3 # uplinker: edge\r\n"[..]));
    assert_eq!(changes[0].before, tree.1[1]);
}

#[test]
fn one_refusal_refuses_all_and_names_the_place() {
    let tree = tree(&[
        ("a.yaml", Mode::File, b"v: 2026.8.2\n"),
        ("b.yaml", Mode::File, b"x: 1\nv: 1\nv: 2026.8.2\n"),
    ]);
    let pins = vec![pin(&tree, "a.yaml", "2026.8.2", 0), pin(&tree, "b.yaml", "2026.8.2", 0)];
    let error = apply(&plan(pins, vec![fixed("2026.8.3"); 2]), &tree).unwrap_err();
    assert_eq!(
        error.to_string(),
        "b.yaml:3:4: the key \"v\" is written twice in one mapping; remove one of the two"
    );
}

#[test]
fn files_that_cannot_be_edited_are_refused() {
    let tree = tree(&[
        ("a.yaml", Mode::Symlink, b"v: 2026.8.2\n"),
        ("b.yaml", Mode::File, b"v: 2026.8.2 \xff\n"),
        ("c.yaml", Mode::File, b"\0GITCRYPT\0 \xff 2026.8.2"),
    ]);
    let refusal = |file: &str| {
        let pins = vec![pin(&tree, file, "2026.8.2", 0)];
        apply(&plan(pins, vec![fixed("2026.8.3")]), &tree).unwrap_err().refusal
    };
    assert_eq!(refusal("a.yaml"), Refusal::NoSuchFile);
    assert_eq!(refusal("b.yaml"), Refusal::NotUtf8);
    assert_eq!(refusal("c.yaml"), Refusal::Encrypted);
    let mut gone = pin(&tree, "b.yaml", "2026.8.2", 0);
    gone.path = path("gone.yaml");
    let error = apply(&plan(vec![gone], vec![fixed("x")]), &tree).unwrap_err();
    assert_eq!(error.refusal, Refusal::NoSuchFile);
}

#[test]
fn a_lock_digest_covers_the_edited_chart_and_lock() {
    let (old_chart, new_chart) = (chart("2026.8.2"), chart("2026.8.3"));
    let new_lock = lock("2026.8.3", "sha256:NEW");
    let tree = tree(&[
        ("mesh/Chart.lock", Mode::File, lock("2026.8.2", OLD_DIGEST).as_bytes()),
        ("mesh/Chart.yaml", Mode::File, old_chart.as_bytes()),
    ]);
    let pins = vec![
        pin(&tree, "mesh/Chart.lock", "2026.8.2", 0),
        pin(&tree, "mesh/Chart.lock", OLD_DIGEST, 0),
        pin(&tree, "mesh/Chart.yaml", "2026.8.2", 0),
    ];
    let moves = vec![fixed("2026.8.3"), NewText::LockDigest, fixed("2026.8.3")];
    let changes = apply(&plan(pins, moves), &tree).unwrap().files;
    let expected = digest(&new_chart, &new_lock).unwrap();
    let text = |n: usize| String::from_utf8(changes[n].after.clone().unwrap()).unwrap();
    assert_eq!(text(0), lock("2026.8.3", &expected));
    assert_eq!(text(1), new_chart);
}

#[test]
fn a_lock_moves_under_a_chart_that_stays() {
    let chart = chart("~2026.8.0");
    let tree = tree(&[
        ("Chart.lock", Mode::File, lock("2026.8.2", OLD_DIGEST).as_bytes()),
        ("Chart.yaml", Mode::File, chart.as_bytes()),
    ]);
    let pins = vec![pin(&tree, "Chart.lock", "2026.8.2", 0), pin(&tree, "Chart.lock", OLD_DIGEST, 0)];
    let changes = apply(&plan(pins, vec![fixed("2026.8.3"), NewText::LockDigest]), &tree);
    let files = changes.unwrap().files;
    let expected = lock("2026.8.3", &digest(&chart, &lock("2026.8.3", "")).unwrap());
    assert_eq!(files.len(), 1);
    assert_eq!(files[0].after.as_deref(), Some(expected.as_bytes()));
}

#[test]
fn a_lock_without_its_chart_is_refused() {
    let tree = tree(&[("x/Chart.lock", Mode::File, lock("2026.8.2", OLD_DIGEST).as_bytes())]);
    let pins = vec![pin(&tree, "x/Chart.lock", OLD_DIGEST, 0)];
    let error = apply(&plan(pins, vec![NewText::LockDigest]), &tree).unwrap_err();
    assert_eq!(error.path.as_ref().map(RepoPath::as_str), Some("x/Chart.yaml"));
}
