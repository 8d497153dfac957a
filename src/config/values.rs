//! What single texts of the configuration mean: durations, releases, ranges, cron, moments, globs, people.
//!
//! In: one text. Out: a ready value, or what is wrong and what to write. Pure; time zones come with the program.

use croner::parser::{CronParser, Seconds, Year};
use globset::{Glob, GlobBuilder, GlobMatcher};
use jiff::{SignedDuration, Timestamp, civil, tz::TimeZone};

use super::nearest;
use crate::{
    linkerd::{self, EdgeVersion},
    policy::Range,
    repo::{RepoPath, Signature},
};

/// What is wrong with a text, and what to write instead.
pub(crate) type Fault = (String, String);

fn fault<T>(reason: impl Into<String>, hint: impl Into<String>) -> Result<T, Fault> {
    Err((reason.into(), hint.into()))
}

/// Reads `90m`, `12h`, `3d`, `2w`.
pub(crate) fn duration(text: &str) -> Result<SignedDuration, Fault> {
    let hint = "write a number and a unit, such as `90m`, `12h`, `3d` or `2w`";
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let minutes = match text.get(digits.len()..) {
        Some("m") => 1,
        Some("h") => 60,
        Some("d") => 24 * 60,
        Some("w") => 7 * 24 * 60,
        _ => return fault(format!("`{text}` is not a duration"), hint),
    };
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    match digits.parse::<i64>().ok().filter(|_| plain).and_then(|n| n.checked_mul(minutes)) {
        Some(minutes) if minutes <= 366 * 24 * 60 => Ok(SignedDuration::from_mins(minutes)),
        Some(_) => fault(format!("`{text}` is longer than a year"), "shorten it, or set `paused`"),
        None => fault(format!("`{text}` is not a duration"), hint),
    }
}

/// Reads `edge-26.8.3`.
pub(super) fn edge(text: &str) -> Result<EdgeVersion, Fault> {
    text.parse().or_else(|_| {
        let hint = match EdgeVersion::meant_by(text) {
            Some(version) => format!("did you mean `{version}`?"),
            None => "write one such as `edge-26.8.3`".to_owned(),
        };
        fault(format!("`{text}` is not an edge release"), hint)
    })
}

/// Reads `>=edge-26.1.1 <edge-27.1.1`, `edge-26.x` or `edge-26.8.x`.
pub(super) fn range(text: &str) -> Result<Range, Fault> {
    let hint =
        "write bounds such as `>=edge-26.1.1 <edge-27.1.1`, a year `edge-26.x`, or a month `edge-26.8.x`";
    if let Some(stem) = text.strip_suffix(".x") {
        return wild_range(stem)
            .ok_or_else(|| (format!("`{text}` is not a range of edge releases"), hint.to_owned()));
    }
    let mut range = Range { from: None, to: None };
    for bound in text.split_whitespace() {
        let operator = bound.trim_start_matches(['<', '>', '=']);
        let (operator, version) = bound.split_at(bound.len() - operator.len());
        let version = edge(version).map_err(|(reason, _)| (reason, hint.to_owned()))?;
        let (end, value) = match operator {
            ">=" => (&mut range.from, Some(version)),
            ">" => (&mut range.from, beside(version, true)),
            "<=" => (&mut range.to, Some(version)),
            "<" => (&mut range.to, beside(version, false)),
            _ => return fault(format!("`{bound}` has no bound that is known"), hint),
        };
        if end.is_some() || value.is_none() {
            return fault(format!("`{text}` has two bounds on one side, or one that nothing meets"), hint);
        }
        *end = value;
    }
    match (range.from, range.to) {
        (None, None) => fault("the range is empty", hint),
        (Some(from), Some(to)) if from > to => {
            fault(format!("no release is inside `{text}`"), "swap the bounds, or widen them")
        }
        _ => Ok(range),
    }
}

