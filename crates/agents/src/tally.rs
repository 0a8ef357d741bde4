//! Where every dialect writes what it understood: the summary, and the signals of this moment.
//!
//! Invariant: each fact is bounded here and nowhere else, so no dialect can make memory grow with the stream. A dialect
//! says what an event means; what follows from it for counters, waiting and the end is decided here once.

use std::collections::VecDeque;

use crate::end::{AgentEnd, Cause, Failure};
use crate::loops::{Loops, hash_of};
use crate::program::Program;
use crate::signal::{Signal, Waiting};
use crate::summary::{
    Child, KilledTool, LimitStatus, ModelBy, Note, OpenTool, RateLimit, Retrying, Summary, UnknownKind,
};

const MESSAGE_BYTES_MAX: usize = 2_048;
const WORD_BYTES_MAX: usize = 256;
const NOTES_MAX: usize = 32;
const UNKNOWN_KINDS_MAX: usize = 32;
const CHILDREN_MAX: usize = 256;
const OPEN_TOOLS_MAX: usize = 1_024;
const SEEN_MAX: usize = 1_024;
const TOOLS_NAMED_MAX: usize = 32;

/// What a tool's result says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome<'a> {
    /// Whether it is not an error.
    pub(crate) ok: bool,
    /// The result itself, as it stands in the event.
    pub(crate) said: &'a str,
    /// The exit code of its command, if it ran one and the result tells.
    pub(crate) exit: Option<i64>,
    /// The signal that ended its command, in the vendor's words.
    pub(crate) signal: Option<&'a str>,
}

impl<'a> Outcome<'a> {
    pub(crate) const fn of(ok: bool, said: &'a str) -> Self {
        Self { ok, said, exit: None, signal: None }
    }

    /// What the result tells of a process that was killed.
    fn killed(&self) -> Option<String> {
        if let Some(signal) = self.signal {
            return Some(format!("killed by signal {}", bounded(signal, 32)));
        }
        // A shell reports a command that a signal ended as 128 and the signal; a command may exit so by itself.
        let name = match self.exit? {
            134 => "SIGABRT",
            135 => "SIGBUS",
            137 => "SIGKILL",
            139 => "SIGSEGV",
            143 => "SIGTERM",
            _ => return None,
        };
        self.exit.map(|code| format!("exit code {code}, as after {name}"))
    }
}

#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) summary: Summary,
    signals: Vec<Signal>,
    /// Tools that were called and have no result yet, the oldest first, each with a hash of its input where that is told.
    open_tools: Vec<(OpenTool, Option<u64>)>,
    loops: Loops,
    /// Hashes of the numbers that vendors give their events, the newest last.
    seen: VecDeque<u64>,
    /// Whether this turn has brought text that is of use by itself.
    has_text: bool,
}

impl Tally {
    pub(crate) const fn new(program: Program) -> Self {
        Self {
            summary: Summary::new(program),
            signals: Vec::new(),
            open_tools: Vec::new(),
            loops: Loops::new(),
            seen: VecDeque::new(),
            has_text: false,
        }
    }

    pub(crate) fn take_signals(&mut self) -> Vec<Signal> {
        std::mem::take(&mut self.signals)
    }

    /// Reports something that came of the work, which ends a row of retries: the model answered.
    pub(crate) fn progress(&mut self) {
        self.answered();
        self.signal(Signal::Progress);
    }

    /// The model answered, so a request that failed before did not fail for good.
    pub(crate) fn answered(&mut self) {
        self.summary.retrying = None;
    }

    /// Reports a sign of life.
    pub(crate) fn activity(&mut self) {
        self.signal(Signal::Activity);
    }

    /// Whether this number of an event comes for the first time. Only the newest are remembered, because a vendor that
    /// repeats an event repeats it soon.
    pub(crate) fn is_first(&mut self, number: &str) -> bool {
        let hash = hash_of(number);
        if self.seen.contains(&hash) {
            return false;
        }
        if self.seen.len() == SEEN_MAX {
            self.seen.pop_front();
        }
        self.seen.push_back(hash);
        true
    }

    /// The agent works on a prompt, so an end it reported before does not stand.
    pub(crate) fn begin_turn(&mut self) {
        self.summary.end = None;
        self.has_text = false;
    }

    /// The agent goes on after what looked like its end.
    pub(crate) fn goes_on(&mut self) {
        if self.summary.end.is_some() {
            self.begin_turn();
        }
    }

