//! The sandbox: real acts of a command, each tried without it and with it.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::{Child, Command, Stdio};

use serde_json::json;
use tempfile::TempDir;

use crate::harness::driver::{Ran, finish};
use crate::harness::runs::{CALLBOARD, begin, reason};
use crate::harness::shelf::text;

/// Whether an act succeeds in the sandbox; without one all of them do.
use Act::{Allowed, Refused, RefusedRoot};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Act {
    Allowed,
    Refused,
    /// Only root can do it at all.
    RefusedRoot,
}

/// What the command does, in the working directory, as words of a shell.
const ACTS: [(&str, Act, &str); 36] = [
    ("write the workspace", Allowed, "echo x > file"),
    ("commit", Allowed, "git add file && git -c user.name=a -c user.email=a@b commit -qm x"),
    ("write a cache", Allowed, "echo x > $HOME/.cache/x"),
    ("write /tmp", Allowed, "echo x > /tmp/$MARK.made && rm /tmp/$MARK.made"),
    ("write /dev/null", Allowed, "echo x > /dev/null"),
    ("read the system", Allowed, "cat /etc/passwd"),
    ("start and signal a child", Allowed, "sleep 60 & kill $!"),
    ("write outside", Refused, "echo x > $OUTSIDE/new"),
    ("write through a link", Refused, "ln -sf $OUTSIDE link && echo x > link/new2"),
    ("truncate outside", Refused, ": > $OUTSIDE/truncated"),
    ("remove outside", Refused, "rm $OUTSIDE/removed"),
    ("move out", Refused, "cp file moved && mv moved $OUTSIDE/moved"),
    ("link from outside", Refused, "ln $OUTSIDE/truncated linked"),
    ("write a start file of the shell", Refused, "echo x >> $HOME/.bashrc"),
    ("read a private key", Refused, "grep -q key $HOME/.ssh/id"),
    ("read the operator's token", Refused, "grep -q token $STATE/operator.token"),
    ("read the store", Refused, "head -c 16 $STATE/store.db | grep -q SQLite"),
    ("write beside the store", Refused, "echo x > $STATE/forged"),
    ("read the settings", Refused, "grep -q x $XDG_CONFIG_HOME/callboard/config.toml"),
    ("see the temporary files of others", Refused, "test -e /tmp/$MARK"),
    ("write a hook", Refused, "echo x > .git/hooks/pre-commit"),
    ("write the configuration of git", Refused, "git config core.fsmonitor evil"),
    ("replace the repository", Refused, "mv .git .git2 && mv .git2 .git"),
    ("change the mode of a file outside", Refused, "chmod 777 $OUTSIDE/truncated"),
    ("limit a process outside", Refused, "prlimit --pid $VICTIM --nofile=3:3"),
    ("signal a process outside", Refused, "kill -0 $VICTIM"),
    ("read the environment of a process outside", Refused, "grep -q . /proc/$VICTIM/environ"),
    ("trace a process outside", Refused, "perl -e 'exit(syscall(101, 0x4206, $ENV{VICTIM}+0, 0, 0) < 0)'"),
    ("read the environment of the supervisor", RefusedRoot, "grep -q . /proc/$SUPERVISOR/environ"),
    ("mount", RefusedRoot, "mount -t tmpfs none sub && umount sub"),
    ("change the root", RefusedRoot, "chroot / true"),
    ("make a device", RefusedRoot, "mknod device b 7 0"),
    ("make a user namespace", Refused, "unshare --user true"),
    ("use the keyring", Refused, "perl -e 'exit(syscall(250, 0, -3, 0) < 0)'"),
    (
        "connect to an abstract socket outside",
        Refused,
        "perl -e 'use Socket; socket(S, 1, 1, 0); exit !connect(S, pack(\"Sa*\", 1, \"\\0$ENV{MARK}\"))'",
    ),
    ("connect to a port outside", Refused, "bash -c \"exec 3<>/dev/tcp/127.0.0.1/$PORT\""),
];

/// A place with a store, a home, a repository to work in and things outside of it.
struct Place {
    place: TempDir,
    victim: Child,
    /// Somebody who listens on an abstract socket and on a port.
    _heard: (UnixListener, std::net::TcpListener),
    port: u16,
    /// A temporary file of somebody else.
    mark: TempDir,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.victim.kill().ok();
        self.victim.wait().ok();
    }
}

