//! Tells the code of a Rust file from its comments and strings, line by line, and finds items by their
//! indentation.
//!
//! Invariant: there is one [`Line`] per line of the file. Strings and character literals are emptied, because
//! a rule that reads a string as code finds its own test data.
//!
//! Not here: a parser. rustfmt has already put items and closing braces where indentation finds them, and a
//! file that is not formatted fails before this is asked.

/// One line, split.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Line {
    /// Indentation and code; a string is only its quotes.
    pub(super) code: String,
    /// Comment with its markers.
    pub(super) comment: String,
}

/// The lines of a Rust file.
pub(super) fn lines(text: &str) -> Vec<Line> {
    let mut scanner = Scanner { rest: text, state: State::Code, lines: Vec::new(), line: Line::default() };
    scanner.scan();
    if !text.is_empty() && !text.ends_with('\n') {
        scanner.lines.push(scanner.line);
    }
    scanner.lines
}

/// The name of the function that a line of code begins to declare.
pub(super) fn function_name(code: &str) -> Option<&str> {
    let mut code = without_visibility(code);
    while let Some(rest) =
        ["const ", "async ", "unsafe ", "extern \"\" "].iter().find_map(|word| code.strip_prefix(word))
    {
        code = rest;
    }
    code.strip_prefix("fn ").map(leading_name)
}

/// The code without indentation and `pub` or `pub(…)`.
pub(super) fn without_visibility(code: &str) -> &str {
    let code = code.trim_start();
    match code.strip_prefix("pub") {
        Some(rest) if rest.starts_with(' ') => rest.trim_start(),
        Some(rest) if rest.starts_with('(') => rest.split_once(") ").map_or(code, |(_, rest)| rest),
        _ => code,
    }
}

/// The identifier at the start, which may be empty.
pub(super) fn leading_name(code: &str) -> &str {
    code.split(|c: char| !is_name(c)).next().unwrap_or_default()
}

pub(super) fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The index of the line that closes the item beginning at `start`; none for an item without a body.
pub(super) fn block_end(lines: &[Line], start: usize) -> Option<usize> {
    let header_end = |line: &Line| line.code.trim_end().ends_with(['{', ';', '}']);
    let opening = start + lines[start..].iter().position(header_end)?;
    let code = lines[opening].code.trim_end();
    if code.ends_with('{') {
        let closes = |line: &Line| {
            line.code.trim_start().starts_with('}')
                && indentation(&line.code) == indentation(&lines[start].code)
        };
        return lines[opening + 1..].iter().position(closes).map(|distance| opening + 1 + distance);
    }
    code.ends_with('}').then_some(opening)
}

pub(super) fn indentation(code: &str) -> usize {
    code.len() - code.trim_start().len()
}

#[derive(Clone, Copy)]
enum State {
    Code,
    LineComment,
    BlockComment { depth: usize },
    Text,
    RawText { hashes: usize },
}

struct Scanner<'a> {
    rest: &'a str,
    state: State,
    lines: Vec<Line>,
    line: Line,
}

impl Scanner<'_> {
    fn scan(&mut self) {
        while let Some(c) = self.rest.chars().next() {
            if c == '\n' {
                self.skip(1);
                self.lines.push(std::mem::take(&mut self.line));
                if matches!(self.state, State::LineComment) {
                    self.state = State::Code;
                }
                continue;
            }
            match self.state {
                State::Code => self.code(c),
                State::LineComment => self.keep_comment(c.len_utf8()),
                State::BlockComment { depth } => self.block_comment(c, depth),
                State::Text => self.text(c),
                State::RawText { hashes } => self.raw_text(c, hashes),
            }
        }
    }

    fn code(&mut self, c: char) {
        if self.rest.starts_with("//") {
            self.state = State::LineComment;
        } else if self.rest.starts_with("/*") {
            self.keep_comment(2);
            self.state = State::BlockComment { depth: 1 };
        } else if c == '"' {
            self.keep_code(1);
            self.state = State::Text;
        } else if let Some(hashes) = raw_text_start(self.rest) {
            self.skip("r\"".len() + hashes);
            self.line.code.push('"');
            self.state = State::RawText { hashes };
        } else if let Some(length) = character_literal(self.rest) {
            self.skip(length);
            self.line.code.push_str("''");
        } else {
            self.keep_code(c.len_utf8());
        }
    }

    fn block_comment(&mut self, c: char, depth: usize) {
        if self.rest.starts_with("/*") {
            self.keep_comment(2);
            self.state = State::BlockComment { depth: depth + 1 };
        } else if self.rest.starts_with("*/") {
            self.keep_comment(2);
            self.state = if depth == 1 { State::Code } else { State::BlockComment { depth: depth - 1 } };
        } else {
            self.keep_comment(c.len_utf8());
        }
    }

    fn text(&mut self, c: char) {
        match c {
            '"' => {
                self.keep_code(1);
                self.state = State::Code;
            }
            // The escaped character goes with its backslash, except the line break, which has to end the
            // line.
            '\\' => {
                self.skip(1 + self.rest[1..].chars().next().filter(|&c| c != '\n').map_or(0, char::len_utf8))
            }
            other => self.skip(other.len_utf8()),
        }
    }

    fn raw_text(&mut self, c: char, hashes: usize) {
        let closed = self.rest.strip_prefix('"').is_some_and(|rest| rest.starts_with(&"#".repeat(hashes)));
        if closed {
            self.skip(1 + hashes);
            self.line.code.push('"');
            self.state = State::Code;
        } else {
            self.skip(c.len_utf8());
        }
    }

    fn keep_code(&mut self, length: usize) {
        self.line.code.push_str(&self.rest[..length]);
        self.skip(length);
    }

    fn keep_comment(&mut self, length: usize) {
        self.line.comment.push_str(&self.rest[..length]);
        self.skip(length);
    }

    fn skip(&mut self, length: usize) {
        self.rest = &self.rest[length..];
    }
}

