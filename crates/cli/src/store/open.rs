//! Where the store is, and opening it: only when a verb needs it.
//!
//! Invariant: a verb that only reads never makes a store nor changes one; it says that there is none. Deliberately absent: what is in
//! it, which `look` asks.

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use callboard_kernel::redact;
use callboard_ledger::{Ledger, OpenError, Options, SCHEMES, is_server, unknown_scheme};

use crate::error::Error;
use crate::error::advice;
use crate::launch::shim_input::{self, STORE as VARIABLE};

/// The variable that names the key.
pub(crate) const KEY_VARIABLE: &str = "CALLBOARD_KEY";
/// The file of the key for stores on servers.
const SERVER_KEY: &str = "server.key";

/// The store that was asked for, not opened yet.
pub(crate) struct Store {
    wanted: Option<OsString>,
    /// Where its key lies, if that was said.
    key: Option<PathBuf>,
}

/// Where a store is.
enum Place {
    File(PathBuf),
    Server(String),
}

impl Store {
    /// The store of the option, or else of the environment, or else the user's own; the same for its key.
    pub(crate) fn new(option: Option<&OsString>, key: Option<&Path>) -> Self {
        let set = |name| shim_input::variable(name).filter(|value| !value.is_empty());
        let key = key.map(Path::to_owned).or_else(|| set(KEY_VARIABLE).map(PathBuf::from));
        Self { wanted: option.cloned().or_else(|| set(VARIABLE)), key }
    }

    /// Opens it, making it if it is not there.
    pub(crate) fn open(&self) -> Result<Ledger, Error> {
        self.prepare();
        self.attempt().map_err(outside)
    }

    fn attempt(&self) -> Result<Ledger, Error> {
        match self.place()? {
            Place::File(path) => self.open_file(&path),
            Place::Server(url) => self.open_server(&url),
        }
    }

    /// Opens it as the supervisor of a run does, which says itself what is wrong.
    pub(crate) fn open_quietly(&self) -> Result<Ledger, OpenError> {
        self.prepare();
        self.open_with(Options::default())
    }

    /// The same for a store that was open before: if it is not there any more, none is made.
    pub(crate) fn reopen_quietly(&self) -> Result<Ledger, OpenError> {
        self.open_with(Options { create: false, ..Options::default() })
    }

    fn open_with(&self, options: Options) -> Result<Ledger, OpenError> {
        let given = self.given_key();
        match self.place() {
            Ok(Place::File(path)) => Ledger::open(&path, Options { key_path: given, ..options }),
            Ok(Place::Server(url)) => {
                let key_path = given.or_else(|| server_key().ok());
                Ledger::connect(&url, Options { key_path, ..options })
            }
            Err(error) => Err(OpenError::Url { source: error.to_string().into() }),
        }
    }

    /// What was named, if anything was: a path as it is seen from everywhere, or a URL.
    pub(crate) fn named(&self) -> Option<OsString> {
        let wanted = self.wanted.as_ref()?;
        let is_server = wanted.to_str().is_some_and(is_server);
        let absolute = || std::path::absolute(wanted).map(OsString::from).unwrap_or_else(|_| wanted.clone());
        Some(if is_server { wanted.clone() } else { absolute() })
    }

    /// What was named, as a run inside which `callboard` is called gets to know it: without a password.
    pub(crate) fn for_agents(&self) -> Option<OsString> {
        self.named().as_deref().map(shim_input::public_address)
    }

    /// The file it is, unless it is on a server.
    pub(crate) fn file(&self) -> Result<Option<PathBuf>, Error> {
        Ok(match self.place()? {
            Place::File(path) => Some(path),
            Place::Server(_) => None,
        })
    }

    /// Where its key lies, if that was said: by the option or the environment.
    pub(crate) fn given_key(&self) -> Option<PathBuf> {
        self.key.as_ref().map(|key| std::path::absolute(key).unwrap_or_else(|_| key.clone()))
    }

    /// Where the key lies that signs its checkpoints.
    pub(crate) fn key(&self) -> Result<PathBuf, Error> {
        if let Some(key) = self.given_key() {
            return Ok(key);
        }
        match self.place()? {
            Place::Server(_) => Ok(own()?.with_file_name(SERVER_KEY)),
            Place::File(path) => {
                let mut name = path.into_os_string();
                name.push(".key");
                Ok(name.into())
            }
        }
    }

    /// Does it serve several hosts?
    pub(crate) fn is_shared(&self) -> Result<bool, Error> {
        Ok(matches!(self.place()?, Place::Server(_)))
    }

    /// Where the output of runs is kept: beside a store that is a file, and with the user's own otherwise.
    pub(crate) fn runs(&self) -> Result<PathBuf, Error> {
        let beside = |path: &Path| {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
            path.parent().map_or_else(|| PathBuf::from("runs"), |parent| parent.join("runs"))
        };
        Ok(match self.place()? {
            Place::File(path) => beside(&path),
            Place::Server(_) => beside(&own()?),
        })
    }

    /// Where what belongs to the store and to this user is kept: beside a store that is a file, and with the user's own
    /// otherwise.
    pub(crate) fn state_dir(&self) -> Result<PathBuf, Error> {
        Ok(self.runs()?.parent().map_or_else(|| PathBuf::from("."), Path::to_owned))
    }

    /// A second handle of the same store, for code that opens it later, such as the one that starts runs for the server.
    pub(crate) fn again(&self) -> Self {
        Self { wanted: self.named(), key: self.key.clone() }
    }

    /// Opens it for questions alone, if it is there: nothing is made, locked or brought up to date.
    pub(crate) fn open_to_read(&self) -> Result<Ledger, Error> {
        self.read(Ledger::open_reader)
    }

