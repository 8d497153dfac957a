//! Step 6, plan: version constraints as Helm writes them.
//!
//! In: a text such as `~2026.8.0`, `>=1.31.0-0` or `2026.x || ^2027`. Out: whether a version satisfies it. Helm's
//! grammar differs from Cargo's in two ways that matter: a partial version alone is a tilde range, not a caret
//! range, and terms may be joined with spaces and `||`.

use semver::{Version, VersionReq};

use crate::pins::{Pin, TagFilter};

/// A constraint: alternatives, of which one must match.
#[derive(Clone, Debug)]
pub struct Constraint {
    alternatives: Vec<Vec<Term>>,
    /// What a tag has to match besides.
    filter: Option<TagFilter>,
}

#[derive(Clone, Debug)]
enum Term {
    Is(VersionReq),
    IsNot(VersionReq),
}

/// A text that is not a constraint. The file that holds it is at fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a version constraint as Helm reads them")]
pub struct BadConstraint(pub String);

// === impl Constraint ===

impl Constraint {
    /// Reads a constraint.
    ///
    /// ```
    /// use uplinker::plan::Constraint;
    /// let range = Constraint::parse("~2026.8.0").unwrap();
    /// assert!(range.allows("2026.8.3") && !range.allows("2026.9.1"));
    /// assert!(Constraint::parse(">= 1.22.0-0 < 1.36").unwrap().allows("1.31.2"));
    /// ```
    pub fn parse(text: &str) -> Result<Self, BadConstraint> {
        let bad = || BadConstraint(text.to_owned());
        let alternatives: Option<Vec<_>> = text.split("||").map(alternative).collect();
        alternatives.map(|alternatives| Self { alternatives, filter: None }).ok_or_else(bad)
    }

    /// Reads the range that a pin is, with the pattern beside it.
    pub fn of(pin: &Pin) -> Result<Self, BadConstraint> {
        Ok(Self { filter: pin.filter.clone(), ..Self::parse(&pin.value)? })
    }

    /// Tells whether a version satisfies it; a missing minor or patch counts as zero.
    pub fn allows(&self, version: &str) -> bool {
        let passes = self.filter.as_ref().is_none_or(|filter| filter.takes(version));
        passes && whole(version).is_some_and(|version| self.allows_version(&version))
    }

    /// Tells whether a whole version satisfies it.
    pub fn allows_version(&self, version: &Version) -> bool {
        self.alternatives.iter().any(|terms| {
            terms.iter().all(|term| match term {
                Term::Is(req) => matches(req, version),
                Term::IsNot(req) => !matches(req, version),
            })
        })
    }
}

/// Cargo lets a pre-release match only beside its own release; to Helm a constraint that names a pre-release (`-0`)
/// takes them all, and clusters call themselves `1.31.2-eks-1234`.
fn matches(req: &VersionReq, version: &Version) -> bool {
    let takes_all = req.comparators.iter().any(|c| !c.pre.is_empty());
    let released = Version::new(version.major, version.minor, version.patch);
    req.matches(version) || (takes_all && req.matches(&released))
}

/// Reads a version as Kubernetes and Helm write it: `v1.31`, `1.31.2+k3s1`, `2026.8.3`.
fn whole(text: &str) -> Option<Version> {
    let plain = text.trim().trim_start_matches('v');
    if let Ok(version) = Version::parse(plain) {
        return Some(version);
    }
    let numbers = plain.split(['+', '-']).next()?;
    let mut parts = numbers.split('.').map(|p| p.parse::<u64>());
    let mut next = || parts.next().unwrap_or(Ok(0)).ok();
    let version = Version::new(next()?, next()?, next()?);
    (numbers.split('.').count() <= 3).then_some(version)
}

fn alternative(text: &str) -> Option<Vec<Term>> {
    if let Some((from, to)) = text.split_once(" - ") {
        let range = format!(">={}, <={}", from.trim(), to.trim());
        return Some(vec![Term::Is(VersionReq::parse(&range).ok()?)]);
    }
    let glued = glue_operators(text);
    let terms: Vec<&str> = glued.split([',', ' ', '\t']).filter(|t| !t.is_empty()).collect();
    if terms.is_empty() {
        return Some(vec![Term::Is(VersionReq::STAR)]);
    }
    terms.into_iter().map(term).collect()
}

