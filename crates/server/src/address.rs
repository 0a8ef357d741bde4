//! Where the server of a store listens and which start of it that is, left beside the store for the command line to find.
//!
//! Invariant: only the user can read it, and a graceful stop removes it, unless another server has taken its place. One that
//! was killed leaves it, and the next server writes over it.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use callboard_engine::keep_private;

use crate::access::KeyError;
use crate::connection::socket::is_open;

const FILE: &str = "serve.address";

/// The address of the server that was last started on a store, if it has not stopped since.
pub fn address_in(state_dir: &Path) -> Option<SocketAddr> {
    read(state_dir, 0)?.parse().ok()
}

/// Where a server on this store answers programs of this host. That it is there is asked at its socket, which nobody else can take, because
/// a port can be somebody else's by now.
pub fn serving_in(state_dir: &Path) -> Option<SocketAddr> {
    let mut address = address_in(state_dir).filter(|_| is_open(state_dir))?;
    if address.ip().is_unspecified() {
        address.set_ip(IpAddr::V4(Ipv4Addr::LOCALHOST));
    }
    Some(address)
}

/// Which start of the server that was, for the codes that it takes.
pub fn start_in(state_dir: &Path) -> Option<String> {
    read(state_dir, 1)
}

fn read(state_dir: &Path, line: usize) -> Option<String> {
    fs::read_to_string(state_dir.join(FILE)).ok()?.lines().nth(line).map(str::to_owned)
}

/// The address as it was left; taken away when it is dropped.
pub(crate) struct Address {
    dir: PathBuf,
    address: SocketAddr,
}

impl Address {
    /// Leaves it.
    pub(crate) fn leave(dir: &Path, address: SocketAddr, start: &str) -> Result<Self, KeyError> {
        let path = dir.join(FILE);
        keep_private(&path, format!("{address}\n{start}\n").as_bytes())
            .map_err(|source| KeyError::File { path, source })?;
        Ok(Self { dir: dir.to_owned(), address })
    }
}

impl Drop for Address {
    fn drop(&mut self) {
        if address_in(&self.dir) == Some(self.address) {
            // One that stays says where a server was, which is what a killed one says too.
            drop(fs::remove_file(self.dir.join(FILE)));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn it_is_there_while_the_server_is_and_goes_with_it_unless_it_is_anothers() {
        let dir = std::env::temp_dir().join(format!("callboard-address-{}", std::process::id()));
        let (one, two): (SocketAddr, SocketAddr) =
            ("127.0.0.1:4001".parse().expect("it is one"), "[::1]:4002".parse().expect("it is one"));
        assert_eq!(address_in(&dir), None);
        let first = Address::leave(&dir, one, "a").expect("the directory is ours");
        assert_eq!((address_in(&dir), start_in(&dir).as_deref()), (Some(one), Some("a")));
        let mode = fs::metadata(dir.join(FILE)).expect("it was written").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let second = Address::leave(&dir, two, "b").expect("the directory is ours");
        drop(first);
        assert_eq!(address_in(&dir), Some(two));
        drop(second);
        assert_eq!(address_in(&dir), None);
        fs::remove_dir_all(&dir).expect("the directory is ours");
    }
}
