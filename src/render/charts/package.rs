//! Step 7, render: what is in a packaged chart, as far as it may be.
//!
//! In: the bytes of a `.tgz`. Out: its files by path below the chart's folder, in memory. Nothing is written here, so
//! that a name has nothing to act on. Only regular files and folders are taken; over a ceiling, or with a name that is
//! not plain, the whole package is refused.

use std::{
    collections::BTreeMap,
    io::{self, Read},
};

use flate2::read::GzDecoder;
use serde_json::Value;
use tar::{Archive, EntryType};

use super::super::ChartId;
use crate::{helm::File, yaml::Stream};

/// The most files and folders.
const ENTRIES: usize = 4000;
/// The most bytes of one file.
const FILE: u64 = 8 * 1024 * 1024;
/// The most bytes of all.
const TOTAL: u64 = 64 * 1024 * 1024;
/// The most that a byte may become; manifests become 10 to 20.
const RATIO: u64 = 100;
/// A small package may become this much in any case: `tar` pads with zeros.
const SMALL: u64 = 1024 * 1024;
/// The deepest folder.
const DEPTH: usize = 16;
/// The longest path.
const NAME: usize = 250;
/// Charts within charts that are packages themselves.
const PACKAGES: usize = 4;

/// A reader that ends with an error once it has given what it may.
struct Bounded<R> {
    from: R,
    left: u64,
}

/// The names that are taken, so that none is taken twice, and none as a file and as a folder.
#[derive(Default)]
struct Names {
    /// By lower case: a file system may not tell `A` from `a`.
    taken: BTreeMap<String, (String, bool)>,
}

/// Reads a package; the error completes "its package is refused:".
pub(super) fn unpack(package: &[u8]) -> Result<Vec<File>, String> {
    let mut budget = TOTAL;
    unpack_within(package, &mut budget, PACKAGES)
}

fn unpack_within(package: &[u8], budget: &mut u64, packages: usize) -> Result<Vec<File>, String> {
    let size = u64::try_from(package.len()).unwrap_or(u64::MAX);
    let most = (*budget).min(size.saturating_mul(RATIO).max(SMALL));
    let mut archive = Archive::new(Bounded { from: GzDecoder::new(package), left: most });
    let (mut files, mut names, mut root) = (Vec::new(), Names::default(), None);
    let damaged = |e: io::Error| format!("not a chart's archive: {e}");
    for (count, entry) in archive.entries().map_err(damaged)?.enumerate() {
        let mut entry = entry.map_err(damaged)?;
        if count >= ENTRIES {
            return Err(format!("more than {ENTRIES} entries"));
        }
        let kind = entry.header().entry_type();
        if kind == EntryType::XGlobalHeader {
            continue;
        }
        let path = plain_name(&entry.path_bytes())?;
        if !matches!(kind, EntryType::Regular | EntryType::Directory) {
            return Err(format!("`{path}` is neither a file nor a folder"));
        }
        let (folder, rest) = path.split_once('/').unwrap_or((path.as_str(), ""));
        if root.get_or_insert_with(|| folder.to_owned()) != folder {
            return Err(format!("`{path}` is not in the chart's folder"));
        }
        names.take(&path, kind == EntryType::Directory)?;
        if kind == EntryType::Directory {
            continue;
        }
        if rest.is_empty() {
            return Err(format!("`{path}` is not in a folder"));
        }
        if entry.size() > FILE {
            return Err(format!("`{path}` has more than {FILE} bytes"));
        }
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).map_err(|e| format!("`{path}`: {e}"))?;
        *budget = budget.saturating_sub(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        look_inside(rest, &bytes, budget, packages)?;
        files.push(File { path: rest.to_owned(), bytes });
    }
    Ok(files)
}

