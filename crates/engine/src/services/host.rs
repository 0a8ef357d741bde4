//! Runs services in a process that holds their lease, each on a thread of its own.
//!
//! Invariant: of all processes that want to run the services of one lease, one makes steps. It records how far a service has come
//! after the step, so that a crash repeats a step and never skips one; the store refuses the position of a process whose lease
//! is over. The lease is given up only when no step is under way any more. Deliberately absent: what services do.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use callboard_ledger::{LeaseError, Ledger, ServiceStep};

use super::failure::FailureClaim;
use super::service::{Duty, Service, Stepped};
use super::tenure::{RENEWAL, Tenure};
use crate::host::machine::monotonic_now;
use crate::mutant;
use crate::run::Clock;

/// How long anything is waited for before a look whether the host is to stop.
const WAIT: Duration = Duration::from_millis(250);
/// How often a lease that another process holds is asked for.
const RETRY: Duration = Duration::from_secs(1);
/// How often a step is recorded that changed nothing, so that others see that the service is alive.
const SIGN_OF_LIFE: Duration = Duration::from_secs(30);

/// Services that one process at a time runs.
pub struct ServiceHost {
    /// Where they read and write.
    pub ledger: Ledger,
    /// The lease that is needed to run them.
    pub lease: String,
    /// This process, and no other.
    pub holder: String,
    /// Tells the time.
    pub clock: Arc<dyn Clock + Send + Sync>,
    /// The services.
    pub services: Vec<Box<dyn Service>>,
}

/// Services that run until they are told to stop.
pub struct HostedServices {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl HostedServices {
    /// Lets the steps that are under way end, and gives up the lease.
    pub fn stop(mut self) {
        self.tell_to_stop();
        // A panic was printed when it happened.
        drop(self.thread.take().map(JoinHandle::join));
    }

    /// The same, without waiting.
    pub fn tell_to_stop(&self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

impl Drop for HostedServices {
    fn drop(&mut self) {
        self.tell_to_stop();
    }
}

impl ServiceHost {
    /// Starts the thread that asks for the lease and runs the services while it is held.
    pub fn start(mut self) -> std::io::Result<HostedServices> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopping = Arc::clone(&stop);
        let thread = thread::Builder::new().name("services".to_owned()).spawn(move || self.run(&stopping))?;
        Ok(HostedServices { stop, thread: Some(thread) })
    }

    fn run(&mut self, stopping: &AtomicBool) {
        while !stopping.load(Ordering::Acquire) {
            match Tenure::begin(&self.ledger, &self.lease, &self.holder) {
                Ok(Some(tenure)) => self.serve(&tenure, stopping),
                // Another process holds it, or the store is away.
                Ok(None) | Err(_) => thread::park_timeout(RETRY),
            }
        }
    }

    /// Runs the services until the lease is lost or the host is to stop.
    fn serve(&mut self, tenure: &Tenure, stopping: &AtomicBool) {
        let at_work = AtomicUsize::new(self.services.len());
        let (ledger, clock) = (&self.ledger, &*self.clock);
        thread::scope(|scope| {
            for service in &mut self.services {
                let at_work = &at_work;
                scope.spawn(move || {
                    Worker { ledger, clock, tenure, stopping, service: &mut **service }.work();
                    at_work.fetch_sub(1, Ordering::AcqRel);
                });
            }
            // The lease is kept while a step is under way, even when the host is to stop.
            let mut renewed = monotonic_now();
            while at_work.load(Ordering::Acquire) > 0 {
                thread::park_timeout(WAIT);
                if renewed.elapsed() >= RENEWAL {
                    renewed = monotonic_now();
                    tenure.renew(ledger);
                }
            }
        });
        tenure.end();
        // If the store does not take it, the lease ends by itself.
        drop(self.ledger.give_up_lease(&tenure.lease()));
    }
}

/// One service under one lease.
struct Worker<'a> {
    ledger: &'a Ledger,
    clock: &'a (dyn Clock + Send + Sync),
    tenure: &'a Tenure,
    stopping: &'a AtomicBool,
    service: &'a mut dyn Service,
}

/// What was last recorded of a service.
struct LastStep {
    position: u64,
    error: Option<String>,
    recorded: Instant,
}

impl Worker<'_> {
    fn work(&mut self) {
        let Some(mut last) = self.begin() else { return };
        let mut failure = FailureClaim::of(self.service.name());
        let (mut stepped_at, mut head) = (None::<Instant>, last.position);
        while self.goes_on() {
            let is_new = self.service.follows_log() && head > last.position && last.error.is_none();
            let is_due = stepped_at.is_none_or(|at| at.elapsed() >= self.service.every());
            if is_new || is_due {
                let stepped = self.step(last.position);
                stepped_at = Some(monotonic_now());
                if !self.record(&mut last, &stepped) {
                    return;
                }
                failure.follow(self.ledger, stepped.error.as_deref(), self.clock.now());
                if is_new && stepped.error.is_none() && stepped.position < head {
                    continue;
                }
            }
            head = self.wait(head);
        }
    }

