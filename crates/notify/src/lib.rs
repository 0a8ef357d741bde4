//! Tells somebody: a note on the desktop, a signed call of a web address, and the settings of both.
//!
//! Invariant: nothing is sent unless the user asked for it, and sending ends within a bound. Secrets are in no message, no
//! record and no error. Deliberately absent: what needs somebody, and that one condition is told once; the engine's notifier
//! decides both.

mod address;
mod desktop;
mod event;
mod http;
mod secret;
mod settings;
mod test_message;
mod webhook;

pub use address::Address;
pub use desktop::{NoDesktop, Note, desktop_in_reach, show};
pub use event::{ATTENTION, ROOT, body};
pub use http::call;
pub use secret::Secret;
pub use settings::{SECRET_VARIABLES, Settings, SettingsError, Webhook};
pub use test_message::send_test;
pub use webhook::send;
