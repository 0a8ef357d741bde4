//! What somebody with a SQL shell, or with the files of a store, does to its history: each attempt once, on both engines.
//!
//! Invariant: every attempt is refused by the database, refused by the ledger, or found by the next `verify`. The forger
//! computes every hash anew and has the views folded anew, so that nothing but the attempt itself gives it away; what he
//! does not have is the key. Deliberately absent: random edits; `forgery` has those.

mod attempts;
mod ground;

use anyhow::{Context, Result, bail};

use crate::harness::cluster::Cluster;
use crate::harness::driver::{Plan, Tally};
use attempts::ATTEMPTS;
use ground::Ground;

/// On which engines an attempt can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum On {
    Both,
    Sqlite,
    Postgres,
}

/// How an attempt ended before anybody looked.
pub(crate) enum Done {
    /// The change is in the store; `verify` has to find it.
    Made,
    /// It was refused.
    Refused,
}

/// One thing to try.
pub(crate) struct Attempt {
    pub(crate) what: &'static str,
    pub(crate) on: On,
    pub(crate) act: fn(&Ground<'_>) -> Result<Done>,
}

/// Makes every attempt on both engines.
pub(crate) fn run(plan: &Plan, tally: &mut Tally) -> Result<()> {
    // A removed safeguard is noticed on one engine, too, and a server takes longer to start than that.
    let cluster = plan.mutant.is_none().then(Cluster::start);
    let (mut refused, mut found) = (0, 0);
    let servers = [None].into_iter().chain(cluster.iter().map(Some));
    for server in servers {
        let original = Ground::new(server, "rewrites")?;
        let mine = if server.is_some() { On::Postgres } else { On::Sqlite };
        let chosen = ATTEMPTS.iter().filter(|attempt| attempt.on == On::Both || attempt.on == mine);
        for (number, attempt) in chosen.enumerate() {
            let mut ground = original.copy(&format!("rewrites_{number}"))?;
            let outcome = one(attempt, &ground, &mut refused, &mut found);
            let outcome = outcome.with_context(|| format!("{mine:?}: {}", attempt.what));
            tally.trial(outcome, || ground.keep(plan));
        }
    }
    tally.notes.push(format!("attempts at history: {refused} refused, {found} found by verify"));
    Ok(())
}

fn one(attempt: &Attempt, ground: &Ground<'_>, refused: &mut u64, found: &mut u64) -> Result<()> {
    match (attempt.act)(ground)? {
        Done::Refused => *refused += 1,
        Done::Made => {
            let report = ground.open()?.verify();
            let report = report.context("verify could not read the store, and does not say where")?;
            if report.ok {
                bail!("it went unnoticed");
            }
            *found += 1;
        }
    }
    Ok(())
}
