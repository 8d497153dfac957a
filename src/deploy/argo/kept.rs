//! What Argo CD leaves as the cluster has it of what an ApplicationSet, or an Application, has made once.
//!
//! Sources: `pkg/apis/application/v1alpha1/applicationset_types.go` (`AllowUpdate`), `applicationset/utils/createOrUpdate.go`
//! (`applyIgnoreDifferences`), `controller/sync.go` (`normalizeTargetResources`) and
//! `util/argo/normalizers/diff_normalizer.go` of argo-cd: what is ignored is taken out of what the cluster has and of what was
//! made, and is no part of the patch between them. An Application ignores it in what it applies where it is told so.

use std::{borrow::Cow, ptr};

use regex::bytes::Regex;

use super::GROUP;
use crate::deploy::{
    expression::pattern,
    json_patch,
    object::Object,
    value::{Scalar, Value},
};

/// Bytes of the rules of one root.
const BYTES: usize = 32 << 10;
/// Bytes that a pattern counts for.
const PATTERN: usize = 128;
/// Signs of patterns.
const SIGNS: [char; 5] = ['*', '?', '[', '{', '\\'];
/// Where a rule says which objects it is about.
const KINDS: [&str; 2] = ["group", "kind"];

/// A step of a path of jq.
enum Step<'e> {
    Key(&'e str),
    Each,
    At(usize),
}

/// Tells whether a policy lets an ApplicationSet make Applications, and never change them.
pub fn creates_only(set: &Object) -> bool {
    let policy = set.value.text(&["spec", "syncPolicy", "applicationsSync"]);
    policy.is_some_and(|policy| matches!(&*policy, "create-only" | "create-delete"))
}

/// What an ApplicationSet or an Application takes over no difference of, in what it makes.
pub struct Kept<'r> {
    rules: Vec<Rule<'r>>,
    /// Whether there is more in the rules than each object is held against: all of it may be meant.
    is_over: bool,
}

/// One rule of these.
struct Rule<'r> {
    says: &'r Value,
    /// What the group and the kind of an object have to be; `None` for what nothing is.
    kinds: Vec<Option<Wanted<'r>>>,
}

/// What a text has to be.
enum Wanted<'r> {
    Text(Cow<'r, str>),
    Like(Regex),
}

// === impl Kept ===

impl<'r> Kept<'r> {
    /// Reads what a root ignores.
    pub fn of(root: &'r Object) -> Self {
        let rules = rules(root);
        let texts =
            |rule: &Value| rule.scalars().into_iter().map(|text| 1 + text.text().len()).sum::<usize>();
        // A set makes nothing but Applications.
        let asked: &[&str] = if root.kind() == "ApplicationSet" { &[] } else { &KINDS };
        let kinds = |rule: &'r Value| asked.iter().map(move |key| rule.text(&[*key]).unwrap_or_default());
        let patterns = |rule| PATTERN * kinds(rule).filter(|text| text.contains(SIGNS)).count();
        let is_over = rules.iter().map(|rule| 1 + texts(rule) + patterns(rule)).sum::<usize>() > BYTES;
        let rules: &[Value] = if is_over { &[] } else { rules };
        let read = |says| Rule { says, kinds: kinds(says).map(Wanted::of).collect() };
        Self { rules: rules.iter().map(read).collect(), is_over }
    }

    /// Lists the parts of an object that the root makes which stay as the cluster has them.
    pub fn parts<'a>(&self, made: &'a Object) -> Vec<&'a Value> {
        if self.is_over {
            return vec![&made.value];
        }
        let mut found = Vec::new();
        for Rule { says, .. } in self.rules.iter().filter(|rule| rule.means(made)) {
            let texts = |key: &str| says.list_at(key).iter().filter_map(|text| text.text(&[]));
            let pointers = texts("jsonPointers");
            found.extend(pointers.filter_map(|pointer| json_patch::pointed(&made.value, &pointer)));
            found.extend(texts("jqPathExpressions").flat_map(|path| led(&made.value, &path)));
        }
        // Many rules may name one part.
        found.sort_by_key(|part| ptr::from_ref(*part));
        found.dedup_by_key(|part| ptr::from_ref(*part));
        found
    }
}

/// Lists what is ignored.
fn rules(root: &Object) -> &[Value] {
    let Some(spec) = root.value.get("spec").filter(|_| root.group() == GROUP) else { return &[] };
    match &*root.kind() {
        "ApplicationSet" => spec.list_at("ignoreApplicationDifferences"),
        "Application" if is_respected(spec) => spec.list_at("ignoreDifferences"),
        _ => &[],
    }
}

