//! Starts a run: everything is made ready before the fork, and nothing is left behind when the child does not come to be.

use std::ffi::OsString;
use std::io;
use std::marker::PhantomData;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, pidfd_send_signal};

use crate::child::before_exec::{self, Made, Orders, Report, Step, Stillborn};
use crate::child::children;
use crate::child::image::Image;
use crate::child::not_executable;
use crate::child::wait_status;
use crate::containment::{Held, hold};
use crate::output::{Outlets, prepare as keep_ready};
use crate::process::{MARKER_VARIABLE, of};
use crate::sandbox::{Guard, Namespaces, Plan, Walls};
use crate::watching::notify_socket::Notices;
use crate::watching::waker::Wake;
use crate::{Climb, Running, Spec, StartError};

/// Starts a run on this thread.
pub fn start(spec: Spec) -> Result<Running, StartError> {
    prepare(spec)?.start()
}

/// Makes everything ready that a run needs beside its child, so that an owner can do that while it waits for something
/// else, such as the record of the start.
pub fn prepare(spec: Spec) -> Result<Prepared, StartError> {
    check(&spec)?;
    let set_up = |what| move |source| StartError::Setup { what, source };
    children::open().map_err(set_up("prepare to reap"))?;
    spec.keep.as_ref().map_or(Ok(()), keep_ready).map_err(set_up("keep the output"))?;
    let place = children::Place::take();
    let wake = Arc::new(Wake::new().map_err(set_up("make an eventfd"))?);
    let without_group = match spec.climb {
        Climb::Highest => None,
        Climb::Tree => Some("no control group was wanted".to_owned()),
    };
    let held = hold(&spec.marker, &spec.limits, without_group);
    // A run works without a notification socket: the child then only cannot report readiness or status.
    let keep_dir = spec.keep.as_ref().map(|keep| keep.dir.as_path());
    let notices = Notices::open(&spec.marker, keep_dir).ok();
    Ok(Prepared(Some(Ready { spec, held, notices, wake, place })))
}

/// A run that can be started. Dropped instead, it leaves nothing behind.
#[derive(Debug)]
pub struct Prepared(Option<Ready>);

/// What was made before the child.
#[derive(Debug)]
struct Ready {
    spec: Spec,
    held: Held,
    notices: Option<Notices>,
    wake: Arc<Wake>,
    place: children::Place,
}

impl Drop for Prepared {
    fn drop(&mut self) {
        if let Some(made) = &self.0 {
            made.held.discard();
        }
    }
}

impl Prepared {
    /// Starts it on this thread.
    pub fn start(mut self) -> Result<Running, StartError> {
        let Some(Ready { spec, held, notices, wake, place }) = self.0.take() else {
            unreachable!("BUG: it is taken only here, and the whole with it")
        };
        let birth = children::Birth::begin();
        let (held, outlets, child) = match attempt(&spec, held, notices.as_ref(), &wake) {
            Ok(started) => started,
            // The group was made and does not let the child in; the other rung always works.
            Err(Failure::Before(Step::Group, source)) => {
                let why = format!("the control group does not take the child: {source}");
                let held = hold(&spec.marker, &spec.limits, Some(why));
                attempt(&spec, held, notices.as_ref(), &wake).map_err(|failure| failure.told(&spec))?
            }
            Err(failure) => return Err(failure.told(&spec)),
        };
        let started = Instant::now();
        running(spec, started, Parts { held, outlets, notices, wake, place, birth }, child)
    }
}

/// The main process, and what it has to say if it has not become the program yet.
struct Child {
    pid: Pid,
    pidfd: OwnedFd,
    report: Option<Report>,
    /// The memory that it had of us.
    inherited_rss_bytes: u64,
    walls: Option<Walls>,
    guard: Option<Guard>,
}

/// What was made for the child.
struct Parts {
    held: Held,
    outlets: Outlets,
    notices: Option<Notices>,
    wake: Arc<Wake>,
    place: children::Place,
    birth: children::Birth,
}

fn running(spec: Spec, started: Instant, parts: Parts, child: Child) -> Result<Running, StartError> {
    let Parts { held, outlets, notices, wake, place, birth } = parts;
    let Child { pid, pidfd, report, inherited_rss_bytes, walls, guard } = child;
    let id = pid.as_raw_nonzero().get() as u32;
    let known =
        of(id).and_then(|found| found.ok_or_else(|| io::Error::other("/proc does not show the child")));
    match known {
        Ok(identity) => {
            birth.admit(id, Arc::clone(&wake));
            Ok(Running {
                spec,
                started,
                identity,
                pid,
                pidfd,
                held,
                outlets,
                wake,
                notices,
                signals: None,
                report,
                inherited_rss_bytes,
                walls,
                guard,
                reaped: false,
                settled: false,
                place: Some(place),
                on_this_thread: PhantomData,
            })
        }
        Err(source) => {
            // A child that cannot be watched must not run; it is our own and not reaped, so its pid is its own.
            pidfd_send_signal(&pidfd, Signal::KILL).ok();
            wait_status::bury(pid);
            held.discard();
            Err(StartError::Setup { what: "watch the child", source })
        }
    }
}

