//! Step 5, pins: where a version was written that something reads, and what that place is.
//!
//! In: a scalar that was judged as a version, with the shape of its reader. Out: the bytes that are to be edited, the shape
//! that they have themselves, and what is put around them.

use crate::{
    deploy::{Origin, Part, Scalar, value::Via},
    pins::{Form, Frame, PinKind, Reason, annotation, found::opaque, version_text::VersionText},
};

/// A place where a version was written.
pub(super) struct Traced {
    /// The bytes.
    pub at: Origin,
    /// Their shape.
    pub kind: PinKind,
    /// What they say; its span counts from theirs.
    pub text: VersionText,
    /// What its reader puts around them.
    pub frame: Option<Frame>,
    /// Why they stay, where they do on account of the place.
    pub stays: Option<Reason>,
}

/// Finds the place; `None` where no part of the version was written.
pub(super) fn traced(scalar: &Scalar, reader: PinKind, judged: VersionText) -> Option<Traced> {
    let written = scalar.cut(judged.span.clone());
    let (at, judged) = match written.parts() {
        [Part::Written(at)] => (at.clone(), judged),
        parts => match derived(parts, &judged) {
            Some(found) => found,
            None => return in_parts(&written, reader, judged),
        },
    };
    let text = VersionText { span: 0..at.span.len(), ..judged };
    Some(Traced { kind: kind(&at, reader), at, text, frame: None, stays: None })
}

/// Says what a place is: what its reader is, unless it has a name of its own.
fn kind(at: &Origin, reader: PinKind) -> PinKind {
    // What a template puts beside the key is a value like any other.
    let is_own = reader == PinKind::ProxyAnnotation && is_beside_key(at);
    match at.via {
        Some(Via::Variable | Via::Secret) => PinKind::Variable,
        // What these read out of a file is no values of a chart.
        Some(via) if via.is_of_values() && matches!(reader, PinKind::Helmfile | PinKind::Terraform) => {
            PinKind::Variable
        }
        Some(Via::Generator) => PinKind::ArgoGenerator,
        Some(Via::Parameter) => PinKind::ArgoHelmParameter,
        Some(via) if via.is_of_values() && !is_own => PinKind::HelmValues,
        None | Some(Via::Values | Via::Decoded | Via::Printed | Via::Code | Via::FromRange) => reader,
    }
}

/// Finds the name of a release of which only the numbers are read: that of an image, made of the chart's version.
fn derived(parts: &[Part], judged: &VersionText) -> Option<(Origin, VersionText)> {
    let version = judged.version.filter(|_| matches!(judged.form, Form::Edge | Form::Chart))?;
    let chart = version.chart();
    let numbers = chart.strip_prefix("20")?;
    let Some(Part::Written(at)) = parts.last() else { return None };
    let start = at.span.start + at.text().strip_suffix(numbers)?.len();
    let before = at.source.text.get(..start)?;
    let (length, form) = match before {
        before if before.ends_with("edge-") => ("edge-".len(), Form::Edge),
        before if before.ends_with("20") => ("20".len(), Form::Chart),
        _ => return None,
    };
    let span = start - length..at.span.end;
    Some((Origin { span, ..at.clone() }, VersionText { form, ..judged.clone() }))
}

/// Tells whether a text stands beside the key of such an annotation in the file that it was written in.
fn is_beside_key(at: &Origin) -> bool {
    let before = at.source.text.get(..at.span.start).unwrap_or_default().trim_end_matches(['"', '\'']);
    // An anchor stands between the two.
    let anchored = before.trim_end_matches(' ').rsplit_once(' ').filter(|(_, word)| word.starts_with('&'));
    let before = anchored.map_or(before, |(before, _)| before);
    annotation::ending(before.trim_end_matches(['"', '\'', ' ', ':', '='])).is_some()
}

/// Takes a version that is put together of several texts. It is written anew in the one that holds all that two releases
/// differ in, year, month and number: a lesser one (`8.2`) may be a number to whoever reads it, and `8.10` is `8.1` then.
fn in_parts(written: &Scalar, reader: PinKind, judged: VersionText) -> Option<Traced> {
    let places = || {
        written.parts().iter().enumerate().filter_map(|(n, part)| match part {
            Part::Written(at) => Some((n, at)),
            _ => None,
        })
    };
    let holds_all = |(_, at): &(usize, &Origin)| at.text().matches('.').count() == 2;
    let has_digits = |(_, at): &(usize, &Origin)| at.text().contains(|c: char| c.is_ascii_digit());
    let editable = places().find(holds_all).filter(|_| judged.version.is_some());
    // What is no exact release stays for that, wherever it could be written anew.
    let stays = editable.is_none().then_some(judged.stays.unwrap_or(Reason::Uneditable));
    let (n, at) = editable.or_else(|| places().rfind(has_digits))?;
    let said = |parts: &[Part]| parts.iter().map(Part::text).collect::<String>();
    let (before, behind) = written.parts().split_at(n);
    let frame = Frame { before: said(before), behind: said(behind.get(1..).unwrap_or_default()) };
    let text = match stays {
        Some(reason) => VersionText { version: judged.version, ..opaque(at.span.len(), reason) },
        None => VersionText { span: 0..at.span.len(), ..judged },
    };
    Some(Traced { at: at.clone(), kind: kind(at, reader), text, frame: Some(frame), stays })
}
