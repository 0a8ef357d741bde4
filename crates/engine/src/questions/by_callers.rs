//! Asking and answering through a surface: who may ask about what, who may answer, and who may look.
//!
//! Invariant: only a person answers. An agent asks about its own run and its own task, and looks at what it asked itself.

use std::time::Duration;

use callboard_kernel::{Actor, EntityId, fact};
use callboard_ledger::Stored;
use callboard_lifecycle::{ActorClass, Kind};
use callboard_wire::{AnswerRequest, AskRequest};

use super::answering::Answering;
use super::inbox::asker;
use super::new_question::{NewQuestion, PermissionRequest};
use crate::tasks::{ActError, Acting, Caller, Performed, TaskError, not_allowed, only_looks, said, unfit};

impl Acting<'_> {
    /// Asks a person, about the run of the caller unless the request names something else.
    pub fn ask(&self, request: &AskRequest) -> Result<(EntityId, Performed), ActError> {
        let named = request.subject.as_deref().map(entity_id).transpose()?;
        let (asking, subject) = match &self.caller {
            Caller::Viewer => return Err(only_looks()),
            Caller::Person(name) => (self.asking(Actor::new(ActorClass::Operator, name.as_str())), named),
            Caller::Agent(run) => {
                let own = run.parse::<EntityId>().ok();
                let task = self.own_task()?;
                if named.is_some() && named != own && named != task {
                    let help = "leave the subject out, or name your own run or task";
                    return Err(not_allowed("an agent asks about its own run and its own task", help));
                }
                (self.asking(Actor::new(ActorClass::Agent, run.as_str())), named.or(own))
            }
        };
        if let Some(subject) = subject
            && self.ledger.entity(subject)?.is_none()
        {
            return Err(TaskError::NotFound { id: subject }.into());
        }
        let question = NewQuestion::read(request, subject, self.now)?;
        let mut id = asking.fresh_id(Kind::Question);
        let performed = self.once(id, || {
            id = asking.ask(&question)?;
            Ok(())
        })?;
        Ok((id, performed))
    }

    /// Asks a person a question that a task cannot go on without: the caller gives the task back, which waits for the answer.
    pub fn ask_for_task(
        &self,
        task: EntityId,
        request: &AskRequest,
        epoch: Option<u64>,
    ) -> Result<EntityId, ActError> {
        let question = NewQuestion::read(request, Some(task), self.now)?;
        let mut asked = None;
        self.once(task, || {
            let (asking, hold) = self.hold(task, epoch)?;
            asked = Some(asking.block_on_answer(&hold, &question)?);
            Ok(())
        })?;
        let before = || self.ledger.entity(task).map(|task| task.and_then(|it| id_of_question(&it)));
        match asked.map_or_else(before, |id| Ok(Some(id)))? {
            Some(id) => Ok(id),
            None => Err(unfit("the question is not recorded", "ask again").into()),
        }
    }

    /// Asks whether the agent that calls may use a tool.
    pub fn ask_permission(&self, tool: &str, input: String, wait: Duration) -> Result<EntityId, ActError> {
        let (actor, run) = match &self.caller {
            Caller::Viewer => return Err(only_looks()),
            Caller::Person(name) => (Actor::new(ActorClass::Operator, name.as_str()), None),
            Caller::Agent(run) => (Actor::new(ActorClass::Agent, run.as_str()), run.parse::<EntityId>().ok()),
        };
        let session = run.map(|run| self.ledger.entity(run)).transpose()?.flatten();
        let place = session.and_then(|session| {
            let facts = &session.entity.facts;
            facts.read(fact::PROJECT).or_else(|| facts.read(fact::CWD)).map(str::to_owned)
        });
        let request = PermissionRequest { run, tool: tool.to_owned(), input, place, wait };
        Ok(self.asking(actor).ask_permission(&request)?)
    }

    /// A person answers.
    pub fn answer(&self, id: EntityId, request: &AnswerRequest) -> Result<Performed, ActError> {
        let asking = self.person()?;
        let because = request.because.as_deref().unwrap_or_default();
        if !because.is_empty() {
            said(Some(because), "")?;
        }
        let answer = Answering { option: request.option.trim(), because, always: request.always.as_deref() };
        self.once(id, || Ok(asking.answer(id, &answer)?))
    }

    /// Whoever asked takes a question back.
    pub fn retract(&self, id: EntityId) -> Result<Performed, ActError> {
        let actor = match &self.caller {
            Caller::Viewer => return Err(only_looks()),
            Caller::Person(name) => Actor::new(ActorClass::Operator, name.as_str()),
            Caller::Agent(run) => Actor::new(ActorClass::Agent, run.as_str()),
        };
        let asking = self.asking(actor);
        self.once(id, || Ok(asking.retract(id, "whoever asked took it back")?))
    }

    /// A person revokes a standing rule.
    pub fn revoke_rule(&self, id: EntityId, because: Option<&str>) -> Result<Performed, ActError> {
        let asking = self.person()?;
        let because = said(because, "revoked")?;
        self.once(id, || Ok(asking.revoke_rule(id, because)?))
    }

    /// A question that the caller may look at: an agent sees what it asked itself.
    pub fn look_at_question(&self, id: EntityId) -> Result<Stored, ActError> {
        let found = self.ledger.entity(id)?.filter(|_| id.kind() == Kind::Question);
        let stored = found.ok_or(TaskError::NotFound { id })?;
        match &self.caller {
            Caller::Person(_) | Caller::Viewer => Ok(stored),
            Caller::Agent(run) if asker(self.ledger, &stored)?.as_deref() == Some(run) => Ok(stored),
            Caller::Agent(_) => {
                Err(not_allowed(format!("{id} was asked by somebody else"), "look at your own questions"))
            }
        }
    }
}

fn id_of_question(task: &Stored) -> Option<EntityId> {
    task.entity.facts.read(fact::QUESTION).and_then(|id| id.parse().ok())
}

fn entity_id(text: &str) -> Result<EntityId, TaskError> {
    text.parse()
        .map_err(|_| unfit(format!("{text:?} is not an ID"), "give a whole ID, such as ses_01k7c3h2f4x8…"))
}