fn check(spec: &Spec) -> Result<(), StartError> {
    let plain = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    if spec.marker.is_empty() || spec.marker.len() > MARKER_MAX || !spec.marker.chars().all(plain) {
        return Err(StartError::Invalid(format!(
            "the marker {:?} is not 1 to {MARKER_MAX} letters, digits, hyphens and underscores",
            spec.marker
        )));
    }
    if spec.program.is_empty() {
        return Err(StartError::Invalid("the command is empty; name a program to run".to_owned()));
    }
    Ok(())
}

const MARKER_MAX: usize = 128;

/// Why there is no child.
pub(crate) enum Failure {
    /// A step of ours failed in the child.
    Before(Step, io::Error),
    Exec(io::Error),
    /// It was not to be made this way.
    Refused(StartError),
    /// A step of ours failed before there was a child.
    Ours(&'static str, io::Error),
}

impl From<Stillborn> for Failure {
    fn from(stillborn: Stillborn) -> Self {
        match stillborn {
            Stillborn::Before(step, error) => Self::Before(step, error),
            Stillborn::Unmade(error) | Stillborn::Exec(error) => Self::Exec(error),
        }
    }
}

impl Failure {
    pub(crate) fn told(self, spec: &Spec) -> StartError {
        match self {
            Self::Before(Step::Directory, source) => StartError::MissingCwd { cwd: spec.cwd.clone(), source },
            Self::Before(step, source) => StartError::Setup {
                what: match step {
                    Step::Standard => "give the child its input and output",
                    Step::Directory => "enter the directory to start in",
                    Step::Session => "give the child a session of its own",
                    Step::Group => "put the child into its control group",
                    Step::Limit => "limit the child",
                    Step::Terminal => "give the child its terminal",
                    Step::Orphaned => "outlive the thread that starts the child",
                    Step::Descriptors => "pass a descriptor on to the child",
                    Step::Privileges => "keep the child from gaining privileges",
                    Step::Namespaces => "give the child namespaces of its own",
                    Step::Sandbox => "put up the walls of the sandbox",
                },
                source,
            },
            Self::Exec(source) => not_executable::refused(spec, source),
            Self::Refused(error) => error,
            Self::Ours(what, source) => StartError::Setup { what, source },
        }
    }
}

fn attempt(
    spec: &Spec,
    held: Held,
    notices: Option<&Notices>,
    wake: &Arc<Wake>,
) -> Result<(Held, Outlets, Child), Failure> {
    match spawn(spec, &held, notices, wake) {
        Ok((outlets, child)) => Ok((held, outlets, child)),
        Err(failure) => {
            held.discard();
            Err(failure)
        }
    }
}

fn spawn(
    spec: &Spec,
    held: &Held,
    notices: Option<&Notices>,
    wake: &Arc<Wake>,
) -> Result<(Outlets, Child), Failure> {
    let ours = |what| move |source| Failure::Ours(what, source);
    let plan = |namespaces| plan(spec, notices, namespaces, wake);
    let image = |plan: Option<&Plan>| {
        let own = plan.into_iter().flat_map(Plan::environment);
        Image::new(spec, changes(spec, notices).into_iter().chain(own)).map_err(Failure::Exec)
    };
    let sandbox = plan(Namespaces::Tried)?;
    let of_plan = image(sandbox.as_ref())?;
    let (outlets, ends) = Outlets::lay(spec).map_err(ours("lay the pipes of the child"))?;
    let at_group = |error| Failure::Before(Step::Group, error);
    let mut orders = Orders {
        standard: ends.standard,
        group: held.room().map_err(at_group)?,
        doors: held.side_doors().map_err(at_group)?,
        rlimits: held.rlimits.clone(),
        terminal: ends.terminal,
        kept: spec.descriptors.clone(),
        privileges: spec.privileges,
        sandbox,
    };
    let inherited_rss_bytes = inherited_rss_bytes();
    let made = match before_exec::make(&of_plan, &orders) {
        // An old kernel or a sandbox knows no child that is made inside a group; it can go there by itself.
        Err(Stillborn::Unmade(_)) if orders.group.take().is_some() => {
            orders.doors.extend(held.main_door().map_err(at_group)?);
            before_exec::make(&of_plan, &orders)
        }
        made => made,
    };
    let mut born = made.and_then(|made| child(made, inherited_rss_bytes));
    // A host that gives no namespaces may give the other walls.
    if let Err(Stillborn::Before(Step::Namespaces, error)) = &born {
        orders.sandbox = plan(Namespaces::Refused(&error.to_string()))?;
        born = before_exec::make(&image(orders.sandbox.as_ref())?, &orders)
            .and_then(|made| child(made, inherited_rss_bytes));
    }
    let (walls, guard) = orders.sandbox.map(Plan::into_guarded).unzip();
    Ok((outlets, Child { walls, guard, ..born? }))
}

/// A child that has become the program, or is on its way.
fn child(made: Made, inherited_rss_bytes: u64) -> Result<Child, Stillborn> {
    let Made { pid, pidfd, report } = made;
    match wait_for(&report) {
        Some(Ok(())) => Ok(Child { pid, pidfd, report: None, inherited_rss_bytes, walls: None, guard: None }),
        Some(Err(stillborn)) => {
            // It is about to end; nobody else takes it, because it is being born.
            wait_status::bury(pid);
            Err(stillborn)
        }
        None => Ok(Child { pid, pidfd, report: Some(report), inherited_rss_bytes, walls: None, guard: None }),
    }
}

/// The walls that the child puts up, if it has a sandbox.
fn plan(
    spec: &Spec,
    notices: Option<&Notices>,
    namespaces: Namespaces<'_>,
    wake: &Arc<Wake>,
) -> Result<Option<Plan>, Failure> {
    let reached = notices.and_then(Notices::path);
    let plan = |sandbox| Plan::new(sandbox, &spec.cwd, reached, namespaces, Arc::clone(wake));
    spec.sandbox.as_ref().map(plan).transpose().map_err(Failure::Refused)
}

/// How long a child may take to become the program until nobody waits for that alone any more.
const BORN: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// What a child says, if it says it soon.
fn wait_for(report: &Report) -> Option<Result<(), Stillborn>> {
    let mut waiting = [PollFd::new(report, PollFlags::IN)];
    // Interrupted by a signal, the watching goes on with it.
    poll(&mut waiting, Some(&BORN)).ok();
    report.read()
}

/// The memory that a child has of us before it becomes the program, which counts as its own: what is not in files, and
/// some more for what it touches.
fn inherited_rss_bytes() -> u64 {
    const TOUCHED: u64 = 2 << 20;
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let of = |name: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse().ok()
    };
    // Where the kernel does not tell them apart, all of it may be ours.
    of("RssAnon:").or_else(|| of("VmHWM:")).unwrap_or(u64::MAX / 4096) * 1024 + TOUCHED
}

