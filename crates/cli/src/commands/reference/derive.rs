//! `callboard derive`: from what is known about entities to the states that are shown, line by line.
//!
//! Invariant: answers come in the order of the lines, and everything that could be read is answered before more is
//! waited for. The clock is read once for all lines that came together. Deliberately absent: the rules, which are the
//! kernel's.

use std::io::{IsTerminal, Write};

use callboard_kernel::Moment;
use callboard_lifecycle::PolicyVersion;
use clap::Args;

use crate::clock;
use crate::error::{self, Error, Exit};
use crate::input::derivation::{Derived, Problem, derive};
use crate::input::jsonl::{LINE_BYTES_MAX, Line, Lines};
use crate::input::word::WordParser;
use crate::show::screen::Screen;
use crate::show::style::of_tone;

/// Derive severity, tone and the text people see from recorded facts.
///
/// Reads one JSON object a line from standard input: {"kind", "lifecycle", "outcome", "health", "delivery"}, each of
/// them optional or null. Without a kind, a lifecycle word is taken as a session's, or else as that of any kind that
/// has it. "reason" is a reason code, which tells a person's own choice from an accident; "confidence" is how sure a
/// claim is. Other fields are ignored.
///
/// Writes one JSON object a line, in the same order: the normalized state, with "chain" (the text people see) and
/// "effective" (one word for a pill that stands alone). On a terminal, and without --json, it writes the severity and
/// the chain instead.
///
/// A line that cannot be read or names an unknown word is told on standard error with its number and has no line in
/// the output; the others are answered, and the exit code is 2. Empty lines are skipped.
#[derive(Args, Debug)]
pub(crate) struct DeriveArgs {
    /// The rules that derive severity and tone.
    #[arg(long, value_name = "POLICY", default_value = "v2", value_parser = WordParser::<PolicyVersion>::new())]
    policy: PolicyVersion,
    /// JSON also on a terminal.
    #[arg(long)]
    json: bool,
}

/// What the answers are written as.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Json,
    People,
}

impl DeriveArgs {
    /// Answers standard input on standard output.
    pub(crate) fn run(&self, screen: &Screen) -> Result<Exit, Error> {
        let form = if screen.is_terminal() && !self.json { Form::People } else { Form::Json };
        let mut output: Box<dyn Write> = match form {
            Form::People => Box::new(screen.stream()),
            Form::Json => Box::new(std::io::stdout().lock()),
        };
        let input = std::io::stdin().lock();
        if input.is_terminal() {
            error::tell("one JSON object a line; Ctrl-D ends\n");
        }
        let mut lines = Lines::of(input);
        let mut batch = Batch { policy: self.policy, form, answers: Vec::new(), problems: String::new() };
        let mut exit = Exit::DONE;
        while lines.wait().map_err(Error::Read)? {
            let now = clock::now();
            let evaluated_at = now.to_string();
            while let Some(line) = lines.next() {
                batch.take(&line, now, &evaluated_at).map_err(Error::Write)?;
            }
            output.write_all(&batch.answers).and_then(|()| output.flush()).map_err(Error::Write)?;
            if !batch.problems.is_empty() {
                error::tell(&batch.problems);
                exit = Exit::USAGE;
            }
            batch.answers.clear();
            batch.problems.clear();
        }
        Ok(exit)
    }
}

/// What is said about the lines that came together.
struct Batch {
    policy: PolicyVersion,
    form: Form,
    answers: Vec<u8>,
    problems: String,
}

impl Batch {
    fn take(&mut self, line: &Line<'_>, now: Moment, evaluated_at: &str) -> std::io::Result<()> {
        let derived = match line.text {
            None => Err(Problem::too_long(LINE_BYTES_MAX)),
            Some(text) if text.trim_ascii().is_empty() => return Ok(()),
            Some(text) => derive(text, self.policy, now),
        };
        match (derived, self.form) {
            (Ok(derived), Form::Json) => derived.write(evaluated_at, &mut self.answers),
            (Ok(derived), Form::People) => write_for_people(&derived, &mut self.answers),
            (Err(Problem { because, instead }), _) => {
                self.problems += &Error::Line { number: line.number, because, instead }.report();
                Ok(())
            }
        }
    }
}

fn write_for_people(derived: &Derived, into: &mut Vec<u8>) -> std::io::Result<()> {
    let (severity, tone, chain) = derived.shown();
    let style = of_tone(tone);
    writeln!(into, "{style}{severity:8}{style:#}  {chain}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_read_the_severity_in_its_tone_and_the_chain() {
        let mut line = Vec::new();
        let known = br#"{"lifecycle":"failed","health":"ok","delivery":"passed"}"#;
        let derived = derive(known, PolicyVersion::V2, Moment::default());
        write_for_people(&derived.unwrap_or_else(|problem| panic!("{problem:?}")), &mut line).unwrap();
        let expected = "\u{1b}[31mcritical\u{1b}[0m  Failed · Infra OK · Trace present\n";
        assert_eq!(String::from_utf8(line).unwrap(), expected);
    }
}
