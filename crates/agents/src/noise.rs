//! Lines that known agent programs print on every start, which say nothing about an end.
//!
//! Invariant: a line is listed here only if the program prints it whatever happens. What is not listed is kept.

/// How the lines begin.
const BEGINNINGS: [&str; 10] = [
    // Codex.
    "Reading additional input from stdin",
    "Reading prompt from stdin",
    // Gemini CLI and qwen-code.
    "YOLO mode is enabled",
    "Warning: 256-color support not detected",
    "Warning: True color",
    "Ripgrep is not available",
    "Loaded cached credentials",
    "[STARTUP]",
    // aider.
    "Warning: Input is not a terminal",
    "https://aider.chat/HISTORY.html",
];

/// Whether a line of stderr is one that a known program always prints, and so never its last words.
pub fn is_noise(line: &str) -> bool {
    let line = line.trim_start();
    BEGINNINGS.iter().any(|beginning| line.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greetings_are_noise_and_errors_are_not() {
        assert!(is_noise("Reading additional input from stdin..."));
        assert!(is_noise("YOLO mode is enabled. All tool calls will be automatically approved."));
        assert!(is_noise("  [STARTUP] Phase 'cleanup_ops' was started but never ended."));
        assert!(!is_noise("Error: YOLO mode is enabled in an untrusted folder"));
        assert!(!is_noise("error: no such model"));
        assert!(!is_noise(""));
    }
}
