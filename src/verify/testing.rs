//! A small world for the tests of the checks: a tree in memory, an inventory by hand, a change set by splicing.

use std::{collections::BTreeMap, sync::Arc};

use super::{CheckId, CheckResult, Clock, Finding, Severity, Verification, outcomes, verify};
use crate::{
    linkerd::EdgeVersion,
    pins::{Installed, Inventory, Stage},
    plan::{Move, NewText, Options, Plan, Request, Target, Undone, plan, testing::*},
    release::Catalog,
    render::{Cause, ChartId, Manifest, NotRendered, Rendering, Renderings},
    repo::{BlobId, ChangeSet, CommitId, Entry, FileChange, Mode, RepoPath, Tree, TreeError},
};

/// A tree in memory with Git's own object ids.
#[derive(Clone, Default)]
pub struct MemoryTree {
    entries: Vec<Entry>,
    blobs: BTreeMap<BlobId, Vec<u8>>,
}

impl MemoryTree {
    /// Makes a tree of files.
    pub fn new<'a>(files: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Self {
        let mut tree = Self::default();
        for (name, content) in files {
            let id = blob_id(content);
            tree.entries.push(Entry { path: path(name), id, mode: Mode::File });
            tree.blobs.insert(id, content.to_vec());
        }
        tree.entries.sort_by(|a, b| a.path.cmp(&b.path));
        tree
    }
}

impl Tree for MemoryTree {
    fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn read(&self, id: BlobId) -> Result<Vec<u8>, TreeError> {
        self.blobs.get(&id).cloned().ok_or_else(|| TreeError::new(id, "no such blob"))
    }
}

fn blob_id(content: &[u8]) -> BlobId {
    let oid = git2::Oid::hash_object(git2::ObjectType::Blob, content).unwrap();
    BlobId(oid.as_bytes().try_into().unwrap())
}

type Change<T> = Box<dyn FnOnce(&mut T)>;

/// A verification in the making: of a plan to edge-26.8.3, platform, unless said otherwise.
pub struct Case {
    files: BTreeMap<String, String>,
    inventory: Inventory,
    target: Target,
    stage: Stage,
    to: &'static str,
    kubernetes: Option<semver::Version>,
    options: Options,
    catalog: Catalog,
    plan: Option<Change<Plan>>,
    changes: Option<Change<ChangeSet>>,
    after: Option<Change<Inventory>>,
    rendered: Renderings,
}

/// A case in which `linkerd-viz` moves, and is rendered with these objects before and after, on 2026-09-01.
pub fn rendered(before: &str, after: &str) -> Case {
    Case::default().pins(|b| b.chart("mesh.yaml", "linkerd-viz", "2026.8.2")).rendering(before, after)
}

impl Default for Case {
    fn default() -> Self {
        let releases = ["edge-26.8.1", "edge-26.8.2", "edge-26.8.3", "edge-26.9.1"];
        Self {
            files: BTreeMap::new(),
            inventory: Inventory::default(),
            target: Target::default_all(),
            stage: Stage::Platform,
            to: "edge-26.8.3",
            kubernetes: None,
            options: Options::default(),
            catalog: catalog(&releases),
            plan: None,
            changes: None,
            after: None,
            rendered: Renderings::default(),
        }
    }
}

impl Case {
    /// Adds a file; a pin's file that is not given is made of its pins' values, one a line.
    pub fn file(mut self, name: &str, text: &str) -> Self {
        self.files.insert(name.to_owned(), text.to_owned());
        self
    }

    /// Makes the inventory.
    pub fn pins(mut self, build: impl FnOnce(Build) -> Build) -> Self {
        self.inventory = build(Build::default()).inventory();
        self
    }

    /// Plans the data-plane stage.
    pub fn data_plane(self) -> Self {
        Self { stage: Stage::DataPlane, ..self }
    }

    /// Plans for another release.
    pub fn to(self, to: &'static str) -> Self {
        Self { to, ..self }
    }

