//! Step 8, verify: charts from a mirror that could not be asked.
//!
//! In: moving pins whose chart comes from a mirror. Out: a `warn` with chart and version for each chart of a mirror
//! that the operator has not named; such a mirror is never contacted.

use std::collections::BTreeMap;

use super::{CheckId, Checked, Finding, Verification, count};
use crate::{
    pins::{Form, Pin, Reader},
    plan::{NewText, Source, source},
};

pub(super) const ID: CheckId = CheckId::MirrorUnverified;

pub(super) fn check(input: &Verification<'_>) -> Checked {
    let mirrored: Vec<(&Pin, &str)> = input
        .moving()
        .filter(|(pin, _)| pin.readers().any(|reader| reader.mirror.is_some() && is_version(&reader)))
        .filter_map(|(pin, new)| match new {
            NewText::Fixed(text) => Some((pin, text.as_str())),
            NewText::LockDigest | NewText::Rendered(_) | NewText::Gone => None,
        })
        .collect();
    let mut doubtful: BTreeMap<(String, String, &str), &Pin> = BTreeMap::new();
    for (pin, text) in &mirrored {
        for Reader { chart, mirror, .. } in pin.readers().filter(is_version) {
            if let Some(mirror) = mirror.filter(|m| source(Some(m), &input.options.served) == Source::Unread)
            {
                let chart = chart.unwrap_or_else(|| "the chart".to_owned());
                doubtful.entry((mirror, chart, text)).or_insert(pin);
            }
        }
    }
    let findings = doubtful.iter().map(|((mirror, chart, text), pin)| {
        let reason =
            format!("{chart} {text} comes from {mirror}, which is no mirror that uplinker was given");
        let hint = format!(
            "check that {chart} {text} is there before you merge; `--mirror` has uplinker wait until it is"
        );
        Finding::warn(ID, reason).at_pin(pin).hint(hint)
    });
    let findings = findings.collect();
    Checked { looked_at: format!("{} from mirrors", count(mirrored.len(), "moving pin")), findings }
}

/// Tells whether a pin is read as the version of a chart: a tag in its values, or laid over it, is that of an image.
fn is_version(reader: &Reader) -> bool {
    reader.form != Form::Edge
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        pins::PinKind,
        verify::{Severity::*, testing::*},
    };

    const MIRROR: &str = "oci://registry.example.com/linkerd";

    fn case() -> Case {
        Case::default().pins(|b| {
            b.chart("a.yaml", "linkerd-crds", "2026.8.2")
                .mirror(MIRROR)
                .chart("b.yaml", "linkerd-crds", "2026.8.2")
                .mirror(MIRROR)
                .chart("c.yaml", "linkerd-viz", "2026.8.2")
                .chart("d.yaml", "linkerd-viz", "2026.8.3")
                .mirror(MIRROR)
        })
    }

    #[test]
    fn a_mirror_that_nobody_named_is_told_once_for_each_chart() {
        let found = case().check(ID);
        assert_eq!(severities(&found), [Warn]);
        assert!(
            found[0].reason.contains("linkerd-crds 2026.8.3 comes from oci://registry.example.com/linkerd")
        );
    }

    #[test]
    fn a_tag_of_an_image_is_no_chart_of_a_mirror() {
        let of = |kind: PinKind| {
            let case = Case::default().pins(|b| {
                b.chart("a.yaml", "linkerd-viz", "2026.8.2")
                    .pin("b.yaml", kind, "edge-26.8.2")
                    .of("linkerd-viz")
                    .mirror(MIRROR)
            });
            case.check(ID)
        };
        assert_eq!((of(PinKind::KustomizeImage), of(PinKind::HelmValues)), (vec![], vec![]));
    }

    #[test]
    fn a_mirror_that_is_asked_passes() {
        let named = case().options(|options| options.served.mirrors.push(MIRROR.to_owned()));
        assert_eq!(named.check(ID), []);
        let index = case().options(|options| options.served.index = Some(MIRROR.to_owned()));
        assert_eq!(index.check(ID), []);
    }
}
