//! What a command gets from whoever starts it, and what it does not: descriptors, privileges, a look into its supervisor.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::harness::driver::finish;
use crate::harness::runs::{CALLBOARD, reason, titled, until};
use crate::harness::shelf::{Shelf, text};

/// What a command in the foreground sees whose shell has opened descriptors 7 and 8.
fn descriptors(options: &str) -> String {
    let shelf = Shelf::empty();
    let script = format!(
        "exec 7</etc/passwd 8</etc/group; {CALLBOARD} run --quiet {options} -- \
         sh -c 'for n in 0 1 2 3 4 5 6 7 8 9; do [ -e /proc/$$/fd/$n ] && printf $n; done; cat \"$@\" >/dev/null' sh"
    );
    let mut command = Command::new("bash");
    let script = if options.is_empty() { format!("{script} /dev/fd/8") } else { script };
    command.args(["-c", &script]).env("CALLBOARD_STORE", shelf.path());
    finish(&mut command).well()
}

#[test]
fn a_command_gets_only_the_descriptors_that_it_was_given() {
    assert_eq!(descriptors("--grace=1s"), "012");
    assert_eq!(descriptors("--pass-fd=7"), "0127");
    assert_eq!(descriptors(""), "0128", "named by its arguments");
    let refused = Shelf::empty().run(&["run", "--pass-fd=4242", "--", "true"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("descriptor 4242 is not open"), "{}", refused.stderr);
}

#[test]
fn a_command_gains_no_privileges_unless_it_may() {
    let shelf = Shelf::empty();
    let status = ["--", "grep", "NoNewPrivs", "/proc/self/status"];
    let said = |options: &[&str]| shelf.run(&[&["run", "--quiet"], options, &status].concat()).stdout;
    assert_eq!(said(&[]), "NoNewPrivs:\t1\n");
    // What is forbidden around us stays forbidden.
    let around = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let around = around.lines().find(|line| line.starts_with("NoNewPrivs")).unwrap_or_default();
    assert_eq!(said(&["--allow-privileges"]), format!("{around}\n"));
}

/// The binary on a shelf, called by a user without rights; nothing if this is not root, who alone can become somebody else.
fn as_nobody(shelf: &Shelf, arguments: &[&str]) -> Option<Command> {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can become another user");
        return None;
    }
    std::fs::set_permissions(shelf.file(""), PermissionsExt::from_mode(0o777))
        .unwrap_or_else(|error| panic!("{error}"));
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", CALLBOARD]).args(arguments);
    command
        .env("CALLBOARD_STORE", shelf.path())
        .env("HOME", shelf.file(""))
        .env("XDG_CONFIG_HOME", "/nonexistent");
    command
        .env_remove("CALLBOARD_RUN")
        .env("SECRET_OF_THE_SUPERVISOR", "hunter2")
        .current_dir(shelf.file(""));
    Some(command)
}

#[test]
fn a_command_cannot_look_into_its_supervisor() {
    let shelf = Shelf::empty();
    let script = "for part in environ mem exe fd maps; do cat /proc/$PPID/$part > /dev/null 2>&1 && echo $part; \
                  ls /proc/$PPID/fd > /dev/null 2>&1 && echo list; readlink /proc/$PPID/exe; done; echo end";
    let Some(mut command) = as_nobody(&shelf, &["run", "--quiet", "--", "sh", "-c", script]) else { return };
    assert_eq!(finish(&mut command).stdout, "end\n");
}

#[test]
fn a_supervisor_that_hides_is_still_known() {
    let shelf = Shelf::empty();
    // With an empty environment, a process below its supervisor is still inside of the run.
    let ask =
        format!("env -i {CALLBOARD} --store {} token create --scope viewer; echo $?", text(&shelf.path()));
    let Some(mut command) = as_nobody(&shelf, &["run", "--quiet", "--", "sh", "-c", &ask]) else { return };
    let ran = finish(&mut command);
    assert_eq!(ran.stdout, "3\n", "{}", ran.stderr);
    // A run in the background ends with the run in which it was started, though neither can look into the other.
    let inner = format!("{CALLBOARD} run --quiet --detach --title inner -- sleep 600");
    let Some(mut command) = as_nobody(&shelf, &["run", "--quiet", "--title=outer", "--", "sh", "-c", &inner])
    else {
        return;
    };
    finish(&mut command).well();
    let ended =
        until("its end", || titled(&shelf, "inner").filter(|view| view["state"]["lifecycle"] != "running"));
    assert_eq!(reason(&ended), "run.cancelled.parent", "{ended}");
}
