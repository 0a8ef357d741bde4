//! The acts that are calls of the kernel, each in a process of its own: exit code 0 if the kernel let it be.
//!
//! Invariant: where a call that succeeds would change the host, its arguments are ones that the kernel looks at only after
//! it has decided who may call it: an error about them says that the way was open.

use std::ffi::CString;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::FileExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use crate::harness::http;

/// Sends a word to somebody outside.
pub(super) fn send(arguments: &[String]) -> Result<()> {
    let [kind, place, text] = arguments else { bail!("send KIND PLACE TEXT") };
    let line = format!("{text}\n");
    match kind.as_str() {
        "tcp" => TcpStream::connect(place.as_str())?.write_all(line.as_bytes())?,
        "udp" => {
            let sent = UdpSocket::bind("127.0.0.1:0")?.send_to(line.as_bytes(), place.as_str())?;
            ensure!(sent == line.len());
        }
        "proxied" => proxied(place)?.write_all(line.as_bytes())?,
        "unix" => UnixStream::connect(place)?.write_all(line.as_bytes())?,
        "abstract" => {
            let address = SocketAddr::from_abstract_name(place)?;
            UnixStream::connect_addr(&address)?.write_all(line.as_bytes())?;
        }
        other => bail!("no way is called {other:?}"),
    }
    Ok(())
}

/// A connection through the proxy of the environment, if it names one.
fn proxied(place: &str) -> Result<TcpStream> {
    let Ok(proxy) = std::env::var("HTTPS_PROXY") else { return Ok(TcpStream::connect(place)?) };
    let mut stream = TcpStream::connect(proxy.trim_start_matches("http://").trim_end_matches('/'))?;
    write!(stream, "CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n")?;
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.extend(byte);
    }
    ensure!(head.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&head));
    Ok(stream)
}

/// Asks the server with a token that is read from a file, and prints the answer.
pub(super) fn ask(arguments: &[String]) -> Result<()> {
    let [place, token, path] = arguments else { bail!("ask PLACE TOKEN PATH") };
    let token = std::fs::read_to_string(token)?;
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{}Connection: close\r\n\r\n",
        http::bearer(token.trim())
    );
    let mut answer = String::new();
    if place.starts_with('/') {
        let mut stream = UnixStream::connect(Path::new(place))?;
        stream.write_all(head.as_bytes())?;
        stream.read_to_string(&mut answer)?;
    } else {
        let head = head.replace("Host: 127.0.0.1", &format!("Host: {place}"));
        let mut stream = TcpStream::connect(place.as_str())?;
        stream.write_all(head.as_bytes())?;
        stream.read_to_string(&mut answer)?;
    }
    println!("{answer}");
    Ok(())
}

/// Calls the kernel by the name of the act.
pub(super) fn call(arguments: &[String]) -> Result<()> {
    let name = arguments.first().context("which call?")?.as_str();
    let number = |at: usize| -> Result<i64> { Ok(arguments.get(at).context("a number")?.parse()?) };
    match name {
        "signal" | "prlimit" | "memory" | "vm_readv" | "trace" | "getfd" | "kcmp" | "setns" => {
            process(name, number(1)?)
        }
        "raw" | "packet" | "vsock" | "listen" => network(name),
        "fastopen" => fast_open(number(1)?, arguments.get(2).map_or("", String::as_str)),
        "memfd" => memfd(),
        _ => kernel(name),
    }
}

/// What is done to another process.
fn process(name: &str, pid: i64) -> Result<()> {
    match name {
        "signal" => {
            let descriptor = made(sys(libc::SYS_pidfd_open, [pid, 0, 0, 0, 0]))?;
            made(sys(libc::SYS_pidfd_send_signal, [descriptor, libc::SIGKILL.into(), 0, 0, 0]))?;
        }
        "prlimit" => {
            let limit = libc::rlimit64 { rlim_cur: 3, rlim_max: 3 };
            let limit = &raw const limit as i64;
            made(sys(libc::SYS_prlimit64, [pid, libc::RLIMIT_NOFILE.into(), limit, 0, 0]))?;
        }
        "memory" => {
            let (from, length) = top_of_stack(pid)?;
            let mut bytes = vec![0; length];
            std::fs::File::open(format!("/proc/{pid}/mem"))?.read_exact_at(&mut bytes, from)?;
            std::io::stdout().write_all(&bytes)?;
        }
        "vm_readv" => {
            let (from, length) = top_of_stack(pid)?;
            let mut bytes = vec![0_u8; length];
            let own = [bytes.as_mut_ptr() as i64, length as i64];
            let theirs = [from as i64, length as i64];
            let (own, theirs) = (own.as_ptr() as i64, theirs.as_ptr() as i64);
            made(sys6(libc::SYS_process_vm_readv, [pid, own, 1, theirs, 1, 0]))?;
            std::io::stdout().write_all(&bytes)?;
        }
        "trace" => {
            made(sys(libc::SYS_ptrace, [libc::PTRACE_SEIZE.into(), pid, 0, 0, 0]))?;
        }
        "getfd" => {
            let descriptor = made(sys(libc::SYS_pidfd_open, [pid, 0, 0, 0, 0]))?;
            let taken = made(sys(libc::SYS_pidfd_getfd, [descriptor, 0, 0, 0, 0]))?;
            let mut bytes = [0; 256];
            let count = owned(taken).read_at(&mut bytes, 0)?;
            std::io::stdout().write_all(&bytes[..count])?;
        }
        "kcmp" => {
            let own = i64::from(std::process::id());
            made(sys(libc::SYS_kcmp, [own, pid, 1, 0, 0]))?;
        }
        _ => {
            let descriptor = made(sys(libc::SYS_pidfd_open, [pid, 0, 0, 0, 0]))?;
            made(sys(libc::SYS_setns, [descriptor, libc::CLONE_NEWUTS.into(), 0, 0, 0]))?;
        }
    }
    Ok(())
}

