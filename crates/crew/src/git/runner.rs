//! Runs git with a time limit and a bound on what is read of its output.
//!
//! Invariant: a call returns after its limit at the latest, with the process ended and reaped, and holds no more of the output
//! than its bound. Git is not started by the supervisor, because that is made for runs: a session, a control group and a
//! thread for each. Git runs no program of a repository here (`view`), so there is nothing but the one process to end; the
//! supervisor's reaper leaves children of our own session to whoever started them.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// How long git has to remove its lock files when it is asked to end.
const GRACE: Duration = Duration::from_secs(2);
/// Bytes that are kept of what a program says on stderr.
const STDERR_MAX: usize = 64 * 1024;
const PAUSE: Duration = Duration::from_millis(5);

/// A program to run.
pub(super) struct Process<'a> {
    pub(super) program: &'a Path,
    pub(super) arguments: &'a [OsString],
    /// The whole environment.
    pub(super) environment: &'a [(OsString, OsString)],
    pub(super) dir: &'a Path,
    pub(super) stdin: Option<File>,
    pub(super) output_max: usize,
    pub(super) limit: Duration,
}

/// How a program ended, and what it said.
#[derive(Debug)]
pub(super) struct Answer {
    /// Its exit code; none if a signal or the limit ended it.
    pub(super) code: Option<i32>,
    /// The beginning of what it wrote to stdout.
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: String,
    /// Is there more on stdout than was read?
    pub(super) is_cut: bool,
    pub(super) is_too_slow: bool,
}

/// Runs a program to its end, or to its limit and then ends it.
pub(super) fn run(process: Process<'_>) -> io::Result<Answer> {
    let mut command = command(&process);
    command.stdin(process.stdin.map_or_else(Stdio::null, Stdio::from));
    let mut child = start(&mut command)?;
    let (done, is_done) = channel();
    let stdout = bounded(child.stdout.take(), process.output_max, done.clone());
    let stderr = bounded(child.stderr.take(), STDERR_MAX, done);
    let deadline = Instant::now() + process.limit;
    let is_too_slow = (0..2).any(|_| {
        let left = deadline.saturating_duration_since(Instant::now());
        is_done.recv_timeout(left) == Err(RecvTimeoutError::Timeout)
    });
    let status = end_by(&mut child, if is_too_slow { Instant::now() } else { deadline })?;
    let (stdout, is_cut) = stdout.join().unwrap_or_default();
    let (stderr, _) = stderr.join().unwrap_or_default();
    let stderr = String::from_utf8_lossy(&stderr).into_owned();
    Ok(Answer { code: status.code(), stdout, stderr, is_cut, is_too_slow })
}

/// A program that is talked to line by line. When it is dropped, its stdin is closed and its end is waited for.
pub(super) struct Conversation {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    stderr: Option<std::thread::JoinHandle<(Vec<u8>, bool)>>,
    limit: Duration,
}

impl Conversation {
    pub(super) fn start(process: &Process<'_>) -> io::Result<Self> {
        let mut command = command(process);
        command.stdin(Stdio::piped());
        let mut child = start(&mut command)?;
        let (send, lines) = channel();
        let stdout = child.stdout.take();
        std::thread::spawn(move || {
            let Some(stdout) = stdout else { return };
            let answers = BufReader::new(stdout.take(STDERR_MAX as u64)).lines();
            answers.map_while(Result::ok).try_for_each(|line| send.send(line)).ok();
        });
        let (done, _) = channel();
        let stderr = Some(bounded(child.stderr.take(), STDERR_MAX, done));
        let stdin = child.stdin.take();
        Ok(Self { child, stdin, lines, stderr, limit: process.limit })
    }

    /// Says something and waits for one line of answer; without one, says what the program said on stderr.
    pub(super) fn say(&mut self, text: &str) -> Result<String, String> {
        let said = self.stdin.as_mut().map_or(Ok(()), |stdin| {
            stdin.write_all(text.as_bytes())?;
            stdin.flush()
        });
        // A program that ended has closed its stdin, and why it did is on stderr.
        match said.and_then(|()| self.lines.recv_timeout(self.limit).map_err(io::Error::other)) {
            Ok(line) => Ok(line),
            Err(error) => Err(self.last_words().unwrap_or_else(|| error.to_string())),
        }
    }

    fn last_words(&mut self) -> Option<String> {
        drop(self.stdin.take());
        end_by(&mut self.child, Instant::now() + GRACE).ok()?;
        let (stderr, _) = self.stderr.take()?.join().ok()?;
        Some(String::from_utf8_lossy(&stderr).trim().to_owned()).filter(|text| !text.is_empty())
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        drop(self.stdin.take());
        // Its locks are gone when it is.
        end_by(&mut self.child, Instant::now() + self.limit).ok();
    }
}

fn command(process: &Process<'_>) -> Command {
    let mut command = Command::new(process.program);
    command
        .args(process.arguments)
        .current_dir(process.dir)
        .env_clear()
        .envs(process.environment.iter().map(|(name, value)| (name, value)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

#[expect(
    clippy::disallowed_methods,
    reason = "git is one process that starts no other; it is ended and reaped here"
)]
fn start(command: &mut Command) -> io::Result<Child> {
    command.spawn()
}

/// Reads the beginning of a stream. What is beyond the bound is not read: the stream is closed, and who writes to it ends.
fn bounded(
    stream: Option<impl Read + Send + 'static>,
    max: usize,
    done: std::sync::mpsc::Sender<()>,
) -> std::thread::JoinHandle<(Vec<u8>, bool)> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(stream) = stream {
            stream.take(max as u64 + 1).read_to_end(&mut bytes).ok();
        }
        let is_cut = bytes.len() > max;
        bytes.truncate(max);
        done.send(()).ok();
        (bytes, is_cut)
    })
}

/// Waits for the end until the deadline, then asks for it, then forces it.
fn end_by(child: &mut Child, deadline: Instant) -> io::Result<std::process::ExitStatus> {
    let mut asked = None;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        let now = Instant::now();
        match asked {
            None if now >= deadline => {
                if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
                    kill_process(pid, Signal::TERM).ok();
                }
                asked = Some(now);
            }
            Some(since) if now.duration_since(since) >= GRACE => {
                child.kill()?;
                return child.wait();
            }
            None | Some(_) => {
                std::thread::sleep(PAUSE.min(Duration::from_millis(1 + u64::from(asked.is_some()))))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, output_max: usize, limit: Duration) -> Answer {
        let arguments = [OsString::from("-c"), OsString::from(script)];
        let process = Process {
            program: Path::new("/bin/sh"),
            arguments: &arguments,
            environment: &[],
            dir: Path::new("/"),
            stdin: None,
            output_max,
            limit,
        };
        run(process).expect("a shell")
    }

    #[test]
    fn output_is_bounded_and_the_writer_does_not_hang() {
        let answer = shell("while :; do echo yes; done", 100, Duration::from_secs(60));
        assert_eq!((answer.stdout.len(), answer.is_cut, answer.is_too_slow), (100, true, false));
    }

    #[test]
    fn a_program_that_takes_too_long_is_ended() {
        let before = Instant::now();
        let answer = shell("trap '' TERM; while :; do :; done", 100, Duration::from_millis(50));
        assert!(answer.is_too_slow && answer.code.is_none());
        assert!(before.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn the_environment_is_only_what_was_given() {
        let answer = shell("echo ${HOME-none}; echo no >&2; exit 3", 100, Duration::from_secs(60));
        assert_eq!((answer.code, &*answer.stdout, &*answer.stderr), (Some(3), &b"none\n"[..], "no\n"));
    }
}