    /// The recorded position. A service without one begins at the end of the log, and that is recorded before anything is done.
    fn begin(&self) -> Option<LastStep> {
        while self.goes_on() {
            let found = self.ledger.service_steps().and_then(|steps| match self.own(steps) {
                Some(step) => Ok((step.position, step.error, false)),
                None => Ok((self.ledger.head()?, None, true)),
            });
            match found {
                Ok((position, error, is_first)) => {
                    let mut last = LastStep { position, error: error.clone(), recorded: monotonic_now() };
                    let is_recorded = !is_first || self.write(&mut last, &Stepped { position, error });
                    return is_recorded.then_some(last);
                }
                Err(_) => thread::park_timeout(WAIT),
            }
        }
        None
    }

    fn own(&self, steps: Vec<ServiceStep>) -> Option<ServiceStep> {
        steps.into_iter().find(|step| step.service == self.service.name())
    }

    fn goes_on(&self) -> bool {
        !self.stopping.load(Ordering::Acquire) && self.tenure.is_held()
    }

    fn step(&mut self, position: u64) -> Stepped {
        let duty = Duty::new(self.ledger, position, self.tenure, self.clock);
        if mutant::removed("position_after_step") {
            let head = self.ledger.head().unwrap_or(position);
            let mut last = LastStep { position, error: None, recorded: monotonic_now() };
            self.write(&mut last, &Stepped { position: head, error: None });
        }
        let stepped = catch_unwind(AssertUnwindSafe(|| self.service.step(&duty)));
        stepped.unwrap_or_else(|panic| duty.failed(format!("BUG: the step panicked: {}", said(&*panic))))
    }

    /// Records a step if it changed something or if nothing was recorded for a while; `false` if the lease is lost.
    fn record(&self, last: &mut LastStep, stepped: &Stepped) -> bool {
        let is_same = last.position == stepped.position && last.error == stepped.error;
        if is_same && last.recorded.elapsed() < SIGN_OF_LIFE {
            return true;
        }
        self.write(last, stepped)
    }

    /// Records a step; `false` if the lease is lost. What a store that is away did not take is recorded with the next step, and
    /// until then the step is repeated from the recorded position.
    fn write(&self, last: &mut LastStep, stepped: &Stepped) -> bool {
        let step = ServiceStep {
            service: self.service.name().to_owned(),
            position: stepped.position,
            at: self.clock.now(),
            error: stepped.error.clone(),
        };
        match self.ledger.record_service_step(&self.tenure.lease(), step) {
            Ok(()) => {
                let (position, error) = (stepped.position, stepped.error.clone());
                *last = LastStep { position, error, recorded: monotonic_now() };
                true
            }
            Err(LeaseError::Lost { .. } | LeaseError::Invalid(_)) => {
                self.tenure.end();
                false
            }
            Err(LeaseError::Store(_)) => true,
        }
    }

    /// Waits for a record behind the one that was seen, for a moment.
    fn wait(&self, head: u64) -> u64 {
        if !self.service.follows_log() {
            thread::park_timeout(WAIT);
            return head;
        }
        self.ledger.wait_beyond(head, WAIT).unwrap_or_else(|_| {
            thread::park_timeout(WAIT);
            head
        })
    }
}

/// The words of a panic.
fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it said nothing")
}