    /// Adds a rendering of `linkerd-viz`, of an object in `mesh.yaml`, not committed, without values.
    pub fn rendering(mut self, before: &str, after: &str) -> Self {
        let id = |version: &str| ChartId { name: "linkerd-viz".into(), version: version.into() };
        let none = || serde_json::json!({});
        self.rendered.done.push(Rendering {
            path: path("mesh.yaml"),
            line: 1,
            committed: false,
            installed: [Installed::Applied].into(),
            from: id("2026.8.2"),
            to: id("2026.8.3"),
            namespace: "linkerd-viz".into(),
            before: Manifest::parse(before).unwrap().into(),
            after: Manifest::parse(after).unwrap().into(),
            values_before: none(),
            values_after: none(),
            defaults_before: none(),
            defaults_after: none(),
            stand_ins: Vec::new(),
            notes: Vec::new(),
            places: Default::default(),
            difference: Default::default(),
        });
        self
    }

    /// Changes the last rendering.
    pub fn with_rendering(mut self, change: impl FnOnce(&mut Rendering)) -> Self {
        change(self.rendered.done.last_mut().unwrap());
        self
    }

    /// Adds something that could not be rendered.
    pub fn not_rendered(self, cause: impl Into<Cause>) -> Self {
        self.not_rendered_in("mesh.yaml", cause)
    }

    /// The same of a file.
    pub fn not_rendered_in(mut self, file: &str, cause: impl Into<Cause>) -> Self {
        self.rendered.missing.push(NotRendered {
            path: path(file),
            line: Some(1),
            chart: "linkerd-viz".into(),
            files: Vec::new(),
            refused: false,
            cause: cause.into(),
        });
        self
    }

    /// Says of the last of these that only the new version is refused.
    pub fn refused(mut self) -> Self {
        self.rendered.missing.last_mut().unwrap().refused = true;
        self
    }

    /// Configures the cluster's version.
    pub fn kubernetes(self, version: &str) -> Self {
        Self { kubernetes: Some(version.parse().unwrap()), ..self }
    }

    /// Configures the target's paths.
    pub fn target(self, paths: &[&str]) -> Self {
        Self { target: target("t", paths, &[]), ..self }
    }

    /// Changes the options.
    pub fn options(mut self, change: impl FnOnce(&mut Options)) -> Self {
        change(&mut self.options);
        self
    }

    /// Changes the catalog.
    pub fn catalog(mut self, change: impl FnOnce(&mut Catalog)) -> Self {
        change(&mut self.catalog);
        self
    }

    /// Has the plan take a release back.
    pub fn undoing(self, release: &'static str) -> Self {
        self.change_plan(move |plan| {
            let (commit, since) = (CommitId([1; 20]), jiff::Timestamp::UNIX_EPOCH);
            let release = EdgeVersion::from_chart(release).unwrap();
            plan.undoes = Some(Undone { release, commit, since, failure: None });
        })
    }

    /// Changes the plan after it is made.
    pub fn change_plan(self, change: impl FnOnce(&mut Plan) + 'static) -> Self {
        Self { plan: Some(Box::new(change)), ..self }
    }

    /// Changes the change set after it is made.
    pub fn tamper(self, change: impl FnOnce(&mut ChangeSet) + 'static) -> Self {
        Self { changes: Some(Box::new(change)), ..self }
    }

    /// Gives an inventory of the result, as the plan says it, changed.
    pub fn rescanned(self, change: impl FnOnce(&mut Inventory) + 'static) -> Self {
        Self { after: Some(Box::new(change)), ..self }
    }

    /// Runs one check. All others run too, so that no input makes one of them panic.
    pub fn check(self, check: CheckId) -> Vec<Finding> {
        let (all, _) = self.run();
        all.into_iter().find(|o| o.check == check).expect("the check is registered").findings
    }

    /// Runs all checks.
    pub fn findings(self) -> Vec<Finding> {
        self.run().1
    }

