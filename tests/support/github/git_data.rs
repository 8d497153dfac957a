//! The Git data API: blobs, trees over a tree, and commits, which GitHub signs for an App or a workflow that names nobody
//! as their author. No ref moves here.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use git2::{FileMode, ObjectType, Oid, Repository, build::TreeUpdateBuilder};
use serde_json::{Value, json};

use super::{
    super::{http::Response, repo::FORGE},
    api::{Answer, Call},
    json as shape,
    state::{Level, State, Token, TokenKind},
};

const BLOB_DOCS: &str = "/git/blobs#create-a-blob";
const TREE_DOCS: &str = "/git/trees#create-a-tree";
const COMMIT_DOCS: &str = "/git/commits#create-a-commit";

/// What the key of the host makes of a commit here. Nobody checks it: a push is judged by whether it is there.
const SIGNATURE: &str =
    "-----BEGIN PGP SIGNATURE-----\n\nwsFcBAABCAAQBQJsignedByTheHost\n=abcd\n-----END PGP SIGNATURE-----\n";

/// Opens the repository for a caller who may write to it.
fn opened(call: &Call<'_>, state: &State, docs: &str) -> Result<(Repository, Token), Response> {
    let token = call.allow(state, &[("contents", Level::Write)], docs)?;
    let repo = call.repo(state)?.bare.open();
    match repo.is_empty() {
        Ok(false) => Ok((repo, token)),
        _ => Err(shape::refusal(409, "Git Repository is empty.", docs)),
    }
}

/// `POST /repos/{owner}/{repo}/git/blobs`.
pub fn blob(call: &Call<'_>, state: &State) -> Answer {
    let (repo, _) = opened(call, state, BLOB_DOCS)?;
    let body = call.body()?;
    let refuse = |words: &str| shape::refusal(422, words, BLOB_DOCS);
    let content =
        body["content"].as_str().ok_or_else(|| refuse("Invalid request. \"content\" wasn't supplied."))?;
    let bytes = match body["encoding"].as_str().unwrap_or("utf-8") {
        "utf-8" => content.as_bytes().to_vec(),
        "base64" => STANDARD.decode(content).map_err(|_| refuse("content is not valid Base64"))?,
        _ => return Err(refuse("encoding must be utf-8 or base64")),
    };
    let sha = repo.blob(&bytes).expect("a blob").to_string();
    Ok(Response::json(201, &json!({"sha": sha, "url": "http://127.0.0.1/git/blobs"})))
}

/// `POST /repos/{owner}/{repo}/git/trees`.
pub fn tree(call: &Call<'_>, state: &State) -> Answer {
    let (repo, _) = opened(call, state, TREE_DOCS)?;
    let body = call.body()?;
    let refuse = |words: &str| shape::refusal(422, words, TREE_DOCS);
    let id = |value: &Value| value.as_str().and_then(|text| Oid::from_str(text).ok());
    let base = id(&body["base_tree"]).and_then(|id| repo.find_tree(id).ok());
    let base = base.ok_or_else(|| shape::refusal(404, "Not Found", TREE_DOCS))?;
    let entries = body["tree"].as_array().filter(|entries| !entries.is_empty());
    let entries = entries.ok_or_else(|| refuse("Invalid tree info"))?;
    let mut update = TreeUpdateBuilder::new();
    for entry in entries {
        let path = entry["path"].as_str().unwrap_or_default();
        if path.split('/').any(|part| matches!(part, "" | "." | ".." | ".git")) {
            return Err(refuse("tree.path contains a malformed path component"));
        }
        let mode = match entry["mode"].as_str() {
            Some("100644") => FileMode::Blob,
            Some("100755") => FileMode::BlobExecutable,
            Some("120000") => FileMode::Link,
            _ => return Err(refuse("tree.mode Must supply a valid tree.mode")),
        };
        match (entry.get("sha"), entry["content"].as_str()) {
            (Some(Value::Null), None) if base.get_path(path.as_ref()).is_err() => {
                return Err(refuse("GitRPC::BadObjectState"));
            }
            (Some(Value::Null), None) => drop(update.remove(path)),
            (Some(sha), None) => {
                let blob = id(sha).filter(|id| repo.find_blob(*id).is_ok());
                update.upsert(path, blob.ok_or_else(|| refuse("tree.sha is not a valid blob"))?, mode);
            }
            (None, Some(content)) => {
                update.upsert(path, repo.blob(content.as_bytes()).expect("a blob"), mode);
            }
            _ => {
                return Err(refuse(
                    "Must supply either tree.sha or tree.content. Request will be rejected if both are present.",
                ));
            }
        }
    }
    let made = update.create_updated(&repo, &base).map_err(|_| refuse("GitRPC::BadObjectState"))?;
    Ok(Response::json(201, &json!({"sha": made.to_string(), "tree": [], "truncated": false})))
}

/// `POST /repos/{owner}/{repo}/git/commits`.
pub fn commit(call: &Call<'_>, state: &mut State) -> Answer {
    let (repo, token) = opened(call, state, COMMIT_DOCS)?;
    let body = call.body()?;
    let refuse = |words: &str| shape::refusal(422, words, COMMIT_DOCS);
    let message = body["message"].as_str().filter(|text| !text.is_empty());
    let message = message.ok_or_else(|| refuse("Invalid request.\n\n\"message\" wasn't supplied."))?;
    let id = |value: &Value| value.as_str().and_then(|text| Oid::from_str(text).ok());
    let tree = id(&body["tree"]).filter(|id| repo.find_tree(*id).is_ok());
    let tree = tree.ok_or_else(|| refuse("Tree SHA does not exist"))?;
    let mut headers = format!("tree {tree}\n");
    for parent in body["parents"].as_array().into_iter().flatten() {
        let parent = id(parent).filter(|id| repo.find_commit(*id).is_ok());
        let missing = || refuse("Parent SHA does not exist or is not a commit object");
        headers.push_str(&format!("parent {}\n", parent.ok_or_else(missing)?));
    }
    let named = body.get("author").is_some() || body.get("committer").is_some();
    let signs = matches!(token.kind, TokenKind::Actions | TokenKind::App) && !named;
    let date = state.tick();
    let (login, number) = (&token.login, shape::user(&call.urls, &token.login)["id"].clone());
    let host = call.request.header("host").unwrap_or_default().split(':').next().unwrap_or_default();
    let own = format!("{login} <{number}+{login}@users.noreply.{host}>");
    let committer = if signs { format!("{} <{}>", FORGE.name, FORGE.email) } else { own.clone() };
    headers.push_str(&format!("author {own} {date} +0000\ncommitter {committer} {date} +0000"));
    let payload = format!("{headers}\n\n{message}");
    let object = match signs {
        true => format!("{headers}\ngpgsig {}\n\n{message}", SIGNATURE.replace('\n', "\n ")),
        false => payload.clone(),
    };
    let sha = repo.odb().and_then(|odb| odb.write(ObjectType::Commit, object.as_bytes())).expect("a commit");
    let verification = match signs {
        true => json!({"verified": true, "reason": "valid", "signature": SIGNATURE, "payload": payload}),
        false => json!({"verified": false, "reason": "unsigned", "signature": null, "payload": null}),
    };
    let made = json!({"sha": sha.to_string(), "message": message, "tree": {"sha": tree.to_string()}, "verification": verification});
    Ok(Response::json(201, &made))
}
