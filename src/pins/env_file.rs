//! Step 5, pins: lines `KEY=value` of a file that kustomize's `envs` reads.
//!
//! In: the text and a key that a pin reads. Out: the pin at its value, if that is exact.

use super::{
    Pin, Reason,
    found::Spec,
    hold,
    marker::{self, TextFile},
    version_text::tokens,
};
use crate::repo::Entry;

/// Finds the value of a key; the last line wins, as in kustomize.
pub(super) fn pin(entry: &Entry, text: &str, key: &str, spec: &Spec) -> Option<Pin> {
    let file =
        TextFile { path: &entry.path, blob: entry.id, text, sealed: crate::yaml::encrypted(text.as_bytes()) };
    let (mut start, mut found, mut held) = (0, None, false);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let comment = line.trim_start().strip_prefix('#');
        if let Some((name, value)) = line.split_once('=').filter(|_| comment.is_none())
            && name.trim() == key
            && let [token] = tokens(value).as_slice()
        {
            let at = start + name.len() + 1;
            let span = at + token.span.start..at + token.span.end;
            let sealed = file.sealed.then_some(Reason::Encrypted);
            let stays = held.then_some(Reason::Held).or(sealed).or(spec.stays);
            let column =
                name.chars().count() + 2 + value.get(..token.span.start).map_or(0, |v| v.chars().count());
            let place = (number + 1, column);
            let pin = marker::text_pin(&file, spec.kind, span, place, token, stays);
            let (chart, mirror) = (spec.chart.clone(), spec.mirror.clone());
            found = Some(Pin { stage: spec.stage, chart, mirror, ..pin });
        }
        held = comment.is_some_and(hold::holds);
        start += line.len();
    }
    found
}
