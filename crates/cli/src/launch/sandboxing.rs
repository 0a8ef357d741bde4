//! The profiles of `--sandbox`: what each lets a command reach.
//!
//! Invariant: profiles are built in or lie in the user's own settings, never in the directory that a command works in,
//! where an earlier command could have widened them. The store, its keys and the output of runs are hidden in every
//! profile. Deliberately absent: the walls themselves, which are the supervisor's.

use std::collections::BTreeMap;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use callboard_agents::Program;
use callboard_supervisor::sandbox::{AllowedHost, Missing, Network, Sandbox};
use serde::Deserialize;

use crate::error::Error;
use crate::input::word::Misread;
use crate::store::Store;
use crate::store::config;

/// The profile that is meant when none is named.
pub(crate) const USUAL: &str = "workspace";
const BUILT_IN: [&str; 3] = ["read-only", "workspace", "open"];

/// In the home directory: keys, tokens and what programs outside would execute or believe.
const SECRETS: [&str; 25] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".config/gcloud",
    ".config/gh",
    ".config/hub",
    ".config/callboard",
    ".netrc",
    ".git-credentials",
    ".pgpass",
    ".my.cnf",
    ".pypirc",
    ".vault-token",
    ".password-store",
    ".local/share/keyrings",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".terraform.d/credentials.tfrc.json",
    ".mozilla",
    ".config/google-chrome",
    ".bash_history",
    ".zsh_history",
];

/// Sockets of programs that would do outside what they are asked for.
const SERVICES: [&str; 10] = [
    "/run/docker.sock",
    "/run/containerd",
    "/run/podman",
    "/run/crio",
    "/run/libvirt",
    "/run/snapd.socket",
    "/run/dbus",
    "/run/screen",
    "/run/systemd/private",
    "/run/systemd/io.systemd.ManagedOOM",
];

/// Sockets of programs that look names up for others: through them a question leaves although no network does.
const RESOLVERS: [&str; 5] = [
    "/run/systemd/resolve/io.systemd.Resolve",
    "/run/systemd/resolve/io.systemd.Resolve.Monitor",
    "/run/nscd",
    "/run/unscd",
    "/run/avahi-daemon",
];

/// In the home directory: what tools download and compile once for every project, and the program that fills it. The
/// directories of a program that is installed are made, since its first use could not make them in a sandbox.
const CACHES: [(&str, &str); 13] = [
    ("sh", ".cache"),
    ("npm", ".npm"),
    ("yarn", ".yarn"),
    ("pnpm", ".pnpm-store"),
    ("pnpm", ".local/share/pnpm"),
    ("bun", ".bun/install/cache"),
    ("cargo", ".cargo/registry"),
    ("cargo", ".cargo/git"),
    ("gradle", ".gradle/caches"),
    ("mvn", ".m2/repository"),
    ("dotnet", ".nuget/packages"),
    ("go", "go/pkg"),
    ("go", ".cache/go-build"),
];

/// Files of caches that are not directories.
const CACHE_FILES: [&str; 3] =
    [".cargo/.package-cache", ".cargo/.package-cache-mutate", ".cargo/.global-cache"];

/// Variables that move a part of the home directory elsewhere.
const MOVED: [(&str, &str); 7] = [
    (".cache", "XDG_CACHE_HOME"),
    (".config", "XDG_CONFIG_HOME"),
    (".local/share", "XDG_DATA_HOME"),
    (".local/state", "XDG_STATE_HOME"),
    (".cargo", "CARGO_HOME"),
    (".npm", "npm_config_cache"),
    ("go", "GOPATH"),
];

/// In the home directory: where agent programs keep their sessions.
const AGENTS: [&str; 16] = [
    ".claude",
    ".claude.json",
    ".codex",
    ".gemini",
    ".qwen",
    ".cursor",
    ".aider",
    ".config/opencode",
    ".local/share/opencode",
    ".local/state/opencode",
    ".local/share/goose",
    ".local/state/goose",
    ".config/goose",
    ".config/amp",
    ".local/share/amp",
    ".cache/opencode",
];

/// In the home directory: settings of agent programs that name commands, which would run outside the next time.
const SETTINGS: [&str; 6] = [
    ".claude/settings.json",
    ".codex/config.toml",
    ".gemini/settings.json",
    ".qwen/settings.json",
    ".config/opencode/opencode.json",
    ".config/goose/config.yaml",
];

/// What the command line says beside the profile.
pub(crate) struct Wanted<'a> {
    pub(crate) profile: &'a str,
    pub(crate) network: Option<&'a Network>,
    pub(crate) write: &'a [PathBuf],
    pub(crate) missing: Missing,
}

