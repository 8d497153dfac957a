//! Step 5, pins: files that are no manifest: prose, scripts, other tools.
//!
//! In: a file's name and text. Out: `other` pins, which are reported and never moved; the lines of scripts that would render or
//! install an old release again.

mod badges;
mod changelogs;
mod channels;
mod class;
mod commands;
mod entry;
mod escapes;
mod headings;
mod mapping;
mod mappings;
mod milestones;
mod names;
mod number;
mod numbers;
mod prose;
mod reads;
mod renovate;
mod speaks;
mod spelling;
mod tables;

use std::{
    cell::LazyCell,
    collections::{BTreeSet, HashSet},
    ops::Range,
};

use super::{
    Form, Generator, Pin, PinKind, Reason, SkipReason, Skipped,
    marker::{self, TextFile},
    release_names::{Token, edge_ranges, of_other_channels, releases, tokens},
};
use crate::linkerd::{self, EdgeVersion};

use class::describes_packages;
use number::{Number, gives_linkerds, lines, may_be_linkerd, number, words};
use speaks::{is_near, speaking_lines};

pub(super) use class::{Class, class, is_chart_template, is_configuration};
pub(super) use names::{is_of_anything, is_version_of_another};
pub(super) use reads::YTT;
pub(super) use speaks::speaks;

/// How many places of one file are reported as `other`.
const REPORTED: usize = 200;
/// The longest name of an image, with that of its registry (OCI distribution specification, "Pulling manifests").
const IMAGE: usize = 255;

/// What a file says beside all that is known of it.
pub(super) struct Told {
    pub pins: Vec<Pin>,
    /// Names the file, where it says more than is reported.
    pub beyond: Option<Skipped>,
}

// === impl Told ===

impl Told {
    fn new(file: &TextFile<'_>, mut pins: Vec<Pin>) -> Self {
        let beyond = (pins.len() > REPORTED).then(|| Skipped {
            path: file.path.clone(),
            reason: SkipReason::TooLarge,
            detail: Some(format!("it names more than {REPORTED} releases that no pin is")),
            versions: Vec::new(),
        });
        pins.truncate(REPORTED);
        Self { pins, beyond }
    }

    pub fn report(self, pins: &mut Vec<Pin>, skipped: &mut Vec<Skipped>) {
        pins.extend(self.pins);
        skipped.extend(self.beyond);
    }
}

/// Reports the release names of a text as `other`, once a line. `2026.8.2` is also how a calendar counts: it is one only
/// near a line that speaks of Linkerd, or under a name that such a line reads, or in a file of that name, and not as the tag
/// of another's image. Nothing else counts as other channels do: those ask that the file speaks of Linkerd anywhere.
pub(super) fn pins(file: &TextFile<'_>, known: &[Pin], reason: Reason) -> Told {
    let known = known.iter().map(|pin| pin.site.span.clone()).collect();
    named(file, known, (&[], &[]), |_, token| Some(token), |_| reason)
}

/// Reports those of a template that speaks of Linkerd, and whose code is in these places: what the code names is Linkerd's however
/// far it stands from there.
pub(super) fn in_template(file: &TextFile<'_>, known: &[Pin], code: &[Range<usize>]) -> Told {
    let known = known.iter().map(|pin| pin.site.span.clone()).collect();
    named(file, known, (&[], code), |_, token| Some(token), |_| Reason::NotDeployed)
}

/// Reports those of a file that machines read: what a comment names nothing deploys, and of all else nobody knows who
/// reads it. What is given to one of `names` is Linkerd's wherever it stands.
pub(super) fn in_code(file: &TextFile<'_>, known: Vec<Range<usize>>, names: &[&BTreeSet<String>]) -> Told {
    let whole = |line: &str, token: Token| escapes::whole(file.path, line, token);
    named(file, known, (names, &[]), whole, |before| match is_said(before) {
        true => Reason::NotDeployed,
        false => Reason::NotFollowed,
    })
}

