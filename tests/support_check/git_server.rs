//! The Git server and its repositories, asked by `git` and by libgit2.

use super::*;

#[test]
fn a_shallow_clone_and_a_push_work_over_http() {
    let server = GitServer::start();
    let repo = server.repo("acme/config", &[("a.txt", "one\n"), ("b/c.txt", "two\n")]);
    repo.commit("main", &ADA, "Second", &[put("a.txt", "three\n")]);
    let clone = clone_with_commit(&server.url("acme/config"));
    assert_eq!(must(&git(&clone, &["rev-list", "--count", "HEAD"])).trim(), "2", "depth 1 and ours");

    must(&git(&clone, &["push", "--quiet", "origin", "HEAD:refs/heads/uplinker/default/platform"]));

    assert_eq!(repo.read("uplinker/default/platform", "new.txt").as_deref(), Some("new\n"));
    assert_eq!(repo.changed("main", "uplinker/default/platform"), ["new.txt"]);
    assert_eq!(server.controls().writes.count(), 1);
    let log = server.controls().log.entries();
    let push = log.iter().find(|e| e.target.ends_with("/git-receive-pack") && e.method == "POST");
    let push = push.expect("the push is in the log");
    assert_eq!((push.status, push.user.as_deref()), (Some(200), Some("anonymous")));
    assert!(push.bytes_in > 100 && push.bytes_out > 10, "{push:?}");
}

#[test]
fn a_big_push_comes_in_chunks_and_compressed_requests_are_understood() {
    let server = GitServer::start();
    let repo = server.repo("acme/config", &[("a.txt", "one\n")]);
    let clone = clone_with_commit(&server.url("acme/config"));
    // Random-looking bytes, so that the pack is larger than git's buffer and is sent in chunks.
    let mut state = 1u64;
    let noise = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    });
    let noise: Vec<u8> = noise.take(3_000_000).collect();
    std::fs::write(clone.path().join("noise.bin"), &noise).expect("a file");
    must(&git(&clone, &["add", "."]));
    must(&git(&clone, &["commit", "--quiet", "-m", "Add noise"]));
    must(&git(&clone, &["push", "--quiet", "origin", "HEAD:refs/heads/big"]));
    assert_eq!(repo.files("big")["noise.bin"], noise);

    // Many refs make git compress its request for objects.
    for n in 0..200 {
        repo.branch(&format!("b{n}"), "big");
        repo.commit(&format!("b{n}"), &BEN, "Go on", &[put("n.txt", &n.to_string())]);
    }
    must(&git(&clone, &["fetch", "--quiet", "origin", "+refs/heads/*:refs/remotes/origin/*"]));
    assert_eq!(must(&git(&clone, &["show", "origin/b199:n.txt"])).trim(), "199");
}

#[test]
fn tokens_decide_who_may_read_and_push() {
    let server = GitServer::start();
    server.repo("acme/config", &[("a.txt", "one\n")]);
    server.gate().allow("good", "bot", Access::Write);
    server.gate().allow("reader", "reader", Access::Read);
    let url = server.url("acme/config");

    let folder = TempDir::new().expect("a folder");
    let anonymous = git(&folder, &["ls-remote", &url]);
    assert!(says(&anonymous).contains("terminal prompts disabled"), "{}", says(&anonymous));
    let wrong = git(&folder, &["ls-remote", &with_token(&url, "wrong")]);
    assert!(says(&wrong).contains("Authentication failed"), "{}", says(&wrong));
    let gone = git(&folder, &["ls-remote", &with_token(&server.url("acme/gone"), "good")]);
    assert!(says(&gone).contains("not found"), "{}", says(&gone));

    let clone = clone_with_commit(&with_token(&url, "reader"));
    let refused = git(&clone, &["push", "origin", "HEAD:refs/heads/x"]);
    assert!(says(&refused).contains("403"), "{}", says(&refused));
    must(&git(&clone, &["push", "--quiet", &with_token(&url, "good"), "HEAD:refs/heads/x"]));
    let users: Vec<_> = server.controls().log.entries().into_iter().filter_map(|e| e.user).collect();
    assert!(users.contains(&"bot".to_owned()) && users.contains(&"reader".to_owned()), "{users:?}");
}

