//! A cache that cannot be written, is full, or was damaged in any way: the same result, or a clear error.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::{
    place::{Place, complete, settled},
    scenario::{self, Scenario, touch_base},
};
use crate::support::scene::{REPO, Scene, TOKEN};

/// A newer release and a moved base: the run has to fetch into the cache of the run before.
const FETCHING: Scenario = scenario::NEWER;

fn set() -> Scene {
    let (scene, _) = FETCHING.set();
    touch_base(&scene);
    scene
}

fn clean() -> Place {
    let scene = set();
    complete(&scene);
    Place::of(&scene)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap().filter_map(Result::ok) {
        match entry.file_type().unwrap().is_dir() {
            true => all.extend(files(&entry.path())),
            false => all.push(entry.path()),
        }
    }
    all.sort();
    all
}

/// Writes also where the owner made a file that is only read, as Git makes its packs.
fn overwrite(file: &Path, bytes: &[u8]) {
    let _ = fs::remove_file(file);
    fs::write(file, bytes).unwrap();
}

/// Bytes that look random and are the same each time.
fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..length).map(|_| next()).collect()
}

/// Damages the cache of a scene, runs, and compares with a run that had a sound one.
fn damaged(name: &str, clean: &Place, damage: impl Fn(&Path)) {
    let scene = set();
    let cache = scene.home.cache();
    assert!(files(&cache).iter().any(|f| f.extension().is_some_and(|e| e == "pack")), "there is a cache");
    damage(&cache);
    let done = complete(&scene);
    assert_eq!(Place::of(&scene), *clean, "{name}\n{done}");
}

fn each(cache: &Path, of: impl Fn(&Path) -> bool, act: impl Fn(usize, &Path, Vec<u8>)) {
    let mut hit = 0;
    for (n, file) in files(cache).iter().enumerate().filter(|(_, file)| of(file)) {
        act(n, file, fs::read(file).unwrap());
        hit += 1;
    }
    assert!(hit > 0, "something is damaged");
}

fn is(extension: &'static str) -> impl Fn(&Path) -> bool {
    move |file| file.extension().is_some_and(|e| e == extension)
}

#[test]
fn a_damaged_cache_changes_nothing() {
    let clean = clean();
    damaged("all cut in half", &clean, |cache| {
        each(cache, |_| true, |_, file, bytes| overwrite(file, &bytes[..bytes.len() / 2]));
    });
    damaged("all empty", &clean, |cache| each(cache, |_| true, |_, file, _| overwrite(file, b"")));
    damaged("all noise", &clean, |cache| {
        each(cache, |_| true, |n, file, bytes| overwrite(file, &noise(bytes.len().max(64), n as u64)));
    });
    damaged("noise in the packs' middle", &clean, |cache| {
        each(cache, is("pack"), |n, file, mut bytes| {
            let (start, end) = (bytes.len() / 4, bytes.len() * 3 / 4);
            bytes[start..end].copy_from_slice(&noise(end - start, n as u64));
            overwrite(file, &bytes);
        });
    });
    damaged("packs without their indexes", &clean, |cache| {
        each(cache, is("idx"), |_, file, _| fs::remove_file(file).unwrap());
    });
    damaged("indexes without their packs", &clean, |cache| {
        each(cache, is("pack"), |_, file, _| fs::remove_file(file).unwrap());
    });
    damaged("locks left by a killed Git", &clean, |cache| {
        each(
            cache,
            |file| {
                file.to_string_lossy().contains("refs/uplinker")
                    || file.ends_with("HEAD")
                    || file.ends_with("shallow")
            },
            |_, file, _| {
                let mut name = file.as_os_str().to_owned();
                name.push(".lock");
                fs::write(PathBuf::from(name), b"").unwrap();
            },
        );
    });
    damaged("a file in the place of every folder", &clean, |cache| {
        fs::remove_dir_all(cache).unwrap();
        fs::write(cache, b"not a folder").unwrap();
    });
    damaged("gone", &clean, |cache| fs::remove_dir_all(cache).unwrap());
}

#[test]
fn one_flipped_byte_anywhere_in_a_pack_changes_nothing() {
    let clean = clean();
    for part in 0..9 {
        damaged(&format!("flipped at {part}/9"), &clean, |cache| {
            each(cache, is("pack"), |_, file, mut bytes| {
                let at = (bytes.len() - 1) * part / 9;
                bytes[at] ^= 0x55;
                overwrite(file, &bytes);
            });
        });
    }
}

#[test]
fn a_cache_that_cannot_be_made_is_done_without() {
    let clean = clean();
    let scene = set();
    let done = scene.run().env("XDG_CACHE_HOME", "/dev/null/cache").done().exits(0);
    assert_eq!(Place::of(&scene), clean, "{done}");
    // No temporary folder either: there is no place to work, and that is said.
    let scene = set();
    let before = Place::of(&scene);
    let run = scene.run().env("XDG_CACHE_HOME", "/dev/null/cache").env("TMPDIR", "/dev/null/tmp");
    let done = run.done().exits(1).complains(&["temporary folder"]);
    assert_eq!(Place::of(&scene), before, "{done}");
    settled_after(&scene, &clean);
}

fn settled_after(scene: &Scene, clean: &Place) {
    complete(scene);
    assert_eq!(Place::of(scene), *clean);
    settled(scene);
}

/// Runs under a limit on the size of every file, where a write fails as on a full disk.
fn run_with_room(scene: &Scene, blocks: usize) -> (Option<i32>, String) {
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    let output = Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_uplinker"), "run", "--repo", &scene.github.url(REPO)])
        .args(scene.feed.flags())
        .args(["--forge", "github"])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", scene.home.path())
        .env("XDG_CACHE_HOME", scene.home.cache())
        .env("TMPDIR", scene.home.path())
        .env("UPLINKER_TOKEN", TOKEN)
        .env("UPLINKER_HELM", "off")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_full_disk_ends_in_a_clear_error_or_does_not_matter() {
    let clean = clean();
    let mut failed = 0;
    for blocks in [0, 1, 2, 3, 4, 8, 4096] {
        let scene = set();
        // A first cache is made under the limit as well.
        if blocks % 2 == 0 {
            scene.home.forget();
        }
        let before = Place::of(&scene);
        let (code, said) = run_with_room(&scene, blocks);
        match code {
            Some(0) => assert_eq!(Place::of(&scene), clean, "{blocks}\n{said}"),
            Some(1 | 5) => {
                failed += 1;
                assert!(said.starts_with("error: "), "{blocks}\n{said}");
                assert_eq!(Place::of(&scene), before, "{blocks}: nothing is half done\n{said}");
            }
            other => panic!("{blocks}: {other:?}\n{said}"),
        }
        settled_after(&scene, &clean);
    }
    assert!((1..7).contains(&failed), "some limits are too tight and some are not: {failed}");
}
