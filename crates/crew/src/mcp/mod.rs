//! What an agent program is given so that it reaches the task board as tools.

mod attempt_dir;
mod client;
mod equipping;
mod settings;

pub(crate) use attempt_dir::sweep;
pub use client::{McpClient, UnknownMcpClient};
pub(crate) use equipping::Equipment;
pub use settings::McpServer;
