//! Branches and commits that are read over HTTP, and servers that refuse, lie or fall silent.

use super::*;

#[test]
fn branches_cost_one_request_also_with_a_token() {
    let scene = Scene::new();
    scene.server.gate().allow("t0ken", "bot", Access::Write);
    scene.repo.rename_branch("main", "trunk");
    let remote = scene.with_token("t0ken");
    let refs = remote.refs().unwrap();
    assert_eq!(refs.default_branch.as_deref(), Some("trunk"));
    assert_eq!(refs.branches["trunk"], tip(&scene.repo, "trunk").unwrap());
    assert_eq!(scene.lines(), ["GET /info/refs?service=git-upload-pack"]);
}

#[test]
fn an_empty_repository_has_no_branches() {
    let server = GitServer::start();
    BareRepo::empty(server.path_of(NAME), "main");
    let http = http();
    let refs = GitRemote::open(&server.url(NAME), RemoteOptions::default(), &http).unwrap().refs().unwrap();
    assert_eq!((refs.default_branch, refs.branches.len()), (None, 0));
}

#[test]
fn a_fetch_is_one_commit_and_what_is_here_is_not_asked_for() {
    let scene = Scene::new();
    for n in 0..20 {
        scene.repo.commit("main", &ADA, "More", &[put("b.txt", &format!("{n}\n"))]);
    }
    let cache = TempDir::new().unwrap();
    let remote = scene.cached(cache.path());
    let head = base(&remote);
    let info = remote.commit(head).unwrap();
    assert_eq!(info.parents, [id(scene.repo.parents("main")[0])], "the real parent, though it is not here");
    assert!(remote.commit(info.parents[0]).is_err());
    assert_eq!(info.message, "More");
    assert_eq!(remote.tree(head).unwrap().entries().len(), 2);
    let first = scene.lines();
    assert!(first.len() >= 3 && first.iter().all(|line| line.contains("upload-pack")), "{first:?}");
    drop(remote);

    let again = scene.cached(cache.path());
    assert_eq!(base(&again), head);
    assert_eq!(scene.lines(), ["GET /info/refs?service=git-upload-pack"], "a warm cache fetches nothing");
}

#[test]
fn a_moved_base_brings_only_what_is_new() {
    let scene = Scene::new();
    // Text that does not compress, so that bytes can be compared.
    let mut seed = 1_u64;
    let noise: String = std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        format!("{seed:x}")
    })
    .take(20_000)
    .collect();
    scene.repo.commit("main", &ADA, "Big", &[put("big.txt", &noise)]);
    let cache = TempDir::new().unwrap();
    base(&scene.cached(cache.path()));
    let bytes = |scene: &Scene| scene.server.controls().log.take().iter().map(|e| e.bytes_out).sum::<usize>();
    let whole = bytes(&scene);
    scene.repo.commit("main", &ADA, "Small", &[put("b.txt", "new\n")]);
    let remote = scene.cached(cache.path());
    let head = base(&remote);
    assert_eq!(remote.tree(head).unwrap().entries().len(), 3);
    let part = bytes(&scene);
    assert!(part * 20 < whole, "{part} of {whole} bytes");
}

#[test]
fn a_branch_that_moved_between_list_and_fetch_is_told() {
    let scene = Scene::new();
    let remote = scene.open();
    let refs = remote.refs().unwrap();
    scene.repo.commit("main", &ADA, "Meanwhile", &[put("b.txt", "x")]);
    let error = remote.fetch(&[("main", refs.branches["main"])]).unwrap_err();
    assert!(matches!(error, GitError::Moved { branch } if branch == "main"));
}

#[test]
fn odd_names_links_and_submodules_are_only_listed() {
    let scene = Scene::new();
    let submodule = Oid::from_bytes(&[7; 20]).unwrap();
    scene.repo.commit(
        "main",
        &ADA,
        "Odd",
        &[
            Change::Link("link.yaml", "../../etc/passwd"),
            Change::Submodule("vendor/sub", submodule),
            Change::PutExecutable("run me.sh", b"#!/bin/sh\n"),
            put("größe/名前 🚀.yaml", "a: 1\n"),
        ],
    );
    let raw = scene.repo.open();
    let commit = raw.find_commit(scene.repo.tip("main").unwrap()).unwrap();
    let mut bytes = raw.odb().unwrap().read(commit.tree_id()).unwrap().data().to_vec();
    bytes.extend_from_slice(b"100644 z\xff.yaml\0");
    bytes.extend_from_slice(raw.blob(b"linkerd").unwrap().as_bytes());
    let tree = raw.odb().unwrap().write(git2::ObjectType::Tree, &bytes).unwrap();
    let text = format!(
        "tree {tree}\nparent {}\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nOdd",
        commit.id()
    );
    let odd = raw.odb().unwrap().write(git2::ObjectType::Commit, text.as_bytes()).unwrap();
    scene.repo.set_tip("main", odd);

    let remote = scene.open();
    let head = base(&remote);
    let tree = remote.tree(head).unwrap();
    let modes: Vec<_> = tree.entries().iter().map(|e| (e.path.as_str(), e.mode)).collect();
    assert_eq!(
        modes,
        [
            ("a/crds.yaml", Mode::File),
            ("b.txt", Mode::File),
            ("größe/名前 🚀.yaml", Mode::File),
            ("link.yaml", Mode::Symlink),
            ("run me.sh", Mode::Executable),
            ("vendor/sub", Mode::Submodule),
        ]
    );
    assert_eq!(tree.odd_names(), ["z\u{fffd}.yaml"]);

    // They all survive a commit of ours, byte for byte.
    let ours =
        write(&remote, head, vec![change(&remote, head, "run me.sh", Some("#!/bin/sh\n:\n"))]).unwrap();
    remote.push(&update(None, Some(ours))).unwrap();
    let old = raw.find_tree(tree_of(&raw, odd)).unwrap();
    let new = raw.find_tree(tree_of(&raw, scene.repo.tip(BRANCH).unwrap())).unwrap();
    let diff = raw.diff_tree_to_tree(Some(&old), Some(&new), None).unwrap();
    assert_eq!(diff.deltas().len(), 1);
    assert_eq!(new.get_name("run me.sh").unwrap().filemode(), 0o100_755);
    let refused = change(&remote, head, "link.yaml", Some("x"));
    assert!(write(&remote, head, vec![refused]).unwrap_err().to_string().contains("no file"));
}