/// Where the environment of a process lies.
fn top_of_stack(pid: i64) -> Result<(u64, usize)> {
    const LENGTH: u64 = 8192;
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps"))?;
    let line = maps.lines().find(|line| line.ends_with("[stack]")).context("no stack")?;
    let (_, end) = line.split_once(' ').and_then(|(span, _)| span.split_once('-')).context("no end")?;
    Ok((u64::from_str_radix(end, 16)? - LENGTH, LENGTH as usize))
}

fn network(name: &str) -> Result<()> {
    if name == "listen" {
        TcpListener::bind("127.0.0.1:0")?;
        return Ok(());
    }
    let (family, kind, protocol) = match name {
        "raw" => (libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP),
        "packet" => (libc::AF_PACKET, libc::SOCK_RAW, 0),
        _ => (libc::AF_VSOCK, libc::SOCK_STREAM, 0),
    };
    made(sys(libc::SYS_socket, [family.into(), kind.into(), protocol.into(), 0, 0]))?;
    Ok(())
}

/// Connects and sends with one call.
fn fast_open(port: i64, text: &str) -> Result<()> {
    let line = format!("{text}\n");
    let (family, kind) = (libc::AF_INET.into(), libc::SOCK_STREAM.into());
    let socket = made(sys(libc::SYS_socket, [family, kind, 0, 0, 0]))?;
    let address = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: u16::try_from(port)?.to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes([127, 0, 0, 1]) },
        sin_zero: [0; 8],
    };
    let (length, place) = (size_of_val(&address) as i64, &raw const address as i64);
    let words = [socket, line.as_ptr() as i64, line.len() as i64, libc::MSG_FASTOPEN.into(), place, length];
    made(sys6(libc::SYS_sendto, words))?;
    Ok(())
}

/// Runs a program that lies in memory alone.
fn memfd() -> Result<()> {
    let descriptor = made(sys(libc::SYS_memfd_create, [c"x".as_ptr() as i64, 0, 0, 0, 0]))?;
    let program = std::fs::read("/bin/true")?;
    let file = owned(descriptor);
    file.write_all_at(&program, 0)?;
    let again = format!("/proc/self/fd/{descriptor}");
    let status = std::process::Command::new("sh").args(["-c", &again]).status()?;
    drop(file);
    ensure!(status.success());
    Ok(())
}