/// A profile in the user's settings.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Profile {
    /// The built-in profile that it changes; `workspace` unless given.
    base: Option<String>,
    #[serde(default)]
    write: Vec<PathBuf>,
    #[serde(default)]
    hide: Vec<PathBuf>,
    /// What the base hides and this profile does not.
    #[serde(default)]
    show: Vec<PathBuf>,
    network: Option<String>,
    private_tmp: Option<bool>,
}

#[derive(Default, Deserialize)]
struct File {
    #[serde(default)]
    sandbox: BTreeMap<String, Profile>,
}

/// Reads a network: `open`, `none`, `loopback`, ports, or hosts.
pub(crate) fn network(text: &str) -> Result<Network, Misread> {
    let misread = |because: String| Misread {
        because,
        instead:
            "open, none, loopback, ports such as 443,53, or hosts such as api.example.com,*.github.com:443"
                .to_owned(),
    };
    match text {
        "open" => return Ok(Network::Open),
        "none" => return Ok(Network::None),
        "loopback" => return Ok(Network::Loopback),
        _ => {}
    }
    let words = || text.split(',').map(str::trim);
    let is_port = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    if words().all(is_port) {
        let port = |word: &str| word.parse::<u16>().ok().filter(|port| *port > 0);
        let ports: Option<Vec<u16>> = words().map(port).collect();
        return ports.map(Network::Ports).ok_or_else(|| misread(format!("unknown network {text:?}")));
    }
    if let Some(port) = words().find(|word| is_port(word)) {
        return Err(misread(format!("{port:?} stands alone among hosts; a port is a part of its host")));
    }
    // A misspelt word would be taken for a host.
    if let Some(word) = words().find(|word| !word.contains(['.', ':', '*']) && *word != "localhost") {
        return Err(misread(format!("unknown network {word:?}")));
    }
    let host = |word: &str| {
        word.parse::<AllowedHost>().map_err(|because| misread(format!("unknown host {word:?}: {because}")))
    };
    words().map(host).collect::<Result<_, _>>().map(Network::Hosts)
}

/// The words that make a network.
pub(crate) fn network_words(network: &Network) -> String {
    match network {
        Network::Open => "open".to_owned(),
        Network::None => "none".to_owned(),
        Network::Loopback => "loopback".to_owned(),
        Network::Ports(ports) => ports.iter().map(u16::to_string).collect::<Vec<_>>().join(","),
        Network::Hosts(hosts) => hosts.iter().map(AllowedHost::to_string).collect::<Vec<_>>().join(","),
    }
}

/// The sandbox of a command.
pub(crate) fn sandbox(
    wanted: &Wanted<'_>,
    program: Program,
    cwd: &Path,
    store: &Store,
) -> Result<Sandbox, Error> {
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let own = if BUILT_IN.contains(&wanted.profile) { None } else { Some(settings(wanted.profile)?) };
    let base = own.as_ref().map_or(wanted.profile, |own| own.base.as_deref().unwrap_or(USUAL));
    let mut made = built_in(base, program, cwd, home.as_deref())?;
    let beneath_home = |path: &PathBuf| match (path.strip_prefix("~"), &home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => cwd.join(path),
    };
    if let Some(own) = &own {
        made.write.extend(own.write.iter().map(beneath_home));
        let shown: Vec<PathBuf> = own.show.iter().map(beneath_home).collect();
        made.hidden.retain(|path| !shown.contains(path));
        made.hidden.extend(own.hide.iter().map(beneath_home));
        if let Some(text) = &own.network {
            made.network = network(text).map_err(|Misread { because, instead }| Error::CommandLine {
                because: format!("the profile {:?}: {because}", wanted.profile),
                instead,
            })?;
        }
        made.private_tmp = own.private_tmp.unwrap_or(made.private_tmp);
    }
    made.write.extend(wanted.write.iter().map(beneath_home));
    made.network = wanted.network.unwrap_or(&made.network).clone();
    match made.network {
        Network::Hosts(_) | Network::Loopback | Network::None => {
            made.hidden.extend(RESOLVERS.map(PathBuf::from))
        }
        Network::Open | Network::Ports(_) => {}
    }
    made.missing = wanted.missing;
    let state = store.state_dir()?;
    // With the key somebody could seal another history; what is remembered beside it tells of that. Its directory is hidden as a
    // whole: the mount over a single file would go when the file is replaced.
    let key = store.key()?;
    if let Some(place) = key.parent().filter(|place| !place.starts_with(&state)) {
        // The first record makes the key, and only what is there can be hidden.
        std::fs::create_dir_all(place).map_err(|source| Error::File(place.to_owned(), source))?;
        made.hidden.push(place.to_owned());
    }
    made.hidden.push(state);
    made.hidden.extend(config::file().as_deref().and_then(Path::parent).map(Path::to_owned));
    Ok(made)
}

