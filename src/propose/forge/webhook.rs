//! Step 10, propose: how a forge delivers what happens in a repository.
//!
//! In: nothing. Out: a [`Webhook`], which each forge gives as data. Pure.

/// How a forge delivers.
#[derive(Clone, Copy, Debug)]
pub struct Webhook {
    /// The header that names the event, in lower case, as all of them here.
    pub event: &'static str,
    /// The events that may change what is to be done, each also with more after an underscore.
    pub events: &'static [&'static str],
    /// How it is shown that the forge knows the secret.
    pub proof: Proof,
    /// The headers that name the delivery; the first that is there counts.
    pub id: &'static [&'static str],
    /// Where a body has the addresses of its repository, as JSON pointers.
    pub addresses: &'static [&'static str],
}

/// How a forge shows that it knows the secret.
#[derive(Clone, Copy, Debug)]
pub enum Proof {
    /// By a signature of the body: HMAC-SHA256 in hexadecimal.
    Signed {
        /// The header that has it.
        header: &'static str,
        /// What stands before it there.
        prefix: &'static str,
    },
    /// By telling it.
    Shared {
        /// The header that has it.
        header: &'static str,
    },
}
