//! Step 7, render: which file a new object goes to.
//!
//! In: the files of a set and what is in them. Out: how the set is laid out, and a path for an object that is new. A name
//! of an object is only text here: whatever is in it, the path stays in the tree.

use super::{CommittedFile, placed::Placed};
use crate::{render::Object, repo::RepoPath};

/// How a committed manifest is laid out in files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Files with several objects each.
    Files,
    /// One object in each file, the name made by this pattern.
    PerObject(Pattern),
    /// As `helm template --output-dir` does: below this folder, by template.
    ByTemplate(String),
}

/// How a file is named after its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    order: Order,
    between: &'static str,
    lower: bool,
    extension: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    KindName,
    NameKind,
    Name,
    KindNamespaceName,
    NamespaceKindName,
}

const ORDERS: [Order; 5] =
    [Order::KindName, Order::NameKind, Order::Name, Order::KindNamespaceName, Order::NamespaceKindName];
const BETWEEN: [&str; 3] = ["-", "_", "."];
const EXTENSIONS: [&str; 3] = [".yaml", ".yml", ".json"];

/// The longest file name that is made.
const LONGEST: usize = 200;

// === impl Layout ===

impl Layout {
    /// Reads the layout off the files that are there.
    pub(super) fn of(placed: &Placed) -> Self {
        let objects: Vec<_> = placed.all().collect();
        if let Some(root) = template_root(&objects) {
            return Self::ByTemplate(root);
        }
        let alone = |f: &&CommittedFile| f.manifest.objects.len() == 1;
        let singles = placed.files.iter().filter(alone).count();
        if placed.files.len() < 2 || singles * 2 <= placed.files.len() {
            return Self::Files;
        }
        let fits =
            |pattern: &Pattern| objects.iter().filter(|(f, o)| pattern.name(o) == f.path.name()).count();
        // Of equally good ones the first.
        let best = Pattern::all().max_by_key(|pattern| (fits(pattern), std::cmp::Reverse(pattern.rank())));
        // A few objects that have a file to themselves may as well be files by topic.
        if singles < placed.files.len() && best.as_ref().is_none_or(|best| fits(best) * 2 < singles) {
            return Self::Files;
        }
        Self::PerObject(best.unwrap_or(Pattern::DEFAULT))
    }

    /// Names a file for a new object whose neighbour is in `folder`; `taken` tells which paths are not free.
    pub(super) fn path(
        &self,
        object: &Object,
        folder: &str,
        taken: &dyn Fn(&RepoPath) -> bool,
    ) -> Option<RepoPath> {
        let pattern = match self {
            Self::Files => return None,
            Self::ByTemplate(root) => {
                return RepoPath::resolve(root, object.source.as_deref()?);
            }
            Self::PerObject(pattern) => pattern,
        };
        let name = pattern.name(object);
        let stem = name.strip_suffix(pattern.extension).unwrap_or(&name);
        let numbered = (2..100).map(|n| format!("{stem}-{n}{}", pattern.extension));
        let names = std::iter::once(name.clone()).chain(numbered);
        names.filter_map(|name| RepoPath::resolve(folder, &name)).find(|path| !taken(path))
    }
}

/// Finds the folder below which every file is where its objects' template is.
fn template_root(objects: &[(&CommittedFile, &Object)]) -> Option<String> {
    let mut roots = objects.iter().map(|(file, object)| {
        let root = file.path.as_str().strip_suffix(object.source.as_deref()?)?;
        root.strip_suffix('/').or(root.is_empty().then_some(root))
    });
    let first = roots.next()??;
    roots.all(|root| root == Some(first)).then(|| first.to_owned())
}

// === impl Pattern ===

impl Pattern {
    const DEFAULT: Self = Self { order: Order::KindName, between: "-", lower: true, extension: ".yaml" };

    fn all() -> impl Iterator<Item = Self> {
        let orders =
            ORDERS.into_iter().flat_map(|order| BETWEEN.into_iter().map(move |between| (order, between)));
        let cased = orders.flat_map(|(order, between)| [true, false].map(|lower| (order, between, lower)));
        cased.flat_map(|(order, between, lower)| {
            EXTENSIONS.map(|extension| Self { order, between, lower, extension })
        })
    }

    /// Returns its place among all.
    fn rank(&self) -> usize {
        Self::all().position(|p| p == *self).unwrap_or(usize::MAX)
    }

    fn name(&self, object: &Object) -> String {
        let key = &object.key;
        let kind = if self.lower { key.kind.to_lowercase() } else { key.kind.clone() };
        let namespace = key.namespace.as_deref();
        let parts: Vec<&str> = match self.order {
            Order::KindName => vec![&kind, &key.name],
            Order::NameKind => vec![&key.name, &kind],
            Order::Name => vec![&key.name],
            Order::KindNamespaceName => {
                [Some(&*kind), namespace, Some(&*key.name)].into_iter().flatten().collect()
            }
            Order::NamespaceKindName => {
                [namespace, Some(&*kind), Some(&*key.name)].into_iter().flatten().collect()
            }
        };
        let safe: Vec<String> = parts.into_iter().map(safe).collect();
        format!("{}{}", safe.join(self.between), self.extension)
    }
}

/// Makes a part of a file's name out of any text.
fn safe(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' };
    let name: String = text.chars().take(LONGEST).map(plain).collect();
    let name = name.trim_start_matches('.');
    if name.is_empty() { "object".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::Manifest;

    fn object(kind: &str, name: &str) -> Object {
        let text = format!(
            "# Source: c/templates/x.yaml\napiVersion: v1\nkind: {kind}\nmetadata: {{name: {name:?}, namespace: n}}\n"
        );
        Manifest::parse(text).unwrap().objects.remove(0)
    }

    #[test]
    fn names_follow_a_pattern_and_stay_in_the_tree() {
        let layout = Layout::PerObject(Pattern::DEFAULT);
        let path = |object: &Object| {
            layout.path(object, "a/b", &|p| p.as_str() == "a/b/role-x.yaml").unwrap().to_string()
        };
        assert_eq!(path(&object("Role", "system:x/../../y")), "a/b/role-system-x-..-..-y.yaml");
        assert_eq!(path(&object("Role", "x")), "a/b/role-x-2.yaml");
        assert_eq!(path(&object("ServiceAccount", "../..")), "a/b/serviceaccount--...yaml");
        let by_template = Layout::ByTemplate("out".into());
        assert_eq!(
            by_template.path(&object("Role", "x"), "", &|_| false).unwrap().as_str(),
            "out/c/templates/x.yaml"
        );
    }

    #[test]
    fn every_pattern_names_another_file() {
        let named = object("ServiceAccount", "x");
        let names: Vec<String> = Pattern::all().map(|p| p.name(&named)).collect();
        for wanted in [
            "serviceaccount-x.yaml",
            "ServiceAccount_x.yml",
            "x.ServiceAccount.yaml",
            "n_serviceaccount_x.yaml",
            "x.yaml",
        ] {
            assert!(names.iter().any(|n| n == wanted), "{wanted}");
        }
    }
}
