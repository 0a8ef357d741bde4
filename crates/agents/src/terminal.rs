//! What a program tells its terminal: statuses, titles and notifications, read from the bytes it draws with.
//!
//! Invariant: only operating system commands (OSC) are looked at, never what is drawn; at most [`COMMAND_BYTES_MAX`]
//! of one is held, a longer one is skipped to its end, and how the bytes are cut into pieces does not matter. A bell by
//! itself means nothing. A status is what the program says; a title or a notification is interpreted.

use std::borrow::Cow;

use crate::program::Program;
use crate::signal::{KnownBy, Waiting, WaitingFor};

/// No status or title is longer; a picture or a clipboard may be, and is skipped.
const COMMAND_BYTES_MAX: usize = 1_024;

const ESCAPE: u8 = 0x1b;
const BELL: u8 = 0x07;

/// What a program told its terminal.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Told {
    /// It waits for a person.
    Waits(Waiting),
    /// It does not wait, or not any more.
    Goes(KnownBy),
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    Text,
    /// After an escape, outside of a command.
    Escape,
    Command,
    /// After an escape inside of a command: a backslash ends the command.
    CommandEscape,
}

/// Reads the commands that a program gives its terminal.
#[derive(Debug)]
pub(crate) struct Terminal {
    program: Option<Program>,
    state: State,
    held: Vec<u8>,
    is_too_long: bool,
}

impl Terminal {
    pub(crate) const fn new(program: Option<Program>) -> Self {
        Self { program, state: State::Text, held: Vec::new(), is_too_long: false }
    }

    /// Hands over what these bytes tell, in order.
    pub(crate) fn feed(&mut self, mut bytes: &[u8], mut take: impl FnMut(Told)) {
        while !bytes.is_empty() {
            if self.state == State::Text {
                let Some(place) = bytes.iter().position(|byte| *byte == ESCAPE) else { return };
                bytes = &bytes[place..];
            }
            let (byte, rest) = (bytes[0], &bytes[1..]);
            bytes = rest;
            self.state = match (self.state, byte) {
                (State::Text | State::Escape, ESCAPE) => State::Escape,
                (State::Escape, b']') => {
                    self.held.clear();
                    self.is_too_long = false;
                    State::Command
                }
                (State::Text | State::Escape, _) => State::Text,
                (State::Command, BELL) | (State::CommandEscape, b'\\') => {
                    self.end(&mut take);
                    State::Text
                }
                (State::Command | State::CommandEscape, ESCAPE) => State::CommandEscape,
                // An escape that does not end the command begins another sequence, and the command was none.
                (State::CommandEscape, b']') => {
                    self.held.clear();
                    self.is_too_long = false;
                    State::Command
                }
                (State::CommandEscape, _) => State::Text,
                (State::Command, byte) => {
                    self.hold(byte);
                    State::Command
                }
            };
        }
    }

    fn hold(&mut self, byte: u8) {
        if self.held.len() < COMMAND_BYTES_MAX {
            self.held.push(byte);
        } else {
            self.is_too_long = true;
        }
    }

    fn end(&mut self, take: &mut impl FnMut(Told)) {
        if !self.is_too_long
            && let Some(told) = told(&String::from_utf8_lossy(&self.held), self.program)
        {
            take(told);
        }
        self.held.clear();
    }
}

