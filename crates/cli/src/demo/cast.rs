//! Who plays in the demonstration: each agent's script, what is done to it, and how it must end up.
//!
//! Invariant: a script prints what a real agent program prints, so the same reader reads it. Deliberately absent: how
//! the scripts are started (`story`).

/// What somebody does to an agent from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Nothing.
    Nothing,
    /// An operator stops it.
    Stop,
    /// Somebody presses Ctrl-C where its supervisor runs.
    Interrupt,
    /// Its supervisor is killed.
    Kill,
}

/// One agent of the fleet.
#[derive(Debug)]
pub(crate) struct Role {
    /// What it is called.
    pub(crate) title: &'static str,
    /// The project it works in.
    pub(crate) project: &'static str,
    /// What it does, as a shell script.
    pub(crate) script: &'static str,
    /// What it has to produce.
    pub(crate) expect: &'static [&'static str],
    /// Its bound.
    pub(crate) timeout_s: Option<f64>,
    pub(crate) act: Act,
    /// The state it must come to stand in,
    pub(crate) state: &'static str,
    /// and what its chain must say.
    pub(crate) says: &'static str,
}

/// What every script begins with: how this sort of agent talks.
pub(crate) const TONGUE: &str = r#"#!/bin/sh
say() { printf '{"type":"assistant","message":{"role":"assistant","model":"claude-opus-4-7","content":[{"type":"text","text":"%s"}]},"parent_tool_use_id":null}\n' "$1"; }
end() { printf '{"type":"result","subtype":"success","is_error":false,"num_turns":%s,"duration_ms":1200,"total_cost_usd":%s,"usage":{"input_tokens":5200,"output_tokens":840},"result":"%s"}\n' "$1" "$2" "$3"; }
printf '{"type":"system","subtype":"init","cwd":".","model":"claude-opus-4-7","tools":["Bash","Edit","Read"],"session_id":"demo"}\n'
"#;

const SHOP: &str = "shop";
const DOCS: &str = "handbook";

/// The fleet.
pub(crate) const CAST: &[Role] = &[
    Role {
        title: "Review the login change",
        project: SHOP,
        script: "say 'Reading the diff'\nprintf '# Review\\n\\nThe session is checked twice. Approve.\\n' > review.md\nend 4 0.0831 'review.md is written'",
        expect: &["review.md"],
        timeout_s: None,
        act: Act::Nothing,
        state: "completed",
        says: "Completed",
    },
    Role {
        title: "Review the payment change",
        project: SHOP,
        script: "say 'All done, the review is in review.md'\nend 3 0.0412 'review.md is written'",
        expect: &["review.md"],
        timeout_s: None,
        act: Act::Nothing,
        state: "failed",
        says: "review.md missing",
    },
    Role {
        title: "Port the test suite",
        project: SHOP,
        script: "say 'Running every test'\nsleep 600",
        expect: &[],
        timeout_s: Some(1.0),
        act: Act::Nothing,
        state: "timed_out",
        says: "Timed out",
    },
    Role {
        title: "Fix the flaky build",
        project: SHOP,
        script: "say 'Building'\necho 'error: linker cc not found' >&2\necho 'build failed: 1 error' >&2\nexit 2",
        expect: &[],
        timeout_s: None,
        act: Act::Nothing,
        state: "failed",
        says: "Failed",
    },
    Role {
        title: "Rewrite the parser",
        project: SHOP,
        script: "say 'Starting over'\nsleep 600",
        expect: &[],
        timeout_s: None,
        act: Act::Stop,
        state: "cancelled",
        says: "Cancelled",
    },
    Role {
        title: "Try the new model",
        project: DOCS,
        script: "say 'Let me think about this'\nsleep 600",
        expect: &[],
        timeout_s: None,
        act: Act::Interrupt,
        state: "cancelled",
        says: "Cancelled",
    },
    Role {
        title: "Index the monorepo",
        project: SHOP,
        script: "say 'Indexing'\nexec sleep 600",
        expect: &[],
        timeout_s: None,
        act: Act::Kill,
        state: "running",
        says: "Process dead",
    },
    Role {
        title: "Upgrade the dependencies",
        project: SHOP,
        script: "say 'I need to run the installer'\nprintf '{\"type\":\"control_request\",\"request_id\":\"r1\",\"request\":{\"subtype\":\"can_use_tool\",\"tool_name\":\"Bash\",\"input\":{\"command\":\"npm install\"}}}\\n'\nsleep 600",
        expect: &[],
        timeout_s: None,
        act: Act::Nothing,
        state: "running",
        says: "Waiting",
    },
    Role {
        title: "Translate the handbook",
        project: DOCS,
        script: "n=0\nwhile [ $n -lt 3000 ]; do n=$((n+1)); say \"Chapter $n is translated\"; sleep 1; done",
        expect: &[],
        timeout_s: None,
        act: Act::Nothing,
        state: "running",
        says: "Running",
    },
    Role {
        title: "Start the preview server",
        project: DOCS,
        script: "say 'The preview is up'\nsetsid sleep 600 >/dev/null 2>&1 &\nend 2 0.0127 'it serves on port 4000'",
        expect: &[],
        timeout_s: None,
        act: Act::Nothing,
        state: "completed",
        says: "Completed",
    },
];
