//! Step 3, repo: what a Git server says of its branches.
//!
//! In: the body of `info/refs?service=...` (protocol version 0). Out: [`Refs`], or why the body is not one. Pure;
//! every length in the body is a claim and is checked.

use crate::repo::{CommitId, Refs};

/// A body that is no advertisement: the server's fault, or not a Git server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The server says so itself.
    #[error("the server says: {0}")]
    Said(String),
    /// The repository uses SHA-256 object ids.
    #[error("the repository uses SHA-256 object ids, which are not supported")]
    Sha256,
    /// Its history is cut, which libgit2 takes for a broken answer.
    #[error("the repository is a shallow clone")]
    Shallow,
    /// The body ends early or breaks the format.
    #[error("the answer is not a list of branches: {0}")]
    Format(&'static str),
}

/// Where HEAD points, as far as it is told.
#[derive(Default)]
struct Head {
    symref: Option<String>,
    id: Option<CommitId>,
}

/// Reads an advertisement of `service` (`git-upload-pack` or `git-receive-pack`).
pub fn parse(service: &str, body: &[u8]) -> Result<Refs, Malformed> {
    let mut rest = body;
    let announced = next_line(&mut rest)?.ok_or(Malformed::Format("it is empty"))?;
    if announced.strip_prefix(b"# service=").map(trim_newline) != Some(service.as_bytes()) {
        return Err(said(announced).unwrap_or(Malformed::Format("it does not name the service")));
    }
    if next_line(&mut rest)?.is_some() {
        return Err(Malformed::Format("there is no flush after the service"));
    }
    let mut refs = Refs::default();
    let mut head = Head::default();
    let mut first = true;
    while let Some(line) = next_line(&mut rest)? {
        if let Some(error) = said(line) {
            return Err(error);
        }
        let line = trim_newline(line);
        let name_end = memchr::memchr(0, line).unwrap_or(line.len());
        if std::mem::take(&mut first) {
            read_capabilities(line.get(name_end + 1..).unwrap_or_default(), &mut head)?;
        }
        if line.starts_with(b"shallow ") {
            return Err(Malformed::Shallow);
        }
        if line.starts_with(b"version ") {
            continue;
        }
        let (id, name) = read_ref(line.get(..name_end).unwrap_or_default())?;
        match name {
            Some("HEAD") => head.id = Some(id),
            Some(name) => {
                // A branch can hold a tag's or a blob's id on no sane server; a wrong one fails when it is fetched.
                if let Some(branch) = name.strip_prefix("refs/heads/") {
                    refs.branches.insert(branch.to_owned(), id);
                }
            }
            // A name that is not UTF-8 is none of ours, and no base branch either.
            None => {}
        }
    }
    refs.default_branch = default_branch(&refs, &head);
    Ok(refs)
}

/// Reads `<40 hex digits> <name>`.
fn read_ref(line: &[u8]) -> Result<(CommitId, Option<&str>), Malformed> {
    let bad = Malformed::Format("a line is not `<id> <name>`");
    let space = memchr::memchr(b' ', line).ok_or(bad.clone())?;
    let (Some(id), Some(name)) = (line.get(..space), line.get(space + 1..)) else { return Err(bad) };
    if id.len() == 64 {
        return Err(Malformed::Sha256);
    }
    Ok((parse_id(id).ok_or(bad)?, std::str::from_utf8(name).ok()))
}

/// Reads an object id of 40 hex digits.
pub fn parse_id<I: From<[u8; 20]>>(hex: &[u8]) -> Option<I> {
    let (pairs, []) = hex.as_chunks::<2>() else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|d| u8::try_from(d).ok());
    let bytes: Option<Vec<u8>> =
        pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect();
    <[u8; 20]>::try_from(bytes?).ok().map(I::from)
}

fn read_capabilities(capabilities: &[u8], head: &mut Head) -> Result<(), Malformed> {
    for capability in capabilities.split(|b| *b == b' ') {
        if capability == b"object-format=sha256" {
            return Err(Malformed::Sha256);
        }
        if let Some(branch) = capability.strip_prefix(b"symref=HEAD:refs/heads/") {
            head.symref = std::str::from_utf8(branch).ok().map(str::to_owned);
        }
    }
    Ok(())
}

/// A server that is too old to say where HEAD points still says what it is; then the usual names come first.
fn default_branch(refs: &Refs, head: &Head) -> Option<String> {
    if let Some(branch) = &head.symref {
        return refs.branches.contains_key(branch).then(|| branch.clone());
    }
    let id = head.id?;
    let at_head = |name: &&str| refs.branches.get(*name) == Some(&id);
    ["main", "master"].into_iter().find(at_head).map(str::to_owned).or_else(|| {
        let mut same = refs.branches.iter().filter(|(_, branch)| **branch == id);
        let (name, _) = same.next()?;
        same.next().is_none().then(|| name.clone())
    })
}

