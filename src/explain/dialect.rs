//! Step 9, explain: what differs between the forges that show a text.
//!
//! In: nothing. Out: a [`Dialect`], which each forge gives as data. Pure.

/// What a forge takes of a text, what in it would do something there, and what it calls things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Its name, as people write it.
    pub forge: &'static str,
    /// What it calls a pull request.
    pub request: &'static str,
    /// What it writes before the number of one.
    pub number_sign: char,
    /// The most characters of a title.
    pub title: usize,
    /// The most characters of a body, by the strictest way to count.
    pub body: usize,
    /// The most characters of a status's description.
    pub status: usize,
    /// The characters that begin a reference, beside `@` and `#`, which do so everywhere.
    pub signs: &'static [char],
    /// Whether a line that begins with a slash is a command.
    pub commands: bool,
    /// What begins the title of a draft, where nothing else makes it one.
    pub draft: Option<&'static str>,
}

// === impl Dialect ===

impl Dialect {
    /// The tightest limits of all forges, and what all of them have in common.
    pub const COMMON: Self = Self {
        forge: "the forge",
        request: "pull request",
        number_sign: '#',
        title: 248,
        body: 65_536,
        status: 140,
        signs: &[],
        commands: false,
        draft: None,
    };

    /// Names a pull request as the forge does, such as `#12`.
    pub fn reference(&self, number: u64) -> String {
        format!("{}{number}", self.number_sign)
    }
}