/// Checks what Helm would open further: packages of other charts, and schemas.
fn look_inside(path: &str, bytes: &[u8], budget: &mut u64, packages: usize) -> Result<(), String> {
    if path.ends_with(".tgz") || path.ends_with(".tar.gz") {
        let fewer =
            packages.checked_sub(1).ok_or_else(|| format!("`{path}`: packages are nested too deeply"))?;
        unpack_within(bytes, budget, fewer).map_err(|reason| format!("`{path}`: {reason}"))?;
    }
    if path == "values.schema.json" || path.ends_with("/values.schema.json") {
        let schema = serde_json::from_slice::<Value>(bytes).map_err(|e| format!("`{path}`: {e}"))?;
        if let Some(address) = leads_out(&schema) {
            // Helm would fetch it.
            return Err(format!("`{path}` refers to {address}, outside of the package"));
        }
    }
    Ok(())
}

/// Finds an address in a JSON Schema that is not within it.
fn leads_out(schema: &Value) -> Option<&str> {
    match schema {
        Value::Object(fields) => fields.iter().find_map(|(name, value)| {
            let outside = |text: &&str| match name.as_str() {
                "$ref" | "$dynamicRef" | "$recursiveRef" => !text.starts_with('#'),
                "$schema" => !["http://json-schema.org/", "https://json-schema.org/"]
                    .iter()
                    .any(|known| text.starts_with(known)),
                _ => false,
            };
            value.as_str().filter(outside).or_else(|| leads_out(value))
        }),
        Value::Array(items) => items.iter().find_map(leads_out),
        _ => None,
    }
}

/// Returns a name that means the same wherever it is written.
fn plain_name(bytes: &[u8]) -> Result<String, String> {
    let shown = || String::from_utf8_lossy(bytes).escape_debug().take(NAME).collect::<String>();
    let odd = |why: &str| format!("the name `{}` {why}", shown());
    let name = str::from_utf8(bytes).map_err(|_| odd("is no text"))?;
    let name = name.strip_suffix('/').unwrap_or(name);
    if name.len() > NAME {
        return Err(odd("is too long"));
    }
    if !name.bytes().all(|b| (b == b' ' || b.is_ascii_graphic()) && !b"\\:*?\"<>|".contains(&b)) {
        return Err(odd("has characters that are not plain"));
    }
    let parts: Vec<&str> = name.split('/').collect();
    if parts.len() > DEPTH {
        return Err(odd("is too deep"));
    }
    if parts.iter().any(|part| matches!(*part, "" | "." | "..")) {
        return Err(odd("does not lead straight down"));
    }
    Ok(name.to_owned())
}

/// Tells whether files are the chart that they were asked for as.
pub(super) fn is_chart(files: &[File], id: &ChartId) -> Result<(), String> {
    let file = files.iter().find(|file| file.path == "Chart.yaml").ok_or("it has no Chart.yaml")?;
    let text = str::from_utf8(&file.bytes).map_err(|_| "its Chart.yaml is no text")?;
    let stream = Stream::parse(text).map_err(|e| format!("its Chart.yaml: {e}"))?;
    let says =
        |key: &str| stream.roots().next().and_then(|root| root.text(&[key])).unwrap_or_default().to_owned();
    let found = ChartId { name: says("name"), version: says("version") };
    match found == *id {
        true => Ok(()),
        false => Err(format!("its Chart.yaml says {found}")),
    }
}

// === impl Bounded ===

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(io::Error::other("it unpacks to more than a chart has"));
        }
        let most = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let count = self.from.read(buffer.get_mut(..most).unwrap_or_default())?;
        self.left = self.left.saturating_sub(u64::try_from(count).unwrap_or(u64::MAX));
        Ok(count)
    }
}

// === impl Names ===

