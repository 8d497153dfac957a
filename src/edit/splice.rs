//! The change of a text: a few of its ranges get other text.

use std::ops::Range;

/// One range and what comes in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Splice {
    /// The bytes that go.
    pub span: Range<usize>,
    /// The text that comes.
    pub with: String,
}

/// Where the bytes of a text are after its splices.
pub(super) struct Shift {
    /// The span of each splice in the old text, and how far the text behind it has moved.
    moved: Vec<(Range<usize>, isize)>,
}

// === impl Splice ===

/// Applies splices that are ordered and do not overlap; `None` where they are not.
pub fn spliced(text: &str, splices: &[Splice]) -> Option<String> {
    let more: usize = splices.iter().map(|s| s.with.len()).sum();
    let mut out = String::with_capacity(text.len() + more);
    let mut at = 0;
    for splice in splices {
        out.push_str(text.get(at..splice.span.start)?);
        out.push_str(&splice.with);
        at = splice.span.end;
    }
    out.push_str(text.get(at..)?);
    Some(out)
}

/// Tells whether the two texts are the same outside the splices, and the new one has their text inside.
pub(super) fn same_outside(old: &str, new: &str, splices: &[Splice]) -> bool {
    let (old, new) = (old.as_bytes(), new.as_bytes());
    let mut from = (0, 0);
    for splice in splices {
        let kept = splice.span.start.checked_sub(from.0);
        let Some(kept) = kept else { return false };
        let inside = from.1 + kept..from.1 + kept + splice.with.len();
        let same = old.get(from.0..splice.span.start) == new.get(from.1..from.1 + kept);
        if !same || new.get(inside.clone()) != Some(splice.with.as_bytes()) {
            return false;
        }
        from = (splice.span.end, inside.end);
    }
    old.get(from.0..) == new.get(from.1..)
}

// === impl Shift ===

impl Shift {
    pub(super) fn new(splices: &[Splice]) -> Self {
        let mut by = 0;
        let moved = splices.iter().map(|s| {
            by += s.with.len() as isize - s.span.len() as isize;
            (s.span.clone(), by)
        });
        Self { moved: moved.collect() }
    }

    /// Maps the start of something that a splice may lie in; what is inserted there comes before it.
    pub(super) fn start(&self, position: usize) -> usize {
        self.by(self.moved.partition_point(|(span, _)| span.end <= position), position)
    }

    /// Maps the end of something that a splice may lie in; what is inserted there comes behind it.
    pub(super) fn end(&self, position: usize) -> usize {
        let behind = |span: &Range<usize>| span.end <= position && span.start < position;
        self.by(self.moved.partition_point(|(span, _)| behind(span)), position)
    }

    pub(super) fn range(&self, range: &Range<usize>) -> Range<usize> {
        // What has no length is one position.
        let end = if range.is_empty() { self.start(range.end) } else { self.end(range.end) };
        self.start(range.start)..end
    }

    fn by(&self, splices: usize, position: usize) -> usize {
        let last = splices.checked_sub(1).and_then(|n| self.moved.get(n));
        position.saturating_add_signed(last.map_or(0, |(_, by)| *by))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn splice(span: Range<usize>, with: &str) -> Splice {
        Splice { span, with: with.to_owned() }
    }

    #[test]
    fn positions_follow_the_splices_before_them() {
        let splices = [splice(1..2, "xyz"), splice(4..6, "")];
        assert_eq!(spliced("abcdefg", &splices).unwrap(), "axyzcdg");
        let shift = Shift::new(&splices);
        assert_eq!([0, 1, 2, 3, 6].map(|p| shift.start(p)), [0, 1, 4, 5, 6]);
        let inserted = Shift::new(&[splice(2..2, "xyz")]);
        assert_eq!((inserted.range(&(0..2)), inserted.range(&(2..3))), (0..2, 5..6));
    }

    #[test]
    fn a_changed_byte_outside_is_seen() {
        let splices = [splice(1..2, "xyz")];
        assert!(same_outside("abc", "axyzc", &splices));
        assert!(!same_outside("abc", "axyzd", &splices));
        assert!(!same_outside("abc", "bxyzc", &splices));
        assert!(!same_outside("abc", "axyyc", &splices));
        assert!(!same_outside("abc", "axyz", &splices));
    }

    #[test]
    fn disordered_splices_are_refused() {
        assert_eq!(spliced("abc", &[splice(1..3, ""), splice(2..3, "")]), None);
        assert_eq!(spliced("é", &[splice(1..2, "")]), None);
    }
}
