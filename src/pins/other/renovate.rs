//! Step 5, pins: numbers of which a comment tells Renovate whose they are: `# renovate: datasource=helm depName=linkerd-crds`.
//!
//! In: a text. Out: the number before such a comment, or on the line below one that stands alone, where it is Linkerd's.

use super::number::{Number, is_chart, is_linkerd, lines, may_be_linkerd, moved, number, words};

/// What such a comment begins with.
const SIGN: &str = "renovate:";
/// How it gives the name of what it is about.
const NAMES: [&str; 3] = ["depName", "packageName", "lookupName"];
/// Whose repository is Linkerd's own.
const OWNER: &str = "linkerd";
/// The longest line with such a comment, or below one, that is read: what is written for people is shorter.
const COMMENTED: usize = 1 << 12;

/// Finds all of a text.
pub(super) fn for_renovate(text: &str) -> Vec<Number> {
    let (mut found, mut above) = (Vec::new(), None::<fn(&str) -> bool>);
    // Most texts have no such comment.
    let is_read = text.contains(SIGN);
    for (start, line) in lines(text).take_while(|_| is_read) {
        let at = line.find(SIGN).filter(|_| line.len() <= COMMENTED);
        let code = line.get(..at.unwrap_or(line.len())).unwrap_or_default();
        let here = at.and_then(|at| counts(line.get(at..)?));
        let asked = here.or(above).filter(|_| line.len() <= COMMENTED);
        let given = asked.and_then(|counts| first_of(code, counts));
        above = here.filter(|_| given.is_none());
        found.extend(given.map(|(span, why)| (moved(span, start), why)));
    }
    found
}

/// Tells how what a comment is about counts, where that is Linkerd or one of its charts.
fn counts(comment: &str) -> Option<fn(&str) -> bool> {
    let mut all = words(comment).skip_while(|word| !NAMES.contains(&word.trim_end_matches(':')));
    let name = all.nth(1)?;
    let is_linkerds = match name.rsplit_once('/') {
        Some((owner, name)) => owner.ends_with(OWNER) && is_linkerd(name),
        None => is_linkerd(name),
    };
    match (is_linkerds, is_chart(name)) {
        (true, _) => Some(may_be_linkerd),
        (false, true) => Some(|_| true),
        (false, false) => None,
    }
}

/// Reads the first number of a line's code that counts.
fn first_of(code: &str, counts: fn(&str) -> bool) -> Option<Number> {
    let starts = code.match_indices([' ', '\t', '=', ':', '"', '\'', '@', '-']).map(|(at, _)| at + 1);
    let begins = |at: &usize| {
        code.get(*at..).is_some_and(|rest| rest.starts_with(|c: char| c == 'v' || c.is_ascii_digit()))
    };
    let mut numbers = starts.filter(begins).filter_map(|at| number(code, at));
    numbers.find(|(span, _)| code.get(span.clone()).is_some_and(counts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pins::Reason;

    fn found(text: &str) -> Vec<(&str, Option<Reason>)> {
        for_renovate(text).into_iter().map(|(span, why)| (&text[span], why)).collect()
    }

    #[test]
    fn a_comment_says_whose_version_a_line_has() {
        let comment = "# renovate: datasource=github-releases depName=linkerd/linkerd2";
        for told in [
            format!("{comment}\nmesh: v2.14.10\nother: 2.12.0\n"),
            format!("{comment} versioning=loose\nARG MESH=2.14.10\n"),
            format!("pkgver=2.14.10 {comment}\nother=2.12.0\n"),
            "// renovate: packageName: linkerd-control-plane\nconst mesh = \"2.14.10\"\n".to_owned(),
        ] {
            assert_eq!(found(&told), [("2.14.10", Some(Reason::Channel))], "{told}");
        }
        assert_eq!(found(&format!("{comment}\nENV MESH 26.6.3\n")), [("26.6.3", None)]);
        for other in [
            format!("{comment}\nmesh: 0.9.0\n"),
            format!("{comment}\n\nother: 2.12.0\n"),
            "# renovate: depName=prometheus/prometheus for linkerd\nmetrics: 2.12.0\n".to_owned(),
            "# renovate: depName=\nmesh: 2.14.10\n".to_owned(),
            "# renovate: depName=acme/linkerd\nrole: 2.1.0\n".to_owned(),
            format!("{comment} {}\nmesh: 2.14.10\n", "a".repeat(COMMENTED)),
        ] {
            assert_eq!(found(&other), [], "{other}");
        }
    }
}
