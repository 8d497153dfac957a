//! Step 3, repo: a commit's signature by an SSH key, as Git checks it with `gpg.format=ssh`.
//!
//! In: the operator's private key, as `ssh-keygen -t ed25519` writes it. Out: the text of a commit's header `gpgsig`. The same
//! commit has the same signature each time, since Ed25519 draws nothing at random. Pure. (openssh-portable: `PROTOCOL.key`,
//! `PROTOCOL.sshsig`.)

use std::fmt;

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD},
};
use openssl::{
    error::ErrorStack,
    pkey::{Id, PKey, Private},
    sha::{sha256, sha512},
    sign::Signer,
};
use secrecy::{ExposeSecret as _, SecretString};

/// The one kind of key that is taken.
const KIND: &[u8] = b"ssh-ed25519";
/// What a private key begins with.
const KEY: &[u8] = b"openssh-key-v1\0";
/// What a signature begins with.
const SIGNATURE: &[u8] = b"SSHSIG";
/// What Git signs for.
const NAMESPACE: &[u8] = b"git";
/// The hash that is signed in place of the text.
const HASH: &[u8] = b"sha512";
/// The characters on a line of a signature.
const WIDTH: usize = 70;

/// A private key that signs commits.
pub struct SigningKey {
    key: PKey<Private>,
    /// As SSH writes it.
    public: Vec<u8>,
}

/// A key that cannot be used: the operator's. The key is not in the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// It is no private key of OpenSSH's form, or not a whole one.
    #[error("it is no private key as `ssh-keygen` writes it")]
    Form,
    /// It has a passphrase, which nobody is there to type.
    #[error("it has a passphrase; make a key without one")]
    Passphrase,
    /// It is of another kind.
    #[error("it is no Ed25519 key")]
    Kind,
}

// === impl SigningKey ===

impl SigningKey {
    /// Reads a private key without a passphrase.
    pub fn of(text: &SecretString) -> Result<Self, KeyError> {
        // In a variable, line breaks are often written as two characters.
        let text = text.expose_secret().replace("\\n", "\n");
        let inside = text.trim().strip_prefix("-----BEGIN OPENSSH PRIVATE KEY-----");
        let inside = inside.and_then(|rest| rest.strip_suffix("-----END OPENSSH PRIVATE KEY-----"));
        let letters: String = inside.ok_or(KeyError::Form)?.split_whitespace().collect();
        let bytes = STANDARD.decode(letters).map_err(|_| KeyError::Form)?;
        let (cipher, public, private) = sealed(&bytes).ok_or(KeyError::Form)?;
        if cipher != b"none" {
            return Err(KeyError::Passphrase);
        }
        if Parts(public).string() != Some(KIND) {
            return Err(KeyError::Kind);
        }
        let seed = seed(private).ok_or(KeyError::Form)?;
        let key = PKey::private_key_from_raw_bytes(seed, Id::ED25519).map_err(|_| KeyError::Form)?;
        let own = key.raw_public_key().map_err(|_| KeyError::Form)?;
        match public == [string(KIND), string(&own)].concat() {
            true => Ok(Self { key, public: public.to_vec() }),
            false => Err(KeyError::Form),
        }
    }

    /// Returns the key's fingerprint, as `ssh-keygen -l` prints it.
    pub fn fingerprint(&self) -> String {
        format!("SHA256:{}", STANDARD_NO_PAD.encode(sha256(&self.public)))
    }

    /// Signs a commit that has no signature yet.
    pub(super) fn sign(&self, commit: &[u8]) -> Result<String, ErrorStack> {
        let about = [string(NAMESPACE), string(b""), string(HASH)].concat();
        let signed = [SIGNATURE, &about, &string(&sha512(commit))].concat();
        let signature = Signer::new_without_digest(&self.key)?.sign_oneshot_to_vec(&signed)?;
        let signature = string(&[string(KIND), string(&signature)].concat());
        let blob = [SIGNATURE, &1_u32.to_be_bytes(), &string(&self.public), &about, &signature].concat();
        let letters = STANDARD.encode(blob);
        let mut text = "-----BEGIN SSH SIGNATURE-----\n".to_owned();
        for (at, letter) in letters.chars().enumerate() {
            if at > 0 && at % WIDTH == 0 {
                text.push('\n');
            }
            text.push(letter);
        }
        Ok(text + "\n-----END SSH SIGNATURE-----")
    }
}

// The key is a secret.
impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SigningKey").field(&self.fingerprint()).finish()
    }
}

