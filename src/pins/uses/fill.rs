//! Step 5, pins: what deployers put in place of variables and expressions in texts.
//!
//! In: a text, and what is known. Out: the text filled; what is not known is marked, never guessed.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    super::{
        context::Context,
        index::{Map, Root},
        object::Object,
        place::Place,
        template, variable,
    },
    data::{Data, mark},
};
use crate::{deploy::cluster::nearest, repo::RepoPath};

/// The variables of one Flux Kustomization.
#[derive(Clone, Debug, Default)]
pub(super) struct Variables {
    known: BTreeMap<String, String>,
    /// Who may know the others; `None` where nobody does, so that they are empty.
    outside: Option<String>,
}

// === impl Variables ===

impl Variables {
    /// The variables of a Kustomization that is not in the tree.
    pub fn elsewhere() -> Self {
        let outside = Some("a Flux Kustomization that is not in this repository".to_owned());
        Self { known: BTreeMap::new(), outside }
    }

    /// Reads what a Kustomization substitutes; `None` where it substitutes nothing.
    pub fn of(context: &Context<'_>, root: &Root) -> Option<Self> {
        let mut variables = Self::default();
        let mut any = !root.substitute_from.is_empty();
        for name in &root.substitute_from {
            let own = root.namespace.iter().cloned().collect();
            let map = nearest_map(context, name, &own, &root.path);
            let data = map.and_then(|map| config_map(context, map));
            match data.and_then(|(data, sealed)| data.get("data").cloned().filter(|_| !sealed)) {
                Some(Data::Map(entries)) => {
                    let texts = entries.into_iter().filter_map(|(k, v)| Some((k, v.as_str()?.to_owned())));
                    variables.known.extend(texts);
                }
                _ => variables.outside = Some(format!("the ConfigMap or Secret `{name}`")),
            }
        }
        variable::substitutes(context, root, |_, key, value| {
            any = true;
            variables.known.insert(key.to_owned(), value.as_str().unwrap_or_default().to_owned());
        });
        any.then_some(variables)
    }

    /// Fills `${name}` and `${name:=default}`; `None` where there is nothing to fill.
    pub fn fill(&self, text: &str) -> Option<String> {
        if !text.contains("${") {
            return None;
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let Some((inner, behind)) = after.split_once('}') else { break };
            rest = behind;
            if let Some(before) = before.strip_suffix('$') {
                out.push_str(&format!("{before}${{{inner}}}"));
                continue;
            }
            out.push_str(before);
            out.push_str(&self.value(inner));
        }
        out.push_str(rest);
        Some(out)
    }

    fn value(&self, inner: &str) -> String {
        let length = inner.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
        let (name, rest) = inner.split_at(length);
        let default = [":=", ":-", "=", "-"].into_iter().find_map(|o| rest.strip_prefix(o));
        let known = self.known.get(name).filter(|v| !v.is_empty() || default.is_none());
        match (known, default, &self.outside) {
            _ if name.is_empty() || (default.is_none() && !rest.is_empty()) => {
                mark(&format!("the substitution `${{{inner}}}`"))
            }
            (Some(value), ..) => value.clone(),
            (None, Some(default), _) => default.to_owned(),
            (None, None, Some(outside)) => mark(&format!("variable `{name}`, from {outside}")),
            // Flux leaves nothing where nobody sets the variable.
            (None, None, None) => String::new(),
        }
    }
}

/// Finds the ConfigMap that a name means in given namespaces.
pub(super) fn nearest_map<'c>(
    context: &Context<'c>,
    name: &str,
    namespaces: &BTreeSet<String>,
    from: &RepoPath,
) -> Option<&'c Map> {
    let all: Vec<&'c Map> = context.maps.all("", name, namespaces).collect();
    nearest(&all, from, |map| &map.path, |map| map.kind == "ConfigMap").copied()
}