/// What only the kernel itself is asked for.
fn kernel(name: &str) -> Result<()> {
    let text = |text: &str| CString::new(text).map(CString::into_raw).map(|text| text as i64);
    let nowhere = text("/nonexistent/file")?;
    let zeros = [0_u8; 256];
    let zero = zeros.as_ptr() as i64;
    let name_of_host = std::fs::read_to_string("/proc/sys/kernel/hostname")?;
    let own_name = name_of_host.trim();
    match name {
        "mount" => {
            let place = text("mounted")?;
            made(sys(libc::SYS_mount, [text("none")?, place, text("tmpfs")?, 0, 0]))?;
            made(sys(libc::SYS_umount2, [place, 0, 0, 0, 0])).map(drop)
        }
        "fsopen" => made(sys(libc::SYS_fsopen, [text("tmpfs")?, 0, 0, 0, 0])).map(drop),
        "open_tree" => {
            let clone = 1;
            made(sys(libc::SYS_open_tree, [libc::AT_FDCWD.into(), text("/")?, clone, 0, 0])).map(drop)
        }
        "unshare_user" => made(sys(libc::SYS_unshare, [libc::CLONE_NEWUSER.into(), 0, 0, 0, 0])).map(drop),
        "unshare_mount" => made(sys(libc::SYS_unshare, [libc::CLONE_NEWNS.into(), 0, 0, 0, 0])).map(drop),
        "unshare_network" => made(sys(libc::SYS_unshare, [libc::CLONE_NEWNET.into(), 0, 0, 0, 0])).map(drop),
        "clone3_user" => clone3(),
        "handle" => handle(),
        "module" => reached(sys(libc::SYS_init_module, [zero, 256, zero, 0, 0])),
        "kexec" => reached(sys(libc::SYS_kexec_file_load, [-1, -1, 0, 0, 0])),
        "bpf" => {
            // An array of one number.
            let mut what = [0_u32; 32];
            what[..4].copy_from_slice(&[2, 4, 8, 1]);
            made(sys(libc::SYS_bpf, [0, what.as_ptr() as i64, 72, 0, 0])).map(drop)
        }
        "perf" => {
            let mut what = [0_u64; 16];
            // A clock of software, of this process, without the kernel's part.
            what[0] = 1 | (128 << 32);
            what[5] = 0b110_0000;
            made(sys(libc::SYS_perf_event_open, [what.as_ptr() as i64, 0, -1, -1, 0])).map(drop)
        }
        "userfaultfd" => made(sys(libc::SYS_userfaultfd, [1, 0, 0, 0, 0])).map(drop),
        "io_uring" => made(sys(libc::SYS_io_uring_setup, [1, zero, 0, 0, 0])).map(drop),
        "keyctl" => made(sys(libc::SYS_keyctl, [0, -3, 0, 0, 0])).map(drop),
        "add_key" => {
            let process_keyring = -2;
            let words = [text("user")?, text("x")?, zero, 1, process_keyring];
            made(sys(libc::SYS_add_key, words)).map(drop)
        }
        "clock" => reached(sys(libc::SYS_settimeofday, [0; 5])),
        "hostname" => {
            made(sys(libc::SYS_sethostname, [text(own_name)?, own_name.len() as i64, 0, 0, 0])).map(drop)
        }
        "reboot" => reached(sys(libc::SYS_reboot, [0; 5])),
        "acct" => reached(sys(libc::SYS_acct, [nowhere, 0, 0, 0, 0])),
        "syslog" => made(sys(libc::SYS_syslog, [10, 0, 0, 0, 0])).map(drop),
        other => bail!("no call is named {other:?}"),
    }
}

fn clone3() -> Result<()> {
    let mut arguments = [0_u64; 11];
    arguments[0] = libc::CLONE_NEWUSER as u64;
    arguments[4] = libc::SIGCHLD as u64;
    let child = made(sys(libc::SYS_clone3, [arguments.as_ptr() as i64, 88, 0, 0, 0]))?;
    if child == 0 {
        std::process::exit(0);
    }
    Ok(())
}

/// Opens a file by its handle, which no rule about paths sees.
fn handle() -> Result<()> {
    let mut handle = [0_u32; 40];
    handle[0] = 128;
    let (here, mut mount) = (c".".as_ptr() as i64, 0_i32);
    let words = [libc::AT_FDCWD.into(), here, handle.as_mut_ptr() as i64, &raw mut mount as i64, 0];
    made(sys(libc::SYS_name_to_handle_at, words))?;
    let directory = std::fs::File::open(".")?;
    let descriptor = i64::from(std::os::fd::AsRawFd::as_raw_fd(&directory));
    made(sys(libc::SYS_open_by_handle_at, [descriptor, handle.as_ptr() as i64, 0, 0, 0])).map(drop)
}

/// The answer of a call that succeeded.
fn made(answer: i64) -> Result<i64> {
    if answer == -1 { Err(std::io::Error::last_os_error().into()) } else { Ok(answer) }
}

/// Was the call let through, whatever came of its arguments?
fn reached(answer: i64) -> Result<()> {
    let error = std::io::Error::last_os_error();
    let is_refused = matches!(error.raw_os_error(), Some(libc::EPERM | libc::EACCES | libc::ENOSYS));
    if answer == -1 && is_refused { Err(error.into()) } else { Ok(()) }
}

#[expect(unsafe_code, reason = "the descriptor was made by a call that no library makes")]
fn owned(descriptor: i64) -> std::fs::File {
    // SAFETY: the kernel has just given it to us, and nobody else uses it as its owner.
    unsafe { OwnedFd::from_raw_fd(descriptor as i32) }.into()
}

fn sys(number: libc::c_long, [a, b, c, d, e]: [i64; 5]) -> i64 {
    sys6(number, [a, b, c, d, e, 0])
}

#[expect(unsafe_code, reason = "an act is a call that no library makes")]
fn sys6(number: libc::c_long, [a, b, c, d, e, f]: [i64; 6]) -> i64 {
    // SAFETY: every pointer among the arguments leads to memory that outlives the call and is as large as the call says.
    unsafe { libc::syscall(number, a, b, c, d, e, f) }
}