#[test]
fn hooks_and_rules_refuse_a_push_with_their_words() {
    let server = GitServer::start();
    let repo = server.repo("acme/config", &[("a.txt", "one\n")]);
    let clone = clone_with_commit(&server.url("acme/config"));

    repo.install_hook("pre-receive", "echo 'no deploys on Friday' >&2; exit 1");
    let hook = git(&clone, &["push", "origin", "HEAD:refs/heads/x"]);
    assert!(says(&hook).contains("remote: no deploys on Friday"), "{}", says(&hook));
    assert!(says(&hook).contains("pre-receive hook declined"), "{}", says(&hook));
    repo.remove_hook("pre-receive");

    let refusal = Refusal {
        words: vec!["error: GH013: Repository rule violations found for refs/heads/up/x.".to_owned()],
        reason: "push declined due to repository rule violations".to_owned(),
    };
    server.gate().refuse_pushes("refs/heads/up/", refusal);
    let rule = git(&clone, &["push", "origin", "HEAD:refs/heads/up/x"]);
    assert!(says(&rule).contains("remote: error: GH013: Repository rule"), "{}", says(&rule));
    assert!(says(&rule).contains("(push declined due to repository rule violations)"), "{}", says(&rule));
    assert!(!rule.status.success());
    assert_eq!(repo.tip("up/x"), None);
    must(&git(&clone, &["push", "--quiet", "origin", "HEAD:refs/heads/other"]));
}

#[test]
fn a_branch_can_move_just_before_a_push_arrives() {
    let server = GitServer::start();
    let repo = server.repo("acme/config", &[("a.txt", "one\n")]);
    repo.branch("x", "main");
    let clone = clone_with_commit(&server.url("acme/config"));
    let theirs = Arc::clone(&repo);
    server.controls().rules.before("POST", "*/git-receive-pack", move |_| {
        theirs.commit("x", &BEN, "Faster", &[put("ben.txt", "ben\n")]);
    });
    let late = git(&clone, &["push", "origin", "HEAD:refs/heads/x"]);
    assert!(!late.status.success(), "{}", says(&late));
    assert_eq!(repo.message("x"), "Faster", "what was pushed first stays");
}

#[test]
fn faults_cut_connections_before_and_after_the_effect() {
    let server = GitServer::start();
    let repo = server.repo("acme/config", &[("a.txt", "one\n")]);
    let clone = clone_with_commit(&server.url("acme/config"));
    let push = |branch: &str| git(&clone, &["push", "origin", &format!("HEAD:refs/heads/{branch}")]);
    let rules = &server.controls().rules;

    for (branch, fault, applied) in [
        ("upload", Fault::CutUpload(100), false),
        ("before", Fault::DropBefore, false),
        ("after", Fault::DropAfter, true),
        ("answer", Fault::CutAnswer(10), true),
        ("gateway", Fault::AnswerAfter(Response::text(502, "Bad Gateway")), true),
        ("refused", Fault::Answer(Response::text(502, "Bad Gateway")), false),
    ] {
        // Twice: curl sends a request again when a connection that it reuses breaks without an answer.
        rules.fault_nth("POST", "*/git-receive-pack", 0, 2, fault);
        let output = push(branch);
        rules.clear();
        assert!(!output.status.success(), "{branch}: {}", says(&output));
        assert_eq!(repo.tip(branch).is_some(), applied, "{branch}");
    }
    server.controls().writes.plan(1, WriteFault::LoseAnswer);
    assert!(!push("lost").status.success());
    assert!(repo.tip("lost").is_some());
    must(&push("healthy"));
}

#[test]
fn a_server_can_fall_silent_in_mid_pack_and_still_ends_with_the_test() {
    let server = GitServer::start();
    server.repo("acme/config", &[("a.txt", "one\n")]);
    server.controls().rules.fault("POST", "*/git-upload-pack", Fault::Silent(20));
    let folder = TempDir::new().expect("a folder");
    let mut child = hermetic_git(folder.path())
        .args(["clone", "--quiet", &server.url("acme/config"), "clone"])
        .current_dir(folder.path())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("git runs");
    std::thread::sleep(Duration::from_millis(700));
    assert!(child.try_wait().expect("a status").is_none(), "the client still waits");
    drop(server);
    assert!(!child.wait().expect("an end").success());
}