    /// The agent said something whole.
    pub(crate) fn said(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.summary.last_message = Some(bounded(text, MESSAGE_BYTES_MAX));
            self.has_text = true;
        }
    }

    /// The agent said a piece that continues the last one.
    pub(crate) fn said_more(&mut self, piece: &str) {
        let message = self.summary.last_message.get_or_insert_default();
        if message.len() < MESSAGE_BYTES_MAX {
            message.push_str(&bounded(piece, MESSAGE_BYTES_MAX - message.len()));
        }
        self.has_text = self.has_text || !piece.trim().is_empty();
    }

    /// The agent names its model.
    pub(crate) fn model(&mut self, model: &str) {
        self.summary.model = Some(bounded(model, WORD_BYTES_MAX));
        self.summary.model_by = Some(ModelBy::Stream);
    }

    /// The model is known from elsewhere; what the agent itself says counts more.
    pub(crate) fn model_from(&mut self, model: &str, by: ModelBy) {
        if self.summary.model.is_none() && !model.is_empty() {
            self.summary.model = Some(bounded(model, WORD_BYTES_MAX));
            self.summary.model_by = Some(by);
        }
    }

    pub(crate) fn session(&mut self, id: &str) {
        if self.summary.vendor_session.as_deref() != Some(id) {
            self.summary.vendor_session = Some(bounded(id, WORD_BYTES_MAX));
        }
    }

    /// It began to summarise its context, or has done so.
    pub(crate) const fn compacts(&mut self, is_compacting: bool) {
        self.summary.is_compacting = is_compacting;
    }

    /// A tool was called with an input, as it stands in the event; none where the event does not tell the whole of it.
    pub(crate) fn tool_started(&mut self, id: &str, name: &str, input: Option<&str>) {
        let (id, name) = (bounded(id, WORD_BYTES_MAX), bounded(name, WORD_BYTES_MAX));
        if self.open_tools.iter().any(|(tool, _)| tool.id == id) {
            return self.activity();
        }
        self.summary.tool_calls += 1;
        if self.open_tools.len() < OPEN_TOOLS_MAX {
            self.open_tools.push((OpenTool { id: id.clone(), name: name.clone() }, input.map(hash_of)));
        }
        self.tell_open_tool();
        self.signal(Signal::ToolStarted { id, name });
        self.progress();
    }

    /// A tool gave its result.
    pub(crate) fn tool_ended(&mut self, id: &str, outcome: Outcome<'_>) {
        let id = bounded(id, WORD_BYTES_MAX);
        let place = self.open_tools.iter().position(|(tool, _)| tool.id == id);
        let called = place.map(|place| self.open_tools.remove(place));
        self.tell_open_tool();
        let name = called.as_ref().map(|(tool, _)| tool.name.clone());
        // Calls whose input is not told cannot be compared: two edits of one file would look the same.
        if let Some(input) = called.and_then(|(_, input)| input) {
            self.loops.did((&name, input, outcome.ok, outcome.said));
            self.tell_loop();
        }
        if outcome.ok {
            self.summary.errors_in_row = 0;
        } else {
            self.summary.tool_errors += 1;
            self.summary.errors_in_row += 1;
        }
        if let Some(how) = outcome.killed() {
            let killed = KilledTool { tool: name.clone().unwrap_or_else(|| id.clone()), how };
            let known = &mut self.summary.killed_tools;
            if known.len() < TOOLS_NAMED_MAX && !known.contains(&killed) {
                known.push(killed);
            }
        }
        self.signal(Signal::ToolEnded { id, name, ok: outcome.ok });
        self.progress();
    }

    /// A tool was asked for and not allowed.
    pub(crate) fn denied(&mut self, tool: &str) {
        let tool = bounded(if tool.is_empty() { "a tool" } else { tool }, WORD_BYTES_MAX);
        let denied = &mut self.summary.denied;
        if denied.len() < TOOLS_NAMED_MAX && !denied.contains(&tool) {
            denied.push(tool);
        }
    }

    /// The call with this id was not allowed.
    pub(crate) fn tool_denied(&mut self, id: &str) {
        let name = self.open_tools.iter().find(|(tool, _)| tool.id == id).map(|(tool, _)| tool.name.clone());
        self.denied(name.as_deref().unwrap_or_default());
    }

    /// A step of the agent begins; only for agents that tell where a step ends.
    pub(crate) const fn begin_step(&mut self) {
        self.loops.begin_step();
    }

    /// What was said in a step is a part of it.
    pub(crate) fn step_said(&mut self, text: &str) {
        self.loops.did(text);
    }

    /// The step has ended.
    pub(crate) fn end_step(&mut self) {
        self.loops.end_step();
        self.tell_loop();
    }

    fn tell_loop(&mut self) {
        self.summary.looping_steps = self.loops.steps();
    }

    fn tell_open_tool(&mut self) {
        let oldest = self.open_tools.first().map(|(tool, _)| tool);
        if self.summary.open_tool.as_ref() != oldest {
            self.summary.open_tool = oldest.cloned();
        }
    }

    pub(crate) fn retry(
        &mut self,
        attempt: Option<u64>,
        max: Option<u64>,
        delay_ms: Option<u64>,
        error: &str,
        status: Option<u64>,
    ) {
        self.summary.retries += 1;
        let error = bounded(error, WORD_BYTES_MAX);
        let count = self.summary.retrying.as_ref().map_or(0, |retrying| retrying.count) + 1;
        self.summary.retrying = Some(Retrying { count, last_error: error.clone(), status });
        self.signal(Signal::Retry { attempt, max, delay_ms, error });
    }

    pub(crate) fn limit(&mut self, status: LimitStatus, until_unix_s: Option<i64>, detail: Option<&str>) {
        let detail = detail.map(|detail| bounded(detail, WORD_BYTES_MAX));
        self.summary.rate_limit = Some(RateLimit { status, until_unix_s, detail: detail.clone() });
        match status {
            LimitStatus::Rejected => self.signal(Signal::RateLimited { until_unix_s, detail }),
            LimitStatus::Allowed | LimitStatus::Warning => self.activity(),
        }
    }

    pub(crate) fn waits(&mut self, mut waiting: Waiting) {
        waiting.detail = waiting.detail.map(|detail| bounded(&detail, WORD_BYTES_MAX));
        if self.summary.waiting.as_ref() != Some(&waiting) {
            self.summary.waiting = Some(waiting.clone());
            self.signal(Signal::Waiting(waiting));
        }
    }

    pub(crate) fn waits_no_more(&mut self) {
        if self.summary.waiting.take().is_some() {
            self.signal(Signal::WaitingOver);
        }
    }

    /// An event of a kind that is not known.
    pub(crate) fn unknown(&mut self, kind: &str) {
        let kind = if kind.is_empty() { "untyped".to_owned() } else { bounded(kind, WORD_BYTES_MAX) };
        self.summary.unknown_events += 1;
        let kinds = &mut self.summary.unknown_kinds;
        if let Some(known) = kinds.iter_mut().find(|known| known.kind == kind) {
            known.count += 1;
        } else if kinds.len() < UNKNOWN_KINDS_MAX {
            kinds.push(UnknownKind { kind: kind.clone(), count: 1 });
        }
        self.signal(Signal::Unknown { kind });
    }

    pub(crate) fn note(&mut self, note: Note) {
        let notes = &mut self.summary.notes;
        if notes.contains(&note) {
            return;
        }
        if notes.len() < NOTES_MAX {
            notes.push(note);
        } else if notes.len() == NOTES_MAX {
            notes.push(Note::MoreNotes);
        }
    }

    pub(crate) fn child(&mut self, id: &str, description: Option<&str>) {
        let child = Child {
            id: bounded(id, WORD_BYTES_MAX),
            description: description.map(|text| bounded(text, WORD_BYTES_MAX)),
        };
        let children = &mut self.summary.children;
        if !children.iter().any(|known| known.id == child.id) && children.len() < CHILDREN_MAX {
            children.push(child);
        }
    }

    pub(crate) fn child_ended(&mut self, id: &str) {
        let id = bounded(id, WORD_BYTES_MAX);
        self.summary.children.retain(|child| child.id != id);
    }

    pub(crate) fn completed(&mut self, truncated: bool) {
        self.ended(AgentEnd::Completed { truncated });
    }

    /// Text that came before makes a failure partial, unless the cause takes the text back.
    pub(crate) fn failed(&mut self, cause: Cause, message: Option<&str>, vendor: &str) {
        let failure = Failure {
            cause,
            message: message.filter(|text| !text.is_empty()).map(|text| bounded(text, MESSAGE_BYTES_MAX)),
            vendor: bounded(vendor, WORD_BYTES_MAX),
        };
        let is_partial = self.has_text && cause.leaves_text();
        self.ended(if is_partial { AgentEnd::PartialFailed(failure) } else { AgentEnd::Failed(failure) });
    }

    /// The failure that ended it has a name, which was read after the end.
    pub(crate) fn name_failure(&mut self, name: &str, cause: impl Fn(Option<&str>) -> Cause) {
        if let Some(AgentEnd::Failed(failure) | AgentEnd::PartialFailed(failure)) = &mut self.summary.end {
            failure.cause = cause(failure.message.as_deref());
            failure.vendor = bounded(name, WORD_BYTES_MAX);
        }
    }

    pub(crate) fn interrupted(&mut self, vendor: &str) {
        self.ended(AgentEnd::Interrupted { vendor: bounded(vendor, WORD_BYTES_MAX) });
    }

    fn ended(&mut self, end: AgentEnd) {
        self.waits_no_more();
        // A call that has no result by now will not get one.
        self.open_tools.clear();
        self.tell_open_tool();
        self.summary.ends += 1;
        self.summary.end = Some(end);
        self.progress();
    }

    /// A thousand heartbeats in one piece of output say no more than one.
    fn signal(&mut self, signal: Signal) {
        let is_repeated = matches!(signal, Signal::Activity | Signal::Progress)
            && self.signals.last().is_some_and(|last| *last == signal);
        if !is_repeated {
            self.signals.push(signal);
        }
    }
}