/// Tells whether what follows on a line is for people, in YAML, JSON or HCL.
fn is_said(before: &str) -> bool {
    let start = before.trim_start();
    let begins = |sign: &str| start.starts_with(sign);
    let in_text = |at: usize| before.get(..at).is_some_and(|b| b.matches('"').count() % 2 == 1);
    let opens = [" #", " //"].iter().filter_map(|sign| before.find(sign)).any(|at| !in_text(at));
    ["#", "//", "/*", "* ", "description"].iter().any(|sign| begins(sign)) || opens
}

fn named(
    file: &TextFile<'_>,
    mut known: Vec<Range<usize>>,
    (names, code): (&[&BTreeSet<String>], &[Range<usize>]),
    read: impl Fn(&str, Token) -> Option<Token>,
    reason: impl Fn(&str) -> Reason,
) -> Told {
    known.sort_by_key(|span| span.start);
    let taken = |at: usize| is_within(&known, at);
    let speaking = speaking_lines(file.text);
    let is_linkerd_s = speaks(file.path.as_str());
    let near = |number: usize| is_linkerd_s || is_near(&speaking, number);
    let speaks = is_linkerd_s || !speaking.is_empty();
    let own = reads::names(file.text, near);
    let numbers = if speaks { numbers_of(file) } else { Vec::new() };
    let mut found = Vec::new();
    each_line(file.text, |number, start, line| {
        let left = REPORTED + 1 - found.len();
        if left == 0 {
            return;
        }
        let names_chart = LazyCell::new(|| line.split(ends_image).any(linkerd::is_chart));
        let is_tag_of_another = |at: usize| is_tag_of_another(line, at, || *names_chart);
        let given_to = |t: &Token| reads::given_to(file.text, start + t.span.start);
        let is_named = |t: &Token| {
            given_to(t).filter(|name| own.contains(name) || names.iter().any(|all| all.contains(*name)))
        };
        let may_be = |t: &Token| {
            let is_meant = near(number) || is_within(code, start + t.span.start);
            t.form == Form::Edge || is_meant && !is_tag_of_another(t.span.start) || is_named(t).is_some()
        };
        let is_new = |t: &Token| may_be(t) && !taken(start + t.span.start);
        let all = tokens(line).into_iter().filter_map(|token| read(line, token));
        let named = all.filter(is_new).take(left).map(|Token { span, form, version }| {
            let reason = reason(line.get(..span.start).unwrap_or_default());
            (span, (form, Some(version)), reason)
        });
        let first = numbers.partition_point(|(span, _)| span.start < start);
        let of_line = numbers.iter().skip(first).take_while(|(span, _)| span.start < start + line.len());
        let is_range = |span: &Range<usize>| {
            let range = line.get(span.clone()).unwrap_or_default();
            // What ends as a range says that it is one.
            let is_tag = range.starts_with("edge-") && !range.ends_with(|c: char| c.is_ascii_digit());
            is_tag || near(number) && !is_tag_of_another(span.start)
        };
        let others = of_other_channels(line)
            .map(|span| (span, Some(Reason::Channel)))
            .chain(edge_ranges(line).filter(is_range).map(|span| (span, None)))
            .chain(of_line.map(|(span, why)| (span.start - start..span.end - start, *why)))
            .filter(|(span, _)| speaks && !taken(start + span.start))
            .take(left)
            .map(|(span, why)| {
                let reason = why.unwrap_or_else(|| reason(line.get(..span.start).unwrap_or_default()));
                (span, (Form::Opaque, None), reason)
            });
        let mut all: Vec<_> = named.chain(others).collect();
        all.sort_by_key(|(span, ..)| span.start);
        // A line says one release once, whatever files of it it names.
        let mut said = HashSet::new();
        all.retain(|(span, ..)| {
            let mut parts = line.get(span.clone()).unwrap_or_default().splitn(3, '-');
            said.insert((parts.next(), parts.next()))
        });
        let (mut counted, mut column) = (0, 1);
        for (place, what, reason) in all.into_iter().take(left) {
            column += line.get(counted..place.start).map_or(0, |before| before.chars().count());
            counted = place.start;
            let span = start + place.start..start + place.end;
            found.push(marker::text_pin(file, PinKind::Other, span, (number, column), what, Some(reason)));
        }
    });
    Told::new(file, found)
}

