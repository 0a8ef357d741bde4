//! `cargo xtask test`: the checks a commit has to pass, in the order in which they say the most for the least
//! time.
//!
//! Invariant: a failure does not hide the checks behind it. All of them run, then the time of each is printed, and at
//! last what failed, with the command that repeats only that check. nextest comes last, so that its summary is the
//! last thing above the times.
//!
//! Not here: the checks themselves, which are cargo's, npm's, the registries', `tidy`'s and `generate`'s.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};

use crate::{advisories, cargo, generate, page, provision, rehearsal, tidy};

/// One check: a name to ask for it, and what it does.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) name: &'static str,
    work: Work,
}

#[derive(Debug)]
enum Work {
    Cargo(&'static [&'static str]),
    /// Cargo with tools that may have to be installed first.
    Nextest(&'static [&'static str]),
    /// Cargo with a PostgreSQL server that may have to be installed and the program that has to be built first.
    WithServer(&'static [&'static str]),
    InProcess(fn(&Path) -> Result<()>),
}

/// Every check, in order.
pub(crate) const STEPS: &[Step] = &[
    Step { name: "fmt", work: Work::Cargo(&["fmt", "--all", "--check"]) },
    // Before anything is compiled, because the server takes the page in that it finds built.
    Step { name: "web", work: Work::InProcess(page::check) },
    Step {
        name: "clippy",
        work: Work::Cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"]),
    },
    Step { name: "tidy", work: Work::InProcess(tidy::run) },
    Step { name: "generated", work: Work::InProcess(|_| generate::run(generate::Mode::Check)) },
    Step { name: "advisories", work: Work::InProcess(advisories::check) },
    Step { name: "doc", work: Work::Cargo(&["test", "--doc", "--workspace", "--locked"]) },
    Step {
        name: "torture",
        work: Work::WithServer(&["run", "--quiet", "--locked", "-p", "callboard-torture", "--", "all"]),
    },
    Step {
        name: "mutants",
        work: Work::WithServer(&["run", "--quiet", "--locked", "-p", "callboard-torture", "--", "mutants"]),
    },
    Step {
        name: "simulation",
        work: Work::Cargo(&["run", "--quiet", "--locked", "-p", "callboard-simulation"]),
    },
    Step {
        name: "planted",
        work: Work::Cargo(&["run", "--quiet", "--locked", "-p", "callboard-simulation", "--", "mutants"]),
    },
    Step { name: "kind", work: Work::InProcess(rehearsal::check) },
    Step { name: "demo", work: Work::Cargo(&["run", "--quiet", "--locked", "--", "demo", "--once"]) },
    Step { name: "browser", work: Work::InProcess(page::browse) },
    Step { name: "nextest", work: Work::Nextest(&["nextest", "run", "--workspace", "--locked"]) },
];

// A name is the identity of a check; two checks are never told apart by what they do.
impl PartialEq for Step {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// The check of that name.
pub(crate) fn find(name: &str) -> Option<&'static Step> {
    STEPS.iter().find(|step| step.name == name)
}

/// Runs the checks in order and prints what each took.
pub(crate) fn run(steps: &[&Step], root: &Path) -> Result<()> {
    if steps.len() > 1 && steps.iter().any(|step| matches!(step.work, Work::Nextest(_))) {
        provision::agents_ahead(root)?;
    }
    let (times, outcome) = all(steps, |step| {
        eprintln!("\n== {}: {}", step.name, step.describe());
        let outcome = step.perform(root);
        if let Err(error) = &outcome {
            eprintln!("== {} failed: {error:#}", step.name);
        }
        outcome
    });
    eprintln!();
    for (step, time) in times {
        eprintln!("{:<10}{:>8.1} s", step.name, time.as_secs_f64());
    }
    outcome
}

impl Step {
    fn describe(&self) -> String {
        match self.work {
            Work::Cargo(arguments) | Work::Nextest(arguments) | Work::WithServer(arguments) => {
                format!("cargo {}", arguments.join(" "))
            }
            Work::InProcess(_) => format!("cargo xtask test {}", self.name),
        }
    }

    fn perform(&self, root: &Path) -> Result<()> {
        match self.work {
            Work::Cargo(arguments) => cargo::run(root, arguments),
            Work::Nextest(arguments) => {
                let variables = provision::nextest(root)?;
                let outcome = cargo::run_with(root, arguments, &variables);
                provision::report_agents();
                outcome
            }
            Work::WithServer(arguments) => {
                provision::torture(root)?;
                cargo::run(root, arguments)
            }
            Work::InProcess(check) => check(root),
        }
    }
}

/// The time of every check, and the failures of all of them as one.
fn all<'a>(
    steps: &[&'a Step],
    mut perform: impl FnMut(&Step) -> Result<()>,
) -> (Vec<(&'a Step, Duration)>, Result<()>) {
    let (mut times, mut failures) = (Vec::new(), Vec::new());
    for &step in steps {
        let start = Instant::now();
        let outcome = perform(step);
        times.push((step, start.elapsed()));
        if let Err(error) = outcome {
            let name = step.name;
            failures
                .push(format!("check `{name}` failed: {error:#}\nrepeat only it: cargo xtask test {name}"));
        }
    }
    let outcome = if failures.is_empty() { Ok(()) } else { Err(anyhow!(failures.join("\n"))) };
    (times, outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_runs_and_each_failure_says_how_to_repeat_it() {
        let steps: Vec<&Step> = STEPS.iter().collect();
        let (times, outcome) = all(&steps, |step| match step.name {
            "tidy" => Err(anyhow!("2 findings")),
            "demo" => Err(anyhow!("exit status 1")),
            _ => Ok(()),
        });
        let ran: Vec<&str> = times.iter().map(|(step, _)| step.name).collect();
        assert_eq!(ran, STEPS.iter().map(|step| step.name).collect::<Vec<_>>());
        let message = outcome.expect_err("two checks failed").to_string();
        assert_eq!(
            message.lines().collect::<Vec<_>>(),
            [
                "check `tidy` failed: 2 findings",
                "repeat only it: cargo xtask test tidy",
                "check `demo` failed: exit status 1",
                "repeat only it: cargo xtask test demo",
            ]
        );
    }

    #[test]
    fn without_a_failure_the_run_passes() {
        let steps: Vec<&Step> = STEPS.iter().collect();
        assert!(all(&steps, |_| Ok(())).1.is_ok());
    }

    #[test]
    fn what_needs_a_server_gets_one_before_it_starts() {
        let provided = |step: &&Step| matches!(step.work, Work::Nextest(_) | Work::WithServer(_));
        let names: Vec<&str> = STEPS.iter().filter(provided).map(|step| step.name).collect();
        assert_eq!(names, ["torture", "mutants", "nextest"]);
    }

    #[test]
    fn names_are_unique_and_nextest_is_last() {
        let mut names: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        assert_eq!(names.last(), Some(&"nextest"));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), STEPS.len());
    }
}