/// The beginning of a text, cut where a character begins.
pub(crate) fn bounded(text: &str, bytes_max: usize) -> String {
    text[..text.floor_char_boundary(bytes_max)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::WaitingFor;

    #[test]
    fn a_cut_text_ends_with_a_whole_character() {
        assert_eq!(bounded("äöü", 3), "ä");
        assert_eq!(bounded("äöü", 6), "äöü");
        assert_eq!(bounded("äöü", 99), "äöü");
    }

    #[test]
    fn what_grows_with_the_stream_has_a_bound() {
        let mut tally = Tally::new(Program::Claude);
        for index in 0..5_000 {
            let word = format!("{index}{}", "x".repeat(5_000));
            tally.tool_started(&word, &word, Some(&word));
            tally.denied(&word);
            tally.tool_ended(&format!("x{word}"), Outcome { exit: Some(137), ..Outcome::of(false, &word) });
            tally.unknown(&word);
            tally.child(&word, Some(&word));
            tally.note(Note::UnknownReason { reason: word.clone() });
            tally.said_more(&word);
            tally.is_first(&word);
        }
        let summary = &tally.summary;
        assert_eq!((summary.tool_calls, summary.unknown_events), (5_000, 5_000));
        assert_eq!(summary.unknown_kinds.len(), UNKNOWN_KINDS_MAX);
        assert_eq!(summary.children.len(), CHILDREN_MAX);
        assert_eq!(summary.notes.len(), NOTES_MAX + 1);
        assert_eq!(summary.last_message.as_ref().map(String::len), Some(MESSAGE_BYTES_MAX));
        assert_eq!((summary.denied.len(), summary.killed_tools.len()), (TOOLS_NAMED_MAX, TOOLS_NAMED_MAX));
        assert_eq!((tally.open_tools.len(), tally.seen.len()), (OPEN_TOOLS_MAX, SEEN_MAX));
    }

    #[test]
    fn waiting_is_said_once_and_ends_once() {
        let mut tally = Tally::new(Program::Claude);
        let waiting = Waiting::in_stream(WaitingFor::Permission, Some("Bash".to_owned()));
        tally.waits(waiting.clone());
        tally.waits(waiting.clone());
        tally.waits_no_more();
        tally.waits_no_more();
        assert_eq!(tally.take_signals(), [Signal::Waiting(waiting), Signal::WaitingOver]);
    }

    #[test]
    fn the_oldest_open_call_is_told_and_an_end_closes_all_of_them() {
        let mut tally = Tally::new(Program::Claude);
        let open = |tally: &Tally| tally.summary.open_tool.as_ref().map(|tool| tool.name.clone());
        tally.tool_started("z", "Bash", None);
        tally.tool_started("a", "Read", None);
        assert_eq!(open(&tally).as_deref(), Some("Bash"));
        tally.tool_ended("z", Outcome::of(true, ""));
        assert_eq!(open(&tally).as_deref(), Some("Read"));
        tally.completed(false);
        assert_eq!(open(&tally), None);
    }

    #[test]
    fn retries_are_counted_until_the_model_answers() {
        let mut tally = Tally::new(Program::Claude);
        tally.retry(Some(1), None, None, "overloaded (529)", Some(529));
        tally.retry(Some(2), None, None, "authentication_failed (401)", Some(401));
        let retrying = tally.summary.retrying.clone().expect("it retries");
        assert_eq!((retrying.count, retrying.status), (2, Some(401)));
        tally.activity();
        assert!(tally.summary.retrying.is_some(), "a sign of life is no answer");
        tally.progress();
        assert_eq!((tally.summary.retrying.as_ref(), tally.summary.retries), (None, 2));
    }
}
