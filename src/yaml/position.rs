//! Where a byte stands in a text, as people and editors count.

/// Returns the line and the column of a byte of `text`, both from 1, the column in characters.
///
/// A byte order mark takes no column, a position inside a character counts as its first byte, and one beyond
/// the end as the end.
///
/// ```
/// use uplinker::yaml::position;
/// assert_eq!(position("a: 1\né: 2\n", 9), (2, 4));
/// ```
pub fn position(text: &str, byte: usize) -> (usize, usize) {
    let byte = byte.min(text.len());
    let before = &text.as_bytes()[..byte];
    let line = memchr::memchr_iter(b'\n', before).count() + 1;
    let start = memchr::memrchr(b'\n', before).map_or(0, |n| n + 1);
    // Continuation bytes are not counted, so each character counts once, by its first byte.
    let characters = |range: &[u8]| range.iter().filter(|b| (**b & 0xC0) != 0x80).count();
    let mark = usize::from(start == 0 && text.starts_with('\u{feff}') && byte >= 3);
    let inside = usize::from(text.as_bytes().get(byte).is_some_and(|b| (b & 0xC0) == 0x80));
    (line, characters(&before[start..]) - mark - inside * usize::from(byte > 0) + 1)
}

#[cfg(test)]
mod tests {
    use super::position;

    #[test]
    fn counts_characters_not_bytes() {
        let text = "a\r\n🚀é: x\n";
        assert_eq!(position(text, 0), (1, 1));
        assert_eq!(position(text, text.find('x').unwrap()), (2, 5));
        assert_eq!(position(text, text.len()), (3, 1));
        assert_eq!(position(text, 1000), (3, 1));
    }

    #[test]
    fn a_byte_order_mark_takes_no_column() {
        assert_eq!(position("\u{feff}a: b", 3), (1, 1));
        assert_eq!(position("\u{feff}a: b", 6), (1, 4));
        assert_eq!(position("\u{feff}a", 0), (1, 1));
    }

    #[test]
    fn inside_a_character_is_its_first_byte() {
        assert_eq!(position("🚀b", 2), (1, 1));
        assert_eq!(position("\u{feff}b", 1), (1, 1));
        assert_eq!(position("a🚀b", 2), (1, 2));
    }
}