fn built_in(name: &str, program: Program, cwd: &Path, home: Option<&Path>) -> Result<Sandbox, Error> {
    let at_home =
        |names: &[&str]| -> Vec<PathBuf> { names.iter().flat_map(|name| at_home(home, name)).collect() };
    let uid = rustix::process::geteuid().as_raw();
    let mut hidden = at_home(&SECRETS);
    hidden.extend(SERVICES.map(PathBuf::from));
    hidden.push(format!("/run/user/{uid}").into());
    let worked: Vec<&Path> = home.into_iter().chain([cwd]).collect();
    // A variable can name anything, also what holds everything.
    hidden.extend(
        named_services().into_iter().filter(|path| !worked.iter().any(|inside| inside.starts_with(path))),
    );
    hidden.extend(devices());
    let mut agents = at_home(&AGENTS);
    agents.extend(["CODEX_HOME", "CLAUDE_CONFIG_DIR"].iter().filter_map(std::env::var_os).map(PathBuf::from));
    let mut made = Sandbox {
        write: agents,
        hidden,
        protected: at_home(&SETTINGS),
        private_tmp: true,
        network: Network::Open,
        missing: Missing::Refuse,
    };
    match name {
        "read-only" => {}
        "workspace" => {
            make(home, program);
            made.write.extend(at_home(&CACHES.map(|(_, name)| name)));
            made.write.extend(at_home(&CACHE_FILES));
            made.write.push(cwd.to_owned());
            let (write, protected) = repository(cwd);
            made.write.extend(write);
            made.protected.extend(protected);
        }
        "open" => {
            made.write = vec!["/".into()];
            made.private_tmp = false;
            made.protected.clear();
        }
        other => {
            return Err(Error::CommandLine {
                because: format!("there is no sandbox profile {other:?}"),
                instead:
                    "read-only, workspace, open, or one of [sandbox.NAME] in the settings; and -- before \
                          the command"
                        .to_owned(),
            });
        }
    }
    Ok(made)
}

/// The sockets that the environment names.
fn named_services() -> Vec<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let address = |name: &str, before: &str| -> Option<PathBuf> {
        let value = std::env::var(name).ok()?;
        let (_, rest) = value.split_once(before)?;
        rest.split([',', ';']).next().map(PathBuf::from)
    };
    let named = [
        variable("XDG_RUNTIME_DIR"),
        variable("SSH_AUTH_SOCK"),
        address("DBUS_SESSION_BUS_ADDRESS", "unix:path="),
        address("DOCKER_HOST", "unix://"),
        address("CONTAINER_HOST", "unix://"),
    ];
    named.into_iter().flatten().filter(|path| path.is_absolute()).collect()
}

/// The devices that hold the files of everybody, or the memory of the machine, if this user can open them.
fn devices() -> Vec<PathBuf> {
    const MEMORY: [&str; 3] = ["mem", "kmem", "port"];
    let places = ["/dev", "/dev/mapper", "/dev/block"].into_iter();
    let entries = places.flat_map(|place| std::fs::read_dir(place).into_iter().flatten().flatten());
    let found = entries.filter(|entry| {
        let is_block = entry.file_type().is_ok_and(|kind| kind.is_block_device());
        is_block || MEMORY.iter().any(|name| entry.file_name() == *name)
    });
    let is_open = |path: &PathBuf| rustix::fs::access(path, rustix::fs::Access::READ_OK).is_ok();
    found.map(|entry| entry.path()).filter(is_open).collect()
}