fn tree_of(repo: &git2::Repository, commit: Oid) -> Oid {
    repo.find_commit(commit).unwrap().tree_id()
}

#[test]
fn who_is_at_fault_is_told_when_the_server_refuses() {
    let scene = Scene::new();
    scene.server.gate().allow("reader", "bot", Access::Read);
    let auth = |error: GitError, words: &str| match error {
        GitError::Auth { reason, .. } => assert!(reason.contains(words), "{reason}"),
        other => panic!("{other}"),
    };
    auth(scene.open().refs().unwrap_err(), "none was given");
    auth(scene.with_token("wrong").refs().unwrap_err(), "wrong or has expired");
    // A wrong token is tried once, not over and over.
    scene.lines();
    let _ = scene.with_token("wrong").fetch(&[("main", tip(&scene.repo, "main").unwrap())]).unwrap_err();
    assert!(scene.lines().len() <= 3);

    let reader = scene.with_token("reader");
    let ours = bump(&reader);
    auth(reader.push(&update(None, Some(ours))).unwrap_err(), "Write access to repository not granted");
    assert_eq!(scene.repo.tip(BRANCH), None);

    let gone = scene.server.url("acme/gone");
    let options = RemoteOptions { token: Some("reader".to_owned().into()), ..RemoteOptions::default() };
    let error = GitRemote::open(&gone, options, &scene.http).unwrap().refs().unwrap_err();
    assert!(matches!(&error, GitError::NotFound { url } if *url == gone), "{error}");
}

#[test]
fn what_is_no_git_server_and_what_is_down_are_told() {
    let scene = Scene::new();
    let rules = &scene.server.controls().rules;
    let page = Response::text(200, "<html>Sign in</html>").with("Content-Type", "text/html");
    rules.fault("GET", "*", Fault::Answer(page));
    let error = scene.open().refs().unwrap_err();
    assert!(
        matches!(&error, GitError::Address { reason, .. } if reason.contains("no Git repository")),
        "{error}"
    );
    for fault in [
        Fault::Answer(Response::text(502, "Bad Gateway")),
        Fault::Answer(Response::text(429, "slow down")),
        Fault::DropBefore,
        Fault::CutAnswer(40),
    ] {
        rules.clear();
        // Once is not enough: a read that fails is done once more.
        rules.fault("GET", "*", fault.clone());
        scene.open().refs().unwrap();
        rules.fault_nth("GET", "*", 0, 2, fault.clone());
        let error = scene.open().refs().unwrap_err();
        assert!(matches!(error, GitError::Temporary { .. }), "{fault:?}: {error}");
    }
}

#[test]
fn a_token_does_not_follow_a_redirect_to_another_host() {
    let scene = Scene::new();
    scene.server.gate().allow("t0ken", "bot", Access::Write);
    let elsewhere = Scene::new();
    let to = format!("{}/info/refs?service=git-upload-pack", elsewhere.server.url(NAME));
    let answer = Response::text(301, "").with("Location", to);
    scene.server.controls().rules.fault("GET", "*", Fault::Answer(answer));
    let error = scene.with_token("t0ken").refs().unwrap_err();
    assert!(matches!(&error, GitError::Address { reason, .. } if reason.contains("redirects to")), "{error}");
    assert!(elsewhere.lines().is_empty(), "the other host heard nothing");
}

#[test]
fn a_server_that_redirects_over_and_over_is_told() {
    let scene = Scene::new();
    let answer = Response::text(301, "").with("Location", "/acme/config.git/info/refs");
    scene.server.controls().rules.fault_nth("GET", "*", 0, usize::MAX, Fault::Answer(answer));
    let error = scene.open().refs().unwrap_err();
    assert!(
        matches!(&error, GitError::Address { reason, .. } if reason.contains("over and over")),
        "{error}"
    );
    assert_eq!(scene.lines().len(), 4, "it asks once and follows three times");
}

