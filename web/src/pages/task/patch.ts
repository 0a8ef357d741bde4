// A patch of one file as lines to draw.
//
// Invariant: what an agent wrote cannot steer what is read: characters that turn the direction of a text, hide or move it are written out.

export type LineKind = "added" | "removed" | "place" | "same";

export interface PatchLine {
  kind: LineKind;
  text: string;
}

/** So many lines are shown at once; the others after a click. */
export const LINES_SHOWN = 400;
/** A file with more lines than this is folded until somebody opens it. */
export const LINES_OPEN = 80;

/** The lines from the first place on; before it stand names and modes, which the head of the file shows. */
export function patchLines(patch: string): PatchLine[] {
  const all = patch.replace(/\n$/, "").split("\n");
  const first = all.findIndex((line) => line.startsWith("@@"));
  if (first < 0) return all.slice(1).map((line) => ({ kind: "same", text: visible(line) }));
  const lines: PatchLine[] = [];
  for (const line of all.slice(first)) {
    // A file whose type changed has two sections.
    if (line.startsWith("diff --git ")) lines.push({ kind: "place", text: visible(line) });
    else lines.push({ kind: kindOf(line), text: visible(line) });
  }
  return lines;
}

function kindOf(line: string): LineKind {
  if (line.startsWith("@@")) return "place";
  if (line.startsWith("+")) return "added";
  return line.startsWith("-") ? "removed" : "same";
}

const STEERING = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

export function visible(text: string): string {
  return text.replace(STEERING, (one) => (one === "\t" ? one : `\\u{${(one.codePointAt(0) ?? 0).toString(16)}}`));
}
