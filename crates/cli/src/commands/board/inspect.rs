//! `callboard inspect`: everything that is known about one entity.
//!
//! Invariant: what is not known is a dash, never a guess. Deliberately absent: how it came to be so; `why` tells that.

use callboard_engine::View;
use callboard_kernel::{Moment, Phase, Value, one_line};
use callboard_lifecycle::Words;
use clap::Args;

use crate::error::{Error, Exit};
use crate::input::moment::detailed;
use crate::show::record_text::{named, pairs, reason, typed};
use crate::show::screen::Screen;
use crate::show::style::{of_tone, paint};
use crate::store::Store;
use crate::store::at_moment::MomentArgs;

/// Show everything that is known about one entity.
#[derive(Args, Debug)]
pub(crate) struct InspectArgs {
    /// Its id, or as much of it as tells it apart.
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    look: MomentArgs,
    /// One JSON document.
    #[arg(long)]
    json: bool,
}

impl InspectArgs {
    /// Shows it.
    pub(crate) fn run(&self, screen: &Screen, store: &Store) -> Result<Exit, Error> {
        let look = self.look.open(store)?;
        let seen = look.entity(&self.id)?;
        let view = seen.view();
        if self.json {
            screen.json(&view)?;
        } else {
            screen.print(&text(screen, &view))?;
        }
        Ok(Exit::DONE)
    }
}

fn text(screen: &Screen, view: &View<'_>) -> String {
    let mut text = screen.title(&one_line(view.name()));
    text += &(paint(of_tone(view.state.tone), &view.chain) + "\n");
    for said in view.state.reasons.iter().flat_map(reason) {
        text += &screen.said(&said);
    }
    text.push('\n');
    text + &screen.properties(&properties(view))
}

fn properties(view: &View<'_>) -> Vec<(String, Vec<String>)> {
    let now = view.state.evaluated_at;
    let time = |moment: Option<Moment>| one(moment.map(|moment| detailed(moment, now)));
    let value = |value: Option<&Value>| one(value.map(typed));
    let mut all = vec![
        ("id", vec![view.id.to_string()]),
        ("kind", vec![view.kind.name().to_owned()]),
        ("state", one(view.state.lifecycle.map(|state| state.name().to_owned()))),
        ("health", one(view.state.health.map(|health| health.name().to_owned()))),
        ("delivery", one(view.state.delivery.map(|delivery| delivery.name().to_owned()))),
        ("severity", vec![view.state.severity.name().to_owned()]),
        ("version", vec![view.version.to_string()]),
        ("created", time(view.created_at)),
        ("started", time(view.started_at)),
        ("ended", time(view.ended_at)),
        ("last heard of", time(view.last_activity_at)),
        ("parent", one(view.parent.map(one_line))),
        ("host", value(view.host)),
        ("pid", value(view.pid)),
    ];
    all.extend(optional(view));
    let mut all: Vec<(String, Vec<String>)> =
        all.into_iter().map(|(name, values)| (name.to_owned(), values)).collect();
    all.extend(view.extras.iter().map(|(name, value)| (name.replace('_', " "), value_or_dash(value))));
    all.push(("why".to_owned(), vec![format!("callboard why {}", view.id)]));
    all
}

/// What only some have; nothing is said of it where there is none.
fn optional(view: &View<'_>) -> Vec<(&'static str, Vec<String>)> {
    let some = |value: Option<&Value>| value.map(typed).into_iter().collect::<Vec<_>>();
    let phase = view.state.phase.as_ref();
    vec![
        ("phase", phase.map(|phase| told(phase, view.state.evaluated_at)).into_iter().collect()),
        ("labels", pairs(view.labels)),
        ("exit code", some(view.exit.code)),
        ("signal", some(view.exit.signal)),
        ("out of memory", some(view.exit.oom)),
        ("timeout", some(view.timeout.configured_s.as_ref()).into_iter().map(|s| s + "s").collect()),
        ("ran for", some(view.timeout.elapsed_s.as_ref()).into_iter().map(|s| s + "s").collect()),
        ("artifacts", some(view.artifacts.dir)),
        ("contract", some(view.artifacts.contract)),
        ("verification", some(view.artifacts.verification)),
        ("recorded", named(view.facts.iter())),
    ]
}

/// What a run is doing, since when and why.
fn told(phase: &Phase, now: Moment) -> String {
    let by = phase.by.as_ref().map(|by| format!(" by {}", one_line(by)));
    let detail = phase.detail.as_ref().map(|detail| format!(": {}", one_line(detail)));
    let since = phase.since.map(|since| format!(", since {}", detailed(since, now)));
    [Some(phase.name.to_string()), by, detail, since].into_iter().flatten().collect()
}

fn value_or_dash(value: &Value) -> Vec<String> {
    one((*value != Value::Null).then(|| typed(value)))
}

fn one(value: Option<String>) -> Vec<String> {
    vec![value.unwrap_or_else(|| "—".to_owned())]
}
