//! What an agent's stream says while it runs, one fact at a time.
//!
//! Invariant: a signal is about this moment; what has added up is in the summary. `Progress` and `Activity` feed the two
//! clocks of a run: a heartbeat or a retry shows that the agent lives, a result or a finished block that it gets on.

use serde::Serialize;

/// One fact from the stream.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(tag = "signal", rename_all = "snake_case")]
pub enum Signal {
    /// Something came of it: a finished block, a tool's result, a changed file, an end.
    Progress,
    /// It lives: an event that is no result.
    Activity,
    /// It stands still until a person does something.
    Waiting(Waiting),
    /// It goes on after a person answered, or stopped waiting.
    WaitingOver,
    /// A request to the model failed and is made again.
    Retry {
        /// Which attempt comes next, counted from 1.
        attempt: Option<u64>,
        /// After how many it gives up.
        max: Option<u64>,
        /// How long it pauses first.
        delay_ms: Option<u64>,
        /// What went wrong, in the vendor's words.
        error: String,
    },
    /// The provider takes no more requests for a while.
    RateLimited {
        /// When it takes them again, in seconds since 1970.
        until_unix_s: Option<i64>,
        /// Which limit it is, in the vendor's words.
        detail: Option<String>,
    },
    /// A tool was called.
    ToolStarted {
        /// The vendor's id of the call.
        id: String,
        /// The tool.
        name: String,
    },
    /// A tool gave its result.
    ToolEnded {
        /// The vendor's id of the call.
        id: String,
        /// The tool, if its call was seen.
        name: Option<String>,
        /// Whether the result is not an error.
        ok: bool,
    },
    /// An event whose meaning is not known; it shows that the agent lives and nothing more.
    Unknown {
        /// What the vendor calls it.
        kind: String,
    },
}

/// What a person has to do before the agent goes on.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Waiting {
    /// What kind of answer it needs.
    pub cause: WaitingFor,
    /// What is asked, such as the tool that wants permission.
    pub detail: Option<String>,
    /// From where this is known.
    pub known_by: KnownBy,
}

/// From where it is known that an agent waits.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KnownBy {
    /// An event of its structured stream.
    Stream,
    /// A status that it writes to its terminal for programs to read.
    Status,
    /// The title it gives its terminal.
    Title,
    /// A notification it shows to a person, whose words were interpreted.
    Notification,
}

impl KnownBy {
    /// Whether the program said so in as many words, and nothing was interpreted.
    pub const fn is_observed(self) -> bool {
        match self {
            Self::Stream | Self::Status => true,
            Self::Title | Self::Notification => false,
        }
    }

    /// The word for it in a record.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::Status => "terminal status",
            Self::Title => "terminal title",
            Self::Notification => "terminal notification",
        }
    }
}

impl Waiting {
    /// A wait that the structured stream tells.
    pub const fn in_stream(cause: WaitingFor, detail: Option<String>) -> Self {
        Self { cause, detail, known_by: KnownBy::Stream }
    }
}

/// The kinds of answers an agent waits for.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitingFor {
    /// Leave to use a tool.
    Permission,
    /// An answer to a question.
    Question,
    /// A login.
    Login,
    /// Something, and the stream does not say what.
    Action,
}
