//! The last words of a command: the end of its stderr and, where its output is text, of its stdout.
//!
//! Invariant: a known program's greeting is never its last words; nothing that steers a terminal, and no secret, is
//! kept. Deliberately absent: the whole output, which is kept in files.

use callboard_agents::{is_noise, without_controls};
use callboard_supervisor::Stream;

use crate::redact;

/// How much of the end of each stream is looked at.
const TAIL_BYTES: usize = 4096;
/// The longest piece that is kept as evidence.
const CHARS: usize = 400;
/// How many lines of it.
const LINES: usize = 3;

/// The ends of both streams.
#[derive(Debug, Default)]
pub(crate) struct LastWords {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl LastWords {
    /// Takes note of what was written.
    pub(crate) fn note(&mut self, stream: Stream, bytes: &[u8]) {
        let tail = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        tail.extend_from_slice(&bytes[bytes.len().saturating_sub(TAIL_BYTES)..]);
        let surplus = tail.len().saturating_sub(TAIL_BYTES);
        tail.drain(..surplus);
    }

    /// What is worth telling of a failure. stdout tells only where it is text: some programs write their errors there.
    pub(crate) fn told(&self, stdout_is_text: bool) -> Vec<String> {
        let mut told = Vec::new();
        let stderr = said(&self.stderr);
        if !stderr.is_empty() {
            told.push(format!("its last words: {stderr}"));
        }
        let stdout = if stdout_is_text { said(after_screen(&self.stdout)) } else { String::new() };
        if !stdout.is_empty() {
            told.push(format!("the end of its output: {stdout}"));
        }
        told
    }
}

/// The last lines, fit to be kept.
fn said(tail: &[u8]) -> String {
    let words = String::from_utf8_lossy(tail);
    let lines: Vec<_> = words.lines().map(without_controls).collect();
    let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
    let lines: Vec<&str> = lines.into_iter().filter(|line| !line.is_empty() && !is_noise(line)).collect();
    let last = lines[lines.len().saturating_sub(LINES)..].join(" / ");
    // A secret that were cut in two would not be known by its beginning any more.
    let told = redact::text(&last);
    let surplus = told.chars().count().saturating_sub(CHARS);
    told.chars().skip(surplus).collect()
}

/// What was written after the last sequence that draws a screen. What is drawn is no text: its pieces stand in any order.
fn after_screen(tail: &[u8]) -> &[u8] {
    let mut begins = 0;
    let mut place = 0;
    while let Some(found) = tail[place..].windows(2).position(|pair| pair == b"\x1b[") {
        let parameters = &tail[place + found + 2..];
        let length = parameters.iter().position(|byte| (b'@'..=b'~').contains(byte));
        let Some(length) = length else { break };
        place += found + 2 + length + 1;
        if matches!(parameters[length], b'A'..=b'H' | b'J' | b'f' | b'h' | b'l' | b'r') {
            begins = place;
        }
    }
    &tail[begins..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(stdout: &str, stderr: &str, is_text: bool) -> Vec<String> {
        let mut words = LastWords::default();
        words.note(Stream::Stdout, stdout.as_bytes());
        words.note(Stream::Stderr, stderr.as_bytes());
        words.told(is_text)
    }

    #[test]
    fn an_error_on_stdout_is_told_where_stdout_is_text() {
        let error = "Failed to authenticate. API Error: 401 the key is not valid\n";
        assert_eq!(
            told(error, "", true),
            ["the end of its output: Failed to authenticate. API Error: 401 the key is not valid"]
        );
        assert_eq!(told("{\"type\":\"result\"}\n", "", false), Vec::<String>::new());
        assert_eq!(told("a\n", "b\n", true), ["its last words: b", "the end of its output: a"]);
    }

    #[test]
    fn a_greeting_is_never_the_last_word() {
        let noise =
            "Reading additional input from stdin...\nYOLO mode is enabled. All tool calls are approved.\n";
        assert_eq!(told("", noise, false), Vec::<String>::new());
        assert_eq!(told("", &format!("error: no\n{noise}"), false), ["its last words: error: no"]);
    }

    #[test]
    fn what_draws_a_screen_is_left_out_and_colours_are_taken_off() {
        let screen = "\u{1b}[?1049h\u{1b}[2J\u{1b}[1;1Hmenu\u{1b}[2;1Hitem\u{1b}[?1049lResume with: x\r\n";
        assert_eq!(told(screen, "", true), ["the end of its output: Resume with: x"]);
        assert_eq!(told("", "\u{1b}[31merror\u{1b}[0m: no\n", true), ["its last words: error: no"]);
    }

    #[test]
    fn only_the_end_is_kept_and_no_secret() {
        let mut words = LastWords::default();
        for _ in 0..1000 {
            words.note(Stream::Stderr, &[b'x'; 100]);
        }
        assert_eq!(words.stderr.len(), TAIL_BYTES);
        let long = words.told(false).remove(0);
        assert_eq!(long.chars().count(), "its last words: ".len() + CHARS);
    }
}