impl Place {
    fn new() -> Self {
        // Not in /tmp, which is hidden as a whole.
        let place = tempfile::tempdir_in("/var/tmp").unwrap_or_else(|error| panic!("{error}"));
        let file = |name: &str| place.path().join(name);
        for name in ["state", "home/.ssh", "home/.cache", "config/callboard", "work/sub", "outside"] {
            std::fs::create_dir_all(file(name)).unwrap_or_else(|error| panic!("{error}"));
        }
        let files = [
            ("state/operator.token", "token"),
            ("home/.ssh/id", "key"),
            ("home/.bashrc", "#"),
            ("config/callboard/config.toml", "# x"),
            ("outside/truncated", "x"),
            ("outside/removed", "x"),
        ];
        for (name, words) in files {
            std::fs::write(file(name), words).unwrap_or_else(|error| panic!("{error}"));
        }
        let git = Command::new("git").args(["init", "-q"]).current_dir(file("work")).status();
        assert!(git.is_ok_and(|status| status.success()));
        let mark = tempfile::Builder::new()
            .prefix("mark")
            .tempdir_in("/tmp")
            .unwrap_or_else(|error| panic!("{error}"));
        let name = mark.path().file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let heard = UnixListener::bind_addr(
            &SocketAddr::from_abstract_name(&name).unwrap_or_else(|error| panic!("{error}")),
        )
        .unwrap_or_else(|error| panic!("{error}"));
        let ports = std::net::TcpListener::bind("127.0.0.1:0").unwrap_or_else(|error| panic!("{error}"));
        let port = ports.local_addr().unwrap_or_else(|error| panic!("{error}")).port();
        let victim = begin(Command::new("sleep").arg("600").stdin(Stdio::null()));
        Self { place, victim, _heard: (heard, ports), port, mark }
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.place.path().join(name)
    }

    /// The binary in the workspace.
    fn run(&self, arguments: &[&str]) -> Ran {
        finish(&mut self.command(CALLBOARD, arguments))
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.file("work")).stdin(Stdio::null());
        let paths = [
            ("HOME", "home"),
            ("XDG_CONFIG_HOME", "config"),
            ("OUTSIDE", "outside"),
            ("STATE", "state"),
            ("CALLBOARD_STORE", "state/store.db"),
        ];
        for (name, path) in paths {
            command.env(name, self.file(path));
        }
        for name in [
            "CALLBOARD_RUN",
            "CALLBOARD_SANDBOX",
            "XDG_STATE_HOME",
            "GIT_DIR",
            "CODEX_HOME",
            "CLAUDE_CONFIG_DIR",
        ] {
            command.env_remove(name);
        }
        command.env("VICTIM", self.victim.id().to_string()).env("PORT", self.port.to_string());
        command.env("CB", CALLBOARD).env("MARK", self.mark.path().file_name().unwrap_or_default());
        command
    }

    /// The newest run.
    fn view(&self) -> serde_json::Value {
        let ran = self.run(&["ps", "session", "--all", "--json"]);
        let items: serde_json::Value =
            serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}"));
        let items = items["items"].as_array().cloned().unwrap_or_default();
        // Ids count up, so the last is the newest.
        items.into_iter().max_by_key(|item| item["id"].to_string()).unwrap_or_else(|| panic!("no run"))
    }
}