/// Tells whether what an Application ignores is ignored too where it applies something.
fn is_respected(spec: &Value) -> bool {
    let options = spec.get("syncPolicy").map_or(&[][..], |policy| policy.list_at("syncOptions"));
    options.iter().any(|option| option.text(&[]).is_some_and(|text| text == "RespectIgnoreDifferences=true"))
}

// === impl Rule ===

impl Rule<'_> {
    /// Tells whether what it ignores is ignored in an object.
    fn means(&self, made: &Object) -> bool {
        let is_called = |key: &str, own: Option<&Scalar>| match self.says.text(&[key]) {
            Some(of) if !of.is_empty() => {
                own.is_none_or(|own| own.unknown_to().is_some() || own.text() == of)
            }
            _ => true,
        };
        let mut kinds = self.kinds.iter().zip([made.group(), made.kind()]);
        is_called("name", made.name())
            && is_called("namespace", made.namespace())
            && kinds.all(|(wanted, own)| wanted.as_ref().is_some_and(|wanted| wanted.is(&own)))
    }
}

// === impl Wanted ===

impl<'r> Wanted<'r> {
    /// Reads a text that may be a pattern; `None` for a pattern that is none.
    fn of(text: Cow<'r, str>) -> Option<Self> {
        if text.contains(SIGNS) { pattern(&text).map(Self::Like) } else { Some(Self::Text(text)) }
    }

    /// Tells whether a text is so.
    fn is(&self, text: &str) -> bool {
        match self {
            Self::Text(own) => own == text,
            Self::Like(pattern) => pattern.is_match(text.as_bytes()),
        }
    }
}

/// Lists what a path of jq may lead to, which is in what its first steps lead to; where these are none, anything.
fn led<'v>(whole: &'v Value, path: &str) -> Vec<&'v Value> {
    let (mut found, mut rest) = (vec![whole], path.trim());
    while let Some((step, behind)) = first(rest) {
        found = found.into_iter().flat_map(|value| step.of(value)).collect();
        rest = behind.trim_start_matches('?').trim_start();
    }
    // What a pipe hands on is taken out of what stands before it; any other sign may begin another path.
    if rest.is_empty() || rest.starts_with('|') { found } else { vec![whole] }
}

/// Reads the first step of a path, and what stands behind it.
fn first(path: &str) -> Option<(Step<'_>, &str)> {
    let quoted = |text: &str| text.starts_with('"');
    let plain = |key: &str| !key.is_empty() && !key.contains(['"', '\\']);
    if let Some(inner) = path.strip_prefix('.').unwrap_or(path).strip_prefix('[') {
        let (inside, behind) = inner.split_once(']')?;
        let step = match inside.trim() {
            "" => Step::Each,
            key if quoted(key) => {
                let key = key.strip_prefix('"').and_then(|key| key.strip_suffix('"'));
                Step::Key(key.filter(|key| plain(key))?)
            }
            number => Step::At(number.parse().ok()?),
        };
        return Some((step, behind));
    }
    let name = path.strip_prefix('.')?;
    let (key, behind) = match name.strip_prefix('"') {
        Some(inner) => inner.split_once('"')?,
        None => {
            name.split_at(name.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(name.len()))
        }
    };
    plain(key).then_some((Step::Key(key), behind))
}

// === impl Step ===

