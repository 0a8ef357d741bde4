import { expect, test } from "vitest";
import { visible } from "./visible";

test("what draws nothing or turns the direction is written out", () => {
  expect(visible("rm\u202e txt.\u200b")).toBe("rm\\u{202e} txt.\\u{200b}");
  expect(visible("\u001b[2Jgone\r")).toBe("\\u{1b}[2Jgone\\u{d}");
});

test("lines, tabs and letters of every script stay", () => {
  expect(visible("a\n\tb äöü 漢字 عربي")).toBe("a\n\tb äöü 漢字 عربي");
});
