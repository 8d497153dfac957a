//! Paths of which the tree does not say a part, as `values/{{name}}.yaml`: the files that are there say what it may be.

use regex::{Captures, Regex};

use super::value::UNKNOWN;

/// Parts of one path that the tree does not say; one with more may be anything.
const PARTS: usize = 8;

/// A path with [`UNKNOWN`] for each part that the tree does not say.
#[derive(Debug)]
pub struct OpenPath(Regex);

// === impl OpenPath ===

impl OpenPath {
    /// Reads a path from the top of the tree; `None` where too much of it is open.
    pub fn new(path: &str) -> Option<Self> {
        Self::read(path, &|letter| regex::escape(letter.encode_utf8(&mut [0; 4])))
    }

    /// Reads a pattern of `git ls-files`, whose `*` crosses folders.
    pub fn pattern(pattern: &str) -> Option<Self> {
        Self::read(pattern, &|letter| match letter {
            '*' => ".*".to_owned(),
            '?' => ".".to_owned(),
            letter => regex::escape(letter.encode_utf8(&mut [0; 4])),
        })
    }

    fn read(path: &str, letter: &dyn Fn(char) -> String) -> Option<Self> {
        if path.matches(UNKNOWN).count() > PARTS {
            return None;
        }
        let known = |piece: &str| piece.chars().map(letter).collect::<String>();
        let pieces: Vec<String> = path.split(UNKNOWN).map(known).collect();
        // It does not cross folders; files that are called `_base.yaml` or `.hidden` are none of many.
        Regex::new(&format!("^{}$", pieces.join("([^/._][^/]*?)"))).ok().map(Self)
    }

    /// Returns what stands for the open parts in a path, in their order; `None` where it does not fit.
    pub fn parts<'p>(&self, path: &'p str) -> Option<Vec<&'p str>> {
        let part = |found: Captures<'p>| found.iter().skip(1).flatten().map(|part| part.as_str()).collect();
        self.0.captures(path).map(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_what_stands_for_it_in_one_folder() {
        let open = |path: &str| OpenPath::new(&path.replace('$', UNKNOWN)).unwrap();
        assert_eq!(open("v/$.yaml").parts("v/prod.yaml"), Some(vec!["prod"]));
        assert_eq!(open("v/$-$.y.yaml").parts("v/eu-1-a.y.yaml"), Some(vec!["eu", "1-a"]));
        for other in ["v/a/prod.yaml", "v/.yaml", "v/_base.yaml", "v/.b.yaml", "w/v/prod.yaml", "v/prod-yaml"]
        {
            assert_eq!(open("v/$.yaml").parts(other), None, "{other}");
        }
        assert!(OpenPath::new(&UNKNOWN.repeat(PARTS + 1)).is_none());
    }

    #[test]
    fn stars_and_question_marks_mean_something_in_patterns_alone() {
        let path = format!("a*/?/{UNKNOWN}/c.json");
        assert_eq!(OpenPath::new(&path).unwrap().parts("abc/d/e/x/c.json"), None);
        assert_eq!(OpenPath::new(&path).unwrap().parts("a*/?/x/c.json"), Some(vec!["x"]));
        assert_eq!(OpenPath::pattern(&path).unwrap().parts("abc/d/e/x/c.json"), Some(vec!["x"]));
    }
}
