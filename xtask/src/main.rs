//! `cargo xtask`: everything a developer or CI does to this workspace besides building and running the
//! product.
//!
//! Invariant: CI and a developer run the same command, `cargo xtask test`, so a check that CI alone performs
//! cannot exist. Every command ends with 0 (done), 1 (it found something or failed) or 2 (asked for something
//! unknown); `bench`, `torture` and `simulate` pass on the code of what they run.
//!
//! Not here: releasing, and anything the product does for its users. There is no argument parser either: seven
//! commands with one optional word each are a `match`.

mod advisories;
mod api_page;
mod cargo;
mod checks;
mod generate;
mod kind_table;
mod machine_list;
mod npm;
mod page;
mod provision;
mod rehearsal;
mod tidy;

use std::process::ExitCode;

use anyhow::Result;

use crate::checks::Step;

const USAGE: &str = "\
Usage: cargo xtask <command>

  test              run every check, then say which failed
  test <check>      run one of them: fmt, web, clippy, tidy, generated, advisories, doc, torture, mutants, simulation, planted, kind, demo, browser, nextest
  tidy              check the rules that rustc and clippy cannot know
  generate          write the generated files
  generate --check  fail if a generated file is not what would be written
  bench <name> ...  run one benchmark, built for release
  torture <name> ...
                    run one torture, `all`, or the `mutants` that must fail
  simulate ...      play 10,000 seeds, one (`--seed N`), or the planted `mutants`
  help              print this";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let Some(task) = parse(&arguments) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    perform(&task).unwrap_or_else(|error| {
        eprintln!("xtask: {error:#}");
        ExitCode::FAILURE
    })
}

/// What one invocation asks for.
#[derive(Debug, PartialEq)]
enum Task<'a> {
    Test(Vec<&'static Step>),
    Tidy,
    Generate(generate::Mode),
    /// The name of the benchmark and whatever it takes itself.
    Bench(&'a [&'a str]),
    /// The name of the torture and whatever it takes itself.
    Torture(&'a [&'a str]),
    /// Whatever the simulation takes itself.
    Simulate(&'a [&'a str]),
    Help,
}

/// `None` means that the usage has to be shown.
fn parse<'a>(arguments: &'a [&'a str]) -> Option<Task<'a>> {
    match arguments {
        ["test"] => Some(Task::Test(checks::STEPS.iter().collect())),
        ["test", name] => checks::find(name).map(|step| Task::Test(vec![step])),
        ["tidy"] => Some(Task::Tidy),
        ["generate"] => Some(Task::Generate(generate::Mode::Write)),
        ["generate", "--check"] => Some(Task::Generate(generate::Mode::Check)),
        ["bench", benchmark @ ..] if !benchmark.is_empty() => Some(Task::Bench(benchmark)),
        ["torture", torture @ ..] if !torture.is_empty() => Some(Task::Torture(torture)),
        ["simulate", simulation @ ..] => Some(Task::Simulate(simulation)),
        ["help" | "--help" | "-h"] => Some(Task::Help),
        _ => None,
    }
}

fn perform(task: &Task<'_>) -> Result<ExitCode> {
    let root = cargo::workspace_root()?;
    match task {
        Task::Test(steps) => checks::run(steps, root)?,
        Task::Tidy => tidy::run(root)?,
        Task::Generate(mode) => generate::run(*mode)?,
        Task::Bench(benchmark) => {
            let cargo_part = ["run", "--release", "--locked", "-p", "callboard-bench", "--"];
            return cargo::exit_code(root, &[&cargo_part, *benchmark].concat());
        }
        Task::Torture(torture) => {
            provision::torture(root)?;
            let cargo_part = ["run", "--quiet", "--locked", "-p", "callboard-torture", "--"];
            return cargo::exit_code(root, &[&cargo_part, *torture].concat());
        }
        Task::Simulate(simulation) => {
            let cargo_part = ["run", "--quiet", "--locked", "-p", "callboard-simulation", "--"];
            return cargo::exit_code(root, &[&cargo_part, *simulation].concat());
        }
        Task::Help => println!("{USAGE}"),
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_is_chosen_by_its_name() {
        let Some(Task::Test(steps)) = parse(&["test", "clippy"]) else { panic!("not understood") };
        assert_eq!(steps.iter().map(|step| step.name).collect::<Vec<_>>(), ["clippy"]);
        let Some(Task::Test(steps)) = parse(&["test"]) else { panic!("not understood") };
        assert_eq!(steps.len(), checks::STEPS.len());
    }

    #[test]
    fn generate_writes_unless_asked_to_check() {
        assert_eq!(parse(&["generate"]), Some(Task::Generate(generate::Mode::Write)));
        assert_eq!(parse(&["generate", "--check"]), Some(Task::Generate(generate::Mode::Check)));
    }

    #[test]
    fn a_benchmark_needs_a_name_and_keeps_its_own_arguments() {
        assert_eq!(parse(&["bench", "append", "--rows", "9"]), Some(Task::Bench(&["append", "--rows", "9"])));
        assert_eq!(parse(&["bench"]), None);
    }

    #[test]
    fn a_torture_needs_a_name_and_keeps_its_own_arguments() {
        assert_eq!(parse(&["torture", "crash", "--full"]), Some(Task::Torture(&["crash", "--full"])));
        assert_eq!(parse(&["torture"]), None);
    }

    #[test]
    fn the_simulation_keeps_its_own_arguments() {
        assert_eq!(parse(&["simulate", "--seed", "7"]), Some(Task::Simulate(&["--seed", "7"])));
    }

    #[test]
    fn what_is_unknown_is_not_guessed() {
        for unknown in [&[][..], &["tset"], &["test", "clipy"], &["tidy", "size"], &["generate", "--chek"]] {
            assert_eq!(parse(unknown), None, "{unknown:?}");
        }
    }

    #[test]
    fn the_usage_names_every_check() {
        let line =
            USAGE.lines().find(|line| line.contains("test <check>")).expect("the line about one check");
        let names: Vec<&str> = checks::STEPS.iter().map(|step| step.name).collect();
        assert!(line.ends_with(&names.join(", ")), "{line}");
    }
}