fn wild_range(stem: &str) -> Option<Range> {
    let year = stem.strip_prefix("edge-")?;
    // Releases count from 1 in each month, so 0 and the largest number enclose every one.
    let (first, last) = match year.contains('.') {
        true => (format!("{stem}.0"), format!("{stem}.{}", u32::MAX)),
        false => (format!("{stem}.1.0"), format!("{stem}.12.{}", u32::MAX)),
    };
    Some(Range { from: Some(first.parse().ok()?), to: Some(last.parse().ok()?) })
}

/// Returns the version just above or below one, which makes an open bound a closed one.
fn beside(version: EdgeVersion, above: bool) -> Option<EdgeVersion> {
    let (year, month, number) = version.triple();
    let number = if above { number.checked_add(1) } else { number.checked_sub(1) };
    format!("edge-{year:02}.{month}.{}", number?).parse().ok()
}

/// Reads the name of a status with wildcards; `*` stands for slashes too.
pub(super) fn context(text: &str) -> Result<GlobMatcher, Fault> {
    let hint = "write one such as `kustomization/*` or `continuous-delivery/linkerd`";
    match (text.trim().is_empty() || text.len() > 500, Glob::new(text)) {
        (true, _) => fault("the name of a status is empty, or longer than 500 bytes", hint),
        (false, Ok(glob)) => Ok(glob.compile_matcher()),
        (false, Err(error)) => fault(format!("`{text}` is not a glob: {}", error.kind()), hint),
    }
}

/// Checks five fields of cron.
pub(super) fn cron(text: &str) -> Result<String, Fault> {
    let hint = "write minute, hour, day of month, month and day of week, such as `* 9-16 * * mon-fri`";
    let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
    let cron = match parser.parse(text) {
        Ok(cron) => cron,
        Err(error) => {
            let reason = error.to_string();
            return fault(
                format!("`{text}` is not a cron expression: {}", reason.trim_end_matches('.')),
                hint,
            );
        }
    };
    // 2028 is a leap year: 29 February counts as a day that comes.
    let start = civil::date(2028, 1, 1).at(0, 0, 0, 0);
    match cron.find_next_occurrence(&start, true) {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => fault(format!("`{text}` never comes"), hint),
    }
}

/// Finds an IANA time zone.
pub(super) fn zone(text: &str) -> Result<TimeZone, Fault> {
    match TimeZone::get(text) {
        Ok(zone) if !zone.is_unknown() => Ok(zone),
        _ => fault(
            format!("`{text}` is not a time zone"),
            "write an IANA name, such as `Europe/Vienna` or `UTC`",
        ),
    }
}

/// Reads a date, a date and time of a zone, or an instant. A date alone ends with its day where it is an end.
pub(super) fn moment(text: &str, zone: &TimeZone, is_end: bool) -> Result<Timestamp, Fault> {
    let wrong = || {
        let hint =
            "write a date `2026-12-20`, a time `2026-12-20T18:00`, or an instant `2026-12-20T18:00:00Z`";
        (format!("`{text}` is not a date or a time"), hint.to_owned())
    };
    if let Ok(instant) = text.parse::<Timestamp>() {
        return Ok(instant);
    }
    let dated = text.len() == "2026-12-20".len();
    let local = match text.parse::<civil::Date>() {
        Ok(day) if dated && is_end => day.tomorrow().map_err(|_| wrong())?.at(0, 0, 0, 0),
        Ok(day) if dated => day.at(0, 0, 0, 0),
        _ if text.contains('[') => return Err(wrong()),
        _ => text.parse::<civil::DateTime>().map_err(|_| wrong())?,
    };
    zone.to_timestamp(local).map_err(|_| wrong())
}

/// Reads a path with wildcards. A folder stands for everything in it, so one text gives two globs.
pub(super) fn globs(text: &str) -> Result<[Glob; 2], Fault> {
    let pattern = text.trim_end_matches('/');
    let reason = if pattern.is_empty() {
        "an empty path matches nothing"
    } else if text.len() > 500 {
        "the path is longer than 500 bytes"
    } else if text.starts_with('/') {
        "paths begin at the repository's root, without `/`"
    } else if text.starts_with('!') {
        "`!` is not read here"
    } else if pattern.split('/').any(|part| matches!(part, "." | ".." | "")) {
        "`.`, `..` and `//` match nothing in a repository"
    } else {
        ""
    };
    if !reason.is_empty() {
        return fault(
            format!("`{text}`: {reason}"),
            "write one such as `clusters/prod/**` or `*/linkerd.yaml`",
        );
    }
    let build = |pattern: &str| GlobBuilder::new(pattern).literal_separator(true).build();
    match (build(pattern), build(&format!("{pattern}/**"))) {
        (Ok(own), Ok(below)) => Ok([own, below]),
        (Err(error), _) | (_, Err(error)) => {
            fault(format!("`{text}` is not a glob: {}", error.kind()), "write one such as `clusters/prod/**`")
        }
    }
}

