//! The patterns of `${var#pattern}`, as `github.com/fluxcd/pkg/envsubst/path` matches them.

/// A pattern that cannot be read; then nothing is cut.
struct Bad;

/// Returns how many bytes at the beginning, or at the end, of a text a pattern takes.
pub(super) fn matched(text: &str, pattern: &str, at_end: bool, longest: bool) -> usize {
    if at_end {
        // The end is matched from behind: both are turned round, the pattern with its signs.
        let turned = |text: &str| text.chars().rev().collect::<String>();
        return of_beginning(&turned(text), &turned(pattern), longest).unwrap_or(0);
    }
    of_beginning(text, pattern, longest).unwrap_or(0)
}

fn of_beginning(text: &str, pattern: &str, longest: bool) -> Result<usize, Bad> {
    let mut found = 0;
    // An empty beginning is never tried.
    for length in (1..=text.len()).rev() {
        let Some(beginning) = text.get(..length) else { continue };
        if matches(pattern, beginning)? {
            found = length;
            if longest {
                break;
            }
        }
    }
    Ok(found)
}

/// Whole matches; the text is short, the pattern too.
fn matches(pattern: &str, text: &str) -> Result<bool, Bad> {
    let (mut pattern, mut name) = (pattern, text);
    'pattern: while !pattern.is_empty() {
        let (star, chunk, rest) = chunk_of(pattern);
        pattern = rest;
        if star && chunk.is_empty() {
            return Ok(true);
        }
        match of_chunk(chunk, name) {
            Ok(Some(left)) if left.is_empty() || !pattern.is_empty() => {
                name = left;
                continue;
            }
            Ok(_) => {}
            Err(bad) => return Err(bad),
        }
        if star {
            for (at, c) in name.char_indices() {
                let Some(behind) = name.get(at + c.len_utf8()..) else { continue };
                if let Some(left) = of_chunk(chunk, behind)? {
                    if pattern.is_empty() && !left.is_empty() {
                        continue;
                    }
                    name = left;
                    continue 'pattern;
                }
            }
        }
        return Ok(false);
    }
    Ok(name.is_empty())
}

/// Cuts off stars and what is before the next star.
fn chunk_of(pattern: &str) -> (bool, &str, &str) {
    let rest = pattern.trim_start_matches('*');
    let mut in_class = false;
    let mut chars = rest.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '[' => in_class = true,
            ']' => in_class = false,
            '*' if !in_class => return (rest.len() < pattern.len(), &rest[..at], &rest[at..]),
            _ => {}
        }
    }
    (rest.len() < pattern.len(), rest, "")
}

/// Matches a chunk with the beginning of a text; returns what is left of it.
fn of_chunk<'t>(chunk: &str, text: &'t str) -> Result<Option<&'t str>, Bad> {
    let (mut chunk, mut text) = (chunk, text);
    while let Some(sign) = chunk.chars().next() {
        let Some(c) = text.chars().next() else { return Ok(None) };
        chunk = &chunk[sign.len_utf8()..];
        let fits = match sign {
            '[' => {
                let (class, behind) = class(chunk, c)?;
                chunk = behind;
                class
            }
            '?' => true,
            '\\' => {
                let literal = chunk.chars().next().ok_or(Bad)?;
                chunk = &chunk[literal.len_utf8()..];
                literal == c
            }
            sign => sign == c,
        };
        if !fits {
            return Ok(None);
        }
        text = &text[c.len_utf8()..];
    }
    Ok(Some(text))
}

/// Reads a class behind its `[`, and says whether a character is of it.
fn class(chunk: &str, c: char) -> Result<(bool, &str), Bad> {
    let (wanted, mut chunk) = match chunk.strip_prefix('^') {
        Some(rest) => (false, rest),
        None => (true, chunk),
    };
    let mut found = false;
    let mut ranges = 0;
    loop {
        if let Some(rest) = chunk.strip_prefix(']').filter(|_| ranges > 0) {
            return Ok((found == wanted, rest));
        }
        let (low, rest) = class_character(chunk)?;
        let (high, rest) = match rest.strip_prefix('-') {
            Some(rest) => class_character(rest)?,
            None => (low, rest),
        };
        found |= (low..=high).contains(&c);
        chunk = rest;
        ranges += 1;
    }
}

fn class_character(chunk: &str) -> Result<(char, &str), Bad> {
    if chunk.is_empty() || chunk.starts_with(['-', ']']) {
        return Err(Bad);
    }
    let chunk = chunk.strip_prefix('\\').unwrap_or(chunk);
    let c = chunk.chars().next().ok_or(Bad)?;
    let rest = &chunk[c.len_utf8()..];
    if rest.is_empty() { Err(Bad) } else { Ok((c, rest)) }
}