/// What the child's environment has beside ours, or lacks. Who watches us is none of its business; it notifies us
/// instead.
fn changes(spec: &Spec, notices: Option<&Notices>) -> Vec<(OsString, Option<OsString>)> {
    let mut changes: Vec<(OsString, Option<OsString>)> =
        spec.env.iter().map(|(name, value)| (name.clone(), Some(value.clone()))).collect();
    changes.extend(spec.without.iter().map(|name| (name.clone(), None)));
    changes.push((MARKER_VARIABLE.into(), Some(markers(&spec.marker))));
    changes.extend(["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"].map(|name| (name.into(), None)));
    if let Some(sandbox) = &spec.sandbox {
        changes.push((SANDBOX_VARIABLE.into(), Some("1".into())));
        if sandbox.private_tmp {
            changes.extend(["TMPDIR", "TMP", "TEMP", "TEMPDIR"].map(|name| (name.into(), None)));
        }
    }
    if let Some(notices) = notices {
        changes.push(("NOTIFY_SOCKET".into(), Some(notices.address().into())));
        if let Some(silence) = spec.timers.silence {
            changes.push(("WATCHDOG_USEC".into(), Some(silence.as_micros().to_string().into())));
        }
    }
    changes
}

/// The variable that says to a program that it is in a sandbox.
pub const SANDBOX_VARIABLE: &str = "CALLBOARD_SANDBOX";

/// The markers of the runs we are in ourselves, and this one.
fn markers(marker: &str) -> OsString {
    let mut markers = std::env::var_os(MARKER_VARIABLE).unwrap_or_default();
    // A supervisor in the background carries the marker of its run itself.
    if markers.as_bytes().rsplit(|byte| *byte == b':').next() == Some(marker.as_bytes()) {
        return markers;
    }
    if !markers.is_empty() {
        markers.push(":");
    }
    markers.push(marker);
    markers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rung;

    #[test]
    fn what_is_prepared_and_not_started_leaves_nothing_behind() {
        let marker = format!("prepared-{}", std::process::id());
        let prepared = prepare(Spec::new("true", marker)).unwrap();
        let made = prepared.0.as_ref().map(|made| made.held.containment.rung.clone()).unwrap();
        let is_there = || matches!(&made, Rung::Cgroup { path } if path.exists());
        let is_group = matches!(made, Rung::Cgroup { .. });
        assert_eq!(is_there(), is_group);
        drop(prepared);
        assert!(!is_there());
    }
}