/// Makes the directories that a first run would make, which it cannot in a sandbox.
fn make(home: Option<&Path>, program: Program) {
    let own: &[&str] = match program {
        Program::Claude => &[".claude"],
        Program::Codex => &[".codex"],
        Program::Gemini => &[".gemini"],
        Program::Qwen => &[".qwen"],
        Program::Opencode => &[".local/share/opencode", ".local/state/opencode", ".config/opencode"],
        Program::Goose => &[".local/share/goose", ".local/state/goose", ".config/goose"],
        Program::Cursor => &[".cursor"],
        Program::Amp => &[".config/amp", ".local/share/amp"],
        Program::Aider => &[".aider"],
        Program::Plain => &[],
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_installed =
        |program: &str| std::env::split_paths(&path).any(|place| place.join(program).is_file());
    let caches = CACHES.iter().filter(|(program, _)| is_installed(program)).map(|(_, name)| name);
    for name in own.iter().chain(caches) {
        // What cannot be made is not there, and the program says what it lacks.
        at_home(home, name).last().map(|place| std::fs::create_dir_all(place).ok());
    }
}

/// Where something of the home directory is: there, and where a variable moves it to, which comes last.
fn at_home(home: Option<&Path>, name: &str) -> Vec<PathBuf> {
    let moved = MOVED.iter().find_map(|(part, variable)| {
        let rest = Path::new(name).strip_prefix(part).ok()?;
        let place = std::env::var_os(variable).map(PathBuf::from).filter(|place| place.is_absolute())?;
        // Joined with nothing, a path would end with a slash, and a file has none.
        Some(if rest.as_os_str().is_empty() { place } else { place.join(rest) })
    });
    home.map(|home| home.join(name)).into_iter().chain(moved).collect()
}

/// What a repository needs to be written beside its files, and what of it names programs that git would run outside.
fn repository(cwd: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let Some(git) = cwd.ancestors().map(|dir| dir.join(".git")).find(|git| git.exists()) else {
        return Default::default();
    };
    let mut write = Vec::new();
    let common = if git.is_dir() {
        write.push(git.clone());
        git
    } else {
        let Some((own, common)) = worktree(&git) else { return Default::default() };
        write.extend([own, common.clone()]);
        common
    };
    // A repository without hooks gets an empty directory for them, so that nothing can be put in its place.
    std::fs::create_dir(common.join("hooks")).ok();
    let protected = ["config", "hooks", "config.worktree"].map(|name| common.join(name));
    (write, protected.into_iter().filter(|path| path.symlink_metadata().is_ok()).collect())
}

/// The directories of a worktree: its own, and the one it shares. The file that names them could have been written by an
/// earlier command, so the directory has to name the file, too.
fn worktree(file: &Path) -> Option<(PathBuf, PathBuf)> {
    let named = |path: &Path, prefix: &str| -> Option<PathBuf> {
        let text = std::fs::read_to_string(path).ok()?;
        Some(path.parent()?.join(text.strip_prefix(prefix)?.trim()))
    };
    let own = named(file, "gitdir:")?.canonicalize().ok()?;
    let back = named(&own.join("gitdir"), "")?.canonicalize().ok()?;
    if back != file.canonicalize().ok()? {
        return None;
    }
    let common = named(&own.join("commondir"), "")?.canonicalize().ok()?;
    Some((own, common))
}

/// A profile of the user's settings.
fn settings(name: &str) -> Result<Profile, Error> {
    let file = config::file();
    let text = file.as_deref().and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
    let read: File = toml::from_str(&text).map_err(|error| Error::CommandLine {
        because: format!("the sandbox profiles in the settings are not understood: {}", error.message()),
        instead: "[sandbox.NAME] with base, write, hide, show, network and private_tmp".to_owned(),
    })?;
    let known: Vec<String> =
        BUILT_IN.iter().map(|name| (*name).to_owned()).chain(read.sandbox.keys().cloned()).collect();
    let mut profiles = read.sandbox;
    profiles.remove(name).ok_or_else(|| Error::CommandLine {
        because: format!("there is no sandbox profile {name:?}"),
        instead: format!("one of {}, and -- before the command", known.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worktree_is_believed_only_if_its_repository_names_it() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let own = root.join("main/.git/worktrees/w");
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(own.join("commondir"), "../..\n").unwrap();
        std::fs::create_dir(root.join("w")).unwrap();
        let file = root.join("w/.git");
        std::fs::write(&file, format!("gitdir: {}\n", own.display())).unwrap();
        std::fs::write(own.join("gitdir"), "/elsewhere/.git\n").unwrap();
        assert_eq!(worktree(&file), None);
        std::fs::write(own.join("gitdir"), format!("{}\n", file.display())).unwrap();
        assert_eq!(worktree(&file), Some((own, root.join("main/.git"))));
    }

    #[test]
    fn networks_are_read_and_written() {
        for text in ["open", "none", "loopback", "443", "443,53", "a.example", "*.b.example:443,[::1]:80"] {
            let read = network(text).unwrap_or_else(|_| panic!("{text}"));
            assert_eq!(network_words(&read), text);
        }
        for text in
            ["", "all", "a b", "0", "70000", "443,", "-1", "443,a.example", "a.example,", "a.example:0"]
        {
            assert!(network(text).is_err(), "{text}");
        }
    }
}
