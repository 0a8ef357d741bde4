//! Recognises an agent program on a command line.
//!
//! Invariant: a program is recognised only if its flags ask for the structured stream; otherwise its output is text and
//! is treated as such. A wrapper that starts another program (`env`, `npx`, `node`, …) is looked through. Not here:
//! shells, because what a script runs cannot be read off its command line; `--adapter` says it for them.

use std::ffi::OsString;

use crate::program::Program;

/// The program whose stream this command will print, or `Plain`.
pub fn detect(argv: &[OsString]) -> Program {
    Launch::of(argv).adapter
}

/// What a command line tells of the agent program that it starts.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Launch {
    /// Whose output it will print in a way that can be read, or `Plain`.
    pub adapter: Program,
    /// The agent program, also where its output will be text or a screen.
    pub program: Option<Program>,
    /// The model that it asks for.
    pub model: Option<String>,
    /// Where the agent program's own arguments begin: behind its name and whatever starts it.
    pub arguments_at: usize,
}

impl Launch {
    /// Reads a command line.
    pub fn of(argv: &[OsString]) -> Self {
        let words: Vec<&str> = argv.iter().map(|word| word.to_str().unwrap_or_default()).collect();
        let Some((program, arguments)) = unwrap(&words) else {
            return Self { adapter: Program::Plain, program: None, model: None, arguments_at: 0 };
        };
        let arguments_at = words.len() - arguments.len();
        let arguments = arguments.split(|word| *word == "--").next().unwrap_or_default();
        let adapter = if asks_for_stream(program, arguments) { program } else { Program::Plain };
        let model = model(program, arguments).map(str::to_owned);
        Self { adapter, program: Some(program), model, arguments_at }
    }
}

/// Wrappers inside wrappers are rare, and a command line is finite; this bound only says so.
const WRAPPERS_MAX: usize = 8;

