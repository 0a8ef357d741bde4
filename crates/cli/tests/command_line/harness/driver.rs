//! Runs the binary and collects what it says.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::Value;

/// What one run said.
pub(crate) struct Ran {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: Option<i32>,
}

/// The binary with these arguments, in an environment that says nothing about colour, width, store or settings.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_callboard"));
    command.args(arguments).stdin(Stdio::null()).env("COLUMNS", "80");
    let unset = [
        "NO_COLOR",
        "CLICOLOR",
        "CLICOLOR_FORCE",
        "CALLBOARD_STORE",
        "CALLBOARD_RUN",
        "CALLBOARD_NOTIFY",
        "CALLBOARD_WEBHOOK_URL",
        "CALLBOARD_WEBHOOK_SECRET",
    ];
    for variable in unset {
        command.env_remove(variable);
    }
    command.env("XDG_CONFIG_HOME", "/nonexistent");
    command
}

/// Runs to the end without input.
pub(crate) fn callboard(arguments: &[&str]) -> Ran {
    finish(&mut command(arguments))
}

/// Runs to the end with this input.
pub(crate) fn callboard_with(arguments: &[&str], input: &str) -> Ran {
    let Ok((reader, mut writer)) = std::io::pipe() else { panic!("no pipe") };
    let input = input.as_bytes().to_vec();
    // A pipe holds less than the largest input, so somebody has to write while the program reads.
    let writing = std::thread::spawn(move || writer.write_all(&input));
    let ran = finish(command(arguments).stdin(reader));
    let Ok(Ok(())) = writing.join() else { panic!("the program did not read its input to the end") };
    ran
}

/// Runs to the end.
pub(crate) fn finish(command: &mut Command) -> Ran {
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => panic!("{command:?}: {error}"),
    };
    let text = |bytes: Vec<u8>| match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => panic!("not text: {error}"),
    };
    Ran { stdout: text(output.stdout), stderr: text(output.stderr), code: output.status.code() }
}

impl Ran {
    /// What it wrote, if it ended well and had nothing to complain about.
    pub(crate) fn well(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""));
        self.stdout
    }

    /// The one document it wrote.
    pub(crate) fn json(self) -> Value {
        let text = self.well();
        match serde_json::from_str(&text) {
            Ok(document) => document,
            Err(error) => panic!("{error}: {text}"),
        }
    }
}
