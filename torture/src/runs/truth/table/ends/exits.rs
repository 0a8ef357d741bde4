//! Exit codes: each is the command's own, also those that mean something to others.

use crate::runs::truth::row::{End, How, RUNGS, Row, WAYS, Within, gated, run};

/// Codes that mean something to a shell, to `timeout`, to systemd, or nothing at all.
const CODES: [i32; 16] = [1, 2, 3, 42, 64, 77, 124, 125, 126, 127, 128, 129, 130, 137, 143, 255];

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for rung in RUNGS {
        for way in WAYS {
            let started = |script: &str| run(script).rung(rung).way(way);
            rows.push(Row::new("exits with 0", started("exit 0"), End::completed()));
            for code in CODES {
                let script = format!("echo words; exit {code}");
                let start = started(&script);
                // A detached run is told of by `wait`, which passes on the same code.
                rows.push(Row::new(format!("exits with {code}"), start, End::exited(code)));
            }
            let child = "(exit 9); (kill -9 $$ & wait) 2>/dev/null; exit 5";
            let start = started(&child.replace("$$", "$(sh -c 'echo $PPID')"));
            rows.push(Row::new(
                "a child fails and another is killed, then exits with 5",
                start,
                End::exited(5),
            ));
            let start = started("echo there was an error, signal 9, Killed, timed out >&2; exit 0");
            let end = End::completed().may_say("signal").may_say("timed out");
            rows.push(Row::new("writes words of failure and exits with 0", start, end));
        }
        for code in [0, 3, 143] {
            let end = if code == 0 { End::completed() } else { End::exited(code) };
            let start = gated(&format!("exit {code}")).rung(rung).within(Within::PidNamespace);
            let row = Row::new(format!("exits with {code}"), start, end.how(How::Code(code.into())));
            // From outside nobody sees its processes, and nobody may guess.
            let alive = crate::runs::truth::row::Alive::WORKING.health(&["ok", "running", "unknown"]);
            rows.push(row.may(alive).then(crate::runs::truth::row::Step::Go));
        }
    }
    rows
}