impl Names {
    fn take(&mut self, path: &str, folder: bool) -> Result<(), String> {
        let above = path.match_indices('/').filter_map(|(at, _)| path.get(..at));
        for name in above.map(|name| (name, true)).chain([(path, folder)]) {
            let (name, is_folder) = name;
            let now = (name.to_owned(), is_folder);
            let before = self.taken.get(&name.to_ascii_lowercase());
            if before.is_some_and(|before| *before != now || !is_folder) {
                return Err(format!("`{path}` is there twice, or under names that differ in case alone"));
            }
            self.taken.insert(name.to_ascii_lowercase(), now);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write::GzEncoder};
    use tar::{Builder, Header};

    use super::*;

    struct Maker(Builder<GzEncoder<Vec<u8>>>);

    impl Maker {
        fn new() -> Self {
            Self(Builder::new(GzEncoder::new(Vec::new(), Compression::best())))
        }

        /// Adds an entry under any name, also one that the builder would refuse.
        fn entry(mut self, name: &str, kind: EntryType, bytes: &[u8]) -> Self {
            let mut header = Header::new_gnu();
            header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_entry_type(kind);
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            if matches!(kind, EntryType::Symlink | EntryType::Link) {
                header.set_link_name("/etc/passwd").unwrap();
            }
            header.set_cksum();
            self.0.append(&header, bytes).unwrap();
            self
        }

        fn file(self, name: &str, text: &str) -> Self {
            self.entry(name, EntryType::Regular, text.as_bytes())
        }

        fn done(self) -> Vec<u8> {
            self.0.into_inner().unwrap().finish().unwrap()
        }

        fn refused(self) -> String {
            unpack(&self.done()).unwrap_err()
        }
    }

    #[test]
    fn a_charts_files_come_by_path() {
        let package = Maker::new()
            .entry("pax_global_header", EntryType::XGlobalHeader, b"20 comment=abcdefgh\n")
            .entry("c/", EntryType::Directory, b"")
            .file("c/Chart.yaml", "name: c\nversion: '1.0.0'\n")
            .file("c/templates/a b.yaml", "x")
            .done();
        let files = unpack(&package).unwrap();
        let paths: Vec<&str> = files.iter().map(|f| f.path.as_str()).collect();
        assert_eq!(paths, ["Chart.yaml", "templates/a b.yaml"]);
        let id = |name: &str, version: &str| ChartId { name: name.into(), version: version.into() };
        assert_eq!(is_chart(&files, &id("c", "1.0.0")), Ok(()));
        assert!(is_chart(&files, &id("c", "1.0.1")).unwrap_err().contains("c 1.0.0"));
        assert!(is_chart(&files[1..], &id("c", "1.0.0")).is_err());
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for name in [
            "c/../../x",
            "/etc/passwd",
            "../x",
            "c//x",
            "c/./x",
            "./c/x",
            "c/a\\b",
            "c/a\nb",
            "c/\u{e9}",
            "c/a:b",
            "c/..",
            "x",
            "d/x",
        ] {
            let refused = Maker::new().file("c/Chart.yaml", "x").file(name, "x").refused();
            assert!(refused.contains("name") || refused.contains("folder"), "{name}: {refused}");
        }
        let deep = format!("c/{}x", "d/".repeat(20));
        assert!(Maker::new().file(&deep, "x").refused().contains("deep"));
    }

    #[test]
    fn only_files_and_folders_are_taken() {
        for kind in [
            EntryType::Symlink,
            EntryType::Link,
            EntryType::Char,
            EntryType::Block,
            EntryType::Fifo,
            EntryType::Continuous,
        ] {
            assert!(
                Maker::new().entry("c/x", kind, b"").refused().contains("neither a file nor"),
                "{kind:?}"
            );
        }
    }

    #[test]
    fn a_name_is_taken_once() {
        for (one, other) in
            [("c/a", "c/a"), ("c/a", "c/A"), ("c/a", "c/a/b"), ("c/a/b", "c/a"), ("c/d/a", "c/D/b")]
        {
            assert!(Maker::new().file(one, "").file(other, "").refused().contains("twice"), "{one} {other}");
        }
    }

    #[test]
    fn bombs_are_refused() {
        let zeros = " ".repeat(7 << 20);
        let bomb = Maker::new().file("c/a", &zeros).done();
        assert!(bomb.len() < 100_000);
        assert!(unpack(&bomb).unwrap_err().contains("more than a chart has"));
        let within = Maker::new().entry("c/charts/d.tgz", EntryType::Regular, &bomb);
        assert!(within.refused().contains("charts/d.tgz"));
        // Something that does not shrink, so that it is not the ratio that speaks.
        let noise: Vec<u8> = (0..1_u32 << 16)
            .map(|n| (n.wrapping_mul(2_654_435_761).rotate_left(n % 29) >> 7) as u8)
            .collect();
        let first = Maker::new().entry("c/noise", EntryType::Regular, &noise);
        let many = (0..=ENTRIES).fold(first, |m, n| m.entry(&format!("c/{n}/"), EntryType::Directory, b""));
        assert!(many.refused().contains("entries"));
        let long = Maker::new().entry("././@LongLink", EntryType::GNULongName, zeros.as_bytes());
        assert!(long.file("c/x", "").refused().contains("more than a chart has"));
        let nested = |levels| {
            (0..levels).fold(Maker::new().file("d/x", "").done(), |inner, _| {
                Maker::new().entry("c/charts/d.tgz", EntryType::Regular, &inner).done()
            })
        };
        assert!(unpack(&nested(PACKAGES)).is_ok());
        assert!(unpack(&nested(PACKAGES + 1)).unwrap_err().contains("nested too deeply"));
    }

    #[test]
    fn each_ceiling_holds_by_itself() {
        let zeros = vec![0; usize::try_from(FILE).unwrap() + 1];
        let large = Maker::new().entry("c/a", EntryType::Regular, &zeros).refused();
        assert!(large.contains("`c/a` has more than"), "{large}");
        let long = format!("c/{}", "x".repeat(NAME));
        let named = Maker::new().entry("././@LongLink", EntryType::GNULongName, long.as_bytes());
        let refused = named.file("c/x", "").refused();
        assert!(refused.contains("too long"), "{refused}");
        // The bytes of all files count, and those of the packages among them.
        let text = |lines| "a line of a template\n".repeat(lines);
        let inner = Maker::new().file("d/x", &text(1000)).done();
        let outer =
            Maker::new().file("c/x", &text(100)).entry("c/charts/d.tgz", EntryType::Regular, &inner).done();
        let within = |mut budget: u64| unpack_within(&outer, &mut budget, PACKAGES);
        assert_eq!(within(TOTAL).unwrap().len(), 2);
        for budget in [1000, 12_000] {
            assert!(within(budget).unwrap_err().contains("more than a chart has"), "{budget}");
        }
    }

    #[test]
    fn a_schema_stays_within_its_package() {
        let schema = |text: &str| Maker::new().file("c/charts/d/values.schema.json", text).done();
        for text in [
            r#"{"$ref": "http://127.0.0.1/x"}"#,
            r#"{"properties": {"a": [{"$ref": "file:///etc/passwd"}]}}"#,
            r#"{"$schema": "https://evil.example/x"}"#,
            "{",
        ] {
            assert!(unpack(&schema(text)).unwrap_err().contains("values.schema.json"), "{text}");
        }
        let own = r##"{"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/x"}"##;
        assert!(unpack(&schema(own)).is_ok());
    }

    #[test]
    fn what_is_no_archive_is_refused() {
        let whole = Maker::new().file("c/Chart.yaml", &"name: c\n".repeat(100)).done();
        for length in 0..whole.len() - 8 {
            let found = unpack(&whole[..length]);
            assert!(found.is_err() || found.is_ok_and(|files| files.len() <= 1), "{length}");
        }
        assert!(unpack(b"<html>").is_err());
        let mut noise = GzEncoder::new(Vec::new(), Compression::fast());
        noise.write_all(&[7; 4096]).unwrap();
        assert!(unpack(&noise.finish().unwrap()).is_err());
    }
}
