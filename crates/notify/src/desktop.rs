//! A note on the desktop of whoever is logged in, by `notify-send`.
//!
//! Invariant: it is started under the supervisor and ended after five seconds; text of others is shown as text, never as
//! markup. Deliberately absent: speaking to the bus ourselves.

use std::path::PathBuf;
use std::time::Duration;

use callboard_kernel::one_line;
use callboard_supervisor::{Cause, How, Quiet, Spec, Timers, start};

use callboard_supervisor::on_path;

/// The program that shows notes.
const PROGRAM: &str = "notify-send";
/// How long it may take.
const LIMIT: Duration = Duration::from_secs(5);

/// Why no note can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoDesktop {
    /// The program is not there.
    #[error("notify-send is not on the PATH")]
    NoProgram,
    /// Nobody is logged in on a desktop.
    #[error("there is no session bus, as of somebody logged in on a desktop")]
    NoBus,
}

/// What is to be shown.
pub struct Note<'a> {
    /// Marks the process that shows it.
    pub marker: &'a str,
    /// Is it critical?
    pub is_urgent: bool,
    /// Its first line.
    pub title: &'a str,
    /// What it says.
    pub text: &'a str,
}

/// Can a note be shown? With what.
pub fn desktop_in_reach() -> Result<PathBuf, NoDesktop> {
    let program = on_path(PROGRAM).ok_or(NoDesktop::NoProgram)?;
    let is_set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let socket = || is_set("XDG_RUNTIME_DIR").is_some_and(|dir| PathBuf::from(dir).join("bus").exists());
    if is_set("DBUS_SESSION_BUS_ADDRESS").is_some() || socket() {
        return Ok(program);
    }
    Err(NoDesktop::NoBus)
}

/// Shows a note; says why it was not shown.
pub fn show(note: &Note<'_>) -> Result<(), String> {
    let program = desktop_in_reach().map_err(|error| error.to_string())?;
    let urgency = if note.is_urgent { "critical" } else { "normal" };
    let mut spec = Spec::new(program, format!("{}-note", note.marker)).args([
        "--app-name=callboard".to_owned(),
        format!("--urgency={urgency}"),
        "--".to_owned(),
        one_line(note.title),
        escaped(&one_line(note.text)),
    ]);
    spec.timers = Timers { total: Some(LIMIT), grace: Duration::from_millis(200), ..Timers::default() };
    let end = start(spec).map_err(|error| error.to_string())?.watch(&mut Quiet);
    match (end.cause, end.how) {
        (Cause::OfItself, How::Exited { code: 0 }) => Ok(()),
        (Cause::Timer { .. }, _) => Err(format!("{PROGRAM} did not end in {} s", LIMIT.as_secs())),
        (_, How::Exited { code }) => Err(format!("{PROGRAM} exited with {code}")),
        (_, How::Signaled { .. } | How::Unconfirmed) => Err(format!("{PROGRAM} was ended by a signal")),
    }
}

/// The text of a note is read as markup.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
