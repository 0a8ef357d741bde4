//! Reads the tree of a plan, and collects what is wrong with it.
//!
//! Invariant: each field is read by itself, as the request with this field alone, so a flaw is told where it stands and hides no other.

use std::collections::{BTreeMap, BTreeSet};

use callboard_engine::tasks::{NewTask, PlanTask, TaskError};
use callboard_kernel::task::DependencyEnd;
use callboard_ledger::GROUP_MAX;
use callboard_wire::TaskRequest;
use serde_json::{Map, Value, json};

use super::order::{Waiting, cycles};
use super::tree::{Key, Node, Place, What};
use super::{Flaw, Plan, Surroundings};

/// How many other tasks a task may wait for.
const AFTER_MAX: usize = 64;
const NAME: &str = "name";
const TITLE: &str = "title";
const AFTER: &str = "after";
const PARENT: &str = "parent";
const REPO: &str = "repo";
const BASE: &str = "base";

/// Reads a plan.
pub(super) struct Reader<'a> {
    around: &'a Surroundings<'a>,
    pub(super) flaws: Vec<Flaw>,
}

/// One task as it was written.
struct Written<'t> {
    at: Place,
    name: Option<&'t str>,
    name_at: Place,
    fields: Map<String, Value>,
    after: Vec<After<'t>>,
    /// Did one of its fields have a flaw?
    is_flawed: bool,
}

/// One thing that a task waits for.
struct After<'t> {
    at: Place,
    name: &'t str,
    until: DependencyEnd,
}

/// What the whole plan says, and its tasks in their stages.
struct Outline<'t> {
    name: Option<&'t str>,
    defaults: Map<String, Value>,
    stages: Vec<Vec<Written<'t>>>,
}

impl<'t> Outline<'t> {
    /// The tasks of the stage before a stage.
    fn before(&self, stage: usize) -> impl Iterator<Item = &Written<'t>> {
        stage.checked_sub(1).and_then(|before| self.stages.get(before)).into_iter().flatten()
    }
}

impl<'a> Reader<'a> {
    pub(super) const fn new(around: &'a Surroundings<'a>) -> Self {
        Self { around, flaws: Vec::new() }
    }

