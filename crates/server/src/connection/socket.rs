//! The server's socket in the file system: for programs of the same user, on a path that nobody else can take.
//!
//! Invariant: only the user can open it, and who connects is asked for by the kernel: another user's process is not served, root's
//! neither. It is no credential: every request still needs a token, because the agent of a run is a process of the same user.
//! Deliberately absent: what is answered.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream as Probe;
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};

const FILE: &str = "serve.sock";

/// The socket; removed when it is dropped.
pub(crate) struct Socket {
    path: PathBuf,
    listener: UnixListener,
}

/// Does a server listen in this directory?
pub(crate) fn is_open(dir: &Path) -> bool {
    Probe::connect(dir.join(FILE)).is_ok()
}

impl Socket {
    /// Listens in a directory, unless another server does.
    pub(crate) fn bind(dir: &Path) -> io::Result<Self> {
        let path = dir.join(FILE);
        if is_open(dir) {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        // What a killed server left. If it cannot be removed, binding says so.
        drop(std::fs::remove_file(&path));
        let listener = UnixListener::bind(&path)?;
        std::fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        Ok(Self { path, listener })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The next connection of a process of this user.
    pub(crate) async fn accept(&self) -> io::Result<UnixStream> {
        let (stream, _) = self.listener.accept().await?;
        match stream.peer_cred()?.uid() == rustix::process::geteuid().as_raw() {
            true => Ok(stream),
            false => Err(io::ErrorKind::PermissionDenied.into()),
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // One that stays is taken for what it is by the next server.
        drop(std::fs::remove_file(&self.path));
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::*;

    /// Any user but root, who alone can become another one.
    const OTHER: u32 = 65_534;

    #[tokio::test]
    async fn who_is_another_user_is_not_served_whatever_the_file_says() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("left out: only root can connect as another user");
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let socket = Socket::bind(dir.path()).unwrap();
        for (path, mode) in [(dir.path(), 0o755), (socket.path(), 0o666)] {
            std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        }
        let path = socket.path().to_owned();
        let connected = std::thread::spawn(move || {
            // Of this thread alone.
            rustix::thread::set_thread_uid(rustix::process::Uid::from_raw(OTHER))?;
            Probe::connect(path)
        });
        let connected = connected.join().unwrap();
        if connected.is_err() {
            eprintln!("left out: the directory of the test cannot be reached as another user: {connected:?}");
            return;
        }
        assert_eq!(socket.accept().await.unwrap_err().kind(), ErrorKind::PermissionDenied);
        let _ours = Probe::connect(socket.path()).unwrap();
        assert!(socket.accept().await.is_ok());
    }
}
