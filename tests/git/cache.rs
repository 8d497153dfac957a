//! The bare repository beside a remote: broken, shared, hostile, not there.

use super::*;

#[test]
fn a_broken_cache_is_made_again() {
    let scene = Scene::new();
    let cache = TempDir::new().unwrap();
    let head = base(&scene.cached(cache.path()));
    let folder = std::fs::read_dir(cache.path().join("git")).unwrap();
    let repo = folder.filter_map(Result::ok).map(|e| e.path()).find(|p| p.is_dir()).unwrap();
    let breakages: [&dyn Fn(); 5] = [
        &|| std::fs::remove_file(repo.join("HEAD")).unwrap(),
        &|| std::fs::write(repo.join("config"), "[core\nbroken").unwrap(),
        &|| std::fs::remove_dir_all(repo.join("objects")).unwrap(),
        &|| {
            for entry in std::fs::read_dir(repo.join("objects/pack")).unwrap() {
                let path = entry.unwrap().path();
                std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
                let bytes = std::fs::read(&path).unwrap();
                std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
            }
        },
        &|| {
            std::fs::remove_dir_all(&repo).unwrap();
            std::fs::write(&repo, "a file in its place").unwrap();
        },
    ];
    for (n, damage) in breakages.iter().enumerate() {
        damage();
        let remote = scene.cached(cache.path());
        assert_eq!(base(&remote), head, "breakage {n}");
        let tree = remote.tree(head).unwrap();
        for entry in tree.entries() {
            tree.read(entry.id).unwrap_or_else(|e| panic!("breakage {n}: {e}"));
        }
        drop(remote);
        git(&repo, &["cat-file", "-e", &format!("{head}^{{tree}}")]);
    }
}

#[test]
fn a_cache_that_is_locked_for_a_moment_is_used() {
    let scene = Scene::new();
    let cache = TempDir::new().unwrap();
    base(&scene.cached(cache.path()));
    let mut files = std::fs::read_dir(cache.path().join("git")).unwrap().map(|e| e.unwrap().path());
    let lock = files.find(|path| path.extension().is_some_and(|end| end == "lock")).unwrap();
    let lock = std::fs::File::open(lock).unwrap();
    lock.lock().unwrap();
    let holder = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(30));
        drop(lock);
    });
    scene.lines();
    base(&scene.cached(cache.path()));
    holder.join().unwrap();
    assert!(
        !scene.lines().iter().any(|line| line.starts_with("POST")),
        "what is in the cache is not fetched"
    );
}

#[test]
fn a_cache_that_lost_an_old_pack_is_made_again() {
    let scene = Scene::new();
    let cache = TempDir::new().unwrap();
    base(&scene.cached(cache.path()));
    let packs = std::fs::read_dir(cache.path().join("git")).unwrap().filter_map(Result::ok);
    let packs = packs.map(|e| e.path().join("objects/pack")).find(|p| p.is_dir()).unwrap();
    let old: Vec<_> = std::fs::read_dir(&packs).unwrap().map(|e| e.unwrap().path()).collect();
    scene.repo.commit("main", &ADA, "More", &[put("b.txt", "new\n"), put("a/new.yaml", "x\n")]);
    let head = base(&scene.cached(cache.path()));
    old.iter().for_each(|path| std::fs::remove_file(path).unwrap());

    // The commit and all of its folders are in the new pack; `a/crds.yaml` was only in the old one.
    let remote = scene.cached(cache.path());
    assert_eq!(base(&remote), head);
    let tree = remote.tree(head).unwrap();
    assert!(tree.entries().iter().all(|e| tree.read(e.id).is_ok()));
}

#[test]
fn two_at_once_do_not_share_a_cache_and_no_secret_is_stored() {
    let scene = Scene::new();
    scene.server.gate().allow("t0ken-5ecret", "bot", Access::Write);
    let cache = TempDir::new().unwrap();
    let options = || RemoteOptions {
        cache: Some(cache.path().to_owned()),
        token: Some("t0ken-5ecret".to_owned().into()),
        ..RemoteOptions::default()
    };
    let (one, two) = (scene.with(options()), scene.with(options()));
    let onto = base(&one);
    let b = bump(&two);
    let mut folders = std::fs::read_dir(cache.path().join("git")).unwrap().map(|e| e.unwrap().path());
    let objects = folders.find(|path| path.is_dir()).unwrap().join("objects");
    let commit = b.to_string();
    let (folder, name) = commit.split_at(2);
    assert!(!objects.join(folder).join(name).exists(), "the second has a place of its own");
    let a = bump(&one);
    assert_eq!(base(&two), onto);
    assert_eq!(a, b, "the same inputs make the same commit");
    one.push(&update(None, Some(a))).unwrap();
    two.push(&update(None, Some(b))).unwrap();
    assert_eq!(tip(&scene.repo, BRANCH), Some(a));
    drop((one, two));

    let mut stack = vec![cache.path().to_owned()];
    while let Some(folder) = stack.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                stack.push(path);
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            for secret in ["5ecret", "x-access-token", "dDBrZW4"] {
                let found = bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
                assert!(!found, "{secret} in {}", path.display());
            }
        }
    }
}

#[test]
fn what_stands_in_a_cache_s_configuration_has_no_say() {
    let scene = Scene::new();
    let cache = TempDir::new().unwrap();
    base(&scene.cached(cache.path()));
    let folders = std::fs::read_dir(cache.path().join("git")).unwrap().filter_map(Result::ok);
    let repo = folders.map(|e| e.path()).find(|p| p.is_dir()).unwrap();
    let url = scene.server.url(NAME);
    git(&repo, &["config", "url.http://127.0.0.1:1/.insteadOf", &url]);
    git(&repo, &["config", "http.proxy", "http://127.0.0.1:1"]);
    let head = id(scene.repo.commit("main", &ADA, "More", &[put("b.txt", "new\n")]));
    let remote = scene.cached(cache.path());
    assert_eq!(base(&remote), head);
    let ours = bump(&remote);
    remote.push(&update(None, Some(ours))).unwrap();
}

#[test]
fn a_cache_that_cannot_be_written_is_done_without() {
    let scene = Scene::new();
    let file = tempfile::NamedTempFile::new().unwrap();
    let remote = scene.cached(file.path());
    assert_eq!(base(&remote), tip(&scene.repo, "main").unwrap());
}
