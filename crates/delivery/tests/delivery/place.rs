//! A directory of artifacts with something secret beside it, and programs that really run.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use callboard_delivery::{
    Agreement, Check, CheckProgram, Contract, Error, InspectionLimits, Item, ProgramEnd, Ran, Verification,
    verify,
};
use callboard_kernel::Moment;
use tempfile::TempDir;

/// What no verification may ever have read.
pub(crate) const SECRET: &[u8] = b"the secret beside the artifacts";

/// `artifacts/`, and `outside/` with the secret.
pub(crate) struct Place {
    temp: TempDir,
}

impl Place {
    pub(crate) fn new() -> io::Result<Self> {
        let place = Self { temp: tempfile::tempdir()? };
        std::fs::create_dir(place.dir())?;
        std::fs::create_dir(place.outside())?;
        for name in ["secret.txt", "ok.txt"] {
            std::fs::write(place.outside().join(name), SECRET)?;
        }
        Ok(place)
    }

    pub(crate) fn dir(&self) -> PathBuf {
        self.temp.path().join("artifacts")
    }

    pub(crate) fn outside(&self) -> PathBuf {
        self.temp.path().join("outside")
    }

    pub(crate) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        let path = self.dir().join(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, bytes)
    }

    /// An agreement from before anything lay there: whatever is found was written by the run.
    pub(crate) fn agree(&self, yaml: &str) -> Result<Agreement, Error> {
        Ok(Agreement { baseline: None, ..self.agree_now(yaml)? })
    }

    /// An agreement that knows what lies there.
    pub(crate) fn agree_now(&self, yaml: &str) -> Result<Agreement, Error> {
        Contract::parse(yaml, None)?.agree(&self.dir(), &Real)
    }

    /// The first promise of a contract, verified.
    pub(crate) fn look(&self, promise: &str) -> Result<Item, String> {
        let agreement =
            self.agree(&format!("artifacts:\n- {promise}\n")).map_err(|error| error.to_string())?;
        looked(&agreement).items.into_iter().next().ok_or_else(|| "nothing was promised".to_owned())
    }
}

pub(crate) fn looked(agreement: &Agreement) -> Verification {
    verify(agreement, &Real, &InspectionLimits::DEFAULT, Moment::from_micros(0))
        .unwrap_or_else(|stopped| panic!("{stopped}"))
}

pub(crate) fn secret_hash() -> String {
    blake3::hash(SECRET).to_hex().to_string()
}

/// Runs programs and waits for them; those of these tests end by themselves.
pub(crate) struct Real;

impl Check for Real {
    fn run(&self, program: &CheckProgram<'_>) -> io::Result<Ran> {
        let mut command = Command::new(&program.argv[0]);
        command.args(&program.argv[1..]).current_dir(program.dir).stdin(Stdio::null());
        for name in program.without {
            command.env_remove(name);
        }
        command.envs(program.with.iter().cloned());
        let output = command.output()?;
        let end = match output.status.code() {
            Some(code) => ProgramEnd::Code(code),
            None => {
                ProgramEnd::Signal(std::os::unix::process::ExitStatusExt::signal(&output.status).unwrap_or(0))
            }
        };
        let cut = output.stdout.len() > program.output_max || output.stderr.len() > program.output_max;
        let last = |bytes: Vec<u8>| bytes[bytes.len().saturating_sub(program.output_max)..].to_vec();
        Ok(Ran { end, stdout: last(output.stdout), stderr: last(output.stderr), cut })
    }
}

/// Git with an author and without this machine's configuration.
pub(crate) fn git(dir: &Path, arguments: &[&str]) -> io::Result<()> {
    let fixed = ["-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"];
    let output = Command::new("git")
        .args(fixed)
        .args(arguments)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()?;
    if output.status.success() {
        Ok(())
    } else {
        Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()))
    }
}
