//! Names that try to leave: traps and honest names, joined, encoded, repeated and cut in every way the dice say.

use super::scenery::Scenery;
use crate::harness::dice::Dice;

/// Ways to say "one up", most of which mean nothing to the system and something to a careless program.
const UP: &[&str] = &[
    "..",
    "..",
    "..",
    "...",
    "..%2f",
    "%2e%2e",
    "%2e%2e%2f",
    "..%252f",
    "..%c0%af",
    "..\\",
    "．．",
    "‥",
    "..;",
    ".. ",
    " ..",
    "..\0",
    "..\u{200b}",
    "..\u{2215}",
    "..\t",
    ".",
    "",
    "~",
    "$HOME",
    "{..,a}",
    "%00",
    "C:",
];
/// What there is outside.
const TARGETS: &[&str] =
    &["outside/secret.txt", "outside/ok.txt", "secret.txt", "ok.txt", "etc/passwd", "proc/self/environ"];

pub(super) struct Names(pub(super) Dice);

impl Names {
    pub(super) fn next(mut self, scenery: &Scenery) -> String {
        match self.0.roll(10) {
            0 => self.absolute(scenery),
            1 => self.long(),
            2 => {
                let honest = (*self.0.pick(Scenery::HONEST)).to_owned();
                self.disguised(honest)
            }
            3 => {
                let trap = format!("{}/{}", self.0.pick(Scenery::TRAPS), self.0.pick(TARGETS));
                self.disguised(trap)
            }
            4 => (*self.0.pick(Scenery::TRAPS)).to_owned(),
            _ => self.joined(),
        }
    }

    fn joined(&mut self) -> String {
        let count = 1 + self.0.roll(6);
        let mut parts: Vec<&str> = Vec::new();
        for _ in 0..count {
            let from = match self.0.roll(4) {
                0 => Scenery::TRAPS,
                1 => Scenery::HONEST,
                _ => UP,
            };
            parts.push(*self.0.pick(from));
        }
        parts.push(*self.0.pick(TARGETS));
        parts.join(if self.0.roll(8) == 0 { "//" } else { "/" })
    }

    fn absolute(&mut self, scenery: &Scenery) -> String {
        let outside = scenery.outside().join("secret.txt").display().to_string();
        match self.0.roll(5) {
            0 => outside,
            1 => format!("/{outside}"),
            2 => format!("./{outside}"),
            3 => format!("/proc/self/root{outside}"),
            _ => format!("file://{outside}"),
        }
    }

    fn long(&mut self) -> String {
        match self.0.roll(4) {
            0 => "../".repeat(1 + self.0.roll(2_000) as usize) + "etc/passwd",
            1 => "x".repeat(200 + self.0.roll(5_000) as usize),
            2 => "sub/../".repeat(1 + self.0.roll(700) as usize) + "ok.txt",
            _ => "./".repeat(1 + self.0.roll(2_000) as usize) + "ok.txt",
        }
    }

    /// The same name with something around it.
    fn disguised(&mut self, name: String) -> String {
        match self.0.roll(8) {
            0 => format!("{name}/"),
            1 => format!("./{name}"),
            2 => format!("{name}/."),
            3 => format!("{name}/.."),
            4 => format!("{name}\0.txt"),
            5 => format!("sub/../{name}"),
            6 => name.to_uppercase(),
            _ => name,
        }
    }
}
