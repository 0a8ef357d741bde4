//! Memory: who was killed for it, and that what a child did is not what the command did.

use anyhow::{Result, ensure};

use crate::runs::truth::play::Play;
use crate::runs::truth::row::{End, How, Row, Rung, Step, Way, Whom, argv, gated, run, there};
use crate::runs::truth::surfaces;

/// Takes memory until somebody stops it.
const GREEDY: &str = "tail /dev/zero";

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for way in [Way::Foreground, Way::Detached] {
        let limited = |script: &str| run(script).with(&["--memory", "48M"]).way(way).rung(Rung::Group);
        let oom = End::failed("run.failed.oom", 137).how(How::Signal(9)).fact("/exit/oom", true);
        rows.push(Row::new("the command runs out of memory", limited(&format!("exec {GREEDY}")), oom));
        let handled = format!("{GREEDY} 2>/dev/null; exit 0");
        let end = End::completed().may_say("out of memory").says(&["memory"]);
        rows.push(Row::new("a child runs out of memory and the command handles it", limited(&handled), end));
        let told = format!("{GREEDY} 2>/dev/null; exit 3");
        let end = End::exited(3).may_say("killed by").says(&["memory"]);
        rows.push(Row::new("a child runs out of memory and the command exits with 3", limited(&told), end));
        let dies = "kill -9 $$";
        let end = End::signaled(9).never(&["memory ran out", "run.failed.oom"]).fact("/exit/oom", false);
        rows.push(Row::new("killed within its limit", limited(dies), end));
        let later = format!("{GREEDY} 2>/dev/null; echo $$ > command; : > there; sleep 600");
        let start = limited(&later);
        let end = End::signaled(9).never(&["run.failed.oom"]).says(&["memory"]);
        let row = Row::new("a child runs out of memory, a stranger kills the command later", start, end);
        rows.push(row.then(Step::Await("there")).then(Step::Signal(Whom::Command, 9)));
        let start = limited("exit 0");
        rows.push(Row::new("needs little of its limit", start, End::completed().fact("/exit/oom", false)));
        let tree = run(&format!("{GREEDY} 2>/dev/null; exit 6")).with(&["--memory", "256M"]).rung(Rung::Tree);
        rows.push(Row::new("a child may not have more memory", tree.way(way), End::exited(6)));
    }
    for rung in [Rung::Group, Rung::Tree] {
        let row = Row::new(
            "a small command is not charged for its supervisor",
            argv(&["true"]).rung(rung),
            End::completed(),
        );
        rows.push(row.does(small));
        rows.push(limited_from_outside(rung));
        let start = there("exec sleep 600").rung(rung).way(Way::Detached);
        let end = End::signaled(9).never(&["run.failed.oom"]);
        rows.push(Row::new("killed without a limit", start, end).then(Step::Signal(Whom::Command, 9)));
    }
    rows
}

/// Makes a control group that is not the run's and has little memory, as that of a container.
const OUTER: &str = "M=/sys/fs/cgroup/memory$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup); \
                     [ -d $M ] || M=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup); \
                     G=$M/$CALLBOARD_TORTURE; mkdir $G && echo $G > outer || exit 70; \
                     if [ -e $G/memory.max ]; then L=memory.max; else L=memory.limit_in_bytes; fi; \
                     echo 64M > $G/$L || exit 70";

/// Memory that somebody else limits: whether it ran out is seen, or is not known; it is never denied.
fn limited_from_outside(rung: Rung) -> Row {
    let name = "memory runs out within a limit around callboard";
    let greedy = format!("exec {GREEDY}");
    let row = match rung {
        Rung::Group => {
            let wrapper = format!("{OUTER}; echo $$ > $G/cgroup.procs || exit 70; exec \"$@\"");
            let end = End::failed("run.failed.oom", 137).how(How::Signal(9)).fact("/exit/oom", true);
            Row::new(name, run(&greedy).wrapped(&["sh", "-c", &wrapper, "sh"]), end)
        }
        // Where no control groups are to be seen nobody can know.
        Rung::Tree => {
            let end = End::signaled(9).fact("/exit/oom", serde_json::Value::Null);
            let end = end.says(&["whether memory ran out is not known"]);
            Row::new(name, gated(&greedy).rung(rung), end).does(confine).then(Step::Go)
        }
    };
    row.does(|play| {
        play.wait_for_child()?;
        Ok(std::fs::remove_dir(std::fs::read_to_string(play.path("outer"))?.trim())?)
    })
}

/// Puts the supervisor and its command into such a control group from outside.
fn confine(play: &Play<'_>) -> Result<()> {
    let mut made = std::process::Command::new("sh");
    made.args(["-c", OUTER]).current_dir(&play.dir).env(crate::harness::program::TOKEN, &play.token);
    ensure!(made.status()?.success(), "no control group can be made");
    let group = std::fs::read_to_string(play.path("outer"))?;
    for whom in [Whom::Supervisor, Whom::Command] {
        std::fs::write(format!("{}/cgroup.procs", group.trim()), play.pid(whom)?.to_string())?;
    }
    Ok(())
}

/// `true` needs a few megabytes at most, whatever the supervisor needs.
fn small(play: &Play<'_>) -> Result<()> {
    let id = play.id()?;
    play.wait_for_child()?;
    let view = surfaces::inspected(play.place, &id)?;
    let most = &view["facts"]["usage"]["max_rss_bytes"];
    let is_small = most.is_null() || most.as_u64().is_some_and(|bytes| bytes < 8 << 20);
    ensure!(is_small, "true is said to have used {most} bytes");
    Ok(())
}
