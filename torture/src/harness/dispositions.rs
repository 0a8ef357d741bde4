//! The signals of a terminal, with their default actions.
//!
//! Invariant: whoever starts the driver, what it starts can be interrupted. A shell without job control starts programs in
//! the background with INT and QUIT ignored, `nohup` with HUP, and what is ignored stays so in every program that is started
//! from there. `env` resets them, because that takes no unsafe code.

use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// HUP, INT and QUIT, as bits of the mask that the kernel shows.
const OF_A_TERMINAL: u64 = 0b111;
/// Set in a driver that was started once more.
const AGAIN: &str = "CALLBOARD_TORTURE_AGAIN";

/// Starts the driver once more if a signal of a terminal is ignored; returns only if none is.
pub(crate) fn reset(arguments: &[String]) -> Result<()> {
    let status = std::fs::read_to_string("/proc/self/status").context("failed to read the signal masks")?;
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap_or_default();
    let ignored =
        u64::from_str_radix(ignored.trim(), 16).context("the mask of ignored signals is no number")?;
    if ignored & OF_A_TERMINAL == 0 {
        return Ok(());
    }
    if std::env::var_os(AGAIN).is_some() {
        bail!("HUP, INT or QUIT is ignored, and env does not reset it: start it in the foreground");
    }
    let driver = std::env::current_exe().context("the driver does not find itself")?;
    let mut again = Command::new("env");
    again.arg("--default-signal=HUP,INT,QUIT").arg(driver).args(arguments).env(AGAIN, "1");
    Err(again.exec()).context("failed to start env, which resets ignored signals")
}
