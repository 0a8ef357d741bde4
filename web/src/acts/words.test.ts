import { describe, expect, it } from "vitest";
import { cut } from "./words";

describe("a command line", () => {
  it.each([
    ["claude -p 'review the last commit'", ["claude", "-p", "review the last commit"]],
    ['echo "a \\"b\\" $HOME"', ["echo", 'a "b" $HOME']],
    ["  a\\ b   ''  c\"d\"e ", ["a b", "", "cde"]],
    ["grep '\\d' *.rs | wc", ["grep", "\\d", "*.rs", "|", "wc"]],
    ["", []],
  ])("%s", (line, words) => {
    expect(cut(line)).toEqual({ words, isOpen: false });
  });

  it("tells that a quote is not closed", () => {
    expect(cut("echo 'a b").isOpen).toBe(true);
    expect(cut('echo "a').isOpen).toBe(true);
  });
});
