//! What is made of GitLab's JSON.

use super::*;

fn events(json: &str) -> Closer {
    Closer::told(json, closer)
}

fn merge_request(fields: &str) -> PullRequest {
    let json = format!(
        r#"{{"iid":1,"web_url":"h","source_branch":"x","target_branch":"main","target_project_id":7,{fields}}}"#
    );
    serde_json::from_str::<MergeRequest>(&json).expect("a merge request").into()
}

#[test]
fn the_last_close_counts() {
    let one =
        |state: &str, who: &str| format!(r#"{{"state":"{state}","user":{{"id":1,"username":"{who}"}}}}"#);
    let all = |list: &[String]| events(&format!("[{}]", list.join(",")));
    assert_eq!(
        all(&[one("closed", "project_7_bot_1f"), one("reopened", "ada"), one("closed", "ada")]),
        Closer::Person("ada".into())
    );
    for bot in ["project_7_bot_1f", "group_7_bot", "service_account_group_9_ab", "renovate[bot]"] {
        assert_eq!(all(&[one("closed", bot)]), Closer::Bot(bot.into()));
    }
    assert_eq!(all(&[one("closed", "project_lead")]), Closer::Person("project_lead".into()));
    assert_eq!(all(&[one("closed", "ada"), one("reopened", "ada")]), Closer::Unknown);
    assert_eq!(all(&[r#"{"state":"closed","user":null}"#.into()]), Closer::Unknown);
    assert_eq!(all(&[]), Closer::Unknown);
}

#[test]
fn a_draft_is_told_by_its_title_and_its_title_is_ours() {
    for (title, plain, draft) in [
        ("Draft: Linkerd", "Linkerd", true),
        ("draft:Linkerd", "Linkerd", true),
        ("[Draft] Linkerd", "Linkerd", true),
        ("(draft) Linkerd", "Linkerd", true),
        ("Drafts: x", "Drafts: x", false),
    ] {
        let one = merge_request(&format!(r#""state":"opened","title":"{title}""#));
        assert_eq!((one.title.as_str(), one.draft), (plain, draft), "{title}");
    }
}

#[test]
fn one_that_is_being_merged_is_open_and_one_without_changes_has_no_head_yet() {
    let one = merge_request(r#""state":"locked","title":"t","sha":null"#);
    assert_eq!((one.state, one.head.as_str()), (PullState::Open, ""));
    let one = merge_request(r#""state":"merged","title":"t","merged_at":"2026-08-15T09:00:00.123+02:00""#);
    assert_eq!(one.closed_at, "2026-08-15T07:00:00.123Z".parse().ok());
}

#[test]
fn every_state_of_a_job_is_one_of_three() {
    let state = |status: &str, allowed: bool| {
        let json = format!(
            r#"{{"id":1,"name":"deploy","status":"{status}","allow_failure":{allowed},"created_at":"2026-08-15T07:00:00Z"}}"#
        );
        serde_json::from_str::<Status>(&json).expect("a status").check().state
    };
    for open in ["created", "pending", "running", "manual", "scheduled", "waiting_for_resource", "preparing"]
    {
        assert_eq!(state(open, false), CheckState::Pending, "{open}");
    }
    assert_eq!(
        (state("success", false), state("skipped", false)),
        (CheckState::Success, CheckState::Success)
    );
    assert_eq!(
        (state("failed", false), state("canceled", false)),
        (CheckState::Failure, CheckState::Failure)
    );
    assert_eq!(state("failed", true), CheckState::Success, "it is allowed to");
}

#[test]
fn a_protected_branch_may_be_a_pattern() {
    let rule = |name: &str, levels: &str| {
        let json = format!(r#"{{"name":"{name}","push_access_levels":[{levels}]}}"#);
        serde_json::from_str::<Protected>(&json).expect("a rule")
    };
    for (pattern, covers) in [
        ("uplinker/*", true),
        ("*", true),
        ("*/platform", true),
        ("uplinker/*/plat*", true),
        ("uplinker/default/platform", true),
        ("uplinker", false),
        ("*platform-eu", false),
        ("main", false),
        ("uplinker/[d]*", false),
    ] {
        assert_eq!(rule(pattern, "").covers("uplinker/default/platform"), covers, "{pattern}");
    }
    let lets = |levels: &str| rule("*", levels).lets_push(DEVELOPER);
    assert!(lets(r#"{"access_level":30}"#) && lets(r#"{"access_level":null,"user_id":7}"#));
    assert!(!lets(r#"{"access_level":40}"#) && !lets(r#"{"access_level":0}"#) && !lets(""));
}

#[test]
fn commits_carry_the_address_that_the_user_wants_on_them() {
    let user = |fields: &str| {
        let json = format!(r#"{{"id":7,"username":"robot","name":"Mesh <Robot>"{fields}}}"#);
        serde_json::from_str::<User>(&json).expect("a user").signature("gitlab.example")
    };
    let chosen = user(r#","email":"a@example.org","commit_email":"b@example.org""#);
    assert_eq!((chosen.name.as_str(), chosen.email.as_str()), ("Mesh Robot", "b@example.org"));
    assert_eq!(user(r#","email":"a@example.org","commit_email":"""#).email, "a@example.org");
    assert_eq!(user("").email, "7-robot@users.noreply.gitlab.example");
}