/// Reads a ConfigMap of the tree, and whether its file is sealed.
pub(super) fn config_map(context: &Context<'_>, map: &Map) -> Option<(Data, bool)> {
    let file = context.corpus.file(map.path.as_str())?;
    let place = Place::of(&file);
    let objects = Object::all(place);
    let own = |o: &&Object<'_>| o.kind == map.kind && o.name == Some(&map.name);
    let spaced = |o: &&Object<'_>| o.namespace == map.namespace.as_deref();
    let object = objects.iter().filter(own).find(spaced)?;
    let data = Data::read(object.node)?;
    let sealed = data.get("sops").is_some();
    Some((data, sealed))
}

/// Fills Argo CD's build environment as it does, `$NAME`, `${NAME}` and `$$`: what it does not know is empty.
pub(super) fn argo(known: &BTreeMap<&str, String>, text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        if let Some(behind) = after.strip_prefix('$') {
            out.push('$');
            rest = behind;
            continue;
        }
        let (name, behind) = match after.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            Some((name, behind)) => (name, behind),
            None => after.split_at(
                after.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(after.len()),
            ),
        };
        rest = behind;
        match known.get(name) {
            Some(value) => out.push_str(value),
            None if name.is_empty() => out.push('$'),
            None if name.starts_with("ARGOCD_APP_") || name.starts_with("KUBE_") => {
                out.push_str(&mark(&format!("`${name}`, which only Argo CD knows")));
            }
            None => {}
        }
    }
    out.push_str(rest);
    out
}

/// Fills the expressions of an ApplicationSet's text that are one parameter each; others are marked.
pub(super) fn expressions(text: &str, parameter: &dyn Fn(&[String]) -> Option<String>) -> Option<String> {
    if !text.contains("{{") {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((inner, behind)) = after.split_once("}}") else { break };
        out.push_str(before);
        let value = template::parameter(inner).and_then(|path| parameter(&path));
        out.push_str(
            &value.unwrap_or_else(|| mark(&format!("`{{{{{inner}}}}}`, which only Argo CD evaluates"))),
        );
        rest = behind;
    }
    out.push_str(rest);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flux_takes_the_value_the_default_or_nothing() {
        let known = BTreeMap::from([("a".to_owned(), "1".to_owned()), ("e".to_owned(), String::new())]);
        let own = Variables { known: known.clone(), outside: None };
        assert_eq!(own.fill("x-${a}-${b:=2}-${c}-$${d}-${e:-3}").unwrap(), "x-1-2--${d}-3");
        assert_eq!(own.fill("${open"), Some("${open".to_owned()));
        assert_eq!(own.fill("plain $a"), None);
        let outside = Variables { known, outside: Some("the Secret".to_owned()) };
        assert!(outside.fill("${c}").unwrap().contains("variable `c`, from the Secret"));
        assert_eq!(outside.fill("${c:=4}").unwrap(), "4");
        assert!(own.fill("${a/x/y}").unwrap().contains("substitution"));
    }

    #[test]
    fn argo_leaves_nothing_for_names_that_it_does_not_know() {
        let known = BTreeMap::from([("ARGOCD_APP_NAME", "viz".to_owned())]);
        assert_eq!(argo(&known, "$ARGOCD_APP_NAME-${ARGOCD_APP_NAME}x-$$A-$none."), "viz-vizx-$A-.");
        assert!(argo(&known, "$ARGOCD_APP_REVISION").contains("only Argo CD knows"));
        assert_eq!(argo(&known, "a$"), "a$");
    }

    #[test]
    fn only_single_parameters_are_filled() {
        let parameter = |path: &[String]| (path == ["a", "b"]).then(|| "1".to_owned());
        let fill = |text| expressions(text, &parameter);
        assert_eq!(fill("x-{{a.b}}-{{ .a.b }}-{{ index .a \"b\" }}").unwrap(), "x-1-1-1");
        assert!(fill("{{ .a.b | upper }}").unwrap().contains("only Argo CD evaluates"));
        assert!(fill("{{ if .a }}").unwrap().contains("only Argo CD evaluates"));
        assert_eq!(fill("plain"), None);
    }
}
