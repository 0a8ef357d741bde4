//! Requests that were turned away: counted by why, and told on the error output.
//!
//! Invariant: what is told is why, the method and the pattern of the path, never anything the caller sent; and it is told
//! a few times a second at the most, so that nobody fills a disk by knocking. Deliberately absent: records in the log,
//! which a stranger could fill the same way.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Why a request was turned away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Another host was meant.
    Host,
    /// It came from another site.
    Origin,
    /// Nobody knows who asked.
    Token,
    /// Whoever asked may not.
    Scope,
    /// It was one too many.
    Rate,
}

impl Refused {
    pub(crate) const ALL: [Self; 5] = [Self::Host, Self::Origin, Self::Token, Self::Scope, Self::Rate];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Origin => "origin",
            Self::Token => "token",
            Self::Scope => "scope",
            Self::Rate => "rate",
        }
    }
}

/// Lines that are told in one span of time, at the most.
const LINES_MAX: u64 = 10;
const SPAN: Duration = Duration::from_secs(1);

/// What was turned away since the server started.
#[derive(Default)]
pub(crate) struct Refusals {
    counts: [AtomicU64; 5],
    told: Mutex<Told>,
}

#[derive(Default)]
struct Told {
    since: Option<Instant>,
    lines: u64,
    silent: u64,
}

impl Refusals {
    /// Counts one, and tells it on the error output if not too many were told already.
    pub(crate) fn note(&self, why: Refused, method: &str, pattern: &str) {
        if let Some(line) = self.line(why, method, pattern, Instant::now()) {
            eprintln!("{line}");
        }
    }

    pub(crate) fn count(&self, why: Refused) -> u64 {
        self.counts[why as usize].load(Ordering::Relaxed)
    }

    fn line(&self, why: Refused, method: &str, pattern: &str, now: Instant) -> Option<String> {
        self.counts[why as usize].fetch_add(1, Ordering::Relaxed);
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.since.is_none_or(|since| now.saturating_duration_since(since) >= SPAN) {
            (told.since, told.lines) = (Some(now), 0);
        }
        if told.lines >= LINES_MAX {
            told.silent += 1;
            return None;
        }
        told.lines += 1;
        let silent = std::mem::take(&mut told.silent);
        // A method is whatever the caller says it is.
        let method: String = method.chars().filter(char::is_ascii_uppercase).take(10).collect();
        let line = serde_json::json!({
            "security": "refused", "why": why.name(), "method": method, "path": pattern, "not_told": silent,
        });
        Some(line.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_counted_and_little_is_told() {
        let (refusals, start) = (Refusals::default(), Instant::now());
        let told = (0..50).filter_map(|_| refusals.line(Refused::Token, "GET", "/metrics", start)).count();
        assert_eq!((told as u64, refusals.count(Refused::Token)), (LINES_MAX, 50));
        let later = refusals.line(Refused::Scope, "GET\u{1b}x", "/", start + SPAN).unwrap();
        assert_eq!(later, r#"{"method":"GET","not_told":40,"path":"/","security":"refused","why":"scope"}"#);
        assert_eq!(refusals.count(Refused::Host), 0);
    }
}
