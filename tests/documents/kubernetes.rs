//! The manifests in `deploy/kubernetes` fit the image and the program.

use std::{collections::BTreeSet, path::Path};

use serde_yaml::Value;
use uplinker::sys::env;

use super::{help, read, yaml};

const FOLDER: &str = "deploy/kubernetes";
const BASES: [&str; 4] = ["common", "cronjob", "deployment", "indexed-cronjob"];

/// The objects of a base, with the file of each.
fn objects(base: &str) -> Vec<(String, Value)> {
    let kustomization = yaml(&format!("{FOLDER}/{base}/kustomization.yaml"));
    let resources = kustomization["resources"].as_sequence().unwrap();
    let files = resources.iter().map(|r| r.as_str().unwrap()).filter(|name| !name.starts_with(".."));
    files.map(|name| format!("{FOLDER}/{base}/{name}")).map(|path| (path.clone(), yaml(&path))).collect()
}

/// The pod of each object that has one.
fn pods() -> Vec<(String, Value)> {
    let pod = |(path, object): (String, Value)| {
        let spec = &object["spec"];
        let template = match object["kind"].as_str().unwrap() {
            "CronJob" => &spec["jobTemplate"]["spec"]["template"],
            "Deployment" => &spec["template"],
            _ => return None,
        };
        Some((path, template["spec"].clone()))
    };
    BASES.iter().flat_map(|base| objects(base)).filter_map(pod).collect()
}

/// What the Dockerfile says behind a word, and the variables that it sets.
fn image(word: &str) -> String {
    let text = read("Dockerfile").replace("\\\n", " ");
    let line = text.lines().rfind(|line| line.starts_with(word)).unwrap().to_owned();
    line[word.len()..].split_whitespace().collect::<Vec<_>>().join(" ")
}

fn texts<'v>(list: &'v Value, key: &str) -> BTreeSet<&'v str> {
    list.as_sequence().unwrap().iter().map(|entry| entry[key].as_str().unwrap()).collect()
}

#[test]
fn every_manifest_is_in_its_base() {
    for base in BASES {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER).join(base);
        let there: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".yaml") && name != "kustomization.yaml")
            .collect();
        let named: BTreeSet<String> =
            objects(base).into_iter().map(|(path, _)| path.rsplit('/').next().unwrap().to_owned()).collect();
        assert_eq!(there, named, "{base}");
    }
    assert_eq!(pods().len(), 3);
}

#[test]
fn pods_fit_the_image() {
    let user = image("USER ");
    let variables: BTreeSet<&str> = env::VARIABLES.iter().map(|variable| variable.name).collect();
    let set = image("ENV ");
    let of_image = |name: &str| {
        let value = set.split(' ').find_map(|pair| pair.strip_prefix(&format!("{name}="))).unwrap();
        value.to_owned()
    };
    for (path, pod) in pods() {
        let container = &pod["containers"][0];
        let version = format!("ghcr.io/uplinker/uplinker:v{}", env!("CARGO_PKG_VERSION"));
        assert_eq!(container["image"].as_str(), Some(version.as_str()), "{path}");
        let command = container["args"][0].as_str().unwrap();
        assert!(help(Some(command)).is_some(), "{path}: no command {command}");
        let security = &pod["securityContext"];
        let ids = ["runAsUser", "runAsGroup"].map(|key| security[key].as_u64().unwrap().to_string());
        assert_eq!(ids.join(":"), user, "{path}");
        assert!(texts(&container["env"], "name").is_subset(&variables), "{path}");
        let mounts = texts(&container["volumeMounts"], "mountPath");
        let given = |name: &str| {
            let pairs = container["env"].as_sequence().unwrap();
            let pair = pairs.iter().find(|pair| pair["name"] == name)?;
            Some(pair["value"].as_str().unwrap().to_owned())
        };
        // A volume belongs to everybody in the pod, and what others may write to is no cache.
        assert_eq!(given("UPLINKER_CACHE_DIR"), Some(format!("{}/uplinker", of_image("UPLINKER_CACHE_DIR"))));
        assert!(
            mounts.contains(of_image("UPLINKER_CACHE_DIR").as_str()) && mounts.contains("/tmp"),
            "{path}"
        );
        let token = given("UPLINKER_TOKEN_FILE").unwrap();
        assert!(mounts.contains(token.rsplit_once('/').unwrap().0), "{path}: {token}");
        if command == "serve" {
            let list = of_image("UPLINKER_REPOS_FILE");
            let (folder, key) = list.rsplit_once('/').unwrap();
            assert!(mounts.contains(folder), "{path}: {list}");
            let kustomization = yaml(&format!("{}/kustomization.yaml", path.rsplit_once('/').unwrap().0));
            assert_eq!(kustomization["configMapGenerator"][0]["files"][0], key);
        }
        assert_eq!(mounts, {
            let named = texts(&pod["volumes"], "name");
            let pairs = container["volumeMounts"].as_sequence().unwrap();
            let mounted = pairs.iter().filter(|m| named.contains(m["name"].as_str().unwrap()));
            mounted.map(|m| m["mountPath"].as_str().unwrap()).collect()
        });
    }
}

#[test]
fn the_parts_of_a_list_are_all_there() {
    let job = &objects("indexed-cronjob")[0].1["spec"]["jobTemplate"]["spec"];
    let parts = job["completions"].as_u64().unwrap();
    assert_eq!(job["parallelism"].as_u64(), Some(parts));
    let arguments = texts_of(&job["template"]["spec"]["containers"][0]["args"]);
    // Kubernetes puts the index of the pod in place of the name.
    let shard = format!("$(JOB_COMPLETION_INDEX)/{parts}");
    assert_eq!(arguments, ["serve", "--once", "--shard", &shard]);
    for index in 0..parts {
        let shard = shard.replace("$(JOB_COMPLETION_INDEX)", &index.to_string());
        assert!(shard.parse::<uplinker::serve::Shard>().is_ok(), "{shard}");
    }
}

#[test]
fn pods_may_do_nothing_that_they_need_not() {
    for (path, pod) in pods() {
        assert_eq!(pod["automountServiceAccountToken"], false, "{path}");
        assert_eq!(pod["enableServiceLinks"], false, "{path}");
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true, "{path}");
        assert_eq!(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault", "{path}");
        let containers = pod["containers"].as_sequence().unwrap();
        assert_eq!(containers.len(), 1, "{path}");
        for container in containers {
            let security = &container["securityContext"];
            assert_eq!(security["allowPrivilegeEscalation"], false, "{path}");
            assert_eq!(security["readOnlyRootFilesystem"], true, "{path}");
            assert_eq!(security["capabilities"]["drop"][0], "ALL", "{path}");
            let resources = &container["resources"];
            for place in [
                &resources["requests"]["cpu"],
                &resources["requests"]["memory"],
                &resources["limits"]["cpu"],
                &resources["limits"]["memory"],
            ] {
                assert!(place.is_string(), "{path}");
            }
        }
    }
    let account = yaml(&format!("{FOLDER}/common/serviceaccount.yaml"));
    assert_eq!(account["automountServiceAccountToken"], false);
    let policy = yaml(&format!("{FOLDER}/common/networkpolicy.yaml"));
    assert_eq!(texts_of(&policy["spec"]["policyTypes"]), ["Ingress", "Egress"]);
    assert!(policy["spec"].get("ingress").is_none(), "nobody calls it");
}

fn texts_of(list: &Value) -> Vec<&str> {
    list.as_sequence().unwrap().iter().map(|entry| entry.as_str().unwrap()).collect()
}
