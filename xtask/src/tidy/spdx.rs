//! Decides whether a licence expression can be satisfied with a list of allowed licences.
//!
//! Invariant: `WITH` binds closer than `AND`, and `AND` closer than `OR`, as SPDX has it; `/` is cargo's
//! older spelling of `OR`. A licence with an exception is allowed only if the list names it with the
//! exception, as cargo-deny has it.
//!
//! Not here: the SPDX list. A name that is misspelled is simply not allowed.

/// What an expression comes to.
#[derive(Debug, PartialEq)]
pub(super) enum Verdict {
    Allowed,
    Refused,
    /// It is not an expression.
    Unreadable,
}

pub(super) fn judge(expression: &str, allowed: &[String]) -> Verdict {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut reader = Reader { tokens: spaced.split_whitespace().collect(), next: 0, allowed };
    match reader.any_of() {
        Some(true) if reader.peek().is_none() => Verdict::Allowed,
        Some(false) if reader.peek().is_none() => Verdict::Refused,
        _ => Verdict::Unreadable,
    }
}

struct Reader<'a> {
    tokens: Vec<&'a str>,
    next: usize,
    allowed: &'a [String],
}

impl<'a> Reader<'a> {
    fn any_of(&mut self) -> Option<bool> {
        let mut verdict = self.all_of()?;
        while self.take("OR") {
            // Read before combining: what follows has to be an expression even if the verdict is known.
            let alternative = self.all_of()?;
            verdict = verdict || alternative;
        }
        Some(verdict)
    }

    fn all_of(&mut self) -> Option<bool> {
        let mut verdict = self.term()?;
        while self.take("AND") {
            let part = self.term()?;
            verdict = verdict && part;
        }
        Some(verdict)
    }

    fn term(&mut self) -> Option<bool> {
        if self.take("(") {
            let verdict = self.any_of()?;
            return self.take(")").then_some(verdict);
        }
        let mut licence = self.name()?.to_owned();
        if self.take("WITH") {
            licence = format!("{licence} WITH {}", self.name()?);
        }
        Some(self.allowed.contains(&licence))
    }

    fn name(&mut self) -> Option<&'a str> {
        let name = self.peek().filter(|token| !["AND", "OR", "WITH", "(", ")"].contains(token))?;
        self.next += 1;
        Some(name)
    }

    fn take(&mut self, token: &str) -> bool {
        let is_next = self.peek() == Some(token);
        self.next += usize::from(is_next);
        is_next
    }

    fn peek(&self) -> Option<&'a str> {
        self.tokens.get(self.next).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(expression: &str) -> Verdict {
        judge(expression, &["MIT", "Zlib", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned))
    }

    #[test]
    fn one_allowed_alternative_is_enough() {
        assert_eq!(judged("MIT"), Verdict::Allowed);
        assert_eq!(judged("GPL-3.0-only OR MIT"), Verdict::Allowed);
        assert_eq!(judged("Unlicense/MIT"), Verdict::Allowed);
        assert_eq!(judged("GPL-3.0-only OR Unlicense"), Verdict::Refused);
    }

    #[test]
    fn every_part_has_to_be_allowed() {
        assert_eq!(judged("MIT AND Zlib"), Verdict::Allowed);
        assert_eq!(judged("MIT AND GPL-3.0-only"), Verdict::Refused);
        assert_eq!(judged("GPL-3.0-only AND MIT"), Verdict::Refused);
        assert_eq!(judged("(MIT OR GPL-3.0-only) AND Unicode-3.0"), Verdict::Refused);
        assert_eq!(judged("(MIT OR GPL-3.0-only) AND Zlib"), Verdict::Allowed);
    }

    #[test]
    fn and_binds_closer_than_or() {
        assert_eq!(judged("MIT OR Zlib AND GPL-3.0-only"), Verdict::Allowed);
        assert_eq!(judged("(MIT OR Zlib) AND GPL-3.0-only"), Verdict::Refused);
    }

    #[test]
    fn an_exception_is_part_of_the_licence() {
        assert_eq!(judged("Apache-2.0 WITH LLVM-exception"), Verdict::Allowed);
        assert_eq!(judged("Apache-2.0"), Verdict::Refused);
        assert_eq!(judged("MIT WITH LLVM-exception"), Verdict::Refused);
    }

    #[test]
    fn what_is_no_expression_is_not_allowed() {
        for broken in ["", "MIT OR", "AND MIT", "(MIT", "MIT)", "MIT Zlib", "MIT WITH", "MIT OR (Zlib AND)"] {
            assert_eq!(judged(broken), Verdict::Unreadable, "{broken}");
        }
    }
}
