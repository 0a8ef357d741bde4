//! Questions: what needs a person is asked, answered once from anywhere, and told to whoever asked.
//!
//! Invariant: an answer and what it does are one group, so of two answers one is recorded and the other is refused. Only a
//! question that Callboard itself asked does something to its subject; the words of an agent decide nothing. Deliberately absent: surfaces.

mod answering;
mod asking;
mod by_callers;
mod inbox;
mod new_question;
mod rules;
mod service;
#[cfg(test)]
mod tests;
mod waiting;

pub use answering::Answering;
pub(crate) use answering::{APPROVE, CANCEL, GO_ON, REJECT, SEND_BACK};
pub use inbox::{inbox, shown};
pub use new_question::{NewQuestion, PermissionRequest};
pub use rules::rules;
pub use service::QuestionService;
pub use waiting::{QuestionEnd, question_end, wait};
