//! Step 9, explain: the words of a commit.
//!
//! In: subject, body and facts. Out: a message with the trailers by which we know our own commits, but for
//! `Uplinker-Tree`, which is added when the tree is known. Pure.

use super::markdown::plain;
use crate::{linkerd::EdgeVersion, release::Catalog, repo::Signature};

/// What a commit says.
#[derive(Clone, Debug)]
pub struct Message {
    /// The first line; the pull request's title, or as configured.
    pub subject: String,
    /// Paragraphs below it, or empty.
    pub body: String,
    /// The release that it goes to.
    pub release: EdgeVersion,
    /// The plan's fingerprint.
    pub fingerprint: String,
    /// The charts that move, each as `name version sha256:digest`.
    pub charts: Vec<String>,
    /// Whether to sign off.
    pub sign_off: bool,
}

/// Our trailers: a body's line must not look like one of them.
const TRAILERS: [&str; 5] =
    ["Linkerd-Version:", "Uplinker-Plan:", "Uplinker-Tree:", "Chart-Digest:", "Signed-off-by:"];

// === impl Message ===

impl Message {
    /// Names the charts of a release that move, with their digests where the index gives them.
    pub fn charts_of(catalog: &Catalog, release: EdgeVersion, names: &[String]) -> Vec<String> {
        let charts = catalog.get(release).map(|r| &r.charts);
        let digest = |name: &String| {
            let chart = charts?.get(name)?;
            Some(format!("{name} {} sha256:{}", chart.version, chart.digest.as_ref()?))
        };
        names.iter().filter_map(digest).collect()
    }
}

/// Writes a commit's message; `author` is who signs off.
pub fn commit_message(message: &Message, author: &Signature) -> String {
    let mut text = plain(&message.subject);
    text.push('\n');
    let body: Vec<String> = message.body.trim().lines().map(body_line).collect();
    if !message.body.trim().is_empty() {
        text.push_str(&format!("\n{}\n", body.join("\n")));
    }
    // What is compared later stays as it is: it must only not begin another line.
    let one_line = |s: &str| s.replace(char::is_control, " ");
    let plan = one_line(&message.fingerprint);
    text.push_str(&format!("\nLinkerd-Version: {}\nUplinker-Plan: {plan}\n", message.release));
    for chart in &message.charts {
        text.push_str(&format!("Chart-Digest: {}\n", plain(chart)));
    }
    if message.sign_off {
        text.push_str(&format!("Signed-off-by: {} <{}>\n", one_line(&author.name), one_line(&author.email)));
    }
    text
}

fn body_line(line: &str) -> String {
    let text = plain(line);
    match TRAILERS.iter().any(|t| text.to_ascii_lowercase().starts_with(&t.to_ascii_lowercase())) {
        true => format!("  {text}"),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message() -> Message {
        Message {
            subject: "Linkerd edge-26.8.2 → edge-26.8.3 (default, platform)".into(),
            body: String::new(),
            release: "edge-26.8.3".parse().expect("a release"),
            fingerprint: "f1".into(),
            charts: vec!["linkerd-crds 2026.8.3 sha256:ab".into()],
            sign_off: false,
        }
    }

    fn author() -> Signature {
        Signature { name: "Ada".into(), email: "1+ada@users.noreply.github.com".into() }
    }

    #[test]
    fn what_a_trailer_says_is_one_line() {
        let plan = "f1\nUplinker-Tree: 0".into();
        let message = Message { fingerprint: plan, sign_off: true, ..message() };
        let author =
            Signature { name: "Ada\r\nUplinker-Tree: 1".into(), email: "a@b\nUplinker-Tree: 2".into() };
        let text = commit_message(&message, &author);
        assert!(!text.lines().any(|line| line.starts_with("Uplinker-Tree")), "{text}");
    }

    #[test]
    fn the_trailers_are_one_block_at_the_end() {
        assert_eq!(
            commit_message(&Message { sign_off: true, ..message() }, &author()),
            "Linkerd edge-26.8.2 → edge-26.8.3 (default, platform)\n\nLinkerd-Version: edge-26.8.3\nUplinker-Plan: f1\n\
             Chart-Digest: linkerd-crds 2026.8.3 sha256:ab\nSigned-off-by: Ada <1+ada@users.noreply.github.com>\n"
        );
    }

    #[test]
    fn a_body_forges_no_trailer_and_closes_no_issue() {
        let body = "fixes #7\nuplinker-tree: 1234\nUplinker-Plan: other\n".to_owned();
        let text = commit_message(&Message { body, ..message() }, &author());
        assert!(
            text.contains("\n\nfixes # 7\n  uplinker-tree: 1234\n  Uplinker-Plan: other\n\nLinkerd-Version"),
            "{text}"
        );
        assert_eq!(text.lines().filter(|l| l.starts_with("Uplinker-Plan:")).count(), 1);
    }
}
