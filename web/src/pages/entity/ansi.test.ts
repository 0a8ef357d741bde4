import { describe, expect, it } from "vitest";
import { plain } from "./ansi";

describe("output as text", () => {
  it("has no colours, titles, links or cursor moves", () => {
    expect(
      plain("\x1b[1;31mred\x1b[0m \x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ \x1b[2J\x1b[10;5Hb\x1b(B"),
    ).toBe("red alink b");
  });

  it("lets a carriage return overwrite its line", () => {
    expect(plain("10%\r50%\r100%\ndone\r\nnext\r")).toBe("100%\ndone\nnext");
  });

  it("keeps tabs and line ends, and nothing else of the control characters", () => {
    expect(plain("a\tb\nc\x00\x07\x08\x7fd\x9b31me")).toBe("a\tb\ncd31me");
  });

  it("shows what would reverse the order of the text", () => {
    expect(plain("a\u202eb")).toBe("a\ufffdb");
  });

  it("swallows an escape that was cut off", () => {
    expect(plain("ok\x1b]0;never ends")).toBe("ok");
  });
});
