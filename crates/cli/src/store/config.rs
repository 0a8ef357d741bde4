//! Where the settings lie, and reading them.
//!
//! Invariant: a file that is not there is no setting; one that is not understood is an error. Deliberately absent: what
//! the settings mean.

use std::path::PathBuf;

use callboard_notify::{Settings, SettingsError};

use crate::launch::shim_input;

/// The file of the user's settings.
pub(crate) fn file() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let config = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(config.join("callboard/config.toml"))
}

/// What is to be told, and how.
pub(crate) fn notifications() -> Result<Settings, SettingsError> {
    let variable = |name: &str| {
        let value = shim_input::variable(name)?.to_string_lossy().into_owned();
        (!value.is_empty()).then_some(value)
    };
    Settings::load(file().as_deref(), &variable)
}
