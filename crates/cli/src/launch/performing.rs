//! Carrying out a recipe: here, or by a supervisor in the background.
//!
//! Invariant: stdout carries the command's own bytes and nothing else; what callboard has to say is one closing line on
//! stderr. Nothing is started unless it is recorded. Deliberately absent: how a run is supervised, recorded and judged.

use std::io::Write;

use callboard_engine::{Desk, EndedRun, Host, RunError, RunOrder, Viewpoint, discard, evaluate, sign};
use callboard_kernel::EntityId;
use callboard_lifecycle::Kind;

use crate::clock::{self, Real};
use crate::commands::runs::heartbeat::own_run;
use crate::error::{self, Error, Exit};
use crate::input::ids::{self, Short};
use crate::launch::detaching;
use crate::launch::notifying;
use crate::launch::recipe::{Recipe, Supervision};
use crate::launch::report::Report;
use crate::show::closing;
use crate::show::screen::Screen;
use crate::store::Store;

/// Starts what was asked for, in the background if that was asked for.
pub(crate) fn start(recipe: &Recipe, screen: &Screen, store: &Store) -> Result<Exit, Error> {
    let id = ids::new(Kind::Session, clock::now());
    if !recipe.detach {
        return perform(recipe, store, id, Supervision::Foreground);
    }
    let around = own_run();
    let markers = detaching::markers_of(id, around.as_deref());
    let mut recipe = recipe.clone();
    // An agent cannot put its run below another one.
    recipe.request.parent = around.clone().or(recipe.request.parent);
    match detaching::start(store, &markers, &recipe)? {
        detaching::Started::Yes => {
            screen.data_line(&id.to_string())?;
            if let Some(around) = around.filter(|_| !recipe.quiet) {
                let told = format!("it ends with {around}, inside of which it was started");
                drop(writeln!(anstream::stderr(), "{told}"));
            }
            Ok(Exit::DONE)
        }
        detaching::Started::No(exit) => Ok(exit),
    }
}

/// Performs the run in this process, and ends as it ended.
pub(crate) fn perform(
    recipe: &Recipe,
    store: &Store,
    id: EntityId,
    supervision: Supervision,
) -> Result<Exit, Error> {
    let report = recipe.report.as_ref().map(|path| Report::open(path.as_path())).transpose()?;
    let (ended, is_let_go) = match supervise(recipe, store, id, supervision) {
        Ok(performed) => performed,
        Err(error) => {
            report.into_iter().for_each(Report::discard);
            return Err(error);
        }
    };
    let host = Host::this();
    let view = evaluate(&ended.stored, &Viewpoint::present(clock::now(), &host));
    if !recipe.quiet && !is_let_go {
        let short = Short::among([id].into_iter()).of(id);
        let line = closing::line(&view, &short, closing::width_of_stderr());
        // Nobody to tell is no failure of the run.
        drop(writeln!(anstream::stderr(), "{line}"));
    }
    // From here on nothing changes the exit code, which is the run's.
    if let Some(unrecorded) = &ended.unrecorded {
        error::tell(&error::not_recorded(unrecorded));
    }
    if let Some(Err(error)) = report.map(|report| report.write(&view)) {
        error.tell();
    }
    notifying::after_end(&view, store, &host, recipe.quiet);
    Ok(Exit::of_run(ended.exit_code))
}

/// Supervises the run to its end; tells whether whoever started it was let go.
fn supervise(
    recipe: &Recipe,
    store: &Store,
    id: EntityId,
    supervision: Supervision,
) -> Result<(EndedRun, bool), Error> {
    let recipe = &recipe.with_contract()?;
    let dir = store.runs()?.join(id.to_string());
    // Who makes it is said in it first, so that it is known whose it was if this process dies before its first record.
    sign(&dir).map_err(|source| Error::File(dir.clone(), source))?;
    let kept = |order: RunOrder| {
        let recipe_hash = Some(recipe.keep(&order.dir, supervision)?);
        Ok(RunOrder { recipe_hash, ..order })
    };
    let order = recipe.order(store, id, supervision).and_then(kept);
    let order = order.inspect_err(|_| {
        discard(&dir);
    })?;
    let host = Host::this();
    let (open, reopen) = (|| store.open_quietly(), || store.reopen_quietly());
    let desk =
        Desk { open: &open, reopen: &reopen, clock: &Real, world: &host, is_shared: store.is_shared()? };
    let mut is_let_go = false;
    let mut started = |id: EntityId| {
        if supervision == Supervision::Background {
            detaching::tell_started(id);
            is_let_go = true;
        }
    };
    let ended = callboard_engine::perform(order, desk, &mut started).map_err(|error| {
        if matches!(error, RunError::NotRecorded(_)) {
            discard(&dir);
        }
        Error::Run(error)
    })?;
    Ok((ended, is_let_go))
}
