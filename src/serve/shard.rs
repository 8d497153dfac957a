//! Which part of a list is ours, where several processes share it.

use std::{fmt, str::FromStr};

use sha2::{Digest as _, Sha256};

/// The most parts that a list has.
const MOST: u32 = 1000;

/// One part of a list: `I/N`, with I counted from 0 as Indexed Jobs and matrices count.
///
/// ```
/// use uplinker::serve::Shard;
/// let shards: Vec<Shard> = ["0/2", "1/2"].map(|text| text.parse().unwrap()).to_vec();
/// assert_eq!(shards.iter().filter(|shard| shard.has("https://github.com/acme/mesh")).count(), 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: u32,
    count: u32,
}

// === impl Shard ===

impl Shard {
    /// Tells whether a repository belongs to this part. It belongs to one alone, whatever else is on the list; where the
    /// number of parts changes, no more move than have to (rendezvous hashing).
    pub fn has(self, repository: &str) -> bool {
        let weight = |index: u32| {
            let mut hash = Sha256::new();
            hash.update(index.to_be_bytes());
            hash.update(repository.as_bytes());
            hash.finalize()
        };
        (0..self.count).max_by_key(|index| weight(*index)) == Some(self.index)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "write I/N, such as 0/4 for the first of four".to_owned();
        let (index, count) = text.split_once('/').ok_or_else(wrong)?;
        let number = |text: &str| text.parse::<u32>().map_err(|_| wrong());
        let (index, count) = (number(index)?, number(count)?);
        match () {
            () if count == 0 || count > MOST => Err(format!("there are 1 to {MOST} parts")),
            () if index >= count => {
                Err(format!("parts are counted from 0, so the last one is {}/{count}", count - 1))
            }
            () => Ok(Self { index, count }),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(repository: &str, count: u32) -> u32 {
        let homes: Vec<u32> =
            (0..count).filter(|index| Shard { index: *index, count }.has(repository)).collect();
        assert_eq!(homes.len(), 1, "{repository} of {count}");
        homes[0]
    }

    fn names() -> Vec<String> {
        (0..400).map(|n| format!("https://github.com/acme/repository-{n}")).collect()
    }

    #[test]
    fn parts_are_about_as_large_and_stay() {
        let mut sizes = [0; 4];
        for name in names() {
            sizes[home(&name, 4) as usize] += 1;
        }
        assert!(sizes.iter().all(|size| (70..130).contains(size)), "{sizes:?}");
        // What another build finds, too: the home is a part of the name.
        assert_eq!(home("https://github.com/acme/mesh-config", 4), 2);
    }

    #[test]
    fn one_more_part_moves_no_more_than_it_takes() {
        let moved = names().iter().filter(|name| home(name, 4) != home(name, 5)).count();
        assert!(names().iter().all(|name| home(name, 4) == home(name, 5) || home(name, 5) == 4));
        assert!((40..120).contains(&moved), "{moved}");
    }

    #[test]
    fn what_is_no_part_is_refused() {
        for (text, words) in [
            ("1", "write I/N"),
            ("", "write I/N"),
            ("a/2", "write I/N"),
            ("-1/2", "write I/N"),
            ("2/2", "the last one is 1/2"),
            ("0/0", "1 to 1000"),
            ("0/1001", "1 to 1000"),
        ] {
            let refused = text.parse::<Shard>().unwrap_err();
            assert!(refused.contains(words), "{text}: {refused}");
        }
        assert_eq!("3/4".parse::<Shard>().unwrap().to_string(), "3/4");
    }
}
