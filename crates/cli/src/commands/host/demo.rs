//! `callboard demo`: the whole of it on an empty machine, with scripted agents and a store that goes away.
//!
//! Invariant: nothing is left behind, whichever way it ends: no process, no file, and nothing in the user's own store.
//! Deliberately absent: the story itself.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use callboard_ledger::Ledger;
use callboard_notify::Settings;
use callboard_server::{Config, Runner, Server};
use clap::Args;

use crate::clock::Real;
use crate::commands::host::serve::{REAP, STREAMS, open};
use crate::demo::{Board, Scene, Stage, clear, play};
use crate::error::{Error, Exit, tell};
use crate::launch::background::Background;
use crate::show::screen::Screen;
use crate::show::style::{FAINT, paint};
use crate::show::table::{Cell, Column, Table};
use crate::store::Store;
use crate::store::sending;

/// Show everything with scripted agents, on a store that goes away.
///
/// Starts a small fleet that shows every outcome, a stall, a missing artifact, a killed supervisor and a question that
/// waits, and a board of twenty tasks whose first crew is killed, and serves the dashboard over it until Ctrl-C. --once plays the story through, checks every state and the log,
/// and ends with 0 if all is as it must be.
#[derive(Args, Debug)]
pub(crate) struct DemoArgs {
    /// Play it through, check it, and end.
    #[arg(long)]
    once: bool,
}

impl DemoArgs {
    /// Plays it.
    pub(crate) fn run(&self, screen: &Screen) -> Result<Exit, Error> {
        let stage = Stage::build().map_err(|source| Error::File(std::env::temp_dir(), source))?;
        let path = stage.store().into_os_string();
        let store = Store::new(Some(&path), None);
        let ledger = store.open()?;
        let runner: Arc<dyn Runner> = Arc::new(Background::new(store.again(), Vec::new()));
        let server = Server::bind(Config {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            allow_remote: false,
            host_names: Vec::new(),
            ledger: ledger.clone(),
            state_dir: store.state_dir()?,
            clock: Arc::new(Real),
            runner: Arc::clone(&runner),
            operator: sending::operator().id,
            rate: 200,
            streams: STREAMS,
            reap: (!self.once).then_some(REAP),
            traces: None,
            notifications: Settings::off(),
        })
        .map_err(Error::Serve)?;
        match self.once {
            true => once(screen, &stage, &ledger, runner.as_ref(), server),
            false => stay(screen, &stage, &ledger, runner.as_ref(), server),
        }
    }
}

/// Serves until somebody has seen enough.
fn stay(
    screen: &Screen,
    stage: &Stage,
    ledger: &Ledger,
    runner: &dyn Runner,
    server: Server,
) -> Result<Exit, Error> {
    let link = server.login().map_err(Error::Serve)?;
    let stopper = server.stopper();
    let mut board = None;
    let (played, ()) = std::thread::scope(|scope| {
        let serving = scope.spawn(move || server.run());
        let played = play(stage, ledger, runner);
        match &played {
            Ok(_) => {
                let said = format!(
                    "A fleet of scripted agents is at work. Look at it once within a minute:\n{link}\n"
                );
                drop(screen.print(&(said + &paint(FAINT, "Ctrl-C ends it and removes everything.") + "\n")));
                open(&link, stage.store().parent().unwrap_or(Path::new(".")));
                let begun = Board::begin(stage, ledger).and_then(|mut board| {
                    board.replace_crew(ledger)?;
                    Ok(board)
                });
                board = begun.map_err(|error| tell(&format!("the board is left out: {error}\n"))).ok();
            }
            Err(_) => stopper.stop(),
        }
        (played, serving.join().unwrap_or_default())
    });
    drop(board);
    let (failed, fleet) = match played {
        Ok(fleet) => (None, Some(fleet)),
        Err(error) => (Some(error), None),
    };
    clear(ledger, fleet)?;
    runner.tidy();
    tell("everything was stopped and removed\n");
    failed.map_or(Ok(Exit::DONE), Err)
}

/// Plays the story through and checks it.
fn once(
    screen: &Screen,
    stage: &Stage,
    ledger: &Ledger,
    runner: &dyn Runner,
    server: Server,
) -> Result<Exit, Error> {
    let stopper = server.stopper();
    let told = std::thread::scope(|scope| {
        let serving = scope.spawn(move || server.run());
        let played = play(stage, ledger, runner);
        let told = played.and_then(|fleet| {
            // A crew reaps what is dead, so the fleet is looked at before.
            let settled = fleet.settle(ledger).and_then(|mut scenes| {
                scenes.extend(fleet.reap(ledger)?);
                let mut board = Board::begin(stage, ledger)?;
                board.replace_crew(ledger)?;
                scenes.extend(board.settle(ledger)?);
                Ok(scenes)
            });
            clear(ledger, Some(fleet))?;
            settled
        });
        stopper.stop();
        drop(serving.join());
        told
    });
    runner.tidy();
    let scenes = told?;
    let report = ledger.verify().map_err(Error::Ask)?;
    screen.print(&screen.table(&table(&scenes)))?;
    let is_right = scenes.iter().all(|scene| scene.is_right);
    let said = match report.ok {
        true => format!("the log of {} records holds\n", report.records),
        false => "the log does not hold\n".to_owned(),
    };
    screen.print(&said)?;
    Ok(if is_right && report.ok { Exit::DONE } else { Exit::FAILED })
}

fn table(scenes: &[Scene]) -> Table {
    let columns = [
        Column::names("", 9),
        Column::text("AGENT", 8, 20),
        Column::names("STATE", 7),
        Column::names("MUST SAY", 5),
    ];
    let row = |scene: &Scene| {
        [
            Cell::text(if scene.is_right { "✓" } else { "✗" }),
            Cell::text(scene.title.as_str()),
            Cell::text(scene.chain.as_str()),
            Cell::text(scene.expected),
        ]
    };
    Table::new(columns, scenes.iter().map(row).collect())
}
