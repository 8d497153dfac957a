//! Step 8, verify: scripts that would bring an old release back.
//!
//! In: lines of Makefiles and scripts, and of what plugins are told, that name a release. Out: a `warn` for each that names
//! an older one than the plan's, since a later run of it would undo this change; an `info` where it was behind before.

use super::{CheckId, Checked, Finding, Severity, Verification, count};
use crate::{
    linkerd::EdgeVersion,
    pins::{Form, Generator, Stage},
};

pub(super) const ID: CheckId = CheckId::StaleGenerator;

pub(super) fn check(input: &Verification<'_>) -> Checked {
    if input.plan.stage == Stage::DataPlane {
        let looked_at = "nothing: scripts render the platform".to_owned();
        return Checked { looked_at, findings: Vec::new() };
    }
    let all: Vec<&Generator> =
        input.inventory.facts.generators.iter().filter(|g| input.target.covers(&g.path)).collect();
    let findings = all
        .iter()
        .filter(|g| g.version < input.plan.to)
        .map(|g| {
            let (word, write): (_, fn(&EdgeVersion) -> String) = match g.form {
                Form::Chart => ("chart", EdgeVersion::chart),
                _ => ("edge", EdgeVersion::to_string),
            };
            let (old, new) = (write(&g.version), write(&input.plan.to));
            let reason = format!("this line names {old}; the next run of it would bring that back");
            let hint = format!("set it to {new}, or mark it with `# uplinker: {word}`");
            // One that was behind already is nothing that this change brings.
            let behind = input.plan.from.first().is_some_and(|oldest| g.version < *oldest);
            let severity = if behind { Severity::Info } else { Severity::Warn };
            Finding::new(ID, severity, reason).at(&g.path, g.line).hint(hint)
        })
        .collect();
    let looked_at = format!("{} of scripts, Makefiles and plugins", count(all.len(), "line"));
    Checked { looked_at, findings }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plan::testing::{edge, path},
        verify::{Severity::*, testing::*},
    };

    fn found(version: &str) -> Vec<Finding> {
        written(version, Form::Edge)
    }

    fn written(version: &str, form: Form) -> Vec<Finding> {
        let generator = Generator { path: path("Makefile"), line: 4, version: edge(version), form };
        Case::default()
            .pins(|b| {
                b.chart("a.yaml", "linkerd-crds", "2026.8.2")
                    .facts(|facts| facts.generators = vec![generator])
            })
            .check(ID)
    }

    #[test]
    fn a_script_at_an_old_release_is_found() {
        let old = found("edge-26.8.2");
        assert_eq!(severities(&old), [Warn]);
        assert_eq!(old[0].place.as_ref().unwrap().line, Some(4));
        assert_eq!(severities(&found("edge-26.1.1")), [Info], "it was behind before");
    }

    #[test]
    fn the_hint_is_in_the_form_of_the_line() {
        let hint = |form| written("edge-26.8.2", form)[0].hint.clone().unwrap();
        assert_eq!(hint(Form::Edge), "set it to edge-26.8.3, or mark it with `# uplinker: edge`");
        assert_eq!(hint(Form::Chart), "set it to 2026.8.3, or mark it with `# uplinker: chart`");
        assert!(written("edge-26.8.2", Form::Chart)[0].reason.contains("names 2026.8.2;"));
    }

    #[test]
    fn a_script_at_the_release_is_quiet() {
        assert_eq!(found("edge-26.8.3"), []);
    }
}
