//! Who sent a signal that reached us, as far as the kernel tells.
//!
//! Invariant: a name is read only from the process that sent the signal; one that got its pid afterwards began later and
//! is not named. Deliberately absent: what a signal means, which `Caught` knows.

use std::fs;

use crate::process::{Identity, Stat, of};

/// Who sent a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// Our terminal: a key was pressed, or the terminal was closed.
    Terminal,
    /// The kernel, for another reason.
    Kernel,
    /// A process.
    Process {
        /// Its pid.
        pid: u32,
        /// The user it ran as.
        uid: u32,
        /// When the signal was noticed, in clock ticks since the boot.
        noticed_ticks: u64,
    },
    /// A process that cannot be seen from our PID namespace.
    Unseen,
}

impl Sender {
    /// The sender in words, such as `pid 123 (bash, uid 0)`.
    #[must_use]
    pub fn words(self) -> String {
        match self {
            Self::Terminal => "its terminal".to_owned(),
            Self::Kernel => "the kernel".to_owned(),
            Self::Unseen => "a process outside of its PID namespace".to_owned(),
            Self::Process { pid, uid, .. } => match self.name() {
                Some(name) => format!("pid {pid} ({name}, uid {uid})"),
                None => format!("pid {pid} (uid {uid})"),
            },
        }
    }

    /// The process that sent it, if it is still there.
    #[must_use]
    pub fn identity(self) -> Option<Identity> {
        let Self::Process { pid, noticed_ticks, .. } = self else { return None };
        of(pid).ok().flatten().filter(|identity| identity.started_ticks <= noticed_ticks)
    }

    /// Whether the sender is still there and runs our own program.
    #[must_use]
    pub fn is_our_program(self) -> bool {
        self.identity().is_some_and(|identity| crate::containment::is_our_program(identity.pid))
    }

    /// The name of the process, if it is still there.
    fn name(self) -> Option<String> {
        let Identity { pid, started_ticks, .. } = self.identity()?;
        let name = name_of(pid)?;
        // Read again, because the pid may have been given out between the two looks.
        Stat::read(pid).filter(|stat| stat.started_ticks == started_ticks).map(|_| name)
    }
}

/// The name of a process, without anything that steers a terminal.
pub(crate) fn name_of(pid: u32) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(name.trim_end().replace(char::is_control, " ")).filter(|name| !name.is_empty())
}

/// How long this host has been up, in clock ticks, the time of suspension included.
pub(crate) fn now_ticks() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let per_second = rustix::param::clock_ticks_per_second();
    let whole = u64::try_from(now.tv_sec).unwrap_or_default() * per_second;
    whole + u64::try_from(now.tv_nsec).unwrap_or_default() * per_second / 1_000_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_began_after_the_signal_is_not_its_sender() {
        let own = crate::process::this().unwrap();
        let sent = |noticed_ticks| Sender::Process { pid: own.pid, uid: 7, noticed_ticks };
        assert!(sent(now_ticks()).words().contains(", uid 7)"), "{}", sent(now_ticks()).words());
        assert_eq!(sent(own.started_ticks - 1).words(), format!("pid {} (uid 7)", own.pid));
        assert_eq!(sent(own.started_ticks - 1).identity(), None);
    }
}
