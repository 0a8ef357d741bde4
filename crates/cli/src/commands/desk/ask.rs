//! `callboard ask`: asks a person, and waits for the answer.
//!
//! Invariant: standard output has the answer of a person and nothing else, so a script can use it. Without an answer there is none, also if a
//! default took effect.

use std::time::Duration;

use callboard_engine::questions::{NewQuestion, QuestionEnd, shown, wait};
use callboard_kernel::{EntityId, Moment, one_line};
use callboard_ledger::Ledger;
use callboard_lifecycle::ActorClass;
use callboard_wire::AskRequest;
use clap::Args;

use crate::clock;
use crate::commands::tasks::answer::{asking, in_words};
use crate::error::{Error, Exit};
use crate::input::ids;
use crate::input::moment::span;
use crate::input::word::Reading;
use crate::show::screen::Screen;
use crate::store::Store;

/// Ask a person, and wait for the answer.
///
/// Inside a run the agent asks about its own run. The answer is printed. Exit codes: 0 somebody answered, 124 nobody did in time, 143 the
/// question was withdrawn.
#[derive(Args, Debug)]
pub(crate) struct AskArgs {
    /// The question, with everything that a person needs to answer it.
    #[arg(value_name = "TEXT")]
    text: String,
    /// An answer to choose. May be given several times; any text is an answer without it.
    #[arg(long = "option", short, value_name = "NAME")]
    options: Vec<String>,
    /// What will happen, or what the person should look at.
    #[arg(long, value_name = "TEXT")]
    context: Option<String>,
    /// Stop waiting after this long.
    #[arg(long, value_name = "SPAN", value_parser = Reading(span))]
    expires: Option<Duration>,
    /// What happens then: hold, deny or an option that is not a yes.
    #[arg(long, value_name = "DEFAULT", default_value = "hold")]
    on_expiry: String,
    /// What it is about: ID or unique prefix of a run or a task. The run that this is called from unless given.
    #[arg(long, value_name = "ID")]
    about: Option<String>,
    /// Only this person may answer. May be given several times.
    #[arg(long = "to", value_name = "NAME")]
    answerers: Vec<String>,
    /// Print the ID of the question instead of waiting.
    #[arg(long)]
    no_wait: bool,
    /// The question as JSON.
    #[arg(long)]
    json: bool,
}

impl AskArgs {
    /// Asks, and waits.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let ledger = store.open()?;
        let asking = asking(&ledger)?;
        let own =
            asking.actor.id.parse::<EntityId>().ok().filter(|_| asking.actor.class == ActorClass::Agent);
        let subject = match (&self.about, asking.actor.class) {
            (Some(_), ActorClass::Agent) => {
                return Err(Error::CommandLine {
                    because: "an agent asks about its own run".to_owned(),
                    instead: "leave --about out".to_owned(),
                });
            }
            (Some(typed), _) => Some(ids::find(&ledger, typed)?),
            (None, _) => own,
        };
        let request = AskRequest {
            text: self.text.clone(),
            context: self.context.clone(),
            options: self.options.clone(),
            expires_s: self.expires.map(|span| span.as_secs_f64()),
            on_expiry: Some(self.on_expiry.clone()),
            subject: None,
            answerers: self.answerers.clone(),
        };
        let question = NewQuestion::read(&request, subject, asking.now).map_err(in_words)?;
        let id = asking.ask(&question).map_err(in_words)?;
        if self.no_wait {
            match self.json {
                true => self.show(screen, &ledger, id)?,
                false => screen.print(&format!("{id}\n"))?,
            }
            return Ok(Exit::DONE);
        }
        if !self.json {
            eprintln!("callboard: asked {id}; waiting for an answer");
        }
        let until = self.expires.map_or(Moment::from_micros(i64::MAX), |span| asking.now.plus(span));
        let verdict = wait(&ledger, id, until, &clock::Real, &|| true).map_err(in_words)?;
        if self.json {
            self.show(screen, &ledger, id)?;
        }
        self.told(screen, verdict)
    }

    /// Tells the asker what became of the question.
    fn told(&self, screen: &Screen, verdict: Option<QuestionEnd>) -> Result<Exit, Error> {
        let quiet = |text: String| {
            if !self.json {
                eprintln!("callboard: {text}");
            }
        };
        Ok(match verdict {
            Some(QuestionEnd::Answered { answer, because, .. }) => {
                if !self.json {
                    screen.print(&format!("{}\n", one_line(&answer)))?;
                }
                if let Some(because) = because {
                    quiet(format!("because: {}", one_line(&because)));
                }
                Exit::DONE
            }
            Some(QuestionEnd::NoAnswer { default: Some(default) }) => {
                quiet(format!("no answer; the default is {default:?}"));
                Exit::TIMED_OUT
            }
            Some(QuestionEnd::NoAnswer { default: None }) => {
                quiet("no answer; it is denied".to_owned());
                Exit::TIMED_OUT
            }
            None => {
                quiet("no answer yet; the question stays in the inbox".to_owned());
                Exit::TIMED_OUT
            }
            Some(QuestionEnd::Withdrawn) => {
                quiet("the question was withdrawn".to_owned());
                Exit::TERMINATED
            }
        })
    }

    fn show(&self, screen: &Screen, ledger: &Ledger, id: EntityId) -> Result<(), Error> {
        let stored = ledger.entity(id).map_err(Error::Ask)?.ok_or_else(|| Error::NoEntity(id.to_string()))?;
        screen.json(&shown(ledger, &stored).map_err(Error::Ask)?)
    }
}
