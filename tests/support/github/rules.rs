//! The rules by which GitHub refuses a push: rulesets, protected branches, private addresses, workflow files. They are
//! judged by what is really sent.

use git2::{Oid, Repository};
use serde_json::json;

use super::{
    super::{
        git_server::{Command3, Refusal},
        http::Response,
    },
    api::{Answer, Call},
    json,
    state::{Level, Repo, State, Token, TokenKind},
};

/// A rule over the refs that start with a prefix.
#[derive(Clone, Debug)]
pub struct Rule {
    pub prefix: String,
    pub kind: Kind,
    pub form: Form,
    /// Whether whoever pushes may pass it by.
    pub bypassed: bool,
}

/// How a rule was set up, since GitHub words each differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Ruleset,
    Protection,
}

/// What a rule forbids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    Creation,
    ForcePush,
    MergeCommits,
    Deletion,
    Unsigned,
    WithoutPullRequest,
    /// Any push, with this sentence.
    Any(String),
}

/// A push that has arrived and is not applied.
pub struct Push<'a> {
    pub command: &'a Command3,
    /// The repository with what was sent.
    pub incoming: &'a Repository,
}

// === impl Push ===

impl Push<'_> {
    fn old(&self) -> Option<Oid> {
        Oid::from_str(&self.command.old).ok().filter(|id| !id.is_zero())
    }

    fn pushed(&self) -> Option<Oid> {
        Oid::from_str(&self.command.new).ok().filter(|id| !id.is_zero())
    }

    fn is_forced(&self) -> bool {
        let (Some(old), Some(new)) = (self.old(), self.pushed()) else { return false };
        old != new && !self.incoming.graph_descendant_of(new, old).unwrap_or(false)
    }

    /// The commits that the repository does not have yet.
    fn commits<'r>(&'r self, repo: &Repo) -> Vec<git2::Commit<'r>> {
        let Some(new) = self.pushed() else { return Vec::new() };
        let mut walk = self.incoming.revwalk().expect("a walk");
        walk.push(new).expect("the new tip");
        for tip in repo.bare.refs().into_values() {
            walk.hide(tip).expect("a known tip");
        }
        walk.map(|id| self.incoming.find_commit(id.expect("an id")).expect("a commit")).collect()
    }

    fn workflows(&self, commit: Oid) -> Vec<(String, Oid)> {
        let tree = self.incoming.find_commit(commit).and_then(|c| c.tree()).expect("a tree");
        let Ok(entry) = tree.get_path(".github/workflows".as_ref()) else { return Vec::new() };
        let Ok(folder) = self.incoming.find_tree(entry.id()) else { return Vec::new() };
        let one =
            |e: git2::TreeEntry<'_>| (format!(".github/workflows/{}", e.name().unwrap_or_default()), e.id());
        folder.iter().map(one).collect()
    }
}

// === impl Rule ===

impl Rule {
    fn covers(&self, refname: &str) -> bool {
        refname.starts_with(&self.prefix)
    }

    /// Its type in the API.
    fn name(&self) -> &'static str {
        match self.kind {
            Kind::Creation => "creation",
            Kind::ForcePush => "non_fast_forward",
            Kind::MergeCommits => "required_linear_history",
            Kind::Deletion => "deletion",
            Kind::Unsigned => "required_signatures",
            Kind::WithoutPullRequest => "pull_request",
            Kind::Any(_) => "commit_message_pattern",
        }
    }

    /// The sentence of a violation.
    fn violation(&self, push: &Push<'_>, repo: &Repo) -> Option<String> {
        let ruleset = self.form == Form::Ruleset;
        let say = |of_ruleset: &str, of_protection: &str| {
            Some(if ruleset { of_ruleset.to_owned() } else { of_protection.to_owned() })
        };
        let of_commits = |sentence: &str, bad: Vec<Oid>| {
            let ids: String = bad.iter().map(|id| format!("\n    {id}")).collect();
            let count = bad.len();
            let noun = if count == 1 { "violation" } else { "violations" };
            (count > 0).then(|| match ruleset {
                true => format!("{sentence}\n  Found {count} {noun}:\n{ids}\n"),
                false => sentence.to_owned(),
            })
        };
        let ids = |bad: &dyn Fn(&git2::Commit<'_>) -> bool| -> Vec<Oid> {
            push.commits(repo).iter().filter(|c| bad(c)).map(git2::Commit::id).collect()
        };
        match &self.kind {
            Kind::Creation if push.old().is_none() => say(
                "Cannot create ref due to creations being restricted.",
                "Cannot create this protected branch",
            ),
            Kind::ForcePush if push.is_forced() => {
                say("Cannot force-push to this branch", "Cannot force-push to this protected branch")
            }
            Kind::Deletion if push.pushed().is_none() => {
                say("Cannot delete this branch", "Cannot delete a protected branch")
            }
            Kind::MergeCommits => {
                of_commits("This branch must not contain merge commits.", ids(&|c| c.parent_count() > 1))
            }
            Kind::Unsigned => of_commits(
                "Commits must have verified signatures.",
                ids(&|c| c.header_field_bytes("gpgsig").is_err()),
            ),
            Kind::WithoutPullRequest => say(
                "Changes must be made through a pull request.",
                "Changes must be made through a pull request.",
            ),
            Kind::Any(sentence) => Some(sentence.clone()),
            Kind::Creation | Kind::ForcePush | Kind::Deletion => None,
        }
    }
}

