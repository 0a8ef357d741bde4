//! The surfaces: each is asked until it tells what happened, and says when that was.

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::event::Event;
use super::stage::{Run, Stage};
use crate::serve::host::Host;
use crate::serve::wire::{Wire, listen};

/// How long a surface may take until the benchmark gives up.
const PATIENCE: Duration = Duration::from_secs(30);
/// Between two questions: often enough to be small beside what is measured, and not so often that asking is measured.
const PAUSE: Duration = Duration::from_millis(1);

type Told = Result<Instant, String>;

fn until(mut is_told: impl FnMut() -> Result<bool, Box<dyn Error>>) -> Told {
    let give_up = Instant::now() + PATIENCE;
    while Instant::now() < give_up {
        if is_told().map_err(|error| error.to_string())? {
            return Ok(Instant::now());
        }
        std::thread::sleep(PAUSE);
    }
    Err("a surface never told it".to_owned())
}

/// Asks for the run itself.
pub(super) fn entity(wire: &mut Wire, event: Event, run: &Run) -> Told {
    let path = format!("/api/v1/entities/{}", run.id);
    until(|| Ok(event.is_told(&serde_json::from_slice(wire.get(&path)?)?, &run.chain)))
}

/// Asks what needs somebody, until the run is among it.
pub(super) fn attention(wire: &mut Wire, run: &Run) -> Told {
    until(|| {
        let answer: Value = serde_json::from_slice(wire.get("/api/v1/attention?limit=500")?)?;
        let items = answer["items"].as_array().map_or(&[][..], Vec::as_slice);
        Ok(items.iter().any(|item| item["entity"]["id"] == run.id.as_str()))
    })
}

/// Lists what is alive from the command line, until the run is shown otherwise or not at all.
pub(super) fn ps(stage: &Stage<'_>, event: Event, run: &Run) -> Told {
    until(|| {
        let output = stage.command(&["ps", "session", "--json"]).output()?;
        let answer: Value = serde_json::from_slice(&output.stdout)?;
        let items = answer["items"].as_array().map_or(&[][..], Vec::as_slice);
        let mut its = items.iter().filter(|view| view["id"] == run.id.as_str());
        Ok(its.all(|view| event.is_told(view, &run.chain)))
    })
}

/// The feed, read by a thread of its own from the beginning to the end.
pub(super) struct Feed(Receiver<(Instant, String, Value)>);

impl Feed {
    pub(super) fn open(host: &Host) -> Result<Self, Box<dyn Error>> {
        let stream = listen(host.address, &host.token)?;
        stream.set_read_timeout(None)?;
        let (send, events) = channel();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(stream);
            // It ends with the server.
            while let Some((name, data)) = next(&mut reader) {
                let at = Instant::now();
                if send.send((at, name, data)).is_err() {
                    return;
                }
            }
        });
        Ok(Self(events))
    }

    /// Forgets what came before.
    pub(super) fn forget(&self) {
        self.0.try_iter().for_each(drop);
    }

    /// Waits until it tells what happened.
    pub(super) fn told(&self, event: Event, run: &Run) -> Told {
        let give_up = Instant::now() + PATIENCE;
        loop {
            let left = give_up.saturating_duration_since(Instant::now());
            let (at, name, data) =
                self.0.recv_timeout(left).map_err(|_| "the feed never told it".to_owned())?;
            let is_told = match name.as_str() {
                "record" => data["entity"]["id"] == run.id.as_str() && event.is_recorded(&data),
                "look" => data["id"] == run.id.as_str() && event.is_told(&data, &run.chain),
                _ => false,
            };
            if is_told {
                return Ok(at);
            }
        }
    }
}

fn next(reader: &mut BufReader<TcpStream>) -> Option<(String, Value)> {
    let (mut name, mut data) = (String::new(), Value::Null);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end().split_once(": ") {
            Some(("event", value)) => value.clone_into(&mut name),
            Some(("data", value)) => data = serde_json::from_str(value).ok()?,
            Some(_) => {}
            None if name.is_empty() => {}
            None => return Some((name, data)),
        }
    }
}