    /// The plan, as far as it can be read.
    pub(super) fn plan(&mut self, root: &Node) -> Option<Plan> {
        let outline = self.outline(root)?;
        let written: Vec<(usize, &Written<'_>)> = outline
            .stages
            .iter()
            .enumerate()
            .flat_map(|(stage, tasks)| tasks.iter().map(move |task| (stage, task)))
            .collect();
        let names: BTreeSet<&str> = written.iter().filter_map(|(_, task)| task.name).collect();
        self.check_order(&outline, &written, &names);
        let mut tasks = Vec::with_capacity(written.len());
        for (stage, task) in &written {
            tasks.extend(self.task(&outline, *stage, task, &names));
        }
        Some(Plan { name: outline.name?.to_owned(), tasks })
    }

    fn flaw(&mut self, at: Place, problem: impl Into<String>, expected: impl Into<String>) {
        self.flaws.push(Flaw { at, problem: problem.into(), expected: expected.into() });
    }

    fn outline<'t>(&mut self, root: &'t Node) -> Option<Outline<'t>> {
        let What::Map(pairs) = &root.what else {
            self.flaw(
                root.at,
                format!("{} is no plan", root.told()),
                "a mapping with plan and tasks or stages",
            );
            return None;
        };
        let mut outline = Outline { name: None, defaults: Map::new(), stages: Vec::new() };
        if let Some(repo) = &self.around.repo {
            outline.defaults.insert(REPO.to_owned(), repo.as_str().into());
        }
        let (mut list, mut written_defaults) = (None, Map::new());
        for (key, node) in pairs {
            match key.name.as_str() {
                "plan" => outline.name = self.text(node, "the name of the plan"),
                REPO | BASE => drop(self.field(&mut outline.defaults, key, node)),
                "defaults" => written_defaults = self.defaults(node),
                "tasks" | "stages" if list.is_some() => {
                    self.flaw(key.at, "the plan has both tasks and stages", "one of them");
                }
                "tasks" => {
                    list = Some(node.at);
                    outline.stages = vec![self.tasks(node)];
                }
                "stages" => {
                    list = Some(node.at);
                    outline.stages = self.stages(node);
                }
                other => self.flaw(
                    key.at,
                    format!("unknown field `{other}`"),
                    "one of plan, repo, base, defaults, tasks, stages",
                ),
            }
        }
        outline.defaults.extend(written_defaults);
        if !pairs.iter().any(|(key, _)| key.name == "plan") {
            self.flaw(root.at, "the plan has no name", "plan: NAME");
        }
        self.check_count(&outline, list.unwrap_or(root.at));
        Some(outline)
    }

    fn check_count(&mut self, outline: &Outline<'_>, at: Place) {
        let count: usize = outline.stages.iter().map(Vec::len).sum();
        let is_told = self.flaws.iter().any(|flaw| flaw.at >= at);
        if count == 0 && !is_told {
            self.flaw(at, "the plan has no task", "at least one task under tasks or stages");
        } else if count > GROUP_MAX {
            self.flaw(at, format!("the plan has {count} tasks"), format!("at most {GROUP_MAX}"));
        }
    }

    fn stages<'t>(&mut self, node: &'t Node) -> Vec<Vec<Written<'t>>> {
        let What::List(stages) = &node.what else {
            self.flaw(node.at, format!("{} is no list of stages", node.told()), "a list of name and tasks");
            return Vec::new();
        };
        let mut names = BTreeSet::new();
        stages.iter().map(|stage| self.stage(stage, &mut names)).collect()
    }

    fn stage<'t>(&mut self, node: &'t Node, names: &mut BTreeSet<&'t str>) -> Vec<Written<'t>> {
        let What::Map(pairs) = &node.what else {
            self.flaw(node.at, format!("{} is no stage", node.told()), "a mapping with name and tasks");
            return Vec::new();
        };
        let mut tasks = None;
        for (key, value) in pairs {
            match key.name.as_str() {
                NAME => {
                    let name = self.text(value, "the name of the stage");
                    if name.is_some_and(|name| !names.insert(name)) {
                        self.flaw(
                            value.at,
                            format!("{} is the name of two stages", value.told()),
                            "another name",
                        );
                    }
                }
                "tasks" => tasks = Some(self.tasks(value)),
                other => self.flaw(key.at, format!("unknown field `{other}`"), "one of name, tasks"),
            }
        }
        if !pairs.iter().any(|(key, _)| key.name == NAME) {
            self.flaw(node.at, "the stage has no name", "name: NAME");
        }
        if tasks.as_ref().is_none_or(Vec::is_empty) {
            self.flaw(node.at, "the stage has no task", "tasks: with at least one task");
        }
        tasks.unwrap_or_default()
    }

    fn tasks<'t>(&mut self, node: &'t Node) -> Vec<Written<'t>> {
        let What::List(tasks) = &node.what else {
            self.flaw(node.at, format!("{} is no list of tasks", node.told()), "a list of tasks");
            return Vec::new();
        };
        tasks.iter().filter_map(|task| self.written(task)).collect()
    }

    fn defaults(&mut self, node: &Node) -> Map<String, Value> {
        let mut fields = Map::new();
        let What::Map(pairs) = &node.what else {
            self.flaw(node.at, format!("{} is no mapping", node.told()), "fields of a task");
            return fields;
        };
        for (key, value) in pairs {
            match key.name.as_str() {
                NAME | TITLE | AFTER => {
                    self.flaw(key.at, format!("{} is of one task alone", key.name), "it in each task");
                }
                _ => drop(self.field(&mut fields, key, value)),
            }
        }
        fields
    }

    fn written<'t>(&mut self, node: &'t Node) -> Option<Written<'t>> {
        let What::Map(pairs) = &node.what else {
            self.flaw(node.at, format!("{} is no task", node.told()), "a mapping with name and title");
            return None;
        };
        let mut task = Written {
            at: node.at,
            name: None,
            name_at: node.at,
            fields: Map::new(),
            after: Vec::new(),
            is_flawed: false,
        };
        for (key, value) in pairs {
            let is_sound = match key.name.as_str() {
                NAME => {
                    (task.name, task.name_at) = (self.name(value), value.at);
                    task.name.is_some()
                }
                AFTER => self.after(value, &mut task.after),
                _ => self.field(&mut task.fields, key, value),
            };
            task.is_flawed |= !is_sound;
        }
        for required in [NAME, TITLE] {
            if !pairs.iter().any(|(key, _)| key.name == required) {
                self.flaw(node.at, format!("the task has no {required}"), format!("{required}: TEXT"));
                task.is_flawed = true;
            }
        }
        Some(task)
    }

    /// A name that other tasks can wait for.
    fn name<'t>(&mut self, node: &'t Node) -> Option<&'t str> {
        let name = self.text(node, "the name of the task")?;
        if name.contains([':', '\n']) || name.starts_with("tsk_") {
            self.flaw(node.at, format!("{name:?} is no name of a task"), "a name without `:` that is no ID");
            return None;
        }
        Some(name)
    }

    fn text<'t>(&mut self, node: &'t Node, what: &str) -> Option<&'t str> {
        if let What::Scalar(Value::String(text)) = &node.what
            && !text.trim().is_empty()
        {
            return Some(text);
        }
        self.flaw(node.at, format!("{} is not {what}", node.told()), "a text; put numbers in quotes");
        None
    }

    /// What a task waits for, as it is written; which names there are is known later.
    fn after<'t>(&mut self, node: &'t Node, after: &mut Vec<After<'t>>) -> bool {
        let expected = "a list of names of the plan or IDs of tasks, each with or without :ended";
        let What::List(all) = &node.what else {
            self.flaw(node.at, format!("{} is no list", node.told()), expected);
            return false;
        };
        let before = self.flaws.len();
        for one in all {
            let Some(text) = self.text(one, "the name of a task") else { continue };
            let (name, until) = match text.strip_suffix(":ended") {
                Some(name) => (name, DependencyEnd::Ended),
                None => (text, DependencyEnd::Closed),
            };
            after.push(After { at: one.at, name, until });
        }
        if after.len() > AFTER_MAX {
            self.flaw(
                node.at,
                format!("the task waits for {} tasks", after.len()),
                format!("at most {AFTER_MAX}"),
            );
        }
        before == self.flaws.len()
    }

    /// Reads one field of a request into the others.
    fn field(&mut self, fields: &mut Map<String, Value>, key: &Key, node: &Node) -> bool {
        if key.name == PARENT {
            self.flaw(key.at, "a task of a plan is part of no other task", "after, to wait for another task");
            return false;
        }
        let mut value = node.json();
        if let (REPO, Value::String(path)) = (key.name.as_str(), &value) {
            value = (self.around.absolute)(path).into();
        }
        let found = match &node.what {
            // What is wrong with one element of a list is told where the element stands.
            What::List(all) if self.fault(key, &value).is_some() => {
                let one = |element: &Node| {
                    let fault = self.fault(key, &Value::Array(vec![element.json()]))?;
                    Some((element.at, fault))
                };
                let each: Vec<_> = all.iter().filter_map(one).collect();
                if each.is_empty() {
                    self.fault(key, &value).map(|fault| (node.at, fault)).into_iter().collect()
                } else {
                    each
                }
            }
            What::List(_) | What::Map(_) | What::Scalar(_) => {
                self.fault(key, &value).map(|fault| (node.at, fault)).into_iter().collect()
            }
        };
        let is_sound = found.is_empty();
        for (at, fault) in found {
            let at = if fault.is_of_key { key.at } else { at };
            self.flaw(at, fault.problem, fault.expected);
        }
        fields.insert(key.name.clone(), value);
        is_sound
    }

    /// What is wrong with a field by itself.
    fn fault(&self, key: &Key, value: &Value) -> Option<Fault> {
        let mut alone = json!({ TITLE: "a title" });
        alone[&key.name] = value.clone();
        let request: TaskRequest = match serde_json::from_value(alone) {
            Ok(request) => request,
            Err(error) => return Some(Fault::of_type(&error.to_string())),
        };
        match NewTask::read(&request, self.around.author) {
            Err(TaskError::Unfit { problem, help }) => Some(Fault {
                problem,
                expected: help.strip_prefix("use ").unwrap_or(&help).to_owned(),
                is_of_key: false,
            }),
            Ok(_) | Err(_) => None,
        }
    }

    fn check_order(
        &mut self,
        outline: &Outline<'_>,
        written: &[(usize, &Written<'_>)],
        names: &BTreeSet<&str>,
    ) {
        let mut first: BTreeMap<&str, Place> = BTreeMap::new();
        for (_, task) in written {
            let Some(name) = task.name else { continue };
            if let Some(earlier) = first.get(name) {
                let problem = format!("the name {name} is used twice, first at line {}", earlier.line);
                self.flaw(task.name_at, problem, "another name");
            }
            first.entry(name).or_insert(task.name_at);
        }
        let mut all = Vec::with_capacity(written.len());
        for (stage, task) in written {
            let Some(name) = task.name else { continue };
            let own = task.after.iter().filter(|after| names.contains(after.name));
            let staged = outline.before(*stage).filter_map(|other| other.name.map(|name| (name, task.at)));
            all.push(Waiting {
                name,
                after: own.map(|after| (after.name, after.at)).chain(staged).collect(),
            });
        }
        self.flaws.extend(cycles(&all));
    }

    /// A task with everything that the plan says of it, if nothing is wrong with it.
    fn task(
        &mut self,
        outline: &Outline<'_>,
        stage: usize,
        task: &Written<'_>,
        names: &BTreeSet<&str>,
    ) -> Option<PlanTask> {
        let (mut after, mut recorded) = (Vec::new(), Vec::new());
        for one in &task.after {
            if names.contains(one.name) {
                after.push((one.name.to_owned(), one.until));
            } else if let Some(id) = self.recorded(one) {
                recorded.push(id);
            }
        }
        for name in outline.before(stage).filter_map(|other| other.name) {
            if !after.iter().any(|(known, _)| known == name) {
                after.push((name.to_owned(), DependencyEnd::Closed));
            }
        }
        if after.len() > AFTER_MAX && task.after.len() <= AFTER_MAX {
            let problem = format!("the stage before has {} tasks to wait for", after.len());
            self.flaw(task.at, problem, format!("at most {AFTER_MAX}"));
        }
        if task.is_flawed {
            return None;
        }
        let mut fields = outline.defaults.clone();
        fields.extend(task.fields.clone());
        fields.insert(AFTER.to_owned(), recorded.into());
        let request: TaskRequest = serde_json::from_value(Value::Object(fields)).ok()?;
        match NewTask::read(&request, self.around.author) {
            Ok(new) => Some(PlanTask { name: task.name?.to_owned(), task: new, after }),
            Err(error) => {
                let help = if let TaskError::Unfit { help, .. } = &error { Some(help.clone()) } else { None };
                let expected = help.unwrap_or_else(|| "a task that can be recorded".to_owned());
                // A flaw of a default is told where the default stands.
                if self.flaws.is_empty() {
                    self.flaw(task.at, error.to_string(), expected);
                }
                None
            }
        }
    }

    /// The ID of a task that is recorded already.
    fn recorded(&mut self, after: &After<'_>) -> Option<String> {
        let ended = if after.until == DependencyEnd::Ended { ":ended" } else { "" };
        if after.name.starts_with("tsk_") {
            match (self.around.find)(after.name) {
                Ok(id) => return Some(format!("{id}{ended}")),
                Err(problem) => self.flaw(after.at, problem, "the ID of a task that is recorded"),
            }
        } else {
            let problem = format!("there is no task {} in the plan", after.name);
            self.flaw(after.at, problem, "a name of the plan, or the ID of a task");
        }
        None
    }
}

/// What is wrong with one field.
struct Fault {
    problem: String,
    expected: String,
    /// Is it the key that is wrong?
    is_of_key: bool,
}

impl Fault {
    fn of_type(told: &str) -> Self {
        let (problem, expected) = told.split_once(", expected ").unwrap_or((told, "another value"));
        let is_of_key = problem.starts_with("unknown field");
        let expected = if is_of_key {
            // The fields of a request, as it lists them itself; a task of a plan has a name and no parent.
            let fields = expected.split('`').skip(1).step_by(2).filter(|field| *field != PARENT);
            format!("one of {NAME}, {}", fields.collect::<Vec<_>>().join(", "))
        } else {
            expected.to_owned()
        };
        Self { problem: problem.to_owned(), expected, is_of_key }
    }
}