/// The cipher of a private key, its public half, and the part that a passphrase would seal.
fn sealed(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let mut parts = Parts(bytes.strip_prefix(KEY)?);
    let cipher = parts.string()?;
    let (_method, _options) = (parts.string()?, parts.string()?);
    let one = parts.number()? == 1;
    one.then_some((cipher, parts.string()?, parts.string()?))
}

/// What an Ed25519 key is made from, of a part that nothing seals.
fn seed(private: &[u8]) -> Option<&[u8]> {
    let mut parts = Parts(private);
    if parts.number()? != parts.number()? || parts.string()? != KIND {
        return None;
    }
    let public = parts.string()?;
    let (seed, again) = parts.string()?.split_at_checked(32)?;
    (public == again).then_some(seed)
}

/// What is left to read of SSH's binary form.
struct Parts<'b>(&'b [u8]);

// === impl Parts ===

impl<'b> Parts<'b> {
    fn number(&mut self) -> Option<u32> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*number))
    }

    fn string(&mut self) -> Option<&'b [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (string, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(string)
    }
}

/// Bytes with their length before them. Nothing that is written here comes near the limit of four bytes.
fn string(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    [&length.to_be_bytes(), bytes].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key of the form that `ssh-keygen` writes, from a seed that everybody knows.
    fn text(kind: &[u8], cipher: &[u8], checks: [u32; 2]) -> SecretString {
        let seed = [7; 32];
        let public = PKey::private_key_from_raw_bytes(&seed, Id::ED25519).unwrap().raw_public_key().unwrap();
        let both = [&seed[..], &public].concat();
        let checks = checks.map(u32::to_be_bytes).concat();
        let private =
            [checks, string(kind), string(&public), string(&both), string(b"comment"), vec![1, 2, 3]]
                .concat();
        let outer = [string(kind), string(&public)].concat();
        let head = [KEY, &string(cipher), &string(cipher), &string(b""), &1_u32.to_be_bytes()].concat();
        let letters = STANDARD.encode([head, string(&outer), string(&private)].concat());
        let text =
            format!("-----BEGIN OPENSSH PRIVATE KEY-----\n{letters}\n-----END OPENSSH PRIVATE KEY-----\n");
        text.into()
    }

    fn wrong(text: &str) -> KeyError {
        SigningKey::of(&text.to_owned().into()).unwrap_err()
    }

    #[test]
    fn the_same_text_has_the_same_signature_and_another_one_has_not() {
        let key = SigningKey::of(&text(KIND, b"none", [5, 5])).unwrap();
        let in_one_line = text(KIND, b"none", [5, 5]).expose_secret().replace('\n', "\\n");
        let again = SigningKey::of(&in_one_line.into()).unwrap();
        let one = key.sign(b"tree 1\n").unwrap();
        assert_eq!(one, again.sign(b"tree 1\n").unwrap());
        assert_ne!(one, key.sign(b"tree 2\n").unwrap());
        assert!(one.lines().all(|line| line.len() <= WIDTH), "{one}");
    }

    #[test]
    fn what_is_no_key_to_sign_with_is_refused_and_not_shown() {
        let refused = |kind, cipher, checks| SigningKey::of(&text(kind, cipher, checks)).unwrap_err();
        assert_eq!(refused(b"ssh-rsa", b"none", [5, 5]), KeyError::Kind);
        assert_eq!(refused(KIND, b"aes256-ctr", [5, 5]), KeyError::Passphrase);
        assert_eq!(refused(KIND, b"none", [5, 6]), KeyError::Form);
        let whole = text(KIND, b"none", [5, 5]).expose_secret().to_owned();
        for text in [
            "",
            "s3cret",
            &whole[..120],
            &whole.replace("OPENSSH", "RSA"),
            &whole.replacen("b3BlbnN", "AAAA", 1),
        ] {
            assert_eq!(wrong(text), KeyError::Form, "{text}");
        }
        // The public half of another key.
        let mut bytes = STANDARD.decode(whole.lines().nth(1).unwrap()).unwrap();
        let at = bytes.windows(KIND.len()).position(|part| part == KIND).unwrap() + KIND.len() + 4;
        bytes[at] ^= 1;
        let mixed = whole.replace(whole.lines().nth(1).unwrap(), &STANDARD.encode(bytes));
        assert_eq!(wrong(&mixed), KeyError::Form);
        let key = SigningKey::of(&text(KIND, b"none", [5, 5])).unwrap();
        assert!(format!("{key:?}").starts_with("SigningKey(\"SHA256:"), "{key:?}");
    }
}
