//! Severity (does this need somebody?) and tone (how is it coloured?).
//!
//! Invariant: both are derived, never stored. Deliberately absent: the policies that derive them; the kernel has them.

use crate::colour::Token;
use crate::vocabulary;

vocabulary! {
    /// Does this need somebody? Placement, order and the row's border follow from it.
    pub enum Severity is "severity" in "severity" {
        /// Somebody should act.
        Critical = "critical" ("Critical", Error, XCircle),
        /// Somebody should look.
        Warning = "warning" ("Warning", Warning, Alert),
        /// Worth knowing.
        Info = "info" ("Info", Running, Activity),
        /// Nothing to do.
        Neutral = "neutral" ("Neutral", Neutral, Dash),
    }
}

impl Severity {
    /// Does something of this severity call for somebody?
    pub const fn is_urgent(self) -> bool {
        match self {
            Self::Critical | Self::Warning => true,
            Self::Info | Self::Neutral => false,
        }
    }
}

vocabulary! {
    /// How the badge is coloured.
    pub enum Tone is "tone" in "tone" {
        /// Red.
        Danger = "danger" ("Danger", Error, XCircle),
        /// Amber.
        Warning = "warning" ("Warning", Warning, Alert),
        /// Blue.
        Info = "info" ("Info", Running, Activity),
        /// Green.
        Success = "success" ("Success", Success, Check),
        /// Grey.
        Neutral = "neutral" ("Neutral", Neutral, Dash),
    }
    old names { "ok" => Success, "running" => Info, "failed" => Danger, "pending" => Warning }
}

impl Token {
    /// The tone a pill of this token has.
    pub const fn tone(self) -> Tone {
        match self {
            Self::Success => Tone::Success,
            Self::Running | Self::Review => Tone::Info,
            Self::Error => Tone::Danger,
            Self::Warning | Self::Stale => Tone::Warning,
            Self::Neutral => Tone::Neutral,
        }
    }
}
