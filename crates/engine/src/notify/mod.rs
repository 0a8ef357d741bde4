//! Tells somebody that something needs them: on the desktop, and by a signed call of a web address.
//!
//! Invariant: nothing is sent unless the user asked for it, one condition is told once, and telling never fails a run or
//! holds it up beyond a bound. Secrets are in no message, no record and no error. Deliberately absent: what needs
//! somebody, which `attention` lists.

mod address;
mod daily_root;
mod desktop;
mod event;
mod http;
mod mark;
mod notifier;
mod secret;
mod settings;
mod webhook;

pub use address::Address;
pub use desktop::{NoDesktop, desktop_in_reach};
pub use http::call;
pub use notifier::{Notifier, TellError, Told, is_due, send_test};
pub use secret::Secret;
pub use settings::{SECRET_VARIABLES, Settings, SettingsError, Webhook};
