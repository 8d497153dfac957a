//! What `helm template` is asked for, and its command line.
//!
//! In: a [`Template`]. Out: arguments, and the files that they name. Names and values come from a repository: each stands
//! behind a `=`, so that none is a flag, and no text of theirs is ever a path or an address: values are in files of
//! ours with names of ours.

use std::{ffi::OsString, path::Path, sync::Arc};

/// One argument may have 128 KiB on Linux.
const ARGUMENT: usize = 120 * 1024;

/// The longest name of a release, by Helm.
const RELEASE: usize = 53;

/// What `helm template` is asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Template {
    /// The release's name.
    pub release: String,
    /// `--namespace`.
    pub namespace: String,
    /// `--values`, later ones win.
    pub values: Vec<Layer>,
    /// `--set`, `--set-string`, `--set-file`, after the values.
    pub settings: Vec<Setting>,
    /// `--kube-version`.
    pub kube_version: Option<String>,
    /// `--api-versions`.
    pub api_versions: Vec<String>,
    /// `--include-crds`: the chart's `crds/` folder too.
    pub include_crds: bool,
    /// Whether hooks are printed; without them it is `--no-hooks`.
    pub hooks: bool,
}

/// A values file: YAML text of one mapping, with `null` to remove a default.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Layer(pub Arc<str>);

/// A single value on Helm's command line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Setting {
    /// Its path in Helm's syntax, such as `proxy.image.version` or `podAnnotations.a\.b/c`.
    pub name: String,
    /// Its value in Helm's syntax; the file's content for [`SettingKind::File`].
    pub value: String,
    /// How it is given.
    pub kind: SettingKind,
}

/// How a single value is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SettingKind {
    /// `--set`: typed by Helm.
    Typed,
    /// `--set-string`.
    Text,
    /// `--set-file`.
    File,
}

/// A command line, and the files that are to be in its folder.
pub(super) struct Layout {
    /// After the program's name.
    pub arguments: Vec<OsString>,
    /// Names and contents.
    pub files: Vec<(String, String)>,
}

/// Lays it out; the error completes Helm's own.
pub(super) fn layout(asked: &Template, chart: &Path) -> Result<Layout, String> {
    if !is_name(&asked.release, RELEASE) {
        return Err(format!("`{}` is no name for a release", asked.release.escape_debug()));
    }
    if !is_name(&asked.namespace, 63) {
        return Err(format!("`{}` is no name for a namespace", asked.namespace.escape_debug()));
    }
    let mut files = Vec::new();
    let mut words = vec!["template".to_owned(), format!("--namespace={}", asked.namespace)];
    for (number, layer) in asked.values.iter().enumerate() {
        let name = format!("values-{number}.yaml");
        words.push(format!("--values={name}"));
        files.push((name, layer.0.to_string()));
    }
    for (number, setting) in asked.settings.iter().enumerate() {
        words.push(set(setting, number, &mut files)?);
    }
    if let Some(version) = &asked.kube_version {
        words.push(format!("--kube-version={}", plain("Kubernetes version", version)?));
    }
    for api in &asked.api_versions {
        words.push(format!("--api-versions={}", plain("API version", api)?));
    }
    if asked.include_crds {
        words.push("--include-crds".to_owned());
    }
    if !asked.hooks {
        words.push("--no-hooks".to_owned());
    }
    words.extend(["--".to_owned(), asked.release.clone()]);
    let mut arguments: Vec<OsString> = words.into_iter().map(OsString::from).collect();
    arguments.push(chart.as_os_str().to_owned());
    Ok(Layout { arguments, files })
}

// === impl Template ===

impl Template {
    /// Asks for a release with the chart's own values, hooks included.
    pub fn of(release: &str, namespace: &str) -> Self {
        Self {
            release: release.to_owned(),
            namespace: namespace.to_owned(),
            values: Vec::new(),
            settings: Vec::new(),
            kube_version: None,
            api_versions: Vec::new(),
            include_crds: false,
            hooks: true,
        }
    }
}

