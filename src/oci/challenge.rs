//! What a registry says when it wants to know who asks (`WWW-Authenticate`), and who may be told a password.
//!
//! In: header texts and addresses. Out: a [`Challenge`], and [`may_know`]. Pure.

use url::Url;

use super::address::authority_of;

/// How a registry wants to be told who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Challenge {
    /// By a token that a host gives.
    Bearer {
        /// Where.
        realm: String,
        /// What for.
        service: Option<String>,
        /// What it is to allow.
        scope: Option<String>,
    },
    /// By name and password.
    Basic,
}

// === impl Challenge ===

impl Challenge {
    /// Reads the headers of an answer; a token is preferred to a password.
    pub fn read(headers: &[String]) -> Option<Self> {
        let all = headers.iter().flat_map(|header| parse(header)).collect::<Vec<_>>();
        let bearer = all.iter().find(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let bearer = bearer.and_then(|(_, parameters)| {
            let of = |name: &str| parameters.iter().find(|(n, _)| n == name).map(|(_, value)| value.clone());
            Some(Self::Bearer { realm: of("realm")?, service: of("service"), scope: of("scope") })
        });
        let basic = all.iter().any(|(scheme, _)| scheme.eq_ignore_ascii_case("basic"));
        bearer.or(basic.then_some(Self::Basic))
    }
}

/// A challenge as written: its scheme, and its parameters by lower-case name.
type Written = (String, Vec<(String, String)>);

/// Splits a header into its challenges; what cannot be read ends it.
fn parse(header: &str) -> Vec<Written> {
    let mut all: Vec<Written> = Vec::new();
    let gap = [' ', '\t', ','];
    let mut rest = header.trim_start_matches(gap);
    while !rest.is_empty() {
        let end = rest.find([' ', '=', ',']).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let value = after.trim_start().strip_prefix('=').filter(|_| !word.is_empty());
        rest = match (value, all.last_mut()) {
            (Some(value), Some((_, parameters))) => {
                let Some((text, after)) = parameter(value.trim_start()) else { break };
                parameters.push((word.to_ascii_lowercase(), text));
                after
            }
            (Some(_), None) => break,
            (None, _) if word.is_empty() => break,
            (None, _) => {
                all.push((word.to_owned(), Vec::new()));
                after
            }
        };
        rest = rest.trim_start_matches(gap);
    }
    all
}

/// Reads the value of a parameter; returns what follows it too.
fn parameter(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([' ', ',']).unwrap_or(text.len());
        return Some((text.get(..end)?.to_owned(), text.get(end..)?));
    };
    let (mut value, mut escaped) = (String::new(), false);
    for (at, c) in quoted.char_indices() {
        match c {
            _ if escaped => {
                value.push(c);
                escaped = false;
            }
            '\\' => escaped = true,
            '"' => return Some((value, quoted.get(at + 1..)?)),
            _ => value.push(c),
        }
    }
    None
}

/// Tells whether a realm may be told the password of a registry: where it is the registry itself, or the registry's name
/// lies below its own, whose owner gives that name away, or where the operator has named it. Docker Hub has its tokens from
/// a host of its own beside it.
pub(super) fn may_know(realm: &Url, registry: &Url, named: &[String]) -> bool {
    let host = realm.host_str().unwrap_or_default();
    let same = realm.origin() == registry.origin();
    let usual = realm.scheme() == "https" && realm.port().is_none();
    let above = host.contains('.')
        && matches!(registry.host(), Some(url::Host::Domain(name)) if name.ends_with(&format!(".{host}")));
    let hub = (host, registry.host_str()) == ("auth.docker.io", Some("registry-1.docker.io"));
    same || usual && (above || hub) || realm.scheme() == "https" && named.contains(&authority_of(realm))
}

/// Returns the scope that is asked for: what the registry says, unless that is more than reading.
pub(super) fn scope(said: Option<&str>, repository: &str) -> String {
    let more = |said: &&str| said.contains("push") || said.contains("delete") || said.contains('*');
    said.filter(|said| !more(said)).map_or_else(|| format!("repository:{repository}:pull"), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(headers: &[&str]) -> Option<Challenge> {
        Challenge::read(&headers.iter().map(|header| (*header).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn challenges_are_read_as_servers_write_them() {
        let bearer = |service: Option<&str>, scope: Option<&str>| Challenge::Bearer {
            realm: "https://a.example/token".to_owned(),
            service: service.map(str::to_owned),
            scope: scope.map(str::to_owned),
        };
        let usual =
            r#"Bearer realm="https://a.example/token",service="reg \"1\"",scope="repository:a/b:pull""#;
        assert_eq!(read(&[usual]), Some(bearer(Some("reg \"1\""), Some("repository:a/b:pull"))));
        assert_eq!(
            read(&["bearer  Realm = \"https://a.example/token\" , error=x"]),
            Some(bearer(None, None))
        );
        assert_eq!(
            read(&["Basic realm=\"x\", Bearer realm=\"https://a.example/token\""]),
            Some(bearer(None, None))
        );
        assert_eq!(read(&["Negotiate", "BASIC realm=\"a, Bearer b\""]), Some(Challenge::Basic));
        for none in [
            "",
            "Bearer",
            "Bearer realm=\"https://a",
            "=",
            ",",
            "Bearer ===",
            "realm=\"x\"",
            "Bearer \"x\"=y",
        ] {
            assert_eq!(read(&[none]), None, "{none}");
        }
    }

    #[test]
    fn a_password_goes_to_the_registry_to_who_is_above_it_and_to_who_is_named() {
        let may = |realm: &str, registry: &str, named: &[&str]| {
            let named: Vec<String> = named.iter().map(|host| (*host).to_owned()).collect();
            may_know(&Url::parse(realm).unwrap(), &Url::parse(registry).unwrap(), &named)
        };
        let registry = "https://registry.example.com/v2/";
        assert!(may("https://registry.example.com/token", registry, &[]));
        assert!(may("https://example.com/jwt/auth", registry, &[]));
        assert!(may("https://auth.docker.io/token", "https://registry-1.docker.io/v2/", &[]));
        assert!(may("http://127.0.0.1:5000/token", "http://127.0.0.1:5000/v2/", &[]));
        assert!(may("https://auth.example.org:8443/", registry, &["auth.example.org:8443"]));
        for (realm, registry) in [
            ("http://registry.example.com/token", registry),
            ("https://registry.example.com:8443/token", registry),
            ("https://auth.example.com/token", registry),
            ("https://evil.example/token", registry),
            ("https://ample.com/token", registry),
            ("https://com/token", registry),
            ("http://example.com/token", registry),
            ("https://auth.docker.io/token", registry),
            ("http://127.0.0.1:5001/token", "http://127.0.0.1:5000/v2/"),
            ("https://0.0.1/", "https://127.0.0.1/v2/"),
        ] {
            assert!(!may(realm, registry, &["auth.example.org:8443"]), "{realm}");
        }
        assert!(!may("http://auth.example.org/", registry, &["auth.example.org"]), "in plain text");
    }

    #[test]
    fn no_token_for_more_than_reading_is_asked_for() {
        assert_eq!(scope(Some("aws"), "a/b"), "aws");
        assert_eq!(scope(None, "a/b"), "repository:a/b:pull");
        for more in ["repository:x:pull,push", "registry:catalog:*", "repository:x:delete"] {
            assert_eq!(scope(Some(more), "a/b"), "repository:a/b:pull");
        }
    }
}
