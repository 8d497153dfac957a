//! Scan, plan and edit in one round over whole repositories, as they are and damaged: what moves is only what was
//! planned, and a second round moves nothing.

use std::{collections::BTreeSet, path::PathBuf};

use proptest::prelude::*;
use uplinker::{
    edit::{EditError, apply},
    linkerd::EdgeVersion,
    pins::{Inventory, Pin, PinKind, ScanOptions, Stage, scan},
    plan::{Options, Plan, Request, Target, plan},
    release::Catalog,
    repo::{ChangeSet, Overlay, Tree},
};

use crate::{scan::repositories, support::tree::MemoryTree};

/// What a round made of a stage.
struct Round {
    inventory: Inventory,
    plan: Plan,
    outcome: Result<ChangeSet, EditError>,
}

fn target() -> EdgeVersion {
    "edge-26.8.3".parse().unwrap()
}

/// Scans, plans and edits one stage; `None` where nothing is to move.
fn round(tree: &dyn Tree, stage: Stage) -> Option<Round> {
    let mut inventory = scan(tree, &ScanOptions::default()).unwrap();
    // Those are rendered again, not edited.
    inventory.pins.retain(|p| p.kind != PinKind::RenderedManifest);
    let (whole, catalog, options) = (Target::default_all(), Catalog::default(), Options::default());
    let request = Request {
        inventory: &inventory,
        target: &whole,
        stage,
        to: target(),
        hop_towards: None,
        sources: &[],
        catalog: &catalog,
        options: &options,
    };
    let plan = plan(&request).ok().flatten()?;
    let outcome = apply(&plan, tree);
    Some(Round { inventory, plan, outcome })
}

/// Checks that lines differ only where a pin of the plan stands, and there only by that pin.
fn changes_only_pins(round: &Round, changes: &ChangeSet) -> Result<(), String> {
    let planned: BTreeSet<(&str, usize)> =
        round.plan.moves.iter().map(|m| &m.pin).map(|p| (p.path.as_str(), p.site.line)).collect();
    for file in &changes.files {
        let after = file.after.as_deref().ok_or("a file was removed")?;
        let lines =
            |bytes: &[u8]| -> Vec<Vec<u8>> { bytes.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect() };
        let (old, new) = (lines(&file.before), lines(after));
        if old.len() != new.len() {
            return Err(format!("{}: {} lines became {}", file.path, old.len(), new.len()));
        }
        for (number, (old, new)) in (1..).zip(old.iter().zip(&new)) {
            // A pin may begin on the line before the one that its bytes stand on, in a folded or block scalar.
            let near = (number - 1..=number).any(|n| planned.contains(&(file.path.as_str(), n)));
            if old != new && !near {
                return Err(format!("{}:{number} has no pin and changed", file.path));
            }
        }
    }
    Ok(())
}

fn rounds(tree: &MemoryTree, name: &str, strict: bool) -> Result<(), String> {
    for stage in [Stage::Platform, Stage::DataPlane] {
        let Some(first) = round(tree, stage) else { continue };
        let changes = match &first.outcome {
            Ok(changes) => changes,
            // A refusal leaves everything as it was; an undamaged repository gives none.
            Err(error) if strict => return Err(format!("{name}: {error}")),
            Err(_) => continue,
        };
        changes_only_pins(&first, changes).map_err(|e| format!("{name}: {e}"))?;
        let after = Overlay::new(tree, changes);
        if let Some(second) = round(&after, stage) {
            let again = second.plan.moves.iter().map(|m| &m.pin);
            let again: Vec<String> =
                again.map(|p| format!("{}:{} {:?} {}", p.path, p.site.line, p.kind, p.value)).collect();
            return Err(format!("{name}: a second round moves {again:?}"));
        }
        // Manifests that are rendered again stay here, and what guards them has nothing to agree with then.
        let guards_rendering = |p: &Pin| p.kind == PinKind::Image && p.chart.is_none() && p.stays.is_none();
        let is_counted =
            |p: &&Pin| !matches!(p.kind, PinKind::Other | PinKind::RenderedManifest) && !guards_rendering(p);
        let count = |inventory: &Inventory| inventory.pins().filter(is_counted).count();
        let then = scan(&after, &ScanOptions::default()).unwrap();
        if strict && count(&first.inventory) != count(&then) {
            return Err(format!("{name}: {} pins became {}", count(&first.inventory), count(&then)));
        }
    }
    Ok(())
}

fn name(repository: &std::path::Path) -> String {
    repository.file_name().unwrap().to_string_lossy().into_owned()
}

#[test]
fn a_round_makes_every_move_and_a_second_makes_none() {
    let mut made = 0;
    for repository in repositories() {
        let tree = MemoryTree::read(&repository.join("before"));
        rounds(&tree, &name(&repository), true).unwrap();
        made += usize::from(round(&tree, Stage::Platform).is_some());
    }
    assert!(made >= 20, "only {made} repositories had anything to move");
}

/// What people and merges leave behind in files.
const JUNK: [&str; 24] = [
    "# uplinker: hold\n",
    "&a ",
    "*a",
    "{{ x }}",
    "'",
    "\"",
    "|\n",
    "\t",
    "\u{feff}",
    "---\n",
    "}",
    "]\n",
    "edge-26.8.2",
    "!!int ",
    "<<: *a\n",
    "? ",
    "\r",
    "\u{2028}",
    "${x:=2026.8.2}",
    "...\n",
    "%YAML 1.1\n",
    ">-\n",
    "2026.8.2",
    " #",
];

/// Damages a text at a place given as a fraction.
fn damaged(bytes: &[u8], how: usize, at: f64, junk: usize) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
    if lines.is_empty() {
        return JUNK[junk].as_bytes().to_vec();
    }
    let line = ((lines.len() as f64 * at) as usize).min(lines.len() - 1);
    let byte = ((bytes.len() as f64 * at) as usize).min(bytes.len());
    match how {
        0 => drop(lines.remove(line)),
        1 => lines.insert(line, lines[line].clone()),
        2 => lines.swap(line, junk % (line + 1)),
        3 => lines[line].splice(0..0, b"  ".iter().copied()).for_each(drop),
        4 => lines[line] = lines[line].iter().copied().skip_while(|b| *b == b' ').collect(),
        5 => {
            let mut text = bytes.to_vec();
            text.splice(byte..byte, JUNK[junk].bytes());
            return text;
        }
        6 => {
            let mut text = bytes.to_vec();
            if byte < text.len() {
                text[byte] = JUNK[junk].as_bytes()[0];
            }
            return text;
        }
        _ => lines.insert(line, JUNK[junk].as_bytes().to_vec()),
    }
    lines.concat()
}

fn any_repository() -> impl Strategy<Value = PathBuf> {
    proptest::sample::select(repositories())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn damaged_repositories_are_edited_with_proof_or_not_at_all(
        repository in any_repository(),
        damages in proptest::collection::vec((any::<prop::sample::Index>(), 0..8_usize, 0.0..1.0_f64, 0..JUNK.len()), 1..6),
    ) {
        let mut tree = MemoryTree::read(&repository.join("before"));
        for (file, how, at, junk) in &damages {
            let id = file.get(&tree.entries).id;
            let bytes = tree.blobs.get_mut(&id).unwrap();
            *bytes = damaged(bytes, *how, *at, *junk);
        }
        let done = rounds(&tree, &name(&repository), false);
        prop_assert!(done.is_ok(), "{}", done.unwrap_err());
    }
}
