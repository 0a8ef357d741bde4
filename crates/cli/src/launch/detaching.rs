//! Starting a run in the background: the same program once more, in a session of its own, with nothing of the terminal.
//!
//! Invariant: whoever starts it returns only when the run is recorded and its process is there, or says why not. From
//! then on the shim needs nobody: not the terminal, not a server, not the file it was started from. Inside of a run it stays in
//! that run, in its control group and its limits, and ends with it. Deliberately absent: supervising, which the shim does as
//! any other run does.

use std::fs::OpenOptions;
use std::io::Read;
use std::process::{Child, Command, Stdio};

use callboard_kernel::EntityId;
use callboard_supervisor::process::{MARKER_VARIABLE, markers_around};

use crate::error::{Error, Exit};
use crate::launch::recipe::Recipe;
use crate::launch::shim_input::{self, Variables};
use crate::store::{KEY_VARIABLE, Store};

/// Did the run begin?
pub(crate) enum Started {
    Yes,
    /// It did not, and the shim has said why.
    No(Exit),
}

/// What the shim says when its run is there.
const STARTED: &[u8] = b"started\n";

/// Starts the shim and waits until its run is there.
#[expect(
    clippy::disallowed_methods,
    reason = "the shim is no run: it outlives this process and supervises one itself"
)]
pub(crate) fn start(store: &Store, markers: &str, recipe: &Recipe) -> Result<Started, Error> {
    let Prepared { mut command, told } = command(store, markers)?;
    let mut shim = command.spawn().map_err(Error::Shim)?;
    shim_input::tell(&mut shim, told, recipe).map_err(Error::Shim)?;
    let mut said = Vec::new();
    if let Some(mut pipe) = shim.stdout.take() {
        // The shim writes its word and closes the pipe, or ends.
        pipe.read_to_end(&mut said).map_err(Error::Shim)?;
    }
    if said == STARTED {
        return Ok(Started::Yes);
    }
    let ended = shim.wait().map_err(Error::Shim)?;
    match ended.code() {
        Some(code) => Ok(Started::No(Exit::of_run(u8::try_from(code).unwrap_or(Exit::FAILED.code)))),
        None => Err(Error::Shim(std::io::Error::other(format!("its supervisor ended by {ended}")))),
    }
}

/// A shim that is to be started.
struct Prepared {
    command: Command,
    /// What it is told on its input.
    told: Variables,
}

/// The same program once more, with nothing of the terminal but where to complain.
fn command(store: &Store, markers: &str) -> Result<Prepared, Error> {
    let this = std::env::current_exe().map_err(Error::Shim)?;
    let mut command = Command::new(this);
    let (mut named, is_on_server) = (store.named(), store.is_shared()?);
    // A path is no secret; an address on a server may have a password in it, and everybody can read a command line.
    if let Some(path) = named.take_if(|_| !is_on_server) {
        command.arg("--store").arg(path);
    }
    command.arg("shim").arg(markers).env(MARKER_VARIABLE, markers).stdout(Stdio::piped());
    shim_input::withhold(&mut command);
    let mut told = shim_input::of_this_process(named);
    told.extend(store.given_key().map(|key| (KEY_VARIABLE.into(), key.into_os_string())));
    Ok(Prepared { command, told })
}

/// Starts the shim with this environment for a program that stays, which gets to know what the shim complains about and has
/// to wait for its end some time.
#[expect(
    clippy::disallowed_methods,
    reason = "the shim is no run: it outlives this process and supervises one itself"
)]
pub(crate) fn start_in(
    store: &Store,
    id: EntityId,
    recipe: &Recipe,
    environment: Variables,
) -> Result<Child, String> {
    let told = |error: &dyn std::error::Error| error.to_string();
    let prepared = command(store, &id.to_string()).map_err(|error| told(&error))?;
    let (mut command, private) = (prepared.command, prepared.told);
    command.env_clear().envs(environment).env(MARKER_VARIABLE, id.to_string());
    command.current_dir(recipe.request.cwd.as_path()).stderr(Stdio::piped());
    let mut shim = command.spawn().map_err(|error| told(&error))?;
    shim_input::tell(&mut shim, private, recipe).map_err(|error| told(&error))?;
    let mut said = Vec::new();
    if let Some(mut pipe) = shim.stdout.take() {
        pipe.read_to_end(&mut said).map_err(|error| told(&error))?;
    }
    if said == STARTED {
        // Behind its word the shim has let go of this pipe too.
        drop(shim.stderr.take());
        return Ok(shim);
    }
    let mut complaint = String::new();
    if let Some(mut pipe) = shim.stderr.take() {
        pipe.read_to_string(&mut complaint).ok();
    }
    shim.wait().ok();
    Err(complaint.trim().to_owned())
}

/// The markers of a run in the background: those of the runs that it is started in, outermost first, and its own.
pub(crate) fn markers_of(id: EntityId, around: Option<&str>) -> String {
    let mut markers = markers_around();
    if let Some(around) = around
        && !markers.iter().any(|marker| marker == around)
    {
        markers.push(around.to_owned());
    }
    markers.push(id.to_string());
    markers.join(":")
}

/// Makes this process the shim of the run that the last one of these markers names, in a session of its own.
pub(crate) fn become_shim(markers: &str) -> Result<EntityId, Error> {
    let id = markers.rsplit(':').next().unwrap_or_default();
    let not_an_id = |_| Error::CommandLine {
        because: format!("{id:?} is no id"),
        instead: "callboard run --detach, which makes one".to_owned(),
    };
    let id = id.parse().map_err(not_an_id)?;
    // It fails only for a process that leads a group already, which is in a session of its own then.
    rustix::process::setsid().ok();
    Ok(id)
}

/// Tells whoever started it that the run is there, and lets go of the terminal.
pub(crate) fn tell_started(_: EntityId) {
    let Ok(null) = OpenOptions::new().read(true).write(true).open("/dev/null") else { return };
    let stdout = std::io::stdout();
    // Whoever waited may be gone; the run is there all the same.
    rustix::io::write(&stdout, STARTED).ok();
    rustix::stdio::dup2_stdout(&null).ok();
    rustix::stdio::dup2_stderr(&null).ok();
}