/// Finds the numbers of a file that speaks of Linkerd, in their order.
fn numbers_of(file: &TextFile<'_>) -> Vec<Number> {
    let mut found = numbers::numbers(file.text);
    if speaks(file.path.as_str()) {
        found.extend(numbers::of_file(file.path.as_str(), file.text));
    }
    if class(file.path) == Class::Prose {
        found.extend(headings::below_headings(file.text));
        found.extend(changelogs::taken_in(file.text));
    }
    if describes_packages(file.path.name()) {
        // But for a key that says otherwise, it is given to packages.
        found.retain(|(span, _)| reads::given_to(file.text, span.start).is_none_or(gives_linkerds));
    }
    found.sort_by_key(|(span, _)| span.start);
    found
}

/// Tells whether a byte is in one of several places, which stand in order.
fn is_within(spans: &[Range<usize>], at: usize) -> bool {
    let next = spans.partition_point(|span| span.start <= at);
    next.checked_sub(1).and_then(|n| spans.get(n)).is_some_and(|span| span.contains(&at))
}

/// Lists the names that a text reads where it speaks of Linkerd.
pub(super) fn names_read(text: &str) -> BTreeSet<&str> {
    let speaking = speaking_lines(text);
    reads::names(text, |number| is_near(&speaking, number))
}

/// Tells whether a text has a number that counts as Linkerd's releases do.
pub(super) fn counts_as_linkerds(text: &str) -> bool {
    let counts = |word: &str| {
        let found = number(word, 0).and_then(|(span, _)| word.get(span));
        found.is_some_and(may_be_linkerd)
    };
    words(text).any(counts)
}

/// Tells whether what stands there is the tag of an image, or of a chart in a registry, that Linkerd has not named:
/// `ghcr.io/acme/calendar:2026.8.2`. Helm is given the name of a chart of Linkerd's beside an address that need not speak of it.
/// It may be asked for at each place of a line that has no end, and looks no further back than a name may reach.
fn is_tag_of_another(line: &str, at: usize, names_chart: impl Fn() -> bool) -> bool {
    let before = line.get(..at).and_then(|before| before.strip_suffix(':')).unwrap_or_default();
    let near = before.char_indices().rev().nth(IMAGE).map_or(0, |(start, _)| start);
    let word = before.get(near..).and_then(|near| near.rsplit(ends_image).next()).unwrap_or_default();
    word.contains('/') && !speaks(word) && !(word.starts_with("oci://") && names_chart())
}

/// Tells what no name of an image has, nor its address.
fn ends_image(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '=' | '(' | '[' | '{' | ',')
}

/// A place where a text names a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// From 1.
    pub line: usize,
    /// The text as it stands.
    pub text: String,
    /// Whether that is a tag; else it is a chart's version.
    pub form: Form,
    /// The release.
    pub version: EdgeVersion,
}

/// Returns the places where a text names releases.
pub fn mentions(text: &str) -> Vec<Mention> {
    let mut found = Vec::new();
    each_line(text, |line, _, content| {
        found.extend(tokens(content).into_iter().map(|token| {
            let text = content.get(token.span).unwrap_or_default().to_owned();
            Mention { line, text, form: token.form, version: token.version }
        }));
    });
    found
}

/// Finds the lines of a script that name a release and are no pins; comments are history.
pub(super) fn generators(file: &TextFile<'_>, pins: &[Pin]) -> Vec<Generator> {
    let known = starts(pins);
    let mut found: Vec<Generator> = Vec::new();
    each_line(file.text, |number, start, line| {
        let code = line.trim_start();
        let comment = code.starts_with('#') || code.starts_with("//");
        let token = tokens(line).into_iter().find(|t| !known.contains(&(start + t.span.start)));
        if let Some(token) = token.filter(|_| !comment) {
            let Token { version, form, .. } = token;
            found.push(Generator { path: file.path.clone(), line: number, version, form });
        }
    });
    found
}

