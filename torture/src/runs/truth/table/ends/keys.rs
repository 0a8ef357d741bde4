//! Keys: what a person did at the terminal, and what a program made of it.

use std::time::Duration;

use crate::runs::truth::row::{Alive, End, How, RUNGS, Row, Step, Way, there};

const STOPPING: Alive = Alive::WORKING.phase(&["starting", "working", "stopping", "draining"]);
const CTRL_C: &[u8] = b"\x03";
const CTRL_BACKSLASH: &[u8] = b"\x1c";

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for rung in RUNGS {
        let row = |name: &str, script: &str, end: End| {
            let start = there(script).with(&["--grace", "500ms"]).rung(rung).way(Way::Terminal);
            Row::new(name, start, end.may_say("pressed Ctrl")).may(STOPPING)
        };
        let broken_off = || End::aborted("run.aborted.sigint").says(&["Ctrl-C"]);
        let typed = |row: Row| row.then(Step::Type(CTRL_C));
        rows.push(typed(row("Ctrl-C", "exec sleep 600", broken_off().how(How::Signal(2)))));
        // Shells exit with 130, most agent programs with 1, some with 0.
        for code in [130, 1, 0, 2] {
            let script = format!("trap 'exit {code}' INT; : > trapped; while :; do sleep 0.05; done");
            let name = format!("Ctrl-C, and the program exits with {code} because of it");
            rows.push(typed(
                row(&name, &script, broken_off().how(How::Code(code))).then(Step::Await("trapped")),
            ));
        }
        // The key was one of the program's own, and another one followed; what it exits with has nothing to do with it.
        for code in [130, 1, 0] {
            let script = "stty -isig -icanon min 1 time 0; : > trapped; head -c 2 >/dev/null; : > taken; read _ < go; exit CODE";
            let end = if code == 0 { End::completed() } else { End::exited(code) };
            let name = format!("Ctrl-C is a key of the program, which exits with {code} later");
            let row = row(&name, &script.replace("CODE", &code.to_string()), end.never(&["Ctrl-C"]));
            let row = typed(row.then(Step::Await("trapped"))).then(Step::Type(b"q"));
            rows.push(row.then(Step::Await("taken")).then(Step::Go));
        }
        let script = "trap ': > taken' INT; : > trapped; while [ ! -e taken ]; do sleep 0.05; done; read _ < go; exit 3";
        let later = row("Ctrl-C is caught, and the program exits with 3 much later", script, End::exited(3));
        let later = typed(later.then(Step::Await("trapped"))).then(Step::Await("taken"));
        rows.push(later.then(Step::Hold(Duration::from_secs(8))).then(Step::Go).slow());
        let quit = End::aborted("run.aborted.sigint").or("run.aborted.sigquit").never(&["Ctrl-C"]).exits(130);
        let quit = row("Ctrl-backslash", "ulimit -c 0; exec sleep 600", quit.how(How::Signal(3)));
        rows.push(quit.then(Step::Type(CTRL_BACKSLASH)));
        let gone = End::cancelled("run.cancelled.sigterm").or("run.cancelled.sighup");
        let gone = row("the terminal is closed", "exec sleep 600", gone.may_say("terminal was closed"));
        rows.push(gone.then(Step::HangUp));
        rows.push(row("nobody types anything", "exit 130", End::exited(130).never(&["Ctrl-C"])));
    }
    rows
}
