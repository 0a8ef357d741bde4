//! Results that a person approved over HTTP while no crew was at work: the next crew merges them before it goes home.

use std::time::Duration;

use callboard_engine::questions::{Answering, inbox};
use callboard_engine::{Host, crew_lease};
use callboard_kernel::{EntityId, fact};
use callboard_lifecycle::task::TaskState;

use crate::stage::Stage;

/// Approves every result that waits, as a server does: the answer is recorded, and nothing is merged.
fn approve_all(stage: &Stage) {
    let ledger = stage.ledger();
    let open = inbox(&ledger, None).unwrap().items;
    assert!(!open.is_empty(), "nothing waits for approval");
    for question in open {
        let id: EntityId = question.id.parse().unwrap();
        let answer = Answering { option: "approve", because: "", always: None };
        stage.asking(&ledger).answer(id, &answer).unwrap();
    }
}

#[test]
fn a_crew_that_works_once_merges_what_was_approved_and_does_not_wait_for_what_cannot_be_merged() {
    let stage = Stage::new();
    let broken = stage.path("broken");
    let clone = ["clone", "-q", ".", broken.to_str().unwrap()];
    stage.git(&clone);
    let good = stage.add("write it", |task| task.approval = true);
    let stuck = stage.add("write it elsewhere", |task| {
        task.approval = true;
        task.repo = Some(broken.to_str().unwrap().to_owned());
    });
    let script = "echo x > \"$CALLBOARD_TASK.txt\"";
    assert!(stage.work("1", script).status.success());
    for id in [good, stuck] {
        assert_eq!(stage.state(id), TaskState::PendingApproval, "{}", stage.why(id));
    }

    approve_all(&stage);
    std::fs::remove_dir_all(&broken).unwrap();
    // Until the lease of a janitor that is gone has ended, nobody merges: the crew waits for its own janitor.
    let lease = crew_lease(&Host::this());
    stage.ledger().take_lease(&lease, "a janitor that died", Duration::from_secs(3)).unwrap();
    assert!(stage.work("1", script).status.success());
    assert_eq!(stage.state(good), TaskState::Closed, "{}", stage.why(good));
    assert_eq!(stage.state(stuck), TaskState::PendingApproval, "{}", stage.why(stuck));
    assert!(
        stage.facts(stuck).read(fact::PROBLEM).is_some(),
        "the task says what keeps it from being merged"
    );
}
