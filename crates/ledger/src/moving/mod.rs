//! The log in files: export, import, archive, backup.

pub(crate) mod archive;
pub(crate) mod export;
pub(crate) mod export_checkpoints;
pub(crate) mod import;
pub(crate) mod restore;
pub(crate) mod segment;
