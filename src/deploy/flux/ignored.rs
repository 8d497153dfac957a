//! What source-controller leaves out of an artifact.
//!
//! In: a folder, the files `.sourceignore` around and in it, and `spec.ignore` of its source. Out: whether a file is left
//! out. Sources: `sourceignore` of `github.com/fluxcd/pkg`, and `gitignore` of `github.com/fluxcd/go-git`, in which a
//! pattern that takes a folder takes what is below, the last pattern decides, and what is below an ignored folder may come back.
//! What is left out where nobody says anything are pictures, archives and files of pipelines: no objects.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::deploy::{files::Files, object::Object};

/// A file of patterns for its folder and what is below.
const FILE: &str = ".sourceignore";

/// The patterns that count in a folder; by default none.
#[derive(Default)]
pub(super) struct Ignored {
    globs: GlobSet,
    /// Whether each of the globs takes back in.
    includes: Vec<bool>,
}

// === impl Ignored ===

impl Ignored {
    /// Reads what counts in a folder of the tree (`""` is the root), which is that of a source.
    pub fn of(folder: &str, source: Option<&Object>, files: &dyn Files) -> Self {
        let mut patterns = Patterns { globs: GlobSetBuilder::new(), includes: Vec::new() };
        let above = folder.match_indices('/').filter_map(|(at, _)| folder.get(..at));
        let root = (!folder.is_empty()).then_some("");
        let around = root.into_iter().chain(above).chain([folder]).map(str::to_owned);
        let inside = files.below(folder).iter().filter(|entry| entry.path.name() == FILE);
        let inside = inside.map(|entry| entry.path.folder().to_owned()).filter(|inside| inside != folder);
        for domain in around.chain(inside) {
            let path = if domain.is_empty() { FILE.to_owned() } else { format!("{domain}/{FILE}") };
            files.file(&path).iter().for_each(|file| patterns.read(&file.text, &domain));
        }
        let own = source.and_then(|source| source.value.text(&["spec", "ignore"]));
        own.iter().for_each(|text| patterns.read(text, ""));
        let Patterns { globs, includes } = patterns;
        Self { globs: globs.build().unwrap_or_default(), includes }
    }

    /// Tells whether a file is left out.
    pub fn has(&self, path: &str) -> bool {
        let last = self.globs.matches(path).into_iter().max();
        last.is_some_and(|last| self.includes.get(last) == Some(&false))
    }
}

struct Patterns {
    globs: GlobSetBuilder,
    includes: Vec<bool>,
}

// === impl Patterns ===

impl Patterns {
    /// Adds the patterns of a text, which count below a folder.
    fn read(&mut self, text: &str, domain: &str) {
        let domain = if domain.is_empty() { String::new() } else { format!("{}/", globset::escape(domain)) };
        for line in text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
            let (is_include, pattern) = line.strip_prefix('!').map_or((false, line), |rest| (true, rest));
            let pattern = if pattern.ends_with("\\ ") { pattern } else { pattern.trim_end_matches(' ') };
            let (of_folder, pattern) =
                pattern.strip_suffix('/').map_or((false, pattern), |rest| (true, rest));
            let anywhere = if pattern.contains('/') { "" } else { "**/" };
            let whole = format!("{domain}{anywhere}{}", pattern.trim_start_matches('/'));
            let below = format!("{whole}/**");
            for glob in (!of_folder).then_some(whole).iter().chain([&below]) {
                // What is no pattern takes nothing.
                if let Ok(glob) =
                    GlobBuilder::new(glob).literal_separator(true).backslash_escape(true).build()
                {
                    self.globs.add(glob);
                    self.includes.push(is_include);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{deploy::testing::files, repo::RepoPath};

    fn left_out(ignored: &Ignored, paths: &[&str]) -> Vec<String> {
        paths.iter().filter(|path| ignored.has(path)).map(|path| path.to_string()).collect()
    }

    #[test]
    fn the_last_pattern_decides_and_what_is_below_goes_with_its_folder() {
        let tree = files(&[
            (".sourceignore", "# all but\n/*\n!/clusters\n!/infra\n/infra/old\n*.bak.yaml\nattic/\n"),
            ("infra/mesh/.sourceignore", "/draft.yaml\n!keep.bak.yaml\n"),
            ("infra/mesh/draft.yaml", "a: 1"),
        ]);
        let paths = [
            "apps/a.yaml",
            "clusters/a.yaml",
            "infra/a.yaml",
            "infra/attic",
            "infra/attic/a.yaml",
            "infra/mesh/attic/a.yaml",
            "infra/mesh/b.bak.yaml",
            "infra/mesh/draft.yaml",
            "infra/mesh/keep.bak.yaml",
            "infra/mesh/more/draft.yaml",
            "infra/old/a.yaml",
            "infra/older/a.yaml",
        ];
        let ignored = Ignored::of("infra/mesh", None, &tree);
        assert_eq!(
            left_out(&ignored, &paths),
            [
                "apps/a.yaml",
                "infra/attic/a.yaml",
                "infra/mesh/attic/a.yaml",
                "infra/mesh/b.bak.yaml",
                "infra/mesh/draft.yaml",
                "infra/old/a.yaml",
            ]
        );
    }

    #[test]
    fn a_source_has_the_last_word() {
        let source = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: a}\nspec:\n  ignore: |\n    !/old\n    /a/**/new.yaml\n";
        let paths = ["a/b/c/new.yaml", "a/new.yaml", "old/a.yaml"];
        let tree = files(&[("s.yaml", source), (".sourceignore", "old\n")]);
        let path = RepoPath::new("s.yaml").unwrap();
        let source = Object::all(&tree.documents("s.yaml").unwrap()[0], &path).remove(0);
        assert_eq!(left_out(&Ignored::of("", None, &tree), &paths), ["old/a.yaml"]);
        let ignored = Ignored::of("", Some(&source), &tree);
        assert_eq!(left_out(&ignored, &paths), ["a/b/c/new.yaml", "a/new.yaml"]);
    }
}