/// Returns the releases that a text names outside the given pins.
pub(super) fn unmarked_releases(text: &str, markers: &[Pin]) -> Vec<EdgeVersion> {
    if markers.is_empty() {
        return releases(text);
    }
    let marked = starts(markers);
    let free = |t: &Token| !marked.contains(&t.span.start);
    let mut found: Vec<_> = tokens(text).into_iter().filter(free).map(|t| t.version).collect();
    found.sort_unstable();
    found.dedup();
    found
}

fn starts(pins: &[Pin]) -> HashSet<usize> {
    pins.iter().map(|pin| pin.site.span.start).collect()
}

fn each_line(text: &str, mut visit: impl FnMut(usize, usize, &str)) {
    for (number, (start, line)) in lines(text).enumerate() {
        visit(number + 1, start, line);
    }
}

#[cfg(test)]
mod tests {
    use super::{speaks::NEAR, *};
    use crate::{
        repo::{BlobId, RepoPath},
        sys::clock::on_processor,
    };

    fn file<'t>(path: &'t RepoPath, text: &'t str) -> TextFile<'t> {
        TextFile { path, blob: BlobId([0; 20]), text, sealed: false }
    }

    #[test]
    fn what_a_comment_names_is_for_people() {
        for said in ["# was ", "a: 1 # since ", "  // ", "/* ", " * ", "description = \"from ", "x = 1 // "] {
            assert!(is_said(said), "{said}");
        }
        for read in ["a: ", "url = \"https://", "x = \"a #", "- ", "*", "\"chart\": \""] {
            assert!(!is_said(read), "{read}");
        }
    }

    #[test]
    fn a_calendar_version_is_linkerd_s_only_near_its_name() {
        let path = RepoPath::new("HISTORY.md").unwrap();
        let lines = |text: &str| {
            let file = file(&path, text);
            pins(&file, &[], Reason::NotDeployed).pins.iter().map(|p| p.site.line).collect::<Vec<_>>()
        };
        let history = "## 2026.8.2\n\n- calendar\n\n\n\n\n\n- linkerd is up\n";
        assert_eq!(lines(history), [0; 0]);
        assert_eq!(lines(&history.replace("## 2026.8.2", "## edge-26.8.2")), [1]);
        assert_eq!(lines("helm upgrade \\\n  linkerd-crds \\\n  --version 2026.8.2\n"), [3]);
        assert_eq!(lines("- linkerd\n\n\n\n- 2026.8.2\n"), [5]);
        let images = "linkerd.io/inject: enabled\nimage: ghcr.io/acme/calendar:2026.8.2\n";
        assert_eq!(lines(images), [0; 0]);
        assert_eq!(lines(&images.replace("acme/calendar", "acme/charts/linkerd-crds")), [2]);
        assert_eq!(lines("helm install linkerd-crds oci://acme.example/crds:2026.8.2\n"), [1]);
        assert_eq!(lines("helm install linkerd-calendar oci://acme.example/days:2026.8.2\n"), [0; 0]);
        assert_eq!(lines("linkerd-crds:2026.8.2 # https://linkerd.io\nversion:2026.8.2"), [1, 2]);
    }

    #[test]
    fn a_line_of_tags_alone_takes_no_time() {
        let path = RepoPath::new("a.md").unwrap();
        let begun = on_processor();
        for image in ["a/b:2026.8.2:", " oci://a/b:2026.8.2"] {
            let text = format!("linkerd\n{}\n", image.repeat(50_000));
            assert_eq!(pins(&file(&path, &text), &[], Reason::NotDeployed).pins.len(), 0, "{image}");
        }
        let taken = on_processor() - begun;
        assert!(taken.as_secs() < 10, "{taken:?}");
    }