#[test]
fn a_renamed_repository_is_followed_on_its_host() {
    let scene = Scene::new();
    scene.server.gate().allow("t0ken", "bot", Access::Write);
    let answer =
        Response::text(301, "").with("Location", "/acme/config.git/info/refs?service=git-upload-pack");
    scene.server.controls().rules.fault("GET", "/acme/old.git/*", Fault::Answer(answer));
    let options = RemoteOptions { token: Some("t0ken".to_owned().into()), ..RemoteOptions::default() };
    let remote = GitRemote::open(&scene.server.url("acme/old"), options, &scene.http).unwrap();
    let ours = bump(&remote);
    remote.push(&update(None, Some(ours))).unwrap();
    assert_eq!(tip(&scene.repo, BRANCH), Some(ours));
    assert_eq!(remote.url(), scene.server.url(NAME));
}

#[test]
fn a_server_that_goes_silent_in_mid_pack_ends_by_the_time_limit() {
    let scene = Scene::new();
    // Only a read that fails quickly is done once more, and a silence is not quick.
    scene.server.controls().rules.fault("POST", "*/git-upload-pack", Fault::Silent(60));
    let start = Instant::now();
    let remote = scene.open();
    let head = remote.refs().unwrap().branches["main"];
    let error = remote.fetch(&[("main", head)]).unwrap_err();
    assert!(matches!(error, GitError::Temporary { .. }), "{error}");
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    // Nothing half done: the next try is whole.
    remote.fetch(&[("main", head)]).unwrap();
    assert_eq!(remote.tree(head).unwrap().entries().len(), 2);
}

#[test]
fn a_fetch_over_its_ceilings_ends() {
    let scene = Scene::new();
    let limits = Limits { pack_bytes: 10, ..Limits::default() };
    let remote = scene.with(RemoteOptions { limits, ..RemoteOptions::default() });
    let head = remote.refs().unwrap().branches["main"];
    let error = remote.fetch(&[("main", head)]).unwrap_err();
    assert!(error.to_string().contains("more than 10 bytes"), "{error}");

    let slow = Fault::Slow { bytes: 40, pause: Duration::from_millis(200) };
    scene.server.controls().rules.fault_nth("POST", "*/git-upload-pack", 0, usize::MAX, slow);
    let limits = Limits { time: Duration::from_millis(500), ..Limits::default() };
    let remote = scene.with(RemoteOptions { limits, ..RemoteOptions::default() });
    let error = remote.fetch(&[("main", head)]).unwrap_err();
    assert!(matches!(&error, GitError::Temporary { reason, .. } if reason.contains("not done")), "{error}");
}

/// A server's list of branches of so many bytes, in Git's own form.
fn long_list(tip: Oid, bytes: usize) -> Vec<u8> {
    let line = |text: String| format!("{:04x}{text}", text.len() + 4);
    let mut list = line("# service=git-upload-pack\n".to_owned()) + "0000";
    list += &line(format!("{tip} HEAD\0symref=HEAD:refs/heads/main\n"));
    list += &line(format!("{tip} refs/heads/main\n"));
    let padding = "x".repeat(200);
    while list.len() < bytes {
        let number = list.len();
        list += &line(format!("{tip} refs/tags/{number}-{padding}\n"));
    }
    (list + "0000").into_bytes()
}

#[test]
fn a_list_of_branches_is_read_up_to_its_ceiling() {
    let scene = Scene::new();
    let list = |bytes| {
        let body = long_list(scene.repo.tip("main").unwrap(), bytes);
        let answer = Response { status: 200, body, ..Response::default() };
        Fault::Answer(answer.with("Content-Type", "application/x-git-upload-pack-advertisement"))
    };
    let rules = &scene.server.controls().rules;
    rules.fault("GET", "*", list(31 << 20));
    assert_eq!(scene.open().refs().unwrap().branches.len(), 1);
    rules.fault("GET", "*", list(33 << 20));
    let error = scene.open().refs().unwrap_err();
    assert!(error.to_string().contains("the list of branches is over 32 MiB"), "{error}");
}

/// Of a refusal the beginning is read. This server sends that much and then falls silent with most of it unsent: who
/// wanted all of it would wait, and never tell these words.
#[test]
fn a_refusal_is_read_up_to_its_ceiling() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/{NAME}.git", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut head = [0; 4096];
        let _ = socket.read(&mut head).unwrap();
        let words = format!("The office is closed. {}", "x".repeat(8 << 10));
        let answer =
            "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nContent-Length: 1000000000\r\n\r\n";
        socket.write_all(format!("{answer}{words}").as_bytes()).unwrap();
        // Until the client hangs up.
        let _ = socket.read(&mut head);
    });
    let http = http();
    let error = GitRemote::open(&url, RemoteOptions::default(), &http).unwrap().refs().unwrap_err();
    assert!(
        matches!(&error, GitError::Auth { reason, .. } if reason.contains("The office is closed.")),
        "{error}"
    );
    drop(http);
    server.join().unwrap();
}
