// A command line as a person types it, cut into words.
//
// Invariant: quotes and backslashes mean what they mean to a shell, and nothing else does: no variable, no pattern, no
// pipe. What is typed is what is started.

export interface Cut {
  words: string[];
  /** A quote was opened and not closed. */
  isOpen: boolean;
}

export function cut(line: string): Cut {
  const words: string[] = [];
  let word: string | null = null;
  let quote: string | null = null;
  for (let at = 0; at < line.length; at++) {
    const char = line[at] ?? "";
    if (quote === "'") {
      if (char === quote) quote = null;
      else word += char;
    } else if (char === "\\" && at + 1 < line.length && (quote === null || /["\\]/.test(line[at + 1] ?? ""))) {
      word = (word ?? "") + line[++at];
    } else if (char === quote) {
      quote = null;
    } else if (quote === null && (char === "'" || char === '"')) {
      quote = char;
      word ??= "";
    } else if (quote === null && /\s/.test(char)) {
      if (word !== null) words.push(word);
      word = null;
    } else {
      word = (word ?? "") + char;
    }
  }
  if (word !== null) words.push(word);
  return { words, isOpen: quote !== null };
}
