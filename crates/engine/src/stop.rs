//! Asking a run to stop: the wish is recorded first, then its supervisor is woken, and the supervisor ends it.
//!
//! Invariant: who asked is in the log before anything happens, so the end can say it; a stranger that got the
//! supervisor's pid is never signalled, nor is a process of another user, even by root. Asking twice skips the rest of the
//! grace. Deliberately absent: ending processes, which the supervisor does, or the reaper where there is none any more.

#![expect(clippy::disallowed_methods, reason = "it sends signals on this machine")]

use std::io::ErrorKind;

use callboard_kernel::health::{Liveness, ProcessIdentity};
use callboard_kernel::{
    Actor, Command, EvidenceRef, Facts, Moment, Observe, Order, StateReason, SupervisorSeen, fact,
};
use callboard_ledger::{AppendError, Ledger, Receipt, Request, Stored};
use callboard_lifecycle::{ActorClass, Health, ReasonCode};
use callboard_supervisor::process::{self, Sent, Sighting};

use crate::host::owner::stranger;
use crate::host::process_table::identity;
use crate::judging::recorded::keeper;
use crate::judging::triage_input::TriageInput;
use crate::judging::view::evaluate;
use crate::judging::viewpoint::Viewpoint;

/// The signal that wakes a supervisor.
const TERM: i32 = 15;

/// For whom a run is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopFor {
    /// A person.
    Operator,
    /// The run that started it.
    Parent,
    /// A run beside it, below the same parent.
    Sibling,
    /// A run that it started.
    Child,
    /// An agent inside of a run, which is no person.
    Agent,
}

/// What became of asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopOutcome {
    /// Its supervisor was woken.
    Woken,
    /// Its supervisor is gone: the reaper can end it.
    NobodyThere,
    /// Its supervisor is on another host, and finds the wish in the log if it reads the same store.
    Elsewhere,
    /// Its supervisor could not be woken from here, for this reason; the wish is in the log.
    OutOfReach(&'static str),
}

/// A wish that a run stops.
#[derive(Debug)]
pub struct StopWish {
    /// Who asks.
    pub actor: Actor,
    /// For whom.
    pub wanted: StopFor,
    /// Why, in their own words.
    pub said: Option<String>,
    /// The same key is the same wish.
    pub key: Option<String>,
    /// What led to it.
    pub cause: Option<String>,
    /// When.
    pub now: Moment,
}

/// Records the wish and wakes the supervisor.
pub fn ask_to_stop(
    ledger: &Ledger,
    stored: &Stored,
    actor: Actor,
    wanted: StopFor,
    now: Moment,
) -> Result<StopOutcome, AppendError> {
    let wish = StopWish { actor, wanted, said: None, key: None, cause: None, now };
    wish_to_stop(ledger, stored, wish).map(|(_, asked)| asked)
}

/// Records a wish to stop and wakes the supervisor; gives back the record and whether the supervisor was reached.
pub fn wish_to_stop(
    ledger: &Ledger,
    stored: &Stored,
    wish: StopWish,
) -> Result<(Receipt, StopOutcome), AppendError> {
    let StopWish { actor, wanted, said, key, cause, now } = wish;
    let word = word_of(wanted);
    let asked = Facts::none().and(fact::CAUSE, word).and(fact::BY, actor.id.as_str()).and(fact::AT, now);
    let said = said.filter(|said| !said.trim().is_empty());
    let mut asked = asked;
    if let Some(said) = &said {
        asked.record(fact::MESSAGE, said.as_str());
    }
    let told = said.unwrap_or_else(|| format!("{} asks it to stop", actor.id));
    let reasons = match wanted {
        // What a program asks for is no person's word: it is kept as a fact, not as a reason.
        StopFor::Agent => Vec::new(),
        _ if actor.class == ActorClass::Agent => Vec::new(),
        StopFor::Operator | StopFor::Parent | StopFor::Sibling | StopFor::Child => vec![
            StateReason::new(const { ReasonCode::of("system.operator.note") }, told.as_str())
                .shown_by(EvidenceRef::human_assertion(told.as_str())),
        ],
    };
    let order = Observe { reasons, data: Facts::none().and(fact::STOP_WISH, asked) };
    let mut command = Command::new(stored.entity.state.id, Order::Observe(order));
    command.key = key;
    let receipt = ledger.append(Request { command, actor, now, cause })?;
    Ok((receipt, wake(stored, ledger.is_shared())))
}

