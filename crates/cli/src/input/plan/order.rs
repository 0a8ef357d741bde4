//! The order of the tasks of a plan: a task that waits for itself is a flaw.

use std::collections::BTreeMap;

use super::Flaw;
use super::tree::Place;

/// One task, with what it waits for and where that is written.
pub(super) struct Waiting<'a> {
    pub(super) name: &'a str,
    pub(super) after: Vec<(&'a str, Place)>,
}

/// The cycles among these tasks, each told once, at the first dependency that is part of it.
pub(super) fn cycles(tasks: &[Waiting<'_>]) -> Vec<Flaw> {
    let by_name: BTreeMap<&str, &Waiting<'_>> = tasks.iter().map(|task| (task.name, task)).collect();
    let mut search = Search { by_name, marks: BTreeMap::new(), flaws: Vec::new() };
    for task in tasks {
        search.visit(task.name);
    }
    search.flaws
}

#[derive(Clone, Copy, PartialEq)]
enum Mark {
    OnTheWay,
    Done,
}

struct Search<'a> {
    by_name: BTreeMap<&'a str, &'a Waiting<'a>>,
    marks: BTreeMap<&'a str, Mark>,
    flaws: Vec<Flaw>,
}

impl<'a> Search<'a> {
    /// Follows what a task waits for, without recursion: a plan may be one long chain.
    fn visit(&mut self, first: &'a str) {
        // Each entry is a task on the way, and how many of its dependencies were followed.
        let mut way: Vec<(&'a str, usize)> = vec![(first, 0)];
        if self.marks.insert(first, Mark::OnTheWay) == Some(Mark::Done) {
            self.marks.insert(first, Mark::Done);
            return;
        }
        while let Some((name, next)) = way.last_mut() {
            let (current, followed) = (*name, *next);
            *next += 1;
            let dependency = self.by_name.get(current).and_then(|task| task.after.get(followed));
            let Some((other, _)) = dependency else {
                self.marks.insert(current, Mark::Done);
                way.pop();
                continue;
            };
            match self.marks.get(other) {
                Some(Mark::Done) => {}
                Some(Mark::OnTheWay) => self.tell(&way, other),
                None => {
                    self.marks.insert(other, Mark::OnTheWay);
                    way.push((other, 0));
                }
            }
        }
    }

    /// Tells the part of the way that leads from a task back to it.
    fn tell(&mut self, way: &[(&'a str, usize)], back_to: &str) {
        let Some(start) = way.iter().position(|(name, _)| *name == back_to) else { return };
        let cycle = &way[start..];
        let mut names: Vec<&str> = cycle.iter().map(|(name, _)| *name).collect();
        names.push(back_to);
        let (name, followed) = cycle[0];
        let entry = self.by_name.get(name).and_then(|task| task.after.get(followed.saturating_sub(1)));
        let Some((_, at)) = entry else { return };
        self.flaws.push(Flaw {
            at: *at,
            problem: format!("the tasks wait for each other: {}", names.join(" → ")),
            expected: "an order in which every task can begin".to_owned(),
        });
    }
}