#[test]
fn repositories_are_reproducible_and_can_do_what_a_forge_does() {
    let make = |folder: &TempDir| {
        let repo = BareRepo::with_files(folder.path().join("r.git"), "trunk", &[("a", "1\n"), ("b", "1\n")]);
        repo.branch("feature", "trunk");
        repo.commit("feature", &BEN, "Change a", &[put("a", "2\n")]);
        repo.commit("trunk", &ADA, "Change b", &[put("b", "2\n")]);
        repo
    };
    let (one, two) = (TempDir::new().expect("a folder"), TempDir::new().expect("a folder"));
    let (repo, same) = (make(&one), make(&two));
    assert_eq!(repo.refs(), same.refs());

    let before = repo.tip("feature").expect("a tip");
    repo.merge("feature", "trunk", &BEN, "Merge branch 'trunk' into feature").expect("no conflict");
    assert_eq!(repo.parents("feature"), [before, repo.tip("trunk").expect("a tip")]);
    assert_eq!(repo.read("feature", "b").as_deref(), Some("2\n"));
    same.amend("feature", &BEN, None, &[put("a", "3\n")]);
    assert!(!same.contains("feature", before), "amended");

    repo.squash("trunk", "feature", &ADA, "Change a (#1)").expect("no conflict");
    assert_eq!((repo.parents("trunk").len(), repo.ahead("feature", "trunk")), (1, 1));
    same.rebase("trunk", "feature", &ADA).expect("no conflict");
    assert_eq!(same.message("trunk"), "Change a");
    same.rename_branch("trunk", "main");
    assert_eq!(same.default_branch(), "main");
    repo.commit("feature", &BEN, "Clash", &[put("a", "x\n")]);
    repo.commit("trunk", &ADA, "Clash too", &[put("a", "y\n")]);
    assert!(repo.merge("feature", "trunk", &BEN, "No").is_err());
}

/// Callbacks of libgit2 that offer one token.
fn offering<'a>(token: &'a str, refused: &'a mut Vec<String>) -> git2::RemoteCallbacks<'a> {
    let mut callbacks = git2::RemoteCallbacks::new();
    let mut asked = 0;
    callbacks.credentials(move |_, _, _| {
        asked += 1;
        if asked > 1 {
            return Err(git2::Error::from_str("the token was refused"));
        }
        git2::Cred::userpass_plaintext("x-access-token", token)
    });
    callbacks.push_update_reference(move |name, status| {
        refused.extend(status.map(|reason| format!("{name}: {reason}")));
        Ok(())
    });
    callbacks
}

#[test]
fn libgit2_fetches_shallow_and_pushes_as_git_does() {
    let (github, repo) = github();
    repo.commit("main", &ADA, "Second", &[put("a.txt", "1\n")]);
    let folder = TempDir::new().expect("a folder");
    let local = git2::Repository::init_bare(folder.path()).expect("a repository");
    let mut remote = local.remote_anonymous(&github.url(REPO)).expect("a remote");
    let mut refused = Vec::new();

    let mut fetch = |token: &str| {
        let mut none = Vec::new();
        let mut options = git2::FetchOptions::new();
        options.depth(1).remote_callbacks(offering(token, &mut none));
        remote.fetch(&["+refs/heads/main:refs/remotes/main"], Some(&mut options), None)
    };
    assert!(fetch("wrong").is_err());
    fetch("secret").expect("a fetch");
    let tip = local.refname_to_id("refs/remotes/main").expect("the tip");
    assert_eq!(Some(tip), repo.tip("main"));
    assert!(local.is_shallow(), "one commit only");

    let tip = local.find_commit(tip).expect("a commit");
    let who = git2::Signature::new("Bot", "bot@example.com", &git2::Time::new(0, 0)).expect("a signature");
    let made = local.commit(None, &who, &who, "Ours", &tip.tree().expect("its tree"), &[&tip]);
    let made = made.expect("a commit");
    local.reference("refs/heads/ours", made, true, "").expect("a ref");
    let push = |target: &str, refused: &mut Vec<String>| {
        let mut remote = local.remote_anonymous(&github.url(REPO)).expect("a remote");
        let mut options = git2::PushOptions::new();
        options.remote_callbacks(offering("secret", refused));
        remote.push(&[format!("+refs/heads/ours:refs/heads/{target}")], Some(&mut options))
    };
    push("up/x", &mut refused).expect("a push");
    assert_eq!((repo.tip("up/x"), refused.len()), (Some(made), 0));

    github.ruleset(REPO, "refs/heads/ruled", "Commits must have verified signatures.");
    push("ruled", &mut refused).expect("libgit2 tells of it in the callback alone");
    assert_eq!(refused, ["refs/heads/ruled: push declined due to repository rule violations"]);
    refused.clear();
    repo.install_hook("pre-receive", "exit 1");
    push("hooked", &mut refused).expect("libgit2 tells of it in the callback alone");
    assert_eq!(refused, ["refs/heads/hooked: pre-receive hook declined"]);
    repo.remove_hook("pre-receive");

    let writes = &github.controls().writes;
    writes.plan(1, WriteFault::LoseAnswer);
    assert!(push("lost", &mut refused).is_err());
    assert_eq!(repo.tip("lost"), Some(made));
    github.controls().rules.fault("POST", "*/git-receive-pack", Fault::CutUpload(40));
    assert!(push("cut", &mut refused).is_err());
    assert_eq!(repo.tip("cut"), None);
}
