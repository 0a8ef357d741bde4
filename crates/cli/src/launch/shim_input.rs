//! What a shim is told on its standard input: the recipe of its run, and values that a command line and an environment would
//! show to others.
//!
//! Invariant: the address of a store on a server and the secret of the webhook are in no command line and in no environment of a
//! shim. Only a shim reads this input, once, before anything else. Deliberately absent: what agents get, which the order
//! of a run says.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use callboard_notify::SECRET_VARIABLES;
use callboard_wire::Word;
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::launch::recipe::Recipe;

/// The variable that names the store.
pub(crate) const STORE: &str = "CALLBOARD_STORE";
/// The most that a shim reads: more than a command line and an environment can hold.
const BYTES_MAX: u64 = 64 << 20;

/// Values by name, in the order in which they were given.
pub(crate) type Variables = Vec<(OsString, OsString)>;

/// What a shim reads.
#[derive(Deserialize, Serialize)]
struct Told {
    variables: Vec<(Word, Word)>,
    recipe: Recipe,
}

static TOLD: OnceLock<Told> = OnceLock::new();

/// Reads what this shim is told, to the end of its input.
pub(crate) fn take_in() -> std::io::Result<()> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(BYTES_MAX).read_to_end(&mut bytes)?;
    drop(TOLD.set(serde_json::from_slice(&bytes)?));
    Ok(())
}

/// The recipe that this shim was told.
pub(crate) fn recipe() -> Result<Recipe, Error> {
    let nothing = || Error::Shim(std::io::Error::other("nobody told it what to run"));
    TOLD.get().map(|told| told.recipe.clone()).ok_or_else(nothing)
}

/// The value of a variable: as this shim was told, or else from the environment.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    let told = TOLD.get().and_then(|told| told.variables.iter().find(|(told, _)| told.as_os_str() == name));
    told.map(|(_, value)| value.as_os_str().to_owned()).or_else(|| std::env::var_os(name))
}

/// Is this variable never in the environment of a shim or of a run?
pub(crate) fn is_withheld(name: &str) -> bool {
    name == STORE || SECRET_VARIABLES.contains(&name)
}

/// What a shim is told about the store at this address, and of the settings of this process.
pub(crate) fn of_this_process(store: Option<OsString>) -> Variables {
    let store = store.map(|store| (STORE.into(), store));
    let secrets = SECRET_VARIABLES.iter().filter_map(|name| Some((name.into(), variable(name)?)));
    store.into_iter().chain(secrets).collect()
}

/// Takes out of the environment of a shim what it is told on its input.
pub(crate) fn withhold(command: &mut Command) {
    for name in SECRET_VARIABLES.into_iter().chain([STORE]) {
        command.env_remove(name);
    }
    command.stdin(Stdio::piped());
}

/// Tells a shim that was just started.
pub(crate) fn tell(shim: &mut Child, variables: Variables, recipe: &Recipe) -> std::io::Result<()> {
    let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
    let bytes = serde_json::to_vec(&Told { variables, recipe: recipe.clone() })?;
    if let Some(mut input) = shim.stdin.take() {
        // A shim that ended already says why elsewhere.
        drop(input.write_all(&bytes));
    }
    Ok(())
}

/// The address of a store without what logs in there: a path as it is, a URL without its passwords.
pub(crate) fn public_address(address: &OsStr) -> OsString {
    let Some(url) = address.to_str().filter(|text| text.contains("://")) else { return address.to_owned() };
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    // As the client reads it: the login ends at the first @, whatever stands before. A password with another @ in it opens
    // nothing, and must not be shown either.
    let (login, rest) = rest.split_once('@').map_or((None, rest), |(login, rest)| (Some(login), rest));
    let (place, query) = rest.split_once('?').map_or((rest, None), |(place, query)| (place, Some(query)));
    let place = place.rsplit_once('@').map_or(place, |(_, host)| host);
    let user = login.map(|login| format!("{}@", login.split(':').next().unwrap_or_default()));
    let place = user.unwrap_or_default() + place;
    let is_public = |pair: &&str| {
        let name = percent_decode_str(pair.split('=').next().unwrap_or_default()).decode_utf8_lossy();
        !name.to_ascii_lowercase().contains("pass")
    };
    let query: Option<Vec<&str>> = query.map(|query| query.split('&').filter(is_public).collect());
    match query.filter(|query| !query.is_empty()) {
        Some(query) => format!("{scheme}://{place}?{}", query.join("&")).into(),
        None => format!("{scheme}://{place}").into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_address_has_no_password() {
        let public = |address: &str| public_address(OsStr::new(address)).into_string().unwrap();
        assert_eq!(public("/var/lib/a:b@c.db"), "/var/lib/a:b@c.db");
        assert_eq!(
            public("postgres://ann:p@ss:w@host:1/db?sslmode=require"),
            "postgres://ann@host:1/db?sslmode=require"
        );
        assert_eq!(public("postgres://ann@host/db"), "postgres://ann@host/db");
        assert_eq!(
            public("postgresql:///db?user=ann&password=x&host=/run"),
            "postgresql:///db?user=ann&host=/run"
        );
        assert_eq!(public("postgres://h/db?PASSWORD=x&sslpassword=y"), "postgres://h/db");
        assert_eq!(public("postgres://ann:pa?ss@h:1/db"), "postgres://ann@h:1/db");
        assert_eq!(public("postgres://h/db?p%61ssword=x&sslmode=require"), "postgres://h/db?sslmode=require");
    }
}