/// The agent program and its arguments, behind whatever starts it.
pub(crate) fn unwrap<'a>(mut words: &'a [&'a str]) -> Option<(Program, &'a [&'a str])> {
    for _ in 0..WRAPPERS_MAX {
        let (first, rest) = words.split_first()?;
        let name = file_name(first);
        words = match name {
            "env" => skip(rest, &["-u", "--unset", "-C", "--chdir", "-S"], true),
            "nice" => skip(rest, &["-n", "--adjustment"], false),
            "stdbuf" => skip(rest, &["-i", "-o", "-e"], false),
            "timeout" => skip(rest, &["-k", "--kill-after", "-s", "--signal"], false).get(1..)?,
            "nohup" | "setsid" | "time" | "command" | "exec" => skip(rest, &[], false),
            "uvx" => return of_package(skip(rest, &["-p", "--python", "--from", "--with"], false)),
            "npx" | "bunx" | "pnpx" => return of_package(skip(rest, &["-p", "--package"], false)),
            "npm" | "pnpm" | "yarn" | "bun" if matches!(rest.first(), Some(&("exec" | "dlx" | "x"))) => {
                return of_package(skip(&rest[1..], &["-p", "--package"], false));
            }
            "python" | "python3" => match rest {
                ["-m", module, rest @ ..] => return Some((of_name(module)?, rest)),
                _ => return of_script(skip(rest, &["-X", "-W"], false)),
            },
            "node" | "bun" | "deno" => return of_script(skip(rest, &["-r", "--require", "--import"], false)),
            _ => return Some((of_name(name)?, rest)),
        };
    }
    None
}

/// What is left after a wrapper's own flags, and after assignments where it takes them.
fn skip<'a>(mut words: &'a [&'a str], with_value: &[&str], takes_assignments: bool) -> &'a [&'a str] {
    while let Some((word, rest)) = words.split_first() {
        if *word == "--" {
            return rest;
        }
        let is_assignment = takes_assignments && word.contains('=') && !word.starts_with('=');
        if !word.starts_with('-') && !is_assignment {
            break;
        }
        words = if with_value.contains(word) { rest.get(1..).unwrap_or_default() } else { rest };
    }
    words
}

fn file_name(word: &str) -> &str {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    [".exe", ".cmd", ".js", ".mjs", ".cjs"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

fn of_name(name: &str) -> Option<Program> {
    Some(match name {
        "claude" => Program::Claude,
        "codex" => Program::Codex,
        "gemini" => Program::Gemini,
        "opencode" => Program::Opencode,
        "goose" => Program::Goose,
        "agent" | "cursor-agent" => Program::Cursor,
        "amp" => Program::Amp,
        "qwen" => Program::Qwen,
        "aider" => Program::Aider,
        _ => return None,
    })
}

/// A package on a registry, perhaps with its version: `@openai/codex@0.166.0`.
fn of_package<'a>(words: &'a [&'a str]) -> Option<(Program, &'a [&'a str])> {
    let (package, arguments) = words.split_first()?;
    let name = match package.get(1..).and_then(|rest| rest.find('@')) {
        Some(version) => &package[..version + 1],
        None => package,
    };
    let program = match name {
        "@anthropic-ai/claude-code" => Program::Claude,
        "@openai/codex" => Program::Codex,
        "@google/gemini-cli" => Program::Gemini,
        "opencode-ai" => Program::Opencode,
        "@sourcegraph/amp" | "@ampcode/cli" => Program::Amp,
        "@qwen-code/qwen-code" => Program::Qwen,
        "aider-chat" => Program::Aider,
        _ => of_name(name)?,
    };
    Some((program, arguments))
}

/// A script, which is named for its program or lies in its package: `…/@anthropic-ai/claude-code/cli.js`.
fn of_script<'a>(words: &'a [&'a str]) -> Option<(Program, &'a [&'a str])> {
    let (script, arguments) = words.split_first()?;
    let named = of_name(file_name(script)).filter(|program| *program != Program::Cursor);
    let packaged = || {
        script.split(['/', '\\']).rev().find_map(|part| {
            Some(match part {
                "claude-code" => Program::Claude,
                "codex" => Program::Codex,
                "gemini-cli" => Program::Gemini,
                "opencode-ai" => Program::Opencode,
                "qwen-code" => Program::Qwen,
                _ => return None,
            })
        })
    };
    Some((named.or_else(packaged)?, arguments))
}

fn asks_for_stream(program: Program, arguments: &[&str]) -> bool {
    let has = |word: &str| arguments.contains(&word);
    match program {
        Program::Claude | Program::Cursor | Program::Qwen => {
            option_is(arguments, &["--output-format"], "stream-json")
                || program == Program::Qwen && option_is(arguments, &["-o"], "stream-json")
        }
        // Without a message it is a conversation, in which one failed request ends nothing.
        Program::Aider => option(arguments, &["--message", "--msg", "-m", "--message-file", "-f"]).is_some(),
        Program::Gemini => option_is(arguments, &["--output-format", "-o"], "stream-json"),
        Program::Goose => has("run") && option_is(arguments, &["--output-format"], "stream-json"),
        Program::Codex => (has("exec") || has("e")) && (has("--json") || has("--experimental-json")),
        Program::Opencode => has("run") && option_is(arguments, &["--format"], "json"),
        Program::Amp => has("--stream-json"),
        Program::Plain => false,
    }
}

/// The model that the arguments ask for. Codex also takes it as a setting: `-c model="gpt-5"`.
fn model<'a>(program: Program, arguments: &[&'a str]) -> Option<&'a str> {
    let names: &[&str] = match program {
        Program::Claude | Program::Cursor => &["--model"],
        Program::Codex | Program::Gemini | Program::Qwen | Program::Opencode => &["--model", "-m"],
        Program::Goose | Program::Aider => &["--model"],
        Program::Amp | Program::Plain => &[],
    };
    let setting = || {
        let settings = arguments.windows(2).filter(|pair| matches!(pair[0], "-c" | "--config"));
        settings.filter_map(|pair| pair[1].strip_prefix("model=")).next_back()
    };
    let found = option(arguments, names).or_else(|| setting().filter(|_| program == Program::Codex))?;
    let found = found.trim_matches(['"', '\'']);
    (!found.is_empty()).then_some(found)
}

/// Whether an option has this value.
fn option_is(arguments: &[&str], names: &[&str], value: &str) -> bool {
    option(arguments, names) == Some(value)
}

/// The value of an option, as `--name value` or `--name=value`; the last one counts.
fn option<'a>(arguments: &[&'a str], names: &[&str]) -> Option<&'a str> {
    let mut found = None;
    for (index, word) in arguments.iter().enumerate() {
        if names.contains(word) {
            found = arguments.get(index + 1).copied();
        } else if let Some((name, given)) = word.split_once('=')
            && names.contains(&name)
        {
            found = Some(given);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn is(program: Program, line: &str) {
        let argv: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        assert_eq!(detect(&argv), program, "{line}");
    }

    #[test]
    fn the_flags_decide() {
        is(Program::Claude, "claude -p fix --output-format stream-json --verbose");
        is(Program::Claude, "claude --output-format=stream-json -p fix");
        is(Program::Plain, "claude -p fix");
        is(Program::Plain, "claude -p fix --output-format json");
        is(Program::Plain, "claude --output-format stream-json --output-format text -p fix");
        is(Program::Plain, "claude -p -- --output-format stream-json");
        is(Program::Codex, "codex exec --json fix");
        is(Program::Codex, "codex -m gpt-5 exec resume 0199 --json");
        is(Program::Plain, "codex exec fix");
        is(Program::Plain, "codex --json");
        is(Program::Gemini, "gemini -p fix -o stream-json");
        is(Program::Plain, "gemini -p fix -o json");
        is(Program::Opencode, "opencode run --format json fix");
        is(Program::Plain, "opencode serve --format json");
        is(Program::Goose, "goose run -t fix --output-format stream-json");
        is(Program::Plain, "goose session --output-format stream-json");
        is(Program::Cursor, "cursor-agent -p --output-format stream-json fix");
        is(Program::Cursor, "agent -p --output-format stream-json fix");
        is(Program::Amp, "amp -x fix --stream-json");
        is(Program::Aider, "aider --message fix --yes-always");
        is(Program::Plain, "aider --yes-always src/main.py");
        is(Program::Qwen, "qwen --yolo -p fix --output-format stream-json");
        is(Program::Qwen, "qwen -p fix -o stream-json");
        is(Program::Plain, "qwen --yolo -p fix");
    }

    #[test]
    fn wrappers_are_looked_through() {
        is(Program::Claude, "/usr/local/bin/claude --output-format stream-json");
        is(Program::Codex, "env A=b -u C codex exec --json fix");
        is(Program::Codex, "npx -y @openai/codex@0.166.0 exec --json fix");
        is(Program::Codex, "npx --package @openai/codex -- codex exec --json fix");
        is(Program::Opencode, "pnpm dlx opencode-ai run --format json fix");
        is(
            Program::Claude,
            "node --no-warnings /lib/node_modules/@anthropic-ai/claude-code/cli.js --output-format stream-json",
        );
        is(Program::Gemini, "node /lib/node_modules/@google/gemini-cli/bundle/index.js -o stream-json");
        is(Program::Codex, "nice -n 10 timeout -k 5 60 env A=b codex exec --json fix");
        is(Program::Qwen, "npx @qwen-code/qwen-code@0.15.10 -p fix -o stream-json");
        is(Program::Qwen, "node /lib/node_modules/@qwen-code/qwen-code/cli.js -p fix -o stream-json");
        is(Program::Aider, "python3 -m aider --message fix");
        is(Program::Aider, "uvx --python 3.12 aider-chat --message fix");
        is(Program::Aider, "python3 /opt/bin/aider --message fix");
        is(Program::Codex, r"C:\npm\codex.cmd exec --json fix");
    }

    #[test]
    fn what_is_no_agent_is_plain() {
        is(Program::Plain, "");
        is(Program::Plain, "env A=b");
        is(Program::Plain, "timeout 5");
        is(Program::Plain, "npx");
        is(Program::Plain, "node /srv/agent.js --output-format stream-json");
        is(Program::Plain, "sh -c codex exec --json");
        is(Program::Plain, "env env env env env env env env env codex exec --json");
        assert_eq!(detect(&[]), Program::Plain);
    }

    #[test]
    fn a_program_is_known_by_its_name_and_asks_for_a_model() {
        let launch = |line: &str| {
            let argv: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let Launch { adapter, program, model, .. } = Launch::of(&argv);
            (adapter, program, model)
        };
        let model = |name: &str| Some(name.to_owned());
        assert_eq!(launch("codex"), (Program::Plain, Some(Program::Codex), None));
        assert_eq!(launch("gemini -m flash"), (Program::Plain, Some(Program::Gemini), model("flash")));
        assert_eq!(launch("ls -m flash"), (Program::Plain, None, None));
        let codex = |rest: &str| launch(&format!("codex exec --json {rest}")).2;
        assert_eq!(codex("-m gpt-5 fix"), model("gpt-5"));
        assert_eq!(codex("-c model=\"gpt-5\" fix"), model("gpt-5"));
        assert_eq!(codex("-c model_provider=x fix"), None);
        assert_eq!(codex("fix -- --model gpt-5"), None);
        assert_eq!(launch("aider -m fix --model openai/x").2, model("openai/x"));
        assert_eq!(launch("opencode run --model=a/b fix").2, model("a/b"));
    }

    #[test]
    fn the_arguments_begin_behind_whatever_starts_the_program() {
        let rest = |line: &str| {
            let argv: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let at = Launch::of(&argv).arguments_at;
            line.split(' ').skip(at).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(rest("claude -p fix"), "-p fix");
        assert_eq!(rest("env A=b nice -n 5 claude -p fix"), "-p fix");
        assert_eq!(rest("npx -y @openai/codex@0.166.0 exec fix -- x"), "exec fix -- x");
        assert_eq!(rest("node /lib/node_modules/@google/gemini-cli/bundle/gemini.js -p fix"), "-p fix");
        assert_eq!(rest("claude"), "");
    }
}
