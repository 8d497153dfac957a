//! Step 3, repo: who we are and whom we talk to over SSH.
//!
//! In: the operator's key and known hosts. Out: answers to libgit2's questions. An unknown host key is refused;
//! nothing is ever added to a list of known hosts.

use std::path::PathBuf;

use base64::Engine;
use git2::{CertificateCheckStatus, Cred, CredentialType, Error, ErrorClass, ErrorCode, RemoteCallbacks};
use openssl::{hash::MessageDigest, pkey::PKey, sign::Signer};

/// What the operator gives for SSH.
#[derive(Clone, Debug, Default)]
pub struct SshOptions {
    /// A private key without a passphrase; without it the SSH agent is asked.
    pub key_file: Option<PathBuf>,
    /// A list of known hosts; without it the user's own list holds.
    pub known_hosts: Option<PathBuf>,
}

// === impl SshOptions ===

impl SshOptions {
    /// Answers for credentials and host keys.
    pub fn answer(&self, callbacks: &mut RemoteCallbacks<'_>, address: &str) {
        let key_file = self.key_file.clone();
        let mut asked = 0;
        callbacks.credentials(move |_, user, allowed| {
            let user = user.unwrap_or("git");
            if allowed.contains(CredentialType::USERNAME) {
                return Cred::username(user);
            }
            // libgit2 asks again after each refusal, without end.
            asked += 1;
            if asked > 1 {
                let reason = "no SSH key was accepted; name one that may read and write with `--ssh-key-file`, or load it into the SSH agent";
                return Err(Error::new(ErrorCode::Auth, ErrorClass::Ssh, reason));
            }
            match &key_file {
                Some(key) => Cred::ssh_key(user, None, key, None),
                None => Cred::ssh_key_from_agent(user),
            }
        });
        let known_hosts = self.known_hosts.clone();
        let port = port(address);
        callbacks.certificate_check(move |certificate, host| {
            let Some(path) = &known_hosts else { return Ok(CertificateCheckStatus::CertificatePassthrough) };
            let refused = |reason: String| Error::new(ErrorCode::Certificate, ErrorClass::Ssh, reason);
            let list =
                std::fs::read_to_string(path).map_err(|e| refused(format!("{}: {e}", path.display())))?;
            let key = certificate.as_hostkey().and_then(|key| key.hostkey());
            if key.is_some_and(|key| is_known(&list, host, port, key)) {
                Ok(CertificateCheckStatus::CertificateOk)
            } else {
                Err(refused(format!("the host key of `{host}` is not in {}", path.display())))
            }
        });
    }
}

/// Returns the port of `ssh://host:port/path`; `user@host:path` has none.
fn port(address: &str) -> u16 {
    url::Url::parse(address).ok().and_then(|url| url.port()).unwrap_or(22)
}

/// Looks a host key up in a `known_hosts` text. A revoked key is known to nobody.
fn is_known(list: &str, host: &str, port: u16, key: &[u8]) -> bool {
    let name = if port == 22 { host.to_owned() } else { format!("[{host}]:{port}") };
    let mut known = false;
    for line in list.lines().map(str::trim) {
        let (revoked, line) = match line.strip_prefix("@revoked") {
            Some(rest) => (true, rest.trim_start()),
            None => (false, line),
        };
        let mut fields = line.split_whitespace();
        let (Some(hosts), Some(_), Some(listed)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let listed = base64::engine::general_purpose::STANDARD.decode(listed);
        if line.starts_with(['#', '@']) || !listed.is_ok_and(|listed| listed == key) {
            continue;
        }
        if hosts.split(',').any(|listed| listed.eq_ignore_ascii_case(&name) || is_hash_of(listed, &name)) {
            if revoked {
                return false;
            }
            known = true;
        }
    }
    known
}

/// Tells whether a list has a name as `HashKnownHosts` writes it: `|1|salt|HMAC-SHA1 of the name`.
fn is_hash_of(listed: &str, name: &str) -> bool {
    let decoded = |text: &str| base64::engine::general_purpose::STANDARD.decode(text).ok();
    let parts = listed.strip_prefix("|1|").and_then(|rest| rest.split_once('|'));
    let Some((Some(salt), Some(hash))) = parts.map(|(salt, hash)| (decoded(salt), decoded(hash))) else {
        return false;
    };
    let hashed = || {
        let key = PKey::hmac(&salt)?;
        Signer::new(MessageDigest::sha1(), &key)?.sign_oneshot_to_vec(name.to_lowercase().as_bytes())
    };
    hashed().is_ok_and(|hashed| hashed == hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "AAAAC3NzaC1lZDI1NTE5";

    fn known(list: &str, host: &str, port: u16) -> bool {
        let key = base64::engine::general_purpose::STANDARD.decode(KEY).unwrap();
        is_known(list, host, port, &key)
    }

    #[test]
    fn only_the_listed_key_of_the_host_is_known() {
        let list = format!(
            "# github.com ssh-ed25519 {KEY}\n\ngithub.com,140.82.121.3 ssh-ed25519 {KEY} note\n\
             [git.example.com]:2222 ssh-ed25519 {KEY}\nother ssh-ed25519 AAAA\n|1|hash|hash ssh-ed25519 {KEY}\n\
             @cert-authority ca.example.com ssh-ed25519 {KEY}\nbroken\n"
        );
        assert!(known(&list, "github.com", 22) && known(&list, "140.82.121.3", 22));
        assert!(known(&list, "git.example.com", 2222));
        for (host, port) in [
            ("git.example.com", 22),
            ("github.com", 2222),
            ("other", 22),
            ("evil", 22),
            ("ca.example.com", 22),
        ] {
            assert!(!known(&list, host, port), "{host}:{port}");
        }
    }

    #[test]
    fn hashed_names_are_read_as_openssh_writes_them() {
        let list = format!(
            "|1|pE+l0i94KUTgvW/oWIAymTAhyGw=|B/t+tq1pwKwfZfEU2Qw9LC4t5MA= ssh-ed25519 {KEY}\n\
             |1|OY2n2/I/HuYHNJijdCElr+KYUJE=|888Uz+rNs4vAMpGZZM2rjJ1ZsyA= ssh-ed25519 AAAA\n"
        );
        assert!(known(&list, "git.example.com", 22) && known(&list, "Git.Example.com", 22));
        assert!(!known(&list, "git.example.com", 2222), "that port has another key");
        assert!(!known(&list, "example.com", 22));
        let revoked = format!("{list}@revoked {list}");
        assert!(!known(&revoked, "git.example.com", 22));
    }

    #[test]
    fn a_revoked_key_is_refused_wherever_it_stands() {
        let list = format!("github.com ssh-ed25519 {KEY}\n@revoked github.com ssh-ed25519 {KEY}\n");
        assert!(!known(&list, "github.com", 22));
    }

    #[test]
    fn the_port_is_the_address_s() {
        assert_eq!(port("ssh://git@host:2222/o/r"), 2222);
        assert_eq!((port("ssh://git@host/o/r"), port("git@host:o/r")), (22, 22));
    }
}
