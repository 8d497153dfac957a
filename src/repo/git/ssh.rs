//! Step 3, repo: who we are and whom we talk to over SSH.
//!
//! In: the operator's key and known hosts. Out: answers to libgit2's questions. An unknown host key is refused;
//! nothing is ever added to a list of known hosts.

use std::{cell::RefCell, collections::BTreeSet, path::PathBuf};

use base64::{Engine as _, engine::general_purpose::STANDARD};
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
    /// Says why a file that is named cannot be used: libgit2 would tell it as a fault of the network.
    pub fn check(&self) -> Result<(), String> {
        for (path, what) in [(&self.key_file, "SSH key"), (&self.known_hosts, "list of known hosts")] {
            if let Some(path) = path {
                std::fs::read(path).map_err(|e| format!("cannot read the {what} {}: {e}", path.display()))?;
            }
        }
        Ok(())
    }

    /// Answers for credentials and host keys. Why a host key is refused is left in `refused`: libgit2 forgets it.
    pub fn answer<'c>(
        &self,
        callbacks: &mut RemoteCallbacks<'c>,
        address: &str,
        refused: &'c RefCell<Option<String>>,
    ) {
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
            let name = name(host, port);
            let key = certificate.as_hostkey().and_then(|key| key.hostkey()).unwrap_or_default();
            let shown = path.display();
            let reason = match std::fs::read_to_string(path) {
                Ok(list) if is_known(&list, &name, key) => return Ok(CertificateCheckStatus::CertificateOk),
                Ok(list) => format!("{} {shown}", unknown(&list, &name, key)),
                Err(error) => format!("cannot read the list of known hosts {shown}: {error}"),
            };
            *refused.borrow_mut() = Some(reason);
            Err(Error::from_str("the host key is refused"))
        });
    }
}

/// Returns the port of `ssh://host:port/path`; `user@host:path` has none.
fn port(address: &str) -> u16 {
    url::Url::parse(address).ok().and_then(|url| url.port()).unwrap_or(22)
}

/// Returns how a list names a host.
fn name(host: &str, port: u16) -> String {
    if port == 22 { host.to_owned() } else { format!("[{host}]:{port}") }
}

/// A key that a `known_hosts` text has.
struct Listed<'l> {
    is_revoked: bool,
    kind: &'l str,
    key: Vec<u8>,
}

/// Returns what a `known_hosts` text has of a host.
fn listed<'l>(list: &'l str, name: &str) -> impl Iterator<Item = Listed<'l>> {
    list.lines().map(str::trim).filter_map(move |line| {
        let (is_revoked, line) = match line.strip_prefix("@revoked") {
            Some(rest) => (true, rest.trim_start()),
            None => (false, line),
        };
        let mut fields = line.split_whitespace();
        let (hosts, kind, key) = (fields.next()?, fields.next()?, fields.next()?);
        let is_named = |host: &str| host.eq_ignore_ascii_case(name) || is_hash_of(host, name);
        if line.starts_with(['#', '@']) || !hosts.split(',').any(is_named) {
            return None;
        }
        Some(Listed { is_revoked, kind, key: STANDARD.decode(key).ok()? })
    })
}

/// Looks the key of a host up. A revoked key is known to nobody.
fn is_known(list: &str, name: &str, key: &[u8]) -> bool {
    let same: Vec<Listed<'_>> = listed(list, name).filter(|listed| listed.key == key).collect();
    !same.is_empty() && !same.iter().any(|listed| listed.is_revoked)
}

/// Says what is wrong with a key, up to where the list is named. Which of its keys a server shows is not ours to choose:
/// libgit2 asks for a kind that the user's own list has.
fn unknown(list: &str, name: &str, key: &[u8]) -> String {
    let kinds: BTreeSet<&str> = listed(list, name).filter(|l| !l.is_revoked).map(|l| l.kind).collect();
    let kind = kind_of(key);
    if kinds.is_empty() || kinds.contains(kind) {
        return format!("the host key of `{name}` is not in");
    }
    let kinds = kinds.into_iter().collect::<Vec<_>>().join(", ");
    format!("`{name}` shows its {kind} key, and only {kinds} of it is in")
}

/// Returns the kind that a key begins with.
fn kind_of(key: &[u8]) -> &str {
    let (Some(length), Some(rest)) = (key.first_chunk(), key.get(4..)) else { return "" };
    let kind = usize::try_from(u32::from_be_bytes(*length)).ok().and_then(|length| rest.get(..length));
    kind.and_then(|kind| std::str::from_utf8(kind).ok()).unwrap_or_default()
}

/// Tells whether a list has a name as `HashKnownHosts` writes it: `|1|salt|HMAC-SHA1 of the name`.
fn is_hash_of(listed: &str, name: &str) -> bool {
    let decoded = |text: &str| STANDARD.decode(text).ok();
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
        let name = name(host, port);
        is_known(list, &name, &STANDARD.decode(KEY).unwrap())
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
    fn a_server_that_shows_a_key_of_another_kind_is_told_from_one_that_is_unknown() {
        let key = STANDARD.decode("AAAAC3NzaC1lZDI1NTE5AAAAIA==").unwrap();
        let told = |list: &str| unknown(list, "git.example.com", &key);
        let rsa = "git.example.com ssh-rsa AAAA\ngit.example.com ecdsa-sha2-nistp256 AAAA\n";
        let shows =
            "`git.example.com` shows its ssh-ed25519 key, and only ecdsa-sha2-nistp256, ssh-rsa of it is in";
        assert_eq!(told(rsa), shows);
        for list in [
            "",
            "other ssh-rsa AAAA\n",
            "git.example.com ssh-ed25519 AAAA\n",
            "@revoked git.example.com ssh-rsa AAAA\n",
        ] {
            assert_eq!(told(list), "the host key of `git.example.com` is not in", "{list}");
        }
    }

    #[test]
    fn the_port_is_the_address_s() {
        assert_eq!(port("ssh://git@host:2222/o/r"), 2222);
        assert_eq!((port("ssh://git@host/o/r"), port("git@host:o/r")), (22, 22));
    }
}