/// Takes one pkt-line off; `None` is a flush. The end of the body without a flush is an error: the answer was cut.
fn next_line<'a>(rest: &mut &'a [u8]) -> Result<Option<&'a [u8]>, Malformed> {
    let cut = Malformed::Format("it ends early");
    let digits = rest.get(..4).ok_or(cut.clone())?;
    let length = std::str::from_utf8(digits)
        .ok()
        .filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
        .and_then(|digits| usize::from_str_radix(digits, 16).ok())
        .ok_or(Malformed::Format("a line has no length"))?;
    let taken = match length {
        0 => 4,
        1..4 => return Err(Malformed::Format("a line is shorter than its length")),
        length => length,
    };
    let line = rest.get(4..taken).ok_or(cut)?;
    *rest = rest.get(taken..).unwrap_or_default();
    Ok((length != 0).then_some(line))
}

fn said(line: &[u8]) -> Option<Malformed> {
    let words = line.strip_prefix(b"ERR ")?;
    Some(Malformed::Said(String::from_utf8_lossy(trim_newline(words)).into_owned()))
}

fn trim_newline(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

    fn body(lines: &[&str]) -> Vec<u8> {
        let mut out = b"001e# service=git-upload-pack\n0000".to_vec();
        for line in lines {
            out.extend_from_slice(format!("{:04x}{line}", line.len() + 4).as_bytes());
        }
        out.extend_from_slice(b"0000");
        out
    }

    fn read(lines: &[&str]) -> Result<Refs, Malformed> {
        parse("git-upload-pack", &body(lines))
    }

    #[test]
    fn reads_branches_and_where_head_points() {
        let refs = read(&[
            &format!("{A} HEAD\0multi_ack symref=HEAD:refs/heads/trunk agent=git/2\n"),
            &format!("{A} refs/heads/trunk\n"),
            &format!("{B} refs/heads/uplinker/default/platform\n"),
            &format!("{B} refs/pull/1/head\n"),
            &format!("{B} refs/tags/v1\n"),
            &format!("{A} refs/tags/v1^{{}}\n"),
        ])
        .unwrap();
        assert_eq!(refs.default_branch.as_deref(), Some("trunk"));
        assert_eq!(refs.branches.len(), 2);
        assert_eq!(refs.branches["uplinker/default/platform"].to_string(), B);
    }

    #[test]
    fn an_empty_repository_has_no_branch() {
        let zero = "0".repeat(40);
        let refs = read(&[&format!("{zero} capabilities^{{}}\0multi_ack agent=git/2\n")]).unwrap();
        assert_eq!(refs, Refs::default());
        assert_eq!(read(&[]).unwrap(), Refs::default());
    }

    #[test]
    fn an_old_server_leaves_the_default_branch_to_be_told_by_its_id() {
        let head = format!("{A} HEAD\0multi_ack\n");
        let (main, dev) = (format!("{A} refs/heads/main\n"), format!("{A} refs/heads/dev\n"));
        assert_eq!(read(&[&head, &dev, &main]).unwrap().default_branch.as_deref(), Some("main"));
        assert_eq!(read(&[&head, &dev]).unwrap().default_branch.as_deref(), Some("dev"));
        let other = format!("{A} refs/heads/other\n");
        assert_eq!(read(&[&head, &dev, &other]).unwrap().default_branch, None);
    }

    #[test]
    fn head_that_points_to_no_branch_names_none() {
        let line = format!("{B} refs/heads/dev\0symref=HEAD:refs/heads/gone\n");
        let refs = read(&[&line]).unwrap();
        assert_eq!((refs.default_branch, refs.branches.len()), (None, 1));
    }

    #[test]
    fn refuses_what_is_no_advertisement() {
        let sha256 = format!("{} HEAD\0object-format=sha256\n", "a".repeat(64));
        assert_eq!(read(&[&sha256]), Err(Malformed::Sha256));
        assert_eq!(read(&["ERR access denied\n"]), Err(Malformed::Said("access denied".into())));
        assert_eq!(parse("git-upload-pack", b"000eERR no way"), Err(Malformed::Said("no way".into())));
        for bytes in [
            &b""[..],
            b"<!DOCTYPE html>",
            b"0000",
            b"001e# service=git-upload-pack\n",
            b"001e# service=git-receive-pack\n0000",
            b"001e# service=git-upload-pack\n0000ffff",
            b"001e# service=git-upload-pack\n00000003",
            b"001e# service=git-upload-pack\n0000+001",
            b"001e# service=git-upload-pack\n0000000bno id\n0000",
        ] {
            assert!(parse("git-upload-pack", bytes).is_err(), "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn any_cut_or_flipped_byte_is_no_panic() {
        let whole =
            body(&[&format!("{A} HEAD\0symref=HEAD:refs/heads/main\n"), &format!("{A} refs/heads/main\n")]);
        for end in 0..whole.len() {
            assert!(parse("git-upload-pack", &whole[..end]).is_err());
        }
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x80;
            let _ = parse("git-upload-pack", &bytes);
        }
    }
}
