//! Whole texts of pull requests, as the fake GitHub received them from the built program over real repositories and
//! charts, compared byte for byte with the files in `tests/bodies/`. After a wanted change, write them anew with
//!
//! ```sh
//! BLESS=1 cargo test --test main bodies::
//! ```
//!
//! and look at them: `scripts/body-pictures` takes pictures of the pages that these tests leave below `target/`.

mod files;
mod page;
mod situations;
mod world;

use std::{collections::BTreeSet, fs, path::PathBuf};

use crate::support::expected;

/// One test and one file for each function of `situations`.
macro_rules! bodies {
    ($($name:ident),* $(,)?) => {
        const NAMES: &[&str] = &[$(stringify!($name)),*];
        $(
            #[test]
            fn $name() {
                compare(stringify!($name), &situations::$name());
            }
        )*
    };
}

bodies!(
    one_step_bump,
    nothing_but_the_version,
    twenty_releases_at_once,
    blocked,
    changed_by_hand,
    many_origins,
    huge_crd_change,
    advised_against,
    required_stop,
    umbrella_chart,
    first_pull_request,
    declined_earlier,
    promotion,
    held_target,
    overview_issue,
    rollback,
    data_plane,
    wave,
    rendered_manifests,
    without_helm,
    kept_for_a_person,
);

fn path(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/bodies");
    folder.join(format!("{}.md", name.replace('_', "-")))
}

fn compare(name: &str, body: &str) {
    let path = path(name);
    let page = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("bodies");
    fs::create_dir_all(&page).unwrap();
    fs::write(page.join(path.with_extension("html").file_name().unwrap()), page::html(body)).unwrap();
    let faults = page::faults(body);
    assert!(faults.is_empty(), "{name}: {faults:#?}");
    expected::text(&path, body);
}

#[test]
fn each_file_is_of_a_situation() {
    let expected: BTreeSet<PathBuf> = NAMES.iter().map(|name| path(name)).collect();
    let folder = path("x").parent().unwrap().to_owned();
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let found: BTreeSet<PathBuf> = files.filter(|p| p.extension().is_some_and(|e| e == "md")).collect();
    // Files that are about to be written may not be there yet.
    assert!(found == expected || expected::blessed(), "{found:?} {expected:?}");
}
