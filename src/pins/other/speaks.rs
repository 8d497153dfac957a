//! Step 5, pins: where a text speaks of Linkerd.
//!
//! In: a text, or a line. Out: whether it does; the lines that do, and whether another is near one of them.

/// So many lines from a line that speaks of Linkerd a chart version is taken for Linkerd's.
pub(super) const NEAR: usize = 5;

/// What a text that speaks of Linkerd calls it.
const NAMES: [&str; 4] = ["linkerd", "Linkerd", "LINKERD", "l5d"];

/// Tells whether a text does.
pub(in crate::pins) fn speaks(text: &str) -> bool {
    NAMES.iter().any(|name| memchr::memmem::find(text.as_bytes(), name.as_bytes()).is_some())
}

/// Returns the numbers of the lines that do.
pub(super) fn speaking_lines(text: &str) -> Vec<usize> {
    let lines = text.split_inclusive('\n').enumerate();
    lines.filter(|(_, line)| speaks(line)).map(|(before, _)| before + 1).collect()
}

/// Tells whether a line is near one of those that do.
pub(super) fn is_near(speaking: &[usize], number: usize) -> bool {
    let next = speaking.partition_point(|line| line + NEAR < number);
    speaking.get(next).is_some_and(|line| *line <= number + NEAR)
}
