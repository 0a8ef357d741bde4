//! Questions over the real router: a person answers, an agent asks and sees its own.

use callboard_wire::{InboxShape, QuestionShape, RulesShape};
use serde_json::json;

use super::{Place, exact};
use crate::access::Scope;

#[test]
fn an_agent_asks_and_only_a_person_answers() {
    let place = Place::new();
    let (agent, stranger) = (place.token(Scope::Agent(place.own)), place.token(Scope::Agent(place.other)));
    let viewer = place.token(Scope::Viewer);
    let body = json!({"text": "Which colour?", "options": ["red", "blue"]});
    assert_eq!(place.say("POST", "/questions", &viewer, &body).0, 403);
    let (status, asked) = place.say("POST", "/questions", &agent, &body);
    assert_eq!(status, 201, "{asked}");
    let question = exact::<QuestionShape>(&asked);
    assert_eq!(question.subject.unwrap().id, place.own.to_string());
    let of = |act: &str| format!("/questions/{}{act}", question.id);
    assert_eq!(place.say("GET", &of(""), &agent, &json!({})).1["state"], "asked");
    assert_eq!(place.say("GET", &of(""), &stranger, &json!({})).0, 403);
    assert_eq!(place.say("POST", &of("/withdraw"), &stranger, &json!({})).0, 409);
    let answer = json!({"option": "blue", "because": "it is calm"});
    for token in [&agent, &stranger, &viewer] {
        assert_eq!(place.say("POST", &of("/answer"), token, &answer).0, 403);
    }
    assert_eq!(place.post(&of("/answer"), &json!({"option": "green"})).0, 409);
    let answered = exact::<QuestionShape>(&place.must(&of("/answer"), &answer));
    assert_eq!((answered.state.as_str(), answered.answer.as_deref()), ("answered", Some("blue")));
    let (status, late) = place.post(&of("/answer"), &json!({"option": "red"}));
    assert_eq!((status, late["refused"]["code"].as_str()), (409, Some("ended")), "{late}");
    assert_eq!(place.say("GET", &of("?wait_s=20"), &agent, &json!({})).1["answer"], "blue");
    assert!(exact::<InboxShape>(&place.get("/api/v1/questions")).items.is_empty());
    assert_eq!(exact::<InboxShape>(&place.get("/api/v1/questions?all=10")).items.len(), 1);
    assert!(exact::<RulesShape>(&place.get("/api/v1/rules")).items.is_empty());
}

#[test]
fn an_agent_does_not_ask_about_others_and_a_bad_question_is_told() {
    let place = Place::new();
    let agent = place.token(Scope::Agent(place.own));
    let other = json!({"text": "x", "subject": place.other.to_string()});
    assert_eq!(place.say("POST", "/questions", &agent, &other).0, 403);
    for bad in [
        json!({"text": ""}),
        json!({"text": "x", "options": ["a", "a"]}),
        json!({"text": "x", "options": ["yes"], "expires_s": 5, "on_expiry": "yes"}),
        json!({"text": "x", "expires_s": 0}),
        json!({"text": "x", "colour": "red"}),
    ] {
        assert_eq!(place.post("/questions", &bad).0, 400, "{bad}");
    }
    assert_eq!(place.post("/questions/qst_nothing/answer", &json!({"option": "x"})).0, 404);
}