/// Checks a target's name, which becomes a part of a branch.
pub(super) fn name(text: &str) -> Result<String, Fault> {
    let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let sound = text.len() <= 64
        && text.chars().all(letters)
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && !text.contains("..")
        && !text.ends_with(['.', '-'])
        && !text.ends_with(".lock");
    match sound {
        true => Ok(text.to_owned()),
        false => fault(
            format!("`{text}` cannot be a part of a branch's name"),
            "use letters, digits, `-`, `_` and `.`, at most 64, beginning and ending with a letter or digit",
        ),
    }
}

/// Checks the name of a chart.
pub(super) fn chart(text: &str) -> Result<String, Fault> {
    if linkerd::is_chart(text) {
        return Ok(text.to_owned());
    }
    let hint = match nearest(text, linkerd::CHARTS) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("write one of {}", linkerd::CHARTS.join(", ")),
    };
    fault(format!("`{text}` is no chart of Linkerd"), hint)
}

/// Checks the name of a namespace.
pub(super) fn namespace(text: &str) -> Result<String, Fault> {
    let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let sound = (1..=63).contains(&text.len())
        && text.chars().all(letters)
        && !text.starts_with('-')
        && !text.ends_with('-');
    match sound {
        true => Ok(text.to_owned()),
        false => fault(format!("`{text}` is no namespace"), "write one such as `linkerd`"),
    }
}

/// Reads a namespace with wildcards.
pub(super) fn namespaces(text: &str) -> Result<Glob, Fault> {
    let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-*?[]{},!".contains(c);
    match Glob::new(text) {
        Ok(glob) if (1..=200).contains(&text.len()) && text.chars().all(letters) => Ok(glob),
        _ => fault(format!("`{text}` is no namespace"), "write one such as `shop`, or `shop-*`"),
    }
}

/// Reads a label, as `key=value`.
pub(super) fn label(text: &str) -> Result<(String, String), Fault> {
    let sound = |part: &str, more: &str| {
        part.len() <= 317
            && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c) || more.contains(c))
    };
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() && sound(key, "/") && sound(value, "") => {
            Ok((key.to_owned(), value.to_owned()))
        }
        _ => fault(format!("`{text}` is no label"), "write one such as `tier=batch`"),
    }
}

/// Reads the path of a file or folder of the repository.
pub(super) fn path(text: &str) -> Result<RepoPath, Fault> {
    let plain = text.strip_prefix("./").unwrap_or(text).trim_end_matches('/');
    let wild = plain.contains(['*', '?', '[', '{']);
    RepoPath::new(plain).filter(|_| !wild && plain.len() <= 500).ok_or_else(|| {
        let hint = "write it from the repository's root, such as `linkerd/values.yaml`, without wildcards";
        (format!("`{text}` is no path of a repository"), hint.to_owned())
    })
}

/// Reads `1.31`, `1.31.4` or `v1.31.4`.
pub(super) fn kubernetes(text: &str) -> Result<semver::Version, Fault> {
    let plain = text.strip_prefix('v').unwrap_or(text);
    let whole = if plain.matches('.').count() == 1 { format!("{plain}.0") } else { plain.to_owned() };
    let wrong = |_| (format!("`{text}` is not a Kubernetes version"), "write one such as `1.31`".to_owned());
    semver::Version::parse(&whole).map_err(wrong)
}

