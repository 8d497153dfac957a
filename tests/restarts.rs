//! Workloads that ask for restarts by a label: the annotation comes where it is missing, beside the label, in every kind and
//! on every way that a label reaches a pod template. `tests/restarts/before` becomes `tests/restarts/after`, byte for byte.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::Path,
};

use uplinker::{
    edit::apply,
    pins::{Form, Inventory, Reason, ScanOptions, Stage, scan},
    plan::{Options, Plan, Proxies, Request, Target, plan},
    release::Catalog,
    repo::{BlobId, Entry, Mode, Overlay, RepoPath, Tree, TreeError},
};

/// A folder as a tree.
struct Folder {
    entries: Vec<Entry>,
    texts: HashMap<BlobId, Vec<u8>>,
}

impl Tree for Folder {
    fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn read(&self, id: BlobId) -> Result<Vec<u8>, TreeError> {
        self.texts.get(&id).cloned().ok_or_else(|| TreeError::new(id, "no such object"))
    }
}

// === impl Folder ===

impl Folder {
    fn of(files: BTreeMap<String, Vec<u8>>) -> Self {
        let (mut entries, mut texts) = (Vec::new(), HashMap::new());
        for (number, (path, text)) in (0_u64..).zip(files) {
            let mut id = BlobId([0; 20]);
            id.0[..8].copy_from_slice(&number.to_be_bytes());
            entries.push(Entry { path: RepoPath::new(path).unwrap(), id, mode: Mode::File });
            texts.insert(id, text);
        }
        Self { entries, texts }
    }
}

fn files(name: &str) -> BTreeMap<String, Vec<u8>> {
    fn gather(root: &Path, folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                gather(root, &path, files);
            } else {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                files.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/restarts").join(name);
    let mut found = BTreeMap::new();
    gather(&root, &root, &mut found);
    found
}

fn found(tree: &dyn Tree, restarts: bool) -> Inventory {
    scan(tree, &ScanOptions { restarts, ..ScanOptions::default() }).unwrap()
}

fn planned(inventory: &Inventory, proxies: Proxies) -> Option<Plan> {
    let (catalog, options) = (Catalog::default(), Options { proxies, ..Options::default() });
    let request = Request {
        inventory,
        target: &Target::default_all(),
        stage: Stage::DataPlane,
        to: "edge-26.8.3".parse().unwrap(),
        hop_towards: None,
        sources: &[],
        catalog: &catalog,
        options: &options,
    };
    plan(&request).unwrap()
}

#[test]
fn the_annotation_comes_beside_the_label_and_a_second_run_does_nothing() {
    let before = Folder::of(files("before"));
    let inventory = found(&before, true);
    let plan = planned(&inventory, Proxies::Follow).unwrap();
    let changes = apply(&plan, &inventory, &before).unwrap();
    let mut after = files("before");
    for file in &changes.files {
        after.insert(file.path.to_string(), file.after.clone().unwrap());
    }
    let text = |bytes: &Vec<u8>| String::from_utf8(bytes.clone()).unwrap();
    for (path, wanted) in &files("after") {
        assert_eq!(text(&after[path]), text(wanted), "{path}");
    }
    assert_eq!(after.len(), files("after").len());
    let edited = Overlay::new(&before, &changes);
    let then = found(&edited, true);
    assert!(planned(&then, Proxies::Follow).is_none(), "a second run moves something");
    let left: Vec<&str> =
        then.pins.iter().filter(|pin| pin.form == Form::Absent).map(|pin| pin.path.as_str()).collect();
    assert_eq!(
        left,
        ["apps/alike.yaml", "apps/overlay/kustomization.yaml", "apps/quiet.yaml", "apps/quiet.yaml"]
    );
}

#[test]
fn what_stays_says_why() {
    let inventory = found(&Folder::of(files("before")), true);
    let stays = |path: &str, line: usize| {
        let pin = inventory.pins.iter().find(|pin| pin.path.as_str() == path && pin.site.line == line);
        pin.unwrap_or_else(|| panic!("{path}:{line}")).stays
    };
    assert_eq!(stays("apps/alike.yaml", 30), Some(Reason::OptedOut), "not injected by its own word");
    assert_eq!(stays("apps/quiet.yaml", 8), Some(Reason::OptedOut), "the webhooks are not asked");
    assert_eq!(stays("apps/quiet.yaml", 17), Some(Reason::Held));
    assert_eq!(stays("apps/overlay/kustomization.yaml", 19), Some(Reason::Uneditable), "an operation");
    let asking = inventory.pins.iter().filter(|pin| pin.path.as_str().starts_with("apps/done/"));
    assert!(asking.clone().all(|pin| pin.form != Form::Absent), "the overlay completes the base");
}

#[test]
fn only_those_that_ask_move_where_proxies_are_left_alone() {
    let inventory = found(&Folder::of(files("before")), true);
    let plan = planned(&inventory, Proxies::Ignore).unwrap();
    assert!(plan.moves.iter().all(|entry| inventory.pins[entry.pin].restarts));
    let agent = |entry: &&uplinker::plan::Move| {
        let pin = &inventory.pins[entry.pin];
        pin.value == "edge-26.8.2" && pin.path.as_str() == "apps/base/web.yaml"
    };
    assert_eq!(plan.moves.iter().filter(agent).count(), 1, "an annotation that is there moves too");
}

#[test]
fn nothing_comes_where_it_is_not_asked_for() {
    let inventory = found(&Folder::of(files("before")), false);
    assert!(inventory.pins.iter().all(|pin| pin.form != Form::Absent && !pin.restarts));
}
