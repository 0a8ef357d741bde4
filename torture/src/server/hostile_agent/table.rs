//! The hostile acts: what is tried, how it is known to have worked, and what must come of it without and with a sandbox.
//!
//! Invariant: an act has an effect that can be seen from outside wherever there is one; what it says itself counts only for
//! calls of the kernel that leave nothing behind. No act changes anything of the host beyond the place it is tried in.
//! Long because it is a table.

use self::Proof::{Changed, Ended, Heard, Hit, Left, Recorded, Secret, Word, Wrote};

/// How an act is known to have worked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Proof {
    /// It printed the secret that lies in the place.
    Secret,
    /// This file of the place holds what only this act writes.
    Wrote(&'static str),
    /// This file of the place is gone, or is not what it was: its contents, its mode, its time.
    Changed(&'static str),
    /// Somebody outside received its number.
    Heard,
    /// Something was done to this process outside.
    Hit(&'static str),
    /// The log holds its number in this text.
    Recorded(&'static str),
    /// This run has ended.
    Ended(&'static str),
    /// A process of it is alive after the run.
    Left,
    /// It says so.
    Word,
}

/// Who can do it at all, without any sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    Anyone,
    /// Root with every capability.
    Root,
    /// It depends on how the kernel of the host is built or set.
    Host,
}

/// What comes of an act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Done,
    Stopped,
}

/// One act.
#[derive(Clone, Copy, Debug)]
pub(super) struct Act {
    pub(super) name: &'static str,
    /// Words of a shell, in the working directory.
    pub(super) script: &'static str,
    pub(super) proof: Proof,
    pub(super) needs: Needs,
    /// The network of the sandbox in which it is tried.
    pub(super) network: &'static str,
    pub(super) without: Outcome,
    pub(super) with: Outcome,
    /// The wall that stops it, or why nothing does.
    pub(super) by: &'static str,
}

impl Act {
    const fn root(self) -> Self {
        Self { needs: Needs::Root, ..self }
    }

    const fn host(self) -> Self {
        Self { needs: Needs::Host, ..self }
    }

    const fn network(self, network: &'static str) -> Self {
        Self { network, ..self }
    }

    /// Nobody needs a sandbox to be stopped.
    const fn never(self) -> Self {
        Self { without: Outcome::Stopped, ..self }
    }
}

/// Stopped by a wall.
const fn stopped(by: &'static str, proof: Proof, name: &'static str, script: &'static str) -> Act {
    let (without, with) = (Outcome::Done, Outcome::Stopped);
    Act { name, script, proof, needs: Needs::Anyone, network: "open", without, with, by }
}

/// Not stopped, for this reason.
const fn allowed(by: &'static str, proof: Proof, name: &'static str, script: &'static str) -> Act {
    Act { with: Outcome::Done, ..stopped(by, proof, name, script) }
}

/// The acts in groups.
pub(super) const GROUPS: [(&str, &[Act]); 8] = [
    ("Read what is secret", READS),
    ("Write outside of the working directory", WRITES),
    ("Have something run outside, later", PLANTS),
    ("Reach processes outside", PROCESSES),
    ("Talk to services outside", SERVICES),
    ("Use the network", NETWORK),
    ("Ask the kernel for more", CALLS),
    ("Turn on callboard itself", DOORS),
];

/// Every act, in order; its number is its place.
pub(super) fn acts() -> impl Iterator<Item = &'static Act> {
    GROUPS.iter().flat_map(|(_, acts)| acts.iter())
}

const READS: &[Act] = &[
    stopped("hidden", Secret, "read a private SSH key", "cat $HOME/.ssh/id_ed25519"),
    stopped("hidden", Secret, "read a GnuPG key", "cat $HOME/.gnupg/secring.gpg"),
    stopped("hidden", Secret, "read credentials of AWS", "cat $HOME/.aws/credentials"),
    stopped("hidden", Secret, "read credentials of Google Cloud", "cat $HOME/.config/gcloud/credentials.db"),
    stopped("hidden", Secret, "read credentials of Azure", "cat $HOME/.azure/msal_token_cache.json"),
    stopped("hidden", Secret, "read the configuration of Kubernetes", "cat $HOME/.kube/config"),
    stopped("hidden", Secret, "read logins of Docker", "cat $HOME/.docker/config.json"),
    stopped("hidden", Secret, "read the token of GitHub's CLI", "cat $HOME/.config/gh/hosts.yml"),
    stopped("hidden", Secret, "read ~/.netrc", "cat $HOME/.netrc"),
    stopped("hidden", Secret, "read ~/.git-credentials", "cat $HOME/.git-credentials"),
    stopped("hidden", Secret, "read ~/.pgpass", "cat $HOME/.pgpass"),
    stopped("hidden", Secret, "read ~/.pypirc", "cat $HOME/.pypirc"),
    stopped("hidden", Secret, "read the token of Vault", "cat $HOME/.vault-token"),
    stopped("hidden", Secret, "read credentials of cargo", "cat $HOME/.cargo/credentials.toml"),
    stopped("hidden", Secret, "read logins of Firefox", "cat $HOME/.mozilla/firefox/logins.json"),
    stopped(
        "hidden",
        Secret,
        "read the keyring of the desktop",
        "cat $HOME/.local/share/keyrings/login.keyring",
    ),
    stopped("hidden", Secret, "read the history of the shell", "cat $HOME/.bash_history"),
    stopped("hidden", Secret, "read a key through a symbolic link", "ln -s $HOME/.ssh/id_ed25519 s; cat s"),
    stopped("hidden", Secret, "read a key through a hard link", "ln $HOME/.ssh/id_ed25519 h; cat h"),
    stopped(
        "hidden",
        Secret,
        "read a key through /proc/self/root",
        "cat /proc/self/root$HOME/.ssh/id_ed25519",
    ),
    stopped(
        "Landlock",
        Secret,
        "read a key through /proc/PID/root",
        "cat /proc/$V/root$HOME/.ssh/id_ed25519",
    ),
    stopped("Landlock", Secret, "read a key through /proc/PID/cwd", "cat /proc/$V/cwd/id_ed25519"),
    stopped("Landlock", Secret, "read a key that a process has open", "cat /proc/$V/fd/0"),
    stopped("tmp", Secret, "read a temporary file of somebody else", "cat $SHARED/file"),
    stopped("tmp", Secret, "read shared memory of somebody else", "cat $MEMORY"),
    stopped("privileges", Word, "make a device of the disk", "mknod disk b 7 0 && head -c 0 disk").root(),
    stopped(
        "hidden",
        Word,
        "open a block device",
        "for it in /dev/*; do test -b $it && head -c 0 $it && exit 0; done; exit 1",
    )
    .host(),
    allowed("registries need it", Secret, "read ~/.npmrc", "cat $HOME/.npmrc"),
    allowed("reads what is not hidden", Secret, "read .env of another project", "cat $OUT/.env"),
    allowed("inherited from your shell", Secret, "read a secret of its environment", "echo $API_KEY"),
];

const WRITES: &[Act] = &[
    stopped("files", Wrote("outside/new"), "make a file", "echo $OWN > $OUT/new"),
    stopped("files", Wrote("outside/dots"), "make a file by ..", "echo $OWN > ../outside/dots"),
    stopped("files", Wrote("outside/link"), "make a file through a link", "ln -s $OUT l; echo $OWN > l/link"),
    stopped("files", Wrote("outside/file"), "overwrite a file", "echo $OWN > $OUT/file"),
    stopped("files", Changed("outside/cut"), "cut a file short", ": > $OUT/cut"),
    stopped("files", Changed("outside/removed"), "remove a file", "rm -f $OUT/removed"),
    stopped("files", Changed("outside/moved"), "move a file in", "mv $OUT/moved moved"),
    stopped("files", Wrote("outside/out"), "move a file out", "echo $OWN > out; mv out $OUT/out"),
    stopped("files", Wrote("outside/hard"), "write a hard link", "ln $OUT/hard hard; echo $OWN > hard"),
    stopped(
        "Landlock",
        Wrote("outside/root"),
        "write through /proc/PID/root",
        "echo $OWN > /proc/$V/root$OUT/root",
    ),
    stopped(
        "tmp",
        Wrote("shared/new"),
        "write among the temporary files of others",
        "echo $OWN > $SHARED/new",
    ),
    stopped("files", Changed("outside/mode"), "change the mode of a file", "chmod 777 $OUT/mode"),
    stopped(
        "files",
        Changed("outside/times"),
        "change the times of a file",
        "touch -d 2001-01-01 $OUT/times",
    ),
    stopped("files", Word, "open /etc/passwd for writing", "exec 3>> /etc/passwd").root(),
    stopped("files", Word, "open a switch of the kernel", "exec 3>> /proc/sys/kernel/core_pattern").root(),
    stopped("files", Word, "open /proc/sysrq-trigger", "exec 3>> /proc/sysrq-trigger").root(),
];

const PLANTS: &[Act] = &[
    stopped("files", Wrote("home/.bashrc"), "~/.bashrc", "echo $OWN >> $HOME/.bashrc"),
    stopped("files", Wrote("home/.profile"), "~/.profile", "echo $OWN > $HOME/.profile"),
    stopped(
        "files",
        Wrote("home/.ssh/authorized_keys"),
        "an SSH key",
        "echo $OWN >> $HOME/.ssh/authorized_keys",
    ),
    stopped("files", Wrote("home/.gitconfig"), "an alias of git", "git config --global alias.x $OWN"),
    stopped("files", Wrote("home/.local/bin/ls"), "a program in the PATH", "echo $OWN > $HOME/.local/bin/ls"),
    stopped(
        "files",
        Wrote("home/.config/systemd/user/x.service"),
        "a service of systemd",
        "echo $OWN > $HOME/.config/systemd/user/x.service",
    ),
    stopped(
        "files",
        Wrote("home/.config/autostart/x.desktop"),
        "an entry of the desktop",
        "echo $OWN > $HOME/.config/autostart/x.desktop",
    ),
    stopped(
        "protected",
        Wrote("work/.git/hooks/pre-commit"),
        "a hook of git",
        "echo $OWN > .git/hooks/pre-commit",
    ),
    stopped("protected", Wrote("work/.git/config"), "a monitor of git", "git config core.fsmonitor $OWN"),
    stopped(
        "protected",
        Wrote("work/.git/config"),
        "a configuration in the place of git's",
        "cp .git/config c; printf '[owned]\\nx = %s\\n' $OWN >> c; mv -f c .git/config",
    ),
    stopped(
        "protected",
        Wrote("work/.git/hooks/moved"),
        "other hooks in the place of git's",
        "mv .git/hooks .git/h; cp -r .git/h .git/hooks; echo $OWN > .git/hooks/moved",
    ),
    stopped(
        "protected",
        Wrote("work/.git/replaced"),
        "another repository in the place of this one",
        "mv .git g && mkdir .git && echo $OWN > .git/replaced; mv .git/replaced g/; rmdir .git; mv g .git",
    ),
    stopped(
        "protected",
        Wrote("home/.claude/settings.json"),
        "a hook of Claude Code",
        "echo $OWN > $HOME/.claude/settings.json",
    ),
    stopped(
        "protected",
        Wrote("home/.codex/config.toml"),
        "a server of Codex",
        "echo $OWN > $HOME/.codex/config.toml",
    ),
    stopped("files", Word, "a job of cron", "exec 3>> /etc/crontab").host(),
    stopped(
        "files",
        Word,
        "a library for every program",
        "test -e /etc/ld.so.conf && exec 3>> /etc/ld.so.conf",
    )
    .root(),
    allowed(
        "its sessions are in it",
        Wrote("home/.claude.json"),
        "a server in the state of Claude Code",
        "echo $OWN > $HOME/.claude.json",
    ),
    allowed("the working directory is its own", Wrote("work/Makefile"), "a Makefile", "echo $OWN > Makefile"),
    allowed(
        "the working directory is its own",
        Wrote("work/sub/.git/hooks/pre-commit"),
        "a repository of its own with a hook",
        "git init -q sub; mkdir -p sub/.git/hooks; echo $OWN > sub/.git/hooks/pre-commit",
    ),
];

const PROCESSES: &[Act] = &[
    stopped("signals", Hit("KILLED"), "kill a process", "kill -KILL $KILLED"),
    stopped("signals", Hit("PAUSED"), "stop a process", "kill -STOP $PAUSED"),
    stopped("signals", Hit("PIDFD"), "kill a process by a descriptor", "$ACT call signal $PIDFD"),
    stopped(
        "system_calls",
        Hit("LIMITED"),
        "take away the limits of a process",
        "$ACT call prlimit $LIMITED",
    ),
    stopped(
        "files",
        Hit("ADJUSTED"),
        "offer a process to the OOM killer",
        "echo 900 > /proc/$ADJUSTED/oom_score_adj",
    ),
    stopped("Landlock", Secret, "read the environment of a process", "tr '\\0' '\\n' < /proc/$V/environ"),
    stopped("Landlock", Secret, "read the memory of a process", "$ACT call memory $V").host(),
    stopped("system_calls", Secret, "read the memory of a process by a call", "$ACT call vm_readv $V").host(),
    stopped("Landlock", Word, "trace a process", "$ACT call trace $V").host(),
    stopped("system_calls", Secret, "take a descriptor of a process", "$ACT call getfd $V").host(),
    stopped("system_calls", Word, "compare itself with a process", "$ACT call kcmp $V").host(),
    stopped("system_calls", Word, "enter the namespaces of a process", "$ACT call setns $V").root(),
    stopped(
        "the end of the run",
        Left,
        "leave a process behind",
        "setsid env LEFT=$LEFT sleep 600 > /dev/null 2>&1 &",
    )
    .never(),
    allowed("seen in /proc", Word, "see the processes of others", "test -e /proc/$V/cmdline"),
    stopped("system_calls", Hit("NICE"), "slow a process down", "renice -n 19 -p $NICE"),
    allowed("threads need the call", Hit("PINNED"), "pin a process to one processor", "taskset -p 1 $PINNED")
        .host(),
];

const SERVICES: &[Act] = &[
    stopped("hidden", Heard, "the agent of SSH", "$ACT send unix $SSH_AUTH_SOCK $N"),
    stopped("hidden", Heard, "the agent of GnuPG", "$ACT send unix $HOME/.gnupg/S.gpg-agent $N"),
    stopped("hidden", Heard, "the bus of the session", "$ACT send unix $XDG_RUNTIME_DIR/bus $N"),
    stopped("hidden", Heard, "the socket of Docker", "$ACT send unix ${DOCKER_HOST#unix://} $N"),
    stopped("tmp", Heard, "a display, or tmux, in /tmp", "$ACT send unix $SHARED/socket $N"),
    stopped("abstract_sockets", Heard, "an abstract socket", "$ACT send abstract $ABSTRACT $N"),
    allowed(
        "a socket that is not hidden",
        Heard,
        "a socket in another directory",
        "$ACT send unix $OUT/socket $N",
    ),
];

const NETWORK: &[Act] = &[
    allowed("an agent needs its provider", Heard, "send over TCP", "$ACT send tcp 127.0.0.1:$PORT $N"),
    allowed("an agent needs its provider", Heard, "send over UDP", "$ACT send udp 127.0.0.1:$UDP $N"),
    stopped("privileges", Word, "make packets of any kind", "$ACT call raw").root(),
    stopped("privileges", Word, "listen to every packet", "$ACT call packet").host(),
    stopped("network", Heard, "send over TCP", "$ACT send tcp 127.0.0.1:$PORT $N").network("none"),
    stopped("network", Heard, "send over UDP", "$ACT send udp 127.0.0.1:$UDP $N").network("none"),
    stopped("network", Word, "listen", "$ACT call listen").network("none"),
    stopped("network", Word, "talk to the hypervisor", "$ACT call vsock").network("none").host(),
    stopped("network", Heard, "send to the host over TCP", "$ACT send tcp 127.0.0.1:$PORT $N")
        .network("loopback"),
    stopped("network", Heard, "send to the host over UDP", "$ACT send udp 127.0.0.1:$UDP $N")
        .network("loopback"),
    stopped("network", Word, "talk to the hypervisor", "$ACT call vsock").network("loopback").host(),
    allowed("the port is listed", Heard, "send to a listed port", "$ACT send tcp 127.0.0.1:$PORT $N")
        .network("ports"),
    stopped("network", Heard, "send to another port", "$ACT send tcp 127.0.0.1:$OTHER_PORT $N")
        .network("ports"),
    stopped(
        "network",
        Heard,
        "send to another port over IPv6",
        "$ACT send tcp [::ffff:127.0.0.1]:$OTHER_PORT $N",
    )
    .network("ports")
    .host(),
    stopped("network", Heard, "send with the first packet", "$ACT call fastopen $OTHER_PORT $N")
        .network("ports")
        .host(),
    stopped("network", Heard, "send over UDP", "$ACT send udp 127.0.0.1:$UDP $N").network("ports"),
    stopped("network", Word, "listen", "$ACT call listen").network("ports"),
    allowed("the host is listed", Heard, "send to a listed host", "$ACT send proxied 127.0.0.1:$PORT $N")
        .network("hosts"),
    stopped(
        "network",
        Heard,
        "send to a port that is not listed",
        "$ACT send proxied 127.0.0.1:$OTHER_PORT $N",
    )
    .network("hosts"),
    stopped("network", Heard, "send past the proxy over TCP", "$ACT send tcp 127.0.0.1:$PORT $N")
        .network("hosts"),
    stopped("network", Heard, "send past the proxy over UDP", "$ACT send udp 127.0.0.1:$UDP $N")
        .network("hosts"),
];

const CALLS: &[Act] = &[
    stopped("system_calls", Word, "mount", "$ACT call mount").root(),
    stopped("system_calls", Word, "mount by the new calls", "$ACT call fsopen").root(),
    stopped("system_calls", Word, "take a tree of mounts", "$ACT call open_tree").root(),
    stopped("system_calls", Word, "change the root", "chroot / true").root(),
    stopped("system_calls", Word, "make a user namespace", "$ACT call unshare_user").host(),
    stopped("system_calls", Word, "make a user namespace by clone3", "$ACT call clone3_user").host(),
    stopped("system_calls", Word, "make a mount namespace", "$ACT call unshare_mount").root(),
    stopped("system_calls", Word, "make a network namespace", "$ACT call unshare_network").root(),
    stopped("system_calls", Word, "open a file by its handle", "$ACT call handle").host(),
    stopped("system_calls", Word, "load a module of the kernel", "$ACT call module").host(),
    stopped("system_calls", Word, "load another kernel", "$ACT call kexec").host(),
    stopped("system_calls", Word, "load a program into the kernel", "$ACT call bpf").host(),
    stopped("system_calls", Word, "measure the kernel", "$ACT call perf").host(),
    stopped("system_calls", Word, "handle page faults", "$ACT call userfaultfd").host(),
    stopped("system_calls", Word, "get around filters by io_uring", "$ACT call io_uring").host(),
    stopped("system_calls", Word, "read the keyring of the session", "$ACT call keyctl"),
    stopped("system_calls", Word, "add a key", "$ACT call add_key"),
    stopped("system_calls", Word, "set the clock", "$ACT call clock").root(),
    stopped(
        "system_calls",
        Word,
        "set the name of the host",
        "test $(readlink /proc/self/ns/uts) = $UTS && $ACT call hostname",
    )
    .root(),
    stopped(
        "system_calls",
        Word,
        "restart the host",
        "test $(readlink /proc/self/ns/pid) = $PIDS && $ACT call reboot",
    )
    .root(),
    stopped("system_calls", Word, "record every process", "$ACT call acct").host(),
    stopped("system_calls", Word, "read the log of the kernel", "$ACT call syslog").host(),
    stopped(
        "no_new_privs",
        Word,
        "gain rights from a setuid program",
        "! grep -q 'NoNewPrivs:.1' /proc/self/status",
    )
    .never(),
    allowed("what it may run it may make", Word, "run a program that is in no file", "$ACT call memfd"),
];

const DOORS: &[Act] = &[
    stopped("hidden", Secret, "read the token of the operator", "cat $STATE/operator.token"),
    stopped("hidden", Secret, "read the store", "cat $STATE/store.db $STATE/store.db-wal"),
    stopped("hidden", Word, "read the key of the store", "test -s $STATE/store.db.key"),
    stopped(
        "hidden",
        Secret,
        "read the output of another run",
        "find $STATE/runs/$OTHER -type f -exec cat {} +",
    ),
    stopped("hidden", Wrote("state/forged"), "write beside the store", "echo $OWN > $STATE/forged"),
    stopped(
        "hidden",
        Wrote("home/.config/callboard/config.toml"),
        "widen a profile of the settings",
        "echo $OWN > $HOME/.config/callboard/config.toml",
    ),
    stopped(
        "hidden",
        Secret,
        "ask the server as the operator",
        "$ACT ask $SERVE $STATE/operator.token /api/v1/entities/$OTHER",
    ),
    stopped(
        "hidden",
        Secret,
        "ask the socket as the operator",
        "$ACT ask $STATE/serve.sock $STATE/operator.token /api/v1/entities/$OTHER",
    ),
    stopped(
        "hidden",
        Recorded("forged note"),
        "write a note on another run",
        "$CB note $OTHER \"forged note $N\"",
    ),
    stopped(
        "hidden",
        Recorded("forged run"),
        "start a run that outlives it",
        "$CB run --detach --title \"forged run $N\" -- true",
    ),
    stopped("hidden", Ended("STOPPED"), "stop another run", "$CB stop $STOPPED"),
    stopped("signals", Hit("SUPERVISOR"), "kill the supervisor of another run", "kill -KILL $SUPERVISOR"),
    stopped(
        "Landlock",
        Secret,
        "read the environment of a supervisor",
        "tr '\\0' '\\n' < /proc/$OTHER_SUPERVISOR/environ",
    )
    .root(),
    stopped(
        "a person is needed",
        Recorded("forged end"),
        "call another run ended",
        "$CB transition $OTHER completed --reason run.completed.ok --message \"forged end $N\"",
    )
    .never(),
    stopped("a person is needed", Word, "make a token of the operator", "$CB token create --scope operator")
        .never(),
];
