// Words of an agent as they are, with nothing hidden in them.
//
// Invariant: a character that draws nothing, or that changes the order in which others are drawn, is written out. A command
// that somebody is asked about must not look like another one.

/** Control characters but tab and line feed, soft hyphen, zero-width characters, and those that turn the direction. */
const HIDDEN: [number, number][] = [
  [0x00, 0x08],
  [0x0b, 0x1f],
  [0x7f, 0x9f],
  [0xad, 0xad],
  [0x61c, 0x61c],
  [0x200b, 0x200f],
  [0x2028, 0x202e],
  [0x2060, 0x206f],
  [0xfeff, 0xfeff],
  [0xe0000, 0xe007f],
];

const isHidden = (code: number) => HIDDEN.some(([from, to]) => from <= code && code <= to);

export function visible(text: string): string {
  return Array.from(text, (char) => {
    const code = char.codePointAt(0) ?? 0;
    return isHidden(code) ? `\\u{${code.toString(16)}}` : char;
  }).join("");
}
