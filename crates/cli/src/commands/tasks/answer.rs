//! What every verb of the task board shares: who asks, which task is meant, and what is said of it afterwards.
//!
//! Invariant: a refusal is an answer with `--json` and an error in words without; both end with the same exit code. Whatever was done, the
//! answer says where the task stands and what moves it on.

use callboard_engine::tasks::{Asking, TaskError, next_move};
use callboard_engine::{Host, Observed, View, Viewpoint};
use callboard_kernel::{EntityId, one_line, task};
use callboard_ledger::{Ledger, Stored};
use callboard_lifecycle::Kind;
use serde::Serialize;

use crate::clock;
use crate::error::{Error, Exit};
use crate::input::ids;
use crate::show::screen::Screen;
use crate::show::style::{FAINT, of_tone, paint};
use crate::store::sending::{Refused, actor};

/// Whoever calls, as the board is asked.
pub(in crate::commands) fn asking(ledger: &Ledger) -> Result<Asking<'_>, Error> {
    Ok(Asking::new(ledger, actor(ledger)?, clock::now()))
}

/// The task that is meant: an ID or unique prefix, with or without `tsk_`.
pub(super) fn task_id(ledger: &Ledger, typed: &str) -> Result<EntityId, Error> {
    entity_id(ledger, typed, Kind::Task)
}

/// The entity of a kind that is meant.
pub(in crate::commands) fn entity_id(ledger: &Ledger, typed: &str, kind: Kind) -> Result<EntityId, Error> {
    let prefix = kind.machine().prefix;
    let is_bare = !typed.contains(['_', '-']);
    let found =
        if is_bare { ids::find(ledger, &format!("{prefix}_{typed}")) } else { ids::find(ledger, typed) };
    match found? {
        id if id.kind() == kind => Ok(id),
        id => Err(Error::CommandLine {
            because: format!("{id} is a {}, not a {kind}", id.kind()),
            instead: format!("the ID of a {kind}: callboard ps {kind}"),
        }),
    }
}

/// A dependency as it is typed, with the whole ID of the task in it.
pub(super) fn dependency(ledger: &Ledger, typed: &str) -> Result<String, Error> {
    const ENDED: &str = ":ended";
    let (id, end) = typed.strip_suffix(ENDED).map_or((typed, ""), |id| (id, ENDED));
    Ok(format!("{}{end}", task_id(ledger, id)?))
}

/// Ends a verb whose wish was not met.
pub(in crate::commands) fn not_done(screen: &Screen, json: bool, error: TaskError) -> Result<Exit, Error> {
    if let (TaskError::Refused(refusal), true) = (&error, json) {
        screen.json(&Refused { refused: refusal })?;
        return Ok(Exit::REFUSED);
    }
    Err(in_words(error))
}

/// Why the board did not do it, for the person at the terminal.
pub(crate) fn in_words(error: TaskError) -> Error {
    match error {
        TaskError::Refused(refusal) => Error::Refused(refusal),
        TaskError::Unfit { problem, help } => Error::CommandLine { because: problem, instead: help },
        TaskError::NotFound { id } => Error::NoEntity(id.to_string()),
        TaskError::Store(fault) => Error::Append(fault),
        TaskError::Read(error) => Error::Ask(error),
    }
}

/// Ends a verb that acted on a task: says where it stands, or why nothing was done.
pub(super) fn told(
    screen: &Screen,
    ledger: &Ledger,
    id: EntityId,
    json: bool,
    done: Result<(), TaskError>,
) -> Result<Exit, Error> {
    if let Err(error) = done {
        return not_done(screen, json, error);
    }
    tell(screen, ledger, id, json)?;
    Ok(Exit::DONE)
}

/// A task, and what moves it on.
#[derive(Serialize)]
struct Acted<'a> {
    #[serde(flatten)]
    view: &'a View<'a>,
    next_move: String,
}

/// Says where a task stands.
pub(super) fn tell(screen: &Screen, ledger: &Ledger, id: EntityId, json: bool) -> Result<(), Error> {
    let seen = observed(ledger, id)?;
    let view = seen.view();
    let next_move = moved_on_by(&seen);
    if json {
        return screen.json(&Acted { view: &view, next_move });
    }
    let state = paint(of_tone(view.state.tone), &view.chain);
    let next = paint(FAINT, &format!("next: {}", one_line(&next_move)));
    screen.print(&format!("{id}  {state}  {next}\n"))
}

/// A task as it is seen now.
pub(super) fn observed(ledger: &Ledger, id: EntityId) -> Result<Observed, Error> {
    let missing = || Error::NoEntity(id.to_string());
    let stored: Stored = ledger.entity(id).map_err(Error::Ask)?.ok_or_else(missing)?;
    let host = Host::this();
    Observed::of(ledger, stored, &Viewpoint::present(clock::now(), &host)).map_err(Error::Ask)
}

/// Who or what moves a task on, in words.
pub(super) fn moved_on_by(seen: &Observed) -> String {
    let entity = &seen.stored.entity;
    task::state(entity).map_or_else(|| "unknown".to_owned(), |state| next_move(state, &entity.facts))
}
