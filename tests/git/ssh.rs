//! Remotes over SSH, with OpenSSH on the other side: whom we talk to, who we are, and what is fetched and pushed.

use uplinker::repo::git::SshOptions;

use super::*;
use crate::support::ssh_server::SshServer;

/// A repository behind a server, and a list of known hosts.
struct Far {
    server: SshServer,
    folder: TempDir,
    repo: BareRepo,
    http: Http,
}

impl Far {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let files = [("a/crds.yaml", "version: 2026.8.2\n"), ("b.txt", "keep\n")];
        let repo = BareRepo::with_files(folder.path().join("config.git"), "main", &files);
        Self { server: SshServer::start(), folder, repo, http: http() }
    }

    fn known_hosts(&self, text: &str) -> SshOptions {
        let list = self.folder.path().join("known_hosts");
        std::fs::write(&list, text).unwrap();
        SshOptions { key_file: Some(self.server.key()), known_hosts: Some(list) }
    }

    fn open(&self, ssh: SshOptions) -> GitRemote<'_> {
        let options = RemoteOptions { ssh, ..RemoteOptions::default() };
        GitRemote::open(&self.server.url(self.repo.path()), options, &self.http).unwrap()
    }
}

#[test]
fn a_repository_behind_ssh_is_read_and_written() {
    let far = Far::new();
    let remote = far.open(far.known_hosts(&far.server.known_host()));
    let ours = bump(&remote);
    remote.push(&update(None, Some(ours))).unwrap();
    assert_eq!(tip(&far.repo, BRANCH), Some(ours));
    assert_eq!(far.repo.changed("main", BRANCH), ["a/crds.yaml"]);
    // A person's commit stops the next one; nothing of theirs is lost.
    let onto = base(&remote);
    let other = write(&remote, onto, vec![change(&remote, onto, "b.txt", Some("other\n"))]).unwrap();
    far.repo.commit(BRANCH, &BEN, "Theirs", &[put("theirs", "x")]);
    assert!(matches!(remote.push(&update(Some(ours), Some(other))), Err(GitError::Moved { .. })));
    assert_eq!(far.repo.message(BRANCH), "Theirs");
}

#[test]
fn a_server_whose_key_is_not_known_hears_nothing_of_us() {
    let far = Far::new();
    let (known, wrong) = (far.server.known_host(), far.server.false_host());
    let other_port = known.replacen("]:", "]:1", 1);
    let revoked = format!("{known}@revoked {known}");
    for list in ["", wrong.as_str(), other_port.as_str(), revoked.as_str()] {
        let error = far.open(far.known_hosts(list)).refs().unwrap_err();
        assert!(
            matches!(&error, GitError::Address { reason, .. } if reason.contains("known hosts")),
            "{list}: {error}"
        );
    }
    // Nor is anything written to the list.
    assert_eq!(std::fs::read_to_string(far.folder.path().join("known_hosts")).unwrap(), revoked);
    far.open(far.known_hosts(&format!("{wrong}{known}"))).refs().unwrap();
}

#[test]
fn files_that_cannot_be_read_are_named_before_anybody_is_asked() {
    let far = Far::new();
    let there = far.known_hosts(&far.server.known_host());
    let gone = || Some(far.folder.path().join("gone"));
    for (ssh, what) in [
        (SshOptions { known_hosts: gone(), ..there.clone() }, "the list of known hosts"),
        (SshOptions { key_file: gone(), ..there.clone() }, "the SSH key"),
    ] {
        let options = RemoteOptions { ssh, ..RemoteOptions::default() };
        let error = GitRemote::open(&far.server.url(far.repo.path()), options, &far.http).err().unwrap();
        let expected = format!("cannot read {what} {}/gone: No such file", far.folder.path().display());
        assert!(
            matches!(&error, GitError::Address { reason, .. } if reason.starts_with(&expected)),
            "{error}"
        );
    }
    let remote = far.open(there);
    std::fs::remove_file(far.folder.path().join("known_hosts")).unwrap();
    let error = remote.refs().unwrap_err().to_string();
    assert!(error.contains("cannot read the list of known hosts"), "{error}");
}

#[test]
fn a_server_that_shows_a_key_of_another_kind_says_so() {
    let far = Far::new();
    let other = far.server.known_host().replace("ssh-ed25519", "ssh-rsa").replace("AAAAC3", "AAAAB3");
    let error = far.open(far.known_hosts(&other)).refs().unwrap_err().to_string();
    assert!(error.contains("shows its ssh-ed25519 key, and only ssh-rsa of it is in"), "{error}");
}

/// A push asks as strictly as a read.
#[test]
fn a_key_that_changes_before_the_push_stops_it() {
    let far = Far::new();
    let remote = far.open(far.known_hosts(&far.server.known_host()));
    let ours = bump(&remote);
    let _ = far.known_hosts(&far.server.false_host());
    let error = remote.push(&update(None, Some(ours))).unwrap_err();
    assert!(matches!(&error, GitError::Address { .. }), "{error}");
    assert_eq!(far.repo.tip(BRANCH), None);
}

#[test]
fn a_key_that_the_server_refuses_is_tried_once() {
    let far = Far::new();
    let ssh =
        SshOptions { key_file: Some(far.server.unknown_key()), ..far.known_hosts(&far.server.known_host()) };
    let error = far.open(ssh).refs().unwrap_err();
    assert!(
        matches!(&error, GitError::Auth { reason, .. } if reason.contains("no SSH key was accepted")),
        "{error}"
    );
}
