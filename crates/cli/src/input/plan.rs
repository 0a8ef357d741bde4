//! A plan: a file that names tasks and what each depends on.
//!
//! Invariant: a plan is checked as a whole before anything is recorded, and every flaw that can be found is told at once, each with its
//! line and column. The fields of a task are those of a request, so no list of them is kept here. Deliberately absent: recording.

mod order;
mod reading;
mod tree;

use std::fmt;

use callboard_engine::tasks::PlanTask;
use callboard_lifecycle::ActorClass;

pub(crate) use self::tree::Place;

/// A plan that can be recorded.
#[derive(Debug)]
pub(crate) struct Plan {
    /// What it is called.
    pub(crate) name: String,
    /// Its tasks, in the order of the file.
    pub(crate) tasks: Vec<PlanTask>,
}

/// Something that is wrong with a plan.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Flaw {
    pub(crate) at: Place,
    /// What is wrong.
    pub(crate) problem: String,
    /// What is expected instead.
    pub(crate) expected: String,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at: Place { line, column }, problem, expected } = self;
        write!(f, "{line}:{column}: {problem}; expected {expected}")
    }
}

/// What a plan is read with.
pub(crate) struct Surroundings<'a> {
    /// Who imports it.
    pub(crate) author: ActorClass,
    /// The repository that the tasks work on unless the plan names another.
    pub(crate) repo: Option<String>,
    /// A path of the plan as an absolute one.
    pub(crate) absolute: &'a dyn Fn(&str) -> String,
    /// The whole ID of a task that is recorded already, or why there is none.
    pub(crate) find: &'a dyn Fn(&str) -> Result<String, String>,
}

impl Plan {
    /// Reads a plan, or tells everything that is wrong with it.
    pub(crate) fn read(text: &str, around: &Surroundings<'_>) -> Result<Self, Vec<Flaw>> {
        let root = tree::read(text).map_err(|(at, problem)| {
            vec![Flaw { at, problem, expected: "a YAML or JSON document".to_owned() }]
        })?;
        let mut reader = reading::Reader::new(around);
        let plan = reader.plan(&root);
        reader.flaws.sort();
        reader.flaws.dedup();
        match plan {
            Some(plan) if reader.flaws.is_empty() => Ok(plan),
            _ => Err(reader.flaws),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Plan, Vec<Flaw>> {
        let find = |typed: &str| match typed {
            "tsk_known" => Ok("tsk_00000000000000000000000001".to_owned()),
            _ => Err("there is no such task".to_owned()),
        };
        let around = Surroundings {
            author: ActorClass::Operator,
            repo: None,
            absolute: &|path| format!("/there/{path}"),
            find: &find,
        };
        Plan::read(text, &around)
    }

    fn flaws(text: &str) -> Vec<String> {
        match read(text) {
            Ok(plan) => panic!("{text} was read as {plan:?}"),
            Err(flaws) => flaws.iter().map(ToString::to_string).collect(),
        }
    }

    #[test]
    fn a_task_of_a_stage_depends_on_every_task_of_the_stage_before() {
        let text = "plan: p\nstages:\n- name: one\n  tasks:\n  - {name: a, title: A}\n  - {name: b, title: B}\n\
                    - name: two\n  tasks:\n  - {name: c, title: C, after: ['tsk_known:ended']}\n";
        let plan = read(text).unwrap();
        assert_eq!(plan.name, "p");
        let after: Vec<&str> = plan.tasks[2].after.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(after, ["a", "b"]);
        assert_eq!(plan.tasks[2].task.depends_on.len(), 1);
    }

    #[test]
    fn every_flaw_is_told_with_its_place() {
        let text = "plan: p\ntasks:\n- name: a\n  title: A\n  scpe: small\n  priority: high\n- name: a\n  title: 5\n\
                    - title: C\n  after: [x]\n  verify: [ok, 7]\n  scope: huge\n";
        let told = flaws(text);
        let places: Vec<&str> = told.iter().map(|flaw| flaw.split(": ").next().unwrap_or("")).collect();
        assert_eq!(places, ["5:3", "6:13", "7:9", "8:10", "9:3", "10:11", "11:16", "12:10"], "{told:#?}");
        assert!(told[0].contains("unknown field `scpe`") && told[0].contains("name, title"), "{}", told[0]);
        assert!(told[1].ends_with("invalid type: string \"high\"; expected i64"), "{}", told[1]);
        assert!(told[7].contains("small, medium, large or xl"), "{}", told[7]);
    }

    #[test]
    fn a_cycle_is_told_with_every_task_in_it() {
        let text = "plan: p\ntasks:\n- {name: a, title: A, after: [c]}\n- {name: b, title: B, after: [a]}\n\
                    - {name: c, title: C, after: [b]}\n- {name: d, title: D, after: [d]}\n";
        let told = flaws(text);
        assert_eq!(told.len(), 2, "{told:#?}");
        assert!(told[0].starts_with("3:31: ") && told[0].contains("a → c → b → a"), "{}", told[0]);
        assert!(told[1].starts_with("6:31: ") && told[1].contains("d → d"), "{}", told[1]);
    }

    #[test]
    fn an_empty_plan_and_a_broken_one_are_told() {
        for (text, said) in [
            ("plan: p\ntasks: []\n", "2:8: the plan has no task"),
            ("plan: p\n", "1:1: the plan has no task"),
            ("plan: p\ntasks: 5\n", "2:8: 5 is no list of tasks"),
            ("plan: p\nstages: [a]\n", "2:10: \"a\" is no stage"),
            ("tasks: [{name: a, title: A}]\n", "1:1: the plan has no name"),
            ("plan: p\nplan: q\n", "2:1: "),
            ("- a\n", "1:1: a list is no plan"),
            ("plan: p\ntask: []\n", "2:1: unknown field `task`"),
            ("plan: p\ntasks: [\n", "2:8: unclosed bracket"),
            ("plan: p\ndefaults: {title: x}\ntasks: [{name: a, title: A}]\n", "2:12: "),
        ] {
            let told = flaws(text);
            assert!(told.iter().any(|flaw| flaw.starts_with(said)), "{text}: {told:#?}");
        }
        let many: String = (0..257).map(|at| format!("- {{name: t{at}, title: T}}\n")).collect();
        assert!(flaws(&format!("plan: p\ntasks:\n{many}"))[0].contains("257 tasks"));
    }
}
