//! Waiting for several runs: the exit code is that of the first that did not end well.

use anyhow::{Result, ensure};

use crate::harness::program::TOKEN;
use crate::runs::truth::play::Play;
use crate::runs::truth::row::{RUNGS, Row};

/// What each run does, and what a shell is told.
const CASES: [(&[&str], i32); 12] = [
    (&["exit 0", "exit 3"], 3),
    (&["exit 3", "exit 0"], 3),
    (&["exit 0", "exit 0"], 0),
    (&["exit 0", "kill -9 $$"], 137),
    (&["kill -15 $$", "exit 0"], 143),
    (&["exit 3", "exit 4"], 3),
    (&["exit 0", "exit 0", "exit 5"], 5),
    (&["exit 0", "exit 6", "exit 0"], 6),
    (&["exit 0", "sleep 0.3; exit 1"], 1),
    (&["sleep 0.3; exit 0", "exit 2"], 2),
    (&["exit 0", "exit 124"], 124),
    (&["exit 1"], 1),
];

pub(crate) fn rows() -> Vec<Row> {
    let of_codes = CASES.iter().flat_map(|(scripts, code)| {
        // The rung changes nothing here; both orders of starting do.
        RUNGS.iter().enumerate().map(move |(number, _)| {
            let name =
                format!("wait for {}, {}", scripts.join(" and "), ["started in order", "in reverse"][number]);
            Row::free(name).does(move |play| told(play, scripts, *code, number == 1))
        })
    });
    let late = Row::free("wait for one that does not end").does(|play| {
        let id = begin(play, "sleep 600")?;
        let waited = play.place.board.command(&["wait", "--timeout", "300ms", &id]).output()?;
        ensure!(waited.status.code() == Some(124), "wait ended with {}", waited.status);
        play.place.board.ask(&["stop", "--now", &id]).map(drop)
    });
    of_codes.chain([late]).collect()
}

fn begin(play: &Play<'_>, script: &str) -> Result<String> {
    let mut command = play.place.board.command(&["run", "--detach", "--", "sh", "-c", script]);
    let output = command.env(TOKEN, &play.token).current_dir(&play.dir).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

fn told(play: &Play<'_>, scripts: &[&str], code: i32, is_reverse: bool) -> Result<()> {
    let mut order: Vec<usize> = (0..scripts.len()).collect();
    if is_reverse {
        order.reverse();
    }
    let mut ids = vec![String::new(); scripts.len()];
    for number in order {
        ids[number] = begin(play, scripts[number])?;
    }
    let words: Vec<&str> = ["wait"].into_iter().chain(ids.iter().map(String::as_str)).collect();
    let waited = play.place.board.command(&words).output()?;
    ensure!(waited.status.code() == Some(code), "wait ended with {} and not with {code}", waited.status);
    Ok(())
}