/// Those of the acts that succeed with these options, and what the run recorded.
fn succeed(options: &[&str]) -> (Vec<&'static str>, serde_json::Value) {
    let place = Place::new();
    let mut script = String::from("export SUPERVISOR=$PPID\n");
    for (number, (_, _, words)) in ACTS.iter().enumerate() {
        let quoted = words.replace('\'', "'\\''");
        script.push_str(&format!("if sh -c '{quoted}' > /dev/null 2>&1; then echo {number}; fi\n"));
    }
    let ran = place.run(&[&["run", "--quiet"], options, &["--", "sh", "-c", &script]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let done = ran.stdout.lines().filter_map(|line| line.parse::<usize>().ok());
    (done.filter_map(|number| ACTS.get(number)).map(|(name, ..)| *name).collect(), place.view())
}

#[test]
fn every_act_succeeds_without_a_sandbox_and_only_what_is_allowed_succeeds_with_it() {
    let is_root = rustix::process::geteuid().is_root();
    let is_tried = |act: Act| act != RefusedRoot || is_root;
    let is_traced = |name: &str| {
        cfg!(target_arch = "x86_64") || !["trace a process outside", "use the keyring"].contains(&name)
    };
    let named = |wanted: &dyn Fn(Act) -> bool| -> Vec<&str> {
        ACTS.iter().filter(|(name, act, _)| wanted(*act) && is_traced(name)).map(|(name, ..)| *name).collect()
    };
    let (without, _) = succeed(&[]);
    assert_eq!(without, named(&is_tried));
    let (with, view) = succeed(&["--sandbox", "--sandbox-network", "none"]);
    assert_eq!(with, named(&|act| act == Allowed));
    let sandbox = &view["facts"]["sandbox"];
    assert_eq!(
        (&sandbox["profile"], &sandbox["network"], &sandbox["missing"]),
        (&json!("workspace"), &json!("none"), &json!({}))
    );
    let walls: Vec<&str> = sandbox["walls"].as_object().unwrap().keys().map(String::as_str).collect();
    let expected = "abstract_sockets files hidden network privileges protected signals system_calls tmp";
    assert_eq!(walls.join(" "), expected, "{sandbox}");
}

#[test]
fn the_profiles_differ_in_what_can_be_written() {
    let place = Place::new();
    let script = "for file in file $OUTSIDE/file /tmp/$MARK.file; do echo x 2> /dev/null > $file && printf 'w'; done; \
                  grep -qs token $STATE/operator.token && printf t; rm -f /tmp/$MARK.file";
    let says =
        |profile: &str| place.run(&["run", "--quiet", "--sandbox", profile, "--", "sh", "-c", script]).stdout;
    assert_eq!([says("read-only"), says("workspace")], ["w", "ww"]);
    // What lies in /tmp is seen by `open`, which has no /tmp of its own.
    assert_eq!(says("open"), "www");
    let settings = format!("[sandbox.mine]\nbase = \"read-only\"\nwrite = [{:?}]\n", place.file("outside"));
    std::fs::write(place.file("config/callboard/config.toml"), settings).unwrap();
    assert_eq!(says("mine"), "ww");
    let unknown = place.run(&["run", "--sandbox", "nothing", "--", "true"]);
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.stderr.contains("read-only, workspace, open, mine"), "{}", unknown.stderr);
}

#[test]
fn the_network_is_what_was_asked_for() {
    let place = Place::new();
    let port = place.port.to_string();
    let script = "bash -c \"exec 3<>/dev/tcp/127.0.0.1/$PORT\" 2>/dev/null && printf tcp; \
                  bash -c \"exec 3<>/dev/udp/127.0.0.1/$PORT\" 2>/dev/null && printf udp; grep -q eth /proc/net/dev; :";
    let says = |network: &str| {
        place
            .run(&["run", "--quiet", "--sandbox", "--sandbox-network", network, "--", "sh", "-c", script])
            .stdout
    };
    assert_eq!(says("open"), "tcpudp");
    assert_eq!(says("none"), "");
    // It has a loopback device of its own, where nobody listens.
    assert_eq!(says("loopback"), "udp");
    assert_eq!([says(&port), says(&format!("{port},53")), says("1")], ["tcp", "tcpudp", ""]);
}

#[test]
fn the_program_inside_says_that_the_store_is_out_of_reach_and_reaches_its_supervisor() {
    let place = Place::new();
    let dir = std::path::Path::new(CALLBOARD).parent().unwrap();
    let script = "$CB note ses_0 text; echo note $?; $CB heartbeat; echo heartbeat $?; \
                  $CB --store own.db run --quiet -- sh -c 'echo x > $OUTSIDE/nested || exit 7' 2> /dev/null; echo nested $?; \
                  $CB --store own.db run --quiet --sandbox -- true; echo deeper $?";
    let ran =
        place.run(&["run", "--quiet", "--sandbox", "--sandbox-write", text(dir), "--", "sh", "-c", script]);
    assert_eq!(ran.stdout, "note 3\nheartbeat 0\nnested 7\ndeeper 125\n", "{}", ran.stderr);
    assert!(ran.stderr.contains("the store is out of reach inside of a sandbox"), "{}", ran.stderr);
    assert!(!place.file("outside/nested").exists());
}

#[test]
fn a_wall_that_cannot_stand_stops_the_start_unless_it_may_be_missing() {
    let place = Place::new();
    let limited = |options: &str, script: &str| {
        let inside = format!(
            "echo 0 > /proc/sys/user/max_mnt_namespaces && exec {CALLBOARD} run --quiet --sandbox {options} -- {script}"
        );
        finish(&mut place.command("unshare", &["--user", "--map-root-user", "sh", "-c", &inside]))
    };
    let refused = limited("", "touch started");
    if !place.file("state/store.db").exists() {
        eprintln!("skipped: no user namespace can be limited here: {}", refused.stderr);
        return;
    }
    assert_eq!(refused.code, Some(125), "{}", refused.stderr);
    assert!(!place.file("work/started").exists());
    let view = place.view();
    assert_eq!(reason(&view), "run.failed.sandbox", "{view}");
    assert!(view["state"]["reasons"][0]["message"].as_str().unwrap().contains("no wall for tmp"), "{view}");
    let script = "sh -c 'grep -qs token $STATE/operator.token && echo read; echo x 2>/dev/null > $OUTSIDE/x || echo kept'";
    let started = limited("--sandbox-best-effort", script);
    assert_eq!((started.stdout.as_str(), started.code), ("kept\n", Some(0)), "{}", started.stderr);
    let missing = place.view()["facts"]["sandbox"]["missing"].clone();
    assert!(missing["tmp"].as_str().unwrap().contains("this host gives no namespaces"), "{missing}");
}

#[test]
fn a_promised_command_is_checked_inside_of_the_sandbox() {
    let place = Place::new();
    let contract = "artifacts:\n  - id: check\n    command: [sh, -c, 'echo x > $OUTSIDE/checked || echo refused > seen']\n";
    std::fs::write(place.file("contract.yaml"), contract).unwrap();
    let contract = place.file("contract.yaml");
    let run = ["run", "--quiet", "--contract", text(&contract), "--"];
    assert_eq!(place.run(&[&run[..], &["true"]].concat()).code, Some(0));
    assert!(place.file("outside/checked").exists() && !place.file("work/seen").exists());
    std::fs::remove_file(place.file("outside/checked")).unwrap();
    let inside = ["run", "--quiet", "--sandbox", "--contract", text(&contract), "--", "true"];
    assert_eq!(place.run(&inside).code, Some(0));
    assert!(!place.file("outside/checked").exists() && place.file("work/seen").exists());
}

#[test]
fn a_working_directory_in_tmp_is_reached_and_not_written_by_who_may_not() {
    let place = Place::new();
    let work = tempfile::tempdir_in("/tmp").unwrap();
    std::fs::create_dir(work.path().join("sub")).unwrap();
    let says = |options: &[&str]| {
        let script = "for file in file sub/file /tmp/file; do echo x 2> /dev/null > $file && printf 1 || printf 0; done";
        let run = [&["run", "--quiet", "--sandbox=read-only"], options, &["--", "sh", "-c", script]].concat();
        finish(place.command(CALLBOARD, &run).current_dir(work.path())).stdout
    };
    assert_eq!(says(&[]), "001");
    assert_eq!(says(&["--sandbox-write=sub"]), "011");
    assert_eq!(says(&["--sandbox-write=."]), "111");
}

#[test]
fn caches_and_secrets_are_found_where_a_variable_moves_them() {
    let place = Place::new();
    for name in ["outside/cargo", "outside/config/gh"] {
        std::fs::create_dir_all(place.file(name)).unwrap();
    }
    for name in ["outside/cargo/credentials.toml", "outside/config/gh/hosts.yml"] {
        std::fs::write(place.file(name), "secret").unwrap();
    }
    let script = "for file in $XDG_CACHE_HOME/x $CARGO_HOME/x; do echo x 2> /dev/null > $file && printf 'w'; done; \
                  cat $CARGO_HOME/credentials.toml $XDG_CONFIG_HOME/gh/hosts.yml 2> /dev/null; :";
    let says = |options: &[&str]| {
        let mut command =
            place.command(CALLBOARD, &[&["run", "--quiet"], options, &["--", "sh", "-c", script]].concat());
        let moved = [("XDG_CACHE_HOME", "cache"), ("CARGO_HOME", "cargo"), ("XDG_CONFIG_HOME", "config")];
        command.envs(moved.map(|(name, path)| (name, place.file("outside").join(path))));
        finish(&mut command).stdout
    };
    // The directory of the cache is not there before a sandbox makes it.
    assert_eq!(says(&[]), "wsecretsecret");
    assert_eq!(says(&["--sandbox"]), "w");
    assert_eq!(std::fs::read(place.file("outside/cache/x")).unwrap(), b"x\n");
}

/// The key is made by the same start, and what is remembered beside it is written while the command runs.
#[test]
fn a_key_that_lies_elsewhere_is_hidden_with_its_directory() {
    let place = Place::new();
    let key = place.file("work/keys/seal.key");
    let says = |options: &[&str]| {
        let script = "ls keys; sleep 1.5; ls keys | wc -l";
        let run =
            [&["--key-file", text(&key), "run", "--quiet"], options, &["--", "sh", "-c", script]].concat();
        place.run(&run).stdout
    };
    assert_eq!(says(&["--sandbox"]), "0\n");
    assert!(key.exists(), "the key lies where it was asked for");
    assert!(says(&[]).starts_with("seal.key\n"));
}