/// Closes the gap behind an operator, so that spaces separate terms only: `>= 1.2` becomes `>=1.2`.
fn glue_operators(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let behind_operator = out.ends_with(['<', '>', '=', '~', '^', '!']);
        if !(c.is_whitespace() && behind_operator) {
            out.push(c);
        }
    }
    out
}

fn term(text: &str) -> Option<Term> {
    let digits = text.find(|c: char| !"<>=~^!".contains(c)).unwrap_or(text.len());
    let (operator, rest) = text.split_at(digits);
    let version = rest.trim_start_matches('v');
    let wild = |c: char| matches!(c, 'x' | 'X' | '*');
    let written = match operator {
        "" | "=" | "==" | "!=" if version.split(['-', '+']).next()?.split('.').count() == 3 => "=",
        "" | "=" | "==" | "!=" | "~" | "~>" => "~",
        ">" | ">=" | "<" | "<=" | "^" => operator,
        "=>" => ">=",
        "=<" => "<=",
        _ => return None,
    };
    // `~1.2.x` is `~1.2`; a wildcard carries its own meaning and takes no operator.
    let kept: Vec<&str> = version.split('.').take_while(|p| !p.starts_with(wild)).collect();
    let req = match (kept.is_empty(), kept.len() == version.split('.').count()) {
        (true, _) => VersionReq::STAR,
        (false, true) => VersionReq::parse(&format!("{written}{version}")).ok()?,
        (false, false) => {
            let written = if written == "=" { "~" } else { written };
            VersionReq::parse(&format!("{written}{}", kept.join("."))).ok()?
        }
    };
    Some(if operator == "!=" { Term::IsNot(req) } else { Term::Is(req) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(constraint: &str, version: &str) -> bool {
        Constraint::parse(constraint).unwrap().allows(version)
    }

    #[test]
    fn ranges_of_charts_are_read_as_helm_reads_them() {
        for (constraint, inside, outside) in [
            ("~2026.8.0", "2026.8.3", "2026.9.1"),
            ("^2026.8.0", "2026.9.1", "2027.1.1"),
            ("2026.x", "2026.12.4", "2027.1.1"),
            ("2026.8.*", "2026.8.9", "2026.9.1"),
            ("2026.8", "2026.8.3", "2026.9.1"),
            (">=2026.1.0 <2027.0.0", "2026.8.3", "2027.0.0"),
            (">= 2026.1.0, < 2026.8.3", "2026.8.2", "2026.8.3"),
            ("2026.1.0 - 2026.8.2", "2026.8.2", "2026.8.3"),
            ("~2025.1.0 || ~2026.8.0", "2026.8.3", "2026.1.1"),
            ("2026.8.2", "2026.8.2", "2026.8.3"),
            ("=v2026.8.2", "2026.8.2", "2026.8.3"),
            (">=2026.8.1 !=2026.8.2", "2026.8.3", "2026.8.2"),
            ("~2026.8.x", "2026.8.4", "2026.9.1"),
        ] {
            assert!(allows(constraint, inside), "{constraint} must allow {inside}");
            assert!(!allows(constraint, outside), "{constraint} must not allow {outside}");
        }
        assert!(allows("*", "2026.8.3") && allows("", "2026.8.3"));
    }

    #[test]
    fn kubernetes_versions_may_be_short_or_carry_a_build() {
        assert!(allows(">=1.31.0-0", "1.31") && allows(">=1.31.0-0", "v1.33.2+k3s1"));
        assert!(!allows(">=1.31.0-0", "1.30.14") && !allows(">=1.31.0-0", "1.30"));
        assert!(
            allows(">=1.31.0-0", "1.31.2-eks-1234"),
            "a vendor's suffix is not a pre-release of an older one"
        );
    }

    #[test]
    fn what_is_no_constraint_is_refused() {
        for text in ["latest", "2026.8.2.1", ">>1", "~", "{{ .Values.version }}"] {
            assert!(Constraint::parse(text).is_err(), "{text}");
        }
        assert!(!allows("*", "edge-26.8.3"), "what is no version satisfies nothing");
    }
}