/// Checks a user, or a team as `org/team`.
pub(super) fn account(text: &str, teams: bool) -> Result<String, Fault> {
    let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let sound = |part: &str| {
        let part = part.strip_suffix("[bot]").unwrap_or(part);
        (1..=100).contains(&part.len()) && part.chars().all(letters)
    };
    let parts: Vec<&str> = text.split('/').collect();
    let limit = if teams { 2 } else { 1 };
    if parts.len() <= limit && parts.iter().all(|p| sound(p)) {
        return Ok(text.to_owned());
    }
    match text.strip_prefix('@') {
        Some(bare) => fault(format!("`{text}` begins with `@`"), format!("write `{bare}`")),
        None if teams => {
            fault(format!("`{text}` is not a user or a team"), "write `user`, or a team as `org/team`")
        }
        None => fault(format!("`{text}` is not a user"), "write the login alone; teams cannot be assigned"),
    }
}

/// Reads `Name <address>`.
pub(super) fn author(text: &str) -> Result<Signature, Fault> {
    let split = text.strip_suffix('>').and_then(|t| t.split_once('<'));
    let (name, email) = split.map(|(n, e)| (n.trim(), e.trim())).unwrap_or_default();
    let sound =
        |part: &str| !part.is_empty() && !part.contains(|c: char| c.is_control() || matches!(c, '<' | '>'));
    match sound(name) && sound(email) && email.contains('@') && !email.contains(' ') {
        true => Ok(Signature { name: name.to_owned(), email: email.to_owned() }),
        false => {
            let hint = "write a name and an address, such as `Mesh Bot <mesh-bot@example.com>`";
            fault(format!("`{text}` is not an author"), hint)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> EdgeVersion {
        text.parse().unwrap()
    }

    #[test]
    fn durations_have_one_number_and_one_unit() {
        for (text, minutes) in [("0d", 0), ("90m", 90), ("12h", 720), ("1d", 1440), ("2w", 20160)] {
            assert_eq!(duration(text).unwrap(), SignedDuration::from_mins(minutes), "{text}");
        }
        for bad in
            ["", "1", "d", "1 d", "-1d", "1.5d", "1d12h", "1y", "+1d", "1dd", "400d", "99999999999999999999d"]
        {
            duration(bad).unwrap_err();
        }
    }

    #[test]
    fn edges_written_as_charts_get_their_name() {
        assert_eq!(edge("edge-26.8.3").unwrap(), version("edge-26.8.3"));
        assert!(edge("2026.8.3").unwrap_err().1.contains("`edge-26.8.3`"));
        assert!(edge("26.8.3").unwrap_err().1.contains("`edge-26.8.3`"));
        assert!(edge("stable-2.14").is_err());
    }

    #[test]
    fn ranges_are_closed_however_they_are_written() {
        let inside = |text: &str, at: &str| {
            let range = range(text).unwrap();
            range.from.is_none_or(|f| version(at) >= f) && range.to.is_none_or(|t| version(at) <= t)
        };
        assert!(inside(">=edge-26.1.1 <edge-27.1.1", "edge-26.12.9"));
        assert!(!inside(">=edge-26.1.1 <edge-27.1.1", "edge-27.1.1"));
        assert!(inside(">=edge-26.1.1 <edge-27.1.1", "edge-26.1.1"));
        assert!(!inside(">edge-26.1.1", "edge-26.1.1") && inside(">edge-26.1.1", "edge-26.1.2"));
        assert!(inside("<=edge-26.8.3", "edge-26.8.3") && !inside("<=edge-26.8.3", "edge-26.8.4"));
        assert!(inside("edge-26.x", "edge-26.12.40") && !inside("edge-26.x", "edge-25.12.1"));
        assert!(inside("edge-26.8.x", "edge-26.8.1") && !inside("edge-26.8.x", "edge-26.9.1"));
        for bad in
            ["", "edge-26.8.3", "=edge-26.8.3", ">= edge-26.8.3", "edge-x", "*", "26.x", "edge-26.13.x"]
        {
            assert!(range(bad).is_err(), "{bad}");
        }
        for bad in
            [">edge-26.2.1 <edge-26.1.1", ">=edge-26.1.1 >edge-26.1.2", "<>edge-26.1.1", "^edge-26.1.1"]
        {
            assert!(range(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn charts_namespaces_and_paths_are_looked_at() {
        assert!(chart("linkerd-jaeger").is_ok());
        assert!(chart("linkerd-vis").unwrap_err().1.contains("`linkerd-viz`"));
        assert!(namespace("linkerd-viz").is_ok());
        for bad in ["", "Linkerd", "-a", "a/b", "a.b"] {
            assert!(namespace(bad).is_err(), "{bad}");
        }
        assert_eq!(path("./a/b/").unwrap().as_str(), "a/b");
        for bad in ["", ".", "/a", "../a", "a/../b", "a/*.yaml", "a//b"] {
            assert!(path(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn cron_has_five_fields_and_comes_at_some_time() {
        for good in ["* * * * *", "* 9-16 * * mon-fri", "0 6 * * 1", "*/15 8 29 2 *", "@daily"] {
            assert!(cron(good).is_ok(), "{good}");
        }
        for bad in ["", "* * * *", "* * * * * *", "61 * * * *", "* 25 * * *", "0 0 30 2 *", "nightly"] {
            assert!(cron(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn moments_are_of_the_zone_and_an_end_date_is_included() {
        let vienna = zone("Europe/Vienna").unwrap();
        let at = |text, is_end| moment(text, &vienna, is_end).unwrap().to_string();
        assert_eq!(at("2026-12-20", false), "2026-12-19T23:00:00Z");
        assert_eq!(at("2026-12-20", true), "2026-12-20T23:00:00Z");
        assert_eq!(at("2026-12-20T18:00", true), "2026-12-20T17:00:00Z");
        assert_eq!(at("2026-12-20T18:00:00Z", false), "2026-12-20T18:00:00Z");
        assert_eq!(at("2026-12-20T18:00:00+02:00", false), "2026-12-20T16:00:00Z");
        for bad in
            ["", "tomorrow", "2026-13-01", "2026-12-20T25:00", "20.12.2026", "2026-12-20T18:00[Europe/Rome]"]
        {
            assert!(moment(bad, &vienna, false).is_err(), "{bad}");
        }
        assert!(zone("Europe/Wien").is_err() && zone("").is_err() && zone("Etc/Unknown").is_err());
    }

    #[test]
    fn a_folder_stands_for_what_is_in_it_and_a_star_for_one_part() {
        let matches = |pattern: &str, path: &str| {
            globs(pattern).unwrap().iter().any(|g| g.compile_matcher().is_match(path))
        };
        assert!(matches("clusters/prod", "clusters/prod/a/b.yaml"));
        assert!(matches("clusters/prod/", "clusters/prod/a.yaml"));
        assert!(matches("clusters/*/linkerd.yaml", "clusters/prod/linkerd.yaml"));
        assert!(!matches("clusters/*.yaml", "clusters/prod/linkerd.yaml"));
        assert!(!matches("clusters/prod", "clusters/production/a.yaml"));
        for bad in ["", "/", "/a", "../a", "a/../b", "./a", "!a", "a[", "a{b", "a//b", "../a/", "a/./"] {
            assert!(globs(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn names_people_and_authors() {
        for bad in ["", "a/b", "a..b", "-a", ".a", "a.lock", "a b", "é"] {
            assert!(name(bad).is_err(), "{bad}");
        }
        assert!(account("org/mesh", true).is_ok() && account("org/mesh", false).is_err());
        assert!(account("dependabot[bot]", false).is_ok());
        assert_eq!(account("@ann", true).unwrap_err().1, "write `ann`");
        assert_eq!(author("Mesh Bot <m@example.com>").unwrap().email, "m@example.com");
        for bad in ["Mesh Bot", "<m@example.com>", "A <b>", "A\u{0}B <m@x>", "A <m@x> <y@z>"] {
            assert!(author(bad).is_err(), "{bad}");
        }
        assert_eq!(kubernetes("1.30").unwrap(), semver::Version::new(1, 30, 0));
        assert!(kubernetes("1").is_err() && kubernetes("latest").is_err());
    }
}
