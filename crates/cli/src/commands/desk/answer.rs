//! `callboard answer`: a person answers a question, or looks at it before they do.

use callboard_engine::questions::{Answering, shown};
use callboard_kernel::{EntityId, question};
use callboard_ledger::{Ledger, Page, RecordScope, Stored};
use callboard_lifecycle::Kind;
use callboard_lifecycle::question::QuestionSource;
use clap::Args;

use super::question_text::whole;
use crate::commands::tasks::answer::{asking, entity_id, not_done};
use crate::commands::tasks::finish_approved;
use crate::error::{Error, Exit};
use crate::input::ids::Short;
use crate::show::screen::Screen;
use crate::store::Store;
use crate::store::sending::{json, need_person};

/// Answer a question; without OPTION, show it.
///
/// The first answer counts; whoever answers later is told what it was. An answer about a task does what it says: a plan is opened, a result
/// is merged.
#[derive(Args, Debug)]
pub(crate) struct AnswerArgs {
    /// ID or unique prefix.
    #[arg(value_name = "ID")]
    id: String,
    /// One of its options, or any text if it has none.
    #[arg(value_name = "OPTION")]
    option: Option<String>,
    /// Why; whoever asked is told.
    #[arg(long, value_name = "TEXT", default_value = "", requires = "option")]
    because: String,
    /// Make a standing rule of the answer: one of the scopes that the question lists.
    #[arg(long, value_name = "SCOPE", requires = "option")]
    always: Option<String>,
    /// The record, or the question, as JSON.
    #[arg(long)]
    json: bool,
}

impl AnswerArgs {
    /// Answers it.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let Some(option) = &self.option else {
            let ledger = store.open_to_look()?;
            return self.show(screen, &ledger, entity_id(&ledger, &self.id, Kind::Question)?);
        };
        let ledger = store.open_existing()?;
        need_person("answering", Some(&ledger))?;
        let id = entity_id(&ledger, &self.id, Kind::Question)?;
        let asking = asking(&ledger)?;
        let answer = Answering { option, because: &self.because, always: self.always.as_deref() };
        if let Err(error) = asking.answer(id, &answer) {
            return not_done(screen, self.json, error);
        }
        let stored = stored(&ledger, id)?;
        // The crew merges what was approved; where none is at work, it is done here and now.
        if let Some(subject) = question::subject(&stored.entity.facts)
            && question::source(&stored.entity.facts) == Some(QuestionSource::Review)
            && let Ok(task) = asking.task(subject)
            && callboard_kernel::task::is_moved_by(&task.entity, callboard_kernel::task::MERGE_QUEUE)
            && let Err(error) = finish_approved(store, &asking, &task)
        {
            return not_done(screen, self.json, error);
        }
        if !self.json {
            return self.show(screen, &ledger, id);
        }
        let page = Page { after: 0, limit: usize::MAX, scope: RecordScope::Entity(id) };
        let records = ledger.records(page).map_err(Error::Ask)?;
        let answered =
            records.iter().rev().find(|record| record.from_state == "asked" && record.to_state != "asked");
        if let Some(record) = answered {
            screen.data_line(&json(record)?)?;
        }
        Ok(Exit::DONE)
    }

    fn show(&self, screen: &Screen, ledger: &Ledger, id: EntityId) -> Result<Exit, Error> {
        let question = shown(ledger, &stored(ledger, id)?).map_err(Error::Ask)?;
        match self.json {
            true => screen.json(&question)?,
            false => screen.print(&whole(screen, &question, &Short::among(std::iter::once(id)).of(id)))?,
        }
        Ok(Exit::DONE)
    }
}

fn stored(ledger: &Ledger, id: EntityId) -> Result<Stored, Error> {
    ledger.entity(id).map_err(Error::Ask)?.ok_or_else(|| Error::NoEntity(id.to_string()))
}
