//! The credentials for the registries that the operator names.
//!
//! In: the sources, and the environment. Out: what registries are told. A file is read only where a registry is named.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    cli::Error,
    oci::{Key, Keyring, Registries},
    release::{Mirror, SourceSetting},
    sys::{
        env::{self, Environment},
        files,
    },
};

/// A file of many registries is some kilobytes.
const MAX_BYTES: u64 = 1 << 20;

/// Gathers the credentials: a name and a password for the one registry, then what Helm and Docker keep.
pub(super) fn registries(
    charts: &SourceSetting,
    mirrors: &[Mirror],
    environment: &Environment,
) -> Result<Arc<Registries>, Error> {
    let of_charts = match charts {
        SourceSetting::Oci(address) => Some(address.host()),
        SourceSetting::Url(_) | SourceSetting::File(_) | SourceSetting::Off => None,
    };
    let of_mirrors = mirrors.iter().filter_map(|mirror| match mirror {
        Mirror::Registry(address) => Some(address.host()),
        Mirror::Index(_) => None,
    });
    let hosts: BTreeSet<&str> = of_mirrors.chain(of_charts).collect();
    if hosts.is_empty() {
        return Ok(Arc::default());
    }
    let realms = environment.get(env::REGISTRY_REALM).unwrap_or_default();
    let realms =
        realms.split(',').map(|host| host.trim().to_ascii_lowercase()).filter(|host| !host.is_empty());
    let mut keys = Keyring::default();
    keys.realms = realms.collect();
    if let Some((host, key)) = given(&hosts, environment)? {
        keys.add(host, key);
    }
    for (path, named) in config_files(environment) {
        let wrong = |reason: String| {
            Error::usage(format!("{}: {reason}", path.display()))
                .hint("HELM_REGISTRY_CONFIG names the file that `helm registry login` writes")
        };
        match files::read_text(&path, MAX_BYTES) {
            Ok(text) => keys.add_file(&text).map_err(|bad| wrong(bad.to_string()))?,
            Err(error) if named => return Err(wrong(error.to_string())),
            Err(_) => {}
        }
    }
    Ok(Arc::new(Registries::new(keys)))
}

/// Reads the name and the password out of the environment; they are for one registry, and never for another one beside it.
fn given<'h>(hosts: &BTreeSet<&'h str>, environment: &Environment) -> Result<Option<(&'h str, Key)>, Error> {
    let (user, password) = (environment.get(env::REGISTRY_USERNAME), environment.get(env::REGISTRY_PASSWORD));
    let (user, password) = match (user, password) {
        (Some(user), Some(password)) => (user.to_owned(), password.trim_end_matches(['\r', '\n']).to_owned()),
        (None, None) => return Ok(None),
        _ => {
            let (one, other) = (env::REGISTRY_USERNAME, env::REGISTRY_PASSWORD);
            return Err(Error::usage(format!("{one} and {other} go together, and one of them is missing")));
        }
    };
    let mut hosts = hosts.iter();
    match (hosts.next(), hosts.next()) {
        (Some(host), None) => Ok(Some((*host, Key { user, password: password.into() }))),
        _ => Err(Error::usage(format!(
            "{} is for one registry, and several are named",
            env::REGISTRY_PASSWORD
        ))
        .hint("give their credentials in a file, and name it with HELM_REGISTRY_CONFIG")),
    }
}

/// Lists the files that Helm reads, each with whether it has to be there.
fn config_files(environment: &Environment) -> Vec<(PathBuf, bool)> {
    if let Some(named) = environment.path(env::HELM_REGISTRY_CONFIG) {
        return vec![(named, true)];
    }
    let home = environment.path("HOME").filter(|home| home.is_absolute());
    let below = |path: &str| home.as_deref().map(|home: &Path| home.join(path));
    let docker = environment.path(env::DOCKER_CONFIG).or_else(|| below(".docker"));
    let docker = docker.map(|folder| folder.join("config.json"));
    below(".config/helm/registry/config.json").into_iter().chain(docker).map(|path| (path, false)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(mirrors: &[&str], variables: &[(&str, &str)]) -> Result<Arc<Registries>, Error> {
        let mirrors: Vec<Mirror> = mirrors.iter().map(|text| text.parse().unwrap()).collect();
        let environment = Environment::of(variables.iter().copied());
        registries(&"oci://a.example/x".parse().unwrap(), &mirrors, &environment)
    }

    #[test]
    fn a_password_is_for_one_registry() {
        let both = [(env::REGISTRY_USERNAME, "me"), (env::REGISTRY_PASSWORD, "hunter2")];
        assert!(with(&["oci://a.example/y", "https://b.example"], &both).is_ok());
        for error in [with(&["oci://b.example/x"], &both), with(&[], &both[..1]), with(&[], &both[1..])] {
            let error = error.unwrap_err();
            assert!(error.exit().code() == 2 && !error.message.contains("hunter2"), "{}", error.message);
        }
    }

    #[test]
    fn a_file_that_is_named_has_to_be_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.json");
        let named = |path: &Path| with(&[], &[(env::HELM_REGISTRY_CONFIG, path.to_str().unwrap())]);
        assert_eq!(named(&file).unwrap_err().exit().code(), 2);
        std::fs::write(&file, "{\"auths\": {\"a.example\": \"hunter2\"}}").unwrap();
        let error = named(&file).unwrap_err();
        assert!(
            error.message.contains("config.json") && !error.message.contains("hunter2"),
            "{}",
            error.message
        );
        std::fs::write(&file, "{\"auths\": {}}").unwrap();
        assert!(named(&file).is_ok());
        assert!(
            with(&[], &[("HOME", folder.path().to_str().unwrap())]).is_ok(),
            "Docker's own need not be there"
        );
    }
}