/// How many hashes open a raw string here; none if none begins here.
fn raw_text_start(rest: &str) -> Option<usize> {
    let after = rest.strip_prefix('r')?;
    let hashes = after.chars().take_while(|&c| c == '#').count();
    after[hashes..].starts_with('"').then_some(hashes)
}

/// The length of the character literal here; none for a lifetime or anything else.
fn character_literal(rest: &str) -> Option<usize> {
    let inside = rest.strip_prefix('\'')?;
    let mut chars = inside.char_indices();
    let (_, first) = chars.next()?;
    let (second_at, second) = chars.next()?;
    if first == '\\' {
        // The second is escaped, so that `'\''` does not end at it.
        let tail = second_at + second.len_utf8();
        return inside[tail..].find('\'').map(|end| 1 + tail + end + 1);
    }
    (second == '\'').then_some(1 + second_at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(text: &str) -> Vec<String> {
        lines(text).into_iter().map(|line| line.code).collect()
    }

    #[test]
    fn strings_are_emptied_and_comments_kept_apart() {
        let split = lines("let a = \"// fn b\"; // why\n/* one\ntwo */ c();\n");
        assert_eq!(split[0], Line { code: "let a = \"\"; ".to_owned(), comment: "// why".to_owned() });
        assert_eq!(split[1], Line { code: String::new(), comment: "/* one".to_owned() });
        assert_eq!(split[2], Line { code: " c();".to_owned(), comment: "two */".to_owned() });
        assert_eq!(split.len(), 3);
    }

    #[test]
    fn a_string_over_several_lines_is_no_code() {
        assert_eq!(codes("a(r#\"x\"\n}\n\"#);\n"), ["a(\"", "", "\");"]);
        assert_eq!(codes("a(\"x\\\n}\\\"\n\");"), ["a(\"", "", "\");"]);
    }

    #[test]
    fn quotes_in_characters_do_not_open_strings() {
        assert_eq!(codes("f('\"', '\\'', b'\\u{7f}', 'ü') // c"), ["f('', '', b'', '') "]);
        assert_eq!(codes("fn f<'a>(x: &'a str, y: &'a str) {"), ["fn f<'a>(x: &'a str, y: &'a str) {"]);
    }

    #[test]
    fn block_comments_nest() {
        assert_eq!(codes("a /* b /* c */ d */ e"), ["a  e"]);
    }

    #[test]
    fn functions_are_recognised_by_their_declaration() {
        for declaration in [
            "fn go() {",
            "    pub(crate) const fn go() {",
            "pub async unsafe fn go<T>(",
            "extern \"\" fn go();",
        ] {
            assert_eq!(function_name(declaration), Some("go"), "{declaration}");
        }
        for other in ["let f: fn() = go;", "struct Fn;", "fnord();", "impl Fn() for X {"] {
            assert_eq!(function_name(other), None, "{other}");
        }
    }

    #[test]
    fn a_body_ends_at_its_own_indentation() {
        let text = "    fn a(\n        b: u8,\n    ) {\n        if b {\n        }\n    }\n    fn c();\n    fn d() {}\n";
        let lines = lines(text);
        assert_eq!(block_end(&lines, 0), Some(5));
        assert_eq!(block_end(&lines, 6), None);
        assert_eq!(block_end(&lines, 7), Some(7));
    }
}
