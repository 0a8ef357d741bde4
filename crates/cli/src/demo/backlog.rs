//! What is on the board of the demonstration: each task, what the scripted agent does about it, and how it must end.
//!
//! Invariant: between them the tasks show a conflict, a crash, a worker that is killed, a stall, a rejected result, a split and a
//! dependency. Deliberately absent: how they are started (`board`).

/// One task of the board.
#[derive(Debug)]
pub(crate) struct Piece {
    /// What it is called.
    pub(crate) title: &'static str,
    /// What the agent does, as shell commands.
    pub(crate) deed: &'static str,
    /// A command that must succeed before it is merged.
    pub(crate) verify: Option<&'static str>,
    /// The task that must be closed before.
    pub(crate) after: Option<&'static str>,
    /// The bound on an attempt.
    pub(crate) timeout_s: Option<f64>,
    pub(crate) max_retries: Option<i64>,
    /// The state it must end in.
    pub(crate) state: &'static str,
}

/// What the agent knows beside how to talk.
pub(crate) const SKILLS: &str = r#"
page() { say "Writing $1.html"; printf '<h1>%s</h1>\n' "$1" > "$1.html"; end 3 0.0214 "$1.html is written"; }
tries() { echo x >> "$BOARD/$CALLBOARD_TASK"; wc -l < "$BOARD/$CALLBOARD_TASK"; }
"#;

/// The task during which the first crew is killed.
pub(crate) const SLOW: &str = "Shrink the pictures";

/// The parts that one task is split into, done as tasks of their own.
pub(crate) const PARTS: &[(&str, &str)] =
    &[("Translate the shop", "page shop.fr"), ("Translate the help", "page help.fr")];

const PAGE: Piece = Piece {
    title: "",
    deed: "",
    verify: None,
    after: None,
    timeout_s: None,
    max_retries: None,
    state: "closed",
};

const fn page(title: &'static str, deed: &'static str, verify: &'static str) -> Piece {
    Piece { title, deed, verify: Some(verify), ..PAGE }
}

/// The board.
pub(crate) const BACKLOG: &[Piece] = &[
    Piece {
        title: SLOW,
        deed: "if [ $(tries) -eq 1 ]; then say 'This takes a while'; echo half > pictures.txt; sleep 600; fi; echo small > pictures.txt; end 2 0.05 'all pictures are small'",
        verify: Some("grep -q small pictures.txt"),
        ..PAGE
    },
    page("Write the page about us", "page about", "test -s about.html"),
    page("Write the page of prices", "page prices", "test -s prices.html"),
    page("Write the contact page", "page contact", "test -s contact.html"),
    page("Write the page of the team", "page team", "test -s team.html"),
    page("Write the page of open jobs", "page jobs", "test -s jobs.html"),
    page("Write the press page", "page press", "test -s press.html"),
    page("Write the help page", "page help", "test -s help.html"),
    page("Write the terms of use", "page terms", "test -s terms.html"),
    page("Write the privacy page", "page privacy", "test -s privacy.html"),
    page("Write the imprint", "page imprint", "test -s imprint.html"),
    Piece {
        title: "Link the page about us",
        deed: "test -s about.html || exit 4; echo about.html >> links.txt; end 2 0.01 'it is linked'",
        after: Some("Write the page about us"),
        ..PAGE
    },
    Piece {
        title: "Fix the visitor counter",
        deed: "if [ $(tries) -eq 1 ]; then say 'Compiling'; kill -SEGV $$; fi; echo 1 > counter.txt; end 5 0.07 'it counts'",
        ..PAGE
    },
    Piece {
        title: "Commit the style sheet",
        deed: "echo 'body{}' > style.css; git add style.css; git -c user.name=Agent -c user.email=agent@example.org commit -qm 'A style sheet'; end 2 0.02 'committed'",
        ..PAGE
    },
    Piece {
        title: "Look for broken links",
        deed: "say 'Following every link'; end 9 0.11 'no link is broken'",
        ..PAGE
    },
    Piece {
        title: "Translate the site",
        deed: "say 'Too much for one piece'; \"$CALLBOARD\" task split \"$CALLBOARD_TASK\" --into 'Translate the shop' --into 'Translate the help' >/dev/null || exit 9; end 1 0.01 'split'",
        ..PAGE
    },
    Piece {
        title: "Paint the header blue",
        deed: "sleep 0.3; echo blue > header.css; end 2 0.01 'the header is blue'",
        ..PAGE
    },
    Piece {
        title: "Paint the header green",
        deed: "sleep 0.3; echo green > header.css; end 2 0.01 'the header is green'",
        ..PAGE
    },
    Piece {
        title: "Ask the designer",
        deed: "say 'Waiting for an answer'; sleep 600",
        timeout_s: Some(1.0),
        max_retries: Some(1),
        state: "failed",
        ..PAGE
    },
    Piece {
        title: "Remove the tracking",
        deed: "echo tracking > tracker.js; end 2 0.02 'the tracking is gone'",
        verify: Some("! test -e tracker.js"),
        max_retries: Some(0),
        state: "failed",
        ..PAGE
    },
];