    #[test]
    fn the_code_of_a_template_that_speaks_of_linkerd_means_its_versions() {
        let path = RepoPath::new("a.yaml").unwrap();
        let far = "\n".repeat(NEAR + 1);
        let text = format!("linkerd{far}{{{{ if eq .v \"2026.8.2\" }}}}{far}day: 2026.9.1\n");
        let code = text.find("{{").unwrap()..text.find("}}").unwrap() + 2;
        let found = |code: &[Range<usize>]| {
            let told = in_template(&file(&path, &text), &[], code).pins.into_iter();
            told.map(|pin| (pin.value, pin.stays)).collect::<Vec<_>>()
        };
        assert_eq!(found(&[code]), [("2026.8.2".to_owned(), Some(Reason::NotDeployed))]);
        assert_eq!(found(&[]), []);
    }

    #[test]
    fn what_describes_a_package_has_a_version_of_its_own() {
        let lines = |path: &str, text: &str| {
            let path = RepoPath::new(path).unwrap();
            let told = in_code(&file(&path, text), Vec::new(), &[]);
            told.pins.iter().map(|p| p.site.line).collect::<Vec<_>>()
        };
        let galaxy = "namespace: acme\nname: linkerd\nversion: 2.1.0\nlinkerd_version: 2.14.10\n";
        assert_eq!(lines("galaxy.yml", galaxy), [4]);
        assert_eq!(lines("vars.yml", galaxy), [3, 4]);
        assert_eq!(lines("package.json", "{\"name\": \"linkerd\", \"version\": \"2.1.0\"}\n"), [0; 0]);
        assert_eq!(lines("package.json", "{\"dependencies\": {\"linkerd-viz\": \"1.0.0\"}}\n"), [0; 0]);
    }

    #[test]
    fn a_file_that_says_more_than_is_reported_is_named() {
        let path = RepoPath::new("index.yaml").unwrap();
        let told = |lines: usize| {
            let text = "  version: 2026.8.2 # linkerd\n".repeat(lines);
            let file = file(&path, &text);
            let told = in_code(&file, Vec::new(), &[]);
            (told.pins.len(), told.beyond.map(|skip| (skip.path.as_str().to_owned(), skip.reason)))
        };
        assert_eq!(told(REPORTED), (REPORTED, None));
        assert_eq!(told(REPORTED + 1), (REPORTED, Some(("index.yaml".to_owned(), SkipReason::TooLarge))));
    }

    #[test]
    fn what_a_line_about_linkerd_reads_is_told_wherever_it_is_given() {
        let path = RepoPath::new("install.sh").unwrap();
        let lines = |text: &str| {
            let file = file(&path, text);
            pins(&file, &[], Reason::NotFollowed).pins.iter().map(|p| p.site.line).collect::<Vec<_>>()
        };
        let far = "\n".repeat(NEAR);
        let text =
            format!("A=2026.8.2\nB=2026.8.1\n{far}helm upgrade linkerd-crds l/linkerd-crds --version $A\n");
        assert_eq!(lines(&text), [1]);
        assert_eq!(lines(&text.replace("--version $A", "$OTHER")), [0; 0]);
    }

    #[test]
    fn a_number_that_a_chart_is_given_is_told_without_a_channel_in_it() {
        let path = RepoPath::new("install.sh").unwrap();
        let text =
            "helm install linkerd-crds l/linkerd-crds --version 1.8.0\nhelm install a b/a --version 1.8.0\n";
        let file = file(&path, text);
        let told = |p: &Pin| (p.site.line, p.site.column, p.value.clone(), p.stays);
        let found: Vec<_> = pins(&file, &[], Reason::NotFollowed).pins.iter().map(told).collect();
        assert_eq!(found, [(1, 52, "1.8.0".to_owned(), Some(Reason::Channel))]);
    }

