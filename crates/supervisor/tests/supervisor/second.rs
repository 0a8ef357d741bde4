//! A second process: this test binary again, as a supervisor in the foreground with descriptors that the test gave it.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use callboard_supervisor::{Audience, Keep, Signals, Spec, Stdin, start};

/// How the second process is told what to do: a script, where to write the end, and the grace period.
const SCRIPT: &str = "CALLBOARD_TEST_SCRIPT";
const REPORT: &str = "CALLBOARD_TEST_REPORT";

/// What it prints before it starts the run; everything before is of the test harness.
pub(crate) const BEGIN: &[u8] = b"BEGIN\n";

#[test]
#[ignore = "the body of the second process, not a test"]
fn body() {
    let (Ok(script), Ok(report)) = (std::env::var(SCRIPT), std::env::var(REPORT)) else { return };
    let mut spec = Spec::new("/bin/sh", crate::common::marker("second")).args(["-c", script.as_str()]);
    spec.audience = Audience::Foreground;
    spec.stdin = Stdin::Inherit;
    let given = script.lines().next().and_then(|line| line.strip_prefix(": given ")?.parse::<i32>().ok());
    spec.descriptors.extend(given);
    spec.timers.grace = Duration::from_secs(20);
    spec.timers.leak = Duration::from_millis(300);
    let kept = Path::new(&report).with_extension("kept");
    spec.keep = Some(Keep { dir: kept, max_bytes: 1 << 20, began_us: 0 });
    let signals = Signals::take().unwrap();
    rustix::io::write(rustix::stdio::stdout(), BEGIN).unwrap();
    let mut account = Account { report: report.clone().into(), typed: 0 };
    start(spec).unwrap().listen(signals).watch(&mut account);
    std::process::exit(0);
}

struct Account {
    report: std::path::PathBuf,
    typed: u32,
}

impl callboard_supervisor::Observer for Account {
    fn typed(&mut self) {
        self.typed += 1;
    }

    fn ended(&mut self, end: &callboard_supervisor::End) {
        let partial = self.report.with_extension("partial");
        let written = std::fs::write(&partial, format!("{end:?} after {} keys", self.typed))
            .and_then(|()| std::fs::rename(&partial, &self.report));
        written.unwrap_or_else(|error| panic!("the report cannot be written: {error}"));
    }
}

/// A supervisor in the foreground, ended with the test.
pub(crate) struct Second {
    pub(crate) child: Child,
    report: std::path::PathBuf,
}

impl Second {
    #[expect(
        clippy::disallowed_methods,
        reason = "the test is the outermost process and must choose the descriptors"
    )]
    pub(crate) fn start(dir: &Path, script: &str, stdin: Stdio, stdout: Stdio, stderr: Stdio) -> Self {
        let report = dir.join("report");
        let own = std::env::current_exe().unwrap_or_else(|error| panic!("{error}"));
        let child = Command::new(own)
            .args(["--exact", "second::body", "--ignored", "--nocapture", "--test-threads=1"])
            .env(SCRIPT, script)
            .env(REPORT, &report)
            .stdin(stdin)
            .stdout(stdout)
            .stderr(stderr)
            .spawn()
            .unwrap_or_else(|error| panic!("the second process does not start: {error}"));
        Self { child, report }
    }

    pub(crate) fn signal(&self, signal: i32) {
        let pid = callboard_supervisor::process::of(self.child.id());
        let identity = pid.ok().flatten().unwrap_or_else(|| panic!("the second process is gone"));
        callboard_supervisor::process::signal(&identity, signal).unwrap_or_else(|error| panic!("{error}"));
    }

    /// How the run ended, as it was reported; the passing-on may still go on.
    pub(crate) fn report(&self) -> String {
        wait_until("the report", || std::fs::read_to_string(&self.report).ok())
    }

    pub(crate) fn wait(&mut self) -> std::process::ExitStatus {
        wait_until("the end of the second process", || self.child.try_wait().ok().flatten())
    }
}

impl Drop for Second {
    fn drop(&mut self) {
        // It has ended already, unless the test failed.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Waits for something, at most as long as a very busy machine needs.
pub(crate) fn wait_until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < until, "{what} did not come");
        std::thread::sleep(Duration::from_millis(2));
    }
}