/// The rules of rulesets that apply to a branch, which need not be there. Protected branches are not among them.
pub fn list(call: &Call<'_>, state: &State, branch: &str) -> Answer {
    let docs = "/repos/rules#get-rules-for-a-branch";
    call.allow(state, &[("metadata", Level::Read)], docs)?;
    let repo = call.repo(state)?;
    let refname = format!("refs/heads/{branch}");
    let applies = |(_, rule): &(usize, &Rule)| rule.form == Form::Ruleset && rule.covers(&refname);
    let shown = |(n, rule): (usize, &Rule)| {
        json!({
            "type": rule.name(),
            "ruleset_source_type": "Repository",
            "ruleset_source": call.name,
            "ruleset_id": n + 1,
        })
    };
    let rules = repo.rules.iter().enumerate().filter(applies).map(shown).collect();
    Ok(call.page(repo, rules))
}

/// One ruleset; each of the fake's has one rule.
pub fn ruleset(call: &Call<'_>, state: &State, id: &str) -> Answer {
    let docs = "/repos/rules#get-a-repository-ruleset";
    call.allow(state, &[("metadata", Level::Read)], docs)?;
    let missing = || json::refusal(404, "Not Found", docs);
    let id: usize = id.parse().map_err(|_| missing())?;
    let repo = call.repo(state)?;
    let rule = id.checked_sub(1).and_then(|n| repo.rules.get(n)).ok_or_else(missing)?;
    let value = json!({
        "id": id,
        "name": format!("ruleset {id}"),
        "target": "branch",
        "source_type": "Repository",
        "source": call.name,
        "enforcement": "active",
        "conditions": {"ref_name": {"include": [format!("{}**", rule.prefix)], "exclude": []}},
        "rules": [{"type": rule.name()}],
        "current_user_can_bypass": if rule.bypassed { "always" } else { "never" },
    });
    Ok(Response::json(200, &value))
}

/// Judges a push.
pub fn judge(name: &str, repo: &Repo, token: Option<&Token>, push: &Push<'_>) -> Option<Refusal> {
    by_rules(name, repo, push)
        .or_else(|| by_private_address(repo, token?, push))
        .or_else(|| by_workflows(repo, token?, push))
}

fn by_rules(name: &str, repo: &Repo, push: &Push<'_>) -> Option<Refusal> {
    let refname = &push.command.refname;
    let over = repo.rules.iter().filter(|rule| rule.covers(refname) && !rule.bypassed);
    let broken: Vec<(Form, String)> =
        over.filter_map(|rule| Some((rule.form, rule.violation(push, repo)?))).collect();
    let sentences = |form: Form| broken.iter().filter(move |(f, _)| *f == form).map(|(_, words)| words);
    if sentences(Form::Ruleset).next().is_some() {
        let page = refname.replace('/', "%2F");
        let mut words = vec![
            format!("error: GH013: Repository rule violations found for {refname}."),
            format!("Review all repository rules at https://github.com/{name}/rules?ref={page}"),
            String::new(),
        ];
        for sentence in sentences(Form::Ruleset) {
            words.extend([format!("- {sentence}"), String::new()]);
        }
        return Some(Refusal { words, reason: "push declined due to repository rule violations".to_owned() });
    }
    sentences(Form::Protection).next()?;
    let mut words = vec![format!("error: GH006: Protected branch update failed for {refname}.")];
    words.extend(sentences(Form::Protection).map(|sentence| format!("error: {sentence}")));
    Some(Refusal { words, reason: "protected branch hook declined".to_owned() })
}

fn by_private_address(repo: &Repo, token: &Token, push: &Push<'_>) -> Option<Refusal> {
    let private = token.private_address.as_deref()?;
    let publishes = |c: &git2::Commit<'_>| c.author().email().ok() == Some(private);
    push.commits(repo).iter().find(|c| publishes(c))?;
    let words = [
        "error: GH007: Your push would publish a private email address.",
        "You can make your email public or disable this protection by visiting:",
        "https://github.com/settings/emails",
    ];
    let reason = "push declined due to email privacy restrictions".to_owned();
    Some(Refusal { words: words.map(str::to_owned).to_vec(), reason })
}

/// A workflow file may be new to a branch where another branch has it with the same content.
fn by_workflows(repo: &Repo, token: &Token, push: &Push<'_>) -> Option<Refusal> {
    if token.may("workflows", Level::Write) {
        return None;
    }
    let known: Vec<(String, Oid)> =
        repo.bare.branches().into_values().flat_map(|tip| push.workflows(tip)).collect();
    let (path, _) = push.workflows(push.pushed()?).into_iter().find(|file| !known.contains(file))?;
    let (who, right) = match token.kind {
        TokenKind::Actions | TokenKind::App => ("GitHub App", "`workflows` permission"),
        TokenKind::FineGrained | TokenKind::Classic => ("Personal Access Token", "`workflow` scope"),
    };
    let reason = format!("refusing to allow a {who} to create or update workflow `{path}` without {right}");
    Some(Refusal { words: Vec::new(), reason })
}
