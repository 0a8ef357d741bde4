//! What a child notifies, and who is not heard.

use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use callboard_supervisor::{Cause, Keep, Notification, Observer, StopCause, Stopper, Timer};

use crate::common::{sh, started};

struct Heard {
    stopper: Stopper,
    words: Vec<Notification>,
    enough: usize,
}

impl Observer for Heard {
    fn notified(&mut self, notification: Notification) {
        self.words.push(notification);
        if self.words.len() >= self.enough {
            self.stopper.stop(StopCause::Operator);
        }
    }
}

/// The child is a shell, and shells cannot speak to sockets: this very process speaks from a thread, as a member would.
#[test]
fn only_who_belongs_to_the_run_is_heard() {
    let directory = tempfile::tempdir().unwrap();
    let mut spec = sh("notify", "echo $NOTIFY_SOCKET; exec sleep 60");
    spec.keep = Some(Keep { dir: directory.path().join("run"), max_bytes: 1 << 20, began_us: 0 });
    spec.timers.total = Some(Duration::from_millis(500));
    let running = started(spec);
    let socket = directory.path().join("run/notify");
    UnixDatagram::unbound().unwrap().send_to(b"READY=1\nSTATUS=not yours", &socket).unwrap();
    let mut heard = Heard { stopper: running.stopper(), words: Vec::new(), enough: 1 };
    let end = running.watch(&mut heard);
    assert_eq!(heard.words, [], "we are not of the run");
    assert!(matches!(end.cause, Cause::Timer { timer: Timer::Total, .. }), "{end:?}");
    assert!(!socket.exists());
}

#[test]
fn a_child_that_notifies_is_heard() {
    let own = std::env::current_exe().unwrap();
    let mut spec = callboard_supervisor::Spec::new(own, crate::common::marker("notifies")).args([
        "--exact",
        "notices::speak",
        "--ignored",
        "--nocapture",
    ]);
    spec.timers.total = Some(Duration::from_secs(20));
    let running = started(spec);
    let mut heard = Heard { stopper: running.stopper(), words: Vec::new(), enough: 4 };
    let end = running.watch(&mut heard);
    assert_eq!(end.cause, Cause::Stopped(StopCause::Operator));
    let expected = [
        Notification::Ready,
        Notification::Status("at work".to_owned()),
        Notification::Watchdog,
        Notification::Extend(Duration::from_secs(60)),
    ];
    assert_eq!(heard.words, expected);
}

#[test]
fn a_sign_of_life_restarts_the_silence() {
    let own = std::env::current_exe().unwrap();
    let mut spec = callboard_supervisor::Spec::new(own, crate::common::marker("alive")).args([
        "--exact",
        "notices::stay_alive",
        "--ignored",
        "--nocapture",
    ]);
    spec.timers.silence = Some(Duration::from_secs(2));
    let running = started(spec);
    let mut heard = Heard { stopper: running.stopper(), words: Vec::new(), enough: 25 };
    let end = running.watch(&mut heard);
    assert_eq!(
        end.cause,
        Cause::Stopped(StopCause::Operator),
        "25 signs of life, 100 ms apart, and no other sound"
    );
}

fn tell(words: &[u8]) {
    use std::os::linux::net::SocketAddrExt;
    let Ok(address) = std::env::var("NOTIFY_SOCKET") else { return };
    let name = address.strip_prefix('@').unwrap_or(&address).to_owned();
    let sent = std::os::unix::net::SocketAddr::from_abstract_name(name)
        .and_then(|address| UnixDatagram::unbound()?.send_to_addr(words, &address));
    sent.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
#[ignore = "the body of a child, not a test"]
fn speak() {
    tell(b"READY=1\nSTATUS=at work");
    tell(b"WATCHDOG=1");
    tell(b"EXTEND_TIMEOUT_USEC=60000000");
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
#[ignore = "the body of a child, not a test"]
fn stay_alive() {
    for _ in 0..100 {
        tell(b"WATCHDOG=1");
        std::thread::sleep(Duration::from_millis(100));
    }
}