fn set(setting: &Setting, number: usize, files: &mut Vec<(String, String)>) -> Result<String, String> {
    let Setting { name, value, kind } = setting;
    let shown = || name.escape_debug().take(80).collect::<String>();
    if name.contains('\0')
        || value.contains('\0')
        || name.len() + value.len() > ARGUMENT && *kind != SettingKind::File
    {
        return Err(format!("the value of `{}` is no text, or too long for a parameter", shown()));
    }
    match kind {
        SettingKind::Typed => Ok(format!("--set={name}={value}")),
        SettingKind::Text => Ok(format!("--set-string={name}={value}")),
        SettingKind::File => {
            // Anything that ends a name would let the rest name a file of its own choice.
            if name.contains(['=', ',', '{', '}', '\\']) {
                return Err(format!("`{}` is no name for a file parameter", shown()));
            }
            let file = format!("setting-{number}");
            files.push((file.clone(), value.clone()));
            Ok(format!("--set-file={name}={file}"))
        }
    }
}

/// A label of DNS, or several with dots between.
fn is_name(name: &str, most: usize) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let label = |label: &str| {
        label.bytes().all(|b| inner(b) || b == b'-')
            && !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.len() <= most && name.split('.').all(label)
}

/// Passes what has no character that Helm would split a list at.
fn plain<'t>(what: &str, text: &'t str) -> Result<&'t str, String> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"./-+_".contains(&b);
    match !text.is_empty() && text.len() < 200 && text.bytes().all(allowed) {
        true => Ok(text),
        false => Err(format!("`{}` is no {what}", text.escape_debug())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Template {
        Template::of("linkerd-viz", "linkerd-viz")
    }

    fn line(job: &Template) -> Result<String, String> {
        let layout = layout(job, Path::new("/p/charts/0"))?;
        let words: Vec<_> = layout.arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        Ok(words.join(" "))
    }

    fn setting(name: &str, value: &str, kind: SettingKind) -> Setting {
        Setting { name: name.into(), value: value.into(), kind }
    }

    #[test]
    fn it_becomes_a_command_line() {
        let mut full = job();
        full.values = vec![Layer("a: 1".into()), Layer("b: 2".into())];
        full.settings = vec![
            setting("a", "1", SettingKind::Typed),
            setting("b", "2", SettingKind::Text),
            setting("c", "long\ntext", SettingKind::File),
        ];
        full.kube_version = Some("1.33".into());
        full.api_versions = vec!["a/v1".into(), "b/v1/C".into()];
        (full.include_crds, full.hooks) = (true, false);
        assert_eq!(
            line(&full).unwrap(),
            "template --namespace=linkerd-viz --values=values-0.yaml --values=values-1.yaml --set=a=1 \
             --set-string=b=2 --set-file=c=setting-2 --kube-version=1.33 --api-versions=a/v1 --api-versions=b/v1/C \
             --include-crds --no-hooks -- linkerd-viz /p/charts/0"
        );
        let files = layout(&full, Path::new("/p")).unwrap().files;
        assert_eq!(files.last().unwrap(), &("setting-2".to_owned(), "long\ntext".to_owned()));
        assert_eq!(line(&job()).unwrap(), "template --namespace=linkerd-viz -- linkerd-viz /p/charts/0");
    }

    #[test]
    fn no_text_of_a_repository_is_a_flag_a_path_or_an_address() {
        for release in ["--post-renderer=/bin/sh", "", "a/b", "A", "-a", "a b", &"a".repeat(60)] {
            assert!(line(&Template { release: release.into(), ..job() }).is_err(), "{release}");
        }
        for namespace in ["", "--x", "a,b", "../x"] {
            assert!(line(&Template { namespace: namespace.into(), ..job() }).is_err(), "{namespace}");
        }
        for name in ["a=/etc/passwd,b", "a,b=http://127.0.0.1/", "a={/etc/passwd}", "a\\", "a\0"] {
            let settings = vec![setting(name, "x", SettingKind::File)];
            assert!(line(&Template { settings, ..job() }).is_err(), "{name}");
        }
        let values = vec![Layer("https://127.0.0.1/values.yaml".into())];
        assert!(!line(&Template { values, ..job() }).unwrap().contains("127.0.0.1"));
        assert!(line(&Template { kube_version: Some("1.33 --x".into()), ..job() }).is_err());
        assert!(line(&Template { api_versions: vec!["a,b".into()], ..job() }).is_err());
        let settings = vec![setting("a", &"x".repeat(200_000), SettingKind::Typed)];
        assert!(line(&Template { settings, ..job() }).is_err());
    }
}