    fn run(mut self) -> (Vec<CheckResult>, Vec<Finding>) {
        self.place();
        let tree = MemoryTree::new(self.files.iter().map(|(name, text)| (name.as_str(), text.as_bytes())));
        for pin in &mut self.inventory.pins {
            Arc::make_mut(pin).blob = blob_id(self.files[pin.path.as_str()].as_bytes());
        }
        let (catalog, options, target) = (&self.catalog, &self.options, &self.target);
        let (stage, to, inventory) = (self.stage, edge(self.to), &self.inventory);
        let request =
            Request { inventory, target, stage, to, hop_towards: None, catalog, options, sources: &[] };
        let mut plan = plan(&request).unwrap().expect("something moves");
        let mut changes = splice(&plan, &self.files);
        if let Some(change) = self.plan {
            change(&mut plan);
        }
        if let Some(change) = self.changes {
            change(&mut changes);
        }
        let mut input = Verification {
            base: "main",
            before: &tree,
            inventory,
            plan: &plan,
            changes: &changes,
            after: None,
            target,
            kubernetes: self.kubernetes.as_ref(),
            control_plane: None,
            catalog,
            options,
            rendered: &self.rendered,
            clock: &Clock::new("2026-09-01T00:00:00Z".parse().unwrap()),
        };
        let mut after = input.projected().into_owned();
        if let Some(change) = self.after {
            change(&mut after);
            input.after = Some(&after);
        }
        let all = outcomes(&input);
        assert!(all.iter().all(|o| !o.looked_at.is_empty() && o.findings.iter().all(is_complete)));
        (all, verify(&input))
    }

    /// Finds each pin's value in its file and sets span, line and column.
    fn place(&mut self) {
        let given: Vec<String> = self.files.keys().cloned().collect();
        for pin in self.inventory.pins().filter(|p| !given.contains(&p.path.to_string())) {
            let text = self.files.entry(pin.path.to_string()).or_default();
            text.push_str(&format!("v{}: {}\n", text.lines().count(), pin.value));
        }
        let mut seen: BTreeMap<(RepoPath, String), usize> = BTreeMap::new();
        for pin in &mut self.inventory.pins {
            let text = &self.files[pin.path.as_str()];
            let nth = seen.entry((pin.path.clone(), pin.value.clone())).or_default();
            let pin = Arc::make_mut(pin);
            let (start, _) = text.match_indices(&pin.value).nth(*nth).expect("the value is in the file");
            *nth += 1;
            pin.site.span = start..start + pin.value.len();
            pin.site.line = 1 + text[..start].matches('\n').count();
            pin.site.column = 1 + start - text[..start].rfind('\n').map_or(0, |n| n + 1);
        }
    }
}

/// A finding must be worth reading: a sentence without a full stop, and a fix where something is to be done.
fn is_complete(finding: &Finding) -> bool {
    !finding.reason.is_empty()
        && !finding.reason.ends_with('.')
        && (finding.severity == Severity::Info || finding.hint.is_some())
}

fn splice(plan: &Plan, files: &BTreeMap<String, String>) -> ChangeSet {
    let mut after = files.clone();
    for Move { pin, new } in plan.moves.iter().rev() {
        let new = match new {
            NewText::Fixed(text) | NewText::Rendered(text) => text.clone(),
            NewText::Gone => String::new(),
            NewText::LockDigest => format!("sha256:{}", "ab".repeat(32)),
        };
        after.get_mut(pin.path.as_str()).unwrap().replace_range(pin.site.span.clone(), &new);
    }
    let changed = after.into_iter().filter(|(name, text)| files[name] != *text);
    let file = |(name, text): (String, String)| FileChange {
        path: path(&name),
        mode: Mode::File,
        before_id: Some(blob_id(files[&name].as_bytes())),
        before: files[&name].clone().into_bytes(),
        after: Some(text.into_bytes()),
        rendered: false,
    };
    ChangeSet { files: changed.map(file).collect() }
}

/// Returns the weights of findings.
pub fn severities(findings: &[Finding]) -> Vec<Severity> {
    findings.iter().map(|f| f.severity).collect()
}
