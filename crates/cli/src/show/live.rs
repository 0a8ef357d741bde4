//! Shows a list and shows it again when it changes, until somebody ends it.
//!
//! Invariant: the terminal is put back as it was, however it ends. At a terminal ages go on; in a pipe there is a further
//! snapshot only when something changed. Deliberately absent: what is shown.

use std::io::Write;
use std::time::{Duration, Instant};

use anstream::{AutoStream, ColorChoice};
use callboard_ledger::Ledger;
use callboard_supervisor::{Caught, Received, Signals};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::error::{Error, Exit};
use crate::show::screen::{Screen, steady};

/// How often the end of the log is asked for.
const POLL: Duration = Duration::from_millis(200);
/// How often health is judged anew, since it changes with time alone.
const TICK: Duration = Duration::from_secs(1);

/// A list at one moment.
pub(crate) struct Frame {
    /// The same as long as nothing changed but the time.
    pub(crate) key: String,
    /// As it is shown.
    pub(crate) text: String,
}

/// Shows frame after frame until a signal ends it.
pub(crate) fn watch(
    screen: &Screen,
    ledger: &Ledger,
    is_json: bool,
    draw: &mut dyn FnMut(&Screen) -> Result<Frame, Error>,
) -> Result<Exit, Error> {
    let mut signals = Signals::take().map_err(Error::Read)?;
    let full = screen.is_terminal() && !is_json;
    let mut stage = full.then(Stage::enter).transpose()?;
    let mut shown: Option<Frame> = None;
    let (mut head, mut drawn_at) = (None, None::<Instant>);
    loop {
        let newest = ledger.head().map_err(Error::Ask)?;
        if head != Some(newest) || drawn_at.is_none_or(|at| at.elapsed() >= TICK) {
            (head, drawn_at) = (Some(newest), Some(Instant::now()));
            let frame = draw(&screen.measured())?;
            match &mut stage {
                Some(stage) => stage.show(&screen.measured(), &frame.text)?,
                None if shown.as_ref().is_none_or(|before| before.key != frame.key) => {
                    let gap = if shown.is_some() && !is_json { "\n" } else { "" };
                    let text = format!("{gap}{}", frame.text);
                    if is_json { screen.data_text(&text)? } else { screen.print(&text)? }
                }
                None => {}
            }
            shown = Some(frame);
        }
        for received in pause(&mut signals) {
            match received.caught {
                Caught::Interrupt | Caught::Terminate | Caught::Hangup | Caught::Quit => {
                    return Ok(Exit::DONE);
                }
                Caught::Resize => drawn_at = None,
                Caught::Suspend => {
                    drop(stage.take());
                    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::STOP)
                        .ok();
                    stage = full.then(Stage::enter).transpose()?;
                    drawn_at = None;
                }
                Caught::Resume => {}
            }
        }
    }
}

/// Sleeps until the next look is due or a signal comes.
fn pause(signals: &mut Signals) -> Vec<Received> {
    let limit = Timespec { tv_sec: 0, tv_nsec: POLL.subsec_nanos().into() };
    let mut waiting = [PollFd::new(&*signals, PollFlags::IN)];
    // Interrupted is as good as woken.
    poll(&mut waiting, Some(&limit)).ok();
    signals.caught()
}

/// The second screen of the terminal, which is left when this is dropped.
struct Stage;

const ENTER: &[u8] = b"\x1b[?1049h\x1b[?25l\x1b[H\x1b[2J";
const LEAVE: &[u8] = b"\x1b[?25h\x1b[?1049l";

impl Stage {
    fn enter() -> Result<Self, Error> {
        write(ENTER)?;
        Ok(Self)
    }

    /// Draws over what was there, in one write, so that nothing flickers.
    fn show(&mut self, screen: &Screen, text: &str) -> Result<(), Error> {
        let plain = AutoStream::choice(&std::io::stdout()) == ColorChoice::Never;
        let text =
            if plain { anstream::adapter::strip_str(text).to_string() } else { steady(text).into_owned() };
        let lines: Vec<&str> = text.lines().collect();
        let room = screen.height().saturating_sub(1).max(1);
        let hidden = lines.len().saturating_sub(room);
        let mut frame = String::from("\x1b[H");
        let fitting = if hidden > 0 { room - 1 } else { lines.len() };
        for line in &lines[..fitting] {
            frame += &format!("{line}\x1b[K\r\n");
        }
        if hidden > 0 {
            frame += &format!("… and {} more lines\x1b[K\r\n", lines.len() - fitting);
        }
        frame += "\x1b[J";
        write(frame.as_bytes())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing put back.
        write(LEAVE).ok();
    }
}

fn write(bytes: &[u8]) -> Result<(), Error> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(Error::Write)
}
