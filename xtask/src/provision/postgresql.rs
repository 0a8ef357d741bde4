//! The PostgreSQL server for throwaway clusters.
//!
//! Invariant: whatever cluster the distribution starts by itself is left alone. Not here: starting one.

use std::path::PathBuf;

use anyhow::{Result, bail};

use super::programs;

/// Has one at hand.
pub(super) fn postgresql() -> Result<()> {
    if has_server(&places()) {
        return Ok(());
    }
    eprintln!("no PostgreSQL server is installed; installing it with `apt-get install postgresql`");
    programs::install(&["postgresql"])?;
    if has_server(&places()) {
        Ok(())
    } else {
        bail!("PostgreSQL was installed, and no `initdb` can be found")
    }
}

fn has_server(places: &[PathBuf]) -> bool {
    places.iter().any(|place| place.join("initdb").is_file())
}

/// PATH, and where Debian and Red Hat put the programs that only a server needs.
fn places() -> Vec<PathBuf> {
    let mut places = programs::path();
    for versions in ["/usr/lib/postgresql", "/usr/pgsql"] {
        let Ok(entries) = std::fs::read_dir(versions) else { continue };
        places.extend(entries.flatten().map(|entry| entry.path().join("bin")));
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_where_its_initdb_is() {
        let directory = std::env::temp_dir().join(format!("xtask-provision-{}", std::process::id()));
        assert!(!has_server(std::slice::from_ref(&directory)));
        std::fs::create_dir_all(&directory).expect("the directory is ours");
        std::fs::write(directory.join("initdb"), "").expect("the directory is ours");
        assert!(has_server(&["/nowhere".into(), directory.clone()]));
        std::fs::remove_dir_all(&directory).expect("the directory is ours");
    }
}
