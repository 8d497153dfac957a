//! Step 5, pins: expressions in the paths of an ApplicationSet.

/// Replaces each expression by `*`, so that a path becomes a glob.
pub(super) fn as_glob(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((_, behind)) = after.split_once("}}") else { break };
        out.push_str(before);
        out.push('*');
        rest = behind;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_expressions_is_a_glob() {
        assert_eq!(as_glob("$values/sites/{{.name}}/v.yaml"), "$values/sites/*/v.yaml");
    }
}
