// What a terminal would show of an agent's output, as plain text.
//
// Invariant: the result has no control characters but line ends and tabs, so no output can move a cursor, set a title,
// forge a link or hide text. A carriage return overwrites its line, as on a terminal.

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const SEQUENCES = /\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)|\x1b[ -/]*[0-~]|[\x80-\x9f]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const CONTROLS = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g;
/** Characters that change the order in which text is read. */
const DIRECTIONS = /[\u202a-\u202e\u2066-\u2069\u200e\u200f]/g;

export function plain(text: string): string {
  return text
    .replace(SEQUENCES, "")
    .replace(/\r+\n/g, "\n")
    .replace(CONTROLS, "")
    .replace(DIRECTIONS, "\ufffd")
    .split("\n")
    .map((line) => line.slice(line.lastIndexOf("\r", line.length - 2) + 1).replace(/\r$/, ""))
    .join("\n");
}