    /// The same for somebody who looks at runs: the end that a supervisor kept is recorded by whoever sees that it is gone.
    pub(crate) fn open_to_look(&self) -> Result<Ledger, Error> {
        self.read(Ledger::open_lazily)
    }

    fn read(&self, open: fn(&str, &Options) -> Result<Ledger, OpenError>) -> Result<Ledger, Error> {
        let given = self.given_key();
        let (place, shown, key_path) = match self.place()? {
            Place::File(path) if !path.exists() => return Err(outside(Error::NoStore(path))),
            Place::File(path) => {
                let shown = path.display().to_string();
                (path.into_os_string(), shown, given)
            }
            Place::Server(url) => {
                let shown = without_password(&url);
                let key = given.map_or_else(|| own().map(|own| own.with_file_name(SERVER_KEY)), Ok)?;
                (url.into(), shown, Some(key))
            }
        };
        let Some(address) = place.to_str() else {
            // A path that is no text is opened as the writers open it.
            return self.open_existing();
        };
        let opened = open(address, &Options { key_path, ..Options::default() });
        let opened = opened.map(tell_doubt).map_err(|source| {
            let is_none = matches!(source, OpenError::Missing { .. });
            if is_none { Error::NoStore(shown.into()) } else { Error::Open(shown, source) }
        });
        opened.map_err(outside)
    }

    /// Opens it, if it is there.
    pub(crate) fn open_existing(&self) -> Result<Ledger, Error> {
        match self.place()? {
            Place::File(path) => {
                if !path.exists() {
                    return Err(outside(Error::NoStore(path)));
                }
                self.open_file(&path).map_err(outside)
            }
            Place::Server(url) => self.open_server(&url).map_err(outside),
        }
    }

    fn open_file(&self, path: &Path) -> Result<Ledger, Error> {
        Ledger::open(path, Options { key_path: self.given_key(), ..Options::default() })
            .map(tell_doubt)
            .map_err(|source| Error::Open(path.display().to_string(), source))
    }

    /// The key that signs checkpoints lies with the user, not with the server: whoever holds the database could sign too.
    fn open_server(&self, url: &str) -> Result<Ledger, Error> {
        let key = self.given_key().map_or_else(server_key, Ok)?;
        Ledger::connect(url, Options { key_path: Some(key), ..Options::default() })
            .map(tell_doubt)
            .map_err(|source| Error::Open(without_password(url), source))
    }

    /// Makes the user's own directory, for nobody else to look into. If it cannot be made, opening the store says so.
    fn prepare(&self) {
        if self.wanted.is_none()
            && let Some(directory) = own().ok().as_deref().and_then(Path::parent)
        {
            DirBuilder::new().recursive(true).mode(0o700).create(directory).ok();
        }
    }

    fn place(&self) -> Result<Place, Error> {
        match &self.wanted {
            None => own().map(Place::File),
            Some(wanted) => match wanted.to_str() {
                Some(url) if is_server(url) => Ok(Place::Server(url.to_owned())),
                Some(text) => match unknown_scheme(text) {
                    Some(scheme) => Err(of_no_engine(scheme)),
                    None => Ok(Place::File(wanted.into())),
                },
                None => Ok(Place::File(wanted.into())),
            },
        }
    }
}

/// A store that does not open inside of a sandbox is hidden there.
fn outside(error: Error) -> Error {
    match std::env::var_os(callboard_supervisor::SANDBOX_VARIABLE) {
        Some(_) => Error::InSandbox(Box::new(error)),
        None => error,
    }
}

/// Neither the address nor a file of that name is meant; what follows the scheme may hold a password.
fn of_no_engine(scheme: &str) -> Error {
    Error::CommandLine {
        because: format!("unknown store URL scheme {scheme}://"),
        instead: format!("a path, or a URL that begins with {}://", SCHEMES.join(":// or ")),
    }
}

/// The user's own store, in the state directory.
fn own() -> Result<PathBuf, Error> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
    let state = state.ok_or_else(|| Error::CommandLine {
        because: format!("no store is named, and neither {VARIABLE} nor HOME is set"),
        instead: "--store PATH".to_owned(),
    })?;
    Ok(state.join("callboard/callboard.db"))
}

/// Says whenever a store is opened that it is not the one that was sealed; what was asked for goes on.
fn tell_doubt(ledger: Ledger) -> Ledger {
    if let Some(doubt) = ledger.doubt() {
        let text = format!("warning: {doubt}\n  try: callboard verify; then {}", advice::BESIDE_THE_LOG);
        drop(writeln!(anstream::stderr(), "{text}"));
    }
    ledger
}

fn server_key() -> Result<PathBuf, Error> {
    let key = own()?.with_file_name(SERVER_KEY);
    if let Some(directory) = key.parent() {
        std::fs::create_dir_all(directory).map_err(|source| Error::File(key.clone(), source))?;
    }
    Ok(key)
}

/// The address without who logs in there, and without passwords in its query, for messages.
fn without_password(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", url));
    let address = rest.rsplit_once('@').map_or(rest, |(_, address)| address);
    redact::text(&format!("{scheme}://{address}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_about_a_server_never_shows_a_password() {
        assert_eq!(without_password("postgres://u:p@ss@host/db"), "postgres://host/db");
        assert_eq!(without_password("postgresql://host/db"), "postgresql://host/db");
        assert_eq!(
            without_password("postgres://host/db?user=u&password=p&sslmode=disable"),
            "postgres://host/db?user=u&password=***&sslmode=disable"
        );
    }
}
