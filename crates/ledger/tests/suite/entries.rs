//! Entries: a conversation is part of its agent's log, and of nothing else that is stored of the agent.

use callboard_kernel::{
    Actor, AuditEntry, Create, EntityId, Entry, EntryType, Facts, Order, RefusalCode, ReplayEntry, fact,
};
use callboard_ledger::{Group, Ledger, Range, Record, Request};
use callboard_lifecycle::agent::ExecutionState;
use callboard_lifecycle::{ActorClass, Kind};

use crate::requests::{go, request};
use crate::shelf::Shelf;
use crate::{EVERYTHING, records, refusal};

fn agent() -> EntityId {
    EntityId::new(Kind::Agent, uuid::Uuid::from_u128(7))
}

fn turn(number: u128) -> EntityId {
    EntityId::new(Kind::Turn, uuid::Uuid::from_u128(number))
}

fn said(kind: impl Into<EntryType>, turn: EntityId, text: &str) -> Request {
    let entry = Entry::new(kind, turn, Facts::none().with("text", text).with("title", "not the agent's"));
    request(agent(), 9, Order::Entry(entry))
}

/// An agent that is at work on its first turn.
fn begun(ledger: &Ledger) {
    let title = Facts::none().and(fact::TITLE, "an agent");
    let create = Create { at: ExecutionState::Pending.into(), reasons: vec![], data: title };
    let Order::Transition(busy) = go(ExecutionState::Busy, "agent.busy.prompt") else { unreachable!() };
    let busy = busy.with(Facts::none().and(fact::TURN, turn(1).to_string()));
    let orders = [
        Order::Create(create),
        go(ExecutionState::Starting, "agent.starting.spawned"),
        go(ExecutionState::Idle, "agent.idle.connected"),
        Order::Transition(busy),
    ];
    for order in orders {
        ledger.append(request(agent(), 1, order)).unwrap();
    }
}

fn talked(ledger: &Ledger) {
    begun(ledger);
    let mut asked = said(ReplayEntry::UserMessage, turn(1), "fix the bug");
    asked.actor = Actor::new(ActorClass::Operator, "ann");
    ledger.append(asked).unwrap();
    let call = said(ReplayEntry::ToolCall, turn(1), "ls");
    let result = said(ReplayEntry::ToolResult, turn(1), "main.rs");
    ledger.append_group(Group::new(call).and(result)).unwrap();
    ledger.append(said(AuditEntry::ProviderUsage, turn(1), "12 tokens")).unwrap();
}

pub(crate) fn a_conversation_is_recorded_and_is_no_fact_of_its_agent(shelf: &Shelf) {
    let ledger = shelf.open("board");
    begun(&ledger);
    let before = ledger.entity(agent()).unwrap().unwrap();
    let none = ledger.append(said(ReplayEntry::UserMessage, turn(2), "of another turn"));
    assert_eq!(refusal(none), RefusalCode::WrongTurn);
    assert_eq!(ledger.head().unwrap(), 4, "a refused entry writes nothing");
    drop(ledger);

    let ledger = shelf.open("talk");
    talked(&ledger);
    let stored = ledger.entity(agent()).unwrap().unwrap();
    assert_eq!(stored.entity.facts, before.entity.facts);
    assert_eq!((stored.entity.state.version, stored.state_seq, stored.last_seq), (8, 4, 8));
    let log = records(&ledger);
    let seen: Vec<(&str, &str)> =
        log[4..].iter().map(|record| (record.channel.as_str(), record.via.as_str())).collect();
    assert_eq!(seen, [("replay", "entry"), ("replay", "entry"), ("replay", "entry"), ("audit", "entry")]);
    let entry = log[4].event().unwrap().entry().unwrap();
    assert_eq!((entry.kind(), entry.turn()), (ReplayEntry::UserMessage.into(), turn(1)));

    assert!(ledger.verify().unwrap().ok, "{:?}", ledger.verify());
    ledger.rebuild().unwrap();
    assert_eq!(ledger.entity(agent()).unwrap().unwrap(), stored);
    assert_eq!(ledger.entities(EVERYTHING).unwrap().len(), 1);
}

pub(crate) fn a_conversation_is_copied_and_its_channel_cannot_be_forged(shelf: &Shelf) {
    let ledger = shelf.open("board");
    talked(&ledger);
    let mut lines = String::new();
    let keep = &mut |line: &str| {
        lines.push_str(line);
        lines.push('\n');
        Ok(())
    };
    ledger.export(Range::ALL, keep).unwrap();
    let other = shelf.other();
    let copy = other.open("copy");
    copy.import(&mut lines.as_bytes()).unwrap();
    assert_eq!(records(&copy), records(&ledger));
    assert_eq!(copy.entity(agent()).unwrap(), ledger.entity(agent()).unwrap());
    assert!(copy.verify().unwrap().ok);

    // What the provider counted must not reach a model, whoever writes the file.
    let mut forged = records(&ledger);
    let before = forged[6].hash;
    forged[7].channel = "replay".to_owned();
    forged[7].hash = forged[7].hash_after(before, &mut Vec::new());
    let file: String = forged.iter().map(|record: &Record| record.line().unwrap() + "\n").collect();
    let refused = shelf.open("forged").import(&mut file.as_bytes()).unwrap_err();
    assert_eq!(refused.to_string(), "line 8 cannot be taken: its channel is replay, and should be audit");
}
