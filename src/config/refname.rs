//! Names of branches: Git's rules, and that a branch of ours is never the base branch.

/// Says what is wrong with a branch name (or the beginning of one); the rules of `git check-ref-format`.
pub(super) fn fault(name: &str) -> Option<&'static str> {
    let forbidden = |c: char| c.is_whitespace() || c.is_control() || "~^:?*[\\".contains(c);
    let part_fault = |part: &str| part.starts_with('.') || part.ends_with(".lock");
    if name.is_empty() {
        Some("it is empty")
    } else if name.len() > 200 {
        Some("it is longer than 200 bytes")
    } else if name.contains(forbidden) {
        Some("it has a space or one of `~^:?*[\\`, which Git forbids")
    } else if name.contains("..") || name.contains("@{") || name == "@" {
        Some("`..`, `@{` and a lone `@` are forbidden by Git")
    } else if name.starts_with(['/', '-']) || name.contains("//") {
        Some("it begins with `/` or `-`, or has an empty part")
    } else if name.split('/').any(part_fault) {
        Some("a part of it begins with `.` or ends with `.lock`, which Git forbids")
    } else if name.starts_with("refs/") {
        Some("it is written without `refs/heads/`")
    } else {
        None
    }
}

/// Says what is wrong with a whole branch name.
pub(super) fn branch_fault(name: &str) -> Option<&'static str> {
    fault(name).or_else(|| name.ends_with(['/', '.']).then_some("it ends with `/` or `.`, which Git forbids"))
}

/// Says what is wrong with the prefix of our branches.
pub(super) fn prefix_fault(prefix: &str) -> Option<&'static str> {
    fault(prefix).or_else(|| {
        (!prefix.ends_with(['/', '-']))
            .then_some("it must end with `/` or `-`, to be told from other branches")
    })
}

/// Says why branches under a prefix cannot live beside a branch.
pub(super) fn clash(prefix: &str, branch: &str) -> Option<String> {
    // Refs are files in many servers, some of which fold case: `main` and `main/x` cannot both be there.
    let (folded, other) = (prefix.to_lowercase(), branch.to_lowercase());
    if other.starts_with(&folded) {
        Some(format!("prefix `{prefix}` would cover branch `{branch}`, which is never written to"))
    } else if folded.starts_with(&format!("{other}/")) {
        Some(format!("Git has no room for branches under `{prefix}` beside branch `{branch}`"))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gits_rules_hold() {
        for good in ["uplinker/", "bots/uplinker-", "é/", "a-"] {
            assert_eq!(prefix_fault(good), None, "{good}");
        }
        let bad = [
            "", "uplinker", "/x/", "-x/", "a b/", "a..b/", "a//", ".a/", "a/.b/", "a.lock/", "@{x/",
            "a\u{7f}/",
        ];
        for bad in bad.into_iter().chain(["refs/heads/x/", "a*/", "a\\/"]) {
            assert!(prefix_fault(bad).is_some(), "{bad}");
        }
        assert!(
            branch_fault("main/").is_some() && branch_fault("a.").is_some() && branch_fault("main").is_none()
        );
    }

    #[test]
    fn the_base_branch_is_out_of_reach() {
        assert!(clash("release/", "release/2026").is_some());
        assert!(clash("main/", "main").is_some());
        assert!(clash("Main/", "main").is_some());
        assert!(clash("uplinker/", "main").is_none());
        assert!(clash("mainly/", "main").is_none());
    }
}