    #[test]
    fn all_releases_of_a_line_are_told() {
        let path = RepoPath::new("versions.yaml").unwrap();
        let told = |text: &str| {
            let file = file(&path, text);
            let told = in_code(&file, Vec::new(), &[]);
            told.pins.into_iter().map(|p| (p.site.column, p.value, p.stays)).collect::<Vec<_>>()
        };
        let of = |column, value: &str, stays| (column, value.to_owned(), Some(stays));
        let (read, said) = (Reason::NotFollowed, Reason::NotDeployed);
        assert_eq!(
            told("linkerd: {ä: edge-26.7.1, b: 2026.7.2} # was edge-26.6.3\n"),
            [of(14, "edge-26.7.1", read), of(30, "2026.7.2", read), of(46, "edge-26.6.3", said)]
        );
        assert_eq!(told("linkerd: stable-2.10.1-linux.sha256 # of stable-2.10.1-linux\n").len(), 1);
        let escaped = r#"linkerd: {a: "edge-26.8.1\u0030"}"#;
        assert_eq!(told(escaped), [of(15, r"edge-26.8.1\u0030", read)]);
        let line: String = (1..REPORTED + 9).map(|n| format!("edge-26.7.{n} ")).collect();
        assert_eq!(told(&line).len(), REPORTED, "a line has no more than a file");
    }

    #[test]
    fn a_release_of_another_channel_is_told_near_linkerd_s_name() {
        let path = RepoPath::new("versions.py").unwrap();
        let found = |text: &str| {
            let file = file(&path, text);
            let told = |p: Pin| (p.site.line, p.site.column, p.value, p.version.is_some(), p.stays);
            in_code(&file, Vec::new(), &[]).pins.into_iter().map(told).collect::<Vec<_>>()
        };
        let stable = |line, column| (line, column, "stable-2.14.10".to_owned(), false, Some(Reason::Channel));
        assert_eq!(found("linkerd = 'stable-2.14.10'\n"), [stable(1, 12)]);
        assert_eq!(found("ansible = 'stable-2.14.10'\n"), []);
        assert_eq!(
            found("linkerd:\n\n\n\n\n\n\n  v: stable-2.14.10\n"),
            [stable(8, 6)],
            "nothing else counts so"
        );
        let of_both = found("linkerd: stable-2.14.10 -> edge-26.8.2\n");
        let both: Vec<_> = of_both.iter().map(|(_, column, value, ..)| (*column, value.as_str())).collect();
        assert_eq!(both, [(10, "stable-2.14.10"), (28, "edge-26.8.2")]);
    }

    #[test]
    fn a_range_of_releases_is_told_near_linkerd_s_name() {
        let path = RepoPath::new("run.sh").unwrap();
        let found = |text: &str| {
            let file = file(&path, text);
            let told = |p: Pin| (p.site.line, p.value, p.version.is_some(), p.stays);
            in_code(&file, Vec::new(), &[]).pins.into_iter().map(told).collect::<Vec<_>>()
        };
        let range = |line, value: &str| (line, value.to_owned(), false, Some(Reason::NotFollowed));
        let far = "\n".repeat(NEAR);
        let text = format!("linkerd=edge-26.8.x\nchart=2026.8.x\n{far}tag=edge-26.x\nday=2026.9.x\n");
        let expected = [range(1, "edge-26.8.x"), range(2, "2026.8.x"), range(3 + NEAR, "edge-26.x")];
        assert_eq!(found(&text), expected);
        assert_eq!(found("ansible=edge-26.8.x\n"), []);
        let text = format!("linkerd=edge-26.8\n{far}ansible=edge-26.9\n");
        assert_eq!(found(&text), [range(1, "edge-26.8")], "a month is Linkerd's near its name");
    }

    #[test]
    fn a_script_s_comments_and_marked_lines_bring_nothing_back() {
        let path = RepoPath::new("Makefile").unwrap();
        let text = "# was edge-26.7.1\nA = edge-26.8.2 # uplinker: edge\nB = 2026.8.1\n";
        let file = file(&path, text);
        let lines: Vec<usize> = generators(&file, &marker::pins(&file)).iter().map(|g| g.line).collect();
        assert_eq!(lines, [3]);
    }
}
