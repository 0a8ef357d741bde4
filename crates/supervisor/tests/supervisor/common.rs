//! What the tests share: a marker of its own for each run, and an owner that writes down what it is told.

use std::time::Duration;

use callboard_supervisor::{End, Observer, Running, Spec, Stream, start};

/// A marker that no other test of this machine has.
pub(crate) fn marker(name: &str) -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let own = callboard_supervisor::process::this().map(|own| own.started_ticks).unwrap_or_default();
    format!("t-{name}-{}-{own}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A shell script as a run.
pub(crate) fn sh(name: &str, script: &str) -> Spec {
    Spec::new("/bin/sh", marker(name)).args(["-c", script])
}

/// Starts, or fails the test.
pub(crate) fn started(spec: Spec) -> Running {
    start(spec).unwrap_or_else(|error| panic!("the run does not start: {error:?}"))
}

/// Runs to the end.
pub(crate) fn run(spec: Spec) -> (End, Told) {
    let mut told = Told::default();
    let end = started(spec).watch(&mut told);
    (end, told)
}

/// What an owner was told.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

impl Observer for Told {
    fn output(&mut self, stream: Stream, bytes: &[u8], _at: Duration) {
        match stream {
            Stream::Stdout => self.stdout.extend(bytes),
            Stream::Stderr => self.stderr.extend(bytes),
        }
    }
}

/// Calls a closure on every output.
pub(crate) struct OnOutput<F>(pub(crate) F);

impl<F: FnMut(&[u8])> Observer for OnOutput<F> {
    fn output(&mut self, _stream: Stream, bytes: &[u8], _at: Duration) {
        (self.0)(bytes);
    }
}