/// As the wish is recorded.
const fn word_of(wanted: StopFor) -> &'static str {
    match wanted {
        StopFor::Operator => "operator",
        StopFor::Parent => "parent",
        StopFor::Sibling => "sibling",
        StopFor::Child => "child",
        StopFor::Agent => "agent",
    }
}

/// What the process table and the lease say of the supervisor of a run, for the guard of its end by hand.
pub fn supervisor_seen(stored: &Stored, sight: &Viewpoint<'_>) -> SupervisorSeen {
    living_supervisor(stored, sight)
        .map_or(SupervisorSeen::Absent, |supervisor| SupervisorSeen::Alive { pid: supervisor.pid })
}

/// The supervisor of a run, if it is there to write the run's end. Then nobody else may: a run that is called ended while its
/// command goes on is a false word. What another host keeps a lease on is there.
fn living_supervisor(stored: &Stored, sight: &Viewpoint<'_>) -> Option<ProcessIdentity> {
    let supervisor = keeper(&stored.entity.facts).filter(|_| stored.entity.ended_at.is_none())?;
    match TriageInput::of(stored).look(sight).liveness {
        Liveness::Alive => return Some(supervisor),
        Liveness::Dead => return None,
        Liveness::Unknown => {}
    }
    // It cannot be seen from here; where it holds a lease, the judge says what that means.
    match evaluate(stored, sight).state.health? {
        Health::ProcessDead | Health::Orphaned | Health::Disconnected | Health::Unknown => None,
        Health::Ok
        | Health::Running
        | Health::Idle
        | Health::Degraded
        | Health::Stalled
        | Health::Blocked
        | Health::Misfired
        | Health::Due
        | Health::Paused => Some(supervisor),
    }
}

/// Wakes the supervisor of a run, which then looks for a wish.
pub(crate) fn wake(stored: &Stored, is_shared: bool) -> StopOutcome {
    let facts = &stored.entity.facts;
    let Some(supervisor) = keeper(facts) else { return StopOutcome::NobodyThere };
    let supervisor = identity(&supervisor);
    match process::look(&supervisor) {
        Ok(Sighting::OtherHost) => return StopOutcome::Elsewhere,
        Ok(Sighting::OtherPidNamespace) => {
            return StopOutcome::OutOfReach("cannot be seen from this PID namespace");
        }
        Ok(Sighting::OtherTimeNamespace) => {
            return StopOutcome::OutOfReach("cannot be told from others in this time namespace");
        }
        Ok(Sighting::Gone | Sighting::OtherBoot | Sighting::Zombie) => return StopOutcome::NobodyThere,
        Ok(Sighting::Alive | Sighting::Stopped) | Err(_) => {}
    }
    // Both what is recorded and whom the process belongs to: a record may name any process.
    if stranger(facts, is_shared).is_some() || !process::is_own(supervisor.pid) {
        return StopOutcome::OutOfReach("belongs to another user");
    }
    match process::signal(&supervisor, TERM) {
        Ok(Sent::Delivered) => StopOutcome::Woken,
        Ok(Sent::Gone) => StopOutcome::NobodyThere,
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            StopOutcome::OutOfReach("belongs to another user")
        }
        Err(_) => StopOutcome::OutOfReach("cannot be signalled"),
    }
}

/// The wish that is recorded of a run, if there is one: for whom, who asked, and when.
pub(crate) fn wish(facts: &Facts) -> Option<(StopFor, String, Option<Moment>)> {
    let wish = facts.read(fact::STOP_WISH)?;
    let wanted = match wish.read(fact::CAUSE) {
        Some("parent") => StopFor::Parent,
        Some("sibling") => StopFor::Sibling,
        Some("child") => StopFor::Child,
        Some("agent") => StopFor::Agent,
        Some(_) | None => StopFor::Operator,
    };
    let by = wish.read(fact::BY).unwrap_or("somebody");
    let by = match (wanted, wish.read(fact::MESSAGE)) {
        // The one that is named has the words of who asked in a reason of its own.
        (StopFor::Operator | StopFor::Agent, _) | (_, None) => by.to_owned(),
        (StopFor::Parent | StopFor::Sibling | StopFor::Child, Some(said)) => format!("{by}: {said}"),
    };
    Some((wanted, by, wish.read(fact::AT)))
}