impl Step<'_> {
    /// Lists what it leads to.
    fn of<'v>(&self, value: &'v Value) -> Vec<&'v Value> {
        match (self, value) {
            (Self::Key(key), _) => value.get(key).into_iter().collect(),
            (Self::At(at), _) => value.items().get(*at).into_iter().collect(),
            (Self::Each, Value::List(items)) => items.iter().collect(),
            (Self::Each, _) => value.entries().map(|(_, value)| value).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deploy::testing::objects;

    #[test]
    fn what_is_ignored_of_an_application_is_kept() {
        let of = |rule: &str| {
            let all = objects(&format!(
                "{{apiVersion: argoproj.io/v1alpha1, kind: ApplicationSet, spec: {{ignoreApplicationDifferences: [{{{rule}}}]}}}}\n\
                 ---\n{{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {{name: a}}, spec: {{source: {{chart: b, \
                 targetRevision: '1'}}, sources: [{{chart: c, targetRevision: '2'}}]}}}}\n"
            ));
            let scalars = Kept::of(&all[0]).parts(&all[1]).into_iter().flat_map(Value::scalars);
            let mut texts: Vec<String> = scalars.map(|scalar| scalar.text().into_owned()).collect();
            texts.sort();
            texts.join(" ")
        };
        assert_eq!(of("jsonPointers: [/spec/source/targetRevision, /spec/gone]"), "1");
        assert_eq!(of("name: a, jsonPointers: [/spec/sources/0]"), "2 c");
        assert_eq!(of("name: b, jsonPointers: [/spec/source]"), "");
        assert_eq!(of("jsonPointers: [/spec/sources/0], jqPathExpressions: ['.spec.sources[]']"), "2 c");
        let jq = |path: &str| of(&format!("jqPathExpressions: ['{path}']"));
        assert_eq!(jq(".spec.source.targetRevision"), "1");
        assert_eq!(jq(".spec.sources[].targetRevision?"), "2");
        assert_eq!(jq(".spec[\"sources\"][0] | select(.chart == \"x\").targetRevision"), "2 c");
        assert_eq!(jq(".spec.syncPolicy"), "");
        for open in
            [".spec.syncPolicy, .spec.source", "(.spec.source | .targetRevision)", "..", ".spec.sources[-1]"]
        {
            let all = "1 2 Application a argoproj.io/v1alpha1 b c";
            assert_eq!(jq(open), all, "{open}: any part may be meant");
        }
    }

    #[test]
    fn what_an_application_ignores_is_kept_where_it_is_told_so() {
        let of = |rule: &str, option: &str| {
            let all = objects(&format!(
                "{{apiVersion: argoproj.io/v1alpha1, kind: Application, spec: {{ignoreDifferences: [{{{rule}, jsonPointers: \
                 [/spec/source]}}], syncPolicy: {{syncOptions: [{option}]}}}}}}\n\
                 ---\n{{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {{name: a, namespace: b}}, spec: {{source: c}}}}\n"
            ));
            Kept::of(&all[0]).parts(&all[1]).len()
        };
        let respects = "RespectIgnoreDifferences=true";
        assert_eq!(of("group: argoproj.io, kind: Application", respects), 1);
        assert_eq!(of("group: '*', kind: '*', name: a, namespace: b", respects), 1);
        assert_eq!(of("group: '*.io', kind: Appl?cation", respects), 1);
        assert_eq!(of("group: 'argoproj.{io,com}', kind: '[A-C]*'", respects), 1);
        assert_eq!(of("group: argoproj.io, kind: Application", "ServerSideApply=true"), 0, "it is applied");
        let others = [
            "group: apps, kind: Application",
            "kind: Application",
            "group: '*', kind: '*', name: b",
            "group: '*.com', kind: '*'",
            "group: '[', kind: '*'",
        ];
        for other in others {
            assert_eq!(of(other, respects), 0, "{other}");
        }
    }

    #[test]
    fn more_than_an_object_is_held_against_may_mean_all_of_it() {
        let parts = |paths: usize| {
            let all = objects(&format!(
                "{{apiVersion: argoproj.io/v1alpha1, kind: ApplicationSet, spec: {{ignoreApplicationDifferences: [{{jsonPointers: \
                 [{}]}}]}}}}\n---\n{{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {{name: a}}, spec: {{source: b}}}}\n",
                "/gone, ".repeat(paths)
            ));
            let parts = Kept::of(&all[0]).parts(&all[1]).into_iter();
            parts.map(|part| *part == all[1].value).collect::<Vec<_>>()
        };
        assert_eq!(parts(10), [true; 0]);
        assert_eq!(parts(10_000), [true]);
        let patterns = |rules: usize| {
            let all = objects(&format!(
                "{{apiVersion: argoproj.io/v1alpha1, kind: Application, spec: {{syncPolicy: {{syncOptions: \
                 [RespectIgnoreDifferences=true]}}, ignoreDifferences: [{}]}}}}\n---\n{{kind: A, metadata: {{name: a}}}}\n",
                "{group: a*, kind: b*}, ".repeat(rules)
            ));
            Kept::of(&all[0]).parts(&all[1]).len()
        };
        assert_eq!((patterns(10), patterns(500)), (0, 1));
    }

    #[test]
    fn a_policy_may_let_applications_be_made_and_not_changed() {
        let of = |policy: &str| {
            creates_only(
                &objects(&format!(
                    "{{kind: ApplicationSet, spec: {{syncPolicy: {{applicationsSync: {policy}}}}}}}\n"
                ))[0],
            )
        };
        assert!(of("create-only") && of("create-delete") && !of("create-update") && !of("sync"));
    }
}