fn told(command: &str, program: Option<Program>) -> Option<Told> {
    let (number, rest) = command.split_once(';')?;
    match number {
        "7501" => Some(status(rest)),
        "0" | "2" => title(rest, program),
        // A first number is a command of its own, such as a progress bar.
        "9" if !rest.split_once(';').is_some_and(|(first, _)| is_number(first)) && !is_number(rest) => {
            notification(rest)
        }
        "777" => notification(rest.strip_prefix("notify;")?),
        "99" => notification(rest.split_once(';')?.1),
        _ => None,
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `state=blocked:app=codex:kind=permission`: written for programs that look after terminals.
fn status(fields: &str) -> Told {
    let field = |name: &str| {
        fields
            .split(':')
            .find_map(|field| field.split_once('=').filter(|(key, _)| *key == name))
            .map(|(_, v)| v)
    };
    if field("state") != Some("blocked") {
        return Told::Goes(KnownBy::Status);
    }
    let cause = match field("kind") {
        Some("permission" | "approval") => WaitingFor::Permission,
        Some("question" | "input" | "elicitation") => WaitingFor::Question,
        Some("login" | "auth") => WaitingFor::Login,
        Some(_) | None => WaitingFor::Action,
    };
    Told::Waits(Waiting { cause, detail: None, known_by: KnownBy::Status })
}

/// Gemini CLI puts a hand before its title while it needs an answer. A title of another program that looks the same is
/// taken for it only if nothing is known of the program.
fn title(title: &str, program: Option<Program>) -> Option<Told> {
    let title = title.trim_start();
    let is_gemini = match program {
        Some(program) => program == Program::Gemini,
        None => title.contains("Action Required"),
    };
    if is_gemini && title.starts_with('✋') {
        return Some(Told::Waits(Waiting {
            cause: WaitingFor::Action,
            detail: None,
            known_by: KnownBy::Title,
        }));
    }
    // Every other title of Gemini CLI, and a spinner in anybody's, is of a program that does something else.
    let is_spinner = title.chars().next().is_some_and(|first| ('\u{2801}'..='\u{28ff}').contains(&first));
    let is_working = ['✦', '⏲', '◇'].iter().any(|sign| title.starts_with(*sign));
    (program == Some(Program::Gemini) || is_spinner || is_working).then_some(Told::Goes(KnownBy::Title))
}

/// Words in a notification by which an agent asks a person for something.
const REQUESTS: [(&str, WaitingFor); 9] = [
    ("approval requested", WaitingFor::Permission),
    ("needs your permission", WaitingFor::Permission),
    ("needs permission", WaitingFor::Permission),
    ("permission required", WaitingFor::Permission),
    ("needs your approval", WaitingFor::Permission),
    ("waiting for your input", WaitingFor::Question),
    ("needs your input", WaitingFor::Question),
    ("action required", WaitingFor::Action),
    ("needs your attention", WaitingFor::Action),
];

fn notification(text: &str) -> Option<Told> {
    let words = text.to_lowercase();
    let request = REQUESTS.iter().find(|(request, _)| words.contains(request));
    match request {
        Some((_, cause)) => {
            let detail = Some(text.replace(';', ": "));
            Some(Told::Waits(Waiting { cause: *cause, detail, known_by: KnownBy::Notification }))
        }
        None => Some(Told::Goes(KnownBy::Notification)),
    }
}

/// A line without what steers a terminal: colours, cursor movements, commands, and other control characters.
pub fn without_controls(line: &str) -> Cow<'_, str> {
    if !line.contains(char::is_control) {
        return Cow::Borrowed(line);
    }
    let mut plain = String::with_capacity(line.len());
    let mut rest = line.chars().peekable();
    while let Some(character) = rest.next() {
        match (character, rest.peek().copied()) {
            ('\u{1b}', Some('[')) => {
                rest.next();
                // Parameters, then one final letter.
                while rest.next_if(|next| !('@'..='~').contains(next)).is_some() {}
                rest.next();
            }
            ('\u{1b}', Some(']')) => {
                while let Some(next) = rest.next_if(|next| *next != '\u{7}') {
                    if next == '\u{1b}' {
                        break;
                    }
                }
                rest.next();
            }
            ('\u{1b}', Some(_)) => drop(rest.next()),
            ('\t', _) => plain.push(' '),
            (character, _) if character.is_control() => {}
            (character, _) => plain.push(character),
        }
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(program: Option<Program>, bytes: &[u8], size: usize) -> Vec<Told> {
        let mut terminal = Terminal::new(program);
        let mut seen = Vec::new();
        for piece in bytes.chunks(size) {
            terminal.feed(piece, |told| seen.push(told));
        }
        seen
    }

    #[track_caller]
    fn told(program: Option<Program>, bytes: &str) -> Vec<Told> {
        let whole = read(program, bytes.as_bytes(), usize::MAX);
        for size in [1, 2, 3, 7] {
            assert_eq!(read(program, bytes.as_bytes(), size), whole, "in pieces of {size}");
        }
        whole
    }

    fn waits(cause: WaitingFor, detail: Option<&str>, known_by: KnownBy) -> Told {
        Told::Waits(Waiting { cause, detail: detail.map(str::to_owned), known_by })
    }

    #[test]
    fn a_status_says_that_codex_waits_and_that_it_goes_on() {
        let codex = Some(Program::Codex);
        let bytes = "text\u{1b}[31m\u{1b}]7501;state=blocked:app=codex:kind=permission\u{7}more\
                     \u{1b}]7501;state=working:app=codex\u{1b}\\\u{1b}]7501;state=clear\u{7}";
        let goes = Told::Goes(KnownBy::Status);
        assert_eq!(
            told(codex, bytes),
            [waits(WaitingFor::Permission, None, KnownBy::Status), goes.clone(), goes]
        );
    }

    #[test]
    fn a_hand_in_the_title_of_gemini_is_a_wait_and_another_title_ends_it() {
        let bytes = "\u{1b}]0;✦  Working… (app)\u{7}\u{1b}]0;✋  Action Required (app)   \u{7}\u{1b}]2;◇  Ready (app)\u{7}";
        let goes = Told::Goes(KnownBy::Title);
        let expected = [goes.clone(), waits(WaitingFor::Action, None, KnownBy::Title), goes];
        assert_eq!(told(Some(Program::Gemini), bytes), expected);
        assert_eq!(told(None, bytes), expected, "behind a script");
        assert_eq!(told(Some(Program::Claude), "\u{1b}]0;✋ stop\u{7}"), []);
        assert_eq!(told(None, "\u{1b}]0;user@host: ~\u{7}\u{1b}]0;✋ high five\u{7}"), []);
    }

    #[test]
    fn notifications_are_interpreted_and_other_commands_are_not() {
        let by = KnownBy::Notification;
        let bytes = "\u{1b}]9;Approval requested: rm -rf build\u{7}\u{1b}]777;notify;Claude Code;Claude needs your \
                     permission to use Bash\u{7}\u{1b}]9;Agent turn complete\u{7}";
        assert_eq!(
            told(None, bytes),
            [
                waits(WaitingFor::Permission, Some("Approval requested: rm -rf build"), by),
                waits(
                    WaitingFor::Permission,
                    Some("Claude Code: Claude needs your permission to use Bash"),
                    by
                ),
                Told::Goes(by),
            ]
        );
        let others = "\u{7}\u{7}\u{1b}]9;4;1;50\u{7}\u{1b}]9;9;/home\u{7}\u{1b}]52;c;aGVsbG8=\u{7}\u{1b}]8;;http://x\u{7}";
        assert_eq!(told(None, others), []);
    }

    #[test]
    fn a_long_command_costs_no_memory_and_the_next_one_is_read() {
        let long = format!("\u{1b}]52;c;{}\u{7}\u{1b}]7501;state=idle\u{7}", "x".repeat(1_000_000));
        let mut terminal = Terminal::new(None);
        let mut seen = Vec::new();
        terminal.feed(long.as_bytes(), |told| seen.push(told));
        assert_eq!(seen, [Told::Goes(KnownBy::Status)]);
        assert!(terminal.held.capacity() <= 2 * COMMAND_BYTES_MAX);
        let cut = "\u{1b}]0;half of a title\u{1b}[2J\u{1b}]7501;state=blocked\u{7}";
        assert_eq!(told(None, cut), [waits(WaitingFor::Action, None, KnownBy::Status)]);
    }

    #[test]
    fn what_steers_a_terminal_is_taken_out_of_a_line() {
        assert_eq!(without_controls("plain"), "plain");
        assert_eq!(without_controls("\u{1b}[1;31mred\u{1b}[0m\tend\r"), "red end");
        assert_eq!(without_controls("\u{1b}]0;title\u{7}a\u{1b}]0;t\u{1b}\\b\u{1b}=c"), "abc");
    }
}
