//! The seven colour tokens, their light and dark pairs, and the icons.
//!
//! Invariant: every pair reads with a contrast of at least 4.5 to 1, computed in a test. Colour is never alone: each
//! pill has an icon and a text too. Deliberately absent: which value has which token (`vocabulary`, machines).

use crate::words;

words! {
    /// The meaning of a colour; the only colours a state may be drawn in.
    pub enum Token is "colour token" {
        /// Something ended well.
        Success = "success",
        /// Something is at work.
        Running = "running",
        /// Something failed.
        Error = "error",
        /// A bound was reached, or somebody should look.
        Warning = "warning",
        /// What is shown is older than it claims to be.
        Stale = "stale",
        /// Nothing to do.
        Neutral = "neutral",
        /// A person's judgement is part of it.
        Review = "review",
    }
}

/// A colour in sRGB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour(pub u32);

impl Colour {
    /// The notation of style sheets.
    pub fn hex(self) -> String {
        format!("#{:06X}", self.0)
    }

    /// The contrast ratio of two colours as WCAG 2 defines it, from 1 to 21.
    pub fn contrast(self, other: Self) -> f64 {
        let (a, b) = (self.luminance(), other.luminance());
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    fn luminance(self) -> f64 {
        let channel = |shift: u32| {
            let c = f64::from((self.0 >> shift) & 0xFF) / 255.0;
            if c <= 0.040_45 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(16) + 0.7152 * channel(8) + 0.0722 * channel(0)
    }
}

/// The four colours of a token: soft ground, strong text, in both themes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenColours {
    /// Ground in the light theme.
    pub light_bg: Colour,
    /// Text in the light theme.
    pub light_fg: Colour,
    /// Ground in the dark theme.
    pub dark_bg: Colour,
    /// Text in the dark theme.
    pub dark_fg: Colour,
}

impl Token {
    /// The colours of this token.
    pub const fn colours(self) -> TokenColours {
        match self {
            Self::Success => pair(0xECFDF3, 0x067647, 0x062C1B, 0x86EFAC),
            Self::Running => pair(0xEFF6FF, 0x175CD3, 0x0B1E3D, 0x93C5FD),
            Self::Error => pair(0xFEF3F2, 0xB42318, 0x3B0A0A, 0xFCA5A5),
            Self::Warning => pair(0xFFFAEB, 0xB54708, 0x3A2604, 0xFCD34D),
            Self::Stale => pair(0xFFF7ED, 0xC2410C, 0x331C05, 0xFDBA74),
            Self::Neutral => pair(0xF3F4F6, 0x374151, 0x1F2937, 0xD1D5DB),
            Self::Review => pair(0xF5F3FF, 0x6D28D9, 0x23153E, 0xC4B5FD),
        }
    }
}

const fn pair(light_bg: u32, light_fg: u32, dark_bg: u32, dark_fg: u32) -> TokenColours {
    TokenColours {
        light_bg: Colour(light_bg),
        light_fg: Colour(light_fg),
        dark_bg: Colour(dark_bg),
        dark_fg: Colour(dark_fg),
    }
}

words! {
    /// The icon of a pill; presenters draw it, the terminal prints its glyph.
    pub enum Icon is "icon" {
        /// A pulse: at work.
        Activity = "activity",
        /// A tick: ended well.
        Check = "check",
        /// A crossed circle: failed.
        XCircle = "x-circle",
        /// An hourglass: a bound was reached.
        Hourglass = "hourglass",
        /// A filled square: a person stopped it.
        Stop = "stop",
        /// A slashed circle: called off.
        Slash = "slash",
        /// A dash: nothing is known.
        Dash = "dash",
        /// A clock: its time has not come.
        Clock = "clock",
        /// Two bars: held still.
        Pause = "pause",
        /// An exclamation mark: look here.
        Alert = "alert",
        /// An open hand: a person's word is awaited.
        Hand = "hand",
        /// A barred circle: cannot go on.
        Blocked = "blocked",
        /// A broken link: nobody holds it.
        Unlink = "unlink",
        /// Two joining lines: merged.
        Merge = "merge",
        /// A box: put away.
        Archive = "archive",
        /// A half circle: only a part.
        Half = "half",
        /// A skip mark: passed over.
        Skip = "skip",
        /// A question mark: cannot be told.
        Question = "question",
    }
}

impl Icon {
    /// One character of width one, for terminals.
    pub const fn glyph(self) -> char {
        match self {
            Self::Activity => '●',
            Self::Check => '✓',
            Self::XCircle => '✗',
            Self::Hourglass => '⧗',
            Self::Stop => '■',
            Self::Slash => '⊘',
            Self::Dash => '–',
            Self::Clock => '○',
            Self::Pause => '‖',
            Self::Alert => '!',
            Self::Hand => '◆',
            Self::Blocked => '⊗',
            Self::Unlink => '◌',
            Self::Merge => '⇄',
            Self::Archive => '□',
            Self::Half => '◐',
            Self::Skip => '»',
            Self::Question => '?',
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Words;

    #[test]
    fn every_pair_reads_in_both_themes() {
        for token in Token::ALL {
            let c = token.colours();
            for (theme, ratio) in
                [("light", c.light_bg.contrast(c.light_fg)), ("dark", c.dark_bg.contrast(c.dark_fg))]
            {
                assert!(ratio >= 4.5, "{token} in the {theme} theme has a contrast of only {ratio:.2}");
            }
        }
    }

    #[test]
    fn the_ends_of_the_contrast_scale_are_right() {
        let (black, white) = (Colour(0), Colour(0xFFFFFF));
        assert!((black.contrast(white) - 21.0).abs() < 1e-9);
        assert!((white.contrast(white) - 1.0).abs() < 1e-9);
        assert!(Colour(0x777777).contrast(white) < 4.5, "a well-known grey that just fails");
    }

    #[test]
    fn no_two_icons_share_a_glyph() {
        let mut glyphs: Vec<char> = Icon::ALL.iter().map(|icon| icon.glyph()).collect();
        glyphs.sort_unstable();
        glyphs.dedup();
        assert_eq!(glyphs.len(), Icon::ALL.len());
    }
}
